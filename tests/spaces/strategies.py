"""Spaces and vectors for hypothesis, shared by the tests of this room."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer.spaces import Euclidean, Matrices, Sequences

ENTRIES = st.floats(-1e3, 1e3, allow_subnormal=False).map(lambda v: round(v, 3))


def entries(complex):
    return st.builds(lambda a, b: a + 1j * b, ENTRIES, ENTRIES) if complex else ENTRIES


@st.composite
def metrics(draw, dim, complex):
    """A positive definite matrix B^H B + I."""
    b = draw(arrays(np.complex128 if complex else np.float64, (dim, dim), elements=entries(complex))) / 1e3
    return b.conj().T @ b + np.eye(dim)


@st.composite
def spaces(draw):
    """A space whose vectors are arrays, and the shape of those."""
    complex, kind = draw(st.booleans()), draw(st.sampled_from(["plain", "metric", "matrices", "sequences"]))
    dim = draw(st.integers(1, 4))
    if kind == "plain":
        return Euclidean(dim, complex=complex), (dim,)
    if kind == "metric":
        return Euclidean(A=draw(metrics(dim, complex)), complex=complex), (dim,)
    if kind == "matrices":
        return Matrices(2, dim, complex=complex), (2, dim)
    return Sequences(complex=complex), (dim,)


@st.composite
def with_vectors(draw, n):
    """A space and n vectors of it."""
    space, shape = draw(spaces())
    dtype = np.complex128 if space.complex else np.float64
    return space, [draw(arrays(dtype, shape, elements=entries(space.complex))) for _ in range(n)]
