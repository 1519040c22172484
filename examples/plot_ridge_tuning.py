"""
Tuned and unsure
================

Kernel ridge regression finds its penalty and its length scale by leaving rows out, without refitting, and says how far
to trust each prediction.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.kernels import Matern

rng = np.random.default_rng(4)
x = np.sort(np.concatenate([rng.uniform(-3, -0.4, 60), rng.uniform(0.6, 3, 60)]))
y = np.sin(3 * x) + 0.5 * x + 0.15 * (1.5 + x / 2) * rng.standard_normal(120)
X, grid = x.reshape(-1, 1), np.linspace(-4, 4, 500).reshape(-1, 1)

# %%
# The path of the penalty
# -----------------------
# The error on the rows themselves falls with the penalty. The error with each row left out, exact for every penalty on
# the path, has a minimum.

alphas = np.geomspace(1e-5, 1e3, 40)
kernel = Matern(1.5, scale=0.5)
path = KernelRidge("loo", alphas=alphas, kernel=kernel).fit(X, y)
left_out = -path.cv_results_["mean_test_score"]
on_rows = [np.mean((KernelRidge(a, kernel=kernel).fit(X, y).predict(X) - y) ** 2) for a in alphas]
print(f"alpha = {path.alpha_:.2g}")

# %%
# The length scale
# ----------------
# A path for each length scale; ``scale="loo"`` goes to the lowest.

scales = np.geomspace(0.05, 30, 40)
paths = []
for scale in scales:
    one = KernelRidge("loo", alphas=alphas, kernel=Matern(1.5, scale=scale)).fit(X, y)
    paths.append(-one.cv_results_["mean_test_score"])
best = np.min(paths)
tuned = KernelRidge("loo", scale="loo", kernel=Matern(1.5)).fit(X, y)
print(f"alpha = {tuned.alpha_:.2g}, scale = {tuned.scale_:.2f}, noise {tuned.noise_**0.5:.2f}")

# %%
# Error bars
# ----------
# The deviations of a Gaussian process grow where there are no data. Jackknife+ intervals promise that nine of ten new
# observations fall inside, and promise no more: they know of rows like those seen.

mean, std = tuned.predict(grid, return_std=True)
_, low, high = tuned.predict(grid, interval=0.9)

figure, axes = plt.subplots(2, 2, figsize=(11, 8))
errors, map_, process, jackknife = axes.ravel()
errors.loglog(alphas, on_rows, color="0.6", label="on the rows themselves")
errors.loglog(alphas, left_out, color="C0", label="each row left out")
errors.plot(path.alpha_, left_out.min(), "o", color="C0")
errors.set_xlabel("alpha")
errors.set_ylabel("mean squared error")
errors.set_title(f"length scale 0.5: the best penalty is {path.alpha_:.2g}")
errors.legend()

levels = np.geomspace(best, 8 * best, 20)
shades = map_.contourf(alphas, scales, np.minimum(paths, levels[-1]), levels=levels, cmap="viridis")
map_.plot(tuned.alpha_, tuned.scale_, "o", color="white", markeredgecolor="black")
map_.set(xscale="log", yscale="log", xlabel="alpha", ylabel="length scale", title="error with each row left out")
figure.colorbar(shades, ax=map_, format="%.2g")

for ax, (lower, upper), text in (
    (process, (mean - 1.64 * std, mean + 1.64 * std), "90 % for the curve: Gaussian process"),
    (jackknife, (low, high), "90 % for new observations: jackknife+"),
):
    ax.fill_between(grid.ravel(), lower, upper, color="C0", alpha=0.25)
    ax.plot(grid, np.sin(3 * grid) + 0.5 * grid, color="0.6", label="truth")
    ax.plot(grid, mean, color="C0", label="prediction")
    ax.plot(x, y, ".", color="black", markersize=4)
    ax.set(title=text, xlabel="x", ylim=(-4, 4))
    ax.legend(loc="upper left")
figure.tight_layout()
