"""Several cells: the worst of sources and inputs, with its errors exactly; private randomness, shared and not."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.stats import binom
from support.requests import audit, bench_of, inquiry_of, served, told

import auditor
from algorithms.controls import first_bit, mixed
from algorithms.known_answers import good_and_bad, is_square, nonresidue, nu_of, own_coin, private_rho, search_rho
from auditor.cli.command_line import run
from auditor.errors import BadValue, UsageError
from auditor.flow.question import Work, drive
from auditor.flow.record import read_record, to_json
from auditor.flow.verdict import Bound, Tally
from auditor.questions.cell_inquiries import EveryCell, UnsharedAndShared
from auditor.questions.pairs import PairsInquiry
from auditor.report.formats.markdown import markdown
from auditor.report.terminal import as_text
from auditor.statistics.digits import at_most, between
from auditor.statistics.gate import Gate, fail_boundary
from auditor.statistics.interval import BOUNDS, two_sided
from auditor.statistics.nu import NuGate
from auditor.subjects.inputs import make_inputs, read_inputs
from auditor.subjects.subject import load_subject
from auditor.trials.trial import Trial
from auditor.values import Difference

DIFFERENT = Difference("output", "0", "1")
Outcome = tuple[bool, bool | None]  # whether a pair differs, and whether its first run is accurate


def bernoulli(p: float) -> Any:
    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        return (rng.random(size) < p).astype(int)

    return draw


def settled(names: Sequence[str], delta: float | None = None, **options: Any) -> EveryCell:
    """The inquiry into an input for each name, of which nothing has been run."""
    every = inquiry_of(mixed, bernoulli(0.5), inputs={"q": list(range(len(names)))}, **options)
    assert isinstance(every, EveryCell)
    leaves = [named(leaf, name, delta) for leaf, name in zip(every.leaves, names, strict=True)]
    return EveryCell(leaves)


def named(leaf: Any, name: str, delta: float | None = None) -> PairsInquiry:
    return PairsInquiry(replace(leaf.cell, name=name), replace(leaf.plan, delta=delta))


def finish(every: EveryCell, outcome: Callable[[int, int], Outcome]) -> None:
    """All work that is handed out, each piece until it is over; `outcome` says what pair `index` of a cell shows."""
    told(every, lambda cell, index: trial(index, *outcome(cell, index)))


def trial(index: int, differs: bool, accurate: bool | None = None) -> Trial:
    return Trial(index, DIFFERENT if differs else None, accurate, 0.0)


def pairs_of(every: EveryCell) -> list[int]:
    return [row.pairs for row in every.answer().rows]


def walk(settled_: EveryCell, rhos: Sequence[float], rng: np.random.Generator) -> EveryCell:
    every = EveryCell([named(leaf, leaf.cell.name) for leaf in settled_.leaves])
    alike_or_not = trial(0, differs=False), trial(0, differs=True)

    def serve(work: Sequence[Work]) -> list[Iterator[Trial]]:
        drawn = ((rng.random(len(one.wanted)) < rhos[one.cell]).tolist() for one in work)
        return [(alike_or_not[differs] for differs in some) for some in drawn]

    drive(every.steps(), serve)
    return every


def mean_alone(gate: Gate, rho: float, pairs: int) -> float:
    """The expected number of pairs of one cell by itself, whoever else is given some in between: exact."""
    passes, fails = (np.array([boundary[k] for k in range(400)]) for boundary in (gate.passes, gate.fails))
    alive, mean = np.eye(1, 400)[0], 0.0
    for n in range(1, pairs + 1):
        mean += alive.sum()
        alive[1:] = alive[1:] * (1 - rho) + alive[:-1] * rho
        alive[0] *= 1 - rho
        alive[(n >= passes) | (n <= fails)] = 0.0
    return mean


def test_one_bad_cell_in_twenty_is_found_with_few_pairs() -> None:
    """One at twice the target, the others at a quarter. It took 739 pairs one at a time; blocks may cost 5 % more.
    How many the bad one has of itself is known: 8/5 of what it has by chance is taken off, which leaves the mean as it
    is and, of 240 walks, a standard error of 17; over 2,400 of them the mean was 701, so that a true mean of that
    exceeds the bound with probability 1e-5."""
    rng, walks, cells = np.random.default_rng(0), 240, settled(["cell"] * 20, rho=0.05, pairs=2000)
    ended = [walk(cells, [0.1] + [0.0125] * 19, rng) for _ in range(walks)]
    alone = np.array([every.leaves[0].tally.pairs for every in ended])
    by_chance = alone - mean_alone(cells.leaves[0].plan.gate, 0.1, 2000)
    pairs = np.array([sum(leaf.tally.pairs for leaf in every.leaves) for every in ended]) - 1.6 * by_chance
    found = sum(every.states[0] == "fail" for every in ended)
    error = pairs.std() / math.sqrt(walks)
    print(f"{pairs.mean():.0f} pairs on average, standard error {error:.0f}, bound 776; found in {found} of {walks}")
    assert error < 20
    assert pairs.mean() <= 1.05 * 739
    assert found >= binom.isf(1 - 1e-6, walks, 0.95)


def ever_fails(rho: float, target: float, alpha: float, pairs: int) -> float:
    """The probability that one cell, given so many pairs, is ever at or beyond the boundary of a fail: exact."""
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
def test_cells_that_are_all_at_the_target_fail_at_most_alpha_of_the_time(target: float) -> None:
    """Exact for one cell, whatever pairs it is given; the union over cells holds for any allocation."""
    each = ever_fails(target, target, 0.05 / 20, int(100 / target))
    print(f"target {target}: one cell fails with probability {each:.5f}, twenty with at most {20 * each:.4f} of 0.05")
    assert 0 < 20 * each <= 0.05
    gates = [leaf.plan.gate for leaf in settled(["cell"] * 20, rho=target).leaves]
    assert {gate.alpha_fail for gate in gates} == {0.05 / 20}, "and that is the boundary of each"
    assert {gate.alpha_pass for gate in gates} == {0.05}


def test_a_pass_takes_every_cell_and_no_more_than_each_alone() -> None:
    every = settled([f"cell {i}" for i in range(5)], rho=0.05, pairs=2000)
    finish(every, lambda cell, index: (False, None))
    assert (pairs_of(every), set(every.states)) == ([68] * 5, {"pass"})
    assert every.plan.least_trials == 5 * 68
    verdict = every.verdict()
    assert (verdict.outcome, verdict.error_spent) == ("pass", 0.05)
    assert verdict.bound == Bound("upper", 0.05, 0.95)
    assert verdict.reason == (
        "rho is at most 0.05 with each of 5 inputs (95 % confidence), the target; no two runs differed in any of 340 "
        "pairs"
    )


def test_a_fail_names_its_cell_at_its_share_of_alpha() -> None:
    every = settled(["a", "b", "c", "d"], rho=0.1, pairs=100)
    handed: list[Work] = []

    def serve(work: Sequence[Work]) -> list[Iterator[Trial]]:
        handed.extend(work)
        return [served(one, lambda cell, index: trial(index, cell == 2 and (index == 0 or index >= 8))) for one in work]

    drive(every.steps(), serve)
    first, later = handed[:4], handed[4:]
    assert [one.cell for one in first] == [0, 1, 2, 3], "each has some pairs before any is preferred"
    assert {one.wanted for one in first} == {range(8)}
    assert {one.cell for one in later} == {2}, "the one that looks worst is next"
    boundary, pairs = fail_boundary(0.1, 0.05 / 4, 100), every.leaves[2].tally.pairs
    assert pairs == next(n for n in range(9, 100) if boundary[n - 7] >= n)
    assert every.states == ["inconclusive", "inconclusive", "fail", "inconclusive"]
    assert every.verdict().reason.startswith(
        "With c, two runs differed in 6 of 13 pairs: rho is about 0.462, and above 0.1, the target (95 % conf"
    )


def test_a_block_that_decides_is_over_at_once() -> None:
    """The first block, too: pairs that all differ fail where the boundary is, and not where the block ends."""
    every = settled(["a", "b", "c", "d"], rho=0.1, pairs=100)
    finish(every, lambda cell, index: (cell == 2, None))
    boundary = fail_boundary(0.1, 0.05 / 4, 100)
    assert every.leaves[2].tally.pairs == next(k for k in range(10) if boundary[k] >= k)
    assert every.verdict().reason.startswith("With c, ")


def test_an_undecided_cell_is_named() -> None:
    every = settled(["zero", "near"], rho=0.05, pairs=80)
    finish(every, lambda cell, index: (bool(cell) and (index + 1) % 20 == 0, None))
    assert every.states == ["pass", "inconclusive"]
    verdict = every.verdict()
    assert verdict.outcome == "inconclusive"
    assert "1 of 2 inputs are undecided" in verdict.reason
    assert "near" in verdict.reason


def test_a_fixed_design_gives_every_cell_its_pairs_and_judges_once() -> None:
    every = settled(["a", "b"], rho=0.1, fixed=60)
    finish(every, lambda cell, index: (bool(cell) and index < 20, None))
    assert pairs_of(every) == [60, 60]
    assert every.states == ["pass", "fail"]


def test_inaccuracy_fails_a_cell_too() -> None:
    every = settled(["a", "b"], delta=0.05, rho=0.1, pairs=100)
    finish(every, lambda cell, index: (False, not cell))
    verdict = every.verdict()
    assert (verdict.outcome, verdict.decided_by) == ("fail", "accuracy")
    assert "With b, " in verdict.reason


def test_what_is_handed_out_depends_on_the_counts_alone() -> None:
    """The same outcomes give the same work, whose indices go on where the cell's last ended."""
    handed: list[list[Any]] = []
    for _ in range(2):
        every, rng = settled(["a", "b", "c"], rho=0.1, pairs=200), np.random.default_rng(5)
        seen = rng.random((3, 200)) < [[0.02], [0.15], [0.05]]
        handed.append([])

        def serve(work: Sequence[Work], every: EveryCell = every, seen: Any = seen) -> list[Iterator[Trial]]:
            handed[-1] += work
            assert all(one.wanted.start == every.leaves[one.cell].tally.pairs for one in work)
            return [served(one, lambda cell, index: trial(index, bool(seen[cell, index]))) for one in work]

        drive(every.steps(), serve)
        assert sum(pairs_of(every)) == every.outlook().done
    assert handed[0] == handed[1]


