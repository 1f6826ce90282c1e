"""What is being audited? Any function A(sample, r, **params), and what its author declared about it.

The contract: A(sample, r) depends on nothing but its arguments. The two runs of a pair get independent samples and a
fresh r with the same key; A is rho-reproducible if their outputs are the same except with probability rho.
A function with no declarations is a subject too. A parameter `private` without a default is private randomness of the
run: A(sample, r, private). It is independent of r, and the audit chooses whether the two runs of a pair share it.
"""

from __future__ import annotations

import collections.abc
import functools
import importlib.util
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from auditor.errors import BadValue, NotComparable, SubjectError, UsageError, in_words, is_interrupt, suggestion
from auditor.escape import text_of, without_address
from auditor.host.boundary import in_host
from auditor.literals import is_text, literal_or_text
from auditor.lookup import call_user_code, find_module, find_object, full_target, importable_name, is_program, load_file
from auditor.randomness import KINDS, Key, kind_of
from auditor.sources.sample import Own, Sample
from auditor.sources.source import Names
from auditor.subjects.estimators import Fit, check_params, default_view, is_estimator, made_with
from auditor.subjects.finishing import Composed, Finishing, check_steps, find_finishing
from auditor.subjects.fitting import is_made_of_data
from auditor.subjects.objects import has_object, object_text, read_object
from auditor.subjects.programs import Program, program_in, read_program, with_names
from auditor.subjects.signature import PRIVATE, as_learner, check_signature, checked_function, takes_sample_and_r
from auditor.values import describe, fingerprint, same

F = TypeVar("F", bound=Callable[..., Any])
Declared = Any  # a value, or a function of the parameters it names


class Declaration(msgspec.Struct, frozen=True):
    """What an author declares about a subject. Every field is optional, and command-line options override it."""

    source: object = None
    size: Declared = None
    claimed: Declared = None
    delta: Declared = None  # the share of runs that may be inaccurate
    accuracy: Callable[..., bool] | None = None  # accuracy(output, *, source, r, params)
    theorem: str | None = None
    expect: str = "pass"
    reason: str | None = None
    sample: str = "rows"  # or "counts"
    note: Declared = None  # a line for the report, for example what a run costs
    view: object = None  # the part of the output that is compared
    promise: Callable[..., float | None] | None = None  # the upper bound on rho that the theorem gives at a size
    bounds: Mapping[str, Callable[..., float | None]] = {}  # lower bounds on rho for every algorithm, by name
    plain: Declared = None  # rows that the same accuracy takes without reproducibility
    core: Callable[..., Any] | None = None  # core(sample[, r]): everything before the last step
    finish: Callable[..., Any] | None = None  # finish(core, r): the last step, where the shared randomness acts
    mismatch: Callable[..., Any] | None = None  # mismatch(first, second): how likely two cores finish differently
    mismatch_is: str = "exact"  # or "upper": mismatch is an upper bound
    asks: Mapping[str, Declared] = {}  # the options of `check` for a claim about something else than rho
    as_: str | None = None  # what the rows of a file become: pandas, polars, columns or numpy
    resample: Declared = None  # how samples are drawn from a data set
    words: Declared = None  # what a report calls its answers: see `Wording`
    listed: bool = True  # whether `list` shows it, and a registered package offers it by name


