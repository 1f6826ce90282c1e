"""What is a trial of a comparison? A pair of one version, with fingerprints of both outputs; and one shown again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from auditor.flow.parts import Listing, Part, Words
from auditor.questions.one_pair import show_pair
from auditor.trials.other_version import Version
from auditor.trials.trial import Bench, NoOutput, Trial, elements_of, timed_run, with_bottom
from auditor.values import fingerprint, settle

_NO_OUTPUT = "no output"


def versioned_pair(bench: Bench, index: int, fell: Mapping[int, str]) -> Trial:
    """Here; outputs are fingerprinted as they come, since a second run may write into the first one's."""
    seen, prints, seconds = list[Any](), list[str](), 0.0
    for which in (0, 1):
        output, more = timed_run(bench, index, which, fell)
        looked = bench.see(output)
        seen.append(looked if type(looked) is NoOutput else settle(looked))
        prints.append(_NO_OUTPUT if type(looked) is NoOutput else fingerprint(seen[-1]))
        seconds += more
    payload: dict[str, Any] = {"prints": prints, "elements": None}
    if any(type(one) is NoOutput for one in seen):
        trial = with_bottom(bench, index, seen, None, seconds)
        return msgspec.structs.replace(trial, churn=None, payload=payload)
    found = bench.difference(*seen)
    if index < bench.watched:
        payload["elements"] = elements_of(bench, seen[0], seen[1], found)
    return Trial(index, found, None, seconds, payload=payload)


def show_again(bench: Bench, index: int) -> Iterator[Part]:
    """One pair of a version run again, to be looked at: here, or where the old code is."""
    if not isinstance(bench.unit, Version):
        yield from show_pair(bench, index)
        return
    shown, found = bench.unit.shown(bench, index)
    state = "SAME" if found is None else "DIFFERENT"
    yield Words(f"{state}  pair {index}, as of {bench.unit.words}", "title")
    if found is None:
        yield Listing("both outputs:", shown[:1])
        return
    yield from (Listing(f"{name} output:", [text]) for name, text in zip(("first", "second"), shown, strict=True))
    yield Listing(f"they first differ at {found.path}:", [found.left, found.right])
