from __future__ import annotations

import sys
from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from support.requests import audit
from threadpoolctl import threadpool_info

from auditor import Sample
from auditor.randomness import from_key, root_key
from auditor.repair import single_thread, sorted_rows
from auditor.sources.law import Law
from auditor.sources.sample import CountSample

rows = st.lists(st.sampled_from([0.0, -0.0, 1.5, float("nan"), -2.0]), min_size=1, max_size=6)


def listed(sample, r):
    return sample.tolist()


def _bytes(values: list[float]) -> bytes:
    return np.array(values).tobytes()


@given(rows, st.randoms(use_true_random=False), st.integers(0, 2**40))
def test_only_the_multiset_of_rows_counts(values: list[float], random: Any, seed: int) -> None:
    shuffled = [*values]
    random.shuffle(shuffled)
    learner = sorted_rows(listed)
    found = [learner(np.array(side), from_key(root_key(seed))) for side in (values, shuffled)]
    assert _bytes(found[0]) == _bytes(found[1])  # -0.0 and 0.0 are two rows
    assert sorted(map(repr, found[0])) == sorted(map(repr, values))


@pytest.mark.parametrize(
    "table",
    [
        np.array(["b", "a", "ccc"]),
        np.array([[3, 1], [2, 2], [3, 0]]),
        np.array([("x", 1), (None, 2.5), (3, "y")], dtype=object),
        (np.array([[1.0, 2.0], [1.0, 1.0], [0.0, 5.0]]), np.array(["u", "v", "u"])),
    ],
)
def test_any_rows_are_sorted_and_stay_together(table: Any) -> None:
    def kept(sample, r):
        return [str(row) for row in (zip(*sample, strict=True) if isinstance(sample, tuple) else sample)]

    learner, orders = sorted_rows(kept), list(permutations(range(3)))
    given = [tuple(part[[*o]] for part in table) if isinstance(table, tuple) else table[[*o]] for o in orders]
    assert len({tuple(learner(side, 7)) for side in given}) == 1
    assert sorted(learner(table, 7)) == sorted(kept(table, None))


def test_frames_keep_their_columns() -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": [3, 1, 2], "b": ["x", "y", "z"]})
    learner = sorted_rows(lambda sample, r: sample.to_dict("list"))
    assert learner(frame, 1) == learner(frame.iloc[[2, 0, 1]], 1)
    assert sorted(learner(frame, 1)["a"]) == [1, 2, 3]


def test_every_order_is_as_likely_as_before() -> None:
    """Chi-squared over the six orders of three rows; false alarm 1e-7."""
    learner, n = sorted_rows(listed), 1200
    seen = Counter(tuple(learner(np.array([5, 6, 7]), i)) for i in range(n))
    statistic = sum((seen[order] - n / 6) ** 2 / (n / 6) for order in permutations([5, 6, 7]))
    assert statistic < chi2.isf(1e-7, 5)


def test_the_learners_r_knows_nothing_of_the_order() -> None:
    def both(sample, r):
        return sample.tolist(), r.permutation(len(sample)).tolist()

    found = [sorted_rows(both)(np.arange(5), i) for i in range(20)]
    assert sum(order == drawn for order, drawn in found) < 10


def test_samples_are_sorted_too_and_counts_have_no_order() -> None:
    def learner(sample: Sample, r: Any) -> list[float]:
        return sample.take(2).rows().tolist()

    kept = sorted_rows(learner)
    assert kept(Sample.of(np.array([3.0, 1.0, 2.0])), 1) == kept(Sample.of(np.array([2.0, 3.0, 1.0])), 1)
    counted = CountSample(Law(np.array([4.0]), np.array([1.0])), 9, from_key(root_key(0)))
    assert kept(counted, 1) == [4.0, 4.0]


def test_what_depends_on_the_order_of_rows_alone_is_repaired() -> None:
    """A constant source in a random order: floats that are added up in turn."""

    def shuffled(rng, size):
        return rng.permutation(np.array([1e16, 1.0, -1e16, 3.0, 1e-3]))

    def total(sample, r):
        found = 0.0
        for row in sample.tolist():
            found += row
        return found

    assert audit(total, shuffled, size=5, rho=0.1).verdict == "fail"
    record = audit(sorted_rows(total), shuffled, size=5, rho=0.1)
    assert (record.verdict, record.mismatches) == ("pass", 0)


def test_one_thread_while_it_runs() -> None:
    import scipy.linalg  # noqa: F401 - brings a BLAS

    before = [pool["num_threads"] for pool in threadpool_info()]
    found = single_thread(lambda sample, r: [pool["num_threads"] for pool in threadpool_info()])(np.zeros(1), 0)
    assert found
    assert set(found) == {1}
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_pytorch_has_one_thread_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Torch:
        threads = 4

        def get_num_threads(self) -> int:
            return self.threads

        def set_num_threads(self, count: int) -> None:
            self.threads = count

    torch = Torch()
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert single_thread(lambda sample, r: torch.threads)(np.zeros(1), 0) == 1
    assert torch.threads == 4
