"""What is proved of a learned metric: the optimum of its problem lies between two numbers computed from the pairs.

Both objectives minimise sum_S d_A^2, subject to sum_D d_A^2 >= 1 ("ratio") or sum_D d_A >= 1 ("root"). The value is
that of A scaled to satisfy its constraint, summed over the pairs themselves. Lower bounds come from a psd matrix:

- ratio: if M_S - mu M_D is psd, then sum_S d_A^2 >= mu sum_D d_A^2 for every psd A, so the optimum is at least mu.
- root: with any c_k > 0 and M = sum_D w_k d_k d_k' / c_k, sqrt(t) <= (t / c + c) / 2 gives sum_D d_A <=
  sqrt(lambda sum_D w_k c_k) sqrt(sum_S d_A^2), where lambda M_S - M is psd; so the optimum is at least
  1 / (lambda sum_D w_k c_k).
- ratio over projections of rank r: if the r smallest eigenvalues of M_S - mu M_D sum to no less than 0, then no
  projection has a smaller ratio than mu.

Bounds on rounding are part of every one of them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MetricCertificate:
    """What was proved of a metric.

    Parameters
    ----------
    value : float
        sum_S d_A^2 (with the regularisation), for A scaled so that its constraint holds with equality.
    lower_bound : float
        No A of the scope has a smaller value.
    resolution : float
        A value below this cannot be told from 0 in the presence of rounding.
    scope : str
        Which A it is about.
    """

    value: float
    lower_bound: float
    resolution: float
    scope: str

    @property
    def gap(self) -> float:
        """The distance to the optimum is at most this."""
        return float(max(self.value - self.lower_bound, 0.0))

    @property
    def relative_gap(self) -> float:
        """The gap relative to the value; 0 where the value is 0 up to rounding."""
        return 0.0 if self.is_zero else self.gap / self.value

    @property
    def is_zero(self) -> bool:
        """Whether the value is 0 up to rounding: some A leaves the similar pairs together and tells others apart."""
        return bool(self.value <= self.resolution)

    def __str__(self) -> str:
        return (
            f"certificate, for {self.scope}\n"
            f"  objective      {self.value:.6g}\n"
            f"  lower bound    {self.lower_bound:.6g}\n"
            f"  gap            at most {self.gap:.3g} ({self.relative_gap:.1e} of the objective)"
        )