def subject(
    *,
    source: object = None,
    size: Declared = None,
    claimed: Declared = None,
    delta: Declared = None,
    accuracy: Callable[..., bool] | None = None,
    theorem: str | None = None,
    expect: str = "pass",
    reason: str | None = None,
    sample: str = "rows",
    note: Declared = None,
    view: object = None,
    promise: Callable[..., float | None] | None = None,
    bounds: Mapping[str, Callable[..., float | None]] | None = None,
    plain: Declared = None,
    core: Callable[..., Any] | None = None,
    finish: Callable[..., Any] | None = None,
    mismatch: Callable[..., Any] | None = None,
    mismatch_is: str = "exact",
    asks: Mapping[str, Declared] | None = None,
    as_: str | None = None,
    resample: Declared = None,
    words: Declared = None,
    listed: bool = True,
) -> Callable[[F], F]:
    """Declare what is known of a learner; the function itself stays as it is.

    `source` and `size` are what samples are drawn from, and their number of rows. `claimed` is the rho that `theorem`
    promises, and the target where an audit is given none. accuracy(output, *, source, r, params) judges an output, and
    `delta` is the share of runs that may be inaccurate. `expect` says how the audit must end where a package is
    audited: "pass", "fail" or "error", the latter two with a `reason`. `view` is the part of an output that is
    compared, and `note` is a sentence for the report.

    `size`, `claimed`, `delta`, `plain` and `source` are values, or functions that name the parameters of A they depend
    on. `sample` is the kind of sample that an audit uses unless told otherwise, "rows" or "counts". `promise` is a
    function of `size` and parameters: the upper bound on rho that the theorem gives. `bounds` maps a name such as
    "Lemma 7.2" to such a function for a lower bound that holds for every algorithm of the same task. Both kinds of
    function may return None where the theorem says nothing.

    If the shared randomness acts in the last step only, `core`, `finish` and `mismatch` declare that step: A(sample, r)
    is finish(core(sample, r.child("core")), r.child("finish")), or finish(core(sample), r) for a core that takes no r;
    mismatch(first, second) is the probability that two cores finish differently, or an upper bound of it with
    `mismatch_is="upper"`. Each step is given the parameters of A that it names. An audit of rho then takes several
    times fewer pairs.

    `asks` holds the options of `check` for a claim about something else than rho, such as {"list_size": 3, "eta": 0.1};
    its values are numbers or functions of parameters. `theorems` and `gate` ask these of the subject.
    `as_` says what a csv or parquet file is read as, "pandas", "polars", "columns" (a dict of arrays) or "numpy", and
    `resample`, a text or a function of parameters, how samples are drawn from a data set: "groups(patient)".
    `words` are what a report calls the answers: {"rows": "items", "differ": "crown different winners", "answer":
    "winner", "sister": "r_winner"}, or a function of parameters that returns them (`auditor.subjects.subject`).
    `listed=False` keeps the subject of a registered package out of `list`.
    """
    given = {name: value for name, value in locals().items() if value is not None}
    check_sample_kind(sample)
    check_steps(core, finish, mismatch, mismatch_is)
    if expect not in ("pass", "fail", "error"):
        raise UsageError(f"expect={expect!r} must be one of pass, fail, error")
    if expect != "pass" and not reason:
        raise UsageError(f"expect={expect!r} needs a reason: why is this subject no pass?")
    declaration = Declaration(**given)

    def declare(fn: F) -> F:
        steps = {}
        if isinstance(fn, Composed):
            if core not in (None, fn.core) or finish not in (None, fn.finish):
                raise UsageError("a composed subject already has its core and finish: declare neither of them again")
            steps = {name: getattr(fn, name) for name in ("core", "finish", "mismatch", "mismatch_is")}
        fn.__auditor__ = replace(declaration, **steps)  # type: ignore[attr-defined]
        return fn

    return declare


def composed(
    *,
    core: Callable[..., Any],
    finish: Callable[..., Any],
    mismatch: Callable[..., Any] | None = None,
    mismatch_is: str = "exact",
    defaults: Mapping[str, Any] | None = None,
    **declared: Any,
) -> Composed:
    """Return the subject A(sample, r) = finish(core(sample), r).

        rounded_mean = auditor.composed(core=core, finish=finish, mismatch=mismatch, source="norm", size=400)

    The steps, and everything else that may be declared, are those of `auditor.subject`. A core that takes r gets
    r.child("core"), and the finish then gets r.child("finish"). The subject has no body that could differ from its
    steps, so an audit has nothing to compare and runs each run once.

    Its parameters are those that a step takes by name or with a default; a default in one step holds for all steps.
    `defaults` adds parameters, for example one that only `size` uses, or replaces defaults of the steps.
    """
    for name, step in (("core", core), ("finish", finish)):
        if not callable(step):
            raise UsageError(f"{name}={step!r} must be a function: a composed subject is finish(core(sample), r)")
    check_steps(core, finish, mismatch, mismatch_is)
    module = sys._getframe(1).f_globals.get("__name__", "__main__")  # the caller's module, as for a namedtuple
    made = Composed(core, finish, mismatch, mismatch_is, defaults or {}, module)
    return subject(**declared)(made)


def check_sample_kind(kind: str) -> str:
    """Return what a subject is given, "rows" or "counts"; BadValue for anything else."""
    if kind not in ("rows", "counts"):
        raise BadValue("sample", kind, f"must be rows or counts{suggestion(kind, ('rows', 'counts'))}")
    return kind


