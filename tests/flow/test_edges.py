"""The edges of plans, verdicts, records and ledgers, exactly: boundaries, defaults, and every word of a sentence."""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from support.requests import StopsAfter, audit, carried_out, case_of_first, cell_of, inquiry_of, request_of

import auditor
from auditor.engine.engine import RunOptions, Serial
from auditor.errors import AuditorError, BadValue, SubjectError, UsageError
from auditor.flow import fitness, ledger, ledger_file, question, record, run, verdict
from auditor.flow.question import make_request
from auditor.flow.verdict import Plan, Tally, Verdict, least_budget, least_pairs, make_plan
from auditor.lookup import CHECK
from auditor.questions import judgement
from auditor.questions.judgement import Judged
from auditor.sources.source import load_source
from auditor.statistics.gate import Gate, pass_boundary
from auditor.statistics.interval import BOUNDS, MeanEvidence
from auditor.statistics.nu import NuGate
from auditor.trials.fresh_rows import AT_TIMES, DECLARED
from auditor.trials.trial import RunFailed, Trial
from auditor.values import Difference, elements


def constant(sample: Any, r: Any) -> int:
    return 1


def coin(sample: Any, r: Any, *, p: float = 0.5) -> bool:
    return bool(sample[0] > 0)


def no_loss(output: Any, rows: Any) -> Any:
    return 0 * rows


# plans


def made(**asked: Any) -> Plan:
    """A plan of these options, and with these fields."""
    options = ("target", "confidence", "pairs", "fixed", "delta", "gates")
    first = make_plan(**{"target": 0.1, **{name: value for name, value in asked.items() if name in options}})
    return replace(first, **{name: value for name, value in asked.items() if name not in options})


def test_a_plan_that_says_nothing_is_of_pairs_of_one_cell() -> None:
    found = msgspec.structs.asdict(Plan(0.1, 0.95, "anytime", 1000))
    assert found == {
        "target": 0.1,
        "confidence": 0.95,
        "design": "anytime",
        "budget": 1000,
        "delta": None,
        "gates": "rho",
        "runs": 2,
        "unit": "pairs",
        "cells": 1,
        "eta": None,
        "first_budget": None,
        "family": 1,
        "named": 0,
        "integrates": False,
        "extends": True,
        "apart": "",
        "score": None,
        "stated": None,
    }
    assert found == msgspec.structs.asdict(made())
    assert (verdict.DEFAULT_TARGET, verdict.PAIRS_TIMES_TARGET, verdict.MAX_PAIRS) == (0.1, 100, 10**12)


@pytest.mark.parametrize(
    ("fields", "gate"),
    [
        ({}, Gate(0.1, 0.05, budget=1000)),
        ({"first_budget": 300}, Gate(0.1, 0.05, budget=300)),
        ({"family": 3, "cells": 4}, Gate(0.1, 0.05, budget=1000, family=12)),
        ({"gates": "churn"}, Gate(0.1, 0.05, budget=None)),
        ({"integrates": True}, Gate(0.1, 0.05, budget=None, kept=0.1)),
        ({"delta": 0.2, "confidence": 0.9}, Gate(0.1, 0.1, budget=1000, delta=0.2)),
    ],
)
def test_the_gate_of_a_plan_has_its_shares(fields: dict[str, Any], gate: Gate) -> None:
    found = made(**fields).gate
    names = ("target", "alpha_pass", "alpha_fail")
    assert [getattr(found, name) for name in names] == [getattr(gate, name) for name in names]
    for n, k in ((29, 0), (33, 0), (36, 0), (2, 2), (5, 4), (64, 1), (20, 10)):
        assert (found.is_pass(n, k), found.is_fail(n, k)) == (gate.is_pass(n, k), gate.is_fail(n, k))


@pytest.mark.parametrize(
    ("fields", "share"),
    [
        ({}, 0.05),
        ({"delta": 0.1}, 0.025),
        ({"family": 5}, 0.01),
        ({"cells": 2}, 0.025),
        ({"family": 5, "cells": 2}, 0.005),
    ],
)
def test_the_gate_on_nu_has_its_shares(fields: dict[str, Any], share: float) -> None:
    assert made().nu_gate is None
    found, runs = made(eta=0.3, runs=7, **fields).nu_gate, 7
    gate = NuGate(0.3, 0.1, runs, alpha_pass=0.05, alpha_fail=share)
    assert found is not None
    assert vars(found) == vars(gate)
    assert made(eta=0.3, runs=7).least_trials == gate.least_strings(7)


def test_what_each_cell_needs_for_all_to_hold_together() -> None:
    assert (made().each, made(confidence=0.57).each) == (0.95, 0.57)
    assert made(cells=5).each == pytest.approx(0.99, abs=1e-15)
    assert made(cells=2).each == pytest.approx(0.975, abs=1e-15)


def test_what_a_spotless_subject_costs() -> None:
    assert made().least_trials == pass_boundary(0.1, 0.05, 1000)[0] == 33
    assert made(cells=4).least_trials == 4 * pass_boundary(0.1, 0.05, 250)[0]
    assert made(first_budget=300).least_trials == pass_boundary(0.1, 0.05, 300)[0]
    assert made(named=7, cells=2).least_trials == 2 * (7 + pass_boundary(0.1, 0.05, 500)[0])
    assert made(gates="churn").least_trials == pass_boundary(0.1, 0.05)[0] == 36
    assert made(integrates=True).least_trials == 36
    assert made(fixed=77).least_trials == 77
    assert made(design="search", budget=55).least_trials == 55
    assert replace(made(), target=None).least_trials == 1000
    assert (made().least_integrated, replace(made(), target=None).least_integrated) == (36, 0)


@pytest.mark.parametrize(
    ("target", "alpha"), [(0.1, 0.05), (0.3, 0.05), (0.05, 0.01), (0.5, 0.001), (0.02, 0.1), (0.001, 0.49)]
)
def test_the_least_budget_is_the_least_that_passes(target: float, alpha: float) -> None:
    least = least_budget(target, alpha)
    assert pass_boundary(target, alpha, least)[0] <= least
    assert pass_boundary(target, alpha, least - 1)[0] > least - 1
    assert least <= pass_boundary(target, alpha)[0]
    fixed = least_pairs(target, alpha, "fixed")
    assert (1 - target) ** fixed <= alpha < (1 - target) ** (fixed - 1)
    assert least_pairs(target, alpha, "anytime") == pass_boundary(target, alpha)[0]
    assert least_pairs(target, alpha, "anytime", 500) == pass_boundary(target, alpha, 500)[0]


