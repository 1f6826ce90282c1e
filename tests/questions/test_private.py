"""Private randomness, shared and not; searches without a sample: against exact truths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.requests import bench_of, inquiry_of

import auditor
from algorithms.known_answers import is_square, nonresidue, own_coin, private_rho, search_rho
from auditor.cli.command_line import run
from auditor.errors import BadValue, UsageError
from auditor.questions.cells import UnsharedAndShared
from auditor.report.terminal import as_text
from auditor.statistics.interval import two_sided
from auditor.subjects.subject import load_subject
from auditor.trials.trial import Trial
from auditor.values import Difference

alone = pytest.mark.usefixtures("no_second_process")  # all but the command, whose record says what that one said
FALSE_ALARM = 1e-6  # of each comparison with an exact rho


def uniform(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def counted(fn: Any, pairs: int, source: Any = None, **options: Any) -> tuple[int, tuple[float, float]]:
    record = auditor.audit(fn, source, fixed=pairs, rho=0.1, **{"private": "unshared", **options})
    assert len(record.cells) == 1
    assert record.mismatches is not None
    return record.mismatches, two_sided("fixed", pairs, record.mismatches, 1 - FALSE_ALARM)


@alone
@pytest.mark.parametrize(("private", "q_counts"), [("unshared", 1.0), ("shared", 0.0)])
def test_private_randomness_counts_where_it_is_not_shared(private: str, q_counts: float) -> None:
    truth = private_rho(0.3, 0.2) - (1 - q_counts) * 0.3 / 2
    k, (low, high) = counted(own_coin, 3000, lambda rng, n: rng.random(n), params={"q": 0.3, "p": 0.2}, private=private)
    print(f"{private}: {k} mismatches in 3000 pairs, exact rho {truth:.4f}, between {low:.4f} and {high:.4f}")
    assert low <= truth <= high


@alone
def test_what_no_ledger_would_continue_is_not_offered() -> None:
    asked = {"rho": 0.17, "pairs": 25, "confidence": 0.9, "params": {"q": 0.3}}
    for private in ("both", "unshared"):
        record = auditor.audit(own_coin, "uniform", private=private, **asked)
        assert (record.verdict, "with a new --seed" in record.reason) == ("inconclusive", True)
        assert ("--resume" in record.reason) == (private != "both")


@alone
def test_sides_stand_beside_each_other_and_unshared_decides() -> None:
    """Without a word on private randomness, and where both are asked for: the same."""
    for asked in ({}, {"private": "both"}):
        params = {"q": 0.9, "p": 0.0}
        record = auditor.audit(own_coin, lambda rng, n: rng.random(n), rho=0.1, params=params, **asked)
        assert (record.verdict, record.cells[0].variant, record.error_spent) == ("fail", "unshared", 0.05)
        assert [(row.variant, row.verdict) for row in record.cells] == [("unshared", "fail"), ("shared", "pass")]
        assert record.confidence == pytest.approx(0.975)
        assert record.cells[0].confidence == 0.95
        assert (record.pairs, record.mismatches) == (record.cells[0].pairs, record.cells[0].mismatches)
        (finding,) = [found for found in record.findings if found.kind == "private"]
        assert finding.severity == "info"
        assert "more reproducible" in finding.message
        assert "private unshared" in as_text(record)


@pytest.mark.parametrize(
    ("unshared", "shared", "severity", "words"),
    [
        (False, True, "error", "Lemma A.5 rules out"),
        (True, False, "info", "more reproducible"),
        (False, False, "info", "not seen to be worse"),
    ],
)
@pytest.mark.parametrize("design", [{"fixed": 100}, {"pairs": 1000}])
def test_what_the_lemma_rules_out_is_said(
    unshared: bool, shared: bool, severity: str, words: str, design: dict[str, int]
) -> None:
    """No function of (sample, r, private) can be worse shared; so trials that stand for none are compared."""
    both = inquiry_of(own_coin, uniform, private="both", rho=0.1, **design)
    assert isinstance(both, UnsharedAndShared)
    while work := both.next():
        for one in work:
            differs = Difference("output", "0", "1") if (unshared, shared)[one.cell] else None
            any(both.add(one.cell, Trial(index, differs, None, 0.0)) for index in one.wanted)
    (finding,) = both.answer().findings
    assert finding.severity == severity
    assert words in finding.message


def test_a_run_has_private_randomness_of_its_own_or_in_common() -> None:
    def shown(sample: Any, r: Any, private: Any) -> float:
        return float(private.random())

    def bench(how: str) -> Any:
        return bench_of(shown, uniform, size=1, private=how)

    assert bench("shared").run(3, 0) == bench("shared").run(3, 1) == bench("unshared").run(3, 0)
    assert bench("unshared").run(3, 0) != bench("unshared").run(3, 1)
    assert bench("shared").run(3, 0) != bench("shared").run(4, 0)


@alone
def test_private_randomness_is_what_its_annotation_asks_for_and_a_default_makes_it_a_parameter() -> None:
    def whole(sample: Any, r: Any, private: int) -> int:
        return private

    def flag(sample: Any, r: Any, *, private: bool = False) -> bool:
        return private

    assert load_subject(whole).private == "int"
    assert load_subject(flag).private is None
    assert auditor.audit(flag, uniform, size=1).verdict == "pass"
    with pytest.raises(UsageError, match="has no parameter private"):
        inquiry_of(flag, uniform, size=1, private="shared")
    with pytest.raises(BadValue, match="must be both, shared or unshared"):
        inquiry_of(whole, uniform, size=1, private="sometimes")


@alone
@pytest.mark.parametrize(("x", "tries"), [(11, 5), pytest.param(101, 60, marks=pytest.mark.nightly), (251, 300)])
def test_a_search_without_a_sample_has_its_exact_rho(x: int, tries: int) -> None:
    truth, pairs = search_rho(x, tries), 1500
    k, (low, high) = counted(nonresidue, pairs, params={"x": x, "tries": tries})
    print(f"x={x}: {k} mismatches in {pairs} pairs, exact rho {truth:.4f}, between {low:.4f} and {high:.4f}")
    assert low <= truth <= high
    outputs = {bench_of(nonresidue, params={"x": x}).run(i, 0) for i in range(3)}
    assert all(u is not None and not is_square(u, x) for u in outputs)


@alone
def test_a_search_is_pseudodeterministic_on_every_input_or_fails_on_the_worst() -> None:
    assert auditor.audit(nonresidue, inputs=[11, 53, 101]).verdict == "pass"
    failed = auditor.audit(nonresidue, inputs=[11, 2003], params={"tries": 300})
    assert failed.verdict == "fail"
    assert "with x=2003" in failed.reason


@alone
def test_a_search_that_draws_from_r_alone_is_told_that_nothing_is_fresh() -> None:
    def from_r(sample: Any, r: np.random.Generator) -> float:
        assert len(sample) == 0
        return float(r.random())

    record = auditor.audit(from_r, size=0)
    assert (record.verdict, record.source, record.size) == ("pass", "nothing", 0)
    assert "nothing-fresh" in [finding.kind for finding in record.findings]
    assert not [found for found in auditor.audit(nonresidue).findings if found.kind == "nothing-fresh"]


def test_the_command_compares_both_and_replays_what_was_shared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["check", "own_coin", "--param", "p=0.5", "--param", "q=0.2", "--json", str(tmp_path / "record.json")]
    assert run([*words, "--private", "both"]) == 1
    document = json.loads((tmp_path / "record.json").read_text())
    assert [row["variant"] for row in document["cells"]] == ["unshared", "shared"]
    assert "--private shared" in document["cells"][1]["replay"]
    assert run([*words, "--private", "shared"]) == 1
    document = json.loads((tmp_path / "record.json").read_text())
    assert [row["variant"] for row in document["cells"]] == ["shared"]
    assert document["preflight"]["second_process"] == "same"
    capsys.readouterr()
    pair = document["examples"][0]["pair"]
    assert run(["check", "own_coin", *words[2:6], "--private", "shared", "--replay", str(pair)]) == 0
    assert "DIFFERENT" in capsys.readouterr().out
    assert run(["replay", str(tmp_path / "record.json"), "--pair", str(pair), "--trust"]) == 0
    assert "DIFFERENT" in capsys.readouterr().out
    for other in (["--eta", "0.1", "--nu", "0.1"], ["--loss", "algorithms.known_answers:misses"]):
        assert run(["check", "own_coin", "--private", "both", *other]) == 2
        assert "--private both compares two plain audits" in " ".join(capsys.readouterr().err.split())
    assert run(["check", "mixed", "--private", "shared"]) == 2
