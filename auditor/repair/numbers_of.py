"""Which numbers of an output have a width? They are taken out, by their paths, and put back when they are rounded.

Paths are those of a first difference: output['coef'][3], output.intercept, output[0]; `output` may be left out, and a
plain name stands for .name and ['name']. A width holds for all below its path, and the longest path that fits decides.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from auditor.errors import BadValue, SubjectError, suggestion
from auditor.repair.grid import has_cells
from auditor.repair.seam import positive
from auditor.subjects.estimators import is_estimator
from auditor.subjects.outcome import describe

Reals = npt.NDArray[np.float64]

_CURE = "return floats, arrays of them, or lists, tuples, dicts and dataclasses of these"


@dataclasses.dataclass(frozen=True, slots=True)
class Hole:
    """Where a number was; what is left of two outputs is the same only if they have the same holes."""

    path: str
    has_width: Any  # of an array, which of its elements; None for a float
    kept: Any  # the others, as they were


@dataclasses.dataclass(frozen=True, slots=True)
class Apart:
    """An output without its numbers, and the numbers and their widths by path, in one row each."""

    rest: Any
    numbers: dict[str, Reals]
    widths: dict[str, Reals]


class Widths:
    """A width for every number, or one for each of some paths."""

    def __init__(self, width: Any) -> None:
        given = width if isinstance(width, Mapping) else {"output": width}
        self.is_one = not isinstance(width, Mapping)
        if not given:
            raise BadValue("width", width, "must name at least one path, e.g. {'coef': 0.1}")
        checked = {path: positive("width", value, "that of a cell", 0.1) for path, value in given.items()}
        self.paths = {full: value for path, value in checked.items() for full in _spelt(path)}
        self.names = {full: path for path in checked for full in _spelt(path)}

    @property
    def least(self) -> float:
        return min(self.paths.values())

    def reach(self, path: str) -> bool:
        """Whether anything at, above or below a path has a width."""
        return any(_covers(path, known) or _covers(known, path) for known in self.paths)

    def at(self, path: str, shape: tuple[int, ...]) -> Reals | None:
        """The widths of the numbers at a path; None where there are none, NaN where one of an array has none."""
        above = [known for known in self.paths if _covers(known, path)]
        found = np.full(shape, self.paths[max(above, key=len)] if above else np.nan)
        for place, value in self._elements(path):
            found[place] = value
        return None if np.isnan(found).all() else found

    def _elements(self, path: str) -> Iterator[tuple[tuple[int, ...], float]]:
        for known, value in self.paths.items():
            if match := re.fullmatch(r"\[(\d+(?:, \d+)*)\]", known.removeprefix(path)) if known != path else None:
                yield tuple(map(int, match[1].split(", "))), value


def _spelt(path: object) -> list[str]:
    text = str(path)
    if text.startswith(("[", ".")):
        return [f"output{text}"]
    return [text] if re.match(r"output(\W|$)", text) else [f"output.{text}", f"output[{text!r}]"]


def _covers(known: str, path: str) -> bool:
    return path.startswith(known) and (len(path) == len(known) or path[len(known)] in "[.")


def take_apart(output: Any, widths: Widths) -> Apart:
    """The numbers that have a width, in memory of ours, and what is left of the output without them."""
    numbers: dict[str, Reals] = {}
    used: dict[str, Reals] = {}

    def look(path: str, leaf: Any) -> Any:
        width = widths.at(path, np.shape(leaf)) if _is_number(leaf) else None
        if width is None or (widths.is_one and not _is_float(leaf)):
            return leaf
        x, has_width = _checked(path, leaf, width), ~np.isnan(width)
        numbers[path], used[path] = x[has_width], width[has_width]
        is_array = isinstance(leaf, np.ndarray)
        return Hole(path, has_width if is_array else None, np.where(has_width, 0.0, x) if is_array else None)

    rest = mapped(output, look, widths)
    _check_found(output, widths, numbers)
    return Apart(rest, numbers, used)


def put_back(apart: Apart, numbers: Mapping[str, Reals]) -> Any:
    """The output with these numbers in its holes."""

    def fill(_: str, leaf: Any) -> Any:
        if not isinstance(leaf, Hole):
            return leaf
        if leaf.has_width is None:
            return float(numbers[leaf.path][0])
        found = leaf.kept.copy()
        found[leaf.has_width] = numbers[leaf.path]
        return found

    return mapped(apart.rest, fill)


def mapped(value: Any, look: Callable[[str, Any], Any], widths: Widths | None = None, path: str = "output") -> Any:
    """The same containers around what `look` makes of each leaf; what no width reaches stays as it is."""
    if widths is not None and not widths.reach(path):
        return value
    kind = type(value)
    if isinstance(value, dict):
        return {key: mapped(item, look, widths, f"{path}[{describe(key, 60)}]") for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        named = zip(kind._fields, value, strict=True)
        return kind(*(mapped(item, look, widths, f"{path}.{name}") for name, item in named))
    if isinstance(value, (list, tuple)):
        items = (mapped(item, look, widths, f"{path}[{i}]") for i, item in enumerate(value))
        return list(items) if isinstance(value, list) else tuple(items)
    if isinstance(value, Hole) or not (_is_record(value) or is_estimator(value)):
        return look(path, value)
    twin = copy.copy(value)
    for name in [f.name for f in dataclasses.fields(value)] if _is_record(value) else [*vars(value)]:
        object.__setattr__(twin, name, mapped(getattr(value, name), look, widths, f"{path}.{name}"))
    return twin


def _is_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _is_number(leaf: Any) -> bool:
    if isinstance(leaf, np.ndarray):
        return type(leaf) is np.ndarray and leaf.dtype.kind in "biufc" and leaf.size > 0
    return isinstance(leaf, (int, float, complex, np.number, np.bool_))


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, (float, np.floating)) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f")


def _checked(path: str, leaf: Any, width: Reals) -> Reals:
    """The numbers as floats that have a cell each; SubjectError with what is wrong otherwise."""
    if not _is_float(leaf):
        raise SubjectError(
            f"{path} is {describe(leaf, 60)}, and a grid rounds floats: leave its width out, as whole numbers and "
            "decisions stay what they are, or return a float there"
        )
    x = np.array(leaf, dtype=float)
    bad = ~has_cells(x, width) & ~np.isnan(width)
    if bad.any():
        place = tuple(map(int, np.argwhere(bad)[0]))
        where = f"{path}[{', '.join(map(str, place))}]" if place else path
        raise SubjectError(f"{where} is {float(x[place])!r}, and {_why(float(x[place]), float(width[place]))}")
    return x


def _why(x: float, width: float) -> str:
    if not np.isfinite(x):
        return "no cell of a grid holds that: return a finite number, or another output where there is none"
    least = abs(x) * 2.0**-50
    return f"cells of width {width:g} are too fine for floats of that size: use a width of at least {least:.2g}"


def _check_found(output: Any, widths: Widths, numbers: Mapping[str, Reals]) -> None:
    """Every width that was named must have met a number, else it was misspelt."""
    if not numbers and widths.is_one:
        raise SubjectError(f"the output, {describe(output, 60)}, has no floats that a grid could round: {_CURE}")
    met = {widths.names[known] for known in widths.paths for path in numbers if _meets(known, path)}
    missing = [path for path in dict.fromkeys(widths.names.values()) if path not in met]
    if missing and not widths.is_one:
        close = suggestion(missing[0], [path.removeprefix("output") for path in numbers])
        raise SubjectError(f"width[{missing[0]!r}] meets no number of the output, {describe(output, 60)}{close}")


def _meets(known: str, path: str) -> bool:
    return _covers(known, path) or _covers(path, known)
