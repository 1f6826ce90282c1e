"""An explanation step by step, from counts by hand: what is run next, when a cause is named, and what is said of it."""

from __future__ import annotations

import math
from inspect import Parameter, signature
from typing import Any

import numpy as np
import pytest
from learners import caused
from msgspec.structs import replace
from support.requests import bench_of, cell_of, inquiry_of, served

from auditor.errors import SubjectError, UsageError
from auditor.flow.question import Work
from auditor.flow.verdict import MAX_PAIRS, Plan, Tally
from auditor.questions.explain import Explain, units, words
from auditor.questions.explain.answer import (
    Cause,
    ExperimentRow,
    ExplainAnswer,
    FreshRows,
    LocalValue,
    answer_of,
)
from auditor.questions.explain.conclusion import causes_of
from auditor.questions.explain.evidence import ExperimentCounts
from auditor.questions.explain.experiments import EXPERIMENTS
from auditor.questions.explain.inquiry import LOOK, PLAIN, ExplainInquiry
from auditor.questions.explain.units import local_apart, moved, other_r, same_again
from auditor.statistics.interval import two_sided
from auditor.statistics.without_cause import Changed, log_evidence_against
from auditor.trials.trial import Trial, Unit
from auditor.values import Difference

DIFFERS = Difference("output", "0", "1")
TRAITS = {"rows": True, "floats": True, "labels": True, "order": True, "numbers": 1, "jump": 0.1, "farthest": 1.0}


def trial(index: int, *, differs: bool = False, **payload: Any) -> Trial:
    return Trial(index, DIFFERS if differs else None, None, 0.0, payload=payload)


def begun(
    budget: int = 6000, each: int = 1000, target: float = 0.1, pairs: str = "", size: int = 40, **options: Any
) -> Any:
    """An inquiry in which all experiments fit; of the pairs that were run, those marked 1 differ."""
    inquiry = ExplainInquiry(
        cell_of(caused.own_generator, "norm", size=size), Plan(target, 0.95, "anytime", budget), each, **options
    )
    for cell in (LOOK, PLAIN):
        inquiry.opened(cell, bench_of(caused.own_generator, "norm", size=size))
    for index in range(8):
        inquiry.add(LOOK, trial(index, **TRAITS, gaps=[0.1], values=[index / 10]))
    inquiry.choose_experiments()
    for index, mark in enumerate(pairs):
        inquiry.add(PLAIN, trial(index, differs=mark == "1"))
    for one in inquiry.experiments:  # nothing is left to run of what must not matter
        one.twice = 24 if pairs and one.experiment.must_not_matter else 0
    return inquiry


def works(inquiry: Any) -> dict[str, range]:
    return {inquiry.cells[work.cell].name: work.wanted for work in inquiry.wanted()}


def settle_all(inquiry: Any, *but: str) -> None:
    for one in inquiry.tests:
        if one.kind not in (*but, "hash-seed", "threads"):
            one.error = SubjectError("not here")


# What is run next.


def test_pairs_are_looked_at_then_run_as_they_are_then_in_other_processes() -> None:
    inquiry: Any = inquiry_of(caused.raw_mean, "norm", "explain", size=20)
    bench = bench_of(caused.raw_mean, "norm", size=20)
    inquiry.opened(LOOK, bench)
    steps = inquiry.steps()
    [looked_at] = next(steps)
    assert looked_at == Work(LOOK, range(8))
    first = steps.send([served(looked_at, lambda cell, index: units.look_at_outputs(bench, index, {}))])
    names = {inquiry.cells[work.cell].name: work.wanted for work in first}
    assert names == {"as it is": range(8), "hidden-state, one sample twice": range(8)}
    inquiry = begun()
    assert not [one.kind for one in inquiry.experiments if one.why_not]
    inquiry.differs = [True] * 8
    assert works(inquiry) == {"hash-seed, one sample twice": range(24)}


def test_threads_are_asked_for_one_sample_after_the_other_that_differs_elsewhere() -> None:
    """A sample with the same output under another hash seed and with all threads counts for both."""
    inquiry = begun(pairs="1" * 8)
    seeds, threads = inquiry.of("hash-seed"), inquiry.of("threads")
    seeds.twice = threads.twice = 0
    for index, apart in enumerate([False, True, False, True] + [False] * 20):
        inquiry.add(seeds.twice_cell, trial(index, runs=5, apart=apart, turns=[]))
    assert (seeds.twice, threads.twice, inquiry.samples_apart) == (24, 22, [1, 3])
    for index in (1, 3):
        assert works(inquiry) == {"threads, one sample twice": range(index, index + 1)}
        inquiry.add(threads.twice_cell, trial(index, runs=2, turns=[]))
    assert "threads, one sample twice" not in works(inquiry)
    inquiry.samples_apart.append(5)
    assert "threads, one sample twice" in works(inquiry)
    for stop in ({"error": SubjectError("not here")}, {"twice_outcomes": Changed(before=12)}):
        inquiry = begun(pairs="1" * 8)
        inquiry.samples_apart = [5]
        assert "threads, one sample twice" in works(inquiry)
        for name, value in stop.items():
            setattr(inquiry.of("threads"), name, value)
        assert "threads, one sample twice" not in works(inquiry)


