"""How is what a user types read? Whole numbers, parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rich_click as click

from auditor.errors import UsageError


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
