"""The memory a product takes. The oracle is the process itself: its peak, in a process of its own."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="peaks are reset through /proc")

MEASURED = """
    import sys
    import numpy as np
    from mercer import Engine, gram
    from mercer.gram import _make
    from mercer.kernels import Gaussian, Linear
    n, m, d, columns = (int(a) for a in sys.argv[1:5])
    precision, kernel, dtype = sys.argv[5:]
    k = {"one": Gaussian(3.0), "two": 0.5 * Gaussian(3.0) + Linear() * Gaussian(3.0)}.get(kernel)
    k = k or Gaussian(3.0).warp(lambda X: 1 + X[:, 0] ** 2, vectorized=True)

    def status(name):
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))

    def grown(call):
        before = status("VmRSS")
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak starts again from here
        result = call()
        return status("VmHWM") - before - result.nbytes

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)).astype(np.float32)
    Y = None if m == n else rng.standard_normal((m, d)).astype(np.float32)
    shape = (m, columns)
    V = np.ones(shape if columns > 1 else m, dtype)
    engine = Engine(threads=2, precision=precision)
    _make.SMALL = 0
    small = gram(k, X[:600], None if Y is None else Y[:600], engine)
    small @ V[: small.shape[1]]  # compiled, or loaded, before
    K = gram(k, X, Y, engine)
    K._source.prepare()  # packs the rows once; what follows is the product alone
    print(grown(lambda: K @ V) / 1e6)
"""

CASES = [
    (1_000_000, 30, 3, 1, "single", "one", "float32"),
    (1_000_000, 4, 3, 20, "single", "one", "float32"),
    (40_000, 40_000, 3, 1, "single", "one", "float64"),
    (6_000, 6_000, 120, 100, "double", "two", "float64"),
    (2_000, 100_000, 3, 100, "single", "one", "float64"),
    (300, 300_000, 3, 100, "single", "weighted", "float64"),
    (100_000, 300, 200, 100, "double", "one", "float32"),
]


@pytest.mark.parametrize("case", CASES, ids=[" ".join(map(str, c)) for c in CASES])
def test_a_product_takes_64_megabytes_beyond_its_result(case):
    code = [sys.executable, "-c", textwrap.dedent(MEASURED), *map(str, case)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(code, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 64
