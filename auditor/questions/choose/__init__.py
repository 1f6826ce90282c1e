"""Which settings are both accurate and stable? Candidates on the same samples and r, until one can be recommended."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from auditor.errors import BadValue, UsageError, check_count, suggestion
from auditor.flow.question import Question
from auditor.flow.record import CellRow, Record
from auditor.flow.verdict import GATES, MAX_PAIRS, check_confidence, check_share, error_probability
from auditor.questions.cell_inquiries import Counted
from auditor.questions.choose.answer import choose_parts, title_of
from auditor.questions.choose.candidates import make_candidates
from auditor.questions.choose.inquiry import ChoosePlan, Choosing
from auditor.questions.pairs import check_has_churn
from auditor.request import RUN, SCALE, SCORE, SURE, Options, Request, option
from auditor.statistics.best_of_several import least_pairs
from auditor.statistics.digits import exact
from auditor.subjects.scoring import Scorer
from auditor.trials.cell import Cell

_PAIRS_TIMES_TOLERANCE = 100


class ChooseOptions(Options, frozen=True, kw_only=True):
    """The options of choose."""

    vary: Annotated[
        Any,
        option(
            "A parameter and its values: max_depth=2,4,8, or alpha=0.01:1:log3. If it is given several times, all "
            "combinations are candidates (default: none).",
            "NAME=VALUES",
            several=True,
            python='Parameters and their values, {"max_depth": [2, 4, 8], "n_estimators": [50, 200]}: all combinations '
            'are candidates; or texts as on the command line, "max_depth=2,4,8" (default: none).',
        ),
    ] = None
    settings: Annotated[
        Any,
        option(
            "A table with a row for each candidate: a csv file with the names of parameters in its header, or a JSON "
            "list of objects (default: none).",
            "FILE",
            basic=False,
            python='The candidates, a dict of parameters for each: [{"max_depth": 2}, ...], or a csv or JSON file '
            "(default: none).",
        ),
    ] = None
    targets: Annotated[
        Any,
        option(
            "Further targets to choose from, each with the parameters of --vary that it has.",
            None,
            None,
            python="Further learners to choose from, each with the parameters of vary that it has (default: none).",
        ),
    ] = None
    score: Annotated[Any, SCORE] = None
    score_within: Annotated[
        float, option("How far below the best score the score of the one to take may be.", "W", SURE)
    ] = 0.05
    measure: Annotated[
        str | None,
        option(
            "What is to be small: rho, the probability that two outputs differ, or churn, the share of predictions "
            "that change (default: churn for predictions, else rho).",
            "WHAT",
            basic=False,
        ),
    ] = None
    scale: Annotated[float | None, SCALE] = None
    margin: Annotated[float, option("By how much another candidate may be more stable.", "D", SURE)] = 0.05
    pairs: Annotated[
        int | None,
        option(
            "Maximum number of pairs of each candidate (default: 100 / the smaller tolerance).",
            "MAX",
            SURE,
            basic=False,
        ),
    ] = None
    on_error: Annotated[
        str | None,
        option(
            "What a run that raises or dies does: bottom gives it the worst score and counts it as a mismatch; stop "
            "leaves the candidate out.",
            "WHAT",
            RUN,
            basic=False,
        ),
    ] = "bottom"


class Choose(Question):
    """Which settings of TARGET are both accurate and stable? Runs its code.

    Candidates are all combinations of --vary, the rows of --settings, or several targets. They run on the same samples
    and r. It recommends a candidate whose score is within --score-within of the best. No candidate whose score is
    within half of that distance is more stable by more than --margin. It also lists the candidates that no other
    dominates. Most pairs are spent on the candidates between which the choice is still open.

    Example: python -m auditor choose sklearn.svm:SVC --vary C=0.1,1,10 --source sklearn:load_wine

    Exit codes: 0 one is to be taken, 2 usage, 3 undecided, 4 no candidate could be run, 130 interrupted.
    """

    name: ClassVar[str] = "choose"
    Options: ClassVar[type[ChooseOptions]] = ChooseOptions
    instead: ClassVar[Mapping[str, str]] = {"rho": "margin", "fixed": "pairs", "inputs": "vary"}
    cell_word: ClassVar[str] = "candidate"
    title = staticmethod(title_of)
    parts = staticmethod(choose_parts)

    def begin(self, request: Request) -> Choosing:
        """Settle the candidates, the score and the measure, and begin the choice; UsageError where they do not fit."""
        options: ChooseOptions = request.options
        check_confidence(options.confidence)
        check_share("margin", options.margin, "by how much another may be more stable, e.g. 0.05")
        _check_within(options.score_within)
        cells = make_candidates(request)
        scorer, measure = _scorer(cells), _measure(cells, options.measure)
        low, high = scorer.range if scorer and scorer.range else (0.0, 1.0)
        _check_within(options.score_within, high - low)
        plan = _make_plan(options, len(cells), float(options.score_within) / (high - low))
        counted = [Counted(cell, plan.confidence) for cell in cells]
        return Choosing(counted, plan, scorer, measure, float(options.score_within), float(options.margin))

    def cell_of(self, request: Request, record: Record, row: CellRow) -> Cell:
        """Return the candidate that a row of the record is about."""
        return make_candidates(request)[record.cells.index(row)]


def _check_within(within: object, most: float = math.inf) -> None:
    """Raise BadValue unless --score-within is above 0 and below the range of the score."""
    if isinstance(within, bool) or not isinstance(within, (int, float)) or not 0 < within < most:
        range_of = f" and below {exact(most)}, the range of the score" if most < math.inf else ""
        raise BadValue("score_within", within, f"must be above 0{range_of}: how far from the best it may be, e.g. 0.05")


def _scorer(cells: Sequence[Cell]) -> Scorer | None:
    """Return what all candidates are scored by; None if it is the accuracy that they declare. UsageError without any,
    or if it is not one and the same. A score that nobody asked for counts if its range is known."""
    scorers = [cell.scorer if cell.scorer and (cell.scorer.is_asked or cell.scorer.range) else None for cell in cells]
    first = scorers[0]
    if not any(scorers) and all(cell.subject.declared.accuracy for cell in cells):
        return None
    for cell, scorer in zip(cells, scorers, strict=True):
        if first is None or scorer is None:
            raise UsageError(
                f"choose weighs stability against a score, and {cell.subject.name} has none on this source: give a "
                "source with labels, e.g. data.csv#label, or --score accuracy, r2 or module:fn"
            )
        if (scorer.name, scorer.range) != (first.name, first.range):
            raise UsageError(
                f"{cells[0].subject.name} is scored by {_named(first)} and {cell.subject.name} by {_named(scorer)}: "
                "name one score for all, e.g. --score accuracy"
            )
    if first is not None and first.range is None:
        raise UsageError(
            f"the score {first.name} has no known range, so that nothing can be claimed of its mean: use another, "
            "e.g. --score accuracy or --score r2, or declare that of a function, fn.range = (0, 1)"
        )
    return first


def _named(scorer: Scorer) -> str:
    """Return the name of a score with its range."""
    worst, best = scorer.range or (-math.inf, math.inf)
    return f"{scorer.name} ({worst:g} to {best:g})"


def _measure(cells: Sequence[Cell], asked: str | None) -> str:
    """Return what is compared besides the score: "churn" where predictions have rows, or what --measure says."""
    if asked is None:
        return "churn" if all(cell.view.may_have_rows for cell in cells) else "rho"
    if asked not in GATES:
        raise BadValue("measure", asked, f"must be one of {', '.join(GATES)}{suggestion(str(asked), GATES)}")
    if asked == "churn":
        for cell in cells:
            check_has_churn(cell)
    return asked


def _make_plan(options: ChooseOptions, count: int, within: float) -> ChoosePlan:
    """Return the plan of a choice; BadValue if so few pairs could not decide between two alike candidates."""
    smaller = min(within, float(options.margin))
    alpha = error_probability(options.confidence)
    least = least_pairs(count, alpha, within, float(options.margin))
    pairs = options.pairs
    if pairs is None:
        pairs = max(math.ceil(_PAIRS_TIMES_TOLERANCE / smaller - 1e-9), 2 * least)
    check_count("pairs", pairs, least=1, example=2000)
    if pairs < least:
        raise BadValue(
            "pairs",
            pairs,
            f"cannot choose between {count} candidates: even if they are alike it takes {least:,} pairs to show that "
            f"none is better by {exact(smaller)}; use --pairs {least} or more, or larger tolerances",
        )
    if pairs > MAX_PAIRS:
        raise BadValue("pairs", pairs, f"is more than {MAX_PAIRS:.0e} pairs, which nobody waits for: ask for fewer")
    return ChoosePlan(None, float(options.confidence), "anytime", count * pairs, cells=count, count=count, least=least)
