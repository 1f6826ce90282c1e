"""Is the subject a function of (sample, r) at all? A few runs on the same sample and r, before anything is counted.

They use the first pairs' own keys: what goes wrong here goes wrong in a replay of that pair too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Iterable, Iterator
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.errors import AuditorError, NotComparable, SourceError, SubjectError, UnknownTruth
from auditor.process.process_state import put_back
from auditor.sources.sample import Sample, copied
from auditor.trials.fresh_rows import same_samples
from auditor.trials.second_process import SecondProcess
from auditor.trials.trial import Bench, NoOutput, judge
from auditor.trials.unseen import kept_time, notes, takes_r, unseen, unseen_words
from auditor.values import describe, fingerprint, first_difference, same

if TYPE_CHECKING:
    from auditor.trials.causes.files import Files

PAIRS = 3
_SHOWN = 80  # characters of an output
_CAUSES = (
    "likely causes: a generator made without r (default_rng() with no seed), a global counter or cache, "
    "the time, or threads"
)


class Seen(msgspec.Struct, frozen=True):
    """What counts of an output: its fingerprint, and what it looks like."""

    name: str
    shown: str


class Checked(msgspec.Struct, frozen=True):
    """What the preflight learnt; warnings are sentences."""

    runs: int
    second_process: str
    changes_sample: bool
    knows_truth: bool
    warnings: tuple[tuple[str, str], ...]  # (kind, message)
    source_shares: bool = False  # memory between two draws
    always: Seen | None = None  # what all looked-at pairs gave, where it was one output
    notes: tuple[tuple[str, str], ...] = ()  # which nobody need be warned of
    same_samples: str = ""  # how the two samples of a pair were the same, where they were

    @property
    def copies(self) -> bool:
        """Whether each run needs a copy of its sample."""
        return self.changes_sample or self.source_shares


class Look(msgspec.Struct, frozen=True):
    """What the runs of one process showed: all of it can be sent to another."""

    runs: int
    changes_sample: bool
    knows_truth: bool
    moved: tuple[str, ...]  # the global generators that a run moved
    seconds: float  # of one run, when all is loaded
    first: str | None  # fingerprint of the first output of pair 0; None where there was none
    shared: bool = False  # whether a run changed what one before it had returned
    source_shares: bool = False  # memory between two draws
    unseen: tuple[str, ...] = ()  # where two fits with the same sample and r differ, and the view does not look
    outputs: tuple[Seen, ...] = ()  # of the pairs
    random: bool = True  # whether r gets into the subject at all
    cold: float = 0.0  # seconds of a first run, imports and all
    same_samples: str = ""  # how the two samples of a pair were the same, where they were: see `fresh_rows`


class HiddenState(SubjectError):
    """The subject's answer depends on something besides (sample, r)."""


def look(bench: Bench, skip: Container[int] = (), timed: Callable[[float], None] | None = None) -> Look:
    """Run twice what should come out the same; `skip` has pairs of which a run is known to end its process."""
    state = _global_states()
    bench = replace(bench, copies=True)  # two draws that share memory would always look the same
    looks: list[Look] = []
    before: tuple[Any, Any] | None = None
    try:
        for index in (index for index in range(PAIRS) if index not in skip):
            output, settled, seen = _run_twice(bench, index)
            if timed and index == 0:
                put_back()
                timed(seen.seconds)
            shared = before is not None and _was_changed(bench, *before)
            before = output, settled
            is_known = type(output) is NoOutput or any(one.outputs for one in looks)  # or there is nothing to ask for
            looks.append(replace(seen, shared=shared, knows_truth=is_known or _knows_truth(bench, output, index)))
    finally:
        put_back()  # what is reckoned from here on is ours
        _restore(state)
    return replace(together(looks), random=takes_r(bench))


def together(looks: Iterable[Look]) -> Look:
    """What several processes saw, each of other pairs."""
    seen = list(looks)
    return Look(
        sum(one.runs for one in seen),
        any(one.changes_sample for one in seen),
        all(one.knows_truth for one in seen),
        tuple(sorted({name for one in seen for name in one.moved})),
        next((one.seconds for one in seen if one.seconds), 0.0),
        next((one.first for one in seen if one.first is not None), None),
        any(one.shared for one in seen),
        any(one.source_shares for one in seen),
        tuple(sorted({name for one in seen for name in one.unseen})),
        tuple(output for one in seen for output in one.outputs),
        random=all(one.random for one in seen),
        cold=max((one.cold for one in seen), default=0.0),
        same_samples=next((one.same_samples for one in seen if one.same_samples), ""),
    )


