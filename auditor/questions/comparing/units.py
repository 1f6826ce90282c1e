"""What is a trial of a comparison? A pair of one version, with the fingerprints of both outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from auditor.subjects.outcome import fingerprint, settle
from auditor.trials.trial import Bench, Bottom, Trial, elements_of, timed_run, with_bottom

_NO_OUTPUT = "no output"


def versioned_pair(bench: Bench, index: int, fell: Mapping[int, str]) -> Trial:
    """Here; outputs are fingerprinted as they come, since a second run may write into the first one's."""
    seen, prints, seconds = list[Any](), list[str](), 0.0
    for which in (0, 1):
        output, more = timed_run(bench, index, which, fell)
        looked = bench.see(output)
        seen.append(looked if isinstance(looked, Bottom) else settle(looked))
        prints.append(_NO_OUTPUT if isinstance(looked, Bottom) else fingerprint(seen[-1]))
        seconds += more
    if any(isinstance(one, Bottom) for one in seen):
        trial = with_bottom(bench, index, seen, None, seconds)
        return msgspec.structs.replace(trial, churn=None, payload=_payload(prints, None))
    found = bench.difference(*seen)
    elements = elements_of(bench, seen[0], seen[1], found) if index < bench.watched else None
    return Trial(index, found, None, seconds, None, payload=_payload(prints, elements))


def _payload(prints: list[str], elements: Any) -> dict[str, Any]:
    return {"prints": prints, "elements": elements}
