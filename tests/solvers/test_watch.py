"""Progress: a bar that is full at the tolerance, by tqdm where it is installed."""

import io
import sys

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.solvers import Progress, Step


def lines(monkeypatch=None):
    stream = io.StringIO()
    with Progress(stream, every=0.0) as watch:
        for k, residual in enumerate((np.inf, 1.0, 1e-1, 1e-4)):
            watch(Step(k, residual, 0.1 * k, "CG", 1e-4))
    return stream.getvalue().split("\r")[1:]


def test_the_bar_fills_as_the_residual_falls_by_factors():
    shown = lines()
    assert [line.count("#") for line in shown] == [0, 0, 5, 20]
    assert shown[-1] == "CG [####################] step 3, residual 1.00e-04, 0.3 s\n"


def test_without_a_tolerance_there_is_no_share():
    stream = io.StringIO()
    Progress(stream)(Step(0, 1.0, 0.0, "CG"))
    assert "[....................]" in stream.getvalue()


@pytest.mark.parametrize("installed", [True, False])
def test_a_verbose_fit_shows_it(installed, monkeypatch, capsys):
    if installed:
        pytest.importorskip("tqdm")
    monkeypatch.setattr("mercer.solvers.watch._has_tqdm", lambda: installed)
    X = np.random.default_rng(0).standard_normal((300, 2))
    KernelRidge(n_centers=20, verbose=True, random_state=0).fit(X, X[:, 0])
    text = capsys.readouterr().err
    assert "CenterGradients" in text
    assert "step 1, residual" in text
    assert text.endswith("\n")


def test_a_watcher_that_is_not_shown_stays_silent(capsys):
    KernelRidge().fit([[0.0], [1.0]], [0.0, 1.0])
    assert capsys.readouterr().err == ""
    assert sys.stderr is not None
