"""python -m auditor: the commands, and what becomes of whatever goes wrong in them. Nothing heavy is imported here."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import rich_click as click

from auditor import __version__
from auditor.commands.before import list_subjects, plan
from auditor.commands.curves import curve, price
from auditor.commands.interviews import reuse
from auditor.commands.one import check, replay
from auditor.commands.past import history
from auditor.commands.several import gate, theorems
from auditor.errors import EXIT_CODES, AuditorError, BadValue
from auditor.outlets import complain, on_github

if TYPE_CHECKING:
    from auditor.report.escape import HeldCommands

click.rich_click.TEXT_MARKUP = None
click.rich_click.MAX_WIDTH = 100


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="auditor")
def cli() -> None:
    """Does an algorithm's answer survive fresh data?

    A learner A(sample, r) is rho-reproducible if two runs on independent samples with the same internal randomness r
    give the same output except with probability rho. auditor measures it.

    Example: python -m auditor check algorithms.statistical_query:rstat
    """


for command in (check, gate, curve, price, theorems, reuse, replay, history, plan, list_subjects):
    cli.add_command(command)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; whatever goes wrong becomes a sentence on standard error."""
    from auditor.report.escape import HeldCommands

    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):  # a replaced stream may not know how
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.path.insert(0, os.getcwd())
    held = HeldCommands(sys.stderr if on_github() else None)
    try:
        return _run(arguments, held)
    finally:
        held.release(sys.stderr)


def _run(arguments: Sequence[str] | None, held: HeldCommands) -> int:
    try:
        return int(cli.main(arguments, prog_name="auditor", standalone_mode=False, obj=held) or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return EXIT_CODES["interrupted"]
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CODES["error"]
    except AuditorError as error:
        complain(error.as_option() if isinstance(error, BadValue) else str(error), error.details)
        return error.exit_code
    except Exception as error:
        complain(f"auditor itself failed, please report it: {type(error).__name__}: {error}")
        return EXIT_CODES["error"]
