"""Which parameter of a function is the data, which the labels, and which the randomness? If none is, what to write.

A learner may be called in any of these ways, with further parameters that have defaults or that `--param` sets:

    A(sample, r)            what an audit calls; r is a numpy Generator unless it is annotated or named otherwise
    f(data), f(X, y)        a learner without randomness
    f(X, y, seed=0)         a seed, a state or a generator by its name, wherever it stands
    f(*, data, rng)         by name only

A parameter that may be the randomness or anything else is asked for: it gets a wrong value by no guess.
"""

from __future__ import annotations

import functools
import inspect
import random
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from textwrap import indent
from typing import Any, cast

import msgspec
import numpy as np

from auditor.errors import UsageError, suggestion
from auditor.randomness import annotated_kind, check_kind

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
    """True if a parameter has no default, and is neither *args nor **kwargs."""
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


_SEED = re.compile(r"(.*_)?seed|(random_|rng_)?state")  # names of integers
_KEY = re.compile(r"(rng_?|prng_?|random_)?key")  # in code that uses jax
_GENERATOR = re.compile(r"r|(.*_)?p?rng|gen|(random_)?generator|random|randomness")
_WITH_NUMBER = re.compile(r"(.*_)?(seed|rng)|(random_|rng_)?state|(random_)?generator|randomness|r")  # by default
_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_PLAIN = (int, float, str, bool, bytes, list, tuple, dict, set)  # types that neither labels nor generators have
_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class Roles(msgspec.Struct, frozen=True):
    """What the parameters of a function are."""

    data: str = ""
    labels: str | None = None
    needs_labels: bool = False
    r: str | None = ""  # None for a learner without randomness; "" for one that does not tell its names
    kind: str = "Generator"  # of r
    by_position: tuple[str, ...] = ()  # parameters that cannot be given by name, in order
    is_fitted: bool = False  # whether what it makes is a model that is still to be fitted

    def words(self, name: str) -> str:
        """Return how the function is called, as a person would write it: fit(X, y, seed=r as int)."""
        given = [f"{self.data}={'X' if self.labels else 'sample'}"]
        given += [f"{self.labels}=y"] if self.labels else []
        given += [f"{self.r}=r as {self.kind}"] if self.r else []
        return f"{name}({', '.join(given)})"

    def note(self, name: str) -> str:
        """Return what a report says of the way in which the function is called."""
        how = f"it is called {self.words(name)}"
        if self.is_fitted:
            how += ", and the model that it makes is fitted; its params are compared"
        return how if self.r else f"{how}; it takes no r, and is audited as a learner without randomness"


class Called(functools.partial[Any]):
    """A(sample, r, **params) of a function that has its data, labels and randomness elsewhere.

    It is a partial of the function, so that whatever looks for the code of a learner finds that of the function.
    """

    roles: Roles

    def __call__(self, sample: Any, r: Any, **params: Any) -> Any:
        roles, given = self.roles, {**params}
        if roles.labels and isinstance(sample, tuple):
            given[roles.data], given[roles.labels] = sample
        else:
            given[roles.data] = sample
        if roles.r:
            given[roles.r] = r
        first = [given.pop(name) for name in roles.by_position if name in given]
        made = super().__call__(*first, **given)
        return made.fit() if roles.is_fitted else made


def _makes_model(fn: object) -> bool:
    """True for a function that makes a model of a formula and data without fitting it, as statsmodels.formula.api has
    them: from_formula of the model's class."""
    return getattr(fn, "__name__", "") == "from_formula" and inspect.isclass(getattr(fn, "__self__", None))


def as_learner(fn: Callable[..., Any], roles: Roles) -> Callable[..., Any]:
    """Return A(sample, r): the function itself, if that is how it is called."""
    parameters = [*signature_of(fn).values()]
    first = [p.name for p in parameters if p.kind in BY_POSITION][:2]
    if roles.r == "" or (first == [roles.data, roles.r] and not roles.labels and len(roles.by_position) <= 2):
        return fn
    made = Called(fn)
    made.roles = roles
    return made


def takes_r(fn: object) -> bool:
    """False for a function that is called without randomness."""
    return not isinstance(fn, Called) or fn.roles.r is not None


def takes_labels_apart(fn: object) -> bool:
    """True for a function that is given the labels apart from the data."""
    return isinstance(fn, Called) and fn.roles.labels is not None


