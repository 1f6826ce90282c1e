"""Which wrappers fit a learner's outputs, and with which widths, strengths or numbers of chunks?

A family belongs to one wrapper: it says what of two outputs has to be looked at, and makes from that the settings that
are worth trying, cheapest first, each with what it costs by the wrapper's theorem.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.errors import SubjectError, UsageError, suggestion
from auditor.literals import read_call
from auditor.repair.agreeing import agreed
from auditor.repair.aligning import aligned
from auditor.repair.calibrating import conformal, rounded_up
from auditor.repair.choosing import candidates_of, chosen, last_step, own_top
from auditor.repair.deciding import thresholded
from auditor.repair.mechanisms.foam import RATE as FOAM_RATE
from auditor.repair.mechanisms.grid import leaves_nothing, two_digits, why_useless, width_at
from auditor.repair.mechanisms.lattice import lattice_for
from auditor.repair.numbers_of import Apart, Widths, take_apart
from auditor.repair.privacy import correlated, private
from auditor.repair.repaired import Repaired
from auditor.repair.risks import erm
from auditor.repair.rounding import rounded
from auditor.repair.steadying import sites
from auditor.repair.voting import voted
from auditor.statistics.digits import at_most, exact
from auditor.subjects.estimators import is_estimator, predicts_numbers
from auditor.values import base_value, same

BY_COUNT, BY_MEAN = 0.6, 0.8  # shares of the target that an audit's pairs can confirm, by a count and by a mean
AIM = 0.9  # share of that which the middle setting is made for, from the few pairs that were looked at
_STEPS = range(-5, 4)  # the settings around it, by factors of sqrt(2)
_WRAPPERS: Mapping[str, Callable[..., Repaired]] = {
    fn.__name__: fn
    for fn in (
        *(rounded, rounded_up, conformal, chosen, thresholded, voted, agreed, aligned, sites),
        *(erm, correlated, private),
    )
}
_EXAMPLES = {
    "rounded_up": "width=0.2",
    "conformal": "a=0.1, width=0.2",
    "thresholded": "low=0.0, high=0.2",
    "erm": "alpha=0.1",
    "private": "chunks=136, eps=1, delta=1e-6",
}
KEEP_VIEW = ("rounded", "voted", "agreed", "sites")  # their outputs are of the learner's kind, and so is the view
_ATTRIBUTES = ("coef_", "intercept_")  # what linear models predict with
_SIMILAR = 3.0  # scales within this factor of each other share a width
_PATHS = 12  # at most this many paths get a width of their own
_CHUNKS = (4, 8, 16, 32, 64)
_ROWS = 10  # that a chunk has at least
_SCORED = 200  # candidates up to which a choice is compared with a random one
_RANDOM = 0.9  # of what a random choice loses: who loses more is not offered
NAMES = 10  # whole numbers below this may be names, of classes or candidates

See = Callable[[Any], Any]  # returns what of an output is compared
Seen = Sequence[Mapping[str, Any]]  # what `look` found, one for each pair


class Setting(msgspec.Struct, frozen=True):
    """A wrapper with its arguments, and its price."""

    wrapper: str
    arguments: Mapping[str, Any]
    words: str = ""  # the price in words
    change: float | None = None  # how far an answer moves at most, where that is a number
    rows: int | None = None  # how many rows one run of the learner sees, where it is not the whole sample
    useless: str = ""  # why it is not offered although it fits

    @property
    def spec(self) -> str:
        """The text that `--with` takes."""
        return f"{self.wrapper}({self.keywords})"

    @property
    def keywords(self) -> str:
        """The arguments of the wrapper as they are written in Python."""
        return ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())

    @property
    def keeps_view(self) -> bool:
        """True if the wrapped learner's outputs are compared by the same view as before."""
        return self.wrapper in KEEP_VIEW

    def wrap(self, learner: Any) -> Repaired:
        """Return the learner with this wrapper around it."""
        return _WRAPPERS[self.wrapper](learner, **self.arguments)


# Offered where draws fall out of step, whatever the outputs are.
SITES = Setting("sites", {}, "some microseconds a draw; a single run has the law that it had")


