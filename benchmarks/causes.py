"""Does `explain` name the cause that was put in? Small learners with one or two known faults, and sound ones.

The learners are in `seeded_causes/`, a file a kind, written as people write these faults. For each: how often the first
cause that is named is the seeded one (one of the two, where two were put in), and what was named first otherwise; for
the sound ones, how often any cause is named at all, which has to stay within 5 % for each.

    python benchmarks/causes.py                     # one seed
    python benchmarks/causes.py --seeds 20 --keep kept.jsonl    # goes on where it was stopped; seed by seed
    python benchmarks/causes.py --keep kept.jsonl --docs        # what is kept so far, into docs/explain.md
    python benchmarks/causes.py desync threads      # some files
    python benchmarks/causes.py --rho               # only what rho is, of each: whether the faults show at all
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

import auditor

FOLDER = Path(__file__).parent / "seeded_causes"
DOCS = Path(__file__).parent.parent / "docs" / "explain.md"
TITLE = "## How often it is right"
LINE = "{:<36}{:<30}{:>9}{:>8}{:>8}  {}"
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
        ("level_by_size", "norm", 60),
        ("tree_of_a_pipeline", "sklearn:make_moons(noise=0.3)", 80),
    ),
    *_of(
        "hash_seed",
        ("commonest", ":trees", 16),
        ("hashed_buckets", ":trees", 200),
        ("chain", ":trees", 60),
        ("class_codes", ":answers", 40),
    ),
    *_of("threads", ("median_of_means", "norm", 120), ("forest", "norm", 120), ("first_to_arrive", "norm", 60)),
    *_of(
        "row_order",
        ("leaders", TEN, 100),
        ("survivor", THREE, 300),
        ("perceptron", XOR, 60),
        ("warm_up", TEN, 100),
        ("fitted_scaler", "norm", 60),
    ),
    *_of("rounding_noise", ("skew_sign", "norm", 60), ("best_column", "norm", 60), ("is_definite", "norm", 60)),
    *_of(
        "desync",
        ("rejection_first", "norm", 400),
        ("bootstrap_then_grid", "norm", 400),
        ("private_histogram", "norm", 60),
        ("dropout_then_direction", "norm", 60),
        ("folds_of_groups", "norm", 60),
    ),
    *_of("continuous", ("slope", "norm", 60), ("winsorised", "norm", 60), ("first_component", "norm", 200)),
    *_of(
        "labels",
        ("kmeans", ":three_heaps", 60),
        ("groups_as_they_come", ":three_heaps", 60),
        ("letters", ":three_heaps", 60),
    ),
    *_of("output_order", ("ranking", FOUR, 200), ("peaks", ":two_heaps", 200)),
    *_of(
        "r_unused",
        ("is_biased", "bernoulli(0.5)", 201),
        ("side", "bernoulli(0.5)", 201),
        ("winner", "bernoulli(0.5)", 200),
        ("grid_of_its_own", "norm", 100),
        ("same_state", ":labelled", 200),
    ),
    *_of(
        "too_little_data",
        ("favourite", "pmf({0: 0.4, 1: 0.25, 2: 0.2, 3: 0.15})", 30),
        ("chosen_feature", ":features", 25),
        ("is_heavy", "pmf({0: 0.4, 1: 0.4, 2: 0.1, 3: 0.1})", 20),
        ("degree", ":curve", 40),
    ),
    *_of("two_causes", ("unseeded_and_unrounded", "norm", 60), kinds=("hidden-state", "continuous")),
    *_of("two_causes", ("by_size_in_tenths", HALVES, 200), kinds=("output-order", "continuous")),
    # Of the order a fifth of rho comes, less than a cause must explain; the rest is a fixed grid, without r.
    *_of("two_causes", ("by_size_in_twentieths", HALVES, 200), kinds=("continuous", "r-unused")),
    *_of("two_causes", ("out_of_step_and_named_as_they_come", "norm", 60), kinds=("desync", "labels")),
    *_of("two_causes", ("clock_and_first_row", "norm", 60), kinds=("hidden-state", "row-order")),
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


class Kept(msgspec.Struct, frozen=True):
    """What one explanation said."""

    learner: str
    seed: int
    kinds: list[str]  # that are named, the main one first
    pairs: int
    seconds: float


def explained(one: Seeded, seed: int) -> Kept:
    started = perf_counter()
    record: Any = msgspec.to_builtins(auditor.ask("explain", one.target, one.place, size=one.size, seed=seed))
    answer = record["answer"]
    kinds = [cause["kind"] for cause in answer["causes"]]
    return Kept(one.name, seed, kinds, answer["pairs_in_all"], round(perf_counter() - started, 1))


def read_kept(path: Path | None) -> list[Kept]:
    """All lines that were finished: one that was not, because somebody ended the process, is run again."""
    whole = path.read_bytes().split(b"\n")[:-1] if path is not None and path.exists() else []
    return [msgspec.json.decode(line, type=Kept) for line in whole]


def _line(kept: Kept) -> bytes:
    return msgspec.json.encode(kept) + b"\n"


def run(chosen: Sequence[Seeded], seeds: int, path: Path | None) -> list[Kept]:
    """Every learner with one seed, then with the next; what is kept is not run again."""
    kept = read_kept(path)
    if path is not None:
        path.write_bytes(b"".join(map(_line, kept)))
    known = {(one.learner, one.seed) for one in kept}
    for seed, one in product(range(seeds), chosen):
        if (one.name, seed) not in known:
            kept.append(explained(one, seed))
            if path is not None:
                with path.open("ab") as file:
                    file.write(_line(kept[-1]))
    return kept


def rho_of(one: Seeded) -> float:
    """Of 200 pairs, with no preflight that would refuse hidden state."""
    from auditor.questions.pairs import PairsOptions
    from auditor.request import make_options
    from auditor.subjects.subject import load_subject
    from auditor.trials.cell import make_bench, make_cell

    options = make_options(PairsOptions, {"size": one.size}, "rho")
    bench = make_bench(make_cell("rho", load_subject(one.target), one.place, options))
    return sum(bench.trial(index).difference is not None for index in range(200)) / 200


def is_right(one: Seeded, kept: Kept) -> bool:
    return kept.kinds[0] in one.kinds if one.kinds and kept.kinds else not one.kinds and not kept.kinds


def rows(chosen: Sequence[Seeded], kept: Sequence[Kept]) -> Iterator[tuple[str, ...]]:
    for one in chosen:
        mine = [each for each in kept if each.learner == one.name]
        if mine:
            first = Counter(each.kinds[0] if each.kinds else "none" for each in mine)
            right = sum(is_right(one, each) for each in mine)
            yield (
                one.name,
                " or ".join(one.kinds) or "none",
                f"{right} of {len(mine)}",
                f"{sum(each.pairs for each in mine) / len(mine):,.0f}",
                f"{sum(each.seconds for each in mine) / len(mine):.1f}",
                ", ".join(f"{kind} {count}" for kind, count in first.most_common()),
            )


def sums(chosen: Sequence[Seeded], kept: Sequence[Kept]) -> Iterator[str]:
    for title, faulty in (("the seeded cause is named first", True), ("no cause is named of a sound one", False)):
        group = {one.name: one for one in chosen if bool(one.kinds) is faulty}
        mine = [each for each in kept if each.learner in group]
        if mine:
            right = sum(is_right(group[each.learner], each) for each in mine)
            names = len({each.learner for each in mine})
            yield f"{title}: {right:,} of {len(mine):,} times ({right / len(mine):.1%}); {names} learners"


def write_docs(chosen: Sequence[Seeded], kept: Sequence[Kept]) -> None:
    least = min(Counter(each.learner for each in kept).values())
    seeds = f"{least} seed{'s' * (least > 1)}" + (" or more" if len(kept) > least * len(chosen) else "")
    lines = [f"| {' | '.join(row[:4])} | {row[5]} |" for row in rows(chosen, kept)]
    told = " ".join(f"{one[:1].upper()}{one[1:]}." for one in sums(chosen, kept))
    text = f"""{TITLE}

