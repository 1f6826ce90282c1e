"""replay: one trial of a record, by the names that the record has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from auditor.cli.options import Count
from auditor.cli.output import make_console, warn
from auditor.cli.prints import stdout_kept
from auditor.cli.trust import check_learner, check_named, check_sampler, check_trusted, refuse_library
from auditor.errors import BadValue, UsageError
from auditor.lookup import search_here

if TYPE_CHECKING:
    from auditor.flow.parts import Part
    from auditor.flow.record import CellRow, Record
    from auditor.request import Request
    from auditor.sources.source import Source
    from auditor.trials.cell import Cell


@click.command()
@click.argument("record_file", metavar="RECORD")
@click.option("--pair", type=Count(), required=True, metavar="I", help="Which pair, or string, to run again.")
@click.option("--cell", type=Count(), metavar="J", help="Which of the record's cells, from 0, where it has several.")
@click.option("--trust", is_flag=True, help="Run what the record names without asking.")
def replay(record_file: str, pair: int, cell: int | None, trust: bool) -> int:
    """Run one pair of a recorded audit again and show both outputs. Runs the code that the record names, after asking.

    Example: python -m auditor replay record.json --pair 17 --trust
    """
    from auditor.flow.record import drawn_from, read_record
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
    search_here()
    with stdout_kept():
        parts = _again(record, row, pair)
    show_parts(parts, make_console())
    return 0


def _row(record: Record, cell: int | None, file: str) -> CellRow:
    rows = record.cells
    if not rows:
        raise UsageError(f"{file} was ended before it had a cell: there is nothing to run again")
    if cell is None and len(rows) > 1:
        raise UsageError(f"{file} has {len(rows)} cells: which one? Give --cell J, from 0 to {len(rows) - 1}")
    if not 0 <= (cell or 0) < len(rows):
        raise UsageError(f"--cell {cell} must be from 0 to {len(rows) - 1}: {file} has {len(rows)} cells")
    return rows[cell or 0]


def _again(record: Record, row: CellRow, pair: int) -> Sequence[Part]:
    from msgspec.structs import replace

    from auditor.flow.question import find_question
    from auditor.process.limits import one_thread
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
    _check_cell(cell, row, record)
    with one_thread():
        return list(find_question(cell.question).again(replace(make_bench(cell), copies=True), pair))


def _request(record: Record) -> Request:
    """What the record says was asked; the sources by the names that they had."""
    from auditor.flow.question import make_request

    asked: dict[str, Any] = {"accept_overlap": True, **record.asked}
    sources = asked.pop("source", None) or [*dict.fromkeys(row.source for row in record.cells)]
    if "over" in asked:
        sources = []
    texts = {name: str(value) for name, value in record.params.items()}
    return make_request(record.question, record.subject, sources, asked, texts=texts)


def _cell(cells: Sequence[Cell], row: CellRow, record: Record) -> Cell:
    """The cell of a row. One that was opened on the way is another by its size and its seed, which the row has."""
    from msgspec.structs import replace

    place = record.cells.index(row)
    if place < len(cells) and cells[place].name == row.name:
        return replace(cells[place], seed=row.seed)
    like = [cell for cell in cells if row.name.startswith(cell.name)]  # "x=1, confirmed" is like "x=1"
    return replace(max(like, key=lambda cell: len(cell.name), default=cells[0]), size=row.size, seed=row.seed)


def _check_cell(cell: Cell, row: CellRow, record: Record) -> None:
    """What is about to run: a learner, on samples of a source, seen in some way; and as the record says that it was."""
    from auditor.sources.shifts import parts_of
    from auditor.sources.source import Sampler
    from auditor.trials.cell import source_of

    check_learner(cell.subject)
    source = source_of(cell)
    for part in parts_of(source):
        if isinstance(part, Sampler):
            check_sampler(part.fn, part.name)
    for fn in cell.view.functions:
        refuse_library(fn, cell.view.name, "a view of an output")
    _check_same(cell, source, row, record)


def _check_same(cell: Cell, source: Source, row: CellRow, record: Record) -> None:
    """Refuse to run anything but what the record says: that is what whoever read it has agreed to.

    Cells of one record differ in their source, size, seed and variant, which the row has, and in the parameter that
    varies. Code and data may have changed since the record was made: then there is a warning.
    """
    from msgspec.structs import replace

    from auditor.trials.identity import case_of

    assert record.case is not None
    now = case_of(cell, source)
    if not {"over", "range"} & {*record.asked} and record.source != ", ".join(
        dict.fromkeys(r.source for r in record.cells)
    ):
        raise UsageError(f"the record's source is {record.source!r}, and its cells have others: not run")
    then = replace(record.case, question=now.question, size=row.size, seed=row.seed, path=now.path)
    if row.source != record.cells[0].source:
        then = replace(then, source=now.source)
    if cell.varies in now.params:
        then = replace(then, params={**then.params, cell.varies: now.params[cell.varies]})
    if row.variant is not None:
        then = replace(then, private=now.private)
    if row.variant == "old":
        then = replace(then, target=now.target, randomness=now.randomness, params=now.params)
    others = [f"--source: {row.source} and {source.name}"] if row.source != source.name else []
    if others := others + then.differs(now, "replay"):
        raise UsageError(f"what the record asked for and what would run now differ in {', '.join(others)}: not run")
    if row.variant != "old" and (changed := then.differs(now, "resume")):
        warn(f"since this record was made, something has changed: {', '.join(changed)}")
