"""How does a record come about? From what a run noticed and what its inquiry has to say, however it ended."""

from __future__ import annotations

import math
from json import dumps  # as it is now: a subject may replace it
from typing import TYPE_CHECKING, Any

import msgspec

from auditor import __version__
from auditor.engine.engine import RUN_OPTIONS
from auditor.errors import AuditorError
from auditor.flow.fitness import constancy
from auditor.flow.question import Answer
from auditor.flow.record import Cost, Example, Finding, Preflight, Record, as_json, environment
from auditor.flow.verdict import Verdict
from auditor.lookup import importable_name
from auditor.request import Request, fields_of
from auditor.sources.source import Source, name_of_source
from auditor.subjects.subject import code_hash
from auditor.trials.cell import Cell
from auditor.trials.identity import replay_command
from auditor.trials.trial import RunFailed, SubjectRaised
from auditor.values import describe

if TYPE_CHECKING:
    from auditor.flow.run import Run

_APART = ("params", "family", "baseline")  # options that a record has in a field of its own
_OF_PLAN = ("design", "target", "confidence", "budget", "first_budget", "family", "unit")  # as they are
_OF_VERDICT = ("reason", "decided_by", "error_spent", "bound")
_OF_ANSWER = ("measures", "pairs", "mismatches", "rho", "accuracy", "wobbles")
_LONGEST = 200  # characters of what no JSON can hold


def make_record(run: Run, request: Request, said: Answer, verdict: Verdict, seconds: float) -> Record:
    """The record of an audit, however it ended."""
    inquiry, plan, cell = run.inquiry, run.inquiry.plan, run.inquiry.cells[0]
    subject, bench, checked = cell.subject, run.benches.get(0), run.fitness.first
    source = bench.source if bench else None
    promised = subject.declares("size") if subject.declared.theorem else None
    varies = {one.varies for one in inquiry.cells}
    names = dict.fromkeys([inquiry.searched] if inquiry.searched else (row.source for row in said.rows))
    constant = constancy(inquiry, said, checked) if verdict.outcome != "error" else ()
    return Record(
        auditor_version=__version__,
        question=request.question,
        case=run.case,
        subject=subject.name,
        importable=bool(subject.is_reachable and source and source.spec and cell.view.spec),
        code_hash=code_hash(subject.fn),
        theorem=subject.declared.theorem,
        note=subject.declares("note"),
        params=as_json({name: value for name, value in subject.params.items() if name not in varies}),
        settings=as_json({name: value for name, value in subject.settings.items() if name not in varies}),
        source=", ".join(names) or name_of_source(cell.source),
        sample_kind=cell.sample_kind,
        size=cell.size,
        sample_scale=subject.settings.get("sample_scale", 1.0) * cell.size / promised if promised else None,
        seed=request.options.seed,
        view=cell.view.name,
        probe=cell.probe,
        resample=getattr(source, "resample", None),
        randomness=subject.randomness,
        overridden={name: (declared, used) for name, declared, used in cell.overridden},
        asked=_asked(request),
        claimed=subject.declares("claimed"),
        expect=request.expected or subject.declared.expect,
        verdict=verdict.outcome,
        cells=said.rows,
        answer=said.fields,
        preflight=Preflight(checked.runs, checked.second_process, checked.changes_sample) if checked else None,
        findings=[*run.findings, *said.findings, *_bottoms(run), *constant],
        examples=[
            Example(one.index, _replay(run, one.cell, one.index), one.difference, one.cell)
            for one in said.examples
            if one.cell in run.benches
        ],
        cost=_cost(run, seconds),
        environment=environment(),
        **{name: getattr(plan, name) for name in _OF_PLAN},
        **{name: getattr(verdict, name) for name in _OF_VERDICT},
        **{name: getattr(said, name) for name in _OF_ANSWER},
    )


def _asked(request: Request) -> dict[str, Any]:
    """The options that say what was asked, but for the parameters, which have a field of their own."""
    kind: type[msgspec.Struct] = type(request.options)
    fields = [one for one in fields_of(kind) if one.name not in (*RUN_OPTIONS, *_APART)]
    given = {one.name: value for one in fields if (value := getattr(request.options, one.name)) is not one.default}
    sources = {"source": [*request.sources]} if request.sources else {}
    return {name.removesuffix("_"): _typed(value) for name, value in {**sources, **given}.items() if value is not None}


def _typed(value: object) -> Any:
    """As JSON has it, else the name that leads to it, else what it looks like."""
    try:
        dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        if isinstance(value, list):
            return [_typed(one) for one in value]
        return importable_name(value) or getattr(value, "__qualname__", None) or describe(value, _LONGEST)
    return value


def _cost(run: Run, seconds: float) -> Cost:
    how = run.how
    limits = {"jobs": how.jobs, "timeout": how.timeout, "memory": how.memory, "cluster": how.cluster, "for": how.for_}
    return Cost(
        runs=sum(mine.runs for mine in run.by_cell.values()),
        preflight_runs=run.fitness.runs,
        seconds_in_subject=sum(mine.seconds for mine in run.by_cell.values()),
        seconds_total=seconds,
        engine=run.engine_words,
        limits={name: value for name, value in limits.items() if value is not None},
    )


def _replay(run: Run, cell: int, index: int) -> str | None:
    return replay_command(run.inquiry.cells[cell], run.benches[cell].source, index)


def failure_finding(error: AuditorError, cell: Cell, source: Source) -> Finding:
    """What foreign code raised, whole; with the command that makes it raise again where a run of a trial did."""
    said = error.details or str(error)
    if not isinstance(error, RunFailed):
        return Finding(SubjectRaised.kind, "error", said)
    command = replay_command(cell, source, error.pair)
    if command and error.which is not None and error.which > 1:
        command += f" --runs {error.which + 1}"
    if command and error.limit:
        command = f"timeout {math.ceil(error.limit) + 10} {command}"  # it hangs again
    return Finding(error.kind, "error", said, command)


def _bottoms(run: Run) -> list[Finding]:
    """That runs without an output were counted as one, and the first of them."""
    if run.first_bottom is None:
        return []
    cell, index, what = run.first_bottom
    runs = sum(mine.runs for mine in run.by_cell.values())
    words = f"{run.bottoms:,} of {runs:,} runs gave no output, which counts as one (--on-error bottom)"
    return [Finding("bottom", "warning", f"{words}; the first: {what}", _replay(run, cell, index))]
