"""The steps of action.yml, run as a runner would: in a clean folder, with its variables, and with hostile inputs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from auditor.case import Case
from auditor.cli.baseline import Baseline, Block

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
SHELLS = {"bash": ("bash", "--noprofile", "--norc", "-eo", "pipefail"), "python": ("python",)}
HOSTILE = "a.py:f; touch owned $(touch owned) `touch owned` && touch owned | tee owned > owned \" ' \\ \n touch owned"
LEARNER = """
def steady(sample, r):
    return 1

def shaky(sample, r):
    return float(sample[0])
"""
CONFIG = """
[[tool.auditor.subject]]
target = "learner.py:steady"
source = "norm"
size = 2
pairs = 100
expect = "no worse"
"""


class Runner:
    """A folder each for the checkout, for what is installed and for the runner's own files."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self.own, bin_ = (folder / name for name in ("work", "runner", "bin"))
        for made in (self.workspace, self.own, bin_):
            made.mkdir()
        # The package is installed here already: pip is only told to, with which words is seen.
        pip = f'echo "$@" >> {self.own}/pip; exit 0'
        shim = f'#!/bin/sh\nif [ "$2" = pip ]; then {pip}; fi\nexec {sys.executable} "$@"\n'
        (bin_ / "python").write_text(shim)
        (bin_ / "python").chmod(0o755)
        self.variables = {
            "PATH": f"{bin_}:/usr/bin:/bin",
            "HOME": str(folder),
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_OUTPUT": str(self.own / "output"),
            "GITHUB_STEP_SUMMARY": str(self.own / "summary.md"),
            "RUNNER_TEMP": str(self.own),
            "TMPDIR": str(self.own),
        }

    def use(self, **inputs: str) -> tuple[int, str, dict[str, str]]:
        """The action with these inputs: exit code, what the log shows, and its outputs."""
        given = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()} | inputs
        known = {f"inputs.{name}": value for name, value in given.items()}
        known |= {"github.action_path": str(ROOT), "github.job": "audit", "strategy.job-index": "0"}
        code, log = 0, ""
        for number, step in enumerate(one for one in ACTION["runs"]["steps"] if "run" in one):
            ended = self._run(number, step, known)
            code, log = code or ended.returncode, log + ended.stdout + ended.stderr
        lines = (self.own / "output").read_text().splitlines()
        return code, log, dict(line.split("=", 1) for line in lines)

    def _run(self, number: int, step: Mapping[str, Any], known: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        script = self.own / f"{number}"
        script.write_text(step["run"])
        env = {name: filled(text, known) for name, text in step["env"].items()}
        words = [*SHELLS[step["shell"]], str(script)]
        return subprocess.run(
            words, cwd=self.workspace, env={**self.variables, **env}, capture_output=True, text=True, check=False
        )


def filled(text: str, known: Mapping[str, str]) -> str:
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: known[found[1]], text)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_a_gate_with_a_page_and_a_baseline(runner: Runner) -> None:
    (runner.workspace / "learner.py").write_text(LEARNER)
    (runner.workspace / "pyproject.toml").write_text(CONFIG)
    case = Case(target="learner.py:steady", source="norm", size=2)
    counted = Block(case=case, confidence=0.95, pairs=100, mismatches=0)
    (runner.workspace / "our baseline.toml").write_text(Baseline("").updated([counted], []).text())
    code, log, outputs = runner.use(page="out.html", baseline="our baseline.toml", args="--json all.json")
    assert (code, outputs["exit-code"]) == (0, "0"), log
    (record,) = json.loads((runner.workspace / "all.json").read_text())
    assert record["answer"]["baseline"]["pairs"] == 100
    assert (runner.workspace / "out.html").read_text().startswith("<!doctype html>")
    assert outputs["artifact"] == "auditor-audit-0-out.html"
    assert (runner.own / "summary.md").read_text().startswith("\n### ")
    assert (runner.own / "pip").read_text().splitlines()[0] == f"-m pip install --quiet {ROOT}"


def test_a_fail_is_the_exit_code_and_is_annotated_and_summed_up(runner: Runner) -> None:
    (runner.workspace / "learner.py").write_text(LEARNER)
    code, log, outputs = runner.use(target="learner.py:shaky", args="--source norm --size 2", page="o.html")
    assert (code, outputs["exit-code"]) == (1, "1")
    line = next(line for line in log.splitlines() if line.startswith("::error "))
    assert line.startswith(
        "::error file=learner.py,line=5,title=auditor%3A fail%3A learner.py%3Ashaky::Two runs differed in each of "
    )
    assert "%0Anext: " in line
    summary = (runner.own / "summary.md").read_text()
    assert summary.startswith("\n### FAIL `learner.py:shaky`\n\nTwo runs differed in each of ")
    assert "| target | 0.1 |" in summary
    assert "What to try next" in summary
    assert (runner.workspace / "o.html").exists()


def test_inputs_full_of_shell_are_words(runner: Runner) -> None:
    """Of a command that shows what it was given, and does nothing else."""
    fake = runner.own / "auditor"
    fake.mkdir()
    (fake / "__init__.py").touch()
    (fake / "__main__.py").write_text("import json, sys; print(json.dumps(sys.argv[1:])); sys.exit(3)")
    runner.variables["PYTHONPATH"] = str(runner.own)
    code, log, outputs = runner.use(target=HOSTILE, page=HOSTILE, args='--source "bernoulli(0.5)" $(touch owned) ;id')
    words = ["--source", "bernoulli(0.5)", "$(touch", "owned)", ";id", f"--html={HOSTILE}"]
    assert json.loads(log) == ["check", *words, "--", HOSTILE]
    assert (code, outputs["exit-code"], set(outputs)) == (3, "3", {"exit-code", "artifact"})
    assert re.fullmatch(r"[\w.-]+", outputs["artifact"])
    _, log, _ = runner.use(baseline=HOSTILE)
    assert json.loads(log) == ["gate", f"--baseline={HOSTILE}"]
    assert not [*runner.workspace.iterdir()]


def test_no_input_is_pasted_into_a_script_and_the_page_is_uploaded_whatever_happens() -> None:
    steps = ACTION["runs"]["steps"]
    assert not any("${{" in step.get("run", "") for step in steps)
    used = {name for step in steps for name in re.findall(r"inputs\.([\w-]+)", json.dumps(step))}
    assert used == set(ACTION["inputs"])
    upload = steps[-1]
    assert upload["if"] == "always() && inputs.page != ''"
    assert upload["uses"].startswith("actions/upload-artifact@")
    assert upload["with"]["path"] == "${{ inputs.page }}"
    assert not any(one.get("required") for one in ACTION["inputs"].values())
