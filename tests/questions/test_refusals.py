"""What a question refuses before anything runs: by name and value, with the range, an example and the least that does.

The least number that a refusal names is taken, and one less is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.requests import inquiry_of

from auditor.errors import AuditorError, BadValue, UsageError


def plain(sample: Any, r: Any, *, q: int = 0) -> int:
    return 0


def answers(sample: Any, r: Any, query: Any) -> int:
    return 0


def asks(ask: Callable[..., Any], rng: Any) -> int:
    return 0


def no_loss(output: Any, rows: Any) -> Any:
    return 0


ASKED: dict[str, dict[str, Any]] = {
    "rho": {"size": 5},
    "churn": {"size": 5},
    "nu": {"size": 5, "eta": 0.3, "nu": 0.3},
    "list_size": {"size": 5, "list_size": 2, "eta": 0.2},
    "curve": {"vary": "size=5,6"},
    "price": {},
    "estimate": {"size": 5},
    "compare": {"size": 5, "old": plain},
    "loss": {"size": 5, "loss": no_loss, "delta": 0.05},
    "reuse": {"subject": answers, "size": 5, "analyst": asks, "queries": 5, "rho": 0.02},
}


def asked(question: str, **options: Any) -> Any:
    given = {"subject": plain, "source": "bernoulli(0.5)", **ASKED[question], **options}
    return inquiry_of(question=question, **{name: value for name, value in given.items() if value is not None})


# Counts: (question, option, least, example).
COUNTS = [
    ("rho", "pairs", 1, 1000),
    ("rho", "fixed", 1, 1000),
    ("rho", "size", 0, 1000),
    ("rho", "family", 1, 3),
    ("nu", "strings", 1, 2000),
    ("nu", "fixed", 1, 2000),
    ("nu", "runs", 2, 20),
    ("nu", "family", 1, 3),
    ("list_size", "list_size", 1, 3),
    ("list_size", "runs", 1, 1000),
    ("list_size", "fixed", 1, 1000),
    ("curve", "pairs", 128, 2000),
    ("price", "pairs", 1, 20_000),
    ("estimate", "pairs", 1, 1000),
    ("compare", "pairs", 1, 2000),
    ("loss", "pairs", 1, 1000),
    ("reuse", "queries", 2, 10),
    ("reuse", "fixed", 8, 400),
]


@pytest.mark.parametrize(("question", "option", "least", "example"), COUNTS)
def test_a_count_is_an_integer_of_at_least_so_many(question: str, option: str, least: int, example: int) -> None:
    for value in (least - 1, least + 0.5, True, "9"):
        with pytest.raises(BadValue) as refused:
            asked(question, **{option: value})
        said = str(refused.value)
        assert said.startswith(f"{option}={value!r} "), said
        assert f"at least {least}, e.g. {example}" in said
    try:
        asked(question, **{option: least})
    except AuditorError as refused_otherwise:
        assert f"at least {least}, e.g. {example}" not in str(refused_otherwise)  # noqa: PT017 - another reason


# Shares: (question, option, values that are none, the range).
SHARES = [
    ("rho", "rho", (0.0, 1.0, -0.1, True, "1"), "(0, 1)"),
    ("rho", "confidence", (0.0, 1.0, True), "(0, 1)"),
    ("nu", "eta", (0.0, 1.0, True), "(0, 1)"),
    ("nu", "nu", (0.0, 1.0, True), "(0, 1)"),
    ("nu", "beta", (0.0, 1.0, True), "(0, 1)"),
    ("list_size", "eta", (0.0, 1.0, True, "1"), "(0, 1)"),
    ("compare", "margin", (1.0, -0.1, True, "1"), "[0, 1)"),
    ("loss", "delta", (0.0, 1.0, True), "(0, 1)"),
    ("price", "rho", (0.0, 1.0), "(0, 1)"),
    ("estimate", "half_width", (0.0, 0.5, -0.1, True, "1"), "(0, 0.5)"),
    ("estimate", "confidence", (0.0, 1.0, True), "(0, 1)"),
    ("reuse", "rho", (0.0, 1.0), "(0, 1)"),
]


@pytest.mark.parametrize(("question", "option", "values", "words"), SHARES)
def test_a_share_is_within_its_range(question: str, option: str, values: tuple[Any, ...], words: str) -> None:
    for value in values:
        with pytest.raises(BadValue) as refused:
            asked(question, **{option: value})
        assert str(refused.value).startswith(f"{option}={value!r} must be in {words}: "), str(refused.value)
        assert "e.g. 0." in str(refused.value) or option == "beta"


def test_a_margin_of_nothing_and_confidences_down_to_a_coin_are_taken() -> None:
    assert asked("compare", margin=0.0).plan.budget == 2000
    assert asked("rho", confidence=0.500001).plan.confidence == 0.500001
    for value, words in ((0.5, "must be above 0.5"), (1 - 1e-16, "is 1 to 15 digits")):
        with pytest.raises(BadValue, match=words):
            asked("rho", confidence=value)


# Budgets: (question, options, the option that sets the budget, the least that can decide, what is given if nothing is).
BUDGETS: list[tuple[str, dict[str, Any], str, int, int | None]] = [
    ("rho", {}, "fixed", 29, None),
    ("rho", {}, "pairs", 29, 1000),
    ("rho", {"rho": 0.3}, "pairs", 9, 334),
    ("nu", {}, "strings", 14, 334),
    ("nu", {}, "fixed", 11, None),
    ("list_size", {}, "runs", 20, 525),
    ("list_size", {}, "fixed", 20, None),
    ("compare", {}, "pairs", 67, 2000),
    ("compare", {"margin": 0.0}, "pairs", 7, 2000),
    ("compare", {"margin": 0.3}, "pairs", 10, 334),
    ("price", {}, "pairs", 236, 20_000),
    ("curve", {}, "pairs", 128, 2000),
    ("reuse", {}, "fixed", 45, 400),
    ("estimate", {}, "pairs", 43, 1278),
    ("estimate", {"half_width": 0.02}, "pairs", 109, 8513),
    ("estimate", {"confidence": 0.99}, "pairs", 59, 1611),
]


@pytest.mark.parametrize(("question", "options", "option", "least", "usual"), BUDGETS)
def test_the_least_budget_is_named_and_does(
    question: str, options: dict[str, Any], option: str, least: int, usual: int | None
) -> None:
    with pytest.raises(BadValue) as refused:
        asked(question, **options, **{option: least - 1})
    assert str(refused.value).startswith(f"{option}={least - 1} ")
    assert str(least) in str(refused.value).partition(f"{option}={least - 1} ")[2]
    assert asked(question, **options, **{option: least}).plan.budget == least
    if usual is not None:
        assert asked(question, **options).plan.budget == usual


MOST = 10**12


@pytest.mark.parametrize(
    ("question", "options", "words"),
    [
        ("rho", {"pairs": MOST + 1}, "pairs=1000000000001 is more than 1e+12 pairs"),
        ("rho", {"rho": 0.9e-10}, "rho=9e-11 would take more than 1e+12 pairs"),
        ("list_size", {"runs": MOST + 1}, "--runs 1000000000001 would take more than 1e+12 runs"),
        ("list_size", {"fixed": MOST + 1}, "--fixed 1000000000001 would take more than 1e+12 runs"),
        ("list_size", {"list_size": MOST}, "--list-size 1000000000000 --eta 0.2 would take more than 1e+12 runs"),
        ("compare", {"pairs": MOST + 1}, "pairs=1000000000001 is more than 1e+12 pairs"),
        ("price", {"rho": 0.9e-12}, "rho=9e-13 would take more than 1e+12 pairs, which no search finishes"),
        ("price", {"rho": 1.9e-9}, "rho=1.9e-09 would take more than 1e+12 pairs: give --pairs"),
        ("nu", {"strings": MOST + 1}, "strings=1000000000001 is more than 1e+12 strings"),
        ("nu", {"runs": 2001}, "runs=2001 must be at most 2,000"),
        ("nu", {"eta": 0.001, "runs": 2}, "runs=2 are too few to tell strings apart by eta 0.001: use --runs 2000"),
        (
            "nu",
            {"eta": 0.00099},
            "eta=0.00099 takes 2,021 runs with each r, and 2,000 are the most: use --eta 0.001 or",
        ),
    ],
)
def test_what_no_audit_finishes_is_refused(question: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        asked(question, **options)
    assert words in str(refused.value)


def test_what_an_audit_may_just_finish_is_taken() -> None:
    assert asked("rho", pairs=MOST).plan.budget == MOST
    assert asked("rho", rho=1e-10).plan.budget == MOST
    assert asked("compare", pairs=MOST).plan.budget == MOST
    assert asked("nu", strings=MOST).plan.budget == MOST
    assert asked("nu", runs=2).plan.runs == 2
    assert [asked("nu", eta=eta).plan.runs for eta in (0.7, 0.5, 0.4, 0.3)] == [4, 4, 5, 7]


@pytest.mark.parametrize(
    ("question", "options", "words"),
    [
        ("rho", {"pairs": 100, "fixed": 101}, "--pairs 100 and --fixed 101 are two designs"),
        ("rho", {"private": "both"}, "--private both: tests.questions.test_refusals:plain has no parameter private"),
        ("rho", {"inputs": {"q": []}}, "lists no input: give 1 to 10,000"),
        ("rho", {"inputs": {"z": [1]}}, "plain has no parameter 'z': it has q"),
        ("churn", {}, "the view here is output: use --view predict"),
        ("nu", {"strings": 90, "fixed": 91}, "--strings 90 and --fixed 91 are two designs"),
        ("list_size", {"runs": 50, "fixed": 51}, "--runs 50 and --fixed 51 are two designs"),
        ("nu", {"nu": None}, "--eta is half of a question: add e.g. --nu 0.1, or --list-size 3"),
        ("nu", {"eta": None}, "--nu is half of a question: add e.g. --eta 0.1"),
        ("nu", {"eta": None, "nu": None}, "nu is asked about with --eta and --nu: add e.g. --eta 0.1"),
        ("nu", {"eta": None, "nu": None, "runs": 5}, "--runs goes with --eta and --nu: add e.g. --eta 0.1"),
        ("nu", {"nu": None, "runs": 5}, "--runs goes with --eta and --nu: add e.g. --nu 0.1"),
        ("nu", {"beta": 0.1}, "plain declares none: drop --beta"),
        (
            "nu",
            {"eta": 0.0009},
            "takes 2,223 runs with each r, and 2,000 are the most: use --eta 0.001 or more",
        ),
        ("nu", {"runs": 2001}, "runs=2001 must be at most 2,000"),
        ("list_size", {"eta": None}, "a list is asked about with --list-size and --eta: add e.g. --eta 0.1"),
        ("list_size", {"list_size": None}, "a list is asked about with --list-size and --eta: add e.g. --list-size 3"),
        ("price", {"size": 5}, "--size 5: the size is what price looks for"),
        ("loss", {"rho": 0.96}, "rho + delta is 1.01: every share is within it"),
        ("loss", {"rho": 0.5, "delta": 0.5}, "rho + delta is 1: every share is within it"),
        ("loss", {"loss": 3}, "--loss 3 is int, not a function"),
        ("loss", {"loss": None}, "--delta goes with --loss"),
        ("loss", {"resample": "split"}, "--resample split draws rows that are not"),
        ("loss", {"resample": "subsample"}, "--resample subsample draws rows that are not"),
        ("loss", {"size": 0}, "--size above 0"),
        ("reuse", {"rho": 0.25}, "(m - 1) rho is 1, and every distance is at most 1: use an --rho below 0.25"),
        ("reuse", {"analyst": 3}, "--analyst 3 is int, not a function"),
        ("reuse", {"on_error": "bottom"}, "--on-error bottom"),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_cure(question: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        asked(question, **options)
    assert words in str(refused.value)
