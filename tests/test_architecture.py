"""The rules of the house: which way imports go, what importing costs, how names are chosen."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import auditor
from auditor import repair

ROOT = Path(__file__).parent.parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for package in ("auditor", "algorithms")
    for path in sorted((ROOT / package).rglob("*.py"))
}
# A room may import itself and those before it; single modules stand where they are listed.
ROOMS = "__init__ escape errors values files case randomness request literals lookup host statistics"
ROOMS += " sources subjects repair trials engine flow questions report cli __main__ integrations"
# What a stranger may import: auditor's own names, and the package repair with those that it lists.
PUBLIC = {f"auditor.{name}" for name in (*auditor.__all__, "repair", *(f"repair.{n}" for n in repair.__all__))}


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def statements(block: Any) -> Iterator[Any]:
    """All below a statement, but for those that only a type checker reads; no expression has one inside it."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for one in getattr(block, field, ()):
            yield one
            if not (isinstance(one, ast.If) and isinstance(one.test, ast.Name) and one.test.id == "TYPE_CHECKING"):
                yield from statements(one)


@functools.cache
def imports(path: Path) -> frozenset[str]:
    """Modules imported anywhere in a file."""
    found: set[str] = set()
    for node in statements(tree_of(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def room(name: str) -> str:
    return name.split(".")[1] if name != "auditor" else "__init__"


def test_imports_go_one_way_from_room_to_room() -> None:
    ours = {name.removesuffix(".__init__"): path for name, path in MODULES.items() if name.startswith("auditor.")}
    order = ROOMS.split()
    assert {room(name) for name in ours} == set(order)
    for name, path in ours.items():
        for other in imports(path) & set(ours) - {"auditor"}:
            assert order.index(room(other)) <= order.index(room(name)), f"{name} imports {other}, a room further down"


def test_rooms_are_few_and_small() -> None:
    folders = {path.parent for path in MODULES.values() if "auditor" in path.parts}
    assert len([folder for folder in folders if folder.parent.name == "auditor"]) <= 13
    for folder in folders:
        assert len([*folder.glob("*.py")]) <= 16, folder


def test_the_first_lines_of_a_room_name_its_files() -> None:
    for folder in ("cli", "engine", "flow", "host", "report", "sources", "statistics", "subjects", "trials"):
        words = ast.get_docstring(tree_of(ROOT / "auditor" / folder / "__init__.py")) or ""
        named, room_files = set(re.findall(r"\w+\.py", words)), (ROOT / "auditor" / folder)
        assert {path.name for path in room_files.glob("*.py")} - {"__init__.py"} <= named, folder
        assert named <= {path.name for path in room_files.rglob("*.py")}, folder


def test_the_auditor_never_imports_the_algorithms_and_they_use_public_names_only() -> None:
    for name, path in MODULES.items():
        if name.startswith("auditor"):
            assert not any(other.partition(".")[0] == "algorithms" for other in imports(path)), name
        else:
            used = {other for other in imports(path) if other.partition(".")[0] == "auditor"} - {"auditor"}
            assert used <= PUBLIC, name


def test_statistics_are_pure() -> None:
    forbidden = {"random", "numpy.random", "os", "sys", "io", "pathlib", "time", "auditor.randomness"}
    for name, path in MODULES.items():
        if name.startswith("auditor.statistics."):
            assert not imports(path) & forbidden, name


def test_no_module_carries_the_name_of_a_public_function_and_there_is_no_drawer() -> None:
    stems = {path.stem for path in MODULES.values()}
    assert not {path.stem for path in (ROOT / "auditor").iterdir()} & set(auditor.__all__)
    assert not {path.stem for path in (ROOT / "auditor" / "repair").iterdir()} & set(repair.__all__)
    assert not stems & {"utils", "helpers", "common", "misc"}


def test_no_two_public_classes_share_a_name() -> None:
    homes: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        for node in tree_of(path).body if name.startswith("auditor.") else ():
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, set()).add(name)
    assert not {name: found for name, found in homes.items() if len(found) > 1}


def test_importing_costs_neither_numpy_nor_scipy() -> None:
    """Neither the package, nor its command line, nor to look what names it has: what one loads is there at the end."""
    code = "import sys, auditor, auditor.cli.command_line; dir(auditor); auditor.repair; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "auditor.cli.command_line" in loaded
    assert not {"numpy", "scipy", "pebble", "dask"} & {*loaded}


def test_public_names_are_all_there() -> None:
    for package in (auditor, repair):
        for name in package.__all__:
            assert getattr(package, name) is not None
        assert set(package.__all__) <= set(dir(package))
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            package.nothing  # noqa: B018
    assert auditor.repair is repair


def test_nothing_evaluates_or_unpickles() -> None:
    named = {name: path for name, path in MODULES.items() if re.search(r"\b(eval|exec|pickle)\b", path.read_text())}
    assert named, "where a word for it is, if only in a comment"
    for name, path in named.items():
        calls = [node.func for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]
        names = {ast.unparse(call) for call in calls}
        assert not names & {"eval", "exec", "pickle.load", "pickle.loads"}, name
