"""Every registered subject, as a table, and one of them whole. One that cannot be loaded is listed with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import fields
from rich.console import RenderableType
from rich.text import Text

from auditor.errors import AuditorError
from auditor.flow.parts import Facts, Part, Words
from auditor.lookup import registered_subjects
from auditor.process.escape import visible
from auditor.report.columns import Column, TableRows
from auditor.subjects.subject import Declaration, Subject, load_subject, param_text

_LARGE = 10**6  # from where on a size is written with three digits in a table
_COLUMNS = (
    Column("name"),
    Column("theorem", least=13),
    Column("claims", right=True),
    Column("size", right=True),
    Column("expect", named=True, least=24),
    Column("target", least=40, extra=True),
)


def registry() -> Iterator[RenderableType]:
    rows = [
        [Text(visible(name)), *_columns(target), Text(visible(target))]
        for name, target in registered_subjects().items()
    ]
    yield TableRows(_COLUMNS, rows)
    yield Text("list NAME shows one whole, and what it asks for.", style="dim")


def _columns(target: str) -> Iterator[Text]:
    try:
        subject = load_subject(target)
        declared = subject.declared
        values = (declared.theorem, subject.declares("claimed"), subject.declares("size"), declared.expect)
    except AuditorError as error:
        yield from (Text(), Text(), Text(), Text(visible(str(error)), style="red"))
        return
    for value in values:
        yield Text(visible("" if value is None else _short(value)))


def _short(value: object) -> str:
    if not isinstance(value, int):
        return f"{value}"
    return f"{value:,}" if value < _LARGE else f"{value:.3g}"


def one_whole(target: str) -> Iterator[Part]:
    """All that its author declared, at its own parameters, and those; AuditorError where it cannot be loaded."""
    subject = load_subject(target)
    yield Words(f"SUBJECT  {subject.name}", "title")
    yield Facts([*_declared(subject), *_taken(subject)])


def _declared(subject: Subject) -> Iterator[tuple[str, ...]]:
    for name in (one.name for one in fields(Declaration)):
        value = getattr(subject.declared, name)
        if value is None or value == {}:
            continue
        if name in ("size", "claimed", "delta", "note", "plain"):
            value = subject.declares(name)
        elif name == "source":
            value = subject.source
        yield name, "", _whole(value)


def _whole(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(value)
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else param_text(value)


def _taken(subject: Subject) -> Iterator[tuple[str, ...]]:
    """What a run of it gets besides the sample."""
    kind = "a Sample" if subject.takes_sample else "an array, or (X, y)"
    yield "called", f"A(sample, r): {kind}, r as ", subject.randomness
    if subject.private:
        yield "private", "randomness of each run's own, as ", subject.private
    for name, value in subject.settings.items():
        yield "parameter", f"{name}=", param_text(value)
