"""Repairs: the frontier against a closed form, what is printed pasted and audited, and every way that it can end."""

from __future__ import annotations

import copy
import functools
import math
import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from support.requests import ask, audit, bench_of, cell_of, inquiry_of

from auditor import repair
from auditor.cli.command_line import cli
from auditor.errors import UsageError
from auditor.flow.parts import Chart
from auditor.flow.record import Record, read_record
from auditor.host.boundary import pack
from auditor.questions.repair import has_points, settings
from auditor.questions.repair.answer import RepairCost, answer_of
from auditor.questions.repair.frontier import MeasuredSetting, candidates
from auditor.questions.repair.inquiry import RepairInquiry
from auditor.questions.repair.paste import code_of
from auditor.questions.repair.settings import (
    FAMILIES,
    ChoosingFamily,
    RoundingFamily,
    Setting,
    _has_names,
    read_setting,
)
from auditor.questions.repair.units import FrontierUnit, SettingTried, kind_of, look
from auditor.repair.mechanisms.grid import two_digits
from auditor.repair.rounding import Rounded
from auditor.report.pictures.svg import picture
from auditor.report.terminal import MORE, as_text
from auditor.report.words import make_report
from auditor.subjects.subject import load_subject

LEARNERS = """
import numpy as np
import auditor

def linear(rng, size):
    x = rng.normal(size=(size, 3))
    return x, x @ [3.0, 2.0, 0.1] + rng.normal(size=size)

def even(rng, size):
    x = rng.normal(size=(size, 3))
    return x, x.sum(axis=1)

def labels(rng, size):
    x = rng.normal(size=(size, 2))
    return x, (x[:, 0] + 0.5 * rng.normal(size=size) > 0).astype(int)

def mean(sample, r):
    return float(sample.mean())

def near(output, *, source, r, params):
    return abs(output) < 0.2

judged = auditor.subject(source="norm", size=200, accuracy=near, delta=0.1)(lambda sample, r: float(sample.mean()))

def squared(output, rows):
    return np.minimum(1.0, (rows - output) ** 2 / 20)

def rows(rng, size):
    return rng.normal(5.0, 1.0, size=(size, 8))

def vector(sample, r):
    return sample.mean(axis=0)

def missed(output, rows):
    return np.minimum(((rows - output) ** 2).sum(axis=1) / 40, 1.0)

def two(sample, r, *, times=100.0):
    return {"mean": float(sample.mean()), "total": times * float(sample.mean()), "rows": len(sample)}

def is_above(sample, r):
    return bool(sample.mean() * len(sample) ** 0.5 > 2.0)

def anything(sample, r):
    return sample.tobytes()

def counted(sample, r):
    return {"above": 10_000 + int((sample > 0).sum()), "rows": len(sample)}

def share(sample, r):
    return float((sample > 1).mean())

def scored(sample, r):
    return {name: gain + float(part.mean()) for name, gain, part in zip("abc", (0.0, 0.5, 1.0), sample.reshape(3, -1))}

def tied(sample, r):
    return {name: float(part.mean()) for name, part in zip("abc", sample.reshape(3, -1))}

def odd(sample, r):
    if sample[0] > 1.5:
        raise ValueError("no such sample")
    return float(sample[0])

def redraws(sample, r):
    while r.random() > 0.1 + 0.5 * sample[0]:
        pass
    return float(r.uniform())

def redraws_or_none(sample, r):
    return None if sample[1] > 0.97 else redraws(sample, r)

def redraws_and_means(sample, r):
    while r.random() > 0.1 + 0.5 * sample[0]:
        pass
    return float(sample.mean()) + 0.01 * float(r.uniform())
"""
MODELS = """
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

class Nearest(ClassifierMixin, BaseEstimator):
    def fit(self, x, y):
        self.x_, self.y_, self.classes_ = x, y, np.unique(y)
        return self

    def predict(self, x):
        return self.y_[((x[:, None] - self.x_) ** 2).sum(axis=2).argmin(axis=1)]

ridge, best, nearest = Ridge(), SelectKBest(f_regression, k=2), Nearest()
tree, piped = DecisionTreeRegressor(max_depth=3), make_pipeline(Ridge())
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where somebody works: commands and pasted code name files from there."""
    (tmp_path / "learners.py").write_text(LEARNERS)
    (tmp_path / "models.py").write_text(MODELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # whose file is loaded puts its folder there
    return tmp_path


def repaired(name: str, source: str = "norm", **options: Any) -> Record:
    return ask("repair", f"learners.py:{name}", source, **options)


@functools.cache
def once_repaired() -> tuple[str, str, Record]:
    """Of a learner that any `folder` has, by the command: what it prints, the picture that it draws, its record."""
    typed = "repair learners.py:mean --source norm --size 50 --rho 0.5 --confidence 0.999999 --jobs 1"
    words, plainly = [*typed.split(), "--svg", "f.svg", "--json", "r.json"], {"COLUMNS": "80", "FORCE_COLOR": None}
    done = CliRunner().invoke(cli, words, standalone_mode=False, env=plainly)
    assert done.return_value == 0
    return done.output, Path("f.svg").read_text(), read_record(Path("r.json"))


def test_the_frontier_holds_the_closed_form_and_so_does_what_is_confirmed(folder: Path) -> None:
    """rho = E min(1, |N(0, 2/n)| / w). All intervals are false with probability 2e-6 at most."""
    *_, found = once_repaired()
    answer = answer_of(found)
    assert found.verdict == "pass"
    assert answer.wrapper
    assert answer.before
    assert answer.after
    assert answer.price
    assert answer.before.low <= 1 <= answer.before.high
    assert [(point.by, point.pairs) for point in answer.frontier] == [("formula", 128)] * 9
    intervals = [(point.wrapper, point.low, point.high) for point in answer.frontier]
    for wrapper, low, high in [*intervals, (answer.wrapper, answer.after.low, answer.after.high)]:
        width = float(read_setting(wrapper).arguments["width"])
        a = width / math.sqrt(2 / 50)
        exact = math.sqrt(2 / math.pi) * -math.expm1(-a * a / 2) / a + math.erfc(a / math.sqrt(2))
        print(f"{wrapper}: {exact:.4f} in [{low:.4f}, {high:.4f}]")
        assert low <= exact <= high
    assert answer.price.change == width / 2  # the last one was confirmed


def test_what_is_printed_is_what_the_record_says_and_a_pair_of_it_is_run_again(folder: Path) -> None:
    printed, drawn, found = once_repaired()
    assert f"{as_text(found, 80)}\n\n{MORE}\n" in printed
    assert picture(found).decode() == drawn
    assert {"REPAIRED", "stable = rounded("} <= {*re.findall(r"REPAIRED|stable = rounded\(", printed)}
    assert "largest change of the answer" in drawn
    assert "the target, 0.5" in drawn
    shown, words = found.examples[0].first_difference, shlex.split(str(found.examples[0].replay))
    assert words[3] == "repair"
    assert words[-2:][0] == "--with"
    done = CliRunner().invoke(cli, words[3:], standalone_mode=False)
    assert done.return_value == 0
    assert shown.left in done.output
    assert shown.right in done.output


def test_a_chart_has_the_settings_whose_price_is_known(folder: Path) -> None:
    """The first of them gives the picture its name, and one is enough."""
    *_, found = once_repaired()
    answer = answer_of(found)
    sites = msgspec.structs.replace(answer.frontier[0], wrapper="sites()", price=RepairCost(words=""))
    other = msgspec.structs.replace(answer.frontier[5], wrapper="aligned(width=1.0)")
    for frontier in ([sites, answer.frontier[3]], [sites, answer.frontier[3], other]):
        record = msgspec.structs.replace(found, answer=msgspec.structs.replace(answer, frontier=frontier))
        chart = next(part for part in make_report(record).found if isinstance(part, Chart))
        assert chart.title == "learners.py:mean  rho against the price of rounded"
        assert [len(series.points) for series in chart.series] == [len(frontier) - 1, 2]


@pytest.mark.parametrize(
    ("target", "source", "size", "rho", "verb"),
    [
        ("learners.py:two", "norm", 100, 0.5, "rounded"),
        pytest.param("learners.py:is_above", "norm(0.1)", 400, 0.3, "agreed", marks=pytest.mark.nightly),
        pytest.param("models.py:ridge", "learners.py:linear", 60, 0.3, "rounded", marks=pytest.mark.nightly),
        ("models.py:best", "learners.py:even", 12, 0.5, "chosen"),
        pytest.param("models.py:best", "learners.py:linear", 12, 0.3, "chosen", marks=pytest.mark.nightly),
        pytest.param("algorithms.controls:mean", "norm", 100, 0.3, "rounded", marks=pytest.mark.nightly),
        ("models.py:tree", "learners.py:linear", 100, 0.5, "rounded"),
        ("learners.py:redraws", "uniform", 3, 0.1, "sites"),
    ],
)
def test_what_is_printed_can_be_pasted_and_passes(
    folder: Path, target: str, source: str, size: int, rho: float, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass of the paste is missed with probability 0.05 at most where rho is at 0.6 of the target."""
    found = ask("repair", target, source, size=size, rho=rho)
    answer = answer_of(found)
    assert found.verdict == "pass"
    assert answer.code
    assert answer.check
    assert f"from auditor.repair import {verb}" in answer.code
    shown = {line.strip() for line in as_text(found, 80, verbose=True).splitlines()}
    assert {line.strip() for line in answer.code.splitlines()} <= shown
    (folder / "repaired.py").write_text(answer.code)
    words = shlex.split(answer.check)
    assert words[:5] == ["python", "-m", "auditor", "check", "repaired.py:stable"]
    monkeypatch.setenv("AUDITOR_SECOND_PROCESS", "1")  # which would load scikit-learn once more
    done = CliRunner().invoke(cli, [*words[3:], "--seed", "1", "--jobs", "1"], standalone_mode=False)
    assert done.return_value == 0, done.output
    if verb == "sites":  # draws that fall out of step are put back at no price
        assert (answer.wrapper, [one.wrapper for one in answer.frontier]) == ("sites()", ["sites()"])
        assert answer.code == "from auditor.repair import sites\n\nstable = sites('learners.py:redraws')\n"
        assert (answer.price and answer.price.change, answer.hint) == (None, None)
    if "tree" in target:  # a regressor has its predictions rounded
        assert answer.after
        assert answer.price
        assert (answer.after.measure, {point.by for point in answer.frontier}) == ("churn", {"formula"})
        assert answer.price.words == f"a prediction moves by at most {answer.price.change:.3g}"
        assert re.search(r"\d+ of \d+ pairs of rounded\(width=\S+\) differ;", as_text(found, 200, verbose=True))


@pytest.mark.usefixtures("few_finishes")
def test_none_is_an_output_like_any_other(folder: Path) -> None:
    """rho is 2 * 0.03 * 0.97 with draws in step, and at least 0.3 as it is."""
    found = repaired("redraws_or_none", "uniform", size=3, rho=0.2)
    assert (found.verdict, answer_of(found).wrapper) == ("pass", "sites()")


@pytest.mark.usefixtures("few_finishes")
def test_where_draws_out_of_step_are_not_all_the_others_are_tried_and_it_is_said(folder: Path) -> None:
    found = repaired("redraws_and_means", "uniform", size=200, rho=0.7)
    answer = answer_of(found)
    assert found.verdict == "pass"
    assert [one.wrapper.partition("(")[0] for one in answer.frontier] == ["sites"] + 9 * ["rounded"]
    assert answer.frontier[0].estimate == 1
    line = LEARNERS[: LEARNERS.rindex("while")].count("\n") + 1
    assert f"learners.py:{line}," in str(answer.hint)


def test_the_draws_of_the_first_eight_pairs_are_compared() -> None:
    def uneven(sample: Any, r: Any) -> float:
        for _ in range(int(1000 * sample[0])):
            r.random()
        return float(r.random())

    bench = bench_of(uneven, "uniform", size=3)
    assert ["out of step" in look(bench, index).payload for index in range(10)] == [True] * 8 + [False] * 2


def test_a_parameter_comes_along(folder: Path) -> None:
    """In the code where the learner can be imported, else in the command. What has no target is called by its name."""
    given = repaired("two", size=100, rho=0.5, with_="rounded(width=1e6)", params={"times": 7.0})
    assert "--param times=7.0" in str(answer_of(given).check)
    code = code_of(load_subject("algorithms.controls:mixed", {"q": 0.9}), Setting("rounded", {"width": 2.0}))
    assert code.splitlines()[0] == "from functools import partial"
    assert code.endswith("\nstable = rounded(partial(mixed, q=0.9), width=2.0)\n")
    ridge = load_subject("sklearn.linear_model:Ridge", {"alpha": 2.0})
    code = code_of(ridge, Setting("rounded", {"width": {"coef_": 1.0}}))
    assert code.endswith("stable = rounded(Ridge(alpha=2.0), width={'coef_': 1.0})\n")
    for letters, lines in ((25, 1), (26, 6)):  # a call of 76 characters stays on its line
        call = code_of(ridge, Setting("rounded", {"width": {"c" * letters: 1.0}})).split("\n\n")[1]
        assert len(call.strip().splitlines()) == lines, call
    unnamed = msgspec.structs.replace(ridge, target=None, name="some.place.fit")
    assert code_of(unnamed, Setting("sites", {})).endswith("\nstable = sites(fit)\n")


@pytest.mark.usefixtures("few_finishes")
def test_a_classifier_is_held_by_its_churn_and_the_report_says_what_the_target_is_for(folder: Path) -> None:
    """By default a check of predictions judges rho and a repair churn; --measure settles it for both."""
    asked: dict[str, Any] = {"source": "learners.py:labels", "size": 80, "rho": 0.2, "probe": 100}
    found = ask("repair", "models.py:nearest", **asked)
    answer = answer_of(found)
    assert found.verdict == "pass"
    assert answer.before
    assert answer.price
    assert answer.price.rows
    assert answer.before.measure == found.measures[0].name == "churn"
    assert all(point.wrapper.startswith("voted(chunks=") and point.by == "formula" for point in answer.frontier)
    assert all(point.price.loss is not None for point in answer.frontier)
    assert "The target is for churn here, the share of predictions that change" in as_text(found, 400, verbose=True)
    plain, churn = (audit("models.py:nearest", **asked, **more) for more in ({}, {"measure": "churn"}))
    assert "The target is for rho here: two runs differ if a single prediction does" in as_text(
        plain, 400, verbose=True
    )
    assert churn.measures[0].name == "churn"
    assert "The target is for rho" not in as_text(churn, 400, verbose=True)
    best = as_text(ask("repair", "models.py:best", "learners.py:linear", size=400, rho=0.5), 400, verbose=True)
    assert "What is compared here is support: what the learner decides" in best


def test_outputs_that_never_agree_come_to_nothing_by_a_vote(folder: Path) -> None:
    found = repaired("anything", size=100)
    assert found.exit_code == 1
    assert "gives no output in more than 10 % of the runs" in found.reason
    assert as_text(found, verbose=True).startswith("NOT REPAIRED")


def test_too_few_rows_are_said_of_the_wrapper_that_needs_them(folder: Path) -> None:
    """Of a search whose scores never move, and which classifies: chosen fits too, and has nothing to choose."""
    inquiry = inquiry_of("learners.py:mean", "norm", "repair", size=12)
    assert isinstance(inquiry, RepairInquiry)
    still = {"spread": 0.0, "count": 2, "top": 1}
    inquiry.looks = [{"shown": "a model", "fits": {"chosen": still, "voted": {}}}]
    assert inquiry.offered() == []
    assert inquiry.why_not == "voted fits outputs such as a model, but 12 rows are too few to be cut into chunks"
    inquiry.looks, inquiry.why_not = [{"shown": "a model", "fits": {"chosen": still}}], None
    assert inquiry.offered() == []
    assert str(inquiry.why_not).endswith("but it does not change the parts in which two of them differ")


@pytest.mark.usefixtures("few_finishes")
def test_too_few_pairs_leave_it_undecided(folder: Path) -> None:
    assert repaired("mean", size=50, pairs=14, rho=0.4).exit_code == 3


def test_a_run_that_fails_ends_it(folder: Path) -> None:
    found = repaired("odd", size=5)
    assert found.exit_code == 4
    assert any("no such sample" in one.message for one in found.findings)


@pytest.mark.usefixtures("few_finishes")
def test_what_it_costs_in_accuracy(folder: Path) -> None:
    """By the subject's oracle, and by a loss: the widest grid loses the most."""
    by_oracle = answer_of(ask("repair", "learners.py:judged", rho=0.5))
    found = repaired("mean", size=200, rho=0.5, loss="learners.py:squared")
    for answer in (by_oracle, answer_of(found)):
        lost = [point.price.loss for point in answer.frontier if point.price.loss is not None]
        assert len(lost) == len(answer.frontier) > 0
        assert lost[-1] > lost[0] >= -1e-3
        assert answer.price
        assert answer.price.loss_before is not None
    assert "; the mean loss was" in as_text(found, verbose=True)


def test_the_subjects_oracle_judges_outputs_of_its_own_kind(folder: Path) -> None:
    """Rounded ones are; what chunks agree on may be None."""
    oracles = [
        cell_of("learners.py:judged", None, "repair", with_=text).oracle
        for text in ("rounded(width=1.0)", "agreed(chunks=4)")
    ]
    assert [type(one).__name__ for one in oracles] == ["OwnOracle", "NoneType"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"measure": "rhoo"}, "must be one of rho, churn"),
        ({"measure": "churn"}, "counts predictions"),
        ({"randomness": "int"}, "annotate r"),
        ({"rho": 1.5}, "must be in"),
        ({"pairs": 45}, "use --pairs 55 or more"),
        ({"loss": "learners.py:LEARN"}, "has no"),
        ({"with_": "rounded(0.2)"}, "--with"),
        ({"with_": "sum(width=1)"}, "--with"),
        ({"with_": "rounded(width="}, "--with"),
        ({"with_": "os.system('x')"}, "--with"),
        (
            {"with_": "rounded(wide=1)"},
            r"rounded has no argument wide \(did you mean width\?\); it takes width, tiling",
        ),
        ({"with_": "thresholded"}, r'thresholded needs low and high: write e.g. --with "thresholded\(low=0.0, high='),
        ({"with_": "erm"}, r'erm needs alpha: write e.g. --with "erm\(alpha=0.1\)"'),
        ({"with_": "private(chunks=9)"}, r'needs eps and delta: write e.g. --with "private\(chunks=136, eps=1, delta='),
        ({"with_": "private(chunks=9, eps=1, delta=0.1)"}, "chunks=9 are too few for eps=1 and delta=0.1: noise would"),
        ({"with_": "rounded(width=-1)"}, r"^--with rounded\(width=-1\): width=-1 must be a number above 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(folder: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        repaired("mean", size=50, **options)


def test_frontiers_have_fewer_pairs_where_each_setting_needs_its_own_runs() -> None:
    found = {one.wrapper: one.pairs for one in FAMILIES}
    assert found == {"chosen": 128, "aligned": 128, "voted": 16, "rounded": 128, "agreed": 64}


def test_the_cheapest_that_should_pass_is_tried_first() -> None:
    def measured(estimate: float, loss: float | None = None, *, nothing: bool = False) -> MeasuredSetting:
        one = MeasuredSetting(Setting("rounded", {"width": estimate}))
        one.add(SettingTried(apart=estimate, loss=loss, nothing=nothing), 0.0)
        return one

    plain = [measured(0.2), measured(0.07), measured(0.05), measured(0.02)]
    assert candidates(plain, 0.1, 0.6) == plain[2:]
    assert candidates(plain, 0.1, 0.8) == plain[1:]
    assert candidates(plain[:2], 0.1, 0.6) == plain[1:2]  # it comes nearest
    assert candidates(plain[:1], 0.1, 0.6) == []
    edges = [measured(0.125), measured(0.0625), measured(0.0625)]
    assert candidates(edges, 0.125, 0.5) == edges[1:]
    assert candidates(edges[:1], 0.125, 0.5) == edges[:1]
    losing = [measured(0.05, 0.3), measured(0.04, 0.1), measured(0.0, 0.0, nothing=True)]
    assert candidates(losing, 0.1, 0.6) == [losing[1], losing[0]]
    unknown = [losing[0], measured(0.05)]
    assert candidates(unknown, 0.1, 0.6) == unknown[::-1], "what changes nothing that is known costs nothing"


def test_another_process_is_sent_the_repaired_learner_and_not_its_name(folder: Path) -> None:
    asked = {"subject": "learners.py:mean", "source": "norm", "question": "repair", "size": 50}
    plain, repaired = cell_of(**asked), cell_of(**asked, with_="rounded(width=5.0)")
    for cell, is_repaired in ((plain, False), (repaired, True)):
        there = cloudpickle.loads(pack(cell))
        assert isinstance(there.subject.fn, Rounded) == is_repaired


# Which settings are offered.


@pytest.mark.parametrize(
    ("value", "two"), [(0.1234, 0.13), (0.13, 0.13), (99.2, 100.0), (5e-7, 5e-7), (1.01, 1.1), (2345.0, 2400.0)]
)
def test_widths_have_two_digits_and_are_no_smaller(value: float, two: float) -> None:
    assert two_digits(value) == two


@pytest.mark.parametrize(
    ("paths", "most", "one"), [(12, 4.0, False), (13, 4.0, True), (2, 3.0, True), (2, 3.01, False)]
)
def test_paths_share_a_width_where_they_are_many_or_their_scales_alike(paths: int, most: float, one: bool) -> None:
    gaps = {f"output.p{i}": 1.0 for i in range(paths)} | {"output.p0": most}
    seen = {"gaps": gaps, "sizes": dict.fromkeys(gaps, 1), "alike": True, "named": False}
    first, *_ = RoundingFamily().settings([seen], 0.1, 100, "rho")
    assert isinstance(first.arguments["width"], float) is one


def test_vectors_are_offered_a_lattice_where_a_loss_says_what_is_lost() -> None:
    """Boxes come first. The bound of the middle setting is the level: 0.1 = worst far / width, and E8 has 1.66."""
    seen: dict[str, Any] = {"gaps": {"output": 4.0}, "sizes": {"output": 8}, "alike": True, "named": False, "far": 1.5}
    offered = RoundingFamily().settings([{**seen, "has loss": True}], 0.1, 9, "rho")
    assert [one.arguments.get("tiling") for one in offered] == [None] * 9 + ["best"] * 9
    for asked, radius, middle in (("E8", 1.0, 25.0), ("foams", math.sqrt(2), 76.0)):
        made = RoundingFamily().settings([{**seen, "tiling": asked}], 0.1, 9, "rho")
        assert made[5].arguments == {"width": middle, "tiling": asked}
        assert made[5].change == pytest.approx(radius * middle)
        assert made[5].words.startswith("all numbers together move by at most ")
    plain = [seen, {**seen, "named": True, "has loss": True}, {**seen, "sizes": {"output": 1}, "has loss": True}]
    for one in plain:
        assert {"tiling" in made.arguments for made in RoundingFamily().settings([one], 0.1, 9, "rho")} == {False}
    assert RoundingFamily().settings([{**seen, "far": 0.0, "tiling": "E8"}], 0.1, 9, "rho") == []


@pytest.mark.usefixtures("few_finishes")
def test_a_lattice_is_found_that_loses_less(folder: Path) -> None:
    for options in ({"loss": "learners.py:missed"}, {"with_": "rounded(tiling='best')"}):
        found = repaired("vector", "learners.py:rows", size=400, rho=0.5, **options)
        assert found.verdict == "pass"
        assert "tiling='best'" in str(answer_of(found).wrapper), found.reason


@pytest.mark.usefixtures("few_finishes")
@pytest.mark.parametrize(
    ("name", "options", "verdict", "words"),
    [
        ("counted", {}, "pass", r"^rounded\(width=\{.*'above'.*: \d+\}\) repairs it"),
        (
            "share",
            {"rho": 0.05, "size": 60},
            "fail",
            "Others are not offered: a shared grid would have to be .* wider than the numbers the",
        ),
        ("scored", {"with_": "chosen"}, "pass", r"^chosen\(strength=[\d.]+\) repairs it"),
        ("scored", {"with_": "chosen(top=2)"}, "pass", r"^chosen\(strength=[\d.]+, top=2\) repairs it"),
        ("tied", {"with_": "chosen", "rho": 0.02}, "fail", "the choice would be nearly random"),
        ("mean", {"with_": "chosen"}, "fail", r"chosen does not fit outputs such as .* scores by name, such as \{'a'"),
    ],
)
def test_a_mend_that_is_no_use_is_not_offered_and_one_that_is_may_be_of_whole_numbers_or_scores(
    name: str, options: dict[str, Any], verdict: str, words: str, folder: Path
) -> None:
    found = repaired(name, **{"size": 150, "rho": 0.2, "confidence": 0.999, **options})
    assert (found.verdict, bool(re.search(words, found.reason))) == (verdict, True), found.reason
    assert found.case is None or found.asked.get("with") == options.get("with_")


@pytest.mark.parametrize(
    ("first", "second", "fits"),
    [
        (45, 52, True),
        (3, 5, False),  # the places of candidates, say
        ([45, 30], [40, 33], True),
        (np.array([11, 11, 11, 12]), np.array([11, 12, 11, 12]), False),  # labels
        ({"n": 45, "mean": 0.1}, {"n": 52, "mean": 0.2}, True),
        ({"label": 1, "mean": 0.1}, {"label": 2, "mean": 0.2}, False),
        (True, False, False),
    ],
)
def test_whole_numbers_are_rounded_where_they_count_and_do_not_name(first: Any, second: Any, fits: bool) -> None:
    found = RoundingFamily().look(first, second, vars)
    assert bool(found and found["alike"] and found["whole"]) is fits
    if found and fits:
        assert all(
            type(one) is int for one in _leaves(RoundingFamily().settings([found], 0.1, 9, "rho")[0], found["whole"])
        )


def _leaves(setting: Setting, whole: list[str]) -> list[Any]:
    width = setting.arguments["width"]
    return [width[path] for path in width if f"output{path}" in whole] if isinstance(width, dict) else [width]


def test_scores_of_equal_candidates_are_no_worse_than_a_random_choice() -> None:
    """Behind by 0 and 1, exp(-1) of the weight loses 1: 0.269, more than 0.9 * 0.5 only for smaller strengths."""
    seen = [{"spread": 1.0, "count": 2, "top": 1, "behind": [0.0, 1.0]}]
    useless = {one.arguments["strength"]: bool(one.useless) for one in ChoosingFamily().settings(seen, 0.5, 9, "rho")}
    assert {strength for strength, is_so in useless.items() if is_so} == {s for s in useless if s < math.log(11 / 9)}


def test_numbers_without_a_cell_of_width_one_are_not_offered_a_grid() -> None:
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    def with_number(kind: Any, name: str, number: float) -> Any:
        made = kind()
        setattr(made, name, np.array([number]))
        return made

    for make in (
        lambda number: [number],
        lambda number: with_number(Ridge, "coef_", number),
        lambda number: with_number(StandardScaler, "mean_", number),
    ):
        assert RoundingFamily().look(make(2.0**50), make(1.0), vars) is not None
        assert RoundingFamily().look(make(1.5 * 2.0**50), make(1.0), vars) is None


def test_what_predicts_nothing_has_all_that_it_fitted_rounded() -> None:
    from sklearn.decomposition import PCA
    from sklearn.impute import SimpleImputer

    rows = [np.random.default_rng(seed).normal(size=(50, 3)) for seed in (0, 1)]
    filled, cut = (
        RoundingFamily().look(make().fit(rows[0]), make().fit(rows[1]), vars) for make in (SimpleImputer, PCA)
    )
    assert filled
    assert cut
    assert [*filled["sizes"]] == ["output.statistics_"]
    assert {"output.components_", "output.mean_"} < {*cut["sizes"]}
    first, *_ = RoundingFamily().settings([cut], 0.1, 50, "rho")
    assert first.words.startswith("a number moves by at most half its width: ")
    assert {f"output.{name}" for name in first.arguments["width"]} <= {*cut["sizes"]}
    model = repair.rounded(PCA(), **first.arguments)(rows[0], 1)
    assert model.transform(rows[0]).shape == (50, 3)


def test_predictions_are_compared_point_by_point_unless_there_are_coefficients(folder: Path) -> None:
    targets = ("models.py:tree", "models.py:ridge", "models.py:piped", "learners.py:mean")
    assert [has_points(load_subject(target)) for target in targets] == [True, False, True, False]


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        (True, "decision"),
        (np.False_, "decision"),
        ("a", "name"),
        (2, "place"),
        (45, None),
        ({"a": 1.0, "b": 2.0}, "scores"),
        ({"a": 1.0}, None),
    ],
)
def test_what_could_be_had_for_less_is_known_by_its_kind(output: object, kind: str | None) -> None:
    assert kind_of(output) == kind


