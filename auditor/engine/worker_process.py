"""How is a worker process started, watched and ended? One pool of one process, used once.

It is ended with its whole process group, so that nothing a subject started stays behind.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from queue import SimpleQueue
from time import monotonic
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.engine.engine import Fall, RunOptions
from auditor.engine.inside_worker import IDLE, Fell, Luggage, Reading, Slot, sit_down
from auditor.errors import Stopping, UsageError
from auditor.lookup import file_modules
from auditor.process.limits import born_with_one_thread, memory_of
from auditor.process.parent import exit_words
from auditor.trials.second_server import entrust_folder
from auditor.trials.trial import Bench, RunFailed

_NEEDED = ("auditor.engine.inside_worker", "pebble.pool.process", "cloudpickle", "threadpoolctl")  # by every worker
_HEAVY = ("scipy.stats", "sklearn.base", "pandas")  # slow to import: once for all workers, if anybody needs them
_FAREWELL = 5.0  # seconds for the threads of a pool to end
_PATIENCE = 10  # looks, a twentieth of a second each
_SILENCE = 10.0  # seconds after which a worker that is done should have been heard


class EndedByWatcher(RunFailed):
    """A watcher ended the run, by a clock or for memory that no limit of the system counts, which depends on what else
    the machine does; or the source ended the process that drew. None of these is bottom."""


class Hung(EndedByWatcher):
    """A run took longer than it may."""

    kind = "hung"


class WorkerTask(msgspec.Struct, frozen=True):
    """A block for a worker; `then` is what comes after its last pair, known from a worker that died there."""

    block: range
    fell: Fell
    then: Fall | None = None
    fresh: bool = False  # one pair, for a worker that has run nothing
    alone: Fall | None = None  # its second run without its first, to see whether that fails too


class Death(msgspec.Struct, frozen=True):
    """How a worker ended: what it said last, its exit code if known, and whether its run was over a limit."""

    reading: Reading
    code: int | None
    overdue: bool = False
    outgrown: bool = False

    def __str__(self) -> str:
        if self.code is None:
            return "it never began"
        if self.code >= 0:
            return f"exit code {self.code}"
        return exit_words(self.code) + (", perhaps for want of memory" if self.code == -signal.SIGKILL else "")


class Worker:
    """One process; its tasks are done in the order in which they are given."""

    def __init__(self, context: Any, luggage: Luggage, answered: SimpleQueue[None]) -> None:
        from pebble import ProcessPool

        numbers = context.RawArray("d", Slot.size)
        self._slot = Slot(numbers)
        self.tasks: deque[tuple[Any, Any]] = deque()  # (task, its future)
        self._answered = answered
        self._overdue: Reading | None = None
        self._outgrown: Reading | None = None
        self._given = 0.0  # when it got its last task
        self._inactive = 0  # looks at a pool that has given up
        self._joining: threading.Thread | None = None
        self._context = Once(context)
        self._has: set[str] = set()  # the benches that it was sent
        told = (numbers, replace(luggage, bench=b""))  # that comes with the first task
        self._pool: Any = ProcessPool(1, context=self._context, initializer=sit_down, initargs=told)

    def give(self, task: Any, luggage: Luggage, call: Callable[..., Any], *args: Any) -> bool:
        """Whether it took the task, call(bench, *args): one that has died does not."""
        sent = (luggage.key, None if luggage.key in self._has else luggage.bench)
        try:
            with _caller_hidden():
                future = self._pool.schedule(call, args=(sent, *args))
        except RuntimeError:
            return False
        self._has.add(luggage.key)
        self.tasks.append((task, future))
        self._given = monotonic()
        future.add_done_callback(lambda _: self._answered.put(None))
        return True

    def answers(self) -> Iterator[tuple[Any, Any]]:
        """The tasks that were answered, in order, each once."""
        while self.tasks and self.tasks[0][1].done() and self.tasks[0][1].exception() is None:
            task, future = self.tasks.popleft()
            yield task, future.result()

    def check(self, timeout: float | None, memory: int | None) -> Death | None:
        """Whether it has died with a task to do; it is killed here if its run is over time, or shares too much."""
        if not self.tasks:
            return None
        future = self.tasks[0][1]
        if future.done():
            if future.exception() is None:
                return None  # answered since we looked
            reading = self._slot.read()
            code = self._context.exit_code()
            return Death(reading, code, overdue=self._overdue == reading, outgrown=self._outgrown == reading)
        reading = self._slot.read()
        if not self._pool.active:  # it tells those who wait, but for when one of its threads fell
            self._inactive += 1
            return Death(reading, self._context.exit_code()) if self._inactive > _PATIENCE else None
        age = monotonic() - reading.since
        overdue = reading.run is not None and timeout is not None and age > timeout
        # Its answer went elsewhere, say into a file of the subject's.
        silent = reading.state == IDLE and min(age, monotonic() - self._given) > _SILENCE
        outgrown = reading.run is not None and memory is not None and memory_of(reading.pid) > memory
        if (overdue or silent or outgrown) and reading == self._slot.read():
            self._overdue = reading if overdue else None
            self._outgrown = reading if outgrown else None
            self._kill()
        return None

    def stop(self) -> None:
        """At once, with all that its subject started."""
        self._pool.stop()
        self._kill()
        self._joining = threading.Thread(target=self._pool.join, daemon=True)
        self._joining.start()

    def join(self) -> None:
        """Not for ever: a worker that was killed in the middle of an answer may leave pebble waiting for its end."""
        if self._joining:
            self._joining.join(_FAREWELL)
        self._kill()  # it may have sat down meanwhile

    def _kill(self) -> None:
        pid = self._slot.read().pid
        if pid > 0:
            with suppress(OSError):
                if hasattr(os, "killpg"):
                    os.killpg(pid, signal.SIGKILL)
                else:
                    os.kill(pid, signal.SIGTERM)


class Once:
    """A multiprocessing context with one process in it.

    pebble replaces a worker that dies: the new one would run the main module again and take the place of what the dead
    one said last; and of a worker that left with exit code 0 it would never tell. So it finds that there is none.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self._process: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def Process(self, **how: Any) -> Any:
        if self._process is not None:
            raise OSError("this worker is not replaced")
        self._process = self._context.Process(**how)
        return self._process

    def exit_code(self) -> int | None:
        return None if self._process is None else self._process.exitcode


