"""The rules of the house (docs/design.md, section 4), each a test of its own, and the checkers tried on offenders."""

import importlib
import pkgutil
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import house

SOURCES = house.sources()


def assert_none(offences, remedy):
    assert not offences, "\n  " + "\n  ".join(offences) + f"\n{remedy}"


def present_rooms():
    """Every public room there is: packages and single files alike."""
    return sorted({house.room(module) for module in SOURCES} - {"__init__"} - set(house.FOUNDATION[:-1]))


def public(room):
    """The public names of a room and what they are."""
    module = importlib.import_module(f"mercer.{room}")
    return {f"{room}.{name}": getattr(module, name) for name in module.__all__}


def python_files():
    return [
        p for folder in ("src", "tests", "benchmarks", "examples") for p in sorted((house.ROOT / folder).rglob("*.py"))
    ]


def text_files():
    """Every text file that is or would be committed."""
    git = shutil.which("git")
    listed = None
    if git and (house.ROOT / ".git").exists():
        command = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=house.ROOT, capture_output=True, check=False, text=True)
    if listed is not None and listed.returncode == 0:
        paths = [house.ROOT / name for name in listed.stdout.split("\0") if name]
    else:  # an unpacked release
        paths = [*python_files(), *house.ROOT.glob("*.*"), *house.ROOT.glob("docs/**/*.rst")]
    for path in paths:
        if path.is_file():
            try:
                yield path.relative_to(house.ROOT), path.read_text(encoding="utf-8")
            except UnicodeDecodeError:  # an image
                continue


# --------------------------------------------------------------------------------------------------------------- rooms


def test_every_module_stands_in_a_room():
    assert_none(
        house.unknown_rooms(SOURCES),
        "Move it into a room, or give the room its place in docs/design.md and tests/house.py.",
    )


def test_rooms_import_one_way():
    assert_none(
        house.upward_imports(SOURCES), "A room imports only from rooms before it. Move the code, or pass the thing in."
    )


def test_no_import_cycles():
    assert_none(house.import_cycles(SOURCES), "Move what both need into a third module.")


def test_every_room_has_its_page():
    rooms = [room for room in present_rooms() if (house.SRC / room).is_dir()]
    missing = [f"docs/objects/{r}.rst" for r in rooms if not (house.ROOT / "docs" / "objects" / f"{r}.rst").exists()]
    assert_none(missing, "Walk from the theory to the code, with examples that run.")


# -------------------------------------------------------------------------------------------------------------- public


def test_every_room_says_what_is_public():
    silent = [room for room in present_rooms() if not hasattr(importlib.import_module(f"mercer.{room}"), "__all__")]
    assert_none([f"mercer.{room} has no __all__" for room in silent], "List its public names, sorted.")


def test_all_names_exist():
    front = importlib.import_module("mercer")
    missing = [f"mercer.{name}" for name in getattr(front, "__all__", ()) if not hasattr(front, name)]
    for room in present_rooms():
        module = importlib.import_module(f"mercer.{room}")
        missing += [f"mercer.{room}.{name}" for name in getattr(module, "__all__", ()) if not hasattr(module, name)]
    assert_none(missing, "__all__ names what is not there.")


@pytest.mark.parametrize("room", present_rooms())
def test_every_public_name_is_documented(room):
    offences = [line for name, thing in public(room).items() for line in house.undocumented(name, thing)]
    assert_none(offences, "The first paragraph says what it is in one sentence, with a full stop.")


@pytest.mark.parametrize("room", present_rooms())
def test_every_public_name_is_typed(room):
    offences = [line for name, thing in public(room).items() for line in house.not_typed(name, thing)]
    assert_none(offences, "Annotate every parameter and the return.")


@pytest.mark.parametrize("name", house.MOST_METHODS)
def test_central_classes_stay_small(name):
    room, cls = name.split(".")
    if room not in present_rooms():
        pytest.skip(f"mercer.{room} is not built yet")  # strict from the day the room exists
    modules = [f"mercer.{room}", *(m.name for m in pkgutil.walk_packages([str(house.SRC / room)], f"mercer.{room}."))]
    found = {getattr(importlib.import_module(module), cls, None) for module in modules} - {None}
    assert len(found) == 1, f"{cls} was to be one class of mercer.{room}; got {sorted(map(repr, found))}."
    methods = house.public_methods(found.pop())
    most = house.MOST_METHODS[name]
    assert len(methods) <= most, f"{name} has {len(methods)} public methods, at most {most}: {', '.join(methods)}"


# --------------------------------------------------------------------------------------------------------------- files


