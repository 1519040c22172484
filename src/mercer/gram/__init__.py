"""How K is touched: the only room that knows tiles, threads, sparsity and machines."""

from mercer.gram._gram import Gram
from mercer.gram._make import from_factor, from_matrix, gram
from mercer.gram._reduce import Nearest, largest, smallest, sum_by_label

__all__ = ["Gram", "Nearest", "from_factor", "from_matrix", "gram", "largest", "smallest", "sum_by_label"]
