"""What people estimate every day, reproducibly: later than the paper, with proofs of our own.

A mean, a quantile, a choice, a test, a clustering, a bandit. The idea of each is later work's, which its module names;
what is claimed is proved in the module's docstring, at the constants of that proof. `LATER` says of every result where
it is, at which constants, and which tests hold it, as `algorithms.PAPER` does of the paper.
"""

from __future__ import annotations

from algorithms import Statement, read

# name: what it says / where it is / its constants / the tests that hold it

MEANS = """
Mean by boxes: a mean in R^d rounded to boxes is rho-reproducible and within eps but for delta
    mean_vector:r_mean_vector mean_sizes:by_boxes mean_laws:coins_rho
    sqrt(n) = sqrt(plain) + 2 d sigma u / (sqrt(3) rho eps), u <= sqrt(d)/2; rho exact by binomials
    algorithms/test_conformance::test_its_rho_is_the_exact_one
    test_mean_vector::test_a_plan_meets_both_of_the_proofs_sums
    algorithms/test_conformance::test_its_claim_holds_on_hard_sources
    test_mean_vector::test_means_are_as_near_as_the_noise_says
Mean by one offset: so it is with one offset for all coordinates, at the same constant
    mean_vector:r_mean_vector_one_offset auditor.repair:one_grid_mismatch
    given two means the length of a union of arcs, exactly; u = sqrt(d)/2
    test_mean_vector::test_one_offset_parts_as_its_arcs_cover
    test_mean_vector::test_neither_one_offset_nor_several_is_always_the_better
Mean by foams: a mean rounded by a centred foam, parted at most sqrt(8 pi) |T - T'|_2 / w
    mean_foams:r_mean_vector_foams auditor.repair:centred_foams mean_foams:foam_parted
    sharpened: sqrt(8 pi) < 5.02 for 2 pi, and a point moves by at most sqrt(d)/2 for sqrt(d)
    test_mean_foams::test_no_direction_has_more_than_the_normal_rate
    test_mean_foams::test_the_constant_is_the_limit_of_diagonals_and_four_along_an_axis
    test_mean_foams::test_two_points_are_parted_as_exactly_in_one_dimension
    algorithms/test_conformance::test_its_claim_holds_on_hard_sources
Mean by lattices: a mean rounded to a shifted lattice, parted at most 2 / sqrt(3) rate sqrt(d) sigma / (w sqrt(n))
    mean_lattices:r_mean_vector_lattice mean_sizes:by_lattice mean_lattices:hexagons_part auditor.repair:on_lattice
    rate radius: below (d + 4) / sqrt(24) for A_d*, 2 for E8 and sqrt(12) for Leech, where boxes have d/2; any d
    repair/mechanisms/test_lattice::test_close_points_are_parted_at_the_rate_of_the_shadow
    repair/mechanisms/test_lattice::test_no_shadow_is_above_the_rate_which_its_facets_add_up_to
    repair/mechanisms/test_lattice::test_decoders_find_the_closest_point_of_all
    algorithms/test_conformance::test_its_rho_is_the_exact_one
    algorithms/test_conformance::test_its_claim_holds_on_hard_sources
Halfspace by a lattice: a weak learner of halfspaces with margin tau, by the mean direction rounded to a lattice
    halfspace_lattices:r_halfspace_lattice halfspace_lattices:plan
    sqrt(n) = 2 (s + sqrt(2 ln(1/delta)) + 2 rate radius s / (sqrt(3) rho)) / (sqrt(3) tau), s^2 = 1 - tau^2
    test_halfspace_lattices::test_an_output_so_near_has_the_advantage
    test_halfspace_lattices::test_a_plan_meets_both_of_the_proofs_sums
    algorithms/test_conformance::test_its_rho_is_the_exact_one
    algorithms/test_conformance::test_its_claim_holds_on_hard_sources
Mean by medians: medians of k means, rounded to boxes, for rows that have a variance and no more
    mean_heavy:r_mean_vector_heavy mean_heavy:by_medians mean_laws:median_parted
    E|T_i - T'_i| <= 2 sigma sqrt(k / (3 n)), and 0.6 sigma sqrt(k / n) on its hard source
    test_mean_heavy::test_medians_are_as_near_and_as_far_apart_as_the_proof_says
    test_mean_heavy::test_the_root_of_k_is_no_weakness_of_the_proof
    algorithms/test_conformance::test_its_rho_is_the_exact_one
Mean by clipping: so is the mean of clipped rows, without the root of k, where a centre is known
    mean_heavy:r_mean_vector_clipped mean_heavy:by_clipping
    |T_i - mu_i| <= (sqrt(2) + 1/sqrt(3)) sigma sqrt(ln(2 d / delta) / n) but for delta
    test_mean_heavy::test_clipped_means_are_as_near_as_the_proof_says
    algorithms/test_conformance::test_its_rho_is_the_exact_one
Means differ by Gini's bound: E|V - V'| <= 2 sd(V) / sqrt(3), and fair coins differ most of rows in an interval
    mean_sizes:GINI
    attained by the uniform law; C(2n, n) / 4^n for coins, 2.3 percent below it
    test_mean_vector::test_two_draws_are_as_near_as_ginis_bound_says
    test_mean_vector::test_of_rows_in_an_interval_fair_coins_part_most
"""

