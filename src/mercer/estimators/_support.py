"""What the support vector machines have in common: how they are trained, evaluated, and what they show of it."""

from __future__ import annotations

import dataclasses
import warnings
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer._checks import describe, is_number, positive, refuse
from mercer.estimators._door import deadline_of, engine_of, is_precomputed, kernel_of, points, tol_of
from mercer.estimators._machine import Machine
from mercer.functions import RKHSFunction
from mercer.gram import Gram, gram
from mercer.gram._make import SMALL
from mercer.kernels import Kernel
from mercer.kernels._evaluate import diagonal
from mercer.kernels._views import n_rows, take
from mercer.solvers import Certificate, Status
from mercer.solvers.dual import Form, Trained, prove_all, train
from mercer.solvers.watch import Clock, Watcher

ROUNDED = 100 * float(np.finfo(np.float32).eps)
"""Next to sqrt(sum c^2) max k(x, x): an error that decisions from float32 values are never near; most are a tenth."""
SEALED = 2**20  # bytes of the training data that are looked at to tell whether it has changed
UNEVEN = 1e3  # a spread so many times that of other columns, or 1, is worth a word when a fit does not converge


class SupportMachine(Machine):
    """Machines f + b that are quadratic problems over boxes; t of them share the kernel and the support vectors."""

    # ------------------------------------------------------------ training

    def _clock(self, watch: Watcher | None) -> Clock:
        """Return what tells a fit when to stop."""
        return Clock(type(self).__name__, deadline_of(self), watch)

    def _check_forms(self, forms: Sequence[Form]) -> None:
        """Refuse machines that the parameters do not allow."""

    def _train(
        self, forms: Sequence[Form], clock: Clock, starts: Sequence[np.ndarray | None] | None = None
    ) -> list[Trained]:
        """Train machines with the estimator's options."""
        return train(
            forms, tol=self._tol(), gap=self._gap(), max_steps=self._steps(), cache=self._cache(), clock=clock,
            starts=self._starts(forms) if starts is None else starts,
        )  # fmt: skip  # one call

    def _starts(self, forms: Sequence[Form]) -> list[np.ndarray | None] | None:
        """Return what the last fit ended with, if that is asked for and it had as many machines and rows."""
        n = forms[0].box.gram.shape[0]
        if not self.warm_start or not hasattr(self, "support_") or self.shape_fit_[0] != n:
            return None
        if self._coefficients.shape[1] != len(forms):
            return None
        A = np.zeros((n, len(forms)))
        A[self.support_] = self._coefficients * self._margins
        return [A[form.points, k] for k, form in enumerate(forms)]

    def _tol(self) -> float:
        tol = tol_of(self)
        if tol is None:
            refuse(type(self).__name__, "'tol' must be a positive number", "None")
        return tol

    def _gap(self) -> float | None:
        return None if self.gap is None else positive(type(self).__name__, "gap", self.gap)

    def _steps(self) -> int:
        most = self.max_iter
        if not is_number(most) or most != int(most) or most < -1:
            refuse(type(self).__name__, "'max_iter' must be an integer >= -1", describe(most))
        return int(most)

    def _cache(self) -> int | None:
        if self.cache_size is None:
            return None
        return int(positive(type(self).__name__, "cache_size", self.cache_size) * 2**20)

    def _positive_cost(self, *, or_infinite: bool = False) -> float:
        C = self.C
        if not is_number(C) or not C > 0 or not (or_infinite or np.isfinite(C)):
            more = ", or inf for the hard margin" if or_infinite else ""
            refuse(type(self).__name__, f"'C' must be a positive number{more}", describe(C))
        return float(C)

    def _share(self) -> float:
        nu = self.nu
        if not is_number(nu) or not 0 < nu <= 1:
            refuse(type(self).__name__, "'nu' must be a number above 0 and at most 1", describe(nu))
        return float(nu)

    # ------------------------------------------------------------ what was found

    def _keep(self, X: Any, K: Gram, machines: list[Trained], order: np.ndarray) -> np.ndarray:
        """Set what all machines show; return the coefficients (s, t). ``order`` is that of support vectors by row."""
        n = K.shape[0]
        A, used = np.zeros((n, len(machines))), np.zeros(n, dtype=bool)
        for k, machine in enumerate(machines):
            A[machine.points, k] = machine.coefficients
            used[machine.points[machine.found.c.reshape(-1, len(machine.points)).any(axis=0)]] = True
        self.support_ = order[used[order]].astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if is_precomputed(self) else take(X, self.support_)
        self._coefficients = A[self.support_]
        self._offsets = np.array([machine.offset for machine in machines])
        self._margins = np.array([machine.margin for machine in machines])
        self._norms = np.array([machine.norm for machine in machines])
        self._kernel = K.kernel
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (n_rows(X),)
        self.fit_status_ = int(any(machine.status is not Status.CONVERGED for machine in machines))
        self.violation_ = max(machine.violation for machine in machines)
        self.__dict__.pop("_certificate", None)
        data = X if K.points is None else K.points
        self._unproved = machines, data, _seal(data)
        return self._coefficients

    def _restore(self, vectors: Any, A: np.ndarray, offsets: np.ndarray, n_features: int) -> None:
        """Set what all machines show from what a file holds: support vectors, coefficients (s, t), offsets."""
        self.n_features_in_ = n_features
        self._kernel = None if is_precomputed(self) else kernel_of(self).resolve(vectors)
        self.support_vectors_ = np.empty((0, 0)) if self._kernel is None else vectors
        self.support_ = np.asarray(vectors if self._kernel is None else np.arange(len(A)), dtype=np.int32)
        self._coefficients, self._offsets = A, offsets
        self._margins = np.ones(len(offsets))
        self._norms = np.sqrt([max(f.inner(f), 0.0) if f is not None else np.nan for f in self.functions_])
        self.intercept_ = offsets.copy()
        self.shape_fit_ = (len(A), n_features)
        self.fit_status_ = 0

    @property
    def certificate_(self) -> Certificate:
        """What is proved, an entry for each machine; computed from the training data when first asked for."""
        check_is_fitted(self)
        if "_certificate" not in self.__dict__:
            if "_unproved" not in self.__dict__:
                raise AttributeError("certificate_ needs the training data, which a model that was read does not have.")
            machines, data, seal = self._unproved
            if _seal(data) != seal:
                refuse(type(self).__name__, "certificate_ needs the training data as it was", "other numbers in it",
                       "Ask for it before X changes, or fit again.")  # fmt: skip  # one call
            self._certificate = prove_all(machines)
            del self._unproved
        return self._certificate

    @property
    def function_(self) -> RKHSFunction | None:
        """The functions f, without their offsets, as one with t outputs; None for "precomputed"."""
        check_is_fitted(self)
        A = self._coefficients if self._coefficients.shape[1] > 1 else self._coefficients[:, 0]
        return None if self._kernel is None or not len(A) else RKHSFunction(self._kernel, self.support_vectors_, A)

    @property
    def functions_(self) -> tuple[RKHSFunction | None, ...]:
        """The function f of each machine, on its own support vectors."""
        check_is_fitted(self)
        return tuple(self._function(a) for a in self._coefficients.T)

    def _function(self, a: np.ndarray) -> RKHSFunction | None:
        own = np.flatnonzero(a)
        if self._kernel is None or not len(own):
            return None
        return RKHSFunction(self._kernel, take(self.support_vectors_, own), a[own])

    @property
    def coef_(self) -> np.ndarray:
        """The weights of linear machines, (t, d): f(x) = ``coef_`` x."""
        check_is_fitted(self)
        if self.kernel != "linear" and not (isinstance(self.kernel, Kernel) and self._is_linear()):
            raise AttributeError("coef_ is only available when using a linear kernel")
        if not len(self.support_):
            return np.zeros((self._coefficients.shape[1], self.n_features_in_))
        return self._weights().T

    def _weights(self) -> np.ndarray:
        kernel: Any = self._kernel  # never None here: what is precomputed has no weights
        return np.asarray(RKHSFunction(kernel, self.support_vectors_, self._coefficients).weights())

    def _is_linear(self) -> bool:
        try:
            self._weights()
        except (ValueError, TypeError):
            return False
        return True

    @property
    def n_support_(self) -> np.ndarray:
        """How many support vectors there are, for each class."""
        check_is_fitted(self)
        return self._n_support

    # ------------------------------------------------------------ evaluation

    def _decisions(self, X: Any) -> np.ndarray:
        """Return f + b of each machine at the rows of X, (m, t), in double precision."""
        check_is_fitted(self)
        return self._values(points(self, X, reset=False), "double")[0]

    def _signs(self, X: Any) -> np.ndarray:
        """Return decisions in the engine's precision, but for rows where one might have the wrong sign: in double."""
        check_is_fitted(self)
        X = points(self, X, reset=False)
        D, rounded = self._values(X, engine_of(self).precision)
        if rounded:
            slack = ROUNDED * np.sqrt((self._coefficients**2).sum(axis=0)) * self._largest
            doubtful = np.flatnonzero((np.abs(D) <= slack).any(axis=1))
            if len(doubtful):
                # as many rows as the tile loop asks for, so that values have the very bits of `_decisions`
                rows = np.resize(doubtful, min(n_rows(X), max(len(doubtful), SMALL // len(self._coefficients) + 1)))
                D[doubtful] = self._values(take(X, rows), "double")[0][: len(doubtful)]
        return D

    def _values(self, X: Any, precision: Any) -> tuple[np.ndarray, bool]:
        """Return f + b of each machine, which share each tile of kernel values, and whether these were rounded."""
        A = self._coefficients
        if not len(A):
            return np.broadcast_to(self._offsets, (n_rows(X), A.shape[1])).copy(), False
        if self._kernel is None:
            X = X[:, self.support_]
            return np.asarray((X.toarray() if sparse.issparse(X) else X) @ A) + self._offsets, False
        engine = dataclasses.replace(engine_of(self), precision=precision)
        K = gram(self._kernel, X, self.support_vectors_, engine=engine)
        return np.asarray(K @ A) + self._offsets, K._source.tile_dtype != np.float64

    @property
    def _largest(self) -> float:
        """The largest k(x, x) of a support vector."""
        return float(diagonal(self._kernel.form(), self.support_vectors_).max())  # type: ignore[union-attr]  # there is one

    # ------------------------------------------------------------ when it falls short

    def _warn(self, X: Any, machines: list[Trained], seconds: float) -> None:
        """Give the one warning that a fit which missed its tolerance ends with."""
        short = [machine for machine in machines if machine.status is not Status.CONVERGED]
        if not short:
            return
        proof, who = self.certificate_, type(self).__name__
        worst = max(short, key=lambda machine: machine.violation)
        k = int(np.argmax(proof.gap / np.maximum(np.abs(proof.primal), np.finfo(float).tiny)))
        asked = f"tol={self.tol:g}" if self.gap is None else f"tol={self.tol:g} and gap={self.gap:g}"
        warnings.warn(
            f"{who} did not reach {asked}: largest violation {worst.violation:.1e}, relative gap "
            f"{proof.relative_gap:.1e} (worst row {proof.worst_row[k]}) after {seconds:.3g} s, {worst.status.value}. "
            f"{_remedy(X)} The model is the best found; see certificate_.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def __getstate__(self) -> dict[str, Any]:
        if "_unproved" in self.__dict__:
            with suppress(ValueError):  # where that has changed, the model goes without
                self.certificate_  # noqa: B018  # proved before the training data goes
        return {name: value for name, value in super().__getstate__().items() if name != "_unproved"}


def _seal(X: Any) -> int:
    """Return a number that changes when a table does: its bytes, or those of rows all over it if they are many."""
    X = X.data if sparse.issparse(X) else X
    if not isinstance(X, np.ndarray):
        return 0
    step = max(1, X.nbytes // SEALED)
    return zlib.crc32(X[::step].tobytes())


def _remedy(X: Any) -> str:
    """Say what to do, naming the columns of a table that are out of proportion."""
    plain = "Raise max_iter or deadline, lower C, or scale X."
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind != "f":
        return plain
    with np.errstate(over="ignore", invalid="ignore"):
        spread = X.std(axis=0, dtype=np.float64)
    k, typical = int(spread.argmax()), float(np.median(spread[spread > 0])) if spread.any() else 0.0
    if spread[k] <= UNEVEN * max(min(typical, 1.0), np.finfo(float).tiny):
        return plain
    return f"Scale X (StandardScaler): column {k} spreads by {spread[k]:.1e}, half of them by {typical:.1e} or less."
