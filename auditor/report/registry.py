"""Every registered subject, as a table. A subject that cannot be loaded is listed with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from auditor.errors import AuditorError
from auditor.lookup import registered
from auditor.process.escape import visible
from auditor.subjects.subject import load_subject


def registry() -> Iterator[RenderableType]:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True)
    for name in ("theorem", "claimed rho", "size"):
        table.add_column(name, justify="right")
    table.add_column("expect", overflow="fold")
    table.add_column("target", overflow="fold")
    for name, point in registered().items():
        table.add_row(Text(visible(name)), *_columns(point.value), Text(visible(point.value)))
    yield table


def _columns(target: str) -> Iterator[Text]:
    try:
        subject = load_subject(target)
        declared = subject.declared
        values = (declared.theorem, subject.declares("claimed"), subject.declares("size"), declared.expect)
    except AuditorError as error:
        yield from (Text(), Text(), Text(), Text(visible(str(error)), style="red"))
        return
    for value in values:
        shown = "" if value is None else f"{value:,}" if isinstance(value, int) else f"{value}"
        yield Text(visible(shown))
