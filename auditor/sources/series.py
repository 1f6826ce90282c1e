"""Are rows in the order of time, and how far does what they have in common reach?

What is looked at are the numbers of each column in the order of the rows. Nothing here draws anything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt

from auditor.sources.frames import column_at, columns_of, library_of, rows_in, take

Reals = npt.NDArray[np.float64]

_COLUMNS = 100  # that are looked at, the first
_LOOKED_AT = 10_000  # rows, the first, to see whether they are in the order of time, or integrated
_LEAST = 10  # rows that can be in an order
_STRONG = 0.5  # the autocorrelation that is worth a warning
_UNLIKELY = 1e-6  # how often exchangeable rows may get one
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?([ T]\d{2}:\d{2}.*)?")
_TIMES = frozenset(("time", "times", "timestamp", "timestamps", "date", "dates", "datetime", "ts", "year", "month"))


def columns_by_name(rows: Any, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the first hundred columns of a table or an array as arrays, and then the labels.

    `names` are those of an array's columns, where a file gave them; else its columns are called by their number.
    """
    x, y = rows if isinstance(rows, tuple) else (rows, None)
    if library_of(x) == "scipy":
        x = x[:, :_COLUMNS].toarray()
    if columns_of(x):
        yield from ((name, column_at(x, place)) for place, name in enumerate(columns_of(x)[:_COLUMNS]))
    elif not isinstance(x, list):
        table = np.asarray(x)
        if table.ndim == 1:
            yield (names[0] if len(names) == 1 else "", table)
        elif table.ndim == 2:
            named = names if len(names) == table.shape[1] else tuple(map(str, range(table.shape[1])))
            yield from ((name, table[:, place]) for place, name in enumerate(named[:_COLUMNS]))
    if y is not None and not isinstance(y, list) and np.asarray(y).ndim == 1:
        yield "the labels", np.asarray(y)


def numbers_by_name(rows: Any, names: tuple[str, ...]) -> dict[str, Reals]:
    """Return the columns that hold different numbers; a missing one counts as the mean of the others."""
    found = {}
    for name, column in columns_by_name(rows, names):
        try:  # beside words the numbers of a file are words too
            series = column.astype(float) if column.dtype.kind in "biufU" else np.empty(0)
        except ValueError:
            continue
        known = series[np.isfinite(series)]
        if len(known) > 1 and known.min() < known.max():
            found[name] = np.where(np.isfinite(series), series, known.mean())
    return found


def is_sorted(column: Any) -> bool:
    """True if a column only rises, or only falls, and is not the same everywhere."""
    try:
        rises, falls = bool(np.all(column[:-1] <= column[1:])), bool(np.all(column[:-1] >= column[1:]))
    except TypeError:  # values that have no order
        return False
    return rises != falls


def why_series(rows: Any, names: tuple[str, ...]) -> str:
    """Say why rows are plainly in the order of time: sorted time stamps, or strong autocorrelation; "" if they are not.

    Exchangeable rows are taken for a series, by their autocorrelation, with a probability of about 1e-6 at most.
    """
    parts = rows if isinstance(rows, tuple) else (rows,)
    if rows_in(parts[0]) < _LEAST:
        return ""
    first = np.arange(min(rows_in(parts[0]), _LOOKED_AT))
    for part in parts:
        index = getattr(part, "index", None) if library_of(part) == "pandas" else None
        if index is not None and index.dtype.kind in "Mm" and is_sorted(np.asarray(index)):
            return f"the table has a sorted {type(index).__name__}"
        if index is not None and type(index).__name__ == "PeriodIndex" and is_sorted(index.asi8):
            return "the table has a sorted PeriodIndex"
    looked_at = tuple(take(part, first) for part in parts)
    head = looked_at if isinstance(rows, tuple) else looked_at[0]
    for name, column in columns_by_name(head, names):
        if _is_of_times(name, column) and is_sorted(column):
            return f"column {name!r} has time stamps in their order" if name else "they are time stamps in their order"
    return _strongest(head, names)


def _is_of_times(name: str, column: Any) -> bool:
    """True if a column seems to hold times: by its type, by its name, or by what its ends look like."""
    if column.dtype.kind == "M":
        return True
    if column.dtype.kind in "iuf":
        return name.lower() in _TIMES
    ends = (column[0], column[-1])
    return all(isinstance(one, date) or (isinstance(one, str) and _DATE.fullmatch(one) is not None) for one in ends)


def _strongest(rows: Any, names: tuple[str, ...]) -> str:
    """Say which column has the strongest autocorrelation, if that is strong; else return "".

    Columns that are sorted do not count, and where the rows are sorted by their labels the means of the classes are
    taken out first: to be sorted is no time series. Of the ranks of exchangeable rows the correlation of neighbours has
    mean -1/(n-1) and variance about 1/n, whatever the values are.
    """
    classes = _sorted_classes(rows)
    found = {name: one for name, one in numbers_by_name(rows, names).items() if not is_sorted(one)}
    strengths: dict[str, float] = {}
    for name, series in found.items():
        if classes is not None and name == "the labels":
            continue
        if classes is not None:
            series = series - (np.bincount(classes, series) / np.bincount(classes))[classes]
        strengths[name] = _of_neighbours(series)
    if not strengths:
        return ""
    from scipy.special import ndtri

    name = max(strengths, key=strengths.__getitem__)
    least = max(_STRONG, -float(ndtri(_UNLIKELY / len(strengths))) / math.sqrt(rows_in_parts(rows)))
    if strengths[name] <= least:
        return ""
    of = {"": "", "the labels": " of the labels"}.get(name, f" of column {name!r}")
    return f"neighbouring rows resemble each other, with an autocorrelation{of} of {strengths[name]:.2g}"


