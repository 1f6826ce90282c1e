"""What do Ctrl-C and a request to terminate mean? The audit ends, and its report says what was learnt until then."""

from __future__ import annotations

import signal
from time import monotonic
from types import FrameType

from auditor.errors import Stopping

_AGAIN = 1.0  # seconds in which a second Ctrl-C is the same wish as the first
_last = [-_AGAIN]


def listen() -> None:
    """Have interrupts come to `interrupt`, and take nothing else that is raised for one."""
    Stopping.is_ours = True
    for kind in (signal.SIGINT, signal.SIGTERM):  # an audit that is to terminate keeps what it learnt, too
        signal.signal(kind, interrupt)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, but not twice within a second: an impatient Ctrl-C must not cut the report short."""
    Stopping.is_asked = True
    if monotonic() - _last[0] >= _AGAIN:
        _last[0] = monotonic()
        raise KeyboardInterrupt
