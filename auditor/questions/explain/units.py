"""What one trial of each experiment is: a pair with a cause taken away, or one sample run twice with one thing changed.

Each is a function of (bench, index, fell), pure as far as the subject is; `fell` has the runs of the pair that are
known to end their process, with the reason. A trial's difference is that of the outputs that are compared. Its payload
says how many runs it took and what else was found. A trial that a cause is judged by has a sham: "sham" in its payload
is True if the outputs of as many runs with nothing changed differ.
"""

from __future__ import annotations

import contextlib
import copy
import math
import os
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.lookup import call_user_code
from auditor.questions.explain.samples import has_floats, has_rows, in_order, mixed, shuffled, with_noise
from auditor.randomness import Key, Name, from_key
from auditor.repair.mechanisms.grid import GAPS, grouped
from auditor.sources.datasets import Dataset
from auditor.sources.frames import kind_of_table, length, taken
from auditor.trials import likeness
from auditor.trials.causes.elsewhere import (
    Compared,
    NotElsewhere,
    earlier_runs_show,
    hash_seed_shows,
    moved_elsewhere,
    threads_show,
)
from auditor.trials.causes.hidden import shows_hidden_state, what_moved
from auditor.trials.causes.kept_state import GENERATORS, state_of
from auditor.trials.causes.keyed_sites import draws_apart, run_pair_keyed, run_pair_traced
from auditor.trials.causes.locals_trace import first_local_apart
from auditor.trials.likeness import (
    OutputNumbers,
    Reals,
    gaps,
    has_labels,
    has_order,
    read_numbers,
    renamed,
    unordered,
)
from auditor.trials.trial import NONE_FELL, Bench, NoOutput, Trial, apart
from auditor.values import Difference, same

LOOKS = 8  # pairs that are looked at before any is counted
ALWAYS_NOISED = 8  # pairs on which noise is put even though their outputs agree
TRACED = 8  # pairs whose draws are compared one by one
_MORE = 1024  # numbers this many times as far apart as noise moves them still differ in last digits alone
_PLACES = 64  # rows among which one is sought that differs between the two samples
_NOISES = 2  # runs of each sample with noise
T = TypeVar("T")
Fell = Mapping[int, str]


def with_sham(bench: Bench, index: int, changed: Callable[[], T], sham: Callable[[], T]) -> tuple[T, T]:
    """Return what both functions return, called in an order that a coin decides: the change, and nothing changed.

    Both make as many runs in the same process. So where the change does nothing, whatever else the outputs depend on
    (earlier runs, the clock, a generator that nobody seeded) leaves the two results exchangeable.
    """
    if from_key(bench.keys.probe.child("sham", index)).integers(2):
        with_change = changed()
        return with_change, sham()
    without = sham()
    return changed(), without


class TrialRuns(msgspec.Struct):
    """The runs of one trial, with the time that they took."""

    bench: Bench
    index: int
    fell: Fell = msgspec.field(default_factory=lambda: NONE_FELL)
    seconds: float = 0.0
    runs: int = 0
    bottoms: list[str] = []  # why runs gave no output

    def output(self, sample: Any, which: int, bench: Bench | None = None) -> Any:
        """Run once and return what counts of the output; `bench` where it is not that of the trial."""
        bench = bench or self.bench
        started = perf_counter()
        output = NoOutput(self.fell[which]) if which in self.fell else bench.run_on(sample, self.index, which)
        self.seconds += perf_counter() - started
        self.runs += 1
        if type(output) is NoOutput:
            self.bottoms.append(output.why)
        return bench.settled(output)

    def pair(self, change: Callable[[Any], Any] | None = None) -> tuple[Any, Any]:
        """Run both runs, on samples that `change` has changed, and return what counts of their outputs."""
        samples = (self.bench.draw(self.index, which) for which in (0, 1))
        first, second = (
            self.output(change(sample) if change else sample, which) for which, sample in enumerate(samples)
        )
        return first, second

    def trial(self, difference: Difference | None, **payload: Any) -> Trial:
        """Return the trial of these runs, with what it shows."""
        payload = {"runs": self.runs, **payload}
        return Trial(self.index, difference, None, self.seconds, bottoms=tuple(self.bottoms), payload=payload)


