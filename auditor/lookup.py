"""Which object does `module:name` or `path/to/file.py:name` mean? And if none, why not, and what is close.

What is found is called by `call_user_code`, so that what it sets for itself stays with it. numpy's error handling and
decimal's precision are values of a context: all user code of a thread runs in one context of its own, where its
settings last from its import to its last run, and our arithmetic never sees them.
"""

from __future__ import annotations

import contextvars
import functools
import importlib
import importlib.util
import json
import os
import pkgutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from sys import getrecursionlimit
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from auditor.errors import AuditorError, SubjectError, UsageError, in_words, is_interrupt, suggestion
from auditor.escape import visible
from auditor.files import reason, start_folder, whole_path

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


SUBJECTS = "auditor.subjects"  # the entry-point group by which installed packages offer their subjects
CHECK = ("rho", "churn", "loss", "nu", "list_size")  # the questions that the options of `check` choose from
QUESTIONS = "auditor.questions"  # and that of questions
PROGRAM = "exec:"  # what a target begins with that is a program and its words
# What the path of a module has in it that was installed, and not written with the subject.
INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}", os.path.dirname(os.__file__) + os.sep)
SHOWN = ("theorem", "claimed", "size", "expect")  # what `list` shows of a subject

_MOST_DOTS = 100  # in a module's name: Python imports what stands before each of them by recursion
_files: dict[str, Path] = {}  # modules that were loaded from a file: their names lead nowhere


class Offered(NamedTuple):
    """A registered subject. `shown` is what `list` shows of it, where the table of its package says so."""

    target: str
    shown: Mapping[str, object] | None = None


@contextmanager
def loaded_from(path: Path, module: str) -> Iterator[None]:
    """Within this context, find a module that somebody else loaded from a file by that file."""
    _files[module] = path
    try:
        yield
    finally:
        del _files[module]


def file_modules() -> dict[str, str]:
    """Return the files of modules whose names lead nowhere, so that another process can load them as the same names."""
    return {name: str(path) for name, path in _files.items()}


def know_files(files: Mapping[str, str]) -> None:
    """Take note of modules that another process has loaded from files, for further processes."""
    for name, path in files.items():
        _know_file(name, Path(path))


# A module that loads a file in its own place, by its own name.
_STAND_IN = """\
import importlib.util, sys
_spec = importlib.util.spec_from_file_location(__name__, {path!r})
sys.modules[__name__] = _module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
"""
_stand_ins: list[str] = []  # in a host: the folder for them, which is on its path


def lead_to_files(folder: str) -> None:
    """From now on, have processes that somebody's code starts find modules of files too: a pool of joblib's, say, gets
    functions by the names of their modules, and its path from here."""
    _stand_ins[:] = [folder]
    sys.path.append(folder)


def _know_file(name: str, path: Path) -> None:
    _files[name] = path
    if _stand_ins and "." not in name:
        with suppress(OSError):
            Path(_stand_ins[0], f"{name}.py").write_text(_STAND_IN.format(path=str(path)), encoding="utf-8")


def found_by_files(files: Mapping[str, str]) -> None:
    """From now on, import these modules from their files, here and in processes that are started from here."""
    if not all(name in _files for name in files):
        know_files(files)
        sys.meta_path.append(FileFinder(files))


class FileFinder:
    """Imports modules from files that another process had loaded under these names."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return how to load a module that was named by its file; None for any other."""
        if name in self._files:
            return importlib.util.spec_from_file_location(name, self._files[name])
        if any(other.startswith(f"{name}.") for other in self._files):
            return ModuleSpec(name, None, is_package=True)  # pytest makes up packages too
        return None


def is_program(target: object) -> bool:
    """True if a target is a program and its words, exec:Rscript fit.R {sample}, and no name of a Python object."""
    return isinstance(target, str) and target.startswith(PROGRAM)


def short_name(target: str) -> str:
    """Return what stands behind the colon of a target; the words of a program may have colons themselves."""
    return target.removeprefix(PROGRAM) if is_program(target) else target.rpartition(":")[2]


