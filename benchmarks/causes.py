"""Does `explain` name the cause that was put in? Small learners with one or two known faults, and sound ones.

The learners are in `seeded_causes/`, a file a kind, written as people write these faults. For each: how often the first
cause that is named is the seeded one (one of the two, where two were put in), and what was named first otherwise; for
the sound ones, how often any cause is named at all, which has to stay within 5 % for each.

    python benchmarks/causes.py                     # one seed
    python benchmarks/causes.py --seeds 20
    python benchmarks/causes.py desync threads      # some files
    python benchmarks/causes.py --rho               # only what rho is, of each: whether the faults show at all
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

import auditor

FOLDER = Path(__file__).parent / "seeded_causes"
TEN = "pmf({0: 0.1, 1: 0.1, 2: 0.1, 3: 0.1, 4: 0.1, 5: 0.1, 6: 0.1, 7: 0.1, 8: 0.1, 9: 0.1})"
THREE = "pmf({1: 0.3334, 2: 0.3333, 3: 0.3333})"
FOUR = "pmf({1: 0.25, 2: 0.25, 3: 0.25, 4: 0.25})"
HALVES = "pmf({1: 0.5, 2: 0.5})"
UNEVEN = "pmf({1: 0.4, 2: 0.3, 3: 0.2, 4: 0.1})"
XOR = "points([[0, 0], [0, 1], [1, 0], [1, 1]], labels=[1, -1, -1, 1])"


@dataclass(frozen=True, slots=True)
class Seeded:
    """A learner, and the kinds of which the first that is named has to be one; none for a sound one."""

    file: str
    name: str
    source: str
    size: int
    kinds: tuple[str, ...]

    @property
    def target(self) -> str:
        return f"{FOLDER / self.file}.py:{self.name}"

    @property
    def place(self) -> str:
        """The source, where it is a function of the learner's own file."""
        return f"{FOLDER / self.file}.py{self.source}" if self.source.startswith(":") else self.source


def _of(file: str, *rows: tuple[str, str, int], kinds: tuple[str, ...] | None = None) -> Iterator[Seeded]:
    named = (file.replace("_", "-"),) if kinds is None else kinds
    return (Seeded(file, name, source, size, named) for name, source, size in rows)


SEEDED = [
    *_of(
        "hidden_state",
        ("bootstrap_interval", "norm", 60),
        ("holdout", "expon", 60),
        ("smoothed", "norm", 50),
        ("random_search", "norm", 60),
        ("next_version", "norm", 40),
        ("jittered", FOUR, 24),
    ),
    *_of("hash_seed", ("commonest", ":trees", 16), ("hashed_buckets", ":trees", 200), ("chain", ":trees", 60)),
    *_of("threads", ("median_of_means", "norm", 120), ("forest", "norm", 120)),
    *_of(
        "row_order",
        ("leaders", TEN, 100),
        ("survivor", THREE, 300),
        ("perceptron", XOR, 60),
        ("warm_up", TEN, 100),
    ),
    *_of("rounding_noise", ("skew_sign", "norm", 60), ("best_column", "norm", 60), ("is_definite", "norm", 60)),
    *_of(
        "desync",
        ("rejection_first", "norm", 400),
        ("bootstrap_then_grid", "norm", 400),
        ("private_histogram", "norm", 60),
        ("dropout_then_direction", "norm", 60),
    ),
    *_of("continuous", ("slope", "norm", 60), ("winsorised", "norm", 60), ("first_component", "norm", 200)),
    *_of("labels", ("kmeans", ":three_heaps", 60), ("groups_as_they_come", ":three_heaps", 60)),
    *_of("output_order", ("ranking", FOUR, 200), ("peaks", ":two_heaps", 200)),
    *_of(
        "r_unused",
        ("is_biased", "bernoulli(0.5)", 201),
        ("side", "bernoulli(0.5)", 201),
        ("winner", "bernoulli(0.5)", 200),
    ),
    *_of(
        "too_little_data",
        ("favourite", "pmf({0: 0.4, 1: 0.25, 2: 0.2, 3: 0.15})", 30),
        ("chosen_feature", ":features", 25),
        ("is_heavy", "pmf({0: 0.4, 1: 0.4, 2: 0.1, 3: 0.1})", 20),
    ),
    *_of("two_causes", ("unseeded_and_unrounded", "norm", 60), kinds=("hidden-state", "continuous")),
    *_of("two_causes", ("by_size_in_tenths", HALVES, 200), kinds=("output-order", "continuous")),
    # Of the order a fifth of rho comes, less than a cause must explain; the rest is a fixed grid, without r.
    *_of("two_causes", ("by_size_in_twentieths", HALVES, 200), kinds=("continuous", "r-unused")),
    *_of("two_causes", ("out_of_step_and_named_as_they_come", "norm", 60), kinds=("desync", "labels")),
    *_of(
        "two_causes",
        ("set_order_and_too_few", "pmf({1: 0.4, 2: 0.3, 3: 0.2, 4: 0.1})", 16),
        kinds=("hash-seed", "too-little-data"),
    ),
    *_of(
        "sound",
        ("grid_mean", "norm", 300),
        ("threshold", "norm", 300),
        ("heavy_values", "pmf({1: 0.4, 2: 0.4, 3: 0.2})", 3000),
        ("cached_and_counted", "norm", 300),
        ("child_for_each_step", "norm", 40),
        ("sorted_vocabulary", FOUR, 100),
        ("centres", ":three_heaps", 60),
        ("vote", "norm", 100),
        ("sampled_code", "norm", 20),
        ("big_majority", "bernoulli(0.2)", 100),
        ("dithered_histogram", FOUR, 400),
        kinds=(),
    ),
]


