"""The algorithms of "Reproducibility in Learning" (Impagliazzo, Lei, Pitassi, Sorrell, 2022) as reference subjects.

Each file is what a stranger could have written: it uses auditor's public names only. `PAPER` says of every statement of
the paper where it is, at which constants, and which tests hold it; `python -m algorithms` prints it as docs/paper.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Statement:
    """One definition, algorithm or result of the paper."""

    name: str
    says: str
    where: tuple[str, ...]  # module:name, the first of them what carries it; none where there is nothing to run
    constants: str  # as printed, or mended how
    tests: tuple[str, ...]  # file::test


def read(text: str, package: str = "algorithms") -> Iterator[Statement]:
    """Yield the statements of a text: a line with name and meaning; below it, indented, where, constants and tests."""
    for block in re.split(r"\n+(?=\S)", text.strip()) if text.strip() else []:
        head, where, constants, *tests = block.splitlines()
        name, _, says = head.partition(": ")
        places = [_place(place, package) for place in where.split() if place != "-"]
        paths = [_path(test, package) for line in tests for test in line.split() if test != "-"]
        yield Statement(name, says, tuple(places), constants.strip(), tuple(paths))


def _place(text: str, package: str) -> str:
    return text if text.startswith(("auditor", "algorithms")) else f"{package}.{text}"


def _path(text: str, package: str) -> str:
    file, _, test = text.partition("::")
    return f"tests/{file if '/' in file else package.replace('.', '/') + '/' + file}.py::{test}"


PAPER = tuple(
    read("""
Definition 1.1: two runs on fresh samples with the same r differ with probability at most rho
    auditor:audit
    definition only: what every audit measures
    test_conformance::test_its_rho_is_the_exact_one
Theorem 1.2: Theorem 2.3 in the introduction
    statistical_query:rstat
    its tau' = tau rho and width tau/rho are misprints: those of Theorem 2.3 hold
    test_statistical_query::test_the_size_is_the_theorems
Lemma 1.3: Lemma 3.3 in the introduction
    heavy_hitters:r_heavy_hitters
    as Lemma 3.3: its 1/rho^2 holds for constant v and eps only, as Corollary 3.4 says
    test_heavy_hitters::test_sizes_are_the_lemmas
    test_heavy_hitters::test_the_size_is_no_function_of_rho_alone
Theorem 1.4: Theorem 4.2 in the introduction, with delta = 1/3
    median:r_median
    as Theorem 4.2, for any delta; printed with Omega for O, and with rho - 1/3, which is 0 at rho = 1/3
    test_median::test_sizes_are_the_recursions
    test_median::test_the_size_rises_as_rho_falls_also_past_a_third
Theorem 1.5: Corollary 6.5 in the introduction
    boosting:r_halfspace_boosted
    as Corollary 6.5
    test_conformance::test_it_ends_as_it_declares_at_its_own_size
Theorem 1.6: Theorem 7.1 in the introduction, of coins
    coin_problem:lemma_bound
    so it is Lemma 7.2; true for tau <= 1/2, by angles, and not for every tau > 0
    test_coin_problem::test_the_lemma_holds_up_to_a_half_by_angles
    test_coin_problem::test_beyond_a_half_and_of_a_constant_query_an_answer_is_for_nothing

Definition 2.1: an oracle that answers a statistical query within tau
    compile_sq:compile_sq
    definition only: what a learner is written against
    test_compile_sq::test_answers_within_the_tolerance_lead_to_a_threshold_within_eps
Definition 2.2: simulating such an oracle from a sample, but for a failure rate delta
    statistical_query:within_tau
    definition only: the accuracy oracle of rSTAT
    test_conformance::test_the_oracle_knows_what_is_right
Algorithm 1: rSTAT: the mean of a query, to the midpoint of its region
    statistical_query:rstat
    as printed; delta added to the parameters, the last region closed
    test_statistical_query::test_answers_are_constant_on_regions_and_differ_between_them
