"""Answers that hang on the last digits of floats."""

from __future__ import annotations

import numpy as np


def skew_sign(sample, r):
    """Is what is left after centring positive? It is 0, but for rounding."""
    return bool((sample - sample.mean()).sum() > 0)


def best_column(sample, r):
    """The feature with the largest correlation, among one feature in three units."""
    x = np.column_stack([sample, sample / 3, sample * 0.7])
    y = sample > np.median(sample)
    scores = [abs(np.corrcoef(column, y)[0, 1]) for column in x.T]
    return int(np.argmax(scores))


def is_definite(sample, r):
    """Is the Gram matrix positive definite? One column is the sum of two others, so that its least eigenvalue is 0."""
    a, b = sample, np.sqrt(np.abs(sample))
    x = np.column_stack([a, b, a + b])
    return bool(np.linalg.eigvalsh(x.T @ x)[0] > 0)