def test_where_outputs_differ_from_run_to_run_eight_samples_are_run_with_all_threads() -> None:
    inquiry = begun(pairs="10" * 20)
    hidden, threads = inquiry.of("hidden-state"), inquiry.of("threads")
    hidden.shown, hidden.first_shown, threads.twice = 1, 3, 0
    assert works(inquiry) == {"threads, one sample twice": range(8)}
    threads.twice = 8
    assert works(inquiry) == {"without hidden-state": range(32), "what moved": range(3, 4)}
    hidden.pairs = 32
    inquiry.payloads[inquiry.details["what moved"]] = [{}]
    settle_all(inquiry, "row-order")
    order = inquiry.of("row-order")
    order.pairs, order.twice, order.outcomes = 40, 8, Changed(both=1)
    assert works(inquiry) == {"as it is": range(40, 60)}, "up to 100 pairs, where hidden state blurs all else"
    inquiry.differs = [True, False] * 48
    order.pairs = 96
    assert works(inquiry) == {"as it is": range(96, 100)}
    inquiry.differs = [True, False] * 50
    order.pairs = 100
    assert works(inquiry) == {}


def test_every_experiment_that_is_not_settled_runs_the_pairs_that_were_run() -> None:
    inquiry = begun(pairs="1" * 40)
    assert works(inquiry) == {
        **{f"without {kind}": range(40) for kind in ("row-order", "rounding-noise", "desync", "too-little-data")},
        "row-order, one sample twice": range(8),
        "without r-unused": range(32),
        "r-unused, one sample twice": range(40),
    }
    inquiry = begun(pairs="1" * 500)
    assert works(inquiry)["r-unused, one sample twice"] == range(400)
    inquiry.of("r-unused").twice = inquiry.of("r-unused").nothing_drawn = 1
    assert works(inquiry)["r-unused, one sample twice"] == range(1, 500), "where no bit of r was drawn"


@pytest.mark.parametrize(
    ("pairs", "budget", "each", "wanted"),
    [
        (8, 6000, 1000, range(8, 16)),
        (40, 6000, 1000, range(40, 60)),
        (990, 6000, 1000, range(990, 1000)),
        (1000, 6000, 1000, None),
        (40, 40 + 6 + 3 * 7, 1000, range(40, 47)),  # of what is left each of three cells may have seven, and six stay
        (40, 40 + 6 + 3 * 8 - 1, 1000, range(40, 47)),
        (40, 40 + 6 + 2, 1000, None),
    ],
)
def test_more_pairs_are_run_by_half_while_all_can_follow(
    pairs: int, budget: int, each: int, wanted: range | None
) -> None:
    inquiry = begun(budget, each, pairs="1" * pairs)
    settle_all(inquiry, "row-order")
    one, inquiry.total = inquiry.of("row-order"), pairs
    one.pairs, one.twice, one.outcomes = pairs, 8, Changed(both=1)
    inquiry.counted[inquiry.of("hidden-state").twice_cell].tally = Tally(100, 0)
    assert works(inquiry).get("as it is") == wanted


def test_no_more_is_run_than_the_budget_allows() -> None:
    inquiry = begun(budget=100, pairs="1" * 40)
    inquiry.total = 40
    assert sum(map(len, works(inquiry).values())) == 60
    inquiry.total = 100
    assert works(inquiry) == {}


