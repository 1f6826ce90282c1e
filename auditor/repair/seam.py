"""What is a repaired learner? A(sample, r) = finish(core(sample, r.child("core")), r.child("finish")).

The contract: `core` reads the sample, `finish` does not; they use children of r that are independent of each other. So
given two cores the probability over r that they finish differently is a number, `mismatch`, and rho is its mean:
"exact", or "upper" where only a bound of it is known (`mismatch_is`); None where nothing is. `claimed` and
`sample_size`, where there are any, say what the theorem makes of rho, and how many rows it takes.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from numbers import Real
from typing import Any, Protocol

from auditor.errors import BadValue, UsageError
from auditor.randomness import Randomness, as_randomness, key_of
from auditor.repair.mechanisms.gumbel import as_real
from auditor.sources.sample import Sample, copied
from auditor.statistics.outward import exact
from auditor.subjects.estimators import Fit
from auditor.subjects.finishing import is_its_steps
from auditor.subjects.signature import PRIVATE
from auditor.subjects.subject import Declaration, Subject, load_subject
from auditor.subjects.views.places import unmasked


class Seam(Protocol):
    """What an audit needs to integrate the finishing randomness; anybody's object may have it."""

    mismatch_is: str

    def core(self, sample: Any, r: Randomness, **params: Any) -> Any: ...

    def finish(self, core: Any, r: Randomness) -> Any: ...

    def mismatch(self, first: Any, second: Any) -> float | None: ...


class Repaired:
    """A learner around another: a function A(sample, r), an estimator, or a target such as "file.py:fit"."""

    mismatch_is = "exact"
    verb = ""  # what makes one, where that is not its class
    is_of_outputs = True  # whether an output of the learner is all that it needs

    def __init__(self, learner: Any, words: str, *, predicts: bool = False) -> None:
        """`words` follow the learner in this one's name; `predicts`: of an estimator comes what is viewed as one."""
        self.learner = load_subject(learner)
        view = self.learner.default_view if predicts and self.is_estimator else None
        self.__auditor__ = _declaration(self.learner, view)
        self.__signature__ = _signature(self.learner)
        self.__annotations__ = {"sample": Sample if self.learner.takes_sample else Any, "r": Randomness}
        made = self.learner.fn.estimator if isinstance(self.learner.fn, Fit) else self.learner.fn
        self.__module__ = getattr(_defined(made), "__module__", __name__)  # whose code decides what a run does
        name = self.learner.name.rpartition(":")[2]
        self.__qualname__ = f"{self.verb or type(self).__name__}({name}{words and ', '}{words})"

    def __repr__(self) -> str:
        return self.__qualname__

    @is_its_steps
    def __call__(self, sample: Any, r: Any, **params: Any) -> Any:
        """A(sample, r); r may be a seed too, where somebody uses it outside an audit."""
        r = as_randomness(r)
        return self.finish(self.core(sample, r.child("core"), **params), r.child("finish"))

    def core(self, sample: Any, r: Randomness, **params: Any) -> Any:
        return self.core_of(self.run(sample, r, **params))

    def core_of(self, output: Any) -> Any:
        """What is made of an output of the learner."""
        return output

    def run(self, sample: Any, r: Randomness, **params: Any) -> Any:
        """One run of the learner, given the sample, r and private randomness as it asks for them."""
        private = params.pop(PRIVATE, None)
        return self.learner.run(sample, key_of(r), private and key_of(private), **params)

    def run_one(self, sample: Any, r: Randomness, **params: Any) -> Any:
        """One of several runs: its output as it is now, since the next run may write into it. A model is its own."""
        output = self.run(sample, r, **params)
        return output if hasattr(output, "predict") else copied(output)

    def finish(self, core: Any, r: Randomness) -> Any:
        """Nothing is left to do, unless a wrapper has something."""
        return core

    def mismatch(self, first: Any, second: Any) -> float | None:
        """No formula, unless a wrapper has one."""
        return None

    @property
    def is_estimator(self) -> bool:
        """Whether the learner is one that is fitted, and not a function."""
        return isinstance(self.learner.fn, Fit)


def _declaration(learner: Subject, view: object) -> Declaration:
    """Of what the learner declared, that which is still true of another one around it."""
    was = learner.declared
    return Declaration(source=was.source, size=was.size, sample=was.sample, view=view)


def _signature(learner: Subject) -> inspect.Signature:
    """The learner's own parameters behind sample and r."""
    kinds = inspect.Parameter
    named = [kinds(name, kinds.KEYWORD_ONLY, default=value) for name, value in learner.settings.items()]
    named += [kinds(PRIVATE, kinds.KEYWORD_ONLY)] if learner.private else []
    rest = [kinds("params", kinds.VAR_KEYWORD)] if _takes_any(learner.fn) else []
    return inspect.Signature([*(kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in ("sample", "r")), *named, *rest])


def _takes_any(fn: Callable[..., Any]) -> bool:
    try:
        return any(p.kind == p.VAR_KEYWORD for p in inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):  # some builtins tell nobody
        return True


def _defined(thing: Any) -> Any:
    while isinstance(thing, functools.partial):
        thing = thing.func
    return thing if hasattr(thing, "__qualname__") else type(thing)


def pieces(sample: Any, count: int, *, learner: Subject) -> list[Any]:
    """So many disjoint pieces of equal size, as the learner takes a sample; what fills none is left over."""
    rows = Sample.of(sample)
    each = rows.size // count
    if each < 1:
        raise UsageError(f"chunks={count} of {rows.size:,} rows are empty: use fewer chunks, or a larger --size")
    taken = [rows.take(each) for _ in range(count)]
    return taken if learner.takes_sample else [piece.rows() for piece in taken]


def single(number: Any) -> Any:
    """What an array of one number holds; anything else as it is. SubjectError where that is masked."""
    unmasked(number)
    return number.item() if hasattr(number, "item") and getattr(number, "size", 0) == 1 else number


def positive(name: str, value: Any, what: str, example: float, *, most: float = math.inf) -> float:
    """Return a finite number above 0, and at most `most`, as a float; anything else gets a sentence."""
    number = as_real(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not 0 < number <= most or number == math.inf:
        until = "" if most == math.inf else f" and at most {exact(most)}"
        raise BadValue(name, value, f"must be a number above 0{until}: {what}, e.g. {example:g}")
    return number
