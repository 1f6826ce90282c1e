"""Which source or input gets the next pairs, and when is the worst of them known? Pure, in integers.

"Every rho_j is at most the target" passes once each arm has passed: a wrong pass needs the worst arm to pass, so no
arm's evidence is corrected. It fails as soon as one arm fails at alpha/K: K arms that each do so wrongly with
probability alpha/K. Each arm's gate is calibrated to the most that it may get. Both hold for every order of pairs,
since each arm's error counts all its looks; so the next block may go to whoever looks worst, the undecided arm with
the largest E_fail.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from functools import lru_cache

from auditor.flow.verdict import Bound, Tally, Verdict
from auditor.statistics.gate import Gate
from auditor.statistics.interval import BOUNDS, log_e_fail, two_sided
from auditor.statistics.outward import at_least, at_most, sure

_FIRST = 8  # pairs that each arm gets before any is preferred
_SHARE = 8  # later a block is a part 1/8 of the arm's pairs


@lru_cache
def _gate(target: float, alpha: float, delta: float | None, budget: int) -> Gate:
    """Arms that are asked the same share their boundaries."""
    return Gate(target, alpha, budget=budget, delta=delta)


@lru_cache(maxsize=2**16)
def _log_e_fail(n: int, k: int, target: float) -> float:
    return float(log_e_fail(n, k, target))


class WorstArm:
    """K arms against one target. `deltas` are the shares of inaccurate runs allowed, None where nobody judges."""

    def __init__(
        self, target: float, alpha: float, deltas: Sequence[float | None], *, budget: int, design: str = "anytime"
    ) -> None:
        self.target, self.alpha, self.budget, self.design = target, alpha, budget, design
        count = len(deltas)
        self.tallies = [Tally()] * count
        self.states = ["inconclusive"] * count
        self._pass_gate = _gate(target, alpha, None, budget)
        self._fail_gates = [_gate(target, alpha / count, delta, budget) for delta in deltas]
        self._waiting = [(0.0, 0, arm) for arm in range(count)]  # the heap's least is the largest E_fail
        self._out: list[int] = []  # arms whose pairs are being run

    def next_blocks(self) -> list[tuple[int, int]]:
        """Who gets how many pairs; nobody once the question is decided or every budget spent.

        Each arm some pairs at first; then a block to whoever looks worst, which costs no more than one pair at a time.
        """
        for arm in self._out:
            self._wait(arm)
        self._out.clear()
        begins = not any(tally.pairs for tally in self.tallies)
        while self._waiting and "fail" not in self.states and (begins or not self._out):
            self._out.append(heapq.heappop(self._waiting)[2])
        return [(arm, self._block(arm)) for arm in self._out]

    def _block(self, arm: int) -> int:
        done = self.tallies[arm].pairs
        return self.budget - done if self.design == "fixed" else min(max(_FIRST, done // _SHARE), self.budget - done)

    def _wait(self, arm: int) -> None:
        tally = self.tallies[arm]
        if self.states[arm] == "inconclusive" and tally.pairs < self.budget:
            heapq.heappush(self._waiting, (-_log_e_fail(tally.pairs, tally.mismatches, self.target), tally.pairs, arm))

    def add(self, arm: int, tally: Tally) -> bool:
        """The tally of an arm after one more pair; whether no more of its block is wanted."""
        self.tallies[arm] = tally
        if self.design == "anytime":
            self.states[arm] = self._state(arm)
        elif all(each.pairs == self.budget for each in self.tallies):
            self.states = [self._judge_once(each) for each in range(len(self.tallies))]
        return self.states[arm] != "inconclusive"

    def _state(self, arm: int) -> str:
        tally = self.tallies[arm]
        if self._is_inaccurate(arm) or self._fail_gates[arm].is_fail(tally.pairs, tally.mismatches):
            return "fail"
        return "pass" if self._pass_gate.is_pass(tally.pairs, tally.mismatches) else "inconclusive"

    def _judge_once(self, arm: int) -> str:
        low, high = self.bounds(arm)
        if low > self.target or self._is_inaccurate(arm):
            return "fail"
        return "pass" if high <= self.target else "inconclusive"

    def _is_inaccurate(self, arm: int) -> bool:
        tally, gate = self.tallies[arm], self._fail_gates[arm]
        if self.design == "anytime" or gate.delta is None or not tally.runs:
            return gate.is_inaccurate(tally.runs, tally.failures)
        return BOUNDS["fixed"][0](tally.runs, tally.failures, gate.alpha_fail) > gate.delta

    def bounds(self, arm: int) -> tuple[float, float]:
        """One-sided limits on one rho from below and above, each at the level that its verdict has."""
        lower, upper = BOUNDS[self.design]
        n, k = self.tallies[arm].pairs, self.tallies[arm].mismatches
        return (lower(n, k, self._fail_gates[arm].alpha_fail), upper(n, k, self.alpha)) if n else (0.0, 1.0)

    def interval(self, arm: int, *, cut: bool = False) -> tuple[float, float]:
        """Two-sided, at alpha/K: the intervals of all arms hold together. `cut`: a fixed design was left early."""
        tally, share = self.tallies[arm], self.alpha / len(self.tallies)
        return two_sided("anytime" if cut else self.design, tally.pairs, tally.mismatches, 1 - share)

    def inaccurate_interval(self, arm: int, *, cut: bool = False) -> tuple[float, float]:
        """The same for the share of inaccurate runs."""
        tally, share = self.tallies[arm], self.alpha / len(self.tallies)
        return two_sided("anytime" if cut else self.design, tally.runs, tally.failures, 1 - share)

    def decide(self, names: Sequence[str]) -> Verdict:
        count = len(names)
        if "fail" in self.states:
            return self._failed(self.states.index("fail"), names)
        if set(self.states) == {"pass"}:
            return self._passed(count)
        open_arms = [arm for arm, state in enumerate(self.states) if state == "inconclusive"]
        worst = max(open_arms, key=lambda arm: self.bounds(arm)[1])
        reason = (
            f"{len(open_arms)} of {count} arms are undecided after {self.budget:,} pairs each, "
            f"{names[worst]} with {self.tallies[worst].mismatches:,} mismatches; "
            "use more --pairs and a new --seed, or a larger --rho"
        )
        return Verdict("inconclusive", reason, "budget", self.alpha)

    def _passed(self, count: int) -> Verdict:
        most = max(self.bounds(arm)[1] for arm in range(count))
        if self._shows_target(self._pass_gate, "pass"):
            most = self.target
        bound = Bound("upper", most, 1 - self.alpha)
        against = ", the target" if most == self.target else f", within the target {self.target:g}"
        reason = f"rho is at most {at_most(most)} for each of {count} arms ({sure(1 - self.alpha)}){against}"
        judged = [arm for arm in range(count) if self._fail_gates[arm].delta is not None and self.tallies[arm].runs]
        if judged and not all(map(self.is_certified, judged)):
            reason += "; accuracy was not certified for all of them"
        return Verdict("pass", reason, "mismatches", self.alpha, bound)

    def _shows_target(self, gate: Gate, side: str) -> bool:
        """A calibrated gate shows on which side of the target rho is, and no more."""
        return self.design == "anytime" and gate.is_calibrated(side)

    def is_certified(self, arm: int) -> bool:
        """Whether the share of inaccurate runs is shown to be within delta; all arms at once, so none is corrected."""
        tally, delta = self.tallies[arm], self._fail_gates[arm].delta
        return delta is not None and BOUNDS[self.design][1](tally.runs, tally.failures, self.alpha) <= delta

    def _failed(self, arm: int, names: Sequence[str]) -> Verdict:
        gate, tally, (low, _) = self._fail_gates[arm], self.tallies[arm], self.bounds(arm)
        words = sure(1 - self.alpha)
        if not self._is_inaccurate(arm):
            shown = self._shows_target(gate, "fail")
            bound = Bound("lower", self.target if shown else low, 1 - self.alpha)
            reason = f"with {names[arm]} rho is at least {at_least(low)} ({words}), above the target {self.target:g}"
            if shown:
                reason = f"with {names[arm]} rho is above {self.target:g}, the target ({words})"
            return Verdict("fail", reason, "mismatches", self.alpha, bound)
        reason = (
            f"with {names[arm]} {tally.failures} of {tally.runs} runs are inaccurate, "
            f"more than the {gate.delta:g} that the subject allows ({words})"
        )
        return Verdict("fail", reason, "accuracy", self.alpha)