def unexplained(pairs: int = 60) -> Any:
    """Half of the pairs differ, eight samples that were run twice do not, and no experiment can be made."""
    inquiry = begun(pairs="10" * (pairs // 2))
    settle_all(inquiry)
    inquiry.counted[inquiry.of("hidden-state").twice_cell].tally = Tally(8, 0)
    return inquiry


@pytest.mark.parametrize(("pairs", "most"), [(60, 60), (98, 98), (100, 100), (160, 100)])
def test_where_no_cause_is_shown_more_samples_are_run_twice(pairs: int, most: int) -> None:
    """As many as there are pairs, until one has two outputs: a private coin in 4 % of all runs shows in 8 % of them."""
    inquiry = unexplained(pairs)
    hidden = inquiry.of("hidden-state")
    hidden.error = "it cannot be run"
    assert inquiry._twice(hidden, most) == []
    hidden.error = None
    assert works(inquiry) == {"hidden-state, one sample twice": range(8, most)}
    assert not inquiry.add(hidden.twice_cell, trial(8))
    assert inquiry.add(hidden.twice_cell, trial(9, differs=True))
    assert inquiry.is_cause(hidden)


def test_rare_hidden_state_is_sought_before_more_than_a_hundred_pairs_and_not_beside_a_cause() -> None:
    for pairs, first in ((98, "as it is"), (100, "hidden-state, one sample twice")):
        inquiry = unexplained(pairs)
        order = inquiry.of("row-order")
        order.error, order.pairs, order.twice = None, pairs, 8
        order.outcomes = Changed(both=1)
        assert [*works(inquiry)] == [first]
    inquiry = unexplained()
    inquiry.of("threads").twice_outcomes = Changed(before=12)
    assert "hidden-state, one sample twice" not in works(inquiry)


def test_in_the_end_rows_are_replaced_and_local_values_compared() -> None:
    inquiry = begun(pairs="0011" * 10, traces=True)
    settle_all(inquiry)
    inquiry.counted[inquiry.of("hidden-state").twice_cell].tally = Tally(100, 0)
    assert works(inquiry) == {"local values": range(2, 3), "rows replaced": range(5)}
    inquiry.failed(inquiry.details["rows replaced"], SubjectError("no"))
    inquiry.add(inquiry.details["local values"], trial(2))
    assert works(inquiry) == {}, "what has failed is not tried again"
    for change in ({"looked": [{"rows": False}] * 8}, {"traces": False}):
        inquiry = unexplained()
        inquiry.counted[inquiry.of("hidden-state").twice_cell].tally = Tally(100, 0)
        for name, value in change.items():
            setattr(inquiry, name, value)
        assert [*works(inquiry)] == ([] if "looked" in change else ["rows replaced"])


def test_nothing_more_is_run_once_rho_is_within_the_target() -> None:
    inquiry = begun(pairs="0" * 120 + "1")
    assert inquiry.is_passed()
    assert works(inquiry) == {}
    assert not any(inquiry.is_cause(one) for one in inquiry.experiments)


@pytest.mark.parametrize("unit", [same_again, moved, local_apart, other_r])
def test_a_run_that_ends_its_process_is_not_tried_again(unit: Unit) -> None:
    """In a worker it would end that, and every worker that is started in its place."""
    called = []
    found = unit(bench_of(lambda sample, r: called.append(1), "norm", size=2), 0, {0: "it ended its process"})
    assert (found.difference, called) == (None, [])
    assert (found.seconds, (found.payload or {})["runs"]) == (0.0, 0)


def test_a_look_at_local_values_takes_two_runs() -> None:
    found = local_apart(bench_of(lambda sample, r: 1.0, "norm", size=2), 0, {})
    assert found.payload == {"runs": 2}


@pytest.mark.parametrize(
    ("unit", "first", "second", "of"),
    [
        (units.other_order, 2, 0, 2),  # the first run of a pair, twice
        (units.sorted_rows, 2, 2, 4),
        (units.beyond_noise, 5, 5, 10),
        (units.r_of_its_own, 1, 1, 2),
    ],
)
def test_a_unit_runs_the_runs_of_its_pair(unit: Unit, first: int, second: int, of: int) -> None:
    bench = bench_of(lambda sample, r: float(sample[0] + r.random()), "norm", size=6)
    for fell, count in (({}, 0), ({0: "it ended its process"}, first), ({1: "it ended its process"}, second)):
        found = unit(bench, 0, fell)
        assert (len(found.bottoms), (found.payload or {})["runs"]) == (count, of)


# When an experiment ends, and when a cause is named.


@pytest.mark.parametrize(
    ("turns", "kinds"),
    [
        (Changed(9, 0, 0), ["threads"]),
        (Changed(8, 0, 0), ["hidden-state"]),
        (Changed(12, 1, 0), ["hidden-state"]),
        (Changed(30, 1, 0), ["hidden-state", "threads"]),
        (Changed(9, 0, 1), ["hidden-state", "threads"]),
    ],
)
def test_threads_are_behind_what_is_steady_in_one_and_often_another_with_all(turns: Changed, kinds: list[str]) -> None:
    """Outputs differ from run to run. Nine turns of ten tests are enough to name threads; a run with one thread that
    gives another output than the one before is hidden state, whatever threads do."""
    inquiry = begun()
    inquiry.of("hidden-state").shown = 1
    inquiry.of("threads").twice_outcomes = turns
    assert len(inquiry.tests) == 10
    assert [one.kind for one in inquiry.experiments if inquiry.is_cause(one)] == kinds
    inquiry.of("hash-seed").twice_outcomes = Changed(after=1)
    assert inquiry.is_cause(inquiry.of("hidden-state"))


def test_an_experiment_that_cannot_tell_its_change_from_its_sham_ends() -> None:
    inquiry = unexplained()
    one = inquiry.of("rounding-noise")
    one.pairs = 32
    assert inquiry.is_settled(one)
    one.pairs = 30
    assert not inquiry.is_settled(one), "of fifteen pairs that differ"
    one.pairs, one.outcomes = 32, Changed(before=1)
    assert not inquiry.is_settled(one)


@pytest.mark.parametrize(
    ("kind", "nothing", "left"), [("row-order", 0, 0.75), ("r-unused", 0, 0.25), ("r-unused", 1, 0.75)]
)
def test_an_experiment_is_given_up_at_twenty_to_one_against_it(kind: str, nothing: int, left: float) -> None:
    inquiry, ends = begun(pairs="10" * 20), []
    for both in range(1, 60):
        one = inquiry.of(kind)
        one.outcomes = one.twice_outcomes = Changed(both=both)
        one.twice = one.pairs = both
        one.nothing_drawn = nothing * both
        is_over = log_evidence_against(Changed(both=both), left) >= math.log(20)
        assert inquiry.is_settled(one) == is_over
        ends.append(is_over)
    assert {*ends} == {False, True}


def test_a_sample_in_which_the_run_ended_its_process_names_no_unused_r() -> None:
    """Which of the two r ended it nobody knows, so that it is no sample on which a fresh r changes nothing."""
    bench = bench_of(lambda sample, r: 0, "norm", size=2)
    one = next(ExperimentCounts(experiment) for experiment in EXPERIMENTS if experiment.kind == "r-unused")
    assert not one.is_without_r(), "before any run"
    one.add_twice(other_r(bench, 0, {0: "it ended its process"}))
    assert (one.twice_outcomes, one.shown, one.is_without_r()) == (Changed(both=1), 0, False)
    one.add_twice(other_r(bench, 0, {}))
    assert one.twice_outcomes == Changed(both=1)


def test_the_first_difference_beyond_last_digits_is_the_one_that_is_shown() -> None:
    one = ExperimentCounts(EXPERIMENTS[3])
    for index, close in enumerate([True, True, False, False]):
        one.add_twice(replace(trial(index, close=close), difference=Difference(f"output[{index}]", "0", "1")))
    assert (one.twice, one.shown, one.beyond, one.first_shown, one.path) == (4, 4, 2, 2, "output[2]")


def test_draws_that_shift_later_ones_are_told_before_those_that_do_not() -> None:
    one = ExperimentCounts(EXPERIMENTS[5])
    for index, shifts in enumerate([False, True, True]):
        one.add_details(trial(index, where=f"a.py:{index}", shifts=shifts, drawn=[index, 1, "values"]))
    assert (one.where, one.shifts, one.drawn) == ("a.py:1", True, [1, 1, "values"])


TRAITS_OF = {  # one thing changed in the pairs that are looked at, or the size: the experiment, and why it does not fit
    "rows": ({"rows": False}, 40, "row-order", "no rows"),
    "floats": ({"floats": False}, 40, "rounding-noise", "no floating-point numbers"),
    "polars": ({"floats": False, "table": "polars DataFrame"}, 40, "rounding-noise", "no noise can be put on a polars"),
    "numbers": ({"numbers": 0}, 40, "continuous", "no floating-point numbers"),
    "equal": ({"gaps": [0.0]}, 40, "continuous", "do not differ"),
    "few": ({"values": [1.0]}, 40, "continuous", "few values"),
    "jumps": ({"jump": 0.51}, 16, "continuous", "one fresh row"),
    "a jump": ({"jump": 0.5}, 16, "continuous", ""),
    "few rows": ({"jump": 0.51}, 15, "continuous", ""),
    "texts": ({"gaps": None}, 40, "continuous", "do not differ"),
    "labels": ({"labels": False}, 40, "labels", "no labels"),
    "order": ({"order": False}, 40, "output-order", "no list"),
    "none": ({}, 0, "too-little-data", "no sample"),
}


@pytest.mark.parametrize("name", TRAITS_OF)
def test_what_does_not_fit_is_not_run_with_the_reason(name: str) -> None:
    change, size, kind, reason = TRAITS_OF[name]
    looked = [{**TRAITS, "gaps": [0.1], "values": [index / 10], **change} for index in range(8)]
    experiment = next(one for one in EXPERIMENTS if one.kind == kind)
    found = experiment.why_not(looked, replace(bench_of(caused.raw_mean, "norm", size=9), size=size))
    assert (bool(found), reason in found) == (bool(reason), True)


@pytest.mark.parametrize(("rows", "fits"), [(7, False), (8, True)])
def test_a_data_set_has_a_quarter_from_eight_rows_on(rows: int, fits: bool) -> None:
    bench = bench_of(caused.raw_mean, np.arange(1.0 * rows), resample="bootstrap")
    assert (EXPERIMENTS[-1].why_not([], bench) == "") == fits


@pytest.mark.parametrize(("distinct", "fits"), [(4, False), (5, True)])
def test_a_number_is_continuous_if_more_than_half_of_the_outputs_have_their_own(distinct: int, fits: bool) -> None:
    looked = [{**TRAITS, "gaps": [0.1], "values": [min(index, distinct - 1)]} for index in range(8)]
    bench = bench_of(caused.raw_mean, "norm", size=9)
    assert (EXPERIMENTS[6].why_not(looked, bench) == "") == fits


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"measure": "churn"}, "--measure churn"),
        ({"fixed": 9}, "--fixed 9"),
        ({"inputs": "[1]"}, "--inputs"),
        ({"pairs": 15}, "pairs"),
        ({"pairs": 2 * MAX_PAIRS}, "nobody waits for"),
        ({"rho": 1e-12}, "no audit finishes"),
        ({"confidence": 2.0}, "confidence"),
    ],
)
def test_options_of_other_designs_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        inquiry_of(caused.raw_mean, "norm", "explain", size=10, **options)


