"""Records of schema auditor.record/1, and ledgers that have some: real ones, made before there was another schema."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import auditor
from auditor.cli.command_line import run
from auditor.errors import UsageError
from auditor.flow.ledger import read_history
from auditor.flow.ledger_file import connect, signed, transaction
from auditor.flow.record import SCHEMA, as_record, read_record, to_json
from auditor.flow.record_one import First
from auditor.report.formats import FORMATS
from auditor.report.terminal import as_text

pytestmark = pytest.mark.usefixtures("no_second_process")

OLD: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "records_of_schema_1.json").read_bytes()
)  # by kind: a record, and the report that was printed with it
SUBJECT = "algorithms.controls:first_bit"


@pytest.fixture
def old(tmp_path: Path) -> Callable[..., Path]:
    """The file of an old record, with some fields changed."""

    def write(kind: str, **changed: Any) -> Path:
        file = tmp_path / "old.json"
        file.write_text(json.dumps({**OLD[kind]["record"], **changed}))
        return file

    return write


@pytest.mark.parametrize("kind", OLD)
def test_an_old_record_says_what_it_said(kind: str, old: Callable[..., Path], tmp_path: Path) -> None:
    was, record = OLD[kind]["record"], read_record(old(kind))
    assert " ".join(as_text(record).split()) == OLD[kind]["report"]
    found, moved = json.loads(to_json(record)), {"schema", "gate", "churn", "arms", "private", "loss", "profile"}
    for name in was.keys() - moved - {"examples", "cost"}:
        assert found[name] == was[name], name
    assert [_without(one, "cell") for one in found["examples"]] == was["examples"]
    assert _without(found["cost"], "limits", "engine", "kept") == _without(was["cost"], "engine")
    again = tmp_path / "new.json"
    again.write_bytes(to_json(record))
    assert json.loads(again.read_bytes())["schema"] == SCHEMA
    assert read_record(again) == record


@pytest.mark.parametrize(
    ("kind", "question", "measure", "cells"),
    [
        ("rho", "rho", ("rho", 29, 480), [("the declared source", None, None, 480, 29)]),
        ("fixed", "rho", ("rho", 11, 300), [("the declared source", None, None, 300, 11)]),
        ("churn", "churn", ("churn", None, None), [("the declared source", None, None, 21, 16)]),
        ("nu", "nu", ("nu", 5, 114), [("the declared source", None, None, 114, 5)]),
        (
            "sources",
            "rho",
            ("rho", None, None),
            [
                ("bernoulli(0.01)", None, None, 8, 0),
                ("bernoulli(0.3)", None, None, 21, 8),
                ("bernoulli(0.02)", None, None, 8, 0),
            ],
        ),
        ("inputs", "rho", ("rho", None, None), [(f"x={x}", f"{x}", "unshared", 33, 0) for x in (7, 11, 13)]),
        ("nu of inputs", "nu", ("nu", None, None), [(f"x={x}", f"{x}", "unshared", 23, 0) for x in (7, 11)]),
        (
            "private",
            "rho",
            ("rho", 0, 19),
            [("private unshared", None, "unshared", 19, 0), ("private shared", None, "shared", 19, 0)],
        ),
        ("loss", "loss", ("rho", 0, 33), [("the declared source", None, None, 33, 0)]),
    ],
)
def test_an_old_record_has_its_question_its_measure_and_its_cells(
    kind: str, question: str, measure: tuple[Any, ...], cells: list[tuple[Any, ...]], old: Callable[..., Path]
) -> None:
    record = read_record(old(kind))
    assert (record.question, record.answer["question"]) == (question, question)
    first = record.measures[0]
    assert (first.name, first.count, first.of) == measure
    assert [(one.name, one.input, one.variant, one.pairs, one.mismatches) for one in record.cells] == cells
    assert {one.question for one in record.cells} == {question}
    assert first.low == max(cell.low for cell in record.cells) or len({cell.variant for cell in record.cells}) == 2
    assert record.unit == ("strings" if question == "nu" else "pairs")


@pytest.mark.parametrize("kind", OLD)
def test_an_old_record_is_what_the_same_question_gives_now(kind: str, old: Callable[..., Path]) -> None:
    """Asked by what the record says was asked: the same counts, where no block of a worst of several is larger."""
    was = read_record(old(kind))
    now = auditor.ask(
        was.question, was.subject, was.asked["source"], params=was.params, **_without(was.asked, "source")
    )
    assert (now.verdict, now.target, now.budget, now.unit) == (was.verdict, was.target, was.budget, was.unit)
    assert [cell.name for cell in now.cells] == [cell.name for cell in was.cells]
    if kind not in ("sources", "inputs", "nu of inputs"):
        assert (now.pairs, now.mismatches) == (was.pairs, was.mismatches)
        assert _numbers([now.rho, now.accuracy]) == _numbers([was.rho, was.accuracy])
        assert _numbers([_of(one) for one in now.measures]) == _numbers([_of(one) for one in was.measures])
        assert _numbers([msgspec.structs.replace(one, seconds=0.0, replay=None) for one in now.cells]) == _numbers(
            [msgspec.structs.replace(one, replay=None) for one in was.cells]
        )


def _without(asked: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if name not in names}


def _numbers(said: Any) -> Any:
    """To 12 digits: bounds are reckoned in another way now."""
    return json.loads(msgspec.json.encode(said), parse_float=lambda text: f"{float(text):.12g}")


def _of(measure: Any) -> tuple[Any, ...]:
    return measure.name, measure.estimate, measure.low, measure.high, measure.confidence, measure.count, measure.of


@pytest.mark.parametrize("kind", OLD)
def test_pairs_of_an_old_record_are_run_again(
    kind: str, old: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = old(kind)
    record = read_record(file)
    assert [record.cells[one.cell].name for one in record.examples] == ["bernoulli(0.3)"] * (kind == "sources") or (
        kind != "sources" and {one.cell for one in record.examples} <= {0}
    )
    for example in record.examples:
        assert run(["replay", str(file), "--pair", f"{example.pair}", "--cell", f"{example.cell}", "--trust"]) == 0
        out = capsys.readouterr().out
        assert out.startswith("DIFFERENT")
        assert example.first_difference.left in out
        assert example.first_difference.right in out
    if not record.mismatches:
        for cell in range(len(record.cells)):
            assert run(["replay", str(file), "--pair", "3", "--cell", str(cell), "--trust"]) == 0
            assert capsys.readouterr().out.startswith("SAME")


def test_private_randomness_of_an_old_record_is_shared_where_it_was(
    old: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """With a coin that always counts, two runs differ in half of the pairs unless they share it."""
    file = old("private", params={"q": 1.0})
    said = []
    for cell in ("0", "1"):
        for pair in range(12):
            assert run(["replay", str(file), "--pair", str(pair), "--cell", cell, "--trust"]) == 0
            said.append(capsys.readouterr().out.split()[0])
    assert "DIFFERENT" in said[:12]
    assert set(said[12:]) == {"SAME"}


def test_inputs_that_nobody_can_type_are_those_that_were_typed(old: Callable[..., Path]) -> None:
    was = OLD["inputs"]["record"]
    replay = "python -m auditor check algorithms.known_answers:nonresidue --replay 4 --inputs 'x=mine:fn' --arm 1"
    record = read_record(old("inputs", arms=[was["arms"][0], {**was["arms"][1], "replay": replay}]))
    assert record.asked["inputs"] == "x=mine:fn"


@pytest.mark.parametrize("kind", OLD)
def test_any_report_is_drawn_from_an_old_record(kind: str, old: Callable[..., Path]) -> None:
    record = read_record(old(kind))
    for name in ("junit", "markdown", "json", "html"):
        document = FORMATS[name].draw([record], record.confidence, True).decode()
        assert all(part in document for part in record.subject.split(":")), name
        assert f"{record.mismatches}" in document


JUNK = (None, [], {}, "[/b]", -1, 10**30, [1], [{}])
KINDS = ("rho", "nu", "inputs")


@pytest.mark.parametrize("all_", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["a third", "all"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_old_record_with_something_else_in_it_is_read_or_refused(
    kind: str, all_: bool, old: Callable[..., Path]
) -> None:
    """Anything in any field; of what is read a third is drawn, so that each is drawn of one kind or another."""
    refused, was = [], OLD[kind]["record"]
    names = sorted({*was, *First.__struct_fields__})
    for (i, junk), (j, name) in itertools.product(enumerate(JUNK), enumerate(names)):
        try:
            record = as_record({**was, name: junk})
        except (ValueError, RecursionError):
            refused.append({name: junk})
        else:
            if all_ or KINDS[(i + j) % len(KINDS)] == kind:
                as_text(record)
    for changed in (refused[0], refused[-1]):
        with pytest.raises(UsageError, match="is no record of an audit"):
            read_record(old(kind, **changed))


# Ledgers.


def old_plan(**changed: Any) -> dict[str, Any]:
    """As ledgers had them."""
    return {
        "subject": SUBJECT,
        "code_hash": "5c882fea4549673538e6492d0152c052",
        "modules": {"algorithms/controls.py": "5c882fea4549673538e6492d0152c052"},
        "versions": {"numpy": "2.4.6"},
        "params": {},
        "randomness": "Generator",
        "source": "bernoulli(0.3)",
        "source_hash": None,
        "sample": "rows",
        "view": "output",
        "probe": None,
        "resample": None,
        "private": None,
        "loss": None,
        "target": 0.3,
        "confidence": 0.95,
        "design": "anytime",
        "budget": 334,
        "seed": 3,
        "size": 1,
        "delta": None,
        "gates": "rho",
        "runs": 2,
        "arms": 1,
        "eta": None,
        "first_budget": None,
        "family": 1,
        "timeout": None,
        "memory": None,
        "on_error": "stop",
        "auditor_version": "0.1.0",
        "python": "3.11.7",
        "numpy": "2.4.6",
        "scipy": "1.17.1",
        "platform": "Linux x86_64",
        **changed,
    }


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Of each kind one audit: records, documents of questions that had schemas of their own, and what is unfinished."""
    file, subject = tmp_path / "audits.sqlite", {"subject": SUBJECT}
    audits: list[tuple[dict[str, Any], dict[str, Any] | None]] = [
        (old_plan(), OLD["rho"]["record"] | subject),
        (old_plan(gates="nu", runs=20, eta=0.1), OLD["nu"]["record"] | subject | {"profile": None}),
        (old_plan(cells=[["bernoulli(0.3)", "738096e4"]], arms=3), OLD["sources"]["record"] | subject),
        (old_plan(loss="mine:loss"), OLD["loss"]["record"] | subject),
        (old_plan(curve={"vary": "p"}), {"schema": "auditor.curve/1", "subject": SUBJECT}),
        (old_plan(reuse={"queries": 21}), {"schema": "auditor.reuse/1", "verdict": "fail"}),
        (old_plan(price={"start": 5}), None),
        (old_plan(), None),
    ]
    with connect(str(file)) as connection, transaction(connection):
        for audit, (plan, document) in enumerate(audits, 1):
            row = signed((audit, SUBJECT, json.dumps(plan), f"2026-01-0{audit}T10:00:00+00:00"))
            kept = signed((audit, json.dumps(document)))[1:] if document else (None, None)
            connection.execute("INSERT INTO audits VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, *kept))
            trial = (audit, 0, 4, '["output", "0", "1"]', None, 0.1, None, None, None)
            connection.execute("INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", signed(trial))
    return file


def test_history_reads_ledgers_with_old_records_and_plans(
    ledger: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    past = read_history(str(ledger), SUBJECT)
    questions = ["rho", "nu", "rho", "loss", "curve", "reuse", "price", "rho"]
    verdicts = ["pass", "pass", "fail", "pass", "finished", "fail", None, None]
    assert [one.question for one in past] == questions
    assert [one.verdict for one in past] == verdicts
    assert [one.record is not None for one in past] == [True] * 4 + [False] * 4
    assert run(["history", SUBJECT, "--ledger", str(ledger)]) == 0
    head, _, *lines = capsys.readouterr().out.splitlines()
    assert head == f"{SUBJECT}: 8 audits"
    for line, question, verdict in zip(lines, questions, verdicts, strict=True):
        assert f" {question} " in line
        assert f" {verdict or 'unfinished'} " in line
    assert "0.0305 to 0.105" in lines[0]
    assert "0 to 0.2 " in lines[1]  # by the bound that decided: no ledger kept more of nu


def test_a_ledger_with_old_plans_goes_on_with_new_ones(ledger: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"size": 1, "rho": 0.3, "seed": 3, "ledger": ledger}
    with pytest.raises(UsageError, match=r"not this one: .*; leave --resume out to begin another"):
        auditor.ask("rho", SUBJECT, "bernoulli(0.3)", resume=True, **asked)
    whole = auditor.ask("rho", SUBJECT, "bernoulli(0.3)", **asked)
    copy = shutil.copy(ledger, tmp_path / "copy.sqlite")
    resumed = auditor.ask("rho", SUBJECT, "bernoulli(0.3)", resume=True, **{**asked, "ledger": copy})
    assert (resumed.pairs, resumed.mismatches, resumed.verdict) == (whole.pairs, whole.mismatches, whole.verdict)
    past = read_history(str(ledger), SUBJECT)
    assert len(past) == 9
    assert past[-1].record is not None
    assert past[-1].record.schema == SCHEMA
    assert past[0].record == as_record(OLD["rho"]["record"] | {"subject": SUBJECT})
