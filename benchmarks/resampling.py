"""What do samples from one file say of fresh ones? `python benchmarks/resampling.py`: exactly, and as audits see it.

A file has rows of fair-ish coins, and the learner says which side is in the majority of its sample. Everything is then
a sum over binomial and hypergeometric laws: rho of two fresh samples, the rate that each way to resample has on a file
with k ones, and its mean over files.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from scipy.special import gammaln
from scipy.stats import binom

import auditor
from auditor.randomness import from_key, root_key

FILES, SIZE, P, PAIRS = (400, 4000, 40_000), 199, 0.54, 3000
Reals = npt.NDArray[np.float64]


def majority(sample: npt.NDArray[np.int64], r: auditor.Randomness) -> bool:
    return bool(2 * sample.sum() > len(sample))


def disagreement(chance: Reals) -> Reals:
    """Of two independent runs that each say yes with this probability."""
    return 2 * chance * (1 - chance)


def population(size: int, p: float) -> float:
    return float(disagreement(binom.sf(size // 2, size, p)))


def says_yes(rows: int, size: int) -> Reals:
    """That more than half of `size` rows are ones, drawn without replacement from a file with k ones: for every k."""
    ones, drawn = np.arange(rows + 1.0)[:, None], np.arange(size // 2 + 1, size + 1.0)
    with np.errstate(invalid="ignore"):
        logs = _choose(ones, drawn) + _choose(rows - ones, size - drawn) - _choose(rows, size)
    return np.asarray(np.exp(np.where(np.isnan(logs), -np.inf, logs)).sum(axis=1).clip(0, 1))


def _choose(n: Any, k: Any) -> Any:
    """log of n over k; -inf where there is no such choice."""
    return np.where(k <= n, gammaln(n + 1) - gammaln(k + 1) - gammaln(np.maximum(n - k, 0) + 1), -np.inf)


def rates(how: str, rows: int, size: int) -> Reals:
    """The rate on a file with k ones, for k = 0 .. rows."""
    ones = np.arange(rows + 1)
    if how == "bootstrap":
        return disagreement(binom.sf(size // 2, size, ones / rows))
    if how == "subsample":
        return disagreement(says_yes(rows, size))
    first = np.arange(size + 1)
    drawn = np.exp(_choose(ones[:, None], first) + _choose(rows - ones[:, None], size - first) - _choose(rows, size))
    yes = says_yes(rows - size, size)[np.clip(ones[:, None] - first, 0, rows - size)]
    return np.asarray((drawn * np.where(first > size // 2, 1 - yes, yes)).sum(axis=1))


def over_files(how: str, rows: int, size: int, p: float) -> tuple[float, float]:
    """Mean and standard deviation of the rate over files of i.i.d. rows."""
    chance, rate = binom.pmf(np.arange(rows + 1), rows, p), rates(how, rows, size)
    mean = float(chance @ rate)
    return mean, float(np.sqrt(max(0.0, chance @ rate**2 - mean**2)))


def main() -> None:
    fresh = auditor.audit(majority, f"bernoulli({P})", size=SIZE, fixed=PAIRS, rho=0.5)
    table = Table(title=f"majority of {SIZE} coins, p = {P}; {PAIRS:,} pairs each")
    for heading in ("samples", "rows of the file", "mean over files", "spread", "this file, exact", "mismatches"):
        table.add_column(heading, justify="left" if heading == "samples" else "right")
    table.add_row("fresh", "", f"{population(SIZE, P):.4f}", "", "", str(fresh.mismatches))
    for rows in FILES:
        file = (from_key(root_key(0).child("file", rows)).random(rows) < P).astype(int)
        for how in ("bootstrap", "split", "subsample"):
            mean, spread = over_files(how, rows, SIZE, P)
            here = rates(how, rows, SIZE)[file.sum()]
            options = {"size": SIZE, "fixed": PAIRS, "rho": 0.5, "resample": how, "accept_overlap": True}
            found = auditor.audit(majority, file, **options)
            table.add_row(how, f"{rows:,}", f"{mean:.4f}", f"{spread:.4f}", f"{here:.4f}", str(found.mismatches))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
