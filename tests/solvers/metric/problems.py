"""Random problems of metric learning, the awkward ones included, and their exact optimum in fifty digits."""

import mpmath
import numpy as np

from mercer.solvers.metric import MetricProblem, Pairs

KINDS = (
    "plain",
    "scales",
    "few pairs",
    "dependent",
    "identical similar",
    "constant",
    "no similar",
    "duplicates",
    "near",
)


def random_problem(seed, kind=None, regularization=0.0):
    """A problem with at most six features; the kind goes round with the seed unless given."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)] if kind is None else kind
    d, n = int(rng.integers(1, 7)), int(rng.integers(6, 15))
    X = rng.normal(size=(n, d))
    if kind in ("identical similar", "duplicates"):
        X = rng.integers(-2, 3, size=(n, d)).astype(float)  # many rows and differences coincide
    if kind == "scales":
        X *= 10.0 ** rng.uniform(-5, 5, size=d)
    if kind == "dependent" and d > 1:
        X[:, 0] = X[:, 1:] @ rng.integers(-2, 3, size=d - 1)
    if kind == "near" and d > 1:
        X[:, 0] = X[:, 1] + 1e-7 * X[:, 0]
    if kind == "constant":
        X[:, int(rng.integers(d))] = 3.0
        X[:, 0] = np.arange(n)
    most = (1, 3) if kind == "few pairs" else (d + 1, 20)
    S, D = (random_pairs(rng, n, int(rng.integers(*most)) + 1) for _ in range(2))
    if kind == "no similar":
        S = Pairs(S.first[:0], S.second[:0])
    if kind == "identical similar":
        X[S.second[0]] = X[S.first[0]]
    X[D.first[0], 0] = X[D.second[0], 0] + 1.0  # some dissimilar pair differs
    return MetricProblem(X, S, D, regularization)


def random_pairs(rng, n, m):
    i = rng.integers(0, n, m)
    return Pairs(i, (i + rng.integers(1, n, m)) % n, rng.integers(1, 4, m).astype(float))


def exact_scatters(problem):
    """M_S (with its regularisation) and M_D, in fifty digits."""
    mpmath.mp.dps = 50
    d = problem.X.shape[1]
    found = []
    for pairs in (problem.similar, problem.dissimilar):
        M = mpmath.zeros(d, d)
        for i, j, w in zip(pairs.first, pairs.second, pairs.weights, strict=True):
            g = [mpmath.mpf(float(a)) - mpmath.mpf(float(b)) for a, b in zip(problem.X[i], problem.X[j], strict=True)]
            M += mpmath.mpf(float(w)) * mpmath.matrix([[x * y for y in g] for x in g])
        found.append(M)
    return found[0] + mpmath.mpf(problem.ridge) * mpmath.eye(d), found[1]


def exact_ratio(problem):
    """The smallest generalised eigenvalue where M_S + M_D is not 0; by definition, in fifty digits."""
    S, D = exact_scatters(problem)
    size = [mpmath.sqrt(max(S[j, j] + D[j, j], mpmath.mpf(10) ** -40)) for j in range(len(S))]
    scale = mpmath.diag([1 / s for s in size])
    S, D = scale * S * scale, scale * D * scale
    values, V = mpmath.eigsy(S + D)
    kept = [j for j in range(len(S)) if values[j] > mpmath.mpf(10) ** -35]
    W = mpmath.matrix([[V[i, j] / mpmath.sqrt(values[j]) for j in kept] for i in range(len(S))])
    share = max(min(mpmath.eigsy(W.T * S * W, eigvals_only=True)), mpmath.mpf(0))
    return float(share / (1 - share)) if share > mpmath.mpf(10) ** -30 else 0.0


def exact_root(problem, components):
    """The root objective of A = L'L scaled to its constraint, in fifty digits: the optimum is at most this."""
    S, _ = exact_scatters(problem)
    d = problem.X.shape[1]
    L = mpmath.matrix(components.tolist())
    spread = mpmath.mpf(0)
    pairs = problem.dissimilar
    for i, j, w in zip(pairs.first, pairs.second, pairs.weights, strict=True):
        g = mpmath.matrix([mpmath.mpf(float(problem.X[i, c])) - mpmath.mpf(float(problem.X[j, c])) for c in range(d)])
        spread += mpmath.mpf(float(w)) * mpmath.norm(L * g)
    similar = sum((L[r, :] * S * L[r, :].T)[0] for r in range(L.rows))
    return float(similar / spread**2)
