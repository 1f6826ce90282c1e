"""Which subject, on samples of what, how large, compared by which view, from which seed? Settled before anything runs:
options go before declarations, and these before defaults.

Cells of equal seed have the same samples and the same r; all others differ.
"""

from __future__ import annotations

import math
from functools import partial
from numbers import Real
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.errors import BadValue, NotComparable, UnknownTruth, UsageError, check_count
from auditor.escape import shortened
from auditor.host.boundary import in_host
from auditor.host.limits import read_memory
from auditor.randomness import from_key
from auditor.request import Options
from auditor.sources.datasets import Dataset, check_kind_of_table, is_shift, takes_kind
from auditor.sources.frames import as_matrix, column_at, columns_of, library_of
from auditor.sources.resampling import parse
from auditor.sources.shifts import Shifted
from auditor.sources.source import Source, check_size, is_dataset, load_dataset, load_source, names_in
from auditor.sources.tables import FRAMES, installed_frame
from auditor.subjects.estimators import Fit, names_columns, needs_labels
from auditor.subjects.programs import program_in
from auditor.subjects.scoring import Scorer, make_scorer
from auditor.subjects.signature import check_labels_given
from auditor.subjects.subject import Subject, check_sample_kind
from auditor.subjects.views import View, make_view
from auditor.trials.trial import Bench, Oracle, PairKeys, Unit
from auditor.values import Tolerance, describe, make_tolerance, same

# Questions that look at outputs one by one, or at other runs than the two of a pair.
_NOT_OF_PAIRS = ("churn", "loss", "nu", "list_size", "reuse", "explain", "repair", "compare")
SCORED = ("rho", "churn", "loss", "estimate", "curve", "price", "choose")  # questions whose pairs are scored
_COLUMNS, _LONGEST = 100, 60  # columns of a row that are shown, and characters of a value
PROBE = 1000  # points on which predictions are compared


class Cell(msgspec.Struct, frozen=True):
    """One audited configuration, with its objects. `identity.case_of` has it as data.

    The source is still as it was given: whoever makes the bench loads it.
    """

    question: str  # whose trials these are
    subject: Subject
    source: object
    size: int
    seed: int
    sample_kind: str
    view: View
    probe: int | str | None = None
    resample: str | None = None
    as_: str | None = None  # what the rows of a file are
    private: str | None = None  # "shared" or "unshared", where the subject has private randomness
    name: str = ""  # what tells it from the other cells of its question, to a person
    varies: tuple[str, ...] = ()  # parameters whose values tell it from the other cells of its question
    input: str | None = None  # the value of an auxiliary input
    command: str | None = "check"  # that runs its trials again; None where no command line can
    again: tuple[str, ...] = ()  # words that a replay needs besides those of the cell
    unit: Unit | None = None  # what one trial is; a pair of runs, unless the question is another
    oracle: Oracle | None = None  # judges an output in place of the subject's own
    judged: bool = True  # whether accuracy is of interest at all
    watched: int = 0  # pairs, the first, whose payload says which elements differ
    looks: bool = True  # whether its runs can be looked at beforehand one by one; else its first trial is run twice
    path: tuple[str, ...] = ()  # below which child of the seed's key its keys are
    doubted: bool = False  # whether hidden state is part of the question: then nothing is held against it beforehand
    overridden: tuple[tuple[str, Any, Any], ...] = ()  # name, declared, used
    kin: str = ""  # cells of one name share what the preflight found for the first of them
    within: Tolerance | None = None  # how far apart numbers of two outputs may be
    scorer: Scorer | None = None  # scores the outputs, where they are scored
    scale: float | None = None  # how far apart two numbers are that count as wholly different


