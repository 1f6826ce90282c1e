"""What is there to say of an estimator besides what the view compares? Where two fits differ, and whether r got in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from auditor.errors import NotComparable
from auditor.process.foreign import call
from auditor.subjects.estimators import Fit, fresh_copy, seeds_of, unlisted
from auditor.subjects.views import fitted_attributes
from auditor.trials.trial import Bench
from auditor.values import first_difference

_PLACES = 5  # that a sentence names
_TIME = re.compile(r"(?<![a-z])((re)?fit|score|train(ing)?|run|wall|total)_times?(?![a-z])|elapsed|duration")


def unseen(bench: Bench, output: Any, again: Any) -> Iterator[str]:
    """Where two fits differ, of all that an estimator learnt and that can be compared."""
    if not isinstance(bench.subject.fn, Fit):
        return
    try:
        mine, others = fitted_attributes(output), fitted_attributes(again)
    except Exception:  # what fit returned has no attributes, or does not want to be asked
        return
    for name, one, other in _both(mine, others):
        try:
            difference = first_difference(one, other)
        except NotComparable:
            continue
        if difference:
            yield name if is_time(name) else name + difference.path.removeprefix("output")


def _both(mine: dict[str, Any], others: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """What both learnt, by name; a dict's values one by one, lest the first difference hide the others."""
    for name in sorted(mine.keys() & others.keys()):
        one, other = mine[name], others[name]
        if type(one) is type(other) is dict and one.keys() == other.keys():
            yield from ((f"{name}[{key!r}]", one[key], other[key]) for key in one)
        else:
            yield name, one, other


def is_time(place: str) -> bool:
    """Whether what an estimator has there is how long something took: no two fits agree on that, and none need to."""
    return _TIME.search(place) is not None


def takes_r(bench: Bench) -> bool:
    """Whether anything of an estimator takes a seed; a function is given r, and what it does with it is its own."""
    fit = bench.subject.fn
    if not isinstance(fit, Fit):
        return True
    try:
        return any(call(lambda: seeds_of(fresh_copy(fit.estimator, bench.subject.params))))
    except Exception:  # then its runs say so
        return True


def unseen_words(bench: Bench, places: Sequence[str]) -> Iterator[str]:
    """A warning of what differs, if anything does but the time that a fit took."""
    if other := [place for place in places if not is_time(place)]:
        shown = ", ".join(other[:_PLACES]) + (" and more" if len(other) > _PLACES else "")
        words = "two fits on the same sample with the same r differ in"
        yield f"{words} {shown}; the view {bench.view.name} does not look there"


def notes(bench: Bench, places: Sequence[str], *, random: bool) -> Iterator[tuple[str, str]]:
    """What nobody need be warned of: (kind, message)."""
    if kept := dict.fromkeys(place.partition("[")[0] for place in places if is_time(place)):
        yield "unseen", f"it keeps times, in {' and '.join(kept)}; the view {bench.view.name} does not look there"
    if not random:
        yield "no-randomness", f"r reaches no part of {bench.subject.name}: it has no random_state"
    fit = bench.subject.fn
    for name, close in unlisted(fit.estimator, bench.subject.params).items() if isinstance(fit, Fit) else ():
        words = f"{name} is none of the parameters that {bench.subject.name} lists{close}"
        yield "parameter", f"{words}: it takes any, and may not use this one"


def kept_time(bench: Bench, path: str) -> str | None:
    """A sentence where the view looks at the time that a fit took, as `fitted` does of a search."""
    if not isinstance(bench.subject.fn, Fit) or not is_time(path):
        return None
    return (
        f"{bench.subject.name} keeps how long it took, at {path}, and no two fits agree on that; the view "
        f"{bench.view.name} looks there: choose another, such as predict or attr(best_params_)"
    )
