"""Do the two runs of a pair draw out of step? r keyed by the place in the code that draws, and the trace of both runs.

A draw of a keyed r begins a stream of its own, whose key is (qualified name of the function, position of the call in
its code, occurrence since that frame was entered), along every frame of the subject's own code that leads to it. A run
that draws more often than the other in one place then still finds the same bits as the other in every other place.

The law of a single run is unchanged. The keys of a run are made one after the other; the i-th is a function of the
sample and of what was drawn before, and it differs from all before it: a frame counts what happens at each of its
positions, a frame that is new gets a key from the count of its caller, and no count is ever taken back. Streams of
different keys are independent and uniform (as those of different pairs are), so that, given all that the run has seen
until then, what the i-th draw finds is uniform and independent of it: just what the next bits of one single stream
would have been. By induction all draws together have the law that they have with a plain r. Threads change which bits
a draw finds, and not that nobody has seen them before.

What is not brought back into step: draws at one position of a frame are told apart by their number alone, so that a
loop which skips some of them stays out of step until it ends; only calls that draw are counted, so that a loop around
a function that draws now and then does too; of what libraries do with r (compiled or not) one sees the call that
handed it to them, and the number of the draw. A child of r is the stream that it always is, since asking twice for the
same child has to give the same bits. An `int` r and an estimator's `random_state` are seeds of generators that are not
ours: nothing is keyed there. A run that copies r, or reads or sets its state, sees bits twice with a plain r, and not
with this one: `unkeyed` says so, and the outcome of such a run says nothing.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from threading import Lock
from types import FrameType
from typing import Any, cast

import msgspec
import numpy as np
from numpy.random import PCG64, Generator, RandomState

from auditor.randomness import Key, Name, Randomness
from auditor.subjects.estimators import Fit
from auditor.trials.causes.draws import DrawApart, Trace, first_apart
from auditor.trials.causes.own_frames import OwnCode
from auditor.trials.trial import NONE_FELL, Bench, Trial, run_pair

_ROOT = "auditor: draws by site"


class _Node:
    """A frame of the subject's own, held while it runs so that no other can have its identity."""

    __slots__ = ("counts", "digest", "frame")

    def __init__(self, frame: FrameType | None, digest: bytes) -> None:
        self.frame, self.digest = frame, digest
        self.counts: dict[int, int] = {}

    def next(self, position: int) -> bytes:
        """The key of what happens now at a position of its code: never the same twice."""
        count = self.counts.get(position, 0)
        self.counts[position] = count + 1
        return blake2b(b"%b%d:%d" % (self.digest, position, count), digest_size=32).digest()


class Sites:
    """Where a generator is drawn from: the keys of its draws, where it is keyed, and their trace."""

    def __init__(self, trace: Trace, own: OwnCode, base: FrameType | None, *, stream: str = "", key: Key | None = None):
        self.trace, self.stream, self._own, self._base = trace, stream, own, base
        self._root = _Node(None, key.child(_ROOT).digest) if key else None
        self._nodes: dict[int, _Node] = {}
        self._lock = Lock()

    @property
    def is_keyed(self) -> bool:
        return self._root is not None

    def beside(self, stream: str, key: Key | None = None) -> Sites:
        """Those of another generator of the same run."""
        return Sites(self.trace, self._own, self._base, stream=stream, key=key)

    def frame(self, above: int) -> FrameType | None:
        """The frame of the subject's own code that draws."""
        frame: FrameType | None = sys._getframe(above + 1)
        while frame is not None and frame is not self._base:
            if self._own(frame.f_code):
                return frame
            frame = frame.f_back
        return None

    def next(self, frame: FrameType | None) -> bytes:
        """The key of a draw in a frame."""
        with self._lock:
            node = self._node(frame)
            return node.next(frame.f_lasti if frame else -1)

    def _node(self, frame: FrameType | None) -> _Node:
        assert self._root is not None
        if frame is None:
            return self._root
        known = self._nodes.get(id(frame))
        if known is not None:
            return known
        return self._enter([*self._own.frames(frame, self._base)][::-1])

    def _enter(self, frames: Sequence[FrameType]) -> _Node:
        """Frames that are on the stack now, from the outermost; all others are forgotten."""
        nodes: dict[int, _Node] = {}
        above = self._root
        assert above is not None
        for frame in frames:
            node = self._nodes.get(id(frame))
            if node is None:
                position = above.frame.f_lasti if above.frame else -1
                name = frame.f_code.co_qualname.encode("utf-8", "surrogatepass")
                node = _Node(frame, blake2b(above.next(position) + name, digest_size=32).digest())
            nodes[id(frame)] = above = node
        self._nodes = nodes
        return above

    def close(self) -> None:
        """The run is over: its frames may go."""
        self._nodes, self._base = {}, None


