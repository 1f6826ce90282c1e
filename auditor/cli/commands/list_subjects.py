"""list: what can be audited by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import rich_click as click

from auditor.cli.output import make_console
from auditor.cli.running import running_code
from auditor.lookup import SHOWN

if TYPE_CHECKING:
    from rich.text import Text

    from auditor.flow.parts import Part
    from auditor.lookup import Offered
    from auditor.report.columns import TableRows

_LARGE = 10**6  # from where on a size is written with three digits in a table


@click.command("list")
@click.argument("name", required=False)
def list_subjects(name: str | None) -> int:
    """List every registered subject with its theorem, claimed rho and size; with NAME, all that one declares.

    NAME is one that the table shows, or any target, such as file.py:fn, and its code runs. Without NAME the code of a
    package runs unless it has a table of its subjects.

    Example: python -m auditor list rstat
    """
    from auditor.lookup import offered_subjects, packages_without_table, registered_subjects

    out = make_console()
    if name is not None:
        from auditor.host.boundary import run_in_host
        from auditor.report.terminal import show_parts

        # Installed subjects find their own modules first.
        with running_code(installed_first=name in registered_subjects(runs=False)):
            parts = run_in_host(describe_subject, name)
        show_parts(parts, out)
        return 0
    offered: Mapping[str, Offered]
    if packages_without_table():
        from auditor.host.boundary import run_in_host

        with running_code(installed_first=True):
            offered = run_in_host(offered_with_values)
    else:
        offered = offered_subjects()
    out.print(table_of_subjects(offered))
    out.print("list NAME shows one whole, and what it asks for.", style="dim")
    return 0


def offered_with_values() -> dict[str, Offered]:
    """Return every registered subject with what `list` shows of it, or with the reason why it cannot be loaded."""
    from auditor.errors import AuditorError
    from auditor.lookup import offered_subjects
    from auditor.subjects.table import summary_of

    found = {}
    for name, one in offered_subjects().items():
        try:
            found[name] = one._replace(shown=summary_of(one.target)) if one.shown is None else one
        except AuditorError as error:
            found[name] = one._replace(shown={"error": str(error)})
    return found


def table_of_subjects(offered: Mapping[str, Offered]) -> TableRows:
    """Return a table of registered subjects."""
    from auditor.report.columns import Column, TableRows

    columns = (
        Column("name"),
        Column("theorem", least=13),
        Column("claims", right=True),
        Column("size", right=True),
        Column("expect", named=True, least=24),
        Column("target", least=40, extra=True),
    )
    return TableRows(columns, [[*_row(name, one)] for name, one in offered.items()])


def _row(name: str, one: Offered) -> Iterator[Text]:
    """Yield the cells of a subject; one that cannot be loaded is listed with the reason."""
    from rich.text import Text

    from auditor.escape import visible

    yield Text(visible(name))
    values = one.shown or {}
    if "error" in values:
        yield from (Text(), Text(), Text(), Text(visible(str(values["error"])), style="red"))
    else:
        for value in (values.get(name) for name in SHOWN):
            text = "" if value is None else f"{value}"
            if isinstance(value, int):
                text = f"{value:,}" if value < _LARGE else f"{value:.3g}"
            yield Text(visible(text))
    yield Text(visible(one.target))


def describe_subject(target: str) -> list[Part]:
    """Return all that a subject's author declared, at its own parameters; AuditorError where it cannot be loaded."""
    from msgspec.structs import fields

    from auditor.flow.parts import Facts, Words
    from auditor.subjects.subject import Declaration, load_subject, param_text

    subject = load_subject(target)
    rows: list[tuple[str, ...]] = []
    for name in (one.name for one in fields(Declaration)):
        value = getattr(subject.declared, name)
        if value is None or value == {}:
            continue
        if name in ("size", "claimed", "delta", "note", "plain", "resample"):
            value = subject.declares(name)
        elif name == "source":
            value = subject.source
        if value is None:
            continue
        text = ", ".join(value) if isinstance(value, dict) else f"{value:,}" if type(value) is int else None
        rows.append((name, "", value if isinstance(value, str) else text or param_text(value)))
    kind = "a Sample" if subject.takes_sample else "an array, or (X, y)"
    rows.append(("called", f"A(sample, r): {kind}, r as ", subject.randomness))
    if subject.private:
        rows.append(("private", "randomness of each run's own, as ", subject.private))
    rows += [("parameter", f"{name}=", param_text(value)) for name, value in subject.settings.items()]
    return [Words(f"SUBJECT  {subject.name}", "title"), Facts(rows)]
