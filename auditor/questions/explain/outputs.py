"""What two outputs have in common, where they are not the same: all but the numbers, all but the names, all but the
order. Of outputs as `settle` leaves them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from auditor.bounded import is_tangled
from auditor.trials.trial import NoOutput
from auditor.values import Item, Node, fingerprint, level_of

Reals = npt.NDArray[np.float64]


def level(value: object) -> bytes | Node:
    """One level of a value: its code, or what its parts are."""
    if type(value) is NoOutput:
        return b"bottom"
    return level_of(value)


def _parts(node: Node) -> list[tuple[bytes, object]]:
    """Each part with what matches it with the other side's; a dict by its keys."""
    if node.kind == "dict":
        items = [item for _, item in node.parts if type(item) is Item]
        return sorted(((fingerprint(item.key).encode(), item.value) for item in items), key=lambda one: one[0])
    return [(step.encode() if isinstance(step, str) else b"", part) for step, part in node.parts]


def _digest(*pieces: bytes) -> bytes:
    made = blake2b(digest_size=16)
    for piece in pieces:
        made.update(len(piece).to_bytes(8, "little") + piece)
    return made.digest()


# All but the numbers.


class OutputNumbers(msgspec.Struct, frozen=True):
    """An output as its floating-point numbers, in order, and a digest of all else."""

    rest: bytes
    numbers: Reals


def read(value: object) -> OutputNumbers:
    """Integers, texts and the shape of things are the rest."""
    numbers: list[Reals] = []

    def take(value: object) -> bytes | None:
        if isinstance(value, (float, np.floating)):
            numbers.append(np.array([value], dtype=float))
            return b"number"
        node = level(value)
        if isinstance(node, bytes) or node.array is None or node.array.dtype.kind != "f":
            return None
        numbers.append(np.asarray(node.array, dtype=float).ravel())
        return node.kind.encode()

    rest = fingerprint(value).encode() if is_tangled(value) else _coded(value, take, None)
    flat = np.concatenate(numbers) if numbers else np.empty(0)
    holes = np.isnan(flat)
    return OutputNumbers(_digest(rest, holes.tobytes()), np.where(holes, 0.0, flat))


def gaps(first: OutputNumbers, second: OutputNumbers) -> Reals | None:
    """How far apart the numbers are; None where something else differs."""
    if first.rest != second.rest or len(first.numbers) != len(second.numbers):
        return None
    with np.errstate(invalid="ignore"):
        apart = np.abs(first.numbers - second.numbers)
    return np.where(first.numbers == second.numbers, 0.0, apart)  # two infinities


# All but the names, all but the order.


def _sequence(value: object) -> list[Any] | None:
    """The elements of a list, a tuple, an array along its first axis, or the values of a dict in order of its keys."""
    node = level(value)
    if isinstance(node, bytes):
        return None
    if node.array is not None:
        return list(node.array) if node.array.ndim else None
    return [part for _, part in _parts(node)] if node.kind in ("list", "tuple", "dict") else None


def _listed(value: object) -> list[Any] | None:
    """The same but for dicts, whose order is no matter."""
    node = level(value)
    return None if isinstance(node, Node) and node.kind == "dict" else _sequence(value)


def _is_label(value: object) -> bool:
    return isinstance(value, (int, np.integer, str)) and not isinstance(value, (bool, np.bool_))


def renamed(value: object) -> bytes:
    """A code in which labels have the names 0, 1, ... in order of appearance."""

    def rename(value: object) -> bytes | None:
        found = _sequence(value)
        if not found or not all(map(_is_label, found)):
            return None
        places = {label: place for place, label in enumerate(dict.fromkeys(found))}
        return _digest(_keys(value), *(b"%d" % places[label] for label in found))

    return _coded(value, rename, {})


def unordered(value: object) -> bytes:
    """A code in which the order of lists, tuples and rows does not count."""

    def sort(value: object) -> bytes | None:
        found = _listed(value)
        return None if found is None else _digest(*sorted(_coded(part, sort, done) for part in found))

    done: Done = {}
    return _coded(value, sort, done)


def _keys(value: object) -> bytes:
    node = level(value)
    if isinstance(node, bytes) or node.array is not None:
        return b""
    return _digest(*(name for name, _ in _parts(node)))


Done = dict[int, tuple[object, bytes]]  # codes of parts by their ids, with the parts, so that no id is used again


def _coded(value: object, special: Callable[[object], bytes | None], done: Done | None) -> bytes:
    """A code of a value in which `special` has the first word; with `done`, a part that is shared is coded once."""
    if done is None:
        return _coded_afresh(value, special, None)
    if id(value) not in done:
        done[id(value)] = value, _coded_afresh(value, special, done)
    return done[id(value)][1]


def _coded_afresh(value: object, special: Callable[[object], bytes | None], done: Done | None) -> bytes:
    made = special(value)
    if made is not None:
        return made
    node = level(value)
    if isinstance(node, bytes):
        return node
    if node.array is not None or node.kind == "set":
        return fingerprint(value).encode()
    coded = (piece for name, part in _parts(node) for piece in (name, _coded(part, special, done)))
    return _digest(node.kind.encode(), *coded)


def _inside(value: object) -> Iterator[object]:
    """A value, and all within it, each of them once."""
    waiting, met = [value], dict[int, object]()
    while waiting:
        one = waiting.pop()
        if id(one) in met:
            continue
        met[id(one)] = one
        yield one
        node = level(one)
        if isinstance(node, Node) and node.array is None and node.kind != "set":
            waiting += [part for _, part in _parts(node)]


def has_labels(value: object) -> bool:
    """Whether there is a row of names of which some come twice: what says who belongs together."""
    rows = (_sequence(one) for one in _inside(value))
    return any(found and all(map(_is_label, found)) and 1 < len(set(found)) < len(found) for found in rows)


def has_order(value: object) -> bool:
    """Whether there is a list of different things: a set, perhaps, that was written down in some order."""
    rows = (_listed(one) for one in _inside(value))
    done: Done = {}
    codes = ([_coded(part, lambda _: None, done) for part in found or ()] for found in rows)
    return any(len(set(found)) == len(found) > 1 for found in codes)
