"""Anything with `fit` as a learner A(sample, r): a scikit-learn class, an instance, a pipeline, a clusterer.

r becomes `random_state`, as an int, everywhere inside the estimator; the fitted estimator is the output. By default its
predictions on a probe set are compared, or its fitted attributes if it does not predict.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from auditor.errors import UsageError, in_words, suggestion
from auditor.host.boundary import in_host
from auditor.lookup import call_user_code
from auditor.randomness import Randomness, as_randomness
from auditor.subjects.fitting import (
    has_its_data,
    is_made_of_data,
    labels_of,
    made_of,
    method_of,
    missing_in_fit,
    settings_of_fit,
    takes_labels_alone,
    takes_no_data,
    taught,
)
from auditor.subjects.signature import BY_POSITION, DATA, LABELS, is_required, signature_of, wrap_model_of_data
from auditor.subjects.view_functions import keep_rows

WORD = 2**32  # random_state takes integers below this
_SEEDS = ("random_state", "random_seed", "seed")  # the names of seeds
_LISTED = 20  # parameters that a message names
_AHEAD = ("times", "time", "t", "steps", "n_periods", "h", "horizon", "fh", "start")  # what a forecast is made from
_SUPERVISED = ("classifier", "regressor")
_COLUMN_LISTS = ("categorical_features", "cat_features")  # parameters that may list columns


def is_estimator(target: object) -> bool:
    """True for a class or an object that learns by a method of its own; not for a module or a function that has an
    attribute of that name."""
    return method_of(target) is not None and not inspect.isroutine(target) and not inspect.ismodule(target)


class Estimator(Protocol):
    """What has `fit`, whatever that takes and returns."""

    def fit(self, *arguments: Any, **named: Any) -> Any: ...


Learner = str | Callable[..., Any] | Estimator  # a target, a function A(sample, r), or what has `fit`


class Fit(msgspec.Struct, frozen=True):
    """The learner that teaches a fresh copy of an estimator with the sample."""

    estimator: Any

    def __call__(self, sample: Any, r: Randomness, **params: Any) -> Any:
        own, settings = _apart(self.estimator, params)
        x, y = sample if isinstance(sample, tuple) else (sample, None)
        if is_made_of_data(self.estimator):
            return made_of(self.estimator, x, y, own, settings)
        fresh = seeded_copy(self.estimator, own, r)
        fitted = taught(fresh, x, y, settings)
        keep_rows(fitted, x)
        return fitted


def _apart(estimator: Any, params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of an estimator, and those of its fit alone."""
    kind = estimator if inspect.isclass(estimator) else type(estimator)
    of_fit = settings_of_fit(estimator).keys() - signature_of(kind).keys() if params else set()
    settings = {name: copy.deepcopy(value) for name, value in params.items() if name in of_fit}
    return {name: value for name, value in params.items() if name not in settings}, settings


def seeded_copy(estimator: Any, params: Mapping[str, Any], r: Randomness) -> Any:
    """Return an unfitted estimator with these parameters, all of whose randomness comes from r."""
    kind: Any = estimator if inspect.isclass(estimator) else type(estimator)
    if inspect.isclass(estimator) and not hasattr(estimator, "get_params") and (seed := _own_seed(kind)):
        params = {**params, seed: int(r.child(seed).integers(WORD))}
    fresh = fresh_copy(estimator, params)
    if hasattr(fresh, "clone") and hasattr(fresh, "_get_params"):  # of river, whose seeds count when they are made
        return fresh.clone(_seeds_of_river(fresh._get_params(), r))
    with_randomness(fresh, r)
    return fresh


def _seeds_of_river(params: Mapping[str, Any], r: Randomness) -> dict[str, Any]:
    """Return the seeds inside a model of river, in the nested form that its clone takes."""
    found: dict[str, Any] = {}
    for name, value in params.items():
        if name in _SEEDS:
            found[name] = int(r.child(name).integers(WORD))
            continue
        parts = value[1] if isinstance(value, tuple) and len(value) == 2 else value  # a class and its parameters
        inner = _seeds_of_river(parts, r.child(name)) if isinstance(parts, dict) else {}
        found |= {name: inner} if inner else {}
    return found


