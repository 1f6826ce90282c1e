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

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from threading import Lock
from types import FrameType
from typing import Any, Protocol, cast

import numpy as np
from numpy.random import PCG64, Generator, RandomState

from auditor.errors import UsageError
from auditor.randomness import Key, Name, Randomness
from auditor.subjects.estimators import Fit
from auditor.subjects.own_code import OwnCode
from auditor.subjects.programs import program_in
from auditor.subjects.subject import Subject

_ROOT = "auditor: draws by site"


class Witness(Protocol):
    """Is told of every draw, and of what a run does after which a plain r would show it the same bits twice."""

    def add(self, stream: str, frame: FrameType | None, count: int) -> None: ...
    def note_unkeyed(self, what: str) -> None: ...


class RefusingWitness:
    """Ignores draws, and ends a run whose law keys would change."""

    def add(self, stream: str, frame: FrameType | None, count: int) -> None:
        """Ignore a draw."""
        pass

    def note_unkeyed(self, what: str) -> None:
        """Refuse a run that does something with r after which keys mean nothing."""
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
        """True if draws are keyed by their site, and not only noted."""
        return self._root is not None

    def beside(self, stream: str, key: Key | None = None) -> Sites:
        """Return the sites of another generator of the same run."""
        return Sites(self.witness, self._own, self._base, stream=stream, key=key)

    def frame(self) -> FrameType | None:
        """Return the frame of the subject's own code that draws, if there is one."""
        return next(self._own.frames(sys._getframe(), self._base), None)

    def next(self, frame: FrameType | None) -> bytes:
        """Return the key of a draw in a frame."""
        assert self._root is not None
        with self._lock:
            node = self._root if frame is None else self._nodes.get(id(frame)) or self._enter(self._root, frame)
            return node.next(self._place(frame))

    def _place(self, frame: FrameType | None) -> bytes:
        """Return the place in the subject's code that a frame stands at; empty without one."""
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


# Generators of each kind that r may be, with sites.


def _pcg_state(digest: bytes) -> dict[str, Any]:
    """Return the state in which a stream starts: 128 bits, and an odd increment."""
    state, increment = int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:], "big") | 1
    words = {"state": state, "inc": increment}
    return {"bit_generator": "PCG64", "state": words, "has_uint32": 0, "uinteger": 0}


class _Bits(PCG64):
    """The bit generator that a subject gets from r. A subject that looks at its state may see bits twice."""

    witness: Witness | None = None

    @property
    def state(self) -> Any:
        if self.witness:
            self.witness.note_unkeyed("reads the state of r")
        return cast(Any, PCG64).state.__get__(self)

    @state.setter
    def state(self, value: Any) -> None:
        if self.witness:
            self.witness.note_unkeyed("sets the state of r")
        cast(Any, PCG64).state.__set__(self, value)


def _bits_of(r: Generator) -> Any:
    """Return the generator's own bit generator, not the one that `SiteGenerator` gives a subject."""
    return cast(Any, Generator).bit_generator.__get__(r)


class SiteGenerator(Randomness):
    """r as a Generator that knows where it is drawn from."""

    sites: Sites

    def rekey(self, digest: bytes) -> None:
        """Set the generator to the start of the stream that a digest decides."""
        _bits_of(self).state = _pcg_state(digest)

    @property
    def bit_generator(self) -> Any:
        """The bit generator below r, as numpy's generators have one; with keys, one of its own for each line of code
        that asks."""
        frame = self.sites.frame()
        self.sites.witness.add(self.sites.stream, frame, 1)
        if not self.sites.is_keyed:
            return _bits_of(self)
        bits = _Bits(cast(Any, Key(self.sites.next(frame))))
        bits.witness = self.sites.witness
        return bits

    def child(self, *names: Name) -> SiteGenerator:
        """Return the child of r with these names, which keeps an account of its draws by site too."""
        key = _bits_of(self).seed_seq.child(*names)
        stream = "/".join([*filter(None, [self.sites.stream]), *map(str, names)])
        return site_generator(key, self.sites.beside(stream))

    def spawn(self, n_children: int) -> list[Generator]:
        """Return children as numpy's spawn does, decided by the line that asks for them."""
        sites = self.sites
        parent = Key(sites.next(sites.frame())) if sites.is_keyed else _bits_of(self).seed_seq
        keys, stream = parent.spawn(n_children), f"{sites.stream}/spawned"
        return [site_generator(key, sites.beside(stream, key if sites.is_keyed else None)) for key in keys]

    def __reduce__(self) -> tuple[type[Randomness], tuple[Any]]:  # type: ignore[override]
        self.sites.witness.note_unkeyed("copies r")
        return Randomness, (_bits_of(self),)


class SiteRandomState(RandomState):
    """r as a RandomState that knows where it is drawn from."""

    sites: Sites

    def rekey(self, digest: bytes) -> None:
        """Set the generator to the start of the stream that a digest decides."""
        RandomState.seed(self, np.frombuffer(digest, np.uint32))

    def __reduce__(self) -> Any:
        self.sites.witness.note_unkeyed("copies r")
        return RandomState, (self._bit_generator,)


class SiteRandom(random.Random):
    """r as a random.Random that knows where it is drawn from."""

    sites: Sites | None = None  # until it is made

    def rekey(self, digest: bytes) -> None:
        """Set the generator to the start of the stream that a digest decides."""
        random.Random.seed(self, int.from_bytes(digest, "big"))

    def __reduce__(self) -> Any:
        if self.sites:
            self.sites.witness.note_unkeyed("copies r")
        return random.Random, (), random.Random.getstate(self)


