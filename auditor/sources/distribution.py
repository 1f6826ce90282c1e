"""A distribution of scipy.stats as a source: its rows, its exact means, and its law where the values can be listed.

`scipy.stats` takes a second to import, so the distributions that most specs name are drawn here without it. Their
draws are scipy's own to the last bit, by the same calls of the same generator, and so are their means and supports.
Anything else that is asked of such a distribution is asked of scipy.stats, which is imported then.
"""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from auditor.errors import AuditorError, UnknownTruth, UsageError
from auditor.host.boundary import in_host
from auditor.sources.law import LARGEST, Law, Query
from auditor.statistics.digits import at_most

BEYOND = 2.0**-60  # rows of a sample that are expected in the tails that a law leaves out, at most
_WINDOW = 64  # values by which a tail is judged
MAX_SUPPORT = 2**22  # values of a law; drawing from a longer one takes seconds


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
        """Draw so many independent rows."""
        try:
            rows = np.asarray(self.frozen.rvs(size=size, random_state=rng))
        except Exception as error:
            raise UsageError(f"source {self.spec}: scipy.stats refuses it: {error}") from error
        # scipy's multivariate distributions drop the row axis of a single row
        return rows if rows.ndim and len(rows) == size else rows[None]

    def expect(self, query: Query | None = None) -> float:
        """Return the exact mean of a query under this distribution, or its own mean without one; computed once."""
        if query not in self._means:
            value = self.frozen.mean() if query is None else self.frozen.expect(query)
            self._means[query] = float(value)
        return self._means[query]

    def law(self, size: int = LARGEST) -> Law:
        """Return the law of the values; a source without infinite tails has one law for all sizes."""
        bits = size.bit_length()
        if bits not in self._laws:
            try:
                known = next(iter(self._laws.values()), None) if not self.is_cut else None
                self._laws[bits] = known or self._listed(size, BEYOND / 2**bits)
            except AuditorError:
                raise
            except Exception as error:
                raise UsageError(f"source {self.spec}: scipy.stats refuses it: {error}") from error
        return self._laws[bits]

    @property
    def is_cut(self) -> bool:
        """True if listing the values leaves out an infinite tail."""
        return hasattr(self.frozen, "support") and not np.isfinite(self.frozen.support()).all()

    def _listed(self, size: int, beyond: float) -> Law:
        """Return the values and probabilities of a discrete distribution, cut where less than `beyond` is left out."""
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
        """Return the last value to list on one side: the mass beyond it is at most `tail`."""
        frozen, middle = self.frozen, int(self.frozen.median())

        def is_light(x: int) -> bool:
            masses = frozen.pmf(middle + side * (x + 1 + np.arange(2 * _WINDOW)))
            if _mass_beyond(masses) > tail:
                return False
            return bool((frozen.sf(middle + x) if side > 0 else frozen.cdf(middle - x - 1)) <= tail)

        return middle + side * _tail_length(is_light)


@in_host
def tails_cut(source: object, size: int, runs: int) -> str | None:
    """Say which tails counts of this source leave out and how likely that matters; None if they leave nothing out."""
    if not isinstance(source, Distribution) or not source.is_cut:
        return None
    values, chance = source.law(size).values, at_most(runs * BEYOND, 2)
    return (
        f"counts know {source.name} from {values[0]} to {values[-1]}: fewer than 2^-60 rows of a sample of {size:,} "
        f"are expected beyond, so {runs:,} runs would have one there with probability at most {chance}"
    )


def _mass_beyond(masses: Any) -> float:
    """Return an upper estimate of all the mass from here on, from two windows of it: twice their geometric series.

    The factor 2 covers tails whose windows shrink ever more slowly: x^-a has (a + 1) / a times the series, and tails
    with a below 2 have more values than can be listed. scipy's own tail functions cannot be used, since some are
    computed as 1 - cdf and are 0 below 2^-53.
    """
    first, second = float(np.sum(masses[:_WINDOW])), float(np.sum(masses[_WINDOW:]))
    if first == 0:
        return 0.0
    return 2 * first / (1 - second / first) if second < first else 1.0


def _tail_length(is_light: Callable[[int], bool]) -> int:
    """Return the least x beyond which the tail is light."""
    length = 1
    while length < MAX_SUPPORT and not is_light(length):
        length *= 2
    low, high = length // 2, length
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_light(middle) else (middle, high)
    return high


