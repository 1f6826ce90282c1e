"""What does it cost to compare outputs? `python benchmarks/values.py`: beside the comparison of their own library.

Every row has two equal outputs, which are compared by their own library, by `same` and after `settle`; then one element
in their middle is changed, and the first difference is looked for. Rounds are interleaved, and the least processor time
of each counts, so that other work on the machine falls on all alike. The last row has a list whose parts are shared: it
has 40 parts, and 2^40 paths to them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from auditor.values import first_difference, same, settle

ROUNDS = 15


def shared(leaf: Any) -> Any:
    for _ in range(40):
        leaf = [leaf, leaf]
    return leaf


def copied(left: Any, right: Any) -> Any:
    return copy.deepcopy((left, right))


def outputs() -> dict[str, tuple[Any, Any, Any, Callable[[Any, Any], Any], float]]:
    """Return by name: two equal outputs, one that differs, how others compare them, and the ratio to reach."""
    numbers = np.random.default_rng(0).random(10**6)
    frame = pd.DataFrame(numbers.reshape(-1, 10))
    names = {f"name {i}": i * 0.37 for i in range(40_000)}
    other_names = {f"name {i}": i * 0.37 for i in reversed(range(40_000))}
    whole = range(1000, 301_000)
    another = numbers.copy()
    another[500_000] = 2.0
    another_frame = frame.copy()
    another_frame.iloc[50_000, 5] = 2.0
    changed = numbers.tolist()
    changed[500_000] = 2.0
    return {
        "array of 10^6 floats, numpy.array_equal": (numbers, numbers.copy(), another, np.array_equal, 2),
        "list of 10^6 floats, ==": (numbers.tolist(), numbers.tolist(), changed, list.__eq__, 5),
        "dict of 40,000 texts to floats, ==": (names, other_names, {**names, "name 20000": 2.0}, dict.__eq__, 5),
        "set of 300,000 integers, ==": ({*whole}, {*whole}, {*whole} - {1000} | {1}, set.__eq__, 5),
        "frame of 10^6 floats, DataFrame.equals": (frame, frame.copy(), another_frame, pd.DataFrame.equals, 3),
        "2^40 paths to 40 lists, copy.deepcopy": (shared([0.25]), shared([0.25]), shared([0.5]), copied, 10),
    }


def main() -> None:
    head = ("outputs, and what compares them", "ms", "same, ms", "ratio", "goal", "first difference, ms", "ratio")
    table = Table(*head, "settle, ms", "settled same, ms")
    for name, (left, right, other, equal, goal) in outputs().items():
        assert same(left, right)
        assert first_difference(left, other) is not None
        one, two = settle(left), settle(right)
        calls: dict[str, Callable[[], Any]] = {
            "usual": lambda: equal(left, right),  # noqa: B023
            "same": lambda: same(left, right),  # noqa: B023
            "first": lambda: first_difference(left, other),  # noqa: B023
            "settle": lambda: settle(left),  # noqa: B023
            "settled": lambda: same(one, two),  # noqa: B023
        }
        least = dict.fromkeys(calls, float("inf"))
        for _ in range(ROUNDS):
            for what, call in calls.items():
                started = process_time()
                call()
                least[what] = min(least[what], 1000 * (process_time() - started))
        usual, ours, first = least["usual"], least["same"], least["first"]
        shown = (usual, ours, ours / usual, goal, first, first / usual, least["settle"], least["settled"])
        table.add_row(name, *(f"{value:.3g}" for value in shown))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
