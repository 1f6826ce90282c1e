"""Is the subject a function of (sample, r) at all? A few runs on the same sample and r, before anything is counted.

They use the first pairs' own keys: what goes wrong here goes wrong in a replay of that pair too. Of an estimator they
also show what the view does not compare: where two fits differ, and whether r got in.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.errors import AuditorError, NotComparable, SourceError, SubjectError, UnknownTruth
from auditor.lookup import call_user_code
from auditor.randomness import COMMON_KINDS
from auditor.sources.frames import column_at, library_of, rows_in, take
from auditor.sources.sample import Sample, copied_rows
from auditor.subjects.estimators import Fit, advice, takes_seed, unlisted
from auditor.subjects.fitting import words_of
from auditor.subjects.programs import Program, program_in
from auditor.subjects.signature import Called, check_labels_given, takes_labels_apart, takes_r
from auditor.subjects.views import fitted_attributes
from auditor.trials.fresh_rows import same_samples
from auditor.trials.second_process import SWITCHED_OFF, SecondProcess
from auditor.trials.trial import (
    NONE_FELL,
    Bench,
    FirstRun,
    NoOutput,
    SubjectRaised,
    Trial,
    first_run,
    judge,
    second_run,
    timed_run,
)
from auditor.values import describe, fingerprint, first_difference, same

if TYPE_CHECKING:
    from auditor.trials.causes.files import Files

PAIRS = 3  # that are run twice
_SHOWN = 80  # characters of an output
_CAUSES = (
    "likely causes: a generator made without r (default_rng() with no seed), a global counter or cache, "
    "the time, or threads"
)
_CAUSES_OF_PROGRAM = (
    "likely causes: a generator that it does not seed with {seed}, the time, the path of its "
    "sample, which is another in each run, a file that it keeps, or threads"
)
_BY_WRONG_KIND = (TypeError, AttributeError, ValueError)  # what a learner raises that gets another r than it takes
_PATIENCE = 10.0  # seconds up to which a run that raised is tried again with other types of r
_SEEDING = {  # of libraries whose randomness is global
    "keras": "keras.utils.set_random_seed(seed)",
    "tensorflow": "tensorflow.random.set_seed(seed)",
    "torch": "torch.manual_seed(seed)",
}
_PLACES = 5  # in which two fits differ, that a sentence names
_TIME = re.compile(r"(?<![a-z])((re)?fit|score|train(ing)?|run|wall|total)_times?(?![a-z])|elapsed|duration")


class ShownOutput(msgspec.Struct, frozen=True):
    """What counts of an output: its fingerprint, and what it looks like."""

    name: str
    shown: str


class Checked(msgspec.Struct, frozen=True):
    """What the preflight of a cell concluded."""

    runs: int
    second_process: str
    changes_sample: bool
    knows_truth: bool
    warnings: tuple[tuple[str, str], ...]  # (kind, message)
    source_shares: bool = False  # memory between two draws
    always: ShownOutput | None = None  # what all runs gave, those on half of the rows too, where it was one output
    notes: tuple[tuple[str, str], ...] = ()  # the same, of what is no reason for a warning
    same_samples: str = ""  # how the two samples of a pair were the same, where they were

    @property
    def copies(self) -> bool:
        """True if each run needs a copy of its sample."""
        return self.changes_sample or self.source_shares


class PreflightFound(msgspec.Struct, frozen=True):
    """What the preflight's runs in one process showed, in a form that can be sent to another process."""

    runs: int
    changes_sample: bool
    knows_truth: bool
    moved: tuple[str, ...]  # the global generators that a run moved
    seconds: float  # of one run when all is loaded, with its sample drawn and its output looked at
    first: str | None  # fingerprint of the first output of pair 0; None where there was none
    shared: bool = False  # whether a run changed what one before it had returned
    source_shares: bool = False  # memory between two draws
    unseen: tuple[str, ...] = ()  # where two fits with the same sample and r differ, and the view does not look
    outputs: tuple[ShownOutput, ...] = ()  # of the pairs
    random: bool = True  # whether r gets into the subject at all
    cold: float = 0.0  # seconds of a first run, imports and all
    same_samples: str = ""  # how the two samples of a pair were the same, where they were: see `fresh_rows`
    replaced: str = ""  # what became of one output on half of the rows: "same", "differs" or "raises"; "" if not tried


