"""Each question asked in each way that it can end: the numbers and decisions of its audits are those that are kept.

`tests/support/kept.py` says what is kept in `kept/`, and how it is renewed. What is kept notices changes; other tests
say which numbers are right.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from learners import caused, finished, hunted, predicted
from support.kept import FOLDER, Made, assert_kept, outcome_of
from support.requests import inquiry_of

import auditor
from auditor.errors import SubjectError, UsageError
from auditor.questions.no_worse import BaselineCounts
from auditor.trials.trial import Trial
from auditor.values import Difference

COIN = "bernoulli(0.5)"
APART = Difference("output", "0", "1")
Cases = dict[str, dict[str, Any]]  # what is asked, by name


def differing(*rates: int, judged: bool | None = None) -> Made:
    """Trials by hand: of cell i every `rates[i]`-th differs, none where it is 0."""

    def made(cell: int, index: int) -> Trial:
        rate = rates[cell % len(rates)]
        accurate = None if judged is None else index % 7 != 6
        return Trial(index, APART if rate and index % rate == 0 else None, accurate, 0.0)

    return made


def plain(sample: Any, r: Any, *, q: int = 0) -> int:
    return q


def first_bit(sample: Any, r: Any, *, q: int = 1) -> tuple[int, ...]:
    return tuple(sample[:q].tolist())


def is_right(output: Any, *, source: Any, r: Any, params: Any) -> bool:
    return True


@auditor.subject(source=COIN, size=5, accuracy=is_right, delta=0.2, theorem="Theorem 1", note="a note", claimed=0.25)
def judged(sample: Any, r: Any) -> int:
    return 0


def with_private(sample: Any, r: Any, private: Any) -> int:
    return 0


RHO: Cases = {
    "passes": {"made": differing(0)},
    "fails": {"made": differing(1)},
    "is_undecided": {"made": differing(5), "pairs": 40},
    "is_stopped": {"made": differing(5), "stop": 9},
    "is_fixed": {"made": differing(9), "fixed": 60},
    "is_accurate": {"subject": judged, "source": None, "made": differing(0, judged=True), "rho": 0.25},
    "of_cells": {"inputs": {"q": [0, 1, 2]}, "made": differing(0, 9, 0)},
    "of_cells_fails": {"inputs": {"q": [0, 1, 2]}, "made": differing(0, 2, 0)},
    "of_cells_undecided": {"inputs": {"q": [0, 1, 2]}, "made": differing(5, 6, 0), "pairs": 60},
    "of_cells_stopped": {"inputs": {"q": [0, 1, 2]}, "made": differing(5, 6, 0), "stop": 50},
    "of_cells_fixed": {"inputs": {"q": [0, 1]}, "made": differing(9, 0), "fixed": 60},
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


NU: Cases = {
    "passes": {"made": OfStrings(0, 0, 7)},
    "fails": {"made": OfStrings(1, 6, 7)},
    "is_undecided": {"made": OfStrings(4, 6, 7), "strings": 60},
    "is_stopped": {"made": OfStrings(4, 1, 7), "stop": 21},
    "is_fixed": {"made": OfStrings(40, 3, 7), "fixed": 80},
    "is_fixed_and_fails": {"made": OfStrings(1, 3, 7), "fixed": 80},
    "is_fixed_and_open": {"made": OfStrings(3, 3, 7), "fixed": 80},
    "is_accurate": {"subject": judged, "made": OfStrings(0, 0, 7, 1000), "beta": 0.2},
    "is_inaccurate": {"subject": judged, "made": OfStrings(9, 1, 7, 1), "beta": 0.2},
    "is_inaccurate_fixed": {"subject": judged, "made": OfStrings(9, 1, 7, 1), "beta": 0.2, "fixed": 90},
    "is_open_in_accuracy": {"subject": judged, "made": OfStrings(0, 0, 7, 3), "beta": 0.2, "strings": 90},
    "of_cells": {"inputs": {"q": [0, 1]}, "made": OfStrings(30, 6, 7)},
}


def of_list(*names: str) -> Made:
    """Trials by hand: outputs that come in turn."""

    def made(cell: int, index: int) -> Trial:
        name = names[index % len(names)]
        name = f"{name}{index}" if name == "new" else name
        return Trial(index, None, None, 0.0, payload={"output": name, "shown": f"shown {name}"})

    return made


def of_judged_list(cell: int, index: int) -> Trial:
    return Trial(index, None, index % 3 > 0, 0.0, payload={"output": "a", "shown": "shown a"})


LIST: Cases = {
    "passes": {"made": of_list("a", "b")},
    "fails": {"made": of_list("new")},
    "of_one": {"list_size": 1, "made": of_list("a")},
    "is_undecided": {"made": of_list("a", "b", "a", "c", "b", "a"), "runs": 80},
    "is_stopped": {"made": of_list("a", "b", "c"), "stop": 6},  # when the list is named
    "is_stopped_later": {"made": of_list("a", "b", "c"), "stop": 20},
    "is_fixed": {"made": of_list("a", "a", "a", "a", "a", "a", "a", "a", "new"), "fixed": 90},
    "is_fixed_and_fails": {"made": of_list("a", "b", "c", "d"), "fixed": 90},
    "of_many": {"list_size": 12, "made": of_list(*"abcdefghijkl")},
    "of_cells": {"inputs": {"q": [0, 1]}, "made": of_list("a", "b")},
    "is_inaccurate": {"subject": judged, "made": of_judged_list, "runs": 400},
}


@auditor.subject(
    source="norm", size=40, theorem="Theorem 2", promise=lambda size: 2 / size, bounds={"limit": lambda size: 1 / size}
)
def promising(sample: Any, r: Any, *, width: float = 1.0) -> float:
    return 0.0


def falling(cell: int, index: int) -> Trial:
    """The smaller the rate the larger the cell."""
    return Trial(index, APART if index % (2 + 3 * cell) == 0 else None, None, 0.0)


PROMISING = {"subject": promising, "source": None}
CURVE: Cases = {
    "of_sizes": {**PROMISING, "vary": "size=10,100,1000", "pairs": 600, "made": differing(6, 60, 0)},
    "above": {**PROMISING, "vary": "size=10:1000:log3", "pairs": 400, "made": differing(4, 2, 1)},
    "of_a_parameter": {"vary": "q=0:2:lin3", "size": 5, "pairs": 300, "made": falling},
    "of_the_worst": {"vary": "q=0,1,2", "size": 5, "pairs": 400, "worst": True, "made": falling},
    "is_stopped": {"vary": "q=0,1,2", "size": 5, "pairs": 400, "stop": 40, "made": falling},
    "of_the_worst_stopped": {"vary": "q=0,1,2", "size": 5, "pairs": 400, "worst": True, "stop": 290, "made": falling},
    "of_the_source": {"vary": "p=0.1,0.5", "source": "bernoulli({p})", "size": 5, "pairs": 200, "made": falling},
}


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


PRICE: Cases = {
    "of_two_claims": {"subject": priced, "pairs": 6000},
    "is_bold": {"subject": bold, "pairs": 300},
    "is_scaled": {"subject": scaled, "pairs": 1200, "rho": 0.2},
    "of_nobody": {"subject": falls_with_size, "source": "norm", "rho": 0.2, "pairs": 2500},
    "is_stopped": {"subject": falls_with_size, "source": "norm", "rho": 0.2, "pairs": 2500, "stop": 30},
}


def answers(sample: Any, r: Any, query: Any) -> float:
    return query(sample)


def asks_twice(ask: Callable[..., Any], rng: Any) -> None:
    first = ask(lambda rows: float(rows[0]))
    ask(lambda rows: float(rows[0]) + first)


def asks_one_thing(ask: Callable[..., Any], rng: Any) -> None:
    for i in range(3):
        ask(lambda rows, i=i: i)


REUSE: Cases = {
    "differs": {"analyst": asks_twice, "queries": 2, "rho": 0.1, "fixed": 60},
    "is_the_same": {"analyst": asks_one_thing, "queries": 3, "rho": 0.05, "fixed": 60},
    "is_stopped": {"analyst": asks_twice, "queries": 2, "rho": 0.1, "fixed": 60, "stop": 20},
    "is_hardly_begun": {"analyst": asks_twice, "queries": 2, "rho": 0.1, "fixed": 60, "stop": 3},
}


def of_versions(old: int, new: int, prints: int = 0, elements: Any = None) -> Made:
    """Trials by hand: every so many pairs differ with the old and with the new version, and every so many answers."""

    def made(cell: int, index: int) -> Trial:
        rate = old if cell else new
        other = bool(prints and index % prints == 0 and cell)
        payload = {"prints": ["a", "b" if other else "a"], "elements": elements and elements(cell, index)}
        return Trial(index, APART if rate and index % rate == 0 else None, None, 0.0, payload=payload)

    return made


COMPARE: Cases = {
    "is_worse": {"made": of_versions(0, 2, 3)},
    "is_better": {"made": of_versions(2, 0, 1)},
    "is_the_same": {"made": of_versions(4, 4)},
    "is_undecided": {"made": of_versions(9, 7, 2), "pairs": 90},
    "is_stopped": {"made": of_versions(9, 7, 2), "stop": 25},
    "leans": {"made": of_versions(0, 12, 2), "margin": 0.2},
}


def of_churn(cell: int, index: int) -> Trial:
    churn = (0.0, 0.1, 0.0, 0.3)[index % 4]
    return Trial(index, APART if churn else None, None, 0.0, churn)


PREDICTIONS = {"subject": predicted.fit, "source": predicted.uniform, "view": "predict", "made": of_churn}
ESTIMATE: Cases = {
    "of_nothing": {"made": differing(0)},
    "of_all": {"made": differing(1)},
    "of_some": {"made": differing(8)},
    "is_too_short": {"made": differing(3), "pairs": 60},
    "is_stopped": {"made": differing(3), "stop": 9},
    "of_one": {"made": differing(0), "stop": 1},
    "of_churn": {**PREDICTIONS, "measure": "churn"},
    "of_predictions": {**PREDICTIONS, "half_width": 0.2},
}
CHURN: Cases = {
    "passes": {"rho": 0.3},
    "fails": {"rho": 0.02},
    "is_undecided": {"rho": 0.12, "pairs": 60},
    "is_fixed": {"rho": 0.3, "fixed": 60},
    "of_rho": {"question": "rho", "rho": 0.9},
    "of_rho_undecided": {"question": "rho", "rho": 0.55, "pairs": 30},
}


def squared(output: Any, rows: Any) -> Any:
    return (np.asarray(rows, dtype=float) - output) ** 2


def mean(sample: Any, r: Any) -> float:
    return float(np.mean(sample))


def optimist(sample: Any, r: Any) -> float:
    return float(sample[0])


def all_or_nothing(output: Any, rows: Any) -> Any:
    return np.asarray(rows != output, dtype=float)


LOSS: Cases = {
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


INTEGRATED: Cases = {
    "passes": {"subject": finished.rounded, "rho": 0.4},
    "fails": {"subject": finished.rounded, "rho": 0.05},
    "is_stopped": {"subject": finished.rounded, "rho": 0.2, "stop": 6},
    "by_finishes": {"subject": finished.no_formula, "rho": 0.4},
    "is_contradicted": {"subject": finished.too_sure, "rho": 0.4},
    "of_cells": {"subject": finished.rounded, "rho": 0.4, "inputs": {"width": [0.5, 0.6]}},
}


HUNT: Cases = {
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


EXPLAIN: Cases = {
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


def two_means(sample: Any, r: Any) -> dict[str, float]:
    return {"mean": float(np.mean(sample)), "total": 100 * float(np.mean(sample))}


def is_above(sample: Any, r: Any) -> bool:
    return bool(np.mean(sample) * len(sample) ** 0.5 > 2.0)


def as_bytes(sample: Any, r: Any) -> bytes:
    return bytes(sample.tobytes())


def squares(output: Any, rows: Any) -> Any:
    return np.minimum(1.0, (rows - output) ** 2 / 20)


REPAIR: Cases = {
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


def row(sample: Any, r: Any) -> list[int]:
    return [int(one) for one in sample]


def long_text(sample: Any, r: Any) -> str:
    return "x" * 290 + "".join(str(int(one)) for one in sample)


def kinds(sample: Any, r: Any) -> dict[str, Any]:
    return {"bit": int(sample[0]), "same": 1, "mean": float(np.mean(sample))}


def is_one(output: Any, *, source: Any, r: Any, params: Any) -> bool:
    return bool(output)


@auditor.subject(source=COIN, size=1, accuracy=is_one, delta=0.6)
def judged_bit(sample: Any, r: Any) -> int:
    return int(sample[0])


@auditor.subject(source=COIN, size=1, accuracy=is_one, delta=0.1)
def wrong(sample: Any, r: Any) -> int:
    return 0


def worded(sample: Any, r: Any, query: Any) -> Any:
    return query(sample)


def asks_for_words(ask: Any, rng: Any) -> None:
    said = ask(lambda rows: "up" if rows[0] else 0.5)
    ask(lambda rows: f"{said}{rows[0]}" if rows[1] else 2.5)


NU_OF = {"question": "nu", "eta": 0.3, "nu": 0.3}
LIST_OF = {"question": "list_size", "list_size": 2, "eta": 0.3}
JUDGED = {"subject": judged_bit, "source": None, "size": 1}
REAL: Cases = {  # whose trials are run
    "strings": {"subject": first_bit, **NU_OF, "strings": 30},
    "judged_strings": {**JUDGED, **NU_OF, "beta": 0.3},
    "runs": {"subject": row, **LIST_OF, "runs": 40},
    "judged_runs": {**JUDGED, **LIST_OF},
    "long_runs": {"subject": long_text, **LIST_OF, "runs": 30},
    "versions": {"subject": kinds, "question": "compare", "old": plain, "pairs": 70},
    "elements": {"subject": row, "question": "compare", "old": kinds, "size": 8, "pairs": 70},
    "old_parameters": {"subject": plain, "question": "compare", "old_param": {"q": 3}, "pairs": 70},
    "judged": {**JUDGED, "rho": 0.6},
    "inaccurate": {"subject": wrong, "source": None, "size": 1},
    "words": {"subject": worded, "question": "reuse", "analyst": asks_for_words, "queries": 2, "rho": 0.1, "fixed": 40},
    "wobbles": {"subject": row, "size": 8, "rho": 0.3},
    "close": {"subject": kinds, "size": 8, "rho": 0.3, "atol": 0.2},
    "data": {"subject": row, "source": np.arange(40), "size": 8, "rho": 0.3, "resample": "bootstrap"},
}
HUNT_OF = {"question": "hunt", "over": "bernoulli({p})", "range": "p=0:1", "source": None}
NOTHING: Cases = {  # what is known before the first trial
    "rho": {},
    "cells": {"inputs": {"q": [0, 1]}},
    "judged": {**JUDGED, "size": None},
    "no_worse": {"baseline": BaselineCounts(pairs=500, mismatches=50, margin=0.1)},
    "integrated": {"subject": finished.rounded, "source": "norm", "size": 20},
    "nu": NU_OF,
    "list_size": LIST_OF,
    "curve": {"question": "curve", "vary": "q=0,1"},
    "curve_of_sizes": {"question": "curve", "vary": "size=1,10,100", "size": None, "worst": True},
    "price": {"question": "price", "size": None},
    "estimate": {"question": "estimate"},
    "reuse": {"subject": answers, "question": "reuse", "analyst": asks_twice, "queries": 2, "rho": 0.1},
    "compare": {"question": "compare", "old": row},
    "hunt": {"subject": hunted.majority, **HUNT_OF},
    "explain": {"question": "explain"},
    "repair": {"question": "repair"},
}
COIN_OF = {"source": COIN, "size": 5}
GROUPS: dict[str, tuple[dict[str, Any], Cases]] = {  # what all of a group are asked, and what each is
    "rho": ({"subject": plain, **COIN_OF, "rho": 0.2}, RHO),
    "nu": ({"subject": plain, **COIN_OF, **NU_OF}, NU),
    "list_size": ({"subject": plain, **COIN_OF, "question": "list_size", "list_size": 2, "eta": 0.2}, LIST),
    "curve": ({"subject": plain, "source": COIN, "question": "curve"}, CURVE),
    "price": ({"question": "price"}, PRICE),
    "reuse": ({"subject": answers, **COIN_OF, "question": "reuse"}, REUSE),
    "compare": ({"subject": plain, **COIN_OF, "question": "compare", "old": first_bit}, COMPARE),
    "estimate": ({"subject": plain, **COIN_OF, "question": "estimate"}, ESTIMATE),
    "churn": (
        {
            "subject": predicted.fit,
            "source": predicted.uniform,
            "question": "churn",
            "size": 5,
            "view": "predict",
            "made": of_churn,
        },
        CHURN,
    ),
    "loss": ({"source": COIN, "question": "loss"}, LOSS),
    "integrated": ({"size": 20, "confidence": 0.9}, INTEGRATED),
    "hunt": ({"question": "hunt", "pairs": 400}, HUNT),
    "explain": ({"source": "norm", "question": "explain", "size": 30}, EXPLAIN),
    "repair": ({"source": "norm", "question": "repair", "size": 20}, REPAIR),
    "real": ({"source": COIN, "size": 3}, REAL),
    "nothing": ({"subject": plain, "source": COIN, "size": 3, "stop": -1}, NOTHING),
}


@pytest.mark.parametrize(("group", "name"), [(group, name) for group, (_, cases) in GROUPS.items() for name in cases])
@pytest.mark.usefixtures("few_finishes", "no_other_process")
def test_what_an_audit_decides_and_reports(group: str, name: str) -> None:
    usual, cases = GROUPS[group]
    asked = {option: value for option, value in {**usual, **cases[name]}.items() if value is not None}
    assert_kept(group, name, outcome_of(**asked))


# A subject that fails in a trial.

ENDED: Cases = {
    "rho": COIN_OF,
    "of_cells": {**COIN_OF, "inputs": {"q": [0, 1]}},
    "curve": {**COIN_OF, "question": "curve", "vary": "q=0,1,2", "pairs": 200},
    "price": {"source": COIN, "question": "price", "rho": 0.2},
    "compare": {**COIN_OF, "question": "compare", "old": first_bit},
    "hunt": {**HUNT_OF, "size": 3, "pairs": 300},
    "estimate": {**COIN_OF, "question": "estimate"},
}


def failing(every: int, payload: Any) -> Made:
    def made(cell: int, index: int) -> Trial:
        if cell % every == every - 1:
            raise SubjectError(f"cell {cell} fell")
        return Trial(index, APART if index % 4 == 0 else None, None, 0.0, payload=payload)

    return made


@pytest.mark.parametrize("name", ENDED)
@pytest.mark.parametrize("every", [1, 2])
def test_a_trial_that_fails(name: str, every: int) -> None:
    payload = {"prints": ["a", "a"], "elements": None} if name == "compare" else None
    try:
        told = outcome_of(plain, **ENDED[name], made=failing(every, payload))
    except SubjectError as error:
        told = f"{type(error).__name__} {error}\n"
    assert_kept("ended", f"{name}_{every}", told)


@pytest.mark.parametrize("name", [name for name in ENDED if name != "hunt"])  # some of a hunt's sources may be none
def test_a_fault_of_usage_ends_it(name: str) -> None:
    with pytest.raises(UsageError, match="typed wrongly"):
        inquiry_of(plain, **ENDED[name]).failed(0, UsageError("typed wrongly"))


def test_every_kept_text_has_its_audit() -> None:
    texts = {path.stem: re.findall(r"^== (.*)$", path.read_text(), re.MULTILINE) for path in FOLDER.glob("*.txt")}
    audits = {group: sorted(cases) for group, (_, cases) in GROUPS.items()}
    audits["ended"] = sorted(f"{name}_{every}" for name in ENDED for every in (1, 2))
    assert {group: names for group, names in texts.items() if group not in ("again", "other")} == audits
