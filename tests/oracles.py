"""Slow, obvious NumPy: what each kernel is, straight from its formula, in float64 and one pair at a time."""

from itertools import product

import numpy as np


def tolerance(dtype, condition=1.0):
    """The relative error a test allows: a few roundings of dtype, times how much the problem magnifies them.

    A sum of d terms has condition about d; a squared distance from norms has |x|^2 / |x - z|^2; a solve has cond(K).
    """
    return 16 * float(np.finfo(dtype).eps) * max(float(condition), 1.0)


def matrix(k, X, Y=None):
    """K[i, j] = k(x_i, y_j), by a double loop."""
    Y = X if Y is None else Y
    return np.array([[k(x, y) for y in Y] for x in X], dtype=np.float64).reshape(len(X), len(Y))


def _rows(k):
    """Turn a function of two float64 vectors into a function of two tables."""

    def kernel(X, Y=None, **parameters):
        X = np.asarray(X, dtype=np.float64)
        Y = X if Y is None else np.asarray(Y, dtype=np.float64)
        return matrix(lambda x, z: k(x, z, **parameters), X, Y)

    kernel.__name__, kernel.__doc__ = k.__name__, k.__doc__
    return kernel


# ------------------------------------------------------------------------------------------------------ cores of a pair


def _squared_distance(x, z):
    return np.sum((x - z) ** 2)


def _l1_distance(x, z):
    return np.sum(np.abs(x - z))


@_rows
def dot(x, z):
    """x'z"""
    return np.sum(x * z)


@_rows
def squared_distance(x, z):
    """|x - z|^2"""
    return _squared_distance(x, z)


@_rows
def l1_distance(x, z):
    """|x - z|_1"""
    return _l1_distance(x, z)


# ------------------------------------------------------------------------------------------------- kernels on real rows


@_rows
def linear(x, z, A=None):
    """x'Az"""
    return x @ z if A is None else x @ np.asarray(A, dtype=np.float64) @ z


@_rows
def polynomial(x, z, degree=2, gamma=1.0, inner=1.0, outer=0.0):
    """(gamma x'z + inner)^degree + outer"""
    return (gamma * (x @ z) + inner) ** degree + outer


@_rows
def gaussian(x, z, scale=1.0):
    """exp(-|x - z|^2 / scale^2); a vector scale divides column by column, a matrix scale M gives exp(-(x-z)'M(x-z))"""
    scale = np.asarray(scale, dtype=np.float64)
    if scale.ndim == 2:
        return np.exp(-(x - z) @ scale @ (x - z))
    return np.exp(-_squared_distance(x / scale, z / scale))


@_rows
def laplace(x, z, scale=1.0):
    """exp(-|x - z|_1 / scale)"""
    return np.exp(-_l1_distance(x, z) / scale)


@_rows
def matern(x, z, nu=1.5, scale=1.0):
    """Matern of order nu in {1/2, 3/2, 5/2}, r = |x - z| / scale"""
    r = np.sqrt(_squared_distance(x, z)) / scale
    if nu == 0.5:
        return np.exp(-r)
    if nu == 1.5:
        return (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r)
    return (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)


@_rows
def rational_quadratic(x, z, alpha=1.0, scale=1.0):
    """(1 + |x - z|^2 / (alpha scale^2))^-alpha, which tends to the Gaussian as alpha grows"""
    return (1 + _squared_distance(x, z) / (alpha * scale**2)) ** -alpha


@_rows
def cauchy(x, z, scale=1.0):
    """1 / (1 + |x - z|^2 / scale^2)"""
    return 1 / (1 + _squared_distance(x, z) / scale**2)


@_rows
def cosine(x, z):
    """x'z / (|x| |z|), and 0 where either is 0"""
    size = np.sqrt((x @ x) * (z @ z))
    return x @ z / size if size > 0 else 0.0