def find_object(target: str) -> Any:
    """Return the object that `module:attr.attr` or `file.py:attr` names; UsageError with a suggestion otherwise."""
    place, _, path = target.rpartition(":")
    if not place or not path:
        raise UsageError(f"{target!r} names no function: write module:function or path/to/file.py:function")
    module = load_file(Path(place)) if place.endswith(".py") else find_module(place)
    found: Any = module
    for step in path.split("."):
        try:
            found = getattr(found, step)
        except AttributeError:
            close = suggestion(step, [name for name in dir(found) if not name.startswith("_")])
            raise UsageError(f"{target!r}: {place} has no {step!r}{close}") from None
        except BaseException as error:  # a module may make what it is asked for
            raise _import_failed(target, error) from error
    return found


def find_module(name: str) -> ModuleType:
    """Import a module or package by its dotted name; UsageError with a suggestion if there is none."""
    if name.count(".") > _MOST_DOTS:
        raise UsageError(f"no module named {name!r}: it has more than {_MOST_DOTS} dots")
    try:
        return call_user_code(importlib.import_module, name)
    except ModuleNotFoundError as error:
        # A module that exists but imports something missing is another story than one that does not exist.
        if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
            raise _import_failed(name, error) from error
        check_own_algorithms(name)
        parent, _, last = error.name.rpartition(".")
        path = getattr(sys.modules.get(parent), "__path__", []) if parent else None
        close = suggestion(last, [module.name for module in pkgutil.iter_modules(path)])
        cure = "" if close or parent else ": install it here, or run from the folder that has it"
        raise UsageError(f"no module named {error.name!r}{close}{cure}") from None
    except BaseException as error:
        raise _import_failed(name, error) from error


def existing_file(path: Path) -> Path:
    """Return the whole path of a file of Python; UsageError with a suggestion if there is none."""
    path = _resolved(path)
    if path in _files.values() and not os.path.lexists(path):
        raise SubjectError(f"the file {str(path)!r} was removed while it was audited: it is needed until the end")
    if not os.path.isfile(path):  # which, unlike a path's own, never raises
        near = [p.name for p in path.parent.glob("*.py")] if os.path.isdir(path.parent) else []
        raise UsageError(f"no file {str(path)!r}{suggestion(path.name, near)}")
    return path


def _resolved(path: Path) -> Path:
    """Return the whole path of a file, without links."""
    try:
        return Path(whole_path(path)).resolve()
    except (OSError, ValueError, RuntimeError) as error:  # too long, a NUL in it, a loop
        raise UsageError(f"no file {str(path)!r}: {reason(error)}") from error


def load_file(path: Path) -> ModuleType:
    """Load a file as a module, under a name that its path decides, so that loading it twice gives one module."""
    path = _resolved(path)
    name = f"_{path.stem}_{blake2b(str(path).encode(), digest_size=4).hexdigest()}"
    if name in sys.modules:  # though the file may be gone by now
        return sys.modules[name]
    existing_file(path)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(name, path)
    assert isinstance(spec, ModuleSpec)
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _know_file(name, path)
    try:
        call_user_code(spec.loader.exec_module, module)
    except BaseException as error:
        del sys.modules[name], _files[name]
        raise _import_failed(str(path), error) from error
    return module


def _import_failed(place: str, error: BaseException) -> AuditorError:
    """Return the error for an import that raised: UsageError, or SubjectError if it would have ended this process."""
    if is_interrupt(error):
        raise error
    kind = UsageError if isinstance(error, Exception) else SubjectError
    return kind(f"importing {place!r} raised {in_words(error)}").caused_by(error)


class Installed(NamedTuple):
    """What installed packages have registered, and where they are: the entries of the path, each with its date."""

    places: tuple[tuple[str, int], ...]
    groups: Mapping[str, Mapping[str, str]]  # the target of each name, by group


_told: list[Installed] = []  # in a host: what whoever asks has found


def know_installed(found: Installed) -> None:
    """Take over what another process has found: to find it takes longer than to start a host."""
    _told[:] = [found]


def installed() -> Installed:
    """Return what installed packages have registered: as another process has found it, if it looked in the same
    places."""
    places = ((place or os.curdir, _changed(place)) for place in sys.path)
    key = tuple(one for one in places if _has_installed(*one))
    return next((one for one in _told if one.places == key), None) or _installed(key)


