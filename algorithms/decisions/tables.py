"""Which columns of a table are compared, and what are their numbers?

A table is wide, a row for each item and a column for each model, or long, a row for each score:

    item,gpt,llama          item,model,score
    q1,1,0                  q1,gpt,1
    q2,1,1                  q1,llama,0 ...

`by` names the column of a long table that says whose score it is, `score` the scores, and `unit` the items, by which
scores are put side by side. Without `unit` each row is an item of its own, as where each visitor saw one version.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from auditor import BadInput, Randomness
from auditor.repair import gumbels

Reals = npt.NDArray[np.float64]
T = TypeVar("T")


def _repeated(*rows: int) -> dict[str, Any]:
    """Return a table in which so many rows are won by each column: a, b and so on."""
    table = np.repeat(np.eye(len(rows), dtype=int), rows, axis=0)
    return {"abc"[place]: table[:, place] for place in range(len(rows))}


# What the decisions declare as their sources: tables whose columns are told apart but for a few runs in a hundred.
THREE = _repeated(200, 120, 80)
TWO = _repeated(70, 30)
MANY = _repeated(1400, 600)  # as a critical value that r draws needs them


EFFECTS = {"a": np.repeat([1, -1], [90, 10]), "b": np.tile([1, -1, -1, 1, -1], 20)}  # one is above 0, one is not
LABELLED = ({"a": np.tile([0, 0, 1, 2], 50), "b": np.tile([0, 1, 0, 1], 50)}, np.tile([0, 0, 1, 1], 50))
CLUMPS = {
    "x": np.repeat([0.0, 10.0, 0.0], 9) + np.tile([0, 1, 2], 9) / 3,
    "y": np.repeat([0.0, 0.0, 10.0], 9) + np.tile(np.repeat([0, 1, 2], 3), 3) / 3,
}
CASES = (
    {"score": np.repeat(np.arange(10), 40)},
    np.concatenate([np.arange(40) < (8 + i if i < 5 else 24 + i) for i in range(10)]),
)
STEP = {"time": np.repeat(np.arange(10), 20), "value": np.repeat(np.arange(10) >= 5, 20) + np.tile([0.5, -0.5], 100)}
BOUGHT = {"customer": np.repeat(["a", "b", "c", "d"], [120, 100, 40, 20]), "amount": np.tile([5.0, 15.0], 140)}


JUDGED = {  # each item has three scores of a, and b is always worse by half a point
    "item": np.repeat(np.arange(40), 4),
    "model": np.tile(["a", "a", "a", "b"], 40),
    "score": np.tile([1.0, 2.0, 3.0, 1.5], 40),
}


class Scores(NamedTuple):
    """The scores of each name, in the order of the items where they are `paired`: one of each name for each item."""

    names: tuple[str, ...]
    columns: tuple[Reals, ...]
    paired: bool = True

    @property
    def rows(self) -> Reals:
        """The scores with a row for each item."""
        if not self.paired:
            raise BadInput("scores have to be side by side: name the column of a long table that has the items, unit")
        return np.column_stack(self.columns)

    def of(self, name: str) -> Reals:
        return self.columns[self.names.index(name)]


def read_scores(sample: Any, without: str = "", by: str = "", score: str = "", unit: str = "") -> Scores:
    """Return the scores of a wide table, or of a long one where `by` and `score` name columns.

    A table is a dict of columns, an object with `columns` (a data frame) or an array, whose columns are called 0, 1 and
    so on. Of a wide one, columns of words, such as names of items, are left out. `without` is a list of names with
    commas between them. BadInput where fewer than two are left, or where a number is missing.
    """
    if by or score or unit:
        return _long(columns_of(sample), without, str(by), str(score), str(unit))
    found = read_numbers(sample, without)
    _check_two(found.names, "columns of numbers", long_hint(found.names, columns_of(sample)))
    return found


def long_hint(numbers: tuple[str, ...], columns: Mapping[str, Any]) -> str:
    """Return how to ask about a table that may be a long one: one column of numbers, and others of words."""
    words = [name for name in columns if name not in numbers]
    if len(numbers) != 1 or not words:
        return "add columns"
    by, unit = words[-1], f" --param unit={words[0]}" if len(words) > 1 else ""
    return (
        "add columns; or if each row has one score, name the columns of whose it is, of the score and of the item, "
        f"e.g. --param by={by} --param score={numbers[0]}{unit}"
    )


def read_numbers(sample: Any, without: str = "") -> Scores:
    """Return the columns of numbers of a table, but for those in `without`."""
    columns = columns_of(sample)
    left_out = split_names("without", without, columns)
    arrays = {name: np.asarray(column) for name, column in columns.items() if name not in left_out}
    numbers = {name: column for name, column in arrays.items() if column.dtype.kind in "biuf"}
    return Scores(tuple(numbers), tuple(finite(name, column) for name, column in numbers.items()))


def read_labelled(sample: Any, label: str = "") -> tuple[Scores, npt.NDArray[Any]]:
    """Return the columns of numbers, and the labels: those of (X, y), or the column `label` of a table."""
    if isinstance(sample, tuple):
        table, labels = sample
    else:
        table = columns_of(sample)
        one_of("label", str(label), tuple(table), "the column of labels; or name it with the file, data.csv#label")
        table, labels = {name: column for name, column in table.items() if name != label}, table[label]
    found = read_numbers(table)
    if not found.names:
        raise BadInput("a decision needs a column of numbers beside the labels: add one")
    return found, np.asarray(labels)


def read_one_score(sample: Any, r: Randomness, without: str, by: str, score: str, unit: str) -> Scores:
    """Return the scores of a long table where r takes one of several that a name has for an item.

    Which one depends on r, the item, the name and how many there are: two runs that share r take the same.
    """
    if not unit:
        raise BadInput("unit='' must name the column that has the items: scores of one item are to be drawn from")
    return _long(columns_of(sample), without, str(by), str(score), str(unit), r)


def _long(
    columns: Mapping[str, Any], without: str, by: str, score: str, unit: str, r: Randomness | None = None
) -> Scores:
    """Return the scores of a long table; several of one name for one item count as their mean, or r takes one."""
    if not (by and score):
        raise BadInput(
            f"by={by!r} and score={score!r} must name two columns of a long table: whose score it is, and the score"
        )
    for option, name in (("by", by), ("score", score), ("unit", unit)):
        if name:
            one_of(option, name, tuple(columns), "a column of the table")
    found, place = np.unique(np.asarray(columns[by]).astype(str), return_inverse=True)
    left_out = split_names("without", without, found.tolist())
    values = finite(score, np.asarray(columns[score]))
    names = tuple(name for name in found.tolist() if name not in left_out)
    _check_two(names, f"values of {by!r}")
    kept = [found.tolist().index(name) for name in names]
    if not unit:
        return Scores(names, tuple(values[place == one] for one in kept), paired=False)
    units, item = np.unique(np.asarray(columns[unit]), return_inverse=True)
    cell, cells = item * len(found) + place, len(units) * len(found)
    counts = np.bincount(cell, minlength=cells).reshape(len(units), -1)[:, kept]
    if not counts.all():
        row, column = np.argwhere(counts == 0)[0]
        raise BadInput(
            f"{unit} {units[row].item()!r} has no score of {names[column]!r}: add it, leave out the {unit} or "
            f"--param without={names[column]}; samples keep each {unit} whole by --resample groups({unit})"
        )
    if r is not None:
        order = np.argsort(cell, kind="stable")
        starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
        held, nth = cell[order][starts], np.diff(starts, append=len(cell))
        chance = gumbels(r, [f"{units[one // len(found)]}\n{found[one % len(found)]}" for one in held])
        drawn = np.zeros(cells)
        drawn[held] = values[order[starts + (np.exp(-np.exp(-chance)) * nth).astype(int)]]
        return Scores(names, tuple(drawn.reshape(len(units), -1)[:, kept].T))
    sums = np.bincount(cell, weights=values, minlength=cells).reshape(len(units), -1)[:, kept]
    return Scores(names, tuple((sums / counts).T))


def whole_units(unit: str) -> str | None:
    """Return how samples of a table are drawn: whole units of a long one."""
    return f"groups({unit})" if unit else None


def words(sister: str, **own: str) -> Callable[..., dict[str, str]]:
    """Return what a report calls the answers of a decision, whose items are called as the column `unit` is."""

    def words_at(unit: str) -> dict[str, str]:
        return {"rows": f"{unit}s" if unit else "items", "sister": sister, **own}

    return words_at


_LAYOUT = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default="", annotation=str)
    for name in ("without", "by", "score", "unit")
]


def on_scores(decide: Callable[..., T]) -> Callable[..., T]:
    """Return a function of a table from one of its scores, with the parameters of `read_scores` besides its own."""

    @functools.wraps(decide)
    def on_table(
        sample: Any, *r: Any, without: str = "", by: str = "", score: str = "", unit: str = "", **own: Any
    ) -> T:
        return decide(read_scores(sample, without, by, score, unit), *r, **own)

    first, *others = inspect.signature(decide).parameters.values()
    parameters = [first.replace(name="sample", annotation=Any), *others, *_LAYOUT]
    on_table.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return on_table


def columns_of(sample: Any) -> Mapping[str, Any]:
    """Return the columns of a table by name; those of an array are called 0, 1 and so on."""
    if isinstance(sample, Mapping):
        return {str(name): column for name, column in sample.items()}
    if hasattr(sample, "columns") or hasattr(sample, "column_names"):
        names = getattr(sample, "column_names", None) or [*sample.columns]
        return {str(name): np.asarray(sample[name]) for name in names}
    rows = np.asarray(sample)
    if rows.ndim != 2:
        raise BadInput(f"a decision needs a table of rows and columns, and the sample has {rows.ndim} dimension")
    return {str(place): rows[:, place] for place in range(rows.shape[1])}


def finite(name: str, column: Any) -> Reals:
    """Return a column as floats; BadInput where it has none, or a number is missing."""
    if column.dtype.kind not in "biuf":
        raise BadInput(f"the column {name!r} has words, and must have numbers: name another")
    if len(column) == 0:
        raise BadInput("the table has no rows: take at least one")
    numbers = np.asarray(column, dtype=float)
    if column.dtype.kind == "f" and not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        raise BadInput(f"row {row} has no finite number for {name!r}: drop or fill such rows first")
    return numbers


def split_names(option: str, text: str, known: Iterable[str]) -> list[str]:
    """Return the names in a list with commas between them; BadInput for one that is not known."""
    names = [name.strip() for name in str(text).split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise BadInput(f"{option}={text!r} must name columns, and {name!r} is none of {', '.join(known)}")
    return names


def _check_two(found: Iterable[str], what: str, cure: str = "add columns") -> None:
    names = [*found]
    if len(names) < 2:
        has = ", ".join(names) or "none"
        raise BadInput(f"a decision needs two {what} or more, and the table has {has}: {cure}")


def check_width(width: float) -> None:
    if isinstance(width, bool) or not 0 < width < np.inf:
        raise BadInput(f"width={width!r} must be above 0: that of a cell of the grid, in units of the data, e.g. 0.5")


def one_of(name: str, value: object, known: tuple[str, ...], what: str) -> None:
    """BadInput unless a parameter has one of its values."""
    if value not in known:
        raise BadInput(f"{name}={value!r} must be one of {', '.join(known)}: {what}")
