"""Trials that change what surrounds a run: where r is drawn from, what is kept, the hash seed, the threads; and those
that look into it."""

from __future__ import annotations

import contextlib
import os

import msgspec

from auditor.questions.explain.runs import with_sham
from auditor.questions.explain.units import Fell
from auditor.trials.causes.elsewhere import (
    Compared,
    NotElsewhere,
    earlier_runs_show,
    hash_seed_shows,
    moved_elsewhere,
    threads_show,
)
from auditor.trials.causes.hidden import shows_hidden_state, what_moved
from auditor.trials.causes.keyed_sites import draws_apart, run_pair_keyed, run_pair_traced
from auditor.trials.causes.locals_trace import first_local_apart
from auditor.trials.trial import Bench, Trial
from auditor.values import Difference

TRACED = 8  # pairs whose draws are compared one by one
_SHOWN = Difference("output", "one", "another")  # by an earlier trial
ELSEWHERE = 24  # samples that are run in other processes: many have no tie that an order could break


def in_step(bench: Bench, index: int, fell: Fell) -> Trial:
    """A pair in which each place that draws has bits of its own; with the first draw that differs as it is."""
    (trial, _), (sham, traces) = with_sham(
        bench, index, lambda: (run_pair_keyed(bench, index, fell), []), lambda: run_pair_traced(bench, index, fell)
    )
    payload = {"runs": 4, "sham": sham.difference is not None, **(trial.payload or {})}
    found = draws_apart(traces) if index < TRACED and not fell else None
    if found is not None:
        payload |= {
            "where": _place(found.where),
            "drawn": [found.first, found.second, found.unit],
            "shifts": found.shifts,
        }
    return msgspec.structs.replace(trial, seconds=trial.seconds + sham.seconds, payload=payload)


def _place(where: str) -> str:
    """File and line, from here where that is shorter."""
    return min(os.path.relpath(where), where, key=len) if where else where


def fallen(index: int, fell: Fell) -> Trial:
    """Of runs that are known to end their process, each time: nothing is tried, and they agree."""
    return Trial(index, None, None, 0.0, bottoms=tuple(fell.values()), payload={"runs": 0})


def again(bench: Bench, index: int, fell: Fell) -> Trial:
    """One sample and r before and after a run of another; once also in new processes, where a run may be the first."""
    if fell:
        return fallen(index, fell)
    found, runs = shows_hidden_state(bench, index), 3
    if found is None and index == 0:
        earlier = earlier_runs_show(bench, index)
        found, runs = earlier.difference, runs + earlier.runs
    return Trial(index, found, None, 0.0, payload={"runs": runs})


def moved(bench: Bench, index: int, fell: Fell) -> Trial:
    """What it is that goes on from run to run, found by holding it still; here, or where nothing has run yet."""
    if fell:
        return fallen(index, fell)
    difference, found = shows_hidden_state(bench, index) or _SHOWN, what_moved(bench, index)
    told, runs = found.told, 3 + found.runs
    if not found.moved:
        with contextlib.suppress(NotElsewhere):
            first = moved_elsewhere(bench, index)
            told, runs = first if first["cure"] else told, runs + first["runs"]
    told = {**told, "where": _place(told["where"] or "") or None, "runs": runs}
    return Trial(index, difference, None, 0.0, payload=told)


def local_apart(bench: Bench, index: int, fell: Fell) -> Trial:
    """The first local value that differs although what its line reads does not."""
    if fell:
        return fallen(index, fell)
    found = first_local_apart(bench, index)
    told = {"where": _place(found.where), "name": found.name, "values": found[2:]} if found else {}
    return Trial(index, None, None, 0.0, payload={"runs": 2, **told})


def other_hash_seed(bench: Bench, index: int, fell: Fell) -> Trial:
    """One sample and r in processes with another hash seed each; `apart` says that there or with all threads the output
    was another."""
    return _contrasted(index, hash_seed_shows(bench, index))


def all_threads(bench: Bench, index: int, fell: Fell) -> Trial:
    """One sample and r in a process with one thread, and in one with all."""
    return _contrasted(index, threads_show(bench, index))


def _contrasted(index: int, found: Compared) -> Trial:
    told = {"runs": found.runs, "apart": found.apart, "close": found.close, "turns": [[*turn] for turn in found.turns]}
    return Trial(index, found.difference, None, 0.0, payload=told)
