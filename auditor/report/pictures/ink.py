"""The strokes of a picture: SVG by hand, nothing to load. The one place that writes any; every text is escaped here.

A font is whatever the reader has; widths are those of a wide one, so that what does not touch here touches nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import msgspec
from msgspec.structs import replace

from auditor.process.escape import shortened, xml_text

SIZE, LINE = 12, 18  # of letters, and from line to line
DARK, GREY, LIGHT = "#222222", "#666666", "#dddddd"
_NARROW, _WIDE = frozenset(" .,:;'|!()[]ijlftrI-"), frozenset("mwMW@%&QOG")
_MARGIN, _GAP, _LONGEST = 12, 6, 1_000
_HEAD = 26  # where a picture without a title begins


def width_of(words: str, size: float = SIZE) -> float:
    """Of a text, or a little more."""
    return size * sum(0.42 if c in _NARROW else 1.0 if c in _WIDE or ord(c) > 0x2E7F else 0.68 for c in words)


class PlacedText(msgspec.Struct, frozen=True):
    """A text at a place; `anchor` says which of its ends, or its middle, is there."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    fill: str = DARK
    size: int = SIZE
    bold: bool = False

    @property
    def span(self) -> tuple[float, float]:
        """From where to where it goes."""
        width = width_of(self.text, self.size) * (1.1 if self.bold else 1.0)
        start = self.x - {"start": 0.0, "middle": width / 2, "end": width}[self.anchor]
        return start, start + width

    def __str__(self) -> str:
        weight = ' font-weight="bold"' if self.bold else ""
        place = f'x="{self.x:.1f}" y="{self.y:.1f}" text-anchor="{self.anchor}"'
        return f'<text {place} fill="{self.fill}" font-size="{self.size}"{weight}>{safe(self.text)}</text>'


def apart(labels: Iterable[PlacedText]) -> list[PlacedText]:
    """Those of a line of labels, from left to right, that do not touch: the first, and what has room after it."""
    kept: list[PlacedText] = []
    for each in labels:
        label = replace(each, x=each.x + max(0.0, _GAP - each.span[0]))  # within the picture
        if not kept or label.span[0] >= kept[-1].span[1] + _GAP:
            kept.append(label)
    return kept


def line(start: tuple[float, float], end: tuple[float, float], colour: str, *, width: float = 1, dash: str = "") -> str:
    ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line {ends} stroke="{colour}" stroke-width="{width:g}"{dashes}/>'


def dot(x: float, y: float, colour: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'


def box(x: float, y: float, width: float, height: float, colour: str, opacity: float = 1) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="{colour}" fill-opacity="{opacity:g}"/>'


def tiles(corners: Iterable[tuple[float, float, float, float]], colour: str) -> str:
    """Boxes of one colour, as (left, top, right, bottom)."""
    path = "".join(f"M{x:.1f} {y:.1f}H{right:.1f}V{bottom:.1f}H{x:.1f}z" for x, y, right, bottom in corners)
    return f'<path class="tiles" d="{path}" fill="{colour}" stroke="{colour}" stroke-width="0.5"/>'


def upper_limit(x: float, y: float, colour: str) -> str:
    """A cap, and an arrow down from it: nothing was seen, and it is not above this."""
    path = f"M {x - 5:.1f} {y:.1f} h 10 M {x:.1f} {y:.1f} v 16 m -3.5 -5 l 3.5 5 l 3.5 -5"
    return f'<path class="limit" d="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def document(
    title: str, drawn: Iterable[str | PlacedText], height: float, *, at: float, width: float, head: bool = True
) -> bytes:
    """As wide as asked for, and as the texts in it take; the title is read out even where no `head` shows it."""
    parts = [*([PlacedText(at, 20, shortened(title, _LONGEST), bold=True)] if head else []), *drawn]
    top = 0 if head else _HEAD
    width = max(width, *(one.span[1] + _MARGIN for one in parts if isinstance(one, PlacedText)))
    opened = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {top} {width:.0f} {height - top:.0f}" '
        f'font-family="sans-serif" font-size="{SIZE}" role="img" aria-label="{safe(title)}">\n'
        f"<title>{safe(title)}</title>\n"
    )
    ground = '<rect width="100%" height="100%" fill="#ffffff"/>' if head else ""
    return ("\n".join([opened + ground, *map(str, parts), "</svg>"]) + "\n").encode("utf-8", "backslashreplace")


def small(drawn: Iterable[str], width: float, height: float) -> str:
    """A sign within a text that says the same."""
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return f'<svg {size} aria-hidden="true">{"".join(drawn)}</svg>'


def safe(words: str) -> str:
    return escape(xml_text(shortened(words, _LONGEST)))
