"""How is one pair run? On two fresh samples with one r: a trial is a pure function of (bench, index).

So any pair can be run again alone, in any order, in any process, and gives the same answer.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.errors import AuditorError, BadInput, SampleError, SubjectError, is_interrupt, kind_of
from auditor.lookup import call_user_code
from auditor.randomness import Key, Randomness, from_key, root_key
from auditor.sources.datasets import Dataset
from auditor.sources.sample import CountSample, Own, copied_rows
from auditor.sources.shifts import Shifted
from auditor.sources.source import Source
from auditor.subjects.churn import PREDICTED, has_rows, mean_distance, pack, points_of, share_of_labels
from auditor.subjects.programs import ProgramFailed
from auditor.subjects.scoring import FRESH, Scorer
from auditor.subjects.subject import Subject
from auditor.subjects.view_functions import matched, on_shared_rows
from auditor.subjects.views import OUTPUT, View
from auditor.values import Difference, Tolerance, by_number, compare, describe, first_difference, settle


class PairKeys:
    """The keys of every pair: one tree for each role, so that no draw depends on another or on the order of pairs."""

    def __init__(self, seed: int, *path: str) -> None:
        root = root_key(seed).child(*path)
        self._sample = root.child("sample")
        self.samples = [self._sample.child(0), self._sample.child(1)]  # nearly all that is ever asked for
        self.r = root.child("r")
        self.both_samples = root.child("both samples")  # for sources that draw them together
        self.probe = root.child("probe")
        self.private = root.child("private")
        self.body = root.child("body")  # which run of a pair is compared with its steps
        self._last: tuple[Key, int, Key] = self.r, -1, self.r

    def r_of(self, index: int) -> Key:
        """Return the key of r at an index, a new object for each run: numpy counts in it what a run spawns."""
        parent, last, key = self._last
        if last != index or parent is not self.r:
            key = self.r.child(index)
            self._last = self.r, index, key
        return key.again()

    def sample(self, which: int) -> Key:
        """Return the parent of the keys of all samples of run `which`: 0 or 1 in a pair, any in a group."""
        while which >= len(self.samples):
            self.samples.append(self._sample.child(len(self.samples)))
        return self.samples[which]


class OwnRandomness:
    """The generator of one sample, made when the sample first draws from it: most never do."""

    __slots__ = ("_index", "_key", "_made")

    def __init__(self, key: Key, index: int) -> None:
        self._key, self._index = key, index
        self._made: Randomness | None = None

    def __call__(self) -> Randomness:
        self._made = self._made or from_key(self._key.child(self._index, "own"))
        return self._made


class NoOutput(msgspec.Struct, frozen=True):
    """Bottom: what stands for the output of a run that gave none. Two of them agree, whatever went wrong.

    `why` is a sentence that names the run.
    """

    why: str


NONE_FELL: Mapping[int, str] = {}
DRAWS, DRAWN, RUNS, RAN, LAST_STEP = range(5)  # what a run does next: RAN, its output is looked at
Unit = Callable[["Bench", int, Mapping[int, str]], "Trial"]
Oracle = Callable[["Bench", Any, int], bool]


class Bench(msgspec.Struct, frozen=True):
    """All that a trial needs in the process that runs it: the subject, the loaded source, the keys, and the view."""

    subject: Subject
    source: Source
    size: int
    keys: PairKeys
    copies: bool = False  # hand out copies, for a subject that changes its sample in place
    counted: bool = False  # samples as counts over the source's law, instead of rows
    judges: bool = True  # ask the accuracy oracle, where there is one
    view: View = OUTPUT  # what of an output counts
    bottoms: bool = False  # a run that raises gives bottom, instead of ending the audit
    publish: Callable[[int, int, int], None] | None = None  # called with what which run does next, for a clock
    prepare: Callable[[Bench], Bench] | None = None  # what is still to be done with the source, where the runs will be
    doubts: Callable[[BaseException], bool] | None = None  # whether what a run raised may be its process' doing
    oracle: Oracle | None = None  # judges an output in place of the subject's own
    shares_private: bool = False  # whether the runs of an index have their private randomness in common
    unit: Unit | None = None  # what one trial is; a pair of runs, unless the question is another
    within: Tolerance | None = None  # how far apart numbers of two outputs may be
    watched: int = 0  # pairs, the first, whose payload says which elements differ
    scorer: Scorer | None = None  # scores the outputs, where they are scored
    scale: float | None = None  # how far apart two numbers are that count as wholly different

    @property
    def identity(self) -> tuple[int, ...]:
        """A key that differs from that of any other bench, and stays the same when a preflight adds what it found."""
        parts = (self.subject, self.source, self.keys, self.view, self.unit, self.oracle, self.scorer)
        near = hash((self.within, self.scale))
        return (*map(id, parts), self.size, self.counted, self.shares_private, near, self.watched)

    def elsewhere(self) -> Bench:
        """Return the bench for a process that has a subject of its own, is sent its samples, and only runs it."""
        own = dict.fromkeys(("subject", "source", "publish", "prepare", "doubts", "oracle", "unit", "scorer"))
        return replace(self, **own, judges=False, view=OUTPUT, bottoms=False)

    def trial(self, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
        """Run trial `index`. `fell` has those of its runs that are known to end their process."""
        return (self.unit or run_pair)(self, index, fell)

    def prepared(self, index: int = 0) -> Bench:
        """Return the bench ready to run. What the source does meanwhile counts as its draw for the run that waits."""
        if self.prepare is None:
            return self
        if self.publish:
            self.publish(index, 0, DRAWS)
        return replace(self.prepare(self), prepare=None)

    def draw(self, index: int, which: int) -> Any:
        """Draw the sample of run `which`: 0 or 1 of a pair, and on from there for more runs with the same r."""
        if not self.publish:
            return self._draw(index, which)
        self.publish(index, which, DRAWS)
        sample = self._draw(index, which)
        self.publish(index, which, DRAWN)
        return sample

    def _draw(self, index: int, which: int) -> Any:
        """Draw the sample of one run of a pair: rows, or counts of values."""
        if isinstance(self.source, Dataset) and self.source.drawn_together:
            return self.source.draw_part(from_key(self.keys.both_samples.child(index)), self.size, which)
        rng = self._rng(index, which)
        if self.counted:
            return CountSample(self.source.law(self.size), self.size, rng)
        sample = self.source.draw(rng, self.size)
        return copied_rows(sample, self.source.name) if self.copies else sample

    def _rng(self, index: int, which: int) -> Randomness:
        """Return the generator that draws the sample of one run of a pair."""
        return from_key(self.keys.sample(which).child(index))

    def outside(self, index: int, which: int) -> Any:
        """Return rows that are not in the sample of a run: all others of a data set, or fresh ones of a source that
        draws them. They are a function of (seed, index, which), whatever the subject."""
        source, fresh = self.source, from_key(self.keys.probe.child("score", index, which))
        if isinstance(source, Dataset) and source.drawn_together:
            return source.outside(from_key(self.keys.both_samples.child(index)), self.size, which)
        if isinstance(source, Dataset):
            return source.outside(self._rng(index, which), self.size)
        if isinstance(source, Shifted):
            return source.outside(self._rng(index, which), self.size, fresh, FRESH)
        return source.draw(fresh, FRESH)

    def score(self, output: Any, index: int, which: int) -> float | None:
        """Return the score of one run's output on rows that are not in its sample; None where it has none.

        A run that gave no output has the worst score.
        """
        scorer = self.scorer
        if scorer is None:
            return None
        if type(output) is NoOutput:
            return scorer.worst
        if not (scorer.is_asked or hasattr(output, "predict") or hasattr(output, "predict_one")):
            return None
        rows = self.outside(index, which)
        if isinstance(rows, tuple) and len(rows) == 2:
            return scorer.of(output, *rows, self.subject.name)
        if not scorer.is_asked:
            return None
        raise SubjectError(f"--score {scorer.name}: the source draws no labels: return (X, y), or leave --score out")

    def run(self, index: int, which: int) -> Any:
        """Return the output of one run; SubjectError with the subject's own traceback if it raises."""
        return self.run_on(self.draw(index, which), index, which)

    def run_on(self, sample: Any, index: int, which: int) -> Any:
        """Run the subject on a sample with the r of this pair, and return its output; what it raises becomes
        RunFailed."""
        key = self.keys.r_of(index)
        if self.publish:
            self.publish(index, which, RUNS)
        try:
            private = None
            if self.subject.private:
                private = self.keys.private.child(index, 0 if self.shares_private else which)
            output = self.subject.run(sample, key, private, self.own(index, which))
        except BaseException as error:  # SystemExit included: a subject that exits has not answered
            return self.no_output(error, index, which)
        if self.publish:
            self.publish(index, which, RAN)
        return output

    def no_output(self, error: BaseException, index: int, which: int) -> NoOutput:
        """Return bottom for a run that raised, if that counts as an output; else raise what ends the audit."""
        if is_interrupt(error) and not self.publish:
            raise error  # from the keyboard; a worker hears none
        failed = SubjectRaised(self.subject.name, index, which, error)
        if self.bottoms and not (self.doubts and self.doubts(error)):
            return NoOutput(str(failed))
        raise failed from error

    def with_another_r(self) -> Bench:
        """Return a bench with the same samples and another r."""
        keys = copy.copy(self.keys)
        keys.r = self.keys.r.child("another")
        return replace(self, keys=keys)

    def own(self, index: int, which: int) -> Own | None:
        """Return the generator that the sample of this run may draw from; None for counts, which have theirs."""
        if self.counted or not self.subject.takes_sample:
            return None
        return OwnRandomness(self.keys.sample(which), index)

    def see(self, output: Any) -> Any:
        """Return what of an output counts, by the view."""
        if self.view is OUTPUT or type(output) is NoOutput:
            return output
        try:
            return call_user_code(self.view.see, output)
        except AuditorError:
            raise
        except BaseException as error:
            if is_interrupt(error):
                raise
            what = f"the view {self.view.name} raised {kind_of(error)} on an output of {self.subject.name}"
            raise SubjectError(what).caused_by(error) from error

    def difference(self, first: Any, second: Any) -> Difference | None:
        """Return where what counts of two outputs first differs, by more than the tolerance; None if nowhere."""
        found, numbers = first_difference(first, second, self.within), self.view.numbers
        if found is None or numbers is None or not isinstance(first, np.ndarray) or first.shape[:1] != (len(numbers),):
            return found
        return replace(found, path=by_number(found.path, numbers))

    def settled(self, output: Any) -> Any:
        """Return a copy of what counts of an output, which no later run can change."""
        return output if type(output) is NoOutput else settle(self.see(output))


