"""A curve: bands that hold, pairs that go where they tell most, a worst value that is confirmed, and how it looks."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from processes import wait_until
from scipy.stats import binom

from auditor.arms import Arm, highest, make_arms, spend, widest, widest_by_ratio
from auditor.command_line import run
from auditor.curve import run_curve
from auditor.pipeline import in_process
from auditor.randomness import arm_seed
from auditor.report.curve_record import CurveRecord, to_csv, to_json
from auditor.report.curves import plot, summary
from auditor.report.figure import figure
from auditor.setup import Setup, make_bench, make_setup
from auditor.subjects import load_subject
from auditor.trial import run_pair
from auditor.vary import make_points, parse_axis

pytestmark = pytest.mark.usefixtures("no_second_process")
MIXED = "algorithms.controls:mixed"  # rho = q
FIRST_BIT = "algorithms.controls:first_bit"  # rho = 2p(1-p)


class Quiet:
    def planned(self, setups: Sequence[Setup], budget: int) -> None: ...
    def started(self) -> None: ...
    def advanced(self, pairs: int, arm: Arm) -> None: ...
    def notice(self, words: str) -> None: ...


def measure(target: str, vary: str, source: str | None = None, **options: Any) -> CurveRecord:
    wanted = {"budget": None, "confidence": 0.95, "worst": False, "watch": Quiet()} | options
    axis, setups = make_points(target, parse_axis(vary), source, {}, None)
    return run_curve(axis, setups, **wanted)


@pytest.fixture(scope="module")
def known() -> CurveRecord:
    """rho = q over two decades."""
    return measure(MIXED, "q=0.01:1:log5", budget=6000, confidence=1 - 1e-6)


def test_every_band_holds_the_truth_and_the_exponent_is_one(known: CurveRecord) -> None:
    """False alarm 1e-6: the confidence of all of it together."""
    for point in known.points:
        assert point.low <= point.value <= point.high
        assert point.estimate == point.mismatches / point.pairs
    assert known.exponent is not None
    assert known.exponent.holds
    assert known.exponent.low <= 1 <= known.exponent.high
    assert known.exponent.high - known.exponent.low < 1


def test_pairs_add_up_and_go_where_the_band_is_widest(known: CurveRecord) -> None:
    assert sum(point.pairs for point in known.points) == known.budget == 6000
    pairs = [point.pairs for point in known.points]
    assert pairs[0] > 3 * pairs[3], "on a log axis a small rho takes more pairs for the same width"


def test_on_a_linear_axis_width_is_a_difference() -> None:
    """The band of a rho near 1/2 is the widest there; on a log axis it would be that of the smallest."""
    found = measure(FIRST_BIT, "p=0.01,0.02,0.5", "bernoulli({p})", budget=1500)
    assert found.is_log
    linear = measure(FIRST_BIT, "p=0.02:0.5:lin2", "bernoulli({p})", budget=1000)
    assert linear.points[1].pairs > linear.points[0].pairs
    assert found.points[2].pairs < found.points[0].pairs


def test_each_claim_spends_its_share(known: CurveRecord) -> None:
    """Five bands and the exponent."""
    assert 1 - known.band_confidence == pytest.approx(1e-6 / 6)
    searched = measure(FIRST_BIT, "p=0.3:0.7:lin3", "bernoulli({p})", budget=400, worst=True)
    assert 1 - searched.band_confidence == pytest.approx(0.05 / 4)


def test_the_same_seed_gives_the_same_curve() -> None:
    def counts() -> list[tuple[int, int]]:
        return [(p.pairs, p.mismatches) for p in measure(MIXED, "q=0.1,0.5", budget=500).points]

    assert counts() == counts()


def test_bands_hold_together_whoever_gets_the_pairs() -> None:
    """Simulated calibration: 30 curves at 80 % confidence. False alarm 1e-6."""
    runs, missed, alpha = 30, 0, 0.2
    truths = (0.05, 0.2, 0.6)
    axis, _ = make_points(MIXED, parse_axis("q=0.05,0.2,0.6"), None, {}, None)
    assert axis.values == truths
    for seed in range(runs):
        _, setups = make_points(MIXED, axis, None, {}, None, seed=seed)
        here = in_process()
        arms = make_arms(setups, 1 - alpha / 3, here, elsewhere=False)
        spend(arms, 300, (highest, widest, widest_by_ratio(0.01))[seed % 3], lambda pairs, arm: None, here)
        missed += any(not arm.band[0] <= q <= arm.band[1] for q, arm in zip(truths, arms, strict=True))
    most = binom.isf(1e-6, runs, alpha)
    print(f"{missed} of {runs} curves miss a truth, at most {most:.0f} allowed")
    assert missed <= most


def test_a_search_finds_the_worst_and_confirms_it_on_other_pairs() -> None:
    """rho = 2p(1-p) is largest at 1/2; 0.1 and 0.9 are far off. False alarm 1e-6 by the confidence."""
    found = measure(FIRST_BIT, "p=0.1:0.9:lin5", "bernoulli({p})", budget=3000, worst=True, confidence=1 - 1e-6)
    assert found.worst is not None
    assert 0.3 <= found.worst.value <= 0.7
    p = found.worst.value
    assert found.worst.low <= 2 * p * (1 - p) <= found.worst.high
    assert found.worst.seed not in {point.seed for point in found.points}, "fresh randomness"
    assert found.worst.pairs == 750
    searched = next(point for point in found.points if point.value == p)
    assert (searched.pairs, searched.mismatches) != (found.worst.pairs, found.worst.mismatches)
    ends = [point.pairs for point in found.points if point.value in (0.1, 0.9)]
    assert max(ends) < searched.pairs, "pairs go where rho may be largest"
    assert "Worst found" in " ".join(summary(found))


def test_a_theorem_that_is_shown_wrong_is_said(tmp_path: Path) -> None:
    (tmp_path / "bold.py").write_text(
        "import auditor\n"
        "@auditor.subject(source='norm', size=4, theorem='Theorem X', promise=lambda size: 1 / size**2)\n"
        "def bold(sample, r):\n    return float(sample[0]) if r.random() < 0.5 else 0.0\n"
    )
    found = measure(f"{tmp_path}/bold.py:bold", "size=1,4,16", budget=600)
    messages = [finding.message for finding in found.findings]
    assert len(messages) == 2  # 1/1 is no promise that could be broken
    assert all("Theorem X says that it is at most" in message for message in messages)
    assert found.points[0].promised == 1.0


def test_a_size_at_which_the_subject_raises_ends_that_point_alone(tmp_path: Path) -> None:
    (tmp_path / "fragile.py").write_text(
        "def fragile(sample, r):\n"
        "    if len(sample) > 50 and sample[0] > 2:\n        raise RuntimeError('too tall')\n    return 1\n"
    )
    found = measure(f"{tmp_path}/fragile.py:fragile", "size=10,100", "norm", budget=1000)
    fine, broken = found.points
    assert (fine.error, fine.pairs >= 500) == (None, True)
    assert broken.error is not None
    assert "RuntimeError" in broken.error
    assert 'raise RuntimeError("too tall")' in found.findings[0].message.replace("'", '"')


def test_no_two_points_share_their_randomness(known: CurveRecord) -> None:
    """The exponent multiplies the likelihoods of points; with one r for all, they would move together."""
    assert len({point.seed for point in known.points}) == len(known.points)
    assert known.seed == 0
    assert [point.seed for point in known.points] == [arm_seed(known.seed, i) for i in range(len(known.points))]
    same = measure(MIXED, "size=1:4:log3", budget=600)
    assert len({(point.pairs, point.mismatches) for point in same.points}) > 1


def test_a_point_replays_by_its_own_seed() -> None:
    """What the curve counted at a point is what an audit with the point's seed counts."""
    found = measure(FIRST_BIT, "p=0.2,0.5", "bernoulli({p})", budget=200, worst=True)
    assert found.worst is not None
    for value, pairs, mismatches, seed in (
        *((point.value, point.pairs, point.mismatches, point.seed) for point in found.points),
        (found.worst.value, found.worst.pairs, found.worst.mismatches, found.worst.seed),
    ):
        bench = make_bench(make_setup(load_subject(FIRST_BIT), f"bernoulli({value})", seed=seed))
        assert sum(run_pair(bench, i).difference is not None for i in range(pairs)) == mismatches
    assert f"--seed {found.worst.seed} " in str(found.worst.replay)
    assert run([*shlex.split(str(found.worst.replay))[3:]]) == 0


