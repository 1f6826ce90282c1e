"""theorems, gate, and check of a package: many subjects, one error budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from auditor.commands.options import Count, running_options, take_how
from auditor.errors import EXIT_CODES, UsageError
from auditor.files import check_writable, reason
from auditor.outlets import (
    Documents,
    Log,
    console,
    deliver,
    documents_of,
    plain,
    prints_logged,
    stdout_kept,
    take_files,
    tell_github,
)
from auditor.second_server import start_server

if TYPE_CHECKING:
    from rich.console import Console

    from auditor.engine import How
    from auditor.report.record import Record
    from auditor.setup import Setup


@click.command()
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of all verdicts together.")
@click.option("--seed", type=Count(), default=0, show_default=True, help="Root of all randomness.")
@click.option("--only", metavar="TEXT", help="Only the subjects whose name or theorem contains this.")
@click.option("--reports", "folder", metavar="DIR", default="reports", show_default=True, help="Where the table goes.")
@running_options
def theorems(confidence: float, seed: int, only: str | None, folder: str, **options: Any) -> int:
    """Audit every registered subject that names a theorem, at the theorem's size; writes theorems.json, .md and .svg.

    Example: python -m auditor theorems
    """
    start_server()
    from auditor.panel import make_setups, with_theorem
    from auditor.report.record import to_json_list
    from auditor.report.theorems import markdown, picture

    how, _ = take_how(options)
    directory = Path(folder)
    files = {kind: str(directory / f"theorems.{kind}") for kind in ("json", "md", "svg")}
    make_folder(directory)
    for file in files.values():
        check_writable(file, "--reports")
    with stdout_kept():
        chosen = [s for s in with_theorem() if only is None or only in s.name or only in str(s.declared.theorem)]
    if not chosen:
        raise UsageError(f"--only {only} leaves no subject: python -m auditor list shows them")
    setups = make_setups(chosen, confidence=confidence, seed=seed)
    records, log = _audit_several(setups, how)
    documents: Documents = {
        "json": lambda: to_json_list(records),
        "md": lambda: markdown(records, confidence).encode("utf-8", "backslashreplace"),
        "svg": lambda: picture(records).encode("utf-8", "backslashreplace"),
    }
    deliver(documents, files, _table_of(records, confidence, len(setups)), log)
    console().print(plain(f"written: {', '.join(files.values())}"), soft_wrap=True)
    return _several_code(records)


@click.command()
@click.option(
    "--config", metavar="FILE", default="pyproject.toml", show_default=True, help="Where the audits are listed."
)
@click.option("--exitfirst", is_flag=True, help="Stop at the first that does not end as expected.")
@click.option("--json", "json_file", metavar="FILE", help="Write the records here; - is standard output.")
@click.option("--junit", "junit_file", metavar="FILE", help="Write JUnit XML here.")
@click.option("--markdown", "markdown_file", metavar="FILE", help="Write a summary in markdown here.")
@running_options
def gate(config: str, exitfirst: bool, **options: Any) -> int:
    """Audit every [[tool.auditor.subject]] of a project with one error budget, each against its expectation.

    Example: python -m auditor gate --exitfirst
    """
    start_server()
    from auditor.config import make_setups, read_config

    how, _ = take_how(options)
    files = take_files(options)
    asked = read_config(Path(config))
    with stdout_kept():
        setups = make_setups(asked)
    records, log = _audit_several(setups, how, exitfirst=exitfirst)
    _report_several(records, setups, files, asked.confidence, log)
    return _several_code(records)


def make_folder(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot make --reports {directory}: {reason(error)}") from error


def check_package(target: str, options: dict[str, Any]) -> int:
    from auditor.panel import declared_in, make_setups

    confidence, seed = options.pop("confidence"), options.pop("seed")
    how, _ = take_how(options)
    files = take_files(options)
    options["gate"] = None if options["gate"] == "rho" else options["gate"]
    options["accept_overlap"] = options["accept_overlap"] or None
    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]
    if given:
        raise UsageError(
            f"{', '.join(given)} is for one subject, and {target} declares several: write {target}:function"
        )
    with stdout_kept():
        setups = make_setups(declared_in(target), confidence=confidence, seed=seed)
    records, log = _audit_several(setups, how)
    _report_several(records, setups, files, confidence, log)
    return _several_code(records)


def _audit_several(setups: Sequence[Setup], how: How, *, exitfirst: bool = False) -> tuple[list[Record], Log]:
    """Audit in turn with a bar over all; an interrupt ends with what was finished."""
    from auditor.panel import audit_all, is_as_expected
    from auditor.report.progress import WatchingSeveral

    records: list[Record] = []
    with prints_logged() as (log, ours), WatchingSeveral(ours, len(setups)) as watch:
        for record in audit_all(setups, watch.audit, replace(how, log=log.file)):
            records.append(record)
            if record.decided_by == "interrupt" or (exitfirst and not is_as_expected(record)):
                break
    return records, log


def _report_several(
    records: Sequence[Record], setups: Sequence[Setup], files: dict[str, str], confidence: float, log: Log
) -> None:
    deliver(documents_of(records, confidence), files, _table_of(records, confidence, len(setups)), log)
    tell_github(records, [setup.subject for setup in setups[: len(records)]], files, confidence)


def _table_of(records: Sequence[Record], confidence: float, planned: int) -> Callable[[Console], None]:
    def draw(out: Console) -> None:
        from auditor.report.table import summary

        for part in summary(records, confidence, planned):
            out.print(part)

    return draw


def _several_code(records: Sequence[Record]) -> int:
    from auditor.panel import exit_code

    return EXIT_CODES["interrupted"] if records[-1].decided_by == "interrupt" else exit_code(records)
