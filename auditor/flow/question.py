"""The contract of a question: what can be asked, and how it is carried out; and which question is asked.

    request -> question.begin(request) -> inquiry -> steps -> verdict, answer -> record -> report

A question is found by its name through the entry-point group `auditor.questions`, ours as anyone's. There is one to
copy in CONTRIBUTING.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, ClassVar, Protocol, Self

import msgspec

from auditor.errors import AuditorError, BadValue, UsageError, suggestion
from auditor.flow.parts import Bar, Chart, Details, Part
from auditor.flow.record import Accuracy, CellRow, Finding, Measure, ProbeRows, Record, RhoInterval, Score
from auditor.flow.verdict import Plan, Verdict
from auditor.lookup import CHECK, QUESTIONS, registered
from auditor.request import Listed, Options, OverCells, Request, as_flag, as_name, check_known, listed, make_options
from auditor.trials.cell import Cell
from auditor.trials.trial import Bench, Trial, Unit
from auditor.values import Difference
from auditor.values.elements import Wobbles

_MEASURES = CHECK[:2]


class Work(msgspec.Struct, frozen=True):
    """Trials of one cell; `cell` is its place in the inquiry's `cells`, which is also its number in a ledger."""

    cell: int
    wanted: range


Steps = Generator[Sequence[Work], Sequence[Iterator[Trial]], None]


class Question(Protocol):
    """What can be asked. Derive from this class; the methods that have a body are optional.

    The docstring of a question is the help of its command, which has its name and its options.
    """

    name: ClassVar[str]
    Options: ClassVar[type[Options]]
    instead: ClassVar[Mapping[str, str]] = {}  # of an option of another question, the one that does its work here
    refused: ClassVar[Sequence[str]] = ()  # options of its table that it refuses with a sentence: no help shows them
    cell_word: ClassVar[str] = ""  # what --cell counts, where its table takes no several sources and inputs

    def begin(self, request: Request) -> Inquiry:
        """Return the inquiry, all settled and checked: UsageError or BadValue where nothing can be run."""

    def again(self, bench: Bench, index: int) -> Iterator[Part]:
        """Run one trial again, and show it: a pair of runs, unless the question has trials of its own."""
        from auditor.flow.one_pair import show_pair

        yield from show_pair(bench, index)

    def parts(self, record: Record) -> Iterator[Part | Details]:
        """Yield what a report says of this question besides what it says of every record.

        A terminal shows Facts, and what stands in Details, with --verbose alone."""
        yield from ()

    def title(self, record: Record) -> str | None:
        """Return the first line of a report, if the answer is numbers rather than a verdict."""
        return None

    def bars(self, record: Record) -> Sequence[tuple[str, Bar]]:
        """Return the bars of its picture, with their names; none if the report's own are drawn."""
        return ()

    def chart(self, record: Record) -> Chart | None:
        """Return the chart of its picture; None if the report's own are drawn."""
        return None

    def cell_of(self, request: Request, record: Record, row: CellRow) -> Cell | None:
        """Return the cell of a record's row; None if it is the first cell with the row's size and seed."""
        return None


