"""`python -m auditor`, and the console script."""

from __future__ import annotations

import signal
import sys
from time import monotonic
from types import FrameType

_AGAIN = 1.0  # seconds in which a second Ctrl-C is the same wish as the first
_last = [-_AGAIN]


def interrupt(number: int, frame: FrameType | None) -> None:
    """Once: an impatient second Ctrl-C must not cut short what the first began, the report of what was learnt."""
    if monotonic() - _last[0] >= _AGAIN:
        _last[0] = monotonic()
        raise KeyboardInterrupt


def main() -> None:
    for kind in (signal.SIGINT, signal.SIGTERM):  # a killed audit keeps what it learnt, too
        signal.signal(kind, interrupt)
    try:
        from auditor.command_line import run
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run())


if __name__ == "__main__":
    main()
