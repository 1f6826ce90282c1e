"""`python -m auditor`, and the console script."""

from __future__ import annotations

import os
import sys

from auditor.process.parent import run_watched


def _run() -> int:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # runs compute in one thread: no others that wait for work
    from auditor.cli.command_line import run  # in the child: the parent stays small

    return run()


def main() -> None:
    sys.exit(run_watched(_run))


if __name__ == "__main__":
    main()
