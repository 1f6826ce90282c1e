"""When do two clusterings of two samples agree? When they part the rows that both samples have in the same way.

A clusterer without `predict` labels the rows of its own sample and no others. Two samples of one data set have rows in
common, 40 % of all on average for two bootstrap samples; on these the two labellings are compared as partitions. A row
that was drawn twice counts once, with the label of its first copy.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from auditor.errors import NotComparable
from auditor.sources.frames import as_matrix
from auditor.subjects.views.partition import partition
from auditor.values import fingerprint

ROWS = "_rows_that_were_fitted"  # the attribute in which a fit keeps its sample


def keep_rows(fitted: Any, x: Any) -> None:
    """Keep the sample with a clusterer that labels its own rows alone."""
    if hasattr(fitted, "labels_") and not hasattr(fitted, "predict"):
        setattr(fitted, ROWS, x)


def clusters(fitted: Any) -> dict[str, Any]:
    """Return the label of each distinct row of the sample that a clusterer was fitted to, by what the row is."""
    rows, labels = getattr(fitted, ROWS, None), getattr(fitted, "labels_", None)
    if rows is None or labels is None:
        raise NotComparable(
            f"the view clusters looks at the labels_ of a clusterer, and the output is {type(fitted).__name__}: choose "
            "another view"
        )
    found: dict[str, Any] = {}
    for key, label in zip(_keys(rows), np.asarray(labels).tolist(), strict=True):
        found.setdefault(key, label)
    return found


def _keys(rows: Any) -> list[str]:
    table = as_matrix(rows)
    array = table.toarray() if hasattr(table, "toarray") else np.asarray(table)
    if array.dtype.kind in "biufc":
        whole = np.ascontiguousarray(array + 0)  # minus zero becomes zero
        return [blake2b(row.tobytes(), digest_size=16).hexdigest() for row in whole]
    return [fingerprint(row.tolist()) for row in array]


def on_shared_rows(first: Any, second: Any) -> tuple[Any, Any]:
    """Return both labellings as partitions of the rows that both have, in the order of the first."""
    shared = [key for key in first if key in second]
    if not shared:
        raise NotComparable(
            "the two samples of a pair have no row in common, and a clusterer without predict labels its own rows "
            "alone: use a data set with --resample bootstrap, or a view of your own, fn(output, probe)"
        )
    return partition([first[key] for key in shared]), partition([second[key] for key in shared])
