"""Running a fixed plan of tasks on threads: the same tasks in the same order of sums, however many threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks up the loaded libraries once: that takes milliseconds


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which each matrix product runs on the thread that calls it."""
    return _controller().limit(limits=1, user_api="blas")


def run(
    rounds: Sequence[Sequence[Item]], work: Callable[[Item, Any], None], threads: int, workspace: Callable[[], Any]
) -> None:
    """Do every item of a round, on any thread, before the next round starts.

    Items of one round must write to different places. ``workspace`` makes the buffers of one thread. Ctrl-C and errors
    stop all threads at their next item.
    """
    most = max((len(items) for items in rounds), default=0)
    with one_blas_thread():
        if threads <= 1 or most <= 1:
            buffers = workspace()
            for items in rounds:
                for item in items:
                    work(item, buffers)
            return
        _Team(rounds, work, min(threads, most), workspace).run()


def run_all(
    items: Iterable[Item], work: Callable[[Item, Any], None], threads: int, workspace: Callable[[], Any]
) -> None:
    """Do every item, in any order, on some threads."""
    run([list(items)], work, threads, workspace)


class _Team:
    """The threads of one run; the caller's thread is one of them."""

    def __init__(self, rounds: Sequence[Sequence[Any]], work: Any, size: int, workspace: Any) -> None:
        self.rounds, self.work, self.workspace, self.size = rounds, work, workspace, size
        self.barrier = threading.Barrier(size)
        self.queues = [iter(items) for items in rounds]
        self.lock = threading.Lock()
        self.errors: list[BaseException] = []

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
            for queue in self.queues:
                self._drain(queue, buffers)
                if len(self.queues) > 1:
                    self.barrier.wait()
        except threading.BrokenBarrierError:
            pass  # another thread has failed and said why
        except BaseException as error:  # KeyboardInterrupt too: every thread must stop, then the caller hears of it
            self.errors.append(error)
            self.barrier.abort()

    def _drain(self, queue: Any, buffers: Any) -> None:
        while not self.errors:
            with self.lock:
                item = next(queue, None)
            if item is None:
                return
            self.work(item, buffers)


def tournament(n: int) -> list[list[tuple[int, int]]]:
    """Return rounds of pairs I <= J of 0..n-1 in which no number stands twice in a round; each pair comes once.

    The circle method; the first round holds the pairs (I, I). It is what lets the upper tiles of a symmetric product
    be done by many threads into one output, with every sum in a fixed order.
    """
    rounds = [[(i, i) for i in range(n)]]
    players: list[int] = [*range(n), *([-1] if n % 2 else [])]
    half = len(players) // 2
    for _ in range(len(players) - 1):
        pairs = zip(players[:half], reversed(players[half:]), strict=True)
        rounds.append([(min(a, b), max(a, b)) for a, b in pairs if a >= 0 and b >= 0])
        players = [players[0], players[-1], *players[1:-1]]
    return [r for r in rounds if r]
