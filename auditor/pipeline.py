"""The flow of an audit on one screen: subject + source -> plan -> trials -> tally -> verdict -> record.

The command line, pytest and Python all end in `audit`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Protocol

from auditor.errors import AuditorError, BadValue, SampleError, UsageError
from auditor.outcome import Difference, first_difference
from auditor.preflight import check as preflight_check
from auditor.report.record import Finding, Learnt, Record, failure_finding, make_record
from auditor.second_process import SecondProcess
from auditor.setup import Setup, make_bench, make_setup
from auditor.subjects import load_subject
from auditor.trial import Bench, SubjectRaised, Trial, run_pair
from auditor.verdict import Tally, Verdict, decide, is_decided

EXAMPLES = 3  # mismatching pairs that a record shows


class Watcher(Protocol):
    """Who wants to know how it is going; called in this order, `advanced` after every pair."""

    def planned(self, setup: Setup) -> None: ...
    def timed(self, seconds_a_run: float) -> None: ...
    def advanced(self, tally: Tally, seconds: float) -> None: ...


class Silent:
    """A watcher that looks away."""

    def planned(self, setup: Setup) -> None: ...
    def timed(self, seconds_a_run: float) -> None: ...
    def advanced(self, tally: Tally, seconds: float) -> None: ...


def audit(
    subject: str | Callable[..., Any],
    source: object = None,
    *,
    size: int | None = None,
    rho: float | None = None,
    confidence: float = 0.95,
    pairs: int | None = None,
    fixed: int | None = None,
    seed: int = 0,
    params: Mapping[str, Any] | None = None,
    randomness: str | None = None,
    sample: str | None = None,
    view: object = None,
    probe: int | str | None = None,
    resample: str | None = None,
    gate: str = "rho",
) -> Record:
    """Run A(sample, r) on pairs of fresh samples until it is known whether rho is at most `rho`.

    `subject` is a function or a target such as "module:fn"; `source` a spec such as "bernoulli(0.5)", a function
    fn(rng, size) or a frozen scipy.stats distribution; what is not given is taken from the subject's declarations.
    Raises UsageError where nothing can be run; a subject that fails on the way gives a record that says so.
    """
    loaded = load_subject(subject, params, randomness=randomness)
    setup = make_setup(
        loaded,
        source,
        size=size,
        rho=rho,
        confidence=confidence,
        pairs=pairs,
        fixed=fixed,
        seed=seed,
        sample=sample,
        view=view,
        probe=probe,
        resample=resample,
        gate=gate,
    )
    return run_audit(setup)


CarryOut = Callable[[Bench, Setup, Learnt, Watcher], Verdict]  # another question than that of pairs against a target


def run_audit(setup: Setup, watch: Watcher | None = None, carry_out: CarryOut | None = None) -> Record:
    """Carry a settled audit out, to its verdict or to whatever ends it; `carry_out` asks another question."""
    watch = watch or Silent()
    started = perf_counter()
    watch.planned(setup)
    learnt = Learnt()
    with SecondProcess(setup) as other:
        bench: Bench | None = None
        try:
            bench = make_bench(setup)
            bench = see_fit(bench, setup, other, learnt, watch)
            if carry_out:
                verdict = carry_out(bench, setup, learnt, watch)
            else:
                run_pairs(bench, setup, learnt, watch)
                verdict = decide(setup.plan, learnt.tally, learnt.churn)
        except KeyboardInterrupt:
            done = f"interrupted after {learnt.tally.pairs} of at most {setup.plan.budget} {setup.plan.unit}"
            verdict = Verdict("inconclusive", done, "interrupt", setup.plan.alpha)
        except UsageError:
            raise
        except AuditorError as error:
            verdict = Verdict("error", str(error), "error", 0.0)
            if bench and error.details:
                learnt.findings.append(failure_finding(error, setup, bench.source))
    return make_record(setup, bench.source if bench else None, learnt, verdict, perf_counter() - started)


def see_fit(bench: Bench, setup: Setup, other: SecondProcess | None, learnt: Learnt, watch: Watcher) -> Bench:
    """The bench after its preflight, with what that taught."""
    try:
        checked = preflight_check(bench, other, watch.timed)
    except SubjectRaised as error:
        if setup.plan.size == 0:
            raise UsageError(f"size=0 must be at least 1 for this subject: {error}; use e.g. --size 1000") from error
        if isinstance(error.__cause__, SampleError):
            raise UsageError(_too_small(setup, error.__cause__)) from error
        raise
    learnt.checked = checked
    learnt.findings += [Finding(kind, "warning", message) for kind, message in checked.warnings]
    if setup.plan.size == 0 and setup.private != "unshared":
        message = "two runs of a pair get the same r and no sample: they can only agree; write A(sample, r, private)"
        learnt.findings.append(Finding("nothing-fresh", "warning", message))
    if bench.counted and getattr(bench.source, "is_cut", False):
        learnt.findings.append(Finding("tail-cut", "info", f"{bench.source.name} is cut where a tail is below 2^-60"))
    if not checked.knows_truth:
        note = f"accuracy was not measured: the truth over {bench.source.name} is not known"
        learnt.findings.append(Finding("accuracy-unknown", "info", note))
    return replace(bench, copies=checked.changes_sample, judges=checked.knows_truth)


def _too_small(setup: Setup, error: SampleError) -> str:
    cure = f"; it declares {setup.declared_size:,}" if setup.declared_size else ""
    if "sample_scale" in setup.subject.settings:
        cure += "; --param sample_scale=S scales down what it draws"
    return f"size={setup.plan.size:,} does not suit {setup.subject.name}: {error}{cure}"


def run_pairs(bench: Bench, setup: Setup, learnt: Learnt, watch: Watcher) -> None:
    """Pairs in index order until the gate decides or the budget is spent."""
    plan, started = setup.plan, perf_counter()
    gate = plan.gate if plan.design == "anytime" else None
    for trial in (run_pair(bench, index) for index in range(plan.budget)):
        tally = learnt.tally = _add(learnt, trial)
        watch.advanced(tally, perf_counter() - started)
        if gate and is_decided(plan, gate, tally, learnt.churn):
            return


def _add(learnt: Learnt, trial: Trial) -> Tally:
    tally = learnt.tally
    learnt.seconds_in_subject += trial.seconds
    if trial.difference is not None and len(learnt.examples) < EXAMPLES:
        learnt.examples.append((trial.index, trial.difference))
    if trial.churn is not None:
        learnt.churn.add(trial.churn)
        learnt.churns.append(trial.churn)
    judged = trial.accurate is not None
    return Tally(
        tally.pairs + 1,
        tally.mismatches + (trial.difference is not None),
        tally.runs + judged,
        tally.failures + (judged and not trial.accurate),
    )


@dataclass(frozen=True, slots=True)
class Replayed:
    """One pair run again: what counts of both outputs, and where they first differ (None: they are the same)."""

    pair: int
    outputs: tuple[Any, Any]
    difference: Difference | None


def replay(
    subject: str | Callable[..., Any],
    source: object = None,
    *,
    pair: int,
    size: int | None = None,
    seed: int = 0,
    params: Mapping[str, Any] | None = None,
    randomness: str | None = None,
    sample: str | None = None,
    view: object = None,
    probe: int | str | None = None,
    resample: str | None = None,
) -> Replayed:
    """Run one pair of an audit again, by its number: the same samples, the same r."""
    loaded = load_subject(subject, params, randomness=randomness)
    setup = make_setup(loaded, source, size=size, seed=seed, sample=sample, view=view, probe=probe, resample=resample)
    return replay_setup(setup, pair)


def replay_setup(setup: Setup, pair: int) -> Replayed:
    if pair < 0:
        raise BadValue("pair", pair, "must be the number of a pair, 0 or more")
    bench = replace(make_bench(setup), copies=True)
    outputs = (bench.see(bench.run(pair, 0)), bench.see(bench.run(pair, 1)))
    return Replayed(pair, outputs, first_difference(*outputs))
