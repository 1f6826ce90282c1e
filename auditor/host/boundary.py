"""Where does a function run that needs somebody else's code? In a host, if this process has one, else right here.

A command connects to a host before it loads anything, and from then on a function marked `in_host` runs there: it
loads a subject, evaluates what its author declared, settles a case. In Python and in pytest, where the subject is an
object of the caller's own process, nothing is connected, and the same functions are plain calls.

What comes back must not bring somebody's code along. So an object that is neither ours nor Python's nor numpy's arrives
as an `Opaque`: bytes that nobody unpacks but a host. Sent to a host, it becomes the object again.
"""

from __future__ import annotations

import functools
import io
import itertools
import os
import pickle
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import Any, NamedTuple, ParamSpec, TypeVar

from auditor.errors import AuditorError, SubjectError, as_ours, in_words, traceback_of
from auditor.host.server import Host, HostGone, learnt
from auditor.lookup import file_modules, know_files, packages_of_questions

P = ParamSpec("P")
T = TypeVar("T")
_LARGE = 2**16  # bytes of an array that only a host looks into
_numbers = itertools.count()


class HostFailed(RuntimeError):
    """Code of ours failed in a host; the message has its traceback."""


class Opaque:
    """An object of somebody's code, where that code must not run: bytes, and what it is called."""

    __slots__ = ("name", "packed", "words")

    def __init__(self, name: str, packed: bytes, words: str) -> None:
        self.name, self.packed, self.words = name, packed, words

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (self.name, self.packed)

    def __copy__(self) -> Opaque:
        return self

    def __deepcopy__(self, memo: object) -> Opaque:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and self.packed == other.packed

    def __hash__(self) -> int:
        return hash(self.packed)

    def __repr__(self) -> str:
        return self.words

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise HostFailed(f"{self.words} was called outside its host")


_objects: dict[str, Any] = {}  # in a host: what it has sent, by name, so that it comes back as the same object
_sent: dict[int, tuple[Any, Opaque]] = {}  # the same by identity, with the objects: no number is used again


def _opened(name: str, packed: bytes) -> Any:
    """Return the object of an Opaque: the very one, in the host that has sent it."""
    if name in _objects:
        return _objects[name]
    import cloudpickle

    return cloudpickle.loads(packed)  # from a host of our own, through a socket


def _closed(thing: Any) -> Opaque:
    """Return an object as an Opaque."""
    if id(thing) not in _sent:
        name = f"{os.getpid()}-{next(_numbers)}"
        _objects[name] = thing
        _sent[id(thing)] = thing, Opaque(name, pack(thing), _words(thing))
    return _sent[id(thing)][1]


def pack(thing: Any) -> bytes:
    """Return an object as bytes, closures and functions of notebooks included."""
    import cloudpickle

    packed: bytes = cloudpickle.dumps(thing)
    return packed


def packed_far(thing: Any) -> bytes:
    """Return an object as bytes for machines that do not see the files here: modules of files go with it."""
    import cloudpickle

    modules = [sys.modules[name] for name in file_modules() if name in sys.modules]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        packed: bytes = cloudpickle.dumps(thing)
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    return packed


def _words(thing: Any) -> str:
    """Return the full name of a thing, or of its class."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{getattr(named, '__module__', '')}.{getattr(named, '__qualname__', '')}"


class _SafePackages:
    """The packages whose objects may come back as they are: ours, Python's own, numpy, and those of questions."""

    _known = (sys.stdlib_module_names | {"builtins", "numpy", "msgspec", "auditor"}) - {"__main__"}

    def __contains__(self, package: str) -> bool:
        return package in self._known or (package not in ("__main__", "algorithms") and package in self._asking)

    @functools.cached_property
    def _asking(self) -> tuple[str, ...]:
        return packages_of_questions()


# What is pickled by its name: functions, classes, methods, and functions that keep their answers.
_NAMED = (
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    type(functools.cache(lambda: None)),
)


class _AnswerPickler(pickle.Pickler):
    """Pickles what a host answers, with everything of somebody's code closed."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self._safe = _SafePackages()

    def reducer_override(self, thing: Any) -> Any:
        """Send what is not ours as an Opaque: a name, and bytes that only a host unpacks."""
        if isinstance(thing, types.ModuleType):
            return _reference(_closed(thing))
        is_named = isinstance(thing, _NAMED)
        owner = thing if is_named else type(thing)
        top = str(getattr(owner, "__module__", None) or "builtins").partition(".")[0]
        is_local = is_named and "<" in str(getattr(thing, "__qualname__", ""))
        is_large = top == "numpy" and not is_named and getattr(thing, "nbytes", 0) > _LARGE
        if top in self._safe and not is_local and not is_large:
            return NotImplemented
        return _reference(_closed(thing))


def _reference(closed: Opaque) -> tuple[Any, ...]:
    """Return how a closed thing is made again on the other side, as pickle wants it."""
    return Opaque, (closed.name, closed.packed, closed.words)


class _AnswerUnpickler(pickle.Unpickler):
    """Reads what a host answers. It imports nobody's code, whatever the answer names."""

    def __init__(self, packed: bytes) -> None:
        super().__init__(io.BytesIO(packed))
        self._safe = _SafePackages()

    def find_class(self, module: str, name: str) -> Any:
        """Return a class that an answer names; HostFailed unless it is ours or of a library that we use."""
        if module.partition(".")[0] not in self._safe:
            raise HostFailed(f"a host answered with {module}.{name}, which is not to be loaded here")
        return super().find_class(module, name)


