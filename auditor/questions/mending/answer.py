"""What a repair says: before and after, the wrapper and what it costs, the code to paste, and the frontier."""

from __future__ import annotations

import msgspec

from auditor.flow.record import Record


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """What was held against the target: "rho", or "churn". The interval has `confidence` of its own."""

    measure: str
    estimate: float | None
    low: float
    high: float
    confidence: float
    pairs: int
    verdict: str


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a repair costs. `change` is the most that its theorem lets it move an answer by; `rows` what one run of the
    learner sees of a sample, where it is not all; `changed` how often the answer is another than the learner's own on
    the same sample, where answers are no numbers; `loss` by how much the mean loss was larger on the frontier's pairs,
    and `loss_before` what it was, where a loss or an oracle is known."""

    words: str
    change: float | None = None
    rows: int | None = None
    changed: float | None = None
    loss: float | None = None
    loss_before: float | None = None


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One setting on the frontier: the mean over pairs of how likely their two cores finish differently, by the
    wrapper's own "formula", by an upper "bound" of it, or by real "finishes"; of churn the same over points. `nothing`
    is the share of runs that came to no output. All intervals of a frontier hold together with the confidence."""

    wrapper: str
    price: Cost
    estimate: float | None
    low: float
    high: float
    pairs: int
    by: str
    nothing: float = 0.0
    error: str | None = None


class RepairAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="question", tag="repair"):
    """`wrapper`, `price` and `code` are those that were confirmed, else those that were tried last."""

    before: Held | None
    after: Held | None
    wrapper: str | None
    price: Cost | None
    code: str | None
    check: str | None  # the command that audits the code
    frontier: list[Point]
    why_not: str | None  # where no wrapper fits
    hint: str | None  # what else is worth knowing of outputs like these
    more_rows: str | None  # the command that finds how many rows would do instead, where that may be


def answer_of(record: Record) -> RepairAnswer:
    """A record that was read from a file has its answer as JSON."""
    return msgspec.convert(msgspec.to_builtins(record.answer), RepairAnswer)
