"""Many audits as one table: a line each, whether it ended as expected, and what that took.

`show_summary` prints it on a terminal, and `picture_of_several` draws the range that each audit left open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from auditor.errors import UsageError
from auditor.escape import visible
from auditor.flow.parts import Bar
from auditor.flow.record import Record
from auditor.lookup import short_name
from auditor.report.columns import Column, TableRows
from auditor.report.terminal import STYLES, show_parts
from auditor.report.words import (
    baseline_offers,
    count_trials,
    make_report,
    measure_name,
    open_range,
    report_parts,
    shared_confidence,
)
from auditor.statistics.digits import at_least, at_most, exact

_COLUMNS = (
    Column(""),
    Column("subject", least=24),
    Column("verdict"),
    Column("expected", named=True),
)


def show_summary(
    records: Sequence[Record], confidence: float, planned: int, out: Console, *, verbose: bool = False
) -> None:
    """Print the table, the report of each audit that did not end as expected, and what all verdicts are worth."""
    common = _common_prefix([record.label for record in records])
    names = figure_names(records)
    rows = [[*_cells(record, record.label[len(common) :], names)] for record in records]
    out.print(TableRows([*_COLUMNS, *(Column(name, right=True) for name in names)], rows, heads=2))
    surprises = [record for record in records if not record.is_as_expected]
    for record in surprises:
        unmet = f": {record.verdict}, expected {record.expect}"
        out.print(Text.assemble("\n", (visible(record.label), "bold"), unmet))
        out.print(Padding(Text(visible(record.reason, keep="\n")), (0, 0, 0, 2)))
        show_parts([*report_parts(record, verbose=True)][2:] if verbose else make_report(record).evidence, out)
    for words, subject in baseline_offers(records):
        out.print(Text.assemble("\n", (visible(subject), "bold"), f": {words}"))
    met = len(records) - len(surprises)
    share = round(1 - confidence, 12) / planned  # without the last digits of a float, which nobody meant
    not_run = f" {planned - len(records)} were not run." if planned > len(records) else ""
    out.print(
        f"\n{met} of {len(records)} as expected.{not_run} Each verdict is wrong with probability at most "
        f"{at_most(share)}. {shared_confidence(confidence)}",
        style="bold green" if not surprises else "bold red",
    )


def _common_prefix(names: Sequence[str]) -> str:
    """Return the package that all subjects share, which a table need not repeat; a file is no package."""
    if any(name.partition(":")[0].endswith(".py") for name in names):
        return ""
    package = names[0].partition(".")[0] + "."
    return package if len(names) > 1 and all(name.startswith(package) for name in names) else ""


def _cells(record: Record, name: str, names: Sequence[str]) -> Iterator[Text]:
    """Yield the cells of an audit in the table of a gate."""
    ok = record.is_as_expected
    yield Text("ok" if ok else "NO", style="green" if ok else "bold red")
    yield Text(visible(name))
    yield Text(record.verdict, style=STYLES[record.verdict])
    yield Text(record.expect)
    yield from map(Text, figures(record, names))


def figure_names(records: Sequence[Record]) -> tuple[str, ...]:
    """Return the names of what a table says in numbers of each audit; the score where one of them has one."""
    score = ("score",) if any(record.score for record in records) else ()
    return ("target", "rho", *score, "pairs", "seconds")


def figures(record: Record, names: Sequence[str]) -> list[str]:
    """Return the target, the bound that was reached, the score, the trials and the seconds of an audit, as texts."""
    found = {
        "target": "" if record.target is None else exact(record.target),
        "rho": reached(record),
        "score": _scored(record),
        "pairs": f"{count_trials(record):,}",
        "seconds": f"{record.cost.seconds_total:.1f}",
    }
    return [found[name] for name in names]


def _scored(record: Record) -> str:
    """Return the mean score of an audit's fits, and what was asked for: "0.931 (at least 0.9)"."""
    if record.score is None:
        return ""
    least = record.score.at_least
    return f"{record.score.estimate:.3g}" + ("" if least is None else f" (at least {exact(least)})")


def reached(record: Record) -> str:
    """Return the bound that an audit ended with, "<= 0.1"; on rho unless it names another measure."""
    if not count_trials(record) or not record.measures:
        return ""
    name = measure_name(record)
    what = "" if name == "rho" else f"{name} "
    if record.bound is None:
        first = record.rho if name == "rho" and record.rho else record.measures[0]
        return f"{what}{at_least(first.low, beside=record.target)} to {at_most(first.high, beside=record.target)}"
    if record.bound.side == "upper":
        return f"{what}<= {at_most(record.bound.value, beside=record.target)}"
    if record.bound.value == record.target:
        return f"{what}> {exact(record.target)}"
    return f"{what}>= {at_least(record.bound.value, beside=record.target)}"


def picture_of_several(records: Sequence[Record]) -> bytes:
    """Draw an SVG: for each claim the range that the audit left open for rho, and the target as a line."""
    from auditor.report.pictures.svg import draw_bars

    bars = []
    for one in records:
        if one.target is not None:
            name = one.name or short_name(one.subject)
            name = f"{one.theorem}: {name}" if one.theorem else name
            bars.append((name, Bar(*open_range(one), 0.0, one.target, one.verdict)))
    if not bars:
        raise UsageError("--svg: none of these audits has a target, and so there is nothing to draw")
    return draw_bars("rho that the audit leaves open; the line is the target", bars)
