"""Which audits does a project ask for? `[tool.auditor]` and `[[tool.auditor.subject]]` in pyproject.toml.

    [tool.auditor]
    confidence = 0.95

    [[tool.auditor.subject]]
    target = "mypackage.learners:fit"
    source = "data.csv#label"
    rho = 0.1

Keys are the options of `check`, or those of another `question`; `expect = "fail"` needs a `reason`. All mistakes of a
file are reported at once, each with its line.
"""

from __future__ import annotations

import functools
import operator
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from auditor.cli.baseline import Baseline, held_against
from auditor.cli.several import time_of
from auditor.errors import BadValue, UsageError, suggestion
from auditor.files import read_bytes
from auditor.flow.question import check_table, find_question, make_request
from auditor.flow.record import NO_WORSE
from auditor.flow.verdict import check_confidence
from auditor.lookup import short_name
from auditor.questions.no_worse import MARGIN, check_margin
from auditor.questions.several import share
from auditor.request import RUN, SURE, WHAT, Listed, Options, as_name, listed
from auditor.values import describe

if TYPE_CHECKING:
    from auditor.flow.question import Inquiry
    from auditor.request import Request

MOST = 10**30
PLACE, SUBJECT = "[tool.auditor]", "[[tool.auditor.subject]]"
_SHOWN = 60  # characters of a value
ENDINGS = ("pass", "fail", "error", NO_WORSE)
_HEADER = re.compile(r"^\s*\[\[\s*tool\s*\.\s*auditor\s*\.\s*subject\s*\]\]", re.MULTILINE)
_WHOLE = "for_"  # in [tool.auditor] and on the command line it is the time for all audits together
_MARGIN = Listed("margin", (float,), MARGIN, "With expect no worse: by how much rho may grow.", None, SURE)
_BASELINE = Listed("baseline", (str,), None, "File with the counts of earlier audits.", None, SURE)
OWN = {  # what an entry has besides options
    "target": Listed("target", (str,), None, "What is audited: module:fn, path/to/file.py:fn; required.", None, WHAT),
    "name": Listed("name", (str,), None, "What reports call this audit, if two have one target.", None, WHAT),
    "source": Listed("source", (str, list), None, "Where samples come from; a list: the worst of them.", None, WHAT),
    "question": Listed("question", (str,), None, "Another question than the keys choose: curve, ...", None, WHAT),
    "expect": Listed("expect", (str,), "pass", "How it must end: pass, fail, error or no worse.", None, WHAT),
    "reason": Listed("reason", (str,), None, "Why fail or error is expected.", None, WHAT),
    "margin": _MARGIN,
}


class Entry(msgspec.Struct, frozen=True):
    """One [[tool.auditor.subject]]; `given` holds its options."""

    target: str
    place: str  # its line and name, for messages
    name: str | None = None  # what reports call it
    source: object = None
    question: str | None = None
    expect: str = "pass"
    margin: float = MARGIN
    given: dict[str, Any] = {}


class Config(msgspec.Struct, frozen=True):
    """The audits of a project, all of them together at one confidence."""

    path: Path
    confidence: float
    entries: Sequence[Entry]
    whole: dict[str, Any] = {}  # the time that all of them have together
    baseline: str | None = None


def read_config(path: Path) -> Config:
    """Return the project's audits; UsageError with everything that is wrong."""
    content = read_bytes(path, f"cannot read {path}")
    tables = _auditor_table(_parse(content, path))
    if not tables.get("subject"):
        raise UsageError(f"{path} has no {SUBJECT}: add one with target, source, size and rho")
    if not isinstance(tables["subject"], list):
        got = type(tables["subject"]).__name__
        raise UsageError(f"{path}, {PLACE}: subject is no array of tables, {SUBJECT}: Expected `array`, got `{got}`")
    mistakes: list[str] = []
    common = _common(tables, mistakes)
    text = content.decode()
    lines: list[int | None] = [text.count("\n", 0, match.end()) + 1 for match in _HEADER.finditer(text)]
    if len(lines) != len(tables["subject"]):  # written in another way
        lines = [None] * len(tables["subject"])
    entries = [_entry(table, lines[i], i, common, mistakes) for i, table in enumerate(tables["subject"])]
    names = [entry.name for entry in entries if entry.name]
    mistakes += [
        f"two entries have the name {name!r}: give each its own" for name in sorted({*names}) if names.count(name) > 1
    ]
    _raise(path, mistakes)
    whole = {name: value for name, value in common.items() if name == _WHOLE}
    return Config(path, common.get("confidence", 0.95), entries, whole, common.get("baseline"))


