"""Kernel machines that are fast and prove their answers."""

from mercer import kernels, spaces
from mercer._version import __version__
from mercer.engine import Engine
from mercer.gram import Gram, gram

__all__ = ["Engine", "Gram", "__version__", "gram", "kernels", "spaces"]
