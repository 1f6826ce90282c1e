"""rho where the shared randomness acts last: the mean of a known probability, and whether it is believed."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from learners import finished
from msgspec.structs import replace
from scipy.stats import binom, norm
from support.requests import audit, bench_of, cell_of, inquiry_of, request_of, timeless

from auditor.engine.engine import RunOptions, Serial
from auditor.errors import UsageError
from auditor.flow.question import find_question
from auditor.flow.record import Record
from auditor.flow.run import carry_out
from auditor.flow.verdict import make_plan
from auditor.questions.integrated import IntegratedPairs
from auditor.randomness import from_key, root_key
from auditor.report.terminal import as_text
from auditor.statistics.cost import prospect
from auditor.trials.integrated import FINISHES, CorePair
from auditor.trials.trial import Trial

METHOD = "betting confidence sequence, given core, finish and m"
SPREAD = math.sqrt(2 / 400)  # of the difference between two means of 400 normals


def truth(width: float, spread: float = SPREAD) -> float:
    """E min(1, |N(0, spread^2)| / width)."""
    end = width / spread
    return float((2 * (norm.pdf(0) - norm.pdf(end)) * spread / width) + 2 * norm.sf(end))


def audited(subject: Any, **options: Any) -> Record:
    return audit(subject, **{"rho": 0.2, **options})


def with_bottoms(subject: Any, **options: Any) -> Record:
    """A run without an output is an output, here: who keeps such runs apart from this process is another matter."""
    request = request_of(subject, **{"rho": 0.2, **options})
    how = RunOptions(on_error="bottom", second_process=False)
    return carry_out(find_question("rho").begin(request), request, how, engine=Serial())


@pytest.mark.parametrize("width", [0.02, pytest.param(0.1, marks=pytest.mark.nightly), 0.5, 3.0])
def test_the_interval_has_the_exact_rho(width: float) -> None:
    """Four intervals and four of coins, each wrong with probability 1e-7 at most."""
    record = audited(finished.rounded, params={"width": width}, fixed=150, confidence=1 - 1e-7)
    given, by_finishes = record.measures
    exact = truth(width)
    print(f"width {width}: {exact:.4f} in [{given.low:.4f}, {given.high:.4f}]")
    assert given.low <= exact <= given.high
    assert by_finishes.low <= exact <= by_finishes.high
    assert (given.name, given.count, given.of, given.method) == ("rho", None, None, METHOD)
    assert record.rho is not None
    assert (record.rho.low, record.rho.high, record.rho.method) == (given.low, given.high, METHOD)


def test_an_object_with_core_finish_and_mismatch_is_audited_so_too() -> None:
    """Its core draws from r.child("core"), which no real finish shares."""
    record = audited(finished.noisy, source="norm", size=400, fixed=150, confidence=1 - 1e-7, params={"noise": 0.1})
    same_noise = truth(0.5)  # both runs of a pair have the same
    assert record.rho is not None
    assert record.rho.low <= same_noise <= record.rho.high
    assert record.rho.high < truth(0.5, math.hypot(SPREAD, 0.1 * math.sqrt(2)))


@pytest.mark.parametrize(("share", "least"), [(0.8, 5), (1.2, 5), (0.5, 2)])
def test_it_takes_several_times_fewer_pairs_than_coins(share: float, least: float) -> None:
    """Against what coins take on average, by their gate's exact law; benchmarks/integrated.py has the table. Over
    eight seeds it took a ninth, an eleventh and a third of them on average."""
    target = truth(0.5) / share
    coins = prospect(truth(0.5), target=target, alpha=0.05, budget=10_000).expected_pairs
    taken = audited(finished.rounded, rho=target, pairs=10_000).pairs or 0
    print(f"rho is {share} of the target: {taken} pairs integrated, {coins:.0f} by coins")
    assert least * taken <= coins


def test_the_report_says_so() -> None:
    record = audited(finished.rounded)
    text = " ".join(as_text(record, verbose=True).split())
    assert record.verdict == "pass"
    assert "averaged over r, by the mismatch that is declared: each pair of samples was also run to its end" in text
    assert "95 % confidence, betting confidence sequence, given core, finish and m)" in text
    assert "wrong with probability at most 0.05, given core, finish and m" in text
    assert "rho by finishes" in text
    answer = msgspec.to_builtins(record.answer)["integrated"]
    assert (answer["declared"], answer["finishes"], answer["contradicted"]) == ("exact", FINISHES, False)
    assert abs(answer["differing"] - answer["expected"]) < 6 * math.sqrt(answer["expected"])


@pytest.mark.parametrize("name", ["half", "never", "always", "too_sure", "no_bound"])
def test_a_formula_that_is_not_true_fails(name: str) -> None:
    record = audited(getattr(finished, name), rho=0.15, seed=1)
    assert (record.verdict, record.decided_by, record.exit_code) == ("fail", "formula", 1)
    (finding,) = [one for one in record.findings if one.kind == "formula"]
    assert (finding.severity, finding.message) == ("error", record.reason)
    assert record.rho is not None
    assert record.rho.method != METHOD, "what was contradicted says nothing of rho"
    assert record.rho.low <= truth(0.5) <= record.rho.high
    assert "What to try next" not in as_text(record, verbose=True)


def test_what_no_coin_can_do_is_named() -> None:
    record = audited(finished.never)
    assert "are what the declared mismatch says that they cannot be" in record.reason
    assert (record.pairs or 0) <= 3


@pytest.mark.parametrize(("name", "declared"), [("no_formula", None), ("bounded", "upper"), ("sometimes", "exact")])
def test_without_an_exact_formula_the_finishes_themselves_decide(name: str, declared: str | None) -> None:
    learner = getattr(finished, name)
    for target, verdict in ((0.15, "pass"), (0.08, "fail")):
        record = audited(learner, rho=target, pairs=20_000)
        assert record.verdict == verdict
        assert msgspec.to_builtins(record.answer)["integrated"]["declared"] == declared
        assert (record.pairs or 0) < 200
        assert record.rho is not None
        assert (record.rho.method == METHOD) == (declared == "exact")


def test_a_learner_that_is_not_its_two_steps_cannot_be_audited() -> None:
    record = audited(finished.another)
    assert (record.verdict, record.exit_code) == ("error", 4)
    assert "is not what it declares: in pair 0 it gave" in record.reason
    assert "--no-integrate" in record.reason
    assert audited(finished.another, no_integrate=True).verdict == "pass"


def test_what_is_no_probability_ends_the_audit_with_a_sentence() -> None:
    assert "mismatch returned 1.5, and must return a number in [0, 1]" in audited(finished.no_number).reason
    record = audited(finished.raising)
    assert "the mismatch of" in record.reason
    assert "raised ZeroDivisionError in pair 0" in record.reason


def test_runs_without_an_output_count_as_one_output() -> None:
    """Pr[one of two falls] = 2 q (1 - q), and the others are rounded as ever."""
    record = with_bottoms(finished.falls, fixed=40, confidence=1 - 1e-6, rho=0.4)
    q = norm.sf(0.05 * 20)
    assert record.rho is not None
    assert 0 < record.rho.low < 2 * q * (1 - q)
    assert record.rho.high >= 2 * q * (1 - q)
    assert msgspec.to_builtins(record.answer)["integrated"]["contradicted"] is False


def test_a_finish_without_an_output_agrees_with_another() -> None:
    record = with_bottoms(finished.unlucky, fixed=90, confidence=1 - 1e-7)
    assert record.rho is not None
    assert record.rho.low <= 0.9 * truth(0.5) <= record.rho.high
    assert msgspec.to_builtins(record.answer)["integrated"]["contradicted"] is False
    alone = with_bottoms(finished.unlucky, fixed=90, no_integrate=True)
    assert record.mismatches == alone.mismatches
    assert "ValueError" in audited(finished.unlucky).reason


def test_a_finish_that_ends_its_process_is_no_output_that_agrees_with_itself() -> None:
    """Both halves of a pair finish with the same r: each would end its process, and two runs without an output agree.
    Here any two outputs differ, and one finish in 125 ends its process."""
    record = audited(finished.ends_at_times, rho=0.85, on_error="bottom", jobs=1, seed=1)
    assert record.verdict == "error"
    assert "ends_at_times ended its process (exit code 3)" in record.reason


def test_the_mismatch_of_two_cores_does_not_depend_on_the_pairs_own_coin() -> None:
    """Where its own r gives no output the cores are there, and what other r make of them."""
    bench = replace(bench_of(finished.unlucky, rho=0.2), bottoms=True)
    trials = [bench.trial(index) for index in range(40)]
    fell = [trial for trial in trials if trial.bottoms]
    assert 0 < len(fell) < 20
    for trial in fell:
        cores = [finished.mean(bench.draw(trial.index, which)) for which in (0, 1)]
        assert trial.difference is None
        assert trial.payload["mismatch"] == pytest.approx(0.9 * finished.parted(*cores))
    assert sum(trial.payload["apart"] for trial in fell) > 0


def test_a_stored_audit_goes_on_to_the_record_of_one_that_did_not_stop(tmp_path: Path) -> None:
    """Here, and in workers."""
    ledger, other = tmp_path / "ledger.db", tmp_path / "other.db"
    asked: dict[str, Any] = {"subject": "learners.finished:rounded", "rho": truth(0.5)}
    whole = audited(**asked, pairs=120)
    first = audited(**asked, pairs=60, ledger=str(ledger))
    assert first.verdict == "inconclusive"
    shutil.copy(ledger, other)
    for jobs, stored in ((1, ledger), (2, other)):
        again = audited(**asked, pairs=120, ledger=str(stored), resume=True, jobs=jobs)
        kept = timeless(replace(again, first_budget=None))
        assert kept == timeless(whole)


def test_the_worst_of_several_is_found_by_means() -> None:
    record = audited(finished.rounded, inputs={"width": [0.5, 0.4, 0.1]}, rho=0.3)
    assert (record.verdict, len(record.cells)) == ("fail", 3)
    assert "width=0.1" in record.reason
    assert "averaged" in as_text(record, verbose=True)
    answer = msgspec.to_builtins(record.answer)["integrated"]
    assert abs(answer["differing"] - answer["expected"]) < 6 * math.sqrt(answer["expected"])
    assert audited(finished.rounded, inputs={"width": [0.5, 0.4]}, rho=0.3).verdict == "pass"


def test_private_randomness_goes_into_the_core() -> None:
    """Unshared it adds to the spread of two cores, shared it cancels; both intervals miss with 2e-7 at most."""
    record = audited(finished.private_noise, fixed=150, confidence=1 - 2e-7, rho=0.3)
    unshared, shared = record.cells
    assert unshared.low <= truth(0.5, math.hypot(SPREAD, 0.05 * math.sqrt(2))) <= unshared.high
    assert shared.low <= truth(0.5) <= shared.high
    assert (unshared.estimate or 0) > 1.2 * (shared.estimate or 0) > 0


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"no_integrate": True}, "by --no-integrate"),
        ({"view": "round(3)"}, "the formula is about whole outputs, and the view here is round(3)"),
        ({"atol": 0.1}, "the formula is about equal outputs, and a tolerance was given"),
        ({"pairs": 16}, "so few pairs decide nothing by a mean"),
        ({"eta": 0.5, "nu": 0.9, "strings": 30}, "nu is another question than rho"),
    ],
)
def test_where_it_counts_outputs_it_says_why(options: dict[str, Any], why: str) -> None:
    record = audit(finished.rounded, **({"rho": 0.2} if "nu" not in options else {}), **options)
    (finding,) = [one for one in record.findings if one.kind == "not-integrated"]
    assert why in finding.message
    assert record.measures[0].count is not None or record.question == "nu"


def test_an_r_without_children_is_counted_too() -> None:
    record = audit(finished.Noisy().__call__, "norm", size=400, rho=0.2)
    assert record.measures[0].count is not None, "a method is no object with the three"
    inquiry = inquiry_of(finished.noisy, "norm", size=400, rho=0.2, randomness="int")
    assert not inquiry.plan.integrates
    assert inquiry_of(finished.rounded, rho=0.2).plan.integrates


def test_a_replay_shows_both_cores_and_what_becomes_of_them(command: Any, tmp_path: Path) -> None:
    code, said, _ = command("check", "learners.finished:rounded", "--replay", "3", cwd=tmp_path)
    assert code == 0
    assert "first core:" in said
    assert "second core:" in said
    assert "by mismatch, the probability that they finish differently is 0.1" in said
    assert f"of {FINISHES} fresh r finish them differently" in said
    code, said, _ = command("check", "learners.finished:rounded", "--no-integrate", "--replay", "3", cwd=tmp_path)
    assert "core" not in said


def test_the_record_is_written_and_replayed_as_it_was(command: Any, tmp_path: Path) -> None:
    words = ("learners.finished:half", "--rho", "0.15", "--json", "record.json")
    assert command("check", *words, cwd=tmp_path)[0] == 1
    document = json.loads((tmp_path / "record.json").read_text())
    assert document["measures"][0]["count"] is None
    assert document["decided_by"] == "formula"
    code, said, _ = command("replay", "record.json", "--pair", "0", "--trust", cwd=tmp_path)
    assert code == 0
    assert "first core:" in said


def test_the_example_of_the_docs_is_audited_so(tmp_path: Path, command: Any) -> None:
    text = (Path(__file__).parents[2] / "docs" / "last-step.md").read_text()
    composed, declared = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "example.py").write_text(composed.partition("rounded_mean = auditor.composed(")[0] + declared)
    code, said, _ = command("check", "example.py:rounded_mean", "--rho", "0.15", "--verbose", cwd=tmp_path)
    assert code == 0, said
    assert "over r, by the mismatch that is declared" in said


# All ways to be wrong, together


def fed(leaf: IntegratedPairs, index: int, m: float, apart: int) -> bool:
    return leaf.add(Trial(index, None, None, 0.0, payload=msgspec.to_builtins(CorePair(m, apart))))


def test_a_tenth_of_a_fails_error_is_for_the_finding() -> None:
    for delta, ways in ((None, 1), (0.1, 2)):
        for family in (1, 4):
            plan = replace(make_plan(target=0.1, delta=delta), integrates=True, family=family)
            assert family * (ways * plan.gate.alpha_fail + plan.gate.alpha_kept) == pytest.approx(0.05)
            assert family * plan.gate.alpha_kept == pytest.approx(0.005)
            assert plan.gate.alpha_pass == 0.05
            assert replace(plan, integrates=False).gate.alpha_kept == 0


def test_at_the_target_each_verdict_is_wrong_no_more_often_than_is_said() -> None:
    """m is 0, 0.05 or 0.75 with a mean of the target; 100 paths of 60 pairs at alpha = 0.2.

    Wrong passes, and wrong fails with wrong findings, have at most 0.2 of the paths each, and findings 0.02: to see
    more than the limits below has a probability of at most 2e-6 in all.
    """
    atoms, masses = (0.0, 0.05, 0.75), (0.3, 0.5, 0.2)
    target = float(np.dot(atoms, masses))
    cell = cell_of(finished.rounded, rho=target)
    plan = replace(make_plan(target=target, confidence=0.8, pairs=60), integrates=True)
    rng, count = from_key(root_key(5)), {"pass": 0, "fail": 0, "formula": 0}
    chances = rng.choice(atoms, p=masses, size=(100, 60))
    differing = rng.binomial(FINISHES, chances)
    for path in range(100):
        leaf = IntegratedPairs(cell, plan)
        for index in range(60):
            if fed(leaf, index, float(chances[path, index]), int(differing[path, index])):
                found = leaf.verdict()
                count["formula" if found.decided_by == "formula" else found.outcome] += 1
                break
    most = {alpha: int(binom.isf(5e-7, 100, alpha)) for alpha in (0.2, 0.02)}
    print(f"{count} of 100 paths, at most {most}")
    assert 0 < count["pass"] <= most[0.2]
    assert 0 < count["fail"] + count["formula"] <= most[0.2]
    assert count["formula"] <= most[0.02]


def test_options_that_do_not_fit_have_a_sentence() -> None:
    with pytest.raises(UsageError, match="no-integrate"):
        audit(finished.rounded, eta=0.1, nu=0.5, no_integrate=True)
