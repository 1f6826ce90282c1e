"""rho where the shared randomness acts last: the mean over pairs of how likely their two cores finish differently.

That probability, m, is a number in [0, 1] for each pair, so a bet on their mean decides, with 1/alpha for a threshold.
It is what the subject declares; where that is an upper bound, or nothing, the share of the pair's real finishes that
differ, which has the same mean. A declared m is held against those finishes: if it is contradicted the audit fails,
with a tenth of the error that a fail has. Everything is given m; beside it stands what the finishes say by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from auditor.flow.parts import Listing, Part, Words
from auditor.flow.question import Answer
from auditor.flow.record import Finding, Measure
from auditor.flow.record import Rho as Interval
from auditor.flow.verdict import Verdict
from auditor.flow.wobbles import WATCHED
from auditor.questions.pairs import Pairs, PairsOptions, make_pairs_plan
from auditor.statistics.contradiction import Contradiction
from auditor.statistics.interval import MeanEvidence
from auditor.statistics.outward import at_most
from auditor.subjects.outcome import describe
from auditor.trials.cell import Cell
from auditor.trials.integrated import (
    FINISHES,
    Shown,
    declared_mismatch,
    differ,
    finishes,
    finishing_keys,
    run_integrated,
    why_not,
)
from auditor.trials.trial import Bench, Bottom, Trial

METHOD = "betting confidence sequence, given m"
BY_FINISHES = f"betting confidence sequence on {FINISHES} finishes a pair"
_SHORT = 400  # characters of a core


class Integrated(msgspec.Struct, frozen=True, kw_only=True):
    """What the real finishes of each pair's two cores showed, beside the probability that is declared."""

    declared: str | None  # of m: that it is "exact", or an "upper" bound; None where there is no formula
    finishes: int  # of each pair
    differing: int  # of all
    expected: float | None  # of those pairs that have a formula, by it
    contradicted: bool


class IntegratedAnswer(msgspec.Struct, frozen=True, tag_field="question", tag="rho"):
    """What is known besides the counts."""

    integrated: Integrated
    churn: None = None

    def together(self, others: Sequence[IntegratedAnswer]) -> IntegratedAnswer:
        """Of several cells, the finishes of all."""
        found = [one.integrated for one in others]
        known = [one.expected for one in found if one.expected is not None]
        total = replace(
            self.integrated,
            differing=sum(one.differing for one in found),
            expected=sum(known) if known else None,
            contradicted=any(one.contradicted for one in found),
        )
        return IntegratedAnswer(total)


def settle_integrated(cell: Cell, options: PairsOptions) -> Pairs | None:
    """The inquiry of a cell whose subject declares its last step; None where its outputs are to be counted."""
    finishing = cell.subject.finishing
    if finishing is None or options.no_integrate or why_not(cell):
        return None
    plan = make_pairs_plan(cell, options)
    if plan.budget < plan.least_integrated:
        return None
    cell = replace(cell, watched=WATCHED, unit=run_integrated)
    doubt = Contradiction(FINISHES, both=finishing.is_exact)
    return IntegratedPairs(cell, replace(plan, integrates=True), doubt=doubt)


