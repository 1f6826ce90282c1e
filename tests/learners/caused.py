"""Learners with one fault each, as people write them, for the question why; and some with none."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np


def raw_mean(sample: Any, r: np.random.Generator) -> float:
    return float(sample.mean())


def summary(sample: Any, r: np.random.Generator) -> dict[str, Any]:
    """Numbers of two scales, and one that never differs."""
    return {"mean": 1000 * float(sample.mean()), "spread": float(sample.std()), "rows": len(sample)}


def most_common_first(sample: Any, r: np.random.Generator) -> list[int]:
    return [int(value) for value, _ in Counter(sample.tolist()).most_common()]


def groups_in_order_of_appearance(sample: Any, r: np.random.Generator) -> list[int]:
    """Who belongs to which third of the unit interval, the thirds numbered as the rows come."""
    names: dict[int, int] = dict.fromkeys(range(3), -1)
    for third in (3 * sample).astype(int).tolist():
        if names[third] < 0:
            names[third] = max(names.values()) + 1
    return [names[int(3 * x)] for x in np.linspace(0, 0.99, 40)]


def first_row(sample: Any, r: np.random.Generator) -> bool:
    return bool(sample[0] > 0)


def residuals(sample: Any, r: np.random.Generator) -> float:
    """0, but for rounding."""
    return float((sample - sample.mean()).sum())


def redraws(sample: Any, r: np.random.Generator) -> int:
    """Rejects as often as the sample makes it, then decides with what r gives next."""
    while r.random() > 0.5 + 0.4 * np.tanh(sample[0]):
        pass
    return decision(r)


def decision(r: np.random.Generator) -> int:
    return int(r.integers(1000))


def is_above(sample: Any, r: np.random.Generator) -> bool:
    """Which side of a bound that r has no part in."""
    return bool(sample.mean() > 0)


def commoner_of_two(sample: Any, r: np.random.Generator) -> int:
    """r breaks ties, which are one sample in 18 of 200 rows: a fresh one changes 0.028, fresh rows 0.49."""
    tie, ones = int(r.integers(2)), int(sample.sum())
    return tie if 2 * ones == len(sample) else int(2 * ones > len(sample))


def seeded_by_the_sample(sample: Any, r: np.random.Generator) -> float:
    """A mean on a grid of width 1, whose place a generator decides that the sample has seeded."""
    offset = np.random.default_rng(int(1e6 * abs(sample.sum()))).random()
    return float(np.round(sample.mean() - offset) + offset)


def one_digit(sample: Any, r: np.random.Generator) -> float:
    """Few different values, and fewer with more rows."""
    return round(float(sample.mean()), 1)


def threshold_from_r(sample: Any, r: np.random.Generator) -> bool:
    """Sound: a mean of about 0 against a threshold that both runs have."""
    return bool(sample.mean() > r.uniform(-10, 10))


def grid_from_r(sample: Any, r: np.random.Generator) -> float:
    """Sound."""
    offset = r.uniform(0, 5)
    return float(offset + 5 * np.round((sample.mean() - offset) / 5))


def majority(sample: Any, r: np.random.Generator) -> list[int]:
    """Sound: the values of more than half of the rows."""
    return sorted(value for value, count in Counter(sample.tolist()).items() if count > len(sample) / 2)


GENERATOR = np.random.Generator(np.random.PCG64(0))
FIRST: dict[int, float] = {}
ANSWERS: dict[int, float] = {}


def own_generator(sample: Any, r: np.random.Generator) -> int:
    return int(GENERATOR.integers(10))


def remembers_r(sample: Any, r: np.random.Generator) -> float:
    """The answer of whichever run came first with this r."""
    return ANSWERS.setdefault(int(r.integers(2**60)), float(sample.mean()))


def keeps_the_first(sample: Any, r: np.random.Generator) -> float:
    """The answer of the first run of the process, for all samples of that size."""
    return FIRST.setdefault(len(sample), float(sample.mean()))


def iterates_a_set(sample: Any, r: np.random.Generator) -> list[str]:
    return list({"alpha", "beta", "gamma", "delta"} | {f"{value > 4}" for value in sample.tolist()})
