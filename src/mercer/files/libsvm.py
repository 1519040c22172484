"""LIBSVM's model files and support vector machines: from one to the other and back."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from mercer._checks import describe, refuse
from mercer.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.estimators._support import SupportMachine
from mercer.files._libsvm_text import CLASSIFIERS, WHO, LibsvmText, formatted, parsed
from mercer.kernels import Gaussian, Linear, Polynomial

TYPES = {"c_svc": SVC, "nu_svc": NuSVC, "one_class": OneClassSVM, "epsilon_svr": SVR, "nu_svr": NuSVR}
FILLED = 0.1  # support vectors with a smaller share of entries stay sparse


def write_libsvm(machine: SupportMachine, file: str | os.PathLike[str] | TextIO) -> None:
    """Write a fitted support vector machine as a LIBSVM model; any program that reads those can use it.

    Numbers have 17 digits, so none loses a bit. Cost: the support vectors once.

    Parameters
    ----------
    machine : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Fitted, with a linear, polynomial or Gaussian kernel or on a precomputed matrix; of several classes, in pairs.
    file : path or text file
        Where to write; a file that exists is replaced, whole or not at all.

    Examples
    --------
    >>> import io
    >>> from mercer import SVC
    >>> from mercer.files import write_libsvm
    >>> text = io.StringIO()
    >>> write_libsvm(SVC(kernel="linear", C=10.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]), text)
    >>> print(text.getvalue().strip())
    svm_type c_svc
    kernel_type linear
    nr_class 2
    total_sv 2
    rho -3
    label 0 1
    nr_sv 1 1
    SV
    2 1:1
    -2 1:2
    """
    lines = "".join(f"{line}\n" for line in formatted(_text_of(machine)))
    if not isinstance(file, (str, os.PathLike)):
        file.write(lines)
        return
    path = Path(file)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(lines, encoding="ascii")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def read_libsvm(file: str | os.PathLike[str] | TextIO, *, n_features: int | None = None) -> Any:
    r"""Return the support vector machine that a LIBSVM model file holds, fitted.

    Its decisions are those of the file to the last bit of every coefficient. The training data and C are not in the
    file: ``certificate_`` is not there, ``support_`` counts support vectors, and parameters that the file does not
    name have their defaults. LIBSVM's probabilities, which may contradict its own decision, are left out.

    Parameters
    ----------
    file : path or text file
        What to read.
    n_features : int, optional
        Columns of the data; the largest index in the file unless given, as zeros at the end are not written.

    Examples
    --------
    >>> import io
    >>> from mercer.files import read_libsvm
    >>> lines = ["svm_type epsilon_svr", "kernel_type linear", "nr_class 2", "total_sv 1", "rho 1", "SV", "2 1:3"]
    >>> read_libsvm(io.StringIO("\n".join(lines))).predict([[1.0], [2.0]])
    array([ 5., 11.])
    """
    if not isinstance(file, (str, os.PathLike)):
        return _machine_of(parsed(file, n_features), n_features)
    with Path(file).open(encoding="utf-8", errors="replace") as lines:
        return _machine_of(parsed(lines, n_features), n_features)


# ---------------------------------------------------------------- writing


def _text_of(machine: Any) -> LibsvmText:
    names = {cls: name for name, cls in TYPES.items()}
    if type(machine) not in names:
        refuse(WHO, "a support vector machine", describe(machine), "SVC, NuSVC, SVR, NuSVR or OneClassSVM.", TypeError)
    check_is_fitted(machine)
    kernel = _kernel_fields(machine)
    vectors = machine.support_ if machine._kernel is None else sparse.csr_matrix(machine.support_vectors_)
    name = names[type(machine)]
    A, offsets = machine._coefficients, machine._offsets
    if name not in CLASSIFIERS:
        return LibsvmText(name, **kernel, rho=-offsets, coefficients=A, vectors=vectors)
    sign = -1.0 if len(machine.classes_) == 2 else 1.0  # of two classes ours is for the second, LIBSVM's for the first
    k, counts = len(machine.classes_), machine.n_support_
    if k > 2 and machine.multi_class == "ovr":
        refuse(WHO, "a machine for each pair of classes", "multi_class='ovr'", "Fit with multi_class='ovo'.")
    coefficients = np.zeros((len(A), k - 1))
    spans = _spans(counts)
    for p, (i, j) in enumerate(combinations(range(k), 2)):
        coefficients[spans[i], j - 1], coefficients[spans[j], i] = sign * A[spans[i], p], sign * A[spans[j], p]
    return LibsvmText(
        name, **kernel, rho=-sign * offsets, coefficients=coefficients, vectors=vectors,
        label=_whole(machine.classes_), nr_sv=counts,
    )  # fmt: skip  # one record


def _spans(counts: Any) -> list[slice]:
    ends = np.cumsum(counts)
    return [slice(int(end - count), int(end)) for end, count in zip(ends, counts, strict=True)]


def _whole(classes: np.ndarray) -> np.ndarray:
    if classes.dtype.kind not in "fiub" or not (classes == classes.astype(np.int32)).all():
        refuse(
            WHO, "labels that are whole numbers, as LIBSVM's are", describe(classes.tolist()),
            "Fit on their codes: sklearn.preprocessing.LabelEncoder.",
        )  # fmt: skip  # wanted, got, remedy
    return classes.astype(np.int32)


def _kernel_fields(machine: Any) -> dict[str, Any]:
    """Return the kernel as LIBSVM writes it; refuse those it does not have."""
    kernel = machine._kernel
    if kernel is None:
        return {"kernel_type": "precomputed"}
    if isinstance(kernel, Linear) and kernel.A is None:
        return {"kernel_type": "linear"}
    if isinstance(kernel, Polynomial) and kernel.outer == 0:
        return {
            "kernel_type": "polynomial", "degree": kernel.degree, "gamma": kernel.gamma, "coef0": kernel.inner
        }  # fmt: skip  # one record
    if isinstance(kernel, Gaussian) and np.ndim(kernel.scale) == 0:
        gamma = machine.gamma if machine.kernel == "rbf" and not isinstance(machine.gamma, str) else kernel.scale**-2
        return {"kernel_type": "rbf", "gamma": float(gamma)}
    wanted = "a kernel that LIBSVM has: Linear(), Polynomial without 'outer', Gaussian of one scale, or precomputed"
    refuse(WHO, wanted, describe(kernel), "Fit on its Gram matrix with kernel='precomputed', or pickle the machine.")


# ---------------------------------------------------------------- reading


def _machine_of(text: LibsvmText, n_features: int | None) -> Any:
    machine = TYPES[text.svm_type](**_parameters(text))
    width = text.vectors.shape[1] if sparse.issparse(text.vectors) else int(text.vectors.max(initial=0)) + 1
    width = width if n_features is None else n_features
    if text.label is None or text.nr_sv is None:
        machine._restore_one(_rows(text, slice(None)), text.coefficients, -text.rho, width)
        return machine
    order = np.argsort(text.label)
    k, place, spans = len(order), np.argsort(order), _spans(text.nr_sv)
    A, offsets = np.zeros((len(text.coefficients), k * (k - 1) // 2)), np.zeros(k * (k - 1) // 2)
    column = {pair: p for p, pair in enumerate(combinations(range(k), 2))}
    for (a, b), rho in zip(combinations(range(k), 2), text.rho, strict=True):
        i, j = sorted((place[a], place[b]))
        positive = j if k == 2 else i
        sign, p = (1.0 if place[a] == positive else -1.0), column[i, j]
        A[spans[a], p] = sign * text.coefficients[spans[a], b - 1]
        A[spans[b], p] = sign * text.coefficients[spans[b], a]
        offsets[p] = -sign * rho
    rows = np.concatenate([np.arange(len(A))[spans[c]] for c in order])
    machine._restore_classes(_rows(text, rows), A[rows], offsets, width, text.label[order], text.nr_sv[order])
    return machine


def _rows(text: LibsvmText, rows: Any) -> Any:
    """Return support vectors in an order; dense unless most entries are 0."""
    if not sparse.issparse(text.vectors):
        return text.vectors[rows]
    vectors = text.vectors[rows]
    few = vectors.nnz < FILLED * vectors.shape[0] * vectors.shape[1]
    return vectors if few else vectors.toarray()


def _parameters(text: LibsvmText) -> dict[str, Any]:
    """Return an estimator's parameters for the kernel of a file."""
    if text.kernel_type == "sigmoid":
        refuse(
            WHO, "a kernel", "kernel_type sigmoid, tanh(gamma x'z + coef0), which is not positive definite",
            "Train the model with another kernel.",
        )  # fmt: skip  # wanted, got, remedy
    names = {"linear": "linear", "polynomial": "poly", "rbf": "rbf", "precomputed": "precomputed"}
    given = {name: getattr(text, name) for name in ("degree", "gamma", "coef0") if getattr(text, name) is not None}
    return {"kernel": names[text.kernel_type]} | given
