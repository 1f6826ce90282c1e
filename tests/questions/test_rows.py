"""How far apart are predictions, row by row, and is what is said of rows, groups and runs without a common r true?"""

from __future__ import annotations

import csv
import functools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.stats import binom
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from support.requests import ask, audit, bench_of, cell_of, inquiry_of

from auditor.errors import BadValue, SubjectError, UsageError
from auditor.flow.record import as_record, to_json
from auditor.questions.rows import PointCount, grouped, mean_and_error
from auditor.report.page.records import page_of
from auditor.report.terminal import as_text
from auditor.subjects.churn import distances, pack, unpack
from auditor.trials.cell import Cell, make_bench
from auditor.trials.trial import Trial
from auditor.values import make_tolerance

WINE, DIABETES = "sklearn:load_wine", "sklearn:load_diabetes"
A, B = np.array([0.0, 1.0, 2.0, np.nan]), np.array([0.0, 1.5, 9.0, np.nan])


@pytest.mark.parametrize(
    ("left", "right", "more", "expected"),
    [
        (A, B, {}, [0, 1, 1, 0]),
        (A, B, {"scale": 2.0}, [0, 0.25, 1, 0]),
        (A, B, {"within": make_tolerance(0.5, None)}, [0, 0, 1, 0]),
        (np.array([1, 2]), np.array([1, 4]), {"scale": 4.0}, [0, 0.5]),
        (np.array(["a", "b"]), np.array(["a", "c"]), {}, [0, 1]),
        ([1, "a"], [1, "b"], {}, [0, 1]),
        (np.array([np.inf, 1.0]), np.array([np.inf, np.nan]), {"scale": 1.0}, [0, 1]),
        (np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.8, 0.2], [0.5, 0.5]]), {"shares": True}, [0.2, 0]),
        (np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 0.5, 0.5]]), {"shares": True}, [1]),
        (np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.8, 0.2], [0.5, 0.5]]), {}, [1, 0]),
        (np.array([[1.0, 5.0]]), np.array([[2.0, 8.0]]), {"scale": 10.0}, [0.3]),
    ],
)
def test_the_distance_at_each_point(left: Any, right: Any, more: dict[str, Any], expected: list[float]) -> None:
    assert distances(left, right, **more).tolist() == pytest.approx(expected, abs=1e-15)
    assert distances(right, left, **more).tolist() == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    "points",
    [
        np.array([1, 2, 1]),
        np.array(["a", "b"]),
        np.array([True, False]),
        [1.5, 2.5],
        np.array([[0.25, 0.75]]),
        ["x", "y"],
    ],
)
def test_predictions_come_back_as_they_were(points: Any) -> None:
    packed = json.loads(json.dumps(pack(points)))
    assert unpack(packed).tolist() == np.asarray(points).tolist()


@pytest.mark.parametrize("points", [None, [], [{}], np.zeros((2, 2, 2)), np.array([object()]), np.zeros(10**5), 1j])
def test_what_is_neither_labels_nor_numbers_is_not_kept(points: Any) -> None:
    assert pack(points) is None


@functools.cache
def plain_cell() -> Cell:
    return cell_of(LinearRegression, DIABETES)


def counted(runs: np.ndarray, **cell: Any) -> tuple[PointCount, Any]:
    """Predictions of runs (pairs, 2, points), as an audit keeps them."""
    found, one = PointCount(), replace(plain_cell(), **cell)
    for index, both in enumerate(runs):
        found.add(one, Trial(index, None, None, 0.0, predictions=tuple(pack(run) for run in both)))
    return found, one


