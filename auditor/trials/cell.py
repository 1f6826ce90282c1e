"""Which subject, on samples of what, how large, seen how, from which seed? A cell: what a trial is a function of,
besides its index. Options over declarations over defaults, settled before anything runs.

Cells of equal seed see the same samples and the same r; all others differ.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.case import Case
from auditor.errors import BadValue, NotComparable, UnknownTruth, UsageError, check_count
from auditor.lookup import module_of
from auditor.randomness import from_key
from auditor.request import Options
from auditor.sources.datasets import Dataset, check_kind, is_shift, takes_kind
from auditor.sources.frames import as_matrix, library_of
from auditor.sources.shifts import Shifted, parts_of
from auditor.sources.source import Sampler, Source, check_size, is_dataset, load_dataset, load_source
from auditor.sources.tables import FRAMES, installed_frame
from auditor.subjects.estimators import Fit, names_columns, needs_labels
from auditor.subjects.subject import Subject, check_sample_kind, code_hash, has_text, param_text
from auditor.subjects.views import View, make_view
from auditor.trials.identity import holds_nothing, identity, leads_back, text_of_code
from auditor.trials.own_code import code_of
from auditor.trials.trial import Bench, Oracle, PairKeys, Unit
from auditor.trials.user_code import path_words, user_code
from auditor.values import Tolerance, describe, fingerprint, make_tolerance, same

PROBE = 1000  # points on which predictions are compared


class Cell(msgspec.Struct, frozen=True):
    """The source is still as it was given, since loading it takes a second."""

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
    varies: str | None = None  # the parameter that inputs are values of
    input: str | None = None  # its value here
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


def source_of(cell: Cell) -> Source:
    """Load the source of a cell; a data set was loaded when the cell was settled."""
    return load_source(cell.source, None if is_dataset(cell.source) else cell.resample)


def case_of(cell: Cell, source: Source, *, on_error: str = "stop", memory: int | None = None) -> Case:
    """Return a cell as data, with its source loaded: what tells its trials from those of any other."""
    subject, within = cell.subject, cell.within or Tolerance()
    everything = [*user_code(cell, source)]
    code = code_of(everything)
    parts = [*parts_of(source)]
    samplers = [part for part in parts if isinstance(part, Sampler)]
    tables = [
        (part.base if isinstance(part, Shifted) else part).rows
        for part in parts
        if isinstance(part, (Dataset, Shifted))
    ]
    return Case(
        question=cell.question,
        target=_named(subject.name, subject.target, [subject.fn]),
        code=code_hash(subject.fn),
        settings=_settings([subject.fn, *everything]),
        files=code.files,
        versions=code.versions,
        params=params_as_texts(subject.params),
        randomness=subject.randomness,
        private=cell.private,
        source=_named(source.name, source.spec, [part.own or part.fn for part in samplers]),
        source_code=_code_besides(subject, [part.fn for part in samplers]),
        data=fingerprint(tables) if tables else None,
        size=cell.size,
        sample=cell.sample_kind,
        resample=getattr(source, "resample", None),
        as_=cell.as_,
        view=_named(cell.view.name, cell.view.spec, cell.view.functions),
        view_code=_code_besides(subject, cell.view.functions),
        probe=cell.probe,
        probe_data=_probe_data(cell),
        atol=within.atol,
        rtol=within.rtol,
        on_error=on_error,
        memory=memory,
        seed=cell.seed,
        path=cell.path,
    )


def _named(name: str, spec: str | None, things: Sequence[object]) -> str:
    """Return the name of something, with a digest of what it is where the name leads nobody to it."""
    if spec is not None or all(map(leads_back, things)):
        return name
    return f"{name} {identity([*things])}"


def _settings(things: Iterable[object]) -> str | None:
    """Return a digest of what functions and objects hold that their files need not show: closures, defaults, an
    estimator's settings."""
    found = []
    for thing in {id(thing): thing for thing in things if callable(thing)}.values():
        with contextlib.suppress(NotComparable):  # what has no name is refused for it, by `_named`
            found += [] if holds_nothing(thing) else [identity(thing)]
    return fingerprint(found) if found else None


def _code_besides(subject: Subject, functions: Sequence[Callable[..., Any]]) -> str | None:
    """Return a digest of functions that a trial calls besides the subject: of their text, and of the files that they
    need and the subject does not."""
    if not functions:
        return None
    own = {**code_of([subject.fn, module_of(subject.target)]).files}
    others = {name: digest for name, digest in code_of(functions).files.items() if own.get(name) != digest}
    return fingerprint([sorted(others.items()), *map(text_of_code, functions)])


def _probe_data(cell: Cell) -> str | None:
    """Return a digest of a file of points that predictions are compared on."""
    if not isinstance(cell.probe, str) or not cell.view.needs_probe:
        return None
    return fingerprint(load_dataset(cell.probe, "bootstrap").rows)


