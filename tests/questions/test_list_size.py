"""Audits of a list: the two counts, exact errors of the gate on small laws, the record, the replay, the refusals."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy.stats import binom
from support import requests
from support.requests import bench_of, inquiry_of

import auditor
from algorithms.controls import first_bit
from auditor.cli.command_line import run
from auditor.errors import BadValue, UsageError
from auditor.flow.ledger import read_history
from auditor.flow.record import read_record
from auditor.questions.list_size.answer import _beside
from auditor.questions.list_size.inquiry import Runs
from auditor.questions.list_size.misses import Misses, runs_to_name
from auditor.report.history import counts_of
from auditor.report.terminal import as_text
from auditor.statistics.digits import at_least
from auditor.statistics.gate import Gate
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper
from auditor.subjects.subject import load_subject
from auditor.trials.trial import Trial

VALUES = "pmf([0.5, 0.3, 0.12, 0.05, 0.03])"


def first_row(sample: Any, r: np.random.Generator) -> int:
    """Whatever the source is, so is the output."""
    return int(sample[0])


def audit(source: str = VALUES, **options: Any) -> auditor.Record:
    return requests.ask("list_size", first_row, source, **{"size": 1, "list_size": 3, "eta": 0.1, **options})


@example(list("adcaca"), 2, 0)  # the first of the rarest is seen again, and not the last
@given(st.lists(st.sampled_from("abcdefg"), max_size=60), st.integers(1, 5), st.integers(0, 9))
def test_both_counts_are_what_they_say(outputs: list[str], length: int, named: int) -> None:
    """Held against lists that are sorted anew for every run."""
    seen, missed = Misses(length, named), 0
    for i, output in enumerate(outputs):
        before = dict(seen.listed)
        counts = Counter(outputs[:i])
        assert sum(counts[one] for one in before) == sum(count for _, count in counts.most_common(length))
        missed += i >= named and output not in before
        off = seen.add(output)
        assert {off} - {None} == {*before, output} - {*seen.listed}
    counts = Counter(outputs)
    assert seen.before == missed
    assert seen.after == len(outputs) - sum(count for _, count in counts.most_common(length))
    assert seen.after <= seen.before + min(named, len(outputs)), "hindsight misses no more"
    assert [seen.counts[name] for name in seen.ranked()] == sorted((counts[name] for name in seen.listed), reverse=True)


@cache
def stepped(counts: tuple[int, ...], listed: tuple[str, ...], length: int, value: int) -> tuple[Any, ...]:
    """What one more run makes of counts and list, and whether it was outside before and after."""
    named = {str(i): count for i, count in enumerate(counts)}
    seen = Misses(length, 0, named, dict.fromkeys(listed), sum(counts))
    seen.add(str(value))
    return tuple(seen.counts.values()), tuple(seen.listed), seen.before, seen.after


State = tuple[tuple[int, ...], tuple[str, ...], int, int]  # counts, the list, misses before and after


def walked(law: Sequence[float], length: int, named: int, n: int) -> Iterator[tuple[int, dict[State, float]]]:
    """The exact law of the two counts after each run: dynamic programming over all that they depend on. Whoever takes
    states out of what is handed out has ended them."""
    alive: dict[State, float] = {((0,) * len(law), (), 0, 0): 1.0}
    for runs in range(n):
        then: dict[State, float] = {}
        for (counts, listed, before, after), chance in alive.items():
            for value, mass in enumerate(law):
                more, now, was_outside, is_outside = stepped(counts, listed, length, value)
                state = (more, now, before + (runs >= named and was_outside), after + is_outside)
                then[state] = then.get(state, 0.0) + chance * mass
        alive = then
        yield runs + 1, alive


def ended(walk: Iterator[tuple[int, dict[State, float]]], ends: Callable[[int, int, int], bool]) -> float:
    """How likely it is that, after any run, its number and the two counts are as they should not be."""
    total = 0.0
    for runs, alive in walk:
        for state in [state for state in alive if ends(runs, *state[2:])]:
            total += alive.pop(state)
    return total


def coin_ends(p: float, n: int, ends: Callable[[int, int], bool]) -> float:
    """The same of a coin, whose misses are one count."""
    alive, total = {0: 1.0}, 0.0
    for runs in range(1, n + 1):
        then = Counter[int]()
        for k, chance in alive.items():
            then[k] += chance * (1 - p)  # type: ignore[assignment]
            then[k + 1] += chance * p  # type: ignore[assignment]
        alive = {k: chance for k, chance in then.items() if not ends(runs, k)}
        total += sum(chance for k, chance in then.items() if k not in alive)
    return total


# The rest in two values, in one, nearly tied with the first; a list of two; and all tied, where a list is hard to find
LAWS = [
    ((0.8, 0.1, 0.1), 1, 24),
    ((0.6, 0.4), 1, 24),
    ((0.6, 0.2, 0.2), 1, 24),
    ((0.6, 0.39, 0.01), 1, 24),
    ((0.34, 0.33, 0.33), 1, 20),
    ((0.4, 0.3, 0.3), 2, 20),
    ((0.26, 0.25, 0.25, 0.24), 2, 12),
]


@pytest.mark.parametrize(("law", "length", "n"), LAWS)
@pytest.mark.parametrize("named", [0, 3])
def test_both_verdicts_err_no_more_than_with_coins(law: tuple[float, ...], length: int, n: int, named: int) -> None:
    """Exact, at q = eta, where both are just about wrong: the gate is calibrated to coins of eta."""
    alpha, q = 0.1, 1 - math.fsum(sorted(law)[-length:])
    gate = Gate(q, alpha, budget=n)
    passed = ended(walked(law, length, named, n), lambda runs, x, k: runs > named and gate.is_pass(runs - named, x))
    failed = ended(walked(law, length, named, n), lambda runs, x, k: gate.is_fail(runs, k))
    as_coins = coin_ends(q, n - named, gate.is_pass), coin_ends(q, n, gate.is_fail)
    print(f"{law} L={length} eta={q:.3g}: passes {passed:.4f}, fails {failed:.4f}; coins {as_coins}")
    assert passed <= as_coins[0] + 1e-12
    assert failed <= as_coins[1] + 1e-12
    assert max(as_coins) <= alpha
    if law[0] == 0.8:
        assert failed > 0.02
        assert passed > 0.02 or not named, "which then counts a miss before any list is there"


@cache
def limit(side: str, design: str, n: int, k: int, alpha: float) -> float:
    """As `Misses` has it, which is asked for the same numbers again and again."""
    seen = Misses(1, 0, runs=n, before=k, after=k)
    return seen.lower(design, alpha) if side == "lower" else seen.upper(design, alpha)


@pytest.mark.parametrize(("law", "length"), [((0.5, 0.3, 0.2), 1), ((0.34, 0.33, 0.33), 1), ((0.4, 0.3, 0.2, 0.1), 2)])
@pytest.mark.parametrize("named", [0, 4])
def test_limits_miss_q_as_seldom_as_they_say(law: tuple[float, ...], length: int, named: int) -> None:
    """Exact: Clopper-Pearson's at a fixed n, the sequence's at every n up to it at once; each side at its own alpha."""
    n, alpha, q = 14, 0.2, 1 - math.fsum(sorted(law)[-length:])

    def above(design: str, runs: int, x: int, k: int) -> bool:
        return limit("lower", design, runs, k, alpha) > q + 1e-12

    def below(design: str, runs: int, x: int, k: int) -> bool:
        counted = max(0, runs - named)
        return counted > 0 and limit("upper", design, counted, x, alpha) < q - 1e-12

    sides, (*_, (_, last)) = (above, below), walked(law, length, named, n)
    missed = {
        "fixed": [math.fsum(c for (*_, x, k), c in last.items() if side("fixed", n, x, k)) for side in sides],
        "anytime": [ended(walked(law, length, named, n), partial(side, "anytime")) for side in sides],
    }
    print(f"{law} L={length} named={named}: {missed}")
    assert max(*missed["fixed"], *missed["anytime"]) <= alpha
    assert sum(missed["fixed"]) > 0


def test_of_two_values_hindsight_misses_the_rarer() -> None:
    *_, (_, law) = walked((0.97, 0.03), 1, 5, 20)
    after = {k: math.fsum(chance for (*_, found), chance in law.items() if found == k) for k in range(4)}
    for k, chance in after.items():
        assert chance == pytest.approx(binom.pmf(k, 20, 0.03) + binom.pmf(20 - k, 20, 0.03))


def test_the_first_runs_cost_least() -> None:
    assert [runs_to_name(length, 0.1) for length in (1, 2, 3, 10)] == [4, 7, 10, 33]
    assert runs_to_name(3, 0.9) == 4


@pytest.mark.parametrize(
    ("length", "eta", "verdict"), [(3, 0.2, "pass"), (2, 0.1, "fail"), (1, 0.1, "fail"), (9, 0.1, "pass")]
)
def test_the_gate_says_what_is_so(length: int, eta: float, verdict: str) -> None:
    """Seeds are fixed, so this is no matter of chance; each verdict is right with probability 0.95 at least."""
    record = audit(list_size=length, eta=eta)
    truth = math.fsum([0.5, 0.3, 0.12, 0.05, 0.03][length:])
    assert (record.verdict, record.question, record.unit, record.decided_by) == (verdict, "list_size", "runs", "list")
    (own,) = record.measures
    assert own.low <= truth <= own.high
    assert (own.name, own.of, record.cells[0].pairs) == ("outside", record.answer.runs, record.cost.runs)
    assert own.count == record.cells[0].mismatches == record.answer.outside
    assert record.bound is not None
    assert (record.bound.side, record.bound.value) == ("upper" if verdict == "pass" else "lower", eta)
    assert (record.target, record.rho, record.pairs, record.exit_code) == (eta, None, None, int(verdict == "fail"))
    assert record.answer.named == runs_to_name(length, eta)
    assert sum(one.runs for one in record.answer.outputs) == record.answer.runs - record.answer.outside


def test_the_interval_at_a_millionth_holds_the_truth() -> None:
    """Wrong with probability 1e-6, over the source whose law is known; judged once."""
    record = audit(list_size=2, eta=0.1, fixed=3000, confidence=1 - 1e-6)
    assert record.measures[0].low <= 0.2 <= record.measures[0].high
    assert record.measures[0].high - record.measures[0].low < 0.09
    assert (record.verdict, record.design, record.measures[0].method) == ("fail", "fixed", "Clopper-Pearson")


def test_one_output_passes_after_the_first_runs_and_a_spotless_rest() -> None:
    record = requests.ask("list_size", "algorithms.controls:constant", list_size=1, eta=0.1)
    inquiry = inquiry_of("algorithms.controls:constant", question="list_size", list_size=1, eta=0.1)
    assert (record.verdict, record.answer.runs, record.answer.distinct) == ("pass", inquiry.plan.least_trials, 1)
    assert record.answer.other is None
    assert "; 1 distinct output in all" in " ".join(as_text(record, verbose=True).split())


def test_a_fail_before_a_list_is_named_speaks_of_no_later_runs() -> None:
    text = " ".join(as_text(audit("randint(0, 1000)", list_size=2, eta=0.05), verbose=True).split())
    assert "made of all runs: for a pass the first 8 only name it; " in text


def test_a_fixed_number_that_was_cut_short_is_bounded_as_if_looked_at_all_along() -> None:
    """Who interrupts may have looked: Clopper-Pearson's limits are for the number that was fixed."""
    inquiry = inquiry_of(first_row, VALUES, "list_size", size=1, list_size=1, eta=0.3, fixed=100)
    for index in range(50):
        inquiry.add(_trial(index, "ab"[index % 2]))
    assert inquiry.verdict().outcome == "inconclusive"
    least = at_least(limit("lower", "anytime", 50, 25, 0.05 / 2))
    assert f"is between {least} and " in inquiry.verdict().reason


