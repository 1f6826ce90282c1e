"""What roundings and weak learners cost: `python benchmarks/learners.py`. Ratios, both sides in turn in one run."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from samples import counted

from algorithms.rounding import boxes, foams
from auditor.flow.question import find_question, make_request
from auditor.randomness import from_key, root_key
from auditor.subjects.subject import load_subject
from auditor.trials.cell import make_bench


def seconds(work: Callable[[], Any]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def ratio(one: Callable[[], Any], other: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Best time of each over rounds that take turns."""
    times = [(seconds(one), seconds(other)) for _ in range(rounds)]
    return min(t for t, _ in times), min(t for _, t in times)


def python_loop(point: np.ndarray, seed: int) -> list[int]:
    """Foams as the paper lists them: one stage after the other."""
    d, r = len(point), from_key(root_key(seed))
    while True:
        z, height = r.random(d), r.random() * 2**d
        if math.prod(2 * math.sin(math.pi * (point[i] + z[i])) ** 2 for i in range(d)) > height:
            return [math.floor(point[i] + z[i]) for i in range(d)]


def learner_loop(name: str, rho: float, scale: float, pairs: int) -> Callable[[], None]:
    params = {"sample_scale": scale, "rho": rho}
    request = make_request("rho", f"algorithms.halfspace:{name}", None, {"params": params, "fixed": pairs})
    bench = make_bench(find_question("rho").begin(request).cells[0])
    return lambda: counted(find_question("rho").begin(request), bench)


def main() -> None:
    table = Table("what", "ms", "against", "ms", "ratio", "wanted")
    x = from_key(root_key(0)).normal(size=(10**6, 8))
    one, other = ratio(lambda: boxes(x, from_key(root_key(1))), lambda: np.floor(x), 5)
    table.add_row(
        "boxes, 10^6 x 8", f"{one * 1e3:.1f}", "numpy.floor", f"{other * 1e3:.1f}", f"{one / other:.2f}", "<= 4"
    )
    points = from_key(root_key(2)).normal(size=(200, 10))
    one, other = ratio(
        lambda: [foams(p, from_key(root_key(i))) for i, p in enumerate(points)],
        lambda: [python_loop(p, i) for i, p in enumerate(points)],
        3,
    )
    names = ("foams, 200 points, d = 10", "a loop over stages")
    table.add_row(names[0], f"{one * 1e3:.1f}", names[1], f"{other * 1e3:.1f}", f"{other / one:.1f}", ">= 20")
    for name in ("r_halfspace_foams", "r_halfspace_boxes"):
        sizes = {
            scale: load_subject(f"algorithms.halfspace:{name}", {"sample_scale": scale}).declares("size")
            for scale in (1,)
        }
        scales = 10**15 / sizes[1], 10**6 / sizes[1]
        one, other = ratio(*(learner_loop(name, 0.2, scale, 300) for scale in scales), 5)
        table.add_row(
            f"{name}, 10^15 rows", f"{one * 1e3:.1f}", "10^6 rows", f"{other * 1e3:.1f}", f"{one / other:.2f}", "<= 1.3"
        )
    one, _ = ratio(lambda: foams(np.full(16, 0.3), from_key(root_key(3))), lambda: None, 3)
    table.add_row("foams, one point, d = 16", f"{one * 1e3:.1f}", "", "", "", "well under 1 s")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
