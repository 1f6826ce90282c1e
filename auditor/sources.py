"""Where do s1 and s2 come from? A source draws `size` fresh rows from a generator that the audit keys for it.

The contract: `draw(rng, size)` depends on nothing but its arguments and returns rows that the subject may keep
and change: an array (or anything with a length) of `size` rows, or `(X, y)` with `size` rows each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator

from auditor.common_distributions import common_distribution
from auditor.counting import LARGEST
from auditor.datasets import Dataset, check_resample, from_arrays, from_sklearn, is_file_spec, read_file
from auditor.errors import (
    AuditorError,
    BadValue,
    SourceError,
    UnknownTruth,
    UsageError,
    in_words,
    is_interrupt,
    suggestion,
)
from auditor.files import free_memory
from auditor.foreign import call
from auditor.law import Law, Query, as_values
from auditor.literals import read_call
from auditor.lookup import find_object, importable_name

BEYOND = 2.0**-60  # rows of a sample that are expected where a law is cut off, at most
_WINDOW = 64  # values that a tail is judged by
MAX_SUPPORT = 2**22  # values; a law over more takes seconds to draw from


class Source(Protocol):
    """What the audit needs of a source; `spec` is how a user writes it, None when only Python can."""

    @property
    def name(self) -> str: ...
    @property
    def spec(self) -> str | None: ...
    def draw(self, rng: Generator, size: int) -> Any: ...
    def expect(self, query: Query | None = None) -> float:
        """The exact mean of `query` over the source, or of the rows themselves; UnknownTruth if nobody knows it."""

    def law(self, size: int = LARGEST) -> Law:
        """The distribution itself, if its values can be listed; UnknownTruth with the reason if not.

        An infinite tail is left out where samples of `size` rows would not meet it.
        """


@dataclass(frozen=True, slots=True)
class Distribution:
    """A frozen scipy.stats distribution."""

    spec: str
    frozen: Any
    _means: dict[object, float] = field(default_factory=dict, compare=False, repr=False)
    _laws: dict[int, Law] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        return self.spec

    def draw(self, rng: Generator, size: int) -> Any:
        try:
            rows = np.asarray(self.frozen.rvs(size=size, random_state=rng))
        except Exception as error:
            raise UsageError(f"source {self.spec}: scipy.stats refuses it: {error}") from error
        # scipy's multivariate distributions drop the row axis of a single row
        return rows if rows.ndim and len(rows) == size else rows[None]

    def expect(self, query: Query | None = None) -> float:
        if query not in self._means:
            value = self.frozen.mean() if query is None else self.frozen.expect(query)
            self._means[query] = float(value)
        return self._means[query]

    def law(self, size: int = LARGEST) -> Law:
        bits = size.bit_length()
        if bits not in self._laws:  # without a tail there is one law for all sizes
            self._laws[bits] = self._made(size, bits)
        return self._laws[bits]

    def _made(self, size: int, bits: int) -> Law:
        try:
            known = next(iter(self._laws.values()), None) if not self.is_cut else None
            return known or self._listed(size, BEYOND / 2**bits)
        except AuditorError:
            raise
        except Exception as error:
            raise UsageError(f"source {self.spec}: scipy.stats refuses it: {error}") from error

    @property
    def is_cut(self) -> bool:
        """Whether listing its values leaves out an infinite tail."""
        return hasattr(self.frozen, "support") and not np.isfinite(self.frozen.support()).all()

    def _listed(self, size: int, beyond: float) -> Law:
        if not hasattr(self.frozen, "pmf") or not hasattr(self.frozen, "support"):
            raise UnknownTruth(
                f"the values of {self.spec} cannot be listed: it is no discrete distribution over numbers"
            )
        low, high = self.frozen.support()
        low = low if np.isfinite(low) else self._end(-1, beyond / 2)
        high = high if np.isfinite(high) else self._end(+1, beyond / 2)
        if high - low >= MAX_SUPPORT:
            met = f" that {size:,} rows may meet" if self.is_cut else ""
            raise UnknownTruth(f"{self.spec} has more than {MAX_SUPPORT:,} values{met}, too many to count")
        values = np.arange(int(low), int(high) + 1)
        weights = np.asarray(self.frozen.pmf(values), dtype=float)
        return Law(values[weights > 0], weights[weights > 0] / weights.sum())

    def _end(self, side: int, tail: float) -> int:
        """The last value on a side, with at most a mass `tail` beyond."""
        frozen, middle = self.frozen, int(self.frozen.median())

        def is_light(x: int) -> bool:
            masses = frozen.pmf(middle + side * (x + 1 + np.arange(2 * _WINDOW)))
            if _mass_beyond(masses) > tail:
                return False
            return bool((frozen.sf(middle + x) if side > 0 else frozen.cdf(middle - x - 1)) <= tail)

        return middle + side * _tail_length(is_light)


def tails_cut(source: Source, size: int, runs: int) -> str | None:
    """What counts of this source leave out, and how often that could show; None where they leave nothing out."""
    if not isinstance(source, Distribution) or not source.is_cut:
        return None
    values = source.law(size).values
    return (
        f"counts know {source.name} from {values[0]} to {values[-1]}: fewer than 2^-60 rows of a sample of {size:,} "
        f"are expected beyond, so {runs:,} runs would have one there with probability at most {runs * BEYOND:.2g}"
    )


def _mass_beyond(masses: Any) -> float:
    """All the mass from here on, judged by two windows of it: as a geometric series, and twice that.

    Twice, for a tail whose windows shrink ever more slowly: x^-a has (a + 1) / a times the series, and those with a
    below 2 have more values than can be listed. scipy's own tails will not do: some are 1 - cdf, and 0 below 2^-53.
    """
    first, second = float(np.sum(masses[:_WINDOW])), float(np.sum(masses[_WINDOW:]))
    if first == 0:
        return 0.0
    return 2 * first / (1 - second / first) if second < first else 1.0


def _tail_length(is_light: Callable[[int], bool]) -> int:
    """The least x with a light tail beyond it."""
    length = 1
    while length < MAX_SUPPORT and not is_light(length):
        length *= 2
    low, high = length // 2, length
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_light(middle) else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class Sampler:
    """A function fn(rng, size) of the user's."""

    name: str
    spec: str | None
    fn: Callable[[Generator, int], Any]

    def draw(self, rng: Generator, size: int) -> Any:
        try:
            rows = call(self.fn, rng, size)
        except BaseException as error:
            if is_interrupt(error):
                raise
            what = f"source {self.name} raised {in_words(error)} (it is called fn(rng, {size}))"
            raise SourceError(what).caused_by(error) from error
        return _checked(rows, size, self.name)

    def expect(self, query: Query | None = None) -> float:
        raise UnknownTruth(f"the exact mean over {self.name} is not known: it is a function, not a distribution")

    def law(self, size: int = LARGEST) -> Law:
        raise UnknownTruth(f"the values of {self.name} cannot be listed: it is a function, not a distribution")


