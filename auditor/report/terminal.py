"""How does an audit look to a person? Verdict first, the deciding bound against the target, then what it rests on."""

from __future__ import annotations

import io
from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from auditor.flow.record import IN_PROCESS, Record
from auditor.report.confidence import beside, confidences
from auditor.report.escape import shortened, visible, without_commands
from auditor.report.several_parts import (
    accuracy_label,
    accuracy_noun,
    arm_parts,
    certified,
    gated,
    profile_facts,
    profile_parts,
    rho_noun,
    scope,
)
from auditor.statistics.outward import between, percent

_LONGEST = 4000  # characters of any one text from a subject
STYLES = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow", "error": "bold magenta"}


def show(record: Record, console: Console) -> None:
    """Print the report. Commands are left to the terminal to wrap, so that they can be copied."""
    for part in _parts(record, ascii_only=console.options.ascii_only, width=console.width):
        console.print(part, soft_wrap=isinstance(part, Text) and part.no_wrap is True)


def as_text(record: Record, width: int = 100) -> str:
    """The same report without colour, for a log or an assertion's message."""
    console = Console(file=io.StringIO(), width=width, color_system=None, markup=False, emoji=False, highlight=False)
    show(record, console)
    assert isinstance(console.file, io.StringIO)
    return without_commands(console.file.getvalue().rstrip())


def _parts(record: Record, *, ascii_only: bool, width: int) -> Iterator[RenderableType]:
    title = "interrupted" if record.decided_by == "interrupt" else record.verdict
    yield Text.assemble((f"{title.upper()}", STYLES[record.verdict]), "  ", (visible(record.subject), "bold"))
    yield Text(visible(shortened(record.reason, _LONGEST), keep="\n"))
    if record.pairs:
        yield Padding(draw_interval(record, width=min(width - 2, 72), ascii_only=ascii_only), (1, 0, 1, 1))
    yield facts(record)
    yield from profile_parts(record)
    yield from arm_parts(record)
    yield from _examples(record)
    yield from _findings(record)
    if record.verdict == "pass":
        yield Text(
            f"\nA pass speaks of {scope(record)} and this size only: "
            "it proves nothing for other distributions or sizes.",
            style="dim",
        )


