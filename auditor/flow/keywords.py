"""The types of Python's keywords, for editors and type checkers. docs/make_keywords.py writes this file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict


class ReplayKeywords(TypedDict, total=False):
    """The keywords of `auditor.replay`."""

    size: int | None
    sample: str | None
    params: Mapping[str, Any]
    view: Any
    atol: float | None
    rtol: float | None
    probe: int | str | None
    resample: str | None
    as_: str | None
    accept_overlap: bool
    randomness: str | None
    seed: int
    confidence: float
    jobs: int | None
    timeout: float | None
    memory: int | str | None
    on_error: str | None
    ledger: Any
    resume: bool
    cluster: str | None
    for_: float | str | None
    executor: Any
    second_process: bool
    fixed: int | None
    inputs: Any
    private: str | None
    family: int
    rho: float | None
    pairs: int | None
    measure: str | None
    scale: float | None
    rows: Any
    by: str | None
    score: Any
    score_at_least: float | None
    no_integrate: bool
    baseline: Any


class AuditKeywords(ReplayKeywords, total=False):
    """The keywords of `auditor.audit` and `auditor.assert_reproducible`."""

    loss: Any
    delta: float
    eta: float | None
    nu: float | None
    beta: float | None
    runs: int | None
    strings: int | None
    list_size: int | None


class AskKeywords(AuditKeywords, total=False):
    """The keywords of `auditor.ask`, whatever the question."""

    vary: Any
    settings: Any
    targets: Any
    score_within: float
    margin: float
    old: Any
    against: str | None
    old_param: Mapping[str, Any] | None
    old_python: str | None
    worst: bool
    half_width: float
    trace: bool
    over: Any
    range: Any
    accept_search: bool
    most: int | None
    with_: str | None
    analyst: Any
    queries: int