@in_host
def make_cell(
    question: str, subject: Subject, source: object, options: Options, *, size: int | None = None, judges: bool = True
) -> Cell:
    """Settle all that a cell is; UsageError with an example where nothing says what to do. `size` goes before the
    options'."""
    declared_size, claimed = subject.declares("size"), subject.declares("claimed")
    if claimed is not None and not (isinstance(claimed, Real) and 0 <= float(claimed) <= 1):
        raise BadValue("claimed", claimed, f"must be in [0, 1]: the rho that {subject.name} promises, e.g. 0.1")
    size = _first(size, options.size)
    source_used = _first(source, subject.source)
    if source_used is None and _first(size, declared_size) == 0:
        source_used = "nothing"  # no sample at all: all that is random is inside
    kind_of_rows = _kind_of_rows(subject, source_used, options)
    if source_used is not None and is_dataset(source_used):
        way, memory = _resampling(subject, options.resample), read_memory(options.memory)
        source_used = load_dataset(source_used, way, kind_of_rows, memory)
        _check_labels(subject, source_used)
        if judges and source_used.resample == "subsample" and not options.accept_overlap:
            raise UsageError(
                "--resample subsample gives the two samples of a pair rows in common, so that rho tends to come out "
                "too low: use --resample split or bootstrap, or accept it with --accept-overlap"
            )
    elif is_shift(source_used):
        source_used = load_source(source_used)
        if isinstance(source_used, Shifted):
            _check_labels(subject, source_used.base)
    subject = subject.with_names(names_in(source_used))
    size_used = _first(size, declared_size, getattr(source_used, "default_size", None))
    if source_used is None or size_used is None:
        if source_used is not None:
            load_source(source_used)  # what is no source at all says so first
        missing, example = ("source", '--source "bernoulli(0.5)"') if source_used is None else ("size", "--size 1000")
        raise UsageError(f"{subject.name} declares no {missing}, and none was given: add e.g. {example}")
    check_count("size", size_used, least=0, example=1000)
    kind = check_sample_kind(_first(options.sample, subject.declared.sample))
    if kind == "counts" and not subject.takes_sample:
        cure = "annotate its first parameter as auditor.Sample to give it counts"
        raise UsageError(f"{subject.name} takes rows: {'use --sample rows' if program_in(subject.fn) else cure}")
    view = declared_view(subject) if options.view is None else _view(subject, options.view)
    if options.probe is not None and not view.needs_probe:
        raise UsageError(f"--probe is for the view predict, or one that takes it, and the view here is {view.name}")
    if view.is_of_own_rows and question in _NOT_OF_PAIRS:
        raise UsageError(
            f"the view {view.name} compares two runs on the rows that both samples have, and {question} looks at other "
            "things than two runs: assign the probe points to clusters in a view of your own, fn(output, probe), or "
            'use --view "attr(labels_)|distinct"'
        )
    within = make_tolerance(options.atol, options.rtol)
    if within and not view.is_of_amounts:
        raise UsageError(
            f"{within.words}: a tolerance is for amounts, and the view {view.name} sees places or names, of which none "
            "is near another: leave one of them out"
        )
    scale = getattr(options, "scale", None)
    _check_scale(scale, view, within)
    return Cell(
        question=question,
        subject=subject,
        source=source_used,
        size=size_used,
        seed=options.seed,
        sample_kind=kind,
        view=view,
        probe=options.probe,
        resample=options.resample,
        as_=kind_of_rows,
        private=_private(subject, getattr(options, "private", None)),
        overridden=_overridden(subject, source, size, options),
        within=within,
        scorer=_scorer(question, subject, source_used, size_used, kind, options),
        scale=scale,
    )


def _check_scale(scale: object, view: View, within: Tolerance | None) -> None:
    """Raise BadValue or UsageError where --scale cannot be used with the view or the tolerance."""
    if scale is None:
        return
    if isinstance(scale, bool) or not isinstance(scale, (int, float)) or not 0 < scale < math.inf:
        raise BadValue("scale", scale, "must be above 0: the distance of two numbers that count as wholly different")
    if within:
        raise UsageError(f"--scale {scale:g} and {within.words} are two ways to say how far apart is far: use one")
    if not view.may_have_rows or not view.is_of_amounts or view.is_of_shares:
        raise UsageError(
            f"--scale {scale:g} is for predictions that are numbers, and the view here is {view.name}: use --view "
            "predict, or leave it out"
        )


def _scorer(question: str, subject: Subject, source: object, size: int, kind: str, options: Any) -> Scorer | None:
    """Return how the outputs are scored, where a question scores them and samples are rows."""
    asked, least = getattr(options, "score", None), getattr(options, "score_at_least", None)
    if question in SCORED and kind == "rows":
        return make_scorer(asked, subject, source, size, needed=least is not None)
    if asked is None and least is None:
        return None
    name, value = ("score", asked) if least is None else ("score-at-least", least)
    raise UsageError(f"--{name} {value} needs the rows that an output was learnt from: use --sample rows")


@in_host
def declared_view(subject: Subject) -> View:
    """Return the view that outputs of a subject are compared by where nobody asks for another."""
    return _view(subject, _first(subject.declared.view, subject.default_view))


def declared_resampling(subject: Subject) -> str:
    """Return how samples are drawn from a data set where nobody asks for another way."""
    return str(subject.declares("resample") or "bootstrap")


def _resampling(subject: Subject, asked: str | None) -> str:
    """Return how samples are drawn from a data set: a split of one whose rows belong together is one of its groups."""
    declared = declared_resampling(subject)
    kind, column = parse(declared)
    return f"split({column})" if asked == "split" and kind == "groups" else asked or declared


