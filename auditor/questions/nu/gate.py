"""What do groups of runs show of (eta, nu), and of the accuracy of canonical outputs? Pure, no I/O, no randomness.

Pseudo-global stability asks whether strings are good, and whether the canonical outputs of all but a share beta of the
strings are accurate. What counts against a subject is a good string with an inaccurate canonical output; what is seen
is the most frequent output of k runs. The gates allow for the ways in which the two may differ:

    the most frequent output of a good string is not its canonical one     c = Pr[Bin(k, eta) >= k/2]
    k runs of a good string agree on an output that is not canonical       eta^k
    k runs of a bad string agree                                           b_1

so that a share beta of such strings shows in at least beta (1 - c) of all groups, and inaccurate groups that agree
are at most beta + eta^k + nu b_1 of all. A pass takes both questions, and each has all of alpha; a fail takes one of
them, and they share it.

The code's names: `plan.target` is nu, the share of strings that may be bad; `plan.eta` is eta, how often a run of a
good string may give another output than its canonical one; `plan.delta` is beta, the share of strings whose canonical
output may be inaccurate (None where nobody asks); `plan.runs` is k, the runs of a string.
"""

from __future__ import annotations

import math

import msgspec

from auditor.flow.verdict import Bound, Plan, Verdict
from auditor.questions.judgement import stated
from auditor.statistics.cost import soonest
from auditor.statistics.digits import at_least, at_most, between, exact
from auditor.statistics.interval import BOUNDS, log_e_fail, log_e_pass
from auditor.statistics.nu import RunGroups, bad_stays_below, good_reaches, nu_lower, nu_upper


class Inaccurate(msgspec.Struct, frozen=True):
    """Strings whose most frequent output is inaccurate, and those of them whose runs all agree."""

    strings: int = 0
    agreed: int = 0

    def continued(self, factor: float) -> Inaccurate:
        """Return what the counts would be after `factor` times as many strings."""
        return Inaccurate(round(factor * self.strings), round(factor * self.agreed))


def nu_interval(groups: RunGroups, eta: float, plan: Plan, design: str) -> tuple[float, float]:
    """Return limits of nu(eta) that hold for all eta and cells together with the plan's confidence."""
    alpha = plan.alpha / plan.cells / 2
    return nu_lower(groups, eta, alpha, design=design), nu_upper(groups, eta, alpha, design=design)


