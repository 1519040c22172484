"""
What kernels look like
======================

A kernel k is a function of two points. Hold one of them and you see its section k(., x): a bump, a wave, a ramp.
Take k as a covariance and you see the functions it believes in: samples of a Gaussian process. Both show at a glance
what ``+`` and ``*`` do.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import ArcCosine, Gaussian, Laplace, Linear, Matern, Periodic, Polynomial, RationalQuadratic, White

t = np.linspace(-3, 3, 301)[:, None]
x = np.array([[1.0]])
rng = np.random.default_rng(4)


def draw(axes, kernel, title, n_samples=3):
    """Sections at x = 1 above, samples below."""
    above, below = axes
    above.plot(t, kernel(t, x), color="C3", linewidth=2)
    above.axvline(x[0, 0], color="0.8", linewidth=1, zorder=0)
    above.set_title(title, fontsize=9)
    values, vectors = np.linalg.eigh(kernel(t))
    root = vectors * np.sqrt(np.maximum(values, 0))
    below.plot(t, root @ rng.standard_normal((len(t), n_samples)), linewidth=1)
    for panel in axes:
        panel.set_xticks([-3, 0, 1, 3])
        panel.tick_params(labelsize=7)


# %%
# Kernels as they come. The smoother the section at its peak, the smoother the samples: Laplace has a corner there and
# its samples are rough, the Gaussian has every derivative.

simple = {
    "Linear()": Linear(),
    "0.05 * Polynomial(3)": 0.05 * Polynomial(3),
    "Laplace()": Laplace(),
    "Matern(1.5)": Matern(1.5),
    "Gaussian()": Gaussian(),
    "Periodic(2.0)": Periodic(2.0),
}
figure, axes = plt.subplots(2, len(simple), figsize=(13, 4.2))
for column, (title, kernel) in zip(axes.T, simple.items(), strict=True):
    draw(column, kernel, title)
axes[0, 0].set_ylabel("k(., 1)")
axes[1, 0].set_ylabel("samples")
figure.tight_layout()

# %%
# And composites. A sum is "or": alike in one way or the other. A product is "and": a wave, but only nearby.

built = {
    "Linear() + Periodic(1.0)": Linear() + Periodic(1.0),
    "Gaussian(2) * Periodic(1.0)": Gaussian(2.0) * Periodic(1.0),
    "Linear() * Gaussian(0.7)": Linear() * Gaussian(0.7),
    "RationalQuadratic(0.5)\n+ 0.02 * White()": RationalQuadratic(0.5) + 0.02 * White(),
    "ArcCosine(1) of (1, x)": ArcCosine(1).of(lambda X: np.hstack([np.ones_like(X), X])),
    "Gaussian().warp(tanh)": Gaussian().warp(lambda X: np.tanh(X[:, 0]), vectorized=True),
}
figure, axes = plt.subplots(2, len(built), figsize=(13, 4.4))
for column, (title, kernel) in zip(axes.T, built.items(), strict=True):
    draw(column, kernel, title)
axes[0, 0].set_ylabel("k(., 1)")
axes[1, 0].set_ylabel("samples")
figure.tight_layout()

# %%
# Every one of them carries its proof.

print((Gaussian(2.0) * Periodic(1.0)).derivation())
