"""What only a page has, besides the parts that every format draws. Texts are raw here too: the template escapes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from auditor.flow.parts import Bar, Part


class Bars(msgspec.Struct, frozen=True):
    """Where shares may be, a line each with its name, on one scale."""

    what: str
    rows: Sequence[tuple[str, Bar]]


class Points(msgspec.Struct, frozen=True):
    """Sentences, a line each."""

    texts: Sequence[str]


class Sides(msgspec.Struct, frozen=True):
    """Two outputs side by side, each as runs of text with whether it differs; `at` is where in the output."""

    title: str
    at: str
    left: Sequence[tuple[str, bool]]
    right: Sequence[tuple[str, bool]]


class Download(msgspec.Struct, frozen=True):
    """A file within the page."""

    name: str
    words: str
    href: str


class Line(msgspec.Struct, frozen=True):
    """One of several audits: where it stands on the page, if it does, and what a table says of it."""

    anchor: str
    name: str
    verdict: str
    met: bool
    cells: Sequence[str]
    history: Sequence[tuple[float, float | None, float]] = ()  # low, estimate, high; the oldest first
    target: float | None = None


class Overview(msgspec.Struct, frozen=True):
    """Several audits, a line each; `head` names the cells that follow the verdict, of which the first are `words`."""

    head: Sequence[str]
    words: int
    lines: Sequence[Line]

    @property
    def has_history(self) -> bool:
        return any(line.history for line in self.lines)


Piece = Part | Bars | Points | Sides | Download | Overview
