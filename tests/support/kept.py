"""Audits written out as short texts that are kept: their numbers and decisions, and hardly any of their words.

A sentence is kept as its numbers, options and deciding words ("at most", "worse"), in their order, so that it can be
said better without a text changing. `KEEP=1 python -m pytest -n 0 tests/questions/test_kept.py
tests/questions/test_kept_words.py` writes the texts anew: read what changed in them before you commit it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from auditor.engine.engine import RunOptions
from auditor.errors import AuditorError
from auditor.flow.question import Steps, Work, find_question
from auditor.flow.record import Record, as_record, to_json
from auditor.flow.run import Run, Silent, Spent
from auditor.report.terminal import as_text
from auditor.trials.cell import make_bench
from auditor.trials.trial import Bench, Trial
from support.requests import case_of_first, request_of, told

Made = Callable[[int, int], Trial]  # a trial by hand, of a cell and an index
FOLDER = Path(__file__).parent.parent / "questions" / "kept"
_RECORD = ("measures", "pairs", "mismatches", "rho", "accuracy", "cells", "answer", "wobbles")
_MACHINE = {"code_hash", "seconds", "files", "versions", "case", "auditor_version", "environment", "cost"}
_DECIDING = (
    "at least|at most|above|below|between|within|beyond|outside|inside|no|not|none|nor|neither|cannot|worse|better|"
    "more|less|fewer|larger|largest|smaller|smallest|same|alike|differ|differs|differing|different|close|pass|passes|"
    "fail|fails|decide|decides|undecided|exact|about|every|each|only|both|first|second|last|shared|unshared|fresh|"
    "reused|limit|one|two|all|old|new|before|after|accurate|inaccurate"
)
_KEPT_WORDS = re.compile(rf"--[a-z][a-z-]*|-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?|\b(?:{_DECIDING})\b", re.IGNORECASE)
_SHORT = 3  # words up to which a text is kept whole
_MANY, _FIRST = 8, 3  # a longer list is kept as its first parts and a digest
_LOOKS = (1, 8, 64)  # trials after which an outlook is kept


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()


def _number(text: str) -> str:
    return f"{float(text):.6g}" if re.fullmatch(r"-?\d+\.\d{7,}", text) else text


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | tuple | dict) and not value)


def flat(value: Any) -> str:
    """Return a value as one line, without what is empty and what depends on the machine."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str):
        text = re.sub(r"PYTHONPATH=\S+ ", "", value)
        words = text.split(" ")
        found = words if len(words) <= _SHORT else _KEPT_WORDS.findall(text)
        return repr(" ".join(map(_number, found)))
    if isinstance(value, range):
        return f"{value.start}..{value.stop}"
    if isinstance(value, msgspec.Struct):
        return type(value).__name__ + flat({name: getattr(value, name) for name in value.__struct_fields__})
    if isinstance(value, dict):
        known = [(key, part) for key, part in value.items() if key not in _MACHINE and not _is_empty(part)]
        return f"({', '.join(f'{key}={flat(part)}' for key, part in known)})"
    if isinstance(value, list | tuple):
        parts = [flat(part) for part in value]
        if len(parts) > _MANY:
            parts = [*parts[:_FIRST], f"... {len(parts)} {_digest(' '.join(parts))}"]
        return f"[{', '.join(parts)}]"
    return repr(value)


def written(name: str, value: Any) -> str:
    """Return a line, or one for each of a few structs."""
    if (
        isinstance(value, list | tuple)
        and len(value) <= _MANY
        and any(isinstance(one, msgspec.Struct) for one in value)
    ):
        return "".join(f"{name} {flat(part)}\n" for part in value)
    return f"{name} {flat(value)}\n"


def of_record(record: Record) -> str:
    """Return the numbers and decisions of a record, and its first example."""
    parts = [(name, value) for name in _RECORD if (value := getattr(record, name))]
    parts += [("example", one) for one in record.examples[:1]]
    parts += [("finding", [one.kind, one.severity, one.message]) for one in record.findings]
    return "".join(written(name, value) for name, value in parts)


def outcome_of(
    subject: Any,
    source: object = None,
    question: str = "rho",
    *,
    made: Made | None = None,
    stop: int = 0,
    **options: Any,
) -> str:
    """Return what an inquiry runs, decides and reports; `stop` ends it after so many trials, -1 before the first."""
    return "".join(_outcome(request_of(subject, source, question, **options), made, stop))


