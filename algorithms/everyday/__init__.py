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
"""

FRONTIERS = """
"""

_ALL = (MEANS, QUANTILES, CHOICES, TESTS, CLUSTERS, BANDITS, LISTS, HEAVY, FRONTIERS)
LATER: tuple[Statement, ...] = tuple(one for text in _ALL for one in read(text, __name__))
