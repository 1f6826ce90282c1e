"""Which audits does a project ask for? `[tool.auditor]` and `[[tool.auditor.subject]]` in pyproject.toml.

    [tool.auditor]
    confidence = 0.95

    [[tool.auditor.subject]]
    target = "mypackage.learners:fit"
    source = "data.csv#label"
    rho = 0.1

Every key is one of `check`'s options; `expect = "fail"` needs a `reason`. Unknown keys are refused.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from auditor.errors import UsageError, suggestion
from auditor.files import read_bytes
from auditor.questions.panel import share
from auditor.subjects.subject import load_subject
from auditor.trials.setup import Setup, make_setup

MOST = 10**30
_OPTIONS = ("size", "rho", "pairs", "fixed", "sample", "view", "probe", "resample", "accept_overlap", "gate")


class SubjectTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One [[tool.auditor.subject]]."""

    target: str
    source: str | None = None
    size: int | None = None
    rho: float | None = None
    pairs: int | None = None
    fixed: int | None = None
    params: dict[str, Any] = {}
    randomness: str | None = None
    sample: str | None = None
    view: str | None = None
    probe: int | str | None = None
    resample: str | None = None
    accept_overlap: bool = False
    gate: str = "rho"
    expect: str = "pass"
    reason: str | None = None


class Config(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """[tool.auditor]."""

    confidence: float = 0.95
    seed: int = 0
    subject: list[SubjectTable] = []


def read_config(path: Path) -> Config:
    """The project's audits; UsageError with the key that is wrong."""
    tables = _table(_table(_read_toml(path), "tool"), "auditor")
    if not tables.get("subject"):
        raise UsageError(f"{path} has no [[tool.auditor.subject]]: add one with target, source, size and rho")
    _check_keys(path, "[tool.auditor]", tables, Config)
    for table in tables["subject"] if isinstance(tables["subject"], list) else ():
        _check_keys(path, "[[tool.auditor.subject]]", table if isinstance(table, dict) else {}, SubjectTable)
    try:
        config = msgspec.convert(tables, Config)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"{path}, [tool.auditor]: {error}") from error
    _check_numbers(path, config)
    for table in config.subject:
        _check_expectation(path, table)
    return config


def _read_toml(path: Path) -> dict[str, Any]:
    content = read_bytes(path, f"cannot read {path}")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no TOML: byte {error.start:,} is not UTF-8") from error
    except ValueError as error:  # of TOML, or of an int with thousands of digits
        raise UsageError(f"{path} is no TOML: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{path} is no TOML that can be read: it is nested too deeply") from error


def _table(document: dict[str, Any], name: str) -> dict[str, Any]:
    """A table of a document; an empty one where there is none."""
    found = document.get(name, {})
    return found if isinstance(found, dict) else {}


def _check_numbers(path: Path, config: Config) -> None:
    """What each audit could not say of its own share, or could not print."""
    if not 0 < config.confidence < 1:
        raise UsageError(f"{path}: confidence = {config.confidence} must be in (0, 1): of all verdicts, e.g. 0.95")
    counts = [("seed", config.seed)]
    counts += [(name, getattr(table, name)) for table in config.subject for name in ("size", "pairs", "fixed", "probe")]
    for name, value in counts:
        if isinstance(value, int) and not -MOST < value < MOST:
            raise UsageError(f"{path}: {name} is beyond 1e30: use a smaller number")


def _check_keys(path: Path, place: str, table: Mapping[str, Any], kind: type[msgspec.Struct]) -> None:
    known = kind.__struct_fields__
    for key in table:
        if key not in known:
            close = suggestion(key, known)
            raise UsageError(f"{path}, {place}: unknown key {key!r}{close}; it has {', '.join(known)}")


def _check_expectation(path: Path, table: SubjectTable) -> None:
    if table.expect not in ("pass", "fail", "error"):
        raise UsageError(f"{path}: expect = {table.expect!r} of {table.target} must be one of pass, fail, error")
    if table.expect != "pass" and not table.reason:
        raise UsageError(f"{path}: expect = {table.expect!r} of {table.target} needs a reason")


def make_setups(config: Config) -> list[Setup]:
    """Every audit settled, with its share of the error, before any of them runs."""
    confidence = share(config.confidence, len(config.subject))
    return [_make_setup(table, config.seed, confidence) for table in config.subject]


def _make_setup(table: SubjectTable, seed: int, confidence: float) -> Setup:
    subject = load_subject(table.target, table.params, randomness=table.randomness)
    options = {name: getattr(table, name) for name in _OPTIONS}
    setup = make_setup(subject, table.source, confidence=confidence, seed=seed, **options)
    return replace(setup, expected=table.expect)
