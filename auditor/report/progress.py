"""What a person sees while an audit runs: on a terminal a live line, elsewhere plain milestones."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from auditor.flow.pipeline import Silent
from auditor.flow.verdict import Tally
from auditor.questions.arms import Arm
from auditor.report.escape import visible
from auditor.statistics.cost import prospect
from auditor.statistics.interval import two_sided
from auditor.statistics.outward import at_least, at_most
from auditor.subjects.subject import Subject
from auditor.trials.preflight import PAIRS
from auditor.trials.setup import Setup

_REDRAW = 0.1  # seconds between two looks at the bounds, which cost milliseconds
_MILESTONE = 10.0  # seconds between two plain lines
_MARKS = 50  # looks that the rate is taken over
_SETTLED = 0.5  # seconds after which a rate can be told
_FORECAST = 10.0  # seconds between two forecasts


class Watching:
    """Shows a running audit on standard error; a context manager, so that the live line never stays behind."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Progress | None = None
        self._next = 0.0
        self._marks: deque[tuple[float, int]] = deque(maxlen=_MARKS)
        self._expected = (-_FORECAST, 0.0)  # when it was worked out, and the pairs after which a verdict was expected

    def __enter__(self) -> Watching:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def planned(self, setup: Setup) -> None:
        self._plan = plan = setup.plan
        runs = plan.runs * plan.least_pairs + 2 * PAIRS
        self._say(f"auditing {setup.subject.name}: is {plan.gates} at most {plan.target:g}?")
        self._say(f"a pass takes {runs:,} runs or more; {plan.runs * plan.budget + 2 * PAIRS:,} are the most")

    def timed(self, seconds_a_run: float) -> None:
        least, most = (
            duration(self._plan.runs * count * seconds_a_run) for count in (self._plan.least_pairs, self._plan.budget)
        )
        span = f"about {least}" if least == most else f"{least} or more for a pass, {most} at most"
        self._say(f"one run takes {duration(seconds_a_run)}: {span}")
        if self._console.is_terminal:
            self._live = Progress(
                TextColumn("{task.fields[words]}", markup=False),
                BarColumn(),
                TimeElapsedColumn(),
                console=self._console,
                transient=True,
            )
            self._task = self._live.add_task("", total=self._plan.budget, words="")
            self._live.start()

    def advanced(self, tally: Tally, seconds: float) -> None:
        if seconds < self._next:
            return
        self._next = seconds + (_REDRAW if self._live else _MILESTONE)
        low, high = two_sided("anytime", tally.pairs, tally.mismatches, self._plan.confidence)
        words = (
            f"{tally.mismatches:,} mismatches in {tally.pairs:,} pairs, rho in [{at_least(low, 2)}, {at_most(high, 2)}]"
        )
        words += self._outlook(tally, seconds)
        if self._live:
            self._live.update(self._task, completed=tally.pairs, words=words)
        elif tally.pairs > 1:
            self._say(words)

    def _outlook(self, tally: Tally, seconds: float) -> str:
        """How fast it goes, and how long it may yet take: at most, and if rho is what it looks like."""
        self._marks.append((seconds, tally.pairs))
        since, before = self._marks[0]
        if seconds - since < _SETTLED or tally.pairs == before:
            return ""
        rate = (tally.pairs - before) / (seconds - since)
        words = f"; {rate:.3g} pairs a second, {duration((self._plan.budget - tally.pairs) / rate)} to the budget"
        early = tally.mismatches and seconds < _FORECAST
        if early or self._plan.gates == "churn" or self._plan.design == "fixed":
            return words
        return f"{words}, about {duration(self._pairs_left(tally, seconds) / rate)} to a verdict"

    def _pairs_left(self, tally: Tally, seconds: float) -> float:
        """Worked out now and then, for it is exact and takes the better part of a tenth of a second."""
        if seconds - self._expected[0] >= _FORECAST:
            plan, n, k = self._plan, tally.pairs, tally.mismatches
            law = prospect(
                k / n,
                target=plan.target,
                alpha=plan.alpha,
                budget=plan.budget,
                first_budget=plan.first_budget,
                pairs=n,
                mismatches=k,
            )
            self._expected = seconds, n + law.expected_pairs
        return max(1.0, self._expected[1] - tally.pairs)

    def notice(self, words: str) -> None:
        self._say(words)

    def _say(self, words: str) -> None:
        self._console.print(Text(visible(words), style="dim"))


