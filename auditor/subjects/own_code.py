"""Which code is the user's own, and which files of it decide what a run does?

The subject's own code (`OwnCode`) is neither installed, nor Python's, nor ours; of a subject that is itself installed,
it is the package that the subject is in.

Files (`code_of`) are found by reading the imports that are written in them, those inside functions too, so that the
answer does not depend on what has run yet; and by what a loaded module holds, for imports whose names are computed.
What is installed (in site-packages) counts by its version, what comes with Python by Python's, and `auditor` by its
own.

Where does a fresh Python have to look for this code (`path_words`)? A fresh `python -m auditor` in this folder has this
folder on its path, and what is installed. A module may be there for other reasons here: PYTHONPATH, pytest's
`pythonpath` and its folders of tests, or a sys.path.insert. A printed command has to name those folders.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.util
import inspect
import os
import shlex
import site
import sys
import sysconfig
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import blake2b
from importlib.machinery import SOURCE_SUFFIXES, ModuleSpec
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from auditor.files import start_folder, whole_path
from auditor.lookup import INSTALLED, file_modules, find_spec, installed, module_of
from auditor.sources.shifts import parts_of
from auditor.sources.source import Sampler, Source
from auditor.subjects.estimators import Fit
from auditor.subjects.programs import program_in

if TYPE_CHECKING:
    from auditor.trials.cell import Cell


_OUR_FOLDER = os.path.dirname(os.path.dirname(__file__)) + os.sep
_TYPED = ("<stdin>", "<string>", "<ipython", "<doctest")  # code that came from no file, by whoever runs the audit


class OwnCode:
    """Knows whether code is the subject's own, and where in its source a frame stands."""

    def __init__(self, fn: object, module: str | None = None) -> None:
        self.fn = fn
        self.module = module if module is not None else str(getattr(function_of(fn), "__module__", None) or "")
        self._home = _package_folder(self.module)
        self._known: dict[str, bool] = {}
        self._places: dict[int, tuple[CodeType, list[bytes]]] = {}  # by the identity of the code, which is held

    def __call__(self, code: CodeType) -> bool:
        return self.is_own_file(code.co_filename)

    def is_own_file(self, path: str) -> bool:
        """True if code in this file is the subject's own."""
        known = self._known.get(path)
        if known is None:
            if path.startswith("<"):
                known = path.startswith(_TYPED)
            elif self._home and path.startswith(self._home):
                known = True
            else:
                known = not path.startswith(_OUR_FOLDER) and not any(place in path for place in INSTALLED)
            self._known[path] = known
        return known

    def frames(self, frame: FrameType | None, base: FrameType | None = None) -> Iterator[FrameType]:
        """Yield the frames of the subject's own code from `frame` up to `base`; `sites` keys draws by their places."""
        while frame is not None and frame is not base:
            if self(frame.f_code):
                yield frame
            frame = frame.f_back

    def place(self, frame: FrameType) -> bytes:
        """Return where the expression that the frame is evaluating begins and ends, counted from its function's first
        line.

        The place is that of the source and not of the bytecode: `f_lasti` moves within an instruction, and on Python
        3.11 to the one before, once the interpreter has specialised it; and the compiler may copy one expression
        (`finally`, a short `return`) to several offsets. Code without columns (python -X no_debug_ranges) has one place
        for each line, and code without lines has one in all.
        """
        code = frame.f_code
        known = self._places.get(id(code))
        if known is None:
            first = code.co_firstlineno
            spans = [
                (line and line - first, end and end - first, *columns) for line, end, *columns in code.co_positions()
            ]
            known = self._places[id(code)] = (code, [repr(span).encode() for span in spans])
        at, places = frame.f_lasti // 2, known[1]
        return places[at] if at < len(places) else b""


def function_of(fn: Any) -> Any:
    """Return the function or class below partials, wrappers, methods, callable objects and estimators."""
    for _ in range(20):
        if isinstance(fn, Fit):
            fn = fn.estimator if inspect.isclass(fn.estimator) else type(fn.estimator)
        elif isinstance(fn, functools.partial):
            fn = fn.func
        elif hasattr(fn, "__wrapped__"):
            fn = fn.__wrapped__
        elif inspect.ismethod(fn):
            fn = fn.__func__
        elif not inspect.isroutine(fn) and not inspect.isclass(fn) and callable(fn):
            fn = type(fn)
        else:
            break
    return fn


def _package_folder(module: str) -> str:
    """Return the folder of the package that a module is in, or its file; empty if it is ours, or has none."""
    top = sys.modules.get(module.partition(".")[0])
    file: str | None = getattr(top, "__file__", None)
    if top is None or file is None or file.startswith(_OUR_FOLDER):
        return ""
    return os.path.dirname(file) + os.sep if hasattr(top, "__path__") else file