@pytest.mark.parametrize(
    ("outputs", "eta", "outcome"),
    [
        ("a" * 100, clopper_pearson_upper(95, 0, 0.05), "pass"),
        ("a" * 60 + "b" * 40, clopper_pearson_lower(100, 40, 0.05), "inconclusive"),
    ],
)
def test_a_fixed_number_at_its_very_limit_passes_and_does_not_fail(outputs: str, eta: float, outcome: str) -> None:
    inquiry = inquiry_of(first_row, VALUES, "list_size", size=1, list_size=1, eta=eta, fixed=100)
    for index, output in enumerate(outputs):
        inquiry.add(_trial(index, output))
    assert (inquiry.verdict().outcome, inquiry.misses.counted) == (outcome, 100 - inquiry.plan.named)
    assert clopper_pearson_upper(inquiry.misses.counted, 0, 0.05) == eta or outcome != "pass"


def test_an_output_that_never_comes_back_fails_within_the_default_budget() -> None:
    for length, eta in ((1, 0.1), (20, 0.1), (5, 0.8), (1, 0.9)):
        inquiry = inquiry_of(first_row, VALUES, "list_size", size=1, list_size=length, eta=eta)
        assert isinstance(inquiry, Runs)
        at = next(i for i in range(inquiry.plan.budget) if inquiry.add(_trial(i, f"{i}")))
        assert (inquiry.verdict().outcome, at < inquiry.plan.budget) == ("fail", True)


