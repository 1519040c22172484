"""Is a kernel, or a matrix, positive semi-definite? An interval for the smallest eigenvalue, or a witness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer._checks import integer, number
from mercer.engine import Engine
from mercer.gram import _witness
from mercer.gram._rounded import EPS
from mercer.gram._smallest import Ritz, dense, lanczos
from mercer.gram._subject import WHO, Subject, subject
from mercer.gram._witness import Witness
from mercer.kernels import Derivation

DENSE = 4000
"""Up to this many points the matrix is formed and the interval is rigorous."""
DOUBT = 1e-6
"""The probability with which an interval from Lanczos may be wrong."""


@dataclass(frozen=True, eq=False)
class PsdCheck:
    """What was found about a matrix K; true exactly when it is positive semi-definite within the error bound.

    Parameters
    ----------
    verdict : {"psd", "not psd", "undecided"}
        "not psd" only with a witness, "psd" only with a bound or a proof.
    interval : tuple of float
        (low, high), between which the smallest eigenvalue lies.
    bound : float
        The error bound: how far below 0 low may lie and still be called rounding (or tol, if given).
    n : int
        How many points.
    how : str
        The method, in words.
    confidence : float
        1 when the interval is rigorous; else the probability that it holds.
    proof : Derivation, optional
        The kernel's derivation, if every step of it is proven.
    witness : Witness, optional
        Points and coefficients with c'Kc < 0.
    """

    verdict: Literal["psd", "not psd", "undecided"]
    interval: tuple[float, float]
    bound: float
    n: int
    how: str
    confidence: float = 1.0
    proof: Derivation | None = None
    witness: Witness | None = None

    def __bool__(self) -> bool:
        """Whether K is positive semi-definite within the error bound."""
        return self.verdict == "psd"

    def __str__(self) -> str:
        """Return what was found as a readable block."""
        sure = "" if self.confidence == 1.0 else f", with probability at least 1 - {1 - self.confidence:.0e}"
        low, high = self.interval
        where = f"in [{low:.6g}, {high:.6g}]{sure}" if np.isfinite(low) else f"at most {high:.6g}"
        lines = [
            f"positive semi-definite: {_WORDS[self.verdict]}",
            f"  smallest eigenvalue of {self.n} points: {where}",
            f"  error bound: {self.bound:.2g}",
            f"  how: {self.how}",
        ]
        if self.witness is not None:
            lines += [f"  {line}" for line in str(self.witness).splitlines()]
            lines += ["  the derivation claims a proof: its values or its proof are wrong"] if self.proof else []
        elif self.proof is not None:
            lines += ["  proof:", *(f"    {line}" for line in str(self.proof).splitlines())]
        return "\n".join(lines)


_WORDS = {"psd": "yes", "not psd": "NO", "undecided": "undecided"}


def check_psd(
    kernel_or_matrix: Any,
    X: Any = None,
    *,
    tol: float | None = None,
    engine: Engine | None = None,
    random_state: int = 0,
) -> PsdCheck:
    """Enclose the smallest eigenvalue of a Gram matrix, or find points and coefficients with c'Kc < 0.

    Up to 4,000 points K is formed in float64 and the interval is rigorous: a Rayleigh quotient above, verified Cholesky
    of K - s I below, and the rounding of every entry (by running error analysis of the kernel's rule) in both.
    Above that, Lanczos runs on products that never store K; high is a Ritz value, low is the bound of Kuczynski and
    Wozniakowski, which holds with probability 1 - 1e-6. A kernel whose derivation is proven needs no more than that
    proof; the numbers are shown beside it, and a witness beyond rounding would overrule it.
    Cost: about 2 n^3 flops, or at most 100 products with K.

    Parameters
    ----------
    kernel_or_matrix : Kernel, array, sparse matrix or Gram
        A kernel, or a symmetric matrix, whose entries then count as right to a few eps of their dtype times
        sqrt(k_ii k_jj).
    X : points, optional
        Where a kernel is checked: rows, or a list of the objects it takes.
    tol : float, optional
        Eigenvalues above -tol times the mean of the diagonal also count as psd; 0 by default. Above 4,000 points a
        kernel without a proof is seldom decided without it; then Lanczos takes up to 500 steps.
    engine : Engine, optional
        What products may use; they are in double precision in any case.
    random_state : int
        Where Lanczos starts.

    Returns
    -------
    PsdCheck
        True when K is psd within its error bound; prints as a block.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import check_psd
    >>> from mercer.kernels import Gaussian
    >>> found = check_psd(Gaussian(scale=1.0), [[0.0], [1.0], [3.0]])
    >>> bool(found), found.verdict, [round(end, 9) for end in found.interval]
    (True, 'psd', [0.631671009, 0.631671009])
    >>> print(check_psd(-np.ones((3, 3))))
    positive semi-definite: NO
      smallest eigenvalue of 3 points: in [-3, -3]
      error bound: ...
      how: eigenvector, Rayleigh quotient and verified Cholesky in float64 (rigorous)
      c'Kc = -1 (rounding below ...) for
        c =        1  point 0
    """
    slack = 0.0 if tol is None else number(WHO, "tol", tol, 0.0)
    seed = integer(WHO, "random_state", random_state)
    asked = subject(kernel_or_matrix, X, engine or Engine())
    derivation = asked.derivation()
    proof = derivation if derivation is not None and derivation.proven else None
    found = _by_cholesky(asked, slack) if asked.size <= DENSE else _by_lanczos(asked, slack, seed, proof is not None)
    low, high, bound, how, confidence, witness = found
    if witness is not None:
        return PsdCheck("not psd", (low, min(high, witness.slope)), bound, asked.size, how, confidence, proof, witness)
    if proof is not None:
        how = f"the proof below; numerically, {how}"
        return PsdCheck("psd", (max(low, 0.0), max(high, 0.0)), bound, asked.size, how, confidence, proof)
    verdict: Literal["psd", "undecided"] = "psd" if low >= -bound else "undecided"
    return PsdCheck(verdict, (low, high), bound, asked.size, how, confidence)


_Found = tuple[float, float, float, str, float, Witness | None]


def _by_cholesky(asked: Subject, slack: float) -> _Found:
    K, error = asked.whole()
    found = dense(K)
    allowed = slack * float(np.abs(np.diagonal(K)).mean())
    low, high, bound = found.low - error, found.high + error, found.rounding + 2 * error + allowed
    how = "eigenvector, Rayleigh quotient and verified Cholesky in float64 (rigorous)"
    witness = None
    if low < 0.0:
        witness = _witness.find(asked.part, _suspects(K, found.vector), allowed, asked.points)
    return low, high, bound, how, 1.0, witness


def _suspects(K: np.ndarray, v: np.ndarray) -> list[np.ndarray]:
    """Return orders in which to try points: a negative diagonal, a pair with k_ij^2 > k_ii k_jj, an eigenvector."""
    d = np.diagonal(K)
    roots = np.sqrt(np.maximum(d, 0.0))
    excess = np.abs(K) - np.outer(roots, roots)
    np.fill_diagonal(excess, -np.inf)
    pair = np.array(np.unravel_index(int(excess.argmax()), K.shape))
    return [np.array([int(d.argmin())]), np.unique(pair), np.argsort(-np.abs(v), kind="stable")]


def _by_lanczos(asked: Subject, slack: float, seed: int, proven: bool) -> _Found:
    n = asked.size
    d = asked.diagonal()
    allowed = slack * float(np.abs(d).mean())
    sample = np.unique(np.linspace(0, n - 1, 256).astype(np.intp))
    error = asked.error(sample)

    def rounding(ritz: Ritz) -> float:
        return error + 4 * n * EPS * max(abs(ritz.smallest), abs(ritz.largest))

    def settled(ritz: Ritz) -> bool:
        return ritz.smallest < -rounding(ritz) - allowed or ritz.low(DOUBT) >= -rounding(ritz) - allowed

    lone = _witness.find(asked.part, [np.array([int(d.argmin())])], allowed, asked.points)
    steps = 1 if lone is not None else 30 if proven else 500 if slack else 100
    ritz = lanczos(asked.times, n, steps, seed, settled)
    witness = lone
    if witness is None and ritz.smallest < -rounding(ritz) - allowed:
        witness = _witness.find(asked.part, [np.argsort(-np.abs(ritz.vector), kind="stable")], allowed, asked.points)
        witness = witness or Witness(np.arange(n), ritz.vector, ritz.smallest, rounding(ritz))
    how = f"{ritz.steps} Lanczos steps in float64, residual {ritz.residual:.2g}"
    low, high = ritz.low(DOUBT) - rounding(ritz), ritz.smallest + rounding(ritz)
    return low, high, 2 * rounding(ritz) + allowed, how, 1 - DOUBT if np.isfinite(low) else 1.0, witness
