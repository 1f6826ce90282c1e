"""What varies along a curve, and which values it takes: --vary size=100:1e6:log12, tau=0.05,0.1, p=0.4:0.6:lin21."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from auditor.errors import UsageError, suggestion
from auditor.literals import literal_or_text
from auditor.setup import Setup, make_setup
from auditor.subjects import load_subject, param_text

_EXAMPLE = "e.g. size=100:1e6:log12, p=0.4:0.6:lin21 or tau=0.05,0.1,0.2"
_RANGE = re.compile(r"(?P<start>[^:]+):(?P<stop>[^:]+):(?P<spacing>log|lin)(?P<count>\d+)")
MOST_POINTS = 1000


@dataclass(frozen=True, slots=True)
class Axis:
    """What varies, in order of its values; `spacing` is "log", "lin" or "list"."""

    name: str
    values: tuple[Any, ...]
    spacing: str

    @property
    def is_log(self) -> bool:
        """Whether ratios are what matters, so that a power law can be read off."""
        if self.spacing == "lin" or not all(_is_number(value) and value > 0 for value in self.values):
            return False
        return self.spacing == "log" or self.values[-1] >= 4 * self.values[0]


def parse_axis(text: str) -> Axis:
    """The axis that a user typed; UsageError with an example if it is none."""
    name, equals, spec = text.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"--vary {text} must be NAME=VALUES, {_EXAMPLE}")
    found = _RANGE.fullmatch(spec)
    if found is None:
        if ":" in spec:
            raise UsageError(f"--vary {text}: a range is START:STOP:logN or START:STOP:linN, {_EXAMPLE}")
        values, spacing = [literal_or_text(word.strip()) for word in spec.split(",")], "list"
    else:
        values, spacing = _range(text, found), found["spacing"]
    if not all(math.isfinite(value) for value in values if isinstance(value, float)):
        raise UsageError(f"--vary {text}: a value must be finite, {_EXAMPLE}")
    if name == "size":
        values = [_whole(text, value) for value in values]
    numbers = all(map(_is_number, values))
    unique = sorted(set(values)) if numbers else [v for i, v in enumerate(values) if v not in values[:i]]
    if len(unique) < 2:
        raise UsageError(f"--vary {text} gives {len(unique)} value: a curve needs two or more, {_EXAMPLE}")
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


def _whole(text: str, value: float) -> int:
    if not _is_number(value) or value < 0 or not math.isfinite(value):
        raise UsageError(f"--vary {text}: {value!r} is no number of rows, {_EXAMPLE}")
    return round(value)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def make_points(
    target: str, axis: Axis, source: str | None, texts: Mapping[str, str], randomness: str | None, **options: Any
) -> tuple[Axis, list[Setup]]:
    """One settled audit for each value: the size, a parameter of the subject, or {name} in the source."""
    hole = f"{{{axis.name}}}"
    subject = load_subject(target, texts=texts, randomness=randomness)
    if source is not None and hole in source:
        return axis, [make_setup(subject, source.replace(hole, param_text(v)), **options) for v in axis.values]
    if axis.name == "size":
        if options.get("size") is not None:
            raise UsageError(f"--size {options['size']} and --vary size=... are two answers: give one")
        return axis, [make_setup(subject, source, **{**options, "size": value}) for value in axis.values]
    if axis.name not in subject.settings:
        known = ["size", *subject.settings]
        raise UsageError(
            f"--vary {axis.name}: {subject.name} has no parameter {axis.name!r}{suggestion(axis.name, known)}; it has "
            f'{", ".join(known)}. To vary the source, name it there: --source "bernoulli({{p}})" --vary p=0.4:0.6:lin21'
        )
    if axis.name in texts:
        raise UsageError(f"--param {axis.name}={texts[axis.name]} and --vary {axis.name}=... are two answers: give one")
    axis = _like_default(axis, subject.settings[axis.name])
    subjects = [load_subject(target, {axis.name: v}, texts=texts, randomness=randomness) for v in axis.values]
    return axis, [make_setup(subject, source, **options) for subject in subjects]


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