class Step(msgspec.Struct, frozen=True):
    """What a preflight has just done, in a form that can be sent to another process. A run begins after each."""

    repeated: bool = False  # a pair's first run once more
    trial: Trial | None = None  # a pair whose first run is one of the preflight's: it counts as any other
    seconds: float = 0.0  # of a run when all is loaded, where that is known by now


class HiddenState(SubjectError):
    """The subject's answer depends on something besides (sample, r)."""


def run_preflight(
    bench: Bench, wanted: Container[int] = (), skip: Container[int] = ()
) -> Generator[Step, None, PreflightFound]:
    """Run twice what should come out the same; yield before each further run, so that whoever waits can stop.

    Of the pairs in `wanted` the second run comes right after the first, so that a slow subject has its first pair
    early; it runs on copies, as all runs here. `skip` has pairs of which a run is known to end its process.
    """
    state = _global_states()
    bench = replace(bench, copies=True)  # two draws that share memory would always look the same
    looks: list[PreflightFound] = []
    before: tuple[Any, Any] | None = None
    outputs: dict[int, Any] = {}
    try:
        for index in (index for index in range(PAIRS) if index not in skip):
            is_known = any(one.outputs for one in looks)
            output, settled, found = yield from _run_twice(bench, index, is_known=is_known, whole=index in wanted)
            bench = replace(bench, judges=bench.judges and found.knows_truth)
            shared = before is not None and _was_changed(bench, *before)
            before = output, settled
            outputs[index] = settled
            looks.append(replace(found, shared=shared))
            yield Step(repeated=True, seconds=found.seconds)
        takes_r = _takes_r(bench)
        more, ignores = (yield from _ignores_seed(bench, outputs)) if takes_r else (0, False)
        others, replaced = yield from _with_other_samples(bench, outputs, looks)
    finally:
        _restore(state)
    whole = together(looks)
    return replace(whole, runs=whole.runs + more + others, random=takes_r and not ignores, replaced=replaced)


def together(looks: Iterable[PreflightFound]) -> PreflightFound:
    """Return what several processes found, each of other pairs, as one."""
    every = list(looks)
    return PreflightFound(
        sum(one.runs for one in every),
        any(one.changes_sample for one in every),
        all(one.knows_truth for one in every),
        tuple(sorted({name for one in every for name in one.moved})),
        next((one.seconds for one in every if one.seconds), 0.0),
        next((one.first for one in every if one.first is not None), None),
        any(one.shared for one in every),
        any(one.source_shares for one in every),
        tuple(sorted({name for one in every for name in one.unseen})),
        tuple(output for one in every for output in one.outputs),
        random=all(one.random for one in every),
        cold=max((one.cold for one in every), default=0.0),
        same_samples=next((one.same_samples for one in every if one.same_samples), ""),
        replaced=next((one.replaced for one in every if one.replaced), ""),
    )


def conclude(bench: Bench, found: PreflightFound, other: SecondProcess | None) -> Checked:
    """Return what the looks of both processes mean; HiddenState where the audit would not measure rho."""
    second = other.compare(found.first, found.cold) if other else "skipped: asked at other points"
    files = other.files(found.cold) if other else None
    check_files_between_runs(bench, files)
    if second == "different":
        raise HiddenState(
            f"{bench.subject.name} gives another output in a second process, on the same sample with the same r. There "
            "the hash seed is another, and the pair's second run came first: it depends on the order of a set, "
            "on hash(), or on what earlier runs left behind. Sort before you iterate, and keep nothing between runs"
        )
    always = found.outputs[0] if len(found.outputs) == PAIRS and len({one.name for one in found.outputs}) == 1 else None
    if always and always.shown == "None" and found.replaced != "differs":
        through = "" if bench.view.name == "output" else f" through the view {bench.view.name}"
        raise SubjectError(
            f"{bench.subject.name} gave None{through} in all of {found.runs} runs, on several samples: is a return "
            "missing? If None is an answer, return a text for it, such as 'none'"
        )
    return Checked(
        found.runs,
        second,
        found.changes_sample,
        found.knows_truth,
        tuple(_warnings(bench, found, second if other else "", files)),
        found.source_shares,
        always if found.replaced == "same" else None,
        notes=tuple(_notes(bench, found, second)),
        same_samples=found.same_samples,
    )