def test_all_experiments_have_six_times_the_pairs_of_one() -> None:
    for options, each in (({"pairs": 16}, 16), ({}, 1000), ({"rho": 0.3}, 334), ({"rho": 0.5}, 200)):
        inquiry: Any = inquiry_of(caused.raw_mean, "norm", "explain", size=10, **options)
        assert (inquiry.each, inquiry.plan.budget) == (each, 6 * each)


# What is said.


def test_all_intervals_of_a_record_share_the_error() -> None:
    """Those of causes that must not matter, of samples that are run twice and of pairs that are looked at, too."""
    inquiry = begun()
    inquiry.differs = [True] * 3 + [False] * 7
    for one in (*inquiry.counted, *inquiry.experiments):
        if isinstance(one, ExperimentCounts):
            one.pairs, one.mismatches = 10, 3
        else:
            one.tally = Tally(10, 3)
    answer = inquiry.answer()
    rows: list[Any] = [answer.rho, *answer.rows, *answer.fields.experiments]
    twins = 1 + sum(one.changed_cell is not None for one in inquiry.experiments)  # rows of a cell and an experiment
    assert {(one.low, one.high) for one in rows} == {two_sided("anytime", 10, 3, 1 - 0.05 / (len(rows) - twins))}


def counts(inquiry: Any, kind: str, before: int = 16, after: int = 0, **fields: Any) -> Any:
    """Let a cause be shown by so many mismatches of 20 pairs."""
    one = inquiry.of(kind)
    one.pairs, one.before, one.mismatches, one.outcomes = 20, before, after, Changed(before - after, 0, after)
    for name, value in fields.items():
        setattr(one, name, value)
    return one


