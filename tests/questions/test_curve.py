"""A curve: bands that hold, pairs that go where they tell most, a worst value that is confirmed, and how it looks."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import signal
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy.stats import binom
from support.requests import DIFFERS, ask, bench_of, drawn, inquiry_of, told

from auditor.cli.command_line import run
from auditor.errors import UsageError
from auditor.flow.parts import Chart
from auditor.flow.question import find_question
from auditor.flow.record import Record, as_record, to_json
from auditor.questions.curve.answer import answer_of, value_text
from auditor.randomness import cell_seed
from auditor.report.formats.cells_csv import to_csv
from auditor.report.pictures.plot import plot
from auditor.report.pictures.svg import picture
from auditor.report.terminal import as_text
from auditor.trials.trial import Trial, run_pair

MIXED = "algorithms.controls:mixed"  # rho = q
FIRST_BIT = "algorithms.controls:first_bit"  # rho = 2p(1-p)


def measure(target: str | Callable[..., Any], vary: object, source: object = None, **options: Any) -> Record:
    return ask("curve", target, source, vary=vary, **options)


@pytest.fixture(scope="module")
def known() -> Record:
    """rho = q over two decades."""
    return measure(MIXED, "q=0.01:1:log5", pairs=6000, confidence=1 - 1e-6)


def test_every_band_holds_the_truth_and_the_exponent_is_one(known: Record) -> None:
    """False alarm 1e-6: the confidence of all of it together."""
    for value, row in zip(answer_of(known).values, known.cells, strict=True):
        assert row.low <= value <= row.high
        assert row.estimate == row.mismatches / row.pairs
    fitted = answer_of(known).exponent
    assert fitted is not None
    assert fitted.holds
    assert fitted.low <= 1 <= fitted.high
    assert fitted.high - fitted.low < 1
    assert known.measures[0].low <= 1 <= known.measures[0].high, "the largest rho"
    pairs = [row.pairs for row in known.cells]
    assert sum(pairs) == known.budget == known.pairs == 6000
    assert pairs[0] > 3 * pairs[3], "on a log axis a small rho takes more pairs for the same width"


def test_bands_hold_together_whoever_gets_the_pairs() -> None:
    """Simulated calibration: 48 curves at 80 % confidence, by differences, by ratios, as a search. False alarm 1e-6."""
    runs, missed, alpha = 48, 0, 0.2
    truths, rng = (0.05, 0.2, 0.6), np.random.default_rng(5)
    for number in range(runs):
        vary, worst = [("size=1,2,3", False), ("size=1,2,9", False), ("size=1,2,3", True)][number % 3]
        inquiry: Any = inquiry_of(MIXED, None, "curve", vary=vary, worst=worst, pairs=300, confidence=1 - alpha)
        drawn(inquiry, lambda cell, one=inquiry: truths[cell if cell < 3 else one.place], rng)
        assert inquiry.totals[0] == 300
        places = [*range(3), *[inquiry.place] * worst]
        bands = [one.band for one in inquiry.counted]
        missed += any(not low <= truths[i] <= high for i, (low, high) in zip(places, bands, strict=True))
    most = binom.isf(1e-6, runs, alpha)
    print(f"{missed} of {runs} curves miss a truth, at most {most:.0f} allowed")
    assert missed <= most


def test_what_it_says_holds_whenever_one_looks() -> None:
    inquiry: Any = inquiry_of(MIXED, None, "curve", vary="q=0.1,0.5", worst=True, pairs=400)
    assert inquiry.verdict().outcome == "inconclusive"
    assert [row.pairs for row in inquiry.answer().rows] == [0, 0]
    rng = np.random.default_rng(0)

    def looking(cell: int, index: int) -> Trial:
        inquiry.outlook()
        if cell < len(inquiry.points):
            assert inquiry.verdict().outcome == "inconclusive", "the worst is not confirmed yet"
        return Trial(index, DIFFERS if rng.random() < 0.5 else None, None, 0.0)

    told(inquiry, looking)
    assert inquiry.verdict().outcome == "pass"
    assert inquiry.outlook().done == 400


def test_a_search_finds_the_worst_and_confirms_it_on_other_pairs() -> None:
    """rho = 2p(1-p) is largest at 1/2; 0.1 and 0.9 are far off. False alarm 1e-6 by the confidence."""
    found = measure(FIRST_BIT, "p=0.1:0.9:lin5", "bernoulli({p})", pairs=3000, worst=True, confidence=1 - 1e-6)
    answer, *points = answer_of(found), *found.cells
    worst, confirmed = answer.worst, points.pop()
    assert worst is not None
    assert 0.3 <= worst.value <= 0.7
    p = worst.value
    assert worst.low <= 2 * p * (1 - p) <= worst.high
    assert worst.seed not in {row.seed for row in points}, "fresh randomness"
    assert worst.pairs == confirmed.pairs == 750
    searched = points[answer.values.index(p)]
    assert (searched.pairs, searched.mismatches) != (worst.pairs, worst.mismatches)
    assert max(points[0].pairs, points[-1].pairs) < searched.pairs, "pairs go where rho may be largest"
    assert "Worst found" in as_text(found, verbose=True)


FRAGILE = """
def fragile(sample, r):
    if len(sample) > 50 and sample[0] > 2:
        raise RuntimeError('too tall')
    return 1

