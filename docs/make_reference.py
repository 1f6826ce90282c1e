"""Makes pages from the code, as Markdown, when the site is built; nothing here needs Sphinx.

    python docs/make_reference.py reference/keys      # prints what is added to a page

A page that is among PAGES has its heading and introduction in its file, and the rest from here. The pages of commands
are made as a whole, a file for each command.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import sys
import textwrap
import tokenize
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import rich_click as click

ROOT = Path(__file__).parents[1]
WORDS = {
    "[tool.auditor]": "These hold for all audits of the file. An entry may override what says how to run.",
    "[[tool.auditor.subject]]": "One for each audit. Besides `target`, `source`, `question`, `expect`, `reason` and "
    "`margin` it has the options of [`check`](commands/check.md), with `_` in place of `-`; if it has a `question`, "
    "those of that [command](commands.md).",
}
NAMES = {int: "integer", float: "number", str: "text", bool: "true or false", list: "list"}


def escaped(text: str) -> str:
    """Return a text that Markdown shows as it is, also in a table, but for `code` between backquotes."""
    parts = " ".join(text.split()).split("`")
    if len(parts) % 2 == 0:
        parts = ["\\`".join(parts)]
    parts[::2] = [re.sub(r"([\\*_{}\[\]<>|#^~$])", r"\\\1", part) for part in parts[::2]]
    return "`".join(part.replace("|", "\\|") if number % 2 else part for number, part in enumerate(parts))


def table(head: str, rows: list[tuple[str, ...]]) -> str:
    columns = head.split(", ")
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


# Commands


def commands() -> dict[str, click.Command]:
    from auditor.cli.command_line import cli

    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def context_of(command: click.Command) -> click.Context:
    """Return a context with the names that --help has on the command line: a command keeps those of its first one."""
    from auditor.cli.command_line import cli

    return click.Context(command, info_name=command.name, **cli.context_settings)


def help_of(command: click.Command) -> tuple[list[str], str, str]:
    """Return the paragraphs of a command's help, its example, and what it says of exit codes."""
    example = codes = ""
    paragraphs = []
    for paragraph in inspect.cleandoc(command.help or "").replace("\b", "").split("\n\n"):
        words = " ".join(paragraph.split())
        if words.startswith("Example: "):
            example = words.removeprefix("Example: ")
        elif words.startswith("Exit codes: "):
            codes = words.removeprefix("Exit codes: ")
        elif words:
            paragraphs.append(words)
    return paragraphs, example, codes


def options_of(command: click.Command) -> dict[str, list[tuple[str, str]]]:
    """Return (how it is typed, what it means) of every option, those that --help leaves out too, by its heading."""
    context = context_of(command)
    found: dict[str, list[tuple[str, str]]] = {}
    for param in command.get_params(context):
        if isinstance(param, click.Option):
            shown = param.get_help_record(context)  # None of an option that the command refuses
            panel = getattr(param, "panel", None)
            heading = next(iter(panel), None) if isinstance(panel, (list, tuple)) else panel
            if shown:
                found.setdefault(heading or "Options", []).append(shown)
    return found


def command_page(name: str, command: click.Command) -> str:
    context = context_of(command)
    usage = " ".join(["python -m auditor", name, *command.collect_usage_pieces(context)])
    paragraphs, example, codes = help_of(command)
    parts = [f"# {name}", *map(escaped, paragraphs), f"```console\n$ {usage}\n```"]
    if example:
        parts.append(f"For example:\n\n```console\n$ {example}\n```")
    if codes:
        parts.append(f"Exit codes: {escaped(codes)} See [exit codes](../exit-codes.md).")
    for heading, options in options_of(command).items():
        rows = [(f"`{typed.replace('|', chr(92) + '|')}`", escaped(words)) for typed, words in options]
        parts.append(f"## {heading}\n\n{table('option, what it means', rows)}")
    return "\n\n".join(parts) + "\n"


def write_commands(folder: Path) -> None:
    """Write a page for each command, and remove those of commands that are gone."""
    folder.mkdir(exist_ok=True)
    pages = {folder / f"{name}.md": command_page(name, command) for name, command in commands().items()}
    for page in {*folder.glob("*.md")} - {*pages}:
        page.unlink()
    for page, text in pages.items():
        write(page, text)


def write(page: Path, text: str) -> None:
    if not page.exists() or page.read_text() != text:  # a page that is as it was is not built again
        page.write_text(text)


def list_of_commands() -> str:
    """Return the tables of commands, below the headings that --help has, and the tree of their pages."""
    from auditor.cli.command_line import cli

    every = commands()
    panels = {panel.name: [name for name in panel.commands or () if name in every] for panel in cli.panels}
    others = {*every} - {name for names in panels.values() for name in names}
    tables = []
    for heading, names in {**panels, "Others": sorted(others)}.items():
        rows = [(f"[`{name}`](commands/{name}.md)", escaped(help_of(every[name])[0][0])) for name in names]
        tables += [f"## {heading}\n\n{table('command, what it does', rows)}"] if rows else []
    toctree = "\n".join(f"commands/{name}" for name in every)
    return "\n".join(tables) + f"\n```{{toctree}}\n:hidden:\n\n{toctree}\n```\n"


