"""A page is one HTML file, made from sections of parts by templates that escape all that they are given.

    page("Title", Section("What came out", [Words("..."), Chart(...)]), ...)

Whatever is made of the parts of flow/parts.py can be shown, and the pieces here, which only a page has. Hidden and
bidirectional characters are shown as escapes, by one rule for every value. The page forbids itself all requests, and
all scripts but its own; it can be read without them.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from auditor import __version__
from auditor.escape import shortened, xml_text
from auditor.flow.parts import Bar, Chart, Part, Table, top_of
from auditor.report.pictures.svg import draw_axes, draw_sign, legend, ruler, sparkline, strip
from auditor.statistics.digits import at_least, at_most, exact

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_TEMPLATES = Path(__file__).parent / "templates"
_CELL, _BLOCK, _ROWS = 300, 4_000, 100  # characters of a cell and of a block, rows of a table
_NAME = 200  # characters of what a bar is of
_MANY = 24  # lines from which on a block is folded
_WIDE, _NARROW = 560, 250  # of a chart's axes, on a screen and on a phone
_WORDS = re.compile(r"(?<=[.:/_])(?=\w)")
_NUMBER = re.compile(r"(?:[<>]=?|about|~)?\s*[-+]?[\d,.]+(?:e[-+]?\d+)?\s*%?(?: (?:to|of) [\d,.e+-]+)?")


class Bars(msgspec.Struct, frozen=True):
    """Ranges that are left open for shares, a line each with its name, on one scale."""

    what: str
    rows: Sequence[tuple[str, Bar]]


class Points(msgspec.Struct, frozen=True):
    """A list of sentences."""

    texts: Sequence[str]


class Sides(msgspec.Struct, frozen=True):
    """Two outputs side by side, each as (text, differs) in turn; `at` is where in the output."""

    title: str
    at: str
    left: Sequence[tuple[str, bool]]
    right: Sequence[tuple[str, bool]]


class Download(msgspec.Struct, frozen=True):
    """A link to a file that is within the page."""

    name: str
    words: str
    href: str


class Line(msgspec.Struct, frozen=True):
    """One of several audits in a table; `anchor` is where on the page it is shown in full, if it is."""

    anchor: str
    name: str
    verdict: str
    met: bool
    cells: Sequence[str]
    history: Sequence[tuple[float, float | None, float]] = ()  # low, estimate, high; the oldest first
    target: float | None = None


class Overview(msgspec.Struct, frozen=True):
    """A table of several audits; `head` names the cells after the verdict, the first `words` of which are texts."""

    head: Sequence[str]
    words: int
    lines: Sequence[Line]

    @property
    def has_history(self) -> bool:
        """True if some line has audits of the past to draw."""
        return any(line.history for line in self.lines)


Piece = Part | Bars | Points | Sides | Download | Overview


class Section(msgspec.Struct, frozen=True):
    """Parts below a heading; without a title there is no heading. A section with an `anchor` can be folded, and has
    sections within."""

    title: str
    parts: Sequence[Piece] = ()
    anchor: str = ""
    tone: str = ""  # a verdict, which gives the heading its colour
    lead: str = ""  # a sentence below the heading
    is_open: bool = True
    within: Sequence[Section] = ()


def draw(section: Section) -> Markup:
    """Return one section as HTML."""
    template: Any = _environment().get_template("parts.html").module
    drawn: Markup = template.section(section, 2)
    return drawn


def page(title: str, *sections: Section | Markup, tone: str = "", word: str = "", lead: str = "") -> str:
    """Return a whole document. `word` is what came out, coloured by its `tone`, and `lead` says it in a sentence."""
    script = (_TEMPLATES / "script.js").read_text()
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    return _render("page.html", title, sections, tone, word, lead, script=script, allowed=allowed)


def fragment(title: str, *sections: Section, tone: str = "", word: str = "", lead: str = "") -> str:
    """Return the page for within another document, such as a notebook: its style reaches nothing else."""
    return _render("fragment.html", title, sections, tone, word, lead)


def _render(
    template: str, title: str, sections: Sequence[Section | Markup], tone: str, word: str, lead: str, **more: str
) -> str:
    """Return a page made by a template of jinja2, with its style inside."""
    style = (_TEMPLATES / "style.css").read_text()
    top = {"title": title, "sections": sections, "tone": tone, "word": word, "lead": lead}
    return _environment().get_template(template).render(**top, **more, style=style, version=__version__)


@cache
def _environment() -> Environment:
    """Return the templates, with autoescape and the filters that they use."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"cut": _cut, "block": _block, "prose": _prose}
    made.filters |= {"breaks": _breaks, "are_numbers": _are_numbers}
    made.globals |= {"bars": _bars, "chart": _chart, "spark": _spark, "rows_shown": _ROWS, "many": _MANY}
    return made


def _shown(value: Any) -> Any:
    """Show hidden characters in a text; what is markup was made here, and stays."""
    return value if hasattr(value, "__html__") or not isinstance(value, str) else xml_text(value, keep="\n\t")


def _cut(text: str) -> str:
    """Return a text that is short enough for a cell of a table."""
    return shortened(text, _CELL)


def _breaks(text: str) -> Markup:
    """Return a name that the browser may break between two of its words."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(escape(_shown(word)) for word in _WORDS.split(_cut(text)))


def _block(text: str) -> str:
    """Return a text that is short enough for a block of its own."""
    return shortened(text.strip("\n"), _BLOCK)


def _prose(text: str) -> str:
    """Return a paragraph in which a number and its percent sign stay on one line."""
    return _block(text).replace(" %", "\u00a0%")


def _are_numbers(table: Table) -> list[bool]:
    """Return for each column whether it holds numbers alone, which are aligned at the right."""
    columns = [[row[i] for row in table.rows if i < len(row) and row[i]] for i in range(len(table.head))]
    return [bool(texts) and all(_NUMBER.fullmatch(text) for text in texts) for texts in columns]


def _bars(part: Bars) -> tuple[list[tuple[str, str, str, Markup]], Markup]:
    """Return (name, words, tone, drawing) of each bar, all on one scale, and the drawing of that scale."""
    top, targets = top_of([bar for _, bar in part.rows]), {bar.target for _, bar in part.rows}
    rows = []
    for name, bar in part.rows:
        low, high = at_least(bar.low, beside=bar.target), at_most(bar.high, beside=bar.target)
        words = f"seen {bar.centre:.3g}; may be {low} to {high}"
        words += "" if bar.target is None else f"; target {exact(bar.target)}"
        rows.append((shortened(name, _NAME), words, bar.verdict, _markup(strip(bar, top, f"{name}: {words}"))))
    return rows, _markup(ruler(top, targets.pop() if len(targets) == 1 else None))


def _chart(part: Chart) -> tuple[Markup, Markup, list[tuple[Markup, str]]]:
    """Return a chart for a wide and for a narrow screen, of which a page shows one, and its legend."""
    entries = [(_markup(draw_sign(sign, colour)), name) for sign, name, colour in legend(part)]
    return _markup(draw_axes(part, _WIDE)), _markup(draw_axes(part, _NARROW)), entries


def _spark(line: Line) -> Markup:
    """Draw the intervals of earlier audits and of this one; the label says the last."""
    *_, (least, _, most) = line.history
    low, high = at_least(least, beside=line.target), at_most(most, beside=line.target)
    label = f"{len(line.history)} audits over time; the last: {low} to {high}"
    return _markup(sparkline(line.history, line.target, label))


def _markup(drawn: str) -> Markup:
    """Mark a drawing as HTML: the module that draws it escapes every text."""
    from markupsafe import Markup

    return Markup(drawn)
