"""A slow learner has its first pair before the rest of the preflight, and --for covers both: what was run is said, and
nothing is decided before the preflight has ended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from support.requests import audit, bench_of, carried_out, timeless

import auditor
from auditor.engine.engine import RunOptions, TimeLimit
from auditor.errors import UnknownTruth
from auditor.flow.run import Silent
from auditor.host.limits import read_duration, typed_duration
from auditor.report.terminal import as_text
from auditor.request import Request
from auditor.trials.preflight import PAIRS, run_preflight
from auditor.trials.trial import Trial

EVERY = frozenset(range(PAIRS))


def uniform(rng: np.random.Generator, size: int) -> Any:
    return rng.random(size)


def labelled(rng: np.random.Generator, size: int) -> Any:
    return rng.random((size, 2)), rng.integers(0, 2, size)


def mean(sample: Any, r: np.random.Generator) -> float:
    return float(np.mean(sample))


def sorts(sample: Any, r: np.random.Generator) -> float:
    sample.sort()
    return float(sample[0])


def coin(sample: Any, r: np.random.Generator) -> int:
    return int(sample[0] + r.random() > 1)


def is_small(output: float, *, source: Any, r: Any, params: Any) -> bool:
    return output < 0.5


def nobody_knows(output: float, *, source: Any, r: Any, params: Any) -> bool:
    raise UnknownTruth("no truth")


judged = auditor.subject(source=uniform, size=5, accuracy=is_small, delta=0.9)(mean)
unjudged = auditor.subject(source=uniform, size=5, accuracy=nobody_knows, delta=0.9)(coin)


def steps_of(bench: Any, wanted: frozenset[int] = EVERY) -> tuple[list[Trial], Any]:
    """Return the pairs that a preflight runs, and what it finds."""
    looking, found = run_preflight(bench, wanted), []
    while True:
        try:
            found.append(next(looking).trial)
        except StopIteration as end:
            return [trial for trial in found if trial is not None], end.value


@pytest.mark.parametrize(
    ("subject", "asked"),
    [
        (mean, {}),
        (sorts, {}),
        (coin, {}),
        (judged, {}),
        (unjudged, {}),
        (lambda sample, r: r.random(), {"view": lambda output: round(output, 2)}),
        (mean, {"atol": 0.2}),
    ],
)
def test_the_pairs_of_a_preflight_are_those_of_the_audit(subject: Any, asked: dict[str, Any]) -> None:
    """Whether a pair is run in the preflight, on copies, or after it: the same trial."""
    bench = bench_of(subject, uniform, size=5, **asked)
    early, found = steps_of(bench)
    bench = replace(bench, copies=found.changes_sample, judges=found.knows_truth)
    assert [replace(one, seconds=0.0) for one in early] == [
        replace(bench.trial(index), seconds=0.0) for index in range(PAIRS)
    ]
    none, alone = steps_of(bench_of(subject, uniform, size=5, **asked), frozenset())
    assert (none, replace(alone, seconds=0.0, cold=0.0)) == ([], replace(found, seconds=0.0, cold=0.0))


def test_predictions_and_their_churn_are_the_same_early_and_late() -> None:
    from sklearn.tree import DecisionTreeClassifier

    bench = bench_of(DecisionTreeClassifier(max_depth=2), labelled, size=20, measure="churn")
    early, _ = steps_of(bench)
    assert [one.churn for one in early] == [bench.trial(index).churn for index in range(PAIRS)]
    assert any(one.churn for one in early)


def test_the_first_pair_comes_first_and_each_run_is_computed_once() -> None:
    runs: list[float] = []

    def keeps(sample: Any, r: np.random.Generator) -> float:
        runs.append(float(sample[0]))
        return runs[-1]

    record = audit(keeps, uniform, size=1, rho=0.1)
    assert (record.verdict, record.pairs) == ("fail", 2)
    first, second, again = runs[:3]
    assert (first == again, first == second) == (True, False)
    assert record.cost.advice is not None
    further = 2 * record.cost.advice.pairs
    assert len(runs) - further == 3 * PAIRS  # in place of 6 of the preflight and 4 of two pairs
    assert (record.preflight.runs, record.cost.preflight_runs, record.cost.runs) == (6, 3, 4)


def faulty_in(pair: int, which: int, fault: Callable[[], Any]) -> Callable[..., float]:
    """Return a learner that has a fault in one run, known by its sample."""
    fell = float(bench_of(mean, uniform, size=5).draw(pair, which)[0])

    def learner(sample: Any, r: np.random.Generator) -> float:
        if float(sample[0]) == fell:
            fault()
        return round(float(np.mean(sample)))

    return learner


def fails() -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize("on_error", ["stop", "bottom"])
@pytest.mark.parametrize("fault", [fails, lambda: os._exit(3)])
def test_a_second_run_that_fails_in_the_preflight_fails_as_in_its_pair(fault: Any, on_error: str) -> None:
    """It is not the preflight's to judge: the pair is run again by those who run pairs."""
    record = audit(faulty_in(1, 1, fault), uniform, size=5, rho=0.5, jobs=2, on_error=on_error)
    if on_error == "bottom":
        assert record.verdict in ("pass", "inconclusive", "fail")
        assert "1 of " in next(one.message for one in record.findings if one.kind == "bottom")
        return
    assert (record.verdict, record.pairs) == ("error", 1)
    assert "in the second run of pair 1" in record.reason


