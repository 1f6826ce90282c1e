"""Where an explanation and a hunt divide their alpha; and that a cause and its sham are exchangeable.

Probabilities are exact, by summing over all counts at the edge of the null, from what the inquiry itself decides. They
are at most a share, which one that is not divided exceeds, and not far below it, as one that is divided twice would be.
Exchangeability is exact, too: for every sequence of outputs that a learner with nothing but hidden state can give, the
other side of the coin exchanges the results of the change and of the sham.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from learners import caused, hunted
from support.requests import bench_of, inquiry_of, served

from auditor.flow.verdict import Tally
from auditor.questions.cell_inquiries import Counted
from auditor.questions.explain import units
from auditor.questions.explain.conclusion import causes_of
from auditor.questions.explain.evidence import ExperimentCounts
from auditor.questions.explain.units import with_sham
from auditor.questions.hunt.inquiry import Confirmation
from auditor.randomness import from_key
from auditor.statistics.interval import MeanEvidence, log_e_fail, log_e_pass, sequence_upper, two_sided
from auditor.statistics.without_cause import Changed, log_evidence, needed
from auditor.statistics.worst_case import share_of, share_of_try
from auditor.trials.causes import elsewhere
from auditor.trials.causes.elsewhere import Elsewhere, Turn
from auditor.trials.second_process import Opinion
from auditor.trials.trial import Bench, Trial
from auditor.values import Difference

ALPHA = 0.05
DIFFERS = Difference("output", "0", "1")
PAIRED = ["row-order", "rounding-noise", "desync", "too-little-data"]  # judged by pairs with a sham


def explaining(fn: Callable[..., Any] = caused.raw_mean, source: str = "norm", **options: Any) -> Any:
    """An inquiry that has looked at its first pairs, and counted none."""
    inquiry: Any = inquiry_of(fn, source, "explain", **{"size": 20, **options})
    bench = bench_of(fn, source, size=options.get("size", 20))
    steps = inquiry.steps()
    [work] = next(steps)
    inquiry.opened(work.cell, bench)
    steps.send([served(work, lambda cell, index: units.look_at_outputs(bench, index, {}))])
    return inquiry


# How many share alpha.


@pytest.mark.parametrize(
    ("fn", "source", "unfit"),
    [
        (caused.raw_mean, "norm", {"labels", "output-order"}),
        (caused.first_row, "norm", {"labels", "output-order", "continuous"}),
        (caused.most_common_first, "bernoulli(0.5)", {"rounding-noise", "continuous", "labels"}),
    ],
)
def test_all_experiments_that_fit_share_alpha_but_hidden_state(
    fn: Callable[..., Any], source: str, unfit: set[str]
) -> None:
    """Eleven kinds, of which hidden state is a fact and not a test; the hash seed and threads are tests as others."""
    inquiry = explaining(fn, source)
    assert {one.kind for one in inquiry.experiments if one.why_not} == unfit
    tests = 11 - 1 - len(unfit)
    assert inquiry.needed == pytest.approx(math.log(tests / ALPHA))
    assert inquiry.strict.alpha_fail == pytest.approx(ALPHA / tests)
    assert inquiry.gate.alpha_pass == pytest.approx(ALPHA)


def crossed(law: Sequence[float], most: int, is_named: Callable[[Changed], bool]) -> float:
    """The probability that it is ever named within so many outcomes, which are (before, after, both) with this law."""
    live, reached, known = {(0, 0, 0): 1.0}, 0.0, dict[tuple[int, int, int], bool]()
    steps = [(step, chance) for step, chance in zip(np.eye(3, dtype=int).tolist(), law, strict=True) if chance]
    for _ in range(most):
        then: dict[tuple[int, int, int], float] = {}
        for state, mass in live.items():
            for step, chance in steps:
                new = (state[0] + step[0], state[1] + step[1], state[2] + step[2])
                then[new] = then.get(new, 0.0) + mass * chance
        live = {}
        for state, mass in then.items():
            if state not in known:
                known[state] = is_named(Changed(*state))
            if known[state]:
                reached += mass
            else:
                live[state] = mass
    return reached


def by_pairs(inquiry: Any, kind: str) -> Callable[[Changed], bool]:
    def is_named(seen: Changed) -> bool:
        one = inquiry.of(kind)
        one.outcomes, one.pairs = seen, sum(seen)
        return bool(inquiry.is_cause(one))

    return is_named


def by_samples(inquiry: Any, kind: str, nothing: int = 0) -> Callable[[Changed], bool]:
    def is_named(seen: Changed) -> bool:
        one = inquiry.of(kind)
        one.twice_outcomes, one.twice, one.nothing_drawn = seen, sum(seen), nothing * sum(seen)
        return bool(inquiry.is_cause(one))

    return is_named


def test_a_wrong_cause_is_named_with_its_share() -> None:
    """Three quarters of rho are left, which is one too many: E[y] = 3/4 E[x], at the edge."""
    inquiry = explaining()
    share = ALPHA / 8
    assert len(inquiry.tests) == 8
    wrong = crossed((0.25, 0.0, 0.75), 120, by_pairs(inquiry, "row-order"))
    print(f"named with probability {wrong:.5f}, allowed {share:.5f}")
    assert share / 5 < wrong <= share


@pytest.mark.parametrize("kind", [*PAIRED, "continuous"])
def test_every_cause_is_named_at_the_first_pair_with_the_evidence_of_its_share(kind: str) -> None:
    is_named, pairs = by_pairs(explaining(), kind), 0
    while not is_named(Changed(before=pairs)):
        pairs += 1
    assert log_evidence(Changed(before=pairs)) >= math.log(8 / ALPHA) > log_evidence(Changed(before=pairs - 1))


@pytest.mark.parametrize("kind", ["hash-seed", "threads"])
def test_what_shows_as_often_as_its_sham_is_named_with_its_share(kind: str) -> None:
    inquiry = explaining()
    share = ALPHA / len(inquiry.tests)
    wrong = crossed((0.5, 0.5, 0.0), 60, by_samples(inquiry, kind))
    print(f"{kind} is named with probability {wrong:.5f}, allowed {share:.5f}")
    assert share / 5 < wrong <= share


def test_an_r_that_does_its_work_is_called_unused_with_its_share() -> None:
    """A fresh r changes a quarter of what fresh rows do; rho is above the target for certain. And where no bit of r is
    drawn, a quarter of the mismatches are gone when the same sample is run again."""
    inquiry = explaining()
    share = ALPHA / len(inquiry.tests)
    inquiry.differs = [True] * 20
    wrong = crossed((0.75, 0.0, 0.25), 120, by_samples(inquiry, "r-unused"))
    print(f"named with probability {wrong:.5f}, allowed {share:.5f}")
    assert share / 5 < wrong <= share
    wrong = crossed((0.25, 0.0, 0.75), 120, by_samples(inquiry, "r-unused", nothing=1))
    print(f"named with probability {wrong:.5f}, allowed {share:.5f}")
    assert share / 5 < wrong <= share


def test_r_is_called_unused_above_the_target_with_its_share() -> None:
    """At rho = target, and with all evidence that a fresh r changes nothing."""
    inquiry = explaining(rho=0.3)
    share, target, one = ALPHA / len(inquiry.tests), 0.3, inquiry.of("r-unused")
    one.twice_outcomes, one.twice = Changed(before=1000), 1000
    live, wrong = {0: 1.0}, 0.0
    for n in range(1, inquiry.each + 1):
        then: dict[int, float] = {}
        for k, mass in live.items():
            then[k] = then.get(k, 0.0) + mass * (1 - target)
            then[k + 1] = then.get(k + 1, 0.0) + mass * target
        live = {}
        for k, mass in then.items():
            inquiry.differs = [True] * k + [False] * (n - k)
            if inquiry.is_r_unused(one):
                wrong += mass
            else:
                live[k] = mass
    print(f"named with probability {wrong:.5f}, allowed {share:.5f}")
    assert share / 2 < wrong <= share


def test_without_mismatches_in_the_pair_itself_no_bit_of_r_drawn_is_no_cause() -> None:
    """As under hidden state alone: the same sample run again differs as often as fresh ones do."""
    is_named = by_samples(explaining(), "r-unused", nothing=1)
    assert not is_named(Changed(before=0, after=0, both=30))
    assert not is_named(Changed(before=30, after=30, both=0))
    assert is_named(Changed(before=15, after=0, both=0))


# Which cause is the main one.


def tried(inquiry: Any, kind: str, pairs: int, before: int, after: int) -> ExperimentCounts:
    one: ExperimentCounts = inquiry.of(kind)
    one.pairs, one.before, one.mismatches = pairs, before, after
    one.outcomes = Changed(before - after, 0, after)
    return one


@pytest.mark.parametrize(
    ("counts", "order"),
    [
        # The share of what differs that is gone, whatever the number of pairs: 0.9 and 0.6.
        ({"too-little-data": (1000, 60, 6), "row-order": (100, 100, 40)}, ["too-little-data", "row-order"]),
        ({"too-little-data": (100, 100, 40), "row-order": (1000, 60, 6)}, ["row-order", "too-little-data"]),
        # By before, and not by after: 0.5 and 0.65.
        ({"desync": (90, 80, 40), "row-order": (90, 80, 28)}, ["row-order", "desync"]),
        # Within a tenth of it the more particular one comes first: 0.85 and 0.93; beyond, it does not: 0.8 and 0.93.
        ({"desync": (100, 100, 15), "row-order": (100, 100, 7)}, ["desync", "row-order"]),
        ({"desync": (100, 100, 20), "row-order": (100, 100, 7)}, ["row-order", "desync"]),
    ],
)
def test_causes_are_in_the_order_of_the_share_that_they_explain(
    counts: dict[str, tuple[int, int, int]], order: list[str]
) -> None:
    inquiry = explaining()
    for kind, (pairs, before, after) in counts.items():
        one = tried(inquiry, kind, pairs, before, after)
        assert one.explains() == pytest.approx(1 - after / before)
    assert [one.kind for one in causes_of(inquiry)] == order


# Fresh r, and shams.


def heard(unit: Callable[..., Trial], index: int = 3, size: int = 6) -> list[tuple[bytes, float]]:
    """The sample and the first draw of each run of a trial."""
    calls = []

    def tells(sample: Any, r: np.random.Generator) -> float:
        calls.append((np.asarray(sample).tobytes(), float(r.random())))
        return calls[-1][1]

    unit(bench_of(tells, "norm", size=size), index, {})
    return calls


def test_a_fresh_r_is_another_and_the_sample_is_not() -> None:
    """In one trial: a sample with r, the same with a fresh r, and another sample with r, as it is in a pair."""
    bench = bench_of(caused.raw_mean, "norm", size=6)
    first, second = (bench.draw(3, which).tobytes() for which in (0, 1))
    start, *rest = heard(units.other_r)
    assert start[0] == first
    (again,) = (draw for sample, draw in rest if sample == first)
    (shared,) = (draw for sample, draw in rest if sample == second)
    assert [draw for _, draw in heard(units.AsItIs())] == [shared, shared]
    assert shared == start[1] != again
    (one, mine), (other, own) = heard(units.r_of_its_own)
    assert (one, other) == (first, second)
    assert mine == shared
    assert own == again, "the same fresh r in both experiments on a pair"
    assert len({heard(units.r_of_its_own, index)[1][1] for index in range(5)}) == 5


def coins(bench: Bench) -> dict[int, int]:
    """An index for each side of the coin that says what comes first."""
    return {int(from_key(bench.keys.probe.child("sham", index)).integers(2)): index for index in range(20)}


def test_the_coin_is_fair_and_decides_what_comes_first() -> None:
    bench = bench_of(caused.raw_mean, "norm", size=6)
    order: list[str] = []

    def called(name: str) -> str:
        order.append(name)
        return name

    for index in range(400):
        assert with_sham(bench, index, lambda: called("change"), lambda: called("sham")) == ("change", "sham")
        assert {*order[-2:]} == {"change", "sham"}
        assert (order[-2] == "change") == bool(from_key(bench.keys.probe.child("sham", index)).integers(2))
    assert 160 <= order[::2].count("sham") <= 240  # a fixed sequence; of fair coins 6e-5 would be outside


def by_script(unit: Callable[..., Trial]) -> Callable[[Sequence[int], int], tuple[bool, bool, int]]:
    """What a trial makes of a learner whose n-th run gives the n-th of these, whatever its sample and r: whether it
    differs with the change, whether with the sham, and after how many runs."""
    outputs: list[int] = []
    bench = bench_of(lambda sample, r: outputs.pop(), "norm", size=6)
    indices = coins(bench)

    def scripted(script: Sequence[int], side: int) -> tuple[bool, bool, int]:
        outputs[:] = reversed(script)
        trial = unit(bench, indices[side], {})
        payload: Any = trial.payload
        assert payload["runs"] == len(script) - len(outputs)
        return trial.difference is not None, bool(payload["sham"]), payload["runs"]

    return scripted


@pytest.mark.parametrize(
    ("unit", "runs"),
    [
        (units.sorted_rows, 4),
        (units.in_step, 4),
        (units.other_size, 4),
        (units.other_r, 3),
        (units.beyond_noise, 10),
    ],
)
def test_under_hidden_state_alone_a_change_and_its_sham_are_exchangeable(unit: Callable[..., Trial], runs: int) -> None:
    """For each sequence of outputs: with the coin on its other side the two results are exchanged, after as many runs.
    A fair coin then gives both the same law, given all that came before, whatever the hidden state is."""
    differ, scripted = 0, by_script(unit)
    for script in itertools.product((0,), *[(0, 1)] * (runs - 1)):  # 0 and 1 are but names
        changed, sham, count = scripted(script, 0)
        assert scripted(script, 1) == (sham, changed, count)
        differ += changed != sham
    assert differ, "the two are not one thing"


def answers(*outputs: int) -> Callable[..., Opinion]:
    left = iter(outputs)

    def ask(bench: Bench, place: Elsewhere, *request: Any, **more: Any) -> Opinion:
        output = str(next(left))
        return Opinion(output, output, output.encode())

    return ask


def test_in_other_processes_the_two_runs_of_a_turn_are_exchangeable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs that differ, then a first run and two turns; the coin of each turn exchanges its two results."""
    bench, turns = bench_of(caused.raw_mean, "norm", size=6), 2
    monkeypatch.setattr(elsewhere, "TURNS", turns)

    def compared(script: Sequence[int], sides: Sequence[int]) -> tuple[Turn, ...]:
        ask = answers(0, 1, *script)
        monkeypatch.setattr(elsewhere, "_ask", ask)
        monkeypatch.setattr(elsewhere, "_ask_anew", ask)
        monkeypatch.setattr(elsewhere, "from_key", lambda key: SimpleNamespace(integers=lambda *_, **__: sides))
        found = elsewhere.threads_show(bench, 0)
        assert found.runs == 3 + 2 * len(found.turns)
        return found.turns

    for script in itertools.product((0, 1), repeat=1 + 2 * turns):
        told = {sides: compared(script, sides) for sides in itertools.product((0, 1), repeat=turns)}
        assert told[0, 0][0] == told[1, 0][0][::-1] == told[1, 1][0][::-1]
        if len(told[0, 0]) == 2:
            assert told[0, 1] == (told[0, 0][0], told[0, 0][1][::-1])
    assert compared((0, 1, 0, 1, 0), (0, 0)) == (Turn(True, False),) * 2
    assert compared((0, 1, 1, 1, 0), (0, 0)) == (Turn(True, True),), "a sham that differs is hidden state, and the end"


