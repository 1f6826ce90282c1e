"""A pair of runs with something changed: what every experiment is made of. Pure functions of (bench, index)."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.process.foreign import call
from auditor.randomness import Key, Name, from_key
from auditor.sources.frames import library_of, rows_in, take
from auditor.trials.causes.places import GENERATORS, state_of
from auditor.trials.trial import NONE_FELL, Bench, NoOutput, Trial
from auditor.values import Difference, same

T = TypeVar("T")
Change = Callable[[Any], Any]  # of a sample


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


class Ran(msgspec.Struct):
    """Runs of one trial, with what they took."""

    bench: Bench
    index: int
    fell: Mapping[int, str] = msgspec.field(default_factory=lambda: NONE_FELL)
    seconds: float = 0.0
    runs: int = 0
    bottoms: list[str] = []  # runs that gave no output

    def output(self, sample: Any, which: int, bench: Bench | None = None) -> Any:
        """What counts of one run's output, or bottom; `bench` where it is another than that of the trial."""
        bench = bench or self.bench
        started = perf_counter()
        fell = which in self.fell
        output = NoOutput(self.fell[which]) if fell else bench.run_on(sample, self.index, which)
        self.seconds += perf_counter() - started
        self.runs += 1
        if type(output) is NoOutput:
            self.bottoms.append(output.why)
        return bench.settled(output)

    def pair(self, change: Change | None = None) -> tuple[Any, Any]:
        """Both runs, on samples that were changed."""
        samples = (self.bench.draw(self.index, which) for which in (0, 1))
        first, second = (
            self.output(change(sample) if change else sample, which) for which, sample in enumerate(samples)
        )
        return first, second

    def trial(self, difference: Difference | None, **payload: Any) -> Trial:
        payload = {"runs": self.runs, **payload}
        return Trial(self.index, difference, None, self.seconds, bottoms=tuple(self.bottoms), payload=payload)


# Samples.


def length(sample: Any) -> int:
    return rows_in(sample[0] if isinstance(sample, tuple) else sample)


def taken(sample: Any, places: Any) -> Any:
    """The rows at these places; of (X, y) in both."""
    if isinstance(sample, tuple):
        return tuple(taken(part, places) for part in sample)
    return [sample[place] for place in places] if isinstance(sample, list) else take(sample, places)


def mixed(sample: Any, other: Any, places: Any) -> Any:
    """A copy with the other's rows at some places."""
    if isinstance(sample, tuple):
        return tuple(mixed(*parts, places) for parts in zip(sample, other, strict=True))
    order = np.arange(length(sample))
    order[places] += len(order)
    return taken(_stacked(copy.deepcopy(sample), other), order)


def _stacked(one: Any, other: Any) -> Any:
    """The rows of one, then those of the other."""
    if isinstance(one, dict):
        return {name: _stacked(column, other[name]) for name, column in one.items()}
    library = library_of(one)
    if library is None:
        return [*one, *other] if isinstance(one, list) else np.concatenate([one, other])
    if library.name == "scipy":
        return sys.modules["scipy.sparse"].vstack([one, other])
    module = sys.modules[library.name]
    if library.name != "pyarrow":
        return module.concat([one, other])
    parts = [one, other]
    return module.concat_tables(parts) if hasattr(one, "column_names") else module.chunked_array(parts)


def in_order(sample: Any) -> Any:
    """The same rows sorted, by their first column first, the labels last."""
    return taken(sample, np.lexsort(_columns(sample)[::-1]))


def _columns(sample: Any) -> list[Any]:
    """As arrays that numpy can sort; what it cannot sort by value, it sorts by its text."""
    if isinstance(sample, dict):
        sample = tuple(sample.values())
    if isinstance(sample, tuple):
        return [column for part in sample for column in _columns(part)]
    table = sample.toarray() if hasattr(sample, "toarray") else np.asarray(sample)
    if table.dtype.kind in "OV":
        table = np.asarray([repr(row) for row in table])
    flat = table.reshape(len(table), -1)
    return [flat[:, column] for column in range(min(flat.shape[1], 64))]


def shuffled(sample: Any, key: Key) -> Any:
    """The same rows in another order."""
    return taken(sample, from_key(key).permutation(length(sample)))


def with_noise(sample: Any, key: Key) -> Any:
    """Every float moved up or down by one part in 2^50, but for whole numbers: those are classes, codes and counts."""
    if isinstance(sample, tuple):
        return tuple(with_noise(part, key.child(place)) for place, part in enumerate(sample))
    if isinstance(sample, dict):
        return dict(zip(sample, with_noise(tuple(sample.values()), key), strict=True))
    if not has_floats(sample):
        return sample
    if not hasattr(sample, "iloc"):
        array = np.asarray(sample)
        signs = from_key(key).integers(0, 2, size=array.shape) * 2 - 1
        return np.where(array == np.round(array), array, array * (1 + signs * 2.0**-50)).astype(array.dtype)
    made = sample.copy()
    if sample.ndim == 1:
        made.iloc[:] = with_noise(sample.to_numpy(), key)
    for place, kind in enumerate(sample.dtypes if sample.ndim == 2 else ()):
        if kind.kind == "f":
            made.isetitem(place, with_noise(sample.iloc[:, place].to_numpy(), key.child(place)))
    return made


def has_floats(sample: Any) -> bool:
    """Whether there are floating-point numbers that are not whole, where noise can be put on them."""
    if isinstance(sample, (tuple, dict)):
        return any(map(has_floats, sample.values() if isinstance(sample, dict) else sample))
    if getattr(sample, "ndim", 0) == 2 and hasattr(sample, "iloc"):
        return any(has_floats(sample.iloc[:, column]) for column in range(sample.shape[1]))
    array = sample.to_numpy() if hasattr(sample, "iloc") else sample
    return isinstance(array, np.ndarray) and array.dtype.kind == "f" and bool(np.any(array != np.round(array)))


# r.


def with_fresh_r(bench: Bench) -> Bench:
    """The same samples, with another r."""
    keys = copy.copy(bench.keys)
    keys.r = bench.keys.r.child("another")
    return replace(bench, keys=keys)


class _WatchedKey(Key):
    """Tells whether a child was asked for."""

    __slots__ = ("asked",)

    def __init__(self, digest: bytes, asked: list[bool]) -> None:
        super().__init__(digest)
        self.asked = asked

    def child(self, *names: Name) -> Key:
        self.asked.append(True)
        return _WatchedKey(super().child(*names).digest, self.asked)

    def again(self) -> Key:
        return _WatchedKey(self.digest, self.asked)

    def spawn(self, n_children: int) -> list[Key]:  # type: ignore[override]
        self.asked.append(True)
        return super().spawn(n_children)


def draws_nothing(bench: Bench, sample: Any, index: int) -> tuple[Any, bool | None]:
    """An output, and whether not one bit of r was drawn for it; None where nobody can tell, as with an int."""
    asked: list[bool] = []
    keys, given = copy.copy(bench.keys), []
    keys.r = _WatchedKey(bench.keys.r.digest, asked)
    fn = bench.subject.fn

    def watched(sample: Any, r: Any, **params: Any) -> Any:
        asked.clear()  # the audit's own
        given.extend([r, state_of(r) if isinstance(r, GENERATORS) else None])
        return call(fn, sample, r, **params)

    output = replace(bench, keys=keys, subject=replace(bench.subject, fn=watched)).run_on(sample, index, 0)
    if not given or given[1] is None:
        return output, None
    return output, not asked and same(state_of(given[0]), given[1])
