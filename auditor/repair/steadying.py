"""`sorted_rows`, `single_thread` and `sites`: they take away from a learner what it must not depend on."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, overload

import numpy as np
from msgspec.structs import replace

from auditor.errors import UsageError
from auditor.randomness import Randomness, as_randomness
from auditor.repair.mechanisms.keyed_draws import (
    RefusingWitness,
    is_generator,
    keyed_from_here,
    run_with_sites,
    why_without_keys,
)
from auditor.repair.repaired import Repaired
from auditor.sources.sample import RowSample, Sample
from auditor.subjects.estimators import Learner
from auditor.subjects.own_code import OwnCode
from auditor.values import fingerprint

G = TypeVar("G", bound=np.random.Generator | np.random.RandomState | random.Random)


class _WithoutFinish(Repaired):
    """A wrapper with nothing to finish and no formula: its mismatches have to be counted."""

    mismatch = None  # type: ignore[assignment]
    is_of_outputs = False

    def __init__(self, learner: Any) -> None:
        super().__init__(learner, "", predicts=True)


class sorted_rows(_WithoutFinish):
    """The learner on rows that are sorted and then put into an order that r draws: the order they came in has no say.

    Guarantee: the output depends on the multiset of rows and on r alone, and a single run on exchangeable rows has the
    law that it had.
    Proof: sorting, by the rows' bytes, forgets the order; a uniform permutation from r.child("order") then makes every
    order equally likely, as it was for exchangeable rows, independently of the r that the learner gets.
    Price: a sort. What differed between two samples still differs.
    """

    def core(self, sample: Any, r: Randomness, **params: Any) -> Any:
        """Run the learner on the sample in a canonical order, shuffled by r."""
        order = r.child("order")
        if isinstance(sample, RowSample):
            sample = sample.map(lambda rows: reordered(rows, order))
        elif not isinstance(sample, Sample):  # counts have no order
            sample = reordered(sample, order)
        return self.run(sample, r.child("learner"), **params)


def reordered(rows: Any, order: Randomness) -> Any:
    """Return the rows, sorted by their bytes and then permuted; X and y of (X, y) together.

    A row's bytes are those of its values if these are plain, else of their fingerprints.
    """
    parts = rows if isinstance(rows, tuple) else (rows,)
    tables = []
    for part in parts:
        array = np.asarray(part)
        if array.dtype.hasobject or array.dtype.kind == "V":
            array = np.array([fingerprint(row) for row in array], dtype="S32")
        tables.append(np.ascontiguousarray(array).reshape(len(array), -1).view(np.uint8).reshape(len(array), -1))
    joined = np.ascontiguousarray(np.concatenate(tables, axis=1))
    codes = joined.view(f"V{joined.shape[1]}").ravel()
    place = np.argsort(codes, kind="stable")[order.permutation(len(parts[0]))]
    found = tuple(part.iloc[place] if hasattr(part, "iloc") else np.asarray(part)[place] for part in parts)
    return found if isinstance(rows, tuple) else found[0]


class single_thread(_WithoutFinish):
    """The learner with one thread for BLAS, OpenMP and PyTorch: sums are rounded in one order, whatever the machine.

    Guarantee: what these libraries compute does not depend on how many threads they would take.
    Proof: with one thread there is one order of summation.
    Price: time. Libraries that the learner's first run is the first to import are reached from its second run on:
    import them at the top of its file.
    """

    def core(self, sample: Any, r: Randomness, **params: Any) -> Any:
        """Run the learner with one thread for its libraries."""
        with _one_thread():
            return self.run(sample, r, **params)


@contextmanager
def _one_thread() -> Iterator[None]:
    """While this lasts, BLAS, OpenMP and torch compute in one thread."""
    from threadpoolctl import threadpool_limits

    torch: Any = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else 1
    with threadpool_limits(1):
        try:
            if before > 1:
                torch.set_num_threads(1)
            yield
        finally:
            if before > 1:
                torch.set_num_threads(before)


@overload
def sites(learner: int) -> Randomness: ...
@overload
def sites(learner: G) -> G: ...
@overload
def sites(learner: Learner) -> Sited: ...
def sites(learner: Any) -> Any:
    """Return the learner with an r whose draws belong to the place in the code that draws; inside a learner, such an r:

        def fit(sample, r):
            r = sites(r)

    Guarantee: where both runs of a pair draw at a place, they draw the same bits, whatever either drew elsewhere; and
    a single run has the law that it had.
    Proof: a draw has a stream of its own by (function, position of the call in its source, occurrence since that frame
    was entered), frame by frame of the learner's own code; no key comes twice, and the streams of different keys are
    independent, so that each draw is uniform given all before it, as the next bits of one stream are (`keyed_draws`).
    Price: some microseconds a draw. Draws at one place are told apart by their number: a loop that skips some is out of
    step until it ends. Under python -X no_debug_ranges a whole line is one place. A child of r stays what it is; a run
    that copies r, or reads or sets its state, is refused.

    An r that is a seed becomes a generator; a plain numpy or Python generator stays of its kind. Frames that drew are
    let go when the wrapper's run ends, inside a learner by the garbage collector.
    """
    if isinstance(learner, int):
        learner = as_randomness(learner)
    if is_generator(learner):
        return keyed_from_here(learner, sys._getframe(1))
    return Sited(learner)


class Sited(_WithoutFinish):
    """`sites`, around a learner."""

    wrapper = "sites"

    def __init__(self, learner: Any) -> None:
        super().__init__(learner)
        if why := why_without_keys(self.learner):
            cure = "there is nothing to key" if self.is_estimator else "call r = sites(r) inside, and draw from that"
            raise UsageError(f"sites({self.learner.name}): {why}: {cure}")
        self._fn, self._own = self.learner.fn, OwnCode(self.learner.fn)
        self.learner = replace(self.learner, fn=self._keyed)

    def _keyed(self, sample: Any, r: Any, **params: Any) -> Any:
        """Run the learner with an r whose draws are keyed by the line that draws."""
        return run_with_sites(self._fn, (sample, r, params), RefusingWitness(), self._own, keyed=True)
