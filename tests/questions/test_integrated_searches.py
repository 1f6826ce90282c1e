"""Price and curve of a learner that declares its last step: shares of finishes in place of coins, on exact truths."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy.stats import binom
from support.requests import ask, bench_of, inquiry_of

import auditor
from algorithms.statistical_query import query_mean, region_width, to_region, within_tau
from auditor.flow.question import drive
from auditor.flow.record import Record
from auditor.questions.cell_inquiries import count_cell
from auditor.questions.curve.answer import answer_of as curve_answer
from auditor.questions.price import make_claims
from auditor.questions.price.answer import answer_of as price_answer
from auditor.report.page.records import page_of
from auditor.report.pictures.svg import picture
from auditor.report.terminal import as_text
from auditor.statistics.bracket import MOST_PROBES
from auditor.statistics.interval import MeanEvidence
from auditor.trials.integrated import FEWER, CorePair, run_searched
from auditor.trials.trial import Trial

TAU, RHO, DELTA = 0.1, 0.3, 0.1
WIDTH = region_width(TAU, RHO, DELTA)
ALPHA = 0.05
SETTINGS: dict[str, Any] = {"tau": TAU, "rho": RHO, "delta": DELTA, "query": None}

rounded = auditor.composed(  # rSTAT, without what takes time: bounds, and the theorem's number of rows
    source="bernoulli(0.5)", sample="counts", size=3000, delta=DELTA, accuracy=within_tau, core=query_mean,
    finish=to_region, defaults=SETTINGS,
)  # fmt: skip


def exact_rho(size: int) -> float:
    """E min(1, |V1 - V2| / width) of the means of fair coins, by convolution."""
    law = binom.pmf(np.arange(size + 1), size, 0.5)
    apart = np.abs(np.arange(-size, size + 1)) / size
    return float(np.convolve(law, law[::-1]) @ np.minimum(1.0, apart / WIDTH))


def exact_inaccurate(size: int) -> float:
    """Pr[|V + U - 1/2| > tau] with U uniform over a region's width, by the law of V."""
    off = np.arange(size + 1) / size - 0.5
    beyond = np.maximum(0, off + WIDTH / 2 - TAU) + np.maximum(0, -TAU - off + WIDTH / 2)
    return float(binom.pmf(np.arange(size + 1), size, 0.5) @ np.minimum(1.0, beyond / WIDTH))


@pytest.fixture(scope="module")
def priced() -> Record:
    return ask("price", rounded, rho=RHO, confidence=1 - 1e-6)


def test_both_brackets_of_a_price_hold_the_exact_sizes(priced: Record) -> None:
    """False alarm 1e-6, by the confidence. More rows never hurt here, which the exact values show."""
    for asked, exact in zip(price_answer(priced).asked, (exact_rho, exact_inaccurate), strict=True):
        least = next(size for size in range(1, 5000) if exact(size) <= asked.limit)
        print(f"{asked.claim}: {least} rows, in {asked.low} to {asked.high}")
        assert asked.low is not None
        assert asked.high is not None
        assert asked.low < least <= asked.high
        assert asked.high < 10 * asked.low
    for row in priced.cells:
        if row.size < 5000:
            assert row.low <= exact_rho(row.size) <= row.high
    assert price_answer(priced).averages_r
    assert (priced.pairs or 0) <= priced.budget < 3000, "coins have 2,000 / rho and 2,000 / delta"


def test_every_report_says_that_rates_are_averaged(priced: Record) -> None:
    curve = ask("curve", rounded, vary="size=50,400", pairs=200)
    for record in (priced, curve):
        for text in (as_text(record, width=500), as_text(record, width=500, verbose=True)):
            assert "Rates are averaged over r" in text
        assert "averaged over r" in page_of(record)
        assert b"<svg" in picture(record)


def test_the_bands_and_the_exponent_of_a_curve_hold_the_exact_ones() -> None:
    """False alarm 1e-6, by the confidence; the slope between any two sizes is near that of a power law."""
    record = ask("curve", rounded, vary="size=50,400,3200", pairs=900, confidence=1 - 1e-6)
    for row in record.cells:
        exact = exact_rho(row.size)
        print(f"{row.size}: {exact:.4f} in [{row.low:.4f}, {row.high:.4f}] by {row.pairs} pairs")
        assert row.low <= exact <= row.high
        assert row.estimate != row.mismatches / row.pairs, "a mean of shares, and no rate of coins"
    fitted = curve_answer(record).exponent
    assert fitted is not None
    assert fitted.holds
    assert fitted.low <= -0.5 <= fitted.high
    assert fitted.confidence == record.confidence, "that of all bands together, of which it is made"
    assert record.rho is not None
    assert record.rho.method == "betting confidence sequences on real finishes"


def test_coins_are_counted_where_somebody_asks_for_it() -> None:
    for question, options in (("price", {"rho": 0.3, "pairs": 1000}), ("curve", {"vary": "size=50,400", "pairs": 200})):
        record = ask(question, rounded, **options, no_integrate=True)
        assert [row.estimate for row in record.cells] == [row.mismatches / row.pairs for row in record.cells]
        assert "not-integrated" in {one.kind for one in record.findings}
        assert not msgspec.to_builtins(record.answer)["averages_r"]


# Each decision has its share of the error, and no more.


def trial(index: int, apart: int, inaccurate: tuple[float, ...] = ()) -> Trial:
    shown = CorePair(None, apart, finishes=FEWER, inaccurate=inaccurate)
    return Trial(index, None, not sum(inaccurate), 0.0, payload=msgspec.to_builtins(shown))