_PATH_TO_US = Path(__file__).resolve().parents[2]
_INSTALLED = ("site-packages", "dist-packages")
_PYTHONS = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))
_PLAIN = frozenset({type(None), bool, int, float, str, bytes, tuple, list, dict, set})  # nobody's module
_parsing = threading.Lock()  # Python 3.11 counts the depth of a parse for all threads together


class Code(msgspec.Struct, frozen=True):
    """The files behind some functions, by name with a digest each, and the versions of the packages they import."""

    files: dict[str, str]
    versions: dict[str, str]


def user_code(cell: Cell, source: Source) -> Iterator[object]:
    """Yield everything of the user's that runs in an audit."""
    subject = cell.subject
    fn: Any = subject.fn.estimator if isinstance(subject.fn, Fit) else subject.fn
    yield from (
        fn,
        module_of(subject.target),
        subject.declared.accuracy,
        *(subject.finishing.functions if subject.finishing else ()),
        *cell.view.functions,
        *([cell.scorer.own] if cell.scorer and cell.scorer.own else ()),
        *subject.params.values(),
    )
    yield from (part.fn for part in parts_of(source) if isinstance(part, Sampler))
    for part in (cell.oracle, cell.unit):  # of ours, with what the user gave
        yield from (getattr(part, name) for name in ("fn", "analyst") if hasattr(part, name))


def code_of(things: Iterable[object]) -> Code:
    """Return the code behind functions, classes, estimators, modules and programs; anything else has none."""
    things = [*things]
    files: dict[str, str] = {}
    for thing in things:
        if program := program_in(thing):
            files |= program.digests()
    tops: set[str] = set()
    for name, spec, path in _walk(_modules_of(things)):
        if is_installed(path):
            tops.add(name.partition(".")[0])
            continue
        # pkg/sub.py, and mine.py for a module that was loaded from a file under a name of our making.
        folders = name.split(".") if spec.submodule_search_locations else name.split(".")[:-1]
        shown = "/".join([*folders, Path(str(spec.origin)).name])
        try:
            digest = blake2b(path.read_bytes(), digest_size=16).hexdigest()
        except OSError:
            digest = "unreadable"
        files[shown] = f"{files[shown]}+{digest}" if shown in files else digest  # two files of one name
    return Code(dict(sorted(files.items())), _versions(tops))


def own_files(things: Iterable[object]) -> tuple[list[Path], set[str]]:
    """Return the files behind functions, classes and modules, and the installed modules that these import."""
    walked = [(name, path) for name, _, path in _walk(_modules_of(things))]
    return [path for _, path in walked if not is_installed(path)], {name for name, path in walked if is_installed(path)}


def is_installed(path: Path) -> bool:
    """True if a file is of an installed package or of Python itself, and not the user's own."""
    return any(part in _INSTALLED for part in path.parts) or any(map(path.is_relative_to, _PYTHONS))


def _modules_of(things: Iterable[object]) -> tuple[str, ...]:
    """Return the modules that define things; for what was typed into a notebook, those of the things that it names."""
    found: list[str] = []
    for thing in things:
        while isinstance(thing, functools.partial):
            thing = thing.func
        if isinstance(thing, ModuleType):
            found.append(thing.__name__)
        elif callable(thing):
            made = thing if hasattr(thing, "__qualname__") else type(thing)
            name = getattr(made, "__module__", None)
            if isinstance(name, str) and name != "__main__":
                found.append(name)
            elif (code := getattr(made, "__code__", None)) and (known := getattr(made, "__globals__", None)):
                found += [
                    one
                    for word in code.co_names
                    if known.get(word) is not made
                    for one in _module_behind(known.get(word))
                ]
    return tuple(found)


def _walk(names: Iterable[str], by_file: Collection[str] = ()) -> Iterator[tuple[str, ModuleSpec, Path]]:
    """Yield each module with a file that is imported from these on, down to those that are installed.

    What is found `by_file` is part of no package.
    """
    waiting, seen = [*names], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        top, above = name.partition(".")[0], [*filter(None, [name.rpartition(".")[0]])]
        if top == "auditor" or top in sys.stdlib_module_names:
            continue
        spec = find_spec(name)
        if spec is None or not spec.has_location or spec.origin is None:
            waiting += above
            continue
        path = Path(spec.origin).resolve()
        yield name, spec, path
        if not is_installed(path):
            waiting += [] if name in by_file else above
            waiting += [*_imports(path, spec.parent), *_held(sys.modules.get(name))]


def _module_behind(value: object) -> Iterator[str]:
    """Yield the module that a value is, or that defines it."""
    if type(value) in _PLAIN:
        return
    if isinstance(value, ModuleType):
        yield value.__name__
    elif inspect.isroutine(value) or inspect.isclass(value):
        name = getattr(value, "__module__", None)
        if isinstance(name, str) and name != "__main__":
            yield name


