"""Transcripts with fresh samples and with one: the bounds against exact distances, the analyst that overfits."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy.stats import binom
from support import requests
from support.requests import inquiry_of

from algorithms.data_reuse import FEW, fit_a_vote, plain_answer
from auditor import subject
from auditor.cli.command_line import run
from auditor.errors import BadValue, UsageError
from auditor.flow.question import Work, make_request
from auditor.flow.record import Record
from auditor.flow.run import replayed
from auditor.questions.reuse import ReuseAnswer, answer_of
from auditor.questions.reuse.transcripts import Event, Transcript, _candidates, _thresholds, bound_distance
from auditor.trials.trial import Trial

Draw = tuple[Transcript, Transcript]


def the_same_bit(rng: np.random.Generator) -> Draw:
    """Two answers that are one bit of the sample: fresh bits against the same bit twice. Distance 1/2."""
    bits = rng.integers(0, 2, size=2).tolist()
    return Transcript.of(tuple(bits)), Transcript.of((bits[0], bits[0]))


def seldom_a_bit(rng: np.random.Generator, q: float = 0.8) -> Draw:
    """The same, each answer a bit with probability q over r, else 0. Distance q^2/2, the coupling q/2."""
    bits, looks = rng.integers(0, 2, size=2), rng.random(2) < q
    return Transcript.of(tuple((bits * looks).tolist())), Transcript.of(tuple((bits[0] * looks).tolist()))


def shifted(rng: np.random.Generator) -> Draw:
    """A number that reuse moves by 0.3 of its range. Distance 0.3; the coupling differs in every pair."""
    x = float(rng.random())
    return Transcript.of((x,)), Transcript.of((x + 0.3,))


def worded(rng: np.random.Generator) -> Draw:
    """Answers that are no numbers: with reuse "b" instead of "a" in a quarter of the trials. Distance 1/4."""
    return Transcript.of(("a",)), Transcript.of(("b" if rng.random() < 0.25 else "a",))


@pytest.mark.parametrize(
    ("draw", "distance"), [(the_same_bit, 0.5), (seldom_a_bit, 0.32), (shifted, 0.3), (worded, 0.25)]
)
def test_the_bounds_cover_exact_distances(draw: Any, distance: float) -> None:
    """Both sides, 80 audits of 80 trials at 20 % error; false alarm 1e-6 for each side."""
    rng, audits, trials, alpha = np.random.default_rng(7), 80, 80, 0.2
    found = [bound_distance([draw(rng) for _ in range(trials)], alpha) for _ in range(audits)]
    above = sum(one.high < distance for one in found)
    below = sum(one.low > distance for one in found)
    allowed = binom.isf(1e-6, audits, alpha / 2)
    means = np.mean([one.low for one in found]), np.mean([one.high for one in found])
    print(f"{draw.__name__}: missed {above} and {below} of {audits}, allowed {allowed:.0f}; mean {means}")
    assert max(above, below) <= allowed
    assert means[0] > distance / 5, "a bound from below that finds nothing is no bound"


def test_an_answer_is_shown_in_forty_characters_and_known_by_all_of_it() -> None:
    one, other = Transcript.of(("x" * 99, "x" * 98 + "y")).answers
    assert len(one.shown) == len(other.shown) == 40
    assert one.name != other.name
    assert hash(Transcript.of((1, 2))) == hash(Transcript.of((1, 2))), "no later run can change it"
    assert Transcript.of(("x" * 38,)).answers[0].shown == repr("x" * 38)


def test_thresholds_are_where_two_laws_are_furthest_apart() -> None:
    fresh, reused = [1.0, 1.0, 2.0], [1.0, 3.0, 3.0]
    assert [*_thresholds(0, fresh, reused)] == [Event("answer 0 is above 2", 0, above=True, threshold=2.0)]
    assert [*_thresholds(4, reused, fresh)] == [Event("answer 4 is at most 2", 4, above=False, threshold=2.0)]
    assert [*_thresholds(0, fresh, fresh)] == []


@pytest.mark.parametrize(
    ("fresh", "reused", "thresholds"), [(1, 2, 1), ("a", 2, 0), (1, "a", 0), ("a", "b", 0), (None, 2, 0)]
)
def test_thresholds_are_of_answers_that_are_all_numbers(fresh: Any, reused: Any, thresholds: int) -> None:
    numbers = Transcript.of((0,)), Transcript.of((1,))
    events = [*_candidates([numbers, (Transcript.of((fresh,)), Transcript.of((reused,)))])]
    assert [one.position for one in events] == [None] + [0] * thresholds + [0]
    assert sum(one.threshold is not None for one in events) == thresholds


def test_the_events_are_what_they_say() -> None:
    above = Event("", 1, threshold=0.5)
    below = Event("", 1, above=False, threshold=0.5)
    for event, value in ((above, 0.6), (below, 0.5), (below, 0.4)):
        assert event.holds(Transcript.of((9, value)))
    assert not above.holds(Transcript.of((9, 0.5)))
    assert not above.holds(Transcript.of((9,)))
    assert not above.holds(Transcript.of((9, float("nan"))))
    assert Event("", None, among=frozenset([Transcript.of((1, 2)).name])).holds(Transcript.of((1, 2)))


def bits(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.integers(0, 2, size=size)


def looks(sample: Any, r: np.random.Generator, *, query: Any, q: float = 0.5) -> int:
    """The sample's first bit, or its opposite for the query 1; 0 but for a share q of the r. rho is q/2."""
    return int(sample[0] ^ query) if r.random() < q else 0


