"""What is one trial of nu? All runs of one random string, and which outputs they gave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from auditor.errors import check_count
from auditor.flow.parts import Listing, Part, Words
from auditor.trials.trial import NONE_FELL, Bench, NoOutput, Trial, judge, timed_run
from auditor.values import Difference, describe, fingerprint, first_difference

SHOWN = 5  # outputs of the worst string that are shown
_TEXT = 200  # characters of an output that are shown
_LONGER = 2000  # where the string is run again
_LISTED = 20  # runs of an output that are named
_NO_OUTPUT = "no output"


class Group(msgspec.Struct, frozen=True, array_like=True):
    """The runs of one string: `which` of its distinct outputs each gave, numbered as they came."""

    which: list[int]
    shown: dict[str, str]  # the most frequent outputs, described

    @property
    def ranked(self) -> list[int]:
        """The distinct outputs, the most frequent first; of equally frequent ones the one that came first."""
        distinct = {*self.which}
        return sorted(distinct, key=lambda one: (-self.which.count(one), one)) if len(distinct) > 1 else [*distinct]

    @property
    def outside(self) -> int:
        """How many runs of the string gave another output than its most frequent one."""
        return outside_of(self.which)

    def runs_of(self, output: int) -> list[int]:
        """Return the numbers of the runs that gave this output."""
        return [run for run, other in enumerate(self.which) if other == output]


def outside_of(which: list[int]) -> int:
    """Return how many runs did not give the most frequent output."""
    distinct = {*which}  # only one, for nearly all strings
    return len(which) - max(map(which.count, distinct)) if len(distinct) > 1 else 0


class Outputs(msgspec.Struct):
    """The distinct outputs of one string's runs."""

    which: list[int]
    settled: list[Any]  # what counts of each distinct output: a later run may write into it
    accurate: list[bool | None]  # whether each is, judged before the next run
    seconds: float = 0.0
    bottoms: tuple[str, ...] = ()


class StringUnit(msgspec.Struct, frozen=True):
    """A trial that is all runs of one string."""

    runs: int

    def __call__(self, bench: Bench, index: int, fell: Mapping[int, str]) -> Trial:
        found = run_string(bench, index, self.runs, fell)
        ranked = Group(found.which, {}).ranked
        first, second = found.which[:2]
        difference = None if first == second else _difference(found.settled[first], found.settled[second])
        shown = {str(one): _described(found.settled[one]) for one in ranked[:SHOWN]}
        accurate = found.accurate[ranked[0]]
        return Trial(index, difference, accurate, found.seconds, None, found.bottoms, [found.which, shown])  # a Group


def run_string(bench: Bench, index: int, runs: int, fell: Mapping[int, str] = NONE_FELL) -> Outputs:
    """Run the subject several times with one value of r, string number `index`, on fresh samples; run j is a pure
    function of (bench, index, j)."""
    found, numbers = Outputs([], [], []), dict[str, int]()
    for which in range(runs):
        output, seconds = timed_run(bench, index, which, fell)
        found.seconds += seconds
        seen = bench.settled(output)
        if type(seen) is NoOutput:
            found.bottoms += (seen.why,)
            name = _NO_OUTPUT
        else:
            name = fingerprint(seen)
        number = numbers.get(name)
        if number is None:
            number = numbers[name] = len(numbers)
            found.settled.append(seen)
            found.accurate.append(judge(bench, output, index))
        found.which.append(number)
    return found


def _described(settled: Any) -> str:
    """Return an output in a few words."""
    return _NO_OUTPUT if type(settled) is NoOutput else describe(settled, _TEXT)


def _difference(first: Any, second: Any) -> Difference:
    """Return where two outputs of one string differ."""
    if type(first) is NoOutput or type(second) is NoOutput:
        return Difference("output", _described(first), _described(second))
    found = first_difference(first, second)
    assert found is not None  # their fingerprints differ
    return found


def show_string(bench: Bench, index: int, runs: int) -> Iterator[Part]:
    """Run one string again, and show each output, how often and in which runs it came."""
    check_count("runs", runs, least=1, example=20)
    found = run_string(bench, index, runs)
    group = Group(found.which, {})
    same = len(set(group.which)) == 1
    yield Words(
        f"{'SAME' if same else 'DIFFERENT'}  string {index}: {len(group.ranked)} outputs in {runs} runs", "title"
    )
    for one in group.ranked:
        which = group.runs_of(one)
        listed = ", ".join(str(run) for run in which[:_LISTED]) + (" ..." if len(which) > _LISTED else "")
        shown = found.settled[one]
        text = _NO_OUTPUT if type(shown) is NoOutput else describe(shown, _LONGER)
        yield Listing(f"{len(which)} times, in runs {listed}:", [text])
