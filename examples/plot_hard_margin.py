"""
The hard margin, and the proof that there is none
=================================================

Without errors, the plane with the widest margin halves the way between the nearest points of two convex hulls. Where
the hulls meet there is no such plane, and the point where they meet proves it.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import ConvexHull

from mercer import SVC
from mercer.solvers.dual import NotSeparableError

rng = np.random.default_rng(3)
apart = np.vstack([rng.normal([-1.6, 0.0], 0.7, (25, 2)), rng.normal([1.8, 0.6], 0.7, (25, 2))])
side = np.repeat([0, 1], 25)
colours = np.array(["tab:blue", "tab:orange"])


def hulls(ax, X):
    """Draw the points of both classes and their convex hulls."""
    for k, colour in enumerate(colours):
        mine = X[side == k]
        corners = mine[ConvexHull(mine).vertices]
        ax.fill(*corners.T, color=colour, alpha=0.15)
        ax.scatter(*mine.T, color=colour, s=12)
    ax.set_aspect("equal")


# %%
# Two hulls apart
# ---------------
# The dual coefficients of each class, divided by their sum, are the convex combination nearest to the other class.

model = SVC(C=np.inf, kernel="linear", tol=1e-8).fit(apart, side)
print("margin", round(model.margin_, 6))
print(model.certificate_)

a = model.dual_coef_[0]
ends = [np.abs(a[s]) @ model.support_vectors_[s] / np.abs(a[s]).sum() for s in (a < 0, a > 0)]
print("half the distance of the hulls", round(np.linalg.norm(ends[1] - ends[0]) / 2, 6))

# %%
# Two hulls that meet
# -------------------

together = apart + np.outer(np.where(side == 1, -1.0, 1.0), [0.9, 0.3])
try:
    SVC(C=np.inf, kernel="linear").fit(together, side)
except NotSeparableError as error:
    witness = error.witness
    print(error)
shares, rows = np.abs(witness.weights), together[witness.rows]
of_blue, of_orange = (shares[s] @ rows[s] for s in (witness.weights < 0, witness.weights > 0))
print(of_blue, of_orange)

# %%
# Both in a picture
# -----------------

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
hulls(left, apart)
left.plot(*np.transpose(ends), "k-", lw=1)
left.scatter(*model.support_vectors_.T, s=60, facecolors="none", edgecolors="k")
x = np.linspace(*left.get_xlim(), 200)
y = np.linspace(*left.get_ylim(), 200)
grid = np.stack(np.meshgrid(x, y), axis=-1)
values = model.decision_function(grid.reshape(-1, 2)).reshape(200, 200)
left.contour(x, y, values, levels=[-1, 0, 1], colors="k", linestyles=["--", "-", "--"], linewidths=1)
left.set_title(f"apart: margin {model.margin_:.3f}")
hulls(right, together)
right.scatter(*rows.T, s=60, facecolors="none", edgecolors="k")
right.scatter(*of_blue, marker="x", color="k", s=60)
right.set_title("no hard margin: one point of both hulls")
plt.show()
