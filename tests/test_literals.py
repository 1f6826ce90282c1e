"""What a user types as a value: a literal, a text, or neither; never an exception of Python's parser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.errors import UsageError
from auditor.literals import literal_or_text, read_call, read_literal
from auditor.subjects import has_text, param_text, parse_param

DEEP = ("-" * 10**5 + "1", "[" * 10**5, "(" * 10**5 + ")" * 10**5, "- " * 10**4 + "1", "{1:" * 500 + "1" + "}" * 500)


@pytest.mark.parametrize("text", DEEP, ids=lambda text: text[:4])
def test_what_is_nested_too_deeply_is_said_to_be(text: str) -> None:
    with pytest.raises(ValueError, match="nested more than 100 levels deep"):
        read_literal(text)
    with pytest.raises(ValueError, match="nested more than 100 levels deep"):
        read_call(f"norm({text})")
    with pytest.raises(UsageError, match="put quotes around it if it is meant as a text"):
        parse_param(text)
    assert parse_param(repr(text)) == text


@pytest.mark.parametrize("text", ["{[]: 1}", "{{}}", "[{[]}]", "'\ud800'", "\x00", "1 +", "9" * 5000, "not " * 5000])
def test_what_python_refuses_in_its_own_ways_is_no_literal(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_literal(text)
    with pytest.raises(ValueError, match=r"."):
        read_call(f"norm({text})")
    assert literal_or_text(text) == text


@given(st.text(st.sampled_from("([{'\"\\-+ ab\n"), max_size=300))
def test_a_text_is_read_back_from_what_is_typed_for_it(text: str) -> None:
    assert parse_param(param_text(text)) == text


def test_a_value_that_is_nested_too_deeply_has_no_text() -> None:
    value: list[object] = []
    for _ in range(150):
        value = [value]
    assert not has_text(value)
    assert has_text([[[1, 2], "x"]])
