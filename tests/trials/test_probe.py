"""On which points are predictions compared? On a data set's own distinct rows, each once, called by their number."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse
from support.requests import audit, bench_of

from auditor.randomness import from_key, root_key
from auditor.report.terminal import as_text
from auditor.sources.source import load_dataset
from auditor.trials.cell import PROBE, make_probe, probe_rows, source_points
from auditor.trials.trial import PairKeys

X = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [3.0, 4.0], [0.0, 0.0], [3.0, 5.0]])
Y = np.array([0, 1, 1, 0, 1, 0])
FRAME = pandas.DataFrame({"a": [1.0, None, 1.0, 2.0, None, 2.0], "b": ["x", None, "x", "y", None, "z"]})
KEYS = PairKeys(0)


def rng() -> np.random.Generator:
    return from_key(root_key(3))


@pytest.mark.parametrize(
    "rows",
    [
        X,
        (X, Y),
        (X.astype(str), Y),
        X.astype(object),
        scipy.sparse.csr_matrix(X),
        FRAME,
        (FRAME, Y),
        polars.from_pandas(FRAME),
        pyarrow.Table.from_pandas(FRAME),
        {"a": np.array([1, 0, 1, 2, 0, 3])},
        np.array(["x", "", "x", "y", "", "z"]),
        X.reshape(6, 2, 1),
    ],
)  # fmt: skip
def test_each_distinct_row_is_there_once_by_its_first_number(rows: Any) -> None:
    """The features count, and not the labels: a prediction is of the features."""
    source = load_dataset(rows, "bootstrap")
    assert source.distinct(rng(), 10).tolist() == [0, 1, 3, 5]
    assert source.distinct(rng(), 6).tolist() == [0, 1, 3, 5]


def test_of_more_rows_a_random_part_is_taken_and_each_row_as_often() -> None:
    """The same part for one key. Each of 60 rows is among 10 with probability 1/6; false alarm below 1e-6 for all."""
    source = load_dataset(np.arange(60), "bootstrap")
    draws = [source.distinct(from_key(root_key(i)), 10) for i in range(3000)]
    assert all(len(one) == 10 and (np.diff(one) > 0).all() for one in draws)
    assert draws[0].tolist() == source.distinct(from_key(root_key(0)), 10).tolist()
    counts = np.bincount(np.concatenate(draws), minlength=60)
    spread = np.sqrt(3000 * (1 / 6) * (5 / 6))
    print(f"each row in {counts.min()} to {counts.max()} of 3000, expected 500 within {6 * spread:.0f}")
    assert np.abs(counts - 500).max() < 6 * spread
    few = load_dataset(np.arange(6000) % 3, "bootstrap")
    assert sorted(few.rows[few.distinct(rng(), 10)].tolist()) == [0, 1, 2], "each value once, however many rows"


def test_points_come_from_the_data_set_the_file_or_the_distribution() -> None:
    source = load_dataset((X, Y), "bootstrap")
    assert make_probe(PROBE, source, KEYS).tolist() == X[[0, 1, 3, 5]].tolist()
    assert source_points(PROBE, source, KEYS)[1].tolist() == Y[[0, 1, 3, 5]].tolist()
    assert make_probe(X, source, KEYS) is X
    assert probe_rows(X, source, KEYS) is None
    bench = bench_of("sklearn.tree:DecisionTreeClassifier", (X, Y), view="predict")
    assert (bench.view.rows, bench.view.numbers) == (4, (0, 1, 3, 5))
    fresh = bench_of(lambda sample, r: Threshold(sample), "norm", size=5, view="predict", probe=7)
    assert (fresh.view.rows, fresh.view.numbers) == (7, None)


class Threshold:
    """Predicts whether a row is above the mean of the sample, and always otherwise for row 5 of 8."""

    def __init__(self, sample: Any) -> None:
        self.mean = float(np.mean(sample))

    def predict(self, probe: Any) -> Any:
        return np.where(np.asarray(probe)[:, 0] == 50, self.mean, 0.0)


def test_an_unstable_row_is_one_and_is_called_by_its_number() -> None:
    """Two rows are copies, so that row 5 is the fifth of the probe: output[4], which is called 5."""
    rows = np.array([0.0, 10.0, 0.0, 30.0, 40.0, 50.0, 50.0, 60.0])
    record = audit(lambda sample, r: Threshold(sample), rows, view="predict")
    assert record.wobbles is not None
    assert (record.wobbles.size, record.wobbles.unsteady) == (6, 1)
    assert [one.name for one in record.wobbles.elements] == ["[5]"]
    assert [one.first_difference.path for one in record.examples[:1]] == ["output[5]"]
    assert re.search(r"\n  row 5 differs in \d+ of \d+ pairs", as_text(record))
    whole = audit(lambda sample, r: Threshold(sample), rows, view="predict|distinct")
    assert whole.wobbles is not None
    assert [one.name for one in whole.wobbles.elements] in ([""], [])
