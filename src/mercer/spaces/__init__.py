"""Inner product spaces: what they are, the geometry every one of them shares, and the laws it obeys."""

from mercer.spaces import laws
from mercer.spaces._euclidean import Euclidean
from mercer.spaces._functions import Functions
from mercer.spaces._matrices import Matrices
from mercer.spaces._mix import Estimate
from mercer.spaces._orthonormal import Orthonormal
from mercer.spaces._sequences import Sequences, SquareSummable
from mercer.spaces._space import Space
from mercer.spaces._verdict import Verdict
from mercer.spaces.laws import induced_by_inner_product

__all__ = [
    "Estimate",
    "Euclidean",
    "Functions",
    "Matrices",
    "Orthonormal",
    "Sequences",
    "Space",
    "SquareSummable",
    "Verdict",
    "induced_by_inner_product",
    "laws",
]
