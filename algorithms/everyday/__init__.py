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
"""

HEAVY = """
"""

FRONTIERS = """
Quantile frontier: the least worst-case rho of any rule that says on which side of c a quantile lies, exactly
    quantile_frontier:quantile_frontier quantile_frontier:least_by_frontier
    certified on both sides; a lower bound for rules that return an approximate quantile
    test_frontiers::test_no_mixture_of_any_rules_does_better_on_a_quantile
    test_frontiers::test_the_mixture_of_a_quantile_is_feasible_and_the_values_are_close
    test_frontiers::test_an_order_statistic_is_above_the_frontier
Two arms frontier: naming the better of two arms from n pulls of each is the coin problem of 2 n flips
    arms_frontier:two_arms arms_frontier:least_by_frontier
    below for every rule, above by a mixture certified over all means; apart by half a percent or less where looked at
    test_frontiers::test_no_mixture_of_any_rules_does_better_on_two_arms
    test_frontiers::test_what_is_certified_of_two_arms_holds_on_a_finer_grid
"""

_ALL = (MEANS, QUANTILES, CHOICES, TESTS, CLUSTERS, BANDITS, LISTS, HEAVY, FRONTIERS)
LATER: tuple[Statement, ...] = tuple(one for text in _ALL for one in read(text, __name__))
