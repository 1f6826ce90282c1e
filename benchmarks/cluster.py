"""What does a block cost on a Dask cluster? `python benchmarks/cluster.py`

Blocks of a subject that does nothing, on a cluster of this machine: what is left is the way of a block from the audit
through the scheduler to a worker and back. Bytes and packets are those that the loopback interface counted. The gate's
share is measured apart: trials that are there already, put in order and counted. From these the second table says
what a million pairs on a thousand workers cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any

import numpy as np
import psutil
from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from auditor.engine.cluster import Cluster
from auditor.engine.engine import RunOptions, make_run_options
from auditor.engine.executor import BLOCKS_A_SECOND
from auditor.flow.question import Inquiry, find_question, make_request
from auditor.flow.run import Run, Silent
from auditor.trials.cell import make_bench
from auditor.trials.trial import Trial

BLOCKS = 1000
SIZES = (1, 100)
PAIRS, WORKERS = 10**6, 1000


def sampler(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def nothing(sample: np.ndarray, r: np.random.Generator) -> int:
    return 0


def settled(**asked: Any) -> Inquiry:
    return find_question("rho").begin(make_request("rho", nothing, sampler, {"size": 1, **asked}))


@dataclass(frozen=True)
class Cost:
    """Of one block."""

    pairs: int
    seconds: float
    busy: float  # seconds of a core that the audit and the scheduler, which share a process here, take for it
    bytes: float
    packets: float


def block_cost(cluster: Cluster, size: int) -> Cost:
    """Blocks sent as fast as they come back; two workers share the work."""
    traffic, started, worked = psutil.net_io_counters(pernic=True)["lo"], perf_counter(), process_time()
    waiting, sent, back = 0, 0, 0
    while back < BLOCKS:
        while waiting < 8 and sent < BLOCKS:
            cluster.submit(range(sent * size, (sent + 1) * size))
            waiting, sent = waiting + 1, sent + 1
        for _ in cluster.finished():
            waiting, back = waiting - 1, back + 1
    seconds, busy, after = perf_counter() - started, process_time() - worked, psutil.net_io_counters(pernic=True)["lo"]
    moved = after.bytes_sent - traffic.bytes_sent, after.packets_sent - traffic.packets_sent
    return Cost(size, seconds / BLOCKS, busy / BLOCKS, moved[0] / BLOCKS, moved[1] / BLOCKS)


def gate_cost() -> float:
    """Seconds that a pair costs where the verdict is reached."""
    inquiry, trial = settled(rho=1e-5, pairs=PAIRS), Trial(0, None, None, 0.0)
    bench = replace(make_bench(inquiry.cells[0]), unit=lambda bench, index, fell: trial)
    run = Run(inquiry, RunOptions(), Silent())
    run.benches[0], started = bench, perf_counter()
    run.work()
    return (perf_counter() - started) / inquiry.outlook().done


def main() -> None:
    bench = make_bench(settled(rho=0.001).cells[0])
    cluster = Cluster(make_run_options(jobs=None), "local:2", lambda words: None)
    try:
        cluster.look(bench, lambda seconds: None)
        block_cost(cluster, 1)  # everybody is there
        costs = [block_cost(cluster, size) for size in SIZES]
    finally:
        cluster.close()
    table = Table("pairs a block", "blocks a second", "ms of audit and scheduler", "bytes", "packets")
    for cost in costs:
        figures = (f"{1 / cost.seconds:,.0f}", f"{1000 * cost.busy:.2f}", f"{cost.bytes:,.0f}", f"{cost.packets:.0f}")
        table.add_row(f"{cost.pairs}", *figures)
    Console().print(table)
    show_million(costs, gate_cost())


def show_million(costs: list[Cost], gate: float) -> None:
    one, many = costs
    each = (many.bytes - one.bytes) / (many.pairs - one.pairs)
    table = Table("a pair takes", "hours of work", "at least", "blocks of", "blocks", "core busy", "GB", "packets")
    for seconds in (0.1, 1.0, 10.0):
        size = max(1, int(WORKERS / BLOCKS_A_SECOND / seconds))
        blocks = PAIRS // size
        wall = PAIRS * seconds / WORKERS
        moved = blocks * (one.bytes + (size - 1) * each) / 1e9
        table.add_row(
            f"{seconds:g} s",
            f"{PAIRS * seconds / 3600:,.0f}",
            f"{wall:,.0f} s",
            f"{size} pairs",
            f"{blocks:,}",
            f"{blocks / wall * one.busy:.0%}",
            f"{moved:.2g}",
            f"{blocks * one.packets:.2g}",
        )
    console = Console()
    console.print(table)
    console.print(f"gate: {gate * 1e6:.2f} us a pair, {gate * PAIRS:.1f} s for {PAIRS:,} pairs")


if __name__ == "__main__":
    main()
