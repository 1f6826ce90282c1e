"""Numbers that are never the same twice, because nothing rounds them."""

from __future__ import annotations

import numpy as np


def slope(sample, r):
    """Least squares by scikit-learn."""
    from sklearn.linear_model import LinearRegression

    model = LinearRegression().fit(sample.reshape(-1, 1), 2 * sample + np.sin(5 * sample))
    return {"slope": float(model.coef_[0]), "intercept": float(model.intercept_)}


def winsorised(sample, r):
    low, high = np.quantile(sample, [0.1, 0.9])
    return np.clip(sample, low, high).mean()


def first_component(sample, r):
    """The first principal axis of delayed copies, its sign fixed."""
    x = np.column_stack([sample[:-2], sample[1:-1] + sample[:-2], sample[2:] - sample[:-2]])
    _, _, axes = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    return axes[0] * np.sign(axes[0][np.argmax(np.abs(axes[0]))])
