"""One pair of a version run again, to be looked at: here, or where the old code is."""

from __future__ import annotations

from collections.abc import Iterator

from auditor.flow.parts import Listing, Part, Words
from auditor.questions.one_pair import run_again, show_pair
from auditor.trials.other_version import Version
from auditor.trials.trial import Bench


def show_again(bench: Bench, index: int) -> Iterator[Part]:
    if not isinstance(bench.unit, Version):
        yield from show_pair(run_again(bench, index))
        return
    shown, found = bench.unit.shown(bench, index)
    state = "SAME" if found is None else "DIFFERENT"
    yield Words(f"{state}  pair {index}, as of {bench.unit.words}", "title")
    if found is None:
        yield Listing("both outputs:", shown[:1])
        return
    yield from (Listing(f"{name} output:", [text]) for name, text in zip(("first", "second"), shown, strict=True))
    yield Listing(f"they first differ at {found.path}:", [found.left, found.right])
