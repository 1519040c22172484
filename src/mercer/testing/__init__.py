"""Public contract checks, for the kernels, losses and machines of this package and for your own."""

from mercer.testing._grams import check_gram
from mercer.testing._kernels import check_kernel
from mercer.testing._losses import check_loss
from mercer.testing._machines import check_machine

__all__ = ["check_gram", "check_kernel", "check_loss", "check_machine"]
