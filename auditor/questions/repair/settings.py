"""Which wrappers fit what a learner gives, and with which widths, strengths or chunks? From pairs that were looked at.

A family knows its wrapper: what it needs to see of two outputs, the settings worth trying, cheapest first, and what
each costs by its theorem. Settings are fixed by pairs of their own, before a frontier is measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import msgspec
import numpy as np

from auditor.errors import SubjectError, UsageError
from auditor.literals import read_call
from auditor.repair.agreeing import agreed
from auditor.repair.aligning import aligned
from auditor.repair.calibrating import conformal, rounded_up
from auditor.repair.choosing import candidates_of, chosen, last_step, own_top
from auditor.repair.deciding import thresholded
from auditor.repair.numbers_of import Widths, take_apart
from auditor.repair.rounding import rounded
from auditor.repair.seam import Repaired
from auditor.repair.steadying import sites
from auditor.repair.voting import voted
from auditor.statistics.outward import at_most
from auditor.subjects.estimators import is_estimator, predicts_numbers
from auditor.values import base_value, same

COIN, MEAN = 0.6, 0.8  # of the target: what as many pairs as an audit has can show, by a count and by a mean
AIM = 0.9  # of that: what the middle of the settings is made for, from few pairs
_STEPS = range(-5, 4)  # from there, by factors of sqrt(2)
_MAKERS: Mapping[str, Callable[..., Repaired]] = {
    fn.__name__: fn for fn in (rounded, rounded_up, conformal, chosen, thresholded, voted, agreed, aligned, sites)
}
KEEP = ("rounded", "voted", "agreed", "sites")  # the kind of output that the learner had, and so its view
_ATTRIBUTES = ("coef_", "intercept_")  # that predictions are made of
_APART = 3.0  # times: scales that one width serves
_PATHS = 12  # that a width may name
_CHUNKS = (4, 8, 16, 32, 64)
_ROWS = 10  # that a chunk has at least

See = Callable[[Any], Any]  # what of an output is compared
Seen = Sequence[Mapping[str, Any]]  # what the pairs showed that were looked at


class Setting(msgspec.Struct, frozen=True):
    """A wrapper with its arguments; `change` is by how much it moves an answer at most, where that is a number, and
    `rows` how many of a sample one run of the learner sees, where it is not all of them."""

    verb: str
    arguments: Mapping[str, Any]
    words: str = ""
    change: float | None = None
    rows: int | None = None

    @property
    def spec(self) -> str:
        """What `--with` takes."""
        return f"{self.verb}({self.keywords})"

    @property
    def keywords(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())

    @property
    def keeps_view(self) -> bool:
        return self.verb in KEEP

    def wrap(self, learner: Any) -> Repaired:
        return _MAKERS[self.verb](learner, **self.arguments)


# For draws that fall out of step, whatever the outputs are.
STEPPING = Setting("sites", {}, "some microseconds a draw; a single run has the law that it had")


def read_setting(text: str) -> Setting:
    """`rounded(width=0.2)` and its like; UsageError with the wrappers that there are."""
    example = '--with "rounded(width=0.2)"'
    try:
        verb, positional, arguments = read_call(text)
    except ValueError as error:
        raise UsageError(f"--with {text!r} is no wrapper ({error}): write e.g. {example}") from error
    if verb not in _MAKERS or positional:
        known = ", ".join(_MAKERS)
        raise UsageError(f"--with {text!r} must be one of {known}, its arguments by name: write e.g. {example}")
    return Setting(verb, arguments)


class RepairFamily(Protocol):
    """See the module. `look` gives None where the wrapper does not fit two outputs; settings are made for a `level` of
    rho, or of churn."""

    verb: ClassVar[str]
    pairs: ClassVar[int]  # of its frontier: fewer where each setting has runs of its own

    def look(self, first: Any, second: Any, see: See) -> dict[str, Any] | None: ...
    def settings(self, seen: Seen, level: float, size: int, measure: str) -> list[Setting]: ...


class Rounding:
    """`rounded`: the numbers of an output; of a linear model its coefficients, of any other regressor its predictions.

    Boxes alone: in every dimension that foams can be run in (24 at most) boxes part a vector with probability
    |c - c'|_1 / w <= sqrt(24) |c - c'|_2 / w at most, which is below the sqrt(8 pi) |c - c'|_2 / w of foams.
    """

    verb: ClassVar[str] = "rounded"
    pairs: ClassVar[int] = 128

    def look(self, first: Any, second: Any, see: See) -> dict[str, Any] | None:
        widths = _widths_of(first)
        if widths is None:
            return _predicted_apart(see(first), see(second)) if predicts_numbers(first) else None
        try:
            mine, theirs = take_apart(first, widths), take_apart(second, widths)
        except SubjectError:
            return None
        if mine.sizes != theirs.sizes:
            return {"gaps": {}, "sizes": {}, "alike": False}
        ends = np.cumsum([0, *mine.sizes.values()])
        apart = np.abs(mine.numbers - theirs.numbers)
        gaps = {path: float(apart[a:b].sum()) for path, a, b in zip(mine.sizes, ends, ends[1:], strict=False)}
        alike = is_estimator(first) or same(mine.rest, theirs.rest)
        return {"gaps": gaps, "sizes": mine.sizes, "alike": alike, "named": not widths.is_one}

    def settings(self, seen: Seen, level: float, size: int, measure: str) -> list[Setting]:
        if "points" in seen[0]:
            return _predicting([one["points" if measure == "churn" else "all"] for one in seen], level)
        alike = [one for one in seen if one["alike"]]
        if not alike or any(one["sizes"] != alike[0]["sizes"] for one in alike):
            return []
        scales = _scales(alike)
        if not scales:
            return []
        sums = [sum(one["gaps"][path] / scale for path, scale in scales.items()) for one in alike]
        centre = _solved(lambda unit: float(np.mean(-np.expm1(-np.array(sums) / unit))), level)
        named = alike[0]["named"]
        return [_rounding(scales, centre * 2 ** (step / 2), named=named) for step in _STEPS]


def _widths_of(output: Any) -> Widths | None:
    """What of an output may be rounded: every float; of a model the attributes that it predicts with, of what predicts
    nothing all that it has fitted."""
    if not is_estimator(output):
        return Widths(1.0)
    if not hasattr(output, "predict"):
        has = [name for name, value in vars(output).items() if name[-1:] == "_" != name[0] and _has_floats(value)]
        return Widths(dict.fromkeys(has, 1.0)) if has else None
    has = [name for name in _ATTRIBUTES if _has_floats(getattr(output, name, None))]
    is_linear = not hasattr(output, "classes_") and "coef_" in has
    return Widths(dict.fromkeys(has, 1.0)) if is_linear else None


def _has_floats(value: Any) -> bool:
    value = base_value(value)
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size > 0)


def _predicted_apart(first: Any, second: Any) -> dict[str, Any] | None:
    """By how much the predictions of points differ: one on average, and all together."""
    mine, theirs = np.asarray(first), np.asarray(second)
    if mine.dtype.kind != "f" or mine.shape != theirs.shape:
        return None
    apart = np.abs(mine - theirs)
    return {"points": float(apart.mean()), "all": float(apart.sum())}


def _predicting(apart: Sequence[float], level: float) -> list[Setting]:
    """Churn is the mean of min(1, |c - c'| / w), about the mean of |c - c'| over w; rho is at most their sum."""
    if not any(apart):
        return []
    return _of_widths("rounded", float(np.mean(apart)) / level, "a prediction moves by at most {}")


def _of_widths(verb: str, centre: float, words: str) -> list[Setting]:
    widths = (two_digits(centre * 2 ** (step / 2)) for step in _STEPS)
    return [Setting(verb, {"width": width}, words.format(at_most(width / 2)), width / 2) for width in widths]


def _scales(seen: Seen) -> dict[str, float]:
    """How far the numbers of a path are apart, on average; one for all where they are much alike, or very many."""
    sizes = seen[0]["sizes"]
    found = {path: float(np.mean([one["gaps"][path] for one in seen])) / size for path, size in sizes.items()}
    found = {path: scale for path, scale in found.items() if scale > 0}
    if not found or seen[0]["named"]:
        return found
    if len(found) > _PATHS or max(found.values()) <= _APART * min(found.values()):
        return dict.fromkeys(sizes, max(found.values()))
    return found


def _rounding(scales: Mapping[str, float], unit: float, *, named: bool) -> Setting:
    widths = {path.removeprefix("output."): two_digits(unit * scale) for path, scale in scales.items()}
    width: Any = widths if named or len({*scales.values()}) > 1 else next(iter(widths.values()))
    change = max(widths.values()) / 2
    words = f"a number moves by at most {at_most(change)}"
    if isinstance(width, dict) and len(width) > 1:
        halves = ", ".join(f"{at_most(v / 2)} in {k}" for k, v in width.items())
        words = f"a number moves by at most half its width: {halves}"
    return Setting("rounded", {"width": width}, words, change)


class Choosing:
    """`chosen`: features that a selector scores, settings that a search does."""

    verb: ClassVar[str] = "chosen"
    pairs: ClassVar[int] = 128

    def look(self, first: Any, second: Any, see: See) -> dict[str, Any] | None:
        decides = last_step(first)
        if not (hasattr(decides, "cv_results_") or hasattr(decides, "get_support")):
            return None
        try:
            mine, theirs = candidates_of(first).scores, candidates_of(second).scores
        except (SubjectError, UsageError):
            return None
        moved = [mine[name] - theirs[name] for name in mine if name in theirs]
        moved = [one for one in moved if math.isfinite(one)]
        top = 1 if hasattr(decides, "cv_results_") else own_top(decides) or int(np.sum(decides.get_support()))
        return {"spread": max(moved, default=0.0) - min(moved, default=0.0), "count": len(mine), "top": max(1, top)}

    def settings(self, seen: Seen, level: float, size: int, measure: str) -> list[Setting]:
        top, count = int(np.median([one["top"] for one in seen])), max(one["count"] for one in seen)
        spread = float(np.mean([one["spread"] for one in seen]))
        if spread == 0 or count <= top:
            return []
        least = level / (top * spread)  # the theorem's own: 1 - exp(-k strength range) is about the level
        made = []
        for strength in (two_digits(least * 2.0**step) for step in range(9, -2, -1)):
            lost, given = math.log(count) / strength, {"strength": strength, **({"top": top} if top > 1 else {})}
            made.append(Setting("chosen", given, f"the expected score is at most {at_most(lost)} below the best", lost))
        return made


class Aligning:
    """`aligned`: a clusterer that leaves centres."""

    verb: ClassVar[str] = "aligned"
    pairs: ClassVar[int] = 128

    def look(self, first: Any, second: Any, see: See) -> dict[str, Any] | None:
        mine, theirs = (getattr(one, "cluster_centers_", None) for one in (first, second))
        if mine is None or theirs is None or np.shape(mine) != np.shape(theirs):
            return None
        from scipy.optimize import linear_sum_assignment

        apart = np.abs(np.asarray(mine)[:, None] - np.asarray(theirs)[None])
        return {"gap": float(apart[linear_sum_assignment(apart.sum(axis=-1))].sum())}

    def settings(self, seen: Seen, level: float, size: int, measure: str) -> list[Setting]:
        gaps = np.array([one["gap"] for one in seen])
        if not gaps.any():
            return []
        centre = _solved(lambda width: float(np.mean(-np.expm1(-gaps / width))), level)
        return _of_widths("aligned", centre, "a centre moves by at most {} a coordinate")


class Voting:
    """`voted`: classifiers. What is promised is churn."""

    verb: ClassVar[str] = "voted"
    pairs: ClassVar[int] = 16

    def look(self, first: Any, second: Any, see: See) -> dict[str, Any] | None:
        return {} if all(hasattr(one, "predict") and hasattr(one, "classes_") for one in (first, second)) else None

    def settings(self, seen: Seen, level: float, size: int, measure: str) -> list[Setting]:
        fitting = _fitting(size)[1:4]
        return [_chunked("voted", {"chunks": chunks, "between": (0.25, 0.75)}, size) for chunks in fitting]


class Agreeing:
    """`agreed`: outputs of few kinds, whatever they are."""

    verb: ClassVar[str] = "agreed"
    pairs: ClassVar[int] = 64

    def look(self, first: Any, second: Any, see: See) -> dict[str, Any] | None:
        """Of models and raw numbers no two are ever the same; what comes up twice may."""
        return None if is_estimator(first) or Rounding().look(first, second, see) else {}

    def settings(self, seen: Seen, level: float, size: int, measure: str) -> list[Setting]:
        return [_chunked("agreed", {"chunks": chunks}, size) for chunks in _fitting(size)]


def _fitting(size: int) -> list[int]:
    return [chunks for chunks in _CHUNKS if size // chunks >= _ROWS]


def _chunked(verb: str, arguments: dict[str, Any], size: int) -> Setting:
    rows = size // arguments["chunks"]
    return Setting(verb, arguments, f"each fit sees {rows:,} of {size:,} rows", rows=rows)


FAMILIES: tuple[RepairFamily, ...] = (Choosing(), Aligning(), Voting(), Rounding(), Agreeing())


def two_digits(value: float) -> float:
    """The next larger number of two digits: short to paste."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / step - 1e-9) * step:.2g}")


def _solved(falls: Callable[[float], float], level: float) -> float:
    """Where a falling function of a positive number comes down to a level, to a percent."""
    low, high = 1e-300, 1e300
    while high / low > 1.01:
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (middle, high) if falls(middle) > level else (low, middle)
    return high
