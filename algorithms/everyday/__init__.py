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
Best of K: the best of K mean scores by shared noise: rho <= beta exp(beta/2n) / sqrt(6 n), and within tau of the best
    choice:r_choice choice:sample_size choice_laws:rho_of_bits
    beta = (ln((K - 1)(1 - delta)/delta) + 3 rho^2) / tau; no K but in beta; 1.2 times the exact rho of many tied
    test_choice::test_rho_is_at_most_what_the_choice_flatters_itself_and_that_is_small
    test_choice::test_two_scores_part_by_at_most_their_jeffreys_divergence
    test_choice::test_the_audited_rho_is_the_exact_one
    test_choice::test_the_claims_are_upheld_at_their_own_size
Top k of K: the set of the k best: rho <= beta G exp((k + 1) beta/2n) / sqrt(2 n)
    choice:r_top_choice choice:swaps auditor.repair.mechanisms.gumbel:top_mismatch
    G = (K - k)(1/K + ... + 1/(K - k + 1)) <= k; exact to first order in how far scores move
    test_choice::test_the_audited_rho_of_a_top_that_leaves_one_out_is_the_exact_one
    test_choice::test_the_claims_are_upheld_at_their_own_size
    repair/mechanisms/test_gumbel::test_the_bound_of_the_top_k_holds_and_is_exact_for_small_moves
    repair/mechanisms/test_gumbel::test_no_scores_swap_more_often_than_tied_ones
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
Single heavy hitter: where some value has v, one of v/2 or more, from 1 / (v rho^2) rows but for logarithms
    single_heavy_hitter:r_single_heavy_hitter single_heavy_hitter:rho_at_most auditor.repair:first_heavy_mismatch
    (H_J - 1) D / (3 v / 8) and strays, J = floor(2/v) - 1; known: (4 d / v) ln(2/v) for shares that differ by d
    test_single_heavy_hitter::test_the_audited_rho_is_that_of_all_pairs_of_samples
    test_single_heavy_hitter::test_the_largest_difference_is_on_average_at_most_d
    test_single_heavy_hitter::test_runs_stray_no_more_often_than_the_proof_says
    test_single_heavy_hitter::test_the_claim_is_upheld_at_its_own_size
    repair/mechanisms/test_heavy::test_near_shares_part_by_at_most_the_harmonic_bound
Amplification by majority: Theorem A.3 with 1 / (2 eps^2 (rho/k)^2) runs of the base a string
    algorithms.amplification:amplified_by_majority algorithms.amplification:majority_size
    no union over Q1: above 1/2 there is at most one heavy hitter; accuracy as in Theorem A.3
    algorithms/test_amplification::test_two_votes_differ_no_more_often_than_the_proof_says
    algorithms/test_amplification::test_by_majority_few_runs_have_their_exact_law_on_rows_and_on_counts
    algorithms/test_amplification::test_at_its_own_size_an_audit_passes
"""

FRONTIERS = """
"""

_ALL = (MEANS, QUANTILES, CHOICES, TESTS, CLUSTERS, BANDITS, LISTS, HEAVY, FRONTIERS)
LATER: tuple[Statement, ...] = tuple(one for text in _ALL for one in read(text, __name__))
