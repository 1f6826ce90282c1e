"""How was this program called? Commands that a person is to type begin as the one that was typed did.

Records and files have `python -m auditor`, which is right wherever it is installed.
"""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import sys

ANYWHERE = "python -m auditor"


def as_called(text: str) -> str:
    """Return a text in which `python -m auditor` stands as this process was called."""
    program = program_of(tuple(sys.orig_argv))
    return text if program is None else text.replace(f"{ANYWHERE} ", f"{program} ")


@functools.cache
def program_of(words: tuple[str, ...]) -> str | None:
    """Return the words of a process up to the options of auditor: its script, or an interpreter with `-m auditor`.

    A script that the shell finds by its name has that name. None for any other process, such as pytest's.
    """
    for place, word in enumerate(words[1:], 1):
        if word == "-m":
            return shlex.join(words[: place + 2]) if words[place + 1 : place + 2] == ("auditor",) else None
        if os.path.basename(word) == "auditor":
            found = shutil.which("auditor")
            is_found = found is not None and os.path.realpath(found) == os.path.realpath(word)
            return "auditor" if is_found else shlex.quote(word)
        if not word.startswith("-"):
            break
    return None