class RunFailed(SubjectError):
    """One run gave no output."""

    kind = "died"
    limit: float | None = None  # seconds after which it was ended

    def __init__(self, name: str, pair: int, which: int | None, what: str, more: str = "") -> None:
        self.pair, self.which = pair, which
        super().__init__(f"{name} {what} in {run_words(which)} {pair}{more}")


def run_words(which: int | None) -> str:
    """Name a run: a pair has two; the string of a group has more, which are counted from 0."""
    if which is None or which < 2:
        return f"{'a' if which is None else ('the first', 'the second')[which]} run of pair"
    return f"run {which} of string"


class SubjectRaised(RunFailed):
    """The subject raised in one of its runs."""

    kind = "raised"
    says_all = False  # the message does, and nothing else is to be shown

    def __init__(self, name: str, pair: int, which: int, error: BaseException) -> None:
        if isinstance(error, ProgramFailed):
            super().__init__(name, pair, which, error.what, error.more)
            self.details = error.details
        elif isinstance(error, BadInput):
            super().__init__(name, pair, which, "cannot answer")
            self.args, self.says_all = (str(error),), True
        else:
            super().__init__(name, pair, which, f"raised {kind_of(error)}")
            self.caused_by(error)
        self.shortage = str(error) if isinstance(error, SampleError) else None  # the sample had too few examples

    def adding(self, words: str) -> SubjectRaised:
        """Return this error with a further sentence in its message."""
        self.args = (f"{self}; {words}",)
        return self