@pytest.mark.parametrize(("pair", "which"), [(0, 0), (0, 1), (4, 0)])
def test_a_run_that_hangs_is_ended_some_time_after_the_clock(
    pair: int, which: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TimeLimit, "GRACE", 0.1)
    hangs = faulty_in(pair, which, lambda: time.sleep(600))
    record = auditor.audit(hangs, uniform, size=5, rho=0.1, jobs=2, for_=1.5, second_process=False)
    assert (record.verdict, record.decided_by, record.exit_code) == ("inconclusive", "clock", 3)
    assert f"the {('first', 'second')[which]} run of pair {pair} was ended after" in record.reason
    assert ("in the preflight" in record.reason) == (pair == 0)
    assert record.pairs == pair


SLEPT: list[float] = []


def sleeps(sample: Any, r: np.random.Generator) -> float:
    time.sleep(0.01)
    SLEPT.append(0.01)
    return float(np.mean(sample))


def test_a_slow_learner_gets_its_first_pair_and_no_verdict_before_its_preflight_has_ended(tmp_path: Path) -> None:
    """Its time is up in the first pair's second run, by a clock of what it slept; the ledger keeps what was run."""
    how = RunOptions(for_=0.015, ledger=str(tmp_path / "l"))
    record = carried_out(sleeps, uniform, size=5, how=how, now=lambda: sum(SLEPT))
    assert (record.verdict, record.decided_by, record.bound) == ("inconclusive", "clock", None)
    assert (record.pairs, record.mismatches) == (1, 1)
    assert record.rho.low > 0
    assert "there is no verdict before the preflight has ended: none of 3 pairs was run again" in record.reason
    text = " ".join(as_text(record, 400).split())
    assert "Two runs differed in the only pair: rho is between 0.0058 and 1 (95 % confidence)" in text
    whole = audit(sleeps, uniform, size=5, ledger=tmp_path / "l", resume=True)
    assert (whole.verdict, whole.pairs) == ("fail", 2)
    assert timeless(whole) == timeless(audit(sleeps, uniform, size=5))


def test_pairs_that_would_decide_do_not_where_the_preflight_has_not_ended() -> None:
    """Two pairs that differ are a fail at 0.05; 6 steps are two pairs, of which one was repeated."""
    ticks = iter(range(100))
    record = carried_out(mean, uniform, size=5, rho=0.05, how=RunOptions(for_=6.0), now=lambda: float(next(ticks)))
    assert (record.verdict, record.pairs, record.mismatches) == ("inconclusive", 2, 2)
    assert [row.verdict for row in record.cells] == ["inconclusive"]
    assert "2 mismatches in 2 pairs, rho in [0.09, 1]" in record.reason
    assert "1 of 3 pairs was run again on the same sample with the same r" in record.reason


class InterruptsWhenTimed(Silent):
    def timed(self, seconds_a_run: float) -> None:
        raise KeyboardInterrupt


def test_an_interrupt_in_the_preflight_keeps_the_first_pair() -> None:
    record = carried_out(mean, uniform, size=5, watch=InterruptsWhenTimed())
    assert (record.decided_by, record.pairs, record.mismatches) == ("interrupt", 1, 1)
    assert record.reason.startswith("interrupted after 1 of at most 1,000 pairs")


@pytest.mark.parametrize(
    ("typed", "resumes", "time", "command"),
    [
        ("check a.py:f --for 20s --rho 0.1", False, "5m", "check a.py:f --for 5m --rho 0.1"),
        ("check a.py:f --for=20s", False, "5m", "check a.py:f --for 5m"),
        ("check a.py:f --ledger l --for 20s", True, "5m", "check a.py:f --ledger l --for 20s --resume"),
        ("check a.py:f --ledger l --resume", True, None, "check a.py:f --ledger l --resume"),
        ("check a.py:f", False, None, "check a.py:f"),
    ],
)
def test_the_command_that_goes_on_is_the_one_that_was_typed(
    typed: str, resumes: bool, time: str | None, command: str
) -> None:
    request = Request("rho", "a.py:f", (), None, typed=tuple(typed.split()))
    assert request.continued(resumes=resumes, time=time) == f"python -m auditor {command}"
    assert replace(request, typed=()).continued(resumes=resumes, time=time) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1s"), (9, "9s"), (10, "10s"), (11, "20s"), (90, "90s"), (91, "2m"), (5400, "90m"), (5401, "2h")],
)
def test_a_time_is_typed_rounded_up_and_is_read_again(seconds: float, text: str) -> None:
    assert typed_duration(seconds) == text
    assert (read_duration("for", text) or 0) >= seconds


def test_the_report_of_a_stopped_audit_has_the_command(
    command: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\n\ndef f(sample, r):\n    time.sleep(0.3)\n    return float(sample[0])\n"
    )
    code, out, _ = command("check", "slow.py:f", "--source", "norm", "--size", "3", "--for", "0.4s", cwd=tmp_path)
    assert code == 3
    lines = out.splitlines()
    again = lines[lines.index("To try again:") + 1]
    assert again.startswith("python -m auditor check slow.py:f --source norm --size 3 --for ")
    assert again.rpartition(" ")[2] != "0.4s"
