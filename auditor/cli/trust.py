"""May what a record names be run? A record is a file from anywhere, and to replay it is to run the code that it names.

So whoever asks is shown the names before any of them is imported, and is asked. Beyond that only what can be meant is
run: learners and samplers, written in Python, by their own parameters, and none of Python's own library.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import rich_click as click

from auditor.cli.output import error_console, plain
from auditor.errors import UsageError
from auditor.lookup import find_object

if TYPE_CHECKING:
    from auditor.flow.record import Record
    from auditor.subjects.subject import Subject

_NAME = re.compile(r"(?:\w+=)?([^:]+:[A-Za-z_][\w.]*)")  # module:fn, and n=module:fn
_SHOWN = 2000  # characters of any one line
_HARMLESS = ("math", "operator", "_operator", "statistics")  # functions of numbers, which a learner may be given


def check_trusted(record: Record, *, trust: bool) -> None:
    """Show what a replay would run; UsageError unless somebody says that it may."""
    from auditor.process.escape import shortened

    out = error_console()
    out.print(plain("This record names code, and a replay runs it:"))
    for name, value in _named(record):
        out.print(plain(f"  {name:<12}{shortened(value, _SHOWN)}"), soft_wrap=True)
    _check_readable(record)
    if trust:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            "a replay runs the code that its record names: say --trust if you know where the record is from"
        )
    if not click.confirm("Run it?", default=False, err=True):
        raise UsageError("not replayed: nothing of what the record names was run")


def _named(record: Record) -> Iterator[tuple[str, str]]:
    yield "target", record.subject
    sources = record.asked.get("source") or record.source
    for source in sources if isinstance(sources, list) else [sources]:
        yield "source", f"{source}"
    for name, value in record.params.items():
        yield "parameter", f"{name}={value}"
    asked = {"view": record.view, "probe": record.probe, **record.asked}
    for name, other in asked.items():
        if name != "source" and isinstance(other, (str, list, dict)) and other != "output":
            yield name, f"{other}"


def _check_readable(record: Record) -> None:
    """What is not seen, or is taken off when a name is looked up, is no part of the name that somebody agreed to."""
    for name, value in _named(record):
        if name != "parameter" and not value.isprintable():
            raise UsageError(
                f"the record's {name} {value!r} holds characters that cannot be seen: not run; "
                "check --replay runs a pair of what is typed"
            )


def check_named(record: Record) -> None:
    """What options name is called without being a learner or a source: none of Python's own library is."""
    for name, value in record.asked.items():
        if name not in ("source", "view") and isinstance(value, str) and (found := _NAME.fullmatch(value)):
            try:
                fn = find_object(found[1])
            except UsageError:
                continue  # whoever needs it says so
            refuse_library(fn, value, f"what --{name} takes")


def check_learner(subject: Subject) -> None:
    """A(sample, r), whatever it calls the two, with parameters that are no way around this; or something with fit."""
    from auditor.subjects.estimators import Fit

    fn, what = subject.fn, "a learner A(sample, r)"
    refuse_library(fn.estimator if isinstance(fn, Fit) else fn, subject.name, what)
    if not isinstance(fn, Fit) and not _takes_two(fn):
        raise UsageError(f"the record names {subject.name}, which has not the parameters of {what}: not run")
    for name, value in subject.params.items():
        if callable(value):
            refuse_library(value, f"{name}={value}", "a parameter of a learner", but=_HARMLESS)


def check_sampler(fn: Any, name: str) -> None:
    refuse_library(fn, name, "a source fn(rng, size)")
    if not _takes_two(fn):
        raise UsageError(f"the record names {name}, which has not the parameters of a source fn(rng, size): not run")


def refuse_library(fn: Any, name: str, what: str, *, but: Collection[str] = ()) -> None:
    """Python's own library can do anything, and nothing in it is a learner."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    owner = fn if inspect.isroutine(fn) or inspect.isclass(fn) else type(fn)
    module = str(getattr(owner, "__module__", None) or "builtins")
    if module not in but and module.partition(".")[0] in sys.stdlib_module_names:
        raise UsageError(f"the record names {name}, which belongs to Python itself and is not {what}: not run")


def _takes_two(fn: Any) -> bool:
    """Whether the first two arguments have parameters of their own; *args would take anything."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return False
    named = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(named) >= 2 and named[0].default is inspect.Parameter.empty
