"""What an explanation says: the causes that are shown, the main one first, and every experiment with its figures."""

from __future__ import annotations

import msgspec

from auditor.flow.record import Record


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """`before` and `after` are the rates in the pairs that were run both ways: as it is, and but for this cause."""

    kind: str
    before: float | None
    after: float | None
    message: str
    where: str | None
    replay: str | None
    cure: str | None


class ExperimentRow(msgspec.Struct, frozen=True, kw_only=True):
    """`state` is "cause", "not shown", or "not run". All intervals hold together with the record's confidence."""

    kind: str
    changes: str
    state: str
    pairs: int  # that were run both ways
    before: int  # mismatches in them as it is
    after: int  # and but for the cause
    estimate: float | None = None  # of rho but for the cause
    low: float = 0.0
    high: float = 1.0
    twice: int = 0  # samples that were run twice, with one thing changed
    shown: int = 0  # of them, with another output
    beyond_digits: int = 0  # of them, not in last digits alone
    note: str = ""


class FreshRows(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows of a sample of `of` change the answer when they are replaced by fresh ones: the median over
    `pairs`, and the row at which the answer of the first such pair turns."""

    median: int
    of: int
    pairs: int
    pair: int
    row: int


class LocalValue(msgspec.Struct, frozen=True):
    """The first local of the subject's own code that differs though what its line reads does not: a hint."""

    where: str
    name: str
    first: str
    second: str


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """rho ~ size^exponent between two sizes, and at which the target would hold if that went on: estimates alone."""

    exponent: float
    size: int | None


class ExplainAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="question", tag="explain"):
    """The first cause is the main one."""

    causes: list[Cause]
    experiments: list[ExperimentRow]
    pairs_in_all: int  # pairs, and samples that were run twice, of all experiments together
    runs: int
    widths: list[float] = []  # of the grid that `continuous` rounds on
    fresh_rows: FreshRows | None = None
    growth: Growth | None = None
    local_value: LocalValue | None = None


def answer_of(record: Record) -> ExplainAnswer:
    """A record that was read from a file has its answer as JSON."""
    return msgspec.convert(msgspec.to_builtins(record.answer), ExplainAnswer)
