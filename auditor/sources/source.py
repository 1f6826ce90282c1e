"""Where do the two samples of a pair come from? A source draws `size` fresh rows from a generator keyed by the audit.

The contract: `draw(rng, size)` depends on nothing but its arguments. It returns rows that the subject may keep and
change: an array, a table (`frames` says which) or anything else with a length, of `size` rows, or `(X, y)` with `size`
rows each.

Any object with such a `draw` is a source: auditor.audit(fn, Coins(0.3)) in Python, and --source mine:coins if the
module `mine` has an object of that name. It may also have:

    name           its name in reports, which should tell it from others of its class; default: the class's name
    spec           how it is written after --source, so that a command can draw from it again; default: None
    expect(query)  the exact mean of query over the source, or of the rows for None; used by accuracy oracles
    law(size)      the distribution itself as {value: probability}; used by samples as counts, and by --loss
    deterministic  True for a source that is meant to draw the same rows whatever the generator; any other source
                   that does so is refused. A function declares it by fn.deterministic = True
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.random import Generator

from auditor.errors import (
    BadValue,
    SourceError,
    UnknownTruth,
    UsageError,
    in_words,
    is_interrupt,
    suggestion,
)
from auditor.escape import without_address
from auditor.files import free_memory, whole_path
from auditor.host.boundary import in_host
from auditor.literals import read_call
from auditor.lookup import call_user_code, find_object, importable_name
from auditor.sources.datasets import Dataset, from_arrays, from_rows, is_file_spec, is_shift, read_file
from auditor.sources.distribution import COMMON, Distribution, Remembered, common_distribution, scipy_stats
from auditor.sources.frames import bytes_of, kind_of_table, library_of, own, rows_in
from auditor.sources.items import has_items, is_row, read_items
from auditor.sources.law import LARGEST, LISTED, Finite, Law, Query, pmf
from auditor.sources.resampling import parse
from auditor.sources.shifts import Mixture, Shifted, load_shift, parts_of
from auditor.sources.sklearn_data import from_sklearn
from auditor.values import describe

_SHOWN = 80  # characters of what is no source


class Source(Protocol):
    """What an audit needs of a source. `spec` is how a user writes it, or None if only Python can name it."""

    @property
    def name(self) -> str: ...
    @property
    def spec(self) -> str | None: ...
    def draw(self, rng: Generator, size: int) -> Any: ...
    def expect(self, query: Query | None = None) -> float:
        """Return the exact mean of `query` over the source, or of the rows themselves; UnknownTruth if unknown."""

    def law(self, size: int = LARGEST) -> Law:
        """Return the distribution itself if its values can be listed; UnknownTruth with the reason if not.

        Infinite tails are cut where samples of `size` rows would not reach.
        """


@dataclass(frozen=True, slots=True)
class Sampler:
    """A user's function fn(rng, size). `own` is the source object that it belongs to, which may know more."""

    name: str
    spec: str | None
    fn: Callable[[Generator, int], Any]
    own: object = None
    _laws: dict[int, Law] = field(default_factory=dict, compare=False, repr=False)

    def draw(self, rng: Generator, size: int) -> Any:
        """Draw rows by the user's function, and check what it returns."""
        return _checked(self._called(self.fn, "fn(rng, {1})", rng, size), size, self.name)

    def _called(self, fn: Callable[..., Any], how: str, *arguments: Any) -> Any:
        """Call a function of the user's source; what it raises becomes a SourceError with the name of the source."""
        try:
            return call_user_code(fn, *arguments)
        except UnknownTruth:
            raise
        except BaseException as error:
            if is_interrupt(error):
                raise
            called = f"it is called {how.format(*arguments)}"
            raise SourceError(f"source {self.name} raised {in_words(error)} ({called})").caused_by(error) from error

    def expect(self, query: Query | None = None) -> float:
        """Return the exact mean that the user's object knows; UnknownTruth where it has no `expect`."""
        if not hasattr(self.own, "expect"):
            raise UnknownTruth(f"the exact mean over {self.name} is not known: it is a function, not a distribution")
        return float(self._called(self.own.expect, "expect(query)", query))

    def law(self, size: int = LARGEST) -> Law:
        """Return the law that the user's object knows; UnknownTruth where it has no `law`."""
        if not hasattr(self.own, "law"):
            raise UnknownTruth(f"the values of {self.name} cannot be listed: it is a function, not a distribution")
        if size not in self._laws:
            found = self._called(self.own.law, "law({0})", size)
            try:
                self._laws[size] = found if isinstance(found, Law) else pmf(found)
            except (TypeError, ValueError) as error:
                raise SourceError(f"source {self.name}: its law must be {{value: probability}}; {error}") from error
        return self._laws[size]