def test_the_worst_of_several_sources_counts(tmp_path: Path) -> None:
    record = audit(first_bit, [bernoulli(0.0), bernoulli(0.3), bernoulli(0.01)], rho=0.1)
    assert (record.verdict, record.decided_by, record.question) == ("fail", "mismatches", "rho")
    assert [cell.verdict for cell in record.cells].count("fail") == 1
    assert record.cells[1].verdict == "fail"
    truths = [0.0, 2 * 0.3 * 0.7, 2 * 0.01 * 0.99]
    assert all(cell.low <= rho <= cell.high for cell, rho in zip(record.cells, truths, strict=True))
    assert record.rho.low <= max(truths) <= record.rho.high
    assert (record.measures[0].name, record.measures[0].count) == ("rho", None)
    assert (record.measures[0].low, record.measures[0].high) == (record.rho.low, record.rho.high)
    assert record.pairs == sum(cell.pairs for cell in record.cells)
    (tmp_path / "record.json").write_bytes(to_json(record))
    assert to_json(read_record(tmp_path / "record.json")) == to_json(record)
    assert "rho for each source" in as_text(record, verbose=True)
    assert "| verdict | mismatches | pairs |" in markdown([record], 0.95)


def test_every_input_must_pass() -> None:
    source = bernoulli(0.5)
    passed = audit(mixed, source, inputs={"q": [0.0, 0.001]}, rho=0.2)
    assert (passed.verdict, passed.params) == ("pass", {})
    assert [cell.name for cell in passed.cells] == ["q=0.0", "q=0.001"]
    assert audit(mixed, source, inputs={"q": [0.0, 1.0]}, rho=0.2).verdict == "fail"
    fixed = audit(mixed, source, inputs={"q": [0.0, 0.0]}, rho=0.2, fixed=40)
    assert (fixed.verdict, fixed.pairs, fixed.budget) == ("pass", 80, 80)


