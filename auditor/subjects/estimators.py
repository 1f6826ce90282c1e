"""Anything with `fit` as a learner A(sample, r): a scikit-learn class, an instance, a pipeline, a clusterer.

r becomes `random_state`, as an int, everywhere inside; what is fitted is the output. What counts of it is by default
its predictions on a probe set, or its fitted attributes where it predicts nothing.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
from collections.abc import Mapping
from typing import Any

import msgspec

from auditor.errors import UsageError, in_words, suggestion
from auditor.process.foreign import call
from auditor.randomness import Randomness
from auditor.sources.frames import as_matrix
from auditor.subjects.signature import BY_POSITION, DATA, is_required, signature_of, wrap_model_of_data

WORD = 2**32  # what random_state takes
_SEEDS = ("random_state", "random_seed", "seed")  # the names that seeds have
_LISTED = 20  # parameters that a message names


def is_estimator(target: object) -> bool:
    """A class or an object with fit; a module or a function with an attribute of that name is none."""
    return callable(getattr(target, "fit", None)) and not inspect.isroutine(target) and not inspect.ismodule(target)


class Fit(msgspec.Struct, frozen=True):
    """A(sample, r): a fresh copy of an estimator, fitted."""

    estimator: Any

    def __call__(self, sample: Any, r: Randomness, **params: Any) -> Any:
        fresh = fresh_copy(self.estimator, params)
        with_randomness(fresh, r)
        x, y = sample if isinstance(sample, tuple) else (sample, None)
        x = as_matrix(x)
        fitted = fresh.fit(x) if y is None else fresh.fit(x, y)
        is_beside = hasattr(fresh, "predict") and not hasattr(fitted, "predict")  # a history of losses, say
        return fresh if fitted is None or is_beside else fitted


def fresh_copy(estimator: Any, params: Mapping[str, Any]) -> Any:
    """An unfitted one with these parameters: a class is made, an object copied as its own kind copies itself."""
    if inspect.isclass(estimator):
        return estimator(**copy.deepcopy(dict(params)))  # parts among them are given their random_state
    fresh = _clone(estimator) if _copies_itself(estimator) else copy.deepcopy(estimator)
    return fresh.set_params(**copy.deepcopy(dict(params))) if params else fresh


def _copies_itself(estimator: Any) -> bool:
    return hasattr(estimator, "__sklearn_clone__") or hasattr(estimator, "get_params")


def _clone(estimator: Any) -> Any:
    try:
        from sklearn.base import clone
    except ImportError:  # others have get_params too
        return type(estimator)(**copy.deepcopy(estimator.get_params(deep=False)))
    return clone(estimator)


def with_randomness(estimator: Any, r: Randomness) -> None:
    """Every random_state inside, each from its own child of r, so that one more part moves no other."""
    named, held = seeds_of(estimator)
    if named:
        estimator.set_params(**{name: int(r.child(name).integers(WORD)) for name in named})
    for name, part in held.items():
        part.random_state = int(r.child(name).integers(WORD))


def seeds_of(estimator: Any) -> tuple[list[str], dict[str, Any]]:
    """Where r gets in: parameters by name, and whatever has a random_state and no parameters, such as a splitter."""
    if not hasattr(estimator, "get_params"):
        return [], {"random_state": estimator} if hasattr(estimator, "random_state") else {}
    params = estimator.get_params(deep=True)
    named = {name for name in params if name.rpartition("__")[2] in _SEEDS}
    held = {}
    for name, part in (("", estimator), *params.items()):
        prefix = f"{name}__" if name else ""
        if inspect.isclass(part):
            continue
        if hasattr(part, "get_params"):
            kind: Any = type(part)
            seed = _own_seed(kind)
            if seed and not any(prefix + other in named for other in _SEEDS):
                named.add(prefix + seed)
        elif hasattr(part, "random_state") and getattr(part, "shuffle", True):
            held[f"{prefix}random_state"] = part
    return sorted(named), held


@functools.cache
def _own_seed(kind: Any) -> str | None:
    """The name of a seed that a class takes, though its objects may not list it among their parameters."""
    names = signature_of(kind)
    return next((name for name in _SEEDS[:2] if name in names), None)


def known_params(estimator: Any) -> dict[str, Any]:
    """Its parameters with their values, defaults for a class. Those that come through **kwargs an object tells."""
    kind = estimator if inspect.isclass(estimator) else type(estimator)
    named = {name: one.default for name, one in signature_of(kind).items() if one.default is not one.empty}
    if kind is not estimator:
        return {**named, **estimator.get_params(deep=True)} if hasattr(estimator, "get_params") else {}
    if _takes_any(kind) and hasattr(kind, "get_params"):
        with contextlib.suppress(Exception):  # it needs values to be made
            return {**named, **call(lambda: kind().get_params(deep=True))}
    return named


def _takes_any(kind: type) -> bool:
    return any(one.kind == one.VAR_KEYWORD for one in signature_of(kind).values())


def check_params(estimator: Any, shown: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All settings; UsageError where a parameter is unknown, or no fresh estimator can be made."""
    known = known_params(estimator)
    for name in given:
        if name.rpartition("__")[2] in _SEEDS:
            raise UsageError(f"{shown}: {name} comes from r in an audit; leave it out")
        _check_param(estimator, shown, name, known)
    _check_fit(estimator, shown)
    if inspect.isclass(estimator):
        missing = [name for name, one in signature_of(estimator).items() if is_required(one) and name not in given]
        if missing:
            raise UsageError(f"{shown} needs a value for {', '.join(missing)}: audit an instance of it, file.py:name")
    else:
        _check_copy(estimator, shown, given)
    plain = {name: value for name, value in known.items() if isinstance(value, (bool, int, float, str, type(None)))}
    return {**plain, **given}


