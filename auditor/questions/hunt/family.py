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

from auditor.errors import BadValue, UsageError
from auditor.questions.cell_inquiries import load_asked
from auditor.questions.hunt.search import Place
from auditor.questions.varied import check_known, check_not_given, is_whole
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
        """Return the value at a share u in [0, 1] of the range."""
        if self.is_log:
            value = math.exp(math.log(self.low) + u * math.log(self.high / self.low))
        else:
            value = self.low + u * (self.high - self.low)
        return self.rounded(value)

    def place(self, value: float) -> float:
        """Return the share of the range that a value is at."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def rounded(self, value: float, digits: int = _DIGITS) -> float:
        """Return a value within the range, with few digits."""
        value = min(self.high, max(self.low, float(f"{value:.{digits}g}")))
        return round(value) if self.is_whole else value


def read_ranges(given: object) -> list[Range]:
    """Return ranges as they are typed, one or several, or as Python has them: {"p": (0, 1)}."""
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


def read_range(text: str) -> Range:
    """Return the range that was typed as name=low:high, or name=low:high:log."""
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
    """Return a range after checking its ends; UsageError where they are not in order."""
    typed = f"--range {name}={_typed(low)}:{_typed(high)}"
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UsageError(f"{typed} must go from a smaller to a larger number, {_EXAMPLE}")
    if is_log and low <= 0:
        raise UsageError(f"{typed}:log must start above 0, {_EXAMPLE}")
    return Range(name, low, high, is_log)


def _typed(end: float) -> str:
    """Write an end of a range as its user typed it."""
    return f"{end:.15g}"


class Family(msgspec.Struct, frozen=True):
    """Sources, parameters and sizes to look through, as the places of a unit cube.

    `over` is a source with holes, a function fn(rng, size, **values), or None for the source as it is."""

    request: Request
    subject: Subject
    over: object
    ranges: tuple[Range, ...]
    simplex: int = 0  # all laws on so many values are the family, if it is not 0

    @property
    def dimensions(self) -> int:
        """How many numbers choose a source of the family."""
        return self.simplex + len(self.ranges)

    @property
    def name(self) -> str:
        """The family in words."""
        over = self.over if isinstance(self.over, str) else getattr(self.over, "__qualname__", "the declared source")
        ranges = ", ".join(f"{one.name} from {_typed(one.low)} to {_typed(one.high)}" for one in self.ranges)
        return f"{over}, {ranges}" if ranges else str(over)

    def values(self, place: Place) -> dict[str, float]:
        """Return what a place of the cube stands for, by name; the probability of v is called by the number v."""
        weights = [max(0.0, float(u) - _FLOOR) for u in place[: self.simplex]]
        found = _law(weights) if self.simplex else {}
        for one, u in zip(self.ranges, place[self.simplex :], strict=True):
            found[one.name] = one.at(float(u))
        return found

    def place(self, values: Values) -> Place:
        """Return where in the cube values are."""
        law = [values[str(v)] for v in range(self.simplex)]
        across = [_FLOOR + (1 - _FLOOR) * p / max(law) if p else 0.0 for p in law]
        return np.array([*across, *(one.place(values[one.name]) for one in self.ranges)])

    @property
    def _outside_holes(self) -> set[str]:
        """The ranges that fill no hole: of the size, of the subject's parameters, of a function that draws."""
        return {one.name for one in self.ranges} - set(_HOLE.findall(str(self.over)))

    def source(self, values: Values) -> object:
        """Return the source at these values."""
        if self.simplex:
            return f"pmf({{{', '.join(f'{v}: {values[v]!r}' for v in _support(values))}}})"
        keywords = self._outside_holes - {"size", *self.subject.settings}  # of a function that draws
        own = {name: value for name, value in values.items() if name in keywords}
        if isinstance(self.over, str):
            filled = _HOLE.sub(lambda hole: param_text(values[hole[1]]), self.over)
            return f"{filled}({', '.join(f'{name}={value!r}' for name, value in own.items())})" if own else filled
        return partial(self.over, **own) if callable(self.over) else self.over

    def cell(self, values: Values, name: str) -> Cell:
        """Return the cell of the source at these values."""
        request, options, outside = self.request, self.request.options, self._outside_holes
        params = {one: value for one, value in values.items() if one in self.subject.settings and one in outside}
        subject = load_asked(request, {**options.params, **params}) if params else self.subject
        size = int(values["size"]) if "size" in outside else None
        source = self.source(values) if self.over is not None else request.source
        cell = make_cell("rho", subject, source, options, size=size)
        return replace(cell, name=name, judged=False, overridden=(), kin=self.name)

    def simpler(self, values: Values) -> Iterator[dict[str, float]]:
        """Yield what a person would rather have drawn, the simplest first: fewer values, then fewer digits."""
        laws = range(1, len(_support(values))) if self.simplex else ()
        found = [self.on_face(values, count) for count in laws]
        for digits in range(1, _DIGITS):
            found.append(self.rounded(values, digits))
            for one in self.ranges if len(self.ranges) > 1 else ():
                found.append({**values, one.name: one.rounded(values[one.name], digits)})
        for place, other in enumerate(found):
            if other not in (dict(values), *found[:place]):
                yield other

    def on_face(self, values: Values, count: int) -> dict[str, float]:
        """Return the law on so many values, those of largest weight: a face of the simplex, which a design that fills
        it never meets."""
        largest = sorted(_support(values), key=lambda v: -values[v])[:count]
        return {**values, **_law([values[str(v)] if str(v) in largest else 0.0 for v in range(self.simplex)])}

    def rounded(self, values: Values, digits: int) -> dict[str, float]:
        """Return the same values with so few digits, as far as that is a law."""
        law = _rounded_law([values[str(v)] for v in range(self.simplex)], digits) if self.simplex else {}
        return {**values, **law, **{one.name: one.rounded(values[one.name], digits) for one in self.ranges}}


