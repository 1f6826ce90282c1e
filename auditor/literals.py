"""Which Python literal is this text? Nothing in it is run; ValueError with a few words where it is none.

Python's parser says no in a dozen ways: it may find the text nested too deeply for its own stack, or unhashable.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from auditor.errors import UsageError

_DEPTH = 100  # levels of brackets and signs; Python's own limit depends on its version, and on how much stack is left
_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_REFUSALS = (SyntaxError, ValueError, TypeError, MemoryError, RecursionError, SystemError)


class TooDeep(ValueError):
    """A text that is nested too deeply to say whether it is a literal."""


def literal_or_text(text: str) -> Any:
    """Return the literal that a text is, or else the text itself; UsageError for what may be either."""
    try:
        return read_literal(text)
    except TooDeep as error:
        raise UsageError(f"{text!r} is {error}: put quotes around it if it is meant as a text") from error
    except ValueError:
        return text


def is_text(text: str) -> bool:
    """True if a text is read as itself, and needs no quotes."""
    try:
        return bool(literal_or_text(text) == text)
    except UsageError:
        return False


def read_literal(text: str) -> Any:
    """Return the value of a Python literal; ValueError with a few words if the text is none."""
    check_depth(text)
    try:
        return ast.literal_eval(text)
    except _REFUSALS as error:
        raise ValueError(_words(error)) from error


def read_call(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the name, the arguments and the keywords of `name` or `name(literals, key=literal)`."""
    check_depth(text)
    try:
        return _parts(ast.parse(text, mode="eval").body, len(text.rstrip().encode()))
    except _REFUSALS as error:
        raise ValueError(_words(error)) from error


def _parts(node: ast.expr, length: int) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the name, the arguments and the keywords of a parsed call that spans the whole text."""
    if (node.end_lineno, node.end_col_offset) != (1, length):
        raise ValueError("a comment follows")  # Python takes norm#label for norm
    call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
    if not isinstance(call.func, ast.Name):
        raise ValueError("not a call")
    keywords = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
    if len(keywords) != len(call.keywords):
        raise ValueError("** is not a literal")
    return call.func.id, [ast.literal_eval(arg) for arg in call.args], keywords


def check_depth(text: str) -> None:
    """Raise TooDeep if brackets outside of strings are nested too deeply, or too many signs are in a row."""
    depth = signs = 0
    for sign in _STRING.sub("", text) if len(text) > _DEPTH else "":
        depth += (sign in "([{") - (sign in ")]}")
        signs = signs + 1 if sign in "+-~ " else 0
        if max(depth, signs) > _DEPTH:
            raise TooDeep(f"nested more than {_DEPTH} levels deep")


def _words(error: Exception) -> str:
    """Say in a few words why Python's parser refused a text."""
    if isinstance(error, (MemoryError, RecursionError, SystemError)):
        return "too much for Python's parser"
    words = str(getattr(error, "msg", error))
    return "a name or an operation is no literal" if words.startswith("malformed node") else words
