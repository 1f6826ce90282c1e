"""What was run before? A file of plans and finished trials, so that a killed audit loses nothing that it had finished.

Several audits may write one ledger at the same time. Only numbers and JSON are read from it, never a pickle, and each
row with its checksum. A ledger that cannot be written any more, say because the disk is full, ends no audit: the
trials wait in memory, and are written as soon as that is possible again. The file itself is in `ledger_file`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from json import dumps, loads  # as they are now: a subject may replace them
from time import monotonic
from typing import Annotated, Any

import msgspec
from msgspec.structs import asdict, replace

from auditor import __version__
from auditor.case import Case, case_from, file_name
from auditor.engine.engine import RunOptions
from auditor.errors import UsageError
from auditor.flow.ledger_file import (
    changed_file,
    check_kind_of_file,
    check_trials,
    complaining,
    connect,
    earlier,
    read_trials,
    signed,
    transaction,
    write_counts,
    write_files,
    write_trials,
)
from auditor.flow.question import Inquiry
from auditor.flow.record import LedgerPlace, Record, as_record, environment
from auditor.trials.cell import source_of
from auditor.trials.identity import case_of
from auditor.trials.trial import Trial

_OFTEN = 0.1  # seconds of work that a kill may cost
_RETRY = 5.0  # seconds between two tries on a disk that is full


class Ledger:
    """One audit in a ledger: the trials that are there, and where new ones go."""

    def __init__(self, file: str, connection: sqlite3.Connection, audit: int, notice: Callable[[str], None]) -> None:
        self._file, self._connection, self._audit, self._notice = file, connection, audit, notice
        (plan,) = connection.execute("SELECT plan FROM audits WHERE id = ?", (audit,)).fetchone()
        self.first_budget: int | None = _plan_from(plan, file)["first_budget"]
        self.trouble: str | None = None
        self._stored: dict[int, dict[int, Trial]] = {}  # by cell and pair, those that were there when this audit began
        for cell, trial in read_trials(connection, audit):
            self._stored.setdefault(cell, {})[trial.index] = trial
        self._waiting: list[tuple[int, Trial]] = []  # with their cells
        self._counts: dict[int, tuple[int, int]] = {}  # by cell, the trials and mismatches that the audit has counted
        self._next = 0.0

    def stored(self, cell: int) -> Mapping[int, Trial]:
        """Return the trials of a cell that were there when this audit began, by index."""
        return self._stored.get(cell, {})

    def placed(self, record: Record) -> Record:
        """Return the record with the place of its trials, and with what earlier audits of the same found."""
        kept = LedgerPlace(ledger=self._file, audit=self._audit, earlier=earlier(self._connection, self._audit, record))
        return replace(record, cost=replace(record.cost, kept=kept))

    def keep(self, trials: Sequence[Trial], cell: int) -> None:
        """Take trials to be written, every tenth of a second: a transaction a trial would cost more than a fast one."""
        self._waiting += ((cell, trial) for trial in trials)
        if monotonic() >= self._next:
            self._write()

    def count(self, trial: Trial, cell: int) -> None:
        """Note that the audit has counted a trial, whenever that was run."""
        trials, mismatches = self._counts.get(cell, (0, 0))
        self._counts[cell] = trials + 1, mismatches + (trial.difference is not None)

    def read(self, files: Mapping[str, str]) -> None:
        """Keep the files that runs were seen to read, with digests, so that a resumed audit reads the same."""
        try:
            with transaction(self._connection):
                write_files(self._connection, self._audit, files)
        except sqlite3.Error as error:
            self._complain(error)

    def _write(self) -> None:
        """Write what is waiting; where the disk refuses, the audit goes on and it is tried again."""
        self._next = monotonic() + _OFTEN
        try:
            with transaction(self._connection):
                write_trials(self._connection, self._audit, self._waiting)
                write_counts(self._connection, self._audit, self._counts)
            self._waiting.clear()
            self.trouble = None
        except sqlite3.Error as error:
            self._complain(error)

    def _complain(self, error: sqlite3.Error) -> None:
        """Note that the ledger cannot be written, and say so once."""
        self._next = monotonic() + _RETRY
        if self.trouble is None:
            self.trouble = f"cannot write --ledger {self._file}: {error}; the audit goes on, and its report is whole"
            self._notice(self.trouble)

    def finish(self, document: Callable[[], bytes], *, is_over: bool) -> None:
        """Write what is left, and the record as JSON, unless the audit is to be continued."""
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
def open_ledger(inquiry: Inquiry, case: Case, options: RunOptions, notice: Callable[[str], None]) -> Iterator[Ledger]:
    """Open the ledger of `options`, and begin this audit there or continue it; `notice` takes a sentence for the
    user."""
    file, audit = str(options.ledger), None
    check_kind_of_file(file)
    if options.resume and not os.path.exists(file):
        raise UsageError(f"--resume: there is no file {file}; leave --resume out to begin an audit")
    plan = plan_of(inquiry, case, options)
    with connect(file) as connection:
        with complaining(file):
            if options.resume:
                check_trials(connection)
                audit = _find_audit(connection, plan, file, begins=options.begins, goes_on=inquiry.goes_on)
            if audit is None:
                audit = _begin(connection, plan)
            ledger = Ledger(file, connection, audit, notice)
        yield ledger


def plan_of(inquiry: Inquiry, first: Case, options: RunOptions) -> dict[str, Any]:
    """Return all that decides what an audit finds, as JSON: its cases, what the question asks, the plan, the limits.

    Of several cells the first has a case; the others have their names, and the fields in which their cases differ from
    the first.
    """
    cells, known = None, first.to_json()
    if len(inquiry.cells) > 1:
        cells = []
        for cell in inquiry.cells:
            case = case_of(cell, source_of(cell), on_error=options.on_error, memory=options.memory).to_json()
            others = {name: value for name, value in case.items() if value != known.get(name)}
            cells.append({**others, "name": cell.name})
    plan = {
        **asdict(inquiry.plan),
        "subject": inquiry.cells[0].subject.name,
        "question": inquiry.cells[0].question,
        "case": known,
        "cells": cells,
        "asked": inquiry.settings(),
        "timeout": options.timeout,
        "auditor_version": __version__,
        **environment(),
    }
    as_json: dict[str, Any] = loads(dumps(plan))
    return as_json


def _begin(connection: sqlite3.Connection, plan: Mapping[str, Any]) -> int:
    """Write a new audit, and return its number."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    with transaction(connection):
        (audit,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM audits").fetchone()
        connection.execute(
            "INSERT INTO audits (id, subject, plan, started, checksum) VALUES (?, ?, ?, ?, ?)",
            signed((audit, plan["subject"], dumps(plan), now)),
        )
    return int(audit)


def _find_audit(
    connection: sqlite3.Connection, plan: Mapping[str, Any], file: str, *, begins: bool, goes_on: bool
) -> int | None:
    """Return the last audit with this plan, or with this plan and a smaller budget, which is then extended.

    One into several cells is extended only where it `goes_on`: the gates of others are calibrated to their budget.
    Where there is neither: None if the audit may begin anew, and else UsageError with the difference.
    """
    # Unfinished ones first: what somebody wants to continue is most likely one of them.
    rows = connection.execute(
        "SELECT id, plan, record FROM audits ORDER BY subject = ? DESC, record IS NULL DESC, id DESC",
        (plan["subject"],),
    ).fetchall()
    plans = [(audit, _plan_from(text, file), record) for audit, text, record in rows]
    plans = [row for row in plans if file_name(row[1]["subject"]) == file_name(plan["subject"])]
    if not plans and not begins:
        raise UsageError(f"--resume: {file} has no audit of {plan['subject']}; leave --resume out to begin one")
    for audit, other, _ in plans:
        if _is_same(other, plan):
            _check_files(connection, audit, file)
            return int(audit)
    for audit, other, record in plans:
        is_longer = _is_same({**other, "budget": plan["budget"]}, plan) and plan["budget"] > other["budget"]
        if is_longer and plan["design"] == "anytime" and (plan["cells"] is None or goes_on):  # else it is judged once
            # What has been decided stays so: more pairs would be a second answer to one question.
            verdict = loads(record).get("verdict") if record else None
            if verdict in ("pass", "fail"):
                raise UsageError(
                    f"--resume: {file} has this audit, and it was decided: {verdict}; only an undecided one goes on "
                    "with more --pairs. Leave --resume out, and take a new --seed, to begin another"
                )
            _check_files(connection, audit, file)
            _extend(connection, audit, other, plan)
            return int(audit)
    if begins:
        return None
    last = plans[0][1]
    raise UsageError(
        f"--resume: {file} has an audit of {last['subject']}, but the two differ in {_differences(last, plan)}; "
        "leave --resume out to begin another"
    )


def _check_files(connection: sqlite3.Connection, audit: int, ledger: str) -> None:
    """Raise UsageError if a file that the audit's runs read has changed since."""
    if changed := changed_file(connection, audit):
        raise UsageError(
            f"--resume: {ledger} has this audit, but {changed}, which its runs read, has changed since; leave --resume "
            "out to begin another"
        )


def _extend(connection: sqlite3.Connection, audit: int, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Give an audit a larger budget; its gate stays calibrated to the first, and asks for more after it."""
    plan = {**now, "first_budget": then.get("first_budget") or then["budget"]}
    with transaction(connection):
        (started,) = connection.execute("SELECT started FROM audits WHERE id = ?", (audit,)).fetchone()
        *_, checksum = signed((audit, plan["subject"], text := dumps(plan), started))
        connection.execute(
            "UPDATE audits SET plan = ?, checksum = ?, record = NULL, record_checksum = NULL WHERE id = ?",
            (text, checksum, audit),
        )


def _plan_from(text: str, file: str) -> dict[str, Any]:
    """Read a plan; UsageError where somebody else has written something that is none."""
    try:
        plan: dict[str, Any] = msgspec.to_builtins(msgspec.convert(loads(text), _Plan))
        return {**loads(text), **plan}
    except (ValueError, RecursionError) as error:  # msgspec's complaints are ValueErrors too
        raise UsageError(f"cannot read --ledger {file}: {error}") from error


class _Plan(msgspec.Struct, frozen=True):
    """The parts of a plan that are looked into."""

    subject: str
    case: Case
    asked: dict[str, Any]
    budget: Annotated[int, msgspec.Meta(ge=1)]
    question: str
    first_budget: Annotated[int, msgspec.Meta(ge=1)] | None = None

    def __post_init__(self) -> None:
        if self.first_budget is not None and self.first_budget > self.budget:
            raise ValueError(f"its first_budget, {self.first_budget}, is above its budget, {self.budget}")


def _is_same(then: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """True if two plans are of one audit. The paths of files whose content is the same may differ."""
    apart = {"case": None, "subject": None}
    return {**then, **apart, "first_budget": None} == {**now, **apart} and not case_from(then["case"]).differs(
        case_from(now["case"]), "resume"
    )


def _differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Say in what two plans differ: of their cases and of what the question asks field by field."""
    found = case_from(then["case"]).differs(case_from(now["case"]), "resume")
    for was, is_now in ((then["asked"], now["asked"]), (then, now)):
        names = [name for name in {**was, **is_now} if name not in ("case", "cells", "asked", "subject", "question")]
        found += [
            f"{name}: {was.get(name)} and {is_now.get(name)}" for name in names if was.get(name) != is_now.get(name)
        ]
    return ", ".join(found) or f"its sources and inputs: {dumps(then['cells'])} and {dumps(now['cells'])}"


class Past(msgspec.Struct, frozen=True):
    """One audit of a subject as a ledger has it; there is no record while it is unfinished."""

    started: str
    plan: dict[str, Any]
    case: Case  # of its first cell
    pairs: int  # that the audit has counted, over all cells; workers may have run more
    mismatches: int
    record: Record | None

    @property
    def question(self) -> str:
        """The question that the audit asked."""
        return str(self.plan["question"])

    @property
    def verdict(self) -> str | None:
        """The verdict of the audit; None if it never ended."""
        return self.record.verdict if self.record else None


def read_history(file: str, subject: str) -> list[Past]:
    """Return every audit of a subject in a ledger, the oldest first."""
    with connect(file, write=False) as connection, complaining(file):
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return []  # somebody is just making it
        check_trials(connection)
        rows = connection.execute(
            "SELECT started, plan, coalesce(sum(trials), 0), coalesce(sum(mismatches), 0), record FROM audits "
            "LEFT JOIN counts ON audit = id WHERE subject = ? GROUP BY id ORDER BY id",
            (subject,),
        ).fetchall()
    try:
        return [
            Past(
                started,
                plan := _plan_from(text, file),
                case_from(plan["case"]),
                pairs,
                mismatches,
                as_record(loads(record)) if record else None,
            )
            for started, text, pairs, mismatches, record in rows
        ]
    except (ValueError, LookupError, TypeError) as error:  # msgspec's complaints are ValueErrors too
        raise UsageError(f"cannot read --ledger {file}: {error}") from error
