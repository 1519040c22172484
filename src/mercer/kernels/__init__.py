"""What k(x, z) is: kernels, the closure rules that combine them, and the proofs they carry."""

from mercer.kernels._algebra import exp, polynomial
from mercer.kernels._derivation import Derivation, Formula, Proof
from mercer.kernels._kernel import Kernel
from mercer.kernels.arc_cosine import ArcCosine
from mercer.kernels.cauchy import Cauchy
from mercer.kernels.chi2 import Chi2
from mercer.kernels.constant import Constant
from mercer.kernels.cosine import Cosine
from mercer.kernels.custom import Custom
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.intersection import Intersection
from mercer.kernels.laplace import Laplace
from mercer.kernels.linear import Linear
from mercer.kernels.matern import Matern
from mercer.kernels.names import named
from mercer.kernels.periodic import Periodic
from mercer.kernels.polynomials import Polynomial
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.rational_quadratic import RationalQuadratic
from mercer.kernels.set_intersection import SetIntersection
from mercer.kernels.spectrum import Spectrum
from mercer.kernels.white import White

__all__ = [
    "ArcCosine",
    "Cauchy",
    "Chi2",
    "Constant",
    "Cosine",
    "Custom",
    "Derivation",
    "Formula",
    "Gaussian",
    "Intersection",
    "Kernel",
    "Laplace",
    "Linear",
    "Matern",
    "Periodic",
    "Polynomial",
    "Precomputed",
    "Proof",
    "RationalQuadratic",
    "SetIntersection",
    "Spectrum",
    "White",
    "exp",
    "named",
    "polynomial",
]
