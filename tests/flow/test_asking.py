"""Who asks what: questions by name and by their options, in Python."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getdoc
from pathlib import Path
from typing import Any

import pytest
from support.requests import timeless

import auditor
from auditor.errors import RENAMED, UsageError
from auditor.flow.keywords import AskKeywords, AuditKeywords, ReplayKeywords
from auditor.flow.question import check_table, find_question, registered_questions
from auditor.lookup import find_object
from auditor.request import GROUPS

Command = Callable[..., tuple[int, str, str]]


def draw(rng: Any, size: int) -> Any:
    return rng.random(size)


def constant(sample: Any, r: Any) -> int:
    return 1


def scaled(sample: Any, r: Any, *, x: float = 1.0) -> bool:
    return bool(sample[0] < 0.02 * x)


def no_loss(output: Any, rows: Any) -> Any:
    return 0 * rows


@pytest.mark.parametrize(
    ("keywords", "question"),
    [
        ({}, "rho"),
        ({"measure": "rho", "pairs": 99}, "rho"),
        ({"eta": 0.2, "nu": 0.2}, "nu"),
        ({"eta": 0.2, "nu": 0.2, "runs": 12, "strings": 300, "seed": 1}, "nu"),
        ({"loss": no_loss}, "loss"),
        ({"loss": no_loss, "delta": 0.1, "rho": 0.2, "pairs": 200}, "loss"),
    ],
)
def test_the_options_choose_the_question_and_asking_by_name_gives_the_same(
    keywords: dict[str, Any], question: str
) -> None:
    by_options = auditor.audit(constant, draw, size=5, **keywords)
    by_name = auditor.ask(question, constant, draw, size=5, **keywords)
    assert by_options.question == question
    assert timeless(by_options) == timeless(by_name)


@pytest.mark.parametrize(
    ("ask", "complaint"),
    [
        (lambda: auditor.audit(constant, draw, eta=0.1, loss=no_loss), r"--\w+ does not go with --\w+: leave one"),
        (lambda: auditor.audit(constant, draw, eta=0.1, nu=0.1, rho=0.1), "--rho 0.1 does not go with --eta: use --nu"),
        (
            lambda: auditor.audit(constant, draw, sise=5),
            r"no option 'sise' \(did you mean size\?\): it takes size, sample",
        ),
        (lambda: auditor.audit(constant, draw, measure="chrn"), r"measure='chrn' must be one of rho, churn \(did"),
        (
            lambda: auditor.ask("roh", constant, draw),
            r"there is no question 'roh' \(did you mean rho\?\): there are choose, churn",
        ),
        (lambda: auditor.ask("nu", constant, draw, size=5, pairs=9), "nu has no option 'pairs'"),
        (
            lambda: auditor.ask("rho", constant, draw, size=5, measure="churn"),
            "measure='churn' is another question than 'rho'",
        ),
        (lambda: auditor.ask("curve", constant, draw), "curve needs --vary NAME=VALUES"),
        (lambda: auditor.ask("curve", constant, [draw, "norm"], vary="size=3,5"), "curve takes one source, and 2 were"),
        (lambda: auditor.ask("nu", constant, draw, size=5), "nu is asked about with --eta and --nu: add e.g. --eta"),
        (
            lambda: auditor.ask("curve", constant, draw, vary={"size": 3}),
            "vary={'size': 3} must be a text, or one name",
        ),
        (lambda: auditor.ask("curve", constant, draw, vary="size=3,5", worst="no"), "worst='no' must be True or False"),
        (lambda: auditor.ask("rho", constant, draw, size=5, family=0), "family=0 must be an integer of at least 1"),
        (lambda: auditor.audit(constant, draw, size=5, second_process=0), "second_process=0 must be True or False"),
        (lambda: auditor.ask(3, constant, draw), "there is no question 3: there are choose, churn"),
        (lambda: auditor.ask("rho", constant, draw, params=3), "params=3 must be names with their values"),
        (lambda: auditor.ask("rho", constant, draw, params=None), "params=None must be names with their values"),
        (lambda: auditor.ask("rho", constant, draw, params={3: 1}), "has no parameter 3"),
        (lambda: auditor.ask("rho", constant, draw, size=5, ledger=3), "ledger=3 must be the path of a file"),
        (lambda: auditor.ask("rho", constant, draw, size=5, baseline=3), "baseline=3 must be a BaselineCounts"),
        (lambda: auditor.ask("rho", constant, draw, size=5, cluster=3), "cluster=3 must be a text"),
        (lambda: auditor.ask("rho", constant, draw, size=5, timeout="x"), "timeout='x' must be"),
        (lambda: auditor.replay(constant, draw, size=5, pair="x"), "pair='x' must be the number of a pair"),
        (lambda: auditor.replay(constant, draw, size=5, pair=-1), "pair=-1 must be the number of a pair"),
        (lambda: auditor.replay(constant, draw, size=5, pair=0, cell=1), "cell=1 must be from 0 to 0: which source"),
    ],
)
def test_what_does_not_go_together_gets_a_sentence(ask: Callable[[], Any], complaint: str) -> None:
    with pytest.raises(auditor.AuditorError, match=complaint):
        ask()


def test_several_sources_are_a_list_and_rows_are_one_source() -> None:
    import numpy as np

    assert [cell.name for cell in auditor.audit(constant, [draw, "uniform"], size=5).cells] == ["draw", "uniform"]
    x, y = np.arange(40.0).reshape(20, 2), np.arange(20)
    for rows in ((x, y), x):
        assert len(auditor.audit(constant, rows, size=5).cells) == 1
    assert len(auditor.audit(constant, [(x, y), x], size=5).cells) == 2


def test_curve_and_price_take_functions_and_objects() -> None:
    curve = auditor.ask("curve", scaled, draw, size=5, vary={"x": [1, 10, 20]}, pairs=300)
    assert (curve.question, curve.verdict, curve.target, curve.pairs) == ("curve", "pass", None, 300)
    assert [cell.name for cell in curve.cells] == ["x=1", "x=10", "x=20"]
    typed = auditor.ask("curve", scaled, draw, size=5, vary="x=1,10,20", pairs=300)
    assert [cell.mismatches for cell in typed.cells] == [cell.mismatches for cell in curve.cells]
    price = auditor.ask("price", constant, draw, rho=0.2)
    assert (price.question, price.verdict) == ("price", "pass")


def test_in_python_one_process_runs_it_unless_more_are_asked_for() -> None:
    assert auditor.audit(constant, draw, size=5).cost.limits == {"jobs": 1}
    assert auditor.audit(constant, draw, size=5, jobs=None).cost.limits == {}


def test_every_option_of_check_has_words_and_a_heading_or_is_for_python_alone() -> None:
    table = check_table()
    in_python = {name for name, one in table.items() if one.group is None}
    assert in_python == {"family", "baseline", "second_process", "executor"}
    assert all(one.words and one.group in GROUPS for one in table.values() if one.group)
    for name in ("curve", "price", "reuse"):
        assert {"jobs", "ledger", "resume", "cluster"} <= set(find_question(name).Options.__struct_fields__)


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_an_old_name_of_an_option_gets_the_new_one(
    old: str, new: str, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    code, _, err = command("check", "constant", f"--{old}", "1", cwd=tmp_path)
    assert (code, f"--{old} is called --{new.replace('_', '-')} now" in err) == (2, True)
    if new == "cell":
        return  # which goes with --replay, and only the command line has that
    with pytest.raises(UsageError, match=rf"has no option '{old}' \(it is called {new} now\)"):
        auditor.audit(constant, draw, **{old: 1})


def test_types_and_docstrings_of_keywords_are_those_of_the_options() -> None:
    made_files = find_object(f"{Path(__file__).parents[2] / 'docs' / 'make_keywords.py'}:made_files")
    for path, text in made_files().items():
        assert path.read_text() == text, f"python docs/make_keywords.py writes {path}"


def test_every_keyword_has_a_type_and_a_sentence() -> None:
    """Whatever the script does that writes them."""
    assert {*ReplayKeywords.__annotations__} == {*find_question("rho").Options.__struct_fields__}
    assert {*AuditKeywords.__annotations__} == {*check_table()}
    described = f"{getdoc(auditor.audit)}{getdoc(auditor.ask)}"
    for point in registered_questions().values():
        if point.value.startswith("auditor."):
            for name in find_question(point.name).Options.__struct_fields__:
                assert name in AskKeywords.__annotations__
                assert f"\n- `{name}`: " in described, name
    assert "--" not in described, "an option as the command line has it"
