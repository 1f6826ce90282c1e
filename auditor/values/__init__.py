"""What a value is (its canonical form), when two are the same, how near they are, and where they differ."""

from __future__ import annotations

from auditor.values.advice import advice
from auditor.values.canonical import Item, Node, array_attributes, base_value, expand
from auditor.values.closeness import NO_CLASSES, Tolerance, are_close, differing, first_apart, make_tolerance
from auditor.values.elements import LISTED, Elements, Gap, compare, gap_of, side_by_side
from auditor.values.outcome import (
    Difference,
    Settled,
    as_it_was,
    describe,
    fingerprint,
    first_difference,
    labelled,
    same,
    settle,
    settle_changed,
)

__all__ = [
    "LISTED",
    "NO_CLASSES",
    "Difference",
    "Elements",
    "Gap",
    "Item",
    "Node",
    "Settled",
    "Tolerance",
    "advice",
    "are_close",
    "array_attributes",
    "as_it_was",
    "base_value",
    "compare",
    "describe",
    "differing",
    "expand",
    "fingerprint",
    "first_apart",
    "first_difference",
    "gap_of",
    "labelled",
    "make_tolerance",
    "same",
    "settle",
    "settle_changed",
    "side_by_side",
]
