"""gate: every audit that a project asks for."""

from __future__ import annotations

import os
from contextlib import chdir
from pathlib import Path
from typing import Any

import rich_click as click

from auditor.cli.options import OptionGivenOnce, TableCommand, Typed, read_typed, report_options, running_options
from auditor.cli.running import running_code
from auditor.cli.several import audit_in_turn, report_together, time_of
from auditor.errors import UsageError
from auditor.files import check_writable


def _gate(names: tuple[str, ...], config: str | None, **options: Any) -> int:
    """Audit every subject that a project's pyproject.toml lists, and fail if one does not end as expected.

    The subjects are its [[tool.auditor.subject]]; all verdicts together hold with the confidence that it sets.
    NAME picks some of them, by target or by its function. Without --config the pyproject.toml with [tool.auditor] is
    looked for here and in the folders above. A subject with expect = "no worse" is held against what a --baseline has
    of it.

    Example: python -m auditor gate --exitfirst
    """
    from auditor.cli.config import find_config

    own = {name: options.pop(name) for name in ("exitfirst", "baseline", "update_baseline")}
    typed = read_typed(options)
    if config is not None:
        return _audit_entries(Path(config), names, typed, **own)
    file = find_config(Path.cwd())
    if file.parent == Path.cwd():
        return _audit_entries(Path(file.name), names, typed, **own)
    files = {option: name if name == "-" else os.path.abspath(name) for option, name in typed.files.items()}
    typed = typed._replace(files=files)
    own["baseline"] = own["baseline"] and os.path.abspath(own["baseline"])
    with chdir(file.parent):  # what the file names is there
        return _audit_entries(file, names, typed, **own)


def _audit_entries(
    file: Path, names: tuple[str, ...], typed: Typed, *, exitfirst: bool, baseline: str | None, update_baseline: bool
) -> int:
    """Read a file, audit the entries that are named, and update the baseline if asked; return the exit code."""
    from auditor.cli.baseline import read_baseline, update
    from auditor.cli.config import pick, read_config, settle

    asked = read_config(file)
    entries, path = pick(asked, names), baseline or asked.baseline
    if update_baseline and path is None:
        raise UsageError("--update-baseline needs to know where: give --baseline FILE, or baseline in [tool.auditor]")
    before = None if path is None else read_baseline(path, makes=update_baseline)
    if update_baseline:
        check_writable(path, "--baseline")
    seconds = time_of({**asked.whole, **typed.given})
    with running_code() as log:
        settled = settle(asked, entries, typed.given, before)
        records = audit_in_turn(settled, log, exitfirst=exitfirst, seconds=seconds)
    others = [entry.target for entry in asked.entries if entry not in entries]
    return report_together(
        records,
        log,
        len(settled),
        typed.files,
        asked.confidence,
        verbose=typed.verbose,
        ended=lambda records: update(before, settled, records, others) if before and update_baseline else (),
    )


gate = TableCommand(
    "gate",
    help=_gate.__doc__,
    callback=_gate,
    params=[
        click.RichArgument(["names"], nargs=-1, metavar="[NAME]..."),
        *(
            OptionGivenOnce([flag], metavar=metavar, is_flag=metavar is None, help=words, panel="Which audits")
            for flag, metavar, words in (
                (
                    "--config",
                    "FILE",
                    "File that lists the audits (default: pyproject.toml, here or in a folder above).",
                ),
                (
                    "--baseline",
                    "FILE",
                    "Counts of earlier audits, for subjects that must get no worse (default: baseline in the file).",
                ),
                ("--update-baseline", None, "Count again and write --baseline, without comparing."),
                ("--exitfirst", None, "Stop at the first audit that does not end as expected."),
            )
        ),
    ],
    options=lambda: [*running_options(), *report_options()],
)
