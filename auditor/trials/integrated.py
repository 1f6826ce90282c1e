"""How is a pair run whose last step's randomness is integrated? Both cores, and many of the outputs that r might make.

With the pair's own r the cores become the two outputs, compared as ever. Each core is also finished with the same
FINISHES fresh children of r: how often the two differ has the probability that `mismatch` says, whatever the cores are,
so a formula that is wrong is found out, and where there is none the share stands for it.

What is measured is finish(core(sample), r). Three things make sure that it is what the subject does:

* Each finish gets a copy of the core that was taken when its run ended, so that no finish uses up or changes another's
  core, and no later run writes into it. A core that cannot be copied is refused.
* A core is finished with the pair's own r twice, first and last, and has to give one output.
* A subject with a body of its own is run whole too, in one run of each pair, which the pair's key chooses, and has to
  give what its steps give. What that shows of its own rho is in `questions/integrated.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.errors import AuditorError, SubjectError, in_words, is_interrupt, kind_of
from auditor.lookup import call_user_code
from auditor.randomness import KINDS, Key
from auditor.sources.datasets import Dataset
from auditor.subjects.finishing import Finishing, SettledCore
from auditor.subjects.views import OUTPUT
from auditor.trials.cell import Cell
from auditor.trials.trial import (
    LAST_STEP,
    NONE_FELL,
    Bench,
    NoOutput,
    Trial,
    elements_of,
    judge,
    scores_of,
    timed_run,
    with_bottom,
)
from auditor.values import describe, same

FINISHES = 64  # fresh r that each pair of cores is finished with, where a formula is held against them
FEWER = 8  # and where none is, because many cells are searched: what they add to the spread of a pair is little
_INTEGRATED = ("rho", "price", "curve")  # questions that ask for no more than how often two outputs differ
_SHOWN = 60  # characters of an output


class BrokenSteps(SubjectError):
    """The steps that a subject declares are not what it does, or cannot be run one by one."""


class CorePair(msgspec.Struct, frozen=True):
    """What two cores showed besides whether their outputs differ: the payload of a trial."""

    mismatch: float | None  # as declared, for these two cores; None where there is no formula
    apart: int  # of `finishes` fresh r, those that finish the two cores differently
    elements: Any = None  # which of the outputs' elements differ, where that is watched
    runs: int = 2  # of the subject: one more where its body was compared with its steps
    finishes: int = FINISHES
    inaccurate: tuple[float, ...] = ()  # shares of finishes that are inaccurate, each independent of the others

    @property
    def share(self) -> float:
        """The share of fresh r that finish the two cores differently: its mean is rho."""
        return self.apart / self.finishes

    @property
    def is_compared(self) -> bool:
        """True if the subject's own function was run too, and compared with its steps."""
        return self.runs > 2


def why_not(cell: Cell) -> str | None:
    """Return why the last step of a subject that declares one is not integrated in this cell; None where it can be."""
    subject = cell.subject
    assert subject.finishing is not None
    if cell.question not in _INTEGRATED:
        return f"{cell.question} is another question than rho, and needs outputs, not probabilities"
    if cell.view.spec != OUTPUT.spec:
        return f"the formula is about whole outputs, and the view here is {cell.view.name}"
    if cell.within:
        return "the formula is about equal outputs, and a tolerance was given"
    if subject.finishing.splits and subject.randomness != "Generator":
        return f"r is {subject.randomness} here, which has no children for core and finish"
    return None


def is_integrated(cell: Cell, *, no_integrate: bool) -> bool:
    """True if the last step of a cell's subject is declared, and can be integrated as nobody asks not to."""
    return cell.subject.finishing is not None and not no_integrate and why_not(cell) is None


