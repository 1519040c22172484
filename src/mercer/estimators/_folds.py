"""Folds that depend on what the rows hold, not on where they stand.

Equal rows go to one fold, so a row repeated is a row with a weight of 2; the order of the rows does not matter; and a
digest of the content deals them out, which is as good as chance and the same every time.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

FOLDS = 5


def folds(X: Any, codes: np.ndarray, present: np.ndarray, count: int, *, pairwise: bool = False) -> np.ndarray:
    """Return the fold of each row, 0 .. count - 1, each class dealt out evenly; -1 for rows that are not present.

    Parameters
    ----------
    X : array, CSR matrix, DataFrame or list of length n
        The rows.
    codes : integer array of shape (n,)
        Their classes.
    present : boolean array of shape (n,)
        Which rows count.
    count : int
        How many folds.
    pairwise : bool
        Whether X is a Gram matrix: rows are then known by the values they have with those that count.
    """
    rows = np.flatnonzero(present)
    digests = [blake2b(text, digest_size=16).digest() for text in _texts(X, rows, pairwise)]
    out = np.full(len(codes), -1)
    for k in np.unique(codes[rows]):
        mine = [i for i in range(len(rows)) if codes[rows[i]] == k]
        deal = {digest: j % count for j, digest in enumerate(sorted({digests[i] for i in mine}))}
        out[rows[mine]] = [deal[digests[i]] for i in mine]
    return out


def _texts(X: Any, rows: np.ndarray, pairwise: bool) -> Iterator[bytes]:
    """Yield the content of each row as bytes."""
    if pairwise:
        X = X.toarray() if sparse.issparse(X) else X
        yield from (np.unique(np.asarray(X[i, rows], dtype=np.float64)).tobytes() for i in rows)
    elif sparse.issparse(X):
        X = X.tocsr()[rows].astype(np.float64)
        X.sum_duplicates()
        X.eliminate_zeros()
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            yield X.indices[a:b].astype(np.int64).tobytes() + X.data[a:b].tobytes()
    elif hasattr(X, "iloc") and not all(dtype.kind in "fiub" for dtype in X.dtypes):
        yield from (repr(row).encode() for row in X.iloc[rows].itertuples(index=False, name=None))
    elif hasattr(X, "iloc") or (isinstance(X, np.ndarray) and X.dtype.kind in "fiub"):
        for row in np.asarray(X.iloc[rows] if hasattr(X, "iloc") else X[rows], dtype=np.float64):
            there = np.flatnonzero(row)  # as of a sparse row, so that both get the same folds
            yield there.astype(np.int64).tobytes() + row[there].tobytes()
    else:
        for i in rows:
            item = X[i]
            yield repr(sorted(item, key=repr) if isinstance(item, (set, frozenset)) else item).encode()
