"""theorems: every registered subject that names what was proved of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from auditor.cli.options import REPORTS, OptionGivenOnce, TableCommand, option_of, report_options, running_options
from auditor.cli.output import check_files, deliver, plain, survived, write
from auditor.cli.running import running_code
from auditor.cli.several import audit_in_turn, confidence_of, settled_together, time_of
from auditor.errors import UsageError
from auditor.files import check_writable, reason

if TYPE_CHECKING:
    from auditor.subjects.subject import Subject


def _options() -> Iterator[click.Option]:
    """Yield the options of theorems: seed, confidence, how to run, and where the reports go."""
    from auditor.request import Options, listed

    table = listed(Options)
    yield from (option_of(table[name]) for name in ("seed", "confidence"))
    yield from running_options()
    yield OptionGivenOnce(
        ["--reports", "folder"],
        metavar="DIR",
        default="reports",
        help="Folder for the three files (default: reports).",
        panel=REPORTS,
    )
    yield from (one for one in report_options() if one.opts == ["--html"])


def _theorems(only: str | None, folder: str, report_of_html: str | None, **options: Any) -> int:
    """Audit every subject that names a theorem, at the theorem's size, and write theorems.json, .md and .svg.

    Example: python -m auditor theorems
    """
    from auditor.flow.record import exit_code_of, to_json_list
    from auditor.report.formats.markdown import theorems_markdown
    from auditor.report.several import picture_of_several, show_summary

    given = {name: value for name, value in options.items() if value is not None}
    confidence = confidence_of(given)
    files = _files(Path(folder))
    pages = check_files({"--html": report_of_html} if report_of_html else {})
    with running_code(installed_first=True) as log:
        settled = settled_together([subject.name for subject in _chosen(only)], given)
        records = audit_in_turn(settled, log, seconds=time_of(given))
    documents: dict[str, Callable[[], bytes]] = {
        "json": lambda: to_json_list(records),
        "md": lambda: theorems_markdown(records, confidence).encode("utf-8", "backslashreplace"),
        "svg": lambda: picture_of_several(records),
    }
    for kind, document in documents.items():
        with survived(f"cannot make {files[kind]}"):
            write(document(), files[kind], "--reports")
    out = deliver(
        records, pages, partial(show_summary, records, confidence, len(settled)), confidence=confidence, single=False
    )
    log.tell(out)
    out.print(plain(f"written: {', '.join(files.values())}"), soft_wrap=True)
    return exit_code_of(records)


def _files(folder: Path) -> dict[str, str]:
    """Return the three files by kind, after checking that they can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot make --reports {folder}: {reason(error)}") from error
    files = {kind: str(folder / f"theorems.{kind}") for kind in ("json", "md", "svg")}
    for file in files.values():
        check_writable(file, "--reports")
    return files


def _chosen(only: str | None) -> list[Subject]:
    """Return the subjects with a theorem whose name or theorem contains `only`; UsageError if there is none."""
    from auditor.questions.several import with_theorem

    chosen = [one for one in with_theorem() if only is None or only in one.name or only in str(one.declared.theorem)]
    if not chosen:
        raise UsageError(f"--only {only} leaves no subject: python -m auditor list shows them")
    return chosen


theorems = TableCommand(
    "theorems",
    help=_theorems.__doc__,
    callback=_theorems,
    params=[
        OptionGivenOnce(
            ["--only"],
            metavar="TEXT",
            help="Audit only the subjects whose name or theorem contains this (default: all).",
            panel="Which audits",
        ),
    ],
    options=_options,
)
