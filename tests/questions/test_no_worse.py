"""Held to no worse than a baseline: errors by exact laws, what is said, and when it stops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from scipy.stats import binom
from support.requests import ask, inquiry_of

from auditor.errors import BadValue, UsageError
from auditor.flow.record import as_record, to_json
from auditor.questions.no_worse import BaselineCounts, NoWorse, baseline_facts
from auditor.report.formats.markdown import markdown
from auditor.report.page.records import page_of_several
from auditor.report.terminal import as_text
from auditor.report.words import baseline_offers
from auditor.statistics.digits import at_least, at_most
from auditor.statistics.interval import sequence_upper
from auditor.statistics.two_samples import Counts, highest, lowest

FIRST_BIT = "algorithms.controls:first_bit"
MARGIN, PAIRS, ALPHA = 0.1, 24, 0.2


def held(before: BaselineCounts, *, pairs: int = PAIRS, confidence: float = 1 - ALPHA, family: int = 1) -> NoWorse:
    asked = {"size": 1, "pairs": pairs, "confidence": confidence, "family": family}
    inquiry = inquiry_of(FIRST_BIT, "bernoulli(0.1)", baseline=before, **asked)
    assert isinstance(inquiry, NoWorse)
    return inquiry


def asked(p: float, before: BaselineCounts, **options: Any) -> Any:
    """first_bit differs with probability 2 p (1 - p)."""
    return ask("rho", FIRST_BIT, f"bernoulli({p})", size=1, baseline=before, **options)


def stops(rho: float) -> Iterator[tuple[int, int, float]]:
    """The law of an audit that stops at its fourth mismatch, or after 24 pairs: (pairs, mismatches, probability)."""
    yield from ((PAIRS, k, float(binom.pmf(k, PAIRS, rho))) for k in range(4))
    yield from ((n, 4, rho * float(binom.pmf(3, n - 1, rho))) for n in range(4, PAIRS + 1))


def ever(inquiry: NoWorse, side: str, rho: float) -> float:
    """The exact probability that today's pairs cross a boundary within the budget."""
    alive, crossed = np.zeros(PAIRS + 2), 0.0
    alive[0] = 1.0
    for n in range(1, PAIRS + 1):
        alive[1:] = alive[1:] * (1 - rho) + alive[:-1] * rho
        alive[0] *= 1 - rho
        over = [k for k in range(n + 1) if is_over(inquiry, side, n, k)]
        crossed += alive[over].sum()
        alive[over] = 0.0
    return float(crossed)


def is_over(inquiry: NoWorse, side: str, n: int, k: int) -> bool:
    if side == "worse":
        return inquiry.gate.is_fail(n, k)
    return inquiry.within.is_pass(n, k)


def may_be_held(before: BaselineCounts, family: int = 1) -> NoWorse | None:
    """None where nothing could be worse: then nothing is said, and so nothing wrong."""
    try:
        return held(before, family=family)
    except UsageError:
        return None


@pytest.mark.parametrize("side", ["worse", "within"])
def test_a_wrong_verdict_is_as_rare_as_stated_after_a_baseline_that_stopped(side: str) -> None:
    """At rho_new = rho_old + margin both verdicts are at their worst; old and new counts are independent here."""
    errors = {}
    for rho in (0.02, 0.2, 0.5):
        law = [(may_be_held(BaselineCounts(n, k, MARGIN)), weight) for n, k, weight in stops(rho)]
        assert sum(weight for _, weight in law) == pytest.approx(1)
        errors[rho] = sum(weight * ever(one, side, rho + MARGIN) for one, weight in law if one)
    print(side, errors)
    assert max(errors.values()) <= ALPHA
    assert max(errors.values()) > 1e-4  # it can happen at all


