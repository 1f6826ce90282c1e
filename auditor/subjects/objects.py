"""Objects as texts: `sklearn.tree:DecisionTreeClassifier(max_depth=3)`, alone or inside a literal.

    --param estimator=sklearn.svm:SVC()
    --param estimators="[('tree', sklearn.tree:DecisionTreeClassifier()), ('svm', sklearn.svm:SVC(C=2))]"

The text is parsed and not evaluated: a name with a colon before an opening bracket is looked up and called, with
arguments that are such texts again.
"""

from __future__ import annotations

import ast
import inspect
import io
import sys
import tokenize
from collections.abc import Mapping
from typing import Any

from auditor.errors import UsageError, in_words
from auditor.escape import is_tangled
from auditor.literals import check_depth, read_literal
from auditor.lookup import call_user_code, find_object, importable_name

_MARK = "__in__"  # stands for the colon while Python parses the text


def has_object(text: str) -> bool:
    """True if a text calls a name with a colon in it, outside of its quotes."""
    return _MARK in _marked(text)


def read_object(text: str) -> Any:
    """Return what a text makes; UsageError with the part that is wrong."""
    marked = _marked(text)
    check_depth(marked)
    try:
        tree = ast.parse(marked, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise UsageError(f"{text!r} is no value: write module:Class(name=value), or a list of such") from error
    return _made(tree, text)


def _marked(text: str) -> str:
    """Return the text with `a.b:C(` written as `a.b.__in__.C(`."""
    try:
        tokens = [
            one
            for one in tokenize.generate_tokens(io.StringIO(text).readline)
            if one.type not in (tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.NL)
        ]
    except (tokenize.TokenError, SyntaxError, ValueError):
        return text
    places = []
    for at, token in enumerate(tokens):
        is_colon = token.string == ":" and 0 < at < len(tokens) - 2 and tokens[at - 1].type == tokenize.NAME
        after = at + 1
        while after + 2 < len(tokens) and tokens[after].type == tokenize.NAME and tokens[after + 1].string == ".":
            after += 2
        if (
            is_colon
            and after + 1 < len(tokens)
            and tokens[after].type == tokenize.NAME
            and tokens[after + 1].string == "("
        ):
            places.append(token.start)
    lines = text.splitlines(keepends=True)
    for row, column in reversed(places):
        line = lines[row - 1]
        lines[row - 1] = f"{line[:column]}.{_MARK}.{line[column + 1 :]}"
    return "".join(lines)


def _made(node: ast.expr, text: str) -> Any:
    """Return the value of a parsed text."""
    if isinstance(node, ast.Call):
        return _called(node, text)
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)](_made(one, text) for one in node.elts)
    if isinstance(node, ast.Dict) and None not in node.keys:
        pairs = zip(node.keys, node.values, strict=True)
        return {_made(key, text): _made(one, text) for key, one in pairs if key is not None}
    try:
        return read_literal(ast.unparse(node))
    except ValueError as error:
        raise UsageError(
            f"{ast.unparse(node).replace(f'.{_MARK}.', ':')!r} in {text!r} is no literal: {error}"
        ) from error


def _called(node: ast.Call, text: str) -> Any:
    """Return the object that a written call such as module:Class(name=value) makes."""
    target = ast.unparse(node.func)
    module, mark, path = target.partition(f".{_MARK}.")
    if not mark or any(word.arg is None for word in node.keywords):
        raise UsageError(f"{target!r} in {text!r} is no module:Class(name=value)")
    kind = find_object(f"{module}:{path}")
    positional = [_made(one, text) for one in node.args]
    named = {str(word.arg): _made(word.value, text) for word in node.keywords}
    try:
        return call_user_code(kind, *positional, **named)
    except Exception as error:
        raise UsageError(f"{module}:{path} in {text!r} raised {in_words(error)}") from error


def object_text(value: object) -> str | None:
    """Return the text that makes an estimator again, by its class and the parameters that differ from their defaults;
    None for what is no estimator, or has a parameter without a text."""
    if isinstance(value, (list, tuple)):
        if is_tangled(value):
            return None
        parts = [object_text(one) or _literal(one) for one in value]
        if None in parts:
            return None
        inside = ", ".join(map(str, parts)) + ("," if isinstance(value, tuple) and len(parts) == 1 else "")
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    if inspect.isclass(value) or not hasattr(value, "get_params"):
        return None
    kind = _public_name(type(value))
    if kind is None:
        return None
    own: Mapping[str, Any] = value.get_params(deep=False)
    defaults = {name: one.default for name, one in inspect.signature(type(value)).parameters.items()}
    words = []
    for name, one in own.items():
        text = object_text(one) or _literal(one)
        if text is None:
            return None
        if name not in defaults or text != _literal(defaults[name]):
            words.append(f"{name}={text}")
    return f"{kind}({', '.join(words)})"


def _public_name(kind: type) -> str | None:
    """Return the target of a class: by the package that offers it, where its own module is a private one."""
    name = importable_name(kind)
    place, _, path = (name or "").rpartition(":")
    while "._" in place and getattr(sys.modules.get(place.rpartition(".")[0]), path, None) is kind:
        place = place.rpartition(".")[0]
    return f"{place}:{path}" if name else None


def _literal(value: object) -> str | None:
    """Return a value as the Python literal that gives it back; None where there is none."""
    text = repr(value)
    try:
        return text if type(again := read_literal(text)) is type(value) and again == value else None
    except ValueError:
        return None
