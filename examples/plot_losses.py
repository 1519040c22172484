"""
One machine, many losses
========================

:class:`~mercer.KernelMachine` takes any loss. What it costs to be wrong decides which curve comes out: means follow
outliers, medians do not, quantiles draw bands, and a rate is never below 0.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelMachine, KernelQuantileRegressor
from mercer.kernels import Gaussian
from mercer.losses import Absolute, Huber, Squared, Tukey

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 6, 200))
X, grid = x.reshape(-1, 1), np.linspace(0, 6, 300).reshape(-1, 1)
kernel = Gaussian(1.0)

# %%
# Outliers
# --------
# A tenth of the targets lie far off. The squared loss pays for each of them; the absolute and the Huber loss pay for
# their distance only, and Tukey's gives them up. It is not convex, hence ``robust=True``, and its certificate says that
# the answer is stationary rather than optimal.

y = np.sin(x) + 0.15 * rng.standard_normal(200)
y[rng.choice(200, 20, replace=False)] += 3.0
asked = {"squared": Squared(), "absolute": Absolute(), "Huber": Huber(0.3), "Tukey": Tukey(1.0)}
machines = {name: KernelMachine(loss, 0.1, kernel=kernel, robust=True) for name, loss in asked.items()}
for name, machine in machines.items():
    proof = machine.fit(X, y).certificate_
    error = np.abs(machine.predict(grid) - np.sin(grid[:, 0])).max()
    print(f"{name:9} {machine.solver_:9} gap {proof.relative_gap:.0e}, furthest from the truth {error:.2f}")

# %%
# A loss of one's own
# -------------------
# Any convex function of the target and the prediction will do. Here being too low costs nine times as much as being
# too high, as where stock that runs out is worse than stock left over.


def shortage(y, t):
    """Cost of having t where y is asked for."""
    return np.maximum(3 * (y - t), t - y) ** 2 / 2


own = KernelMachine(shortage, 0.1, kernel=kernel).fit(X, y)
print(own.solution_.stats["why"])

# %%
# Bands and rates
# ---------------
# Five quantiles share one matrix of kernel values. The Poisson loss fits the logarithm of a rate of counts.

spread = 0.1 + 0.4 * x / 6
targets = np.sin(x) + spread * rng.standard_normal(200)
levels = [0.05, 0.25, 0.5, 0.75, 0.95]
bands = KernelQuantileRegressor(1.0, quantiles=levels, kernel=kernel).fit(X, targets).predict(grid)
counts = rng.poisson(np.exp(1.0 + np.sin(2 * x)))
rate = KernelMachine("poisson", 0.5, kernel=kernel).fit(X, counts).predict(grid)

# %%
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
left.plot(x, y, "k.", ms=3, alpha=0.5)
for name, machine in (machines | {"a shortage": own}).items():
    left.plot(grid, machine.predict(grid), label=name, ls="--" if machine is own else "-")
left.set(title="Outliers, and a loss of one's own", xlabel="x")
left.legend(fontsize=8)
middle.plot(x, targets, "k.", ms=3, alpha=0.5)
for low, high in ((0, 4), (1, 3)):
    middle.fill_between(grid[:, 0], bands[:, low], bands[:, high], color="C0", alpha=0.25, lw=0)
middle.plot(grid, bands[:, 2], "C0")
middle.set(title="Quantiles: 5, 25, 50, 75 and 95 %", xlabel="x")
right.plot(x, counts, "k.", ms=3, alpha=0.5)
right.plot(grid, rate, "C1", label="fitted rate")
right.plot(grid, np.exp(1.0 + np.sin(2 * grid)), "k:", label="true rate")
right.set(title="Poisson: the rate of counts", xlabel="x")
right.legend(fontsize=8)
plt.show()
