"""Repairs by the kind of learner: draws that fall out of step."""

from __future__ import annotations

from pathlib import Path

import pytest

import auditor
from auditor.questions.mending.answer import answer_of

pytestmark = pytest.mark.usefixtures("no_second_process")
LEARNERS = """
def redraws(sample, r):
    while r.random() > 0.1 + 0.5 * sample[0]:
        pass
    return float(r.uniform())

def redraws_and_means(sample, r):
    while r.random() > 0.1 + 0.5 * sample[0]:
        pass
    return float(sample.mean()) + 0.01 * float(r.uniform())
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "learners.py").write_text(LEARNERS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_draws_that_fall_out_of_step_are_put_back_at_no_price(folder: Path) -> None:
    """A pass is missed with probability 0 where no pair differs."""
    found = auditor.ask("repair", "learners.py:redraws", "uniform", size=3)
    answer = answer_of(found)
    assert (found.verdict, answer.wrapper, [one.wrapper for one in answer.frontier]) == ("pass", "sites()", ["sites()"])
    assert answer.code == "from auditor.repair import sites\n\nstable = sites('learners.py:redraws')\n"
    assert answer.price
    assert answer.price.change is None
    assert answer.hint is None
    (folder / "repaired.py").write_text(answer.code)
    assert auditor.audit("repaired.py:stable", "uniform", size=3, rho=0.1).mismatches == 0


def test_where_that_is_not_all_the_others_are_tried_and_it_is_said(folder: Path) -> None:
    found = auditor.ask("repair", "learners.py:redraws_and_means", "uniform", size=200)
    answer = answer_of(found)
    assert found.verdict == "pass"
    assert [one.wrapper.partition("(")[0] for one in answer.frontier] == ["sites"] + 9 * ["rounded"]
    assert answer.frontier[0].estimate == 1
    assert "learners.py:8" in str(answer.hint)
