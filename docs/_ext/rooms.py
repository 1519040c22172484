"""Write an API page for each room from its ``__all__``, so that a new export needs no edit here."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import mercer

# The order of the design; what is not named comes last.
ORDER = (
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
    "engine",
    "testing",
)


def rooms():
    """The public modules of the package that say what they export, in the order of the design."""
    found = {m.name for m in pkgutil.iter_modules(mercer.__path__) if not m.name.startswith("_")}
    for name in sorted(found, key=lambda n: (ORDER.index(n) if n in ORDER else len(ORDER), n)):
        module = importlib.import_module(f"mercer.{name}")
        if getattr(module, "__all__", None):
            yield f"mercer.{name}", module


def heading(text, mark):
    return [text, mark * len(text), ""]


def table(module, names):
    """An autosummary block; each name gets a page of its own."""
    start = [f".. currentmodule:: {module.__name__}", "", ".. autosummary::", "   :toctree: .", ""]
    return [*start, *(f"   {name}" for name in names), ""]


def kind(thing):
    """The heading a public name stands under."""
    if inspect.ismodule(thing):
        return "Modules"
    if inspect.isclass(thing):
        return "Classes"
    return "Functions" if inspect.isroutine(thing) or hasattr(thing, "py_func") else "Values"


def page(title, module):
    """The text of one room's page."""
    groups = {"Classes": [], "Functions": [], "Values": [], "Modules": []}
    for name in sorted(module.__all__):
        groups[kind(getattr(module, name))].append(name)
    lines = [*heading(title, "="), f".. automodule:: {title}", "   :no-members:", ""]
    for group in ("Classes", "Functions"):
        if groups[group]:
            lines += [*heading(group, "-"), *table(module, groups[group])]
    if groups["Values"]:
        lines += heading("Values", "-")
        lines += [line for name in groups["Values"] for line in (f".. autodata:: {title}.{name}", "")]
    for name in groups["Modules"]:
        inner = getattr(module, name)
        lines += [*heading(f"{title}.{name}", "-"), f".. automodule:: {inner.__name__}", "   :no-members:", ""]
        lines += table(inner, sorted(inner.__all__))
    return "\n".join(lines)


def documented(text):
    """The dotted names that the tables of a page list: each has a page that autosummary writes."""
    module = ""
    for line in text.splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif line.startswith("   ") and not line.startswith("   :"):
            yield f"{module}.{line.strip()}"


def save(path, text):
    """Write a file only when it says something new, so that Sphinx rereads nothing for nothing."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write(app, config):
    """Write the pages before Sphinx looks for documents, and drop the pages of names that are gone."""
    folder = Path(app.srcdir) / "api"
    pages = {title: page(title, module) for title, module in rooms()}
    lines = [*heading("API", "="), "What each room exports.", "", ".. toctree::", "   :maxdepth: 1", ""]
    pages["index"] = "\n".join([*lines, *(f"   {title}" for title in pages), ""])
    wanted = set(pages) | {name for text in pages.values() for name in documented(text)}
    for name, text in pages.items():
        save(folder / f"{name}.rst", text)
    for path in folder.glob("*.rst"):
        if path.stem not in wanted:
            path.unlink()


def setup(app):
    """Register with Sphinx."""
    app.connect("config-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
