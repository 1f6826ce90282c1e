"""How did the rho of a subject change with its code? One line an audit, the oldest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from auditor.flow.ledger import Past
from auditor.report.escape import visible
from auditor.report.terminal import STYLES
from auditor.statistics.outward import at_least, at_most


def audits_over_time(subject: str, past: Sequence[Past]) -> Iterator[RenderableType]:
    yield Text.assemble((visible(subject), "bold"), f": {len(past)} audit{'s' if len(past) > 1 else ''}")
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("started", "code", "rho", "verdict", "target", "differ", "of pairs", "size", "seed"):
        table.add_column(name, no_wrap=name in ("code", "rho", "verdict"), overflow="fold")  # kept on any terminal
    for audit in past:
        table.add_row(*(cell if isinstance(cell, Text) else Text(visible(cell)) for cell in _row(audit)))
    yield table


def _row(audit: Past) -> Iterator[str | Text]:
    plan, record = audit.plan, audit.record
    yield audit.started.replace("T", " ").removesuffix("+00:00")
    yield str(plan["code_hash"] or "")[:8]
    yield f"{at_least(record.rho.low)} to {at_most(record.rho.high)}" if record else ""
    if record:
        yield Text(visible(record.verdict), STYLES.get(record.verdict, ""))
    else:
        yield Text(audit.kind or "unfinished", "dim")
    yield f"{plan['target']:g}"
    yield f"{record.mismatches if record else audit.mismatches:,}"
    yield f"{record.pairs if record else audit.pairs:,}"
    yield f"{plan['size']:,}"
    yield str(plan["seed"])