def run_integrated(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """Run both cores of a pair, and finish each FINISHES times."""
    return _run_cores(bench, index, fell, FINISHES, judges=False)


def run_searched(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """Run both cores of a pair, finish each FEWER times, and judge the accuracy of these finishes."""
    return _run_cores(bench, index, fell, FEWER, judges=bench.judges and bench.oracle is None)


def _run_cores(bench: Bench, index: int, fell: Mapping[int, str], finishes: int, *, judges: bool) -> Trial:
    """Run both cores of a pair, and finish each many times.

    Which pairs have a mismatch must not depend on the pair's own coin: an r that gives no output is one more of those
    that may.
    """
    halves = [Half(bench, index, which, fell, finishes=finishes, judges=judges) for which in (0, 1)]
    first, second = halves
    runs, seconds = 2, first.seconds + second.seconds
    chosen = bench.keys.body.child(index).digest[0] % 2
    if _steps(bench).has_body and chosen not in fell:
        runs, seconds = 3, seconds + _compare_body(bench, index, chosen, halves[chosen].settled)
    shown = CorePair(
        declared_mismatch(bench, first.core, second.core, index),
        count_apart(first, second),
        runs=runs,
        finishes=finishes,
        inaccurate=_inaccurate(bench, first, second) if judges else (),
    )
    scores = scores_of(first.score, second.score)
    if type(first.settled) is NoOutput or type(second.settled) is NoOutput:
        trial = with_bottom(bench, index, (first.settled, second.settled), first.accurate, seconds)
        return replace(trial, payload=msgspec.to_builtins(shown), scores=scores)
    difference = bench.difference(first.settled, second.settled)
    if index < bench.watched:
        shown = replace(shown, elements=elements_of(bench, first.settled, second.settled, difference))
    return Trial(index, difference, first.accurate, seconds, payload=msgspec.to_builtins(shown), scores=scores)


def _inaccurate(bench: Bench, first: Half, second: Half) -> tuple[float, ...]:
    """Return the shares of both cores' finishes that are inaccurate, or their mean where the cores are not independent.

    Each core is judged with other fresh r than the other, so that two shares are independent if the cores are. A core
    that uses r goes with its own r alone: there is one output of the pair to be judged.
    """
    if first.accurate is None:
        return ()
    if _steps(bench).splits:
        return (float(not first.accurate),)
    shares = [half.judged.count(False) / len(half.judged) for half in (first, second)]
    together = isinstance(bench.source, Dataset) and bench.source.drawn_together
    return (sum(shares) / 2,) if together or bench.subject.private else tuple(shares)


class Half:
    """One run of a pair: its core, the output, and what fresh r make of it. All are as they were when they were made,
    since whatever runs next may write into them."""

    def __init__(
        self,
        bench: Bench,
        index: int,
        which: int,
        fell: Mapping[int, str] = NONE_FELL,
        *,
        finishes: int,
        judges: bool = False,
    ) -> None:
        core, self.seconds = timed_run(replace(bench, subject=bench.subject.unfinished), index, which, fell)
        self._place = bench, index, which
        self._finish, self._make = _steps(bench).last, KINDS[bench.subject.randomness]
        self.core: SettledCore | NoOutput = core if type(core) is NoOutput else self._kept(core)
        r = bench.keys.r.child(index)
        own, again = _steps(bench).own(r), r.child("again")
        started = perf_counter()
        output = self._finished(own)
        self.seconds += perf_counter() - started
        self.settled = bench.settled(output)
        self.accurate = judge(bench, output, index) if which == 0 else None  # before a finish writes into it
        self.score = bench.score(output, index, which)
        self.many, self.judged = list[Any](), list[bool | None]()
        judges = judges and not _steps(bench).splits
        for i in range(finishes):
            key = again.child(i)
            output = self._finished(key)
            if judges and i % 2 == which:
                self.judged.append(judge(bench, output, index, key))
            self.many.append(bench.settled(output))
        last = bench.settled(self._finished(own))
        if differ(self.settled, last):
            raise BrokenSteps(
                f"the finish of {bench.subject.name} depends on something besides its core and r: in pair {index} one "
                f"core, finished twice with one r, gave {_short(self.settled)} and then {_short(last)}; let it use "
                f"nothing but its arguments{_OR_COUNT}"
            )

    def _kept(self, core: Any) -> SettledCore | NoOutput:
        """Return a copy of the core, which nothing the subject does can change; BrokenSteps if it cannot be copied."""
        bench, index, which = self._place
        try:
            return call_user_code(SettledCore, core)
        except MemoryError as error:
            return bench.no_output(error, index, which)
        except BaseException as error:
            if is_interrupt(error):
                raise
            raise BrokenSteps(
                f"the core of {bench.subject.name} is a {type(core).__qualname__} that cannot be copied, in pair "
                f"{index} ({in_words(error)}), and each finish needs one of its own: return a list, an array, or "
                f"something else that copy.deepcopy copies{_OR_COUNT}"
            ).caused_by(error) from error

    def _finished(self, key: Key) -> Any:
        """Return what r makes of the core; no output, if the core's run gave none. The key is new each time: numpy
        counts spawned r in it."""
        if type(self.core) is NoOutput:
            return self.core
        bench, index, which = self._place
        if bench.publish:
            bench.publish(index, which, LAST_STEP)  # each has the time of a run
        try:
            return call_user_code(self._finish_a_copy, self.core, self._make(key.again()))
        except BaseException as error:
            return bench.no_output(error, index, which)

    def _finish_a_copy(self, core: SettledCore, r: Any) -> Any:
        """Finish a copy of the core, since a finish may change it."""
        return self._finish(core.copy(), r)


_OR_COUNT = ", or count outputs with --no-integrate"


def _steps(bench: Bench) -> Finishing:
    """Return the subject's core and finish, with the parameters that it is run with."""
    steps = bench.subject.finishing
    assert steps is not None
    return steps.of(bench.subject.settings)


def _short(settled: Any) -> str:
    """Return an output in a few characters."""
    return "no output" if type(settled) is NoOutput else describe(settled, _SHOWN)


def differ(one: Any, other: Any) -> bool:
    """True if two settled outputs differ; two runs that gave none agree."""
    if type(one) is NoOutput or type(other) is NoOutput:
        return (type(one) is NoOutput) != (type(other) is NoOutput)
    return not same(one, other)


def count_apart(first: Half, second: Half) -> int:
    """Return how many of their fresh r finish two cores differently."""
    return sum(map(differ, first.many, second.many))


def declared_mismatch(
    bench: Bench, first: SettledCore | NoOutput, second: SettledCore | NoOutput, index: int
) -> float | None:
    """Return the declared probability that two cores finish differently; None where there is no formula, or no core."""
    if isinstance(first, NoOutput) or isinstance(second, NoOutput):
        return None
    name = bench.subject.name
    try:
        return _steps(bench).apart(call_user_code(first.copy), call_user_code(second.copy))
    except AuditorError as error:
        raise SubjectError(f"{name}, pair {index}: {error}") from error
    except BaseException as error:
        if is_interrupt(error):
            raise
        what = f"the mismatch of {name} raised {kind_of(error)} in pair {index}"
        raise SubjectError(what).caused_by(error) from error


def _compare_body(bench: Bench, index: int, which: int, settled: Any) -> float:
    """Run the subject whole and return the seconds; BrokenSteps if it does not give what its steps gave."""
    output, seconds = timed_run(bench, index, which, NONE_FELL)
    whole = bench.settled(output)
    if differ(settled, whole):
        raise BrokenSteps(
            f"{bench.subject.name} is not what it declares: in pair {index} it gave "
            f"{_short(whole)}, and its core and finish {_short(settled)}; mend one of them, make it "
            f"auditor.composed(core=..., finish=...), which has no body that could differ{_OR_COUNT}"
        )
    return seconds