def draw_interval(record: Record, *, width: int, ascii_only: bool) -> Group:
    """The line of possible rho from 0 up, the part that the audit left open, and where the target stands."""
    low, high = _open_part(record)
    centre = gated(record).centre
    top = min(1.0, 1.25 * max(1.6 * record.target, high if high < 1 else low, centre))
    full, rest, mark = ("#", "-", "|") if ascii_only else ("█", "─", "┃")
    left, right = "0 ", f" {top:.2g}"
    cells = max(8, width - len(left) - len(right))

    def at(p: float) -> int:
        return min(cells - 1, int(p / top * cells))

    line = Text(left, style="dim")
    target = at(record.target)
    for i in range(cells):
        inside = at(low) <= i <= at(min(high, top)) if high > 0 else False
        if i == target:
            line.append(mark, style="bold")
        else:
            line.append(full if inside else rest, style=STYLES[record.verdict] if inside else "dim")
    line.append(right, style="dim")
    label = f"target {record.target:g}"
    before = max(0, min(len(left) + target - len(label) // 2, width - len(label)))
    return Group(line, Text(" " * before + label, style="bold"))


def _open_part(record: Record) -> tuple[float, float]:
    """Where rho may still be: by the bound that decided, else by the two-sided interval."""
    if record.bound is None:
        return gated(record).low, gated(record).high
    return (0.0, record.bound.value) if record.bound.side == "upper" else (record.bound.value, 1.0)


def facts(record: Record) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _facts(record):
        table.add_row(name, Text(visible(shortened(value, _LONGEST))))
    return table


def _facts(record: Record) -> Iterator[tuple[str, str]]:
    if record.pairs:
        yield from _measured(record)
    rows = "row" if record.size == 1 else "rows" if record.sample_kind == "rows" else "rows, as counts,"
    yield "sample", f"{record.size:,} {rows} from {record.source}, r as {record.randomness}, seed {record.seed}"
    if record.resample:
        yield "resampled", f"by {record.resample}"
    if record.view != "output":
        yield "compared", record.view
    if record.params:
        yield "parameters", ", ".join(f"{name}={value}" for name, value in record.params.items())
    if record.theorem or record.claimed is not None:
        yield "claimed", _claim(record)
    if record.note:
        yield "note", record.note
    for name, (declared, used) in record.overridden.items():
        yield "overridden", f"{name} {used}, declared {declared}"
    if record.pairs:
        yield from _spent(record)


def _measured(record: Record) -> Iterator[tuple[str, str]]:
    sure = f"{percent(record.confidence)} two-sided"
    yield (
        "rho",
        f"{record.mismatches:,} mismatches in {record.pairs:,} {rho_noun(record)} "
        f"{between(record.rho.low, record.rho.high)} ({sure}, {record.rho.method}){beside(record)}",
    )
    yield from profile_facts(record)
    if (churn := record.churn) is not None:
        yield (
            "churn",
            f"{churn.mean:.3g} of the probe points change on average, {between(churn.low, churn.high)} ({sure}); "
            f"half of the pairs at most {churn.median:.3g}, nine in ten at most {churn.ninth_decile:.3g}",
        )
    if (found := record.accuracy) is not None:
        allowed = "" if found.allowed is None else f"; {found.allowed:g} is allowed"
        allowed += ", by Lemma A.6" if record.loss else ""
        yield (
            accuracy_label(record),
            f"{found.failures:,} of {found.runs:,} {accuracy_noun(record)} "
            f"{between(found.low, found.high)} ({sure}){allowed}{certified(record)}",
        )


def _spent(record: Record) -> Iterator[tuple[str, str]]:
    how = "all of them run" if record.design == "fixed" else "fewer if decided earlier"
    unit = f"strings of {record.profile.runs} runs" if record.profile else "pairs"
    since = f"; the gate was planned for {record.first_budget:,}" if record.first_budget else ""
    yield "budget", f"{record.budget:,} {unit}, {how}{since}"
    if stated := confidences(record):
        yield "confidence", stated
    yield (
        "cost",
        f"{record.cost.runs:,} runs, {record.cost.preflight_runs} more to look for hidden state; "
        f"{_seconds(record)} in the subject",
    )


def _seconds(record: Record) -> str:
    """In several processes at once a subject takes more seconds than pass."""
    total, inside = record.cost.seconds_total, record.cost.seconds_in_subject
    if record.cost.engine == IN_PROCESS:
        return f"{total:.3g} s in this process, of them {inside:.3g} s"
    return f"{total:.3g} s {record.cost.engine}, {inside:.3g} s"


def _claim(record: Record) -> str:
    words = [] if record.claimed is None else [f"rho {record.claimed:g}"]
    if record.theorem:
        words.append(f"by {record.theorem}")
    if record.sample_scale is not None and record.sample_scale < 1:
        words.append(f"(below theorem: {record.sample_scale:.3g} of the size it asks for)")
    return " ".join(words)


def _examples(record: Record) -> Iterator[RenderableType]:
    for example in record.examples[:1] if record.profile is None else ():  # its worst string tells more
        found = example.first_difference
        yield Text(f"\nThe outputs of pair {example.pair} differ at {visible(found.path)}:")
        for side in (found.left, found.right):
            yield Padding(Text(visible(side), overflow="fold"), (0, 0, 0, 2))
        yield from _command(example.replay)


def _findings(record: Record) -> Iterator[RenderableType]:
    colours = {"error": "magenta", "warning": "yellow", "info": "dim"}
    for finding in record.findings:
        yield Text.assemble("\n", (finding.severity, colours[finding.severity]), f" {finding.kind}: ")
        yield Padding(Text(visible(finding.message, keep="\n"), overflow="fold"), (0, 0, 0, 2))
        yield from _command(finding.replay)


def _command(command: str | None) -> Iterator[Text]:
    if command:
        yield Text("replay it with:")
        yield Text(visible(command), style="cyan", no_wrap=True)
