from __future__ import annotations

import math
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from support.exact import check_audited, check_frequency, finished_apart

from auditor import AuditorError
from auditor.randomness import from_key, root_key
from auditor.repair import rounded
from auditor.repair.mechanisms import foam
from auditor.subjects.finishing import SettledCore
from auditor.subjects.subject import load_subject
from auditor.values import same


def same_as_sample(sample, r):
    """What it is given."""
    return sample


def mean(sample, r):
    return float(np.mean(sample))


@dataclass(frozen=True, slots=True)
class Fit:
    slope: float
    steps: int
    history: list[float] = field(default_factory=list)


Pair = namedtuple("Pair", "low high")
STRUCTURES: list[Any] = [
    1.25,
    np.float32(1.25),
    np.array([1.5, -2.5, 1e6]),
    {"a": 1.5, "b": [2.5, 7, "text", None, True]},
    Fit(0.3, 4, [1.0, 2.0]),
    Pair(1.0, (2.0, np.ones((2, 3)))),
    {"deep": {"x": np.zeros((2, 2)), "n": np.arange(3)}},
]
outputs = st.sampled_from(STRUCTURES)


def rounding_rho(n: int, width: float) -> float:
    """E min(1, |N(0, 2/n)| / w), integrated by parts: what is below w as a share of it, and the tail."""
    spread = math.sqrt(2 / n)
    z = width / spread
    below = 2 * (norm.pdf(0) - norm.pdf(z)) * spread / width
    return float(below + 2 * norm.sf(z))


@pytest.mark.parametrize(("n", "width"), [(100, 0.5), (50, 0.15)])
def test_a_mean_of_normals_has_exactly_its_rho(n: int, width: float) -> None:
    """The mean of m, by quantiles of how far two means are apart; and from coins, 1e-6."""
    learner, pairs, cells = rounded(mean, width), 120, 500
    zero, *cores = (
        learner.core(np.array([x]), from_key(root_key(0)))
        for x in (0.0, *norm.isf((np.arange(cells) + 0.5) / cells / 2) * math.sqrt(2 / n))
    )
    truth = rounding_rho(n, width)
    assert np.mean([learner.mismatch(zero, core) for core in cores]) == pytest.approx(truth, abs=1e-4)
    k = 0
    for i in range(pairs):
        first, second = (from_key(root_key(i).child("sample", j)).normal(size=n) for j in range(2))
        k += learner(first, from_key(root_key(i))) != learner(second, from_key(root_key(i)))
    check_frequency(k, pairs, truth, alarm=1e-6)


@pytest.mark.usefixtures("few_finishes")
def test_the_audited_rho_of_a_mean_holds_the_exact_one() -> None:
    check_audited(rounded(mean, 0.5), "norm", 100, rounding_rho(100, 0.5))


@given(outputs, outputs, st.integers(0, 2**40))
def test_mismatch_is_a_probability_symmetric_and_none_of_itself(left: Any, right: Any, seed: int) -> None:
    learner = rounded(same_as_sample, 0.7)
    first, second = (learner.core(side, from_key(root_key(seed))) for side in (left, right))
    assert 0 <= learner.mismatch(first, second) <= 1
    assert learner.mismatch(first, second) == learner.mismatch(second, first)
    assert learner.mismatch(first, first) == 0.0
    assert same(learner.finish(first, from_key(root_key(seed))), learner.finish(first, from_key(root_key(seed))))


@given(outputs, st.floats(-2, 2), st.integers(0, 2**40))
def test_only_floats_move_and_by_half_a_width_at_most(output: Any, width: float, seed: int) -> None:
    width = abs(width) + 0.01
    found = rounded(same_as_sample, width)(output, from_key(root_key(seed)))
    assert _floats(found)[1] == _floats(output)[1]
    assert np.abs(_floats(found)[0] - _floats(output)[0]).max() <= width / 2 + 1e-9


