"""Several subjects, one error budget: each of K spends alpha / K, and each is held against its expectation."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from time import monotonic

from msgspec.structs import replace

from auditor.engine.engine import make_engine
from auditor.errors import UsageError
from auditor.flow.question import Inquiry, find_question
from auditor.flow.record import Record
from auditor.flow.run import Clock, Watcher, carry_out, run_options_of
from auditor.flow.verdict import error_probability
from auditor.host.boundary import in_host
from auditor.lookup import declared_targets, find_module, registered_subjects
from auditor.request import Request
from auditor.subjects.subject import Subject, load_subject, what_it_has


@in_host
def declared_in(package: str) -> list[Subject]:
    """Return every subject that a package or module declares, in the order of its modules and names."""
    found = [load_subject(target) for target in declared_targets(package)]
    if not found:
        module = find_module(package)
        raise UsageError(f"{package} declares no subjects, to be audited together; {what_it_has(module, package)}")
    return found


@in_host
def with_theorem() -> list[Subject]:
    """Return every registered subject that names what was proved of it, in the order of the paper."""
    subjects = [load_subject(target) for target in registered_subjects().values()]
    return sorted((subject for subject in subjects if subject.declared.theorem), key=_place)


def _place(subject: Subject) -> tuple[object, ...]:
    """Return what subjects are sorted by: the first number in the name of their theorem, 5.14 after 5.2."""
    number = re.search(r"([A-Z]|\d+)\.(\d+)", subject.declared.theorem or "")
    section, item = number.groups() if number else ("", "0")
    return (not section.isdigit(), section.rjust(4), int(item), subject.name)


def share(confidence: float, count: int) -> float:
    """Return the confidence of each verdict that makes all of them hold together at `confidence`."""
    return 1 - error_probability(confidence) / count


def settle(requests: Sequence[Request]) -> list[tuple[Request, Inquiry]]:
    """Prepare every audit before the first of them runs, so that a wrong option is told at once; the requests have
    their shares of the error already."""
    return [(request, find_question(request.question).begin(request)) for request in requests]


def audit_all(
    settled: Sequence[tuple[Request, Inquiry]],
    watch: Callable[[int, str], Watcher],
    log: str | None = None,
    *,
    seconds: float | None = None,
    now: Callable[[], float] = monotonic,
) -> Iterator[Record]:
    """Run each audit in turn; of those that are resumed some may not have begun.

    Audits with the same run options share an engine, so that workers start once. Each has an equal part of the
    `seconds` that are left, so that what one does not need goes to the others.
    """
    engines, clock = {}, Clock(seconds, now)
    with ExitStack() as stack:
        for index, (request, inquiry) in enumerate(settled):
            options, left = replace(run_options_of(request, log=log), begins=True), clock.left()
            if left is not None:
                part = left / (len(settled) - index)
                options = replace(options, for_=part if options.for_ is None else min(options.for_, part))
            watcher = watch(index, request.name or inquiry.cells[0].subject.name)
            key = replace(options, ledger=None, resume=False, for_=None if options.for_ is None else math.inf)
            if key.isolates and key not in engines:
                engine = make_engine(inquiry.plan.least_trials, inquiry.plan.budget, key, watcher.notice)
                engines[key] = stack.enter_context(closing(engine))
            record = carry_out(inquiry, request, options, watcher, engines.get(key), now=now)
            yield replace(record, name=request.name)
