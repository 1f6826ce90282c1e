"""What does a claim cost in rows? The smallest size at which it holds, beside what theorems and limits say.

Two claims share the pairs: that rho is at most the target, and that no more runs are inaccurate than the subject
allows. Every size spends its share of the error on every claim, so that all brackets hold together. A subject that
declares its last step is held against the limits by means, which vary less than coins and so need fewer pairs.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec.structs import replace

from auditor.errors import AuditorError, BadValue, UsageError, check_count
from auditor.flow.fitness import redrawn_from
from auditor.flow.question import Answer, Outlook, Question, Steps, Work
from auditor.flow.record import CellRow, Finding, Measure, Record
from auditor.flow.verdict import (
    DEFAULT_TARGET,
    MAX_PAIRS,
    Plan,
    Verdict,
    check_confidence,
    check_target,
    error_probability,
    least_budget,
    least_pairs,
)
from auditor.questions.cell_inquiries import (
    Counted,
    CountsCells,
    count_cell,
    load_asked,
    with_own_seed,
    with_settings,
)
from auditor.questions.price.answer import (
    CLAIMED,
    PriceAnswer,
    PricedClaim,
    answer_of,
    not_found,
    price_parts,
    size_text,
)
from auditor.request import NO_INTEGRATE, RHO, SCORE, SURE, Options, Request, option
from auditor.sources.datasets import Dataset
from auditor.statistics.bracket import FARTHEST, MOST_PROBES, Bracket, least_allowed
from auditor.statistics.digits import exact, sure
from auditor.statistics.gate import Gate
from auditor.subjects.subject import Subject
from auditor.trials.cell import Cell, make_cell
from auditor.trials.integrated import is_integrated
from auditor.trials.trial import Bench, Trial

PAIRS_TIMES_LIMIT = 2000
PAIRS_INTEGRATED = 200  # times 1 / limit, where pairs are no coins
_SOMEWHERE = 1000  # where a search starts if nobody declares a size
_A_SIZE = 4  # no size gets more than 1/4 of a claim's pairs
_BLOCK = 16


class PriceOptions(Options, frozen=True, kw_only=True):
    """The options of price."""

    rho: Annotated[float | None, RHO] = None
    score: Annotated[Any, SCORE] = None
    pairs: Annotated[
        int | None,
        option(
            "Maximum number of pairs in all (default: 2000 / rho, and 2000 / delta more for a subject that declares "
            "that at most a share delta of its runs are inaccurate; 200 / rho and 200 / delta for one that declares "
            "its last step).",
            "N",
            SURE,
        ),
    ] = None
    most: Annotated[
        int | None, option("Largest number of rows that is tried (default: no limit).", "M", SURE, basic=False)
    ] = None
    no_integrate: Annotated[bool, NO_INTEGRATE] = False


class Claim(msgspec.Struct):
    """One claim, the gate that every size is held against, and the bracket so far."""

    name: str
    gate: Gate
    budget: int
    left: int
    bracket: Bracket = msgspec.field(default_factory=Bracket)
    shown: dict[int, str] = {}  # "pass" or "fail" by size, where it was decided

    def passes(self, size: int, one: Counted) -> bool | None:
        """Return what the counts of a size say, None if they leave it open.

        An outcome is kept: the other claim may run more pairs there, which take nothing back."""
        passes, fails = self._sides(one)
        if not passes and not fails:
            return None
        self.shown[size] = "pass" if passes else "fail"
        return passes

    def _sides(self, one: Counted, times: float = 1.0) -> tuple[bool, bool]:
        """Return whether the evidence of a size is enough for the claim, and whether it is enough against it; or would
        be with so many times the pairs, if they showed what these did."""
        is_rho, gate = self.name == "reproducible", self.gate
        if mean := one.mean if is_rho else one.inaccurate:
            mean = mean if times == 1 else mean.continued(round(times * mean.n))
            passes = mean.log_e_pass(gate.target) >= -math.log(gate.alpha_pass)
            return passes, mean.log_e_fail(gate.target) >= -math.log(gate.alpha_fail)
        n, k = one.counts if is_rho else (one.tally.runs, one.tally.failures)
        counts = round(times * n), round(times * k)
        return n > 0 and gate.is_pass(*counts), n > 0 and gate.is_fail(*counts)

    def is_futile(self, one: Counted) -> bool:
        """True if a size has had a good part of its pairs, and not even twice all of them would decide it if they
        showed what these did: others need the rest. An answer may stay open for any reason, so no error is spent."""
        done, most = one.tally.pairs, self.budget // _A_SIZE
        return done >= most // _A_SIZE and not any(self._sides(one, times=2 * most / done))

    def more(self, done: int) -> int:
        """Return how many pairs a size gets next, of which `done` were run there."""
        return min(max(_BLOCK, done // 8), self.left, self.budget // _A_SIZE - done)


def make_claims(
    limits: Mapping[str, float], pairs: int | None, confidence: float, *, integrates: bool = False
) -> tuple[Plan, list[Claim]]:
    """Divide pairs among the claims by how rare their events are; BadValue if even a spotless size could not pass."""
    # Each claim asks at most so many sizes, but may ask those of the other: any may err on any claim.
    alpha = error_probability(confidence) / (len(limits) ** 2 * MOST_PROBES)
    rarity = {name: 1 / limit for name, limit in limits.items()}
    times = PAIRS_INTEGRATED if integrates else PAIRS_TIMES_LIMIT
    total = times * sum(rarity.values()) if pairs is None else pairs
    # Of means the rarer claim gets less than its part: it comes last, and has the pairs of the other at their sizes.
    weights = {name: math.sqrt(rare) if integrates else rare for name, rare in rarity.items()}
    budgets = {name: math.floor(total * weight / sum(weights.values())) for name, weight in weights.items()}
    budgets["reproducible"] += math.ceil(total - 1e-9) - sum(budgets.values())
    if total > MAX_PAIRS:
        raise BadValue("rho", min(limits.values()), f"would take more than {MAX_PAIRS:.0e} pairs: give --pairs")
    least = partial(least_pairs, design="anytime") if integrates else least_budget
    short = max(_A_SIZE * least(limits[name], alpha) / budgets[name] for name in limits)
    if short > 1:
        needed = math.ceil(short * total)
        raise BadValue("pairs", pairs, f"is too few to show that any size is enough: use --pairs {needed} or more")
    # Both claims look at the pairs of a size, so that either may see as many as the other asked for.
    most = None if integrates else max(budgets.values()) // _A_SIZE
    claims = [Claim(name, Gate(limits[name], alpha, budget=most), budgets[name], budgets[name]) for name in limits]
    target, budget = float(limits["reproducible"]), sum(budgets.values())
    plan = Plan(target, float(confidence), "search", budget, limits.get("accurate"), integrates=integrates)
    return plan, claims


class _Spent(Exception):
    """Nothing is left to ask a claim with."""


@dataclass(slots=True)
class PriceInquiry(CountsCells):
    """A search for each claim, one after the other; sizes that both ask have their pairs in common. A subject that
    draws what its theorem asks for is scaled, instead of being given a size."""

    request: Request
    subject: Subject
    start: int  # the size that is asked first
    is_scaled: bool
    limits: Mapping[str, float]
    pairs: int | None  # that were asked for
    most: int | None  # rows that are tried
    bounds: Mapping[str, int]
    plan: Plan
    claims: list[Claim]
    counted: list[Counted] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)  # of the cells, by the size that was asked
    unopened: dict[int, UsageError] = field(default_factory=dict)  # why there is no cell of a size that was asked
    begun: list[Claim] = field(default_factory=list)
    asking: tuple[int, str] = (0, "")  # the cell and the claim that are being asked

    def __post_init__(self) -> None:
        """Open the first size, so that there is a first cell."""
        self.open(self.start)
        self.asking = 0, self.claims[0].name

    @property
    def asks(self) -> str:
        """What is asked, in a sentence, and how many pairs it takes at most."""
        rho = exact(self.plan.target or 0.0)
        return f"how many rows does rho at most {rho} take? At most {self.plan.budget:,} pairs in all"

    @property
    def besides(self) -> str:
        """What makes other sizes take longer, for the line that says how long it may take."""
        size = f"{self.cells[0].size:,}"
        more = f" if {size} rows do; if not, up to {FARTHEST} times as many are tried, which take longer"
        return more + self.finishes

    def open(self, size: int) -> int:
        """Return the place of a size's cell, which it has from the first time on that it is asked."""
        if size not in self.places:
            request, subject = self.request, self.subject
            if self.is_scaled and size != self.start:
                scale = subject.settings["sample_scale"] * size / self.start
                subject = with_settings(subject, {"sample_scale": scale})
            rows = None if self.is_scaled else size
            cell = make_cell(request.question, subject, request.source, request.options, size=rows)
            varies = ("sample_scale",) if self.is_scaled and size != self.start else ()
            cell = replace(cell, overridden=tuple(one for one in cell.overridden if one[0] != "size"), varies=varies)
            cell = with_own_seed(cell, len(self.counted), request.options.seed, f"{cell.size:,} rows")
            self.places[size] = len(self.counted)
            self.counted.append(count_cell(cell, self.plan.confidence, integrates=self.plan.integrates))
        return self.places[size]

    def opened(self, cell: int, bench: Bench) -> None:
        """Take note of the bench of a size; without a known truth, accuracy is not asked about."""
        CountsCells.opened(self, cell, bench)
        if cell == 0 and not bench.judges and len(self.limits) > 1:  # nobody knows the truth: one claim is left
            self.limits = {"reproducible": self.limits["reproducible"]}
            integrates = self.plan.integrates
            self.plan, self.claims = make_claims(self.limits, self.pairs, self.plan.confidence, integrates=integrates)

    def steps(self) -> Steps:
        """Ask each claim about the sizes that its bracket proposes, until it is found or its pairs are spent."""
        near: int | None = None  # where the claim before was found
        for claim in self.claims:
            self.begun.append(claim)
            sizes = claim.bracket.sizes(self.start, near)
            with suppress(StopIteration, _Spent):
                size = next(sizes)
                while True:
                    size = sizes.send((yield from self._ask(claim, size)))
            near = claim.bracket.high

    def _ask(self, claim: Claim, size: int) -> Generator[Sequence[Work], Sequence[Iterator[Trial]], bool | None]:
        """Run pairs at a size until its gate decides, or it has had its part of them."""
        if (claim.left <= 0 or (self.most is not None and size > self.most)) and size not in self.places:
            raise _Spent
        # A size that cannot be run is too small; above a size that can be run it is no answer.
        unanswered = False if size < self.start else None
        try:
            place = self.open(size)
        except UsageError as error:  # a subject may have no such size: a horizon that is shorter, say
            self.unopened[size] = error
            return unanswered
        one, self.asking = self.counted[place], (place, claim.name)
        while one.error is None and (passes := claim.passes(size, one)) is None:
            if claim.left <= 0:
                raise _Spent
            done = one.tally.pairs
            more = claim.more(done)
            if more <= 0 or claim.is_futile(one):
                return None
            [trials] = yield [Work(place, range(done, done + more))]
            for trial in trials:
                one.add(trial)
            claim.left -= one.tally.pairs - done
        return unanswered if one.error else passes

    def failed(self, cell: int, error: AuditorError) -> None:
        """Count a size at which the subject does not run as too small.

        The error is raised if it is the first size, or if pairs of this size have already run.
        """
        one = self.counted[cell]
        if one.tally.pairs:
            error.args = (f"at {one.cell.size:,} rows: {error}",)
        if cell == 0 or one.tally.pairs:
            raise error
        one.error = error

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this inquiry from others with the same plan and cells, for the ledger."""
        return {"start": self.start, "pairs": self.pairs, "most": self.most, "limit": self.plan.target}

    def outlook(self) -> Outlook:
        """Say how far the search is: which claim it asks about, and at which size."""
        place, claim = self.asking
        one = self.counted[place]
        words = f"{claim} at {one.cell.size:,} rows? {one.tally.pairs:,} pairs"
        return Outlook(self.totals[0], self.plan.budget, words)

    def verdict(self) -> Verdict:
        """Return the verdict: between which sizes the target is first met."""
        found, alpha = self._priced(), self.plan.alpha
        if above := self._contradictions(found):
            return Verdict("fail", above[0].message, "mismatches", alpha)
        missing = next((one for one in found if one.high is None), None)
        if missing or len(found) < len(self.claims):
            run = [one.cell.size for one in self.counted if one.tally.pairs]
            words = not_found(missing or found[-1], run, self.plan.budget) if found else "no size was tried"
            return Verdict("inconclusive", words, "budget", alpha)
        sizes = (f"{CLAIMED[one.claim]} {exact(one.limit)} takes {size_text(one.low, one.high)} rows" for one in found)
        words = f"{'; '.join(sizes)}{self._drawn_from(found)} ({sure(self.plan.confidence)}{self.trusted})"
        return Verdict("pass", words, "mismatches", alpha)

    def _drawn_from(self, found: Sequence[PricedClaim]) -> str:
        """Say how few rows there are to draw from, where an answer is beyond them."""
        bench = self.counted[0].bench
        most = max((one.high or 0 for one in found), default=0)
        rows = redrawn_from(bench.source, most) if bench else None
        return "" if rows is None else f", drawn with replacement from the {rows:,} of the data set"

    def _priced(self) -> list[PricedClaim]:
        """Return the bracket of each claim that was begun, in rows: a subject that is scaled draws about as many as
        were asked for."""

        def rows(size: int | None) -> int | None:
            return self.counted[self.places[size]].cell.size if size in self.places else size

        return [
            PricedClaim(one.name, one.gate.target, rows(one.bracket.low), rows(one.bracket.high)) for one in self.begun
        ]

    @property
    def _promised(self) -> int | None:
        """The size that the subject's theorem promises; None if it names none."""
        return self.subject.declares("size") if self.subject.declared.theorem else None

    def answer(self) -> Answer:
        """Return what the record says: the sizes for each claim, and the cells that were measured."""
        found, confidence, first = self._priced(), self.plan.confidence, self.claims[0]
        pairs, mismatches = self.totals
        rows, measures = list[CellRow](), list[Measure]()
        for size, place in self.places.items():
            # What a gate showed holds together with all that the others did; a band of its own would be a claim more.
            shown, limit = first.shown.get(size, "inconclusive"), first.gate.target
            band = {"pass": (0.0, limit), "fail": (limit, 1.0)}.get(shown, (0.0, 1.0))
            rows.append(self.counted[place].row(band, confidence, shown))
        for one in found:
            if one.high is not None:
                limits = (float((one.low or 0) + 1), float(one.high), confidence)
                name = f"rows for {CLAIMED[one.claim]} {exact(one.limit)}"
                measures.append(Measure(name, None, *limits, f"a gate for each size{self.trusted}"))
        plain = self.subject.declares("plain")
        return Answer(
            PriceAnswer(
                asked=found,
                plain=plain,
                promised=self._promised,
                bounds=dict(self.bounds),
                averages_r=self.plan.integrates,
                tried=[*self.places],
            ),
            measures=measures,
            rows=rows,
            pairs=pairs,
            mismatches=mismatches,
            findings=[*self._contradictions(found), *self._refusals()],
        )

    def _contradictions(self, found: Sequence[PricedClaim]) -> list[Finding]:
        """Find claims that a theorem's own size is shown not to be enough for."""
        promised = self._promised
        return [
            Finding(
                "above-promise",
                "error",
                f"{CLAIMED[one.claim]} {exact(one.limit)} takes more than {one.low:,} rows, where "
                f"{self.subject.declared.theorem} promises it with {promised:,}",
            )
            for one in found
            if promised is not None and one.low is not None and one.low >= promised
        ]

    def _refusals(self) -> Iterator[Finding]:
        """Name the largest size at which the subject did not run, and why."""
        run = {size: error for size, place in self.places.items() if (error := self.counted[place].error)}
        if refused := {**self.unopened, **run}:
            size, error = max(refused.items(), key=lambda one: one[0])
            why = error.details.rpartition("\n")[2] or f"{type(error).__name__}: {error}"
            yield Finding("refused", "info", f"at about {size:,} rows it does not run: {why}")


