"""How is a page made? From sections of parts, by templates that escape all that they are given.

Hidden and bidirectional characters are shown as escapes, by one rule for every value. The page forbids itself all
requests, and all scripts but its own.
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
from auditor.flow.parts import Bar, Chart, Table
from auditor.process.escape import shortened, xml_text
from auditor.report.page.pieces import Bars, Line, Piece
from auditor.report.pictures.strip import ruler, sparkline, strip, top_of
from auditor.statistics.outward import at_least, at_most, exact

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


class Section(msgspec.Struct, frozen=True):
    """Parts below a heading; none where the title is empty. One with an `anchor` is a fold of its own, which is open
    where it `is_open`, and has sections within."""

    title: str
    parts: Sequence[Piece] = ()
    anchor: str = ""
    tone: str = ""  # a verdict, which gives the heading its colour
    lead: str = ""  # a sentence below the heading
    is_open: bool = True
    within: Sequence[Section] = ()


def draw(section: Section) -> Markup:
    """One section by itself, for whoever wants to know what it weighs."""
    template: Any = _environment().get_template("parts.html").module
    drawn: Markup = template.section(section, 2)
    return drawn


def page(title: str, *sections: Section | Markup, tone: str = "", word: str = "", lead: str = "") -> str:
    """A whole document. `word` is what came out, coloured by its `tone`, and `lead` says it in a sentence."""
    script = (_TEMPLATES / "script.js").read_text()
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    return _render("page.html", title, sections, tone, word, lead, script=script, allowed=allowed)


def fragment(title: str, *sections: Section, tone: str = "", word: str = "", lead: str = "") -> str:
    """The same for within another document, such as a notebook: its style reaches nothing else."""
    return _render("fragment.html", title, sections, tone, word, lead)


def _render(
    template: str, title: str, sections: Sequence[Section | Markup], tone: str, word: str, lead: str, **more: str
) -> str:
    style = (_TEMPLATES / "style.css").read_text()
    top = {"title": title, "sections": sections, "tone": tone, "word": word, "lead": lead}
    return _environment().get_template(template).render(**top, **more, style=style, version=__version__)


@cache
def _environment() -> Environment:
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
    """Whatever a template writes; what is markup is so because it was made here."""
    return value if hasattr(value, "__html__") or not isinstance(value, str) else xml_text(value, keep="\n\t")


def _cut(text: str) -> str:
    return shortened(text, _CELL)


def _breaks(text: str) -> Markup:
    """A name that may go on in the next line between two of its words."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(escape(_shown(word)) for word in _WORDS.split(_cut(text)))


def _block(text: str) -> str:
    return shortened(text.strip("\n"), _BLOCK)


def _prose(text: str) -> str:
    """A number and its percent sign stay on one line."""
    return _block(text).replace(" %", "\u00a0%")


def _are_numbers(table: Table) -> list[bool]:
    """Of each column whether it holds numbers alone, which stand below each other by their ends."""
    columns = [[row[i] for row in table.rows if i < len(row) and row[i]] for i in range(len(table.head))]
    return [bool(texts) and all(_NUMBER.fullmatch(text) for text in texts) for texts in columns]


def _bars(part: Bars) -> tuple[list[tuple[str, str, str, Markup]], Markup]:
    """The name, words, tone and drawing of each, all on one scale, and the numbers of that."""
    top, targets = top_of([bar for _, bar in part.rows]), {bar.target for _, bar in part.rows}
    said = [(name, _in_words(bar), bar) for name, bar in part.rows]
    rows = [
        (shortened(name, _NAME), words, bar.verdict, _markup(strip(bar, top, f"{name}: {words}")))
        for name, words, bar in said
    ]
    return rows, _markup(ruler(top, targets.pop() if len(targets) == 1 else None))


def _in_words(bar: Bar) -> str:
    low, high = at_least(bar.low, beside=bar.target), at_most(bar.high, beside=bar.target)
    return f"seen {bar.centre:.3g}; may be {low} to {high}; target {exact(bar.target)}"


def _chart(part: Chart) -> tuple[Markup, Markup, list[tuple[Markup, str]]]:
    """Twice, of which a page shows one, and its legend."""
    from auditor.report.formats.svg import draw_axes, draw_sign, legend

    entries = [(_markup(draw_sign(sign, colour)), name) for sign, name, colour in legend(part)]
    return _markup(draw_axes(part, _WIDE)), _markup(draw_axes(part, _NARROW)), entries


def _spark(line: Line) -> Markup:
    """What was measured before, and now; the words say the last."""
    *_, (least, _, most) = line.history
    low, high = at_least(least, beside=line.target), at_most(most, beside=line.target)
    label = f"{len(line.history)} audits over time; the last: {low} to {high}"
    return _markup(sparkline(line.history, line.target, label))


def _markup(drawn: str) -> Markup:
    """What the builder of pictures made, which escapes every text in it."""
    from markupsafe import Markup

    return Markup(drawn)
