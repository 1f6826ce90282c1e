"""The table of the bundled subjects: what is declared, refused, judged and known exactly of each.

`test_conformance.py` runs it, and a registered subject without a row fails there. Whatever is true of one algorithm
alone, such as the inequalities of its proof, is tested in a file of its own.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import decision_laws as laws
import numpy as np
from scipy.signal import fftconvolve
from scipy.special import expit
from scipy.stats import binom, multinomial, nct, norm, t
from support.exact import Decision, decision

from algorithms.amplification import majority_runs, strings, vote_parameters
from algorithms.coin_frontier import frontier
from algorithms.coin_problem import Mixed, rstat_mixture, uniform_mixture
from algorithms.coin_problem import exact_rho as coin_rho
from algorithms.compile_interval import coins_a_run
from algorithms.compile_sq import threshold_size
from algorithms.everyday import (
    bandit,
    chi_square_test,
    coin_test,
    erm,
    halfspace_lattices,
    identity_test,
    mean_heavy,
    mean_lattices,
    mean_laws,
    private_mean,
    private_median,
    uniformity,
    usual_tests,
)
from algorithms.everyday.bandit_elimination import schedule
from algorithms.everyday.bandit_exact import commits, exact, plain
from algorithms.everyday.choice import TIED, strength
from algorithms.everyday.choice_laws import rho_of_bits, rho_of_opposites, rho_of_rare
from algorithms.everyday.conformal import GAP
from algorithms.everyday.hypothesis_classes import class_of
from algorithms.everyday.mean_sizes import by_boxes, by_lattice
from algorithms.everyday.mean_vector import COINS, coins
from algorithms.everyday.order_statistics import rho_of_cdf, rho_of_law
from algorithms.everyday.quantile import LOW_DENSITY, width
from algorithms.everyday.single_heavy_hitter import STAIRS, ends, firsts_apart, rho_of_stairs
from algorithms.heavy_hitters import step_sizes
from algorithms.known_answers import rho_of, rounded_laws
from algorithms.rejection import BOTTOM
from algorithms.statistical_query import region_width
from algorithms.statistical_query import sample_size as rstat_size
from algorithms.twins import mean as mean_twins
from algorithms.twins import paper
from auditor.repair import conformal_rank, law_mismatch, private_threshold, quantile_rank
from auditor.sources.source import load_source

# What is declared where nobody says otherwise; "-" where nothing is.
# name | parameters | rows | claimed rho | delta | plain rows | promised rho | expected | how the source begins
DECLARED = """
amplified | base_size=401 width=64 tau=0.15 eta=0.1 nu=0.3 beta=0.02 rho=0.1 sample_scale=1.0 | 638173853869487 | 0.1 | 0.0861017 | - | - | pass | randint(0, 256)
amplified_by_majority | base_size=401 width=64 tau=0.15 eta=0.1 nu=0.3 beta=0.02 rho=0.1 sample_scale=1.0 | 2462641250 | 0.1 | 0.0861017 | - | - | pass | randint(0, 256)
amplified_from_rho | base_size=401 width=64 tau=0.15 base_rho=0.12 alpha=0.1 beta=0.02 rho=0.05 sample_scale=1.0 | 12625689195051793 | 0.05 | 0.0919212 | - | - | pass | randint(0, 256)
bandit_larger_mean |  | 73744 | - | - | - | - | fail | pmf({(0, 0): 0.5, (1, 1): 0.5})
bandit_thresholds_in_turn |  | 80000 | - | - | - | - | fail | pmf({(1, 1, 1, 1): 0.55, (1, 1, 0, 0): 0
bandit_ucb |  | 400 | - | - | - | - | fail | pmf({(0, 0): 0.5, (1, 1): 0.5})
beats | a= b= test=sign level=0.05 better=higher without= by= score= unit= | - | - | - | - | - | pass | algorithms.decisions.tables:TWO
bias_by_median | tau=0.4 rho=0.5 sample_scale=1.0 | 1324836 | 0.5 | 0.25 | - | - | pass | bernoulli(0.5)
bias_from_few_coins | tau=0.4 | 54 | - | 0.1 | - | - | fail | bernoulli(0.5)
biases_on_a_grid | d=2 eps=0.1 eta=0.1 sample_scale=1.0 | 4612 | - | 0.1 | 185 | - | fail | points([[0, 0], [0, 1], [1, 0], [1, 1]],
changepoint | time= value= | - | - | - | - | - | pass | algorithms.decisions.tables:STEP
chi_square_test_usual |  | 250 | - | - | - | - | fail | pmf({0: 0.23, 1: 0.154, 2: 0.154, 3: 0.1
choice_by_argmax |  | 27691 | - | - | - | - | fail | points([[0, 0, 0, 0], [0, 0, 0, 1], [0,
choice_noise_by_position |  | 27691 | - | - | - | - | fail | points([[0, 0, 0, 0], [0, 0, 0, 1], [0,
cluster_members | k=3 without= | - | - | - | - | - | pass | algorithms.decisions.tables:CLUMPS
clusters | most=6 without= | - | - | - | - | - | pass | algorithms.decisions.tables:CLUMPS
clusters_with_offsets_in_turn |  | 10371392927612 | 0.2 | - | - | - | fail | pmf({(0.1, 0.1): 0.2, (0.2, 0.1): 0.1, (
clusters_with_rho_unsplit | parts=1 | 2555776 | 0.1 | - | - | - | fail | pmf({0.0: 0.161, 0.125: 0.103, 0.25: 0.1
clusters_without_constants |  | 278 | 0.2 | - | - | - | fail | pmf({(0.1, 0.1): 0.2, (0.2, 0.1): 0.1, (
coin_from_r |  | 1 | 0 | - | - | - | pass | norm
coin_from_rstat | tau=0.1 rho=0.1 delta=0.025 | 96818 | 0.1 | 0.025 | 95 | 0.0667391 | pass | bernoulli(0.5)
coin_test_fixed |  | 10846 | - | - | - | - | fail | bernoulli(0.55)
conformal_by_own_scale |  | 153166 | - | - | - | - | fail | randint(0, 2000)
conformal_to_nearest |  | 153166 | - | 0.05 | - | - | fail | randint(0, 2000)
constant |  | 1 | 0 | - | - | - | pass | norm
cutoff | method=youden score= label= positive= cost=1.0 q=0.9 | - | - | - | - | - | pass | algorithms.decisions.tables:CASES
erm_by_posterior |  | 84879 | - | - | - | - | fail | points([[0], [32], [32], [63]], labels=[
erm_first_consistent |  | 100 | - | - | - | - | fail | points([[0], [1], [2], [3], [4], [5], [6
erm_least_risk |  | 84879 | - | - | - | - | fail | points([[0], [32], [32], [63]], labels=[
features | k=1 method=correlation label= | - | - | - | - | - | pass | algorithms.decisions.tables:LABELLED
first_bit |  | 1 | - | - | - | - | fail | bernoulli(0.5)
fixed_threshold | tau=0.1 delta=0.0625 | 59 | - | 0.0625 | 59 | - | fail | bernoulli(0.5)
float_sum_in_sample_order |  | 1000 | - | - | - | - | fail | pmf({0.1: 0.25, 0.2: 0.25, 0.3: 0.25, 1e
good_and_bad | bad=0.02 stray=0.0 wrong=0.0 | 1 | 0.1 | - | - | - | pass | uniform
group_report | by= score= n=2 statistic=sum | - | - | - | - | - | pass | algorithms.decisions.tables:BOUGHT
halfspace_unrounded |  | 1831 | - | - | - | - | fail | points([[1, 1, 1], [1, 1, -1], [1, -1, 1
heavy_hitter_by_appearance |  | 15503 | - | - | - | - | fail | pmf({1: 0.3, 2: 0.3, 3: 0.3, 4: 0.1})
heavy_hitter_most_frequent |  | 15503 | - | - | - | - | fail | pmf({1: 0.3, 2: 0.3, 3: 0.3, 4: 0.1})
heavy_hitters_fixed_threshold |  | 3051756737 | - | - | - | - | fail | pmf({1: 0.4, 2: 0.3, 3: 0.3})
heavy_hitters_in_order_of_appearance |  | 1000 | - | - | - | - | fail | pmf({1: 0.4, 2: 0.3, 3: 0.3})
hidden_state |  | 1 | - | - | - | - | error | norm
identity_test_fixed |  | 15863 | - | - | - | - | fail | pmf({0: 0.2286, 1: 0.1102, 2: 0.1102, 3:
judged_winner | statistic=mean better=higher by=model score=score unit=item without= | - | - | - | - | - | pass | algorithms.decisions.tables:JUDGED
list_of_biases | d=2 eps=0.1 eta=0.1 sample_scale=1.0 | 4612 | - | 0.1 | 185 | - | pass | points([[0, 0], [0, 1], [1, 0], [1, 1]],
mean |  | 100 | - | - | - | - | fail | norm
mean_vector_lattice_at_rest |  | 15172 | - | - | - | - | fail | points([[1, 1, 1, 1, 1, 1, 1, 1], [1, 0,
mean_vector_no_offset |  | 7770 | - | - | - | - | fail | points([[0, 0, 0], [0, 0, 1], [0, 1, 0],
mean_vector_offset_of_data |  | 7770 | - | - | - | - | fail | points([[0, 0, 0], [0, 0, 1], [0, 1, 0],
mean_vector_width_of_data |  | 7770 | - | - | - | - | fail | points([[0, 0, 0], [0, 0, 1], [0, 1, 0],
measured_halfspace | rho=0.1 delta=0.05 tau=0.4 d=3 sample_scale=1.0 | 62280871855 | 0.1 | 0.15 | - | - | pass | points([[1, 1, 1], [1, 1, -1], [1, -1, 1
median | tau=0.05 delta=0.05 | 1993 | - | 0.05 | - | - | fail | randint(0, 256)
memoriser | q=0.01 | 50 | 0.1 | - | - | - | pass | algorithms.known_answers:labelled_noise
mixed | q=0.02 | 1 | - | - | - | - | pass | norm
nonresidue | x=101 tries=800 | 0 | 0.1 | - | - | - | pass | nothing
one_generator_in_turn |  | 96624 | - | - | - | - | fail | bernoulli(0.5)
optimal_coin | tau=0.1 rho=0.1 delta=0.0625 | 2500 | 0.1 | 0.0625 | 59 | 0.0490612 | pass | bernoulli(0.5)
own_coin | q=0.1 p=0.01 | 1 | 0.2 | - | - | - | pass | uniform
plain_answer |  | 4000 | - | - | - | - | fail | algorithms.data_reuse:few_coins
point_by_queries | domain=1024 tau=0.1 rho=0.1 | 15279735 | 0.1 | 0.025 | - | - | pass | pmf({11: 1.0})
private_mean_by_noise |  | 1000000 | - | - | - | - | fail | bernoulli(0.5)
private_median_by_quantile |  | 371898 | - | - | - | - | fail | randint(0, 1000)
private_median_usual |  | 371898 | - | - | - | - | fail | randint(0, 1000)
quantile_by_histogram |  | 10000 | - | - | - | - | fail | expon
quantile_to_whole_widths |  | 12541 | - | - | - | - | fail | randint(0, 1000)
r_bandit | arms=2 horizon=1000000 tau=0.03 rho=0.1 delta=0.05 sample_scale=1.0 | 73744 | 0.1 | 0.05 | 6658 | 0.0816491 | pass | pmf({(0, 0): 0.5, (1, 1): 0.5})
r_bandit_elimination | arms=2 horizon=1000000 tau=0.03 rho=0.1 delta=0.05 phases=3 sample_scale=1.0 | 135306 | 0.1 | 0.05 | 6658 | 0.0825672 | pass | pmf({(0, 0): 0.5, (1, 1): 0.5})
r_beats | a= b= test=sign level=0.05 width=12.0 better=higher without= by= score= unit= | - | - | - | - | - | pass | algorithms.decisions.tables:MANY
r_boost_desynchronised |  | 40000 | - | - | - | - | fail | points([[8, 15], [-8, -15], [8, -15], [-
r_changepoint | time= value= width=10.0 | - | - | - | - | - | pass | algorithms.decisions.tables:STEP
r_chi_square_test | null=6 effect=0.3 alpha=0.05 beta=0.05 rho=0.1 level=largest | 10409 | 0.1 | 0.05 | 1080 | 0.075 | pass | pmf({0: 0.2190, 1: 0.1562, 2: 0.1562, 3:
r_choice | tau=0.1 rho=0.1 delta=0.05 candidates=4 sample_scale=1.0 | 27691 | 0.1 | 0.05 | 819 | 0.0999987 | pass | points([[0, 0, 0, 0], [0, 0, 0, 1], [0,
r_cluster_count | strength=0.1 most=6 without= | - | - | - | - | - | pass | algorithms.decisions.tables:CLUMPS
r_cluster_members | k=3 width=4.0 without= | - | - | - | - | - | pass | algorithms.decisions.tables:CLUMPS
r_clusters | k=3 d=2 eps=0.3 rho=0.2 delta=0.05 sample_scale=1.0 | 10371392927612 | 0.2 | 0.05 | 31634 | 0.2 | pass | pmf({(0.1, 0.1): 0.2, (0.2, 0.1): 0.1, (
r_coin_test | p0=0.5 eps=0.1 rho=0.1 delta=0.05 | 10846 | 0.1 | 0.05 | 738 | 0.074998 | pass | bernoulli(0.55)
r_conformal | a=0.1 rho=0.1 delta=0.05 width=40.0 density=0.00025 slack=0.02 step=1.0 | 153166 | 0.1 | 0.05 | 1916 | 0.0989931 | pass | randint(0, 2000)
r_coreset | d=2 eps=0.3 rho=0.2 delta=0.05 sample_scale=1.0 | 10371392927612 | 0.2 | - | - | 0.2 | pass | pmf({(0.1, 0.1): 0.2, (0.2, 0.1): 0.1, (
r_cutoff | method=youden score= label= positive= cost=1.0 q=0.9 width=5.0 | - | - | - | - | - | pass | algorithms.decisions.tables:CASES
r_erm | hypotheses=thresholds(64) alpha=0.1 rho=0.1 delta=0.05 realisable=False sample_scale=1.0 | 84879 | 0.1 | 0.05 | 1431 | 0.0999997 | pass | points([[0], [32], [32], [63]], labels=[
r_erm_realisable | hypotheses=thresholds(64) alpha=0.1 rho=0.1 delta=0.05 realisable=True sample_scale=1.0 | 11213 | 0.1 | 0.05 | 68 | 0.0999978 | pass | points([[0], [1], [2], [3], [4], [5], [6
r_features | k=1 strength=0.2 method=correlation label= | - | - | - | - | - | pass | algorithms.decisions.tables:LABELLED
r_group_report | strength=0.1 by= score= n=2 statistic=sum | - | - | - | - | - | pass | algorithms.decisions.tables:BOUGHT
r_halfspace_boosted | rho=0.5 eps=0.3 tau=0.47 d=2 rounding=foams sample_scale=1.0 | 831367771925222818612363 | 0.5 | 0.5 | - | - | pass | points([[8, 15], [-8, -15], [8, -15], [-
r_halfspace_boosted_boxes | rho=0.5 eps=0.3 tau=0.47 d=2 sample_scale=1.0 | 1087779804517758791156875 | 0.5 | 0.5 | - | - | pass | points([[8, 15], [-8, -15], [8, -15], [-
r_halfspace_boxes | rho=0.2 tau=0.4 d=3 sample_scale=1.0 | 11009806707 | 0.2 | 0.05 | - | - | pass | points([[1, 1, 1], [1, 1, -1], [1, -1, 1
r_halfspace_foams | rho=0.2 tau=0.4 d=3 sample_scale=1.0 | 25864740795 | 0.2 | 0.05 | - | - | pass | points([[1, 1, 1], [1, 1, -1], [1, -1, 1
r_halfspace_lattice | rho=0.1 tau=0.4 delta=0.05 d=3 lattice=best sample_scale=1.0 | 1831 | 0.1 | 0.05 | 95 | 0.0999848 | pass | points([[1, 1, 1], [1, 1, -1], [1, -1, 1
r_heavy_hitters | rho=0.1 v=0.3 eps=0.1 sample_scale=1.0 | 3051756737 | 0.1 | 0.05 | 417 | - | pass | pmf({1: 0.45, 2: 0.3, 3: 0.15, 4: 0.1})
r_identity_test | null=(0.25, 0.25, 0.125, 0.125, 0.125, 0.125) eps=0.25 rho=0.1 delta=0.05 | 16313 | 0.1 | 0.05 | 882 | 0.075 | pass | pmf({0: 0.2086, 1: 0.2086, 2: 0.2699, 3:
r_identity_test_poisson | null=(0.25, 0.25, 0.125, 0.125, 0.125, 0.125) eps=0.25 rho=0.1 delta=0.05 | 17086 | 0.1 | 0.05 | 882 | 0.0749986 | pass | pmf({0: 0.2086, 1: 0.2086, 2: 0.2699, 3:
r_mean_vector | eps=0.2 rho=0.1 delta=0.05 sigma=0.5 d=3 sample_scale=1.0 | 7770 | 0.1 | 0.05 | 173 | 0.0999942 | pass | points([[0, 0, 0], [0, 0, 1], [0, 1, 0],
r_mean_vector_clipped | eps=0.5 rho=0.2 delta=0.001 sigma=1.0 d=2 centre=0.0 sample_scale=1.0 | 1060 | 0.2 | 0.001 | 264 | 0.199969 | pass | points([[0, 0], [0, 39], [39, 0], [39, 3
r_mean_vector_foams | eps=0.2 rho=0.2 delta=0.05 sigma=0.5 d=2 sample_scale=1.0 | 9648 | 0.2 | 0.05 | 110 | 0.199998 | pass | points([[0, 0], [0, 1], [1, 0], [1, 1]],
r_mean_vector_heavy | eps=0.5 rho=0.2 delta=0.001 sigma=1.0 d=2 sample_scale=1.0 | 5285 | 0.2 | 0.001 | 795 | 0.199939 | pass | points([[0, 0], [0, 39], [39, 0], [39, 3
r_mean_vector_lattice | eps=0.3 rho=0.1 delta=0.05 sigma=0.5 d=8 lattice=best sample_scale=1.0 | 15172 | 0.1 | 0.05 | 205 | 0.0999994 | pass | points([[1, 0, 1, 0, 1, 0, 1, 0], [0, 1,
r_mean_vector_one_offset | eps=0.2 rho=0.1 delta=0.05 sigma=0.5 d=3 sample_scale=1.0 | 7770 | 0.1 | 0.05 | 173 | 0.0999942 | pass | points([[0, 0, 0], [0, 0, 1], [0, 1, 0],
r_median | d=8 tau=0.05 rho=0.2 sample_scale=1.0 | 10311449832992238451227 | 0.2 | 0.1 | - | - | pass | randint(0, 256)
r_median_as_published | d=8 tau=0.05 rho=0.05 | 5708355181924381307508312024605 | 0.05 | 0.025 | - | - | fail | randint(0, 256)
r_private_mean | tau=0.1 rho=0.1 eps=1.0 leak=1e-06 sample_scale=1.0 | 3017280 | 0.1 | 0.10589 | - | - | pass | bernoulli(0.5)
r_private_median | domain=1000 tau=0.1 rho=0.1 delta=0.05 sample_scale=1.0 | 371898 | 0.1 | 0.05 | 185 | 0.1 | pass | randint(0, 1000)
r_quantile | p=0.9 eps=50.0 rho=0.1 delta=0.05 density=0.0005 step=1.0 | 12541 | 0.1 | 0.05 | 1318 | 0.098961 | pass | randint(0, 1000)
r_ranking | strength=0.05 statistic=mean better=higher without= by= score= unit= | - | - | - | - | - | pass | algorithms.decisions.tables:THREE
r_significant_columns | correction=holm level=0.05 lowest=0.005 test=sign against= better=higher without= by= score= unit= | - | - | - | - | - | pass | algorithms.decisions.tables:EFFECTS
r_single_heavy_hitter | rho=0.1 v=0.3 sample_scale=1.0 | 15503 | 0.1 | 0.05 | 264 | 0.0999969 | pass | pmf({1: 0.3, 2: 0.25, 3: 0.2, 4: 0.15, 5
r_t_test | mu0=0.0 effect=0.5 alpha=0.05 beta=0.05 rho=0.1 level=largest | 1664 | 0.1 | 0.05 | 52 | 0.075 | pass | norm(0.2528, 1)
r_top | strength=0.2 statistic=mean better=higher k=1 without= by= score= unit= | - | - | - | - | - | pass | algorithms.decisions.tables:THREE
r_top_choice | tau=0.1 rho=0.1 delta=0.05 candidates=4 top=2 sample_scale=1.0 | 129743 | 0.1 | 0.05 | 877 | 0.0999998 | pass | points([[0, 0, 0, 0], [0, 0, 0, 1], [0,
r_trend | time= value= test=t level=0.05 width=12.0 | - | - | - | - | - | pass | algorithms.decisions.tables:STEP
r_uniformity_by_distance | values=1000 eps=0.25 rho=0.1 delta=0.05 | 7513 | 0.1 | 0.05 | 1757 | 0.075 | pass | mixture(randint(0, 1000), randint(0, 500
r_uniformity_test | null=8 eps=0.25 rho=0.1 delta=0.05 | 15863 | 0.1 | 0.05 | 881 | 0.075 | pass | pmf({0: 0.2622, 1: 0.1054, 2: 0.1054, 3:
r_winner | strength=0.2 statistic=mean better=higher without= by= score= unit= | - | - | - | - | - | pass | algorithms.decisions.tables:THREE
r_z_test | mu0=0.0 sigma=1.0 effect=0.5 alpha=0.05 beta=0.05 rho=0.1 level=largest | 1445 | 0.1 | 0.05 | 52 | 0.075 | pass | norm(0.2541, 1)
ranking | statistic=mean better=higher without= by= score= unit= | - | - | - | - | - | pass | algorithms.decisions.tables:THREE
reused_sample | tau=0.1 rho=0.02 delta=0.005 sample_scale=1.0 | 18335682 | 0.12 | 0.1 | - | - | pass | randint(0, 64)
reused_sample_plain |  | 24000 | - | 0.1 | - | - | fail | randint(0, 64)
rounded_median | m=401 width=64 tau=0.15 | 401 | 0.2 | 0.05 | - | - | pass | randint(0, 256)
rstat | tau=0.1 rho=0.1 delta=0.025 sample_scale=1.0 | 96624 | 0.1 | 0.025 | 220 | 0.0667393 | pass | bernoulli(0.5)
rstat_answer | tau=0.25 rho=0.1 delta=0.025 | 4000 | 0.04 | - | - | - | pass | algorithms.data_reuse:few_coins
rstat_no_offset |  | 96624 | - | - | - | - | fail | bernoulli(0.5)
rstat_unshared_offset |  | 96624 | - | - | - | - | fail | bernoulli(0.5)
significant_columns | correction=holm level=0.05 test=sign against= better=higher without= by= score= unit= | - | - | - | - | - | pass | algorithms.decisions.tables:EFFECTS
t_test_usual |  | 100 | - | - | - | - | fail | norm(0.198, 1)
threshold_by_plain_means | d=4 eps=0.2 rho=0.2 sample_scale=1.0 | 1706276 | - | 0.05 | - | - | fail | points([[0], [1], [2], [3], [4], [5], [6
threshold_by_queries | d=4 eps=0.2 rho=0.2 sample_scale=1.0 | 1706276 | 0.2 | 0.05 | - | - | pass | points([[0], [1], [2], [3], [4], [5], [6
top | k=1 statistic=mean better=higher without= by= score= unit= | - | - | - | - | - | pass | algorithms.decisions.tables:THREE
trend | time= value= test=t level=0.05 | - | - | - | - | - | pass | algorithms.decisions.tables:STEP
uniform_threshold | tau=0.1 rho=0.1 delta=0.0625 | 5000 | 0.1 | 0.0625 | 59 | 0.05 | pass | bernoulli(0.5)
uniformity_by_distance_fixed |  | 8000 | - | - | - | - | fail | mixture(randint(0, 1000), randint(0, 500
winner | statistic=mean better=higher without= by= score= unit= | - | - | - | - | - | pass | algorithms.decisions.tables:THREE
z_test_usual |  | 100 | - | - | - | - | fail | norm(0.196, 1)
"""  # noqa: E501

# The same at other parameters: name | parameters | rows | claimed rho | delta
SETTINGS = """
rstat | rho=0.3 delta=0.1 tau=0.02 | 453105 | 0.3 | 0.1
rstat | sample_scale=0.5 | 48312 | 0.1 | 0.025
point_by_queries | domain=1 | 96624 | 0.1 | 0.025
r_heavy_hitters | sample_scale=1e-6 | 3081 | 0.1 | 0.05
r_median | d=1 rho=0.3 | 1545979 | 0.3 | 0.15
r_median | d=2 rho=0.3 delta=0.01 | 1541683326 | 0.3 | 0.01
median | tau=0.3 delta=0.01 | 31 | - | 0.01
r_median_as_published | d=1 | 319070682 | 0.05 | 0.025
measured_halfspace | rho=0.2 delta=0.03 | 11009806707 | 0.2 | 0.23
r_choice | candidates=4 sample_scale=0.1 | 2770 | 0.1 | 0.05
r_erm | hypotheses=conjunctions(8) sample_scale=0.1 | 23075 | 0.1 | 0.05
r_erm_realisable | hypotheses=stumps(5,1000) alpha=0.01 | 518957 | 0.1 | 0.05
r_private_median | domain=2 rho=0.5 | 2175 | 0.5 | 0.05
r_private_mean | eps=2.0 leak=0.001 sample_scale=0.01 | 19656 | 0.1 | 0.105733
r_coreset | d=1 | 250529626 | 0.2 | -
r_mean_vector | sample_scale=0.5 | 3885 | 0.1 | 0.05
r_mean_vector_foams | rho=0.1 | 34293 | 0.1 | 0.05
r_halfspace_lattice | d=8 sample_scale=0.5 | 2508 | 0.1 | 0.05
r_mean_vector_lattice | lattice=D | 28315 | 0.1 | 0.05
r_mean_vector_lattice | lattice=A* d=2 eps=0.2 | 1919 | 0.1 | 0.05
r_mean_vector_lattice | d=20 eps=0.5 | 37041 | 0.1 | 0.05
r_mean_vector_heavy | sample_scale=0.5 | 2645 | 0.2 | 0.001
r_single_heavy_hitter | v=0.8 | 759 | 0.1 | 0.05
r_single_heavy_hitter | sample_scale=0.01 | 156 | 0.1 | 0.05
r_chi_square_test | level=mean | 9261 | 0.1 | 0.05
r_z_test | level=mean | 1166 | 0.1 | 0.05
r_uniformity_by_distance | values=10000 eps=0.5 rho=0.5 | 2139 | 0.5 | 0.05
list_of_biases | sample_scale=0.1 | 462 | - | 0.1
r_bandit | arms=3 tau=0.1 | 46656 | 0.1 | 0.05
r_bandit | arms=10 tau=0.1 horizon=10000000 | 3423590 | 0.1 | 0.05
"""

# What else a report says of a subject.
NOTES = {
    "amplified": "at most 17 strings, 93,615,058,511 runs of the base each, 401 rows a run",
    "r_bandit": "regret at most 36,872 in 1,000,000 pulls, but for delta; 14,416 without reproducibility",
    "r_bandit_elimination": "regret at most 32,030 in 1,000,000 pulls, but for delta; 314 where all gaps are 1",
    "r_private_median": "for whoever does not know r a row is 0.000568-private",
    "r_private_mean": "for every r, which may be public, a row is (1, 1e-06)-private",
    "reused_sample": "inaccurate are runs whose transcript reuse changes: at most (m - 1) rho = 0.1",
}

# The broken twins of each algorithm; each is expected to fail.
TWINS: dict[str, tuple[str, ...]] = {
    "rstat": ("rstat_unshared_offset", "rstat_no_offset", "one_generator_in_turn"),
    "r_heavy_hitters": ("heavy_hitters_fixed_threshold", "heavy_hitters_in_order_of_appearance"),
    "r_median": ("median", "r_median_as_published"),
    "r_halfspace_boosted": ("r_boost_desynchronised",),
    "bias_by_median": ("bias_from_few_coins",),
    "threshold_by_queries": ("threshold_by_plain_means",),
    "reused_sample": ("reused_sample_plain",),
    "rstat_answer": ("plain_answer",),
    "optimal_coin": ("fixed_threshold",),
    "r_mean_vector": (
        *("mean_vector_no_offset", "mean_vector_offset_of_data", "mean_vector_width_of_data"),
        "float_sum_in_sample_order",
    ),
    "r_mean_vector_lattice": ("mean_vector_lattice_at_rest",),
    "r_halfspace_lattice": ("halfspace_unrounded",),
    "r_quantile": ("quantile_by_histogram", "quantile_to_whole_widths"),
    "r_conformal": ("conformal_to_nearest", "conformal_by_own_scale"),
    "r_choice": ("choice_by_argmax", "choice_noise_by_position"),
    "r_erm": ("erm_least_risk", "erm_by_posterior"),
    "r_erm_realisable": ("erm_first_consistent",),
    "r_private_median": ("private_median_usual", "private_median_by_quantile"),
    "r_private_mean": ("private_mean_by_noise",),
    "r_coin_test": ("coin_test_fixed",),
    "r_uniformity_test": ("identity_test_fixed",),
    "r_uniformity_by_distance": ("uniformity_by_distance_fixed",),
    "r_z_test": ("z_test_usual",),
    "r_t_test": ("t_test_usual",),
    "r_chi_square_test": ("chi_square_test_usual",),
    "r_clusters": ("clusters_without_constants", "clusters_with_rho_unsplit", "clusters_with_offsets_in_turn"),
    "r_bandit": ("bandit_larger_mean", "bandit_ucb"),
    "r_bandit_elimination": ("bandit_thresholds_in_turn",),
    "r_single_heavy_hitter": ("heavy_hitter_by_appearance", "heavy_hitter_most_frequent"),
    "list_of_biases": ("biases_on_a_grid",),
}

# Parameters that are refused: name | parameters | what the message says.
# Only a size asks for those after "size:", only a run for those after "run:".
BAD = """
amplified | eta=0.5 | eta=0.5 must be in (0, 1/2): how often a good string's output may differ, e.g. 0.1
amplified | eta=0.0 | eta=0.0 must be in (0, 1/2)
amplified | nu=0.5 | nu=0.5 must be in (0, 1/2): the share of strings that may not be good, e.g. 0.3
amplified | nu=0.0 | nu=0.0 must be in (0, 1/2)
amplified | beta=0.0 | beta=0.0 must be in (0, 1/2): how often the base may be inaccurate, e.g. 0.1
amplified | beta=0.5 | beta=0.5 must be in (0, 1/2)
amplified | rho=0.0 | rho=0.0 must be in (0, 3/4 - nu)
amplified | nu=0.25 rho=0.5 | rho=0.5 must be in (0, 3/4 - nu) = (0, 0.5), as nu + rho < 3/4: how often two outputs may
amplified_from_rho | alpha=0.25 | alpha=0.25 must be in (0, 1/4): how far the base's rho is from 1/4, e.g. 0.1
amplified_from_rho | alpha=0.0 | alpha=0.0 must be in (0, 1/4)
amplified_from_rho | alpha=0.125 base_rho=0.125 | base_rho=0.125 must be in (0, 1/4 - alpha) = (0, 0.125): how often
amplified_from_rho | base_rho=0.1 rho=0.1 | rho=0.1 must be in (0, base_rho) = (0, 0.1): the base has base_rho already
amplified_from_rho | rho=0.0 | rho=0.0 must be in (0, base_rho)
beats | run: level=0.5 | level=0.5 must be in (0, 1/2)
beats | run: level=0.0 | level=0.0 must be in (0, 1/2)
beats | run: test=z | test='z' must be one of sign, t, wilcoxon, permutation: how the two are compared
beats | run: a=5 | a='5' must be one of a, b: a column of numbers
bias_by_median | tau=0.5 | tau=0.5 must be in (0, 1/2): the accuracy of the median, e.g. 0.4
bias_by_median | tau=0.0 | tau=0.0 must be in (0, 1/2)
bias_by_median | rho=0.0 | rho=0.0 must be in (0, 1]
bias_by_median | sample_scale=0 | sample_scale=0 must be above 0: the share of the theorem's size, e.g. 1.0
changepoint | run: time=when | time='when' must be one of time, value: a column of numbers
cluster_members | run: k=1 | k=1 must be an integer of at least 2: how many clusters, e.g. 3
clusters | run: most=2 | most=2 must be an integer of at least 3: the largest number of clusters, e.g. 8
cutoff | run: method=best | method='best' must be one of youden, cost, quantile: what makes a cut-off the best
cutoff | run: cost=0.0 method=cost | cost=0.0 must be in (0, inf): of a positive case that is missed
cutoff | run: q=1.0 method=quantile | q=1.0 must be in (0, 1): the share of cases at or below the cut-off, e.g. 0.9
cutoff | run: score=z | score='z' must be one of score: a column of numbers
features | run: method=forest | method='forest' must be one of correlation, lasso, permutation: how features are scored
features | run: method=permutation | estimator=None must have fit and score: --param
features | run: k=2 | k=2 must be an integer from 1 to 1: how many of 2 columns are chosen
fixed_threshold | tau=0.5 | tau=0.5 must be in (0, 1/2): the biases to tell apart are 1/2 - tau and 1/2 + tau
group_report | run: n=0 | n=0 must be an integer of at least 1: how many groups are reported, e.g. 10
group_report | run: statistic=max | statistic='max' must be one of sum, mean, count: what makes a group large
group_report | run: by=shop | by='shop' must be one of customer, amount: the column that has the groups
judged_winner | run: by=judge | by='judge' must be one of item, model, score: a column of the table
list_of_biases | d=0 | d=0 must be an integer of at least 1: the number of coins, e.g. 2
list_of_biases | eps=0.5 | eps=0.5 must be in (0, 1/2): how far an estimate may be from its bias, e.g. 0.1
list_of_biases | eta=0 | eta=0 must be in (0, 1): the mass that may be outside the list, e.g. 0.1
list_of_biases | size: sample_scale=0 | sample_scale=0 must be above 0: the share of the theorem's size, e.g. 1.0
measured_halfspace | run: delta=0.0 | delta=0.0 must be in (0, 1): how often the inequality may fail by chance, e.g. 0.05
measured_halfspace | run: delta=1.0 | delta=1.0 must be in (0, 1)
median | tau=0.5 | tau=0.5 must be in (0, 1/2): the accuracy, e.g. 0.05
median | delta=0.0 | delta=0.0 must be in (0, 1): how often a median may be inaccurate
nonresidue | run: x=15 | x=15 must be a prime above 2, e.g. 101
optimal_coin | size: rho=0.0 | rho=0.0 must be in (0, 1): how often two decisions may differ, e.g. 0.1
point_by_queries | tau=0.26 | tau=0.26 must be in (0, 1/4]: answers further off can separate nothing, e.g. 0.1
point_by_queries | tau=0 | tau=0 must be in (0, 1/4]
point_by_queries | domain=1.5 | domain=1.5 must be an integer of at least 1
point_by_queries | domain=0 | domain=0 must be an integer of at least 1: how many values there are, e.g. 1024
r_bandit | arms=1 | arms=1 must be an integer of at least 2: how many there are to pull, e.g. 2
r_bandit | tau=1.0 | tau=1.0 must be in (0, 1): how far from the best the arm kept may be, e.g. 0.1
r_bandit | rho=0.0 | rho=0.0 must be in (0, 1]: how often two sequences may differ, e.g. 0.1
r_bandit | delta=1.0 | delta=1.0 must be in (0, 1): how often a worse arm may be kept, e.g. 0.05
r_bandit | sample_scale=0.0 | sample_scale=0.0 must be above 0
r_bandit | size: horizon=100 | horizon=100 must be at least 73,744, the pulls that exploring takes: give a longer horizon
r_bandit_elimination | arms=1 | arms=1 must be an integer of at least 2
r_bandit_elimination | tau=1.0 | tau=1.0 must be in (0, 1)
r_bandit_elimination | rho=0.0 | rho=0.0 must be in (0, 1]
r_bandit_elimination | delta=1.0 | delta=1.0 must be in (0, 1)
r_bandit_elimination | phases=0 | phases=0 must be an integer of at least 1: one keeps an arm, the rest drop some
r_bandit_elimination | sample_scale=0.0 | sample_scale=0.0 must be above 0
r_bandit_elimination | size: horizon=100 | horizon=100 must be at least 135,306, the pulls that exploring takes
r_beats | run: width=0.0 | width=0.0 must be above 0: of the critical values, in standard errors, e.g. 12
r_changepoint | run: width=0.0 | width=0.0 must be above 0: that of a cell of the grid, in units of the data, e.g. 0.5
r_chi_square_test | null=(1.0,0.0) | has a value that never occurs: leave it out, or take r_identity_test
r_chi_square_test | alpha=0.0 | alpha=0.0 must be in (0, 1/2): the level, e.g. 0.05
r_chi_square_test | level=none | level='none' must be largest or mean: which of the two over r alpha is
r_cluster_count | run: strength=0.0 | strength=0.0 must be
r_cluster_members | run: width=0.0 | width=0.0 must be above 0
r_clusters | k=0 | k=0 must be an integer of at least 1: the number of centres, e.g. 3
r_clusters | k=2.5 | k=2.5 must be an integer of at least 1
r_clusters | rho=1.5 | rho=1.5 must be in (0, 1]
r_coin_test | p0=1.5 | p0=1.5 must be in [0, 1]: the bias to be tested, e.g. 0.5
r_coin_test | eps=0.0 | eps=0.0 must be in (0, 0.5]: the distance to be noticed, e.g. 0.1
r_coin_test | rho=0.0 | rho=0.0 must be in (0, 1]: how often two decisions may differ, e.g. 0.1
r_coin_test | delta=0.5 | delta=0.5 must be in (0, 1/2): how often a decision may be wrong, e.g. 0.05
r_conformal | a=0.0 | a=0.0 must be above 0 and below 1: a share
r_conformal | rho=1.0 | rho=1.0 must be in (0, 1): how often two thresholds may differ, e.g. 0.1
r_conformal | delta=0.0 | delta=0.0 must be in (0, 1): how often a threshold may cover less than 1 - a - slack, e.g. 0.05
r_conformal | width=0.0 | width=0.0 must be above 0: that of a cell, e.g. 0.1
r_conformal | density=-1.0 | density=-1.0 must be above 0: the least one of scores, e.g. 0.1
r_conformal | slack=0.1 | slack=0.1 must be in (0, min(a, 1 - a)) = (0, 0.1): how far around 1 - a, e.g. 0.02
r_conformal | step=8.0 | step=8.0 must be in [0, 1.98 rho width) = [0, 7.92): what scores are multiples of; use a larger width
r_coreset | d=0 | d=0 must be in 1 .. 6: the number of coordinates, e.g. 2
r_coreset | eps=0.0 | eps=0.0 must be in [0.001, sqrt(d) / 2) = [0.001, 0.707): what a distance may be off by, e.g. 0.28
r_coreset | eps=0.71 | eps=0.71 must be in [0.001, sqrt(d) / 2)
r_coreset | rho=1.5 | rho=1.5 must be in (0, 1]: how often two outputs may differ, e.g. 0.2
r_coreset | delta=0.0 | delta=0.0 must be in (0, 1): how often an output may be inaccurate, e.g. 0.05
r_coreset | size: sample_scale=0.0 | sample_scale=0.0 must be above 0
r_cutoff | run: width=0.0 | width=0.0 must be above 0
r_erm | alpha=0.0 | alpha=0.0 must be in (0, 1]: by how much a risk may exceed the least, e.g. 0.1
r_erm | rho=1.5 | rho=1.5 must be in (0, 1]: how often two hypotheses may differ, e.g. 0.1
r_erm | delta=0.5 | delta=0.5 must be in (0, 1/2): how often a risk may be larger than that, e.g. 0.05
r_erm | hypotheses=stumps(3) | hypotheses='stumps(3)' must be thresholds(N), stumps(d,N) or conjunctions(d), of at least 1 each and with
r_erm | hypotheses=thresholds(2,3) | hypotheses='thresholds(2,3)' must be thresholds(N), stumps(d,N) or conjunctions(d)
r_erm | hypotheses=conjunctions(13) | hypotheses='conjunctions(13)' must be thresholds(N), stumps(d,N) or conjunctions(d)
r_erm | hypotheses=thresholds(0) | hypotheses='thresholds(0)' must be thresholds(N), stumps(d,N) or conjunctions(d)
r_erm | hypotheses=7 | hypotheses=7 must be thresholds(N), stumps(d,N) or conjunctions(d)
r_erm | size: sample_scale=0.0 | sample_scale=0.0 must be above 0
r_erm | size: rho=1e-9 alpha=1e-9 | rho=1e-09 takes more than 4.61e+18 rows at alpha=1e-09: allow a larger rho or alpha
r_erm_realisable | alpha=1.5 | alpha=1.5 must be in (0, 1]
r_features | run: strength=0.0 | strength=0.0 must be
r_group_report | run: strength=0.0 | strength=0.0 must be
r_halfspace_boosted | eps=0.0 | eps=0.0 must be in (0, 1): the share that the vote may get wrong, e.g. 0.3
r_halfspace_boosted | eps=1.0 | eps=1.0 must be in (0, 1)
r_halfspace_boosted | rho=2 | rho=2 must be in (0, 1]: how often two votes may differ, e.g. 0.3
r_halfspace_boosted | tau=-0.5 | tau=-0.5 must be in (0, 1]
r_halfspace_boosted | rounding=foam | rounding='foam' must be one of foams, boxes
r_halfspace_boxes | tau=0.0 | tau=0.0 must be in (0, 1]: the margin, a cosine, e.g. 0.4
r_halfspace_boxes | tau=1.5 | tau=1.5 must be in (0, 1]
r_halfspace_boxes | rho=-1 | rho=-1 must be in (0, 1]: how often two hypotheses may differ, e.g. 0.1
r_halfspace_boxes | d=0 | d=0 must be an integer of at least 1: the dimension, e.g. 3
r_halfspace_boxes | size: sample_scale=0 | sample_scale=0 must be above 0
r_halfspace_foams | tau=0.0 | tau=0.0 must be in (0, 1]
r_heavy_hitters | v=0.1 | v=0.1 must be in (eps, 1 - eps) = (0.1, 0.9): the threshold, e.g. 0.2
r_heavy_hitters | v=0.05 | v=0.05 must be in (eps, 1 - eps)
r_heavy_hitters | v=0.9 | v=0.9 must be in (eps, 1 - eps)
r_heavy_hitters | v=0.7 eps=0.4 | v=0.7 must be in (eps, 1 - eps) = (0.4, 0.6): the threshold, e.g. 0.5
r_heavy_hitters | eps=0.0 | eps=0.0 must be in (0, 1/2): the threshold's uncertainty, e.g. 0.1
r_heavy_hitters | eps=0.5 | eps=0.5 must be in (0, 1/2)
r_heavy_hitters | rho=0.0 | rho=0.0 must be in (0, 1]: how often two sets may differ, e.g. 0.1
r_heavy_hitters | rho=1.5 | rho=1.5 must be in (0, 1]
r_heavy_hitters | sample_scale=0.0 | sample_scale=0.0 must be above 0
r_identity_test | size: null=1 | must be two probabilities or more, of the rows 0, 1, ..., or a number, e.g. 8
r_identity_test | size: null=(0.5,0.6) | adds up to 1.1, and must to 1: give the rest a value too
r_identity_test | eps=0.9 | eps=0.9 must be in (0, 0.875]: the distance to be noticed, e.g. 0.25
r_identity_test | rho=2 | rho=2 must be in (0, 1]
r_mean_vector | eps=0.0 | eps=0.0 must be above 0: how far the output may be from the mean, e.g. 0.2
r_mean_vector | rho=1.5 | rho=1.5 must be in (0, 1]: how often two outputs may differ, e.g. 0.1
r_mean_vector | delta=1.0 | delta=1.0 must be in (0, 1): the failure rate, e.g. 0.05
r_mean_vector | sigma=-1.0 | sigma=-1.0 must be above 0: the spread of a coordinate, e.g. 0.5 for rows in [0, 1]
r_mean_vector | size: d=0 | d=0 must be an integer of at least 1: the dimension, e.g. 3
r_mean_vector | size: d=True | d=True must be an integer of at least 1
r_mean_vector | size: sample_scale=0 | sample_scale=0 must be above 0
r_mean_vector_clipped | sigma=0 | sigma=0 must be above 0
r_mean_vector_clipped | run: centre=inf | centre=inf must be a number: what rows are near to, e.g. 0
r_mean_vector_foams | size: d=25 | d=25 must be at most 24 for foams, which take 2^d stages: use r_mean_vector_lattice
r_halfspace_lattice | tau=1.0 | tau=1.0 must be in (0, 1): the margin, a cosine, e.g. 0.4
r_halfspace_lattice | delta=0.0 | delta=0.0 must be in (0, 1): the failure rate, e.g. 0.05
r_halfspace_lattice | rho=0.0 | rho=0.0 must be in (0, 1]: how often two hypotheses may differ, e.g. 0.1
r_halfspace_lattice | size: d=0 | d=0 must be an integer of at least 1
r_halfspace_lattice | size: sample_scale=0 | sample_scale=0 must be above 0
r_mean_vector_lattice | lattice=E9 | lattice='E9' must be one of D, A*, E8, Leech, best
r_mean_vector_lattice | size: d=1 lattice=D | lattice='D' must be another one for a single number, e.g. A*
r_mean_vector_lattice | size: d=0 | d=0 must be an integer of at least 1
r_mean_vector_heavy | sigma=0 | sigma=0 must be above 0
r_mean_vector_heavy | delta=1e-200 | delta=1e-200 must be at least 2e-99 for d=2, for medians of means: use r_mean_vector_clipped
r_median | tau=0.0 | tau=0.0 must be in (0, 1/2): the accuracy, e.g. 0.05
r_median | tau=0.5 | tau=0.5 must be in (0, 1/2)
r_median | tau=-0.1 | tau=-0.1 must be in (0, 1/2)
r_median | d=0 | d=0 must be an integer from 1 to 62: the bits of the domain, e.g. 8
r_median | d=63 | d=63 must be an integer from 1 to 62
r_median | d=True | d=True must be an integer from 1 to 62
r_median | d=8.0 | d=8.0 must be an integer from 1 to 62
r_median | rho=0.0 | rho=0.0 must be in (0, 1]: how often two medians may differ, e.g. 0.2
r_median | rho=1.5 | rho=1.5 must be in (0, 1]
r_median | delta=0.0 | delta=0.0 must be in (0, 1): how often a median may be inaccurate, e.g. 0.1
r_median | delta=1.0 | delta=1.0 must be in (0, 1)
r_median | sample_scale=-1 | sample_scale=-1 must be above 0
r_median_as_published | d=0 | d=0 must be an integer from 1 to 62
r_median_as_published | tau=0.5 | tau=0.5 must be in (0, 1/2)
r_private_mean | rho=0.0 | rho=0.0 must be in (0, 1]: how often two answers may differ, e.g. 0.1
r_private_mean | leak=0.5 | leak=0.5 must be in (0, 1/2): how often privacy may fail, e.g. 1e-6
r_private_mean | eps=0.0 | eps=0.0 must be above 0: the privacy of a row, e.g. 1
r_private_mean | tau=1.5 | tau=1.5 must be in (0, 1]: how far the answer may be from the mean, e.g. 0.1
r_private_mean | size: eps=1e-9 | eps=1e-09 takes more than 10,000,000 chunks: allow a larger eps
r_private_mean | size: sample_scale=0.0 | sample_scale=0.0 must be above 0
r_private_median | domain=1 | domain=1 must be an integer from 2 to 1000000: how many values there are, e.g. 1000
r_private_median | tau=0.5 | tau=0.5 must be in (0, 1/2): the accuracy, e.g. 0.1
r_private_median | rho=0.0 | rho=0.0 must be in (0, 1]: how often two medians may differ, e.g. 0.1
r_private_median | delta=0.5 | delta=0.5 must be in (0, 1/2): how often a median may be inaccurate, e.g. 0.05
r_private_median | size: sample_scale=0.0 | sample_scale=0.0 must be above 0
r_quantile | p=1.0 | p=1.0 must be above 0 and below 1: a share
r_quantile | rho=0.0 | rho=0.0 must be in (0, 1): how often two answers may differ, e.g. 0.1
r_quantile | delta=1.0 | delta=1.0 must be in (0, 1): how often an answer may be further away than eps, e.g. 0.05
r_quantile | step=inf | step=inf must be 0 or above
r_quantile | step=-1.0 | step=-1.0 must be 0 or above: what rows are multiples of, e.g. 0 for continuous ones
r_quantile | eps=1.0 | eps=1.0 must be above step=1: how far an answer may be away, e.g. 50
r_quantile | eps=1.0 step=2.0 | eps=1.0 must be above step=2: how far an answer may be away, e.g. 100
r_quantile | density=0.5 | density=0.5 must be in (0, 0.00204): the least one within eps of the quantile, which leaves room for a share 0.1 on either side, e.g. 0.00051
r_quantile | density=0.0 | density=0.0 must be in (0,
r_quantile | eps=4.0 | eps=4.0 must be above 4.741 at step=1 and rho=0.1: rows are too coarse
r_ranking | run: statistic=mode | statistic='mode' must be one of mean, median, wins: what of a column counts
r_significant_columns | run: lowest=0.05 | lowest=0.05 must be in (0, level): the strictest level that r may draw
r_single_heavy_hitter | rho=0.0 | rho=0.0 must be in (0, 1]: how often two values may differ, e.g. 0.1
r_single_heavy_hitter | rho=1.5 | rho=1.5 must be in (0, 1]
r_single_heavy_hitter | v=0.0 | v=0.0 must be in (0, 1): how likely some value is promised to be, e.g. 0.3
r_single_heavy_hitter | v=1.0 | v=1.0 must be in (0, 1)
r_t_test | alpha=0.5 | alpha=0.5 must be in (0, 1/2): the level, e.g. 0.05
r_t_test | beta=0 | beta=0 must be in (0, 1/2): how often an effect may be missed, e.g. 0.05
r_t_test | rho=1.5 | rho=1.5 must be in (0, 1]: how often two decisions may differ, e.g. 0.1
r_t_test | effect=-1 | effect=-1 must be above 0: what is to be noticed, in deviations, e.g. 0.5
r_t_test | level=most | level='most' must be largest or mean
r_top | run: k=3 | k=3 must be an integer from 1 to 2: how many of 3 columns are chosen
r_top_choice | tau=0.0 | tau=0.0 must be in (0, 1]: how far below the best a choice may be, e.g. 0.1
r_top_choice | rho=1.5 | rho=1.5 must be in (0, 1]: how often two choices may differ, e.g. 0.1
r_top_choice | delta=0.5 | delta=0.5 must be in (0, 1/2): how often a choice may be worse than tau, e.g. 0.05
r_top_choice | size: candidates=1 | candidates=1 must be an integer of at least 2: the scores of a row, e.g. 4
r_top_choice | top=4 | top=4 must be an integer in [1, candidates - 1] = [1, 3]: how many to choose, e.g. 1
r_top_choice | top=True | top=True must be an integer in [1, candidates - 1]
r_top_choice | size: sample_scale=0.0 | sample_scale=0.0 must be above 0
r_trend | run: width=0.0 | width=0.0 must be above 0: of the critical values
r_winner | run: strength=0.0 | strength=0.0 must be
r_uniformity_by_distance | values=1 | values=1 must be an integer of at least 2: how many there are, e.g. 1000
r_uniformity_by_distance | values=2.5 | values=2.5 must be an integer of at least 2
r_uniformity_by_distance | eps=0.0 | eps=0.0 must be in (0, 1 - 1 / values]: the distance to be noticed, e.g. 0.25
r_uniformity_by_distance | rho=2 | rho=2 must be in (0, 1]: how often two decisions may differ, e.g. 0.1
r_uniformity_by_distance | delta=0.5 | delta=0.5 must be in (0, 1/2): how often a decision may be wrong, e.g. 0.05
r_z_test | alpha=0.5 | alpha=0.5 must be in (0, 1/2): the level, e.g. 0.05
r_z_test | run: sigma=0 | sigma=0 must be above 0: the deviation of a row, e.g. 1; unknown, take the t-test
rstat | tau=0.0 | tau=0.0 must be in (0, 1]: the tolerance, e.g. 0.1
rstat | rho=1.5 | rho=1.5 must be in (0, 1]: how often two answers may differ, e.g. 0.1
rstat | delta=0.05 | delta=0.05 must be in (0, rho/2) = (0, 0.05): the failure rate, e.g. 0.025
rstat | delta=0.0 | delta=0.0 must be in (0, rho/2)
significant_columns | run: correction=sidak | correction='sidak' must be one of bonferroni, holm, bh: what the level is
significant_columns | run: against=z | against='z' must be one of a, b: the column that the others are held against
threshold_by_plain_means | d=0 | d=0 must be an integer from 1 to 62
threshold_by_queries | d=0 | d=0 must be an integer from 1 to 62: the bits of the domain, e.g. 4
threshold_by_queries | d=63 | d=63 must be an integer from 1 to 62
threshold_by_queries | eps=0.0 | eps=0.0 must be in (0, 1): the error that a threshold may have, e.g. 0.2
threshold_by_queries | eps=1.0 | eps=1.0 must be in (0, 1)
threshold_by_queries | sample_scale=0.0 | sample_scale=0.0 must be above 0
top | run: k=0 | k=0 must be an integer from 1 to 2
trend | run: test=z | test='z' must be one of t, kendall: how a rise is noticed
trend | run: level=0.5 | level=0.5 must be in (0, 1/2)
uniform_threshold | size: rho=1.0 | rho=1.0 must be in (0, 1): how often two decisions may differ, e.g. 0.1
winner | run: better=best | better='best' must be one of higher, lower: which scores are the better ones
winner | run: without=cost | without='cost' must name columns, and 'cost' is none of a, b, c
"""  # noqa: E501

NAN, INF, NONE = math.nan, math.inf, np.zeros(0)
TINY, SCALED = {"sample_scale": 1e-9}, {"sample_scale": 0.01}
EASY_POINT = {"rho": 0.9, "tau": 0.25}
STEPPED = np.array([[0.0, 1.0], [1.0, 0.0]])


def twice_less_half(rows: Any) -> Any:
    return 2 * (rows[1] == 1) - 0.5


# Rows that are refused: of many, the last breaks what the theorem assumes while their mean does not; or too few, where
# no number says how often they are repeated: name, rows, how many, parameters, what the message says.
REFUSED: list[tuple[str, Any, int | None, dict[str, Any], str]] = [
    ("rstat", [-20.0, 21.0], 96_624, {}, r"a row has (-20|21).0, outside \[0, 1\]: scale"),
    ("rstat", [0.5, NAN], 100, {}, r"a row has nan, outside \[0, 1\]: drop or fill"),
    ("rstat", [0.0, 1.0], 100, {"query": lambda x: 3 * x - 1}, r"the query of a row has (-1|2).0, outside"),
    ("rstat_answer", (STEPPED, [-1, 1]), 100, {"query": twice_less_half}, r"the query of a row has (-0|1).5, outside"),
    ("reused_sample", [0, 64], 600, TINY, "a row is 64, and must be a whole number from 0 to 63"),
    ("threshold_by_queries", ([[1.0], [16.0]], [-1, 1]), 10**5, SCALED, "a point is 16.0, and must be .* 0 to 15"),
    ("threshold_by_queries", ([[1.0], [NAN]], [-1, 1]), 10**5, SCALED, "a point is nan, and must be"),
    ("threshold_by_queries", ([[1.0], [2.0]], [0, 1]), 10**5, SCALED, "a label is 0, and must be -1"),
    ("point_by_queries", [3, 1024], 10**5, EASY_POINT, "a row is 1024, and must be a whole number from 0 to 1,023"),
    ("point_by_queries", [3.0, 3.5], 10**5, EASY_POINT, "a row is 3.5, and must be a whole number"),
    ("bias_from_few_coins", [0.0, 0.5], 100, {}, "a row has 0.5, and must be 0 or 1"),
    ("bias_by_median", [0, 2], 10**6, TINY, "a row has 2, and must be 0 or 1"),
    ("r_halfspace_boxes", ([[1.0, 0, 0], [NAN, 0, 0]], [-1, 1]), 100, {}, "a row has nan, and must be finite"),
    ("r_halfspace_foams", ([[1.0, 0, 0], [INF, 0, 0]], [-1, 1]), 100, {}, "a row has inf, and must be finite"),
    ("r_heavy_hitters", [1.0, NAN], 10**5, {"sample_scale": 1e-8}, "a row has NaN"),
    ("r_single_heavy_hitter", [1.0, NAN], 100, {}, "a row has NaN"),
    ("r_choice", [[-1.0, 2.0], [2.0, -1.0]], 100, {"candidates": 2}, r"a row of scores has (-1|2).0, outside"),
    ("r_top_choice", [[0.5, 0.5, NAN]], 100, {"candidates": 3}, "a row of scores has nan, outside"),
    ("r_erm", ([[1.0], [64.0]], [-1, 1]), 100, {}, "a point is 64.0, and must be a whole number from 0 to 63"),
    ("r_erm", ([[1.0], [2.0]], [0, 1]), 100, {}, "a label is 0, and must be -1 or"),
    ("r_erm", ([[1.0, 1.0]], [1]), 100, {}, r"a point has 2 columns, and thresholds\(64\) has 1: give another"),
    ("r_erm_realisable", ([[1.0], [1.0]], [-1, 1]), 100, {}, r"each hypothesis of thresholds\(64\) errs on a row, and"),
    ("r_erm", [1.0, 2.0], 100, {}, "the sample has no labels: a hypothesis is learnt from labelled points"),
    ("r_erm", (np.ones((0, 1)), NONE), None, {}, "an empty sample has no risks: take at least one row"),
    ("r_private_mean", [-1.0, 2.0], 40_000, SCALED, r"a row has (-1|2).0, outside \[0, 1\]: scale"),
    ("r_private_median", [1, 1000], 100, {}, "a row is 1000, and must be a whole number from 0 to 999"),
    ("r_private_median", NONE, None, {}, "an empty sample has no median: take at least one row"),
    ("r_bandit", [[0.5, -1.0], [0.5, 2.0]], 73_744, {}, r"a reward of arm 1 has (-1|2).0, outside \[0, 1\]"),
    ("r_bandit_elimination", [[0.5, -1.0], [0.5, 2.0]], 135_306, {}, r"a reward of arm 1 has (-1|2).0, outside"),
    ("r_mean_vector", [[0.0, 0.0, NAN]], 100, {}, "the mean of coordinate 2 is no number"),
    ("r_mean_vector_foams", [[1e300, 0.0]], 100, {}, r"a number to be rounded is .*e\+(299|300), and cells of width"),
    ("r_mean_vector_heavy", [[0.0, 0.0]] * 50 + [[0.0, INF]], 1020, {}, "a row has inf, and must be finite"),
    ("r_mean_vector_clipped", [[0.0, 0.0], [0.0, -INF]], 100, {}, "a row has -inf, and must be finite"),
    ("list_of_biases", [[0.0, 0.5]], 100, {}, "a row has 0.5, and must be 0 or 1"),
    ("r_coreset", [[0.5, 0.5], [0.5, 1.5]], 100, {}, r"a point has 1.5, outside \[0, 1\]"),
    ("r_clusters", [[0.5, 0.5], [NAN, 0.5]], 100, {}, r"a point has nan, outside \[0, 1\]"),
    ("r_quantile", [1.0, NAN], 100, {}, "a row has NaN"),
    ("r_quantile", [1.0, INF], 100, {}, "a number to be rounded is inf, and no cell of a grid holds that"),
    ("r_quantile", [[1.0, 2.0]], 100, {}, "an order statistic is of numbers, one a row"),
    ("r_conformal", [1.0, NAN], 100, {}, "a row has NaN"),
    ("r_conformal", [1e19, 2e19], 100, {}, r"a number to be rounded is 2e\+19, and cells of width 40 are too fine"),
    ("r_halfspace_boxes", ([[0.0, 0, 0], [0.0, 0, 0]], [1, 1]), 100, {}, "a row is all zeros, which has no direction"),
    ("r_halfspace_boxes", ([[1.0, 1, 1], [1.0, 1, 1]], [0, 1]), 100, {}, "a label is 0, and must be -1 or"),
    ("r_halfspace_boxes", [[1.0, 1, 1]], 100, {}, "the sample has no labels: a halfspace is learnt from"),
    ("r_halfspace_boxes", ([[1.0, 1]], [1]), 100, {}, "d=3 must be the rows' dimension, which is 2"),
    ("r_choice", [[1.0, 1.0, 1.0]], 100, {}, "a row has 3 scores, and candidates=4: give each candidate a column"),
    ("r_mean_vector", [[1.0, 1.0]], 100, {}, "d=3 must be the rows' dimension, which is 2"),
    ("r_identity_test", [1, 6], 100, {}, "a row is 6, and must be in 0 .. 5"),
    ("r_coreset", [0.5], 100, {}, "d=2 must be the number of coordinates, and a row has 1: give d=1"),
    ("r_coreset", [[0.5] * 3], 100, {}, "d=2 must be the number of coordinates, and a row has 3: give d=3"),
    ("list_of_biases", [[0, 0]], 100, {"d": 3}, "the rows must be 3 bits each"),
    ("r_bandit", [[1, 1, 1]], 73_744, {}, "the rows are [0-9]+x3, and arms=2 asks for 2 rewards a row"),
    ("r_z_test", [1.0, NAN], None, {}, "must be 1 finite numbers or more"),
    ("r_t_test", [*range(20)], None, {}, "20 rows are too few for rho=0.1: T spreads too far; take at least 213"),
    ("r_mean_vector_heavy", [[1.0, 1.0]] * 3, None, {}, "3 rows are fewer than the 5 groups of these parameters: take"),
    ("r_identity_test", [1], None, {}, "1 rows say nothing of a distance: take at least two"),
    ("r_chi_square_test", NONE, None, {}, r"an empty sample has no X\^2: take at least one row"),
    ("r_quantile", NONE, None, {}, "an empty sample has no quantile: take at least one row"),
    ("r_mean_vector", np.ones((0, 3)), None, {}, "empty"),
    ("r_coreset", np.ones((0, 2)), None, {}, "an empty sample has no coreset: give at least one row"),
    ("rstat", NONE, None, {}, "empty"),
    ("median", NONE, None, {}, "an empty sample has no median: take at least one example"),
    ("mean", NONE, None, {}, "an empty sample has no mean"),
    ("optimal_coin", NONE, None, {}, "an empty sample decides nothing: take at least one flip"),
    ("winner", [[1.0, NAN]], None, {}, "row 0 has no finite number for '1': drop or fill such rows first"),
    ("winner", [1.0, 2.0], None, {}, "a decision needs a table of rows and columns, and the sample has 1 dimension"),
    ("top", np.ones((0, 2)), None, {}, "the table has no rows: take at least one"),
    ("r_winner", [[1.0], [2.0]], None, {}, "two columns of numbers or more, and the table has 0: add columns"),
    ("beats", [[1.0, 2.0]], None, {"test": "t"}, "a t-test needs two rows or more"),
    ("optimal_coin", [0, 1, 2], None, {}, "a row is 2, and a flip is 0 or 1: give a source such as bernoulli"),
]

# Those whose output depends on the rows as a set alone: parameters, and how many rows are given in two orders.
BLIND: dict[str, tuple[dict[str, Any], int]] = {
    "rstat": ({"tau": 0.2, "rho": 0.5, "delta": 0.1}, 60),
    "r_halfspace_boxes": ({}, 20),
    "r_halfspace_foams": ({}, 20),
    "coin_from_rstat": ({}, 60),
    "uniform_threshold": ({}, 60),
    "optimal_coin": ({}, 60),
    "median": ({}, 31),
    "r_choice": ({"tau": 0.5}, 30),
    "r_top_choice": ({"tau": 0.5}, 30),
    "r_erm": ({"alpha": 0.5}, 30),
    "r_private_median": ({"tau": 0.4}, 30),
    "r_quantile": ({}, 60),
    "r_conformal": ({"width": 6.0}, 40),
    "r_single_heavy_hitter": ({}, 40),
    "r_mean_vector": ({}, 30),
    "r_mean_vector_one_offset": ({}, 30),
    "r_mean_vector_foams": ({}, 30),
    "r_mean_vector_clipped": ({}, 30),
    "r_coin_test": ({}, 60),
    "r_identity_test": ({}, 60),
    "r_uniformity_test": ({}, 60),
    "r_chi_square_test": ({"rho": 0.5}, 300),
    "r_coreset": ({}, 60),
    "r_clusters": ({}, 60),
    "list_of_biases": ({}, 40),
}


@dataclass(frozen=True, slots=True)
class Judged:
    """What the accuracy oracle of a subject must say of outputs, just inside and just outside of what is right."""

    name: str
    source: object
    params: dict[str, Any]
    right: Sequence[Any]
    wrong: Sequence[Any]


BOTH = (False, True)
LABELLED = "points([[0], [1], [2], [2], [3]], labels=[-1, -1, 1, -1, 1], weights=[0.2, 0.2, 0.25, 0.15, 0.2])"
ORACLES = [
    *(
        Judged("rstat", "pmf({0: 0.75, 1: 0.25})", {"tau": 0.125, "query": query}, (mean - 0.125, mean + 0.125), wrong)
        for query, mean, wrong in (
            (None, 0.25, (0.1249999, 0.3750001)),
            (lambda x: x == 0, 0.75, (0.6249999, 0.8750001)),
        )
    ),
    Judged("r_median", "pmf({2: 0.45, 0: 0.45, 1: 0.1})", {"tau": 0.05}, (0, 1, 2), ()),
    Judged("r_median", "pmf({2: 0.45, 0: 0.4499, 1: 0.1001})", {"tau": 0.05}, (1, 2), (0,)),
    Judged("r_median", "pmf({2: 0.4499, 0: 0.45, 1: 0.1001})", {"tau": 0.05}, (0, 1), (2,)),
    Judged("r_private_median", "pmf({2: 0.45, 0: 0.4499, 1: 0.1001})", {"tau": 0.05}, (1, 2), (0,)),
    Judged("amplified", "randint(0, 256)", {"tau": 0.15}, (89, 166), (88, 167, BOTTOM)),  # 90 / 256 is above 0.35
    Judged("point_by_queries", "pmf({11: 1.0})", {}, (11,), (12,)),
    Judged("point_by_queries", "pmf({11: 0.5, 12: 0.5})", {}, (), (11, 12)),
    Judged("point_by_queries", np.array([7, 7]), {}, (7,), ()),  # listed twice
    Judged("bias_by_median", "bernoulli(0.5)", {}, (1, 2), (0, 3)),
    Judged("bias_by_median", f"bernoulli({1 / 3})", {}, (0, 1, 2), (3,)),
    *(
        Judged(
            "threshold_by_queries",
            "points([[0], [1], [2], [3]], labels=[-1, 1, 1, 1], weights=[0.3, 0.25, 0.125, 0.325])",
            {"eps": eps},
            [t for t, error in errors if error <= eps],
            [t for t, error in errors if error > eps],
        )
        for errors in [((0, 0.3), (1, 0.0), (2, 0.25), (3, 0.375))]
        for eps in (0.25, 0.25 - 1e-9, 0.3, 0.3 - 1e-9, 0.375, 0.375 - 1e-9)
    ),
    Judged("good_and_bad", "uniform", {}, (0, 1), (2,)),
    Judged("r_choice", "points([[0.5, 0.45, 0.3, 0.1]])", {"tau": 0.1}, (0, 1), (2,)),
    Judged("r_top_choice", "points([[0.5, 0.45, 0.3, 0.1]])", {"tau": 0.1}, ((0, 1), (0, 1, 2)), ((1, 2), (3, 0, 1))),
    *(
        Judged("r_erm", LABELLED, {"hypotheses": "thresholds(4)", "alpha": alpha}, right, wrong)
        for alpha, right, wrong in (
            (0.1, ("x >= 2", "x >= 3"), ("x >= 1", "x >= 4", "x >= 0")),
            (0.0999, ("x >= 2",), ("x >= 3",)),
            (0.2, ("x >= 1", "x >= 2", "x >= 3"), ("x >= 4", "x >= 0")),
        )
    ),
    Judged("r_conformal", "pmf({1: 0.5, 2: 0.399, 2.5: 0.001, 3: 0.1})", {"slack": 0.0}, (2.5, math.inf), (2.49,)),
    Judged("r_conformal", "pmf({1: 0.5, 2: 0.399, 2.5: 0.001, 3: 0.1})", {"slack": 0.4}, (1.99,), ()),
    Judged("r_single_heavy_hitter", "pmf({1: 0.3, 2: 0.15, 3: 0.14, 4: 0.41})", {"v": 0.3}, (1, 2, 4), (3, 5, None)),
    *(
        Judged("r_quantile", np.array([9, 1, 1, 2, 3, 3, 3, 3, 3, 9]), {"p": p, "eps": 0.5}, right, wrong)
        for p, x in ((0.8, 3), ("8/10", 3), (0.81, 9), (0.2, 1), (0.2001, 2))
        for right, wrong in [((x + 0.5, x - 0.5), (x + 0.51, x - 0.51))]
    ),
    Judged("r_mean_vector", "points([[0, 0], [1, 0]])", {"d": 2, "eps": 0.5}, (np.array([0.5, 0.5]),), ([0.5, 0.51],)),
    Judged("list_of_biases", "points([[0, 0], [1, 0]])", {"eps": 0.1}, ((0.6, 0.1),), ((0.61, 0.0), (0.5, 0.11))),
    # a decision is right beyond what must be told apart, and either is between
    *(Judged("optimal_coin", f"bernoulli({p})", {"tau": 0.1}, (False,), (True,)) for p in (0.3, 0.4)),
    *(Judged("optimal_coin", f"bernoulli({p})", {"tau": 0.1}, (False, True), ()) for p in (0.41, 0.5)),
    Judged("optimal_coin", "bernoulli(0.6)", {"tau": 0.1}, (True,), (False,)),
    Judged("r_coin_test", "bernoulli(0.5)", {"eps": 0.1}, (False,), (True,)),
    Judged("r_coin_test", "bernoulli(0.55)", {"eps": 0.1}, (False, True), ()),
    *(Judged("r_coin_test", f"bernoulli({p})", {"eps": 0.1}, (True,), (False,)) for p in (0.4, 0.6)),
    *(
        Judged(name, f"pmf({{0: {p}, 1: {1 - p}}})", params, right, [one for one in BOTH if one not in right])
        for name, params, far in (
            ("r_identity_test", {"null": (0.5, 0.5), "eps": 0.1}, (0.6, 0.3)),
            ("r_chi_square_test", {"null": 2, "effect": 0.3}, (0.65,)),
        )
        for p, right in ((0.5, (False,)), (0.55, (False, True)), *((p, (True,)) for p in far))
    ),
    *(
        Judged("r_uniformity_by_distance", source, {"values": 10}, right, [one for one in BOTH if one not in right])
        for source, right in (
            ("randint(0, 10)", (False,)),
            ("mixture(randint(0, 10), randint(0, 5), 0.49)", BOTH),
            ("mixture(randint(0, 10), randint(0, 5), 0.5)", (True,)),
        )
    ),
    *(
        Judged(
            "r_t_test", f"norm({mean}, 1)", {"effect": 0.5}, right, [one for one in (False, True) if one not in right]
        )
        for mean, right in ((0.0, (False,)), (0.3, (False, True)), (0.5, (True,)), (-0.7, (True,)))
    ),
]


# Exact rates.


@dataclass(frozen=True, slots=True)
class Exact:
    """A setting of which rho is known exactly, and how often runs are wrong where `wrong` says it."""

    name: str
    rho: Callable[[], float]
    source: object
    pairs: int
    integrated: bool  # whether the audit takes the mean of the declared mismatch, and does not count
    wrong: Callable[[], float] | None
    options: dict[str, Any]


def counted(
    name: str, truth: Any, source: object = None, pairs: int = 400, *, wrong: Any = None, **options: Any
) -> Exact:
    return Exact(name, truth, source, pairs, False, wrong, options)


def integrated(
    name: str, truth: Any, source: object = None, pairs: int = 50, *, wrong: Any = None, **options: Any
) -> Exact:
    return Exact(name, truth, source, pairs, True, wrong, options)


def rstat_rho(n: int, p: float, alpha: float) -> float:
    """E[min(1, |V1 - V2| / alpha)]: the law of the difference of two binomials, by convolution."""
    pmf = binom.pmf(np.arange(n + 1), n, p)
    distance = np.abs(np.arange(-n, n + 1)) / n
    return float(np.clip(fftconvolve(pmf, pmf[::-1]), 0, None) @ np.minimum(1, distance / alpha))


def bisection(
    weights: Sequence[float], threshold: int, n: int, tau: float, rho: float
) -> tuple[float, dict[int, float]]:
    """Return rho of a bisection at n rows a query, and the law of its output: by programming over its tree."""
    alpha = region_width(tau, rho, rho / 4)

    def below(low: int, high: int) -> tuple[float, dict[int, float]]:
        if low == high:
            return 1.0, {low: 1.0}
        middle = (low + high) // 2
        one: Decision = decision(n, sum(weights[threshold : middle + 1]), alpha, tau)
        (left, law), (right, other) = below(low, middle), below(middle + 1, high)
        both = {t: one.yes * p for t, p in law.items()} | {t: (1 - one.yes) * p for t, p in other.items()}
        return one.both_yes * left + one.both_no * right, both

    agree, law = below(0, len(weights) - 1)
    return 1 - agree, law


def labelled_points(weights: Sequence[float], threshold: int) -> str:
    points, labels = [[x] for x in range(len(weights))], [1 if x >= threshold else -1 for x in range(len(weights))]
    return f"points({points}, labels={labels}, weights={list(weights)})"


UNIFORM = [1 / 16] * 16
SPREAD = [0.3, 0.02, 0.1, 0.08, 0.1, 0.2, 0.1, 0.1]


def bisected(weights: Sequence[float], threshold: int, scale: float, kind: str) -> Exact:
    d = len(weights).bit_length() - 1
    rho = lambda: bisection(weights, threshold, threshold_size(d, 0.2, 0.2, scale) // d, 0.1, 0.2 / d)[0]  # noqa: E731
    source, params = labelled_points(weights, threshold), {"d": d, "sample_scale": scale}
    return counted("threshold_by_queries", rho, source, 300, sample=kind, params=params)


def law_of_thirds(m: int, p: float) -> Any:
    heads = np.arange(m + 1)
    return np.bincount((6 * heads + m) // (2 * m), weights=binom.pmf(heads, m, p), minlength=4)


def thirds_by_median(p: float, tau: float, rho: float, scale: float) -> tuple[float, list[float]]:
    """Return rho and the law of the output: rMedian of two bits asks for x = 0, 1, 2 in turn."""
    below = np.minimum(np.cumsum(law_of_thirds(coins_a_run(tau), p)), 1.0)
    n = rstat_size(tau / 2, rho / 3, rho / 12, scale)
    alpha, cut = region_width(tau / 2, rho / 3, rho / 12), 0.5 - tau / 2
    agree, reached, parts, law = 0.0, 1.0, 1.0, []
    for x in range(3):
        one = decision(n, float(below[x]), alpha, cut)
        agree += reached * one.both_yes
        law.append(parts * one.yes)
        reached, parts = reached * one.both_no, parts * (1 - one.yes)
    return 1 - agree - reached, [*law, parts]


Laws = Sequence[Mapping[int, float]]  # of a base's outputs, for each of its equally likely strings


def near_the_middle(output: int, values: int, tau: float) -> bool:
    return output + 1 >= (0.5 - tau) * values - 1e-9 and values - output >= (0.5 - tau) * values - 1e-9


def nu_of_laws(laws: Laws, eta: float) -> float:
    return sum(max(law.values()) < 1 - eta for law in laws) / len(laws)


def rho_of_laws(laws: Laws) -> float:
    return sum(1 - sum(p * p for p in law.values()) for law in laws) / len(laws)


def wrong_of_laws(laws: Laws, is_right: Callable[[int], bool]) -> float:
    return sum(p for law in laws for output, p in law.items() if not is_right(output)) / len(laws)


def amplified_law(
    laws: Laws,
    is_right: Callable[[int], bool],
    *,
    eta: float,
    nu: float,
    beta: float,
    rho: float,
    sample_scale: float,
    by_majority: bool = False,
) -> tuple[float, float]:
    """Return rho and the failure rate of A': v' from ]c - 1, c] / Q2 finds whoever was counted c times or more.

    An output is found in a round if it is among Q1 candidates and counted so often; at most one is. Two runs share the
    strings and the v': either both stop, or both go on, or one stops at z and the other may find z later.
    By majority all are candidates.
    """
    vote, k = vote_parameters(eta, nu, beta, rho), strings(beta)
    q1: float
    q1, q2 = step_sizes(**vote, sample_scale=sample_scale)
    if by_majority:
        q1, q2 = math.inf, majority_runs(eta, nu, beta, rho, sample_scale)
    low, high = vote["v"] - vote["eps"], vote["v"] + vote["eps"]
    c = np.arange(math.ceil(low * q2), q2 + 1)
    shares = np.clip(c / q2, low, high) - np.clip((c - 1) / q2, low, high)
    weights = shares / (high - low) / len(laws)
    once: dict[int, float] = {}
    alone: dict[int, float] = {}  # one finds z, the other nothing
    both = neither = empty = 0.0
    for law in laws:
        found = {z: (1 - (1 - p) ** q1) * binom.sf(c - 1, q2, p) for z, p in law.items()}
        nothing = 1 - sum(found.values())
        empty, neither = empty + float(weights @ nothing), neither + float(weights @ nothing**2)
        both += float(weights @ sum(chance**2 for chance in found.values()))
        for z, chance in found.items():
            once[z] = once.get(z, 0.0) + float(weights @ chance)
            alone[z] = alone.get(z, 0.0) + 2 * float(weights @ (chance * nothing))
    later = [sum(empty**j for j in range(i)) for i in range(k)]  # times once[z]: found in one of i rounds
    same = sum(neither**i * (both + sum(alone[z] * once[z] for z in once) * later[k - 1 - i]) for i in range(k))
    wrong = sum(chance for z, chance in once.items() if not is_right(z))
    return 1 - same - neither**k, wrong * sum(empty**i for i in range(k)) + empty**k


# 14 runs to count, 4 strings: an amplifier that is often in two minds, often wrong and sometimes bottom
FEW: dict[str, float] = {"eta": 0.3, "nu": 0.4, "beta": 0.4, "rho": 0.3, "sample_scale": 2e-8}
FEW_BY_MAJORITY = {**FEW, "sample_scale": 0.002}


def few_runs(by_majority: bool) -> tuple[float, float]:
    settings: Any = FEW_BY_MAJORITY if by_majority else FEW
    return amplified_law(
        rounded_laws(16, 5, 8), lambda x: near_the_middle(x, 16, 0.2), **settings, by_majority=by_majority
    )


def amplified_few(name: str, kind: str) -> Exact:
    by_majority = name == "amplified_by_majority"
    params = {"base_size": 5, "width": 8, "tau": 0.2, **(FEW_BY_MAJORITY if by_majority else FEW)}
    rho, wrong = (lambda i=i: few_runs(by_majority)[i] for i in (0, 1))
    return counted(name, rho, "randint(0, 16)", 200, wrong=wrong, params=params, sample=kind)


def interview_share(queries: int) -> float:
    """How often one of so many answers of rSTAT differs, at the scale below: each has fair coins of its own."""
    return 1 - (1 - rstat_rho(rstat_size(0.1, 0.02, 0.005, 5e-4), 0.5, region_width(0.1, 0.02, 0.005))) ** queries


def single_heavy(masses: Mapping[Any, float], n: int, v: float) -> tuple[float, float]:
    """Return rho and the share of inaccurate runs of r_single_heavy_hitter, over every pair of samples."""
    counts = np.array([c for c in itertools.product(range(n + 1), repeat=len(masses)) if sum(c) == n])
    weights = multinomial.pmf(counts, n, list(masses.values()))
    cores = [dict(zip(masses, row, strict=True)) for row in (counts / n).tolist()]
    apart = np.zeros((len(cores), len(cores)))
    for (i, one), (j, other) in itertools.combinations(enumerate(cores), 2):
        apart[i, j] = apart[j, i] = firsts_apart(one, other, v=v)
    low, high = ends(v)
    theta = low + (high - low) * (np.arange(2000) + 0.5) / 2000
    light = np.array(list(masses.values())) < v / 2
    heavy = counts[:, :, None] / n >= theta
    wrong = np.where(heavy.any(axis=1), (heavy & light[:, None]).sum(axis=1) / np.maximum(heavy.sum(axis=1), 1), 1.0)
    return float(weights @ apart @ weights), float(weights @ wrong.mean(axis=1))


def last_together(x: Any, y: Any, i: int) -> Any:
    """How likely i arrives last in both races, at rates x and y: E prod_j (1 - exp(-c_j E)) over the others."""
    c = np.delete(np.minimum(x / x[..., i : i + 1], y / y[..., i : i + 1]), i, axis=-1)
    parts = (list(s) for k in range(c.shape[-1] + 1) for s in itertools.combinations(range(c.shape[-1]), k))
    return sum((-1) ** len(s) / (1 + c[..., s].sum(axis=-1)) for s in parts)


def top_two_of_three_bits(n: int) -> float:
    """The set differs as the last to arrive does; over every pair of samples."""
    beta = strength(0.9, 0.5, 0.1, 3, 2)
    outcomes = np.array([*itertools.product(range(n + 1), repeat=3)])
    mass = binom.pmf(outcomes, n, 0.5).prod(axis=1)
    x = np.exp(beta * outcomes / n)
    return 1 - float(mass @ sum(last_together(x[:, None], x[None], i) for i in range(3)) @ mass)


def a_worse_choice(n: int, p: float, asked: Mapping[str, float]) -> float:
    """How often the worse of x and 1 - x is chosen."""
    heads = np.arange(n + 1)
    odds = np.exp(strength(**asked, candidates=2) * (1 - 2 * heads / n))
    return float(binom.pmf(heads, n, p) @ (odds / (1 + odds)))


def opposites(size: int) -> Exact:
    """Two scores whose means differ by a little more than tau: at the theorem's 58 rows within delta, at 2 beyond."""
    asked, p = {"tau": 0.3, "rho": 0.3, "delta": 0.2}, 0.5 + 0.1501
    source, params = f"points([[1, 0], [0, 1]], weights=[{p}, {1 - p:.4f}])", {**asked, "candidates": 2}
    rho = lambda: rho_of_opposites(size, strength(**asked, candidates=2), p)  # noqa: E731
    wrong = lambda: a_worse_choice(size, p, asked)  # noqa: E731
    return counted("r_choice", rho, source, 60, wrong=wrong, size=size, params=params)


def over_all_samples(spec: str, n: int, hypotheses: str, beta: float, alpha: float) -> tuple[float, float]:
    """Return rho of r_erm over every pair of samples, and how often its risk is more than alpha above the least."""
    law, found = load_source(spec).law(), class_of(hypotheses)
    counts = np.array([c for c in itertools.product(range(n + 1), repeat=len(law.weights)) if sum(c) == n])
    mass = multinomial.pmf(counts, n, law.weights)
    weighed = -beta * np.array([found.risks(law.values, row) for row in counts])
    true = found.risks(law.values, law.weights)
    chances = np.exp(weighed) / np.exp(weighed).sum(axis=1, keepdims=True)
    apart = float(mass @ law_mismatch(weighed[:, None], weighed[None]) @ mass)
    return apart, float(mass @ chances[:, true > true.min() + alpha + 1e-12].sum(axis=1))


def over_few_rows(name: str, spec: str, n: int, hypotheses: str) -> Exact:
    asked = {"hypotheses": hypotheses, "alpha": 0.3, "rho": 0.5, "delta": 0.2}
    both = cache(lambda: over_all_samples(spec, n, hypotheses, erm.strength(**asked, realisable="real" in name), 0.3))
    return counted(name, lambda: both()[0], spec, 200, wrong=lambda: both()[1], size=n, params=asked)


FOUR = {0: 0.1, 1: 0.3, 2: 0.2, 3: 0.4}
FEW_ROWS: Any = {"domain": 4, "tau": 0.1, "rho": 0.9, "delta": 0.4}


@cache
def private_medians(n: int) -> tuple[float, float]:
    """Return rho of r_private_median over every pair of samples of four values, and how often 0 is returned."""
    counts = np.array([c for c in itertools.product(range(n + 1), repeat=4) if sum(c) == n])
    mass = multinomial.pmf(counts, n, [*FOUR.values()])
    up_to = np.cumsum(counts, axis=1)
    logs = -private_median.strength(**FEW_ROWS) * np.maximum(up_to - counts, n - up_to) / n
    chances = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    return float(mass @ law_mismatch(logs[:, None], logs[None]) @ mass), float(mass @ chances[:, [0]].sum(axis=1))


def most_counted_law(q: Any, k: int, eps: float, leak: float) -> tuple[float, float]:
    """Return how likely either of two outputs is returned, which a chunk gives with these probabilities.

    Over all pairs of counts; others are given by so few chunks that they are never returned, but for 1e-6.
    """
    a, least = math.exp(-eps / 2), private_threshold(eps, leak)
    noisy, counts = np.arange(-60, k + 61), np.arange(k + 1)
    mass = (1 - a) / (1 + a) * a ** np.abs(noisy - counts[:, None])
    mass[0] = 0.0  # what does not occur gets no noise
    less = np.cumsum(mass, axis=1) - mass
    less[0] = 1.0
    wins = (mass * (noisy >= least)) @ (less + mass / 2).T  # of a count against another; ties are tossed
    one, other = np.meshgrid(counts, counts, indexing="ij")
    likely = binom.pmf(one, k, q[0]) * binom.pmf(other, k - one, min(1.0, q[1] / max(1 - q[0], 1e-300)))
    return float((likely * wins).sum()), float((likely * wins.T).sum())


def private_answers(scale: float, eps: float, leak: float, rho: float) -> float:
    """Return rho of r_private_mean on fair bits: over all offsets between which no mean changes its region."""
    n, k = private_mean.rows_a_chunk(0.1, rho, scale), private_mean.chunks(rho, eps, leak)
    wide = private_mean.a_chunk(0.1, rho).width
    means, mass = np.arange(n + 1) / n, binom.pmf(np.arange(n + 1), n, 0.5)
    ends = np.unique(np.append(means % wide, [0.0, wide]))
    differ = 0.0
    for low, high in itertools.pairwise(ends):
        regions = np.floor((means - (low + high) / 2) / wide).astype(int)
        q = np.sort(np.bincount(regions - regions.min(), weights=mass))[:-3:-1]
        one, other = most_counted_law(q, k, eps, leak)
        differ += (high - low) / wide * (1 - one**2 - other**2 - (1 - one - other) ** 2)
    return differ


def on_a_grid(spec: str, n: int, k: int, wide: float) -> float:
    law = load_source(spec).law()
    return rho_of_law(law.values, law.weights, n, k, wide)


def median_of_rare_rows() -> float:
    wide = mean_heavy.by_medians(**HEAVY).width
    return mean_laws.median_parted(5, 1057, mean_heavy.HARD, wide, mean_heavy.TALL)


def two_arms(gap: float) -> str:
    return f"pmf({{(1, 1): {0.5 - gap / 2}, (1, 0): {gap}, (0, 0): {0.5 - gap / 2}}})" if gap else bandit.TIE


ARMS: Any = {"arms": 2, "tau": 0.03, "rho": 0.1, "delta": 0.05}
COMMIT = commits(bandit.pulls_of_each(**ARMS), bandit.threshold_range(**ARMS))
ELIMINATE = schedule(**ARMS, phases=3)


def eliminated(gap: float) -> float:
    return exact(ELIMINATE, 0.5 + gap / 2, 0.5 - gap / 2, 10**6).rho


DECIDERS: list[tuple[str, dict[str, float], float, int, Callable[[int], Mixed]]] = [
    ("fixed_threshold", {}, 0.47, 101, lambda m: (np.array([(m + 1) // 2]), np.ones(1))),
    ("coin_from_rstat", {"rho": 0.3}, 0.5, 200, lambda m: rstat_mixture(m, 0.1, 0.3, 0.025)),
    ("uniform_threshold", {}, 0.45, 200, lambda m: uniform_mixture(m, 0.1)),
    ("optimal_coin", {}, 0.5, 400, lambda m: frontier(m, 0.1).mixture),
    ("optimal_coin", {"tau": 0.2}, 0.42, 80, lambda m: frontier(m, 0.2).mixture),
]


def decided(name: str, params: dict[str, float], p: float, m: int, mixture: Callable[[int], Mixed]) -> Exact:
    kind = "rows" if m == 101 else "counts"
    rho = lambda: float(coin_rho(mixture(m), m, p))  # noqa: E731
    return counted(name, rho, f"bernoulli({p})", size=m, params=params, sample=kind)


# Rates of the twins: what their faults come to.


def collision(masses: Iterable[float]) -> float:
    return math.fsum(mass**2 for mass in masses)


def first_appearances(masses: dict[Hashable, float]) -> dict[tuple[Hashable, ...], float]:
    """Return the law of the order in which i.i.d. rows show the values for the first time."""
    orders = {}
    for order in itertools.permutations(masses):
        chance, left = 1.0, 1.0
        for value in order:
            chance *= masses[value] / left
            left -= masses[value]
        orders[order] = chance
    return orders


FLIPS = 4001  # at which these faults are as large as at the theorem's size; of an odd number no mean is 1/2


def unshared_offset() -> float:
    """Two samples agree where their sums do, and with them the offsets."""
    return 1 - collision(binom.pmf(np.arange(FLIPS + 1), FLIPS, 0.5))


def fixed_threshold() -> float:
    """Two values of probability v, whose counts have correlation -3/7: the orthants of a normal law."""
    same_side = 0.25 + math.asin(-3 / 7) / (2 * math.pi)
    return 1 - 2 * same_side**2 - 2 * (0.5 - same_side) ** 2


def sum_in_sample_order() -> float:
    sums: dict[float, float] = defaultdict(float)
    for order, chance in first_appearances({0.1: 0.25, 0.2: 0.25, 0.3: 0.25, 1e16: 0.125, -1e16: 0.125}).items():
        total = 0.0
        for value in order:
            total += value  # type: ignore[operator]
        sums[total] += chance
    return 1 - collision(sums.values())


def generator_in_turn() -> float:
    """The offset is shared where the first step drew as often in both runs; then rSTAT's own rho is left, over the
    other rows."""
    rest = FLIPS - 100
    law, wide = binom.pmf(np.arange(rest + 1), rest, 0.5), FLIPS * region_width(paper.TAU, paper.RHO, paper.DELTA)
    apart = np.clip(np.convolve(law, law[::-1]), 0, None) @ np.minimum(1, np.abs(np.arange(-rest, rest + 1)) / wide)
    return 1 - collision(binom.pmf(np.arange(101), 100, 0.5)) * (1 - float(apart))


BOXES = by_boxes(*mean_twins.PLAN).width


def boxes_at_rest() -> float:
    """Ends at 1/2 + w times an integer: how likely two samples are in one box, coordinate by coordinate."""
    agree = 1.0
    for p in (0.5, 0.3, 0.1):
        k, law = mean_laws.binomial_law(mean_twins.SIZE, p)
        cells = np.floor((k / mean_twins.SIZE - 0.5) / BOXES)
        agree *= math.fsum(law[cells == cell].sum() ** 2 for cell in set(cells.tolist()))
    return 1 - agree


def offset_of_data() -> float:
    """Samples of one sum share their offsets, and then agree nearly always; all others agree with probability 0."""
    law = np.ones(1)
    for p in (0.5, 0.3, 0.1):
        law = fftconvolve(law, mean_laws.binomial_law(mean_twins.SIZE, p)[1])
    return 1 - float((law**2).sum())


def width_of_data() -> float:
    """The first deviation is above 1/4 or not, and boxes of different widths have no middle in common."""
    n = mean_twins.SIZE
    k, law = mean_laws.binomial_law(n, mean_twins.AT_A_QUARTER)
    above = np.sqrt(k / n - (k / n) ** 2) > 0.25
    agree = 0.0
    for side, wide in ((above, BOXES / 2), (~above, BOXES / 4)):
        agree += law[side].sum() ** 2 - mean_laws.parted(1 / n, law[side], wide)
    return 1 - agree * (1 - mean_laws.coin_parted(n, 0.5, BOXES / 2)) ** 2


def rejected_by_identity() -> float:
    values, masses = identity_test.exact_law((0.2286, *(0.1102,) * 7), 8, 15_863, 1e-4, 0.3)
    return float(masses[values >= sum(identity_test.interval(8, 0.25, 0.1, 0.05)) / 2].sum())


def rejected_by_distance() -> float:
    law = load_source(uniformity.two_levels(1000, 0.333)).law().distinct()
    values, masses = uniformity.exact_law(np.asarray(law.weights).tolist(), 8000)
    return float(masses[values >= sum(uniformity.interval(1000, 0.25, 0.1, 0.05)) / 2].sum())


def rejected_by_chi_square() -> float:
    values, masses = chi_square_test.exact_law((0.23, *(0.154,) * 5), 6, 250, reach=250.0)
    return float(masses[values >= chi_square_test.usual(5, 0.05)].sum())


def in_two_minds(name: str, rejected: Callable[[], float]) -> Exact:
    """A test at a fixed critical value, which its statistic has for its mean."""
    return counted(name, lambda: 2 * rejected() * (1 - rejected()), pairs=100)


def rejected_by_t() -> float:
    return float(1 - usual_tests.t_cdf(99, 1.98, 1.984217) + usual_tests.t_cdf(99, 1.98, -1.984217))


THREE = {1: 0.5, 2: 0.3, 3: 0.2}
FAIR_SIGNS = "points([[-1, -1], [-1, 1], [1, -1], [1, 1]])"
THREE_BITS = f"points({[*map(list, itertools.product((0, 1), repeat=3))]})"
LOADED = (0.4, *(0.12,) * 5)
HEAVY: Any = {"eps": 0.5, "rho": 0.2, "delta": 0.001, "sigma": 1.0, "d": 2}
USUAL = {"tau": 0.1, "rho": 0.1, "delta": 0.05}
NORMAL = {"p": 0.5, "eps": 1.0, "density": 0.3, "step": 0.0, "rho": 0.3}
TOP_TWO = {"candidates": 3, "top": 2, "tau": 0.9, "rho": 0.5, "delta": 0.1}
MEAN_BOXES = by_boxes(0.2, 0.1, 0.05, 0.5, 3).width
HALFSPACES = halfspace_lattices.plan(0.1, 0.4, 0.05, 2, "best").width
TWO_AXES = "points([[1, 0], [0, 2]], labels=[1, 1], weights=[0.3, 0.7])"
HEXAGONS = by_lattice(0.2, 0.1, 0.05, 0.5, 2, "A*").width

THIRDS = "points([[1, 0, 0], [0, 1, 0], [0, 0, 1]], weights=[0.4, 0.35, 0.25])"
OPPOSED = "points([[1, 0], [0, 1]], weights=[0.55, 0.45])"


def ordered_thirds(n: int, decide: Callable[[Sequence[int]], Hashable], sign: int = -1) -> float:
    """1 - sum_j P_j^2 of what is decided by the order of three columns, over all counts of n rows with one 1 each."""
    law: dict[Hashable, float] = defaultdict(float)
    for counts in itertools.product(range(n + 1), repeat=3):
        if sum(counts) == n:
            order = sorted(range(3), key=lambda i: (sign * counts[i], i))
            law[decide(order)] += float(multinomial.pmf(counts, n, (0.4, 0.35, 0.25)))
    return 1 - sum(p * p for p in law.values())


def law_of_opposed(n: int, of_heads: Callable[[Any], Any]) -> float:
    """E|h - h'| of a number h in [0, 1] that the rows won by the first column decide."""
    mass, h = binom.pmf(np.arange(n + 1), n, 0.55), of_heads(np.arange(n + 1))
    return float(mass @ np.abs(h[:, None] - h) @ mass)


def first_by_noise(heads: Any, strength: float) -> Any:
    """The chance that the first of two columns is the best; z is the mean difference in standard errors."""
    n = len(heads) - 1
    mean = 2 * heads / n - 1
    with np.errstate(divide="ignore"):
        z = mean * math.sqrt(n) / np.sqrt(1 - mean**2)
    return expit(strength * z)


def rejects_by_sign(heads: Any) -> Any:
    return (binom.sf(heads - 1, len(heads) - 1, 0.5) <= 0.05).astype(float)


def reaches_at_random(heads: Any, width: float) -> Any:
    z = norm.isf(np.minimum(binom.sf(heads - 1, len(heads) - 1, 0.5), 1.0))
    return np.clip((z - norm.isf(0.05)) / width, 0, 1)


def two_normals(rng: Any, size: int) -> Any:
    return rng.normal((0.3, 0.0), 1.0, size=(size, 2))


def rejected_by_paired_t(n: int) -> float:
    return float(nct.sf(t.isf(0.05, n - 1), n - 1, 0.3 / math.sqrt(2) * math.sqrt(n)))


BITS_AND_LABEL = laws.spec([row[:2] for row in laws.BITS], laws.BIT_WEIGHTS, [row[2] for row in laws.BITS])
ON_A_LINE = laws.spec(laws.LINE, laws.LINE_WEIGHTS)
SCORED = laws.spec([row[:1] for row in laws.CASES], laws.CASE_WEIGHTS, [row[1] for row in laws.CASES])
OVER_TIME, RISING = laws.spec(laws.TIMES, laws.TIME_WEIGHTS), laws.spec(laws.RISES, laws.RISE_WEIGHTS)
IN_GROUPS = laws.spec(laws.BOUGHT, laws.BOUGHT_WEIGHTS)

USUAL_ERM: Any = {"hypotheses": "thresholds(64)", "alpha": 0.1, "rho": 0.1, "delta": 0.05}
ONE_POINT = "points([[32], [32]], labels=[-1, 1])"
RARELY_WRONG = "points([[0], [63]], labels=[1, 1], weights=[0.058, 0.942])"  # all but x >= 0 are wrong of 0
CORNERS = "points([[0, 0], [0, 1], [1, 1], [1, 1]], labels=[-1, 1, 1, -1], weights=[0.3, 0.2, 0.3, 0.2])"
SEPARATED = "points([[0, 1], [0, 0], [1, 1]], labels=[-1, -1, 1], weights=[0.4, 0.1, 0.5])"

EXACT = [
    # controls
    counted("first_bit", lambda: 0.5, "bernoulli(0.5)", 1200),
    counted("first_bit", lambda: 0.18, "bernoulli(0.1)", 1200),
    counted("mixed", lambda: 0.02, pairs=1200),
    counted("mixed", lambda: 0.3, pairs=1200, params={"q": 0.3}),
    counted("coin_from_r", lambda: 0.0, pairs=1200),
    counted("constant", lambda: 0.0, pairs=1200),
    counted("mean", lambda: 1.0, pairs=1200),
    counted("good_and_bad", lambda: rho_of(0.2, 0.1), params={"bad": 0.2, "stray": 0.1}),
    counted("memoriser", lambda: 0.3, pairs=80, params={"q": 0.3}),
    # the paper
    *(
        counted("rstat", lambda n=n, p=p, tau=tau: rstat_rho(n, p, region_width(tau, 0.1, 0.025)), f"bernoulli({p})",
                pairs, size=n, params={"tau": tau})
        for p, tau, n, pairs in [(0.5, 0.1, 878, 700), (0.5, 0.1, 100, 400), (0.3, 0.05, 500, 400), (0.9, 0.2, 50, 400),
                                 (0.02, 0.1, 300, 400), (0.5, 0.02, 2000, 400)]
    ),
    integrated("rstat", lambda: rstat_rho(878, 0.5, region_width(0.1, 0.1, 0.025)), pairs=150, size=878, rho=0.2),
    *(decided(*row) for row in DECIDERS),
    *(bisected(*row) for row in [(UNIFORM, 6, 1e-3, "counts"), (UNIFORM, 6, 1e-4, "rows"), (SPREAD, 1, 1e-3, "rows")]),
    *(
        counted("bias_by_median", lambda p=p, scale=scale: thirds_by_median(p, 0.4, 0.5, scale)[0], f"bernoulli({p})",
                300, params={"sample_scale": scale}, sample=kind)
        for p, scale, kind in [(0.5, 2e-3, "rows"), (0.51, 5e-4, "counts")]
    ),
    counted("rounded_median", lambda: rho_of_laws(rounded_laws(64, 9, 16)), "randint(0, 64)", 200,
            wrong=lambda: wrong_of_laws(rounded_laws(64, 9, 16), lambda x: near_the_middle(x, 64, 0.15)),
            params={"m": 9, "width": 16}),
    *(amplified_few(name, kind) for name in ("amplified", "amplified_by_majority") for kind in ("rows", "counts")),
    counted("reused_sample", lambda: interview_share(6), pairs=90, wrong=lambda: interview_share(5), rho=0.9,
            params={"sample_scale": 5e-4}),
    # everyday
    *(
        counted("r_mean_vector", lambda n=n, biases=biases: mean_laws.coins_rho(n, biases, MEAN_BOXES), coins(*biases),
                160, size=n, sample=kind)
        for biases, n, kind in [((0.5, 0.5, 0.5), 400, "counts"), ((0.9, 0.02, 0.5), 60, "counts"),
                                ((0.0, 1.0, 0.4), 25, "rows")]
    ),
    integrated("r_mean_vector", lambda: mean_laws.coins_rho(7770, COINS, MEAN_BOXES), pairs=80, rho=0.3),
    *(
        counted("r_mean_vector_lattice", lambda n=n, p=p: mean_lattices.exact_rho(n, p, HEXAGONS), coins(*p), 300,
                size=n, no_integrate=True, params={"d": 2, "eps": 0.2})
        for p, n in [((0.5, 0.5), 300), ((0.5, 0.1), 60)]
    ),
    counted("r_halfspace_lattice", lambda: halfspace_lattices.exact_rho(300, 0.3, HALFSPACES), TWO_AXES, 300, size=300,
            no_integrate=True, params={"d": 2}),
    integrated("r_mean_vector_heavy", lambda: mean_laws.together([median_of_rare_rows()] * 2), pairs=60, rho=0.4),
    integrated("r_mean_vector_clipped", lambda: mean_heavy.clipped_exact_rho(1060, **HEAVY), FAIR_SIGNS, 60, rho=0.4),
    counted("r_bandit", lambda: exact(COMMIT, 0.5, 0.5, 10**6).rho, pairs=200),
    counted("r_bandit_elimination", lambda: eliminated(0.1), two_arms(0.1), 200),
    integrated("r_bandit_elimination", lambda: eliminated(0.0), rho=0.3),
    integrated("r_choice", lambda: rho_of_bits(300, strength(**USUAL, candidates=4), 4), TIED, 30, size=300),
    integrated("r_choice", lambda: rho_of_opposites(300, strength(**USUAL, candidates=2)), "points([[0, 1], [1, 0]])",
               30, size=300, params={"candidates": 2}),
    *(opposites(size) for size in (58, 2)),
    integrated("r_erm", lambda: rho_of_opposites(84_879, erm.strength(**USUAL_ERM), odds=33 / 32), ONE_POINT, 60),
    integrated("r_erm_realisable", lambda: rho_of_rare(11_213, erm.strength(**USUAL_ERM, realisable=True), 0.058, 63),
               RARELY_WRONG, 60),
    over_few_rows("r_erm", LABELLED, 6, "thresholds(4)"),
    over_few_rows("r_erm", CORNERS, 5, "conjunctions(2)"),
    over_few_rows("r_erm_realisable", SEPARATED, 8, "stumps(2,2)"),
    integrated("r_private_median", lambda: rho_of_opposites(*private_median.design(2, **USUAL)), "randint(0, 2)", 60,
               params={"domain": 2}),
    counted("r_private_median", lambda: private_medians(5)[0], f"pmf({FOUR})", 200, wrong=lambda: private_medians(5)[1],
            size=5, params=FEW_ROWS),
    counted("r_private_mean", lambda: private_answers(0.15, 4.0, 0.01, 0.9), "bernoulli(0.5)", 120,
            private="unshared", params={"sample_scale": 0.15, "eps": 4.0, "leak": 0.01, "rho": 0.9}),
    integrated("r_top_choice", lambda: top_two_of_three_bits(2), THREE_BITS, 30, size=2, rho=0.9, params=TOP_TWO),
    integrated("r_coin_test", lambda: coin_test.exact_rho(0.55, 2000, 0.5, *coin_test.interval(0.5, 0.1, 0.1, 0.05)),
               "bernoulli(0.55)", size=2000),
    counted("r_coin_test", lambda: coin_test.exact_rho(0.42, 500, 0.5, *coin_test.interval(0.5, 0.1, 0.1, 0.05)),
            "bernoulli(0.42)", 60, size=500),
    integrated("r_uniformity_test", lambda: identity_test.exact_rho(
        (0.5, 0.25, 0.25), 3, 60, *identity_test.interval(3, 0.25, 0.1, 0.05)
    ), "pmf({0: 0.5, 1: 0.25, 2: 0.25})", size=60, params={"null": 3}),
    *(
        integrated("r_uniformity_by_distance", lambda p=p, size=size, params=params: uniformity.exact_rho(
            np.asarray(load_source(p).law().distinct().weights).tolist(), size,
            *uniformity.interval(**{"values": 1000, "eps": 0.25, "rho": 0.1, "delta": 0.05, **params})
        ), p, 60, size=size, rho=0.9, params=params)
        for p, size, params in [
            (uniformity.two_levels(1000, 0.42), 8000, {}),
            (uniformity.two_levels(1000, 0.5, 300), 600, {"eps": 0.5, "rho": 0.5}),
            ("pmf({0: 0.5, 1: 0.25, 2: 0.25})", 60, {"values": 3}),
        ]
    ),
    integrated("r_chi_square_test", lambda: chi_square_test.exact_rho(
        LOADED, 6, 300, *chi_square_test.interval(300, 6, 0.05, 0.3, "largest")
    ), f"pmf({dict(enumerate(LOADED))})", size=300, params={"rho": 0.3}),
    integrated("r_z_test", lambda: usual_tests.z_rho(9.0, *usual_tests.z_interval(0.05, 0.1, "largest")),
               "norm(0.45, 1)", size=400, rho=0.3),
    integrated("r_t_test", lambda: usual_tests.t_rho(9.0, 400, *usual_tests.t_interval(400, 0.05, 0.1, "largest")),
               "norm(0.45, 1)", size=400, rho=0.3),
    *(
        integrated("r_quantile", lambda spec=spec: on_a_grid(
            spec, 12_541, quantile_rank(12_541, 0.9), width(50.0, 0.1, 0.05, 1.0)
        ), spec, 40)
        for spec in ("randint(0, 2000)", LOW_DENSITY)
    ),
    counted("r_quantile", lambda: rho_of_cdf(norm.cdf, (-3.0, 3.0), 51, 26, width(1.0, 0.3, 0.05, 0.0)), "norm",
            size=51, sample="rows", params=NORMAL),
    *(
        integrated("r_conformal", lambda spec=spec: on_a_grid(spec, 153_166, conformal_rank(153_166, 0.1), 40.0), spec,
                   30)
        for spec in ("randint(0, 4000)", GAP)
    ),
    integrated("r_single_heavy_hitter", lambda: single_heavy(THREE, 6, 0.5)[0], f"pmf({THREE})", 40,
               wrong=lambda: single_heavy(THREE, 6, 0.5)[1], size=6, params={"v": 0.5}),
    integrated("r_single_heavy_hitter",
               lambda: rho_of_stairs(15_503, 0.3, dict(enumerate((0.3, 0.25, 0.2, 0.15, 0.1)))), STAIRS, 40),
    # twins
    counted("rstat_no_offset", lambda: 0.5, pairs=120, size=FLIPS),  # on either side of 1/2
    counted("rstat_unshared_offset", unshared_offset, pairs=120, size=FLIPS),
    counted("heavy_hitters_fixed_threshold", fixed_threshold, pairs=300),
    counted("heavy_hitters_in_order_of_appearance",
            lambda: 1 - collision(first_appearances({1: 0.4, 2: 0.3, 3: 0.3}).values()), pairs=500),
    counted("float_sum_in_sample_order", sum_in_sample_order, pairs=500),
    counted("one_generator_in_turn", generator_in_turn, pairs=120, size=FLIPS),
    counted("halfspace_unrounded", lambda: 1.0, pairs=60),  # but for equal counts of six values
    counted("mean_vector_lattice_at_rest", lambda: 0.5, pairs=100),  # but for the tie's 0.0046, squared
    counted("mean_vector_no_offset", boxes_at_rest, pairs=100),
    counted("mean_vector_offset_of_data", offset_of_data, pairs=100),
    counted("mean_vector_width_of_data", width_of_data, pairs=100),
    counted("bandit_larger_mean", lambda: exact(plain(36_872), 0.5, 0.5, 10**6).rho, pairs=200),
    # decisions
    counted("winner", lambda: ordered_thirds(20, lambda order: order[0]), THIRDS, size=20),
    counted("winner", lambda: ordered_thirds(15, lambda order: order[0], 1), THIRDS, size=15,
            params={"better": "lower"}),
    counted("top", lambda: ordered_thirds(20, lambda order: frozenset(order[:2])), THIRDS, size=20,
            params={"k": 2, "statistic": "wins"}),
    counted("ranking", lambda: ordered_thirds(20, tuple), THIRDS, size=20),
    *(
        integrated(name, lambda strength=strength: law_of_opposed(50, lambda heads: first_by_noise(heads, strength)),
                   OPPOSED, 60, size=50, rho=0.9, params={"strength": strength})
        for name, strength in (("r_winner", 0.5), ("r_winner", 2.0), ("r_top", 0.5), ("r_ranking", 0.5))
    ),
    counted("beats", lambda: law_of_opposed(200, rejects_by_sign), OPPOSED, size=200),
    counted("beats", lambda: 2 * rejected_by_paired_t(40) * (1 - rejected_by_paired_t(40)), two_normals, size=40,
            params={"test": "t"}),
    integrated("r_beats", lambda: law_of_opposed(200, lambda heads: reaches_at_random(heads, 4.0)), OPPOSED, 60,
               size=200, rho=0.9, params={"width": 4.0}),
    counted("judged_winner", lambda: laws.judged_rho(15), laws.JUDGED, private="unshared"),
    *(
        counted("significant_columns", lambda c=c: laws.significant_rho(c), laws.spec(laws.SIGNS, laws.SIGN_WEIGHTS),
                size=laws.TESTED, params={"correction": c})
        for c in ("bonferroni", "holm", "bh")
    ),
    *(
        integrated("r_significant_columns", lambda c=c: laws.random_level_rho(c, 0.005, 0.05),
                   laws.spec(laws.SIGNS, laws.SIGN_WEIGHTS), 60, size=laws.TESTED, rho=0.9, params={"correction": c})
        for c in ("bonferroni", "holm", "bh")
    ),
    *(
        counted("features", lambda: laws.feature_rho(7), BITS_AND_LABEL, size=7, params={"method": method})
        for method in ("correlation", "lasso")
    ),
    integrated("r_features", lambda: laws.noisy_feature_rho(7, 0.8), BITS_AND_LABEL, 60, size=7, rho=0.9,
               params={"strength": 0.8}),
    counted("clusters", laws.number_rho, ON_A_LINE, size=laws.ROWS, params={"most": 3}),
    integrated("r_cluster_count", lambda: laws.noisy_number_rho(0.5), ON_A_LINE, 60, size=laws.ROWS, rho=0.9,
               params={"most": 3, "strength": 0.5}),
    counted("cluster_members", laws.members_rho, ON_A_LINE, size=laws.ROWS, params={"k": 2}, probe=200),
    counted("r_cluster_members", lambda: laws.rounded_members_rho(4.0), ON_A_LINE, size=laws.ROWS, probe=200,
            params={"k": 2}, no_integrate=True),
    *(
        counted("cutoff", lambda m=m: laws.differs(laws.cutoff_law(m, 6)), SCORED, size=6,
                params={"method": m, "cost": 2.0, "q": 0.5})
        for m in ("youden", "cost", "quantile")
    ),
    integrated("r_cutoff", lambda: laws.rounded_rho(laws.cutoff_law("youden", 6), 1.5), SCORED, 60, size=6, rho=0.9,
               params={"width": 1.5}),
    counted("changepoint", lambda: laws.differs(laws.change_law(6)), OVER_TIME, size=6),
    integrated("r_changepoint", lambda: laws.rounded_rho(laws.change_law(6), 1.5), OVER_TIME, 60, size=6, rho=0.9,
               params={"width": 1.5}),
    *(
        counted("trend", lambda test=test: laws.rise_rho(test, 12), RISING, size=12, params={"test": test})
        for test in ("t", "kendall")
    ),
    integrated("r_trend", lambda: laws.noisy_rise_rho(12, 3.0), RISING, 60, size=12, rho=0.9, params={"width": 3.0}),
    *(
        counted("group_report", lambda s=s: laws.group_rho(s, 6), IN_GROUPS, size=6, params={"n": 1, "statistic": s})
        for s in ("sum", "mean", "count")
    ),
    integrated("r_group_report", lambda: laws.noisy_group_rho(6, 0.5), IN_GROUPS, 60, size=6, rho=0.9,
               params={"n": 1, "strength": 0.5}),
    in_two_minds("coin_test_fixed", lambda: float(binom.sf(math.ceil(0.55 * 10_846) - 1, 10_846, 0.55))),
    in_two_minds("identity_test_fixed", cache(rejected_by_identity)),
    in_two_minds("uniformity_by_distance_fixed", cache(rejected_by_distance)),
    in_two_minds("z_test_usual", lambda: float(norm.sf(1.959964 - 1.96) + norm.sf(1.959964 + 1.96))),
    in_two_minds("t_test_usual", rejected_by_t),
    in_two_minds("chi_square_test_usual", cache(rejected_by_chi_square)),
]  # fmt: skip


# Claims on sources that were chosen to hurt, at the declared size of these parameters: name, source, options.
LINES = "points([[1, 0, 0], [-2, 0, 0], [3, 0, 0]], labels=[1, -1, 1], weights=[0.01, 0.01, 0.98])"
ONE_COIN = "points([[0, 0, 0], [1, 1, 1]])"
EASY = {"params": {"rho": 0.5}}  # which takes fewer pairs to tell
FOUR_CORNERS = "pmf({(0.1, 0.1): 0.25, (0.1, 0.9): 0.25, (0.9, 0.1): 0.25, (0.9, 0.9): 0.25})"
HARD: list[tuple[str, str, dict[str, Any]]] = [
    *(
        (name, source, {"no_integrate": True, "confidence": 0.9999})
        for name in ("r_halfspace_foams", "r_halfspace_boxes")
        for source in ("points([[0.6, 0.8, 0]], labels=[1])", LINES)
    ),
    *(
        (name, source, EASY)
        for name in ("r_mean_vector", "r_mean_vector_one_offset")
        for source in (coins(0.5, 0.5, 0.5), ONE_COIN)
    ),
    ("r_mean_vector_foams", coins(0.5, 0.5), EASY),
    ("r_mean_vector_lattice", mean_lattices.pairwise_fair(), EASY),
    *(("r_halfspace_lattice", source, EASY) for source in (halfspace_lattices.cone(3), LINES)),
    *(
        ("r_uniformity_by_distance", uniformity.two_levels(10_000, share), {"params": {"values": 10_000, "rho": 0.5}})
        for share in (0.0, 0.5)
    ),
    ("r_mean_vector_clipped", FAIR_SIGNS, EASY),
    ("r_single_heavy_hitter", "pmf({1: 0.3, 2: 0.175, 3: 0.175, 4: 0.175, 5: 0.175})", EASY),
    ("r_erm", ONE_POINT, EASY),
    ("r_erm_realisable", RARELY_WRONG, EASY),
    ("r_private_median", "pmf({0: 0.5, 999: 0.5})", EASY),
    ("r_private_median", "pmf({499: 0.5, 500: 0.5})", EASY),
    ("r_private_mean", "bernoulli(0.123)", EASY),
    ("r_clusters", FOUR_CORNERS, {"confidence": 0.999, "no_integrate": True}),
    *(
        (name, f"pmf({{{2**bits - 3}: 1.0}})", options)
        for bits in (4, 60)
        for name, options in (("point_by_queries", {"params": {"domain": 2**bits}}), ("r_heavy_hitters", {}))
    ),
]


@dataclass(frozen=True, slots=True)
class Row:
    """What a subject declares, as text, and its broken twins."""

    parameters: str
    numbers: tuple[str, ...]  # rows, claimed rho, delta, plain rows, promised rho
    expect: str
    source: str
    twins: tuple[str, ...]


def cells(table: str) -> list[list[str]]:
    return [[part.strip() for part in line.split("|")] for line in table.strip().splitlines()]


def given(text: str) -> dict[str, Any]:
    """Read parameters that are written as on a command line."""
    pairs = (one.partition("=")[::2] for one in text.split())
    return {name: value_of(value) for name, value in pairs}


def value_of(text: str) -> Any:
    if text in ("inf", "nan"):
        return float(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


ROWS = {
    name: Row(parameters, tuple(numbers), expect, source, TWINS.get(name, ()))
    for name, parameters, *numbers, expect, source in cells(DECLARED)
}
