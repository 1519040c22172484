"""
Where k-means fails
===================

Rings, moons and spirals. k-means cuts them by a straight line, since all it knows of a cluster is its mean in the
plane. Kernel k-means takes the mean in feature space instead, and what that sees is the kernel's to say.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from mercer import KernelKMeans
from mercer.kernels import Gaussian


def spirals(n, noise, rng):
    """Two arms, each one and a half turns long."""
    t = np.sqrt(rng.uniform(0.03, 1.0, n)) * 3 * np.pi
    arm = rng.integers(0, 2, n)
    angle = t + np.pi * arm
    return np.column_stack([t * np.cos(angle), t * np.sin(angle)]) / 9 + noise * rng.standard_normal((n, 2)), arm


shapes = {
    "rings": make_circles(400, factor=0.35, noise=0.05, random_state=0),
    "moons": make_moons(400, noise=0.05, random_state=0),
    "spirals": spirals(600, 0.01, np.random.default_rng(0)),
}

# %%
# Two kernels
# -----------
# The Gaussian compares points by their distance in the plane: two rings are far apart in feature space, but the two
# ends of one moon are farther from each other than from the other moon. The heat kernel :math:`e^{-tL}` compares them
# by how much of the heat of one has come to the other at time t, flowing between near neighbours only; L is the
# Laplacian of the graph of neighbours. As an exponential it is positive definite, and it comes as a matrix.


def heat(X, t=500.0, neighbours=8):
    """Return the heat kernel of the graph of nearest neighbours, normalised to k(x, x) = 1."""
    A = kneighbors_graph(X, neighbours).toarray()
    A = np.maximum(A, A.T)
    degree = A.sum(axis=1)
    values, vectors = np.linalg.eigh(np.eye(len(X)) - A / np.sqrt(np.outer(degree, degree)))
    K = (vectors * np.exp(-t * values)) @ vectors.T
    size = np.sqrt(np.diagonal(K))
    K /= np.outer(size, size)
    return (K + K.T) / 2


machines = {
    "k-means": lambda X: KMeans(2, n_init=10, random_state=0).fit(X),
    "Gaussian": lambda X: KernelKMeans(2, kernel=Gaussian(0.5), random_state=0).fit(X),
    "heat": lambda X: KernelKMeans(2, kernel="precomputed", random_state=0).fit(heat(X)),
}

# %%
# What they find
# --------------
# Each picture says how well the clusters agree with the shapes (1 is perfectly), and those of kernel k-means how far
# their objective can be from the best possible. A small gap does not make a kernel the right one: it says that with
# this kernel there is hardly anything better to be found.

figure, axes = plt.subplots(3, 3, figsize=(9, 9))
for row, (name, machine) in zip(axes, machines.items(), strict=True):
    for panel, (shape, (X, y)) in zip(row, shapes.items(), strict=True):
        model = machine(X)
        score = adjusted_rand_score(y, model.labels_)
        panel.scatter(*X.T, c=model.labels_, s=6, cmap="coolwarm")
        panel.set_xticks([])
        panel.set_yticks([])
        panel.set_aspect("equal")
        said = f"agreement {max(score, 0.0):.2f}"
        if name != "k-means":
            said += f", gap {100 * model.certificate_.relative_gap:.1f} %"
        panel.set_xlabel(said)
        if name == "k-means":
            panel.set_title(shape)
        if shape == "rings":
            panel.set_ylabel(name)
figure.tight_layout()
