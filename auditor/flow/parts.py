"""What a report is made of, whatever it is drawn in: words, facts, tables, charts. Data alone, from a record alone.

A question says what it has to say in these parts; each format draws them in its own way. All texts are raw: escaping
is the format's own.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Words(msgspec.Struct, frozen=True):
    """A paragraph; `style` is "plain", "title", "dim", "error", "warning" or "info". A "title" is the line that begins
    a report: what came out, two blanks, and of what: "FAIL  some:learner"."""

    text: str
    style: str = "plain"


class Facts(msgspec.Struct, frozen=True):
    """Names with what is known of each, one a line. What follows a name is one text; where it is several, they are in
    turn our own words and somebody else's: ("sample", "5 rows from ", "norm", ", seed 0"). Those of a question stand
    among the facts of the record, in place of any of the same name."""

    rows: Sequence[Sequence[str]]


class Table(msgspec.Struct, frozen=True):
    """Cells as texts. Columns from `extra` on are left out where there is little room."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    extra: int | None = None


class Listing(msgspec.Struct, frozen=True):
    """Texts as they are, each a block of its own below a title: outputs, a traceback. `at` is what the title speaks of,
    where that is somebody else's word; `style` is as that of words."""

    title: str
    texts: Sequence[str]
    at: str = ""
    style: str = "plain"


class Command(msgspec.Struct, frozen=True):
    """What to type in a shell, and what for."""

    what: str
    command: str


class Bar(msgspec.Struct, frozen=True):
    """Where a share may be on the line from 0 up, against a target."""

    low: float
    high: float
    centre: float
    target: float
    verdict: str


class Series(msgspec.Struct, frozen=True):
    """Points (x, low, estimate, high) of one thing. A "band" is measured, "points" are too, where nothing is said of
    what lies between them, and a "step" is, of what never rises: a limit from above holds from its x on, one from below
    up to it. A "line" is what it is held against, a "mark" an x of which something is known, and a "span" reaches from
    the x of its first point to that of its last, at the height of their estimate. "tile" is one level of a map: x and
    estimate are its two axes, and its tiles reach halfway to those beside them."""

    name: str
    kind: str
    points: Sequence[tuple[float, float | None, float | None, float | None]]


class Chart(msgspec.Struct, frozen=True):
    """Series over one axis; `labels` are what stands below the x of the first series."""

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
