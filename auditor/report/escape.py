"""Everything that comes from a subject is data. Here it is made harmless, for each place it may be shown in."""

from __future__ import annotations

import unicodedata

# Control characters, format characters (bidi overrides, zero width), surrogates, line and paragraph separators.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def visible(text: str, *, keep: str = "") -> str:
    """Control, bidi and other invisible characters as escapes; those in `keep` stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c in keep or unicodedata.category(c) not in _HIDDEN else c.encode("unicode_escape").decode() for c in text
    )
