"""How K is touched: the only room that knows tiles, threads, sparsity and machines."""

from mercer.gram._gram import Gram
from mercer.gram._make import from_factor, from_matrix, gram
from mercer.gram._reduce import Nearest, largest, smallest, sum_by_label, sum_of_squares
from mercer.gram._witness import Witness
from mercer.gram.features import FeatureMap, feature_map
from mercer.gram.psd import PsdCheck, check_psd
from mercer.gram.rpcholesky import RandomPivots, random_pivots

__all__ = [
    "FeatureMap",
    "Gram",
    "Nearest",
    "PsdCheck",
    "RandomPivots",
    "Witness",
    "check_psd",
    "feature_map",
    "from_factor",
    "from_matrix",
    "gram",
    "largest",
    "random_pivots",
    "smallest",
    "sum_by_label",
    "sum_of_squares",
]
