"""What does each bundled subject declare where nobody says otherwise? Its parameters, rows, claimed rho and delta.

The formulas are tested with their algorithms; these are the numbers that users meet, and that reports are made of.
"""

from __future__ import annotations

import pytest

from auditor.lookup import registered_subjects
from auditor.subjects.subject import load_subject

# name | parameters | rows | claimed rho | delta | expected
DECLARED = """
amplified | base_size=401 width=64 tau=0.15 eta=0.1 nu=0.3 beta=0.02 rho=0.1 sample_scale=1.0 | 638173853869487 | 0.1 | 0.0861017 | pass
amplified_by_majority | base_size=401 width=64 tau=0.15 eta=0.1 nu=0.3 beta=0.02 rho=0.1 sample_scale=1.0 | 2462641250 | 0.1 | 0.0861017 | pass
amplified_from_rho | base_size=401 width=64 tau=0.15 base_rho=0.12 alpha=0.1 beta=0.02 rho=0.05 sample_scale=1.0 | 12625689195051793 | 0.05 | 0.0919212 | pass
bandit_larger_mean |  | 73744 | None | None | fail
bandit_thresholds_in_turn |  | 80000 | None | None | fail
bandit_ucb |  | 400 | None | None | fail
bias_by_median | tau=0.4 rho=0.5 sample_scale=1.0 | 1324836 | 0.5 | 0.25 | pass
bias_from_few_coins | tau=0.4 | 54 | None | 0.1 | fail
biases_on_a_grid | d=2 eps=0.1 eta=0.1 sample_scale=1.0 | 4612 | None | 0.1 | fail
chi_square_test_usual |  | 250 | None | None | fail
choice_by_argmax |  | 27691 | None | None | fail
choice_noise_by_position |  | 27691 | None | None | fail
clusters_with_offsets_in_turn |  | 10371392927612 | 0.2 | None | fail
clusters_with_rho_unsplit | parts=1 | 2555776 | 0.1 | None | fail
clusters_without_constants |  | 278 | 0.2 | None | fail
coin_from_r |  | 1 | 0 | None | pass
coin_from_rstat | tau=0.1 rho=0.1 delta=0.025 | 96818 | 0.1 | 0.025 | pass
coin_test_fixed |  | 10846 | None | None | fail
conformal_by_own_scale |  | 153166 | None | None | fail
conformal_to_nearest |  | 153166 | None | 0.05 | fail
constant |  | 1 | 0 | None | pass
first_bit |  | 1 | None | None | fail
fixed_threshold | tau=0.1 delta=0.0625 | 59 | None | 0.0625 | fail
float_sum_in_sample_order |  | 1000 | None | None | fail
good_and_bad | bad=0.02 stray=0.0 wrong=0.0 | 1 | 0.1 | None | pass
heavy_hitter_by_appearance |  | 15503 | None | None | fail
heavy_hitter_most_frequent |  | 15503 | None | None | fail
heavy_hitters_fixed_threshold |  | 3051756737 | None | None | fail
heavy_hitters_in_order_of_appearance |  | 1000 | None | None | fail
hidden_state |  | 1 | None | None | error
identity_test_fixed |  | 15863 | None | None | fail
list_of_biases | d=2 eps=0.1 eta=0.1 sample_scale=1.0 | 4612 | None | 0.1 | pass
mean |  | 100 | None | None | fail
mean_vector_no_offset |  | 7770 | None | None | fail
mean_vector_offset_of_data |  | 7770 | None | None | fail
mean_vector_width_of_data |  | 7770 | None | None | fail
measured_halfspace | rho=0.1 delta=0.05 tau=0.4 d=3 sample_scale=1.0 | 62280871855 | 0.1 | 0.15 | pass
median | tau=0.05 delta=0.05 | 1993 | None | 0.05 | fail
memoriser | q=0.01 | 50 | 0.1 | None | pass
mixed | q=0.02 | 1 | None | None | pass
nonresidue | x=101 tries=800 | 0 | 0.1 | None | pass
one_generator_in_turn |  | 96624 | None | None | fail
optimal_coin | tau=0.1 rho=0.1 delta=0.0625 | 2500 | 0.1 | 0.0625 | pass
own_coin | q=0.1 p=0.01 | 1 | 0.2 | None | pass
plain_answer |  | 4000 | None | None | fail
point_by_queries | domain=1024 tau=0.1 rho=0.1 | 15279735 | 0.1 | 0.025 | pass
quantile_by_histogram |  | 10000 | None | None | fail
quantile_to_whole_widths |  | 12541 | None | None | fail
r_bandit | arms=2 horizon=1000000 tau=0.03 rho=0.1 delta=0.05 sample_scale=1.0 | 73744 | 0.1 | 0.05 | pass
r_bandit_elimination | arms=2 horizon=1000000 tau=0.03 rho=0.1 delta=0.05 phases=3 sample_scale=1.0 | 135306 | 0.1 | 0.05 | pass
r_boost_desynchronised |  | 40000 | None | None | fail
r_chi_square_test | null=6 effect=0.3 alpha=0.05 beta=0.05 rho=0.1 level=largest | 10409 | 0.1 | 0.05 | pass
r_choice | tau=0.1 rho=0.1 delta=0.05 candidates=4 sample_scale=1.0 | 27691 | 0.1 | 0.05 | pass
r_clusters | k=3 d=2 eps=0.3 rho=0.2 delta=0.05 sample_scale=1.0 | 10371392927612 | 0.2 | 0.05 | pass
r_coin_test | p0=0.5 eps=0.1 rho=0.1 delta=0.05 | 10846 | 0.1 | 0.05 | pass
r_conformal | a=0.1 rho=0.1 delta=0.05 width=40.0 density=0.00025 slack=0.02 step=1.0 | 153166 | 0.1 | 0.05 | pass
r_coreset | d=2 eps=0.3 rho=0.2 delta=0.05 sample_scale=1.0 | 10371392927612 | 0.2 | None | pass
r_halfspace_boosted | rho=0.5 eps=0.3 tau=0.47 d=2 rounding=foams sample_scale=1.0 | 831367771925222818612363 | 0.5 | 0.5 | pass
r_halfspace_boosted_boxes | rho=0.5 eps=0.3 tau=0.47 d=2 sample_scale=1.0 | 1087779804517758791156875 | 0.5 | 0.5 | pass
r_halfspace_boxes | rho=0.2 tau=0.4 d=3 sample_scale=1.0 | 11009806707 | 0.2 | 0.05 | pass
r_halfspace_foams | rho=0.2 tau=0.4 d=3 sample_scale=1.0 | 25864740795 | 0.2 | 0.05 | pass
r_heavy_hitters | rho=0.1 v=0.3 eps=0.1 sample_scale=1.0 | 3051756737 | 0.1 | 0.05 | pass
r_identity_test | null=(0.25, 0.25, 0.125, 0.125, 0.125, 0.125) eps=0.25 rho=0.1 delta=0.05 | 16313 | 0.1 | 0.05 | pass
r_identity_test_poisson | null=(0.25, 0.25, 0.125, 0.125, 0.125, 0.125) eps=0.25 rho=0.1 delta=0.05 | 17086 | 0.1 | 0.05 | pass
r_mean_vector | eps=0.2 rho=0.1 delta=0.05 sigma=0.5 d=3 sample_scale=1.0 | 7770 | 0.1 | 0.05 | pass
r_mean_vector_clipped | eps=0.5 rho=0.2 delta=0.001 sigma=1.0 d=2 centre=0.0 sample_scale=1.0 | 1060 | 0.2 | 0.001 | pass
r_mean_vector_foams | eps=0.2 rho=0.2 delta=0.05 sigma=0.5 d=2 sample_scale=1.0 | 9648 | 0.2 | 0.05 | pass
r_mean_vector_heavy | eps=0.5 rho=0.2 delta=0.001 sigma=1.0 d=2 sample_scale=1.0 | 5285 | 0.2 | 0.001 | pass
r_mean_vector_one_offset | eps=0.2 rho=0.1 delta=0.05 sigma=0.5 d=3 sample_scale=1.0 | 7770 | 0.1 | 0.05 | pass
r_median | d=8 tau=0.05 rho=0.2 sample_scale=1.0 | 10311449832992238451227 | 0.2 | 0.1 | pass
r_median_as_published | d=8 tau=0.05 rho=0.05 | 5708355181924381307508312024605 | 0.05 | 0.025 | fail
r_quantile | p=0.9 eps=50.0 rho=0.1 delta=0.05 density=0.0005 step=1.0 | 12541 | 0.1 | 0.05 | pass
r_single_heavy_hitter | rho=0.1 v=0.3 sample_scale=1.0 | 15503 | 0.1 | 0.05 | pass
r_t_test | mu0=0.0 effect=0.5 alpha=0.05 beta=0.05 rho=0.1 level=largest | 1664 | 0.1 | 0.05 | pass
r_top_choice | tau=0.1 rho=0.1 delta=0.05 candidates=4 top=2 sample_scale=1.0 | 129743 | 0.1 | 0.05 | pass
r_uniformity_test | null=8 eps=0.25 rho=0.1 delta=0.05 | 15863 | 0.1 | 0.05 | pass
r_z_test | mu0=0.0 sigma=1.0 effect=0.5 alpha=0.05 beta=0.05 rho=0.1 level=largest | 1445 | 0.1 | 0.05 | pass
reused_sample | tau=0.1 rho=0.02 delta=0.005 sample_scale=1.0 | 18335682 | 0.12 | 0.1 | pass
reused_sample_plain |  | 24000 | None | 0.1 | fail
rounded_median | m=401 width=64 tau=0.15 | 401 | 0.2 | 0.05 | pass
rstat | tau=0.1 rho=0.1 delta=0.025 sample_scale=1.0 | 96624 | 0.1 | 0.025 | pass
rstat_answer | tau=0.25 rho=0.1 delta=0.025 | 4000 | 0.04 | None | pass
rstat_no_offset |  | 96624 | None | None | fail
rstat_unshared_offset |  | 96624 | None | None | fail
t_test_usual |  | 100 | None | None | fail
threshold_by_plain_means | d=4 eps=0.2 rho=0.2 sample_scale=1.0 | 1706276 | None | 0.05 | fail
threshold_by_queries | d=4 eps=0.2 rho=0.2 sample_scale=1.0 | 1706276 | 0.2 | 0.05 | pass
uniform_threshold | tau=0.1 rho=0.1 delta=0.0625 | 5000 | 0.1 | 0.0625 | pass
z_test_usual |  | 100 | None | None | fail
"""  # noqa: E501
ROWS = [[part.strip() for part in line.split("|")] for line in DECLARED.strip().splitlines()]


def test_every_registered_subject_is_listed() -> None:
    assert [row[0] for row in ROWS] == sorted(registered_subjects())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_it_declares(row: list[str]) -> None:
    name, parameters, *numbers, expect = row
    subject = load_subject(registered_subjects()[name])
    known = {key: value for key, value in subject.settings.items() if value is not None and not callable(value)}
    assert " ".join(f"{key}={value}" for key, value in known.items()) == parameters
    said = [one for one in ("size", "claimed", "delta") if getattr(subject.declared, one) is not None]
    found = [subject.declares(one) if one in said else None for one in ("size", "claimed", "delta")]
    assert [f"{one:.6g}" if isinstance(one, float) else str(one) for one in found] == numbers
    assert subject.declared.expect == expect