@given(st.lists(st.sampled_from("aaaaaaaabbbcd"), min_size=1, max_size=150), st.integers(1, 3), st.booleans())
def test_an_audit_ends_where_a_count_meets_its_boundary(outputs: list[str], length: int, fixed: bool) -> None:
    """A pass by what the lists before missed, a fail by what that of all misses, and by nothing else."""
    options = {"fixed": len(outputs)} if fixed and len(outputs) > 40 else {}
    inquiry = inquiry_of(first_row, VALUES, "list_size", size=1, list_size=length, eta=0.3, **options)
    seen, gate, ended = Misses(length, runs_to_name(length, 0.3)), inquiry.plan.gate, "inconclusive"
    for index, output in enumerate(outputs):
        stops = inquiry.add(_trial(index, output))
        seen.add(output)
        if not options:
            fails = gate.is_fail(seen.runs, seen.after)
            passes = seen.counted > 0 and gate.is_pass(seen.counted, seen.before)
            ended = "fail" if fails else "pass" if passes else "inconclusive"
            assert stops == (ended != "inconclusive")
            if stops:
                break
    if options:
        fails = clopper_pearson_lower(seen.runs, seen.after, 0.05) > 0.3
        passes = clopper_pearson_upper(seen.counted, seen.before, 0.05) <= 0.3
        ended = "fail" if fails else "pass" if passes else "inconclusive"
    assert inquiry.verdict().outcome == ended
    assert inquiry.answer().rows[0].verdict == ended


