"""What did one run draw from r, and where do the runs of a pair first part? Traces, line by line of its own code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType

_MOST = 100_000  # places in a row that a trace keeps
_SEEN_TWICE = "the run {}: with a keyed r it would not see the same bits again, as it does with a plain one"
Site = tuple[str, str, int]  # function, file, line


@dataclass(slots=True)
class Draws:
    """Draws that follow each other at one line."""

    function: str
    file: str
    line: int
    count: int  # values
    calls: int = 1

    @property
    def site(self) -> Site:
        return self.function, self.file, self.line


@dataclass(slots=True)
class Trace:
    """What one run drew, stream by stream, in order; r itself is the stream ''."""

    streams: dict[str, list[Draws]] = field(default_factory=dict)
    unkeyed: list[str] = field(default_factory=list)  # why the law would be another with a keyed r

    def add(self, stream: str, frame: FrameType | None, count: int) -> None:
        code = frame.f_code if frame else None
        site = (code.co_qualname, code.co_filename, frame.f_lineno or 0) if code and frame else ("", "", 0)
        groups = self.streams.setdefault(stream, [])
        if groups and groups[-1].site == site:
            groups[-1].count += count
            groups[-1].calls += 1
        elif len(groups) < _MOST:
            groups.append(Draws(*site, count))

    def refuse(self, what: str) -> None:
        why = _SEEN_TWICE.format(what)
        if why not in self.unkeyed:
            self.unkeyed.append(why)


@dataclass(frozen=True, slots=True)
class DrawApart:
    """The first draw of which the two runs of a pair do not take the same, with how many values each took there."""

    function: str
    file: str
    line: int
    first: int
    second: int
    stream: str  # "" for r itself, else the names of the child
    shifts: bool  # whether the same stream is drawn from again afterwards: what comes then is out of step
    unit: str = "values"  # calls, where those are not as many though the values are

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


def first_apart(first: Trace, second: Trace) -> DrawApart | None:
    """Where two runs first draw in different places, or another number of values; None if they never do.

    One that `shifts` what is drawn later goes before one that does not: the last thing drawn from a stream may be as
    long as it likes.
    """
    names = [*first.streams, *(name for name in second.streams if name not in first.streams)]
    found = [_apart(name, first.streams.get(name, []), second.streams.get(name, [])) for name in names]
    apart = [one for one in found if one is not None]
    return next((one for one in apart if one.shifts), apart[0] if apart else None)


def _apart(stream: str, mine: Sequence[Draws], others: Sequence[Draws]) -> DrawApart | None:
    at = next((i for i, (a, b) in enumerate(zip(mine, others, strict=False)) if a != b), min(len(mine), len(others)))
    here, there = (groups[at] if at < len(groups) else None for groups in (mine, others))
    if here is None and there is None:
        return None
    shifts = len(mine) > at + 1 or len(others) > at + 1
    if here and there and here.site == there.site:
        if here.count == there.count:
            return DrawApart(*here.site, here.calls, there.calls, stream, shifts, "calls")
        return DrawApart(*here.site, here.count, there.count, stream, shifts)
    shifts = shifts or (here is not None and there is not None)
    sites = [one.site for one in (here, there) if one]
    totals = {site: (_total(mine, site), _total(others, site)) for site in sites}
    site = next((site for site in sites if totals[site][0] != totals[site][1]), sites[0])
    return DrawApart(*site, *totals[site], stream, shifts)


def _total(run: Sequence[Draws], site: Site) -> int:
    return sum(one.count for one in run if one.site == site)
