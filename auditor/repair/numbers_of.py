"""Which numbers of an output have a width? They are taken out, by their paths, and put back when they are rounded.

Paths are those of a first difference: output['coef'][3], output.intercept, output[0]; `output` may be left out, and a
plain name stands for .name and ['name']. A width holds for all below its path, and the longest path that fits decides.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from auditor.errors import BadValue, NotComparable, SubjectError, suggestion
from auditor.escape import is_tangled
from auditor.repair.mechanisms.grid import MOST_CELLS, has_cells, why_no_cell
from auditor.repair.repaired import positive
from auditor.subjects.estimators import is_estimator
from auditor.values import Step, base_value, describe, mapped, path_text

Reals = npt.NDArray[np.float64]
Found = dict[str, tuple[Any, Any, Any]]  # by path: numbers, their widths, and which elements have one

_CURE = "return numbers, arrays of them, or lists, tuples, dicts and dataclasses of these"
_EXACT = 2.0**53  # whole numbers up to which floats have them all


@dataclasses.dataclass(frozen=True, slots=True)
class Hole:
    """Where a number was; what is left of two outputs is the same only if they have the same holes."""

    path: str
    has_width: Any = None  # of an array, which of its elements; None for a single number
    kept: Any = None  # the others, as they were
    whole: bool = False  # it held a whole number, and is to hold one again

    def __deepcopy__(self, memo: dict[int, Any]) -> Hole:
        """Return the hole itself, into which nobody writes."""
        return self


@dataclasses.dataclass(frozen=True, slots=True)
class Apart:
    """An output without its numbers, and these in a row with their widths, so many a path, in the order of paths."""

    rest: Any
    sizes: dict[str, int]
    numbers: Reals
    widths: Reals
    whole: npt.NDArray[np.bool_]  # which of the numbers are whole, and stay so

    def __deepcopy__(self, memo: dict[int, Any]) -> Apart:
        """Return a twin whose rest can be changed, since some of it will be in an output; nobody writes into the other
        fields."""
        return Apart(copy.deepcopy(self.rest, memo), self.sizes, self.numbers, self.widths, self.whole)


class Widths:
    """A width for every number, or one for each of some paths.

    One width is for the floats of an output, and for its whole numbers if it has no floats, or if `whole` says so.
    """

    def __init__(self, width: Any, *, whole: bool = False) -> None:
        given = width if isinstance(width, Mapping) else {"output": width}
        self.is_one, self.whole = not isinstance(width, Mapping), whole
        if not given:
            raise BadValue("width", width, "must name at least one path, e.g. {'coef': 0.1}")
        checked = {path: positive("width", value, "that of a cell", 0.1) for path, value in given.items()}
        self.paths = {full: value for path, value in checked.items() for full in _spelt(path)}
        self.names = {full: path for path in checked for full in _spelt(path)}

    @property
    def least(self) -> float:
        """The smallest of all widths."""
        return min(self.paths.values())

    def reach(self, path: str) -> bool:
        """True if a number at, above or below this path of an output is to be rounded, since it has a grid's width; one
        width without a path (`is_one`) is for all of them."""
        return self.is_one or any(_meet(known, path) for known in self.paths)

    def at(self, path: str) -> float:
        """Return the width of what is at a path; NaN where it has none."""
        if self.is_one:
            return self.paths["output"]
        above = [known for known in self.paths if _covers(known, path)]
        return self.paths[max(above, key=len)] if above else math.nan

    def over(self, path: str, shape: tuple[int, ...]) -> Reals:
        """Return the widths of an array's elements."""
        found = np.full(shape, self.at(path))
        for known, value in self.paths.items():
            if match := re.fullmatch(r"\[(\d+(?:, \d+)*)\]", known.removeprefix(path)) if known != path else None:
                found[tuple(map(int, match[1].split(", ")))] = value
        return found


