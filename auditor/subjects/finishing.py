"""Where does the shared randomness act? If it acts in the last step, A(sample, r) splits, and rho is a mean of numbers.

    A(sample, r) = finish(core(sample, r.child("core")), r.child("finish"))

`core` reads the sample and `finish` does not, and they use independent children of r. A core that takes no r leaves all
of r to the finish: A(sample, r) = finish(core(sample), r). Given two cores, the probability over r that they finish
differently is a number in [0, 1], and rho is its mean over pairs. mismatch(first, second) returns this number, or an
upper bound of it, or None if there is no formula. Each of the three is given the parameters of A that it names.

A subject may be the composition of its steps and nothing else: `Composed`, and the wrappers of `auditor.repair`. Any
other subject has a body of its own, which an audit has to compare with its steps.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature
from numbers import Real
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from auditor.errors import SubjectError, UsageError, suggestion
from auditor.lookup import call_user_code
from auditor.randomness import Key, as_randomness
from auditor.sources.sample import copier_of
from auditor.subjects.signature import PRIVATE

F = TypeVar("F", bound=Callable[..., Any])
KINDS_OF_MISMATCH = ("exact", "upper")
_TAKES = {
    "core": ((1, 2), "(sample) or (sample, r)"),
    "finish": ((2,), "(core, r)"),
    "mismatch": ((2,), "(first, second)"),
}
_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_MARK = "is_its_steps"  # the attribute of a __call__ that does nothing but its steps
_ROUNDED = 1e-9  # how far beyond [0, 1] a sum of floats may lie


class FinishingStep(msgspec.Struct, frozen=True):
    """One of core, finish and mismatch, with the parameters of A that it takes."""

    fn: Callable[..., Any]
    names: tuple[str, ...] | None  # the parameters of A that it takes; None: all that A was given
    places: int  # the number of arguments by position

    def at(self, given: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return its keyword arguments: `given` is what A was called with, `settings` has the defaults too."""
        if self.names is None:
            return dict(given)
        known = {**settings, **given}
        return {name: known[name] for name in self.names if name in known}


class Finishing(msgspec.Struct, frozen=True):
    """The declared last step of a subject: core, finish and mismatch."""

    core: FinishingStep
    finish: FinishingStep
    mismatch: FinishingStep | None  # None: there is no formula
    is_exact: bool = True  # False: the mismatch is an upper bound
    settings: Mapping[str, Any] | None = None  # the parameters of the subject, defaults included
    has_body: bool = True  # True if the subject could do something else than its steps

    @property
    def splits(self) -> bool:
        """True if the core uses r too; if not, all of r belongs to the finish."""
        return self.core.places == 2

    @property
    def functions(self) -> list[Callable[..., Any]]:
        """The functions that the subject's author declared as its steps."""
        return [step.fn for step in (self.core, self.finish, self.mismatch) if step]

    def run(self, sample: Any, r: Any, **given: Any) -> Any:
        """Return the core of one run; called in place of A."""
        named = self.core.at(given, self.settings or {})
        return self.core.fn(sample, r.child("core"), **named) if self.splits else self.core.fn(sample, **named)

    def own(self, key: Key) -> Key:
        """Return the key of the finish, given the key of the run's r."""
        return key.child("finish") if self.splits else key

    @property
    def last(self) -> Callable[[Any, Any], Any]:
        """The finish as a function of (core, r), with its parameters already bound."""
        named = self.finish.at({}, self.settings or {})
        return partial(self.finish.fn, **named) if named else self.finish.fn

    def apart(self, first: Any, second: Any) -> float | None:
        """Return the mismatch of two cores, checked to be a probability; None if there is no formula."""
        if self.mismatch is None:
            return None
        m = call_user_code(self.mismatch.fn, first, second, **self.mismatch.at({}, self.settings or {}))
        if m is None:
            return None
        if not isinstance(m, Real) or not -_ROUNDED <= float(m) <= 1 + _ROUNDED:
            raise SubjectError(
                f"mismatch returned {m!r}, and must return a number in [0, 1]: the probability that two cores finish "
                "differently, or None where it is not known"
            )
        return min(max(float(m), 0.0), 1.0)

    def of(self, settings: Mapping[str, Any]) -> Finishing:
        """Return the steps with these parameters."""
        return replace(self, settings=settings)


