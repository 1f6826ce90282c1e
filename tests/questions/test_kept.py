"""Every question told once from its settling to its report, to the letter: what it wants to run, what it says on the
way, its verdict, record, tables and charts.

The texts are in `kept/`. `KEEP=1 python -m pytest tests/questions/test_kept.py` writes them anew, and what changed in
them is what changed for a reader.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learners import caused, finished, hunted, predicted
from support.records import Made, assert_kept, narrated

import auditor
from auditor.questions.no_worse import BaselineCounts
from auditor.trials.trial import Trial
from auditor.values import Difference

KEPT = Path(__file__).parent / "kept"
COIN = "bernoulli(0.5)"
APART = Difference("output", "0", "1")


def differing(*rates: int, judged: bool | None = None) -> Made:
    """Trials by hand: of cell i every `rates[i]`-th differs, none where it is 0."""

    def made(cell: int, index: int) -> Trial:
        rate = rates[cell % len(rates)]
        accurate = None if judged is None else index % 7 != 6
        return Trial(index, APART if rate and index % rate == 0 else None, accurate, 0.0)

    return made


def plain(sample: Any, r: Any, *, q: int = 0) -> int:
    return 0


def first_bit(sample: Any, r: Any, *, q: int = 1) -> tuple[int, ...]:
    return tuple(sample[:q].tolist())


def is_right(output: Any, *, source: Any, r: Any, params: Any) -> bool:
    return True


@auditor.subject(source=COIN, size=5, accuracy=is_right, delta=0.2, theorem="Theorem 1", note="a note", claimed=0.25)
def judged(sample: Any, r: Any) -> int:
    return 0


def with_private(sample: Any, r: Any, private: Any) -> int:
    return 0


RHO: dict[str, dict[str, Any]] = {
    "passes": {"made": differing(0)},
    "fails": {"made": differing(1)},
    "is_undecided": {"made": differing(5), "pairs": 40},
    "is_stopped": {"made": differing(5), "stop": 9},
    "is_fixed": {"made": differing(9), "fixed": 60},
    "is_accurate": {"subject": judged, "made": differing(0, judged=True), "rho": 0.25},
    "of_arms": {"inputs": {"q": [0, 1, 2]}, "made": differing(0, 9, 0)},
    "of_arms_fails": {"inputs": {"q": [0, 1, 2]}, "made": differing(0, 2, 0)},
    "of_arms_undecided": {"inputs": {"q": [0, 1, 2]}, "made": differing(5, 6, 0), "pairs": 60},
    "of_arms_stopped": {"inputs": {"q": [0, 1, 2]}, "made": differing(5, 6, 0), "stop": 50},
    "of_arms_fixed": {"inputs": {"q": [0, 1]}, "made": differing(9, 0), "fixed": 60},
    "of_sources": {"source": [COIN, "bernoulli(0.1)"], "made": differing(0)},
    "of_private": {"subject": with_private, "made": differing(0)},
    "of_private_apart": {"subject": with_private, "made": differing(1, 0)},
    "of_private_wrong": {"subject": with_private, "made": differing(0, 1)},
    "of_private_undecided": {"subject": with_private, "made": differing(4, 5), "pairs": 50},
    "no_worse": {"baseline": BaselineCounts(pairs=500, mismatches=50, margin=0.1), "made": differing(10), "pairs": 200},
    "is_worse": {"baseline": BaselineCounts(pairs=500, mismatches=50, margin=0.1), "made": differing(2)},
    "no_worse_open": {
        "baseline": BaselineCounts(pairs=50, mismatches=5, margin=0.1),
        "made": differing(5),
        "pairs": 60,
    },
}


@pytest.mark.parametrize("name", RHO)
def test_rho(name: str) -> None:
    asked = {"subject": plain, "source": COIN, "size": 5, "rho": 0.2, **RHO[name]}
    if asked["subject"] is judged:
        del asked["source"]
    assert_kept(narrated(**asked), KEPT / f"rho_{name}.txt")


# Strings: what each run of a string gives is what its number says.


class OfStrings:
    """Trials by hand: in every `rate`-th string so many of its runs are outside."""

    def __init__(self, rate: int, outside: int, runs: int, wrong: int = 0) -> None:
        self.rate, self.outside, self.runs, self.wrong = rate, outside, runs, wrong

    def __call__(self, cell: int, index: int) -> Trial:
        bad = self.outside if self.rate and index % self.rate == 0 else 0
        which = [*range(1, bad + 1), *[0] * (self.runs - bad)]
        numbers = {name: i for i, name in enumerate(dict.fromkeys(which))}
        which = [numbers[one] for one in which]
        shown = {str(one): f"output {one}" for one in sorted({*which}, key=lambda one: -which.count(one))[:5]}
        accurate = None if not self.wrong else index % self.wrong != 0
        return Trial(index, APART if which[0] != which[1] else None, accurate, 0.0, payload=[which, shown])


NU: dict[str, dict[str, Any]] = {
    "passes": {"made": OfStrings(0, 0, 7)},
    "fails": {"made": OfStrings(1, 6, 7)},
    "is_undecided": {"made": OfStrings(4, 6, 7), "strings": 60},
    "is_stopped": {"made": OfStrings(4, 1, 7), "stop": 21},
    "is_fixed": {"made": OfStrings(40, 3, 7), "fixed": 80},
    "is_fixed_and_fails": {"made": OfStrings(1, 3, 7), "fixed": 80},
    "is_fixed_and_open": {"made": OfStrings(3, 3, 7), "fixed": 80},
    "is_accurate": {"subject": "judged", "made": OfStrings(0, 0, 7, 1000), "beta": 0.2},
    "is_inaccurate": {"subject": "judged", "made": OfStrings(9, 1, 7, 1), "beta": 0.2},
    "is_inaccurate_fixed": {"subject": "judged", "made": OfStrings(9, 1, 7, 1), "beta": 0.2, "fixed": 90},
    "is_open_in_accuracy": {"subject": "judged", "made": OfStrings(0, 0, 7, 3), "beta": 0.2, "strings": 90},
    "of_arms": {"inputs": {"q": [0, 1]}, "made": OfStrings(30, 6, 7)},
}


@pytest.mark.parametrize("name", NU)
def test_nu(name: str) -> None:
    asked = {"subject": plain, "source": COIN, "question": "nu", "size": 5, "eta": 0.3, "nu": 0.3, **NU[name]}
    if asked["subject"] == "judged":
        asked["subject"] = judged
    assert_kept(narrated(**asked), KEPT / f"nu_{name}.txt")


def of_list(*names: str) -> Made:
    """Trials by hand: outputs that come in turn."""

    def made(cell: int, index: int) -> Trial:
        name = names[index % len(names)]
        name = f"{name}{index}" if name == "new" else name
        return Trial(index, None, None, 0.0, payload={"output": name, "shown": f"shown {name}"})

    return made


def of_judged_list(cell: int, index: int) -> Trial:
    return Trial(index, None, index % 3 > 0, 0.0, payload={"output": "a", "shown": "shown a"})


LIST: dict[str, dict[str, Any]] = {
    "passes": {"made": of_list("a", "b")},
    "fails": {"made": of_list("new")},
    "of_one": {"list_size": 1, "made": of_list("a")},
    "is_undecided": {"made": of_list("a", "b", "a", "c", "b", "a"), "runs": 80},
    "is_stopped": {"made": of_list("a", "b", "c"), "stop": 3},
    "is_stopped_later": {"made": of_list("a", "b", "c"), "stop": 20},
    "is_fixed": {"made": of_list("a", "a", "a", "a", "a", "a", "a", "a", "new"), "fixed": 90},
    "is_fixed_and_fails": {"made": of_list("a", "b", "c", "d"), "fixed": 90},
    "of_many": {"list_size": 12, "made": of_list(*"abcdefghijkl")},
    "of_arms": {"inputs": {"q": [0, 1]}, "made": of_list("a", "b")},
    "is_inaccurate": {"subject": "judged", "made": of_judged_list, "runs": 400},
}


@pytest.mark.parametrize("name", LIST)
def test_list(name: str) -> None:
    asked = {
        "subject": plain,
        "source": COIN,
        "question": "list_size",
        "size": 5,
        "list_size": 2,
        "eta": 0.2,
        **LIST[name],
    }
    if asked["subject"] == "judged":
        asked["subject"] = judged
    assert_kept(narrated(**asked), KEPT / f"list_{name}.txt")


@auditor.subject(
    source="norm", size=40, theorem="Theorem 2", promise=lambda size: 2 / size, bounds={"limit": lambda size: 1 / size}
)
def promising(sample: Any, r: Any, *, width: float = 1.0) -> float:
    return 0.0


def falling(cell: int, index: int) -> Trial:
    """The smaller the rate the larger the cell."""
    return Trial(index, APART if index % (2 + 3 * cell) == 0 else None, None, 0.0)


CURVE: dict[str, dict[str, Any]] = {
    "of_sizes": {"subject": promising, "vary": "size=10,100,1000", "pairs": 600, "made": differing(6, 60, 0)},
    "above": {"subject": promising, "vary": "size=10:1000:log3", "pairs": 400, "made": differing(4, 2, 1)},
    "of_a_parameter": {"vary": "q=0:2:lin3", "size": 5, "pairs": 300, "made": falling},
    "of_the_worst": {"vary": "q=0,1,2", "size": 5, "pairs": 400, "worst": True, "made": falling},
    "is_stopped": {"vary": "q=0,1,2", "size": 5, "pairs": 400, "stop": 40, "made": falling},
    "of_the_worst_stopped": {"vary": "q=0,1,2", "size": 5, "pairs": 400, "worst": True, "stop": 290, "made": falling},
    "of_the_source": {"vary": "p=0.1,0.5", "source": "bernoulli({p})", "size": 5, "pairs": 200, "made": falling},
}


@pytest.mark.parametrize("name", CURVE)
def test_curve(name: str) -> None:
    asked = {"subject": plain, "source": COIN, "question": "curve", **CURVE[name]}
    if asked["subject"] is promising:
        del asked["source"]
    assert_kept(narrated(**asked), KEPT / f"curve_{name}.txt")


@auditor.subject(
    source="norm",
    size=100,
    theorem="Theorem 3",
    claimed=0.2,
    delta=0.1,
    accuracy=is_right,
    plain=50,
    bounds={"limit": lambda size: 4 / size, "silent": lambda size: None},
)
def priced(sample: Any, r: Any) -> Any:
    n = len(sample)
    return float(sample[0]) if r.random() < 10 / n else 0.0


@auditor.subject(source="norm", size=20, theorem="Theorem 4")
def bold(sample: Any, r: Any) -> float:
    return float(sample[0])


def up_to_forty(sample_scale: float) -> int:
    if sample_scale > 2:
        raise ValueError(f"sample_scale={sample_scale!r} must be at most 2")
    return max(1, round(20 * sample_scale))


@auditor.subject(source=COIN, sample="counts", size=up_to_forty, theorem="Theorem 5")
def scaled(sample: auditor.Sample, r: Any, *, sample_scale: float = 1.0) -> float:
    return float(r.random() < 0.01 and sample.take(up_to_forty(sample_scale)).mean())


def falls_with_size(sample: Any, r: Any) -> float:
    return float(sample[0]) if r.random() < 3 / len(sample) else 0.0


PRICE: dict[str, dict[str, Any]] = {
    "of_two_claims": {"subject": priced, "pairs": 6000},
    "is_bold": {"subject": bold, "pairs": 300},
    "is_scaled": {"subject": scaled, "pairs": 1200, "rho": 0.2},
    "of_nobody": {"subject": falls_with_size, "source": "norm", "rho": 0.2, "pairs": 2500},
    "is_stopped": {"subject": falls_with_size, "source": "norm", "rho": 0.2, "pairs": 2500, "stop": 30},
}


@pytest.mark.parametrize("name", PRICE)
def test_price(name: str) -> None:
    assert_kept(narrated(**{"question": "price", **PRICE[name]}), KEPT / f"price_{name}.txt")


def answers(sample: Any, r: Any, query: Any) -> float:
    return query(sample)


def asks_twice(ask: Callable[..., Any], rng: Any) -> None:
    first = ask(lambda rows: float(rows[0]))
    ask(lambda rows: float(rows[0]) + first)


def asks_one_thing(ask: Callable[..., Any], rng: Any) -> None:
    for i in range(3):
        ask(lambda rows, i=i: i)


REUSE: dict[str, dict[str, Any]] = {
    "differs": {"analyst": asks_twice, "queries": 2, "rho": 0.1, "fixed": 60},
    "is_the_same": {"analyst": asks_one_thing, "queries": 3, "rho": 0.05, "fixed": 60},
    "is_stopped": {"analyst": asks_twice, "queries": 2, "rho": 0.1, "fixed": 60, "stop": 20},
    "is_hardly_begun": {"analyst": asks_twice, "queries": 2, "rho": 0.1, "fixed": 60, "stop": 3},
}


@pytest.mark.parametrize("name", REUSE)
def test_reuse(name: str) -> None:
    asked = {"subject": answers, "source": COIN, "question": "reuse", "size": 5, **REUSE[name]}
    assert_kept(narrated(**asked), KEPT / f"reuse_{name}.txt")


def of_versions(old: int, new: int, prints: int = 0, elements: Any = None) -> Made:
    """Trials by hand: every so many pairs differ with the old and with the new version, and every so many answers."""

    def made(cell: int, index: int) -> Trial:
        rate = old if cell else new
        other = bool(prints and index % prints == 0 and cell)
        payload = {"prints": ["a", "b" if other else "a"], "elements": elements and elements(cell, index)}
        return Trial(index, APART if rate and index % rate == 0 else None, None, 0.0, payload=payload)

    return made


COMPARE: dict[str, dict[str, Any]] = {
    "is_worse": {"made": of_versions(0, 2, 3)},
    "is_better": {"made": of_versions(2, 0, 1)},
    "is_the_same": {"made": of_versions(4, 4)},
    "is_undecided": {"made": of_versions(9, 7, 2), "pairs": 90},
    "is_stopped": {"made": of_versions(9, 7, 2), "stop": 25},
    "leans": {"made": of_versions(0, 12, 2), "margin": 0.2},
}


@pytest.mark.parametrize("name", COMPARE)
def test_compare(name: str) -> None:
    asked = {"subject": plain, "source": COIN, "question": "compare", "size": 5, "old": first_bit, **COMPARE[name]}
    assert_kept(narrated(**asked), KEPT / f"compare_{name}.txt")


def of_churn(cell: int, index: int) -> Trial:
    churn = (0.0, 0.1, 0.0, 0.3)[index % 4]
    return Trial(index, APART if churn else None, None, 0.0, churn)


CHURN: dict[str, dict[str, Any]] = {
    "passes": {"rho": 0.3},
    "fails": {"rho": 0.02},
    "is_undecided": {"rho": 0.12, "pairs": 60},
    "is_fixed": {"rho": 0.3, "fixed": 60},
    "of_rho": {"question": "rho", "rho": 0.9},
    "of_rho_undecided": {"question": "rho", "rho": 0.55, "pairs": 30},
}


@pytest.mark.parametrize("name", CHURN)
def test_churn(name: str) -> None:
    asked = {"subject": predicted.fit, "source": predicted.uniform, "question": "churn", "size": 5, "view": "predict"}
    assert_kept(narrated(**{**asked, "made": of_churn, **CHURN[name]}), KEPT / f"churn_{name}.txt")


def squared(output: Any, rows: Any) -> Any:
    return (np.asarray(rows, dtype=float) - output) ** 2


def mean(sample: Any, r: Any) -> float:
    return float(np.mean(sample))


def optimist(sample: Any, r: Any) -> float:
    return float(sample[0])


def all_or_nothing(output: Any, rows: Any) -> Any:
    return np.asarray(rows != output, dtype=float)


LOSS: dict[str, dict[str, Any]] = {
    "holds": {"subject": optimist, "loss": all_or_nothing, "delta": 0.3, "rho": 0.6, "size": 3, "pairs": 80},
    "breaks": {"subject": optimist, "loss": all_or_nothing, "delta": 0.9, "rho": 0.02, "size": 1, "pairs": 150},
    "is_measured": {
        "subject": mean,
        "source": "uniform",
        "loss": squared,
        "delta": 0.1,
        "rho": 0.3,
        "size": 6,
        "fixed": 15,
    },
}


@pytest.mark.parametrize("name", LOSS)
def test_loss(name: str) -> None:
    assert_kept(narrated(**{"source": COIN, "question": "loss", **LOSS[name]}), KEPT / f"loss_{name}.txt")


INTEGRATED: dict[str, dict[str, Any]] = {
    "passes": {"subject": finished.rounded, "rho": 0.4},
    "fails": {"subject": finished.rounded, "rho": 0.05},
    "is_stopped": {"subject": finished.rounded, "rho": 0.2, "stop": 6},
    "by_finishes": {"subject": finished.no_formula, "rho": 0.4},
    "is_contradicted": {"subject": finished.too_sure, "rho": 0.4},
    "of_arms": {"subject": finished.rounded, "rho": 0.4, "inputs": {"width": [0.5, 0.6]}},
}


@pytest.mark.parametrize("name", INTEGRATED)
@pytest.mark.usefixtures("few_finishes")
def test_integrated(name: str) -> None:
    asked = {"size": 20, "confidence": 0.9, **INTEGRATED[name]}
    assert_kept(narrated(**asked), KEPT / f"integrated_{name}.txt")


HUNT: dict[str, dict[str, Any]] = {
    "finds": {"subject": hunted.majority, "over": "bernoulli({p})", "range": "p=0:1", "size": 11},
    "finds_nothing": {"subject": hunted.spiked, "over": COIN, "range": "x=0:0.5", "size": 3},
    "finds_faults": {"subject": hunted.fussy, "over": COIN, "range": "x=0:1", "size": 3},
    "is_a_pass": {"subject": hunted.spiked, "over": COIN, "range": "x=0:0.5", "size": 3, "accept_search": True},
    "of_two": {"subject": hunted.spiked, "over": "bernoulli({p})", "range": ["x=0:0.5", "p=0.01:1:log"], "size": 3},
    "of_simplex": {"subject": hunted.majority, "over": "simplex(3)", "size": 3},
    "of_sizes": {"subject": hunted.majority, "over": COIN, "range": "size=1:40"},
    "of_mixture": {"subject": hunted.majority, "over": "mixture(bernoulli(0.1), bernoulli(0.9))", "size": 3},
    "is_stopped": {"subject": hunted.majority, "over": "bernoulli({p})", "range": "p=0:1", "size": 11, "stop": 60},
}


@pytest.mark.parametrize("name", HUNT)
def test_hunt(name: str) -> None:
    assert_kept(narrated(**{"question": "hunt", "pairs": 400, **HUNT[name]}), KEPT / f"hunt_{name}.txt")


EXPLAIN: dict[str, dict[str, Any]] = {
    "a_mean": {"subject": caused.raw_mean},
    "a_summary": {"subject": caused.summary},
    "an_order": {"subject": caused.most_common_first, "source": "randint(0, 5)"},
    "labels": {"subject": caused.groups_in_order_of_appearance, "source": "uniform"},
    "rows": {"subject": caused.first_row},
    "a_desync": {"subject": caused.redraws},
    "r_unused": {"subject": caused.is_above},
    "too_little": {"subject": caused.one_digit},
    "nothing": {"subject": caused.threshold_from_r},
    "memory": {"subject": caused.keeps_the_first},
    "data": {"subject": caused.raw_mean, "source": np.arange(60) % 7 / 3, "resample": "bootstrap"},
}


@pytest.mark.parametrize("name", EXPLAIN)
@pytest.mark.usefixtures("no_other_process")
def test_explain(name: str) -> None:
    asked = {"source": "norm", "question": "explain", "size": 30, **EXPLAIN[name]}
    assert_kept(narrated(**asked), KEPT / f"explain_{name}.txt")


def two_means(sample: Any, r: Any) -> dict[str, float]:
    return {"mean": float(np.mean(sample)), "total": 100 * float(np.mean(sample))}


def is_above(sample: Any, r: Any) -> bool:
    return bool(np.mean(sample) * len(sample) ** 0.5 > 2.0)


def as_bytes(sample: Any, r: Any) -> bytes:
    return bytes(sample.tobytes())


def squares(output: Any, rows: Any) -> Any:
    return np.minimum(1.0, (rows - output) ** 2 / 20)


REPAIR: dict[str, dict[str, Any]] = {
    "a_mean": {"subject": mean, "rho": 0.5},
    "a_price": {"subject": mean, "rho": 0.5, "loss": squares},
    "two": {"subject": two_means, "rho": 0.5},
    "a_bit": {"subject": is_above, "source": "norm(0.1)", "rho": 0.3},
    "given": {"subject": mean, "rho": 0.5, "with_": "rounded(width=2.0)"},
    "given_too_little": {"subject": mean, "rho": 0.1, "with_": "rounded(width=0.01)"},
    "nothing": {"subject": as_bytes, "rho": 0.3},
    "what_needs_none": {"subject": plain, "rho": 0.3},
    "draws": {"subject": caused.redraws, "rho": 0.3},
}


@pytest.mark.parametrize("name", REPAIR)
@pytest.mark.usefixtures("few_finishes")
def test_repair(name: str) -> None:
    asked = {"source": "norm", "question": "repair", "size": 20, **REPAIR[name]}
    assert_kept(narrated(**asked), KEPT / f"repair_{name}.txt")
