"""What does a package offer? The table from which `list` reads it, so that nothing has to be imported.

python -m auditor.subjects.table mypackage > mypackage/subjects.json
"""

from __future__ import annotations

import json
import sys
from typing import Any

from auditor.lookup import SHOWN, declared_targets
from auditor.subjects.subject import load_subject


def summary_of(target: str) -> dict[str, Any]:
    """Return what `list` shows of a subject, which is loaded for it; AuditorError where it cannot be."""
    subject = load_subject(target)
    values = subject.declared.theorem, subject.declares("claimed"), subject.declares("size"), subject.declared.expect
    return dict(zip(SHOWN, values, strict=True))


def table_of(package: str) -> str:
    """Return the names of all subjects that a package lists, with their targets and summaries, as JSON."""
    targets = {target.rpartition(":")[2]: target for target in declared_targets(package, listed=True)}
    rows = {name: json.dumps({"target": target, **summary_of(target)}) for name, target in sorted(targets.items())}
    return "{\n" + ",\n".join(f" {json.dumps(name)}: {row}" for name, row in rows.items()) + "\n}\n"


if __name__ == "__main__":
    print(table_of(sys.argv[1]), end="")
