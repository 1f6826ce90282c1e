"""auditor.repair: a learner made reproducible, with a proof.

A public package, as `auditor` itself is: the names below are for everybody, and `algorithms` has its mechanisms from
here. Wrappers take a learner A(sample, r) and are one:

    rounded(learner, width)              numbers on a grid with a random offset
    rounded_up(learner, width)           a limit on such a grid, never below the learner's own
    conformal(scores, a, width)          the threshold of conformal prediction, with its coverage
    chosen(scores, strength)             the best of named candidates, with noise that belongs to the name
    erm(losses, alpha)                   a hypothesis of nearly the least risk, with strength and rows by a theorem
    private(learner, chunks, eps=1, ...) what most chunks agree on, by noisy counts: private and reproducible
    correlated(law)                      a draw from a law that is known, with noise that belongs to the output
    thresholded(score, low, high)        a decision against a random threshold
    significant(p_value, alpha=0.05)     a test at a random critical value
    voted(learner, chunks)               a classifier by the vote of fits on disjoint chunks; of churn, not of rho
    agreed(learner, chunks)              a discrete output that enough disjoint chunks agree on
    aligned(clusterer, width)            clusters by rounded centres, in the order of these
    sorted_rows(learner)                 whatever the order of rows
    single_thread(learner)               whatever the number of threads
    sites(learner), or r = sites(r)      whatever is drawn from r elsewhere in its code

and `auditor.repair.sklearn` has estimators of them. Each is a `Repaired`: what is computed from the sample, `core`,
comes apart from what shared randomness makes of it, `finish`. The other names are the mechanisms: `boxes`,
`foams`, `on_lattice`, `up_to_grid`, `random_threshold`, `choose`, `heavy_values`, and the probabilities that go with
them.
"""

# ruff: noqa: F401
# mypy: implicit-reexport
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from auditor.repair.agreeing import agreed
    from auditor.repair.aligning import Clusters, align, align_mismatch, aligned
    from auditor.repair.calibrating import conformal, rounded_up
    from auditor.repair.choosing import chosen
    from auditor.repair.deciding import significant, thresholded
    from auditor.repair.mechanisms.foam import block_size, centred_foams, first_stages, foam_mismatch, foams
    from auditor.repair.mechanisms.grid import (
        boxes,
        check_cells,
        grid_mismatch,
        on_grid,
        one_grid_mismatch,
        up_to_grid,
    )
    from auditor.repair.mechanisms.gumbel import (
        choice_mismatch,
        choose,
        choose_place,
        gumbels,
        law_mismatch,
        top_mismatch,
    )
    from auditor.repair.mechanisms.lattice import lattice_for, lattice_mismatch, on_lattice
    from auditor.repair.mechanisms.private_laws import (
        coupled_rho,
        geometric_noise,
        most_counted,
        private_chunks,
        private_counts_rho,
        private_distance,
        private_failure,
        private_rho,
        private_spread,
        private_threshold,
        subsampled_eps,
    )
    from auditor.repair.mechanisms.ranks import (
        conformal_rank,
        quantile_rank,
        rank_mismatch,
        rank_size,
        rank_spread,
        rank_tail_size,
    )
    from auditor.repair.mechanisms.strengths import choice_rho, erm_rho, erm_size, erm_strength, least_regret
    from auditor.repair.mechanisms.threshold import (
        first_heavy,
        first_heavy_mismatch,
        heavy_mismatch,
        heavy_values,
        random_threshold,
        threshold_mismatch,
    )
    from auditor.repair.privacy import correlated, private
    from auditor.repair.repaired import Repaired, Seam
    from auditor.repair.risks import erm
    from auditor.repair.rounding import rounded
    from auditor.repair.steadying import single_thread, sites, sorted_rows
    from auditor.repair.voting import voted

_NAMES = {
    "agreeing": "agreed",
    "aligning": "Clusters align align_mismatch aligned",
    "calibrating": "conformal rounded_up",
    "choosing": "chosen",
    "deciding": "significant thresholded",
    "mechanisms.foam": "block_size centred_foams first_stages foam_mismatch foams",
    "mechanisms.grid": "boxes check_cells grid_mismatch on_grid one_grid_mismatch up_to_grid",
    "mechanisms.gumbel": "choice_mismatch choose choose_place gumbels law_mismatch top_mismatch",
    "mechanisms.lattice": "lattice_for lattice_mismatch on_lattice",
    "mechanisms.private_laws": "coupled_rho geometric_noise most_counted private_chunks private_counts_rho "
    "private_distance private_failure private_rho private_spread private_threshold subsampled_eps",
    "mechanisms.ranks": "conformal_rank quantile_rank rank_mismatch rank_size rank_spread rank_tail_size",
    "mechanisms.strengths": "choice_rho erm_rho erm_size erm_strength least_regret",
    "mechanisms.threshold": "first_heavy first_heavy_mismatch heavy_mismatch heavy_values random_threshold "
    "threshold_mismatch",
    "privacy": "correlated private",
    "risks": "erm",
    "rounding": "rounded",
    "repaired": "Repaired Seam",
    "steadying": "single_thread sites sorted_rows",
    "voting": "voted",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'auditor.repair' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"auditor.repair.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*_HOMES]
