"""What does an estimator need of its data? Labels, or columns that have names.

Both are asked of what it says of itself: scikit-learn's tags, its parameters, the signature of its fit. Nothing is
imported for it, and what cannot be asked needs nothing.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from auditor.process.foreign import call
from auditor.subjects.estimators import Fit, fresh_copy

_SUPERVISED = ("classifier", "regressor")
_BY_NAME = ("categorical_features", "cat_features")  # parameters that may list columns


def needs_labels(fn: object, params: Mapping[str, Any]) -> bool:
    """Whether a learner is an estimator that cannot be fitted to X alone."""
    return any(_needs_labels(estimator) for estimator in _made(fn, params))


def names_columns(fn: object, params: Mapping[str, Any]) -> bool:
    """Whether a learner is an estimator with a part that chooses columns by name, say a ColumnTransformer."""
    for estimator in _made(fn, params):
        with contextlib.suppress(Exception):  # somebody else's code
            parts = {"": estimator, **call(estimator.get_params, deep=True)}
            return any(_chooses(name, part) for name, part in parts.items())
    return False


def _made(fn: object, params: Mapping[str, Any]) -> Iterator[Any]:
    """The estimator of a learner, where it is one and can be made."""
    if isinstance(fn, Fit):
        with contextlib.suppress(Exception, SystemExit):  # which its first run will tell
            yield call(fresh_copy, fn.estimator, params)


def _needs_labels(estimator: Any) -> bool:
    second = _second_of_fit(estimator)
    if second is None:  # it takes X alone, with the labels inside
        return False
    with contextlib.suppress(Exception):
        tags = call(estimator.__sklearn_tags__)
        return bool(tags.target_tags.required or tags.estimator_type in _SUPERVISED)
    if getattr(estimator, "_estimator_type", None) in _SUPERVISED:
        return True
    return second.name == "y" and second.default is second.empty


def _second_of_fit(estimator: Any) -> inspect.Parameter | None:
    """What its fit takes after X by position, if it takes anything, or tells."""
    try:
        named = inspect.signature(estimator.fit).parameters.values()
    except (TypeError, ValueError):
        return None
    by_position = [one for one in named if one.kind not in (one.KEYWORD_ONLY, one.VAR_KEYWORD)]
    return next((one for one in by_position[1:] if one.kind != one.VAR_POSITIONAL), None)


def _chooses(name: str, part: Any) -> bool:
    if name.rpartition("__")[2] in _BY_NAME:
        return _are_names(part)
    chosen = getattr(part, "transformers", None)
    triples = chosen if isinstance(chosen, (list, tuple)) else ()
    return any(isinstance(one, tuple) and len(one) == 3 and _are_names(one[2]) for one in triples)


def _are_names(columns: Any) -> bool:
    """A name, several, a slice of names, or what chooses among the columns of a frame."""
    if isinstance(columns, slice):
        return isinstance(columns.start, str) or isinstance(columns.stop, str)
    if isinstance(columns, (list, tuple)):
        return any(isinstance(one, str) for one in columns)
    return callable(columns) or (isinstance(columns, str) and columns not in ("from_dtype", "all", "auto"))
