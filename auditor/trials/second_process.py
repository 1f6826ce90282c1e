"""Does the answer survive another process? Pair 0 again, with another hash seed and its two runs in the other order.

It differs where the subject depends on the order of a set, or on what an earlier run left behind. The process is
asked early, so that its imports cost no waiting. What has a name is loaded there by that name; what lives in no module,
such as a closure, is sent as it is now, before its first run.
"""

from __future__ import annotations

import math
import os
import time
from time import monotonic
from typing import TYPE_CHECKING

from auditor.errors import AuditorError, TimeIsUp, in_words, is_interrupt
from auditor.host.boundary import HostFailed, read_answer, request_bytes
from auditor.host.server import Host, HostGone, Place, here, other_hash_seed, server
from auditor.trials.cell import Cell
from auditor.trials.opinions import Opinion, files_there, load_there, run_there

if TYPE_CHECKING:
    from auditor.trials.causes.files import Files

_START = 60.0  # seconds that a second process may take to start and to load
_SLOWER = 20  # times what a run takes here
_SHOWN = 200  # characters of what it raised
_SERVES = "AUDITOR_SECOND_PROCESS"  # in the environment of a second process, and of all that it starts
SWITCHED_OFF = "skipped: switched off"  # what `compare` says where the user wants none


class SecondProcess:
    """A second opinion on pair 0 under way; a context manager that leaves no process behind."""

    def __init__(
        self,
        cell: Cell,
        *,
        timeout: float | None = None,
        memory: int | None = None,
        wanted: bool = True,
        ends: float = math.inf,
    ) -> None:
        self._timeout, self._asked, self._ends = timeout, monotonic(), ends
        self._since = file_clock()
        self._host: Host | None = None
        self._found: Opinion | None = None
        self._failure: Exception | None = None  # why there is no opinion
        self._trouble = ""
        if not wanted:
            self._trouble = SWITCHED_OFF.removeprefix("skipped: ")
            return
        if _SERVES in os.environ:  # a module that audits when it is imported would start one after the other
            self._trouble = "it is audited in a second process"
            return
        try:
            loading = request_bytes(load_there, (cell,), {})
            kind = other_hash_seed()
            host = Host(server(kind), serving(here(kind, memory=memory)))
            host.ask(loading)
            host.ask(request_bytes(run_there, (0,), {"after": True}))
            self._host = host
        except BaseException as error:  # what cannot be pickled says so in many ways
            if is_interrupt(error):
                raise
            self._trouble = f"it cannot be sent to another process ({shown(error)})"

    def __enter__(self) -> SecondProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self._host is not None:
            self._host.close()

    def compare(self, expected: str | None, seconds: float = 0.0) -> str:
        """Return "same", "different", or "skipped: why", against the fingerprint of the output here.

        `seconds` is what a run took here: a process that takes very much longer is not waited for. TimeIsUp if it has
        not answered when the audit's time is over, at `ends` by the monotonic clock.
        """
        if self._host is None:
            return f"skipped: {self._trouble}"
        if expected is None:
            return "skipped: the first run gave no output"
        try:
            found = self._opinion(self._asked + self._patience(seconds))
        except TimeoutError:
            return "skipped: the second process ended with no answer in time"
        except (AuditorError, HostFailed) as error:
            return f"skipped: the second process ended with no output ({shown(error)})"
        return "same" if found.fingerprint == expected else "different"

    def files(self, seconds: float = 0.0) -> Files | None:
        """Return what runs leave on disk for later runs; None where they open no file, or no answer comes.

        To be asked while nobody runs the subject, since files are taken away and put back meanwhile.
        """
        if self._host is None:
            return None
        try:
            if not self._opinion(self._asked + self._patience(seconds)).opens_files:
                return None
            self._host.ask(request_bytes(files_there, (self._since,), {}))
            found: Files = read_answer(self._wait(monotonic() + self._patience(seconds)))
        except (TimeoutError, AuditorError, HostFailed):
            return None
        return found

    @property
    def read(self) -> dict[str, str]:
        """The files that its runs were heard to read, with digests; to be asked after `compare`."""
        return {} if self._found is None else self._found.read

    def _patience(self, seconds: float) -> float:
        return _START + (_SLOWER * seconds if self._timeout is None else min(_SLOWER * seconds, 2 * self._timeout))

    def _wait(self, deadline: float) -> bytes:
        """Return its next answer; TimeIsUp if the audit's time is over before, TimeoutError at the deadline."""
        assert self._host is not None
        try:
            return self._host.wait(min(deadline, self._ends))
        except TimeoutError:
            if deadline < self._ends:
                raise
            raise TimeIsUp("a second process had not answered") from None

    def _opinion(self, deadline: float) -> Opinion:
        """Wait until the process has loaded the subject, then until it has run it."""
        assert self._host is not None
        if self._failure is not None:
            raise self._failure
        if self._found is None:
            try:
                read_answer(self._wait(deadline))
                self._found = read_answer(self._wait(deadline))
            except TimeIsUp:
                raise
            except Exception as error:
                self._failure = error
                raise
        assert self._found is not None
        return self._found


def serving(place: Place) -> Place:
    """Mark a place as that of a second process."""
    from msgspec.structs import replace

    return replace(place, environment={**place.environment, _SERVES: "1"})


def file_clock() -> float:
    """Return the time by the clock that stamps files, which goes in ticks of a few milliseconds."""
    coarse = getattr(time, "CLOCK_REALTIME_COARSE", None)
    return time.time() if coarse is None else time.clock_gettime(coarse)


def shown(error: BaseException) -> str:
    """Return the last line of what was raised; of one of our own errors that of its cause, which says more."""
    if isinstance(error, HostGone):
        return str(error)[:_SHOWN]
    if isinstance(error, AuditorError) and error.details:
        return error.details.rpartition("\n")[2][:_SHOWN]
    return in_words(error)[:_SHOWN]