def test_runs_without_a_common_r_are_compared_as_the_formula_says() -> None:
    """((4 n^2 - sum c^2) / 2 - D) / (2 n (n - 1)) a point, for labels."""
    rng = np.random.default_rng(1)
    n, points = 7, 11
    runs = rng.integers(0, 3, (n, 2, points))
    found, cell = counted(runs)
    formula = []
    for point in range(points):
        c = np.bincount(runs[:, :, point].ravel())
        formula.append((4 * n * n - np.sum(c**2)) / 2 - np.sum(runs[:, 0, point] != runs[:, 1, point]))
    mean, error, pairs = found.unshared(cell) or (0, 0, 0)
    assert mean == pytest.approx(np.mean(formula) / (2 * n * (n - 1)), rel=1e-12)
    assert pairs == n

    def without(left: int) -> float:
        kept, _ = counted(np.delete(runs, left, axis=0))
        return (kept.unshared(cell) or (0.0,))[0]

    jackknife = [without(left) for left in range(n)]
    assert error == pytest.approx(math.sqrt((n - 1) / n * np.sum((jackknife - np.mean(jackknife)) ** 2)), rel=1e-9)
    assert mean_and_error(np.zeros((2, 2))) is None
    split = cell_of(LinearRegression, DIABETES, resample="split")
    assert found.unshared(split) is None, "samples of different pairs have rows in common"


def test_what_sharing_r_buys_is_seen() -> None:
    """A fit that r decides alone: the same within a pair, and 1 with probability 0.3; 2 * 0.3 * 0.7 without. 200 audits
    of 20 pairs, within 5.2 standard errors of their mean (false alarm 2e-7)."""
    estimates = []
    rng = np.random.default_rng(20261118)
    for _ in range(200):
        coins = (rng.random((20, 1, 1)) < 0.3).astype(int)
        found, cell = counted(np.broadcast_to(coins, (20, 2, 4)))
        estimates.append((found.unshared(cell) or (0.0,))[0])
        assert found.apart(cell).sum() == 0
    off = abs(np.mean(estimates) - 0.42) / (np.std(estimates) / math.sqrt(200))
    print(f"mean {np.mean(estimates):.4f}, {off:.2f} standard errors from 0.42")
    assert off < 5.2


def test_the_worst_rows_are_not_exaggerated() -> None:
    """1,000 rows that all change with probability 0.0116 in 188 pairs: the 50 that are named show 0.0116, within 5.2
    standard errors (false alarm 2e-7); ranked by the same counts they would show three times as much."""
    rng, rate, pairs = np.random.default_rng(7), 0.0116, 188
    first = np.zeros((pairs, 1, 1000), dtype=int)
    second = (rng.random((pairs, 1, 1000)) < rate).astype(int)
    found, cell = counted(np.concatenate([first, second], axis=1))
    found._table.append(None)
    answer = found.answer(cell, None, 0.05)
    assert answer is not None
    assert len(answer.worst) == 50
    shown = sum(one.pairs for one in answer.worst) / sum(one.of for one in answer.worst)
    error = math.sqrt(rate * (1 - rate) / (50 * 94))
    print(f"{shown:.4f} of the pairs, {abs(shown - rate) / error:.2f} standard errors from {rate}")
    assert abs(shown - rate) < 5.2 * error
    same = np.sort(found.apart(cell).mean(axis=0))[-50:].mean()
    assert same > 2.5 * rate
    assert sum(answer.histogram) == answer.rows == 1000


def test_the_intervals_of_all_groups_hold_together() -> None:
    """Three groups of wine with known rates, 300 seeds: all three hold but for 0.05 of them; false alarm 1e-6."""
    cell = cell_of(DecisionTreeClassifier, WINE)
    rates, missed, seeds = {"0": 0.02, "1": 0.1, "2": 0.4}, 0, 300
    labels = [str(row[-1]) for row in (PointCount().table(cell) or pytest.fail("no table")).rows]
    share = np.array([rates[label] for label in labels])
    table = PointCount().table(cell)
    for seed in range(seeds):
        rng, found = np.random.default_rng(seed), PointCount()
        found._table.append(table)
        # All rows of a group change together, so that a pair is one coin for each group.
        coins = rng.random((40, 1))
        found.kept = [(np.zeros(len(share), dtype=int), (coin < share).astype(int)) for coin in coins]
        found.numbers = [*range(40)]
        groups = {one.name: one for one in found._groups(cell, "label", 0.05)}
        assert [one.rows for one in groups.values()] == [59, 71, 48]
        missed += any(not groups[name].low <= rate <= groups[name].high for name, rate in rates.items())
    most = int(binom.isf(1e-6, seeds, 0.05))
    print(f"{missed} of {seeds} missed, allowed {most} (false alarm 1e-6)")
    assert missed <= most


