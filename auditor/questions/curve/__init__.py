"""rho against something that varies: bands that hold all at once, the exponent, and where rho is worst.

Every cell keeps an anytime-valid band, so pairs may go wherever the counts so far point, and the band still holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import starmap
from typing import Annotated, Any, ClassVar

from auditor.errors import AuditorError, UsageError, check_count
from auditor.flow.question import Answer, Outlook, Question, Steps, Work
from auditor.flow.record import Finding, Measure, Record, RhoInterval
from auditor.flow.run import failure_finding
from auditor.flow.verdict import Plan, Verdict, check_confidence, error_probability
from auditor.questions.cell_inquiries import Counted, CountsCells, count_cell, with_own_seed
from auditor.questions.curve.answer import CurveAnswer, Fitted, WorstValue, answer_of, curve_parts, value_text
from auditor.questions.curve.axis import Axis, make_axis, make_points
from auditor.request import NO_INTEGRATE, SCORE, SURE, Options, Request, option
from auditor.statistics import power_law
from auditor.statistics.digits import at_least, at_most
from auditor.trials.integrated import is_integrated

PAIRS_A_POINT = 1000
PAIRS_INTEGRATED = 500  # for each value of a subject that declares its last step, whose pairs are no coins
_CONFIRMING = 4  # 1/4 of a search's pairs confirm what it found
_FIRST = 32  # pairs that each cell gets before any is preferred
_SHARE = 8  # a block is 1/8 of the cell's pairs: few looks at the bands, little given to the wrong cell


class CurveOptions(Options, frozen=True, kw_only=True):
    """The options of curve."""

    vary: Annotated[
        Any,
        option(
            "What varies: size=100:1e6:log12, tau=0.05,0.1, or p=0.4:0.6:lin21 for {p} in --source (required).",
            "NAME=VALUES",
            python='What varies, with its values: {"size": [100, 1000]}; or, as on the command line, '
            '"size=100:1e6:log12", "tau=0.05,0.1", or "p=0.4:0.6:lin21" for {p} in the source (required).',
        ),
    ]
    score: Annotated[Any, SCORE] = None
    worst: Annotated[bool, option("Search for the value with the largest rho, and confirm it on fresh pairs.")] = False
    pairs: Annotated[
        int | None,
        option(
            "Number of pairs in all (default: 1000 for each value, or 500 for a subject that declares its last step).",
            "N",
            SURE,
        ),
    ] = None
    no_integrate: Annotated[bool, NO_INTEGRATE] = False


@dataclass(slots=True)
class CurveInquiry(CountsCells):
    """Pairs at every value. With `worst` they go where rho may be largest, and fresh ones confirm it.

    Its cells are the values in order, then the confirmation."""

    axis: Axis
    counted: list[Counted]
    plan: Plan
    each: float  # the confidence of each band alone, and of the exponent
    worst: bool
    seed: int
    promised: list[float | None]
    bounds: list[dict[str, float]]
    place: int = 0  # of the value that is confirmed
    last: int = 0  # the cell of the last pair

    @property
    def points(self) -> list[Counted]:
        """The cells of the curve, one for each value."""
        return self.counted[: len(self.axis.values)]

    @property
    def confirmed(self) -> Counted | None:
        """The cell on which the worst value was confirmed by fresh pairs; None if there is none."""
        return self.counted[-1] if len(self.counted) > len(self.axis.values) else None

    @property
    def asks(self) -> str:
        """What is asked, in a sentence, and how many pairs it takes."""
        values = f"{len(self.points)} values of {self.axis.name}"
        return f"{values}, {self.plan.budget:,} pairs in all, where they tell most"

    @property
    def besides(self) -> str:
        """What makes some values take longer, for the line that says how long it may take."""
        least, most = (end(one.cell.size for one in self.points) for end in (min, max))
        return (f" with {least:,} rows; more rows, up to {most:,}, take longer" if least < most else "") + self.finishes

    def steps(self) -> Steps:
        """Give each value some pairs at first, then a block to whichever tells most; at last confirm the worst."""
        reserved = self.plan.budget // _CONFIRMING if self.worst else 0
        handed = dict.fromkeys(self._running(), _FIRST)  # pairs handed out, by value
        yield from self._run(dict.fromkeys(handed, range(_FIRST)))
        while running := self._running():
            # A value that did not get as far as its first pair has spent none.
            spent = (n for place, n in handed.items() if not self.points[place].error or self.points[place].bench)
            left = self.plan.budget - reserved - sum(spent)
            if left <= 0:
                break
            place = max(running, key=lambda one: self._priority(self.points[one]))
            done = self.points[place].tally.pairs
            block = min(left, max(_FIRST, done // _SHARE))
            handed[place] += block
            yield from self._run({place: range(done, done + block)})
        if self.worst and running:
            # The value with the largest lower limit, under a seed that no cell had: these counts owe nothing to having
            # been picked.
            self.place = max(running, key=lambda place: self.points[place].band)
            cell, number = self.points[self.place].cell, len(self.points)
            again = with_own_seed(cell, number, self.seed, f"{cell.name}, confirmed")
            self.counted.append(count_cell(again, self.each, integrates=self.plan.integrates))
            yield from self._run({number: range(reserved)})

    def _run(self, wanted: Mapping[int, range]) -> Steps:
        """Run these pairs of each cell, and count them."""
        for cell, trials in zip(wanted, (yield [*starmap(Work, wanted.items())]), strict=True):
            for trial in trials:
                self.last = cell
                self.counted[cell].add(trial)

    def _running(self) -> list[int]:
        """The values that can be run."""
        return [place for place, one in enumerate(self.points) if one.error is None]

    def _priority(self, one: Counted) -> float:
        """Return how large rho may still be, or how wide the band is as it is drawn: on a log axis what lies below the
        floor is not worth a pair."""
        low, high = one.band
        if self.worst:
            return high
        if not self.axis.is_log:
            return high - low
        floor = len(self.axis.values) / self.plan.budget
        return math.log(max(high, floor)) - math.log(max(low, floor))

    def failed(self, cell: int, error: AuditorError) -> None:
        """End this point, and no other, with what a subject raises."""
        if isinstance(error, UsageError):
            raise error
        self.counted[cell].error = error

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this curve from others with the same plan and cells, for the ledger."""
        values = [str(value) for value in self.axis.shown]
        return {"vary": self.axis.name, "values": values, "worst": self.worst, "pairs": self.plan.budget}

    def outlook(self) -> Outlook:
        """Say how far the audit is, and between which limits rho is at the value that runs now."""
        done, (low, high) = self.totals[0], self.counted[self.last].band
        words = f"{done:,} of {self.plan.budget:,} pairs; "
        words += f"the last where rho is in [{at_least(low, 2)}, {at_most(high, 2)}]"
        return Outlook(done, self.plan.budget, words)

    def verdict(self) -> Verdict:
        """Return the verdict: a pass once all pairs are run, since a curve is asked for and no target."""
        spent, alpha = self.totals[0], self.plan.alpha
        ended = next((one for one in self.counted if one.error), None)
        if ended:
            return Verdict("error", f"{ended.cell.name}: {ended.error}", "error", alpha)
        above = self._contradictions()
        if above:
            return Verdict("fail", above[0].message, "mismatches", alpha)
        if not all(one.tally.pairs for one in self.points) or (self.worst and not self.confirmed):
            return Verdict("inconclusive", f"{spent:,} of {self.plan.budget:,} pairs were run", "budget", alpha)
        return Verdict("pass", self._course(), "budget", alpha)

    def _course(self) -> str:
        """Say between which values rho is largest and smallest, by what was seen."""
        name, shown = self.axis.name, [value_text(value) for value in self.axis.shown]
        rates = [one.estimate or 0.0 for one in self.points]
        most, least = (rates.index(end(rates)) for end in (max, min))
        seen = f"{sum(one.tally.pairs for one in self.points):,} pairs at {len(shown)} values"
        if rates[most] == rates[least]:
            return f"Two runs differ about as often at every value of {name}: rho is about {rates[most]:.3g}, by {seen}"
        high, low = (f"at {name} {shown[at]} (rho is about {rates[at]:.3g})" for at in (most, least))
        return f"Two runs differ most often {high}, and least often {low}, by {seen}"

    def answer(self) -> Answer:
        """Return what the record says: a band for each value, the exponent, and where rho is worst."""
        confidence = self.plan.confidence
        rows = [one.row(one.band, confidence, "pass" if one.tally.pairs else "inconclusive") for one in self.counted]
        worst, fitted = None, self._fitted()
        if one := self.confirmed:
            value = self.axis.shown[self.place]
            worst = WorstValue(value, *one.counts, *one.band, one.cell.seed, one.replay(0))
        # Every band holds at once, so the largest ends of all values that were tried do.
        low, high = max(row.low for row in rows), max(row.high for row in rows[: len(self.points)])
        method = self.method.replace("sequence", "sequences")
        largest = RhoInterval(None, low, high, confidence, method)
        measures = [Measure("largest rho", None, low, high, confidence, largest.method)]
        if fitted and fitted.holds:
            limits = (fitted.estimate, fitted.low, fitted.high, fitted.confidence)
            by = "lines through all bands" if self.plan.integrates else "likelihood-ratio confidence sequence"
            measures.append(Measure("exponent", *limits, by))
        pairs, mismatches = self.totals
        return Answer(
            CurveAnswer(
                averages_r=self.plan.integrates,
                vary=self.axis.name,
                spacing=self.axis.spacing,
                is_log=self.axis.is_log,
                band_confidence=self.each,
                values=self.axis.shown,
                promised=self.promised,
                bounds=self.bounds,
                exponent=fitted,
                worst=worst,
            ),
            measures=measures,
            rows=rows,
            pairs=pairs,
            mismatches=mismatches,
            rho=largest,
            findings=[*self._contradictions(), *self._failures()],
        )

    def _fitted(self) -> Fitted | None:
        """Return the exponent of a power law, where the axis is logarithmic and two values or more have mismatches.

        Its interval is that of a likelihood; of means, which have none, that of the lines through all bands."""
        measured = [(value, one) for value, one in zip(self.axis.values, self.points, strict=True) if one.tally.pairs]
        if not self.axis.is_log or sum((one.estimate or 0.0) > 0 for _, one in measured) < 2:
            return None
        x, counted = zip(*measured, strict=True)
        pairs, bands = [one.tally.pairs for one in counted], [one.band for one in counted]
        differing = [n * (one.estimate or 0.0) for n, one in zip(pairs, counted, strict=True)]
        holds = power_law.is_power_law(x, bands)
        best, low, high = power_law.fit_exponent(x, pairs, differing, error_probability(self.each))
        if not self.plan.integrates:
            return Fitted(best, low, high, self.each, holds)
        low, high = power_law.slopes_through(x, bands)
        return Fitted(min(max(best, low), high), low, high, self.plan.confidence, holds)

    def _contradictions(self) -> list[Finding]:
        """Find where the whole band lies above what was proved. A lower bound is for the worst source alone, and
        contradicts nobody."""
        return [
            Finding(
                "above-promise",
                "error",
                f"at {one.cell.name}, rho is at least {at_least(one.band[0], beside=promised)}, and "
                f"{one.cell.subject.declared.theorem or 'the subject'} says "
                f"that it is at most {at_most(promised, beside=one.band[0])}",
            )
            for one, promised in zip(self.points, self.promised, strict=True)
            if promised is not None and one.band[0] > promised
        ]

    def _failures(self) -> Iterator[Finding]:
        """Say what a subject raised, at which value, and how to see it again."""
        for one in self.counted:
            if one.error:
                message = f"{one.cell.name}: {one.error}\n{one.error.details}".strip()
                found = failure_finding(one.error, one.cell, one.bench.source) if one.bench else None
                yield Finding(found.kind if found else "raised", "error", message, found.replay if found else None)


