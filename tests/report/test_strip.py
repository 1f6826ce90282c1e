"""The small pictures of a page: every number is where its scale says."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from support.records import failed, passed

from auditor.flow.parts import Bar, top_of
from auditor.report.pictures.svg import ruler, sparkline, strip
from auditor.report.words import wobble_table


def percent(text: str | None) -> float:
    return float((text or "").rstrip("%"))


def share(text: str | None) -> float:
    """Of the line, which leaves 2 % free on either side."""
    return (percent(text) - 2) / 96


def by_class(drawn: str) -> dict[str, ElementTree.Element]:
    return {str(one.get("class")): one for one in ElementTree.fromstring(drawn)}


def test_a_strip_has_the_open_part_what_was_seen_and_the_target_in_their_places() -> None:
    found = by_class(strip(Bar(0.1, 0.3, 0.2, 0.25, "pass"), 0.5, "a <label>"))
    left = share(found["open"].get("x"))
    assert left == pytest.approx(0.2, abs=1e-4)
    assert left + percent(found["open"].get("width")) / 96 == pytest.approx(0.6, abs=2e-4)
    assert share(found["seen"].get("x1")) == pytest.approx(0.4, abs=1e-4)
    assert share(found["target"].get("x1")) == pytest.approx(0.5, abs=1e-4)
    assert "seen" not in by_class(strip(Bar(0.0, 0.3, 0.0, 0.25, "pass"), 0.5, ""))


def test_what_lies_beyond_the_end_ends_there() -> None:
    found = by_class(strip(Bar(0.3, 1.0, 1.0, 0.1, "fail"), 0.5, ""))
    assert share(found["open"].get("x")) + percent(found["open"].get("width")) / 96 == pytest.approx(1, abs=2e-4)
    assert share(found["seen"].get("x1")) == pytest.approx(1)


@pytest.mark.parametrize(
    ("bars", "top"),
    [
        ([Bar(0.0, 0.1, 0.0, 0.1, "pass")], 0.2),  # 1.25 * 1.6 * target
        ([Bar(0.1, 1.0, 1.0, 0.1, "fail")], 1.0),
        ([Bar(0.0, 0.4, 0.0, 0.1, "pass"), Bar(0.0, 0.1, 0.0, 0.1, "pass")], 0.5),
        ([], 1.0),
    ],
)
def test_the_line_ends_a_little_beyond_all_that_is_on_it(bars: list[Bar], top: float) -> None:
    assert top_of(bars) == pytest.approx(top)


def test_numbers_below_the_line_are_at_their_ticks_and_the_target_is_among_them() -> None:
    found = [(one.get("class"), one.text, share(one.get("x"))) for one in ElementTree.fromstring(ruler(1.0, 0.21))]
    assert found[-1][:2] == ("goal", "0.21")
    assert "0.2" not in [text for kind, text, _ in found if kind == "tick"]  # too near to it to be read
    for _, text, at in found:
        assert at == pytest.approx(float(text or ""), abs=1e-4)


def test_a_sparkline_has_a_point_an_audit_in_order_and_the_last_stands_out() -> None:
    drawn = ElementTree.fromstring(sparkline([(0.0, 0.0, 0.1), (0.0, 0.1, 0.2), (0.1, 0.2, 0.3)], 0.1, "three"))
    dots = [one for one in drawn if one.tag == "circle"]
    assert [one.get("class") for one in dots] == ["seen", "seen", "seen now"]
    across, down = [percent(one.get("cx")) for one in dots], [float(one.get("cy") or 0) for one in dots]
    assert across == sorted(across)
    assert down == sorted(down, reverse=True)  # what is larger stands higher
    target = next(one for one in drawn if one.get("class") == "target")
    assert float(target.get("y1") or 0) == down[1]


def test_the_table_of_what_wobbles_has_the_records_counts() -> None:
    table, seen = wobble_table(failed()), failed().wobbles
    assert table is not None
    assert seen is not None
    assert [int(row[1]) for row in table.rows] == [one.pairs for one in seen.elements]
    assert [re.sub(r"\D", "", row[0]) for row in table.rows] == [re.sub(r"\D", "", one.name) for one in seen.elements]
    assert wobble_table(passed()) is None
