"""Is the subject a function of (sample, r) at all? A few runs on the same sample and r, before anything is counted.

They use the first pairs' own keys: what goes wrong here goes wrong in a replay of that pair too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from auditor.errors import NotComparable, SourceError, SubjectError, UnknownTruth
from auditor.estimators import Fit
from auditor.outcome import fingerprint, first_difference, same
from auditor.sampling import Sample
from auditor.second_process import SecondProcess
from auditor.trial import Bench, Bottom, judge
from auditor.views import fitted_attributes

PAIRS = 3
_CAUSES = (
    "likely causes: a generator made without r (default_rng() with no seed), a global counter or cache, "
    "the time, or threads"
)


@dataclass(frozen=True, slots=True)
class Checked:
    """What the preflight learnt; warnings are sentences."""

    runs: int
    second_process: str
    changes_sample: bool
    knows_truth: bool
    warnings: tuple[tuple[str, str], ...]  # (kind, message)


@dataclass(frozen=True, slots=True)
class Look:
    """What the runs of one process showed: all of it can be sent to another."""

    runs: int
    changes_sample: bool
    knows_truth: bool
    moved: tuple[str, ...]  # the global generators that a run moved
    seconds: float  # of one run
    first: str | None  # fingerprint of the first output of pair 0; None where there was none


class HiddenState(SubjectError):
    """The subject's answer depends on something besides (sample, r)."""


def look(bench: Bench, skip: Container[int] = (), timed: Callable[[float], None] | None = None) -> Look:
    """Run twice what should come out the same; `skip` has pairs of which a run is known to end its process."""
    state = _global_states()
    bench = replace(bench, copies=True)  # two draws that share memory would always look the same
    runs, changes, moved, knows_truth = 0, False, set[str](), None
    first, took = None, 0.0
    try:
        for index in (index for index in range(PAIRS) if index not in skip):
            output, spent, changed, touched, seconds = _run_twice(bench, index)
            runs, changes, moved = runs + spent, changes or changed, moved | touched
            took = took or seconds
            if timed and index == 0:
                timed(seconds)
            if isinstance(output, Bottom):
                continue
            if index == 0:
                first = fingerprint(bench.see(output))
            if knows_truth is None:
                knows_truth = _knows_truth(bench, output, index)
    finally:
        _restore(state)
    return Look(runs, changes, knows_truth is not False, tuple(sorted(moved)), took, first)


def conclude(bench: Bench, found: Look, other: SecondProcess | None) -> Checked:
    """What the looks of both processes mean; HiddenState where the audit would measure something else than rho."""
    second = other.compare(found.first, found.seconds) if other else "skipped: asked at other points"
    if second == "different":
        raise HiddenState(
            f"{bench.subject.name} gives another output in a second process, on the same sample with the same r. There "
            "the hash seed is another, and the pair's second run came first: it depends on the order of a set, "
            "on hash(), or on what earlier runs left behind. Sort before you iterate, and keep nothing between runs"
        )
    warnings = [
        ("global-state", f"the subject moves the state of {name}; its output did not depend on it")
        for name in found.moved
    ]
    if second.startswith("skipped: the second process ended"):
        warnings.append(("second-process", second))
    if found.changes_sample:
        warnings.append(("changes-sample", "the subject changes its sample in place; each run gets a copy of its own"))
    return Checked(found.runs, second, found.changes_sample, found.knows_truth, tuple(warnings))


def _run_twice(bench: Bench, index: int) -> tuple[Any, int, bool, set[str], float]:
    """Output, runs spent, whether the sample was changed, which global generators moved, seconds a run."""
    sample, spare = bench.draw(index, 0), bench.draw(index, 0)
    if not _looks_same(sample, spare):
        raise SourceError(
            f"source {bench.source.name} is not a function of (rng, size): two draws with the same key differ; "
            "draw from the rng it is given and from nothing else"
        )
    before = _global_states()
    started = perf_counter()
    output = bench.run_on(sample, index, 0)
    seconds = perf_counter() - started
    moved = {name for name, state in _global_states().items() if not _state_equal(state, before[name])}
    changed = not _looks_same(sample, spare)
    again = bench.run_on(spare, index, 0)
    if not _agree(bench, output, again):
        culprit = f"it draws from the global generator {' and '.join(sorted(moved))}" if moved else _CAUSES
        raise _hidden(bench, output, again, culprit)
    runs = 2
    for name in sorted(moved):
        _disturb(name)
        runs += 1
        if not _agree(bench, output, again := bench.run_on(bench.draw(index, 0), index, 0)):
            raise _hidden(bench, output, again, f"it draws from the global generator {name}")
    return output, runs, changed, moved, seconds


def _agree(bench: Bench, output: Any, again: Any) -> bool:
    """What counts is the same; and for an estimator all that it learnt, where that can be compared."""
    if not same(bench.see(output), bench.see(again)):
        return False
    if not isinstance(bench.subject.fn, Fit):
        return True
    try:
        return same(fitted_attributes(output), fitted_attributes(again))
    except NotComparable:
        return True


def _hidden(bench: Bench, left: Any, right: Any, why: str) -> HiddenState:
    difference = first_difference(bench.see(left), bench.see(right))
    if difference is None:
        difference = first_difference(fitted_attributes(left), fitted_attributes(right))
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


def _global_states() -> dict[str, Any]:
    return {"random": random.getstate(), "numpy.random": np.random.get_state(legacy=False)}


def _state_equal(left: Any, right: Any) -> bool:
    return left == right if isinstance(left, tuple) else same(left, right)


def _disturb(name: str) -> None:
    """Another state of a global generator than any it is likely to be in."""
    if name == "random":
        random.seed(0xA0D17)
    else:
        np.random.seed(0xA0D17)


def _restore(states: dict[str, Any]) -> None:
    random.setstate(states["random"])
    np.random.set_state(states["numpy.random"])
