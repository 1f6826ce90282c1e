"""Is this file a ledger, is it whole, and what does it hold? SQLite in WAL mode, with a checksum in every row.

SQLite sees that its pages hang together, and not that a bit of a value has changed. So each trial, each plan and each
record has a checksum of all that it says and of where it belongs.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from json import dumps, loads  # as they are now: a subject may replace them
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote

import msgspec

from auditor.case import case_from
from auditor.errors import UsageError
from auditor.files import check_file, digest_of_file, reason
from auditor.flow.record import Earlier, Record
from auditor.trials.trial import Trial
from auditor.values import Difference

_VERSION = 5  # 1 had no checksums, 2 no cells, 3 neither counts nor cases, 4 no scores and predictions
_APPLICATION = 0x61756474  # "audt": what marks a file as a ledger
_WAIT = 30.0  # seconds for another audit that writes
_TABLES = """
CREATE TABLE IF NOT EXISTS audits (
  id INTEGER PRIMARY KEY, subject TEXT NOT NULL, plan TEXT NOT NULL, started TEXT NOT NULL, checksum BLOB NOT NULL,
  record TEXT, record_checksum BLOB
) STRICT;
CREATE TABLE IF NOT EXISTS trials (
  audit INTEGER NOT NULL REFERENCES audits, cell INTEGER NOT NULL, pair INTEGER NOT NULL, difference TEXT,
  accurate INTEGER, seconds REAL NOT NULL, churn REAL, bottoms TEXT, payload TEXT, scores TEXT,
  predictions TEXT, checksum BLOB NOT NULL,
  PRIMARY KEY (audit, cell, pair)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counts (
  audit INTEGER NOT NULL REFERENCES audits, cell INTEGER NOT NULL, trials INTEGER NOT NULL, mismatches INTEGER NOT NULL,
  checksum BLOB NOT NULL, PRIMARY KEY (audit, cell)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
  audit INTEGER NOT NULL REFERENCES audits, file TEXT NOT NULL, digest TEXT NOT NULL, checksum BLOB NOT NULL,
  PRIMARY KEY (audit, file)
) STRICT, WITHOUT ROWID;
"""
_STORED = "pair, difference, accurate, seconds, churn, bottoms, payload, scores, predictions"
_KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))

_TRIAL = ("index", "differs", "path", "left", "right", "probability", "accurate", "churn", "score")
COLUMNS = ("cell", "name", "source", "size", "seed", *_TRIAL, "no_output", "seconds")  # of a record's trials
_MOST, _LOOKED = 30, 100  # audits that a record shows, and that are looked at


def signed(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row with its checksum behind it."""
    return (*row, blake2b(repr(row).encode(), digest_size=8).digest())


def _check_audits(connection: sqlite3.Connection) -> None:
    """Check every plan and record; DatabaseError for the first that is not as it was written."""
    for row in connection.execute("SELECT id, subject, plan, started, checksum, record, record_checksum FROM audits"):
        if signed(row[:4])[-1] != row[4]:
            raise sqlite3.DatabaseError(f"the plan of its audit {row[0]} is damaged")
        if row[5:] != (None, None) and signed((row[0], row[5]))[-1] != row[6]:
            raise sqlite3.DatabaseError(f"the record of its audit {row[0]} is damaged")


def check_trials(connection: sqlite3.Connection) -> None:
    """Check every trial, count and file of every audit; DatabaseError for the first that is not as it was written."""
    known = {audit for (audit,) in connection.execute("SELECT id FROM audits")}
    for row in connection.execute(f"SELECT audit, cell, {_STORED}, checksum FROM trials"):
        if row[0] not in known or signed(row[:-1]) != row:
            raise sqlite3.DatabaseError(f"pair {row[2]} of its audit {row[0]} is damaged")
    for table, what in (("counts", "the count of cell {1}"), ("files", "the digest of {1}")):
        for row in connection.execute(f"SELECT * FROM {table}"):
            if row[0] not in known or signed(row[:-1]) != row:
                raise sqlite3.DatabaseError(f"{what.format(*row)} of its audit {row[0]} is damaged")


def write_trials(connection: sqlite3.Connection, audit: int, trials: Iterable[tuple[int, Trial]]) -> None:
    """Write trials, each with its cell; one that is there already stays as it is."""
    rows = [signed((audit, cell, *_row(trial))) for cell, trial in trials]
    connection.executemany("INSERT OR IGNORE INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def write_files(connection: sqlite3.Connection, audit: int, files: Mapping[str, str]) -> None:
    """Write the files that an audit's runs read, with digests; one that is there already stays as it is."""
    rows = [signed((audit, *one)) for one in files.items()]
    connection.executemany("INSERT OR IGNORE INTO files VALUES (?, ?, ?, ?)", rows)


def changed_file(connection: sqlite3.Connection, audit: int) -> str | None:
    """Return the first file that the audit's runs read and that is not what it was then; None if there is none."""
    rows = connection.execute("SELECT file, digest FROM files WHERE audit = ? ORDER BY file", (audit,))
    return next((file for file, digest in rows.fetchall() if digest_of_file(file) != digest), None)


def write_counts(connection: sqlite3.Connection, audit: int, counts: Mapping[int, tuple[int, int]]) -> None:
    """Write how many trials and mismatches an audit has counted, by cell.

    Workers run ahead of what is counted, and all their trials are kept: the trials in a ledger are no count. An audit
    that goes on counts again from its first trial, so a smaller count never replaces a larger one.
    """
    rows = [signed((audit, cell, *counted)) for cell, counted in counts.items()]
    connection.executemany(
        "INSERT INTO counts VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET trials = excluded.trials, "
        "mismatches = excluded.mismatches, checksum = excluded.checksum WHERE excluded.trials > trials",
        rows,
    )


def _row(trial: Trial) -> tuple[Any, ...]:
    """Return a trial as a row of the table of trials."""
    found = trial.difference
    difference = None if found is None else dumps([found.path, found.left, found.right])
    accurate = None if trial.accurate is None else int(trial.accurate)
    bottoms = dumps(trial.bottoms) if trial.bottoms else None
    payload = None if trial.payload is None else dumps(trial.payload)
    scores = dumps(trial.scores) if trial.scores else None
    predictions = dumps(trial.predictions) if trial.predictions else None
    return trial.index, difference, accurate, trial.seconds, trial.churn, bottoms, payload, scores, predictions


def read_trials(connection: sqlite3.Connection, audit: int) -> Iterator[tuple[int, Trial]]:
    """Yield the trials of an audit, each with its cell, in their order."""
    rows = connection.execute(f"SELECT cell, {_STORED} FROM trials WHERE audit = ? ORDER BY cell, pair", (audit,))
    for cell, pair, difference, accurate, seconds, churn, bottoms, payload, scores, predictions in rows:
        found = None if difference is None else Difference(*loads(difference))
        no_output = tuple(loads(bottoms)) if bottoms else ()
        more = None if payload is None else loads(payload)
        judged, scored = None if accurate is None else bool(accurate), tuple(loads(scores)) if scores else ()
        predicted = tuple(loads(predictions)) if predictions else ()
        yield cell, Trial(pair, found, judged, seconds, churn, no_output, more, scored, predicted)


def check_kind_of_file(file: str) -> None:
    """Raise UsageError unless the path is a file or nothing yet: reading a pipe or a device would wait for ever."""
    for name in (file, f"{file}-wal", f"{file}-shm", f"{file}-journal"):
        try:
            mode = os.stat(name).st_mode
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot use --ledger {file}: {reason(error)}; give another file") from error
        if not stat.S_ISREG(mode):
            kind = next((kind for is_it, kind in _KINDS if is_it(mode)), "a device")
            raise UsageError(f"cannot use --ledger {file}: {name} is {kind}; give another file")


@contextmanager
def connect(file: str, *, write: bool = True) -> Iterator[sqlite3.Connection]:
    """Open a ledger; UsageError with the reason where the file is none, or not whole."""
    if sqlite3.sqlite_version_info < (3, 37):
        raise UsageError(f"--ledger needs SQLite 3.37 or newer, and Python here has {sqlite3.sqlite_version}")
    check_kind_of_file(file)
    if not write and not os.path.exists(file):
        raise UsageError(f"cannot read --ledger {file}: No such file; check TARGET --ledger FILE makes one")
    with ExitStack() as stack:
        with complaining(file):
            connection = _opened(file) if write else _opened_to_read(file, stack)
        stack.callback(_close, connection)
        with complaining(file):
            _prepare(connection, file, write=write)
        yield connection


def _opened(file: str, how: str = "") -> sqlite3.Connection:
    """Open a file by its address: SQLite would take the names `file:...`, `:memory:` and none for something else."""
    address = f"file:{quote(os.fsencode(os.path.abspath(file)))}{how}"
    return sqlite3.connect(address, timeout=_WAIT, isolation_level=None, uri=True)


def _close(connection: sqlite3.Connection) -> None:
    """Close the file, whatever state its disk is in."""
    with suppress(sqlite3.Error):  # a full disk cannot be checkpointed; the next who opens it does
        connection.close()


def _opened_to_read(file: str, stack: ExitStack) -> sqlite3.Connection:
    """Open a ledger to read it, also where nothing can be written: in WAL mode SQLite wants files beside the ledger.

    Where it cannot make them, the ledger is read as one that nobody changes; if the last audit that wrote it has not
    been able to put all into the one file, a copy of both is read. Every row has a checksum, so that what somebody
    else writes meanwhile is noticed. To read is not asked for first: SQLite would leave its two files behind.
    """
    connection = _opened(file)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return connection
    except sqlite3.Error as error:
        _close(connection)
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
    wal = f"{file}-wal"
    if not os.path.exists(wal) or not os.path.getsize(wal):
        return _opened(file, "?mode=ro&immutable=1")
    try:
        folder = stack.enter_context(TemporaryDirectory(prefix="auditor-"))
        copy = os.path.join(folder, "ledger")
        shutil.copyfile(file, copy)
        shutil.copyfile(wal, f"{copy}-wal")
    except OSError as error:
        words = f"cannot read --ledger {file}: a copy of it is needed, as {wal} cannot be put into it there"
        raise UsageError(f"{words} ({reason(error)}); copy both to another folder") from error
    return _opened(copy)


def _prepare(connection: sqlite3.Connection, file: str, *, write: bool) -> None:
    """Check that a database is a whole ledger, and make its tables if it is new."""
    # The tables first: whoever makes them marks the file in the same transaction, so what is read after them is theirs.
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (kind,), (version,) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    if tables and (kind, version) != (_APPLICATION, _VERSION):
        what = f"of version {version}, and this auditor's is {_VERSION}" if kind == _APPLICATION else "no ledger"
        raise UsageError(f"--ledger {file} is a database {what}: give another file")
    (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if state != "ok":
        raise sqlite3.DatabaseError(state)
    if tables:
        _check_audits(connection)
    elif write:  # several audits may be about to make them, and one does
        with transaction(connection):
            for statement in _TABLES.split(";")[:-1]:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
    if write:
        _switch_to_wal(connection)
    connection.execute("PRAGMA synchronous = NORMAL")


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode, if that is not done already. No timeout of SQLite's own covers the switch."""
    end = monotonic() + _WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or monotonic() > end:
                raise
            sleep(0.01)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """While this lasts, what is written is written whole or not at all."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


@contextmanager
def complaining(file: str) -> Iterator[None]:
    """Turn what SQLite complains of into a UsageError."""
    try:
        yield
    except (sqlite3.Error, UnicodeError) as error:  # what SQLite quotes of a damaged file may be no text
        raise UsageError(f"cannot use --ledger {file}: {error}; give another file, or move this one away") from error


def earlier(connection: sqlite3.Connection, audit: int, record: Record) -> list[Earlier]:
    """Return the last audits that asked the same before this one, the oldest first; none if the ledger is in trouble,
    which is said elsewhere."""
    query = "SELECT started, record FROM audits WHERE subject = ? AND id < ? AND record IS NOT NULL ORDER BY id DESC"
    try:
        rows = connection.execute(f"{query} LIMIT {_LOOKED}", (record.subject, audit)).fetchall()
    except sqlite3.Error:
        return []
    found = [(started, loads(text)) for started, text in rows]
    same = [(at, one) for at, one in found if _limits(one) and _asks_the_same(record, one)]
    return [
        Earlier(started=at, code_hash=one["code_hash"], verdict=one["verdict"], **_limits(one))
        for at, one in reversed(same[:_MOST])
    ]


def _asks_the_same(record: Record, document: dict[str, Any]) -> bool:
    """True if an earlier record answers the same question about the same case, of whatever version of the subject."""
    if any(document.get(name) != getattr(record, name) for name in ("question", "source", "target")):
        return False
    try:
        return record.case is not None and not record.case.differs(case_from(document.get("case")), "history")
    except msgspec.ValidationError:
        return False


def _limits(one: dict[str, Any]) -> dict[str, Any]:
    """Return the estimate and the interval of a record's first measure; nothing if that is from 0 to 1."""
    first = next(iter(one.get("measures") or ()), {"low": 0, "high": 1})
    is_open = (first["low"], first["high"]) == (0, 1)
    return {} if is_open else {name: first[name] for name in ("estimate", "low", "high")}


def trials_of(record: Record, ledger: str | None = None) -> dict[str, list[Any]]:
    """Return every trial of a record, a list for each column; UsageError where no ledger has them."""
    kept = record.cost.kept
    if kept is None:
        raise UsageError(
            "this record has counts, and no ledger has its trials: ask again with ledger=FILE, on the command line "
            "--ledger FILE"
        )
    file = ledger or kept.ledger
    check_file(file, f"cannot read the ledger {file}")
    with connect(file, write=False) as connection, complaining(file):
        found = connection.execute("SELECT subject FROM audits WHERE id = ?", (kept.audit,)).fetchone()
        if found != (record.subject,):
            raise UsageError(f"audit {kept.audit} of {file} is not of {record.subject}: give the record's own ledger")
        check_trials(connection)
        lines = [[*_line(record, *one)] for one in read_trials(connection, kept.audit)]
    return {name: [line[place] for line in lines] for place, name in enumerate(COLUMNS)}


def _line(record: Record, cell: int, trial: Trial) -> Iterator[Any]:
    """Yield the values of a trial in the order of the columns. A cell that the record has no row for has no name."""
    row = record.cells[cell] if cell < len(record.cells) else None
    found, more = trial.difference, trial.payload
    yield cell
    yield from (row.name, row.source, row.size, row.seed) if row else (None, record.source, None, None)
    yield from (trial.index, found is not None)
    yield from (found.path, found.left, found.right) if found else (None, None, None)
    yield more.get("mismatch") if isinstance(more, dict) else None
    known = [one for one in trial.scores if one is not None]
    score = sum(known) / len(known) if known and len(known) == len(trial.scores) else None
    yield from (trial.accurate, trial.churn, score, len(trial.bottoms), trial.seconds)
