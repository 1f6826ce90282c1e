"""The one document an audit leaves behind: schema auditor.record/1. Everything shown is drawn from it alone."""

from __future__ import annotations

import functools
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from json import dumps, loads  # as they are now: a subject may replace them
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from auditor import __version__
from auditor.errors import AuditorError, UsageError
from auditor.files import read_bytes
from auditor.flow.parts import Arm, Profile
from auditor.flow.verdict import Tally, Verdict, is_accuracy_certified
from auditor.report.escape import json_text
from auditor.sources.source import Source
from auditor.statistics.interval import MeanEvidence, two_sided
from auditor.subjects.outcome import Difference as Found
from auditor.subjects.subject import code_hash, param_text
from auditor.trials.preflight import Checked
from auditor.trials.setup import Setup, replay_command
from auditor.trials.trial import RunFailed, SubjectRaised, Trial

SCHEMA = "auditor.record/1"
EXAMPLES = 3  # mismatching pairs that a record shows


class Bound(msgspec.Struct, frozen=True):
    """The one-sided limit that decided; what the picture draws. A calibrated gate shows the target's side alone: then
    the limit is the target, and rho is above it where the side is "lower"."""

    side: str
    value: float
    confidence: float


class Rho(msgspec.Struct, frozen=True):
    """The two-sided interval. After an early stop the estimate k/n is biased; the interval is not."""

    estimate: float | None
    low: float
    high: float
    confidence: float
    method: str


class Accuracy(msgspec.Struct, frozen=True):
    failures: int
    runs: int
    allowed: float | None
    low: float
    high: float
    confidence: float
    certified: bool | None = None  # whether the share was shown to be within what is allowed; a pass only refutes none


class Churn(msgspec.Struct, frozen=True):
    """By how much predictions change: the share of probe points on which the two fits of a pair disagree."""

    mean: float
    low: float
    high: float
    confidence: float
    median: float
    ninth_decile: float
    largest: float


class Finding(msgspec.Struct, frozen=True):
    """Something worth knowing besides the verdict; severity is "info", "warning" or "error"."""

    kind: str
    severity: str
    message: str
    replay: str | None = None


class Difference(msgspec.Struct, frozen=True):
    path: str
    left: str
    right: str


class Example(msgspec.Struct, frozen=True):
    """A pair whose outputs differ."""

    pair: int
    replay: str | None
    first_difference: Difference


class Preflight(msgspec.Struct, frozen=True):
    """Runs made before the audit to see whether the subject is a function of (sample, r) at all."""

    runs: int
    second_process: str  # "same", or "skipped: why"
    changes_sample: bool


IN_PROCESS = "in process"


