"""All ways to spread rows over values, with their probabilities: the truth that laws of counts are held against."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence


def spreads(rows: int, values: int) -> Iterator[tuple[int, ...]]:
    if values == 1:
        yield (rows,)
        return
    for first in range(rows + 1):
        for rest in spreads(rows - first, values - 1):
            yield (first, *rest)


def chance(counts: Sequence[int], p: Sequence[float]) -> float:
    """Of these counts, in so many rows of p."""
    ways = math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))
    return ways * math.prod(x**c for x, c in zip(p, counts, strict=True))
