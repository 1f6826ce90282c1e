"""Several subjects, one error budget: each of K spends alpha / K, and each is held against its expectation."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from types import ModuleType

from auditor.engine.engine import How
from auditor.errors import EXIT_CODES, UsageError
from auditor.flow.pipeline import Watcher, run_audit
from auditor.flow.plan import error_probability
from auditor.flow.record import Record
from auditor.lookup import find_module, registered
from auditor.subjects.subject import Declaration, Subject, load_subject
from auditor.trials.setup import Setup, make_setup


def declared_in(package: str) -> list[Subject]:
    """Every function with a declaration that a package or module defines, in the order of its modules and names."""
    found = [
        load_subject(f"{module.__name__}:{name}")
        for module in _modules(find_module(package))
        for name, value in sorted(vars(module).items())
        if isinstance(getattr(value, "__auditor__", None), Declaration) and value.__module__ == module.__name__
    ]
    if not found:
        raise UsageError(f"{package} declares no subjects: audit one function as {package}:function")
    return found


def _modules(module: ModuleType) -> Iterator[ModuleType]:
    yield module
    for info in pkgutil.walk_packages(getattr(module, "__path__", []), module.__name__ + "."):
        if not info.name.endswith("__main__"):
            yield find_module(info.name)


def with_theorem() -> list[Subject]:
    """Every registered subject that names what was proved of it."""
    subjects = [load_subject(point.value) for point in registered().values()]
    return sorted((subject for subject in subjects if subject.declared.theorem), key=_place)


def _place(subject: Subject) -> tuple[object, ...]:
    """In the order of the paper: by the first number in what the subject names, 5.14 after 5.2."""
    number = re.search(r"([A-Z]|\d+)\.(\d+)", subject.declared.theorem or "")
    section, item = number.groups() if number else ("", "0")
    return (not section.isdigit(), section.rjust(4), int(item), subject.name)


def make_setups(subjects: Sequence[Subject], *, confidence: float, seed: int) -> list[Setup]:
    """An audit of each by its declarations, with its share of the error."""
    each = share(confidence, len(subjects))
    return [make_setup(subject, confidence=each, seed=seed) for subject in subjects]


def share(confidence: float, count: int) -> float:
    """The confidence of each verdict that makes all of them hold together at `confidence`."""
    return 1 - error_probability(confidence) / count


def audit_all(
    setups: Iterable[Setup], watch: Callable[[int, Setup], Watcher], how: How | None = None
) -> Iterator[Record]:
    """Each audit in turn; of those that are resumed some may not have begun."""
    how = replace(how or How(), begins=True)
    for index, setup in enumerate(setups):
        yield run_audit(setup, watch(index, setup), how)


def is_as_expected(record: Record) -> bool:
    return record.verdict == record.expect


def exit_code(records: Iterable[Record]) -> int:
    """0 if every expectation is met, else the worst that was not: 4, 1, 3; an unexpected pass counts as a fail."""
    unmet = {record.verdict for record in records if not is_as_expected(record)}
    codes = {"error": EXIT_CODES["error"], "inconclusive": EXIT_CODES["inconclusive"]}
    found = {codes.get(verdict, EXIT_CODES["fail"]) for verdict in unmet}
    return next((code for code in (4, 1, 3) if code in found), 0)