def registered(group: str) -> Mapping[str, EntryPoint]:
    """Return what installed packages have registered in an entry-point group, by name."""
    from importlib.metadata import EntryPoint

    return {name: EntryPoint(name, target, group) for name, target in installed().groups.get(group, {}).items()}


@functools.lru_cache(maxsize=8)  # reading what is installed takes 20 ms, and a command asks several times
def _installed(places: tuple[tuple[str, int], ...]) -> Installed:
    """Read what is installed; `places` are for the cache, which must notice a new install."""
    from importlib.metadata import entry_points

    found = entry_points()
    groups = {
        group: {one.name: one.value for one in sorted(found.select(group=group), key=lambda one: one.name)}
        for group in (SUBJECTS, QUESTIONS)
    }
    return Installed(places, groups)


@functools.lru_cache(maxsize=256)
def _has_installed(place: str, _changed: int) -> bool:
    """True if an entry of the path may describe what is installed there, which a working folder rarely does."""
    try:
        return any(name.endswith((".dist-info", ".egg-info", ".egg")) for name in os.listdir(place))
    except NotADirectoryError:
        return True  # an archive
    except (OSError, ValueError):
        return False


def packages_of_questions() -> tuple[str, ...]:
    """Return the packages that have registered a question."""
    found = {target.partition(":")[0].partition(".")[0] for target in installed().groups[QUESTIONS].values()}
    return tuple(sorted(found))


def _changed(place: str) -> int:
    """Return when something was last installed into a folder of modules, or removed from it."""
    try:
        return os.stat(place or os.curdir).st_mtime_ns
    except (OSError, ValueError):
        return 0


def registered_subjects(*, runs: bool = True) -> Mapping[str, str]:
    """Return the target of every registered subject by its name; see `offered_subjects`."""
    return {name: one.target for name, one in offered_subjects(runs=runs).items()}


def offered_subjects(*, runs: bool = True) -> Mapping[str, Offered]:
    """Return every registered subject by its name; UsageError if two packages register one name.

    An entry point names one subject, `name = "module:fn"`, or a package, `any = "package"`: then its subjects are those
    that the table beside its map has (`subjects.json`), or else those that it declares. To find these the package is
    imported, unless `runs` is False: then they are left out. A package that is broken is left out with a warning.
    """
    found: dict[str, Offered] = {}
    for point in registered(SUBJECTS).values():
        offered = {point.name: Offered(point.value)} if ":" in point.value else _offered(point.value, runs=runs)
        for name, one in offered.items():
            first = found.setdefault(name, one).target
            if first != one.target:
                raise UsageError(
                    f"{name!r} is registered twice, as {first} and as {one.target}: audit one of them by its target, "
                    "or uninstall one of the two packages"
                )
    return dict(sorted(found.items()))


def packages_without_table() -> list[str]:
    """Return what is registered and has no table of its subjects, so that only its code tells what they declare."""
    found = []
    for point in registered(SUBJECTS).values():
        try:
            offered = {} if ":" in point.value else subjects_of_package(point.value, runs=False)
        except UsageError:
            offered = {}
        if not offered or any(one.shown is None for one in offered.values()):
            found.append(point.value)
    return found


def _offered(package: str, *, runs: bool) -> Mapping[str, Offered]:
    """Return the subjects of a registered package; none, with a warning, if it cannot be read."""
    check_own_algorithms(package)
    try:
        return subjects_of_package(package, runs=runs)
    except AuditorError as error:
        if runs:
            warn_of_package(package, str(error))
        return {}


@functools.cache  # once a package
def warn_of_package(package: str, why: str) -> None:
    """Say on standard error that the subjects of a package cannot be listed, and why."""
    print(f"warning: the subjects of the package {package!r} are left out: {visible(why)}", file=sys.stderr)