def test_beyond_what_has_calibrated_threshold_the_least_budget_is_that_of_the_sequence() -> None:
    assert least_budget(1e-5, 0.05) == pass_boundary(1e-5, 0.05)[0]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"target": True}, "rho=True must be in (0, 1): the mismatch probability you accept, e.g. 0.1"),
        ({"target": "0.1"}, "rho='0.1' must be in (0, 1): the mismatch probability you accept, e.g. 0.1"),
        ({"target": 1.0}, "rho=1.0 must be in (0, 1): the mismatch probability you accept, e.g. 0.1"),
        ({"target": math.nan}, "rho=nan must be in (0, 1): the mismatch probability you accept, e.g. 0.1"),
        ({"target": 0.0}, "rho=0.0 must be in (0, 1): the mismatch probability you accept, e.g. 0.1"),
        ({"target": 9e-11}, "rho=9e-11 would take more than 1e+12 pairs, which no audit finishes"),
        ({"confidence": 0.5}, "confidence=0.5 must be above 0.5: a coin says as much; use e.g. 0.95"),
        ({"confidence": 0.3}, "confidence=0.3 must be above 0.5: a coin says as much; use e.g. 0.95"),
        ({"confidence": 0}, "confidence=0 must be in (0, 1): how sure the verdict must be, e.g. 0.95"),
        ({"confidence": 1 - 2e-16}, "confidence=0.9999999999999998 is 1 to 15 digits: use e.g. 0.999999"),
        ({"delta": -1e-9}, "delta=-1e-09 must be in [0, 1): the share of runs that may be inaccurate, e.g. 0.05"),
        ({"delta": "small"}, "delta='small' must be in [0, 1): the share of runs that may be inaccurate, e.g. 0.05"),
        ({"confidence": 1}, "confidence=1 must be in (0, 1): how sure the verdict must be, e.g. 0.95"),
        ({"delta": 1}, "delta=1 must be in [0, 1): the share of runs that may be inaccurate, e.g. 0.05"),
        ({"pairs": 0}, "pairs=0 must be an integer of at least 1, e.g. 1000"),
        ({"fixed": 0}, "fixed=0 must be an integer of at least 1, e.g. 1000"),
        ({"pairs": 10**12 + 1}, "pairs=1000000000001 is more than 1e+12 pairs, which no audit finishes: ask for fewer"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_plan_that_cannot_be_is_refused_to_the_word(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(BadValue) as refused:
        make_plan(**{"target": 0.1, **asked})
    assert str(refused.value) == words
    assert refused.value.as_option().startswith(f"--{refused.value.name} {refused.value.value} ")


@pytest.mark.parametrize(
    ("asked", "enough"),
    [
        ({"pairs": 28}, 29),
        ({"fixed": 28}, 29),
        ({"pairs": 35, "gates": "churn"}, 36),  # which has the sequence alone, in either design
        ({"fixed": 35, "gates": "churn"}, 36),
        ({"pairs": 149, "target": 0.02}, 150),  # a calibrated gate takes one more than a fixed number
        ({"fixed": 148, "target": 0.02}, 149),
        ({"pairs": 182, "target": 0.02, "gates": "churn"}, 183),
    ],
    ids=str,
)
def test_a_budget_that_cannot_decide_is_refused_with_the_least_that_can(asked: dict[str, Any], enough: int) -> None:
    given = {"target": 0.1, **asked}
    ((option, budget),) = ((name, value) for name, value in asked.items() if name in ("pairs", "fixed"))
    with pytest.raises(BadValue) as refused:
        make_plan(**given)
    words = f"{option}={budget} cannot decide {given.get('gates', 'rho')} {given['target']:g} at 95 % confidence: even "
    assert str(refused.value) == f"{words}without a mismatch it takes {enough} pairs; use --{option} {enough} or more"
    assert make_plan(**{**given, option: enough}).budget == enough


def test_plans_at_the_edge_are_made() -> None:
    assert make_plan(target=0.05).budget == 2000
    assert make_plan(target=0.1, pairs=10**12).budget == make_plan(target=1e-10).budget == 10**12
    assert make_plan(target=0.1, delta=0).delta == 0
    assert make_plan(target=0.1, confidence=0.501, fixed=100).design == "fixed"
    assert make_plan(target=0.3).budget == 334
    assert make_plan(target=0.07).budget == 1429
    with pytest.raises(UsageError) as refused:
        make_plan(target=0.1, pairs=7, fixed=9)
    said = "--pairs 7 and --fixed 9 are two designs: --pairs stops as soon as the answer is known, --fixed always runs "
    assert str(refused.value) == said + "all its pairs; choose one"


# verdicts

OPEN = "which does not show whether it is at most 0.1, the target"
ODDS = "--pairs 4200 with a new --seed decides with probability 0.92, if rho is 0.08, the rate seen"
UNDECIDED = (
    "Two runs differed in 80 of 1,000 pairs: rho is about 0.08, and between 0.0532 and 0.114 (95 % confidence), "
    f"{OPEN}. {ODDS}"
)
ONCE = "A fixed number of pairs is judged once: for another try, use --pairs and a new --seed"
TENTH = "Two runs differed in 10 of 100 pairs: rho is about 0.1, and between {} (95 % confidence), " + f"{OPEN}. {ONCE}"
HALF = "Two runs differed in 10 of 20 pairs: rho is about 0.5, and above 0.1, the target (95 % confidence{})"
WITHIN = "No two runs differed in 40 pairs: rho is at most 0.0722 (95 % confidence), within the target 0.1"
CASES: list[tuple[dict[str, Any], tuple[int, ...], str, str, str]] = [
    (
        {},
        (33, 0),
        "pass",
        "mismatches",
        "No two runs differed in 33 pairs: rho is at most 0.1, the target (95 % confidence)",
    ),
    (
        {},
        (2, 2),
        "fail",
        "mismatches",
        "Two runs differed in each of 2 pairs: rho is above 0.1, the target (95 % confidence)",
    ),
    ({"cells": 4}, (20, 10), "fail", "mismatches", HALF.format("")),
    ({"family": 5}, (20, 10), "fail", "mismatches", HALF.format(", all 5 audits")),
    (
        {"fixed": 100},
        (100, 2),
        "pass",
        "mismatches",
        "Two runs differed in 2 of 100 pairs: rho is about 0.02, and at most 0.0617 (95 % confidence), within the "
        "target 0.1",
    ),
    (
        {"fixed": 100, "cells": 2},
        (100, 30),
        "fail",
        "mismatches",
        "Two runs differed in 30 of 100 pairs: rho is about 0.3, and at least 0.212 (95 % confidence), above the "
        "target 0.1",
    ),
    ({"fixed": 100, "cells": 2}, (100, 10), "inconclusive", "budget", TENTH.format("0.0438 and 0.188")),
    ({"fixed": 100, "family": 2}, (100, 10), "inconclusive", "budget", TENTH.format("0.049 and 0.177")),
    (
        {},
        (500, 50),
        "inconclusive",
        "budget",
        "Two runs differed in 50 of 500 pairs: rho is about 0.1, and between 0.0597 and 0.153 (95 % confidence), "
        f"{OPEN}",
    ),
    (
        {"first_budget": 500},
        (1000, 80),
        "inconclusive",
        "budget",
        f"{UNDECIDED}. With a --ledger, --resume --pairs 5300 goes on from here, and decides with probability 0.93",
    ),
    ({"extends": False}, (1000, 80), "inconclusive", "budget", UNDECIDED),
    (
        {},
        (1000, 98),
        "inconclusive",
        "budget",
        f"Two runs differed in 98 of 1,000 pairs: rho is about 0.098, and between 0.0685 and 0.134 (95 % confidence), "
        f"{OPEN}. To decide with probability 0.9, any test takes 106,292 pairs or more on average, if rho is 0.098, "
        "the rate seen: so close to the target, a target further away is easier to decide",
    ),
    (
        {},
        (1000, 100),
        "inconclusive",
        "budget",
        f"Two runs differed in 100 of 1,000 pairs: rho is about 0.1, and between 0.0702 and 0.136 (95 % confidence), "
        f"{OPEN}. The rate seen is the target itself: if rho is that, no test decides",
    ),
    (
        {"delta": 0.05},
        (40, 0, 40, 12),
        "fail",
        "accuracy",
        "12 of 40 runs are inaccurate: a share of at least 0.108 (95 % confidence), where the subject allows 0.05",
    ),
    (
        {"delta": 0.05, "cells": 3},
        (40, 0, 40, 20),
        "fail",
        "accuracy",
        "20 of 40 runs are inaccurate: a share of at least 0.233 (95 % confidence), where the subject allows 0.05",
    ),
    ({"delta": 0.0}, (40, 0, 40, 1), "fail", "accuracy", "1 of 40 runs are inaccurate, where the subject allows none"),
    (
        {"fixed": 40, "delta": 0.3},
        (40, 0, 40, 30),
        "fail",
        "accuracy",
        "30 of 40 runs are inaccurate: a share of at least 0.588 (95 % confidence), where the subject allows 0.3",
    ),
    (
        {"fixed": 40, "delta": 0.08},
        (40, 0, 40, 0),
        "pass",
        "mismatches",
        f"{WITHIN}; at most 0.08 of the runs are inaccurate (95 % confidence, apart from the verdict)",
    ),
    (
        {"fixed": 41, "delta": 0.08},
        (40, 0, 40, 0),
        "pass",
        "mismatches",
        f"{WITHIN}; whether its answers are accurate was neither shown nor refuted",
    ),
    ({}, (0, 0), "inconclusive", "budget", "no pair was run, so nothing is known of rho"),
]


@pytest.mark.parametrize(
    ("fields", "counts", "outcome", "decided_by", "reason"), CASES, ids=[f"{case[0]} {case[1]}" for case in CASES]
)
def test_a_verdict_to_the_word(
    fields: dict[str, Any], counts: tuple[int, ...], outcome: str, decided_by: str, reason: str
) -> None:
    asked, tally, mean = made(**fields), Tally(*counts), MeanEvidence()
    found = judgement.decide(asked, asked.gate, tally, mean, judged=Judged())
    assert (found.outcome, found.decided_by, found.reason) == (outcome, decided_by, reason)
    assert found.error_spent == 0.05
    assert verdict.outcome(asked, asked.gate, tally, mean) == outcome
    if asked.design == "anytime":
        assert verdict.is_decided(asked, asked.gate, tally, mean) == (outcome != "inconclusive")


def of_means(values: list[float], **fields: Any) -> Verdict:
    asked, mean, tally = made(**fields), MeanEvidence(), Tally()
    for value in values:
        mean.add(value)
        tally = tally.plus(differs=value > 0, accurate=None)
    return judgement.decide(asked, asked.gate, tally, mean, judged=Judged())


def test_a_verdict_on_means_to_the_word() -> None:
    clean = of_means([0.0] * 40, gates="churn")
    limit = MeanEvidence()
    for _ in range(40):
        limit.add(0.0)
    assert clean.bound == verdict.Bound("upper", limit.upper(0.05), 0.95)
    assert clean.decided_by == "churn"
    assert (
        clean.reason
        == "No prediction changed in 40 pairs: churn is at most 0.0883 (95 % confidence), within the target 0.1"
    )
    bad = of_means([0.75] * 40, gates="churn")
    assert (bad.outcome, bad.decided_by) == ("fail", "churn")
    assert bad.reason.startswith(
        "Two fits disagree on about 75 % of the predictions, over 40 pairs: churn is at least 0."
    )
    whole = of_means([1.0] * 40, gates="churn")
    assert whole.reason.startswith("Every prediction changed in 40 pairs: churn is at least 0.")
    opened = of_means([0.1] * 40, gates="churn", pairs=40)
    assert opened.reason.startswith(
        "Two fits disagree on about 10 % of the predictions, over 40 pairs: churn is between "
    )
    assert opened.reason.endswith(". More --pairs may decide: the same command goes on from here")
    cores = of_means([0.0] * 40, integrates=True)
    assert cores.reason.startswith(
        "No two runs differed on 40 pairs of samples, each with 64 values of r: rho is at most 0.0883"
    )
    some = of_means([0.01] * 400, integrates=True)
    assert some.reason.startswith(
        "On 400 pairs of samples, two runs with the same r differ with probability about 0.01: rho is at most 0.0"
    )
    doubt = of_means([0.1] * 40, integrates=True, pairs=40)
    assert doubt.reason.endswith(f"{OPEN}. More --pairs may decide: the same command goes on from here")


def test_a_tally_counts_what_was_judged() -> None:
    found = (
        Tally().plus(differs=True, accurate=None).plus(differs=False, accurate=True).plus(differs=True, accurate=False)
    )
    assert found == Tally(3, 2, 2, 1)
    assert Tally() == Tally(0, 0, 0, 0)


def test_more_than_is_allowed_is_said_where_no_limit_shows_it() -> None:
    """A calibrated gate fails with less evidence than a limit that holds at every n has."""
    asked = made(delta=0.3)
    counts = next(k for k in range(40) if asked.gate.is_inaccurate(40, k))
    assert BOUNDS["anytime"][0](40, counts, asked.gate.alpha_fail) <= 0.3
    found = judgement.inaccurate(asked, asked.gate, Tally(40, 0, 40, counts), Judged(follows="; so"))
    said = f"{counts} of 40 runs are inaccurate: more than 0.3, which the subject allows (95 % confidence); so"
    assert (found.reason, found.error_spent) == (said, 0.05)


# records


@cache
def audited() -> record.Record:
    return audit(constant, "norm", size=2, fixed=29)


def a_record(**fields: Any) -> record.Record:
    return replace(audited(), **fields)


def test_what_a_record_leaves_out_is_what_is_usual() -> None:
    document = audited().to_dict()
    del document["family"], document["unit"], document["first_budget"]
    found = record.as_record(document)
    assert (found.family, found.unit, found.first_budget) == (1, "pairs", None)
    row = record.CellRow(name="a", question="rho", source="norm", size=1, seed=0, confidence=0.95)
    assert (row.pairs, row.mismatches, row.low, row.high, row.seconds) == (0, 0, 0, 1, 0)
    assert record.Example(7, None, record.Difference("", "", "")).cell == 0


def test_what_is_expected_and_what_is_returned() -> None:
    codes = {"pass": 0, "fail": 1, "inconclusive": 3, "error": 4}
    base = a_record()
    for said, code in codes.items():
        one = replace(base, verdict=said)
        assert one.exit_code == code
        assert replace(one, decided_by="interrupt").exit_code == 130
        for expected in ("pass", "fail", "inconclusive"):
            assert replace(one, expect=expected).is_as_expected == (expected == said)
        assert replace(one, expect="no worse").is_as_expected == (said in ("pass", "inconclusive"))
    nothing = replace(base, expect="no worse", verdict="inconclusive", pairs=None, cells=[])
    assert not nothing.is_as_expected
    assert replace(nothing, cells=[replace(base.cells[0], pairs=1)]).is_as_expected


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        (["pass"], 0),
        (["pass", "fail"], 1),
        (["inconclusive", "pass"], 3),
        (["inconclusive", "fail"], 1),
        (["inconclusive", "fail", "error"], 4),
        (["error"], 4),
        ([], 0),
    ],
)
def test_of_several_records_the_worst_that_was_not_expected_counts(verdicts: list[str], code: int) -> None:
    base = a_record()
    assert record.exit_code_of([replace(base, verdict=one, expect="pass") for one in verdicts]) == code
    assert record.exit_code_of([replace(base, verdict=one, expect=one) for one in verdicts]) == 0
    stopped = replace(base, decided_by="interrupt")
    assert record.exit_code_of([replace(base, verdict=one) for one in verdicts] + [stopped]) == 130


