"""Draws that belong to points, not to places: each point's number is a hash of what it is.

So what is drawn does not depend on the order of the rows, and a row with weight 2 is drawn as one that is there twice.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

CHUNK = 2**16  # rows hashed at a time
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct points with a positive weight, in an order as random as the seed.

    Parameters
    ----------
    first : array of shape (k,)
        The row where each comes first.
    weight : array of shape (k,)
        The sum of the weights of its rows.
    place : array of shape (n,)
        Which of them each row is; rows of weight 0 that equal none are -1.
    """

    first: np.ndarray
    weight: np.ndarray
    place: np.ndarray

    def draw(self, m: int, rng: np.random.Generator) -> np.ndarray:
        """Return up to m of them (as rows), without replacement, in proportion to their weights: a race."""
        with np.errstate(divide="ignore"):
            finish = rng.exponential(size=len(self.first)) / self.weight
        return self.first[np.argsort(finish, kind="stable")[:m]]


def distinct(X: Any, w: np.ndarray | None, seed: int) -> Distinct:
    """Return the distinct points of X. Cost: n d for the hashes, n log n."""
    keys = hashes(X, seed)
    w = np.ones(len(keys)) if w is None else w
    unique, inverse = np.unique(keys, return_inverse=True)
    first = np.full(len(unique), len(keys), np.intp)
    np.minimum.at(first, inverse, np.arange(len(keys)))
    weight = np.bincount(inverse, w, minlength=len(unique))
    present = weight > 0
    place = np.where(present, np.cumsum(present) - 1, -1)[inverse]
    return Distinct(first[present], weight[present], place)


def hashes(X: Any, seed: int) -> np.ndarray:
    """Return a 64-bit number for each row: equal for equal rows, dense or sparse, single or double, else random."""
    start = np.uint64(seed)
    if sparse.issparse(X):
        return _of_sparse(X.tocsr(), start)
    if hasattr(X, "iloc"):
        if not all(t.kind in "fiub" for t in X.dtypes):
            from pandas.util import hash_pandas_object

            return _mixed(hash_pandas_object(X, index=False).to_numpy(np.uint64) ^ start)
        X = X.to_numpy(np.float64)
    if not isinstance(X, np.ndarray):
        return _mixed(np.array([_digest(x) for x in X], np.uint64) ^ start)
    X = X.reshape(len(X), -1)
    out = np.empty(len(X), np.uint64)
    columns = _of_columns(X.shape[1], start)
    for i in range(0, len(X), CHUNK):
        out[i : i + CHUNK] = _of_numbers(X[i : i + CHUNK].astype(np.float64), columns).sum(axis=1, dtype=np.uint64)
    return _mixed(out ^ start)


def _of_sparse(X: Any, start: np.uint64) -> np.ndarray:
    X = X.copy()
    X.sum_duplicates()
    numbers = _of_numbers(X.data.astype(np.float64), _of_columns(X.shape[1], start)[X.indices])
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    out = np.zeros(X.shape[0], np.uint64)
    np.add.at(out, rows, numbers)
    return _mixed(out ^ start)


def _of_columns(d: int, start: np.uint64) -> np.ndarray:
    return _mixed(np.arange(1, d + 1, dtype=np.uint64) ^ _mixed(np.atleast_1d(start)))


def _of_numbers(X: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return a hash of each number in its column; that of 0 is 0, as if it were not there."""
    bits = np.ascontiguousarray(X).view(np.uint64)
    return np.where(X == 0, np.uint64(0), _mixed(bits ^ columns))


def _mixed(h: np.ndarray) -> np.ndarray:
    """Return the numbers with their bits stirred (the finaliser of SplitMix64)."""
    h = h + _ODD
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def _digest(x: Any) -> int:
    """Return a hash of an object that is the same in every process."""
    if isinstance(x, (set, frozenset)):
        return sum(_digest(e) for e in x) % 2**64
    text = x.encode() if isinstance(x, str) else repr(x).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
