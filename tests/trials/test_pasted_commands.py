"""A printed replay command is pasted into a real shell in the same folder, however its module got onto the path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import auditor

LEARNER = """
from inner import settings  # found where this module was

def rows(rng, size): return rng.random(size)
def mean(sample, r, *, f=None): return float(sample.mean()) * settings.SCALE
"""
SAY = """
    assert record.preflight.second_process == "same", record.preflight
    print("COMMAND", record.examples[0].replay)
"""
SCRIPT = f"""
import sys; sys.path.insert(0, "src")
import auditor, learners.means

if __name__ == "__main__":
    record = auditor.audit(learners.means.mean, learners.means.rows, size=20)
{SAY}
"""
TEST = f"""
import auditor, learners.means

def here(sample, r): return learners.means.mean(sample, r)

def test_here():
    record = auditor.audit(here, learners.means.rows, size=20, jobs=2)
{SAY}
def test_there():
    record = auditor.audit(learners.means.mean, learners.means.rows, size=20)
{SAY}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for package, module, text in (("learners", "means", LEARNER), ("inner", "settings", "SCALE = 2")):
        (tmp_path / "src" / package).mkdir(parents=True)
        (tmp_path / "src" / package / "__init__.py").touch()
        (tmp_path / "src" / package / f"{module}.py").write_text(text)
    (tmp_path / "unit.tests").mkdir()
    (tmp_path / "unit.tests" / "test_means.py").write_text(TEST)
    (tmp_path / "script.py").write_text(SCRIPT)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(auditor.__file__).parents[1]))  # which a command has to leave there
    return tmp_path


def run(words: str, cwd: Path) -> str:
    ended = subprocess.run(["bash", "-c", words], cwd=cwd, capture_output=True, text=True)
    assert ended.returncode == 0, f"{words}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


WORDS = "check learners.means:mean --source learners.means:rows --size 20"
THERE = f"PYTHONPATH=src:$PYTHONPATH python -m auditor {WORDS} --replay 0"


def printed(said: str) -> list[str]:
    return [line.partition("COMMAND ")[2] for line in said.splitlines() if "COMMAND " in line]


def test_from_pythonpath(project: Path) -> None:
    run(f"PYTHONPATH=src:$PYTHONPATH python -m auditor {WORDS} --json record.json || test $? = 1", project)
    assert json.loads((project / "record.json").read_text())["examples"][0]["replay"] == THERE
    assert "pair 0" in run(THERE, project)


@pytest.mark.nightly  # the way of the test above
def test_from_a_script(project: Path) -> None:
    assert printed(run("python script.py", project)) == [THERE]


@pytest.mark.parametrize(
    ("mode", "target"),
    [
        ("importlib", "unit.tests/test_means.py:here"),
        pytest.param("prepend", "test_means:here", marks=pytest.mark.nightly),
    ],
)
def test_from_pytest(mode: str, target: str, project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["src"]\n')
    alone = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest -qs -p no:cacheprovider"
    here, there = printed(run(f"{alone} --import-mode={mode}", project))
    assert there == THERE, "which is pasted above"
    path, _, words = here.partition("python -m auditor check ")
    assert path.startswith("PYTHONPATH=")
    assert words.startswith(f"{target} ")
    assert "pair 0" in run(here, project)
