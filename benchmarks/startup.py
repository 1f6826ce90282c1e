"""How long until something is seen? `python benchmarks/startup.py`: whole commands, best of several, in one run.

Seconds on the clock, and of processor time with all child processes; bytecode is cached, as after an installation.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from time import perf_counter

from rich.console import Console
from rich.table import Table

COMMANDS = {
    "import rich_click": ["-c", "import rich_click"],
    "auditor --help": ["-m", "auditor", "--help"],
    "auditor list": ["-m", "auditor", "list"],
    "auditor list constant": ["-m", "auditor", "list", "constant"],
    "auditor check --help": ["-m", "auditor", "check", "--help"],
    "auditor check constant": ["-m", "auditor", "check", "algorithms.controls:constant"],
    "auditor check first_bit": ["-m", "auditor", "check", "algorithms.controls:first_bit", "--rho", "0.9"],
    "auditor check, a source of scipy.stats": [
        *("-m", "auditor", "check", "algorithms.controls:constant"),
        *("--source", "gamma(2)"),
    ],
}
ROUNDS = 7


def cost(arguments: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds on the clock, and of processor time."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return perf_counter() - started, used


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for arguments in COMMANDS.values():
            cost(arguments, environment)  # writes the bytecode
        rounds = [{name: cost(arguments, environment) for name, arguments in COMMANDS.items()} for _ in range(ROUNDS)]
    best = {name: [min(r[name][i] for r in rounds) for i in (0, 1)] for name in COMMANDS}
    unit = best["import rich_click"]
    table = Table("command", "ms", "times import rich_click", "ms of processor", "times")
    for name, (clock, used) in best.items():
        table.add_row(
            name, f"{clock * 1e3:.0f}", f"{clock / unit[0]:.1f}", f"{used * 1e3:.0f}", f"{used / unit[1]:.1f}"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
