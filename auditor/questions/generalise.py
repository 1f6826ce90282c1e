"""Does reproducibility show in what a learner says of its own error? An audit of rho, with Lemma A.6 beside it.

A learner with rho at most the target breaks R(h) <= R^(h) + slack in a share of at most target + delta of its runs. So
a larger share is one more way for the audit to fail, and shares the error with the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from auditor.engine.engine import How, take_how
from auditor.errors import BadValue, UsageError
from auditor.flow.pipeline import Watcher, run_audit
from auditor.flow.record import Record
from auditor.lookup import find_object, importable_name
from auditor.questions.losses import Loss
from auditor.sources.source import load_source
from auditor.subjects.subject import Subject, load_subject
from auditor.trials.setup import Setup, make_setup


def audit_generalisation(
    subject: str | Callable[..., Any],
    source: object = None,
    *,
    loss: str | Callable[[Any, Any], Any],
    delta: float = 0.05,
    params: Mapping[str, Any] | None = None,
    randomness: str | None = None,
    **options: Any,
) -> Record:
    """`audit`, which also counts the runs that break R(h) <= R^(h) + sqrt(ln(1/delta) / (2n)).

    `loss(output, rows)` is the loss of each row, in [0, 1].
    """
    how = take_how(options)
    loaded = load_subject(subject, params, randomness=randomness)
    return run_loss(make_loss_setup(loaded, source, loss=loss, delta=delta, **options), how=how)


def make_loss_setup(
    subject: Subject, source: object = None, *, loss: object, delta: float = 0.05, **options: Any
) -> Setup:
    """The setup of an audit with a loss; the subject's own accuracy is then no question."""
    if isinstance(delta, bool) or not isinstance(delta, (int, float)) or not 0 < delta < 1:
        raise BadValue("delta", delta, "must be in (0, 1): how often the inequality may fail by chance, e.g. 0.05")
    fn = find_object(loss) if isinstance(loss, str) else loss
    if not callable(fn):
        raise UsageError(f"--loss {loss} is {type(fn).__name__}, not a function fn(output, rows)")
    setup = make_setup(subject, source, **{**options, "accept_overlap": True})  # samples that overlap are refused below
    if setup.sample_kind != "rows" or setup.plan.size == 0:
        raise UsageError("--loss needs the rows that an output was learnt from: use --sample rows and a --size above 0")
    if setup.resample in ("split", "subsample"):
        raise UsageError(
            f"--loss needs samples that are independent of each other: --resample {setup.resample} takes rows "
            "without putting them back; use --resample bootstrap"
        )
    known = Loss(str(loss) if isinstance(loss, str) else importable_name(fn) or "loss", fn, delta)
    allowed = known.allowed(setup.plan.target, load_source(setup.source))
    if allowed >= 1:
        raise UsageError(f"rho + delta is {allowed:g}: every share is within it; use a smaller --rho or --delta")
    return replace(setup, plan=replace(setup.plan, delta=allowed), loss=known)


def run_loss(setup: Setup, watch: Watcher | None = None, how: How | None = None) -> Record:
    """Carry a settled audit with a loss out."""
    record = run_audit(setup, watch, how)
    if setup.loss is None:
        return record
    if record.verdict == "pass":
        words = record.reason.replace("accuracy was", "Lemma A.6's inequality was")
        words = words.replace("of the runs are inaccurate", "of the runs break Lemma A.6's inequality")
        return msgspec.structs.replace(record, reason=words)
    if record.decided_by != "accuracy":
        return record
    broken = f"break R(h) <= R^(h) + {setup.loss.slack(setup.plan.size):.3g}"
    words = record.reason.replace("are inaccurate", broken).replace("the subject allows", "Lemma A.6 allows")
    return msgspec.structs.replace(record, reason=f"{words}: so rho is above {setup.plan.target:g}")
