"""Two records of audits: where the old code cannot be run any more, or need not be. By their counts; pair by pair where
both audits ran on the same pairs and their ledgers still have them.

Pairs in their order are the same test as a comparison that runs them, looked at once: where the first of the two audits
stopped, which only what had been seen by then has decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from auditor import __version__
from auditor.errors import UsageError
from auditor.flow.plan import check_confidence, error_probability
from auditor.flow.record import CellRow, Cost, Finding, Record, environment
from auditor.questions.compare import check_margin
from auditor.questions.compare.answer import NOT_COMPARABLE, CompareAnswer, Discordant, RhoDifference, Side
from auditor.questions.compare.said import (
    change_of,
    difference_measure,
    difference_of,
    moved,
    outcome_of,
    rho_of,
    side_of,
)
from auditor.statistics.outward import sure
from auditor.statistics.paired import ShownChange, VersionCounts, shown_by_pairs
from auditor.statistics.two_samples import Counts, highest, lowest, shown_by_counts

_METHODS = {"two samples": "two confidence sequences", "paired": "betting"}


def compare_records(old: Record, new: Record, *, margin: float = 0.05, confidence: float = 0.95) -> Record:
    """A record of the comparison; of audits that are about two things, one that says so."""
    check_margin(margin)
    check_confidence(confidence)
    for name, record in (("old", old), ("new", new)):
        if record.question != "rho" or record.pairs is None or len(record.cells) > 1:
            raise UsageError(f"the {name} record is of {record.question}: two records of check, each of one source")
    why = "; ".join(_unlike(old, new))
    seen = None if why else _same_pairs(old, new)
    found = _by_pairs(old, new, seen, margin, confidence) if seen else _by_counts(old, new, margin, confidence)
    return _record(old, new, found, why, margin, confidence)


class _Found(NamedTuple):
    """What two audits show, and what that rests on."""

    method: str
    shown: ShownChange
    apart: RhoDifference
    words: str
    discordant: Discordant | None = None


def _counts(record: Record) -> Counts:
    return Counts(record.pairs or 0, record.mismatches or 0)


def _by_counts(old: Record, new: Record, margin: float, confidence: float) -> _Found:
    alpha, before, now = error_probability(confidence), _counts(old), _counts(new)
    rates = [one.mismatches / one.pairs if one.pairs else None for one in (before, now)]
    estimate = None if None in rates else rates[1] - rates[0]  # type: ignore[operator]
    limits = {"low": lowest(before, now, alpha / 2), "high": highest(before, now, alpha / 2)}
    words = (
        f"{before.mismatches:,} of {before.pairs:,} pairs differed before, {now.mismatches:,} of {now.pairs:,} do now"
    )
    apart = RhoDifference(estimate=estimate, confidence=confidence, **limits)
    return _Found("two samples", shown_by_counts(before, now, alpha, margin), apart, words)


def _by_pairs(old: Record, new: Record, seen: VersionCounts, margin: float, confidence: float) -> _Found:
    planned = min(old.budget, new.budget)
    shown = shown_by_pairs(seen, error_probability(confidence), margin, planned)
    words = (
        f"of {seen.pairs:,} pairs that both have {seen.old + seen.both:,} differed before, {seen.new + seen.both:,} do"
    )
    return _Found("paired", shown, difference_of(seen, confidence), words, Discordant(**seen._asdict()))


def _same_pairs(old: Record, new: Record) -> VersionCounts | None:
    """The pairs that both audits have counted, as far as their ledgers have them; None where they ran on others."""
    pairs = min(old.pairs or 0, new.pairs or 0)
    if old.seed != new.seed or not pairs:
        return None
    if old.first_budget or new.first_budget:  # made longer after somebody had looked: no plan to calibrate to
        return None
    before, now = _differ(old), _differ(new)
    if len(before) < pairs or len(now) < pairs:
        return None
    seen = VersionCounts()
    for was, is_ in zip(before[:pairs], now[:pairs], strict=True):
        seen = seen.plus(old=was, new=is_)
    return seen


def _differ(record: Record) -> list[bool]:
    """Which of a record's pairs differ, in order; none where no ledger has what the record counted."""
    try:
        trials = record.trials()
    except UsageError:  # it has none, or the file is gone
        return []
    found = dict(zip(trials["index"], trials["differs"], strict=True))
    told = [found[index] for index in range(record.pairs or 0) if index in found]
    return told if sum(told) == record.mismatches else []


def _unlike(old: Record, new: Record) -> Iterator[str]:
    """Say why two records cannot be compared, if they cannot; the version of the subject and the seed may differ."""
    if old.case is None or new.case is None:
        which = "old" if old.case is None else "new"
        yield f"the {which} record does not say what was audited: it has something that nothing tells from others"
    elif others := old.case.differs(new.case, "compare"):
        yield f"the two audits differ in {', '.join(others)}"
    for name, one in (("old", old), ("new", new)):
        if one.verdict == "error":
            yield f"the {name} record is of an audit that could not be run"
        elif not one.pairs:
            yield f"the {name} record has no pair"


def _record(old: Record, new: Record, found: _Found, why: str, margin: float, confidence: float) -> Record:
    alpha, shown, apart = error_probability(confidence), ShownChange() if why else found.shown, found.apart
    sides = [side_of(one.subject, *_counts(one), confidence) for one in (old, new)]
    answer = CompareAnswer(
        change=NOT_COMPARABLE if why else change_of(shown),
        margin=margin,
        method=found.method,
        old=sides[0],
        new=sides[1],
        difference=apart,
        error=alpha,
        discordant=found.discordant,
    )
    reason = f"{moved(shown, margin)} ({sure(confidence)}): {found.words}"
    outcome = "error" if why else outcome_of(shown)
    return msgspec.structs.replace(
        new,
        auditor_version=__version__,
        question="compare",
        asked={"margin": margin},
        design="anytime",
        target=None,
        confidence=confidence,
        verdict=outcome,
        reason=f"not comparable: {why}" if why else reason,
        decided_by={"error": "error", "inconclusive": "budget"}.get(outcome, "mismatches"),
        error_spent=alpha,
        bound=None,
        measures=[difference_measure(apart, _METHODS[found.method])],
        rho=rho_of(sides[1]),
        accuracy=None,
        cells=[_row(one, side, name) for one, side, name in zip((new, old), sides[::-1], ("new", "old"), strict=True)],
        answer=answer,
        preflight=None,
        findings=[*_findings(old, new, found.method)],
        examples=[],
        wobbles=None,
        cost=Cost(runs=0, preflight_runs=0, seconds_in_subject=0.0, seconds_total=0.0),
        environment=environment(),
    )


def _row(record: Record, side: Side, name: str) -> CellRow:
    known = {key: value for key, value in msgspec.structs.asdict(side).items() if key != "what"}
    return CellRow(
        name=name,
        question="compare",
        source=record.source,
        size=record.size,
        seed=record.seed,
        variant=name,
        **known,
    )


def _findings(old: Record, new: Record, method: str) -> Iterator[Finding]:
    if old.subject != new.subject:
        yield Finding("other-subject", "info", f"the old record is of {old.subject}")
    if old.code_hash is not None and old.code_hash == new.code_hash and old.settings == new.settings:
        yield Finding("same-code", "warning", "both records are of the same code with the same parameters")
    if old.seed == new.seed and method != "paired":
        words = (
            "both audits ran on the same pairs, and no ledger has them one by one: check --ledger FILE keeps them, and "
            "compare TARGET --against REV runs both versions"
        )
        yield Finding("unpaired", "info", words)
