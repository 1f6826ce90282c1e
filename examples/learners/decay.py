"""How fast does it decay? scipy's curve_fit."""

import numpy as np
from scipy.optimize import curve_fit


def readings(rng, size):
    t = rng.uniform(0, 5, size)
    return t, 3 * np.exp(-0.7 * t) + rng.normal(0, 0.1, size)


def decay(sample, r):
    t, y = sample
    (amplitude, rate), _ = curve_fit(lambda t, a, b: a * np.exp(-b * t), t, y, p0=(1, 1))
    return {"amplitude": amplitude, "rate": rate}
