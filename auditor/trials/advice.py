"""What would pass in place of what failed? Further pairs say it, which no verdict, count or interval knows of.

An audit that fails may end after two pairs, which show nothing of how wide a tolerance must be. So some more are run
for advice alone, with randomness of their own: whoever follows the advice with the same seed is judged by other pairs
than those that it was made from. All limits hold at whatever number of pairs one stops, each by itself.

Of each further pair is kept (`look_for_advice`) how far apart its numbers are, whether its outputs are the same up to
the names of labels or the order of items, and whether they differ with a quarter of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.errors import AuditorError
from auditor.repair.mechanisms.grid import (
    GAPS,
    grouped,
    is_shown_below,
    leaves_nothing,
    two_digits,
    width_at,
    width_below,
)
from auditor.statistics.interval import clopper_pearson_upper, most_unseen, sequence_upper
from auditor.subjects.churn import has_rows, points_of
from auditor.subjects.view_functions import on_shared_rows, partition, rounded
from auditor.subjects.views import OUTPUT
from auditor.trials.likeness import gaps, has_labels, has_order, read_numbers, unordered
from auditor.trials.trial import NONE_FELL, Bench, NoOutput, Trial, share_apart, timed_run
from auditor.values import same, settle
from auditor.values.walk import Settled

LEAST = 20  # pairs below which no width is named
MOST = 600  # pairs that are run at most
_ROOM = 1.5  # a tolerance is so much wider than the largest distance that was seen
_SIMILAR = 3.0  # numbers whose distances are within this factor of each other share a tolerance and a width
_RELATIVE = 0.5  # the largest relative tolerance that is named


class FewerRows(msgspec.Struct, frozen=True):
    """What became of the same pairs with fewer rows."""

    rows: int  # in each sample
    mismatches: int  # of the pairs
    pairs: int  # for which it was tried
    more_help: bool  # whether fewer pairs differ with all rows
    factor: float | None = None  # how many times as far apart numbers were, where more rows bring them nearer


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """What further pairs showed, which were run for advice after a fail and count nowhere else."""

    pairs: int  # that were run
    mismatches: int  # of them, those that differ
    confidence: float  # with which each statement here holds by itself
    largest: float | None = None  # the largest distance of two numbers, where all else is the same
    beyond: float | None = None  # at most this share of pairs is further apart than that
    atol: float | None = None  # a tolerance that is wider than that
    rtol: float | None = None  # the same as a share of the larger number, where numbers are of different scales
    relative: float | None = None  # the largest distance as such a share
    digits: int | None = None  # decimals to which no pair differs when it is rounded
    width: float | None = None  # of a shared grid on which rho meets the target
    is_shown: bool = False  # whether it does with the confidence, and not as an estimate
    low: float | None = None  # the least of all numbers
    high: float | None = None  # the largest of all numbers
    whole: bool = False  # whether they are whole numbers
    is_useless: bool = False  # whether such a grid leaves nothing of the numbers, those between low and high above all
    regrouped: int | None = None  # pairs that differ as partitions, where there are labels and this meets the target
    reordered: int | None = None  # pairs that differ without regard to order, likewise
    churn: float | None = None  # the mean share of predictions that change, where that is shown to meet the target
    kind: str | None = None  # of the outputs: a name, a place, a set of names, a decision or a model
    top: int | None = None  # how many names a set has
    fewer: FewerRows | None = None  # what fewer rows do


def wanted_pairs(target: float, alpha: float) -> tuple[int, ...]:
    """Return how many pairs are worth running, the better number first.

    Of n pairs without a mismatch n0 = log(alpha) / log(1 - target) show that rho is at most the target; twice as many
    leave half of the target to what a grid parts.
    """
    enough = math.ceil(math.log(alpha) / math.log1p(-target))
    return tuple(dict.fromkeys((min(max(LEAST, 2 * enough), MOST), LEAST)))


def advised(payloads: Sequence[Mapping[str, Any]], target: float, alpha: float) -> Advice | None:
    """Return what the payloads of further pairs say; None if they are too few."""
    if len(payloads) < LEAST:
        return None
    n, differing = len(payloads), [one for one in payloads if one["differs"]]

    def meets(name: str) -> int | None:
        """Return how many pairs differ in this sense, if that is shown to be at most the target."""
        if not differing or any(one[name] is None for one in differing):
            return None
        count = sum(bool(one[name]) for one in differing)
        most = sequence_upper(n, count, alpha) if count else most_unseen(n, alpha)
        return count if most <= target else None

    kinds = {one["kind"] for one in payloads}
    churns = [one["churn"] for one in payloads]
    is_of_churn = None not in churns and is_shown_below(np.array(churns), target, alpha)
    return Advice(
        pairs=n,
        mismatches=len(differing),
        confidence=1 - alpha,
        **_of_numbers(payloads, target, alpha),
        regrouped=meets("regrouped"),
        reordered=meets("reordered"),
        churn=float(np.mean(churns)) if is_of_churn else None,
        kind=kinds.pop() if len(kinds) == 1 else None,
        top=int(np.median([one["top"] for one in payloads if one["top"] is not None] or [0])) or None,
        fewer=_fewer(payloads, alpha),
    )


def _of_numbers(payloads: Sequence[Mapping[str, Any]], target: float, alpha: float) -> dict[str, Any]:
    """Return tolerances and a width, where numbers are all that ever differs."""
    lists = [one["gaps"] for one in payloads]
    if any(one is None for one in lists) or len({len(one) for one in lists}) != 1 or not any(map(any, lists)):
        return {}
    gaps, largest = np.array(lists, dtype=float), max(one["farthest"] for one in payloads)
    whole = all(one["whole"] for one in payloads)
    ends = np.array([one["ranges"] for one in payloads])
    ranges = [*zip(ends[:, :, 0].min(axis=0).tolist(), ends[:, :, 1].max(axis=0).tolist(), strict=True)]
    settled = [one for one in ranges if not one[0] < 0 < one[1]] or ranges
    low, high = max(settled, key=lambda one: max(map(abs, one)))
    found: dict[str, Any] = {"low": low, "high": high, "whole": whole, "largest": largest}
    if not math.isfinite(largest) or not math.isfinite(2 * _ROOM * largest):
        return found
    found["beyond"] = most_unseen(len(lists), alpha)
    scales = gaps.mean(axis=0)
    scales = scales[scales > 0]
    if scales.max() > _SIMILAR * scales.min() and not payloads[0]["grouped"]:
        relative = max(one["relative"] for one in payloads)
        wide = _ROOM * relative
        return found | ({"rtol": two_digits(wide), "relative": relative} if wide < _RELATIVE else {})
    found["atol"] = two_digits(_ROOM * largest)
    if any(one["digits"] is not None for one in payloads):
        digits = min(-1 if one["digits"] is None else one["digits"] for one in payloads)
        is_zero = 10.0**-digits > 2 * np.abs(ends).max() or leaves_nothing([10.0**-digits] * len(ranges), ranges)
        found["digits"] = digits if digits >= 0 and not is_zero and found["beyond"] <= target else None
    if payloads[0]["grid"]:
        shown, near = width_below(gaps, target, alpha), width_at(gaps, target / 2)
        width = two_digits(shown if shown < math.inf else near)
        found |= {"width": max(2.0, math.ceil(width)) if whole else width, "is_shown": shown < math.inf}
        found["is_useless"] = leaves_nothing([found["width"]] * len(ranges), ranges)
    return found


def _fewer(payloads: Sequence[Mapping[str, Any]], alpha: float) -> FewerRows | None:
    """Return what fewer rows do: how many pairs differ, and how far apart their numbers are."""
    both = [(one["differs"], one["fewer"]) for one in payloads if one["fewer"] is not None]
    if len(both) < LEAST:
        return None
    sums = [(sum(one["gaps"]), sum(one["fewer gaps"])) for one in payloads if one["gaps"] and one["fewer gaps"]]
    here, there = (float(np.mean([one[side] for one in sums])) if sums else 0.0 for side in (0, 1))
    is_nearer = _is_less(sums, alpha) and 0 < here < there < math.inf
    mismatches = sum(there for _, there in both)
    return FewerRows(
        payloads[0]["rows"], mismatches, len(both), _is_less(both, alpha), there / here if is_nearer else None
    )


def _is_less(both: Sequence[tuple[Any, Any]], alpha: float) -> bool:
    """True if the first of two is less than the second in too many cases for a fair coin. Where they are equally often
    larger and smaller, as if the number of rows did not matter, this has probability alpha / 5 at most."""
    less, more = sum(a < b for a, b in both), sum(a > b for a, b in both)
    return less > 0 and clopper_pearson_upper(less + more, more, alpha / 5) < 0.5


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
    """True if one of the runs gave no output."""
    return any(type(one) is NoOutput for one in outputs)


def _differs(bench: Bench, first: Any, second: Any) -> bool:
    """True if two outputs of a pair count as different; runs without an output agree with each other alone."""
    if _is_bottom(first, second):
        return type(first) is not type(second)
    return bench.difference(first, second) is not None


def _compared(bench: Bench, first: Any, second: Any) -> dict[str, Any]:
    """Return what a pair shows that advice is made of: distances of numbers, and what is the same but for names or
    order."""
    nothing: dict[str, Any] = dict.fromkeys(("gaps", "regrouped", "reordered", "churn", "kind", "top"))
    if _is_bottom(first, second):
        return nothing
    is_whole_output = bench.view.spec == OUTPUT.spec
    names = _kind(first), _kind(second)
    kind, top = names[0] if names[0] == names[1] else (None, None)
    is_named = kind not in (None, "model") or has_labels(first) or has_labels(second)
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
    mine, theirs = read_numbers(first), read_numbers(second)
    whole = not len(mine.numbers) and not len(theirs.numbers)
    if whole or gaps(mine, theirs) is None:
        mine, theirs = read_numbers(first, whole=True), read_numbers(second, whole=True)
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
    """Return what an output is that names something or is a fitted model, and how many names a set has."""
    if isinstance(output, (bool, np.bool_)):
        return "decision", None
    if isinstance(output, str):
        return "name", None
    if isinstance(output, (int, np.integer)):
        return ("place", None) if 0 <= output < _NAMES else (None, None)
    if type(output) is Settled and hasattr(type(output.source), "predict"):
        return "model", None
    is_set = isinstance(output, (set, frozenset)) and all(isinstance(one, (str, int)) for one in output)
    return ("set", len(output)) if is_set else (None, None)
