"""How many rows are enough? The fewest for which a claim holds, where more rows never hurt."""

from __future__ import annotations

from collections.abc import Callable

MOST = 2**62


def least_rows(enough: Callable[[int], bool], *, least: int = 1, most: int = MOST) -> int:
    """Return the least number of rows, from `least` on, that is enough: double until it is, then halve in between."""
    low, high = least - 1, least
    while not enough(high):
        if high > most:
            raise ValueError(f"no size up to {most:.3g} is enough: allow a larger rho, or ask for less")
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