def _checked(rows: Any, size: int, name: str) -> Any:
    """Return the rows in memory of their own; SourceError if their number is not `size` or one is NaN."""
    if type(rows) is np.ndarray and rows.base is None and rows.ndim and len(rows) == size and not _has_nan(rows):
        return rows  # a shortcut at half the cost, for what nearly all samplers return
    parts = rows if isinstance(rows, tuple) and len(rows) == 2 else (rows,)
    for part in parts:
        _check_rows(part, size, name)
    # A view into data the sampler keeps would let one run's changes reach the next.
    owned = tuple(
        part.copy(order="K") if isinstance(part, np.ndarray) and part.base is not None else own(part) for part in parts
    )
    return owned if isinstance(rows, tuple) and len(rows) == 2 else owned[0]


def _check_rows(part: Any, size: int, name: str) -> None:
    """Raise SourceError unless a source returned as many rows as it was asked for, none of them with NaN."""
    is_table = library_of(part) is not None
    if not is_table and (not hasattr(part, "__len__") or (isinstance(part, np.ndarray) and part.ndim == 0)):
        raise SourceError(f"source {name} returned {type(part).__name__}: return an array of {size} rows or (X, y)")
    count = rows_in(part) if is_table else len(part)
    if count != size and not (isinstance(part, dict) and len(part) == size):
        found = f"{count} rows" if count >= 0 else "columns of different lengths"
        raise SourceError(f"source {name} returned {found} where {size} were asked for")
    if isinstance(part, np.ndarray) and _has_nan(part):
        raise SourceError(f"source {name} returned NaN: drop or fill missing values in the sampler")


def _has_nan(rows: Any) -> bool:
    """True if an array of floats has a NaN."""
    if rows.dtype.kind not in "fc" or not rows.size:
        return False
    least = rows.item(rows.argmin())  # argmin finds a NaN if there is one, several times as fast as min for a few rows
    return bool(least != least)


@in_host
def load_source(source: object, resample: str | None = None) -> Source:
    """Return a source made from a spec, a function fn(rng, size), a scipy.stats distribution or data, or a source."""
    if is_dataset(source):
        return load_dataset(source, "bootstrap" if resample is None else resample)
    if resample is not None:
        raise UsageError(f"--resample {resample} is for data sets: {source} draws fresh rows already")
    if isinstance(source, str):
        return _from_spec(source.strip())
    if isinstance(source, (Distribution, Sampler, Finite, Shifted, Mixture)):
        return source
    if is_source(source):
        return _of_others(source, getattr(source, "spec", None))
    if hasattr(source, "rvs") and hasattr(source, "mean"):
        return Distribution(name_of_source(source), source)
    if callable(source):
        return Sampler(name_of_source(source), importable_name(source), source)
    if lazy := next((name for name in ("collect", "compute") if hasattr(source, name)), None):
        raise UsageError(f"source {type(source).__name__} has no rows yet: give what its {lazy}() returns")
    if isinstance(source, tuple):
        parts = f"this one has {len(source)} part{'s' * (len(source) != 1)}"
        raise UsageError(f"a tuple as a source is (X, y), and {parts}: give rows as a list, and labels as y")
    shown = describe(source, _SHOWN)
    raise UsageError(f"source {shown} must be a spec such as 'bernoulli(0.5)', or a function fn(rng, size)")


@in_host
def name_of_source(source: object) -> str:
    """Return the name of a source in records, loaded or not, without a memory address."""
    if is_source(source):
        return str(getattr(source, "name", None) or getattr(source, "spec", None) or type(source).__qualname__)
    if hasattr(source, "rvs") and hasattr(source, "mean"):
        return _frozen_spec(source) or without_address(repr(source))
    if callable(source):
        return importable_name(source) or without_address(str(getattr(source, "__qualname__", source)))
    return str(getattr(source, "name", source))


def is_source(source: object) -> bool:
    """True if an object draws rows by itself, as the contract says."""
    return callable(getattr(source, "draw", None)) and not isinstance(source, type)


def _of_others(source: Any, spec: str | None) -> Sampler:
    """Return the source of an object of the user's that can draw."""
    return Sampler(str(getattr(source, "name", None) or spec or type(source).__qualname__), spec, source.draw, source)


def is_deterministic(source: Source) -> bool:
    """True if a source, or the function or object that it is made of, is declared to have no randomness."""
    fn = getattr(source, "fn", None)
    parts = (getattr(source, "own", None), fn, getattr(fn, "func", None), getattr(source, "frozen", None))
    return any(getattr(part, "deterministic", None) is True for part in parts)