class WatchingSeveral:
    """One bar over many audits, with the name of the one that runs; plain lines without a terminal."""

    def __init__(self, console: Console, total: int) -> None:
        self._console, self._total = console, total
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> WatchingSeveral:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def audit(self, index: int, setup: Setup) -> Silent:
        words = visible(f"{index + 1} of {self._total}: {setup.subject.name}")
        self._bar.update(self._task, completed=index, description=words)
        if not self._console.is_terminal:
            self._console.print(Text(words, style="dim"))
        return Silent()


class WatchingArms:
    """One bar over all pairs of a curve or a search, with where the last ones went; plain lines without a terminal."""

    def __init__(self, console: Console, vary: str) -> None:
        self._console, self._vary = console, vary
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("")
        self._done, self._started, self._next = 0, 0.0, 0.0

    def __enter__(self) -> WatchingArms:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def planned(self, setups: Sequence[Setup], budget: int) -> None:
        self._budget = budget
        name = setups[0].subject.name
        self._say(f"{name}: {len(setups)} values of {self._vary}, {budget:,} pairs in all, where they tell most")

    def started(self) -> None:
        """The preflight is over."""
        self._started = perf_counter()
        self._bar.update(self._task, total=self._budget)
        if self._console.is_terminal:
            self._bar.start()
        else:
            self._say("no hidden state found; running pairs")

    def advanced(self, pairs: int, arm: Arm) -> None:
        self._done += pairs
        low, high = arm.band
        words = f"{self._done:,} of {self._budget:,} pairs; "
        words += f"the last where rho is in [{at_least(low, 2)}, {at_most(high, 2)}]"
        self._bar.update(self._task, completed=self._done, description=words)
        seconds = perf_counter() - self._started
        if not self._console.is_terminal and seconds > self._next + _MILESTONE:
            self._next = seconds
            left = seconds * (self._budget - self._done) / self._done
            self._say(f"{words}; about {duration(left)} left")

    def notice(self, words: str) -> None:
        self._say(words)

    def _say(self, words: str) -> None:
        self._console.print(Text(visible(words), style="dim"))


class WatchingPrice:
    """One line for the size that is being asked; plain lines without a terminal, one a size."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("")
        self._last: tuple[str, int] | None = None

    def __enter__(self) -> WatchingPrice:
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def planned(self, subject: Subject, budget: int) -> None:
        self._say(f"pricing {subject.name}: at most {budget:,} pairs in all")
        if self._console.is_terminal:
            self._status.start()

    def asked(self, question: str, size: int, pairs: int) -> None:
        words = f"{question} at {size:,} rows?"
        if self._console.is_terminal:
            self._status.update(Text(f"{words} {pairs:,} pairs", style="dim"))
        elif self._last != (question, size):
            self._say(words)
        self._last = (question, size)

    def notice(self, words: str) -> None:
        self._say(words)

    def _say(self, words: str) -> None:
        self._console.print(Text(visible(words), style="dim"))


def duration(seconds: float) -> str:
    """A time to two or three digits, in the unit a person would use."""
    for unit, size in (("h", 3600), ("min", 60), ("s", 1), ("ms", 1e-3)):
        if seconds >= 2 * size or (unit in ("s", "ms") and seconds >= size):
            return f"{seconds / size:.0f} {unit}" if seconds >= 10 * size else f"{seconds / size:.1f} {unit}"
    return f"{seconds * 1e6:.0f} us"