def params_as_texts(params: Mapping[str, Any]) -> dict[str, str]:
    """Return parameters as texts. A value that no text leads back to, such as a long array, gets a digest behind it."""
    texts = {}
    for name, value in params.items():
        texts[name] = param_text(value) if has_text(value) else f"{param_text(value)} {identity(value)}"
    return texts


def make_cell(
    question: str,
    subject: Subject,
    source: object,
    options: Options,
    *,
    size: int | None = None,
    judges: bool = True,
) -> Cell:
    """Everything settled; UsageError with an example where nothing says what to do. `size` goes before the options'."""
    declared_size = subject.declares("size")
    _check_claim(subject)
    size = _first(size, options.size)
    source_used = _first(source, subject.source)
    if source_used is None and _first(size, declared_size) == 0:
        source_used = "nothing"  # no sample at all: all that is random is inside
    kind_of_rows = _kind_of_rows(subject, source_used, options)
    if source_used is not None and is_dataset(source_used):
        source_used = load_dataset(source_used, _first(options.resample, "bootstrap"), kind_of_rows)
        _check_labels(subject, source_used)
        if judges:
            _check_overlap(source_used, options.accept_overlap)
    elif is_shift(source_used):
        source_used = load_source(source_used)
        if isinstance(source_used, Shifted):
            _check_labels(subject, source_used.base)
    size_used = _first(size, declared_size, getattr(source_used, "default_size", None))
    if source_used is None or size_used is None:
        missing, example = ("source", '--source "bernoulli(0.5)"') if source_used is None else ("size", "--size 1000")
        raise UsageError(f"{subject.name} declares no {missing}, and none was given: add e.g. {example}")
    check_count("size", size_used, least=0, example=1000)
    kind = check_sample_kind(_first(options.sample, subject.declared.sample))
    if kind == "counts" and not subject.takes_sample:
        raise UsageError(f"{subject.name} takes rows: annotate its first parameter as auditor.Sample to give it counts")
    seen = _view(subject, _first(options.view, subject.declared.view, subject.default_view))
    if options.probe is not None and not seen.needs_probe:
        raise UsageError(f"--probe is for the view predict, or one that takes it, and the view here is {seen.name}")
    return Cell(
        question=question,
        subject=subject,
        source=source_used,
        size=size_used,
        seed=options.seed,
        sample_kind=kind,
        view=seen,
        probe=options.probe,
        resample=options.resample,
        as_=kind_of_rows,
        private=_check_private(subject, getattr(options, "private", None)),
        overridden=_overridden(subject, source, size, options),
        within=_tolerance(options, seen),
    )


def _view(subject: Subject, spec: Any) -> View:
    """The partition of a fit is that of its predictions: its training labels are of other points in each run."""
    seen = make_view(spec)
    if seen.is_of_labels and isinstance(subject.fn, Fit) and hasattr(subject.fn.estimator, "predict"):
        return make_view(f"predict|{seen.spec}")
    return seen


def _tolerance(options: Options, seen: View) -> Tolerance | None:
    within = make_tolerance(options.atol, options.rtol)
    if within and not seen.is_of_amounts:
        raise UsageError(
            f"{within.words}: a tolerance is for amounts, and the view {seen.name} sees places or names, of which none "
            "is near another: leave one of them out"
        )
    return within


def _overridden(subject: Subject, source: object, size: int | None, options: Options) -> tuple[Any, ...]:
    given = (
        ("source", subject.source, source),
        ("size", subject.declares("size"), size),
        ("rho", subject.declares("claimed"), getattr(options, "rho", None)),
        ("sample", subject.declared.sample, options.sample),
    )
    return tuple(
        (name, _plain(declared), _plain(used))
        for name, declared, used in given
        if declared is not None and used is not None and _differs(used, declared)
    )


def _check_claim(subject: Subject) -> None:
    claimed = subject.declares("claimed")
    if claimed is not None and not (isinstance(claimed, Real) and 0 <= float(claimed) <= 1):
        raise BadValue("claimed", claimed, f"must be in [0, 1]: the rho that {subject.name} promises, e.g. 0.1")


def _kind_of_rows(subject: Subject, source: object, options: Options) -> str | None:
    """What the rows of a file are to be: as asked, data frames for a pipeline that names columns, else arrays."""
    if not any(map(takes_kind, (source, options.probe))):
        if options.as_ is not None:
            told = source if isinstance(source, str) else getattr(source, "name", type(source).__name__)
            raise UsageError(f"--as {options.as_} is for csv and parquet files: {told} is handed over as it is")
        return None
    if options.as_ is not None:
        return check_kind(options.as_)
    return installed_frame() if names_columns(subject.fn, subject.params) else None


def _check_labels(subject: Subject, source: Dataset) -> None:
    if isinstance(source.rows, tuple) or not needs_labels(subject.fn, subject.params):
        return
    if takes_kind(source.spec):
        cure = f"add the column that has them, {source.spec}#label; the columns are {', '.join(source.columns)}"
    else:
        cure = "give (X, y)"
    raise UsageError(f"{subject.name} learns from labels, and {source.name} has none: {cure}")


