from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

from auditor.errors import BadValue, SourceError, UnknownTruth, UsageError
from auditor.randomness import from_key, root_key
from auditor.sources.source import check_size, load_source
from auditor.trials.trial import PairKeys

KEEP = np.arange(10.0)


def rng() -> np.random.Generator:
    return from_key(root_key(1))


def view_sampler(rng: np.random.Generator, size: int) -> np.ndarray:
    return KEEP[:size]


def labelled(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    x = rng.random((size, 3))
    return x, x[:, 0] > 0.5


@pytest.mark.parametrize(
    "spec",
    [
        "bernoulli(0.5)",
        "norm",
        "norm()",
        "norm(loc=2, scale=3)",
        "binom(10, 0.3)",
        "gamma(2.0, scale=0.5)",
        "randint(0, 7)",
    ],
)
def test_a_scipy_spec_draws_what_scipy_draws(spec: str) -> None:
    name, _, rest = spec.partition("(")
    frozen = eval(f"scipy.stats.{name}({rest.rstrip(')')})")  # noqa: S307 - the test's own constants
    assert load_source(spec).draw(rng(), 50).tolist() == frozen.rvs(size=50, random_state=rng()).tolist()
    assert load_source(spec).expect() == pytest.approx(float(frozen.mean()))


def test_expectations_of_queries_are_exact_and_remembered() -> None:
    source = load_source("bernoulli(0.3)")
    calls = []

    def query(x: Any) -> Any:
        calls.append(1)
        return 5 * x + 1

    assert source.expect(query) == pytest.approx(2.5)
    asked = len(calls)
    assert source.expect(query) == pytest.approx(2.5)
    assert len(calls) == asked
    assert load_source("norm").expect(lambda x: x**2) == pytest.approx(1.0)


def test_a_multivariate_distribution_keeps_its_rows() -> None:
    source = load_source("multivariate_normal(mean=[0, 0])")
    assert source.draw(rng(), 1).shape == (1, 2)
    assert source.draw(rng(), 5).shape == (5, 2)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("bernouli(0.5)", r"no distribution 'bernouli' \(did you mean bernoulli\?\)"),
        ("bernoulli(__import__('os'))", "literal arguments"),
        ("bernoulli(**{})", "literal arguments"),
        ("a.b(1)", "literal arguments"),
        ("bernoulli(0.5", "literal arguments"),
        ("bernoulli(1, 2, 3, 4)", "source 'bernoulli"),
        (f"{__name__}:nothing", "has no 'nothing'"),
        (f"{__name__}:__name__", "not a function"),
        ("", "literal arguments"),
    ],
)
def test_bad_specs_get_a_sentence(spec: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_source(spec)


def test_impossible_parameters_are_scipys_word() -> None:
    with pytest.raises(UsageError, match=r"bernoulli\(1.5\): scipy.stats refuses it"):
        load_source("bernoulli(1.5)").draw(rng(), 3)


def test_sources_from_python() -> None:
    frozen = load_source(scipy.stats.bernoulli(0.25))
    assert frozen.spec == "bernoulli(0.25)"
    assert load_source(frozen) is frozen
    sampler = load_source(view_sampler)
    assert sampler.spec == f"{__name__}:view_sampler"
    assert load_source(lambda rng, size: rng.random(size)).spec is None
    with pytest.raises(UsageError, match="must be a spec"):
        load_source(3)
    with pytest.raises(UnknownTruth):
        sampler.expect()


def test_views_are_copied_so_that_a_run_cannot_reach_the_next() -> None:
    drawn = load_source(view_sampler).draw(rng(), 5)
    drawn[:] = -1
    assert KEEP.tolist() == list(range(10))


def test_labelled_samples_stay_pairs() -> None:
    x, y = load_source(labelled).draw(rng(), 4)
    assert (x.shape, y.shape) == ((4, 3), (4,))


@pytest.mark.parametrize(
    ("sampler", "words"),
    [
        (lambda rng, size: rng.random(size + 1), "returned 4 rows where 3 were asked for"),
        (lambda rng, size: rng.random(0), "returned 0 rows where 3 were asked for"),
        (lambda rng, size: np.full(size, np.nan), "returned NaN"),
        (lambda rng, size: (rng.random(size), [1]), "returned 1 rows where 3"),
        (lambda rng, size: 7, "returned int: return an array of 3 rows"),
        (lambda rng: rng.random(3), r"raised TypeError: .* \(it is called fn\(rng, 3\)\)"),
    ],
)
def test_a_sampler_that_gives_no_sample_is_named(sampler: Any, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        load_source(sampler).draw(rng(), 3)


def test_infinities_are_rows_like_others() -> None:
    assert load_source(lambda rng, size: np.array([np.inf, -np.inf, 0.0])).draw(rng(), 3)[0] == np.inf


def test_a_size_beyond_memory_is_refused_from_one_row() -> None:
    drawn = []

    def sampler(rng: np.random.Generator, size: int) -> np.ndarray:
        drawn.append(size)
        return rng.random((size, 1000))

    with pytest.raises(BadValue, match=r"size=1000000000000 needs about 8e\+06 GB"):
        check_size(load_source(sampler), 10**12, rng())
    assert drawn == [1]
    check_size(load_source(sampler), 1000, rng())
    check_size(load_source(sampler), 0, rng())


def test_the_three_draws_of_a_pair_have_keys_of_their_own() -> None:
    keys = PairKeys(0)
    digests = {key.child(i).digest for i in range(100) for key in (*keys.samples, keys.r)}
    assert len(digests) == 300
    assert {key.child(0).digest for key in (*PairKeys(1).samples, PairKeys(1).r)}.isdisjoint(digests)


@pytest.mark.parametrize("spec", [f"poisson({10**30})", f"randint(0, {10**900})"])
def test_a_law_of_numbers_that_scipy_cannot_take_is_refused(spec: str) -> None:
    with pytest.raises(UsageError, match=r"scipy\.stats refuses it"):
        load_source(spec).law(5)


@pytest.mark.parametrize("spec", ["norm({0})", "binom({0}, 0.5)", "expon(scale={0})", "uniform(0, {0})"])
def test_a_draw_of_numbers_beyond_every_float_is_refused(spec: str) -> None:
    with pytest.raises(UsageError, match=r"scipy\.stats refuses it"):
        load_source(spec.format(10**900)).draw(np.random.default_rng(0), 5)


@pytest.mark.parametrize("spec", ["bernoulli(0.5{})", "binom(10, 0.5{})", "poisson(3{})"])
def test_counts_are_whole_numbers_and_have_no_scale(spec: str) -> None:
    for loc in ("", ", 2", ", loc=2"):
        assert load_source(spec.format(loc)).draw(from_key(root_key(0)), 4).dtype == np.int64
    for scale in (", 0, 2", ", scale=2"):
        with pytest.raises(UsageError, match="argument"):
            load_source(spec.format(scale))
