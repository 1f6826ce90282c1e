"""What does a record say of single rows? Which predictions change most often, between what, and in which group."""

from __future__ import annotations

from typing import Any

import msgspec

from auditor.flow.wobbles import SeenText

WORST = 50  # rows that a record names
BINS = 10  # of the histogram, from 0 to 1
PLOTTED = 100  # rows of the instability plot


class RowFlips(msgspec.Struct, frozen=True, kw_only=True):
    """One probe row: how often its prediction changes between the two fits of a pair, and between what.

    Rows are ranked by the pairs of even numbers, and what is said of them is from those of odd numbers: a row is among
    the worst because it was unlucky, too, and its own counts would exaggerate.
    """

    row: int  # its number in the data set, else among the probe points
    pairs: int  # of the odd pairs, those in which its prediction differs
    of: int  # odd pairs
    distance: float  # the mean distance over the odd pairs
    values: list[SeenText] = []  # labels that the fits of odd pairs predict, the most frequent first
    quantiles: list[float] = []  # where they predict numbers: those of 5, 25, 50, 75 and 95 %
    columns: list[Any] = []  # the row's own values, in the order of `ProbeRows.columns`


class GroupChurn(msgspec.Struct, frozen=True, kw_only=True):
    """The mean distance over the rows of one group; the intervals of all groups hold together."""

    name: str  # the value of the column, or from where to where it is
    rows: int  # of the group
    estimate: float  # the mean distance that was seen
    standard_error: float | None  # of the estimate
    low: float  # lower limit
    high: float  # upper limit


class ProbeRows(msgspec.Struct, frozen=True, kw_only=True):
    """The predictions of the first pairs, row by row."""

    pairs: int  # that were looked at
    rows: int  # probe rows
    unsteady: int  # of them, those whose prediction differs in some pair
    columns: list[str] = []  # the names of the rows' own columns
    worst: list[RowFlips] = []  # the rows that change most
    histogram: list[int] = []  # rows by the share of pairs in which they differ: none, up to 0.1, up to 0.2, ...
    plot: list[tuple[float, ...]] = []  # a row each: the prediction of one fit; 5, 50 and 95 % of those of others
    plotted: str = ""  # what is plotted
    by: str | None = None  # the column that groups rows
    groups: list[GroupChurn] = []  # of rows, by that column
    confidence: float | None = None  # with which the intervals of all groups hold together
