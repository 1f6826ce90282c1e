"""The examples keep their promises: `before` fails, `after` passes, and what it costs is what they say.

Chance: audits here run at confidence 1 - 1e-6, so that a `before` whose rho is above its target passes, or an `after`
whose rho is within it fails, with probability below 1e-6. An `after` may also stay undecided; that is not bounded, but
the seed is fixed, and against a target of 20 % two runs differed in 0 of 40 pairs (lasso), 4 of 100 (k-means) and 6 of
300 (tree). Scores are means over fixed keys: no chance.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.requests import audit

from auditor.cli.config import read_config, settle
from auditor.lookup import find_object

EXAMPLES = Path(__file__).parent.parent / "examples"
NAMES = ["feature_selection", "clusters", "tree"]
CONFIDENCE = 1 - 1e-6


def part(name: str, attribute: str) -> Any:
    return find_object(f"{EXAMPLES / name}.py:{attribute}")


@pytest.mark.parametrize("name", NAMES)
def test_before_fails(name: str) -> None:
    record = audit(f"{EXAMPLES / name}.py:before", confidence=CONFIDENCE)
    print(f"{name}: before, {record.pairs} pairs, {record.bound}")
    assert (record.verdict, record.expect) == ("fail", "fail"), record.reason


SLOW = [  # 24,000 rows a run; and 100 pairs of k-means, which the table below has at confidence 0.95
    pytest.param(name, marks=pytest.mark.nightly) for name in ("feature_selection", "clusters")
]


@pytest.mark.parametrize("name", [*SLOW, "tree"])
def test_after_passes_at_its_claim_and_is_accurate(name: str) -> None:
    record = audit(f"{EXAMPLES / name}.py:after", confidence=CONFIDENCE)
    print(f"{name}: after, {record.pairs} pairs, {record.bound}, {record.accuracy}")
    assert (record.verdict, record.expect) == ("pass", "pass"), record.reason
    assert not record.overridden


@pytest.mark.parametrize("name", NAMES)
def test_after_costs_no_more_accuracy_than_stated(name: str) -> None:
    example, cost = part(name, "EXAMPLE"), part(name, "COST")
    score = part(name, "show").__globals__["held_out_score"]
    before, after = (score(example, learner, example.size(learner)) for learner in (example.before, example.after))
    print(f"{name}: {before:.4f} before, {after:.4f} after, stated cost {cost}")
    assert before - cost <= after


def test_the_gates_config_is_readable_and_names_all_six(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES.parent)
    config = read_config(EXAMPLES / "pyproject-gate.toml")
    settled = settle(config, config.entries, {})
    named = [(inquiry.cells[0].subject.name, request.expected) for request, inquiry in settled]
    pairs = (("before", "fail"), ("after", "pass"))
    assert named == [(f"examples/{name}.py:{fn}", expect) for name in NAMES for fn, expect in pairs]
    for request, inquiry in settled:  # the config may not expect anything else than the example itself
        declared = inquiry.cells[0].subject.declared
        assert (request.expected, inquiry.plan.target) == (declared.expect, declared.claimed)


def test_main_prints_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.StringIO()
    show = part("clusters", "show")
    monkeypatch.setitem(show.__globals__, "Console", lambda width: Console(file=printed, width=width))
    part("clusters", "main")()
    lines = printed.getvalue().splitlines()
    for start, verdict in (("before", "fail"), ("before, more rows", "fail"), ("after", "pass")):
        assert any(line.startswith(f"│ {start} ") and f" {verdict} " in line for line in lines), lines


def test_the_readme_names_every_example() -> None:
    text = (EXAMPLES / "README.md").read_text()
    assert len(text.splitlines()) <= 40
    for name in NAMES:
        assert f"{name}.py" in text


@pytest.fixture(autouse=True)
def path_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading a file puts its folder on the path; that is no other test's business."""
    monkeypatch.setattr(sys, "path", [*sys.path])


def test_the_data_files_are_those_that_their_script_makes() -> None:
    files = find_object(f"{EXAMPLES}/data/make_data.py:FILES")
    assert {path.name for path in (EXAMPLES / "data").glob("*.csv")} == {*files}
    for name, make in files.items():
        assert (EXAMPLES / "data" / name).read_text() == make()
