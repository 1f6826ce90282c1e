"""Is the worst source found, confirmed and made simple; and is what is said of the rest of the family true?

Where chance is involved all seeds are fixed: a run is a function of its seed, so that a pass stays one.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learners import hunted
from learners.finished import rounded
from scipy.stats import binom
from support.requests import ask, inquiry_of, request_of, served

from auditor.errors import SubjectError, UsageError
from auditor.flow.fitness import Fitness
from auditor.flow.parts import Chart
from auditor.flow.question import Work, drive
from auditor.flow.record import Record, to_json
from auditor.flow.verdict import Tally
from auditor.questions.hunt.answer import _level, _map, _tiles, answer_of, hunt_parts
from auditor.questions.hunt.family import make_family
from auditor.questions.hunt.inquiry import Hunt
from auditor.questions.hunt.search import Search
from auditor.report.pictures.svg import picture
from auditor.report.terminal import as_text
from auditor.statistics.digits import at_most
from auditor.statistics.interval import sequence_upper
from auditor.statistics.worst_case import share_of
from auditor.trials.trial import Trial

FEW_PAIRS = 1000
KEYS = {"worst", "candidates", "faulted", "pairs_search", "pairs_confirm", "largest_bound", "not_excluded"}


def hunt(subject: Any, over: object = None, **options: Any) -> Record:
    return ask("hunt", subject, **{"over": over, "pairs": FEW_PAIRS, **options})


@pytest.fixture(scope="module")
def majority() -> Record:
    return hunt("learners.hunted:majority", "bernoulli({p})", range="p=0:1", size=101)


def exact(p: float, size: int = 101) -> float:
    q = float(binom.sf(size // 2, size, p))
    return 2 * q * (1 - q)


def test_the_worst_coin_of_a_majority_is_found_confirmed_and_made_round(majority: Record) -> None:
    answer = answer_of(majority)
    assert majority.verdict == "fail"
    assert majority.exit_code == 1
    assert answer.worst is not None
    assert answer.worst.source == "bernoulli(0.5)"
    assert answer.worst.values == {"p": 0.5}
    assert answer.worst.low <= 0.5 <= answer.worst.high
    assert answer.found is not None
    assert answer.found.low <= exact(answer.found.values["p"]) <= answer.found.high
    assert exact(answer.found.values["p"]) >= 0.9 * 0.5


def test_the_record_says_how_hard_was_looked(majority: Record) -> None:
    said, answer = json.loads(to_json(majority))["answer"], answer_of(majority)
    assert said["question"] == "hunt"
    assert set(said) >= KEYS
    assert set(said["worst"]) >= {"source", "values", "command"}
    candidates, tries = majority.cells[: answer.candidates], majority.cells[answer.candidates :]
    assert answer.pairs_search == sum(row.pairs for row in candidates) <= FEW_PAIRS
    assert answer.pairs_confirm == sum(row.pairs for row in tries)
    assert 0.5 <= answer.largest_bound <= max(row.high for row in candidates)
    assert all(exact(one[0]) <= row.high for one, row in zip(answer.values, candidates, strict=True))
    assert len({row.seed for row in candidates}) == 1  # common random numbers
    assert len({row.seed for row in tries} | {candidates[0].seed}) == len(tries) + 1  # and none of them again
    assert majority.rho is not None
    assert majority.measures[0].low == majority.rho.low


def test_the_pair_that_is_shown_is_of_the_source_that_is_named(majority: Record) -> None:
    """It was found as another number, whose pairs nobody wants to see any more."""
    (named,) = [row for row in majority.cells if row.source == "bernoulli(0.5)" and row.name.count("confirmation")]
    assert majority.examples
    assert {majority.cells[one.cell].seed for one in majority.examples} == {named.seed}
    assert all(f"--seed {named.seed} " in str(one.replay) for one in majority.examples)


@pytest.mark.parametrize(("above", "spent"), [(True, range(8000, 14_000)), (False, range(19_000, 20_001))])
def test_a_search_ends_where_the_worst_is_above_the_goal_and_gets_no_worse(above: bool, spent: range) -> None:
    """rho = 0.5 near 0.7 and nearly 0 elsewhere; six rounds of no change, and a third as many pairs for the choice."""
    search, rng = Search(1, 20_000, 0, 0.1 if above else 0.6), np.random.default_rng(0)
    for who, pairs in search.rounds():
        for one in who:
            for differs in rng.random(pairs) < 0.5 * math.exp(-(((search.tried[one].place[0] - 0.7) / 0.1) ** 2)):
                search.tried[one].add(float(differs))
    assert search.is_settled == above
    assert search.spent in spent
    assert abs(search.tried[search.best(1)[0]].place[0] - 0.7) < 0.05


def test_an_interrupt_in_the_preflight_of_a_later_candidate_takes_no_step_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All candidates of a round have their preflights before its first pair."""
    begun, looked = [], []
    steps, check = Hunt.steps, Fitness.check

    def checked(self: Fitness, *args: Any) -> Any:
        looked.append(1)
        if len(looked) == 5:
            raise KeyboardInterrupt
        return check(self, *args)

    monkeypatch.setattr(Hunt, "steps", lambda self: (begun.append(1), steps(self))[1])
    monkeypatch.setattr(Fitness, "check", checked)
    record = hunt(hunted.majority, "bernoulli({p})", range="p=0:1", size=3)
    assert (record.decided_by, begun) == ("interrupt", [1])
    assert answer_of(record).candidates == 64


