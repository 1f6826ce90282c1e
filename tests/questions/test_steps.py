"""What an audit makes sure of where a subject declares its steps: that they are what it does, whatever they do."""

from __future__ import annotations

import itertools
import math
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from learners import steps
from msgspec.structs import replace
from support.requests import audit, bench_of, timeless

import auditor
from auditor.flow.record import Record
from auditor.report.terminal import as_text
from auditor.statistics.interval import clopper_pearson_upper, most_unseen
from auditor.trials.integrated import FINISHES, BrokenSteps, CorePair
from auditor.trials.trial import Trial


def audited(subject: Any, **options: Any) -> Record:
    return audit(subject, **{"rho": 0.2, **options})


def integrated(record: Record) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(record.answer)["integrated"]
    return found


# Each finish has a core of its own


@pytest.fixture(scope="module")
def as_it_should_be() -> list[Trial]:
    bench = bench_of(steps.plain, rho=0.2)
    return [bench.trial(index) for index in range(4)]


@pytest.mark.parametrize("name", steps.USED_UP)
def test_what_a_finish_does_to_its_core_is_seen_by_no_other(name: str, as_it_should_be: list[Trial]) -> None:
    """Pair by pair the outputs, the declared mismatch and the real finishes are those of a finish that only reads."""
    bench = bench_of(steps.with_steps(*steps.USED_UP[name]), rho=0.2)
    for index, expected in enumerate(as_it_should_be):
        found = bench.trial(index)
        assert found.payload == expected.payload
        assert found.difference == expected.difference
    assert sum(one.payload["apart"] for one in as_it_should_be) > 0


@pytest.mark.parametrize("name", ["iterator", "list", "array", "object"])
def test_a_finish_that_uses_up_its_core_does_not_pass_where_all_outputs_differ(name: str) -> None:
    """Nothing is rounded, so no two runs agree; once a core was used up all of them did."""
    core, read, _ = steps.USED_UP[name]

    def finish(core: Any, r: Any) -> float:
        return read(core)

    for mismatch, decided in ((None, "mismatches"), (lambda first, second: 0.0, "formula")):
        learner = auditor.composed(core=core, finish=finish, mismatch=mismatch)
        record = audited(learner, source="norm", size=40, rho=0.1)
        assert (record.verdict, record.decided_by) == ("fail", decided)
        assert record.mismatches == record.pairs


@pytest.mark.parametrize("name", steps.REFUSED)
@pytest.mark.parametrize("peek", [None, lambda core: 0.0])
def test_a_core_that_cannot_be_copied_is_refused(name: str, peek: Any) -> None:
    core, read, why = steps.REFUSED[name]
    record = audited(steps.with_steps(core, read, peek))
    assert (record.verdict, record.exit_code) == ("error", 4)
    assert "that cannot be copied, in pair 0 (" in record.reason
    assert why in record.reason
    assert "return a list" in record.reason
    counted = audited(steps.with_steps(core, read, peek), no_integrate=True)
    assert counted.verdict != "error"


def test_an_iterator_of_itertools_is_copied_or_refused() -> None:
    """Python 3.12 warns of it, which is an error here, and 3.14 cannot."""
    core = steps.with_steps(lambda sample: itertools.chain([steps.mean(sample)]), lambda core: next(core, 7.0))
    record = audited(core, pairs=40)
    if sys.version_info < (3, 12):
        assert record.verdict == "pass"
    else:
        assert record.exit_code == 4
        assert "itertools" in record.reason


def test_copies_that_share_what_is_used_up_are_noticed() -> None:
    record = audited(steps.with_steps(lambda sample: steps.Shared(steps.mean(sample)), lambda core: core.taken()))
    assert record.exit_code == 4
    assert "in pair 0 one core, finished twice with one r, gave" in record.reason


def test_a_finish_that_is_no_function_of_core_and_r_is_noticed() -> None:
    steps.STATE["calls"] = 0
    with pytest.raises(BrokenSteps, match=rf"gave 1.0 and then {FINISHES + 2}.0; let it use nothing but its arguments"):
        bench_of(steps.counting, rho=0.2).trial(0)


