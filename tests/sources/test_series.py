"""Is a time series noticed, are its blocks as long as theory says, and is an integrated one told from others?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from support.random_series import ar1
from support.requests import audit

from auditor.randomness import from_key, root_key
from auditor.sources.series import block_length, covariances, seems_integrated, why_series
from auditor.sources.source import load_dataset


def rng(*names: Any) -> np.random.Generator:
    return from_key(root_key(6).child(*names))


def noise(*names: Any, n: int = 400) -> Any:
    return rng(*names).normal(size=n)


def test_covariances_are_sums_over_the_rows() -> None:
    x = noise("cov", n=50)
    c = x - x.mean()
    expected = [c @ c / 50, *(c[:-k] @ c[k:] / 50 for k in range(1, 8))]
    assert covariances(x, 7) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("phi", "n", "least"), [(0.5, 10_000, 0.8), (0.8, 10_000, 0.75), (0.9, 4_000, 0.6)])
def test_blocks_are_about_as_long_as_is_best_for_an_autoregression(phi: float, n: int, least: float) -> None:
    """For AR(1) the best length is (n (2 phi / (1 - phi^2))^2)^(1/3). The median of 25 series is asked to be near it,
    a little shorter as a rule: a cut of the lags leaves some out."""
    best = (n * (2 * phi / (1 - phi**2)) ** 2) ** (1 / 3)
    median = float(np.median([block_length(ar1(noise(str(phi), i, n=n), phi)) for i in range(25)]))
    print(f"phi {phi}: median {median:.1f}, best {best:.1f}")
    assert least * best < median < 1.2 * best


def test_blocks_of_independent_rows_are_rows_and_none_is_longer_than_a_third() -> None:
    assert np.median([block_length(noise("rows", i)) for i in range(25)]) == 1.0
    assert block_length(np.ones(30)) == 1.0
    for n in (20, 50, 400):
        assert 1 <= block_length(noise("walk", n, n=n).cumsum()) <= n / 3
        assert 1 <= block_length(np.sin(np.arange(n) / 3)) <= n / 3


def test_an_integrated_series_is_taken_for_stationary_in_one_of_twenty() -> None:
    """And a stationary one with phi = 0.7 and 200 rows hardly ever for integrated. False alarm 1e-6 each."""
    tries = 1000
    walks = sum(not seems_integrated(noise("unit", i, n=200).cumsum()) for i in range(tries))
    least, most = binom.ppf(5e-7, tries, 0.035), binom.isf(5e-7, tries, 0.065)
    print(f"{walks} of {tries} walks taken for stationary, in [{least:.0f}, {most:.0f}] for 5 % give or take 1.5 %")
    assert least <= walks <= most
    tame = sum(seems_integrated(ar1(noise("tame", i, n=200), 0.7)) for i in range(tries))
    print(f"{tame} of {tries} stationary series taken for integrated, at most {binom.isf(1e-6, tries, 0.01):.0f}")
    assert tame <= binom.isf(1e-6, tries, 0.01)


def test_a_line_is_a_trend_and_a_pattern_is_none() -> None:
    assert seems_integrated(np.arange(50.0))
    assert not seems_integrated(np.arange(60.0) % 3)
    assert seems_integrated(np.arange(200) / 50 + noise("trend", n=200))


SERIES = ar1(noise("series"), 0.7)
DAYS = pandas.date_range("2020-01-01", periods=400)
HOURS = np.datetime64("2020-01-01") + np.arange(400).astype("m8[h]").astype("m8[ms]")


@pytest.mark.parametrize(
    ("rows", "names", "said"),
    [
        (SERIES, (), "an autocorrelation of 0."),
        (SERIES.reshape(-1, 1), ("x",), "an autocorrelation of column 'x' of 0."),
        ((noise("x").reshape(-1, 1), SERIES), (), "an autocorrelation of the labels of 0."),
        (np.column_stack([HOURS.astype(str), noise("x").astype(str)]), ("when", "x"), "'when' has time stamps"),
        (HOURS, (), "they are time stamps in their order"),
        (pandas.DataFrame({"x": noise("x")}, index=DAYS), (), "a sorted DatetimeIndex"),
        (pandas.DataFrame({"x": noise("x")}, index=DAYS.to_period("D")), (), "a sorted PeriodIndex"),
        (pandas.DataFrame({"x": noise("x"), "day": DAYS}), (), "column 'day' has time stamps"),
        (pandas.DataFrame({"x": noise("x"), "day": DAYS[::-1].tz_localize("UTC")}), (), "column 'day' has time stamps"),
        (polars.DataFrame({"x": noise("x"), "day": HOURS}), (), "column 'day' has time stamps"),
        (pyarrow.table({"x": noise("x"), "day": HOURS}), (), "column 'day' has time stamps"),
        ({"x": noise("x"), "timestamp": np.arange(400) * 60}, (), "column 'timestamp' has time stamps"),
        (noise("x"), (), ""),
        (noise("x").cumsum()[rng("p").permutation(400)], (), ""),
        (np.sort(noise("x")), (), ""),
        (np.column_stack([np.arange(400), noise("x")]), ("id", "x"), ""),
        (np.arange(400) % 2, (), ""),
        (pandas.DataFrame({"x": noise("x")}, index=DAYS[rng("p").permutation(400)]), (), ""),
        (pandas.DataFrame({"x": noise("x"), "day": DAYS[rng("p").permutation(400)]}), (), ""),
        (np.array(["2020-01-01", "2020-01-02"]), (), ""),
        (np.zeros((400, 3, 3)), (), ""),
        (load_iris(return_X_y=True), (), ""),
        (load_wine(return_X_y=True), (), ""),
        (load_breast_cancer(return_X_y=True), (), ""),
    ],
)  # fmt: skip
def test_rows_in_the_order_of_time_are_noticed(rows: Any, names: tuple[str, ...], said: str) -> None:
    found = why_series(rows, names)
    assert said in found if said else not found, found


@pytest.mark.parametrize("n", [20, 60, 400])
def test_exchangeable_rows_are_hardly_ever_taken_for_a_series(n: int) -> None:
    """Tables of 5 columns, of a law with heavy tails and one of two values; 1e-6 a table is promised. False alarm
    1e-6."""
    gen = rng("exchangeable", n)
    tables = (np.column_stack([gen.standard_cauchy((n, 3)), gen.random((n, 2)) < 0.2]) for _ in range(1000))
    k = sum(bool(why_series(table, ())) for table in tables)
    print(f"{k} of 1000, at most {binom.isf(1e-6, 1000, 1e-6):.0f}")
    assert k <= binom.isf(1e-6, 1000, 1e-6)


def test_a_report_warns_and_names_the_option() -> None:
    def positive(sample: Any, r: Any) -> bool:
        return bool(sample.mean() > -5)

    for how, warns in (("bootstrap", True), ("split", True), ("blocks", False), ("blocks(9)", False)):
        record = audit(positive, SERIES, resample=how)
        found = [one for one in record.findings if one.kind == "time-series"]
        assert bool(found) is warns
        for one in found:
            assert one.severity == "warning"
            assert f"--resample {how} draws them as if" in one.message
            assert "use --resample blocks" in one.message
    assert not load_dataset(pandas.DataFrame({"who": np.arange(400) // 4, "x": SERIES}), "groups(who)").why_series()
    assert math.isclose(load_dataset(SERIES, "blocks").way.length, block_length(SERIES))  # type: ignore[attr-defined]


def test_a_short_series_is_held_against_few_of_its_last_changes() -> None:
    """Two of 20 rows, where twelve would leave none to compare; the test tells noise in five of six cases."""
    assert sum(seems_integrated(noise("short", i, n=20)) for i in range(60)) <= 20


def by_the_papers_formula(series: np.ndarray) -> float:
    """Politis and White's length for the stationary bootstrap, lag by lag."""
    n, x = len(series), (series - series.mean()).tolist()
    run = max(5, math.ceil(math.sqrt(math.log10(n))))
    most = min(n - 1, math.ceil(math.sqrt(n)) + run)
    r = [math.fsum(x[i] * x[i + k] for i in range(n - k)) / n for k in range(min(n - 1, 2 * most) + 1)]
    is_small = [k > 0 and abs(r[k] / r[0]) < 2 * math.sqrt(math.log10(n) / n) for k in range(most + 1)]
    quiet = [m for m in range(most - run + 1) if all(is_small[m + 1 : m + run + 1])]
    m = quiet[0] if quiet else max(k for k in range(1, most + 1) if not is_small[k])
    if m == 0:
        return 1.0
    far = min(2 * m, len(r) - 1)
    weights = [1.0 if 2 * k <= far else 2 * (1 - k / far) for k in range(far + 1)]
    g = 2 * math.fsum(k * weights[k] * r[k] for k in range(1, far + 1))
    spectrum = r[0] + 2 * math.fsum(weights[k] * r[k] for k in range(1, far + 1))
    longest = min(3 * math.sqrt(n), n / 3)
    return longest if spectrum <= 0 else min(max(1.0, (2 * g**2 / (2 * spectrum**2) * n) ** (1 / 3)), longest)


@pytest.mark.parametrize("n", [12, 30, 200, 2000])
def test_the_length_of_blocks_is_that_of_the_formula(n: int) -> None:
    lengths = []
    for seed, a in enumerate([-0.6, 0.0, 0.3, 0.6, 0.8, 0.9, 0.97]):
        series = ar1(noise("formula", seed, n=n), a)
        lengths.append(block_length(series))
        assert lengths[-1] == pytest.approx(by_the_papers_formula(series), rel=1e-9)
    assert len({*lengths}) > 1