def explained(one: Seeded, seed: int) -> tuple[list[str], int]:
    """The kinds that are named, the main one first, and the pairs that it took."""
    record: Any = msgspec.to_builtins(auditor.ask("explain", one.target, one.place, size=one.size, seed=seed))
    answer = record["answer"]
    return [cause["kind"] for cause in answer["causes"]], answer.get("pairs_in_all") or record["pairs"]


def rho_of(one: Seeded) -> float:
    """Of 200 pairs, with no preflight that would refuse hidden state."""
    from auditor.questions.pairs import PairsOptions
    from auditor.request import make_options
    from auditor.subjects.subject import load_subject
    from auditor.trials.cell import make_bench, make_cell

    options = make_options(PairsOptions, {"size": one.size}, "rho")
    bench = make_bench(make_cell("rho", load_subject(one.target), one.place, options))
    return sum(bench.trial(index).difference is not None for index in range(200)) / 200


def show(one: Seeded, seeds: int) -> tuple[int, int]:
    """One line of the table; how often it was right, and how often a sound one was not."""
    started, right, first, pairs = perf_counter(), 0, Counter[str](), 0
    for seed in range(seeds):
        kinds, spent = explained(one, seed)
        named = kinds[0] if kinds else "none"
        right += named in one.kinds if one.kinds else not kinds
        first[named] += 1
        pairs += spent
    words = ", ".join(f"{kind} {count}" for kind, count in first.most_common())
    wanted = " or ".join(one.kinds) or "none"
    seconds = (perf_counter() - started) / seeds
    print(
        f"{one.name:<36}{wanted:<30}{right:>4} of {seeds:<5}{pairs / seeds:>8,.0f}{seconds:>8.1f}  {words}", flush=True
    )
    return right, seeds - right


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("files", nargs="*", help="of seeded_causes/, without .py, or learners")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rho", action="store_true", help="only what rho is, of 200 pairs")
    given = parser.parse_args()
    chosen = [one for one in SEEDED if not given.files or {one.file, one.name} & {*given.files}]
    if given.rho:
        for one in chosen:
            print(f"{one.name:<36}{one.file:<20}{rho_of(one):>6.3f}", flush=True)
        return
    print(f"{'learner':<36}{'put in':<30}{'right':>4}{'':<9}{'pairs':>8}{'s':>8}  first named")
    ends = [(one, *show(one, given.seeds)) for one in chosen]
    faulty, sound = ([end for end in ends if bool(end[0].kinds) is kind] for kind in (True, False))
    for title, group in (("the seeded cause is named first", faulty), ("no cause is named of a sound one", sound)):
        runs = given.seeds * len(group)
        if runs:
            print(f"{title}: {sum(end[1] for end in group)} of {runs}; of {len(group)} learners")


if __name__ == "__main__":
    sys.exit(main())
