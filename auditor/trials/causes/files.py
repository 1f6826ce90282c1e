"""Does a run read what an earlier run wrote to disk?

A checkpoint that is keyed by r, or by nothing, makes the second run of a pair repeat the first, and passes any audit.
`files_between_runs` runs the pair's second run, then its first. Files that the one wrote and the other read are taken
away, and the first is run again: if its output is another, they are hidden state. A file that changes nothing in any of
several pairs, such as a log, is only named. In the end files are as they were, and those that were not there are gone.

A file that was there before the audit may be anybody's, and is left alone. If a run reads it, the run is repeated as if
it were not there: one that then wants to write the file keeps its answers in it, maybe those of an earlier audit.

This needs a process of our own, at a time when no other runs the subject: the audit hook stays, and files come and go.
What a library opens in C, and what a child process opens, is not noticed. But a file that is read through Python's
`open`, or whose existence Python code asks for, counts as written if it has changed since the audit began.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable
from time import perf_counter
from typing import Any

import msgspec

from auditor.errors import AuditorError
from auditor.files import ASIDE, digest_of_file, return_aside, start_folder
from auditor.lookup import INSTALLED
from auditor.subjects.own_code import OwnCode
from auditor.trials.causes.outside import COMPANIONS, FILE, World
from auditor.trials.trial import Bench, apart
from auditor.values import Difference

UNUSED = 2**40  # no audit counts pairs from this index on
PAIRS_TRIED = 20  # where a run finds what an earlier one wrote, and has the same output without it
_PATIENCE = 10.0  # seconds after which no further pair is tried
_NAMED = 5  # files that a message names
_CODE = (".py", ".pyc", ".pyi", ".so", ".pyd", ".dylib")
_SYSTEM = ("/usr/", "/etc/", "/lib/", "/lib64/", "/bin/", "/var/lib/", "/System/", "/Library/")
_PARTS = ("lib", "share", "etc", "bin")
_OF_PYTHON = tuple(os.path.join(home, part, "") for home in (sys.prefix, sys.base_prefix) for part in _PARTS)
_CACHE_FOLDERS = {"__pycache__", ".cache", "Caches", "matplotlib", ".matplotlib", "fontconfig", ".fontconfig"}
_CACHE_SUFFIXES = (".nbi", ".nbc")  # numba's
_CACHE_PREFIXES = ("joblib_memmapping_folder_",)  # of folders in which joblib hands arrays to its workers
_CACHE_VARIABLES = ("XDG_CACHE_HOME", "MPLCONFIGDIR", "NUMBA_CACHE_DIR", "JOBLIB_TEMP_FOLDER")  # that name a folder
_TEMPORARY = re.compile(r"tmp[a-z0-9_]{8}(?![a-z0-9_])")  # what tempfile makes up: another name in each run


class Files(msgspec.Struct, frozen=True):
    """What runs do with files, by names that lead a reader in the working folder to them."""

    written: tuple[str, ...] = ()  # by a run, and read by no other
    read_later: tuple[str, ...] = ()  # by a later run
    made_if_missing: tuple[str, ...] = ()  # older than the audit, read by a run, which would write them if missing
    where: str = ""  # the line that opens one of those to write to it
    difference: Difference | None = None  # between the outputs of a later run with those that it reads and without


def opens_files(world: World) -> bool:
    """True if a run opened or looked for a file that is neither code, nor a library's, nor the system's."""
    asked = [*world.read, *(path for path in world.looked_for if not os.path.isdir(path)), *world.listed]
    return any(not _is_librarys(path) for path in asked) or bool(world.written)


def files_read(world: World) -> dict[str, str]:
    """Return the files that a run read and did not write, each with a digest of what is in it now.

    Left out are code, installed packages, the system's files, caches, devices and temporary files.
    """
    paths = [
        os.path.abspath(path)
        for path in world.read
        if path not in world.written and not (_is_librarys(path) or _is_cache(path) or _TEMPORARY.search(path))
    ]
    found = {path: digest_of_file(path) for path in paths if os.path.isfile(path)}
    return {path: digest for path, digest in found.items() if digest is not None}


def files_between_runs(bench: Bench, since: float, journal: str | None = None) -> Files:
    """Return what the runs of a pair leave for each other; `since` is when the audit began.

    The two outputs of one pair may agree by chance, so that a file which one run left for the other seems to change
    nothing. Then more pairs are tried, up to PAIRS_TRIED: a learner that would have rho t without its files gets
    through with probability (1 - t)^PAIRS_TRIED. One whose runs are slow has fewer: none begins after _PATIENCE
    seconds.

    `journal` is a file that names those which are taken away for a while, for whoever finds this process killed.
    """
    started = perf_counter()
    first, is_left = _files_of_pair(bench, since, UNUSED, journal)
    found = first
    for index in range(UNUSED + 1, UNUSED + PAIRS_TRIED):
        if found.difference or not is_left or perf_counter() - started > _PATIENCE:
            break
        found, is_left = _files_of_pair(bench, since, index, journal)
    return found if found.difference else first


def _files_of_pair(bench: Bench, since: float, index: int, journal: str | None) -> tuple[Files, bool]:
    """Return what the runs of one pair leave for each other, and whether there is any file that may be such."""
    world, before = World(OwnCode(bench.subject.fn)), _listed()
    written: dict[str, None] = {}
    left: list[str] = []
    made: list[str] = []
    read: set[str] = set()
    difference: Difference | None = None
    try:
        _run(world, bench, index, 1, written)
        earlier = {*written, *world.folders}
        first = _run(world, bench, index, 0, written)
        asked = {path: _changed(path) for path in _asked(world, earlier) if not _is_librarys(path)}
        left = [path for path, when in asked.items() if path in earlier or when > since]
        read = {*world.read}
        if left:
            difference = _without([], world, bench, index, first)
            difference = difference or _without(left, world, bench, index, first, journal)
        elif asked:
            old = [path for path, when in asked.items() if when and (path in read or path not in world.written)]
            made = _made_if_missing(world, bench, index, old)
    except AuditorError:
        pass  # a run raised, which the audit reports: what was found until then stands
    finally:
        for path in ({*left} - {*written}) & ((_listed() - before) | {*world.absent}):  # new, and written in C, unheard
            with contextlib.suppress(OSError):
                os.remove(path)
        world.put_back_files()
    where = next((use.where for use in world.uses if use.kind == FILE and use.name in left and use.where), "")
    is_sure = difference is not None  # else only files that were noticed to be written and read are named
    opened = [path for path in left if path in read]
    later = (opened or left) if is_sure else [path for path in opened if path in written and not _is_cache(path)]
    only_written = _shown(path for path in written if path not in later and not _is_cache(path))
    return Files(only_written, _shown(later), _shown(made), where, difference), bool(left)


def _run(world: World, bench: Bench, index: int, which: int, written: dict[str, None]) -> Any:
    """Run once and see which files it opens; `written` takes those that are still there afterwards."""
    sample = bench.draw(index, which)
    with world.watching_files():
        output = bench.run_on(sample, index, which)
    written.update((path, None) for path in world.written if os.path.lexists(path))
    return bench.settled(output)


def _asked(world: World, earlier: set[str]) -> dict[str, None]:
    """Return what a run may have its answer from: files that it read or looked for, and names in folders it listed.

    Of folders only those count that an earlier run of ours made: others may have anything in them.
    """
    names = [path for path in earlier if os.path.dirname(path) in world.listed]
    looked_for = [path for path in world.looked_for if path in earlier or not os.path.isdir(path)]
    return dict.fromkeys([*world.read, *looked_for, *names])


def _listed() -> set[str]:
    """Return the files in the working folder and in that for temporary files."""
    folders = {os.getcwd(), os.path.abspath(tempfile.gettempdir())}
    return {os.path.join(folder, name) for folder in folders for name in os.listdir(folder)}


def _without(
    taken: list[str], world: World, bench: Bench, index: int, first: Any, journal: str | None = None
) -> Difference | None:
    """Run with files as they were before our runs, and without those `taken`: how the output differs from the first.

    A run whose output would be another in any case says nothing: two runs without the files must agree.
    """
    world.put_back_files()
    paths = [path + companion for path in taken for companion in ("", *COMPANIONS)]
    if any(os.path.lexists(path + ASIDE) for path in paths):
        return None  # somebody was killed here: this may be all that is left of a file
    there = [path for path in paths if os.path.isfile(path) or os.path.islink(path)]
    aside: list[str] = []
    try:
        if journal and there:
            with open(journal, "w", encoding="ascii") as file:
                json.dump(there, file)
        for path in there:
            os.replace(path, path + ASIDE)
            aside.append(path)
        output = _run_undone(world, bench, index, aside)
        difference = apart(first, output)
        if difference and apart(output, _run_undone(world, bench, index, aside)):
            return None
        return difference
    except (AuditorError, OSError):  # a file cannot be taken away, or a run cannot do without it
        return None
    finally:
        return_aside(aside)


def _run_undone(world: World, bench: Bench, index: int, missing: list[str]) -> Any:
    """Run once, and undo what it did to files; those that were missing are so again, even if it wrote them in C."""
    own = World(world.own)
    try:
        return _run(own, bench, index, 0, {})
    finally:
        own.put_back_files()
        for path in missing:
            with contextlib.suppress(OSError):
                os.remove(path)


def _made_if_missing(world: World, bench: Bench, index: int, old: list[str]) -> list[str]:
    """Return the files that a run wants to write where it cannot find them; none is touched, and the run ends there."""
    own = World(world.own)
    with own.hiding(old), contextlib.suppress(AuditorError):
        _run(own, bench, index, 0, {})
    own.put_back_files()
    return [path for path in own.written if path in old]


def _changed(path: str) -> float:
    """Return when a file was written last, or given another name or date; 0 where there is none."""
    try:
        found = os.lstat(path)
        return max(found.st_mtime, found.st_ctime)
    except OSError:
        return 0.0


def _is_librarys(path: str) -> bool:
    """True for a file that nobody reads to go on where another run ended: code, what is installed, the system's."""
    return path.endswith(_CODE) or path.startswith((*_SYSTEM, *_OF_PYTHON)) or any(one in path for one in INSTALLED)


def _is_cache(path: str) -> bool:
    """True if an absolute path is bytecode or in a cache that a library keeps for itself."""
    folders = [os.path.abspath(os.environ[name]) + os.sep for name in _CACHE_VARIABLES if os.environ.get(name)]
    parts = path.split(os.sep)[:-1]
    if any(part.startswith(_CACHE_PREFIXES) for part in parts):
        return True
    in_cache = not _CACHE_FOLDERS.isdisjoint(parts) or path.startswith(tuple(folders))
    return in_cache or path.endswith(_CACHE_SUFFIXES)


def _shown(paths: Iterable[str]) -> tuple[str, ...]:
    """Return a few names, relative to the working folder, with a star for what differs from audit to audit.

    That is what tempfile makes up, and the number of this process: the same seed gives the same record.
    """
    here, process = start_folder() + os.sep, re.compile(rf"(?<!\d){os.getpid()}(?!\d)")
    names = {process.sub("*", _TEMPORARY.sub("tmp*", path.removeprefix(here))) for path in paths}
    return tuple(sorted(os.fsencode(name).decode(errors="backslashreplace") for name in names)[:_NAMED])
