"""The report on the field is well formed, says what its JSON has, and a row of each table comes out again.

Chance: with the versions of the report a row is the same again, whatever the machine. With others its interval overlaps
that of the report unless one of the two misses its rho, which each does with probability below 2e-4.
"""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
_SPEC = importlib.util.spec_from_file_location("field_report", ROOT / "benchmarks" / "field.py")
assert _SPEC is not None
assert _SPEC.loader is not None
field = importlib.util.module_from_spec(_SPEC)  # not by the path: other files there have names of learners here
_SPEC.loader.exec_module(field)

REPORT: dict[str, Any] = json.loads((ROOT / "reports" / "field.json").read_text())
AGAIN = {
    "estimators": ("sklearn.naive_bayes:GaussianNB", "sklearn:load_iris", {}),
    "decisions": ("winner", "examples/data/scores.csv", {}),
    "own": ("rstat", None, {}),
}


def test_the_report_has_a_row_for_everything_or_a_reason() -> None:
    how, tables = REPORT["how"], REPORT["tables"]
    assert [*tables] == [*field.TABLES]
    assert sum(map(len, tables.values())) == how["rows"]
    assert how["each"] == pytest.approx(1 - (1 - how["confidence"]) / how["rows"])
    for row in (row for rows in tables.values() for row in rows):
        if "rho" in row:
            assert row["pairs"] == how["pairs"]
            assert 0 <= row["low"] <= row["rho"] <= row["high"] <= 1
            assert all(math.isfinite(value) for value in row.values() if isinstance(value, float))
        else:
            assert row["left_out"], row
    for name in tables:
        assert sum("rho" in row for row in tables[name]) > len(tables[name]) / 2


def test_no_claim_of_a_bundled_subject_is_refuted_unless_it_is_expected_to_fail() -> None:
    refuted = [
        row["subject"]
        for row in REPORT["tables"]["own"]
        if "rho" in row and row["claimed"] is not None and row["low"] > row["claimed"] and row["expect"] == "pass"
    ]
    assert refuted == []


def test_the_page_and_the_picture_say_what_the_json_has() -> None:
    assert (ROOT / "reports" / "field.md").read_text() == field.page(REPORT)
    assert (ROOT / "reports" / "field.svg").read_text() == field.picture(REPORT)


@pytest.mark.parametrize("table", AGAIN)
def test_a_row_of_each_table_comes_out_again(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.chdir(ROOT)
    subject, source, params = AGAIN[table]
    kept = next(
        row
        for row in REPORT["tables"][table]
        if (row["subject"], row["source"], row["params"]) == (subject, source, params)
    )
    how = REPORT["how"]
    found = field.measured(field.Asked(table, subject, source, params), how["pairs"], how["each"])
    print(
        f"{subject}: [{found['low']:.4f}, {found['high']:.4f}], the report has [{kept['low']:.4f}, {kept['high']:.4f}]"
    )
    if field.versions() == REPORT["versions"]:
        assert {key: value for key, value in found.items() if "seconds" not in key} == {
            key: value for key, value in kept.items() if "seconds" not in key
        }
    assert max(found["low"], kept["low"]) <= min(found["high"], kept["high"])


def test_what_a_ledger_has_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [field.Asked("own", "constant", None, {}), field.Asked("own", "hidden_state", None, {})]
    first = field.run(0.01, tmp_path / "field.jsonl", rows)
    monkeypatch.setattr(field, "measured", lambda *_: pytest.fail("a row was run again"))
    assert field.run(0.01, tmp_path / "field.jsonl", rows) == first
    assert "left_out" in first["tables"]["own"][1]
    assert first["tables"]["own"][0]["rho"] == 0
