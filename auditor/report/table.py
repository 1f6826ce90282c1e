"""Many audits as one table: a line each, whether it ended as it was expected to, and what that took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from auditor.flow.record import Record
from auditor.questions.panel import is_as_expected
from auditor.report.confidence import of_several
from auditor.report.escape import visible
from auditor.report.several_parts import gated
from auditor.report.terminal import STYLES
from auditor.statistics.outward import at_least, at_most


def summary(records: Sequence[Record], confidence: float, planned: int) -> Iterator[RenderableType]:
    """The table, the reasons of what did not end as expected, and what the verdicts are worth together."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("", "subject"):
        table.add_column(name, no_wrap=not name, overflow="fold")
    for name in ("verdict", "expected"):
        table.add_column(name)
    for name in ("target", "rho", "pairs", "seconds"):
        table.add_column(name, justify="right")
    common = _common_prefix([record.subject for record in records])
    for record in records:
        table.add_row(*_cells(record, record.subject[len(common) :]))
    yield table
    surprises = [record for record in records if not is_as_expected(record)]
    for record in surprises:
        yield Text.assemble("\n", (visible(record.subject), "bold"), f": {record.verdict}, expected {record.expect}")
        yield Padding(Text(visible(record.reason, keep="\n")), (0, 0, 0, 2))
    met = len(records) - len(surprises)
    share = (1 - confidence) / planned
    cut = f" {planned - len(records)} were not run." if planned > len(records) else ""
    yield Text(
        f"\n{met} of {len(records)} as expected.{cut} Each verdict is wrong with probability at most "
        f"{at_most(share)}. {of_several(confidence)}",
        style="bold green" if not surprises else "bold red",
    )


def _common_prefix(names: Sequence[str]) -> str:
    """The package that all subjects share, which a table need not repeat."""
    package = names[0].partition(".")[0] + "."
    return package if len(names) > 1 and all(name.startswith(package) for name in names) else ""


def _cells(record: Record, name: str) -> Iterator[Text]:
    ok = is_as_expected(record)
    yield Text("ok" if ok else "NO", style="green" if ok else "bold red")
    yield Text(visible(name))
    yield Text(record.verdict, style=STYLES[record.verdict])
    yield Text(record.expect)
    for value in (f"{record.target:g}", reached(record), f"{record.pairs:,}", f"{record.cost.seconds_total:.1f}"):
        yield Text(value)


def reached(record: Record) -> str:
    """The bound that an audit ended with, on rho unless it names something else."""
    if not record.pairs:
        return ""
    what = "" if record.gate == "rho" else f"{record.gate} "
    if record.bound is None:
        return f"{what}{at_least(gated(record).low)} to {at_most(gated(record).high)}"
    if record.bound.side == "upper":
        return f"{what}<= {at_most(record.bound.value)}"
    if record.bound.value == record.target:
        return f"{what}> {record.target:g}"
    return f"{what}>= {at_least(record.bound.value)}"
