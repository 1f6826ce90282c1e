"""Forty-one learners of other people's, each by one command line: docs/learners.md has them, and this runs the page.

Chance: none with the libraries that the page was made with, since all seeds are fixed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Any

import pytest

from auditor.lookup import find_object

Command = Callable[..., tuple[int, str, str]]
MAKER = "docs/make_learners.py"
CODES = {"pass": 0, "fail": 1}
SLOW = (
    *("catboost", "a bandit"),  # not among the libraries of every run; 180 runs of 300 rounds in a loop
    *("a random search, its choice", "one against the rest"),  # a grid search and a vote are tried in every run
    *("a random forest", "lightgbm"),  # k-means is a class by its name too, and xgboost takes keywords too
)
LIBRARIES = (  # of the extras, and others
    *("xgboost", "lightgbm", "catboost", "statsmodels", "polars", "river", "lifelines", "networkx", "optuna", "torch"),
    *("jax", "imblearn", "pyod", "hmmlearn", "kmodes", "umap", "pygam"),
)


def maker(name: str) -> Any:
    return find_object(f"{__file__.rpartition('/tests/')[0]}/{MAKER}:{name}")


TABLE = maker("PAGE").read_text().replace(chr(92) + "|", "&")  # a bar within a cell
ROWS = re.findall(r"^\| (.+?) \| `(.+?)` \| (pass|fail) \| .* \|$", TABLE, flags=re.MULTILINE)
PAGE = [(name, words.replace("&", "|"), verdict) for name, words, verdict in ROWS]


def test_the_page_has_all() -> None:
    assert {name: words for name, words, _ in PAGE} == maker("LEARNERS")
    assert len(PAGE) == 41
    assert {verdict for _, _, verdict in PAGE} == {"pass", "fail"}


@pytest.mark.usefixtures("little_advice")
@pytest.mark.filterwarnings("ignore")  # what the libraries have to say
@pytest.mark.parametrize(
    ("name", "words", "verdict"),
    [pytest.param(*row, marks=[pytest.mark.nightly] * (row[0] in SLOW), id=row[0]) for row in PAGE],
)
def test_one_command_line_is_enough(name: str, words: str, verdict: str, command: Command) -> None:
    for library in LIBRARIES:
        if name.startswith(library):
            pytest.importorskip(library)
    code, said, complained = command("check", *shlex.split(words), "--jobs", "1", cwd=maker("ROOT"))
    assert code == CODES[verdict], complained
    assert said.startswith(f"{verdict.upper()}  {words.split()[0]}")
    assert "Traceback" not in said + complained
    assert "error" not in complained
    assert ("To see both outputs of pair " in said) or verdict == "pass"
