"""Do the two runs of a pair draw out of step? Pairs with an r that is keyed by site, and the trace of both runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from auditor.repair.mechanisms.keyed_generators import run_with_sites, why_without_keys
from auditor.repair.mechanisms.own_frames import OwnCode
from auditor.trials.causes.draws import DrawApart, Trace, first_apart
from auditor.trials.trial import NONE_FELL, Bench, Trial, run_pair


class _Watched:
    """A learner whose r tells where it is drawn from; one trace a run."""

    def __init__(self, fn: Callable[..., Any], *, keyed: bool) -> None:
        self._fn, self._keyed = fn, keyed
        self._own = OwnCode(fn)
        self.traces: list[Trace] = []

    def __call__(self, sample: Any, r: Any, **params: Any) -> Any:
        trace = Trace()
        self.traces.append(trace)
        return run_with_sites(self._fn, (sample, r, params), trace, self._own, keyed=self._keyed)


def why_unkeyed(bench: Bench) -> str | None:
    """Why nothing can be said of the draws of this subject; None where it can."""
    why = why_without_keys(bench.subject)
    return why and f"not applicable: {why}"


def _watched(bench: Bench, *, keyed: bool) -> tuple[Bench, _Watched]:
    subject = bench.subject
    fn = _Watched(subject.fn, keyed=keyed)
    return replace(bench, subject=replace(subject, fn=fn), unit=None, watched=0), fn


def run_pair_keyed(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """The pair with an r that is keyed by site in both runs; a unit for a bench that `why_unkeyed` has nothing against.

    Where a run sees bits of r twice, the payload says so under "unkeyed", and the outcome says nothing.
    """
    keyed, fn = _watched(bench, keyed=True)
    trial = run_pair(keyed, index, fell)
    reasons = sorted({why for trace in fn.traces for why in trace.unkeyed})
    return msgspec.structs.replace(trial, payload={"unkeyed": reasons}) if reasons else trial


def traces_of(bench: Bench, index: int) -> tuple[Trace, Trace]:
    """What the two runs of a pair draw, with r as it is."""
    plain, fn = _watched(bench, keyed=False)
    plain.run(index, 0)
    plain.run(index, 1)
    first, second = fn.traces
    return first, second


def first_draw_apart(bench: Bench, index: int) -> DrawApart | None:
    """Where the runs of a pair first draw in different places, or another number of values; None if they never do."""
    return None if why_unkeyed(bench) else first_apart(*traces_of(bench, index))
