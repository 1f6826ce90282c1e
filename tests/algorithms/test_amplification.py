from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import auditor
from algorithms.amplification import amplify, runs_a_string, sample_size, strings, vote_parameters
from algorithms.boosting import BOTTOM
from algorithms.heavy_hitters import step_sizes
from auditor.interval import clopper_pearson_lower, clopper_pearson_upper
from auditor.randomness import from_key, root_key

pytestmark = pytest.mark.usefixtures("no_second_process")


def noisy_bit(sample: Any, r: np.random.Generator) -> int:
    """r decides a bit and how sure it is: three strings in four are right nine times in ten, one is a fair coin."""
    bit, sure = int(r.integers(2)), bool(r.random() < 0.75)
    flip = float(sample[0]) < (0.05 if sure else 0.5)
    return bit ^ flip


def first_value(sample: Any, r: np.random.Generator) -> list[float]:
    return [float(sample[0])]


def uniform(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def test_sizes_are_the_theorems() -> None:
    assert strings(0.1) == math.ceil(3 * math.log2(10))
    assert (3 / 4) ** strings(0.1) <= 0.1
    vote = vote_parameters(0.1, 0.1, 0.2)
    assert vote["v"] + vote["eps"] == pytest.approx(0.9)
    assert vote["v"] - vote["eps"] == pytest.approx(0.5)
    assert vote["rho"] == 0.2 / strings(0.1)
    assert runs_a_string(0.1, 0.1, 0.2) == sum(step_sizes(0.2 / 10, 0.7, 0.2))
    assert sample_size(7, 0.1, 0.1, 0.2) == 10 * runs_a_string(0.1, 0.1, 0.2) * 7


def test_an_amplified_learner_of_somebody_elses_is_far_more_reproducible() -> None:
    """The base has rho = 0.75 * 2 * 0.05 * 0.95 + 0.25 / 2 exactly; false alarm 2e-6 in all."""
    truth = 0.75 * 2 * 0.05 * 0.95 + 0.25 * 0.5
    base = auditor.audit(noisy_bit, uniform, size=1, fixed=1000, rho=0.5)
    low, high = (f(base.pairs, base.mismatches, 5e-7) for f in (clopper_pearson_lower, clopper_pearson_upper))
    print(f"base: {base.mismatches} of {base.pairs}, in [{low:.4f}, {high:.4f}], exact {truth:.4f}")
    assert low <= truth <= high
    better = amplify(noisy_bit, base_size=1, eta=0.1, beta=0.2, rho=0.2, sample_scale=1e-7)
    runs = runs_a_string(0.1, 0.2, 0.2, 1e-7)
    record = auditor.audit(better, uniform, size=strings(0.2) * runs, fixed=100, rho=0.2)
    high = clopper_pearson_upper(record.pairs, record.mismatches, 1e-6)
    print(f"amplified with {runs} runs a string: {record.mismatches} of {record.pairs}, at most {high:.3f}")
    assert high <= 0.2
    assert record.mismatches / record.pairs < truth / 3


def test_a_base_without_a_majority_is_bottom() -> None:
    hopeless = amplify(first_value, base_size=1, eta=0.1, beta=0.4, rho=0.5, sample_scale=1e-7)
    runs = runs_a_string(0.1, 0.4, 0.5, 1e-7)
    rows = from_key(root_key(0)).random(strings(0.4) * runs)
    assert hopeless(rows, from_key(root_key(1))) is BOTTOM


def test_the_subject_says_what_it_costs_and_takes_another_base() -> None:
    params = {"base": noisy_bit, "base_size": 1, "eta": 0.1, "beta": 0.4, "rho": 0.3, "sample_scale": 1e-7}
    record = auditor.audit("algorithms.amplification:amplified", "uniform", params=params, sample="rows")
    assert record.verdict == "pass"
    assert record.note is not None
    assert "runs of the base each" in record.note
    assert record.sample_scale == pytest.approx(1e-7)
    assert record.params["base"] == f"{__name__}:noisy_bit"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"eta": 0.5}, r"eta=0.5 must be in \(0, 1/2\)"),
        ({"beta": 0.0}, r"beta=0.0 must be in \(0, 1/2\)"),
        ({"rho": 0.8}, r"rho=0.8 must be in \(0, 3/4\)"),
    ],
)
def test_bad_parameters_get_name_value_range_and_cure(params: dict[str, Any], words: str) -> None:
    with pytest.raises(auditor.AuditorError, match=words):
        auditor.audit("algorithms.amplification:amplified", params=params)
