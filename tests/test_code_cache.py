"""The disk cache of compiled code, in processes of their own. The oracle is the formula of the Gaussian."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numba
import numpy as np
import pytest

import mercer
from mercer import _code_cache
from tests import house

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled here")

PRODUCT = """
    import numpy as np
    from mercer import gram
    from mercer.gram import _make
    from mercer.kernels import Gaussian
    _make.SMALL = 0
    X = np.array([[0.0], [1.0], [3.0]])
    print(*(gram(Gaussian(1.0), X, X[:1].copy()) @ np.ones(1)))
    from mercer._code_cache import cache_folder
    from mercer.gram._passes import sweep
    print(len(sweep.overloads), sum(sweep.stats.cache_hits.values()), cache_folder())
"""
GAUSSIAN = np.exp(-np.array([0.0, 1.0, 9.0]))


def run(code, *, package=None, cache=None, check=True, wait=True, **environment):
    """Run code in a new process, on a copy of the package and with a cache folder of its own."""
    root = str(package.parent) if package else None
    paths = [root, *sys.path] if root else sys.path
    env = (
        os.environ
        | {"PYTHONPATH": os.pathsep.join(p for p in paths if p), "PYTHONDONTWRITEBYTECODE": "1"}
        | environment
    )
    if cache is not None:
        env["MERCER_CACHE_DIR"] = str(cache)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )
    return finished(process, check) if wait else process


def finished(process, check=True):
    out, err = process.communicate(timeout=120)
    if check:
        assert process.returncode == 0, err
    return out.splitlines()


def values(lines):
    return np.array(lines[0].split(), float)


def facts(lines):
    """How many versions of the pass were needed, how many came from disk, and the folder."""
    needed, hits, folder = lines[1].split(maxsplit=2)
    return int(needed), int(hits), folder


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package."""
    root = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(mercer.__file__).parent, root / "mercer", ignore=ignored)
    return root / "mercer"


@pytest.fixture(scope="module")
def warm(package, tmp_path_factory):
    """A cache folder that one process has filled."""
    cache = tmp_path_factory.mktemp("cache")
    lines = run(PRODUCT, package=package, cache=cache)
    np.testing.assert_allclose(values(lines), GAUSSIAN, rtol=1e-5)
    needed, hits, folder = facts(lines)
    assert (needed, hits) == (1, 0)
    assert Path(folder).parent == cache
    return cache


def files(cache):
    return sorted(p for p in cache.rglob("*") if p.is_file())


def test_a_second_process_compiles_nothing(package, warm):
    before = files(warm)
    lines = run(PRODUCT, package=package, cache=warm)
    np.testing.assert_allclose(values(lines), GAUSSIAN, rtol=1e-5)
    assert facts(lines)[:2] == (1, 1)
    assert files(warm) == before
    assert not [p for p in before if p.suffix == ".tmp"]


@pytest.fixture
def edited(package, tmp_path):
    """A copy of the package whose files a test may edit, each edit one replacement in one file."""
    shutil.copytree(package, tmp_path / "mercer")

    def edit(name, old, new):
        file = tmp_path / "mercer" / name
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))
        return tmp_path / "mercer"

    return edit


WINDOW = "* const(LOG2_E, t)) * t)"


def test_a_changed_rule_never_meets_old_code(package, warm, edited):
    lines = run(PRODUCT, package=edited("kernels/_form.py", WINDOW, "* const(LOG2_E, t)) * (t + t))"), cache=warm)
    np.testing.assert_allclose(values(lines), GAUSSIAN**2, rtol=1e-5)
    assert facts(lines)[:2] == (1, 0)
    old = run(PRODUCT, package=package, cache=warm)
    np.testing.assert_allclose(values(old), GAUSSIAN, rtol=1e-5)
    assert facts(old)[:2] == (1, 1)


