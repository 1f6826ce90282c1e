"""What is rho of a subject whose shared randomness acts last? A run makes a core, and finishes it with r.

rho is the mean over pairs of m, the probability that a pair's two cores finish differently: a number in [0, 1] for each
pair, so that a bet on the mean decides, with 1/alpha for a threshold. m is what the subject declares; if it declares an
upper bound, or nothing, the share of the pair's real finishes that differ takes its place, which has the same mean. A
declared m is held against those finishes: if they contradict it the audit fails, with a tenth of the error that a fail
has. All of this takes m on trust; what the finishes say by themselves is reported beside it.

A subject with a body of its own is measured by its steps, so everything is given core and finish too. Where n runs gave
the same by both, they differ in at most a share q = 1 - alpha^(1/n) of runs, at whatever n an audit stops
(`most_unseen`), and two runs of the body differ with probability rho + 2 q at most. The verdict on rho and the limit q
are each wrong with probability alpha at most, so what both say together is wrong with 2 alpha at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.flow.parts import Listing, Part, Words
from auditor.flow.question import Answer
from auditor.flow.record import Finding, Measure
from auditor.flow.record import RhoInterval as Interval
from auditor.flow.verdict import Verdict
from auditor.questions.pairs import PairsInquiry, PairsOptions, make_pairs_plan
from auditor.statistics.contradiction import Contradiction
from auditor.statistics.digits import at_most
from auditor.statistics.interval import MeanEvidence, most_unseen
from auditor.subjects.finishing import Finishing
from auditor.trials.cell import Cell
from auditor.trials.integrated import FINISHES, CorePair, Half, count_apart, declared_mismatch, run_integrated, why_not
from auditor.trials.trial import Bench, NoOutput, Trial
from auditor.values import describe
from auditor.values.elements import WATCHED

METHOD = "betting confidence sequence"
BY_FINISHES = f"{METHOD} on {FINISHES} finishes a pair"
_SHORT = 400  # characters of a core that are shown


class Body(msgspec.Struct, frozen=True):
    """What is known of a subject's own body, beside the steps by which it was audited."""

    runs: int  # in which the two were compared, and did not differ
    share: float  # the largest share of runs in which they may differ
    confidence: float  # of `share`
    rho: float  # the most that the body's rho can be, if that of the steps is within the target
    rho_confidence: float  # of `rho`: neither the share nor the verdict on the steps is wrong


class Integrated(msgspec.Struct, frozen=True, kw_only=True):
    """What the real finishes of each pair's two cores showed, beside the declared probability m."""

    declared: str | None  # "exact" or "upper", as m is declared; None if there is no formula
    finishes: int  # real finishes of each pair
    differing: int  # how many of all finishes differ
    expected: float | None  # how many the formula expects to, of the pairs that have one
    contradicted: bool
    body: Body | None = None  # None if the subject is its steps


class IntegratedAnswer(msgspec.Struct, frozen=True, tag_field="question", tag="rho"):
    """What an audit of rho knows besides its counts, where the subject declares its last step."""

    integrated: Integrated
    churn: None = None


def settle_integrated(cell: Cell, options: PairsOptions) -> IntegratedPairs | None:
    """Return the inquiry of a cell whose subject declares its last step; None if its outputs have to be counted."""
    plan = make_pairs_plan(cell, options)
    if why_not(cell) or plan.budget < plan.least_integrated:
        return None
    return IntegratedPairs(replace(cell, watched=WATCHED, unit=run_integrated), replace(plan, integrates=True))


