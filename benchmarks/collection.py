"""What does the plugin cost a project that does not use it? `python benchmarks/collection.py`: whole pytest runs that
collect one file, with and without the plugin in turn, best of several. Processor time is steadier on a busy machine."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table

ROUNDS = 15
MARKED = """
import pytest

@pytest.mark.reproducible(source="bernoulli(0.5)", size=100)
def test_constant(sample, r):
    return 42
"""
NOISE = ["cacheprovider", "hypothesispytest", "xdist"]  # plugins that have no part in the difference
PYTEST = ["-m", "pytest", "--collect-only", "-q", *(word for name in NOISE for word in ("-p", f"no:{name}"))]
RUNS = {
    "an empty file, -p no:auditor": ["test_empty.py", "-p", "no:auditor"],
    "an empty file": ["test_empty.py"],
    "one marked function, -p no:auditor": ["test_marked.py", "-p", "no:auditor"],
    "one marked function": ["test_marked.py"],
}


def seconds(arguments: list[str], folder: str) -> tuple[float, float]:
    """Of the clock, and of the processor."""
    # Bytecode is kept, as in any installation, but not in the tree.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = f"{folder}/bytecode"
    before, started = processor_seconds(), perf_counter()
    subprocess.run([sys.executable, *PYTEST, *arguments], check=False, capture_output=True, cwd=folder, env=environment)
    return perf_counter() - started, processor_seconds() - before


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_empty.py").touch()
        Path(folder, "test_marked.py").write_text(MARKED)
        rounds = [{name: seconds(run, folder) for name, run in RUNS.items()} for _ in range(ROUNDS)]
    best = {name: [1e3 * min(r[name][i] for r in rounds) for i in (0, 1)] for name in RUNS}
    table = Table("collecting", "ms", "more", "processor ms", "more")
    for name, times in best.items():
        without = best[f"{name.partition(',')[0]}, -p no:auditor"]
        pairs = zip(times, without, strict=True)
        table.add_row(name, *(cell for time, base in pairs for cell in (f"{time:.0f}", f"{time - base:+.1f}")))
    Console().print(table)


if __name__ == "__main__":
    main()
