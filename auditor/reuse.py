"""May one sample answer many adaptive questions? An analyst interviews a mechanism, with fresh samples and with one.

Lemma A.7: if each answer is rho-reproducible, the transcripts of m queries are within (m - 1) rho in statistical
distance. The mechanism is a subject A(sample, r, *, query); the analyst a function analyst(ask, rng) that calls
ask(query) for each answer. Both interviews of a trial share r, the analyst's rng and the first sample.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from auditor import __version__
from auditor.datasets import Dataset
from auditor.errors import AuditorError, BadValue, SubjectError, UsageError, is_interrupt
from auditor.foreign import call
from auditor.lookup import find_object, importable_name
from auditor.outcome import settle
from auditor.outward import at_least, at_most, sure
from auditor.plan import check_count, error_probability
from auditor.randomness import from_key
from auditor.report.record import as_json, environment
from auditor.report.reuse_record import Bounds, ReuseRecord
from auditor.setup import Setup, make_bench, make_setup
from auditor.subjects import code_hash, load_subject
from auditor.transcripts import LEAST_TRIALS, Distance, Transcript, bound_distance
from auditor.trial import Bench

TRIALS = 400
QUERY = "query"
Watch = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Interview:
    """Everything that a transcript depends on besides its number."""

    bench: Bench
    analyst: Callable[..., Any]
    name: str
    queries: int

    def transcript(self, index: int, *, reuse: bool) -> Transcript:
        """One interview: a pure function of (interview, index, reuse)."""
        answers: list[Any] = []  # settled
        kept = self.bench.draw(index, 0)

        def ask(query: Any) -> Any:
            number = len(answers)
            if number >= self.queries:
                raise SubjectError(f"{self.name} asks more than {self.queries} queries: use a larger --queries")
            sample = copy.deepcopy(kept) if reuse or not number else self.bench.draw(index, number)
            answer = self._answer(sample, index, number, query)
            answers.append(settle(answer))  # the next answer may be written into it
            return answer

        try:
            call(self.analyst, ask, from_key(self.bench.keys.r.child(index, "analyst")))
        except AuditorError:
            raise
        except BaseException as error:
            if is_interrupt(error):
                raise
            what = f"the analyst {self.name} raised {type(error).__name__} in trial {index}"
            raise SubjectError(what).caused_by(error) from error
        return Transcript(tuple(answers))

    def _answer(self, sample: Any, index: int, number: int, query: Any) -> Any:
        subject = self.bench.subject
        asked = replace(subject, params={**subject.params, QUERY: query})
        try:
            key, own = self.bench.keys.r.child(index, QUERY, number), self.bench.own(index, number)
            return self.bench.see(asked.run(sample, key, own=own))
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
    **options: Any,
) -> ReuseRecord:
    """Whether reusing one sample for `queries` adaptive queries moves the analyst's transcripts by at most
    (queries - 1) rho; `fixed` trials, judged once. `rho` is what the mechanism claims unless it is given.
    """
    subject = load_subject(mechanism, {QUERY: None, **(params or {})}, texts=texts, randomness=randomness)
    setup = make_setup(subject, source, rho=rho, confidence=confidence, **options)
    _check(setup, queries, fixed)
    fn = find_object(analyst) if isinstance(analyst, str) else analyst
    if not callable(fn):
        raise UsageError(f"--analyst {analyst} is {type(fn).__name__}, not a function analyst(ask, rng)")
    name = analyst if isinstance(analyst, str) else importable_name(fn) or "the analyst"
    interview = Interview(make_bench(setup), fn, name, queries)
    started = perf_counter()
    _check_repeats(interview)
    pairs = []
    for index in range(fixed):
        pairs.append(tuple(interview.transcript(index, reuse=reuse) for reuse in (False, True)))
        if watch:
            watch(index + 1, fixed)
    asked = max(len(transcript.answers) for pair in pairs for transcript in pair)
    if asked < 2:
        raise UsageError(f"{name} asks {asked} queries at most, and reuse begins with the second: give another analyst")
    distance = bound_distance(pairs, error_probability(confidence))  # type: ignore[arg-type]
    return _record(setup, interview, distance, perf_counter() - started)


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


def _check_repeats(interview: Interview) -> None:
    """An interview that comes out differently when it is held again is no function of its randomness."""
    for reuse in (False, True):
        first, again = (interview.transcript(0, reuse=reuse) for _ in range(2))
        if first.name != again.name:
            raise SubjectError(
                f"{interview.bench.subject.name} or {interview.name} is no function of (sample, r): the same interview "
                "gave two transcripts. Draw every random bit from r or from the rng that the analyst gets"
            )


def _record(setup: Setup, interview: Interview, distance: Distance, seconds: float) -> ReuseRecord:
    subject, plan, queries = setup.subject, setup.plan, interview.queries
    bound = (queries - 1) * plan.target
    verdict = "pass" if distance.high <= bound else "fail" if distance.low > bound else "inconclusive"
    return ReuseRecord(
        auditor_version=__version__,
        subject=subject.name,
        analyst=interview.name,
        code_hash=code_hash(subject.fn),
        params=as_json({name: value for name, value in subject.params.items() if name != QUERY}),
        source=interview.bench.source.name,
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
        reason=_reason(distance, bound, plan.confidence, plan.target, verdict),
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
