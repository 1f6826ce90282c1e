"""What does a pair show that advice is made of? How far apart its numbers are, and whether its outputs are the same up
to the names of labels or the order of items; and whether they differ with a quarter of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from auditor.errors import AuditorError
from auditor.questions.explain.outputs import gaps, has_labels, has_order, read, unordered
from auditor.repair.mechanisms.widths import GAPS, grouped
from auditor.subjects.churn import has_rows, points_of
from auditor.subjects.views import OUTPUT
from auditor.subjects.views.clusters import on_shared_rows
from auditor.subjects.views.partition import partition
from auditor.subjects.views.rounding import rounded
from auditor.trials.trial import NONE_FELL, Bench, NoOutput, Trial, share_apart, timed_run
from auditor.values import same, settle

_FEWER = 4  # a part of the rows that is tried
_FEWEST = 8  # rows from which on it is
_DIGITS = 16  # decimals that are tried
_NAMES = 10  # whole numbers below this may be the places of candidates


def look_for_advice(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """Run a pair, and one with fewer rows, and return what both show."""
    plain = replace(bench, unit=None, judges=False)
    first, second, seconds = _pair(plain, index, fell)
    payload: dict[str, Any] = {
        "differs": _differs(plain, first, second),
        "rows": max(1, bench.size // _FEWER),
        "fewer": None,
        "fewer gaps": None,
        **_compared(plain, first, second),
    }
    if bench.size >= _FEWEST and not fell:
        try:
            first, second, _ = _pair(replace(plain, size=payload["rows"]), index, fell)
            payload["fewer"] = _differs(plain, first, second)
            payload["fewer gaps"] = _compared(plain, first, second)["gaps"]
        except AuditorError:  # it cannot do with so few
            payload["fewer"] = None
    return Trial(index, None, None, seconds, payload=payload)


def _pair(bench: Bench, index: int, fell: Mapping[int, str]) -> tuple[Any, Any, float]:
    """Return what counts of both outputs of a pair, each copied before the next run begins, and the seconds."""
    first, seconds = timed_run(bench, index, 0, fell)
    first = bench.settled(first)
    second, more = timed_run(bench, index, 1, fell)
    second = bench.settled(second)
    if bench.view.is_of_own_rows and not _is_bottom(first, second):
        first, second = on_shared_rows(first, second)
    return first, second, seconds + more


def _is_bottom(*outputs: Any) -> bool:
    return any(type(one) is NoOutput for one in outputs)


def _differs(bench: Bench, first: Any, second: Any) -> bool:
    if _is_bottom(first, second):
        return type(first) is not type(second)
    return bench.difference(first, second) is not None


def _compared(bench: Bench, first: Any, second: Any) -> dict[str, Any]:
    nothing: dict[str, Any] = dict.fromkeys(("gaps", "regrouped", "reordered", "churn", "kind", "top"))
    if _is_bottom(first, second):
        return nothing
    is_whole_output = bench.view.spec == OUTPUT.spec
    names = _kind(first), _kind(second)
    kind, top = names[0] if names[0] == names[1] else (None, None)
    is_named = kind is not None or has_labels(first) or has_labels(second)
    found = nothing | {"kind": kind if is_whole_output else None, "top": top}
    if not is_named and bench.view.is_of_amounts:
        found |= _numbers(bench, first, second, is_whole_output=is_whole_output)
    if has_labels(first) and has_labels(second) and not bench.view.is_partition:
        found["regrouped"] = _are_regrouped(first, second)
    if is_whole_output and has_order(first) and has_order(second):
        found["reordered"] = unordered(first) != unordered(second)
    if bench.view.rows:
        points = points_of(first, first), points_of(second, second)
        if all(has_rows(one, bench.view.rows) for one in points):
            found["churn"] = share_apart(bench, *points) if _differs(bench, first, second) else 0.0
    return found


def _numbers(bench: Bench, first: Any, second: Any, *, is_whole_output: bool) -> dict[str, Any]:
    """Return how far apart the numbers are; of outputs without floats, the whole numbers."""
    mine, theirs = read(first), read(second)
    whole = not len(mine.numbers) and not len(theirs.numbers)
    if whole or gaps(mine, theirs) is None:
        mine, theirs = read(first, whole=True), read(second, whole=True)
    between = gaps(mine, theirs)
    if between is None or not len(between):
        return {"gaps": None}
    with np.errstate(all="ignore"):
        larger = np.maximum(np.abs(mine.numbers), np.abs(theirs.numbers))
        relative = np.where(between == 0, 0.0, between / larger)
    return {
        "gaps": [float(gap) for gap in grouped(between)],
        "grouped": len(between) > GAPS,
        "farthest": float(between.max()),
        "relative": float(relative.max()),
        "ranges": _ranges(mine.numbers, theirs.numbers),
        "whole": whole,
        "grid": is_whole_output,
        "digits": _digits(first, second) if is_whole_output and not whole and len(between) <= GAPS else None,
    }


def _ranges(mine: Any, theirs: Any) -> list[list[float]]:
    """Return the least and the largest of each number; of many numbers 0 and the largest distance from it."""
    if len(mine) > GAPS:
        return [[0.0, float(np.abs([mine, theirs]).max())]]
    return np.transpose([np.minimum(mine, theirs), np.maximum(mine, theirs)]).tolist()  # type: ignore[no-any-return]


def _digits(first: Any, second: Any) -> int | None:
    """Return the decimals up to which both outputs are the same when they are rounded; None if they never are."""
    found = None
    for digits in range(_DIGITS):
        if not same(settle(rounded(first, digits)), settle(rounded(second, digits))):
            break
        found = digits
    return found


def _are_regrouped(first: Any, second: Any) -> bool | None:
    """True if two labellings put different rows together; None where they are no labellings."""
    try:
        return not same(settle(partition(first)), settle(partition(second)))
    except AuditorError:
        return None


def _kind(output: Any) -> tuple[str | None, int | None]:
    """Return what an output that names something is, and how many names a set has."""
    if isinstance(output, (bool, np.bool_)):
        return "decision", None
    if isinstance(output, str):
        return "name", None
    if isinstance(output, (int, np.integer)):
        return ("place", None) if 0 <= output < _NAMES else (None, None)
    is_set = isinstance(output, (set, frozenset)) and all(isinstance(one, (str, int)) for one in output)
    return ("set", len(output)) if is_set else (None, None)