class SettledCore:
    """A copy of a core, made when its run ended. Each use gets a copy of its own, so nothing can change it later."""

    def __init__(self, core: Any) -> None:
        self._copy = copier_of(core)
        self._core = self._copy(core)

    def copy(self) -> Any:
        """Return a copy of the core that a finish may change."""
        return self._copy(self._core)


def is_its_steps(run: F) -> F:
    """Mark the `__call__` of a class as doing what its `core` and `finish` do and nothing else."""
    setattr(run, _MARK, True)
    return run


class Composed:
    """A subject that consists of its steps. `auditor.composed` makes one."""

    def __init__(
        self,
        core: Callable[..., Any],
        finish: Callable[..., Any],
        mismatch: Callable[..., Any] | None,
        mismatch_is: str,
        defaults: Mapping[str, Any],
        module: str,
    ) -> None:
        self.core, self.finish, self.mismatch, self.mismatch_is = core, finish, mismatch, mismatch_is
        self.__module__ = module
        given = {name: fn for name, fn in zip(_TAKES, (core, finish, mismatch), strict=True) if fn is not None}
        known = {*defaults, *(p.name for fn in given.values() for p in _parameters(fn) if _is_named(p))}
        sample, r = (_place(given[name], at, shown) for name, at, shown in (("core", 0, "sample"), ("finish", 1, "r")))
        if sample == r or {sample, r} & known:
            raise UsageError(
                f"composed: {sample} and {r} are the sample and r of its steps, and can be no other parameter of them, "
                "nor have a default"
            )
        of_core = {"core": {*known, PRIVATE}}
        made = {name: _step("composed", name, fn, of_core.get(name, known - {PRIVATE})) for name, fn in given.items()}
        self.steps = Finishing(
            made["core"], made["finish"], made.get("mismatch"), mismatch_is == "exact", has_body=False
        )
        self.__signature__ = _signature(sample, r, given, made, defaults)

    def __call__(self, /, *args: Any, **params: Any) -> Any:
        bound = self.__signature__.bind(*args, **params)
        (sample, r), given = bound.args, bound.kwargs
        defaults = {p.name: p.default for p in self.__signature__.parameters.values() if p.default is not p.empty}
        steps = self.steps.of({**defaults, **given})
        r = as_randomness(r) if steps.splits else r
        return steps.last(steps.run(sample, r, **given), r.child("finish") if steps.splits else r)

    def __getattr__(self, name: str) -> Any:
        """Return the name that its module gave it, which is not known when it is made."""
        if name not in ("__name__", "__qualname__"):
            raise AttributeError(f"a composed subject has no attribute {name!r}")
        module = vars(sys.modules.get(self.__module__, object))
        names = (getattr(fn, "__name__", "?") for fn in (self.core, self.finish))
        return next((key for key, value in [*module.items()] if value is self), f"composed({', '.join(names)})")

    def __repr__(self) -> str:
        return str(self.__qualname__)


def _place(fn: Callable[..., Any], at: int, otherwise: str) -> str:
    """Return the name of a function's argument at this position."""
    names = [p.name for p in _parameters(fn) if p.kind in _BY_POSITION]
    return names[at] if len(names) > at else otherwise


def _signature(
    sample: str,
    r: str,
    given: Mapping[str, Callable[..., Any]],
    made: Mapping[str, FinishingStep],
    defaults: Mapping[str, Any],
) -> Signature:
    """Return the signature (sample, r, *, ...) with every parameter that one of the steps asks for."""
    named = dict(defaults)
    for step, fn in given.items():
        for p in _parameters(fn):
            if p.name in defaults or p.name not in (made[step].names or ()):
                continue
            before = named.setdefault(p.name, p.default)
            if before is not p.empty and p.default is not p.empty and repr(before) != repr(p.default):
                values = f"{p.name}={before!r} in one step and {p.default!r} in another"
                raise UsageError(f"composed has {values}: write one of them, or defaults={{{p.name!r}: ...}}")
            named[p.name] = p.default if before is p.empty else before
    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in (sample, r)]
    parameters += [Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in named.items()]
    if any(step.names is None for step in made.values()):
        parameters.append(Parameter("params", Parameter.VAR_KEYWORD))
    return Signature(parameters)