def read_setting(text: str) -> Setting:
    """Return the setting that a text such as `rounded(width=0.2)` names; UsageError if it is none.

    Of a wrapper that `repair` can find settings for, some arguments may be left out.
    """
    example = '--with "rounded(width=0.2)"'
    try:
        wrapper, positional, arguments = read_call(text)
    except ValueError as error:
        raise UsageError(f"--with {text!r} is no wrapper ({error}): write e.g. {example}") from error
    if wrapper not in _WRAPPERS or positional:
        known = ", ".join(_WRAPPERS)
        raise UsageError(f"--with {text!r} must be one of {known}, its arguments by name: write e.g. {example}")
    setting = Setting(wrapper, arguments)
    takes, missing = [*_parameters(wrapper)], missing_arguments(setting)
    if unknown := [name for name in arguments if name not in takes]:
        raise UsageError(
            f"--with {text!r}: {wrapper} has no argument {unknown[0]}{suggestion(unknown[0], takes)}; it takes "
            f"{', '.join(takes) or 'none'}"
        )
    if missing and wrapper not in {family.wrapper for family in FAMILIES}:
        raise UsageError(
            f"--with {text!r}: {wrapper} needs {' and '.join(missing)}: write e.g. --with "
            f'"{wrapper}({_EXAMPLES[wrapper]})"'
        )
    return setting


def missing_arguments(setting: Setting) -> list[str]:
    """Return the arguments that a wrapper needs and a setting lacks."""
    needed = [name for name, one in _parameters(setting.wrapper).items() if one.default is one.empty]
    return [name for name in needed if name not in setting.arguments]


def _parameters(wrapper: str) -> dict[str, inspect.Parameter]:
    """Return the parameters of a wrapper, other than the learner, by name."""
    _, *rest = inspect.signature(_WRAPPERS[wrapper]).parameters.values()
    return {one.name: one for one in rest}


class RepairFamily(Protocol):
    """The settings of one wrapper."""

    wrapper: ClassVar[str]
    pairs: ClassVar[int]  # of its frontier: fewer where each setting needs runs of its own

    def look(self, first: Any, second: Any, see: See) -> dict[str, Any] | None:
        """Return what `settings` needs to know of two outputs; None if the wrapper does not fit them."""

    def settings(self, seen: Seen, level: float, size: int, measure: str) -> list[Setting]:
        """Return settings around the one whose rho (or churn, by `measure`) should be `level`."""


