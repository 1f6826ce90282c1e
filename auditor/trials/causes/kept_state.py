"""Where may a subject keep something from one run to the next? Every place that its own code reaches by a name.

These are attributes of its modules, classes and functions, default arguments, what closures hold, caches, the object
that it is a method of, the process' generators and environment. The fingerprint of what is in a place says if it has
changed. What was there is put back into the same object where that can be done: others may hold the same list.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import functools
import inspect
import operator
import os
import random
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from itertools import count
from types import FunctionType, GeneratorType, ModuleType
from typing import Any

import msgspec
import numpy as np
from numpy.random import Generator, RandomState

from auditor.errors import is_interrupt
from auditor.lookup import file_modules
from auditor.randomness import Key
from auditor.subjects.estimators import Fit
from auditor.subjects.own_code import OwnCode, function_of
from auditor.values import fingerprint

GENERATORS = (Generator, RandomState, random.Random)
_MOST = 5_000  # places
_LARGEST = 2**26  # bytes of an array that is looked at
_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None)))
_CACHE = type(functools.lru_cache(lambda: None))
_UNREADABLE = "?"  # the token of what cannot be read


class StatePlace(msgspec.Struct, frozen=True, eq=False):
    """One place where something may be kept; `name` is what a person would write."""

    kind: str
    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object] | None = None


def state_token(value: object) -> str:
    """Return a text that is another one where the value is another; it is the same for all that cannot be read."""
    if _is_plain(value):
        return repr(value)
    if isinstance(value, np.ndarray) and value.nbytes > _LARGEST:
        return _UNREADABLE
    if isinstance(value, _CACHE):
        found = value.cache_info()
        return f"{found.misses} {found.currsize}"
    if isinstance(value, GENERATORS):
        return _token_of_generator(state_of(value))
    try:
        return repr(value) if isinstance(value, count) else fingerprint(value)
    except BaseException as error:
        if is_interrupt(error):
            raise
    return _token_without_form(value)


def _token_of_generator(state: Any) -> str:
    """Return the token of a generator's state: numbers, texts and arrays of a few words."""
    if isinstance(state, Mapping):
        return f"{[(name, _token_of_generator(part)) for name, part in state.items()]}"
    return state.tobytes().hex() if isinstance(state, np.ndarray) else repr(state)


def _is_plain(value: Any) -> bool:
    """True if the value's repr tells it from all others: that is faster than a fingerprint."""
    kind = type(value)
    if kind is dict:
        return _PLAIN.issuperset(map(type, value)) and _PLAIN.issuperset(map(type, value.values()))
    return kind in _PLAIN or (kind in (list, tuple, set, frozenset) and _PLAIN.issuperset(map(type, value)))


def _token_without_form(value: object) -> str:
    """Return the token of what has no canonical form: what it holds, one level down; how much an iterator has left."""
    try:
        if isinstance(value, Mapping):
            return f"{[(state_token(key), id(item)) for key, item in value.items()]}"
        if isinstance(value, (list, tuple, set, frozenset, collections.deque)):
            return f"{[id(item) for item in value]}"
        if isinstance(value, GeneratorType) and value.gi_frame:
            return f"{value.gi_frame.f_lasti} {[state_token(held) for held in value.gi_frame.f_locals.values()]}"
        return f"{operator.length_hint(value, -1)}"
    except Exception:
        return _UNREADABLE


# Finding places.


