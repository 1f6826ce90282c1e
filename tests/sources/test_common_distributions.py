"""Drawn without scipy.stats, and the same draws to the last bit."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.stats

from auditor.errors import UsageError
from auditor.sources.distribution import common_distribution
from auditor.sources.source import load_source, remembering

SPECS = [
    ("norm", (), {}),
    ("norm", (3, 0.5), {}),
    ("norm", (), {"scale": 2.5, "loc": -1}),
    ("uniform", (), {}),
    ("uniform", (-1, 2), {}),
    ("expon", (0, 3.0), {}),
    ("bernoulli", (0.3,), {}),
    ("bernoulli", (1,), {}),
    ("bernoulli", (), {"p": 0.5, "loc": 2}),
    ("binom", (10, 0.9), {}),
    ("binom", (1000,), {"p": 0.4, "loc": 1}),
    ("poisson", (0,), {}),
    ("poisson", (3.5,), {}),
    ("poisson", (1e6,), {}),
]


@pytest.mark.parametrize(("name", "args", "keywords"), SPECS)
def test_the_draws_are_scipys(name: str, args: tuple[float, ...], keywords: dict[str, float]) -> None:
    found = common_distribution(name, args, keywords)
    assert found is not None
    theirs = getattr(scipy.stats, name)(*args, **keywords)
    for seed, size in itertools.product(range(3), (0, 1, 7, 1000)):
        mine, other = (one.rvs(size=size, random_state=np.random.default_rng(seed)) for one in (found, theirs))
        assert mine.tobytes() == other.tobytes()
        assert mine.dtype == other.dtype
    assert found.mean() == theirs.mean()
    assert found.support() == theirs.support()
    assert pickle.loads(pickle.dumps(found)).var() == theirs.var()


def test_draws_that_are_remembered_are_scipys_and_need_no_scipy_where_they_are_sent() -> None:
    found = remembering("gamma(2, scale=3)")
    assert found is not None
    theirs = scipy.stats.gamma(2, scale=3)

    def draws(one: Any) -> list[bytes]:
        rng = np.random.default_rng(1)  # drawn from twice: the second draw depends on what the first has left
        return [one.rvs(size=size, random_state=rng).tobytes() for size in (5, 5)] + [rng.random(3).tobytes()]

    assert draws(found.frozen) == draws(theirs)
    sent = pickle.loads(pickle.dumps(found)).frozen
    rows = sent.rvs(size=5, random_state=np.random.default_rng(1))
    rows[:] = 0  # a subject may change its sample
    assert draws(sent) == draws(theirs)
    assert sent._frozen is None, "scipy.stats was asked for nothing"
    assert sent.rvs(3, np.random.default_rng(2)).tolist() == theirs.rvs(3, np.random.default_rng(2)).tolist()
    assert sent.var() == theirs.var()


@pytest.mark.parametrize("source", ["norm(1)", "pmf([0.5, 0.5])", "data.csv", "mine:rows", "mine:rows(p=1)", print])
def test_what_needs_no_scipy_is_not_remembered(source: object) -> None:
    assert remembering(source) is None


@pytest.mark.parametrize(
    "spec",
    ["bernoulli(1.5)", "bernoulli()", "binom(2.5, 0.5)", "norm(0, 1, 2)", "norm(0, loc=1)", "norm(q=1)", "poisson(-1)"],
)
def test_what_scipy_refuses_is_refused(spec: str) -> None:
    with pytest.raises(UsageError):
        load_source(spec).draw(np.random.default_rng(0), 3)


def test_laws_and_means_are_scipys() -> None:
    law, theirs = load_source("binom(5, 0.3)").law(), load_source(scipy.stats.binom(5, 0.3)).law()
    assert law.values.tolist() == theirs.values.tolist()
    assert law.weights.tolist() == theirs.weights.tolist()
    assert load_source("expon").expect() == 1.0


@pytest.mark.parametrize("p", [0, 0.1, 0.3, 1])
@pytest.mark.parametrize("loc", [0, -3, 5])
def test_a_coin_is_scipys(p: float, loc: int) -> None:
    coin, theirs = common_distribution("bernoulli", (p, loc), {}), scipy.stats.bernoulli(p, loc)
    assert coin is not None
    assert coin.pmf(np.arange(-5, 9)).tolist() == theirs.pmf(np.arange(-5, 9)).tolist()

    def query(x: np.ndarray) -> np.ndarray:
        return np.exp(x) / (1 + x**2)

    assert coin.expect(query) == pytest.approx(theirs.expect(query), rel=1e-14)