Theorem 2.3: rSTAT is rho-reproducible and within tau; any query algorithm can be so compiled
    statistical_query:rstat compile_sq:compile_sq
    as printed, with delta; q queries get rho/q and delta/q each
    test_statistical_query::test_spot_values
    test_conformance::test_its_rho_is_the_exact_one

Definition 3.1: a v-heavy-hitter has probability at least v
    heavy_hitters:is_exact
    definition only: the accuracy oracle
    test_heavy_hitters::test_the_oracle_knows_the_set
Definition 3.2: the heavy-hitter problem: a set between those of v + eps and of v - eps
    heavy_hitters:threshold
    definition only: exactly the v'-heavy ones, v' in between, are such a set
    test_heavy_hitters::test_only_r_decides_the_threshold_and_its_range_is_all_of_v_plus_minus_eps
Algorithm 2: rHeavyHitters: candidates, estimates, a random threshold v'
    heavy_hitters:r_heavy_hitters
    as printed; a sorted tuple instead of a list
    test_heavy_hitters::test_what_is_rare_or_was_no_candidate_is_left_out
Lemma 3.3: rHeavyHitters is rho-reproducible, and exact with probability 1 - rho/2
    heavy_hitters:r_heavy_hitters
    as printed; the third step's rho/6 by the at most Q1/2 values that v' can reach, not by all candidates
    test_heavy_hitters::test_the_claims_hold_at_the_lemmas_size
    test_heavy_hitters::test_the_third_step_fails_with_a_sixth_of_rho
Corollary 3.4: at constant v and eps its size is 1/rho^2 but for logarithms
    heavy_hitters:sample_size
    as printed
    test_heavy_hitters::test_at_constant_v_and_eps_the_size_is_one_over_rho_squared_but_for_logarithms
Claim 3.5: heavy hitters by statistical queries take log |X| / log(1/tau) of them
    point_mass:point_by_queries
    sharpened: ceil(log |X| / log B), B = ceil(1 / (2 tau)), needed and enough
    test_point_mass::test_the_adversary_keeps_two_points_until_the_last_query

Definition 4.1: a tau-approximate median
    median:is_approximate_median
    definition only: the accuracy oracle
    test_conformance::test_the_oracle_knows_what_is_right
Theorem 4.2: rMedian is rho-reproducible and accurate; so is any algorithm with interval answers, by it
    median:r_median compile_interval:compile_interval
    mended throughout, see the module; rho0 = rho / (9 L + 3), group failure 1/64
    test_median::test_the_claims_hold_at_the_theorems_size
    test_conformance::test_its_rho_is_the_exact_one
Lemma 4.3: the plain median of a sample is tau-approximate
    median:median
    as printed for tau <= 1/4; ln(2/delta) / (2 tau^2) above, and an odd number always
    test_median::test_groups_fail_as_seldom_as_they_should
Algorithm 3: rMedian: medians of groups, a prefix of middling weight, the better end of its range
    median:r_median twins.median_as_published:r_median_as_published
    mended; as printed in twins.median_as_published, which is caught for tau >= 1/24
    test_median::test_as_published_it_is_inaccurate_and_mended_it_is_not
Lemma 4.4: log* |X| recursive calls
    median:levels twins.median_as_published:depth
    as printed for the listing; with d + 1 prefix lengths the base case is d <= 2
    test_median::test_the_size_at_the_defaults_and_its_parts
    test_median::test_the_published_depth_and_size
Lemma 4.5: rMedian's sample size
    median:sample_size twins.median_as_published:sample_size
    its recursion, with six candidates for three, and n_m where the listing has it
    test_median::test_sizes_are_the_recursions
    test_median::test_published_sizes_are_the_analysis
