"""Records for tests: audits written out as one text that is kept, and records that pages are drawn from."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

import auditor
from auditor.engine.engine import RunOptions
from auditor.errors import AuditorError
from auditor.flow.parts import Bar, Chart, Command, Facts, Listing, Series, Table, Words
from auditor.flow.question import find_question
from auditor.flow.record import Difference, Earlier, Finding, LedgerPlace, Record
from auditor.flow.run import Run, Silent, Spent
from auditor.report.page.document import Bars, Points, Section, page
from auditor.trials.cell import make_bench
from auditor.trials.trial import Bench, Trial
from support.requests import case_of_first, request_of

Made = Callable[[int, int], Trial]  # a trial by hand, of a cell and an index
_NOT_KEPT = {
    *("auditor_version", "case", "code_hash", "environment", "cost", "seconds", "seconds_total"),
    *("files", "versions"),  # of what is told to a ledger: hashes, and what is installed
}
_SAID_BEFORE = {"schema", "design", "budget", "unit", "reason", "decided_by", "error_spent"}  # of a record
_WIDE = 300
_MANY, _FIRST = 12, 4  # of more parts than so many the first are told, and a digest of all
_KIND = "a"
_WORKS = 40  # pieces of work are told, and a digest of all
_LOOKS = 8  # outlooks at trials 0, 1, 2, 4, ... are told of the first so many powers of 2


def _plain(value: Any) -> Any:
    """Builtins with six digits of each number, without what is empty and what depends on the machine."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, str):
        return re.sub(r"-?\d+\.\d{7,}", lambda found: f"{float(found[0]):.6g}", re.sub(r"PYTHONPATH=\S+ ", "", value))
    if isinstance(value, range):
        return f"{value.start}..{value.stop}"
    if isinstance(value, msgspec.Struct):
        return {_KIND: type(value).__name__, **{name: getattr(value, name) for name in value.__struct_fields__}}
    return value


def _lines(name: str, value: Any, depth: int = 0) -> Iterator[str]:
    """One line where that is enough, else one for each part."""
    value, margin = _plain(value), "  " * depth
    if isinstance(value, dict):
        kept = [(key, part) for key, part in value.items() if key not in _NOT_KEPT]
        parts = [(key, part) for key, part in kept if part is not None and part != [] and part != () and part != {}]
    elif isinstance(value, list | tuple):
        parts = [("-", part) for part in value]
        if len(parts) > _MANY:
            whole = "\n".join(line for key, part in parts for line in _lines(key, part))
            parts = [*parts[:_FIRST], ("-", f"and others, {len(parts)} in all: {_digest(whole)}")]
    else:
        yield f"{margin}{name} {value if isinstance(value, str) else repr(value)}"
        return
    if all(not isinstance(_plain(part), dict | list | tuple) for _, part in parts):
        line = f"{margin}{name} " + ", ".join(f"{key}={_plain(part)}".removeprefix("-=") for key, part in parts)
        if len(line) <= _WIDE:
            yield line
            return
    yield f"{margin}{name}"
    for key, part in parts:
        yield from _lines(str(key), part, depth + 1)


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def written(name: str, value: Any) -> str:
    return "\n".join([*_lines(name, value), ""])


def narrated(
    subject: Any,
    source: object = None,
    question: str = "rho",
    *,
    made: Made | None = None,
    stop: int = 0,
    **options: Any,
) -> str:
    """What an inquiry wants, hears and says, and what a report makes of it; `stop` cuts it short after so many."""
    return "".join(_narrated(request_of(subject, source, question, **options), made, stop))


def _narrated(request: Any, made: Made | None, stop: int) -> Iterator[str]:
    asked = find_question(request.question)
    inquiry = asked.begin(request)
    run = Run(inquiry, RunOptions(), Silent())
    yield written("plan", inquiry.plan)
    yield written("cells", [f"{one.name} {one.seed} {one.size}" for one in inquiry.cells])
    yield written("told", {name: part for name, part in inquiry.settings().items() if name != "code"})  # a hash
    yield written("asks", [getattr(inquiry, name) or None for name in ("asks", "searched", "besides")])
    yield written("outlook", inquiry.outlook())
    done, wanted = 0, list[str]()
    while (work := inquiry.next()) and not (stop and done >= stop):
        for one in work:
            wanted.append(written("work", [one.cell, one.wanted, inquiry.cells[one.cell].name]))
            if len(wanted) <= _WORKS:
                yield wanted[-1]
            if one.cell not in run.benches:
                run.benches[one.cell] = make_bench(inquiry.cells[one.cell])
                inquiry.opened(one.cell, run.benches[one.cell])
            spent = run.by_cell.setdefault(one.cell, Spent())
            for index in one.wanted:
                run.at = one.cell
                try:
                    trial = made(one.cell, index) if made else run.benches[one.cell].trial(index)
                except AuditorError as error:
                    inquiry.failed(one.cell, error)
                    yield f"failed: {error}\n"
                    break
                spent.add(trial, inquiry.plan.runs)
                is_over = inquiry.add(one.cell, trial)
                done += 1
                if done & (done - 1) == 0 and done < 2**_LOOKS:
                    yield written(f"outlook after {done}", inquiry.outlook())
                if is_over or done == stop:
                    yield f"over at {index}\n"
                    break
    yield f"work of all: {len(wanted)} pieces, {_digest(''.join(wanted))}\n"
    yield written("outlook", inquiry.outlook())
    verdict = run.verdict()
    yield written("verdict", verdict)
    record = run.record(request, verdict)
    fields = msgspec.structs.asdict(record)
    yield written("record", {name: part for name, part in fields.items() if name not in _SAID_BEFORE})
    if title := asked.title(record):
        yield written("title", title)
    yield from (written("part", part) for part in asked.parts(record))
    for name in ("bars", "chart"):
        if found := getattr(asked, name)(record):
            yield written(name, found)
    inquiry.close()


