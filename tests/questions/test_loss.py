"""Lemma A.6, run by run: shares of broken inequalities against exact ones, and the ways a loss can be no loss."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.requests import ask

from algorithms.known_answers import constant_breaks, labelled_noise, memoriser, misses
from auditor.cli.command_line import run
from auditor.errors import UsageError
from auditor.flow.record import read_record
from auditor.questions.loss import UNLUCKY
from auditor.report.formats.markdown import markdown
from auditor.report.terminal import as_text
from auditor.sources.source import load_dataset
from auditor.statistics.interval import two_sided

FALSE_ALARM = 1e-6  # of each comparison with an exact share


def zero(sample: Any, r: Any) -> int:
    return 0


def is_other(output: int, rows: Any) -> Any:
    return rows != output


@pytest.mark.parametrize(("rows", "delta"), [(20, 0.3), (50, 0.1)])
def test_the_share_is_exact_where_the_law_is_known(rows: int, delta: float) -> None:
    truth, pairs = constant_breaks(rows, delta), 3000
    source = "pmf([0.5, 0.5])"
    record = ask("loss", zero, source, size=rows, loss=is_other, delta=delta, fixed=pairs, rho=0.3)
    assert record.accuracy is not None
    low, high = two_sided("fixed", pairs, record.accuracy.failures, 1 - FALSE_ALARM)
    print(f"{record.accuracy.failures} of {pairs} break, exact {truth:.4f}, between {low:.4f} and {high:.4f}")
    assert low <= truth <= high
    assert truth <= delta
    assert record.accuracy.allowed == pytest.approx(0.3 + delta)


def test_a_memory_breaks_as_often_as_it_is_used_and_no_more_than_the_lemma_allows() -> None:
    q, rows, delta, pairs = 0.5, 50, 0.05, 200
    options = {"size": rows, "delta": delta, "fixed": pairs, "rho": 0.2, "params": {"q": q}}
    record = ask("loss", memoriser, lambda rng, n: labelled_noise(rng, n), loss=misses, **options)
    assert record.accuracy is not None
    low, high = two_sided("fixed", pairs, record.accuracy.failures, 1 - FALSE_ALARM)
    most = q + (1 - q) * constant_breaks(rows, delta) + UNLUCKY
    print(f"{record.accuracy.failures} of {pairs} break, exact between {q} and {most:.4f}: {low:.4f} to {high:.4f}")
    assert low <= most
    assert high >= q
    assert most <= q + delta + UNLUCKY, "rho is q, and rho + delta is what the lemma allows"
    assert record.accuracy.allowed == pytest.approx(0.2 + delta + UNLUCKY)
    assert record.verdict == "fail"


def test_more_broken_than_allowed_is_a_fail_of_its_own() -> None:
    """A view that hides every mismatch: only the lemma is left to tell."""
    source = {"source": lambda rng, n: labelled_noise(rng, n), "view": lambda output: 0}
    record = ask("loss", memoriser, loss=misses, rho=0.1, params={"q": 1.0}, **source)
    assert (record.verdict, record.decided_by, record.mismatches) == ("fail", "accuracy", 0)
    assert "where Lemma A.6 allows 0.151: so rho is above 0.1" in record.reason
    assert "break R(h) <= R^(h) + " in record.reason
    for text in (as_text(record, width=200, verbose=True), markdown([record], 0.95)):
        assert "generalises" in text


@pytest.mark.parametrize(
    ("loss", "complaint"),
    [
        (lambda output, rows: np.zeros(3), "has shape"),
        (lambda output, rows: np.full(len(rows), 2.0), "not within"),
        (lambda output, rows: np.full(len(rows), np.nan), "is NaN for a row"),
        (lambda output, rows: 1 / 0, "raised ZeroDivisionError"),
    ],
)
def test_what_is_no_loss_is_told(loss: Any, complaint: str) -> None:
    record = ask("loss", zero, "pmf([0.5, 0.5])", size=20, loss=loss)
    assert record.verdict == "error"
    assert complaint in record.reason


def test_what_makes_no_question_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for resample in ("split", "subsample"):
        with pytest.raises(UsageError, match="use --resample bootstrap"):
            ask("loss", zero, np.arange(40.0), size=20, loss=is_other, resample=resample)
        rows = load_dataset(np.arange(40.0), resample)
        with pytest.raises(UsageError, match="use --resample bootstrap"):
            ask("loss", zero, rows, size=20, loss=is_other, accept_overlap=True)
    with pytest.raises(UsageError, match="needs the rows"):
        ask("loss", "rstat", loss=is_other, sample="counts")
    for words, complaint in (
        (["--loss", "math:cos", "--eta", "0.1"], "--loss does not go with --eta"),
        (["--loss", "math:cos", "--measure", "churn"], "--measure churn does not go with --loss"),
    ):
        assert run(["check", "memoriser", *words]) == 2
        assert complaint in " ".join(capsys.readouterr().err.split())


def test_the_command_counts_what_breaks(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "memoriser", "--loss", "algorithms.known_answers:misses", "--param", "q=0", "--verbose"]) == 0
    assert "runs break R(h) <= R^(h) + slack" in " ".join(capsys.readouterr().out.split())


def test_a_pair_of_it_is_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["check", "memoriser", "--loss", "algorithms.known_answers:misses", "--param", "q=1", "--rho", "0.2"]
    assert run([*words, "--json", str(tmp_path / "record.json")]) == 1
    record = read_record(tmp_path / "record.json")
    assert (record.question, record.answer["loss"]) == ("loss", "algorithms.known_answers:misses")
    assert record.answer["delta"] == 0.05
    command = record.examples[0].replay
    assert command is not None
    for again in (shlex.split(command)[3:], [*words, "--replay", str(record.examples[0].pair)]):
        capsys.readouterr()
        assert run(again) == 0
        assert "DIFFERENT" in capsys.readouterr().out
    assert run(["replay", str(tmp_path / "record.json"), "--pair", str(record.examples[0].pair), "--trust"]) == 0
    assert "DIFFERENT" in capsys.readouterr().out
