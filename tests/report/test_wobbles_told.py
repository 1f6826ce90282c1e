"""How a report says what wobbles, what was seen beside what is certain, and what to try next."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from support.requests import audit

from auditor.cli.command_line import run
from auditor.flow.parts import Bar, Listing
from auditor.flow.record import Record
from auditor.report.formats import FORMATS
from auditor.report.terminal import as_text
from auditor.report.words import advice, report_parts, wobble_parts
from auditor.values.elements import Element, SeenText, Wobbles


def coin(sample: np.ndarray, r: np.random.Generator) -> bool:
    return bool(sample[0] > 0)


def fit(sample: np.ndarray, r: np.random.Generator) -> dict[str, Any]:
    return {"slope": float(sample.mean()), "sign": int(sample.mean() > 0), "n": 3}


@pytest.fixture(scope="module")
def failed() -> Record:
    return audit(coin, "norm", size=3)


def lines(record: Record, view: str = "output", **seen: Any) -> list[str]:
    given: dict[str, Any] = {"pairs": 60, "of": 60, "mismatches": 30, "runs": 120, "distinct": 120, "frequent": []}
    made = Wobbles(**{**given, "kind": "array", **seen})
    (part,) = wobble_parts(msgspec.structs.replace(record, wobbles=made, view=view))
    assert isinstance(part, Listing)
    return [part.title, *part.texts]


def element(name: str, pairs: int, **more: Any) -> Element:
    return Element(name=name, pairs=pairs, **more)


BOTH = [SeenText("0", 30), SeenText("1", 30)]


@pytest.mark.parametrize(
    ("view", "seen", "expected"),
    [
        (
            "attr(support_)",
            {"kind": "choice", "distinct": 4, "frequent": [SeenText("{1, 9}", 85)], "unsteady": 1}
            | {"elements": [element("9", 30, runs=76)]},
            [
                "4 distinct outputs; the most frequent in 71 % of the runs: {1, 9}",
                "feature 9 is chosen in 63 % of the runs; the two runs disagree on it in 30 of 60 pairs",
            ],
        ),
        (
            "predict",
            {"size": 1000, "unsteady": 21, "elements": [element(f"[{i}]", 9 - i, values=BOTH) for i in range(5)]},
            [
                "all 120 outputs are distinct",
                "21 of 1,000 probe rows flip in some pair; most often:",
                "probe row 0 in 9 of 60 pairs (0 or 1)",
                "probe row 1 in 8 of 60 pairs (0 or 1)",
                "probe row 2 in 7 of 60 pairs (0 or 1)",
            ],
        ),
        (
            "output",
            {"kind": "dict", "unsteady": 2, "always": 1}
            | {"elements": [element("['slope']", 60, gap=0.03), element("['n'][2]", 3, values=BOTH)]},
            [
                "all 120 outputs are distinct",
                "key 'slope' differs in every pair, by 0.03 in the median",
                "output['n'][2] differs in 3 of 60 pairs (0 or 1)",
            ],
        ),
        (
            "output",
            {"size": 30, "unsteady": 30, "always": 30, "gap": 0.5, "elements": [element("[0]", 60, gap=0.5)]},
            ["all 120 outputs are distinct", "all 30 elements differ in every pair, by 0.5 in the median"],
        ),
        (
            "output",
            {"kind": "dict", "unsteady": 40, "whole": False, "elements": [element("['a']", 9), element("['b']", 8)]},
            [
                "all 120 outputs are distinct",
                "at least 40 elements differ in some pair; most often:",
                "key 'a' in 9 of 60 pairs",
                "key 'b' in 8 of 60 pairs",
            ],
        ),
        (
            "output",
            {"kind": "scalar", "unsteady": 1, "elements": [element("", 60, gap=0.25)]},
            ["the output differs in every pair, by 0.25 in the median"],
        ),
        (
            "output",
            {"kind": "dataclass", "distinct": None, "unsteady": 1, "elements": [element(".slope", 12, gap=1.5)]},
            ["slope differs in 12 of 60 pairs, by 1.5 in the median"],
        ),
    ],
)
def test_elements_are_told_as_their_author_would(
    view: str, seen: dict[str, Any], expected: list[str], failed: Record
) -> None:
    assert lines(failed, view, **seen)[1:] == expected


def test_it_says_over_how_many_pairs_was_counted(failed: Record) -> None:
    assert lines(failed)[0] == "What differs, in 60 pairs:"
    assert lines(failed, pairs=500, of=3000, runs=1000)[0] == "What differs, in the first 500 pairs:"
    assert lines(failed, pairs=58)[0] == "What differs, in 60 pairs, 2 without two outputs left out:"


@pytest.mark.parametrize(
    ("count", "share"), [(1, "1 %"), (1199, "more than 99 %"), (1200, "100 %"), (2, "less than 1 %")]
)
def test_a_share_is_never_all_or_none_where_it_is_not(count: int, share: str, failed: Record) -> None:
    runs = 120 if count == 1 else 1200
    said = lines(failed, kind="dict", runs=runs, distinct=2, frequent=[SeenText("", count)])[1]
    assert said == f"2 distinct outputs; the most frequent in {share} of the runs"


def test_the_words_claim_nothing_of_other_pairs() -> None:
    record = audit(fit, "norm", size=10)
    (part,) = wobble_parts(record)
    assert isinstance(part, Listing)
    assert not re.search(r"confiden|at least|at most|certain|probab|sure", " ".join([part.title, *part.texts]))


def test_where_nothing_differed_there_is_nothing_to_tell() -> None:
    record = audit(lambda sample, r: 3, "norm", size=3)
    assert record.wobbles is not None
    assert (record.verdict, [*wobble_parts(record)], [*advice(record)]) == ("pass", [], [])
    (bar,) = [part for part in report_parts(record) if isinstance(part, Bar)]
    assert bar.centre == 0
    assert "█──" not in (drawn := as_text(record, verbose=True))
    assert re.search(r" 0 ░+┃─+ 0.2", drawn)


def test_what_was_seen_stands_in_what_is_left_open(failed: Record) -> None:
    assert re.search(r" 0 ─+┃░*█░* \S+ *\n +target 0.1   █ seen  ░ left open", as_text(failed, verbose=True))


def test_methods_are_named_on_request_and_in_the_record(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["check", "algorithms.controls:first_bit", "--rho", "0.2", "--json", str(tmp_path / "r.json")]
    assert run(words) == 1
    assert "confidence sequence" not in " ".join(capsys.readouterr().out.split())
    assert "confidence sequence" in json.loads((tmp_path / "r.json").read_text())["rho"]["method"]
    assert run([*words, "--verbose"]) == 1
    assert "(95 % confidence, odds-ratio mixture confidence sequence)" in " ".join(capsys.readouterr().out.split())


def test_one_sided_and_two_sided_limits_are_told_apart() -> None:
    record = audit(coin, "norm", size=3, fixed=200)
    text = " ".join(as_text(record, verbose=True).split())
    assert "and at least " in record.reason
    assert "confidence, Clopper-Pearson), apart from the verdict" in text


# What to try next.


def advised(record: Record) -> list[str]:
    return [text for part in advice(record) if isinstance(part, Listing) for text in part.texts]


def test_numbers_near_the_largest_have_no_tolerance() -> None:
    record = audit(lambda sample, r: float(sample[0]) * 1.7e308, "uniform(-1, 2)", size=1)
    assert advised(record)[0].startswith("The numbers are too far apart for any tolerance: compare a decision")


def test_numbers_of_few_pairs_name_no_tolerance() -> None:
    mean = audit(lambda sample, r: float(sample.mean()), "norm", size=4000)
    assert re.match(r"--atol 0\.\d+: numbers were up to 0\.\d+ apart, and are further in at most", advised(mean)[0])
    few = msgspec.structs.replace(mean, cost=msgspec.structs.replace(mean.cost, advice=None))
    assert mean.wobbles is not None
    furthest = f"The numbers of two runs were up to {mean.wobbles.largest:.3g} apart in 2 pairs"
    few_words = "an --atol must be larger than that, and 2 pairs are too few to say what would do."
    assert advised(few)[0] == f"{furthest}: {few_words}"


def test_labels_that_trade_names_are_recognised() -> None:
    halves = np.arange(40) // 20
    record = audit(lambda sample, r: halves if sample[0] > 0 else 1 - halves, "norm", size=2)
    assert advised(record)[0] == "--view partition: the labels have other names, and but for these no pairs differ."
    few = msgspec.structs.replace(record, cost=msgspec.structs.replace(record.cost, advice=None))
    assert "the same rows belong together, or nearly, and only the labels have other names" in advised(few)[0]


class Threshold:
    def __init__(self, cut: float) -> None:
        self.cut = cut

    def predict(self, rows: Any) -> Any:
        return (np.asarray(rows).ravel() > self.cut).astype(int)


def test_few_rows_that_flip_are_for_churn() -> None:
    record = audit(lambda sample, r: Threshold(sample.mean()), "norm", size=400, view="predict")
    assert record.verdict == "fail"
    assert re.match(r"--measure churn: 0.0\d+ of the predictions change on average, within", advised(record)[0])
    by_churn = audit(
        lambda sample, r: Threshold(sample.mean()), "norm", size=4, view="predict", measure="churn", rho=0.01
    )
    assert not any("--measure churn" in text for text in advised(by_churn))


def test_other_questions_are_named_and_price_where_more_rows_help(failed: Record) -> None:
    assert any("explain" in text and "repair" in text and "price" not in text for text in advised(failed))
    settled = audit(lambda sample, r: bool(sample.mean() > 0.3), "norm", size=40, rho=0.02)
    assert re.search(r"price how many rows would do: with 10 rows \d+ of 298 pairs differ", advised(settled)[-1])


@pytest.mark.parametrize("verdict", ["pass", "inconclusive", "error"])
def test_only_a_fail_is_advised(verdict: str, failed: Record) -> None:
    assert advised(failed)
    assert not advised(msgspec.structs.replace(failed, verdict=verdict))
    assert not advised(msgspec.structs.replace(failed, decided_by="accuracy"))


# Where it is told.


def test_every_report_tells_it(failed: Record) -> None:
    text = "the output differs in "
    assert text in as_text(failed, verbose=True)
    for name in ("markdown", "junit"):
        assert text in FORMATS[name].draw([failed], 0.95, True).decode()
    assert json.loads(FORMATS["json"].draw([failed], 0.95, True))["wobbles"]["mismatches"] == failed.mismatches


LEARNERS = """
import numpy as np
import pandas as pd

