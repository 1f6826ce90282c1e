"""Any trial of any record can be run again: by the record, by the command that it names, and from Python."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.requests import audit

import auditor
from auditor.cli.command_line import run

pytestmark = pytest.mark.usefixtures("no_second_opinion")
LEARNERS = """
import numpy as np
import auditor

def rows(rng, size): return rng.random(size)
def other(rng, size): return rng.random(size) + 0.1
def first(sample, r): return float(sample[0]) > 0.3
def scaled(sample, r, *, x=1): return float(sample[0]) > 0.3 * x
def pairs(rng, size): return rng.random((size, 1)), np.zeros(size)
def above(sample, r, *, x=1): return float(sample[0][0, 0]) > 0.3 * x
def below(sample, r): return float(sample[0][0, 0]) < 0.5
def half(output, X, y): return 0.5
half.range = (0, 1)
def draws(sample, r, private): return int(private.integers(0, 3))
def loss(output, rows): return (rows > 0.5) * 1.0
def answer(sample, r, *, query): return round(float(np.mean(query(sample))), 1)
def twice(ask, rng):
    for _ in range(2): ask(lambda rows: rows > 0.5)
def rows_of(sample_scale): return max(1, round(4 * sample_scale))
@auditor.subject(source=rows, size=rows_of, theorem="T")
def shrunk(sample, r, *, sample_scale=1.0):
    return float(sample[rows_of(sample_scale) - 1]) if r.random() < 1 / rows_of(sample_scale) else 0.0
"""
ON = "--source again_mine:rows --size 4"
ASKED = {
    "rho": f"check again_mine:first {ON}",
    "sources": f"check again_mine:first {ON} --source again_mine:other",
    "inputs": f'check again_mine:scaled {ON} --inputs "x=[1, 2]"',
    "private": f"check again_mine:draws {ON}",
    "loss": f"check again_mine:first {ON} --loss again_mine:loss",
    "nu": f"check again_mine:first {ON} --eta 0.1 --nu 0.1",
    "nu of inputs": f'check again_mine:scaled {ON} --inputs "x=[1, 2]" --eta 0.1 --nu 0.1',
    "curve": "curve again_mine:first --source again_mine:rows --vary size=3,5 --pairs 200",
    "worst of a curve": f"curve again_mine:scaled {ON} --vary x=1,2 --worst --pairs 400",
    "choose": "choose again_mine:above again_mine:below --source again_mine:pairs --size 4 --score again_mine:half "
    "--vary x=1,2 --score-within 0.5 --margin 0.5",
    "estimate": f"estimate again_mine:first {ON} --half-width 0.2",
    "price": "price again_mine:first --source again_mine:rows --pairs 3000",
    "price of a scaled learner": "price again_mine:shrunk --rho 0.5 --pairs 150",
    "reuse": f"reuse again_mine:answer {ON} --analyst again_mine:twice --queries 2 --fixed 60",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "again_mine.py").write_text(LEARNERS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    sys.modules.pop("again_mine", None)


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[[list[str]], str]:
    def printed(words: list[str]) -> str:
        capsys.readouterr()
        assert run(words) == 0
        return capsys.readouterr().out

    return printed


@pytest.mark.parametrize("asked", ASKED)
def test_a_record_and_its_commands_run_the_same_trial(asked: str, printed: Callable[[list[str]], str]) -> None:
    run([*shlex.split(ASKED[asked]), "--json", "record.json"])
    record = json.loads(Path("record.json").read_bytes())
    shown = 0
    for number, cell in enumerate(record["cells"]):
        by_record = ["replay", "record.json", "--trust", "--cell", str(number)]
        if cell["replay"]:
            words = shlex.split(cell["replay"])[3:]
            again = printed(words)
            assert again == printed([*by_record, "--pair", words[words.index("--replay") + 1]])
            assert again.startswith("DIFFERENT")
            shown += 1
        printed([*by_record, "--pair", "10000"])  # one that the audit never got to
    assert shown


def test_a_record_with_several_cells_asks_which(printed: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run([*shlex.split(ASKED["sources"]), "--json", "record.json"])
    capsys.readouterr()
    for words, complaint in (
        (["--pair", "0"], "record.json has 2 cells: which one? Give --cell J, from 0 to 1"),
        (["--pair", "0", "--cell", "2"], "--cell 2 must be from 0 to 1: record.json has 2 cells"),
        (["--cell", "0", "--pair", "-1"], "--pair -1 must be the number of a pair, 0 or more"),
    ):
        assert run(["replay", "record.json", *words, "--trust"]) == 2
        assert complaint in " ".join(capsys.readouterr().err.split())


def test_from_python_a_pair_is_what_the_audit_saw() -> None:
    import again_mine

    record = audit(again_mine.first, again_mine.rows, size=4)
    found = auditor.replay(again_mine.first, again_mine.rows, size=4, pair=record.examples[0].pair)
    assert found.difference is not None
    assert found.outputs[0] is not found.outputs[1]
    several = auditor.replay(again_mine.scaled, again_mine.rows, size=4, inputs=[0, 9], pair=0, cell=1)
    assert several.outputs == (False, False)
    with pytest.raises(auditor.AuditorError, match="pair=-1 must be the number of a pair"):
        auditor.replay(again_mine.first, again_mine.rows, size=4, pair=-1)
