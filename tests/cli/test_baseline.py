"""gate --baseline: the file that a person reviews, whose blocks stay, and what is said where it does not fit."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.case import Case
from auditor.cli.baseline import HEAD, Baseline, Block, read_baseline

pytestmark = pytest.mark.usefixtures("no_second_opinion")
Command = Callable[..., tuple[int, str, str]]
LEARNERS = """
def rows(rng, size):
    return rng.random(size)

def rough(sample, r, *, p=0.05):
    return bool(sample[0] < p)

def steady(sample, r):
    return 1
"""
CONFIG = """
[tool.auditor]
baseline = "kept/baseline.toml"

[[tool.auditor.subject]]
target = "rough_learners.py:rough"
source = "rough_learners.py:rows"
size = 3
pairs = 400
rho = 0.05
expect = "no worse"

[[tool.auditor.subject]]
target = "rough_learners.py:steady"
source = "rough_learners.py:rows"
size = 3
"""
OTHERS = """# Ours, do not touch.

# A word on the first.
[[subject]]
target = "a:b"   # as it was
source = "norm"
size = 1
confidence = 0.95
seed = 0
pairs = 10
mismatches = 1

[[subject]]
target = "z:z"
source = "norm"
size = 1
confidence = 0.95
seed = 0
pairs = 10
mismatches = 1
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "rough_learners.py").write_text(LEARNERS)
    (tmp_path / "pyproject.toml").write_text(CONFIG)
    (tmp_path / "kept").mkdir()
    return tmp_path


def block(target: str = "m:f", **changes: Any) -> Block:
    counted = {"confidence": 0.95, "pairs": 10, "mismatches": 1, "rho": None}
    counted |= {name: changes.pop(name) for name in counted if name in changes}
    return Block(case=Case(target=target, **{"source": "norm", "size": 1, **changes}), **counted)


def blocks_of(path: Path) -> dict[str, dict[str, Any]]:
    return {one["target"].rpartition(":")[2]: one for one in tomllib.loads(path.read_text())["subject"]}


def rewritten(project: Path, old: str, new: str) -> None:
    """The learners as somebody has changed them."""
    (project / "rough_learners.py").write_text(LEARNERS.replace(old, new))
    for name in [
        name for name, module in sys.modules.items() if "rough_learners" in str(getattr(module, "__file__", ""))
    ]:
        del sys.modules[name]


# The whole way.


def test_a_learner_is_held_to_what_it_was(project: Path, command: Command) -> None:
    file = project / "kept" / "baseline.toml"
    code, _, err = command("gate", cwd=project)
    assert (code, "No such file or directory; gate --update-baseline makes it" in err) == (2, True)
    code, out, _ = command("gate", "--update-baseline", cwd=project)
    assert code == 0
    assert "kept/baseline.toml: rough_learners.py:rough is new, " in out
    first = file.read_text()
    assert first.startswith(HEAD)
    kept = blocks_of(file)
    assert [*kept] == ["rough", "steady"]
    assert (kept["rough"]["pairs"], kept["rough"]["rho"], kept["rough"]["size"]) == (400, 0.05, 3)
    assert (kept["steady"]["mismatches"], kept["steady"]["rho"]) == (0, 0.1)
    assert len(kept["rough"]["code"]) == 32

    code, out, _ = command("gate", "--update-baseline", cwd=project)
    assert (code, file.read_text()) == (0, first)
    assert "subjects: 2, as they were: 2" in out

    code, out, _ = command("gate", "--json", "all.json", cwd=project)
    rough, _ = json.loads((project / "all.json").read_text())
    assert (code, rough["verdict"], rough["expect"], rough["pairs"]) == (0, "inconclusive", "no worse", 400)
    assert rough["confidence"] == 0.975  # its share of the error
    assert rough["answer"]["baseline"]["mismatches"] == kept["rough"]["mismatches"] == rough["mismatches"]

    rewritten(project, "p=0.05", "p=0.4")
    code, out, _ = command("gate", cwd=project)
    assert code == 1
    assert "rough_learners.py:rough: fail, expected no worse" in out
    assert "worse by more than the margin 0.05 (97.5 % confidence)" in out

    rewritten(project, "p=0.05", "p=0.000")  # of another length: bytecode is told apart by second and size
    code, out, _ = command("gate", "rough", cwd=project)
    assert code == 0
    assert "rough_learners.py:rough: rho fell from about " in out
    assert ": gate --update-baseline writes it" in out
    assert file.read_text() == first


