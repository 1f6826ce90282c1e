"""How a comparison divides its alpha: every limit at its own level, every statement at its share, each exactly.

The counts are told to the inquiry, so that nothing is run; what it says is held against the evidence itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace
from support.requests import DIFFERS, audit, inquiry_of

from auditor.flow.record import Record
from auditor.questions.compare.records import compare_records
from auditor.statistics.interval import sequence_lower, sequence_upper, two_sided
from auditor.statistics.paired import (
    Halves,
    ShownChange,
    VersionCounts,
    log_e_above,
    log_e_below,
    mean_lower,
    mean_upper,
    shown_by_pairs,
)
from auditor.trials.trial import Trial

COIN, MARGIN = "bernoulli(0.5)", 0.05
NEITHER, BY_OLD, BY_NEW, BY_BOTH = (False, False), (True, False), (False, True), (True, True)
Pair = tuple[bool, bool]  # whether it differs in the old version, and in the new


def steady(sample: Any, r: Any) -> int:
    return 1


def told(pairs: Sequence[Pair], changed: Sequence[int] = (), **options: Any) -> Any:
    """An inquiry that was told of these pairs, and in how many runs of each the two versions differ."""
    inquiry: Any = inquiry_of(steady, COIN, "compare", **{"size": 9, "old": steady, "margin": MARGIN, **options})
    for index, (old, new) in enumerate(pairs):
        differ = changed[index] if index < len(changed) else 0
        both = (old, ["same"] * 2), (new, ["other"] * differ + ["same"] * (2 - differ))
        was, now = (
            Trial(index, DIFFERS if differs else None, None, 0.0, payload={"prints": prints, "elements": None})
            for differs, prints in both
        )
        inquiry.add(was, now)
    return inquiry


@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_every_interval_of_a_comparison_has_half_of_alpha_on_either_side(confidence: float) -> None:
    """40 pairs: 6 differ in the old version alone, 2 in the new alone, 4 in both; one run changed in 5, two in 3."""
    pairs = [BY_OLD] * 6 + [BY_NEW] * 2 + [BY_BOTH] * 4 + [NEITHER] * 28
    inquiry = told(pairs, [1] * 5 + [2] * 3, confidence=confidence)
    said = inquiry.answer()
    fields, half = said.fields, (1 - confidence) / 2
    old, new = two_sided("anytime", 40, 10, confidence), two_sided("anytime", 40, 6, confidence)
    assert old == pytest.approx((sequence_lower(40, 10, half), sequence_upper(40, 10, half)), abs=1e-12)
    apart = Halves(zero=6, half=32, one=2)
    between = (2 * mean_lower(apart, half) - 1, 2 * mean_upper(apart, half) - 1)
    answers = Halves(zero=32, half=5, one=3)
    moved = mean_lower(answers, half), mean_upper(answers, half)

    expected: dict[str, tuple[float, tuple[float, float], Any]] = {
        "rho_new - rho_old": (-4 / 40, between, (None, None)),
        "rho of the new": (6 / 40, new, (6, 40)),
        "rho of the old": (10 / 40, old, (10, 40)),
        "answers that changed": (11 / 80, moved, (11, 80)),
    }
    for measure in said.measures:
        rate, limits, counts = expected.pop(measure.name)
        assert (measure.estimate, measure.low, measure.high) == pytest.approx((rate, *limits), abs=1e-12)
        assert (measure.count, measure.of) == counts
        assert measure.confidence == confidence
    assert not expected
    for side, limits, count in ((fields.old, old, 10), (fields.new, new, 6)):
        assert (side.low, side.high, side.confidence) == (*limits, confidence)
        assert (side.pairs, side.mismatches, side.estimate) == (40, count, count / 40)
    assert (fields.difference.low, fields.difference.high) == pytest.approx(between, abs=1e-12)
    found = fields.changed
    assert (found.runs, found.differ, found.first, found.confidence) == (80, 11, 0, confidence)
    assert (found.low, found.high) == pytest.approx(moved, abs=1e-12)
    assert [(row.name, row.low, row.high, row.confidence) for row in said.rows] == [
        ("new", *new, confidence),
        ("old", *old, confidence),
    ]
    assert (said.rho.low, said.rho.high, said.rho.confidence) == (*new, confidence)
    assert (said.pairs, said.mismatches) == (40, 6)
    assert fields.discordant == type(fields.discordant)(old=6, new=2, both=4, neither=28)
    assert fields.error == inquiry.verdict().error_spent == pytest.approx(1 - confidence)


# What is shown.


def lattice(most: int) -> Iterator[VersionCounts]:
    for old in range(most + 1):
        for new in range(most + 1 - old):
            for neither in (0, 3, most - old - new):
                yield VersionCounts(neither, old, new)


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_within_has_all_of_alpha_and_beyond_half(alpha: float) -> None:
    """At every count up to 24: shares of half or twice as much would decide at others."""
    p, decided = (1 + MARGIN) / 2, dict.fromkeys((alpha / 4, alpha / 2, alpha, 2 * alpha), 0)
    for seen in lattice(24):
        shown = shown_by_pairs(seen, alpha, MARGIN, 400)
        above, below = log_e_above(seen.halves, p), log_e_below(seen.halves, p)
        assert shown.within == (below >= -math.log(alpha))
        assert shown.beyond == (shown.worse and above >= -math.log(alpha / 2))
        assert not shown.better or shown.within
        for share in decided:
            decided[share] += above >= -math.log(share)
    assert len({*decided.values()}) == 4


def ever_by_discordant(pairs: int, kinds: slice) -> float:
    """The chance that 'better' or 'worse' is ever shown, where every pair is discordant and either way as likely."""
    alive, reached = {0: 1.0}, 0.0
    for n in range(1, pairs + 1):
        then: dict[int, float] = {}
        for new, mass in alive.items():
            for more in (0, 1):
                then[new + more] = then.get(new + more, 0.0) + mass / 2
        alive = {}
        for new, mass in then.items():
            if any(shown_by_pairs(VersionCounts(0, n - new, new), 0.05, 0.9, pairs)[kinds]):
                reached += mass
            else:
                alive[new] = mass
    return reached


@pytest.mark.parametrize(("kinds", "share"), [(slice(0, 2), 0.05), (slice(0, 1), 0.025), (slice(1, 2), 0.025)])
def test_better_and_worse_have_half_of_alpha_each(kinds: slice, share: float) -> None:
    """Under a margin that everything is within, so that 'better' is said wherever it is shown."""
    wrong = ever_by_discordant(60, kinds)
    print(f"{('better', 'worse')[kinds]}: wrong with probability {wrong:.5f}, allowed {share}")
    assert share / 2 < wrong <= share


WITHIN, WORSE, BETTER = (
    ShownChange(within=True),
    ShownChange(worse=True, beyond=True),
    ShownChange(better=True, within=True),
)


@pytest.mark.parametrize(
    ("first", "then", "before", "after", "alone"),
    [
        ([NEITHER] * 70, BY_NEW, WITHIN, ShownChange(worse=True, within=True), WORSE),
        ([BY_NEW] * 20, BY_OLD, WORSE, WORSE, BETTER),
        ([BY_OLD] * 20, BY_NEW, BETTER, BETTER, WORSE),
    ],
    ids=["within, then beyond", "worse beyond, then better within", "better within, then worse beyond"],
)
def test_of_two_things_that_exclude_each_other_the_first_stays(
    first: list[Pair], then: Pair, before: ShownChange, after: ShownChange, alone: ShownChange
) -> None:
    """Each has its own share of alpha; what would say both would spend it twice, and could say nothing in the end."""
    assert told(first).shown == before
    inquiry = told([*first, *[then] * 400])
    assert inquiry.shown == after
    assert shown_by_pairs(inquiry.counts, 0.05, MARGIN, inquiry.plan.budget) == alone, "what the counts alone show"


def test_what_is_decided_is_the_verdict_whatever_comes_later() -> None:
    inquiry = told([NEITHER] * 70 + [BY_NEW] * 400)
    assert (inquiry.verdict().outcome, inquiry.answer().fields.change) == ("pass", "worse")
    assert inquiry.verdict().reason.startswith(
        "The new version is a little less reproducible: rho rose, and rose by no more than 0.05, the margin (95 % "
    )
    assert inquiry.settled == 67, "where the margin was settled, and not where it was looked at last"


# Two records of audits that stopped by themselves: each limit is one of two that may be wrong.


@cache
def of_steady() -> Record:
    return audit(steady, COIN, size=9, fixed=40)


def audited(mismatches: int, pairs: int = 200, **changes: Any) -> Record:
    return replace(of_steady(), pairs=pairs, mismatches=mismatches, **changes)


@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_limits_of_two_records_have_a_quarter_of_alpha_each(confidence: float) -> None:
    """Two limits of each side, two sides: whichever of the four is wrong, the interval may be."""
    found = compare_records(audited(20), audited(50, seed=1), confidence=confidence)
    quarter, apart = (1 - confidence) / 4, found.answer.difference
    low = sequence_lower(200, 50, quarter) - sequence_upper(200, 20, quarter)
    high = sequence_upper(200, 50, quarter) - sequence_lower(200, 20, quarter)
    assert (apart.low, apart.high) == pytest.approx((low, high), abs=1e-12)
    assert (apart.estimate, apart.confidence) == (pytest.approx(0.15), confidence)
    (measure,) = found.measures
    assert (measure.low, measure.high, measure.confidence) == (apart.low, apart.high, confidence)
    for side, row, k in ((found.answer.old, found.cells[1], 20), (found.answer.new, found.cells[0], 50)):
        limits = two_sided("anytime", 200, k, confidence)
        assert (side.low, side.high, side.mismatches) == (*limits, k)
        assert (row.low, row.high, row.mismatches, row.confidence) == (*limits, k, confidence)
    assert [row.name for row in found.cells] == ["new", "old"]
    assert (found.rho.low, found.rho.high) == two_sided("anytime", 200, 50, confidence)
    assert (found.error_spent, found.confidence) == (pytest.approx(1 - confidence), confidence)


@pytest.mark.parametrize(("old", "margin"), [(0, 0.1), (20, 0.1), (20, 0.0)])
def test_two_records_show_what_their_limits_at_their_shares_show(old: int, margin: float) -> None:
    """'within' has alpha, a half for each limit; 'better', 'worse' and 'beyond' have half of that."""
    verdicts = set()
    for k in range(0, 200, 4):
        found = compare_records(audited(old), audited(k, seed=1), margin=margin)
        low = sequence_lower(200, k, 0.0125) - sequence_upper(200, old, 0.0125)
        high = sequence_upper(200, k, 0.0125) - sequence_lower(200, old, 0.0125)
        within = sequence_upper(200, k, 0.025) - sequence_lower(200, old, 0.025) <= margin
        change = "better" if high < 0 else "worse" if low > 0 else "no difference shown"
        verdict = "fail" if low > margin else "pass" if within or high < 0 else "inconclusive"
        assert (found.answer.change, found.verdict) == (change, verdict), k
        verdicts.add(verdict)
    assert {"fail", "inconclusive"} <= verdicts


def test_records_of_the_same_pairs_are_held_to_the_smaller_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first k pairs differ in the new version, none in the old: 'worse' is calibrated to the smaller budget."""
    monkeypatch.setattr(
        Record, "trials", lambda self: {"index": [*range(60)], "differs": [i < self.mismatches for i in range(60)]}
    )
    old, by_other_plans = audited(0, 60, budget=4000), set()
    for k in range(20):
        new = audited(k, 60, budget=60)
        found, shown = compare_records(old, new), shown_by_pairs(VersionCounts(60 - k, 0, k), 0.05, MARGIN, 60)
        assert found.answer.method == "paired"
        assert found.answer.change == ("worse" if shown.worse else "no difference shown"), k
        assert found.verdict == ("fail" if shown.beyond else "pass" if shown.within else "inconclusive"), k
        back = shown_by_pairs(VersionCounts(60 - k, k, 0), 0.05, MARGIN, 60)
        assert compare_records(new, old).answer.change == ("better" if back.better else "no difference shown"), k
        for name, alpha, budget in (("alpha", 0.1, 60), ("budget", 0.05, 4000)):
            if shown_by_pairs(VersionCounts(60 - k, 0, k), alpha, MARGIN, budget).worse != shown.worse:
                by_other_plans.add(name)
    assert by_other_plans == {"alpha", "budget"}