Small learners with one or two faults that were put in, and sound ones, each explained with {seeds}; made by
`python benchmarks/causes.py --keep FILE --docs`, where they are.
{told} Of a sound one any cause may be named in 5 % of all.

| learner | put in | named first | pairs | what was named first |
|---|---|---|---|---|
"""
    before = DOCS.read_text().partition(TITLE)[0].rstrip()
    DOCS.write_text("\n".join([before, "", text + "\n".join(lines), ""]))


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("files", nargs="*", help="of seeded_causes/, without .py, or learners")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a file, a line for each learner and seed")
    parser.add_argument("--docs", action="store_true", help="run nothing, and write what is kept into docs/explain.md")
    parser.add_argument("--rho", action="store_true", help="only what rho is, of 200 pairs")
    given = parser.parse_args()
    chosen = [one for one in SEEDED if not given.files or {one.file, one.name} & {*given.files}]
    if given.rho:
        for one in chosen:
            print(f"{one.name:<36}{one.file:<20}{rho_of(one):>6.3f}", flush=True)
        return
    kept = read_kept(given.keep) if given.docs else run(chosen, given.seeds, given.keep)
    if given.docs:
        write_docs(chosen, kept)
    print(LINE.format("learner", "put in", "right", "pairs", "s", "first named"))
    for row in rows(chosen, kept):
        print(LINE.format(*row))
    print("\n".join(sums(chosen, kept)))


if __name__ == "__main__":
    sys.exit(main())