def test_a_replay_leads_to_the_cell_that_differed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = tmp_path / "record.json"
    sources = ["--source", "bernoulli(0.01)", "--source", "bernoulli(0.4)"]
    assert run(["check", "first_bit", *sources, "--rho", "0.1", "--json", str(document)]) == 1
    cells = json.loads(document.read_text())["cells"]
    assert "--source 'bernoulli(0.4)'" in cells[1]["replay"]
    capsys.readouterr()
    assert run(shlex.split(cells[1]["replay"])[3:]) == 0
    assert "DIFFERENT" in capsys.readouterr().out
    assert run(["check", "first_bit", *sources, "--replay", "0", "--cell", "1"]) == 0
    assert run(["check", "first_bit", *sources, "--replay", "0"]) == 2
    assert run(["replay", str(document), "--pair", "0"]) == 2
    assert "has 2 cells" in capsys.readouterr().err
    pair = shlex.split(cells[1]["replay"])[-1]
    assert run(["replay", str(document), "--pair", pair, "--cell", "1", "--trust"]) == 0
    assert "DIFFERENT" in capsys.readouterr().out


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
    command = json.loads(Path("record.json").read_text())["cells"][1]["replay"]
    assert "--cell 1" in command
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
        (["--inputs", "q=[0.1]", "--cell", "0"], "--cell 0 goes with --replay"),
        (["--cell", "0"], "--cell 0 goes with"),
        (["--inputs", "q=[0.1, 0.2]", "--replay", "0"], "--replay 0 of which of 2 cells"),
        (["--inputs", "q=[0.1, 0.2]", "--replay", "0", "--cell", "2"], "--cell 2 must be from 0 to 1"),
        (["--inputs", "q=[0.1, 0.2]", "--measure", "churn"], "--measure churn"),
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
        audit(claims, inputs={"q": [0.1, 0.2]})


