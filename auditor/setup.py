"""What exactly is asked? Options over declarations over defaults, settled before anything runs."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from auditor.errors import UnknownTruth, UsageError
from auditor.outcome import describe
from auditor.plan import DEFAULT_TARGET, Plan, make_plan
from auditor.randomness import from_key
from auditor.sources import Source, check_size, load_source
from auditor.subjects import Subject, check_sample_kind, has_text, param_text
from auditor.trial import Bench, PairKeys


@dataclass(frozen=True, slots=True)
class Setup:
    """A subject and the plan for it; the source is still as it was given, since loading it takes a second."""

    subject: Subject
    plan: Plan
    source: object
    claimed: float | None
    declared_size: int | None
    overridden: dict[str, tuple[Any, Any]]  # name: (declared, used)
    sample_kind: str


def make_setup(
    subject: Subject,
    source: object = None,
    *,
    size: int | None = None,
    rho: float | None = None,
    confidence: float = 0.95,
    pairs: int | None = None,
    fixed: int | None = None,
    seed: int = 0,
    sample: str | None = None,
) -> Setup:
    """Everything settled; UsageError with an example where nothing says what to do."""
    declared_size, claimed = subject.declares("size"), subject.declares("claimed")
    source_used = _first(source, subject.declared.source)
    size_used = _first(size, declared_size)
    if source_used is None or size_used is None:
        missing, example = ("source", '--source "bernoulli(0.5)"') if source_used is None else ("size", "--size 1000")
        raise UsageError(f"{subject.name} declares no {missing}, and none was given: add e.g. {example}")
    plan = make_plan(
        target=_first(rho, claimed if claimed else None, DEFAULT_TARGET),
        size=size_used,
        confidence=confidence,
        pairs=pairs,
        fixed=fixed,
        seed=seed,
        delta=subject.declares("delta") if subject.declared.accuracy else None,
    )
    kind = check_sample_kind(sample or subject.declared.sample)
    if kind == "counts" and not subject.takes_sample:
        raise UsageError(f"{subject.name} takes rows: annotate its first parameter as auditor.Sample to give it counts")
    options = (
        ("source", subject.declared.source, source),
        ("size", declared_size, size),
        ("rho", claimed, rho),
        ("sample", subject.declared.sample, sample),
    )
    overridden = {
        name: (_plain(declared), _plain(used))
        for name, declared, used in options
        if declared is not None and used is not None and used != declared
    }
    return Setup(subject, plan, source_used, claimed, declared_size, overridden, kind)


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _plain(value: object) -> Any:
    return value if isinstance(value, (int, float, str)) else describe(value)


def make_bench(setup: Setup) -> Bench:
    """Load the source and see that its rows fit into memory."""
    source = load_source(setup.source)
    keys = PairKeys(setup.plan.seed)
    counted = setup.sample_kind == "counts"
    if counted:
        check_countable(source)
    else:
        check_size(source, setup.plan.size, from_key(keys.probe), can_count=setup.subject.takes_sample)
    return Bench(setup.subject, source, setup.plan.size, keys, counted=counted)


def check_countable(source: Source) -> None:
    try:
        source.law()
    except UnknownTruth as error:
        raise UsageError(f"--sample counts: {error}; use --sample rows") from error


def replay_command(setup: Setup, source: Source, pair: int) -> str | None:
    """What a shell needs to run this pair again; None where only Python can reach the subject or the source."""
    subject = setup.subject
    if subject.target is None or source.spec is None or not all(map(has_text, subject.params.values())):
        return None
    words = ["python", "-m", "auditor", "check", subject.target]
    if setup.source != subject.declared.source:
        words += ["--source", source.spec]
    if setup.plan.size != setup.declared_size:
        words += ["--size", str(setup.plan.size)]
    if setup.sample_kind != subject.declared.sample:
        words += ["--sample", setup.sample_kind]
    if setup.plan.seed:
        words += ["--seed", str(setup.plan.seed)]
    for name, value in subject.params.items():
        words += ["--param", f"{name}={param_text(value)}"]
    if subject.randomness != "Generator":
        words += ["--randomness", subject.randomness]
    return shlex.join([*words, "--replay", str(pair)])
