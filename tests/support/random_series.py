"""Series of numbers that depend on each other, with a law that is known."""

from __future__ import annotations

import math
from typing import Any

from scipy.signal import lfilter


def ar1(noise: Any, phi: float) -> Any:
    """Return the stationary AR(1) series x[t] = phi x[t-1] + noise[t], of Gaussian noise of variance 1."""
    first = noise[:1] / math.sqrt(1 - phi**2)
    return lfilter([1], [1, -phi], [*first, *noise[1:]])
