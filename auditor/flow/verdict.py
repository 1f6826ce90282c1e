"""What is an audit held against (`Plan`), and what do its counts then say (`Verdict`)? No I/O, no randomness.

A plan is what is decided before anything runs: target, confidence, design, budget, and the shares of the error. It is
frozen: nothing that a pair shows can change it. A gate that its budget cannot decide is refused here. A conclusion is
data; questions/judgement.py puts it into words.
"""

from __future__ import annotations

import math
from numbers import Real

import msgspec

from auditor.errors import BadValue, UsageError, check_count, suggestion
from auditor.flow.record import Bound as Bound
from auditor.statistics.cost import information_bound, prospect
from auditor.statistics.digits import at_most, exact, sure
from auditor.statistics.gate import Gate, pass_boundary
from auditor.statistics.interval import BOUNDS, MeanEvidence
from auditor.statistics.nu import NuGate
from auditor.statistics.threshold import KEPT, MOST_CALIBRATED
from auditor.statistics.threshold import PAIRS_TIMES_TARGET as PAIRS_TIMES_TARGET

DEFAULT_TARGET = 0.1
MAX_PAIRS = 10**12
GATES = ("rho", "churn")
DOUBT = 0.1  # of a fail's error: for the finding that a declared mismatch is not true


class Plan(msgspec.Struct, frozen=True):
    """What an audit may spend, and what it is held against. `design` is "anytime" (stop as soon as the gate decides),
    "fixed" (judge once, after `budget` pairs) or "search" (many gates, one for each size that is asked)."""

    target: float | None  # None where nothing is held against one
    confidence: float
    design: str
    budget: int
    delta: float | None = None  # the share of inaccurate runs the subject is allowed, where it declares one
    gates: str = "rho"  # what is held against the target: how often outputs differ, or by how much ("churn")
    runs: int = 2  # a trial: a pair, or a group where "nu" is held against the target
    unit: str = "pairs"  # what a trial is called
    cells: int = 1  # sources and inputs that share the target, where the worst of them is the question
    eta: float | None = None  # how often a good string's output may be another, where the gate is on nu
    first_budget: int | None = None  # that the gate was calibrated to, where an undecided audit goes on after it
    family: int = 1  # audits that are to pass together: a fail has its share of the error, a pass all of it
    named: int = 0  # trials that are run before those that count for a pass
    integrates: bool = False  # whether rho is the mean of what is known of each pair, and no count of coins
    extends: bool = True  # whether a ledger lets it go on after its budget, if it is undecided by then
    apart: str = ""  # how far apart predictions are, in words, where churn is no share of them
    score: float | None = None  # the least mean score that is asked for, as a number in [0, 1]
    stated: float | None = None  # the confidence of all that is said together, where this plan has a share of the error

    @property
    def alpha(self) -> float:
        """The probability of an error that the confidence leaves."""
        return error_probability(self.confidence)

    @property
    def gate(self) -> Gate:
        """The boundaries that counts are held against. Making them takes a while: ask once."""
        assert self.target is not None
        budget = None if self.is_of_means else self.first_budget or self.budget  # whose same command may go on
        kept = DOUBT if self.integrates else 0.0
        family, scored = self.family * self.cells, self.score is not None
        return Gate(self.target, self.alpha, budget=budget, delta=self.delta, family=family, kept=kept, scored=scored)

    @property
    def is_of_means(self) -> bool:
        """True if numbers in [0, 1] are held against the target by their mean: they have no calibrated threshold."""
        return self.gates == "churn" or self.integrates

    @property
    def nu_gate(self) -> NuGate | None:
        """The gate on nu, if that is asked. As with rho, a pass has all of the error, and the ways to fail share it."""
        if self.eta is None:
            return None
        assert self.target is not None
        share = (self.alpha if self.delta is None else self.alpha / 2) / (self.family * self.cells)
        return NuGate(self.eta, self.target, self.runs, alpha_pass=self.alpha, alpha_fail=share)

    @property
    def each(self) -> float:
        """The confidence of each cell's interval that makes all of them hold together."""
        return 1 - self.alpha / self.cells if self.cells > 1 else self.confidence

    @property
    def least_integrated(self) -> int:
        """The pairs below which no mean passes, however small it is: a calibrated count may."""
        return least_pairs(self.target, self.alpha, "anytime") if self.target else 0

    @property
    def least_trials(self) -> int:
        """The trials that it takes to pass a subject without a mismatch."""
        if gate := self.nu_gate:
            return gate.least_strings(self.runs) or self.budget
        if self.design != "anytime" or self.target is None:
            return self.budget
        # Of several cells each has its share of the budget.
        planned = None if self.is_of_means else (self.first_budget or self.budget) // self.cells
        least = least_pairs(self.target, self.alpha, self.design, planned)
        if self.score is not None:
            least = max(least, least_pairs(1 - self.score, self.alpha, "anytime"))
        return self.cells * (self.named + least)