def _floats(output: Any) -> tuple[Any, list[str]]:
    """All floats in order, and all else as text; by another walk than the one that is tested."""
    numbers: list[float] = []
    rest: list[str] = []
    waiting = [output]
    while waiting:
        item = waiting.pop()
        if isinstance(item, (float, np.floating)):
            numbers.append(float(item))
        elif isinstance(item, np.ndarray) and item.dtype.kind == "f":
            numbers += item.ravel().tolist()
        elif isinstance(item, dict):
            waiting += [*item, *item.values()]
        elif isinstance(item, (list, tuple)):
            waiting += [*item, type(item).__name__]
        elif isinstance(item, Fit):
            waiting += [item.slope, item.steps, item.history]
        else:
            rest.append(repr(item))
    return np.array(numbers), rest


def test_what_differs_besides_its_numbers_differs() -> None:
    learner = rounded(same_as_sample, 0.5)
    pairs = [
        ({"a": 1.0}, {"b": 1.0}),
        ([1.0], [1.0, 2.0]),
        ([1.0, 2], [1.0, 3]),
        (np.ones(2), np.ones(3)),
        ((1.0,), [1.0]),
    ]
    for left, right in pairs:
        first, second = (learner.core(side, from_key(root_key(0))) for side in (left, right))
        assert learner.mismatch(first, second) == 1.0
        assert finished_apart(learner, first, second, 20) == 20


def test_widths_by_path() -> None:
    learner = rounded(same_as_sample, {"a": 10.0, "output['b'][1]": 0.5, ".c": 3.0, "['d'][0, 1]": 2.0})

    @dataclass
    class Holder:
        c: float

    output = {"a": 1.0, "b": [5.25, 6.25], "h": Holder(1.0), "d": np.zeros((2, 2))}
    with pytest.raises(AuditorError, match=r"width\['.c'\] meets no number of the output"):
        learner(output, 0)
    learner = rounded(same_as_sample, {"a": 10.0, "output['b'][1]": 0.5, "['d'][0, 1]": 2.0})
    found = learner(output, 0)
    assert found["b"][0] == 5.25
    assert found["b"][1] != 6.25
    assert abs(found["b"][1] - 6.25) <= 0.25
    assert abs(found["a"] - 1.0) <= 5
    assert np.argwhere(found["d"] != 0).tolist() == [[0, 1]]
    moved = {**output, "d": np.array([[0.1, 0.0], [0.0, 0.0]])}
    first, second = (learner.core(side, from_key(root_key(0))) for side in (output, moved))
    assert learner.mismatch(first, second) == 1.0  # an element without a width


@pytest.mark.parametrize("numbers", [0.5, np.array([0.5, 0.25])])
def test_offsets_belong_to_paths(numbers: Any) -> None:
    learner = rounded(same_as_sample, 1.0)
    both, one = learner({"a": numbers, "b": numbers}, 7), learner({"b": numbers}, 7)
    assert same(one["b"], both["b"])
    assert not same(both["a"], both["b"])


def test_an_output_shares_nothing_with_another_of_its_core() -> None:
    wrapper = rounded(lambda sample, r: {"a": 0.3, "b": np.arange(2.0), "c": [np.arange(2), "d"]}, 0.5)
    core, r = SettledCore(wrapper.core(None, from_key(root_key(0)))), from_key(root_key(1))
    first = wrapper.finish(core.copy(), r)
    first["b"][0], first["c"][0][0], first["c"][1] = 9.0, 9, "e"
    second = wrapper.finish(core.copy(), r)
    assert (second["b"][0] != 9.0, second["c"][0].tolist(), second["c"][1]) == (True, [0, 1], "d")


def test_what_is_claimed_holds_and_rows_buy_it() -> None:
    for learner in (rounded(mean, 0.5, tiling=one) for one in ("boxes", "foams", "best", "E8")):
        n = learner.sample_size(0.1, 1.0)
        assert learner.claimed(1.0 / math.sqrt(n)) <= 0.1 < learner.claimed(1.0 / math.sqrt(n - 2))
    assert rounded(mean, 0.5).sample_size(0.1, 1.0) == 534
    assert rounding_rho(534, 0.5) <= rounded(mean, 0.5).claimed(1 / math.sqrt(534)) == pytest.approx(0.1, rel=1e-3)
    assert rounded(mean, {"a": 2.0, "b": 0.5}).claimed(0.01, numbers=3) == pytest.approx(3 * 2 / math.sqrt(3) * 0.02)


