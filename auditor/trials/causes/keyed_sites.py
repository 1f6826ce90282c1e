"""Do the two runs of a pair draw from r out of step? If so, at which line of the subject's own code?

`run_pair_keyed` runs pairs with an r that is keyed by site: each line that draws has bits of its own. With r as it is,
`run_pair_traced` notes what each run drew where, and `draws_apart` finds the first place at which the two differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from types import FrameType
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from auditor.repair.mechanisms.keyed_draws import run_with_sites, why_without_keys
from auditor.subjects.own_code import OwnCode
from auditor.trials.trial import NONE_FELL, Bench, Trial, run_pair

_MOST = 100_000  # groups of draws that a trace keeps
_BITS_TWICE = "the run {}: with a keyed r it would not see the same bits again, as it does with a plain one"
Site = tuple[str, str, int]  # function, file, line


class Draws(msgspec.Struct):
    """Draws at one line with no draw elsewhere between them."""

    site: Site
    count: int  # values
    calls: int = 1


class Trace(msgspec.Struct):
    """What one run drew, stream by stream, in order; r itself is the stream ''."""

    streams: dict[str, list[Draws]] = {}
    unkeyed: list[str] = []  # why the law would be another with a keyed r

    def add(self, stream: str, frame: FrameType | None, count: int) -> None:
        """Note a draw from r, or from a child of it, at the line of the subject's code that `frame` executes."""
        code = frame.f_code if frame else None
        site = (code.co_qualname, code.co_filename, frame.f_lineno or 0) if code and frame else ("", "", 0)
        groups = self.streams.setdefault(stream, [])
        if groups and groups[-1].site == site:
            groups[-1].count += count
            groups[-1].calls += 1
        elif len(groups) < _MOST:
            groups.append(Draws(site, count))

    def note_unkeyed(self, what: str) -> None:
        """Note that the run does something with r, "copies r" say, after which a keyed r means nothing."""
        why = _BITS_TWICE.format(what)
        if why not in self.unkeyed:
            self.unkeyed.append(why)


class DrawApart(NamedTuple):
    """The first draw in which the two runs of a pair differ, and how many values each took there."""

    where: str
    first: int
    second: int
    stream: str  # "" for r itself, else the names of the child
    shifts: bool  # True if the same stream is drawn from again afterwards: what comes then is out of step
    unit: str = "values"  # or "calls", where only their number differs


def why_unkeyed(bench: Bench) -> str | None:
    """Return why nothing can be said of the draws of this subject; None where it can."""
    why = why_without_keys(bench.subject)
    return why and f"not applicable: {why}"


def _watched(bench: Bench, *, keyed: bool) -> tuple[Bench, list[Trace]]:
    """Return a bench whose r notes where it is drawn from, and a list that gets one trace for each run."""
    fn, own, traces = bench.subject.fn, OwnCode(bench.subject.fn), list[Trace]()

    def watched(sample: Any, r: Any, **params: Any) -> Any:
        traces.append(Trace())
        return run_with_sites(fn, (sample, r, params), traces[-1], own, keyed=keyed)

    return replace(bench, subject=replace(bench.subject, fn=watched), unit=None, watched=0), traces


def run_pair_keyed(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """Run a pair with an r that is keyed by site in both runs, of a bench that `why_unkeyed` has nothing against.

    Where a run sees bits of r twice, the payload has the reasons under "unkeyed", and the outcome means nothing.
    """
    keyed, traces = _watched(bench, keyed=True)
    trial = run_pair(keyed, index, fell)
    reasons = sorted({why for trace in traces for why in trace.unkeyed})
    return replace(trial, payload={"unkeyed": reasons}) if reasons else trial


def run_pair_traced(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> tuple[Trial, list[Trace]]:
    """Run a pair with r as it is; return the trial and what each of its runs drew."""
    plain, traces = _watched(bench, keyed=False)
    return run_pair(replace(plain, judges=False), index, fell), traces


def first_draw_apart(bench: Bench, index: int) -> DrawApart | None:
    """Return where the runs of a pair first draw in different places, or another number of values."""
    return None if why_unkeyed(bench) else draws_apart(run_pair_traced(bench, index)[1])


def draws_apart(traces: Sequence[Trace]) -> DrawApart | None:
    """Return the first draw in which two runs differ.

    One that `shifts` what is drawn later goes before one that does not: the last thing drawn from a stream may be as
    long as it likes.
    """
    first, second = (trace.streams for trace in traces)
    found = [_apart(name, first.get(name, []), second.get(name, [])) for name in (first | second)]
    apart = [one for one in found if one is not None]
    return next((one for one in apart if one.shifts), apart[0] if apart else None)


def _apart(stream: str, mine: Sequence[Draws], others: Sequence[Draws]) -> DrawApart | None:
    """Return the first draw from one stream in which two runs differ; None if there is none."""
    both = enumerate(zip_longest(mine, others))
    at, (here, there) = next(((at, pair) for at, pair in both if pair[0] != pair[1]), (0, (None, None)))
    sites = [one.site for one in (here, there) if one]
    if not sites:
        return None
    shifts = len(mine) > at + 1 or len(others) > at + 1
    if here and there and here.site == there.site:
        if here.count == there.count:
            return DrawApart(_where(here.site), here.calls, there.calls, stream, shifts, "calls")
        return DrawApart(_where(here.site), here.count, there.count, stream, shifts)

    def total(run: Sequence[Draws], site: Site) -> int:
        return sum(one.count for one in run if one.site == site)

    site = next((site for site in sites if total(mine, site) != total(others, site)), sites[0])
    return DrawApart(_where(site), total(mine, site), total(others, site), stream, shifts or len(sites) == 2)


def _where(site: Site) -> str:
    """Return file:line of a place that draws."""
    return f"{site[1]}:{site[2]}"