def error_probability(confidence: float) -> float:
    """Return 1 - confidence as the decimal it was meant to be."""
    return round(1 - confidence, 15)


def least_pairs(target: float, alpha: float, design: str, budget: int | None = None) -> int:
    """Return after how many pairs zero mismatches pass; a budget is what the gate is calibrated to."""
    if design == "anytime":
        return pass_boundary(target, alpha, budget)[0]
    return math.ceil(math.log(alpha) / math.log1p(-target))


def least_budget(target: float, alpha: float) -> int:
    """Return the least budget, to a thousandth, with which an anytime-valid gate can pass, without a mismatch."""
    budget = math.ceil(math.log((1 - KEPT) * alpha) / math.log1p(-target))
    while budget <= MOST_CALIBRATED and pass_boundary(target, alpha, budget)[0] > budget:
        budget += 1 + budget // 1000
    ville = pass_boundary(target, alpha)[0]
    return min(budget, ville) if budget <= MOST_CALIBRATED else ville


def make_plan(
    *,
    target: float,
    confidence: float = 0.95,
    pairs: int | None = None,
    fixed: int | None = None,
    delta: float | None = None,
    gates: str = "rho",
) -> Plan:
    """Return the plan for these options; BadValue or UsageError with the cure where they make none."""
    if pairs is not None and fixed is not None:
        raise UsageError(
            f"--pairs {pairs} and --fixed {fixed} are two designs: --pairs stops as soon as the answer is known, "
            "--fixed always runs all its pairs; choose one"
        )
    design = "anytime" if fixed is None else "fixed"
    if gates not in GATES:
        raise BadValue("measure", gates, f"must be one of {', '.join(GATES)}{suggestion(gates, GATES)}")
    check_target(target)
    check_confidence(confidence)
    if delta is not None and not (isinstance(delta, Real) and 0 <= delta < 1):
        raise BadValue("delta", delta, "must be in [0, 1): the share of runs that may be inaccurate, e.g. 0.05")
    option, budget = ("fixed", fixed) if fixed is not None else ("pairs", pairs)
    if budget is None:
        if target < PAIRS_TIMES_TARGET / MAX_PAIRS:
            raise BadValue("rho", target, f"would take more than {MAX_PAIRS:.0e} pairs, which no audit finishes")
        budget = math.ceil(PAIRS_TIMES_TARGET / target - 1e-9)
    check_count(option, budget, least=1, example=1000)
    alpha = error_probability(confidence)
    if budget > MAX_PAIRS:
        raise BadValue(option, budget, f"is more than {MAX_PAIRS:.0e} pairs, which no audit finishes: ask for fewer")
    enough = least_pairs(target, alpha, "anytime" if gates == "churn" else design)  # churn has the sequence only
    if budget < enough and gates == "rho" and design == "anytime":
        enough = least_budget(target, alpha)
    if budget < enough:
        raise BadValue(
            option,
            budget,
            f"cannot decide {gates} {exact(target)} at {sure(confidence)}: even without a mismatch it takes "
            f"{enough} pairs; use --{option} {enough} or more",
        )
    return Plan(float(target), float(confidence), design, budget, delta, gates)


def check_target(target: float) -> None:
    """Raise BadValue unless rho is in (0, 1)."""
    check_share("rho", target, "the mismatch probability you accept, e.g. 0.1")


def check_confidence(confidence: float) -> None:
    """Raise BadValue unless the confidence is above 0.5 and below 1."""
    check_share("confidence", confidence, "how sure the verdict must be, e.g. 0.95")
    if error_probability(confidence) >= 0.5:
        raise BadValue("confidence", confidence, "must be above 0.5: a coin says as much; use e.g. 0.95")
    if not error_probability(confidence):
        raise BadValue("confidence", confidence, "is 1 to 15 digits: use e.g. 0.999999")


