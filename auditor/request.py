"""What is asked, whoever asks: one table of options for the command line, pyproject.toml, pytest, Python and the docs.

A question's options are the fields of a struct: `Options` has those that every question takes, and each question adds
its own in its own module. The command line makes `--accept-overlap` of `accept_overlap`, the other places take the
name as it is. A name that Python keeps for itself has a trailing underscore, `as_`, which is typed nowhere but where
Python asks for it. A field without a group is for Python alone.
"""

from __future__ import annotations

import functools
import keyword
import shlex
import types
import typing
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, TypeVar

import msgspec

from auditor.errors import BadValue, UsageError, suggestion

WHAT, SURE, RUN, OTHER = "What is audited", "How sure", "How to run", "Other questions"
GROUPS = (WHAT, SURE, OTHER, RUN)
_WORDS: dict[Any, tuple[type, str]] = {
    bool: (bool, "True or False"),
    str: (str, "a text"),
    dict: (Mapping, "names with their values, e.g. {'n': 3}"),
}


def option(
    words: str,
    metavar: str | None = None,
    group: str | None = WHAT,
    *,
    basic: bool = True,
    several: bool = False,
    python: str | None = None,
) -> msgspec.Meta:
    """Return what a person reads about an option: its help, the name of its value, and the heading it stands below.

    `--help` shows the basic ones, those that most people need, and `--help-all` shows all. The help is a sentence that
    names the default, unless the option is a flag or the field itself has the default, which is then added. `several`
    lets it be typed more than once. `python` is the help of the keyword in Python, where it differs. After a change of
    any of these, `python docs/make_keywords.py` brings the types and docstrings of Python up to date.
    """
    extra = {"metavar": metavar, "group": group, "basic": basic, "several": several, "python": python or words}
    return msgspec.Meta(description=words, extra=extra)


