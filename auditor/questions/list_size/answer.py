"""What an audit of a list says beyond its verdict: which outputs are on it, how often each came, and what did not."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from auditor.flow.parts import Command, Facts, Listing, Part
from auditor.flow.record import Record
from auditor.statistics.outward import at_most, between, percent

SHOWN = 10  # outputs of a list


class Frequent(msgspec.Struct, frozen=True):
    """An output, in how many runs it came, and the number of one of them."""

    output: str
    runs: int
    run: int
    replay: str | None = None


class ListAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="question", tag="list_size"):
    """Outputs of runs on fresh samples, each with an r of its own, and a list of the most frequent ones."""

    length: int  # of the list, at most
    eta: float
    runs: int
    named: int  # the first of them, which only named a list
    missed: int  # of the others, those outside the list made of the runs before each
    outside: int  # of all, those outside the list made of all of them
    distinct: int
    outputs: list[Frequent]  # the first ones of that list, the most frequent first
    other: Frequent | None  # one that is not on it, the last that came or left
    cell: str = ""  # whose it is, where there are several: the one that looks worst


def answer_of(record: Record) -> ListAnswer:
    """As it was, whether the record comes from here or from a file."""
    return msgspec.convert(msgspec.to_builtins(record.answer), ListAnswer)


def most_frequent(length: int) -> str:
    return "most frequent output" if length == 1 else f"{length:,} most frequent outputs"


def list_parts(record: Record) -> Iterator[Part]:
    found = answer_of(record)
    if not found.runs:
        return
    here = f" with {found.cell}" if found.cell and len(record.cells) > 1 else ""
    yield Facts([*_facts(record, found, here)])
    kept = min(found.length, found.distinct)
    more = f", the first {len(found.outputs)} of {kept:,}" if kept > len(found.outputs) else ""
    yield Listing(f"The list{here}{more}:", [f"{one.runs:,} x {one.output}" for one in found.outputs])
    if found.other:
        yield Listing(f"Run {found.other.run} gave an output that is not on it:", [found.other.output])
        if found.other.replay:
            yield Command("replay it with:", found.other.replay)


def _facts(record: Record, found: ListAnswer, here: str) -> Iterator[tuple[str, str]]:
    own = record.measures[0]
    largest = "; the largest mass outside is" if len(record.cells) > 1 else "; a mass"
    yield (
        "outside",
        f"{found.outside:,} of {found.runs:,} runs{here} are outside their {most_frequent(found.length)}{largest} "
        f"{between(own.low, own.high, beside=record.target)} ({percent(own.confidence)} two-sided{_beside(record)})",
    )
    yield "list", f"{_made(found)}; {found.distinct:,} distinct output{'s'[: found.distinct != 1]} in all"
    if record.error_spent:
        wrong = f"the verdict is wrong with probability at most {at_most(record.error_spent)}"
        yield "confidence", f"{wrong}; each interval has its own {percent(record.confidence)}, apart from the verdict"


def _made(found: ListAnswer) -> str:
    counted = found.runs - found.named
    if counted <= 0:
        return f"made of all runs: for a pass the first {found.named:,} only name it"
    later = f"{found.missed:,} of {counted:,} later runs were outside the list before them"
    return f"made of the first {found.named:,} runs, and anew after each: {later}"


def _beside(record: Record) -> str:
    """What to make of the interval beside a verdict that rests on one side of it, at fewer looks."""
    own, target = record.measures[0], record.target
    if record.bound is None or target is None:
        return ""
    if record.bound.value == target and own.low <= target < own.high:
        return "; it holds at every number of runs, which takes more than the verdict, and contains the target"
    return "" if record.bound.value == target else "; the verdict's limit is one-sided, and so closer"