def test_no_round_has_pairs_of_an_earlier_one() -> None:
    """What is counted must not have had a say in what was proposed."""
    inquiry: Any = inquiry_of(hunted.majority, question="hunt", over="bernoulli({p})", range="p=0:1", size=3, pairs=600)
    before = 0

    def serve(work: Sequence[Work]) -> list[Iterator[Trial]]:
        nonlocal before
        if work[0].cell < len(inquiry.values):
            assert {one.wanted.start for one in work} == {before}
            assert len({one.wanted for one in work}) == 1
            before = work[0].wanted.stop
        return [served(one, lambda cell, index: Trial(index, None, None, 0.0)) for one in work]

    drive(inquiry.steps(), serve)
    assert before


def test_the_command_that_is_reported_works_when_it_is_pasted(majority: Record, command: Any, tmp_path: Path) -> None:
    worst = answer_of(majority).worst
    assert worst is not None
    assert worst.command is not None
    assert "python -m auditor check" in worst.command
    _, _, words = worst.command.partition("python -m auditor ")
    code, _, error = command(*shlex.split(words), "--jobs", "1", cwd=tmp_path)
    assert code == 1, error


def test_reports_show_the_source_and_the_command(majority: Record) -> None:
    text = as_text(majority, width=200, verbose=True)
    assert text.startswith("FAIL  hunt")
    assert "bernoulli(0.5)" in text
    assert "Not excluded" in text
    assert answer_of(majority).worst.command in text  # type: ignore[union-attr, operator]
    assert b"<svg" in picture(majority)
    again = msgspec.json.decode(to_json(majority), type=Record)
    assert as_text(again, width=200, verbose=True) == text


def test_none_found_is_no_pass_unless_it_is_accepted() -> None:
    options: dict[str, Any] = {"range": "p=0:1", "size": 5, "pairs": 600}
    record = hunt("algorithms.controls:constant", "bernoulli({p})", **options)
    assert (record.verdict, record.exit_code) == ("inconclusive", 3)
    assert "none is shown to have a rho above 0.1" in record.reason
    accepted = hunt("algorithms.controls:constant", "bernoulli({p})", accept_search=True, **options)
    assert (accepted.verdict, accepted.exit_code) == ("pass", 0)
    assert answer_of(accepted).worst is not None  # what looked worst was tried all the same
    rows = record.cells[: answer_of(record).candidates]
    as_one_batch = max(sequence_upper(row.pairs, row.mismatches, share_of(0.05, 1)) for row in rows)
    assert answer_of(accepted).largest_bound == as_one_batch < max(row.high for row in rows)  # which hold all at once


