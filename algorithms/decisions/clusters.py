"""How many clusters are there, and which rows belong together?

Both take all columns of numbers as coordinates, as they are: scale them first if their units differ. Clusters are found
by Lloyd's algorithm from the best of 8 starts that r draws (k-means++).

    clusters          the number from 2 to `most` with the largest mean silhouette: (b - a) / b, with a and b the
                      distances of a row to the nearest centre and to the next one
    cluster_members   k clusters, which two runs are compared by: do they part the same rows in the same way?

Silhouettes are scores of rows, so that a number of clusters is chosen as a winner is (`winners`): plainly, and by
`r_cluster_count` with strength * score in standard errors + a Gumbel number that r keeps for each number; given the
scores rho is known exactly. `r_cluster_members` rounds the centres to one random grid of the given width
(`auditor.repair.aligned`): if the centres round to the same points, the rows are parted in the same way. Price: a
centre moves by at most half a width in each coordinate.

Cost: 8 starts for each number of clusters, each of a few passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.decisions.cutoffs import sister_words
from algorithms.decisions.tables import Reals, Scores, check_width, columns_of, read_numbers
from algorithms.decisions.winners import Standard, best_of, in_order, price_of, standard_of, winners_apart
from auditor import BadInput, Randomness, composed, subject
from auditor.repair import Clusters, align, align_mismatch

_STARTS, _STEPS = 8, 50
_TABLE: Any = {"as_": "columns"}
_COUNT = {
    "differ": "find different numbers of clusters",
    "answer": "number of clusters",
    "tune": {"strength": [0.1, 0.05, 0.025]},
}


def _count_words(strength: float) -> dict[str, Any]:
    return {**_COUNT, "price": price_of(strength)}


_MEMBERS = {
    "differ": "part the rows differently",
    "answer": "clusters",
    "element": "the cluster of row {}",
    "counts_rows": False,
    "tune": {"width": []},
}


def points_of(sample: Any, without: str) -> tuple[Reals, Reals]:
    """Return the distinct points, and how often each is there: the order of rows plays no part."""
    numbers = read_numbers(sample, without)
    if not numbers.names:
        raise BadInput("clusters need a column of numbers or more, and the table has none: add one")
    points, counts = np.unique(numbers.rows, axis=0, return_counts=True)
    return points, counts.astype(float)


def distances(points: Reals, centres: Reals) -> Reals:
    """Return the squared distance of each point to each centre."""
    return np.asarray(((points[:, None] - centres) ** 2).sum(axis=2))


def centres_of(points: Reals, weights: Reals, k: int, r: Randomness) -> Reals:
    """Return the centres of the best of several starts, in lexicographic order."""
    best, least = points[:k], np.inf
    starts = [_spread_out(points, weights, k, r.child("start", k, start)) for start in range(_STARTS)]
    for start in dict.fromkeys(starts):
        centres = _lloyd(points, weights, points[[*start]])
        cost = float(weights @ distances(points, centres).min(axis=1))
        if cost < least * (1 - 1e-9):
            best, least = centres, cost
    return np.asarray(best[np.lexsort(best.T[::-1])])


def _spread_out(points: Reals, weights: Reals, k: int, r: Randomness) -> tuple[int, ...]:
    """Return the places of k points by k-means++: each is taken with probability proportional to its distance from
    those before it."""
    first, *rest = r.random(k)
    chosen = [int(weights.cumsum().searchsorted(first * weights.sum(), side="right"))]
    near = np.full(len(points), np.inf)
    for one in rest:
        near = np.minimum(near, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        mass = (weights * near).cumsum()
        chosen.append(min(int(mass.searchsorted(one * mass[-1], side="right")), len(points) - 1))
    return tuple(chosen)


def _lloyd(points: Reals, weights: Reals, centres: Reals) -> Reals:
    for _ in range(_STEPS):
        nearest = distances(points, centres).argmin(axis=1)
        belongs = weights * (nearest == np.arange(len(centres))[:, None])
        total = belongs.sum(axis=1, keepdims=True)
        moved = np.where(total > 0, belongs @ points / np.maximum(total, 1.0), centres)
        if (moved == centres).all():
            break
        centres = moved
    return centres


def silhouettes(sample: Any, r: Randomness, *, most: int, without: str) -> Scores:
    """Return the silhouette of each row for each number of clusters, as scores of these numbers."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 3:
        raise BadInput(f"most={most!r} must be an integer of at least 3: the largest number of clusters, e.g. 8")
    points, weights = points_of(sample, without)
    columns = []
    for k in range(2, most + 1):
        found = np.zeros(len(points))
        if k <= len(points):
            near = np.sqrt(np.sort(distances(points, centres_of(points, weights, k, r)), axis=1)[:, :2])
            found = 1 - near[:, 0] / np.where(near[:, 1] > 0, near[:, 1], 1.0)
        columns.append(np.repeat(found, weights.astype(int)))
    return Scores(tuple(str(k) for k in range(2, most + 1)), tuple(columns))


