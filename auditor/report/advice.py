"""What is there to try after a fail? What further pairs, run for that alone, show to pass; else what is known to.

Each suggestion can be followed as it stands, and says from how many pairs it is and with which confidence. Whoever
follows one is judged by pairs that it was not made from.
"""

from __future__ import annotations

from collections.abc import Iterator

from auditor.flow.parts import Command, Listing, Part
from auditor.flow.question import find_question, registered_questions
from auditor.flow.record import Record
from auditor.questions.repair.answer import CHOOSE, HINTS
from auditor.repair.mechanisms.grid import why_useless
from auditor.report import subject_words
from auditor.request import listed
from auditor.statistics.digits import at_most, exact
from auditor.trials.advice import LEAST, Advice
from auditor.values.elements import Wobbles


def advice(record: Record) -> Iterator[Part]:
    """Yield the command that goes on where an audit was stopped, and what to try after a fail whose pairs differ.

    A subject that is inaccurate, or not as declared, has other troubles; a comparison has no target, and its new
    version may be good enough.
    """
    if record.go_on:
        yield Command("To go on:" if "--resume" in record.go_on else "To try again:", record.go_on)
    wobbles, is_other = record.wobbles, record.decided_by in ("accuracy", "formula", "score")
    yield from subject_words.remedies(record)
    if record.verdict != "fail" or record.target is None or wobbles is None or not wobbles.mismatches or is_other:
        return
    further, others = record.cost.advice, "explain finds out why runs differ, repair looks for a wrapper that makes "
    others += "them agree"
    if further is None:
        yield Listing("What to try next:", [*_from_few(wobbles), f"In place of check: {others}."])
        return
    texts = [*_suggestions(record, further)]
    is_priced = any(one.kind == "rows" for one in record.remedies)
    if further.fewer and further.fewer.more_help and not is_priced:
        rows, mismatches, pairs = further.fewer.rows, further.fewer.mismatches, further.fewer.pairs
        others += (
            f", price how many rows would do: with {rows:,} rows {mismatches:,} of {pairs:,} pairs differ, with "
            f"{record.size:,} rows {further.mismatches:,}"
        )
    title = f"What to try next, by {further.pairs:,} further pairs and with the confidence of the verdict:"
    yield Listing(title, [*texts, f"In place of check: {others}."])


def _suggestions(record: Record, found: Advice) -> Iterator[str]:
    """Yield what the further pairs show to pass, what counts most first."""
    if found.regrouped is not None:
        view, many = _chained(record, "partition"), found.regrouped or "no"
        yield f"--view {view}: the labels have other names, and but for these {many} pairs differ."
    elif found.reordered is not None:
        many = found.reordered or "no"
        yield f"Return sorted(result), or a frozenset: the order differs, and but for that {many} pairs do."
    if found.largest is not None:
        yield from _of_numbers(record, found)
    if found.churn is not None and record.question == "rho":
        yield f"--measure churn: {found.churn:.3g} of the predictions change on average, within the target."
    elif found.kind == "set" and found.top:
        yield CHOOSE.format(f'"chosen(top={found.top})"' if found.top > 1 else "chosen")
    elif found.kind in HINTS:
        yield HINTS[found.kind]


def _of_numbers(record: Record, found: Advice) -> Iterator[str]:
    """Yield tolerances, a rounding and a grid for numbers that are nearly the same."""
    target = exact(record.target or 0)
    close = [f"--{name} {exact(value)}" for name in ("atol", "rtol") if (value := getattr(found, name)) is not None]
    if close and found.beyond is not None and _takes(record, "atol"):
        few = "" if found.beyond <= (record.target or 0) else f"; for {target} these are too few pairs"
        far = f"{found.largest:.3g} apart" if found.relative is None else f"{found.relative:.3g} of the larger apart"
        furthest = f"numbers were up to {far}, and are further"
        yield f"{close[0]}: {furthest} in at most {at_most(found.beyond, 2)} of pairs{few}."
    elif found.beyond is None:
        yield "The numbers are too far apart for any tolerance: compare a decision, and not the numbers."
    if found.digits is not None:
        yield f'--view "round({found.digits})": no pair differs.'
    if found.width is None or found.low is None or found.high is None:
        return
    if found.is_useless:
        finer, fewer = "", found.fewer
        if fewer and fewer.factor:
            times = f"{fewer.factor:.2g} times as far apart"
            finer = f"; more rows allow a finer one, as the numbers were {times} with {fewer.rows:,} rows"
        yield f"{_sentence(why_useless(found.width, found.low, found.high))}{finer}."
        return
    held = f"rho is at most {target}" if found.is_shown else f"rho may be at most {target}, for which pairs are too few"
    yield (
        f'repair --with "rounded(width={found.width:g})": on a grid that r places {held}; a number moves by at most '
        f"{found.width / 2:g}."
    )


def _from_few(wobbles: Wobbles) -> Iterator[str]:
    """Yield what can be said of the pairs that were counted, where no further ones were run."""
    pairs = f"{wobbles.pairs:,} pair{'s' if wobbles.pairs > 1 else ''}"
    if 2 * wobbles.renamed > wobbles.mismatches:
        yield (
            f"In {wobbles.renamed:,} of {wobbles.mismatches:,} mismatches the same rows belong together, or nearly, "
            "and only the labels have other names: --view partition compares the groups, whatever their labels are."
        )
    elif isinstance(wobbles.largest, float):
        few = f", and {pairs} are too few to say what would do" if wobbles.pairs < LEAST else ""
        yield (
            f"The numbers of two runs were up to {wobbles.largest:.3g} apart in {pairs}: an --atol must be larger than "
            f"that{few}."
        )


def _takes(record: Record, option: str) -> bool:
    """True if the question of a record has this option."""
    return record.question in registered_questions() and option in listed(find_question(record.question).Options)


def _chained(record: Record, view: str) -> str:
    """Return a view of what is compared now, as a user types it."""
    return view if record.view in ("output", "predict") else f'"{record.view}|{view}"'


def _sentence(text: str) -> str:
    """Return a text with a capital letter."""
    return text[:1].upper() + text[1:]
