"""Makes the table of docs/repair.md: `python docs/make_repair.py`, from the root, with the extra `learners`.

Each learner is audited as it is and repaired by one command line; what a wrapper is given by hand stands behind --with.
`--only NAME` makes that row anew and leaves the others as they are.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import auditor.repair
from auditor.flow.record import Record, read_record
from auditor.randomness import from_key, root_key
from auditor.subjects.estimators import Fit

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "repair.md"
HERE = "examples/learners/to_repair.py"
LINES, MOONS = f"--source {HERE}:lines", f"--source {HERE}:moons --size 6400"
# What is audited as it is where the repair is given, and the command line of the repair.
LEARNERS: dict[str, tuple[str | None, str]] = {
    "Ridge, its coefficients": (None, f"{HERE}:coefficients {LINES} --size 8000 --loss {HERE}:missed"),
    "a regression tree's prediction": (None, f"{HERE}:predicted {LINES} --size 1000"),
    "SelectKBest": (None, f"{HERE}:best {LINES} --size 500"),
    "GridSearchCV": (None, f"{HERE}:search {LINES} --size 60"),
    "a forest classifier": (None, f"{HERE}:forest --source {HERE}:moons --size 640"),
    "KMeans": (None, f"{HERE}:means --source {HERE}:blobs --size 1000"),
    "an A/B test": (
        f"{HERE}:ship --source {HERE}:visits --size 10000",
        f'{HERE}:effect --source {HERE}:visits --size 10000 --with "thresholded(low=0.0, high=0.2)"',
    ),
    "OLS significance": (
        f"{HERE}:significant {LINES} --size 900",
        f'{HERE}:t_values {LINES} --size 900 --with "chosen(strength=1.0, top=3)"',
    ),
    "a forest of 100 trees": (
        f"{HERE}:woods {MOONS} --measure churn --rho 0.03",
        f'{HERE}:tree {MOONS} --measure churn --rho 0.03 --with "voted(chunks=64, between=(0.4, 0.6))"',
    ),
}
PRICES = {
    "an A/B test": "an effect between 0 and 0.2 is decided by r",
    "OLS significance": "how many regressors there are is said beforehand",
}
BEGIN, END = "<!-- made by docs/make_repair.py -->\n", "<!-- end -->\n"
HEAD = "| learner | rows | before | after | repair | what was lost |\n|---|---|---|---|---|---|\n"


def asked(command: str, words: str) -> Record:
    """The record of one command line."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "record.json"
        line = [sys.executable, "-m", "auditor", command, *shlex.split(words), "--json", str(file), "--jobs", "1"]
        ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
        if ended.returncode not in (0, 1):
            sys.exit(f"{words}\n{ended.stdout}{ended.stderr}")
        return read_record(file)


def process_time_of_children() -> float:
    used = os.times()
    return used.children_user + used.children_system


def row(name: str, before: str | None, words: str) -> str:
    started = process_time_of_children()
    record = asked("repair", words)
    print(f"{name}: {process_time_of_children() - started:.0f} s")
    answer = msgspec.to_builtins(record.answer)
    first = held(answer["before"]) if before is None else shown(asked("check", before))
    print(f"{name}: {process_time_of_children() - started:.0f} s with what it was")
    cells = (name, f"{record.size:,}", first, held(answer["after"]), f"`{answer['wrapper']}`", lost(name, answer))
    return "".join(f"| {cell} " for cell in cells) + "|\n"


def held(found: Any) -> str:
    return f"{found['measure']} {found['estimate']:.2g}, at most {found['high']:.2g} ({found['verdict']})"


def shown(record: Record) -> str:
    measure = record.measures[0]
    assert measure.estimate is not None
    return f"{measure.name} {measure.estimate:.2g}, at most {measure.high:.2g} ({record.verdict})"


def lost(name: str, answer: Any) -> str:
    price = answer["price"]
    if name == "a forest of 100 trees":
        return f"its trees are fitted to 100 rows each; {wrong_labels()}"
    if price["loss"] is None:
        return str(PRICES.get(name) or price["words"])
    return (
        f"{price['words']}; a mean loss of {price['loss_before']:.3f} became {price['loss_before'] + price['loss']:.3f}"
    )


def wrong_labels(runs: int = 24) -> str:
    """Of the forest and of the vote, fitted to the same samples and judged on the same fresh points."""
    sys.path.insert(0, str(ROOT / HERE.rpartition("/")[0]))
    import to_repair

    rng, apart = np.random.default_rng(0), np.zeros((runs, 2))
    learners = (auditor.repair.voted(to_repair.tree, 64, between=(0.4, 0.6)), Fit(to_repair.woods))
    for run in range(runs):
        sample, (x, y) = to_repair.moons(rng, 6400), to_repair.moons(rng, 20_000)
        apart[run] = [np.mean(learner(sample, from_key(root_key(run))).predict(x) != y) for learner in learners]
    after, before = apart.mean(axis=0)
    off = np.std(apart[:, 0] - apart[:, 1], ddof=1) / np.sqrt(runs)
    return f"{before:.2%} of wrong labels became {after:.2%} (a difference with a standard error of {off:.2%})"


def main() -> None:
    page = PAGE.read_text()
    kept, _, rest = page.partition(BEGIN)
    table, _, after = rest.partition(END)
    known = {line.split(" | ")[0].removeprefix("| "): line for line in table.splitlines(keepends=True)[2:]}
    only = sys.argv[2] if sys.argv[1:2] == ["--only"] else None
    rows = [known[name] if only not in (None, name) else row(name, *words) for name, words in LEARNERS.items()]
    PAGE.write_text(f"{kept}{BEGIN}{HEAD}{''.join(rows)}{END}{after}")


if __name__ == "__main__":
    main()