def test_an_update_of_one_leaves_the_others_to_the_letter(project: Path, command: Command) -> None:
    file = project / "other.toml"
    file.write_text(OTHERS)
    code, _, _ = command("gate", "rough", "--update-baseline", "--baseline", "other.toml", cwd=project)
    assert code == 0
    before, _, after = OTHERS.partition('[[subject]]\ntarget = "z:z"')
    text = file.read_text()
    assert text.startswith(before)
    assert text.endswith('[[subject]]\ntarget = "z:z"' + after)
    assert [*blocks_of(file)] == ["b", "rough", "z"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("size = 3\npairs", "size = 4\npairs", "--size: 3 and 4; --update-baseline counts it afresh"),
        ("size = 3\npairs", 'size = 3\nview = "round(1)"\npairs', "--view: output and round(1)"),
        ("pairs = 400", "pairs = 400\nparams = { p = 0.3 }", "--param: none and p=0.3"),
        (
            ":rough",
            ":steady",
            "the baseline kept/baseline.toml has no rough_learners.py:steady: --update-baseline adds",
        ),
        ('"kept/baseline.toml"', '"kept"', "cannot read the baseline kept: it is a directory, and not a file"),
        ('baseline = "kept/baseline.toml"', "", "expect = 'no worse' needs a baseline: give --baseline FILE"),
        ('source = "rough', 'source = ["norm", "uniform"] #', "is for rho of one source and input: make an entry of"),
        ("rho = 0.05", 'measure = "churn"', "expect = 'no worse' is for rho, and churn is another"),
        ("rho = 0.05", 'question = "curve"\nvary = "size=1,2"', "expect = 'no worse' is for rho, and curve is another"),
        (
            "pairs = 400\nrho = 0.05",
            "list_size = 2\neta = 0.1",
            "expect = 'no worse' is for rho, and list_size is another",
        ),
        ("rho = 0.05", "margin = 2", "margin = 2 must be in [0, 1)"),
        ('"kept/baseline.toml"', '"kept/baseline.toml"\nmargin = -1', "[tool.auditor]: margin = -1 must be in [0, 1)"),
        ('expect = "no worse"', "margin = 0.1", "margin = 0.1 goes with expect = 'no worse'"),
    ],
)
def test_what_does_not_fit_is_told_before_anything_runs(
    project: Path, command: Command, old: str, new: str, words: str
) -> None:
    made = Baseline("kept/baseline.toml").updated(
        [block("rough_learners.py:rough", source="rough_learners.py:rows", size=3, pairs=400, mismatches=40)], []
    )
    (project / "kept" / "baseline.toml").write_text(made.text())
    (project / "pyproject.toml").write_text(CONFIG.replace(old, new, 1))
    code, out, err = command("gate", "--exitfirst", cwd=project)
    assert (code, out) == (2, "")
    assert words in err


def test_an_update_needs_a_place_that_can_be_written(project: Path, command: Command) -> None:
    code, _, err = command("gate", "--update-baseline", "--baseline", "nowhere/b.toml", cwd=project)
    assert (code, "cannot write --baseline nowhere/b.toml" in err) == (2, True)
    (project / "pyproject.toml").write_text(CONFIG.replace('baseline = "kept/baseline.toml"', ""))
    code, _, err = command("gate", "--update-baseline", cwd=project)
    assert (code, "--update-baseline needs to know where: give --baseline FILE" in err) == (2, True)


def test_what_raises_keeps_its_block(project: Path, command: Command) -> None:
    made = Baseline("b").updated([block("rough_learners.py:rough", source="rough_learners.py:rows", size=2)], [])
    (project / "kept" / "baseline.toml").write_text(made.text())
    rewritten(project, "return bool", "raise ValueError; bool")
    code, out, _ = command("gate", "--update-baseline", cwd=project)
    assert code == 4
    assert "rough_learners.py:rough is as it was: it was not counted to the end" in out
    assert blocks_of(project / "kept" / "baseline.toml")["rough"]["size"] == 2


def test_what_the_clock_cuts_short_is_no_baseline(project: Path, command: Command) -> None:
    code, out, _ = command("gate", "rough", "--update-baseline", "--for", "0.000001", cwd=project)
    assert code == 3
    assert "rough_learners.py:rough is as it was: it was not counted to the end" in out
    assert tomllib.loads((project / "kept" / "baseline.toml").read_text()) == {}


