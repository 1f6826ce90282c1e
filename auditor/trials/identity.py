"""What tells the trials of a cell from those of any other? Its case, as data; from it follows the replay command.

Most things have a name that leads another process to them. Where none does, a digest of the code and of the values that
it holds stands behind the name: two closures of one function, two lambdas of one line and two estimators with other
settings have one name, or none, and are not the same learner. What a value holds counts by its canonical form. A
function counts by its closure and its defaults, besides its name; one without a name that leads back to it counts by
its code too.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import shlex
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from auditor.case import IN_PYTHON, Case, case_from
from auditor.errors import AuditorError, NotComparable, in_words, is_interrupt
from auditor.escape import without_address
from auditor.host.boundary import in_host
from auditor.lookup import call_user_code, module_of
from auditor.randomness import as_randomness
from auditor.sources.datasets import Dataset
from auditor.sources.shifts import Shifted, parts_of
from auditor.sources.source import Sampler, Source, load_dataset
from auditor.subjects.estimators import Fit, fresh_copy, with_randomness
from auditor.subjects.own_code import code_of, path_words, user_code
from auditor.subjects.programs import Program
from auditor.subjects.subject import Subject, code_hash, has_text, param_text
from auditor.trials.cell import Cell, declared_resampling, declared_view
from auditor.values import fingerprint

_DEEPEST = 100  # objects inside each other


@in_host
def case_of(cell: Cell, source: Source, *, on_error: str = "stop", memory: int | None = None) -> Case:
    """Return a cell as data, with its source loaded: what tells its trials from those of any other."""
    subject, everything = cell.subject, [*user_code(cell, source)]
    code, parts = code_of(everything), [*parts_of(source)]
    tables = [
        (part.base if isinstance(part, Shifted) else part).rows
        for part in parts
        if isinstance(part, (Dataset, Shifted))
    ]
    has_probe_file = isinstance(cell.probe, str) and cell.view.needs_probe
    case = replace(
        _settled_case(cell, source),
        code=code_hash(subject.fn),
        settings=_settings([subject.fn, *everything]),
        files=code.files,
        versions=code.versions,
        source_code=_code_besides(subject, [part.fn for part in parts if isinstance(part, Sampler)]),
        data=fingerprint(tables) if tables else None,
        view_code=_code_besides(subject, cell.view.functions),
        score_code=_code_besides(subject, [cell.scorer.own] if cell.scorer and cell.scorer.own else []),
        probe_data=fingerprint(load_dataset(str(cell.probe), "bootstrap").rows) if has_probe_file else None,
        on_error=on_error,
        memory=memory,
    )
    return case_from(case.to_json())  # with the defaults themselves, which a record leaves out


def _settled_case(cell: Cell, source: Source) -> Case:
    """Return what was settled for a cell, without digests of code and data, which take longer to find."""
    subject, view = cell.subject, cell.view
    samplers = [part for part in parts_of(source) if isinstance(part, Sampler)]
    return Case(
        question=cell.question,
        target=_named(subject.name, subject.target, [subject.fn]),
        params=params_as_texts(subject.params),
        randomness=subject.randomness,
        private=cell.private,
        source=_named(source.name, source.spec, [part.own or part.fn for part in samplers]),
        size=cell.size,
        sample=cell.sample_kind,
        resample=getattr(source, "resample", None),
        as_=cell.as_,
        view=_named(view.name, view.spec, view.functions),
        probe=cell.probe,
        atol=cell.within.atol if cell.within else 0.0,
        rtol=cell.within.rtol if cell.within else 0.0,
        scale=cell.scale,
        score=_score_name(cell),
        seed=cell.seed,
        path=cell.path,
    )


def _score_name(cell: Cell) -> str | None:
    """Return how outputs are scored; None where nobody has chosen."""
    scorer = cell.scorer
    if scorer is None or (scorer.spec is None and scorer.own is None):
        return None
    return _named(scorer.name, scorer.spec, [scorer.own] if scorer.own else [])


def replay_command(cell: Cell, source: Source, index: int) -> str | None:
    """Return what a shell needs to run this trial again; None where only Python can reach the subject or the source."""
    if cell.command is None:
        return None
    command = command_of(cell, source, cell.command, ("--replay", str(index)))
    return command and " ".join([command, *cell.again])


@in_host
def command_of(
    cell: Cell, source: Source, command: str, more: Sequence[str] = (), *, without: Sequence[str] = ()
) -> str | None:
    """Return what a shell needs to ask a question of this cell; None where only Python can reach its subject or source.

    Fields of the case that are named in `without` are left to the question.
    """
    subject = cell.subject
    if "--inputs" in cell.again:  # no command line can carry the value itself
        subject = replace(
            subject, params={name: one for name, one in subject.params.items() if name not in cell.varies}
        )
    declared = {
        "source": subject.source if isinstance(subject.source, str) else None,
        "size": subject.declares("size"),
        "sample": subject.declared.sample,
        "view": declared_view(subject).name,
        "as_": subject.declared.as_,
        "resample": declared_resampling(subject),
    }
    try:
        case = _settled_case(replace(cell, subject=subject), source)
    except NotComparable:
        return None
    words = case.argv(declared | {name: getattr(case, name) for name in without})
    if words is None:
        return None
    return path_words(cell, source) + shlex.join(["python", "-m", "auditor", command, *words, *more])


@in_host
def params_as_texts(params: Mapping[str, Any]) -> dict[str, str]:
    """Return parameters as texts. A value that no text leads back to, such as a long array, gets a digest behind it."""
    texts = {}
    for name, value in params.items():
        texts[name] = param_text(value) if has_text(value) else f"{param_text(value)} {identity(value)}"
    return texts


def _named(name: str, spec: str | None, things: Sequence[object]) -> str:
    """Return a name that a command line takes, or one that it does not, which says so; with a digest of what it is
    where the name leads nobody to it."""
    if spec is not None:
        return spec
    return f"{name} {IN_PYTHON}" if all(map(leads_back, things)) else f"{name} {identity([*things])}"


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
    own = code_of([subject.fn, module_of(subject.target)]).files
    others = {name: digest for name, digest in code_of(functions).files.items() if own.get(name) != digest}
    return fingerprint([sorted(others.items()), *map(text_of_code, functions)])


def identity(value: object) -> str:
    """Return a digest that is the same in every process; NotComparable where a part has no value to go by."""
    try:
        return call_user_code(lambda: fingerprint(_canonical(value, {})))
    except AuditorError:
        raise
    except BaseException as error:  # of a property, a repr, or an estimator that cannot be copied
        if is_interrupt(error):
            raise
        raise NotComparable(f"to look at what it holds raised {in_words(error)}") from error


def leads_back(thing: object) -> bool:
    """True if its qualified name leads to this very object, in a script or a notebook too."""
    found: object = sys.modules.get(str(getattr(thing, "__module__", None)))
    for step in str(getattr(thing, "__qualname__", "<none>")).split("."):
        found = getattr(found, step, None)
    return found is thing


def text_of_code(fn: Any) -> str | None:
    """Return the text of a function, of a method, or of an object's class; None where there is none to read."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    made = fn if hasattr(fn, "__qualname__") else type(fn)
    try:
        return inspect.getsource(made)
    except (OSError, TypeError):
        return None