class Cost(msgspec.Struct, frozen=True, omit_defaults=True):
    """`runs` counts the pairs' runs; the preflight's are in its own field. `engine` says who ran them."""

    runs: int
    preflight_runs: int
    seconds_in_subject: float
    seconds_total: float
    engine: str = IN_PROCESS


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One audit. Fields that are times, who ran it, and the environment are all that differs when it is made again."""

    schema: str = SCHEMA
    auditor_version: str
    subject: str
    importable: bool  # whether another process can find the subject, its parameters, the source and the view
    code_hash: str | None
    theorem: str | None
    note: str | None
    params: dict[str, Any]  # as given
    settings: dict[str, Any]  # with the defaults
    source: str
    sample_kind: str
    size: int
    sample_scale: float | None  # size over the theorem's size; below 1 the theorem promises nothing
    seed: int
    design: str
    target: float
    claimed: float | None
    expect: str
    confidence: float
    budget: int
    verdict: str
    reason: str
    decided_by: str
    error_spent: float
    bound: Bound | None
    pairs: int
    mismatches: int
    rho: Rho
    accuracy: Accuracy | None
    gate: str  # what the target is for: "rho" or "churn"
    churn: Churn | None
    view: str
    probe: int | str | None  # what predictions were compared on, where it was not the default
    resample: str | None  # how samples were taken from a data set
    randomness: str
    overridden: dict[str, tuple[Any, Any]]  # what was declared, what was used instead
    preflight: Preflight | None
    findings: list[Finding]
    examples: list[Example]
    arms: list[Arm] | None  # where the question is one of several sources or inputs: a row each
    private: str | None = None  # "shared" or "unshared", where the subject has private randomness
    loss: str | None = None  # by which runs were judged: how many break R(h) <= R^(h) + slack
    profile: Profile | None = None  # where the gate is on nu
    first_budget: int | None = None  # that the gate was planned for, where an undecided audit was continued
    family: int = 1  # audits that were to pass together; a fail has spent its share of the error alone
    cost: Cost
    environment: dict[str, str]


@dataclass(slots=True)
class Learnt:
    """What a running audit knows so far; whatever ends it, this goes into the record."""

    tally: Tally = field(default_factory=Tally)
    seconds_in_subject: float = 0.0
    examples: list[tuple[int, Found]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    churn: MeanEvidence = field(default_factory=MeanEvidence)
    churns: list[float] = field(default_factory=list)
    checked: Checked | None = None
    bottoms: int = 0  # runs that gave no output
    first_bottom: tuple[int, str] | None = None  # its pair, and what happened
    engine: str = IN_PROCESS

    def add(self, trial: Trial) -> None:
        """Take one more trial in."""
        self.seconds_in_subject += trial.seconds
        if trial.bottoms:
            self.bottoms += len(trial.bottoms)
            self.first_bottom = self.first_bottom or (trial.index, trial.bottoms[0])
        if trial.difference is not None and len(self.examples) < EXAMPLES:
            self.examples.append((trial.index, trial.difference))
        if trial.churn is not None:
            self.churn.add(trial.churn)
            self.churns.append(trial.churn)
        self.tally = self.tally.plus(differs=trial.difference is not None, accurate=trial.accurate)


def make_record(setup: Setup, source: Source | None, learnt: Learnt, verdict: Verdict, seconds: float) -> Record:
    """The record of an audit, however it ended."""
    subject, plan, tally, checked = setup.subject, setup.plan, learnt.tally, learnt.checked
    promised = setup.declared_size if subject.declared.theorem else None
    return Record(
        auditor_version=__version__,
        subject=subject.name,
        importable=bool(subject.is_reachable and source and source.spec and setup.view.spec),
        code_hash=code_hash(subject.fn),
        theorem=subject.declared.theorem,
        note=subject.declares("note"),
        params=as_json(subject.params),
        settings=as_json(subject.settings),
        source=source.name if source else str(getattr(setup.source, "name", setup.source)),
        sample_kind=setup.sample_kind,
        size=plan.size,
        sample_scale=subject.settings.get("sample_scale", 1.0) * plan.size / promised if promised else None,
        seed=plan.seed,
        design=plan.design,
        target=plan.target,
        claimed=setup.claimed,
        expect=setup.expect,
        confidence=plan.confidence,
        budget=plan.budget,
        first_budget=plan.first_budget,
        verdict=verdict.outcome,
        reason=verdict.reason,
        decided_by=verdict.decided_by,
        error_spent=verdict.error_spent,
        bound=Bound(verdict.bound.side, verdict.bound.value, verdict.bound.confidence) if verdict.bound else None,
        pairs=tally.pairs,
        mismatches=tally.mismatches,
        rho=_rho(setup, learnt),
        accuracy=_accuracy(setup, learnt),
        gate=plan.gates,
        churn=_churn(setup, learnt),
        view=setup.view.name,
        probe=setup.probe,
        resample=getattr(source, "resample", None),
        randomness=subject.randomness,
        overridden=setup.overridden,
        preflight=Preflight(checked.runs, checked.second_process, checked.changes_sample) if checked else None,
        findings=[*learnt.findings, *_bottoms(setup, source, learnt)],
        examples=[
            Example(pair, replay_command(setup, source, pair), Difference(found.path, found.left, found.right))
            for pair, found in learnt.examples
            if source
        ],
        arms=None,
        private=setup.private,
        loss=setup.loss.name if setup.loss else None,
        family=plan.family,
        cost=_cost(setup, learnt, seconds),
        environment=environment(),
    )


def _cost(setup: Setup, learnt: Learnt, seconds: float) -> Cost:
    runs, before = setup.plan.runs * learnt.tally.pairs, learnt.checked.runs if learnt.checked else 0
    return Cost(runs, before, learnt.seconds_in_subject, seconds, learnt.engine)


def _rho(setup: Setup, learnt: Learnt) -> Rho:
    plan, tally = setup.plan, learnt.tally
    # A fixed design that was cut short has looked early: only the sequence still holds.
    design = plan.design if tally.pairs in (0, plan.budget) else "anytime"
    low, high = two_sided(design, tally.pairs, tally.mismatches, plan.confidence)
    method = {"anytime": "odds-ratio mixture confidence sequence", "fixed": "Clopper-Pearson"}[design]
    return Rho(tally.mismatches / tally.pairs if tally.pairs else None, low, high, plan.confidence, method)


def _accuracy(setup: Setup, learnt: Learnt) -> Accuracy | None:
    plan, tally = setup.plan, learnt.tally
    if not tally.runs:
        return None
    design = plan.design if tally.pairs == plan.budget else "anytime"
    low, high = two_sided(design, tally.runs, tally.failures, plan.confidence)
    certified = is_accuracy_certified(plan, tally) if plan.eta is None else None  # a group gate asks in its own way
    return Accuracy(tally.failures, tally.runs, plan.delta, low, high, plan.confidence, certified)


def _churn(setup: Setup, learnt: Learnt) -> Churn | None:
    if not learnt.churns:
        return None
    evidence, share = learnt.churn, setup.plan.alpha / 2
    quantiles = np.quantile(learnt.churns, [0.5, 0.9, 1.0], method="inverted_cdf").tolist()
    low, high = evidence.lower(share), evidence.upper(share)
    return Churn(evidence.total / evidence.n, low, high, setup.plan.confidence, *quantiles)


def as_json(params: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers, booleans and None as they are; everything else as the text that --param takes."""
    plain = (bool, int, float, type(None))
    return {
        key: value if isinstance(value, plain) and not _has_no_number(value) else param_text(value)
        for key, value in params.items()
    }


