"""The pictures of a page: drawn by the one builder, with what can be text set as text. All come out as markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from auditor.flow.parts import Bar, Chart
from auditor.process.escape import shortened
from auditor.report.page.pieces import Bars, Line
from auditor.report.pictures.strip import ruler, sparkline, strip, top_of
from auditor.statistics.outward import at_least, at_most

if TYPE_CHECKING:
    from markupsafe import Markup

_WIDE, _NARROW = 560, 250  # of a chart's axes, on a screen and on a phone
_NAME = 200  # characters


class Strip(NamedTuple):
    """One line of bars."""

    name: str
    words: str
    tone: str
    drawn: Markup


class Strips(NamedTuple):
    rows: list[Strip]
    ruler: Markup


def bars(part: Bars) -> Strips:
    """All on one scale, each with what it says in words."""
    top = top_of([bar for _, bar in part.rows])
    targets = {bar.target for _, bar in part.rows}
    rows = [
        Strip(
            shortened(name, _NAME), _in_words(bar), bar.verdict, _markup(strip(bar, top, f"{name}: {_in_words(bar)}"))
        )
        for name, bar in part.rows
    ]
    return Strips(rows, _markup(ruler(top, targets.pop() if len(targets) == 1 else None)))


def _in_words(bar: Bar) -> str:
    return f"seen {bar.centre:.3g}; may be {at_least(bar.low)} to {at_most(bar.high)}; target {bar.target:g}"


class Drawn(NamedTuple):
    """A chart twice, of which a page shows one, and its legend."""

    wide: Markup
    narrow: Markup
    legend: list[tuple[Markup, str]]


def chart(part: Chart) -> Drawn:
    from auditor.report.formats.svg import draw_axes, draw_sign, legend

    entries = [(_markup(draw_sign(sign, colour)), name) for sign, name, colour in legend(part)]
    return Drawn(_markup(draw_axes(part, _WIDE)), _markup(draw_axes(part, _NARROW)), entries)


def spark(line: Line) -> Markup:
    """What was measured before, and now; the words say the last two."""
    *_, (low, _, high) = line.history
    label = f"{len(line.history)} audits over time; the last: {at_least(low)} to {at_most(high)}"
    return _markup(sparkline(line.history, line.target, label))


def _markup(drawn: str) -> Markup:
    """What the builder made, which escapes every text in it."""
    from markupsafe import Markup

    return Markup(drawn)
