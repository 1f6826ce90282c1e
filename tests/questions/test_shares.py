"""Where a verdict's alpha is divided: the exact probability that it errs, with all its ways to err at once.

Each is computed at the edge of its null, from what the inquiry itself decides for every count. It is at most alpha,
which a share that is not divided exceeds, and above half of alpha, which a share that is divided twice cannot reach.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.stats import binom
from support.exact import lattice
from support.requests import bench_of, inquiry_of

import auditor
from algorithms.known_answers import own_coin
from auditor.flow.verdict import Plan, Tally
from auditor.questions.cell_inquiries import EveryCell, UnsharedAndShared
from auditor.questions.list_size.inquiry import Runs
from auditor.questions.list_size.misses import Misses
from auditor.questions.loss import FRESH, UNLUCKY, Loss
from auditor.questions.nu.gate import GroupGate, Inaccurate
from auditor.questions.pairs import PairsInquiry
from auditor.statistics.interval import BOUNDS, log_e_fail, log_e_pass, two_sided
from auditor.statistics.nu import RunGroups, bad_stays_below, good_reaches

ALPHA, TARGET, PAIRS = 0.05, 0.2, 400
CELLS_AND_AUDITS = [(1, 1), (3, 1), (1, 2), (3, 2)]


def rows(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def is_right(output: Any, *, source: Any, r: Any, params: Any) -> bool:
    return True


def plain(sample: Any, r: Any, *, q: int = 0) -> int:
    return 0


@auditor.subject(accuracy=is_right, delta=TARGET)
def judged(sample: Any, r: Any, *, q: int = 0) -> int:
    return 0


def no_loss(output: int, rows: Any) -> Any:
    return np.zeros(len(rows))


ASKED: dict[str, dict[str, Any]] = {
    "rho": {"subject": plain},
    "rho and accuracy": {"subject": judged},
    "loss": {"subject": plain, "question": "loss", "loss": no_loss, "delta": 0.1},
}


def leaves_of(asked: str, cells: int, family: int = 1, **options: Any) -> Sequence[PairsInquiry]:
    """The leaves of an inquiry into so many inputs, of which nothing has been run."""
    given = {"source": rows, "size": 1, "rho": TARGET, "family": family, "fixed": PAIRS, **ASKED[asked], **options}
    inquiry: Any = inquiry_of(**given, **({"inputs": {"q": [*range(cells)]}} if cells > 1 else {}))
    return inquiry.leaves if cells > 1 else [inquiry]


def outcomes(leaf: PairsInquiry, tallies: Sequence[Tally]) -> np.ndarray:
    """What the leaf says of each; its verdict in words must say the same."""
    found = []
    for tally in tallies:
        leaf.tally = tally
        found.append(leaf.outcome())
        assert leaf.verdict().outcome == found[-1]
    return np.array(found)


def of_mismatches(leaf: PairsInquiry, n: int = PAIRS) -> np.ndarray:
    return outcomes(leaf, [Tally(n, k, n, 0) for k in range(n + 1)])


def of_failures(leaf: PairsInquiry, n: int = PAIRS) -> np.ndarray:
    return outcomes(leaf, [Tally(n, 0, n, k) for k in range(n + 1)])


def law(rate: float, n: int = PAIRS) -> np.ndarray:
    return np.asarray(binom.pmf(np.arange(n + 1), n, rate))


def assert_is_all_of_alpha(chance: float, words: str, alpha: float = ALPHA) -> None:
    print(f"{words}: wrong with probability {chance:.5f}, allowed {alpha}")
    assert alpha / 2 < chance <= alpha


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize(("cells", "family"), CELLS_AND_AUDITS)
def test_all_ways_to_fail_wrongly_have_alpha_together(asked: str, cells: int, family: int) -> None:
    """Every cell of every audit at the target, and as inaccurate as it is allowed to be."""
    leaf = leaves_of(asked, cells, family)[0]
    right = 1 - law(TARGET) @ (of_mismatches(leaf) == "fail")
    if leaf.plan.delta is not None:
        right *= 1 - law(leaf.plan.delta) @ (of_failures(leaf) == "fail")
    assert_is_all_of_alpha(1 - right ** (cells * family), f"{asked}, {cells} cells, {family} audits")


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize(("cells", "family"), CELLS_AND_AUDITS)
def test_a_wrong_pass_has_all_of_alpha(asked: str, cells: int, family: int) -> None:
    """One cell a hair above the target, whatever the others are: all pass only if this one does."""
    leaf = leaves_of(asked, cells, family)[0]
    assert_is_all_of_alpha(float(law(TARGET) @ (of_mismatches(leaf) == "pass")), f"{asked}, {cells} cells")


def misses(limits: Callable[[int], tuple[float, float]], rate: float) -> float:
    """How often an interval does not hold the rate."""
    found = np.array([limits(k) for k in range(PAIRS + 1)])
    return float(law(rate) @ ((found[:, 0] > rate) | (found[:, 1] < rate)))


def of_row(leaf: PairsInquiry) -> Callable[[int], tuple[float, float]]:
    def limits(k: int) -> tuple[float, float]:
        leaf.tally = Tally(PAIRS, k)
        row, rho = leaf.row(), leaf.rho()
        assert (row.low, row.high) == (rho.low, rho.high)
        return row.low, row.high

    return limits


@pytest.mark.parametrize("cells", [1, 3])
def test_the_intervals_of_all_cells_hold_together(cells: int) -> None:
    each = misses(of_row(leaves_of("rho", cells)[0]), TARGET)
    assert_is_all_of_alpha(1 - (1 - each) ** cells, f"intervals of {cells} cells")


def test_the_limit_of_the_most_inaccurate_cell_holds_for_all() -> None:
    """From below, where any cell may be wrong: half of alpha for all of them."""
    every = EveryCell([*leaves_of("rho and accuracy", 3)])
    low = []
    for k in range(PAIRS + 1):
        for leaf in every.leaves:
            leaf.tally = Tally(PAIRS, 0, PAIRS, k if leaf is every.leaves[0] else 0)  # type: ignore[attr-defined]
        found = every.answer().accuracy
        assert found is not None
        low.append(found.low)
    each = float(law(TARGET) @ (np.array(low) > TARGET))
    assert_is_all_of_alpha(1 - (1 - each) ** 3, "the most inaccurate of 3", ALPHA / 2)


def test_shared_and_unshared_have_alpha_together() -> None:
    """Both verdicts, and both intervals."""
    both = inquiry_of(own_coin, rows, size=1, rho=TARGET, fixed=PAIRS)
    assert isinstance(both, UnsharedAndShared)
    for leaf in both.leaves:
        assert isinstance(leaf, PairsInquiry)
        for verdict in ("pass", "fail"):
            wrong = float(law(TARGET) @ (of_mismatches(leaf) == verdict))
            assert_is_all_of_alpha(1 - (1 - wrong) ** 2, f"{leaf.cell.name}, {verdict}")
        assert_is_all_of_alpha(1 - (1 - misses(of_row(leaf), TARGET)) ** 2, f"{leaf.cell.name}, interval")
    assert both.alpha == both.verdict().error_spent == ALPHA


# Means, which have Ville's threshold: on values that are 0 or 1 the evidence is that of counts.


class Model:
    def predict(self, x: Any) -> Any:
        return np.zeros(len(x))


def fit(sample: Any, r: Any, *, q: int = 0) -> Model:
    return Model()


def churn_leaf(cells: int, family: int, delta: float | None = None) -> PairsInquiry:
    asked = {"subject": fit, "question": "churn", "view": "predict", "probe": 5}
    leaf = leaves_of("rho", cells, family, fixed=None, pairs=1000, **asked)[0]
    return PairsInquiry(leaf.cell, replace(leaf.plan, delta=delta))


@pytest.mark.parametrize(("cells", "family", "delta"), [(1, 1, None), (3, 1, None), (1, 2, None), (3, 2, 0.1)])
def test_a_mean_decides_where_its_evidence_reaches_its_share(cells: int, family: int, delta: float | None) -> None:
    """Every count to 40: evidence 1 / alpha passes, and the number of ways to fail over alpha fails."""
    leaf, ways = churn_leaf(cells, family, delta), cells * family * (1 if delta is None else 2)
    decided: dict[float, set[tuple[int, int]]] = {}
    for n, k, leaf.mean in lattice(40):
        leaf.tally = Tally(n, k)
        expected = "pass" if log_e_pass(n, k, TARGET) >= -np.log(ALPHA) else "inconclusive"
        for share in (ALPHA / ways / 2, ALPHA / ways, 2 * ALPHA / ways):
            if log_e_fail(n, k, TARGET) >= -np.log(share):
                decided.setdefault(share, set()).add((n, k))
                expected = "fail" if share == ALPHA / ways else expected
        assert leaf.outcome() == expected, (n, k)
    assert len({len(found) for found in decided.values()}) == 3, "half and twice the share would decide elsewhere"


@pytest.mark.parametrize("cells", [1, 3])
def test_an_interval_of_means_has_the_share_of_its_cell_on_two_sides(cells: int) -> None:
    leaf = churn_leaf(cells, 1)
    for n, k, leaf.mean in (one for one in lattice(12) if one[:2] in ((5, 0), (5, 5), (12, 1), (12, 7))):
        leaf.tally, leaf.churns = Tally(n, k), [1.0] * k + [0.0] * (n - k)
        expected = two_sided("anytime", n, k, 1 - ALPHA / cells)
        answered: Any = leaf.answer().fields
        for found in (leaf.row(), answered.churn):
            assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("beyond", [-1e-9, 1e-9])
def test_a_measured_risk_counts_only_beyond_what_its_rows_may_be_off_by(beyond: float) -> None:
    """No loss on the sample, and on fresh rows as much as is allowed, or a little more."""
    off = np.sqrt(np.log(1 / UNLUCKY) / (2 * FRESH))
    known = Loss("", lambda output, rows: np.full(len(rows), output if len(rows) == FRESH else 0.0), 0.1)
    bench = bench_of(plain, rows, "loss", size=50, loss=known.fn, delta=known.delta, rho=TARGET)
    assert known(bench, known.slack(50) + off + beyond, 0) is (beyond < 0)


# (eta, nu) with two runs a string, where one threshold says all: a string disagrees, or it does not.


def nu_plan(cells: int, family: int, beta: float | None) -> Plan:
    asked: dict[str, Any] = {"gates": "nu", "runs": 2, "unit": "strings", "eta": 0.4}
    return Plan(0.3, 1 - ALPHA, "fixed", PAIRS, beta, cells=cells, family=family, **asked)


def strings(disagree: int) -> RunGroups:
    return RunGroups(2, (PAIRS - disagree, disagree))


@pytest.mark.parametrize("beta", [None, 0.2])
@pytest.mark.parametrize(("cells", "family"), CELLS_AND_AUDITS)
def test_strings_and_their_accuracy_have_alpha_together(cells: int, family: int, beta: float | None) -> None:
    """At the laws that leave no slack: good strings at 1 - eta and bad ones never alike, or as alike as can be."""
    gate, counts = GroupGate(nu_plan(cells, family, beta)), range(PAIRS + 1)
    reached, bad = good_reaches(2, 1, 0.4), bad_stays_below(2, 1, 0.4)
    fails = np.array([gate.is_fail(strings(k), Inaccurate()) for k in counts])
    right = 1 - law(0.3 + 0.7 * reached) @ fails
    passes = np.array([gate.is_pass(strings(k), Inaccurate()) for k in counts])
    assert_is_all_of_alpha(float(law(0.3 * (1 - bad)) @ passes), "a wrong pass of nu")
    if beta is not None:
        wrong = np.array([gate.is_inaccurate(PAIRS, k) for k in counts])
        right *= 1 - law(beta + 0.4**2 + 0.3 * bad) @ wrong
        certain = np.array([gate.is_pass(strings(0), Inaccurate(k, 0)) for k in counts])
        assert_is_all_of_alpha(float(law(beta * (1 - reached)) @ certain), "a wrong pass of accuracy")
    assert_is_all_of_alpha(1 - right ** (cells * family), f"{cells} cells, {family} audits, beta {beta}")
    verdicts = {k: gate.decide(strings(k), Inaccurate()).outcome for k in (0, PAIRS)}
    assert verdicts == {0: "pass", PAIRS: "fail"}


# Lists: misses are set and not run. In a fixed design both counts are coins of eta at the edge.

LENGTH = 2


def list_leaves(subject: Any, cells: int = 1, family: int = 1, **options: Any) -> list[Runs]:
    asked = {"size": 1, "list_size": LENGTH, "eta": TARGET, "fixed": PAIRS, "family": family, **options}
    inquiry: Any = inquiry_of(
        subject, rows, "list_size", **asked, **({"inputs": {"q": [*range(cells)]}} if cells > 1 else {})
    )
    return inquiry.leaves if cells > 1 else [inquiry]


def after(leaf: Runs, *, before: int = 0, outside: int = 0, failures: int = 0, runs: int = PAIRS) -> Runs:
    """The leaf as it is after so many runs of which so many missed the list, in hindsight or before each."""
    leaf.misses = Misses(LENGTH, leaf.plan.named, runs=runs, before=before, after=outside)
    leaf.tally = Tally(runs, outside, runs, failures)
    return leaf


def chance(n: int, rate: float, outcomes: list[bool]) -> float:
    return float(binom.pmf(np.arange(n + 1), n, rate) @ outcomes)


@pytest.mark.parametrize("subject", [plain, judged])
@pytest.mark.parametrize(("cells", "family"), CELLS_AND_AUDITS)
def test_all_ways_to_fail_a_list_wrongly_have_alpha_together(subject: Any, cells: int, family: int) -> None:
    leaf = list_leaves(subject, cells, family)[0]
    fails = [after(leaf, outside=k).outcome() == "fail" for k in range(PAIRS + 1)]
    right = 1 - chance(PAIRS, TARGET, fails)
    if subject is judged:
        wrong = [after(leaf, failures=k).outcome() == "fail" for k in range(PAIRS + 1)]
        right *= 1 - chance(PAIRS, TARGET, wrong)
    assert_is_all_of_alpha(1 - right ** (cells * family), f"{cells} cells, {family} audits")


@pytest.mark.parametrize(("cells", "family"), CELLS_AND_AUDITS)
def test_a_wrong_pass_of_a_list_has_all_of_alpha(cells: int, family: int) -> None:
    """All cells pass wrongly only if one does that should not: no division."""
    leaf = list_leaves(plain, cells, family)[0]
    counted = PAIRS - leaf.plan.named
    passes = [after(leaf, before=k).outcome() == "pass" for k in range(counted + 1)]
    assert_is_all_of_alpha(chance(counted, TARGET, passes), f"{cells} cells, {family} audits")


@pytest.mark.parametrize("cells", [1, 3])
@pytest.mark.parametrize("design", ["fixed", "anytime"])
def test_the_intervals_of_all_lists_hold_together(cells: int, design: str) -> None:
    """Half of alpha on either side, and of that each cell its part; the record says the confidence of all together."""
    leaf = list_leaves(plain, cells, **({} if design == "fixed" else {"fixed": None, "runs": 2 * PAIRS}))[0]
    lower, upper = (BOUNDS[design][side] for side in (0, 1))
    counted = PAIRS - leaf.plan.named
    for before, outside in ((0, 0), (70, 60), (130, 120)):
        after(leaf, before=before, outside=outside)
        share = ALPHA / 2 / cells
        limits = lower(PAIRS, outside, share), upper(counted, before, share)
        measure = leaf.answer().measures[0]
        row = leaf.row()
        for found in (measure, row):
            assert (found.low, found.high, found.confidence) == (*limits, 1 - ALPHA)
        assert (measure.count, measure.of, measure.estimate) == (outside, PAIRS, outside / PAIRS)
        assert (row.pairs, row.mismatches) == (PAIRS, outside)
    misses = [lower(PAIRS, k, ALPHA / 2 / cells) > TARGET for k in range(PAIRS + 1)]
    if design == "fixed":
        assert_is_all_of_alpha(1 - (1 - chance(PAIRS, TARGET, misses)) ** cells, "limits from below", ALPHA / 2)


@pytest.mark.parametrize(("cells", "family"), CELLS_AND_AUDITS)
@pytest.mark.parametrize("subject", [plain, judged])
def test_a_verdict_on_a_list_states_the_level_it_has(subject: Any, cells: int, family: int) -> None:
    """A fail of one of several cells: that any of them is wrong. What other audits spend is theirs."""
    leaf, ways = list_leaves(subject, cells, family)[0], 2 if subject is judged else 1
    failed = after(leaf, outside=PAIRS).verdict()
    assert failed.bound is not None
    assert failed.bound.confidence == pytest.approx(1 - ALPHA / family / ways)
    assert failed.bound.value == BOUNDS["fixed"][0](PAIRS, PAIRS, ALPHA / family / ways / cells)
    passed = after(leaf).verdict()
    assert passed.bound is not None
    assert (passed.outcome, passed.bound.confidence) == ("pass", 1 - ALPHA)
    assert passed.bound.value == BOUNDS["fixed"][1](PAIRS - leaf.plan.named, 0, ALPHA)
    assert failed.error_spent == passed.error_spent == ALPHA
    anytime = list_leaves(subject, cells, family, fixed=None, runs=PAIRS)[0]
    assert (anytime.gate.alpha_pass, anytime.gate.alpha_fail) == (ALPHA, ALPHA / family / ways / cells)


def test_a_list_of_several_cells_tells_the_most_frequent_outputs_of_the_worst() -> None:
    every: Any = inquiry_of(
        plain, rows, "list_size", size=1, list_size=LENGTH, eta=TARGET, fixed=PAIRS, inputs={"q": [0, 1]}
    )
    assert isinstance(every, EveryCell)
    for leaf, outside in zip(every.leaves, (30, 60), strict=True):
        after(leaf, before=outside, outside=outside)
        leaf.misses.counts = {"a": PAIRS - outside}  # type: ignore[attr-defined]
    every._done = [PAIRS, PAIRS]
    every.states = [leaf.outcome() for leaf in every.leaves]
    said = every.answer()
    rows_ = said.rows
    assert (said.measures[0].low, said.measures[0].high) == (rows_[1].low, rows_[1].high)
    assert (said.measures[0].estimate, said.fields.cell) == (None, "q=1")
    assert said.fields.outside == 60
