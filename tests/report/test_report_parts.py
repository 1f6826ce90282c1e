"""Whatever a question says in parts is drawn by every format; and a format is found by being there."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from collections.abc import Sequence
from xml.etree import ElementTree

import msgspec
import pytest
from rich.console import Console
from support import requests

from auditor.errors import UsageError
from auditor.flow.parts import Bar, Chart, Command, Facts, Listing, Part, Series, Table, Words
from auditor.flow.record import Record, as_record, to_json
from auditor.report import formats
from auditor.report.formats.cells_csv import to_csv
from auditor.report.formats.markdown import markdown_of
from auditor.report.pictures.plot import plot
from auditor.report.pictures.svg import draw_chart, picture
from auditor.report.terminal import as_text, show_parts
from auditor.report.words import report_parts

NASTY = "[red]<b>\x1b[31m\u202e|`x`"
BANDS = Series("rho", "band", [(1.0, 0.1, 0.2, 0.3), (10.0, 0.2, 0.4, 0.6), (100.0, None, None, None)])
HELD = Series("a theorem", "line", [(1.0, None, 2.0, None), (10.0, None, 0.5, None), (100.0, None, 0.25, None)])
STEPS = Series("nu", "step", [(0.1, 0.3, 0.5, 0.8), (0.2, 0.1, 0.2, 0.4), (0.5, 0.0, 0.1, 0.3)])
CURVE = Chart("a title", "size", "rho", [BANDS, HELD], labels=("1", "ten", "100"), x_log=True, notes=("a note",))
PROFILE = Chart("a title", "eta", "nu", [STEPS], corner=(0.2, 0.25))


@pytest.fixture(scope="module")
def record() -> Record:
    return requests.audit(lambda sample, r: 1, lambda rng, size: rng.random(size), size=2)


def shown(parts: Sequence[Part], width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None, markup=False, emoji=False, highlight=False)
    show_parts(parts, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def nodes(document: bytes, tag: str) -> list[dict[str, str]]:
    """Those of the picture itself: the signs of its legend are left out."""
    root = ElementTree.fromstring(document)
    signs = {id(node) for legend in root.findall("{*}g[@class='legend']") for node in legend.iter()}
    return [node.attrib for node in root.iter() if node.tag.endswith(tag) and id(node) not in signs]


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("width", [24, 60, 99])
def test_a_plot_fits_and_has_what_was_measured(width: int, ascii_only: bool) -> None:
    lines, legend = plot(CURVE, width, ascii_only=ascii_only)
    whole = "\n".join(lines)
    assert max(map(len, lines)) <= width
    assert whole.count("o" if ascii_only else "●") == 2  # the third value was not measured
    assert legend == [("a", "a theorem")]
    assert whole.replace("ten", "").count("a") == 2, "a bound above 1 says nothing"
    assert "ten" in lines[-1]
    assert not ascii_only or whole.isascii()


def test_a_chart_of_steps_is_left_to_its_table_where_there_are_characters_only() -> None:
    assert shown([PROFILE]) == ""
    assert list(markdown_of([PROFILE])) == []


def test_a_picture_of_bands_has_all_of_it_inside() -> None:
    document = draw_chart(CURVE)
    width, height = map(float, nodes(document, "svg")[0]["viewBox"].split()[2:])
    circles = nodes(document, "circle")
    assert len(circles) == 2
    for circle in circles:
        assert 0 <= float(circle["cx"]) <= width
        assert 0 <= float(circle["cy"]) <= height
    (line,) = nodes(document, "polyline")
    assert len(line["points"].split()) == 2
    text = "".join(ElementTree.fromstring(document).itertext())
    assert all(word in text for word in ("a title", "size", "rho", "ten", "a theorem", "a note"))


def test_steps_claim_between_two_points_what_holds_there() -> None:
    """nu never rises: up to the next point it is below the limit of the left one and above that of the right one."""
    document = draw_chart(PROFILE)
    boxes = [box for box in nodes(document, "rect") if "x" in box]
    dots = [float(circle["cx"]) for circle in nodes(document, "circle")]
    assert [float(box["x"]) for box in boxes] == dots[:2]
    bottoms = [float(box["y"]) + float(box["height"]) for box in boxes]
    assert bottoms[0] < bottoms[1], "the lower limits are those at 0.2 and at 0.5: 0.1 and 0"
    assert float(boxes[0]["y"]) < float(boxes[1]["y"]), "the upper ones are those at 0.1 and at 0.2"
    (corner,) = nodes(document, "path")
    assert f"H {dots[1]:.1f} V" in corner["d"]


def test_numbers_that_are_no_shares_are_drawn_as_they_are() -> None:
    lines = Series("queries", "line", [(4.0, None, 1.0, None), (60.0, None, 30.0, None)])
    document = draw_chart(Chart("t", "bits", "times", [lines]))
    assert len(nodes(document, "polyline")[0]["points"].split()) == 2
    one = Chart("t", "x", "y", [Series("a", "band", [(3.0, 2.0, 5.0, 8.0)])])
    assert "●" in "".join(plot(one, 40, ascii_only=False)[0])
    draw_chart(one)
    draw_chart(Chart("t", "x", "y", [Series("a", "band", [(1.0, None, None, None)])], x_log=True, y_log=True))


@pytest.mark.parametrize("width", [40, 60, 100])
def test_columns_give_way_where_there_is_little_room_and_needed_ones_never(width: int) -> None:
    head = ("", "pairs", "mismatches", "at least", "at most", "Theorem 1.2", "Lemma 3.4")
    rows = [("a long name of a source", "1,234", "56", "0.0123", "0.0456", "0.123", "0.456")]
    text = shown([Table(head, rows, "A title:", extra=5)], width)
    assert max(map(len, text.splitlines())) <= width
    for cell in (*rows[0][1:5], *(word for name in head[:5] for word in name.split())):
        assert cell in text, "a number that is broken is another number"
    assert ("Lemma 3.4" in text) == (width == 100)
    (title, table) = markdown_of([Table(head, rows, "A title:", extra=5)])
    assert title == "A title:"
    assert "Lemma 3.4" in table


def test_every_text_of_every_part_is_data() -> None:
    chart = Chart(NASTY, NASTY, NASTY, [Series(NASTY, "band", BANDS.points)], labels=(NASTY,), notes=(NASTY,))
    held = Chart(NASTY, NASTY, NASTY, [BANDS, Series(NASTY, "line", HELD.points)])
    parts: list[Part] = [
        *(Words(f"PASS  {NASTY}", "title"), Words(NASTY), Facts([(NASTY, NASTY), ("b", "", NASTY, " c")])),
        *(Table((NASTY, "b"), [(NASTY, "1")], NASTY), Listing(NASTY, [NASTY], at=NASTY), Command(NASTY, NASTY)),
        *(Bar(0.0, 0.1, 0.0, 0.2, "pass"), chart, held),
    ]
    drawn = [shown(parts, 200), "\n\n".join(markdown_of(parts))]
    drawn += [draw_chart(one).decode() for one in (chart, held)]
    for text in drawn:
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "u202e" in text
    assert NASTY.partition("\x1b")[0] in drawn[0]
    for picture_of in drawn[2:]:
        assert "<b>" not in picture_of
        ElementTree.fromstring(picture_of)


def test_a_question_that_is_not_installed_can_be_read(record: Record) -> None:
    document = msgspec.to_builtins(record)
    document["question"], document["answer"] = "nobody's", {"question": "nobody's", "whatever": [1]}
    document["measures"][0] |= {"name": "width", "low": 0.25, "high": 0.5}
    text = as_text(as_record(document), 300, verbose=True)
    assert text.startswith("PASS  ")
    assert "width" in text
    assert "between 0.25 and 0.5 (95 % confidence" in text


def test_what_a_question_knows_better_stands_in_its_place(record: Record) -> None:
    (facts,) = [part for part in report_parts(record, verbose=True) if isinstance(part, Facts)]
    names = [row[0] for row in facts.rows]
    assert names == ["rho", "sample", "budget", "interval", "confidence", "cost"]
    found = requests.ask("reuse", _answer, _uniform, analyst=_analyst, queries=2, size=3, rho=0.5, fixed=40)
    (facts,) = [part for part in report_parts(found, verbose=True) if isinstance(part, Facts)]
    rows = {row[0]: "".join(row[1:]) for row in facts.rows}
    assert [*rows][:4] == ["distance", "above", "below", "analyst"]
    assert rows["confidence"].startswith("verdict and distance are one statement")
    (bar,) = [part for part in report_parts(found) if isinstance(part, Bar)]
    assert bar.target == 0.5


def _uniform(rng: object, size: int) -> object:
    return rng.random(size)  # type: ignore[attr-defined]


def _answer(sample: object, r: object, *, query: object) -> int:
    return 1


def _analyst(ask: object, rng: object) -> list[object]:
    return [ask(len), ask(len)]  # type: ignore[operator]


# Formats.


def test_every_format_draws_one_record_and_several(record: Record) -> None:
    assert set(formats.FORMATS) == {"json", "junit", "markdown", "svg", "csv", "html", "code-quality"}
    assert next(iter(formats.FORMATS)) == "json"
    for one in formats.FORMATS.values():
        assert one.words
        assert one.draw([record, record], 0.95, False)
        assert one.draw([record], 0.95, True)
    assert formats.FORMATS["json"].draw([record], 0.95, True) == to_json(record)


def test_a_record_without_a_chart_is_drawn_as_a_bar_for_each_cell(record: Record) -> None:
    drawn = ElementTree.fromstring(picture(record))
    assert len([node for node in drawn.iter() if node.tag.endswith("rect") and node.get("height") == "11.0"]) == 1
    row = record.cells[0]
    two = msgspec.structs.replace(record, cells=[row, msgspec.structs.replace(row, name="<b>")])
    drawn = ElementTree.fromstring(picture(two))
    assert len([node for node in drawn.iter() if node.tag.endswith("rect") and node.get("height") == "11.0"]) == 2
    assert "<b>" in "".join(drawn.itertext())
    with pytest.raises(UsageError, match="counted nothing"):
        picture(msgspec.structs.replace(two, cells=[], target=None))


def test_to_list_the_formats_imports_nothing_heavy() -> None:
    code = "import sys, auditor.report.formats as f; assert f.FORMATS; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_no_spreadsheet_runs_what_a_cell_says(record: Record) -> None:
    cell = msgspec.structs.replace(record.cells[0], name="=1+1", error="@SUM(A1)")
    rows = list(csv.reader(io.StringIO(to_csv(msgspec.structs.replace(record, cells=[cell])).decode())))
    assert rows[0] == ["cell", "pairs", "mismatches", "rho", "low", "high", "error"]
    assert (rows[1][0], rows[1][-1]) == ("'=1+1", "'@SUM(A1)")
    assert int(rows[1][1]) == record.pairs
