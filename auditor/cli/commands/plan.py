"""plan: what a gate costs, before anything runs."""

from __future__ import annotations

import rich_click as click

from auditor.cli.options import Count, OptionGivenOnce
from auditor.cli.output import make_console

_HEAD = ("true rho", "expected pairs", "no test below", "pass", "fail", "undecided")
_FACTORS = (0, 1 / 4, 1 / 2, 0.6, 0.8, 1, 1.25, 1.5, 2, 4)  # of the target: the true rho of a line


@click.command()
@click.option(
    "--rho",
    cls=OptionGivenOnce,
    type=float,
    default=0.1,
    metavar="R",
    help="The rho that the gate accepts (default: 0.1).",
)
@click.option(
    "--confidence",
    cls=OptionGivenOnce,
    type=float,
    default=0.95,
    metavar="C",
    help="Confidence of the verdict (default: 0.95).",
)
@click.option(
    "--pairs", cls=OptionGivenOnce, type=Count(), metavar="MAX", help="Maximum number of pairs (default: 100 / rho)."
)
def plan(rho: float, confidence: float, pairs: int | None) -> int:
    """Show what a gate costs: the expected number of pairs, and how often it stays undecided, by the true rho.

    Example: python -m auditor plan --rho 0.05
    """
    from rich.text import Text

    from auditor.flow.verdict import make_plan
    from auditor.report.columns import Column, TableRows
    from auditor.statistics.cost import information_bound, prospect
    from auditor.statistics.digits import exact, sure
    from auditor.statistics.threshold import MOST_CALIBRATED

    made = make_plan(target=rho, confidence=confidence, pairs=pairs)
    out, gate = make_console(), made.gate
    out.print(
        f"To decide whether rho is at most {exact(rho)} ({sure(made.confidence)}), at most {made.budget:,} pairs of "
        f"two runs each are run. "
        f"Without a mismatch it passes after {made.least_trials:,} pairs."
    )
    if made.budget > MOST_CALIBRATED:
        out.print(f"Above {MOST_CALIBRATED:,} pairs its thresholds are those of no budget, 1/alpha on both sides.")
    rows = []
    for true in sorted({one for f in _FACTORS if (one := f * rho) < 1} | {0.5, 1.0}):
        law = prospect(true, target=rho, alpha=gate.alpha_pass, alpha_fail=gate.alpha_fail, budget=made.budget)
        right = law.passes if law.rho < rho else law.fails
        least = "" if law.rho == rho else f"{information_bound(law.rho, rho, made.alpha, right):,.1f}"
        shares = (f"{share:.2%}" for share in (law.passes, law.fails, law.undecided))
        rows.append([*map(Text, (f"{law.rho:.4g}", f"{law.expected_pairs:,.1f}", least, *shares))])
    out.print(TableRows([Column(name, right=True) for name in _HEAD], rows))
    out.print(
        "No test below: no test that errs as rarely decides with fewer pairs on average. It is kl(Pr[decided rightly], "
        "alpha) / KL(true rho, target).",
        style="dim",
    )
    return 0