@subject(source="algorithms.decisions.tables:CLUMPS", **_TABLE, words={"sister": "r_cluster_count", **_COUNT})
def clusters(sample: Any, r: Randomness, *, most: int = 6, without: str = "") -> int:
    """Return the number of clusters with the largest mean silhouette."""
    return int(in_order(silhouettes(sample, r, most=most, without=without), "mean", "higher")[0])


def standard_silhouettes(sample: Any, r: Randomness, *, strength: float, most: int, without: str) -> Standard:
    return standard_of(silhouettes(sample, r, most=most, without=without), strength=strength)


def number_of(scores: Standard, r: Randomness) -> int:
    return int(best_of(scores, r))


r_cluster_count = composed(
    core=standard_silhouettes,
    finish=number_of,
    mismatch=winners_apart,
    defaults={"strength": 0.1, "most": 6, "without": ""},
    source="algorithms.decisions.tables:CLUMPS",
    **_TABLE,
    words=_count_words,
)
"""The number of clusters, but for noise that r keeps for each number."""


class Centres(NamedTuple):
    """The centres of clusters, and which columns of a table their coordinates are, by number."""

    points: Reals
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Members(Clusters):
    """Clusters of the rows of a table."""

    columns: tuple[int, ...]  # of the table, by number, that the coordinates of centres are

    def predict(self, points: Any) -> npt.NDArray[np.intp]:
        """Return the number of the nearest centre for each row; columns of words, and others left out, do not count."""
        every = [*columns_of(points).values()]
        numbers = np.column_stack([np.asarray(every[place], dtype=float) for place in self.columns])
        return Clusters.predict(self, numbers)


def k_centres(sample: Any, r: Randomness, *, k: int, without: str) -> Centres:
    """Return the centres of k clusters; of fewer where a sample has fewer distinct rows."""
    points, weights = points_of(sample, without)
    if isinstance(k, bool) or not isinstance(k, int) or not k >= 2:
        raise BadInput(f"k={k!r} must be an integer of at least 2: how many clusters, e.g. 3")
    names = [*columns_of(sample)]
    columns = tuple(names.index(name) for name in read_numbers(sample, without).names)
    return Centres(centres_of(points, weights, min(k, len(points)), r), columns)


@subject(
    source="algorithms.decisions.tables:CLUMPS",
    **_TABLE,
    view="predict|partition",
    words={"sister": "r_cluster_members", **_MEMBERS},
)
def cluster_members(sample: Any, r: Randomness, *, k: int = 3, without: str = "") -> Members:
    """Return k clusters, whose `predict` says which rows belong together."""
    found = k_centres(sample, r, k=k, without=without)
    return Members(found.points, found.columns)


def on_one_grid(centres: Centres, r: Randomness, *, width: float) -> Members:
    check_width(width)
    return Members(align(centres.points, r, width=width).cluster_centers_, centres.columns)


def centres_apart(first: Centres, second: Centres, *, width: float) -> float:
    check_width(width)
    return align_mismatch(first.points, second.points, width)


r_cluster_members = composed(
    core=k_centres,
    finish=on_one_grid,
    mismatch=centres_apart,
    mismatch_is="upper",
    defaults={"k": 3, "width": 4.0, "without": ""},
    source="algorithms.decisions.tables:CLUMPS",
    **_TABLE,
    view="predict|partition",
    words=sister_words(_MEMBERS, "each centre moves in each coordinate"),
)
"""k clusters, with centres on one random grid."""
