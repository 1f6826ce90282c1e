"""What exactly is asked? Options over declarations over defaults, settled before anything runs."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from auditor.datasets import Dataset
from auditor.errors import BadValue, NotComparable, UnknownTruth, UsageError
from auditor.losses import Loss
from auditor.outcome import describe, same
from auditor.plan import DEFAULT_TARGET, Plan, check_count, make_plan
from auditor.randomness import from_key
from auditor.sources import Source, check_size, is_dataset, load_dataset, load_source
from auditor.subjects import Subject, check_sample_kind, param_text
from auditor.trial import Bench, PairKeys
from auditor.views import View, make_view

PROBE = 1000  # points on which predictions are compared


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
    view: View
    probe: int | str | None = None
    resample: str | None = None
    private: str | None = None  # "shared" or "unshared", where the subject has private randomness
    loss: Loss | None = None  # by which runs are judged, in place of the subject's own oracle
    expected: str | None = None  # by whoever asks; the subject's own expectation otherwise

    @property
    def expect(self) -> str:
        return self.expected or self.subject.declared.expect


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
    view: object = None,
    probe: int | str | None = None,
    resample: str | None = None,
    accept_overlap: bool = False,
    gate: str = "rho",
    private: str | None = None,
    family: int = 1,
) -> Setup:
    """Everything settled; UsageError with an example where nothing says what to do."""
    declared_size, claimed = subject.declares("size"), subject.declares("claimed")
    source_used = _first(source, subject.declared.source)
    if source_used is None and _first(size, declared_size) == 0:
        source_used = "nothing"  # no sample at all: all that is random is inside
    if source_used is not None and is_dataset(source_used):
        source_used = load_dataset(source_used, _first(resample, "bootstrap"))
        _check_overlap(source_used, accept_overlap)
    size_used = _first(size, declared_size, getattr(source_used, "default_size", None))
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
        gates=gate,
    )
    check_count("family", family, least=1, example=20)
    kind = check_sample_kind(_first(sample, subject.declared.sample))
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
        if declared is not None and used is not None and _differs(used, declared)
    }
    seen = make_view(_first(view, subject.declared.view, subject.default_view))
    if gate == "churn" and not seen.needs_probe:
        raise UsageError(f"--gate churn counts predictions, and the view here is {seen.name}: use --view predict")
    if probe is not None and not seen.needs_probe:
        raise UsageError(f"--probe is for the view predict, and the view here is {seen.name}")
    own = _check_private(subject, private)
    plan = replace(plan, family=family)
    return Setup(subject, plan, source_used, claimed, declared_size, overridden, kind, seen, probe, resample, own)


def _check_overlap(source: Dataset, accepted: bool) -> None:
    """A verdict on samples that share rows is one on another rho: whoever wants it says so."""
    if source.resample == "subsample" and not accepted:
        raise UsageError(
            "--resample subsample gives the two samples of a pair rows in common, so that rho tends to come out too "
            "low: use --resample split or bootstrap, or accept it with --accept-overlap"
        )


def _check_private(subject: Subject, private: str | None) -> str | None:
    if private is not None and private not in ("shared", "unshared"):
        raise BadValue("private", private, "must be shared or unshared")
    if private is not None and not subject.private:
        raise UsageError(f"--private {private}: {subject.name} has no parameter private; write A(sample, r, private)")
    return private or ("unshared" if subject.private else None)


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _differs(used: object, declared: object) -> bool:
    try:
        return not same(used, declared)
    except NotComparable:  # a function that lives in no module, which no declaration named
        return used is not declared


def _plain(value: object) -> Any:
    return value if isinstance(value, (int, float, str)) else describe(value)


def make_bench(setup: Setup) -> Bench:
    """Load the source and see that its rows fit into memory."""
    source = load_source(setup.source, None if is_dataset(setup.source) else setup.resample)
    keys = PairKeys(setup.plan.seed)
    counted = setup.sample_kind == "counts"
    if counted:
        check_countable(source, setup.plan.size)
    else:
        check_size(source, setup.plan.size, from_key(keys.probe), can_count=setup.subject.takes_sample)
    view = setup.view.on_probe(make_probe(setup, source, keys)) if setup.view.needs_probe else setup.view
    return Bench(
        setup.subject,
        source,
        setup.plan.size,
        keys,
        counted=counted,
        view=view,
        oracle=setup.loss.holds if setup.loss else None,
        shares_private=setup.private == "shared",
    )


def make_probe(setup: Setup, source: Source, keys: PairKeys) -> Any:
    """The points that predictions are compared on: a file's, or drawn once from the source with a key of their own."""
    if isinstance(setup.probe, str):
        rows = load_dataset(setup.probe, "bootstrap").rows
    else:
        count = PROBE if setup.probe is None else setup.probe
        check_count("probe", count, least=1, example=PROBE)
        rows = source.draw(from_key(keys.probe.child("points")), count)
    x = rows[0] if isinstance(rows, tuple) else rows
    return x.reshape(-1, 1) if isinstance(x, np.ndarray) and x.ndim == 1 else x


def check_countable(source: Source, size: int) -> None:
    try:
        source.law(size)
    except UnknownTruth as error:
        raise UsageError(f"--sample counts: {error}; use --sample rows") from error


def _default_view_name(subject: Subject) -> str:
    return make_view(_first(subject.declared.view, subject.default_view)).name


def replay_command(setup: Setup, source: Source, pair: int) -> str | None:
    """What a shell needs to run this pair again; None where only Python can reach the subject or the source."""
    subject = setup.subject
    if not subject.is_reachable or source.spec is None or setup.view.spec is None:
        return None
    words = ["python", "-m", "auditor", "check", str(subject.target)]
    if source.spec != subject.declared.source:
        words += ["--source", source.spec]
    if setup.plan.size != setup.declared_size:
        words += ["--size", str(setup.plan.size)]
    if setup.sample_kind != subject.declared.sample:
        words += ["--sample", setup.sample_kind]
    if setup.resample:
        words += ["--resample", setup.resample]
    if setup.view.name != _default_view_name(subject):
        words += ["--view", str(setup.view.spec)]
    if setup.probe is not None:
        words += ["--probe", str(setup.probe)]
    if setup.private == "shared":
        words += ["--private", "shared"]
    if setup.plan.seed:
        words += ["--seed", str(setup.plan.seed)]
    for name, value in subject.params.items():
        words += ["--param", f"{name}={param_text(value)}"]
    if subject.randomness != "Generator":
        words += ["--randomness", subject.randomness]
    return shlex.join([*words, "--replay", str(pair)])
