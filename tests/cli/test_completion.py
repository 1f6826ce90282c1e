"""Shell completion, as the page of commands says to set it up, in a real bash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.warm import Warm

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "commands.md").read_text()
SET_UP = 'eval "$(_AUDITOR_COMPLETE=bash_source auditor)"'
ASK = "COMP_WORDS=(auditor check --resa); COMP_CWORD=2; _auditor_completion auditor; echo ${COMPREPLY[@]}"


def test_bash_completes_options(tmp_path: Path) -> None:
    assert SET_UP in PAGE
    script = tmp_path / "auditor"  # what an installation puts on the path
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m auditor "$@"\n')
    script.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    words = ["bash", "-c", f"{SET_UP}; {ASK}"]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"PATH": path})
    assert done.stdout.split() == ["--resample"], done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_theirs(shell: str, warm: Warm) -> None:
    assert f"_AUDITOR_COMPLETE={shell}_source auditor" in PAGE
    done = warm.run(environment={"_AUDITOR_COMPLETE": f"{shell}_source"})
    assert "_auditor_completion" in done.stdout, done.stderr
