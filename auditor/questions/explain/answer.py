"""What is the answer of an explanation? The causes that are shown, and every experiment with its figures."""

from __future__ import annotations

import msgspec

from auditor.flow.record import Record


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A cause that is shown. `before` and `after` are the rates of mismatches in the pairs that were run both ways: as
    it is, and with this cause taken away."""

    kind: str
    before: float | None
    after: float | None
    message: str
    where: str | None
    replay: str | None
    cure: str | None
    measure: str | None  # the command that measures what the cure takes: how wide a grid, how many rows


class ExperimentRow(msgspec.Struct, frozen=True, kw_only=True):
    """One experiment. `state` is "cause", "not shown" or "not run". All intervals hold together with the record's
    confidence."""

    kind: str
    changes: str
    state: str
    pairs: int  # that were run both ways
    before: int  # mismatches in them as it is
    after: int  # and with the cause taken away
    estimate: float | None  # of rho with the cause taken away
    low: float
    high: float
    twice: int  # samples that were run twice, with one thing changed
    shown: int  # of them, with another output
    beyond_digits: int  # of them, not in last digits alone
    note: str


class FreshRows(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows of a sample of `of` rows change the answer when they are replaced by fresh ones: the median over
    `pairs` pairs, and the row at which the answer of the first such pair turns."""

    median: int
    of: int
    pairs: int
    pair: int
    row: int


class LocalValue(msgspec.Struct, frozen=True):
    """The first local of the subject's own code that differs although what its line reads does not: a hint."""

    where: str
    name: str
    first: str
    second: str


class ExplainAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="question", tag="explain"):
    """The answer of an explanation. The first cause is the main one."""

    causes: list[Cause]
    experiments: list[ExperimentRow]
    pairs_in_all: int  # trials of all experiments: pairs, and samples that were run twice
    runs: int
    widths: list[float]  # of the grid on which `continuous` rounds
    fresh_rows: FreshRows | None
    local_value: LocalValue | None


def answer_of(record: Record) -> ExplainAnswer:
    """Return the record's answer, decoding it if the record was read from a file."""
    return msgspec.convert(msgspec.to_builtins(record.answer), ExplainAnswer)
