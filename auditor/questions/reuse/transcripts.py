"""How far apart are transcripts with fresh samples and with a reused one? Bounds on their statistical distance.

A trial is two interviews with the same randomness.

From above: the two transcripts of a trial share their randomness, so they are a coupling, and no distance is larger
than how often a coupling differs. From below: none is smaller than the difference of the probabilities of one event.
The event is sought in a first quarter of the trials and chosen in a second; the other half, which had no say in it,
tests it. There p10 - p01 is the difference, p10 the share of trials where the event holds for the reused transcript
only, p01 for the fresh one only: limits on these two are exact. Half of the error goes to each side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from time import perf_counter
from typing import Any

import msgspec

from auditor.errors import AuditorError, SubjectError, is_interrupt, kind_of
from auditor.lookup import call_user_code
from auditor.randomness import Key, from_key
from auditor.sources.sample import copied_rows
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper
from auditor.trials.trial import RUNS, Bench, Trial
from auditor.values import describe, fingerprint, settle

LEAST_TRIALS = 8  # since a quarter of them proposes events
QUERY = "query"  # the mechanism's parameter
_SHOWN = 40  # characters of an answer that are shown


class GivenAnswer(msgspec.Struct, frozen=True, array_like=True):
    """What counts of one answer."""

    name: str  # its fingerprint
    number: int | float | None  # its value, if it is a number
    shown: str  # as text


class Transcript(msgspec.Struct, frozen=True, array_like=True):
    """All answers of one interview: the queries follow from them."""

    answers: tuple[GivenAnswer, ...]

    @classmethod
    def of(cls, answers: Sequence[Any]) -> Transcript:
        """Return the transcript of an interview with these answers."""
        return cls(tuple(GivenAnswer(fingerprint(one), _number(one), describe(one, _SHOWN)) for one in answers))

    @property
    def name(self) -> tuple[str, ...]:
        """What tells two transcripts apart: the fingerprints of all answers."""
        return tuple(answer.name for answer in self.answers)


class Event(msgspec.Struct, frozen=True):
    """Something that may hold for a transcript: an answer is on one side of a threshold, or one of a set."""

    words: str
    position: int | None  # which answer; None for the whole transcript
    above: bool = True
    threshold: float | None = None
    among: frozenset[object] = frozenset()

    def holds(self, transcript: Transcript) -> bool:
        """True if the event has happened in a transcript: one of some answers, or a number on one side of a
        threshold."""
        if self.position is not None and self.position >= len(transcript.answers):
            return False
        if self.threshold is not None and self.position is not None:
            number = transcript.answers[self.position].number
            return number is not None and (number > self.threshold) == self.above
        name = transcript.name if self.position is None else transcript.answers[self.position].name
        return name in self.among


class Distance(msgspec.Struct, frozen=True):
    """Limits on a statistical distance, and the counts that they rest on, as in `ReuseAnswer`."""

    low: float
    high: float
    trials: int
    differ: int
    event: str
    tested: int
    reused_only: int
    fresh_only: int


Pair = tuple[Transcript, Transcript]  # fresh, reused


class InterviewTrial(msgspec.Struct, frozen=True):
    """A trial that is two interviews with the same randomness: a fresh sample for each query, and one for all."""

    analyst: Callable[..., Any]
    name: str
    queries: int

    def __call__(self, bench: Bench, index: int, fell: Mapping[int, str]) -> Trial:
        started = perf_counter()
        both = self.both(bench, index)
        return Trial(index, None, None, perf_counter() - started, payload=msgspec.to_builtins(both))

    def both(self, bench: Bench, index: int) -> Pair:
        """Return two transcripts of a trial: with a fresh sample for each query, and with one sample for all."""
        fresh, reused = (self.transcript(bench, index, reuse=reuse) for reuse in (False, True))
        return fresh, reused

    def transcript(self, bench: Bench, index: int, *, reuse: bool) -> Transcript:
        """Hold one interview of the mechanism by the analyst, with fresh samples or one reused sample: a pure function
        of (bench, index, reuse)."""
        answers: list[Any] = []  # settled
        kept, queries = bench.draw(index, 0), bench.keys.r.child(index, QUERY)

        def ask(query: Any) -> Any:
            number = len(answers)
            if number >= self.queries:
                raise SubjectError(f"{self.name} asks more than {self.queries} queries: use a larger --queries")
            sample = copied_rows(kept, bench.source.name) if reuse or not number else bench.draw(index, number)
            answer = self._answer(bench, sample, queries.child(number), index, number, query)
            answers.append(settle(answer))  # the next answer may be written into it
            return answer

        rng = from_key(bench.keys.r.child(index, "analyst"))
        _guarded(f"the analyst {self.name}", ("in trial {}", index), lambda: call_user_code(self.analyst, ask, rng))
        return Transcript.of(answers)

    def _answer(self, bench: Bench, sample: Any, key: Key, index: int, number: int, query: Any) -> Any:
        """Return the mechanism's answer to one query on a sample."""
        subject, own = bench.subject, bench.own(index, number)
        if bench.publish:
            bench.publish(index, number, RUNS)
        place = "at query {} of trial {}", number, index
        return _guarded(subject.name, place, lambda: bench.see(subject.run(sample, key, own=own, **{QUERY: query})))