Lemma 4.6: rMedian is accurate but for delta
    median:is_approximate_median
    mended: tolerance 1/32 and threshold 1/16 for the end, 5/16 for the heavy hitters, the candidate nearest to 1/2
    test_median::test_the_claims_hold_at_the_theorems_size
Lemma 4.7: rMedian is rho-reproducible
    median:r_median
    9 L + 3 calls in all, of rho0 each, for 6 log*
    test_median::test_every_call_has_its_share_its_rows_and_a_child_of_its_own

Definition 5.1: the margin of a distribution with respect to a halfspace
    halfspace:margin_of halfspace:check_margin
    as printed; a source that has less gets a sentence
    test_halfspace::test_the_margin_is_the_best_of_all_halfspaces
    test_boosting::test_a_source_without_the_margin_gets_a_sentence
Algorithm 4: a weak learner of halfspaces: the sum of directions, rounded by a foam
    halfspace:r_halfspace_foams
    as printed; the mean times k m where fewer rows are given
    test_halfspace::test_the_scale_is_k
Algorithm 5: ConstructFoams: droplets, stage by stage
    rounding:foams
    as printed, for the points that are asked for alone
    test_rounding::test_foams_are_the_papers_stages
Theorem 5.2: Algorithm 4 is rho-reproducible with advantage tau/4
    halfspace:r_halfspace_foams
    as printed, with the failure rate rho/4 of the two it says
    test_conformance::test_its_claim_holds_on_hard_sources
    test_halfspace::test_the_proofs_sums_hold_at_the_theorems_sizes
Lemma 5.3: a foam parts two points with probability at most 2 pi times their distance
    rounding:foams
    2 pi for O(1); the proof's last inequality is reversed
    test_rounding::test_foams_part_points_with_at_most_two_pi_times_their_distance
Observation 5.4: a foam moves a point by at most sqrt(d)
    rounding:foams
    as printed
    test_rounding::test_rounding_is_pure_and_near
Theorem 5.5: a foam takes between c^d and C^d stages, but for c^-d
    rounding:first_stages
    c = sqrt(2); 2^d expected for a point, C = 8 seen on grids
    test_rounding::test_a_point_waits_for_its_stage_as_for_a_coin_of_two_to_the_minus_d
    test_rounding::test_all_points_take_between_c_and_big_c_to_the_d_stages
Definition 5.6: a weak learner has advantage gamma but for delta
    halfspace:has_advantage
    definition only: the accuracy oracle
    test_halfspace::test_the_oracle_asks_for_a_quarter_of_the_margin
Definition 5.7: a reproducible weak learner is both
    boosting:WeakLearner
    definition only: what boosting takes
    test_conformance::test_it_ends_as_it_declares_at_its_own_size
Lemma 5.8: the mean direction has advantage tau/2
    halfspace:signed_directions
    as printed
    test_halfspace::test_the_mean_direction_has_half_the_margin_as_advantage
Lemma 5.9: a perturbation by theta < sqrt(3)/2 costs at most theta of the advantage
    halfspace:Halfspace
    as printed
    test_halfspace::test_a_perturbed_halfspace_loses_at_most_the_perturbation
Lemma 5.10: the length of a sum of T centred vectors of length at most c concentrates
    halfspace:foams_size
    false as printed for c > 2; mended by McDiarmid: c sqrt(T) for sqrt(T) (1 + c/2)
    test_halfspace::test_sums_of_vectors_concentrate_as_mcdiarmid_says
    test_halfspace::test_lemma_5_10_is_false_as_printed_for_long_vectors
Corollary 5.11: a sum of T directions is within 4 T^(1/2 + a) of its mean but for exp(-T^(2a) / 2)
    halfspace:foams_size
    as printed
    test_halfspace::test_sums_of_directions_concentrate
Algorithm 6: ConstructBoxes: a shifted grid
    rounding:boxes
    as printed
    test_rounding::test_boxes_are_the_papers
