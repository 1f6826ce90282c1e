"""Which causes are named, and in which order; the answer of an explanation. From what was counted alone."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from auditor.flow.question import Answer
from auditor.flow.record import CellRow, Measure
from auditor.flow.record import RhoInterval as Interval
from auditor.flow.verdict import Verdict
from auditor.questions.cells import METHODS
from auditor.questions.counted import Counted
from auditor.questions.explain.answer import ExperimentRow, ExplainAnswer
from auditor.questions.explain.evidence import Tried
from auditor.questions.explain.inquiry import Explaining
from auditor.questions.explain.words import fresh_rows_of, growth_of, headline, local_value_of, make_cause, message
from auditor.statistics.interval import two_sided
from auditor.statistics.outward import exact, sure

_AS_MUCH = 0.1  # causes that explain as much, but for this share of rho


def ranked(inquiry: Explaining) -> list[Tried]:
    """The causes, main one first: those that are certain, then by what they explain, r-unused at last.

    Two that explain as much as each other, but for a tenth of rho, are in the order of how particular they are: a wide
    enough grid makes up for any difference between numbers.
    """
    shown = [one for one in inquiry.tried if inquiry.is_cause(one)]
    certain = [one for one in shown if one.experiment.certain]
    others = [one for one in shown if not one.experiment.certain and one.kind != "r-unused"]
    ordered: list[Tried] = []
    while others:
        best = max(one.explains() for one in others)
        near = [one for one in others if one.explains() >= best - _AS_MUCH]
        ordered.append(min(near, key=lambda one: one.experiment.rank))
        others.remove(ordered[-1])
    return [*certain, *ordered, *(one for one in shown if one.kind == "r-unused")]


def verdict_of(inquiry: Explaining) -> Verdict:
    """In a sentence; it is a pass, and so exit code 0, whenever the experiments ran."""
    alpha, causes = inquiry.plan.alpha, ranked(inquiry)
    if not inquiry.pairs:
        return Verdict("inconclusive", "no pair was run", "budget", alpha)
    if causes:
        also = ", ".join(one.kind for one in causes[1:])
        words = headline(inquiry, causes[0]) + (f"; shown too: {also}" if also else "")
        return Verdict("pass", words, "mismatches", alpha)
    seen = f"{inquiry.mismatches:,} of {inquiry.pairs:,} pairs differ as it is"
    if inquiry.is_passed():
        held = f"rho is at most {exact(inquiry.target)}, the target ({sure(1 - alpha)})"
        return Verdict(
            "pass", f"{held}: there is nothing to explain; a smaller --rho asks for more", "mismatches", alpha
        )
    words = f"no single cause explains it: {seen}" if inquiry.mismatches else f"{seen}: there is nothing to explain"
    return Verdict("pass", words, "budget", alpha)


def answer_of_inquiry(inquiry: Explaining) -> Answer:
    """Every interval of the record has its share of the error: those of the cells, and those of experiments that have
    none of their own."""
    together = 1 - inquiry.plan.alpha / (len(inquiry.cells) + sum(one.after is None for one in inquiry.tried))
    fields = ExplainAnswer(
        causes=[make_cause(inquiry, one) for one in ranked(inquiry)],
        experiments=[_row(inquiry, one, together) for one in inquiry.tried],
        pairs_in_all=inquiry.total,
        runs=inquiry.runs,
        widths=[*inquiry.widths],
        fresh_rows=fresh_rows_of(inquiry),
        growth=growth_of(inquiry),
        local_value=local_value_of(inquiry),
    )
    n, k = inquiry.pairs, inquiry.mismatches
    found = (inquiry.rate, *two_sided("anytime", n, k, together), inquiry.plan.confidence, METHODS["anytime"])
    rho, measures = Interval(*found), [Measure("rho", *found, k, n)]
    rows = [_cell_row(one, together, inquiry.plan.confidence) for one in inquiry.counted]
    return Answer(fields, measures=measures, rows=rows, pairs=n, mismatches=k, rho=rho, examples=inquiry.examples)


def _cell_row(one: Counted, each: float, confidence: float) -> CellRow:
    band = two_sided("anytime", one.tally.pairs, one.tally.mismatches, each)
    row = one.row(band, confidence, "pass" if one.tally.pairs else "inconclusive")
    return msgspec.structs.replace(row, variant=one.cell.name)


def _row(inquiry: Explaining, one: Tried, together: float) -> ExperimentRow:
    low, high = two_sided("anytime", one.pairs, one.mismatches, together)
    state = "cause" if inquiry.is_cause(one) else "not shown" if one.pairs or one.twice else "not run"
    return ExperimentRow(
        kind=one.kind,
        changes=one.experiment.changes,
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
        note="; ".join(_notes(inquiry, one, state)),
    )


def _notes(inquiry: Explaining, one: Tried, state: str) -> Iterator[str]:
    """What is worth knowing of an experiment that shows no cause."""
    if one.why_not:
        yield one.why_not
    elif one.error:
        yield f"it could not be run: {one.error}"
    elif state == "not run" and one.kind == "hash-seed" and inquiry.is_hidden():
        yield "outputs differ from run to run, and so in any other process"
    elif state == "not run" and not inquiry.pairs:
        yield "it ended before"
    elif state == "not run":
        yield "there was no mismatch to explain" if not inquiry.mismatches else "there were no pairs left for it"
    elif state == "not shown" and one.kind != "r-unused" and (one.shown or one.drawn) and not inquiry.is_hidden():
        at = f" (at {one.where})" if one.where else ""
        yield f"{message(inquiry, one)}{at}"
