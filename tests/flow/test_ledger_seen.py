"""What a user sees of a ledger: which audits are the same to it, which of several goes on, what it keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from support.requests import StopsAfter, audit, carried_out, timeless

import auditor
from auditor.engine.engine import make_run_options
from auditor.errors import UsageError
from auditor.flow.ledger import read_history
from auditor.flow.ledger_file import connect, read_trials, transaction, write_trials
from auditor.flow.record import Record
from auditor.questions.no_worse import BaselineCounts
from auditor.questions.pairs import PairsOptions
from auditor.trials.trial import Trial
from auditor.values import Difference

QUICK: dict[str, Any] = {"rho": 0.5, "fixed": 5}


def rows(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.integers(0, 2, size)


def labelled(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.random((size, 1)), rng.integers(0, 2, size)


def plain(sample: Any, r: Any, *, width: float = 1.0) -> int:
    return 1


def counted(sample: auditor.Sample, r: Any) -> int:
    return 1


def has_private(sample: Any, r: Any, private: Any) -> int:
    return 1


class Model:
    def predict(self, x: Any) -> Any:
        return np.zeros(len(x))


def fitted(sample: Any, r: Any) -> Model:
    return Model()


def on_grid(core: float, r: Any) -> float:
    return round(core + r.random())


@auditor.subject(core=lambda sample: float(sample[0]), finish=on_grid, mismatch=lambda one, other: 0.0)
def finished(sample: Any, r: Any) -> float:
    return on_grid(float(sample[0]), r)


@pytest.fixture
def table(tmp_path: Path) -> str:
    (tmp_path / "d.csv").write_text("x,z\n" + "".join(f"{i},{i % 3}\n" for i in range(12)))
    return str(tmp_path / "d.csv")


class Case(msgspec.Struct, frozen=True):
    """An option that makes another audit: what it is set to, on what, and the word that the refusal has for it."""

    value: Any
    word: str
    before: dict[str, Any] = {}
    subject: Callable[..., Any] = plain
    source: Any = rows
    without: tuple[str, ...] = ()


DATA = {"source": "TABLE", "before": {"size": 4}}
OTHERS: dict[str, Case] = {
    "size": Case(4, "--size: 3 and 4"),
    "sample": Case("counts", "--sample: rows and counts", {"sample": "rows"}, counted, "bernoulli(0.5)"),
    "params": Case({"width": 2.0}, "--param: none and width=2.0"),
    "view": Case("round(1)", "--view: output and round(1)"),
    "atol": Case(0.1, "--atol: none and 0.1"),
    "rtol": Case(0.1, "--rtol: none and 0.1"),
    "probe": Case(7, "--probe: 5 and 7", {"view": "predict", "probe": 5}, fitted),
    "resample": Case("split", "--resample: bootstrap and split", **DATA),
    "as_": Case("pandas", "--as: none and pandas", **DATA),
    "randomness": Case("int", "--randomness: Generator and int"),
    "seed": Case(1, "--seed: 0 and 1"),
    "confidence": Case(0.9, "confidence: 0.95 and 0.9"),
    "timeout": Case(60.0, "timeout: None and 60.0"),
    "memory": Case("1G", "--memory: none and "),
    "on_error": Case("bottom", "--on-error: stop and bottom"),
    "fixed": Case(6, "budget: 5 and 6"),
    "inputs": Case({"width": [1.0, 2.0]}, "--param: none and width=1.0"),
    "private": Case("unshared", "--private: shared and unshared", {"private": "shared"}, has_private),
    "family": Case(3, "family: 1 and 3"),
    "rho": Case(0.6, "target: 0.5 and 0.6"),
    "pairs": Case(10, "design: fixed and anytime", without=("fixed",)),
    "no_integrate": Case(True, "integrates: True and False", {"pairs": 100}, finished, "norm", ("fixed",)),
    "baseline": Case(
        BaselineCounts(90, 3), "baseline", {"baseline": BaselineCounts(90, 2), "pairs": 5}, without=("fixed",)
    ),
    "scale": Case(2.0, "--scale: none and 2", {"view": "predict", "probe": 5}, fitted),
    "score": Case("accuracy", "--score: none and accuracy", {"view": "predict", "probe": 5}, fitted, labelled),
    "score_at_least": Case(
        0.3, "score: None and 0.3", {"view": "predict", "probe": 5, "score": "accuracy"}, fitted, labelled
    ),
    "measure": Case("churn", "churn", {"view": "predict", "probe": 5}, fitted, without=("fixed",)),
}
SAME = {
    "rows": "where a line for each row goes",
    "by": "how a report groups rows",
    "ledger": "where it is kept",
    "resume": "that it goes on",
    "jobs": "who runs it: a record does not depend on it",
    "cluster": "who runs it: a record does not depend on it",
    "executor": "who runs it: a record does not depend on it",
    "for_": "how long somebody waits",
    "accept_overlap": "whether a verdict is wanted at all",
    "second_process": "what the preflight looks at: no pair depends on it",
}


def test_every_option_makes_another_audit_or_is_listed_with_the_reason() -> None:
    assert {*OTHERS} | {*SAME} == {*PairsOptions.__struct_fields__}
    assert not {*OTHERS} & {*SAME}


def asked_of(case: Case, table: str) -> tuple[Any, dict[str, Any]]:
    asked = {**QUICK, "size": 3, **case.before}
    if "pairs" in asked:
        del asked["fixed"]
    return (table if case.source == "TABLE" else case.source), asked


@pytest.mark.parametrize("name", OTHERS)
def test_an_audit_with_another_option_is_not_the_one_that_is_there(name: str, table: str, tmp_path: Path) -> None:
    case = OTHERS[name]
    source, asked = asked_of(case, table)
    asked["ledger"] = tmp_path / "audits.sqlite"
    audit(case.subject, source, **asked)
    assert audit(case.subject, source, **asked, resume=True).cost.kept.audit == 1, "itself goes on"
    changed = {key: value for key, value in asked.items() if key not in case.without}
    with pytest.raises(UsageError, match="but the two differ in ") as refused:
        audit(case.subject, source, **{**changed, name: case.value}, resume=True)
    assert case.word in str(refused.value)


def test_other_sources_and_subjects_are_other_audits(table: str, tmp_path: Path) -> None:
    asked = {**QUICK, "size": 3, "ledger": tmp_path / "audits.sqlite"}
    audit(plain, rows, **asked)
    with pytest.raises(UsageError, match=r"--source: .*rows and bernoulli"):
        audit(plain, "bernoulli(0.5)", **asked, resume=True)
    with pytest.raises(UsageError, match=r"has no audit of .*counted"):
        audit(counted, "bernoulli(0.5)", **asked, resume=True)


def test_a_time_to_stop_at_makes_no_other_audit(tmp_path: Path) -> None:
    asked = {"size": 3, "rho": 0.5, "ledger": tmp_path / "audits.sqlite"}
    audit(plain, rows, **asked)
    found = audit(plain, rows, **asked, resume=True, for_="1h")
    assert (found.cost.kept.audit, found.verdict) == (1, "pass")


# Which of several goes on.


ON: dict[str, Any] = {"size": 3, "rho": 0.1, "pairs": 100}


def begun(file: Path, after: int | None, **options: Any) -> Record:
    """A new audit in this ledger that somebody interrupts, or that ends by itself."""
    watch = StopsAfter(after) if after else None
    return carried_out(plain, rows, watch=watch, how=make_run_options(ledger=file), **{**ON, **options})


def audit_that_goes_on(file: Path, **options: Any) -> Any:
    found = carried_out(plain, rows, how=make_run_options(ledger=file, resume=True), **{**ON, **options})
    assert found.cost.kept is not None
    return found.cost.kept.audit


@pytest.mark.parametrize(
    ("ends", "goes_on"),
    [
        ([4, 9, 2], 3),  # of unfinished ones the last that was begun
        ([4, None, None], 1),  # an unfinished one before those that are over
        ([None, 4, None], 2),
        ([4, 9, None], 2),
        ([None, None], 2),
    ],
)
def test_of_several_the_last_unfinished_one_goes_on(ends: list[int | None], goes_on: int, tmp_path: Path) -> None:
    file = tmp_path / "audits.sqlite"
    for after in ends:
        begun(file, after)
    assert audit_that_goes_on(file) == goes_on


def test_of_several_plans_its_own_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "audits.sqlite"
    for seed in (0, 1, 2):
        begun(file, 5, seed=seed)
    assert [audit_that_goes_on(file, seed=seed) for seed in (1, 0, 2)] == [2, 1, 3]


def test_an_audit_that_the_clock_stopped_is_not_over(tmp_path: Path) -> None:
    """It has no verdict in the history, and goes on before one that is over."""
    file, clock = tmp_path / "audits.sqlite", iter(range(1000))
    stopped = carried_out(plain, rows, how=make_run_options(ledger=file, for_=9), now=lambda: float(next(clock)), **ON)
    assert (stopped.decided_by, stopped.verdict) == ("clock", "inconclusive")
    (past,) = read_history(str(file), stopped.subject)
    assert (past.verdict, past.record, past.pairs) == (None, None, stopped.pairs)
    begun(file, None)
    assert [one.verdict for one in read_history(str(file), stopped.subject)] == [None, "pass"]
    assert audit_that_goes_on(file) == 1
    assert [one.verdict for one in read_history(str(file), stopped.subject)] == ["pass", "pass"]


# What of a trial is kept.


def share(sample: Any, r: Any) -> Any:
    """Its predictions on 10 points depend on the first rows."""
    cut = int(sample[:4].sum())

    class Cut:
        def predict(self, x: Any) -> Any:
            return np.arange(len(x)) < cut

    return Cut()


def test_churn_that_was_kept_counts_as_if_nobody_had_interrupted(tmp_path: Path) -> None:
    """The mean, the interval and the median, of pairs that were run before and of those that were run after."""
    asked = {"size": 9, "view": "predict", "probe": 10, "rho": 0.3, "pairs": 80, "question": "churn"}
    whole = carried_out(share, rows, **asked)
    how = make_run_options(ledger=tmp_path / "audits.sqlite")
    assert carried_out(share, rows, watch=StopsAfter(7), how=how, **asked).decided_by == "interrupt"
    resumed = carried_out(share, rows, how=make_run_options(ledger=tmp_path / "audits.sqlite", resume=True), **asked)
    assert whole.measures[0].estimate not in (None, 0.0)
    assert timeless(resumed) == timeless(whole)
    kept = resumed.trials()
    assert np.mean(kept["churn"]) == pytest.approx(whole.measures[0].estimate)


def trials() -> list[Trial]:
    """Every field of a trial with values of each of its kinds."""
    kinds: dict[str, list[Any]] = {
        "index": [0, 7, 10**12],
        "difference": [None, Difference("output['a']", "1", "\u00e9\n'x'")],
        "accurate": [None, True, False],
        "seconds": [0.0, 0.1 + 0.2],
        "churn": [None, 0.0, 1 / 3],
        "bottoms": [(), ("raised ValueError: no",), ("a", "b")],
        "scores": [(), (0.25, None), (1 / 3, -1.0)],
        "predictions": [(), (["labels", ["a", 1], "eJx="], ["numbers", [2], "eJz="])],
        "payload": [None, {"prints": ["a", None], "runs": 3}, [1, 2.5], "text"],
    }
    assert {*kinds} == {*Trial.__struct_fields__}, "a field that is new is kept too"
    plain_trial = {name: values[0] for name, values in kinds.items()}
    each = [{**plain_trial, name: value} for name, values in kinds.items() for value in values]
    all_ = {name: values[-1] for name, values in kinds.items()}
    return [Trial(**{**one, "index": i}) for i, one in enumerate(each)] + [Trial(**{**all_, "index": 10**12})]


def test_every_field_of_a_trial_comes_back(tmp_path: Path) -> None:
    file, wanted = str(tmp_path / "audits.sqlite"), trials()
    begun(Path(file), None)
    with connect(file) as connection:
        with transaction(connection):
            write_trials(connection, 1, [(2, trial) for trial in wanted])
        found = [(cell, trial) for cell, trial in read_trials(connection, 1) if cell == 2]
    assert found == [(2, trial) for trial in wanted]
    assert [type(trial.accurate) for _, trial in found] == [type(trial.accurate) for trial in wanted]
