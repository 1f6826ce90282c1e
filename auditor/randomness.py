"""Where does every random bit of an audit come from? From keys; r is made of one.

A key is a hash of its path (root seed, role, index, names ...). Keys are values: making a generator from one changes
nothing, so any pair can be replayed alone and in any order. `r` is a numpy Generator that can also be cut into
named children; a child depends on its names alone, never on what was drawn before, so an algorithm that hands each
subroutine its own child stays in step with itself whatever the sample made it do.
"""

from __future__ import annotations

import operator
import random
import typing
from collections.abc import Callable, Iterable
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from typing import Any, SupportsIndex, cast

import numpy as np
import numpy.typing as npt
from numpy.random import MT19937, PCG64, BitGenerator, Generator, RandomState
from numpy.random.bit_generator import ISpawnableSeedSequence

from auditor.errors import BadValue, UsageError, suggestion

Name = str | SupportsIndex
_WORDS = np.dtype(np.uint64)  # which numpy need not look up


class Key(ISpawnableSeedSequence):
    """A place in the tree of all randomness; numpy seeds its bit generators from it.

    numpy's SeedSequence would do, at six times the cost: four of them are half of a fast subject's pair.
    """

    __slots__ = ("digest", "spawned")

    def __init__(self, digest: bytes) -> None:
        self.digest = digest
        self.spawned = 0

    def child(self, *names: Name) -> Key:
        """Return the key of a named part of this one; it depends on the names alone, and not on what was drawn."""
        digest = self.digest
        for name in names:  # nearly all are the number of a trial
            digest = _extend(digest, b"int:%d" % name if type(name) is int else _encode(name))
        return Key(digest)

    def digests(self, names: Iterable[Name]) -> list[bytes]:
        """Return child(name).digest for each name: many of them in less time than their keys take."""
        return [_extend(self.digest, _encode(name)) for name in names]

    def again(self) -> Key:
        """Return the same key, from which nothing was spawned."""
        return Key(self.digest)

    def spawn(self, n_children: int) -> list[Key]:
        """Return the next children, by numpy's protocol, which counts them. No such child is a named one."""
        first, self.spawned = self.spawned, self.spawned + n_children
        return [Key(_extend(self.digest, b"spawn:%d" % i)) for i in range(first, first + n_children)]

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> npt.NDArray[Any]:
        """Return words that the key decides, as numpy's bit generators ask a seed for them."""
        if n_words == 4 and dtype is np.uint64:  # what a PCG64 asks for
            return np.frombuffer(blake2b(self.digest).digest(), _WORDS, 4)
        blocks = -(-n_words * np.dtype(dtype).itemsize // 64)
        words = b"".join(blake2b(self.digest, salt=i.to_bytes(8, "little")).digest() for i in range(blocks))
        return np.frombuffer(words, dtype=dtype, count=n_words)


def _encode(name: Name) -> bytes:
    """Return a name with its type: child(1) is not child("1")."""
    if isinstance(name, str):
        return b"str:" + name.encode("utf-8", "surrogatepass")
    if isinstance(name, bool) or not hasattr(name, "__index__"):
        raise TypeError(f"child({name!r}): a name must be a str or an int, not {type(name).__name__}")
    return b"int:%d" % operator.index(name)


def _extend(digest: bytes, step: bytes) -> bytes:
    """Return a child's digest. The parent's has a fixed length, so no two paths have the same input."""
    return blake2b(digest + step, digest_size=32).digest()


class Randomness(Generator):
    """The internal randomness r of one run: a numpy Generator with named, order-independent children.

    Both runs of a pair have the same r. Draw from it as from any Generator, `r.random()`, `r.integers(6)`; give each
    subroutine a child of its own, so that one that draws more in one run does not move the draws of the others.
    """

    # No __init__: Generator.spawn() builds type(self)(bit_generator).

    def child(self, *names: Name) -> Randomness:
        """Return the generator that belongs to `names`, which are texts or integers; child(a, b) is child(a).child(b).

        It depends on r and the names alone, not on what was drawn before, and is the same at every call.
        """
        return from_key(key_of(self).child(*names))

    def __reduce__(self) -> tuple[type[Randomness], tuple[BitGenerator]]:  # type: ignore[override]
        return Randomness, (self.bit_generator,)  # Generator's own would come back without .child


def root_key(seed: int) -> Key:
    """Return the key that a seed decides; BadValue unless it is a whole number of at least 0."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise BadValue("seed", seed, "must be an integer of at least 0, e.g. 0")
    return Key(_extend(b"", b"auditor:%d" % seed))


def cell_seed(seed: int, number: int) -> int:
    """Return the root seed of one cell among several: what `--seed` takes to run it alone.

    From the root's child ("arm", i), so that no two cells share one, nor those of another root. 53 bits: a number that
    every reader of JSON keeps. Among 1,000 cells of 1,000 roots two are the same with probability 6e-5.
    """
    return int.from_bytes(root_key(seed).child("arm", number).digest[:8], "big") >> 11


def from_key(key: Key) -> Randomness:
    """Return a generator at the start of its stream."""
    return Randomness(PCG64(cast(Any, key)))


def key_of(r: Randomness) -> Key:
    """Return the key of r, whatever was drawn from it."""
    return cast(Key, r.bit_generator.seed_seq)


def as_randomness(r: Any) -> Randomness:
    """Return r if it has children, or the r of a seed; UsageError for anything else."""
    if isinstance(r, Randomness):
        return r
    if isinstance(r, int):
        return from_key(root_key(r))
    raise UsageError(f"r is {type(r).__name__}, and must have children: give an auditor.Randomness, or a seed, e.g. 0")


def _torch_generator(key: Key) -> Any:
    """Return a generator of torch that the key decides."""
    return import_module("torch").Generator().manual_seed(int(key.generate_state(1, np.uint64)[0]) >> 1)


def _jax_key(key: Key) -> Any:
    """Return a key of jax.random that ours decides."""
    return import_module("jax").random.PRNGKey(int(key.generate_state(1)[0]))


KINDS: dict[str, Callable[[Key], Any]] = {
    "Generator": from_key,
    "int": lambda key: int(key.generate_state(1)[0]),  # 32 bits: what `random_state=` takes
    "RandomState": lambda key: RandomState(MT19937(cast(Any, key))),
    "Random": lambda key: random.Random(key.digest),
    "torch": _torch_generator,
    "jax": _jax_key,
    "none": lambda key: None,  # of a learner that takes no r
}
COMMON_KINDS = ("Generator", "int", "RandomState", "Random")  # which need no further library
_ANNOTATIONS: dict[object, str] = {
    int: "int",
    RandomState: "RandomState",
    random.Random: "Random",
    Generator: "Generator",
    Randomness: "Generator",
}
_BY_NAME = {"torch._C.Generator": "torch", "torch.Generator": "torch"}  # of libraries that are not imported here


def annotated_kind(annotation: object) -> str | None:
    """Return the kind of r that an annotation asks for, of a union that of its first such part; None for all others."""
    for part in (annotation, *typing.get_args(annotation)):
        kind = next((kind for type_, kind in _ANNOTATIONS.items() if part is type_), None)
        kind = kind or _BY_NAME.get(f"{getattr(part, '__module__', '')}.{getattr(part, '__qualname__', '')}")
        if kind:
            return kind
    return None


def kind_of(annotation: object) -> str:
    """Return the kind of r that an annotation asks for; a Generator unless it names another."""
    return annotated_kind(annotation) or "Generator"


def check_kind(kind: str) -> str:
    """Return the kind of generator that --randomness names; BadValue where it is unknown or not installed."""
    if kind not in KINDS:
        raise BadValue("randomness", kind, f"must be one of {', '.join(KINDS)}{suggestion(kind, KINDS)}")
    if kind in ("torch", "jax") and find_spec(kind) is None:
        raise BadValue("randomness", kind, f"needs the library {kind}: install it, e.g. pip install {kind}")
    return kind
