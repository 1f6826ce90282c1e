"""Unmet expectations as GitHub's annotations, each at the function that it speaks of."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from auditor.errors import UsageError
from auditor.files import read_bytes
from auditor.flow.parts import Listing
from auditor.flow.record import Record
from auditor.lookup import find_file, loaded_object
from auditor.process.escape import github_message, github_property, shortened
from auditor.report.advice import advice

_TITLE, _MESSAGE = 200, 2_000  # characters
_LONGEST = 2**20  # bytes of a file in which a function is looked for


def annotation_lines(records: Sequence[Record], places: Mapping[str, tuple[str, int] | None]) -> Iterator[str]:
    """A line for each record that did not end as expected; `places` has file and line by subject."""
    for record in records:
        if not record.is_as_expected:
            yield _annotation(record, places.get(record.subject))


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


def place_of_subject(subject: str) -> tuple[str, int] | None:
    """File and line of an audited function by its name; a record may name any code, so nothing is imported."""
    if (fn := loaded_object(subject)) is not None:
        return place_of(fn)
    file = find_file(subject)
    name = subject.rpartition(":")[2].rpartition(".")[2]
    if file is None or not name.isidentifier():
        return None
    try:
        if os.path.getsize(file) > _LONGEST:
            return None
        text = read_bytes(file, "")
    except (OSError, ValueError, UsageError):
        return None
    found = re.search(rf"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+{name}\b".encode(), text, re.MULTILINE)
    return _as_service_knows(file), 1 + text[: found.start()].count(b"\n") if found else 1


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
    return _as_service_knows(file), max(first, 1) + below


def _as_service_knows(file: str | Path) -> str:
    """A file's path from the top of the checkout, where it is in there."""
    top = os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or os.getcwd()
    path, workspace = Path(file).resolve(), Path(top).resolve()
    return (path.relative_to(workspace) if path.is_relative_to(workspace) else path).as_posix()
