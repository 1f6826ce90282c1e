"""How many fits does a choice take, if pairs go where it hangs, against all candidates on every pair? The same test.

    python benchmarks/choose.py

Learners whose law is known round the mean of 100 coins to a grid that r places, and add a bias: their rho and their
score are in closed form (tests/statistics/test_best_of_several.py). The trees are scikit-learn's on its data sets;
each of their pairs is run once, and both ways of allotting take it from there.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from auditor.flow.question import find_question, make_request
from auditor.statistics.best_of_several import Choice, block_after
from auditor.trials.cell import make_bench

ALPHA, TOLERANCE, MOST = 0.05, 0.05, 20_000
Block = Callable[[int, int], tuple[np.ndarray, np.ndarray]]  # from an index up to another: scores and measures


class Spent(NamedTuple):
    fits: int
    chosen: int | None


def choose(block: Block, count: int, *, uniform: bool) -> Spent:
    """Run pairs until one is chosen, of whom it hangs on or of all."""
    choice, done, fits = Choice(count, ALPHA, TOLERANCE, TOLERANCE), 0, 0
    while choice.chosen is None and done < MOST:
        who = range(count) if uniform else sorted(choice.next_runs())
        then = done + block_after(done)
        scores, measures = block(done, then)
        choice.add(who, scores[:, who], measures[:, who])
        choice.look()
        fits, done = fits + 2 * (then - done) * len(who), then
    return Spent(fits, choice.chosen)


def rounding(seed: int, widths: Sequence[float], biases: Sequence[float]) -> tuple[int, Block]:
    """Candidates are all widths with all biases."""
    grid = np.array([*itertools.product(widths, biases)])
    rng = np.random.default_rng(seed)
    known: list[tuple[np.ndarray, np.ndarray]] = []

    def block(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        while sum(len(one[0]) for one in known) < stop:
            means, width = rng.binomial(100, 0.5, (256, 2, 1)) / 100, grid[:, 0]
            offsets = width * rng.random((256, 1, 1))
            rounded = offsets + width * (np.floor((means - offsets) / width) + 0.5)
            scores = 1 - (rounded + grid[:, 1] - 0.5) ** 2
            known.append((scores.mean(axis=1), (rounded[:, 0] != rounded[:, 1]).astype(float)))
        scores, measures = (np.concatenate(parts)[start:stop] for parts in zip(*known, strict=True))
        return scores, measures

    return len(grid), block


def fitted(seed: int, target: str, source: str, vary: Mapping[str, Sequence[Any]]) -> tuple[int, Block]:
    """Candidates are settings of an estimator: its own score, and churn."""
    asked = {"vary": dict(vary), "seed": seed}
    inquiry: Any = find_question("choose").begin(make_request("choose", target, source, asked))
    benches = [make_bench(cell) for cell in inquiry.cells]
    pairs: dict[tuple[int, int], tuple[float, float]] = {}

    def pair(place: int, index: int) -> tuple[float, float]:
        if (place, index) not in pairs:
            trial = benches[place].trial(index)
            pairs[place, index] = inquiry._score(place, trial), inquiry._measured(trial)
        return pairs[place, index]

    def block(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        found = np.array([[pair(place, index) for place in range(len(benches))] for index in range(start, stop)])
        return found[..., 0], found[..., 1]

    return len(benches), block


TREE = "sklearn.tree:DecisionTreeClassifier"
TREES = {"max_depth": [1, 2, 3, 4, 6, 8], "max_features": [1, 2, 4, None]}
CASES: dict[str, tuple[Callable[[int], tuple[int, Block]], int]] = {
    "rounding, 24 candidates, three of four biased": (
        lambda seed: rounding(seed, (0.05, 0.1, 0.2, 0.3, 0.4, 0.5), (0.0, 0.2, 0.35, 0.5)),
        20,
    ),
    "rounding, 12 candidates, two of three biased": (
        lambda seed: rounding(seed, (0.05, 0.2, 0.4, 0.6), (0.0, 0.25, 0.45)),
        20,
    ),
    "rounding, 6 candidates, none biased": (
        lambda seed: rounding(seed, (0.02, 0.05, 0.1, 0.2, 0.3, 0.4), (0.0,)),
        20,
    ),
    "rounding, 6 candidates that are all but alike": (
        lambda seed: rounding(seed, (0.40, 0.41, 0.42, 0.43, 0.44, 0.45), (0.0,)),
        20,
    ),
    "tree on wine, 24 settings": (lambda seed: fitted(seed, TREE, "sklearn:load_wine", TREES), 2),
    "tree on digits, 24 settings": (lambda seed: fitted(seed, TREE, "sklearn:load_digits", TREES), 1),
}


def main() -> None:
    print(f"| candidates | seeds | fits, where the choice hangs | fits, all on every pair | ratio |\n|{'---|' * 5}")
    every = []
    for name, (make, seeds) in CASES.items():
        spent = []
        for seed in range(seeds):
            count, block = make(seed)
            spent.append([choose(block, count, uniform=uniform) for uniform in (False, True)])
        here, uniform = (statistics.mean(one[place].fits for one in spent) for place in (0, 1))
        every.append((here, uniform))
        print(f"| {name} | {seeds} | {here:,.0f} | {uniform:,.0f} | {here / uniform:.2f} |", flush=True)
    here, uniform = map(sum, zip(*every, strict=True))
    median = statistics.median(one / other for one, other in every)
    print(
        f"| all of them, once | | {here:,.0f} | {uniform:,.0f} | {here / uniform:.2f} |\n\nMedian ratio: {median:.2f}"
    )


if __name__ == "__main__":
    main()
