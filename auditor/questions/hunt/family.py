"""Which sources are looked through? --over "bernoulli({p})" --range p=0:1, simplex(K), mixture(A, B), module:fn.

A family is a cube of numbers and what each of its places is: a source, parameters of the subject, a size. A place is
settled to values of four digits before it is tried, so that what is reported is what was run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.errors import BadValue, UsageError, suggestion
from auditor.questions.cells import load_asked
from auditor.questions.hunt.search import Place
from auditor.request import Request
from auditor.subjects.subject import Subject, param_text
from auditor.trials.cell import Cell, make_cell

_EXAMPLE = 'e.g. --over "bernoulli({p})" --range p=0:1'
_HOLE = re.compile(r"\{([A-Za-z_]\w*)\}")
_SIMPLEX = re.compile(r"simplex\(\s*(\d+)\s*\)")
_DIGITS = 4
_FLOOR = 0.2  # a weight below it is none: a face of the simplex has a part of the cube to itself
MOST_VALUES = 64

Values = Mapping[str, float]


class Range(msgspec.Struct, frozen=True):
    """A number that varies from `low` to `high`; on a log scale where ratios matter."""

    name: str
    low: float
    high: float
    is_log: bool = False
    is_whole: bool = False

    def at(self, u: float) -> float:
        if self.is_log:
            value = math.exp(math.log(self.low) + u * math.log(self.high / self.low))
        else:
            value = self.low + u * (self.high - self.low)
        return self.settled(value)

    def place(self, value: float) -> float:
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def settled(self, value: float, digits: int = _DIGITS) -> float:
        """Within the range, with few digits."""
        value = min(self.high, max(self.low, float(f"{value:.{digits}g}")))
        return round(value) if self.is_whole else value


def _typed(end: float) -> str:
    """An end of a range, which is no limit of ours."""
    return f"{end:.15g}"


def read_range(text: str) -> Range:
    name, equals, spec = text.partition("=")
    words = spec.split(":")
    if not equals or not name.isidentifier() or not (len(words) == 2 or (len(words) == 3 and words[2] == "log")):
        raise UsageError(f"--range {text} must be NAME=LOW:HIGH or NAME=LOW:HIGH:log, {_EXAMPLE}")
    try:
        low, high = float(words[0]), float(words[1])
    except ValueError as error:
        raise UsageError(f"--range {text}: {error}, {_EXAMPLE}") from error
    return make_range(name, low, high, is_log=len(words) == 3)


def make_range(name: str, low: float, high: float, *, is_log: bool = False) -> Range:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UsageError(
            f"--range {name}={_typed(low)}:{_typed(high)} must go from a smaller to a larger number, {_EXAMPLE}"
        )
    if is_log and low <= 0:
        raise UsageError(f"--range {name}={_typed(low)}:{_typed(high)}:log must start above 0, {_EXAMPLE}")
    return Range(name, low, high, is_log)


def read_ranges(given: object) -> list[Range]:
    """As they are typed, one or several, or in Python {"p": (0, 1)}."""
    try:
        if isinstance(given, Mapping):
            found = [make_range(str(name), float(low), float(high)) for name, (low, high) in given.items()]
        else:
            texts = [given] if isinstance(given, str) else list(given or ())  # type: ignore[call-overload]
            found = [read_range(str(text)) for text in texts]
    except (TypeError, ValueError) as error:
        words = f"must be texts, or two numbers by name, e.g. {{'p': (0, 1)}}: {error}"
        raise BadValue("range", given, words) from error
    names = [one.name for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageError(f"--range {twice}=... was given twice: give it once")
    return found


class Family(msgspec.Struct, frozen=True):
    """`over` is a source with holes, a function fn(rng, size, **values), or None for the source as it is."""

    request: Request
    subject: Subject
    over: object
    ranges: tuple[Range, ...]
    simplex: int = 0  # values, where all laws on so many are the family

    @property
    def dimensions(self) -> int:
        return self.simplex + len(self.ranges)

    @property
    def name(self) -> str:
        over = self.over if isinstance(self.over, str) else getattr(self.over, "__qualname__", "the declared source")
        ranges = ", ".join(f"{one.name} from {_typed(one.low)} to {_typed(one.high)}" for one in self.ranges)
        return f"{over}, {ranges}" if ranges else str(over)

    def values(self, place: Place) -> dict[str, float]:
        """What a place of the cube stands for."""
        weights = [max(0.0, float(u) - _FLOOR) for u in place[: self.simplex]]
        found = _law(weights) if self.simplex else {}
        for one, u in zip(self.ranges, place[self.simplex :], strict=True):
            found[one.name] = one.at(float(u))
        return found

    def place(self, values: Values) -> Place:
        """Where in the cube values are."""
        law = [values[str(v)] for v in range(self.simplex)]
        across = [_FLOOR + (1 - _FLOOR) * p / max(law) if p else 0.0 for p in law]
        return np.array([*across, *(one.place(values[one.name]) for one in self.ranges)])

    def source(self, values: Values) -> object:
        if self.simplex:
            return f"pmf({{{', '.join(f'{v}: {values[v]!r}' for v in _support(values))}}})"
        keywords = self._ours - {"size", *self.subject.settings}  # of a function that draws
        own = {name: value for name, value in values.items() if name in keywords}
        if isinstance(self.over, str):
            filled = _HOLE.sub(lambda hole: param_text(values[hole[1]]), self.over)
            return f"{filled}({', '.join(f'{name}={value!r}' for name, value in own.items())})" if own else filled
        return partial(self.over, **own) if callable(self.over) else self.over

    def cell(self, values: Values, name: str) -> Cell:
        request, options = self.request, self.request.options
        params = {one: value for one, value in values.items() if one in self.subject.settings and one in self._ours}
        subject = load_asked(request, {**options.params, **params}) if params else self.subject
        size = int(values["size"]) if "size" in self._ours else None
        source = self.source(values) if self.over is not None else request.source
        cell = make_cell("rho", subject, source, options, size=size)
        return replace(cell, name=name, judged=False, overridden=(), kin=self.name)

    @property
    def _ours(self) -> set[str]:
        return {one.name for one in self.ranges} - set(_HOLE.findall(str(self.over)))

    def simpler(self, values: Values) -> Iterator[dict[str, float]]:
        """What a person would rather have drawn, the simplest first: fewer values, fewer digits; each other than it."""
        tried = [dict(values)]
        for one in self._simpler(values):
            if one not in tried:
                tried.append(one)
                yield one

    def _simpler(self, values: Values) -> Iterator[dict[str, float]]:
        for count in range(1, len(_support(values))) if self.simplex else ():
            yield self.on_face(values, count)
        for digits in range(1, _DIGITS):
            yield self.rounded(values, digits)
            for one in self.ranges if len(self.ranges) > 1 else ():
                yield {**values, one.name: one.settled(values[one.name], digits)}

    def on_face(self, values: Values, count: int) -> dict[str, float]:
        """So many values, those of largest weight: a face of the simplex, which a design that fills it never meets."""
        kept = sorted(_support(values), key=lambda v: -values[v])[:count]
        return {**values, **_law([values[str(v)] if str(v) in kept else 0.0 for v in range(self.simplex)])}

    def rounded(self, values: Values, digits: int) -> dict[str, float]:
        """The same with so few digits, as far as that is a law."""
        law = _rounded_law([values[str(v)] for v in range(self.simplex)], digits) if self.simplex else {}
        return {**values, **law, **{one.name: one.settled(values[one.name], digits) for one in self.ranges}}


def _support(values: Values) -> list[str]:
    return [name for name in values if name.isdigit() and values[name] > 0]


def _law(weights: Sequence[float]) -> dict[str, float]:
    """Probabilities of four digits that add up to 1: what is left over goes to the largest."""
    total = sum(weights)
    shares = [weight / total for weight in weights] if total > 0 else [1 / len(weights)] * len(weights)
    return _rounded_law(shares, _DIGITS)


def _rounded_law(shares: Sequence[float], digits: int) -> dict[str, float]:
    """To so many decimals; as it is where the largest has nothing left to give."""
    unit = 10**digits
    counts = [round(share * unit) for share in shares]
    counts[shares.index(max(shares))] += unit - sum(counts)
    return {str(v): count / unit if min(counts) >= 0 else shares[v] for v, count in enumerate(counts)}


def make_family(request: Request) -> Family:
    """The family that was asked about; UsageError where it has none or a name is nowhere."""
    options = request.options
    over, ranges = options.over, read_ranges(options.range)
    subject = load_asked(request, options.params)
    if over is not None and request.sources:
        raise UsageError(f"--source {request.source} and --over {over} are two answers: give one")
    whole = _with_share(over) if isinstance(over, str) else over
    if whole != over and "share" not in {one.name for one in ranges}:
        ranges.append(Range("share", 0.0, 1.0))
    over = whole
    found = _SIMPLEX.fullmatch(over.strip()) if isinstance(over, str) else None
    if isinstance(over, str) and over.strip().startswith("mixture(") and not _HOLE.search(over):
        raise UsageError(
            f"--over {over} has nothing that varies: write mixture(A, B), or {{share}} for its last argument"
        )
    count = int(found[1]) if found else 0
    if found and not 2 <= count <= MOST_VALUES:
        raise UsageError(f"--over {over}: all laws on {count} values; give 2 to {MOST_VALUES}, e.g. simplex(5)")
    family = Family(request, subject, over, tuple(ranges), count)
    _check_names(family)
    return replace(family, ranges=tuple(_whole(one, subject) for one in family.ranges))


def _with_share(over: str) -> str:
    """`mixture(A, B)` is all mixtures of both."""
    from auditor.sources.shifts import split_arguments

    name, _, inside = over.strip().partition("(")
    is_open = name == "mixture" and inside.endswith(")") and len(split_arguments(inside[:-1])) == 2
    return f"mixture({inside[:-1]}, {{share}})" if is_open else over


def _check_names(family: Family) -> None:
    """Every hole has a range, every range a place, and something varies."""
    names = {one.name for one in family.ranges}
    holes = list(dict.fromkeys(_HOLE.findall(family.over))) if isinstance(family.over, str) else []
    for hole in holes:
        if hole not in names:
            raise UsageError(f"--over {family.over}: {{{hole}}} has no range; add --range {hole}=LOW:HIGH, e.g. 0:1")
    draws = callable(family.over) or (isinstance(family.over, str) and ":" in family.over.partition("(")[0])
    known = ["size", *family.subject.settings, *holes]
    for name in sorted(names - set(known)) if not draws or family.simplex else ():
        raise UsageError(
            f"--range {name}: there is no {{{name}}} in --over, and {family.subject.name} has no parameter {name!r}"
            f"{suggestion(name, known)}; it has {', '.join(known)}"
        )
    given = {**family.request.options.params, **family.request.texts}
    if twice := next((name for name in sorted(names) if name in given and name not in holes), None):
        raise UsageError(f"--param {twice}={given[twice]} and --range {twice}=... are two answers: give one")
    if "size" in names and family.request.options.size is not None:
        raise UsageError(f"--size {family.request.options.size} and --range size=... are two answers: give one")
    if not family.dimensions:
        raise UsageError(f"nothing varies: say what to look through, {_EXAMPLE}, or --over simplex(5)")


def _whole(one: Range, subject: Subject) -> Range:
    """A size, and a parameter that is a whole number, stay so."""
    default = subject.settings.get(one.name)
    is_int = isinstance(default, int) and not isinstance(default, bool)
    return replace(one, is_whole=one.name == "size" or is_int)
