"""Who runs the trials? One small contract: indices in, trials out in index order, whoever runs them.

    engine.preflight(bench, wanted)            the preflight's runs, where the pairs' runs will be, with the first pairs
    engine.trials(bench, wanted, keep)    a trial for each wanted index, in order; `keep` has them as they finish

A trial is a pure function of (bench, index), so the engine decides about time and about what a fault can reach, never
about a record. A failure comes out where its index is, after all trials before it: what ends an audit does not depend
on who was faster. Closing the generator cancels at once what is under way.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from operator import length_hint
from time import monotonic, perf_counter
from typing import Any, ClassVar, Protocol

import msgspec

from auditor.errors import AuditorError, BadValue, TimeIsUp, UsageError, check_count, suggestion
from auditor.host.boundary import connection
from auditor.host.limits import LONGEST, read_duration, read_memory
from auditor.trials.blocks import Done
from auditor.trials.preflight import PreflightFound, Step, run_preflight
from auditor.trials.trial import Bench, Trial

_FINER = 4  # blocks that each hand gets of what is left
_FINEST = 16  # parts of a whole block: of less, the sending would take longer than the waiting at the end
_DEATH = 0.3  # seconds that a run without an output may have cost: most likely it took its worker along
Keep = Callable[[Sequence[Trial]], None]
ON_ERROR = ("stop", "bottom")
_MOST_JOBS = 32  # workers a core
TOO_MANY = "more only wait for each other"


class RunOptions(msgspec.Struct, frozen=True):
    """How an audit is run. Nothing here changes what a pair shows, except where a run fails."""

    jobs: int | None = 1  # None: as many as pay
    timeout: float | None = None  # seconds a run
    memory: int | None = None  # bytes a worker
    on_error: str = "stop"
    cluster: str | None = None
    executor: Any = None  # a concurrent.futures.Executor of the caller's
    ledger: str | None = None
    resume: bool = False
    begins: bool = False  # where there is nothing to resume, as with several audits of which some had not begun
    log: str | None = None  # the file that takes what a subject prints in a worker
    for_: float | None = None  # seconds after which no work is handed out
    second_process: bool = True  # whether the preflight asks one

    @property
    def ahead(self) -> int:
        """Blocks that each hand has: one under way and one to go on with, unless that would begin after the clock."""
        return 2 if self.for_ is None else 1

    @property
    def isolates(self) -> bool:
        """Whether runs must be kept apart from this process, so that they can be stopped and can die."""
        limited = self.timeout is not None or self.memory is not None or self.on_error == "bottom"
        return limited or (self.jobs or 1) > 1 or self.cluster is not None or self.executor is not None


def make_run_options(
    *,
    jobs: int | None = 1,
    timeout: float | None = None,
    memory: int | str | None = None,
    on_error: str | None = None,
    cluster: str | None = None,
    executor: object = None,
    ledger: object = None,
    resume: bool = False,
    for_: float | str | None = None,
    second_process: bool = True,
    log: str | None = None,
) -> RunOptions:
    """Return the options after checking them; BadValue or UsageError with the cure where they cannot be used."""
    if jobs is not None:
        check_count("jobs", jobs, least=1, example=4)
        if jobs > most_jobs():
            raise BadValue("jobs", jobs, f"must be at most {most_jobs()} on {cores()} cores: {TOO_MANY}")
    if timeout is not None and not (isinstance(timeout, (int, float)) and 0 < timeout <= LONGEST):
        raise BadValue("timeout", timeout, f"must be a number of seconds above 0 and up to {LONGEST:.0e}, e.g. 60")
    on_error = "stop" if on_error is None else on_error
    if on_error not in ON_ERROR:
        raise BadValue("on_error", on_error, f"must be one of {', '.join(ON_ERROR)}{suggestion(on_error, ON_ERROR)}")
    if resume and ledger is None:
        raise UsageError("--resume needs the ledger of the audit that it continues: add --ledger FILE")
    if cluster is not None and jobs not in (None, 1):
        raise UsageError(f"--jobs {jobs} and --cluster do not go together: the cluster's workers run the audit")
    if executor is not None:
        check_executor(executor)
        if jobs not in (None, 1) or cluster is not None:
            other = f"jobs={jobs}" if cluster is None else f"cluster={cluster!r}"
            raise UsageError(f"{other} and executor do not go together: the executor's processes run the audit")
    if not isinstance(ledger, str | os.PathLike | None):
        raise BadValue("ledger", ledger, "must be the path of a file, e.g. audit.sqlite")
    file = None if ledger is None else os.path.abspath(ledger)
    seconds = read_duration("for", for_)
    return RunOptions(
        jobs,
        timeout,
        read_memory(memory),
        on_error,
        cluster,
        executor,
        file,
        resume,
        log=log,
        for_=seconds,
        second_process=second_process,
    )


RUN_OPTIONS = (
    "jobs",
    "timeout",
    "memory",
    "on_error",
    "cluster",
    "executor",
    "ledger",
    "resume",
    "for_",
    "second_process",
)
NO_THREADS = (
    "runs in the process that asks, and an audit needs processes of its own, so that a learner that hangs, dies or "
    "changes global state harms nothing else: give one of processes, e.g. ProcessPoolExecutor(4), or use jobs=4"
)


def check_executor(executor: object) -> None:
    """Raise BadValue for what is no executor, or one of threads."""
    from concurrent.futures import Executor, ThreadPoolExecutor

    if not isinstance(executor, Executor):
        cure = "must be a concurrent.futures.Executor, e.g. ProcessPoolExecutor(4) or a Dask client's get_executor()"
        raise BadValue("executor", executor, cure)
    if isinstance(executor, ThreadPoolExecutor):
        raise UsageError(f"executor={type(executor).__name__} {NO_THREADS}")


class TimeLimit(msgspec.Struct, frozen=True):
    """Until when runs may begin, and until when one may last, by the monotonic clock of this process.

    A run that is under way when the time is up has as long again, and at least `GRACE` seconds; then it is ended, if it
    runs in a process of its own.
    """

    begins: float = math.inf
    lasts: float = math.inf
    GRACE: ClassVar[float] = 10.0

    @classmethod
    def of(cls, seconds: float | None) -> TimeLimit:
        """Return the limit of an audit that has so many seconds from now on; there is none without."""
        now = monotonic()
        return cls() if seconds is None else cls(now + seconds, now + seconds + max(seconds, cls.GRACE))

    def left(self) -> tuple[float, float]:
        """Return the seconds from now on, for a process whose clock is another."""
        now = monotonic()
        return self.begins - now, self.lasts - now

    def check_begins(self) -> None:
        """Raise TimeIsUp if no further run may begin."""
        if monotonic() > self.begins:
            raise TimeIsUp


NO_LIMIT = TimeLimit()
PreflightSteps = Generator[Step, None, PreflightFound]


class Engine(Protocol):
    """See the module. `words` say how the trials were run, for the record's cost; used as a context manager. `limit`
    holds from the moment that it is set: TimeIsUp for a run that lasts longer, where it can be ended."""

    limit: TimeLimit

    @property
    def words(self) -> str:
        """Where trials run, for the report."""

    def preflight(self, bench: Bench, wanted: frozenset[int]) -> PreflightSteps:
        """Run the preflight where the pairs' runs will be, step by step, with those of the wanted pairs."""

    def trials(self, bench: Bench, wanted: Iterable[int], keep: Keep) -> Generator[Trial, None, None]:
        """Yield a trial for each wanted index, in order; `keep` is given trials as they finish."""

    def close(self) -> None:
        """End all processes that this engine has started."""