class HostAnswer(NamedTuple):
    """What a host says: a value or what was raised, and the libraries that it had to load for it."""

    value: Any
    raised: AuditorError | None = None
    failed: str = ""  # the traceback of a slip of our own
    loaded: tuple[str, ...] = ()
    files: Mapping[str, str] = {}  # modules that were loaded from files, by their names


def answer_bytes(answer: HostAnswer) -> bytes:
    """Return an answer as the bytes that a host sends."""
    file = io.BytesIO()
    _AnswerPickler(file).dump(tuple(answer))
    return file.getvalue()


def read_answer(packed: bytes) -> Any:
    """Return the value of an answer, or raise what was raised in the host."""
    answer = HostAnswer(*_AnswerUnpickler(packed).load())
    learnt.update(answer.loaded)
    know_files(answer.files)
    if answer.raised is not None:
        raise answer.raised
    if answer.failed:
        raise HostFailed(answer.failed)
    return answer.value


def request_bytes(fn: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> bytes:
    """Return a call as bytes. A command has nothing of somebody's to send, so that the plain way nearly always does."""
    if _connections:
        with suppress(pickle.PicklingError, AttributeError, TypeError):  # a function of ours that has no name
            return pickle.dumps((fn, args, keywords), protocol=5)
    return pack((fn, args, keywords))


def carried_out(request: bytes, loaded: Callable[[], tuple[str, ...]]) -> bytes:
    """Carry out a request in a host, and return the answer; `loaded` says what libraries were loaded meanwhile."""
    try:
        fn, args, keywords = opened_request(request)
        return answer_bytes(HostAnswer(fn(*args, **keywords), loaded=loaded(), files=file_modules()))
    except BaseException as error:
        try:
            return answer_bytes(HostAnswer(None, as_ours(error, "the audited code"), loaded=loaded()))
        except BaseException:
            return answer_bytes(HostAnswer(None, failed=traceback_of(error, error.__traceback__)))


def opened_request(request: bytes) -> Any:
    """Return what was packed for this host. To open it imports the audited code where this process does not have it
    yet."""
    try:
        return pickle.Unpickler(io.BytesIO(request)).load()  # noqa: S301 - from whoever started this process
    except (ImportError, OSError, AttributeError) as error:
        what = f"the audited code cannot be loaded in another process ({in_words(error)})"
        cure = "it needs its files and its folder as they were when it was first loaded"
        raise SubjectError(f"{what}: {cure}") from error


class Connection:
    """The hosts in which a process has foreign functions run: usually one, and another when that is busy or gone."""

    def __init__(self, start: Callable[[], Host]) -> None:
        self._start = start
        self._hosts: list[Host] = []

    def host(self) -> Host:
        """Return a host that has nothing to do."""
        for host in [*self._hosts]:
            if host.gone():
                self._hosts.remove(host)
            elif not host.pending:
                return host
        self._hosts.append(self._start())
        return self._hosts[-1]

    def close(self) -> None:
        """End all hosts of this connection."""
        for host in self._hosts:
            host.close()
        self._hosts.clear()


_connections: list[Connection] = []  # the last is in use
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_connections.clear)  # a fork has no say in its parent's hosts


@contextmanager
def connected(start: Callable[[], Host]) -> Iterator[Connection]:
    """While this lasts, functions that are marked `in_host` run in hosts that `start` makes."""
    connection = Connection(start)
    _connections.append(connection)
    try:
        yield connection
    finally:
        _connections.remove(connection)
        connection.close()


def connection() -> Connection | None:
    """Return the connection of this process to its hosts; None if foreign functions run in this process itself."""
    return _connections[-1] if _connections else None


def in_host(fn: Callable[P, T]) -> Callable[P, T]:
    """Mark a function that needs somebody's code: it runs in the host that this process is connected to, if any."""

    @functools.wraps(fn)
    def run(*args: P.args, **keywords: P.kwargs) -> T:
        if not _connections:
            return fn(*args, **keywords)
        return call_in(_connections[-1].host(), run, *args, **keywords)

    return run


def run_in_host(fn: Callable[..., T], *args: Any) -> T:
    """Run a function of ours where those that are marked `in_host` run."""
    return fn(*args) if not _connections else call_in(_connections[-1].host(), fn, *args)


_meanwhile: list[Callable[[], object]] = []


def do_meanwhile(do: Callable[[], object]) -> None:
    """Have something done while the next answer of a host is waited for: a command loads what it will show with."""
    _meanwhile.append(do)


_waited = [0.0]  # seconds that calls in hosts have taken


def seconds_in_hosts() -> float:
    """Return the time that calls in hosts have taken so far: nearly all of it goes into loading somebody's code."""
    return _waited[0]


def call_in(host: Host, fn: Callable[..., T], *args: Any, **keywords: Any) -> T:
    """Call a function of ours in a host, and wait for what it returns."""
    started = perf_counter()
    host.ask(request_bytes(fn, args, keywords))
    try:
        while _meanwhile:
            _meanwhile.pop()()
        found: T = read_answer(host.wait())
        _waited[0] += perf_counter() - started
        return found
    except HostGone as gone:
        words = f"the audited code ended its process before there was a verdict ({gone}): it could not be audited"
        raise SubjectError(words) from gone
    except KeyboardInterrupt:
        host.close()  # nobody waits for its answer any more
        raise
