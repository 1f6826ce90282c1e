"""How is what a user types read? Whole numbers, parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import rich_click as click

from auditor.errors import UsageError

if TYPE_CHECKING:
    from auditor.engine import How


class Count(click.ParamType[int]):
    """A whole number, written 1000, 1_000 or 1e6."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from decimal import Decimal, InvalidOperation  # 1e23 as it is written, not as a float has it

        try:
            number = Decimal(value)
            if number == number.to_integral_value():
                if number.adjusted() >= 30:
                    return self.fail(f"{value!r} is beyond 1e30: use a smaller number", param, ctx)
                return int(number)
        except (InvalidOperation, ValueError, OverflowError):
            pass
        return self.fail(f"{value!r} must be a whole number, e.g. 1000 or 1e6", param, ctx)


_RUNNING = (
    click.option("--jobs", type=Count(), metavar="N", help="Worker processes.  [default: as many as pay]"),
    click.option("--timeout", type=float, metavar="S", help="Seconds a run; one that takes more ends the audit."),
    click.option("--memory", metavar="SIZE", help="Memory that a worker may take, e.g. 2G."),
    click.option("--on-error", metavar="WHAT", help="A run that raises or dies: stop, or count it as bottom."),
    click.option("--ledger", metavar="FILE", help="Keep every finished trial in this SQLite file."),
    click.option("--resume", is_flag=True, default=None, help="Go on with the audit that --ledger has unfinished."),
    click.option("--cluster", metavar="WHERE", help="A Dask scheduler, tcp://HOST:8786, or local:4 for one in here."),
)


def refuse_empty(command: click.Command) -> click.Command:
    """The command, where an option or argument that is given as '' is a slip, a shell's unset variable say, and not
    taken for one that was left out."""
    for param in command.params:
        param.callback = _not_empty
    return command


def _not_empty(context: click.Context, param: click.Parameter, value: Any) -> Any:
    if value == "" or (isinstance(value, tuple) and "" in value):
        raise click.BadParameter("'' is empty: give a value, or leave it out", context, param)
    return value


def running_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how to run, and not what to ask."""
    for option in reversed(_RUNNING):
        command = option(command)
    return command


def take_how(options: dict[str, Any]) -> tuple[How, list[str]]:
    """Those options, taken out of `options`; and which were given."""
    from auditor.engine import make_how

    names = ("jobs", "timeout", "memory", "on_error", "ledger", "resume", "cluster")
    given = {name: options.pop(name) for name in names}
    how = make_how(**{**given, "resume": bool(given["resume"])})
    return how, [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]


def count_or_file(probe: str | None) -> int | str | None:
    try:
        return None if probe is None else Count().convert(probe, None, None)
    except click.BadParameter:
        return probe


def split_params(params: Sequence[str]) -> dict[str, str]:
    texts = {}
    for word in params:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise UsageError(f"--param {word} must be NAME=VALUE, e.g. --param tau=0.1")
        texts[name] = text
    return texts