def test_a_changed_estimator_compiles_nothing_anew(warm, edited):
    package = edited("estimators/kernel_ridge.py", '"""', '"""More. ')
    lines = run(PRODUCT, package=package, cache=warm)
    np.testing.assert_allclose(values(lines), GAUSSIAN, rtol=1e-5)
    assert facts(lines)[:2] == (1, 1)


# ---------------------------------------------------------------- which sources shape an entry

PASS = frozenset({"mercer.gram._passes", "mercer.kernels.matern"})


@pytest.mark.parametrize(
    "name",
    [
        "_rules.py",
        "_jit.py",
        "_code_cache.py",
        "gram/_passes.py",
        "gram/_packed.py",  # a constant of the pass
        "kernels/_form.py",
        "kernels/_statistics.py",
        "kernels/matern.py",
        "kernels/_metrics.py",  # imported by the file of the record
    ],
)
def test_a_change_in_what_shapes_code_changes_its_hash(name, package, edited):
    root = edited(name, '"""', '"""More. ')
    assert _code_cache.source_hash(PASS, root) != _code_cache.source_hash(PASS, package)


@pytest.mark.parametrize(
    "name", ["estimators/kernel_ridge.py", "solvers/cholesky.py", "losses/squared.py", "spaces/laws.py", "_version.py"]
)
def test_a_change_elsewhere_does_not(name, package, edited):
    root = edited(name, '"', '"  ')
    assert _code_cache.source_hash(PASS, root) == _code_cache.source_hash(PASS, package)


def test_the_hash_depends_on_the_sources_alone(package, edited):
    root = edited("_version.py", '"', '"')
    assert _code_cache.source_hash(PASS, root) == _code_cache.source_hash(PASS, package)
    assert _code_cache.source_hash(PASS, root) == _code_cache.source_hash(PASS)
    assert _code_cache.source_hash(PASS) != _code_cache.source_hash(PASS - {"mercer.kernels.matern"})


def test_every_import_is_seen():
    """The oracle parses every file of the package."""
    texts = house.sources()
    for module, text in texts.items():
        parsed = {target for target, _ in house.imports(module, text, set(texts))}
        assert parsed <= set(_code_cache.imported_modules(text)), module


@pytest.mark.parametrize(
    "text, modules",
    [
        ("from mercer._rules import const", {"mercer._rules"}),
        ("from mercer.kernels import _form as forms, Kernel", {"mercer.kernels._form", "mercer.kernels"}),
        ("from mercer.kernels import (  # a (comment\n    _form,\n    _views,\n)", {"mercer.kernels._form"}),
        ("import mercer._jit as jit, mercer.gram", {"mercer._jit", "mercer.gram"}),
        ("import numpy, mercer", {"mercer"}),
        ("def f():\n    from mercer.gram import _make", {"mercer.gram._make"}),
        (">>> from mercer import gram\nfrom mercers import x", set()),
    ],
)
def test_imports_of_many_shapes(text, modules):
    found = set(_code_cache.imported_modules(text))
    assert modules <= found
    assert bool(modules) == bool(found)


def test_a_rule_stands_where_its_parameters_do():
    """Or the hash would not see it."""
    from mercer.kernels._form import Square
    from mercer.kernels._statistics import term

    with pytest.raises(TypeError, match=r"rule: a rule must stand in mercer\.kernels\._form, as Square does"):
        term.rule(Square)(lambda p, a, b: a)
    assert Square not in term.rules


def test_of_old_versions_of_an_entry_the_newest_are_kept(package, warm, tmp_path):
    shutil.copytree(warm, tmp_path / "cache")
    every = files(tmp_path / "cache")
    entry = next(file for file in every if file.name.startswith("sweep"))
    for file in every:
        file.unlink()
    for k in range(6):
        old = entry.with_name(f"{entry.stem.rpartition('-')[0]}-{k}.bin")
        old.write_bytes(b"")
        os.utime(old, (k, k))
    run(PRODUCT, package=package, cache=tmp_path / "cache")
    left = {file.name.rpartition("-")[2] for file in files(tmp_path / "cache") if file.name.startswith("sweep")}
    assert left >= {"3.bin", "4.bin", "5.bin"}
    assert len(left) == _code_cache.KEPT_VERSIONS


