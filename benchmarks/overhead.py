"""What does an audit cost over a bare loop? `python benchmarks/overhead.py`

Both sides draw the same keyed generators and samples, run the same subject and compare the outputs with ==; imports
and preflight are apart. Best of several rounds, both sides in turn in one run.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

from auditor.flow.pipeline import in_process, run_pairs
from auditor.flow.record import Learnt
from auditor.randomness import from_key
from auditor.subjects.subject import load_subject
from auditor.trials.setup import make_bench, make_setup
from auditor.trials.trial import PairKeys

Subject = Callable[[np.ndarray, np.random.Generator], float]


def sampler(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def busy(seconds: float) -> Subject:
    def subject(sample: np.ndarray, r: np.random.Generator) -> float:
        until = perf_counter() + seconds
        while perf_counter() < until:
            pass
        return round(float(sample[0]) + r.random(), 0)

    return subject


def bare_loop(subject: Subject, pairs: int) -> int:
    keys = PairKeys(0)
    mismatches = 0
    for i in range(pairs):
        outputs = []
        for which in (0, 1):
            sample = sampler(from_key(keys.samples[which].child(i)), 100)
            outputs.append(subject(sample, from_key(keys.r.child(i))))
        mismatches += outputs[0] != outputs[1]
    return mismatches


def audit_loop(subject: Subject, pairs: int) -> int:
    setup = make_setup(load_subject(subject), sampler, size=100, fixed=pairs)
    learnt = Learnt()
    run_pairs(make_bench(setup), setup, learnt, in_process())
    return learnt.tally.mismatches


def timed(loop: Callable[[Subject, int], int], subject: Subject, pairs: int) -> tuple[float, int]:
    started = perf_counter()
    mismatches = loop(subject, pairs)
    return (perf_counter() - started) / pairs, mismatches


def main() -> None:
    table = Table("subject", "bare loop, us a pair", "audit, us a pair", "ratio", "allowed")
    for seconds, pairs, allowed in ((2e-3, 100, 1.1), (50e-6, 2000, 1.5), (20e-6, 3000, 1.5)):
        subject = busy(seconds)
        rounds = [(timed(bare_loop, subject, pairs), timed(audit_loop, subject, pairs)) for _ in range(7)]
        assert all(bare[1] == audit[1] for bare, audit in rounds), "the two loops disagree"
        bare, audit = min(b[0] for b, _ in rounds), min(a[0] for _, a in rounds)
        table.add_row(
            f"{seconds * 1e6:g} us", f"{bare * 1e6:.1f}", f"{audit * 1e6:.1f}", f"{audit / bare:.3f}", f"{allowed}"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
