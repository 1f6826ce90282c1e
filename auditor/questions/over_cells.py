"""Which cells does a question ask about? One, each of several sources and inputs, or private randomness in two ways."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from auditor.errors import UsageError, check_count
from auditor.flow.plan import error_probability
from auditor.flow.question import Inquiry
from auditor.questions.counted import load
from auditor.questions.every import Every
from auditor.questions.private import Both
from auditor.request import OverCells, Request
from auditor.subjects.inputs import Inputs, make_inputs, read_inputs
from auditor.subjects.subject import Subject, has_text
from auditor.trials.cell import Cell, make_cell

_COMPARED = ("rho", "churn")  # of which Lemma A.5 says that sharing private randomness cannot be worse


class LeafQuestion(Protocol):
    """A question that can be asked of one cell."""

    @property
    def name(self) -> str: ...
    def settle(self, cell: Cell, options: Any) -> Any: ...


def begin(question: LeafQuestion, request: Request) -> Inquiry:
    """The leaf of the one cell that was asked about, or what combines several."""
    options: OverCells = request.options
    check_count("family", options.family, least=1, example=3)
    inputs = _inputs(options)
    first = {inputs.name: inputs.values[0]} if inputs else {}
    subject = load(request, {**options.params, **first})
    cells = list(_cells(question.name, subject, request.sources or (None,), inputs, options))
    compares = question.name in _COMPARED and subject.private and len(cells) == 1
    if compares and options.private in (None, "both"):
        return _both(question, cells[0], options)
    if options.private == "both":
        raise UsageError("--private both compares two plain audits: with other questions give shared or unshared")
    if len(cells) == 1:
        return question.settle(cells[0], options)  # type: ignore[no-any-return]
    leaves = [question.settle(cell, options).planned(cells=len(cells)) for cell in cells]  # each fails with its share
    targets = {leaf.plan.target or 0.0 for leaf in leaves}
    if len(targets) > 1:
        named = ", ".join(f"{target:g}" for target in sorted(targets)[:3])
        raise UsageError(f"the subject claims another rho for each input ({named} ...): give one with --rho")
    return Every(leaves)


def _inputs(options: OverCells) -> Inputs | None:
    if options.inputs is None:
        return None
    if isinstance(options.inputs, str):
        return read_inputs(options.inputs, options.seed)
    return make_inputs(options.inputs)


def _cells(
    question: str, subject: Subject, sources: Sequence[object], inputs: Inputs | None, options: OverCells
) -> Iterator[Cell]:
    """A cell for each source and input."""
    for source in sources:
        called = getattr(source, "name", None) or getattr(source, "__qualname__", "the source")
        name = "" if len(sources) == 1 else source if isinstance(source, str) else str(called)
        if inputs is None:
            yield replace(make_cell(question, subject, source, options), name=name or "the declared source")
            continue
        for index, value in enumerate(inputs.values):
            cell = make_cell(question, with_settings(subject, {inputs.name: value}), source, options)
            text, typed = inputs.text(index), inputs.spec and not has_text(value)
            again = ("--inputs", shlex.quote(inputs.spec or ""), "--cell", str(index)) if typed else ()
            full = f"{name}, {inputs.name}={text}" if name else f"{inputs.name}={text}"
            yield replace(cell, name=full, varies=inputs.name, input=text, again=again)


def with_settings(subject: Subject, given: Mapping[str, Any]) -> Subject:
    """With other values of some of its parameters."""
    return replace(subject, params={**subject.params, **given}, settings={**subject.settings, **given})


def _both(question: LeafQuestion, cell: Cell, options: OverCells) -> Both:
    """Unshared, which decides, and shared: each with half of the error."""
    half = replace(options, confidence=1 - error_probability(options.confidence) / 2)
    cells = [replace(cell, private=how, name=f"private {how}") for how in ("unshared", "shared")]
    return Both([question.settle(one, half).planned(extends=False) for one in cells], options.confidence)