def is_dataset(source: object) -> bool:
    """True if a source consists of given rows: a file, an array, a table, or a data set of scikit-learn's."""
    if isinstance(source, str):
        if is_shift(source):
            return False
        return source.startswith("sklearn:") or is_file_spec(source) or _is_named(source)
    return isinstance(source, Dataset) or _is_rows(source)


def _is_rows(source: object) -> bool:
    """True if the object that was given as a source is the rows themselves, and not something that draws rows."""
    if isinstance(source, np.ndarray) or library_of(source) is not None:
        return True
    is_pair = isinstance(source, tuple) and len(source) == 2
    is_ours = isinstance(source, (Distribution, Sampler, Finite, Shifted, Mixture)) or is_source(source)
    return is_pair or (not is_ours and has_items(source))


def as_sources(source: object) -> list[object]:
    """Return the sources that were given in Python: those of a list, unless it is one data set, with no source in it.

    A text is a source if it is written as one: a file, module:fn, or a distribution that there is. A list of texts that
    are all nearly distributions has spelling mistakes.
    """
    if isinstance(source, os.PathLike):
        return [os.fspath(source)]
    if not isinstance(source, list):
        return [] if source is None else [source]
    if not source:
        raise UsageError("the source is an empty list: give rows, or sources")
    if any(isinstance(one, os.PathLike) for one in source):
        return [os.fspath(one) if isinstance(one, os.PathLike) else one for one in source]
    if len(source) < 2 or not all(_is_plain_text(one) if isinstance(one, str) else is_row(one) for one in source):
        return source
    is_misspelt = all(isinstance(one, str) and suggestion(one.partition("(")[0], _distributions()) for one in source)
    return source if is_misspelt else [source]


def _is_plain_text(text: str) -> bool:
    """True if a text can be no spec of a source, so that it must be a row of texts."""
    if is_shift(text) or is_file_spec(text) or text.startswith("sklearn:"):
        return False
    place = text.strip().partition("(")[0]
    if ":" in place and " " not in place:
        return False
    if not place.isidentifier() or (text.strip() != place and not text.strip().endswith(")")):
        return True
    return place not in (*LISTED, *COMMON) and place not in _distributions()


@cache
def _distributions() -> frozenset[str]:
    """Return the names of all distributions of scipy.stats."""
    return frozenset(key for key, value in vars(scipy_stats()).items() if hasattr(value, "rvs") and callable(value))


def _is_named(spec: str) -> bool:
    """True if module:name or file.py:name is an array or a table, and not a function."""
    return _is_place(spec) and not spec.strip().endswith(")") and _is_rows(find_object(spec.strip()))


def _is_place(spec: str) -> bool:
    """True for module:fn, which has a colon before any parenthesis; no distribution has one."""
    return ":" in spec.partition("(")[0] and not is_shift(spec)


@in_host
def load_dataset(source: object, resample: str, kind: str | None = None, memory: int | None = None) -> Dataset:
    """Return the data set that a spec, an array, a table or anything with rows stands for.

    `kind` says what the rows of a csv or parquet file become: tables of one library, or arrays. Rows that are read one
    by one may take `memory` bytes.
    """
    parse(resample)
    if isinstance(source, Dataset):
        return source
    if not isinstance(source, str):
        return _of_rows(source, None, resample, memory)
    if source.startswith("sklearn:"):
        return from_sklearn(source, *_parse_call(source.removeprefix("sklearn:")), resample)
    if not is_file_spec(source) and _is_named(source):
        return _of_rows(find_object(source.strip()), source.strip(), resample, memory)
    return read_file(source, resample, kind)


def _of_rows(rows: Any, spec: str | None, resample: str, memory: int | None) -> Dataset:
    """Return the data set of rows that were given as an object: arrays, a table, a list or anything with items."""
    if isinstance(rows, (tuple, np.ndarray)) or library_of(rows):
        return from_arrays(rows, spec, spec, resample)
    return from_rows(read_items(rows, spec or type(rows).__name__, memory), spec, spec, resample)


def _from_spec(spec: str) -> Source:
    """Return the source that a spec names: a shift, module:fn, a file, sklearn:NAME or a distribution."""
    if is_shift(spec):
        return load_shift(spec, _part)
    if _is_place(spec):
        if spec.endswith(")"):
            return _with_keywords(spec)
        fn = find_object(spec)
        if is_source(fn):
            return _of_others(fn, spec)
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


