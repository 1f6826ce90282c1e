"""auditor.repair: a learner made reproducible, with a proof.

A public package, as `auditor` itself is: the names below are for everybody, and `algorithms` has its mechanisms from
here. Wrappers take a learner A(sample, r) and are one:

    rounded(learner, width)              numbers on a grid with a random offset
    rounded_up(learner, width)           a limit on such a grid, never below the learner's own
    conformal(scores, a, width)          the threshold of conformal prediction, with its coverage
    chosen(scores, strength)             the best of named candidates, with noise that belongs to the name
    thresholded(score, low, high)        a decision against a random threshold
    significant(p_value, alpha=0.05)     a test at a random critical value
    voted(learner, chunks)               a classifier by the vote of fits on disjoint chunks; of churn, not of rho
    agreed(learner, chunks)              a discrete output that enough disjoint chunks agree on
    aligned(clusterer, width)            clusters by rounded centres, in the order of these
    sorted_rows(learner)                 whatever the order of rows
    single_thread(learner)               whatever the number of threads
    sites(learner), or r = sites(r)      whatever is drawn from r elsewhere in its code

and `auditor.repair.sklearn` has estimators of them. Each is a `Repaired` (`seam`): what is computed from the sample,
`core`, comes apart from what shared randomness makes of it, `finish`. The other names are the mechanisms: `boxes`,
`foams`, `up_to_grid`, `random_threshold`, `choose`, `heavy_values`, and the probabilities that go with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from auditor.repair.agreeing import agreed as agreed
    from auditor.repair.aligning import aligned as aligned
    from auditor.repair.calibrating import conformal as conformal
    from auditor.repair.calibrating import rounded_up as rounded_up
    from auditor.repair.choosing import chosen as chosen
    from auditor.repair.deciding import thresholded as thresholded
    from auditor.repair.mechanisms.foam import block_size as block_size
    from auditor.repair.mechanisms.foam import centred_foams as centred_foams
    from auditor.repair.mechanisms.foam import first_stages as first_stages
    from auditor.repair.mechanisms.foam import foam_mismatch as foam_mismatch
    from auditor.repair.mechanisms.foam import foams as foams
    from auditor.repair.mechanisms.grid import boxes as boxes
    from auditor.repair.mechanisms.grid import grid_mismatch as grid_mismatch
    from auditor.repair.mechanisms.grid import on_grid as on_grid
    from auditor.repair.mechanisms.grid import one_grid_mismatch as one_grid_mismatch
    from auditor.repair.mechanisms.grid import up_to_grid as up_to_grid
    from auditor.repair.mechanisms.gumbel import choice_mismatch as choice_mismatch
    from auditor.repair.mechanisms.gumbel import choose as choose
    from auditor.repair.mechanisms.gumbel import gumbels as gumbels
    from auditor.repair.mechanisms.gumbel import top_mismatch as top_mismatch
    from auditor.repair.mechanisms.heavy import first_heavy as first_heavy
    from auditor.repair.mechanisms.heavy import first_heavy_mismatch as first_heavy_mismatch
    from auditor.repair.mechanisms.heavy import heavy_mismatch as heavy_mismatch
    from auditor.repair.mechanisms.heavy import heavy_values as heavy_values
    from auditor.repair.mechanisms.ranks import conformal_rank as conformal_rank
    from auditor.repair.mechanisms.ranks import quantile_rank as quantile_rank
    from auditor.repair.mechanisms.ranks import rank_mismatch as rank_mismatch
    from auditor.repair.mechanisms.ranks import rank_size as rank_size
    from auditor.repair.mechanisms.ranks import rank_spread as rank_spread
    from auditor.repair.mechanisms.ranks import rank_tail_size as rank_tail_size
    from auditor.repair.mechanisms.threshold import random_threshold as random_threshold
    from auditor.repair.mechanisms.threshold import threshold_mismatch as threshold_mismatch
    from auditor.repair.rounding import rounded as rounded
    from auditor.repair.seam import Repaired as Repaired
    from auditor.repair.seam import Seam as Seam
    from auditor.repair.significance import significant as significant
    from auditor.repair.steadying import single_thread as single_thread
    from auditor.repair.steadying import sites as sites
    from auditor.repair.steadying import sorted_rows as sorted_rows
    from auditor.repair.voting import voted as voted

_HOMES = {
    "Repaired": "seam",
    "Seam": "seam",
    "agreed": "agreeing",
    "aligned": "aligning",
    "block_size": "mechanisms.foam",
    "boxes": "mechanisms.grid",
    "centred_foams": "mechanisms.foam",
    "choice_mismatch": "mechanisms.gumbel",
    "choose": "mechanisms.gumbel",
    "chosen": "choosing",
    "conformal": "calibrating",
    "conformal_rank": "mechanisms.ranks",
    "first_heavy": "mechanisms.heavy",
    "first_heavy_mismatch": "mechanisms.heavy",
    "first_stages": "mechanisms.foam",
    "foam_mismatch": "mechanisms.foam",
    "foams": "mechanisms.foam",
    "grid_mismatch": "mechanisms.grid",
    "gumbels": "mechanisms.gumbel",
    "heavy_mismatch": "mechanisms.heavy",
    "heavy_values": "mechanisms.heavy",
    "on_grid": "mechanisms.grid",
    "one_grid_mismatch": "mechanisms.grid",
    "quantile_rank": "mechanisms.ranks",
    "random_threshold": "mechanisms.threshold",
    "rank_mismatch": "mechanisms.ranks",
    "rank_size": "mechanisms.ranks",
    "rank_spread": "mechanisms.ranks",
    "rank_tail_size": "mechanisms.ranks",
    "rounded": "rounding",
    "rounded_up": "calibrating",
    "significant": "significance",
    "single_thread": "steadying",
    "sites": "steadying",
    "sorted_rows": "steadying",
    "threshold_mismatch": "mechanisms.threshold",
    "thresholded": "deciding",
    "top_mismatch": "mechanisms.gumbel",
    "up_to_grid": "mechanisms.grid",
    "voted": "voting",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'auditor.repair' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"auditor.repair.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*_HOMES]
