"""Just an estimate: its interval holds as often as it says, and it stops at the first pair at which it may."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learners import predicted
from rich.console import Console
from support.requests import DIFFERS, ask, carried_out, inquiry_of, timeless

from auditor.errors import BadValue, UsageError
from auditor.flow.run import Silent
from auditor.report.formats.markdown import markdown
from auditor.report.page.records import page_of
from auditor.report.pictures.svg import picture
from auditor.report.progress import Watching
from auditor.report.terminal import as_text
from auditor.statistics.cost import always_enough, fewest_pairs, next_look_at_width
from auditor.statistics.digits import at_least, at_most
from auditor.statistics.interval import MeanEvidence, two_sided
from auditor.trials.trial import Trial

FIRST_BIT, CONSTANT = "algorithms.controls:first_bit", "algorithms.controls:constant"
HALF_WIDTH, CONFIDENCE = 0.15, 0.9
MOST = 10**12


@cache
def limits(n: int, k: int) -> tuple[float, float]:
    return two_sided("anytime", n, k, CONFIDENCE)


def is_narrow(n: int, k: int) -> bool:
    low, high = limits(n, k)
    return high - low <= 2 * HALF_WIDTH


def asked(source: str = "bernoulli(0.5)", subject: Any = FIRST_BIT, **options: Any) -> Any:
    given = {"size": 1, "half_width": HALF_WIDTH, "confidence": CONFIDENCE, **options}
    return inquiry_of(subject, source, "estimate", **given)


def churning(**options: Any) -> Any:
    return asked(predicted.uniform, predicted.fit, size=4, view="predict", measure="churn", **options)


@pytest.mark.parametrize("rho", [0.0, 0.01, 0.05, 0.15, 0.3, 0.5, 0.62, 0.85, 0.99, 1.0])
def test_the_interval_that_it_stops_with_is_wrong_with_probability_alpha_at_most(rho: float) -> None:
    """The exact law over (n, k) of where it stops: Pr[rho is outside the interval there] is at most 1 - confidence."""
    most = asked().plan.budget
    alive, stopped, wrong, widest = {0: 1.0}, 0.0, 0.0, 0.0
    for n in range(1, most + 1):
        moved: dict[int, float] = {}
        for k, mass in alive.items():
            moved[k] = moved.get(k, 0.0) + mass * (1 - rho)
            moved[k + 1] = moved.get(k + 1, 0.0) + mass * rho
        for k in [k for k, mass in moved.items() if mass and is_narrow(n, k)]:
            low, high = limits(n, k)
            mass = moved.pop(k)
            stopped, wrong = stopped + mass, wrong + mass * (not low <= rho <= high)
            widest = max(widest, high - low)
        alive = moved
    assert stopped == pytest.approx(1.0)  # the default budget is always enough
    assert widest <= 2 * HALF_WIDTH
    assert wrong <= 1 - CONFIDENCE
    assert (wrong == 0) == (rho in (0.0, 1.0))


@pytest.mark.parametrize("rho", [0.0, 0.04, 0.2, 0.5, 0.9, 1.0])
def test_it_stops_at_the_first_pair_at_which_the_interval_is_narrow_enough(rho: float) -> None:
    """It does not look at each pair, and misses nothing by that."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        inquiry, k, looks = asked(), 0, 0
        for n in range(1, inquiry.plan.budget + 1):
            differs = bool(rng.random() < rho)
            k, looks = k + differs, looks + (n >= inquiry.look)
            over = inquiry.add(Trial(n - 1, DIFFERS if differs else None, None, 0.0))
            assert over == is_narrow(n, k), (n, k)
            if over:
                break
        assert inquiry.is_over
        assert (inquiry.rho().low, inquiry.rho().high) == limits(n, k)
        assert looks <= 2 + n / 3


@pytest.mark.parametrize("law", ["constant", "uniform", "rare"])
def test_an_estimate_of_churn_stops_at_the_first_pair_too(law: str) -> None:
    rng, inquiry, evidence = np.random.default_rng(6), churning(half_width=0.2), MeanEvidence()
    share = (1 - CONFIDENCE) / 2
    for index in range(inquiry.plan.budget):
        x = {"constant": 0.4, "uniform": rng.random(), "rare": float(rng.random() < 0.1)}[law]
        evidence.add(x)
        width = evidence.upper(share) - evidence.lower(share)
        assert inquiry.add(Trial(index, DIFFERS if x else None, None, 0.0, x)) == (width <= 0.4), index
        if width <= 0.4:
            break
    assert inquiry.decided
    measure = inquiry.answer().measures[0]
    assert (measure.name, measure.estimate) == ("churn", evidence.total / evidence.n)
    assert (measure.low, measure.high) == pytest.approx((evidence.lower(share), evidence.upper(share)))