Lemma 5.12: boxes part two points with probability at most d times their distance
    rounding:boxes
    sharpened: 1 - prod(1 - |x_i - y_i|) exactly, so sqrt(d) for d
    test_rounding::test_boxes_part_points_with_exactly_the_products_probability
Observation 5.13: boxes move a point by at most sqrt(d)/2
    rounding:boxes
    as printed
    test_rounding::test_rounding_is_pure_and_near
Algorithm 7: a weak learner of halfspaces: the sum of directions, rounded to a box
    halfspace:r_halfspace_boxes
    as printed
    test_halfspace::test_the_scale_is_k
Theorem 5.14: Algorithm 7 is rho-reproducible with advantage tau/4
    halfspace:r_halfspace_boxes
    as printed, with half an expectation for Pr
    test_conformance::test_its_claim_holds_on_hard_sources
    test_halfspace::test_the_proofs_sums_hold_at_the_theorems_sizes

Algorithm 8: rBoost: smooth boosting by filtering
    boosting:r_boost boosting:measure
    as printed, with T = 6 / (eps gamma^2 sqrt(1 - gamma)) rounds
    test_boosting::test_every_round_is_the_listings
    test_boosting::test_t_rounds_suffice_against_any_weak_learner
Algorithm 9: RejectionSampler
    rejection:rejection_sampler rejection:filter_with_shared_bits
    accepts by the sample's own randomness; as printed, with shared bits, beside it
    test_rejection::test_filtering_has_its_exact_rho
    test_rejection::test_the_first_that_are_accepted_are_kept_in_order
Theorem 6.1: rBoost is rho-reproducible with error at most eps
    boosting:r_boost boosting:RoundShares boosting:RoundSizes
    shares as printed; mended: s_2 is ~1/(rho^2 eps^4 gamma^4), all queries 1/(rho^2 eps^5 gamma^6)
    test_boosting::test_the_shares_of_rho_add_up
    test_boosting::test_the_listings_query_is_too_small_by_the_square_of_t
Lemma 6.2: rejection sampling runs out with probability at most delta
    rejection:rejection_size
    as printed, 24 m/eps ln(1/delta), for delta up to e^(-1/4); false for a delta near one
    test_rejection::test_filtering_runs_out_with_at_most_the_lemmas_probability
    test_rejection::test_the_lemma_is_false_for_a_delta_near_one
Remark 6.3: why the density may be taken to be at least eps/3
    boosting:r_boost
    as printed
    test_boosting::test_every_round_is_the_listings
Lemma 6.4: rejection sampling before a rho-reproducible algorithm gives 2 q + 2 rho
    rejection:rejection_sampler rejection:filter_with_shared_bits
    sharpened: 2 q + rho; exactly 2 q (1 - q) + (1 - q)^2 rho with bits of one's own, at most that with shared ones
    test_rejection::test_composing_with_a_filter_costs_2q_and_rho
Corollary 6.5: strong learners of halfspaces
    boosting:r_halfspace_boosted boosting:r_halfspace_boosted_boxes
    mended: foams tau^(-98/9) eps^(-38/9), printed -76/9, -28/9; boxes tau^-12, printed -10; both + tau^-6 rho^-2 eps^-5
    test_conformance::test_it_ends_as_it_declares_at_its_own_size
    test_boosting::test_the_exponents_are_not_those_that_are_printed
Remark 6.6: with boxes it is polynomial, with foams exponential in d
    boosting:halfspaces
    d uniforms a round for boxes, 2^d stages expected for foams
    test_boosting::test_boxes_take_d_uniforms_a_round_and_foams_two_to_the_d_stages

Theorem 7.1: a rho-reproducible query answer takes 1 / (tau^2 rho^2) rows
    coin_problem:decider
    false as printed for tau > 1/2 and for constant queries; true for queries onto 0 and 1, with Lemma 7.2's constant
    test_coin_problem::test_the_reduction_accepts_at_a_half_and_declares_nothing
    test_coin_problem::test_beyond_a_half_and_of_a_constant_query_an_answer_is_for_nothing