def _part(spec: str) -> Source:
    """Load a source that another one is made of; a file is read once for all sources made of it."""
    if not (is_file_spec(spec) or spec.startswith("sklearn:")):
        return load_source(spec)
    place = whole_path(spec.partition("#")[0])
    found = os.stat(place) if os.path.exists(place) else None
    return _read_before(spec, (found.st_mtime_ns, found.st_size) if found else None)


@lru_cache(maxsize=4)
def _read_before(spec: str, stamp: tuple[int, int] | None) -> Source:
    """Return the source of a file that was read before, by its spec and the time of its last change."""
    return load_source(spec)


def _with_keywords(spec: str) -> Sampler:
    """Return the source of `module:fn(p=0.3)`, which calls fn(rng, size, p=0.3)."""
    place, _, inside = spec.partition("(")
    _, args, keywords = _parse_call(f"fn({inside}")
    fn = find_object(place)
    if args or not callable(fn):
        raise UsageError(f"source {spec!r} must be a function with keywords that are literals, e.g. {place}(p=0.3)")
    return Sampler(spec, spec, partial(fn, **keywords))


def _scipy_distribution(spec: str) -> Distribution:
    """Return the distribution that a call such as norm(loc=1) names; UsageError where scipy.stats has none."""
    name, args, keywords = _parse_call(spec)
    if common := common_distribution(name, args, keywords):
        return Distribution(spec, common)
    known = _distributions() | set(LISTED)
    if name not in known:
        raise UsageError(
            f"source {spec!r}: scipy.stats has no distribution {name!r}{suggestion(name, known)}; "
            'write e.g. "bernoulli(0.5)", "norm(loc=0, scale=1)", or module:function'
        )
    try:
        return Distribution(spec, getattr(scipy_stats(), name)(*args, **keywords))
    except Exception as error:
        raise UsageError(f"source {spec!r}: {error}") from error


def remembering(source: object) -> Distribution | None:
    """Return the distribution that a spec names as one that remembers its draws; None for what needs no scipy.stats."""
    if not isinstance(source, str) or not source.partition("(")[0].strip().isidentifier() or is_shift(source):
        return None
    name, args, keywords = _parse_call(source)
    if name in LISTED or common_distribution(name, args, keywords):
        return None
    return Distribution(source, Remembered(name, args, keywords))


def _parse_call(spec: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Parse `name` or `name(literals, key=literal)`; nothing of it is ever executed."""
    try:
        return read_call(spec)
    except ValueError as error:
        raise UsageError(
            f"source {spec!r} must be a distribution with literal arguments, "
            f'e.g. "bernoulli(0.5)", or module:function ({error})'
        ) from error


def _frozen_spec(frozen: Any) -> str | None:
    """Return how a user would write this frozen distribution, or None if its arguments are not literals."""
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
    """Refuse a size whose rows do not fit into memory, judged by a single row, before anything large is drawn."""
    if isinstance(source, Dataset):
        source.check_size(size)
    if size == 0:
        return
    try:
        row = source.draw(rng, 1)
        needed = size * _bytes_a_row(source, row, rng)
    except SourceError:
        return  # a sampler may need more than one row; its full draw will be checked
    if can_count and (kind := kind_of_table(row)):
        raise UsageError(
            f"source {source.name} draws a {kind}, and an auditor.Sample holds arrays: leave the annotation out to "
            "get the table itself" + (", or use --as numpy" if isinstance(source, Dataset) else "")
        )
    available = free_memory()
    if needed > available:
        raise BadValue(
            "size",
            size,
            f"needs about {needed / 1e9:.3g} GB a sample, and {available / 1e9:.3g} GB are free: use a smaller "
            "size" + (", or --sample counts" if can_count else ""),
        )


def _bytes_a_row(source: Source, row: Any, rng: Generator) -> int:
    """Return the memory that one more row takes; the rows of a table share its categories."""
    if isinstance(source, Dataset):
        return bytes_of(source.rows) // source.count
    if kind_of_table(row) is None:
        return bytes_of(row)
    return max(8, bytes_of(source.draw(rng, 2)) - bytes_of(row))


class Names(NamedTuple):
    """What a source calls the columns of its samples, and their labels where it has any."""

    columns: tuple[str, ...]
    label: str | None = None


def names_in(source: object) -> Names | None:
    """Return the names that the samples of a data set have; None where the source has no names."""
    for part in parts_of(source):
        data = part.base if isinstance(part, Shifted) else part
        if isinstance(data, Dataset) and data.columns:
            label = data.target or None
            return Names(tuple(name for name in data.columns if name != label), label)
    return None