FEW = "15 of 20 pairs of runs disagreed, because"
SAID: dict[str, tuple[dict[str, Any], str, str]] = {  # what was counted, the headline, and the message
    "hidden-state": (
        {"before": 0, "twice": 8, "shown": 3, "beyond": 3},
        "The same sample and r, run again, gave another output in 3 of 8 samples, because the answer depends on more "
        "than the sample and r (hidden-state).",
        "The answer depends on more than the sample and r. The same sample and r, run again, gave another output in 3 "
        "of 8 samples.",
    ),
    "hash-seed": (
        {"twice": 24, "shown": 1, "turns": 12, "twice_outcomes": Changed(11, 0, 1), "beyond": 1, "after": 2},
        "The same sample and r in a process with another PYTHONHASHSEED gave another output in 1 of 24 samples (in 12 "
        "of 12 further runs; with nothing changed in 1), because the answer depends on the hash seed of the process "
        "(hash-seed).",
        "The answer depends on the hash seed of the process. The same sample and r in a process with another "
        "PYTHONHASHSEED gave another output in 1 of 24 samples (in 12 of 12 further runs; with nothing changed in 1). "
        "16 of 20 pairs differ; with one hash seed for all runs, 2 do.",
    ),
    "row-order": (
        {"before": 15, "after": 1, "twice": 8, "shown": 2},
        f"{FEW} the answer depends on the order of the rows (row-order). With the rows sorted, 19 of 20 pairs agree.",
        "The answer depends on the order of the rows. The same rows in another order gave another output in 2 of 8 "
        "samples, but only in last digits. 15 of 20 pairs differ; with the rows sorted, 1 does.",
    ),
    "continuous": (
        {"before": 20, "after": 1},
        "No two runs agreed, because the answer is a raw number with all its digits (continuous). Rounded to a shared "
        "random grid, 19 of 20 pairs agree.",
        "The answer is a raw number with all its digits. 20 of 20 pairs differ; rounded to a shared random grid, 1 "
        "does.",
    ),
    "desync": (
        {"before": 20, "drawn": [3, 3, "calls"], "where": "fit.py:7"},
        "No two runs agreed, because the two runs draw from r out of step (desync). With the draws from r kept in "
        "step, all 20 pairs agree.",
        "The two runs draw from r out of step. The two runs of a pair drew as many values in 3 and 3 calls at "
        "fit.py:7. 20 of 20 pairs differ; with the draws from r kept in step, none do.",
    ),
    "r-unused": (
        {"twice": 40, "shown": 1, "before": 15, "after": 14, "twice_outcomes": Changed(before=39, both=1)},
        "No two runs agreed, because the shared r takes too little part in the answer (r-unused): a fresh r changed 1 "
        "of 40 outputs.",
        "The shared r takes too little part in the answer. A fresh r changed the output in 1 of 40 samples. 15 of 20 "
        "pairs differ with a shared r; with an r of its own for each run, 14 do.",
    ),
    "too-little-data": (
        {"before": 15, "after": 2},
        "No two runs agreed, because there are too few rows to settle the answer (too-little-data). With 40 rows 15 of "
        "20 pairs differ; with 160, 2 do.",
        "There are too few rows to settle the answer. With 40 rows 15 of 20 pairs differ; with 160, 2 do.",
    ),
}