def rows(rng, size): return rng.random(size)
def spiteful(sample, r): return {"\\x1b[31m::error::x\\n": bool(sample[0] > 0.5)}
def series(sample, r): return pd.Series(np.append(sample[:60].round(1), 7), index=[f"k{i}" for i in range(61)])
def text(sample, r): return "a" * 900 + str(sample[0])
def constant(sample, r): return [1] * 500
"""


@pytest.fixture
def call(tmp_path: Path, command: Callable[..., tuple[int, str, str]]) -> Callable[..., str]:
    (tmp_path / "wobbly.py").write_text(LEARNERS)
    return lambda *words: command(*words, cwd=tmp_path, columns=80)[1]


ON = ("--source", "wobbly.py:rows", "--size", "60")


def test_a_replay_shows_what_differs_and_no_whole_output(call: Callable[..., str]) -> None:
    out = call("check", "wobbly.py:series", *ON, "--replay", "0")
    found = re.search(r"(\d+) elements differ, of which the first 10 are:", out)
    assert found
    assert len(re.findall(r"^output\['k\d+'\] +\d\.\d +\d\.\d *$", out, re.M)) == 10
    assert "k60" not in out
    assert "dtype" not in out
    out = call("check", "wobbly.py:text", *ON, "--replay", "0")
    assert "they differ from character 90" in out
    assert "a" * 50 not in out
    out = call("check", "wobbly.py:constant", *ON, "--replay", "0")
    assert out.startswith("SAME  pair 0")
    assert len(out) < 400


def test_names_from_an_output_are_harmless(call: Callable[..., str]) -> None:
    out = call("check", "wobbly.py:spiteful", *ON)
    assert re.search(r"key \S*error::x\S* (differs in every pair|differs in)", out)
    assert "\x1b[31m" not in out
    assert not any(line.startswith("::error") for line in out.splitlines())


def test_a_gate_shows_for_a_failure_what_check_shows(call: Callable[..., str], tmp_path: Path) -> None:
    entries = [f'[[tool.auditor.subject]]\ntarget = "wobbly.py:{name}"' for name in ("spiteful", "constant")]
    options = '\nsource = "wobbly.py:rows"\nsize = 60\n'
    (tmp_path / "pyproject.toml").write_text("".join(entry + options for entry in entries))
    out = call("gate")
    for words in ("What differs, in ", "The outputs of pair ", "replay it with:", "What to try next"):
        assert out.count(words) == 1, words
    assert "python -m auditor check wobbly.py:spiteful --source wobbly.py:rows --size 60 --replay" in out
    assert "odds-ratio" not in out
    full = call("gate", "--verbose")
    assert "odds-ratio mixture" in " ".join(full.split())


def test_the_worst_of_several_says_of_which_it_speaks() -> None:
    record = audit(fit, ["norm(loc=9)", "norm"], size=5, view=lambda output: output["sign"])
    assert record.verdict == "fail"
    (part,) = wobble_parts(record)
    assert isinstance(part, Listing)
    assert part.title.startswith("What differs with norm, in ")
    passed = audit(fit, ["norm(loc=9)", "norm(loc=8)"], size=5, view=lambda output: output["sign"])
    assert re.search(r"; no two runs differed in any of \d+ pairs$", passed.reason)


def test_frames_name_their_rows_and_columns() -> None:
    def table(sample: np.ndarray, r: np.random.Generator) -> pd.DataFrame:
        return pd.DataFrame({"tall": [bool(sample[0] > 0), True], "old": [1, 2]}, index=["ann", "bob"])

    (part,) = wobble_parts(audit(table, "norm", size=2))
    assert isinstance(part, Listing)
    assert any(text.startswith("output['tall']['ann'] differs in ") for text in part.texts)
