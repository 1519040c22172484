"""LIBSVM's model text, read and written: the files LIBSVM wrote come back line by line, damage is named."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from mercer.files._libsvm_text import LibsvmText, formatted, parsed

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.model"))


def same_lines(ours, theirs):
    """Whether two files say the same, whatever the digits."""
    for mine, other in zip(ours, theirs, strict=True):
        for a, b in zip(mine.replace(":", " ").split(), other.replace(":", " ").split(), strict=True):
            assert a == b or float(a) == float(b), (mine, other)
    return True


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_what_libsvm_wrote_is_written_again(path):
    text = path.read_text().splitlines()
    assert same_lines(list(formatted(parsed(text))), text)


def random_model(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 4, 3)
    return LibsvmText(
        "c_svc", "rbf", rng.normal(size=3), rng.normal(size=(counts.sum(), 2)),
        sparse.random(counts.sum(), 7, 0.5, "csr", rng=rng), np.array([4, -1, 7]), counts, gamma=rng.uniform(),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_every_bit_comes_back(seed):
    model = random_model(seed)
    back = parsed(formatted(model), n_features=7)
    for name in ("rho", "coefficients", "label", "nr_sv", "gamma"):
        np.testing.assert_array_equal(getattr(back, name), getattr(model, name))
    np.testing.assert_array_equal(back.vectors.toarray(), model.vectors.toarray())


TEXT = list(formatted(random_model(0)))


def changed(line, new):
    return [new if k == line else text for k, text in enumerate(TEXT)]


@pytest.mark.parametrize(
    "lines, wanted",
    [
        ([], "the line 'SV'"),
        (["hello world", "SV"], "known fields"),
        (changed(0, "svm_type svm"), "svm_type with one of"),
        (changed(1, "kernel_type"), "kernel_type with one of"),
        (changed(1, "svm_type c_svc"), "each field once"),
        (changed(2, "gamma x"), "finite numbers in line 3"),
        (changed(2, "gamma 1 2"), "one number for 'gamma'"),
        (changed(2, "degree 3"), "the field 'gamma' of a rbf kernel"),
        (changed(5, "rho 1 2"), "3 numbers for 'rho'"),
        (changed(7, "nr_sv 1 1 1"), "add up to 'total_sv'"),
        (TEXT[:-1], "support vectors, as 'total_sv' says"),
        ([*TEXT[:-1], "1 1:2 3:4"], "2 coefficients"),
        ([*TEXT[:-1], "1 2 x:4"], "indices that are whole numbers"),
        ([*TEXT[:-1], "1 2 0:4"], "indices from 1 on"),
        ([*TEXT[:-1], "1 2 3:nan"], "finite numbers"),
        (TEXT[:5] + TEXT[6:], "the field 'rho'"),
    ],
)
def test_damage_is_named(lines, wanted):
    with pytest.raises(ValueError, match="libsvm: a model file must hold") as error:
        parsed(lines)
    assert wanted in str(error.value)


def test_too_few_features_are_refused():
    with pytest.raises(ValueError, match="'n_features' must be at least"):
        parsed(TEXT, n_features=1)