def exit_codes() -> str:
    """Return what each command says of its exit codes."""
    said = {name: help_of(command)[2] for name, command in commands().items()}
    rows = [(f"[`{name}`](commands/{name}.md)", escaped(codes)) for name, codes in said.items() if codes]
    return table("command, exit codes", rows)


# Keys of pyproject.toml


def keys() -> str:
    """Return the tables of the keys that hold for all audits, and of those of an entry, both in the order of groups."""
    from auditor.cli.config import OWN, common_keys
    from auditor.flow.question import check_table

    own = {**OWN, **{name: one for name, one in check_table().items() if one.group and name != "confidence"}}
    parts = []
    for heading, every in {"[tool.auditor]": common_keys(), "[[tool.auditor.subject]]": own}.items():
        parts.append(
            f"## {escaped(heading)}\n\n{WORDS[heading]}\n\n{table('key, value, what it says', rows_of(every))}"
        )
    return "\n".join(parts)


def rows_of(every: Mapping[str, Any]) -> list[tuple[str, ...]]:
    from auditor.request import GROUPS

    of_group = {group: [one for one in every.values() if one.group == group] for group in GROUPS}
    return [(f"`{one.key}`", kinds(one), escaped(one.words)) for ones in of_group.values() for one in ones]


def kinds(one: Any) -> str:
    if one.name == "params":
        return "table"
    return " or ".join(NAMES.get(kind, "text") for kind in one.kinds)


# The record


def record_schema() -> dict[str, Any]:
    """Return the JSON schema of a record, from its structs."""
    import msgspec

    from auditor.flow.record import Record

    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(Record)}


def record() -> str:
    """Return a section for each struct of a record: its fields, their types, and the comments that they have."""
    parts = []
    for name, schema in record_schema()["$defs"].items():
        struct = struct_of(name)
        names = dict(zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True))
        notes = comments_of(struct)
        rows = [(f"`{one}`", type_of(kind), notes[names[one]]) for one, kind in schema["properties"].items()]
        described = escaped(schema.get("description", ""))
        parts.append(f"## {name}\n\n{described}\n\n{table('field, type, what it is', rows)}")
    return "\n".join(parts)


def struct_of(name: str) -> Any:
    """Return a struct that a record has inside, by its name."""
    import msgspec

    from auditor.flow.record import Record

    found: dict[str, type] = {}

    def look(kind: Any) -> None:
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__name__ not in found:
            found[kind.__name__] = kind
            for field in msgspec.structs.fields(kind):
                look(field.type)
        for part in getattr(kind, "__args__", ()):
            look(part)

    look(Record)
    return found[name]


def type_of(schema: Mapping[str, Any]) -> str:
    """Return a JSON schema's type in a few words, with links to the structs on the same page."""
    if "anyOf" in schema:
        return " or ".join(type_of(one) for one in schema["anyOf"])
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    kind = schema.get("type", "anything")
    if kind == "array" and isinstance(schema.get("items"), dict):
        return f"list of {type_of(schema['items'])}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"table of {type_of(schema['additionalProperties'])}"
    return {"array": "list", "object": "table", "string": "text"}.get(kind, kind)


def comments_of(kind: type) -> dict[str, str]:
    """Return the comment of each field of a class that has one, at the end of its line or on the lines above it."""
    source = textwrap.dedent(inspect.getsource(kind))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {at.start[0]: at for at in tokens if at.type == tokenize.COMMENT}
    lines = source.splitlines()
    (body,) = ast.parse(source).body
    found = {}
    for field in getattr(body, "body", ()):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            above = field.lineno - 1
            while above in comments and lines[above - 1].lstrip().startswith("#"):
                above -= 1
            numbers = [*range(above + 1, field.lineno), field.end_lineno]
            words = [comments[number].string.lstrip("# ") for number in numbers if number in comments]
            if words:
                found[field.target.id] = escaped(" ".join(words))
    return found


# Python


def python() -> str:
    """Return autodoc's directives for the public names of auditor."""
    import auditor

    return "\n\n".join(documented("auditor", auditor.__all__, "##")) + "\n"


def repair() -> str:
    """Return autodoc's directives for auditor.repair: the wrappers, then each mechanism below what its module says."""
    import auditor.repair

    homes: dict[str, list[str]] = {}
    for name in auditor.repair.__all__:
        homes.setdefault(resolve_name(f"auditor.repair:{name}").__module__, []).append(name)
    mechanisms = {home: names for home, names in homes.items() if ".mechanisms." in home}
    wrappers = [name for home, names in homes.items() if home not in mechanisms for name in names]
    parts = ["## Wrappers", *documented("auditor.repair", wrappers)]
    for home, names in sorted(mechanisms.items()):
        parts.append(f"## Mechanism: {home.rpartition('.')[2]}")
        parts.append(f"```{{eval-rst}}\n.. automodule:: {home}\n   :no-index:\n```")
        parts += documented("auditor.repair", names)
    return "\n\n".join(parts) + "\n"