# The pair as it is.


class AsItIs(msgspec.Struct, frozen=True):
    """A pair as it is. Its payload says if it would differ up to names, up to order, and on a grid."""

    widths: tuple[float, ...] = ()  # of the grid that r places; none where it is not asked for

    def __call__(self, bench: Bench, index: int, fell: Fell) -> Trial:
        runs = TrialRuns(bench, index, fell)
        first, second = runs.pair()
        found = apart(first, second)
        if found is None:
            return runs.trial(None)
        differs = {
            "labels": renamed(first) != renamed(second),
            "output-order": unordered(first) != unordered(second),
        }
        if self.widths:
            differs["continuous"] = not _on_one_grid(
                read_numbers(first), read_numbers(second), self.widths, bench, index
            )
        return runs.trial(found, **differs)


def _on_one_grid(
    first: OutputNumbers, second: OutputNumbers, widths: Sequence[float], bench: Bench, index: int
) -> bool:
    """True if all numbers fall into the same cells of a grid that r places, at the same place in both runs."""
    if gaps(first, second) is None:
        return False
    count = len(first.numbers)
    width = np.asarray(widths if len(widths) == count else [max(widths)] * count, dtype=float)
    offset = from_key(bench.keys.r.child(index, "grid of explain")).random(len(width)) * width
    return bool(np.all(np.floor((first.numbers + offset) / width) == np.floor((second.numbers + offset) / width)))


def look_at_outputs(bench: Bench, index: int, fell: Fell) -> Trial:
    """Run a pair that is never counted, to see what kind of output there is and how far apart its numbers are."""
    runs = TrialRuns(bench, index, fell)
    first, second = runs.pair()
    found, one, other = apart(first, second), read_numbers(first), read_numbers(second)
    between = gaps(one, other)
    shortened = None
    if between is not None:
        finite = np.where(np.isfinite(between), between, np.finfo(float).max)
        shortened = [float(gap) for gap in np.minimum(grouped(finite), np.finfo(float).max)]
    sample, farthest = bench.draw(index, 0), _farthest(between)
    numbers = one.numbers if len(one.numbers) <= GAPS else one.numbers[:1]
    return runs.trial(
        found,
        labels=has_labels(first) or has_labels(second),
        order=has_order(first) or has_order(second),
        numbers=len(one.numbers),
        gaps=shortened,
        farthest=farthest,
        jump=_jump(runs, one) if farthest and has_rows(sample) else None,
        values=[float(value) for value in numbers if math.isfinite(value)],
        rows=has_rows(sample),
        floats=has_rows(sample) and has_floats(sample),
        table=kind_of_table(sample),
    )


def _farthest(between: Reals | None) -> float | None:
    """Return how far apart two outputs are where they are farthest; None if they have no numbers, or no finite gap."""
    far = None if between is None or not len(between) else float(np.max(between))
    return far if far is not None and math.isfinite(far) else None


def _jump(runs: TrialRuns, one: OutputNumbers) -> float | None:
    """Return how far the numbers move when one row is replaced by a different one of the other sample."""
    sample, other = runs.bench.draw(runs.index, 0), runs.bench.draw(runs.index, 1)
    places = from_key(runs.bench.keys.probe.child("row", runs.index)).permutation(length(sample))[:_PLACES, None]
    place = next((place for place in places if apart(taken(sample, place), taken(other, place))), None)
    return None if place is None else _farthest(gaps(one, read_numbers(runs.output(mixed(sample, other, place), 0))))


# The order of rows.


def sorted_rows(bench: Bench, index: int, fell: Fell) -> Trial:
    """Run the pair with the rows of each sample in a canonical order; and, as a sham, once more as it is."""
    runs = TrialRuns(bench, index, fell)
    found, sham = with_sham(bench, index, lambda: apart(*runs.pair(in_order)), lambda: apart(*runs.pair()))
    return runs.trial(found, sham=sham is not None)