QUANTILES = """
Quantile by a grid: the k-th smallest row to the middle of its cell is rho-reproducible and within eps of the quantile
    quantile:r_quantile
    ours: about (4/pi) p (1 - p) / (density width rho)^2 rows, width nearly 2 eps for small rho
    test_quantile::test_the_claims_hold_at_the_hardest_law_exactly
    algorithms/test_conformance::test_it_ends_as_it_declares_at_its_own_size
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
    algorithms/test_conformance::test_it_ends_as_it_declares_at_its_own_size
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
Best of K: the best of K mean scores by shared noise: rho <= beta exp(beta/2n) / sqrt(6 n), and within tau of the best
    choice:r_choice choice:sample_size choice_laws:rho_of_bits
    beta = (ln((K - 1)(1 - delta)/delta) + 3 rho^2) / tau; no K but in beta; 1.2 times the exact rho of many tied
    test_choice::test_rho_is_at_most_what_the_choice_flatters_itself_and_that_is_small
    test_choice::test_two_scores_part_by_at_most_their_jeffreys_divergence
    algorithms/test_conformance::test_its_rho_is_the_exact_one
    algorithms/test_conformance::test_it_ends_as_it_declares_at_its_own_size
Top k of K: the set of the k best: rho <= beta G exp((k + 1) beta/2n) / sqrt(2 n)
    choice:r_top_choice choice:swaps auditor.repair.mechanisms.gumbel:top_mismatch
    G = (K - k)(1/K + ... + 1/(K - k + 1)) <= k; exact to first order in how far scores move
    algorithms/test_conformance::test_its_rho_is_the_exact_one
    algorithms/test_conformance::test_it_ends_as_it_declares_at_its_own_size
    repair/mechanisms/test_gumbel::test_the_bound_of_the_top_k_holds_and_is_exact_for_small_moves
    repair/mechanisms/test_gumbel::test_no_scores_swap_more_often_than_tied_ones
Finite classes: a hypothesis of K within alpha of the least risk, rho-reproducible, whatever labels are
    erm:r_erm auditor.repair:erm auditor.repair:erm_size hypothesis_classes:HypothesisClass
    beta exp(beta/2n) / sqrt(6 n), beta = (ln((K - 1)(1 - delta)/delta) + 3 rho^2) / alpha; K to 10^6
    test_erm::test_what_the_proof_says_holds_over_every_sample
    test_erm::test_the_risks_of_a_class_are_those_of_its_hypotheses
    algorithms/test_conformance::test_its_rho_is_the_exact_one
    algorithms/test_conformance::test_its_claim_holds_on_hard_sources
Finite classes, realisable: so it is with 4 alpha W / ln(K/delta) times the rows where a hypothesis never errs
    erm:r_erm_realisable auditor.repair:erm_rho choice_laws:rho_of_rare
    n = 2 beta W((K - 1)/e) / (3 rho^2), by the true risk in the place of 1/4; 2.2 times the exact rho of rare errors
    test_erm::test_what_the_proof_says_holds_over_every_sample
    test_erm::test_rare_errors_part_as_every_pair_of_samples_does
    algorithms/test_conformance::test_its_rho_is_the_exact_one
    algorithms/test_conformance::test_it_ends_as_it_declares_at_its_own_size
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
    algorithms/test_conformance::test_its_rho_is_the_exact_one
Arcsine bound: no test of p0 against p1 has a smaller rho at all biases between
    coin_test:least_between
    (1/3 - 3 delta / 4) / (sqrt(n) (arcsin sqrt(p1) - arcsin sqrt(p0))); the exact frontier is below twice that
    test_coin_test::test_every_rule_parts_as_often_as_the_bound_says_on_average
    test_coin_test::test_the_bound_is_between_the_lemma_and_the_frontier
Identity test: a law on K values, or one eps away; rho-reproducible, wrong with probability delta at most for every r
    identity_test:r_identity_test identity_test:r_uniformity_test identity_test:design
    least n by its moments, of the order sqrt(K) / (eps^2 rho) + (1 + sqrt(K) eps) / (eps rho)^2; run at 3/4 of rho
    test_identity_test::test_u_has_the_mean_d_and_deviates_by_at_most_s
    test_identity_test::test_the_exact_rho_is_that_of_all_spreads
Identity test, Poisson: the same of a Poisson number of rows, which the sample draws and not r
    identity_test:r_identity_test_poisson
    6 sqrt(n) + 6 more rows on offer, too few with probability 1e-7 at most
    test_identity_test::test_with_a_poisson_number_it_holds_all_that_is_proved_at_its_own_size
    test_identity_test::test_more_rows_than_are_offered_are_hardly_ever_asked_for
Uniformity by distance: K equally likely values, or a law eps away; rho-reproducible, wrong as in the identity test
    uniformity:r_uniformity_by_distance uniformity:design uniformity:at_distance
    least n by exact means, of the order sqrt(K) / (eps^2 rho) + 1 / (eps rho)^2, K to 10^4; run at 3/4 of rho
    test_uniformity::test_law_mean_and_spread_are_those_of_every_spread
    test_uniformity::test_no_law_so_far_away_has_less_on_average
    test_uniformity::test_errors_for_every_r_and_rho_at_every_alternative_exactly
    test_uniformity::test_sizes_are_of_the_order_of_the_claim_and_less_than_those_of_collisions
    algorithms/test_conformance::test_its_rho_is_the_exact_one
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
    algorithms/test_conformance::test_it_ends_as_it_declares_at_its_own_size
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
Explore then commit: a bandit that keeps an arm within tau, but for delta, and repeats all of its pulls, but for rho
    bandit:r_bandit
    m = ((C + y) / tau)^2 pulls of each, C = 1 / (2 rho) for two arms; rho is 0.798 of it at the hardest source
    test_bandit::test_they_part_with_at_most_the_proofs_probability
    test_bandit::test_ranges_and_gaps_move_at_most_as_the_proofs_say
    test_bandit::test_a_difference_misses_its_side_as_seldom_as_the_proofs_say
    algorithms/test_conformance::test_its_rho_is_the_exact_one
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
    algorithms/test_conformance::test_its_rho_is_the_exact_one
Two-armed bandits exactly: rho and expected regret of both, by dynamic programming over phases
    bandit_exact:exact bandit_exact:least_share
    exact for Bernoulli arms; at the same regret the larger mean has rho = 1/2
    test_bandit_exact::test_the_program_is_the_sum_over_all_tables
    test_bandit_exact::test_regret_beside_rho_and_beside_the_plain_algorithm_of_the_same_regret
"""

