"""What a frontier measures of a setting is what the setting's own audit counts: else a fail would be about another
number. With runs that give no output, a tolerance, points that were given, and outputs that are None."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from support.requests import inquiry_of

import auditor
from auditor.flow.parts import Chart, Series, Table, Words
from auditor.questions.repair.answer import HeldMeasure, Point, RepairAnswer, RepairCost, repair_parts
from auditor.questions.repair.frontier import MeasuredSetting
from auditor.questions.repair.inquiry import RepairInquiry
from auditor.questions.repair.settings import Setting
from auditor.questions.repair.units import BOUND, FINISHED, FORMULA, FrontierUnit, Pair, SettingTried, look
from auditor.randomness import from_key, root_key
from auditor.repair import agreed
from auditor.repair.agreeing import Leader
from auditor.trials.cell import make_bench
from auditor.trials.trial import Bench

WIDE = Setting("rounded", {"width": 1e9})  # one cell for all numbers, but for an offset in 1e9
NONE = 1e-6  # of rho, where there is nothing but that


def measured(learner: Any, source: Any, setting: Setting, pairs: int, **options: Any) -> list[SettingTried]:
    """What a frontier of one setting shows of its pairs, where runs that fail give no output."""
    bench, unit = frontier_of(learner, source, setting, **options)
    return [msgspec.convert(unit(bench, index).payload, Pair).tried[0] for index in range(pairs)]


def frontier_of(learner: Any, source: Any, setting: Setting, **options: Any) -> tuple[Bench, FrontierUnit]:
    inquiry = inquiry_of(learner, source, "repair", **{"rho": 0.1, **options})
    assert isinstance(inquiry, RepairInquiry)
    next(inquiry.measure_settings([setting]))
    cell = inquiry.cells[-1]
    assert isinstance(cell.unit, FrontierUnit)
    return msgspec.structs.replace(make_bench(cell), bottoms=True), cell.unit


def fails_by_r(sample: Any, r: Any) -> float:
    """Both runs of a pair fail, or neither does."""
    if r.child("fails").random() < 0.4:
        raise ValueError
    return float(sample.mean())


def fails_by_rows(sample: Any, r: Any) -> float:
    if sample[0] > 0.8:
        raise ValueError
    return float(sample.mean())


def has_failed(bench: Bench, index: int) -> list[bool]:
    return [type(bench.run(index, which)).__name__ == "NoOutput" for which in (0, 1)]


@pytest.mark.parametrize("learner", [fails_by_r, fails_by_rows])
def test_two_runs_without_an_output_agree_and_one_without_differs(learner: Any) -> None:
    bench, unit = frontier_of(learner, "uniform", WIDE, size=3)
    found = []
    for index in range(30):
        tried = msgspec.convert(unit(bench, index).payload, Pair).tried[0]
        failed = has_failed(bench, index)
        found.append(sum(failed))
        assert tried.apart == pytest.approx(float(failed[0] != failed[1]), abs=NONE)
        assert (tried.error, tried.nothing, tried.by) == (None, 0.0, FORMULA)
    assert {0, 2} <= {*found}


@pytest.mark.parametrize("learner", [fails_by_r, fails_by_rows])
def test_what_fits_is_seen_in_the_pairs_that_have_outputs(learner: Any) -> None:
    """A learner that fails at times was failed for want of a wrapper that fits."""
    inquiry = inquiry_of(learner, "uniform", "repair", size=3)
    assert isinstance(inquiry, RepairInquiry)
    bench = msgspec.structs.replace(make_bench(inquiry.cells[0]), bottoms=True)
    inquiry.looks = [look(bench, index).payload for index in range(12)]
    assert len({"fits" in one for one in inquiry.looks}) == 2
    assert {one.wrapper for one in inquiry.offered()} == {"rounded"}
    inquiry.looks = [one for one in inquiry.looks if "fits" not in one]
    assert inquiry.offered() == []
    assert "in no pair" in str(inquiry.why_not)


def test_a_wrapper_that_gives_no_output_is_neither_offered_nor_shown_to_miss() -> None:
    """Its runs agree, in that none has an output."""
    found = measured(lambda sample, r: float("nan"), "uniform", WIDE, 40, size=3)
    assert [(one.apart, one.nothing, one.error) for one in found] == [(0.0, 1.0, None)] * 40
    one = MeasuredSetting(WIDE)
    for tried in found:
        one.add(tried, None)
    assert one.is_silent
    assert not one.misses(0.1, 0.05)


def test_a_pair_without_an_output_leaves_a_bound_a_bound() -> None:
    one = MeasuredSetting(WIDE)
    for tried in (SettingTried(apart=1.0, by=BOUND), SettingTried(apart=1.0, by=BOUND)):
        one.add(tried, None)
    assert one.by == BOUND

    def fits(sample: Any, r: Any) -> Any:
        if r.child("fails").random() < 0.5:
            raise ValueError
        return sample.reshape(-1, 1)

    kinds = {tried.by for tried in measured(fits, "uniform", Setting("aligned", {"width": 0.1}), 10, size=3)}
    assert kinds == {BOUND}


def test_a_frontier_is_shown_by_its_measure_and_its_price() -> None:
    """Prices that are not known, or settings that do not run, have a row and no place in the chart."""
    shown: dict[str, Any] = {"low": 0.125, "high": 0.5, "pairs": 9, "by": FINISHED}
    prices = [RepairCost(words="", rows=1500, loss=0.25), RepairCost(words="", rows=40, loss=-0.5)]
    points = [
        Point(wrapper="voted(chunks=2)", price=prices[0], estimate=0.2, **shown),
        Point(wrapper="voted(chunks=9)", price=prices[1], estimate=0.4, **{**shown, "pairs": 8}),
        Point(wrapper="agreed()", price=RepairCost(words=""), estimate=0.25, nothing=0.125, **shown),
        Point(wrapper="sites()", price=RepairCost(words="", rows=7), estimate=None, error="no", **shown),
    ]
    held = {"estimate": 0.75, "low": 0.25, "high": 1.0, "confidence": 0.975, "pairs": 1200, "verdict": "inconclusive"}
    none = dict.fromkeys(("after", "price", "code", "check", "why_not", "hint", "more_rows"))
    before = HeldMeasure(measure="churn", **held)  # type: ignore[arg-type]
    answer = RepairAnswer(before=before, wrapper="voted(chunks=9)", frontier=points, **none)  # type: ignore[arg-type]
    record: Any = SimpleNamespace(
        answer=answer, verdict="fail", view="all", rho=None, target=0.3, subject="it", confidence=0.95, reason="why"
    )
    (first,), words, (table, chart) = (getattr(one, "parts", one) for one in repair_parts(record))
    assert first == Table(
        ("", "churn", "at least", "at most", "pairs", "against the target"),
        [["before", "0.75", "0.25", "1", "1,200", "undecided"]],
    )
    assert isinstance(words, Words)
    assert "The target is for churn" in words.text
    assert table == Table(
        ["", "churn", "at least", "at most", "price", "loss"],
        [
            ["voted(chunks=2)", "0.2", "0.125", "0.5", "1,500 rows", "+0.25"],
            ["voted(chunks=9)  <- this", "0.4", "0.125", "0.5", "40 rows", "-0.5"],
            ["agreed()", "0.25", "0.125", "0.5", "no output in 12 %", ""],
            ["sites()", "", "0.125", "0.5", "does not run", ""],
        ],
        title="What each setting gives: churn by running the wrapper over 9 pairs; all intervals hold together with "
        "95 % confidence:",
    )
    assert chart == Chart(
        title="it  churn against the price of voted",
        x_name="rows that a fit sees",
        y_name="churn",
        series=[
            Series("churn, with its interval", "band", [(40.0, 0.125, 0.4, 0.5), (1500.0, 0.125, 0.2, 0.5)]),
            Series("the target, 0.3", "line", [(40.0, None, 0.3, None), (1500.0, None, 0.3, None)]),
        ],
        labels=["40", "1500"],
        x_log=True,
        notes=["why"],
    )


def test_a_setting_without_pairs_may_be_anything() -> None:
    cost = RepairCost(words=WIDE.words)
    nothing = Point(wrapper=WIDE.spec, price=cost, estimate=None, low=0.0, high=1.0, pairs=0, by=FINISHED)
    assert MeasuredSetting(WIDE).point(0.05) == nothing


def scored(sample: Any, r: Any) -> dict[float, float]:
    """Two names that a tolerance does not tell apart, which are chosen by a coin."""
    return {1.0: float(sample[0] > 0.5), 1.001: float(sample[0] <= 0.5)}


def test_with_a_tolerance_outputs_are_compared_and_no_formula_is_believed() -> None:
    setting = Setting("chosen", {"strength": 50.0})
    plain = measured(scored, "uniform", setting, 30, size=1)
    near = measured(scored, "uniform", setting, 30, size=1, atol=0.01)
    weak = measured(scored, "uniform", Setting("chosen", {"strength": 1.0}), 30, size=1, atol=1e-9)
    apart = {one.apart for one in weak}
    assert {one.by for one in plain} == {FORMULA}
    assert np.mean([one.apart for one in plain]) > 0.2
    assert {(one.apart, one.by) for one in near} == {(0.0, FINISHED)}
    assert apart <= {0.0, 0.25, 0.5, 0.75, 1.0}  # of four finishes
    assert {0.25, 0.75} & apart


def labelled(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.random((size, 1)), rng.integers(2, size=size)


class Edges:
    """Labels by a coin of the fit, but beyond 1, where all agree."""

    def fit(self, x: Any, y: Any) -> Edges:
        self.classes_, self.coin_ = np.arange(2), int(y.sum() % 2)
        return self

    def predict(self, x: Any) -> Any:
        return np.where(np.asarray(x)[:, 0] > 1, 1, self.coin_)


def test_votes_are_those_on_the_points_that_were_given(tmp_path: Any) -> None:
    """On points of the source two runs label apart what a coin decides; on those that were given nothing."""
    (tmp_path / "points.csv").write_text("x,y\n" + "2.0,1\n3.0,0\n" * 5)
    setting = Setting("voted", {"chunks": 3})
    options = {"size": 60, "measure": "churn", "view": "predict"}
    drawn = measured(Edges(), labelled, setting, 12, **options)
    given = measured(Edges(), labelled, setting, 12, probe=str(tmp_path / "points.csv"), **options)
    assert np.mean([one.apart for one in drawn]) > 0.1
    assert {one.apart for one in given} == {0.0}
    assert {one.error for one in given} == {None}
    assert [one.loss for one in given] != [None] * 12


class Alone(Edges):
    """Whether the first point has a label of its own, by a coin of the fit."""

    def predict(self, x: Any) -> Any:
        return np.where(np.arange(len(x)) == 0, self.coin_, 1)


def test_names_of_labels_do_not_count_where_the_view_says_so() -> None:
    """One of ten points changes its place, though all that come later change their names."""
    options = {"size": 60, "measure": "churn", "probe": 10, "view": "predict|partition"}
    found = measured(Alone(), labelled, Setting("voted", {"chunks": 3}), 12, **options)
    assert 0 < max(one.apart or 0.0 for one in found) <= 0.1 + 1e-9


def test_none_that_was_agreed_on_is_an_output() -> None:
    """The learner says None for "nothing found": that is no run without an output."""
    found = measured(lambda sample, r: None, "uniform", Setting("agreed", {"chunks": 4}), 8, size=40)
    assert {(one.apart, one.nothing) for one in found} == {(0.0, 0.0)}
    split = measured(lambda sample, r: float(sample[0]), "uniform", Setting("agreed", {"chunks": 4}), 8, size=40)
    assert {one.nothing for one in split} == {1.0}
    for learner, losses in ((lambda sample, r: 1.0, {0.0}), (lambda sample, r: float(sample[0]), {None})):
        judged = auditor.subject(accuracy=lambda output, **_: output == 1.0)(learner)
        found = measured(judged, "uniform", Setting("agreed", {"chunks": 4}), 8, size=40)
        assert {one.loss for one in found} == losses, "a run without an output has no loss"
        assert {one.changed for one in found} == {losses == {None}}, "None is another answer"
    r = from_key(root_key(1))
    wrapper = agreed(fails_by_r, 4)
    core = [Leader("none", 1.0, None)]
    assert wrapper.agreed_on(core, r) is core[0]
    assert wrapper.agreed_on([Leader("none", 0.4, None)], r) is None


@pytest.mark.parametrize(
    ("view", "keeps_view", "within", "kind", "measure", "has"),
    [
        ("output", True, None, "exact", "rho", True),
        ("output", False, None, "exact", "rho", True),
        ("round(1)", False, None, "exact", "rho", True),  # the wrapper's own output is compared
        ("round(1)", True, None, "exact", "rho", False),
        ("output", True, "atol", "exact", "rho", False),
        ("output", True, None, "upper", "rho", False),
        ("output", True, None, "exact", "churn", False),
    ],
)
def test_a_formula_counts_where_it_is_about_what_is_compared(
    view: str, keeps_view: bool, within: str | None, kind: str, measure: str, has: bool
) -> None:
    wrapper = SimpleNamespace(mismatch=len, mismatch_is=kind, is_estimator=False)
    unit: Any = SimpleNamespace(settings=[SimpleNamespace(keeps_view=keeps_view)], wrapped=[wrapper], measure=measure)
    bench: Any = SimpleNamespace(within=within, view=SimpleNamespace(spec=view))
    assert FrontierUnit._has_formula(unit, bench, 0) is has
    wrapper.mismatch = None
    assert not FrontierUnit._has_formula(unit, bench, 0)
