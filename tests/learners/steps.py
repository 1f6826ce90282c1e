"""Learners in two steps, by how their core lives and what their finish does with it: all of them round a mean."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import auditor

BUFFER = np.zeros(1)
STATE: dict[str, Any] = {"calls": 0}


def grid(x: float, r: Any, *, width: float = 0.5) -> float:
    offset = r.random()
    return float((math.floor(x / width + offset) - offset) * width)


def parted(first: float, second: float, *, width: float = 0.5) -> float:
    return min(1.0, abs(first - second) / width)


class Box:
    """A core that is an object."""

    def __init__(self, x: float) -> None:
        self.x: float | None = x

    def taken(self) -> float:
        x, self.x = self.x, None
        return 7.0 if x is None else x


class Shared(Box):
    """One that says that it is copied, and is not."""

    def __deepcopy__(self, memo: Any) -> Shared:
        return self


class Refuses(Box):
    def __deepcopy__(self, memo: Any) -> Refuses:
        raise RuntimeError("there is one of me")


def mean(sample: Any) -> float:
    return float(np.mean(sample))


def in_buffer(sample: Any) -> Any:
    BUFFER[0] = np.mean(sample)
    return BUFFER


def view_of_buffer(sample: Any) -> dict[str, Any]:
    return {"mean": in_buffer(sample)[:]}


def generated(sample: Any) -> Iterator[float]:
    yield mean(sample)


def scaled(core: Any) -> float:
    """Whose core is a thousandth after each."""
    x = float(core[0])
    core *= 1e-3
    return x


def first(core: Any) -> float:
    return float(core[0]) if len(core) else 7.0


def first_of_first(core: Any) -> float:
    return float(core[0][0])


def popped(core: Any) -> float:
    return float(core[0].pop()) if core[0] else 7.0


def overwritten(core: Any) -> float:
    x = float(core["x"])
    core["x"] = 7.0
    return x


Make, Read, Peek = Callable[[Any], Any], Callable[[Any], float], Callable[[Any], Any]
# What makes a core of a sample; what finish reads of it, using it up; and what mismatch reads.
USED_UP: dict[str, tuple[Make, Read, Peek]] = {
    "iterator": (lambda s: iter([mean(s)]), lambda c: next(c, 7.0), lambda c: next(c)),
    "map": (lambda s: map(float, [mean(s)]), lambda c: next(c, 7.0), lambda c: next(c)),
    "list": (lambda s: [mean(s)], lambda c: c.pop() if c else 7.0, first),
    "dict": (lambda s: {"x": mean(s)}, lambda c: c.pop("x", 7.0), lambda c: c["x"]),
    "set": (lambda s: {mean(s)}, lambda c: c.pop() if c else 7.0, lambda c: max(c)),
    "nested": (lambda s: ([mean(s)], "rest"), popped, first_of_first),
    "deque": (lambda s: deque([mean(s)]), lambda c: c.popleft() if c else 7.0, first),
    "array": (lambda s: np.array([mean(s)]), scaled, first),
    "view": (lambda s: np.array([mean(s), 1.0])[:1], scaled, first),
    "objects": (lambda s: np.array([[mean(s)], 0], dtype=object), popped, first_of_first),
    "record": (lambda s: np.array([(mean(s),)], dtype=[("x", float)])[0], overwritten, lambda c: float(c["x"])),
    "object": (lambda s: Box(mean(s)), lambda c: c.taken(), lambda c: c.x),
    "buffer": (in_buffer, scaled, first),
    "view of a buffer": (view_of_buffer, lambda c: scaled(c["mean"]), lambda c: float(c["mean"][0])),
}
REFUSED: dict[str, tuple[Make, Read, str]] = {
    "generator": (generated, lambda c: next(c, 7.0), "cannot pickle 'generator' object"),
    "list of one": (lambda s: [generated(s)], lambda c: next(c[0], 7.0), "cannot pickle 'generator' object"),
    "map of one": (lambda s: map(float, generated(s)), lambda c: next(c, 7.0), "cannot pickle 'generator' object"),
    "memory": (lambda s: memoryview(in_buffer(s)), lambda c: float(c[0]), "cannot pickle"),
    "its own": (lambda s: Refuses(mean(s)), lambda c: c.taken(), "there is one of me"),
}


def with_steps(core: Make, read: Read, peek: Peek | None = None, **more: Any) -> Any:
    """A function whose body is what its steps say."""

    def finish(core: Any, r: Any) -> float:
        return grid(read(core), r)

    def learner(sample: Any, r: Any) -> float:
        return finish(core(sample), r)

    mismatch = (lambda one, other: parted(peek(one), peek(other))) if peek else None
    steps = {"core": core, "finish": finish, "mismatch": mismatch}
    return auditor.subject(source="norm", size=400, **steps, **more)(learner)


plain = with_steps(mean, float, float)


@auditor.subject(source="norm", size=400, core=mean, finish=grid, mismatch=parted)
def rounded_like(sample: Any, r: Any, *, width: float = 0.5) -> float:
    return grid(mean(sample), r, width=width)


def spawned(core: float, r: Any) -> float:
    """With a generator that numpy makes of r."""
    return grid(core, r.spawn(1)[0])


@auditor.subject(source="norm", size=400, core=mean, finish=spawned, mismatch=parted)
def spawning(sample: Any, r: Any) -> float:
    return spawned(mean(sample), r)


def counted(core: float, r: Any) -> float:
    """Other than before every time."""
    STATE["calls"] += 1
    return float(STATE["calls"])


counting = auditor.composed(core=mean, finish=counted, source="norm", size=400)


def _rarely(share: float) -> Any:
    """A body that is not its steps for this share of r: it rounds nothing there."""

    @auditor.subject(source="norm", size=400, core=mean, finish=grid, mismatch=parted)
    def learner(sample: Any, r: Any) -> float:
        x = grid(mean(sample), r)
        return mean(sample) if r.random() < share else x

    return learner


rarely, never = _rarely(0.1), _rarely(0.0)
rounded_mean = auditor.composed(core=mean, finish=grid, mismatch=parted, source="norm", size=400, claimed=0.2)
