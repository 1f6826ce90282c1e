"""Do the rows keep what a theorem asks of them? Each check returns the rows as they are, or refuses them in a sentence.

A theorem about numbers in [0, 1] says nothing of rows beyond, however moderate their mean is: rows of -20 and 21 with
the mean 1/2 give rSTAT a rho of 0.38 where 0.1 is claimed. So every row is looked at, and not their mean. The checks
are queries: `sample.mean(in_unit_interval)` is the mean of the rows that were checked, and on counts only the values
that occur are looked at. NaN keeps no premise.
"""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt


def real_numbers(rows: Any, what: str = "a row") -> npt.NDArray[Any]:
    """Return the rows as an array of integers, floats or truth values; ValueError if one is no real number."""
    values = np.asarray(rows)
    if values.dtype.kind in "biuf":
        return values
    for value in values.ravel().tolist():  # Fractions and Decimals are real numbers, too
        if not isinstance(value, (Real, Decimal)):
            raise ValueError(f"{what} has {value!r}, and must be a real number: give another --source")
    try:
        return values.astype(float)
    except OverflowError:
        raise ValueError(f"{what} has a number beyond all floats, which end at 1.8e308: scale the rows") from None


def in_unit_interval(rows: Any, what: str = "a row") -> npt.NDArray[Any]:
    """Return the rows; ValueError if a number is not in [0, 1]."""
    values = real_numbers(rows, what)
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        wrong = values[~((values >= 0) & (values <= 1))][0].item()
        cure = "scale all of them into [0, 1]" if wrong == wrong else "drop or fill such rows"
        raise ValueError(f"{what} has {wrong!r}, outside [0, 1]: {cure}")
    return values


def bits(rows: Any, what: str = "a row") -> npt.NDArray[Any]:
    """Return the rows; ValueError if a number is neither 0 nor 1."""
    values = real_numbers(rows, what)
    fine = (values == 0) | (values == 1)
    if not fine.all():
        raise ValueError(f"{what} has {values[~fine][0].item()!r}, and must be 0 or 1: give rows such as bernoulli's")
    return values


def below(rows: Any, end: int, what: str = "a row") -> npt.NDArray[Any]:
    """Return the rows; ValueError if one is not a whole number in [0, end)."""
    values = real_numbers(rows, what)
    fine = (values >= 0) & (values < end)
    if values.dtype.kind not in "biu":
        fine &= values == np.floor(values)
    if not fine.all():
        wrong = values[~fine][0].item()
        raise ValueError(
            f"{what} is {wrong!r}, and must be a whole number from 0 to {end - 1:,}: give another --source"
        )
    return values


def labels(rows: Any) -> npt.NDArray[Any]:
    """Return the labels; ValueError if one is neither -1 nor +1."""
    values = real_numbers(rows, "a label")
    fine = (values == -1) | (values == 1)
    if not fine.all():
        raise ValueError(f"a label is {values[~fine][0].item()!r}, and must be -1 or +1: give labels of these two")
    return values


def finite(rows: Any, what: str = "a row") -> npt.NDArray[Any]:
    """Return the rows; ValueError if a number is NaN or infinite."""
    values = real_numbers(rows, what)
    if not (fine := np.isfinite(values)).all():
        raise ValueError(f"{what} has {values[~fine][0].item()!r}, and must be finite: drop or fill such rows")
    return values


def not_nan(rows: Any, what: str = "a row") -> npt.NDArray[Any]:
    """Return the rows, which may be of any kind; ValueError if one is NaN, which is not equal to itself."""
    values = np.asarray(rows)
    if np.any(values != values):
        raise ValueError(f"{what} has NaN, which is no value that could occur twice: drop or fill such rows")
    return values
