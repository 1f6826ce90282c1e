"""Which cells does a question ask about? One, each of several sources and inputs, or private randomness in two ways."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import msgspec

from auditor.errors import UsageError
from auditor.flow.plan import error_probability
from auditor.flow.question import Inquiry
from auditor.questions.every import Every, Leaf
from auditor.questions.private import Both
from auditor.request import OverCells, Request
from auditor.subjects.inputs import Inputs, make_inputs, read_inputs
from auditor.subjects.subject import Subject, has_text, load_subject
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
    inputs = _inputs(options)
    first = {inputs.name: inputs.values[0]} if inputs else {}
    subject = load_subject(
        request.subject,  # type: ignore[arg-type]
        {**options.params, **first},
        texts=request.texts,
        randomness=options.randomness,
    )
    cells = list(_cells(question.name, subject, request.sources or (None,), inputs, options))
    compares = question.name in _COMPARED and subject.private and len(cells) == 1
    if compares and options.private in (None, "both"):
        return _both(question, cells[0], options)
    if options.private == "both":
        raise UsageError("--private both compares two plain audits: with other questions give shared or unshared")
    if len(cells) == 1:
        return question.settle(cells[0], options)  # type: ignore[no-any-return]
    leaves = [_one_of(question.settle(cell, options), len(cells)) for cell in cells]
    targets = {leaf.plan.target or 0.0 for leaf in leaves}
    if len(targets) > 1:
        named = ", ".join(f"{target:g}" for target in sorted(targets)[:3])
        raise UsageError(f"the subject claims another rho for each input ({named} ...): give one with --rho")
    return Every(leaves)


def _one_of(leaf: Any, count: int) -> Leaf:
    """A leaf that fails with its share of the error."""
    one: Leaf = replace(leaf, plan=replace(leaf.plan, cells=count))
    return one


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
        for index in range(len(inputs.values)) if inputs else [None]:
            bound = _with_input(subject, inputs, index)
            cell = make_cell(question, bound, source, options)
            yield replace(cell, name=_name(source, inputs, index, several=len(sources) > 1), **_input(inputs, index))


def _with_input(subject: Subject, inputs: Inputs | None, index: int | None) -> Subject:
    if inputs is None or index is None:
        return subject
    given = {inputs.name: inputs.values[index]}
    return replace(subject, params={**subject.params, **given}, settings={**subject.settings, **given})


def _input(inputs: Inputs | None, index: int | None) -> dict[str, Any]:
    if inputs is None or index is None:
        return {}
    again: tuple[str, ...] = ()
    if inputs.spec and not has_text(inputs.values[index]):
        again = ("--inputs", shlex.quote(inputs.spec), "--arm", str(index))
    return {"varies": inputs.name, "input": inputs.text(index), "again": again}


def _name(source: object, inputs: Inputs | None, index: int | None, *, several: bool) -> str:
    called = getattr(source, "name", None) or getattr(source, "__qualname__", "the source")
    words = [source if isinstance(source, str) else str(called)] if several else []
    if inputs and index is not None:
        words.append(f"{inputs.name}={inputs.text(index)}")
    return ", ".join(words) or "the declared source"


def _both(question: LeafQuestion, cell: Cell, options: OverCells) -> Both:
    """Unshared, which decides, and shared: each with half of the error."""
    # Not to be extended with more pairs, so no ledger for its words.
    half = msgspec.structs.replace(options, confidence=1 - error_probability(options.confidence) / 2, ledger=None)
    cells = [replace(cell, private=how, name=f"private {how}") for how in ("unshared", "shared")]
    return Both([question.settle(one, half) for one in cells], options.confidence)