def _check_param(estimator: Any, shown: str, name: str, known: Mapping[str, Any]) -> None:
    """A part's own parameters count too, those that it takes and does not list."""
    owned = _owned(estimator, name, known)
    if name in owned or _is_unlisted(estimator, name, known):
        return
    if not inspect.isclass(estimator) and not hasattr(estimator, "set_params"):
        raise UsageError(f"{shown} has no set_params, so that {name} cannot be set: make the object with it")
    more = f" and {len(owned) - _LISTED} more" if len(owned) > _LISTED else ""
    has = f"it has {', '.join(owned[:_LISTED])}{more}" if owned else "it has none"
    raise UsageError(f"{shown} has no parameter {name!r}{suggestion(name, [*owned, *known])}: {has}")


def _owner(estimator: Any, name: str, known: Mapping[str, Any]) -> Any:
    """The part that a parameter belongs to; None where there is none."""
    part = name.rpartition("__")[0]
    owner = known.get(part) if part else estimator
    return owner if inspect.isclass(owner) or owner is None else type(owner)


def _owned(estimator: Any, name: str, known: Mapping[str, Any]) -> list[str]:
    """All that a parameter of this name could have been, of the same part; of the whole where there is no such part."""
    part, owner = name.rpartition("__")[0], _owner(estimator, name, known)
    if owner is None:
        return [one for one in known if "__" not in one]
    prefix = f"{part}__" if part else ""
    taken = [
        prefix + one for one, kind in signature_of(owner).items() if kind.kind in (*BY_POSITION, kind.KEYWORD_ONLY)
    ]
    return [*dict.fromkeys([*(one for one in known if one.rpartition("__")[0] == part), *taken])]


def _is_unlisted(estimator: Any, name: str, known: Mapping[str, Any]) -> bool:
    """Whether a parameter goes where anything goes, which may be nowhere."""
    owner = _owner(estimator, name, known)
    return name not in known and owner is not None and _takes_any(owner)


def unlisted(estimator: Any, given: Mapping[str, Any]) -> dict[str, str]:
    """The parameters that only **kwargs takes, each with what it may have been meant to be."""
    known = known_params(estimator) if given else {}
    doubted = [name for name in given if _is_unlisted(estimator, name, known)]
    return {name: suggestion(name, _owned(estimator, name, known)) for name in doubted}


def _check_fit(estimator: Any, shown: str) -> None:
    """A model that is given its data when it is made, as those of statsmodels are, has a fit of another kind."""
    kind: Any = estimator if inspect.isclass(estimator) else type(estimator)
    if isinstance(inspect.getattr_static(kind, "fit", None), (staticmethod, classmethod)):
        words = f"{shown} has a fit that is no method of an object, so that nothing is fitted"
        raise UsageError(f"{words}: write a function of (sample, r) that calls it, and audit that")
    first = next((one for name, one in [*signature_of(kind.fit).items()][1:] if one.kind in BY_POSITION), None)
    if first is None or first.default is first.empty or first.name.lower() in DATA:
        return
    cure = wrap_model_of_data(kind, shown)
    raise UsageError(f"{shown} is given its data when it is made, and its fit takes none: {cure}")


def _check_copy(estimator: Any, shown: str, given: Mapping[str, Any]) -> None:
    """Each run needs a fresh copy: whether there is one is known before the first."""
    try:
        call(fresh_copy, estimator, given)
    except Exception as error:
        words = f"{shown} cannot be copied for each run, which raised {in_words(error)}"
        cure = "audit its class, or a function of (sample, r) that makes a new one"
        raise UsageError(f"{words}: {cure}") from error


def default_view(estimator: Any) -> str:
    """Predictions where there are any, else what the fit left behind; of a clusterer's the names do not count."""
    if not hasattr(estimator, "predict"):
        return "fitted"
    return "predict|partition" if names_its_labels(estimator) else "predict"


def predicts_numbers(estimator: Any) -> bool:
    """Whether it is a regressor, by its kind, or as a pipeline tells it."""
    return hasattr(estimator, "predict") and _is_kind(estimator, "RegressorMixin", "regressor")


def is_classifier(estimator: Any) -> bool:
    return hasattr(estimator, "predict") and _is_kind(estimator, "ClassifierMixin", "classifier")


def _is_kind(estimator: Any, mixin: str, kind: str) -> bool:
    made = estimator if inspect.isclass(estimator) else type(estimator)
    if any(base.__name__ == mixin for base in made.__mro__):
        return True
    with contextlib.suppress(Exception):  # a class has no tags, and those of an object are somebody else's code
        return bool(estimator.__sklearn_tags__().estimator_type == kind)
    return False


def names_its_labels(estimator: Any) -> bool:
    """Whether the labels of a fit are names of its own making: of a clusterer, or of a mixture that predicts."""
    made = estimator if inspect.isclass(estimator) else type(estimator)
    if any(base.__name__ in ("ClusterMixin", "DensityMixin") for base in made.__mro__):
        return True
    kind = getattr(estimator, "_estimator_type", None)
    with contextlib.suppress(Exception):  # a class has no tags, and those of an object are somebody else's code
        kind = estimator.__sklearn_tags__().estimator_type  # a pipeline has its last step's
    return kind in ("clusterer", "density_estimator")
