"""May one sample answer many adaptive questions? An analyst interviews a mechanism, with fresh samples and with one.

Lemma A.7: if each answer is rho-reproducible, the transcripts of m queries are within (m - 1) rho in statistical
distance. The mechanism is a subject A(sample, r, *, query); the analyst a function analyst(ask, rng) that calls
ask(query) for each answer. Both interviews of a trial share r, the analyst's rng and the first sample.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import msgspec

from auditor import __version__
from auditor.engine.engine import keep_nothing, take_how
from auditor.errors import AuditorError, BadValue, SubjectError, UsageError, is_interrupt
from auditor.flow.pipeline import Runs, running
from auditor.flow.plan import check_count, error_probability
from auditor.flow.record import as_json, environment
from auditor.lookup import find_object, importable_name
from auditor.process.foreign import call
from auditor.questions.transcripts import LEAST_TRIALS, Distance, Transcript, bound_distance
from auditor.randomness import from_key
from auditor.report.reuse_record import Bounds, ReuseRecord, to_json
from auditor.sources.datasets import Dataset
from auditor.statistics.interval import sequence_upper
from auditor.statistics.outward import at_least, at_most, sure
from auditor.subjects.outcome import settle
from auditor.subjects.subject import code_hash, load_subject
from auditor.trials.setup import Setup, make_setup
from auditor.trials.trial import Bench, Trial

TRIALS = 400
QUERY = "query"
Watch = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Interviews:
    """A trial that is two interviews with the same randomness: fresh samples for each query, and one for all."""

    analyst: Callable[..., Any]
    name: str
    queries: int

    def __call__(self, bench: Bench, index: int, fell: Mapping[int, str]) -> Trial:
        started = perf_counter()
        fresh, reused = (self.transcript(bench, index, reuse=reuse) for reuse in (False, True))
        seconds = perf_counter() - started
        return Trial(index, None, None, seconds, payload=msgspec.to_builtins((fresh, reused)))

    def transcript(self, bench: Bench, index: int, *, reuse: bool) -> Transcript:
        """One interview: a pure function of (bench, index, reuse)."""
        answers: list[Any] = []  # settled
        kept = bench.draw(index, 0)

        def ask(query: Any) -> Any:
            number = len(answers)
            if number >= self.queries:
                raise SubjectError(f"{self.name} asks more than {self.queries} queries: use a larger --queries")
            sample = copy.deepcopy(kept) if reuse or not number else bench.draw(index, number)
            answer = self._answer(bench, sample, index, number, query)
            answers.append(settle(answer))  # the next answer may be written into it
            return answer

        try:
            call(self.analyst, ask, from_key(bench.keys.r.child(index, "analyst")))
        except AuditorError:
            raise
        except BaseException as error:
            if is_interrupt(error):
                raise
            what = f"the analyst {self.name} raised {type(error).__name__} in trial {index}"
            raise SubjectError(what).caused_by(error) from error
        return Transcript.of(answers)

    def _answer(self, bench: Bench, sample: Any, index: int, number: int, query: Any) -> Any:
        subject = bench.subject
        asked = replace(subject, params={**subject.params, QUERY: query})
        try:
            key, own = bench.keys.r.child(index, QUERY, number), bench.own(index, number)
            return bench.see(asked.run(sample, key, own=own))
        except AuditorError:
            raise
        except BaseException as error:
            if is_interrupt(error):
                raise
            what = f"{subject.name} raised {type(error).__name__} at query {number} of trial {index}"
            raise SubjectError(what).caused_by(error) from error


def audit_reuse(
    mechanism: str | Callable[..., Any],
    source: object = None,
    *,
    analyst: str | Callable[..., Any],
    queries: int,
    rho: float | None = None,
    fixed: int = TRIALS,
    confidence: float = 0.95,
    params: Mapping[str, Any] | None = None,
    texts: Mapping[str, str] | None = None,
    randomness: str | None = None,
    watch: Watch | None = None,
    log: str | None = None,
    **options: Any,
) -> ReuseRecord:
    """Whether reusing one sample for `queries` adaptive queries moves the analyst's transcripts by at most
    (queries - 1) rho; `fixed` trials, judged once. `rho` is what the mechanism claims unless it is given.
    """
    how = replace(take_how(options), log=log)
    subject = load_subject(mechanism, {QUERY: None, **(params or {})}, texts=texts, randomness=randomness)
    setup = make_setup(subject, source, rho=rho, confidence=confidence, **options)
    _check(setup, queries, fixed)
    fn = find_object(analyst) if isinstance(analyst, str) else analyst
    if not callable(fn):
        raise UsageError(f"--analyst {analyst} is {type(fn).__name__}, not a function analyst(ask, rng)")
    name = analyst if isinstance(analyst, str) else importable_name(fn) or "the analyst"
    unit, started = Interviews(fn, name, queries), perf_counter()
    if how.on_error == "bottom":
        raise UsageError("--on-error bottom: an interview without one of its answers is none; leave it out")
    pairs: list[tuple[Transcript, Transcript]] = []
    told = {"reuse": {"analyst": name, "queries": queries, "trials": fixed}}
    with running(setup, how, _say_nothing, told, budget=fixed) as runs:
        bench = replace(runs.make_bench(setup), unit=unit)
        _check_repeats(bench, unit, runs)
        try:
            for trial in runs.trials(bench, range(fixed)):
                pairs.append(msgspec.convert(trial.payload, tuple[Transcript, Transcript]))
                if watch:
                    watch(len(pairs), fixed)
            _check_asked(pairs, name)
            distance = bound_distance(pairs, error_probability(confidence))
        except KeyboardInterrupt:
            distance = _cut_short(pairs, setup.plan.alpha)
        runs.stop()
        record = _record(setup, bench, unit, distance, fixed, perf_counter() - started)
        runs.finish(lambda: to_json(record), is_over=not record.interrupted)
    return record


def _check_asked(pairs: Sequence[tuple[Transcript, Transcript]], name: str) -> None:
    asked = max(len(transcript.answers) for pair in pairs for transcript in pair)
    if asked < 2:
        raise UsageError(f"{name} asks {asked} queries at most, and reuse begins with the second: give another analyst")


def _say_nothing(words: str) -> None: ...


def _cut_short(pairs: Sequence[tuple[Transcript, Transcript]], alpha: float) -> Distance:
    """What is known of trials that were meant to be more: only a limit that holds at every number of them."""
    differ = sum(fresh.name != reused.name for fresh, reused in pairs)
    high = sequence_upper(len(pairs), differ, alpha / 2) if pairs else 1.0
    return Distance(0.0, high, len(pairs), differ, "none was sought", 0, 0, 0)


def _check(setup: Setup, queries: int, trials: int) -> None:
    check_count("queries", queries, least=2, example=10)
    check_count("fixed", trials, least=LEAST_TRIALS, example=TRIALS)
    if setup.sample_kind != "rows":
        raise UsageError("reuse needs rows, since one sample is asked many times: use --sample rows")
    if isinstance(setup.source, Dataset) and setup.source.drawn_together:
        raise UsageError("--resample split makes two samples, and reuse a fresh one for each query: use bootstrap")
    bound = (queries - 1) * setup.plan.target
    if bound >= 1:
        raise UsageError(
            f"(m - 1) rho is {bound:g}, and every distance is at most 1: use an --rho below {1 / (queries - 1):.3g}, "
            "or fewer --queries"
        )
    needed = math.ceil(math.log(setup.plan.alpha / 2) / math.log1p(-bound))
    if trials < needed:
        raise BadValue("fixed", trials, f"cannot show a distance of {bound:g}: use --fixed {needed} or more")


def _check_repeats(bench: Bench, unit: Interviews, runs: Runs) -> None:
    """An interview that comes out differently when it is held again is no function of its randomness."""
    first, again = (next(runs.engine.trials(bench, (0,), keep_nothing)).payload for _ in range(2))
    if first != again:
        raise SubjectError(
            f"{bench.subject.name} or {unit.name} is no function of (sample, r): the same interview gave two "
            "transcripts. Draw every random bit from r or from the rng that the analyst gets"
        )


def _record(
    setup: Setup, bench: Bench, unit: Interviews, distance: Distance, planned: int, seconds: float
) -> ReuseRecord:
    subject, plan, queries = setup.subject, setup.plan, unit.queries
    bound, interrupted = (queries - 1) * plan.target, distance.trials < planned
    verdict = "pass" if distance.high <= bound else "fail" if distance.low > bound else "inconclusive"
    reason = _reason(distance, bound, plan.confidence, plan.target, verdict)
    if interrupted:  # trials of a fixed number are judged once, and together
        verdict, reason = "inconclusive", f"interrupted after {distance.trials} of {planned} trials"
    return ReuseRecord(
        auditor_version=__version__,
        subject=subject.name,
        analyst=unit.name,
        code_hash=code_hash(subject.fn),
        params=as_json({name: value for name, value in subject.params.items() if name != QUERY}),
        source=bench.source.name,
        size=plan.size,
        seed=plan.seed,
        queries=queries,
        rho=plan.target,
        bound=bound,
        confidence=plan.confidence,
        error_spent=plan.alpha,
        trials=distance.trials,
        differ=distance.differ,
        distance=Bounds(distance.low, distance.high),
        event=distance.event,
        tested=distance.tested,
        reused_only=distance.reused_only,
        fresh_only=distance.fresh_only,
        verdict=verdict,
        reason=reason,
        interrupted=interrupted,
        seconds=seconds,
        environment=environment(),
    )


def _reason(distance: Distance, bound: float, confidence: float, rho: float, verdict: str) -> str:
    low, high, words = at_least(distance.low), at_most(distance.high), sure(confidence)
    if verdict == "pass":
        return f"reuse moves transcripts by at most {high} ({words}), within (m - 1) rho = {bound:g}"
    if verdict == "fail":
        above = f"above (m - 1) rho = {bound:g}: rho is above {rho:g}"
        return f"reuse moves transcripts by at least {low} ({words}), {above}"
    return f"reuse moves transcripts by {low} to {high} ({words}), which does not decide (m - 1) rho = {bound:g}"