def _trial(index: int, output: str, accurate: bool | None = None) -> Trial:
    return Trial(index, None, accurate, 0.0, payload={"output": output, "shown": f"<{output}>"})


def test_the_list_that_is_shown_is_the_one_of_all_runs() -> None:
    inquiry = inquiry_of(first_row, VALUES, "list_size", size=1, list_size=2, eta=0.2)
    for index, output in enumerate("abccdccdd"):
        inquiry.add(_trial(index, output))
    found: Any = inquiry.answer().fields
    assert [(one.output, one.runs) for one in found.outputs] == [("<c>", 4), ("<d>", 3)]
    assert (found.outside, found.distinct, found.other.output) == (2, 4, "<b>")
    assert inquiry.outlook().words.startswith("2 of 9 runs gave another output than the 2 most frequent outputs")


def test_a_trial_is_the_first_run_of_a_pair_and_replays(capsys: pytest.CaptureFixture[str]) -> None:
    record = requests.ask("list_size", "first_bit", "bernoulli(0.3)", size=1, list_size=1, eta=0.1, seed=3)
    other = record.answer.other
    bench = bench_of("first_bit", "bernoulli(0.3)", size=1, seed=3)
    assert str(bench.run(other.run, 0)) == other.output
    command = shlex.split(str(other.replay))
    assert command[:3] == ["python", "-m", "auditor"]
    assert run(command[3:]) == 0
    shown = capsys.readouterr().out
    assert f"RUN  {other.run}" in shown
    assert other.output in shown
    assert record.cells[0].replay == other.replay


SHIFTED = """
import numpy as np

def shifted(sample, r, *, x=0):
    return int(sample[0]) + int(np.sum(x))

def arrays(rng):
    yield np.array([40, 2])
"""