@pytest.mark.parametrize("rho", [0.05, 0.3])
def test_a_wrong_fail_is_as_rare_where_both_saw_the_same_pairs(rho: float) -> None:
    """One seed: a pair differs in both versions, in the new one alone, or in neither; exact, over all three kinds."""
    error = 0.0
    later = [binom.pmf(np.arange(PAIRS + 1), left, rho) for left in range(PAIRS + 1)]  # of the old's mismatches
    for final in range(PAIRS + 1):
        inquiry = may_be_held(BaselineCounts(PAIRS, final, MARGIN))
        alive = np.zeros((PAIRS + 1, PAIRS + 1))  # by mismatches of the old and of the new
        alive[0, 0] = 1.0
        for n in range(1, PAIRS + 1 if inquiry else 1):
            alive, was = alive * (1 - rho - MARGIN), alive
            alive[1:, 1:] += was[:-1, :-1] * rho
            alive[:, 1:] += was[:, :-1] * MARGIN
            over = [k for k in range(n + 1) if inquiry and is_over(inquiry, "worse", n, k)]
            error += alive[: final + 1, over].sum(axis=1) @ later[PAIRS - n][final::-1]
            alive[:, over] = 0.0
    print(rho, error)
    assert 0 < error <= ALPHA


def test_of_several_that_are_to_be_no_worse_each_fails_with_its_share() -> None:
    """Exact, at the largest rho that is not worse; what is common to them, the baseline's half, is not in it."""
    alone = held(BaselineCounts(24, 2, MARGIN))
    target = alone.plan.target or 0.0
    for shared in (alone.planned(cells=4), alone.planned(family=4)):
        assert 0 < ever(shared, "worse", target) <= ALPHA / 8 < ever(alone, "worse", target)


@pytest.mark.parametrize("family", [2, 4])
def test_of_a_family_with_a_baseline_each_a_wrong_fail_has_its_share_of_both_halves(family: int) -> None:
    """Exact, over the baseline's counts and today's."""
    for rho in (0.02, 0.2, 0.5):
        law = [(may_be_held(BaselineCounts(n, k, MARGIN), family), weight) for n, k, weight in stops(rho)]
        assert sum(weight * ever(one, "worse", rho + MARGIN) for one, weight in law if one) <= ALPHA / family
        assert sum(weight for one, weight in law if one and one.limits[1] < rho) <= ALPHA / 2 / family
    alone, one = held(BaselineCounts(24, 2, MARGIN)), held(BaselineCounts(24, 2, MARGIN), family=family)
    assert one.limits == (alone.limits[0], sequence_upper(24, 2, ALPHA / 2 / family))  # a pass has all of its half


@pytest.mark.parametrize("answer", [None, [1], "text", {}])
def test_what_another_program_wrote_as_an_answer_has_no_baseline(answer: object) -> None:
    record = asked(0.1, BaselineCounts(24, 2, MARGIN), pairs=30)
    assert [*baseline_facts(record)]
    assert not [*baseline_facts(replace(record, answer=answer))]


def test_a_verdict_is_that_of_the_two_samples() -> None:
    """For each pair of counts; the limit that is worse is rounded up to the three digits that are shown."""
    for old in (Counts(40, 3), Counts(40, 20)):
        inquiry = held(BaselineCounts(*old, MARGIN))
        target = inquiry.plan.target or 0.0
        assert 0 <= target - inquiry.limits[1] - MARGIN < 0.01 * target
        slack = target - inquiry.limits[1] - MARGIN
        for n in range(1, PAIRS + 1):
            for k in range(n + 1):
                new = Counts(n, k)
                assert is_over(inquiry, "within", n, k) == (highest(old, new, ALPHA) <= MARGIN)
                assert is_over(inquiry, "worse", n, k) == (lowest(old, new, ALPHA) > MARGIN + slack)


@pytest.mark.parametrize(
    ("limit", "shown"),
    [
        (0.3125, ("0.3125", "0.1875")),
        (0.31249, ("0.3125", "0.1875")),
        (0.3125 + 2**-11, ("0.313", "0.187")),
        (0.25, ("0.25", "0.187")),
    ],
)
def test_limits_have_the_digits_that_tell_on_which_side_of_the_margin_they_are(
    limit: float, shown: tuple[str, str]
) -> None:
    inquiry = held(BaselineCounts(PAIRS, 2, 0.125))
    assert inquiry._apart(at_most, limit, at_least, 0.1875) == shown


