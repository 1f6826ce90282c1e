"""The walk over one value, and what stands on it: its fingerprint, a copy that nothing can change, what to call it."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import hashlib
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from operator import countOf
from typing import Any, TypeVar

import numpy as np

from auditor.errors import NotComparable, is_interrupt, kind_of
from auditor.escape import text_of
from auditor.values.canonical import LEAVES, base_value, class_name, expand
from auditor.values.libraries import in_own_type
from auditor.values.node import Item, Node, Refused, Step

T = TypeVar("T")
PLAIN = frozenset({int, float, str, bytes, bool, type(None)})
DEEPEST = 900  # parts within each other
_NUMBERS = frozenset({int, float, bool})
_UNCHANGING = frozenset({*LEAVES, *np.sctypeDict.values(), Fraction, Decimal})
_KEY = 80  # characters of a key in a path


class Settled:
    """What counts of a value at the moment when it was looked at, in memory of ours: nothing later can change it."""

    __slots__ = ("code", "level", "source")

    def __init__(self, level: bytes | Node, source: object) -> None:
        self.level = level
        self.code: bytes | None = level if isinstance(level, bytes) else None  # made when it is first asked for
        self.source = source  # only asked for its repr and its class, and only while it still shows what was settled

    def __repr__(self) -> str:
        node = self.level
        if isinstance(node, bytes):
            return repr(self.source)
        with contextlib.suppress(NotComparable):  # it has changed
            if code_of(self.source) == code_of(self):
                return repr(self.source)
        values = ((step, part.value if type(part) is Item else part) for step, part in node.parts)
        parts = (f"{step_text(step)}: {part!r}" for step, part in values)
        return f"{type(self.source).__qualname__}({', '.join(parts)})"


def kinds_of(values: Collection[object]) -> set[type]:
    """Return the types of some values, with `object` for those without a hash; fastest where there is but one."""
    try:
        first = {type(one) for one in islice(values, 1)}
        is_one = first and countOf(map(type, values), *first) == len(values)
        return first if is_one else set(map(type, values))
    except TypeError:  # of a metaclass that has __eq__ and no __hash__
        return {object}


def is_of(value: object, kinds: Container[Any]) -> bool:
    """True if the class of a value is one of these; it may have no hash."""
    try:
        return type(value) in kinds
    except TypeError:
        return False


def level_of(value: object) -> bytes | Node:
    """Return one level of a value: the code of a number or text, or what the parts of anything else are."""
    return value.level if type(value) is Settled else expand(value)


def read_level(
    value: object, root: object, steps: Sequence[Step], read: Callable[[object], bytes | Node] = level_of
) -> bytes | Node:
    """Return one level of a value; NotComparable, with the place that the steps lead to, if it has none."""
    try:
        return read(value)
    except MemoryError:
        raise
    except Refused as refused:
        raise refusal(value, root, steps, str(refused)) from None
    except RecursionError:
        raise refusal(value, root, steps, "it is nested too deeply") from None
    except BaseException as error:
        if is_interrupt(error):
            raise
        raise refusal(value, root, steps, f"reading it raised {describe(error)}").caused_by(error) from error


def refusal(value: object, root: object, steps: Sequence[Step], reason: str) -> NotComparable:
    """Return the error for a part of an output that cannot be compared: its path, its class, the reason and the
    cure."""
    path = cut(f"output{path_text(steps)}", 400)
    return NotComparable(f"{path}: {class_name(type(value))} cannot be compared: {reason}; {advice(root)}")


def folded(
    value: object,
    leaf: Callable[[Any, Sequence[Step]], T],
    make: Callable[[Any, bytes | Node, list[T]], T],
    *,
    into: Callable[[object, Sequence[Step]], bool] = lambda part, steps: True,
    change: Callable[[object], object] | None = None,
    level: Callable[[object], bytes | Node] = level_of,
    once: bool = True,
) -> T:
    """Return what `make` makes of a value, given its level and what was made of its parts, each object once.

    Numbers, texts and None of Python's own classes, and parts of which `into` is False, are not opened: what is made of
    them is what `leaf` returns. Both are given the steps that lead to the part. What `change` makes of each part below
    the value, other than keys, is walked in its place. With `once=False` a shared part is walked under every path.
    NotComparable for a part that has no canonical form, for one that contains itself, and for what is
    nested too deeply.
    """
    done: dict[int, tuple[object, T]] = {}  # holds the objects, so that no id is used again
    changed: dict[int, tuple[object, object]] = {}  # what each part became: a shared one is changed once
    opened: dict[int, tuple[Any, Node, Iterator[tuple[Step, Any]], list[T]]] = {}
    steps: list[Step] = []
    depth = 0
    waiting: Iterator[tuple[Step, Any]] = iter([("", value)])
    results: list[T] = []
    while True:
        for step, part in waiting:
            steps.append(step)
            if is_of(part, LEAVES) or not into(part, steps):
                results.append(leaf(part, steps))
            elif once and id(part) in done:
                results.append(done[id(part)][1])
            elif id(part) in opened:
                raise refusal(part, value, steps, "it contains itself")
            else:
                node = read_level(part, value, steps, level)
                if not isinstance(node, bytes):
                    break
                results.append(make(part, node, []))
                done[id(part)] = part, results[-1]
            steps.pop()
        else:
            if not opened:
                return results[0]
            key, (part, node, waiting, outer) = opened.popitem()
            outer.append(make(part, node, results))
            results = outer
            done[key] = part, results[-1]
            depth -= type(part) is not Item
            steps.pop()
            continue
        depth += type(part) is not Item
        if depth > DEEPEST:
            raise refusal(value, value, (), "it is nested too deeply")
        if change is not None:
            below = [(name, each) for name, each in node.parts if id(each) not in changed and name != " key"]
            changed |= {id(each): (each, change(each)) for _, each in below}
            node = node._replace(parts=[(n, e if n == " key" else changed[id(e)][1]) for n, e in node.parts])
        opened[id(part)] = part, node, waiting, results
        waiting, results = iter(node.parts), []


def nodes(
    value: object, into: Callable[[object, Sequence[Step]], bool] = lambda part, steps: True
) -> list[tuple[Any, bytes | Node]]:
    """Return all parts of a value with their levels, but for numbers, texts and None, and each object once."""
    found: list[tuple[Any, bytes | Node]] = []
    folded(value, lambda part, _: None, lambda part, level, _: found.append((part, level)), into=into)
    return found


def mapped(
    value: object,
    leaf: Callable[[Any, Sequence[Step]], Any],
    into: Callable[[object, Sequence[Step]], bool],
    *,
    once: bool = True,
) -> Any:
    """Return the same lists, tuples, dicts and objects with attributes, as far as `into` is True, around what `leaf`
    makes of all else."""

    def level(part: Any) -> Node:
        if isinstance(part, dict):
            return Node("dict", [(Item(key), one) for key, one in part.items()])
        if isinstance(part, (list, tuple)) and not hasattr(part, "_fields"):
            return Node("list", [*enumerate(part)])
        names = getattr(part, "_fields", None)
        if dataclasses.is_dataclass(part):
            names = [field.name for field in dataclasses.fields(part)]
        return Node("object", [(f".{name}", getattr(part, name)) for name in (vars(part) if names is None else names)])

    def make(part: Any, node: bytes | Node, parts: list[Any]) -> Any:
        if isinstance(part, dict):
            return dict(zip(part, parts, strict=True))
        if isinstance(part, tuple):
            return type(part)(*parts) if hasattr(part, "_fields") else tuple(parts)
        if isinstance(part, list):
            return parts
        twin = copy.copy(part)
        for (name, _), one in zip(node.parts, parts, strict=True):  # type: ignore[union-attr]
            object.__setattr__(twin, name[1:], one)
        return twin

    return folded(value, leaf, make, into=into, level=level, once=once)


def code_of(value: object) -> bytes:
    """Return the canonical code: two values are the same exactly when their codes are equal."""

    def leaf(part: Any, _: Sequence[Step]) -> bytes:
        return part.code if type(part) is Settled else LEAVES[type(part)](part)  # type: ignore[return-value]

    def make(part: Any, level: bytes | Node, codes: list[bytes]) -> bytes:
        code = level if isinstance(level, bytes) else level.code(codes)
        if type(part) is Settled:
            part.code = code
        return code

    return folded(value, leaf, make, into=lambda part, _: type(part) is not Settled or part.code is None)


def fingerprint(value: object) -> str:
    """Return a short name of a value, 32 hexadecimal digits: the same in every process and on every machine.

    Two values have the same name if an audit counts them as the same output, and different ones otherwise (but for
    collisions of a 128-bit hash). NotComparable if the value holds something that cannot be compared.
    """
    return _name_again(value) if is_of(value, _NUMBERS) else _name(value)


def _name(value: object) -> str:
    """Return a short digest of a value's canonical form."""
    return hashlib.blake2b(code_of(value), digest_size=16).hexdigest()