def small(sample, r):
    if len(sample) < 50:
        raise RuntimeError('too few')
    return 1
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_size_at_which_the_subject_raises_ends_that_point_alone(tmp_path: Path, jobs: int) -> None:
    (tmp_path / "fragile.py").write_text(FRAGILE)
    found = measure(f"{tmp_path}/fragile.py:fragile", "size=10,100", "norm", pairs=1000, jobs=jobs)
    fine, broken = found.cells
    assert (fine.error, fine.pairs >= 500) == (None, True)
    assert broken.error is not None
    assert "RuntimeError" in broken.error
    assert 'raise RuntimeError("too tall")' in found.findings[-1].message.replace("'", '"')
    assert f"--seed {broken.seed} --replay {broken.pairs}" in str(found.findings[-1].replay)
    assert (found.verdict, found.exit_code) == ("error", 4)


def test_the_first_size_may_be_the_one_that_raises(tmp_path: Path) -> None:
    (tmp_path / "fragile.py").write_text(FRAGILE)
    found = measure(f"{tmp_path}/fragile.py:small", "size=10,100", "norm", pairs=200)
    broken, fine = found.cells
    assert "RuntimeError" in str(broken.error)
    assert fine.pairs == 200
    assert found.verdict == "error"
    none = measure(f"{tmp_path}/fragile.py:small", "size=10,20", "norm", pairs=200)
    assert (none.verdict, none.pairs, [finding.kind for finding in none.findings]) == ("error", 0, ["raised"] * 2)


def test_a_point_replays_by_its_own_seed() -> None:
    """What the curve counted at a point is what an audit with the point's seed counts."""
    found = measure(FIRST_BIT, "p=0.2,0.5", "bernoulli({p})", pairs=200, worst=True)
    worst = answer_of(found).worst
    assert worst is not None
    for value, row in zip([*answer_of(found).values, worst.value], found.cells, strict=True):
        bench = bench_of(FIRST_BIT, f"bernoulli({value})", seed=row.seed)
        assert sum(run_pair(bench, i).difference is not None for i in range(row.pairs)) == row.mismatches
    assert f"--seed {worst.seed} " in str(worst.replay)
    assert run([*shlex.split(str(worst.replay))[3:]]) == 0


@pytest.mark.parametrize(("differing", "fits"), [({2}, False), ({1, 2}, True), ({0, 1, 2}, True)])
def test_an_exponent_takes_mismatches_at_two_values_of_a_log_axis(differing: set[int], fits: bool) -> None:
    for spacing in ("log3", "lin3"):
        inquiry = inquiry_of(MIXED, question="curve", vary=f"q=0.01:1:{spacing}", pairs=300)
        drawn(inquiry, lambda cell: float(cell in differing), np.random.default_rng(0))
        fitted: Any = inquiry.answer().fields
        assert (fitted.exponent is not None) == (fits and spacing == "log3")


def test_a_promise_is_kept_by_a_band_that_begins_at_it() -> None:
    inquiry: Any = inquiry_of(MIXED, question="curve", vary="q=0.01:1:log3", pairs=300)
    inquiry.promised = [0.0, 0.0, None]
    drawn(inquiry, lambda cell: float(cell == 1), np.random.default_rng(0))
    (finding,) = inquiry.answer().findings
    assert finding.message.startswith("at q=0.1, rho is at least")


