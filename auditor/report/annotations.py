"""Unmet expectations as GitHub's annotations, each at the function that it speaks of."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from auditor.errors import AuditorError
from auditor.flow.parts import Listing
from auditor.flow.record import Record
from auditor.lookup import find_object
from auditor.process.escape import github_message, github_property, shortened
from auditor.report.advice import advice

_TITLE, _MESSAGE = 200, 2_000  # characters


def annotation_lines(records: Sequence[Record], functions: Mapping[str, Callable[..., Any]]) -> Iterator[str]:
    """A line for each record that did not end as expected; `functions` are the audited ones by subject."""
    for record in records:
        if not record.is_as_expected:
            yield _annotation(record, place_of(functions.get(record.subject)))


def _annotation(record: Record, place: tuple[str, int] | None) -> str:
    expected = "" if record.expect == "pass" else f", expected {record.expect}"
    title = f"auditor: {record.verdict}{expected}: {record.subject}"
    properties = {} if place is None else {"file": place[0], "line": str(place[1])}
    properties["title"] = shortened(title, _TITLE)
    message = shortened(record.reason, _MESSAGE)
    commands = [example.replay for example in record.examples] + [finding.replay for finding in record.findings]
    replay = next(filter(None, commands), None)
    if replay and len(replay) <= _MESSAGE:  # a cut command would be another command
        message += f"\nreplay it with: {replay}"
    message = "\n".join([message, *next_steps(record)])
    listed = ",".join(f"{name}={github_property(value)}" for name, value in properties.items())
    return f"::error {listed}::{github_message(message)}"


def next_steps(record: Record) -> Iterator[str]:
    """What to try, a line each."""
    for part in advice(record):
        if isinstance(part, Listing):
            yield from (f"next: {shortened(text, _MESSAGE)}" for text in part.texts)


def function_of(subject: str) -> Any:
    """What was audited, which is imported by now; None where nothing leads to it."""
    with contextlib.suppress(AuditorError):
        return find_object(subject)
    return None


def place_of(fn: Callable[..., Any] | None) -> tuple[str, int] | None:
    """File and line of a function, the file as the service knows it; None for what was not written in a file."""
    try:
        fn = inspect.unwrap(fn) if fn else None
        file = inspect.getsourcefile(fn) if fn else None
        lines, first = inspect.getsourcelines(fn) if fn else ([], 0)
    except Exception:  # a callable may be anything, and an annotation without its place is still one
        return None
    if not file:
        return None
    starts = ("def ", "async def ", "class ")
    below = next((i for i, line in enumerate(lines) if line.lstrip().startswith(starts)), 0)  # after its decorators
    top = os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or os.getcwd()
    path, workspace = Path(file).resolve(), Path(top).resolve()
    inside = path.is_relative_to(workspace)
    return (path.relative_to(workspace) if inside else path).as_posix(), max(first, 1) + below