def check_labels_given(fn: object, sample: object, shown: str) -> None:
    """Raise UsageError if a function needs labels, and the sample has none."""
    if isinstance(fn, Called) and fn.roles.needs_labels and not (isinstance(sample, tuple) and len(sample) == 2):
        name = fn.roles.labels
        are_pairs = isinstance(sample, list) and all(isinstance(one, tuple) and len(one) == 2 for one in sample)
        such = "such as X, y = zip(*items) of items that are pairs" if are_pairs else "such as data.csv#label"
        raise UsageError(
            f"{shown} takes labels, {name}, and the source has none: give a source of (X, y), {such}, or --param "
            f"{name}=VALUE if {name} is something else"
        )


def check_signature(
    fn: Callable[..., Any],
    shown: str,
    given: Mapping[str, Any],
    hints: Mapping[str, Any] | None = None,
    randomness: str | None = None,
) -> tuple[dict[str, Any], Roles]:
    """Return the parameters with their defaults, and the roles of the others; UsageError if there is no learner in it,
    with what to type."""
    if randomness is not None:
        check_kind(randomness)
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # some builtins tell nobody
        return dict(given), Roles(kind=randomness or "Generator")
    everything = [*signature.parameters.values()]
    roles = _find_roles(fn, f"{shown}{signature}", everything, given, hints or {}, randomness)
    named = {
        p.name: p
        for p in everything
        if p.name not in (roles.data, roles.labels, roles.r) and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }
    if not any(p.kind == p.VAR_KEYWORD for p in everything):
        for key in given:
            if key not in named:
                known = f"it has {', '.join(named)}" if named else "it has none"
                what = ", which comes from r in an audit" if key == roles.r else suggestion(key, named)
                raise UsageError(f"{shown} has no parameter {key!r}{what}: {known}")
    missing = [key for key, p in named.items() if p.default is p.empty and key not in (*given, PRIVATE)]
    if missing:
        raise UsageError(f"{shown} needs a value for {', '.join(missing)}: --param {missing[0]}=VALUE")
    defaults = {key: p.default for key, p in named.items() if p.default is not p.empty}
    return defaults | dict(given), roles


def _find_roles(
    fn: object,
    shown: str,
    everything: Sequence[Parameter],
    given: Mapping[str, Any],
    hints: Mapping[str, Any],
    randomness: str | None,
) -> Roles:
    """Return the roles; UsageError with the exact option where a parameter may have several."""
    by_position = [p for p in everything if p.kind in BY_POSITION]
    free = [p for p in everything if p.kind in (*BY_POSITION, *_NAMED) and p.name not in (*given, PRIVATE)]
    if is_source_signature(free):
        spec = shown.partition("(")[0]
        raise UsageError(f"{shown}: it is a source; give it as --source {spec}, and audit what learns from its rows")
    random_ones = _random_among(fn, free, hints)
    if len(by_position) < 2 and not random_ones and any(p.kind == p.VAR_POSITIONAL for p in everything):
        return Roles(by_position[0].name if by_position else "", kind=randomness or "Generator")
    labels = next((p for p in free if _are_labels(p, hints)), None)
    data = _data_among([p for p in free if p not in (*random_ones, labels)])
    if data is None and labels is not None:
        data, labels = labels, None  # f(y)
    if data is None and len(random_ones) > 1 and random_ones[0] is by_position[0]:
        data = random_ones.pop(0)  # f(rng, r)
    if data is None:
        raise UsageError(f"{shown} {no_data_words(shown)}")
    r = _one_of(random_ones, shown) if randomness != "none" else None
    unclear = [p for p in free if is_required(p) and p not in (data, labels, r)]
    if r is None and unclear and randomness != "none":
        r = unclear[0]
        if randomness is None and not r.name.startswith("_"):
            raise UsageError(
                f"{shown} has a parameter {r.name} that may be its randomness or a setting: add --param "
                f"{r.name}=VALUE if it is a setting, or --randomness Generator (or int, RandomState, Random) if it is r"
            )
    if r is None and randomness not in (None, "none"):
        raise UsageError(f"{shown} has no parameter for r, so that --randomness {randomness} has no say: leave it out")
    return Roles(
        data.name,
        labels.name if labels else None,
        labels is not None and is_required(labels),
        r.name if r else None,
        randomness or (_kind_of(fn, r, hints) if r else "none"),
        tuple(p.name for p in everything if p.kind == p.POSITIONAL_ONLY),
        _makes_model(fn),
    )


