"""What does an audit cost over a bare loop? `python benchmarks/overhead.py`: each question, with fast and slow runs.

Both sides draw the same keyed generators and samples, run the same subject as often and compare the outputs with ==;
imports and preflights are apart. Subjects do a fixed amount of computing, and what counts is processor time, so that
whatever else the machine does meets both sides. The median over short rounds of one side over the other, which is run
right after it: the least of each may have met another speed of the machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from auditor.engine.engine import Engine, RunOptions, Serial
from auditor.flow.fitness import Fitness
from auditor.flow.question import find_question, make_request
from auditor.flow.run import Run, Silent
from auditor.randomness import from_key
from auditor.sources.source import load_source
from auditor.trials.cell import Cell
from auditor.trials.trial import PairKeys

ROUNDS = 25
SPEEDS = ((2e-3, 40, 1.02), (50e-6, 1000, 1.35), (20e-6, 1500, 1.5))  # seconds a run, pairs, allowed
QUERIES, STRING = 5, 5  # runs of an interview, and with one string
COIN = "pmf([0.5, 0.5])"
Fn = Callable[..., Any]


def uniform(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def spin(steps: int) -> int:
    """In C: a loop in Python takes a fifth more or less by where its frames come to lie, whoever calls it."""
    return sum(range(steps))


def steps_of(seconds: float) -> int:
    """Of computing that takes about so long."""
    return max(1, int(seconds / step_seconds()))


@cache
def step_seconds() -> float:
    """At the machine's best, once for all: so that the subjects of all questions are equally busy."""
    tried, best = 20_000, 1.0
    for _ in range(500):
        started = process_time()
        spin(tried)
        best = min(best, process_time() - started)
    return best / tried


def is_other(output: float, rows: np.ndarray) -> np.ndarray:
    return rows != output


def analyst(ask: Fn, rng: np.random.Generator) -> None:
    for query in range(QUERIES):
        ask(query)


# Subjects, each busy for so many steps.


def plain(steps: int) -> Fn:
    def subject(sample: np.ndarray, r: np.random.Generator) -> float:
        spin(steps)
        return round(float(sample[0]) + r.random(), 0)

    return subject


def with_input(steps: int) -> Fn:
    def subject(sample: np.ndarray, r: np.random.Generator, *, x: float = 0.1) -> float:
        spin(steps)
        return round(float(sample[0]) * x + r.random(), 0)

    return subject


def with_private(steps: int) -> Fn:
    def subject(sample: np.ndarray, r: np.random.Generator, private: np.random.Generator) -> float:
        spin(steps)
        return round(float(sample[0]) + r.random() + private.random() / 10, 0)

    return subject


def mostly_the_same(steps: int) -> Fn:
    def subject(sample: np.ndarray, r: np.random.Generator) -> float:
        spin(steps)
        return float(sample[0] < 0.05) + (r.random() < 0.5)

    return subject


def is_above(steps: int) -> Fn:
    def subject(sample: np.ndarray, r: np.random.Generator) -> bool:
        spin(steps)
        return bool(sample[:10_000].mean() > 0.4)

    return subject


def answers(steps: int) -> Fn:
    def subject(sample: np.ndarray, r: np.random.Generator, *, query: int) -> float:
        spin(steps)
        return round(float(sample[query]) / 10 + r.random(), 0)

    return subject


# Bare loops: what somebody would write who wants these counts and nothing else. Each tells what it counted.


def pair_outputs(fn: Fn, cell: Cell, indices: range) -> Iterator[list[Any]]:
    keys, params = PairKeys(cell.seed), dict(cell.subject.params)
    for i in indices:
        outputs = []
        for which in (0, 1):
            sample = uniform(from_key(keys.samples[which].child(i)), cell.size)
            if cell.private:
                params["private"] = from_key(keys.private.child(i, 0 if cell.private == "shared" else which))
            outputs.append(fn(sample, from_key(keys.r.child(i)), **params))
        yield outputs


def count_pairs(fn: Fn, cell: Cell, indices: range) -> int:
    return sum(first != second for first, second in pair_outputs(fn, cell, indices))


def count_strings(fn: Fn, cell: Cell, indices: range) -> int:
    keys, beyond = PairKeys(cell.seed), 0
    children = [keys.sample(which) for which in range(STRING)]
    for i in indices:
        outputs = Counter(fn(uniform(from_key(key.child(i)), cell.size), from_key(keys.r.child(i))) for key in children)
        beyond += STRING - max(outputs.values()) > 0.4 * STRING
    return beyond


def count_losses(fn: Fn, cell: Cell, indices: range) -> int:
    """The loss of the first run is compared with its mean over the source, which takes two values."""
    keys, source, mismatches, broken = PairKeys(cell.seed), load_source(COIN), 0, 0
    for i in indices:
        outputs = []
        for which in (0, 1):
            sample = source.draw(from_key(keys.samples[which].child(i)), cell.size)
            outputs.append(fn(sample, from_key(keys.r.child(i))))
            if which == 0:
                broken += is_other(outputs[0], np.arange(2)).mean() > is_other(outputs[0], sample).mean() + 1
        mismatches += outputs[0] != outputs[1]
    return mismatches


