"""The engine record. The oracles are its documentation and the units of memory."""

import dataclasses
import os
import pickle
import sys

import numpy as np
import pytest

from mercer import Engine

MEMORY = [
    ("2 GB", 2 * 10**9),
    ("2GB", 2 * 10**9),
    (" 1.5 GiB ", 3 * 2**29),
    ("512 MiB", 2**29),
    ("3 mb", 3 * 10**6),
    ("10 kB", 10**4),
    ("1 KiB", 1024),
    ("2 TB", 2 * 10**12),
    ("1e9", 10**9),
    (10**9, 10**9),
    (1e9, 10**9),
    (np.float32(1024), 1024),
    (np.int64(7), 7),
]


@pytest.mark.parametrize("memory, size", MEMORY, ids=[repr(m) for m, _ in MEMORY])
def test_memory_is_read(memory, size):
    assert Engine(memory=memory).budget == size


def test_the_default_budget_is_half_of_the_machine():
    budget = Engine().budget
    assert budget > 2**27
    if hasattr(os, "sysconf") and sys.platform != "darwin":
        assert budget == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


@pytest.mark.parametrize(
    "memory", [0, -1, "a lot", "", "GB", "2 XB", "-1 GB", "0", "inf", "nan", float("inf"), float("nan"), True, [1]]
)
def test_memory_that_is_no_size_is_refused(memory):
    wanted = r"Engine: 'memory' must be a positive number of bytes or a text such as '2 GB'; got "
    with pytest.raises(ValueError, match=wanted):
        Engine(memory=memory)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_threads_that_are_no_number_are_refused(threads):
    with pytest.raises(ValueError, match=r"Engine: 'threads' must be an integer >= 1; got "):
        Engine(threads=threads)


def test_the_other_parameters_are_checked():
    with pytest.raises(ValueError, match=r"Engine: 'precision' must be 'single' or 'double'; got 'half'"):
        Engine(precision="half")
    with pytest.raises(ValueError, match=r"Engine: 'client' must be a dask.distributed Client; got 'tcp://here'"):
        Engine(client="tcp://here")


def test_threads_default_to_the_cores_this_process_may_use():
    assert Engine(threads=3).n_threads == 3
    assert Engine(threads=np.int32(2)).n_threads == 2
    assert 1 <= Engine().n_threads <= (os.cpu_count() or 1)
    if hasattr(os, "sched_getaffinity"):
        assert Engine().n_threads == len(os.sched_getaffinity(0))


def test_precision_is_the_dtype_of_tiles():
    assert Engine().dtype == np.float32
    assert Engine(precision="double").dtype == np.float64


def test_an_engine_is_a_frozen_value():
    engine = Engine(threads=2, memory="1 GB")
    assert engine == Engine(threads=2, memory="1 GB")
    assert hash(engine) == hash(Engine(threads=2, memory="1 GB"))
    assert pickle.loads(pickle.dumps(engine)) == engine
    with pytest.raises(dataclasses.FrozenInstanceError):
        engine.threads = 3
    assert dataclasses.replace(engine, threads=1).n_threads == 1
