"""`python -m auditor`, and the console script."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from auditor.command_line import run
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run())


if __name__ == "__main__":
    main()
