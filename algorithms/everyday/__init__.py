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
Random critical value: two runs part with probability E|h(T) - h(T')|, at most 2 / sqrt(3) spreads of T over the width
    critical_values:rho_of_law critical_values:rho_of_cdf critical_values:spread_bound
    2 / sqrt(3), exact for a uniform T (a normal one has 2 / sqrt(pi)); 1/2 always
    test_critical_values::test_rho_is_the_mean_over_pairs_and_at_most_what_the_spread_makes_of_it
    test_critical_values::test_the_spreads_bound_is_exact_for_a_uniform_statistic_and_a_half_for_two_values
Critical interval: an interval that keeps rho at every alternative, where the spread grows with the mean
    critical_values:upper_end critical_values:proved_rho
    sqrt(2 / rho - 1) + 2 / (sqrt(3) rho) spreads between low and the mean past which Cantelli takes over
    test_critical_values::test_the_interval_keeps_rho_at_every_alternative
Coin test: p0, or eps away on either side; rho-reproducible, wrong with probability delta at most for every r
    coin_test:r_coin_test coin_test:least_size
    n = (1/sqrt(3) + rho sqrt(2 ln(2/delta)))^2 / (rho eps)^2, 3 % above the exact rho halfway; run at 3/4 of rho
    test_coin_test::test_what_is_proved_holds_at_every_bias_and_for_every_r
    test_coin_test::test_the_audited_rho_holds_the_exact_one
Arcsine bound: no test of p0 against p1 has a smaller rho at all biases between
    coin_test:least_between
    (1/3 - 3 delta / 4) / (sqrt(n) (arcsin sqrt(p1) - arcsin sqrt(p0))); the exact frontier is below twice that
    test_coin_test::test_every_rule_parts_as_often_as_the_bound_says_on_average
    test_coin_test::test_the_bound_is_between_the_lemma_and_the_frontier
Identity test: a law on K values, or one eps away; rho-reproducible, wrong with probability delta at most for every r
    identity_test:r_identity_test identity_test:r_uniformity_test identity_design:design
    least n by its moments, of the order sqrt(K) / (eps^2 rho) + (1 + sqrt(K) eps) / (eps rho)^2; run at 3/4 of rho
    test_identity_test::test_u_has_the_mean_d_and_deviates_by_at_most_s
    test_identity_test::test_the_exact_rho_is_that_of_all_spreads
Identity test, Poisson: the same of a Poisson number of rows, which the sample draws and not r
    identity_test:r_identity_test_poisson
    6 sqrt(n) + 6 more rows on offer, too few with probability 1e-7 at most
    test_identity_test::test_with_a_poisson_number_it_holds_all_that_is_proved_at_its_own_size
    test_identity_test::test_more_rows_than_are_offered_are_hardly_ever_asked_for
z-test: rho-reproducible at every mean; the mean level over r and the largest, either of them alpha
    usual_tests:r_z_test critical_values:levels
    width 2 / (sqrt(3) rho), 2.3 % more than the exact rho asks for; run at 3/4 of rho
    test_usual_tests::test_the_z_test_keeps_rho_and_both_errors
    test_usual_tests::test_at_the_defaults_the_levels_are_those_that_are_said
Neyman and Pearson bound: no z-test of level alpha that misses the effect with probability beta has a smaller rho
    usual_tests:least_by_neyman_pearson
    the integral of 2 Phi (1 - Phi) between the two quantiles, over sqrt(n) effect; 0.75 of the z-test's own
    test_usual_tests::test_no_z_test_does_much_better
t-test: the same with the sample's own deviation
    usual_tests:r_t_test
    by the moments of the noncentral law; from about 1 / rho^2 rows on
    test_usual_tests::test_the_t_test_keeps_rho_at_every_effect
    test_usual_tests::test_the_t_test_notices_its_effect_for_every_r_and_not_one_row_earlier
Chi-square test: Pearson's test on the scale of sqrt(X^2 + K - 1), rho-reproducible whatever the law is
    chi_square_test:r_chi_square_test
    spread sqrt(1 + sqrt(g D)) + g / sqrt((K - 1) n), g = 1 / min q, by Efron and Stein; exact levels by the law of X^2
    test_chi_square_test::test_t_has_at_least_the_mean_and_at_most_the_spread_of_the_proof
    test_chi_square_test::test_levels_and_rho_are_those_of_all_spreads
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