def _warnings(bench: Bench, found: PreflightFound, second: str, files: Files | None) -> Iterator[tuple[str, str]]:
    """Yield (kind, message) for all that a reader should be warned of."""
    for name in found.moved:
        yield "global-state", f"the subject moves the state of {name}; its output did not depend on it"
    if found.shared:
        yield (
            "shared-state",
            "a run changes what an earlier run returned, such as a buffer, a dict or a model of the module; each "
            "output was read before the next run. Return a new one from each",
        )
    if found.source_shares:
        yield "shared-state", f"source {bench.source.name} hands out the same memory again; each run gets a copy"
    if other := [place for place in found.unseen if not _is_time(place)]:
        shown = ", ".join(other[:_PLACES]) + (" and more" if len(other) > _PLACES else "")
        words = "two fits on the same sample with the same r differ in"
        yield "unseen", f"{words} {shown}; the view {bench.view.name} does not look there"
    if second.startswith("skipped") and second != SWITCHED_OFF:
        yield "second-process", f"{second}; what a run keeps for later runs may have gone unnoticed"
    if found.changes_sample:
        yield "changes-sample", "the subject changes its sample in place; each run gets a copy of its own"
    if files and files.read_later:
        words = "written by a run and read by a later one, whose output was the same without"
        yield "files", f"{words}: {', '.join(files.read_later)}"
    if files and files.made_if_missing:
        words = "read by a run that would write it if it were missing, so that outputs may be those of an earlier audit"
        yield "files", f"{words}: {', '.join(files.made_if_missing)}. Remove it, and audit again"
    if files and files.written:
        yield "files", f"opened for writing by a run, and read by no later one: {', '.join(files.written)}"


def _notes(bench: Bench, found: PreflightFound, second: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, message) for what is worth knowing, and no reason for a warning."""
    name, fit = bench.subject.name, bench.subject.fn
    if second == SWITCHED_OFF:
        yield "second-process", f"{second}; what only another process or another hash seed shows goes unnoticed"
    if times := dict.fromkeys(place.partition("[")[0] for place in found.unseen if _is_time(place)):
        yield "unseen", f"it keeps times, in {' and '.join(times)}; the view {bench.view.name} does not look there"
    if not found.random and not isinstance(fit, Called):
        yield "no-randomness", _without_r(bench)
    if isinstance(fit, Called):
        yield "called", fit.roles.note(name.rpartition(":")[2])
    if isinstance(fit, Fit) and (taught := words_of(fit.estimator, labelled=_has_labels(bench.source))):
        yield "called", taught
    if bench.view.is_of_own_rows:
        words = "it labels the rows of its own sample alone: the two labellings of a pair are compared as partitions"
        yield "called", f"{words} of the rows that both samples have, each counted once"
    for param, close in unlisted(fit.estimator, bench.subject.params).items() if isinstance(fit, Fit) else ():
        words = f"{param} is none of the parameters that {name} lists{close}"
        yield "parameter", f"{words}: it takes any, and may not use this one"


def _has_labels(source: object) -> bool:
    """True if the rows of a source come with labels."""
    return isinstance(getattr(source, "rows", None), tuple)


def check_files_between_runs(bench: Bench, files: Files | None) -> None:
    """Raise HiddenState if a later run's output depends on a file that an earlier run wrote."""
    if files is None or files.difference is None:
        return
    from auditor.trials.causes.hidden import Moved
    from auditor.trials.causes.outside import FILE

    first, *others = files.read_later
    file, apart = Moved(FILE, f"{first} (and {len(others)} more)" if others else first), files.difference
    where = f" (at {files.where})" if files.where else ""
    raise HiddenState(
        f"{bench.subject.name} is not a function of (sample, r): {file.message}. A run writes it{where}, a later run "
        "reads it, and on the same sample with the same r that run has another output without it "
        f"({apart.path}: {apart.left} and {apart.right}). {file.cure.capitalize()}; and remove what earlier runs left"
    )