class Price(Question):
    """From how many rows on does TARGET keep its claims? Runs its code.

    The report shows beside the sizes that were found what its theorem asks for, and what no algorithm can do with. It
    is taken for granted that more rows never hurt. A subject with a parameter rho is given the target as its rho.

    Example: python -m auditor price algorithms.statistical_query:rstat --rho 0.1

    Exit codes: 0 found, 1 the theorem's own size is too small, 2 usage, 3 not found within the pairs, 4 a run failed.
    """

    name: ClassVar[str] = "price"
    Options: ClassVar[type[PriceOptions]] = PriceOptions
    instead: ClassVar[Mapping[str, str]] = {"fixed": "pairs"}

    def begin(self, request: Request) -> PriceInquiry:
        """Settle the first size and the limit, and begin the search for a size."""
        options: PriceOptions = request.options
        check_confidence(options.confidence)
        if options.pairs is not None:
            check_count("pairs", options.pairs, least=1, example=20_000)
        if options.most is not None:
            check_count("most", options.most, least=1, example=100_000)
        if options.size is not None:
            raise UsageError(f"--size {options.size}: the size is what price looks for; leave it out")
        subject = _at_target(request)
        limit = options.rho if options.rho is not None else subject.declares("claimed") or DEFAULT_TARGET
        check_target(limit)
        if limit < 1 / MAX_PAIRS:
            raise BadValue("rho", limit, f"would take more than {MAX_PAIRS:.0e} pairs, which no search finishes")
        delta = subject.declares("delta") if subject.declared.accuracy else None
        limits = {"reproducible": limit} | ({"accurate": delta} if delta else {})
        declared = subject.declares("size")
        is_scaled = "sample_scale" in subject.settings and declared is not None
        start = _first_size(request, subject) if declared is None else declared
        first = make_cell(request.question, subject, request.source, options, size=start)
        integrates = is_integrated(first, no_integrate=options.no_integrate)
        plan, claims = make_claims(limits, options.pairs, options.confidence, integrates=integrates)
        bounds = {name: size for name in subject.declared.bounds if (size := _least(subject, name, limit))}
        return PriceInquiry(
            request, subject, start, is_scaled, limits, options.pairs, options.most, bounds, plan, claims
        )

    def title(self, record: Record) -> str:
        """Return the first line of the report."""
        return f"PRICE  {record.subject}  of rho at most {exact(record.target or 0.0)}"

    parts = staticmethod(price_parts)

    def cell_of(self, request: Request, record: Record, row: CellRow) -> Cell:
        """Return the cell of a row, by the size that was asked for."""
        inquiry = self.begin(request)
        for size in answer_of(record).tried:
            inquiry.open(size)
        return inquiry.cells[record.cells.index(row)]


def _first_size(request: Request, subject: Subject) -> int:
    """Return the size that is asked first where none is declared: at most the rows of a data set."""
    source = make_cell(request.question, subject, request.source, request.options, size=_SOMEWHERE).source
    return min(_SOMEWHERE, source.default_size) if isinstance(source, Dataset) else _SOMEWHERE


def _least(subject: Subject, name: str, limit: float) -> int | None:
    """Return the least size at which a lower bound of rho (by its name, such as a frontier) is within the limit: no
    algorithm can do with less. A bound may say nothing below some size."""

    def allows(size: int) -> bool:
        bound = subject.bound(name, size)
        return bound is not None and bound <= limit

    return least_allowed(allows)


def _at_target(request: Request) -> Subject:
    """Load the subject, and give its parameter rho the target, unless it has none or its user has set it."""
    params, rho = request.options.params, request.options.rho
    subject = load_asked(request, params)
    if rho is None or "rho" not in subject.settings or "rho" in subject.params:
        return subject
    return load_asked(request, {**params, "rho": rho})
