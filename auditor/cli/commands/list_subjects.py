"""list: what can be audited by name."""

from __future__ import annotations

import rich_click as click

from auditor.cli.output import make_console
from auditor.cli.prints import stdout_kept


@click.command("list")
@click.argument("name", required=False)
def list_subjects(name: str | None) -> int:
    """Every registered subject with its theorem, claimed rho and size; with NAME, all that one declares.

    NAME is one that the table shows, or any target, such as file.py:fn. Runs the code of what it imports.

    Example: python -m auditor list rstat
    """
    from auditor.lookup import registered_subjects, search_here
    from auditor.report.registry import one_whole, registry
    from auditor.report.terminal import show_parts

    search_here(last=name is None or name in registered_subjects())  # installed ones find their own modules first
    out = make_console()
    if name is not None:
        with stdout_kept():
            parts = [*one_whole(name)]
        show_parts(parts, out)
        return 0
    for part in registry():
        out.print(part)
    return 0
