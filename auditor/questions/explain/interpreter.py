"""Trials that change what surrounds a run: where r is drawn from, the hash seed, the threads."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace

from auditor.questions.explain.units import Fell
from auditor.subjects.closeness import LAST_DIGITS
from auditor.trials.draws import DrawApart
from auditor.trials.elsewhere import Contrast, close_processes, hash_seed_shows, threads_show
from auditor.trials.keyed_sites import first_draw_apart, run_pair_keyed
from auditor.trials.trial import Bench, Trial

TRACED = 8  # pairs whose draws are compared one by one
ELSEWHERE = 4  # samples that are run in other processes, each of which takes a second to start


def in_step(bench: Bench, index: int, fell: Fell) -> Trial:
    """A pair in which each place that draws has bits of its own; with the first draw that differs as it is."""
    trial = run_pair_keyed(bench, index, fell)
    payload, runs = trial.payload or {}, 2
    found = first_draw_apart(bench, index) if index < TRACED and not fell else None
    if found is not None:
        payload = {**payload, "where": _place(found), "drawn": [found.first, found.second], "shifts": found.shifts}
        runs = 4
    return replace(trial, payload={"runs": runs, **payload})


def _place(found: DrawApart) -> str:
    """File and line, from here where that is shorter."""
    return min(f"{os.path.relpath(found.file)}:{found.line}", found.where, key=len)


def other_hash_seed(bench: Bench, index: int, fell: Fell) -> Trial:
    """One sample and r in two processes with another hash seed each."""
    return _contrasted(index, lambda: hash_seed_shows(bench, index))


def all_threads(bench: Bench, index: int, fell: Fell) -> Trial:
    """One sample and r in a process with one thread, and in one with all."""
    return _contrasted(index, lambda: threads_show(bench, index))


def _contrasted(index: int, compare: Callable[[], Contrast | None]) -> Trial:
    found = compare()
    if index >= ELSEWHERE - 1:
        close_processes()
    if found is None:
        return Trial(index, None, None, 0.0, payload={"runs": 2})
    apart = math.inf if found.apart is None else found.apart
    return Trial(index, found.difference, None, 0.0, payload={"runs": 3, "close": apart <= LAST_DIGITS})