class GroupGate:
    """When groups of runs decide: on nu, and on the accuracy of canonical outputs where beta was given."""

    def __init__(self, plan: Plan) -> None:
        assert plan.eta is not None
        assert plan.nu_gate is not None
        assert plan.target is not None
        self.plan, self.eta, self.nu_gate, self.target = plan, plan.eta, plan.nu_gate, plan.target
        self.fixed = plan.design == "fixed"

    def nu_bounds(self, groups: RunGroups) -> tuple[float, float]:
        """Return one-sided limits on nu(eta) from below and above, each at the level of its verdict."""
        gate = self.nu_gate
        if self.fixed:
            return nu_lower(groups, self.eta, gate.alpha_fail), nu_upper(groups, self.eta, gate.alpha_pass)
        return gate.lower(groups), gate.upper(groups)

    def is_pass(self, groups: RunGroups, wrong: Inaccurate) -> bool:
        """True if nu is shown to be at most its target, and accuracy too where it is asked for."""
        passes = self.nu_bounds(groups)[1] <= self.target if self.fixed else self.nu_gate.is_pass(groups)
        return passes and self._accuracy_passes(groups.strings, wrong.strings)

    def is_fail(self, groups: RunGroups, wrong: Inaccurate) -> bool:
        """True if nu is shown to be above its target, or too many strings agree on an inaccurate output."""
        return self._nu_fails(groups) or self.is_inaccurate(groups.strings, wrong.agreed)

    def forecast(self, groups: RunGroups, wrong: Inaccurate) -> int | None:
        """Return the strings after which it decides if all go on as before; None if the budget ends first."""

        def decides(n: int) -> bool:
            then, off = groups.continued(n), wrong.continued(n / groups.strings)
            return self.is_pass(then, off) or self.is_fail(then, off)

        return soonest(decides, groups.strings, self.plan.budget) if groups.strings else None

    def _nu_fails(self, groups: RunGroups) -> bool:
        """True if nu is shown to be above its target."""
        return self.nu_bounds(groups)[0] > self.target if self.fixed else self.nu_gate.is_fail(groups)

    def _accuracy_passes(self, n: int, inaccurate: int) -> bool:
        """True if the most frequent output of so few among n strings is inaccurate that beta, `plan.delta`, is shown
        to be kept; also where accuracy is not asked for."""
        if self.plan.delta is None:
            return True
        runs, alpha = self.plan.runs, self.nu_gate.alpha_pass
        least = self.plan.delta * (1 - good_reaches(runs, math.ceil(runs / 2), self.eta))
        if self.fixed:
            return BOUNDS["fixed"][1](n, inaccurate, alpha) <= least
        return bool(log_e_pass(n, inaccurate, least) >= -math.log(alpha))

    def is_inaccurate(self, n: int, agreed: int) -> bool:
        """True if the runs of more strings agree on an inaccurate output than beta (`plan.delta`) and nu (`target`)
        allow for: beta + eta^k + nu b_1 of them, as the module says; `agreed` is how many of n did."""
        if self.plan.delta is None:
            return False
        runs, alpha = self.plan.runs, self.nu_gate.alpha_fail
        most = self.plan.delta + self.eta**runs + self.target * bad_stays_below(runs, 1, self.eta)
        if self.fixed:
            return BOUNDS["fixed"][0](n, agreed, alpha) > most
        return bool(log_e_fail(n, agreed, most) >= -math.log(alpha))

    def decide(self, groups: RunGroups, wrong: Inaccurate) -> Verdict:
        """Return the verdict at the stop, with the one-sided bound on nu that it rests on."""
        plan, (low, high) = self.plan, self.nu_bounds(groups)
        upper = Bound("upper", high, 1 - self.nu_gate.alpha_pass)
        lower = Bound("lower", low, 1 - plan.cells * self.nu_gate.alpha_fail)
        if self.is_pass(groups, wrong):
            accurate = "" if plan.delta is None else f"; all but {exact(plan.delta)} of the canonical ones are accurate"
            reason = (
                f"Most values of r have a usual output, which comes with probability {exact(1 - self.eta)} or more: at "
                f"most a share of {at_most(high, beside=self.target)} has none ({stated(plan)}), and nu allows for "
                f"{exact(self.target)}{accurate}. {self._seen(groups)}"
            )
            return Verdict("pass", reason, "strings", plan.alpha, upper)
        if self._nu_fails(groups):
            reason = (
                f"Too many values of r have no usual output, one that comes with probability {exact(1 - self.eta)} or "
                f"more: a share of at least {at_least(low, beside=self.target)} ({stated(plan, fails=True)}), and nu "
                f"allows for {exact(self.target)}. {self._seen(groups)}"
            )
            return Verdict("fail", reason, "strings", plan.alpha, lower)
        if self.is_inaccurate(groups.strings, wrong.agreed):
            reason = (
                f"{wrong.agreed} of {groups.strings} values of r give one inaccurate output in each of "
                f"{plan.runs} runs: more than beta {exact(plan.delta or 0.0)} and nu {exact(self.target)} allow for"
            )
            return Verdict("fail", reason, "accuracy", plan.alpha)
        return Verdict("inconclusive", self._undecided(groups, wrong), "budget", plan.alpha)

    def _seen(self, groups: RunGroups) -> str:
        """Say what was seen, as counts and not as an estimate: a string may look worse or better than it is."""
        beyond = f"Of {groups.strings} values of r that were tried, {groups.beyond(self.eta)}"
        return f"{beyond} gave another output than their most frequent one in more than {exact(self.eta)} of runs"

    def _undecided(self, groups: RunGroups, wrong: Inaccurate) -> str:
        """Say what is known by now of nu and of accuracy, and what may decide."""
        plan, seen = self.plan, self._seen(groups)
        low, high = nu_interval(groups, self.eta, plan, "fixed" if self.fixed else "anytime")
        if plan.delta is not None:
            seen += f", {wrong.strings} an inaccurate output"
        left = (
            f"nu is {between(low, high, beside=self.target)} ({stated(plan)}), which does not show whether it is at "
            f"most {exact(self.target)}, the target"
        )
        if plan.delta is not None and high <= self.target:
            left = (
                f"nu is {between(low, high, beside=self.target)} ({stated(plan)}), within the target; that at most "
                f"{exact(plan.delta)} of the canonical outputs are inaccurate was neither shown nor refuted"
            )
        if groups.strings < plan.budget:
            return f"{seen}: {left}"  # it was stopped, and whoever did so says what goes on
        if self.fixed:
            once = "A fixed number of them is judged once: for another try, use --strings and a new --seed"
            return f"{seen}: {left}. {once}"
        more = f"--strings {4 * groups.strings} with the same --seed may decide, and so may a target further away"
        return f"{seen}: {left}. {more}"
