"""What k(x, z) is: kernels, the closure rules that combine them, and the proofs they carry."""

from mercer.kernels._algebra import exp, polynomial
from mercer.kernels._derivation import Derivation, Formula, Proof
from mercer.kernels._kernel import Kernel
from mercer.kernels.constant import Constant
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.linear import Linear
from mercer.kernels.rational_quadratic import RationalQuadratic

__all__ = [
    "Constant",
    "Derivation",
    "Formula",
    "Gaussian",
    "Kernel",
    "Linear",
    "Proof",
    "RationalQuadratic",
    "exp",
    "polynomial",
]
