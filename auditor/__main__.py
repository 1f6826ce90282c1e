"""`python -m auditor`, and the console script."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a killed audit keeps what it learnt, too
    try:
        from auditor.command_line import run
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run())


if __name__ == "__main__":
    main()
