"""Duals of support vector machines of every kind, on generated data."""

import numpy as np

from mercer import gram
from mercer.kernels import Gaussian
from mercer.solvers._span import fresh
from mercer.solvers.dual import BoxQuadratic


def data(rng, n, d=3):
    """Two overlapping classes and a target."""
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.7 * rng.standard_normal(n) > 0.8, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y, np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(n)


def boxed(K, rows, linear, lower, upper, totals=(), group=None, ridge=0.0, shift=0.0):
    size = len(rows)
    group = np.zeros(size, int) if group is None else group
    ridge = np.broadcast_to(np.asarray(ridge, float), size).copy()
    return BoxQuadratic(K, rows, linear, lower, upper, np.array(totals, float), group, ridge, shift)


def c_svc(K, y, C=1.0, rows=None, weight=1.0, **more):
    rows = np.arange(len(y)) if rows is None else rows
    C = C * np.broadcast_to(weight, len(y))
    zero = np.zeros(len(y))
    more = {"totals": [0.0]} | more
    return boxed(K, rows, -y, np.where(y > 0, zero, -C), np.where(y > 0, C, zero), **more)


def kinds(K, X, y, t, C=2.0):
    """Return a problem of every kind, by name."""
    n = len(y)
    rows, zero, one = np.arange(n), np.zeros(n), np.ones(n)
    inf = np.full(n, np.inf)
    twice, both = np.concatenate([rows, rows]), np.concatenate([-t + 0.1, -t - 0.1])
    nu = 0.4 * min((y > 0).sum(), (y < 0).sum()) / n * n
    return {
        "C-SVC": c_svc(K, y, C),
        "C-SVC, penalised offset": c_svc(K, y, C, totals=(), shift=1.0),
        "C-SVC, no offset": c_svc(K, y, C, totals=()),
        "squared hinge": c_svc(K, y, np.inf, weight=1.0, ridge=1 / (2 * C)),
        "squared hinge, penalised": c_svc(K, y, np.inf, totals=(), shift=1.0, ridge=1 / (2 * C)),
        "weights": c_svc(K, y, C, weight=np.arange(n) % 3),
        "nu-SVC": boxed(
            K, rows, zero, np.where(y > 0, zero, -one), np.where(y > 0, one, zero), [nu, -nu], (y < 0).astype(int)
        ),
        "SVR": boxed(
            K, twice, both, np.concatenate([zero, -C * one]), np.concatenate([C * one, zero]), [0.0]
        ),
        "SVR, penalised": boxed(
            K, twice, both, np.concatenate([zero, -C * one]), np.concatenate([C * one, zero]), shift=1.0
        ),
        "SVR, squared": boxed(
            K, twice, both, np.concatenate([zero, -inf]), np.concatenate([inf, zero]), [0.0], ridge=1 / (2 * C)
        ),
        "nu-SVR": boxed(
            K, twice, np.concatenate([-t, -t]), np.concatenate([zero, -C * one]), np.concatenate([C * one, zero]),
            [0.3 * C * n / 2, -0.3 * C * n / 2], np.repeat([0, 1], n),
        ),
        "one class": boxed(K, rows, zero, zero, one, [0.3 * n]),
    }  # fmt: skip  # a kind a line


KINDS = list(kinds(None, np.zeros((4, 1)), np.array([1.0, -1.0, 1.0, -1.0]), np.zeros(4)))


def dense(problem):
    """Return Q in float64."""
    K = fresh(problem.gram).block(problem.rows, problem.rows)
    return K + problem.shift + np.diag(problem.ridge)


def objective(problem, c):
    return 0.5 * c @ dense(problem) @ c + problem.linear @ c


def assert_feasible(problem, c, rtol=1e-12):
    assert (c >= problem.lower).all()
    assert (c <= problem.upper).all()
    for g, total in enumerate(problem.totals):
        size = max(np.abs(c).sum(), 1.0)
        assert abs(c[problem.group == g].sum() - total) <= rtol * size


def violation(problem, c):
    """The largest violation of the optimality conditions, from the definition."""
    F = dense(problem) @ c + problem.linear
    up, low = c < problem.upper, c > problem.lower
    if len(problem.totals) == 0:
        return max(np.max(-F[up], initial=0), np.max(F[low], initial=0))
    worst = 0.0
    for g in range(len(problem.totals)):
        mine = problem.group == g
        worst = max(worst, np.max(F[low & mine], initial=-np.inf) - np.min(F[up & mine], initial=np.inf))
    return worst


def gaussian(X, gamma=0.5, **engine):
    from mercer import Engine

    return gram(Gaussian.from_gamma(gamma), X, engine=Engine(**engine))
