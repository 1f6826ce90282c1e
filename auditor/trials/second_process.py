"""Does the answer survive another process? Pair 0 again, with another hash seed and its two runs in the other order.

It differs where the subject depends on the order of a set, or on what an earlier run left behind. The process is
asked before the source is loaded, so that its imports cost no waiting. What has a name is loaded there by that name;
what lives in no module, such as a closure, is sent as it is now, before its first run.
"""

from __future__ import annotations

import os
import sys
import time
from json import dumps, loads
from time import monotonic
from typing import TYPE_CHECKING, Any

from auditor.errors import AuditorError, in_words, is_interrupt
from auditor.lookup import file_modules, found_by_files, importable_name
from auditor.repair.mechanisms.own_frames import INSTALLED
from auditor.request import OverCells
from auditor.subjects.subject import load_subject, param_text
from auditor.trials.cell import Cell, make_cell
from auditor.trials.second_server import ServerRequest, server

if TYPE_CHECKING:
    from auditor.trials.causes.files import Files

_START = 60.0  # seconds that a second process may take to start and to load
_SLOWER = 20  # times what a run takes here
_SHOWN = 200  # characters of what it raised
_SERVES = "AUDITOR_SECOND_PROCESS"  # in the environment of a second process, and of all that it starts
_PAIR_0 = dumps({"ask": "run", "index": 0, "after": True}).encode()
SWITCHED_OFF = "skipped: switched off"  # what `compare` says where the user wants none
learnt: set[str] = set()  # libraries that a second process had to load: the next ones find them loaded


class SecondProcess:
    """A second opinion on pair 0 under way; a context manager that leaves no process behind."""

    def __init__(
        self, cell: Cell, *, timeout: float | None = None, memory: int | None = None, wanted: bool = True
    ) -> None:
        self._timeout, self._asked = timeout, monotonic()
        self._since = file_clock()
        self._request: ServerRequest | None = None
        self._found: dict[str, Any] = {}
        self._trouble = ""
        if not wanted:
            self._trouble = SWITCHED_OFF.removeprefix("skipped: ")
            return
        if _SERVES in os.environ:  # a module that audits when it is imported would start one after the other
            self._trouble = "it is audited in a second process"
            return
        try:
            head, packed = _messages(cell, memory)
            self._request = server().ask(dumps(sorted(learnt)).encode(), head, packed, _PAIR_0)
        except BaseException as error:  # what cannot be pickled says so in many ways
            if is_interrupt(error):
                raise
            self._trouble = f"it cannot be sent to another process ({shown(error)})"

    def __enter__(self) -> SecondProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self._request is not None:
            self._request.close()

    def compare(self, expected: str | None, seconds: float = 0.0) -> str:
        """ "same", "different", or "skipped: why", against the fingerprint of the output here.

        `seconds` is what a run took here: a process that takes very much longer is not waited for.
        """
        if self._request is None:
            return f"skipped: {self._trouble}"
        if expected is None:
            return "skipped: the first run gave no output"
        try:
            found = self._opinion(self._asked + self._patience(seconds))
        except TimeoutError:
            return "skipped: the second process ended with no answer in time"
        except (OSError, ValueError):
            return "skipped: the second process ended with no answer"
        if trouble := found.get("raised") or found.get("ended"):
            return f"skipped: the second process ended with no output ({trouble})"
        return "same" if found["fingerprint"] == expected else "different"

    def files(self, seconds: float = 0.0) -> Files | None:
        """Return what runs leave on disk for later runs; None where they open no file, or no answer comes.

        To be asked while nobody runs the subject, since files are taken away and put back meanwhile.
        """
        if self._request is None:
            return None
        try:
            if not self._opinion(self._asked + self._patience(seconds)).get("opens_files"):
                return None
            import msgspec

            from auditor.trials.causes.files import Files

            self._request.ask(dumps({"ask": "files", "since": self._since}).encode())
            found = loads(self._request.answer(monotonic() + self._patience(seconds)))
            return None if "raised" in found else msgspec.convert(found, Files)
        except (OSError, ValueError):  # which a message of another shape is too
            return None

    @property
    def read(self) -> dict[str, str]:
        """The files that its runs were heard to read, with digests; to be asked after `compare`."""
        found: dict[str, str] = self._found.get("read", {}) if self._request is not None else {}
        return found

    def _patience(self, seconds: float) -> float:
        return _START + (_SLOWER * seconds if self._timeout is None else min(_SLOWER * seconds, 2 * self._timeout))

    def _opinion(self, deadline: float) -> dict[str, Any]:
        """The answer of a process that is there, then that of its run."""
        assert self._request is not None
        for _ in range(2):
            if self._found:
                break
            self._found = loads(self._request.answer(deadline))
            learnt.update(self._found.pop("loaded", ()))
        return self._found


