"""Values whose parts are shared: their repr would take for ever, and nothing here does.

`grown` has 2^60 paths and 61 parts. A walk that is not bounded does not end in anybody's life, so no clock is needed
to tell: these tests end, or do not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from support.requests import audit

from auditor.errors import BadValue, SubjectError, in_words
from auditor.escape import is_tangled, message_of, text_of
from auditor.host import boundary
from auditor.repair.numbers_of import Widths, take_apart
from auditor.subjects.subject import has_text, param_text
from auditor.subjects.view_functions import rounded
from auditor.trials.likeness import apart_by, has_labels, has_order, read_numbers, renamed, unordered
from auditor.trials.trial import SubjectRaised
from auditor.values import Tolerance, describe, first_difference, settle, side_by_side

DEPTH = 60


@dataclasses.dataclass
class Twin:
    left: Any
    right: Any


@dataclasses.dataclass(slots=True)
class Slotted:
    left: Any
    right: Any


class Tree:
    def __init__(self, part: Any) -> None:
        self.left = self.right = part

    def __repr__(self) -> str:
        return f"Tree({self.left!r}, {self.right!r})"


def _array(part: Any) -> Any:
    array = np.empty(2, dtype=object)
    array[0] = array[1] = part
    return array


KINDS: dict[str, Callable[[Any], Any]] = {
    "list": lambda part: [part, part],
    "tuple": lambda part: (part, part),
    "dict": lambda part: {"a": part, "b": part},
    "mixed": lambda part: [{"a": (part, part)}],
    "dataclass": lambda part: Twin(part, part),
    "slots": lambda part: Slotted(part, part),
    "object": Tree,
    "array": _array,
}
MORE: dict[str, Callable[[Any], Any]] = {
    "exception": lambda part: ValueError(part, part),
    "namespace": lambda part: SimpleNamespace(a=part, b=part),
    "partial": lambda part: partial(print, part, part),
}


def grown(kind: Callable[[Any], Any], leaf: Any = 0.25, depth: int = DEPTH) -> Any:
    for _ in range(depth):
        leaf = kind(leaf)
    return leaf


@pytest.mark.parametrize("kind", [*KINDS.values(), *MORE.values()], ids=[*KINDS, *MORE])
def test_a_shared_structure_is_written_as_an_outline(kind: Callable[[Any], Any]) -> None:
    value = grown(kind)
    assert is_tangled(value)
    for text in (
        text_of(value),
        describe(value),
        param_text(value),
        in_words(ValueError(value)),
        message_of(KeyError(value)),
    ):
        assert 2 < len(text) < 3000
    assert "..." in str(BadValue("size", value, "must be a number"))
    assert "..." in BadValue("size", value, "must be a number").as_option()
    error = SubjectError("it raised").caused_by(ValueError(value))
    assert "ValueError: " in error.details
    assert not has_text(value)


@pytest.mark.parametrize(
    "value",
    [[[1, 2], [3]], {"a": [1.5] * 3}, [[0] * 3] * 1000, list(range(10**5)), Twin([1], {2}), "x" * 10**6, [Tree(1)] * 9],
    ids=lambda value: type(value).__name__,
)
def test_anything_else_is_written_whole(value: Any) -> None:
    assert text_of(value) == repr(value)


class Unhashed(type):
    def __eq__(cls, other: object) -> bool:
        raise ValueError

    @property
    def __name__(cls) -> str:
        return "Another"


class Argument(metaclass=Unhashed):
    pass


class Odd(Exception, metaclass=Unhashed):
    pass


class WithoutArguments(Exception):
    @property
    def args(self) -> Any:
        raise ValueError


@pytest.mark.parametrize(
    "error",
    [
        SyntaxError("no", ("x.cfg", 3, 1, b"a = = b")),
        SyntaxError("no", ("x.cfg", 3, "col 2", "a = = b")),
        SyntaxError("no", ("x.cfg", 3, 1, 5)),
        ValueError("no", Argument()),
        Odd("no"),
        WithoutArguments("no"),
    ],
    ids=["bytes", "column", "number", "argument", "class", "property"],
)
def test_an_exception_that_cannot_be_formatted_has_a_traceback(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = vars(type)["__name__"].__get__(type(error))
    with pytest.raises(type(error)) as raised:
        raise error
    details = SubjectError("it raised").caused_by(raised.value).details
    assert "in test_an_exception_that_cannot_be_formatted" in details
    assert f"{kind}: " in details.splitlines()[-1]
    assert "no" in details.splitlines()[-1]
    assert str(SubjectRaised("f", 0, 0, error)).startswith(f"f raised {kind} in")
    slip = Mock(side_effect=error.with_traceback(None))  # as if it were one of ours
    monkeypatch.setattr(boundary, "opened_request", slip)
    with pytest.raises(boundary.HostFailed, match=kind):
        boundary.read_answer(boundary.carried_out(b"", tuple))


def test_width_and_texts_count_too() -> None:
    assert is_tangled([[list(range(1000))] * 1000] * 1000)
    assert is_tangled(["x" * 10**6] * 10**4)
    itself: list[Any] = []
    itself.append(itself)
    assert text_of(itself) == "[[...]]"


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_comparisons_look_at_a_shared_part_once(kind: Callable[[Any], Any]) -> None:
    one, near, far = (grown(kind, leaf) for leaf in (0.25, 0.26, 0.75))
    assert first_difference(one, grown(kind)) is None
    found = first_difference(one, far)
    assert found is not None
    assert (found.left, found.right) == ("0.25", "0.75")
    assert first_difference(one, near, Tolerance(atol=0.1)) is None
    assert first_difference(one, far, Tolerance(atol=0.1)) is not None
    assert apart_by(one, near) > 0
    places, count = side_by_side(settle(one), settle(far), 5)
    assert count == 2**53 if kind is not _array else count > 0  # the places, as far as they are told apart
    assert 0 < len(places) <= 5
    assert first_difference(rounded(one, 1), rounded(near, 0)) is not None
    settled = settle(one)
    assert renamed(settled) == renamed(settle(grown(kind)))
    assert unordered(settled) != unordered(settle(far))
    assert not has_labels(settled)
    assert has_order(settled) is False
    assert read_numbers(settled).rest == read_numbers(settle(grown(kind))).rest


def test_places_below_shared_parts_are_all_counted() -> None:
    one, other = (settle(grown(KINDS["list"], leaf, 12)) for leaf in (1.0, 2.0))
    places, count = side_by_side(one, other, 3)
    assert count == 2**12
    assert [place.path for place in places] == ["[0]" * 12, "[0]" * 11 + "[1]", "[0]" * 10 + "[1][0]"]


def test_what_cannot_be_taken_apart_says_so() -> None:
    with pytest.raises(SubjectError, match="the same parts in too many ways"):
        take_apart(grown(KINDS["list"]), Widths(0.1))


def shared(sample: Any, r: Any) -> Any:
    return grown(KINDS["mixed"], float(sample[0]))


def raising(sample: Any, r: Any) -> Any:
    raise ValueError(grown(KINDS["mixed"]))


def test_an_audit_ends() -> None:
    """Its advice too: few pairs are run for it where the target is large."""
    record = audit(shared, "norm", size=1, pairs=40, rho=0.4)
    assert (record.verdict, record.cost.advice is None) == ("fail", False)
    record = audit(raising, "norm", size=1, pairs=40)
    assert record.verdict == "error"
    assert "ValueError" in record.reason
