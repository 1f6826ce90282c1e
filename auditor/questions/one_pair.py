"""One pair run again, by its number: the same samples, the same r."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from auditor.errors import BadValue
from auditor.flow.asking import make_request
from auditor.flow.parts import Listing, Part, Words
from auditor.flow.question import find_question
from auditor.process.limits import one_thread
from auditor.subjects.closeness import Tolerance
from auditor.subjects.outcome import Difference, as_it_was, describe, settle
from auditor.trials.cell import make_bench
from auditor.trials.trial import Bench

_SHOWN = 2000  # characters of each output


@dataclass(frozen=True, slots=True)
class Replayed:
    """One pair run again: what counts of both outputs, and where they first differ (None: they are the same, or close
    where a tolerance was given)."""

    pair: int
    outputs: tuple[Any, Any]
    difference: Difference | None
    within: Tolerance | None = None


def replay(
    subject: str | Callable[..., Any], source: object = None, *, pair: int, cell: int = 0, **keywords: Any
) -> Replayed:
    """Run one pair of an audit again; the keywords are those of `ask`. `cell` is its place where there are several."""
    if pair < 0:
        raise BadValue("pair", pair, "must be the number of a pair, 0 or more")
    request = make_request("rho", subject, source, {"accept_overlap": True, **keywords})
    found = find_question("rho").begin(request).cells[cell]
    with one_thread():
        return run_again(replace(make_bench(found), copies=True), pair)


def run_again(bench: Bench, pair: int) -> Replayed:
    seen = bench.see(bench.run(pair, 0))
    first = settle(seen)  # the second run may write into it
    second = bench.see(bench.run(pair, 1))
    return Replayed(pair, (as_it_was(seen, first), second), bench.difference(first, second), bench.within)


def show_pair(replayed: Replayed) -> Iterator[Part]:
    found = replayed.difference
    agree, differ = ("CLOSE", "NOT CLOSE") if replayed.within else ("SAME", "DIFFERENT")
    yield Words(f"{agree if found is None else differ}  pair {replayed.pair}", "title")
    for name, output in zip(("first", "second"), replayed.outputs, strict=True):
        yield Listing(f"{name} output:", [describe(output, _SHOWN)])
    if found is not None:
        yield Listing(f"first difference, at {found.path}:", [found.left, found.right])
