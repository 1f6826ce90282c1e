"""Rows that can be read at any width: a table where it fits, else a small block of lines for each row.

No number is ever cut or broken: only columns that say so are folded, and never to less than a word takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_GAP = 2


class Column(msgspec.Struct, frozen=True):
    """`least` is how narrow it may become, where it may be folded; one that is `extra` goes first for want of room.
    In a block a number has its name before it, and so has what is `named`."""

    name: str
    right: bool = False
    named: bool = False
    least: int | None = None
    extra: bool = False


class TableRows(msgspec.Struct, frozen=True):
    """Cells that are escaped already; the first `heads` of a row are the first line of its block."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Text]]
    heads: int = 1

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        every = range(len(self.columns))
        needed = [i for i in every if not self.columns[i].extra]
        for shown in (every, needed):
            for folds in (False, True):
                if widths := self._widths(shown, options.max_width, folds=folds):
                    yield self._table(shown, widths)
                    return
        for row in self.rows:
            yield from self._block(row, options.max_width)

    def _widths(self, shown: Sequence[int], width: int, *, folds: bool) -> list[int]:
        """Of each column that is shown; none where there is no room."""
        whole = [max(Text(self.columns[i].name).cell_len, *(row[i].cell_len for row in self.rows), 0) for i in shown]
        least = [min(n, self.columns[i].least or n) if folds else n for i, n in zip(shown, whole, strict=True)]
        left = width - sum(least) - _GAP * (len(least) - 1)
        if left < 0:
            return []
        for place, (n, most) in enumerate(zip(least, whole, strict=True)):
            more = min(left, most - n)
            least[place], left = n + more, left - more
        return least

    def _table(self, shown: Sequence[int], widths: Sequence[int]) -> Table:
        table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
        for i, width in zip(shown, widths, strict=True):
            one = self.columns[i]
            table.add_column(one.name, justify="right" if one.right else "left", width=width, overflow="fold")
        for row in self.rows:
            table.add_row(*(row[i] for i in shown))
        return table

    def _block(self, row: Sequence[Text], width: int) -> Iterator[RenderableType]:
        """What it is, then all else below it, broken between two of them."""
        named = [_named(one, text) for one, text in zip(self.columns, row, strict=True)]
        yield Text("  ", overflow="fold").join(text for text in named[: self.heads] if text)
        line = Text()
        for piece in (text for text in named[self.heads :] if text):
            if line and line.cell_len + piece.cell_len + len(", ,") > width - _GAP:
                yield _indented(line.append(","))
                line = Text()
            line = Text(", ").join([line, piece]) if line else piece
        if line:
            yield _indented(line)


def _indented(line: Text) -> Padding:
    line.overflow = "fold"
    return Padding(line, (0, 0, 0, _GAP), expand=False)


def _named(one: Column, text: Text) -> Text:
    return Text.assemble(f"{one.name} ", text) if text and (one.right or one.named) else text.copy()
