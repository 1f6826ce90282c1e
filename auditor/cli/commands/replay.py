"""replay: one trial of a record, by the names that the record has.

A record is a file from anywhere, and to replay it is to run the code that it names. So whoever asks is shown the names
before any of them is imported, and is asked. Beyond that only what can be meant is run: learners and samplers, written
in Python, by their own parameters, and none of Python's own library.
"""

from __future__ import annotations

import functools
import inspect
import re
import shlex
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from auditor.cli.options import Count, OptionGivenOnce
from auditor.cli.output import error_console, make_console, plain, warn
from auditor.cli.running import running_code
from auditor.errors import BadValue, UsageError
from auditor.lookup import find_object, is_program

if TYPE_CHECKING:
    from auditor.flow.parts import Part
    from auditor.flow.record import CellRow, Record
    from auditor.request import Request
    from auditor.subjects.subject import Subject
    from auditor.trials.cell import Cell

_NAME = re.compile(r"(?:\w+=)?([^:]+:[A-Za-z_][\w.]*)")  # module:fn, and n=module:fn
_SHOWN = 2000  # characters of any one line
_HARMLESS = ("math", "operator", "_operator", "statistics")  # functions of numbers, which a learner may be given


@click.command()
@click.argument("record_file", metavar="RECORD")
@click.option(
    "--pair",
    cls=OptionGivenOnce,
    type=Count(),
    required=True,
    metavar="I",
    help="Number of the pair to run again, from 0; with --nu, of the string r.",
)
@click.option(
    "--cell",
    cls=OptionGivenOnce,
    type=Count(),
    metavar="J",
    help="Number of the source, input or value, from 0, where there are several (default: 0).",
)
@click.option("--trust", is_flag=True, help="Run what the record names without asking.")
def replay(record_file: str, pair: int, cell: int | None, trust: bool) -> int:
    """Run one pair of a recorded audit again and show both outputs. Runs the code that the record names, after asking.

    Example: python -m auditor replay record.json --pair 17 --trust
    """
    from auditor.flow.record import drawn_from, read_record
    from auditor.host.boundary import run_in_host
    from auditor.report.terminal import show_parts

    record = read_record(Path(record_file))
    if pair < 0:
        raise BadValue("pair", pair, "must be the number of a pair, 0 or more")
    if not record.importable or record.case is None:
        raise UsageError(
            f"{record.subject}, its source, view or a parameter lives in no module: replay it in Python, "
            f"auditor.replay(fn, ..., pair={pair})"
        )
    with drawn_from(record_file):
        row = _row(record, cell, record_file)
    check_trusted(record, trust=trust)
    with running_code() as log:
        parts, warning = run_in_host(_again, record, row, pair)
    if warning:
        warn(warning)
    log.tell(error_console())
    show_parts(parts, make_console())
    return 0


def _row(record: Record, cell: int | None, file: str) -> CellRow:
    """Return the row of the cell that is meant; UsageError with those that there are."""
    rows = record.cells
    if not rows and record.cost.runs:
        raise UsageError(
            f"{file} has no cells, since {record.question} keeps none in its records: run one of its trials with "
            f"python -m auditor {record.question} {shlex.quote(record.subject)} ... --replay I"
        )
    if not rows:
        raise UsageError(f"{file} was ended before it had a cell: there is nothing to run again")
    if cell is None and len(rows) > 1:
        raise UsageError(f"{file} has {len(rows)} cells: which one? Give --cell J, from 0 to {len(rows) - 1}")
    if not 0 <= (cell or 0) < len(rows):
        raise UsageError(f"--cell {cell} must be from 0 to {len(rows) - 1}: {file} has {len(rows)} cells")
    return rows[cell or 0]