class RoundingFamily:
    """`rounded`, for the numbers of an output; the coefficients of a linear model; the predictions of other regressors.

    A lattice is offered beside boxes where all numbers share a width and a loss says what is lost, since it moves one
    number further and all of them together less far than boxes do. Foams are not, as lattices do better.
    """

    wrapper: ClassVar[str] = "rounded"
    pairs: ClassVar[int] = 128

    def look(self, first: Any, second: Any, see: See) -> dict[str, Any] | None:
        """Return how far apart the numbers of two outputs are, by which widths are chosen; None if they cannot be
        rounded."""
        widths = _widths_of(first)
        if widths is None:
            return _predicted_apart(see(first), see(second)) if predicts_numbers(first) else None
        try:
            mine, theirs = take_apart(first, widths), take_apart(second, widths)
            alike = is_estimator(first) or same(mine.rest, theirs.rest)
            if not alike and mine.sizes == theirs.sizes:  # whole numbers may be all else that differs
                every = Widths(1.0, whole=True)
                both = take_apart(first, every), take_apart(second, every)
                if both[0].sizes == both[1].sizes and same(both[0].rest, both[1].rest) and not _has_names(*both):
                    (mine, theirs), alike = both, True
        except SubjectError:
            return None
        if mine.sizes != theirs.sizes:
            return {"gaps": {}, "sizes": {}, "alike": False}
        if _has_names(mine, theirs):
            return None
        apart, whole = np.abs(mine.numbers - theirs.numbers), [*_by_path(mine, mine.whole)]
        return {
            "gaps": {path: float(one.sum()) for path, one in _by_path(mine, apart)},
            "ranges": {path: _range(*both) for path, *both in _by_path(mine, mine.numbers, theirs.numbers)},
            "sizes": mine.sizes,
            "alike": alike,
            "named": not widths.is_one or len({bool(one.any()) for _, one in whole}) > 1,
            "whole": [path for path, one in whole if one.any()],
            "far": float(np.linalg.norm(apart)),
        }

    def settings(self, seen: Seen, level: float, size: int, measure: str) -> list[Setting]:
        """Return widths to try: around the one at which the seen distances lead to this level of rho."""
        if "points" in seen[0]:
            # Churn is the mean of min(1, |c - c'| / w), about the mean of |c - c'| over w; rho is at most their sum.
            apart = [one["points" if measure == "churn" else "all"] for one in seen]
            words = "a prediction moves by at most {}"
            centre = float(np.mean(apart))  # NaN where some predictions are, and no grid holds those
            made = _of_widths("rounded", centre / level, words) if 0 < centre < math.inf else []
            return _marked(made, [one["ranges"] for one in seen if "ranges" in one])
        alike = [one for one in seen if one["alike"]]
        if not alike or any(one["sizes"] != alike[0]["sizes"] for one in alike):
            return []
        sizes, is_named, whole = alike[0]["sizes"], alike[0]["named"], alike[0].get("whole", [])
        tiling, numbers = alike[0].get("tiling", "boxes"), sum(sizes.values())
        far = np.array([one.get("far", 0.0) for one in alike])
        kept = [one["ranges"] for one in alike if "ranges" in one]
        if tiling != "boxes" and not is_named and not whole:
            return _marked(_of_vectors(tiling, numbers, far, level), kept)
        # How far apart the numbers of each path are on average; those of an output that are similar share a width.
        scales = {path: float(np.mean([one["gaps"][path] for one in alike])) / count for path, count in sizes.items()}
        scales = {path: scale for path, scale in scales.items() if 0 < scale < math.inf}
        if not scales:
            return []
        is_named = is_named or (bool(whole) and len(scales) < len(sizes))  # numbers that are always the same stay so
        largest = max(scales.values())
        if not is_named and (len(scales) > _PATHS or largest <= _SIMILAR * min(scales.values())):
            scales = dict.fromkeys(sizes, largest)
        gaps = np.array([[one["gaps"][path] / scale for path, scale in scales.items()] for one in alike])
        centre, made = width_at(gaps, level), []
        for unit in (centre * 2 ** (step / 2) for step in _STEPS):
            widths: dict[str, float] = {}
            for path, scale in scales.items():
                two = two_digits(unit * scale)
                widths[path.removeprefix("output.")] = max(2, math.ceil(two)) if path in whole else two
            width: Any = widths if is_named or len({*scales.values()}) > 1 else next(iter(widths.values()))
            change = max(widths.values()) / 2
            words = f"a number moves by at most {at_most(change)}"
            if isinstance(width, dict) and len(width) > 1:
                halves = ", ".join(f"{at_most(one / 2)} in {path}" for path, one in width.items())
                words = f"a number moves by at most half its width: {halves}"
            made.append(Setting("rounded", {"width": width}, words, change))
        if alike[0].get("has loss") and not isinstance(made[0].arguments["width"], dict) and not whole and numbers > 1:
            made += _of_vectors("best", numbers, far, level)
        kept = [{path: one[path] for path in scales} for one in kept]
        return _marked([*{one.spec: one for one in made}.values()], kept)


def _of_vectors(tiling: str, numbers: int, far: Any, level: float) -> list[Setting]:
    """Return the settings of a tiling that rounds all numbers as one vector, given how far two of them are apart."""
    if not far.any():
        return []
    is_foam = tiling == "foams"
    rate = FOAM_RATE if is_foam else lattice_for(tiling, numbers).worst_of(numbers)
    radius = math.sqrt(numbers) / 2 if is_foam else lattice_for(tiling, numbers).radius_of(numbers)
    centre, made = width_at(rate * far[:, None], level), []
    for width in (two_digits(centre * 2 ** (step / 2)) for step in _STEPS):
        words = f"all numbers together move by at most {at_most(radius * width)}"
        made.append(Setting("rounded", {"width": width, "tiling": tiling}, words, radius * width))
    return made


def _by_path(apart: Apart, *rows: Any) -> Iterator[tuple[Any, ...]]:
    """Yield each path of an output with its part of each row."""
    ends = np.cumsum([0, *apart.sizes.values()])
    for path, a, b in zip(apart.sizes, ends, ends[1:], strict=False):
        yield path, *(row[a:b] for row in rows)


def _range(mine: Any, theirs: Any) -> list[float]:
    """Return the least and the largest of the numbers of a path; of several numbers of both signs 0 and the largest
    distance from it, as there is more than one place that they may be around."""
    both = np.concatenate([mine, theirs])
    low, high = float(both.min()), float(both.max())
    return [low, high] if len(mine) == 1 or low * high >= 0 else [0.0, max(-low, high)]