def test_an_estimators_named_attributes_are_rounded() -> None:
    """Ridge on probe points: predictions agree at least as often as the formula says; false alarm 1e-7."""
    from sklearn.linear_model import Ridge

    learner = rounded(Ridge(), {"coef_": 0.5, "intercept_": 0.5})
    rng = from_key(root_key(0))
    samples = [(x, x @ [1.0, 2.0] + rng.normal(size=80)) for x in (rng.normal(size=(80, 2)) for _ in range(2))]
    first, second = (learner.core(sample, from_key(root_key(1))) for sample in samples)
    m, n, probe = learner.mismatch(first, second), 300, rng.normal(size=(20, 2))
    assert learner.mismatch_is == "upper"
    k = sum(
        not same(*(learner.finish(core, from_key(root_key(i))).predict(probe) for core in (first, second)))
        for i in range(n)
    )
    check_frequency(k, n, m, alarm=1e-7, is_upper=True)
    assert load_subject(learner).declared.view == "predict"
    assert load_subject(learner, {"alpha": 3.0}).params == {"alpha": 3.0}


def test_a_regressors_predictions_are_rounded_with_one_offset() -> None:
    """A point's differ as often as the formula says; false alarm 1e-7 each of 3."""
    from sklearn.neighbors import KNeighborsRegressor

    learner = rounded(KNeighborsRegressor(3), 2.0)
    rng = from_key(root_key(0))
    samples = [(x, x.sum(axis=1) + rng.normal(size=60)) for x in (rng.normal(size=(60, 2)) for _ in range(2))]
    first, second = (learner.core(sample, from_key(root_key(1))) for sample in samples)
    probe, n = rng.normal(size=(3, 2)), 300
    known = [_Known(core.predict(probe)) for core in (first, second)]  # the same numbers, and no neighbours to look for
    runs = [[learner.finish(core, from_key(root_key(i))).predict(probe) for core in known] for i in range(n)]
    for i in range(5):
        found = [learner.finish(core, from_key(root_key(i))).predict(probe) for core in (first, second)]
        assert same(found, runs[i])
    churn = learner.churn(first.predict(probe), second.predict(probe))
    for point, chance in enumerate(churn):
        check_frequency(sum(one[point] != other[point] for one, other in runs), n, chance, alarm=1e-7)
    assert max(np.abs(one - first.predict(probe)).max() for one, _ in runs) <= 1.0
    assert learner.mismatch(first, second) is None
    assert load_subject(learner).declared.view == "predict"
    with pytest.raises(AuditorError, match="no cell of width 2: NaN"):
        learner.finish(_Known(np.full(3, math.nan)), from_key(root_key(0))).predict(probe)


class _Known:
    def __init__(self, values: Any) -> None:
        self.values = values

    def predict(self, points: Any) -> Any:
        return self.values


def test_what_a_pipeline_holds_is_rounded_in_a_copy() -> None:
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    learner = rounded(make_pipeline(StandardScaler(), Ridge()), {"output.steps[1][1].coef_": 0.25})
    rows = from_key(root_key(0)).normal(size=(50, 3))
    core = learner.core((rows, rows @ [1.0, 0.0, 2.0]), from_key(root_key(1)))
    before = learner.core((rows, rows @ [1.0, 0.0, 2.0]), from_key(root_key(1)))
    found = learner.finish(core, from_key(root_key(2)))
    assert core.sizes == {"output.steps[1][1].coef_": 3}
    assert np.abs(found[-1].coef_ - core.numbers).max() <= 0.125
    assert found.predict(rows).shape == (50,)
    assert learner.mismatch(core, before) == 0.0


def test_foams_have_as_many_dimensions_as_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foam, "MAX_FOAM_DIMENSION", 2)
    assert foam.checked([[0.5, 0.5]]).shape == (1, 2)
    with pytest.raises(ValueError, match="d=3 must be at most 2 for foams, which take"):
        foam.checked([[0.5, 0.5, 0.5]])
