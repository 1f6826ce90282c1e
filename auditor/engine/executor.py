"""The same blocks on somebody's executor: each of its processes runs them in a worker process of its own.

So a subject can hang or die there as here, --timeout and --memory hold, and a run that fails after others is tried
alone in a fresh process: `workers` does all of it, wherever it runs. The executor is the caller's, and is never shut
down. What a process needs is sent by cloudpickle, in memory only.

The first half of this module runs where the audit is, the second half in the executor's processes.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from msgspec.structs import replace

import auditor
from auditor.engine.engine import (
    NO_LIMIT,
    NO_THREADS,
    BlockPace,
    Keep,
    PreflightSteps,
    RunOptions,
    TimeLimit,
    cores,
    in_order,
)
from auditor.engine.workers import PackedBench, Workers, packed_bench, uninterrupted
from auditor.errors import AuditorError, SubjectError, TimeIsUp, UsageError
from auditor.trials.blocks import Done
from auditor.trials.preflight import PreflightFound, Step
from auditor.trials.trial import Bench, Trial

BLOCKS_A_SECOND = 50  # of all together: a Dask scheduler does three to six times as many (benchmarks/cluster.py)
_LOOK = 1.0  # seconds between two looks at the clock
_IDLE = 10.0  # seconds without a block after which a worker process ends


class OnExecutor:
    """An engine on an executor of processes that belongs to the caller."""

    _cancelled = "it was cancelled"
    _cure = "make a new executor; with ledger=FILE, resume=True goes on from here"
    _keywords: Mapping[str, Any] = {}  # that its `submit` takes besides those of the task

    def __init__(self, how: RunOptions, executor: Executor, name: str = "") -> None:
        self._executor, self._name = executor, name or f"executor={type(executor).__name__}"
        self._how = replace(how, cluster=None, executor=None, ledger=None, log=None)
        self._answers: SimpleQueue[Future[Any]] = SimpleQueue()
        self._under_way: dict[Future[Any], range] = {}
        self._audit = os.urandom(8).hex()  # tells its worker processes from those of another audit
        self._packed: dict[tuple[int, ...], tuple[Bench, Any, BlockPace]] = {}  # with the benches: no id is used again
        self._bench: Any = None  # what is being run
        self._flags = (False, True)  # what the preflight said since: copies, judges
        self.limit = NO_LIMIT

    @property
    def words(self) -> str:
        """Where trials run, for the report."""
        return f"on a {type(self._executor).__name__} of {self.hands}, one BLAS thread each"

    @property
    def hands(self) -> int:
        """Processes of the executor; as many as there are cores here if it does not say."""
        most = getattr(self._executor, "_max_workers", None)
        return most if isinstance(most, int) and most > 0 else cores()

    @property
    def block_seconds(self) -> float:
        """Longer on more processes, so that whoever hands out the blocks always has the same to do."""
        return max(1.0, self.hands / BLOCKS_A_SECOND)

    def greet(self) -> None:
        """Raise UsageError unless the executor has processes, with the same auditor."""
        with greeting_token() as token:
            try:
                found = self._executor.submit(greeting_there, token).result()
            except BrokenExecutor as error:
                raise self._given_up("its first task", error) from error
            except Exception as error:
                what = f"{self._name} cannot run audits ({type(error).__name__}: {error})"
                raise UsageError(f"{what}: give one that takes tasks, and has the same auditor") from error
        check_greetings(self._name, [found])

    def _pack(self, bench: Bench) -> None:
        """Pack the bench that the next trials run on, once."""
        self._flags = (bench.copies, bench.judges)
        if bench.identity not in self._packed:
            self._packed[bench.identity] = bench, self._packed_bench(bench), BlockPace()
        self._bench = self._packed[bench.identity][1]

    def _packed_bench(self, bench: Bench) -> Any:
        """Return the bench as bytes that the executor's processes can load."""
        return packed_bench(bench, far=True)

    def _sent(self, whole: bool) -> Any:
        """Return what goes with a task: the bench itself only where a process has asked for it."""
        return self._bench if whole else replace(self._bench, sent=self._bench.sent._replace(packed=None))

    def preflight(self, bench: Bench, wanted: frozenset[int]) -> PreflightSteps:
        """Run the whole preflight as one task: the next task might go to another process, which knows nothing of it."""
        self._pack(bench)
        sent = self._sent(whole=True)
        future = self._submit(look_there, self._audit, self._how, sent, wanted, self.limit.left())
        future.add_done_callback(self._answers.put)
        steps, found = self._result(self._next_answer(), "the preflight")
        yield from steps
        if isinstance(found, Exception):
            raise found
        return found  # type: ignore[no-any-return]

    def trials(self, bench: Bench, wanted: Iterable[int], keep: Keep) -> Generator[Trial, None, None]:
        """Yield the wanted trials, run in blocks by the executor's processes."""
        self._pack(bench)
        try:
            yield from in_order(self, wanted, keep, self._packed[bench.identity][2])
        finally:
            self._forget()

    def _forget(self) -> None:
        """Cancel the blocks that nobody waits for any more; those that have begun run to their end."""
        with uninterrupted(), suppress(Exception):
            for future in self._under_way:
                future.cancel()
        self._under_way.clear()
        self._answers = SimpleQueue()

    def has_room(self) -> bool:
        """True if another block may be handed out."""
        return len(self._under_way) < max(1, self._how.ahead * self.hands)

    def submit(self, block: range, whole: bool = False) -> None:
        """Hand a block of trials out to the executor."""
        sent, left = self._sent(whole), self.limit.left()
        future = self._submit(block_there, self._audit, self._how, sent, block, *self._flags, left)
        self._under_way[future] = block
        future.add_done_callback(self._answers.put)

    def _submit(self, call: Callable[..., Any], *args: Any) -> Future[Any]:
        """Have a call made by the executor; SubjectError if it was shut down."""
        try:
            return self._executor.submit(call, *args, **self._keywords)
        except RuntimeError as error:  # it broke, or was shut down
            raise self._given_up("its tasks", error) from error

    def finished(self) -> Iterable[Done]:
        """Wait for the next block that is finished, and return it."""
        future = self._next_answer()
        block = self._under_way.pop(future)
        done = self._result(future, f"pairs {block.start} to {block[-1]}" if len(block) > 1 else f"pair {block[0]}")
        if done is None:  # its process did not have the bench
            self.submit(block, whole=True)
            return []
        return [done]

    def _next_answer(self) -> Future[Any]:
        """Wait for the next future that is finished, and look at the clock meanwhile."""
        while True:
            with suppress(Empty):
                return self._answers.get(timeout=_LOOK)
            self._check_time()

    def _check_time(self) -> None:
        """Raise TimeIsUp if nothing has come back for longer than a run may last."""
        if monotonic() > self.limit.lasts + _LOOK:
            raise TimeIsUp

    def _result(self, future: Future[Any], what: str) -> Any:
        """Return the result of a future; SubjectError if the executor gave it up."""
        error = None if future.cancelled() else future.exception()
        if isinstance(error, TimeIsUp):
            raise error
        if future.cancelled() or error is not None:
            raise self._given_up(what, error)
        return future.result()

    def _given_up(self, what: str, error: BaseException | None) -> SubjectError:
        """Return the error for work that the executor gave up."""
        why = self._cancelled if error is None else f"{type(error).__name__}: {error}"
        return SubjectError(f"{self._name} gave {what} up ({why}); {self._cure}")

    def close(self) -> None:
        """End what the audit has left in the executor's processes."""
        self._forget()


