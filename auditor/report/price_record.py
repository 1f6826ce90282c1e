"""The document that a price leaves behind: schema auditor.price/1."""

from __future__ import annotations

from typing import Any

import msgspec

from auditor.flow.record import Finding, encode

SCHEMA = "auditor.price/1"


class Asked(msgspec.Struct, frozen=True):
    """The smallest size at which a share is at most `limit` is above `low` and at most `high`; null where not found."""

    question: str  # "reproducible" or "accurate"
    limit: float
    low: int | None
    high: int | None


class Probe(msgspec.Struct, frozen=True):
    """What was counted at one size."""

    size: int
    seed: int
    pairs: int
    mismatches: int
    runs: int
    failures: int


class PriceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a claim costs in rows. `confidence` is of all brackets together."""

    schema: str = SCHEMA
    auditor_version: str
    subject: str
    code_hash: str | None
    theorem: str | None
    settings: dict[str, Any]
    source: str
    sample_kind: str
    seed: int
    target: float
    confidence: float
    budget: int
    interrupted: bool
    asked: list[Asked]
    probes: list[Probe]
    plain: int | None  # rows that the same accuracy takes without reproducibility
    promised: int | None  # rows that the theorem asks for
    bounds: dict[str, int]  # below which no algorithm can be, by name
    findings: list[Finding]
    seconds_total: float
    environment: dict[str, str]


def to_json(price: PriceRecord) -> bytes:
    return encode(msgspec.to_builtins(price))
