"""The three busiest hours, by polars."""

import polars as pl


def visits(rng, size):
    return pl.DataFrame({"hour": rng.normal(14, 3, size).astype(int) % 24, "page": rng.integers(0, 50, size)})


def busiest(sample, r):
    return sample.group_by("hour").len().sort(["len", "hour"], descending=True).head(3)["hour"]