def count_interviews(fn: Fn, cell: Cell, indices: range) -> int:
    keys, differ = PairKeys(cell.seed), 0
    children = [keys.sample(number) for number in range(QUERIES)]
    for i in indices:
        transcripts = []
        for reuse in (False, True):
            kept, found = uniform(from_key(children[0].child(i)), cell.size), []
            for number in range(QUERIES):
                sample = kept if reuse or not number else uniform(from_key(children[number].child(i)), cell.size)
                found.append(fn(sample, from_key(keys.r.child(i, "query", number)), query=number))
            transcripts.append(found)
        differ += transcripts[0] != transcripts[1]
    return differ


@dataclass(frozen=True)
class Asked:
    """A question, about a subject that is busy for so many steps, with about so many pairs of runs."""

    question: str
    subject: Callable[[int], Fn]
    bare: Callable[[Fn, Cell, range], int]
    options: Callable[[int], dict[str, Any]]
    source: object = uniform


ASKED = {
    "rho": Asked("rho", plain, count_pairs, lambda pairs: {"fixed": pairs, "size": 100}),
    "nu": Asked(
        "nu",
        mostly_the_same,
        count_strings,
        lambda pairs: {"fixed": max(80, 2 * pairs // STRING), "size": 100, "runs": STRING, "eta": 0.4, "nu": 0.5},
    ),
    "every": Asked(
        "rho",
        with_input,
        count_pairs,
        lambda pairs: {"fixed": pairs // 4, "size": 100, "inputs": {"x": [0.1, 0.2, 0.3, 0.4]}, "rho": 0.3},
    ),
    "private": Asked("rho", with_private, count_pairs, lambda pairs: {"fixed": pairs // 2, "size": 100, "rho": 0.3}),
    "loss": Asked(
        "loss", plain, count_losses, lambda pairs: {"fixed": pairs, "size": 100, "loss": is_other, "rho": 0.2}, COIN
    ),
    "curve": Asked(
        "curve",
        with_input,
        count_pairs,
        lambda pairs: {"vary": "x=0.1,0.4", "pairs": max(128, pairs), "size": 100},
    ),
    "price": Asked("price", is_above, count_pairs, lambda pairs: {"pairs": max(100, pairs), "rho": 0.2}),
    "reuse": Asked(
        "reuse",
        answers,
        count_interviews,
        lambda pairs: {
            **{"fixed": max(30, pairs // QUERIES), "size": 100, "analyst": analyst, "queries": QUERIES, "rho": 0.1}
        },
    ),
}


def audit_loop(asked: Asked, fn: Fn, pairs: int) -> tuple[float, Run]:
    """All trials that a question wants, as an audit runs them, from after the preflight to the last."""
    with ExitStack() as stack:
        run = begun(asked, fn, pairs, stack, Serial())
        spent, apart = trials_of(run, process_time)
        return spent - apart, run


def trials_of(run: Run, clock: Callable[[], float]) -> tuple[float, float]:
    """Seconds that it takes to run all trials, and how many of them are preflights of cells opened on the way."""
    assert isinstance(run.fitness, Timed)
    run.fitness.clock, run.fitness.spent = clock, 0.0
    started = clock()
    run.work()
    return clock() - started, run.fitness.spent


class Timed(Fitness):
    """Preflights, and the seconds that they take."""

    clock: Callable[[], float] = process_time
    spent: float = 0.0

    def check(self, *asked: Any) -> Any:
        started = self.clock()
        try:
            return Fitness.check(self, *asked)
        finally:
            self.spent += self.clock() - started


def begun(asked: Asked, fn: Fn, pairs: int, stack: ExitStack, engine: Engine) -> Run:
    """An audit whose preflight is over."""
    given = {"confidence": 0.9, **asked.options(pairs)}
    inquiry = find_question(asked.question).begin(make_request(asked.question, fn, asked.source, given))
    run = Run(inquiry, RunOptions(jobs=1 if isinstance(engine, Serial) else 2), Silent(), fitness=Timed())
    run.begin(stack, engine)
    return run


def bare_loop(asked: Asked, fn: Fn, run: Run) -> tuple[float, int]:
    """The same runs."""
    started = process_time()
    found = sum(asked.bare(fn, cell, range(trials)) for cell, trials in done_by(run))
    return process_time() - started, found


def done_by(run: Run) -> list[tuple[Cell, int]]:
    """The cells that were looked at, and how many trials of each were run."""
    cells, runs = run.inquiry.cells, run.inquiry.plan.runs
    return [(cells[cell], spent.runs // runs) for cell, spent in run.by_cell.items()]


def measure(asked: Asked, seconds: float, pairs: int) -> tuple[int, float, float]:
    """Runs, the least microseconds that each took in a bare loop, and an audit over a bare loop."""
    fn, bare, ratios = asked.subject(steps_of(seconds)), [], []
    for _ in range(ROUNDS):
        spent, run = audit_loop(asked, fn, pairs)
        least, found = bare_loop(asked, fn, run)
        assert found == sum(row.mismatches for row in run.inquiry.answer().rows), "the two loops disagree"
        bare.append(least)
        ratios.append(spent / least)
    runs = sum(mine.runs for mine in run.by_cell.values())
    return runs, 1e6 * min(bare) / runs, median(ratios)


def main() -> None:
    table = Table("subject", "question", "runs", "bare loop, us a run", "audit over bare loop", "allowed")
    for seconds, pairs, allowed in SPEEDS:
        for name, asked in ASKED.items():
            runs, bare, ratio = measure(asked, seconds, pairs)
            table.add_row(f"{seconds * 1e6:g} us", name, f"{runs:,}", f"{bare:.1f}", f"{ratio:.3f}", f"{allowed}")
        table.add_section()
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
