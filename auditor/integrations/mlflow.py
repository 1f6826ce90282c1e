"""`auditor.integrations.mlflow.log(record)` logs a record in MLflow, within a run or as one of its own.

Metrics are the numbers that can be compared over runs, params what was asked, tags what came out; the record and its
page are artifacts.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from auditor.errors import UsageError
from auditor.escape import shortened, visible
from auditor.flow.record import Record, to_json
from auditor.report.page.records import page_of

_LONGEST, _NAME = 500, 200  # characters of a text and of a name that every store takes
_NO_NAME = re.compile(r"[^A-Za-z0-9_. -]")


def log(record: Record, *, prefix: str = "auditor") -> str:
    """Log a record into the active run, else into a new one that ends here; return the id of the run.

    All names begin with the prefix and a point.
    """
    try:
        import mlflow
    except ImportError as error:
        raise UsageError("MLflow is not installed: pip install mlflow-skinny, or mlflow") from error
    with contextlib.ExitStack() as stack:
        run = mlflow.active_run()
        if run is None:
            run = stack.enter_context(mlflow.start_run(run_name=shortened(record.label, _LONGEST)))
        mlflow.log_metrics({_name(prefix, name): value for name, value in _metrics(record)})
        mlflow.log_params({_name(prefix, name): _text(value) for name, value in _params(record)})
        mlflow.set_tags({_name(prefix, name): _text(value) for name, value in _tags(record)})
        mlflow.log_text(to_json(record).decode(), f"{prefix}/record.json")
        mlflow.log_text(page_of(record), f"{prefix}/page.html")
        return str(run.info.run_id)


def _metrics(record: Record) -> Iterator[tuple[str, float]]:
    """Yield the numbers of a record as metrics of mlflow, by name."""
    for one in record.measures:
        yield from ((f"{one.name}.low", one.low), (f"{one.name}.high", one.high))
        if one.estimate is not None:
            yield one.name, one.estimate
    if score := record.score:
        limits = {"score": score.estimate, "score.low": score.low, "score.high": score.high}
        yield from ((name, value) for name, value in limits.items() if value is not None)
    counts = {"pairs": record.pairs, "mismatches": record.mismatches, "target": record.target}
    yield from ((name, value) for name, value in counts.items() if value is not None)
    yield from (("runs", record.cost.runs), ("seconds", record.cost.seconds_total))


def _params(record: Record) -> Iterator[tuple[str, object]]:
    """Yield what was audited as parameters of mlflow, by name."""
    names = ("question", "subject", "source", "size", "seed", "view", "confidence", "budget")
    yield from ((name, getattr(record, name)) for name in names)
    yield from ((f"param.{name}", value) for name, value in record.params.items())


def _tags(record: Record) -> Iterator[tuple[str, object]]:
    """Yield the verdict and where it comes from as tags of mlflow."""
    yield from (("verdict", record.verdict), ("expect", record.expect), ("reason", record.reason))
    yield from (("version", record.auditor_version), ("code_hash", record.code_hash or ""))


def _name(prefix: str, name: str) -> str:
    """Return a name that every store takes, and none takes for a path."""
    return f"{prefix}.{_NO_NAME.sub('_', name)[:_NAME]}"


def _text(value: object) -> str:
    """Return a value as text that mlflow takes: visible and not too long."""
    return visible(shortened(str(value), _LONGEST))[:_LONGEST]
