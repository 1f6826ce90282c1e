"""`python -m algorithms > docs/paper.md`: the map of the paper as a page.

`python -m algorithms subjects > algorithms/subjects.json` writes the table by which `auditor` finds and lists subjects.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator

import algorithms
from algorithms import PAPER, Statement

HEAD = """# The paper's statements, and where each is

"Reproducibility in Learning", Impagliazzo, Lei, Pitassi, Sorrell, 2022. This page is made by
`python -m algorithms > docs/paper.md` from `algorithms.PAPER`, and a test holds it to that.

| statement | what it says | where | constants | tested by |
|---|---|---|---|---|
"""


def row(statement: Statement) -> str:
    where = ", ".join(f"`{place}`" for place in statement.where) or "-"
    tests = ", ".join(f"`{test}`" for test in statement.tests) or "-"
    cells = (statement.name, statement.says, where, statement.constants, tests)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def page() -> str:
    return HEAD + "".join(map(row, PAPER))


def table() -> str:
    """Return the names of all listed subjects, with their targets and what `auditor list` shows of them, as JSON."""
    from auditor.cli.commands.list_subjects import summary_of

    targets = {fn: f"{module}:{fn}" for module, fn in _declared()}
    rows = (
        f" {json.dumps(name)}: {json.dumps({'target': at, **summary_of(at)})}" for name, at in sorted(targets.items())
    )
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _declared() -> Iterator[tuple[str, str]]:
    for info in pkgutil.walk_packages(algorithms.__path__, "algorithms."):
        if info.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(info.name)).items():
            if hasattr(value, "__auditor__") and value.__module__ == info.name and value.__auditor__.listed:
                yield info.name, name


if __name__ == "__main__":
    print(table() if sys.argv[1:] == ["subjects"] else page(), end="")
