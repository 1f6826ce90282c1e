"""Where does the shared randomness act? Where it acts last, A(sample, r) comes apart, and that step can be integrated.

    A(sample, r) = finish(core(sample, r.child("core")), r.child("finish"))

`core` reads the sample, `finish` does not, and they use children of r that are independent of each other. A core that
takes no r leaves all of it to the finish: A(sample, r) = finish(core(sample), r). So given two cores the probability
over r that they finish differently is a number in [0, 1], and rho is its mean: mismatch(first, second), or an upper
bound of it, or None where nobody has a formula. Parameters of A that one of the three names are given to it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import Parameter
from numbers import Real
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.errors import SubjectError, UsageError, suggestion
from auditor.process.foreign import call
from auditor.randomness import Key

KINDS_OF_MISMATCH = ("exact", "upper")
_TAKES = {
    "core": ((1, 2), "(sample) or (sample, r)"),
    "finish": ((2,), "(core, r)"),
    "mismatch": ((2,), "(first, second)"),
}
_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_ROUNDED = 1e-9  # beyond [0, 1], what sums of floats may be off by


class Step(msgspec.Struct, frozen=True):
    """One of the three, and which parameters of A it takes."""

    fn: Callable[..., Any]
    names: tuple[str, ...] | None  # None: whatever A was given
    places: int  # arguments by position

    def at(self, given: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
        """What it is given by name: `given` is what A was called with, `settings` has the defaults too."""
        if self.names is None:
            return dict(given)
        known = {**settings, **given}
        return {name: known[name] for name in self.names if name in known}


class Finishing(msgspec.Struct, frozen=True):
    """What an author declares of the last step."""

    core: Step
    finish: Step
    mismatch: Step | None  # None: no formula
    is_exact: bool = True  # else the mismatch is an upper bound
    settings: Mapping[str, Any] | None = None  # of the subject that it belongs to

    @property
    def splits(self) -> bool:
        """Whether the core uses randomness of its own; if not, all of r is the finish's."""
        return self.core.places == 2

    @property
    def functions(self) -> list[Callable[..., Any]]:
        return [step.fn for step in (self.core, self.finish, self.mismatch) if step]

    def run(self, sample: Any, r: Any, **given: Any) -> Any:
        """The core of one run: called in place of A."""
        named = self.core.at(given, self.settings or {})
        return self.core.fn(sample, r.child("core"), **named) if self.splits else self.core.fn(sample, **named)

    def own(self, key: Key) -> Key:
        """Of a run's r, what its finish has."""
        return key.child("finish") if self.splits else key

    @property
    def last(self) -> Callable[[Any, Any], Any]:
        """What makes an output of a core and r, with its parameters: they are the same for many r."""
        named = self.finish.at({}, self.settings or {})
        return partial(self.finish.fn, **named) if named else self.finish.fn

    def apart(self, first: Any, second: Any) -> float | None:
        """m of two cores, checked; None where there is no formula."""
        if self.mismatch is None:
            return None
        m = call(self.mismatch.fn, first, second, **self.mismatch.at({}, self.settings or {}))
        if m is None:
            return None
        if not isinstance(m, Real) or not -_ROUNDED <= float(m) <= 1 + _ROUNDED:
            raise SubjectError(
                f"mismatch returned {m!r}, and must return a number in [0, 1]: the probability that two cores finish "
                "differently, or None where it is not known"
            )
        return min(max(float(m), 0.0), 1.0)

    def of(self, settings: Mapping[str, Any]) -> Finishing:
        return replace(self, settings=settings)


def check_steps(core: object, finish: object, mismatch: object, kind: str) -> None:
    """What can be seen of a declaration before anything is loaded."""
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
    """What is declared of the last step, or what an object has of it; checked against the parameters of A.

    `more` are parameters of the core that have no value yet. UsageError with the signature that is asked for.
    """
    said: Any = fn if all(inspect.getattr_static(fn, name, None) is not None for name in _TAKES) else declared
    core, finish, mismatch = said.core, said.finish, said.mismatch
    if core is None and finish is None:
        return None
    kind = getattr(said, "mismatch_is", "exact")
    check_steps(core, finish, mismatch, kind)
    return Finishing(
        _step(shown, "core", core, {*settings, *more}),
        _step(shown, "finish", finish, {*settings}),
        _step(shown, "mismatch", mismatch, {*settings}) if mismatch else None,
        kind == "exact",
        settings,
    )


def _step(shown: str, name: str, fn: Callable[..., Any], known: set[str]) -> Step:
    counts, form = _TAKES[name]
    try:
        everything = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):  # some builtins tell nobody
        return Step(fn, (), counts[-1])
    first = [p for p in everything if p.kind in _BY_POSITION and p.name not in known][: counts[-1]]
    rest = [p for p in everything if p not in first]
    missing = [p.name for p in rest if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    if len(first) not in counts or set(missing) - known:
        unknown = f", and it has no parameter {sorted(set(missing) - known)[0]!r}" if set(missing) - known else ""
        raise UsageError(f"{shown}: its {name}{inspect.signature(fn)} must take {form}{unknown}")
    if any(p.kind == p.VAR_KEYWORD for p in rest):
        return Step(fn, None, len(first))
    return Step(fn, tuple(p.name for p in rest if p.name in known), len(first))
