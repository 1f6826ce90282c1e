"""What is known of a run that gave no output, and what is asked of the workers about it?"""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import dataclass

from auditor.engine.engine import Fall
from auditor.engine.inside_worker import Fell
from auditor.engine.worker_process import Death
from auditor.trials.trial import RunFailed


class Watched(RunFailed):
    """A watcher ended the run. What a clock cuts depends on what else the machine does: it is never bottom."""


class Hung(Watched):
    """A run took longer than it may."""

    kind = "hung"


class Undrawn(Watched):
    """The source ended the process that drew: what it does is no output of the subject."""


class Outgrown(Watched):
    """A run held more memory than it may, in a way that no limit of the system counts."""


@dataclass(frozen=True, slots=True)
class Task:
    """A block for a worker; `then` is what comes after its last pair, known from a worker that died there."""

    block: range
    fell: Fell
    then: Fall | None = None
    fresh: bool = False  # one pair, for a worker that has run nothing
    alone: Fall | None = None  # its second run without its first, to see whether that fails too


def how_it_ended(death: Death) -> str:
    if death.code is None:
        return "it never began"
    if death.code >= 0:
        return f"exit code {death.code}"
    with suppress(ValueError):
        name = signal.Signals(-death.code).name
        return f"killed by {name}" + (", perhaps for want of memory" if name == "SIGKILL" else "")
    return f"killed by signal {-death.code}"
