"""How is a bound written? With few digits, and never so that it claims more than it holds.

The one formatter of limits: a limit from above is rounded up, a limit from below down, in every report and sentence.
Beside a target it has as many digits as it takes to stay on the target's own side: 0.050341 is within 0.05035, which
0.0504 would deny.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal


def at_most(value: float, digits: int = 3, *, beside: float | None = None) -> str:
    """Return the value rounded up; with so many digits, or more to stay on the same side of `beside`."""
    return _rounded(value, digits, ROUND_CEILING, beside)


def at_least(value: float, digits: int = 3, *, beside: float | None = None) -> str:
    """Return the value rounded down; with so many digits, or more to stay on the same side of `beside`."""
    return _rounded(value, digits, ROUND_FLOOR, beside)


def between(low: float, high: float, *, beside: float | None = None) -> str:
    """Return "between 0.01 and 0.03", the lower limit rounded down and the upper one up."""
    return f"between {at_least(low, beside=beside)} and {at_most(high, beside=beside)}"


def exact(value: float) -> str:
    """Return the shortest text that is this very number: for a target, or another number that somebody chose.

    The last bit of a float, which nobody meant, is ignored: 0.1 + 0.051 is 0.151.
    """
    texts = (f"{value:.{digits}g}" for digits in (6, 15))
    return next((text for text in texts if abs(float(text) - value) <= math.ulp(value)), repr(float(value)))


def about(value: float, *beside: float) -> str:
    """Return an estimate with three digits, or with as many as keep it on its own side of other numbers."""
    texts = (f"{value:.{digits}g}" for digits in range(3, 17))
    beside = tuple(other for other in beside if not math.isclose(value, other, rel_tol=1e-12))  # the same, as read
    sides = [_order(value, other) for other in beside]
    return next((text for text in texts if [_order(float(text), other) for other in beside] == sides), repr(value))


def percent(confidence: float) -> str:
    """Return a confidence as a person would write it, and never more than it is: 98.3 % where three share an error of
    0.05. All of its digits are written if the error has two, 99.95 %; the last digits of a float are ignored."""
    written = Decimal(repr(round(100 * confidence, 12)))
    error = (100 - written).normalize()
    if len(error.as_tuple().digits) > 2:
        written = written.quantize(Decimal(1).scaleb(min(-1, error.adjusted())), rounding=ROUND_FLOOR)
    return f"{written.normalize():f} %"


def sure(confidence: float) -> str:
    """Return a confidence in words: "95 % confidence"."""
    return f"{percent(confidence)} confidence"


def _rounded(value: float, digits: int, rounding: str, beside: float | None = None) -> str:
    """Round by the decimal digits that the number is written with: 0.1 is 0.1, and not a little more."""
    written = Decimal(repr(float(value)))
    if not written.is_finite() or not written:
        return f"{value:g}"
    place = Decimal(1).scaleb(written.adjusted() - digits + 1)
    rounded = written.quantize(place, rounding=rounding) if place > 0 else written
    if beside is not None and rounded != written and _order(float(rounded), beside) != _order(value, beside):
        return _rounded(value, digits + 1, rounding, beside)
    number = float(rounded)
    return f"{rounded:f}" if place >= 1 else f"{number:g}" if float(f"{number:g}") == number else repr(number)


def _order(a: float, b: float) -> int:
    """Return -1, 0 or 1: on which side of b a is."""
    return (a > b) - (a < b)
