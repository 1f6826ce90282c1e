"""How did what was asked of a subject change with its code? One line an audit, the oldest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from auditor.flow.ledger import Past
from auditor.process.escape import visible
from auditor.report.columns import Column, Rows
from auditor.report.terminal import STYLES
from auditor.statistics.outward import at_least, at_most

_WORDS = ("started", "code", "verdict", "question")  # each says by itself what it is


def audits_over_time(subject: str, past: Sequence[Past]) -> Iterator[RenderableType]:
    yield Text.assemble((visible(subject), "bold"), f": {len(past)} audit{'s' if len(past) > 1 else ''}")
    only_rho = all(audit.question == "rho" for audit in past)
    rows = [_row(audit) for audit in past]
    if only_rho:
        rows = [{"rho" if name == "limits" else name: text for name, text in row.items()} for row in rows]
    shown = [name for name in rows[0] if not (only_rho and name == "question")]
    columns = [Column(name, right=name not in _WORDS) for name in shown]
    yield Rows(columns, [[row[name] for name in shown] for row in rows], heads=3)


def _row(audit: Past) -> dict[str, Text]:
    plan, record, verdict = audit.plan, audit.record, audit.verdict
    target, size = plan.get("target"), plan.get("size")
    first = record.measures[0] if record and record.measures else None
    counts = ((record.mismatches, record.pairs) if record else None) or (0, 0)
    texts = {
        "started": audit.started.replace("T", " ").removesuffix("+00:00"),
        "code": str(plan.get("code_hash") or "")[:8],
        "verdict": "",
        "question": audit.question,
        "limits": f"{at_least(first.low)} to {at_most(first.high)}" if first else "",
        "target": "" if target is None else f"{target:g}",
        "differ": f"{counts[0] or audit.mismatches:,} of {counts[1] or audit.pairs:,}",
        "size": "" if size is None else f"{size:,}",
        "seed": str(plan.get("seed", "")),
    }
    shown = {name: Text(visible(text)) for name, text in texts.items()}
    shown["verdict"] = Text(visible(verdict), STYLES.get(verdict, "")) if verdict else Text("unfinished", "dim")
    return shown
