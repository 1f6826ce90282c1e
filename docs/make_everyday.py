"""Makes the tables of docs/everyday.md: `python docs/make_everyday.py`, from the root.

What reproducibility costs is measured by `auditor price`, some minutes in all; `--only NAME` measures that row anew and
leaves the others as they are. The map is `algorithms.everyday.LATER`; `--map` makes it alone, and a test holds the page
to it.
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
COSTS, MAP = "costs", "map"
HEADS = {
    COSTS: "| subject | task | rho | plain | measured | proved | no algorithm below |\n|---|---|---|---|---|---|---|\n",
    MAP: "| result | what it says | where | constants | tested by |\n|---|---|---|---|---|\n",
}


def marks(table: str) -> tuple[str, str]:
    return f"<!-- {table}, made by docs/make_everyday.py -->\n", f"<!-- end of {table} -->\n"


def rows_of(page: str, table: str) -> str:
    """What stands between the marks of a table, without its head."""
    begin, end = marks(table)
    return page.partition(begin)[2].partition(end)[0].removeprefix(HEADS[table])


def with_rows(page: str, table: str, rows: str) -> str:
    begin, end = marks(table)
    before, _, rest = page.partition(begin)
    return before + begin + HEADS[table] + rows + end + rest.partition(end)[2]


def map_rows() -> str:
    return "".join(map(map_row, LATER))


def claims() -> dict[str, Subject]:
    """The subjects that carry a claim about rho of this room, by name."""
    names = {statement.name for statement in LATER}
    chosen = [one for one in with_theorem() if one.declared.theorem in names and one.declares("claimed") is not None]
    return {one.name.partition(":")[2]: one for one in chosen}


def cost(name: str, subject: Subject) -> str:
    """A row: what the claim costs at the declared source, beside what was proved of it."""
    answer = answer_of(auditor.ask("price", name, pairs=PAIRS))
    rho = next(one for one in answer.asked if one.claim == "reproducible")
    cells = (
        f"`{name}`",
        str(subject.declared.theorem),
        f"{rho.limit:g}",
        "-" if answer.plain is None else f"{answer.plain:,}",
        size_text(rho.low, rho.high),
        "-" if answer.promised is None else f"{answer.promised:,}",
        ", ".join(f"{size:,} ({which})" for which, size in answer.bounds.items()) or "-",
    )
    return "| " + " | ".join(cells) + " |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="NAME", help="measure this subject alone")
    parser.add_argument("--map", action="store_true", help="make the map alone")
    given = parser.parse_args()
    page = with_rows(PAGE.read_text(), MAP, map_rows())
    rows = {name: line for line, name in re.findall(r"^(\| `(\w+)` .*\n)", rows_of(page, COSTS), re.M)}
    known = claims()
    for name in () if given.map else [given.only] if given.only else known:
        rows[name] = cost(name, known[name])
        print(rows[name], end="", flush=True)
        PAGE.write_text(with_rows(page, COSTS, "".join(rows[one] for one in known if one in rows)))
    PAGE.write_text(with_rows(page, COSTS, "".join(rows[one] for one in known if one in rows)))


if __name__ == "__main__":
    main()
