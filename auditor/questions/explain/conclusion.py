"""What does an explanation conclude? The causes in their order, and every figure of the answer."""

from __future__ import annotations

from statistics import median_low
from typing import TYPE_CHECKING

from msgspec.structs import replace

from auditor.flow.question import Answer
from auditor.flow.record import Measure, RhoInterval
from auditor.flow.verdict import Verdict
from auditor.questions.cell_inquiries import METHODS
from auditor.questions.explain import words
from auditor.questions.explain.answer import Cause, ExperimentRow, ExplainAnswer, FreshRows, LocalValue
from auditor.questions.explain.evidence import ExperimentCounts
from auditor.statistics.interval import two_sided

if TYPE_CHECKING:
    from auditor.questions.explain.inquiry import ExplainInquiry

_PARTICULAR = (  # the most particular first
    "desync",
    "labels",
    "output-order",
    "row-order",
    "rounding-noise",
    "continuous",
    "too-little-data",
)
_AS_MUCH = 0.1  # two causes explain as much as each other if their shares of rho differ by no more than this


def causes_of(inquiry: ExplainInquiry) -> list[ExperimentCounts]:
    """Return the causes, main one first: what must not matter, then by the share that they explain, r-unused last.

    Of those that explain as much as the best, up to a tenth of rho, the most particular one comes first: a wide enough
    grid makes up for any difference between numbers.
    """
    shown = [one for one in inquiry.experiments if inquiry.is_cause(one)]
    faults = [one for one in shown if one.experiment.must_not_matter]
    others = [one for one in shown if not one.experiment.must_not_matter and one.kind != "r-unused"]
    ordered: list[ExperimentCounts] = []
    while others:
        best = max(one.explains() for one in others)
        near = [one for one in others if one.explains() >= best - _AS_MUCH]
        ordered.append(min(near, key=lambda one: _PARTICULAR.index(one.kind)))
        others.remove(ordered[-1])
    return [*faults, *ordered, *(one for one in shown if one.kind == "r-unused")]


def verdict_of(inquiry: ExplainInquiry) -> Verdict:
    """Return a pass, and so exit code 0, whenever the experiments ran."""
    outcome = "pass" if inquiry.pairs else "inconclusive"
    causes = causes_of(inquiry) if inquiry.pairs else []
    decided_by = "mismatches" if causes or inquiry.is_passed() else "budget"
    return Verdict(outcome, words.headline(inquiry, causes), decided_by, inquiry.plan.alpha)


def answer_of_inquiry(inquiry: ExplainInquiry) -> Answer:
    """Return the answer. Every interval in it has its share of the error: those of the cells, and those of experiments
    that have no cell of their own."""
    intervals = len(inquiry.cells) + sum(one.changed_cell is None for one in inquiry.experiments)
    together = 1 - inquiry.plan.alpha / intervals
    fields = ExplainAnswer(
        causes=[_cause(inquiry, one) for one in causes_of(inquiry)],
        experiments=[_row(inquiry, one, together) for one in inquiry.experiments],
        pairs_in_all=inquiry.total,
        runs=inquiry.runs,
        widths=[*inquiry.widths],
        fresh_rows=_fresh_rows(inquiry),
        local_value=_local_value(inquiry),
    )
    n, k = inquiry.pairs, inquiry.mismatches
    found = (inquiry.rate, *two_sided("anytime", n, k, together), inquiry.plan.confidence, METHODS["anytime"])
    rho, measures, rows = RhoInterval(*found), [Measure("rho", *found, k, n)], []
    for one in inquiry.counted:
        band = two_sided("anytime", one.tally.pairs, one.tally.mismatches, together)
        row = one.row(band, inquiry.plan.confidence, "pass" if one.tally.pairs else "inconclusive")
        rows.append(replace(row, variant=one.cell.name))
    return Answer(fields, measures=measures, rows=rows, pairs=n, mismatches=k, rho=rho, examples=inquiry.examples)


def _cause(inquiry: ExplainInquiry, one: ExperimentCounts) -> Cause:
    """Return what the record says of an experiment that is a cause."""
    moved = inquiry.what_moved if one.kind == "hidden-state" else {}
    return Cause(
        kind=one.kind,
        before=one.before / one.pairs if one.pairs and one.kind != "r-unused" else inquiry.rate,
        after=one.rate(),
        message=words.message(inquiry, one),
        where=moved.get("where") or one.where or one.path,
        replay=inquiry.replay(one),
        cure=words.cure(inquiry, one),
        measure=inquiry.measure(one),
    )


def _row(inquiry: ExplainInquiry, one: ExperimentCounts, confidence: float) -> ExperimentRow:
    """Return the row of the record for an experiment: its counts, and whether it is a cause."""
    low, high = two_sided("anytime", one.pairs, one.mismatches, confidence)
    state = "cause" if inquiry.is_cause(one) else "not shown" if one.pairs or one.twice else "not run"
    return ExperimentRow(
        kind=one.kind,
        changes=words.WORDS[one.kind].changes,
        state=state,
        pairs=one.pairs,
        before=one.before,
        after=one.mismatches,
        estimate=one.rate(),
        low=low,
        high=high,
        twice=one.twice,
        shown=one.shown,
        beyond_digits=one.beyond,
        note=words.note(inquiry, one, state),
    )


def _fresh_rows(inquiry: ExplainInquiry) -> FreshRows | None:
    """Return how many rows had to be replaced until the output changed; None where that was not looked for."""
    payloads = inquiry.detail("rows replaced")
    found = [(pair, payload) for pair, payload in enumerate(payloads) if "rows" in payload]
    if not found:
        return None
    pair, first = found[0]
    changed = median_low(payload["step"] for _, payload in found)
    return FreshRows(median=changed, of=inquiry.size, pairs=len(payloads), pair=pair, row=first["row"])


def _local_value(inquiry: ExplainInquiry) -> LocalValue | None:
    """Return the first local variable in which two runs differ; None if none was found."""
    found = next((payload for payload in inquiry.detail("local values") if "name" in payload), None)
    return LocalValue(found["where"], found["name"], *found["values"]) if found else None
