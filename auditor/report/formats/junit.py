"""Audits as JUnit XML, for the test reports of Jenkins, GitLab and others: a testcase each, met or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from auditor import __version__
from auditor.process.escape import shortened, xml_text
from auditor.report.formats import Format

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from auditor.flow.record import Record

_MESSAGE = 1_000  # characters of an attribute
_LONGEST = 200_000  # and of a report: readers of XML give up on megabytes


def junit(records: Sequence[Record], confidence: float) -> bytes:
    """The document. `confidence` is that of all verdicts together."""
    from xml.etree import ElementTree

    root = ElementTree.Element("testsuites", name="auditor")
    suite = _add(root, "testsuite", name="auditor")
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


FORMAT = Format("junit", "Write JUnit XML here", lambda records, confidence, single: junit(records, confidence))


def _of_all(records: Sequence[Record], confidence: float) -> Iterator[tuple[str, object]]:
    yield "auditor_version", __version__
    yield "confidence", f"{confidence:.15g}"
    for record in records[:1]:
        yield "seed", record.seed
        yield from ((name, record.environment.get(name, "")) for name in ("python", "numpy"))


def _add_case(suite: Element, record: Record) -> None:
    from auditor.report.terminal import as_text

    classname, name = _names(record.subject)
    seconds = f"{record.cost.seconds_total:.3f}"
    case = _add(suite, "testcase", classname=_attribute(classname), name=_attribute(name), time=seconds)
    _add_properties(case, _of_one(record))
    if record.is_as_expected:
        return
    # An unexpected pass is a failure too: what was declared is not so.
    expected = "" if record.expect == "pass" else f"{record.verdict}, expected {record.expect}: "
    kind = "error" if record.verdict == "error" else "failure"
    found = _add(case, kind, message=_attribute(expected + record.reason), type=_attribute(record.verdict))
    found.text = xml_text(shortened(as_text(record), _LONGEST), keep="\n")


def _of_one(record: Record) -> Iterator[tuple[str, object]]:
    yield from (("verdict", record.verdict), ("expect", record.expect), ("question", record.question))
    if record.target is not None:
        yield "target", f"{record.target:.15g}"
    limits = {one.name: (one.low, one.high) for one in record.measures}
    if record.rho:
        limits["rho"] = (record.rho.low, record.rho.high)
    for name, (low, high) in limits.items():
        yield from ((f"{name}.low", repr(low)), (f"{name}.high", repr(high)))
    if record.pairs is not None:
        yield from (("pairs", record.pairs), ("mismatches", record.mismatches))


def _add(parent: Element, tag: str, **attributes: str) -> Element:
    from xml.etree.ElementTree import SubElement

    return SubElement(parent, tag, attributes)


def _names(subject: str) -> tuple[str, str]:
    """Readers take the classname apart at its dots, so a file's path is written as a module's name, as pytest does."""
    place, _, name = subject.rpartition(":")
    if place.endswith(".py"):
        place = place.removesuffix(".py").replace("\\", "/").strip("./").replace("/", ".")
    return place or "auditor", name


def _add_properties(parent: Element, values: Iterable[tuple[str, object]]) -> None:
    properties = _add(parent, "properties")
    for name, value in values:
        _add(properties, "property", name=name, value=_attribute(str(value)))


def _attribute(text: str) -> str:
    return xml_text(shortened(text, _MESSAGE))
