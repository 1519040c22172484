"""Running a fixed plan of tasks on threads: the same tasks in the same order of sums, however many threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import threadpoolctl

Item = TypeVar("Item")


@cache
def _blas() -> list[Any]:
    """Return the BLAS libraries that are loaded; looked up once, as that takes milliseconds."""
    return list(threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers)


class _OneThread:
    """The limit on the threads of matrix products: it holds for the process, so the last to leave lifts it."""

    def __init__(self) -> None:
        self.lock, self.users = threading.Lock(), 0
        self.before: list[tuple[Any, int]] = []

    def enter(self) -> None:
        with self.lock:
            if self.users == 0:
                self.before = [(library, n) for library in _blas() if (n := library.get_num_threads()) != 1]
                for library, _ in self.before:
                    library.set_num_threads(1)
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0 and self.before:
                _anyone_may_set_limits()
                for library, n in self.before:
                    library.set_num_threads(n)
                _anyone_may_set_limits()


def _anyone_may_set_limits() -> None:
    """Undo that, from threadpoolctl 3.8 on, only the thread that first set a limit may change it."""
    release = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)


_ONE_THREAD = _OneThread()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run each matrix product on the thread that calls it; such contexts may overlap in several threads."""
    _ONE_THREAD.enter()
    try:
        yield
    finally:
        _ONE_THREAD.leave()


def run(
    items: Iterable[Item],
    work: Callable[[Item, Any], Iterable[Any] | None],
    threads: int,
    workspace: Callable[[], Any],
    touches: Callable[[Item], Iterable[int]] = lambda item: (),
) -> None:
    """Do every item, on any thread; items that touch a common number run one at a time, in the order given.

    So sums into what the numbers stand for come in a fixed order. ``workspace`` makes the buffers of one thread.
    Ctrl-C and errors stop all threads at their next item, or where ``work`` of a long one, a generator, yields.
    """
    queue = list(items)
    with one_blas_thread():
        if threads <= 1 or len(queue) <= 1:
            buffers = workspace()
            for item in queue:
                for _ in work(item, buffers) or ():
                    pass
            return
        _Team(queue, work, min(threads, len(queue)), workspace, touches).run()


class _Team:
    """The threads of one run; the caller's thread is one of them."""

    def __init__(self, queue: list[Any], work: Any, size: int, workspace: Any, touches: Any) -> None:
        self.queue, self.work, self.size, self.workspace = queue, work, size, workspace
        self.touched = [tuple(set(touches(item))) for item in queue]
        self.turns = self._turns()
        self.done: dict[int, int] = {}
        self.next = 0
        self.changed = threading.Condition()
        self.errors: list[BaseException] = []

    def _turns(self) -> list[tuple[int, ...]]:
        """Return, for each item, how many earlier items touch each of its numbers."""
        seen: dict[int, int] = {}
        turns = []
        for numbers in self.touched:
            turns.append(tuple(seen.get(k, 0) for k in numbers))
            for k in numbers:
                seen[k] = seen.get(k, 0) + 1
        return turns

    def run(self) -> None:
        helpers = [threading.Thread(target=self._member, daemon=True) for _ in range(self.size - 1)]
        for helper in helpers:
            helper.start()
        self._member()
        for helper in helpers:
            helper.join()
        if self.errors:
            raise self.errors[0]

    def _member(self) -> None:
        try:
            buffers = self.workspace()
            while (at := self._claim()) is not None:
                for _ in self.work(self.queue[at], buffers) or ():
                    if self.errors:
                        return
                self._finish(at)
        except BaseException as error:  # KeyboardInterrupt too: every thread must stop, then the caller hears of it
            with self.changed:
                self.errors.append(error)
                self.changed.notify_all()

    def _claim(self) -> int | None:
        """Return the next item's place once all that must come before it is done; None when there is none."""
        with self.changed:
            at = self.next
            if at >= len(self.queue):
                return None
            self.next += 1
            while not self.errors and not self._ready(at):
                self.changed.wait()
            return None if self.errors else at

    def _ready(self, at: int) -> bool:
        return all(self.done.get(k, 0) == turn for k, turn in zip(self.touched[at], self.turns[at], strict=True))

    def _finish(self, at: int) -> None:
        with self.changed:
            for k in self.touched[at]:
                self.done[k] = self.done.get(k, 0) + 1
            self.changed.notify_all()


def tournament(n: int) -> list[tuple[int, int]]:
    """Return the pairs I <= J of 0..n-1, each once, ordered so that neighbours rarely share a number.

    The circle method of a tournament: rounds in which nobody plays twice, one after the other; the pairs (I, I) come
    first. So many threads can add the tiles of a symmetric product into one output, each sum in a fixed order.
    """
    rounds = [[(i, i) for i in range(n)]]
    players: list[int] = [*range(n), *([-1] if n % 2 else [])]
    half = len(players) // 2
    for _ in range(len(players) - 1):
        pairs = zip(players[:half], reversed(players[half:]), strict=True)
        rounds.append([(min(a, b), max(a, b)) for a, b in pairs if a >= 0 and b >= 0])
        players = [players[0], players[-1], *players[1:-1]]
    return [pair for pairs in rounds for pair in pairs]
