"""The worst of several arms: the allocation by simulation, its errors exactly, and audits end to end."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import auditor
from algorithms.controls import first_bit, mixed
from auditor.command_line import run
from auditor.errors import UsageError
from auditor.gate import fail_boundary
from auditor.inputs import make_inputs, read_inputs
from auditor.report.markdown import markdown
from auditor.report.record import read_record, to_json
from auditor.report.terminal import as_text
from auditor.verdict import Bound, Tally
from auditor.worst_arm import WorstArm
from auditor.worst_case import audit_worst


def walk(rhos: list[float], rng: np.random.Generator, budget: int, *, target: float = 0.05) -> tuple[int, WorstArm]:
    arms = WorstArm(target, 0.05, [None] * len(rhos), budget=budget)
    finish(arms, lambda arm, tally: tally.plus(differs=bool(rng.random() < rhos[arm]), accurate=None))
    return sum(tally.pairs for tally in arms.tallies), arms


def finish(arms: WorstArm, one_more: Callable[[int, Tally], Tally]) -> None:
    """Run every block that is handed out, each until its arm is decided."""
    while blocks := arms.next_blocks():
        for arm, pairs in blocks:
            for _ in range(pairs):
                if arms.add(arm, one_more(arm, arms.tallies[arm])):
                    break


def test_one_bad_arm_in_twenty_is_found_with_few_pairs() -> None:
    """One at twice the target, the others at a quarter. The mean of 600 walks has a standard error of 19, so that a
    true mean of 739 exceeds the bound with probability 7e-4."""
    rng, walks = np.random.default_rng(0), 600
    ended = [walk([0.1] + [0.0125] * 19, rng, 2000) for _ in range(walks)]
    pairs = np.array([pairs for pairs, _ in ended])
    found = sum(arms.states[0] == "fail" for _, arms in ended)
    error = pairs.std() / math.sqrt(walks)
    print(f"{pairs.mean():.0f} pairs on average, standard error {error:.0f}, bound 800; found in {found} of {walks}")
    assert pairs.mean() <= 800
    assert found >= binom.isf(1 - 1e-6, walks, 0.95)


def ever_fails(rho: float, target: float, alpha: float, pairs: int) -> float:
    """The probability that one arm, given so many pairs, is ever at or beyond the boundary of a fail: exact."""
    boundary, alive, failed = fail_boundary(target, alpha, pairs), np.zeros(pairs + 1), 0.0
    alive[0] = 1.0
    last = np.array([boundary[k] for k in range(200)])
    for n in range(1, pairs + 1):
        alive[1:] = alive[1:] * (1 - rho) + alive[:-1] * rho
        alive[0] *= 1 - rho
        reached = np.flatnonzero(n <= last)
        failed += alive[reached].sum()
        alive[reached] = 0.0
        if len(reached):
            alive[reached.max() + 1 :] = 0.0  # beyond the table nothing is alive: each step adds one
    return failed


@pytest.mark.parametrize("target", [0.05, 0.2])
def test_arms_that_are_all_at_the_target_fail_at_most_alpha_of_the_time(target: float) -> None:
    """Exact for one arm, whatever pairs it is given; the union over arms holds for any allocation."""
    each = ever_fails(target, target, 0.05 / 20, int(100 / target))
    print(f"target {target}: one arm fails with probability {each:.5f}, twenty with at most {20 * each:.4f} of 0.05")
    assert 0 < 20 * each <= 0.05


def test_the_allocation_itself_fails_wrongly_no_more_often() -> None:
    """The same by walks, all twenty at the target; false alarm below 1e-6."""
    rng, walks = np.random.default_rng(1), 80
    wrong = sum("fail" in walk([0.05] * 20, rng, 150)[1].states for _ in range(walks))
    print(f"{wrong} of {walks} failed, allowed {binom.isf(1e-6, walks, 0.05):.0f}")
    assert wrong <= binom.isf(1e-6, walks, 0.05)


def test_a_pass_takes_every_arm_and_no_more_than_each_alone() -> None:
    pairs, arms = walk([0.0] * 5, np.random.default_rng(0), 2000)
    assert (pairs, set(arms.states)) == (5 * 68, {"pass"})
    verdict = arms.decide([f"arm {i}" for i in range(5)])
    assert (verdict.outcome, verdict.error_spent) == ("pass", 0.05)
    assert verdict.bound == Bound("upper", 0.05, 0.95)
    assert verdict.reason == "rho is at most 0.05 for each of 5 arms (95 % confidence), the target"


def test_a_fail_names_its_arm_at_its_share_of_alpha() -> None:
    arms = WorstArm(0.1, 0.05, [None] * 4, budget=100)
    assert [arm for arm, _ in arms.next_blocks()] == [0, 1, 2, 3], "each has some pairs before any is preferred"
    for arm in range(4):
        arms.add(arm, Tally(1, int(arm == 2)))
    assert [arm for arm, _ in arms.next_blocks()] == [2], "the one that looks worst is next"
    count = 1
    while not arms.add(2, Tally(count, count)):
        count += 1
    assert not arms.next_blocks()
    last = [fail_boundary(0.1, 0.05 / 4, 100)[k] >= k for k in range(10)]
    assert count == last.index(True)
    verdict = arms.decide(["a", "b", "c", "d"])
    assert verdict.reason.startswith("with c rho is above 0.1, the target (95 % confidence)")


def test_an_undecided_arm_is_named() -> None:
    arms = WorstArm(0.05, 0.05, [None, None], budget=80)
    finish(arms, lambda arm, tally: Tally(tally.pairs + 1, arm * ((tally.pairs + 1) // 20)))
    assert arms.states == ["pass", "inconclusive"]
    verdict = arms.decide(["zero", "near"])
    assert verdict.outcome == "inconclusive"
    assert "1 of 2 arms are undecided" in verdict.reason
    assert "near" in verdict.reason


def test_a_fixed_design_gives_every_arm_its_pairs_and_judges_once() -> None:
    arms = WorstArm(0.1, 0.05, [None, None], budget=60, design="fixed")
    finish(arms, lambda arm, tally: Tally(tally.pairs + 1, tally.mismatches + arm * (tally.pairs < 20)))
    assert [tally.pairs for tally in arms.tallies] == [60, 60]
    assert arms.states == ["pass", "fail"]


def test_inaccuracy_fails_an_arm_too() -> None:
    arms = WorstArm(0.1, 0.05, [0.05, 0.05], budget=100)
    finish(arms, lambda arm, tally: Tally(tally.pairs + 1, 0, tally.runs + 1, tally.failures + arm))
    verdict = arms.decide(["a", "b"])
    assert (verdict.outcome, verdict.decided_by) == ("fail", "accuracy")
    assert "with b" in verdict.reason


def bernoulli(p: float) -> Any:
    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        return (rng.random(size) < p).astype(int)

    return draw


def test_the_worst_of_several_sources_counts(tmp_path: Path) -> None:
    record = audit_worst(first_bit, [bernoulli(0.0), bernoulli(0.3), bernoulli(0.01)], rho=0.1)
    assert (record.verdict, record.decided_by) == ("fail", "mismatches")
    assert record.arms is not None
    assert [arm.verdict for arm in record.arms].count("fail") == 1
    assert record.arms[1].verdict == "fail"
    truths = [0.0, 2 * 0.3 * 0.7, 2 * 0.01 * 0.99]
    assert all(arm.low <= rho <= arm.high for arm, rho in zip(record.arms, truths, strict=True))
    assert record.rho.low <= max(truths) <= record.rho.high
    assert record.pairs == sum(arm.pairs for arm in record.arms)
    (tmp_path / "record.json").write_bytes(to_json(record))
    assert read_record(tmp_path / "record.json") == record
    assert "rho of each arm" in as_text(record)
    assert "| verdict | mismatches | pairs |" in markdown([record], 0.95)


def test_every_input_must_pass() -> None:
    source = bernoulli(0.5)
    passed = audit_worst(mixed, [source], inputs={"q": [0.0, 0.001]}, rho=0.2)
    assert (passed.verdict, passed.params) == ("pass", {})
    assert passed.arms is not None
    assert [arm.name for arm in passed.arms] == ["q=0.0", "q=0.001"]
    assert audit_worst(mixed, [source], inputs={"q": [0.0, 1.0]}, rho=0.2).verdict == "fail"
    fixed = audit_worst(mixed, [source], inputs={"q": [0.0, 0.0]}, rho=0.2, fixed=40)
    assert (fixed.verdict, fixed.pairs, fixed.budget) == ("pass", 80, 80)


def test_a_replay_leads_to_the_arm_that_differed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = tmp_path / "record.json"
    sources = ["--source", "bernoulli(0.01)", "--source", "bernoulli(0.4)"]
    assert run(["check", "first_bit", *sources, "--rho", "0.1", "--json", str(document)]) == 1
    arms = json.loads(document.read_text())["arms"]
    assert "--source 'bernoulli(0.4)'" in arms[1]["replay"]
    capsys.readouterr()
    assert run(shlex.split(arms[1]["replay"])[3:]) == 0
    assert "DIFFERENT" in capsys.readouterr().out
    assert run(["check", "first_bit", *sources, "--replay", "0", "--arm", "1"]) == 0
    assert run(["check", "first_bit", *sources, "--replay", "0"]) == 2
    assert run(["replay", str(document), "--pair", "0"]) == 2
    assert "has 2 arms" in capsys.readouterr().err


GENERATED = """
import numpy as np

