"""list_size: do L outputs have all of the mass but eta? Runs on fresh samples, each with an r of its own.

A learner is list-reproducible if, over sample and r, all but a mass eta of its outputs are among L of them. Which these
are is learnt on the way: see `misses`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

from msgspec.structs import replace

from auditor.errors import BadValue, UsageError, check_count
from auditor.flow.parts import Listing, Part, Words
from auditor.flow.verdict import MAX_PAIRS, PAIRS_TIMES_TARGET, Plan, least_pairs, make_plan
from auditor.questions.cell_inquiries import CellQuestion
from auditor.questions.list_size.answer import list_parts
from auditor.questions.list_size.inquiry import Runs, one_run
from auditor.questions.list_size.misses import runs_to_name
from auditor.questions.nu import ETA, RUNS
from auditor.request import OTHER, OverCells, option
from auditor.sources.datasets import Dataset
from auditor.statistics.digits import exact, sure
from auditor.statistics.threshold import MOST_CALIBRATED
from auditor.trials.cell import Cell
from auditor.trials.trial import Bench
from auditor.values import NO_CLASSES, describe

_LONGER = 2000  # characters of an output that are shown where it is run again
_OUTPUTS_TIMES = 10  # runs for each output of the list, so that a subject that never repeats itself fails in time


class ListOptions(OverCells, frozen=True, kw_only=True):
    """The options of a question about a list."""

    list_size: Annotated[
        int | None,
        option(
            "With --eta: ask whether some L outputs together have probability at least 1 - eta, over fresh samples "
            "and fresh r (default: not asked).",
            "L",
            OTHER,
            basic=False,
        ),
    ] = None
    eta: Annotated[float | None, ETA] = None
    runs: Annotated[int | None, RUNS] = None


class ListQuestion(CellQuestion):
    """Are the outputs, over fresh samples and fresh r, among L of them but for a mass of at most eta?"""

    name: ClassVar[str] = "list_size"
    Options: ClassVar[type[ListOptions]] = ListOptions
    instead: ClassVar[Mapping[str, str]] = {"pairs": "runs", "rho": "eta"}

    def settle(self, cell: Cell, options: ListOptions) -> Runs:
        """Return the inquiry into one cell; UsageError where lists cannot be asked about it."""
        length, eta = _check_asked(options)
        if cell.within:
            raise UsageError(f"{cell.within.words}: {NO_CLASSES}")
        if isinstance(cell.source, Dataset) and cell.source.drawn_together:
            raise UsageError("--resample split makes two halves and no more: with --list-size use bootstrap")
        plan = _plan(cell, options, length, eta)
        again = (*cell.again, "--list-size", str(length), "--eta", f"{eta!r}")
        return Runs(replace(cell, unit=one_run, again=again), plan, length=length)

    parts = staticmethod(list_parts)

    def again(self, bench: Bench, index: int) -> Iterator[Part]:
        """Show one run again."""
        yield Words(f"RUN  {index}", "title")
        yield Listing("output:", [describe(bench.see(bench.run(index, 0)), _LONGER)])


def _check_asked(options: ListOptions) -> tuple[int, float]:
    """Return the length of the list and eta; an error with the cure where one is missing or out of range."""
    if options.list_size is None or options.eta is None:
        cure = "--list-size 3" if options.list_size is None else "--eta 0.1"
        raise UsageError(f"a list is asked about with --list-size and --eta: add e.g. {cure}")
    check_count("list_size", options.list_size, least=1, example=3)
    if isinstance(options.eta, bool) or not isinstance(options.eta, (int, float)) or not 0 < options.eta < 1:
        raise BadValue("eta", options.eta, "must be in (0, 1): the mass that may be outside the list, e.g. 0.1")
    if options.runs is not None and options.fixed is not None:
        raise UsageError(f"--runs {options.runs} and --fixed {options.fixed} are two designs: choose one")
    return options.list_size, float(options.eta)


def _plan(cell: Cell, options: ListOptions, length: int, eta: float) -> Plan:
    """Return the plan for a list of this length; UsageError where no audit finishes it."""
    option, budget = ("runs", options.runs) if options.fixed is None else ("fixed", options.fixed)
    if budget is None:
        budget = math.ceil(PAIRS_TIMES_TARGET / eta - 1e-9) + math.ceil(_OUTPUTS_TIMES * length / (1 - eta))
    check_count(option, budget, least=1, example=1000)
    if budget > MAX_PAIRS:
        asked = f"--{option} {budget}" if getattr(options, option) else f"--list-size {length} --eta {eta!r}"
        raise UsageError(f"{asked} would take more than {MAX_PAIRS:.0e} runs, which no audit finishes: ask for less")
    delta = cell.subject.declares("delta") if cell.subject.declared.accuracy else None
    plan = replace(
        make_plan(target=eta, confidence=options.confidence, delta=delta),
        design="anytime" if options.fixed is None else "fixed",
        budget=budget,
        gates=f"the mass outside a list of {length:,}",
        runs=1,
        unit="runs",
        family=options.family,
        named=runs_to_name(length, eta),
    )
    _check_decidable(plan, option)
    return plan


def _check_decidable(plan: Plan, option: str) -> None:
    """Raise BadValue if the budget would not pass even runs that are all on the list that the first of them name."""
    budget = needed = plan.budget
    while (least := _least(plan, needed, plan.design)) > needed:
        soonest = _least(plan, needed, "fixed")  # a gate that looks more than once takes no fewer
        needed = least if needed > MOST_CALIBRATED else max(soonest, needed + 1 + needed // 1000)
    if needed > budget:
        raise BadValue(
            option,
            budget,
            f"cannot decide {plan.gates} at eta {exact(plan.target or 0.0)}, {sure(plan.confidence)}: even if no run "
            "is outside it "
            f"takes {needed} runs, of which the first {plan.named} name the list; use --{option} {needed} or more",
        )


def _least(plan: Plan, budget: int, design: str) -> int:
    """Return the runs that a pass takes: those that name the list, and the fewest after that if all are on it."""
    return plan.named + least_pairs(plan.target or 0.0, plan.alpha, design, budget)