def test_a_law_steeper_than_most_is_not_cut_off(tmp_path: Path) -> None:
    """rho = (10 / size)^7, exactly. False alarm 5 % at this one seed, by the confidence."""
    (tmp_path / "steep.py").write_text(
        "def steep(sample, r):\n    return float(sample[0]) if r.random() < (10 / len(sample))**7 / 3 else 0.0\n"
    )
    found = measure(f"{tmp_path}/steep.py:steep", "size=10:20:log4", "norm", budget=2000)
    assert found.exponent is not None
    assert found.exponent.low <= -7 <= found.exponent.high
    assert found.exponent.high < -3


def test_a_confirmation_that_fails_is_no_confirmation(tmp_path: Path) -> None:
    """The subject raises wherever r is that of the confirmation's seed; all else that was measured is kept."""
    (tmp_path / "late.py").write_text(
        "def late(sample, r):\n"
        "    if r.random() in BAD:\n        raise ValueError('not here')\n"
        "    return float(sample[0]) if r.random() < 0.5 else 0.0\n"
        "import auditor.trial, auditor.randomness\n"
        "keys = auditor.trial.PairKeys(auditor.randomness.arm_seed(0, 2))\n"
        "BAD = {auditor.randomness.from_key(keys.r.child(i)).random() for i in range(50)}\n"
    )
    found = measure(f"{tmp_path}/late.py:late", "size=10,20", "norm", budget=400, worst=True)
    assert [finding.kind for finding in found.findings] == ["raised"]
    assert "not here" in found.findings[0].message
    assert found.findings[0].replay is not None
    assert f"--seed {arm_seed(0, 2)} " in found.findings[0].replay
    assert all(point.pairs and point.error is None for point in found.points)


