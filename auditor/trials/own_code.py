"""Which code decides what a run does? Every file that a subject's module imports, down to what is installed.

Files are found by reading the imports that are written in them, those inside functions too, so that the answer does
not depend on what has run yet; and by what a loaded module holds, for imports whose names are computed. What is
installed (in site-packages) counts by its version, what comes with Python by Python's, and `auditor` by its own.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import sys
import sysconfig
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import blake2b
from importlib.machinery import SOURCE_SUFFIXES, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

import msgspec

_INSTALLED = ("site-packages", "dist-packages")
_PYTHONS = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))
_parsing = threading.Lock()  # Python 3.11 counts the depth of a parse for all threads together


class Code(msgspec.Struct, frozen=True):
    """`files` by name with a hash each, `versions` of the installed packages that they import."""

    files: dict[str, str]
    versions: dict[str, str]


def code_of(things: Iterable[object]) -> Code:
    """The code behind functions, classes, estimators and modules; what is none of these has none."""
    files: dict[str, str] = {}
    installed: set[str] = set()
    for name, spec, path in _walked(_defined(things)):
        if is_installed(path):
            installed.add(name.partition(".")[0])
        else:
            _add(files, _shown(name, spec), path)
    return Code(dict(sorted(files.items())), _versions(installed))


def own_files(things: Iterable[object]) -> tuple[list[Path], set[str]]:
    """The files of that code, and the names of installed modules that it imports."""
    walked = [(name, path) for name, _, path in _walked(_defined(things))]
    return [path for _, path in walked if not is_installed(path)], {name for name, path in walked if is_installed(path)}


def roots_of(things: Iterable[object], by_file: Collection[str]) -> list[Path]:
    """The folders that must be on the path for that code to be imported by name, but for what is installed; what is
    found `by_file` needs none for itself."""
    return [*_roots(_defined(things), frozenset(by_file), tuple(sys.path), len(sys.modules))]


@functools.lru_cache(maxsize=64)  # every replay command of a record asks; the last two are where the answer comes from
def _roots(names: tuple[str, ...], by_file: frozenset[str], _path: tuple[str, ...], _loaded: int) -> tuple[Path, ...]:
    found = dict.fromkeys(
        path.parents[name.count(".") + bool(spec.submodule_search_locations)]
        for name, spec, path in _walked(names, by_file)
        if name not in by_file and not is_installed(path)
    )
    return tuple(found)


def _defined(things: Iterable[object]) -> tuple[str, ...]:
    return tuple(name for thing in things for name in _modules_of(thing))


def _walked(names: Iterable[str], by_file: Collection[str] = ()) -> Iterator[tuple[str, ModuleSpec, Path]]:
    """Every module with a file, down to the first that is installed."""
    seen: set[str] = set()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        top = name.partition(".")[0]
        if name in seen or top == "auditor" or top in sys.stdlib_module_names:
            continue
        seen.add(name)
        spec = _find(name)
        if spec is None or not spec.has_location or spec.origin is None:
            waiting += _parents(name)
            continue
        path = Path(spec.origin).resolve()
        yield name, spec, path
        if not is_installed(path):
            waiting += [] if name in by_file else _parents(name)
            waiting += [*_written(path, spec), *_held(sys.modules.get(name))]


def _modules_of(thing: object) -> Iterator[str]:
    """Where a thing is defined; for what was typed into a notebook, where that which it names is."""
    while isinstance(thing, functools.partial):
        thing = thing.func
    if isinstance(thing, ModuleType):
        yield thing.__name__
        return
    if not callable(thing):
        return
    made = thing if hasattr(thing, "__qualname__") else type(thing)
    name = getattr(made, "__module__", None)
    if isinstance(name, str) and name != "__main__":
        yield name
    elif (code := getattr(made, "__code__", None)) and (known := getattr(made, "__globals__", None)):
        for word in code.co_names:
            if known.get(word) is not made:
                yield from _home(known.get(word))


def _home(value: object) -> Iterator[str]:
    """The module that a value is, or that defines it."""
    if isinstance(value, ModuleType):
        yield value.__name__
    elif inspect.isroutine(value) or inspect.isclass(value):
        name = getattr(value, "__module__", None)
        if isinstance(name, str) and name != "__main__":
            yield name


def _held(module: ModuleType | None) -> Iterator[str]:
    """The modules that a loaded one holds or has things of; one level into its containers. Not those inside a package,
    which it holds as soon as anybody has imported them."""
    inside = f"{module.__name__}." if module and hasattr(module, "__path__") else None
    for value in list(vars(module).values()) if module else ():
        if inside and isinstance(value, ModuleType) and value.__name__.startswith(inside):
            continue
        yield from _home(value)
        if type(value) in (dict, list, tuple, set):
            for inner in list(value.values() if type(value) is dict else value):
                yield from _home(inner)


def _parents(name: str) -> list[str]:
    above = name.rpartition(".")[0]
    return [above] if above else []


def _find(name: str) -> ModuleSpec | None:
    """Where a module is, without importing it."""
    loaded = getattr(sys.modules.get(name), "__spec__", None)
    if isinstance(loaded, ModuleSpec):
        return loaded
    above = name.rpartition(".")[0]
    try:
        if not above:
            return importlib.util.find_spec(name)
        package = _find(above)
        return PathFinder.find_spec(name, package.submodule_search_locations) if package else None
    except (ImportError, ValueError, AttributeError):
        return None


def is_installed(path: Path) -> bool:
    return any(part in _INSTALLED for part in path.parts) or any(map(path.is_relative_to, _PYTHONS))


def _shown(name: str, spec: ModuleSpec) -> str:
    """pkg/sub.py, and mine.py for a module that was loaded from a file under a name of our making."""
    path = Path(str(spec.origin))
    folders = name.split(".") if spec.submodule_search_locations else name.split(".")[:-1]
    return "/".join([*folders, path.name])


def _add(files: dict[str, str], name: str, path: Path) -> None:
    try:
        found = blake2b(path.read_bytes(), digest_size=16).hexdigest()
    except OSError:
        found = "unreadable"
    files[name] = f"{files[name]}+{found}" if name in files else found  # two files of one name


def _written(path: Path, spec: ModuleSpec) -> tuple[str, ...]:
    """The names that the imports of a source file may mean."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return _imports(path, status.st_mtime_ns, status.st_size, spec.parent) if path.suffix in SOURCE_SUFFIXES else ()


@functools.lru_cache(maxsize=1024)  # every replay command of a record asks for the same files
def _imports(path: Path, _changed: int, _size: int, package: str | None) -> tuple[str, ...]:
    try:
        with _parsing:
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(name for node in ast.walk(tree) for name in _meant(node, package))


def _meant(node: ast.AST, package: str | None) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and (base := _base(node, package)):
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names if alias.name != "*")


def _base(node: ast.ImportFrom, package: str | None) -> str | None:
    try:
        return importlib.util.resolve_name("." * node.level + (node.module or ""), package or None)
    except (ImportError, ValueError):
        return None


def _versions(installed: Iterable[str]) -> dict[str, str]:
    """By distribution; the slow way to find one only where its name is another than its package's."""
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, str] = {}
    for top in sorted(installed):
        try:
            found[top] = version(top)
        except PackageNotFoundError:
            found.update((name, version(name)) for name in _distributions().get(top, ()))
    return found


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    """By package; looked up once, for it reads what every distribution has installed."""
    from importlib.metadata import packages_distributions

    return packages_distributions()
