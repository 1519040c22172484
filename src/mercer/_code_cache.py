"""Compiled code on disk, which a changed source never meets again.

Numba's own cache watches only the file a function stands in, so a changed rule in another file would silently keep
the old code. Here an entry is named by its pass, its signature, and a hash of every source file that can shape it:
those of the pass and of the parameter records in the signature, and all they import from the package (a rule stands
in the file of its record, see `mercer._rules.scalar`). So an edit elsewhere compiles nothing anew. Entries are written
whole and moved into place, so that several processes may share the folder, which is named by the versions that shape
machine code. What involves code from outside the package compiles in memory only: no hash of ours covers it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import types
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

PACKAGE = Path(__file__).parent
ALWAYS = ("mercer._jit", "mercer._rules", "mercer._code_cache")
KEPT_FOLDERS, KEPT_VERSIONS = 8, 4


# ---------------------------------------------------------------- which sources shape an entry

_FROM = re.compile(r"^[ \t]*from[ \t]+(mercer(?:\.\w+)*)[ \t]+import[ \t]+(\([^)]*\)|.*)", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+(.*\bmercer\b.*)", re.MULTILINE)


def source_file(module: str, root: Path = PACKAGE) -> Path | None:
    """Return the file of a module of the package, if there is such a module."""
    base = root.joinpath(*module.split(".")[1:])
    candidates = (base.with_suffix(".py") if base != root else base / "__init__.py", base / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)


def imported_modules(text: str, root: Path = PACKAGE) -> Iterator[str]:
    """Yield the modules of the package that a source text imports, wherever the import stands.

    ``from mercer.kernels import _form`` means the module where there is one, else the package it is a name of.
    Modules are found in the text, as parsing costs more than the rest of the start.
    """
    for package, names in _FROM.findall(text):
        for name in re.findall(r"(\w+)(?:[ \t]+as[ \t]+\w+)?", re.sub(r"#.*", "", names)):
            module = f"{package}.{name}"
            yield module if source_file(module, root) else package
    for names in _IMPORT.findall(text):
        yield from re.findall(r"\bmercer[\w.]*", re.sub(r"#.*", "", names))


@functools.cache
def _read(module: str, root: Path) -> tuple[bytes, frozenset[str]]:
    path = source_file(module, root)
    text = path.read_bytes() if path else b""
    return text, frozenset(imported_modules(text.decode(), root))


def shaping_modules(modules: Iterable[str], root: Path = PACKAGE) -> set[str]:
    """Return modules and all that they import from the package, directly or not."""
    found: set[str] = set()
    waiting = {*modules, *ALWAYS}
    while waiting:
        found |= waiting
        waiting = set().union(*(_read(module, root)[1] for module in waiting)) - found
    return found


@functools.cache
def source_hash(modules: frozenset[str], root: Path = PACKAGE) -> str:
    """Return a hash of all sources that can shape code made of these modules."""
    h = hashlib.sha256()
    for module in sorted(shaping_modules(modules, root)):
        text, _ = _read(module, root)
        h.update(f"{module} {len(text)}\0".encode() + text)
    return h.hexdigest()[:20]


# ---------------------------------------------------------------- where entries stand


def user_cache_folder() -> Path:
    """Return where this user's caches live on this system (``MERCER_CACHE_DIR`` overrides it)."""
    if chosen := os.environ.get("MERCER_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or tempfile.gettempdir()) / "mercer" / "cache"
    with contextlib.suppress(RuntimeError):  # no home at all
        home = Path.home()
        if sys.platform == "darwin":
            return home / "Library" / "Caches" / "mercer"
        return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "mercer"
    return _private_temporary()


def _private_temporary() -> Path:
    return Path(tempfile.gettempdir()) / f"mercer-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


def _is_mine(folder: Path) -> bool:
    """Whether this user owns the folder: entries are unpickled, so nobody else may have written them."""
    return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()


def folder_name() -> str:
    """Return the name of the folder for the versions that shape machine code."""
    versions = f"{sys.version_info[:2]} {numba.__version__} {llvmlite.__version__} {np.__version__}"
    return f"code-{hashlib.sha256(versions.encode()).hexdigest()[:20]}"


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder of entries, made if need be; None where nothing can be written."""
    for base in (user_cache_folder(), _private_temporary()):
        folder = base / folder_name()
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Whoever owns the folder above could put another in its place; a chosen one is the user's own affair.
            shared = base == _private_temporary() and not _is_mine(base)
            if os.access(folder, os.W_OK) and _is_mine(folder) and not shared:
                _forget_old(base, folder)
                return folder
    return None


def _oldest(paths: Iterable[Path], kept: int) -> list[Path]:
    """Return all but the newest few paths."""
    with contextlib.suppress(OSError):  # another process removed one meanwhile
        return sorted(paths, key=lambda path: path.stat().st_mtime)[:-kept]
    return []


def _forget_old(base: Path, current: Path) -> None:
    """Remove all but the newest few folders of other versions."""
    with contextlib.suppress(OSError):
        for old in _oldest((path for path in base.glob("code-*") if path != current), KEPT_FOLDERS):
            for file in old.iterdir():
                file.unlink(missing_ok=True)
            old.rmdir()


# ---------------------------------------------------------------- the entries


def _record_types(ty: types.Type) -> Iterator[type]:
    """Yield the Python classes of all parameter records inside a Numba type."""
    if isinstance(ty, types.BaseNamedTuple):
        yield ty.instance_class
    if isinstance(ty, types.BaseTuple):
        for inner in ty:
            yield from _record_types(inner)


def _modules_of(signature: Any) -> set[str]:
    """Return the modules of all parameter records in a signature."""
    return {cls.__module__ for argument in signature for cls in _record_types(argument)}


class Store(_Cache):
    """The entries of one compiled function, one file a signature."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._module, self._name = fn.__module__, fn.__qualname__

    @property
    def cache_path(self) -> str:
        """The folder of entries."""
        return str(cache_folder() or "")

    def enable(self) -> None:
        """Nothing to switch: a store is used or not by whether it was attached."""

    def disable(self) -> None:
        """As above."""

    def flush(self) -> None:
        """Entries are never stale (their names hold a hash of their sources), so there is nothing to flush."""

    def file(self, signature: Any, target: Any) -> Path | None:
        """Return where an entry stands; None for what the disk may not keep."""
        folder = cache_folder()
        modules = _modules_of(signature) | {self._module}
        if folder is None or any(module.split(".")[0] != "mercer" for module in modules):
            return None
        key = repr((self._module, self._name, signature, target.codegen().magic_tuple()))
        entry = hashlib.sha256(key.encode()).hexdigest()[:24]
        return folder / f"{self._name.rpartition('.')[2]}-{entry}-{source_hash(frozenset(modules))}.bin"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for a signature, or None if it is to be compiled."""
        path = self.file(sig, target_context)
        if path is None:
            return None
        try:
            target_context.refresh()
            return CompileResult._rebuild(target_context, *pickle.loads(path.read_bytes()))
        except Exception:  # a missing, torn or foreign file: compile anew and write it again
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code for a signature, and of its other versions the newest few."""
        path = self.file(sig, data.target_context)
        if path is None or data.lifted or data.library.has_dynamic_globals:
            return
        with contextlib.suppress(OSError):  # a full or read-only disk costs time, never an answer
            handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
            with os.fdopen(handle, "wb") as file:
                file.write(dumps(data._reduce()))
            os.replace(temporary, path)
            for old in _oldest(path.parent.glob(f"{path.name.rpartition('-')[0]}-*.bin"), KEPT_VERSIONS):
                old.unlink(missing_ok=True)
