"""Does the new page sell more? An A/B test with a permutation test whose permutations come from r."""

import numpy as np
from scipy.stats import permutation_test


def visitors(rng, size):
    group = rng.integers(0, 2, size)
    return group, (rng.random(size) < 0.10 + 0.04 * group).astype(float)


def ship(sample, r):
    group, bought = sample
    test = permutation_test(
        (bought[group == 1], bought[group == 0]),
        lambda new, old, axis: np.mean(new, axis=axis) - np.mean(old, axis=axis),
        vectorized=True,
        n_resamples=199,
        alternative="greater",
        rng=r,
    )
    return "ship" if test.pvalue < 0.05 else "keep"
