"""What a person sees while an audit runs: on a terminal a live line, elsewhere a plain line now and then."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from time import perf_counter
from typing import Self

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from auditor.escape import visible
from auditor.flow.question import Inquiry, Outlook
from auditor.host.boundary import seconds_in_hosts
from auditor.lookup import short_name
from auditor.statistics.digits import exact
from auditor.trials.preflight import PAIRS

_REDRAW = 0.1  # seconds between two looks at how it is going, which cost milliseconds
_SHARE = 20  # and at least so many times what the last look took
_MILESTONE = 60.0  # seconds between two plain lines
_MARKS = 50  # looks that the rate is taken over
_SETTLED = 0.5  # seconds after which the rate is steady enough to be shown
_FORECAST = 10.0  # and after which one can tell when there will be a verdict
_NOTICED = 1.0  # seconds that somebody who waits for a verdict would notice
_BAR, _WIDE = 12, 60  # columns of the bar, and of a terminal that has one


class Pace:
    """When to look at a running audit again, and how long it may yet take; at second `ends` a clock stops it."""

    def __init__(self, every: float, ends: float | None = None) -> None:
        self.every, self._ends = every, ends
        self._next = 0.0
        self._marks: deque[tuple[float, int]] = deque(maxlen=_MARKS)

    def is_due(self, seconds: float) -> bool:
        """True if it is time to look how the audit is going."""
        return seconds >= self._next

    def look(self, inquiry: Inquiry, seconds: float) -> Outlook:
        """Ask the inquiry how far it is; the next look is due after a while that its cost decides."""
        started = perf_counter()
        outlook = inquiry.outlook()
        self._next = seconds + max(self.every, _SHARE * (perf_counter() - started))
        self._marks.append((seconds, outlook.done))
        return outlook

    def words(self, outlook: Outlook, seconds: float, unit: str, end_of: str = "a verdict") -> list[str]:
        """Return how fast it goes and how long it may take, at most and by the forecast, in ever fewer words.

        The last is the time to what it is `end_of`, or to the budget where nobody can tell.
        """
        since, before = self._marks[0]  # after the first trial, and so after the imports
        done = f"{outlook.done:,} of {outlook.of:,} {unit}"
        if seconds - since < _SETTLED or outlook.done == before:
            return [outlook.words, done]
        rate = (outlook.done - before) / (seconds - since)
        speed, end = f"{rate:.3g} {unit} a second", self._end(outlook, seconds, rate)
        if outlook.forecast is None or seconds < _FORECAST:
            return [f"{outlook.words}; {speed}, {end}", f"{outlook.words}; {end}", f"{done}; {end}", end]
        verdict = f"about {duration(max(1.0, outlook.forecast) / rate)} to {end_of}"
        known = [f"{outlook.words}; {speed}, {end}", f"{outlook.words}; {speed}", outlook.words, done]
        return [*(f"{words}, {verdict}" for words in known), verdict, verdict.removeprefix("about ")]

    def _end(self, outlook: Outlook, seconds: float, rate: float) -> str:
        """Say when the budget is spent, or the clock stops it if that comes first."""
        left = max(0, outlook.of - outlook.done) / rate
        if self._ends is not None and self._ends - seconds < left:
            return f"at most {duration(max(0.0, self._ends - seconds))} more (--for)"
        return f"at most {duration(left)} more"


class Watching:
    """Shows one running audit on standard error; a context manager, so that the live line never stays behind."""

    def __init__(self, console: Console, seconds: float | None = None) -> None:
        self._console, self._seconds = console, seconds
        self._bar = _progress(console)
        self._task = self._bar.add_task("")
        self._pace = Pace(_REDRAW if console.is_terminal else _MILESTONE, seconds)
        self._is_timed = False
        self._besides = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def planned(self, inquiry: Inquiry) -> None:
        """Say what is asked, and how many runs that takes."""
        self._plan = plan = inquiry.plan
        name = inquiry.cells[0].subject.name
        self._besides = inquiry.besides
        if inquiry.asks or plan.target is None:
            self.notice(f"{name}: {inquiry.asks or f'{plan.budget:,} {plan.unit} in all'}")
            return
        alone = PAIRS if inquiry.cells[0].unit is None else 2 * PAIRS  # a pair's first run is the preflight's too
        least, most = (plan.runs * count + alone for count in (plan.least_trials, plan.budget))
        scorer = inquiry.cells[0].scorer
        score = ""
        if scorer and plan.score is not None:
            score = f", and the mean {scorer.name} at least {exact(scorer.from_unit(plan.score))}"
        self.notice(f"auditing {name}: is {plan.gates} at most {exact(plan.target)}{score}?")
        self.notice(f"a pass takes at least {least:,} runs; it ends after {most:,} at the latest")

    def timed(self, seconds_a_run: float) -> None:
        """Say how long it may take, once the preflight of the first cell has timed a run."""
        if self._is_timed:
            return
        self._is_timed = True
        plan = self._plan
        times = (plan.runs * count * seconds_a_run for count in (plan.least_trials, plan.budget))
        least, most = (duration(time if self._seconds is None else min(time, self._seconds)) for time in times)
        what = "it" if plan.target is None else "a pass"
        span = f"{what} takes at least {least}; it ends after {most} at the latest"
        if least == most:  # a search may end long before it has had all of its pairs
            span = f"at most about {most}" if plan.design == "search" else f"about {most}"
        self.notice(f"one run takes {duration(seconds_a_run)}: {span}{self._besides}{self._again()}")
        if self._console.is_terminal:
            self._bar.start()

    def _again(self) -> str:
        """Say how long it takes to load all this once more, in the process that looks for hidden state: about as long
        as it took the first time. Nothing where that is soon over."""
        seconds = seconds_in_hosts()
        return f", and about {duration(seconds)} to load it in a second process" if seconds >= _NOTICED else ""

    def advanced(self, inquiry: Inquiry, seconds: float) -> None:
        """Show how far the audit is, if it is time for that."""
        if not self._pace.is_due(seconds):
            return
        outlook = self._pace.look(inquiry, seconds)
        end_of = "an answer" if inquiry.plan.target is None else "a verdict"
        self._show(outlook, self._pace.words(outlook, seconds, inquiry.plan.unit, end_of))

    def _show(self, outlook: Outlook, words: Sequence[str]) -> None:
        """Show the longest of these texts that fits: in the live line, or as a plain line."""
        if self._console.is_terminal:
            shown = fitting(words, self._console.width)
            self._bar.start()  # where no run was timed beforehand
            self._bar.update(self._task, completed=outlook.done, total=outlook.of, description=visible(shown))
        elif outlook.done > 1:
            self.notice(words[0])

    def notice(self, words: str) -> None:
        """Print a line on standard error."""
        self._console.print(Text(visible(words), style="dim"))


class WatchingSeveral(Watching):
    """Shows many audits with one bar, the name of the one that runs and how it is going."""

    def __init__(self, console: Console, total: int) -> None:
        super().__init__(console)
        self._total, self._name = total, ""
        self._bar.update(self._task, total=total)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def audit(self, index: int, name: str) -> Self:
        """Return the watcher of the next audit."""
        self._pace = Pace(self._pace.every)
        self._name = f"{index + 1} of {self._total}: {name}"
        self._bar.update(self._task, completed=index, description=visible(self._name))
        if not self._console.is_terminal:
            self.notice(self._name)
        return self

    def planned(self, inquiry: Inquiry) -> None: ...

    def timed(self, seconds_a_run: float) -> None: ...

    def _show(self, outlook: Outlook, words: Sequence[str]) -> None:
        """Show the name of the audit that runs and how it is going, as much as fits."""
        names = [self._name, short_name(self._name), self._name.partition(":")[0]]
        both = [f"{name}: {text}" for name in names for text in words]
        if self._console.is_terminal:
            self._bar.update(self._task, description=visible(fitting([*both, *words], self._console.width)))
        elif outlook.done > 1:
            self.notice(both[0])


def _progress(console: Console) -> Progress:
    """Return a live line; a narrow terminal has room for words alone."""
    words = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True))
    bar = [BarColumn(_BAR)] if console.width >= _WIDE else []
    return Progress(words, *bar, TimeElapsedColumn(), console=console, transient=True)


def fitting(words: Sequence[str], width: int) -> str:
    """Return the first text that leaves room for the bar and the time; the last where none does."""
    room = width - len(" 0:00:00") - (_BAR + 1 if width >= _WIDE else 0)
    return next((text for text in words if cell_len(visible(text)) <= room), words[-1])


def duration(seconds: float) -> str:
    """Return a time with two or three digits, in the unit a person would use."""
    for unit, size in (("h", 3600), ("min", 60), ("s", 1), ("ms", 1e-3)):
        if seconds >= 2 * size or (unit in ("s", "ms") and seconds >= size):
            return f"{seconds / size:.0f} {unit}" if seconds >= 10 * size else f"{seconds / size:.1f} {unit}"
    return f"{seconds * 1e6:.0f} us"
