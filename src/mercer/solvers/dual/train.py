"""Training machines that share one Gram: their boxes solved together, to a tolerance and, if asked, a certified gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer.gram._lines import product_of_part
from mercer.solvers.certificate import Certificate
from mercer.solvers.dual.boxes import solve_boxes
from mercer.solvers.dual.forms import Form
from mercer.solvers.dual.proof import Found, certify_machines
from mercer.solvers.dual.quadratic import BoxAnswer
from mercer.solvers.dual.separation import separate
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

FINEST = 1e-12  # a tolerance below which rounding rules
SMALL, EXACT, MOST = 600, 1e-10, 50_000
"""Machines of so few variables are solved to a tolerance at which it does not matter which way they went, if that
takes no more than so many steps: then the order of rows, or how weights are written, do not show."""


@dataclass(frozen=True, eq=False)
class Trained:
    """One machine: f = sum_i coefficients_i k(., x_points_i), and b.

    Parameters
    ----------
    found : Found
        Where its quadratic problem ended.
    violation : float
        The largest violation of the optimality conditions there.
    steps : int
        Inner steps taken.
    status : Status
        How it ended.
    square : float
        ||f||^2, before it is divided by the margin.
    """

    found: Found
    violation: float
    steps: int
    status: Status
    square: float

    @property
    def points(self) -> np.ndarray:
        """The rows of K it is about."""
        return self.found.form.points

    @property
    def margin(self) -> float:
        """What f and b are divided by."""
        return self.found.form.margin(self.found.levels)

    @property
    def coefficients(self) -> np.ndarray:
        """Those of f on its rows."""
        return self.found.form.folded(self.found.c) / self.margin

    @property
    def norm(self) -> float:
        """The norm of f."""
        return float(np.sqrt(max(self.square, 0.0))) / self.margin

    @property
    def offset(self) -> float:
        """The intercept b."""
        return self.found.form.offset(self.found.c, self.found.levels) / self.margin


def train(
    forms: Sequence[Form], *, tol: float = 1e-3, gap: float | None = None, max_steps: int = -1,
    cache: int | None = None, clock: Clock | None = None, starts: Sequence[np.ndarray | None] | None = None,
) -> list[Trained]:  # fmt: skip  # the machines, then how to train them
    """Train machines that share one Gram: all pairs of classes, folds of a validation, costs of a path.

    Parameters
    ----------
    forms : sequence of Form
        On one Gram; each may be about some of its rows only.
    tol : float
        The largest violation of the optimality conditions.
    gap : float, optional
        A relative gap to be certified as well: the tolerance is lowered until it is.
    max_steps : int
        Inner steps for each machine; -1 for many.
    cache : int, optional
        Bytes of kernel rows that may be kept.
    clock : Clock, optional
        When to stop early.
    starts : sequence of arrays, optional
        For each machine the coefficients on its rows to begin with, or None.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Linear
    >>> from mercer.losses import Hinge
    >>> from mercer.solvers.dual import of_loss, train
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> machine, = train([of_loss(gram(Linear(), X), np.arange(4), y, Hinge(), np.full(4, 10.0))])
    >>> machine.coefficients.round(3), round(machine.offset, 3) + 0.0
    (array([ 0. , -0.5,  0.5,  0. ]), 0.0)
    """
    clock = Clock("train") if clock is None else clock
    begin = [None] * len(forms) if starts is None else list(starts)
    at = [None if s is None else form.unfolded(np.asarray(s)) for form, s in zip(forms, begin, strict=True)]
    machines = _begun(forms, tol, max_steps, cache, clock, at)
    while gap is not None and all(m.status is Status.CONVERGED for m in machines):
        wide = _wide(machines, gap)
        if not wide:
            break
        tol *= 0.1
        if tol < FINEST:
            for k in wide:
                machines[k] = replace(machines[k], status=Status.STALLED)
            break
        again = _solved(
            [forms[k] for k in wide], tol, max_steps, cache, clock, [machines[k].found.c for k in wide]
        )  # fmt: skip  # one call
        for k, machine in zip(wide, again, strict=True):
            machines[k] = replace(machine, steps=machine.steps + machines[k].steps)
    return machines


def prove_all(machines: Sequence[Trained]) -> Certificate:
    """Return the certificate of machines on one Gram, an entry for each."""
    return certify_machines([m.found for m in machines], machines[0].found.form.box.gram)


def decisions(machines: Sequence[Trained], rows: np.ndarray) -> np.ndarray:
    """Return f + b of machines that share one Gram at some of its rows, (len(rows), machines).

    Cost: the kernel values between these rows and all support vectors, each computed once.
    """
    K = machines[0].found.form.box.gram
    A = np.zeros((K.shape[0], len(machines)))
    for k, machine in enumerate(machines):
        A[machine.points, k] = machine.coefficients
    used = np.flatnonzero(A.any(axis=1))
    values = product_of_part(K, rows, used, A[used], K.engine) if len(used) else np.zeros((len(rows), len(machines)))
    return values + np.array([machine.offset for machine in machines])


def _begun(
    forms: Sequence[Form], tol: float, max_steps: int, cache: int | None, clock: Clock,
    starts: Sequence[np.ndarray | None],
) -> list[Trained]:  # fmt: skip  # as above
    small = max(form.box.size for form in forms) <= SMALL and forms[0].box.gram._source.tile_dtype == np.float64
    if not small or tol <= EXACT:
        return _solved(forms, tol, max_steps, cache, clock, starts)
    most = MOST if max_steps < 0 else min(MOST, max_steps)
    machines = [_settled(m, tol) for m in _solved(forms, EXACT, most, cache, clock, starts)]
    rest = [k for k, m in enumerate(machines) if m.status is Status.MAX_STEPS]
    if not rest or most == max_steps:
        return machines
    again = _solved([forms[k] for k in rest], tol, max_steps, cache, clock, [machines[k].found.c for k in rest])
    for k, machine in zip(rest, again, strict=True):
        machines[k] = replace(machine, steps=machine.steps + machines[k].steps)
    return machines


def _settled(machine: Trained, tol: float) -> Trained:
    """Return the machine, converged if that is what the tolerance asked for says."""
    there = machine.violation < tol and machine.status in (Status.STALLED, Status.MAX_STEPS)
    return replace(machine, status=Status.CONVERGED) if there else machine


def _solved(
    forms: Sequence[Form], tol: float, max_steps: int, cache: int | None, clock: Clock,
    starts: Sequence[np.ndarray | None],
) -> list[Trained]:  # fmt: skip  # as above
    if forms[0].hard:
        answers = [separate(f, tol, max_steps, cache, clock, s) for f, s in zip(forms, starts, strict=True)]
        return [read(form, answer) for form, answer in zip(forms, answers, strict=True)]
    answers = solve_boxes(
        [form.box for form in forms], tol=tol, max_steps=max_steps, cache=cache, clock=clock, starts=starts
    )  # fmt: skip  # one call
    return [read(form, answer) for form, answer in zip(forms, answers, strict=True)]


def read(form: Form, answer: BoxAnswer) -> Trained:
    """Return the machine that an answer is."""
    box, c = form.box, answer.c
    values = answer.gradient - box.linear - box.ridge * c - box.shift * float(c.sum())
    found = Found(form, c, form.chosen(answer.levels))
    return Trained(found, answer.violation, answer.steps, answer.status, float(c @ values))


def _wide(machines: Sequence[Trained], gap: float) -> list[int]:
    """Return the machines whose relative gap is larger than asked."""
    proof = prove_all(machines)
    relative = proof.gap / np.maximum(np.abs(proof.primal), np.finfo(float).tiny)
    return [k for k, value in enumerate(relative) if value > gap]
