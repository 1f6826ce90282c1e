"""What does `check winner` cost beside the decisions themselves? `python benchmarks/decisions.py`

A table of 50 columns and 10^5 rows, in an audit of so many pairs and in a bare loop: draw the numbers of the same rows,
take them from each column, compare the means. Both in turn in one run, in this process; the ratio is of the best rounds
and allowed to be 1.5. The winners of the two are compared, so that they are known to decide the same.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

import auditor
from auditor.randomness import from_key
from auditor.trials.trial import PairKeys

COLUMNS, ROWS, PAIRS, ROUNDS, ALLOWED = 50, 10**5, 40, 5, 1.5


def table() -> dict[str, np.ndarray]:
    rng = np.random.Generator(np.random.PCG64(1))
    gaps = np.linspace(0.0, 0.02, COLUMNS)
    return {f"m{place:02}": rng.normal(gap, 1.0, ROWS) for place, gap in enumerate(gaps)}


def audited(scores: dict[str, np.ndarray]) -> int:
    record = auditor.ask("rho", "winner", scores, rho=0.9, fixed=PAIRS, second_process=False)  # looks for no remedy
    assert record.mismatches is not None
    return record.mismatches


def looped(scores: dict[str, np.ndarray]) -> int:
    """Return in how many pairs the winners differ, of the resamples that the audit draws."""
    keys, names, apart = PairKeys(0), [*scores], 0
    for index in range(PAIRS):
        winners = []
        for which in (0, 1):
            chosen = from_key(keys.sample(which).child(index)).integers(0, ROWS, size=ROWS)
            means = [column[chosen].mean() for column in scores.values()]
            winners.append(names[int(np.argmax(means))])
        apart += winners[0] != winners[1]
    return apart


def main() -> None:
    scores = table()
    seconds: dict[str, list[float]] = {"audit": [], "loop": []}
    for _ in range(ROUNDS):
        found = []
        for name, work in (("audit", audited), ("loop", looped)):
            started = perf_counter()
            found.append(work(scores))
            seconds[name].append(perf_counter() - started)
        assert found[0] == found[1], found
    audit, loop = min(seconds["audit"]), min(seconds["loop"])
    print(f"check winner, {COLUMNS} columns, {ROWS:,} rows, {PAIRS} pairs: {found[0]} differ in both")
    print(f"audit {audit:.3g} s, bare loop {loop:.3g} s: {audit / loop:.2f} times, allowed {ALLOWED}")


if __name__ == "__main__":
    main()
