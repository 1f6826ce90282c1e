"""README, tutorial and how-to pages are run: their Python, their commands, and the lines of output that they show."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
NAMES = (
    *("tutorial", "guide", "programs", "decisions", "leaderboard", "ab-test", "feature-selection", "top-customers"),
    *("estimate", "costs", "long", "price", "questions", "repair", "choose", "stable-enough"),
)
PAGES = [README, *((ROOT / "docs" / f"{name}.md").read_text() for name in NAMES)]
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", "".join(PAGES), flags=re.DOTALL)
PYTHON = [text for kind, text in BLOCKS if kind == "python"]
CONSOLE = [text for kind, text in BLOCKS if kind == "console"]
FILES = re.findall(r"```\w+ (\S+)\n(.*?)```", "".join(PAGES), flags=re.DOTALL)  # of other languages, with a name
COMMANDS = [text for text in dict.fromkeys(CONSOLE) if text.startswith("$ python -m auditor")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for _, text in BLOCKS:
        if named := re.match(r"# (\w+\.(?:py|toml))\n", text):
            (tmp_path / named[1]).write_text(text)
    for name, text in FILES:
        (tmp_path / name).write_text(text)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def is_slow(block: str) -> bool:
    """True for commands that take several seconds: they run at night."""
    typed = block.partition("\n")[0]
    slow = ("sklearn", "lasso", "n=10 --fixed 200", "unit=item")
    return typed.startswith("$ python -m auditor curve") or any(word in typed for word in slow)


@pytest.mark.usefixtures("no_other_process", "little_advice")
@pytest.mark.parametrize(
    "block", [pytest.param(text, marks=[pytest.mark.nightly] * is_slow(text)) for text in COMMANDS]
)
def test_commands_print_what_is_shown(block: str, folder: Path, command: Command) -> None:
    typed, *shown = block.strip().splitlines()
    words = shlex.split(typed.removeprefix("$ python -m auditor "))
    if "exec:" in typed and shutil.which(words[1].removeprefix("exec:").split()[0]) is None:
        pytest.skip("the program is not installed here")
    alone = (
        ["--jobs", "1"] if words[0] == "explain" or "exec:" in typed else []
    )  # a second of work is not worth two workers
    code, printed, complaint = command(*words, *alone, cwd=folder, columns=80)
    assert code in (0, 1), complaint
    assert shown
    for line in shown:
        assert line in [p.rstrip() for p in printed.splitlines()], printed


def test_the_python_runs(folder: Path) -> None:
    """In one process, each as if it were alone there: a file in the working directory."""
    for number, text in enumerate(PYTHON):
        (folder / f"block_{number}.py").write_text(text)
    names = [f"block_{number}.py" for number in range(len(PYTHON))]
    code = "import runpy, sys\nfor name in sys.argv[1:]: runpy.run_path(name, run_name='__main__')"
    ended = subprocess.run([sys.executable, "-c", code, *names], cwd=folder, capture_output=True, text=True)
    assert PYTHON
    assert ended.returncode == 0, ended.stderr


# What a type checker refuses in calls: the keyword or argument that is wrong, and what mypy says of it.
WRONG = {
    'auditor.audit(constant, "norm", sise=3)': 'Unexpected keyword argument "sise" for "audit"',
    'auditor.audit(constant, "norm", size="3")': 'Argument "size" to "audit" has incompatible type "str"',
    'auditor.audit(constant, "norm", vary={"size": [1, 2]})': 'Unexpected keyword argument "vary" for "audit"',
    'auditor.audit(42, "norm", size=3)': 'Argument 1 to "audit" has incompatible type "int"',
    'auditor.assert_reproducible(constant, "norm", sise=3)': 'Unexpected keyword argument "sise"',
    'auditor.ask("curve", constant, "norm", varies={"size": [1, 2]})': 'Unexpected keyword argument "varies"',
    'auditor.replay(constant, "norm", pair=0, nu=0.1)': 'Unexpected keyword argument "nu" for "replay"',
    'rounded(constant, "wide")': 'No overload variant of "rounded"',
    "rounded(mean, 0.5).sise": '"Rounded" has no attribute "sise"',
    "rounded(Model(), 0.5).sample_size(0.1, 1.0)": '"RoundedPredictions" has no attribute "sample_size"',
}
RIGHT = """\
from typing import Any
import numpy as np
import auditor
from auditor.repair import chosen, rounded, sites
class Model:
    def fit(self, x: object, y: object) -> object: ...