def test_groups_of_values_and_of_quarters() -> None:
    assert grouped(["b", "a", "b"], "x") == {"a": [1], "b": [0, 2]}
    quarters = grouped([float(i) for i in range(100)], "x")
    assert [len(places) for places in quarters.values()] == [25, 25, 25, 25]
    assert sorted(place for places in quarters.values() for place in places) == [*range(100)]
    with pytest.raises(UsageError, match="--by x makes 51 groups, and a report holds 50"):
        grouped([str(i) for i in range(51)], "x")


SHARE = 0.8  # of the labels that are 1
Q = 0.7  # how often a fit says 1


def drawn(rng: np.random.Generator, size: int) -> tuple[Any, Any]:
    return rng.random((size, 1)), (rng.random(size) < SHARE).astype(int)


class Says:
    def __init__(self, word: int) -> None:
        self.word = word

    def predict(self, x: Any) -> Any:
        return np.full(len(x), self.word)


def by_first_row(sample: Any, r: Any) -> Says:
    """1 at every point if the first row is below Q: rho and churn are 2 Q (1 - Q), the score Q S + (1 - Q) (1 - S)."""
    return Says(int(sample[0][0, 0] < Q))


@pytest.mark.parametrize("seeds", [60, pytest.param(300, marks=pytest.mark.nightly)])
def test_all_statements_about_a_learner_that_is_known_hold_over_seeds(seeds: int) -> None:
    """The intervals of rho, churn and score, each at 95 %; false alarm 1e-6 each."""
    truth = {"rho": 2 * Q * (1 - Q), "churn": 2 * Q * (1 - Q), "score": Q * SHARE + (1 - Q) * (1 - SHARE)}
    missed, estimates = dict.fromkeys(truth, 0), []
    asked: dict[str, Any] = {"size": 1, "fixed": 16, "rho": 0.5, "probe": 3, "view": "predict", "score": "accuracy"}
    for seed in range(seeds):
        inquiry: Any = inquiry_of(by_first_row, drawn, **asked, seed=seed)
        bench = make_bench(inquiry.cells[0])
        for index in range(asked["fixed"]):
            inquiry.add(bench.trial(index))
        found = inquiry.answer()
        limits = {one.name: (one.low, one.high) for one in found.measures}
        limits["score"] = (found.score.low, found.score.high)
        for name, value in truth.items():
            low, high = limits[name]
            missed[name] += not low <= value <= high
        estimates.append(found.fields.churn.unshared)
    most = int(binom.isf(1e-6, seeds, 0.05))
    print(f"missed {missed} of {seeds}, allowed {most} each (false alarm 1e-6)")
    assert max(missed.values()) <= most
    off = abs(np.mean(estimates) - truth["churn"]) / (np.std(estimates) / math.sqrt(seeds))
    print(f"without a common r {np.mean(estimates):.4f}, {off:.2f} standard errors from {truth['churn']:.4f}")
    assert off < 5.2


