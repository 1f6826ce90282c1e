"""How are samples taken from the rows of a data set? Each way chooses numbers of rows with a generator, and no more.

    bootstrap        each sample draws rows with replacement: two independent samples of the file's distribution
    split            the file is shuffled anew for each pair, and the two samples are disjoint parts of it
    split(column)    the same with whole groups of rows, which are shuffled and dealt to the two samples
    subsample        each sample draws at most half of the rows without replacement: the two samples share some rows
    blocks(L)        each sample is made of stretches of the file, of L rows on average, in their order: for time series
    groups(column)   each sample draws whole groups of rows with replacement: for patients, users or sites
    strata(column)   each sample draws rows with replacement from every stratum, as many as its share of the file

Every pair draws from the same file, so an audit bounds the rate over draws from this file. Suppose that the rows of the
file are i.i.d. from a population, and that rho is the rate for two fresh samples of the population. Then the file's
rate, averaged over files, is

    split       rho: disjoint rows of such a file are two independent samples. One file's rate may be higher or lower
    subsample   at most rho: given the file the two are independent with one law P, and E sum P^2 >= sum (E P)^2
    bootstrap   at most the rate of two samples each bootstrapped from a file of its own, for the same reason

The mean over all splits is a U-statistic: with K = rows // (2 size) it is off by t or more in at most a share
2 exp(-2 K t^2) of the files (Hoeffding 1963). `benchmarks/resampling.py` has a case where all of this is exact.

`blocks` is the stationary bootstrap (Politis and Romano 1994): a sample begins at a random row, and each next row is
the next of the file, or with probability 1/L any row at random; the first row follows the last. Every row of a sample
is then uniform over the file, and a stretch has a geometric length of mean L. It suits a series that is stationary,
whose law is the same at all times. With `blocks`, `groups` and `strata` too, two samples are independent given the
file: averaged over files the rate is at most that of two samples each drawn from a file of its own.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from auditor.errors import BadValue, SourceError, UsageError, suggestion
from auditor.sources.frames import column_at, columns_of, rows_in, with_column_at
from auditor.sources.law import unique
from auditor.sources.series import block_length, is_sorted, numbers_by_name, seems_integrated
from auditor.statistics.digits import at_most, percent

Places = npt.NDArray[np.intp]

RESAMPLING = ("bootstrap", "split", "subsample", "blocks", "groups", "strata")
_FORMS = "bootstrap, split, split(column), subsample, blocks, blocks(L), groups(column), strata, strata(column)"
_LEAST = 20  # rows of a series


class GroupingColumn(NamedTuple):
    """A column of a data set by its place: that of the table or matrix, or None for the labels."""

    name: str
    place: int | None
    values: Any


@dataclass(frozen=True, slots=True)
class Resampling:
    """The bootstrap, which the other ways differ from."""

    count: int  # rows of the data set
    text: str = "bootstrap"  # as a user writes it
    drawn_together: ClassVar[bool] = False  # whether the two samples of a pair come from one draw

    @property
    def default_size(self) -> int:
        """The size of a sample if nobody says: as many rows as there are."""
        return self.count

    def choose(self, rng: Generator, size: int) -> Places:
        """Return the numbers of the rows of a sample."""
        return rng.integers(0, self.count, size=size)

    def choose_part(self, rng: Generator, size: int, part: int) -> Places:
        """Return the numbers of the rows of one of the samples that come from one draw."""
        raise NotImplementedError(f"samples by {self.text} are drawn one by one")

    def left_out(self, size: int) -> float:
        """Return how many rows a sample does not have, on average."""
        return self.count * (1 - 1 / self.count) ** size

    def check_size(self, size: int) -> None:
        """Raise BadValue for a size that samples cannot have."""

    def words(self, size: int, confidence: float) -> str:
        """Say what a rate over samples of this file tells about fresh samples, and in which direction it may err."""
        return (
            f"{self._file} Two samples of fresh rows may differ more often, since here both have their rows from the "
            "same file, or less often, if it matters that rows come twice"
        )

    @property
    def _file(self) -> str:
        """The first sentence of what the rate stands for."""
        return f"rho is that of samples drawn from these {self.count:,} rows."


@dataclass(frozen=True, slots=True)
class Subsample(Resampling):
    """At most half of the rows, each once."""

    @property
    def default_size(self) -> int:
        """The size of a sample if nobody says: half of the rows."""
        return self.count // 2

    def choose(self, rng: Generator, size: int) -> Places:
        """Choose rows without replacement."""
        return rng.permutation(self.count)[:size]

    def left_out(self, size: int) -> float:
        """Return how many rows are not in a sample."""
        return float(self.count - size)

    def check_size(self, size: int) -> None:
        """Raise BadValue if two samples of this size would not fit into the rows."""
        if size > self.count // 2:
            words = f"is more than --resample {self.text} can take of {self.count} rows: {self.count // 2}"
            raise BadValue("size", size, words)

    def words(self, size: int, confidence: float) -> str:
        """Say what the rate of such samples stands for, and in which direction it may be wrong."""
        return (
            f"{self._file} The two samples of a pair share {size / self.count:.3g} of their rows on average, so two "
            "outputs tend to agree more often than those of two fresh samples would: rho tends to come out too low"
        )


@dataclass(frozen=True, slots=True)
class Split(Subsample):
    """Two disjoint parts of the file in a random order."""

    drawn_together: ClassVar[bool] = True

    def choose_part(self, rng: Generator, size: int, part: int) -> Places:
        """Return the numbers of the rows in one part of the file in a random order."""
        return dealt(rng, self.count, size, part, "rows")

    def words(self, size: int, confidence: float) -> str:
        """Say what the rate of two disjoint parts stands for."""
        return f"{self._file} {_of_parts('row', self.count // (2 * size) if size else 0, confidence)}"


def dealt(rng: Generator, count: int, size: int, part: int, what: str) -> Places:
    """Return part number `part`, of `size` each, of so many things in a random order."""
    if (part + 1) * size > count:
        raise SourceError(f"the data set has {count:,} {what}: no part {part} of {size:,} {what} is left")
    return rng.permutation(count)[part * size : (part + 1) * size]


def _of_parts(what: str, apart: int, confidence: float) -> str:
    """Say how far the rate over all splits of one file may be from rho, if its rows or groups are i.i.d."""
    off = math.sqrt(math.log(2 / (1 - confidence)) / (2 * apart)) if apart else math.inf
    within = f"within {at_most(off, 2)} of it in {percent(confidence)} of them" if off < 1 else "but one may be far off"
    return (
        f"The two samples of a pair share no {what}: over files of independent {what}s the rate is on average that of "
        f"two fresh samples, neither too low nor too high, {within}; pairs are not independent of each other, since at "
        f"most {apart:,} have no {what} in common"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks(Resampling):
    """The stationary bootstrap."""

    length: float  # of a stretch, on average
    is_chosen: bool  # whether the length comes from the data

    def choose(self, rng: Generator, size: int) -> Places:
        """Choose rows in stretches of random length, each of which begins anywhere and wraps around at the end."""
        starts = rng.integers(0, self.count, size=size)
        begins = rng.random(size) < 1 / self.length
        place = np.arange(size)
        first = np.maximum.accumulate(np.where(begins, place, 0))  # of the stretch that a row belongs to
        return np.asarray((starts[first] + place - first) % self.count)

    def words(self, size: int, confidence: float) -> str:
        """Say what the rate of such samples stands for, and in which direction it may be wrong."""
        rows = "1 row" if self.length == 1 else f"{self.length:.3g} rows"
        chosen = ", a length chosen from the autocorrelation of the columns" if self.is_chosen else ""
        return (
            f"the rate is that of series made of stretches of these {self.count:,} rows, of {rows} on average"
            f"{chosen}. It stands for two fresh series if this one is stationary, and may be too low, since all "
            "stretches come from one series and what reaches further than a stretch is lost"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups(Resampling):
    """Whole groups of rows."""

    column: GroupingColumn
    members: tuple[Places, ...]  # the rows of each group, in their order
    ids: Any  # the value of each group in the column

    def drawn(self, size: int) -> int:
        """Return how many groups make a sample of about so many rows."""
        return max(1, round(size * len(self.members) / self.count))

    def left_out(self, size: int) -> float:
        """Return how many rows are not in a sample, on average."""
        return self.count * (1 - 1 / len(self.members)) ** self.drawn(size)

    def choose_groups(self, rng: Generator, size: int) -> Places:
        """Choose groups with replacement, as many as make a sample of about this size."""
        return rng.integers(0, len(self.members), size=self.drawn(size))

    def rows_of(self, groups: Places) -> Places:
        """Return the rows of these groups, group by group."""
        return np.concatenate([self.members[group] for group in groups])

    def choose(self, rng: Generator, size: int) -> Places:
        """Choose the rows of whole groups."""
        return self.rows_of(self.choose_groups(rng, size))

    def ids_of(self, groups: Places) -> Any:
        """Return the id of each row of a sample: a group's own, and a new one for each time that it comes again."""
        ids = self.ids[groups]
        again = np.ones(len(groups), dtype=bool)
        again[np.unique(groups, return_index=True)[1]] = False
        lengths = [len(self.members[group]) for group in groups]
        return np.repeat(self._renamed(ids, groups, np.flatnonzero(again)), lengths)

    def _renamed(self, ids: Any, groups: Places, again: Places) -> Any:
        """Return the ids with others, which no group has, at the places `again`."""
        if self.ids.dtype.kind in "iuf":
            new = np.arange(1, len(again) + 1, dtype=float if self.ids.dtype.kind == "f" else None) + self.ids.max()
            if self.ids.dtype.kind != "f" and len(again) and int(self.ids.max()) + len(again) > _largest(self.ids):
                new = np.setdiff1d(np.arange(len(self.ids) + len(again)), self.ids)[: len(again)]
                ids = ids.astype(np.result_type(self.ids.dtype, np.int64))
            ids[again] = new
            return ids
        mark, every = "#", "\n".join(map(str, self.ids))
        while mark in every:
            mark += "#"
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.diff(groups[order], prepend=-1))  # of the draws of each group
        times = np.empty(len(groups), dtype=np.intp)
        times[order] = np.arange(len(groups)) - np.repeat(starts, np.diff(starts, append=len(groups)))
        names = ids.astype(object)
        names[again] = [f"{names[place]}{mark}{times[place] + 1}" for place in again]
        return np.array([str(name) for name in names], dtype=self.ids.dtype if self.ids.dtype.kind == "O" else None)

    def check_size(self, size: int) -> None:
        """Raise BadValue if a sample of this size is less than half a group."""
        if size * len(self.members) < 0.5 * self.count:
            least = math.ceil(self.count / len(self.members))
            words = f"is less than half a group, and --resample {self.text} takes whole ones: use at least {least}"
            raise BadValue("size", size, words)

    def words(self, size: int, confidence: float) -> str:
        """Say what the rate of such samples stands for, and in which direction it may be wrong."""
        taken = self.drawn(size)
        return (
            f"the rate is that of samples of {taken:,} whole groups by {self.column.name!r}, drawn from the "
            f"{len(self.members):,} groups of these {self.count:,} rows, about {size:,} rows a sample; a group that "
            "is drawn again gets an id of its own. It stands for samples of fresh groups, and not of fresh rows of "
            "these groups; as both samples draw from the same groups it may be too low, or too high if groups that are "
            "drawn twice matter"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitGroups(Groups):
    """Two disjoint sets of whole groups, which are in a random order."""

    drawn_together: ClassVar[bool] = True

    @property
    def default_size(self) -> int:
        """The size of a sample if nobody says: half of the rows."""
        return self.count // 2

    def drawn(self, size: int) -> int:
        """Return how many groups a sample of about this size has, at most half of all."""
        return min(len(self.members) // 2, Groups.drawn(self, size))

    def left_out(self, size: int) -> float:
        """Return how many rows are not in a sample, on average."""
        return self.count * (1 - self.drawn(size) / len(self.members))

    def choose_groups(self, rng: Generator, size: int) -> Places:
        """Choose groups without replacement."""
        return rng.permutation(len(self.members))[: self.drawn(size)]

    def choose_part(self, rng: Generator, size: int, part: int) -> Places:
        """Return the numbers of the rows in one part of the groups."""
        return self.rows_of(dealt(rng, len(self.members), self.drawn(size), part, "groups"))

    def check_size(self, size: int) -> None:
        """Raise BadValue if two disjoint samples of this size cannot be made of whole groups."""
        Groups.check_size(self, size)
        if size > self.count // 2:
            words = f"is more than --resample {self.text} can take of {self.count} rows: {self.count // 2}"
            raise BadValue("size", size, words)

    def words(self, size: int, confidence: float) -> str:
        """Say what the rate of two samples of disjoint groups stands for."""
        taken, groups = self.drawn(size), len(self.members)
        return (
            f"rho is that of samples of {taken:,} whole groups by {self.column.name!r}, out of the {groups:,} of these "
            f"{self.count:,} rows. {_of_parts('group', groups // (2 * taken), confidence)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Strata(Resampling):
    """As many rows of every stratum as its share of the file."""

    column: GroupingColumn
    members: tuple[Places, ...]  # the rows of each stratum
    ids: Any  # the value of each stratum in the column

    def shares(self, size: int) -> npt.NDArray[np.int64]:
        """Return how many rows of each stratum a sample has: its share, rounded so that the sum is `size`."""
        lengths = np.array([len(one) for one in self.members], dtype=np.int64)
        whole, rest = np.divmod(size * lengths, self.count)
        whole[np.argsort(-rest, kind="stable")[: size - int(whole.sum())]] += 1
        return whole

    def choose(self, rng: Generator, size: int) -> Places:
        """Choose rows with replacement, from each stratum as many as its share of the sample."""
        drawn = [
            rows[rng.integers(0, len(rows), size=n)] for rows, n in zip(self.members, self.shares(size), strict=True)
        ]
        return rng.permutation(np.concatenate(drawn))

    def check_size(self, size: int) -> None:
        """Raise BadValue if a sample of this size has no row of some stratum."""
        shares = self.shares(size)
        if size and not shares.all():
            empty = self.ids[int(np.argmin(shares))]
            least = math.ceil(self.count / min(map(len, self.members)))
            words = f"leaves no row of the stratum {str(empty)!r} in a sample: use at least {least:,}"
            raise BadValue("size", size, words)

    def words(self, size: int, confidence: float) -> str:
        """Say what the rate of such samples stands for, and in which direction it may be wrong."""
        return (
            f"{self._file} Each sample has the file's share of each of {len(self.members):,} strata by "
            f"{self.column.name!r}: the rate stands for samples that are stratified in the same way, and tends to be "
            "too low for samples in which the shares of the strata are left to chance"
        )


def _largest(ids: Any) -> int:
    """Return the largest id that the type of the ids can hold."""
    return int(np.iinfo(ids.dtype).max)


def parse(text: str) -> tuple[str, str]:
    """Return the way and its argument, or ""; BadValue for anything else."""
    found = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", text, re.DOTALL)
    kind, argument = (found[1], found[2]) if found else (text, None)
    if kind not in RESAMPLING:
        raise BadValue("resample", text, f"must be one of {_FORMS}{suggestion(kind, RESAMPLING)}")
    if argument is None:
        if kind == "groups":
            raise BadValue("resample", text, "needs the column that says which rows belong together: groups(patient)")
        return kind, ""
    inside = argument.strip()
    if len(inside) > 1 and inside[0] == inside[-1] in "'\"":
        inside = inside[1:-1]
    if kind in ("bootstrap", "subsample"):
        raise BadValue("resample", text, f"takes no argument: write {kind}")
    if not inside:
        raise BadValue("resample", text, f"has nothing between its brackets: write {_EXAMPLES[kind]}")
    if kind == "blocks":
        _length(text, inside)
    return kind, inside


_EXAMPLES = {
    "split": "split or split(patient)",
    "blocks": "blocks or blocks(20)",
    "groups": "groups(patient)",
    "strata": "strata or strata(site)",
}


def _length(text: str, inside: str) -> float:
    """Return the mean length of a block that was typed within brackets."""
    try:
        length = float(inside)
    except ValueError:
        length = math.nan
    if not 1 <= length < math.inf:
        raise BadValue("resample", text, "must have a number of rows of at least 1, the mean length of a block")
    return length


def make_resampling(text: str, rows: Any, names: tuple[str, ...], target: str) -> Resampling:
    """Return the way to take samples from these rows; UsageError where they do not suit it.

    `names` are the columns of an array without its labels, where a file gave them, and `target` is that of the labels.
    """
    kind, argument = parse(text)
    count = rows_in(rows[0] if isinstance(rows, tuple) else rows)
    if kind == "blocks":
        return _blocks(text, argument, rows, names, count)
    if kind in ("groups", "strata") or (kind == "split" and argument):
        column = find_column(text, argument, rows, names, target)
        try:
            ids, place = unique(column.values)
        except TypeError:
            held = type(column.values[0]).__name__
            raise UsageError(
                f"--resample {text}: {column.name!r} holds {held}, and rows are sorted by it: make it numbers or words"
            ) from None
        order = np.argsort(place, kind="stable")
        members = tuple(np.split(order, np.flatnonzero(np.diff(place[order])) + 1))
        return (_strata if kind == "strata" else _groups)(text, count, column, members, ids)
    return {"bootstrap": Resampling, "split": Split, "subsample": Subsample}[kind](count, text)


def _blocks(text: str, argument: str, rows: Any, names: tuple[str, ...], count: int) -> Blocks:
    """Return the resampling of a time series in blocks; UsageError for a series that is too short or not stationary."""
    if count < _LEAST:
        raise UsageError(f"--resample {text} is for a series of at least {_LEAST} rows, and there are {count}")
    every = numbers_by_name(rows, names)
    series = {name: one for name, one in every.items() if not is_sorted(one)} or every  # without time stamps beside it
    for name in (name for name, one in series.items() if seems_integrated(one)):
        raise UsageError(
            f"--resample {text} needs a series that is stationary, and {_called(name)} is integrated, has a trend, or "
            f"returns to its mean too slowly for {count:,} rows to show it: draw from its differences, np.diff(x), or "
            "take the trend out"
        )
    if not argument and not series:
        raise UsageError(f"--resample {text}: no column has numbers to choose the length of blocks by: say blocks(20)")
    length = _length(text, argument) if argument else max(map(block_length, series.values()))
    if length > count / 3:
        raise UsageError(
            f"--resample {text} has blocks of more than a third of the {count:,} rows, so that two samples are nearly "
            f"the same series: use at most blocks({count // 3})"
        )
    return Blocks(count, text, length=length, is_chosen=not argument)


def _called(name: str) -> str:
    """Return what a column is called in a sentence about a series."""
    return {"": "this one", "the labels": "that of the labels"}.get(name, f"column {name!r}")


def _groups(text: str, count: int, column: GroupingColumn, members: tuple[Places, ...], ids: Any) -> Groups:
    """Return the resampling of whole groups of rows; UsageError where the column makes no groups."""
    if column.place is None:
        raise UsageError(
            f"--resample {text}: {column.name!r} has the labels, which a group cannot have to itself: name the column "
            "of what rows belong to, or use strata"
        )
    if len(members) < 2:
        raise UsageError(
            f"--resample {text}: all {count:,} rows have the same {column.name!r}, and one group is one "
            "observation: two samples would be the same"
        )
    are_words = ids.dtype.kind == "U" or (ids.dtype.kind == "O" and all(isinstance(one, str) for one in ids))
    if ids.dtype.kind not in "iuf" and not are_words:
        found = ids.dtype if ids.dtype.kind != "O" else type(ids[0]).__name__
        raise UsageError(
            f"--resample {text}: {column.name!r} holds {found}, and a group that is drawn again gets a new id: make "
            "the ids numbers or words"
        )
    kind = SplitGroups if parse(text)[0] == "split" else Groups
    return kind(count, text, column=column, members=members, ids=ids)


def _strata(text: str, count: int, column: GroupingColumn, members: tuple[Places, ...], ids: Any) -> Strata:
    """Return the resampling within strata; UsageError where some stratum has a single row."""
    alone = [str(one) for one, rows in zip(ids, members, strict=True) if len(rows) == 1]
    if alone:
        shown = ", ".join(map(repr, alone[:3])) + (f" and {len(alone) - 3:,} more" if len(alone) > 3 else "")
        raise UsageError(
            f"--resample {text}: only one row has {column.name} {shown}, and each sample would have that row: put "
            "small strata together, or leave such rows out"
        )
    return Strata(count, text, column=column, members=members, ids=ids)


def find_column(text: str, name: str, rows: Any, names: tuple[str, ...], target: str) -> GroupingColumn:
    """Return the column of that name, by its number where columns have none, or the labels for ""."""
    x, y = rows if isinstance(rows, tuple) else (rows, None)
    if not name and y is None:
        raise UsageError(f"--resample {text}: the data have no labels: name the column, {_EXAMPLES[parse(text)[0]]}")
    label = target or str(getattr(y, "name", None) or "the labels")
    if y is not None and (not name or name == label):
        return _complete(text, GroupingColumn(label, None, np.asarray(y)))
    known = columns_of(x) or names
    width = x.shape[1] if isinstance(x, np.ndarray) and x.ndim == 2 else len(columns_of(x))
    if len(known) != width:
        known = tuple(map(str, range(width)))
    if name not in known:
        has = f"it has {', '.join(known)}" if known else "its rows have no columns"
        raise UsageError(f"--resample {text}: no column {name!r}{suggestion(name, known)}; {has}")
    place = known.index(name)
    return _complete(text, GroupingColumn(name, place, column_at(x, place)))


def _complete(text: str, column: GroupingColumn) -> GroupingColumn:
    """Return the column that rows are grouped by; UsageError if it lacks a value for some row."""
    values = column.values
    if values.ndim != 1:
        raise UsageError(f"--resample {text}: {column.name!r} has several values for a row")
    holes = [one is None or one != one for one in values.tolist()] if values.dtype.kind in "OfmM" else []
    if any(holes):
        raise UsageError(
            f"--resample {text}: row {holes.index(True):,} has no value for {column.name!r}: fill it, or drop such rows"
        )
    return column


def with_ids(rows: Any, column: GroupingColumn, ids: Any) -> Any:
    """Return a sample with these ids in its column of groups, so that a group that was drawn twice is two groups."""
    x = rows[0] if isinstance(rows, tuple) else rows
    changed = with_column_at(x, int(column.place or 0), ids)
    return (changed, *rows[1:]) if isinstance(rows, tuple) else changed