def constant(sample: object, r: auditor.Randomness) -> float:
    return sites(r).child("mine").random()
def mean(sample: np.ndarray, r: np.random.Generator) -> float:
    return float(sample.mean())
options: dict[str, Any] = {}
auditor.audit(Model(), "data.csv#label", as_="pandas", for_="5m", params={"alpha": 1}, jobs=None)
auditor.audit(rounded(constant, {"coef": 0.5}), **options).verdict.upper()
auditor.ask("curve", chosen(constant, 1.0), "norm", vary={"size": [1, 2]}, confidence=0.9)
rounded(Model, 0.5).churn([1.0], [2.0]).mean()
"""


def test_the_python_passes_a_strict_type_checker_and_wrong_calls_do_not(folder: Path) -> None:
    """One run of mypy for all. It takes 5 s, and less than one where its cache is from before."""
    for number, text in enumerate(PYTHON):
        (folder / f"block_{number}.py").write_text(text)
    (folder / "calls.py").write_text(RIGHT + "\n".join(WRONG))
    names = sorted(path.name for path in folder.glob("*.py"))
    words = ["--strict", "--config-file=", f"--cache-dir={ROOT / '.mypy_cache' / 'snippets'}", "--hide-error-context"]
    ended = subprocess.run([sys.executable, "-m", "mypy", *words, *names], cwd=folder, capture_output=True, text=True)
    errors = [line for line in ended.stdout.splitlines() if ": error: " in line]
    assert len(errors) == len(WRONG), ended.stdout + ended.stderr
    for number, (error, expected) in enumerate(zip(errors, WRONG.values(), strict=True), RIGHT.count("\n") + 1):
        assert error.startswith(f"calls.py:{number}: error: {expected}"), ended.stdout


def test_the_declared_subject_is_auditable(folder: Path, command: Command) -> None:
    (folder / "declared.py").write_text(next(text for text in PYTHON if "@auditor.subject" in text))
    code, *said = command("check", "declared.py:coarse_mean", cwd=folder)
    assert code == 0, said


def test_the_set_up_commands_are_what_ci_runs_and_what_they_show_is_true() -> None:
    """And so as a process of its own, as it is typed."""
    audit, tests = (block for block in CONSOLE if block.startswith("$ python3 -m venv"))
    assert tests.strip().removeprefix("$ ") in (ROOT / ".ci" / "run").read_text()
    command, *shown = audit.strip().splitlines()
    words = [sys.executable, *shlex.split(command.rpartition(".venv/bin/python ")[2])]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert [line.rstrip() for line in ended.stdout.splitlines()[: len(shown)]] == shown


def test_every_command_is_in_the_readme() -> None:
    import rich_click as click

    from auditor.cli.command_line import cli

    assert len(COMMANDS) >= 3
    for name in cli.list_commands(click.Context(cli)):
        assert f"python -m auditor {name}" in README, name


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "reference").glob("*.md"))],
    ids=lambda page: page.name,
)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if link.startswith(("http:", "https:")):
            continue
        place, _, anchor = link.partition("#")
        there = (page.parent / place).resolve() if place else page
        assert there.exists(), link
        if anchor:
            titles = re.findall(r"^#+ (.*)$", there.read_text(), flags=re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            assert anchor in slugs, f"{link}: {sorted(slugs)}"
