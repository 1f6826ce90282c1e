"""Audits for the services that run them: GitHub's annotations, GitLab's code-quality report, JUnit XML.

An annotation and an entry of a code-quality report stand at the function that they speak of. A record may name any
code, so nothing is imported to find that place.
"""

from __future__ import annotations

import inspect
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from json import dumps
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from auditor import __version__
from auditor.errors import UsageError
from auditor.escape import github_message, github_property, json_text, shortened, visible, xml_text
from auditor.files import read_bytes
from auditor.flow.parts import Listing
from auditor.flow.record import Record
from auditor.lookup import find_file, loaded_object, short_name
from auditor.report.advice import advice
from auditor.report.terminal import as_text

_TITLE, _MESSAGE = 200, 2_000  # characters of an annotation's title and of each of its sentences
_LONGEST, _ALL = 1_000, 4_000  # of a code-quality sentence and of all of them
_ATTRIBUTE, _REPORT = 1_000, 200_000  # of an attribute and of a report in XML: readers give up on megabytes
_SEARCHED = 2**20  # bytes of a file in which a function is looked for
_SEVERITY = {"error": "critical", "inconclusive": "minor"}  # a fail, or a pass where none was expected, is major


def _next_steps(record: Record) -> Iterator[str]:
    """Yield what a failed audit suggests to try, for a message of a build service."""
    for part in advice(record):
        if isinstance(part, Listing):
            yield from (f"next: {shortened(text, _MESSAGE)}" for text in part.texts)


def _ending(record: Record) -> str:
    """Return the verdict, and what was expected where that is not a pass."""
    return record.verdict if record.expect == "pass" else f"{record.verdict}, expected {record.expect}"


# --- GitHub


def annotation_lines(records: Sequence[Record], places: Mapping[str, tuple[str, int] | None]) -> Iterator[str]:
    """Yield a command for each record that did not end as expected; `places` has file and line by subject."""
    for record in records:
        if record.is_as_expected:
            continue
        place = places.get(record.subject)
        properties = {} if place is None else {"file": place[0], "line": str(place[1])}
        properties["title"] = shortened(f"auditor: {_ending(record)}: {record.label}", _TITLE)
        lines = [shortened(record.reason, _MESSAGE)]
        commands = [example.replay for example in record.examples] + [finding.replay for finding in record.findings]
        replay = next(filter(None, commands), None)
        if replay and len(replay) <= _MESSAGE:  # a cut command would be another command
            lines.append(f"replay it with: {replay}")
        message = "\n".join([*lines, *_next_steps(record)])
        listed = ",".join(f"{name}={github_property(value)}" for name, value in properties.items())
        yield f"::error {listed}::{github_message(message)}"


def place_of_subject(subject: str) -> tuple[str, int] | None:
    """Return file and line of an audited function by its name, or None."""
    if (fn := loaded_object(subject)) is not None:
        return place_of(fn)
    file = find_file(subject)
    name = subject.rpartition(":")[2].rpartition(".")[2]
    if file is None or not name.isidentifier():
        return None
    try:
        if os.path.getsize(file) > _SEARCHED:
            return None
        text = read_bytes(file, "")
    except (OSError, ValueError, UsageError):
        return None
    found = re.search(rf"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+{name}\b".encode(), text, re.MULTILINE)
    return _within_checkout(file), 1 + text[: found.start()].count(b"\n") if found else 1


def place_of(fn: Callable[..., Any] | None) -> tuple[str, int] | None:
    """Return file and line of a function, or None for what was not written in a file."""
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
    return _within_checkout(file), max(first, 1) + below


def _within_checkout(file: str | Path) -> str:
    """Return a file's path from the top of the checkout, as the service knows it, if it is in there."""
    top = os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or os.getcwd()
    path, workspace = Path(file).resolve(), Path(top).resolve()
    return (path.relative_to(workspace) if path.is_relative_to(workspace) else path).as_posix()


# --- GitLab