def test_the_record_the_page_and_a_file_have_the_rows(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    record = audit(DecisionTreeClassifier(max_depth=2), WINE, measure="churn", rho=0.3, rows=str(file), by="label")
    found = record.rows
    assert found is not None
    assert as_record(json.loads(to_json(record))).rows == found
    assert (found.rows, found.columns[-1], len(found.groups), found.confidence) == (178, "label", 3, 0.95)
    lines = [*csv.DictReader(file.read_text().splitlines())]
    assert [int(line["row"]) for line in lines] == [*range(178)]
    bench = bench_of(DecisionTreeClassifier(max_depth=2), WINE)
    x, y = bench.source.rows  # type: ignore[attr-defined]
    for line in (lines[3], lines[100]):
        assert [float(line[f"x{place}"]) for place in range(13)] == x[int(line["row"])].tolist()
        assert int(line["label"]) == y[int(line["row"])]
    worst = found.worst[0]
    assert worst.columns == [*x[worst.row].tolist(), y[worst.row]]
    assert sum(int(line["differs"]) for line in lines) / 178 / found.pairs == pytest.approx(record.measures[0].estimate)
    assert "rows" not in record.asked
    text, page = as_text(record, verbose=True), page_of(record)
    assert "Churn by label" in text
    assert "The 50 rows that change most" in " ".join(page.split()) or f"The {len(found.worst)} rows" in page
    assert "Row by row" in page


def test_parquet_and_numbers(tmp_path: Path) -> None:
    import pyarrow.parquet

    file = tmp_path / "rows.parquet"
    asked: dict[str, Any] = {"measure": "churn", "rho": 0.5, "scale": 100.0, "rows": str(file)}
    record = audit(DecisionTreeRegressor(max_depth=2), DIABETES, **asked)
    table = pyarrow.parquet.read_table(file).to_pydict()
    assert len(table["row"]) == 442
    assert np.mean(table["distance"]) == pytest.approx(record.measures[0].estimate, rel=1e-9)
    assert all(low <= high for low, high in zip(table["quantile 0.05"], table["quantile 0.95"], strict=True))
    assert record.rows is not None
    assert len(record.rows.plot) == 100
    assert record.reason.startswith("The predictions of two fits are 0.")
    assert "where 100 counts as 1" in record.reason
    assert "instability" in page_of(record)


def test_probabilities_are_compared_class_by_class_also_where_a_sample_lacks_one() -> None:
    record = audit(GaussianNB, WINE, measure="churn", view="predict_proba", rho=0.3)
    assert "apart on average, in total variation" in record.reason
    bench = bench_of(GaussianNB, WINE, view="predict_proba")
    fits = [GaussianNB().fit(*bench.draw(0, which)) for which in (0, 1)]
    x = bench.source.rows[0]  # type: ignore[attr-defined]
    one, other = (fit.predict_proba(x) for fit in fits)
    assert bench.trial(0).churn == pytest.approx(np.mean(np.abs(one - other).sum(axis=1) / 2), rel=1e-12)
    rare = (np.arange(20.0).reshape(20, 1), np.array([0, 1] * 9 + [0, 2]))
    seen = bench_of(GaussianNB, rare, view="predict_proba", size=6)
    assert seen.view.classes == (0, 1, 2)
    assert {seen.see(seen.run(index, 0)).shape for index in range(6)} == {(20, 3)}
    assert all(0 <= (seen.trial(index).churn or 0) <= 1 for index in range(6))


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"scale": 0}, BadValue, "must be above 0"),
    ({"scale": 1.0, "atol": 0.1}, UsageError, "are two ways to say how far apart is far: use one"),
    ({"scale": 1.0, "view": "predict_proba"}, UsageError, "the view here is predict_proba"),
    ({"by": "lable"}, UsageError, "--by lable: the probe has no such column (did you mean label?)"),
    ({"by": "label", "view": "fitted", "measure": "rho"}, UsageError, "--by is about predictions"),
    ({"rows": "rows.txt"}, UsageError, "its name must end in .csv or .parquet"),
    ({"rows": "/nowhere/rows.csv"}, UsageError, "/nowhere"),
]


@pytest.mark.parametrize(("asked", "kind", "words"), REFUSED)
def test_what_cannot_be_asked_of_rows_is_refused(asked: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        audit(DecisionTreeClassifier, WINE, **{"measure": "churn", **asked})
    assert words in str(caught.value)


def test_a_scale_for_words_and_rows_of_several_sources_are_refused() -> None:
    def words(sample: Any, r: Any) -> Says:
        return Says(str(sample[0][0, 0]))  # type: ignore[arg-type]

    bench = bench_of(words, drawn, size=3, view="predict", scale=1.0, probe=3)
    with pytest.raises(SubjectError, match="--scale 1 is for predictions that are numbers"):
        bench.trial(0)
    with pytest.raises(UsageError, match="--by is about the rows of one source, and there are 2"):
        audit(DecisionTreeClassifier, [WINE, "sklearn:load_iris"], size=50, by="label")


def test_an_estimate_has_rows_and_groups_too(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    asked: dict[str, Any] = {"measure": "churn", "half_width": 0.2, "rows": str(file), "by": "label"}
    record = ask("estimate", DecisionTreeClassifier(max_depth=2), WINE, **asked)
    assert record.rows is not None
    assert record.rows.by == "label"
    assert len(file.read_text().splitlines()) == 1 + record.rows.rows
    with pytest.raises(UsageError, match="--rows is about predictions, and the view is output"):
        ask("estimate", lambda sample, r: 1, "norm", size=5, rows=str(file))
