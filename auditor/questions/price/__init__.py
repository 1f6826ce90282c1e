"""What does a claim cost in rows? The smallest size at which it holds, beside what theorems and limits say.

Two claims share the pairs: that rho is at most the target, and that no more runs are inaccurate than the subject
allows. Every size spends its share of the error on every claim, so that all brackets hold together.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from msgspec.structs import replace

from auditor.errors import AuditorError, BadValue, UsageError, check_count
from auditor.flow.parts import Part
from auditor.flow.plan import DEFAULT_TARGET, MAX_PAIRS, Plan, check_confidence, check_target
from auditor.flow.question import Answer, InquiryBase, Outlook, Work
from auditor.flow.record import CellRow, Finding, Measure, Record
from auditor.flow.verdict import Verdict
from auditor.questions.counted import Counted, load, of_its_own, totals
from auditor.questions.one_pair import AskedOfPairs
from auditor.questions.over_cells import with_settings
from auditor.questions.price.claims import Claim, make_claims
from auditor.questions.price.parts import CLAIMED, PriceAnswer, PricedClaim, not_found, price_parts, size_text
from auditor.request import RHO, SURE, Options, Request, option
from auditor.statistics.bracket import least_allowed
from auditor.subjects.subject import Subject
from auditor.trials.cell import Cell, make_cell
from auditor.trials.trial import Bench, Trial

_SOMEWHERE = 1000  # where a search starts if nobody declares a size


class PriceOptions(Options, frozen=True, kw_only=True):
    """What a price takes."""

    rho: Annotated[float | None, RHO] = None
    pairs: Annotated[int | None, option("Pairs in all, at most.  [default: 2000 / rho and / delta]", "N", SURE)] = None


class _Spent(Exception):
    """Nothing is left to ask a claim with."""


@dataclass(slots=True)
class PriceInquiry(InquiryBase):
    """A search for each claim, one after the other; sizes that both ask have their pairs in common. A subject that
    draws what its theorem asks for is scaled, instead of being given a size."""

    request: Request
    subject: Subject
    start: int  # the size that is asked first
    is_scaled: bool
    limits: Mapping[str, float]
    pairs: int | None  # that were asked for
    bounds: Mapping[str, int]
    plan: Plan
    claims: list[Claim]
    counted: dict[int, Counted] = field(default_factory=dict)  # by size, in the order of the cells
    begun: list[Claim] = field(default_factory=list)
    at: tuple[int, str] = (0, "")  # the size and the claim that are being asked
    _search: Iterator[Work] | None = None

    @property
    def cells(self) -> Sequence[Cell]:
        return [one.cell for one in self.counted.values()]

    @property
    def asks(self) -> str:
        return f"how many rows does rho at most {self.plan.target:g} take? At most {self.plan.budget:,} pairs in all"

    def open(self, size: int) -> Counted:
        """A size, with a cell of its own from the first time on that it is asked."""
        if size not in self.counted:
            self.counted[size] = Counted(self._cell(size), self.plan.confidence)
        return self.counted[size]

    def _cell(self, size: int) -> Cell:
        request, subject = self.request, self.subject
        if self.is_scaled and size != self.start:
            scale = subject.settings["sample_scale"] * size / self.start
            subject = with_settings(subject, {"sample_scale": scale})
        rows = None if self.is_scaled else size
        cell = make_cell(request.question, subject, request.source, request.options, size=rows)
        cell = replace(cell, overridden=tuple(one for one in cell.overridden if one[0] != "size"))
        return of_its_own(cell, len(self.counted), request.options.seed, f"{cell.size:,} rows")

    def opened(self, cell: int, bench: Bench) -> None:
        self._numbered(cell).bench = bench
        if cell == 0 and not bench.judges and len(self.limits) > 1:  # nobody knows the truth: one claim is left
            self.limits = {"reproducible": self.limits["reproducible"]}
            self.plan, self.claims = make_claims(self.limits, self.pairs, self.plan.confidence)

    def _numbered(self, cell: int) -> Counted:
        return list(self.counted.values())[cell]

    def next(self) -> Sequence[Work]:
        self._search = self._search or self._searched()
        work = next(self._search, None)
        return () if work is None else (work,)

    def _searched(self) -> Iterator[Work]:
        for claim in self.claims:
            self.begun.append(claim)
            sizes = claim.bracket.sizes(self.start)
            with suppress(StopIteration, _Spent):
                size = next(sizes)
                while True:
                    size = sizes.send((yield from self._ask(claim, size)))

    def _ask(self, claim: Claim, size: int) -> Generator[Work, None, bool | None]:
        """Pairs at a size until its gate decides, or it has had its part of them."""
        if claim.left <= 0 and size not in self.counted:
            raise _Spent
        try:
            one, self.at = self.open(size), (size, claim.name)
        except UsageError:
            if not self.counted:
                raise
            return self._unanswered(size)  # a subject may have no such size: a horizon that is shorter, say
        while one.error is None and (passes := claim.passes(size, one)) is None:
            if claim.left <= 0:
                raise _Spent
            done = one.tally.pairs
            more = claim.more(done)
            if more <= 0:
                return None
            yield Work(list(self.counted).index(size), range(done, done + more))
            claim.left -= one.tally.pairs - done
        return self._unanswered(size) if one.error else passes

    def _unanswered(self, size: int) -> bool | None:
        """Of a size that cannot be run: too small; above a size that can it is no answer."""
        return False if size < self.start else None

    def add(self, cell: int, trial: Trial) -> bool:
        self._numbered(cell).add(trial)
        return False

    def failed(self, cell: int, error: AuditorError) -> None:
        """A size at which the subject does not run will not do; the first one must run, and one that ran must go on."""
        one = self._numbered(cell)
        if one.tally.pairs:
            error.args = (f"at {one.cell.size:,} rows: {error}",)
        if cell == 0 or one.tally.pairs:
            raise error
        one.error = error

    def settings(self) -> dict[str, Any]:
        return {"start": self.start, "pairs": self.pairs, "limit": self.plan.target}

    def outlook(self) -> Outlook:
        done, (size, claim) = totals(self.counted.values())[0], self.at
        one = self.counted[size]
        words = f"{claim} at {one.cell.size:,} rows? {one.tally.pairs:,} pairs"
        return Outlook(done, self.plan.budget, words)

    def verdict(self) -> Verdict:
        found, alpha = self._asked(), self.plan.alpha
        if above := self._contradictions(found):
            return Verdict("fail", above[0].message, "mismatches", alpha)
        missing = next((one for one in found if one.high is None), None)
        if missing or len(found) < len(self.claims):
            run = [one.cell.size for one in self.counted.values() if one.tally.pairs]
            words = not_found(missing or found[-1], run, self.plan.budget) if found else "nothing was asked"
            return Verdict("inconclusive", words, "budget", alpha)
        sizes = (f"{CLAIMED[one.claim]} {one.limit:g} takes {size_text(one.low, one.high)} rows" for one in found)
        return Verdict("pass", "; ".join(sizes), "mismatches", alpha)

    def _asked(self) -> list[PricedClaim]:
        return [
            PricedClaim(claim.name, claim.gate.target, self._rows(claim.bracket.low), self._rows(claim.bracket.high))
            for claim in self.begun
        ]

    def _rows(self, size: int | None) -> int | None:
        """A subject that is scaled draws about as many rows as were asked for."""
        return None if size is None else self.counted[size].cell.size

    def answer(self) -> Answer:
        subject, found = self.subject, self._asked()
        pairs, mismatches = totals(self.counted.values())
        fields = PriceAnswer(
            asked=found, plain=subject.declares("plain"), promised=_promised(subject), bounds=dict(self.bounds)
        )
        return Answer(
            fields,
            measures=[_measure(one, self.plan.confidence) for one in found if one.high is not None],
            rows=[self._row(size, one) for size, one in self.counted.items()],
            pairs=pairs,
            mismatches=mismatches,
            findings=[*self._contradictions(found), *self._refusals()],
        )

    def _row(self, size: int, one: Counted) -> CellRow:
        """What a gate showed holds together with all that the others did; a band of its own would be one claim more."""
        claim = self.claims[0]
        shown, limit = claim.shown.get(size, "inconclusive"), claim.gate.target
        band = {"pass": (0.0, limit), "fail": (limit, 1.0)}.get(shown, (0.0, 1.0))
        return one.row(band, self.plan.confidence, shown)

    def _refusals(self) -> Iterator[Finding]:
        """The largest size at which the subject did not run, and why."""
        refused = [(size, one.error) for size, one in self.counted.items() if one.error]
        if refused:
            size, error = max(refused, key=lambda one: one[0])
            why = error.details.rpartition("\n")[2] or f"{type(error).__name__}: {error}"
            yield Finding("refused", "info", f"at about {size:,} rows it does not run: {why}")

    def _contradictions(self, found: Sequence[PricedClaim]) -> list[Finding]:
        """A theorem's own size that is shown not to do."""
        subject = self.subject
        promised = _promised(subject)
        return [
            Finding(
                "above-promise",
                "error",
                f"{one.claim} at {one.limit:g} takes more than {one.low:,} rows, and {subject.declared.theorem} "
                f"promises it at {promised:,}",
            )
            for one in found
            if promised is not None and one.low is not None and one.low >= promised
        ]


