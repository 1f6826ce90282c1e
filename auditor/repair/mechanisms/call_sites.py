"""An r whose draws are keyed by the place in the code that draws: two runs that are out of step elsewhere stay in step.

A draw of a keyed r begins a stream of its own, whose key is (qualified name of the function, position of the call in
its source, occurrence since that frame was entered), along every frame of the subject's own code that leads to it. A
run that draws more often than the other in one place then still finds the same bits as the other in every other place.
Positions are those of the source (`OwnCode.place`), which do not move when the interpreter specialises a call: what a
run draws is a function of the sample and r, however often its code has run before.

The law of a single run is unchanged. The keys of a run are made one after the other; the i-th is a function of the
sample and of what was drawn before, and it differs from all before it: a frame counts what happens at each of its
positions, a frame that is new gets a key from the count of its caller, and no count is ever taken back. Streams of
different keys are independent and uniform (as those of different pairs are), so that, given all that the run has seen
until then, what the i-th draw finds is uniform and independent of it: just what the next bits of one single stream
would have been. By induction all draws together have the law that they have with a plain r. Threads change which bits
a draw finds, but never make it find bits that were seen before.

What is not brought back into step: draws at one position of a frame are distinguished by their number alone, so a loop
that skips some of them stays out of step until it ends, and so do two calls on one line of code that was compiled
without columns (python -X no_debug_ranges); only calls that draw are counted, so a loop around a function that draws
now and then does too. For draws inside a library, only the call that handed r to it and the number of the draw count. A
child of r is the stream that it always is, since asking twice for the same child has to give the same bits. An `int` r
and an estimator's `random_state` are seeds of generators that are not ours: nothing is keyed there. A run that copies
r, or reads or sets its state, sees bits twice with a plain r, and not with this one: the `Witness` decides what then.
"""

from __future__ import annotations

import sys
from hashlib import blake2b
from threading import Lock
from types import FrameType
from typing import Protocol

from auditor.errors import UsageError
from auditor.randomness import Key
from auditor.repair.mechanisms.own_frames import OwnCode

_ROOT = "auditor: draws by site"


class Witness(Protocol):
    """Is told of every draw, and of what a run does after which a plain r would show it the same bits twice."""

    def add(self, stream: str, frame: FrameType | None, count: int) -> None: ...
    def refuse(self, what: str) -> None: ...


class RefusingWitness:
    """Ignores draws, and ends a run whose law keys would change."""

    def add(self, stream: str, frame: FrameType | None, count: int) -> None:
        pass

    def refuse(self, what: str) -> None:
        raise UsageError(
            f"sites(r): the run {what}, and would not see the same bits again as it does with a plain r; use "
            "r.child(...) there"
        )


class _Node:
    """A frame of the subject's own code, held while it may still run so that no other frame can have its identity."""

    __slots__ = ("counts", "digest", "frame")

    def __init__(self, frame: FrameType | None, digest: bytes) -> None:
        self.frame, self.digest = frame, digest
        self.counts: dict[bytes, int] = {}

    def next(self, place: bytes) -> bytes:
        """Return the key of what happens now at a place of its code. No key is returned twice."""
        count = self.counts.get(place, 0)
        self.counts[place] = count + 1
        return blake2b(b"%b%b:%d" % (self.digest, place, count), digest_size=32).digest()

    @property
    def may_go_on(self) -> bool:
        """True if anything else holds the frame. The interpreter does until the frame has returned, and a generator or
        coroutine that waits holds its own frame. (Nothing is drawn in a frame that has returned, whatever holds it.)"""
        return sys.getrefcount(self.frame) > 2  # this object, and the argument


class Sites:
    """The places that one generator is drawn from: it finds them, and makes the keys of the draws if it has a key."""

    def __init__(
        self, witness: Witness, own: OwnCode, base: FrameType | None, *, stream: str = "", key: Key | None = None
    ):
        self.witness, self.stream, self._own, self._base = witness, stream, own, base
        self._root = _Node(None, key.child(_ROOT).digest) if key else None
        self._nodes: dict[int, _Node] = {}
        self._lock = Lock()

    @property
    def is_keyed(self) -> bool:
        return self._root is not None

    def beside(self, stream: str, key: Key | None = None) -> Sites:
        """Return the sites of another generator of the same run."""
        return Sites(self.witness, self._own, self._base, stream=stream, key=key)

    def frame(self, above: int) -> FrameType | None:
        """Return the frame of the subject's own code that draws, if there is one."""
        return next(self._own.frames(sys._getframe(above + 1), self._base), None)

    def next(self, frame: FrameType | None) -> bytes:
        """Return the key of a draw in a frame."""
        assert self._root is not None
        with self._lock:
            node = self._root if frame is None else self._nodes.get(id(frame)) or self._enter(self._root, frame)
            return node.next(self._place(frame))

    def _place(self, frame: FrameType | None) -> bytes:
        return self._own.place(frame) if frame else b""

    def _enter(self, above: _Node, innermost: FrameType) -> _Node:
        """Enter the frames on the stack, beginning with the outermost, and forget those that have returned.

        A generator that waits has not returned: its draws go on counting, whatever is drawn elsewhere meanwhile.
        """
        nodes = {key: node for key, node in self._nodes.items() if node.may_go_on}
        for frame in [*self._own.frames(innermost, self._base)][::-1]:
            node = self._nodes.get(id(frame))
            if node is None:
                name = frame.f_code.co_qualname.encode("utf-8", "surrogatepass")
                node = _Node(frame, blake2b(above.next(self._place(above.frame)) + name, digest_size=32).digest())
            nodes[id(frame)] = above = node
        self._nodes = nodes
        return above

    def close(self) -> None:
        """Let go of the run's frames, since it is over."""
        self._nodes, self._base = {}, None
