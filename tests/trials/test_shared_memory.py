"""Outputs that a later run writes into: what counts of the first is settled before the second, in every question."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import requests
from support.requests import bench_of, looked

import auditor
from auditor.cli.command_line import run
from auditor.questions.nu.strings import run_string
from auditor.questions.reuse.transcripts import InterviewTrial
from auditor.subjects.subject import load_subject
from auditor.trials.preflight import conclude, run_preflight
from auditor.trials.second_process import SecondProcess
from auditor.trials.trial import Bench, run_pair
from auditor.values import describe, fingerprint, first_difference, same, settle

SUBJECTS = Path(__file__).parents[1] / "learners"
FRESH = "shared:rows"
LEARNERS = ["array", "slice_of_array", "dictionary", "nested", "attributes", "sklearn_model"]


@pytest.fixture(autouse=True)
def subjects_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SUBJECTS)
    monkeypatch.setattr(sys, "path", [str(SUBJECTS), *sys.path])


def sampler(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def asked(name: str) -> dict[str, Any]:
    view = {"view": "predict", "probe": 10} if name == "sklearn_model" else {}
    return {"size": 20, **view}


def bench_for(name: str, source: object = sampler, question: str = "rho", **options: Any) -> Bench:
    return bench_of(f"shared:{name}", source, question, **asked(name), **options)


# Samples are continuous: that two outputs of honest copies are equal has probability 0.


@pytest.mark.parametrize("name", LEARNERS)
def test_two_runs_that_share_an_output_differ(name: str) -> None:
    bench = bench_for(name)
    trials = [run_pair(bench, index) for index in range(5)]
    assert all(trial.difference is not None for trial in trials)
    assert all(trial.difference.left != trial.difference.right for trial in trials if trial.difference)
    if name == "sklearn_model":
        assert all(trial.churn == 1.0 for trial in trials)


def test_a_view_of_the_samplers_own_array_differs() -> None:
    bench = bench_for("its_sample", "shared:rows_in_one_array")
    assert all(run_pair(bench, index).difference for index in range(5))
    assert run_string(bench, 0, 5).which == [0, 1, 2, 3, 4]


def test_the_probe_is_not_the_samplers_own_array() -> None:
    bench = bench_of("shared:sklearn_model", "shared:rows_in_one_array", size=20, view="predict", probe=20)
    model = load_subject("shared:sklearn_model").fn(np.linspace(0, 1, 20), None)
    before = bench.see(model).copy()
    bench.draw(3, 1)
    assert same(before, bench.see(model))


def test_a_prediction_may_write_into_its_points() -> None:
    class Centred:
        def predict(self, x: Any) -> Any:
            x -= 1.0
            return x[:, 0]

    bench = bench_for("sklearn_model")
    assert same(settle(bench.see(Centred())), bench.see(Centred()))


def test_private_randomness_is_no_exception() -> None:
    unshared, shared = (bench_for("own", private=private) for private in ("unshared", "shared"))
    assert all(run_pair(unshared, index).difference for index in range(5))
    assert not any(run_pair(shared, index).difference for index in range(5))


def test_accuracy_is_judged_before_the_second_run() -> None:
    buffer, judged = np.zeros(1), []

    @auditor.subject(accuracy=lambda output, source, r, params: judged.append(float(output[0])) or True, delta=0.1)
    def learner(sample: Any, r: Any) -> Any:
        buffer[0] = sample.mean()
        return buffer

    bench = bench_of(learner, sampler, size=20)
    assert run_pair(bench, 0).accurate
    assert judged == [float(bench.draw(0, 0).mean())]
    found = run_string(bench, 1, 3)
    assert judged[1:] == [float(bench.draw(1, which).mean()) for which in range(3)]
    assert found.which == [0, 1, 2]


def test_a_loss_looks_at_the_output_of_the_first_run() -> None:
    seen: list[float] = []

    def loss(output: Any, rows: Any) -> Any:
        seen.append(float(output[0]))
        return np.zeros(len(rows))

    bench = bench_for("array", question="loss", loss=loss, rho=0.1)
    trial = run_pair(bench, 0)
    assert trial.difference is not None
    assert set(seen) == {float(bench.draw(0, 0).mean())}


@pytest.mark.parametrize("name", LEARNERS)
def test_every_run_of_a_string_counts_as_it_was(name: str) -> None:
    found = run_string(bench_for(name, question="nu", eta=0.4, nu=0.3, runs=5), 0, 5)
    assert found.which == [0, 1, 2, 3, 4]
    assert len({fingerprint(output) for output in found.settled}) == 5
    assert len({describe(output) for output in found.settled}) == 5
    record = requests.ask("nu", f"shared:{name}", FRESH, **asked(name), eta=0.4, nu=0.3, runs=5)
    assert (record.verdict, record.mismatches) == ("fail", record.pairs)
    assert record.examples


def test_answers_of_an_interview_count_as_they_were() -> None:
    def analyst(ask: Any, rng: Any) -> None:
        for query in range(3):
            ask(query)[:] = -1.0  # what it does to an answer is no part of the transcript

    shared, honest = (
        bench_of(f"shared:{name}", sampler, size=20, params={"query": None})
        for name in ("mechanism", "honest_mechanism")
    )
    unit = InterviewTrial(analyst, "", 3)
    for reuse in (False, True):
        transcript = unit.transcript(shared, 0, reuse=reuse)
        assert len(set(transcript.name)) == 3
        assert transcript == unit.transcript(honest, 0, reuse=reuse)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_replay_shows_both_outputs(name: str) -> None:
    replayed = auditor.replay(f"shared:{name}", sampler, pair=0, **asked(name))
    assert replayed.difference is not None
    assert describe(replayed.outputs[0]) != describe(replayed.outputs[1])
    assert first_difference(*replayed.outputs) == replayed.difference


# The preflight notices, and does not refuse.


@pytest.mark.parametrize("name", LEARNERS)
def test_shared_state_is_a_finding(name: str) -> None:
    assert looked(run_preflight(bench_for(name))).shared


def test_honest_learners_and_samplers_share_nothing() -> None:
    class Unsteady:
        """Shows another number at each look, whoever ran in between."""

        def __init__(self) -> None:
            self.looks = 0

        def predict(self, x: Any) -> Any:
            self.looks += 1
            return np.full(len(x), self.looks)

    for learner in (lambda sample, r: sample, lambda sample, r: Unsteady()):
        view = {} if learner(0, 0) == 0 else {"view": "predict"}
        found = looked(run_preflight(bench_of(learner, sampler, size=20, **view)))
        assert (found.shared, found.source_shares) == (False, False)


def test_a_sampler_that_hands_out_one_array_is_a_finding_and_each_run_gets_a_copy() -> None:
    found = looked(run_preflight(bench_for("its_sample", "shared:rows_in_one_array")))
    checked = conclude(bench_for("its_sample", "shared:rows_in_one_array"), found, None)
    assert (found.shared, found.source_shares, checked.copies, checked.changes_sample) == (False, True, True, False)
    assert [kind for kind, _ in checked.warnings] == ["shared-state"]


def test_a_check_that_was_skipped_is_a_warning() -> None:
    """Not where it was asked for at other points."""
    bench = bench_of(lambda sample, r: 0, sampler, size=5)
    found = looked(run_preflight(bench))

    class Skipped(SecondProcess):
        def __init__(self) -> None: ...

        def compare(self, expected: str | None, seconds: float = 0.0) -> str:
            return "skipped: no way to find it"

        def files(self, seconds: float = 0.0) -> None:
            return None

    ((kind, message),) = conclude(bench, found, Skipped()).warnings
    assert kind == "second-process"
    assert "skipped: no way to find it" in message
    assert conclude(bench, found, None).warnings == ()


# From end to end.


def test_an_audit_of_a_shared_output_fails_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "shared:dictionary", "--source", FRESH, "--size", "20"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "FAIL" in said
    assert "warning shared-state: a run changes what an earlier run returned" in said


def test_workers_see_the_same() -> None:
    records = [auditor.audit("shared:array", FRESH, size=20, jobs=jobs) for jobs in (1, 2)]
    assert [(record.verdict, record.mismatches) for record in records] == [("fail", records[0].pairs)] * 2
    assert records[0].findings == records[1].findings
    assert records[0].examples == records[1].examples


def test_a_learner_that_always_raises_has_not_passed() -> None:
    record = auditor.audit("shared:raises", FRESH, size=5, rho=0.5, on_error="bottom")
    assert (record.verdict, record.decided_by, record.mismatches) == ("error", "error", 0)
    assert record.pairs
    assert f"none of {2 * record.pairs} runs of shared:raises gave an output" in record.reason
    assert "raised ValueError in the first run of pair 0" in record.reason


# Settled forms.


def test_a_settled_value_is_its_own() -> None:
    inner: Any = {"list": [1, [2.0]], "array": np.arange(3), "objects": np.array([[1], None], object)}
    inner |= {("key", 1): {3, "a"}, "record": np.array([(1, 2.0)], dtype=[("n", int), ("x", float)])}
    inner["arrays"] = np.empty(2, object)
    inner["arrays"][:] = [inner["array"], {"a": inner["array"][:2]}]
    inner["equal lengths"] = np.empty(2, object)
    for place in (0, 1):
        inner["equal lengths"][place] = np.arange(2)
    value = [inner, inner["list"], np.ma.array([1, 2], mask=[0, 1]), bytearray(b"ab")]
    kept, name, words = settle(value), fingerprint(value), describe(value)
    assert same(kept, value)
    assert (fingerprint(kept), describe(kept)) == (name, words)
    inner["list"][1][0] = 9.0
    inner["array"][0] = 7
    inner["objects"][0].append(5)
    value[3][0] = 0
    assert fingerprint(kept) == name
    found = first_difference(kept, value)
    assert found is not None
    assert found.path == "output[0]['list'][1][0]"
    assert (found.left, found.right) == ("2.0", "9.0")
    assert "9.0" not in describe(kept, 2000)
    assert "2.0" in describe(kept, 2000)
