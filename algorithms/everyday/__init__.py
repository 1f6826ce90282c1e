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
"""

CHOICES = """
"""

TESTS = """
"""

CLUSTERS = """
Coreset by a quad tree: a few weighted points that stand for all, rho-reproducible for any source in a box
    coreset:r_coreset quad_tree:leaves_of
    rho <= (sum_l a_l sqrt(4 (N_l - 1/2) / pi) / eta + sqrt(4 (N_L - 1/2) / pi) / w) / sqrt(n); the second is reached
    test_coreset::test_sizes_and_their_parts_to_the_number
    test_coreset::test_the_mean_of_the_declared_mismatch_is_the_exact_rho_and_audits_agree
    test_coreset::test_on_the_hard_source_rho_is_all_that_is_proved_of_the_masses
Shares of two samples: those of M cells differ by at most sqrt(4 (M - 1/2) / (pi n)) in all, in the mean, for n >= M^2
    coreset:spread
    4 / pi is that of equal masses and many rows; sqrt(2 (M - 1) / n) for fewer rows
    test_coreset::test_shares_of_two_samples_differ_by_at_most_g
Rounding to leaves: points move by no more than leaves of the coarsest levels can hold, whatever the sample
    quad_tree:rounding
    a leaf of level l < L has a share below eta / a_l, and costs a_l / 4 of it
    test_quad_tree::test_points_are_within_half_a_diagonal_of_middles_and_as_near_as_the_bound_says
Clusters by a coreset: k-means, rho-reproducible, of an rms of at most sqrt(alpha) the best one and eps, but for delta
    clusters:r_clusters
    alpha = 1 on a line, else 2; n = 1.04e13 at d = 2, eps = 0.3, rho = 0.2, and 31,634 without reproducibility
    test_clusters::test_the_proofs_inequality_holds_for_any_sample_tree_and_weights
    test_clusters::test_the_claims_hold_at_its_own_size
k-means of weighted points: the best on a line, and in more dimensions at most twice the best, by trying k of the points
    weighted_means:best_centres
    2 is what points lose to means as centres; Lloyd's steps only gain
    test_weighted_means::test_on_a_line_no_partition_is_better
    test_weighted_means::test_in_the_plane_none_is_better_by_a_factor_of_two
Clusters decide coins: centres within eps tell 1/2 - tau from 1/2 + tau, so rho >= 1 / (162 tau sqrt(n)) for tau < 1/4
    clusters:coin_tau clusters:least_by_lemma clusters:least_by_frontier
    tau^2 = 1/4 - (1/2 - eps / sqrt(f))^2 / alpha, f = (2^b - k) / 2^(b - 1), b the bits of k, b <= d
    test_clusters::test_corners_cost_what_the_reduction_says
    test_clusters::test_clusters_decide_a_coin_at_that_bias_and_bounds_are_the_coins
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
