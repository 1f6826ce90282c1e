"""Who runs the trials of an audit? What was asked for, else this process until the first show that others pay."""

from __future__ import annotations

from collections.abc import Callable

from auditor.engine.engine import Engine, RunOptions, Serial, SerialThenWorkers, cores
from auditor.errors import UsageError
from auditor.host.boundary import connection
from auditor.trials.trial import Bench


def make_engine(least: int, budget: int, how: RunOptions, notice: Callable[[str], None]) -> Engine:
    """`least` is the trials that a spotless subject takes, `budget` the most that there are."""
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
