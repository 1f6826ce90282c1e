"""How conservative are the bounds? `python benchmarks/definitions.py`: each against an exact truth, fixed seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import binom

from algorithms.known_answers import constant_breaks
from auditor.flow.question import drive, find_question, make_request
from auditor.questions.cell_inquiries import EveryCell
from auditor.questions.list_size.misses import Misses, runs_to_name
from auditor.questions.pairs import PairsInquiry
from auditor.questions.reuse.transcripts import Transcript, bound_distance
from auditor.statistics.cost import prospect
from auditor.statistics.gate import Gate
from auditor.statistics.nu import NuGate, RunGroups, nu_lower, nu_upper
from auditor.trials.trial import Trial
from auditor.values import Difference

REPEATS = 400
Row = tuple[str, ...]
DIFFERENT = Difference("output", "0", "1")


def two_outputs(runs: int, p: float) -> np.ndarray:
    """The law of T, the runs outside the most frequent of two outputs."""
    law = np.zeros(runs)
    for h, mass in enumerate(binom.pmf(np.arange(runs + 1), runs, p)):
        law[min(h, runs - h)] += mass
    return law


def string_laws() -> Iterator[tuple[str, float, np.ndarray]]:
    """What the strings are, nu(0.1), and the law of T at 20 runs."""
    for nu, stray, bad in ((0.05, 0.0, 0.5), (0.05, 0.0, 0.85), (0.05, 0.01, 0.5), (0.2, 0.05, 0.5), (0.0, 0.01, 0.5)):
        law = nu * two_outputs(20, bad) + (1 - nu) * two_outputs(20, 1 - stray)
        yield f"nu {nu:g}: bad ones at {bad:g}, good ones at {1 - stray:g}", nu, law


def profiles() -> Iterator[Row]:
    """Mean limits of a two-sided 95 % interval at 300 strings of 20 runs, and how often they miss."""
    rng = np.random.default_rng(0)
    for words, nu, law in string_laws():
        drawn = [RunGroups(20, tuple(int(c) for c in rng.multinomial(300, law))) for _ in range(REPEATS)]
        for name, options in (("t = 1", {"t": 1}), ("all t", {}), ("all t, any time", {"design": "anytime"})):
            low = np.array([nu_lower(groups, 0.1, 0.025, **options) for groups in drawn])
            high = np.array([nu_upper(groups, 0.1, 0.025, **options) for groups in drawn])
            missed = int(((low > nu) | (high < nu)).sum())
            yield words, name, f"{low.mean():.3f}", f"{high.mean():.3f}", f"{missed} of {REPEATS}"


def gates() -> Iterator[Row]:
    """How many strings the gate nu(0.1) <= 0.05 takes, at most 2,000."""
    rng = np.random.default_rng(1)
    for bad, stray in (
        (0.0, 0.0),
        (0.0125, 0.0),
        (0.025, 0.0),
        (0.0, 0.005),
        (0.0, 0.02),
        (0.1, 0.0),
        (0.2, 0.0),
        (0.5, 0.0),
    ):
        law = bad * two_outputs(20, 0.5) + (1 - bad) * two_outputs(20, 1 - stray)
        ended = [_gate_walk(law, rng) for _ in range(60)]
        counts = [sum(outcome == word for _, outcome in ended) for word in ("pass", "fail", "open")]
        mean = np.mean([strings for strings, _ in ended])
        yield f"{bad:g}", f"{stray:g}", f"{mean:.0f}", *(str(count) for count in counts)


def _gate_walk(law: np.ndarray, rng: np.random.Generator) -> tuple[int, str]:
    gate, groups = NuGate(0.1, 0.05, 20, alpha_pass=0.05, alpha_fail=0.05), RunGroups.empty(20)
    for strings, outside in enumerate(rng.choice(20, size=2000, p=law / law.sum()).tolist(), 1):
        groups = groups.add(outside)
        if gate.is_pass(groups):
            return strings, "pass"
        if gate.is_fail(groups):
            return strings, "fail"
    return 2000, "open"


LISTS = (
    (1, (1.0,)),
    (1, (0.95, 0.05)),
    (1, (0.7, 0.3)),
    (3, (1 / 3, 1 / 3, 1 / 3)),
    (3, (0.32, 0.32, 0.32, 0.02, 0.02)),
    (3, (0.25, 0.25, 0.25, 0.25)),
    (10, (0.1,) * 10),
    (10, (0.097,) * 10 + (0.01,) * 3),
    (10, (0.01,) * 100),
)


def lists() -> Iterator[Row]:
    """How many runs the gate of a mass 0.1 outside takes, and one that knows the list beforehand; at most 1,000."""
    rng, gate = np.random.default_rng(3), Gate(0.1, 0.05, budget=1000)
    for length, law in LISTS:
        outside = math.fsum(sorted(law)[:-length])
        ended = [_list_walk(length, law, gate, rng) for _ in range(200)]
        counts = [sum(outcome == word for _, outcome in ended) for word in ("pass", "fail", "open")]
        known = prospect(outside, target=0.1, alpha=0.05, budget=1000).expected_pairs
        mean = np.mean([runs for runs, _ in ended])
        yield f"{length}", f"{len(law)}", f"{outside:.3g}", f"{mean:.0f}", f"{known:.0f}", *map(str, counts)


def _list_walk(length: int, law: Sequence[float], gate: Gate, rng: np.random.Generator) -> tuple[int, str]:
    seen = Misses(length, runs_to_name(length, 0.1))
    for runs, output in enumerate(rng.choice(len(law), size=1000, p=law).tolist(), 1):
        seen.add(str(output))
        if seen.counted and gate.is_pass(seen.counted, seen.before):
            return runs, "pass"
        if gate.is_fail(runs, seen.after):
            return runs, "fail"
    return 1000, "open"


def arms() -> Iterator[Row]:
    """Pairs that 20 arms take at target 0.05."""
    rng = np.random.default_rng(2)
    asked = {"inputs": {"q": list(range(20))}, "rho": 0.05, "pairs": 2000}
    every = find_question("rho").begin(make_request("rho", "algorithms.controls:mixed", "norm", asked))
    for words, rhos in (
        ("one at 0.1, 19 at 0.0125", [0.1] + [0.0125] * 19),
        ("one at 0.2, 19 at 0.0125", [0.2] + [0.0125] * 19),
        ("all at 0", [0.0] * 20),
        ("all at 0.0125", [0.0125] * 20),
    ):
        walks = [_arm_walk(every.leaves, rhos, rng) for _ in range(REPEATS // 2)]
        pairs = np.array([pairs for pairs, _ in walks])
        error = pairs.std() / math.sqrt(len(pairs))
        failed = sum("fail" in arms.states for _, arms in walks)
        yield words, f"{pairs.mean():.0f} +- {error:.0f}", f"{failed} of {len(walks)}"


def _arm_walk(leaves: Sequence[PairsInquiry], rhos: Sequence[float], rng: np.random.Generator) -> tuple[int, EveryCell]:
    every = EveryCell([PairsInquiry(leaf.cell, leaf.plan) for leaf in leaves])

    def trials(cell: int, wanted: range) -> Iterator[Trial]:
        for index in wanted:
            yield Trial(index, DIFFERENT if rng.random() < rhos[cell] else None, None, 0.0)

    drive(every.steps(), lambda work: [trials(one.cell, one.wanted) for one in work])
    return every.outlook().done, every


def distances() -> Iterator[Row]:
    """Mean limits of a two-sided 95 % interval at 400 trials."""
    rng = np.random.default_rng(3)

    def same_bit(q: float) -> tuple[Transcript, Transcript]:
        bits, looks = rng.integers(0, 2, size=2), rng.random(2) < q
        return Transcript.of((bits * looks).tolist()), Transcript.of((bits[0] * looks).tolist())

    def shifted(by: float) -> tuple[Transcript, Transcript]:
        x = float(rng.random())
        return Transcript.of([x]), Transcript.of([x + by])

    for words, draw, value, distance in (
        ("one bit asked twice", same_bit, 1.0, 0.5),
        ("one bit asked twice, seen with probability 1/2", same_bit, 0.5, 0.125),
        ("a number moved by 0.3", shifted, 0.3, 0.3),
    ):
        found = [bound_distance([draw(value) for _ in range(400)], 0.05) for _ in range(60)]
        low, high = np.mean([one.low for one in found]), np.mean([one.high for one in found])
        missed = sum(not one.low <= distance <= one.high for one in found)
        yield words, f"{distance:g}", f"{low:.3f}", f"{high:.3f}", f"{missed} of 60"


def breaks() -> Iterator[Row]:
    """How often a constant hypothesis breaks the inequality, against delta."""
    for rows, delta in ((20, 0.3), (50, 0.1), (50, 0.05), (1000, 0.05)):
        yield f"{rows:,}", f"{delta:g}", f"{constant_breaks(rows, delta):.4f}"


TABLES = {
    profiles: ("strings", "bound", "mean low", "mean high", "missed"),
    gates: ("bad strings", "good ones stray", "strings", "pass", "fail", "open"),
    lists: ("L", "outputs", "mass outside", "runs", "with a known list", "pass", "fail", "open"),
    arms: ("rho of the arms", "pairs", "failed"),
    distances: ("transcripts", "distance", "mean low", "mean high", "missed"),
    breaks: ("rows", "delta", "exact share"),
}


def main() -> None:
    console = Console(width=120)
    for measure, head in TABLES.items():
        table = Table(*head, title=measure.__doc__, title_justify="left", box=None, padding=(0, 2, 0, 0))
        for row in measure():
            table.add_row(*row)
        console.print(table, "")


if __name__ == "__main__":
    main()
