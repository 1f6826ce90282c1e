"""Answers that depend on more than the sample and r."""

from __future__ import annotations

import random
import time

import numpy as np


def bootstrap_interval(sample, r):
    """A percentile interval, with the bootstrap of an old tutorial."""
    means = [np.random.choice(sample, len(sample)).mean() for _ in range(50)]  # noqa: NPY002
    low, high = np.percentile(means, [5, 95])
    return round(low, 3), round(high, 3)


def holdout(sample, r):
    """Which of two models does better on the rows held out; the split has no seed."""
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(sample, test_size=0.4)
    errors = {"mean": np.abs(test - train.mean()).mean(), "median": np.abs(test - np.median(train)).mean()}
    return min(errors, key=errors.get)


def smoothed(sample, r, history=[]):  # noqa: B006
    """A running level over all calls: the list was meant to be a new one each time."""
    history.append(float(sample.mean()))
    return round(10 * sum(history[-5:]) / len(history[-5:]))


class Search:
    """Random search for as long as the clock allows."""

    budget = 0.002

    def best(self, sample, r):
        end, best, where = time.perf_counter() + self.budget, -np.inf, None
        while time.perf_counter() < end:
            at = r.uniform(-3, 3)
            score = -abs(np.median(sample) - at)
            if score > best:
                best, where = score, at
        return where


def random_search(sample, r):
    return Search().best(sample, r)


_SEEN: dict[str, int] = {}


def next_version(sample, r):
    """Models are numbered as they are made."""
    name = "high" if sample.mean() > 0 else "low"
    _SEEN[name] = _SEEN.get(name, 0) + 1
    return f"{name}-{_SEEN[name]}"


def jittered(sample, r):
    """Ties are broken by a jitter that nobody seeded."""
    values = sample.round().tolist()
    jitter = random.Random()
    ranked = sorted(set(values), key=lambda value: (-values.count(value), jitter.random()))
    return ranked[:2]


_LEVELS: dict[int, float] = {}


def level_by_size(sample, r):
    """A table that was meant to save time, by a key that the sample has no part in: the first run decides."""
    if len(sample) not in _LEVELS:
        _LEVELS[len(sample)] = round(float(np.median(sample)), 3)
    return _LEVELS[len(sample)] + int(r.integers(3))


def _jitter(x):
    return x + 0.5 * np.random.standard_normal(x.shape)  # noqa: NPY002


def jittered_tree():
    """A pipeline, one of whose steps draws from the global generator."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.tree import DecisionTreeClassifier

    return make_pipeline(FunctionTransformer(_jitter), DecisionTreeClassifier(max_depth=3))


def tree_of_a_pipeline(sample, r):
    """Returns what it has fitted."""
    return jittered_tree().set_params(decisiontreeclassifier__random_state=int(r.integers(2**32))).fit(*sample)