def curious(ask: Any, rng: np.random.Generator) -> None:
    """Each query is the answer before it."""
    answer = 0
    for _ in range(3):
        answer = ask(answer)


def interviewed(mechanism: Any, source: Any = None, **options: Any) -> Record:
    return requests.ask("reuse", mechanism, source, **options)


def told(record: Record) -> ReuseAnswer:
    return answer_of(record)


def exact_distance(q: float, m: int = 3) -> float:
    """Every sample and every r enumerated."""
    laws: list[dict[tuple[int, ...], float]] = [{}, {}]
    for look in itertools.product((0, 1), repeat=m):
        chance = np.prod([q if seen else 1 - q for seen in look])
        for law, samples in zip(
            laws, (list(itertools.product((0, 1), repeat=m)), [(b,) * m for b in (0, 1)]), strict=True
        ):
            for sample in samples:
                answers: list[int] = []
                for seen, bit in zip(look, sample, strict=True):
                    answers.append((bit ^ (answers[-1] if answers else 0)) if seen else 0)
                key = tuple(answers)
                law[key] = law.get(key, 0.0) + float(chance) / len(samples)
    fresh, reused = laws
    return sum(abs(fresh.get(t, 0.0) - reused.get(t, 0.0)) for t in {*fresh, *reused}) / 2


CURIOUS: dict[str, Any] = {"size": 1, "analyst": curious, "queries": 3, "rho": 0.25}


def test_an_interview_end_to_end_against_its_exact_distance() -> None:
    truth = exact_distance(0.5)
    record = interviewed(looks, bits, **CURIOUS, fixed=600, confidence=0.999999)
    answer = told(record)
    print(f"exact {truth:.4f}, found {answer.distance}, bound {answer.bound}; false alarm 1e-6")
    assert answer.distance.low <= truth <= answer.distance.high
    assert (record.measures[0].name, record.measures[0].low) == ("distance", answer.distance.low)
    assert (answer.bound, answer.rho, record.target) == (0.5, 0.25, 0.5)
    assert truth <= answer.bound, "the lemma"


def test_what_is_cut_short_has_a_limit_that_holds_at_every_number() -> None:
    inquiry = inquiry_of(looks, bits, "reuse", **CURIOUS, fixed=100)
    assert next(inquiry.steps()) == [Work(0, range(100))]
    same, other = Transcript.of((0, 0)), Transcript.of((0, 1))
    payloads = [msgspec.to_builtins(pair) for pair in ((same, same), (same, other))]
    for done in range(100):
        found = answer_of_struct(inquiry.answer().fields)
        assert (found.trials, found.differ, found.distance.low) == (done, done // 2, 0.0)
        assert inquiry.verdict().outcome == "inconclusive"
        assert not inquiry.add(Trial(done, None, None, 0.0, payload=payloads[done % 2]))
    assert [*inquiry.steps()] == []
    assert inquiry.verdict().outcome != "pass", "half of the trials differ"
    assert inquiry.outlook().done == inquiry.outlook().of == 100


def answer_of_struct(fields: Any) -> ReuseAnswer:
    assert isinstance(fields, ReuseAnswer)
    return fields


def is_held_again_by_its_number(record: Record, given: dict[str, Any]) -> None:
    replay = str(record.cells[0].replay)
    assert replay.startswith("python -m auditor reuse algorithms.data_reuse:plain_answer")
    assert replay.endswith(f"--analyst algorithms.data_reuse:fit_a_vote --queries {FEW + 1} --rho 0.025 --fixed 60")
    index = int(replay.partition("--replay ")[2].split()[0])
    first, fresh, reused = replayed(make_request("reuse", plain_answer, None, given), index)
    assert getattr(first, "text", "").startswith("DIFFERENT")
    assert getattr(fresh, "texts", 0) != getattr(reused, "texts", 0)
    assert run([*replay.split()[3:]]) == 0


def test_a_trial_that_no_command_leads_to_has_none() -> None:
    unreachable = interviewed(looks, bits, **{**CURIOUS, "analyst": lambda ask, rng: curious(ask, rng)}, fixed=40)
    assert unreachable.cells[0].replay is None


def test_an_analyst_fools_itself_with_plain_means_is_held_by_rstat_and_replays() -> None:
    asked = {"analyst": fit_a_vote, "queries": FEW + 1, "rho": 0.025, "fixed": 60}
    plain, held = (interviewed(f"algorithms.data_reuse:{name}_answer", **asked) for name in ("plain", "rstat"))
    assert (plain.verdict, held.verdict) == ("fail", "pass")
    assert "answer 20 is above" in told(plain).event, "the vote is what gives it away"
    assert told(plain).distance.low > told(held).distance.high
    assert "rho is above 0.025" in plain.reason
    is_held_again_by_its_number(plain, asked)


def test_the_command_writes_its_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "interview.py").write_text(
        "def bits(rng, size):\n    return rng.integers(0, 2, size=size)\n"
        "def answer(sample, r, *, query, noise=0):\n    return int(sample[0]) * noise\n"
        "def twice(ask, rng):\n    ask('x'), ask('y')\n"
    )
    place = tmp_path / "interview.py"
    words = ["reuse", f"{place}:answer", "--analyst", f"{place}:twice", "--queries", "2", "--source", f"{place}:bits"]
    words += ["--size", "1", "--rho", "0.3", "--fixed", "60", "--json", str(tmp_path / "record.json")]
    assert run(words) == 0
    document = json.loads((tmp_path / "record.json").read_text())
    assert (document["schema"], document["verdict"]) == ("auditor.record/2", "pass")
    assert (document["answer"]["question"], document["answer"]["differ"]) == ("reuse", 0)
    assert "within (m - 1) rho = 0.3" in " ".join(capsys.readouterr().out.split())
    assert run([*words, "--param", "noise=1"]) in (1, 3)


