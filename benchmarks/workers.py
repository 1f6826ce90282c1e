"""What do worker processes cost over bare ones, and the engine over a loop? `python benchmarks/workers.py`

Two figures, each a ratio of interleaved rounds in one run, so that whatever else the machine does meets both sides:

    5 ms subject     the speed-up of two workers over one process, against that of two bare processes that share the
                     same pairs; all are started and warm before the clock runs
    20 us subject    10^5 pairs of a whole serial audit, preflight and record included, against a bare loop with the
                     same keys
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from auditor.engine.engine import How, Serial, keep_nothing
from auditor.engine.workers import Workers
from auditor.flow.pipeline import run_audit
from auditor.randomness import from_key
from auditor.subjects.subject import load_subject
from auditor.trials.setup import make_bench, make_setup
from auditor.trials.trial import PairKeys

ROUNDS = 5
SLOW_PAIRS = 400
FAST_PAIRS = 100_000


def sampler(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def _busy(sample: np.ndarray, r: np.random.Generator, seconds: float) -> float:
    until = perf_counter() + seconds
    while perf_counter() < until:
        pass
    return round(float(sample[0]) + r.random(), 0)


def slow(sample: np.ndarray, r: np.random.Generator) -> float:
    return _work(sample, r, 5e-3)


def fast(sample: np.ndarray, r: np.random.Generator) -> float:
    return _busy(sample, r, 20e-6)


def _work(sample: np.ndarray, r: np.random.Generator, seconds: float) -> float:
    """A fixed amount of computing, about so long: waiting for a clock would hide that a core is shared."""
    total = 0.0
    for _ in range(int(seconds * 3e7)):
        total += 1.0
    return round(float(sample[0]) + r.random() + 0 * total, 0)


def bare_loop(subject: Callable[..., float], indices: range) -> int:
    keys, mismatches = PairKeys(0), 0
    for i in indices:
        outputs = []
        for which in (0, 1):
            sample = sampler(from_key(keys.samples[which].child(i)), 100)
            outputs.append(subject(sample, from_key(keys.r.child(i))))
        mismatches += outputs[0] != outputs[1]
    return mismatches


def _serve(pipe: Any) -> None:
    """A bare process: a loop over the indices it is told, again and again."""
    while (indices := pipe.recv()) is not None:
        pipe.send(bare_loop(slow, indices))


class BareProcesses:
    """Two processes with a pipe each, and nothing else."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("fork")
        self._pipes = []
        for _ in range(2):
            ours, theirs = context.Pipe()
            context.Process(target=_serve, args=(theirs,), daemon=True).start()
            self._pipes.append(ours)

    def run(self) -> int:
        for i, pipe in enumerate(self._pipes):
            pipe.send(range(i, SLOW_PAIRS, 2))
        return sum(pipe.recv() for pipe in self._pipes)

    def close(self) -> None:
        for pipe in self._pipes:
            pipe.send(None)


def timed(run: Callable[[], int]) -> tuple[float, int]:
    started = perf_counter()
    mismatches = run()
    return perf_counter() - started, mismatches


def speed_ups() -> tuple[float, float]:
    """Of two bare processes, and of two workers, over one process."""
    setup = make_setup(load_subject(slow), sampler, size=100, fixed=SLOW_PAIRS)
    bench, bare, workers = make_bench(setup), BareProcesses(), Workers(How(jobs=2), 2)
    workers.pack(bench)

    def with_workers() -> int:
        trials = workers.stream(range(SLOW_PAIRS), keep_nothing)
        return sum(trial.difference is not None for trial in trials)

    def alone() -> int:
        trials = Serial().trials(bench, range(SLOW_PAIRS), keep_nothing)
        return sum(trial.difference is not None for trial in trials)

    try:
        with_workers(), bare.run()  # everybody is there
        rounds = [[timed(run) for run in (alone, bare.run, with_workers)] for _ in range(ROUNDS)]
    finally:
        workers.close()
        bare.close()
    assert len({count for one in rounds for _, count in one}) == 1, "they disagree"
    return median(one[0][0] / one[1][0] for one in rounds), median(one[0][0] / one[2][0] for one in rounds)


def serial_ratio() -> float:
    """A whole audit over a bare loop."""
    setup = make_setup(load_subject(fast), sampler, size=100, fixed=FAST_PAIRS)
    ratios = []
    for _ in range(2):
        bare, expected = timed(lambda: bare_loop(fast, range(FAST_PAIRS)))
        audit, found = timed(lambda: run_audit(setup, how=How(jobs=1)).mismatches)
        assert found == expected, "they disagree"
        ratios.append(audit / bare)
    return min(ratios)


def main() -> None:
    table = Table("what", "measured", "asked for")
    bare, workers = speed_ups()
    table.add_row("speed-up of two bare processes, 5 ms subject", f"{bare:.2f}", "")
    table.add_row("speed-up of two workers, 5 ms subject", f"{workers:.2f}", "")
    table.add_row("workers over bare processes", f"{workers / bare:.3f}", ">= 0.9")
    table.add_row("10^5 pairs of a 20 us subject over a bare loop", f"{serial_ratio():.3f}", "<= 1.5")
    Console().print(table)


if __name__ == "__main__":
    main()
