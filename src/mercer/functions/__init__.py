"""What comes out: functions of the RKHS that you can evaluate, combine and measure, and the choice of their centres."""

from mercer.functions.centers import Centers, choose_centers
from mercer.functions.rkhs import RKHS
from mercer.functions.rkhs_function import Compressed, RKHSFunction, inner, section

__all__ = ["RKHS", "Centers", "Compressed", "RKHSFunction", "choose_centers", "inner", "section"]
