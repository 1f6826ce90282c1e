"""Which wrapper makes a learner reproducible, and at what price? Measured, confirmed on fresh pairs, ready to paste."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

from msgspec.structs import replace

from auditor.errors import BadValue, UsageError, suggestion
from auditor.flow.parts import Part
from auditor.flow.plan import GATES, Plan, check_confidence, check_target
from auditor.flow.question import QuestionBase
from auditor.questions.counted import load, of_its_own
from auditor.questions.loss import load_loss
from auditor.questions.one_pair import run_again, show_pair
from auditor.questions.pairs import target_of
from auditor.questions.repair.answer import DECIDED, repair_parts, title_of
from auditor.questions.repair.inquiry import LOOKED, TRIES, Asked, Mending, Try
from auditor.questions.repair.settings import FAMILIES, read_setting
from auditor.repair.choosing import last_step
from auditor.request import OTHER, SURE, Options, Request, option
from auditor.subjects.estimators import Fit, is_classifier, predicts_numbers
from auditor.subjects.subject import Subject
from auditor.trials.cell import make_cell
from auditor.trials.trial import Bench

_LINEAR = ("LinearModel", "BaseSGD", "_GeneralizedLinearRegressor", "_PLS")  # scikit-learn's own bases
_SEARCH = "BaseSearchCV"


class RepairOptions(Options, frozen=True, kw_only=True):
    """What a repair takes."""

    rho: Annotated[
        float | None, option("The mismatch probability you accept.  [default: claimed, or 0.1]", "R", SURE)
    ] = None
    pairs: Annotated[int | None, option("Pairs of each of its audits, at most.  [default: 100 / rho]", "MAX", SURE)] = (
        None
    )
    measure: Annotated[
        str | None, option("What the target is for: rho, or churn.  [default: churn for predictions]", "WHAT", OTHER)
    ] = None
    loss: Annotated[
        Any, option("What a repair costs in accuracy; module:fn, fn(output, rows), in [0, 1] a row.", "FN", OTHER)
    ] = None
    with_: Annotated[
        str | None, option('Audit this repair and look for no other: "rounded(width=0.2)".', "WRAPPER", OTHER)
    ] = None


class Repair(QuestionBase):
    """Which wrapper makes TARGET reproducible, and at what price? Runs its code, and prints the code to paste.

    Audits it as it is; takes the wrappers that fit its outputs; measures rho against price for all their settings on
    the same runs; and confirms the cheapest that should pass on fresh pairs.

    Example: python -m auditor repair algorithms.controls:mean --source norm --size 100

    Exit codes: 0 a repair is confirmed, or none is needed, 1 each one that fits is shown to miss the target, 2 usage,
    3 none was confirmed, 4 a run failed.
    """

    name: ClassVar[str] = "repair"
    Options: ClassVar[type[RepairOptions]] = RepairOptions
    instead: ClassVar[Mapping[str, str]] = {"fixed": "pairs"}

    def begin(self, request: Request) -> Mending:
        options: RepairOptions = request.options
        check_confidence(options.confidence)
        subject = load(request, options.params)
        if options.randomness not in (None, "Generator"):
            raise UsageError(
                f"--randomness {options.randomness}: a wrapper gives its learner what that asks for; annotate r instead"
            )
        measure = _measure(options, subject)
        cell = make_cell(measure, _seen(subject), request.source, options)
        target = target_of(options.rho, subject)
        check_target(target)
        loss = None if options.loss is None else load_loss(options.loss, 0.05)
        given = None if options.with_ is None else read_setting(options.with_)
        return _begun(Asked(request, cell, measure, float(target), options.pairs, loss, given))

    title = staticmethod(title_of)
    parts = staticmethod(repair_parts)

    def again(self, bench: Bench, index: int) -> Iterator[Part]:
        yield from show_pair(run_again(bench, index))


def _begun(asked: Asked) -> Mending:
    """All steps; or one wrapper, from the seed itself: what a replay names."""
    options, given = asked.request.options, asked.given
    alpha = 1 - options.confidence
    if given is not None:
        leaf = asked.leaf(asked.wrapped(given, None), alpha)
        budget = leaf.plan.budget
    else:
        first = of_its_own(asked.cell, 0, options.seed, "as it is")
        asked.leaf(first, alpha * 2.0 ** -(TRIES + 1))  # refused where so few pairs would decide nothing at the end
        leaf = asked.leaf(first, alpha / 2)
        budget = (1 + TRIES) * leaf.plan.budget + 2 * LOOKED + max(family.pairs for family in FAMILIES)
    plan = Plan(asked.target, float(options.confidence), "anytime", budget, gates=asked.measure)
    tried: list[Try] = [(None, given, leaf)] if given else []
    return Mending(asked, plan, [leaf.cell], {0: leaf}, None if given else leaf, tried=tried)


def _measure(options: RepairOptions, subject: Subject) -> str:
    if options.measure is None:
        return "churn" if _has_points(subject) and options.view is None else "rho"
    if options.measure not in GATES:
        raise BadValue(
            "measure", options.measure, f"must be one of {', '.join(GATES)}{suggestion(options.measure, GATES)}"
        )
    return options.measure


def _seen(subject: Subject) -> Subject:
    """Of a selector and a search what they decide is compared, unless somebody says otherwise."""
    decides = last_step(subject.fn.estimator) if isinstance(subject.fn, Fit) else None
    if hasattr(decides, "get_support"):
        return replace(subject, default_view=DECIDED["selector"])
    return replace(subject, default_view=DECIDED["search"]) if _is_a(decides, _SEARCH) else subject


def _is_a(estimator: Any, *bases: str) -> bool:
    """By the names of its classes: none has to be imported."""
    made = estimator if inspect.isclass(estimator) else type(estimator)
    return any(base.__name__ in bases for base in made.__mro__)


def _has_points(subject: Subject) -> bool:
    """Whether it is its predictions, point by point, that a wrapper makes alike: of a classifier by a vote, of a
    regressor by rounding, unless it is linear, which has coefficients to round."""
    estimator = subject.fn.estimator if isinstance(subject.fn, Fit) else None
    if estimator is None or _is_a(estimator, _SEARCH):  # a search decides on a setting
        return False
    return is_classifier(estimator) or (predicts_numbers(estimator) and not _is_a(estimator, *_LINEAR))
