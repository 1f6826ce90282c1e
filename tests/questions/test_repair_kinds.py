"""Repairs by the kind of learner: draws that fall out of step, regressors without coefficients."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import auditor
from auditor.cli.command_line import cli
from auditor.errors import UsageError
from auditor.questions.repair import has_points
from auditor.questions.repair.answer import answer_of
from auditor.questions.repair.settings import Rounding
from auditor.questions.repair.units import kind_of
from auditor.repair import rounded
from auditor.report.terminal import as_text
from auditor.subjects.subject import load_subject

pytestmark = pytest.mark.usefixtures("no_second_process")
LEARNERS = """
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor
from sklearn.pipeline import make_pipeline

tree, ridge, piped = DecisionTreeRegressor(max_depth=3), Ridge(), make_pipeline(Ridge())

def linear(rng, size):
    x = rng.normal(size=(size, 3))
    return x, x @ [3.0, 2.0, 0.1] + rng.normal(size=size)

def redraws(sample, r):
    while r.random() > 0.1 + 0.5 * sample[0]:
        pass
    return float(r.uniform())

def redraws_and_means(sample, r):
    while r.random() > 0.1 + 0.5 * sample[0]:
        pass
    return float(sample.mean()) + 0.01 * float(r.uniform())

def redraws_or_none(sample, r):
    return None if sample[1] > 0.97 else redraws(sample, r)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "of_kinds.py").write_text(LEARNERS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # whose file is loaded puts its folder there
    return tmp_path


def test_draws_that_fall_out_of_step_are_put_back_at_no_price(folder: Path) -> None:
    """A pass is missed with probability 0 where no pair differs."""
    found = auditor.ask("repair", "of_kinds.py:redraws", "uniform", size=3)
    answer = answer_of(found)
    assert (found.verdict, answer.wrapper, [one.wrapper for one in answer.frontier]) == ("pass", "sites()", ["sites()"])
    assert answer.code == "from auditor.repair import sites\n\nstable = sites('of_kinds.py:redraws')\n"
    assert answer.price
    assert answer.price.change is None
    assert answer.hint is None
    (folder / "repaired.py").write_text(answer.code)
    assert auditor.audit("repaired.py:stable", "uniform", size=3, rho=0.1).mismatches == 0


def test_none_is_an_output_like_any_other(folder: Path) -> None:
    """rho is 2 * 0.03 * 0.97 with draws in step, and at least 0.3 as it is."""
    found = auditor.ask("repair", "of_kinds.py:redraws_or_none", "uniform", size=3, rho=0.2)
    assert (found.verdict, answer_of(found).wrapper) == ("pass", "sites()")


def test_where_that_is_not_all_the_others_are_tried_and_it_is_said(folder: Path) -> None:
    found = auditor.ask("repair", "of_kinds.py:redraws_and_means", "uniform", size=200, rho=0.7)
    answer = answer_of(found)
    assert found.verdict == "pass"
    assert [one.wrapper.partition("(")[0] for one in answer.frontier] == ["sites"] + 9 * ["rounded"]
    assert answer.frontier[0].estimate == 1
    line = LEARNERS[: LEARNERS.rindex("while")].count("\n") + 1
    assert f"of_kinds.py:{line}," in str(answer.hint)


def test_a_regressor_has_its_predictions_rounded(folder: Path) -> None:
    """The code is pasted and audited on another seed: missed with probability 0.05 at most."""
    found = auditor.ask("repair", "of_kinds.py:tree", "of_kinds.py:linear", size=100, rho=0.5)
    answer = answer_of(found)
    assert found.verdict == "pass"
    assert answer.wrapper
    assert answer.after
    assert answer.after.measure == "churn"
    assert answer.price
    assert answer.price.words == f"a prediction moves by at most {answer.price.change:.3g}"
    assert {point.by for point in answer.frontier} == {"formula"}
    assert re.search(r"\d+ of \d+ pairs of rounded\(width=\S+\) differ;", as_text(found, 200))
    assert answer.code
    (folder / "repaired.py").write_text(answer.code)
    done = auditor.audit("repaired.py:stable", "of_kinds.py:linear", size=100, rho=0.5, measure="churn", seed=1)
    assert done.verdict == "pass"


def test_what_predicts_nothing_has_all_that_it_fitted_rounded() -> None:
    from sklearn.decomposition import PCA
    from sklearn.impute import SimpleImputer

    rows = [np.random.default_rng(seed).normal(size=(50, 3)) for seed in (0, 1)]
    filled, cut = (Rounding().look(make().fit(rows[0]), make().fit(rows[1]), vars) for make in (SimpleImputer, PCA))
    assert filled
    assert cut
    assert [*filled["sizes"]] == ["output.statistics_"]
    assert {"output.components_", "output.mean_"} < {*cut["sizes"]}
    first, *_ = Rounding().settings([cut], 0.1, 50, "rho")
    assert first.words.startswith("a number moves by at most half its width: ")
    assert {f"output.{name}" for name in first.arguments["width"]} <= {*cut["sizes"]}
    model = rounded(PCA(), **first.arguments)(rows[0], 1)
    assert model.transform(rows[0]).shape == (50, 3)


def test_what_is_asked_of_whom(folder: Path) -> None:
    names = ("tree", "ridge", "piped", "redraws")
    assert [*map(has_points, (load_subject(f"of_kinds.py:{name}") for name in names))] == [True, False, True, False]


def test_whoever_watches_is_told_of_the_finishes() -> None:
    words = "repair algorithms.controls:mean --source norm --size 20 --rho 0.4"
    done = CliRunner().invoke(cli, [*words.split(), "--with", "rounded(width=99.0)"])
    assert "and up to 128 uses of a wrapper for each pair" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("output", "kind"),
    [(True, "decision"), (np.False_, "decision"), ("a", "name"), ({"a": 1.0, "b": 2.0}, "scores"), ({"a": 1.0}, None)],
)
def test_what_could_be_had_for_less_is_known_by_its_kind(output: object, kind: str | None) -> None:
    assert kind_of(output) == kind


def test_a_wrapper_that_is_given_nonsense_is_named() -> None:
    with pytest.raises(UsageError, match=r"^--with rounded\(width=-1\): width=-1 must be a number above 0"):
        auditor.ask("repair", "algorithms.controls:mean", "norm", size=20, with_="rounded(width=-1)")
