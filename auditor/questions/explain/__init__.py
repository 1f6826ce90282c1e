"""Why do two runs differ? One cause is taken away, all else left as it was, and rho measured without it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar

from auditor.errors import BadValue, UsageError, check_count
from auditor.flow.one_pair import show_pair
from auditor.flow.parts import Bar, Listing, Part, Words
from auditor.flow.question import Question
from auditor.flow.record import Record
from auditor.flow.verdict import DEFAULT_TARGET, MAX_PAIRS, PAIRS_TIMES_TARGET, Plan, check_confidence, check_target
from auditor.questions.cell_inquiries import load_asked
from auditor.questions.explain.answer import answer_of
from auditor.questions.explain.inquiry import TIMES, ExplainInquiry
from auditor.questions.explain.units import AsItIs, look_at_outputs
from auditor.questions.explain.words import bars_of, explain_parts
from auditor.questions.pairs import PairsOptions
from auditor.request import SURE, Request, option
from auditor.statistics.digits import exact
from auditor.subjects.programs import program_in
from auditor.trials.cell import make_cell
from auditor.trials.trial import Bench

_LEAST = 16  # pairs below which no cause can be named


class ExplainOptions(PairsOptions, frozen=True, kw_only=True):
    """What an explanation takes: what `check` does, and `trace`."""

    pairs: Annotated[
        int | None,
        option(
            "Maximum number of pairs in one experiment (default: 100 / rho). All experiments together take at most 6 "
            "times as many.",
            "MAX",
            SURE,
        ),
    ] = None
    trace: Annotated[
        bool,
        option(
            "Also look for the first local variable that differs although its inputs do not; this is a hint only, and "
            "slow."
        ),
    ] = False


class Explain(Question):
    """Why do two runs of TARGET differ on fresh samples with the same r? Runs its code, and says what to change.

    Each experiment takes one possible cause away, leaves all else as it is, and measures how often two runs still
    differ: hidden state, the order of rows, of sets and of sums, last digits, draws out of step, raw numbers, arbitrary
    names and order, an r that does no work, too little data. Each is compared with a sham: as many runs with nothing
    changed. What check would refuse, such as hidden state, is evidence here.

    Example: python -m auditor explain algorithms.twins.paper:heavy_hitters_in_order_of_appearance

    Exit codes: 0 the experiments ran, also where no cause is shown; 2 usage, 4 nothing could be run, 130 interrupted.
    """

    name: ClassVar[str] = "explain"
    Options: ClassVar[type[ExplainOptions]] = ExplainOptions
    instead: ClassVar[Mapping[str, str]] = {"fixed": "pairs", "inputs": "params"}
    refused: ClassVar[Sequence[str]] = (
        *("fixed", "inputs", "measure", "no_integrate"),
        *("scale", "score", "score_at_least", "rows", "by"),
    )
    cell_word: ClassVar[str] = "experiment"

    def begin(self, request: Request) -> ExplainInquiry:
        """Begin the experiments; UsageError for options that are no part of explain."""
        options: ExplainOptions = request.options
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
        if options.score is not None or options.score_at_least is not None:
            raise UsageError("--score is no part of explain: it asks why outputs differ, however good they are")
        if len(request.sources) > 1:
            raise UsageError(
                f"explain takes one source, and {len(request.sources)} were given: ask about one at a time"
            )
        cell = make_cell(self.name, load_asked(request, options.params), request.source, options, judges=False)
        if options.trace and program_in(cell.subject.fn):
            raise UsageError("--trace looks at local variables of Python code, and a program has none: leave it out")
        claimed = cell.subject.declares("claimed")
        target = next(one for one in (options.rho, claimed or None, DEFAULT_TARGET) if one is not None)
        check_target(target)
        if target < PAIRS_TIMES_TARGET / MAX_PAIRS:
            raise BadValue("rho", target, f"would take more than {MAX_PAIRS:.0e} pairs, which no audit finishes")
        pairs = math.ceil(PAIRS_TIMES_TARGET / target - 1e-9) if options.pairs is None else options.pairs
        check_count("pairs", pairs, least=_LEAST, example=1000)
        if pairs > MAX_PAIRS:
            raise BadValue("pairs", pairs, f"is more than {MAX_PAIRS:.0e} pairs, which nobody waits for: ask for fewer")
        plan = Plan(float(target), float(options.confidence), "anytime", TIMES * pairs)
        words = () if options.rho is None else ("--rho", exact(options.rho))
        return ExplainInquiry(cell, plan, pairs, traces=options.trace, words=words)

    def title(self, record: Record) -> str:
        """Return the first line of the report: what was found, two blanks, and the subject."""
        return f"{_outcome(record)}  {record.subject}"

    parts = staticmethod(explain_parts)

    def bars(self, record: Record) -> Sequence[tuple[str, Bar]]:
        """Return a bar for each experiment: how often pairs differ with that cause taken away."""
        return bars_of(record)

    def again(self, bench: Bench, index: int) -> Iterator[Part]:
        """Show a pair as it is; and where the cell is an experiment's, the trial with what that changes."""
        yield from show_pair(bench, index)
        if bench.unit is None or bench.unit is look_at_outputs or isinstance(bench.unit, AsItIs):
            return
        found = bench.trial(index).difference
        yield Words(f"{'SAME' if found is None else 'DIFFERENT'}  the same pair in the experiment", "title")
        if found is not None:
            yield Listing(f"first difference, at {found.path}:", [found.left, found.right])


def _outcome(record: Record) -> str:
    """Return the first words of a report: whether a cause was found, and else whether one was needed."""
    if record.verdict in ("error", "inconclusive"):
        return record.verdict.upper()
    if answer_of(record).causes:
        return "EXPLAINED"
    return "NO CAUSE FOUND" if record.mismatches and record.decided_by == "budget" else "NOTHING TO EXPLAIN"
