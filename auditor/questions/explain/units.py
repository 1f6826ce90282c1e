"""What one trial of each experiment is: a pair with a cause taken away, or one sample run twice with one thing changed.

Each is a pure function of (bench, index), as far as the subject is one. A trial's difference is that of what is
compared; its payload says how many runs it took and what else was seen. Trials that a cause is judged by have a sham:
"sham" in the payload says whether the outputs of as many runs differ with nothing changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.questions.explain.outputs import (
    OutputNumbers,
    Reals,
    gaps,
    has_labels,
    has_order,
    read,
    renamed,
    unordered,
)
from auditor.questions.explain.runs import (
    Ran,
    draws_nothing,
    has_floats,
    in_order,
    length,
    mixed,
    shuffled,
    taken,
    with_fresh_r,
    with_noise,
    with_sham,
)
from auditor.randomness import from_key
from auditor.sources.datasets import Dataset
from auditor.sources.frames import kind_of
from auditor.sources.sample import Sample
from auditor.trials.causes import last_digits
from auditor.trials.trial import Bench, NoOutput, Trial, apart
from auditor.values import Difference

LOOKS = 8  # pairs that are looked at before any is counted
_NUMBERS = 64  # of an output that have a width each; where there are more, they share one
_MORE = 1024  # times what a noise in the last digits does is still no more than last digits
_PLACES = 64  # rows that are looked at for one that is another in the other sample
_NOISES = 2  # times that noise is put on a sample
SHOWN = 8  # samples whose noise is looked at though their pair agrees
Fell = Mapping[int, str]


def is_drawn_as_rows(sample: Any) -> bool:
    """Whether a sample has rows that can be sorted and exchanged."""
    return not isinstance(sample, Sample) and hasattr(sample, "__len__") and length(sample) > 0


# As it is, compared in several ways.


class AsItIs(msgspec.Struct, frozen=True):
    """A pair as it is; its payload says whether it would differ up to names, up to order, and on a grid."""

    widths: tuple[float, ...] = ()  # of the grid that r places; none where it is not asked for

    def __call__(self, bench: Bench, index: int, fell: Fell) -> Trial:
        ran = Ran(bench, index, fell)
        first, second = ran.pair()
        found = apart(first, second)
        if found is None:
            return ran.trial(None)
        seen: dict[str, Any] = {
            "labels": renamed(first) != renamed(second),
            "output-order": unordered(first) != unordered(second),
        }
        if self.widths:
            seen["continuous"] = not _on_one_grid(read(first), read(second), self.widths, bench, index)
        return ran.trial(found, **seen)


def _on_one_grid(
    first: OutputNumbers, second: OutputNumbers, widths: Sequence[float], bench: Bench, index: int
) -> bool:
    """Whether the numbers fall into the same cells of a grid whose place both runs have from r."""
    if gaps(first, second) is None:
        return False
    count = len(first.numbers)
    width = np.asarray(widths if len(widths) == count else [max(widths)] * count, dtype=float)
    offset = from_key(bench.keys.r.child(index, "grid of explain")).random(len(width)) * width
    return bool(np.all(np.floor((first.numbers + offset) / width) == np.floor((second.numbers + offset) / width)))


def look(bench: Bench, index: int, fell: Fell) -> Trial:
    """A pair that is looked at, and never counted: what kind of output there is, and how far apart the numbers are."""
    ran = Ran(bench, index, fell)
    first, second = ran.pair()
    found, one, other = apart(first, second), read(first), read(second)
    between = gaps(one, other)
    sample = bench.draw(index, 0)
    numbers = one.numbers if len(one.numbers) <= _NUMBERS else one.numbers[:1]
    farthest = _farthest(between)
    return ran.trial(
        found,
        labels=has_labels(first) or has_labels(second),
        order=has_order(first) or has_order(second),
        numbers=len(one.numbers),
        gaps=None if between is None else _shortened(between),
        farthest=farthest,
        jump=_jump(ran, one) if farthest and is_drawn_as_rows(sample) else None,
        values=[float(value) for value in numbers if math.isfinite(value)],
        rows=is_drawn_as_rows(sample),
        floats=is_drawn_as_rows(sample) and has_floats(sample),
        table=kind_of(sample),
    )


def _farthest(between: Reals | None) -> float | None:
    """How far apart the numbers are that are farthest apart; None where that cannot be said."""
    far = None if between is None or not len(between) else float(np.max(between))
    return far if far is not None and math.isfinite(far) else None


def _jump(ran: Ran, one: OutputNumbers) -> float | None:
    """How far the numbers go when one row is replaced by another one, of the other sample."""
    sample, other = ran.bench.draw(ran.index, 0), ran.bench.draw(ran.index, 1)
    places = from_key(ran.bench.keys.probe.child("row", ran.index)).permutation(length(sample))[:_PLACES, None]
    place = next((place for place in places if apart(taken(sample, place), taken(other, place))), None)
    return None if place is None else _farthest(gaps(one, read(ran.output(mixed(sample, other, place), 0))))


def _shortened(between: Reals) -> list[float]:
    finite = np.where(np.isfinite(between), between, np.finfo(float).max)
    return [float(gap) for gap in (finite if len(finite) <= _NUMBERS else [np.max(finite)])]


# But for one cause.


def sorted_rows(bench: Bench, index: int, fell: Fell) -> Trial:
    ran = Ran(bench, index, fell)
    found, sham = with_sham(bench, index, lambda: apart(*ran.pair(in_order)), lambda: apart(*ran.pair()))
    return ran.trial(found, sham=sham is not None)


def other_order(bench: Bench, index: int, fell: Fell) -> Trial:
    """One sample, and the same rows in another order; with whether the outputs agree but for last digits."""
    ran = Ran(bench, index, fell)
    first = ran.output(bench.draw(index, 0), 0)
    second = ran.output(shuffled(bench.draw(index, 0), bench.keys.probe.child("order", index)), 0)
    found = apart(first, second)
    return ran.trial(found, close=found is not None and is_close(first, second))


def is_close(first: Any, second: Any) -> bool:
    """Whether two outputs are the same but for last digits."""
    return not any(type(one) is NoOutput for one in (first, second)) and last_digits.is_close(first, second)


def beyond_noise(bench: Bench, index: int, fell: Fell) -> Trial:
    """A pair whose outputs count as the same where a noise in the last digits of the samples turns one into the other:
    where runs with noise agree across the pair, or numbers are no further apart than a thousand times what it does.

    The sham runs the samples again as they are: outputs that differ from run to run would meet without any noise, and
    that they do is what "again" says, with the place. The payload also says whether noise changes an output at all: of
    pairs that agree this is asked only of the first.
    """
    ran = Ran(bench, index, fell)
    plain = ran.pair()
    found = apart(*plain)
    if found is None and index >= SHOWN:
        return ran.trial(None, sham=False)
    key = bench.keys.probe.child("noise", index)

    def noisy(sample: Any, which: int, turn: int) -> Any:
        return with_noise(sample, key.child(which, turn))

    changed, sham = with_sham(
        bench,
        index,
        lambda: _run_again(ran, plain, noisy),
        lambda: _run_again(ran, plain, lambda sample, which, turn: sample),
    )
    shown = changed.moved if sham.moved is None else None
    return ran.trial(
        None if changed.is_explained else found,
        sham=found is not None and not sham.is_explained,
        again=sham.moved and sham.moved.path,
        shows=shown is not None,
        close=changed.is_close,
        path=shown and shown.path,
    )


class _Again(NamedTuple):
    """What became of a pair when its samples were run again, changed or not."""

    moved: Difference | None  # the first output that is not what it was
    is_close: bool  # outputs are what they were, but for last digits
    is_explained: bool  # outputs that are not always what they were account for a difference within the pair


def _run_again(ran: Ran, plain: Sequence[Any], change: Callable[[Any, int, int], Any]) -> _Again:
    outputs = [
        [ran.output(change(ran.bench.draw(ran.index, which), which, turn), which) for turn in range(_NOISES)]
        for which in (0, 1)
    ]
    both = [(one, other) for one, others in zip(plain, outputs, strict=True) for other in others]
    moved = next((where for one, other in both if (where := apart(one, other))), None)
    is_explained = moved is not None and (_meet(plain, outputs) or _within(plain, both))
    return _Again(moved, all(is_close(one, other) for one, other in both), is_explained)


def _meet(plain: Sequence[Any], noisy: Sequence[Sequence[Any]]) -> bool:
    """True if an output of the first sample, in any run, is one of the second sample."""
    firsts, seconds = ([one, *others] for one, others in zip(plain, noisy, strict=True))
    return any(apart(one, other) is None for one in firsts for other in seconds)


def _within(plain: Sequence[Any], moved: Sequence[tuple[Any, Any]]) -> bool:
    """True if two outputs are no further apart than a thousand times what running again does to one of them."""
    between = gaps(*(read(one) for one in plain))
    steps = [step for one, other in moved if (step := gaps(read(one), read(other))) is not None and len(step)]
    return between is not None and bool(steps) and bool(np.max(between) <= _MORE * max(map(np.max, steps)))


def other_r(bench: Bench, index: int, fell: Fell) -> Trial:
    """One sample with two r; whether the first run drew a bit of its own at all. The sham has a fresh sample instead of
    a fresh r, which is a pair as it is."""
    ran = Ran(bench, index, fell)
    if fell:  # with one of the two it ends its process, and is not tried: with the other it may have an output
        return ran.trial(None, nothing=None, fell=True, sham=True)
    output, nothing = draws_nothing(bench, bench.draw(index, 0), index)
    first = bench.settled(output)
    ran.runs += 1
    second, sham = with_sham(
        bench,
        index,
        lambda: ran.output(bench.draw(index, 0), 0, with_fresh_r(bench)),
        lambda: ran.output(bench.draw(index, 1), 1),
    )
    return ran.trial(apart(first, second), nothing=nothing, sham=apart(first, sham) is not None)


def r_of_its_own(bench: Bench, index: int, fell: Fell) -> Trial:
    """A pair whose second run has another r."""
    ran = Ran(bench, index, fell)
    first = ran.output(bench.draw(index, 0), 0)
    second = ran.output(bench.draw(index, 1), 1, with_fresh_r(bench))
    return ran.trial(apart(first, second))


def other_size(bench: Bench, index: int, fell: Fell) -> Trial:
    """Four times the rows; of a data set, which has no more, a quarter of them."""
    size = quarter(bench.size) if isinstance(bench.source, Dataset) else 4 * bench.size
    ran, plain = Ran(replace(bench, size=size), index, fell), Ran(bench, index, fell)
    found, sham = with_sham(bench, index, lambda: apart(*ran.pair()), lambda: apart(*plain.pair()))
    ran.seconds, ran.runs = ran.seconds + plain.seconds, ran.runs + plain.runs
    return ran.trial(found, sham=sham is not None)


def quarter(size: int) -> int:
    return max(1, size // 4)


# How many fresh rows change the answer.


def fresh_rows(bench: Bench, index: int, fell: Fell) -> Trial:
    """The least number of rows, in a random order of their places, that change the output when they are replaced by
    the other sample's: doubled until it changes, then halved down to the row at which it turns."""
    ran = Ran(bench, index, fell)
    sample, other = bench.draw(index, 0), bench.draw(index, 1)
    places = from_key(bench.keys.probe.child("places", index)).permutation(length(sample))
    first = ran.output(bench.draw(index, 0), 0)

    def changed(count: int) -> bool:
        return apart(first, ran.output(mixed(sample, other, places[:count]), 0)) is not None

    low, high = 0, 1
    while not changed(high):
        if high == length(sample):
            return ran.trial(None)
        low, high = high, min(2 * high, length(sample))
    step = high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if changed(middle) else (middle, high)
    return ran.trial(None, step=step, rows=high, row=int(places[high - 1]))
