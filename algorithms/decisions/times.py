"""When did it change, and does it rise? Decisions about values over time.

A table has a column of times and one of values: `time` and `value`, or the first two columns of numbers. Rows are drawn
with their times, as if those with equal times were independent; for a series whose neighbours depend on each other
this says too much for the decision.

    changepoint   the first time after which the mean is another one: the split into two stretches that leaves the
                  least sum of squares; of equal ones the earliest. With one time alone it is that time
    trend         whether values rise with time: the t-test of the slope (`test=t`) or Kendall's tau (`test=kendall`),
                  one-sided, at a level

`r_changepoint` rounds the time to a grid of the given width with an offset that r draws: two runs differ with
probability exactly min(1, |t - t'| / width). Price: half a width. `r_trend` draws the critical value as `r_beats` does:
rho is at most 1.13 / width for a normal z of deviation 1, the level is at most `level` for every r, and what is always
noticed is low + width standard errors away.

Cost: a sort; for Kendall's tau n log n (scipy).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from algorithms.decisions.beats import check_level, decided_apart, reaches
from algorithms.decisions.cutoffs import on_random_grid, rounded_apart, sister_words
from algorithms.decisions.tables import Reals, one_of, read_numbers
from auditor import BadInput, composed, subject

TESTS = ("t", "kendall")
_TABLE: Any = {"as_": "columns"}
_CHANGE = {
    "differ": "date the change differently",
    "answer": "change point",
    "counts_rows": False,
    "tune": {"width": []},
}
_TREND = {
    "differ": "disagree on whether it rises",
    "answer": "verdict",
    "values": {"True": "it rises", "False": "no rise is shown"},
    "price": "Its price: a rise is always noticed only from many standard errors on.",
    "counts_rows": False,
}


def over_time(sample: Any, time: str, value: str) -> tuple[Reals, Reals]:
    """Return times and values, in the order of time; values of one time in their own order."""
    numbers = read_numbers(sample)
    if len(numbers.names) < 2:
        has = ", ".join(numbers.names) or "none"
        raise BadInput(
            f"a table over time needs two columns of numbers, times and values, and it has {has}: number the days, "
            "say, where times are words or dates"
        )
    times = str(time) or numbers.names[0]
    values = str(value) or next(name for name in numbers.names if name != times)
    for option, name in (("time", times), ("value", values)):
        one_of(option, name, numbers.names, "a column of numbers")
    x, y = numbers.of(times), numbers.of(values)
    order = np.lexsort((y, x))
    return x[order], y[order]


def change(sample: Any, *, time: str, value: str) -> float:
    """Return the first time of the second of two stretches that leave the least sum of squares."""
    times, place = np.unique((pair := over_time(sample, time, value))[0], return_inverse=True)
    if len(times) < 2:
        return float(times[0])
    counts, sums = np.bincount(place).astype(float), np.bincount(place, weights=pair[1])
    n, total = np.cumsum(counts)[:-1], np.cumsum(sums)[:-1]
    gain = total**2 / n + (sums.sum() - total) ** 2 / (counts.sum() - n)
    return float(times[1:][int(np.argmax(np.round(gain, 9)))])


@subject(source="algorithms.decisions.tables:STEP", **_TABLE, words={"sister": "r_changepoint", **_CHANGE})
def changepoint(sample: Any, r: Any, *, time: str = "", value: str = "") -> float:
    """Return the first time after which the mean is another one."""
    return change(sample, time=time, value=value)


r_changepoint = composed(
    core=change,
    finish=on_random_grid,
    mismatch=rounded_apart,
    defaults={"time": "", "value": "", "width": 10.0},
    source="algorithms.decisions.tables:STEP",
    **_TABLE,
    words=sister_words(_CHANGE, "the date moves"),
)
"""The time of a change, on a random grid."""


def p_of_rise(sample: Any, *, time: str, value: str, test: str) -> float:
    """Return the one-sided p-value of the hypothesis that values do not rise with time; 1 where either is constant."""
    from scipy.special import stdtr

    one_of("test", test, TESTS, "how a rise is noticed")
    x, y = over_time(sample, time, value)
    if np.ptp(x) == 0 or np.ptp(y) == 0 or len(x) < 3:
        return 1.0
    if test == "kendall":
        from scipy.stats import kendalltau

        return float(kendalltau(x, y, alternative="greater").pvalue)
    r = float(np.corrcoef(x, y)[0, 1])
    if abs(r) >= 1 - 1e-12:
        return 0.0 if r > 0 else 1.0
    return float(stdtr(len(x) - 2, -r * math.sqrt((len(x) - 2) / (1 - r * r))))


@subject(source="algorithms.decisions.tables:STEP", **_TABLE, words={"sister": "r_trend", **_TREND})
def trend(sample: Any, r: Any, *, time: str = "", value: str = "", test: str = "t", level: float = 0.05) -> bool:
    """Return True if values rise with time, by a test at a level."""
    check_level(level)
    return p_of_rise(sample, time=time, value=value, test=test) <= level


def z_of_rise(sample: Any, *, time: str, value: str, test: str) -> float:
    from scipy.special import ndtri

    return float(-ndtri(p_of_rise(sample, time=time, value=value, test=test)))


r_trend = composed(
    core=z_of_rise,
    finish=reaches,
    mismatch=decided_apart,
    defaults={"time": "", "value": "", "test": "t", "level": 0.05, "width": 12.0},
    source="algorithms.decisions.tables:STEP",
    **_TABLE,
    words=_TREND,
)
"""Whether values rise with time, by a test whose critical value r draws."""