def test_a_cell_that_raises_is_named() -> None:
    def divides(sample: Any, r: Any, *, x: float) -> float:
        return 1 / x

    record = audit(divides, bernoulli(0.5), size=1, inputs=[1.0, 0.0])
    assert (record.verdict, record.decided_by) == ("error", "error")
    assert "with x=0.0" in record.reason
    assert any("ZeroDivisionError" in finding.message for finding in record.findings)


# Every leaf: what fails, and what a run breaks, for the worst of several.


def moved(sample: Any, r: Any, *, by: float) -> Any:
    return Cut(float(np.mean(sample)) * by)


class Cut:
    def __init__(self, at: float) -> None:
        self.at = at

    def predict(self, x: Any) -> Any:
        return x[:, 0] > self.at


def uniform(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def test_churn_is_asked_of_every_input() -> None:
    options: dict[str, Any] = {"size": 3, "view": "predict", "measure": "churn", "rho": 0.1, "probe": 200}
    failed = audit(moved, uniform, inputs={"by": [0.0, 1.0]}, **options)
    assert (failed.verdict, failed.decided_by, failed.question) == ("fail", "churn", "churn")
    assert failed.reason.startswith("With by=1.0, two fits disagree on about 15.1 % of the predictions, over ")
    passed = audit(moved, uniform, inputs={"by": [0.0, 0.001]}, **options)
    assert passed.verdict == "pass"
    assert "The mean churn is at most" in passed.reason
    assert "with each of 2 inputs" in passed.reason


def remembers(sample: Any, r: Any, *, q: float) -> frozenset[float]:
    return frozenset(sample.tolist()) if q else frozenset()


def is_missed(output: frozenset[float], rows: Any) -> Any:
    return np.array([float(row) not in output for row in rows], dtype=float)


def test_a_loss_is_asked_of_every_input() -> None:
    """A view that hides every mismatch: only the lemma is left to tell, and it tells of the input that remembers."""
    hidden: dict[str, Any] = {"size": 30, "rho": 0.1, "loss": is_missed, "view": lambda output: 0}
    failed = audit(remembers, uniform, inputs={"q": [0.0, 1.0]}, **hidden)
    assert (failed.verdict, failed.decided_by, failed.question) == ("fail", "accuracy", "loss")
    assert failed.reason.startswith("With q=1.0, ")
    assert "so rho is above 0.1" in failed.reason
    assert audit(remembers, uniform, inputs={"q": [0.0, 0.0]}, **hidden).verdict == "pass"


def audit_nu(bad: list[float], **options: Any) -> Any:
    return audit(good_and_bad, uniform, inputs={"bad": bad}, **{"eta": 0.1, "nu": 0.1, **options})


def test_a_pass_of_nu_takes_of_each_cell_what_it_takes_alone() -> None:
    alone = NuGate(0.1, 0.1, 20, alpha_pass=0.05, alpha_fail=0.05).least_strings(20)
    assert alone is not None
    record = audit_nu([0.0, 0.0, 0.0])
    assert (record.verdict, record.error_spent) == ("pass", 0.05)
    assert [cell.pairs for cell in record.cells] == [alone] * 3
    assert record.cost.runs == 3 * 20 * alone
    assert record.reason.startswith("Nu at eta 0.1 is at most 0.0983 with each of 3 inputs")
    assert all(cell.confidence == 0.95 and cell.high > 0.1 for cell in record.cells), "rows are simultaneous, so wider"


def test_a_fail_of_nu_names_its_cell_and_has_its_share() -> None:
    record = audit_nu([0.0, 0.5, 0.0])
    assert (record.verdict, record.decided_by) == ("fail", "strings")
    assert record.reason.startswith("With bad=0.5, too many values of r have no usual output")
    assert [cell.verdict for cell in record.cells] == ["inconclusive", "fail", "inconclusive"]
    assert record.bound.confidence == pytest.approx(1 - 0.05)
    gate = inquiry_of(good_and_bad, uniform, "nu", inputs={"bad": [0.0] * 3}, eta=0.1, nu=0.1).plan.nu_gate
    assert gate is not None
    assert (gate.alpha_pass, gate.alpha_fail) == (0.05, pytest.approx(0.05 / 3))
    assert record.cells[1].low <= nu_of(0.1, 0.5, 0.0) <= record.cells[1].high
    assert record.params == {}
    assert "Nu for each input" in as_text(record, verbose=True)
    assert "| verdict | beyond eta | values of r |" in markdown([record], 0.95)


def test_the_command_asks_nu_for_every_input_and_replays_a_string_of_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["check", "good_and_bad", "--inputs", "bad=[0.6]", "--eta", "0.1", "--nu", "0.1"]
    assert run([*words, "--json", str(tmp_path / "record.json"), "--svg", str(tmp_path / "nu.svg")]) == 1
    document = json.loads((tmp_path / "record.json").read_text())
    assert "--param bad=0.6" in document["cells"][0]["replay"]
    assert (tmp_path / "nu.svg").exists()
    string = document["answer"]["worst"]["string"]
    capsys.readouterr()
    assert run([*words[:4], "--replay", str(string), "--cell", "0", "--runs", "20"]) == 0
    assert f"string {string}: 2 outputs in 20 runs" in capsys.readouterr().out


def test_a_cell_of_nu_that_raises_is_what_the_record_tells() -> None:
    record = audit_nu([0.0, 2.0])
    assert (record.verdict, record.error_spent) == ("error", 0.0)
    assert record.reason.startswith("with bad=2.0:")


# What is said of several cells together.


def ended(every: EveryCell, counts: Sequence[tuple[int, ...]]) -> Any:
    """The answer after cells have counted so much: pairs, mismatches, and runs that were judged and failed."""
    for leaf, count in zip(every.leaves, counts, strict=True):
        leaf.tally = Tally(*count)  # type: ignore[attr-defined]
    every._done = [count[0] for count in counts]
    every.states = [leaf.outcome() for leaf in every.leaves]
    return every.answer()


def test_all_cells_are_accurate_only_if_each_is_shown_to_be() -> None:
    every = settled(["a", "b", "c"], delta=0.1, rho=0.2, fixed=200)
    shown, open_ = (200, 0, 200, 0), (200, 0, 200, 19)
    found = ended(every, [shown, open_, shown]).accuracy
    assert (found.certified, found.failures, found.runs, found.allowed) == (False, 19, 600, 0.1)
    assert (found.low, found.high) == two_sided("fixed", 200, 19, 1 - 0.05 / 3), "of the least accurate"
    assert found.confidence == 0.95
    assert ended(every, [shown, shown, shown]).accuracy.certified is True
    assert ended(settled(["a", "b"], rho=0.2, fixed=200), [(200, 0), (200, 0)]).accuracy is None


def test_the_largest_allowed_share_and_limit_of_any_cell_are_told() -> None:
    """Arms may declare other deltas and be judged as often as they ran."""
    leaves = settled(["a", "b"], rho=0.2, fixed=200).leaves
    every = EveryCell([named(leaf, leaf.cell.name, delta) for leaf, delta in zip(leaves, (0.1, 0.3), strict=True)])
    found = ended(every, [(200, 0, 200, 5), (200, 0, 10, 0)]).accuracy
    assert (found.allowed, found.failures, found.runs) == (0.3, 5, 210)
    limits = two_sided("anytime", 200, 5, 0.975), two_sided("fixed", 10, 0, 0.975)
    assert found.low == two_sided("fixed", 200, 5, 0.975)[0]
    assert found.high == limits[1][1] > limits[0][1], "few runs leave more room"


def test_where_the_largest_rho_is() -> None:
    """Above every cell's lower limit, and below the largest upper one: two cells may say either."""
    every = settled(["few", "many"], rho=0.5, pairs=1000)
    said = ended(every, [(12, 2), (600, 180)])
    few, many = two_sided("anytime", 12, 2, 0.975), two_sided("anytime", 600, 180, 0.975)
    assert few[0] < many[0] < many[1] < few[1]
    for found in (said.rho, said.measures[0]):
        assert (found.estimate, found.low, found.high, found.confidence) == (None, many[0], few[1], 0.95)
    assert [(row.low, row.high) for row in said.rows] == [few, many]
    assert (said.pairs, said.mismatches) == (612, 182)
    said = ended(every, [(3, 1), (600, 400)])
    assert every.states == ["inconclusive", "fail"]
    few, many = two_sided("anytime", 3, 1, 0.975), two_sided("anytime", 600, 400, 0.975)
    for found in (said.rho, said.measures[0]):
        assert (found.low, found.high) == (many[0], few[1]), "the one that failed need not be the largest"


def test_a_pass_states_the_largest_limit_of_its_cells() -> None:
    every = settled(["a", "b", "c"], rho=0.2, fixed=100)
    ended(every, [(100, 0), (100, 9), (100, 3)])
    verdict, limits = every.verdict(), [BOUNDS["fixed"][1](100, k, 0.05) for k in (0, 9, 3)]
    assert verdict.bound == Bound("upper", max(limits), 0.95)
    assert (verdict.outcome, verdict.error_spent, verdict.decided_by) == ("pass", 0.05, "mismatches")
    assert verdict.reason == (
        f"rho is at most {at_most(max(limits))} with each of 3 inputs (95 % confidence), within the target 0.2; "
        "the largest that was seen is 0.09, with b"
    )


def test_a_fail_has_the_error_of_all_cells() -> None:
    every = settled(["a", "b", "c"], delta=0.1, rho=0.2, fixed=100)
    said = ended(every, [(100, 0, 100, 0), (100, 9, 100, 0), (100, 60, 100, 0)])
    verdict = every.verdict()
    assert (verdict.outcome, verdict.error_spent) == ("fail", 0.05)
    assert verdict.bound == Bound("lower", BOUNDS["fixed"][0](100, 60, 0.05 / 3 / 2), 1 - 0.05 / 2)
    assert verdict.reason.startswith("With c, ")
    assert [row.verdict for row in said.rows] == ["pass", "pass", "fail"]


def test_cells_that_have_pairs_left_are_not_said_to_have_spent_them() -> None:
    every = settled(["spent", "stopped"], rho=0.2, pairs=100)
    ended(every, [(100, 20), (40, 8)])
    assert set(every.states) == {"inconclusive"}
    reason = every.verdict().reason
    assert "2 of 2 inputs are undecided after 140 pairs in all. The worst may be stopped, with 8 mismatches" in reason
    assert "--pairs" not in reason
    ended(every, [(100, 20), (100, 21)])
    low, high = two_sided("anytime", 100, 21, 0.975)
    assert every.verdict().reason == (
        "2 of 2 inputs are undecided after 100 pairs each. The worst may be stopped, with 21 mismatches in 100: "
        f"{between(low, high)} (95 % confidence, all inputs together). Use more --pairs and a new --seed, or a larger "
        "--rho"
    )


def test_the_first_mismatch_of_each_cell_is_shown_that_of_a_failed_one_first() -> None:
    every = settled([f"cell {i}" for i in range(3)], rho=0.2, fixed=40)
    finish(every, lambda cell, index: (index >= {0: 39, 1: 40, 2: 3}[cell], None))
    assert every.states == ["pass", "pass", "fail"]
    assert [(one.cell, one.index) for one in every.answer().examples] == [(2, 3), (0, 39)]


# Private randomness, shared and not; searches without a sample.

FALSE_ALARM = 1e-6  # of each comparison with an exact rho


def counted(fn: Any, pairs: int, source: Any = None, **options: Any) -> tuple[int, tuple[float, float]]:
    record = audit(fn, source, fixed=pairs, rho=0.1, **{"private": "unshared", **options})
    assert len(record.cells) == 1
    assert record.mismatches is not None
    return record.mismatches, two_sided("fixed", pairs, record.mismatches, 1 - FALSE_ALARM)


@pytest.mark.parametrize(("private", "q_counts"), [("unshared", 1.0), ("shared", 0.0)])
def test_private_randomness_counts_where_it_is_not_shared(private: str, q_counts: float) -> None:
    truth = private_rho(0.3, 0.2) - (1 - q_counts) * 0.3 / 2
    k, (low, high) = counted(own_coin, 3000, lambda rng, n: rng.random(n), params={"q": 0.3, "p": 0.2}, private=private)
    print(f"{private}: {k} mismatches in 3000 pairs, exact rho {truth:.4f}, between {low:.4f} and {high:.4f}")
    assert low <= truth <= high


def test_what_no_ledger_would_continue_is_not_offered() -> None:
    asked = {"rho": 0.17, "pairs": 25, "confidence": 0.9, "params": {"q": 0.3}}
    for private in ("both", "unshared"):
        record = audit(own_coin, "uniform", private=private, **asked)
        assert (record.verdict, "with a new --seed" in record.reason) == ("inconclusive", True)
        assert ("--resume" in record.reason) == (private != "both")


def test_sides_stand_beside_each_other_and_unshared_decides() -> None:
    """Without a word on private randomness, and where both are asked for: the same."""
    for asked in ({}, {"private": "both"}):
        params = {"q": 0.9, "p": 0.0}
        record = audit(own_coin, lambda rng, n: rng.random(n), rho=0.1, params=params, **asked)
        assert (record.verdict, record.cells[0].variant, record.error_spent) == ("fail", "unshared", 0.05)
        assert [(row.variant, row.verdict) for row in record.cells] == [("unshared", "fail"), ("shared", "pass")]
        assert record.confidence == pytest.approx(0.975)
        assert record.cells[0].confidence == 0.95
        assert (record.pairs, record.mismatches) == (record.cells[0].pairs, record.cells[0].mismatches)
        (finding,) = [found for found in record.findings if found.kind == "private"]
        assert finding.severity == "info"
        assert "more reproducible" in finding.message
        assert "private unshared" in as_text(record, verbose=True)


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
    told(both, lambda cell, index: trial(index, (unshared, shared)[cell]))
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


def test_private_randomness_is_what_its_annotation_asks_for_and_a_default_makes_it_a_parameter() -> None:
    def whole(sample: Any, r: Any, private: int) -> int:
        return private

    def flag(sample: Any, r: Any, *, private: bool = False) -> bool:
        return private

    assert load_subject(whole).private == "int"
    assert load_subject(flag).private is None
    assert audit(flag, uniform, size=1).verdict == "pass"
    with pytest.raises(UsageError, match="has no parameter private"):
        inquiry_of(flag, uniform, size=1, private="shared")
    with pytest.raises(BadValue, match="must be both, shared or unshared"):
        inquiry_of(whole, uniform, size=1, private="sometimes")


@pytest.mark.parametrize(("x", "tries"), [(11, 5), pytest.param(101, 60, marks=pytest.mark.nightly), (251, 300)])
def test_a_search_without_a_sample_has_its_exact_rho(x: int, tries: int) -> None:
    truth, pairs = search_rho(x, tries), 1500
    k, (low, high) = counted(nonresidue, pairs, params={"x": x, "tries": tries})
    print(f"x={x}: {k} mismatches in {pairs} pairs, exact rho {truth:.4f}, between {low:.4f} and {high:.4f}")
    assert low <= truth <= high
    outputs = {bench_of(nonresidue, params={"x": x}).run(i, 0) for i in range(3)}
    assert all(u is not None and not is_square(u, x) for u in outputs)


def test_a_search_is_pseudodeterministic_on_every_input_or_fails_on_the_worst() -> None:
    assert audit(nonresidue, inputs=[11, 53, 101]).verdict == "pass"
    failed = audit(nonresidue, inputs=[11, 2003], params={"tries": 300})
    assert failed.verdict == "fail"
    assert "With x=2003, " in failed.reason


def test_a_search_that_draws_from_r_alone_is_told_that_nothing_is_fresh() -> None:
    def from_r(sample: Any, r: np.random.Generator) -> float:
        assert len(sample) == 0
        return float(r.random())

    record = audit(from_r, size=0)
    assert (record.verdict, record.source, record.size) == ("pass", "nothing", 0)
    assert "nothing-fresh" in [finding.kind for finding in record.findings]
    assert not [found for found in audit(nonresidue).findings if found.kind == "nothing-fresh"]


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
