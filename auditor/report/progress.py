"""What a person sees while a question is answered: on a terminal a live line, elsewhere plain milestones."""

from __future__ import annotations

from collections import deque
from time import perf_counter
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from auditor.flow.question import Inquiry, Outlook
from auditor.process.escape import visible
from auditor.trials.preflight import PAIRS

_REDRAW = 0.1  # seconds between two looks at how it is going, which cost milliseconds
_SHARE = 20  # and at least so many times what the last look took
_MILESTONE = 10.0  # seconds between two plain lines
_MARKS = 50  # looks that the rate is taken over
_SETTLED = 0.5  # seconds after which a rate can be told
_FORECAST = 10.0  # and after which one can tell when there will be a verdict


class Pace:
    """When to look again, and how long it may yet take."""

    def __init__(self, every: float) -> None:
        self.every = every
        self._next = 0.0
        self._marks: deque[tuple[float, int]] = deque(maxlen=_MARKS)

    def is_due(self, seconds: float) -> bool:
        return seconds >= self._next

    def look(self, inquiry: Inquiry, seconds: float) -> Outlook:
        started = perf_counter()
        outlook = inquiry.outlook()
        self._next = seconds + max(self.every, _SHARE * (perf_counter() - started))
        self._marks.append((seconds, outlook.done))
        return outlook

    def words(self, outlook: Outlook, seconds: float, unit: str) -> str:
        """How fast it goes, and how long it may yet take: at most, and if all is what it looks like."""
        since, before = self._marks[0]
        if seconds - since < _SETTLED or outlook.done == before:
            return outlook.words
        rate = (outlook.done - before) / (seconds - since)
        left = duration(max(0, outlook.of - outlook.done) / rate)
        words = f"{outlook.words}; {rate:.3g} {unit} a second, {left} to the budget"
        if outlook.forecast is None or seconds < _FORECAST:
            return words
        return f"{words}, about {duration(max(1.0, outlook.forecast) / rate)} to a verdict"


class Watching:
    """Shows one running question on standard error; a context manager, so that the live line never stays behind."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = _progress(console)
        self._task = self._bar.add_task("")
        self._pace = Pace(_REDRAW if console.is_terminal else _MILESTONE)
        self._is_timed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def planned(self, inquiry: Inquiry) -> None:
        self._plan = plan = inquiry.plan
        name = inquiry.cells[0].subject.name
        asks = getattr(inquiry, "asks", "")  # in its own words, where it has some
        if asks or plan.target is None:
            self._say(f"{name}: {asks or f'{plan.budget:,} {plan.unit} in all'}")
            return
        least, most = (plan.runs * count + 2 * PAIRS for count in (plan.least_trials, plan.budget))
        self._say(f"auditing {name}: is {plan.gates} at most {plan.target:g}?")
        self._say(f"a pass takes {least:,} runs or more; {most:,} are the most")

    def timed(self, seconds_a_run: float) -> None:
        """The preflight of the first cell is over."""
        if self._is_timed:
            return
        self._is_timed = True
        plan = self._plan
        least, most = (duration(plan.runs * count * seconds_a_run) for count in (plan.least_trials, plan.budget))
        span = f"about {least}" if least == most else f"{least} or more for a pass, {most} at most"
        self._say(f"one run takes {duration(seconds_a_run)}: {span}")
        if self._console.is_terminal:
            self._bar.start()

    def advanced(self, inquiry: Inquiry, seconds: float) -> None:
        if not self._pace.is_due(seconds):
            return
        outlook = self._pace.look(inquiry, seconds)
        self._show(outlook, self._pace.words(outlook, seconds, inquiry.plan.unit))

    def _show(self, outlook: Outlook, words: str) -> None:
        if self._console.is_terminal:
            self._bar.start()  # where no run was timed beforehand
            self._bar.update(self._task, completed=outlook.done, total=outlook.of, description=visible(words))
        elif outlook.done > 1:
            self._say(words)

    def notice(self, words: str) -> None:
        self._say(words)

    def _say(self, words: str) -> None:
        self._console.print(Text(visible(words), style="dim"))


class WatchingSeveral:
    """One bar over many audits, with the name of the one that runs; plain lines without a terminal."""

    def __init__(self, console: Console, total: int) -> None:
        self.console, self.total = console, total
        self.bar = _progress(console)
        self.task = self.bar.add_task("", total=total)

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def audit(self, index: int, name: str) -> OneOfSeveral:
        """The watcher of the next one."""
        words = f"{index + 1} of {self.total}: {name}"
        self.bar.update(self.task, completed=index, description=visible(words))
        if not self.console.is_terminal:
            self.console.print(Text(visible(words), style="dim"))
        return OneOfSeveral(self, words)


class OneOfSeveral(Watching):
    """What is known of the audit that runs, behind its name."""

    def __init__(self, several: WatchingSeveral, name: str) -> None:
        self._console, self._bar, self._task = several.console, several.bar, several.task
        self._name = name
        self._pace = Pace(_REDRAW if several.console.is_terminal else _MILESTONE)

    def planned(self, inquiry: Inquiry) -> None: ...

    def timed(self, seconds_a_run: float) -> None: ...

    def _show(self, outlook: Outlook, words: str) -> None:
        if self._console.is_terminal:
            self._bar.update(self._task, description=visible(f"{self._name}: {words}"))
        elif outlook.done > 1:
            self._say(f"{self._name}: {words}")


def _progress(console: Console) -> Progress:
    words = TextColumn("{task.description}", markup=False)
    return Progress(words, BarColumn(), TimeElapsedColumn(), console=console, transient=True)


def duration(seconds: float) -> str:
    """A time to two or three digits, in the unit a person would use."""
    for unit, size in (("h", 3600), ("min", 60), ("s", 1), ("ms", 1e-3)):
        if seconds >= 2 * size or (unit in ("s", "ms") and seconds >= size):
            return f"{seconds / size:.0f} {unit}" if seconds >= 10 * size else f"{seconds / size:.1f} {unit}"
    return f"{seconds * 1e6:.0f} us"
