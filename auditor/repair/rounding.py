"""`rounded`: a learner's numbers on a random grid."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from auditor.errors import BadValue, SubjectError, UsageError, check_count, suggestion
from auditor.randomness import Randomness
from auditor.repair.mechanisms.foam import RATE, centred_foams, foam_mismatch
from auditor.repair.mechanisms.grid import APART, grid_mismatch, has_cells, on_grid, parted
from auditor.repair.mechanisms.gumbel import uniforms
from auditor.repair.numbers_of import Apart, Reals, Widths, put_back, take_apart
from auditor.repair.seam import Repaired, positive
from auditor.subjects.estimators import Fit, predicts_numbers
from auditor.subjects.subject import load_subject
from auditor.values import describe, same

TILINGS = ("boxes", "foams")


def rounded(learner: Any, width: Any, *, tiling: str = "boxes") -> Rounded | RoundedPredictions:
    """The learner with the numbers of its output on a grid, each path with a random offset of its own.

    Guarantee: rho = E[1 - prod_i (1 - min(1, |c_i - c'_i| / w_i))] exactly, c and c' the numbers of two runs, if all
    else in the output is the same; at most `claimed(spread)`. Foams: at most sqrt(8 pi) E|c - c'|_2 / w.
    Proof: two numbers share a cell unless one of its ends falls between them, and ends are uniform modulo the width;
    offsets are independent, so the probabilities of no difference multiply. E|c - c'| is at most 2/sqrt(3) times c's
    deviation (`mechanisms.grid`).
    Price: a number moves by at most half its width; by foams all of d together by at most sqrt(d)/2 widths.

    `width` is a number, or maps paths to numbers: {"coef": 0.1, "output[0]": 2.0}. What has none stays as it is, whole
    numbers too. Of an estimator the fitted attributes that predictions are made of are named: {"coef_": 0.1, ...}; what
    comes out is a copy of it with these rounded, and the formula is that of predictions, as an upper bound.
    With one number for a width a regressor's predictions are rounded, all with one offset: those of a point then differ
    with probability min(1, |c - c'| / w) exactly, which is of churn, and not of rho.
    `tiling="foams"` rounds all numbers as one vector of at most 24.
    """
    if tiling == "boxes" and not isinstance(width, Mapping) and _is_regressor(learner):
        return RoundedPredictions(learner, width)
    return Rounded(learner, width, tiling)


class Rounded(Repaired):
    """See `rounded`."""

    verb = "rounded"

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
        return take_apart(output, self.widths)

    def finish(self, core: Apart, r: Randomness) -> Any:
        return put_back(core, _foamed(core, r) if self.tiling == "foams" else _boxed(core, r))

    def mismatch(self, first: Apart, second: Apart) -> float:
        same_rest = self.is_estimator or same(first.rest, second.rest)
        if not same_rest or first.sizes != second.sizes:
            return 1.0
        of_tiling = grid_mismatch if self.tiling == "boxes" else foam_mismatch
        return of_tiling(first.numbers, second.numbers, first.widths)

    def claimed(self, spread: float, *, numbers: int = 1) -> float:
        """What rho is at most, where none of so many numbers has a standard deviation above `spread`."""
        positive("spread", spread, "a standard deviation", 0.1)
        return min(1.0, self._factor(numbers) * spread / self.widths.least)

    def sample_size(self, rho: float, spread: float, *, numbers: int = 1) -> int:
        """Rows after which `claimed` is rho, where the numbers are means of rows with a deviation of `spread`."""
        positive("rho", rho, "how often two outputs may differ", 0.1, most=1.0)
        positive("spread", spread, "the standard deviation of a row", 1.0)
        return math.ceil((self._factor(numbers) * spread / (rho * self.widths.least)) ** 2)

    def _factor(self, numbers: int) -> float:
        """Boxes by a union bound over the numbers, foams by E|c - c'|_2 <= sqrt(2 d) spread."""
        check_count("numbers", numbers, least=1, example=10)
        return APART * numbers if self.tiling == "boxes" else RATE * math.sqrt(2 * numbers)


class RoundedPredictions(Repaired):
    """See `rounded`: around a regressor, whatever it predicts with."""

    verb = "rounded"

    def __init__(self, learner: Any, width: Any) -> None:
        self.width = positive("width", width, "that of a cell", 0.1)
        super().__init__(learner, f"width={width!r}", predicts=True)

    def finish(self, core: Any, r: Randomness) -> OnGrid:
        return OnGrid(core, float(r.child("offset").random()), self.width)

    def churn(self, first: Any, second: Any) -> Reals:
        """Of each point, Pr over r that two runs predict it apart, from what their models predict."""
        return np.minimum(parted(first, second) / self.width, 1.0)

    def mismatch(self, first: Any, second: Any) -> None:
        """Of many points only their mean, `churn`, has a formula, as r is shared by all of them."""


@dataclass(frozen=True)
class OnGrid:
    """A fitted regressor whose predictions are in the middles of cells."""

    model: Any
    offset: float
    width: float

    def predict(self, points: Any) -> Reals:
        found = np.asarray(self.model.predict(points), dtype=float)
        if not has_cells(found, self.width).all():
            what = f"{describe(self.model, 60)} predicts what has no cell of width {self.width:g}"
            raise SubjectError(f"{what}: NaN, an infinity, or a number too large; use a larger width")
        return on_grid(found, self.offset, self.width)


def _is_regressor(learner: Any) -> bool:
    """Whether it is an estimator that predicts numbers: what classifies, or names clusters, says so."""
    fn = load_subject(learner).fn
    return isinstance(fn, Fit) and predicts_numbers(fn.estimator)


def _boxed(core: Apart, r: Randomness) -> Reals:
    """Single numbers take their offsets by path all at once, several of one path from a child of its own."""
    single = [path for path, size in core.sizes.items() if size == 1]
    offsets = uniforms(r.child("offset"), single)
    if len(single) < len(core.sizes):
        alone = dict(zip(single, offsets, strict=True))
        own = [alone[path] if path in alone else r.child("offsets", path).random(n) for path, n in core.sizes.items()]
        offsets = np.hstack(own)
    return on_grid(core.numbers, offsets, core.widths)


def _foamed(core: Apart, r: Randomness) -> Reals:
    """Foams are the same around every whole number, so only remainders are rounded, which have all their digits."""
    cell, into = np.divmod(core.numbers, core.widths)
    return np.asarray(centred_foams(into / core.widths, r.child("foams"), whole=cell) * core.widths)
