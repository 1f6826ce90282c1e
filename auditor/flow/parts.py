"""The parts of a report, whatever format draws them: words, facts, tables, charts. They are data alone.

A question reports in these parts, and each format draws them in its own way. All texts are raw: the format escapes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Words(msgspec.Struct, frozen=True):
    """A paragraph; `style` is "plain", "title", "dim", "error", "warning" or "info".

    A "title" is the first line of a report: what came out, two blanks, and of what: "FAIL  some:learner".
    """

    text: str
    style: str = "plain"


class Facts(msgspec.Struct, frozen=True):
    """Names with what is known of each, one a line.

    After the name comes one text, or several that are in turn our own words and somebody else's: ("sample", "5 rows
    from ", "norm", ", seed 0"). A question's facts replace those of the record that have the same name.
    """

    rows: Sequence[Sequence[str]]


class Table(msgspec.Struct, frozen=True):
    """A table of texts. Columns from `extra` on are left out where there is little room."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    extra: int | None = None


class Listing(msgspec.Struct, frozen=True):
    """Texts as they are, each a block of its own below a title: outputs, a traceback.

    `at` ends the title with somebody else's word; `style` is as that of Words.
    """

    title: str
    texts: Sequence[str]
    at: str = ""
    style: str = "plain"


class Command(msgspec.Struct, frozen=True):
    """A command to type in a shell, and what it is for."""

    what: str
    command: str


class Bar(msgspec.Struct, frozen=True):
    """The range that is left open for a share, its estimate (`centre`), and the target, if there is one."""

    low: float
    high: float
    centre: float
    target: float | None
    verdict: str


class Series(msgspec.Struct, frozen=True):
    """Points (x, low, estimate, high) of one thing, drawn by its `kind`.

    Measured are a "band"; "points", where nothing is said of what lies between them; and a "step", of what never rises:
    a limit from above holds from its x on, one from below up to it. A "line" is what they are held against, a "mark" an
    x of which something is known, and a "span" reaches from the x of its first point to that of its last, at the height
    of their estimate. In "crosses" the x were measured too: `across` has their limits, and `signs` is what to write
    beside each. A "tile" is one level of a map: x and estimate are its axes, and its tiles reach halfway to the
    next ones.
    """

    name: str
    kind: str
    points: Sequence[tuple[float, float | None, float | None, float | None]]
    across: Sequence[tuple[float, float]] = ()
    signs: Sequence[str] = ()


class Chart(msgspec.Struct, frozen=True):
    """Series over one axis; `labels` stand below the points of the first series."""

    title: str
    x_name: str
    y_name: str
    series: Sequence[Series]
    labels: Sequence[str] = ()
    x_log: bool = False
    y_log: bool = False
    corner: tuple[float, float] | None = None  # the point that was asked about
    notes: Sequence[str] = ()


Part = Words | Facts | Table | Listing | Command | Bar | Chart


class Details(msgspec.Struct, frozen=True):
    """Parts that a terminal shows only with --verbose, among those that a question reports; a page shows them all."""

    parts: Sequence[Part]
