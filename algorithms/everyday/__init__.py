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
"""

FRONTIERS = """
"""

_ALL = (MEANS, QUANTILES, CHOICES, TESTS, CLUSTERS, BANDITS, LISTS, HEAVY, FRONTIERS)
LATER: tuple[Statement, ...] = tuple(one for text in _ALL for one in read(text, __name__))
