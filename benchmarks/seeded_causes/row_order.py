"""Answers that depend on the order in which the rows came."""

from __future__ import annotations

import numpy as np


def leaders(sample, r):
    """Leader clustering: a row that is far from all leaders becomes one. How many are there?"""
    found: list[float] = []
    for row in sample.tolist():
        if all(abs(row - leader) > 3 for leader in found):
            found.append(row)
    return len(found)


def survivor(sample, r):
    """The vote of Boyer and Moore, where nobody has a majority."""
    candidate, lead = None, 0
    for row in sample.tolist():
        if lead == 0:
            candidate = row
        lead += 1 if row == candidate else -1
    return candidate


def perceptron(sample, r):
    """One pass over points that no line separates."""
    x, y = sample
    weights, bias = np.zeros(x.shape[1]), 0.0
    for row, label in zip(x, y, strict=True):
        if label * (weights @ row + bias) <= 0:
            weights, bias = weights + label * row, bias + label
    return [int(value) for value in (*weights, bias)]


def warm_up(sample, r):
    """The scale of the first ten rows is the scale of all."""
    first = sample[:10]
    return int(np.ptp(first) > 8)


class FirstRows:
    """A scaler that has seen enough after three rows."""

    def fit(self, x):
        self.scale_ = 1 + (np.abs(x[:3]).max(axis=0) > 1).astype(int)
        return self


def fitted_scaler(sample, r):
    """Returns what it has fitted."""
    return FirstRows().fit(sample.reshape(-1, 1))