@dataclass(slots=True)
class IntegratedPairs(Pairs):
    """Pairs of cores: `mean` is of what is held against the target, `coins` of the real finishes alone."""

    coins: MeanEvidence = field(default_factory=MeanEvidence)
    doubt: Contradiction = field(default_factory=lambda: Contradiction(FINISHES, both=True))
    differing: int = 0
    contradicted: int | None = None  # the pair at which there was enough evidence against m

    @property
    def besides(self) -> str:
        return f", and {2 * FINISHES:,} finishes a pair"

    def add(self, cell: int, trial: Trial) -> bool:
        shown = msgspec.convert(trial.payload, Shown)
        share, m = shown.apart / FINISHES, shown.mismatch
        self.differing += shown.apart
        self.coins.add(share)
        self.mean.add(m if m is not None and self._is_exact else share)
        if m is not None:
            self.doubt.add(m, shown.apart)
        if self.contradicted is None and self.doubt.log_e >= -math.log(self.gate.alpha_kept):
            self.contradicted = trial.index
        over = Pairs.add(self, cell, replace(trial, payload=shown.elements))
        self.decided = over or self.contradicted is not None
        return self.decided

    @property
    def _is_exact(self) -> bool:
        finishing = self.cell.subject.finishing
        return finishing is not None and finishing.is_exact

    @property
    def evidence(self) -> MeanEvidence:
        """A formula that was contradicted says nothing of rho."""
        return self.mean if self.contradicted is None else self.coins

    def outcome(self) -> str:
        return Pairs.outcome(self) if self.contradicted is None else "fail"

    def verdict(self) -> Verdict:
        if self.contradicted is None:
            return Pairs.verdict(self)
        return Verdict("fail", self._contradiction(), "formula", self.plan.alpha)

    def _contradiction(self) -> str:
        seen, wrong = self.doubt, at_most(self.plan.cells * self.gate.alpha_kept)
        if seen.impossible:
            what = f"two cores of pair {self.contradicted} finish as the declared mismatch says that they cannot"
            return f"{what}: it is no {'probability' if self._is_exact else 'upper bound'} of what finish does"
        verb = "says about" if self._is_exact else "allows at most"
        return (
            f"the declared mismatch is not true: {seen.seen:,} of {seen.pairs * FINISHES:,} real finishes of "
            f"{seen.pairs:,} pairs differ, and it {verb} {seen.expected:,.1f} (a wrong alarm with probability at most "
            f"{wrong})"
        )

    def rho(self) -> Interval:
        if not self.evidence.n:
            return Interval(None, 0.0, 1.0, self.plan.confidence, METHOD)
        return Interval(*self.of_mean(self.evidence), self.plan.confidence, self._method())

    def _method(self) -> str:
        has_formula = self.doubt.pairs and self._is_exact and self.contradicted is None
        return METHOD if has_formula else BY_FINISHES

    def _rho_measure(self, rho: Interval) -> Measure:
        return Measure("rho", rho.estimate, rho.low, rho.high, rho.confidence, rho.method)

    def answer(self) -> Answer:
        said = Pairs.answer(self)
        findings = [*said.findings]
        if self.coins.n and self._method() == METHOD:
            by = Measure("rho by finishes", *self.of_mean(self.coins), self.plan.confidence, BY_FINISHES)
            said.measures.insert(1, by)
        if self.contradicted is not None:
            findings.append(Finding("formula", "error", self._contradiction(), self.replay(self.contradicted)))
        declared = ("exact" if self._is_exact else "upper") if self.doubt.pairs else None
        fields = Integrated(
            declared=declared,
            finishes=FINISHES,
            differing=self.differing,
            expected=self.doubt.expected if self.doubt.pairs else None,
            contradicted=self.contradicted is not None,
        )
        return replace(said, fields=IntegratedAnswer(fields), findings=findings)


def show_cores(bench: Bench, index: int) -> Iterator[Part]:
    """Both cores of a pair, how likely they finish differently, and how often they do."""
    if bench.unit is not run_integrated:
        return
    cores = [replace(bench, subject=bench.subject.unfinished).run(index, which) for which in (0, 1)]
    if any(type(core) is Bottom for core in cores):
        return
    for name, core in zip(("first", "second"), cores, strict=True):
        yield Listing(f"{name} core:", [describe(core, _SHORT)])
    m = declared_mismatch(bench, cores[0], cores[1], index)
    keys = finishing_keys(bench, index)[1:]
    first, second = (
        [bench.settled(one) for one in finishes(bench, core, keys, index, i)] for i, core in enumerate(cores)
    )
    apart = sum(map(differ, first, second))
    says = "there is no formula for how likely they finish differently"
    if m is not None:
        finishing = bench.subject.finishing
        verb = "is" if finishing is not None and finishing.is_exact else "is at most"
        says = f"by mismatch, the probability that they finish differently {verb} {m:.6g}"
    yield Words(f"{says}; {apart} of {FINISHES} fresh r finish them differently")
