"""Pairs that are run for advice: what is said of them holds as often as is said, and nothing else knows of them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy.stats import binom
from support.requests import audit

from auditor.flow import run
from auditor.flow.record import Record
from auditor.trials.advice import LEAST, MOST, Advice, advised, wanted_pairs


def seen(gap: float = 0.0, **more: Any) -> dict[str, Any]:
    """What a pair of single numbers shows that are so far apart."""
    numbers = {"gaps": [gap], "grouped": False, "farthest": gap, "relative": gap, "ranges": [[5.0, 5.0 + gap]]}
    named = dict.fromkeys(("regrouped", "reordered", "churn", "kind", "top", "digits"))
    rest = {"differs": gap > 0, "whole": False, "grid": True, "rows": 10, "fewer": None, "fewer gaps": None}
    return {**numbers, **named, **rest, **more}


def made(payloads: list[dict[str, Any]], target: float = 0.1, alpha: float = 0.05) -> Advice:
    found = advised(payloads, target, alpha)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("target", "alpha", "counts"),
    [(0.1, 0.05, (58, 20)), (0.5, 0.05, (20,)), (0.05, 0.05, (118, 20)), (0.001, 0.05, (MOST, 20))],
)
def test_so_many_pairs_are_wanted(target: float, alpha: float, counts: tuple[int, ...]) -> None:
    assert wanted_pairs(target, alpha) == counts


def test_fewer_than_20_pairs_say_nothing() -> None:
    assert advised([seen(1.0)] * (LEAST - 1), 0.1, 0.05) is None
    assert made([seen(1.0)] * LEAST).pairs == LEAST


@pytest.mark.parametrize("alpha", [0.01, 0.05])
@pytest.mark.parametrize("pairs", [20, 58])
def test_the_largest_distance_is_exceeded_as_often_as_is_said(alpha: float, pairs: int) -> None:
    """Whatever the law of distances is, the share beyond the largest of n is that of n uniform numbers: above b with
    probability (1 - b)^n, which is alpha."""
    found = made([seen(float(gap)) for gap in range(1, pairs + 1)], alpha=alpha)
    assert found.largest == pairs
    assert found.beyond is not None
    assert (1 - found.beyond) ** pairs == pytest.approx(alpha)
    assert found.atol is not None
    assert pairs < found.atol <= 1.6 * pairs


@pytest.mark.parametrize("discordant", [1, 5, 12, 30, 58])
def test_more_rows_are_said_to_help_by_chance_in_one_of_100_cases(discordant: int) -> None:
    """All numbers of pairs that differ with fewer rows alone, of those that differ with one number of rows alone."""
    law = 0.0
    for with_fewer in range(discordant + 1):
        both = [*[(False, True)] * with_fewer, *[(True, False)] * (discordant - with_fewer)]
        payloads = [seen(differs=a, fewer=b) for a, b in itertools.chain(both, [(False, False)] * LEAST)]
        fewer = made(payloads).fewer
        assert fewer is not None
        law += float(binom.pmf(with_fewer, discordant, 0.5)) * fewer.more_help
    print(f"{discordant} discordant pairs: {law:.4f} of at most 0.01")
    assert law <= 0.01
    assert law > 0 or discordant < 7


def test_numbers_that_come_nearer_with_more_rows_say_by_how_much() -> None:
    payloads = [seen(0.5, **{"fewer": True, "fewer gaps": [1.0]}) for _ in range(LEAST)]
    assert (found := made(payloads).fewer)
    assert (found.factor, found.more_help, found.mismatches, found.rows) == (2.0, False, LEAST, 10)


@pytest.mark.parametrize(
    ("name", "differing", "expected"), [("regrouped", 0, 0), ("regrouped", 1, None), ("reordered", 0, 0)]
)
def test_what_is_the_same_but_for_names_or_order_must_meet_the_target(
    name: str, differing: int, expected: int | None
) -> None:
    payloads = [seen(1.0, gaps=None, **{name: index < differing}) for index in range(40)]
    assert getattr(made(payloads), name) == expected
    assert getattr(made([*payloads, seen(1.0, gaps=None)]), name) is None, "a pair without labels or order"
    many = [seen(1.0, gaps=None, **{name: index < 2}) for index in range(500)]
    assert getattr(made(many), name) == 2


def test_numbers_of_different_scales_have_a_relative_tolerance_and_few_pairs_no_certain_width() -> None:
    two = [seen(gaps=[0.1, 100.0], farthest=100.0, relative=0.01, ranges=[[5, 6], [900, 1000]]) for _ in range(58)]
    found = made(two)
    assert (found.atol, found.rtol, found.width) == (None, 0.015, None)
    few, enough = made([seen(0.01)] * 20), made([seen(0.01)] * 58)
    assert (few.is_shown, few.width, enough.is_shown) == (False, 0.2, True)
    assert enough.width == 0.2, "(1 - 0.01 / w)^58 = 0.9^58 / 0.05 at w = 0.191"
    assert made([seen(4.0)] * 58).is_useless
    assert made([seen(4.0, whole=True, ranges=[[900, 904]])] * 58).width == 77


def test_rounding_is_named_where_no_pair_differs_and_something_is_left() -> None:
    pairs = [seen(0.001, digits=2)] * 58
    assert made(pairs).digits == 2
    assert made([*pairs, seen(0.3, digits=None)]).digits is None
    assert made([seen(0.001, digits=2)] * 20).digits is None, "too few for the target"
    assert made([seen(0.001, digits=0, ranges=[[-0.2, 0.2]])] * 58).digits is None, "all would be 0"


# In an audit.


def mean(sample: np.ndarray, r: np.random.Generator) -> float:
    return float(sample.mean())


def without_cost(record: Record) -> dict[str, Any]:
    document = record.to_dict()
    rows = [{key: value for key, value in row.items() if key != "seconds"} for row in document["cells"]]
    return {**document, "cells": rows, "cost": None}


def test_nothing_but_the_advice_knows_of_further_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same record for 1, 2 and 8 processes, and but for the advice the same as without it."""
    found = {jobs: audit(mean, "norm", size=20, jobs=jobs) for jobs in (1, 2, 8)}
    assert len({repr(without_cost(one)) for one in found.values()}) == 1
    assert len({repr(one.cost.advice) for one in found.values()}) == 1
    assert (found[1].pairs, found[1].cost.runs) == (2, 4)
    assert found[1].cost.advice is not None
    assert found[1].cost.advice.pairs == 58
    monkeypatch.setattr(run, "wanted_pairs", lambda *_: (10**9,))
    plain = audit(mean, "norm", size=20)
    assert plain.cost.advice is None, "so many would take too long"
    assert without_cost(plain) == without_cost(found[1])