def recorded(subject: Any, source: object = None, question: str = "rho", *, made: Made, **options: Any) -> Record:
    """The record of an audit of trials by hand."""
    request = request_of(subject, source, question, **options)
    inquiry = find_question(question).begin(request)
    run = Run(inquiry, RunOptions(), Silent())
    run.case = case_of_first(inquiry)
    while work := inquiry.next():
        for one in work:
            any(inquiry.add(one.cell, made(one.cell, index)) for index in one.wanted)
    return run.record(request, inquiry.verdict())


def refused(subject: Any, source: object = None, question: str = "rho", **options: Any) -> str:
    """What is said of options that nothing can be run with."""
    try:
        find_question(question).begin(request_of(subject, source, question, **options))
    except AuditorError as error:
        return f"{question} {options}: {type(error).__name__} {error}\n"
    return f"{question} {options}: is taken\n"


def replayed(subject: Any, source: object = None, question: str = "rho", *, index: int, **options: Any) -> str:
    """One trial run again."""
    request = request_of(subject, source, question, **options)
    asked = find_question(question)
    inquiry = asked.begin(request)
    for number, cell in enumerate(inquiry.cells[:3]):
        inquiry.opened(number, make_bench(cell))
    bench: Bench = make_bench(inquiry.cells[0])
    return "".join(written("part", part) for part in asked.again(msgspec.structs.replace(bench, copies=True), index))


def assert_kept(text: str, path: Path) -> None:
    """A text is, to the letter, the one that is kept. KEEP=1 keeps it anew: read what changed before you commit."""
    if os.environ.get("KEEP"):
        path.write_text(text)
    assert text == path.read_text()


SCRIPT = "<script>window.pwned = 1; alert(1)</script>"
HOSTILE = (
    SCRIPT,
    "</script></style></textarea><img src=x onerror=alert(2)>",
    '" onmouseover="alert(3)" \'',
    "<svg onload=alert(4)>",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egnp.exe\x1b[31m",
    "<a href=javascript:alert(5)>x</a>",
    "]]><!-- -->&lt;b&gt;",
)


def labels(sample: Any, r: Any) -> Any:
    """Which of eight features are above their mean: some flip with the sample."""
    return [bool(x) for x in sample[:8] > np.median(sample)]


def constant(sample: Any, r: Any) -> int:
    return 1


@cache
def passed() -> Record:
    return auditor.audit(constant, "norm", size=5, rho=0.1)


@cache
def failed() -> Record:
    """With elements that wobble, examples, and commands that run them again."""
    return auditor.audit(labels, "norm", size=9, rho=0.1)


@cache
def hostile() -> Record:
    """What a subject may have any say in, all of it markup."""
    one, record = "".join(HOSTILE), failed()
    examples = [
        replace(example, replay=f"python {one}", first_difference=Difference(one, f"{one}1", f"{one}2"))
        for example in record.examples
    ]
    assert record.wobbles is not None
    elements = [replace(element, name=one) for element in record.wobbles.elements]
    return replace(
        record,
        subject=one,
        source=one,
        theorem=one,
        note=one,
        params={one: one},
        reason=one,
        view=one,
        overridden={one: (one, one)},
        findings=[Finding(one, severity, one, one) for severity in ("error", "warning", "info")],
        examples=examples,
        cells=[replace(cell, name=one) for cell in [*record.cells, *record.cells]],
        wobbles=replace(record.wobbles, elements=elements),
    )


def several() -> list[Record]:
    """Of which the second did not end as expected, and the last was audited before."""
    before = Earlier(started="2026-01-01", code_hash=None, verdict="pass", estimate=0.01, low=0.0, high=0.1)
    kept = LedgerPlace(ledger="audits.sqlite", audit=4, earlier=[before, replace(before, estimate=0.05), before])
    last = replace(passed(), cost=replace(passed().cost, kept=kept))
    return [passed(), failed(), last]


def every_part() -> str:
    """A page with each kind of part."""
    bands: list[tuple[float, float | None, float | None, float | None]]
    bands = [(1, 0.1, 0.2, 0.3), (2, 0.0, 0.0, 0.2), (3, None, None, None)]
    table = Table(("name", "pairs"), [("d", "10"), ("b", "9"), ("c", "1,000"), ("a", "0.5")], title="A table")
    wide = Table([f"column {i}" for i in range(9)], [[f"cell {i}" for i in range(9)]] * 3)
    series = [Series("rho, with its band", "band", bands), Series("limit", "line", [(1, None, 0.3, None)])]
    chart = Chart("A chart", "size", "rho", series, corner=(1.0, 0.1))
    bar = Bar(0.0, 0.3, 0.1, 0.2, "pass")
    words = [Words("Words", style) for style in ("plain", "dim", "error", "warning", "info")]
    listings = [Listing("Title:", ["a\nb", "long\n" * 99], at="here", style=s) for s in ("plain", "error", "warning")]
    facts = Facts([("rho", "1 of 2"), ("sample", "5 rows from ", "norm", ", seed 0")])
    parts = [*words, facts, table, wide, Bars("rho", [("a", bar), ("b", bar)]), chart, Command("Do:", "python -m x")]
    return page("Every part", Section("Parts", [*parts, *listings, Points(["a point"])]), word="PASS", tone="pass")
