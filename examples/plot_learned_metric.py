"""
A metric from a few pairs
=========================

Wine in thirteen measurements, and what is known of it: that some bottles are of the same cultivar, and some are not.
Two objectives learn a metric from these pairs; the picture shows all bottles as each metric sees them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from mercer import KernelKMeans, MetricLearner

X, cultivar = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
rng = np.random.default_rng(0)
pairs = np.array([rng.choice(len(X), 2, replace=False) for _ in range(300)])
pairs = np.unique(np.sort(pairs, axis=1), axis=0)
same = cultivar[pairs[:, 0]] == cultivar[pairs[:, 1]]
known = {"similar": pairs[same], "dissimilar": pairs[~same]}

# %%
# The metrics
# -----------
# The sum of squared distances is optimised by one direction, so a projection on two is asked for. The sum of distances
# finds by itself how many directions it needs. Both say how far from the optimum they can be.

ratio = MetricLearner(rank=2).fit(X, **known)
root = MetricLearner(objective="root", rank=2).fit(X, **known)
for name, model in (("ratio", ratio), ("root", root)):
    print(f"{name}: {model.components_.shape[0]} directions, relative gap {model.certificate_.relative_gap:.1e}")

# %%
# Clusters
# --------
# Clusters under each metric, without and with the pairs as links that must be kept.

views = {
    "first two principal components": X @ np.linalg.svd(X, full_matrices=False)[2][:2].T,
    "learned, sum of squared distances": ratio.transform(X),
    "learned, sum of distances": root.transform(X),
}
links = {"must_link": known["similar"], "cannot_link": known["dissimilar"]}
fig, axes = plt.subplots(1, 3, figsize=(13, 4.2), constrained_layout=True)
for ax, (title, Z) in zip(axes, views.items(), strict=True):
    Z = (Z - Z.mean(axis=0)) / np.sqrt(Z.var(axis=0).sum())
    found = KernelKMeans(3, kernel="linear", random_state=0)
    free = adjusted_rand_score(cultivar, found.fit(Z).labels_)
    kept = adjusted_rand_score(cultivar, found.fit(Z, **links).labels_)
    for kind, color in ((known["dissimilar"][:40], "0.8"), (known["similar"][:40], "0.45")):
        ax.plot(*Z[kind].transpose(2, 1, 0), color=color, lw=0.6, zorder=0)
    ax.scatter(*Z.T, c=cultivar, s=14, cmap="viridis")
    ax.set_title(f"{title}\nadjusted Rand index of clusters: {free:.2f}, with links {kept:.2f}", fontsize=10)
    ax.set_xticks([])
    ax.set_yticks([])
fig.suptitle("Wine, coloured by cultivar; lines are some of the pairs, dark ones similar")
plt.show()
