"""Which tests execute a line? The suite runs once under coverage to record it; a mutant is tried on these tests.

This module is also the pytest plugin for both runs (`-p covering`):

    COVERING_RECORD=FOLDER   records the lines that each test executes, how long it takes, and whether it passes
    COVERING_CHOOSE=FILE     runs only the tests that the file lists, in the order of the list
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import coverage
import pytest
from scope import ROOT

OF_DECLARATIONS = (  # tests of fields, defaults and the like: they execute no line of what they look at
    "tests/test_structs.py::test_structs_are_frozen",
    "tests/algorithms/test_conformance.py::test_what_it_declares",
    "tests/questions/test_kept_words.py::test_what_questions_keep_has_its_fields_and_defaults",
)
SECONDS = 40  # the longest that the tests of one mutant take together
_RECORD, _CHOOSE = (os.environ.get(f"COVERING_{name}") for name in ("RECORD", "CHOOSE"))


class Recorder:
    """Records under each test's name which lines of the checkout it executes."""

    def __init__(self, folder: str) -> None:
        self.folder, self.passed = Path(folder), dict[str, float]()
        sources = [str(ROOT / name) for name in ("auditor", "algorithms")]
        file = str(self.folder / "lines")
        self.coverage = coverage.Coverage(
            data_file=file, data_suffix=str(os.getpid()), source=sources, config_file=False
        )
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        self.coverage.switch_context(_name(item))
        try:
            return (yield)
        finally:
            self.coverage.switch_context("")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Iterator[None]:
        report: Any = yield
        if report.when == "call" and report.passed:
            self.passed[_name(item)] = report.duration
        return report

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        (self.folder / f"passed-{os.getpid()}.json").write_text(json.dumps(self.passed))


class Chooser:
    """Keeps the tests that a file lists, in its order."""

    def __init__(self, file: str) -> None:
        self.order = {name: place for place, name in enumerate(json.loads(Path(file).read_text()))}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted((item for item in items if _name(item) in self.order), key=lambda i: self.order[_name(i)])


def _name(item: Any) -> str:
    """Return a test's name without the group that xdist appends to it."""
    is_grouped = item.get_closest_marker("xdist_group") is not None and "@" in item.nodeid.rpartition("::")[2]
    return str(item.nodeid.rpartition("@")[0] if is_grouped else item.nodeid)


def pytest_configure(config: pytest.Config) -> None:
    for plugin, given in ((Recorder, _RECORD), (Chooser, _CHOOSE)):
        if given:
            config.pluginmanager.register(plugin(given))


class Covering:
    """What a recorded run of the suite, in the checkout `root`, says: which tests execute a line, and for how long."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.root = root
        self.seconds: dict[str, float] = {}
        for file in folder.glob("passed-*.json"):
            self.seconds |= json.loads(file.read_text())
        self.data = coverage.CoverageData(str(folder / "lines"))
        for part in folder.glob("lines.*"):
            other = coverage.CoverageData(str(part))
            other.read()
            self.data.update(other)

    @cache  # noqa: B019 - there is one of these a process
    def _tests_by_line(self, module: str) -> dict[int, list[str]]:
        return self.data.contexts_by_lineno(str(self.root / module))

    def tests(self, module: str, line: int) -> list[str]:
        """Return the passing tests that execute the statement at a line, those named after its module first.

        A statement that is executed on import, such as a constant, counts as executed by every test of its module.
        The tests of declarations come first for these, and for a function's header.
        The list ends where the tests together take longer than SECONDS; the quickest come first.
        """
        lines, on_import = lines_to_execute((self.root / module).read_text(), line)
        by_line = self._tests_by_line(module)
        found = {test for number in lines or by_line for test in by_line.get(number, ()) if test in self.seconds}
        if not found:  # executed while the module is imported, or in another process: its other tests may notice
            found = {test for tests in by_line.values() for test in tests if test in self.seconds}
        if on_import:
            found |= {test for test in self.seconds if test.startswith(OF_DECLARATIONS)}
        names = {part for part in Path(module).with_suffix("").parts if part not in ("auditor", "__init__")}
        close = {test: -sum(name in test.partition("::")[0] for name in names) for test in found}
        chosen, total = [], 0.0
        for test in sorted(found, key=lambda one: (not one.startswith(OF_DECLARATIONS), close[one], self.seconds[one])):
            total += self.seconds[test]
            if total > SECONDS:
                break
            chosen.append(test)
        return chosen


def lines_to_execute(text: str, line: int) -> tuple[set[int], bool]:
    """Return the lines of the statement at this line, and whether it is executed on import; then they may be none.

    A function's header, which is executed on import too, counts as the whole function: its defaults matter when it is
    called, and a decorator's lambda when that is.
    """
    inside = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case))
        for first in [min([node.lineno if hasattr(node, "lineno") else node.pattern.lineno, *_decorators(node)])]
        for last in [getattr(node, "end_lineno", None) or node.body[-1].end_lineno]  # type: ignore[union-attr]
        if first <= line <= last
    ]
    functions = [node for node in inside if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if not functions:
        return set(), True
    node: Any = inside[-1]  # ast.walk goes from the outside in
    if node is functions[-1]:
        return set(range(min([node.lineno, *_decorators(node)]), node.end_lineno + 1)), True
    end = node.body[0].lineno - 1 if getattr(node, "body", None) and isinstance(node.body, list) else node.end_lineno
    start = node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno
    return set(range(start, max(start, end) + 1)), False


def _decorators(node: Any) -> list[int]:
    return [one.lineno for one in getattr(node, "decorator_list", ())]
