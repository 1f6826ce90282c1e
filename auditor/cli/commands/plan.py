"""plan: what a gate costs, before anything runs."""

from __future__ import annotations

import rich_click as click

from auditor.cli.options import Count
from auditor.cli.output import make_console


@click.command()
@click.option("--rho", type=float, default=0.1, show_default=True, help="The target of the gate.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="How sure the verdict must be.")
@click.option("--pairs", type=Count(), metavar="MAX", help="The budget.  [default: 100 / rho]")
def plan(rho: float, confidence: float, pairs: int | None) -> int:
    """What a gate costs: exact expected pairs and the share left undecided, for a range of true rho.

    Example: python -m auditor plan --rho 0.05
    """
    from auditor.flow.plan import make_plan
    from auditor.report.prospects import prospects

    out = make_console()
    for part in prospects(make_plan(target=rho, confidence=confidence, pairs=pairs)):
        out.print(part)
    return 0