def _guarded(who: str, place: tuple[Any, ...], run: Callable[[], Any]) -> Any:
    """Return what the subject or the analyst returns; SubjectError with the place in words if it raises."""
    try:
        return run()
    except AuditorError:
        raise
    except BaseException as error:
        if is_interrupt(error):
            raise
        where = place[0].format(*place[1:])
        raise SubjectError(f"{who} raised {kind_of(error)} {where}").caused_by(error) from error


def bound_distance(pairs: Sequence[Pair], alpha: float) -> Distance:
    """Return both limits of the distance between transcripts, each at half of alpha; the number of pairs was fixed
    beforehand."""
    n = len(pairs)
    differ = sum(fresh.name != reused.name for fresh, reused in pairs)
    build, choose, test = pairs[: n // 4], pairs[n // 4 : n // 2], pairs[n // 2 :]
    event = max(_candidates(build), key=lambda one: sum(one.holds(later) - one.holds(first) for first, later in choose))
    reused_only = sum(event.holds(reused) and not event.holds(fresh) for fresh, reused in test)
    fresh_only = sum(event.holds(fresh) and not event.holds(reused) for fresh, reused in test)
    more = clopper_pearson_lower(len(test), reused_only, alpha / 4)
    less = clopper_pearson_upper(len(test), fresh_only, alpha / 4)
    high = clopper_pearson_upper(n, differ, alpha / 2)
    return Distance(max(0.0, more - less), high, n, differ, event.words, len(test), reused_only, fresh_only)


def _candidates(pairs: Sequence[Pair]) -> Iterator[Event]:
    """Yield events of the whole transcript and of each answer that came more often with a reused sample."""
    whole = _more_often([fresh.name for fresh, _ in pairs], [reused.name for _, reused in pairs])
    yield Event(f"the transcript is one of {len(whole)}", None, among=whole)
    for position in range(max(len(transcript.answers) for pair in pairs for transcript in pair)):
        fresh, reused = (
            [pair[side].answers[position] for pair in pairs if position < len(pair[side].answers)] for side in (0, 1)
        )
        numbers = [[one.number for one in side if one.number is not None] for side in (fresh, reused)]
        if len(numbers[0]) == len(fresh) and len(numbers[1]) == len(reused):
            yield from _thresholds(position, *numbers)
        names = _more_often([one.name for one in fresh], [one.name for one in reused])
        shown = next((one.shown for one in reused if one.name in names), "None")
        yield Event(f"answer {position} is one of {len(names)}, such as {shown}", position, among=names)


def _more_often(fresh: Sequence[object], reused: Sequence[object]) -> frozenset[object]:
    """Return what occurs more often with a reused sample than with fresh ones."""
    before = Counter(fresh)
    return frozenset(name for name, count in Counter(reused).items() if count > before[name])


def _thresholds(position: int, fresh: Sequence[float], reused: Sequence[float]) -> Iterator[Event]:
    """Yield the events at which two empirical distributions are furthest apart, on either side."""
    moves = Counter(fresh)
    moves.subtract(Counter(reused))
    values = sorted(moves)
    ahead = accumulate(moves[value] for value in values)  # fresh answers up to each value, less the reused ones
    gaps = list(zip(ahead, values, strict=True))
    (most, above), (least, below) = max(gaps), min(gaps)
    if most > 0:
        yield Event(f"answer {position} is above {above:.6g}", position, above=True, threshold=float(above))
    if least < 0:
        yield Event(f"answer {position} is at most {below:.6g}", position, above=False, threshold=float(below))


def _number(answer: object) -> int | float | None:
    """Return an answer as a number; None if it is none."""
    if not isinstance(answer, (int, float)) or isinstance(answer, bool) or answer != answer:
        return None
    return int(answer) if isinstance(answer, int) else float(answer)