def _data_among(others: Sequence[Parameter]) -> Parameter | None:
    """Return the parameter for the data: by its name, else the first that is needed by position, or alone by name."""
    named = [p for p in others if p.name.lower() in DATA]
    needed = [p for p in others if is_required(p)]
    by_position = [p for p in needed if p.kind in BY_POSITION]
    alone = needed if len(needed) == 1 else []
    return next(iter([*(p for p in named if is_required(p)), *by_position, *alone, *named]), None)


def _random_among(fn: object, free: Sequence[Parameter], hints: Mapping[str, Any]) -> list[Parameter]:
    """Return the parameters that are annotated as generators, or else those that are named as randomness is."""
    annotated = [p for p in free if annotated_kind(hints.get(p.name)) not in (None, "int")]
    return annotated or [p for p in free if _is_random(fn, p) and not _is_plain(hints.get(p.name), but=int)]


def _one_of(random_ones: Sequence[Parameter], shown: str) -> Parameter | None:
    """Return the parameter that r is given to: the one that is needed, or the only one."""
    needed = [p for p in random_ones if is_required(p)] or [*random_ones]
    if len(needed) > 1:
        names, last = [p.name for p in needed], needed[-1]
        value = "VALUE" if is_required(last) else repr(last.default)
        raise UsageError(
            f"{shown} has several parameters that may be its randomness, {' and '.join(names)}: set all but one, for "
            f"example --param {last.name}={value}"
        )
    return needed[0] if needed else None


def _is_random(fn: object, p: Parameter) -> bool:
    """True if a name is one that randomness has. A default that is a text, a truth value or no whole number belongs to
    something else."""
    name = p.name.lower().strip("_")
    if p.default is p.empty or p.default is None:
        is_named = _SEED.fullmatch(name) or _GENERATOR.fullmatch(name)
        return is_named is not None or (_KEY.fullmatch(name) is not None and _uses_jax(fn))
    if isinstance(p.default, _GENERATORS):
        return True
    return type(p.default) is int and _WITH_NUMBER.fullmatch(name) is not None


def _are_labels(p: Parameter, hints: Mapping[str, Any]) -> bool:
    """True if a parameter is for labels, by its name, default and annotation."""
    is_open = p.default is p.empty or p.default is None
    return (
        p.name.lower() in LABELS
        and is_open
        and annotated_kind(hints.get(p.name)) is None
        and not _is_plain(hints.get(p.name), but=list)
    )


def _is_plain(annotation: object, but: type) -> bool:
    """True if an annotation names numbers, texts or containers only, other than `but`."""
    kinds = typing.get_args(annotation) if _is_union(annotation) else (annotation,)
    kinds = tuple(typing.get_origin(kind) or kind for kind in kinds if kind is not type(None))
    return bool(kinds) and all(kind in _PLAIN and kind is not but for kind in kinds)


def _is_union(annotation: object) -> bool:
    """True for an annotation such as int | None."""
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


def _kind_of(fn: object, r: Parameter, hints: Mapping[str, Any]) -> str:
    """Return the kind of r by its annotation, its default, or its name."""
    if kind := annotated_kind(hints.get(r.name)):
        return kind
    for type_, kind in zip(_GENERATORS, ("Generator", "RandomState", "Random"), strict=True):
        if isinstance(r.default, type_):
            return kind
    name = r.name.lower().strip("_")
    if type(r.default) is int or _SEED.fullmatch(name):
        return "int"
    return "jax" if _KEY.fullmatch(name) else "Generator"


def _uses_jax(fn: object) -> bool:
    """True if the function's module has imported jax or a part of it."""
    held = getattr(inspect.unwrap(fn) if callable(fn) else fn, "__globals__", {})
    return any(isinstance(one, types.ModuleType) and one.__name__.partition(".")[0] == "jax" for one in held.values())


def takes_sample_and_r(fn: Callable[..., Any]) -> bool:
    """True if `fn` looks like a learner with randomness; a source fn(rng, size) does not."""
    try:
        _, roles = check_signature(fn, "it", {}, dict(getattr(fn, "__annotations__", {})))
    except UsageError:
        return False
    return roles.r is not None and bool(signature_of(fn))