def _raise(path: Path, mistakes: Sequence[str]) -> None:
    """Raise one UsageError for all mistakes of a configuration file."""
    if len(mistakes) == 1:
        raise UsageError(f"{path}, {mistakes[0]}")
    if mistakes:
        raise UsageError("\n  ".join([f"{path} has {len(mistakes)} mistakes:", *mistakes]))


def _parse(content: bytes, path: Path) -> dict[str, Any]:
    """Return the document of a TOML file; UsageError with what is wrong."""
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no TOML: byte {error.start:,} is not UTF-8") from error
    except ValueError as error:  # of TOML, or of an int with thousands of digits
        raise UsageError(f"{path} is no TOML: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{path} is no TOML that can be read: it is nested too deeply") from error


def _auditor_table(document: dict[str, Any]) -> dict[str, Any]:
    """Return [tool.auditor]; an empty table where there is none."""
    found: Any = document
    for name in ("tool", "auditor"):
        found = found.get(name, {}) if isinstance(found, dict) else {}
    return found if isinstance(found, dict) else {}


def common_keys() -> dict[str, Listed]:
    """Return what [tool.auditor] may hold for all audits: the confidence, the seed, the baseline, and how to run."""
    known = {name: one for name, one in listed(Options).items() if one.group == RUN or name in ("confidence", "seed")}
    return known | {one.name: one for one in (_BASELINE, _MARGIN)}


def _common(tables: Mapping[str, Any], mistakes: list[str]) -> dict[str, Any]:
    """Return what [tool.auditor] holds for all audits, by the names of options."""
    given = {as_name(key): value for key, value in tables.items() if key != "subject"}
    found = [*_wrong(given, common_keys(), ("subject",))]
    checks: dict[str, Callable[[Any], object]] = {
        _WHOLE: lambda value: time_of({_WHOLE: value}),
        "confidence": check_confidence,
        "margin": check_margin,
    }
    for name, check in checks.items() if not found else ():
        if name in given:
            try:
                check(given[name])
            except UsageError as error:
                found.append(_in_file(error))
    mistakes += [f"{PLACE}: {words}" for words in found]
    return given


def _entry(table: Any, line: int | None, index: int, common: Mapping[str, Any], mistakes: list[str]) -> Entry:
    """Return one entry; its own options go before those that are common to all."""
    if not isinstance(table, dict):
        mistakes.append(f"{SUBJECT} number {index + 1}: Expected `object`, got `{type(table).__name__}`")
        return Entry("", "")
    table = {as_name(key): value for key, value in table.items()}
    target = table.get("target")
    place = f"{f'line {line}, ' if line else ''}{SUBJECT} {target if isinstance(target, str) else index + 1}"
    question = table.get("question")
    try:
        known = check_table() if question is None else listed(find_question(str(question)).Options)
    except UsageError as error:
        mistakes.append(f"{place}: {error}")
        return Entry("", place)
    options = {name: one for name, one in known.items() if one.group and name != "confidence"}
    mistakes += [f"{place}: {words}" for words in _wrong(table, {**OWN, **options}, ())]
    mistakes += [f"{place}: {words}" for words in _unexpected(table, options)]
    below = {name: value for name, value in common.items() if name in options and name != _WHOLE}
    given = {name: value for name, value in table.items() if name in options}
    expect, source = table.get("expect", "pass"), table.get("source")
    margin = table.get("margin", common.get("margin", MARGIN))
    return Entry(str(target), place, table.get("name"), source, question, expect, margin, {**below, **given})