def other_order(bench: Bench, index: int, fell: Fell) -> Trial:
    """Run one sample twice, the second time with its rows in another order."""
    runs = TrialRuns(bench, index, fell)
    first = runs.output(bench.draw(index, 0), 0)
    second = runs.output(shuffled(bench.draw(index, 0), bench.keys.probe.child("order", index)), 0)
    found = apart(first, second)
    return runs.trial(found, close=found is not None and are_close(first, second))


# Last digits.


def are_close(first: Any, second: Any) -> bool:
    """True if two outputs are the same up to last digits."""
    return not any(type(one) is NoOutput for one in (first, second)) and likeness.is_close(first, second)


def beyond_noise(bench: Bench, index: int, fell: Fell) -> Trial:
    """Run a pair whose outputs count as the same where noise in the last digits of its samples explains the difference.

    The sham runs the samples again as they are: outputs that differ from run to run would meet without any noise, and
    that they do is what "again" says, with the place. The payload also says if noise changes an output at all; of pairs
    that agree this is asked only of the first.
    """
    runs = TrialRuns(bench, index, fell)
    plain = runs.pair()
    found = apart(*plain)
    if found is None and index >= ALWAYS_NOISED:
        return runs.trial(None, sham=False)
    key = bench.keys.probe.child("noise", index)
    changed, sham = with_sham(
        bench,
        index,
        lambda: _run_again(runs, plain, lambda sample, which, turn: with_noise(sample, key.child(which, turn))),
        lambda: _run_again(runs, plain, lambda sample, which, turn: sample),
    )
    shown = changed.moved if sham.moved is None else None
    return runs.trial(
        None if changed.is_explained else found,
        sham=found is not None and not sham.is_explained,
        again=sham.moved and sham.moved.path,
        shows=shown is not None,
        close=changed.is_close,
        path=shown and shown.path,
    )


class _RunAgain(NamedTuple):
    """What became of a pair when its samples were run again, changed or not."""

    moved: Difference | None  # the first output that is not what it was
    is_close: bool  # outputs are what they were, up to last digits
    is_explained: bool  # outputs that are not always what they were account for a difference within the pair


def _run_again(runs: TrialRuns, plain: Sequence[Any], change: Callable[[Any, int, int], Any]) -> _RunAgain:
    """Run both samples of a pair again, a few times each.

    A difference within the pair is explained if an output of the first sample, in any run, is one of the second
    sample; or if each of its numbers is no further apart than a thousand times what running again does to it. One
    that does not move may be as far apart as a thousand times the least that any moves: a tree whose ties are decided
    by last digits moves some of its predictions by a lot, and that explains nothing of the others.
    """
    outputs = [
        [runs.output(change(runs.bench.draw(runs.index, which), which, turn), which) for turn in range(_NOISES)]
        for which in (0, 1)
    ]
    both = [(one, other) for one, others in zip(plain, outputs, strict=True) for other in others]
    moved = next((where for one, other in both if (where := apart(one, other))), None)
    is_explained = False
    if moved is not None:
        firsts, seconds = ([one, *others] for one, others in zip(plain, outputs, strict=True))
        between = gaps(*(read_numbers(one) for one in plain))
        steps = [
            step
            for one, other in both
            if (step := gaps(read_numbers(one), read_numbers(other))) is not None and len(step)
        ]
        is_within = False
        if between is not None and steps and all(len(step) == len(between) for step in steps):
            far = np.max(steps, axis=0)
            least = np.min(far, where=far > 0, initial=math.inf)
            is_within = bool(least < math.inf and (between <= _MORE * np.maximum(far, least)).all())
        is_explained = is_within or any(apart(one, other) is None for one in firsts for other in seconds)
    return _RunAgain(moved, all(are_close(one, other) for one, other in both), is_explained)


# r.