class Trial(msgspec.Struct, frozen=True):
    """What one trial showed: a pair, or the first two runs where a trial has more."""

    index: int
    difference: Difference | None  # None where the two outputs are the same
    accurate: bool | None  # of the first run; the second shares its r and is no new evidence
    seconds: float  # spent in the subject
    churn: float | None = None  # the mean distance of the two outputs over the probe points: 0 or 1 for labels
    bottoms: tuple[str, ...] = ()  # the runs that gave no output, a sentence each
    payload: Any = None  # what else a question needs of it: JSON, made where it ran
    scores: tuple[float | None, ...] = ()  # of its two runs, on rows that they have not seen, where they are scored
    predictions: tuple[Any, ...] = ()  # of its two runs at the probe points, packed, for the first pairs


class FirstRun(NamedTuple):
    """What counts of the first run of a pair, which no later run can change."""

    settled: Any
    points: Any  # its predictions, where the view has a row for each probe point
    accurate: bool | None
    score: float | None  # on rows that it has not seen, where runs are scored
    seconds: float


def run_pair(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """Run both runs of a pair and compare them, but for those in `fell`, which are known to end their process.

    What counts of the first output is settled, and its accuracy judged, before the second run begins: that run may
    write into what the first has returned.
    """
    output, seconds = timed_run(bench, index, 0, fell)
    first = first_run(bench, index, output, seconds, lambda: judge(bench, output, index))
    return second_run(bench, index, first, *timed_run(bench, index, 1, fell))


def first_run(
    bench: Bench, index: int, output: Any, seconds: float, judged: Callable[[], bool | None], *, scores: bool = True
) -> FirstRun:
    """Return what counts of the first output of a pair; `judged` says whether it is accurate."""
    viewed = bench.see(output)
    settled = viewed if type(viewed) is NoOutput else settle(viewed)
    points = points_of(viewed, settled) if bench.view.rows else None
    return FirstRun(settled, points, judged(), bench.score(output, index, 0) if scores else None, seconds)


def second_run(bench: Bench, index: int, one: FirstRun, output: Any, seconds: float) -> Trial:
    """Return the trial of a pair from its first run and the output of its second."""
    first, second, both = one.settled, bench.see(output), one.seconds + seconds
    if type(first) is NoOutput or type(second) is NoOutput:
        found = with_bottom(bench, index, (first, second), one.accurate, both)
        return replace(found, scores=scores_of(one.score, bench.score(output, index, 1)))
    if bench.view.is_of_own_rows:
        first, second = on_shared_rows(first, second)
    difference = bench.difference(first, second)
    churn = _churn(bench, one.points, second, difference) if bench.view.rows else None
    payload = elements_of(bench, first, settle(second), difference) if index < bench.watched else None
    predictions: tuple[Any, ...] = ()
    if churn is not None and index < min(bench.watched, PREDICTED) and not bench.view.is_partition:
        predictions = _predictions(one.points, second)
    scores = scores_of(one.score, bench.score(output, index, 1))  # last: to predict may write into what was compared
    return Trial(index, difference, one.accurate, both, churn, (), payload, scores, predictions)


def _predictions(points: Any, second: Any) -> tuple[Any, ...]:
    """Return what both runs predict, packed; nothing where that is neither labels nor numbers."""
    packed = pack(points), pack(points_of(second, settle(second)))
    return () if None in packed or packed[0][0] != packed[1][0] else packed  # type: ignore[index]


def scores_of(*scores: float | None) -> tuple[float | None, ...]:
    """Return the scores of a trial's runs; nothing if none has one."""
    return () if all(one is None for one in scores) else scores


def elements_of(bench: Bench, first: Any, second: Any, difference: Difference | None) -> Any:
    """Return which elements differ, as JSON; of labels after matching the names that fit best."""
    differs, view = difference is not None, bench.view
    has_labels = view.is_partition and isinstance(first, np.ndarray) and isinstance(second, np.ndarray)
    names = matched(first, second) if differs and has_labels and len(first) == len(second) else None
    found = compare(first, second, differs=differs, by_rows=bool(view.rows), within=bench.within, matched=names)
    return msgspec.to_builtins(found)


def _churn(bench: Bench, points: Any, second: Any, difference: Difference | None) -> float | None:
    """Return the mean distance over the probe points; None where the view has no row for each of them."""
    view = bench.view
    if difference is None:
        return 0.0 if has_rows(points, view.rows) else None
    others = points_of(second, settle(second))
    if not (has_rows(points, view.rows) or has_rows(others, view.rows)):
        return None
    return share_apart(bench, points, others)


def share_apart(bench: Bench, points: Any, others: Any) -> float:
    """Return the mean distance over the probe points; of a partition the share that differs after matching its labels,
    which are but names."""
    if bench.view.is_partition:
        return share_of_labels(points, others)
    return mean_distance(points, others, bench.within, bench.scale, shares=bench.view.is_of_shares)


def timed_run(bench: Bench, index: int, which: int, fell: Mapping[int, str]) -> tuple[Any, float]:
    """Return the output of one run, or bottom, and the seconds that it took."""
    if which in fell:
        return NoOutput(fell[which]), 0.0
    sample = bench.draw(index, which)
    started = perf_counter()
    output = bench.run_on(sample, index, which)
    return output, perf_counter() - started


def with_bottom(bench: Bench, index: int, outputs: Sequence[Any], accurate: bool | None, seconds: float) -> Trial:
    """Return the trial of a pair of which at least one run gave no output."""
    bottoms = tuple(output.why for output in outputs if type(output) is NoOutput)
    difference = apart(*outputs)
    churn = float(difference is not None) if bench.view.rows else None
    return Trial(index, difference, accurate, seconds, churn, bottoms)


def apart(first: Any, second: Any) -> Difference | None:
    """Return where two outputs first differ, if they do; runs without an output agree with each other."""
    bottoms = [type(one) is NoOutput for one in (first, second)]
    if not any(bottoms):
        return first_difference(first, second)
    shown = ("no output" if type(one) is NoOutput else describe(one) for one in (first, second))
    return None if all(bottoms) else Difference("output", *shown)


def judge(bench: Bench, output: Any, index: int, key: Key | None = None) -> bool | None:
    """True if an output is accurate; None where nobody can say. `key` is that of its r, if it is not the pair's."""
    if not bench.judges or (bench.oracle is None and bench.subject.declared.accuracy is None):
        return None
    if type(output) is NoOutput:
        return False
    if bench.oracle is not None:
        return bench.oracle(bench, output, index)
    try:
        return bench.subject.is_accurate(output, bench.source, key or bench.keys.r_of(index))
    except AuditorError:
        raise
    except BaseException as error:
        if is_interrupt(error):
            raise
        what = f"the accuracy check of {bench.subject.name} raised {kind_of(error)} in pair {index}"
        raise SubjectError(what).caused_by(error) from error
