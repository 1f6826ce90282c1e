"""Can an object be audited as it is? If not, what to write around it. `roles` says how a function is called."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from textwrap import indent
from typing import Any, cast

from auditor.errors import UsageError

PRIVATE = "private"  # the parameter that has randomness of the run's own
LABELS = ("y", "target", "targets", "label", "labels", "endog")  # the names that labels have
_RANDOM = ("r", "rng", "random", "randomness", "generator", "gen", "state")
_SEEDS = ("seed", "random_seed", "random_state")  # which are numbers
DATA = (  # the names that data have
    *("x", "data", "sample", "df", "rows", "samples", "dataset", "frame", "table", "features", "inputs"),
    *("observations", "points", "values", "array", "arr", "series", "exog"),
)
BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def checked_function(target: Any, shown: str) -> Callable[..., Any]:
    """Return the target if it can be called; UsageError for a class without `fit`, a bare method, or a plain object.

    To call a class would make an object of the sample and train nothing, whatever the constructor takes.
    """
    inside = target
    while isinstance(inside, functools.partial):
        inside = inside.func
    if inspect.isclass(inside):
        raise UsageError(f"{shown} is {_no_learner(inside, shown, is_partial=inside is not target)}")
    if is_method(target):
        raise UsageError(f"{shown} is a method, and its object is missing: {_with_object(target, shown)}")
    if callable(target):
        return cast(Callable[..., Any], target)
    raise UsageError(f"{shown} is {type(target).__name__}, not a function A(sample, r)")


def _with_object(method: Any, shown: str) -> str:
    """Say what to audit instead of a method without its object: its class, or the method of an object."""
    owner = shown.rpartition(".")[0]
    kind: Any = sys.modules.get(method.__module__)
    for name in method.__qualname__.split(".")[:-1]:
        kind = getattr(kind, name, None)
    is_class = inspect.isclass(kind)
    if ":" in owner and (not is_class or callable(getattr(kind, "fit", None))):
        return f"audit the class, {owner}, or a function of (sample, r)"
    place, path = _place_and_path(shown)
    takes_two = len([p for p in signature_of(method).values() if p.kind in BY_POSITION]) > 2  # besides self
    if is_class and place and "." in path and takes_two and not any(map(is_required, signature_of(kind).values())):
        kind_path, _, name = path.rpartition(".")
        return f"write {_below(place, path, f'learner = {kind_path}().{name}', 'learner', [])}"
    return "audit a function of (sample, r) that makes the object and calls the method"


def _no_learner(kind: type, shown: str, *, is_partial: bool) -> str:
    """Say why a class is no learner, and what can be audited instead."""
    function = "write a function of (sample, r) that trains one and returns what it has learnt"
    place, path = _place_and_path(shown)
    if is_partial and callable(getattr(kind, "fit", None)) and place and path:
        words = f"a partial of the class {kind.__name__}, and makes an object that nobody fits"
        return f"{words}: write {_below(place, path, f'learner = {path}()', 'learner', [])}"
    if is_partial:
        return f"a partial of the class {kind.__name__}, which trains nothing: {function}, and audit that"
    words = "a class without fit, partial_fit and learn_one: to make one trains nothing"
    own = vars(kind).get("__call__")
    is_callable = inspect.isfunction(own) and len(signature_of(own)) > 2  # besides self
    if is_callable and not any(map(is_required, signature_of(kind).values())) and all(_place_and_path(shown)):
        return f"{words}; {wrap_callable_class(shown)}"
    return f"{words}; {function}, and audit that"


def is_source_signature(free: Sequence[Parameter]) -> bool:
    """True for fn(rng, size), which draws rows and learns nothing."""
    return [p.name for p in free[1:2]] == ["size"] and free[0].name.lower() in (*_RANDOM, *_SEEDS)


def no_data_words(written: str) -> str:
    """Say what to write instead of a function that takes no data: a call of it would pass whatever it does."""
    name = written.partition("(")[0].rpartition(":")[2]
    name = name.rpartition(".")[2] if all(part.isidentifier() for part in name.split(".")) else "learn"
    return f"has no parameter for the data; write def {name}(sample, r), which learns from its sample"


def is_method(fn: object) -> bool:
    """True if `fn` is a function of a class that still lacks its object, as `Ridge.fit` is."""
    if not inspect.isfunction(fn):
        return False
    owner = fn.__qualname__.rpartition(".")[0]
    return bool(owner) and not owner.endswith("<locals>") and next(iter(inspect.signature(fn).parameters), "") == "self"


# What to write instead. Whatever is printed here as Python is compiled and run by tests/subjects/test_cures.py.


def wrap_model_of_data(kind: type, shown: str) -> str:
    """Return the function of (sample, r) for a model that is given its data when it is made, as in statsmodels."""
    place, path = _place_and_path(shown)
    first, second = [*(p.name.lower() for p in signature_of(kind).values() if p.kind in BY_POSITION), "", ""][:2]
    given = "X, y" if first in DATA else "y, X"
    apart = "X, y = sample; "
    if second not in (*LABELS, *DATA, "exog"):
        given, apart = "sample", ""
    line = f"def learn(sample, r): {apart}return {path or kind.__name__}({given}).fit().params.round(1)"
    return f"write {_below(place, path, line, 'learn', [])}"


def wrap_callable_class(shown: str) -> str:
    """Return the line that makes an instance of a class whose instances are called with (sample, r)."""
    place, path = _place_and_path(shown)
    return f"audit an instance: write {_below(place, path, f'learner = {path}()', 'learner', [])}"


def _place_and_path(shown: str) -> tuple[str, str]:
    """Split `module:path` or `file.py:path`; the path is "" where Python code cannot write it, as for a lambda."""
    place, _, path = shown.rpartition(":")
    return place, path if all(part.isidentifier() for part in path.split(".")) else ""


def _below(place: str, path: str, code: str, name: str, params: Sequence[str]) -> str:
    """Say where the code goes and what to audit then: below what it wraps, or in a file that imports it."""
    given = "".join(f" --param {one}=VALUE" for one in params)
    if place and not place.endswith(".py"):
        code = f"from {place} import {path.partition('.')[0]}\n\n\n{code}"
        return f"in a file of yours, say audited.py,\n\n{indent(code, '    ')}\n\nand audit audited.py:{name}{given}"
    target = f"{place}:{name}" if place else name
    if "\n" not in code:
        return f"a line below it, {code}, and audit {target}{given}"
    return f"below it\n\n{indent(code, '    ')}\n\nand audit {target}{given}"


def is_required(parameter: Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind not in (
        parameter.VAR_POSITIONAL,
        parameter.VAR_KEYWORD,
    )


def signature_of(fn: Any) -> Mapping[str, Parameter]:
    """Return the parameters of a callable by name; none of one that does not tell them."""
    try:
        return inspect.signature(fn).parameters
    except (TypeError, ValueError):  # some tell nobody
        return {}
