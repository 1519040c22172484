"""Models from LIBSVM decide here as they did there; ours come back to the bit; what does not fit is refused."""

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.preprocessing import LabelEncoder

from mercer import SVC, SVR, KernelRidge, NuSVC, NuSVR, OneClassSVM
from mercer.files import read_libsvm, write_libsvm
from mercer.kernels import Gaussian, Laplace, Linear, Polynomial
from tests.files.golden import HERE, data

X, Y = load_iris(return_X_y=True)
MODELS = sorted(HERE.glob("*.model"))


def asked(which):
    Z, y = data(which)
    return (Z @ Z.T if which == "gram" else Z), y


def theirs(model, told, machine):
    """The decisions LIBSVM told, in our order and sign."""
    D = np.array(told["decision"])
    k = len(getattr(machine, "classes_", ()))
    if k == 2:
        first = float(next(line for line in model.read_text().splitlines() if line.startswith("label")).split()[1])
        return D[:, 0] * (1 if first == machine.classes_[1] else -1)
    return D if k > 2 else D[:, 0]


@pytest.mark.parametrize("model", MODELS, ids=lambda p: p.stem)
def test_models_of_libsvm_decide_as_they_did(model):
    told = json.loads(model.with_suffix(".json").read_text())
    Z, y = asked(told["data"])
    machine = read_libsvm(model, n_features=len(Z) if told["data"] == "gram" else None)
    wanted = theirs(model, told, machine)
    if hasattr(machine, "classes_"):
        machine.set_params(decision_function_shape="ovo")
    got = machine.decision_function(Z) if hasattr(machine, "decision_function") else machine.predict(Z)
    np.testing.assert_allclose(got, wanted, atol=1e-10 * max(1, np.abs(wanted).max()))
    if hasattr(machine, "classes_"):
        np.testing.assert_array_equal(machine.predict(Z), told["predict"])
    assert machine.fit_status_ == 0
    assert not hasattr(machine, "certificate_")
    assert len(y) == len(got)


SIGMOID = (
    *("svm_type c_svc", "kernel_type sigmoid", "gamma 1", "coef0 0", "nr_class 2", "total_sv 0"),
    *("rho 0", "label 0 1", "nr_sv 0 0", "SV"),
)
FITTED = {
    "two": SVC(gamma=0.5).fit(X[Y > 0], Y[Y > 0]),
    "three": SVC(kernel="poly", degree=2, gamma=0.25, coef0=1.0).fit(X, Y * 2 - 1),
    "linear": SVC(kernel=Linear()).fit(X, Y),
    "kernel": SVC(kernel=Polynomial(3, inner=0.5, gamma=0.1)).fit(X, Y),
    "gaussian": SVC(kernel=Gaussian(1.7)).fit(X, Y),
    "precomputed": SVC(kernel="precomputed").fit(X @ X.T, Y),
    "nu": NuSVC(nu=0.2).fit(X, Y),
    "one": OneClassSVM(nu=0.2, gamma=0.3).fit(X),
    "svr": SVR(gamma=0.3).fit(X[:, :3], X[:, 3]),
    "nusvr": NuSVR(kernel="linear").fit(X[:, :3], X[:, 3]),
    "sparse": SVC(gamma=0.5).fit(sparse.csr_matrix(X), Y),
}


@pytest.mark.parametrize("name", FITTED)
def test_ours_come_back(name, tmp_path):
    machine, path = FITTED[name], tmp_path / "a.model"
    write_libsvm(machine, path)
    again = read_libsvm(path, n_features=machine.n_features_in_)
    assert type(again) is type(machine)
    Z = X @ X.T if name == "precomputed" else X[:, : machine.n_features_in_]
    np.testing.assert_allclose(again._coefficients, machine._coefficients, rtol=0, atol=0)
    np.testing.assert_array_equal(again.dual_coef_, machine.dual_coef_)
    np.testing.assert_array_equal(again.intercept_, machine.intercept_)
    np.testing.assert_allclose(again.predict(Z), machine.predict(Z), rtol=1e-12)
    if hasattr(machine, "margin_") and name != "precomputed":
        np.testing.assert_allclose(again.margin_, machine.margin_, rtol=1e-6)
    second = io.StringIO()
    write_libsvm(again, second)
    assert [p.name for p in tmp_path.iterdir()] == ["a.model"]
    if name not in ("kernel", "gaussian", "two", "three", "nu", "one", "svr", "sparse"):
        assert second.getvalue() == path.read_text()


def test_libsvm_reads_what_we_wrote(tmp_path):
    pytest.importorskip("libsvm")
    machine, path = FITTED["three"], tmp_path / "a.model"
    write_libsvm(machine, path)
    rows = [dict(enumerate(row, 1)) for row in X.tolist()]
    program = (  # in a process of its own, since its interface can crash
        "import sys, json\nfrom libsvm.svmutil import svm_load_model, svm_predict\n"
        "rows = [{int(k): v for k, v in row.items()} for row in json.load(sys.stdin)]\n"
        "said = svm_predict([0.0] * len(rows), rows, svm_load_model(sys.argv[1]), '-q')[0]\nprint(json.dumps(said))"
    )
    command = [sys.executable, "-c", program, str(path)]
    ran = subprocess.run(command, input=json.dumps(rows), capture_output=True, text=True, check=True)
    np.testing.assert_array_equal(json.loads(ran.stdout), machine.predict(X))


def test_what_does_not_fit_is_refused():
    for machine, error, wanted in [
        (KernelRidge().fit(X, Y), TypeError, "libsvm: a support vector machine; got KernelRidge"),
        (SVC(kernel=Laplace(1.0)).fit(X, Y), ValueError, "a kernel that LIBSVM has"),
        (SVC(multi_class="ovr").fit(X, Y), ValueError, "a machine for each pair of classes; got multi_class='ovr'"),
        (SVC().fit(X, np.array(["a", "b", "c"])[Y]), ValueError, "labels that are whole numbers"),
    ]:
        with pytest.raises(error, match=wanted):
            write_libsvm(machine, io.StringIO())
    codes = LabelEncoder().fit_transform(np.array(["a", "b", "c"])[Y])
    write_libsvm(SVC().fit(X, codes), io.StringIO())
    with pytest.raises(ValueError, match="kernel_type sigmoid"):
        read_libsvm(io.StringIO("\n".join(SIGMOID)))


def test_a_file_that_is_not_there_is_left_alone(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_libsvm(tmp_path / "none.model")
    path = tmp_path / "bytes.model"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(ValueError, match="a model file must hold"):
        read_libsvm(path)


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.model"
    path.write_text("kept")
    with pytest.raises(ValueError, match="libsvm"):
        write_libsvm(SVC(kernel=Laplace(1.0)).fit(X, Y), path)
    assert path.read_text() == "kept"
    assert Path(path).exists()
