"""How does what comes from a user or a subject become text? As data, made harmless for each place it may be shown in.

A value is written without endless work (`text_of`). Python writes a shared part as often as it is reached: x = [x, x],
forty times, has a repr of 10^13 characters. So the parts that a repr would write are counted first, and a value with
far more of them than it holds is written as an outline, cut off in depth and in width.
"""

from __future__ import annotations

import os
import re
import reprlib
import sys
import unicodedata
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache, partial
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any, TextIO

# Control characters, format characters (bidi overrides, zero width), surrogates, line and paragraph separators.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_NOT_XML = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # XML 1.0, section 2.2; 10 ms to compile
_BEYOND_ASCII = re.compile("[^\x00-\x7e]")  # json writes the controls before that as escapes itself
# A line ends where the service thinks so, and after that blanks do not count.
_COMMAND = re.compile(r"(?:^|(?<=[\r\n\v\f\x85\u2028\u2029]))\s*:(?=:)|#(?=#(?:\[|vso\[))", re.IGNORECASE)
# Words, numbers and the marks of a sentence: nothing that markdown, HTML or GitHub's own links give a meaning to.
_PLAIN = re.compile(r"(?!\d+[.)])(?!.*www\.)[A-Za-z0-9](?:[A-Za-z0-9 .,;()%'-]|: )*", re.IGNORECASE)

_WORD, _SENTENCE = 500, 4000  # characters that a message on standard error has at most
_LONG_WORD = re.compile(rf"\S{{{_WORD},}}")


def visible(text: str, *, keep: str = "") -> str:
    """Return a text with control, bidi and other invisible characters as escapes; those in `keep` stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c in keep or unicodedata.category(c) not in _HIDDEN else c.encode("unicode_escape").decode() for c in text
    )


def json_text(text: str) -> str:
    """Return a JSON document with every hidden character as an escape: it reads back the same, and hides nothing."""
    return _BEYOND_ASCII.sub(lambda found: _json_escape(found[0]), text)


def _json_escape(char: str) -> str:
    """Return a hidden character as the escape that JSON has for it."""
    if unicodedata.category(char) not in _HIDDEN:
        return char
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def without_commands(text: str) -> str:
    """Return a text of which no build service takes a line for a command: GitHub's ::error::, or ##[...] anywhere.

    For texts that somebody else prints, when nobody can be told to hold commands back; comes last, after the wrapping.
    """
    return _COMMAND.sub(lambda found: f"{found[0][:-1]}\\x{ord(found[0][-1]):02x}", text)


def shortened(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, and how long it was. Comes before escaping, which takes seconds for
    megabytes."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters)"


def brief(message: str) -> str:
    """Return a message that can be read, whatever long text it quotes: its words are cut, and then its middle; its end
    has the cure."""
    message = _LONG_WORD.sub(lambda found: shortened(found[0], _WORD), message)
    if len(message) <= _SENTENCE:
        return message
    return f"{message[: _SENTENCE // 2]}... ({len(message):,} characters) ...{message[-_SENTENCE // 2 :]}"


def xml_text(text: str, *, keep: str = "") -> str:
    """Return a text that XML 1.0 can hold. Markup is the writer's task: xml.etree's, or html.escape's in a picture."""
    return re.sub(_NOT_XML, lambda found: found[0].encode("unicode_escape").decode(), visible(text, keep=keep))


def code_span(text: str) -> str:
    """Data within a line of markdown. In code there is no markup, no HTML, no link and no @mention; a backslash before
    each sign would not do, since GitHub looks for mentions and links in what it has rendered already."""
    if not text:
        return ""
    text = visible(text)
    ticks = "`" * (_longest_run(text) + 1)
    edge = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return f"{ticks}{edge}{text}{edge}{ticks}"


def code_cell(text: str) -> str:
    """Return data as code within a cell of a table, whose bars count even in code; parsers do not agree on what a
    backslash before a bar means."""
    return code_span(text.replace("\\|", "\\\\x7c")).replace("|", "\\|")


def code_block(text: str, language: str = "text") -> str:
    """Return data as a block of code on lines of its own, behind a fence longer than any in it."""
    text = visible(text, keep="\n")
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def is_plain_text(text: str) -> bool:
    """Return True if Markdown finds no markup in `text`."""
    return _PLAIN.fullmatch(text) is not None


def sentence(text: str) -> str:
    """Return the text as it is if it is plain, else as code: most reasons are ours, but some quote an exception."""
    if "\n" in text:
        return code_block(text)
    return text if is_plain_text(text) else code_span(text)


def _longest_run(text: str) -> int:
    """Return the length of the longest run of backticks in a text."""
    return max(map(len, re.findall("`+", text)), default=0)


def github_message(text: str) -> str:
    """Return a text as the message of a GitHub workflow command; the percent sign is escaped first, since it is what
    the others become."""
    return visible(text, keep="\r\n").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def github_property(text: str) -> str:
    """Return a text as the value of a property of a GitHub workflow command."""
    return github_message(text).replace(":", "%3A").replace(",", "%2C")