def conclude(bench: Bench, found: Look, other: SecondProcess | None) -> Checked:
    """What the looks of both processes mean; HiddenState where the audit would measure something else than rho."""
    second = other.compare(found.first, found.cold) if other else "skipped: asked at other points"
    files = other.files(found.cold) if other else None
    check_files(bench, files)
    if second == "different":
        raise HiddenState(
            f"{bench.subject.name} gives another output in a second process, on the same sample with the same r. There "
            "the hash seed is another, and the pair's second run came first: it depends on the order of a set, "
            "on hash(), or on what earlier runs left behind. Sort before you iterate, and keep nothing between runs"
        )
    always = found.outputs[0] if len(found.outputs) == PAIRS and len({one.name for one in found.outputs}) == 1 else None
    return Checked(
        found.runs,
        second,
        found.changes_sample,
        found.knows_truth,
        (*_warnings(bench, found, second if other else ""), *_file_warnings(files)),
        found.source_shares,
        always,
        notes=tuple(notes(bench, found.unseen, random=found.random)),
        same_samples=found.same_samples,
    )


def _warnings(bench: Bench, found: Look, second: str) -> Iterator[tuple[str, str]]:
    for name in found.moved:
        yield "global-state", f"the subject moves the state of {name}; its output did not depend on it"
    if found.shared:
        yield (
            "shared-state",
            "a run changes what an earlier run returned, such as a buffer, a dict or a model of the module; each "
            "output was read before the next run. Return a new one from each",
        )
    if found.source_shares:
        yield "shared-state", f"source {bench.source.name} hands out the same memory again; each run gets a copy"
    yield from (("unseen", words) for words in unseen_words(bench, found.unseen))
    if second.startswith("skipped"):
        yield "second-process", f"{second}; what a run keeps for later runs may have gone unnoticed"
    if found.changes_sample:
        yield "changes-sample", "the subject changes its sample in place; each run gets a copy of its own"


def check_files(bench: Bench, files: Files | None) -> None:
    """Raise HiddenState if a later run's output depends on a file that an earlier run wrote."""
    if files is None or files.difference is None:
        return
    from auditor.trials.causes.hidden import Moved
    from auditor.trials.causes.outside import FILE

    first, *others = files.read_later
    kept, apart = Moved(FILE, f"{first} (and {len(others)} more)" if others else first), files.difference
    where = f" (at {files.where})" if files.where else ""
    raise HiddenState(
        f"{bench.subject.name} is not a function of (sample, r): {kept.message}. A run writes it{where}, a later run "
        "reads it, and on the same sample with the same r that run has another output without it "
        f"({apart.path}: {apart.left} and {apart.right}). {kept.cure.capitalize()}; and remove what earlier runs left"
    )


def _file_warnings(files: Files | None) -> Iterator[tuple[str, str]]:
    if files and files.read_later:
        words = "written by a run and read by a later one, whose output was the same without"
        yield "files", f"{words}: {', '.join(files.read_later)}"
    if files and files.made_if_missing:
        words = "read by a run that would write it if it were missing, so that outputs may be those of an earlier audit"
        yield "files", f"{words}: {', '.join(files.made_if_missing)}. Remove it, and audit again"
    if files and files.written:
        yield "files", f"opened for writing by a run, and read by no later one: {', '.join(files.written)}"


