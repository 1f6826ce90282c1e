"""How is a bound written? With few digits, and never so that it claims more than it holds.

The one formatter of limits: a limit from above is rounded up, a limit from below down, in every report and sentence.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal


def at_most(value: float, digits: int = 3) -> str:
    """Never below the value."""
    return _rounded(value, digits, ROUND_CEILING)


def at_least(value: float, digits: int = 3) -> str:
    """Never above the value."""
    return _rounded(value, digits, ROUND_FLOOR)


def between(low: float, high: float) -> str:
    return f"between {at_least(low)} and {at_most(high)}"


def percent(confidence: float) -> str:
    """A confidence as a person would write it, and never more than it is: 98.3 % where an error of 0.05 was shared by
    three. Whole where the error has two digits, 99.95 %; but for the last digits of a float, which nobody meant."""
    written = Decimal(repr(round(100 * confidence, 12)))
    error = (100 - written).normalize()
    if len(error.as_tuple().digits) > 2:
        written = written.quantize(Decimal(1).scaleb(min(-1, error.adjusted())), rounding=ROUND_FLOOR)
    return f"{written.normalize():f} %"


def sure(confidence: float) -> str:
    return f"{percent(confidence)} confidence"


def _rounded(value: float, digits: int, rounding: str) -> str:
    """By the decimal digits that the number is written with: 0.1 is 0.1, and not a little more."""
    written = Decimal(repr(float(value)))
    if not written.is_finite() or not written:
        return f"{value:g}"
    place = Decimal(1).scaleb(written.adjusted() - digits + 1)
    rounded = written.quantize(place, rounding=rounding) if place > 0 else written
    return f"{rounded:f}" if place >= 1 else f"{float(rounded):.{digits}g}"
