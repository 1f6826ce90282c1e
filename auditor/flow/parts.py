"""The parts of a report, whatever format draws them: words, facts, tables, charts. They are data alone.

A question reports in these parts, and each format draws them in its own way. All texts are raw: the format escapes.
Commands begin with `python -m auditor`, which is right wherever it is installed; on a terminal they begin as the one
that was typed did (`as_called`).
"""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import sys
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


def top_of(bars: Sequence[Bar]) -> float:
    """Return where the line below bars ends: a little beyond all that was seen or asked about."""
    ends = (max(1.6 * (bar.target or 0.0), bar.high if bar.high < 1 else bar.low, bar.centre) for bar in bars)
    return min(1.0, 1.25 * max(ends, default=0.8)) or 1.0


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


ANYWHERE = "python -m auditor"


def as_called(text: str) -> str:
    """Return a text in which `python -m auditor` stands as this process was called."""
    program = program_of(tuple(sys.orig_argv))
    return text if program is None else text.replace(f"{ANYWHERE} ", f"{program} ")


@functools.cache
def program_of(words: tuple[str, ...]) -> str | None:
    """Return the words of a process up to the options of auditor: its script, or an interpreter with `-m auditor`.

    A script that the shell finds by its name has that name. None for any other process, such as pytest's.
    """
    for place, word in enumerate(words[1:], 1):
        if word == "-m":
            return shlex.join(words[: place + 2]) if words[place + 1 : place + 2] == ("auditor",) else None
        if os.path.basename(word) == "auditor":
            found = shutil.which("auditor")
            is_found = found is not None and os.path.realpath(found) == os.path.realpath(word)
            return "auditor" if is_found else shlex.quote(word)
        if not word.startswith("-"):
            break
    return None