LISTS = """
List of biases: the biases of d coins within eps, all outputs but a mass eta among d + 1 vectors
    list_of_biases:list_of_biases list_of_biases:in_largest_gap
    reach eps / (2d + 1), sharp for d = 2; n = ln(2d/eta) / (2 reach^2), by Hoeffding
    test_list_of_biases::test_what_is_near_goes_to_a_vector_of_the_point
    test_list_of_biases::test_sizes_are_those_of_the_proof
    test_list_of_biases::test_audited_masses_agree_with_the_exact_ones
Corners of a grid: plain rounding has 2^d outputs where its cells meet, and a list of d + 1 misses all but d + 1 of them
    list_of_biases:biases_on_a_grid
    exact by binomials
    test_list_of_biases::test_exact_laws_at_the_declared_sources
    test_list_of_biases::test_each_is_audited_at_its_own_size
"""

HEAVY = """
Single heavy hitter: where some value has v, one of v/2 or more, from 1 / (v rho^2) rows but for logarithms
    single_heavy_hitter:r_single_heavy_hitter single_heavy_hitter:rho_at_most auditor.repair:first_heavy_mismatch
    (H_J - 1) D / (3 v / 8) and strays, J = floor(2/v) - 1; known: (4 d / v) ln(2/v) for shares that differ by d
    algorithms/test_conformance::test_its_rho_is_the_exact_one
    test_single_heavy_hitter::test_the_largest_difference_is_on_average_at_most_d
    test_single_heavy_hitter::test_runs_stray_no_more_often_than_the_proof_says
    algorithms/test_conformance::test_its_claim_holds_on_hard_sources
    repair/mechanisms/test_threshold::test_near_shares_part_by_at_most_the_harmonic_bound
Amplification by majority: Theorem A.3 with 1 / (2 eps^2 (rho/k)^2) runs of the base a string
    algorithms.amplification:amplified_by_majority algorithms.amplification:majority_size
    no union over Q1: above 1/2 there is at most one heavy hitter; accuracy as in Theorem A.3
    algorithms/test_amplification::test_two_votes_differ_no_more_often_than_the_proof_says
    algorithms/test_conformance::test_its_rho_is_the_exact_one
    algorithms/test_conformance::test_it_ends_as_it_declares_at_its_own_size
"""