@dataclass(slots=True)
class IntegratedPairs(PairsInquiry):
    """Pairs of cores: `mean` is the evidence on what is held against the target, `coins` on the real finishes alone.

    `doubt` counts the pair's own two outputs as one more coin: those are what an audit would count.
    """

    coins: MeanEvidence = field(default_factory=MeanEvidence)
    doubt: Contradiction = field(init=False)
    total: float = 0.0  # the sum of m over the pairs that have a formula
    differing: int = 0  # real finishes that differ
    compared: int = 0  # runs in which the subject's body gave what its steps give
    contradicted: int | None = None  # the pair at which there was enough evidence against m

    def __post_init__(self) -> None:
        PairsInquiry.__post_init__(self)
        self.doubt = Contradiction(FINISHES + 1, both=self._is_exact)

    @property
    def besides(self) -> str:
        """What is run besides the pairs, for the line that says how long it may take."""
        body = "one more run and " if self._steps.has_body else ""
        return f", and {body}{2 * (FINISHES + 1):,} finishes a pair"

    def add(self, trial: Trial) -> bool:
        """Count a pair of cores: how many values of r finish them differently, and what the declared formula says of
        it."""
        shown = msgspec.convert(trial.payload, CorePair)
        share, m = shown.share, shown.mismatch
        self.differing += shown.apart
        self.compared += shown.is_compared
        self.coins.add(share)
        self.mean.add(m if m is not None and self._is_exact else share)
        if m is not None:
            self.total += m
            self.doubt.add(m, shown.apart + (trial.difference is not None))
        if self.contradicted is None and self.doubt.log_e >= -math.log(self.gate.alpha_kept):
            self.contradicted = trial.index
        over = PairsInquiry.add(self, replace(trial, payload=shown.elements))
        self.decided = over or self.contradicted is not None
        return self.decided

    @property
    def _steps(self) -> Finishing:
        """The subject's core and finish."""
        steps = self.cell.subject.finishing
        assert steps is not None
        return steps

    @property
    def _is_exact(self) -> bool:
        """True if the declared mismatch is the probability itself, and no upper bound of it."""
        return self._steps.is_exact

    @property
    def evidence(self) -> MeanEvidence:
        """The evidence on rho: that of the finishes alone once the formula is contradicted, which says nothing then."""
        return self.mean if self.contradicted is None else self.coins

    def outcome(self) -> str:
        """Return the verdict without its words: a fail if real finishes contradict the probability of a mismatch that
        the subject declares for a pair of cores, else what the mean of these probabilities shows."""
        return PairsInquiry.outcome(self) if self.contradicted is None else "fail"

    def verdict(self) -> Verdict:
        """Return the verdict; a fail if the declared mismatch is shown not to be true."""
        if self.contradicted is not None:
            return Verdict("fail", self._contradiction(), "formula", self.plan.alpha)
        found = PairsInquiry.verdict(self)
        return replace(found, reason=found.reason + self.trusts([self])) if found.outcome == "pass" else found

    def trusts(self, leaves: Sequence[Any]) -> str:
        """Say what the runs show of the subject's own body; of several cells, of the one where least is known."""
        body = max((leaf.body for leaf in leaves if leaf.body), key=lambda one: one.share, default=None)
        if body is None:
            return ""
        steps = "; this is the rho of the two steps that it declares, and the function itself gave what they give"
        return f"{steps} in each of {body.runs:,} runs"

    @property
    def body(self) -> Body | None:
        """What the runs show of the subject's own body; None if the subject is its steps."""
        if not self._steps.has_body or self.plan.target is None:
            return None
        alpha = self.plan.alpha
        share = most_unseen(self.compared, alpha)
        rho = min(1.0, self.plan.target + 2 * share)
        return Body(self.compared, share, self.plan.confidence, rho, max(0.0, 1 - 2 * alpha))

    def _given(self) -> str:
        """Say what rho takes on trust, as the end of its method's name."""
        names = ["core", "finish"] if self._steps.has_body else []
        names += ["m"] if self._uses_formula() else []
        return f", given {' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}" if names else ""

    def _contradiction(self) -> str:
        """Say how what was seen contradicts the declared mismatch."""
        seen, wrong = self.doubt, at_most(self.plan.cells * self.gate.alpha_kept)
        if seen.impossible:
            what = f"the outputs of pair {self.contradicted} are what the declared mismatch says that they cannot be"
            kind = "probability" if self._is_exact else "upper bound of the probability"
            return f"{what}: it is not the {kind} that two runs with the same r differ"
        verb = "says about" if self._is_exact else "allows at most"
        return (
            f"the declared mismatch is not true: with {seen.coins:,} values of r for each of {seen.pairs:,} pairs of "
            f"samples, {seen.seen:,} of {seen.pairs * seen.coins:,} outputs differ, and it {verb} {seen.expected:,.1f} "
            f"(a wrong alarm with probability at most {wrong})"
        )

    def rho(self) -> Interval:
        """Return the mean over pairs of the probability that they finish differently, with its interval."""
        if not self.evidence.n:
            return Interval(None, 0.0, 1.0, self.plan.confidence, self._method())
        return Interval(*self.of_mean(self.evidence), self.plan.confidence, self._method())

    def _uses_formula(self) -> bool:
        """True if rho is averaged over r by the formula that the subject declares for its last step; False if fresh
        values of r were tried, because there is none or these have contradicted it."""
        return bool(self.doubt.pairs) and self._is_exact and self.contradicted is None

    def _method(self) -> str:
        """Return the name of the method by which rho was found."""
        return (METHOD if self._uses_formula() else BY_FINISHES) + self._given()

    def _rho_measure(self, rho: Interval) -> Measure:
        """Return rho as a measure of the record; it is a mean, and has no count."""
        of_mean = (rho.estimate, rho.low, rho.high, rho.confidence, rho.method)
        return Measure("rho", *of_mean, standard_error=self.evidence.standard_error)

    def answer(self) -> Answer:
        """Return what the record says of pairs, with what the finishes showed."""
        found = PairsInquiry.answer(self)
        if self.coins.n and self._uses_formula():
            method = BY_FINISHES + (", given core and finish" if self._steps.has_body else "")
            by = Measure("rho by finishes", *self.of_mean(self.coins), self.plan.confidence, method)
            found.measures.insert(1, by)
        findings = []
        if self.contradicted is not None:
            findings = [Finding("formula", "error", self._contradiction(), self.replay(self.contradicted))]
        declared = ("exact" if self._is_exact else "upper") if self.doubt.pairs else None
        fields = Integrated(
            declared=declared,
            finishes=FINISHES,
            differing=self.differing,
            expected=FINISHES * self.total if self.doubt.pairs else None,
            contradicted=self.contradicted is not None,
            body=self.body,
        )
        return replace(found, fields=IntegratedAnswer(fields), findings=findings)

    def fields_of_all(self, fields: msgspec.Struct, every: Sequence[Any]) -> msgspec.Struct:
        """Add up the finishes of all cells; of their bodies return the one of which least is known."""
        assert isinstance(fields, IntegratedAnswer)
        found: list[Integrated] = [one.integrated for one in every]
        expected = [one.expected for one in found if one.expected is not None]
        total = replace(
            fields.integrated,
            differing=sum(one.differing for one in found),
            expected=sum(expected) if expected else None,
            contradicted=any(one.contradicted for one in found),
            body=max((one.body for one in found if one.body), key=lambda one: one.share, default=None),
        )
        return IntegratedAnswer(total)


def show_cores(bench: Bench, index: int) -> Iterator[Part]:
    """Show both cores of a pair, how likely they finish differently, and how often they do."""
    if bench.unit is not run_integrated:
        return
    first, second = (Half(bench, index, which, finishes=FINISHES) for which in (0, 1))
    if isinstance(first.core, NoOutput) or isinstance(second.core, NoOutput):
        return
    for name, core in (("first", first.core), ("second", second.core)):
        yield Listing(f"{name} core:", [describe(core.copy(), _SHORT)])
    m = declared_mismatch(bench, first.core, second.core, index)
    says = "there is no formula for how likely they finish differently"
    if m is not None:
        steps = bench.subject.finishing
        verb = "is" if steps is not None and steps.is_exact else "is at most"
        says = f"by mismatch, the probability that they finish differently {verb} {m:.6g}"
    yield Words(f"{says}; {count_apart(first, second)} of {FINISHES} fresh r finish them differently")