def file_clock() -> float:
    """Return the time by the clock that stamps files, which goes in ticks of a few milliseconds."""
    coarse = getattr(time, "CLOCK_REALTIME_COARSE", None)
    return time.time() if coarse is None else time.clock_gettime(coarse)


def _messages(cell: Cell, memory: int | None) -> tuple[bytes, bytes]:
    """Where the other process finds itself with what by name, and what has to be sent for want of one."""
    named = _named(cell)
    head = dumps({**whereabouts(), "memory": memory, "named": named, "threads": None}).encode()
    if named:
        return head, b""
    import cloudpickle

    return head, cloudpickle.dumps(cell)


def whereabouts() -> dict[str, Any]:
    """Where this process is, for another that has to find the same things."""
    return {
        "folder": os.getcwd(),
        "path": [path or os.getcwd() for path in sys.path],
        "environment": {**os.environ},
        "files": file_modules(),
    }


def _named(cell: Cell) -> dict[str, Any] | None:
    """All that is asked, by name; None if something of it has none that leads another process to it."""
    subject = cell.subject
    source = cell.source if isinstance(cell.source, str) else getattr(cell.source, "spec", None)
    source = source or importable_name(cell.source)
    if not subject.is_reachable or source is None or cell.view.spec is None:
        return None
    if cell.command == "repair" or cell.path:  # what a command line names is the learner inside, or on other pairs
        return None
    return {
        "target": subject.target,
        "source": source,
        "randomness": subject.randomness,
        "texts": {name: param_text(value) for name, value in subject.params.items()},
        "options": {
            "size": cell.size,
            "seed": cell.seed,
            "sample": cell.sample_kind,
            "view": cell.view.spec,
            "probe": cell.probe,
            "resample": cell.resample,
            "as_": cell.as_,
            "private": cell.private,
        },
    }


def libraries() -> set[str]:
    """The modules that were installed, and not written with the subject."""
    origins = {name: getattr(getattr(module, "__spec__", None), "origin", None) for name, module in sys.modules.items()}
    return {name for name, origin in origins.items() if origin and any(place in origin for place in INSTALLED)}


def settle_in(head: dict[str, Any]) -> None:
    """Go to where the asking process is: its folder, path and environment, but for the hash seed."""
    seed = os.environ["PYTHONHASHSEED"]
    os.environ.clear()
    os.environ.update({**head["environment"], "PYTHONHASHSEED": seed, _SERVES: "1"})
    sys.path[:] = head["path"]
    found_by_files(head["files"])
    os.chdir(head["folder"])


def found_by_name(named: dict[str, Any]) -> Cell:
    randomness = None if named["randomness"] == "Generator" else named["randomness"]
    subject = load_subject(named["target"], texts=named["texts"], randomness=randomness)
    return make_cell("", subject, named["source"], OverCells(accept_overlap=True, **named["options"]))


def shown(error: BaseException) -> str:
    """The last line of what was raised; of one of our own errors its cause, which says more."""
    if isinstance(error, AuditorError) and error.details:
        return error.details.rpartition("\n")[2][:_SHOWN]
    return in_words(error)[:_SHOWN]
