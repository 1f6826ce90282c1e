"""Every question, whoever runs its trials: in process, in workers, on a cluster, and interrupted and resumed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.requests import timeless

from auditor.engine.engine import Engine, make_engine, make_run_options
from auditor.flow.question import find_question, make_request
from auditor.flow.run import carry_out, run_options_of
from auditor.trials.trial import Bench, Trial

pytestmark = pytest.mark.usefixtures("no_other_process")
SUBJECTS = Path(__file__).parent / "learners"
FIRST_BIT, GOOD_AND_BAD = "algorithms.controls:first_bit", "algorithms.known_answers:good_and_bad"
PREDICTED = f"{SUBJECTS}/predicted.py"

QUESTIONS: dict[str, tuple[str, str, Any, dict[str, Any]]] = {
    "rho": ("rho", FIRST_BIT, "bernoulli(0.2)", {"size": 1, "rho": 0.4}),
    "fixed": ("rho", FIRST_BIT, "bernoulli(0.2)", {"size": 1, "rho": 0.4, "fixed": 40}),
    "churn": (
        "churn",
        f"{PREDICTED}:fit",
        f"{PREDICTED}:uniform",
        {"size": 40, "view": "predict", "rho": 0.4, "probe": 20},
    ),
    "nu": ("nu", GOOD_AND_BAD, None, {"eta": 0.3, "nu": 0.3}),
    "list_size": ("list_size", FIRST_BIT, "bernoulli(0.1)", {"size": 1, "list_size": 1, "eta": 0.4}),
    "every rho": ("rho", FIRST_BIT, ["bernoulli(0.05)", "bernoulli(0.2)"], {"size": 1, "rho": 0.2}),
    "every nu": ("nu", GOOD_AND_BAD, None, {"inputs": {"bad": [0.0, 0.2]}, "eta": 0.4, "nu": 0.5}),
    # Shared it never differs, unshared in half of the pairs.
    "private": ("rho", "algorithms.known_answers:own_coin", None, {"params": {"q": 1.0}, "rho": 0.7}),
    "loss": (
        "loss",
        "algorithms.known_answers:memoriser",
        None,
        {"loss": "algorithms.known_answers:misses", "rho": 0.3},
    ),
    "curve": ("curve", FIRST_BIT, "bernoulli({p})", {"vary": "p=0.1,0.5", "size": 1, "pairs": 128, "worst": True}),
    "estimate": ("estimate", FIRST_BIT, "bernoulli(0.2)", {"size": 1, "half_width": 0.15}),
    "estimate of churn": (
        "estimate",
        f"{PREDICTED}:fit",
        f"{PREDICTED}:uniform",
        {"size": 40, "view": "predict", "measure": "churn", "probe": 20, "half_width": 0.15, "pairs": 40},
    ),
    "choose": (
        "choose",
        f"{SUBJECTS}/chosen.py:rounded",
        f"{SUBJECTS}/chosen.py:coins",
        {
            "size": 100,
            "score": f"{SUBJECTS}/chosen.py:closeness",
            "vary": "width=0.05,0.5,1.0",
            "score_within": 0.2,
            "margin": 0.3,
            "on_error": "stop",  # so that trials are counted in this process
        },
    ),
    "price": ("price", f"{SUBJECTS}/priced.py:is_above", None, {"rho": 0.2, "pairs": 240}),
    "explain": ("explain", FIRST_BIT, "bernoulli(0.3)", {"size": 2, "rho": 0.3, "pairs": 16}),
    "compare": ("compare", FIRST_BIT, "bernoulli(0.3)", {"size": 20, "old": "algorithms.controls:constant"}),
    "hunt": ("hunt", FIRST_BIT, None, {"over": "bernoulli({p})", "range": "p=0:1", "size": 1, "pairs": 128}),
    "repair": ("repair", "algorithms.controls:mean", None, {"rho": 0.5}),  # pairs of all of its phases
    "reuse": (
        "reuse",
        "algorithms.data_reuse:rstat_answer",
        None,
        {"analyst": "algorithms.data_reuse:fit_a_vote", "queries": 21, "rho": 0.04, "fixed": 16},
    ),
}


def ask(name: str, engine: Engine | None = None, **how: Any) -> Any:
    question, subject, source, asked = QUESTIONS[name]
    request = make_request(question, subject, source, {**asked, **how, "second_process": False})
    return timeless(carry_out(find_question(question).begin(request), request, run_options_of(request), engine=engine))


@pytest.fixture(scope="module")
def shared() -> Iterator[Callable[..., Engine]]:
    """Workers, and a cluster: started once for all questions, as for all subjects of a gate."""

    @cache
    def shared(**how: Any) -> Engine:
        return opened.enter_context(closing(make_engine(1, 1, make_run_options(**how), print)))

    with ExitStack() as opened:
        yield shared


def test_no_question_is_left_out() -> None:
    from auditor.flow.question import registered_questions

    assert {question for question, *_ in QUESTIONS.values()} == set(registered_questions())


@cache
def whole(name: str) -> tuple[Any, int]:
    """The record of a question that nobody disturbed, here; and how many trials that took."""
    run, real = [0], Bench.trial

    def counted(bench: Bench, index: int, *fell: Any) -> Trial:
        run[0] += 1
        return real(bench, index, *fell)

    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(Bench, "trial", counted)
        return ask(name, jobs=1), run[0]


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_record_does_not_depend_on_who_ran_it(name: str, tmp_path: Path, shared: Callable[..., Engine]) -> None:
    here, _ = whole(name)
    assert (here["schema"], here["verdict"] == "error") == ("auditor.record/2", False)
    assert here["answer"]["question"] == here["question"] == QUESTIONS[name][0]
    ledger = tmp_path / "audits.sqlite"
    assert ask(name, shared(jobs=2), jobs=2, ledger=ledger) == here
    assert ask(name, jobs=1, ledger=ledger, resume=True) == here, "all of it from the ledger"
    state = random.getstate()
    there = ask(name, shared(cluster="local:2"), cluster="local:2")
    random.setstate(state)  # Dask draws from it
    assert there == here


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_was_interrupted_goes_on_where_it_was(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt after the fourth trial that follows the preflight: those before it are in the ledger, as are the
    pairs of the preflight, and are not run again."""
    here, trials = whole(name)
    ledger, run, real = tmp_path / "audits.sqlite", [0], Bench.trial

    def counted(bench: Bench, index: int, *fell: Any) -> Trial:
        run[0] += 1
        if run[0] == 5:
            raise KeyboardInterrupt
        return real(bench, index, *fell)

    monkeypatch.setattr(Bench, "trial", counted)
    cut = ask(name, jobs=1, ledger=ledger)
    assert (cut["verdict"], cut["decided_by"]) == ("inconclusive", "interrupt")
    before, run[0] = run[0], 100
    assert ask(name, jobs=1, ledger=ledger, resume=True) == here
    spent = run[0] - 100
    assert before == 5
    # Four were kept; what a trial is tried with beforehand, and a look at the source, is run every time. A hunt looks
    # at the source of each of its first candidates before any trial.
    assert spent == trials - {"reuse": 1, "explain": 3, "hunt": 0}.get(name, 4)