def holds_nothing(value: object) -> bool:
    """True for a class or a plain function whose name says all: it has no closure and no defaults."""
    if inspect.isclass(value):
        return True
    return isinstance(value, types.FunctionType) and not (
        value.__closure__ or value.__defaults__ or value.__kwdefaults__
    )


def _canonical(value: Any, seen: dict[int, int]) -> Any:
    """Return a value with the same canonical form in every process, made of containers, numbers and texts."""
    if id(value) in seen:
        return ("as before", seen[id(value)])
    if len(seen) > _DEEPEST:
        raise NotComparable("it holds objects inside each other, more than a hundred deep")
    inside = {**seen, id(value): len(seen)}
    if isinstance(value, Fit):
        return _canonical(_unfitted(value.estimator), seen)
    if isinstance(value, Program):  # its files count by what is in them, and not by where they are
        return ("program", value.target)
    if isinstance(value, functools.partial):
        return ("partial", *(_canonical(part, inside) for part in (value.func, value.args, value.keywords)))
    if isinstance(value, types.MethodType):
        return ("method", _canonical(value.__func__, inside), _canonical(value.__self__, inside))
    if isinstance(value, types.FunctionType):
        code = None if leads_back(value) else _canonical(value.__code__, inside)
        held = [_canonical(_content(cell), inside) for cell in value.__closure__ or ()]
        defaults = [_canonical(part, inside) for part in value.__defaults__ or ()]
        by_name = {name: _canonical(part, inside) for name, part in (value.__kwdefaults__ or {}).items()}
        return ("function", value.__qualname__, code, held, defaults, by_name)
    if isinstance(value, types.CodeType):  # what it does, and not where it stands: neither file nor line
        constants = [_canonical(part, inside) for part in value.co_consts]
        return ("code", value.co_code, value.co_names, value.co_varnames, value.co_freevars, constants)
    if isinstance(value, types.ModuleType):
        return ("module", value.__name__)
    if inspect.isclass(value) and not leads_back(value):
        made = {name: part for name, part in vars(value).items() if isinstance(part, types.FunctionType)}
        return ("class", value.__qualname__, _canonical(made, inside))
    try:
        return ("value", fingerprint(value))
    except NotComparable:  # because of something inside it, such as a lambda
        return _opened(value, inside)


def _opened(value: Any, seen: dict[int, int]) -> Any:
    """Return the parts of a container or an object, each in its canonical form."""
    if isinstance(value, Mapping):
        return ("dict", {_canonical(key, seen): _canonical(part, seen) for key, part in value.items()})
    if isinstance(value, (list, tuple)):
        return ("list", [_canonical(part, seen) for part in value])
    if isinstance(value, (set, frozenset)):
        return ("set", {_canonical(part, seen) for part in value})
    names = [*getattr(value, "__struct_fields__", ()), *getattr(value, "__dict__", ())]
    if not names:
        raise NotComparable(f"nothing tells {without_address(repr(value))} from another object of its class")
    return ("object", type(value).__qualname__, {name: _canonical(getattr(value, name), seen) for name in names})


def _content(cell: types.CellType) -> Any:
    """Return what a cell of a closure holds; None if it is not filled yet."""
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _unfitted(estimator: Any) -> Any:
    """Return the estimator as every run starts with it, for the digest that identifies it: a fresh copy, unfitted, with
    all of its random states set alike."""
    if inspect.isclass(estimator):
        return estimator
    fresh = fresh_copy(estimator, {})
    with_randomness(fresh, as_randomness(0))
    return fresh