@pytest.mark.parametrize(("inputs", "words"), [("[42]", "--param x=42"), ("moved.py:arrays", "--cell 0")])
def test_a_replay_names_its_input(
    inputs: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its value, or by its place where no command line carries that."""
    (tmp_path / "moved.py").write_text(SHIFTED)
    monkeypatch.chdir(tmp_path)
    asked = {"size": 1, "list_size": 1, "eta": 0.1, "inputs": inputs}
    record = requests.ask("list_size", "moved.py:shifted", "bernoulli(0.0)", **asked)
    (found,) = record.answer.outputs
    assert (found.output, words in found.replay) == ("42", True)
    assert run(shlex.split(found.replay)[3:]) == 0
    assert "42" in capsys.readouterr().out.split()


def test_the_options_choose_it_in_python_and_at_the_shell(tmp_path: Path) -> None:
    record = requests.audit(first_bit, "bernoulli(0.5)", size=1, list_size=2, eta=0.1)
    assert (record.question, record.verdict) == ("list_size", "pass")
    words = ["check", "first_bit", "--list-size", "1", "--eta", "0.1", "--json", str(tmp_path / "r.json")]
    assert run(words) == 1
    assert read_record(tmp_path / "r.json").question == "list_size"
    assert requests.audit("good_and_bad", eta=0.3, nu=0.3).question == "nu"


def test_each_run_has_an_r_of_its_own() -> None:
    """A coin that r tosses is reproducible, and two outputs have half of the mass each."""
    assert requests.audit("coin_from_r").verdict == "pass"
    assert requests.audit("coin_from_r", list_size=1, eta=0.3).verdict == "fail"
    assert requests.audit("coin_from_r", list_size=2, eta=0.1).verdict == "pass"


def test_several_sources_are_judged_by_the_worst() -> None:
    sources = ["bernoulli(0.01)", "bernoulli(0.4)"]
    failed = requests.audit(first_bit, sources, size=1, list_size=1, eta=0.1)
    assert (failed.verdict, [cell.verdict for cell in failed.cells][1]) == ("fail", "fail")
    assert failed.reason.startswith("With bernoulli(0.4), ")
    passed = requests.audit(first_bit, sources, size=1, list_size=2, eta=0.1)
    assert passed.verdict == "pass"
    assert "none of 82 runs did" in passed.reason
    assert passed.pairs is None
    open_ = requests.audit(first_bit, ["bernoulli(0.1)", "bernoulli(0.01)"], size=1, list_size=1, eta=0.1, runs=60)
    assert "Use more --runs and a new --seed, or a larger --eta" in open_.reason


def test_inaccurate_beyond_what_is_declared_fails() -> None:
    def is_zero(output: int, *, source: Any, r: Any, params: Any) -> bool:
        return output == 0

    @auditor.subject(source="bernoulli(0.4)", size=1, delta=0.1, accuracy=is_zero)
    def coin(sample: Any, r: np.random.Generator) -> int:
        return int(sample[0])

    record = requests.audit(coin, list_size=2, eta=0.02)
    assert (record.verdict, record.decided_by) == ("fail", "accuracy")
    assert record.accuracy is not None
    assert record.accuracy.allowed == 0.1


def test_runs_without_an_output_are_one_output() -> None:
    def raises(sample: Any, r: np.random.Generator) -> int:
        if sample[0]:
            raise ValueError(f"{r.random()}")
        return 0

    bench = bench_of(raises, "bernoulli(0.4)", "list_size", size=1, list_size=2, eta=0.1)
    trials = [replace(bench, bottoms=True).trial(i) for i in range(20)]
    assert len({trial.payload["output"] for trial in trials}) == 2
    assert {trial.payload["shown"] for trial in trials} == {"0", "no output"}
    assert {len(trial.bottoms) for trial in trials} == {0, 1}
    assert requests.ask("list_size", raises, "bernoulli(0.4)", size=1, list_size=2, eta=0.1).exit_code == 4


def test_an_undecided_audit_goes_on_from_its_ledger(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"list_size": 3, "eta": 0.1, "ledger": tmp_path / "audits.sqlite"}
    first = audit(**asked, runs=80)
    assert first.verdict == "inconclusive"
    assert "--resume --runs 320" in first.reason
    more = audit(**asked, runs=3000, resume=True)
    assert (more.first_budget, more.answer.runs > 80) == (80, True)
    (past,) = read_history(str(asked["ledger"]), more.subject)
    assert counts_of(past) == (more.answer.runs, more.answer.outside)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"eta": 1e-12}, "--list-size 3 --eta 1e-12 would take more than 1e+12 runs"),
        (
            {"list_size": 10**6, "eta": 0.999999999},
            "--eta 0.999999999 would take more than 1e+12 runs",
        ),
        ({"atol": 0.1}, "that takes an equivalence"),
        ({"confidence": 0.4}, "must be above 0.5"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises((BadValue, UsageError)) as caught:
        audit(**options)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"list_size": 2, "eta": 0.1, "nu": 0.1}, "--list-size does not go with --nu"),
        ({"nu": 0.1, "list_size": 2}, "--nu does not go with --list-size"),
        ({"list_size": 2, "eta": 0.1, "pairs": 100}, "--pairs 100 does not go with --list-size: use --runs"),
        ({"list_size": 2, "eta": 0.1, "rho": 0.1}, "--rho 0.1 does not go with --list-size: use --eta"),
        ({"list_size": 2, "eta": 0.1, "measure": "churn"}, "--measure churn does not go with --list-size"),
        (
            {"list_size": 2, "eta": 0.1, "no_integrate": True},
            "--no-integrate does not go with --list-size: leave",
        ),
        ({"list_size": 2, "eta": 0.1, "strings": 9}, "--list-size does not go with --strings"),
        ({"eta": 0.1}, "--eta is half of a question: add e.g. --nu 0.1, or --list-size 3"),
        ({"runs": 9}, "--runs goes with --eta and --nu"),
    ],
)
def test_two_questions_at_once_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        requests.audit(first_bit, "bernoulli(0.5)", size=1, **options)
    assert words in str(caught.value)


def test_halves_of_a_data_set_are_refused(tmp_path: Path) -> None:
    rows = np.arange(20.0)
    with pytest.raises(UsageError, match="with --list-size use bootstrap"):
        requests.audit(first_row, rows, list_size=2, eta=0.1, resample="split")


def test_a_claim_about_a_list_is_what_audits_by_declarations_ask(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "algorithms.everyday.list_of_biases"]) == 0
    assert "2 of 2 as expected" in capsys.readouterr().out
    plain = requests.audit("list_of_biases")
    assert (plain.question, plain.verdict) == ("rho", "fail")
    assert [one.message for one in plain.findings if one.kind == "claim"] == [
        "what is claimed of it is not rho: check it with --list-size 3 --eta 0.1"
    ]
    asked = requests.audit("list_of_biases", **load_subject("list_of_biases", {"d": 2, "eta": 0.2}).asks)
    assert (asked.target, asked.verdict) == (0.2, "pass")
    assert [one.kind for one in asked.findings] == ["second-process"]


def test_counts_that_contradict_each_other_leave_all_that_is_between() -> None:
    """Thirty runs that are all different, and then one output only, which is as rare as one of the limits is wrong."""
    seen = Misses(1, 30)
    for output in [*map(str, range(30)), *["0"] * 60]:
        seen.add(output)
    assert (seen.before, seen.counted, seen.after) == (0, 60, 29)
    low, high = seen.lower("anytime", 0.025), seen.upper("anytime", 0.025)
    assert low > high
    assert seen.interval("anytime", 0.05) == (high, low)
    assert Misses(1, 30).interval("fixed", 0.05) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("bound", "low", "high", "words"),
    [
        (0.25, 0.125, 0.5, "wider than the verdict needs"),
        (0.25, 0.25, 0.5, "wider than the verdict needs"),
        (0.25, 0.125, 0.25, "apart from the verdict"),
        (0.25, 0.375, 0.5, "apart from the verdict"),
        (0.125, 0.125, 0.5, "apart from the verdict"),
        (None, 0.125, 0.5, ""),
    ],
)
def test_an_interval_that_contains_the_target_is_explained(
    bound: float | None, low: float, high: float, words: str
) -> None:
    limit = None if bound is None else SimpleNamespace(value=bound)
    record: Any = SimpleNamespace(measures=[SimpleNamespace(low=low, high=high)], target=0.25, bound=limit)
    found = _beside(record)
    assert words in found
    assert bool(words) == bool(found)
    assert ("wider" in words) == ("wider" in found)
