"""Where is rho largest? A search through a family of sources, the worst of which is confirmed on fresh randomness."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec.structs import replace

from auditor.errors import check_count
from auditor.flow.plan import PAIRS_TIMES_TARGET, Plan, check_confidence, check_target
from auditor.flow.question import QuestionBase
from auditor.flow.record import CellRow, Record
from auditor.questions.hunt.answer import answer_of, hunt_parts
from auditor.questions.hunt.family import make_family
from auditor.questions.hunt.inquiry import SIMPLER, TRIES, Hunt
from auditor.questions.hunt.search import Search
from auditor.questions.one_pair import show_pair
from auditor.questions.pairs import target_of
from auditor.request import SURE, Options, Request, option
from auditor.trials.cell import Cell
from auditor.trials.integrated import why_not

PAIRS = 20_000
_LEAST = 128  # pairs below which nothing is searched
_CONFIRMING = 1000  # pairs of a confirmation, or more where the target is small


class HuntOptions(Options, frozen=True, kw_only=True):
    """What a hunt takes."""

    over: Annotated[
        Any, option('What is looked through: "bernoulli({p})", simplex(5), "mixture(A, B)", module:fn.', "SPEC")
    ] = None
    range: Annotated[
        Any, option("What {NAME}, a parameter or the size goes through; :log for ratios; repeatable.", "NAME=LOW:HIGH")
    ] = None
    rho: Annotated[
        float | None, option("The mismatch probability you accept.  [default: claimed, or 0.1]", "R", SURE)
    ] = None
    pairs: Annotated[int, option("Pairs of the search; confirmations have their own.", "N", SURE)] = PAIRS
    accept_search: Annotated[bool, option("A search that finds nothing is a pass: exit 0.", None, SURE)] = False
    no_integrate: Annotated[
        bool, option("Count outputs that differ, also where a subject declares how likely they do.", None, SURE)
    ] = False


class HuntQuestion(QuestionBase):
    """Over a family of sources, where is rho of TARGET largest, and is it above the target? Runs its code.

    Looks for the worst source, confirms it on fresh randomness, and makes it simpler while it still fails. That none is
    found is no pass of the definition, which speaks of all sources.

    Example: python -m auditor hunt algorithms.statistical_query:rstat --over "bernoulli({p})" --range p=0:1

    Exit codes: 0 none found, with --accept-search, 1 a source is shown, 2 usage, 3 none found, 4 all candidates fail,
    130 interrupted.
    """

    name: ClassVar[str] = "hunt"
    Options: ClassVar[type[HuntOptions]] = HuntOptions
    instead: ClassVar[Mapping[str, str]] = {"fixed": "pairs"}
    again = staticmethod(show_pair)

    def begin(self, request: Request) -> Hunt:
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
        integrates = middle.subject.finishing is not None and not options.no_integrate and why_not(middle) is None
        plan = Plan(float(target), float(options.confidence), "search", budget, integrates=integrates)
        return Hunt(family, search, plan, confirming, options.accept_search)

    def title(self, record: Record) -> str:
        found = {"fail": "FAIL", "error": "ERROR"}.get(record.verdict, "NONE FOUND")
        word = "INTERRUPTED" if record.decided_by == "interrupt" else found
        return f"{word}  hunt for a rho of {record.subject} above {record.target:g}"

    parts = staticmethod(hunt_parts)

    def cell_of(self, request: Request, record: Record, row: CellRow) -> Cell:
        """Return the cell of a row: of a candidate by its values, of a confirmation by those that it tried."""
        answer, place = answer_of(record), record.cells.index(row)
        family = make_family(request)
        values = [*answer.values, *answer.tried][place]
        return replace(family.cell(dict(zip(answer.names, values, strict=True)), row.name), seed=row.seed)
