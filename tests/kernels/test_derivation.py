"""Proofs. Oracle: the proofs of the lectures, step by step."""

import re

import numpy as np
import pytest

from mercer.kernels import (
    Custom,
    Gaussian,
    Linear,
    Polynomial,
    Precomputed,
    SetIntersection,
    exp,
    polynomial,
)
from tests.kernels import points

pytestmark = pytest.mark.uncompiled


def claims(kernel):
    return [line.claim.text for line in kernel.derivation().lines]


def test_gaussian_is_the_five_step_proof():
    proof = Gaussian(2.0).derivation()
    assert proof.rules == (1, 2, 7, 6)
    assert claims(Gaussian(2.0)) == [
        "x'z",
        "(2/2^2) x'z",
        "exp((2/2^2) x'z)",
        "f(x) exp((2/2^2) x'z) f(z)",
        "exp(-|x - z|^2/2^2)",
    ]
    assert "f(x) = exp(-|x|^2/2^2)" in str(proof)
    assert proof.proven


def test_gaussian_with_a_metric_starts_from_rule_8():
    for scale in ([1.0, 2.0], [[2.0, 1.0], [1.0, 2.0]]):
        assert Gaussian(scale).derivation().rules == (8, 2, 7, 6)


def test_polynomials_of_the_lectures():
    assert claims(Polynomial(3)) == ["x'z", "1", "1 + x'z", "(1 + x'z)^3"]
    assert Polynomial(3).derivation().rules == (1, 1, 3, 4)
    assert claims(Polynomial(2, inner=0, outer=5)) == ["x'z", "(x'z)^2", "5", "(x'z)^2 + 5"]


def test_exp_of_set_intersection_by_indicator_vectors():
    proof = exp(SetIntersection()).derivation()
    assert claims(exp(SetIntersection())) == ["1_S'1_T", "|S n T|", "exp(|S n T|)"]
    assert proof.rules == (1, 7)
    assert "of the indicator vectors 1_S" in str(proof)


def test_a_part_met_twice_is_proved_once():
    k = 0.5 * Gaussian(2.0) + Linear() * Gaussian(2.0) + Polynomial(2)
    assert claims(k).count("x'z") == 1
    assert claims(k).count("exp(-|x - z|^2/2^2)") == 1
    assert k.derivation().proven


def test_brackets():
    k = (Linear() + 1) * (2 * Gaussian(1.0)) + polynomial(Linear() + 1, [0, 1, 3])
    assert k.formula().text == "(x'z + 1) 2 exp(-|x - z|^2) + (x'z + 1) + 3 ((x'z + 1))^2"


@pytest.mark.parametrize(
    "kernel",
    [Custom(points.shared), Precomputed(np.eye(3))],
    ids=["custom", "precomputed"],
)
def test_trust_spreads_to_all_that_is_built_from_it(kernel):
    built = [
        kernel,
        2 * kernel,
        kernel + Linear(),
        Linear() * kernel,
        kernel**2,
        exp(kernel),
        polynomial(kernel, [1, 1]),
        kernel.normalized(),
        kernel.warp(np.sum),
        kernel.on([0]),
        kernel.of(np.tanh),
    ]
    assert not any(k.derivation().proven for k in built)
    assert "taken on trust" in str(built[1].derivation())


EVERY = [*points.REAL, *points.HISTOGRAMS, *points.STRINGS, *points.SETS]


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
def test_every_step_names_its_reason_in_text_and_latex(kernel):
    proof = kernel.derivation()
    assert len(proof) >= 1
    assert proof.proven == (not isinstance(kernel, Custom))
    named = "rule [1-8]:|Bochner|Schoenberg|integral representation|the same|mapped points|a Gaussian, for|trust"
    assert all(re.search(named, line.text(1)) for line in proof.lines)
    latex = proof.latex()
    assert latex.count("{") == latex.count("}")
    assert latex.count(r"\left") == latex.count(r"\right")
    outside = re.sub(r"\$[^$]*\$", "", " ".join(re.findall(r"\\text\{(.*)\}", latex)))
    assert not set("^_$") & set(outside)


def test_latex_is_laid_out_by_matplotlib():
    mathtext = pytest.importorskip("matplotlib.mathtext")
    parser = mathtext.MathTextParser("path")
    for kernel in EVERY:
        latex = kernel.formula().latex
        for line in kernel.derivation().lines:
            latex = line.claim.latex.replace(r"\textstyle", "").replace(r"\tfrac", r"\frac").replace(r"\top", "T")
            latex = latex.replace(r"\lVert", r"\Vert").replace(r"\rVert", r"\Vert").replace(r"\big/", "/")
            parser.parse(f"${latex}$")


def test_a_comma_after_a_symbol_stays_outside_the_formula():
    assert r"vectors $1_S$, with $1_S(a)$ = 1" in SetIntersection().derivation().latex()