@_rows
def arc_cosine(x, z, order=1):
    """|x|^n |z|^n J_n(angle) / pi (Cho and Saul 2009), and 0 where either is 0 and n > 0"""
    size = np.sqrt(x @ x) * np.sqrt(z @ z)
    angle = np.arccos(np.clip(x @ z / size, -1, 1)) if size > 0 else np.pi / 2
    if order == 0:
        return (np.pi - angle) / np.pi
    if order == 1:
        return size * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
    return size**2 * (3 * np.sin(angle) * np.cos(angle) + (np.pi - angle) * (1 + 2 * np.cos(angle) ** 2)) / np.pi


@_rows
def chi2(x, z, scale=1.0):
    """exp(-sum (x - z)^2 / (x + z) / scale), a term with x + z = 0 counting 0"""
    terms = [(a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0]
    return np.exp(-np.sum(terms) / scale)


@_rows
def intersection(x, z):
    """sum min(x, z)"""
    return np.sum(np.minimum(x, z))


@_rows
def periodic(x, z, period=1.0, scale=1.0):
    """exp(-2 sum sin^2(pi (x - z) / period) / scale^2)"""
    return np.exp(-2 * np.sum(np.sin(np.pi * (x - z) / period) ** 2) / scale**2)


@_rows
def constant(x, z, value=1.0):
    """value"""
    return value


@_rows
def white(x, z):
    """1 where the rows are equal, else 0"""
    return float(np.array_equal(x, z))


# --------------------------------------------------------------------------------------------- kernels on sets, strings


def set_intersection(X, Y=None):
    """|S n T|"""
    return matrix(lambda s, t: len(set(s) & set(t)), X, Y)


def spectrum_features(text, k, alphabet, mismatches=0):
    """How many k-mers of text lie within so many mismatches of each of the words of length k."""
    words = ["".join(letters) for letters in product(alphabet, repeat=k)]
    kmers = [text[i : i + k] for i in range(len(text) - k + 1)]

    def apart(a, b):
        return sum(p != q for p, q in zip(a, b, strict=True))

    return np.array([sum(apart(word, kmer) <= mismatches for kmer in kmers) for word in words], dtype=np.float64)


def spectrum(X, Y=None, k=3, mismatches=0, alphabet=None):
    """Inner products of k-mer counts; the alphabet is every letter of X and Y unless given."""
    Y = X if Y is None else Y
    alphabet = sorted(set("".join([*X, *Y]))) if alphabet is None else alphabet
    P, Q = ([spectrum_features(text, k, alphabet, mismatches) for text in texts] for texts in (X, Y))
    return matrix(lambda p, q: p @ q, P, Q)


# ---------------------------------------------------------------------------------------------------------- small facts


def smallest_eigenvalue(K):
    """The smallest eigenvalue of the symmetric part of K."""
    K = np.asarray(K, dtype=np.float64)
    return float(np.linalg.eigvalsh((K + K.T) / 2)[0])


def relative_error(got, wanted):
    """The largest |got - wanted| over the largest |wanted|."""
    got, wanted = np.asarray(got, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    return float(np.max(np.abs(got - wanted), initial=0.0) / max(np.max(np.abs(wanted), initial=0.0), 1e-300))


# -------------------------------------------------------------------------------------------------- quadratic problems


def box_quadratic(Q, p, lower, upper, group=None, totals=()):
    """minimise c'Qc / 2 + p'c in a box, the sum of c over each group as given: an interior point method."""
    import cvxpy

    eigenvalues, vectors = np.linalg.eigh(Q)
    root = (vectors * np.sqrt(np.maximum(eigenvalues, 0))).T
    c = cvxpy.Variable(len(p))
    limits = [c >= lower]
    finite = np.isfinite(upper)
    if finite.any():
        limits.append(c[finite] <= upper[finite])
    limits += [cvxpy.sum(c[group == g]) == total for g, total in enumerate(totals)]
    problem = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(root @ c) + p @ c), limits)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return c.value, problem.value


# ------------------------------------------------------------------------------------------------------------- clusters