def rows_in_parts(rows: Any) -> int:
    """Return how many rows a table or (X, y) has."""
    return rows_in(rows[0] if isinstance(rows, tuple) else rows)


def _sorted_classes(rows: Any) -> Any:
    """Return the class of each row where rows are sorted by a few labels; else None."""
    if not isinstance(rows, tuple) or isinstance(rows[1], list) or np.asarray(rows[1]).ndim != 1:
        return None
    labels = np.asarray(rows[1])
    runs = np.concatenate([[0], np.cumsum(labels[1:] != labels[:-1])])
    distinct = len(set(labels[np.flatnonzero(np.diff(runs, prepend=-1))].tolist()))
    return runs if distinct == runs[-1] + 1 and distinct <= math.sqrt(len(labels)) else None


def _of_neighbours(series: Reals) -> float:
    """Return the correlation of the ranks of each row and the next, the last row's next being the first."""
    _, place, counts = np.unique(series, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place.reshape(-1)]
    ranks -= ranks.mean()
    return float(ranks @ np.roll(ranks, -1) / (ranks @ ranks)) if ranks.any() else 0.0


def covariances(series: Reals, most: int) -> Reals:
    """Return the autocovariances R(0), ..., R(most), each a sum over n, so that none exceeds R(0)."""
    centred = series - series.mean()
    length = 1 << (len(series) + most).bit_length()
    power = np.abs(np.fft.rfft(centred, length)) ** 2
    return np.asarray(np.fft.irfft(power, length)[: most + 1] / len(series))


def block_length(series: Reals) -> float:
    """Return the mean length of blocks that suits the mean of a stationary series best, between 1 and a third of it.

    After Politis and White (2004), with the correction of Patton, Politis and White (2009). In the stationary
    bootstrap the variance of a mean is off by a bias of about -G/L, because dependence is cut at the ends of blocks,
    and by an error of its own of variance about D L/n, because there are few blocks; G = sum |k| R(k) and
    D = 2 (sum R(k))^2 over all lags k, of the autocovariances R. Both together are smallest at

        L = (2 G^2 / D)^(1/3) n^(1/3).

    R is estimated up to a lag M = 2 m: m is the lag after which five autocorrelations in a row (more of a very long
    series) are within 2 sqrt(log10(n) / n) of 0. Covariances up to m count whole, and from there to M less and less.
    """
    n = len(series)
    run = max(5, math.ceil(math.sqrt(math.log10(n))))
    furthest = min(n - 1, math.ceil(math.sqrt(n)) + run)
    lags = covariances(series, min(n - 1, 2 * furthest))
    if lags[0] <= 0:
        return 1.0
    small = np.abs(lags[1 : furthest + 1] / lags[0]) < 2 * math.sqrt(math.log10(n) / n)
    quiet = [m for m in range(furthest - run + 1) if small[m : m + run].all()]
    last_large = int(np.flatnonzero(~small)[-1]) + 1 if not small.all() else 0
    m = quiet[0] if quiet else last_large
    if m == 0:
        return 1.0
    reach = min(2 * m, len(lags) - 1)
    k = np.arange(1, reach + 1)
    weighted = np.minimum(1.0, 2 * (1 - k / reach)) * lags[1 : reach + 1]
    spectrum, slope = lags[0] + 2 * weighted.sum(), 2 * (k * weighted).sum()
    longest = min(3 * math.sqrt(n), n / 3)
    if spectrum <= 0:
        return longest
    return float(min(max(1.0, (slope**2 / spectrum**2 * n) ** (1 / 3)), longest))


def seems_integrated(series: Reals) -> bool:
    """True if the augmented Dickey-Fuller test at 5 % does not tell a series from an integrated one.

    The change of a row is regressed on the row before, a constant and the last changes, as many as make the Bayesian
    information criterion smallest. The t value of the row before is below about -2.86 in 5 % of integrated series, and
    in nearly all long series that return to their mean soon. The critical values for n rows are MacKinnon's (2010).
    """
    series = series[:_LOOKED_AT]
    most = min(12, int((len(series) - 1) ** (1 / 3)))
    changes = np.diff(series)
    n = len(changes) - most
    past = [changes[most - j : len(changes) - j] for j in range(1, most + 1)]
    table = np.column_stack([series[most:-1], np.ones(n), *past, changes[most:]])
    triangle: Any = np.linalg.qr(table, mode="r")
    left = np.cumsum(triangle[::-1, -1] ** 2)[::-1]  # the sum of squares that the first k columns leave, by k
    if np.min(np.abs(np.diag(triangle))) <= 1e-9 * np.max(np.abs(triangle)):
        return is_sorted(series)  # a straight line, or a pattern that comes again and again
    used = np.arange(2, most + 3)
    k = int(used[np.argmin(n * np.log(left[used]) + used * math.log(n))])
    found = np.linalg.solve(triangle[:k, :k], triangle[:k, -1])
    error = math.sqrt(left[k] / (n - k)) * float(np.linalg.norm(np.linalg.inv(triangle[:k, :k])[0]))
    return bool(found[0] / error > -2.86154 - 2.8903 / n - 4.234 / n**2 - 40.04 / n**3)