def scipy_stats() -> Any:
    """Return scipy.stats. Nothing of what it loads is garbage, and to search it for some takes a sixth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        import scipy.stats
    finally:
        if was_enabled:
            gc.enable()
    return scipy.stats


# The distributions that are drawn without scipy.stats


class _Standard(NamedTuple):
    """A distribution at loc 0 and scale 1: its shape parameters, and functions of their values."""

    shapes: tuple[str, ...]
    draw: Callable[..., Any]  # draw(rng, size, *shapes)
    mean: Callable[..., float]
    support: Callable[..., tuple[float, float]]
    is_discrete: bool = False


_STANDARD = {
    "norm": _Standard((), lambda rng, size: rng.standard_normal(size), lambda: 0.0, lambda: (-math.inf, math.inf)),
    "uniform": _Standard((), lambda rng, size: rng.uniform(0.0, 1.0, size), lambda: 0.5, lambda: (0, 1)),
    "expon": _Standard((), lambda rng, size: rng.standard_exponential(size), lambda: 1.0, lambda: (0, math.inf)),
    "bernoulli": _Standard(
        ("p",), lambda rng, size, p: rng.binomial(1, p, size), lambda p: p, lambda p: (0, 1), is_discrete=True
    ),
    "binom": _Standard(
        ("n", "p"),
        lambda rng, size, n, p: rng.binomial(n, p, size),
        lambda n, p: n * p,
        lambda n, p: (0, n),
        is_discrete=True,
    ),
    "poisson": _Standard(
        ("mu",), lambda rng, size, mu: rng.poisson(mu, size), lambda mu: mu, lambda mu: (0, math.inf), is_discrete=True
    ),
}


class OfScipy:
    """A frozen distribution with scipy's interface; what is not defined in its class is asked of scipy.stats."""

    def __init__(self, name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        self._call = name, tuple(args), dict(keywords)
        self._frozen: Any = None

    def __getattr__(self, asked: str) -> Any:
        if asked.startswith("_"):
            raise AttributeError(asked)
        return getattr(self._loaded(), asked)

    def _loaded(self) -> Any:
        """Return the distribution of scipy.stats, which is imported when it is first asked for something."""
        if self._frozen is None:
            name, args, keywords = self._call
            self._frozen = getattr(scipy_stats(), name)(*args, **keywords)
        return self._frozen


class Common(OfScipy):
    """One of the distributions that are drawn here."""

    def __init__(
        self, name: str, args: Sequence[Any], keywords: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> None:
        super().__init__(name, args, keywords)
        self._shapes = [settings[shape] for shape in _STANDARD[name].shapes]
        self._loc, self._scale = settings["loc"], settings["scale"]

    def __getattr__(self, asked: str) -> Any:
        if asked == "pmf" and not self._standard.is_discrete:
            raise AttributeError(asked)  # as scipy.stats would say, once it is imported
        return super().__getattr__(asked)

    @property
    def _standard(self) -> _Standard:
        """The standard distribution that this one is shifted and scaled from."""
        return _STANDARD[self._call[0]]

    def rvs(self, size: int, random_state: Generator) -> Any:
        """Draw numbers, as the method of the same name in scipy.stats does."""
        rows = self._standard.draw(random_state, size, *self._shapes) * self._scale + self._loc
        return rows.astype(np.int64) if self._standard.is_discrete else rows

    def mean(self) -> float:
        """Return the mean."""
        return float(self._standard.mean(*self._shapes) * self._scale + self._loc)

    def support(self) -> tuple[float, float]:
        """Return the least and the largest value that it can have."""
        low, high = (end * self._scale + self._loc for end in self._standard.support(*self._shapes))
        return low, high


class Coin(Common):
    """A Bernoulli distribution, whose means over its two values are summed here.

    Its law is scipy's: samples that are counts depend on the last bits of its weights.
    """

    def expect(self, query: Callable[[Any], Any]) -> float:
        """Return the mean of a query over the two sides of the coin."""
        p = self._shapes[0]
        return float(np.sum(query(np.arange(2) + self._loc) * np.array([1 - p, p])))


class Remembered(OfScipy):
    """A distribution that remembers its draws: a process that is sent it, and draws no others, need not load scipy."""

    def __init__(self, name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        super().__init__(name, args, keywords)
        self._drawn: dict[tuple[str, int], tuple[Any, Any]] = {}  # by the generator's state: rows, and the state after

    def rvs(self, size: int, random_state: Generator) -> Any:
        """Draw numbers, or return those that were drawn before by a generator in the same state."""
        key = repr(random_state.bit_generator.state), size
        if key not in self._drawn:
            rows = self._loaded().rvs(size=size, random_state=random_state)
            self._drawn[key] = rows, random_state.bit_generator.state
        rows, random_state.bit_generator.state = self._drawn[key]
        return np.array(rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return Remembered, self._call, {"_drawn": self._drawn}  # without what scipy has made


COMMON = tuple(_STANDARD)  # the names of distributions that need no scipy.stats


def common_distribution(name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> Common | None:
    """Return the distribution if it is one of these, with plain numbers in range; None leaves the rest to scipy."""
    if name not in _STANDARD:
        return None
    shapes = _STANDARD[name].shapes
    places = (*shapes, "loc", *(() if _STANDARD[name].is_discrete else ("scale",)))
    given = dict(zip(places, args, strict=False))
    settings = {"loc": 0, "scale": 1, **given, **keywords}
    named = set(given) | set(keywords) <= set(places) and not set(given) & set(keywords) and len(args) <= len(places)
    if not named or not set(shapes) <= set(settings) or not _in_range(settings):
        return None
    return (Coin if name == "bernoulli" else Common)(name, args, keywords, settings)


def _in_range(settings: Mapping[str, Any]) -> bool:
    """True if the parameters of a common distribution are numbers for which our own formulas hold."""
    if not all(type(value) in (int, float) and abs(value) < math.inf for value in settings.values()):
        return False
    n, loc = settings.get("n", 0), settings["loc"]
    return (
        0 < settings["scale"] <= sys.float_info.max
        and 0 <= settings.get("p", 0) <= 1
        and type(n) is int
        and 0 <= n <= 2**53
        and 0 <= settings.get("mu", 0) <= 1e15
        and abs(loc) <= 2**53
    )
