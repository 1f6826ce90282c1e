"""How is a record of schema auditor.record/1 read? As one of schema /2 that says the same."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from auditor.flow.record import Accuracy, Bound, CellRow, Measure, Rho
from auditor.subjects.subject import parse_param

FIRST = "auditor.record/1"
_GONE = ("gate", "churn", "arms", "private", "loss", "profile")
_ALONE = "the declared source"  # what the one cell of a question is called
_UNKNOWN: dict[str, Any] = {"eta": 0.0, "runs": 0, "exactly": [], "steps": [], "low": 0.0, "high": 1.0}
_UNKNOWN |= {"rho_at_most": 1.0, "eta_at_most": None, "worst": None}


class Churn(msgspec.Struct, frozen=True):
    mean: float
    low: float
    high: float
    confidence: float


class Step(msgspec.Struct, frozen=True):
    eta: float
    low: float = 0.0
    high: float = 1.0


class Profile(msgspec.Struct, frozen=True):
    eta: float
    runs: int
    exactly: list[int]
    steps: list[Step]

    @property
    def beyond(self) -> int:
        """Strings with more runs outside than eta allows."""
        return sum(self.exactly[math.floor(self.eta * self.runs + 1e-9) + 1 :])

    @property
    def asked(self) -> Step:
        return next((step for step in self.steps if step.eta == self.eta), Step(self.eta))


class First(msgspec.Struct, frozen=True, kw_only=True):
    """What of such a record has another place now, or is needed to find it."""

    source: str
    size: int
    seed: int
    design: str
    target: float
    confidence: float
    budget: int
    verdict: str
    bound: Bound | None = None
    pairs: int
    mismatches: int
    rho: Rho
    accuracy: Accuracy | None = None
    gate: str = "rho"
    churn: Churn | None = None
    arms: list[dict[str, Any]] | None = None  # sources or inputs, or private randomness in one of two ways
    private: str | None = None
    loss: str | None = None
    profile: Profile | None = None  # which no ledger kept

    @property
    def question(self) -> str:
        return "loss" if self.loss else self.gate


def upgraded(old: Mapping[str, Any]) -> dict[str, Any]:
    """msgspec.ValidationError with the field that is wrong."""
    first = msgspec.convert(old, First)
    rows = _rows(first)
    places = {row.replay: place for place, row in enumerate(rows) if row.replay}
    examples = old.get("examples")
    if isinstance(examples, list) and all(isinstance(one, dict) for one in examples):
        examples = [{**one, "cell": places.get(one.get("replay"), 0)} for one in examples]
    return {
        **{name: value for name, value in old.items() if name not in _GONE},
        "schema": "auditor.record/2",
        "question": first.question,
        "asked": {name: value for name, value in _asked(old, first, rows).items() if value is not None},
        "unit": "strings" if first.gate == "nu" else "pairs",
        "measures": msgspec.to_builtins(list(_measures(first, rows))),
        "cells": msgspec.to_builtins(rows),
        "answer": {"question": first.question, **_own(old, first.question)},
        "examples": examples,
    }


def _is_compared(rows: Sequence[CellRow]) -> bool:
    """Whether they are one question asked in two ways, and not sources or inputs."""
    return len({row.variant for row in rows}) > 1


def _asked(old: Mapping[str, Any], first: First, rows: Sequence[CellRow]) -> dict[str, Any]:
    """What would ask the same."""
    compared = _is_compared(rows)
    limit = "fixed" if first.design == "fixed" else "strings" if first.gate == "nu" else "pairs"
    return {
        "source": [*dict.fromkeys(row.source for row in rows)],
        "sample": old.get("sample_kind"),
        **{name: old.get(name) for name in ("size", "seed", "view", "probe", "resample")},
        "randomness": None if old.get("randomness") == "Generator" else old.get("randomness"),
        "private": "both" if compared else first.private,
        "inputs": _inputs(rows),
        "loss": first.loss,
        "no_integrate": True if first.question == "rho" else None,  # it counted outputs, whatever was declared
        "confidence": rows[0].confidence,
        limit: first.budget // (1 if compared else len(rows)),
        **_target(first),
    }


def _target(first: First) -> dict[str, Any]:
    if first.gate != "nu":
        return {"rho": first.target}
    beta = first.accuracy.allowed if first.accuracy else None
    known = {"eta": first.profile.eta, "runs": first.profile.runs} if first.profile else {}
    return {"nu": first.target, "beta": beta, **known}


def _inputs(rows: Sequence[CellRow]) -> Any:
    """As Python gives them; of values that nobody can type the commands of the arms have what was typed."""
    arms = [row for row in rows if row.input is not None]
    for words in (shlex.split(arm.replay or "") for arm in arms):
        if "--inputs" in words:
            return words[words.index("--inputs") + 1 :][0]
    if not arms:
        return None
    name = arms[0].name.removesuffix(f"={arms[0].input}").rpartition(", ")[2]
    return {name: [parse_param(text) for text in dict.fromkeys(str(arm.input) for arm in arms)]}


def _measures(first: First, rows: Sequence[CellRow]) -> Iterator[Measure]:
    """The question's own comes first."""
    if first.gate == "nu":
        yield _nu(first, rows)
        return
    rho, churn, found = first.rho, first.churn, first.accuracy
    counts = (None, None) if first.arms and not _is_compared(rows) else (first.mismatches, first.pairs)
    measures = [Measure("rho", rho.estimate, rho.low, rho.high, rho.confidence, rho.method, *counts)]
    if churn:
        own = Measure("churn", churn.mean, churn.low, churn.high, churn.confidence, "betting confidence sequence")
        measures.insert(first.gate != "churn", own)
    yield from measures
    if found and found.runs and counts[1] is not None:
        limits = (found.low, found.high, found.confidence)
        yield Measure("inaccurate", found.failures / found.runs, *limits, "as rho", found.failures, found.runs)


