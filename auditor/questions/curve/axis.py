"""What varies along a curve, and which values it takes: --vary size=100:1e6:log12, tau=0.05,0.1, p=0.4:0.6:lin21."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.errors import UsageError, suggestion
from auditor.flow.record import as_json
from auditor.literals import literal_or_text
from auditor.questions.cells import load_asked
from auditor.request import Request
from auditor.subjects.subject import Subject, param_text
from auditor.trials.cell import Cell, make_cell

_EXAMPLE = "e.g. size=100:1e6:log12, p=0.4:0.6:lin21 or tau=0.05,0.1,0.2"
_RANGE = re.compile(r"(?P<start>[^:]+):(?P<stop>[^:]+):(?P<spacing>log|lin)(?P<count>\d+)")
MOST_POINTS = 1000


class Axis(msgspec.Struct, frozen=True):
    """What varies, in order of its values; `spacing` is "log", "lin" or "list"."""

    name: str
    values: tuple[Any, ...]
    spacing: str

    @property
    def shown(self) -> list[Any]:
        """The values as a record has them: numbers as they are, all else as the text that --param takes."""
        return [as_json({"": value})[""] for value in self.values]

    @property
    def is_log(self) -> bool:
        """Whether ratios are what matters, so that a power law can be read off."""
        if self.spacing == "lin" or not all(_is_number(value) and value > 0 for value in self.values):
            return False
        return self.spacing == "log" or self.values[-1] >= 4 * self.values[0]


def make_axis(vary: str | Mapping[str, Iterable[Any]]) -> Axis:
    """The axis that a user typed, or its values by its name; UsageError with an example if it is none."""
    if isinstance(vary, str):
        return parse_axis(vary)
    if not isinstance(vary, Mapping) or len(vary) != 1 or not all(isinstance(one, Iterable) for one in vary.values()):
        raise UsageError(f"vary={vary!r} must be a text, or one name with its values: {{'size': [100, 1000]}}")
    ((name, values),) = vary.items()
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]  # which a record can hold
    return _settled(f"vary={{{name!r}: ...}}", name, plain, "list")


def parse_axis(text: str) -> Axis:
    name, equals, spec = text.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"--vary {text} must be NAME=VALUES, {_EXAMPLE}")
    found = _RANGE.fullmatch(spec)
    if found is not None:
        return _settled(f"--vary {text}", name, _range(text, found), found["spacing"])
    if ":" in spec:
        raise UsageError(f"--vary {text}: a range is START:STOP:logN or START:STOP:linN, {_EXAMPLE}")
    return _settled(f"--vary {text}", name, [literal_or_text(word.strip()) for word in spec.split(",")], "list")


def _settled(asked: str, name: str, values: list[Any], spacing: str) -> Axis:
    """Numbers in order, each value once."""
    if not all(math.isfinite(value) for value in values if isinstance(value, float)):
        raise UsageError(f"{asked}: a value must be finite, {_EXAMPLE}")
    if name == "size":
        values = [_whole(asked, value) for value in values]
    numbers = all(map(_is_number, values))
    unique = sorted(set(values)) if numbers else [v for i, v in enumerate(values) if v not in values[:i]]
    if not 2 <= len(unique) <= MOST_POINTS:
        few = "a curve needs two or more" if len(unique) < 2 else f"use 2 to {MOST_POINTS}"
        raise UsageError(f"{asked} gives {len(unique)} value{'s' * (len(unique) > 1)}: {few}, {_EXAMPLE}")
    return Axis(name, tuple(unique), spacing if numbers else "list")


def _range(text: str, found: re.Match[str]) -> list[Any]:
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
    return [float(f"{value:.6g}") for value in values]  # six digits: what is shown can be typed again


def _whole(asked: str, value: float) -> int:
    if not _is_number(value) or value < 0 or not math.isfinite(value):
        raise UsageError(f"{asked}: {value!r} is no number of rows, {_EXAMPLE}")
    return round(value)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def make_points(request: Request, axis: Axis) -> tuple[Axis, list[Cell]]:
    """A cell for each value: the size, a parameter of the subject, or {name} in the source."""
    source, options, hole = request.source, request.options, f"{{{axis.name}}}"
    subject = load_asked(request, options.params)
    if isinstance(source, str) and hole in source:
        sources = [source.replace(hole, param_text(value)) for value in axis.values]
        return axis, [_cell(request, subject, one, "source") for one in sources]
    if axis.name == "size":
        if options.size is not None:
            raise UsageError(f"--size {options.size} and --vary size=... are two answers: give one")
        return axis, [_cell(request, subject, source, "size", size=value) for value in axis.values]
    axis = _like_default(axis, _setting(request, subject, axis.name))
    subjects = [load_asked(request, {**options.params, axis.name: value}) for value in axis.values]
    return axis, [replace(_cell(request, one, source, None), varies=axis.name) for one in subjects]


def _cell(request: Request, subject: Subject, source: object, varied: str | None, size: int | None = None) -> Cell:
    """A curve speaks of rho alone, so no accuracy is judged; what varies overrides no declaration."""
    cell = make_cell(request.question, subject, source, request.options, size=size)
    return replace(cell, judged=False, overridden=tuple(one for one in cell.overridden if one[0] != varied))


def _setting(request: Request, subject: Subject, name: str) -> object:
    """The default of the parameter that varies, and that nobody else may set."""
    if name not in subject.settings:
        known = ["size", *subject.settings]
        raise UsageError(
            f"--vary {name}: {subject.name} has no parameter {name!r}{suggestion(name, known)}; it has "
            f'{", ".join(known)}. To vary the source, name it there: --source "bernoulli({{p}})" --vary p=0.4:0.6:lin21'
        )
    given = {**request.options.params, **request.texts}
    if name in given:
        raise UsageError(f"--param {name}={given[name]} and --vary {name}=... are two answers: give one")
    return subject.settings[name]


def _like_default(axis: Axis, default: object) -> Axis:
    """Whole numbers for a parameter that is one."""
    if not isinstance(default, int) or isinstance(default, bool) or not all(map(_is_number, axis.values)):
        return axis
    whole = tuple(dict.fromkeys(round(value) for value in axis.values))
    if len(whole) < 2:
        raise UsageError(
            f"--vary {axis.name} is a whole number, and these are all {whole[0]}: give two or more, {_EXAMPLE}"
        )
    return replace(axis, values=whole)
