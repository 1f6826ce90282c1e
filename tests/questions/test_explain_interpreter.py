"""Causes that no pair in one process shows for certain: hidden state, the hash seed, threads. With the processes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from time import sleep
from typing import Any

import numpy as np
import pytest
from learners import caused
from support.requests import bench_of, cell_of

import auditor
from auditor.errors import SubjectError
from auditor.flow.plan import Plan
from auditor.flow.verdict import Tally
from auditor.questions.explain.answer import ExplainAnswer, answer_of
from auditor.questions.explain.evidence import ExperimentCounts
from auditor.questions.explain.experiments import EXPERIMENTS
from auditor.questions.explain.inquiry import ExplainInquiry
from auditor.questions.explain.units import local_apart, moved, other_r, same_again
from auditor.statistics.but_for import Changed
from auditor.statistics.interval import two_sided
from auditor.trials.causes.elsewhere import close_processes
from auditor.trials.trial import Trial, Unit
from auditor.values import Difference

# One worker runs these: each hash seed and each number of threads has a server, which stays.
pytestmark = [pytest.mark.usefixtures("nothing_learnt"), pytest.mark.xdist_group("elsewhere")]


@pytest.fixture(autouse=True)
def processes_end() -> Iterator[None]:
    yield
    close_processes()


def explained(fn: Any, source: object = "norm", **options: Any) -> ExplainAnswer:
    record = auditor.ask("explain", fn, source, **{"size": 20, "pairs": 40, **options})
    print(record.reason)
    assert record.exit_code == 0
    return answer_of(record)


def test_a_generator_that_goes_on_is_hidden_state_with_its_line() -> None:
    answer = explained(caused.own_generator)
    main = answer.causes[0]
    assert main.kind == "hidden-state"
    assert "GENERATOR" in main.message
    assert "caused.py:" in (main.where or "")
    assert main.after == 0
    assert main.before is not None
    assert main.before > 0.5
    assert main.cure == "Draw from r instead"
    assert not {"hash-seed", "threads"} & {cause.kind for cause in answer.causes}


def test_what_an_earlier_run_left_is_hidden_state_though_every_pair_agrees() -> None:
    main = explained(caused.remembers_r).causes[0]
    assert main.kind == "hidden-state"
    assert "ANSWERS" in main.message
    assert main.before == 0


def test_what_only_the_first_run_of_all_leaves_is_found_where_nothing_has_run() -> None:
    main = explained(caused.keeps_the_first).causes[0]
    assert main.kind == "hidden-state"
    assert "FIRST" in main.message
    assert "caused.py:" in (main.where or "")
    assert main.before == 0


def test_the_order_of_a_set_is_the_hash_seed() -> None:
    answer = explained(caused.iterates_a_set, "norm(4)")
    main = answer.causes[0]
    assert main.kind == "hash-seed"
    assert "PYTHONHASHSEED" in main.message
    assert "sorted" in (main.cure or "")


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
    inquiry = ExplainInquiry(cell_of(caused.own_generator, "norm", size=9), Plan(0.1, 0.95, "anytime", 6000), 1000)
    inquiry.of("hidden-state").shown = 1
    inquiry.of("threads").twice_outcomes = turns
    assert [one.kind for one in inquiry.experiments if inquiry.is_cause(one)] == kinds


def unexplained() -> Any:
    """Thirty of sixty pairs differ, eight samples that were run twice do not, and no experiment can be made."""
    inquiry = ExplainInquiry(cell_of(caused.own_generator, "norm", size=9), Plan(0.1, 0.95, "anytime", 6000), 1000)
    inquiry.looked, inquiry.has_begun, inquiry.differs = [{}] * 8, True, [True, False] * 30
    for one in inquiry.experiments:
        one.twice = 24
        one.error = None if one.experiment.must_not_matter else SubjectError("not here")
    inquiry.counted[inquiry.of("hidden-state").twice_cell or 0].tally = Tally(8, 0)
    return inquiry


def test_where_no_cause_is_shown_more_samples_are_run_twice() -> None:
    """As many as there are pairs, until one has two outputs: a private coin in 4 % of all runs shows in 8 % of them."""
    inquiry = unexplained()
    hidden = inquiry.of("hidden-state")
    (work,) = inquiry.next()
    assert (work.cell, work.wanted) == (hidden.twice_cell, range(8, 60))
    assert not inquiry.add(hidden.twice_cell, Trial(8, None, None, 0.0))
    assert inquiry.add(hidden.twice_cell, Trial(9, Difference("output", "0", "1"), None, 0.0))
    assert inquiry.is_cause(hidden)
    inquiry = unexplained()
    inquiry.of("threads").twice_outcomes = Changed(before=12)
    assert hidden.twice_cell not in [work.cell for work in inquiry.next()]


def test_an_experiment_that_cannot_tell_its_change_from_its_sham_ends() -> None:
    inquiry = unexplained()
    one = inquiry.of("rounding-noise")
    one.pairs = 32
    assert inquiry.is_settled(one)
    one.pairs = 30
    assert not inquiry.is_settled(one), "of fifteen pairs that differ"
    one.pairs, one.outcomes = 32, Changed(before=1)
    assert not inquiry.is_settled(one)


def test_all_intervals_of_a_record_share_the_error() -> None:
    """Those of causes that are certain, of samples that are run twice and of pairs that are looked at, too."""
    inquiry = ExplainInquiry(cell_of(caused.own_generator, "norm", size=9), Plan(0.1, 0.95, "anytime", 6000), 1000)
    inquiry.looked, inquiry.widths, inquiry.differs = [{"values": []}], (1.0,), [True] * 3 + [False] * 7
    for one in (*inquiry.counted, *inquiry.experiments):
        if isinstance(one, ExperimentCounts):
            one.pairs, one.mismatches = 10, 3
        else:
            one.tally = Tally(10, 3)
    answer = inquiry.answer()
    rows: list[Any] = [answer.rho, *answer.rows, *answer.fields.experiments]
    twins = 1 + sum(
        one.changed_cell is not None for one in inquiry.experiments
    )  # what a cell and an experiment have in common
    assert {(one.low, one.high) for one in rows} == {two_sided("anytime", 10, 3, 1 - 0.05 / (len(rows) - twins))}


@pytest.mark.parametrize("unit", [same_again, moved, local_apart, other_r])
def test_a_run_that_ends_its_process_is_not_tried_again(unit: Unit) -> None:
    """In a worker it would end that, and every worker that is started in its place."""
    called = []
    trial = unit(bench_of(lambda sample, r: called.append(1), "norm", size=2), 0, {0: "it ended its process"})
    assert (trial.difference, called) == (None, [])


def test_r_that_may_decide_whether_a_run_ends_its_process_is_not_said_to_be_unused() -> None:
    """Which of the two r ended it nobody knows, so that it is no sample on which a fresh r changes nothing."""
    bench = bench_of(lambda sample, r: 0, "norm", size=2)
    one = next(ExperimentCounts(experiment) for experiment in EXPERIMENTS if experiment.kind == "r-unused")
    one.add_twice(other_r(bench, 0, {0: "it ended its process"}))
    assert (one.twice_outcomes, one.shown, one.is_without_r()) == (Changed(both=1), 0, False)
    one.add_twice(other_r(bench, 0, {}))
    assert one.twice_outcomes == Changed(both=1)


@pytest.mark.nightly
def test_whoever_comes_first_is_threads_and_no_hidden_state() -> None:
    def slow(turn: int) -> int:
        sleep(0.002 * (3 - turn))
        return turn

    def in_order_of_arrival(sample: Any, r: np.random.Generator) -> list[int]:
        with ThreadPoolExecutor(4) as pool:
            return [done.result() for done in as_completed([pool.submit(slow, turn) for turn in range(4)])]

    answer = explained(in_order_of_arrival)
    kinds = [cause.kind for cause in answer.causes]
    assert kinds[0] == "threads"
    assert "hidden-state" not in kinds


def test_the_first_local_value_that_differs_is_a_hint() -> None:
    def drawn(sample: Any, r: np.random.Generator) -> int:
        mine = caused.GENERATOR.integers(1000)
        return int(mine)

    answer = explained(drawn, trace=True)
    assert answer.local_value is not None
    assert answer.local_value.name == "mine"
