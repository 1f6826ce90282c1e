"""page: saved records as one page."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from auditor.cli.options import OptionGivenOnce
from auditor.cli.output import check_files, write
from auditor.errors import UsageError


@click.command()
@click.argument("files", metavar="RECORD...", nargs=-1, required=True)
@click.option(
    "--html", cls=OptionGivenOnce, required=True, metavar="FILE", help="Write the page to FILE; - is standard output."
)
def page(files: tuple[str, ...], html: str) -> int:
    """Show saved records as one web page, which needs neither a server nor scripts. Runs nothing.

    RECORD is what --json wrote: one audit, or the list of a gate. Several share one table.

    Example: python -m auditor page record.json --html page.html
    """
    from auditor.flow.record import drawn_from, read_records
    from auditor.report.formats import FORMATS

    check_files({"--html": html})
    records = [record for file in files for record in read_records(Path(file))]
    if not records:
        raise UsageError(f"{', '.join(files)}: an empty list has nothing to draw")
    with drawn_from(*files):
        # Whichever of them is wrong: the errors of all add up to that of the page.
        confidence = 1 - round(sum(1 - record.confidence for record in records), 12)
        drawn = FORMATS["html"].draw(records, confidence, len(records) == 1)
    write(drawn, html, "--html")
    return 0