class Curve(Question):
    """How does rho of TARGET move with its size, a parameter, or an argument of its source? Runs its code.

    All bands hold together with the confidence. Pairs go where the band is widest, or with --worst where rho may be
    largest. The report shows beside them what the subject's theorem promises, and what no algorithm can be below on
    its worst source.

    Example: python -m auditor curve algorithms.statistical_query:rstat --vary size=100:1e6:log12 --sample counts

    Exit codes: 0 measured, 1 rho is above what the theorem promises, 2 usage, 4 a run failed, 130 interrupted.
    """

    name: ClassVar[str] = "curve"
    Options: ClassVar[type[CurveOptions]] = CurveOptions
    instead: ClassVar[Mapping[str, str]] = {"rho": "vary", "fixed": "pairs"}
    cell_word: ClassVar[str] = "value"

    def begin(self, request: Request) -> CurveInquiry:
        """Settle the values of the axis, and begin the curve."""
        options: CurveOptions = request.options
        check_confidence(options.confidence)
        axis, cells = make_points(request, make_axis(options.vary))
        integrates = all(is_integrated(cell, no_integrate=options.no_integrate) for cell in cells)
        usual = (PAIRS_INTEGRATED if integrates else PAIRS_A_POINT) * len(cells)
        budget = usual if options.pairs is None else options.pairs
        check_count("pairs", budget, least=2 * _FIRST * len(cells), example=usual)
        plan = Plan(None, float(options.confidence), "anytime", budget, cells=len(cells), integrates=integrates)
        fitted = axis.is_log and not integrates  # whose interval is not made of the bands
        each = 1 - plan.alpha / (len(cells) + fitted + options.worst)  # bands, exponent, confirmation
        points = [
            count_cell(with_own_seed(cell, place, options.seed, f"{axis.name}={value}"), each, integrates=integrates)
            for place, (value, cell) in enumerate(zip(axis.shown, cells, strict=True))
        ]
        promised = [cell.subject.promised(cell.size) for cell in cells]
        bounds = [cell.subject.bounds(cell.size) for cell in cells]
        return CurveInquiry(axis, points, plan, each, options.worst, options.seed, promised, bounds)

    def title(self, record: Record) -> str:
        """Return the first line of the report."""
        return f"CURVE  {record.subject}  rho against {answer_of(record).vary}"

    parts = staticmethod(curve_parts)
