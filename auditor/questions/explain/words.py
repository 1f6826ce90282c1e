"""What is said of a cause: its figure, where it is, the command that shows it, and its cure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median_low
from typing import Any

from auditor.questions.explain.answer import Cause, FreshRows, Growth, LocalValue
from auditor.questions.explain.evidence import LOCALS, MOVED, PLAIN, ROWS, Tried
from auditor.questions.explain.inquiry import Explaining
from auditor.questions.explain.units import quarter


def make_cause(inquiry: Explaining, one: Tried) -> Cause:
    return Cause(
        kind=one.kind,
        before=one.before / one.pairs if one.pairs and one.kind != "r-unused" else inquiry.rate,
        after=one.rate(),
        message=message(inquiry, one),
        where=_moved(inquiry, one).get("where") or one.where or one.path,
        replay=_replay(inquiry, one),
        cure=cure(inquiry, one),
    )


def message(inquiry: Explaining, one: Tried) -> str:
    """One sentence with the figure."""
    if one.kind == "r-unused":
        return _r_unused(inquiry, one)
    words = [*_shown(one)]
    if found := _moved(inquiry, one).get("message"):
        words.append(f"what moves: {found}")
    if one.pairs and (one.before or not one.experiment.certain):
        words.append(_figure(inquiry, one))
    return "; ".join(words)


def _moved(inquiry: Explaining, one: Tried) -> dict[str, Any]:
    """What goes on from run to run, where that was found."""
    found = inquiry.aside(MOVED) if one.kind == "hidden-state" else []
    return found[0] if found else {}


def headline(inquiry: Explaining, one: Tried) -> str:
    """The main cause in as few words as there are."""
    if one.experiment.certain:
        return f"{one.kind} is the main cause: {next(_shown(one))}"
    if one.kind == "r-unused":
        changed = (
            "no bit of it was drawn"
            if one.is_without_r()
            else f"a fresh r changes little ({one.shown:,} of {one.twice:,} outputs)"
        )
        return f"{one.kind} is the main cause: {changed}, and {inquiry.mismatches:,} of {inquiry.pairs:,} pairs differ"
    counts = f"{one.before:,} of {one.pairs:,} pairs differ"
    if one.kind == "too-little-data":
        return f"{one.kind} is the main cause: {counts} {_sizes(inquiry)}"
    return f"{one.kind} is the main cause: {counts}, {one.mismatches:,} but for it"


def _figure(inquiry: Explaining, one: Tried) -> str:
    counts = f"{one.before:,} of {one.pairs:,} pairs differ"
    if one.kind == "too-little-data":
        return f"{counts} {_sizes(inquiry)}{_outlook(inquiry)}"
    as_it_is = "" if one.experiment.certain else " as it is"
    return f"{counts}{as_it_is}, {one.mismatches:,} with {one.experiment.changes}{_width(inquiry, one)}"


def _sizes(inquiry: Explaining) -> str:
    size, one = inquiry.cells[PLAIN].size, inquiry.tested("too-little-data")
    if inquiry.is_dataset:
        return f"with {quarter(size):,} rows, {one.mismatches:,} with all {size:,}"
    return f"with {size:,} rows, {one.mismatches:,} with {4 * size:,}"


def _outlook(inquiry: Explaining) -> str:
    found = growth_of(inquiry)
    if found is None:
        return ""
    held = f"; if that goes on, {inquiry.target:g} takes about {found.size:,} rows" if found.size else ""
    return f": rho falls about as size^{found.exponent:.2g}{held}"


def _width(inquiry: Explaining, one: Tried) -> str:
    if one.kind != "continuous":
        return ""
    ends = dict.fromkeys((min(inquiry.widths), max(inquiry.widths)))
    widths = " to ".join(map(_two_digits, ends))
    return f"; {inquiry.target:g} takes a width of about {widths}, and so an error of up to half that"


def _two_digits(width: float) -> str:
    """Widths have no more: they were rounded up."""
    return f"{float(f'{width:.2g}'):g}"


def _shown(one: Tried) -> Iterator[str]:
    """What the same sample did when it was run twice."""
    if one.drawn:
        first, second, unit = one.drawn
        counts = f"{first:,} and {second:,}"
        drew = f"{counts} values there" if unit == "values" else f"as many values there, in {counts} calls"
        yield f"the runs of a pair drew {drew}"
    said = _TWICE.get(one.kind)
    if said and one.shown:
        digits = "" if one.beyond else ", in last digits alone"
        yield f"{said} another output in {one.shown:,} of {one.twice:,} samples{digits}{_turns(one)}"


def _turns(one: Tried) -> str:
    """How often a sample that shows it did so when it was run again, with the change and without."""
    if not one.turns:
        return ""
    changed = one.twice_seen.before + one.twice_seen.both
    return f" (again in {changed:,} of {one.turns:,} runs, and in {one.shams_shown:,} of as many with nothing changed)"


_TWICE = {
    "hidden-state": "the same sample and r again gave",
    "hash-seed": "the same sample and r in a process with another PYTHONHASHSEED gave",
    "threads": "the same sample and r with all threads instead of one gave",
    "row-order": "the same rows in another order gave",
    "rounding-noise": "a noise of one part in 2^50 gave",
}


def _r_unused(inquiry: Explaining, one: Tried) -> str:
    own = f"{one.mismatches:,} of {one.pairs:,} pairs differ where each run has an r of its own"
    figure = f"{own}, {one.before:,} where it is shared"
    if one.is_without_r():
        return f"no bit of r was drawn in {one.twice:,} runs; {figure}"
    changed = f"on one sample a fresh r changed the output {one.shown:,} times in {one.twice:,}"
    return f"{changed}; {figure}"


def _replay(inquiry: Explaining, one: Tried) -> str | None:
    """The trial that shows it: a sample run twice where that is certain, else the first pair that it makes agree."""
    if one.experiment.certain:
        return inquiry.replay(one.shows, one.first_shown)
    if one.kind == "r-unused":
        return inquiry.replay(one.shows, 0)
    return inquiry.replay(PLAIN if one.after is None else one.after, one.first_gone)


def cure(inquiry: Explaining, one: Tried) -> str:
    if found := _moved(inquiry, one).get("cure"):
        return str(found)
    if one.kind == "continuous":
        return _rounding(inquiry, one.experiment.cure.format(width=_two_digits(max(inquiry.widths))))
    if one.kind == "too-little-data":
        found = growth_of(inquiry)
        size = found.size if found and found.size else 4 * inquiry.cells[PLAIN].size
        if inquiry.is_dataset:
            return f"collect more rows: about {size:,}, if rho goes on as it does"
        return one.experiment.cure.format(size=size)
    return one.experiment.cure


def _rounding(inquiry: Explaining, words: str) -> str:
    """A grid that is wider than the numbers themselves leaves nothing of them."""
    largest = max((abs(value) for payload in inquiry.looked for value in payload["values"]), default=0.0)
    if max(inquiry.widths) <= largest:
        return words
    coarser = "more rows allow a finer grid, and a coarser output, such as --view sign, needs none"
    return f"{words}. That is more than any number that was seen: unless they should be 0, {coarser}"


def growth_of(inquiry: Explaining) -> Growth | None:
    """The exponent between two sizes a factor of four apart, and where rho would meet the target."""
    one = inquiry.tested("too-little-data")
    if not one.mismatches or one.mismatches >= one.before:
        return None
    exponent = math.log(one.mismatches / one.before) / math.log(4)
    size = inquiry.cells[PLAIN].size
    more = (one.mismatches / one.pairs / inquiry.target) ** (-1 / exponent)
    reached = size if inquiry.is_dataset else 4 * size
    needed = reached * more
    return Growth(exponent=exponent, size=math.ceil(float(f"{needed:.2g}")) if needed < 1e15 else None)


def fresh_rows_of(inquiry: Explaining) -> FreshRows | None:
    replaced = inquiry.aside(ROWS)
    found = [(pair, payload) for pair, payload in enumerate(replaced) if "rows" in payload]
    if not found:
        return None
    pair, first = found[0]
    changed = median_low(payload["step"] for _, payload in found)
    size = inquiry.cells[PLAIN].size
    return FreshRows(median=changed, of=size, pairs=len(replaced), pair=pair, row=first["row"])


def local_value_of(inquiry: Explaining) -> LocalValue | None:
    found = next((payload for payload in inquiry.aside(LOCALS) if "name" in payload), None)
    return LocalValue(found["where"], found["name"], *found["values"]) if found else None
