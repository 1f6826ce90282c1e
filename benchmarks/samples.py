"""What do samples cost? Counts at any size, the paper's sizes, and algorithms on rows. `python benchmarks/samples.py`

Ratios are of the best of several rounds, both sides in turn in one run; on counts only the pairs are timed, on rows
only the algorithm.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from algorithms import heavy_hitters, statistical_query
from algorithms.heavy_hitters import r_heavy_hitters
from algorithms.median import r_median
from algorithms.statistical_query import rstat
from auditor.flow.question import Inquiry, drive, find_question, make_request
from auditor.randomness import from_key, root_key
from auditor.trials.cell import make_bench
from auditor.trials.trial import Bench

ROUNDS = 7
Work = Callable[[], object]


def best(*works: Work, rounds: int = ROUNDS) -> list[float]:
    """Seconds of the fastest round of each, taken in turn."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, spent in zip(works, times, strict=True):
            started = perf_counter()
            work()
            spent.append(perf_counter() - started)
    return [min(spent) for spent in times]


def pairs_on_counts(fn: Callable[..., Any], pairs: int, **params: Any) -> tuple[Work, int]:
    cell = settled(fn, params, pairs).cells[0]
    bench = make_bench(cell)
    return lambda: counted(settled(fn, params, pairs), bench), cell.size


def settled(fn: Callable[..., Any], params: dict[str, Any], pairs: int) -> Inquiry:
    request = make_request("rho", fn, None, {"params": params, "fixed": pairs, "sample": "counts"})
    return find_question("rho").begin(request)


def counted(inquiry: Inquiry, bench: Bench) -> None:
    """Every pair that is wanted, and nothing around them."""
    inquiry.opened(0, bench)
    drive(inquiry.steps(), lambda work: [map(bench.trial, one.wanted) for one in work])


def scale_for(size: float, size_of: Callable[[float], int]) -> float:
    """The sample_scale that leads to about so many examples."""
    return size / size_of(1.0)


def counts_at_any_size(table: Table) -> None:
    for fn, size_of in (
        (rstat, lambda scale: statistical_query.sample_size(0.1, 0.1, 0.025, scale)),
        (r_heavy_hitters, lambda scale: heavy_hitters.sample_size(0.1, 0.3, 0.1, scale)),
    ):
        sides = [pairs_on_counts(fn, 1000, sample_scale=scale_for(size, size_of)) for size in (1e6, 1e15)]
        (small, n_small), (large, n_large) = sides
        few, many = best(small, large)
        add(table, f"{fn.__name__}, a pair at n = {n_large:.3g} over {n_small:.3g}", many / 1000, few / 1000, 1.3)


def medians_at_the_papers_size(table: Table) -> None:
    for d, allowed in ((8, 10e-3), (16, 100e-3)):
        work, size = pairs_on_counts(r_median, 50, d=d)
        work()  # the laws are derived once an audit
        (seconds,) = best(work, rounds=3)
        each = seconds / 100
        table.add_row(
            f"r_median, d = {d}, n = {size:.2g}", f"{each * 1e3:.2f} ms a run", "", "", f"{allowed * 1e3:g} ms"
        )


def algorithms_on_rows(table: Table) -> None:
    rows = from_key(root_key(0)).integers(0, 1000, 10**6)
    scale = scale_for(10**6 - 29, lambda scale: heavy_hitters.sample_size(0.1, 0.3, 0.1, scale))
    taken = heavy_hitters.sample_size(0.1, 0.3, 0.1, scale)
    rows = np.resize(rows, taken)
    hitters, counting = best(
        lambda: r_heavy_hitters(rows, from_key(root_key(1)), sample_scale=scale),
        lambda: np.unique(rows, return_counts=True),
    )
    add(table, f"r_heavy_hitters over numpy.unique, {taken:,} rows", hitters, counting, 1.5)

    def query(x: Any) -> Any:
        return x < 500

    answer, mean = best(lambda: rstat(rows, from_key(root_key(1)), query=query), lambda: float(query(rows).mean()))
    add(table, f"rstat over its query's mean, {len(rows):,} rows", answer, mean, 1.3)


def add(table: Table, what: str, ours: float, base: float, allowed: float) -> None:
    table.add_row(what, f"{ours * 1e6:.1f} us", f"{base * 1e6:.1f} us", f"{ours / base:.3f}", f"{allowed}")


def main() -> None:
    table = Table("what", "ours", "base", "ratio", "allowed")
    counts_at_any_size(table)
    medians_at_the_papers_size(table)
    algorithms_on_rows(table)
    Console().print(table)


if __name__ == "__main__":
    main()