_name_again = functools.lru_cache(maxsize=1024, typed=True)(_name)  # outputs of one string are mostly the same


def settle(value: Any) -> Any:
    """Return what counts of a value, now: `same`, `fingerprint`, `first_difference` and `describe` say of it what they
    would have said of the value, whoever changes that afterwards. NotComparable if it has no canonical form.
    """
    kind = type(value)
    if is_of(value, PLAIN):
        return value
    if kind is np.ndarray and value.dtype.kind in "biufc" and value.ndim:
        return in_own_type(value).copy()
    if kind is dict and kinds_of(value) <= PLAIN and kinds_of(value.values()) <= PLAIN:
        return value.copy()
    if kind in (list, tuple, set, frozenset) and kinds_of(value) <= PLAIN:
        return value[:] if kind in (list, tuple) else value.copy()
    return settle_changed(value)


def settle_changed(value: object, change: Callable[[object], object] | None = None) -> object:
    """Return what `settle` makes of a value in which every part, down to the numbers, is what `change` makes of it."""
    root = value if change is None else change(value)
    into = (lambda part, _: type(part) is not Settled) if change is None else (lambda part, _: True)
    return folded(root, lambda part, _: part, _own, into=into, change=change)


def _own(value: Any, level: bytes | Node, parts: list[object]) -> object:
    """Return a part in memory of ours, given its parts in such."""
    if isinstance(level, bytes):  # of a class or a function the name counts; windows are copied
        base = base_value(value)
        if isinstance(base, np.ndarray):  # of no dimension
            value = base = base[()]
        if isinstance(base, np.void):
            return base.tobytes()
        if type(value) in _UNCHANGING or isinstance(value, (bytearray, np.generic)):
            return base
        return value if type(value) is Settled else Settled(level, value)
    if level.array is not None and not level.array.dtype.hasobject:
        return np.array(level.array)
    if type(value) is Item:
        return Item(*parts)
    if level.is_array:
        array = np.empty(len(parts), dtype=object)
        for place, each in enumerate(parts):  # one by one: elements that are arrays would be taken apart
            array[place] = each
        return array.reshape(level.array.shape)
    steps = (own if type(own) is Item else step for (step, _), own in zip(level.parts, parts, strict=True))
    source = value.source if type(value) is Settled else value
    return Settled(Node(level.kind, list(zip(steps, parts, strict=True))), source)