def subjects_of_package(package: str, *, runs: bool = True) -> Mapping[str, Offered]:
    """Return the subjects of a registered package, by name, from its table; without one, import it if that `runs`.

    A table has the target of each, or an object with its `target` and what `list` shows of it.
    """
    spec = find_spec(package)
    folder = Path(spec.origin).parent if spec and spec.origin else None
    table = folder / "subjects.json" if folder else None
    if table is None or not table.is_file():
        targets = declared_targets(package, listed=True) if runs else ()
        return {target.rpartition(":")[2]: Offered(target) for target in targets}
    try:
        return _read_table(table, table.stat().st_mtime_ns)
    except (OSError, ValueError, AttributeError, KeyError, RecursionError) as error:
        raise UsageError(f"the table of subjects {table} cannot be read: {reason(error)}") from error


@functools.lru_cache(maxsize=8)  # whoever audits several subjects by their names asks for each
def _read_table(table: Path, _changed: int) -> Mapping[str, Offered]:
    """Return what a package's table of subjects offers, by name; it is read again once its time of change differs."""
    read = json.loads(table.read_text(encoding="utf-8"))
    found = {
        str(name): Offered(str(one["target"]), one if one.keys() >= {*SHOWN} else None)
        if isinstance(one, dict)
        else Offered(str(one))
        for name, one in read.items()
    }
    return MappingProxyType(found)


def find_spec(name: str) -> ModuleSpec | None:
    """Return where a module is. `importlib.util.find_spec` would import what stands before its last dot."""
    if isinstance(loaded := getattr(sys.modules.get(name), "__spec__", None), ModuleSpec):
        return loaded
    above = name.rpartition(".")[0]
    try:
        if not above:
            return importlib.util.find_spec(name)
        package = find_spec(above)
        places = package.submodule_search_locations if package else None
        return None if places is None else PathFinder.find_spec(name, places)  # in None it would look on sys.path
    except (ImportError, ValueError, AttributeError):
        return None


def check_own_algorithms(module: str) -> None:
    """Raise UsageError if `algorithms` is a package of somebody else's, as the package index has one."""
    if module.partition(".")[0] != "algorithms":
        return
    spec = importlib.util.find_spec("algorithms")
    found = Path(spec.origin).parent if spec and spec.origin else None
    ours = Path(__file__).parent.parent / "algorithms"
    if found is None or (found != ours and found.resolve() != ours.resolve()):
        raise UsageError(
            f"the package 'algorithms' found here is {found or 'none'}, not the one that comes with auditor ({ours}): "
            "uninstall the other one, or run from another folder"
        )


def declared_targets(package: str, *, listed: bool = False) -> list[str]:
    """Return the target of every function with a declaration that a package or module defines, in order.

    With `listed`, leave out those that are declared with `listed=False`.
    """
    module = find_module(package)
    parts = [module]
    for info in pkgutil.walk_packages(getattr(module, "__path__", []), f"{module.__name__}."):
        if not info.name.endswith("__main__"):
            parts.append(find_module(info.name))
    return [
        f"{part.__name__}:{name}"
        for part in parts
        for name, value in sorted(vars(part).items())
        if (declared := getattr(value, "__auditor__", None)) is not None
        and getattr(value, "__module__", None) == part.__name__
        and (getattr(declared, "listed", True) or not listed)
    ]


def full_target(target: str, *, runs: bool = True) -> str:
    """Return `module:fn` for a registered name; anything with a colon as it is."""
    if ":" in target:
        return target
    known = registered_subjects(runs=runs)
    if target in known:
        return known[target]
    raise UsageError(
        f"{target!r} is not a registered subject{suggestion(target, known)}: write module:function, "
        "path/to/file.py:function, a package that declares subjects, or a name that `python -m auditor list` shows"
    )


def is_package(target: str) -> bool:
    """True if a target means all that a module or package declares, and not one subject."""
    if ":" in target or target.endswith(".py"):
        return False
    with suppress(UsageError):  # some registered package cannot be read: this one need not be it
        if target in registered_subjects():
            return False
    try:
        return importlib.util.find_spec(target) is not None
    except (ImportError, ValueError):
        return False
    except (Exception, SystemExit):  # by the package above it, whose import will say so
        return True


