"""Which wrapper makes a learner reproducible, and at what price?

`settings` says which settings are offered, `units` how they are measured, `inquiry` in which steps, and what may be
said after them; `frontier` and `answer` hold what was found, and `paste` makes the code to paste.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

from msgspec.structs import replace

from auditor.errors import BadValue, UsageError, suggestion
from auditor.flow.one_pair import show_pair
from auditor.flow.parts import Part
from auditor.flow.question import Question
from auditor.flow.verdict import GATES, check_confidence, check_target
from auditor.host.boundary import in_host
from auditor.questions.cell_inquiries import load_asked
from auditor.questions.loss import load_loss
from auditor.questions.pairs import target_of
from auditor.questions.repair.answer import DECIDED, repair_parts, title_of
from auditor.questions.repair.inquiry import RepairInquiry
from auditor.questions.repair.settings import missing_arguments, read_setting
from auditor.repair.choosing import last_step
from auditor.request import RHO, SURE, Options, Request, option
from auditor.subjects.estimators import Fit, is_classifier, predicts_numbers
from auditor.subjects.subject import Subject
from auditor.trials.cell import make_cell
from auditor.trials.trial import Bench

_LINEAR = ("LinearModel", "BaseSGD", "_GeneralizedLinearRegressor", "_PLS")  # scikit-learn's own bases
_SEARCH = "BaseSearchCV"


class RepairOptions(Options, frozen=True, kw_only=True):
    """What a repair takes."""

    rho: Annotated[float | None, RHO] = None
    pairs: Annotated[int | None, option("Maximum number of pairs in each audit (default: 100 / rho).", "MAX", SURE)] = (
        None
    )
    measure: Annotated[
        str | None,
        option(
            "What --rho limits: rho, the probability that two outputs differ, or churn, the share of predictions that "
            "change (default: churn for predictions, else rho).",
            "WHAT",
            SURE,
            basic=False,
        ),
    ] = None
    loss: Annotated[
        Any,
        option(
            "Measure what a repair loses by module:fn, which is called fn(output, rows) and returns a loss in [0, 1] "
            "for each row (default: no loss is measured).",
            "FN",
        ),
    ] = None
    with_: Annotated[
        str | None,
        option(
            'Audit this repair alone, e.g. "rounded(width=0.2)"; or find the settings of a wrapper, e.g. chosen '
            "(default: the repairs that fit the output).",
            "WRAPPER",
        ),
    ] = None


class Repair(Question):
    """Which wrapper makes TARGET reproducible, and at what price? Runs its code, and prints the code to paste.

    Audits TARGET as it is; finds the wrapper that fits its outputs; measures rho and price of all its settings on the
    same runs; and confirms the cheapest setting that should pass on fresh pairs.

    Example: python -m auditor repair algorithms.controls:mean --source norm --size 100

    Exit codes: 0 a repair is confirmed, or none is needed; 1 every setting that fits is shown to miss the target, or
    none fits; 2 usage; 3 no repair was confirmed; 4 a run failed.
    """

    name: ClassVar[str] = "repair"
    Options: ClassVar[type[RepairOptions]] = RepairOptions
    instead: ClassVar[Mapping[str, str]] = {"fixed": "pairs"}

    def begin(self, request: Request) -> RepairInquiry:
        """Begin the repair; UsageError for options that it cannot use."""
        options: RepairOptions = request.options
        check_confidence(options.confidence)
        subject = load_asked(request, options.params)
        if options.randomness not in (None, "Generator"):
            raise UsageError(
                f"--randomness {options.randomness}: a wrapper gives its learner what that asks for; annotate r instead"
            )
        measure = options.measure
        if measure is None:
            measure = "churn" if has_points(subject) and options.view is None else "rho"
        elif measure not in GATES:
            raise BadValue("measure", measure, f"must be one of {', '.join(GATES)}{suggestion(measure, GATES)}")
        cell = make_cell(measure, _with_default_view(subject), request.source, options)
        target = target_of(options.rho, subject)
        check_target(target)
        loss = None if options.loss is None else load_loss(options.loss, 0.05)
        given = None if options.with_ is None else read_setting(options.with_)
        only = given if given and missing_arguments(given) else None
        return RepairInquiry(request, cell, measure, float(target), options.pairs, loss, None if only else given, only)

    title = staticmethod(title_of)
    parts = staticmethod(repair_parts)

    def again(self, bench: Bench, index: int) -> Iterator[Part]:
        """Show both outputs of a pair again."""
        yield from show_pair(bench, index)


@in_host
def has_points(subject: Subject) -> bool:
    """True if a wrapper repairs its predictions point by point: those of a classifier by a vote, those of a regressor
    by rounding. A linear regressor has coefficients to round, and a search decides on a setting."""
    estimator = subject.fn.estimator if isinstance(subject.fn, Fit) else None
    if estimator is None or _is_a(estimator, _SEARCH):
        return False
    return is_classifier(estimator) or (predicts_numbers(estimator) and not _is_a(estimator, *_LINEAR))


@in_host
def _with_default_view(subject: Subject) -> Subject:
    """Compare what a selector or a search decides, unless the user says otherwise."""
    decides = last_step(subject.fn.estimator) if isinstance(subject.fn, Fit) else None
    if hasattr(decides, "get_support"):
        return replace(subject, default_view=DECIDED["selector"])
    return replace(subject, default_view=DECIDED["search"]) if _is_a(decides, _SEARCH) else subject


def _is_a(estimator: Any, *bases: str) -> bool:
    """True if a class of the estimator has one of these names, so that none has to be imported."""
    made = estimator if inspect.isclass(estimator) else type(estimator)
    return any(base.__name__ in bases for base in made.__mro__)
