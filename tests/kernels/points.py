"""Points to try kernels on, and one of each exported kernel with the points it takes."""

import numpy as np

from mercer.kernels import (
    ArcCosine,
    Cauchy,
    Chi2,
    Constant,
    Cosine,
    Custom,
    Gaussian,
    Intersection,
    Laplace,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    SetIntersection,
    Spectrum,
    White,
)

SEED = 20240301
D = 3


def tables():
    """Tables of D columns by name: plain, with repeated rows, a constant column, zeros, huge and tiny numbers."""
    rng = np.random.default_rng(SEED)
    plain = rng.standard_normal((12, D))
    constant = plain.copy()
    constant[:, 1] = 7.0
    return {
        "plain": plain,
        "repeated": plain[[0, 0, 1, 2, 2, 2, 3, 4, 4, 5]],
        "constant column": constant,
        "zeros": np.vstack([np.zeros((2, D)), plain[:6]]),
        "huge": plain * 1e30,
        "tiny": plain * 1e-30,
        "shifted": plain + 1e4,
        "one row": plain[:1],
        "single precision": plain.astype(np.float32),
    }


def strings():
    """DNA, with repeats, an empty string and one shorter than a word."""
    rng = np.random.default_rng(SEED)
    made = ["".join(rng.choice(list("ACGT"), size=n)) for n in (3, 5, 8, 13, 13, 20)]
    return {"strings": [*made, made[2], "", "AC"]}


def sets():
    """Sets and lists of hashable things, some empty, some equal."""
    lists = [{"a", "b"}, frozenset("bcd"), ["a", "a"], (), {1, "a", (2, 3)}, set("abcd"), {"b", "a"}]
    rng = np.random.default_rng(SEED)
    return {"sets": lists, "0-1 table": (rng.random((9, 5)) < 0.4).astype(float)}


def shared(x, z):
    """A kernel without a proof: in how many coordinates the signs agree."""
    return float(np.sum(np.sign(x) == np.sign(z)))


def shared_blocks(X, Z):
    """The same for blocks."""
    return (np.sign(X)[:, None, :] == np.sign(Z)[None, :, :]).sum(axis=2)


A = [[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.0]]

BLOCKS = Custom(shared_blocks, vectorized=True, name="signs")  # its function takes dense blocks only
REAL = [
    Linear(),
    Linear(A),
    Polynomial(1),
    Polynomial(3),
    Polynomial(2, inner=0, outer=5),
    Polynomial(2, inner=0.5, gamma="scale"),
    Gaussian(1.0),
    Gaussian([0.5, 1.0, 2.0]),
    Gaussian(A),
    Gaussian("scale"),
    Laplace(2.0),
    Laplace([0.5, 1.0, 2.0]),
    Laplace("auto"),
    Matern(0.5),
    Matern(1.5, scale=2.0),
    Matern(2.5, scale=[0.5, 1.0, 2.0]),
    RationalQuadratic(1.0, scale=2.0),
    RationalQuadratic(2.5),
    Cauchy(0.5),
    Cosine(),
    ArcCosine(0),
    ArcCosine(1),
    ArcCosine(2),
    Periodic(2.0, scale=0.7),
    Periodic([1.0, 2.0, 3.0]),
    Constant(2.0),
    White(),
    Custom(shared),
    BLOCKS,
]
HISTOGRAMS = [Chi2(0.5), Intersection()]
STRINGS = [Spectrum(3), Spectrum(1), Spectrum(2, mismatches=1, alphabet="ACGT"), White()]
SETS = [SetIntersection()]


def _given():
    B = np.random.default_rng(SEED).standard_normal((6, 4))
    return Precomputed(B @ B.T)


def pairs():
    """Yield (kernel, name of the points, points) for all kernels on all points they take."""
    for name, X in tables().items():
        yield from ((kernel, name, X) for kernel in REAL)
        yield from ((kernel, name, np.abs(X)) for kernel in HISTOGRAMS)
    yield from ((kernel, name, X) for name, X in strings().items() for kernel in STRINGS)
    yield from ((kernel, name, X) for name, X in sets().items() for kernel in SETS)
    yield White(), "sets", sets()["sets"]
    yield _given(), "indices", [0, 3, 3, 5, 1]