def _spelt(path: object) -> list[str]:
    """Return the paths that a user may mean by a short one: coef_ is output.coef_ or output['coef_']."""
    text = str(path)
    if text.startswith(("[", ".")):
        return [f"output{text}"]
    return [text] if re.match(r"output(\W|$)", text) else [f"output.{text}", f"output[{text!r}]"]


def _covers(known: str, path: str) -> bool:
    """True if a path is another one, or leads to something inside it."""
    return path.startswith(known) and (len(path) == len(known) or path[len(known)] in "[.")


def _meet(known: str, path: str) -> bool:
    """True if one of two paths leads to something inside the other."""
    return _covers(known, path) or _covers(path, known)


def take_apart(output: Any, widths: Widths, *, most: float = MOST_CELLS) -> Apart:
    """Return the numbers that have a width, in memory of ours, and what is left of the output without them.

    SubjectError where a number is more than `most` cells from 0."""
    if is_tangled(output):
        raise NotComparable("the output reaches the same parts in too many ways: return each number in one place alone")
    rest, found = _taken_out(output, widths, whole=widths.whole or not widths.is_one)
    if widths.is_one and not found:
        rest, found = _taken_out(output, widths, whole=True)
    _check_found(output, widths, found)
    paths = sorted(found)
    x, width = (np.concatenate([found[path][side] for path in paths]).astype(float) for side in (0, 1))
    whole = np.concatenate([np.full(len(found[path][0]), not _is_float(found[path][0])) for path in paths])
    _check_cells(found, x, width, most)
    return Apart(rest, {path: len(found[path][0]) for path in paths}, x, width, whole)


def _taken_out(output: Any, widths: Widths, *, whole: bool) -> tuple[Any, Found]:
    """Return the output with holes in place of its numbers, and these; whole ones stay unless `whole` is True."""
    found: Found = {}

    def look(path: str, leaf: Any) -> Any:
        leaf = _plain_array(leaf)
        if not _is_number(leaf) or (widths.is_one and not _is_float(leaf) and not (whole and _is_whole(leaf))):
            return leaf
        is_array = isinstance(leaf, np.ndarray)
        width: Any = widths.over(path, leaf.shape) if is_array else widths.at(path)
        has_width = ~np.isnan(width)
        if not has_width.any():
            return leaf
        _check_can_be_rounded(path, leaf, width)
        kind = np.asarray(leaf).dtype
        found[path] = (
            (leaf[has_width], width[has_width], has_width)
            if is_array
            else (np.array([leaf], kind), (width,), has_width)
        )
        kept = np.where(has_width, np.zeros((), kind), leaf) if is_array else None
        return Hole(path, has_width if is_array else None, kept, not _is_float(leaf))

    return _mapped(output, look, widths), found


def put_back(apart: Apart, numbers: Reals) -> Any:
    """Return the output with these numbers, in the order of paths, in its holes."""
    ends = dict(zip(apart.sizes, accumulate(apart.sizes.values()), strict=True))

    def fill(_: str, leaf: Any) -> Any:
        if not isinstance(leaf, Hole):
            return leaf
        own = numbers[ends[leaf.path] - apart.sizes[leaf.path] : ends[leaf.path]]
        if leaf.has_width is None:
            return int(own[0]) if leaf.whole else float(own[0])
        found = leaf.kept.copy()
        found[leaf.has_width] = own
        return found

    return fill("", apart.rest) if isinstance(apart.rest, Hole) else _mapped(apart.rest, fill)


def _mapped(value: Any, look: Callable[[str, Any], Any], widths: Widths | None = None) -> Any:
    """Return the same containers, dataclasses and estimators around what `look` makes of each leaf, given its path;
    what no width reaches stays as it is."""

    def into(part: Any, steps: Sequence[Step]) -> bool:
        has_parts = isinstance(part, (dict, list, tuple)) or _is_record(part) or is_estimator(part)
        return has_parts and not isinstance(part, Hole) and (widths is None or widths.reach(_path(steps)))

    def leaf(part: Any, steps: Sequence[Step]) -> Any:
        path = _path(steps)
        return look(path, part) if widths is None or widths.reach(path) else part

    return mapped(value, leaf, into, once=False)


