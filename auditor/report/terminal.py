"""How do the parts of a report look on a terminal? Drawn with rich, at any width; every text is escaped here.

Tables are in `columns`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from rich import table
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from auditor.escape import shortened, visible, without_commands
from auditor.flow.parts import Bar, Chart, Command, Facts, Listing, Part, Table, Words, as_called, top_of
from auditor.flow.record import Record
from auditor.report.columns import Column, TableRows
from auditor.report.words import report_parts
from auditor.statistics.digits import exact

MORE = "More with --verbose: sample, intervals, budget, cost, and an example in full."
_LONGEST = 4000  # characters of any one text from a subject, in a line
_BLOCK = 20_000  # and on lines of its own
_WIDEST, _NAME = 100, 8  # columns of a plot, and of a name that is broken
STYLES = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow", "error": "bold magenta"}
_TITLES = {"interrupted": STYLES["inconclusive"], "same": STYLES["pass"], "different": STYLES["fail"], **STYLES}
_COLOURS = {"dim": "dim", "error": "magenta", "warning": "yellow", "info": "dim"}


def show(record: Record, console: Console, *, verbose: bool = False) -> None:
    """Print the report of a record: what fits on one screen, or all of it."""
    more = [] if verbose or record.verdict == "error" else [Words(MORE, "dim")]
    show_parts([*report_parts(record, verbose=verbose), *more], console)


def as_text(record: Record, width: int = 100, *, verbose: bool = False) -> str:
    """Return the report without colour: what fits on one screen, or all of it, for a log that nobody can ask again."""
    console = Console(file=io.StringIO(), width=width, color_system=None, markup=False, emoji=False, highlight=False)
    show_parts(report_parts(record, verbose=verbose), console)
    assert isinstance(console.file, io.StringIO)
    return without_commands(console.file.getvalue().rstrip())


def show_parts(parts: Iterable[Part], console: Console) -> None:
    """Print parts, with an empty line before each that is a block of its own."""
    before: Part | None = None
    for part in parts:
        drawn = list(_drawn(part, console.width, ascii_only=console.options.ascii_only))
        if drawn and _stands_apart(part, before):
            console.print()
        for one in drawn:
            # Commands are left to the terminal to wrap, so that they can be copied.
            console.print(one, soft_wrap=isinstance(one, Text) and one.no_wrap is True)
        before = part if drawn else before


def _stands_apart(part: Part, before: Part | None) -> bool:
    """True if an empty line goes before a part."""
    if before is None or isinstance(part, Command):
        return False
    if isinstance(part, Words):
        goes_on = isinstance(before, Words) and before.style in ("title", part.style)
        return not (goes_on or part.text.startswith(" "))
    if isinstance(part, Facts):
        return not isinstance(before, Words)
    if isinstance(part, Listing) and part.style == "plain":
        goes_on = isinstance(before, Listing) and before.style == part.style and not (part.at or before.texts[1:])
        return not (goes_on or (isinstance(before, Words) and before.style == "title"))
    return True


def _drawn(part: Part, width: int, *, ascii_only: bool) -> Iterator[RenderableType]:
    """Yield a part as what rich can print."""
    if isinstance(part, Words):
        text = visible(shortened(part.text.strip("\n"), _LONGEST), keep="\n")
        if part.style == "title":
            head, gap, rest = text.partition("  ")
            yield Text.assemble((head, _TITLES.get(head.lower(), "bold")), gap, (rest, "bold"))
        else:
            yield Text(text, style=_COLOURS.get(part.style, ""))
    elif isinstance(part, Facts):
        grid = table.Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, *known in part.rows:
            grid.add_row(visible(name), Text("".join(visible(shortened(text, _LONGEST)) for text in known)))
        yield grid
    elif isinstance(part, Table):
        yield from _table(part, width, ascii_only=ascii_only)
    elif isinstance(part, Listing):
        if part.title:
            title = visible(part.title.strip("\n")) + (f" {visible(part.at)}:" if part.at else "")
            head, gap, rest = title.partition(" ") if part.style != "plain" else ("", "", title)
            yield Text.assemble((head, _COLOURS.get(part.style, "")), gap, rest)
        for text in part.texts:
            yield Padding(Text(visible(shortened(text, _BLOCK), keep="\n"), overflow="fold"), (0, 0, 0, 2))
    elif isinstance(part, Command):
        yield Text(visible(part.what))
        yield Text(visible(as_called(part.command)), style="cyan", no_wrap=True)
    elif isinstance(part, Bar):
        yield Padding(_bar(part, min(width - 2, 72), ascii_only=ascii_only), (0, 0, 0, 1))
    else:
        yield from _chart(part, min(width, _WIDEST) - 1, ascii_only=ascii_only)


def _chart(part: Chart, width: int, *, ascii_only: bool) -> Iterator[Text]:
    """Yield the lines of a chart that is drawn with characters, and its legend."""
    from auditor.report.pictures.plot import plot

    lines, legend = plot(part, width, ascii_only=ascii_only)
    yield from (Text(visible(line), no_wrap=True) for line in lines)
    yield from (Text(visible(f"  {mark} {name}"), style="dim") for mark, name in legend)


def _bar(part: Bar, width: int, *, ascii_only: bool) -> Group:
    """Draw a line from 0 up: the rate that was seen, the range that is left open, and the target."""
    top = top_of([part])
    seen, left_open, rest, mark = "#=-|" if ascii_only else "█░─┃"
    left, right = "0 ", f" {top:.2g}"
    cells = max(8, width - len(left) - len(right))

    def at(p: float) -> int:
        return min(cells - 1, int(p / top * cells))

    line = Text(left, style="dim")
    target = -1 if part.target is None else at(part.target)
    centre = at(part.centre) if part.centre > 0 else -1
    for i in range(cells):
        inside = at(part.low) <= i <= at(min(part.high, top)) if part.high > 0 else False
        if i == target:
            line.append(mark, style="bold")
        else:
            drawn = seen if i == centre else left_open if inside else rest
            line.append(drawn, style="dim" if drawn == rest else STYLES.get(part.verdict, ""))
    line.append(right, style="dim")
    label = "" if part.target is None else f"target {exact(part.target)}"
    key = f"   {seen} seen  {left_open} left open"
    before = max(0, min(len(left) + target - len(label) // 2, width - len(label)))
    below = Text(" " * before + label, style="bold")
    if before + len(label) + len(key) <= width:
        below.append(key, style="dim")
    return Group(line, below)


def _table(part: Table, width: int, *, ascii_only: bool) -> Iterator[RenderableType]:
    """Draw as many of the extra columns as there is room for; names may be broken, and no number is."""
    if part.title:
        yield Text(visible(part.title.strip("\n")))
    lines = [[visible(shortened(text, _LONGEST)) for text in row] for row in (part.head, *part.rows)]
    if ascii_only:
        lines = [[text.replace("━", "=") for text in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    needed, shown = len(widths) if part.extra is None else part.extra, len(widths)
    while shown > needed and sum(widths[:shown]) + 2 * shown > width:
        shown -= 1
    columns = [Column(name, right=bool(name), least=None if name else _NAME) for name in lines[0][:shown]]
    yield TableRows(columns, [[*map(Text, row[:shown])] for row in lines[1:]])