def test_a_law_steeper_than_most_is_not_cut_off(tmp_path: Path) -> None:
    """rho = (10 / size)^7, exactly. False alarm 5 % at this one seed, by the confidence."""
    (tmp_path / "steep.py").write_text(
        "def steep(sample, r):\n    return float(sample[0]) if r.random() < (10 / len(sample))**7 / 3 else 0.0\n"
    )
    fitted = answer_of(measure(f"{tmp_path}/steep.py:steep", "size=10:20:log4", "norm", pairs=2000)).exponent
    assert fitted is not None
    assert fitted.low <= -7 <= fitted.high
    assert fitted.high < -3


def test_a_confirmation_that_fails_is_no_confirmation(tmp_path: Path) -> None:
    """The subject raises wherever r is that of the confirmation's seed; all else that was measured is kept."""
    (tmp_path / "late.py").write_text(
        "def late(sample, r):\n"
        "    if r.random() in BAD:\n        raise ValueError('not here')\n"
        "    return float(sample[0]) if r.random() < 0.5 else 0.0\n"
        "import auditor.trials.trial, auditor.randomness\n"
        "keys = auditor.trials.trial.PairKeys(auditor.randomness.cell_seed(0, 2))\n"
        "BAD = {auditor.randomness.from_key(keys.r.child(i)).random() for i in range(50)}\n"
    )
    found = measure(f"{tmp_path}/late.py:late", "size=10,20", "norm", pairs=400, worst=True)
    assert [finding.kind for finding in found.findings] == ["second-process", "raised"]
    assert "not here" in found.findings[1].message
    assert found.findings[1].replay is not None
    assert f"--seed {cell_seed(0, 2)} " in found.findings[1].replay
    assert all(row.pairs and row.error is None for row in found.cells[:2])
    assert found.verdict == "error"


def coin(sample: Any, r: np.random.Generator, *, q: float = 0.5) -> float:
    return float(sample[0]) if r.random() < q else 0.0


def either(sample: Any, r: np.random.Generator, *, kind: object = None) -> bool:
    return kind == "a"


def test_functions_and_values_are_taken_as_they_are() -> None:
    """In Python neither a subject, nor a source, nor an axis has to be a text."""
    found = measure(
        coin, {"q": np.array([0.5, 0.1])}, lambda rng, size: rng.normal(size=size), size=1, pairs=200, confidence=0.99
    )
    assert answer_of(found).values == [0.1, 0.5]
    assert all(row.pairs >= 32 for row in found.cells)
    json.loads(to_json(found))
    sizes = measure(coin, {"size": [1, 10]}, lambda rng, size: rng.normal(size=size), pairs=200, params={"q": 0.2})
    assert [row.size for row in sizes.cells] == [1, 10]
    with pytest.raises(UsageError, match="one name with its values"):
        measure(coin, {"q": [1], "size": [2]}, "norm")


def chart_of(record: Record) -> Chart:
    (chart,) = (part for part in find_question("curve").parts(record) if isinstance(part, Chart))
    return chart


def test_values_far_apart_and_values_that_are_no_numbers_are_drawn() -> None:
    found = measure(MIXED, "q=1e-300,1e-100,0.5", pairs=300)
    assert plot(chart_of(found), 60, ascii_only=True)[0]
    ElementTree.fromstring(picture(found))
    found = measure(either, {"kind": ["a", np.mean]}, "norm", size=1, pairs=200)
    assert [point[0] for point in chart_of(found).series[0].points] == [0.0, 1.0]
    assert chart_of(found).labels == ["a", "numpy:mean"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 60 + "..."),
        (True, "True"),
        (999_999, "999999"),
        (10**6, "1e+06"),
        (0.123456, "0.1235"),
    ],
)
def test_a_value_is_written_as_short_as_it_can_be_typed(value: object, text: str) -> None:
    assert value_text(value) == text


