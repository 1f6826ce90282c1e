"""A command imports nobody's code: subjects, sources, views, oracles and analysts are loaded in hosts alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from auditor.cli.command_line import cli

# What a user has written: whatever a command is told to load is here, and would be found in the controller if it were.
MINE = """
import numpy as np
import auditor

def rows(rng, size): return rng.normal(size=size)
def fit(sample, r): return round(float(np.mean(sample)))
def seen(output): return output
def loss(output, sample): return np.zeros(len(sample))
def labelled(rng, size): return rng.normal(size=(size, 1)), np.zeros(size)
def shift(sample, r, by=0): return round(float(np.mean(sample[0]))) + by
def score(output, X, y): return float(output == 0)
score.range = (0, 1)
def size(rho=0.1): return 50

@auditor.subject(source=rows, size=size, claimed=lambda: 0.1, accuracy=lambda output, source, r, params: True)
def declared(sample, r, rho=0.1): return 1

@auditor.subject(source="norm", size=20)
def answers(sample, r, query=None): return 0.5
def analyst(ask, rng): return [ask(lambda row: 0.5) for _ in range(3)]
"""
PYPROJECT = '[[tool.auditor.subject]]\ntarget = "mine.py:declared"\n'
SOURCE = ("--source", "mine.py:rows", "--size", "20")
COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "check": [
        ("mine.py:fit", *SOURCE, "--view", "mine.py:seen", "--json", "record.json"),
        ("mine.py:fit", *SOURCE, "--loss", "mine.py:loss", "--delta", "0.5"),
        ("mine.py:declared", "--jobs", "2"),
        ("mine.py:declared", "--replay", "0"),
        ("mine",),
    ],
    "estimate": [("mine.py:fit", *SOURCE, "--half-width", "0.4")],
    "explain": [("mine.py:fit", *SOURCE)],
    "repair": [("mine.py:fit", *SOURCE)],
    "compare": [("mine.py:fit", "mine.py:declared", *SOURCE)],
    "choose": [
        (
            "mine.py:shift",
            "--vary",
            "by=0,1",
            "--source",
            "mine.py:labelled",
            "--size",
            "20",
            "--score",
            "mine.py:score",
        )
    ],
    "curve": [("mine.py:declared", "--vary", "size=10,20")],
    "price": [("mine.py:declared",)],
    "hunt": [("mine.py:fit", "--over", "bernoulli({p})", "--range", "p=0:1", "--size", "20", "--for", "0.3s")],
    "reuse": [("mine.py:answers", "--analyst", "mine.py:analyst", "--queries", "3", "--fixed", "30", "--rho", "0.1")],
    "gate": [("--config", "pyproject.toml")],
    "theorems": [("--only", "Theorem 2.3", "--for", "0.2s", "--reports", "reports")],
    "list": [("mine.py:declared",), ()],
    "replay": [("record.json", "--pair", "0", "--trust")],
    "history": [("mine.py:fit", "--ledger", "none.sqlite")],
    "page": [("record.json", "--html", "page.html")],
    "plan": [("--rho", "0.1")],
}
PROGRAM = """
import json, os, sys
from auditor.__main__ import _hide_working_folder
_hide_working_folder()
from auditor.cli.command_line import run
codes = []
for words in json.loads(sys.argv[1]):
    codes.append(run(words))
    loaded = {name: getattr(module, "__file__", None) or "" for name, module in [*sys.modules.items()]}
    here = os.getcwd()
    foreign = [name for name, file in loaded.items() if file.startswith(here) or name.split(".")[0] == "algorithms"]
    if foreign:
        sys.exit(f"{words} loaded {foreign}")
print(json.dumps(codes), file=open("codes.json", "w"))
"""


def test_no_command_imports_somebodys_code(tmp_path: Path) -> None:
    """Of any command that there is: a new one has no row here, and fails."""
    assert {*COMMANDS} == {*cli.list_commands(None)}  # type: ignore[arg-type]
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    asked = [[name, *words] for name, every in COMMANDS.items() for words in every]
    environment = os.environ | {"AUDITOR_SECOND_PROCESS": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, json.dumps(asked)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    codes = json.loads((tmp_path / "codes.json").read_text())
    ended = {" ".join(words): code for words, code in zip(asked, codes, strict=True)}
    assert {words for words, code in ended.items() if code not in (0, 1, 3)} == {
        f"history {' '.join(COMMANDS['history'][0])}"
    }