def _path(steps: Sequence[Step]) -> str:
    """Return steps of a walk as the path that a user writes: output.coef_[3]."""
    return f"output{path_text(steps)}"


def _plain_array(leaf: Any) -> Any:
    """Return the numpy array that an array of another library stands for; any other leaf as it is."""
    if isinstance(leaf, np.ndarray) and type(leaf) is not np.ndarray:  # it may carry a unit
        return leaf
    plain = base_value(leaf)
    return plain if isinstance(plain, (np.ndarray, np.generic)) else leaf


def _is_record(value: Any) -> bool:
    """True for an object of a dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _is_number(leaf: Any) -> bool:
    """True for a number, or an array of numbers that is not empty."""
    if isinstance(leaf, np.ndarray):
        return type(leaf) is np.ndarray and leaf.dtype.kind in "biufc" and leaf.size > 0
    return isinstance(leaf, (int, float, complex, np.number, np.bool_))


def _is_float(leaf: Any) -> bool:
    """True for a float, or an array of floats."""
    return isinstance(leaf, (float, np.floating)) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f")


def _is_whole(leaf: Any) -> bool:
    """True for a whole number, or an array of whole numbers."""
    if isinstance(leaf, np.ndarray):
        return leaf.dtype.kind in "iu"
    return isinstance(leaf, (int, np.integer)) and not isinstance(leaf, bool)


def _check_can_be_rounded(path: str, leaf: Any, width: Any) -> None:
    """Raise SubjectError for what is neither floats nor whole numbers with whole widths."""
    if _is_float(leaf):
        return
    if not _is_whole(leaf):
        raise SubjectError(
            f"{path} is {describe(leaf, 60)}, and a grid rounds numbers: leave its width out, as decisions stay what "
            "they are, or return a number there"
        )
    if np.any(np.mod(width, 1)[~np.isnan(width)]):
        given = np.ravel(width)[~np.isnan(np.ravel(width))][0]
        raise SubjectError(
            f"{path} is {describe(leaf, 60)}, and whole numbers stay whole on a grid of whole width: {given:g} is "
            f"none, use e.g. {max(2, math.ceil(given))}, or return a float there"
        )
    if np.any(np.abs(np.asarray(leaf, dtype=float)) > _EXACT):
        raise SubjectError(f"{path} is {describe(leaf, 60)}, and a grid holds whole numbers up to 2^53: return a float")


def _check_cells(found: Found, x: Reals, width: Reals, most: float) -> None:
    """Raise SubjectError with the first number that has no cell of its width: NaN, an infinity, or one too large."""
    none = np.flatnonzero(~has_cells(x, width, most=most))
    if len(none):
        places = [(path, place) for path in sorted(found) for place in np.argwhere(found[path][2]).tolist()]
        path, place = places[none[0]]
        where = f"{path}[{', '.join(map(str, place))}]" if place else path
        number = float(x[none[0]])
        raise SubjectError(f"{where} is {number!r}, and {why_no_cell(number, float(width[none[0]]), most=most)}")


def _check_found(output: Any, widths: Widths, numbers: Mapping[str, Any]) -> None:
    """Raise SubjectError if a width that was named has met no number: its path was misspelt."""
    if widths.is_one and numbers:
        return
    if widths.is_one:
        raise SubjectError(f"the output, {describe(output, 60)}, has no numbers that a grid could round: {_CURE}")
    met = {widths.names[known] for known in widths.paths for path in numbers if _meet(known, path)}
    missing = [path for path in dict.fromkeys(widths.names.values()) if path not in met]
    if missing:
        close = suggestion(missing[0], [path.removeprefix("output") for path in numbers])
        raise SubjectError(f"width[{missing[0]!r}] meets no number of the output, {describe(output, 60)}{close}")