def partition_objective(K, labels, w=None):
    """sum_i w_i ||phi(x_i) - m_c(i)||^2, one cluster after the other."""
    w = np.ones(len(K)) if w is None else np.asarray(w, dtype=np.float64)
    total = 0.0
    for c in np.unique(labels):
        i = np.flatnonzero(labels == c)
        if w[i].sum() > 0:
            total += w[i] @ np.diagonal(K)[i] - w[i] @ K[np.ix_(i, i)] @ w[i] / w[i].sum()
    return float(total)


def squared_distances_to_means(K, labels, k, w=None):
    """D[i, c] = K_ii - 2 / W_c sum_l w_l K_il + 1 / W_c^2 sum w_l w_m K_lm; infinite for a cluster without points."""
    w = np.ones(len(K)) if w is None else np.asarray(w, dtype=np.float64)
    D = np.full((len(K), k), np.inf)
    for c in range(k):
        i = np.flatnonzero((labels == c) & (w > 0))
        if len(i):
            v = w[i] / w[i].sum()
            D[:, c] = np.diagonal(K) - 2 * K[:, i] @ v + v @ K[np.ix_(i, i)] @ v
    return D


def partitions(n, k):
    """Every way to put n points in at most k clusters, numbered in the order of their first points."""
    found = [(0,)]
    for _ in range(n - 1):
        found = [(*p, c) for p in found for c in range(min(max(p) + 2, k))]
    return [np.array(p) for p in found]


# ---------------------------------------------------------------------------------------------- support vector machines


def machines(kind, parts, **given):
    """The least objective of many small machines and their decisions on their rows, from the primal: one cvxpy problem.

    Each part is (K, y, w). The functions of part p are u'R with K = R'R, so that ||f|| = |u|: no dual in sight.
    """
    import cvxpy
    from scipy import sparse

    roots = []
    for K, _, _ in parts:
        values, vectors = np.linalg.eigh(K)
        roots.append((vectors * np.sqrt(np.maximum(values, 0))).T)
    R, n = sparse.block_diag(roots, format="csc"), len(parts)
    y, w = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    belongs = sparse.block_diag([np.ones((len(part[1]), 1)) for part in parts], format="csc")
    u, b, more = cvxpy.Variable(R.shape[0]), cvxpy.Variable(n), cvxpy.Variable(n)
    intercept = given.get("intercept", "free")
    t = R.T @ u if intercept == "none" or kind == "one class" else R.T @ u + belongs @ b
    C, nu, total = given.get("C", 1.0), given.get("nu"), np.array([part[2].sum() for part in parts])
    size = cvxpy.power(u, 2) / 2
    extra, limits = 0, []
    if kind in ("hinge", "squared_hinge"):
        loss = cvxpy.pos(1 - cvxpy.multiply(y, t))
    elif kind in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        loss = cvxpy.pos(cvxpy.abs(y - t) - given["epsilon"])
    elif kind == "nu classes":
        loss, extra, C = cvxpy.pos(belongs @ more - cvxpy.multiply(y, t)), -nu * cvxpy.multiply(total, more), 1
    elif kind == "nu values":
        loss, extra = cvxpy.pos(cvxpy.abs(y - t) - belongs @ more), C * nu * cvxpy.multiply(total, more)
        limits = [more >= 0]
    elif kind == "one class":
        loss, extra, C = cvxpy.pos(belongs @ more - t), -nu * cvxpy.multiply(total, more), 1
    elif kind == "hard":
        loss, C, limits = np.zeros(len(y)), 0, [cvxpy.multiply(y, t) >= 1]
    if kind.startswith("squared"):
        loss = cvxpy.power(loss, 2)
    rows_of = sparse.block_diag([np.ones((1, len(root))) for root in roots], format="csc")
    each = rows_of @ size + C * (belongs.T @ cvxpy.multiply(w, loss)) + extra
    if intercept == "penalized":
        each = each + cvxpy.power(b, 2) / 2
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(each)), limits)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11, max_iter=200)
    values, ends = t.value - (belongs @ more.value if kind == "one class" else 0), np.cumsum([len(p[1]) for p in parts])
    scale = np.maximum(more.value, 1e-300) if kind == "nu classes" else np.ones(n)
    return each.value, [v / s for v, s in zip(np.split(values, ends[:-1]), scale, strict=True)]