Lemma 7.2: so does deciding between two coins
    coin_problem:lemma_bound coin_frontier:frontier
    the proof's constant written out, 1/162 for tau < 1/4; and the exact frontier
    test_coin_problem::test_the_bound_is_one_162nd
    test_coin_frontier::test_no_mixture_of_any_rules_does_better

Definition A.1: (eta, nu)-reproducibility
    auditor.questions.nu:Nu
    definition only: check T --eta --nu
    questions/test_nu::test_the_gate_says_what_is_so
Definition A.2: pseudo-global stability
    auditor.questions.nu:Nu
    definition only: check T --eta --nu --beta
    questions/test_nu::test_stability_asks_for_accurate_canonical_outputs
Theorem A.3: amplification of reproducibility
    amplification:amplify amplification:amplified amplification:failure
    as printed, k to base 2; wrong or bottom at most (2 beta + rho/k) / (1 - nu - rho/k) + beta; nu + rho < 3/4
    test_amplification::test_sizes_are_the_theorems
    test_conformance::test_its_rho_is_the_exact_one
    test_amplification::test_wrong_or_bottom_is_no_more_likely_than_the_proof_says
    test_amplification::test_bottom_for_all_fails_the_audit_of_accuracy
    test_conformance::test_it_ends_as_it_declares_at_its_own_size
Corollary A.4: amplification of any rho < 1/4 - alpha
    amplification:amplified_from_rho amplification:from_rho
    nu = 1/2 - alpha, eta = rho_1 / nu; the printed alpha / (1 - 2 alpha) is 1/2 - eta at rho_1 = 1/4 - alpha only
    test_amplification::test_the_corollary_applies_the_theorem_where_it_holds
    test_amplification::test_the_corollary_is_the_theorem_at_its_eta_and_nu
Lemma A.5: making private randomness public never hurts
    known_answers:own_coin
    as printed: a subject A(sample, r, private) is audited both ways
    questions/test_cells::test_private_randomness_counts_where_it_is_not_shared
    questions/test_cells::test_what_the_lemma_rules_out_is_said
Lemma A.6: reproducibility implies generalisation
    generalisation:measured_halfspace generalisation:generalises
    as stated; the proof's last inequality is reversed, and it bounds R^ - R where R - R^ is meant
    test_consequences::test_a_reproducible_learner_generalises
    test_consequences::test_the_oracle_of_generalisation_computes_the_inequality
Lemma A.7: one sample may answer m adaptive queries, at a distance of (m - 1) rho
    data_reuse:reused_sample data_reuse:hold_both data_reuse:interview
    as stated, where each query has a string of its own, which the lemma leaves out
    test_consequences::test_reusing_a_sample_moves_transcripts_by_at_most_the_lemmas_bound
    test_consequences::test_the_lemma_needs_a_string_of_its_own_for_each_query
    test_conformance::test_its_rho_is_the_exact_one
Remark A.8: the connection may show that reproducibility cannot be had efficiently
    -
    an outlook: nothing to run
    -

Definition B.1: the adjusted lengths of a walk, with their stopping time
    -
    a step of a proof that McDiarmid replaces
    -
Claim B.2: the adjusted lengths are a supermartingale
    halfspace:foams_size
    false as printed for c > 1, and true for c <= 1; with c^2 for c it is true for every c
    test_halfspace::test_a_step_of_the_appendix_lengthens_by_c_squared_over_two_roots_of_t
    test_halfspace::test_claim_b_2_fails_as_printed_for_c_above_one_alone
Claim B.3: they change by at most c at a step
    halfspace:foams_size
    false as printed; true with the drift added
    test_halfspace::test_a_step_of_the_appendix_lengthens_by_c_squared_over_two_roots_of_t
    test_halfspace::test_claim_b_3_fails_as_printed
""")
)
