"""One pair run again, by its number: the same samples, the same r."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Any, SupportsIndex

import msgspec
from msgspec.structs import replace

from auditor.errors import BadValue
from auditor.flow.parts import Listing, Part, Table, Words
from auditor.flow.question import find_question, make_request
from auditor.host.limits import one_thread
from auditor.sources.source import as_sources
from auditor.trials.cell import make_bench
from auditor.trials.trial import Bench
from auditor.values import Difference, Tolerance, as_it_was, describe, settle, side_by_side

if TYPE_CHECKING:
    from typing import Unpack

    from auditor.flow.keywords import ReplayKeywords
    from auditor.subjects.estimators import Learner

_SHORT, _LINES = 200, 6  # an output is shown whole up to so many characters, and with fewer lines
_LISTED = 10  # elements that differ are shown
_SIDES = ("first", "second")


class Replayed(msgspec.Struct, frozen=True):
    """A pair that was run again: what counts of both outputs, and where they first differ."""

    pair: int
    outputs: tuple[Any, Any]
    difference: Difference | None  # None if they are the same, or close where a tolerance was given
    within: Tolerance | None = None
    scores: tuple[float | None, ...] = ()  # of both outputs, on rows that they have not seen, where they are scored


def replay(
    subject: Learner, source: object = None, *, pair: int, cell: int = 0, **keywords: Unpack[ReplayKeywords]
) -> Replayed:
    """Run one pair of an audit again, with the same samples and the same r, and return both outputs.

        auditor.replay(fit, "norm(0, 1)", size=1000, pair=17).difference

    `pair` is its number in the record. `cell` is the number of its source or input, where there are several. All else
    is as it was given to `auditor.audit`; keywords of another question than rho or churn are refused.
    """
    if not isinstance(pair, SupportsIndex) or operator.index(pair) < 0:
        raise BadValue("pair", pair, "must be the number of a pair, 0 or more")
    request = make_request("rho", subject, as_sources(source), {"accept_overlap": True, **keywords})
    cells = find_question("rho").begin(request).cells
    if cell not in range(len(cells)):
        raise BadValue("cell", cell, f"must be from 0 to {len(cells) - 1}: which source or input is meant?")
    with one_thread():
        return run_again(replace(make_bench(cells[cell]), copies=True), pair)


def run_again(bench: Bench, pair: int) -> Replayed:
    """Run both runs of a pair again."""
    output = bench.run(pair, 0)
    seen = bench.see(output)
    first = settle(seen)  # the second run may write into it
    score, output = bench.score(output, pair, 0), bench.run(pair, 1)
    second = bench.see(output)
    difference = bench.difference(first, second)
    outputs = as_it_was(seen, first), as_it_was(second, settle(second)) if bench.scorer else second
    scores = (score, bench.score(output, pair, 1)) if score is not None else ()
    return Replayed(pair, outputs, difference, bench.within, scores)


def show_pair(bench: Bench, index: int) -> Iterator[Part]:
    """Run a pair again, and show its outputs, side by side where they differ."""
    replayed = run_again(bench, index)
    difference, within = replayed.difference, replayed.within
    agree, differ = ("CLOSE", "NOT CLOSE") if within else ("SAME", "DIFFERENT")
    yield Words(f"{agree if difference is None else differ}  pair {index}", "title")
    if bench.scorer and replayed.scores and None not in replayed.scores:
        scores = " and ".join(f"{score:.4g}" for score in replayed.scores)
        yield Words(f"{bench.scorer.name} of the two fits, on rows that each has not seen: {scores}")
    texts = [describe(output, _SHORT + 1) for output in replayed.outputs]
    if difference is None and texts[0] == texts[1]:
        yield Listing("both outputs:", texts[:1])
        return
    if all(len(text) <= _SHORT and text.count("\n") < _LINES for text in texts):
        yield from (Listing(f"{name} output:", [text]) for name, text in zip(_SIDES, texts, strict=True))
    if difference is None:
        return
    first, second = map(settle, replayed.outputs)
    places, count = side_by_side(first, second, _LISTED, within=within)
    if [place.path for place in places] != [""]:
        more = f", of which the first {len(places)} are" if count > len(places) else ""
        yield Table(
            head=("", *_SIDES),
            rows=[(f"output{place.path}", place.left, place.right) for place in places],
            title=f"{count:,} {'element differs' if count == 1 else 'elements differ'}{more}:",
        )
    elif isinstance(first, str) and isinstance(second, str) and max(len(first), len(second)) > _SHORT:
        same = takewhile(lambda both: both[0] == both[1], zip(first, second, strict=False))
        at = sum(1 for _ in same)  # of the first characters that differ, or the shorter text's end
        shown = [describe(text[at : at + 80]) for text in (first, second)]
        yield Listing(f"they differ from character {at:,} on:", shown)