def _run_twice(
    bench: Bench, index: int, *, is_known: bool, whole: bool
) -> Generator[Step, None, tuple[Any, Any, PreflightFound]]:
    """Run twice on the same sample with the same r. Return an output, what counts of it, and what both runs showed.

    If the `whole` pair is wanted, its second run comes in between. Accuracy is judged where a pair needs it, or where
    it is not known yet whether there is a truth.
    """
    sample, spare, source_shares, drawing = _draw_twice(bench, index)
    check_labels_given(bench.subject.fn, sample, bench.subject.name)
    repeats = "" if isinstance(sample, Sample) else same_samples(bench, index, sample)
    before = _global_states()
    started = perf_counter()
    try:
        output = bench.run_on(sample, index, 0)
    except SubjectRaised as error:
        if perf_counter() - started > _PATIENCE or not isinstance(error.__cause__, _BY_WRONG_KIND):
            raise
        raise _with_cure(bench, spare, index, error) from error.__cause__
    cold = perf_counter() - started
    moved = sorted(name for name, state in _global_states().items() if not _state_equal(state, before[name]))
    has_output = type(output) is not NoOutput
    knows, accurate = _judged(bench, output, index) if has_output and (whole or not is_known) else (True, None)
    first = first_run(bench, index, output, cold, lambda: accurate, scores=whole)
    settled = first.settled
    changed = not _looks_same(sample, spare)
    yield Step()
    if whole and has_output and (knows or not is_known):
        yield from _second_run(bench, index, first, drawing)
    started = perf_counter()  # once more: the first run may have had imports in it
    again = bench.run_on(spare, index, 0)
    is_same = same(settled, bench.see(again))
    seconds = drawing + perf_counter() - started
    if not is_same:
        causes = _CAUSES_OF_PROGRAM if program_in(bench.subject.fn) else _CAUSES
        culprit = f"it draws from the global generator {' and '.join(moved)}" if moved else causes
        raise _hidden(bench, settled, again, culprit)
    differing = tuple(_unseen(bench, output, again))
    for name in moved:
        yield Step()
        _GENERATORS[name][2](0xA0D17)  # another state than any it is likely to be in
        if not same(settled, bench.see(again := bench.run_on(bench.draw(index, 0), index, 0))):
            raise _hidden(bench, settled, again, f"it draws from the global generator {name}")
    outputs = (ShownOutput(fingerprint(settled), describe(settled, _SHOWN)),) if has_output else ()
    of_first = outputs[0].name if outputs and index == 0 else None
    knows = knows or is_known
    found = PreflightFound(2 + len(moved), changed, knows, tuple(moved), seconds, of_first, source_shares=source_shares)
    return output, settled, replace(found, unseen=differing, outputs=outputs, cold=cold, same_samples=repeats)


def _second_run(bench: Bench, index: int, first: FirstRun, drawing: float) -> Generator[Step, None, None]:
    """Yield the pair that the second run makes with the first; nothing if that run fails, which is then for those to
    find out who run the pairs."""
    try:
        output, seconds = timed_run(bench, index, 1, NONE_FELL)
        trial = None if type(output) is NoOutput else second_run(bench, index, first, output, seconds)
    except AuditorError:
        trial = None
    if trial is not None:
        yield Step(trial=trial, seconds=drawing + seconds)


def _with_cure(bench: Bench, sample: Any, index: int, error: SubjectRaised) -> SubjectRaised:
    """Return the error of a first run with what may have caused it: r of another type than the learner takes, or a
    sample with labels. The other types of r are tried, on copies of the sample."""
    if error.says_all:
        return error
    subject, found = bench.subject, []
    for kind in COMMON_KINDS if takes_r(subject.fn) and subject.randomness != "none" else ():
        if kind != subject.randomness:
            tried = replace(bench, subject=replace(subject, randomness=kind), bottoms=False)
            try:
                tried.run_on(copied_rows(sample, bench.source.name), index, 0)
            except AuditorError:
                continue
            found.append(kind)
    if found:
        words = (
            f"r was given as {subject.randomness}, and with --randomness {' or '.join(found)} this run does not raise"
        )
        return error.adding(words)
    if isinstance(subject.fn, Fit):
        words = advice(subject.fn, subject.params, error.__cause__)
        return error.adding(words) if words else error
    if isinstance(sample, tuple) and not takes_labels_apart(subject.fn):
        return error.adding("its sample was (X, y), since the source has labels: take it apart, or name them y")
    return error