def _again(record: Record, row: CellRow, pair: int) -> tuple[list[Part], str]:
    """Make the cell of a row again, check that it is what the record says, and run one of its trials.

    Return what is shown of it, and a warning if something has changed since.
    """
    from msgspec.structs import replace

    from auditor.flow.question import find_question
    from auditor.host.limits import one_thread
    from auditor.trials.cell import make_bench

    check_named(record)
    if row.variant == "old" and "old_python" in record.asked:
        raise UsageError(
            f"the record names {record.asked['old_python']}, a program and no learner: not run; compare with "
            f"--old-python and --replay {pair} --cell 1 runs what is typed"
        )
    question = find_question(record.question)
    request = _request(record)
    cell = question.cell_of(request, record, row) or _cell(question.begin(request).cells, row, record)
    warning = _check_cell(cell, row, record)
    with one_thread():
        return [*find_question(cell.question).again(replace(make_bench(cell), copies=True), pair)], warning


def _request(record: Record) -> Request:
    """Return what the record says was asked; the sources by the names that they had."""
    from auditor.flow.question import make_request

    asked: dict[str, Any] = {"accept_overlap": True, **record.asked}
    sources = asked.pop("source", None) or [*dict.fromkeys(row.source for row in record.cells)]
    if "over" in asked:
        sources = []
    texts = {name: str(value) for name, value in record.params.items()}
    return make_request(record.question, record.subject, sources, asked, texts=texts)


def _cell(cells: Sequence[Cell], row: CellRow, record: Record) -> Cell:
    """Return the cell of a row. One that was opened on the way has another size and seed, which the row has."""
    from msgspec.structs import replace

    place = record.cells.index(row)
    if place < len(cells) and cells[place].name == row.name:
        return replace(cells[place], seed=row.seed)
    like = [cell for cell in cells if row.name.startswith(cell.name)]  # "x=1, confirmed" is like "x=1"
    return replace(max(like, key=lambda cell: len(cell.name), default=cells[0]), size=row.size, seed=row.seed)


def _check_cell(cell: Cell, row: CellRow, record: Record) -> str:
    """Refuse to run anything but what the record says: that is what whoever read it has agreed to.

    Cells of one record differ in their source, size, seed and variant, which the row has, and in the parameter that
    varies. Code and data may have changed since the record was made: then a warning is returned.
    """
    from msgspec.structs import replace

    from auditor.sources.shifts import parts_of
    from auditor.sources.source import Sampler
    from auditor.trials.cell import source_of
    from auditor.trials.identity import case_of

    check_learner(cell.subject)
    source = source_of(cell)
    for part in parts_of(source):
        if isinstance(part, Sampler):
            check_sampler(part.fn, part.name)
    for fn in cell.view.functions:
        _refuse_library(fn, cell.view.name, "a view of an output")
    assert record.case is not None
    now = case_of(cell, source)
    sources = ", ".join(dict.fromkeys(one.source for one in record.cells))
    if not {"over", "range"} & {*record.asked} and record.source != sources:
        raise UsageError(f"the record's source is {record.source!r}, and its cells have others: not run")
    then = replace(record.case, question=now.question, size=row.size, seed=row.seed, path=now.path)
    if row.source != record.cells[0].source:
        then = replace(then, source=now.source)
    varied = {name: text for name, text in now.params.items() if name in cell.varies}
    then = replace(then, params={**then.params, **varied})
    if row.variant is not None:
        then = replace(then, private=now.private)
    is_other = row.variant == "old" or cell.subject.name != record.subject  # than the target that the record is of
    if is_other:
        then = replace(then, target=now.target, randomness=now.randomness, params=now.params)
    others = [f"--source: {row.source} and {source.name}"] if row.source != source.name else []
    if others := others + then.differs(now, "replay"):
        raise UsageError(f"what the record asked for and what would run now differ in {', '.join(others)}: not run")
    if not is_other and (changed := then.differs(now, "resume")):
        return f"since this record was made, something has changed: {', '.join(changed)}"
    return ""


# --- Trust: may what a record names be run?


