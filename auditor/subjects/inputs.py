"""For which auxiliary inputs x must A(x; sample; r) be reproducible? A list, a file or a generator says.

An input is a keyword parameter of the subject, A(sample, r, *, x): `--inputs SPEC` gives values to x, `--inputs n=SPEC`
to another parameter. The guarantee holds for every value listed, and for no other.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from auditor.errors import SubjectError, UsageError, in_words, is_interrupt
from auditor.escape import text_of
from auditor.files import read_bytes, whole_path
from auditor.host.boundary import in_host
from auditor.literals import read_literal
from auditor.lookup import call_user_code, find_object
from auditor.randomness import from_key, root_key
from auditor.subjects.subject import has_text, param_text, parse_param
from auditor.values import describe

MOST = 10_000
_NAMED = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<spec>.*)", re.DOTALL)
_EXAMPLE = 'e.g. --inputs "[3, 5, 7]", --inputs "n=range(3, 20)", --inputs inputs.txt or --inputs module:fn'


class Inputs(msgspec.Struct, frozen=True):
    """The values of one parameter; `spec` is what was typed, or None if they came from Python."""

    name: str
    values: tuple[Any, ...]
    spec: str | None = None

    def text(self, index: int) -> str:
        """Return the value as a person would type it, or a short description."""
        value = self.values[index]
        return param_text(value) if has_text(value) else describe(value, 60)


@in_host
def read_inputs(text: str, seed: int) -> Inputs:
    """Return the inputs that a user typed after --inputs; UsageError with an example if there are none."""
    named = _NAMED.fullmatch(text)
    name, spec = (named["name"], named["spec"].strip()) if named else ("x", text.strip())
    return Inputs(name, _listed(_values(spec, seed), spec), text)


@in_host
def make_inputs(inputs: object) -> Inputs:
    """Return the inputs given in Python: a list of values for x, or {name: values}."""
    if isinstance(inputs, dict) and len(inputs) == 1:
        ((name, values),) = inputs.items()
    else:
        name, values = "x", inputs
    if not isinstance(name, str) or isinstance(values, (str, dict)) or not isinstance(values, Iterable):
        raise UsageError(
            f"inputs={text_of(inputs)} must be a list of values for x, or one name with its list: {{'n': [1, 2]}}"
        )
    return Inputs(name, _listed(values, "inputs"))


def _values(spec: str, seed: int) -> Iterable[Any]:
    """Return the inputs that a spec lists: a range, a list of literals, a file, or module:fn."""
    if (numbers := _range(spec)) is not None:
        return numbers
    if spec.startswith(("[", "(")):
        try:
            return tuple(read_literal(spec))
        except (ValueError, TypeError) as error:
            raise UsageError(f"--inputs {spec} is no list of Python literals: {error}; {_EXAMPLE}") from error
    if os.path.exists(whole_path(spec)):  # which, unlike a path's own, never raises
        return _from_file(Path(spec))
    if ":" in spec:
        return _generated(spec, seed)
    raise UsageError(f"--inputs {spec} is neither a list nor a file nor module:fn; {_EXAMPLE}")


def _range(spec: str) -> range | None:
    """Return the range that a text such as range(3) is; None if it is none."""
    found = re.fullmatch(r"range\(([-\d,\s_]+)\)", spec)
    if not found:
        return None
    try:
        return range(*(int(word) for word in found[1].split(",")))
    except (TypeError, ValueError) as error:
        raise UsageError(f"--inputs {spec}: {error}; {_EXAMPLE}") from error


def _from_file(path: Path) -> Iterable[Any]:
    """Read a list as JSON, or one value a line, each parsed as --param would."""
    content = read_bytes(path, f"cannot read --inputs {str(path)!r}")
    try:
        text = content.decode("utf-8")
        if path.suffix != ".json":
            return [parse_param(line.strip()) for line in text.splitlines() if line.strip()]
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"cannot read --inputs {str(path)!r}: {error}") from error
    if not isinstance(values, list):
        raise UsageError(f"--inputs {str(path)!r} must hold a list, and it holds a {type(values).__name__}")
    return values


def _generated(spec: str, seed: int) -> Iterable[Any]:
    """Return what fn(rng) yields; rng has a key of its own, so that the same seed gives the same inputs."""
    fn = find_object(spec)
    if not callable(fn):
        raise UsageError(f"--inputs {spec} is {type(fn).__name__}, not a function fn(rng) that yields inputs")
    try:
        return list(itertools.islice(call_user_code(fn, from_key(root_key(seed).child("inputs"))), MOST + 1))
    except BaseException as error:
        if is_interrupt(error):
            raise
        kind = UsageError if isinstance(error, Exception) else SubjectError
        what = f"--inputs {spec} raised {in_words(error)} (it is called fn(rng), and yields inputs)"
        raise kind(what).caused_by(error) from error


def _listed(values: Iterable[Any], shown: str) -> tuple[Any, ...]:
    """Return the inputs as a tuple; UsageError where there is none or there are too many."""
    listed = tuple(itertools.islice(values, MOST + 1))
    if not 1 <= len(listed) <= MOST:
        count = "no input" if not listed else f"more than {MOST:,} inputs"
        raise UsageError(f"--inputs {shown[:80]} lists {count}: give 1 to {MOST:,}; {_EXAMPLE}")
    return listed