RHO = option("The mismatch probability that you accept (default: what the subject claims, else 0.1).", "R", SURE)
SCORE = option(
    "How a fit is scored on rows that it has not learnt from: a scorer of scikit-learn's by its name, or module:fn, "
    "called fn(output, X, y) (default: the estimator's own score).",
    "NAME|FN",
    basic=False,
)
SCALE = option(
    "The distance of two numbers that count as wholly different: churn is then the mean of min(1, |a - b| / S) over "
    "the predictions (default: numbers are the same, or they differ).",
    "S",
    OTHER,
    basic=False,
)
SCORE_AT_LEAST = option(
    "Pass only if the mean score of the fits is at least this, too: a learner that ignores its data is stable "
    "(default: the score is not judged).",
    "S",
    SURE,
)
NO_INTEGRATE = option(
    "Count the outputs that differ, and do not use the mismatch probability that the subject computes for each pair.",
    None,
    SURE,
    basic=False,
)


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options that every question takes."""

    size: Annotated[
        int | None,
        option(
            "Number of rows in a sample, e.g. 1000 or 1e6 (default: what the subject declares, or what the data set "
            "has).",
            "M",
            python="Number of rows in a sample (default: what the subject declares, or what the data set has).",
        ),
    ] = None
    sample: Annotated[
        str | None,
        option(
            "Give the subject samples as rows, or as counts of each value of a discrete source (default: rows, unless "
            "the subject declares counts).",
            "KIND",
            basic=False,
        ),
    ] = None
    params: Annotated[
        dict[str, Any],
        option(
            "Set a parameter of the subject (default: the subject's own value). May be given several times.",
            "K=V",
            several=True,
            python='Parameters of the subject, by name, e.g. {"tau": 0.1} (default: the subject\'s own values).',
        ),
    ] = {}
    view: Annotated[
        Any,
        option(
            "The part of the output that is compared: round(3), predict, partition, support, attr(x)|sign (default: "
            "what the subject declares; predictions for an estimator; else all of it).",
            "SPEC",
            python='The part of the output that is compared: "round(3)", "predict", "partition", "support", '
            '"attr(x)|sign", or a function of the output, or of the output and the probe (default: what the subject '
            "declares; predictions for an estimator; else all of it).",
        ),
    ] = None
    atol: Annotated[
        float | None,
        option("Two numbers that differ by at most this count as the same (default: 0).", "A", basic=False),
    ] = None
    rtol: Annotated[
        float | None,
        option(
            "Two numbers that differ by at most this share of the larger one count as the same (default: 0).",
            "R",
            basic=False,
        ),
    ] = None
    probe: Annotated[
        int | str | None,
        option(
            "Points at which predictions are compared, a number or a file (default: the distinct rows of a data set, "
            "1000 at most; 1000 rows from any other source).",
            "N|FILE",
            basic=False,
        ),
    ] = None
    resample: Annotated[
        str | None,
        option(
            "How samples are drawn from a data set: bootstrap, split or subsample for independent rows; blocks or "
            "blocks(20) for a time series; groups(column) or split(column) for rows that belong together; strata or "
            "strata(column) to keep the shares of classes (default: what the subject declares, else bootstrap).",
            "HOW",
            basic=False,
        ),
    ] = None
    as_: Annotated[
        str | None,
        option(
            "Read a csv or parquet file as pandas, polars, columns (a dict of arrays) or numpy (default: numpy, unless "
            "columns are named).",
            "KIND",
            basic=False,
        ),
    ] = None
    accept_overlap: Annotated[
        bool,
        option(
            "With --resample subsample: accept a verdict on samples that share rows.",
            basic=False,
            python='With resample="subsample": accept a verdict on samples that share rows.',
        ),
    ] = False
    randomness: Annotated[
        str | None,
        option(
            "The type of r: Generator, int, RandomState, Random, torch, jax or none (default: by the annotation, the "
            "default or the name of r, else Generator).",
            "KIND",
            basic=False,
        ),
    ] = None
    seed: Annotated[int, option("Seed from which all randomness is derived.", "N")] = 0
    confidence: Annotated[float, option("Confidence of the verdict.", "C", SURE)] = 0.95
    jobs: Annotated[
        int | None,
        option(
            "Number of worker processes (default: chosen from the time one run takes).",
            "N",
            RUN,
            python="Number of worker processes (default: 1); None chooses it from the time one run takes.",
        ),
    ] = None
    timeout: Annotated[
        float | None,
        option(
            "Seconds that one run, or one draw of a sample, may take; one that takes longer ends the audit (default: "
            "no limit).",
            "S",
            RUN,
        ),
    ] = None
    memory: Annotated[
        int | str | None,
        option("Memory that a worker process may use, e.g. 2G (default: no limit).", "SIZE", RUN, basic=False),
    ] = None
    on_error: Annotated[
        str | None,
        option(
            "What a run that raises or dies does: stop ends the audit; bottom counts such a run as one more output, "
            "the same for all of them (default: stop).",
            "WHAT",
            RUN,
            basic=False,
        ),
    ] = None
    ledger: Annotated[
        Any,
        option(
            "Keep the outcome of every finished pair in this SQLite file (default: nothing is kept).",
            "FILE",
            RUN,
            basic=False,
        ),
    ] = None
    resume: Annotated[bool, option("Continue the unfinished audit of --ledger.", None, RUN, basic=False)] = False
    cluster: Annotated[
        str | None,
        option(
            "Run on a Dask cluster: tls://HOST:8786, tcp://HOST:8786 in a network that you trust, or local:4 for four "
            "workers on this machine (default: no cluster).",
            "WHERE",
            RUN,
            basic=False,
        ),
    ] = None
    for_: Annotated[
        float | str | None,
        option(
            "Start no new run after this time: 90s, 5m, 1h (default: no limit).",
            "DURATION",
            RUN,
            basic=False,
            python='Start no new run after this time: a number of seconds, "5m" or "1h" (default: no limit).',
        ),
    ] = None
    executor: Annotated[
        Any,
        option(
            "Run in the processes of this concurrent.futures.Executor, which is not shut down.",
            None,
            None,
            python="Run in the processes of this concurrent.futures.Executor, such as ProcessPoolExecutor(4), loky's, "
            "or a Dask client's get_executor() (default: no executor). The record is the same, and the executor is not "
            "shut down. Each of its processes starts a worker process for the subject, so timeout and memory hold "
            "there too. Threads are refused.",
        ),
    ] = None
    second_process: Annotated[
        bool,
        option(
            "Run pair 0 once more in a second process, with another hash seed.",
            None,
            None,
            python="Run pair 0 once more in a second process, with another hash seed and its runs in the other order "
            "(default: True). False saves that process, and gives up noticing hidden state that only another process "
            "or another hash seed shows: the order of a set, hash(), what earlier runs left behind, files that a run "
            "writes for a later one. A ledger then does not know which files the runs read. The record says that it "
            "was skipped.",
        ),
    ] = True


class OverCells(Options, frozen=True, kw_only=True):
    """The options of a question that can be asked of several sources and inputs at once."""

    fixed: Annotated[
        int | None,
        option(
            "Run exactly N pairs and judge once (default: stop as soon as there is a verdict).", "N", SURE, basic=False
        ),
    ] = None
    inputs: Annotated[
        Any,
        option(
            'Audit several inputs x, of which the worst counts: "[3, 5]", "n=range(9)", a file, or module:fn '
            "(default: none).",
            "SPEC",
            basic=False,
            python='Audit several inputs x, of which the worst counts: [3, 5], or {"n": range(9)} for another name '
            "(default: none).",
        ),
    ] = None
    private: Annotated[
        str | None,
        option(
            "For A(sample, r, private): whether two runs share private: shared, unshared or both (default: both where "
            "rho is asked for, else unshared).",
            "HOW",
            basic=False,
        ),
    ] = None
    family: Annotated[
        int, option("Number of audits that must pass together; each fails with its share of the error.", None, None)
    ] = 1


class Request(msgspec.Struct, frozen=True):
    """One question about one subject. `texts` are parameters still as the command line has them."""

    question: str
    subject: object  # a target, or a function
    sources: tuple[object, ...]
    options: Any  # the question's own struct
    texts: Mapping[str, str] = {}
    expected: str | None = None  # by whoever asks; the subject's own expectation otherwise
    name: str | None = None  # what a report calls it, where several audits have one subject
    typed: tuple[str, ...] = ()  # the words of the command line, where it was asked there

    def continued(self, *, resumes: bool, time: str | None) -> str | None:
        """Return the command that goes on where this one was stopped: from its ledger, else again with more time."""
        if not self.typed:
            return None
        words = list(self.typed)
        if resumes:
            words += [] if "--resume" in words else ["--resume"]
        elif time:
            place = next((place for place, word in enumerate(words) if word.partition("=")[0] == "--for"), len(words))
            words[place : place + 1 + (words[place : place + 1] == ["--for"])] = ["--for", time]
        return shlex.join(["python", "-m", "auditor", *words])

    @property
    def source(self) -> object:
        """The first source; None where the declared one is asked about."""
        return self.sources[0] if self.sources else None


class Listed(msgspec.Struct, frozen=True):
    """One row of the table of options."""

    name: str
    kinds: tuple[Any, ...]  # of its values, None left out
    default: Any
    words: str
    metavar: str | None
    group: str | None
    basic: bool = True  # --help shows it
    python: str = ""  # its words for Python
    several: bool = False  # the command line takes it more than once

    @property
    def flag(self) -> str:
        """The option as the command line spells it."""
        return as_flag(self.name)

    @property
    def key(self) -> str:
        """Return the option's name in a file."""
        return self.name.removesuffix("_")