def test_values_far_apart_are_drawn() -> None:
    found = measure(MIXED, "q=1e-300,1e-100,0.5", budget=300)
    assert plot(found, 60, ascii_only=True)
    ElementTree.fromstring(figure(found))


def test_json_and_csv_say_the_same(known: CurveRecord) -> None:
    document = json.loads(to_json(known))
    assert document["schema"] == "auditor.curve/1"
    rows = list(csv.DictReader(io.StringIO(to_csv(known).decode())))
    assert [float(row["q"]) for row in rows] == [point["value"] for point in document["points"]]
    assert [int(row["mismatches"]) for row in rows] == [point["mismatches"] for point in document["points"]]


def test_no_spreadsheet_runs_what_a_value_says(known: CurveRecord) -> None:
    hostile = msgspec.structs.replace(known.points[0], value="=1+1", error="@SUM(A1)")
    rows = list(csv.reader(io.StringIO(to_csv(msgspec.structs.replace(known, points=[hostile])).decode())))
    assert rows[1][0] == "'=1+1"
    assert rows[1][-1] == "'@SUM(A1)"


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("width", [24, 60, 99])
def test_the_plot_fits_and_has_a_dot_for_each_point(known: CurveRecord, width: int, ascii_only: bool) -> None:
    lines = plot(known, width, ascii_only=ascii_only)
    assert max(map(len, lines)) <= max(width, 24)
    assert sum(line.count("o" if ascii_only else "●") for line in lines) == len(known.points)
    assert not ascii_only or "".join(lines).isascii()


def test_the_picture_is_xml_and_everything_in_it_is_inside(known: CurveRecord) -> None:
    root = ElementTree.fromstring(figure(known))
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    circles = [node for node in root.iter() if node.tag.endswith("circle")]
    assert len(circles) == len(known.points)
    for node in circles:
        assert 0 <= float(node.attrib["cx"]) <= width
        assert 0 <= float(node.attrib["cy"]) <= height
    heights = [float(node.attrib["cy"]) for node in circles]
    assert heights == sorted(heights, reverse=True), "rho rises with q, and y grows downwards"


def test_a_name_with_markup_stays_text(known: CurveRecord) -> None:
    hostile = msgspec.structs.replace(known, subject="<script>\x1b[31m", vary="<b>")
    drawn = figure(hostile)
    ElementTree.fromstring(drawn)
    assert b"<script>" not in drawn
    assert b"\x1b" not in drawn


def test_the_command_writes_its_files_and_keeps_standard_output_clean(command: Any, tmp_path: Path) -> None:
    code, out, err = command(
        "curve", FIRST_BIT, "--vary", "p=0.2,0.5", "--source", "bernoulli({p})", "--pairs", "200", "--json", "-",
        "--csv", "c.csv", "--svg", "c.svg", cwd=tmp_path, columns=40,
    )  # fmt: skip
    assert code == 0, err
    assert [point["value"] for point in json.loads(out)["points"]] == [0.2, 0.5]
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
        ([], "Missing option"),
    ],
)
def test_what_cannot_be_measured_is_said(command: Any, arguments: list[str], complaint: str, tmp_path: Path) -> None:
    code, out, err = command("curve", MIXED, *arguments, cwd=tmp_path)
    assert code in (2, 4)
    assert complaint in re.sub(r"\s+", " ", err + out)  # what a subject raised is in the report
    assert "Traceback" not in err


def test_ctrl_c_shows_what_was_measured(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def learner(sample, r, *, q=0.0):\n"
        "    with open('runs', 'ab') as file:\n"
        "        file.write(b'.')\n"
        "    return r.random() < q and float(sample[0])\n"
    )
    words = ("curve", "mine.py:learner", "--source", "uniform", "--size", "1", "--vary", "q=0.1,0.5", "--pairs", "1e9")
    process = subprocess.Popen(
        [sys.executable, "-m", "auditor", *words, "--json", "c.json"],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    runs = tmp_path / "runs"
    assert wait_until(lambda: runs.exists() and runs.stat().st_size > 2000, of=process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode == 130
    assert "INTERRUPTED" in out
    found = json.loads((tmp_path / "c.json").read_text())
    assert found["interrupted"]
    assert all(point["low"] <= point["value"] <= point["high"] for point in found["points"])