# ---------------------------------------------------------------- damage, crowds, places


@pytest.mark.parametrize("damage", [b"garbage", None], ids=["garbage", "truncated"])
def test_a_damaged_entry_is_compiled_anew(damage, package, warm, tmp_path):
    shutil.copytree(warm, tmp_path / "cache")
    for file in files(tmp_path / "cache"):
        file.write_bytes(file.read_bytes()[:-200] if damage is None else damage)
    lines = run(PRODUCT, package=package, cache=tmp_path / "cache")
    np.testing.assert_allclose(values(lines), GAUSSIAN, rtol=1e-5)
    assert facts(lines)[:2] == (1, 0)
    assert facts(run(PRODUCT, package=package, cache=tmp_path / "cache"))[:2] == (1, 1)  # written again, whole


def test_several_processes_may_start_at_once(package, tmp_path):
    together = [run(PRODUCT, package=package, cache=tmp_path, wait=False) for _ in range(2)]
    for process in together:
        np.testing.assert_allclose(values(finished(process)), GAUSSIAN, rtol=1e-5)
    assert not [p for p in files(tmp_path) if p.suffix == ".tmp"]
    assert facts(run(PRODUCT, package=package, cache=tmp_path))[:2] == (1, 1)


def test_nothing_is_written_beside_the_sources(package, warm):
    assert warm not in package.parents
    assert all(p.suffix in (".py", ".typed", "") for p in package.rglob("*") if p.is_file())