class Subject(msgspec.Struct, frozen=True):
    """A learner with everything that a run of it needs besides the sample and r."""

    fn: Callable[..., Any]
    name: str
    target: str | None  # module:name, by which another process finds it; None for a closure or a notebook's function
    params: Mapping[str, Any]  # the parameters that the caller gave
    settings: Mapping[str, Any]  # all parameters, defaults included
    randomness: str
    takes_sample: bool = False  # its first parameter is annotated auditor.Sample
    default_view: object = "output"
    private: str | None = None  # the kind of its private randomness (a kind of r), if it has any
    declared: Declaration = msgspec.field(default_factory=Declaration)
    finishing: Finishing | None = None  # its declared last step, if the shared randomness acts in that alone

    @property
    def is_reachable(self) -> bool:
        """True if a command line can name this subject with these parameters."""
        return self.target is not None and have_texts(self.params)

    def run(self, sample: Any, key: Key, private: Key | None = None, own: Own | None = None, **asked: Any) -> Any:
        """Run the subject once, with an r made from `key`; a subject that takes a Sample gets the rows as one."""
        if self.takes_sample:
            sample = Sample.of(sample, own)
        if self.private:
            asked["private"] = KINDS[self.private](private or key.child(PRIVATE))
        given = {**self.params, **asked} if asked else self.params
        return call_user_code(self.fn, sample, KINDS[self.randomness](key), **given)

    def with_names(self, names: Names | None) -> Subject:
        """Return this subject with names for the columns of its samples; only a program needs them."""
        if program_in(self.fn) is None:
            return self
        fn = with_names(self.fn, names)
        finishing = find_finishing(fn, self.declared, self.name, self.settings, [PRIVATE] if self.private else [])
        return replace(self, fn=fn, finishing=finishing)

    @property
    def unfinished(self) -> Subject:
        """This subject without its last step: its runs return cores."""
        assert self.finishing is not None
        return replace(self, fn=self.finishing.of(self.settings).run)

    @in_host
    def declares(self, name: str) -> Any:
        """Return a declared value; a declared function is evaluated at this subject's parameters."""
        return self._at_parameters(f"declared {name}", getattr(self.declared, name))

    @property
    def source(self) -> object:
        """The declared source; a function of parameters is evaluated, but fn(rng, size) is a source itself."""
        return _declared_source(self)

    @property
    def asks(self) -> dict[str, Any]:
        """The declared options of `check`, if the claim is about something else than rho."""
        return _declared_asks(self) if self.declared.asks else {}

    @in_host
    def promised(self, size: int) -> float | None:
        """Return the upper bound on rho that the theorem gives at this size, or None."""
        value: float | None = self._at_parameters("promise", self.declared.promise, size=size)
        return value

    @in_host
    def bound(self, name: str, size: int) -> float | None:
        """Return the declared lower bound on rho of this name at this size, or None where it says nothing."""
        value: float | None = self._at_parameters(f"bound {name!r}", self.declared.bounds[name], size=size)
        return value

    def bounds(self, size: int) -> dict[str, float]:
        """Return the declared lower bounds that say something at this size, by name."""
        values = {name: self.bound(name, size) for name in self.declared.bounds}
        return {name: value for name, value in values.items() if value is not None}

    def _at_parameters(self, what: str, value: Any, **more: Any) -> Any:
        """Return `value`, or if it is a function its value at this subject's parameters and at `more`."""
        if not callable(value):
            return value
        known = {**self.settings, **more}
        fixed = value.keywords if isinstance(value, functools.partial) else {}
        asked = inspect.signature(value).parameters.values()
        wanted = [p.name for p in asked if p.name not in fixed and (p.name in known or p.default is p.empty)]
        for key in wanted:
            if key not in known:
                raise UsageError(f"{self.name}: its {what} asks for {key!r}, and it has no parameter {key!r}")
        try:
            return call_user_code(value, **{key: known[key] for key in wanted})
        except (ValueError, UsageError) as error:
            raise UsageError(f"{self.name}: {error}") from error
        except ArithmeticError as error:
            words = f"its {what} cannot be computed at these parameters ({in_words(error)}): use less extreme ones"
            raise UsageError(f"{self.name}: {words}") from error
        except BaseException as error:
            if is_interrupt(error):
                raise
            kind = UsageError if isinstance(error, Exception) else SubjectError
            words = f"{self.name}: its {what} raised {in_words(error)}"
            raise kind(words).caused_by(error) from error

    def is_accurate(self, output: Any, source: Any, key: Key) -> bool | None:
        """Return the verdict of the author's accuracy oracle on one output; None without an oracle."""
        if self.declared.accuracy is None:
            return None
        r = KINDS[self.randomness](key)
        return bool(call_user_code(self.declared.accuracy, output, source=source, r=r, params=self.settings))