@pytest.mark.parametrize("kind", SAID)
def test_a_cause_is_said_in_plain_sentences(kind: str) -> None:
    fields, headline, message = SAID[kind]
    inquiry = begun(pairs="1" * 30)
    one = counts(inquiry, kind, **fields)
    assert causes_of(inquiry) == [one]
    assert inquiry.verdict().reason == headline
    assert words.message(inquiry, one) == message
    (cause,) = inquiry.answer().fields.causes
    assert (cause.message, cause.before) == (message, 1.0 if kind == "r-unused" else one.before / 20)


def test_every_kind_has_its_words() -> None:
    assert [*words.WORDS] == [one.kind for one in EXPERIMENTS]


def test_several_numbers_are_raw_numbers() -> None:
    inquiry = begun(pairs="1" * 30)
    inquiry.looked[7]["numbers"] = 2
    counts(inquiry, "continuous")
    assert "because the answer has raw numbers with all their digits (continuous)." in inquiry.verdict().reason


@pytest.mark.parametrize(("after", "first"), [(0, "row-order"), (2, "row-order"), (3, "continuous")])
def test_causes_explain_as_much_up_to_a_tenth_of_rho(after: int, first: str) -> None:
    inquiry = begun(pairs="1" * 30)
    counts(inquiry, "continuous", before=20)
    counts(inquiry, "row-order", before=20, after=after)
    assert causes_of(inquiry)[0].kind == first


@pytest.mark.parametrize(("twice", "shown", "is_enough"), [(8, 1, False), (9, 1, True), (9, 0, False)])
def test_the_first_eight_samples_all_are_run_twice_to_tell_how_often_state_shows(
    twice: int, shown: int, is_enough: bool
) -> None:
    inquiry = begun(pairs="1" * 30)
    assert inquiry._is_enough(counts(inquiry, "hidden-state", twice=twice, shown=shown)) == is_enough


def test_other_causes_are_listed_after_the_main_one() -> None:
    inquiry = begun(pairs="1" * 30)
    for kind in ("labels", "row-order"):
        counts(inquiry, kind)
    assert inquiry.verdict().reason.endswith(
        " agree. Also shown: the answer depends on the order of the rows (row-order)."
    )


def test_causes_that_explain_as_much_are_in_the_order_of_how_particular_they_are() -> None:
    inquiry = begun(pairs="1" * 30)
    order = ["desync", "labels", "output-order", "row-order", "rounding-noise", "continuous", "too-little-data"]
    for kind in [*sorted(order), "r-unused", "threads"]:
        counts(inquiry, kind, twice=40, twice_outcomes=Changed(before=40))
    assert [one.kind for one in causes_of(inquiry)] == ["threads", *order, "r-unused"]


