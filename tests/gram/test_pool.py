"""Threads: the plan, errors, Ctrl-C, and results that do not depend on how many there are."""

import os
import subprocess
import sys
import textwrap
import threading
import time
from itertools import combinations_with_replacement

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from mercer import Engine, gram
from mercer.gram import largest, smallest, sum_by_label
from mercer.gram._pool import one_blas_thread, run, tournament
from tests.gram.conftest import FORMS, form, points

# ---------------------------------------------------------------- the plan


@pytest.mark.parametrize("n", range(12))
def test_each_pair_comes_once(n):
    pairs = tournament(n)
    assert sorted(pairs) == list(combinations_with_replacement(range(n), 2))


@pytest.mark.parametrize("n", [2, 3, 8, 9])
def test_nobody_plays_twice_in_a_round(n):
    pairs = tournament(n)
    assert pairs[:n] == [(i, i) for i in range(n)]
    half = n // 2
    for start in range(n, len(pairs), half):
        players = [i for pair in pairs[start : start + half] for i in pair]
        assert len(set(players)) == len(players)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_items_that_touch_the_same_run_in_order(threads):
    seen, busy, lock = {k: [] for k in range(6)}, set(), threading.Lock()

    def work(pair, buffers):
        with lock:
            assert not busy & set(pair)
            busy.update(pair)
        for _ in range(3):
            time.sleep(1e-4)
            yield
        with lock:
            busy.difference_update(pair)
            for k in set(pair):
                seen[k].append(pair)

    run(tournament(6), work, threads, dict, touches=lambda pair: pair)
    for k, pairs in seen.items():
        assert pairs == [pair for pair in tournament(6) if k in pair]


def test_each_thread_has_its_own_workspace():
    made, used = [], []
    run(range(40), lambda i, b: (used.append(id(b)), time.sleep(1e-3))[:0], 3, lambda: made.append([]) or made[-1])
    assert len(made) <= 3
    assert set(used) <= {id(b) for b in made}


def test_nothing_to_do():
    run([], lambda i, b: None, 4, dict)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("touches", [lambda i: (), lambda i: (0,)], ids=["apart", "in turn"])
def test_an_error_stops_all_and_is_raised(threads, touches):
    done = []

    def work(i, buffers):
        if i == 5:
            raise ZeroDivisionError("at five")
        time.sleep(1e-3)
        done.append(i)

    with pytest.raises(ZeroDivisionError, match="at five"):
        run(range(1000), work, threads, dict, touches)
    assert len(done) < 20
    assert threading.active_count() < 20


def test_an_error_stops_a_long_item_where_it_yields():
    steps = []

    def work(i, buffers):
        if i:
            time.sleep(0.01)
            raise ValueError("stop")
        for k in range(10_000):
            steps.append(k)
            time.sleep(1e-3)
            yield

    def either(i, buffers):
        yield from work(i, buffers)

    with pytest.raises(ValueError, match="stop"):
        run([0, 1], either, 2, dict)
    assert len(steps) < 5_000


def test_errors_of_a_function_of_blocks_reach_the_caller(rng, compiled):
    from mercer.kernels import Custom

    def broken(x, z):
        if len(x) == 256:
            raise RuntimeError("no such pair")
        return np.ones((len(x), len(z)))

    with pytest.raises(RuntimeError, match="no such pair"):
        gram(Custom(broken, vectorized=True), points(rng, 600, 2), engine=Engine(threads=2)) @ np.ones(600)


# ---------------------------------------------------------------- results


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("name", FORMS)
def test_threads_change_no_bit(name, d, precision, rng, compiled):
    X, Y = points(rng, 2100, d), points(rng, 700, d)
    if name == "called":
        X = X[:600]
    V = rng.standard_normal((len(X), 3))
    k = form(name, d)

    def answers(threads):
        engine = Engine(threads=threads, precision=precision)
        K, L = gram(k, X, engine=engine), gram(k, Y, X, engine)
        held = gram(k, X, engine=engine, stored=True)
        yield from (K @ V, K @ V[:, 0], L @ V, L @ V[:, 0], held @ V, K.block(), L.block(slice(3, 600), slice(5, 500)))
        yield from (sum_by_label(L, np.arange(len(X)) % 3), *smallest(L, 3), *largest(K, 2))

    one = list(answers(1))
    for threads in (2, 3):
        for a, b in zip(one, answers(threads), strict=True):
            assert np.array_equal(a, b)


# ---------------------------------------------------------------- the threads of matrix products


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_the_limit_on_blas_is_lifted_again(rng, compiled):
    before = blas_threads()
    K = gram(form("one statistic", 40), points(rng, 600, 40), engine=Engine(threads=2))
    K @ np.ones(600)
    assert blas_threads() == before
    with one_blas_thread():
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_limits_that_overlap_are_lifted_by_the_last():
    before = blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        assert entered.wait(10)
    assert set(blas_threads()) == {1}  # the other still needs it
    leave.set()
    thread.join()
    assert blas_threads() == before


# ---------------------------------------------------------------- Ctrl-C

INTERRUPTED = """
    import os, signal, sys, threading, time
    import numpy as np
    from mercer import Engine, gram
    from mercer.kernels import Gaussian
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background hands down that it is ignored
    d, columns, threads, same = (int(a) for a in sys.argv[1:])
    X = np.random.default_rng(0).standard_normal((200_000, d)).astype(np.float32)
    K = gram(Gaussian(5.0), X, None if same else X[:150_000].copy(), Engine(threads=threads))
    V = np.ones((K.shape[1], columns), np.float32)[:, 0 if columns == 1 else slice(None)]
    few = gram(Gaussian(5.0), X[:2000], None if same else X[:2000].copy(), Engine(threads=threads))
    few @ V[:2000]  # compiled, or loaded, before the clock runs
    sent = []
    def interrupt():
        time.sleep(0.5)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt).start()
    try:
        K @ V
        print("finished")
    except KeyboardInterrupt:
        print("stopped", time.perf_counter() - sent[0])
    time.sleep(0.2)
    print(np.allclose(few @ V[:2000], few.block() @ V[:2000], rtol=1e-4), threading.active_count())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send to one process")
@pytest.mark.parametrize("d, columns, threads, same", [(20, 1, 2, 1), (20, 1, 1, 0), (100, 8, 2, 1), (64, 1, 2, 0)])
def test_ctrl_c_stops_a_product_within_a_second(d, columns, threads, same):
    code = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), *map(str, (d, columns, threads, same))]
    done = subprocess.run(
        code, capture_output=True, text=True, timeout=60, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    )
    first, second = done.stdout.splitlines()
    assert first.startswith("stopped"), done.stderr
    assert float(first.split()[1]) < 1.0
    assert second == "True 1"  # the process lives, and its products are right
