"""gate: every audit that a project asks for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any

import rich_click as click

from auditor.cli.options import TableCommand, Typed, read_typed, report_options, running_options
from auditor.cli.prints import stdout_kept
from auditor.cli.several import answered_together, time_of
from auditor.process.process_state import process_state_kept


def _options() -> Iterator[click.Option]:
    yield from running_options()
    yield from report_options()


def _gate(names: tuple[str, ...], config: str | None, exitfirst: bool, **options: Any) -> int:
    """Audit every [[tool.auditor.subject]] of a project with one error budget, each against its expectation.

    NAME picks some of them, by target or by its function. Without --config the pyproject.toml with [tool.auditor] is
    looked for here and in the folders above.

    Example: python -m auditor gate --exitfirst
    """
    from auditor.cli.config import find_config

    typed = read_typed(options)
    if config is not None:
        return _audited(Path(config), names, typed, exitfirst=exitfirst)
    file = find_config(Path.cwd())
    if file.parent == Path.cwd():
        return _audited(Path(file.name), names, typed, exitfirst=exitfirst)
    files = {option: name if name == "-" else os.path.abspath(name) for option, name in typed.files.items()}
    typed = replace(typed, files=files)
    sys.path.insert(0, str(file.parent))
    with chdir(file.parent), process_state_kept(over_all=True):  # what the file names is there
        return _audited(file, names, typed, exitfirst=exitfirst)


def _audited(file: Path, names: tuple[str, ...], typed: Typed, *, exitfirst: bool) -> int:
    from auditor.cli.config import pick, read_config, settle

    asked = read_config(file)
    entries = pick(asked, names)
    with stdout_kept():
        seconds = time_of({**asked.whole, **typed.given})
        settled = settle(asked, entries, typed.given)
    return answered_together(
        settled, typed.files, asked.confidence, exitfirst=exitfirst, seconds=seconds, verbose=typed.verbose
    )


gate = TableCommand(
    "gate",
    help=_gate.__doc__,
    callback=_gate,
    params=[
        click.RichArgument(["names"], nargs=-1, metavar="[NAME]..."),
        click.RichOption(
            ["--config"], metavar="FILE", help="Where the audits are listed.  [default: pyproject.toml, here or above]"
        ),
        click.RichOption(["--exitfirst"], is_flag=True, help="Stop at the first that does not end as expected."),
    ],
    options=lambda: [*_options()],
)