@pytest.mark.parametrize(("half_width", "confidence"), [(0.2, 0.9), (0.2, 0.95), (0.1, 0.95), (0.1, 0.99)])
def test_how_many_pairs_it_takes(half_width: float, confidence: float) -> None:
    def width(n: int, k: int) -> float:
        low, high = two_sided("anytime", n, k, confidence)
        return high - low

    wanted = 2 * half_width
    fewest, enough = (found(wanted, confidence, MOST) for found in (fewest_pairs, always_enough))
    assert fewest is not None
    assert enough is not None
    assert width(fewest, 0) <= wanted < width(fewest - 1, 0)
    assert max(width(enough, k) for k in range(enough + 1)) <= wanted < width(enough - 1, (enough - 1) // 2)
    assert fewest_pairs(wanted, confidence, fewest) == fewest
    assert fewest_pairs(wanted, confidence, fewest - 1) is None
    assert always_enough(wanted, confidence, enough - 1) is None


def test_an_interval_that_is_exactly_as_wide_as_asked_is_narrow_enough() -> None:
    inquiry = asked(half_width=limits(20, 0)[1] / 2)
    assert inquiry.plan.least_trials == 20
    assert [inquiry.add(Trial(index, None, None, 0.0)) for index in range(20)] == [False] * 19 + [True]


def test_when_it_looks_next() -> None:
    assert [next_look_at_width(10, width, 0.2) for width in (0.4, 0.21, 0.2001, 0.1)] == [20, 11, 11, 11]
    assert [next_look_at_width(100, width, 0.2) for width in (0.4, 0.21, 0.2001)] == [200, 105, 101]


def test_without_a_mismatch_it_stops_after_the_pairs_that_were_announced() -> None:
    notices: list[str] = []

    class Watch(Silent):
        def planned(self, inquiry: Any) -> None:
            notices.append(inquiry.asks)

    record = carried_out(CONSTANT, "norm", "estimate", size=1, watch=Watch())
    assert notices == [
        "how often do two runs differ? rho to within 0.05 (95 % confidence) takes 43 pairs if rho is 0, and 1,278 at "
        "most"
    ]
    assert (record.pairs, record.mismatches, record.exit_code, record.target) == (43, 0, 0, None)
    assert (record.verdict, record.decided_by, record.budget) == ("pass", "mismatches", 1278)
    assert record.error_spent == pytest.approx(0.05)
    assert record.bound is None
    assert record.reason == "No two runs differed in 43 pairs: rho is between 0 and 0.0985 (95 % confidence)"
    assert str(record).startswith(f"ESTIMATE  algorithms.controls:constant\n{record.reason}\n")
    assert "confidence  each interval holds by itself with 95 % confidence" in as_text(record, verbose=True)


def test_what_is_said_of_churn_and_of_too_few_pairs() -> None:
    assert churning().asks.startswith("how many predictions change between two fits? churn to within 0.15 (90 %")
    assert asked(pairs=60).asks.endswith(" pairs if rho is 0, and 60 at most, which may be too few")


@pytest.mark.parametrize(
    ("differing", "pairs", "words"),
    [
        (0, 40, "No two runs differed in 40 pairs: rho is between 0 and "),
        (0, 1, "No two runs differed in 1 pair: rho is between 0 and "),
        (40, 40, "Two runs differed in each of 40 pairs: rho is between 0."),
        (5, 40, "Two runs differed in 5 of 40 pairs: rho is about 0.125, and between 0.0"),
    ],
)
def test_what_was_found_is_said_in_a_users_words(differing: int, pairs: int, words: str) -> None:
    inquiry, fits = asked(half_width=0.01), churning(half_width=0.01)
    for index in range(pairs):
        differs = DIFFERS if index < differing else None
        inquiry.add(Trial(index, differs, None, 0.0))
        fits.add(Trial(index, differs, None, 0.0, float(index < differing)))
    verdict = inquiry.verdict()
    assert (verdict.outcome, verdict.decided_by) == ("inconclusive", "budget")
    assert verdict.reason.startswith(words)
    assert verdict.reason.endswith("; this interval is wider than asked, which was rho to within 0.01")
    of_churn = {
        0: "No prediction changed in",
        40: "Every prediction changed in",
        5: "Two fits disagree on about 12.5 %",
    }
    assert fits.verdict().reason.startswith(of_churn[differing])
    assert asked().verdict().reason == "no pair was run, so nothing is known of rho"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"pairs": 42, "half_width": 0.05, "confidence": 0.95},
            "even if no pair differs it takes 43 pairs; use --pairs",
        ),
        ({"pairs": MOST + 1}, "is more than 1e+12 pairs"),
        ({"half_width": 1e-7}, "may take more than 1e+12 pairs: use a larger one"),
        ({"half_width": 1e-13, "pairs": 1000}, "may take more than 1e+12 pairs: use a larger one"),
        ({"measure": "nu"}, "must be one of rho, churn"),
        ({"measure": "churns"}, r"did you mean churn\?"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadValue, match=words.replace("+", r"\+")):
        asked(**options)
    assert asked(pairs=MOST).plan.budget == MOST


