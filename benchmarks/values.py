"""What does it cost to compare outputs? `python benchmarks/values.py`: beside the comparison of their own library.

Two equal outputs each, best of several, in one run. `same` compares two outputs as they are; an audit first settles
each of them, which copies what counts, and then compares these.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from auditor.values import same, settle

ROUNDS = 7


def outputs() -> dict[str, tuple[Any, Any, Callable[[Any, Any], Any]]]:
    """By name: two outputs, and how others compare them."""
    numbers = np.random.default_rng(0).random(10**6)
    table = pd.DataFrame(numbers.reshape(-1, 10))
    names = {f"name {i}": i * 0.37 for i in range(40_000)}
    return {
        "array of 10^6 floats, numpy.array_equal": (numbers, numbers.copy(), np.array_equal),
        "list of 10^6 floats, ==": (numbers.tolist(), numbers.tolist(), list.__eq__),
        "dict of 40,000 texts to floats, ==": (names, dict(reversed(names.items())), dict.__eq__),
        "set of 300,000 integers, ==": (set(range(300_000)), set(range(300_000)), set.__eq__),
        "frame of 10^6 floats, DataFrame.equals": (table, table.copy(), pd.DataFrame.equals),
    }


def seconds(call: Callable[[], Any]) -> float:
    found = []
    for _ in range(ROUNDS):
        started = perf_counter()
        call()
        found.append(perf_counter() - started)
    return min(found)


def main() -> None:
    table = Table("outputs, and what compares them", "ms", "same, ms", "ratio", "settle, ms", "settled same, ms")
    for name, (left, right, equal) in outputs().items():
        assert equal(left, right)
        assert same(left, right)
        one, other = settle(left), settle(right)
        calls = (lambda: equal(left, right), lambda: same(left, right), lambda: settle(left), lambda: same(one, other))  # noqa: B023
        usual, ours, copying, after = (1000 * seconds(call) for call in calls)
        shown = (f"{usual:.3g}", f"{ours:.3g}", f"{ours / usual:.3g}", f"{copying:.3g}", f"{after:.3g}")
        table.add_row(name, *shown)
    Console().print(table)


if __name__ == "__main__":
    main()
