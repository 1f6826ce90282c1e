"""Generators of each kind that r may be, whose draws are keyed by site (`call_sites`), or only told to a witness."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, cast

import numpy as np
from numpy.random import PCG64, Generator, RandomState

from auditor.randomness import Key, Name, Randomness
from auditor.repair.mechanisms.call_sites import RefusingWitness, Sites, Witness
from auditor.repair.mechanisms.own_frames import OwnCode
from auditor.subjects.estimators import Fit
from auditor.subjects.subject import Subject


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
            self.witness.refuse("reads the state of r")
        return cast(Any, PCG64).state.__get__(self)

    @state.setter
    def state(self, value: Any) -> None:
        if self.witness:
            self.witness.refuse("sets the state of r")
        cast(Any, PCG64).state.__set__(self, value)


def _bits_of(r: Generator) -> Any:
    """Return the generator's own bit generator, not the one that `SiteGenerator` gives a subject."""
    return cast(Any, Generator).bit_generator.__get__(r)


class SiteGenerator(Randomness):
    """r as a Generator that knows where it is drawn from."""

    sites: Sites

    def rekey(self, digest: bytes) -> None:
        _bits_of(self).state = _pcg_state(digest)

    @property
    def bit_generator(self) -> Any:
        """A bit generator of its own for each place that asks, if r is keyed."""
        frame = self.sites.frame(1)
        self.sites.witness.add(self.sites.stream, frame, 1)
        if not self.sites.is_keyed:
            return _bits_of(self)
        bits = _Bits(cast(Any, Key(self.sites.next(frame))))
        bits.witness = self.sites.witness
        return bits

    def child(self, *names: Name) -> SiteGenerator:
        key = _bits_of(self).seed_seq.child(*names)
        stream = "/".join([*filter(None, [self.sites.stream]), *map(str, names)])
        return site_generator(key, self.sites.beside(stream))

    def spawn(self, n_children: int) -> list[Generator]:
        sites = self.sites
        parent = Key(sites.next(sites.frame(1))) if sites.is_keyed else _bits_of(self).seed_seq
        keys, stream = parent.spawn(n_children), f"{sites.stream}/spawned"
        return [site_generator(key, sites.beside(stream, key if sites.is_keyed else None)) for key in keys]

    def __reduce__(self) -> tuple[type[Randomness], tuple[Any]]:  # type: ignore[override]
        self.sites.witness.refuse("copies r")
        return Randomness, (_bits_of(self),)


class SiteRandomState(RandomState):
    """r as a RandomState that knows where it is drawn from."""

    sites: Sites

    def rekey(self, digest: bytes) -> None:
        RandomState.seed(self, np.frombuffer(digest, np.uint32))

    def __reduce__(self) -> Any:
        self.sites.witness.refuse("copies r")
        return RandomState, (self._bit_generator,)


class SiteRandom(random.Random):
    """r as a random.Random that knows where it is drawn from."""

    sites: Sites | None = None  # until it is made

    def rekey(self, digest: bytes) -> None:
        random.Random.seed(self, int.from_bytes(digest, "big"))

    def __reduce__(self) -> Any:
        if self.sites:
            self.sites.witness.refuse("copies r")
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
        frame = sites.frame(1)
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
            self.sites.witness.refuse(what)
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
    if subject.randomness == "int":
        return "r is an int, and the generator that the learner makes of it is its own"
    return None