def test_two_entries_of_one_target_have_a_block_each(project: Path, command: Command) -> None:
    again = CONFIG.partition("[[")[2].partition("[[")[0].replace("pairs = 400", "pairs = 50\nparams = { p = 0.3 }")
    (project / "pyproject.toml").write_text(f"{CONFIG}\n[[{again}")
    assert command("gate", "rough", "--update-baseline", cwd=project)[0] == 0
    found = tomllib.loads((project / "kept" / "baseline.toml").read_text())["subject"]
    assert [(one["pairs"], one.get("params")) for one in found] == [(50, {"p": "0.3"}), (400, None)]
    code, out, _ = command("gate", "rough", "--junit", "j.xml", "--html", "h.html", cwd=project)
    assert (code, "2 of 2 as expected" in out) == (0, True)
    assert 'failures="0"' in (project / "j.xml").read_text()
    assert "no worse" in (project / "h.html").read_text()


def test_a_file_above_and_the_folder_that_it_is_in(project: Path, command: Command) -> None:
    """What the file names is there, what is typed is here."""
    below = project / "below"
    below.mkdir()
    assert command("gate", "--update-baseline", cwd=below)[0] == 0
    assert command("gate", "--update-baseline", "--baseline", "here.toml", cwd=below)[0] == 0
    assert (below / "here.toml").read_text() == (project / "kept" / "baseline.toml").read_text()


# The file.


def test_blocks_are_put_in_order_and_what_nobody_asks_for_any_more_is_left_out() -> None:
    old = Baseline("b").updated([block("m:f"), block("m:h"), block("m:a", size=2), block("m:a", size=1)], [])
    assert [(one.case.target, one.case.size) for one, _ in old.blocks] == [
        ("m:a", 1),
        ("m:a", 2),
        ("m:f", 1),
        ("m:h", 1),
    ]
    new = old.updated([block("m:g"), block("m:a", size=3), block("m:f", mismatches=5)], ["m:a", "m:f"])
    assert [(one.case.target, one.case.size, one.mismatches) for one, _ in new.blocks] == [
        ("m:a", 3, 1),
        ("m:f", 1, 5),
        ("m:g", 1, 1),
        ("m:h", 1, 1),
    ]
    kept = old.updated([block("m:a", size=3)], [])  # another audit of it was not run
    assert [one.case.size for one, _ in kept.blocks if one.case.target == "m:a"] == [1, 2, 3]


def test_an_order_that_somebody_chose_stays(tmp_path: Path) -> None:
    texts = [text for one in ("m:z", "m:b") for _, text in Baseline("b").updated([block(one)], []).blocks]
    (tmp_path / "b").write_text("\n".join(texts))
    new = read_baseline(str(tmp_path / "b"), makes=True).updated([block("m:c")], [])
    assert [one.case.target for one, _ in new.blocks] == ["m:c", "m:z", "m:b"]


def test_a_comment_above_a_block_outlives_its_counts(tmp_path: Path) -> None:
    (tmp_path / "b").write_text(OTHERS)
    new = read_baseline(str(tmp_path / "b"), makes=True).updated([block("a:b", pairs=99)], ["a:b"])
    assert "# A word on the first.\n[[subject]]\n" in new.text()
    assert "pairs = 99" in new.text()
    assert "as it was" not in new.text()


@given(
    st.text(), st.text(), st.dictionaries(st.text(), st.text(), max_size=3), st.integers(1, 2**62), st.floats(0.01, 0.9)
)
def test_any_text_comes_back_as_it_was(target: str, source: str, params: dict[str, str], size: int, rho: float) -> None:
    made = block(target, source=source, params=params, size=size, rho=rho)
    text = Baseline("b").updated([made], []).text()
    (read,) = tomllib.loads(text)["subject"]
    assert Block.read(read) == made


def test_a_baseline_excuses_no_subject_that_misses_its_own_target(project: Path, command: Command) -> None:
    file = project / "kept" / "baseline.toml"
    (project / "pyproject.toml").write_text(
        CONFIG.replace('expect = "no worse"\n', "").replace("rho = 0.05", "rho = 0.01")
    )
    code, out, _ = command("gate", "--update-baseline", cwd=project)
    assert code == 1
    words = "rough_learners.py:rough is as it was: it misses its own target, and no baseline excuses that"
    assert words in " ".join(out.split())
    assert [*blocks_of(file)] == ["steady"]
    (project / "pyproject.toml").write_text(CONFIG)
    assert command("gate", "--update-baseline", cwd=project)[0] == 0
    assert [*blocks_of(file)] == ["rough", "steady"]