def importable_name(fn: object) -> str | None:
    """Return the target that leads another process to this very object; None if there is none."""
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)
    if not module or not name or module == "__main__" or "<" in name:
        return None
    found: object = sys.modules.get(module)
    for step in name.split("."):
        found = getattr(found, step, None)
    if found is not fn:
        return None
    file = getattr(sys.modules[module], "__file__", None)
    if module not in _files and not _is_importable(module, file):
        if not file or not file.endswith(".py"):
            return None
        _files[module] = Path(file).absolute()
    if module not in _files:
        return f"{module}:{name}"
    path, here = _files[module], start_folder()
    return f"{path.relative_to(here) if path.is_relative_to(here) else path}:{name}"


def _is_importable(module: str, file: str | None) -> bool:
    """True if this name leads a process that starts in this folder, with this path, to the same file. It need not:
    pytest imports files by names of its own."""
    found = _find_afresh(module)
    if found is None or not file or not found.has_location:
        return found is not None
    return bool(os.path.realpath(file) == os.path.realpath(str(found.origin)))


def _find_afresh(module: str) -> ModuleSpec | None:
    """Return where a fresh process would find a module, whatever is loaded here; nothing is imported.

    On the path first, and in this folder, then by any other finder.
    """
    finders = [one for one in sys.meta_path if one is not PathFinder and not isinstance(one, FileFinder)]
    finders = [one for one in finders if hasattr(one, "find_spec")]
    path: Sequence[str] | None = None
    found: ModuleSpec | None = None
    for depth, _ in enumerate(names := module.split("."), 1):
        name = ".".join(names[:depth])
        found = PathFinder.find_spec(name, [start_folder(), *sys.path] if path is None else path)
        found = found or next(filter(None, (one.find_spec(name, path) for one in finders)), None)
        if found is None:
            return None
        path = found.submodule_search_locations or []
    return found


def module_of(target: str | None) -> ModuleType | None:
    """Return the loaded module that a target names something of; None if it is not loaded."""
    place = "" if is_program(target) else (target or "").rpartition(":")[0]
    if place.endswith(".py"):
        with suppress(OSError, ValueError, RuntimeError):  # no path at all: too long, a NUL in it, a loop
            file = Path(whole_path(place)).resolve()
            place = next((name for name, path in _files.items() if path.resolve() == file), "")
    return sys.modules.get(place)


def loaded_object(target: str) -> Any:
    """Return the object that a target names if its module is loaded already, else None: nothing is imported."""
    found: Any = module_of(target)
    for step in target.rpartition(":")[2].split(".") if found is not None else ():
        try:
            found = getattr(found, step)
        except Exception:  # a module may make what it is asked for
            return None
    return found


def find_file(target: str) -> Path | None:
    """Return the Python file that a target names something of, if it can be found without importing anything."""
    place = "" if is_program(target) else target.rpartition(":")[0]
    if place.endswith(".py"):
        return Path(place)
    if not place or place.count(".") > _MOST_DOTS:
        return None
    try:
        found = _find_afresh(place)
    except Exception:  # no name of a module, or a finder that expects the package above it to be loaded
        return None
    return Path(found.origin) if found and found.origin and found.origin.endswith(".py") else None


T = TypeVar("T")
_is_in_user_code: contextvars.ContextVar[bool] = contextvars.ContextVar("is_in_user_code", default=False)


class _UserContext(threading.local):
    """The context of user code; one a thread, since a context cannot be entered twice."""

    def __init__(self) -> None:
        import decimal

        self.context = contextvars.copy_context()
        self.context.run(_is_in_user_code.set, True)
        self.context.run(decimal.setcontext, decimal.getcontext().copy())  # which is changed in place


_user_context = _UserContext()


def call_user_code(fn: Callable[..., T], *args: Any, **keywords: Any) -> T:
    """Return fn(*args, **keywords), called in the context of user code.

    The depth of recursion that our own calls need comes back after the call.
    """
    if _is_in_user_code.get():  # other user code has called it
        return fn(*args, **keywords)
    depth = getrecursionlimit()
    try:
        return _user_context.context.run(fn, *args, **keywords)
    finally:
        if getrecursionlimit() < depth:
            sys.setrecursionlimit(depth)
