"""What a value is (its canonical form), when two are the same, how near they are, and where they differ."""

from __future__ import annotations

from auditor.values.canonical import array_attributes, base_value
from auditor.values.differences import (
    ABSENT,
    NO_CLASSES,
    Difference,
    Place,
    Tolerance,
    as_it_was,
    differences,
    differing,
    first_difference,
    make_tolerance,
    same,
)
from auditor.values.elements import LISTED, Elements, Gap, by_number, compare, gap_of, side_by_side
from auditor.values.node import Item, Node, Step
from auditor.values.walk import (
    Settled,
    advice,
    describe,
    fingerprint,
    folded,
    level_of,
    mapped,
    nodes,
    path_text,
    settle,
    settle_changed,
)

__all__ = [
    "ABSENT",
    "LISTED",
    "NO_CLASSES",
    "Difference",
    "Elements",
    "Gap",
    "Item",
    "Node",
    "Place",
    "Settled",
    "Step",
    "Tolerance",
    "advice",
    "array_attributes",
    "as_it_was",
    "base_value",
    "by_number",
    "compare",
    "describe",
    "differences",
    "differing",
    "fingerprint",
    "first_difference",
    "folded",
    "gap_of",
    "level_of",
    "make_tolerance",
    "mapped",
    "nodes",
    "path_text",
    "same",
    "settle",
    "settle_changed",
    "side_by_side",
]
