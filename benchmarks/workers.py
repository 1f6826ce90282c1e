"""What do worker processes cost over bare ones, and the engine over a loop? `python benchmarks/workers.py`

Two figures, each a ratio of interleaved rounds in one run, so that whatever else the machine does meets both sides:

    5 ms subject     for each question, and for a gate of four audits: the speed-up of two workers over one process,
                     against that of two bare processes that share the same runs; all are started and warm before the
                     clock runs, and preflights are apart
    20 us subject    10^5 pairs of a whole serial audit, preflight and record included, against a bare loop with the
                     same keys
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from statistics import median
from time import perf_counter, process_time
from typing import Any

from overhead import (
    Asked,
    Fn,
    begun,
    count_pairs,
    done_by,
    is_above,
    mostly_the_same,
    plain,
    steps_of,
    trials_of,
    uniform,
)
from overhead import with_input as with_x
from rich.console import Console
from rich.table import Table

import auditor
from auditor.engine.engine import Engine, RunOptions, Serial
from auditor.engine.workers import Workers
from auditor.flow.run import Run
from auditor.randomness import from_key
from auditor.trials.cell import Cell
from auditor.trials.trial import PairKeys

ROUNDS = 5
SLOW, FAST = 5e-3, 20e-6
FAST_PAIRS = 100_000
STRING = 5  # runs with one r


def count_strings(fn: Fn, cell: Cell, indices: range) -> int:
    keys, beyond = PairKeys(cell.seed), 0
    for i in indices:
        samples = (uniform(from_key(keys.sample(which).child(i)), cell.size) for which in range(STRING))
        outputs = [fn(sample, from_key(keys.r.child(i))) for sample in samples]
        beyond += STRING - max(map(outputs.count, outputs)) > 0.4 * STRING
    return beyond


def rho(pairs: int, seed: int = 0) -> Asked:
    return Asked("rho", plain, count_pairs, lambda _: {"fixed": pairs, "size": 100, "seed": seed})


NU = {"fixed": 80, "size": 100, "runs": STRING, "eta": 0.4, "nu": 0.5}
CURVE = {"vary": "x=0.1:0.4:lin2", "pairs": 250, "size": 100}
PRICE = {"pairs": 250, "rho": 0.2}
ASKED: dict[str, list[Asked]] = {
    "rho": [rho(200)],
    "curve": [Asked("curve", with_x, count_pairs, lambda _: CURVE)],
    "price": [Asked("price", is_above, count_pairs, lambda _: PRICE)],
    "nu": [Asked("nu", mostly_the_same, count_strings, lambda _: NU)],
    "gate": [rho(60, seed) for seed in range(4)],
}


def audited(asked: Sequence[Asked], fns: Sequence[Fn], engine: Engine) -> tuple[float, list[Run]]:
    """Seconds that the trials of all audits take, one audit after the other, with whoever runs them."""
    spent, runs = 0.0, []
    for one, fn in zip(asked, fns, strict=True):
        with ExitStack() as stack:
            runs.append(begun(one, fn, 0, stack, engine))
            took, apart = trials_of(runs[-1], perf_counter)
            spent += took - apart
    return spent, runs


class BareProcesses:
    """Two processes with a pipe each, which run every other trial of what an audit has run, again and again."""

    def __init__(self, asked: Sequence[Asked], fns: Sequence[Fn], runs: Sequence[Run]) -> None:
        self._work = [
            (one.bare, fn, cell, trials)
            for one, fn, run in zip(asked, fns, runs, strict=True)
            for cell, trials in done_by(run)
        ]
        context = multiprocessing.get_context("fork")
        self._pipes = []
        for which in range(2):
            ours, theirs = context.Pipe()
            context.Process(target=self._serve, args=(theirs, which), daemon=True).start()
            self._pipes.append(ours)

    def _serve(self, pipe: Any, which: int) -> None:
        os.setsid()  # as workers have one: Linux shares processors between sessions
        while pipe.recv():
            pipe.send(sum(bare(fn, cell, range(which, trials, 2)) for bare, fn, cell, trials in self._work))

    def run(self) -> float:
        started = perf_counter()
        for pipe in self._pipes:
            pipe.send(True)
        self.found = sum(pipe.recv() for pipe in self._pipes)
        return perf_counter() - started

    def close(self) -> None:
        for pipe in self._pipes:
            pipe.send(False)


def counted(runs: Sequence[Run]) -> int:
    return sum(row.mismatches for run in runs for row in run.inquiry.answer().rows)


def speed_ups(asked: Sequence[Asked]) -> tuple[int, float, float, float]:
    """Runs, how much faster than one process two bare ones are, and two workers, and these over those."""
    fns = [one.subject(steps_of(SLOW)) for one in asked]
    _, runs = audited(asked, fns, Serial())
    bare, workers = BareProcesses(asked, fns, runs), Workers(RunOptions(jobs=2), 2)  # forked before there are threads
    rounds = []
    try:
        audited(asked, fns, workers), bare.run()  # everybody is there
        for _ in range(ROUNDS):
            alone, here = audited(asked, fns, Serial())
            two = bare.run()
            crew, there = audited(asked, fns, workers)
            assert counted(here) == bare.found == counted(there), "they disagree"
            rounds.append((alone / two, alone / crew, two / crew))
    finally:
        workers.close()
        bare.close()
    done = sum(mine.runs for run in runs for mine in run.by_cell.values())
    return done, *(median(one[i] for one in rounds) for i in range(3))  # type: ignore[return-value]


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    started = process_time()
    found = run()
    return process_time() - started, found


def serial_ratio() -> float:
    """A whole audit over a bare loop, in processor time."""
    fn = plain(steps_of(FAST))
    cell = begun(rho(200), fn, 0, ExitStack(), Serial()).inquiry.cells[0]
    ratios = []
    for _ in range(2):
        bare, expected = timed(lambda: count_pairs(fn, cell, range(FAST_PAIRS)))
        audit, record = timed(lambda: auditor.audit(fn, uniform, size=100, fixed=FAST_PAIRS))
        assert record.mismatches == expected, "they disagree"
        ratios.append(audit / bare)
    return min(ratios)


def main() -> None:
    table = Table("5 ms subject", "runs", "two bare processes", "two workers", "workers over bare", "asked for")
    for name, asked in ASKED.items():
        runs, bare, workers, ratio = speed_ups(asked)
        table.add_row(name, f"{runs:,}", f"{bare:.2f}", f"{workers:.2f}", f"{ratio:.3f}", ">= 0.95")
    console = Console(width=100)
    console.print(table)
    console.print(f"10^5 pairs of a 20 us subject over a bare loop: {serial_ratio():.3f}, at most 1.5 is asked for")


if __name__ == "__main__":
    main()
