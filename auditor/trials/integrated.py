"""How is a pair run whose last step's randomness is integrated? Both cores, and many of the outputs that r might make.

With the pair's own r the cores become the two outputs, compared as ever. Each core is also finished with the same
FINISHES fresh children of r: how often the two differ has the probability that `mismatch` says, whatever the cores are,
so a formula that is wrong is found out, and where there is none the share stands for it. In the first pairs A itself is
run too: it has to give what its core and its finish do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.errors import AuditorError, SubjectError, is_interrupt
from auditor.process.foreign import call
from auditor.randomness import KINDS, Key
from auditor.subjects.outcome import describe, same
from auditor.subjects.views import OUTPUT
from auditor.trials.cell import Cell
from auditor.trials.trial import NONE_FELL, RUNS, Bench, Bottom, Trial, elements_of, judge, timed_run, with_bottom

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
    may write into it. Which pairs are integrated must not depend on the pair's own coin: an r that gives no output is
    one more of those that may."""
    keys = finishing_keys(bench, index)
    first = _Half(bench, index, 0, fell, keys)
    _check_steps(bench, index, first)
    second = _Half(bench, index, 1, fell, keys)
    apart = sum(differ(one, other) for one, other in zip(first.many, second.many, strict=True))
    has_cores = not (type(first.core) is Bottom or type(second.core) is Bottom)
    m = declared_mismatch(bench, first.core, second.core, index) if has_cores else None
    seconds = first.seconds + second.seconds
    if type(first.settled) is Bottom or type(second.settled) is Bottom:
        trial = with_bottom(bench, index, (first.settled, second.settled), first.accurate, seconds)
        return replace(trial, payload=msgspec.to_builtins(Shown(m, apart)))
    difference = bench.difference(first.settled, second.settled)
    watched = index < bench.watched
    elements = elements_of(bench, first.settled, second.settled, difference) if watched else None
    payload = msgspec.to_builtins(Shown(m, apart, elements))
    return Trial(index, difference, first.accurate, seconds, payload=payload)


class _Half:
    """One run: its core, the output, and what fresh r make of it; all outputs as they are now."""

    def __init__(self, bench: Bench, index: int, which: int, fell: Mapping[int, str], keys: Sequence[Key]) -> None:
        cores = replace(bench, subject=bench.subject.unfinished)
        self.core, self.seconds = timed_run(cores, index, which, fell)
        made = finishes(bench, self.core, keys, index, which)
        started = perf_counter()
        output = next(made)  # of the pair's own r
        self.seconds += perf_counter() - started
        self.settled = bench.settled(output)
        self.accurate = judge(bench, output, index) if which == 0 else None  # before a finish writes into it
        self.many = [bench.settled(one) for one in made]


def differ(one: Any, other: Any) -> bool:
    """Two that gave no output agree."""
    if type(one) is Bottom or type(other) is Bottom:
        return (type(one) is Bottom) != (type(other) is Bottom)
    return not same(one, other)


def finishing_keys(bench: Bench, index: int) -> list[Key]:
    """What both cores of a pair are finished with: the pair's own r, then fresh ones."""
    assert bench.subject.finishing is not None
    r = bench.keys.r.child(index)
    again = r.child("again")
    return [bench.subject.finishing.own(r), *(again.child(i) for i in range(FINISHES))]


def finishes(bench: Bench, core: Any, keys: Sequence[Key], index: int, which: int) -> Iterator[Any]:
    """What each of several r makes of a core; bottom of what is none."""
    subject = bench.subject
    assert subject.finishing is not None
    finish, make = subject.finishing.of(subject.settings).last, KINDS[subject.randomness]
    for key in keys:
        if type(core) is Bottom:
            yield core
            continue
        if bench.publish:
            bench.publish(index, which, RUNS)  # each has the time of a run
        try:
            yield call(finish, core, make(key))
        except BaseException as error:
            yield bench.no_output(error, index, which)


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


def _check_steps(bench: Bench, index: int, half: _Half) -> None:
    """In the first pairs: what is audited in two steps has to be A."""
    if index >= COMPARED:
        return
    whole = bench.settled(bench.run(index, 0))
    if not differ(half.settled, whole):
        return
    gave, steps = ("no output" if type(one) is Bottom else describe(one, _SHOWN) for one in (whole, half.settled))
    raise SubjectError(
        f"{bench.subject.name} is not what it declares: in pair {index} it gave {gave}, and its core and finish "
        f"{steps}; mend one of them, or leave the declaration aside with --no-integrate"
    )
