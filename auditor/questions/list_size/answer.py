"""What does an audit of a list know beyond its verdict? The outputs on it, how often each came, and one that is not."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from auditor.flow.parts import Command, Facts, Listing, Part
from auditor.flow.record import Record
from auditor.statistics.digits import at_most, between, percent

SHOWN = 10  # outputs of a list that are shown


class Frequent(msgspec.Struct, frozen=True):
    """An output, how many runs gave it, and the number of one of them."""

    output: str
    runs: int
    run: int
    replay: str | None = None


class ListAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="question", tag="list_size"):
    """The outputs of runs on fresh samples, each with an r of its own, and the list of the most frequent ones."""

    length: int  # the most outputs that the list has
    eta: float
    runs: int
    named: int  # the first runs, which only name a list
    missed: int  # how many of the others were outside the list made of the runs before each
    outside: int  # how many of all runs are outside the list made of all of them
    distinct: int  # outputs
    outputs: list[Frequent]  # of the list, the most frequent first, at most SHOWN
    other: Frequent | None  # an output that is not on the list: the last that came, or was dropped
    cell: str = ""  # the name of the cell: of several, the one that looks worst


def answer_of(record: Record) -> ListAnswer:
    """Return the record's ListAnswer, decoding it if the record was read from JSON."""
    return msgspec.convert(msgspec.to_builtins(record.answer), ListAnswer)


def most_frequent(length: int) -> str:
    """Return what a list of this length has on it, in words."""
    return "most frequent output" if length == 1 else f"{length:,} most frequent outputs"


def list_parts(record: Record) -> Iterator[Part]:
    """Report the mass outside, the list, and an output that is not on it."""
    found = answer_of(record)
    if not found.runs:
        return
    own, here, largest = record.measures[0], "", "; the probability of that is"
    if len(record.cells) > 1:
        here, largest = f" with {found.cell}" if found.cell else "", "; the largest probability of that is"
    outside = (
        f"{found.outside:,} of {found.runs:,} runs{here} gave another output than the {most_frequent(found.length)}"
        f"{largest} {between(own.low, own.high, beside=record.target)} ({percent(own.confidence)} confidence)"
        f"{_beside(record)}"
    )
    counted = found.runs - found.named
    if counted > 0:
        later = f"{found.missed:,} of {counted:,} later runs were outside the list before them"
        made = f"made of the first {found.named:,} runs, and anew after each: {later}"
    else:
        made = f"made of all runs: for a pass the first {found.named:,} only name it"
    distinct = f"{found.distinct:,} distinct output{'s'[: found.distinct != 1]} in all"
    facts = [("outside", outside), ("list", f"{made}; {distinct}")]
    if record.error_spent:
        wrong = f"the verdict is wrong with probability at most {at_most(record.error_spent)}"
        each = f"each interval has its own {percent(record.confidence)}, apart from the verdict"
        facts.append(("confidence", f"{wrong}; {each}"))
    yield Facts(facts)
    kept = min(found.length, found.distinct)
    more = f", the first {len(found.outputs)} of {kept:,}" if kept > len(found.outputs) else ""
    yield Listing(f"The list{here}{more}:", [f"{one.runs:,} x {one.output}" for one in found.outputs])
    if found.other:
        yield Listing(f"Run {found.other.run} gave an output that is not on it:", [found.other.output])
        if found.other.replay:
            yield Command("replay it with:", found.other.replay)


def _beside(record: Record) -> str:
    """Say how the interval relates to a verdict that rests on one side of it, at fewer looks."""
    own, target = record.measures[0], record.target
    if record.bound is None or target is None:
        return ""
    if record.bound.value == target and own.low <= target < own.high:
        return (
            ", apart from the verdict. It is wider than the verdict needs, because it holds on both sides and at every "
            "number of runs; it may contain the target"
        )
    return ", apart from the verdict"