def check_trusted(record: Record, *, trust: bool) -> None:
    """Show what a replay would run; UsageError unless somebody says that it may.

    What is not seen, or is taken off when a name is looked up, is no part of the name that somebody agreed to.
    """
    from auditor.escape import shortened

    out = error_console()
    out.print(plain("This record names code, and a replay runs it:"))
    for name, value in _named(record):
        out.print(plain(f"  {name:<12}{shortened(value, _SHOWN)}"), soft_wrap=True)
    for name, value in _named(record):
        if name != "parameter" and not value.isprintable():
            raise UsageError(
                f"the record's {name} {value!r} holds characters that cannot be seen: not run; "
                "check --replay runs a pair of what is typed"
            )
    if trust:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            "a replay runs the code that its record names: say --trust if you know where the record is from"
        )
    if not click.confirm("Run it?", default=False, err=True):
        raise UsageError("not replayed: nothing of what the record names was run")


def _named(record: Record) -> Iterator[tuple[str, str]]:
    """Yield everything in a record that may name code, as (what it is, the name)."""
    yield "target", record.subject
    if is_program(record.subject):
        yield "program", _words(record.subject)
    sources = record.asked.get("source") or record.source
    for source in sources if isinstance(sources, list) else [sources]:
        yield "source", f"{source}"
    for name, value in record.params.items():
        yield "parameter", f"{name}={value}"
    asked = {"view": record.view, "probe": record.probe, **record.asked}
    for name, other in asked.items():
        if name != "source" and isinstance(other, (str, list, dict)) and other != "output":
            yield name, f"{other}"


def _words(target: str) -> str:
    """Return the words of a program as they would be run, each quoted as a shell wants it."""
    from auditor.subjects.programs import read_program

    try:
        return shlex.join(read_program(target).words)
    except UsageError as error:
        return f"({error})"


def check_named(record: Record) -> None:
    """Refuse options that name Python's own library: what they name is called, and is no learner and no source."""
    for name, value in record.asked.items():
        if name not in ("source", "view") and isinstance(value, str) and (found := _NAME.fullmatch(value)):
            try:
                fn = find_object(found[1])
            except UsageError:
                continue  # whoever needs it says so
            _refuse_library(fn, value, f"what --{name} takes")


def check_learner(subject: Subject) -> None:
    """Refuse what is no A(sample, r), whatever it calls the two, and has no fit; and parameters that get around it."""
    from auditor.subjects.estimators import Fit
    from auditor.subjects.signature import Called

    fn, what = subject.fn, "a learner A(sample, r)"
    _refuse_library(fn.estimator if isinstance(fn, Fit) else fn, subject.name, what)
    if not isinstance(fn, (Fit, Called)) and not _takes_two(fn):
        raise UsageError(f"the record names {subject.name}, which has not the parameters of {what}: not run")
    for name, value in subject.params.items():
        if callable(value):
            _refuse_library(value, f"{name}={value}", "a parameter of a learner", but=_HARMLESS)


def check_sampler(fn: Any, name: str) -> None:
    """Raise UsageError unless what a record names as its source is a function fn(rng, size) of the user's."""
    _refuse_library(fn, name, "a source fn(rng, size)")
    if not _takes_two(fn):
        raise UsageError(f"the record names {name}, which has not the parameters of a source fn(rng, size): not run")


def _refuse_library(fn: Any, name: str, what: str, *, but: Collection[str] = ()) -> None:
    """Refuse what belongs to Python's own library: it can do anything, and nothing in it is a learner."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    owner = fn if inspect.isroutine(fn) or inspect.isclass(fn) else type(fn)
    module = str(getattr(owner, "__module__", None) or "builtins")
    if module not in but and module.partition(".")[0] in sys.stdlib_module_names:
        raise UsageError(f"the record names {name}, which belongs to Python itself and is not {what}: not run")


def _takes_two(fn: Any) -> bool:
    """True if the first two arguments have parameters of their own; *args would take anything."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return False
    named = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(named) >= 2 and named[0].default is inspect.Parameter.empty
