"""
The main job in one page: a support vector machine, tuned, certified, timed, drawn

Run it with ``make demo``; it ends in about a minute and leaves a picture in demo_output/.
"""

import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn import svm
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import GridSearchCV, train_test_split

from mercer import SVC, check_psd, tune
from mercer.display import draw_decision, draw_scores
from mercer.kernels import Gaussian, Linear

GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.0003, 0.001, 0.003, 0.01]}
FOLDS = 5
PICTURES = Path("demo_output")


def main():
    """Show each step in turn."""
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    prove()
    found = tuned(X, y)
    certify(found.best_estimator_, X_new, y_new)
    race(found, X, y)
    draw(found)


def title(number, text):
    """Print a heading."""
    print(f"\n{number}. {text}\n{'-' * (len(text) + 3)}")


def prove():
    """Print why a kernel is positive definite, step by step, and enclose an eigenvalue of one of its matrices."""
    kernel = 0.5 * Gaussian(scale=2.0) + Linear() * Gaussian(scale=1.0)
    title(1, "A kernel carries its proof")
    print(f"k = {kernel}\n")
    print(check_psd(kernel, np.random.default_rng(0).standard_normal((300, 3))))


def tuned(X, y):
    """Search costs and kernels by cross-validation, once so that compiled code is there, then on the clock."""
    title(2, f"A support vector machine for {len(X)} handwritten digits, tuned")
    tune(SVC(), X[:300], y[:300], {"C": [1.0, 10.0], "gamma": [0.001]}, cv=3)
    found = tune(SVC(probability=True), X, y, GRID, cv=FOLDS)
    print(found)
    return found


def certify(model, X_new, y_new):
    """Print what is proved of the machine that won, in words."""
    title(3, "Its certificate, computed anew from the data")
    proof = model.certificate_
    k = int(np.argmax(proof.gap / proof.primal))
    pairs = len(proof.gap)
    print(proof)
    print(f"\n  In words: {pairs} machines, one for each pair of digits. Each objective is within a fraction of")
    print(f"  {proof.relative_gap:.1e} of the best there is (the worst is machine {k}): no solver does better by more.")
    bound = proof.prediction_bound(X_new)
    print(f"  No decision on new digits is further than {bound.max():.3f} from that of the exact solution.")
    p = model.predict_proba(X_new)
    agree = (model.classes_[p.argmax(axis=1)] == model.predict(X_new)).all()
    print(f"  Accuracy on {len(X_new)} digits it has not seen: {model.score(X_new, y_new):.4f}. ", end="")
    print(f"Probabilities agree with predict on all: {bool(agree)}.")


def race(found, X, y):
    """Time scikit-learn's grid search on the same cells and folds."""
    title(4, "The time, beside scikit-learn's grid search")
    start = time.perf_counter()
    ours = tune(SVC(), X, y, GRID, cv=FOLDS)
    a = time.perf_counter() - start
    start = time.perf_counter()
    theirs = GridSearchCV(svm.SVC(), GRID, cv=FOLDS, n_jobs=2).fit(X, y)
    b = time.perf_counter() - start
    apart = np.abs(ours.cv_results_["mean_test_score"] - theirs.cv_results_["mean_test_score"]).max()
    print(f"  mercer        tune(SVC(), X, y, grid)         {a:6.2f} s")
    print(f"  scikit-learn  GridSearchCV(SVC(), n_jobs=2)   {b:6.2f} s")
    print(f"  ratio {b / a:.1f}; scores agree to {apart:.0e}; best: {found.best_params_} and {theirs.best_params_}")


def draw(found):
    """Draw the scores, and a machine on two features with its margin and support vectors."""
    title(5, "Pictures")
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    PICTURES.mkdir(exist_ok=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.4))
    X, y = make_moons(200, noise=0.2, random_state=0)
    draw_decision(SVC(C=10.0, gamma=1.0).fit(X, y), X, y, ax=left)
    draw_scores(found, ax=right)
    left.set_title("two moons: decision, margin (dashed), support vectors (ringed)")
    right.set_title(f"digits: {right.get_title()}")
    figure.tight_layout()
    figure.savefig(PICTURES / "svm.png", dpi=110)
    print(f"  {PICTURES / 'svm.png'}: a machine on two features, and the scores of the search\n")


if __name__ == "__main__":
    main()
