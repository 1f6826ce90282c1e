"""The one document a question leaves behind: schema auditor.record/2. Everything shown is drawn from it alone.

Two records of one plan differ in `cost` and `environment` only, and in keys with "seconds" in their name.
"""

from __future__ import annotations

import functools
import math
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from json import dumps, loads  # as they are now: a subject may replace them
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeVar

import msgspec
import numpy as np

from auditor.case import Case
from auditor.errors import EXIT_CODES, AuditorError, UsageError, in_words
from auditor.escape import json_text
from auditor.files import read_bytes
from auditor.host.boundary import in_host
from auditor.subjects.subject import Wording, param_text
from auditor.trials.advice import Advice
from auditor.values import Difference as Difference
from auditor.values.elements import SeenText, Wobbles

SCHEMA = "auditor.record/2"
_ALSO_IN_CASE = ("size", "view", "probe", "resample", "randomness")  # fields that a record has beside its case
EXAMPLES = 3  # mismatching pairs that a record shows
IN_PROCESS = "in process"
NO_WORSE = "no worse"  # an expectation: met unless it is shown to be worse than before, or nothing was run
T = TypeVar("T")


class Measure(msgspec.Struct, frozen=True):
    """One number that was asked for, with its two-sided interval; `count` of `of` where it is a share of a count.

    An estimate that is the mean of a number for each pair has its standard error, which describes and bounds nothing.
    """

    name: str  # rho, churn, inaccurate, ...
    estimate: float | None  # what was seen; null if nothing was
    low: float  # lower limit
    high: float  # upper limit
    confidence: float  # with which the interval holds
    method: str  # how the interval was computed
    count: int | None = None  # how often it happened, where it is a share of a count
    of: int | None = None  # in how many trials
    standard_error: float | None = None  # of the estimate, where it is a mean over pairs


class Bound(msgspec.Struct, frozen=True):
    """The one-sided limit that decided. A calibrated gate shows only on which side of the target rho is: then the limit
    is the target, and rho is above it where the side is "lower"."""

    side: str  # "upper" for a pass, "lower" for a fail
    value: float  # the limit
    confidence: float  # with which it holds


class RhoInterval(msgspec.Struct, frozen=True):
    """The two-sided interval. After an early stop the estimate k/n is biased; the interval is not."""

    estimate: float | None  # what was seen; null if nothing was
    low: float  # lower limit
    high: float  # upper limit
    confidence: float  # with which the interval holds
    method: str  # how the interval was computed


class Accuracy(msgspec.Struct, frozen=True):
    """How many of the runs that an oracle judged were inaccurate, with an interval."""

    failures: int  # inaccurate runs
    runs: int  # runs that were judged
    allowed: float | None  # the share of runs that may be inaccurate
    low: float  # lower limit
    high: float  # upper limit
    confidence: float  # with which the interval holds
    certified: bool | None = None  # whether the share was shown to be within what is allowed; a pass only refutes none


class Score(msgspec.Struct, frozen=True):
    """How good the fits are on rows that they have not learnt from: the mean over pairs of the mean of both runs."""

    name: str  # accuracy, r2, module:fn; "score" for the estimator's own
    estimate: float  # the mean that was seen
    standard_error: float | None  # of the estimate; it describes, and bounds nothing
    low: float | None  # lower limit of the mean; null where the score has no known range
    high: float | None  # upper limit
    confidence: float  # with which the interval holds
    pairs: int  # that were scored
    at_least: float | None = None  # what was asked for


class Finding(msgspec.Struct, frozen=True):
    """Something worth knowing besides the verdict; severity is "info", "warning" or "error"."""

    kind: str  # its name: see the page of findings
    severity: str  # info, warning or error
    message: str  # what was found, in a sentence
    replay: str | None = None  # the command that runs it again