def least(value: float, limit: float, alpha: float, *, passes: bool) -> int:
    """Return after how many of equal values a bet on their mean has the evidence."""
    evidence, needed = MeanEvidence(), -math.log(alpha)
    while (evidence.log_e_pass(limit) if passes else evidence.log_e_fail(limit)) < needed:
        evidence.add(value)
    return evidence.n


@pytest.mark.parametrize("limits", [{"reproducible": 0.3}, {"reproducible": 0.3, "accurate": 0.2}], ids=len)
@pytest.mark.parametrize("passes", [True, False])
def test_every_size_of_a_price_has_its_share(limits: dict[str, float], passes: bool) -> None:
    """Each claim asks 24 sizes at most and may ask those of the other: all gates together have alpha."""
    _, claims = make_claims(limits, 3000, 1 - ALPHA, integrates=True)
    cell = inquiry_of(rounded, question="rho").cells[0]
    value = 0.0 if passes else 0.375
    for claim in claims:
        share = ALPHA / (len(claims) ** 2 * MOST_PROBES)
        each = 1 if claim.name == "reproducible" else 2  # values that a pair has
        pairs = {part: math.ceil(least(value, claim.gate.target, part, passes=passes) / each) for part in
                 (share / 4, share, 4 * share)}  # fmt: skip
        one = count_cell(cell, 1 - ALPHA, integrates=True)
        while claim.passes(cell.size, one) is None:
            one.add(trial(one.tally.pairs, round(value * FEWER), (value, value)))
        assert (one.tally.pairs, claim.shown[cell.size]) == (pairs[share], "pass" if passes else "fail")
        assert len({*pairs.values()}) == 3, "a share that was dropped or doubled would be noticed"


def test_every_band_of_a_curve_has_its_share() -> None:
    """Three bands and a confirmation, and an exponent that is made of the bands: four statements."""
    options: dict[str, Any] = {"vary": "size=50,400,3200", "pairs": 600, "worst": True}
    inquiry: Any = inquiry_of(rounded, None, "curve", **options)
    drive(inquiry.steps(), lambda work: [(trial(i, 1 + i % 3) for i in one.wanted) for one in work])
    for one, row in zip(inquiry.counted, inquiry.answer().rows, strict=True):
        limits = {share: (one.mean.lower(share / 2), one.mean.upper(share / 2)) for share in (0.1, 0.0125, 0.005)}
        assert (row.low, row.high) == pytest.approx(limits[ALPHA / 4])
        assert len({*limits.values()}) == 3


# What one pair shows.


def mean(sample: Any) -> float:
    return float(np.mean(sample))


def keyed_mean(sample: Any, r: Any) -> float:
    return float(np.mean(sample))


def shifted(core: float, r: Any) -> float:
    return core + r.random()


def knows_r(output: float, *, source: Any, r: Any, params: Any) -> bool:
    """True if the output's own r was below 1/4: whoever is given another r is right by chance."""
    return bool(r.random() < 0.25)


def below_half(output: float, *, source: Any, r: Any, params: Any) -> bool:
    return output < 0.5


given: dict[str, Any] = {"source": "norm", "size": 1, "delta": 0.5}
by_output = auditor.composed(core=mean, finish=shifted, accuracy=below_half, **given)
by_r = auditor.composed(core=mean, finish=lambda core, r: r.random(), accuracy=knows_r, **given)
splits = auditor.composed(core=keyed_mean, finish=shifted, accuracy=below_half, **given)


def shown(subject: Any, index: int, source: Any = None, **options: Any) -> CorePair:
    bench = bench_of(subject, source, **options)
    return msgspec.convert(run_searched(bench, index).payload, CorePair)


def test_each_core_is_judged_with_fresh_r_of_its_own() -> None:
    """The two shares of a pair are independent, and have the mean of all runs: 200 pairs, false alarm 1e-6.

    A core is normal and the finish adds a uniform number, so that an output is below 1/2 with probability 0.5.
    """
    shares = np.array([shown(by_output, index).inaccurate for index in range(200)])
    assert shares.shape == (200, 2)
    assert {*(shares * (FEWER // 2)).ravel().tolist()} <= {*range(FEWER // 2 + 1)}
    off = abs(shares.mean() - 0.5)
    together = abs(float(np.corrcoef(shares.T)[0, 1]))
    print(f"the mean is off by {off:.3f}, allowed 0.13; the correlation is {together:.3f}, allowed 0.35")
    assert off < math.sqrt(math.log(2 / 5e-7) / (2 * 400)), "Hoeffding"
    assert together < 0.35, "4.9 / sqrt(200)"


def test_the_accuracy_of_a_finish_is_judged_with_its_own_r() -> None:
    """The output is r's first number, and is said to be right if that is below 1/4."""
    for index in range(20):
        pair = shown(by_r, index)
        fresh = bench_of(by_r).keys.r.child(index, "again")
        for which, share in enumerate(pair.inaccurate):
            own = [auditor.randomness.from_key(fresh.child(i)).random() < 0.25 for i in range(which, FEWER, 2)]
            assert share == own.count(False) / len(own)


def test_cores_that_depend_on_each_other_have_one_share_or_one_coin() -> None:
    rows = np.random.default_rng(0).normal(size=40)
    together = shown(by_output, 0, rows, size=20, resample="split")
    assert len(together.inaccurate) in (0, 1), "halves of one data set; the truth of which may not be known"
    coins = {shown(splits, index).inaccurate for index in range(20)}
    assert coins == {(0.0,), (1.0,)}, "the core has used r, so only the pair's own output can be judged"