def test_what_numpy_spawns_of_r_is_the_same_for_both_cores() -> None:
    record = audited(steps.spawning)
    assert record.verdict == "pass"
    assert not integrated(record)["contradicted"]
    same_cores = auditor.composed(core=lambda sample: 0.3, finish=steps.spawned)
    trial = bench_of(same_cores, "norm", size=4, rho=0.2).trial(0)
    assert (trial.payload["apart"], trial.difference) == (0, None)


def test_a_replay_shows_two_cores_and_not_one_buffer_twice(tmp_path: Path, command: Any) -> None:
    example = tmp_path / "buffered.py"
    example.write_text(
        "import numpy as np, auditor\nBUFFER = np.zeros(1)\n"
        "def core(sample):\n    BUFFER[0] = np.mean(sample)\n    return BUFFER\n"
        "def finish(core, r):\n    return float(core[0] > r.random() - 0.5)\n"
        "learner = auditor.composed(core=core, finish=finish, source='norm', size=40)\n"
    )
    code, said, _ = command("check", "buffered.py:learner", "--replay", "1", "--rho", "0.3", cwd=tmp_path)
    assert code == 0
    cores = re.findall(r"(?:first|second) core:\s+(.*)", said)
    assert len(set(cores)) == 2


# The pair's own outputs are one more coin


def test_the_own_outputs_of_a_pair_speak_against_a_declared_mismatch() -> None:
    from support.requests import cell_of

    from auditor.flow.verdict import make_plan
    from auditor.questions.integrated import IntegratedPairs
    from auditor.values import Difference

    leaf = IntegratedPairs(cell_of(steps.plain, rho=0.2), replace(make_plan(target=0.2), integrates=True))
    assert leaf.doubt.coins == FINISHES + 1
    trial = Trial(0, Difference("output", "1", "2"), None, 0.0, payload=msgspec.to_builtins(CorePair(0.0, 0)))
    assert leaf.add(trial)
    assert leaf.verdict().decided_by == "formula"


# A body of its own


def test_a_body_that_is_not_its_steps_ends_the_audit() -> None:
    """It differs in a tenth of runs: an audit of 40 pairs, a run of each, misses that with probability 0.9^40 < 0.015.

    That more than 4 of 12 do has a probability below 1e-6.
    """
    ended = 0
    for seed in range(12):
        bench = bench_of(steps.rarely, rho=0.2, seed=seed)
        try:
            for index in range(40):
                bench.trial(index)
        except BrokenSteps:
            ended += 1
    print(f"{ended} of 12 audits ended")
    assert ended >= 8


def test_both_runs_of_pairs_are_compared_and_which_one_does_not_depend_on_the_runs() -> None:
    bench = bench_of(steps.never, rho=0.2)
    halves = [bench.keys.body.child(index).digest[0] % 2 for index in range(40)]
    assert 8 < sum(halves) < 32
    assert all(bench.trial(index).payload["runs"] == 3 for index in range(3))
    assert bench.trial(0, {halves[0]: "died"}).payload["runs"] == 2, "a run that ends its process is not tried again"
    assert bench.trial(0, {1 - halves[0]: "died"}).payload["runs"] == 3


def test_a_pass_says_what_it_takes_on_trust_and_what_is_known_of_the_body() -> None:
    record = audited(steps.never)
    n, body = record.pairs or 0, integrated(record)["body"]
    assert record.verdict == "pass"
    assert body["runs"] == n
    assert (1 - body["share"]) ** n == pytest.approx(0.05), "the exact one-sided limit"
    assert body["rho"] == pytest.approx(0.2 + 2 * body["share"])
    assert record.cost.runs == 3 * n
    assert (body["confidence"], body["rho_confidence"]) == pytest.approx((0.95, 0.9)), "two statements, each with alpha"
    assert record.reason.endswith(f"and the function itself gave what they give in each of {n:,} runs")
    said = " ".join(as_text(record, verbose=True).split())
    assert f"in each of {n:,} runs: it differs from them in at most" in said
    assert "of runs (95 % confidence, apart from the verdict), and its own rho is at most" in said
    assert "(90 % confidence, verdict included)" in said
    assert "given core, finish and m" in said
    assert record.measures[1].method.endswith("given core and finish")
    failed = audited(steps.never, rho=0.05)
    assert failed.verdict == "fail"
    assert "the function itself" not in failed.reason


