"""What is a fault? A learner, or what stands around it, that goes wrong in one way: data, and the file that has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from auditor.randomness import from_key
from auditor.trials.trial import PairKeys

Tell = Callable[..., None]  # see conftest.py
PASSES, FAILS, USAGE, FAULT, INTERRUPTED = 0, 1, 2, 4, 130
ROWS = ("--source", "mine:rows", "--size", "5")
LATE = 5  # the pair that goes wrong where the first ones do not

_HEAD = """import os, signal, sys, threading, time
import numpy as np
LATE = {late!r}
SECOND = os.environ.get("PYTHONHASHSEED") != "0"  # the process that is asked for a second opinion
def rows(rng, size):
    return rng.random(size)
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """`body` is what the learner does in every run, or only in the second run of pair 5; `codes` are the right ones."""

    kind: str
    name: str
    body: str = "pass"
    codes: tuple[int, ...] = (FAULT,)
    words: str = ""  # must be said, on whichever stream
    before: str = ""  # what the module does ahead of the learner
    after: str = ""  # and behind it
    late: bool = False
    options: tuple[str, ...] = ROWS
    environment: tuple[tuple[str, str], ...] = ()
    record: bool = True  # whether an error leaves a record, too: an audit that ends with its process may not
    ci: bool = False  # one of those that are tried always

    @property
    def id(self) -> str:
        return f"{self.kind}: {self.name}{' (late)' if self.late else ''}"

    def module(self) -> str:
        """The file that goes wrong."""
        lines = self.body.strip("\n").splitlines()
        learner = ["def learner(sample, r):"]
        if self.late:
            learner += ["    if sample[0] == LATE:", *("        " + line for line in lines), "    return 1"]
        else:
            learner += [*("    " + line for line in lines), "    return 1"]
        head = _HEAD.format(late=first_number(LATE, 1))
        return "\n".join([head, self.before.strip("\n"), *learner, self.after.strip("\n"), ""])


def first_number(pair: int, which: int) -> float:
    """What the sample of one run begins with: it singles the run out."""
    return float(from_key(PairKeys(0).samples[which].child(pair)).random(5)[0])
