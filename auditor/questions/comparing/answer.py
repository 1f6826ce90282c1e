"""What a comparison says: which way rho went, how far at most, and how many answers are others."""

from __future__ import annotations

import msgspec

from auditor.flow.record import Record

BETTER, WORSE, NONE_SHOWN, NOT_COMPARABLE = "better", "worse", "no difference shown", "not comparable"


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One version: what it is, and its rho with a two-sided interval of its own."""

    what: str
    pairs: int
    mismatches: int
    estimate: float | None
    low: float
    high: float
    confidence: float


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """rho_new - rho_old, with a two-sided interval of its own."""

    estimate: float | None
    low: float
    high: float
    confidence: float


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """Runs on the same sample and r in which the outputs of the two versions differ."""

    runs: int
    differ: int
    estimate: float | None
    low: float
    high: float
    confidence: float
    first: int | None = None  # the first pair with such a run
    replay_old: str | None = None  # that pair in each version
    replay_new: str | None = None


class Discordant(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs whose outputs differ in one version alone, in both, in neither."""

    old: int
    new: int
    both: int
    neither: int


class Element(msgspec.Struct, frozen=True, kw_only=True):
    """An element of the output: the pairs in which it differs in each version."""

    name: str
    old: int
    new: int


class CompareAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="question", tag="compare"):
    """`change` is "better", "worse", "no difference shown" or "not comparable". `method` is "paired" (both on the same
    pairs) or "two samples" (each by an audit of its own). `error` is what anything that is shown may be wrong with."""

    change: str
    margin: float
    method: str
    old: Side
    new: Side
    difference: Difference
    error: float
    discordant: Discordant | None = None
    changed: Changed | None = None
    looked: int = 0  # pairs whose elements were looked at
    elements: list[Element] = []  # those whose counts changed most
    versions: dict[str, tuple[str, str]] = {}  # of packages that are others in the old environment: old, new


def answer_of(record: Record) -> CompareAnswer:
    """A record that was read from a file has its answer as JSON."""
    return msgspec.convert(msgspec.to_builtins(record.answer), CompareAnswer)