def _with_other_samples(
    bench: Bench, outputs: Mapping[int, Any], looks: Sequence[PreflightFound]
) -> Generator[Step, None, tuple[int, str]]:
    """Return how many runs on halves of the rows were made, and whether the output was the same as in all pairs: then
    the sample plainly does not matter. Asked where all pairs gave one output."""
    first, *others = [*outputs.values()] or [None]
    if len(outputs) < PAIRS or type(first) is NoOutput or looks[0].seconds > _PATIENCE:
        return 0, ""
    if not all(same(first, one) for one in others):
        return 0, ""
    samples = [*_halves(bench.draw(0, 0))]
    for runs, sample in enumerate(samples, 1):
        try:
            if not same(first, bench.see(bench.run_on(sample, 0, 0))):
                return runs, "differs"
        except AuditorError:
            return runs, "raises"
        yield Step()
    return len(samples), "same" if samples else ""


def _halves(sample: Any) -> Iterator[Any]:
    """Yield samples of the same size that have the lower and the upper half of the rows alone, each twice; by the
    labels, else by the first column, of an array or a table."""
    parts = sample if isinstance(sample, tuple) else (sample,)
    if not all(isinstance(part, np.ndarray) or library_of(part) for part in parts) or rows_in(parts[0]) < 2:
        return
    count, last = rows_in(parts[0]), parts[-1]
    try:
        order = np.argsort(column_at(last, 0) if len(last.shape) > 1 else np.asarray(last), kind="stable")
    except (TypeError, ValueError, AttributeError, IndexError):  # rows without an order
        order = np.arange(count)
    for half in (order[: count // 2], order[-(count // 2) :]):
        chosen = np.sort(np.resize(half, count))
        taken = tuple(take(part, chosen) for part in parts)
        yield taken if isinstance(sample, tuple) else taken[0]


def _draw_twice(bench: Bench, index: int) -> tuple[Any, Any, bool, float]:
    """Draw the sample of a run twice, each into memory of its own. Also return whether the source shares memory, and
    the seconds that the second draw took, which has no imports in it."""
    bare = replace(bench, copies=False)
    first = bare.draw(index, 0)
    sample = first if isinstance(first, Sample) else copied_rows(first, bench.source.name)
    started = perf_counter()
    second = bare.draw(index, 0)
    spare = second if isinstance(second, Sample) else copied_rows(second, bench.source.name)
    seconds = perf_counter() - started
    if not _looks_same(sample, spare):
        raise SourceError(
            f"source {bench.source.name} is not a function of (rng, size): two draws with the same key differ; "
            "draw from the rng it is given and from nothing else"
        )
    return sample, spare, _share_memory(first, second), seconds


def _share_memory(left: Any, right: Any) -> bool:
    """True if two samples may share memory, so that a change of one shows in the other."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return any(map(_share_memory, left, right))
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.may_share_memory(left, right)
    return left is right and not isinstance(left, (str, bytes, range))


def _was_changed(bench: Bench, output: Any, settled: Any) -> bool:
    """True if later runs changed what an output shows. One that shows another thing at each look, or can be looked at
    once only, says nothing."""
    try:
        now = bench.settled(output)
        return not same(settled, now) and same(now, bench.see(output))
    except AuditorError:
        return False


def _hidden(bench: Bench, settled: Any, again: Any, why: str) -> HiddenState:
    """Return the error that says where two runs on the same sample with the same r differ, and why they may."""
    difference = first_difference(settled, bench.see(again))
    if difference and isinstance(bench.subject.fn, Fit) and _is_time(difference.path):
        return HiddenState(
            f"{bench.subject.name} keeps how long it took, at {difference.path}, and no two fits agree on that; the "
            f"view {bench.view.name} looks there: choose another, such as predict or attr(best_params_)"
        )
    shown = f" ({difference.path}: {difference.left} and {difference.right})" if difference else ""
    cure = "Seed it with {seed}" if program_in(bench.subject.fn) else f"Draw every random bit from r{_seeding()}"
    return HiddenState(
        f"{bench.subject.name} is not a function of (sample, r): on the same sample with the same r it gave two "
        f"outputs{shown}; {why}. {cure}"
    )


def _seeding() -> str:
    """Name the call that seeds a library's own generators, of the first that is loaded here."""
    call_user_code = next((words for name, words in _SEEDING.items() if name in sys.modules), None)
    return (
        f": write f(X, y, seed), which begins with {call_user_code} and makes the model anew" if call_user_code else ""
    )


def _looks_same(left: Any, right: Any) -> bool:
    """True if a sample is as it was before the run, or nobody can tell."""
    if isinstance(left, Sample):
        return True  # counts are drawn as they are asked for, and none are there to be changed
    try:
        return same(left, right)
    except NotComparable:
        return True  # rows of a type of the user's own: no way to tell


def _judged(bench: Bench, output: Any, index: int) -> tuple[bool, bool | None]:
    """Return whether the truth is known, and whether the output is accurate, if anybody judges it."""
    try:
        return True, judge(bench, output, index)
    except UnknownTruth:
        return False, None


def _unseen(bench: Bench, output: Any, again: Any) -> Iterator[str]:
    """Yield the places in which two fits differ, of all that an estimator learnt and that can be compared."""
    if not isinstance(bench.subject.fn, Fit):
        return
    try:
        mine, others = fitted_attributes(output), fitted_attributes(again)
    except Exception:  # what fit returned has no attributes, or does not want to be asked
        return
    both: list[tuple[str, Any, Any]] = []
    for name in sorted(mine.keys() & others.keys()):
        one, other = mine[name], others[name]
        if type(one) is type(other) is dict and one.keys() == other.keys():
            both += [(f"{name}[{key!r}]", one[key], other[key]) for key in one]  # lest the first hide the others
        else:
            both.append((name, one, other))
    for name, one, other in both:
        try:
            difference = first_difference(one, other)
        except NotComparable:
            continue
        if difference:
            yield name if _is_time(name) else name + difference.path.removeprefix("output")


def _is_time(place: str) -> bool:
    """True if what an estimator has there is how long something took: no two fits agree on that, and none need to."""
    return _TIME.search(place) is not None


def _without_r(bench: Bench) -> str:
    """Say why r has no part in the answers."""
    name, program = bench.subject.name, program_in(bench.subject.fn)
    if program and program.takes_seed:
        return f"{name} may ignore its {{seed}}: with another one its answers were the same, on all samples tried"
    return f"r reaches no part of {name}: {'none of its words has {seed}' if program else 'it has no random_state'}"


def _ignores_seed(bench: Bench, outputs: Mapping[int, Any]) -> Generator[Step, None, tuple[int, bool]]:
    """Run a program with another seed where it had an answer, until one differs; return the number of runs, and whether
    none did. What it does with its seed cannot be seen otherwise."""
    known = {index: one for index, one in outputs.items() if type(one) is not NoOutput}
    if not (isinstance(bench.subject.fn, Program) and known):
        return 0, False
    other = bench.with_another_r()
    for runs, (index, settled) in enumerate(known.items(), 1):
        try:
            if not same(settled, other.see(other.run(index, 0))):
                return runs, False
        except AuditorError:  # it has another answer, or none
            return runs, False
        yield Step()
    return len(known), True


def _takes_r(bench: Bench) -> bool:
    """True if anything of an estimator takes a seed, or a word of a program. A function is given r, and what it does
    with it is its own."""
    fit = bench.subject.fn
    if program := program_in(fit):
        return program.takes_seed or program is not fit  # a wrapper has a use for r of its own
    if not isinstance(fit, Fit):
        return takes_r(fit)
    try:
        return call_user_code(takes_seed, fit, bench.subject.params)
    except Exception:  # then its runs say so
        return True


_GENERATORS: dict[str, tuple[Callable[[], Any], Callable[[Any], object], Callable[[int], object]]] = {
    "random": (random.getstate, random.setstate, random.seed),
    "numpy.random": (partial(np.random.get_state, legacy=False), np.random.set_state, np.random.seed),
}


def _global_states() -> dict[str, Any]:
    """Return the states of the global random generators, by name."""
    return {name: read() for name, (read, _, _) in _GENERATORS.items()}


def _state_equal(left: Any, right: Any) -> bool:
    """True if two states are equal by value: numbers, words and arrays of them, in dictionaries."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_state_equal(left[name], right[name]) for name in left)
    return np.array_equal(left, right) if isinstance(left, np.ndarray) else bool(left == right)


def _restore(states: dict[str, Any]) -> None:
    """Set the global generators to the states that they had before."""
    for name, state in states.items():
        _GENERATORS[name][1](state)
