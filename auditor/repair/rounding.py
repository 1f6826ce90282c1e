"""`rounded`: a learner's numbers, or its predictions, on a random grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, overload

import numpy as np

from auditor.errors import BadValue, SubjectError, UsageError, check_count, suggestion
from auditor.randomness import Randomness, key_of
from auditor.repair.mechanisms.foam import RATE, centred_foams, foam_mismatch
from auditor.repair.mechanisms.grid import (
    APART,
    MOST_CELLS,
    grid_mismatch,
    has_cells,
    middles,
    on_grid,
    on_whole_grid,
    parted,
)
from auditor.repair.mechanisms.gumbel import uniforms
from auditor.repair.mechanisms.lattice import LATTICES, MOST_SLANTED, lattice_for, lattice_mismatch, on_lattice
from auditor.repair.numbers_of import Apart, Reals, Widths, put_back, take_apart
from auditor.repair.repaired import Repaired, positive
from auditor.subjects.estimators import Estimator, Fit, Learner, predicts_numbers
from auditor.subjects.subject import load_subject
from auditor.values import describe, same

TILINGS = ("boxes", "foams", *LATTICES)


@overload
def rounded(learner: Learner, width: Mapping[str, float], *, tiling: str = "boxes") -> Rounded: ...
@overload
def rounded(learner: Callable[Concatenate[Any, Any, ...], Any], width: float, *, tiling: str = "boxes") -> Rounded: ...
@overload
def rounded(learner: Estimator | type[Estimator], width: float, *, tiling: str = "boxes") -> RoundedPredictions: ...
@overload
def rounded(learner: str, width: float, *, tiling: str = "boxes") -> Rounded | RoundedPredictions: ...
def rounded(learner: Any, width: Any, *, tiling: str = "boxes") -> Rounded | RoundedPredictions:
    """Return the learner with the numbers of its output rounded to a grid, each path with a random offset of its own.

    Guarantee: rho = E[1 - prod_i (1 - min(1, |c_i - c'_i| / w_i))] exactly, c and c' the numbers of two runs, if all
    else in the output is the same; at most `claimed(spread)`. Foams: at most sqrt(8 pi) E|c - c'|_2 / w; lattices: at
    most `worst` E|c - c'|_2 / w (`mechanisms.lattice`).
    Proof: two numbers share a cell unless one of its ends falls between them, and ends are uniform modulo the width;
    offsets are independent, so the probabilities of no difference multiply. E|c - c'| is at most 2/sqrt(3) times c's
    deviation (`mechanisms.grid`).
    Price: a number moves by at most half its width; by foams all of d together by at most sqrt(d)/2 widths, by lattices
    by at most `radius`.

    `width` is a number, or maps paths to numbers: {"coef": 0.1, "output[0]": 2.0}. What has no width stays as it is.
    Whole numbers stay whole, on a grid of whole width: where their path has a width, or where an output without floats
    has one for all. For an estimator, name the fitted attributes that it predicts with: {"coef_": 0.1}. The
    output is then a copy of it with these rounded, and the formula an upper bound for its predictions.
    One number as the width of a regressor rounds its predictions, all with one offset: those of a point then differ
    with probability min(1, |c - c'| / w) exactly, which is about churn, and not about rho.
    Other tilings round all numbers as one vector: "D", "A*", "E8" and "Leech" to the points of a lattice, "best" to
    that which moves a vector the least for the same rho, and "foams" at most 24 numbers by a random foam.
    """
    if tiling == "boxes" and not isinstance(width, Mapping) and _is_regressor(learner):
        return RoundedPredictions(learner, width)
    return Rounded(learner, width, tiling)


class Rounded(Repaired):
    """`rounded`, for the numbers of an output and for named attributes of an estimator."""

    wrapper = "rounded"

    def __init__(self, learner: Any, width: Any, tiling: str) -> None:
        if tiling not in TILINGS:
            raise BadValue("tiling", tiling, f"must be one of {', '.join(TILINGS)}{suggestion(str(tiling), TILINGS)}")
        self.widths, self.tiling = Widths(width), tiling
        words = f"width={width!r}" + (f", tiling={tiling!r}" if tiling != "boxes" else "")
        super().__init__(learner, words, predicts=True)
        if self.is_estimator and self.widths.is_one:
            raise UsageError(
                f"width={width!r}: {self.learner.name} is an estimator, so name the fitted attributes that its "
                "predictions are made of, e.g. width={'coef_': 0.1, 'intercept_': 0.1}"
            )
        self.mismatch_is = "exact" if tiling == "boxes" and not self.is_estimator else "upper"

    def core_of(self, output: Any) -> Apart:
        """Return the numbers of an output that are rounded, and all else of it apart."""
        return take_apart(output, self.widths, most=MOST_SLANTED if self.tiling in LATTICES else MOST_CELLS)

    def finish(self, core: Apart, r: Randomness) -> Any:
        """Round the numbers of an output on a grid, in a lattice or in a foam, that r places."""
        if self.tiling != "boxes" and core.whole.any():
            raise SubjectError(
                f"{self._called} round floats, and the output has whole numbers with a width: use boxes for them"
            )
        if self.tiling in LATTICES:
            return put_back(core, on_lattice(core.numbers, r.child("lattice"), lattice=self.tiling, width=core.widths))
        return put_back(core, _foamed(core, r) if self.tiling == "foams" else _boxed(core, r))

    @property
    def _called(self) -> str:
        """What the cells are called in a sentence."""
        return f"cells of {self.tiling}" if self.tiling in LATTICES else self.tiling

    def mismatch(self, first: Apart, second: Apart) -> float:
        """Return the probability that the numbers of two outputs are rounded differently."""
        same_rest = self.is_estimator or same(first.rest, second.rest)
        if not same_rest or first.sizes != second.sizes:
            return 1.0
        if self.tiling in LATTICES:
            return lattice_mismatch(first.numbers, second.numbers, first.widths, self.tiling)
        of_tiling = grid_mismatch if self.tiling == "boxes" else foam_mismatch
        return of_tiling(first.numbers, second.numbers, first.widths)

    def claimed(self, spread: float, *, numbers: int = 1) -> float:
        """Return an upper bound on rho, if none of so many numbers has a standard deviation above `spread`."""
        positive("spread", spread, "a standard deviation", 0.1)
        return min(1.0, self._factor(numbers) * spread / self.widths.least)

    def sample_size(self, rho: float, spread: float, *, numbers: int = 1) -> int:
        """Return how many rows make `claimed` rho, if the numbers are means of rows with this standard deviation."""
        positive("rho", rho, "how often two outputs may differ", 0.1, most=1.0)
        positive("spread", spread, "the standard deviation of a row", 1.0)
        return math.ceil((self._factor(numbers) * spread / (rho * self.widths.least)) ** 2)

    def _factor(self, numbers: int) -> float:
        """Return the factor of spread / width: a union bound for boxes, E|c - c'|_2 <= sqrt(2 d) spread for foams, and
        for lattices what their rate makes of two copies of a vector."""
        check_count("numbers", numbers, least=1, example=10)
        if self.tiling in LATTICES:
            return APART * lattice_for(self.tiling, numbers).rate_of(numbers) * math.sqrt(numbers)
        return APART * numbers if self.tiling == "boxes" else RATE * math.sqrt(2 * numbers)


class RoundedPredictions(Repaired):
    """`rounded`, for the predictions of a regressor."""

    wrapper = "rounded"

    def __init__(self, learner: Any, width: Any) -> None:
        self.width = positive("width", width, "that of a cell", 0.1)
        super().__init__(learner, f"width={width!r}", predicts=True)

    def finish(self, core: Any, r: Randomness) -> OnGrid:
        """Return the model with predictions on a grid that r places."""
        return OnGrid(core, float(r.child("offset").random()), self.width)

    def churn(self, first: Any, second: Any) -> Reals:
        """Return, for each point, Pr over r that two runs predict it apart, given what their models predict."""
        return np.minimum(parted(first, second) / self.width, 1.0)

    def mismatch(self, first: Any, second: Any) -> None:
        """Return None: all points share r, so only the mean over them, `churn`, has a formula."""


@dataclass(frozen=True)
class OnGrid:
    """A fitted regressor whose predictions are rounded to the middles of cells."""

    model: Any
    offset: float
    width: float

    def predict(self, points: Any) -> Reals:
        """Return the model's predictions, rounded on the grid."""
        found = np.asarray(self.model.predict(points), dtype=float)
        if not has_cells(found, self.width).all():
            what = f"{describe(self.model, 60)} predicts what has no cell of width {self.width:g}"
            raise SubjectError(f"{what}: NaN, an infinity, or a number too large; use a larger width")
        return on_grid(found, self.offset, self.width)


def _is_regressor(learner: Any) -> bool:
    """True if it is an estimator that predicts numbers, and neither classifies nor clusters."""
    fn = load_subject(learner).fn
    return isinstance(fn, Fit) and predicts_numbers(fn.estimator)


def _boxed(core: Apart, r: Randomness) -> Reals:
    """Return the numbers on the grid, on which those of a core have cells. A single number of a path has its offset by
    the path's name, several numbers have theirs from the path's own child of r."""
    single = [path for path, size in core.sizes.items() if size == 1]
    offsets = uniforms(key_of(r).child("offset"), single)
    if len(single) < len(core.sizes):
        alone = dict(zip(single, offsets, strict=True))
        own = [alone[path] if path in alone else r.child("offsets", path).random(n) for path, n in core.sizes.items()]
        offsets = np.hstack(own)
    found = middles(core.numbers, offsets, core.widths)
    if core.whole.any():
        x, u, w = (side[core.whole] for side in (core.numbers, np.asarray(offsets), core.widths))
        found[core.whole] = on_whole_grid(x, u, w)
    return found


def _foamed(core: Apart, r: Randomness) -> Reals:
    """Return the numbers by foams. These are the same around every whole number, so only remainders are rounded, which
    have all their digits."""
    cell, into = np.divmod(core.numbers, core.widths)
    return np.asarray(centred_foams(into / core.widths, r.child("foams"), whole=cell) * core.widths)