class _StateFinder:
    """Follows names from a function through the subject's own code, and lists the places that they lead to."""

    def __init__(self, own: OwnCode) -> None:
        self._own = own
        self._followed: set[int] = set()
        self.found: list[StatePlace] = []

    def add(self, kind: str, name: str, read: Callable[[], Any], write: Callable[[Any], object] | None = None) -> None:
        """Add a place where something may be kept, up to a number of places."""
        if len(self.found) < _MOST:
            self.found.append(StatePlace(kind, name, read, write))

    def add_or_follow(
        self, kind: str, name: str, value: Any, read: Callable[[], Any], write: Callable[[Any], object]
    ) -> None:
        """Add a name that stands for data; follow one that stands for code to what that holds."""
        if isinstance(value, ModuleType):
            if self._own.is_own_file(getattr(value, "__file__", None) or "<"):
                self.add_module(vars(value), value.__name__)
        elif not self.follow_code(value):
            self.add("generator" if isinstance(value, GENERATORS) else kind, name, read, write)

    def add_namespace(
        self,
        kind: str,
        names: Mapping[str, Any],
        title: str,
        remove: Callable[[str], object],
        write: Callable[[str, Any], object],
    ) -> None:
        """Add all names of a module, class or function, and the set of names itself: those that a run adds go again."""

        def put_back(before: frozenset[str]) -> None:
            for name in [*names]:
                if name not in before:
                    remove(name)

        self.add("names", f"the names of {title}", lambda: frozenset(names), put_back)
        for name, value in [*names.items()]:
            if not (name.startswith("__") and name.endswith("__")) and not inspect.isdatadescriptor(value):
                self.add_or_follow(kind, f"{title}.{name}", value, partial(names.get, name), partial(write, name))
            elif isinstance(value, (FunctionType, property)):
                self.follow_code(value)

    def add_module(self, names: dict[str, Any], title: str) -> None:
        """Add all names of one of the subject's own modules, once."""
        if id(names) not in self._followed:
            self._followed.add(id(names))
            path = file_modules().get(title)  # where it has a name of our making
            title = os.path.basename(path).removesuffix(".py") if path else title
            self.add_namespace("module attribute", names, title, names.pop, names.__setitem__)

    def follow_code(self, value: Any) -> bool:
        """Follow functions and classes to what they hold; return False for what is neither."""
        if isinstance(value, (staticmethod, classmethod, _CACHE)) or inspect.ismethod(value):
            if isinstance(value, _CACHE):
                names = (getattr(value, name, None) for name in ("__qualname__", "__name__"))
                title = next(filter(None, names), type(value).__qualname__)
                self.add("cache", f"the cache of {title}", lambda: value, lambda _: value.cache_clear())
            return self.follow_code(getattr(value, "__func__", None) or getattr(value, "__wrapped__", None))
        if isinstance(value, property):
            return self.follow_code(value.fget) or True
        if not isinstance(value, (FunctionType, type)):
            return inspect.isroutine(value)
        if id(value) not in self._followed:
            self._followed.add(id(value))
            self.follow_function(value) if isinstance(value, FunctionType) else self.follow_class(value)
        return True

    def follow_function(self, fn: FunctionType) -> None:
        """Add what a function of the subject's own keeps: attributes, defaults, closures, and the names of its
        module."""
        if not self._own(fn.__code__):  # a library's decorator, perhaps around the subject's own function
            self.follow_code(getattr(fn, "__wrapped__", None))
            return
        title, own = fn.__qualname__, fn.__dict__
        self.add_module(fn.__globals__, fn.__globals__.get("__name__") or "module")
        self.add_namespace("function attribute", own, title, own.pop, own.__setitem__)
        for name, value in _default_arguments(fn).items():
            self.add(
                "default argument", f"{name} of {title}", partial(lambda name: _default_arguments(fn).get(name), name)
            )
            self.follow_code(value)
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=False):
            read, write = partial(getattr, cell, "cell_contents"), partial(setattr, cell, "cell_contents")
            with contextlib.suppress(ValueError):  # not filled yet
                self.add_or_follow("closure", f"{name} of {title}", read(), read, write)

    def follow_class(self, kind: type) -> None:
        """Add the attributes of a class of the subject's own."""
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        if not file or self._own.is_own_file(file):
            names = vars(kind)
            self.add_namespace(
                "class attribute", names, kind.__qualname__, partial(delattr, kind), partial(setattr, kind)
            )


def _default_arguments(fn: FunctionType) -> dict[str, Any]:
    """Return the default values of a function's parameters, by name: objects that all of its calls share."""
    named = inspect.getfullargspec(fn).args
    values = fn.__defaults__ or ()
    return {**dict(zip(named[len(named) - len(values) :], values, strict=True)), **(fn.__kwdefaults__ or {})}


def places_of(fn: Any, params: Mapping[str, Any], own: OwnCode) -> list[StatePlace]:
    """Return all places in which a learner and its own code may keep something; the process' own come first."""
    finder = _StateFinder(own)
    instance: Any = getattr(random, "_inst")  # noqa: B009 - the generator behind random.random and the others

    def set_environment(value: Mapping[str, str]) -> None:
        os.environ.clear()
        os.environ.update(value)

    finder.add("generator", "random", lambda: instance)
    finder.add("generator", "numpy.random", lambda: np.random.mtrand._rand)
    finder.add("environment", "os.environ", lambda: {**os.environ}, set_environment)
    given: list[tuple[Any, Any]] = [*params.items()]
    while isinstance(fn, partial):
        given += [*enumerate(fn.args), *fn.keywords.items()]
        fn = fn.func
    for name, value in given:
        finder.add("parameter", str(name), partial(lambda value: value, value))
    owner = fn.estimator if isinstance(fn, Fit) else getattr(fn, "__self__", None)
    if owner is None and not inspect.isroutine(fn) and not inspect.isclass(fn):
        owner = fn
    if owner is not None and not inspect.isclass(owner) and not isinstance(owner, (ModuleType, _CACHE)):
        finder.add("attribute", f"the {type(owner).__qualname__} that is the learner", lambda: owner)
    for one in (fn, function_of(fn), type(owner) if owner is not None else None):
        if one is not None:
            finder.follow_code(one)
    return finder.found


