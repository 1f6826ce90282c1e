"""Which wrappers fit a learner's outputs, and with which widths, strengths or numbers of chunks?

A family belongs to one wrapper: it says what of two outputs has to be looked at, and makes from that the settings that
are worth trying, cheapest first, each with what it costs by the wrapper's theorem.
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

BY_COUNT, BY_MEAN = 0.6, 0.8  # shares of the target that an audit's pairs can confirm, by a count and by a mean
AIM = 0.9  # share of that which the middle setting is made for, from the few pairs that were looked at
_STEPS = range(-5, 4)  # the settings around it, by factors of sqrt(2)
_WRAPPERS: Mapping[str, Callable[..., Repaired]] = {
    fn.__name__: fn for fn in (rounded, rounded_up, conformal, chosen, thresholded, voted, agreed, aligned, sites)
}
KEEP_VIEW = ("rounded", "voted", "agreed", "sites")  # their outputs are of the learner's kind, and so is the view
_ATTRIBUTES = ("coef_", "intercept_")  # what linear models predict with
_SIMILAR = 3.0  # scales within this factor of each other share a width
_PATHS = 12  # at most this many paths get a width of their own
_CHUNKS = (4, 8, 16, 32, 64)
_ROWS = 10  # that a chunk has at least

See = Callable[[Any], Any]  # returns what of an output is compared
Seen = Sequence[Mapping[str, Any]]  # what `look` found, one for each pair


class Setting(msgspec.Struct, frozen=True):
    """A wrapper with its arguments, and its price."""

    wrapper: str
    arguments: Mapping[str, Any]
    words: str = ""  # the price in words
    change: float | None = None  # how far an answer moves at most, where that is a number
    rows: int | None = None  # how many rows one run of the learner sees, where it is not the whole sample

    @property
    def spec(self) -> str:
        """The text that `--with` takes."""
        return f"{self.wrapper}({self.keywords})"

    @property
    def keywords(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())

    @property
    def keeps_view(self) -> bool:
        return self.wrapper in KEEP_VIEW

    def wrap(self, learner: Any) -> Repaired:
        return _WRAPPERS[self.wrapper](learner, **self.arguments)


# Offered where draws fall out of step, whatever the outputs are.
SITES = Setting("sites", {}, "some microseconds a draw; a single run has the law that it had")


def read_setting(text: str) -> Setting:
    """Return the setting that a text such as `rounded(width=0.2)` names; UsageError if it is none."""
    example = '--with "rounded(width=0.2)"'
    try:
        wrapper, positional, arguments = read_call(text)
    except ValueError as error:
        raise UsageError(f"--with {text!r} is no wrapper ({error}): write e.g. {example}") from error
    if wrapper not in _WRAPPERS or positional:
        known = ", ".join(_WRAPPERS)
        raise UsageError(f"--with {text!r} must be one of {known}, its arguments by name: write e.g. {example}")
    return Setting(wrapper, arguments)


class RepairFamily(Protocol):
    """The settings of one wrapper."""

    wrapper: ClassVar[str]
    pairs: ClassVar[int]  # of its frontier: fewer where each setting needs runs of its own

    def look(self, first: Any, second: Any, see: See) -> dict[str, Any] | None:
        """Return what `settings` needs to know of two outputs; None if the wrapper does not fit them."""

    def settings(self, seen: Seen, level: float, size: int, measure: str) -> list[Setting]:
        """Return settings around the one whose rho (or churn, by `measure`) should be `level`."""


class Rounding:
    """`rounded`, for the numbers of an output; the coefficients of a linear model; the predictions of other regressors.

    Foams are not offered: in every dimension that they can be run in (24 at most) boxes part two vectors with
    probability |c - c'|_1 / w <= sqrt(24) |c - c'|_2 / w at most, which is below sqrt(8 pi) |c - c'|_2 / w, that of
    foams.
    """

    wrapper: ClassVar[str] = "rounded"
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
            # Churn is the mean of min(1, |c - c'| / w), about the mean of |c - c'| over w; rho is at most their sum.
            apart = [one["points" if measure == "churn" else "all"] for one in seen]
            words = "a prediction moves by at most {}"
            return _of_widths("rounded", np.mean(apart) / level, words) if any(apart) else []
        alike = [one for one in seen if one["alike"]]
        if not alike or any(one["sizes"] != alike[0]["sizes"] for one in alike):
            return []
        sizes, is_named = alike[0]["sizes"], alike[0]["named"]
        # How far apart the numbers of each path are on average; those of an output that are similar share a width.
        scales = {path: float(np.mean([one["gaps"][path] for one in alike])) / count for path, count in sizes.items()}
        scales = {path: scale for path, scale in scales.items() if scale > 0}
        if not scales:
            return []
        largest = max(scales.values())
        if not is_named and (len(scales) > _PATHS or largest <= _SIMILAR * min(scales.values())):
            scales = dict.fromkeys(sizes, largest)
        sums = [sum(one["gaps"][path] / scale for path, scale in scales.items()) for one in alike]
        centre, made = _solved(np.array(sums), level), []
        for unit in (centre * 2 ** (step / 2) for step in _STEPS):
            widths = {path.removeprefix("output."): two_digits(unit * scale) for path, scale in scales.items()}
            width: Any = widths if is_named or len({*scales.values()}) > 1 else next(iter(widths.values()))
            change = max(widths.values()) / 2
            words = f"a number moves by at most {at_most(change)}"
            if isinstance(width, dict) and len(width) > 1:
                halves = ", ".join(f"{at_most(one / 2)} in {path}" for path, one in width.items())
                words = f"a number moves by at most half its width: {halves}"
            made.append(Setting("rounded", {"width": width}, words, change))
        return made


def _widths_of(output: Any) -> Widths | None:
    """Return widths of 1 for what may be rounded: every float of an output, the coefficients of a linear model, all
    that an estimator without predictions has fitted; None for other models."""
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
    """Return how far apart the predictions are: of one point on average, and of all points together."""
    mine, theirs = np.asarray(first), np.asarray(second)
    if mine.dtype.kind != "f" or mine.shape != theirs.shape:
        return None
    apart = np.abs(mine - theirs)
    return {"points": float(apart.mean()), "all": float(apart.sum())}


def _of_widths(wrapper: str, centre: Any, words: str) -> list[Setting]:
    widths = (two_digits(float(centre) * 2 ** (step / 2)) for step in _STEPS)
    return [Setting(wrapper, {"width": width}, words.format(at_most(width / 2)), width / 2) for width in widths]


class Choosing:
    """`chosen`, for features that a selector scores and settings that a search scores."""

    wrapper: ClassVar[str] = "chosen"
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
    """`aligned`, for clusterers with centres."""

    wrapper: ClassVar[str] = "aligned"
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
        return _of_widths("aligned", _solved(gaps, level), "a centre moves by at most {} a coordinate")


class Voting:
    """`voted`, for classifiers. It promises a churn, and no rho."""

    wrapper: ClassVar[str] = "voted"
    pairs: ClassVar[int] = 16

    def look(self, first: Any, second: Any, see: See) -> dict[str, Any] | None:
        return {} if all(hasattr(one, "predict") and hasattr(one, "classes_") for one in (first, second)) else None

    def settings(self, seen: Seen, level: float, size: int, measure: str) -> list[Setting]:
        return _chunked("voted", size, between=(0.25, 0.75))[1:4]


class Agreeing:
    """`agreed`, for any output that has few values."""

    wrapper: ClassVar[str] = "agreed"
    pairs: ClassVar[int] = 64

    def look(self, first: Any, second: Any, see: See) -> dict[str, Any] | None:
        # No two models or raw numbers are ever the same.
        return None if is_estimator(first) or Rounding().look(first, second, see) else {}

    def settings(self, seen: Seen, level: float, size: int, measure: str) -> list[Setting]:
        return _chunked("agreed", size)


def _chunked(wrapper: str, size: int, **more: Any) -> list[Setting]:
    """Return a setting for each number of chunks that leaves enough rows to a chunk."""
    made = []
    for chunks in _CHUNKS:
        rows = size // chunks
        if rows >= _ROWS:
            words = f"each fit sees {rows:,} of {size:,} rows"
            made.append(Setting(wrapper, {"chunks": chunks, **more}, words, rows=rows))
    return made


FAMILIES: tuple[RepairFamily, ...] = (Choosing(), Aligning(), Voting(), Rounding(), Agreeing())


def two_digits(value: float) -> float:
    """Return the next larger number of two digits, which is short to paste."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / step - 1e-9) * step:.2g}")


def _solved(gaps: Any, level: float) -> float:
    """Return the width w at which the mean of 1 - exp(-gap / w), which falls as w grows, is `level`; to a percent."""
    low, high = 1e-300, 1e300
    while high / low > 1.01:
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (middle, high) if np.mean(-np.expm1(-gaps / middle)) > level else (low, middle)
    return high