def _check_overlap(source: Dataset, accepted: bool) -> None:
    """A verdict on samples that share rows is one on another rho: whoever wants it says so."""
    if source.resample == "subsample" and not accepted:
        raise UsageError(
            "--resample subsample gives the two samples of a pair rows in common, so that rho tends to come out too "
            "low: use --resample split or bootstrap, or accept it with --accept-overlap"
        )


def _check_private(subject: Subject, private: str | None) -> str | None:
    """What becomes of private randomness in one cell; a comparison of both makes two cells of it."""
    if private is not None and private not in ("shared", "unshared", "both"):
        raise BadValue("private", private, "must be both, shared or unshared")
    if private is not None and not subject.private:
        raise UsageError(f"--private {private}: {subject.name} has no parameter private; write A(sample, r, private)")
    if not subject.private:
        return None
    return "shared" if private == "shared" else "unshared"


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _differs(used: object, declared: object) -> bool:
    try:
        return not same(used, declared)
    except NotComparable:  # a function that lives in no module, which no declaration named
        return used is not declared


def _plain(value: object) -> Any:
    return value if isinstance(value, (int, float, str)) else describe(value)


def make_bench(cell: Cell, *, apart: bool = False) -> Bench:
    """Load the source and see that its rows fit into memory; whoever runs it draws, if that is `apart` from here."""
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
        prepare=partial(_draw_first, probe=given_probe(cell)),
    )
    return bench if apart and _is_foreign(source) else bench.prepared()


def _is_foreign(source: Source) -> bool:
    """Whether drawing runs code that is neither ours nor scipy's."""
    return not isinstance(source, (Dataset, Shifted)) and (source.spec is None or ":" in source.spec)


def given_probe(cell: Cell) -> Any:
    """The rows of a file, or how many are to be drawn."""
    if not cell.view.needs_probe:
        return None
    if isinstance(cell.probe, str):
        return load_dataset(cell.probe, "bootstrap", _frame_of(cell.source) or cell.as_).rows
    count = PROBE if cell.probe is None else cell.probe
    check_count("probe", count, least=1, example=PROBE)
    return count


def _frame_of(source: object) -> str | None:
    """The library of a data set's tables, where a file can be read as one of its."""
    rows = source.rows if isinstance(source, Dataset) else None
    library = library_of(rows[0] if isinstance(rows, tuple) else rows)
    return library.name if library and library.name in FRAMES else None


def _draw_first(bench: Bench, probe: Any) -> Bench:
    """What has to be drawn before the first run: a row, to see what a sample takes, and the probe."""
    if not bench.counted:
        can_count = bench.subject.takes_sample
        check_size(bench.source, bench.size, from_key(bench.keys.probe), can_count=can_count)
    if probe is None:
        return bench
    return replace(bench, view=bench.view.on_probe(make_probe(probe, bench.source, bench.keys)))


def make_probe(given: Any, source: Source, keys: PairKeys) -> Any:
    """The points that predictions are compared on: a file's, or drawn once from the source with a key of their own."""
    rows = source.draw(from_key(keys.probe.child("points")), given) if isinstance(given, int) else given
    return as_matrix(rows[0] if isinstance(rows, tuple) else rows)


def replay_command(cell: Cell, source: Source, index: int) -> str | None:
    """What a shell needs to run this trial again; None where only Python can reach the subject or the source."""
    subject = cell.subject
    if "--inputs" in cell.again:  # no command line can carry the value itself
        subject = replace(subject, params={name: one for name, one in subject.params.items() if name != cell.varies})
    if not subject.is_reachable or source.spec is None or cell.view.spec is None or cell.command is None:
        return None
    is_declared = isinstance(subject.source, str) and subject.source == source.spec
    default_view = _view(subject, _first(subject.declared.view, subject.default_view)).name
    given = {
        "--source": None if is_declared else source.spec,
        "--size": None if cell.size == subject.declares("size") else cell.size,
        "--sample": None if cell.sample_kind == subject.declared.sample else cell.sample_kind,
        "--resample": cell.resample,
        "--as": cell.as_,
        "--view": None if cell.view.name == default_view else cell.view.spec,
        "--probe": cell.probe,
        "--atol": (cell.within and cell.within.atol) or None,
        "--rtol": (cell.within and cell.within.rtol) or None,
        "--private": "shared" if cell.private == "shared" else None,
        "--seed": cell.seed or None,
    }
    words = ["python", "-m", "auditor", cell.command, str(subject.target)]
    words += [word for flag, value in given.items() if value is not None for word in (flag, str(value))]
    words += [word for name, value in subject.params.items() for word in ("--param", f"{name}={param_text(value)}")]
    if subject.randomness != "Generator":
        words += ["--randomness", subject.randomness]
    return path_words(cell, source) + " ".join([shlex.join([*words, "--replay", str(index)]), *cell.again])