def fresh_copy(estimator: Any, params: Mapping[str, Any]) -> Any:
    """Return an unfitted estimator with these parameters: a new object of a class, or a clone of an object."""
    if inspect.isclass(estimator):
        return estimator(**copy.deepcopy(dict(params)))  # copied, since parts among them will get a random_state
    if hasattr(estimator, "__sklearn_clone__") or hasattr(estimator, "get_params"):
        try:
            from sklearn.base import clone
        except ImportError:  # estimators of other libraries have get_params too
            fresh = type(estimator)(**copy.deepcopy(estimator.get_params(deep=False)))
        else:
            fresh = clone(estimator)
    else:
        fresh = copy.deepcopy(estimator)
    return fresh.set_params(**copy.deepcopy(dict(params))) if params else fresh


def with_randomness(estimator: Any, r: Randomness) -> None:
    """Set every random_state inside, each from its own child of r, so that adding a part changes no other seed."""
    named, held = seeds_of(estimator)
    if named:
        estimator.set_params(**{name: int(r.child(name).integers(WORD)) for name in named})
    for name, part in held.items():
        part.random_state = int(r.child(name).integers(WORD))


def seeds_of(estimator: Any) -> tuple[list[str], dict[str, Any]]:
    """Return where r enters: names of seed parameters, and parts with a random_state alone, such as splitters."""
    if not hasattr(estimator, "get_params"):
        return [], {"random_state": estimator} if hasattr(estimator, "random_state") else {}
    params = estimator.get_params(deep=True)
    parts = {"": estimator, **params}
    frozen = [f"{name}__" if name else "" for name, part in parts.items() if type(part).__name__ == "FrozenEstimator"]
    parts = {name: part for name, part in parts.items() if not any(map(name.startswith, frozen))}
    named = {name for name in parts if name.rpartition("__")[2] in _SEEDS}
    held = {}
    for name, part in parts.items():
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
    """Return the name of the seed that a class takes, even if its objects do not list it among their parameters."""
    names = signature_of(kind)
    return next((name for name in (_SEEDS[:2] if hasattr(kind, "get_params") else _SEEDS) if name in names), None)


def takes_seed(fit: Fit, params: Mapping[str, Any]) -> bool:
    """True if r reaches some part of an estimator."""
    kind: Any = fit.estimator
    for made in made_with(fit, params):
        if hasattr(made, "_get_params") and hasattr(made, "clone"):
            return bool(_seeds_of_river(made._get_params(), as_randomness(0)))
        has_own = isinstance(kind, type) and _own_seed(kind) is not None
        return has_own or any(seeds_of(made))
    return not is_made_of_data(fit.estimator)  # one that cannot be made says so when it is run


