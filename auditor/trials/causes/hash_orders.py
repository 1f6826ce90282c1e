"""Under how many hash seeds is a learner run? Each takes a process, which loads all of its libraries."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

from auditor.repair.mechanisms.own_frames import function_of
from auditor.subjects.estimators import Fit
from auditor.trials.user_code import own_files

MANY, FEW = 4, 1  # hash seeds that a first one is compared with: the order of two strings is the same for half of all
_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_WORDS = frozenset(("set", "frozenset", "hash", "keys", "union", "intersection", "difference", "symmetric_difference"))


class CodeReading(NamedTuple):
    """What a learner's own code says."""

    seeds: int  # under which it is run
    libraries: frozenset[str]  # that it imports, of those that are loaded in this process


def read_code(fn: Any) -> CodeReading:
    """Return many seeds where the learner's own code makes a set or asks for a hash, or cannot be read."""
    things = [fn]
    if isinstance(fn, Fit):  # an estimator counts with its parts: steps of a pipeline, functions that it calls
        try:
            parts = [*fn.estimator.get_params().values()]
        except Exception:  # a class, or no estimator of scikit-learn's
            parts = []
        things = [fn.estimator, *(type(part) if hasattr(part, "fit") else part for part in parts)]
    files, installed = own_files(things)
    begins = {name for thing in things if isinstance(name := getattr(function_of(thing), "__qualname__", None), str)}
    known = any(_orders_by_hash(path, begins) for path in files) if files else not isinstance(fn, Fit)
    return CodeReading(MANY if known else FEW, frozenset(name for name in installed if name in sys.modules))


def _orders_by_hash(path: Path, begins: Collection[str]) -> bool:
    """True if what a file runs makes a set or asks for a hash. Where it defines one of the functions that a run begins
    with, only those functions and classes count that this one leads to."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return True
    defined = {node.name: node for node in tree.body if isinstance(node, _DEFINED)}
    begun = [node for name, node in defined.items() if name in begins] or [*defined.values()]
    waiting: list[ast.AST] = [*begun, *(node for node in tree.body if not isinstance(node, _DEFINED))]
    while waiting:
        for node in ast.walk(waiting.pop()):
            name = getattr(node, "id", None) or getattr(node, "attr", None)
            if isinstance(node, (ast.Set, ast.SetComp)) or (isinstance(name, str) and name in _WORDS):
                return True
            if found := defined.pop(name, None) if isinstance(name, str) else None:
                waiting.append(found)
    return False
