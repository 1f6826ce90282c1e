"""Which `module:fn` does a typed target mean? If it is none, what does the file or module have that can be audited?"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from auditor.errors import UsageError, suggestion
from auditor.lookup import find_module, full_target, is_program, load_file
from auditor.subjects.estimators import is_estimator
from auditor.subjects.finishing import Composed
from auditor.subjects.signature import takes_sample_and_r

_SHOWN = 8  # names in a message


def settled_target(target: str) -> str:
    """Return the `module:fn` that was typed; UsageError that says what to type instead."""
    if is_program(target):
        return target
    if "::" in target:
        place, _, rest = target.partition("::")
        raise UsageError(f"{target!r} has two colons: write {place}:{_learner_in(rest.replace('::', '.'))}")
    try:
        return full_target(target)
    except UsageError as error:
        raise UsageError(_meant(target) or str(error)) from None


def _meant(target: str) -> str | None:
    """Return a sentence with the target to type; None if nothing is known about what was typed."""
    if target.endswith(".py"):
        return what_it_has(load_file(Path(target)), target)
    place, dot, _ = target.rpartition(".")
    while dot:
        if module := _module(place):
            return _without_colon(module, place, target.removeprefix(f"{place}."))
        place, dot, _ = place.rpartition(".")
    return None


def _module(place: str) -> ModuleType | None:
    if place.endswith(".py"):
        return load_file(Path(place))
    try:
        found = importlib.util.find_spec(place)
    except (ImportError, ValueError):
        return None
    return find_module(place) if found else None


def _without_colon(module: ModuleType, place: str, path: str) -> str:
    """Say where the colon belongs in `package.Class` or `module.fn`: between the module and what it holds."""
    first = path.partition(".")[0]
    if hasattr(module, first):
        return f"{place}.{path} has no colon: write {place}:{_learner_in(path)}"
    close = suggestion(first, [name for name in dir(module) if not name.startswith("_")])
    return f"{place}.{path} has no colon, and {place} has no {first!r}{close}: write {place}:function"


def _learner_in(path: str) -> str:
    """Return the path to audit: for `Class.fit` the class, since the method has no object."""
    return path.removesuffix(".fit")


def what_it_has(module: ModuleType, place: str) -> str:
    """Say which learners a module has, to somebody who typed the module alone."""
    if names := candidates(module):
        return f"{place} has {_listed(names)}: write {place}:{names[0]}"
    functions = [name for name, value in _own(module) if inspect.isfunction(value)]
    others = f"; it has {_listed(functions)}" if functions else ""
    write = f"write def learn(sample, r) in it, and audit {place}:learn"
    return f"{place} has no function of (sample, r) and no estimator{others}: {write}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def candidates(module: ModuleType) -> list[str]:
    """Return the names that can be audited: functions of (sample, r) first, then objects with fit, then classes."""
    own = [*_own(module)]
    made = ((name, value) for name, value in own if inspect.isfunction(value) or isinstance(value, Composed))
    functions = [name for name, value in made if takes_sample_and_r(value)]
    fits = [(inspect.isclass(value), name) for name, value in own if is_estimator(value)]
    return [*functions, *(name for _, name in sorted(fits))]


def _own(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Yield the public names that a module defines itself or lists in __all__."""
    offered = getattr(module, "__all__", ())
    for name, value in vars(module).items():
        made = inspect.isroutine(value) or inspect.isclass(value) or isinstance(value, Composed)
        if made and name not in offered and getattr(value, "__module__", None) != module.__name__:
            continue
        if not name.startswith("_") and not inspect.ismodule(value):
            yield name, value
