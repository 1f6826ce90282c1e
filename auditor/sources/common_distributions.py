"""The distributions that most specs name, drawn without scipy.stats, which takes a second to import.

The draws are scipy's own to the last bit, by the same calls of the same generator. So are means and supports; a mean
over the two values of a coin is summed here. Whatever else is asked of such a distribution is asked of scipy.stats,
which is imported then.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

_SHAPES: dict[str, tuple[str, ...]] = {
    "norm": (),
    "uniform": (),
    "expon": (),
    "bernoulli": ("p",),
    "binom": ("n", "p"),
    "poisson": ("mu",),
}
_DISCRETE = ("bernoulli", "binom", "poisson")
_DRAWS: dict[str, Callable[..., Any]] = {
    "norm": lambda rng, size: rng.standard_normal(size),
    "uniform": lambda rng, size: rng.uniform(0.0, 1.0, size),
    "expon": lambda rng, size: rng.standard_exponential(size),
    "bernoulli": lambda rng, size, p: rng.binomial(1, p, size),
    "binom": lambda rng, size, n, p: rng.binomial(n, p, size),
    "poisson": lambda rng, size, mu: rng.poisson(mu, size),
}
_MEANS: dict[str, Callable[..., float]] = {
    "norm": lambda: 0.0,
    "uniform": lambda: 0.5,
    "expon": lambda: 1.0,
    "bernoulli": lambda p: p,
    "binom": lambda n, p: n * p,
    "poisson": lambda mu: mu,
}
_ENDS: dict[str, Callable[..., tuple[float, float]]] = {
    "norm": lambda: (-math.inf, math.inf),
    "uniform": lambda: (0, 1),
    "expon": lambda: (0, math.inf),
    "bernoulli": lambda p: (0, 1),
    "binom": lambda n, p: (0, n),
    "poisson": lambda mu: (0, math.inf),
}


class Common:
    """A frozen distribution; what is not here is scipy's."""

    def __init__(
        self, name: str, args: Sequence[Any], keywords: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> None:
        self._call = name, tuple(args), dict(keywords)
        self._shapes = [settings[shape] for shape in _SHAPES[name]]
        self._loc, self._scale = settings["loc"], settings["scale"]
        self._frozen: Any = None

    def rvs(self, size: int, random_state: Generator) -> Any:
        name = self._call[0]
        rows = _DRAWS[name](random_state, size, *self._shapes) * self._scale + self._loc
        return rows.astype(np.int64) if name in _DISCRETE else rows

    def mean(self) -> float:
        return float(_MEANS[self._call[0]](*self._shapes) * self._scale + self._loc)

    def support(self) -> tuple[float, float]:
        low, high = (end * self._scale + self._loc for end in _ENDS[self._call[0]](*self._shapes))
        return low, high

    def __getattr__(self, asked: str) -> Any:
        if asked.startswith("_"):
            raise AttributeError(asked)
        if self._frozen is None:
            import scipy.stats

            name, args, keywords = self._call
            self._frozen = getattr(scipy.stats, name)(*args, **keywords)
        return getattr(self._frozen, asked)


class Coin(Common):
    """Of two values, one apart. Its law is scipy's, whose last bits samples that are counts are drawn by."""

    def expect(self, query: Callable[[Any], Any]) -> float:
        p = self._shapes[0]
        return float(np.sum(query(np.arange(2) + self._loc) * np.array([1 - p, p])))


def common_distribution(name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> Common | None:
    """The distribution, if it is one of these and its arguments are plain numbers in range; scipy judges all others."""
    if name not in _SHAPES:
        return None
    places = (*_SHAPES[name], "loc", *(() if name in _DISCRETE else ("scale",)))
    given = dict(zip(places, args, strict=False))
    settings = {"loc": 0, "scale": 1, **given, **keywords}
    named = set(given) | set(keywords) <= set(places) and not set(given) & set(keywords) and len(args) <= len(places)
    if not named or not set(_SHAPES[name]) <= set(settings) or not _in_range(settings):
        return None
    return (Coin if name == "bernoulli" else Common)(name, args, keywords, settings)


def _in_range(settings: Mapping[str, Any]) -> bool:
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