def _support(values: Values) -> list[str]:
    """Return the values of a finite distribution that have a probability above 0."""
    return [name for name in values if name.isdigit() and values[name] > 0]


def _law(weights: Sequence[float]) -> dict[str, float]:
    """Return probabilities of four digits that add up to 1: what is left over goes to the largest."""
    total = sum(weights)
    shares = [weight / total for weight in weights] if total > 0 else [1 / len(weights)] * len(weights)
    return _rounded_law(shares, _DIGITS)


def _rounded_law(shares: Sequence[float], digits: int) -> dict[str, float]:
    """Return probabilities of so many decimals; as they are if the largest has nothing left to give."""
    unit = 10**digits
    counts = [round(share * unit) for share in shares]
    counts[shares.index(max(shares))] += unit - sum(counts)
    return {str(v): count / unit if min(counts) >= 0 else shares[v] for v, count in enumerate(counts)}


def make_family(request: Request) -> Family:
    """Return the family that was asked about. UsageError unless something varies, every hole has a range, and every
    range a hole, a parameter or the size."""
    from auditor.sources.shifts import split_arguments

    options = request.options
    over, ranges, simplex = options.over, read_ranges(options.range), 0
    subject = load_asked(request, options.params)
    if over is not None and request.sources:
        raise UsageError(f"--source {request.source} and --over {over} are two answers: give one")
    holes = list[str]()
    if isinstance(over, str):
        function, _, rest = over.strip().partition("(")
        inside = rest.removesuffix(")")
        if function == "mixture" and inside != rest and len(split_arguments(inside)) == 2:
            over = f"mixture({inside}, {{share}})"  # all mixtures of both
            if "share" not in {one.name for one in ranges}:
                ranges.append(Range("share", 0.0, 1.0))
        holes = list(dict.fromkeys(_HOLE.findall(over)))
        if function == "mixture" and not holes:
            raise UsageError(
                f"--over {over} has nothing that varies: write mixture(A, B), or {{share}} for its last argument"
            )
        if found := _SIMPLEX.fullmatch(over.strip()):
            simplex = int(found[1])
            if not 2 <= simplex <= MOST_VALUES:
                raise UsageError(
                    f"--over {over}: all laws on {simplex} values; give 2 to {MOST_VALUES}, e.g. simplex(5)"
                )
    names = sorted(one.name for one in ranges)
    for hole in holes:
        if hole not in names:
            raise UsageError(f"--over {over}: {{{hole}}} has no range; add --range {hole}=LOW:HIGH, e.g. 0:1")
    is_function = callable(over) or (isinstance(over, str) and ":" in over.partition("(")[0])
    for name in names if simplex or not is_function else ():
        check_known(subject, "range", name, holes)
    for name in names:
        if name not in holes:
            check_not_given(request, "range", name)
    if not ranges and not simplex:
        raise UsageError(f"nothing varies: say what to look through, {_EXAMPLE}, or --over simplex(5)")
    whole = tuple(replace(one, is_whole=is_whole(subject, one.name)) for one in ranges)
    return Family(request, subject, over, whole, simplex)