def as_flag(name: str) -> str:
    """Return the name of an option as the command line spells it: score_at_least is --score-at-least."""
    return "--param" if name == "params" else f"--{name.removesuffix('_').replace('_', '-')}"


def as_name(word: str) -> str:
    """Return the field that a word is for, with or without the underscore that Python asks for."""
    return f"{word}_" if keyword.iskeyword(word) else word


@functools.cache  # annotations are text, and compiled anew each time they are asked for
def fields_of(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Return the fields of a struct of options."""
    return msgspec.structs.fields(kind)


@functools.cache
def listed(kind: type[msgspec.Struct]) -> Mapping[str, Listed]:
    """Return the table of a question's options, by name."""
    return types.MappingProxyType({one.name: _listed(one) for one in fields_of(kind)})


def _listed(one: msgspec.structs.FieldInfo) -> Listed:
    """Return the row of a field, from its annotation."""
    kind, *notes = typing.get_args(one.type) if typing.get_origin(one.type) is Annotated else (one.type,)
    meta = next((note for note in notes if isinstance(note, msgspec.Meta)), msgspec.Meta())
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    extra = meta.extra or {}
    shown = tuple(one for one in kinds if one is not type(None))
    default = one.default_factory() if one.default_factory is not msgspec.NODEFAULT else one.default
    default = None if default is msgspec.NODEFAULT else default
    words = [meta.description or "", extra.get("python", meta.description or "")]
    for place, text in enumerate(words):
        if text and "(default: " not in text and not isinstance(default, (bool, dict, type(None))):
            words[place] = f"{text.removesuffix('.')} (default: {default})."
    basic = bool(extra.get("basic", True))
    several, names = bool(extra.get("several", False)), (extra.get("metavar"), extra.get("group"))
    return Listed(one.name, shown, default, words[0], *names, basic, words[1], several)


def check_known(given: Iterable[str], known: Collection[str], asked: str) -> None:
    """Raise UsageError for an option that there is not, with one that is spelled alike."""
    for name in given:
        if name not in known:
            raise UsageError(f"{asked} has no option {name!r}{suggestion(name, known)}: it takes {', '.join(known)}")


def _check_kind(one: Listed, value: object) -> None:
    """Raise BadValue where an option takes another kind of value alone; ranges of numbers are checked elsewhere."""
    kind, *others = one.kinds
    wanted = _WORDS.get(typing.get_origin(kind) or kind) if not others else None
    if wanted and not isinstance(value, wanted[0]) and not (value is None and one.default is None):
        raise BadValue(one.key, value, f"must be {wanted[1]}")


S = TypeVar("S", bound=msgspec.Struct)


def make_options(kind: type[S], given: Mapping[str, Any], asked: str) -> S:
    """Return keywords as options; UsageError where the question does not have one of them, or needs another."""
    check_known(given, kind.__struct_fields__, asked)
    for name, value in given.items():
        _check_kind(listed(kind)[name], value)
    missing = [one.name for one in fields_of(kind) if one.required and one.name not in given]
    if missing:
        wanted = listed(kind)[missing[0]]
        raise UsageError(f"{asked} needs {wanted.flag} {wanted.metavar or 'VALUE'}: {wanted.words}")
    return kind(**given)