# Keeping and putting back.


class SavedState(msgspec.Struct):
    """What was in one place at one moment."""

    place: StatePlace
    token: str
    original: Any
    saved: Any
    can_return: bool

    @property
    def is_in_place(self) -> bool:
        """True if the same object is still there, which others may know by other names."""
        return type(self.original) not in _PLAIN and self.place.read() is self.original

    @property
    def has_moved(self) -> bool:
        """True if what is in the place is no longer what it was."""
        return state_token(self.place.read()) != self.token

    def put_back(self) -> None:
        """Put back what was in the place, into the same object where that can be done."""
        if not self.can_return or not self.has_moved:
            return
        if isinstance(self.original, _CACHE):
            self.original.cache_clear()
            return
        in_place = _refill(self.original, self.saved)
        if self.place.write and not (in_place and self.place.read() is self.original):
            self.place.write(self.original if in_place else _copied(self.saved))


class Snapshot(msgspec.Struct):
    """What was in all places at one moment."""

    states: list[SavedState] = []

    def moved(self) -> list[SavedState]:
        """Return the places whose content is no longer what it was."""
        return [one for one in self.states if one.has_moved]

    def put_back(self, *, except_for: Collection[SavedState] = ()) -> None:
        """Put back what was in every place, except for those that are to stay as the last run left them."""
        for one in self.states:
            if not any(one is other for other in except_for):
                one.put_back()

    def generators(self) -> Iterator[SavedState]:
        """Return the places that hold random generators."""
        return (one for one in self.states if one.place.kind == "generator")


def take_snapshot(places: list[StatePlace]) -> Snapshot:
    """Return what is in these places now, so that it can be put back after a run."""
    return Snapshot([_save(place) for place in places])


def _save(place: StatePlace) -> SavedState:
    """Return what is in a place now, with a copy where one can be made."""
    value = place.read()
    if type(value) in (*_PLAIN, _CACHE):
        return SavedState(place, state_token(value), value, value, True)
    try:
        saved = state_of(value) if isinstance(value, GENERATORS) else _copied(value)
        return SavedState(place, state_token(value), value, saved, True)
    except BaseException as error:  # what cannot be copied says so in many ways
        if is_interrupt(error):
            raise
        return SavedState(place, state_token(value), value, None, False)


def _copied(value: Any) -> Any:
    """Copy whatever a subject keeps; Python 3.12 and 3.13 warn of copies of itertools.count and its like."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return copy.deepcopy(value)


def _refill(original: Any, saved: Any) -> bool:
    """Give the object back what it held; return False if it has to be replaced."""
    if isinstance(original, GENERATORS):
        _set_state(original, saved)
        return True
    fresh = _copied(saved)
    if isinstance(original, (dict, set)):
        original.clear()
        original.update(fresh)
    elif isinstance(original, (list, collections.deque)):
        original.clear()
        original.extend(fresh)
    elif isinstance(original, np.ndarray) and original.shape == fresh.shape and original.flags.writeable:
        original[...] = fresh
    elif isinstance(getattr(original, "__dict__", None), dict) and not isinstance(original, type):
        vars(original).clear()
        vars(original).update(vars(fresh))
    else:
        return False
    return True


def state_of(generator: Any) -> Any:
    """Return the state of a random generator of numpy or Python, from which it can go on again."""
    if isinstance(generator, Generator):
        return generator.bit_generator.state
    return generator.get_state(legacy=False) if isinstance(generator, RandomState) else generator.getstate()


def _set_state(generator: Any, state: Any) -> None:
    """Set a random generator of numpy or Python to a state that it had before."""
    if isinstance(generator, Generator):
        generator.bit_generator.state = state
    else:
        generator.set_state(state) if isinstance(generator, RandomState) else generator.setstate(state)


def reseed(generator: Any, key: Key) -> None:
    """Set the generator to the start of a stream that the key decides."""
    if isinstance(generator, Generator):
        kind: Any = type(generator.bit_generator)
        generator.bit_generator.state = kind(int.from_bytes(key.digest, "big")).state
    elif isinstance(generator, RandomState):
        fresh = RandomState(np.frombuffer(key.digest, np.uint32))
        if generator.get_state(legacy=False)["bit_generator"] == "MT19937":
            generator.set_state(fresh.get_state())
    else:
        generator.setstate(random.Random(key.digest).getstate())
