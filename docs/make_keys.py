"""Prints the table of keys that docs/ci.md has: `python docs/make_keys.py`."""

from __future__ import annotations

from auditor.cli.config import OWN
from auditor.flow.question import check_table
from auditor.request import GROUPS, Listed

NAMES = {int: "integer", float: "number", str: "text", bool: "true or false", list: "list"}


def keys() -> str:
    rows = [*OWN.values(), *(one for one in check_table().values() if one.group and one.name != "confidence")]
    lines = ["| key | value | what it says |", "|---|---|---|"]
    for group in GROUPS:
        for one in rows:
            if one.group == group:
                words = one.words.replace("|", "\\|")
                lines.append(f"| `{one.key}` | {kinds(one)} | {words} |")
    return "\n".join(lines) + "\n"


def kinds(one: Listed) -> str:
    if one.name == "params":
        return "table"
    return " or ".join(NAMES.get(kind, "text") for kind in one.kinds)


if __name__ == "__main__":
    print(keys(), end="")
