"""Ways to ask a question in tests: without a second process, up to its inquiry or bench, or by a watcher of theirs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import monotonic
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

import auditor
from auditor.case import Case
from auditor.engine.engine import PreflightSteps, RunOptions
from auditor.flow.fitness import EarlyPairs
from auditor.flow.question import Inquiry, Work, drive, find_question
from auditor.flow.record import Record
from auditor.flow.run import Silent, Watcher, carry_out
from auditor.request import Request, make_options
from auditor.sources.source import as_sources
from auditor.trials.cell import Cell, make_bench, source_of
from auditor.trials.identity import case_of
from auditor.trials.preflight import PreflightFound
from auditor.trials.trial import Bench, Trial
from auditor.values import Difference

Subject = str | Callable[..., Any]


def audit(subject: Subject, source: object = None, **keywords: Any) -> Record:
    """Return what `auditor.audit` does without a second process: for audits that are not about what that one says."""
    return auditor.audit(subject, source, **{"second_process": False, **keywords})


def ask(question: str, subject: Subject, source: object = None, **keywords: Any) -> Record:
    """Return what `auditor.ask` does without a second process: for audits that are not about what that one says."""
    return auditor.ask(question, subject, source, **{"second_process": False, **keywords})


def request_of(subject: Subject, source: object = None, question: str = "rho", **options: Any) -> Request:
    return Request(
        question, subject, tuple(as_sources(source)), make_options(find_question(question).Options, options, question)
    )


def inquiry_of(subject: Subject, source: object = None, question: str = "rho", **options: Any) -> Inquiry:
    """All settled, and nothing run."""
    return find_question(question).begin(request_of(subject, source, question, **options))


def cell_of(subject: Subject, source: object = None, question: str = "rho", **options: Any) -> Cell:
    return inquiry_of(subject, source, question, **options).cells[0]


def bench_of(subject: Subject, source: object = None, question: str = "rho", **options: Any) -> Bench:
    return make_bench(cell_of(subject, source, question, **options))


def case_of_first(inquiry: Inquiry, how: RunOptions | None = None) -> Case:
    """The case of an inquiry's first cell, as an audit makes it before anything runs."""
    cell, how = inquiry.cells[0], how or RunOptions()
    return case_of(cell, source_of(cell), on_error=how.on_error, memory=how.memory)


def carried_out(
    subject: Subject,
    source: object = None,
    question: str = "rho",
    *,
    watch: Watcher | None = None,
    how: RunOptions | None = None,
    now: Callable[[], float] = monotonic,
    second_process: bool = False,
    **options: Any,
) -> Record:
    """Return the record of an audit whose watcher, run options and clock a test chooses."""
    request = request_of(subject, source, question, **options)
    how = replace(how or RunOptions(), second_process=second_process)
    return carry_out(find_question(question).begin(request), request, how, watch, now=now)


def looked(looking: PreflightSteps) -> PreflightFound:
    """Return what a preflight finds that nobody stops."""
    return EarlyPairs(frozenset(), lambda step: None).steps(looking)


class StopsAfter(Silent):
    """A watcher that interrupts after so many trials, and has what it was told."""

    def __init__(self, trials: int) -> None:
        self._left = trials
        self.notices: list[str] = []

    def advanced(self, inquiry: Inquiry, seconds: float) -> None:
        self._left -= 1
        if not self._left:
            raise KeyboardInterrupt

    def notice(self, words: str) -> None:
        self.notices.append(words)


def timeless(record: Any) -> Any:
    """A record, or its JSON, without what it took: `cost`, and the seconds of each cell."""
    if isinstance(record, msgspec.Struct):
        record = msgspec.to_builtins(record)
    if isinstance(record, dict):
        kept = {name: part for name, part in record.items() if name != "cost" and "seconds" not in name}
        return {name: timeless(part) for name, part in kept.items()}
    return [timeless(part) for part in record] if isinstance(record, list | tuple) else record


def worked_through(inquiry: Inquiry) -> Any:
    """The inquiry after all of its trials, run here with nothing around them: neither preflight nor record."""
    benches: dict[int, Bench] = {}

    def run(cell: int, index: int) -> Trial:
        if cell not in benches:
            benches[cell] = make_bench(inquiry.cells[cell])
            inquiry.opened(cell, benches[cell])
        return benches[cell].trial(index)

    return told(inquiry, run)


def told(inquiry: Inquiry, made: Callable[[int, int], Trial]) -> Any:
    """The inquiry after all of its trials, each made of its cell and index."""
    drive(inquiry.steps(), lambda work: [served(one, made) for one in work])
    return inquiry


def served(work: Work, made: Callable[[int, int], Trial]) -> Iterator[Trial]:
    """The trials of one piece of work, each made when it is taken."""
    return (made(work.cell, index) for index in work.wanted)


DIFFERS = Difference("output", "0", "1")


def drawn(inquiry: Inquiry, rho: Callable[[int], float], rng: np.random.Generator, most: float = math.inf) -> int:
    """Give an inquiry pairs that differ with the probability of their cell, `most` of them; return how many it took.

    Nothing is run."""
    done = 0

    def made(cell: int, index: int) -> Trial:
        nonlocal done
        if done >= most:
            raise KeyboardInterrupt
        done += 1
        return Trial(index, DIFFERS if rng.random() < rho(cell) else None, None, 0.0)

    with suppress(KeyboardInterrupt):
        told(inquiry, made)
    return done