def test_a_learner_that_returns_its_buffer_is_measured_as_one_that_returns_copies() -> None:
    """What is looked at, and what a setting makes of two outputs: an output, and the ints beside its rounded number."""
    buffer, counts = np.zeros(1), np.zeros(1, dtype=int)

    def number(sample: Any, r: Any) -> Any:
        buffer[0], counts[0] = np.mean(sample), int(np.mean(sample) > 0)
        return {"x": buffer, "count": counts}

    def copies(sample: Any, r: Any) -> Any:
        return copy.deepcopy(number(sample, r))

    shown = []
    for learner in (number, copies):
        bench = bench_of(learner, "norm", size=20, rho=0.4)
        setting = Setting("rounded", {"width": {"x": 1.0}})
        unit = FrontierUnit(bench.subject, (setting,), (repair.rounded(learner, {"x": 1.0}),), "rho", None)
        trials = [one(bench, index) for one in (look, unit) for index in range(8)]
        shown.append([trial.payload for trial in trials])
    assert shown[0] == shown[1]
    parted = [payload["tried"][0]["apart"] for payload in shown[0][8:]]
    assert 1.0 in parted
    assert len({*parted}) > 2


def test_searches_without_a_common_candidate_say_nothing_of_a_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "candidates_of", lambda one: SimpleNamespace(scores=one.scores))
    search = [SimpleNamespace(cv_results_={}, scores=scores) for scores in ({"a": 1.0}, {"b": 3.0}, {"a": 2.5})]
    see: Any = None
    alone = {"spread": 0.0, "count": 1, "top": 1, "behind": [0.0]}
    assert settings.ChoosingFamily().look(search[0], search[1], see) == alone
    assert settings.ChoosingFamily().look(search[0], search[2], see) == alone


@pytest.mark.parametrize(
    ("numbers", "whole", "names"),
    [
        ([9.0], [True], True),  # small, as the number of a class is
        ([10.0], [True], False),
        ([-10.0], [True], False),
        ([500.0, 500.0], [True, True], True),  # each comes twice
        ([500.0, 501.0], [True, True], False),
        ([500.0, 500.0, 501.0], [True] * 3, False),
        ([500.0, 500.0, 501.0, 501.0], [True] * 4, True),
        ([2.0], [False], False),
    ],
)
def test_whole_numbers_name_something_if_they_are_small_or_come_again(
    numbers: list[float], whole: list[bool], names: bool
) -> None:
    apart: Any = SimpleNamespace(sizes={"output": len(numbers)}, numbers=np.array(numbers), whole=np.array(whole))
    assert _has_names(apart) is names


def test_no_width_is_offered_for_predictions_that_are_missing() -> None:
    """Some regressions predict NaN outside of what they have seen, and no grid holds that."""
    seen = [{"points": math.nan, "all": math.nan}, {"points": 0.5, "all": 2.0}]
    assert FAMILIES[[one.wrapper for one in FAMILIES].index("rounded")].settings(seen, 0.1, 100, "rho") == []
