"""history: what a ledger knows of a subject."""

from __future__ import annotations

import rich_click as click

from auditor.cli.output import console
from auditor.errors import UsageError
from auditor.files import check_file


@click.command()
@click.argument("target")
@click.option("--ledger", metavar="FILE", default="audits.sqlite", show_default=True, help="Where audits were kept.")
def history(target: str, ledger: str) -> int:
    """Every audit of TARGET in a ledger: what was found over time, and of which code. Runs nothing.

    Example: python -m auditor history algorithms.statistical_query:rstat --ledger audits.sqlite
    """
    from auditor.flow.ledger import read_history
    from auditor.lookup import full_target
    from auditor.report.history import audits_over_time

    subject = full_target(target)
    check_file(ledger, f"cannot read --ledger {ledger}")
    past = read_history(ledger, subject)
    if not past:
        raise UsageError(f"--ledger {ledger} has no audit of {subject}: check {subject} --ledger {ledger} makes one")
    out = console()
    for part in audits_over_time(subject, past):
        out.print(part)
    return 0
