"""choose: between settings of one target, or between several targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rich_click as click

from auditor.cli.commands.check import ask_one, command_words, options_of
from auditor.cli.options import TableCommand, read_typed


def _choose(targets: Sequence[str], **options: Any) -> int:
    typed = read_typed(options)
    if len(targets) > 1:
        typed.given["targets"] = [*targets[1:]]
    return ask_one("choose", targets[0], typed)


choose = TableCommand(
    "choose",
    help=command_words("choose", "auditor.questions.choose:Choose"),
    callback=_choose,
    params=[click.RichArgument(["targets"], nargs=-1, required=True, metavar="TARGET...")],
    options=lambda: options_of("choose"),
)