def _has_names(*outputs: Apart) -> bool:
    """True if a path has whole numbers that seem to name something, and neither count nor measure: they are small, or
    most of them come several times."""
    for apart in outputs:
        for _, numbers, whole in _by_path(apart, apart.numbers, apart.whole):
            if whole.any() and (np.abs(numbers).max() < NAMES or 1 < len(numbers) >= 2 * len(np.unique(numbers))):
                return True
    return False


def _marked(settings: list[Setting], ranges: Sequence[Mapping[str, Sequence[float]]]) -> list[Setting]:
    """Mark the settings that would leave nothing of any number of an output, given what was seen of each path."""
    if not ranges:
        return settings
    ends = {path: [one[path] for one in ranges if path in one] for path in ranges[0]}
    seen = {path: (min(low for low, _ in one), max(high for _, high in one)) for path, one in ends.items()}
    marked = []
    for setting in settings:
        width = setting.arguments["width"]
        widths = {path: width[path.removeprefix("output.")] if isinstance(width, dict) else width for path in seen}
        if leaves_nothing([*widths.values()], [*seen.values()]):
            settled = {path: ends for path, ends in seen.items() if not ends[0] < 0 < ends[1]}
            path, (low, high) = max(settled.items(), key=lambda item: max(map(abs, item[1])))
            setting = replace(setting, useless=why_useless(widths[path], low, high))
        marked.append(setting)
    return marked


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
    """True for a float, or an array of floats that is not empty."""
    value = base_value(value)
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size > 0)


def _predicted_apart(first: Any, second: Any) -> dict[str, Any] | None:
    """Return how far apart the predictions are: of one point on average, and of all points together."""
    mine, theirs = np.asarray(first), np.asarray(second)
    if mine.dtype.kind != "f" or mine.shape != theirs.shape:
        return None
    apart = np.abs(mine - theirs)
    ranges = {"predictions": _range(mine.ravel(), theirs.ravel())}
    return {"points": float(apart.mean()), "all": float(apart.sum()), "ranges": ranges}


def _of_widths(wrapper: str, centre: Any, words: str) -> list[Setting]:
    """Return settings with widths around this one, each with what it costs in words."""
    widths = (two_digits(float(centre) * 2 ** (step / 2)) for step in _STEPS)
    return [Setting(wrapper, {"width": width}, words.format(at_most(width / 2)), width / 2) for width in widths]


class ChoosingFamily:
    """`chosen`, for features that a selector scores, settings that a search scores and, where it is asked for, scores
    by name."""

    wrapper: ClassVar[str] = "chosen"
    pairs: ClassVar[int] = 128

    def look(self, first: Any, second: Any, see: See) -> dict[str, Any] | None:
        """Return how far apart the scores of two outputs are, and how many candidates there are; None without
        scores."""
        decides = last_step(first)
        is_scores = has_scores(first) and has_scores(second)
        if not (hasattr(decides, "cv_results_") or hasattr(decides, "get_support") or is_scores):
            return None
        try:
            mine, theirs = candidates_of(first).scores, candidates_of(second).scores
        except (SubjectError, UsageError):
            return None
        moved = [mine[name] - theirs[name] for name in mine if name in theirs]
        moved = [one for one in moved if math.isfinite(one)]
        top = 1
        if hasattr(decides, "get_support"):
            top = own_top(decides) or int(np.sum(decides.get_support()))
        spread = max(moved, default=0.0) - min(moved, default=0.0)
        found: dict[str, Any] = {"spread": spread, "count": len(mine), "top": max(1, top)}
        if is_scores:
            found["only if asked"] = True
        finite = sorted(score for score in mine.values() if math.isfinite(score))
        if top == 1 and 0 < len(finite) <= _SCORED:
            found["behind"] = [float(finite[-1] - score) for score in finite]
        return found

    def settings(self, seen: Seen, level: float, size: int, measure: str) -> list[Setting]:
        """Return strengths of the noise to try: from the one that the theorem asks for to larger ones."""
        top, count = int(np.median([one["top"] for one in seen])), max(one["count"] for one in seen)
        spread = float(np.mean([one["spread"] for one in seen]))
        if spread == 0 or count <= top:
            return []
        least = level / (top * spread)  # the theorem's own: 1 - exp(-k strength range) is about the level
        made = []
        for strength in (two_digits(least * 2.0**step) for step in range(9, -2, -1)):
            lost, given = math.log(count) / strength, {"strength": strength, **({"top": top} if top > 1 else {})}
            words = f"the expected score is at most {at_most(lost)} below the best"
            behind = [np.array(one["behind"]) for one in seen if one.get("behind") and top == 1]
            made.append(Setting("chosen", given, words, lost, useless=_nearly_random(strength, behind)))
        return made