# Words.


def describe(value: object, limit: int = 200) -> str:
    """Return a repr of at most `limit` characters; it never raises, and a shortened one says how long it was."""
    try:
        base = base_value(value) if isinstance(value, np.generic) else value  # numpy may crash on a subclass of its own
        return cut(text_of(base.item() if isinstance(base, np.generic) else base), limit)
    except BaseException as error:
        if is_interrupt(error):
            raise
        return cut(f"<{class_text(value)}: its repr raised {kind_of(error)}>", limit)


def class_text(value: object) -> str:
    """Return the class of a value, by name; of a settled value that of the original."""
    return type(value.source if isinstance(value, Settled) else value).__qualname__


def cut(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, with a note of its length where it was longer."""
    if len(text) <= limit:
        return text
    note = f"... ({len(text)} characters)"
    return text[: max(0, limit - len(note))] + note


def step_text(step: Step) -> str:
    """Return a step of a path as a person writes it: [3], ['key'] or .name."""
    if isinstance(step, str):
        return step
    if type(step) is Item:
        return f"[{describe(step.key, _KEY)}]"
    return f"[{step}]" if isinstance(step, int) else f"[{', '.join(map(str, step))}]"


def path_text(steps: Sequence[Step]) -> str:
    """Return steps as a path: .coef_[3]."""
    return "".join(map(step_text, steps))


_RETURN = "return values that define it: numbers, strings, arrays, containers or dataclasses of them"
_FOUND = ("best_params", "best_params_", "best_value")  # what a search has found, as attributes or properties
_LEARNT = ("coef_", "feature_importances_", "cluster_centers_", "support_", "params")
_SHOWABLE = (bool, int, float, complex, str, np.ndarray)
_NAMED = 3  # attributes that advice names


def advice(output: object) -> str:
    """Return what to do about an output that cannot be compared, in one clause; nothing of the output is run."""

    def has(name: str) -> bool:
        return not issubclass(type(output), type) and any(name in vars(base) for base in type(output).__mro__)

    def as_options(views: list[str]) -> str:
        return " or ".join(f'--view "{view}"' if "(" in view else f"--view {view}" for view in views)

    if has("savefig"):
        return (
            f"it is an open figure: return the numbers that it draws, or try {as_options(['attr(name)', 'module:fn'])}"
        )
    try:
        own = object.__getattribute__(output, "__dict__")  # to ask for others might run code
    except Exception:  # it has none, or is no plain object
        own = {}
    own = own if isinstance(own, dict) else {}
    views = ["predict"] if has("predict") else []
    views += [f"attr({name})" for name in _FOUND if has(name)]
    views += [f"attr({name})" for name in _LEARNT if name in own]
    if not views:
        shown = (name for name, value in own.items() if not name.startswith("_") and issubclass(type(value), _SHOWABLE))
        views = [f"attr({name})" for name in shown]
    return f"{_RETURN}; or try {as_options([*views[:_NAMED], 'module:fn'])}" if views else _RETURN
