"""Machines of every kind: against an interior point method on the primal, their conditions, bounds and laws."""

import numpy as np
import pytest

from mercer.gram import from_matrix
from mercer.losses import EpsilonInsensitive, Hinge, SquaredEpsilonInsensitive, SquaredHinge
from mercer.solvers.dual import (
    NotSeparableError,
    decisions,
    hard_margin,
    nu_classes,
    nu_values,
    of_loss,
    one_class,
    prove_all,
    train,
)
from tests import oracles

HOW_MANY = 200
LOSSES = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "epsilon_insensitive": EpsilonInsensitive(0.1),
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive(0.1),
}
KINDS = [(name, {"intercept": intercept}) for name in LOSSES for intercept in ("free", "penalized", "none")] + [
    ("nu classes", {"nu": 0.4}),
    ("nu values", {"nu": 0.4}),
    ("one class", {"nu": 0.3}),
]
IDS = ["-".join([kind, *map(str, given.values())]) for kind, given in KINDS]


def parts_of(kind):
    """Small problems of 8 to 14 rows: kernel matrix, targets, weights."""
    rng, out = np.random.default_rng(7), []
    while len(out) < HOW_MANY:
        n = int(rng.integers(8, 15))
        X = rng.standard_normal((n, 2))
        K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)) if len(out) % 2 else X @ X.T + 1e-3 * np.eye(n)
        w = rng.uniform(0.5, 2.0, n)
        if "epsilon" in kind or kind == "nu values":
            y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)
        else:
            y = np.where(X[:, 0] + 0.8 * rng.standard_normal(n) > 0, 1.0, -1.0)
            y[:2] = 1.0, -1.0
            if kind == "nu classes":  # feasible, with a margin
                y = np.where(X[:, 0] + 0.1 * rng.standard_normal(n) > np.median(X[:, 0]), 1.0, -1.0)
                w = np.ones(n)
        out.append((K, y, w))
    return out


def form_of(kind, given, K, y, w, C):
    gram, rows = from_matrix(K), np.arange(len(y))
    if kind in LOSSES:
        return of_loss(gram, rows, y, LOSSES[kind], C * w, given["intercept"])
    if kind == "nu classes":
        return nu_classes(gram, rows, y, w, given["nu"])
    if kind == "nu values":
        return nu_values(gram, rows, y, C * w, given["nu"])
    return one_class(gram, rows, w, given["nu"])


@pytest.mark.parametrize("kind, given", KINDS, ids=IDS)
def test_two_hundred_small_problems(kind, given):
    C, parts = 2.0, parts_of(kind)
    best, exact = oracles.machines(kind, parts, C=C, epsilon=0.1, **given)
    apart, outside = [], []
    for (K, y, w), least, t in zip(parts, best, exact, strict=True):
        form, rows = form_of(kind, given, K, y, w, C), np.arange(len(y))
        machine = train([form], tol=1e-9)
        proof = prove_all(machine)
        size = max(abs(least), 1e-2 * w.sum())  # of one class it may be 0
        apart.append(max(abs(proof.primal[0] - least), abs(proof.dual[0] - least)) / size)
        rough = train([form], tol=1e-2, max_steps=12)
        loose = prove_all(rough)
        assert loose.primal[0] >= least - 1e-7 * size
        assert loose.dual[0] <= least + 1e-7 * size
        bound = loose.radius[0] * np.sqrt(np.diagonal(K)) + loose.offset[0]
        outside.append((np.abs(decisions(rough, rows)[:, 0] - t) - bound).max())
        assert_conditions(machine[0], K)
    assert max(apart) <= 1e-7
    assert max(outside) <= 1e-4 * (10 if kind == "nu classes" else 1)  # what the oracle itself is off by


def assert_conditions(machine, K):
    """Row by row: what a variable at a bound, or between, says of the gradient less the level."""
    box, c = machine.found.form.box, machine.found.c
    F = K[np.ix_(box.rows, box.rows)] @ c + box.shift * c.sum() + box.ridge * c + box.linear
    g = F - (machine.found.levels[box.group] if len(box.totals) else 0.0)
    low, high = c <= box.lower, c >= box.upper
    assert (c >= box.lower).all()
    assert (c <= box.upper).all()
    assert (g[low & ~high] >= -1e-7).all()
    assert (g[high & ~low] <= 1e-7).all()
    np.testing.assert_allclose(g[~low & ~high], 0, atol=1e-7)


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
def test_hard_margins(intercept):
    rng, parts = np.random.default_rng(5), []
    for _ in range(HOW_MANY):
        n = int(rng.integers(6, 12))
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        X = rng.standard_normal((n, 2)) + np.outer(y, [2.5, 1.0])
        if (y * (X @ [2.5, 1.0])).min() > 0.2:
            X += 0.0 if intercept == "none" else 1.0
            parts.append((X @ X.T, y, np.ones(n)))
    best, exact = oracles.machines("hard", parts, intercept=intercept)
    for (K, y, _), least, t in zip(parts, best, exact, strict=True):
        rows = np.arange(len(y))
        machine = train([hard_margin(from_matrix(K), rows, y, intercept)], tol=1e-9)
        proof = prove_all(machine)
        assert proof.primal[0] == pytest.approx(least, rel=1e-6)
        assert proof.dual[0] == pytest.approx(least, rel=1e-6)
        bound = proof.radius[0] * np.sqrt(np.diagonal(K)) + proof.offset[0]
        values = decisions(machine, rows)[:, 0]
        assert (np.abs(values - t) <= bound + 1e-5).all()
        assert (y * values >= 1 - 1e-6).all()


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
def test_classes_that_meet_have_a_witness(intercept):
    rng = np.random.default_rng(6)
    for _ in range(20):
        X = rng.standard_normal((30, 2))
        y = np.where(rng.random(30) < 0.5, 1.0, -1.0)
        K = X @ X.T
        with pytest.raises(NotSeparableError, match="C=inf needs classes that the kernel separates; got") as caught:
            train([hard_margin(from_matrix(K), np.arange(30), y, intercept)])
        witness = caught.value.witness
        a, rows = witness.weights, witness.rows
        if intercept == "free":
            assert (a[y[rows] > 0]).sum() == pytest.approx(1)
            assert (a[y[rows] < 0]).sum() == pytest.approx(-1)
        assert np.abs(a).sum() == pytest.approx(2 if intercept == "free" else 1)
        assert (a * y[rows] >= 0).all()
        square = a @ K[np.ix_(rows, rows)] @ a + (a.sum() ** 2 if intercept == "penalized" else 0.0)
        assert np.sqrt(max(square, 0.0)) <= 1e-4 * witness.size
        assert np.sqrt(max(square, 0.0)) == pytest.approx(witness.distance, abs=1e-7)


def test_a_gap_that_cannot_be_reached_is_said():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    (machine,) = train([of_loss(from_matrix(X @ X.T), np.arange(40), y, Hinge(), np.full(40, 1e3))], gap=1e-18)
    assert machine.status.value.startswith("stalled")