def _held(module: ModuleType | None) -> Iterator[str]:
    """Yield the modules that a loaded one holds, or has things of; one level into its containers.

    Not those inside a package, which it holds as soon as anybody has imported them.
    """
    inside = f"{module.__name__}." if module and hasattr(module, "__path__") else None
    for value in list(vars(module).values()) if module else ():
        if inside and isinstance(value, ModuleType) and value.__name__.startswith(inside):
            continue
        yield from _module_behind(value)
        if type(value) in (dict, list, tuple, set):
            for inner in list(value.values() if type(value) is dict else value):
                yield from _module_behind(inner)


def _imports(path: Path, package: str | None) -> tuple[str, ...]:
    """Return the names that the imports of a source file may mean."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return _parsed_imports(path, status.st_mtime_ns, status.st_size, package) if path.suffix in SOURCE_SUFFIXES else ()


@functools.lru_cache(maxsize=1024)  # every replay command of a record asks for the same files
def _parsed_imports(path: Path, _changed: int, _size: int, package: str | None) -> tuple[str, ...]:
    """Return the modules that a file imports, by its source; the file's time and size are for the cache alone."""
    try:
        with _parsing:
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            with contextlib.suppress(ImportError, ValueError):  # it leads above the topmost package
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package or None)
                found += [base, *(f"{base}.{alias.name}" for alias in node.names if alias.name != "*")]
    return tuple(found)


def _versions(tops: Iterable[str]) -> dict[str, str]:
    """Return versions by distribution; the slow way to find one only where its name is not that of its package."""
    places = installed().places
    return {name: found for top in sorted(tops) for name, found in _versions_of(top, places)}


@functools.lru_cache(maxsize=256)  # to read one takes 3 ms, and every audit asks for numpy's
def _versions_of(top: str, _places: tuple[tuple[str, int], ...]) -> tuple[tuple[str, str], ...]:
    """Return the distributions of a top-level package, each with its version; `_places` is for the cache alone."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return ((top, version(top)),)
    except PackageNotFoundError:
        return tuple((name, version(name)) for name in _distributions().get(top, ()))


@functools.cache  # it reads what every distribution has installed
def _distributions() -> Mapping[str, list[str]]:
    """Return the installed distributions by the top-level packages that they have."""
    from importlib.metadata import packages_distributions

    return packages_distributions()


def path_words(cell: Cell, source: Source) -> str:
    """Return `PYTHONPATH=src `, where a command line needs it to find what this process has found; else ''."""
    here = Path(start_folder())
    named = (_resolved(Path(file).parent) for file in file_modules().values())  # files that the command names
    fresh = {_resolved(here), _PATH_TO_US, *_installed(), *named}
    places = {_resolved(place) for place in sys.path} - fresh - _installed_in_place()
    if not places:
        return ""
    names, by_file = _modules_of(user_code(cell, source)), frozenset(file_modules())
    needed = [root for root in _roots(names, by_file, tuple(sys.path), len(sys.modules)) if root in places]
    if not needed:
        return ""
    words = [str(root.relative_to(here)) if root.is_relative_to(here) else str(root) for root in needed]
    more = {_resolved(place) for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place} - {*needed, here}
    rest = f"{os.pathsep}$PYTHONPATH" if more else ""
    return f"PYTHONPATH={shlex.quote(os.pathsep.join(words))}{rest} "


@functools.lru_cache(maxsize=64)  # every replay command of a record asks; the last two are where the answer comes from
def _roots(names: tuple[str, ...], by_file: frozenset[str], _path: tuple[str, ...], _loaded: int) -> tuple[Path, ...]:
    """Return the folders that must be on the path for modules to be imported by name, but for what is installed."""
    found = dict.fromkeys(
        path.parents[name.count(".") + bool(spec.submodule_search_locations)]
        for name, spec, path in _walk(names, by_file)
        if name not in by_file and not is_installed(path)
    )
    return tuple(found)


def _resolved(place: str | Path) -> Path:
    """Return a folder without links, as an absolute path."""
    return _real(os.path.abspath(whole_path(place)))


@functools.lru_cache(maxsize=256)  # every folder above it is looked at, for every place of sys.path in every record
def _real(place: str) -> Path:
    """Return a path without links."""
    return Path(os.path.realpath(place))


@functools.cache  # sysconfig expands every variable it knows for each of them
def _installed() -> tuple[Path, ...]:
    """Return the folders in which Python and its packages are installed."""
    return tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib"))


@functools.cache  # as an interpreter does when it starts
def _installed_in_place() -> frozenset[Path]:
    """Return the folders that editable installs have named, in *.pth files."""
    named: list[str] = []
    for folder in (*site.getsitepackages(), site.getusersitepackages()):
        for file in Path(folder).glob("*.pth"):
            with contextlib.suppress(OSError):  # nobody else reads it either
                lines = filter(None, map(str.strip, file.read_text(errors="replace").splitlines()))
                named += [os.path.join(folder, line) for line in lines]
    return frozenset(_resolved(place) for place in named if os.path.isdir(place))
