"""`python -m algorithms > docs/paper.md`: the map of the paper as a page."""

from __future__ import annotations

from algorithms import PAPER, Statement

COLUMNS = "| statement | what it says | where | constants | tested by |\n|---|---|---|---|---|\n"
HEAD = f"""# The paper's statements, and where each is

"Reproducibility in Learning", Impagliazzo, Lei, Pitassi, Sorrell, 2022. This page is made by
`python -m algorithms > docs/paper.md` from `algorithms.PAPER`, and a test holds it to that.

{COLUMNS}"""


def row(statement: Statement) -> str:
    where = ", ".join(f"`{place}`" for place in statement.where) or "-"
    tests = ", ".join(f"`{test}`" for test in statement.tests) or "-"
    cells = (statement.name, statement.says, where, statement.constants, tests)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def page() -> str:
    return HEAD + "".join(map(row, PAPER))


if __name__ == "__main__":
    print(page(), end="")