def _outcome(request: Any, made: Made | None, stop: int) -> Iterator[str]:
    asked = find_question(request.question)
    inquiry = asked.begin(request)
    run = Run(inquiry, RunOptions(), Silent())
    yield written("plan", inquiry.plan)
    settings = {name: part for name, part in inquiry.settings().items() if name != "code"}  # a hash
    cells = [f"{one.name} {one.seed} {one.size}" for one in inquiry.cells]
    yield written("asks", [cells, settings, inquiry.asks, inquiry.searched, inquiry.besides])
    yield written("outlook", inquiry.outlook())
    done, wanted, looked = 0, list[str](), list[str]()

    def taken(one: Work) -> Iterator[Trial]:
        nonlocal done
        wanted.append(f"{one.cell}:{one.wanted.start}-{one.wanted.stop}")
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
                wanted.append(f"failed {error}")
                return
            spent.add(trial, inquiry.plan.runs)
            done, is_over = done + 1, True
            try:
                yield trial
                is_over = False
            finally:
                if done in _LOOKS:
                    looked.append(written(f"outlook after {done}", inquiry.outlook()))
                if is_over or done == stop:
                    wanted.append(f"over at {index}")
            if done == stop:
                return

    steps = inquiry.steps()
    work = next(steps, None)
    while work is not None and not (stop and done >= stop):
        with ExitStack() as stack:
            work = _sent(steps, [stack.enter_context(closing(taken(one))) for one in work])
    yield from looked
    yield written("work", wanted)
    yield written("outlook", inquiry.outlook())
    verdict = run.verdict()
    yield written("verdict", verdict)
    record = run.record(request, verdict)
    yield of_record(record)
    parts = [asked.title(record), *asked.parts(record), asked.bars(record), asked.chart(record)]
    yield from (written("part", part) for part in parts if part)
    document = json.loads(to_json(record))
    read = as_record(document)  # it is reported as what was made here
    assert json.loads(to_json(read)) == document
    assert [asked.title(read), *asked.parts(read), asked.bars(read), asked.chart(read)] == parts
    assert as_text(read, verbose=True) == as_text(record, verbose=True)
    inquiry.close()


def _sent(steps: Steps, trials: list[Iterator[Trial]]) -> Any:
    try:
        return steps.send(trials)
    except StopIteration:
        return None


def recorded(subject: Any, source: object = None, question: str = "rho", *, made: Made, **options: Any) -> Record:
    """Return the record of an audit of trials by hand."""
    request = request_of(subject, source, question, **options)
    inquiry = find_question(question).begin(request)
    run = Run(inquiry, RunOptions(), Silent())
    run.case = case_of_first(inquiry)
    told(inquiry, made)
    return run.record(request, inquiry.verdict())


def refused(subject: Any, source: object = None, question: str = "rho", **options: Any) -> str:
    """Return the error of options that nothing can be run with."""
    try:
        find_question(question).begin(request_of(subject, source, question, **options))
    except AuditorError as error:
        return f"{question} {options}: {type(error).__name__} {flat(str(error))}\n"
    return f"{question} {options}: accepted\n"


def replayed(subject: Any, source: object = None, question: str = "rho", *, index: int, **options: Any) -> str:
    """Return what is shown of one trial that is run again."""
    request = request_of(subject, source, question, **options)
    asked = find_question(question)
    inquiry = asked.begin(request)
    for number, cell in enumerate(inquiry.cells[:3]):
        inquiry.opened(number, make_bench(cell))
    bench: Bench = make_bench(inquiry.cells[0])
    return "".join(written("part", part) for part in asked.again(msgspec.structs.replace(bench, copies=True), index))


def assert_kept(group: str, name: str, text: str) -> None:
    """Assert that a text is the one under its name in the group's file; KEEP=1 puts it there."""
    path = FOLDER / f"{group}.txt"
    blocks = dict(re.findall(r"^== (.*)\n((?:(?!== ).*\n)*)", path.read_text() if path.exists() else "", re.MULTILINE))
    if os.environ.get("KEEP"):
        path.write_text("".join(f"== {key}\n{block}" for key, block in sorted({**blocks, name: text}.items())))
        return
    assert text == blocks.get(name), f"{path.name}, {name}: see tests/support/kept.py"
