"""
The main job in one page: a kernel, its proof, a certificate, a product, a picture

Run it with ``make demo``; it ends in a few seconds and leaves a picture in demo_output/.
"""

import statistics
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from mercer import Engine, check_psd, gram
from mercer.kernels import Gaussian, Linear

N, D = 10_000, 8
PICTURE = Path("demo_output") / "kernel.png"


def main():
    """Show each step in turn."""
    kernel = 0.5 * Gaussian(scale=2.0) + Linear() * Gaussian(scale=1.0)
    X = np.random.default_rng(0).standard_normal((N, D)).astype(np.float32)
    prove(kernel)
    certify(kernel, X[:500])
    race(X)
    compose(kernel, X)
    draw(kernel)


def title(number, text):
    """Print a heading."""
    print(f"\n{number}. {text}\n{'-' * (len(text) + 3)}")


def prove(kernel):
    """Print why the kernel is positive definite, step by step."""
    title(1, "A kernel and its proof")
    print(f"k = {kernel}\n\n{kernel.derivation()}")


def certify(kernel, X):
    """Enclose the smallest eigenvalue of a Gram matrix, rounding included."""
    title(2, f"A certificate for its Gram matrix on {len(X)} points")
    print(check_psd(gram(kernel, X, engine=Engine(precision="double"))))


def race(X):
    """Time a product beside scikit-learn, on the same data, taking turns."""
    title(3, f"K @ v for {N} points in {D} dimensions, float32, beside scikit-learn")
    gamma, v = 0.5 / D, np.ones(N, np.float32)
    kernel = Gaussian.from_gamma(gamma)
    ours, theirs = gram(kernel, X) @ v, rbf_kernel(X, gamma=gamma) @ v  # warm up: compiled code is loaded or made
    a, b = in_turn(lambda: gram(kernel, X) @ v, lambda: rbf_kernel(X, gamma=gamma) @ v)
    apart = np.abs(ours - theirs).max() / np.abs(theirs).max()
    print(f"  mercer        gram(k, X) @ v       {a * 1e3:7.1f} ms   K is never stored")
    print(f"  scikit-learn  rbf_kernel(X) @ v    {b * 1e3:7.1f} ms   K takes {N * N * 4 / 1e6:.0f} MB")
    print(f"  ratio {b / a:.1f}; the answers agree to {apart:.0e} of the largest")


def compose(kernel, X):
    """Time a product with a sum of products of kernels."""
    title(4, "The composite kernel is one pass too")
    v = np.ones(N, np.float32)
    gram(kernel, X) @ v
    (a,) = in_turn(lambda: gram(kernel, X) @ v)
    print(f"  k = {kernel}")
    print(f"  gram(k, X) @ v in {a * 1e3:.1f} ms: {N * N / a / 1e9:.1f}e9 kernel values a second")


def in_turn(*runs, rounds=5):
    """Return the median seconds of each, taking turns."""
    times = [[] for _ in runs]
    for _ in range(rounds):
        for run, found in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            found.append(time.perf_counter() - start)
    return [statistics.median(found) for found in times]


def draw(kernel):
    """Draw the Gram matrix of sorted points, and sections."""
    title(5, "A picture")
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    t = np.linspace(-3, 3, 300)[:, None]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6))
    image = left.imshow(np.asarray(gram(kernel, t)), extent=(-3, 3, 3, -3))
    figure.colorbar(image, ax=left, shrink=0.85)
    left.set(title="the Gram matrix of sorted points", xlabel="z", ylabel="x")
    for x in (-2.0, -0.5, 1.0, 2.5):
        (line,) = right.plot(t, kernel(t, [[x]]), label=f"x = {x:g}")
        right.plot([x], kernel([[x]])[0], "o", color=line.get_color())
    right.set(title="sections k(., x); dots at k(x, x), the squared norms", xlabel="t", ylabel="k(t, x)")
    right.legend(loc="upper center")
    figure.suptitle(f"k = {kernel}", fontsize=11)
    figure.tight_layout()
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)
    print(f"  {PICTURE}: K for 300 sorted points, and k(., x) for four points x\n")


if __name__ == "__main__":
    main()
