"""Kernel machines that are fast and prove their answers."""

from mercer import kernels, spaces
from mercer._version import __version__
from mercer.engine import Engine

__all__ = ["Engine", "__version__", "kernels", "spaces"]
