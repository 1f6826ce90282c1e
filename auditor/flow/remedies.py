"""What would hold in place of a decision that did not? Its reproducible sister, and more rows.

A subject that declares words for its answers may name a sister. Where its audit does not pass, the same is asked of the
sister, on the same source, and the number of rows is looked for from which the subject itself would hold, if more rows
are like those that there are. Each of the two is an audit of its own, with its own confidence.
"""

from __future__ import annotations

import contextlib
import math
import re
import shlex
from typing import Any

from msgspec.structs import replace

from auditor.errors import AuditorError, SubjectError
from auditor.flow.question import make_request
from auditor.flow.record import Record, Remedy
from auditor.flow.run import Silent, Watcher, answer
from auditor.request import Request
from auditor.subjects.subject import Wording, load_subject

PAIRS_TIMES_LIMIT = 250  # with which more rows are looked for: an eighth of what price takes
TIMES, MOST = 20, 100_000  # rows that are tried: so many times those that there are, and no more than so many
_KEPT = ("as_", "resample", "view", "sample", "seed", "confidence", "jobs", "timeout", "memory")
_SETTLED = ("size", "as_", "resample", "view", "sample", "probe")  # what a subject and a source settle if nobody does


def with_remedies(request: Request, record: Record, watch: Watcher | None = None) -> Record:
    """Return the record with what would hold in its place; as it is where nothing asks for that.

    Nothing more is run after an audit that has a limited time, or after Ctrl-C: the verdict stands.
    """
    words, options = record.wording, request.options
    is_open = record.verdict == "inconclusive" and record.decided_by == "budget"
    is_asked = record.question == "rho" and (is_open or (record.verdict, record.decided_by) == ("fail", "mismatches"))
    if not (words and words.sister and is_asked) or options.for_ is not None or len(record.cells) > 1:
        return record
    (watch or Silent()).notice(f"looking for what would hold: {words.sister}, and more {words.rows}")
    found = []
    most = min(TIMES * record.size, MOST)
    with contextlib.suppress(KeyboardInterrupt):
        try:
            found.append(_sister(request, record, words))
        except AuditorError as error:
            found.append(Remedy(kind="sister", subject=words.sister, verdict="error", why=str(error)))
        if words.counts_rows and options.size is None and most > 2 * record.size:
            try:
                found.append(_rows(request, record, most))
            except AuditorError as error:
                found.append(Remedy(kind="rows", subject=record.subject, verdict="error", why=str(error)))
    return replace(record, remedies=found)


def _answer(request: Request) -> Record:
    """Return the record of an audit; KeyboardInterrupt where somebody has stopped it."""
    found = answer(request)
    if found.decided_by == "interrupt":
        raise KeyboardInterrupt
    if found.verdict == "error":
        raise SubjectError(found.reason)
    return found


def _asked(request: Request, question: str, target: object, record: Record, **more: Any) -> Request:
    """Return a request for another audit with the same source, target and options about running."""
    given = {name: value for name in _KEPT if (value := getattr(request.options, name)) is not None}
    given |= {"rho": record.target, **more}
    return make_request(question, target, list(request.sources) or None, given, texts=more.pop("texts", request.texts))


def _sister(request: Request, record: Record, words: Wording) -> Remedy:
    """Ask the same of the sister; where it has to be tuned, at the first setting that holds.

    Settings that are tried in turn share the error. A width is what repair finds on pairs of its own, so that the
    audit that follows is of a setting that was fixed before.
    """
    if not words.tune:
        return _at(request, record, words.sister, {}, request.options.confidence)
    [(name, values)] = words.tune.items()
    if not values:
        return _at(request, record, words.sister, {name: _repaired(request, record, name)}, request.options.confidence)
    each = 1 - (1 - request.options.confidence) / len(values)
    for value in values:
        found = _at(request, record, words.sister, {name: value}, each)
        if found.verdict == "pass":
            break
    return found


def _at(request: Request, record: Record, name: str, tuned: dict[str, float], confidence: float) -> Remedy:
    """Ask the same of the sister, with those of the parameters that it has."""
    known = load_subject(name).settings
    params = {key: value for key, value in request.options.params.items() if key in known} | tuned
    texts = {key: text for key, text in request.texts.items() if key in known}
    size = {} if request.options.size is None else {"size": request.options.size}
    asked = _asked(request, "rho", name, record, params=params, **size, confidence=confidence)
    found = _answer(replace(asked, texts=texts))
    return Remedy(
        kind="sister",
        subject=name,
        verdict=found.verdict,
        rho=found.rho,
        bound=found.bound,
        answers=found.wobbles.frequent if found.wobbles else [],
        runs=found.wobbles.runs if found.wobbles else 0,
        command=_command("check", name, found, request),
        setting=", ".join(f"{key}={value:g}" for key, value in tuned.items()),
        price=found.wording.price if found.wording else "",
    )


def _repaired(request: Request, record: Record, name: str) -> float:
    """Return the value of a parameter, such as a width, of the cheapest repair; SubjectError where there is none."""
    size = {} if request.options.size is None else {"size": request.options.size}
    found = _answer(_asked(request, "repair", request.subject, record, params=request.options.params, **size))
    value = re.search(rf"\({name}=([-+.\de]+)\)", found.answer.wrapper or "")
    if found.verdict != "pass" or value is None:
        raise SubjectError(f"no {name} was found that would do. {found.reason}")
    return float(value[1])


def _rows(request: Request, record: Record, most: int) -> Remedy:
    """Look for the number of rows from which the subject holds, up to `most`.

    Parts of a file have no more rows than it has, so that where it was split more rows are redraws of it.
    """
    params, pairs = request.options.params, math.ceil(PAIRS_TIMES_LIMIT / (record.target or 1.0))
    if (request.options.resample or "").startswith(("split", "subsample")):
        request = replace(request, options=replace(request.options, resample=None))
    found = _answer(_asked(request, "price", request.subject, record, params=params, pairs=pairs, most=most))
    limits = next(iter(found.answer.asked), None)
    return Remedy(
        kind="rows",
        subject=record.subject,
        verdict=found.verdict,
        low=limits and limits.low,
        high=limits and limits.high,
        command=_command("price", record.subject, found, request),
    )


def _command(command: str, subject: str, found: Record, request: Request) -> str | None:
    """Return the command that asks this; None where only Python can."""
    if found.case is None:
        return None
    settled = {name: getattr(found.case, name) for name in _SETTLED if getattr(request.options, name) is None}
    settled |= {"seed": found.case.seed} | ({"size": found.case.size} if command == "price" else {})
    words = found.case.argv(settled)
    seed = ["--seed", str(request.options.seed)] if request.options.seed else []
    return None if words is None else shlex.join(["python", "-m", "auditor", command, subject, *words[1:], *seed])
