"""
A million rows
==============

With centres, the cost of kernel ridge regression grows as the number of rows: each step is one pass over the kernel
values between rows and centres, none of which are kept.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge

rng = np.random.default_rng(0)
MOST = 1_000_000
X = rng.uniform(size=(MOST + 5_000, 10))
y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
y = (y - y.mean()) / y.std() + 0.1 * rng.standard_normal(len(y))
X, X_new, y, y_new = X[:MOST], X[MOST:], y[:MOST], y[MOST:]


def fitted(n, m):
    """Return the seconds of a fit on n rows and m centres, and the root mean square error on new rows."""
    start = time.perf_counter()
    model = KernelRidge(alpha=0.1, gamma=0.5, n_centers=m, random_state=0).fit(X[:n], y[:n])
    seconds = time.perf_counter() - start
    return seconds, np.sqrt(np.mean((model.predict(X_new) - y_new) ** 2)), model


# %%
# From ten thousand rows to a million
# -----------------------------------
# The first fit compiles. Beyond a hundred thousand rows, ten times the rows take ten times the seconds, certificate
# included; below, what does not depend on the rows counts too.

fitted(3_000, 50)
sizes = [10_000, 30_000, 100_000, 300_000, 1_000_000]
seconds = {m: [fitted(n, m)[0] for n in sizes] for m in (100, 400)}
last = fitted(MOST, 400)[2]
print(last.solution_)

# %%
# What more centres buy
# ---------------------
# On a hundred thousand rows the error on new ones, whose targets have noise of 0.1, falls with the number of centres.

counts = [25, 50, 100, 200, 400, 800]
errors = [fitted(100_000, m)[1] for m in counts]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for m, times in seconds.items():
    left.loglog(sizes, times, "o-", label=f"{m} centres")
left.loglog(sizes, seconds[400][-1] * np.array(sizes) / MOST, "k:", label="as n")
left.set(xlabel="rows", ylabel="seconds", title="Cost of a fit, certified")
left.legend()
right.semilogx(counts, errors, "o-")
right.axhline(0.1, color="k", ls=":", label="noise")
right.set(xlabel="centres", ylabel="error on new rows", title="100,000 rows")
right.minorticks_off()
right.set_xticks(counts, [str(m) for m in counts])
right.legend()
plt.show()
