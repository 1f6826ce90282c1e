"""Does a resumed audit read what it read before? Files that runs open are kept in the ledger, with digests."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import auditor
from auditor.errors import UsageError
from auditor.flow.ledger import read_history

LEARNER = """
import json, pathlib, tempfile
def fit(sample, r):
    with tempfile.TemporaryFile() as scratch:
        scratch.write(b"x")
    return json.loads(pathlib.Path("width.json").read_text())["width"]
"""


def test_resume_names_the_file_that_runs_read_and_that_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reads_width.py").write_text(LEARNER)
    width = Path("width.json")
    width.write_text('{"width": 1}')
    asked: dict[str, Any] = {"size": 3, "pairs": 60, "ledger": "kept.sqlite"}
    record = auditor.audit("reads_width.py:fit", "norm", **asked)
    with closing(sqlite3.connect("kept.sqlite")) as connection:
        assert connection.execute("SELECT file FROM files").fetchall() == [(str(width.resolve()),)]
    assert auditor.audit("reads_width.py:fit", "norm", resume=True, **asked).pairs == record.pairs
    width.write_text('{"width": 2}')
    with pytest.raises(UsageError, match=r"width\.json, which its runs read, has changed since"):
        auditor.audit("reads_width.py:fit", "norm", resume=True, **asked)
    with closing(sqlite3.connect("kept.sqlite")) as connection, connection:
        connection.execute("UPDATE files SET digest = 'another'")
    with pytest.raises(UsageError, match=r"the digest of \S+width.json of its audit 1 is damaged"):
        read_history("kept.sqlite", "reads_width.py:fit")


@pytest.mark.parametrize("name", ["file:kept?mode=memory", ":memory:", "a%20b?c#d"])
def test_a_ledger_is_the_file_of_its_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record = auditor.audit(lambda sample, r: 1, "norm", size=3, pairs=60, ledger=name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert len(read_history(name, record.subject)) == 1