@contextmanager
def greeting_token() -> Iterator[str]:
    """Yield a text by which a greeting that comes back knows that this process has sent it, while this lasts."""
    token = f"{os.urandom(16).hex()}-{os.getpid()}"
    _tokens.add(token)
    try:
        yield token
    finally:
        _tokens.discard(token)


def check_greetings(name: str, greetings: Collection[tuple[str, bool]], *, may_be_here: bool = False) -> None:
    """Raise UsageError if a process has another auditor, or is this one."""
    if any(is_here for _, is_here in greetings) and not may_be_here:
        raise UsageError(f"{name} {NO_THREADS}")
    versions = {version for version, _ in greetings}
    if versions != {here := version_there()}:
        raise UsageError(f"{name} has auditor {', '.join(sorted(versions))}, and here it is {here}")


# What runs in a process of the executor.


class _Runner:
    """The worker process that runs the blocks of one audit for one thread of this process."""

    def __init__(self, how: RunOptions) -> None:
        self.workers = Workers(how, 1)
        self.benches: dict[str, PackedBench] = {}  # those that were sent
        self.begun = 0  # tasks
        self.timer: threading.Timer | None = None

    def take(self, bench: PackedBench) -> bool:
        """Make ready to run a bench; False if it was never sent."""
        if bench.sent.packed is not None:
            self.benches[bench.sent.key] = bench
        if bench.sent.key not in self.benches:
            return False
        self.workers.bench = self.benches[bench.sent.key]
        return True


