"""Audits as JUnit XML, for the test reports of Jenkins, GitLab and others: a testcase each, met or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import msgspec

from auditor import __version__
from auditor.flow.record import Record
from auditor.questions.panel import is_as_expected
from auditor.report.escape import shortened, xml_text
from auditor.report.terminal import as_text

_MESSAGE = 1_000  # characters of an attribute
_LONGEST = 20_000  # characters of anything else that a subject said


def junit(records: Sequence[Record], confidence: float) -> bytes:
    """The document. `confidence` is that of all verdicts together."""
    root = Element("testsuites", name="auditor")
    suite = SubElement(root, "testsuite", name="auditor")
    _add_properties(suite, _of_all(records, confidence))
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


def _of_all(records: Sequence[Record], confidence: float) -> Iterator[tuple[str, object]]:
    yield "auditor_version", __version__
    yield "confidence", f"{confidence:.15g}"
    for record in records[:1]:
        yield "seed", record.seed
        yield from ((name, record.environment.get(name, "")) for name in ("python", "numpy"))


def _add_case(suite: Element, record: Record) -> None:
    classname, name = _names(record.subject)
    seconds = f"{record.cost.seconds_total:.3f}"
    case = SubElement(suite, "testcase", classname=_attribute(classname), name=_attribute(name), time=seconds)
    _add_properties(
        case,
        (
            ("verdict", record.verdict),
            ("expect", record.expect),
            ("target", f"{record.target:.15g}"),
            ("rho.low", repr(record.rho.low)),
            ("rho.high", repr(record.rho.high)),
            ("gate", record.gate),
            *((f"churn.{end}", repr(getattr(record.churn, end))) for end in ("low", "high") if record.churn),
            *((f"nu.{end}", repr(getattr(record.profile, end))) for end in ("low", "high") if record.profile),
            ("pairs", record.pairs),
            ("mismatches", record.mismatches),
        ),
    )
    if is_as_expected(record):
        return
    # An unexpected pass is a failure too: what was declared is not so.
    expected = "" if record.expect == "pass" else f"{record.verdict}, expected {record.expect}: "
    kind = "error" if record.verdict == "error" else "failure"
    found = SubElement(case, kind, message=_attribute(expected + record.reason), type=_attribute(record.verdict))
    found.text = xml_text(as_text(_cut_record(record)), keep="\n")


def _names(subject: str) -> tuple[str, str]:
    """Readers take the classname apart at its dots, so a file's path is written as a module's name, as pytest does."""
    place, _, name = subject.rpartition(":")
    if place.endswith(".py"):
        place = place.removesuffix(".py").replace("\\", "/").strip("./").replace("/", ".")
    return place or "auditor", name


def _add_properties(parent: Element, values: Iterator[tuple[str, object]] | Sequence[tuple[str, object]]) -> None:
    properties = SubElement(parent, "properties")
    for name, value in values:
        SubElement(properties, "property", name=name, value=_attribute(str(value)))


def _attribute(text: str) -> str:
    return xml_text(shortened(text, _MESSAGE))


def _cut_record(record: Record) -> Record:
    """The record with every text in it cut: an author may declare megabytes, and readers of XML give up on them."""
    cut: Record = msgspec.convert(_cut(msgspec.to_builtins(record)), Record)
    return cut


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return shortened(value, _LONGEST)
    if isinstance(value, dict):
        return {_cut(key): _cut(item) for key, item in value.items()}
    return [_cut(item) for item in value] if isinstance(value, (list, tuple)) else value
