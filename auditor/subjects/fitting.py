"""How does an object learn from a sample? By `fit`, by `partial_fit`, row by row by `learn_one`, or when it is made.

fit(X), fit(X, y), fit(y)   at once; of a source with labels, fit(y) is given the labels
partial_fit(X, y)           all rows once, in order; `classes` are those of the sample
learn_one(x, y)             row by row, in order: x is a dict of the row's values by column
Model(endog, exog).fit()    what is given its data when it is made, as models of statsmodels are
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from auditor.errors import UsageError
from auditor.host.boundary import in_host
from auditor.sources.frames import as_matrix, columns_of, library_of
from auditor.subjects.signature import BY_POSITION, DATA, LABELS, is_required, signature_of

_METHODS = ("fit", "partial_fit", "learn_one")


def method_of(target: object) -> str | None:
    """Return the method by which a class or an object learns; None if it has none."""
    return next((name for name in _METHODS if callable(getattr(target, name, None))), None)


def taken_by(target: Any) -> list[inspect.Parameter] | None:
    """Return the parameters of the method by which a class or an object learns; None where it does not tell them."""
    kind: Any = target if inspect.isclass(target) else type(target)
    name = method_of(target)
    own = getattr(kind, name or "", None)
    try:
        named = [*inspect.signature(own if own is not None else getattr(target, name or "")).parameters.values()]
    except (TypeError, ValueError):
        return None
    named = named[1:] if own is not None else named  # an attribute of the object has no self
    return None if any(one.kind == one.VAR_POSITIONAL for one in named) else named


def labels_of(target: Any) -> inspect.Parameter | None:
    """Return the parameter for labels of the method by which it learns; None without one, or if it does not tell."""
    return next((one for one in (taken_by(target) or [])[1:] if one.name.lower() in LABELS), None)


def takes_labels(target: Any) -> bool:
    """True if the method by which it learns takes labels besides the data, or does not tell."""
    return taken_by(target) is None or labels_of(target) is not None


def takes_labels_alone(target: Any) -> bool:
    """True for fit(y)."""
    taken = taken_by(target)
    return bool(taken) and taken[0].name.lower() in LABELS and not takes_labels(target)  # type: ignore[index]


def is_made_of_data(target: object) -> bool:
    """True for a class that is given its data when it is made, and whose fit takes none."""
    if not inspect.isclass(target) or method_of(target) != "fit":
        return False
    return takes_no_data(target) and any(name.lower() in (*DATA, *LABELS) for name in signature_of(target))


def has_its_data(target: object) -> bool:
    """True for an object whose fit takes no data: it was given them when it was made."""
    return not inspect.isclass(target) and method_of(target) == "fit" and takes_no_data(target)


def takes_no_data(target: Any) -> bool:
    """True if the method by which it learns has no parameter for data."""
    taken = taken_by(target)
    if taken is None:
        return False
    first = next((one for one in taken if one.kind in BY_POSITION), None)
    names = (*DATA, *LABELS)
    return first is None or (first.default is not first.empty and first.name.lower() not in names)


def settings_of_fit(target: Any) -> dict[str, inspect.Parameter]:
    """Return the parameters of its method that are neither data nor labels, by name."""
    taken = taken_by(target) or []
    named = {one.name: one for one in taken if one.kind != one.VAR_KEYWORD}
    if not takes_no_data(target):
        named.pop(taken[0].name, None) if taken else None
    return {name: one for name, one in named.items() if name.lower() not in LABELS and name != "classes"}


def missing_in_fit(target: Any, given: Mapping[str, Any]) -> list[str]:
    """Return the parameters that its method needs, and that nobody gave."""
    return [name for name, one in settings_of_fit(target).items() if is_required(one) and name not in given]


def as_taken_by(estimator: Any, x: Any) -> Any:
    """Return the data in the form that an estimator takes them: a matrix, or texts and dicts as they are, in a list.

    A vectorizer of texts, and a pipeline that begins with one, takes no matrix.
    """
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "OUS" or _takes_matrix(estimator):
        return as_matrix(x)
    return (x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x).tolist()


def _takes_matrix(estimator: Any) -> bool:
    """True if an estimator takes a matrix; False for one that takes texts or dicts, by its first step."""
    steps = getattr(estimator, "steps", None) or getattr(estimator, "transformer_list", None)
    first = steps[0][1] if isinstance(steps, list) and steps and isinstance(steps[0], tuple) else None
    if first is not None and hasattr(first, "fit"):
        return _takes_matrix(first)
    inner = getattr(estimator, "estimator", None)  # of a search
    if inner is not None and hasattr(inner, "fit"):
        return _takes_matrix(inner)
    try:
        return bool(estimator.__sklearn_tags__().input_tags.two_d_array)
    except Exception:  # no estimator of scikit-learn's, or somebody else's code
        return True


def taught(fresh: Any, x: Any, y: Any, settings: Mapping[str, Any]) -> Any:
    """Return what an object is after it has learnt from the data."""
    method = method_of(fresh)
    if method == "learn_one":
        labels = [] if y is None else np.asarray(y).tolist()
        for at, row in enumerate(rows_as_dicts(x)):
            fresh.learn_one(row, *(labels[at : at + 1] if takes_labels(fresh) else ()))
        return fresh
    learn, more = getattr(fresh, method or "fit"), {**settings}
    if takes_labels_alone(fresh):
        learnt = learn(x if y is None else y, **more)
    elif y is None or not takes_labels(fresh):
        learnt = learn(as_taken_by(fresh, x), **more)
    else:
        if method == "partial_fit" and any(one.name == "classes" for one in taken_by(fresh) or ()):
            more["classes"] = np.unique(np.asarray(y))
        labels = labels_of(fresh)
        by_name = labels is not None and labels.kind == labels.KEYWORD_ONLY
        learnt = (
            learn(as_taken_by(fresh, x), **{labels.name: y}, **more)
            if labels and by_name
            else learn(as_taken_by(fresh, x), y, **more)
        )
    is_beside = hasattr(fresh, "predict") and not hasattr(learnt, "predict")  # a history of losses, say
    return fresh if learnt is None or is_beside else learnt


def made_of(kind: Any, x: Any, y: Any, params: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    """Return the fit of a model that is given its data when it is made."""
    names = {name.lower(): name for name in signature_of(kind)}
    labels = next((names[name] for name in LABELS if name in names), None)
    data = next((names[name] for name in DATA if name in names), None)
    given = {labels or data: x} if y is None else {labels: y, data: x}
    if None in given:
        raise UsageError(f"{kind.__name__} takes no labels, and the source has them: give a source without")
    model = kind(**{str(name): value for name, value in given.items()}, **params)
    fitted = model.fit(**settings)
    return model if fitted is None else fitted


def rows_as_dicts(x: Any) -> Iterator[dict[Any, Any]]:
    """Yield each row as a dict, by the names of a table's columns or by the numbers of an array's."""
    table = as_matrix(x)
    if library_of(table) == "pandas":
        yield from table.to_dict("records")
    elif library_of(table) == "polars":
        yield from table.to_dicts()
    elif library_of(table):
        names = columns_of(table)
        yield from (dict(zip(names, row, strict=True)) for row in np.asarray(table).tolist())
    else:
        yield from (dict(enumerate(row)) for row in np.asarray(table).reshape(len(table), -1).tolist())


@in_host
def words_of(target: Any, *, labelled: bool) -> str | None:
    """Say how an object is taught, where that is not fit(X) or fit(X, y); None where it is."""
    method = method_of(target)
    if is_made_of_data(target):
        return "it is given its data when it is made, and then fitted; its params are compared"
    if method == "learn_one":
        return "it learns by learn_one: row by row, in order, each a dict of its values; one pass"
    if method == "partial_fit":
        return "it learns by partial_fit: all rows once, in order"
    if takes_labels_alone(target):
        return "its fit takes y alone: it is given the labels" if labelled else "its fit takes y alone: the sample"
    if labelled and not takes_labels(target):
        return "its fit takes X alone: the labels of the source are left out"
    return None