def inputs(rng):
    yield from (np.array([0.0, q]) for q in (0.0, rng.random()))

def look(sample, r, *, x):
    return float(sample[0]) if x[1] else 0.0
"""


def test_inputs_that_no_command_line_can_carry_replay_by_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "generated.py").write_text(GENERATED)
    monkeypatch.chdir(tmp_path)
    words = ["check", "generated.py:look", "--inputs", "generated.py:inputs", "--source", "uniform", "--size", "1"]
    assert run([*words, "--json", "record.json"]) == 1
    command = json.loads(Path("record.json").read_text())["arms"][1]["replay"]
    assert "--arm 1" in command
    assert run(shlex.split(command)[3:]) == 0
    assert "DIFFERENT" in capsys.readouterr().out


def test_inputs_are_read_from_lists_files_and_generators(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("3\n\n[1, 2]\nword\n")
    (tmp_path / "list.json").write_text("[1, null]")
    (tmp_path / "other.json").write_text("{}")
    assert read_inputs("[3, 5]", 0).values == (3, 5)
    assert (read_inputs("n=range(2, 5)", 0).name, read_inputs("n=range(2, 5)", 0).values) == ("n", (2, 3, 4))
    assert read_inputs(str(tmp_path / "lines.txt"), 0).values == (3, [1, 2], "word")
    assert read_inputs(str(tmp_path / "list.json"), 0).values == (1, None)
    assert make_inputs({"n": [1]}).name == "n"
    for wrong in ("[", "[]", "nothing-here", "no.module:fn", str(tmp_path / "other.json"), "range(0)", "math:pi"):
        with pytest.raises(UsageError, match=r"inputs|no module"):
            read_inputs(wrong, 0)
    with pytest.raises(UsageError, match="must be a list"):
        make_inputs("word")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--inputs", "[1]"], "has no parameter 'x'"),
        (["--inputs", "q=[0.1]", "--eta", "0.1"], "--eta is half of a question"),
        (["--inputs", "q=[0.1]", "--loss", "math:cos"], "one source and one input"),
        (["--inputs", "q=[0.1]", "--nu", "0.1", "--replay", "1", "--arm", "0"], "does not go with --replay"),
        (["--inputs", "q=[0.1]", "--arm", "0"], "--arm 0 goes with --replay"),
        (["--arm", "0"], "--arm 0 goes with"),
        (["--inputs", "q=[0.1, 0.2]", "--gate", "churn"], "--gate churn"),
    ],
)
def test_what_makes_no_worst_case_is_refused(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", "mixed", *words]) == 2
    assert complaint in " ".join(capsys.readouterr().err.split())


def test_several_sources_are_for_one_subject(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "algorithms.controls", "--source", "norm", "--source", "uniform", "--eta", "0.1"]) == 2
    assert "--source, --eta is for one subject" in " ".join(capsys.readouterr().err.split())


def test_a_claim_that_differs_between_inputs_is_no_target() -> None:
    @auditor.subject(source="norm", size=1, claimed=lambda q: q)
    def claims(sample: Any, r: Any, *, q: float) -> int:
        return 0

    with pytest.raises(UsageError, match="give one with --rho"):
        audit_worst(claims, inputs={"q": [0.1, 0.2]})


def test_an_arm_that_raises_is_named() -> None:
    def divides(sample: Any, r: Any, *, x: float) -> float:
        return 1 / x

    record = audit_worst(divides, [bernoulli(0.5)], size=1, inputs=[1.0, 0.0])
    assert (record.verdict, record.decided_by) == ("error", "error")
    assert "with x=0.0" in record.reason
    assert any("ZeroDivisionError" in finding.message for finding in record.findings)
