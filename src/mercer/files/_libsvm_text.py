"""LIBSVM's model text as a record, both ways: what each line says, with nothing lost and nothing assumed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from mercer._checks import describe, refuse

MACHINES = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")
CLASSIFIERS = MACHINES[:2]
KERNELS = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
_USED = {"polynomial": ("degree", "gamma", "coef0"), "rbf": ("gamma",), "sigmoid": ("gamma", "coef0")}
_NUMBERS = ("degree", "gamma", "coef0", "nr_class", "total_sv")
_LISTS = {"rho": "rho", "label": "label", "probA": "prob_a", "probB": "prob_b", "nr_sv": "nr_sv",
          "prob_density_marks": "prob_density_marks"}  # fmt: skip  # the file's names and ours
WHO = "libsvm"


@dataclass(frozen=True, eq=False)
class LibsvmText:
    """A LIBSVM model: for each pair of classes i < j, the decision sum_l coef_l k(x_l, x) - rho, positive for class i.

    Parameters
    ----------
    svm_type, kernel_type : str
        As in the file: "c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"; "linear", "polynomial", "rbf",
        "sigmoid", "precomputed".
    rho : array of shape (p,)
        One a pair of classes, in the order (0, 1), (0, 2), ..., (1, 2), ...; one alone where there are no classes.
    coefficients : array of shape (s, c - 1)
        The coefficients of each support vector in its c - 1 pairs, those of other classes in order.
    vectors : CSR matrix of shape (s, d), or array of shape (s,)
        The support vectors; for a precomputed kernel their rows, counted from 0.
    label, nr_sv : array of shape (c,), optional
        The classes in the file's order, and how many support vectors each has; they stand one class after another.
    degree, gamma, coef0 : float, optional
        Of the kernel.
    prob_a, prob_b : array, optional
        Of Platt's sigmoids, one a pair; of regression, the scale of the noise.
    prob_density_marks : array, optional
        Of a one-class machine.
    """

    svm_type: str
    kernel_type: str
    rho: np.ndarray
    coefficients: np.ndarray
    vectors: Any
    label: np.ndarray | None = None
    nr_sv: np.ndarray | None = None
    degree: float | None = None
    gamma: float | None = None
    coef0: float | None = None
    prob_a: np.ndarray | None = None
    prob_b: np.ndarray | None = None
    prob_density_marks: np.ndarray | None = None

    @property
    def n_classes(self) -> int:
        """How many classes there are; 2 where there are none, as LIBSVM counts."""
        return 2 if self.label is None else len(self.label)


# ---------------------------------------------------------------- writing


def formatted(model: LibsvmText) -> Iterator[str]:
    """Yield the lines of the file; numbers have 17 digits, so that reading gives them back to the last bit."""
    yield f"svm_type {model.svm_type}"
    yield f"kernel_type {model.kernel_type}"
    for name in _USED.get(model.kernel_type, ()):
        yield f"{name} {getattr(model, name):.17g}"
    yield f"nr_class {model.n_classes}"
    yield f"total_sv {len(model.coefficients)}"
    for name, ours in _LISTS.items():
        values = getattr(model, ours)
        if values is not None:
            yield f"{name} {' '.join(f'{value:.17g}' for value in values)}"
    yield "SV"
    for coefficients, entries in zip(model.coefficients, _entries(model.vectors), strict=True):
        yield " ".join([*(f"{c:.17g}" for c in coefficients), *entries])


def _entries(vectors: Any) -> Iterator[list[str]]:
    """Yield each support vector as index:value texts, with indices from 1; a row of a Gram matrix is 0:index."""
    if not sparse.issparse(vectors):
        yield from ([f"0:{row + 1}"] for row in vectors)
        return
    vectors = vectors.tocsr(copy=True)
    vectors.sort_indices()
    for a, b in zip(vectors.indptr[:-1], vectors.indptr[1:], strict=True):
        pairs = zip(vectors.indices[a:b], vectors.data[a:b], strict=True)
        yield [f"{j + 1}:{value:.17g}" for j, value in pairs if value != 0]


# ---------------------------------------------------------------- reading


def parsed(lines: Iterable[str], n_features: int | None = None) -> LibsvmText:
    """Return the record of a file's lines; refuse, with the line's number, what is not a LIBSVM model."""
    header: dict[str, Any] = {}
    numbered = enumerate(lines, 1)
    for number, line in numbered:
        words = line.split()
        if words == ["SV"]:
            break
        if words:
            header[words[0]] = _field(number, words, header)
    else:
        _broken(len(header), "the line 'SV'", "the end of the file")
    _complete(header)
    width = header["nr_class"] - 1
    rows = [_support_vector(number, line, width) for number, line in numbered if line.strip()]
    if len(rows) != header["total_sv"]:
        _broken(0, f"{header['total_sv']} support vectors, as 'total_sv' says", f"{len(rows)}")
    coefficients = np.array([c for c, _ in rows], dtype=np.float64).reshape(len(rows), width)
    vectors = _vectors([entries for _, entries in rows], header["kernel_type"], n_features)
    kept = {ours: header.get(name) for name, ours in _LISTS.items() if name != "rho"}
    kept |= {name: header.get(name) for name in ("degree", "gamma", "coef0")}
    return LibsvmText(header["svm_type"], header["kernel_type"], header["rho"], coefficients, vectors, **kept)


def _broken(line: int, wanted: str, got: str) -> NoReturn:
    where = f" in line {line}" if line else ""
    refuse(WHO, f"a model file must hold {wanted}{where}", got, "The file is damaged, or not a LIBSVM model.")


def _field(number: int, words: Sequence[str], before: dict[str, Any]) -> Any:
    name, rest = words[0], words[1:]
    if name in before:
        _broken(number, "each field once", f"{name!r} again")
    if name in ("svm_type", "kernel_type"):
        known = MACHINES if name == "svm_type" else KERNELS
        if len(rest) != 1 or rest[0] not in known:
            _broken(number, f"{name} with one of {', '.join(known)}", describe(" ".join(rest)))
        return rest[0]
    if name not in (*_NUMBERS, *_LISTS):
        _broken(number, "known fields", describe(name))
    values = np.array([_number(number, word) for word in rest])
    if name in _LISTS:
        return values.astype(np.int64) if name in ("label", "nr_sv") else values
    if len(values) != 1:
        _broken(number, f"one number for {name!r}", f"{len(values)}")
    return int(values[0]) if name in ("degree", "nr_class", "total_sv") else float(values[0])


def _number(line: int, word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        _broken(line, "finite numbers", describe(word))
    return value


def _complete(header: dict[str, Any]) -> None:
    """Refuse a header that lacks a field or whose lengths do not agree."""
    for name in ("svm_type", "kernel_type", "nr_class", "total_sv", "rho"):
        if name not in header:
            _broken(0, f"the field {name!r}", "none")
    for name in _USED.get(header["kernel_type"], ()):
        if name not in header:
            _broken(0, f"the field {name!r} of a {header['kernel_type']} kernel", "none")
    k, classifies = header["nr_class"], header["svm_type"] in CLASSIFIERS
    pairs = k * (k - 1) // 2 if classifies else 1
    lengths = {"rho": pairs}
    if classifies:
        lengths |= {"label": k, "nr_sv": k}
    for name, wanted in lengths.items():
        got = len(header.get(name, ()))
        if got != wanted:
            _broken(0, f"{wanted} numbers for {name!r}", f"{got}")
    if classifies and header["nr_sv"].sum() != header["total_sv"]:
        _broken(0, "'nr_sv' that add up to 'total_sv'", f"{header['nr_sv'].sum()} and {header['total_sv']}")


def _support_vector(number: int, line: str, width: int) -> tuple[list[float], list[tuple[int, float]]]:
    words = line.split()
    plain = [word for word in words if ":" not in word]
    if len(plain) != width or words[: len(plain)] != plain:
        _broken(number, f"{width} coefficients, then index:value pairs", describe(line.strip()))
    entries = []
    for word in words[width:]:
        index, _, value = word.partition(":")
        if not index.isdigit():
            _broken(number, "indices that are whole numbers", describe(word))
        entries.append((int(index), _number(number, value)))
    return [_number(number, word) for word in plain], entries


def _vectors(rows: list[list[tuple[int, float]]], kernel_type: str, n_features: int | None) -> Any:
    if kernel_type == "precomputed":
        if any(len(row) != 1 or row[0][0] != 0 for row in rows):
            _broken(0, "0:row for each support vector of a precomputed kernel", "something else")
        return np.array([int(row[0][1]) - 1 for row in rows], dtype=np.intp)
    indices = [index - 1 for row in rows for index, _ in row]
    if indices and min(indices) < 0:
        _broken(0, "indices from 1 on", f"{min(indices) + 1}")
    widest = max(indices, default=-1) + 1
    if n_features is not None and n_features < widest:
        refuse(WHO, f"'n_features' must be at least {widest}, the largest index", n_features)
    data = [value for row in rows for _, value in row]
    indptr = np.cumsum([0, *(len(row) for row in rows)])
    shape = (len(rows), max(widest, 1) if n_features is None else n_features)
    return sparse.csr_matrix((np.array(data, dtype=np.float64), indices, indptr), shape=shape)
