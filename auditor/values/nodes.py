"""One level of a value in its canonical form: what kind it is, its parts, and the code that both make."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, final

import msgspec


class Refused(Exception):
    """A reason not to compare, raised where the path is not known."""


@final
class Item(msgspec.Struct, frozen=True, eq=False):
    """A dict entry; also a path step, spelt only when someone will read it."""

    key: object
    value: object = None


Step = str | int | tuple[int, ...] | Item  # a str is a name that counts, the others only say where


def framed(pieces: Iterable[bytes]) -> bytes:
    """Length prefixes keep ["ab", "c"] and ["a", "bc"] apart."""
    return b"".join([len(piece).to_bytes(8, "little") + piece for piece in pieces])


def unframed(code: bytes) -> list[bytes]:
    """Return the pieces that `framed` made a code of."""
    found, start = [], 0
    while start < len(code):
        end = start + 8 + int.from_bytes(code[start : start + 8], "little")
        found.append(code[start + 8 : end])
        start = end
    return found


def framed_in_order(pieces: Iterable[bytes]) -> bytes:
    return framed(sorted(pieces))


def packed(codes: Sequence[bytes]) -> bytes:
    """The body of an array from the codes of its elements; `_vector` makes the same bytes without the codes."""
    tags = {code[:1] for code in codes}
    if tags <= {b"d"}:
        return b"d" + b"".join([code[1:] for code in codes])
    if tags <= {b"d", b"z"}:
        return b"z" + b"".join([code[1:].ljust(16, b"\0") for code in codes])
    if tags == {b"?"}:
        return b"?" + b"".join([code[1:] for code in codes])
    return b"*" + framed(codes)


class Node(NamedTuple):
    """One level of a value: what kind it is, and its parts in canonical order (or a join that orders them)."""

    kind: str
    parts: Sequence[tuple[Step, object]] = ()
    join: Callable[[list[bytes]], bytes] = framed
    body: tuple[Any, ...] | None = None  # buffers that stand for the joined parts
    array: Any = None  # what the parts are the elements or fields of, where that is a plain array

    def code(self, codes: list[bytes]) -> bytes:
        """A digest, so that codes stay short however large or shared the parts are."""
        names = [step for step, _ in self.parts if isinstance(step, str)]
        head = framed([name.encode("utf-8", "surrogatepass") for name in (self.kind, *names)])
        digest = hashlib.blake2b(framed([head]), digest_size=32)
        for piece in (self.join(codes),) if self.body is None else self.body:
            digest.update(piece)
        return b"#" + digest.digest()
