"""How long until something is seen? `python benchmarks/startup.py`: whole commands, best of several, in one run."""

from __future__ import annotations

import subprocess
import sys
from time import perf_counter

from rich.console import Console
from rich.table import Table

COMMANDS = {
    "import rich_click": ["-c", "import rich_click"],
    "auditor --help": ["-m", "auditor", "--help"],
    "auditor list": ["-m", "auditor", "list"],
    "auditor check constant": ["-m", "auditor", "check", "algorithms.controls:constant"],
}


def seconds(arguments: list[str]) -> float:
    started = perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return perf_counter() - started


def main() -> None:
    rounds = [{name: seconds(arguments) for name, arguments in COMMANDS.items()} for _ in range(7)]
    best = {name: min(r[name] for r in rounds) for name in COMMANDS}
    table = Table("command", "ms", "times import rich_click")
    for name, time in best.items():
        table.add_row(name, f"{time * 1e3:.0f}", f"{time / best['import rich_click']:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
