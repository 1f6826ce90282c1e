"""Two records of audits, where the old code cannot be run any more, or need not be. They are compared by their counts,
or pair by pair where both audits ran on the same pairs and their ledgers still have them.

Pairs in their order are the same test as a comparison that runs them, looked at once: where the first of the two audits
stopped, which only what had been seen by then has decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import asdict, replace

from auditor import __version__
from auditor.errors import UsageError
from auditor.flow.record import CellRow, Cost, Finding, Record, environment
from auditor.flow.verdict import check_confidence, error_probability
from auditor.questions.compare.answer import (
    NOT_COMPARABLE,
    CompareAnswer,
    Discordant,
    RhoDifference,
    Side,
    change_in_words,
    change_of,
    outcome_of,
)
from auditor.questions.no_worse import check_margin
from auditor.statistics.digits import sure
from auditor.statistics.paired import ShownChange, VersionCounts, shown_by_pairs
from auditor.statistics.two_samples import Counts, highest, lowest, shown_by_counts

_METHODS = {"two samples": "two confidence sequences", "paired": "betting"}


def compare_records(old: Record, new: Record, *, margin: float = 0.05, confidence: float = 0.95) -> Record:
    """Return a record of the comparison; if the audits are of two different things, one that says so."""
    check_margin(margin)
    check_confidence(confidence)
    for name, record in (("old", old), ("new", new)):
        asks_rho = record.question in ("rho", "estimate") and record.measures and record.measures[0].name == "rho"
        if not asks_rho or record.pairs is None or len(record.cells) > 1:
            raise UsageError(
                f"the {name} record is of {record.question}, and compare takes two records of check, or two of "
                "estimate, that measure rho on one source"
            )
    alpha, why = error_probability(confidence), "; ".join(_unlike(old, new))
    before, now = (Counts(one.pairs or 0, one.mismatches or 0) for one in (old, new))
    same = None if why else _same_pairs(old, new)
    if same:
        method, discordant = "paired", Discordant(**same._asdict())
        shown = shown_by_pairs(same, alpha, margin, min(old.budget, new.budget))
        difference = RhoDifference.of_pairs(same, confidence)
        words = f"Of {same.pairs:,} pairs that both have {same.old + same.both:,} differed before, "
        words += f"{same.new + same.both:,} do now"
    else:
        method, discordant = "two samples", None
        shown = shown_by_counts(before, now, alpha, margin)
        has_both = before.pairs and now.pairs
        estimate = now.mismatches / now.pairs - before.mismatches / before.pairs if has_both else None
        limits = {"low": lowest(before, now, alpha / 2), "high": highest(before, now, alpha / 2)}
        difference = RhoDifference(estimate=estimate, confidence=confidence, **limits)
        words = f"{before.mismatches:,} of {before.pairs:,} pairs differed before, "
        words += f"{now.mismatches:,} of {now.pairs:,} do now"
    shown = ShownChange() if why else shown
    sides = {"new": Side.of(new.subject, *now, confidence), "old": Side.of(old.subject, *before, confidence)}
    outcome = "error" if why else outcome_of(shown)
    return replace(
        new,
        auditor_version=__version__,
        question="compare",
        asked={"margin": margin},
        design="anytime",
        target=None,
        confidence=confidence,
        verdict=outcome,
        reason=f"not comparable: {why}" if why else f"{change_in_words(shown, margin)} ({sure(confidence)}). {words}",
        decided_by={"error": "error", "inconclusive": "budget"}.get(outcome, "mismatches"),
        error_spent=alpha,
        bound=None,
        measures=[difference.measure(_METHODS[method])],
        rho=sides["new"].rho,
        accuracy=None,
        cells=[_row(record, sides[name], name) for name, record in (("new", new), ("old", old))],
        answer=CompareAnswer(
            change=NOT_COMPARABLE if why else change_of(shown),
            margin=margin,
            method=method,
            old=sides["old"],
            new=sides["new"],
            difference=difference,
            error=alpha,
            discordant=discordant,
        ),
        preflight=None,
        findings=[*_findings(old, new, method)],
        examples=[],
        wobbles=None,
        cost=Cost(runs=0, preflight_runs=0, seconds_in_subject=0.0, seconds_total=0.0),
        environment=environment(),
    )


def _row(record: Record, side: Side, name: str) -> CellRow:
    """Return the row of the record for the old or the new version."""
    known: dict[str, Any] = {key: value for key, value in asdict(side).items() if key != "what"}
    known |= {"source": record.source, "size": record.size, "seed": record.seed}
    return CellRow(name=name, question="compare", variant=name, **known)


def _same_pairs(old: Record, new: Record) -> VersionCounts | None:
    """Count the pairs that both audits have run, one by one; None if they ran on others, or if no ledger has them."""
    pairs = min(old.pairs or 0, new.pairs or 0)
    if old.seed != new.seed or not pairs:
        return None
    if old.first_budget or new.first_budget:  # made longer after somebody had looked: no plan to calibrate to
        return None
    before, now = _differ(old), _differ(new)
    if len(before) < pairs or len(now) < pairs:
        return None
    counts = VersionCounts()
    for was, is_ in zip(before[:pairs], now[:pairs], strict=True):
        counts = counts.plus(old=was, new=is_)
    return counts


def _differ(record: Record) -> list[bool]:
    """Return for each of a record's pairs whether it differs, in order; none if no ledger has what it counted."""
    try:
        trials = record.trials()
    except UsageError:  # it has none, or the file is gone
        return []
    found = dict(zip(trials["index"], trials["differs"], strict=True))
    differs = [found[index] for index in range(record.pairs or 0) if index in found]
    return differs if sum(differs) == record.mismatches else []


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


def _findings(old: Record, new: Record, method: str) -> Iterator[Finding]:
    """Yield what a reader should know of the two records besides the figures."""
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