def test_no_file_is_too_long():
    offences = [
        line
        for path in python_files()
        for line in house.too_long(path.relative_to(house.ROOT).as_posix(), path.read_text(encoding="utf-8"))
    ]
    assert_none(offences, "Cut the file where it holds two things.")


def test_no_file_is_named_after_nothing():
    offences = [line for path in python_files() for line in house.nameless(path.relative_to(house.ROOT))]
    assert_none(offences, "A reader should guess what is inside.")


def test_no_mutable_global_state():
    offences = [line for module, text in SOURCES.items() for line in house.mutable_state(module, text)]
    assert_none(offences, "Pass it on in a frozen record, or keep it in an object.")


def test_no_path_or_host_of_one_machine():
    offences = [line for path, text in text_files() for line in house.machine_words(path.as_posix(), text)]
    assert_none(offences, "Use a path relative to the repository, or leave it to the machine.")


# ------------------------------------------------------------------------------------- the checkers catch an offender


def test_upward_import_is_caught_wherever_it_stands():
    for text in (
        "from mercer.gram import Gram",
        "import mercer.gram.tiles",
        "from mercer import gram",
        "from ..gram import Gram",
        "def f():\n    from mercer.gram import Gram",
        "if TYPE_CHECKING:\n    from mercer.gram import Gram",
        "from mercer import Gaussian",  # the front door is the last room
    ):
        texts = {"mercer": "", "mercer.gram": "", "mercer.gram.tiles": "", "mercer.kernels.gaussian": text}
        assert len(house.upward_imports(texts)) == 1, text


def test_downward_and_level_imports_pass():
    text = (
        "import numpy\nfrom mercer._checks import refuse\nfrom mercer.spaces import Euclidean\nfrom .base import Kernel"
    )
    texts = {"mercer._checks": "", "mercer.spaces": "", "mercer.kernels.base": "", "mercer.kernels.gaussian": text}
    assert house.upward_imports(texts) == []
    assert house.import_cycles(texts) == []
    assert house.unknown_rooms(texts) == []


def test_stray_module_is_caught():
    assert len(house.unknown_rooms({"mercer.attic": ""})) == 1


def test_cycle_is_caught_and_a_lazy_import_is_not_one():
    texts = {"mercer.kernels.a": "from mercer.kernels import b", "mercer.kernels.b": "import mercer.kernels.a"}
    assert house.import_cycles(texts) == ["mercer.kernels.a -> mercer.kernels.b -> mercer.kernels.a"]
    texts["mercer.kernels.b"] = "def f():\n    import mercer.kernels.a"
    assert house.import_cycles(texts) == []


class Crowded:
    """A class with offences"""

    def __init__(self, size):
        self.size = size

    def silent(self) -> int:
        return 1

    def untyped(self, x, *rest: int):
        """Say something."""

    @property
    def value(self) -> int:
        """A value."""
        return 1


def test_undocumented_is_caught():
    offences = house.undocumented("Crowded", Crowded)
    assert [line.split(" ")[0] for line in offences] == ["Crowded", "Crowded.silent"]
    assert house.sentence_offence("One sentence\nover two lines.\n\nMore") is None


def test_untyped_is_caught():
    assert house.not_typed("Crowded", Crowded) == [
        "Crowded.__init__ has no annotation for: size",
        "Crowded.untyped has no annotation for: x, return",
    ]
    assert house.not_typed("assert_none", assert_none) == [
        "assert_none has no annotation for: offences, remedy, return"
    ]


def test_methods_are_counted_without_properties():
    assert house.public_methods(Crowded) == ["silent", "untyped"]


def test_long_and_nameless_files_are_caught():
    assert house.too_long("a.py", "\n" * 601)
    assert not house.too_long("a.py", "\n" * 600)
    assert house.nameless(Path("src/mercer/gram/utils.py"))
    assert not house.nameless(Path("src/mercer/gram/tiles.py"))


def test_mutable_state_is_caught():
    for text in ("def f():\n    global x", "cache = {}", "seen: set[int] = set()", "table = [i for i in range(3)]"):
        assert len(house.mutable_state("m", text)) == 1, text
    assert house.mutable_state("m", "__all__ = ['a']\nRULES = {}\npair = (1, 2)") == []


def test_machine_words_are_caught():
    for words in (
        ("/", "home/someone/x"),
        ("https", "://example.net/x"),
        ("--index", "-url x"),
        (str(house.ROOT), "/x"),
    ):
        assert house.machine_words("a", "".join(words)), words
    assert house.machine_words("a", "see src/mercer/gram, ../shared/data, and https" + "://doi.org/10.1/x") == []
