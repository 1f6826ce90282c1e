"""How does a table look at any width? As a table where it fits, else as a small block of lines for each row.

No number is ever cut or broken: only columns that say so are folded, and never to less than a word takes. `list` needs
this and no more of the reports, so little is imported here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import table
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.text import Text

_GAP = 2  # columns between two columns of a table


@dataclass(frozen=True)
class Column:
    """A column of TableRows.

    `least` is how narrow it may become, where it may be folded; one that is `extra` goes first for want of room. In a
    block a number (`right`) has its name before it, and so has what is `named`.
    """

    name: str
    right: bool = False
    named: bool = False
    least: int | None = None
    extra: bool = False


@dataclass(frozen=True)
class TableRows:
    """A table for any width. Its cells are escaped already; the first `heads` of a row begin its block."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Text]]
    heads: int = 1

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        every = range(len(self.columns))
        needed = [i for i in every if not self.columns[i].extra]
        for shown in (every, needed):
            for folds in (False, True):
                if widths := self._widths(shown, options.max_width, folds=folds):
                    drawn = table.Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
                    for i, width in zip(shown, widths, strict=True):
                        one = self.columns[i]
                        drawn.add_column(
                            one.name, justify="right" if one.right else "left", width=width, overflow="fold"
                        )
                    for row in self.rows:
                        drawn.add_row(*(row[i] for i in shown))
                    yield drawn
                    return
        for row in self.rows:
            yield from self._block(row, options.max_width)

    def _widths(self, shown: Sequence[int], width: int, *, folds: bool) -> list[int]:
        """Return the width of each column that is shown; [] where there is no room for them."""
        whole = [max(Text(self.columns[i].name).cell_len, *(row[i].cell_len for row in self.rows), 0) for i in shown]
        least = [min(n, self.columns[i].least or n) if folds else n for i, n in zip(shown, whole, strict=True)]
        left = width - sum(least) - _GAP * (len(least) - 1)
        if left < 0:
            return []
        for place, (n, most) in enumerate(zip(least, whole, strict=True)):
            more = min(left, most - n)
            least[place], left = n + more, left - more
        return least

    def _block(self, row: Sequence[Text], width: int) -> Iterator[RenderableType]:
        """Yield the heads of a row, then its other cells below them; a line is broken between two cells."""
        named = [
            Text.assemble(f"{one.name} ", text) if text and (one.right or one.named) else text.copy()
            for one, text in zip(self.columns, row, strict=True)
        ]
        yield Text("  ", overflow="fold").join(text for text in named[: self.heads] if text)
        lines: list[Text] = []
        for piece in (text for text in named[self.heads :] if text):
            if lines and lines[-1].cell_len + piece.cell_len + len(", ,") <= width - _GAP:
                lines[-1] = Text(", ").join([lines[-1], piece])
                continue
            if lines:
                lines[-1].append(",")
            lines.append(piece)
        for line in lines:
            line.overflow = "fold"
            yield Padding(line, (0, 0, 0, _GAP), expand=False)