def in_step(bench: Bench, index: int, fell: Fell) -> Trial:
    """Run a pair in which each place that draws has bits of its own; with the first draw that differs as it is."""
    (trial, _), (sham, traces) = with_sham(
        bench, index, lambda: (run_pair_keyed(bench, index, fell), []), lambda: run_pair_traced(bench, index, fell)
    )
    payload = {"runs": 4, "sham": sham.difference is not None, **(trial.payload or {})}
    found = draws_apart(traces) if index < TRACED and not fell else None
    if found is not None:
        payload |= {
            "where": _place(found.where),
            "drawn": [found.first, found.second, found.unit],
            "shifts": found.shifts,
        }
    return replace(trial, seconds=trial.seconds + sham.seconds, payload=payload)


def _place(where: str) -> str:
    """Return a file and line, relative to the working folder where that is shorter."""
    return min(os.path.relpath(where), where, key=len) if where else where


def other_r(bench: Bench, index: int, fell: Fell) -> Trial:
    """Run one sample with two r; "nothing" says if the first run drew no bit of its own.

    The sham has a fresh sample instead of a fresh r, which is a pair as it is.
    """
    runs = TrialRuns(bench, index, fell)
    if fell:  # with one of the two r it ends its process, and is not tried: with the other it may have an output
        return runs.trial(None, nothing=None, fell=True, sham=True)
    output, nothing = draws_nothing(bench, bench.draw(index, 0), index)
    first = bench.settled(output)
    runs.runs += 1
    second, sham = with_sham(
        bench,
        index,
        lambda: runs.output(bench.draw(index, 0), 0, bench.with_another_r()),
        lambda: runs.output(bench.draw(index, 1), 1),
    )
    return runs.trial(apart(first, second), nothing=nothing, sham=apart(first, sham) is not None)


def r_of_its_own(bench: Bench, index: int, fell: Fell) -> Trial:
    """Run a pair whose second run has another r."""
    runs = TrialRuns(bench, index, fell)
    first = runs.output(bench.draw(index, 0), 0)
    second = runs.output(bench.draw(index, 1), 1, bench.with_another_r())
    return runs.trial(apart(first, second))


class _WatchedKey(Key):
    """A key that notes when a child is asked for."""

    __slots__ = ("asked",)

    def __init__(self, digest: bytes, asked: list[bool]) -> None:
        super().__init__(digest)
        self.asked = asked

    def child(self, *names: Name) -> Key:
        """Return the key of a named part of r, and note that r was asked for something."""
        self.asked.append(True)
        return _WatchedKey(super().child(*names).digest, self.asked)

    def again(self) -> Key:
        """Return the same key, which notes that it is asked where this one does."""
        return _WatchedKey(self.digest, self.asked)

    def spawn(self, n_children: int) -> list[Key]:  # type: ignore[override]
        """Return children of the key, and note that r was asked for something."""
        self.asked.append(True)
        return super().spawn(n_children)


def draws_nothing(bench: Bench, sample: Any, index: int) -> tuple[Any, bool | None]:
    """Return an output, and True if not one bit of r was drawn for it; None where nobody can tell, as with an int."""
    asked: list[bool] = []
    keys, given = copy.copy(bench.keys), []
    keys.r = _WatchedKey(bench.keys.r.digest, asked)
    fn = bench.subject.fn

    def watched(sample: Any, r: Any, **params: Any) -> Any:
        asked.clear()  # the audit's own
        given.extend([r, state_of(r) if isinstance(r, GENERATORS) else None])
        return call_user_code(fn, sample, r, **params)

    output = replace(bench, keys=keys, subject=replace(bench.subject, fn=watched)).run_on(sample, index, 0)
    if bench.subject.randomness == "none":
        return output, True
    if not given or given[1] is None:
        return output, None
    return output, not asked and same(state_of(given[0]), given[1])


# The number of rows.


def other_size(bench: Bench, index: int, fell: Fell) -> Trial:
    """Run a pair with four times the rows; of a data set, which has no more, with a quarter of them."""
    size = quarter(bench.size) if isinstance(bench.source, Dataset) else 4 * bench.size
    runs, plain = TrialRuns(replace(bench, size=size), index, fell), TrialRuns(bench, index, fell)
    found, sham = with_sham(bench, index, lambda: apart(*runs.pair()), lambda: apart(*plain.pair()))
    runs.seconds, runs.runs = runs.seconds + plain.seconds, runs.runs + plain.runs
    return runs.trial(found, sham=sham is not None)


