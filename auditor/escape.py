"""Everything that comes from a subject is data. Here it is made harmless, for each place it may be shown in."""

from __future__ import annotations

import os
import re
import unicodedata
from typing import TextIO

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
    """Control, bidi and other invisible characters as escapes; those in `keep` stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c in keep or unicodedata.category(c) not in _HIDDEN else c.encode("unicode_escape").decode() for c in text
    )


def json_text(text: str) -> str:
    """A JSON document with every hidden character as an escape: it reads back the same, and hides nothing."""
    return _BEYOND_ASCII.sub(lambda found: _json_escape(found[0]), text)


def _json_escape(char: str) -> str:
    if unicodedata.category(char) not in _HIDDEN:
        return char
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def without_commands(text: str) -> str:
    """Lines of which no build service takes one for a command: GitHub's ::error:: after any blanks, ##[...] anywhere.

    For texts that somebody else prints, when nobody can be told to hold commands back; comes last, after the wrapping.
    """
    return _COMMAND.sub(lambda found: f"{found[0][:-1]}\\x{ord(found[0][-1]):02x}", text)


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters of a text, and how long it was. Comes first: escaping megabytes takes seconds."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters)"


def brief(message: str) -> str:
    """A sentence that can be read, whatever was typed or read that it quotes; its end has the cure."""
    message = _LONG_WORD.sub(lambda found: shortened(found[0], _WORD), message)
    if len(message) <= _SENTENCE:
        return message
    return f"{message[: _SENTENCE // 2]}... ({len(message):,} characters) ...{message[-_SENTENCE // 2 :]}"


def xml_text(text: str, *, keep: str = "") -> str:
    """What XML 1.0 can hold. Markup is the writer's task: xml.etree's, or html.escape's in a picture."""
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
    r"""The same within a cell of a table, whose bars count even in code; parsers do not agree on what \\| means."""
    return code_span(text.replace("\\|", "\\\\x7c")).replace("|", "\\|")


def code_block(text: str, language: str = "text") -> str:
    """Data on lines of its own, behind a fence longer than any in it."""
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
    return max(map(len, re.findall("`+", text)), default=0)


def github_message(text: str) -> str:
    """The data of a GitHub workflow command; the percent sign first, since it is what the others become."""
    return visible(text, keep="\r\n").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def github_property(text: str) -> str:
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
        """Once; later calls do nothing."""
        if self._token:
            print(f"::{self._token}::", file=stream, flush=True)
        self._token = ""