def test_advice_has_pairs_that_no_audit_of_the_same_seed_counts() -> None:
    """The samples of an audit of 60 pairs, and those of the further pairs after a fail."""
    drawn: list[float] = []

    def noted(sample: np.ndarray, r: np.random.Generator) -> float:
        drawn.append(float(sample[0]))
        return drawn[-1]

    assert audit(noted, "norm", size=1, rho=0.9).verdict == "fail"
    further = {*drawn[-2 * LEAST :]}
    drawn.clear()
    audit(noted, "norm", size=1, atol=100.0, fixed=60)
    assert len(further) == 2 * LEAST
    assert not further & {*drawn}


def test_a_run_that_fails_there_harms_nothing() -> None:
    calls = itertools.count()

    def tires(sample: np.ndarray, r: np.random.Generator) -> float:
        if next(calls) > 60:
            raise ValueError("enough")
        return float(sample.mean())

    record = audit(tires, "norm", size=20)
    assert (record.verdict, record.pairs) == ("fail", 2)
    assert record.cost.advice is None or record.cost.advice.pairs < 58


@pytest.mark.parametrize("verdict", ["pass", "expected fail"])
def test_only_a_fail_that_nobody_expected_has_advice(verdict: str) -> None:
    import auditor

    learner = (
        auditor.subject(expect="fail", reason="a raw number")(mean)
        if verdict == "expected fail"
        else lambda sample, r: 3
    )
    record = audit(learner, "norm", size=20)
    assert record.cost.advice is None
    assert msgspec.to_builtins(record.cost)["advice"] is None


def test_a_record_without_numbers_has_no_widths() -> None:
    found = made([seen(1.0, gaps=None, kind="name")] * 58)
    assert (found.largest, found.atol, found.width, found.kind) == (None, None, None, "name")
    assert made([seen(math.inf)] * 58).atol is None


def test_an_interrupt_while_pairs_are_run_for_advice_leaves_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over: list[bool] = []

    def wanted(target: float, alpha: float) -> tuple[int, ...]:
        is_over.append(True)
        return wanted_pairs(target, alpha)

    def interrupted(sample: Any, r: Any) -> float:
        if is_over:
            raise KeyboardInterrupt
        return float(sample.mean())

    monkeypatch.setattr(run, "wanted_pairs", wanted)
    record = audit(interrupted, "uniform", size=20, rho=0.1)
    assert (record.verdict, record.decided_by, is_over, record.cost.advice) == ("fail", "mismatches", [True], None)


class Grown:
    """A model that a function has fitted."""

    def __init__(self, cut: float) -> None:
        self.cut = cut

    def predict(self, rows: Any) -> Any:
        return (np.ravel(rows) > self.cut).astype(int)


def test_a_function_that_returns_a_model_hears_of_its_predictions() -> None:
    """All that a model has fitted is compared, unless the view is of what it predicts."""
    record = audit(lambda sample, r: Grown(float(sample.mean())), "uniform", size=20, rho=0.1)
    assert record.cost.advice is not None
    assert record.cost.advice.kind == "model"
    told = " ".join(str(record).split())
    assert "--view predict compares what it predicts, and --view predict --measure churn asks how many" in told
    of_predictions = audit(lambda sample, r: Grown(float(sample.mean())), "uniform", size=20, rho=0.1, view="predict")
    assert "--view predict compares" not in " ".join(str(of_predictions).split())


def test_a_row_that_changed_in_no_pair_is_not_among_those_that_change_most() -> None:
    """Rows are ranked by half of the pairs and counted in the other; those of two pairs may not change there."""
    rows = np.linspace(0, 1, 60)
    record = audit(lambda X, y: Grown(float(X.mean())), (rows[:, None], rows > 0.5), rho=0.1, view="predict")
    assert record.rows is not None
    assert 0 in [one.pairs for one in record.rows.worst]
    assert "flip in some pair" in str(record)
    assert " in 0 of " not in str(record)