def quarter(size: int) -> int:
    """Return a quarter of so many rows, and at least one."""
    return max(1, size // 4)


def fresh_rows(bench: Bench, index: int, fell: Fell) -> Trial:
    """Find how many rows change the output when they are replaced by the other sample's, in a random order of places.

    The number is doubled until the output changes, then halved down to the row at which it turns.
    """
    runs = TrialRuns(bench, index, fell)
    sample, other = bench.draw(index, 0), bench.draw(index, 1)
    places = from_key(bench.keys.probe.child("places", index)).permutation(length(sample))
    first = runs.output(bench.draw(index, 0), 0)

    def changed(count: int) -> bool:
        return apart(first, runs.output(mixed(sample, other, places[:count]), 0)) is not None

    low, high = 0, 1
    while not changed(high):
        if high == length(sample):
            return runs.trial(None)
        low, high = high, min(2 * high, length(sample))
    step = high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if changed(middle) else (middle, high)
    return runs.trial(None, step=step, rows=high, row=int(places[high - 1]))


# What surrounds a run: earlier runs, the hash seed, threads.


def same_again(bench: Bench, index: int, fell: Fell) -> Trial:
    """Run one sample and r before and after a run of another; at index 0 also in new processes, as the first run."""
    if fell:
        return _not_tried(index, fell)
    found, runs = shows_hidden_state(bench, index), 3
    if found is None and index == 0:
        earlier = earlier_runs_show(bench, index)
        found, runs = earlier.difference, runs + earlier.runs
    return Trial(index, found, None, 0.0, payload={"runs": runs})


def _not_tried(index: int, fell: Fell) -> Trial:
    """Return a trial in place of runs that are known to end their process each time: they are not run again, and count
    as two runs without an output, which agree."""
    return Trial(index, None, None, 0.0, bottoms=tuple(fell.values()), payload={"runs": 0})


def other_hash_seed(bench: Bench, index: int, fell: Fell) -> Trial:
    """Run one sample and r in processes with different hash seeds, the first of which has all threads too."""
    return _in_other_processes(index, hash_seed_shows(bench, index))


def all_threads(bench: Bench, index: int, fell: Fell) -> Trial:
    """Run one sample and r in a process with one thread, and in one with all."""
    return _in_other_processes(index, threads_show(bench, index))


def _in_other_processes(index: int, found: Compared) -> Trial:
    """Return the trial of a comparison between processes."""
    turns = [[*turn] for turn in found.turns]
    payload = {"runs": found.runs, "apart": found.apart, "close": found.close, "turns": turns}
    return Trial(index, found.difference, None, 0.0, payload=payload)


def moved(bench: Bench, index: int, fell: Fell) -> Trial:
    """Find what goes on from run to run, by holding it still; here, or in a process where nothing has run yet."""
    if fell:
        return _not_tried(index, fell)
    difference = shows_hidden_state(bench, index) or Difference("output", "one", "another")  # an earlier trial's
    found = what_moved(bench, index)
    payload, runs = found.payload, 3 + found.runs
    if not found.moved:
        with contextlib.suppress(NotElsewhere):
            first = moved_elsewhere(bench, index)
            payload, runs = first if first["cure"] else payload, runs + first["runs"]
    payload = {**payload, "where": _place(payload["where"] or "") or None, "runs": runs}
    return Trial(index, difference, None, 0.0, payload=payload)


def local_apart(bench: Bench, index: int, fell: Fell) -> Trial:
    """Find the first local value that differs although what its line reads does not."""
    if fell:
        return _not_tried(index, fell)
    found = first_local_apart(bench, index)
    payload = {"where": _place(found.where), "name": found.name, "values": found[2:]} if found else {}
    return Trial(index, None, None, 0.0, payload={"runs": 2, **payload})
