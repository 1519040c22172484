"""The laws of `mercer.testing.check_kernel`, for every exported kernel on every kind of points it takes."""

import numpy as np
import pytest
from scipy import sparse

from mercer import kernels
from mercer.kernels import ArcCosine, Custom, Gaussian, Kernel, Linear
from mercer.kernels._form import Called
from mercer.testing import check_kernel
from tests.kernels import points

PAIRS = list(points.pairs())


def rtol(kernel):
    """The rounding of one value: an arc-cosine of order 0 has a corner at x = z, where eps becomes sqrt(eps)."""
    return 1e-7 if kernel == ArcCosine(0) else 1e-12


def test_every_exported_kernel_is_tried():
    exported = {k for k in map(vars(kernels).get, kernels.__all__) if isinstance(k, type) and issubclass(k, Kernel)}
    assert exported - {Kernel} == {type(kernel) for kernel, _, _ in PAIRS}


@pytest.mark.uncompiled
@pytest.mark.parametrize("kernel,name,X", PAIRS, ids=[f"{k!r}-{name}" for k, name, _ in PAIRS])
def test_laws(kernel, name, X):
    check_kernel(kernel, X, rtol=rtol(kernel))


@pytest.mark.parametrize("kernel", [k for k in points.REAL if k != points.BLOCKS] + points.HISTOGRAMS, ids=repr)
def test_csr_rows_mean_what_dense_rows_mean(kernel):
    X = np.abs(points.tables()["zeros"])
    X[X < 0.5] = 0.0
    S = sparse.csr_matrix(X)
    check_kernel(kernel, S, rtol=max(rtol(kernel), 1e-9))
    allowed = {"rtol": 0, "atol": 1e-7 if kernel == ArcCosine(0) else 1e-12}
    np.testing.assert_allclose(kernel(S), kernel(X), **allowed)
    k = kernel.resolve(X)
    np.testing.assert_allclose(k(S[:4], X), k(X[:4], S), **allowed)


class Broken(Kernel):
    """A kernel whose diagonal lies."""

    def form(self):
        return Called(lambda X, Y: np.asarray(X) @ np.asarray(Y).T, lambda X: np.zeros(len(X)))

    def formula(self):
        return Linear().formula()

    def _prove(self, proof):
        return proof.of(Linear())


class Unproven(Broken):
    """A kernel whose proof ends elsewhere."""

    def form(self):
        return Linear().form()

    def _prove(self, proof):
        return proof.of(Gaussian())


class Crowded(Broken):
    """A kernel that looks at how many points there are."""

    def form(self):
        return Called(lambda X, Y: X @ Y.T / len(X), lambda X: (X**2).sum(axis=1) / len(X))


@pytest.mark.parametrize(
    "kernel,law",
    [
        (Custom(lambda x, z: -1.0), r"positive semi-definite; got c'Kc = -4"),
        (Custom(lambda x, z: float(np.abs(x - z).sum())), r"positive semi-definite; got c'Kc = -"),
        (Custom(lambda x, z: float(np.tanh(x @ z - 1))), r"positive semi-definite; got c'Kc = -"),
        (Crowded(), r"must not depend on the other points"),
        (Broken(), r"must be the diagonal of the matrix; got 0 and"),
        (Unproven(), r"must end with the kernel's formula; got exp"),
    ],
)
def test_a_broken_law_is_named(kernel, law):
    with pytest.raises(AssertionError, match=law):
        check_kernel(kernel, points.tables()["plain"][:4])
