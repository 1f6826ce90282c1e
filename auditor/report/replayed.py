"""One pair, or one string's runs, run again: the outputs, and where they first differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from auditor.flow.pipeline import Replayed
from auditor.report.escape import visible
from auditor.subjects.outcome import describe

_LIMIT = 2000  # characters of each output
_LISTED = 20  # runs that are named for an output


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


def show_group(string: int, runs: int, found: Sequence[tuple[Any, Sequence[int]]], console: Console) -> None:
    """The runs of one string again: each output, how often and in which runs it came."""
    title, style = ("SAME", "bold green") if len(found) == 1 else ("DIFFERENT", "bold red")
    console.print(Text.assemble((title, style), f"  string {string}: {len(found)} outputs in {runs} runs"))
    for output, which in found:
        listed = ", ".join(str(run) for run in which[:_LISTED]) + (" ..." if len(which) > _LISTED else "")
        console.print(Text(f"{len(which)} times, in runs {listed}:"))
        console.print(Padding(Text(visible(describe(output, _LIMIT), keep="\n"), overflow="fold"), (0, 0, 0, 2)))