def _count(result: Any, given: Sequence[Any]) -> int:
    """Return how many values a call drew; a shuffle draws as many as it moves."""
    if result is None and given:
        return len(given[0]) if hasattr(given[0], "__len__") else 1
    if isinstance(result, np.ndarray):
        return result.size
    return len(result) if isinstance(result, (bytes, list)) else 1


def _drawing(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that draws as `plain` does, but with a key of its own if r is keyed, and tells the witness."""

    def draw(self: Any, *given: Any, **named: Any) -> Any:
        sites = self.sites
        if sites is None or self.__dict__.get("draws"):  # a method that draws by the help of others
            return plain(self, *given, **named)
        frame = sites.frame()
        if sites.is_keyed:
            self.rekey(sites.next(frame))
        self.draws = True
        try:
            result = plain(self, *given, **named)
        finally:
            self.draws = False
        sites.witness.add(sites.stream, frame, _count(result, [*given, *named.values()]))
        return result

    draw.__name__, draw.__doc__ = getattr(plain, "__name__", "draw"), plain.__doc__
    return draw


def _refusing(plain: Callable[..., Any], what: str) -> Callable[..., Any]:
    """Return a method that reads or sets the state as `plain` does, unless the witness refuses it."""

    def touch_state(self: Any, *given: Any, **named: Any) -> Any:
        if self.sites is not None:
            self.sites.witness.note_unkeyed(what)
        return plain(self, *given, **named)

    return touch_state


_STATE = {
    "get_state": "reads the state of r",
    "getstate": "reads the state of r",
    "set_state": "sets the state of r",
    "setstate": "sets the state of r",
    "seed": "seeds r again",
}


def _override_draws(kind: type, base: type) -> None:
    """Give a class of generators a method for each of the base's that draws, which notes the draw first."""
    for name in dir(base):
        method = getattr(base, name)
        if name in _STATE:
            setattr(kind, name, _refusing(method, _STATE[name]))
        elif not name.startswith("_") and callable(method) and name not in vars(kind):
            setattr(kind, name, _drawing(method))


_override_draws(SiteGenerator, Generator)
_override_draws(SiteRandomState, RandomState)
_override_draws(SiteRandom, random.Random)


def site_generator(key: Key, sites: Sites) -> SiteGenerator:
    """Return a generator whose draws are noted, or keyed, by the line of code that draws."""
    made = SiteGenerator(PCG64(cast(Any, key)))
    made.sites = sites
    return made


def drawn_key(r: Any) -> Key:
    """Draw a key from r, which no other draw of r shares."""
    return Key(r.randbytes(32) if isinstance(r, random.Random) else r.bytes(32))


def _key_of(r: Any, bits: Any) -> Key:
    """Return r's key in the tree of an audit's randomness; a drawn one if r was not made by an audit."""
    key = getattr(bits, "seed_seq", None)
    return key if isinstance(key, Key) else drawn_key(r)


Given = tuple[Any, Any, Mapping[str, Any]]  # a sample, r, parameters


def is_generator(r: object) -> bool:
    """True for a random generator of numpy or Python."""
    return isinstance(r, (Generator, RandomState, random.Random))


def with_sites(r: Any, sites: Callable[[Key], Sites]) -> Any:
    """Return a generator of r's kind that knows its sites, which are made from r's key."""
    if isinstance(r, Generator):
        key = _key_of(r, _bits_of(r))
        return site_generator(key, sites(key))
    made: SiteRandomState | SiteRandom
    if isinstance(r, RandomState):
        bits = cast(Any, r)._bit_generator
        made, key = SiteRandomState(bits), _key_of(r, bits)
    else:
        made = SiteRandom()
        random.Random.setstate(made, r.getstate())
        key = drawn_key(r)  # which moves r on
    made.sites = sites(key)
    return made


def run_with_sites(fn: Callable[..., Any], given: Given, witness: Witness, own: OwnCode, *, keyed: bool) -> Any:
    """Run a learner with an r that knows its sites."""
    base, (sample, r, params) = sys._getframe(), given
    made = with_sites(r, lambda key: Sites(witness, own, base, key=key if keyed else None))
    try:
        return fn(sample, made, **params)
    finally:
        made.sites.close()


def keyed_from_here(r: Any, caller: FrameType) -> Any:
    """Return r with keys, for the caller and what it calls; an r that has keys is returned as it is."""
    known = getattr(r, "sites", None)
    if isinstance(known, Sites) and known.is_keyed:
        return r
    key, own = drawn_key(r), OwnCode(None, str(caller.f_globals.get("__name__", "")))
    return with_sites(r, lambda _: Sites(RefusingWitness(), own, caller.f_back, key=key))


def why_without_keys(subject: Subject) -> str | None:
    """Return why the draws of this subject can have no keys; None if they can."""
    if isinstance(subject.fn, Fit):
        return "an estimator gets integers for its random_state, and its generators are its own"
    if program_in(subject.fn):
        return "a program gets an integer for its {seed}, and its generators are its own"
    if subject.randomness == "none":
        return "it takes no r"
    if subject.randomness == "int":
        return "r is an int, and the generator that the learner makes of it is its own"
    if subject.randomness in ("torch", "jax"):
        return f"r belongs to {subject.randomness}, whose draws leave no trace"
    return None
