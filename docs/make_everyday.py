"""Makes the tables of docs/everyday.md: `python docs/make_everyday.py`, from the root.

What reproducibility costs is measured by `auditor price` for each subject; `--only NAME` measures that row anew and
leaves the others as they are. The map is `algorithms.everyday.LATER`, and a test holds the page to it.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import auditor
from algorithms.__main__ import row as map_row
from algorithms.everyday import LATER
from auditor.questions.price.parts import answer_of, size_text
from auditor.questions.several import with_theorem
from auditor.subjects.subject import Subject

PAGE = Path(__file__).parent / "everyday.md"
PAIRS = 20_000
COSTS = (
    "costs",
    "| subject | task | claim | plain | measured | proved | no algorithm below |\n|---|---|---|---|---|---|---|\n",
)
MAP = ("map", "| result | what it says | where | constants | tested by |\n|---|---|---|---|---|\n")


def between(page: str, name: str) -> str:
    """What stands between the marks of a table."""
    begin, end = marks(name)
    return page.split(begin)[1].split(end)[0]


def marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}, by docs/make_everyday.py -->\n", f"<!-- end of {name} -->\n"


def with_table(page: str, name: str, table: str) -> str:
    begin, end = marks(name)
    before, _, rest = page.partition(begin)
    return before + begin + table + end + rest.partition(end)[2]


def claimed() -> list[Subject]:
    """The subjects that carry a result of this room."""
    names = {statement.name for statement in LATER}
    return [
        subject for subject in with_theorem() if subject.declared.theorem in names and subject.declared.expect == "pass"
    ]


def cost(name: str, subject: Subject) -> str:
    """What a claim costs in rows: plain, measured at the default source, proved, and what no algorithm is below."""
    record = auditor.ask("price", name, pairs=PAIRS)
    answer = answer_of(record)
    rho = next(one for one in answer.asked if one.claim == "reproducible")
    bounds = ", ".join(f"{size:,} ({which})" for which, size in answer.bounds.items())
    cells = (
        f"`{name}`",
        str(subject.declared.theorem),
        f"rho {rho.limit:g}",
        "-" if answer.plain is None else f"{answer.plain:,}",
        size_text(rho.low, rho.high),
        "-" if answer.promised is None else f"{answer.promised:,}",
        bounds or "-",
    )
    return "| " + " | ".join(cells) + " |\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help="the row of this subject alone")
    parser.add_argument("--map", action="store_true", help="the map alone")
    given = parser.parse_args()
    page = PAGE.read_text()
    page = with_table(page, MAP[0], MAP[1] + "".join(map(map_row, LATER)))
    PAGE.write_text(page)
    if given.map:
        return
    rows = dict(
        re.findall(r"^(\| `(?P<name>\w+)`.*\n)", between(page, COSTS[0]), re.M)
        and [(name, line) for line, name in re.findall(r"^(\| `(\w+)`.*\n)", between(page, COSTS[0]), re.M)]
    )
    for subject in claimed():
        name = subject.name.partition(":")[2]
        if given.only in (None, name):
            rows[name] = cost(name, subject)
            print(rows[name], end="", flush=True)
    PAGE.write_text(with_table(page, COSTS[0], COSTS[1] + "".join(rows.values())))


if __name__ == "__main__":
    main()
