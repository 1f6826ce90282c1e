"""One level of a value in its canonical form: what kind it is, its parts, and the code that both make."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, final

import msgspec


class Refused(Exception):
    """A reason not to compare a value, raised where its path is not known."""


@final
class Item(msgspec.Struct, frozen=True, eq=False):
    """An entry of a dict; also a step of a path, which is spelt only when someone will read it."""

    key: object
    value: object = None


Step = str | int | tuple[int, ...] | Item  # a str is a name that counts, the others only say where


def framed(pieces: Iterable[bytes]) -> bytes:
    """Join pieces with length prefixes, which keep ["ab", "c"] and ["a", "bc"] apart."""
    return b"".join([len(piece).to_bytes(8, "little") + piece for piece in pieces])


def unframed(code: bytes) -> list[bytes]:
    """Return the pieces that `framed` has joined."""
    found, start = [], 0
    while start < len(code):
        end = start + 8 + int.from_bytes(code[start : start + 8], "little")
        found.append(code[start + 8 : end])
        start = end
    return found


def packed(codes: Sequence[bytes]) -> bytes:
    """Return the body of an array from the codes of its elements."""
    tags = {code[:1] for code in codes}
    if tags <= {b"d"}:
        return b"d" + b"".join([code[1:] for code in codes])
    if tags <= {b"d", b"z"}:
        return b"z" + b"".join([code[1:].ljust(16, b"\0") for code in codes])
    if tags == {b"?"}:
        return b"?" + b"".join([code[1:] for code in codes])
    return b"*" + framed(codes)


class Node(NamedTuple):
    """One level of a value: what kind it is, and its parts in canonical order; those of a dict or a set have none."""

    kind: str
    parts: Sequence[tuple[Step, Any]] = ()
    array: Any = None  # the plain array or records whose elements or fields the parts are; unlisted if not objects
    body: Callable[[], Iterable[Any]] | None = None  # makes the buffers that stand for the elements of an array
    block: Callable[[], Any] | None = None  # makes one array of all columns of a frame, if they have one dtype

    @property
    def is_array(self) -> bool:
        """True for an array of elements, and not of records."""
        return self.array is not None and self.array.dtype.names is None

    def code(self, codes: list[bytes]) -> bytes:
        """Return the code of this level from those of its parts: a digest, so that it is short however large it is."""
        names = [step for step, _ in self.parts if isinstance(step, str)]
        head = framed([name.encode("utf-8", "surrogatepass") for name in (self.kind, *names)])
        digest = hashlib.blake2b(framed([head]), digest_size=32)
        if self.body is not None:
            for piece in self.body():
                digest.update(piece)
        elif self.is_array:
            digest.update(packed(codes))
        else:
            digest.update(framed(sorted(codes) if self.kind in ("dict", "set") else codes))
        return b"#" + digest.digest()