def test_a_read_only_install(package, warm, tmp_path):
    shutil.copytree(package, tmp_path / "mercer")
    folders = [p for p in [tmp_path / "mercer", *(tmp_path / "mercer").rglob("*")] if p.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    try:
        lines = run(PRODUCT, package=tmp_path / "mercer", cache=warm)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    np.testing.assert_allclose(values(lines), GAUSSIAN, rtol=1e-5)
    assert facts(lines)[:2] == (1, 1)  # the same sources, so the same entries, wherever they are installed


def test_a_cache_that_cannot_be_written_falls_back_to_a_private_one(package, tmp_path):
    blocked, private = tmp_path / "blocked", tmp_path / "private"
    blocked.write_text("a file where a folder should be")
    private.mkdir()
    lines = run(
        PRODUCT, package=package, cache=blocked / "cache", TMPDIR=str(private), TEMP=str(private), TMP=str(private)
    )
    np.testing.assert_allclose(values(lines), GAUSSIAN, rtol=1e-5)
    assert Path(facts(lines)[2]).parent.parent == private
    assert files(private)


def test_no_cache_at_all_is_only_slow(package, tmp_path):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    nowhere = "import tempfile; tempfile.tempdir = {!r}\n".format(str(blocked / "tmp"))
    lines = run(nowhere + textwrap.dedent(PRODUCT), package=package, cache=blocked / "cache")
    np.testing.assert_allclose(values(lines), GAUSSIAN, rtol=1e-5)
    assert facts(lines) == (1, 0, "None")


def test_the_folder_of_another_user_is_not_trusted(tmp_path, monkeypatch):
    """Entries are unpickled, so a folder that someone else made in advance could run their code."""
    monkeypatch.setenv("MERCER_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(_code_cache, "_private_temporary", lambda: tmp_path / "private")
    assert _code_cache.cache_folder.__wrapped__().parent == tmp_path / "cache"
    theirs = {tmp_path / "cache" / _code_cache.folder_name()}
    monkeypatch.setattr(_code_cache, "_is_mine", lambda folder: folder not in theirs)
    assert _code_cache.cache_folder.__wrapped__().parent == tmp_path / "private"
    theirs.add(tmp_path / "private")  # its owner could swap what stands in it
    assert _code_cache.cache_folder.__wrapped__() is None


def test_only_the_newest_folders_are_kept(tmp_path):
    for k in range(_code_cache.KEPT_FOLDERS + 4):
        folder = tmp_path / f"code-{k}"
        folder.mkdir()
        (folder / "entry.bin").write_text("")
        os.utime(folder, (k, k))
    _code_cache._forget_old(tmp_path, tmp_path / "code-0")
    assert {p.name for p in tmp_path.iterdir()} == {"code-0", *(f"code-{k}" for k in range(4, 12))}


@pytest.mark.parametrize("system, folder", [("linux", ".cache/mercer"), ("darwin", "Library/Caches/mercer")])
def test_the_cache_stands_where_the_system_keeps_caches(system, folder, monkeypatch, tmp_path):
    for name in ("MERCER_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_code_cache.sys, "platform", system)
    monkeypatch.setattr(_code_cache.Path, "home", lambda: tmp_path)
    assert _code_cache.user_cache_folder() == tmp_path / folder
    monkeypatch.setenv("MERCER_CACHE_DIR", str(tmp_path / "chosen"))
    assert _code_cache.user_cache_folder() == tmp_path / "chosen"


def test_a_home_that_is_unknown_is_no_error(monkeypatch):
    def unknown():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("MERCER_CACHE_DIR", raising=False)
    monkeypatch.setattr(_code_cache.sys, "platform", "linux")
    monkeypatch.setattr(_code_cache.Path, "home", unknown)
    assert _code_cache.user_cache_folder() == _code_cache._private_temporary()


# ---------------------------------------------------------------- rules and kernels from outside the package

OUTSIDE = """
    from dataclasses import dataclass
    from typing import NamedTuple
    from mercer.kernels import Kernel
    from mercer.kernels._derivation import Formula
    from mercer.kernels._form import Fused, profile
    from mercer.kernels._statistics import Squares

    class Inverse(NamedTuple):
        c: object

    @profile.rule(Inverse)
    def _(p, s, t):
        return p.c / (p.c + t)

    @dataclass(frozen=True, eq=False, repr=False)
    class Peak(Kernel):
        c: float = 1.0

        def form(self):
            return Fused(Inverse(self.c), (Squares(),))

        def formula(self):
            return Formula("c / (c + |x - z|^2)", "c")

        def _prove(self, proof):
            return proof.axiom(self.formula(), "a mixture of Gaussians")
"""

USED = """
    import sys
    sys.path.insert(0, {folder!r})
    import numpy as np
    from peak import Peak
    from mercer import gram
    from mercer.gram import _make
    from mercer.kernels import Gaussian
    _make.SMALL = 0
    X = np.array([[0.0], [1.0], [3.0]])
    print(*(gram(Peak(2.0), X, X[:1].copy()) @ np.ones(1)))
    print(*(gram(0.5 * Peak(2.0) + 0.5 * Gaussian(1.0), X, X[:1].copy()) @ np.ones(1)))
    from mercer.gram._passes import sweep
    print(sum(sweep.stats.cache_hits.values()))
"""


def test_rules_from_outside_fuse_and_stay_out_of_the_cache(package, warm, tmp_path):
    before = files(warm)
    module = tmp_path / "peak.py"
    module.write_text(textwrap.dedent(OUTSIDE))
    peak = 2 / (2 + np.array([0.0, 1.0, 9.0]))
    code = textwrap.dedent(USED.format(folder=str(tmp_path)))
    first = run(code, package=package, cache=warm)
    np.testing.assert_allclose(np.array(first[0].split(), float), peak, rtol=1e-5)
    np.testing.assert_allclose(np.array(first[1].split(), float), 0.5 * peak + 0.5 * GAUSSIAN, rtol=1e-5)
    module.write_text(textwrap.dedent(OUTSIDE).replace("return p.c / (p.c + t)", "return p.c / (p.c + t + t)"))
    second = run(code, package=package, cache=warm)
    np.testing.assert_allclose(np.array(second[0].split(), float), 2 / (2 + 2 * np.array([0.0, 1.0, 9.0])), rtol=1e-5)
    assert second[2] == "0"
    assert files(warm) == before
