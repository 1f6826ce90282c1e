"""What a person sees of an explanation: the command, its reports, its pictures, and any trial again."""

from __future__ import annotations

import json
import shlex
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("no_other_process")
Command = Callable[..., tuple[int, str, str]]
CODE = """
def fit(sample, r):
    return {"first <b>row</b>": float(sample[0] > 0), "rows": len(sample)}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "learner.py").write_text(CODE)
    return tmp_path


def test_the_command_its_reports_and_its_trials_again(command: Command, folder: Path) -> None:
    words = ["explain", "learner.py:fit", "--source", "norm", "--size", "50", "--seed", "3", "--pairs", "100"]
    files = ["--json", "out.json", "--markdown", "out.md", "--svg", "out.svg"]
    code, out, _ = command(*words, *files, cwd=folder)
    assert code == 0
    assert "EXPLAINED" in out
    assert "row-order" in out
    assert "what to do: Sort the rows" in out
    assert "━━━" in out
    document = json.loads((folder / "out.json").read_text())
    main = document["answer"]["causes"][0]
    assert main["kind"] == "row-order"
    assert {*main} == {"kind", "before", "after", "message", "where", "replay", "cure"}
    assert "row-order" in (folder / "out.md").read_text()
    drawn = ElementTree.fromstring((folder / "out.svg").read_text())
    texts = ["".join(one.itertext()) for one in drawn.iter() if one.tag.endswith("text")]
    assert {"as it is", "without row-order"} <= set(texts)
    _, _, _, *again = shlex.split(main["replay"])
    code, out, _ = command(*again, cwd=folder)
    assert code == 0
    assert "DIFFERENT  pair" in out
    assert "SAME  the same pair in the experiment" in out
    place = next(place for place, row in enumerate(document["cells"]) if row["name"] == "as it is")
    pair = document["examples"][0]["pair"]
    words = ["replay", "out.json", "--pair", str(pair), "--cell", str(place), "--trust"]
    code, out, _ = command(*words, cwd=folder)
    assert code == 0
    assert f"DIFFERENT  pair {pair}" in out


def test_a_learner_that_raises_is_an_error_and_explains_nothing(command: Command, folder: Path) -> None:
    (folder / "raises.py").write_text("def fit(sample, r):\n    raise ValueError('too big')\n")
    code, out, error = command("explain", "raises.py:fit", "--source", "norm", "--size", "9", cwd=folder)
    assert code == 4
    assert "ERROR  raises.py:fit" in out + error
    assert "too big" in out + error
    assert not [words for words in ("EXPLAINED", "Not run", "without") if words in out]