@pytest.mark.parametrize(
    ("widths", "values", "cure"),
    [
        ((0.72,), 0.8, "To reach rho = 0.1, round to a grid of width 0.72: the answer then moves by at most 0.36. In"),
        ((0.72, 73.0), 99.0, "To reach rho = 0.1, round to a grid of width 0.72 to 73, by number: each then moves by"),
        (
            (0.72,),
            0.7,
            "A grid of width 0.72 is wide enough for rho = 0.1, but larger than every number",
        ),
    ],
)
def test_the_cure_of_a_raw_number_is_a_grid(widths: tuple[float, ...], values: float, cure: str) -> None:
    inquiry = begun()
    inquiry.widths, inquiry.looked = widths, [{"values": [-values, 0.1]}]
    found = words.cure(inquiry, inquiry.of("continuous"))
    assert cure in found
    assert ("larger than every" in found) == ("round to a grid" not in found) == (values < max(widths))


@pytest.mark.usefixtures("no_other_process")
@pytest.mark.parametrize(
    ("pairs", "title", "reason"),
    [
        ("", "INCONCLUSIVE", "no pair was run"),
        ("0" * 60, "NOTHING TO EXPLAIN", "All 60 pairs agree: rho is at most 0.1"),
        (
            "1" + "0" * 99,
            "NOTHING TO EXPLAIN",
            "1 of 100 pairs of runs disagreed, which is little enough",
        ),
        ("0" * 5, "NOTHING TO EXPLAIN", "All 5 pairs agree."),
        ("10" * 5, "NO CAUSE FOUND", "5 of 10 pairs of runs disagreed, and none of the causes"),
    ],
)
def test_no_cause_is_an_answer_and_is_called_none(pairs: str, title: str, reason: str) -> None:
    verdict = begun(pairs=pairs).verdict()
    assert verdict.reason.startswith(reason)
    assert verdict.outcome == ("pass" if pairs else "inconclusive")
    assert verdict.decided_by == ("mismatches" if len(pairs) > 50 else "budget")
    record = replace(reported(), verdict=verdict.outcome, decided_by=verdict.decided_by, mismatches=pairs.count("1"))
    assert Explain().title(record) == f"{title}  {record.subject}"
    cause = Cause(kind="labels", before=1.0, after=0.0, message="", where=None, replay=None, cure=None, measure=None)
    if pairs:
        found = replace(record, answer=replace(answer_of(record), causes=[cause]))
        assert Explain().title(found) == f"EXPLAINED  {record.subject}"


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("continuous", "python -m auditor repair learners.caused:own_generator --source norm --size 40 --rho 0.1"),
        ("too-little-data", "python -m auditor price learners.caused:own_generator --source norm --rho 0.1"),
        ("labels", None),
    ],
)
def test_what_a_cure_takes_is_measured_by_another_command(kind: str, command: str | None) -> None:
    """An explanation tries one width and two sizes: a repair and a price find those that it takes."""
    inquiry = begun(pairs="1" * 30)
    counts(inquiry, kind, before=20)
    (cause,) = inquiry.answer().fields.causes
    assert cause.measure == command or (command and str(cause.measure).endswith(f" {command}"))


NOTES: dict[str, tuple[str, dict[str, Any], str, str]] = {  # pairs, what was counted, the state, the note
    "unfit": ("1", {"why_not": "no rows"}, "not run", "no rows"),
    "error": ("1", {"error": SubjectError("it raised")}, "not run", "it could not be run: it raised"),
    "early": ("", {}, "not run", "the audit ended before"),
    "none left": ("1", {}, "not run", "there were no pairs left for it"),
    "no mismatch": ("0", {}, "not run", "there was no mismatch to explain"),
    "nothing": ("1", {"pairs": 1, "before": 1, "mismatches": 1}, "not shown", ""),
    "digits": (
        "1",
        {"pairs": 1, "before": 1, "mismatches": 1, "twice": 8, "shown": 2},
        "not shown",
        "The same rows in another order gave another output in 2 of 8 samples, but only in last digits. 1 of 1 pairs "
        "differ; with the rows sorted, 1 does",
    ),
}


@pytest.mark.parametrize("name", NOTES)
def test_an_experiment_that_shows_no_cause_has_a_note(name: str) -> None:
    pairs, fields, state, note = NOTES[name]
    inquiry = begun(pairs=pairs)
    for field, value in fields.items():
        setattr(inquiry.of("row-order"), field, value)
    (row,) = (one for one in inquiry.answer().fields.experiments if one.kind == "row-order")
    assert (row.state, row.note) == (state, note)
    inquiry.of("hidden-state").shown = 1
    (row,) = (one for one in inquiry.answer().fields.experiments if one.kind == "row-order")
    assert row.note == ("" if state == "not shown" else note), "hidden state blurs what it shows"