def _view(subject: Subject, spec: Any) -> View:
    """Make a view. The partition of a fit is that of its predictions: its training labels are of other points in each
    run."""
    view = make_view(spec)
    if view.is_of_labels and isinstance(subject.fn, Fit) and hasattr(subject.fn.estimator, "predict"):
        return make_view(f"predict|{view.spec}")
    return view


def _overridden(subject: Subject, source: object, size: int | None, options: Options) -> tuple[Any, ...]:
    """Return what was declared and is not used, as (name, declared, used)."""
    given = (
        ("source", subject.source, source),
        ("size", subject.declares("size"), size),
        ("rho", subject.declares("claimed"), getattr(options, "rho", None)),
        ("sample", subject.declared.sample, options.sample),
        ("resample", subject.declares("resample"), options.resample),
    )
    found = []
    for name, declared, used in given:
        try:
            differs = declared is not None and used is not None and not same(used, declared)
        except NotComparable:  # a function that lives in no module, which no declaration named
            differs = used is not declared
        if differs:
            shown = (value if isinstance(value, (int, float, str)) else describe(value) for value in (declared, used))
            found.append((name, *shown))
    return tuple(found)


def _kind_of_rows(subject: Subject, source: object, options: Options) -> str | None:
    """Return what a file is read as: as asked, or as data frames for a pipeline that names columns; None for arrays."""
    if not any(map(takes_kind, (source, options.probe))):
        if options.as_ is not None:
            name = source if isinstance(source, str) else getattr(source, "name", type(source).__name__)
            raise UsageError(f"--as {options.as_} is for csv and parquet files: {name} is handed over as it is")
        return None
    if (kind := _first(options.as_, subject.declared.as_)) is not None:
        return check_kind_of_table(kind)
    return installed_frame() if names_columns(subject.fn, subject.params) else None


def _check_labels(subject: Subject, source: Dataset) -> None:
    """Raise UsageError if the subject learns from labels, and the data set has none."""
    if isinstance(source.rows, tuple):
        return
    check_labels_given(subject.fn, source.rows, subject.name)
    if not needs_labels(subject.fn, subject.params):
        return
    if takes_kind(source.spec):
        cure = f"add the column that has them, {source.spec}#label; the columns are {', '.join(source.columns)}"
    else:
        cure = "give (X, y)"
    raise UsageError(f"{subject.name} learns from labels, and {source.name} has none: {cure}")


def _private(subject: Subject, private: str | None) -> str | None:
    """Return what becomes of private randomness in one cell, "shared" or "unshared"; None where there is none. A
    comparison of both makes two cells of it."""
    if private is not None and private not in ("shared", "unshared", "both"):
        raise BadValue("private", private, "must be both, shared or unshared")
    if private is not None and not subject.private:
        raise UsageError(f"--private {private}: {subject.name} has no parameter private; write A(sample, r, private)")
    if not subject.private:
        return None
    return "shared" if private == "shared" else "unshared"


def _first(*values: Any) -> Any:
    """Return the first value that is not None."""
    return next((value for value in values if value is not None), None)


@in_host
def source_of(cell: Cell) -> Source:
    """Load the source of a cell; a data set was loaded when the cell was settled."""
    return load_source(cell.source, None if is_dataset(cell.source) else cell.resample)


@in_host
def make_bench(cell: Cell, *, apart: bool = False) -> Bench:
    """Return what trials of this cell are run with (subject, source, keys, view), its source loaded; a first sample is
    drawn to see that it fits into memory.

    Where trials run `apart` from this process, and drawing runs somebody else's code, that process draws the first one.
    """
    source = source_of(cell)
    counted = cell.sample_kind == "counts"
    if counted:
        try:
            source.law(cell.size)
        except UnknownTruth as error:
            raise UsageError(f"--sample counts: {error}; use --sample rows") from error
    bench = Bench(
        cell.subject,
        source,
        cell.size,
        PairKeys(cell.seed, *cell.path),
        counted=counted,
        judges=cell.judged,
        view=cell.view,
        oracle=cell.oracle,
        shares_private=cell.private == "shared",
        unit=cell.unit,
        within=cell.within,
        watched=cell.watched,
        scorer=cell.scorer,
        scale=cell.scale,
        prepare=partial(_draw_first, probe=given_probe(cell)),
    )
    is_foreign = not isinstance(source, (Dataset, Shifted)) and (source.spec is None or ":" in source.spec)
    return bench if apart and is_foreign else bench.prepared()