class Serial:
    """In this process, one after the other."""

    words = "in process"
    limit = NO_LIMIT  # nobody can end a run of this process

    def preflight(self, bench: Bench, wanted: frozenset[int]) -> PreflightSteps:
        """Return the preflight's runs, in this process."""
        return run_preflight(bench, wanted)

    def trials(self, bench: Bench, wanted: Iterable[int], keep: Keep) -> Generator[Trial, None, None]:
        """Yield the wanted trials, run one after the other in this process."""
        for index in wanted:
            trial = bench.trial(index)
            keep((trial,))
            yield trial

    def close(self) -> None: ...


def keep_nothing(trials: Sequence[Trial]) -> None:
    """Keep no trials: for callers that have no ledger."""


class Crew(Protocol):
    """Those who run blocks of trials in any order: how many they are, and how long a block should take."""

    @property
    def hands(self) -> int:
        """How many blocks can be run at the same time."""

    @property
    def block_seconds(self) -> float:
        """How long a block should take."""

    def has_room(self) -> bool:
        """True if another block may be handed out."""

    def submit(self, block: range) -> None:
        """Hand out a block of trials."""

    def finished(self) -> Iterable[Done]:
        """Return blocks, or parts of them, that have come back; wait for the first."""


def in_order(crew: Crew, wanted: Iterable[int], keep: Keep, pace: BlockPace) -> Iterator[Trial]:
    """Hand out the wanted trials in blocks, and yield them in the order of their indices: what comes back early waits
    for what was asked for before it."""
    blocks = BlockCutter(wanted, crew.block_seconds, pace, crew.hands)
    expected: deque[range] = deque()
    arrived: dict[int, Trial | AuditorError] = {}
    while True:
        while crew.has_room() and (block := blocks.cut()):
            crew.submit(block)
            expected.append(block)
        if not expected:
            return
        for done in crew.finished():
            keep(done.trials)
            arrived.update((trial.index, trial) for trial in done.trials)
            lost = sum(len(trial.bottoms) for trial in done.trials)
            blocks.took(done.seconds + lost * _DEATH, len(done.trials))
            if done.fall is not None:
                arrived[done.fall.index] = done.fall.failure
        yield from _in_turn(expected, arrived)