def _nearly_random(strength: float, behind: Sequence[Any]) -> str:
    """Return why a choice of this strength is not offered; "" if it is better than a random one. `behind` has for each
    sample how far each score is below the best."""
    if not behind:
        return ""
    shares = [np.exp(-strength * one) for one in behind]
    lost = np.mean([float(one @ share / share.sum()) for one, share in zip(behind, shares, strict=True)])
    random = float(np.mean([one.mean() for one in behind]))
    if lost < _RANDOM * random:
        return ""
    return (
        f"with strength {exact(strength)}, as it takes, the choice would be nearly random: the chosen score would be "
        f"{lost:.3g} below the best on average, and that of a random candidate is {random:.3g} below it"
    )


class AligningFamily:
    """`aligned`, for clusterers with centres."""

    wrapper: ClassVar[str] = "aligned"
    pairs: ClassVar[int] = 128

    def look(self, first: Any, second: Any, see: See) -> dict[str, Any] | None:
        """Return how far apart the matched centres of two clusterings are; None if there are none."""
        mine, theirs = (getattr(one, "cluster_centers_", None) for one in (first, second))
        if mine is None or theirs is None or np.shape(mine) != np.shape(theirs):
            return None
        from scipy.optimize import linear_sum_assignment

        apart = np.abs(np.asarray(mine)[:, None] - np.asarray(theirs)[None])
        return {"gap": float(apart[linear_sum_assignment(apart.sum(axis=-1))].sum()), "across": float(np.ptp(mine))}

    def settings(self, seen: Seen, level: float, size: int, measure: str) -> list[Setting]:
        """Return widths to try for the grid on which centres are rounded."""
        gaps = np.array([one["gap"] for one in seen])
        if not gaps.any():
            return []
        made = _of_widths("aligned", width_at(gaps[:, None], level), "a centre moves by at most {} a coordinate")
        across = max(one.get("across", math.inf) for one in seen)
        why = "a grid of width {} is wider than all that lies between the centres, {}"
        return [
            replace(one, useless=why.format(exact(one.arguments["width"]), at_most(across)))
            if one.arguments["width"] > across
            else one
            for one in made
        ]


class VotingFamily:
    """`voted`, for classifiers. It promises a churn, and no rho."""

    wrapper: ClassVar[str] = "voted"
    pairs: ClassVar[int] = 16

    def look(self, first: Any, second: Any, see: See) -> dict[str, Any] | None:
        """Return an empty account if both outputs are fitted classifiers, which can vote; else None."""
        return {} if all(hasattr(one, "predict") and hasattr(one, "classes_") for one in (first, second)) else None

    def settings(self, seen: Seen, level: float, size: int, measure: str) -> list[Setting]:
        """Return numbers of chunks to try, each of which trains a voter."""
        return _chunked("voted", size, between=(0.25, 0.75))[1:4]


class AgreeingFamily:
    """`agreed`, for any output that has few values."""

    wrapper: ClassVar[str] = "agreed"
    pairs: ClassVar[int] = 64

    def look(self, first: Any, second: Any, see: See) -> dict[str, Any] | None:
        """Return an empty account if outputs may agree as they are; None for models and raw numbers, which never do."""
        # No two models or raw numbers are ever the same.
        return None if is_estimator(first) or RoundingFamily().look(first, second, see) else {}

    def settings(self, seen: Seen, level: float, size: int, measure: str) -> list[Setting]:
        """Return numbers of chunks to try, which have to agree on an output."""
        return _chunked("agreed", size)


def has_scores(output: Any) -> bool:
    """True if an output is scores of several candidates by name."""
    is_scores = isinstance(output, Mapping) and len(output) > 1
    return is_scores and all(isinstance(one, (float, np.floating)) for one in output.values())


def _chunked(wrapper: str, size: int, **more: Any) -> list[Setting]:
    """Return a setting for each number of chunks that leaves enough rows to a chunk."""
    made = []
    for chunks in _CHUNKS:
        rows = size // chunks
        if rows >= _ROWS:
            words = f"each fit sees {rows:,} of {size:,} rows"
            made.append(Setting(wrapper, {"chunks": chunks, **more}, words, rows=rows))
    return made


FAMILIES: tuple[RepairFamily, ...] = (
    ChoosingFamily(),
    AligningFamily(),
    VotingFamily(),
    RoundingFamily(),
    AgreeingFamily(),
)
