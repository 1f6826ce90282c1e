"""What of an output counts? Raw floats never agree; a decision can. A view maps an output to what is compared.

output        all of it
round(3)      numbers to so many decimals, through lists, tuples, dicts and arrays
sign          -1, 0 or 1 of each number
argmax        where the largest is
top(5)        the indices of the five largest, in order of index
attr(name)    one attribute
predict       the output's .predict on a fixed probe set
module:fn     fn(output)
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from auditor.canonical import base_value
from auditor.errors import NotComparable, UsageError, suggestion
from auditor.literals import read_literal
from auditor.lookup import find_object, importable_name

NAMES = ("output", "round", "sign", "argmax", "top", "attr", "predict", "fitted")


@dataclass(frozen=True, slots=True)
class View:
    """`spec` is how a user writes it; None for a function that only Python can reach."""

    name: str
    spec: str | None
    see: Callable[[Any], Any]
    needs_probe: bool = False

    def on_probe(self, probe: Any) -> View:
        """The same view, looking at its probe set: a copy that no draw reaches, and one for each that predicts."""
        own = copy.deepcopy(probe)
        return View(self.name, self.spec, lambda output: _predict(output, copy.deepcopy(own)), needs_probe=True)


OUTPUT = View("output", "output", lambda output: output)


def make_view(spec: object) -> View:
    """A view from what the user wrote, or from a function."""
    if callable(spec):
        name = importable_name(spec)
        return View(name or str(getattr(spec, "__qualname__", spec)), name, spec)
    text = str(spec).strip()
    if ":" in text:
        fn = find_object(text)
        if not callable(fn):
            raise UsageError(f"view {text} is {type(fn).__name__}, not a function of an output")
        return View(text, text, fn)
    name, argument = _parse(text)
    makers: dict[str, Callable[[Any], View]] = {
        "output": lambda _: OUTPUT,
        "round": lambda n: View(text, text, lambda output: _round(output, _whole(text, n, 0))),
        "sign": lambda _: View(text, text, lambda output: np.sign(_array(output))),
        "argmax": lambda _: View(text, text, lambda output: int(np.argmax(_array(output)))),
        "top": lambda n: View(text, text, lambda output: _top(output, _whole(text, n, 1))),
        "attr": lambda name: View(text, text, lambda output: _attr(output, str(name))),
        "fitted": lambda _: View("fitted", "fitted", fitted_attributes),
        "predict": lambda _: View("predict", "predict", lambda output: _predict(output, None), needs_probe=True),
    }
    if name in ("round", "top"):
        _whole(text, argument, 0)
    return makers[name](argument)


def _parse(text: str) -> tuple[str, Any]:
    """`name`, `name(literal)` or `attr(name)`."""
    name, bracket, rest = text.partition("(")
    if name not in NAMES or (bracket and not rest.endswith(")")):
        raise UsageError(
            f"view {text!r} is none of {', '.join(NAMES)} or module:function{suggestion(name, NAMES)}; e.g. round(3)"
        )
    inner = rest[:-1].strip()
    if name in ("round", "top", "attr") and not inner:
        raise UsageError(f"view {text!r} needs an argument: {name}({'support_' if name == 'attr' else 3})")
    if name == "attr" or not inner:
        return name, inner
    try:
        return name, read_literal(inner)
    except ValueError:
        raise UsageError(f"view {text!r}: {inner!r} must be a whole number, e.g. {name}(3)") from None


def _whole(text: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"view {text!r}: {value!r} must be a whole number of at least {least}")
    return value


def _array(output: Any) -> Any:
    array = np.asarray(base_value(output))
    if array.dtype.kind not in "biuf":
        raise NotComparable(
            f"this view looks at numbers, and the output is {type(output).__name__}: choose another view"
        )
    return array


def _round(output: Any, digits: int) -> Any:
    plain = base_value(output)
    if isinstance(plain, np.ndarray) and plain.dtype.kind in "fc":
        return np.round(plain, digits)
    if isinstance(plain, numbers.Integral) or not isinstance(plain, (numbers.Real, list, tuple, dict)):
        return output
    if isinstance(plain, dict):
        return {key: _round(value, digits) for key, value in plain.items()}
    if isinstance(plain, list):
        return [_round(value, digits) for value in plain]
    if isinstance(plain, tuple):
        return tuple(_round(value, digits) for value in plain)
    return round(float(plain), digits)


def _top(output: Any, n: int) -> tuple[int, ...]:
    array = _array(output).ravel()
    falling = len(array) - 1 - np.argsort(array[::-1], kind="stable")[::-1]  # no minus sign: it wraps unsigned numbers
    return tuple(sorted(falling[:n].tolist()))


def _attr(output: Any, name: str) -> Any:
    if not hasattr(output, name):
        close = suggestion(name, [key for key in dir(output) if not key.startswith("__")])
        raise NotComparable(f"the output, {type(output).__name__}, has no attribute {name!r}{close}")
    return getattr(output, name)


def _predict(output: Any, probe: Any) -> Any:
    if not hasattr(output, "predict"):
        raise NotComparable(f"the output, {type(output).__name__}, has no predict: choose another view")
    return output.predict(probe)


def fitted_attributes(fitted: Any) -> dict[str, Any]:
    """What scikit-learn's convention marks as learnt: public names that end in an underscore."""
    names = [name for name in sorted(vars(fitted)) if name.endswith("_") and not name.startswith("_")]
    support = {"get_support()": fitted.get_support()} if hasattr(fitted, "get_support") else {}
    return {name: getattr(fitted, name) for name in names} | support