def _pcg_state(digest: bytes) -> dict[str, Any]:
    """The start of a stream: 128 bits of state, and an increment that is odd."""
    state, increment = int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:], "big") | 1
    words = {"state": state, "inc": increment}
    return {"bit_generator": "PCG64", "state": words, "has_uint32": 0, "uinteger": 0}


class _Bits(PCG64):
    """What a subject gets that asks r for its bit generator; one that looks at its state may see bits twice."""

    trace: Trace | None = None

    @property
    def state(self) -> Any:
        self._refuse("reads the state of r")
        return cast(Any, PCG64).state.__get__(self)

    @state.setter
    def state(self, value: Any) -> None:
        self._refuse("sets the state of r")
        cast(Any, PCG64).state.__set__(self, value)

    def _refuse(self, what: str) -> None:
        if self.trace:
            self.trace.refuse(what)


def _bits(sites: Sites, digest: bytes) -> _Bits:
    bits = _Bits(cast(Any, Key(digest)))
    bits.trace = sites.trace
    return bits


def _bits_of(r: Generator) -> Any:
    """Its own bit generator, past what a subject is given."""
    return cast(Any, Generator).bit_generator.__get__(r)


class SiteGenerator(Randomness):
    """r as a Generator that tells where it is drawn from."""

    sites: Sites

    def rekey(self, digest: bytes) -> None:
        _bits_of(self).state = _pcg_state(digest)

    @property
    def bit_generator(self) -> Any:
        """Of its own for each place that asks, where r is keyed."""
        frame = self.sites.frame(1)
        self.sites.trace.add(self.sites.stream, frame, 1)
        if self.sites.is_keyed:
            return _bits(self.sites, self.sites.next(frame))
        return _bits_of(self)

    def child(self, *names: Name) -> SiteGenerator:
        key = _bits_of(self).seed_seq.child(*names)
        stream = "/".join([*filter(None, [self.sites.stream]), *map(str, names)])
        return site_generator(key, self.sites.beside(stream))

    def spawn(self, n_children: int) -> list[Generator]:
        frame = self.sites.frame(1)
        if not self.sites.is_keyed:
            keys = _bits_of(self).seed_seq.spawn(n_children)
            return [site_generator(key, self.sites.beside(f"{self.sites.stream}/spawned")) for key in keys]
        keys = Key(self.sites.next(frame)).spawn(n_children)
        return [site_generator(key, self.sites.beside(f"{self.sites.stream}/spawned", key)) for key in keys]

    def __reduce__(self) -> tuple[type[Randomness], tuple[Any]]:  # type: ignore[override]
        self.sites.trace.refuse("copies r")
        return Randomness, (_bits_of(self),)


class SiteRandomState(RandomState):
    """r as a RandomState that tells where it is drawn from."""

    sites: Sites

    def rekey(self, digest: bytes) -> None:
        RandomState.seed(self, np.frombuffer(digest, np.uint32))

    def __reduce__(self) -> Any:
        self.sites.trace.refuse("copies r")
        return RandomState, (self._bit_generator,)


class SiteRandom(random.Random):
    """r as a random.Random that tells where it is drawn from."""

    sites: Sites | None = None  # until it is made

    def rekey(self, digest: bytes) -> None:
        random.Random.seed(self, int.from_bytes(digest, "big"))

    def __reduce__(self) -> Any:
        if self.sites:
            self.sites.trace.refuse("copies r")
        return random.Random, (), random.Random.getstate(self)


def _count(result: Any, given: Sequence[Any]) -> int:
    """Values that one call drew; a shuffle draws as many as it moves."""
    if result is None and given:
        return len(given[0]) if hasattr(given[0], "__len__") else 1
    if isinstance(result, np.ndarray):
        return result.size
    return len(result) if isinstance(result, (bytes, list)) else 1


