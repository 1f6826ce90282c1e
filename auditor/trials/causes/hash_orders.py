"""How many hash seeds is a learner worth? A process for each takes as long to start as its libraries take to load."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any, NamedTuple

from auditor.subjects.estimators import Fit
from auditor.trials.own_code import own_files

MANY, FEW = 4, 1  # hash seeds that a first one is compared with: the order of two strings is the same for half of all
_WORDS = frozenset(("set", "frozenset", "hash", "keys", "union", "intersection", "difference", "symmetric_difference"))


class Reading(NamedTuple):
    """What its own code says of a learner."""

    seeds: int
    libraries: frozenset[str]  # that it imports, of those that are loaded here by now


def read_code(fn: Any) -> Reading:
    """Many seeds where its own code, as far as it can be read, makes a set or asks for a hash."""
    files, installed = own_files(_things(fn))
    known = any(map(_orders_by_hash, files)) if files else not isinstance(fn, Fit)
    return Reading(MANY if known else FEW, frozenset(name for name in installed if name in sys.modules))


def _things(fn: Any) -> list[Any]:
    """A function; or an estimator with its parts, such as the steps of a pipeline and the functions that it calls."""
    if not isinstance(fn, Fit):
        return [fn]
    try:
        parts = [*fn.estimator.get_params().values()]
    except Exception:  # a class, or no estimator of scikit-learn's
        parts = []
    return [fn.estimator, *(type(part) if hasattr(part, "fit") else part for part in parts)]


def _orders_by_hash(path: Path) -> bool:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return True
    return any(map(_names_a_hash, ast.walk(tree)))


def _names_a_hash(node: ast.AST) -> bool:
    name = getattr(node, "id", None) or getattr(node, "attr", None)
    return isinstance(node, (ast.Set, ast.SetComp)) or (isinstance(name, str) and name in _WORDS)