def code_quality(records: Sequence[Record]) -> bytes:
    """Return a code-quality report, which GitLab shows beside the lines of a merge request.

    It is a list of {description, check_name, fingerprint, severity, location: {path, lines: {begin}}}, one for each
    audit that did not end as expected. The fingerprint is of what was asked and how it ended, and not of what was
    counted: the same trouble in two runs is one. Within a report no two are the same, or one of them would be shown
    alone.
    """
    counts: Counter[str] = Counter()
    issues: list[dict[str, Any]] = []
    for record in records:
        if record.is_as_expected:
            continue
        asked = [record.subject, record.question, record.source, record.size, record.view, record.params]
        key = dumps([*asked, record.verdict, record.expect], sort_keys=True, default=str)
        counts[key] += 1
        likely = record.subject.partition(":")[0]  # a report without a place is not shown
        likely = likely if likely.endswith(".py") else f"{likely.replace('.', '/')}.py"
        path, line = place_of_subject(record.subject) or (likely, 1)
        texts = [f"{_ending(record)}: {record.label}: {record.reason}", *_next_steps(record)]
        issues.append(
            {
                "description": shortened(visible("; ".join(shortened(text, _LONGEST) for text in texts)), _ALL),
                "check_name": f"auditor/{record.question}",
                "fingerprint": blake2b(
                    f"{key}{counts[key]}".encode("utf-8", "backslashreplace"), digest_size=16
                ).hexdigest(),
                "severity": _SEVERITY.get(record.verdict, "major"),
                "location": {"path": visible(shortened(path, _LONGEST)), "lines": {"begin": line}},
            }
        )
    return json_text(dumps(issues, indent=2, ensure_ascii=False)).encode() + b"\n"


# --- JUnit XML, for the test reports of Jenkins, GitLab and others


def junit(records: Sequence[Record], confidence: float) -> bytes:
    """Return JUnit XML with a testcase for each audit. `confidence` is that of all verdicts together."""
    root = ElementTree.Element("testsuites", name="auditor")
    suite = SubElement(root, "testsuite", name="auditor")
    of_all: list[tuple[str, object]] = [("auditor_version", __version__), ("confidence", f"{confidence:.15g}")]
    for record in records[:1]:
        of_all += [("seed", record.seed), *((name, record.environment.get(name, "")) for name in ("python", "numpy"))]
    _add_properties(suite, of_all)
    for record in records:
        _add_case(suite, record)
    counts = {
        "tests": str(len(records)),
        "failures": str(len(suite.findall("testcase/failure"))),
        "errors": str(len(suite.findall("testcase/error"))),
        "skipped": "0",
        "time": f"{sum(record.cost.seconds_total for record in records):.3f}",
    }
    for element in (root, suite):
        element.attrib.update(counts)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _add_case(suite: Element, record: Record) -> None:
    """Add a testcase. An unexpected pass is a failure too: what was declared is not so."""
    name = short_name(record.subject)
    place = record.subject.removesuffix(name).removesuffix(":")
    if place.endswith(".py"):  # readers take the classname apart at its dots, so a path is written as a module's name
        place = place.removesuffix(".py").replace("\\", "/").strip("./").replace("/", ".")
    called = {"classname": _attribute(place or "auditor"), "name": _attribute(record.name or name)}
    case = SubElement(suite, "testcase", called, time=f"{record.cost.seconds_total:.3f}")
    properties: list[tuple[str, object]] = [(name, getattr(record, name)) for name in ("verdict", "expect", "question")]
    if record.target is not None:
        properties.append(("target", f"{record.target:.15g}"))
    limits = {one.name: (one.low, one.high) for one in record.measures}
    if record.rho:
        limits["rho"] = (record.rho.low, record.rho.high)
    for measure, (low, high) in limits.items():
        properties += [(f"{measure}.low", repr(low)), (f"{measure}.high", repr(high))]
    if record.pairs is not None:
        properties += [("pairs", record.pairs), ("mismatches", record.mismatches)]
    _add_properties(case, properties)
    if record.is_as_expected:
        return
    message = record.reason if record.expect == "pass" else f"{_ending(record)}: {record.reason}"
    kind = "error" if record.verdict == "error" else "failure"
    found = SubElement(case, kind, message=_attribute(message), type=_attribute(record.verdict))
    found.text = xml_text(shortened(as_text(record, verbose=True), _REPORT), keep="\n")


def _add_properties(parent: Element, values: Iterable[tuple[str, object]]) -> None:
    """Add names with values to an element of a JUnit document."""
    properties = SubElement(parent, "properties")
    for name, value in values:
        SubElement(properties, "property", name=name, value=_attribute(str(value)))


def _attribute(text: str) -> str:
    """Return a text as the value of an XML attribute."""
    return xml_text(shortened(text, _ATTRIBUTE))
