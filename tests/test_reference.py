"""The reference that the site generates has every command, option, key and field; none of it needs Sphinx."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import rich_click as click

from auditor.cli.command_line import cli
from auditor.cli.config import OWN, common_keys
from auditor.engine.workers import EndedByWatcher, Hung
from auditor.errors import EXIT_CODES
from auditor.flow.question import check_table
from auditor.flow.record import Record
from auditor.lookup import find_object
from auditor.trials.trial import RunFailed

DOCS = Path(__file__).parents[1] / "docs"


def made(name: str) -> Any:
    return find_object(f"{DOCS / 'make_reference.py'}:{name}")


@pytest.mark.parametrize("name", cli.list_commands(click.Context(cli)))
def test_the_page_of_a_command_has_all_its_options(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    page = made("command_page")(name, command)
    assert page.startswith(f"# {name}\n")
    for param in command.get_params(made("context_of")(command)):
        for flag in param.opts if isinstance(param, click.Option) and not param.hidden else ():
            assert re.search(rf"`[^`]*{flag}\b", page), flag
    assert f"commands/{name}.md" in made("list_of_commands")()


PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("reference/*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_are_ones_that_the_command_line_takes(page: Path) -> None:
    """Wherever they stand: in blocks, in tables and between backquotes."""
    for name, options in re.findall(r"python -m auditor ([a-z]+)([^`|\n]*)", page.read_text()):
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, name
        known = {flag for param in command.get_params(made("context_of")(command)) for flag in param.opts}
        assert {*re.findall(r"(?<= )--[a-z-]+", options.partition("#")[0])} <= known, options


def test_the_tables_of_keys_are_those_of_the_options() -> None:
    common, entry = made("keys")().split("subject")[0], made("keys")().split("subject", 1)[1]
    options = [one.key for one in check_table().values() if one.group and one.name != "confidence"]
    for page, known in (
        (common, [one.key for one in common_keys().values()]),
        (entry, [*OWN, *options]),
    ):
        assert sorted(re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE)) == sorted(known)


def test_the_page_of_the_record_has_every_field_and_its_comment() -> None:
    page = made("record")()
    for field in Record.__struct_fields__:
        assert f"| `{field}` |" in page, field
    assert "| `unit` | text | what the budget counts |" in page
    assert "| `case` | [Case](#case) or null | What was audited, of several cells the first; None where" in page


def test_every_exit_code_is_explained() -> None:
    page = (DOCS / "reference" / "exit-codes.md").read_text()
    assert re.findall(r"^\| (\d+) \| (\w+)", page, flags=re.MULTILINE) == [
        (str(code), name) for name, code in EXIT_CODES.items()
    ]


def test_docstrings_become_what_sphinx_reads() -> None:
    lines = ["Return |a_b| of `x|y`, 2*2.", "", "    code |as| it is", "", "  More."]
    assert made("as_rst")(lines) == [
        "Return \\|a\\_b\\| of ``x|y``, 2\\*2.",
        "",
        "::",
        "",
        "    code |as| it is",
        "",
        "  More.",
    ]


AUDITOR = DOCS.parent / "auditor"
MADE_OF_WARNINGS = AUDITOR / "flow" / "fitness.py"  # findings made of the (kind, message) that a preflight yields


def written_kinds(file: Path) -> set[str]:
    """Return the kinds that the calls of Finding in a file have; a kind that is computed there is refused.

    The kind of an error, `error.kind`, is left out: `kinds_of_errors` has all of those.
    """
    calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    findings = [call for call in calls if ast.unparse(call.func).rpartition(".")[2] == "Finding"]
    kinds = [call.args[0] if call.args else call.keywords[0].value for call in findings]
    found = set()
    for kind in kinds:
        for one in (kind.body, kind.orelse) if isinstance(kind, ast.IfExp) else (kind,):
            if isinstance(one, ast.Constant):
                found.add(one.value)
            elif not (isinstance(one, ast.Attribute) and one.attr == "kind"):
                assert file == MADE_OF_WARNINGS, f"{file}: write the kind of {ast.unparse(kind)} as a text"
    return found


def yielded_kinds(file: Path) -> set[str]:
    yielded = [node.value for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Yield)]
    pairs = [value.elts[0] for value in yielded if isinstance(value, ast.Tuple) and len(value.elts) == 2]
    return {kind.value for kind in pairs if isinstance(kind, ast.Constant)}


def kinds_of_errors(error: type[RunFailed]) -> set[str]:
    return {error.kind}.union(*map(kinds_of_errors, error.__subclasses__()))


def test_every_kind_of_finding_is_explained() -> None:
    """Kinds are written where findings are made: in a call, as an error's `kind`, or before a preflight's message."""
    assert Hung in EndedByWatcher.__subclasses__()  # so that all modules with such errors are loaded
    kinds = set().union(*map(written_kinds, AUDITOR.rglob("*.py")))
    kinds |= yielded_kinds(AUDITOR / "trials" / "preflight.py") | kinds_of_errors(RunFailed)
    page = (DOCS / "reference" / "findings.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)` \| \S.*? \| \S.*? \|$", page, flags=re.MULTILINE)
    assert rows == sorted(kinds)


def test_the_example_of_a_question_is_the_one_that_is_run() -> None:
    assert "class Luck(Question):" in made("own_question")()
