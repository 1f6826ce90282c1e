"""Which object is this, where no name leads to it? A digest of its code and of the values that it holds.

Two closures of one function, two lambdas of one line and two estimators with other settings have one name, or none, and
are not the same learner. What a value holds counts by its canonical form. A function counts by its closure and its
defaults, besides its name; one without a name that leads back to it counts by its code too.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

from auditor.bounded import without_address
from auditor.errors import AuditorError, NotComparable, in_words, is_interrupt
from auditor.process.foreign import call
from auditor.randomness import as_randomness
from auditor.subjects.estimators import Fit, fresh_copy, with_randomness
from auditor.values import fingerprint

_DEEPEST = 100  # objects inside each other


def identity(value: object) -> str:
    """Return a digest that is the same in every process; NotComparable where a part has no value to go by."""
    try:
        return call(lambda: fingerprint(_told(value, {})))
    except AuditorError:
        raise
    except BaseException as error:  # of a property, a repr, or an estimator that cannot be copied
        if is_interrupt(error):
            raise
        raise NotComparable(f"to look at what it holds raised {in_words(error)}") from error


def leads_back(thing: object) -> bool:
    """True if its qualified name leads to this very object, in a script or a notebook too."""
    found: object = sys.modules.get(str(getattr(thing, "__module__", None)))
    for step in str(getattr(thing, "__qualname__", "<none>")).split("."):
        found = getattr(found, step, None)
    return found is thing


def text_of_code(fn: Any) -> str | None:
    """Return the text of a function, of a method, or of an object's class; None where there is none to read."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    made = fn if hasattr(fn, "__qualname__") else type(fn)
    try:
        return inspect.getsource(made)
    except (OSError, TypeError):
        return None


def holds_nothing(value: object) -> bool:
    """True for a class or a plain function whose name says all: it has no closure and no defaults."""
    if inspect.isclass(value):
        return True
    return isinstance(value, types.FunctionType) and not (
        value.__closure__ or value.__defaults__ or value.__kwdefaults__
    )


def _told(value: Any, seen: dict[int, int]) -> Any:
    """Return a value with the same canonical form in every process, made of containers, numbers and texts."""
    if id(value) in seen:
        return ("as before", seen[id(value)])
    if len(seen) > _DEEPEST:
        raise NotComparable("it holds objects inside each other, more than a hundred deep")
    inside = {**seen, id(value): len(seen)}
    if isinstance(value, Fit):
        return _told(_unfitted(value.estimator), seen)
    if isinstance(value, functools.partial):
        return ("partial", *(_told(part, inside) for part in (value.func, value.args, value.keywords)))
    if isinstance(value, types.MethodType):
        return ("method", _told(value.__func__, inside), _told(value.__self__, inside))
    if isinstance(value, types.FunctionType):
        return ("function", *_function(value, inside))
    if isinstance(value, types.CodeType):
        return ("code", *_code(value, inside))
    if isinstance(value, types.ModuleType):
        return ("module", value.__name__)
    if inspect.isclass(value) and not leads_back(value):
        made = {name: part for name, part in vars(value).items() if isinstance(part, types.FunctionType)}
        return ("class", value.__qualname__, _told(made, inside))
    try:
        return ("value", fingerprint(value))
    except NotComparable:
        return _opened(value, inside)


def _opened(value: Any, seen: dict[int, int]) -> Any:
    """Look into a value that has no canonical form because of something inside it, such as a lambda."""
    if isinstance(value, Mapping):
        return ("dict", {_told(key, seen): _told(part, seen) for key, part in value.items()})
    if isinstance(value, (list, tuple)):
        return ("list", [_told(part, seen) for part in value])
    if isinstance(value, (set, frozenset)):
        return ("set", {_told(part, seen) for part in value})
    names = [*getattr(value, "__struct_fields__", ()), *getattr(value, "__dict__", ())]
    if not names:
        raise NotComparable(f"nothing tells {without_address(repr(value))} from another object of its class")
    return ("object", type(value).__qualname__, {name: _told(getattr(value, name), seen) for name in names})


def _function(fn: types.FunctionType, seen: dict[int, int]) -> Iterator[Any]:
    yield fn.__qualname__
    yield None if leads_back(fn) else _told(fn.__code__, seen)
    yield [_told(_content(cell), seen) for cell in fn.__closure__ or ()]
    yield [_told(part, seen) for part in fn.__defaults__ or ()]
    yield {name: _told(part, seen) for name, part in (fn.__kwdefaults__ or {}).items()}


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _code(code: types.CodeType, seen: dict[int, int]) -> Iterator[Any]:
    """What it does, and not where it stands: neither file nor line."""
    yield from (code.co_code, code.co_names, code.co_varnames, code.co_freevars)
    yield [_told(part, seen) for part in code.co_consts]


def _unfitted(estimator: Any) -> Any:
    """Return what every run starts from, all of its random states set alike."""
    if inspect.isclass(estimator):
        return estimator
    fresh = fresh_copy(estimator, {})
    with_randomness(fresh, as_randomness(0))
    return fresh
