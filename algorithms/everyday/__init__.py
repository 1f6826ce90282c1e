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
"""

BANDITS = """
Explore then commit: a bandit that keeps an arm within tau, but for delta, and repeats all of its pulls, but for rho
    bandit:r_bandit
    m = ((C + y) / tau)^2 pulls of each, C = 1 / (2 rho) for two arms; rho is 0.798 of it at the hardest source
    test_bandit::test_they_part_with_at_most_the_proofs_probability
    test_bandit::test_ranges_and_gaps_move_at_most_as_the_proofs_say
    test_bandit::test_a_difference_misses_its_side_as_seldom_as_the_proofs_say
    test_bandit_exact::test_audited_rho_agrees_with_the_exact_one
First within a threshold: in a random order, of those within a random threshold: parted by E |A ^ A'| / |A u A'|
    bandit:parted bandit:keep
    exact; at most (H_K - 1) E[R] / w, which is attained
    test_bandit::test_two_runs_part_as_all_orders_and_thresholds_say
    test_bandit::test_the_inequality_is_sharp_where_all_arms_move_against_the_best
Phased elimination: so does one that drops arms, and pulls none with a gap of s_i after phase i, but for delta
    bandit_elimination:r_bandit_elimination
    b_i = ((A + 2y) / (s_i - s_(i+1)))^2 pulls of each, A = 1 / (0.95 rho) for two arms, with no union over phases
    test_bandit::test_phases_tile_the_gaps_and_the_shares_of_rho_add_up
    test_bandit_exact::test_the_claims_hold_exactly
    test_bandit_exact::test_audited_rho_agrees_with_the_exact_one
Two-armed bandits exactly: rho and expected regret of both, by dynamic programming over phases
    bandit_exact:exact bandit_exact:least_share
    exact for Bernoulli arms; at the same regret the larger mean has rho = 1/2
    test_bandit_exact::test_the_program_is_the_sum_over_all_tables
    test_bandit_exact::test_regret_beside_rho_and_beside_the_plain_algorithm_of_the_same_regret
"""

LISTS = """
"""

HEAVY = """
"""

FRONTIERS = """
"""

_ALL = (MEANS, QUANTILES, CHOICES, TESTS, CLUSTERS, BANDITS, LISTS, HEAVY, FRONTIERS)
LATER: tuple[Statement, ...] = tuple(one for text in _ALL for one in read(text, __name__))
