"""python -m auditor: the commands, and what becomes of whatever goes wrong in them. Nothing heavy is imported here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import rich_click as click

from auditor import __version__
from auditor.cli.commands.check import check, make_command
from auditor.cli.commands.choose import choose
from auditor.cli.commands.compare import compare
from auditor.cli.commands.gate import gate
from auditor.cli.commands.history import history
from auditor.cli.commands.list_subjects import list_subjects
from auditor.cli.commands.page import page
from auditor.cli.commands.plan import plan
from auditor.cli.commands.replay import replay
from auditor.cli.commands.theorems import theorems
from auditor.cli.options import WORDS, refuse_empty
from auditor.cli.output import complain, loss_tolerant_streams, on_github, warn
from auditor.errors import EXIT_CODES, RENAMED, BadValue, as_ours, in_words, is_interrupt, suggestion

if TYPE_CHECKING:
    from auditor.escape import HeldCommands

click.rich_click.TEXT_MARKUP = None
click.rich_click.MAX_WIDTH = 100


_PANELS = {
    "Audit: is it reproducible?": ("check", "estimate", "reuse", "theorems"),
    "Understand: why, where and how much?": ("explain", "curve", "hunt", "price"),
    "Improve: what to change": ("repair", "compare", "choose"),
    "Gate: hold a project to it": ("gate", "plan"),
    "Look: what there is so far": ("list", "history", "page", "replay"),
}


class Commands(click.RichGroup):
    """Our commands, and one for each registered question that `check` does not ask; listing them imports none."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words as they were typed, for commands that go on where one was stopped; then parse them."""
        ctx.meta[WORDS] = tuple(args)  # as they were typed, for the commands that go on where one was stopped
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands: ours, then those of other registered questions."""
        return [*self.commands, *sorted({*_questions()} - {*self.commands})]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was typed; where there is none, name the one that is nearest."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            raise click.UsageError(f"No such command {name!r}{suggestion(name, self.list_commands(ctx))}.", ctx)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name; that of a registered question is made when it is asked for."""
        if found := super().get_command(ctx, cmd_name):
            return found
        home = _questions().get(cmd_name)
        return make_command(cmd_name, home) if home else None


def _questions() -> dict[str, str]:
    """Return the place of each registered question that has a command of its own, by name."""
    from auditor.lookup import CHECK, QUESTIONS, registered

    return {name: point.value for name, point in registered(QUESTIONS).items() if name not in CHECK}


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="auditor")
def cli() -> None:
    """Does an algorithm's answer survive fresh data?

    A learner A(sample, r) is rho-reproducible if two runs on independent samples with the same internal randomness r
    give the same output except with probability rho. auditor measures it.

    Example: python -m auditor check algorithms.statistical_query:rstat
    """


for heading, names in _PANELS.items():
    cli.add_panel(click.RichCommandPanel(heading, commands=[*names]))
for command in (check, choose, compare, gate, theorems, page, replay, history, plan, list_subjects):
    cli.add_command(refuse_empty(command))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; whatever goes wrong becomes a sentence on standard error.

    A verdict stands where its report is lost; a command that only prints has failed then.
    """
    from auditor.escape import HeldCommands

    code = EXIT_CODES["error"]
    with loss_tolerant_streams() as (out, _):
        held = HeldCommands(sys.stderr if on_github() else None)
        try:
            code = _run(arguments, held)
        finally:
            held.release(sys.stderr)
            out.flush()
            is_lost = bool(out.trouble) and not out.is_unread
            if is_lost:
                warn(f"what went to standard output is lost: {out.trouble}")
    words = sys.argv[1:] if arguments is None else arguments
    return EXIT_CODES["error"] if is_lost and code == 0 and _only_prints(words) else code


def _only_prints(words: Sequence[str]) -> bool:
    """True if a command has no verdict: what it prints is all that it does."""
    is_help = not words or words[0].startswith("-") or not {"-h", "--help", "--help-all"}.isdisjoint(words)
    return is_help or words[0] in ("list", "plan", "page", "history")


def _run(arguments: Sequence[str] | None, held: HeldCommands) -> int:
    """Run a command; whatever it raises becomes a message and an exit code."""
    from auditor.escape import brief

    try:
        return int(cli.main(arguments, prog_name="auditor", standalone_mode=False, obj=held) or 0)
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption):
            error.message = _no_such_option(error)  # type: ignore[misc]
            error.possibilities = None  # type: ignore[misc]
        error.message = brief(error.message)  # type: ignore[misc]
        error.show()
        return error.exit_code
    except click.Abort as error:  # the user's wish; or what click makes of any KeyboardInterrupt
        raised = error.__context__
        is_subjects = type(raised) is KeyboardInterrupt and not is_interrupt(raised)
        return _explain(raised) if raised and is_subjects else EXIT_CODES["interrupted"]
    except BaseException as error:
        return EXIT_CODES["interrupted"] if is_interrupt(error) else _explain(error)


def _no_such_option(error: click.NoSuchOption) -> str:
    """Say that there is no such option, and name the one that is nearest; click lists several by the alphabet."""
    typed, ctx = error.option_name, error.ctx
    if new := RENAMED.get(typed.lstrip("-")):
        return f"{typed} is called --{new.replace('_', '-')} now"
    known = [name for one in ctx.command.get_params(ctx) for name in one.opts] if ctx else []
    return f"No such option {typed!r}{suggestion(typed, known)}."


def _explain(error: BaseException) -> int:
    """Say what ended a command without a verdict, and whose fault it was; return the exit code."""
    try:
        ours = as_ours(error, "the audited code")
    except SystemExit as leaving:  # click's own, where help was all that was asked for
        return leaving.code if isinstance(leaving.code, int) else EXIT_CODES["error"]
    except BaseException:
        complain(f"auditor itself failed, please report it: {in_words(error)}")
        return EXIT_CODES["error"]
    complain(ours.as_option() if isinstance(ours, BadValue) else str(ours), ours.details)
    return ours.exit_code
