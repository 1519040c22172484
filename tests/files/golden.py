"""Makes the model files in golden/ with LIBSVM itself: run it where libsvm-official is installed (make peers-setup).

Each case is a model that LIBSVM trained and saved, the points it was asked about, and what it answered.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

HERE = Path(__file__).parent / "golden"
CASES = {
    "c_svc_rbf_3": ("-s 0 -t 2 -g 0.5 -c 1 -q", "iris"),
    "c_svc_rbf_2": ("-s 0 -t 2 -g 0.5 -c 1 -q", "two"),
    "c_svc_linear_2_swapped": ("-s 0 -t 0 -q", "swapped"),
    "nu_svc_rbf_2": ("-s 1 -t 2 -g 0.25 -n 0.3 -q", "two"),
    "c_svc_poly_2": ("-s 0 -t 1 -d 2 -g 0.25 -r 1 -q", "two"),
    "one_class_rbf": ("-s 2 -t 2 -g 0.5 -n 0.3 -q", "iris"),
    "epsilon_svr_rbf": ("-s 3 -t 2 -g 0.5 -q", "width"),
    "nu_svr_linear": ("-s 4 -t 0 -q", "width"),
    "c_svc_precomputed_3": ("-s 0 -t 4 -q", "gram"),
    "c_svc_rbf_3_probabilities": ("-s 0 -t 2 -g 0.5 -c 1 -b 1 -q", "iris"),
}


def data(name):
    """Return points and targets: iris in several guises, thinned out."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::4], y[::4].astype(float)
    if name == "two":
        return X[y > 0], y[y > 0] * 3
    if name == "swapped":  # the larger label comes first
        return X[y > 0][::-1], y[y > 0][::-1]
    return (X[:, :3], X[:, 3]) if name == "width" else (X, y)


def make(name):
    """Write one case."""
    from libsvm.svmutil import svm_parameter, svm_predict, svm_problem, svm_save_model, svm_train

    options, which = CASES[name]
    X, y = data(which)
    if which == "gram":
        rows = [dict(enumerate(row)) for row in np.column_stack([np.arange(1, len(X) + 1), X @ X.T]).tolist()]
    else:
        rows = [dict(enumerate(row, 1)) for row in X.tolist()]
    problem = svm_problem(y.tolist(), rows, isKernel=which == "gram")
    model = svm_train(problem, svm_parameter(options))
    svm_save_model(str(HERE / f"{name}.model"), model)
    predicted, _, decisions = svm_predict(y.tolist(), rows, model, "-q")
    told = {"data": which, "predict": list(predicted), "decision": [list(row) for row in decisions]}
    if "-b 1" in options:
        told["probabilities"] = [list(row) for row in svm_predict(y.tolist(), rows, model, "-b 1 -q")[2]]
    (HERE / f"{name}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for each in sys.argv[1:] or CASES:
        if sys.argv[1:]:
            make(each)
        else:  # a process each: several models in one have crashed, as has predict with nu-SVC of three classes
            subprocess.run([sys.executable, __file__, each], check=True)