@dataclass(frozen=True, slots=True)
class Finite:
    """A distribution over listed values: a given pmf, labelled points, or a data set's empirical distribution."""

    name: str
    spec: str | None
    distribution: Law

    def draw(self, rng: Generator, size: int) -> Any:
        ends = np.cumsum(self.distribution.weights)
        chosen = np.minimum(np.searchsorted(ends, rng.random(size), side="right"), len(ends) - 1)
        values = self.distribution.values
        return tuple(part[chosen] for part in values) if isinstance(values, tuple) else values[chosen]

    def expect(self, query: Query | None = None) -> float:
        return self.distribution.expect(query)

    def law(self, size: int = LARGEST) -> Law:
        return self.distribution


def pmf(probabilities: Any) -> Law:
    """`pmf({value: probability})`, or `pmf([p0, p1, ...])` over 0, 1, ..."""
    if not isinstance(probabilities, dict):
        probabilities = dict(enumerate(probabilities))
    return Law(as_values(list(probabilities)), _as_weights(list(probabilities.values())))


def points(rows: Any, labels: Any = None, weights: Any = None) -> Law:
    """`points([[1, 0], [0, 1]], labels=[1, -1], weights=[0.3, 0.7])`: labelled points; equal weights without any."""
    values = as_values(rows)
    if weights is None:
        weights = np.full(len(values), 1 / len(values)) if len(values) else []
    checked = _as_weights(weights)
    for name, part in (("labels", labels), ("weights", weights)):
        if part is not None and len(part) != len(values):
            raise ValueError(f"{len(values)} points and {len(part)} {name}: give one for each")
    return Law(values if labels is None else (values, np.asarray(labels)), checked)


LISTED: dict[str, Callable[..., Law]] = {
    "pmf": pmf,
    "points": points,
    "nothing": lambda: pmf({0: 1.0}),
}  # sources by name, beside scipy's


def _as_weights(weights: Any) -> Any:
    checked = np.asarray(weights, dtype=float)
    if len(checked) == 0 or not (checked >= 0).all() or abs(checked.sum() - 1) > 1e-9:
        raise ValueError(f"probabilities must be at least 0 and add up to 1, and these add up to {checked.sum():g}")
    return checked / checked.sum()


def _checked(rows: Any, size: int, name: str) -> Any:
    """The rows, if they are a sample: of the asked length, no NaN, and in memory of their own."""
    if type(rows) is np.ndarray and rows.base is None and rows.ndim and len(rows) == size and not _has_nan(rows):
        return rows  # what nearly all samplers return, at half the cost
    parts = rows if isinstance(rows, tuple) and len(rows) == 2 else (rows,)
    for part in parts:
        if not hasattr(part, "__len__") or (isinstance(part, np.ndarray) and part.ndim == 0):
            raise SourceError(f"source {name} returned {type(part).__name__}: return an array of {size} rows or (X, y)")
        if len(part) != size:
            raise SourceError(f"source {name} returned {len(part)} rows where {size} were asked for")
        if isinstance(part, np.ndarray) and _has_nan(part):
            raise SourceError(f"source {name} returned NaN: drop or fill missing values in the sampler")
    # A view into data the sampler keeps would let one run's changes reach the next.
    owned = tuple(
        part.copy(order="K") if isinstance(part, np.ndarray) and part.base is not None else part for part in parts
    )
    return owned if isinstance(rows, tuple) and len(rows) == 2 else owned[0]