def check_share(name: str, value: object, meaning: str) -> None:
    """Raise BadValue unless a value is a number in (0, 1)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        raise BadValue(name, value, f"must be in (0, 1): {meaning}")


LIKELY = 0.9  # how often a budget that is named must decide
_TRIED = 10**6  # pairs up to which one is looked for


class Tally(msgspec.Struct, frozen=True):
    """What the finished pairs showed: integers from the trial to the record."""

    pairs: int = 0
    mismatches: int = 0
    runs: int = 0  # runs whose accuracy was judged
    failures: int = 0  # of them, inaccurate

    def plus(self, *, differs: bool, accurate: bool | None) -> Tally:
        """Return the tally with one more pair; `accurate` is None where nobody could say."""
        return Tally(
            self.pairs + 1,
            self.mismatches + differs,
            self.runs + (accurate is not None),
            self.failures + (accurate is False),
        )


class Verdict(msgspec.Struct, frozen=True):
    """How an audit ended. `decided_by` is "mismatches", "churn", "strings", "list", "accuracy", "choice", "budget",
    "clock", "interrupt" or "error", or "formula" where a declared mismatch is not true."""

    outcome: str
    reason: str
    decided_by: str
    error_spent: float
    bound: Bound | None = None


def is_decided(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence) -> bool:
    """True if a running audit may stop."""
    if tally.failures and gate.is_inaccurate(tally.runs, tally.failures):
        return True
    return any(sides(plan, gate, tally, mean))


def sides(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence) -> tuple[bool, bool]:
    """Return whether the evidence passes, and whether it fails: what stops an audit is what its verdict says."""
    n, k = tally.pairs, tally.mismatches
    if n == 0:
        return False, False
    if plan.is_of_means:
        passes = mean.log_e_pass(gate.target) >= -math.log(gate.alpha_pass)
        return passes, mean.log_e_fail(gate.target) >= -math.log(gate.alpha_fail)
    if plan.design == "anytime":
        return gate.is_pass(n, k), gate.is_fail(n, k)
    lower, upper = BOUNDS["fixed"]
    return upper(n, k, gate.alpha_pass) <= gate.target, lower(n, k, gate.alpha_fail) > gate.target


def outcome(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence) -> str:
    """Return the verdict without its words, which cost more."""
    if is_inaccurate(plan, gate, tally):
        return "fail"
    passes, fails = sides(plan, gate, tally, mean)
    return "pass" if passes else "fail" if fails else "inconclusive"


def bounds(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence) -> tuple[Bound, Bound]:
    """Return one-sided limits from below and above, each at the level that its verdict has.

    A gate with a budget weighs evidence in its own way, and may be undecided where a limit is beyond the target: the
    limit is moved back to the target then, so that no limit says what the verdict does not.
    """
    n, k = tally.pairs, tally.mismatches
    if plan.is_of_means:
        least, most = mean.lower(gate.alpha_fail), mean.upper(gate.alpha_pass)
    else:
        lower, upper = BOUNDS[plan.design]
        least, most = lower(n, k, gate.alpha_fail), upper(n, k, gate.alpha_pass)
        passes, fails = sides(plan, gate, tally, mean)
        least = least if fails else min(least, gate.target)
        most = most if passes else max(most, gate.target)
    return (
        Bound("lower", least, 1 - plan.cells * gate.alpha_fail),  # of whichever cell it is
        Bound("upper", most, 1 - gate.alpha_pass),
    )


def decided_bound(plan: Plan, gate: Gate, bound: Bound) -> Bound:
    """Return the bound that a verdict shows.

    A calibrated gate decides with less evidence than a bound at every n has: what it shows is the target's side.
    """
    counts = not plan.is_of_means and plan.design != "fixed"
    if counts and gate.has_calibrated_threshold("pass" if bound.side == "upper" else "fail"):
        return Bound(bound.side, gate.target, bound.confidence)
    return bound


def is_accuracy_certified(plan: Plan, tally: Tally) -> bool | None:
    """True if the upper limit of the share of inaccurate runs is within delta; None where nobody judged or asked."""
    if plan.delta is None or not tally.runs:
        return None
    design = plan.design if tally.pairs == plan.budget else "anytime"
    return BOUNDS[design][1](tally.runs, tally.failures, plan.alpha) <= plan.delta


def is_inaccurate(plan: Plan, gate: Gate, tally: Tally) -> bool:
    """True if more runs are shown to be inaccurate than may be."""
    if plan.delta is None or not tally.failures:
        return False
    if plan.design == "anytime":
        return gate.is_inaccurate(tally.runs, tally.failures)
    return BOUNDS["fixed"][0](tally.runs, tally.failures, gate.alpha_fail) > plan.delta


def enough_pairs(plan: Plan, gate: Gate, tally: Tally, rate: float, *, goes_on: bool) -> tuple[int, float] | None:
    """Return a budget that decides with probability LIKELY or more if rho is `rate`, and that probability.

    It is exact, by the gate's own shares of the error, and tried from the information bound up; None where none is
    found. If it `goes_on`, the pairs of the tally count.
    """
    target = gate.target
    least = information_bound(rate, target, plan.alpha, LIKELY)
    most = min(_TRIED, 100 * max(plan.budget, PAIRS_TIMES_TARGET / target))
    start = {"pairs": tally.pairs, "mismatches": tally.mismatches} if goes_on else {}
    first = plan.first_budget or plan.budget if goes_on else None
    tried = max(least, 1.1 * tally.pairs, 10.0)
    while tried <= most:
        pairs = int(at_most(math.ceil(tried), 2))
        alpha, alpha_fail = gate.alpha_pass, gate.alpha_fail
        law = prospect(
            rate, target=target, alpha=alpha, alpha_fail=alpha_fail, budget=pairs, first_budget=first, **start
        )
        if law.passes + law.fails >= LIKELY:
            return pairs, law.passes + law.fails
        tried *= 1.25
    return None