def test_a_change_is_noticed_soon_and_the_same_code_runs_its_pairs() -> None:
    worse = asked(0.4, BaselineCounts(1000, 100))
    assert (worse.verdict, worse.exit_code, worse.pairs < 100) == ("fail", 1, True)
    assert worse.bound.value > worse.target > 0.15
    assert "worse by more than the margin 0.05 (95 % confidence)" in worse.reason
    same = replace(asked(0.06, BaselineCounts(1000, 90)), expect="no worse")
    assert (same.verdict, same.pairs, same.is_as_expected) == ("inconclusive", 1000, True)
    assert "shown neither to be worse by more than the margin 0.05" in same.reason
    clean = asked(0.0, BaselineCounts(1000, 0))
    assert (clean.verdict, clean.pairs < 100, clean.answer.baseline.is_better) == ("pass", True, False)


def test_it_goes_on_until_an_improvement_is_shown_and_offers_it() -> None:
    better = asked(0.005, BaselineCounts(1000, 100), rho=0.02)
    found = better.answer.baseline
    assert (better.verdict, found.shown, found.is_better) == ("pass", "no worse", True)
    assert found.low > better.bound.value
    ((words, subject),) = baseline_offers([better])
    assert subject == FIRST_BIT
    assert words.startswith("rho fell from about 0.1 to about 0")
    again = as_record(msgspec.json.decode(to_json(better)))
    assert [*baseline_offers([again])] == [(words, subject)]
    assert f"`{FIRST_BIT}`: {words}" in markdown([again, again], 0.95)
    assert f"{FIRST_BIT}: {words}" in page_of_several([again, again], 0.95)


def test_without_a_baseline_all_pairs_are_counted_and_nothing_is_held_against_them() -> None:
    record = asked(0.5, BaselineCounts(), pairs=60)
    assert (record.verdict, record.pairs, record.target) == ("pass", 60, None)
    assert record.answer.baseline.shown == "measured"
    assert "which later runs are held against" in record.reason


def test_the_report_has_the_baseline_and_whose_error_it_is() -> None:
    record = asked(0.4, BaselineCounts(1000, 100))
    text = " ".join(as_text(record, verbose=True).split())
    assert "baseline 100 mismatches in 1,000 pairs; rho was between 0.0" in text
    assert "its half of the error is common to all runs that use it" in text
    assert "closer" not in text  # the verdict's limit is that of the interval
    assert "baseline" not in record.asked


@pytest.mark.parametrize(
    ("before", "options", "words"),
    [
        (BaselineCounts(10, 10), {}, "leaves room for every rho, so that none is worse by 0.05"),
        (BaselineCounts(10, 1, 1.0), {}, r"margin=1.0 must be in \[0, 1\)"),
        (BaselineCounts(10, 1), {"fixed": 9}, "fixed = 9 does not go with expect = 'no worse'"),
        (BaselineCounts(10, 1), {"pairs": 0}, "pairs=0 must be an integer of at least 1"),
    ],
)
def test_what_cannot_be_held_against_gets_a_sentence(
    before: BaselineCounts, options: dict[str, Any], words: str
) -> None:
    with pytest.raises((UsageError, BadValue), match=words):
        asked(0.1, before, **options)


def test_an_expectation_of_no_worse_is_met_by_what_was_run_and_is_not_worse() -> None:
    record = replace(asked(0.05, BaselineCounts(1000, 100), pairs=50), expect="no worse")
    met = {
        verdict: replace(record, verdict=verdict).is_as_expected
        for verdict in ("pass", "inconclusive", "fail", "error")
    }
    assert met == {"pass": True, "inconclusive": True, "fail": False, "error": False}
    nothing = replace(record, verdict="inconclusive", pairs=0, cells=[])
    assert not nothing.is_as_expected
