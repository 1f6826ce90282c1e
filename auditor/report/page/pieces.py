"""What only a page has, besides the parts that every format draws. Texts are raw here too: the template escapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from auditor.flow.parts import Bar, Part


@dataclass(frozen=True, slots=True)
class Bars:
    """Where shares may be, a line each with its name, on one scale."""

    what: str
    rows: Sequence[tuple[str, Bar]]


@dataclass(frozen=True, slots=True)
class Points:
    """Sentences, a line each."""

    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Sides:
    """Two outputs side by side, each as runs of text with whether it differs; `at` is where in the output."""

    title: str
    at: str
    left: Sequence[tuple[str, bool]]
    right: Sequence[tuple[str, bool]]


@dataclass(frozen=True, slots=True)
class Download:
    """A file within the page."""

    name: str
    words: str
    href: str


@dataclass(frozen=True, slots=True)
class Line:
    """One of several audits: where it stands on the page, if it does, and what a table says of it."""

    anchor: str
    name: str
    verdict: str
    met: bool
    cells: Sequence[str]
    history: Sequence[tuple[float, float | None, float]] = ()  # low, estimate, high; the oldest first
    target: float | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """Several audits, a line each; `head` names the cells that follow the verdict, of which the first are `words`."""

    head: Sequence[str]
    words: int
    lines: Sequence[Line]

    @property
    def has_history(self) -> bool:
        return any(line.history for line in self.lines)


Piece = Part | Bars | Points | Sides | Download | Overview