def test_of_several_inputs_the_one_of_which_least_is_known_counts() -> None:
    record = audited(steps.rounded_like, inputs={"width": [0.5, 5.0]}, rho=0.3)
    assert record.verdict == "pass"
    least = min(cell.pairs for cell in record.cells)
    assert integrated(record)["body"]["runs"] == least < max(cell.pairs for cell in record.cells)
    assert f"in each of {least:,} runs" in record.reason


def test_the_bound_on_the_body_holds_at_every_number_of_pairs_at_once() -> None:
    """Exactly, for every q: that it is ever wrong takes all runs to agree up to the first n at which it would be."""
    alpha, runs = 0.05, range(1, 4000)
    limits = np.array([most_unseen(n, alpha) for n in runs])
    assert most_unseen(0, alpha) == 1
    assert limits[:3] == pytest.approx([clopper_pearson_upper(n, 0, alpha) for n in (1, 2, 3)], rel=1e-12)
    assert (np.diff(limits) < 0).all()
    for q in np.linspace(0.001, 0.9, 300):
        first_wrong = runs[int((limits < q).argmax())]
        assert (1 - q) ** first_wrong <= alpha < (1 - q) ** (first_wrong - 1)


# A subject that is its steps


def test_a_composed_subject_is_audited_as_its_steps_and_each_run_is_run_once() -> None:
    own, of_steps = audited(steps.plain), audited(steps.rounded_mean)
    assert (own.rho and own.rho.estimate) == (of_steps.rho and of_steps.rho.estimate)
    assert own.examples
    assert [one.pair for one in own.examples] == [one.pair for one in of_steps.examples]
    assert integrated(of_steps)["body"] is None
    assert of_steps.cost.runs == 2 * (of_steps.pairs or 0)
    assert of_steps.rho is not None
    assert of_steps.rho.method.endswith("sequence, given m")
    assert "the function does itself" not in of_steps.reason
    assert "confidence sequence, given m)" in " ".join(as_text(of_steps, verbose=True).split())


def test_wrappers_are_their_steps_unless_somebody_gives_them_a_body() -> None:
    from auditor.repair.deciding import thresholded
    from auditor.subjects.subject import load_subject

    class Again(thresholded):
        def __call__(self, sample: Any, r: Any, **params: Any) -> Any:
            return super().__call__(sample, r, **params)

    def learner(sample: Any, r: Any) -> float:
        return float(np.mean(sample))

    for kind, has_body in ((thresholded, False), (Again, True)):
        found = load_subject(kind(learner, -0.2, 0.2)).finishing
        assert found is not None
        assert found.has_body is has_body
    with_own = auditor.subject(core=steps.mean, finish=steps.grid)(thresholded(learner, -0.2, 0.2))
    assert load_subject(with_own).finishing is not None


def test_a_composed_subject_gives_one_record_here_in_workers_and_by_its_name() -> None:
    here = audited(steps.rounded_mean, jobs=1)
    assert here.subject == "learners.steps:rounded_mean"
    unnamed = auditor.composed(
        core=lambda sample: float(np.mean(sample)), finish=steps.grid, mismatch=steps.parted, source="norm", size=400
    )
    assert repr(unnamed) == "composed(<lambda>, grid)"
    travelled = audited(unnamed, jobs=2)
    assert travelled.verdict == here.verdict == "pass"
    assert (travelled.rho, travelled.measures, travelled.pairs) == (here.rho, here.measures, here.pairs)
    assert timeless(audited("learners.steps:rounded_mean", jobs=1)) == timeless(here)


def test_the_example_of_the_docs_works_from_the_command_line(tmp_path: Path, command: Any) -> None:
    text = (Path(__file__).parents[2] / "docs" / "last-step.md").read_text()
    composed, _ = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "example.py").write_text(composed)
    words = ("check", "example.py:rounded_mean", "--rho", "0.15", "--param", "width=1.5", "--json", "out.json")
    code, said, _ = command(*words, "--verbose", cwd=tmp_path)
    assert code == 0, said
    assert "given m" in said
    assert "width=1.5" in said
    assert not math.isnan(msgspec.json.decode((tmp_path / "out.json").read_bytes())["rho"]["high"])
