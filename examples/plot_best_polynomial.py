"""
The best polynomial
===================

Functions on an interval, with the integral as inner product, have lengths, angles and projections like vectors in the
plane. The best polynomial of degree d for a function is its projection on the powers of t up to d, and the error is
what is left at a right angle.
"""

import matplotlib.pyplot as plt
import numpy as np
from numpy.polynomial import Polynomial

from mercer.spaces import Functions

space = Functions(-1, 1, breaks=(0.0,))
powers = [Polynomial([0.0] * d + [1.0]) for d in range(7)]

# %%
# Gram-Schmidt turns the powers into the Legendre polynomials, up to their length.

legendre = space.gram_schmidt(powers)
print(np.round(space.gram(legendre), 12))

# %%
# Project :math:`|t|`, which has a corner that no polynomial has.

t = np.linspace(-1, 1, 401)
figure, axes = plt.subplots(figsize=(6, 4))
axes.plot(t, np.abs(t), color="black", label="|t|")
for degree in (2, 4, 6):
    best = space.project(np.abs, legendre[: degree + 1])
    error = space.distance(np.abs, best)
    axes.plot(t, [best(s) for s in t], label=f"degree {degree}, distance {error:.3f}")
axes.legend()
figure.tight_layout()

# %%
# What is left is orthogonal to every power that was used.

left = space.combine([1.0, -1.0], [np.abs, best])
print([space.is_orthogonal(left, power) for power in powers])