def _measure(one: PricedClaim, confidence: float) -> Measure:
    assert one.high is not None
    limits = (float((one.low or 0) + 1), float(one.high))
    return Measure(f"rows for {CLAIMED[one.claim]} {one.limit:g}", None, *limits, confidence, "a gate for each size")


def _promised(subject: Subject) -> int | None:
    return subject.declares("size") if subject.declared.theorem else None


class Price(AskedOfPairs):
    """From which size on does TARGET keep its claim, beside what theorem and limits say? Runs its code.

    It is taken for granted that more rows never hurt. A subject with a parameter rho is given the target as its rho.

    Example: python -m auditor price algorithms.statistical_query:rstat --rho 0.1

    Exit codes: 0 found, 1 the theorem's own size is too small, 2 usage, 3 not found within the pairs, 4 a run failed.
    """

    name: ClassVar[str] = "price"
    Options: ClassVar[type[PriceOptions]] = PriceOptions
    instead: ClassVar[Mapping[str, str]] = {"fixed": "pairs"}

    def begin(self, request: Request) -> PriceInquiry:
        options: PriceOptions = request.options
        check_confidence(options.confidence)
        if options.pairs is not None:
            check_count("pairs", options.pairs, least=1, example=20_000)
        if options.size is not None:
            raise UsageError(f"--size {options.size}: the size is what price looks for; leave it out")
        subject = _at_target(request)
        limit = options.rho if options.rho is not None else subject.declares("claimed") or DEFAULT_TARGET
        check_target(limit)
        if limit < 1 / MAX_PAIRS:
            raise BadValue("rho", limit, f"would take more than {MAX_PAIRS:.0e} pairs, which no search finishes")
        delta = subject.declares("delta") if subject.declared.accuracy else None
        limits = {"reproducible": limit} | ({"accurate": delta} if delta else {})
        plan, claims = make_claims(limits, options.pairs, options.confidence)
        declared = subject.declares("size")
        start, is_scaled = declared or _SOMEWHERE, "sample_scale" in subject.settings and declared is not None
        bounds = {name: size for name in subject.declared.bounds if (size := _least(subject, name, limit))}
        asked = (request, subject, start, is_scaled, limits, options.pairs, bounds)
        inquiry = PriceInquiry(*asked, plan, claims, at=(start, claims[0].name))
        inquiry.open(start)
        return inquiry

    def title(self, record: Record) -> str:
        return f"PRICE  {record.subject}  of rho at most {record.target:g}"

    def parts(self, record: Record) -> Iterator[Part]:
        yield from price_parts(record)


def _least(subject: Subject, name: str, limit: float) -> int | None:
    """The least size that a bound does not exclude; it may say nothing below some size."""

    def allows(size: int) -> bool:
        bound = subject.bound(name, size)
        return bound is not None and bound <= limit

    return least_allowed(allows)


def _at_target(request: Request) -> Subject:
    """A subject with a parameter rho is asked to reach the target, unless its user says what to ask of it."""
    params, rho = request.options.params, request.options.rho
    subject = load(request, params)
    if rho is None or "rho" not in subject.settings or "rho" in subject.params:
        return subject
    return load(request, {**params, "rho": rho})
