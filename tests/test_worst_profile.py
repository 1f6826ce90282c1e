"""(eta, nu) for every input: a pass needs no correction, a fail names its arm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from algorithms.known_answers import good_and_bad, nu_of
from auditor.cli.command_line import run
from auditor.questions.worst_profile import audit_worst_profile
from auditor.report.markdown import markdown
from auditor.report.terminal import as_text
from auditor.statistics.nu import NuGate


def audit(inputs: dict[str, list[float]], **options: Any) -> Any:
    def uniform(rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.random(size)

    return audit_worst_profile(good_and_bad, [uniform], inputs=inputs, **{"eta": 0.1, "nu": 0.1, **options})


def test_a_pass_takes_of_each_arm_what_it_takes_alone() -> None:
    alone = NuGate(0.1, 0.1, 20, alpha_pass=0.05, alpha_fail=0.05).least_strings(20)
    record = audit({"bad": [0.0, 0.0, 0.0]})
    assert (record.verdict, record.error_spent) == ("pass", 0.05)
    assert [arm.pairs for arm in record.arms] == [alone] * 3
    assert record.cost.runs == 3 * 20 * alone
    assert record.reason.startswith("nu is at most 0.0983 for each of 3 arms")
    assert all(arm.confidence == 0.95 and arm.high > 0.1 for arm in record.arms), "rows are simultaneous, so wider"


def test_a_fail_names_its_arm_and_has_its_share() -> None:
    record = audit({"bad": [0.0, 0.5, 0.0]})
    assert (record.verdict, record.decided_by) == ("fail", "strings")
    assert record.reason.startswith("with bad=0.5: for a share of at least")
    assert [arm.verdict for arm in record.arms] == ["pass", "fail"]
    assert record.bound.confidence == pytest.approx(1 - 0.05 / 3)
    assert record.arms[1].low <= nu_of(0.1, 0.5, 0.0) <= record.arms[1].high
    assert record.params == {}
    assert "nu of each arm" in as_text(record)
    assert "| verdict | beyond eta | strings |" in markdown([record], 0.95)


def test_the_command_asks_for_every_input_and_replays_a_string_of_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["check", "good_and_bad", "--inputs", "bad=[0.6]", "--eta", "0.1", "--nu", "0.1"]
    assert run([*words, "--json", str(tmp_path / "record.json"), "--svg", str(tmp_path / "nu.svg")]) == 1
    document = json.loads((tmp_path / "record.json").read_text())
    assert "--param bad=0.6" in document["arms"][0]["replay"]
    assert (tmp_path / "nu.svg").exists()
    string = document["profile"]["worst"]["string"]
    capsys.readouterr()
    assert run([*words[:4], "--replay", str(string), "--arm", "0", "--runs", "20"]) == 0
    assert f"string {string}: 2 outputs in 20 runs" in capsys.readouterr().out


def test_an_arm_that_raises_is_what_the_record_tells() -> None:
    record = audit({"bad": [0.0, 2.0]})
    assert (record.verdict, record.error_spent) == ("error", 0.0)
    assert record.reason.startswith("with bad=2.0:")