@in_host
def load_subject(
    target: str | Callable[..., Any],
    params: Mapping[str, Any] | None = None,
    *,
    texts: Mapping[str, str] | None = None,
    randomness: str | None = None,
) -> Subject:
    """Return the subject of a target or a function; `texts` are parameters as typed on the command line."""
    if is_program(target):
        target = read_program(str(target))
    name = settled_target(target) if isinstance(target, str) else importable_name(target)
    name = target.target if isinstance(target, Program) else name
    fn = find_object(name) if isinstance(target, str) and name else target
    shown = name or getattr(fn, "__qualname__", None) or without_address(text_of(fn))
    if is_estimator(fn):
        if randomness not in (None, "Generator"):
            raise UsageError(f"{shown} is an estimator: r becomes its random_state, and --randomness has no say")
        given = {key: parse_param(text) for key, text in (texts or {}).items()}
        return _load_estimator(fn, shown, name, {**(params or {}), **given})
    fn = checked_function(fn, shown)
    if inspect.iscoroutinefunction(fn) or inspect.isgeneratorfunction(fn):
        raise UsageError(f"{shown} is a coroutine or a generator: an audit needs a function that returns its output")
    _check_wrapping(fn, shown)
    hints = _hints(fn)
    given = dict(params or {}) | {key: parse_param(text, hints.get(key)) for key, text in (texts or {}).items()}
    _check_printable(shown, given)
    if isinstance(fn, Program):
        fn.check(given, randomness)
    settings, roles = check_signature(fn, shown, given, hints, randomness)
    kind, takes_sample = roles.kind, hints.get(roles.data) is Sample
    declared = _declaration(fn, shown)
    private = kind_of(hints.get(PRIVATE)) if PRIVATE not in settings and _has_private(fn) else None
    finishing = find_finishing(fn, declared, shown, settings, [PRIVATE] if private else [])
    if isinstance(fn, Composed) and fn.steps.splits and kind != "Generator":
        raise UsageError(f"{shown}: its core takes r, so that core and finish get children of r: it cannot be {kind}")
    learner = as_learner(fn, roles)
    subject = Subject(learner, shown, name, given, settings, kind, takes_sample, private=private, declared=declared)
    view = "attr(params)" if roles.is_fitted else subject.default_view
    return replace(subject, finishing=finishing, default_view=view)


@in_host
def _declared_source(subject: Subject) -> object:
    """Return the source that the subject's author declared, at the subject's parameters where it depends on them."""
    value = subject.declared.source
    asked = inspect.signature(value).parameters.keys() if inspect.isfunction(value) else ()
    return subject._at_parameters("declared source", value) if asked and asked <= subject.settings.keys() else value


@in_host
def _declared_asks(subject: Subject) -> dict[str, Any]:
    """Return the questions that the subject's author declared, at the subject's parameters."""
    return {name: subject._at_parameters(f"asked {name}", value) for name, value in subject.declared.asks.items()}


def _declaration(fn: object, shown: str) -> Declaration:
    """Return what @auditor.subject declared of a function; an empty declaration where there is none."""
    found = getattr(fn, "__auditor__", Declaration())
    if isinstance(found, Declaration):
        return found
    raise UsageError(
        f"{shown}.__auditor__={describe(found)} must be what @auditor.subject(...) declares: write that above it, or "
        "give the attribute another name"
    )


def _check_wrapping(fn: Callable[..., Any], shown: str) -> None:
    """Refuse a function whose `__wrapped__` leads in a circle: reading its annotations would never end."""
    try:
        inspect.unwrap(fn)
    except ValueError as error:
        words = f"{shown} wraps itself: its __wrapped__ must lead to the function underneath"
        raise UsageError(f"{words}; functools.wraps sets it so, and del takes it away") from error


def _check_printable(shown: str, given: Mapping[str, Any]) -> None:
    """Refuse integers of more than about 4,200 digits (14,000 bits): Python prints up to 4,300, and records and
    commands must show them."""
    for name, value in given.items():
        if isinstance(value, int) and value.bit_length() > 14_000:
            raise UsageError(f"{shown}: parameter {name} has more than 4,200 digits: use a smaller number")


def _has_private(fn: Callable[..., Any]) -> bool:
    """True if a function takes private randomness."""
    try:
        return PRIVATE in inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return False


