"""Anything with `fit` as a learner A(sample, r): a scikit-learn class, an instance, a pipeline, a clusterer.

r becomes `random_state`, as an int, everywhere inside; what is fitted is the output. What counts of it is by default
its predictions on a probe set, or its fitted attributes where it predicts nothing.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from auditor.errors import UsageError, suggestion
from auditor.randomness import Randomness
from auditor.sources.frames import as_matrix

WORD = 2**32  # what random_state takes


def is_estimator(target: object) -> bool:
    """A class or an object with fit; a module or a function with an attribute of that name is none."""
    return callable(getattr(target, "fit", None)) and not inspect.isroutine(target) and not inspect.ismodule(target)


@dataclass(frozen=True, slots=True)
class Fit:
    """A(sample, r): a fresh copy of an estimator, fitted."""

    estimator: Any

    def __call__(self, sample: Any, r: Randomness, **params: Any) -> Any:
        fresh = fresh_copy(self.estimator, params)
        with_randomness(fresh, r)
        x, y = sample if isinstance(sample, tuple) else (sample, None)
        x = as_matrix(x)
        return fresh.fit(x) if y is None else fresh.fit(x, y)


def fresh_copy(estimator: Any, params: Mapping[str, Any]) -> Any:
    """An unfitted one with these parameters: a class is made, an object copied as its own kind copies itself."""
    if inspect.isclass(estimator):
        return estimator(**params)
    if hasattr(estimator, "__sklearn_clone__") or hasattr(estimator, "get_params"):
        from sklearn.base import clone

        fresh = clone(estimator)
    else:
        fresh = copy.deepcopy(estimator)
    return fresh.set_params(**params) if params else fresh


def with_randomness(estimator: Any, r: Randomness) -> None:
    """Every random_state inside, each from its own child of r, so that one more part moves no other."""
    if hasattr(estimator, "get_params"):
        names = [name for name in estimator.get_params(deep=True) if name.rpartition("__")[2] == "random_state"]
        if names:
            estimator.set_params(**{name: int(r.child(name).integers(WORD)) for name in sorted(names)})
    elif hasattr(estimator, "random_state"):
        estimator.random_state = int(r.child("random_state").integers(WORD))


def known_params(estimator: Any) -> dict[str, Any]:
    """Its parameters with their values, defaults for a class."""
    if not inspect.isclass(estimator):
        return dict(estimator.get_params(deep=True)) if hasattr(estimator, "get_params") else {}
    signature = inspect.signature(estimator).parameters.values()
    return {p.name: p.default for p in signature if p.default is not p.empty}


def check_params(estimator: Any, shown: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All settings; UsageError where a parameter is unknown, or a class cannot be made without one."""
    known = known_params(estimator)
    for name in given:
        if name.rpartition("__")[2] == "random_state":
            raise UsageError(f"{shown}: {name} comes from r in an audit; leave it out")
        if known and name not in known:
            raise UsageError(f"{shown} has no parameter {name!r}{suggestion(name, known)}: it has {', '.join(known)}")
    if inspect.isclass(estimator):
        signature = inspect.signature(estimator).parameters.values()
        required = (p for p in signature if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
        missing = [p.name for p in required if p.name not in given]
        if missing:
            raise UsageError(f"{shown} needs a value for {', '.join(missing)}: audit an instance of it, file.py:name")
    plain = {name: value for name, value in known.items() if isinstance(value, (bool, int, float, str, type(None)))}
    return {**plain, **given}


def default_view(estimator: Any) -> str:
    """Predictions where there are any, else what the fit left behind; of a clusterer's the names do not count."""
    if not hasattr(estimator, "predict"):
        return "fitted"
    return "predict|partition" if names_its_labels(estimator) else "predict"


def names_its_labels(estimator: Any) -> bool:
    """Whether the labels of a fit are names of its own making: of a clusterer, or of a mixture that predicts."""
    made = estimator if inspect.isclass(estimator) else type(estimator)
    if any(base.__name__ in ("ClusterMixin", "DensityMixin") for base in made.__mro__):
        return True
    kind = getattr(estimator, "_estimator_type", None)
    with contextlib.suppress(Exception):  # a class has no tags, and those of an object are somebody else's code
        kind = estimator.__sklearn_tags__().estimator_type  # a pipeline has its last step's
    return kind in ("clusterer", "density_estimator")
