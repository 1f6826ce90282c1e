"""What may vary? The size, a parameter of the subject, or a {name} in the source; and no other option may set it."""

from __future__ import annotations

from collections.abc import Sequence

from auditor.errors import UsageError, suggestion
from auditor.request import Request
from auditor.subjects.subject import Subject

_IN_THE_SOURCE = {
    "vary": '--source "bernoulli({p})" --vary p=0.4:0.6:lin21',
    "range": '--over "bernoulli({p})" --range p=0:1',
}


def check_known(subject: Subject, option: str, name: str, holes: Sequence[str] = ()) -> None:
    """Raise UsageError if the name after --vary or --range is none that can vary."""
    cure = f". To vary the source, name it there: {_IN_THE_SOURCE[option]}"
    check_among(f"--{option} {name}", subject.name, name, ["size", *subject.settings, *holes], cure)


def check_among(typed: str, subject: str, name: str, known: Sequence[str], cure: str = "") -> None:
    """Raise UsageError if a name is none of the parameters that are known."""
    if name not in known:
        there = f"it has {', '.join(known)}" if known else "it has none"
        raise UsageError(f"{typed}: {subject} has no parameter {name!r}{suggestion(name, known)}; {there}{cure}")


def check_not_given(request: Request, option: str, name: str) -> None:
    """Raise UsageError if --param or --size sets what varies."""
    given = {**request.options.params, **request.texts}
    if name in given:
        raise UsageError(f"--param {name}={given[name]} and --{option} {name}=... are two answers: give one")
    if name == "size" and request.options.size is not None:
        raise UsageError(f"--size {request.options.size} and --{option} size=... are two answers: give one")


def is_whole(subject: Subject, name: str) -> bool:
    """True if what varies is a whole number: the size, or a parameter whose default is one."""
    default = subject.settings.get(name)
    return name == "size" or (isinstance(default, int) and not isinstance(default, bool))