def _in_turn(expected: deque[range], arrived: dict[int, Trial | AuditorError]) -> Iterator[Trial]:
    """Yield the trials that have arrived, in the order in which they are expected, up to the first that has not; a
    failure is raised where its index is."""
    while expected:
        block = expected[0]
        for index in block:
            if index not in arrived:
                expected[0] = range(index, block.stop)
                return
            found = arrived.pop(index)
            if isinstance(found, AuditorError):
                raise found
            yield found
        expected.popleft()


class BlockPace(msgspec.Struct):
    """How many trials of a bench make a block, by what the last ones took."""

    trials: int = 1


class BlockCutter:
    """Cuts the wanted indices into blocks of about the asked duration, by what the last ones took; smaller ones at the
    end, where that is known, so that all hands are done at about the same time."""

    _growth = 4

    def __init__(self, wanted: Iterable[int], seconds: float, pace: BlockPace, hands: int = 1) -> None:
        self._left, self._hands = length_hint(wanted), hands
        self._wanted = iter(wanted)
        self._seconds = seconds
        self._pace = pace
        self._next: int | None = None

    def took(self, seconds: float, pairs: int) -> None:
        """Choose the size of the next block by how long the last one took."""
        if pairs:
            fitting = self._seconds * pairs / max(seconds, 1e-9)
            self._pace.trials = max(1, min(int(fitting), self._growth * self._pace.trials, 100_000))

    def cut(self) -> range | None:
        """Return the next block: consecutive indices, fewer where the next wanted one is further on."""
        start = next(self._wanted, None) if self._next is None else self._next
        self._next = None
        if start is None:
            return None
        stop, most = start + 1, self._pace.trials
        if self._left > 0 and self._hands > 1:
            most = max(1, min(most, max(self._left // (_FINER * self._hands), most // _FINEST)))
        while stop < start + most:
            following = next(self._wanted, None)
            if following != stop:
                self._next = following
                break
            stop += 1
        self._left -= stop - start
        return range(start, stop)


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def most_jobs() -> int:
    """Return how many worker processes may be asked for."""
    return _MOST_JOBS * cores()


class TimedStart:
    """The first trials of an audit, which are timed to see whether more processes pay."""

    TRIED = 1.0  # seconds of trials that are timed
    PAYS = 5.0  # seconds of work left that are worth the start of workers, which takes about one

    def __init__(self, least: int, budget: int, notice: Callable[[str], None]) -> None:
        self._least, self._budget, self._notice = least, budget, notice
        self._done, self._seconds = 0, 0.0  # of trials so far, whichever bench they were of

    def more_pay(self) -> bool:
        """True if enough trials were timed, and the work that is left is worth more processes."""
        if self._seconds <= self.TRIED or cores() == 1:
            return False
        left = self._least - self._done if self._done < self._least else self._budget - self._done
        return left * self._seconds / self._done > self.PAYS

    def tell(self, words: str) -> None:
        """Say that the audit goes on otherwise than it began."""
        self._notice(f"one pair takes {1000 * self._seconds / self._done:.3g} ms, so the rest is run {words}")


class SerialThenWorkers(TimedStart):
    """In this process at first; with workers as soon as the first trials show that it pays."""

    def __init__(
        self, least: int, budget: int, crowd: Callable[[Bench], Engine | None], notice: Callable[[str], None]
    ) -> None:
        super().__init__(least, budget, notice)
        self._crowd = crowd
        self._engine: Engine = Serial()
        self.limit = NO_LIMIT

    @property
    def words(self) -> str:
        """Where trials run, for the report."""
        return self._engine.words

    def preflight(self, bench: Bench, wanted: frozenset[int]) -> PreflightSteps:
        """Return the preflight's runs, in this process."""
        return run_preflight(bench, wanted)

    def trials(self, bench: Bench, wanted: Iterable[int], keep: Keep) -> Generator[Trial, None, None]:
        """Yield the wanted trials: in this process, until the first of them show that workers pay."""
        wanted = iter(wanted)
        if self._seconds <= self.TRIED and (start := getattr(bench.unit, "start", None)):
            start(bench)  # a process of its own, say, which no trial takes
        while self._seconds <= self.TRIED:
            started = perf_counter()
            index = next(wanted, None)
            if index is None:
                return
            trial = bench.trial(index)
            self._done, self._seconds = self._done + 1, self._seconds + perf_counter() - started
            keep((trial,))
            if self.more_pay() and (crowd := self._crowd(bench)):
                self._engine = crowd
                self.tell(self.words)
            yield trial
        self._engine.limit = self.limit
        yield from self._engine.trials(bench, wanted, keep)

    def close(self) -> None:
        """End the workers, if there are any."""
        self._engine.close()


def make_engine(least: int, budget: int, how: RunOptions, notice: Callable[[str], None]) -> Engine:
    """Return who runs the trials: what was asked for, else this process until the first show that others pay.

    `least` is the number of trials that a spotless subject takes, `budget` the most that there are.
    """
    from auditor.engine.workers import Growing, Workers

    if how.cluster is not None or how.executor is not None:
        from auditor.engine.cluster import Cluster, is_of_dask
        from auditor.engine.executor import OnExecutor

        if how.executor is None or is_of_dask(how.executor):
            return Cluster(how, how.cluster or how.executor, notice)
        made = OnExecutor(how, how.executor)
        made.greet()
        return made
    if found := connection():
        workers = Workers(how, how.jobs or 1, first=found.host())
        return workers if how.jobs else Growing(workers, least, budget, notice)
    if how.isolates:
        return Workers(how, how.jobs or cores())
    if how.jobs == 1:
        return Serial()

    def crowd(bench: Bench) -> Engine | None:
        workers = Workers(how, cores())
        try:
            workers.pack(bench)
        except UsageError:
            return None  # it goes on as it began
        return workers

    return SerialThenWorkers(least, budget, crowd, notice)