class Inquiry(Protocol):
    """A question that is being carried out. Derive from this class; the methods that have a body are optional.

    It is pure: no I/O, no randomness, and what its steps yield depends on nothing but the trials that they were given,
    so that no record depends on who ran them. Whoever runs it may stop at any trial: `verdict`, `answer` and `outlook`
    hold at any time.
    """

    __slots__ = ()
    goes_on: ClassVar[bool] = False  # whether an undecided one into several cells may have a larger budget later
    plan: Plan
    cells: Sequence[Cell]  # the first is there from the start; more may come while it runs

    def steps(self) -> Steps:
        """Yield what is to be run, and receive for each piece of work its trials, in the order of their indices:

            [trials] = yield [Work(0, range(100))]
            for trial in trials:
                ...

        A trial is run when it is taken, so that to break out of the loop saves the rest. The trials of one piece of
        work are taken before those of the next. All cells of one `yield` have their preflights before any of its
        trials.
        """

    def verdict(self) -> Verdict:
        """Return how the inquiry ended, with its reason; asked once, after its last step."""

    def answer(self) -> Answer:
        """Return what the record says besides the verdict."""

    def outlook(self) -> Outlook:
        """Return how far the inquiry is, for whoever watches it."""

    def opened(self, cell: int, bench: Bench) -> None:
        """Take note that a cell has its source loaded and its preflight behind it. Called before its first trial."""
        return

    def failed(self, cell: int, error: AuditorError) -> None:
        """Take note that a trial, or the preflight of a cell, gave no outcome.

        To raise ends the audit with that error. To return goes on: the trials of this piece of work end here."""
        raise error

    def pairs_for_advice(self) -> AdvicePairs | None:
        """Return the pairs that are to be run after the verdict, so that the report can say what to try next; None if
        there is nothing to advise. They count nowhere."""
        return None

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes it from other inquiries with the same plan and cells, as JSON, for the ledger."""
        return {}

    def extended(self, first_budget: int) -> Self:
        """Return the same inquiry with the gate of `first_budget` trials, which was undecided then and goes on."""
        return self

    def finish(self) -> None:
        """Write what was asked for besides the record; called once, after the record is made."""
        return

    def close(self) -> None:
        """Release what it has opened; called once, however the audit ends."""
        return

    @property
    def alpha(self) -> float:
        """The error probability of all that it decides."""
        return self.plan.alpha

    @property
    def asks(self) -> str:
        """What it asks, for whoever watches; empty if it asks whether `plan.gates` is at most the plan's target."""
        return ""

    @property
    def besides(self) -> str:
        """The end of a sentence that says what it does besides the plan's runs; empty if nothing."""
        return ""

    @property
    def searched(self) -> str:
        """The sources in one phrase, if they are too many to be named one by one; else empty."""
        return ""


def drive(steps: Steps, serve: Callable[[Sequence[Work]], Sequence[Iterator[Trial]]]) -> None:
    """Carry steps out to their end: each piece of work that they yield is served with its trials."""
    with closing(steps):
        work = next(steps, None)
        while work is not None:
            try:
                work = steps.send(serve(work))
            except StopIteration:
                return


class Outlook(msgspec.Struct, frozen=True):
    """How far an inquiry has come: trials done, of how many at most, what is known, in words, and how many more a
    verdict is expected to take (None: nobody can say)."""

    done: int
    of: int
    words: str
    forecast: float | None = None


class Mismatch(msgspec.Struct, frozen=True):
    """A trial that shows what is wrong."""

    cell: int
    index: int
    difference: Difference


class AdvicePairs(msgspec.Struct, frozen=True):
    """Pairs of a cell that are run after a fail, for advice alone."""

    cell: int
    unit: Unit  # what one of them is
    times: float  # how long one takes, in pairs of the audit
    target: float
    alpha: float


class Answer(msgspec.Struct):
    """What an inquiry puts into the record, besides its verdict.

    `fields` is the question's own part, a struct tagged with the question's name (tag_field="question"); `measures`
    begins with the question's own measure. Rows are in the order of the cells.
    """

    fields: msgspec.Struct
    measures: list[Measure] = []
    rows: list[CellRow] = []
    pairs: int | None = None
    mismatches: int | None = None
    rho: RhoInterval | None = None
    accuracy: Accuracy | None = None
    score: Score | None = None
    examples: list[Mismatch] = []
    findings: list[Finding] = []
    wobbles: Wobbles | None = None
    probe_rows: ProbeRows | None = None


@cache
def registered_questions() -> Mapping[str, EntryPoint]:
    """Return all questions that are installed, ours and anyone's, by name; nothing is imported."""
    return registered(QUESTIONS)