def _telling(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A method that draws, from here on with a key where r has keys, and with a line in the trace."""

    def draw(self: Any, *given: Any, **named: Any) -> Any:
        sites = self.sites
        if sites is None or self.__dict__.get("draws"):  # a method that draws by the help of others
            return plain(self, *given, **named)
        frame = sites.frame(1)
        if sites.is_keyed:
            self.rekey(sites.next(frame))
        self.draws = True
        try:
            result = plain(self, *given, **named)
        finally:
            self.draws = False
        sites.trace.add(sites.stream, frame, _count(result, [*given, *named.values()]))
        return result

    draw.__name__, draw.__doc__ = getattr(plain, "__name__", "draw"), plain.__doc__
    return draw


def _looking(plain: Callable[..., Any], what: str) -> Callable[..., Any]:
    """A method that reads or sets the state, after which bits may be seen twice."""

    def look(self: Any, *given: Any, **named: Any) -> Any:
        if self.sites is not None:
            self.sites.trace.refuse(what)
        return plain(self, *given, **named)

    return look


_STATE = {
    "get_state": "reads the state of r",
    "getstate": "reads the state of r",
    "set_state": "sets the state of r",
    "setstate": "sets the state of r",
    "seed": "seeds r again",
}


def _make_telling(kind: type, base: type) -> None:
    for name in dir(base):
        method = getattr(base, name)
        if name in _STATE:
            setattr(kind, name, _looking(method, _STATE[name]))
        elif not name.startswith("_") and callable(method) and name not in vars(kind):
            setattr(kind, name, _telling(method))


_make_telling(SiteGenerator, Generator)
_make_telling(SiteRandomState, RandomState)
_make_telling(SiteRandom, random.Random)


def site_generator(key: Key, sites: Sites) -> SiteGenerator:
    made = SiteGenerator(PCG64(cast(Any, key)))
    made.sites = sites
    return made


def _of_generator(r: Randomness, sites: Callable[[Key], Sites]) -> SiteGenerator:
    key = cast(Key, r.bit_generator.seed_seq)
    return site_generator(key, sites(key))


def _of_random_state(r: RandomState, sites: Callable[[Key], Sites]) -> SiteRandomState:
    bits = cast(Any, r)._bit_generator
    made = SiteRandomState(bits)
    made.sites = sites(bits.seed_seq)
    return made


def _of_random(r: random.Random, sites: Callable[[Key], Sites]) -> SiteRandom:
    made = SiteRandom()
    random.Random.setstate(made, r.getstate())
    made.sites = sites(Key(random.Random.randbytes(r, 32)))
    return made


_MAKERS: dict[str, Callable[[Any, Callable[[Key], Sites]], Any]] = {
    "Generator": _of_generator,
    "RandomState": _of_random_state,
    "Random": _of_random,
}


class _Watched:
    """A learner whose r tells where it is drawn from; one trace a run."""

    def __init__(self, fn: Callable[..., Any], kind: str, *, keyed: bool) -> None:
        self._fn, self._kind, self._keyed = fn, kind, keyed
        self._own = OwnCode(fn)
        self.traces: list[Trace] = []

    def __call__(self, sample: Any, r: Any, **params: Any) -> Any:
        trace, base = Trace(), sys._getframe()
        self.traces.append(trace)
        made = _MAKERS[self._kind](r, lambda key: Sites(trace, self._own, base, key=key if self._keyed else None))
        try:
            return self._fn(sample, made, **params)
        finally:
            made.sites.close()


def why_unkeyed(bench: Bench) -> str | None:
    """Why nothing can be said of the draws of this subject; None where it can."""
    if isinstance(bench.subject.fn, Fit):
        return "not applicable: an estimator gets integers for its random_state, and its generators are its own"
    if bench.subject.randomness == "int":
        return "not applicable: r is an int, and the generator that the learner makes of it is its own"
    return None


def _watched(bench: Bench, *, keyed: bool) -> tuple[Bench, _Watched]:
    subject = bench.subject
    fn = _Watched(subject.fn, subject.randomness, keyed=keyed)
    return replace(bench, subject=replace(subject, fn=fn), unit=None, watched=0), fn


def run_pair_keyed(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """The pair with an r that is keyed by site in both runs; a unit for a bench that `why_unkeyed` has nothing against.

    Where a run sees bits of r twice, the payload says so under "unkeyed", and the outcome says nothing.
    """
    keyed, fn = _watched(bench, keyed=True)
    trial = run_pair(keyed, index, fell)
    reasons = sorted({why for trace in fn.traces for why in trace.unkeyed})
    return msgspec.structs.replace(trial, payload={"unkeyed": reasons}) if reasons else trial


def traces_of(bench: Bench, index: int) -> tuple[Trace, Trace]:
    """What the two runs of a pair draw, with r as it is."""
    plain, fn = _watched(bench, keyed=False)
    plain.run(index, 0)
    plain.run(index, 1)
    first, second = fn.traces
    return first, second


def first_draw_apart(bench: Bench, index: int) -> DrawApart | None:
    """Where the runs of a pair first draw in different places, or another number of values; None if they never do."""
    return None if why_unkeyed(bench) else first_apart(*traces_of(bench, index))
