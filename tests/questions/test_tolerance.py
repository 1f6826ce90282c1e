"""What an audit says of outputs that are compared within a tolerance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.requests import audit

import auditor
from auditor.cli.command_line import run
from auditor.errors import UsageError


def two_means(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def mean(sample: Any, r: Any) -> float:
    return float(sample.mean())


def quarters(sample: Any, r: Any) -> int:
    return int(4 * sample[0])


def test_rho_is_the_probability_of_not_close_exactly() -> None:
    """Two of the four values are equally likely: |a - b| <= 1 in 10 of 16 pairs. 300 pairs, interval at 1 - 1e-6."""
    record = audit(quarters, two_means, size=1, atol=1, fixed=300, rho=0.5, confidence=1 - 1e-6)
    assert record.rho.low <= 6 / 16 <= record.rho.high
    again = [auditor.replay(quarters, two_means, size=1, atol=1, pair=i) for i in range(8)]
    apart = [abs(one.outputs[0] - one.outputs[1]) > 1 for one in again]
    assert {*apart} == {True, False}
    assert apart == [one.difference is not None for one in again]


def test_a_record_says_that_close_is_no_equivalence_and_what_rho_then_is() -> None:
    record = audit(mean, two_means, size=1000, atol=0.2)
    assert record.verdict == "pass"
    (told,) = [one for one in record.findings if one.kind == "tolerance"]
    assert "rho is then the probability that two runs are not close" in told.message
    assert "no equivalence" in told.message
    assert record.asked["atol"] == 0.2
    assert audit(mean, two_means, size=1000).verdict == "fail"


class Shift:
    def __init__(self, by: float) -> None:
        self.by = by

    def predict(self, x: Any) -> Any:
        return x[:, 0] * self.by


def shift(sample: Any, r: Any) -> Shift:
    return Shift(1.0 + float(sample[0] > 0.5))


def test_churn_under_a_tolerance_is_the_share_of_points_that_are_not_close() -> None:
    """Predictions x and 2x are within 1/4 for x <= 1/4: of uniform points three quarters are not."""
    record = audit(shift, two_means, size=1, view="predict", atol=0.25, measure="churn", probe=2000, rho=0.9)
    assert record.answer.churn.largest == pytest.approx(0.75, abs=0.06)  # 2000 points: six standard deviations


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"eta": 0.1, "nu": 0.1}, "takes an equivalence"),
        ({"view": "argmax"}, "sees places or names"),
        ({"view": "round(1)|sign"}, "sees places or names"),
    ],
)
def test_where_closeness_has_no_meaning_it_is_refused_with_the_reason(options: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        audit(mean, two_means, size=10, atol=0.1, **options)


def test_replay_commands_and_the_ledger_carry_the_tolerance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("close_learner.py").write_text("def mean(sample, r):\n    return float(sample.mean())\n")
    words = ["check", "close_learner.py:mean", "--source", "norm", "--size", "50", "--rho", "0.3"]
    assert (
        run([*words, "--atol", "0.01", "--rtol", "0.125", "--ledger", "l.sqlite", "--json", "r.json", "--verbose"]) == 1
    )
    out = capsys.readouterr().out
    assert "--atol 0.01 --rtol 0.125 --replay" in out
    assert "numbers within atol 0.01, rtol 0.125" in out
    assert run([*words, "--atol", "0.02", "--ledger", "l.sqlite", "--resume"]) == 2
    assert "differ in --atol: 0.01 and 0.02, --rtol: 0.125 and none" in capsys.readouterr().err
    assert run([*words, "--atol", "9", "--replay", "0"]) == 0
    assert "CLOSE  pair 0" in capsys.readouterr().out
    assert run(["replay", "r.json", "--pair", "0", "--trust"]) == 0
    assert "CLOSE  pair 0" in capsys.readouterr().out