_Place = tuple[str, int, int]  # audit, process (which a fork has another of), thread
_runners: dict[_Place, _Runner] = {}
_lock = threading.Lock()
_tokens: set[str] = set()  # of greetings that this process has sent


def block_there(
    audit: str,
    how: RunOptions,
    bench: PackedBench,
    block: range,
    copies: bool,
    judges: bool,
    left: tuple[float, float],
) -> Done | None:
    """Run a block, within the time that is `left`; None if the bench is still to be sent."""
    with _runner(audit, how) as runner:
        runner.workers.limit = _limit_of(left)
        return runner.workers.run(block, copies, judges) if runner.take(bench) else None


def look_there(
    audit: str, how: RunOptions, bench: PackedBench, wanted: frozenset[int], left: tuple[float, float]
) -> tuple[list[Step], PreflightFound | AuditorError | TimeIsUp]:
    """Run the preflight within the time that is `left`. Return its steps, and what it found or what ended it."""
    steps: list[Step] = []
    with _runner(audit, how) as runner:
        runner.take(bench)
        limit = runner.workers.limit = _limit_of(left)
        looking = runner.workers.preflight_inside(wanted)
        try:
            while True:
                steps.append(next(looking))
                limit.check_begins()
        except StopIteration as end:
            return steps, end.value
        except (AuditorError, TimeIsUp) as error:
            return steps, error
        finally:
            looking.close()


def _limit_of(left: tuple[float, float]) -> TimeLimit:
    """Return a time limit by the clock of this process, from the seconds that are left."""
    now = monotonic()
    return TimeLimit(now + left[0], now + left[1])


@contextmanager
def _runner(audit: str, how: RunOptions) -> Iterator[_Runner]:
    """Return the workers of this thread for an audit. They end when they have had nothing to do for a while: nobody
    says when an audit is over."""
    place = audit, os.getpid(), threading.get_ident()
    with _lock:
        if place not in _runners:
            _end([other for other in _runners if other[0] != audit and other[1:] == place[1:]])  # of an audit before
            _runners[place] = _Runner(how)
        runner = _runners[place]
        runner.begun += 1
        if runner.timer:
            runner.timer.cancel()
    try:
        yield runner
    finally:
        runner.timer = threading.Timer(_IDLE, _end_if_idle, (place, runner.begun))
        runner.timer.daemon = True
        runner.timer.start()


def _end_if_idle(place: _Place, begun: int) -> None:
    """End the workers of an audit unless they have begun something since."""
    with _lock:
        if place in _runners and _runners[place].begun == begun:
            _end([place])


@atexit.register
def _end_all() -> None:
    """End all workers that this process has started."""
    with _lock:
        _end([place for place in _runners if place[1] == os.getpid()])


def dismiss(audit: str) -> None:
    """End an audit's worker processes at once, and with them the runs that are under way."""
    with _lock:
        _end([place for place in _runners if place[:2] == (audit, os.getpid())])


def _end(places: Iterable[_Place]) -> None:
    """End the workers of these audits."""
    for place in places:
        runner = _runners.pop(place)
        if runner.timer:
            runner.timer.cancel()
        runner.workers.close()


def greeting_there(token: str) -> tuple[str, bool]:
    """Return the version of auditor here, and whether this is the process that asks: a fork of it has another number,
    and a process elsewhere does not know the token."""
    return version_there(), token in _tokens and token.endswith(f"-{os.getpid()}")


def version_there() -> str:
    """Return the version with a digest of the code, since two checkouts may have one number."""
    code = blake2b(digest_size=4)
    for file in sorted(Path(auditor.__file__).parent.rglob("*.py")):
        code.update(file.read_bytes())
    return f"{auditor.__version__} (code {code.hexdigest()})"
