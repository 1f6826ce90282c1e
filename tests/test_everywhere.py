"""Every question, whoever runs its trials: in process, in workers, on a cluster, and interrupted and resumed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import auditor
from auditor.curve import run_curve
from auditor.engine import make_how
from auditor.price import run_price
from auditor.vary import make_points, parse_axis

pytestmark = pytest.mark.usefixtures("no_second_process")
SUBJECTS = Path(__file__).parent / "subjects"
FIRST_BIT, GOOD_AND_BAD = "algorithms.controls:first_bit", "algorithms.known_answers:good_and_bad"


class Quiet:
    """A watcher of curves and prices that looks away."""

    def planned(self, *what: Any) -> None: ...
    def started(self) -> None: ...
    def advanced(self, *what: Any) -> None: ...
    def asked(self, *what: Any) -> None: ...
    def notice(self, words: str) -> None: ...


def curve(**how: Any) -> Any:
    axis, setups = make_points(FIRST_BIT, parse_axis("p=0.1,0.5"), "bernoulli({p})", {}, None, size=1)
    keywords: dict[str, Any] = {"budget": 200, "confidence": 0.95, "worst": True, "watch": Quiet()}
    return run_curve(axis, setups, how=make_how(**how), **keywords)


def price(**how: Any) -> Any:
    target = f"{SUBJECTS}/priced.py:is_above"
    return run_price(target, None, {}, rho=0.2, pairs=600, watch=Quiet(), how=make_how(**how))


def reuse(**how: Any) -> Any:
    asked: dict[str, Any] = {"analyst": "algorithms.data_reuse:fit_a_vote", "queries": 21, "rho": 0.04, "fixed": 16}
    return auditor.audit_reuse("algorithms.data_reuse:rstat_answer", **asked, **how)


QUESTIONS: dict[str, Callable[..., Any]] = {
    "rho": lambda **how: auditor.audit(FIRST_BIT, "bernoulli(0.2)", size=1, rho=0.4, **how),
    "nu": lambda **how: auditor.audit_profile(GOOD_AND_BAD, eta=0.3, nu=0.3, **how),
    "every rho": lambda **how: auditor.audit_worst(
        FIRST_BIT, ["bernoulli(0.05)", "bernoulli(0.3)"], size=1, rho=0.3, **how
    ),
    "every nu": lambda **how: auditor.audit_worst_profile(
        GOOD_AND_BAD, inputs={"bad": [0.0, 0.9]}, eta=0.3, nu=0.3, **how
    ),
    "private": lambda **how: auditor.audit_private(  # shared it never differs, unshared in half of the pairs
        "algorithms.known_answers:own_coin", params={"q": 1.0}, rho=0.7, **how
    ),
    "loss": lambda **how: auditor.audit_generalisation(
        "algorithms.known_answers:memoriser", loss="algorithms.known_answers:misses", rho=0.3, **how
    ),
    "curve": curve,
    "price": price,
    "reuse": reuse,
}


def timeless(record: Any) -> Any:
    """A record without what may differ: who ran it, and how long that took."""
    if isinstance(record, msgspec.Struct):
        record = msgspec.to_builtins(record)
    if isinstance(record, dict):
        return {name: timeless(part) for name, part in record.items() if name != "cost" and "seconds" not in name}
    return [timeless(part) for part in record] if isinstance(record, list) else record


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_record_does_not_depend_on_who_ran_it(question: str, tmp_path: Path) -> None:
    ask = QUESTIONS[question]
    here = timeless(ask(jobs=1))
    assert timeless(ask(jobs=2)) == here
    ledger = tmp_path / "audits.sqlite"
    assert timeless(ask(jobs=1, ledger=ledger)) == here
    assert timeless(ask(jobs=2, ledger=ledger, resume=True)) == here, "all of it from the ledger"


@pytest.mark.parametrize("question", ["nu", "every rho", "curve"])
def test_nor_on_a_cluster(question: str) -> None:
    ask = QUESTIONS[question]
    state = random.getstate()
    there = timeless(ask(cluster="local:2"))
    random.setstate(state)  # Dask draws from it
    assert there == timeless(ask(jobs=1))


@pytest.mark.parametrize("question", [name for name in QUESTIONS if name != "rho"])
def test_what_was_interrupted_goes_on_where_it_was(
    question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt after the seventh trial: those before it are in the ledger, and are not run again."""
    from auditor.trial import Bench, Trial

    ask, ledger, run, real = QUESTIONS[question], tmp_path / "audits.sqlite", [0], Bench.trial

    def counted(bench: Bench, index: int, *fell: Any) -> Trial:
        run[0] += 1
        if run[0] == 8:
            raise KeyboardInterrupt
        return real(bench, index, *fell)

    monkeypatch.setattr(Bench, "trial", counted)
    cut = timeless(ask(jobs=1, ledger=ledger))
    assert cut.get("interrupted") or cut["decided_by"] == "interrupt"
    before, run[0] = run[0], 100
    resumed = timeless(ask(jobs=1, ledger=ledger, resume=True))
    spent, run[0] = run[0] - 100, 100
    monkeypatch.setattr(Bench, "trial", real)
    whole = timeless(ask(jobs=1))
    assert resumed == whole
    assert before == 8
    assert spent > 0