def find_question(name: str) -> Question:
    """Return a question by its name; UsageError with those that there are."""
    known = registered_questions()
    if name not in known:
        there = f"there are {', '.join(sorted(known))}" if known else "none is installed: pip install the auditor again"
        raise UsageError(f"there is no question {name!r}{suggestion(name, known)}: {there}")
    try:
        loaded = known[name].load()
    except Exception as error:  # somebody else's module
        raise UsageError(f"the question {name!r} cannot be loaded from {known[name].value}: {error}") from error
    question: Question = loaded() if isinstance(loaded, type) else loaded
    return question


def make_request(
    question: str | None,
    subject: object,
    source: object,
    given: Mapping[str, Any],
    *,
    texts: Mapping[str, str] | None = None,
    expected: str | None = None,
) -> Request:
    """Return what is asked, checked as far as the option tables go; without a question the options choose one."""
    sources = tuple(source) if isinstance(source, list) else () if source is None else (source,)
    given = {as_name(word): value for word, value in given.items()}
    name = _chosen(given) if question is None else question
    table = find_question(name).Options
    if len(sources) > 1 and not issubclass(table, OverCells):
        raise UsageError(f"{name} takes one source, and {len(sources)} were given: ask about one at a time")
    if name in _MEASURES and given.get("measure", name) != name:
        raise UsageError(f"measure={given['measure']!r} is another question than {name!r}: leave one of them out")
    if given.get("for_") is not None and given.get("fixed") is not None:
        raise UsageError(
            f"--for {given['for_']} and --fixed {given['fixed']} do not go together: a fixed number is judged once, "
            "when all of it was run; leave --fixed out, and the audit may stop at any time"
        )
    return Request(name, subject, sources, make_options(table, given, name), texts or {}, expected)


def check_table() -> dict[str, Listed]:
    """Return every option of `check`, by name."""
    return {name: one for question in CHECK for name, one in listed(find_question(question).Options).items()}


def _chosen(given: Mapping[str, Any]) -> str:
    """Return the question that the options of `check` are about, the first unless one of them belongs to another;
    UsageError where they are about two, or one does not belong to it.

    Of several questions that share an option, where no other option tells which is meant, it is the first.
    """
    tables = {question: find_question(question).Options.__struct_fields__ for question in CHECK}
    check_known(given, dict.fromkeys(name for table in tables.values() for name in table), "an audit")
    owners = {name: [question for question, table in tables.items() if name in table] for name in given}
    owners = {name: of for name, of in owners.items() if CHECK[0] not in of}
    sure = {of[0] for of in owners.values() if len(of) == 1}
    sure |= {of[0] for of in owners.values() if not sure & {*of}}
    asked: dict[str, str] = {}  # by question, the first option that is about it, as it is typed
    measure = given.get("measure", CHECK[0])
    if measure not in _MEASURES:
        cure = f"must be one of {', '.join(_MEASURES)}{suggestion(str(measure), _MEASURES)}"
        raise BadValue("measure", measure, cure)
    if measure != CHECK[0]:
        asked[measure] = f"--measure {measure}"
    for name, of in owners.items():
        if len(meant := sure & {*of}) == 1:
            asked.setdefault(meant.pop(), as_flag(name))
    if len(asked) > 1:
        (_, one), (_, other), *_ = asked.items()
        raise UsageError(f"{one} does not go with {other}: leave one of them out")
    question = next(iter(asked), CHECK[0])
    for name in given:
        if name not in tables[question]:
            better = find_question(question).instead.get(name)
            use = f": use {as_flag(better)}" if better else ": leave one of them out"
            typed = as_flag(name) if given[name] is True else f"{as_flag(name)} {given[name]}"
            raise UsageError(f"{typed} does not go with {asked[question]}{use}")
    return question


def with_example(found: list[Mismatch], cell: int, trial: Trial, most: int) -> None:
    """Keep a mismatch, if it is one of the first."""
    if trial.difference is not None and len(found) < most:
        found.append(Mismatch(cell, trial.index, trial.difference))