def _has_no_number(value: object) -> bool:
    """JSON has neither infinity nor NaN."""
    return isinstance(value, float) and not math.isfinite(value)


def environment() -> dict[str, str]:
    return dict(_environment())


@functools.cache
def _environment() -> dict[str, str]:
    """Looked up once: it takes longer than the audit of a fast subject."""
    from importlib.metadata import version

    return {
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def failure_finding(error: AuditorError, setup: Setup, source: Source) -> Finding:
    """What foreign code raised, whole; with the command that makes it raise again where a run of a pair did."""
    command = replay_command(setup, source, error.pair) if isinstance(error, RunFailed) else None
    if command and isinstance(error, RunFailed) and error.which is not None and error.which > 1:
        command += f" --runs {error.which + 1}"
    if command and isinstance(error, RunFailed) and error.limit:
        command = f"timeout {math.ceil(error.limit) + 10} {command}"  # it hangs again
    kind = error.kind if isinstance(error, RunFailed) else SubjectRaised.kind
    return Finding(kind, "error", error.details or str(error), command)


def _bottoms(setup: Setup, source: Source | None, learnt: Learnt) -> list[Finding]:
    """That runs without an output were counted as one, and the first of them."""
    if learnt.first_bottom is None or source is None:
        return []
    pair, what = learnt.first_bottom
    runs = (
        f"{learnt.bottoms:,} of {2 * learnt.tally.pairs:,} runs gave no output, which counts as one (--on-error bottom)"
    )
    return [Finding("bottom", "warning", f"{runs}; the first: {what}", replay_command(setup, source, pair))]


def to_json(record: Record) -> bytes:
    return encode(msgspec.to_builtins(record))


def to_json_list(records: Sequence[Record]) -> bytes:
    return encode([msgspec.to_builtins(record) for record in records])


def encode(document: Any) -> bytes:
    # The standard library's encoder: a theorem's size may be an integer beyond 64 bits.
    return json_text(dumps(document, indent=2, ensure_ascii=False)).encode() + b"\n"


def total_cost(records: Sequence[Record]) -> Cost:
    """What several audits cost together; one engine ran them all."""
    costs = [record.cost for record in records]
    return Cost(
        runs=sum(cost.runs for cost in costs),
        preflight_runs=sum(cost.preflight_runs for cost in costs),
        seconds_in_subject=sum(cost.seconds_in_subject for cost in costs),
        seconds_total=sum(cost.seconds_total for cost in costs),
        engine=costs[0].engine,
    )


def read_record(path: Path) -> Record:
    """A record from its file; UsageError with the field that is wrong."""
    document = read_bytes(path, f"cannot read the record {str(path)!r}")
    try:
        record = msgspec.convert(loads(document), type=Record)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise UsageError(f"{str(path)!r} is no record of an audit: {error}") from error
    if record.schema != SCHEMA:
        raise UsageError(f"{str(path)!r} has schema {record.schema!r}; this version reads {SCHEMA!r}")
    return record
