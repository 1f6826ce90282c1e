"""How is a pair run whose last step's randomness is integrated? Both cores, and many of the outputs that r might make.

With the pair's own r the cores become the two outputs, compared as ever. Each core is also finished with the same
FINISHES fresh children of r: how often the two differ has the probability that `mismatch` says, whatever the cores are,
so a formula that is wrong is found out, and where there is none the share stands for it. In the first pairs A itself is
run too: it has to give what its core and its finish do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from auditor.errors import AuditorError, SubjectError, is_interrupt
from auditor.process.foreign import call
from auditor.randomness import KINDS, Key
from auditor.subjects.elements import compare
from auditor.subjects.outcome import describe, same, settle
from auditor.subjects.views import OUTPUT
from auditor.trials.cell import Cell
from auditor.trials.trial import NONE_FELL, Bench, Bottom, SubjectRaised, Trial, judge, timed_run, with_bottom

FINISHES = 64  # fresh r that each pair of cores is finished with
COMPARED = 4  # pairs, the first, in which A itself is run and compared with its two steps
_SHOWN = 60  # characters of an output


class Shown(msgspec.Struct, frozen=True):
    """What a pair showed besides whether its outputs differ: the payload of its trial."""

    mismatch: float | None  # as declared, for these two cores; None where there is no formula
    apart: int  # of FINISHES fresh r, those that finish the two cores differently
    elements: Any = None  # which of the outputs' elements differ, where that is watched


def why_not(cell: Cell) -> str | None:
    """Why the last step of a subject that declares one is not integrated in this cell; None where it can be."""
    subject = cell.subject
    assert subject.finishing is not None
    if cell.question != "rho":
        return f"{cell.question} is another question than rho, and needs outputs, not probabilities"
    if cell.view.spec != OUTPUT.spec:
        return f"the formula is about whole outputs, and the view here is {cell.view.name}"
    if cell.within:
        return "the formula is about equal outputs, and a tolerance was given"
    if subject.finishing.splits and subject.randomness != "Generator":
        return f"r is {subject.randomness} here, which has no children for core and finish"
    return None


def run_integrated(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """Both cores of a pair and what becomes of them; what is made of the first is read before the second is run, which
    may write into it."""
    halves = replace(bench, subject=bench.subject.in_two)
    first, seconds = timed_run(halves, index, 0, fell)
    if not isinstance(first, Bottom):
        output = settle(first[1])
        keys = fresh_keys(bench, index)
        many = [settle(one) for one in finishes(bench, first[0], keys, index, 0)]
        _check_steps(bench, index, output)
    accurate = judge(bench, _output(first), index)
    second, more = timed_run(halves, index, 1, fell)
    if isinstance(first, Bottom) or isinstance(second, Bottom):
        trial = with_bottom(bench, index, (_output(first), _output(second)), accurate, seconds + more)
        differs = trial.difference is not None
        shown = Shown(float(differs), FINISHES * differs)
        return msgspec.structs.replace(trial, payload=msgspec.to_builtins(shown))
    difference = bench.difference(output, second[1])
    elements = None
    if index < bench.watched:
        elements = compare(output, settle(second[1]), differs=difference is not None, by_rows=False)
    others = finishes(bench, second[0], keys, index, 1)
    apart = sum(not same(one, other) for one, other in zip(many, others, strict=True))
    shown = Shown(declared_mismatch(bench, first[0], second[0], index), apart, elements)
    return Trial(index, difference, accurate, seconds + more, payload=msgspec.to_builtins(shown))


def _output(half: Any) -> Any:
    return half if isinstance(half, Bottom) else half[1]


def fresh_keys(bench: Bench, index: int) -> list[Key]:
    """Of what both cores of a pair are finished with, besides the pair's own r."""
    again = bench.keys.r.child(index, "again")
    return [again.child(i) for i in range(FINISHES)]


def finishes(bench: Bench, core: Any, keys: Sequence[Key], index: int, which: int) -> Iterator[Any]:
    """What fresh r make of a core."""
    subject = bench.subject
    assert subject.finishing is not None
    finished, make = subject.finishing.of(subject.settings).finished, KINDS[subject.randomness]
    try:
        for key in keys:
            yield call(finished, core, make(key))
    except BaseException as error:
        if is_interrupt(error) and not bench.publish:
            raise
        raise SubjectRaised(subject.name, index, which, error) from error


def declared_mismatch(bench: Bench, first: Any, second: Any, index: int) -> float | None:
    subject = bench.subject
    assert subject.finishing is not None
    try:
        return subject.finishing.of(subject.settings).apart(first, second)
    except AuditorError as error:
        raise SubjectError(f"{subject.name}, pair {index}: {error}") from error
    except BaseException as error:
        if is_interrupt(error):
            raise
        what = f"the mismatch of {subject.name} raised {type(error).__name__} in pair {index}"
        raise SubjectError(what).caused_by(error) from error


def _check_steps(bench: Bench, index: int, output: Any) -> None:
    """In the first pairs: what is audited in two steps has to be A."""
    if index >= COMPARED:
        return
    whole = bench.run(index, 0)
    if not isinstance(whole, Bottom) and same(output, whole):
        return
    shown = "no output" if isinstance(whole, Bottom) else describe(whole, _SHOWN)
    raise SubjectError(
        f"{bench.subject.name} is not what it declares: in pair {index} it gave {shown}, and its core and finish "
        f"{describe(output, _SHOWN)}; mend one of them, or leave the declaration aside with --no-integrate"
    )