def test_a_row_that_says_nothing_knows_nothing() -> None:
    row = record.CellRow(name="a", question="rho", source="norm", size=2, seed=0, confidence=0.95)
    known = [row.pairs, row.mismatches, row.estimate, row.low, row.high, row.verdict, row.seconds]
    assert known == [0, 0, None, 0.0, 1.0, "inconclusive", 0.0]
    assert (row.input, row.variant, row.runs, row.failures, row.error, row.replay) == (None,) * 6


def test_an_unexpected_pass_is_a_fail() -> None:
    assert record.exit_code_of([a_record(expect="fail")]) == 1


def test_parameters_as_json_has_them() -> None:
    assert type(record.as_json({"eps": np.float64(0.5)})["eps"]) is float
    found = record.as_json({"a": 1, "b": None, "c": True, "d": 0.5, "e": math.inf, "f": "x", "g": math.nan})
    assert found == {"a": 1, "b": None, "c": True, "d": 0.5, "e": "1e999", "f": "x", "g": "nan"}


def test_a_file_that_is_no_record_is_refused_to_the_word(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    base = a_record()
    for text, words in (
        ("{}", "its schema is None; this version reads 'auditor.record/2'"),
        ("[]", "its schema is None; this version reads 'auditor.record/2'"),
        ('{"schema": "auditor.record/1"}', "its schema is 'auditor.record/1'; this version reads 'auditor.record/2'"),
    ):
        file.write_text(text)
        with pytest.raises(UsageError) as refused:
            record.read_record(file)
        assert str(refused.value) == f"{str(file)!r} is no record of an audit: {words}"
    for text in ("{", "[" * 100_000, '{"schema": "auditor.record/2"}'):
        file.write_text(text)
        with pytest.raises(UsageError, match="is no record of an audit: "):
            record.read_record(file)
    with pytest.raises(UsageError, match="cannot read the record "):
        record.read_record(tmp_path / "none.json")
    file.write_bytes(record.to_json(base))
    assert record.to_json(base).endswith(b"}\n")
    assert b'\n  "schema": "auditor.record/2"' in record.to_json(base)
    assert len(record.read_records(file)) == 1
    file.write_bytes(record.to_json_list([base, base]))
    assert len(record.read_records(file)) == 2
    assert record.encode({"a": "é"}) == '{\n  "a": "é"\n}\n'.encode()
    assert set(record.environment()) == {"python", "numpy", "scipy", "platform"}
    assert record.EXAMPLES == 3


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"verdict": "maybe"}, "its verdict is 'maybe', and none of pass, fail, "),
        ({"confidence": 1.5}, "its confidence is 1.5, and must be from 0 to 1"),
        ({"confidence": -0.5}, "its confidence is -0.5, and must be from 0 to 1"),
        ({"pairs": 5, "mismatches": 6}, "it has 6 mismatches in 5 pairs, and must have from 0 to 5"),
        ({"pairs": None, "mismatches": 1}, "it has 1 mismatches in 0 pairs, and must have from 0 to 0"),
        ({"mismatches": -1}, "it has -1 mismatches in 29 pairs, and must have from 0 to 29"),
    ],
)
def test_a_record_that_cannot_be_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=r"mismatches|verdict|confidence") as refused:
        record.as_record(a_record(**fields).to_dict())
    assert str(refused.value).startswith(words)
    for fine in (
        {"confidence": 0},
        {"confidence": 1},
        {"pairs": None, "mismatches": None},
        {"pairs": 5, "mismatches": 5},
    ):
        record.as_record(a_record(**fine).to_dict())
    row = replace(audited().cells[0], pairs=1, mismatches=2)
    with pytest.raises(ValueError, match=r"^its cell 1 has 2 mismatches in 1 pairs, and must have from 0 to 1$"):
        record.as_record(a_record(cells=[audited().cells[0], row]).to_dict())