PRIVACY = """
Correlated sampling: two runs draw apart from laws P and P' with probability 2 TV / (1 + TV) at most, for any finite law
    auditor.repair:correlated auditor.repair:coupled_rho auditor.repair:law_mismatch
    given the laws 1 - J exactly; ours: also at most (2 / sqrt(3)) arccos BC, a factor below 1.01 where they move evenly
    repair/mechanisms/test_private_laws::test_laws_part_by_at_most_their_distance_and_their_angle
    repair/mechanisms/test_private_laws::test_the_angle_is_nearly_reached_by_laws_that_move_evenly
    repair/test_privacy::test_one_run_has_the_law_that_was_stated
Private laws: an eps-private law of n rows has E TV <= eps sqrt(n) / 2, and so drawn rho <= about eps sqrt(n / 3)
    auditor.repair:private_rho auditor.repair:private_distance auditor.repair:private_spread
    ours, by Efron and Stein: (2 / sqrt(3)) arccos(1 - n (1 - 1 / cosh(eps/2))); by information eps sqrt(n)
    repair/mechanisms/test_private_laws::test_a_private_law_is_as_reproducible_as_is_said
    repair/mechanisms/test_private_laws::test_the_step_of_one_row_is_what_randomised_response_attains
    repair/mechanisms/test_private_laws::test_numbers_are_those_that_are_said
Subsets: a private law averaged over all subsets of m of N rows is ln(1 + (m/N)(e^eps - 1))-private
    auditor.repair:subsampled_eps
    as known; attained by randomised response of one row
    repair/mechanisms/test_private_laws::test_an_average_over_subsets_is_as_private_as_is_said
    repair/mechanisms/test_private_laws::test_one_row_by_randomised_response_attains_it
Private median: a median on D values within tau, rho-reproducible, by a law that is (2 beta / n)-private
    private_median:r_private_median private_median:design
    n about L^2 / (3 rho^2 tau^2), L = ln(2 (D - 1)(1 - delta)/delta); 0.6 of its rho is reached
    repair/mechanisms/test_private_laws::test_the_private_median_is_as_private_as_it_says
    algorithms/test_conformance::test_its_rho_is_the_exact_one
    algorithms/test_conformance::test_its_claim_holds_on_hard_sources
Private counts: a reproducible learner is (eps, delta)-private, r being public, by noisy counts of k chunks' outputs
    private_mean:r_private_mean auditor.repair:private auditor.repair:most_counted
    ours: noise exp(-eps |z| / 2), threshold 1 + t with a^t / (1 + a) <= delta, attained; rho <= 4 rho0 + 2 e
    repair/mechanisms/test_private_laws::test_noisy_counts_are_as_private_as_is_said_and_no_more
    repair/mechanisms/test_private_laws::test_noise_for_one_count_that_moves_would_not_do
    repair/mechanisms/test_private_laws::test_what_three_quarters_of_chunks_give_is_returned_but_for_e
    algorithms/test_conformance::test_its_rho_is_the_exact_one
"""

FRONTIERS = """
Quantile frontier: the least worst-case rho of any rule that says on which side of c a quantile lies, exactly
    quantile_frontier:quantile_frontier quantile_frontier:least_by_frontier quantile:least_by_frontier
    certified on both sides; a lower bound for rules that return an approximate quantile
    test_frontiers::test_no_mixture_of_any_rules_does_better_on_a_quantile
    test_frontiers::test_the_mixture_of_a_quantile_is_feasible_and_the_values_are_close
    test_frontiers::test_an_order_statistic_is_above_the_frontier
    test_frontiers::test_a_median_is_told_the_frontier_of_its_task
    test_frontiers::test_the_frontier_of_a_grid_quantile_is_between_what_was_proved_and_what_is_promised
Two arms frontier: naming the better of two arms from n pulls of each is the coin problem of 2 n flips
    arms_frontier:two_arms arms_frontier:least_by_frontier
    below for every rule, above by a mixture certified over all means; apart by half a percent or less where looked at
    test_frontiers::test_no_mixture_of_any_rules_does_better_on_two_arms
    test_frontiers::test_what_is_certified_of_two_arms_holds_on_a_finer_grid
    test_frontiers::test_a_bandit_is_told_the_frontier_of_two_arms
"""

_ALL = (MEANS, QUANTILES, CHOICES, TESTS, CLUSTERS, BANDITS, LISTS, HEAVY, PRIVACY, FRONTIERS)
LATER: tuple[Statement, ...] = tuple(one for text in _ALL for one in read(text, __name__))
