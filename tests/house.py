"""The rules of the house as small checkers: each takes source text or objects and returns its offenders as text."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src" / "mercer"

# A room may import from its own rank and from ranks before it (design, section 4).
FOUNDATION = ("_version", "_checks", "_rules", "_code_cache", "_jit", "_registers", "engine")
ROOMS = (
    "spaces",
    "kernels",
    "losses",
    "gram",
    "functions",
    "solvers",
    "estimators",
    "display",
    "files",
    "cli",
    "testing",
    "__init__",
)
RANK = dict.fromkeys(FOUNDATION, 0) | {name: 1 + i for i, name in enumerate(ROOMS)}

MOST_LINES = 600
MOST_METHODS = {"gram.Gram": 6, "kernels.Kernel": 10}


# ------------------------------------------------------------------------------------------------------------- imports


def module_name(path: Path, src: Path = SRC) -> str:
    """The dotted name of a source file: mercer/kernels/__init__.py is mercer.kernels."""
    parts = ("mercer", *path.relative_to(src).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources(src: Path = SRC) -> dict[str, str]:
    """The text of every module of the package, by dotted name."""
    return {module_name(path, src): path.read_text(encoding="utf-8") for path in sorted(src.rglob("*.py"))}


def room(module: str) -> str:
    """The room a module belongs to; the front door is __init__."""
    return module.split(".")[1] if "." in module else "__init__"


def _inside_functions(tree: ast.Module) -> set[ast.AST]:
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {inner for function in functions for inner in ast.walk(function)}


def _for_types_only(tree: ast.Module) -> set[ast.AST]:
    guards = (n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test))
    return {inner for guard in guards for statement in guard.body for inner in ast.walk(statement)}


def imports(module: str, text: str, modules: set[str], *, at_import: bool = False) -> Iterator[tuple[str, int]]:
    """Yield (module of ours, line) for each import in text: all of them, or only those that run at import."""
    tree = ast.parse(text)
    skipped = _inside_functions(tree) | _for_types_only(tree) if at_import else set()
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, node, modules)
            # `from mercer.kernels import base` means the module when there is one, else a name of the package.
            names = [f"{base}.{alias.name}" for alias in node.names]
            targets = [name if name in modules else base for name in names]
        else:
            continue
        yield from ((target, node.lineno) for target in targets if target.split(".")[0] == "mercer")


def _absolute(module: str, node: ast.ImportFrom, modules: set[str]) -> str:
    if not node.level:
        return node.module or ""
    is_package = any(name.startswith(module + ".") for name in modules)
    parts = module.split(".")
    kept = parts[: len(parts) - node.level + is_package]
    return ".".join([*kept, *([node.module] if node.module else [])])


def unknown_rooms(texts: dict[str, str]) -> list[str]:
    """Modules that stand in no room of the design."""
    return [f"{module}: not a room of the design" for module in texts if room(module) not in RANK]


def upward_imports(texts: dict[str, str]) -> list[str]:
    """Imports of a later room, wherever they stand: at the top, inside a function, or for types only."""
    return [
        f"{module}:{line} imports {target}, a later room"
        for module, text in texts.items()
        for target, line in imports(module, text, set(texts))
        if RANK.get(room(target), -1) > RANK.get(room(module), len(RANK))
    ]


def import_cycles(texts: dict[str, str]) -> list[str]:
    """Cycles among imports that run at import.

    An import inside a function is not counted: a base class whose operators build its subclasses needs one, and
    between rooms `upward_imports` refuses it anyway.
    """
    graph = {
        module: {t for t, _ in imports(module, text, set(texts), at_import=True) if t != module and t in texts}
        for module, text in texts.items()
    }
    found: list[str] = []
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> None:
        if module in path:
            found.append(" -> ".join([*path[path.index(module) :], module]))
        elif module not in done:
            for target in sorted(graph[module]):
                visit(target, [*path, module])
            done.add(module)

    for module in graph:
        visit(module, [])
    return found


# ----------------------------------------------------------------------------------------------------------- the public


def sentence_offence(doc: str | None) -> str | None:
    """What is wrong with a docstring's first paragraph, if anything."""
    if not doc or not doc.strip():
        return "has no docstring"
    first = inspect.cleandoc(doc).split("\n\n")[0].strip()
    return None if first.endswith(".") else f"has a first sentence without a full stop: {first.splitlines()[0]!r}"


def plain(function: object) -> object:
    """The Python function behind a compiled or wrapped one."""
    return inspect.unwrap(getattr(function, "py_func", function))


def untyped(function: Callable, *, is_method: bool = False) -> list[str]:
    """The parameters of a function that lack an annotation, and 'return'."""
    signature = inspect.signature(plain(function))
    parameters = list(signature.parameters.values())[is_method:]
    missing = [p.name for p in parameters if p.annotation is inspect.Parameter.empty]
    returns = signature.return_annotation is not inspect.Signature.empty or function.__name__ == "__init__"
    return missing if returns else [*missing, "return"]