def _has_nan(rows: Any) -> bool:
    if rows.dtype.kind not in "fc" or not rows.size:
        return False
    least = rows.min()
    return bool(least != least)


def load_source(source: object, resample: str | None = None) -> Source:
    """A source from a spec, a function fn(rng, size), a scipy.stats distribution, a data set, or a source itself."""
    if is_dataset(source):
        return load_dataset(source, "bootstrap" if resample is None else resample)
    if resample is not None:
        raise UsageError(f"--resample {resample} is for data sets: {source} draws fresh rows already")
    if isinstance(source, str):
        return _from_spec(source.strip())
    if isinstance(source, (Distribution, Sampler, Finite)):
        return source
    if hasattr(source, "rvs") and hasattr(source, "mean"):
        return Distribution(_frozen_spec(source) or repr(source), source)
    if callable(source):
        name = importable_name(source)
        return Sampler(name or str(getattr(source, "__qualname__", source)), name, source)
    raise UsageError(f"source {source!r} must be a spec such as 'bernoulli(0.5)', or a function fn(rng, size)")


def is_dataset(source: object) -> bool:
    """Whether a source is made of rows that are there: a file, an array, something of scikit-learn's."""
    if isinstance(source, str):
        return source.startswith("sklearn:") or is_file_spec(source)
    return isinstance(source, (np.ndarray, Dataset)) or (isinstance(source, tuple) and len(source) == 2)


def load_dataset(source: object, resample: str) -> Dataset:
    check_resample(resample)
    if isinstance(source, Dataset):
        return source
    if not isinstance(source, str):
        return from_arrays(source, resample=resample)
    if source.startswith("sklearn:"):
        return from_sklearn(source, *_parse_call(source.removeprefix("sklearn:")), resample)
    return read_file(source, resample)


def _from_spec(spec: str) -> Source:
    # A colon before any parenthesis is module:fn; no distribution has one.
    if ":" in spec.partition("(")[0]:
        fn = find_object(spec)
        if not callable(fn):
            raise UsageError(f"source {spec} is {type(fn).__name__}, not a function fn(rng, size)")
        return Sampler(spec, spec, fn)
    name, args, keywords = _parse_call(spec)
    if name not in LISTED:
        return _scipy_distribution(spec)
    try:
        return Finite(spec, spec, LISTED[name](*args, **keywords))
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"source {spec!r}: {error}") from error


def _scipy_distribution(spec: str) -> Distribution:
    name, args, keywords = _parse_call(spec)
    if common := common_distribution(name, args, keywords):
        return Distribution(spec, common)
    import scipy.stats

    known = set(LISTED) | {key for key, value in vars(scipy.stats).items() if hasattr(value, "rvs") and callable(value)}
    if name not in known:
        raise UsageError(
            f"source {spec!r}: scipy.stats has no distribution {name!r}{suggestion(name, known)}; "
            'write e.g. "bernoulli(0.5)", "norm(loc=0, scale=1)", or module:function'
        )
    try:
        return Distribution(spec, getattr(scipy.stats, name)(*args, **keywords))
    except Exception as error:
        raise UsageError(f"source {spec!r}: {error}") from error


def _parse_call(spec: str) -> tuple[str, list[Any], dict[str, Any]]:
    """`name` or `name(literals, key=literal)`, of which nothing is ever executed."""
    try:
        return read_call(spec)
    except ValueError as error:
        raise UsageError(
            f"source {spec!r} must be a distribution with literal arguments, "
            f'e.g. "bernoulli(0.5)", or module:function ({error})'
        ) from error


def _frozen_spec(frozen: Any) -> str | None:
    """How a user would write this frozen distribution; None where its arguments are no literals."""
    name, args, keywords = (
        getattr(getattr(frozen, "dist", None), "name", None),
        getattr(frozen, "args", ()),
        getattr(frozen, "kwds", {}),
    )
    words = [repr(a) for a in args] + [f"{key}={value!r}" for key, value in keywords.items()]
    spec = f"{name}({', '.join(words)})"
    try:
        _parse_call(spec)
    except UsageError:
        return None
    return spec


def check_size(source: Source, size: int, rng: Generator, *, can_count: bool = False) -> None:
    """Refuse a size whose rows cannot fit, judging by one row, before anything large is drawn."""
    if isinstance(source, Dataset):
        source.check_size(size)
    if size == 0:
        return
    try:
        row = source.draw(rng, 1)
    except SourceError:
        return  # a sampler may need more than one row; its full draw will be checked
    parts = row if isinstance(row, tuple) else (row,)
    needed = size * sum(part.nbytes if isinstance(part, np.ndarray) else 8 for part in parts)
    available = free_memory()
    if needed > available:
        raise BadValue(
            "size",
            size,
            f"needs about {needed / 1e9:.3g} GB a sample, and {available / 1e9:.3g} GB are free: use a smaller "
            "size" + (", or --sample counts" if can_count else ""),
        )