def _wrong(table: Mapping[str, Any], known: Mapping[str, Listed], besides: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each unknown key, and for each value of another kind than the option takes."""
    names = [*besides, *(one.key for one in known.values())]
    for name, value in table.items():
        key = known[name].key if name in known else name
        if name not in known:
            yield f"unknown key {key!r}{suggestion(key, names)}; it has {', '.join(names)}"
        elif isinstance(value, int) and not -MOST < value < MOST:
            yield f"{key} is beyond 1e30: use a smaller number"
        else:
            try:
                msgspec.convert(value, functools.reduce(operator.or_, known[name].kinds))
            except (msgspec.ValidationError, RecursionError) as error:
                yield f"{key} = {describe(value, _SHOWN)}: {error}"


def _unexpected(table: Mapping[str, Any], options: Mapping[str, Listed]) -> Iterator[str]:
    """Yield what is wrong with the target, the expectation, the reason and the margin of an entry."""
    expect = table.get("expect", "pass")
    if not isinstance(table.get("target"), str):
        yield "missing required field `target`" if "target" not in table else "target must be a text"
    if expect not in ENDINGS:
        yield f"expect = {expect!r} must be one of {', '.join(ENDINGS)}"
    elif expect in ("fail", "error") and not table.get("reason"):
        yield f"expect = {expect!r} needs a reason"
    if "margin" in table and "margin" not in options and expect != NO_WORSE:
        yield f"margin = {table['margin']} goes with expect = {NO_WORSE!r}: leave one of them out"


def pick(config: Config, names: Sequence[str]) -> list[Entry]:
    """Return the entries that are named, by their names, by target or by what comes after its colon; all without."""
    known = {alias: None for entry in config.entries for alias in _aliases(entry)}
    for name in names:
        if name not in known:
            there = ", ".join(dict.fromkeys(entry.name or entry.target for entry in config.entries))
            raise UsageError(f"{config.path} has no subject {name!r}{suggestion(name, known)}: it has {there}")
    if not names:
        return [*config.entries]
    return [entry for entry in config.entries if {*_aliases(entry)} & {*names}]


def _aliases(entry: Entry) -> list[str]:
    """Return the names by which an entry can be asked for."""
    return [*filter(None, [entry.name]), entry.target, short_name(entry.target)]


def settle(
    config: Config, entries: Sequence[Entry], running: Mapping[str, Any], before: Baseline | None = None
) -> list[tuple[Request, Inquiry]]:
    """Settle every audit, with its share of the error, before any of them runs; UsageError with all that is wrong."""
    confidence = share(config.confidence, len(entries))
    settled: list[tuple[Request, Inquiry]] = []
    mistakes: list[str] = []
    for entry in entries:
        given = {**config.whole, **entry.given, **running, "confidence": confidence}
        given |= {name: value for name, value in entry.given.items() if name == _WHOLE}  # its own goes before
        try:
            settled.append(_settled(entry, given, before))
        except UsageError as error:
            mistakes.append(f"{entry.place}: {_in_file(error)}")
    _raise(config.path, mistakes)
    return settled


def _settled(entry: Entry, given: Mapping[str, Any], before: Baseline | None) -> tuple[Request, Inquiry]:
    """Return the request and the inquiry of an entry; one that must get no worse has the counts of its baseline."""
    if entry.expect != NO_WORSE or entry.question == "compare":
        return _begun(entry, given, entry.expect)
    asked = make_request(entry.question, entry.target, entry.source, given, expected=NO_WORSE).question
    if asked != "rho":
        raise UsageError(f"expect = {NO_WORSE!r} is for rho, and {asked} is another question: leave one out")
    expect = "pass" if before and before.is_made else NO_WORSE  # to be counted in full
    return held_against(before, lambda counts: _begun(entry, {**given, "baseline": counts}, expect), entry.margin)


def _begun(entry: Entry, given: Mapping[str, Any], expect: str) -> tuple[Request, Inquiry]:
    """Return the request of an entry and the inquiry into it, which checks all that can be known before a run."""
    request = make_request(entry.question, entry.target, entry.source, given, expected=expect)
    request = replace(request, name=entry.name)
    time_of(given)  # refused here, with the line of the entry
    return request, find_question(request.question).begin(request)


def _in_file(error: UsageError) -> str:
    """Return an error's sentence, with keys as they are written in the file."""
    return f"{error.name} = {error.value!r} {error.cure}" if isinstance(error, BadValue) else str(error)


def find_config(start: Path) -> Path:
    """Return the pyproject.toml with [tool.auditor] in this folder or in the nearest above it."""
    files = [folder / "pyproject.toml" for folder in (start, *start.parents)]
    there = [file for file in files if file.is_file()]
    for file in there:
        if _auditor_table(_parse(read_bytes(file, f"cannot read {file}"), file)):
            return file
    return there[0] if there else files[0]
