"""The objective in cvxpy, solved by Clarabel: the oracle for every convex loss on small problems."""

import warnings

import cvxpy as cp
import numpy as np

from mercer import losses


def loss_of(loss, y, t):
    """The sum terms of a loss, as cvxpy expressions."""
    r, m = t - y, cp.multiply(y, t)
    kind = type(loss)
    if kind is losses.Squared:
        return cp.square(r) / 2
    if kind is losses.Absolute:
        return cp.abs(r)
    if kind is losses.Quantile:
        return loss.level * cp.pos(-r) + (1 - loss.level) * cp.pos(r)
    if kind is losses.Expectile:
        return loss.level * cp.square(cp.pos(-r)) + (1 - loss.level) * cp.square(cp.pos(r))
    if kind is losses.Huber:
        return cp.huber(r, loss.width) / 2
    if kind is losses.PseudoHuber:
        ones = np.ones((1, len(y)))
        stacked = cp.vstack([ones, cp.reshape(r / loss.width, (1, len(y)), order="C")])
        return loss.width**2 * (cp.norm(stacked, 2, axis=0) - 1)
    if kind is losses.LogCosh:
        return cp.logistic(2 * r) - r - np.log(2)
    if kind is losses.Poisson:
        return cp.exp(t) - cp.multiply(y, t) + np.where(y > 0, y * np.log(np.where(y > 0, y, 1)), 0) - y
    if kind is losses.Gamma:
        return cp.multiply(y, cp.exp(-t)) + t - np.log(y) - 1
    if kind is losses.Tweedie:
        a, b = loss.power - 1, 2 - loss.power
        return cp.multiply(y, cp.exp(-a * t)) / a + cp.exp(b * t) / b - y**b / (a * b)
    if kind is losses.Logistic:
        return cp.logistic(-m)
    if kind is losses.Exponential:
        return cp.exp(-m)
    if kind is losses.Hinge:
        return cp.pos(1 - m)
    if kind is losses.SquaredHinge:
        return cp.square(cp.pos(1 - m))
    if kind is losses.SmoothedHinge:
        return cp.huber(cp.pos(1 - m), loss.width) / (2 * loss.width)
    if kind is losses.ModifiedHuber:
        return cp.huber(cp.pos(1 - m), 2)
    if kind is losses.EpsilonInsensitive:
        return cp.pos(cp.abs(r) - loss.epsilon)
    if kind is losses.SquaredEpsilonInsensitive:
        return cp.square(cp.pos(cp.abs(r) - loss.epsilon))
    raise ValueError(f"no oracle for {loss!r}")


def optimum(K, y, loss, weight=None, *, intercept=False, penalty=None, most=None):
    """The least sum of w loss + penalty(||f||), with ||f|| <= most if asked; the default penalty is ||f||^2 / 2."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-13 * values[-1]
    root = vectors[:, kept] * np.sqrt(values[kept])
    theta, b = cp.Variable(kept.sum()), cp.Variable()
    t = root @ theta + (b if intercept else 0)
    cost = cp.sum(cp.multiply(np.ones(len(y)) if weight is None else weight, loss_of(loss, y, t)))
    extra = cp.sum_squares(theta) / 2 if penalty is None else penalty(cp.norm(theta, 2))
    constraints = [] if most is None else [cp.norm(theta, 2) <= most]
    problem = cp.Problem(cp.Minimize(cost + extra), constraints)
    with warnings.catch_warnings():  # it warns where its last digits are uncertain; its value is compared to 1e-7
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return problem.value
