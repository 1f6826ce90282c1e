"""Why do two runs differ? One cause is taken away, all else left as it was, and rho measured but for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar

from auditor.errors import BadValue, UsageError, check_count
from auditor.flow.parts import Bar, Listing, Part, Words
from auditor.flow.plan import DEFAULT_TARGET, MAX_PAIRS, PAIRS_TIMES_TARGET, Plan, check_confidence, check_target
from auditor.flow.question import QuestionBase
from auditor.flow.record import Record
from auditor.questions.cells import load_asked
from auditor.questions.explain.evidence import make_cells
from auditor.questions.explain.inquiry import TIMES, Explaining
from auditor.questions.explain.parts import bars_of, explain_parts
from auditor.questions.explain.units import AsItIs, look
from auditor.questions.one_pair import show_pair
from auditor.questions.pairs import PairsOptions
from auditor.request import SURE, Request, option
from auditor.statistics.outward import exact
from auditor.trials.cell import Cell, make_cell
from auditor.trials.trial import Bench

_LEAST = 16  # pairs below which no cause can be named


class ExplainOptions(PairsOptions, frozen=True, kw_only=True):
    """What an explanation takes: what `check` does."""

    pairs: Annotated[
        int | None,
        option(
            "Pairs of one experiment; all together take 6 times as many trials at most.  [default: 100 / rho]",
            "MAX",
            SURE,
        ),
    ] = None
    trace: Annotated[
        bool, option("Look for the first local value that differs although its inputs do not: a hint, and slow.")
    ] = False


class Explain(QuestionBase):
    """Why do two runs of TARGET differ on fresh samples with the same r? Runs its code, and says what to change.

    Takes one cause away at a time, leaves all else as it is, and measures what rho would be but for it: hidden state,
    the order of rows, of sets and of sums, last digits, draws out of step, raw numbers, arbitrary names and order, an r
    that does no work, too little data. Each is held against a sham, as many runs with nothing changed. What check would
    refuse, such as hidden state, is evidence here.

    Example: python -m auditor explain algorithms.twins.paper:heavy_hitters_in_order_of_appearance

    Exit codes: 0 the experiments ran, also where no cause is shown; 2 usage, 4 nothing could be run, 130 interrupted.
    """

    name: ClassVar[str] = "explain"
    Options: ClassVar[type[ExplainOptions]] = ExplainOptions
    instead: ClassVar[Mapping[str, str]] = {"fixed": "pairs", "inputs": "params"}

    def begin(self, request: Request) -> Explaining:
        options: ExplainOptions = request.options
        _check(options, request)
        cell = make_cell(self.name, load_asked(request, options.params), request.source, options, judges=False)
        target = _target(cell, options)
        budget = math.ceil(PAIRS_TIMES_TARGET / target - 1e-9) if options.pairs is None else options.pairs
        check_count("pairs", budget, least=_LEAST, example=1000)
        if budget > MAX_PAIRS:
            raise BadValue(
                "pairs", budget, f"is more than {MAX_PAIRS:.0e} pairs, which nobody waits for: ask for fewer"
            )
        plan = Plan(target, float(options.confidence), "anytime", TIMES * budget)
        words = () if options.rho is None else ("--rho", exact(options.rho))
        cells, tried, asides = make_cells(cell, words)
        return Explaining(cells, plan, budget, tried, asides, traces=options.trace)

    def title(self, record: Record) -> str:
        return f"{'ERROR' if record.verdict == 'error' else 'EXPLAINED'}  {record.subject}"

    def parts(self, record: Record) -> Iterator[Part]:
        yield from explain_parts(record)

    def bars(self, record: Record) -> Sequence[tuple[str, Bar]]:
        """What a picture shows."""
        return bars_of(record)

    def again(self, bench: Bench, index: int) -> Iterator[Part]:
        """A pair as it is; and where the cell is an experiment's, the trial with what that changes."""
        yield from show_pair(bench, index)
        if bench.unit is None or bench.unit is look or isinstance(bench.unit, AsItIs):
            return
        found = bench.trial(index).difference
        yield Words(f"{'SAME' if found is None else 'DIFFERENT'}  the same pair in the experiment", "title")
        if found is not None:
            yield Listing(f"first difference, at {found.path}:", [found.left, found.right])


def _check(options: ExplainOptions, request: Request) -> None:
    check_confidence(options.confidence)
    if options.measure != "rho":
        raise UsageError(
            f"--measure {options.measure} is no part of explain: it asks why outputs differ at all; leave it out"
        )
    if options.fixed is not None:
        raise UsageError(
            f"--fixed {options.fixed} is no part of explain: every experiment stops when it is settled; use --pairs"
        )
    if options.inputs is not None:
        raise UsageError("--inputs is no part of explain: give the one input in question with --param")
    if len(request.sources) > 1:
        raise UsageError(f"explain takes one source, and {len(request.sources)} were given: ask about one at a time")


def _target(cell: Cell, options: ExplainOptions) -> float:
    claimed = cell.subject.declares("claimed")
    target = next(one for one in (options.rho, claimed or None, DEFAULT_TARGET) if one is not None)
    check_target(target)
    if target < PAIRS_TIMES_TARGET / MAX_PAIRS:
        raise BadValue("rho", target, f"would take more than {MAX_PAIRS:.0e} pairs, which no audit finishes")
    return float(target)