# ledgers


def test_what_is_no_file_is_refused_by_its_kind(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "l.sqlite-wal").mkdir()
    for name, words in (
        (tmp_path, f"{tmp_path} is a folder"),
        (tmp_path / "pipe", f"{tmp_path / 'pipe'} is a pipe"),
        (Path("/dev/null"), "/dev/null is a device"),
        (tmp_path / "l.sqlite", f"{tmp_path / 'l.sqlite-wal'} is a folder"),
    ):
        with pytest.raises(UsageError) as refused:
            ledger_file.check_kind_of_file(str(name))
        assert str(refused.value) == f"cannot use --ledger {name}: {words}; give another file"
    with pytest.raises(UsageError, match=r"cannot use --ledger .*: embedded null byte; give another file"):
        ledger_file.check_kind_of_file("a\0b")
    with pytest.raises(UsageError, match=r"cannot use --ledger .*: File name too long; give another file"):
        ledger_file.check_kind_of_file("x" * 5000)
    ledger_file.check_kind_of_file(str(tmp_path / "new.sqlite"))


def opened(file: Path, **how: Any) -> sqlite3.Connection:
    with ledger_file.connect(str(file), **how) as connection:
        return connection


def test_an_old_sqlite_a_stranger_and_another_version_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "l.sqlite"
    with pytest.raises(UsageError) as refused:
        opened(file, write=False)
    said = f"cannot read --ledger {file}: No such file; check TARGET --ledger FILE makes one"
    assert str(refused.value) == said
    assert not file.exists()
    for version, is_old in (((3, 36, 9), True), ((3, 37, 0), False)):
        with monkeypatch.context() as patched:
            patched.setattr(sqlite3, "sqlite_version_info", version)
            patched.setattr(sqlite3, "sqlite_version", "3.x")
            if is_old:
                with pytest.raises(UsageError) as refused:
                    opened(file)
                assert str(refused.value) == "--ledger needs SQLite 3.37 or newer, and Python here has 3.x"
            else:
                opened(file)
    raw = sqlite3.connect(file)
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert raw.execute("PRAGMA application_id").fetchone() == (0x61756474,)
    assert raw.execute("PRAGMA user_version").fetchone() == (5,)
    tables = {name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables == {"audits", "trials", "counts", "files"}
    raw.execute("PRAGMA user_version = 3")
    with pytest.raises(UsageError) as refused:
        opened(file)
    said = f"--ledger {file} is a database of version 3, and this auditor's is 5: give another file"
    assert str(refused.value) == said
    raw.execute("PRAGMA application_id = 7")
    raw.close()
    with pytest.raises(UsageError) as refused:
        opened(file)
    assert str(refused.value) == f"--ledger {file} is a database no ledger: give another file"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A ledger with one audit of two pairs, one of which differs; and a record of it."""
    file = tmp_path / "kept.sqlite"
    trial = Trial(0, Difference("x", "1", "2"), True, 0.25, 0.5, ("no",), {"runs": 3, "mismatch": 0.125}, (0.5, 1.0))
    other = Trial(1, None, None, 0.5, None, (), None)
    with ledger_file.connect(str(file)) as connection:
        case = {"target": "m:f", "source": "norm", "size": 1}
        plan = {"subject": "m:f", "case": case, "asked": {}, "budget": 9, "question": "rho", "first_budget": 7}
        row = ledger_file.signed((1, "m:f", json.dumps(plan), "then"))
        connection.execute("INSERT INTO audits (id, subject, plan, started, checksum) VALUES (?, ?, ?, ?, ?)", row)
        ledger_file.write_trials(connection, 1, [(0, trial), (1, other)])
        ledger_file.write_trials(connection, 1, [(0, Trial(0, None, None, 9.0, None, (), None))])
        ledger_file.write_counts(connection, 1, {0: (2, 1)})
        ledger_file.write_counts(connection, 1, {0: (1, 0), 1: (5, 5)})
        assert connection.execute("SELECT cell, trials, mismatches FROM counts").fetchall() == [(0, 2, 1), (1, 5, 5)]
        assert [*ledger_file.read_trials(connection, 1)] == [(0, trial), (1, other)]
        assert [*ledger_file.read_trials(connection, 2)] == []
        ledger_file.check_trials(connection)
    return file


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE trials SET seconds = 1.0 WHERE cell = 1", "pair 1 of its audit 1 is damaged"),
        ("UPDATE trials SET audit = 9 WHERE cell = 0", "pair 0 of its audit 9 is damaged"),
        ("UPDATE counts SET trials = 3 WHERE cell = 1", "the count of cell 1 of its audit 1 is damaged"),
        ("UPDATE counts SET audit = 9 WHERE cell = 0", "the count of cell 0 of its audit 9 is damaged"),
    ],
)
def test_a_changed_row_is_named(kept: Path, change: str, words: str) -> None:
    with ledger_file.connect(str(kept)) as connection:
        connection.execute(change)
        with pytest.raises(sqlite3.DatabaseError) as damaged:
            ledger_file.check_trials(connection)
        assert str(damaged.value) == words


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE audits SET started = 'now'", "the plan of its audit 1 is damaged"),
        ("UPDATE audits SET record = '{}'", "the record of its audit 1 is damaged"),
        ("UPDATE audits SET record_checksum = x'00'", "the record of its audit 1 is damaged"),
    ],
)
def test_a_changed_audit_is_named_when_it_is_opened(kept: Path, change: str, words: str) -> None:
    with ledger_file.connect(str(kept)) as connection:
        connection.execute(change)
    with pytest.raises(UsageError) as refused:
        opened(kept)
    said = f"cannot use --ledger {kept}: {words}; give another file, or move this one away"
    assert str(refused.value) == said


def test_a_transaction_is_whole_or_nothing(kept: Path) -> None:
    with ledger_file.connect(str(kept)) as connection:

        def interrupted() -> None:
            with ledger_file.transaction(connection):
                connection.execute("DELETE FROM trials")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert connection.execute("SELECT count(*) FROM trials").fetchone() == (2,)
        with ledger_file.transaction(connection):
            connection.execute("DELETE FROM trials")
        assert connection.execute("SELECT count(*) FROM trials").fetchone() == (0,)


def test_a_trial_is_written_at_most_a_tenth_of_a_second_late(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, said = [100.0], []
    monkeypatch.setattr(ledger, "monotonic", lambda: now[0])
    with ledger_file.connect(str(kept)) as connection:
        mine = ledger.Ledger("file", connection, 1, said.append)
        assert (mine.first_budget, mine.trouble) == (7, None)
        assert sorted(mine.stored(0)) == [0]
        assert mine.stored(7) == {}

        def there() -> int:
            return int(connection.execute("SELECT count(*) FROM trials").fetchone()[0])

        def keep(index: int) -> None:
            mine.keep([Trial(index, None, None, 0.0, None, (), None)], 0)

        keep(5)
        assert there() == 3
        now[0] = 100.09
        keep(6)
        assert there() == 3
        now[0] = 100.1
        keep(7)
        assert there() == 5
        # A disk that is full: one complaint, another try after five seconds, and nothing is lost.
        connection.execute("CREATE TRIGGER full BEFORE INSERT ON trials BEGIN SELECT raise(ABORT, 'no room'); END")
        now[0] = 101.0
        keep(8)
        words = "cannot write --ledger file: no room; the audit goes on, and its report is whole"
        assert said == [words] == [mine.trouble]
        now[0] = 105.9
        keep(9)
        connection.execute("DROP TRIGGER full")
        now[0] = 105.99
        keep(10)
        assert there() == 5
        now[0] = 106.0
        keep(11)
        assert there() == 9
        assert mine.trouble is None
        assert said == [words]
        difference = Difference("", "1", "2")
        for index, found in ((0, difference), (1, None), (2, difference)):
            mine.count(Trial(index, found, None, 0.0, None, (), None), 3)
        mine.finish(lambda: b"{}", is_over=False)
        assert connection.execute("SELECT trials, mismatches FROM counts WHERE cell = 3").fetchone() == (3, 2)
        assert connection.execute("SELECT record FROM audits").fetchone() == (None,)
        mine.finish(lambda: b"{}", is_over=True)
        assert connection.execute("SELECT record FROM audits").fetchone() == ("{}",)
    opened(kept)  # with a checksum that is right


def test_the_columns_of_trials_and_what_each_holds(kept: Path) -> None:
    base = a_record(subject="m:f")
    cost = replace(base.cost, kept=record.LedgerPlace(ledger=str(kept), audit=1))
    found = replace(base, cost=cost).trials()
    columns = "cell name source size seed index differs path left right probability accurate churn score"
    assert list(found) == [*columns.split(), "no_output", "seconds"]
    rows = [list(row) for row in zip(*found.values(), strict=True)]
    name = base.cells[0].name
    assert rows == [
        [0, name, "norm", 2, 0, 0, True, "x", "1", "2", 0.125, True, 0.5, 0.75, 1, 0.25],
        [1, None, "norm", None, None, 1, False, None, None, None, None, None, None, None, 0, 0.5],
    ]
    with pytest.raises(UsageError) as refused:
        replace(base, subject="m:g", cost=cost).trials()
    assert str(refused.value) == f"audit 1 of {kept} is not of m:g: give the record's own ledger"
    with pytest.raises(UsageError, match="this record has counts, and no ledger has its trials: ask again with ledger"):
        replace(base, cost=replace(base.cost, kept=None)).trials()


def past(low: float, high: float, **more: Any) -> dict[str, Any]:
    return {"measures": [{"estimate": 0.5, "low": low, "high": high}], "code_hash": "c", "verdict": "pass", **more}


def test_earlier_audits_are_the_last_thirty_that_asked_the_same(kept: Path) -> None:
    base = a_record(subject="m:f")
    assert base.case is not None
    alike = {"question": "rho", "source": "norm", "target": 0.1, "case": base.case.to_json()}
    documents = [past(0.0, i / 100, **alike) for i in range(1, 41)]
    documents += [
        past(0, 1, **alike),
        past(0.1, 0.2, **{**alike, "target": 0.2}),
        {**past(0.1, 0.2), **alike, "case": 3},
    ]
    documents += [past(0.1, 0.2, **{**alike, "case": {**alike["case"], "size": 3}}), {**alike, "measures": []}]
    with ledger_file.connect(str(kept)) as connection:
        for i, one in enumerate(documents):
            connection.execute(
                "INSERT INTO audits VALUES (?, 'm:f', '', ?, x'', ?, x'')", (i + 2, f"t{i}", json.dumps(one))
            )
        found = ledger_file.earlier(connection, len(documents) + 2, base)
        assert [one.started for one in found] == [f"t{i}" for i in range(10, 40)]
        assert (found[0].low, found[0].high, found[0].estimate, found[0].code_hash) == (0.0, 0.11, 0.5, "c")
        assert len(ledger_file.earlier(connection, 4, base)) == 2
        assert ledger_file.earlier(connection, 99, replace(base, case=None)) == []
    assert ledger_file.earlier(connection, 99, base) == [], "a ledger in trouble has told of it"


def test_resume_and_what_it_says(tmp_path: Path) -> None:
    file = tmp_path / "l.sqlite"
    options: dict[str, Any] = {"source": "norm", "size": 2, "ledger": str(file), "pairs": 40}
    with pytest.raises(UsageError) as refused:
        audit(constant, resume=True, **options)
    assert str(refused.value) == f"--resume: there is no file {file}; leave --resume out to begin an audit"
    assert not file.exists()
    audit(coin, "norm", size=2, ledger=str(file), pairs=40)
    name = f"{__name__}:constant"
    with pytest.raises(UsageError) as refused:
        audit(constant, resume=True, **options)
    assert str(refused.value) == f"--resume: {file} has no audit of {name}; leave --resume out to begin one"
    audit(constant, **options)
    with pytest.raises(UsageError) as refused:
        audit(constant, resume=True, **{**options, "seed": 3, "pairs": 30})
    said = f"--resume: {file} has an audit of {name}, but the two differ in --seed: 0 and 3, budget: 40 and 30; "
    assert str(refused.value) == said + "leave --resume out to begin another"
    with pytest.raises(UsageError) as refused:
        audit(constant, resume=True, **{**options, "pairs": 50})
    said = (
        f"--resume: {file} has this audit, and it was decided: pass; only an undecided one goes on with more --pairs. "
    )
    assert str(refused.value) == said + "Leave --resume out, and take a new --seed, to begin another"
    history = ledger.read_history(str(file), name)
    assert [(one.pairs, one.mismatches, one.verdict, one.question) for one in history] == [(29, 0, "pass", "rho")]
    assert ledger.read_history(str(file), "m:none") == []


def test_a_plan_has_of_each_cell_what_is_another_than_in_the_first() -> None:
    inquiry = inquiry_of(constant, ["norm", "uniform"], size=2)
    found = ledger.plan_of(inquiry, case_of_first(inquiry), RunOptions())
    assert found["cells"] == [{"name": "norm"}, {"name": "uniform", "source": "uniform"}]
    alone = inquiry_of(constant, "norm", size=2)
    first = case_of_first(alone)
    found = ledger.plan_of(alone, first, RunOptions(timeout=5.0))
    assert (found["cells"], found["timeout"], found["subject"]) == (None, 5.0, f"{__name__}:constant")
    assert found["case"] == json.loads(json.dumps(first.to_json()))
    assert (found["question"], found["budget"], found["first_budget"]) == ("rho", 1000, None)


# what wobbles


def pair(*places: tuple[str, Any, Any, Any], **fields: Any) -> dict[str, Any]:
    listed = [[path, gap, left, right] for path, left, right, gap in places]
    base = {"kind": "dict", "digests": ["a", "b"] if listed else ["a"], "texts": ["A", "B"] if listed else ["A"]}
    return {**base, "count": len(listed), "places": listed, **fields}


def test_the_account_of_no_pair_and_of_one() -> None:
    alone = elements.wobbles([pair()], 7)
    assert alone == elements.Wobbles(
        pairs=1, of=7, mismatches=0, runs=2, distinct=1, frequent=[elements.SeenText("A", 2)], kind="dict"
    )
    assert (elements.WATCHED, elements.ELEMENTS) == (500, 10)
    assert elements.pairs_by_element([]) == {}
    assert elements.pairs_by_element([pair(("x", "1", "2", 1)), pair(("x", "1", "3", 2)), pair()]) == {"x": 2}


def test_elements_are_ranked_by_pairs_then_by_number_then_by_name() -> None:
    names = [f"[{i}]" for i in (10, 9, 2)] + ["b", "a"] + [f"[{10**18}]", f"[{10**17}]"]
    found = elements.wobbles([pair(*((name, "1", "2", None) for name in names)), pair(("b", "1", "2", None))], 2)
    assert found is not None
    assert [(one.name, one.pairs) for one in found.elements] == [
        ("b", 2),
        ("[2]", 1),
        ("[9]", 1),
        ("[10]", 1),
        (f"[{10**17}]", 1),
        (f"[{10**18}]", 1),
        ("a", 1),
    ]
    assert (found.unsteady, found.always, found.whole) == (7, 1, True)
    many = elements.wobbles([pair(*((f"[{i}]", "1", "2", None) for i in range(12)), count=13)], 1)
    assert many is not None
    assert (len(many.elements), many.unsteady, many.whole) == (10, 12, False)


def test_gaps_are_lower_medians_and_a_float_shows_few_values() -> None:
    pairs = [pair(("x", str(i), "0", float(i)), gap=float(i)) for i in (4, 1, 3, 2)]
    found = elements.wobbles(pairs, 4)
    assert found is not None
    assert (found.gap, found.elements[0].gap, found.elements[0].values) == (2.0, 2.0, [])
    few = elements.wobbles([pair(("x", "1", "0", 0.5)), pair(("x", "2", "0", 0.5))], 2)
    assert few is not None
    assert few.elements[0].values == [elements.SeenText("0", 2), elements.SeenText("1", 1), elements.SeenText("2", 1)]
    whole = elements.wobbles([pair(("x", str(i), "0", i)) for i in range(1, 6)], 5)
    assert whole is not None
    assert [one.text for one in whole.elements[0].values] == ["0", "1", "2"]
    assert whole.elements[0].runs is None


def test_outputs_are_counted_by_run_and_renamed_by_pair() -> None:
    rows = [pair(("x", "1", "2", None), digests=["a", "b"], renamed=True), pair(), pair(digests=["c"], texts=["C"])]
    found = elements.wobbles(rows, 3)
    assert found is not None
    assert (found.distinct, found.frequent) == (3, [elements.SeenText("A", 3), elements.SeenText("C", 2)])
    assert (found.renamed, found.runs, found.mismatches) == (1, 6, 1)
    unknown = elements.wobbles([pair(digests=[None], texts=[""])], 1)
    assert unknown is not None
    assert (unknown.distinct, unknown.frequent) == (None, [])
    many = elements.wobbles([pair(digests=[str(i)], texts=[str(i)]) for i in range(5)], 5)
    assert many is not None
    assert [one.text for one in many.frequent] == ["0", "1", "2"]


def test_elements_of_arrays_are_those_whose_bits_are_set() -> None:
    found = elements.wobbles([pair(shape=[2, 3], bits="44", count=2, digests=["a", "b"], texts=["A", "B"])], 1)
    assert found is not None
    assert [one.name for one in found.elements] == ["[0, 1]", "[1, 2]"]
    assert found.size == 6
    mixed = elements.wobbles([pair(shape=[2]), pair(shape=[3])], 2)
    scalar = elements.wobbles([pair(shape=[])], 1)
    assert mixed is not None
    assert scalar is not None
    assert (mixed.size, scalar.size) == (None, None)


def test_choices_are_counted_by_member() -> None:
    rows = [
        pair(members=[["a", "b"]]),
        pair(("", "", "", None), members=[["a"], ["a", "c"]]),
        pair(("", "", "", None), members=[["b"], ["c"]]),
    ]
    found = elements.wobbles(rows, 3)
    assert found is not None
    assert found.kind == "choice"
    assert [(one.name, one.pairs, one.runs) for one in found.elements] == [("c", 2, 2), ("b", 1, 3)]
    same = elements.wobbles([*rows, pair(("x", "1", "2", None), members=[["a"], ["a"]])], 4)
    assert same is not None
    assert same.kind == "dict", "what differs there is not what was chosen"


# asking


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"eta": 0.1, "loss": no_loss}, "--eta does not go with --loss: leave one of them out"),
        ({"nu": 0.1, "rho": 0.1}, "--rho 0.1 does not go with --nu: use --nu"),
        ({"nu": 0.1, "pairs": 9}, "--pairs 9 does not go with --nu: use --strings"),
        ({"loss": no_loss, "nu": 0.1}, "--loss does not go with --nu: leave one of them out"),
        ({"measure": "churn", "nu": 0.1}, "--measure churn does not go with --nu: leave one of them out"),
        ({"eta": 0.1, "list_size": 3, "pairs": 5}, "--pairs 5 does not go with --eta: use --runs"),
        ({"list_size": 3, "eta": 0.1, "pairs": 5}, "--pairs 5 does not go with --list-size: use --runs"),
    ],
)
def test_options_of_two_questions_are_refused_to_the_word(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        make_request(None, constant, "norm", given)
    assert str(refused.value) == words


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "rho"),
        ({"eta": 0.1}, "nu"),
        ({"runs": 5}, "nu"),
        ({"nu": 0.1, "eta": 0.1, "runs": 9}, "nu"),
        ({"list_size": 2, "eta": 0.1, "runs": 30}, "list_size"),
        ({"loss": no_loss}, "loss"),
        ({"measure": "churn"}, "churn"),
        ({"measure": "rho"}, "rho"),
    ],
)
def test_the_options_choose_the_question(given: dict[str, Any], name: str) -> None:
    asked = make_request(None, constant, "norm", given)
    assert asked.question == name
    assert asked.sources == ("norm",)
    assert CHECK[:2] == ("rho", "churn")
    assert make_request(name, constant, None, given).sources == ()


def test_a_clock_does_not_go_with_a_fixed_number() -> None:
    with pytest.raises(UsageError) as refused:
        make_request(None, constant, "norm", {"for": "5m", "fixed": 40})
    said = "--for 5m and --fixed 40 do not go together: a fixed number is judged once, when all of it was run; leave "
    assert str(refused.value) == said + "--fixed out, and the audit may stop at any time"
    assert make_request(None, constant, "norm", {"for": "5m"}).question == "rho"
    with pytest.raises(UsageError) as refused:
        make_request("price", constant, ["norm", "uniform"], {})
    assert str(refused.value) == "price takes one source, and 2 were given: ask about one at a time"
    with pytest.raises(UsageError) as refused:
        make_request("rho", constant, "norm", {"measure": "churn"})
    assert str(refused.value) == "measure='churn' is another question than 'rho': leave one of them out"


def test_a_question_that_is_not_there() -> None:
    with pytest.raises(
        UsageError, match=r"^there is no question 'roh' \(did you mean rho\?\): there are choose, churn, "
    ):
        question.find_question("roh")
    found: list[question.Mismatch] = []
    for index, difference in enumerate(
        [None, Difference("", "1", "2"), Difference("", "3", "4"), Difference("", "5", "6")]
    ):
        question.with_example(found, 7, Trial(index, difference, None, 0.0, None, (), None), 2)
    assert [(one.cell, one.index) for one in found] == [(7, 1), (7, 2)]


# fitness


def found_of(findings: Any) -> list[tuple[str, str, str]]:
    return [(one.kind, one.severity, one.message) for one in findings]


def test_what_is_said_where_nothing_is_fresh() -> None:
    cell = cell_of(constant, "norm", size=2)
    bench: Any = SimpleNamespace(source=SimpleNamespace(name="S"))
    agree = "two runs of a pair get the same r and "
    assert found_of(fitness._nothing_fresh(cell, bench, "")) == []
    assert found_of(fitness._nothing_fresh(cell, bench, DECLARED)) == [
        ("nothing-fresh", "warning", agree + "the same sample, since S is declared deterministic: they can only agree")
    ]
    empty = replace(cell, size=0)
    assert found_of(fitness._nothing_fresh(empty, bench, DECLARED)) == [
        ("nothing-fresh", "warning", agree + "no sample: they can only agree; write A(sample, r, private)")
    ]
    for other in (replace(cell, private="unshared"), replace(cell, question=CHECK[-1])):
        assert found_of(fitness._nothing_fresh(replace(other, size=0), bench, DECLARED)) == []
    ((kind, severity, message),) = found_of(fitness._nothing_fresh(cell, bench, AT_TIMES))
    assert (kind, severity) == ("same-sample", "warning")
    assert message.startswith(
        "source S gave both runs of a pair the same rows, and other samples other rows: of i.i.d."
    )
    assert message.endswith("Does it ignore its generator at times?")


def needs_more(sample: auditor.Sample, r: Any, *, sample_scale: float = 1.0) -> Any:
    return sample.take(3).mean()


@pytest.mark.parametrize("size", [0, 2])
def test_a_size_that_does_not_suit_is_a_usage_error(size: int) -> None:
    with pytest.raises(UsageError) as refused:
        audit(needs_more, "norm", size=size)
    if size:
        said = f"size=2 does not suit {__name__}:needs_more: "
        assert str(refused.value).startswith(said)
        assert str(refused.value).endswith("; --param sample_scale=S scales down what it draws")
    else:
        assert str(refused.value).startswith("size=0 must be at least 1 for this subject: ")
        assert str(refused.value).endswith("; use e.g. --size 1000")


def test_cells_of_one_kind_share_what_was_found_and_say_it_once() -> None:
    found = audit(coin, np.array([1.0, -1.0, 2.0]), size=2, fixed=60, inputs={"p": [0.1, 0.2, 0.3]})
    assert [one.kind for one in found.findings].count("resampled") == 1
    assert found.cost.preflight_runs == audit(coin, np.array([1.0, -1.0]), size=2, fixed=29).cost.preflight_runs


# runs and their records


def test_what_trials_took_is_added_up() -> None:
    spent = run.Spent()
    assert (spent.trials, spent.runs, spent.seconds) == (0, 0, 0.0)
    spent.add(Trial(0, None, None, 0.25, None, (), None), 2)
    spent.add(Trial(1, None, None, 0.5, None, (), {"runs": 7}), 2)
    spent.add(Trial(2, None, None, 0.5, None, (), {"other": 7}), 2)
    assert (spent.trials, spent.runs, spent.seconds) == (3, 11, 1.25)


@pytest.mark.parametrize(
    ("source", "index", "cell", "words"),
    [
        ("norm", -1, None, "replay=-1 must be the number of a pair, 0 or more"),
        (["norm", "uniform"], 3, None, "--replay 3 of which of 2 cells? Give --cell J, from 0 to 1"),
        (["norm", "uniform"], 3, 2, "--cell 2 must be from 0 to 1: which source or input is meant?"),
        (["norm", "uniform"], 3, -1, "--cell -1 must be from 0 to 1: which source or input is meant?"),
        ("norm", 3, 1, "--cell 1 must be from 0 to 0: which source or input is meant?"),
    ],
)
def test_a_pair_that_is_not_there_is_refused(source: Any, index: int, cell: int | None, words: str) -> None:
    with pytest.raises(auditor.AuditorError) as refused:
        [*run.replayed(request_of(constant, source, size=2), index, cell)]
    assert str(refused.value) == words


def source_name(sample: Any, r: Any) -> str:
    return "norm" if sample.min() < 0 else "uniform"


def test_a_pair_of_the_cell_that_is_meant_is_run() -> None:
    request = request_of(source_name, ["norm", "uniform"], size=60)
    said = ["".join(map(str, run.replayed(request, 0, cell))) for cell in (0, 1)]
    assert ["'norm'" in one for one in said] == [True, False]
    assert ["'uniform'" in one for one in said] == [False, True]
    assert "'norm'" in "".join(map(str, run.replayed(request_of(source_name, "norm", size=60), 0)))


def test_of_private_randomness_the_unshared_pair_is_run_unless_the_other_is_meant() -> None:
    own = "algorithms.known_answers:own_coin"

    def said(cell: int | None) -> str:
        asked = request_of(own, params={"q": 0.5})
        return "".join(str(part) for pair in range(6) for part in run.replayed(asked, pair, cell))

    assert said(None) == said(0) != said(1)


def under_way(**fields: Any) -> Any:
    """A run of 40 pairs, with these fields."""
    inquiry = inquiry_of(f"{__name__}:constant", "norm", size=2)
    benches = {0: SimpleNamespace(source=load_source("norm"), size=1)}
    by_cell = {0: run.Spent(30, 60), 1: run.Spent(10, 20)}
    found: Any = run.Run(inquiry, RunOptions(), run.Silent(), benches=benches, by_cell=by_cell)  # type: ignore[arg-type]
    for name, value in fields.items():
        setattr(found, name, value)
    return found


def test_runs_without_an_output_are_counted_and_said() -> None:
    def findings(one: Any) -> list[record.Finding]:
        return one.record(request_of(f"{__name__}:constant", "norm", size=2), one.verdict()).findings  # type: ignore[no-any-return]

    assert findings(under_way()) == []
    (found,) = findings(under_way(bottoms=1500, first_bottom=(0, 17, "it raised")))
    words = "1,500 of 80 runs gave no output, which counts as one (--on-error bottom); the first: it raised"
    assert (found.kind, found.severity, found.message) == ("bottom", "warning", words)
    assert found.replay is not None
    assert found.replay.endswith("--replay 17")
    for fields in ({"bottoms": 79, "first_bottom": (0, 0, "x")}, {"bottoms": 80}, {}):
        assert under_way(**fields).verdict().outcome == "inconclusive"
    with pytest.raises(SubjectError) as refused:
        under_way(bottoms=80, first_bottom=(0, 0, "it raised")).verdict()
    said = f"none of 80 runs of {__name__}:constant gave an output, so nothing was compared and no pass can follow; "
    assert str(refused.value) == said + "the first: it raised"


class Taking(question.Inquiry):
    """Ten trials of each of two cells, taken as `take` says; `heard` has what was taken and what failed, in order."""

    def __init__(self, take: Callable[..., None]) -> None:
        first = inquiry_of(f"{__name__}:constant", "norm", size=2)
        self.plan, self.cells, self.take = first.plan, [*first.cells] * 2, take
        self.heard: list[object] = []

    def steps(self) -> question.Steps:
        self.take(self.heard, *(yield [question.Work(cell, range(10)) for cell in (0, 1)]))

    def failed(self, cell: int, error: AuditorError) -> None:
        self.heard.append(f"{cell}: {error}")


class FailingAt(Serial):
    """Trial 3 of every cell fails."""

    def trials(self, bench: Any, wanted: Any, keep: Any) -> Any:
        for index in wanted:
            if index == 3:
                raise SubjectError("no")
            yield Trial(index, None, None, 0.0)


def taking(take: Callable[..., None], **fields: Any) -> tuple[list[object], list[int]]:
    """What an inquiry hears of its trials, and which of them the ledger counted as taken."""
    counted: list[int] = []
    inquiry = Taking(take)
    ledger = SimpleNamespace(stored=lambda cell: {}, count=lambda trial, cell: counted.append(10 * cell + trial.index))
    both = {0: SimpleNamespace(), 1: SimpleNamespace()}
    under_way(**{"inquiry": inquiry, "ledger": ledger, "benches": both, "by_cell": {}, **fields}).work()
    return inquiry.heard, counted


def both_in_turn(heard: list[object], first: Iterator[Trial], second: Iterator[Trial]) -> None:
    for trials in (first, second):
        for trial in trials:
            heard.append(trial.index)


def a_few_of_each(heard: list[object], first: Iterator[Trial], second: Iterator[Trial]) -> None:
    heard += [next(first).index, next(first).index, next(second).index]


def one_by_one(heard: list[object], first: Iterator[Trial], second: Iterator[Trial]) -> None:
    heard += [both[0].index for both in zip(first, second, strict=True)]


def test_a_trial_that_fails_is_reported_and_ends_its_work_alone() -> None:
    heard, counted = taking(both_in_turn, engine=FailingAt())
    assert heard == [0, 1, 2, "0: no", 0, 1, 2, "1: no"]
    assert counted == [0, 1, 2, 10, 11, 12]


def test_what_is_not_taken_is_not_run_and_what_was_taken_last_is_counted() -> None:
    assert taking(a_few_of_each, engine=FailingAt()) == ([0, 1, 0], [0, 1, 10])


def test_the_work_of_one_yield_is_taken_piece_by_piece() -> None:
    with pytest.raises(RuntimeError, match="takes the trials of one piece of work before those of the next"):
        taking(one_by_one, engine=FailingAt())


@pytest.mark.parametrize("nameless", [None, "subject", "source", "view"])
def test_a_record_says_whether_another_process_finds_all_of_it(nameless: str | None) -> None:
    asked: dict[str, Any] = {"subject": constant, "source": "norm", "view": "output"}
    others = {
        "subject": lambda sample, r: 1,
        "source": lambda rng, size: rng.normal(size=size),
        "view": lambda one: one,
    }
    asked |= {nameless: others[nameless]} if nameless else {}
    assert audit(**asked, size=2, fixed=29).importable == (nameless is None)


@pytest.mark.parametrize("source", ["norm", lambda rng, size: 1 / 0])
def test_an_engine_of_its_own_is_closed_and_a_shared_one_stays_open(source: Any, monkeypatch: Any) -> None:
    class Counted(Serial):
        closed = 0

        def close(self) -> None:
            self.closed += 1

    shared, own = Counted(), Counted()
    monkeypatch.setattr(run, "make_engine", lambda *_: own)
    request = request_of(constant, source, size=2, fixed=29)
    how = RunOptions(second_process=False)
    for engine in (shared, None):
        run.carry_out(question.find_question("rho").begin(request), request, how, engine=engine)
    assert (shared.closed, own.closed > 0) == (0, True)


BUFFER = np.zeros(3)


def same_memory(rng: Any, size: int) -> Any:
    return BUFFER


def adds_in_place(sample: Any, r: Any) -> float:
    sample += 1
    return float(sample[0])


def test_each_run_of_a_replay_has_a_sample_of_its_own() -> None:
    shown = "".join(map(str, run.replayed(request_of(adds_in_place, same_memory, size=3), 0)))
    assert "SAME  pair 0" in shown
    assert not BUFFER.any()


def test_what_foreign_code_raised_comes_with_the_command_that_raises_it_again() -> None:
    cell, source = cell_of(f"{__name__}:constant", "norm", size=2), load_source("norm")
    found = run.failure_finding(SubjectError("it raised"), cell, source)
    assert (found.kind, found.severity, found.message, found.replay) == ("raised", "error", "it raised", None)
    command = run.failure_finding(RunFailed("f", 3, 0, "died"), cell, source).replay
    assert command is not None
    assert command.endswith("--replay 3")
    for which, more in ((None, ""), (0, ""), (1, ""), (2, " --runs 3"), (5, " --runs 6")):
        assert run.failure_finding(RunFailed("f", 3, which, "died"), cell, source).replay == command + more
    slow = RunFailed("f", 3, 1, "died")
    slow.limit = 2.5
    assert run.failure_finding(slow, cell, source).replay == f"timeout 13 {command}"
    assert run.failure_finding(slow, cell, source).kind == "died"
    local = cell_of(lambda sample, r: 1, "norm", size=2)
    assert run.failure_finding(slow, local, source).replay is None


def test_what_was_asked_is_kept_as_it_could_be_typed() -> None:
    assert run._typed({"a": 1}) == {"a": 1}
    assert run._typed([constant, 3]) == [f"{__name__}:constant", 3]
    assert run._typed(constant) == f"{__name__}:constant"
    assert run._typed(math.nan) == "nan"
    local = lambda sample, r: 1  # noqa: E731 - it has no name
    assert "lambda" in run._typed(local)
    long = run._typed({1j: "x" * 500})
    assert len(long) <= 200
    found = audit(constant, "norm", size=2, fixed=29, seed=4, jobs=1, as_=None)
    assert found.asked == {"source": ["norm"], "size": 2, "fixed": 29, "seed": 4}
    assert found.cost.limits == {"jobs": 1}
    assert (found.cost.runs, found.cost.preflight_runs > 0) == (58, True)


def test_an_interrupt_says_where_it_was() -> None:
    found = carried_out(constant, "norm", size=2, watch=StopsAfter(7))
    assert (found.verdict, found.decided_by, found.exit_code) == ("inconclusive", "interrupt", 130)
    assert found.reason.startswith("interrupted after 7 of at most 1,000 pairs; two runs differed in 0 of 7 pairs")
    assert "with --ledger FILE" in found.reason
    assert found.pairs == 7
    assert found.error_spent == 0.05
    late = carried_out(constant, "norm", size=2, how=RunOptions(for_=1e-9))
    assert late.decided_by == "clock"
    assert late.reason == (
        "stopped by the clock (--for, 1e-09 s) after 0 of at most 1,000 pairs: no pair was run, so nothing is known of "
        "rho; give it more time, such as --for 1s"
    )


def test_seconds_are_given_to_the_watcher_and_to_the_row() -> None:
    seen: list[float] = []

    class Watches(run.Silent):
        def advanced(self, inquiry: Any, seconds: float) -> None:
            seen.append(seconds)

    found = carried_out(constant, "norm", size=2, fixed=29, watch=Watches())
    assert len(seen) == 29
    assert 0 < seen[0] <= seen[-1]
    assert 0 < found.cells[0].seconds <= found.cost.seconds_total
    assert found.cost.seconds_in_subject == found.cells[0].seconds


class Locked:
    """A connection that is busy so many times, or that cannot be used at all."""

    def __init__(self, times: int, why: str = "database is locked") -> None:
        self.times, self.why, self.asked = times, why, 0

    def execute(self, words: str) -> None:
        self.asked += 1
        if self.asked <= self.times:
            raise sqlite3.OperationalError(self.why)


def test_a_ledger_that_is_locked_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(ledger_file, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(ledger_file, "sleep", lambda seconds: None)
    monkeypatch.setattr(ledger_file, "_WAIT", 3.0)
    busy: Any = Locked(3)
    ledger_file._switch_to_wal(busy)
    assert busy.asked == 4
    for one, asked in ((Locked(99), 4), (Locked(99, "disk I/O error"), 1)):
        with pytest.raises(sqlite3.OperationalError):
            ledger_file._switch_to_wal(one)  # type: ignore[arg-type]
        assert one.asked == asked, "the time is over, or waiting would not help"


@pytest.mark.parametrize("design", ["anytime", "fixed"])
def test_runs_are_inaccurate_only_where_a_share_is_allowed(design: str) -> None:
    asked = make_plan(target=0.5, confidence=0.95, **{"pairs" if design == "anytime" else "fixed": 60})
    tally = Tally(60, 0, runs=120, failures=100)
    assert verdict.is_inaccurate(asked, asked.gate, tally) is False
    some = make_plan(target=0.5, confidence=0.95, delta=0.1, **{"pairs" if design == "anytime" else "fixed": 60})
    assert verdict.is_inaccurate(some, some.gate, tally) is True
    assert verdict.is_inaccurate(some, some.gate, Tally(60, 0, runs=120)) is False