def documented(module: str, names: list[str], heading: str = "###") -> Iterator[str]:
    for name in sorted(names, key=str.lower):
        found = resolve_name(f"{module}:{name}")
        kind, options = "function", ""
        if isinstance(found, type):
            kind, options = ("exception", "") if issubclass(found, Exception) else ("class", "\n   :members:")
        signature = "()" if hasattr(found, "__struct_fields__") else ""  # a struct's fields are on a page of their own
        yield f"{heading} {name}\n\n```{{eval-rst}}\n.. auto{kind}:: {module}.{name}{signature}{options}\n```"


def as_rst(lines: list[str]) -> list[str]:
    """Return a docstring, which is plain text with `code` in it, as reStructuredText.

    What is indented after a blank line is code; elsewhere nothing is markup but backquotes. A guarantee, its proof and
    its price are paragraphs of their own.
    """
    found: list[str] = []
    is_code = False
    for line in lines:
        if not line.strip():
            found.append("")
            continue
        was_code, is_code = is_code, line.startswith("    ") and (is_code or not found or not found[-1])
        if is_code and not was_code:
            found += ["::", ""]
        if is_code:
            found.append(line)
            continue
        if found and found[-1] and re.match("(Guarantee|Proof|Price|Sharp)[:,.]", line):
            found.append("")
        parts = line.split("`")
        if len(parts) % 2 == 0:  # a backquote that is not closed on its line
            parts = [line.replace("`", "")]
        parts[::2] = [re.sub(r"([\\*|_])", r"\\\1", part) for part in parts[::2]]
        found.append("".join(f"``{part}``" if number % 2 else part for number, part in enumerate(parts)))
    return found


# What is proved, and where


def everyday_map() -> str:
    """Return the table of the results behind the everyday algorithms."""
    from algorithms.__main__ import COLUMNS, row
    from algorithms.everyday import LATER

    return COLUMNS + "".join(map(row, LATER))


DIMENSIONS = (*range(1, 11), 12, 14, 16, 20, 24, 25, 32, 48, 64, 100)


def rounding() -> str:
    """Return the table of the rows that a mean takes, by tiling and dimension, the fewest in bold."""
    from algorithms.everyday.mean_sizes import by_boxes, by_foams, by_lattice
    from auditor.repair.mechanisms.foam import MAX_FOAM_DIMENSION

    tilings = ("boxes", "foams", "D", "A*", "E8", "Leech")
    head = f"| d | {' | '.join(tilings)} | fewest | times fewer |\n|---|{'---|' * len(tilings)}---|---|\n"
    lines = []
    for d in DIMENSIONS:
        asked = (0.1 * d**0.5, 0.1, 0.05, 0.5, d)
        rows = {"boxes": by_boxes(*asked).rows}
        if d <= MAX_FOAM_DIMENSION:
            rows["foams"] = by_foams(*asked).rows
        rows |= {one: by_lattice(*asked, one).rows for one in tilings[2:] if one != "D" or d > 1}
        fewest = min(rows, key=lambda one: rows[one])
        cells = [f"**{rows[one]:,}**" if one == fewest else f"{rows[one]:,}" if one in rows else "-" for one in tilings]
        lines.append(f"| {d} | {' | '.join(cells)} | {fewest} | {rows['boxes'] / rows[fewest]:.1f} |\n")
    return head + "".join(lines)


# Reports, which are kept in a folder of their own


def write_reports(folder: Path) -> None:
    """Write the pages and pictures of reports/ to where the site has them."""
    folder.mkdir(exist_ok=True)
    for file in (ROOT / "reports").iterdir():
        if file.suffix in (".md", ".svg"):
            text = file.read_text()
            heading = "" if file.suffix == ".svg" or text.startswith("# ") else f"# {file.stem.capitalize()}\n\n"
            write(folder / file.name, heading + text)


# The example of a question, which the tests run


def own_question() -> str:
    tree = ast.parse((ROOT / "tests" / "test_questions_of_others.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "QUESTION":
            return f"```python\n{ast.literal_eval(node.value).strip()}\n```\n"
    raise ValueError("tests/test_questions_of_others.py has no QUESTION")


PAGES: dict[str, Callable[[], str]] = {
    "everyday-map": everyday_map,
    "own-question": own_question,
    "reference/commands": list_of_commands,
    "reference/exit-codes": exit_codes,
    "reference/keys": keys,
    "reference/python": python,
    "reference/record": record,
    "reference/repair": repair,
    "rounding": rounding,
}

if __name__ == "__main__":
    print(PAGES[sys.argv[1]](), end="")
