"""Makes the types and the docstrings of Python's keywords from the tables of options: `python docs/make_keywords.py`.

It writes auditor/flow/keywords.py, and in auditor/flow/asking.py what stands below `Keywords` in the docstrings of
`audit` and `ask`. Run it after an option was added, renamed or described anew, or a question was added.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, get_origin

from auditor.cli.commands.check import command_words
from auditor.flow import asking
from auditor.flow.question import check_table, find_question, registered_questions
from auditor.lookup import CHECK
from auditor.request import GROUPS, Listed, Options, as_name, fields_of, listed

ASKING = Path(asking.__file__)
KEYWORDS = ASKING.with_name("keywords.py")
OURS = sorted(name for name, point in registered_questions().items() if point.value.startswith("auditor."))
HEAD = '''"""The types of Python's keywords, for editors and type checkers. docs/make_keywords.py writes this file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict
'''


def keywords() -> str:
    """Return the module of types. A keyword has one type: what any question takes by that name."""
    kinds: dict[str, dict[str, None]] = {}  # by keyword, the names of types in the order in which they come
    for question in OURS:
        for one in fields_of(find_question(question).Options):
            table = listed(find_question(question).Options)[one.name]
            may_be_none = [NoneType] if table.default is None and not one.required else []
            kinds.setdefault(one.name, {}).update(dict.fromkeys(map(type_name, [*table.kinds, *may_be_none])))
    text, done = HEAD, set[str]()
    classes = {
        "ReplayKeywords": ("TypedDict", "`auditor.replay`", find_question("rho").Options.__struct_fields__),
        "AuditKeywords": ("ReplayKeywords", "`auditor.audit` and `auditor.assert_reproducible`", check_table()),
        "AskKeywords": ("AuditKeywords", "`auditor.ask`, whatever the question", kinds),
    }
    for name, (base, of, names) in classes.items():
        text += f'\n\nclass {name}({base}, total=False):\n    """The keywords of {of}."""\n\n'
        for one in (new for new in names if new not in done):
            text += f"    {one}: {'Any' if 'Any' in kinds[one] else ' | '.join(kinds[one])}\n"
        done |= {*names}
    return text


def type_name(kind: Any) -> str:
    if kind is NoneType:
        return "None"
    return "Mapping[str, Any]" if get_origin(kind) is dict else getattr(kind, "__name__", str(kind))


def of_audit() -> Iterator[str]:
    """Yield the lines of audit's docstring that describe its keywords, by groups as the command line has them."""
    for group in (*GROUPS, None):
        yield from ("", f"{group or 'For Python alone'}:", "")
        yield from described(one for one in check_table().values() if one.group == group)


def of_ask() -> Iterator[str]:
    """Yield the lines of ask's docstring: its questions, each with the keywords that not every question takes."""
    shared = check_table()
    yield from ("", *wrapped(f"Every question takes {quoted(listed(Options))}, as in `audit`."))
    yield from ("", *wrapped(f"{quoted(CHECK)}: what `audit` asks, with the same keywords."))
    for question in (name for name in OURS if name not in CHECK):
        table = listed(find_question(question).Options)
        own = [one for name, one in table.items() if name not in listed(Options)]
        same = [one for one in own if one.name in shared and shared[one.name].python == one.python]
        title = command_words(question, registered_questions()[question].value).partition("\n")[0]
        yield from ("", *wrapped(f"`{question}`: {title.replace('TARGET', 'the subject')}"), "")
        yield from described(one for one in own if one not in same)
        if same:
            yield from wrapped(f"- {quoted(one.name for one in same)}: as in `audit`.")


def described(options: Iterable[Listed]) -> Iterator[str]:
    """Yield a sentence on each keyword, which has other keywords by their names in Python."""
    for one in options:
        words = re.sub(r"--([a-z][a-z-]*)", lambda flag: as_name(flag[1].replace("-", "_")), one.python)
        yield from wrapped(f"- `{one.name}`: {words}")


def quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 115, subsequent_indent="  " if text.startswith("- ") else "", break_on_hyphens=False)


def with_keywords(text: str, lists: Mapping[str, Iterable[str]]) -> str:
    """Return the module of `audit` and `ask` with the lists in their docstrings as they are to be."""
    for name, lines in lists.items():
        pattern = re.compile(rf'(\ndef {name}\(.*?\n    Keywords[^\n]*\n).*?(    """\n)', re.DOTALL)
        made = textwrap.indent("\n".join([*lines, ""]), "    ")
        text, count = pattern.subn(lambda found, made=made: found[1] + made + found[2], text)
        assert count == 1, name
    return text


def made_files() -> dict[Path, str]:
    """Return what the files that this script writes are to be."""
    return {
        KEYWORDS: keywords(),
        ASKING: with_keywords(ASKING.read_text(), {"ask": of_ask(), "audit": of_audit()}),
    }


if __name__ == "__main__":
    for path, text in made_files().items():
        path.write_text(text)
