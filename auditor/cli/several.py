"""Many subjects, one error budget: what gate, theorems and check of a package have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from auditor.cli.output import deliver, error_console, plain, tell_github

if TYPE_CHECKING:
    from auditor.cli.running import Log
    from auditor.flow.question import Inquiry
    from auditor.flow.record import Record
    from auditor.request import Request

    Settled = Sequence[tuple[Request, Inquiry]]


def time_of(given: Mapping[str, Any]) -> float | None:
    """Return the seconds of --for, which all audits have together; the share of each is known when it begins."""
    from auditor.engine.engine import make_run_options

    return make_run_options(for_=given.get("for_")).for_


def settled_together(targets: Sequence[str], given: Mapping[str, Any]) -> Settled:
    """Settle an audit of each target by its declarations, with its share of the error."""
    from auditor.flow.question import make_request
    from auditor.questions.several import settle, share
    from auditor.subjects.subject import load_subject

    options = {**given, "confidence": share(confidence_of(given), len(targets))}
    claims = [load_subject(target).asks for target in targets]
    requests = [make_request(None, one, None, asks | options) for one, asks in zip(targets, claims, strict=True)]
    return settle(requests)


def confidence_of(given: Mapping[str, Any]) -> float:
    """Return the confidence of all verdicts together; BadValue where it is none."""
    from auditor.flow.verdict import check_confidence
    from auditor.request import Options, listed

    confidence = given.get("confidence", listed(Options)["confidence"].default)
    check_confidence(confidence)
    return float(confidence)


def audit_in_turn(settled: Settled, log: Log, *, exitfirst: bool = False, seconds: float | None = None) -> list[Record]:
    """Audit in turn with a bar over all; an interrupt ends with what was finished."""
    from auditor.questions.several import audit_all
    from auditor.report.progress import WatchingSeveral

    records: list[Record] = []
    with WatchingSeveral(error_console(), len(settled)) as watch:
        for record in audit_all(settled, watch.audit, log.file, seconds=seconds):
            records.append(record)
            if record.decided_by == "interrupt" or (exitfirst and not record.is_as_expected):
                break
    return records


def report_together(
    records: Sequence[Record],
    log: Log,
    of: int,
    files: Mapping[str, str],
    confidence: float,
    *,
    verbose: bool = False,
    ended: Callable[[Sequence[Record]], Iterable[str]] = lambda _: (),
) -> int:
    """Report the audits that were made, out of so many, and return the exit code.

    `ended` is called with the records last, and its lines are printed.
    """
    from auditor.flow.record import exit_code_of
    from auditor.report.several import show_summary

    draw = partial(show_summary, records, confidence, of, verbose=verbose)
    out = deliver(records, files, draw, confidence=confidence, single=False)
    log.tell(out)
    for line in ended(records):
        out.print(plain(line), soft_wrap=True)
    tell_github(records, files, confidence)
    return exit_code_of(records)