def given_probe(cell: Cell) -> Any:
    """Return the points of a file that predictions are compared on, or how many are to be drawn; None for a view that
    takes none."""
    if not cell.view.needs_probe:
        return None
    if isinstance(cell.probe, str):
        rows = cell.source.rows if isinstance(cell.source, Dataset) else None
        library = library_of(rows[0] if isinstance(rows, tuple) else rows)
        return load_dataset(cell.probe, "bootstrap", library if library in FRAMES else cell.as_).rows
    count = PROBE if cell.probe is None else cell.probe
    check_count("probe", count, least=1, example=PROBE)
    return count


def _draw_first(bench: Bench, probe: Any) -> Bench:
    """Draw what has to be drawn before the first run: a row, to see what a sample takes, and the probe."""
    if not bench.counted:
        can_count = bench.subject.takes_sample
        check_size(bench.source, bench.size, from_key(bench.keys.probe), can_count=can_count)
    if probe is None:
        return bench
    numbers = probe_rows(probe, bench.source, bench.keys)
    classes = _classes(bench) if bench.view.is_of_shares else None
    return replace(bench, view=bench.view.on_probe(make_probe(probe, bench.source, bench.keys), numbers, classes))


def _classes(bench: Bench) -> tuple[Any, ...] | None:
    """Return the labels of a data set, or those of some rows that a source draws; None without labels."""
    source = bench.source.base if isinstance(bench.source, Shifted) else bench.source
    rows = source.rows if isinstance(source, Dataset) else source_points(PROBE, source, bench.keys)
    return tuple(np.unique(np.asarray(rows[1])).tolist()) if isinstance(rows, tuple) and len(rows) == 2 else None


class ProbeTable(msgspec.Struct, frozen=True):
    """The probe points as a person knows them: their numbers in the data set, and their columns, the labels last."""

    numbers: list[int] | None
    names: list[str]
    rows: list[list[Any]]


@in_host
def probe_table(cell: Cell) -> ProbeTable | None:
    """Return the columns of the probe points, as plain numbers and texts; None where they are no table."""
    given, source = given_probe(cell), source_of(cell)
    keys = PairKeys(cell.seed, *cell.path)
    if given is None:
        return None
    rows = source_points(given, source, keys) if isinstance(given, int) else given
    x, y = rows if isinstance(rows, tuple) else (rows, None)
    base = source.base if isinstance(source, Shifted) else source
    known = columns_of(x)
    matrix = as_matrix(x)
    if library_of(matrix) == "scipy" or isinstance(matrix, list) or len(getattr(matrix, "shape", ())) != 2:
        return None
    if isinstance(base, Dataset) and not known and isinstance(given, int):
        known = tuple(name for name in base.columns if name != base.target)
    width = matrix.shape[1]
    names = [*known] if len(known) == width else [f"x{place}" for place in range(width)]
    columns = [column_at(matrix, place).tolist() for place in range(min(width, _COLUMNS))]
    if y is not None and np.asarray(y).ndim == 1:
        columns.append(np.asarray(y).tolist())
        target = getattr(base, "target", "") if isinstance(given, int) else ""
        names = [*names[:_COLUMNS], target or str(getattr(y, "name", None) or "label")]
    numbers = probe_rows(given, source, keys)
    plain = [[_plain_cell(value) for value in row] for row in zip(*columns, strict=True)]
    return ProbeTable(None if numbers is None else [*numbers], names[: len(columns)], plain)


def _plain_cell(value: Any) -> Any:
    """Return a value of a table as JSON has it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, (bool, int)) else shortened(str(value), _LONGEST)


def make_probe(given: Any, source: Source, keys: PairKeys) -> Any:
    """Return the points that predictions are compared on: a file's, or rows of the source."""
    rows = source_points(given, source, keys) if isinstance(given, int) else given
    return as_matrix(rows[0] if isinstance(rows, tuple) else rows)


def source_points(count: int, source: Source, keys: PairKeys) -> Any:
    """Return rows of the source that predictions are compared on, with labels where it has any: of a data set its own
    distinct rows, each once and at most `count`; of any other source `count` rows, drawn once with a key of their own.
    """
    numbers = probe_rows(count, source, keys)
    if numbers is not None and isinstance(source, Dataset):
        return source.take(np.array(numbers))
    return source.draw(from_key(keys.probe.child("points")), count)


def probe_rows(given: Any, source: Source, keys: PairKeys) -> tuple[int, ...] | None:
    """Return the numbers of the rows of a data set that predictions are compared on; None where they are others."""
    if not isinstance(given, int) or not isinstance(source, Dataset):
        return None
    return tuple(source.distinct(from_key(keys.probe.child("points")), given).tolist())