def _run_twice(bench: Bench, index: int) -> tuple[Any, Any, Look]:
    """An output and what counts of it, with what two runs on the same sample with the same r showed."""
    sample, spare, source_shares = _draw_twice(bench, index)
    repeats = "" if isinstance(sample, Sample) else same_samples(bench, index, sample)
    before = _global_states()
    started = perf_counter()
    output = bench.run_on(sample, index, 0)
    cold = perf_counter() - started
    moved = sorted(name for name, state in _global_states().items() if not _state_equal(state, before[name]))
    settled = bench.settled(output)
    changed = not _looks_same(sample, spare)
    started = perf_counter()  # once more: the first run may have had imports in it
    again = bench.run_on(spare, index, 0)
    seconds = perf_counter() - started
    if not same(settled, bench.see(again)):
        culprit = f"it draws from the global generator {' and '.join(moved)}" if moved else _CAUSES
        raise _hidden(bench, settled, again, culprit)
    differing = tuple(unseen(bench, output, again))
    for name in moved:
        _GENERATORS[name][2](0xA0D17)  # another state than any it is likely to be in
        if not same(settled, bench.see(again := bench.run_on(bench.draw(index, 0), index, 0))):
            raise _hidden(bench, settled, again, f"it draws from the global generator {name}")
    seen = () if type(output) is NoOutput else (Seen(fingerprint(settled), describe(settled, _SHOWN)),)
    first = seen[0].name if seen and index == 0 else None
    found = Look(2 + len(moved), changed, True, tuple(moved), seconds, first, source_shares=source_shares)
    return output, settled, replace(found, unseen=differing, outputs=seen, cold=cold, same_samples=repeats)


def _draw_twice(bench: Bench, index: int) -> tuple[Any, Any, bool]:
    """The sample of a run twice, each in memory of its own, and whether the source had them in the same."""
    bare = replace(bench, copies=False)
    first = bare.draw(index, 0)
    sample = first if isinstance(first, Sample) else copied(first)
    second = bare.draw(index, 0)
    spare = second if isinstance(second, Sample) else copied(second)
    if not _looks_same(sample, spare):
        raise SourceError(
            f"source {bench.source.name} is not a function of (rng, size): two draws with the same key differ; "
            "draw from the rng it is given and from nothing else"
        )
    return sample, spare, _share_memory(first, second)


def _share_memory(left: Any, right: Any) -> bool:
    if isinstance(left, tuple) and isinstance(right, tuple):
        return any(map(_share_memory, left, right))
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.may_share_memory(left, right)
    return left is right and not isinstance(left, (str, bytes, range))


def _was_changed(bench: Bench, output: Any, settled: Any) -> bool:
    """Whether later runs changed what an output shows; one that shows another thing at each look, or can be looked at
    once, says nothing."""
    try:
        now = bench.settled(output)
        return not same(settled, now) and same(now, bench.see(output))
    except AuditorError:
        return False


def _hidden(bench: Bench, settled: Any, again: Any, why: str) -> HiddenState:
    difference = first_difference(settled, bench.see(again))
    if difference and (words := kept_time(bench, difference.path)):
        return HiddenState(words)
    shown = f" ({difference.path}: {difference.left} and {difference.right})" if difference else ""
    return HiddenState(
        f"{bench.subject.name} is not a function of (sample, r): on the same sample with the same r it gave two "
        f"outputs{shown}; {why}. Draw every random bit from r"
    )


def _looks_same(left: Any, right: Any) -> bool:
    if isinstance(left, Sample):
        return True  # counts are drawn as they are asked for, and none are there to be changed
    try:
        return same(left, right)
    except NotComparable:
        return True  # rows of a type of the user's own: no way to tell


def _knows_truth(bench: Bench, output: Any, index: int) -> bool:
    try:
        judge(bench, output, index)
    except UnknownTruth:
        return False
    return True


_GENERATORS: dict[str, tuple[Callable[[], Any], Callable[[Any], object], Callable[[int], object]]] = {
    "random": (random.getstate, random.setstate, random.seed),
    "numpy.random": (partial(np.random.get_state, legacy=False), np.random.set_state, np.random.seed),
}


def _global_states() -> dict[str, Any]:
    return {name: read() for name, (read, _, _) in _GENERATORS.items()}


def _state_equal(left: Any, right: Any) -> bool:
    """By value: of numbers, words and arrays of them, in dictionaries."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_state_equal(left[name], right[name]) for name in left)
    return np.array_equal(left, right) if isinstance(left, np.ndarray) else bool(left == right)


def _restore(states: dict[str, Any]) -> None:
    for name, state in states.items():
        _GENERATORS[name][1](state)
