"""What varies along a curve, and which values it takes: --vary size=100:1e6:log12, tau=0.05,0.1, p=0.4:0.6:lin21."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.errors import UsageError
from auditor.flow.record import as_json
from auditor.literals import literal_or_text
from auditor.questions.cell_inquiries import load_asked
from auditor.questions.varied import check_known, check_not_given, is_whole
from auditor.request import Request
from auditor.subjects.subject import Subject, param_text
from auditor.trials.cell import Cell, make_cell

_EXAMPLE = "e.g. size=100:1e6:log12, p=0.4:0.6:lin21 or tau=0.05,0.1,0.2"
_RANGE = re.compile(r"(?P<start>[^:]+):(?P<stop>[^:]+):(?P<spacing>log|lin)(?P<count>\d+)")
MOST_POINTS = 1000


class Axis(msgspec.Struct, frozen=True):
    """What varies, and its values in order; `spacing` is "log", "lin" or "list"."""

    name: str
    values: tuple[Any, ...]
    spacing: str

    @property
    def shown(self) -> list[Any]:
        """The values as a record has them: numbers as they are, all else as the text that --param takes."""
        return [as_json({"": value})[""] for value in self.values]

    @property
    def is_log(self) -> bool:
        """True if ratios are what matters, so that a power law can be read off."""
        if self.spacing == "lin" or not all(_is_number(value) and value > 0 for value in self.values):
            return False
        return self.spacing == "log" or self.values[-1] >= 4 * self.values[0]


def make_axis(vary: str | Mapping[str, Iterable[Any]], *, least: int = 2) -> Axis:
    """Return the axis that a user typed, or gave as {name: values}: numbers in order, each value once and at least so
    many of them.

    UsageError with an example if it is none."""
    if isinstance(vary, str):
        asked = f"--vary {vary}"
        name, values, spacing = _parsed(vary)
    elif isinstance(vary, Mapping) and len(vary) == 1 and all(isinstance(one, Iterable) for one in vary.values()):
        ((name, given),) = vary.items()
        asked, spacing = f"vary={{{name!r}: ...}}", "list"
        values = [one.item() if isinstance(one, np.generic) else one for one in given]  # which a record can hold
    else:
        raise UsageError(f"vary={vary!r} must be a text, or one name with its values: {{'size': [100, 1000]}}")
    if not all(math.isfinite(value) for value in values if isinstance(value, float)):
        raise UsageError(f"{asked}: a value must be finite, {_EXAMPLE}")
    if name == "size":
        for value in values:
            if not _is_number(value) or value < 0:
                raise UsageError(f"{asked}: {value!r} is no number of rows, {_EXAMPLE}")
        values = [round(value) for value in values]
    are_numbers = all(map(_is_number, values))
    unique = sorted(set(values)) if are_numbers else [v for i, v in enumerate(values) if v not in values[:i]]
    if not least <= len(unique) <= MOST_POINTS:
        few = "a curve needs two or more" if len(unique) < least else f"use {least} to {MOST_POINTS}"
        raise UsageError(f"{asked} gives {len(unique)} value{'s' * (len(unique) != 1)}: {few}, {_EXAMPLE}")
    return Axis(name, tuple(unique), spacing if are_numbers else "list")


def _parsed(text: str) -> tuple[str, list[Any], str]:
    """Return name, values and spacing of what was typed: a range, or values with commas between them."""
    name, equals, spec = text.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"--vary {text} must be NAME=VALUES, {_EXAMPLE}")
    found = _RANGE.fullmatch(spec)
    if found is None and ":" in spec:
        raise UsageError(f"--vary {text}: a range is START:STOP:logN or START:STOP:linN, {_EXAMPLE}")
    if found is None:
        return name, [literal_or_text(word.strip()) for word in spec.split(",")], "list"
    try:
        start, stop, count = float(found["start"]), float(found["stop"]), int(found["count"])
    except ValueError as error:
        raise UsageError(f"--vary {text}: {error}; {_EXAMPLE}") from error
    if not 2 <= count <= MOST_POINTS:
        raise UsageError(f"--vary {text} has {count} points: use 2 to {MOST_POINTS}, {_EXAMPLE}")
    if not (math.isfinite(start) and math.isfinite(stop) and start < stop):
        raise UsageError(f"--vary {text} must go from a smaller to a larger number, {_EXAMPLE}")
    if found["spacing"] == "log" and start <= 0:
        raise UsageError(f"--vary {text}: a log range must start above 0, {_EXAMPLE}")
    values = np.geomspace(start, stop, count) if found["spacing"] == "log" else np.linspace(start, stop, count)
    return name, [float(f"{value:.6g}") for value in values], found["spacing"]  # six digits, which can be typed again


def _is_number(value: object) -> bool:
    """True for a number that is no truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def make_points(request: Request, axis: Axis) -> tuple[Axis, list[Cell]]:
    """Return a cell for each value of the size, of a parameter, or of {name} in the source; the axis has whole numbers
    if the parameter is one."""
    source, options, name, hole = request.source, request.options, axis.name, f"{{{axis.name}}}"
    subject = load_asked(request, options.params)
    if isinstance(source, str) and hole in source:
        sources = [source.replace(hole, param_text(value)) for value in axis.values]
        return axis, [_cell(request, subject, one, "source") for one in sources]
    check_known(subject, "vary", name)
    check_not_given(request, "vary", name)
    if name == "size":
        return axis, [_cell(request, subject, source, "size", size=value) for value in axis.values]
    if is_whole(subject, name) and all(map(_is_number, axis.values)):
        first, *others = dict.fromkeys(round(value) for value in axis.values)
        if not others:
            raise UsageError(f"--vary {name} is a whole number, and all of these are {first}: give two or more")
        axis = replace(axis, values=(first, *others))
    subjects = [load_asked(request, {**options.params, name: value}) for value in axis.values]
    return axis, [replace(_cell(request, one, source, None), varies=(name,)) for one in subjects]


def _cell(request: Request, subject: Subject, source: object, varied: str | None, size: int | None = None) -> Cell:
    """Return the cell of one value. A curve speaks of rho alone, so no accuracy is judged; what varies overrides no
    declaration."""
    cell = make_cell(request.question, subject, source, request.options, size=size)
    return replace(cell, judged=False, overridden=tuple(one for one in cell.overridden if one[0] != varied))