def _nu(first: First, rows: Sequence[CellRow]) -> Measure:
    one = rows[0] if len(rows) == 1 and first.profile else None
    rate = one.mismatches / one.pairs if one and one.pairs else None
    limits = (max(row.low for row in rows), max(row.high for row in rows), rows[0].confidence)
    counts = (one.mismatches, one.pairs) if one else (None, None)
    return Measure("nu", rate, *limits, "bounds that hold for every eta", *counts)


def _rows(first: First) -> list[CellRow]:
    """As cells have them; a record without arms has one."""
    known = {"question": first.question, "size": first.size, "seed": first.seed}
    cells = [{**arm, **known, "variant": arm.get("private")} for arm in first.arms or [_alone(first)]]
    rows = [msgspec.convert(cell, CellRow) for cell in cells]
    return [msgspec.structs.replace(row, estimate=_estimate(first, row)) for row in rows]


def _alone(first: First) -> dict[str, Any]:
    limits = _limits(first)
    return {
        "name": _ALONE,
        "source": first.source,
        "private": first.private,
        "pairs": first.pairs,
        "mismatches": first.profile.beyond if first.profile else first.mismatches,
        "low": limits.low,
        "high": limits.high,
        "confidence": first.confidence,
        "runs": first.accuracy.runs if first.accuracy else None,
        "failures": first.accuracy.failures if first.accuracy else None,
        "verdict": first.verdict,
    }


def _limits(first: First) -> Step | Churn | Rho:
    """Where what was asked about may be."""
    if first.gate != "nu":
        return first.churn if first.gate == "churn" and first.churn else first.rho
    if first.profile:
        return first.profile.asked
    side = "low" if first.bound and first.bound.side == "lower" else "high"
    return Step(0.0, **({side: first.bound.value} if first.bound else {}))


def _estimate(first: First, row: CellRow) -> float | None:
    if not row.pairs or (first.gate == "nu" and not first.profile):
        return None
    if first.gate == "churn":
        return first.churn.mean if first.churn and not first.arms else None  # which no arm of old said
    return row.mismatches / row.pairs


def _own(old: Mapping[str, Any], question: str) -> dict[str, Any]:
    if question == "nu":
        return old.get("profile") or _UNKNOWN | {"confidence": old.get("confidence")}
    return {"loss": old.get("loss")} if question == "loss" else {"churn": old.get("churn")}
