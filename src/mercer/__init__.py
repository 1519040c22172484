"""Kernel machines that are fast and prove their answers."""

from mercer import functions, kernels, spaces
from mercer._version import __version__
from mercer.engine import Engine
from mercer.functions import RKHS, RKHSFunction, section
from mercer.gram import Gram, check_psd, feature_map, gram

__all__ = [
    "RKHS",
    "Engine",
    "Gram",
    "RKHSFunction",
    "__version__",
    "check_psd",
    "feature_map",
    "functions",
    "gram",
    "kernels",
    "section",
    "spaces",
]