def own_members(cls: type) -> Iterator[tuple[str, object, bool]]:
    """Yield (name, function, has a first self or cls) for what a class and its bases of ours define in public."""
    seen: set[str] = set()
    for base in cls.__mro__:
        if not base.__module__.startswith(("mercer", "tests")):
            continue
        for name, member in vars(base).items():
            if (name.startswith("_") and name != "__init__") or name in seen:
                continue
            seen.add(name)
            if isinstance(member, property):
                yield name, member.fget, True
            elif isinstance(member, classmethod | staticmethod):
                yield name, member.__func__, isinstance(member, classmethod)
            elif inspect.isfunction(member):
                yield name, member, True


def public_methods(cls: type) -> list[str]:
    """The methods of ours a class answers to in public; properties are values, not methods."""
    properties = {name for base in cls.__mro__ for name, member in vars(base).items() if isinstance(member, property)}
    return sorted(name for name, _, _ in own_members(cls) if name not in properties | {"__init__"})


def undocumented(name: str, thing: object) -> list[str]:
    """Offences of a public function or class, and of the public methods of a class, against documentation."""
    if not (inspect.isclass(thing) or callable(thing)):
        return []
    offences = [(name, sentence_offence(thing.__doc__))]
    if inspect.isclass(thing):
        # inspect.getdoc lets an overriding method keep the docstring of its base.
        members = ((m, inspect.getdoc(getattr(thing, m))) for m, _, _ in own_members(thing) if m != "__init__")
        offences += [(f"{name}.{member}", sentence_offence(doc)) for member, doc in members]
    return [f"{who} {offence}" for who, offence in offences if offence]


def not_typed(name: str, thing: object) -> list[str]:
    """Offences of a public function or class against annotations."""
    if inspect.isclass(thing):
        members = [(f"{name}.{member}", function, bound) for member, function, bound in own_members(thing)]
    else:
        members = [(name, thing, False)] if inspect.isfunction(plain(thing)) else []
    checked = ((who, untyped(function, is_method=bound)) for who, function, bound in members)
    return [f"{who} has no annotation for: {', '.join(missing)}" for who, missing in checked if missing]


# --------------------------------------------------------------------------------------------------------------- files


def too_long(name: str, text: str) -> list[str]:
    """Whether a file has outgrown one room."""
    lines = text.count("\n")
    return [f"{name}: {lines} lines, at most {MOST_LINES}"] if lines > MOST_LINES else []


def nameless(path: Path) -> list[str]:
    """Files named after nothing in particular."""
    parts = {part.lower() for part in path.with_suffix("").parts}
    return [f"{path}: name it after what it does"] if parts & {"util", "utils", "misc", "helpers"} else []


_MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_MAKERS = {"list", "dict", "set", "defaultdict", "OrderedDict", "deque", "Counter"}


def mutable_state(name: str, text: str) -> list[str]:
    """`global` statements, and containers at module level that are not CONSTANTS."""
    tree = ast.parse(text)
    offences = [f"{name}:{n.lineno} says global" for n in ast.walk(tree) if isinstance(n, ast.Global)]
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        value = node.value
        made = isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] in _MAKERS
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        loose = [n for n in names if n != n.upper() and not n.startswith("__")]
        if loose and (made or isinstance(value, _MUTABLE)):
            offences.append(f"{name}:{node.lineno} keeps mutable state in {', '.join(loose)}")
    return offences


# A folder at the root of some machine; the lookbehind lets URLs, relative paths and globs through.
_FOLDERS = "|".join(("home", "root", "Users", "work", "opt", "mnt", "srv"))
_MACHINE_PATH = re.compile(rf"(?<![\w.*~/:)>-])/(?:{_FOLDERS})/[\w.]")
_URL = re.compile(r"\b(?:https?|ftp|file|git\+\w+)://([\w.-]+)")
_REGISTRY_OPTION = re.compile(r"--(?:extra-)?index-" + r"url|--find-" + r"links|--trusted-" + r"host")
HOSTS = {"doi.org", "www.w3.org", "scikit-learn.org", "numpy.org", "scipy.org", "numba.pydata.org"}


def machine_words(name: str, text: str) -> list[str]:
    """Paths of one machine, hosts nobody agreed to, and package registries."""
    offences = []
    for number, line in enumerate(text.splitlines(), 1):
        if _MACHINE_PATH.search(line) or f"{ROOT}/" in line:
            offences.append(f"{name}:{number} holds a path of one machine")
        strangers = set(_URL.findall(line)) - HOSTS
        if strangers:
            offences.append(f"{name}:{number} names the host {', '.join(sorted(strangers))} (allowed: house.HOSTS)")
        if _REGISTRY_OPTION.search(line):
            offences.append(f"{name}:{number} chooses a package registry, which is the machine's business")
    return offences
