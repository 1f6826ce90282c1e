"""Which candidates are there to choose from? A grid (--vary), the rows of a table (--settings), several targets.

All of them have the same source and the same seed, and so the same samples and the same r.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.errors import UsageError
from auditor.files import read_bytes
from auditor.literals import literal_or_text
from auditor.lookup import short_name
from auditor.questions.cell_inquiries import load_asked
from auditor.questions.curve.axis import make_axis
from auditor.questions.varied import check_among, check_not_given, is_whole
from auditor.randomness import cell_seed
from auditor.request import Request
from auditor.sources.datasets import Dataset
from auditor.subjects.subject import Subject, param_text
from auditor.trials.cell import Cell, make_cell

MOST = 200  # candidates: each more takes a share of the error from all others
# What tells the seed of candidates from those of other cells. No check runs on their pairs: on those that were looked
# at because one setting failed on them, any other looks better.
_SEED = 1_000_000
_TABLE = "write a header with the names of parameters and a row for each candidate, as csv, or a JSON list of objects"

Setting = dict[str, Any]  # parameters by name


def make_candidates(request: Request) -> list[Cell]:
    """Return a cell for each candidate; UsageError if there are not two or more, or one of them cannot be."""
    options = request.options
    if options.vary is not None and options.settings is not None:
        raise UsageError("--vary and --settings are two lists of candidates: give one of them")
    others = [] if options.targets is None else [*options.targets]
    requests = [replace(request, subject=target) for target in (request.subject, *others)]
    subjects = [load_asked(one, options.params) for one in requests]
    if options.settings is not None:
        rows = read_settings(options.settings)
        known = list(dict.fromkeys(name for row in rows for name in row))
        settings = [rows] * len(subjects)
    else:
        axes = read_grid(options.vary)
        known = [*axes]
        settings = [[*_grid(axes, subject)] for subject in subjects]
    for name in known:
        _check_varies(request, subjects, name)
    called = [short_name(subject.name) for subject in subjects]
    if len({*called}) < len(called):
        called = [subject.name for subject in subjects]
    cells = []
    for one, subject, rows, name in zip(requests, subjects, settings, called, strict=True):
        for cell in _cells(one, subject, rows, tuple(known)):
            words = [name, cell.name] if others else [cell.name or name]
            cells.append(replace(cell, name=", ".join(filter(None, words))))
    _check_count(cells)
    return cells


def read_grid(vary: Any) -> dict[str, list[Any]]:
    """Return the values of each parameter that varies: as typed, one text or several, or as {name: values}."""
    texts: list[Any] = [{name: values} for name, values in vary.items()] if isinstance(vary, Mapping) else []
    if not texts:
        texts = [vary] if isinstance(vary, str) else [*(vary or ())]
    axes = [make_axis(text, least=1) for text in texts]
    for place, axis in enumerate(axes):
        if any(axis.name == other.name for other in axes[:place]):
            raise UsageError(f"--vary {axis.name}=... was given twice: give all its values at once")
    return {axis.name: [*axis.values] for axis in axes}


def _grid(axes: Mapping[str, Sequence[Any]], subject: Subject) -> Iterator[Setting]:
    """Yield every combination of the parameters that a subject has."""
    own = {}
    for name, values in axes.items():
        if name in subject.settings:
            rounds = is_whole(subject, name) and all(isinstance(value, float) for value in values)
            own[name] = [*dict.fromkeys(round(value) for value in values)] if rounds else values
    for chosen in itertools.product(*own.values()):
        yield dict(zip(own, chosen, strict=True))


def read_settings(given: Any) -> list[Setting]:
    """Return the candidates of a table: a file, or dicts in Python. An empty cell leaves the parameter as it is."""
    typed, rows = f"--settings {given}", given
    if isinstance(given, (str, os.PathLike)):
        rows = _rows_of_file(os.fspath(given), typed)
    else:
        typed = "settings"
    rows = [*rows] if isinstance(rows, (list, tuple)) else []
    if not rows or not all(isinstance(row, Mapping) and all(isinstance(name, str) for name in row) for row in rows):
        raise UsageError(f"{typed} is no table of settings: {_TABLE}")
    return [dict(row) for row in rows]


def _rows_of_file(file: str, typed: str) -> Any:
    """Return the settings that a csv or JSON file lists, one for each candidate."""
    content = read_bytes(file, f"cannot read {typed}")
    try:
        if file.endswith(".json"):
            return msgspec.json.decode(content)
        header, *lines = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        lines = [line for line in lines if line]
        if any(len(line) != len(header) for line in lines):
            raise ValueError("not every line has as many cells as the header")
    except (ValueError, csv.Error, RecursionError) as error:  # msgspec's complaints are ValueErrors too
        raise UsageError(f"{typed} is no table of settings ({error}): {_TABLE}") from error
    names = [name.strip() for name in header]
    cells = [{n: cell.strip() for n, cell in zip(names, line, strict=True)} for line in lines]
    return [{name: literal_or_text(cell) for name, cell in row.items() if cell} for row in cells]


def _check_varies(request: Request, subjects: Sequence[Subject], name: str) -> None:
    """Raise UsageError unless a target has the parameter, and no other option sets it."""
    flag = "settings" if request.options.settings is not None else "vary"
    if name == "size" and not any(name in subject.settings for subject in subjects):
        raise UsageError(
            f"--{flag} size: all candidates run on the same samples; curve and price say what more rows do"
        )
    known = list(dict.fromkeys(parameter for subject in subjects for parameter in subject.settings))
    check_among(f"--{flag} {name}", ", ".join(subject.name for subject in subjects), name, known)
    check_not_given(request, flag, name)


def _cells(request: Request, subject: Subject, settings: Sequence[Setting], varies: tuple[str, ...]) -> Iterator[Cell]:
    """Yield the candidates of one target, each named by its setting. A data set is loaded once."""
    options, source, first = request.options, request.source, None
    seed = cell_seed(options.seed, _SEED)
    for setting in settings:
        with_setting = load_asked(request, {**options.params, **setting}) if setting else subject
        cell = make_cell(request.question, with_setting, source, options)
        if first is None and isinstance(cell.source, Dataset):
            first, source, options = cell, cell.source, replace(options, as_=None)
        if first is not None:
            cell = replace(cell, as_=first.as_, overridden=first.overridden)
        name = ", ".join(f"{key}={param_text(value)}" for key, value in setting.items())
        yield replace(cell, seed=seed, name=name, varies=varies)


def _check_count(cells: Sequence[Cell]) -> None:
    """Raise UsageError unless there are two candidates or more, and not too many."""
    names = [cell.name for cell in cells]
    if len(names) < 2:
        only = f"there is only {names[0]}" if names else "there is none"
        raise UsageError(
            f"choose needs two candidates or more, and {only}: vary a parameter, --vary max_depth=2,4,8, give a table, "
            "--settings FILE, or several targets"
        )
    if len(names) > MOST:
        raise UsageError(f"choose has {len(names):,} candidates, and takes up to {MOST}: vary less at once")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"the candidate {twice} was given twice: leave one of them out")