def ask_often(ask: Any, rng: Any) -> None:
    for _ in range(9):
        ask(0)


def give_up(ask: Any, rng: Any) -> None:
    raise KeyError("nothing to ask")


counter = itertools.count()


def forgetful(sample: Any, r: Any, *, query: Any) -> int:
    return next(counter)


def test_what_makes_no_interview_is_refused() -> None:
    asked: dict[str, Any] = {"size": 1, "analyst": curious, "queries": 3, "rho": 0.2}
    file = np.arange(40) % 2
    with pytest.raises(
        UsageError, match=r"--resample split makes two samples, and reuse a fresh one .*: use bootstrap"
    ):
        interviewed(looks, file, **{**asked, "size": 20}, resample="split")
    with pytest.raises(UsageError, match="--accept-overlap"):
        interviewed(looks, file, **{**asked, "size": 20}, resample="subsample")
    with pytest.raises(BadValue, match=r"fixed=8 cannot show a distance of 0.2: use --fixed 17 or more"):
        interviewed(looks, bits, **{**asked, "rho": 0.1, "fixed": 8})
    with pytest.raises(UsageError, match="asks 0 queries at most, and reuse begins with the second"):
        interviewed(looks, bits, **{**asked, "analyst": lambda ask, rng: None})
    with pytest.raises(UsageError, match=r"asks 1 quer.* at most, and reuse begins with the second"):
        interviewed(looks, bits, **{**asked, "analyst": lambda ask, rng: ask(0)})


@pytest.mark.parametrize(
    ("mechanism", "options", "complaint"),
    [
        (looks, {"analyst": ask_often}, "asks more than 3 queries"),
        (looks, {"analyst": give_up}, "raised KeyError in trial 0"),
        (forgetful, {}, "no function of"),
        (looks, {"analyst": lambda ask, rng: ask("x"), "params": {"q": 1.0}}, "raised TypeError at query 0"),
    ],
)
def test_what_goes_wrong_in_an_interview_is_said(mechanism: Any, options: dict[str, Any], complaint: str) -> None:
    record = interviewed(mechanism, bits, **{**CURIOUS, **options})
    assert (record.verdict, record.exit_code) == ("error", 4)
    assert complaint in record.reason


@pytest.mark.parametrize(("claimed", "rho", "target"), [(None, None, 0.1), (0.02, None, 0.02), (0.02, 0.05, 0.05)])
def test_the_rho_of_each_answer_is_asked_for_or_claimed_or_the_default(
    claimed: float | None, rho: float | None, target: float
) -> None:
    def claims(sample: Any, r: Any, *, query: Any) -> Any:
        return looks(sample, r, query=query)

    learner = subject(claimed=claimed)(claims) if claimed else looks
    inquiry = inquiry_of(learner, bits, "reuse", **{**CURIOUS, "rho": rho, "queries": 3}, fixed=100)
    assert inquiry.plan.target == pytest.approx(2 * target)
