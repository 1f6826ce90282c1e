"""What does a subject cost when there are many? `python benchmarks/load.py [COUNT]`: one gate, and one pytest session.

COUNT trivial subjects in one module, each audited with its second process; seconds on the clock and of processor time,
with all child processes, start-up taken off.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 200
SUBJECTS = "\n".join(f"def learner_{i}(sample, r):\n    return {i}\n" for i in range(COUNT))
TABLES = "\n".join(
    f'[[tool.auditor.subject]]\ntarget = "subjects:learner_{i}"\nsource = "norm"\nsize = 5\nrho = 0.1'
    for i in range(COUNT)
)
TESTS = "import pytest\n" + "\n".join(
    f'@pytest.mark.reproducible(source="norm", size=5, rho=0.1)\ndef test_{i}(sample, r):\n    return {i}\n'
    for i in range(COUNT)
)


def cost(folder: str, *arguments: str) -> tuple[float, float]:
    """Seconds on the clock, and of processor time."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run([sys.executable, "-m", *arguments], check=True, capture_output=True, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return perf_counter() - started, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    table = Table("what", "subjects", "s in all", "s a subject", "s of processor a subject")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "subjects.py").write_text(SUBJECTS)
        Path(folder, "pyproject.toml").write_text(TABLES)
        Path(folder, "one.toml").write_text(TABLES.partition("\n[[")[0])
        Path(folder, "test_learners.py").write_text(TESTS)
        commands = {
            "gate": (("auditor", "gate"), ("auditor", "gate", "--config", "one.toml")),
            "pytest": (("pytest", "-q"), ("pytest", "-q", "test_learners.py::test_0")),
        }
        for name, (many, one) in commands.items():
            least, most = cost(folder, *one), cost(folder, *many)
            each = [(most[i] - least[i]) / (COUNT - 1) for i in (0, 1)]
            table.add_row(name, f"{COUNT}", f"{most[0]:.1f}", f"{each[0]:.3f}", f"{each[1]:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