def test_the_largest_bound_has_the_share_of_each_batch() -> None:
    """What was proposed later has less of the error, and a larger limit; those without a pair were not looked at."""
    inquiry: Any = inquiry_of(hunted.majority, question="hunt", over="bernoulli({p})", range="p=0:1", size=3, pairs=600)
    assert inquiry.largest_bound() == 1.0
    counts = [(100, 3, 1), (50, 10, 2), (400, 0, 2), (0, 0, 9)]
    for one, candidate, (n, k, batch) in zip(inquiry.candidates, inquiry.search.tried, counts, strict=False):
        one.tally, candidate.batch = Tally(n, k), batch
    each = [sequence_upper(n, k, 6 * 0.05 / (math.pi * batch) ** 2) for n, k, batch in counts if n]
    assert inquiry.largest_bound() == max(each) == each[1]


def test_a_learner_that_never_differs_is_bounded_by_the_target_at_every_candidate() -> None:
    """What the search does not need goes to bounds: 128 candidates, some 20 pairs each."""
    record = hunt("algorithms.controls:constant", "bernoulli({p})", range="p=0:1", size=1, pairs=2600, rho=0.3)
    answer = answer_of(record)
    assert answer.candidates == 128
    assert answer.largest_bound <= 0.3
    assert answer.not_excluded.startswith("no candidate, but every source that was not tried")
    assert "(1 - (0.3 - U)^2)^(1 / 4)" in answer.not_excluded, "a pair is two rows, and BC^(4n) bounds a distance"
    assert answer.worst is not None
    assert answer.worst.pairs == 1000  # of what looked worst all pairs are run, for its interval
    assert record.rho is not None
    assert record.rho.high < 0.01


@pytest.mark.nightly
def test_a_spike_in_a_parameter_of_the_subject_is_found() -> None:
    record = hunt(hunted.spiked, source="bernoulli(0.5)", range={"x": (0, 1)}, size=1, pairs=20_000)
    answer = answer_of(record)
    assert record.verdict == "fail"
    assert answer.worst is not None
    assert abs(answer.worst.values["x"] - 0.7321) < 0.005
    assert len(repr(answer.worst.values["x"])) <= len("0.736")  # rounder, and still within


def test_of_a_finish_whose_randomness_is_integrated_the_mean_is_the_objective() -> None:
    """rho of a mean of 4 normal numbers on a grid of width 1/2 rises with their spread."""
    record = hunt(rounded, "norm(0, {scale})", range="scale=0.01:0.5", size=4, pairs=128, rho=0.1)
    answer = answer_of(record)
    assert record.verdict == "fail"
    assert answer.worst is not None
    assert answer.worst.values["scale"] >= 0.3
    row = record.cells[answer.candidates]
    assert row.estimate is not None
    assert row.estimate != row.mismatches / row.pairs  # a mean of shares, and no count
    assert all(one.low <= one.estimate <= one.high for one in record.cells if one.estimate is not None)
    assert ", on fresh randomness, given core and finish" in record.reason


