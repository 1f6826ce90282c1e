"""Many audits as one table: a line each, whether it ended as it was expected to, and what that took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from auditor.flow.parts import Part
from auditor.flow.record import Record
from auditor.process.escape import visible
from auditor.report.columns import Column, TableRows
from auditor.report.describe import asked_about, describe, what_was_seen
from auditor.report.facts import counted, of_several, offers
from auditor.report.terminal import STYLES
from auditor.statistics.outward import at_least, at_most, exact

_COLUMNS = (
    Column(""),
    Column("subject", least=24),
    Column("verdict"),
    Column("expected", named=True),
    *(Column(name, right=True) for name in ("target", "rho", "pairs", "seconds")),
)


def summary(
    records: Sequence[Record], confidence: float, planned: int, *, verbose: bool = False
) -> Iterator[RenderableType | list[Part]]:
    """The table, what is known of each that did not end as expected, and what the verdicts are worth together."""
    common = _common_prefix([record.subject for record in records])
    yield TableRows(_COLUMNS, [[*_cells(record, record.subject[len(common) :])] for record in records], heads=2)
    surprises = [record for record in records if not record.is_as_expected]
    for record in surprises:
        yield Text.assemble("\n", (visible(record.subject), "bold"), f": {record.verdict}, expected {record.expect}")
        yield Padding(Text(visible(record.reason, keep="\n")), (0, 0, 0, 2))
        yield list(describe(record, verbose=True))[2:] if verbose else list(what_was_seen(record))
    for words, subject in offers(records):
        yield Text.assemble("\n", (visible(subject), "bold"), f": {words}")
    met = len(records) - len(surprises)
    share = round(1 - confidence, 12) / planned  # but for the last digits of a float, which nobody meant
    cut = f" {planned - len(records)} were not run." if planned > len(records) else ""
    yield Text(
        f"\n{met} of {len(records)} as expected.{cut} Each verdict is wrong with probability at most "
        f"{at_most(share)}. {of_several(confidence)}",
        style="bold green" if not surprises else "bold red",
    )


def _common_prefix(names: Sequence[str]) -> str:
    """The package that all subjects share, which a table need not repeat; a file is no package."""
    if any(name.partition(":")[0].endswith(".py") for name in names):
        return ""
    package = names[0].partition(".")[0] + "."
    return package if len(names) > 1 and all(name.startswith(package) for name in names) else ""


def _cells(record: Record, name: str) -> Iterator[Text]:
    ok = record.is_as_expected
    yield Text("ok" if ok else "NO", style="green" if ok else "bold red")
    yield Text(visible(name))
    yield Text(record.verdict, style=STYLES[record.verdict])
    yield Text(record.expect)
    yield from map(Text, figures(record))


def figures(record: Record) -> tuple[str, str, str, str]:
    """Target, what was reached, trials, seconds."""
    target = "" if record.target is None else exact(record.target)
    return target, reached(record), f"{counted(record):,}", f"{record.cost.seconds_total:.1f}"


def reached(record: Record) -> str:
    """The bound that an audit ended with, on rho unless it names something else."""
    if not counted(record) or not record.measures:
        return ""
    name = asked_about(record)
    what = "" if name == "rho" else f"{name} "
    if record.bound is None:
        first = record.rho if name == "rho" and record.rho else record.measures[0]
        return f"{what}{at_least(first.low, beside=record.target)} to {at_most(first.high, beside=record.target)}"
    if record.bound.side == "upper":
        return f"{what}<= {at_most(record.bound.value, beside=record.target)}"
    if record.bound.value == record.target:
        return f"{what}> {exact(record.target)}"
    return f"{what}>= {at_least(record.bound.value, beside=record.target)}"
