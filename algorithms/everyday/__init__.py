"""What people estimate every day, reproducibly: later than the paper, with proofs of our own.

A mean, a quantile, a choice, a test, a clustering, a bandit. The idea of each is later work's, which its module names;
what is claimed is proved in the module's docstring, at the constants of that proof. `LATER` says of every result where
it is, at which constants, and which tests hold it, as `algorithms.PAPER` does of the paper.
"""

from __future__ import annotations

from algorithms import Statement, read

# name: what it says / where it is / its constants / the tests that hold it

MEANS = """
"""

QUANTILES = """
Quantile by a grid: the k-th smallest row to the middle of its cell is rho-reproducible and within eps of the quantile
    quantile:r_quantile
    ours: about (4/pi) p (1 - p) / (density width rho)^2 rows, width nearly 2 eps for small rho
    test_quantile::test_the_claims_hold_at_the_hardest_law_exactly
    test_quantile::test_the_claims_are_upheld_at_their_own_size
    test_quantile::test_the_size_is_the_theorems
Quantile lower bound: no algorithm for all laws with the density has a smaller rho than so many rows allow
    quantile:least_rho
    ours: (1/3 - 3/4 delta) / (sqrt(rows) * angle), 23 times Lemma 7.2's constant, half of the coin's exact frontier
    test_quantile::test_the_angle_bound_is_below_the_exact_frontier_of_the_coin
    test_quantile::test_no_rule_moves_faster_than_the_root_of_flips_with_the_angle
    test_quantile::test_the_line_is_below_what_disagreement_adds_up_to
    test_quantile::test_on_the_family_of_the_lower_bound_the_algorithm_is_above_it
Conformal threshold by a grid: rounded up, it keeps the coverage 1 - a for every r, and is rho-reproducible
    conformal:r_conformal auditor.repair:conformal
    ours: coverage at least k / (n + 1), ties included; the quantile's size, with density and width as they are given
    test_conformal::test_every_grid_keeps_the_coverage_exactly_ties_included
    test_conformal::test_the_claims_hold_at_the_hardest_law_exactly
    test_conformal::test_the_claims_are_upheld_at_their_own_size
    repair/test_calibrating::test_every_r_keeps_the_coverage_ties_included
Price of rounding up: coverage exceeds k / (n + 1) by at most half of the largest mass of a cell, on average over r
    conformal:over_coverage
    ours: exact for uniform scores
    test_conformal::test_the_exact_coverage_is_kept_and_its_price_is_within_the_bound
Spread of an order statistic: the mean distance of two k-th smallest of n uniform numbers, and so of what a grid parts
    auditor.repair:rank_spread auditor.repair:rank_mismatch auditor.repair:rank_size
    ours: 4 / (n + 1) Be(2k, 2b) / Be(k, b)^2 exactly, b = n + 1 - k
    repair/mechanisms/test_ranks::test_the_spread_is_exact
    test_order_statistics::test_no_law_with_the_density_has_more_than_the_bound
    test_order_statistics::test_the_bound_is_sharp_where_the_density_is_no_more
Law of an order statistic: rho of a grid is 1 - 1/w times the integral of (G(x + w) - G(x))^2, G by binomials
    order_statistics:rho_of_law order_statistics:rho_of_cdf
    exact
    test_order_statistics::test_law_rho_and_coverage_are_those_of_every_sample
    test_order_statistics::test_the_quadrature_is_that_over_two_betas
    test_conformal::test_the_share_that_a_threshold_covers_has_the_law_of_the_beta
"""

CHOICES = """
"""

TESTS = """
"""

CLUSTERS = """
"""

BANDITS = """
"""

LISTS = """
"""

HEAVY = """
"""

FRONTIERS = """
"""

_ALL = (MEANS, QUANTILES, CHOICES, TESTS, CLUSTERS, BANDITS, LISTS, HEAVY, FRONTIERS)
LATER: tuple[Statement, ...] = tuple(one for text in _ALL for one in read(text, __name__))
