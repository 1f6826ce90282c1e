"""What is a repaired learner? A(sample, r) = finish(core(sample, r.child("core")), r.child("finish")).

The contract: `core` reads the sample and `finish` does not; they use children of r that are independent of each other.
So given two cores the probability over r that they finish differently is a number, `mismatch`, and rho is its mean. It
is "exact", or an "upper" bound (`mismatch_is`), or None where there is no formula. `claimed` and `sample_size`, where a
wrapper has them, say what its theorem makes of rho, and how many rows that takes.
"""

from __future__ import annotations

import functools
import inspect
import math
from numbers import Real
from typing import Any, Protocol

import numpy as np

from auditor.errors import BadValue, UsageError
from auditor.lookup import short_name
from auditor.randomness import Randomness, as_randomness, key_of
from auditor.repair.mechanisms.gumbel import as_real
from auditor.sources.frames import length, library_of, taken
from auditor.sources.sample import Sample, copied
from auditor.statistics.digits import exact
from auditor.subjects.estimators import Fit
from auditor.subjects.finishing import is_its_steps
from auditor.subjects.signature import PRIVATE
from auditor.subjects.subject import Declaration, Subject, load_subject
from auditor.subjects.view_functions import unmasked


class Seam(Protocol):
    """What an audit needs in order to integrate the randomness of `finish`; any object may have it.

    The object is a learner A(sample, r) = finish(core(sample, r.child("core")), r.child("finish")). `mismatch_is` is
    "exact" if `mismatch` is the probability itself, and "upper" if it is an upper bound.
    """

    mismatch_is: str

    def core(self, sample: Any, r: Randomness, **params: Any) -> Any:
        """Return what is computed from the sample."""

    def finish(self, core: Any, r: Randomness) -> Any:
        """Return the output that r makes of a core; it does not see the sample."""

    def mismatch(self, first: Any, second: Any) -> float | None:
        """Return the probability over r that two cores finish differently; None where there is no formula."""


class Repaired:
    """A learner around another: a function A(sample, r), an estimator, or a target such as "file.py:fit".

    It is itself called as `repaired(sample, r)`, with a seed or a generator as r, and can be audited like any learner.
    Where a wrapper has them, `claimed(...)` returns an upper bound on rho, and `sample_size(...)` the number of rows
    that reaches a given rho.
    """

    mismatch_is = "exact"
    wrapper = ""  # the name of the function that makes it, where that is not its class
    is_of_outputs = True  # whether an output of the learner is all that the core is made of

    def __init__(self, learner: Any, words: str, *, predicts: bool = False) -> None:
        """`words` are the arguments in its name. `predicts`: around an estimator, it is viewed as that estimator is."""
        self.learner = load_subject(learner)
        declared = self.learner.declared  # of which the following is true of the wrapper too
        view = self.learner.default_view if predicts and self.is_estimator else None
        self.__auditor__ = Declaration(
            source=declared.source,
            size=declared.size,
            sample=declared.sample,
            view=view,
            as_=declared.as_,
            resample=declared.resample,
        )
        self.__signature__ = _signature(self.learner)
        self.__annotations__ = {"sample": Sample if self.learner.takes_sample else Any, "r": Randomness}
        made = self.learner.fn.estimator if isinstance(self.learner.fn, Fit) else self.learner.fn
        while isinstance(made, functools.partial):
            made = made.func
        made = made if hasattr(made, "__qualname__") else type(made)
        self.__module__ = getattr(made, "__module__", __name__)  # whose code decides what a run does
        name = short_name(self.learner.name)
        self.__qualname__ = f"{self.wrapper or type(self).__name__}({name}{words and ', '}{words})"

    def __repr__(self) -> str:
        return self.__qualname__

    @is_its_steps
    def __call__(self, sample: Any, r: Any, **params: Any) -> Any:
        """Return A(sample, r); outside an audit r may be a seed."""
        r = as_randomness(r)
        return self.finish(self.core(sample, r.child("core"), **params), r.child("finish"))

    def core(self, sample: Any, r: Randomness, **params: Any) -> Any:
        """Return what is computed from the sample, before shared randomness makes an output of it."""
        return self.core_of(self.run(sample, r, **params))

    def core_of(self, output: Any) -> Any:
        """Return the core that an output of the learner makes."""
        return output

    def run(self, sample: Any, r: Randomness, **params: Any) -> Any:
        """Run the learner, with the sample, r and private randomness in the form that it asks for."""
        private = params.pop(PRIVATE, None)
        return self.learner.run(sample, key_of(r), private and key_of(private), **params)

    def run_one(self, sample: Any, r: Randomness, **params: Any) -> Any:
        """Run the learner as one of several, and copy its output, since the next run may write into it. Models are not
        copied."""
        output = self.run(sample, r, **params)
        return output if hasattr(output, "predict") else copied(output)

    def finish(self, core: Any, r: Randomness) -> Any:
        """Return the output that r makes of a core; it does not see the sample."""
        return core

    def mismatch(self, first: Any, second: Any) -> float | None:
        """Return the probability over r that two cores finish differently; None where there is no formula."""
        return None

    @property
    def is_estimator(self) -> bool:
        """True if the learner is fitted, and not a function."""
        return isinstance(self.learner.fn, Fit)


def _signature(learner: Subject) -> inspect.Signature:
    """Return the signature (sample, r) with the learner's own parameters behind."""
    kinds = inspect.Parameter
    found = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in ("sample", "r")]
    found += [kinds(name, kinds.KEYWORD_ONLY, default=value) for name, value in learner.settings.items()]
    found += [kinds(PRIVATE, kinds.KEYWORD_ONLY)] if learner.private else []
    try:
        own = inspect.signature(learner.fn).parameters.values()
        takes_any = any(one.kind == kinds.VAR_KEYWORD for one in own)
    except (TypeError, ValueError):  # some builtins have no signature
        takes_any = True
    return inspect.Signature([*found, *([kinds("params", kinds.VAR_KEYWORD)] if takes_any else [])])


def pieces(sample: Any, count: int, *, learner: Subject) -> list[Any]:
    """Return disjoint pieces of equal size, in the form that the learner takes; rows that do not fill one are left."""
    rows = sample if isinstance(sample, (Sample, tuple, list)) or library_of(sample) else np.asarray(sample)
    size = rows.size if isinstance(rows, Sample) else length(rows)
    each = size // count
    if each < 1:
        raise UsageError(f"chunks={count} of {size:,} rows are empty: use fewer chunks, or a larger --size")
    if isinstance(rows, Sample) or learner.takes_sample:
        rows = Sample.of(rows)
        parts = [rows.take(each) for _ in range(count)]
        return parts if learner.takes_sample else [part.rows() for part in parts]
    return [taken(rows, np.arange(start, start + each)) for start in range(0, each * count, each)]


def single(number: Any) -> Any:
    """Return a learner's output for a wrapper that takes one number: that in an array of one, and anything else as it
    is. SubjectError if it is masked."""
    unmasked(number)
    return number.item() if hasattr(number, "item") and getattr(number, "size", 0) == 1 else number


def positive(name: str, value: Any, what: str, example: float, *, most: float = math.inf) -> float:
    """Return a finite number above 0, and at most `most`, as a float; BadValue for anything else."""
    number = as_real(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not 0 < number <= most or number == math.inf:
        until = "" if most == math.inf else f" and at most {exact(most)}"
        raise BadValue(name, value, f"must be a number above 0{until}: {what}, e.g. {example:g}")
    return number
