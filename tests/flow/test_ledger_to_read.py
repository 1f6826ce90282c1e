"""A ledger where nothing can be written: on a read-only mount, or in a folder of somebody else's."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.requests import audit

import auditor
from auditor.errors import UsageError
from auditor.flow.ledger import read_history
from auditor.flow.ledger_file import connect

NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that others can get to, unlike pytest's own; with signs in its name that an address gives a meaning to."""
    top = Path(tempfile.mkdtemp(prefix="ledger-"))
    top.chmod(0o755)
    made = top / "50%2f ?#é"
    made.mkdir()
    yield made
    made.chmod(0o755)
    shutil.rmtree(top)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing in the folder can be written, whoever runs the tests: root, whom rights do not bind, becomes another."""
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        with pytest.raises(PermissionError):
            (folder / "new").touch()
        yield
    finally:
        if is_root:
            os.seteuid(0)


def full_disk(source: str, target: str) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)


def _made(folder: Path) -> tuple[str, auditor.Record]:
    file = str(folder / "a.sqlite")
    return file, audit("first_bit", "bernoulli(0.5)", rho=0.2, pairs=40, ledger=file)


def test_a_ledger_is_read_where_nothing_can_be_written(folder: Path) -> None:
    file, record = _made(folder)
    assert [one.name for one in folder.iterdir()] == ["a.sqlite"]
    with read_only(folder):
        (past,) = read_history(file, record.subject)
        assert len(record.trials()["index"]) == record.pairs
    assert past.record is not None
    assert past.record.verdict == record.verdict
    assert [one.name for one in folder.iterdir()] == ["a.sqlite"]


def test_what_a_killed_audit_left_beside_its_ledger_is_read_too(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, record = _made(folder)
    writer = sqlite3.connect(file)  # it keeps SQLite from putting all into one file
    writer.execute("SELECT count(*) FROM audits").fetchone()
    _made(folder)
    held = tmp_path / "held"
    shutil.copytree(folder, held)
    writer.close()
    shutil.copytree(held, folder, dirs_exist_ok=True)
    (folder / "a.sqlite-shm").unlink()
    assert (folder / "a.sqlite-wal").stat().st_size
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    with read_only(folder):
        assert len(read_history(file, record.subject)) == 2
        monkeypatch.setattr(shutil, "copyfile", full_disk)
        with pytest.raises(UsageError, match=r"a copy of it is needed, .*; copy both to another folder"):
            read_history(file, record.subject)
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == before


def test_what_is_no_ledger_is_none_there_either(folder: Path) -> None:
    (folder / "text").write_text("no ledger, and long enough to be taken for one" * 20)
    (folder / "empty").touch()
    with read_only(folder):
        with pytest.raises(UsageError, match=r"cannot use --ledger .*not a database"):
            read_history(str(folder / "text"), "a:b")
        assert read_history(str(folder / "empty"), "a:b") == []
        with pytest.raises(UsageError, match="cannot use --ledger"), connect(str(folder / "empty")):
            pass