def known_params(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator with their values, or the defaults of a class: what --param may set, and
    what a misspelt name is compared with.

    Parameters that a class takes through **kwargs are read from an object of it.
    """
    kind = estimator if inspect.isclass(estimator) else type(estimator)
    named = {name: one.default for name, one in signature_of(kind).items() if one.default is not one.empty}
    if kind is not estimator:
        return {**named, **estimator.get_params(deep=True)} if hasattr(estimator, "get_params") else {}
    if _takes_any(kind) and hasattr(kind, "get_params"):
        with contextlib.suppress(Exception):  # the class may need values to be made
            return {**named, **call_user_code(lambda: kind().get_params(deep=True))}
    return named


def _takes_any(kind: type) -> bool:
    """True if a class takes any keyword."""
    return any(one.kind == one.VAR_KEYWORD for one in signature_of(kind).values())


def check_params(estimator: Any, shown: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings; UsageError if a parameter is unknown or no fresh estimator can be made."""
    check_learns(estimator, shown)
    known = known_params(estimator)
    for name in given:
        if name.rpartition("__")[2] in _SEEDS:
            raise UsageError(f"{shown}: {name} comes from r in an audit; leave it out")
        _check_param(estimator, shown, name, known)
    _check_fit(estimator, shown)
    if inspect.isclass(estimator):
        taken = (*DATA, *LABELS) if is_made_of_data(estimator) else ()
        needed = [name for name, one in signature_of(estimator).items() if is_required(one) and name not in given]
        missing = [name for name in needed if name.lower() not in taken]
        if missing:
            raise UsageError(f"{shown} needs a value for {', '.join(missing)}: {_values_for(missing)}")
    else:
        _check_copy(estimator, shown, _apart(estimator, given)[0])
    if missing := missing_in_fit(estimator, given):
        raise UsageError(f"{shown}: its {method_of(estimator)} needs {missing[0]}: --param {missing[0]}=VALUE")
    plain = {name: value for name, value in known.items() if isinstance(value, (bool, int, float, str, type(None)))}
    return {**plain, **given}


EXAMPLES = {  # of parameters that scikit-learn's own classes need
    "estimator": "sklearn.tree:DecisionTreeClassifier()",
    "estimators": "[('tree', sklearn.tree:DecisionTreeClassifier()), ('bayes', sklearn.naive_bayes:GaussianNB())]",
    "steps": "[('scale', sklearn.preprocessing:StandardScaler()), ('svm', sklearn.svm:SVC())]",
    "transformer_list": "[('scale', sklearn.preprocessing:StandardScaler()), ('pca', sklearn.decomposition:PCA())]",
    "transformers": "[('scale', sklearn.preprocessing:StandardScaler(), [0, 1])]",
    "dictionary": "numpy:eye(3, 4)",  # three atoms for rows of four numbers
    "param_grid": "{'max_depth': [1, 2, 3]}",
    "param_distributions": "{'max_depth': [1, 2, 3]}",
}


def check_learns(estimator: Any, shown: str) -> None:
    """Raise UsageError for a class that only holds what was fitted before: no sample could change its answers."""
    if inspect.isclass(estimator) and estimator.__module__.startswith("sklearn.frozen"):
        raise UsageError(
            f"{shown} learns nothing from a sample: it holds an estimator that is fitted already. Audit that "
            "estimator itself, e.g. sklearn.tree:DecisionTreeClassifier"
        )


def advice(fit: Fit, params: Mapping[str, Any], error: BaseException | None) -> str:
    """Say what an estimator may want that raised in its first fit; "" if that is not known."""
    kind, of_list = type(error).__name__, isinstance(error, (AttributeError, TypeError)) and "'list'" in str(error)
    if kind == "NotFittedError":
        return "what it is made of has to be fitted beforehand, and would learn nothing from a sample: audit that alone"
    arrays = [name for name, value in params.items() if isinstance(value, list)]
    if of_list and arrays:
        return f"a list is no array: give it as --param '{arrays[0]}=numpy:array({params[arrays[0]]})'"
    try:
        made = fresh_copy(fit.estimator, _apart(fit.estimator, params)[0])
        is_pairwise = isinstance(error, ValueError) and made.__sklearn_tags__().input_tags.pairwise
    except Exception:  # it has no tags, or cannot be made without a sample
        return ""
    if not is_pairwise:
        return ""
    return (
        "it takes the similarities or distances between the rows of a sample, a square matrix, and was given the rows: "
        "audit a function of X that fits it to such a matrix, say rbf_kernel(X) of sklearn.metrics.pairwise, and "
        "returns what it has learnt"
    )


def _values_for(missing: Sequence[str]) -> str:
    """Return the options that give an estimator what it needs, with an example where one is known."""
    known = [f"{name}={EXAMPLES[name]}" for name in missing if name in EXAMPLES]
    if len(known) < len(missing):
        return f"give --param {missing[0]}=VALUE, or audit an instance of it, file.py:name"
    return f"for example {' '.join(f'--param {shlex.quote(one)}' for one in known)}"


def _check_param(estimator: Any, shown: str, name: str, known: Mapping[str, Any]) -> None:
    """Refuse an unknown parameter; parameters of parts count, also those that a part takes but does not list, and
    those of its fit."""
    if name in settings_of_fit(estimator):
        return
    if not inspect.isclass(estimator) and not hasattr(estimator, "set_params"):
        raise UsageError(f"{shown} has no set_params, so that {name} cannot be set: make the object with it")
    owned = _owned(estimator, name, known)
    if name in owned or _is_unlisted(estimator, name, known):
        return
    more = f" and {len(owned) - _LISTED} more" if len(owned) > _LISTED else ""
    has = f"it has {', '.join(owned[:_LISTED])}{more}" if owned else "it has none"
    raise UsageError(f"{shown} has no parameter {name!r}{suggestion(name, [*owned, *known])}: {has}")


def _owner(estimator: Any, name: str, known: Mapping[str, Any]) -> Any:
    """Return the class of the part that a parameter belongs to; None if there is no such part."""
    part = name.rpartition("__")[0]
    owner = known.get(part) if part else estimator
    return owner if inspect.isclass(owner) or owner is None else type(owner)


def _owned(estimator: Any, name: str, known: Mapping[str, Any]) -> list[str]:
    """Return the parameters of the same part, or of the whole estimator if there is no such part."""
    part, owner = name.rpartition("__")[0], _owner(estimator, name, known)
    if owner is None:
        return [one for one in known if "__" not in one]
    prefix = f"{part}__" if part else ""
    taken = [
        prefix + one for one, kind in signature_of(owner).items() if kind.kind in (*BY_POSITION, kind.KEYWORD_ONLY)
    ]
    return [*dict.fromkeys([*(one for one in known if one.rpartition("__")[0] == part), *taken])]


def _is_unlisted(estimator: Any, name: str, known: Mapping[str, Any]) -> bool:
    """True if a parameter is taken by **kwargs alone, which may ignore it."""
    owner = _owner(estimator, name, known)
    return name not in known and owner is not None and _takes_any(owner)


@in_host
def unlisted(estimator: Any, given: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters that only **kwargs takes, each with a suggestion of what was meant."""
    known = known_params(estimator) if given else {}
    doubted = [name for name in given if _is_unlisted(estimator, name, known)]
    return {name: suggestion(name, _owned(estimator, name, known)) for name in doubted}


def _check_fit(estimator: Any, shown: str) -> None:
    """Refuse a `fit` that is not given the data: models of statsmodels get theirs when they are made."""
    kind: Any = estimator if inspect.isclass(estimator) else type(estimator)
    if isinstance(inspect.getattr_static(kind, "fit", None), (staticmethod, classmethod)):
        words = f"{shown} has a fit that is no method of an object, so that nothing is fitted"
        raise UsageError(f"{words}: write a function of (sample, r) that calls it, and audit that")
    if has_its_data(estimator) or (
        inspect.isclass(estimator) and takes_no_data(estimator) and not is_made_of_data(kind)
    ):
        words = f"{shown} is given its data when it is made, and its fit takes none"
        raise UsageError(f"{words}: {wrap_model_of_data(kind, shown)}")


def _check_copy(estimator: Any, shown: str, given: Mapping[str, Any]) -> None:
    """Refuse an estimator that cannot be copied: each run needs a fresh copy."""
    try:
        call_user_code(fresh_copy, estimator, given)
    except Exception as error:
        words = f"{shown} cannot be copied for each run, which raised {in_words(error)}"
        cure = "audit its class, or a function of (sample, r) that makes a new one"
        raise UsageError(f"{words}: {cure}") from error


def default_view(estimator: Any) -> str:
    """Return the view that compares predictions, or else the labels of a clusterer, or fitted attributes; names of
    labels that a clusterer invents do not count."""
    if is_made_of_data(estimator):
        return "attr(params)"
    if not any(hasattr(estimator, name) for name in ("predict", "predict_one")) or _predicts_ahead(estimator):
        if hasattr(estimator, "transform"):
            return "transform" if _keeps_nothing(estimator) else "fitted"
        return "clusters" if names_its_labels(estimator) else "fitted"
    return "predict|partition" if names_its_labels(estimator) else "predict"


def _keeps_nothing(estimator: Any) -> bool:
    """True for a transformer that learns nothing itself: it has no state, or only parts that have."""
    if any(hasattr(estimator, name) for name in ("steps", "transformer_list")):
        return True
    if any(
        base.__name__ == "NeighborsBase" for base in type(estimator).__mro__
    ):  # which keeps the sample, out of sight
        return True
    with contextlib.suppress(Exception):  # a class has no tags, and those of an object are somebody else's code
        return not estimator.__sklearn_tags__().requires_fit
    return False


def _predicts_ahead(estimator: Any) -> bool:
    """True for a forecaster, or a curve over time: what it predicts from are no data, but steps or times."""
    first = next((name for name in signature_of(getattr(estimator, "predict", None)) if name != "self"), "x").lower()
    return first in _AHEAD or (takes_labels_alone(estimator) and first not in (*DATA, *LABELS))


def predicts_numbers(estimator: Any) -> bool:
    """True for a regressor, also at the end of a pipeline."""
    return hasattr(estimator, "predict") and _is_kind(estimator, "RegressorMixin", "regressor")


def is_classifier(estimator: Any) -> bool:
    """True for an estimator that predicts classes."""
    return hasattr(estimator, "predict") and _is_kind(estimator, "ClassifierMixin", "classifier")


def is_outlier_detector(estimator: Any) -> bool:
    """True for an estimator that tells outliers from the rest."""
    return _is_kind(estimator, "OutlierMixin", "outlier_detector")


def _is_kind(estimator: Any, mixin: str, kind: str) -> bool:
    """True if an estimator is of a kind of scikit-learn's: by a class that it derives from, or by its tags."""
    made = estimator if inspect.isclass(estimator) else type(estimator)
    if any(base.__name__ == mixin for base in made.__mro__):
        return True
    with contextlib.suppress(Exception):  # a class has no tags, and those of an object are somebody else's code
        return bool(estimator.__sklearn_tags__().estimator_type == kind)
    return False


@in_host
def names_its_labels(estimator: Any) -> bool:
    """True if the estimator invents its labels, as clusterers and mixtures that predict do."""
    made = estimator if inspect.isclass(estimator) else type(estimator)
    if any(base.__name__ in ("ClusterMixin", "DensityMixin", "Clusterer") for base in made.__mro__):
        return True
    kind = getattr(estimator, "_estimator_type", None)
    with contextlib.suppress(Exception):  # a class has no tags, and those of an object are somebody else's code
        kind = estimator.__sklearn_tags__().estimator_type  # a pipeline has its last step's
    return kind in ("clusterer", "density_estimator")


# What an estimator needs of its data. Nothing is imported to find out, and what cannot be asked needs nothing.


def needs_labels(fn: object, params: Mapping[str, Any]) -> bool:
    """True if a learner is an estimator that cannot be fitted to X alone."""
    return any(_needs_labels(estimator) for estimator in made_with(fn, params))


def names_columns(fn: object, params: Mapping[str, Any]) -> bool:
    """True if a learner is an estimator with a part that chooses columns by name, such as a ColumnTransformer."""
    for estimator in made_with(fn, params):
        with contextlib.suppress(Exception):  # somebody else's code
            parts = {"": estimator, **call_user_code(estimator.get_params, deep=True)}
            return any(_chooses(name, part) for name, part in parts.items())
    return False


def made_with(fn: object, params: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the estimator of a learner, if it is one and can be made."""
    if isinstance(fn, Fit):
        with contextlib.suppress(Exception, SystemExit):  # the first run will report it
            yield call_user_code(fresh_copy, fn.estimator, _apart(fn.estimator, params)[0])


def _needs_labels(estimator: Any) -> bool:
    """True if its fit cannot do without labels."""
    labels = labels_of(estimator)
    if labels is None:  # it takes X alone, with the labels inside
        return False
    with contextlib.suppress(Exception):
        tags = call_user_code(estimator.__sklearn_tags__)
        return bool(tags.target_tags.required or tags.estimator_type in _SUPERVISED)
    if getattr(estimator, "_estimator_type", None) in _SUPERVISED:
        return True
    return labels.default is labels.empty


def _chooses(name: str, part: Any) -> bool:
    """True if a part of a pipeline picks columns by their names."""
    if name.rpartition("__")[2] in _COLUMN_LISTS:
        return _are_names(part)
    chosen = getattr(part, "transformers", None)
    triples = chosen if isinstance(chosen, (list, tuple)) else ()
    return any(isinstance(one, tuple) and len(one) == 3 and _are_names(one[2]) for one in triples)


def _are_names(columns: Any) -> bool:
    """True for a name, several names, a slice of names, or a function that chooses among a frame's columns."""
    if isinstance(columns, slice):
        return isinstance(columns.start, str) or isinstance(columns.stop, str)
    if isinstance(columns, (list, tuple)):
        return any(isinstance(one, str) for one in columns)
    return callable(columns) or (isinstance(columns, str) and columns not in ("from_dtype", "all", "auto"))
