"""Where is rho largest? A search through a family of sources, the worst of which is confirmed on fresh randomness."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec.structs import replace

from auditor.errors import check_count
from auditor.flow.question import Question
from auditor.flow.record import CellRow, Record
from auditor.flow.verdict import PAIRS_TIMES_TARGET, Plan, check_confidence, check_target
from auditor.questions.hunt.answer import answer_of, hunt_parts
from auditor.questions.hunt.family import make_family
from auditor.questions.hunt.inquiry import SIMPLER, TRIES, Hunt
from auditor.questions.hunt.search import Search
from auditor.questions.pairs import target_of
from auditor.request import NO_INTEGRATE, RHO, SURE, Options, Request, option
from auditor.statistics.digits import exact
from auditor.trials.cell import Cell
from auditor.trials.integrated import is_integrated

PAIRS = 20_000
_LEAST = 128  # pairs below which nothing is searched
_CONFIRMING = 1000  # pairs of a confirmation, or more where the target is small


class HuntOptions(Options, frozen=True, kw_only=True):
    """The options of hunt."""

    over: Annotated[
        Any,
        option(
            'The sources to search: "bernoulli({p})", simplex(5), "mixture(A, B)" or module:fn (default: --source '
            "alone).",
            "SPEC",
        ),
    ] = None
    range: Annotated[
        Any,
        option(
            "Range of {NAME} in --over, of a parameter or of the size; LOW:HIGH:log goes by ratios (default: none). "
            "May be given several times.",
            "NAME=LOW:HIGH",
            several=True,
            python='Ranges of {NAME} in over, of a parameter or of the size, by name, e.g. {"p": (0, 1)}.',
        ),
    ] = None
    rho: Annotated[float | None, RHO] = None
    pairs: Annotated[
        int, option("Number of pairs that the search may run; confirmations have their own.", "N", SURE)
    ] = PAIRS
    accept_search: Annotated[
        bool, option("Let a search that finds nothing pass, with exit code 0.", None, SURE, basic=False)
    ] = False
    no_integrate: Annotated[bool, NO_INTEGRATE] = False


class HuntQuestion(Question):
    """For which source of a family is rho largest, and is it more than you accept? Runs the code of TARGET.

    Looks for the worst source, confirms it on fresh randomness, and makes it simpler as long as it still fails. A
    search that finds none is no pass: the definition speaks of all sources.

    Example: python -m auditor hunt algorithms.statistical_query:rstat --over "bernoulli({p})" --range p=0:1

    Exit codes: 0 none found, with --accept-search, 1 a source has a larger rho, 2 usage, 3 none found, 4 no candidate
    could be run, 130 interrupted.
    """

    name: ClassVar[str] = "hunt"
    Options: ClassVar[type[HuntOptions]] = HuntOptions
    instead: ClassVar[Mapping[str, str]] = {"fixed": "pairs"}
    cell_word: ClassVar[str] = "candidate"

    def begin(self, request: Request) -> Hunt:
        """Settle the family of sources, and begin the search."""
        options: HuntOptions = request.options
        check_confidence(options.confidence)
        check_count("pairs", options.pairs, least=_LEAST, example=PAIRS)
        family = make_family(request)
        target = target_of(options.rho, family.subject)
        check_target(target)
        confirming = min(options.pairs, max(_CONFIRMING, math.ceil(PAIRS_TIMES_TARGET / target)))
        search = Search(family.dimensions, options.pairs, options.seed, float(target))
        budget = options.pairs + confirming * (TRIES + SIMPLER)
        middle = family.cell(family.values(np.full(family.dimensions, 0.5)), "")
        integrates = is_integrated(middle, no_integrate=options.no_integrate)
        plan = Plan(float(target), float(options.confidence), "search", budget, integrates=integrates)
        return Hunt(family, search, plan, confirming, options.accept_search)

    def title(self, record: Record) -> str:
        """Return the first line of the report: whether a source above the target was found."""
        found = {"fail": "FAIL", "error": "ERROR"}.get(record.verdict, "NONE FOUND")
        word = "INTERRUPTED" if record.decided_by == "interrupt" else found
        return f"{word}  hunt for a rho of {record.subject} above {exact(record.target or 0.0)}"

    parts = staticmethod(hunt_parts)

    def cell_of(self, request: Request, record: Record, row: CellRow) -> Cell:
        """Return the cell of a row: of a candidate by its values, of a confirmation by those that it tried."""
        answer, place = answer_of(record), record.cells.index(row)
        family = make_family(request)
        values = [*answer.values, *answer.tried][place]
        return replace(family.cell(dict(zip(answer.names, values, strict=True)), row.name), seed=row.seed)