class HeldCommands:
    """From here to its release GitHub takes no line of this process for a command, whichever way it got printed.

    A report wraps lines and keeps the line ends of a traceback, so no escape could promise that none starts with ::.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._token = os.urandom(16).hex() if stream else ""  # not to be guessed by what runs in between
        if stream:
            print(f"::stop-commands::{self._token}", file=stream, flush=True)

    def release(self, stream: TextIO) -> None:
        """Let GitHub take lines for commands again; later calls do nothing."""
        if self._token:
            print(f"::{self._token}::", file=stream, flush=True)
        self._token = ""


_FEW = 2_000  # parts that are written without a question
_TANGLED = 100_000  # parts, from which on those that are shared are asked for
_SHARED = 4  # times that each part is written, on average, from which on the value counts as tangled
_PART_OF_TEXT = 16  # characters of a text that count as one part
_TEXTS = (str, bytes, bytearray)
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
_NUMBERS = frozenset({int, float, bool, type(None)})
_ARGS = vars(BaseException)["args"]  # a class may have a property of that name
_LEAVES = (*_TEXTS, int, float, complex, type, FunctionType, ModuleType, type(None))


def text_of(value: object) -> str:
    """Return repr(value), or an outline of a value whose repr would repeat its parts without end."""
    return _OUTLINE.repr(value) if is_tangled(value) else repr(value)


def without_address(text: str) -> str:
    """Return a repr without the places in memory that it names: they are others in every process."""
    return _ADDRESS.sub("", text)


def message_of(error: BaseException) -> str:
    """Return str(error), or an outline of its arguments where these are tangled."""
    if not is_tangled(error):
        return str(error)
    return ", ".join(_OUTLINE.repr(argument) for argument in _ARGS.__get__(error)[: _OUTLINE.maxtuple])


def is_tangled(value: object) -> bool:
    """True if a repr would write far more parts than the value holds, because some are reached in many ways."""
    waiting, written = [value], 0
    while waiting:  # as a repr goes
        size, parts = _opened(waiting.pop())
        written += size
        if written > _FEW:
            break
        waiting += parts
    else:
        return False
    written, held = _counted(value)
    return written > _TANGLED and written > _SHARED * held


def _counted(value: object) -> tuple[int, int]:
    """Return how many parts a repr of a value writes, and how many different ones it holds."""
    done: dict[int, int] = {}  # by id: parts that the repr of one writes
    held: list[object] = []  # so that no id is used again
    total = 0
    waiting: list[tuple[object, int, list[object] | None]] = [(value, 0, None)]
    while waiting:
        one, size, parts = waiting.pop()
        if parts is not None:
            done[id(one)] = min(size + sum(done[id(part)] for part in parts), sys.maxsize)
        elif id(one) not in done:
            size, parts = _opened(one)
            total += size
            done[id(one)] = size  # for one that contains itself, until all of it is known
            held += [one, parts]
            waiting.append((one, size, parts))
            waiting += [(part, 0, None) for part in parts]
    return done[id(value)], total


def _opened(value: object) -> tuple[int, list[object]]:
    """Return how many parts the repr of a value writes by itself, and those parts that may hold others.

    Runs no code of the value's own: what it holds is read as containers and objects of Python keep it.
    """
    if isinstance(value, _LEAVES):
        return (1 + len(value) // _PART_OF_TEXT if isinstance(value, _TEXTS) else 1), []
    found: Iterable[Any] | None = None
    base: Any
    for base in (list, tuple, set, frozenset, deque):
        if isinstance(value, base):
            found = base.__iter__(value)
    if isinstance(value, dict):
        found = (part for entry in dict.items(value) for part in entry)
    elif isinstance(value, partial):
        found = [value.func, value.args, value.keywords]
    elif (numpy := sys.modules.get("numpy")) is not None and isinstance(value, numpy.ndarray):
        found = numpy.ndarray.view(value, numpy.ndarray).ravel().tolist() if value.dtype.hasobject else ()
    every = [*(_attributes(value) if found is None else found)]
    try:
        parts = [] if _NUMBERS.issuperset(map(type, every)) else [part for part in every if type(part) not in _NUMBERS]
    except TypeError:  # a class whose metaclass has no hash
        parts = every
    return 1 + len(every) - len(parts), parts


def _attributes(value: object) -> list[object]:
    """Return what an object keeps in its __dict__ and its slots."""
    found: list[object] = [_ARGS.__get__(value)] if isinstance(value, BaseException) else []
    kind: Any = type(value)
    try:
        slots = _slots(kind)
    except TypeError:  # its metaclass has no hash
        slots = _slots.__wrapped__(kind)
    for owner, slot in slots:
        with suppress(AttributeError, TypeError, ValueError):  # it was never filled
            found.append(slot.__get__(value, owner))
    with suppress(AttributeError, TypeError):
        found += object.__getattribute__(value, "__dict__").values()
    return found


@lru_cache(maxsize=256)
def _slots(kind: Any) -> list[tuple[type, Any]]:
    """Return the slots of a class, with the classes that own them; they are read without running anything."""
    owned = ((owner, slot) for owner in kind.__mro__[:-1] for slot in vars(owner).values())
    return [(owner, slot) for owner, slot in owned if isinstance(slot, MemberDescriptorType)]


class _Outline(reprlib.Repr):
    """A repr of three levels with four parts each; of anything else than a container it is the class."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = self.maxdict = 4

    def repr_instance(self, x: Any, level: int) -> str:
        """Return the class alone of an object that holds others."""
        kind = type(x).__qualname__
        return f"{kind}(...)" if _opened(x)[1] else super().repr_instance(x, level)


_OUTLINE = _Outline()
