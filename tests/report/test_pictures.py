"""Pictures: a measured 0 is a limit from above, every series is in the legend, and no two texts touch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from support.requests import ask, audit

import auditor
from auditor.flow.parts import Bar, Chart, Series
from auditor.flow.record import Record
from auditor.report.formats import FORMATS
from auditor.report.pictures.svg import PlacedText, apart, draw_bars, draw_chart, picture, width_of

# Advance widths of DejaVu Sans, a wide font, in thousandths of its size: what a reader without any other sees.
ADVANCES = {"0": 636, "e": 615, "m": 974, "w": 818, "W": 989, "M": 863, "A": 684, "i": 278}  # fmt: skip
ADVANCES |= {" ": 318, ".": 318, "-": 361, ",": 318, "(": 390, ")": 390, ":": 337, "_": 500}  # fmt: skip
ADVANCES |= {"a": 613, "o": 612, "t": 392, "r": 411, "%": 950, "R": 695}
Box = tuple[float, float, float, float]


def boxes(document: bytes) -> Iterator[tuple[str, Box]]:
    """Each text with left, top, right and bottom, as the widest usual font draws it."""
    for node in ElementTree.fromstring(document).iter("{http://www.w3.org/2000/svg}text"):
        text, size = node.text or "", float(node.get("font-size", "12"))
        width = sum(ADVANCES.get(c, 640) for c in text) * size / 1000 * (1.1 if node.get("font-weight") else 1.0)
        x, y = float(node.get("x", "0")), float(node.get("y", "0"))
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[node.get("text-anchor", "start")]
        yield text, (left, y - 0.8 * size, left + width, y + 0.2 * size)


def check_texts(document: bytes) -> None:
    found = list(boxes(document))
    root = ElementTree.fromstring(document)
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    for text, (left, top, right, bottom) in found:
        assert 0 <= left <= right <= width, (text, left, right, width)
        assert 0 <= top <= bottom <= height, (text, top, bottom, height)
    for (one, a), (other, b) in itertools.combinations(found, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (one, other)


def legend(document: bytes) -> str:
    (group,) = ElementTree.fromstring(document).findall("{*}g[@class='legend']")
    return " | ".join(group.itertext())


def limits(document: bytes) -> list[ElementTree.Element]:
    return ElementTree.fromstring(document).findall("{*}path[@class='limit']")


def chart(*series: Series, **more: object) -> Chart:
    return Chart("a title", "size", "rho", series, **more)  # type: ignore[arg-type]


MEASURED = Series("rho, measured", "band", [(1.0, 0.0, 0.0, 0.04), (10.0, 0.1, 0.2, 0.3), (100.0, 0.0, 0.0, 0.02)])
LINE = Series("a theorem", "line", [(1.0, None, 0.3, None), (100.0, None, 0.1, None)])


@pytest.mark.parametrize("kind", ["band", "points", "step"])
@pytest.mark.parametrize("log", [False, True])
def test_a_measured_zero_is_drawn_as_an_upper_limit(kind: str, log: bool) -> None:
    series = Series("rho", kind, MEASURED.points)
    document = draw_chart(chart(series, y_log=log, x_log=log))
    assert len(ElementTree.fromstring(document).findall("{*}circle")) == 1
    found = limits(document)
    assert len(found) == 2
    heights = [float(node.attrib["d"].split()[2]) for node in found]
    assert heights[0] < heights[1], "0.04 stands above 0.02: an arrow begins at its limit"
    assert "an upper limit" in legend(document)
    seen = Series("rho", kind, [point for point in MEASURED.points if point[2]])
    assert not limits(draw_chart(chart(seen, y_log=log)))
    assert "an upper limit" not in legend(draw_chart(chart(seen, y_log=log)))


def test_every_series_has_its_line_in_the_legend() -> None:
    kinds = ("band", "points", "step", "line", "span", "mark")
    series = [Series(f"this is a {kind}", kind, [(1.0, 0.1, 0.2, 0.3), (9.0, 0.1, 0.2, 0.3)]) for kind in kinds]
    document = draw_chart(chart(*series, corner=(2.0, 0.25), notes=["a note"]))
    for kind in kinds:
        assert f"this is a {kind}" in legend(document)
    assert "what was asked: (2, 0.25)" in legend(document)
    colours = {
        node.get("fill") for node in ElementTree.fromstring(document).iter() if str(node.text).startswith("this")
    }
    assert len(colours) == len(kinds)
    check_texts(document)


@pytest.mark.parametrize("count", [2, 9, 40])
@pytest.mark.parametrize("log", [False, True])
def test_labels_do_not_touch_however_many_there_are(count: int, log: bool) -> None:
    points = [(10.0 ** (9 * i / count), 0.1, 0.2, 0.3) for i in range(count)]
    document = draw_chart(chart(Series("rho", "band", points), LINE, x_log=log, y_log=log))
    check_texts(document)
    words = [f"a value with a long name, number {i}" for i in range(count)]
    named = draw_chart(chart(Series("rho", "band", points), labels=words, notes=["a sentence of many words. " * 12]))
    check_texts(named)
    assert words[0] in "".join(ElementTree.fromstring(named).itertext())


def test_audits_without_a_target_are_refused_a_picture_of_bars() -> None:
    record = ask("curve", "algorithms.controls:mixed", "norm", vary="q=0.01,0.1", pairs=256, for_=1e-6)
    with pytest.raises(auditor.AuditorError, match="none of these audits has a target"):
        FORMATS["svg"].draw([record, record], 0.95, False)


def test_long_names_have_room_beside_bars() -> None:
    bars = [
        ("x" * length, Bar(0.0, 0.2, 0.1, 0.1, verdict)) for length, verdict in ((3, "pass"), (400, "fail"), (70, ""))
    ]
    document = draw_bars("a title that is long " * 5, bars)
    check_texts(document)
    assert [word in legend(document) for word in ("passed", "failed", "undecided", "the target")] == [True] * 4


def test_a_width_is_at_least_that_of_a_wide_font() -> None:
    for words in ("96,624 rows", "algorithms.statistical_query:rstat", "Theorem 2.3 asks for: 96,624", "0.0001"):
        assert width_of(words) >= sum(ADVANCES.get(c, 640) for c in words) * 12 / 1000
    labels = [PlacedText(x, 0, "1,000,000", "middle") for x in range(100, 600, 10)]
    kept = apart(labels)
    assert kept[0] == labels[0]
    assert all(a.span[1] < b.span[0] for a, b in itertools.pairwise(kept))
    assert len(kept) > 3


@pytest.fixture(scope="module")
def price() -> Record:
    """Of a learner that differs in about 20 of n pairs, and errs in as many runs."""

    def is_accurate(output: float, *, source: Any, r: Any, params: Any) -> bool:
        return output == 0

    @auditor.subject(source="uniform", size=1000, theorem="Theorem 9", accuracy=is_accurate, delta=0.3, plain=10)
    def settles(sample: Any, r: Any) -> float:
        return float(sample[0]) if r.random() < 20 / len(sample) else 0.0

    return ask("price", settles, rho=0.2, pairs=3000)


def test_a_price_is_a_picture_of_its_bracket(price: Record) -> None:
    document = picture(price)
    check_texts(document)
    (asked,) = (one for one in price.answer.asked if one.claim == "reproducible")
    said = legend(document)
    assert f"rho at most 0.2 takes {asked.low + 1:,} to {asked.high:,} rows" in said
    assert "Theorem 9 asks for: 1,000" in said
    assert "plain: as accurate, not reproducible: 10" in said
    root = ElementTree.fromstring(document)
    dots = len(root.findall("{*}circle")) + len(limits(document))
    assert dots == len(price.answer.asked) * sum(row.pairs > 0 for row in price.cells)
    target = next(line for line in root.findall("{*}polyline"))
    heights = {point.split(",")[1] for point in target.attrib["points"].split()}
    spans = [box for box in root.findall("{*}rect") if box.get("height") == "8.0"]
    assert heights == {f"{float(spans[0].attrib['y']) + 4:.1f}"}, "a bracket stands at the height of its limit"


def test_a_price_that_found_nothing_is_drawn_all_the_same(price: Record) -> None:
    nothing = [msgspec.structs.replace(one, low=None, high=None) for one in price.answer.asked]
    answer = msgspec.structs.replace(price.answer, asked=nothing)
    document = picture(msgspec.structs.replace(price, answer=answer))
    check_texts(document)
    assert "takes" not in legend(document)
    assert "What has no span was not found." in "".join(ElementTree.fromstring(document).itertext())


@pytest.mark.parametrize(
    "record",
    [
        lambda: audit("algorithms.known_answers:good_and_bad", eta=0.3, nu=0.3),
        lambda: ask("curve", "algorithms.controls:mixed", "norm", vary="q=0.01,0.1,1.0", pairs=400),
        lambda: audit("algorithms.controls:first_bit", ["bernoulli(0.1)", "bernoulli(0.02)"], size=1),
        lambda: audit("algorithms.controls:constant"),
    ],
    ids=["nu", "curve", "every", "rho"],
)
def test_no_texts_touch_in_the_picture_of_any_question(record: object) -> None:
    check_texts(picture(record()))  # type: ignore[operator]