def context() -> Any:
    """A server that has our modules loaded and forks workers off, where the platform has one: they start at once."""
    import multiprocessing

    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver

    entrust_folder(make=True)  # where the server's socket will be
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload([*_NEEDED, *(name for name in _HEAVY if name in sys.modules)])
    with born_with_one_thread():
        forkserver.ensure_running()
    return made


def forget_forked_server() -> None:
    """Let a forked process start a server of its own: Python takes that of its parent for one, and fails when it looks
    whether it still runs."""
    from multiprocessing import forkserver

    server: Any = forkserver._forkserver
    if server._forkserver_pid is None:
        return
    with suppress(ChildProcessError):
        if os.waitpid(server._forkserver_pid, os.WNOHANG)[0] == 0:
            return  # it is a child of this process, and runs
    with suppress(OSError):
        os.close(server._forkserver_alive_fd)  # the parent's server runs until all copies of it are closed
    server.__init__()


_hiding = threading.Lock()


@contextmanager
def _caller_hidden() -> Iterator[None]:
    """Workers need no copy of the main module, whose top level would run again in each of them: what it defines is sent
    by value. Nor do they know a start method that a library has added here."""
    import multiprocessing

    with _hiding:
        main, method = sys.modules["__main__"], multiprocessing.get_start_method(allow_none=True)
        is_added = method not in (None, *multiprocessing.get_all_start_methods())
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            if is_added:
                multiprocessing.set_start_method(None, force=True)
            yield
        finally:
            sys.modules["__main__"] = main
            if is_added:
                multiprocessing.set_start_method(method, force=True)


def pack(bench: Bench, how: RunOptions, *, far: bool = False) -> Luggage:
    """What a worker is sent; `far` for one that does not see the files here. UsageError where it cannot be sent."""
    import cloudpickle

    modules = [sys.modules[name] for name in file_modules() if name in sys.modules] if far else []
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        packed = cloudpickle.dumps(replace(bench, publish=None))
    except Exception as error:
        raise UsageError(
            f"{bench.subject.name} cannot be sent to another process ({type(error).__name__}: {error}): "
            "--jobs 1 without --timeout, --memory, --on-error and --cluster runs it in this one"
        ) from error
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    key = blake2b(packed, digest_size=16).hexdigest()
    made = Luggage(
        bench.subject.name, key, bench.bottoms, packed, {}, "", {}, (), how.memory, how.log, bench.source.name
    )
    return made if far else at_home(replace(made, files=file_modules()))


def at_home(luggage: Luggage) -> Luggage:
    """With the folder, the path and the environment of this process."""
    return replace(luggage, folder=os.getcwd(), path=tuple(sys.path), environment=dict(os.environ))


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Interrupts wait until this is over, so that a second Ctrl-C leaves no process behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []
    kinds = (signal.SIGINT, signal.SIGTERM)
    handlers = [signal.signal(kind, lambda number, _: pending.append(number)) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, handlers, strict=True):
            signal.signal(kind, signal.SIG_DFL if handler is None else handler)
    if pending:
        Stopping.is_asked = True
        raise KeyboardInterrupt
