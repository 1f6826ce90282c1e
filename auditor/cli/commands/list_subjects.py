"""list: what can be audited by name."""

from __future__ import annotations

import rich_click as click

from auditor.cli.output import console


@click.command("list")
def list_subjects() -> int:
    """Every registered subject with its theorem, claimed rho and size.

    Example: python -m auditor list
    """
    from auditor.report.registry import registry

    out = console()
    for part in registry():
        out.print(part)
    return 0
