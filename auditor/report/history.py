"""How did what was asked of a subject change with its code? One line an audit, the oldest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from auditor.flow.ledger import Past
from auditor.process.escape import visible
from auditor.report.terminal import STYLES
from auditor.statistics.outward import at_least, at_most

_HEAD = ("started", "code", "question", "limits", "verdict", "target", "differ", "of", "size", "seed")
_WHOLE = ("code", "limits", "verdict")  # kept on any terminal


def audits_over_time(subject: str, past: Sequence[Past]) -> Iterator[RenderableType]:
    yield Text.assemble((visible(subject), "bold"), f": {len(past)} audit{'s' if len(past) > 1 else ''}")
    only_rho = all(audit.question == "rho" for audit in past)
    shown = [name for name in _HEAD if not (only_rho and name == "question")]
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in shown:
        head = {"limits": "rho", "of": "of pairs"}.get(name, name) if only_rho else name
        table.add_column(head, no_wrap=name in _WHOLE, overflow="fold")
    for audit in past:
        cells = dict(zip(_HEAD, _row(audit), strict=True))
        table.add_row(*(cells[name] if name == "verdict" else Text(visible(str(cells[name]))) for name in shown))
    yield table


def _row(audit: Past) -> Iterator[str | Text]:
    plan, record = audit.plan, audit.record
    target = plan.get("target")
    first = record.measures[0] if record and record.measures else None
    yield audit.started.replace("T", " ").removesuffix("+00:00")
    yield str(plan.get("code_hash") or "")[:8]
    yield audit.question
    yield f"{at_least(first.low)} to {at_most(first.high)}" if first else ""
    yield Text(visible(audit.verdict), STYLES.get(audit.verdict, "")) if audit.verdict else Text("unfinished", "dim")
    yield "" if target is None else f"{target:g}"
    yield f"{(record.mismatches if record else None) or audit.mismatches:,}"
    yield f"{(record.pairs if record else None) or audit.pairs:,}"
    yield f"{plan['size']:,}" if "size" in plan else ""
    yield str(plan.get("seed", ""))
