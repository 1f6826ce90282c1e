"""The map of the paper: complete, true of the code and of the tests, and printed as it is."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from pkgutil import resolve_name

import pytest

from algorithms import PAPER, Statement
from algorithms.__main__ import page, row
from algorithms.everyday import LATER
from auditor.questions.several import with_theorem

ROOT = Path(__file__).parent.parent
KINDS = "Definition|Algorithm|Theorem|Lemma|Corollary|Claim|Remark|Observation"
# how many numbered statements a section has, in the numbers that the paper's source gives them; and how many listings
SECTIONS = {"1": 6, "2": 3, "3": 5, "4": 7, "5": 14, "6": 6, "7": 2, "A": 8, "B": 3}
ALGORITHMS = 9
HEADS = {
    f"algorithms.{path.stem}": (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]
    for path in sorted((ROOT / "algorithms").glob("*.py"))
}


def test_every_numbered_statement_is_there_exactly_once() -> None:
    numbers = Counter(statement.name.split()[1] for statement in PAPER)
    wanted = [f"{section}.{i}" for section, count in SECTIONS.items() for i in range(1, count + 1)]
    assert numbers == Counter([*wanted, *map(str, range(1, ALGORITHMS + 1))])
    for statement in PAPER:
        assert re.fullmatch(rf"({KINDS}) ([1-7AB]\.)?\d+", statement.name)
        assert ("." in statement.name) == (not statement.name.startswith("Algorithm"))
        assert statement.says
        assert statement.constants


@functools.cache
def functions_of(path: str) -> set[str]:
    return {node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("statement", [*PAPER, *LATER], ids=lambda statement: statement.name)
def test_what_is_named_exists(statement: Statement) -> None:
    for place in statement.where:
        assert resolve_name(place) is not None
    for path, _, test in (name.partition("::") for name in statement.tests):
        assert test in functions_of(path), f"{path} has no {test}"
    assert bool(statement.where) == bool(statement.tests)


@pytest.mark.parametrize("statement", PAPER, ids=lambda statement: statement.name)
def test_what_a_module_calls_a_slip_is_not_as_printed(statement: Statement) -> None:
    """A module's docstring lists the paper's slips: the map says more of these than "as printed"."""
    modules = [place.partition(":")[0] for place in statement.where if place.startswith("algorithms")]
    slips = [resolve_name(name).__doc__.partition("here the paper slips")[2].partition("\n\n")[0] for name in modules]
    named = any(re.search(rf"{re.escape(statement.name)}(?!\d)", text) for text in slips)
    assert not (named and statement.constants == "as printed")


def test_the_page_is_the_map() -> None:
    printed = subprocess.run([sys.executable, "-m", "algorithms"], cwd=ROOT, check=True, capture_output=True, text=True)
    assert printed.stdout == page() == (ROOT / "docs" / "paper.md").read_text()
    bars = Statement("Claim 9.9", "|x| <= 1", (), "as printed", ())
    assert row(bars) == "| Claim 9.9 | \\|x\\| <= 1 | - | as printed | - |\n"


def test_the_page_of_what_came_later_has_what_every_claim_costs() -> None:
    page = (ROOT / "docs" / "everyday.md").read_text()
    proved = dict(re.findall(r"^\| `(\w+)` \|.*\| ([\d,]+) \| [^|]* \|$", page, re.M))
    theirs = [one for one in with_theorem() if one.declared.theorem in {statement.name for statement in LATER}]
    sizes = {one.name.partition(":")[2]: one.declares("size") for one in theirs if one.declares("claimed") is not None}
    assert proved == {name: f"{size:,}" for name, size in sizes.items()}


def test_the_exact_sizes_of_the_page_are_the_least_that_keep_rho() -> None:
    """Reckoned again, but for that of r_choice, which takes ten seconds."""
    spec = importlib.util.spec_from_file_location("make_everyday", ROOT / "docs" / "make_everyday.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    page = (ROOT / "docs" / "everyday.md").read_text()
    printed = dict(re.findall(r"^\| `(\w+)` \|(?:[^|]*\|){4} ([\d,]+) \|", page, re.M))
    assert printed.keys() == made.EXACT.keys()
    for name in made.EXACT.keys() - {"r_choice"}:
        assert printed[name] == f"{made.EXACT[name]():,}", name


def test_what_heads_a_module_is_there_in_the_map_and_heads_no_other() -> None:
    """The first line of a module's docstring says what of the paper it is; the map says the same."""
    homes = {statement.name: [place.partition(":")[0] for place in statement.where] for statement in PAPER}
    headed = [(name, module) for module, head in HEADS.items() for name in re.findall(rf"(?:{KINDS}) [\w.]*\d", head)]
    assert [name for name, count in Counter(name for name, _ in headed).items() if count > 1] == []
    for name, module in headed:
        assert homes[name][0] == module, f"{name} heads {module}"
    unheaded = {name for name in homes if name.startswith("Algorithm")} - {name for name, _ in headed}
    assert unheaded == set()


def test_registered_theorems_are_statements() -> None:
    registered = {str(subject.declared.theorem).removesuffix(" as published") for subject in with_theorem()}
    assert registered <= {statement.name for statement in [*PAPER, *LATER]}


def test_importing_the_map_costs_no_numpy() -> None:
    check = "import sys, algorithms.everyday; sys.exit(bool({'numpy', 'scipy', 'auditor'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=False).returncode == 0
