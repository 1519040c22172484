"""
Functions you can hold
======================

A function of an RKHS is a combination of sections of the kernel. Here are sections, a projection, which is the same as
an interpolation, and a function with many centres replaced by a near one with few.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.functions import RKHSFunction, inner, section
from mercer.kernels import Gaussian

kernel = Gaussian(scale=1.0)
t = np.linspace(-3, 7, 400).reshape(-1, 1)

# %%
# Sections and their sum
# ----------------------
# A section is the bump of one point. Its inner product with f is the value of f at that point.

f = 1.5 * section(kernel, 0.0) - section(kernel, 1.5) + 0.8 * section(kernel, 4.0)
print(f, f.norm())
print(inner(f, section(kernel, 1.0)), f([[1.0]])[0])

# %%
# Projection is interpolation
# ---------------------------
# The nearest function to f in the span of five other sections has f's values at their points. The shaded band is
# :math:`\|f - g\| \sqrt{k(x, x)}` about g, which f cannot leave.

points = np.array([[-0.8], [0.3], [1.2], [2.4], [4.3]])
g = f.project(points)
error = f.distance(g)
print(f.norm() ** 2, g.norm() ** 2 + error**2)

# %%
# Fewer centres
# -------------
# A noisy target as a function with 300 centres, and its projections on the best few of them.

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3, 7, 300)).reshape(-1, 1)
long = RKHSFunction(kernel, x, 0.02 * np.sin(1.5 * x.ravel()) + 0.01 * rng.standard_normal(300))
sizes = range(1, 19)
errors = [long.compress(m).error / long.norm() for m in sizes]

figure, axes = plt.subplots(2, 2, figsize=(10, 7))
bumps, projection, short, decay = axes.ravel()
for a, c in zip(f.coefficients, f.centers, strict=True):
    bumps.plot(t, a * section(kernel, c)(t), color="0.6")
bumps.plot(t, f(t), color="black")
bumps.set_title("f (black) is a sum of sections (grey)")
projection.fill_between(t.ravel(), g(t) - error, g(t) + error, color="C0", alpha=0.15)
projection.plot(t, f(t), color="black", label="f")
projection.plot(t, g(t), color="C0", label="its projection g")
projection.plot(points, f(points), "o", color="C0")
projection.set_title(f"projection interpolates; ||f - g|| = {error:.2f}")
projection.legend()
short.plot(t, long(t), color="black", label="300 centres")
for m in (3, 6):
    few = long.compress(m)
    short.plot(t, few.function(t), label=f"{m} centres, error {few.error / long.norm():.2f} of the norm")
    short.plot(few.function.centers, few.function(few.function.centers), "o", color=short.lines[-1].get_color())
short.set_title("the best few centres")
short.set_ylim(-0.7, 1.4)
short.legend(fontsize="small", loc="upper right")
decay.semilogy(sizes, errors, "o-")
decay.set_title("relative error of compress(m)")
decay.set_xlabel("m")
decay.set_xticks(range(2, 19, 4))
figure.tight_layout()
