"""Who asks what: a question by its name, or as `check` does, where the options choose it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from auditor.errors import BadValue, UsageError, suggestion
from auditor.flow.question import find_question
from auditor.flow.record import Record
from auditor.flow.run import answer
from auditor.process.limits import read_duration
from auditor.request import Listed, OverCells, Request, as_flag, as_name, check_known, listed, make_options

CHECK = ("rho", "churn", "loss", "nu", "list_size")  # the questions that the options of `check` choose from
_MEASURES = CHECK[:2]


def ask(question: str, subject: str | Callable[..., Any], source: object = None, **keywords: Any) -> Record:
    """Ask a question by its name ("rho", "nu", "curve", ...); the keywords are the options of the command line.

    `subject` is a function or a target such as "module:fn"; `source` a spec such as "bernoulli(0.5)", a function
    fn(rng, size), a frozen scipy.stats distribution, rows, or a list of several of these; what is not given is taken
    from the subject's declarations. `jobs` is 1 unless given (None: as many as pay). Raises UsageError where nothing
    can be run; a subject that fails on the way gives a record that says so.
    """
    return answer(make_request(question, subject, source, {"jobs": 1, **keywords}))


def audit(subject: str | Callable[..., Any], source: object = None, **keywords: Any) -> Record:
    """Run A(sample, r) on pairs of fresh samples until it is known whether rho is at most `rho`; what `check` is.

    Options of another question ask that one: eta and nu for (eta, nu)-reproducibility, list and eta for a list of
    outputs, loss for generalisation, measure="churn" for the share of predictions that change; several sources, or
    `inputs`, for the worst of them. All else is as in `ask`. `family` is how many audits are to pass together: each
    then fails with its share of the error.
    """
    return answer(make_request(None, subject, source, {"jobs": 1, **keywords}))


def make_request(
    question: str | None,
    subject: object,
    source: object,
    given: Mapping[str, Any],
    *,
    texts: Mapping[str, str] | None = None,
    expected: str | None = None,
) -> Request:
    """What is asked, checked as far as the option tables go; without a question the options choose one."""
    sources = tuple(source) if isinstance(source, list) else () if source is None else (source,)
    given = {as_name(word): value for word, value in given.items()}
    name = chosen(given) if question is None else question
    table = find_question(name).Options
    if len(sources) > 1 and not issubclass(table, OverCells):
        raise UsageError(f"{name} takes one source, and {len(sources)} were given: ask about one at a time")
    if name in _MEASURES and given.get("measure", name) != name:
        raise UsageError(f"measure={given['measure']!r} is another question than {name!r}: leave one of them out")
    _check_clock(given)
    return Request(name, subject, sources, make_options(table, given, name), texts or {}, expected)


def check_table() -> dict[str, Listed]:
    """Every option of `check`, by name."""
    return {name: one for question in CHECK for name, one in listed(find_question(question).Options).items()}


def chosen(given: Mapping[str, Any]) -> str:
    """The question that the options are about; UsageError where they are about two, or one does not belong to it."""
    tables = {question: find_question(question).Options.__struct_fields__ for question in CHECK}
    check_known(given, dict.fromkeys(name for table in tables.values() for name in table), "an audit")
    asked = _telling(given, tables)
    if len(asked) > 1:
        (_, one), (_, other), *_ = asked.items()
        raise UsageError(f"{one} does not go with {other}: leave one of them out")
    question = next(iter(asked), CHECK[0])
    for name in given:
        if name not in tables[question]:
            cure = find_question(question).instead.get(name)
            use = f": use {as_flag(cure)}" if cure else ": leave one of them out"
            typed = as_flag(name) if given[name] is True else f"{as_flag(name)} {given[name]}"
            raise UsageError(f"{typed} does not go with {asked[question]}{use}")
    return question


def _telling(given: Mapping[str, Any], tables: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The questions that some option is about, each with the first option that tells it from the others as it is typed.
    Of several that share an option, where nothing else tells which is meant, the first."""
    owners = {name: [question for question, table in tables.items() if name in table] for name in given}
    owners = {name: of for name, of in owners.items() if CHECK[0] not in of}
    sure = {of[0] for of in owners.values() if len(of) == 1}
    sure |= {of[0] for of in owners.values() if not sure & {*of}}
    asked: dict[str, str] = {}
    for name, of in owners.items():
        meant = sure & {*of}
        if len(meant) == 1:
            asked.setdefault(meant.pop(), as_flag(name))
    measure = given.get("measure", CHECK[0])
    if measure not in _MEASURES:
        raise BadValue(
            "measure", measure, f"must be one of {', '.join(_MEASURES)}{suggestion(str(measure), _MEASURES)}"
        )
    return {measure: f"--measure {measure}", **asked} if measure != CHECK[0] else asked


def _check_clock(given: Mapping[str, Any]) -> None:
    """A clock may stop what can be judged at any time, and nothing else."""
    seconds = read_duration("for", given.get("for_"))
    if seconds is not None and given.get("fixed") is not None:
        raise UsageError(
            f"--for {given['for_']} and --fixed {given['fixed']} do not go together: a fixed number is judged once, "
            "when all of it was run; leave --fixed out, and the audit may stop at any time"
        )