def test_every_run_of_a_turn_has_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process draws when it starts would otherwise stand for a hash seed in all of its turns."""
    bench, asked = bench_of(caused.raw_mean, "norm", size=6), list[tuple[str, Elsewhere]]()

    def noted(name: str, ask: Callable[..., Opinion]) -> Callable[..., Opinion]:
        def note(bench: Bench, place: Elsewhere, *request: Any, **more: Any) -> Opinion:
            asked.append((name, place))
            return Opinion(str(place), "", b"")

        return note

    monkeypatch.setattr(elsewhere, "TURNS", 3)
    monkeypatch.setattr(elsewhere, "_ask", noted("kept", elsewhere._ask))
    monkeypatch.setattr(elsewhere, "_ask_anew", noted("anew", elsewhere._ask_anew))
    left, right = Elsewhere(1, 1), Elsewhere(1, elsewhere.all_threads())
    assert elsewhere.threads_show(bench, 0).turns == (Turn(True, False),) * 3
    assert asked[:3] == [("kept", left), ("kept", right), ("anew", left)]
    for turn in range(3):
        assert {*asked[3 + 2 * turn : 5 + 2 * turn]} == {("anew", left), ("anew", right)}


def coin_in(rate: float, seed: int) -> Callable[..., int]:
    private = np.random.Generator(np.random.PCG64(seed))

    def fit(sample: Any, r: np.random.Generator) -> int:
        r.random()
        return int(private.random() < rate)

    return fit


@pytest.mark.parametrize("rate", [0.04, 0.3])
def test_a_private_coin_is_not_taken_for_last_digits(rate: float) -> None:
    """Runs of one sample meet again by chance, with noise or without. Against the pair alone that would name noise for
    certain; against its sham it is named with probability 1e-6 at most, the false alarm of this test."""
    bench, seen, plain = bench_of(coin_in(rate, 5), "norm", size=6), Changed(), Changed()
    again = 0
    for index in range(int(24 / rate)):
        trial = units.beyond_noise(bench, index, {})
        payload: Any = trial.payload
        after = trial.difference is not None
        seen = seen.plus(before=payload["sham"], after=after)
        plain = plain.plus(before=payload["runs"] > 2 and index >= units.ALWAYS_NOISED, after=after)
        again += payload.get("again") is not None
    print(f"against the sham {seen}, against the pair {plain}; {again} samples with two outputs")
    assert log_evidence(seen) < needed(1e-6, 1)
    assert log_evidence(plain) >= needed(1e-6, 1)
    assert again, "which is proof of hidden state"


def test_what_a_sham_shows_is_hidden_state() -> None:
    inquiry = explaining()
    noise, hidden = inquiry.of("rounding-noise"), inquiry.of("hidden-state")
    inquiry.differs = [True, True]
    payload = {"runs": 10, "sham": True, "shows": False, "close": False, "path": None}
    inquiry.add(noise.changed_cell, Trial(0, DIFFERS, None, 0.0, payload={**payload, "again": None}))
    assert not inquiry.is_hidden()
    inquiry.add(noise.changed_cell, Trial(1, None, None, 0.0, payload={**payload, "again": "output[2]"}))
    assert inquiry.is_hidden()
    assert (hidden.twice, hidden.shown, hidden.first_shown, hidden.path) == (2, 1, 1, "output[2]")
    assert noise.outcomes == Changed(before=1, both=1)
    inquiry = explaining()
    seeds, hidden = inquiry.of("hash-seed"), inquiry.of("hidden-state")
    payload = {"runs": 9, "apart": True, "close": False, "turns": [[True, False], [True, True]]}
    inquiry.add(seeds.twice_cell, Trial(4, None, None, 0.0, payload=payload))
    assert seeds.twice_outcomes == Changed(before=1, both=1)
    assert (hidden.shown, hidden.first_shown) == (1, 4)
    assert [one.kind for one in inquiry.experiments if inquiry.is_cause(one)] == ["hidden-state"]


def test_a_sham_stands_for_the_pair_as_it_is() -> None:
    """Of each experiment with a sham, and of none without."""
    inquiry = explaining()
    inquiry.differs = [True]
    for one in inquiry.experiments:
        if one.changed_cell is not None:
            inquiry.add(one.changed_cell, Trial(0, None, None, 0.0, payload={"runs": 4, "sham": False}))
            assert one.before == 0, one.kind
            inquiry.add(one.changed_cell, Trial(0, None, None, 0.0, payload={"runs": 4}))
            assert (one.before, one.pairs) == (1, 2), one.kind


# A hunt.


def hunting() -> Any:
    return inquiry_of(hunted.majority, question="hunt", over="bernoulli({p})", range="p=0:1", size=3, pairs=600)


def confirmation(number: int, alpha: float = ALPHA, goal: float = 0.1) -> Confirmation:
    return Confirmation(number, {}, Counted(hunting().cells[0], 0.95), goal, alpha)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_confirmation_errs_with_its_share(number: int) -> None:
    """Exact, from what it decides of every count, at rho = goal: alpha for the first, second and fourth of all."""
    one, goal, share = confirmation(number, goal=0.5), 0.5, ALPHA * 2.0**-number
    live, wrong = {0: 1.0}, 0.0
    for n in range(1, 80):
        then: dict[int, float] = {}
        for k, mass in live.items():
            for new, chance in ((k, 1 - goal), (k + 1, goal)):
                then[new] = then.get(new, 0.0) + mass * chance
        live = {}
        for k, mass in then.items():
            one.outcome, one.evidence.tally = "inconclusive", Tally(n - 1, max(k - 1, 0))
            if k == 0:
                one.add(Trial(n, None, None, 0.0))
            else:
                one.add(Trial(n, DIFFERS, None, 0.0))
            if one.outcome == "fail":
                wrong += mass
            else:
                live[k] = mass
    print(f"number {number} fails with probability {wrong:.5f}, allowed {share:.5f}")
    assert share / 5 < wrong <= share


@pytest.mark.parametrize("number", [1, 3, 11])
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_a_confirmation_fails_at_the_first_pair_with_enough_evidence(number: int, alpha: float) -> None:
    one, pairs = confirmation(number, alpha), 0
    while one.outcome == "inconclusive":
        one.add(Trial(pairs, DIFFERS, None, 0.0))
        pairs += 1
    assert one.outcome == "fail"
    enough = math.log(2.0**number / alpha)
    assert log_e_fail(pairs, pairs, 0.1) >= enough > log_e_fail(pairs - 1, pairs - 1, 0.1)
    assert one.band == two_sided("anytime", pairs, pairs, 1 - alpha * 2.0**-number)


def test_all_tries_of_a_hunt_have_alpha_together() -> None:
    """Three that are seen to be no worse than the target, and a fourth: each has half of what the one before it had."""
    inquiry, numbers = hunting(), []
    for place in range(4):
        steps = inquiry._confirm(inquiry.values[place], 0.1)
        [work] = next(steps)
        assert work.cell == len(inquiry.values) + place
        with pytest.raises(StopIteration):
            steps.send([served(work, lambda cell, index: Trial(index, None, None, 0.0))])
        numbers.append((inquiry.tries[-1].number, inquiry.tries[-1].alpha, inquiry.tries[-1].share))
    assert numbers == [(number, ALPHA, ALPHA * 2.0**-number) for number in (1, 2, 3, 4)]
    assert sum(share_of_try(ALPHA, number) for number in range(1, 60)) <= ALPHA
    assert len({inquiry.cells[-1 - place].seed for place in range(4)} | {inquiry.cells[0].seed}) == 5


def test_every_row_of_a_hunt_has_its_share() -> None:
    """Of candidates by their order of appearance, of confirmations by their number."""
    inquiry = hunting()
    for one in inquiry.candidates:
        one.tally = Tally(50, 2)
    for _ in range(2):
        [work] = next(inquiry._confirm(inquiry.values[0], 0.1))
        inquiry.counted[work.cell].tally = Tally(50, 20)
    rows = inquiry.answer().rows
    shares = [6 * ALPHA / (math.pi * place) ** 2 for place in range(1, len(inquiry.values) + 1)]
    assert [row.high for row in rows[:-2]] == [sequence_upper(50, 2, share) for share in shares]
    assert [(row.low, row.high) for row in rows[-2:]] == [
        two_sided("anytime", 50, 20, 1 - ALPHA / 2**i) for i in (1, 2)
    ]
    assert sum(shares) < ALPHA
    assert sum(share_of(ALPHA, place) for place in range(1, 10_000)) == pytest.approx(ALPHA, rel=1e-3)


@pytest.mark.parametrize("batch", [1, 5])
def test_a_candidate_lacks_the_evidence_of_its_batch(batch: int) -> None:
    inquiry = hunting()
    inquiry.counted[0].tally, inquiry.search.tried[0].batch = Tally(30, 1), batch
    enough = math.log(math.pi**2 * batch**2 / (6 * ALPHA))
    assert inquiry._lacks(0, 0.2) == pytest.approx(enough - float(log_e_pass(30, 1, 0.2)))


def test_both_sides_of_a_mean_share_the_error_of_its_interval() -> None:
    one = Counted(hunting().cells[0], 0.95, mean=MeanEvidence())
    assert one.mean is not None
    for value in (0.1, 0.4, 0.2) * 10:
        one.mean.add(value)
    one.tally = Tally(30, 0)
    assert one.limits(ALPHA) == (one.mean.lower(ALPHA / 2), one.mean.upper(ALPHA / 2))
    assert one.upper(ALPHA) == one.mean.upper(ALPHA) < one.limits(ALPHA)[1]
