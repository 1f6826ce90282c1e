"""What does a run ask of the world outside? Clocks, the system's entropy and files; and how would it run without them?

While a `World` is in force, a clock moves on by one tick at each look, generators that are made without a seed get one
that a key decides, and the contents of files that are written are remembered as they were before. The line that asked
is noted. What a library has taken for itself (`from time import time` in a module that is not the subject's own), or
asks the system for in C, is not noticed. Threads that were there before a run, a progress bar's or a cluster's, see the
real world.

Files are noticed through an audit hook, which Python never removes again.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import functools
import importlib
import os
import random
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
import numpy
import numpy.random.bit_generator as numpy_bits

from auditor.randomness import Key
from auditor.subjects.own_code import OwnCode, function_of

_bootstrap: Any = importlib._bootstrap
_Random, _time, _urandom, _lstat = random.Random, time.time, os.urandom, os.lstat  # the real ones
_TICK = 1e-3  # seconds between two looks at the clock, so that a loop until a deadline ends
_START = 1_700_000_000.0  # an evening in November 2023
_LARGEST = 2**26  # bytes of a file whose contents are remembered
_CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
_NO_FILES = ("/dev/", "/proc/", "/sys/")
_IN_MEMORY = "/dev/shm/"  # below /dev, but of real files
_LOOKS = ("stat", "lstat", "access", "readlink")  # functions of os that ask about a file without opening it
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CLOCK, ENTROPY, FILE, OTHER = "clock", "entropy", "file", "other"
READ, WRITTEN, BOTH = "read", "written", "both"  # what is done with a file
MADE, LISTED = "made", "listed"  # what is done with a folder


class Use(msgspec.Struct, frozen=True):
    """One thing that a run asked the outside for, and the line of its own code that led there."""

    kind: str
    name: str
    where: str


class _Missing(FileNotFoundError):
    """What a run gets that asks for a file which is hidden from it."""


@dataclass(slots=True)
class World:
    """What runs see of the world outside, and what they asked of it."""

    own: OwnCode
    uses: dict[Use, None] = field(default_factory=dict)  # in order of appearance
    files: dict[str, bytes | None] = field(default_factory=dict)  # contents before they were written; None: no file
    folders: dict[str, None] = field(default_factory=dict)  # that runs made
    read: dict[str, None] = field(default_factory=dict)  # files that a run opened before it wrote to them
    written: dict[str, None] = field(default_factory=dict)  # files that a run opened to write to them
    looked_for: dict[str, None] = field(default_factory=dict)  # paths that a run asked about without opening them
    listed: dict[str, None] = field(default_factory=dict)  # folders whose names a run listed
    absent: dict[str, None] = field(default_factory=dict)  # paths that were missing when a run first asked for them
    _known: set[str] = field(default_factory=set)  # paths that a run asked for
    hidden: frozenset[str] = frozenset()  # files that a run finds missing, and can neither read nor write
    _looks: int = 0
    _key: Key | None = None
    _asked: int = 0
    _loaded: int = 0  # modules, when namespaces were last looked for
    _spaces: list[dict[str, Any]] = field(default_factory=list)
    _other_threads: frozenset[int] = frozenset()  # that are not the run's
    imports: int = 0  # how many are under way: what a module does when it is loaded is no part of the run

    def note(self, kind: str, name: str, frame: FrameType | None) -> None:
        """Note that the run asked the outside for something, and at which line of the subject's code."""
        found = next(self.own.frames(frame), None)
        where = f"{found.f_code.co_filename}:{found.f_lineno}" if found else ""
        self.uses.setdefault(Use(kind, name, where))

    @contextlib.contextmanager
    def for_one_run(self, key: Key, *real: str) -> Iterator[None]:
        """Make all that is asked for a function of the key and of how often it was asked, except the `real` kinds."""
        self._looks, self._asked, self._key = 0, 0, key
        self._other_threads = frozenset(sys._current_frames()) - {threading.get_ident()}
        clocks = () if CLOCK in real else self._clocks()
        entropy = () if ENTROPY in real else self._entropy()
        with _replaced([*clocks, *entropy, *self._threads()], self.namespaces(), self), _listening(self):
            yield

    @contextlib.contextmanager
    def watching_files(self) -> Iterator[None]:
        """Note what one run reads, writes and looks for; its clocks and its entropy are real."""
        self.read, self.written, self.looked_for, self.listed = {}, {}, {}, {}
        self._other_threads = frozenset(sys._current_frames()) - {threading.get_ident()}
        with _instead(self._noting_looks), _listening(self):
            yield

    def _noting_looks(self, name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of os that notes the path. No audit event tells of it, and what is read in C is often
        looked for first."""

        def look(path: Any, *given: Any, **named: Any) -> Any:
            if isinstance(path, (str, bytes, os.PathLike)) and not self.is_anothers and self in _worlds:
                asked = os.path.abspath(os.fsdecode(path))
                if _is_file_name(asked):
                    self._note_if_absent(asked)
                    self.looked_for.setdefault(asked)
            return plain(path, *given, **named)

        return look

    def _note_if_absent(self, path: str) -> None:
        """Note a path that a run asks for and that is not there, the first time."""
        if path not in self._known:
            self._known.add(path)
            if not _is_there(path):
                self.absent.setdefault(path)

    @contextlib.contextmanager
    def hiding(self, paths: Iterable[str]) -> Iterator[None]:
        """Let Python code find no such files, to see whether runs still differ without what earlier runs have left
        there. They stay where they are, and nothing is written to them."""
        self.hidden = frozenset(paths)

        def missing(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
            def look(path: Any, *given: Any, **named: Any) -> Any:
                if isinstance(path, (str, bytes, os.PathLike)) and os.path.abspath(os.fsdecode(path)) in self.hidden:
                    if name == "access":
                        return False
                    raise _Missing(errno.ENOENT, os.strerror(errno.ENOENT), path)
                return plain(path, *given, **named)

            return look

        with _instead(missing):
            try:
                yield
            finally:
                self.hidden = frozenset()

    @property
    def is_anothers(self) -> bool:
        """True if the thread that asks is no part of the run."""
        return threading.get_ident() in self._other_threads

    def namespaces(self) -> list[dict[str, Any]]:
        """Return those of the subject's own modules."""
        if len(sys.modules) != self._loaded:
            self._loaded = len(sys.modules)
            files = [(getattr(module, "__file__", None), module) for module in [*sys.modules.values()]]
            found = [vars(module) for file, module in files if isinstance(file, str) and self.own.is_own_file(file)]
            own = getattr(function_of(self.own.fn), "__globals__", None)
            self._spaces = found if own is None or any(own is one for one in found) else [*found, own]
        return self._spaces

    def put_back_files(self, *, except_for: str | None = None) -> None:
        """Put back the files that runs have changed, and remove the folders that they made, except for one file."""
        for path, content in self.files.items():
            if path != except_for:
                with contextlib.suppress(OSError):
                    _restore(Path(path), content)
        for folder in reversed(self.folders):
            with contextlib.suppress(OSError):  # something is in it, or it is gone
                os.rmdir(folder)

    def open_file(self, path: str, how: str, frame: FrameType | None) -> None:
        """Note that a run is about to read a file, to write to it, or to make or list a folder. Keep what it loses."""
        path = os.path.abspath(path)
        if not _is_file_name(path):
            return
        if how == LISTED:
            self.listed.setdefault(path)
            return
        self._note_if_absent(path)
        if how == MADE:
            if not os.path.exists(path):
                self.folders.setdefault(path)
            return
        if path in self.hidden:
            if how != READ:
                self.written.setdefault(path)
            raise _Missing(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if os.path.isdir(path):
            return  # where a temporary file without a name is made
        if how != WRITTEN and path not in self.written:
            self.read.setdefault(path)
        if how == READ:
            return
        self.written.setdefault(path)
        self.note(FILE, path, frame)
        if path not in self.files:
            with contextlib.suppress(OSError):
                self.files[path] = _content(Path(path))

    # Clocks.

    def _now(self, name: str) -> float:
        """Return the time of a clock that ticks at each look, and note the look; for other threads the real time."""
        if self.is_anothers:
            return _time()
        self.note(CLOCK, name, sys._getframe(2))
        self._looks += 1
        return _START + _TICK * self._looks

    def _clocks(self) -> Iterator[tuple[Any, str, object]]:
        """Yield the functions that tell the time, each with its replacement for a run: (module, name, function)."""
        for name in _CLOCKS:
            yield time, name, self._clock(name)
            yield time, f"{name}_ns", self._clock(f"{name}_ns", lambda now: int(1e9 * now))
        for name in ("localtime", "gmtime", "ctime"):
            yield time, name, self._of_now(name)
        for kind in (datetime.datetime, datetime.date):
            yield datetime, kind.__name__, _ticking(kind, self._now)

    def _clock(self, name: str, unit: Callable[[float], Any] = float) -> Callable[[], Any]:
        """Return a replacement of a function of `time` that ticks at each look."""
        plain = getattr(time, name)
        return lambda: plain() if self.is_anothers else unit(self._now(f"time.{name}"))

    def _of_now(self, name: str) -> Callable[..., Any]:
        """Return a replacement of a function of `time` that takes a time, or the present one."""
        plain = getattr(time, name)
        return lambda when=None: plain(self._now(f"time.{name}") if when is None else when)

    # Entropy.

    def _bytes(self, size: int, name: str) -> bytes:
        """Return bytes that the key decides in place of the system's entropy, and note that they were asked for."""
        if self.is_anothers:
            return _urandom(size)
        self.note(ENTROPY, name, sys._getframe(2))
        assert self._key is not None
        self._asked += 1
        start = blake2b(self._key.digest + b"%d" % self._asked, digest_size=32).digest()
        return _Random(start).randbytes(size)

    def _entropy(self) -> Iterator[tuple[Any, str, object]]:
        """Yield the functions that give the system's entropy, each with its replacement: (module, name, function)."""

        def bits(count: int) -> int:
            name = "a numpy generator without a seed"
            return int.from_bytes(self._bytes(-(-count // 8), name), "big") >> (-count % 8)

        def urandom(size: int) -> bytes:
            return self._bytes(size, "os.urandom")

        yield numpy_bits, "randbits", bits
        yield random, "_urandom", urandom
        yield os, "urandom", urandom
        yield uuid, "_generate_time_safe", None
        yield random, "Random", self._seeded_random()
        yield random, "seed", self._seeding(random.seed, "random.seed", bytes)
        words = functools.partial(numpy.frombuffer, dtype=numpy.uint32)
        yield numpy.random, "seed", self._seeding(numpy.random.seed, "numpy.random.seed", words)

    def _seeded_random(self) -> type:
        """Return a stand-in for random.Random that draws its seed from this experiment's bytes if it is given none."""
        world = self

        class Random(random.Random):  # its own name is what a subject may look at
            def __init__(self, x: Any = None) -> None:
                super().__init__(world._bytes(32, "random.Random without a seed") if x is None else x)

        return Random

    def _seeding(self, plain: Callable[..., None], name: str, kind: Callable[[bytes], Any]) -> Callable[..., None]:
        """Return a replacement of a generator's seeding that takes bytes of ours where no seed is given."""

        def seed(*given: Any, **named: Any) -> None:
            if any(value is not None for value in (*given[:1], *named.values())):
                plain(*given, **named)
            else:
                plain(kind(self._bytes(32, f"{name} without a seed")))

        return seed

    def _threads(self) -> Iterator[tuple[Any, str, object]]:
        """Note threads by replacing what starts them: there is no audit event before Python 3.12."""
        for name in ("_start_new_thread", "_start_joinable_thread"):
            if plain := getattr(threading, name, None):
                yield threading, name, self._noting_threads(plain)

    def _noting_threads(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        """Return a replacement of a function that starts a thread, which notes that one was started."""

        def start(*given: Any, **named: Any) -> Any:
            self.note(OTHER, "threads", sys._getframe(1))
            return plain(*given, **named)

        return start


def _ticking(kind: type, now: Callable[[str], float]) -> type:
    """Return a class that stands in for datetime or date, whose now and today look at our clock."""

    class _Like(type(kind)):  # type: ignore[misc]
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, kind)

    def stamp(name: str, *zone: Any) -> Any:
        plain: Any = kind
        return plain.fromtimestamp(now(f"{kind.__name__}.{name}"), *zone)

    def utcnow(cls: type) -> Any:
        return stamp("utcnow", datetime.UTC).replace(tzinfo=None)

    own: dict[str, Any] = {"today": classmethod(lambda cls: stamp("today"))}
    if kind is datetime.datetime:
        own |= {"now": classmethod(lambda cls, tz=None: stamp("now", tz)), "utcnow": classmethod(utcnow)}
    return _Like(kind.__name__, (kind,), own)


@contextlib.contextmanager
def _replaced(changes: list[tuple[Any, str, object]], namespaces: list[dict[str, Any]], world: World) -> Iterator[None]:
    """Replace attributes of modules, also where the subject's own modules have them under a name of their own.

    They are real while a module is loaded: it would keep what stands in for a clock, and C code would crash on it.
    """
    known = [(vars(owner), name, value) for owner, name, value in changes if hasattr(owner, name)]
    by_plain = {id(names[name]): value for names, name, value in known if names[name] is not None}
    for names in namespaces:
        if not by_plain.keys().isdisjoint(map(id, names.values())):  # most have none of them
            known += [(names, name, by_plain[id(held)]) for name, held in names.items() if id(held) in by_plain]
    before = [(names, name, names[name]) for names, name, _ in known]
    load = _bootstrap._find_and_load  # where every import ends that finds nothing loaded

    def loading(*given: Any) -> Any:
        if not world.imports:
            _assign(before)
        world.imports += 1
        try:
            return load(*given)
        finally:
            world.imports -= 1
            if not world.imports:
                _assign(known)

    _assign([*known, (vars(_bootstrap), "_find_and_load", loading)])
    try:
        yield
    finally:
        _assign([*before, (vars(_bootstrap), "_find_and_load", load)])


@contextlib.contextmanager
def _instead(make: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """Let what `make` makes of them stand in for the functions of `os` that ask about files."""
    before = {name: getattr(os, name) for name in _LOOKS}
    vars(os).update({name: make(name, plain) for name, plain in before.items()})
    try:
        yield
    finally:
        vars(os).update(before)


def _assign(values: list[tuple[dict[str, Any], str, Any]]) -> None:
    """Set names in namespaces to values; each item is (namespace, name, value)."""
    for names, name, value in values:
        names[name] = value


# Files, by what Python says before it opens, renames or removes one.

_worlds: list[World] = []


@functools.cache
def _install() -> None:
    """Install the audit hook, once and for good."""
    sys.addaudithook(_hear)


@contextlib.contextmanager
def _listening(world: World) -> Iterator[None]:
    """While this lasts, what the run opens, connects to or starts is noted in this world."""
    _install()
    _worlds.append(world)
    try:
        yield
    finally:
        _worlds.remove(world)


def _hear(event: str, given: tuple[Any, ...]) -> None:
    """Take an audit event of Python: note what of the outside the subject's code is about to touch."""
    if event in _HEARD and _worlds and not _worlds[-1].imports and not _worlds[-1].is_anothers:
        world = _worlds.pop()  # what the world opens itself is not the subject's
        try:
            heard, frame = _HEARD[event], sys._getframe(1)
            if isinstance(heard, str):
                world.note(OTHER, heard, frame)
            else:
                for path, how in heard(*given):
                    if isinstance(path, (str, bytes, os.PathLike)):
                        world.open_file(os.fsdecode(path), how, frame)
        except _Missing:
            raise
        except Exception:  # whatever it is, the subject's own call goes on
            pass
        finally:
            _worlds.append(world)


COMPANIONS = ("-wal", "-shm", "-journal")  # files beside a database of sqlite, by what their names end in
Opened = Iterator[tuple[Any, str]]  # a path, and what is done with it


def _opened(path: Any, mode: Any, flags: int) -> Opened:
    """Yield what is done by the mode of `open` or the flags of `os.open`; what is new or cut to nothing is not read."""
    if isinstance(mode, str):
        writes, reads = any(letter in mode for letter in "wax+"), not any(letter in mode for letter in "wx")
        reads = reads and ("a" not in mode or "+" in mode)
    else:
        writes, reads = bool(flags & _WRITES), not flags & (os.O_WRONLY | os.O_TRUNC | os.O_EXCL)
    yield path, BOTH if reads and writes else WRITTEN if writes else READ


def _moved(path: Any, to: Any = None, *_: object) -> Opened:
    """Yield both names of a file that is renamed, or the one that is removed; no folders."""
    if os.path.isfile(path):
        yield path, WRITTEN
    yield to, WRITTEN


def _connected(database: Any, *_: object) -> Opened:
    """Yield the files of a database of sqlite, which may be given as a URI; none of one in memory."""
    name = os.fsdecode(database)
    if name.startswith("file:"):
        address = urlsplit(name)
        name = "" if "mode=memory" in address.query else unquote(address.path)
    if name not in ("", ":memory:"):
        yield name, BOTH
        yield from ((name + one, WRITTEN) for one in COMPANIONS)


def _linked(path: Any, to: Any, *_: object) -> Opened:
    """Yield the file that a link is made to, as one that is written."""
    yield to, WRITTEN


_HEARD: dict[str, str | Callable[..., Opened]] = {  # by audit event: what it is, or the files that it is about
    "open": _opened,
    "os.rename": _moved,
    "os.remove": _moved,
    "os.link": _linked,
    "os.symlink": _linked,
    "os.truncate": lambda path, *_: iter(((path, BOTH),)),
    "os.mkdir": lambda path, *_: iter(((path, MADE),)),
    "os.listdir": lambda path: iter(((path or ".", LISTED),)),
    "os.scandir": lambda path: iter(((path or ".", LISTED),)),
    "sqlite3.connect": _connected,
    "socket.connect": "the network",
    "subprocess.Popen": "another program",
    "os.fork": "another program",
}


def _is_there(path: str) -> bool:
    """True also for a link that leads nowhere. Asks the real `os.lstat`."""
    try:
        _lstat(path)
    except (OSError, ValueError):
        return False
    return True


def _is_file_name(path: str) -> bool:
    """False for devices, for what the system says of itself, and for bytecode."""
    is_system = path.startswith(_NO_FILES) and not path.startswith(_IN_MEMORY)
    return not is_system and not path.endswith((".pyc", ".pyo"))


def _content(path: Path) -> bytes | None:
    """Return what is in a file, None if there is none; OSError if it is too large to be kept."""
    if not path.exists():
        return None
    if not path.is_file() or path.stat().st_size > _LARGEST:
        raise OSError(f"{path} is not kept")
    return path.read_bytes()


def _restore(path: Path, content: bytes | None) -> None:
    """Write what was there; a file that has only grown is cut, so that no moment finds it without what it had."""
    if content is None:
        path.unlink(missing_ok=True)
        return
    now = path.read_bytes() if path.exists() else b""
    if now.startswith(content):
        if len(now) > len(content):
            os.truncate(path, len(content))
        elif not path.exists():
            path.touch()
    else:
        path.write_bytes(content)