def _parameters(fn: Callable[..., Any]) -> Iterator[Parameter]:
    """Yield the parameters of a function; none where it does not tell them."""
    try:
        yield from inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # some builtins tell nobody
        return


def _is_named(p: Parameter) -> bool:
    """True for a parameter that is given by name, unlike the sample, r and cores."""
    return p.kind == p.KEYWORD_ONLY or (p.kind == p.POSITIONAL_OR_KEYWORD and p.default is not p.empty)


def check_steps(core: object, finish: object, mismatch: object, kind: str) -> None:
    """Refuse a declaration of steps that is incomplete or has something that is not a function."""
    if (core is None) != (finish is None) or (mismatch is not None and core is None):
        there = ", ".join(name for name, one in zip(_TAKES, (core, finish, mismatch), strict=True) if one is not None)
        raise UsageError(f"{there} alone says nothing: declare core and finish together, and mismatch if you know it")
    for name, one in zip(_TAKES, (core, finish, mismatch), strict=True):
        if one is not None and not callable(one):
            raise UsageError(f"{name}={one!r} must be a function {name}{_TAKES[name][1]}")
    if kind not in KINDS_OF_MISMATCH:
        near = suggestion(str(kind), KINDS_OF_MISMATCH)
        raise UsageError(f"mismatch_is={kind!r} must be exact or upper{near}: is mismatch the probability, or a bound?")


def find_finishing(
    fn: object, declared: Any, shown: str, settings: Mapping[str, Any], more: Sequence[str]
) -> Finishing | None:
    """Return the last step that is declared, or that an object has as methods, checked against the parameters of A.

    `more` are parameters of the core that have no value yet. A wrong signature is a UsageError with the right one.
    """
    if isinstance(fn, Composed):
        return fn.steps.of(settings)
    owner: Any = fn if all(inspect.getattr_static(fn, name, None) is not None for name in _TAKES) else declared
    core, finish, mismatch = owner.core, owner.finish, owner.mismatch
    if core is None and finish is None:
        return None
    kind = getattr(owner, "mismatch_is", "exact")
    check_steps(core, finish, mismatch, kind)
    return Finishing(
        _step(shown, "core", core, {*settings, *more}),
        _step(shown, "finish", finish, {*settings}),
        _step(shown, "mismatch", mismatch, {*settings}) if mismatch else None,
        kind == "exact",
        settings,
        has_body=owner is not fn or not getattr(inspect.getattr_static(type(fn), "__call__"), _MARK, False),
    )


def _step(shown: str, name: str, fn: Callable[..., Any], known: set[str]) -> FinishingStep:
    """Return a declared step after checking that it takes what it is given; UsageError with the form that it must
    have."""
    counts, form = _TAKES[name]
    try:
        everything = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):  # some builtins tell nobody
        return FinishingStep(fn, (), counts[-1])
    first = [p for p in everything if p.kind in _BY_POSITION and p.name not in known][: counts[-1]]
    rest = [p for p in everything if p not in first]
    missing = [p.name for p in rest if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    if len(first) not in counts or set(missing) - known:
        unknown = f", and it has no parameter {sorted(set(missing) - known)[0]!r}" if set(missing) - known else ""
        raise UsageError(f"{shown}: its {name}{inspect.signature(fn)} must take {form}{unknown}")
    if any(p.kind == p.VAR_KEYWORD for p in rest):
        return FinishingStep(fn, None, len(first))
    return FinishingStep(fn, tuple(p.name for p in rest if p.name in known), len(first))
