"""Records and ledgers are files from anywhere: whatever their fields hold, a command shows them or says what is wrong.

Records of every question are spoilt, a field at a time, with values of every kind; the places and the values are drawn
from a generator with a fixed seed, so that each run tries the same.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from learners import chosen
from support import requests

from auditor.cli.command_line import run
from auditor.flow.ledger_file import connect, signed
from auditor.flow.record import Record, to_json
from auditor.report.formats import FORMATS

GONE = object()
VALUES: list[Any] = [
    *(None, True, -1, 0, 3, 2**70, 1e308, -0.5, float("nan"), float("inf"), GONE),
    *("", "\ud800", "\x1b[31m::error::", "9" * 400, "<script>", [], {}, [[]], {"": None}, [None], ["\ud800"]),
]
TRIED = 60  # spoilt records, of which each command is shown all that it takes


def shaky(sample: Any, r: Any) -> Any:
    return float(sample[0])


def analyst(ask: Any, rng: Any) -> Any:
    return [ask(lambda row: row), ask(lambda row: row)]


def answers(sample: Any, r: Any, *, query: Any) -> Any:
    return 1


def rows(rng: Any, size: int) -> Any:
    return rng.random(size)


def _asked() -> Iterator[Record]:
    yield requests.ask("rho", shaky, "norm", size=1, pairs=40)
    yield requests.ask("rho", "first_bit", ["bernoulli(0.5)", "bernoulli(0.9)"], pairs=40)
    yield requests.ask("nu", "constant", "norm", eta=0.4, nu=0.5, strings=60)
    yield requests.ask("list_size", "constant", "norm", list_size=2, eta=0.2)
    yield requests.ask("curve", shaky, "norm", vary={"size": [1, 2]}, pairs=128)
    asked = {"vary": {"width": [0.5, 1.0]}, "score": chosen.closeness, "score_within": 0.3, "margin": 0.4}
    yield requests.ask("choose", chosen.rounded, chosen.coins, size=20, on_error="stop", **asked)
    yield requests.ask("price", "constant", "norm", pairs=300)
    yield requests.ask("estimate", shaky, "norm", size=1, half_width=0.2)
    yield requests.ask("explain", shaky, "norm", size=1)
    yield requests.ask("repair", shaky, "norm", size=10, rho=0.3)
    yield requests.ask("compare", shaky, "norm", old="constant", size=1, pairs=300)
    yield requests.ask("hunt", "first_bit", over="bernoulli({p})", range={"p": (0.1, 0.9)}, pairs=200)
    yield requests.ask("reuse", answers, rows, analyst=analyst, queries=2, size=4, fixed=40)


_made: list[dict[str, Any]] = []  # once for all tests of this file


@pytest.fixture
def records(no_other_process: None, few_finishes: None) -> list[dict[str, Any]]:
    if not _made:
        _made.extend(json.loads(to_json(record)) for record in _asked())
    return _made


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def places(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = part.items() if isinstance(part, dict) else enumerate(part[:2]) if isinstance(part, list) else ()
    for step, one in inside:
        yield (*path, step)
        yield from places(one, (*path, step))


def spoilt(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    inside: Any = changed
    for step in path[:-1]:
        inside = inside[step]
    if value is GONE:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return changed


def assert_told(words: list[str], capsys: pytest.CaptureFixture[str], what: str) -> int:
    """The exit code of a command that may say whatever it likes, but that it failed."""
    code = run(words)
    said = capsys.readouterr()
    assert "itself failed" not in said.err, what
    assert "Traceback" not in said.err, what
    assert "\x1b" not in said.out + said.err, what
    assert code in (0, 1, 2, 3, 4, 130)
    assert code != 2 or "error: " in said.err, what
    return code


def test_a_spoilt_record_is_shown_or_refused(records: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(20261117)
    cases = [(document, path) for document in records for path in places(document)]
    reports = [word for name in FORMATS for word in (f"--{name}", f"report.{name}")]
    seen: list[int] = []
    for _ in range(TRIED):
        (document, path), value = chance.choice(cases), chance.choice(VALUES)
        what = f"{document['question']} {path} {'gone' if value is GONE else value!r}"
        Path("spoilt.json").write_text(json.dumps(spoilt(document, path, value)))
        Path("whole.json").write_text(json.dumps(document))
        seen.append(assert_told(["page", "spoilt.json", "--html", "page.html"], capsys, what))
        assert_told(["page", "spoilt.json", "whole.json", "--html", "page.html"], capsys, what)
        assert_told(["replay", "spoilt.json", "--pair", "0", "--cell", "0"], capsys, what)
        if document["question"] == "rho":
            assert_told(["compare", "whole.json", "spoilt.json", *reports], capsys, what)
            assert_told(["compare", "spoilt.json", "whole.json"], capsys, what)
    assert {0, 2} <= {*seen}  # some are shown, and some are not


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("subject",), "\ud800"),
        (("reason",), "a\ud800b"),
        (("environment", "python"), "\ud800"),
        (("measures",), []),
        (("cells",), []),
        (("findings",), []),
        (("verdict",), "pas"),
        (("confidence",), float("nan")),
        (("mismatches",), 41),
        (("cells", 0, "pairs"), -1),
        (("answer",), []),
        (("answer", "churn"), "\ud800"),
        (("cells", 0, "estimate"), 1e308),
    ],
)
def test_fields_that_ended_a_page(
    records: list[dict[str, Any]], path: tuple[Any, ...], value: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("spoilt.json").write_text(json.dumps(spoilt(records[0], path, value)))
    assert_told(["page", "spoilt.json", "--html", "page.html"], capsys, f"{path} {value!r}")


@pytest.mark.parametrize(
    "document", ["[]", "{}", "[[]]", "null", '"x"', "3", "[null]", "", "\0", "[" * 10**5, '{"schema": []}']
)
def test_what_is_no_record_is_refused(document: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("spoilt.json").write_text(document)
    for words in (["page", "spoilt.json", "--html", "page.html"], ["compare", "spoilt.json", "spoilt.json"]):
        assert assert_told(words, capsys, document[:20]) == 2
    assert assert_told(["replay", "spoilt.json", "--pair", "0"], capsys, document[:20]) == 2


def test_a_ledger_that_says_anything_is_shown_or_refused(capsys: pytest.CaptureFixture[str]) -> None:
    requests.audit("first_bit", "bernoulli(0.5)", rho=0.2, pairs=40, ledger="whole.sqlite")
    columns = ("id", "subject", "plan", "started", "record")
    texts = ("[]", "null", "{}", "3", '{"schema": "auditor.record/2"}', "no json", "\x1b[31m")
    for column, text in itertools.product(columns[2:], texts):
        shutil.copyfile("whole.sqlite", "a.sqlite")
        with connect("a.sqlite") as connection:
            row = [*connection.execute(f"SELECT {', '.join(columns)} FROM audits").fetchone()]
            row[columns.index(column)] = text
            checksums = signed(tuple(row[:4]))[-1], signed((row[0], row[4]))[-1]
            names = "plan = ?, started = ?, record = ?, checksum = ?, record_checksum = ?"
            connection.execute(f"UPDATE audits SET {names}", (*row[2:], *checksums))
        for more in ([], ["--above", "0.1"], ["--html", "page.html"]):
            assert_told(["history", "first_bit", "--ledger", "a.sqlite", *more], capsys, f"{column} {text}")