class Example(msgspec.Struct, frozen=True):
    """A pair whose outputs differ."""

    pair: int  # the number of the pair
    replay: str | None  # the command that runs it again
    first_difference: Difference  # where the two outputs differ first
    cell: int = 0  # which of the record's cells


class Preflight(msgspec.Struct, frozen=True):
    """Runs made before the audit to see whether the subject is a function of (sample, r) at all."""

    runs: int  # how many were made
    second_process: str  # "same", or "skipped: why"; "skipped: switched off" if the user wanted none
    changes_sample: bool  # whether the subject changes its sample in place


class CellRow(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in one cell. All intervals of a record hold together with the confidence given here."""

    name: str  # what tells it from the other cells
    question: str  # what was asked of it
    source: str  # what samples were drawn from
    size: int  # rows in a sample
    seed: int  # from which its randomness was derived
    input: str | None = None  # the auxiliary input
    variant: str | None = None  # what was changed: private randomness "shared" or "unshared", ...
    pairs: int = 0  # trials
    mismatches: int = 0  # of them, those that count against it
    estimate: float | None = None  # what was seen; null if nothing was
    low: float = 0.0  # lower limit
    high: float = 1.0  # upper limit
    confidence: float  # with which the interval holds
    runs: int | None = None  # whose accuracy was judged
    failures: int | None = None  # of them, inaccurate
    score: float | None = None  # the mean score of its fits, where they are scored
    verdict: str = "inconclusive"  # pass, fail, inconclusive or error
    error: str | None = None  # what ended it
    replay: str | None = None  # of its first mismatch
    seconds: float = 0.0  # in the subject


class Earlier(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier audit that asked the same, from the ledger: of which code, and where its measure was."""

    started: str  # when it began
    code_hash: str | None  # a digest of the subject's code then
    verdict: str  # how it ended
    estimate: float | None  # what it had seen
    low: float  # lower limit
    high: float  # upper limit


class LedgerPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where an audit's trials are: a ledger, which of the audits there, and those that asked the same before it."""

    ledger: str  # the file
    audit: int  # the number of the audit there
    earlier: list[Earlier] = []  # the last of them, the oldest first


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """`runs` counts the trials' runs; the preflight's are in its own field. `engine` says who ran them."""

    runs: int  # of the trials
    preflight_runs: int  # made before, to look for hidden state
    seconds_in_subject: float  # of all runs together
    seconds_total: float  # from beginning to end
    engine: str = IN_PROCESS  # what ran the trials
    limits: dict[str, Any] = {}  # how it was to run: jobs, timeout, memory, ...
    kept: LedgerPlace | None = None  # where the trials are, if there is a ledger
    advice: Advice | None = None  # what further pairs showed after a fail; they are run where they take no long time


class Drawn(msgspec.Struct, frozen=True):
    """What samples are made of: rows, or whole groups of them."""

    units: int  # in a sample
    of: int | None = None  # in the data set, where there is one
    rows: int = 0  # of the data set


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """What would hold in place of a decision that did not, by an audit of its own."""

    kind: str  # "sister", or "rows" for more of them
    subject: str  # that was asked about
    verdict: str  # of that audit
    rho: RhoInterval | None = None  # of the sister
    bound: Bound | None = None  # that decided on the sister
    low: int | None = None  # rows: that were shown not to do
    high: int | None = None  # rows: that were shown to do
    answers: list[SeenText] = []  # the most frequent of the sister
    runs: int = 0  # of the sister, of which these are
    command: str | None = None  # that asks it again
    why: str | None = None  # it could not be asked
    setting: str = ""  # of the sister, where its parameter was looked for: "strength=0.05"
    price: str = ""  # of the sister at this setting


class RowFlips(msgspec.Struct, frozen=True, kw_only=True):
    """One probe row: how often its prediction changes between the two fits of a pair, and between what.

    Rows are ranked by the pairs of even numbers, and what is said of them is from those of odd numbers: a row is among
    the worst because it was unlucky, too, and its own counts would exaggerate.
    """

    row: int  # its number in the data set, else among the probe points
    pairs: int  # of the odd pairs, those in which its prediction differs
    of: int  # odd pairs
    distance: float  # the mean distance over the odd pairs
    values: list[SeenText] = []  # labels that the fits of odd pairs predict, the most frequent first
    quantiles: list[float] = []  # where they predict numbers: those of 5, 25, 50, 75 and 95 %
    columns: list[Any] = []  # the row's own values, in the order of `ProbeRows.columns`


class GroupChurn(msgspec.Struct, frozen=True, kw_only=True):
    """The mean distance over the rows of one group; the intervals of all groups hold together."""

    name: str  # the value of the column, or from where to where it is
    rows: int  # of the group
    estimate: float  # the mean distance that was seen
    standard_error: float | None  # of the estimate
    low: float  # lower limit
    high: float  # upper limit


class ProbeRows(msgspec.Struct, frozen=True, kw_only=True):
    """The predictions of the first pairs, row by row."""

    pairs: int  # that were looked at
    rows: int  # probe rows
    unsteady: int  # of them, those whose prediction differs in some pair
    columns: list[str] = []  # the names of the rows' own columns
    worst: list[RowFlips] = []  # the rows that change most
    histogram: list[int] = []  # rows by the share of pairs in which they differ: none, up to 0.1, up to 0.2, ...
    plot: list[tuple[float, ...]] = []  # a row each: the prediction of one fit; 5, 50 and 95 % of those of others
    plotted: str = ""  # what is plotted
    by: str | None = None  # the column that groups rows
    groups: list[GroupChurn] = []  # of rows, by that column
    confidence: float | None = None  # with which the intervals of all groups hold together


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One question and its answer: what `audit` returns and `--json` writes.

    Most used: `verdict` ("pass", "fail", "inconclusive" or "error"), `reason` (the verdict in a sentence), `pairs`,
    `mismatches`, `rho` (with `estimate`, `low`, `high` and `confidence`), `target`, `findings`, `examples` (pairs that
    differ, with the command that runs each again) and `cells` (a row for each source, input or size). `print(record)`
    shows the report of the terminal; in a notebook a record shows itself as a page.
    """

    schema: str = SCHEMA  # the version of this format
    auditor_version: str  # of the package that made it
    question: str  # what was asked: rho, churn, curve, explain, ...
    # What was audited, of several cells the first; None where nothing was loaded, or something has no digest.
    case: Case | None
    subject: str  # its target: module:fn, file.py:fn
    name: str | None = None  # that tells it from other audits of the same subject, where a gate gives it one
    importable: bool  # whether another process can find the subject, its parameters, the source and the view
    code_hash: str | None  # a digest of the subject's code
    theorem: str | None  # that the subject declares
    note: str | None  # that the subject declares
    params: dict[str, Any]  # as given
    settings: dict[str, Any]  # with the defaults
    source: str  # as it could be typed again
    sample_kind: str  # "rows" or "counts"
    size: int  # rows in a sample
    sample_scale: float | None  # size over the theorem's size; below 1 the theorem promises nothing
    seed: int  # from which all randomness was derived
    view: str  # the part of the output that was compared
    probe: int | str | None  # what predictions were compared on, where it was not the default
    resample: str | None  # how samples were taken from a data set
    randomness: str  # the type of r
    overridden: dict[str, tuple[Any, Any]]  # what was declared, what was used instead
    asked: dict[str, Any] = {}  # the options that were given, as they could be typed again; how it ran is no part of it
    design: str  # "anytime" (stops early) or "fixed"
    target: float | None  # the largest rho, or other measure, that is accepted
    claimed: float | None  # by the subject's declaration
    expect: str  # how it was to end: pass, fail, error or no worse
    confidence: float  # of the verdict
    budget: int  # the most trials that it may take
    first_budget: int | None = None  # that the gate was planned for, where an undecided audit was continued
    family: int = 1  # audits that were to pass together; a fail has spent its share of the error alone
    unit: str = "pairs"  # what the budget counts
    verdict: str  # pass, fail, inconclusive or error
    reason: str  # the verdict in a sentence
    decided_by: str  # mismatches, churn, accuracy, score, budget, clock, interrupt, error, ...
    go_on: str | None = None  # the command that goes on where the clock or an interrupt has stopped it
    error_spent: float  # the verdict is wrong with at most this probability
    bound: Bound | None  # the limit that decided
    measures: list[Measure]  # every number that was asked for, with its interval
    pairs: int | None = None  # where the question counts pairs, or strings
    mismatches: int | None = None  # of the pairs, those whose outputs differ
    rho: RhoInterval | None = None  # its estimate and interval, where the question is about pairs
    accuracy: Accuracy | None = None  # of single runs, where the subject declares how to judge them
    score: Score | None = None  # of fits on rows that they have not learnt from, where the source has labels
    cells: list[CellRow]  # a row for each source, input, value or size
    answer: Any  # the question's own part: {"question": NAME, ...}
    preflight: Preflight | None  # what was looked at before anything was counted
    findings: list[Finding]  # what is worth knowing besides the verdict
    examples: list[Example]  # the first pairs that differ
    rows: ProbeRows | None = None  # which predictions change, row by row, where outputs are predictions
    wobbles: Wobbles | None = None  # which elements of the outputs differ, where a question about pairs looked
    wording: Wording | None = None  # what the subject calls its answers
    drawn: Drawn | None = None  # what a sample is made of, where the subject has words of its own
    remedies: list[Remedy] = []  # what would hold, where a decision with words of its own did not
    cost: Cost  # runs and seconds
    environment: dict[str, str]  # versions of Python, numpy, scipy and the platform

    @property
    def exit_code(self) -> int:
        """The exit code of the verdict; that of an interrupt, whatever was known by then."""
        return EXIT_CODES["interrupted" if self.decided_by == "interrupt" else self.verdict]

    @property
    def label(self) -> str:
        """What the audit is called in a list of several: its name, or else its subject."""
        return self.name or self.subject

    @property
    def is_as_expected(self) -> bool:
        """True if the verdict is the one that was expected: "pass", unless a declaration or an entry says another."""
        if self.expect != NO_WORSE:
            return self.verdict == self.expect
        counted = self.pairs or any(cell.pairs for cell in self.cells)
        return self.verdict == "pass" or (self.verdict == "inconclusive" and bool(counted))

    def to_dict(self) -> dict[str, Any]:
        """Return the record as --json has it: dicts, lists, texts and numbers."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        return document

    def trials(self, ledger: str | None = None) -> dict[str, list[Any]]:
        """Return every trial that the audit's ledger has, a list for each column, as pandas.DataFrame(...) and
        polars.DataFrame(...) take it. `ledger` is for a file that has moved."""
        from auditor.flow.ledger_file import trials_of

        return trials_of(self, ledger)

    def __str__(self) -> str:
        """Return the report, as a terminal shows it."""
        return str(resolve_name("auditor.report.terminal:as_text")(self))  # by name: reports are made from records

    def _repr_html_(self) -> str:
        """Return the page, for a notebook."""
        return str(resolve_name("auditor.report.page.records:fragment_of")(self))


def exit_code_of(records: Sequence[Record]) -> int:
    """Return 0 if every expectation is met, else the worst code that was not: 4, 1, 3. An unexpected pass is a fail."""
    if any(record.decided_by == "interrupt" for record in records):
        return EXIT_CODES["interrupted"]
    unmet = {record.exit_code or EXIT_CODES["fail"] for record in records if not record.is_as_expected}
    return next((code for code in (4, 1, 3) if code in unmet), 0)


@in_host
def as_json(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return finite numbers, booleans and None as they are; everything else as the text that --param takes."""
    found = {}
    for name, value in params.items():
        value = value.item() if isinstance(value, np.generic) else value
        is_plain = math.isfinite(value) if isinstance(value, float) else isinstance(value, (int, type(None)))
        found[name] = value if is_plain else param_text(value)
    return found


def environment() -> dict[str, str]:
    """Return the versions of Python and its libraries, and the platform, as a record names them."""
    return dict(_environment())


@functools.cache  # it takes longer than the audit of a fast subject
def _environment() -> Mapping[str, str]:
    """Return the versions and the platform that a record names."""
    from importlib.metadata import version

    return {
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def to_json(record: Record) -> bytes:
    """Return a record as a JSON document."""
    return encode(msgspec.to_builtins(record))


def to_json_list(records: Sequence[Record]) -> bytes:
    """Return several records as one JSON document."""
    return encode(msgspec.to_builtins([*records]))


def encode(document: Any) -> bytes:
    """Return a document as JSON, readable and with nothing hidden in it."""
    # The standard library's encoder: a theorem's size may be an integer beyond 64 bits.
    return json_text(dumps(document, indent=2, ensure_ascii=False)).encode() + b"\n"


def read_record(path: Path) -> Record:
    """Read a record from its file; UsageError with the field that is wrong."""
    return _read(path, as_record)


def read_records(path: Path) -> list[Record]:
    """Read the records of a file that may have several in a list, as a gate writes them."""
    return _read(path, lambda found: [as_record(one) for one in (found if isinstance(found, list) else [found])])


def _read(path: Path, made: Callable[[Any], T]) -> T:
    """Read a JSON file and return what `made` makes of it; UsageError if that is no record."""
    document = read_bytes(path, f"cannot read the record {str(path)!r}")
    try:
        return made(loads(document))
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise UsageError(f"{str(path)!r} is no record of an audit: {error}") from error


def as_record(document: Any) -> Record:
    """Return a record from its JSON; ValueError where it is none, or a field has a value that cannot be."""
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise ValueError(f"its schema is {schema!r}; this version reads {SCHEMA!r}")
    record = msgspec.convert(document, type=Record)
    if record.verdict not in EXIT_CODES:
        raise ValueError(f"its verdict is {record.verdict!r}, and none of {', '.join(EXIT_CODES)}")
    if not 0 <= record.confidence <= 1:
        raise ValueError(f"its confidence is {record.confidence}, and must be from 0 to 1")
    for name, known in (("subject", "target"), ("sample_kind", "sample"), *((same, same) for same in _ALSO_IN_CASE)):
        own, found = getattr(record, name), getattr(record.case, known, None)
        is_same = own == found or str(found).startswith(f"{own} ")  # with a digest, where it has no name
        if record.case is not None and not is_same:
            raise ValueError(f"its {name} is {own!r}, and its case has {found!r}: an audit writes one and the same")
    counted: list[tuple[str, Record | CellRow]] = [("it", record)]
    counted += [(f"its cell {place}", cell) for place, cell in enumerate(record.cells)]
    for name, one in counted:
        pairs, mismatches = one.pairs or 0, one.mismatches or 0
        if not 0 <= mismatches <= pairs:
            raise ValueError(f"{name} has {mismatches} mismatches in {pairs} pairs, and must have from 0 to {pairs}")
    return record


@contextmanager
def drawn_from(*files: str) -> Iterator[None]:
    """Turn whatever keeps a record of these files from being shown into a UsageError: a field may hold anything."""
    try:
        yield
    except AuditorError:
        raise
    except msgspec.ValidationError as error:
        raise UsageError(f"{', '.join(files)}: an answer is not as its question writes it ({error})") from error
    except Exception as error:
        named = ", ".join(files)
        words = f"{named} cannot be shown ({in_words(error)}): a field is not as an audit writes it"
        raise UsageError(f"{words}; if auditor wrote it, please report this") from error
