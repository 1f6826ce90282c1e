"""The report on the field is well formed, says what its JSON has, and a row of each table comes out again.

Chance: with the versions of the report a row is the same again, whatever the machine. With others its interval overlaps
that of the report unless one of the two misses its rho, which each does with probability below 1e-4.
"""

from __future__ import annotations

import importlib.util
import json
import math
import re
import sys
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
ROWS = [row for rows in REPORT["tables"].values() for row in rows]
AGAIN = {
    "estimators": "sklearn.naive_bayes:GaussianNB",
    "tests": "benchmarks/field_subjects.py:two_proportions",
    "decisions": "winner",
    "own": "fixed_threshold",
    "exact": "first_bit",
}
NEEDS = {"estimators": "sklearn", "tests": "statsmodels"}


def test_the_report_has_a_row_for_everything_or_a_reason() -> None:
    how, tables = REPORT["how"], REPORT["tables"]
    assert [*tables] == [*field.TABLES]
    assert len(ROWS) == how["rows"]
    assert how["each"] == pytest.approx(1 - (1 - how["confidence"]) / how["statements"])
    for table, rows in tables.items():
        assert sum("rho" in row for row in rows) > len(rows) / 2
        for row in rows:
            if "rho" not in row:
                assert row["left_out"]
                assert "auditor itself failed" not in row["left_out"]
                continue
            assert 0 <= row["low"] <= row["rho"] <= row["high"] <= 1
            assert all(math.isfinite(value) for value in row.values() if isinstance(value, float))
            if table != "exact":
                assert row["pairs"] in (field.LEAST, how["pairs"][table])
                assert row["pairs"] == how["pairs"][table] or row["seconds_a_run"] > 0.02  # slow when it was run


def test_each_kind_of_estimator_has_three_data_sets_and_causes_where_it_fails() -> None:
    how, rows = REPORT["how"], REPORT["tables"]["estimators"]
    for name in ("Ridge", "GaussianNB", "KMeans", "XGBClassifier", "LGBMRegressor", "CatBoostClassifier"):
        assert sum(row["subject"].endswith(f":{name}") for row in rows) == 3
    explained = [row for row in rows if "explain" in row]
    assert len(explained) > 20
    for row in explained:
        assert row["low"] > how["target"]
        assert row["seconds_a_run"] <= how["quick"]
        assert row["explain"]["says"]
        assert row["repair"]["says"]


def test_exact_rates_and_claims_are_not_contradicted() -> None:
    for row in REPORT["tables"]["exact"]:
        assert row["low"] <= row["exact"] <= row["high"], row
    own = [row for row in REPORT["tables"]["own"] if "rho" in row]
    refuted = []
    for row in own:
        least = [row["low"], *([row["worst"]["low"]] if "low" in row["worst"] else [])]
        assert row["exact"] is None or row["low"] <= row["exact"] <= row["high"], row
        if row["claimed"] is not None and row["expect"] == "pass" and max(least) > row["claimed"]:
            refuted.append(row["subject"])
    assert refuted == []


def test_the_page_and_the_picture_say_what_the_json_has() -> None:
    page = (ROOT / "reports" / "field.md").read_text()
    assert page == field.page(REPORT)
    assert (ROOT / "reports" / "field.svg").read_text() == field.picture(REPORT)
    assert len(re.findall(r"^\| `", page, re.MULTILINE)) == sum("rho" in row for row in ROWS) + sum(
        "explain" in row for row in ROWS
    )
    for name, used in REPORT["versions"].items():
        assert f"{name} {used}" in page


@pytest.mark.parametrize("table", AGAIN)
def test_a_row_of_each_table_comes_out_again(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(NEEDS.get(table, "numpy"))
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [*sys.path])  # a subject in a file puts its folder first, for good
    kept = next(row for row in REPORT["tables"][table] if row["subject"] == AGAIN[table])
    asked = next(
        one for one in getattr(field, table)() if (one.subject, one.source) == (kept["subject"], kept["source"])
    )
    again = field.at_exact(asked, REPORT["how"]["each"]) if table == "exact" else None
    found = again or field.measured(asked, kept["pairs"], REPORT["how"]["each"])
    if table == "own":
        found["worst"] = field.hunted(asked.subject, field.families()[asked.subject], REPORT["how"]["each"])
        assert max(found["worst"]["low"], kept["worst"]["low"]) <= min(found["worst"]["high"], kept["worst"]["high"])
    print(f"{asked.subject}: [{found['low']:.4f}, {found['high']:.4f}], kept [{kept['low']:.4f}, {kept['high']:.4f}]")
    if field.versions() == REPORT["versions"]:
        assert {key: value for key, value in found.items() if "seconds" not in key} == {
            key: kept[key] for key in found if "seconds" not in key
        }
    assert max(found["low"], kept["low"]) <= min(found["high"], kept["high"])


@pytest.mark.nightly
def test_a_cause_and_a_repair_come_out_again() -> None:
    pytest.importorskip("sklearn")
    kept = next(row for row in REPORT["tables"]["estimators"] if "explain" in row)
    asked = next(one for one in field.estimators() if one.first and one.subject == kept["subject"])
    assert field.explained(asked, REPORT["how"]["each"])["found"] == kept["explain"]["found"]
    assert field.repaired(asked, REPORT["how"]["each"])["found"] == kept["repair"]["found"]


def test_what_a_ledger_has_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(field, "families", dict)
    rows = [field.Asked("own", "constant"), field.Asked("own", "hidden_state")]
    first = field.run(0.01, tmp_path / "field.jsonl", rows)
    monkeypatch.setattr(field, "measured", lambda *_: pytest.fail("a row was run again"))
    assert field.run(0.01, tmp_path / "field.jsonl", rows) == first
    assert "left_out" in first["tables"]["own"][1]
    assert first["tables"]["own"][0]["rho"] == 0


def test_options_are_read_as_they_are_typed() -> None:
    words = '--over "bernoulli({p})" --range p=0:0.5 --size 100 --sample counts --no-integrate'
    known = {"over": "bernoulli({p})", "range": {"p": (0.0, 0.5)}, "size": 100, "sample": "counts"}
    assert field._typed(words) == {**known, "no_integrate": True}
