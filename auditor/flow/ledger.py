"""What was run before? A file of plans and finished trials, so that a killed audit loses nothing that it had finished.

Several audits may write one ledger at the same time. Only numbers and JSON are read from it, never a pickle, and each
row with its checksum. A ledger that cannot be written any more, say because the disk is full, ends no audit: the
trials wait in memory, and are written as soon as it goes again.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from json import dumps, loads  # as they are now: a subject may replace them
from time import monotonic
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from auditor import __version__
from auditor.engine.engine import How
from auditor.errors import UsageError
from auditor.flow.ledger_file import (
    check_kind_of_file,
    check_trials,
    complaining,
    connect,
    earlier,
    read_trials,
    signed,
    transaction,
    write_trials,
)
from auditor.flow.question import Inquiry
from auditor.flow.record import Kept, Record, as_record, environment
from auditor.sources.datasets import Dataset
from auditor.sources.shifts import Mixture, Shifted, parts_of
from auditor.sources.source import Sampler, Source, is_dataset, load_dataset, load_source
from auditor.subjects.outcome import fingerprint
from auditor.subjects.subject import code_hash
from auditor.trials.cell import Cell, told_params
from auditor.trials.own_code import code_of
from auditor.trials.trial import Trial
from auditor.trials.user_code import user_code

_OFTEN = 0.1  # seconds of work that a kill may cost
_RETRY = 5.0  # seconds between two tries on a disk that is full


class NoLedger:
    """For audits that keep nothing."""

    trouble: str | None = None
    first_budget: int | None = None

    def placed(self, record: Record) -> Record:
        return record

    def stored(self, cell: int) -> Mapping[int, Trial]:
        return {}

    def keep(self, trials: Sequence[Trial], cell: int) -> None: ...
    def finish(self, document: Callable[[], bytes], *, is_over: bool) -> None: ...


class Ledger:
    """One audit in a ledger: what it has of it, and where its trials go."""

    def __init__(self, file: str, connection: sqlite3.Connection, audit: int, notice: Callable[[str], None]) -> None:
        self._file, self._connection, self._audit, self._notice = file, connection, audit, notice
        (plan,) = connection.execute("SELECT plan FROM audits WHERE id = ?", (audit,)).fetchone()
        self.first_budget: int | None = loads(plan).get("first_budget")
        self.trouble: str | None = None
        self._stored: dict[int, dict[int, Trial]] = {}  # by cell and pair, those that were there when this audit began
        for cell, trial in read_trials(connection, audit):
            self._stored.setdefault(cell, {})[trial.index] = trial
        self._waiting: list[tuple[int, Trial]] = []  # with their cells
        self._next = 0.0

    def stored(self, cell: int) -> Mapping[int, Trial]:
        """The trials of a cell that were there when this audit began."""
        return self._stored.get(cell, {})

    def placed(self, record: Record) -> Record:
        """The record with where its trials are, and what came out before."""
        kept = Kept(ledger=self._file, audit=self._audit, earlier=earlier(self._connection, self._audit, record))
        return replace(record, cost=replace(record.cost, kept=kept))

    def keep(self, trials: Sequence[Trial], cell: int) -> None:
        """Written when a tenth of a second has passed: a transaction a trial would cost more than a fast one."""
        self._waiting += ((cell, trial) for trial in trials)
        if monotonic() >= self._next:
            self._write()

    def _write(self) -> None:
        self._next = monotonic() + _OFTEN
        try:
            with transaction(self._connection):
                write_trials(self._connection, self._audit, self._waiting)
            self._waiting.clear()
            self.trouble = None
        except sqlite3.Error as error:
            self._complain(error)

    def _complain(self, error: sqlite3.Error) -> None:
        self._next = monotonic() + _RETRY
        if self.trouble is None:
            self.trouble = f"cannot write --ledger {self._file}: {error}; the audit goes on, and its report is whole"
            self._notice(self.trouble)

    def finish(self, document: Callable[[], bytes], *, is_over: bool) -> None:
        """The record as JSON, unless somebody interrupted: that audit is to be continued."""
        self._write()
        if not is_over or self.trouble:
            return
        try:
            with transaction(self._connection):
                audit, record, checksum = signed((self._audit, document().decode()))
                self._connection.execute(
                    "UPDATE audits SET record = ?, record_checksum = ? WHERE id = ?", (record, checksum, audit)
                )
        except sqlite3.Error as error:
            self._complain(error)


@contextmanager
def open_ledger(
    inquiry: Inquiry, source: Source, how: How, notice: Callable[[str], None]
) -> Iterator[Ledger | NoLedger]:
    """The place of this audit in its ledger: a new one, or the one that it continues."""
    if how.ledger is None:
        yield NoLedger()
        return
    check_kind_of_file(how.ledger)
    if how.resume and not os.path.exists(how.ledger):
        raise UsageError(f"--resume: there is no file {how.ledger}; leave --resume out to begin an audit")
    plan = plan_of(inquiry, source, how)
    with connect(how.ledger) as connection:
        with complaining(how.ledger):
            if how.resume:
                check_trials(connection)
            audit = _resumed(connection, plan, how) if how.resume else None
            audit = _begun(connection, plan) if audit is None else audit
            ledger = Ledger(how.ledger, connection, audit, notice)
        yield ledger


def plan_of(inquiry: Inquiry, source: Source, how: How) -> dict[str, Any]:
    """All that decides what an audit finds: the question, the code, the limits, and what it runs on."""
    cell = inquiry.cells[0]
    subject = cell.subject
    code = code_of(user_code(cell, source))
    return {
        "question": cell.question,
        "subject": subject.name,
        "code_hash": code_hash(subject.fn),
        "modules": code.files,
        "versions": code.versions,
        "params": told_params(subject.params),
        "randomness": subject.randomness,
        "source": source.name,
        "source_hash": _source_hash(source),
        "sample": cell.sample_kind,
        "view": cell.view.name,
        "probe": cell.probe,
        **_probe_hash(cell),
        "within": cell.within.words if cell.within else None,
        "resample": getattr(source, "resample", None),
        "as": cell.as_,
        "private": cell.private,
        "size": cell.size,
        "seed": cell.seed,
        **asdict(inquiry.plan),
        "cells": [_cell(one) for one in inquiry.cells] if len(inquiry.cells) > 1 else None,
        "asked": inquiry.told(),
        "timeout": how.timeout,
        "memory": how.memory,
        "on_error": how.on_error,
        "auditor_version": __version__,
        **environment(),
    }


def _cell(cell: Cell) -> dict[str, Any]:
    """What tells it from another, and what its samples are drawn from."""
    source = load_source(cell.source, None if is_dataset(cell.source) else cell.resample)
    return {**cell.told(), "source_hash": _source_hash(source)}


def _source_hash(source: Source) -> str | None:
    if isinstance(source, Mixture):
        return " ".join(str(_source_hash(part)) for part in parts_of(source))
    if isinstance(source, (Dataset, Shifted)):
        return fingerprint((source.base if isinstance(source, Shifted) else source).rows)
    return code_hash(source.fn) if isinstance(source, Sampler) else None


def _probe_hash(cell: Cell) -> dict[str, str]:
    """Of a file of points that predictions are compared on, which may be another file by the time it is resumed."""
    if not isinstance(cell.probe, str) or not cell.view.needs_probe:
        return {}
    return {"probe_hash": fingerprint(load_dataset(cell.probe, "bootstrap").rows)}


def _begun(connection: sqlite3.Connection, plan: Mapping[str, Any]) -> int:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    with transaction(connection):
        (audit,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM audits").fetchone()
        connection.execute(
            "INSERT INTO audits (id, subject, plan, started, checksum) VALUES (?, ?, ?, ?, ?)",
            signed((audit, plan["subject"], dumps(plan), now)),
        )
    return int(audit)


def _resumed(connection: sqlite3.Connection, plan: Mapping[str, Any], how: How) -> int | None:
    """The last audit with this plan; where there is only another, UsageError with the difference, or None."""
    file = str(how.ledger)
    # Unfinished ones first: what somebody wants to continue is most likely one of them.
    rows = connection.execute(
        "SELECT id, plan, record FROM audits WHERE subject = ? ORDER BY record IS NULL DESC, id DESC",
        (plan["subject"],),
    ).fetchall()
    if not rows and not how.begins:
        raise UsageError(f"--resume: {file} has no audit of {plan['subject']}; leave --resume out to begin one")
    plans = [(audit, loads(text), record) for audit, text, record in rows]
    same = loads(dumps(plan))
    for audit, other, _ in plans:
        if {**other, "first_budget": None} == same:
            return int(audit)
    for audit, other, record in plans:
        longer = {**other, "budget": same["budget"], "first_budget": None} == same and same["budget"] > other["budget"]
        if longer and same["design"] == "anytime" and same["cells"] is None:  # what is judged once has no more
            _check_undecided(record, file)
            return _extended(connection, int(audit), other, same)
    if how.begins:
        return None
    raise UsageError(
        f"--resume: {file} has an audit of {plan['subject']}, and not this one: {_differences(plans[0][1], same)}; "
        "leave --resume out to begin another"
    )


def _check_undecided(record: str | None, file: str) -> None:
    """What has been decided stays so: more pairs would be a second answer to one question."""
    verdict = loads(record).get("verdict") if record else None
    if verdict in ("pass", "fail"):
        raise UsageError(
            f"--resume: {file} has this audit, and it was decided: {verdict}; only an undecided one goes on with more "
            "--pairs. Leave --resume out, and take a new --seed, to begin another"
        )


def _extended(connection: sqlite3.Connection, audit: int, then: Mapping[str, Any], now: Mapping[str, Any]) -> int:
    """The same audit with a larger budget; its gate stays calibrated to the first, and asks for more after it."""
    plan = {**now, "first_budget": then.get("first_budget") or then["budget"]}
    with transaction(connection):
        (started,) = connection.execute("SELECT started FROM audits WHERE id = ?", (audit,)).fetchone()
        *_, checksum = signed((audit, plan["subject"], text := dumps(plan), started))
        connection.execute(
            "UPDATE audits SET plan = ?, checksum = ?, record = NULL, record_checksum = NULL WHERE id = ?",
            (text, checksum, audit),
        )
    return audit


def _differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    names = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    if "modules" in names:  # these say it by name
        names = [name for name in names if name not in ("code_hash", "source_hash")]
    return ", ".join(words for name in names for words in _difference(name, then.get(name), now.get(name)))


def _difference(name: str, was: Any, now: Any) -> Iterator[str]:
    if name not in ("modules", "versions"):
        yield f"{name} was {was} and is {now}"
        return
    was, now = was or {}, now or {}
    for part in sorted(part for part in {**was, **now} if was.get(part) != now.get(part)):
        if part not in was or part not in now:
            yield f"{part} is imported {'now and was not' if part in now else 'no more'}"
        else:
            yield f"{part} has changed since" if name == "modules" else f"{part} was {was[part]} and is {now[part]}"


class Past(msgspec.Struct, frozen=True):
    """One audit of a subject: when, of which code, and what came of it; no record while it is unfinished."""

    started: str
    plan: dict[str, Any]
    pairs: int
    mismatches: int
    record: Record | None
    question: str = "rho"
    verdict: str | None = None  # None while it is unfinished


def read_history(file: str, subject: str) -> list[Past]:
    """Every audit of a subject in a ledger, the oldest first."""
    with connect(file, write=False) as connection, complaining(file):
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return []  # somebody is just making it
        check_trials(connection)
        rows = connection.execute(
            "SELECT started, plan, count(pair), count(difference), record FROM audits "
            "LEFT JOIN trials ON audit = id WHERE subject = ? GROUP BY id ORDER BY id",
            (subject,),
        ).fetchall()
    try:
        return [_past(started, loads(plan), *rest) for started, plan, *rest in rows]
    except ValueError as error:  # msgspec's complaints are of this kind too
        raise UsageError(f"cannot read --ledger {file}: {error}") from error


def _past(started: str, plan: dict[str, Any], pairs: int, mismatches: int, text: str | None) -> Past:
    """Ledgers from before record/2 have documents of other schemas for curves, prices and reuse."""
    document = loads(text) if text else {}
    is_record = str(document.get("schema")).startswith("auditor.record/")
    record = as_record(document) if is_record else None
    verdict = record.verdict if record else document.get("verdict", "finished") if document else None
    # Plans from then have what was asked beyond the gate under its name.
    others = (name for name in ("loss", "curve", "price", "reuse") if plan.get(name))
    question = str(plan.get("question") or next(others, plan.get("gates", "rho")))
    return Past(started, plan, pairs, mismatches, record, question, verdict)
