"""Broken twins of the bandits: sequences of arms that two samples do not share. Each must be caught, and says why."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from algorithms.everyday.bandit import TIE, Pulls, mean_of, run_lengths
from auditor import Randomness, Sample, subject
from auditor.repair import random_threshold

LOW, HIGH, PULLS = 0.1, 0.4, 20_000
EDGE = "pmf({(1, 1, 1, 1): 0.55, (1, 1, 0, 0): 0.15, (1, 0, 0, 0): 0.1, (0, 0, 0, 0): 0.2})"  # gaps 0, LOW, 1/4, 1/4


@subject(
    source=TIE,
    sample="counts",
    size=73_744,
    expect="fail",
    reason="of two equal arms either has the larger mean half of the time",
)
def bandit_larger_mean(sample: Sample, r: Randomness) -> Pulls:
    """Run `bandit`, at its own size, with a threshold of 0: it commits to the larger mean."""
    rows = Sample.of(sample)
    m = rows.size // 2
    means = [mean_of(rows, m, arm, 2) for arm in (0, 1)]
    return run_lengths([(0, m), (1, m), (int(means[1] > means[0]), 1_000_000 - 2 * m)])


@subject(source=TIE, size=400, expect="fail", reason="every pull depends on all rewards before it, to the last digit")
def bandit_ucb(sample: npt.NDArray[np.int64], r: Randomness) -> Pulls:
    """Run UCB1: pull the arm with the largest mean + sqrt(2 ln t / pulls), of its own pulls; no randomness."""
    pulls, paid, blocks = [1, 1], [int(sample[0, 0]), int(sample[1, 1])], [(0, 1), (1, 1)]
    for t, rewards in enumerate(sample[2:].tolist(), 2):
        bounds = [s / n + math.sqrt(2 * math.log(t) / n) for s, n in zip(paid, pulls, strict=True)]
        arm = int(bounds[1] > bounds[0])
        pulls[arm] += 1
        paid[arm] += rewards[arm]
        blocks.append((arm, 1))
    return run_lengths(blocks)


def drop_once(sample: Sample, threshold: Callable[[int], float]) -> Pulls:
    """Run one phase that drops arms, each by a threshold of its own, which is asked for only where it has a say."""
    rows = Sample.of(sample)
    means = [mean_of(rows, PULLS, arm, 4) for arm in range(4)]
    gaps = [max(means) - mean for mean in means]
    left = [arm for arm, gap in enumerate(gaps) if gap < LOW or (gap < HIGH and gap < threshold(arm))]
    return run_lengths([*((arm, PULLS) for arm in range(4)), *((arm, 10 * PULLS) for arm in left)])


@subject(
    source=EDGE,
    sample="counts",
    size=4 * PULLS,
    expect="fail",
    reason="an arm at the edge of the range takes a threshold or not, and the arms after it get what comes next",
)
def bandit_thresholds_in_turn(sample: Sample, r: Randomness) -> Pulls:
    """Run a phase whose thresholds come from one generator in turn, where they are needed, not from named children."""
    return drop_once(sample, lambda arm: random_threshold(r, LOW, HIGH))
