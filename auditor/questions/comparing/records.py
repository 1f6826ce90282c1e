"""Two records of audits, compared by their counts: where the old code cannot be run any more, or need not be."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from auditor import __version__
from auditor.errors import UsageError
from auditor.flow.plan import check_confidence, error_probability
from auditor.flow.record import CellRow, Cost, Finding, Record, Rho, environment
from auditor.questions.comparing import check_margin
from auditor.questions.comparing.answer import NOT_COMPARABLE, CompareAnswer, Difference, Side
from auditor.questions.comparing.said import change_of, moved
from auditor.questions.pairs import METHODS, measure
from auditor.statistics.interval import two_sided
from auditor.statistics.outward import sure
from auditor.statistics.paired import Shown
from auditor.statistics.two_samples import Counts, highest, lowest, shown_by_counts

_METHOD = "two confidence sequences"
_ALIKE = ("source", "size", "sample_kind", "view", "resample", "probe")


def compare_records(old: Record, new: Record, *, margin: float = 0.05, confidence: float = 0.95) -> Record:
    """A record of the comparison; of audits that are about two things, one that says so."""
    check_margin(margin)
    check_confidence(confidence)
    for name, record in (("old", old), ("new", new)):
        if record.question != "rho" or record.pairs is None or len(record.cells) > 1:
            raise UsageError(f"the {name} record is of {record.question}: two records of check, each of one source")
    why = "; ".join(_unlike(old, new))
    counts = (Counts(old.pairs or 0, old.mismatches or 0), Counts(new.pairs or 0, new.mismatches or 0))
    shown = Shown() if why else shown_by_counts(*counts, error_probability(confidence), margin)
    return _record(old, new, counts, shown, why, margin, confidence)


def _unlike(old: Record, new: Record) -> Iterator[str]:
    """What has to be the same, and is not; code, parameters and seed may be others."""
    for name in _ALIKE:
        was, now = getattr(old, name), getattr(new, name)
        if was != now:
            yield f"{name} was {was} and is {now}"
    for name, one in (("old", old), ("new", new)):
        if one.verdict == "error":
            yield f"the {name} record is of an audit that could not be run"
        elif one.design == "fixed":
            continue
        elif not one.pairs:
            yield f"the {name} record has no pair"


def _side(record: Record, counts: Counts, confidence: float) -> Side:
    n, k = counts
    low, high = two_sided("anytime", n, k, confidence)
    return Side(
        what=record.subject,
        pairs=n,
        mismatches=k,
        estimate=k / n if n else None,
        low=low,
        high=high,
        confidence=confidence,
    )


def _record(
    old: Record, new: Record, counts: tuple[Counts, Counts], shown: Shown, why: str, margin: float, confidence: float
) -> Record:
    alpha = error_probability(confidence)
    sides = [_side(one, seen, confidence) for one, seen in zip((old, new), counts, strict=True)]
    before, now = (side.estimate for side in sides)
    estimate = now - before if now is not None and before is not None else None
    apart = Difference(
        estimate=estimate, low=lowest(*counts, alpha / 2), high=highest(*counts, alpha / 2), confidence=confidence
    )
    answer = CompareAnswer(
        change=NOT_COMPARABLE if why else change_of(shown),
        margin=margin,
        method="two samples",
        old=sides[0],
        new=sides[1],
        difference=apart,
        error=alpha,
    )
    seen = f"{counts[0].mismatches:,} of {counts[0].pairs:,} pairs differed before, {counts[1].mismatches:,} of "
    reason = f"{moved(shown, margin)} ({sure(confidence)}): {seen}{counts[1].pairs:,} do now"
    outcome = "error" if why else "fail" if shown.beyond else "pass" if shown.within else "inconclusive"
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
        measures=[measure("rho_new - rho_old", apart.estimate, apart.low, apart.high, confidence, _METHOD)],
        rho=Rho(sides[1].estimate, sides[1].low, sides[1].high, confidence, METHODS["anytime"]),
        accuracy=None,
        cells=[_row(one, side, name) for one, side, name in zip((new, old), sides[::-1], ("new", "old"), strict=True)],
        answer=answer,
        preflight=None,
        findings=[*_findings(old, new)],
        examples=[],
        wobbles=None,
        cost=Cost(runs=0, preflight_runs=0, seconds_in_subject=0.0, seconds_total=0.0),
        environment=environment(),
    )


def _row(record: Record, side: Side, name: str) -> CellRow:
    return CellRow(
        name=name,
        question="compare",
        source=record.source,
        size=record.size,
        seed=record.seed,
        variant=name,
        pairs=side.pairs,
        mismatches=side.mismatches,
        estimate=side.estimate,
        low=side.low,
        high=side.high,
        confidence=side.confidence,
    )


def _findings(old: Record, new: Record) -> Iterator[Finding]:
    if old.subject != new.subject:
        yield Finding("other-subject", "info", f"the old record is of {old.subject}")
    if old.code_hash is not None and old.code_hash == new.code_hash and old.settings == new.settings:
        yield Finding("same-code", "warning", "both records are of the same code with the same parameters")
    if old.seed == new.seed:
        words = "both audits ran on the same pairs, which this makes nothing of: compare TARGET --against pairs them"
        yield Finding("unpaired", "info", words)