def test_a_record_that_was_read_and_its_table_say_the_same(known: Record) -> None:
    document = json.loads(to_json(known))
    question, read = find_question("curve"), as_record(document)
    assert list(question.parts(read)) == list(question.parts(known))
    assert (document["schema"], document["answer"]["question"]) == ("auditor.record/2", "curve")
    rows = list(csv.DictReader(io.StringIO(to_csv(known).decode())))
    assert [float(row["q"]) for row in rows] == document["answer"]["values"]
    assert [int(row["mismatches"]) for row in rows] == [cell["mismatches"] for cell in document["cells"]]
    cell = msgspec.structs.replace(known.cells[0], error="@SUM(A1)")
    answer = msgspec.structs.replace(known.answer, values=["=1+1"])
    rows = list(csv.reader(io.StringIO(to_csv(msgspec.structs.replace(known, cells=[cell], answer=answer)).decode())))
    assert (rows[1][0], rows[1][-1]) == ("'=1+1", "'@SUM(A1)"), "no spreadsheet runs what a value says"


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("width", [24, 60, 99])
def test_the_plot_fits_and_has_a_dot_for_each_point(known: Record, width: int, ascii_only: bool) -> None:
    lines, _ = plot(chart_of(known), width, ascii_only=ascii_only)
    assert max(map(len, lines)) <= max(width, 24)
    assert sum(line.count("o" if ascii_only else "●") for line in lines) == len(known.cells)
    assert not ascii_only or "".join(lines).isascii()


def test_the_picture_has_every_point_inside_and_no_markup_of_others(known: Record) -> None:
    answer = msgspec.structs.replace(known.answer, vary="<b>")
    drawn = picture(msgspec.structs.replace(known, subject="<script>\x1b[31m", answer=answer))
    assert b"<script>" not in drawn
    assert b"\x1b" not in drawn
    root = ElementTree.fromstring(drawn)
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    places = [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in root.findall("{*}circle")]
    assert len(places) == len(known.cells), "those of the legend are in a group of their own"
    assert all(0 <= x <= width and 0 <= y <= height for x, y in places)
    heights = [y for _, y in places]
    assert heights == sorted(heights, reverse=True), "rho rises with q, and y grows downwards"


def test_the_command_writes_its_files_and_keeps_standard_output_clean(command: Any, tmp_path: Path) -> None:
    code, out, err = command(
        "curve", FIRST_BIT, "--vary", "p=0.2,0.5", "--source", "bernoulli({p})", "--pairs", "200", "--json", "-",
        "--csv", "c.csv", "--svg", "c.svg", cwd=tmp_path, columns=40,
    )  # fmt: skip
    assert code == 0, err
    assert json.loads(out)["answer"]["values"] == [0.2, 0.5]
    assert "CURVE" in err
    assert max(len(line) for line in err.splitlines()) <= 40
    assert (tmp_path / "c.csv").read_text().startswith("p,pairs,mismatches")
    ElementTree.parse(tmp_path / "c.svg")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--vary", "q"], "--vary q must be NAME=VALUES"),
        (["--vary", "q=0.1,0.2", "--pairs", "5"], "--pairs 5 must be an integer of at least 128"),
        (["--vary", "q=0.1,2"], "q=2 must be in [0, 1]"),
        (["--vary", "q=0.1,0.2", "--confidence", "1.5"], "--confidence 1.5 must be in (0, 1)"),
        (["--vary", "q=0.1,0.2", "--csv", "/nowhere/x.csv"], "cannot write --csv"),
        ([], "curve needs --vary"),
    ],
)
def test_what_cannot_be_measured_is_said(command: Any, arguments: list[str], complaint: str, tmp_path: Path) -> None:
    code, out, err = command("curve", MIXED, *arguments, cwd=tmp_path)
    assert code in (2, 4)
    assert complaint in re.sub(r"\s+", " ", err + out)  # what a subject raised is in the report
    assert "Traceback" not in err


def test_ctrl_c_shows_what_was_measured(command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real signal, which comes in the middle of the thousandth pair."""
    (tmp_path / "mine.py").write_text(
        "import os, signal\nruns = []\n"
        "def learner(sample, r, *, q=0.0):\n"
        "    runs.append(1)\n"
        "    if len(runs) == 2000:\n"
        "        os.kill(int(os.environ['ASKING']), signal.SIGINT)\n"
        "    return r.random() < q and float(sample[0])\n"
    )
    words = ("curve", "mine.py:learner", "--source", "uniform", "--size", "1", "--vary", "q=0.1,0.5", "--pairs", "4000")
    monkeypatch.setenv("ASKING", str(os.getpid()))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # not so behind a shell's `&`
    try:
        code, out, _ = command(*words, "--jobs", "1", "--json", "c.json", cwd=tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == 130
    assert "INTERRUPTED" in out
    found = json.loads((tmp_path / "c.json").read_text())
    assert found["decided_by"] == "interrupt"
    assert sum(cell["pairs"] for cell in found["cells"]) > 900
    assert all(cell["low"] <= q <= cell["high"] for q, cell in zip((0.1, 0.5), found["cells"], strict=True))