def test_churn_needs_predictions() -> None:
    with pytest.raises(UsageError, match="counts predictions, and the view here is sign: use --view predict"):
        asked(measure="churn", view="sign")


def test_more_pairs_go_on_where_too_few_ended_and_a_finished_estimate_stays(tmp_path: Path) -> None:
    given: dict[str, Any] = {"size": 1, "half_width": 0.1, "ledger": tmp_path / "audits.sqlite"}

    def estimated(**options: Any) -> Any:
        return ask("estimate", FIRST_BIT, "bernoulli(0.3)", **given, **options)

    short = estimated(pairs=40)
    assert (short.verdict, short.exit_code, short.pairs) == ("inconclusive", 3, 40)
    assert short.reason.endswith("; --pairs 297 is always enough, and from a --ledger --resume goes on from here")
    whole = estimated(resume=True, pairs=297)
    assert (whole.verdict, whole.exit_code, whole.first_budget) == ("pass", 0, None)
    again = ask("estimate", FIRST_BIT, "bernoulli(0.3)", size=1, half_width=0.1)
    without = {name: part for name, part in timeless(whole).items() if name != "asked"}
    assert without == {name: part for name, part in timeless(again).items() if name != "asked"}
    with pytest.raises(UsageError, match="it was decided: pass"):
        estimated(resume=True, pairs=400)
    with pytest.raises(UsageError, match=r"half_width: 0\.1 and 0\.05"):
        ask("estimate", FIRST_BIT, "bernoulli(0.3)", **{**given, "half_width": 0.05}, resume=True)


def test_the_forecast_is_what_it_takes_if_pairs_go_on_as_they_did() -> None:
    inquiry = asked()
    assert inquiry.outlook().forecast is None
    for index in range(10):
        inquiry.add(Trial(index, DIFFERS if index % 5 == 0 else None, None, 0.0))
    forecast = inquiry.outlook().forecast
    n = 10 + int(forecast)
    assert is_narrow(n, round(n / 5))
    assert not is_narrow(n - 1, round((n - 1) / 5))
    short = asked(pairs=30)
    for index in range(10):
        short.add(Trial(index, DIFFERS if index % 2 else None, None, 0.0))
    assert short.outlook().forecast is None


def test_its_pictures_have_no_target() -> None:
    record = ask("estimate", FIRST_BIT, "bernoulli(0.2)", size=1, half_width=0.2)
    svg, page = picture(record).decode(), page_of(record)
    assert "where it may be: measured" in svg
    assert "the target" not in svg
    low, high = (rounded(limit) for rounded, limit in ((at_least, record.rho.low), (at_most, record.rho.high)))
    assert f"seen {record.rho.estimate:.3g}; may be {low} to {high}<" in page
    assert 'class="target"' not in page
    assert "the black line is the target" not in page
    assert "the black line is the target" in page_of(ask("rho", FIRST_BIT, "bernoulli(0.2)", size=1))
    assert "| target |" not in markdown([record], 0.95)
    assert "seen" in as_text(record, verbose=True)
    assert "target" not in as_text(record, verbose=True)


def test_the_time_that_it_may_take_speaks_of_no_pass() -> None:
    file = io.StringIO()
    with Watching(Console(file=file, width=200)) as watch:
        watch.planned(asked(half_width=0.05, confidence=0.95))
        watch.timed(0.5)
    said = file.getvalue().rstrip().splitlines()[-1]
    assert said.startswith("one run takes 500 ms: it takes at least 43 s; it ends after 21 min at the latest")