def _load_estimator(estimator: Any, shown: str, name: str | None, given: dict[str, Any]) -> Subject:
    """Return the subject of an estimator: anything with fit, with its default view."""
    settings = check_params(estimator, shown, given)
    made = next(made_with(Fit(estimator), given), estimator)  # a class cannot tell what its parts can do
    view = default_view(estimator if is_made_of_data(estimator) else made)
    declared = _declaration(estimator, shown)
    return Subject(Fit(estimator), shown, name, given, settings, "Generator", default_view=view, declared=declared)


def _hints(fn: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function by parameter; of a subject made of two steps, those of both."""
    if isinstance(fn, Composed):  # the core knows what a sample is, and the finish what r is
        steps = [fn.finish, fn.core, *([fn.mismatch] if fn.mismatch else [])]
        found = {name: hint for step in reversed(steps) for name, hint in _hints(step).items()}
        sample = next(iter(inspect.signature(fn).parameters))
        return {**found, sample: _hints(fn.core).get(sample)}
    try:
        return typing.get_type_hints(fn)
    except Exception:  # an annotation that cannot be resolved here is no reason not to audit
        return {name: _hint(fn, name, note) for name, note in getattr(fn, "__annotations__", {}).items()}


def _hint(fn: Callable[..., Any], name: str, note: object) -> object:
    """Resolve one annotation by itself, so that another one that cannot be resolved does not hide it."""
    try:
        alone = types.SimpleNamespace(__annotations__={name: note})
        return typing.get_type_hints(alone, globalns=getattr(fn, "__globals__", {}))[name]
    except Exception:
        return note


@in_host
def parse_param(text: str, annotation: object = None) -> Any:
    """Return the value of a parameter typed as text: a Python literal, `module:fn` for a Callable, `module:Class()`,
    alone or in a list, or the text."""
    if ":" in text and "(" in text and has_object(text):
        return read_object(text)
    if ":" in text and _is_callable_type(annotation):
        return find_object(text)
    return literal_or_text(text)


def _is_callable_type(annotation: object) -> bool:
    """True if an annotation says that a parameter takes a function."""
    options = (annotation, *typing.get_args(annotation)) if annotation else ()
    return any(typing.get_origin(o) is collections.abc.Callable or o is collections.abc.Callable for o in options)


def param_text(value: object) -> str:
    """Return what to type after --param NAME= to get this value back."""
    if isinstance(value, str):
        return value if value.isprintable() and is_text(value) else repr(value)
    if made := object_text(value):
        return made
    if callable(value):
        return importable_name(value) or without_address(text_of(value))
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "1e999" if value > 0 else "-1e999"  # the literals that read as infinity
    return without_address(text_of(value))


@in_host
def have_texts(params: Mapping[str, Any]) -> bool:
    """True if each of these parameters has a text; see `has_text`."""
    return all(map(has_text, params.values()))


def has_text(value: object) -> bool:
    """True if typing `param_text(value)` gives this value again in another process."""
    if callable(value) and object_text(value) is None:
        return importable_name(value) is not None
    try:
        return same(parse_param(param_text(value)), value)
    except (UsageError, NotComparable, RecursionError):  # it holds a lambda, say, or is nested too deeply
        return False


@in_host
def code_hash(fn: Callable[..., Any]) -> str | None:
    """Return a hash of the file that defines fn, by which a replay notices that the code has changed."""
    if isinstance(fn, Fit):
        fn = fn.estimator if inspect.isclass(fn.estimator) else type(fn.estimator)
    while isinstance(fn, functools.partial):
        fn = fn.func
    if isinstance(fn, Composed):
        module: Any = sys.modules.get(fn.__module__)
        fn = module if getattr(module, "__file__", None) else fn.core
    if isinstance(fn, Program):
        return fingerprint(fn.digests()) if fn.files else None
    try:
        path = inspect.getsourcefile(inspect.unwrap(fn))
        body = Path(path).read_bytes() if path else inspect.getsource(fn).encode()
    except (TypeError, OSError):
        return None
    return blake2b(body, digest_size=16).hexdigest()


class Wording(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a report calls a subject's answers: the words that its author declares, as data.

        words={"rows": "items", "differ": "crown different winners", "answer": "winner", "sister": "r_winner"}

    A report then says "Two redraws of these 500 items crown different winners in about 1 of 7 cases", and where the
    audit fails it looks for what would hold: the sister, and more rows.
    """

    differ: str  # what two samples do whose answers differ: "crown different winners"
    rows: str = "rows"  # what a sample is made of
    answer: str = "answer"  # what an answer is: "winner"
    element: str = "{}"  # a part of an answer, by its name: "the rank of {}"
    chosen: str = "is chosen"  # what a name is that an answer has: "is among the best"
    values: dict[str, str] = {}  # what an answer means, by its text: {"True": "ash beats birch"}
    sister: str = ""  # the reproducible subject that answers the same question
    price: str = ""  # what the sister costs, as a sentence; the sister's own words go before it
    tune: dict[str, list[float]] = {}  # values of a parameter of the sister to try in turn; if none, what repair finds
    counts_rows: bool = True  # whether more rows would help, and a failed audit looks for how many


@in_host
def wording_of(subject: Subject) -> Wording | None:
    """Return the declared words at a subject's parameters; None where there are none."""
    found: Any = subject.declares("words")
    if found is None:
        return None
    try:
        return msgspec.convert(dict(found) if isinstance(found, Mapping) else found, Wording)
    except msgspec.ValidationError as error:
        known = ", ".join(Wording.__struct_fields__)
        raise UsageError(
            f"{subject.name} declares words={found!r}, which must map names to texts ({in_words(error)}): {known}"
        ) from error


_SHOWN = 8  # names in a message


def settled_target(target: str) -> str:
    """Return the `module:fn` that was typed; UsageError that says what to type instead."""
    if is_program(target):
        return target
    if "::" in target:
        place, _, rest = target.partition("::")
        raise UsageError(f"{target!r} has two colons: write {place}:{_learner_in(rest.replace('::', '.'))}")
    try:
        return full_target(target)
    except UsageError as error:
        raise UsageError(_meant(target) or str(error)) from None


def _meant(target: str) -> str | None:
    """Return a sentence with the target to type; None if nothing is known about what was typed."""
    if target.endswith(".py"):
        return what_it_has(load_file(Path(target)), target)
    place, dot, _ = target.rpartition(".")
    while dot:
        if module := _module(place):
            return _without_colon(module, place, target.removeprefix(f"{place}."))
        place, dot, _ = place.rpartition(".")
    return None


def _module(place: str) -> ModuleType | None:
    """Return the module of a name or a file; None if there is none."""
    if place.endswith(".py"):
        return load_file(Path(place))
    try:
        found = importlib.util.find_spec(place)
    except (ImportError, ValueError):
        return None
    return find_module(place) if found else None


def _without_colon(module: ModuleType, place: str, path: str) -> str:
    """Say where the colon belongs in `package.Class` or `module.fn`: between the module and what it holds."""
    first = path.partition(".")[0]
    if hasattr(module, first):
        return f"{place}.{path} has no colon: write {place}:{_learner_in(path)}"
    close = suggestion(first, [name for name in dir(module) if not name.startswith("_")])
    return f"{place}.{path} has no colon, and {place} has no {first!r}{close}: write {place}:function"


def _learner_in(path: str) -> str:
    """Return the path to audit: for `Class.fit` the class, since the method has no object."""
    return path.removesuffix(".fit")


def what_it_has(module: ModuleType, place: str) -> str:
    """Say which learners a module has, to somebody who typed the module alone."""
    if names := candidates(module):
        return f"{place} has {_listed(names)}: write {place}:{names[0]}"
    functions = [name for name, value in _own(module) if inspect.isfunction(value)]
    others = f"; it has {_listed(functions)}" if functions else ""
    write = f"write def learn(sample, r) in it, and audit {place}:learn"
    return f"{place} has no function of (sample, r) and no estimator{others}: {write}"


def _listed(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def candidates(module: ModuleType) -> list[str]:
    """Return the names that can be audited: functions of (sample, r) first, then objects with fit, then classes."""
    own = [*_own(module)]
    made = ((name, value) for name, value in own if inspect.isfunction(value) or isinstance(value, Composed))
    functions = [name for name, value in made if takes_sample_and_r(value)]
    fits = [(inspect.isclass(value), name) for name, value in own if is_estimator(value)]
    return [*functions, *(name for _, name in sorted(fits))]


def _own(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Yield the public names that a module defines itself or lists in __all__."""
    offered = getattr(module, "__all__", ())
    for name, value in vars(module).items():
        made = inspect.isroutine(value) or inspect.isclass(value) or isinstance(value, Composed)
        if made and name not in offered and getattr(value, "__module__", None) != module.__name__:
            continue
        if not name.startswith("_") and not inspect.ismodule(value):
            yield name, value