def test_sizes_vary_within_bounds_and_functions_take_values() -> None:
    record = hunt(hunted.majority, "learners.hunted:coins", range=["p=0.2:0.8", "size=3:21"], pairs=600)
    answer = answer_of(record)
    assert set(answer.names) == {"p", "size"}
    assert {row.size for row in record.cells} <= set(range(3, 22))
    chart = next(part for part in hunt_parts(record) if isinstance(part, Chart))
    darkest = next(one for one in reversed(chart.series) if one.kind == "tile" and one.points)
    assert all(0.3 < p < 0.7 for p, *_ in darkest.points)
    assert sum(len(one.points) for one in chart.series if one.kind == "tile") == 29 * 16
    assert answer.worst is not None
    assert answer.worst.source.startswith("learners.hunted:coins(p=0.")
    assert picture(record).count(b'class="tiles"') > 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "{p} has no range"),
        ({"range": ["p=0:1", "p=0:1"]}, "given twice"),
        ({"range": ["p=1:0"]}, "smaller to a larger"),
        ({"range": ["p=0"]}, "NAME=LOW:HIGH"),
        ({"range": ["p=a:b"]}, "could not convert"),
        ({"range": {"p": 0.5}}, "two numbers by name"),
        ({"range": {"p": ("a", "b")}}, "two numbers by name"),
        ({"range": 5}, "must be texts"),
        ({"range": ["p=0:inf"]}, "smaller to a larger"),
        ({"range": ["p=0:1:log"]}, "start above 0"),
        ({"range": ["p=0:1", "q=0:1"]}, "no parameter 'q'"),
        ({"range": ["p=0:1", "size=3:9"]}, "--size 5 and --range size=... are two answers"),
        ({"range": "p=0:1", "source": "norm"}, "--source norm and --over .* are two answers"),
        ({"subject": hunted.spiked, "range": ["p=0:1", "x=0:1"], "params": {"x": 0.1}}, "--param x=0.1 .* two answers"),
        ({"over": "bernoulli(0.5)"}, "nothing varies"),
        ({"over": "simplex(1)"}, "2 to 64"),
        ({"over": "mixture(norm, norm, 0.5)"}, "write mixture"),
        ({"over": "bernoulli({p}", "range": ["p=0:1"]}, "literal arguments"),
        ({"over": "__import__('os').system({p})", "range": ["p=0:1"]}, "must be"),
        ({"over": "contaminate(missing.csv#y, {share})", "range": ["share=0:1"]}, "missing.csv"),
        ({"over": None}, "nothing varies"),
    ],
)
def test_a_family_that_is_none_is_refused_in_a_sentence(options: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        hunt(**{"subject": hunted.majority, "over": "bernoulli({p})", "size": 5, **options})


def family(over: str, range_: Any = None, subject: Any = hunted.majority) -> Any:
    return make_family(request_of(subject, None, "hunt", over=over, range=range_, size=5))


def test_places_of_a_simplex_are_laws_and_faces_have_room() -> None:
    laws = family("simplex(4)")
    for place in np.random.default_rng(0).random((200, 4)):
        values = laws.values(place)
        assert list(values) == ["0", "1", "2", "3"]
        assert sum(round(1e4 * one) for one in values.values()) == 10_000
        assert min(values.values()) >= 0
    assert laws.values(np.array([0.1, 0.1, 1.0, 1.0])) == {"0": 0, "1": 0, "2": 0.5, "3": 0.5}
    assert laws.values(np.zeros(4)) == {"0": 0.25, "1": 0.25, "2": 0.25, "3": 0.25}
    assert laws.on_face({"0": 0.1, "1": 0.4, "2": 0.3, "3": 0.2}, 2) == {"0": 0, "1": 0.5714, "2": 0.4286, "3": 0}
    assert laws.source({"0": 0.35, "1": 0.0, "2": 0.65, "3": 0.0}) == "pmf({0: 0.35, 2: 0.65})"


def test_the_place_of_values_leads_back_to_them() -> None:
    both = family("simplex(4)")
    for place in np.random.default_rng(1).random((50, 4)):
        values = both.values(place)
        again = both.values(both.place(values))
        assert all(abs(values[v] - again[v]) <= 1e-4 for v in values)
    one = family("norm({mu}, {sigma})", ["mu=-1:1", "sigma=0.1:10:log"])
    assert one.values(one.place({"mu": 0.25, "sigma": 2.0})) == {"mu": 0.25, "sigma": 2.0}


@pytest.mark.nightly
def test_a_needle_at_a_round_number_is_found() -> None:
    """A fixed threshold on many rows parts where a probability is 0.3 to three digits."""
    record = hunt("algorithms.twins.paper:heavy_hitters_fixed_threshold", "simplex(3)", pairs=2000)
    worst = answer_of(record).worst
    assert record.verdict == "fail"
    assert worst is not None
    assert 0.3 in worst.values.values()


def test_what_is_simpler_has_fewer_values_then_fewer_digits() -> None:
    simpler = [*family("simplex(3)").simpler({"0": 0.3512, "1": 0.3488, "2": 0.3})]
    assert simpler[0] == {"0": 1, "1": 0, "2": 0}
    assert {"0": 0.4, "1": 0.3, "2": 0.3} in simpler
    assert {"0": 0.35, "1": 0.35, "2": 0.3} in simpler
    law = family("simplex(2)", "x=0:0.1", hunted.spiked)
    assert [*law.simpler({"0": 0.25, "1": 0.75, "x": 0.0123})] == [
        {"0": 0, "1": 1, "x": 0.0123},
        {"0": 0.2, "1": 0.8, "x": 0.01},
        {"0": 0.25, "1": 0.75, "x": 0.012},
    ]
    two = family("norm({mu}, {sigma})", ["mu=0:1", "sigma=1:2"])
    assert [tuple(one.values()) for one in two.simpler({"mu": 0.1, "sigma": 1.567})] == [
        *((0.1, 2.0), (0.1, 1.6), (0.1, 1.57))
    ]


@pytest.mark.parametrize("dimensions", [1, 6])
@pytest.mark.parametrize("budget", [512, 5000])
def test_a_search_spends_its_pairs_and_no_more_and_is_a_function_of_its_seed(dimensions: int, budget: int) -> None:
    def searched(seed: int) -> Search:
        search, rng = Search(dimensions, budget, seed), np.random.default_rng(seed)
        for who, pairs in search.rounds():
            assert len(set(who)) == len(who)
            for one in who:
                rho = float(np.mean(search.tried[one].place)) / 2
                for differs in rng.random(pairs) < rho:
                    search.tried[one].add(float(differs))
        return search

    one, other = searched(3), searched(3)
    assert [c.total for c in one.tried] == [c.total for c in other.tried]
    assert 0.9 * budget <= sum(c.pairs for c in one.tried) == one.spent <= budget
    assert all(0 <= c.place.min() <= c.place.max() <= 1 for c in one.tried)
    assert all(c.pairs >= one.few for c in one.tried if c.pairs)
    assert budget == 512 or np.mean(one.tried[one.best(1)[0]].place) > 0.7


LEARNT = [(64, 4), (26, 8)]  # a quarter of the start around the best tenth, then a quarter of those and the best again


@pytest.mark.parametrize(
    ("scale", "goal", "rest"),
    [
        (1.0, 0.1, [*LEARNT * 3, (16, 16), (8, 32), (4, 65), (2, 131)]),  # until a quarter of the pairs is left
        (0.1, 0.15, [*LEARNT * 3, (16, 16), (8, 32), (4, 65), (2, 131)]),  # the best look more than half as bad
        (0.01, 0.5, [(16, 4), (8, 9), (4, 19), (2, 39)]),  # a sixteenth: all are far below the goal
    ],
)
def test_pairs_go_to_ever_fewer_candidates(scale: float, goal: float, rest: list[tuple[int, int]]) -> None:
    search, rounds = Search(2, 5000, 0, goal), []
    for who, pairs in search.rounds():
        rounds.append((len(who), pairs))
        for one in who:
            for _ in range(pairs):
                search.tried[one].add(scale * float(search.tried[one].place.mean()))
    assert rounds == [(256, 4), (128, 4), (64, 8), (32, 16), *rest]


@pytest.mark.nightly
def test_selection_does_not_leak_into_what_is_confirmed() -> None:
    """Every confirmation of 200 hunts, those that fail or not: its interval holds the exact rho. False alarm: 1e-6."""
    held = of = 0
    for seed in range(200):
        record = hunt(hunted.majority, "bernoulli({p})", range="p=0.3:0.7", size=11, pairs=512, seed=seed)
        answer = answer_of(record)
        rows = record.cells[answer.candidates :]
        held += sum(row.low <= exact(one[0], 11) <= row.high for one, row in zip(answer.tried, rows, strict=True))
        of += len(rows)
    least = int(binom.ppf(1e-6, of, 0.975))
    print(f"{held} of {of}, at least {least}")
    assert held >= least


@given(st.floats(1e-6, 1.0), st.integers(0, 6))
def test_every_rate_has_a_level_of_the_map_the_largest_too(top: float, sixth: int) -> None:
    """6 (top / 6) may be below top: by comparing with it the largest tile had no colour."""
    assert _level(top / top) == 5
    assert _level(0.0) == 0
    assert _level(top * sixth / 6 / top) in (max(sixth - 1, 0), min(sixth, 5))


@pytest.mark.parametrize(
    ("rows", "largest", "words"),
    [
        ([(10, 0.2, 5), (50, 0.1, 5)], 0.2, ("no candidate, but every source that", "(1 / 40) on", 10, 0.2)),
        ([(10, 0.2, 5), (10, 0.1, 5)], 0.2, ("no candidate, but every source that", "(1 / 40) on", 10, 0.1)),
        ([(10, 0.2, 5), (10, 0.3, 5), (10, 0.9, 0)], 0.3, ("no candidate, but", "(1 / 40) on", 10, 0.2)),
        ([(10, 0.2, 5), (10, 0.3, 5), (10, 0.9, 5)], 0.9, ("1 of 3 candidates, and every", "(1 / 40) on", 10, 0.2)),
        ([(10, 0.31, 5)], 0.31, ("1 of 1 candidates, and every other source", "", 0, 0.0)),
        ([(10, 0.31, 5)], 0.3, ("no candidate, but every source that was not tried", "", 0, 0.0)),
        ([(10, 0.9, 0)], 1.0, ("any source: no candidate was looked at", "", 0, 0.0)),
    ],
)
def test_what_is_not_excluded_is_said_by_the_candidate_that_carries_furthest(
    rows: list[tuple[int, float, int]], largest: float, words: tuple[str, str, int, float]
) -> None:
    """Where the size varies too, each candidate's limit carries over at its own size."""
    inquiry: Any = inquiry_of(hunted.majority, None, "hunt", over="bernoulli({p})", range="p=0:1", size=7, rho=0.3)
    made: list[Any] = [SimpleNamespace(size=size, high=high, pairs=pairs) for size, high, pairs in rows]
    found, (begins, exponent, size, high) = inquiry._not_excluded(made, largest), words
    assert found.startswith(begins)
    assert exponent in found
    if size:
        assert f"{at_most((1 - (0.3 - high) ** 2) ** (1 / (4 * size)), 9)} at best" in found


@pytest.mark.parametrize("count", [1, 5, 6])
def test_five_candidates_that_faulted_are_listed(count: int) -> None:
    inquiry: Any = inquiry_of(hunted.majority, None, "hunt", over="bernoulli({p})", range="p=0:1", size=7, rho=0.3)
    for one in inquiry.candidates[:count]:
        one.error = SubjectError("no")
    (finding,) = inquiry._faults()
    assert finding.message.startswith(f"{count} of {len(inquiry.values)} candidates gave no outcome: ")
    assert finding.message.count("p=") == min(count, 5)
    assert ("more" in finding.message) == (count > 5)
    assert finding.message.endswith("; and 1 more" if count > 5 else ": no")


def test_a_map_is_drawn_by_ratios_from_a_hundred_on() -> None:
    rows: list[Any] = [SimpleNamespace(pairs=10, estimate=rate) for rate in (0.2, 0.4)]
    for last, by_ratios in ((101.0, True), (100.0, False)):
        answer: Any = SimpleNamespace(values=[(1.0, 0.0), (last, last)], names=["a", "b"], over="it", worst=None)
        chart = _map(SimpleNamespace(subject="it"), answer, rows)  # type: ignore[arg-type]
        assert (chart.x_log, chart.y_log) == (by_ratios, False)


def test_a_map_has_tiles_where_one_parameter_never_varied() -> None:
    rows: list[Any] = [SimpleNamespace(pairs=10, estimate=rate) for rate in (0.2, 0.4)]
    tiles = _tiles(np.array([[1.0, 3.0], [2.0, 3.0]]), rows, [False, False])
    assert {(x, rate) for x, _, rate in tiles} >= {(1.0, 0.2), (2.0, 0.4)}
