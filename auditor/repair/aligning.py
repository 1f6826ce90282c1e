"""`aligned`: clusters whose labels mean the same in every run, from rounded and sorted centres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from auditor.errors import SubjectError, check_count
from auditor.randomness import Randomness
from auditor.repair.mechanisms.grid import APART, any_of, boxes, has_cells, one_grid_mismatch, parted
from auditor.repair.repaired import Repaired, positive
from auditor.subjects.view_functions import unmasked
from auditor.values import describe

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Clusters:
    """Centres in lexicographic order; a point's label is the place of the nearest centre."""

    cluster_centers_: Reals

    def predict(self, points: Any) -> npt.NDArray[np.intp]:
        """Return the number of the nearest centre for each point."""
        x = np.asarray(points, dtype=float)
        x = x.reshape(len(x), -1)
        near = [np.einsum("ij,ij->i", x - centre, x - centre) for centre in self.cluster_centers_]
        return np.asarray(np.argmin(near, axis=0))


def align(centres: Reals, r: Randomness, *, width: float) -> Clusters:
    """Return centres rounded to one random grid, in lexicographic order."""
    found = boxes(centres, r, width=width)
    return Clusters(found[np.lexsort(found.T[::-1])])


def align_mismatch(first: Reals, second: Reals, width: float) -> float:
    """Return an upper bound of the probability that `align` makes different clusters of two arrays of centres."""
    if first.shape != second.shape:
        return 1.0
    from scipy.optimize import linear_sum_assignment

    cost = np.minimum(parted(first[:, None], second[None]) / width, 1.0).sum(axis=-1)
    mine, theirs = linear_sum_assignment(cost)
    pairs = zip(first[mine].T, second[theirs].T, strict=True)
    return any_of([one_grid_mismatch(x, y, width) for x, y in pairs])


class aligned(Repaired):
    """A clusterer whose centres are rounded to one random grid and put in order; points belong to the nearest of them.

    Guarantee: rho <= E[1 - prod_i (1 - u_i / w)] with u_i the length that the intervals between matched centres of two
    runs cover together in coordinate i, modulo w; at most `claimed(spread)`.
    Proof: if no end of a cell falls between any matched centres, their rounded ones are the same, and so is their
    order, which is lexicographic; offsets are uniform, independent over coordinates, and shared by the centres.
    Price: a centre moves by at most half a width a coordinate.

    Labels are the places in that order, so that two runs can be compared without matching clusters. The clusterer is an
    estimator with `cluster_centers_` (KMeans and its like), or returns the centres as an array, one a row.
    """

    mismatch_is = "upper"

    def __init__(self, clusterer: Any, width: float) -> None:
        self.width = positive("width", width, "that of a cell", 0.5)
        super().__init__(clusterer, f"width={width!r}")

    def core_of(self, output: Any) -> Reals:
        """Return the centres, one a row; SubjectError if there are none, or a grid cannot hold them."""
        centres = np.array(unmasked(getattr(output, "cluster_centers_", output)), dtype=object)
        if centres.ndim != 2 or not centres.size:
            raise SubjectError(
                f"the output, {describe(output, 60)}, has no centres: use a clusterer that leaves cluster_centers_, "
                "such as KMeans, or return them as an array with one a row"
            )
        centres = centres.astype(float)
        if not has_cells(centres, self.width).all():
            raise SubjectError(f"width={self.width:g}: some centres are not finite, or too large for cells so fine")
        return centres

    def finish(self, core: Reals, r: Randomness) -> Clusters:
        """Round the centres on a grid that r places, and number them in a canonical order."""
        return align(core, r.child("grid"), width=self.width)

    def mismatch(self, first: Reals, second: Reals) -> float:
        """Return the probability that the centres of two runs are rounded differently."""
        return align_mismatch(first, second, self.width)

    def claimed(self, spread: float, *, centres: int, coordinates: int) -> float:
        """Return an upper bound on rho, if no coordinate of a centre has a standard deviation above `spread`."""
        check_count("centres", centres, least=1, example=3)
        check_count("coordinates", coordinates, least=1, example=2)
        positive("spread", spread, "a standard deviation", 0.1)
        return min(1.0, APART * spread * centres * coordinates / self.width)