def test_a_data_set_compares_a_quarter_of_its_rows_with_all() -> None:
    inquiry = begun(pairs="1" * 30)
    inquiry.opened(PLAIN, bench_of(caused.raw_mean, np.arange(40.0), resample="bootstrap"))
    one = inquiry.of("too-little-data")
    for index in range(20):
        inquiry.add(one.changed_cell, trial(index, differs=True, sham=index < 5))
    assert (one.pairs, one.before, one.mismatches, one.outcomes) == (20, 20, 5, Changed(before=15, both=5))
    assert inquiry.verdict().reason == (
        "No two runs agreed, because there are too few rows to settle the answer (too-little-data). With 40 rows 5 of "
        "20 pairs differ; with 10 of them, 20 do."
    ), "what is said first is about the sample that was asked about"
    assert one.first_gone == 5


def reported(*rows: dict[str, Any], **fields: Any) -> Any:
    """The record of an explanation in which these experiments were made."""
    import auditor

    record = auditor.ask("explain", caused.threshold_from_r, "norm", size=9, rho=0.9, pairs=16)
    answer = answer_of(record)
    first = replace(answer.experiments[0], pairs=10, note="")
    return replace(record, answer=replace(answer, experiments=[replace(first, **row) for row in rows], **fields))


@pytest.mark.usefixtures("no_other_process")
def test_a_report_has_the_causes_the_table_and_the_notes() -> None:
    named: dict[str, Any] = {"before": 1.0, "after": 0.0, "cure": "Sort", "replay": "run it", "measure": "measure it"}
    record = reported(
        {"kind": "labels", "state": "not shown", "note": "Some moved", "after": 10, "estimate": 1.0},
        {"kind": "desync", "state": "not run", "note": "there is none", "pairs": 0},
        {"kind": "row-order", "state": "cause"},
        causes=[
            Cause(kind="row-order", message="Rows.", where="output", **named),
            Cause(
                kind="desync",
                message="At a.py:1.",
                where="a.py:1",
                **{**named, "cure": None, "replay": None, "measure": None},
            ),
        ],
        fresh_rows=FreshRows(median=2, of=9, pairs=5, pair=1, row=3),
        local_value=LocalValue("a.py:2", "x", "1", "2"),
    )
    first, measure, command, second, table, notes, not_run = words.explain_parts(record)
    assert measure.command == "measure it"
    assert first.text == "1. row-order: Rows.\n   where: output\n   what to do: Sort"
    assert command.parts[0].command == "run it"
    assert second.text == "2. desync: At a.py:1."
    assert [row[0] for row in table.rows] == ["as it is", "without row-order (cause)", "without labels"]
    assert [row[-1] for row in table.rows[1:]] == ["0", 18 * "━"]
    assert notes.parts[0].text.splitlines() == [
        "labels: Some moved.",
        "Replacing 2 of 9 rows by fresh ones changes the answer (median of pairs); in pair 1 it turns at row 3.",
        "The first local value that differs although what its line reads does not is x at a.py:2: 1 and 2.",
    ]
    assert not_run.parts[0].text == "Not run: desync (there is none)."
    assert not [*words.explain_parts(replace(record, verdict="error", pairs=0))][4:]


@pytest.mark.usefixtures("no_other_process")
def test_the_table_has_zeros_and_a_picture_needs_no_target() -> None:
    kinds = (("labels", "not shown", 1), ("desync", "cause", 3), ("row-order", "cause", 0))
    rows = [{"kind": kind, "state": state, "after": after, "estimate": after / 10} for kind, state, after in kinds]
    record = replace(reported(*rows), mismatches=0, target=None)
    (_, mismatches, pairs, *_), *lines = words.lines(record, answer_of(record))
    assert (mismatches, pairs) == (0, record.pairs)
    assert [one[0] for one in lines] == ["without row-order", "without desync", "without labels"]
    bars = dict(words.bars_of(record))
    assert {bar.target for bar in bars.values()} == {0.0}
    assert [bar.verdict for bar in bars.values()] == ["fail", "pass", "pass", "inconclusive"]


def test_answers_are_made_by_name() -> None:
    for kind in (Cause, ExperimentRow, FreshRows, ExplainAnswer):
        assert {one.kind for one in signature(kind).parameters.values()} == {Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize(("odds", "ends"), [(19.99, False), (20.0, True), (20.5, True)])
def test_an_experiment_ends_at_evidence_of_twenty_to_one_against_its_cause(
    odds: float, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("auditor.questions.explain.evidence.log_evidence_against", lambda outcomes: math.log(odds))
    assert ExperimentCounts(EXPERIMENTS[3]).is_given_up() is ends
