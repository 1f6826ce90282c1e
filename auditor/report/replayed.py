"""One pair, run again: both outputs, and where they first differ."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from auditor.outcome import describe
from auditor.pipeline import Replayed
from auditor.report.escape import visible

_LIMIT = 2000  # characters of each output


def show_replay(replayed: Replayed, console: Console) -> None:
    found = replayed.difference
    title, style = ("SAME", "bold green") if found is None else ("DIFFERENT", "bold red")
    console.print(Text.assemble((title, style), f"  pair {replayed.pair}"))
    for name, output in zip(("first", "second"), replayed.outputs, strict=True):
        console.print(Text(f"{name} output:"))
        console.print(Padding(Text(visible(describe(output, _LIMIT), keep="\n"), overflow="fold"), (0, 0, 0, 2)))
    if found is not None:
        console.print(Text(f"first difference, at {visible(found.path)}:"))
        for side in (found.left, found.right):
            console.print(Padding(Text(visible(side), overflow="fold"), (0, 0, 0, 2)))
