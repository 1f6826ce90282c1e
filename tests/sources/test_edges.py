"""The edges of every source, exactly: where a range ends, what is drawn from a given generator, what a refusal says."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest
import scipy.sparse
import scipy.stats
import sklearn.datasets

from auditor.errors import BadValue, SampleError, SourceError, UnknownTruth, UsageError
from auditor.sources import distribution, source, tables
from auditor.sources.datasets import Dataset, from_arrays, is_file_spec, is_shift, read_file, takes_kind
from auditor.sources.distribution import Coin, Common, common_distribution, tails_cut
from auditor.sources.frames import as_matrix, bytes_of, own, rows_in
from auditor.sources.law import LARGEST, PIECE, Finite, Law, pmf, points, unique
from auditor.sources.sample import CountSample, RowSample, Sample, chance_of_fewer, check_odd, copied, copier_of
from auditor.sources.shifts import split_arguments
from auditor.sources.sklearn_data import _rows
from auditor.sources.source import (
    Sampler,
    check_size,
    is_dataset,
    is_deterministic,
    is_source,
    load_dataset,
    load_source,
)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


class Given:
    """In place of a generator: hands out the numbers that it was given, in order."""

    def __init__(self, *numbers: Any) -> None:
        self.numbers = list(numbers)

    def random(self, size: Any = None) -> Any:
        return np.broadcast_to(np.asarray(self.numbers.pop(0), dtype=float), size or ())

    def integers(self, low: int, high: int, size: Any) -> Any:
        self.range = low, high
        return np.broadcast_to(np.asarray(self.numbers.pop(0)), size)

    def permutation(self, count: int) -> Any:
        return np.arange(count)[::-1]

    def choice(self, values: Any, size: int) -> Any:
        return np.asarray(values)[np.asarray(self.numbers.pop(0))]


def given(*numbers: Any) -> Any:
    return Given(*numbers)


# distributions of scipy.stats


def test_the_mass_of_a_tail_is_twice_its_geometric_series() -> None:
    halves = 2.0 ** -np.arange(1, 129)
    assert distribution._mass_beyond(halves) == pytest.approx(2.0, rel=1e-12)
    slow = 0.99 ** np.arange(128)
    assert distribution._mass_beyond(slow) == pytest.approx(2 / (1 - 0.99), rel=1e-9)
    assert distribution._mass_beyond(np.ones(128)) == 1.0
    assert distribution._mass_beyond(np.zeros(128)) == 0.0
    assert distribution._mass_beyond(np.append(np.zeros(64), np.ones(64))) == 0.0


@pytest.mark.parametrize("least", [1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 1000])
def test_a_tail_ends_at_the_least_place_that_will_do(least: int) -> None:
    asked: list[int] = []
    assert distribution._tail_length(lambda x: bool(asked.append(x) or x >= least)) == least
    assert max(asked) < 2 * least
    assert len(asked) <= 2 * math.ceil(math.log2(least + 1)) + 1


def test_a_tail_that_never_ends_is_looked_at_no_further_than_can_be_listed() -> None:
    asked: list[int] = []
    assert distribution._tail_length(lambda x: bool(asked.append(x))) == distribution.MAX_SUPPORT == 2**22
    assert max(asked) < 2**22


@pytest.mark.parametrize("spec", ["geom(0.5)", "poisson(5)", "skellam(3, 4)", "dlaplace(0.5)"])
@pytest.mark.parametrize("size", [1, 7, 8, 1000])
def test_a_law_ends_where_twice_what_is_beyond_is_half_of_what_may_be(spec: str, size: int) -> None:
    """On each side where there is a tail: 2^-61 over the power of two above the size, and one value less is too few."""
    source: Any = load_source(spec)
    law, tail = source.law(size), 2.0**-61 / 2 ** size.bit_length()
    low, high = int(law.values[0]), int(law.values[-1])
    assert law.values.tolist() == [*range(low, high + 1)]

    def beyond(start: int, step: int) -> float:
        return 2 * math.fsum(source.frozen.pmf(start + step * np.arange(1, 600)))

    assert beyond(high, 1) <= tail < beyond(high - 1, 1)
    if source.frozen.support()[0] == -math.inf:
        assert beyond(low, -1) <= tail < beyond(low + 1, -1)


def test_laws_of_sizes_with_as_many_bits_are_one() -> None:
    cut, whole = load_source("geom(0.5)"), load_source("binom(3, 0.5)")
    assert cut.law(4) is cut.law(7)
    assert cut.law(7) is not cut.law(8)
    assert whole.law(1) is whole.law(10**30)
    assert [load_source(spec).is_cut for spec in ("geom(0.5)", "binom(3, 0.5)", "norm", "uniform")] == [  # type: ignore[attr-defined]
        True,
        False,
        True,
        False,
    ]


def test_what_is_cut_off_is_said_to_the_word() -> None:
    said = "counts know geom(0.5) from 1 to 72: fewer than 2^-60 rows of a sample of 1,000 are expected beyond, "
    said += "so 3,000 runs would have one there with probability at most 2.7e-15"
    assert tails_cut(load_source("geom(0.5)"), 1000, 3000) == said
    assert tails_cut(load_source("binom(3, 0.5)"), 1000, 3000) is None
    assert tails_cut(load_source("pmf([1.0])"), 1000, 3000) is None


def test_as_many_values_as_can_be_listed_are_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "MAX_SUPPORT", 100)
    assert load_source("randint(5, 105)").law().values.tolist() == [*range(5, 105)]
    with pytest.raises(UnknownTruth) as refused:
        load_source("randint(5, 106)").law()
    assert str(refused.value) == "randint(5, 106) has more than 100 values, too many to count"
    with pytest.raises(UnknownTruth) as refused:
        load_source("geom(0.001)").law(7)
    assert str(refused.value) == "geom(0.001) has more than 100 values that 7 rows may meet, too many to count"
    with pytest.raises(UnknownTruth) as refused:
        load_source("norm").law()
    words = "the values of norm cannot be listed: it is no discrete distribution over numbers"
    assert str(refused.value) == words


def test_values_without_mass_are_not_listed() -> None:
    law = load_source("bernoulli(1)").law()
    assert (law.values.tolist(), law.weights.tolist()) == ([1], [1.0])


def test_a_single_row_keeps_its_axis() -> None:
    assert load_source("multivariate_normal(mean=[0, 0, 0])").draw(rng(), 1).shape == (1, 3)
    assert load_source("multivariate_normal(mean=[0, 0, 0])").draw(rng(), 3).shape == (3, 3)
    assert load_source("norm").draw(rng(), 0).shape == (0,)


TOP = 2**53
EDGES: list[tuple[str, tuple[Any, ...], dict[str, Any], bool]] = [
    ("norm", (), {"scale": 5e-324}, True),
    ("norm", (), {"scale": 0}, False),
    ("norm", (), {"scale": 1.7976931348623157e308}, True),
    ("norm", (), {"scale": 2**1024}, False),
    ("norm", (TOP,), {}, True),
    ("norm", (-TOP,), {}, True),
    ("norm", (TOP + 2,), {}, False),
    ("norm", (-TOP - 2,), {}, False),
    ("norm", (math.inf,), {}, False),
    ("norm", (math.nan,), {}, False),
    ("norm", (True,), {}, False),
    ("norm", (0, 1, 2), {}, False),
    ("norm", (0,), {"loc": 1}, False),
    ("norm", (), {"p": 0.5}, False),
    ("gamma", (1,), {}, False),
    ("bernoulli", (0,), {}, True),
    ("bernoulli", (1,), {}, True),
    ("bernoulli", (math.nextafter(1, 2),), {}, False),
    ("bernoulli", (-5e-324,), {}, False),
    ("bernoulli", (), {}, False),
    ("bernoulli", (0.5,), {"scale": 2}, False),
    ("binom", (0, 0.5), {}, True),
    ("binom", (TOP, 0.5), {}, True),
    ("binom", (TOP + 1, 0.5), {}, False),
    ("binom", (-1, 0.5), {}, False),
    ("binom", (2.0, 0.5), {}, False),
    ("binom", (2,), {}, False),
    ("poisson", (0,), {}, True),
    ("poisson", (1e15,), {}, True),
    ("poisson", (math.nextafter(1e15, math.inf),), {}, False),
    ("poisson", (-5e-324,), {}, False),
]


@pytest.mark.parametrize(("name", "args", "keywords", "is_common"), EDGES, ids=[f"{e[0]}{e[1]}{e[2]}" for e in EDGES])
def test_what_is_drawn_without_scipy(name: str, args: Any, keywords: Any, is_common: bool) -> None:
    found = common_distribution(name, args, keywords)
    kind = Coin if name == "bernoulli" else Common
    assert type(found) is (kind if is_common else type(None))


def test_a_common_distribution_has_no_private_attribute_of_scipys() -> None:
    found = common_distribution("norm", (), {})
    assert not hasattr(found, "_no_such")
    assert found is not None
    assert found.std() == 1.0


# listed values


def test_listed_values_are_drawn_by_the_place_of_a_uniform_number() -> None:
    listed = load_source("pmf({7: 0.25, 8: 0.5, 9: 0.25})")
    below = math.nextafter(0.25, 0)
    assert listed.draw(given([0, below, 0.25, 0.5, 0.75, 0.99]), 6).tolist() == [7, 7, 8, 8, 9, 9]
    x, y = load_source("points([[1], [2]], labels=[3, 4], weights=[0.25, 0.75])").draw(given([0.1, 0.3]), 2)
    assert (x.tolist(), y.tolist()) == ([[1], [2]], [3, 4])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pmf([0.5, 0.5 + 2e-9]), "add up to 1"),
        (lambda: pmf([0.5, 0.5 - 2e-9]), "add up to 1"),
        (lambda: pmf([]), "probabilities must be at least 0 and add up to 1, and these add up to 0"),
        (lambda: pmf([1.5, -0.5]), "probabilities must be at least 0 and add up to 1, and these add up to 1"),
        (lambda: pmf([0.5, 0.25]), "probabilities must be at least 0 and add up to 1, and these add up to 0.75"),
        (lambda: points([]), "add up to 0"),
        (lambda: points([1, 2], labels=[1]), "2 points and 1 labels: give one for each"),
        (lambda: points([1, 2], weights=[0.5, 0.25, 0.25]), "2 points and 3 weights: give one for each"),
    ],
)
def test_probabilities_that_are_none_are_refused(make: Callable[[], Law], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        make()


def test_probabilities_may_be_a_rounding_off() -> None:
    assert pmf([0.5, 0.5 + 5e-10]).weights.sum() == pytest.approx(1, abs=1e-15)
    assert pmf([1.0, 0.0]).weights.tolist() == [1.0, 0.0]
    assert pmf({"a": 1.0}).values.tolist() == ["a"]
    assert points([5, 6]).weights.tolist() == [0.5, 0.5]
    nothing: Any = load_source("nothing")
    assert isinstance(nothing, Finite)
    assert (nothing.law().values.tolist(), nothing.law().weights.tolist()) == ([0], [1.0])


def test_values_without_an_order_are_sorted_by_type_and_text() -> None:
    items = np.array(["b", 2, "a", 10, 2], dtype=object)
    values, place = unique(items)
    assert (values.tolist(), place.tolist()) == ([10, 2, "a", "b"], [3, 1, 2, 0, 1])
    assert load_source("pmf({1: 0.5, 'a': 0.5})").law().distinct().values.tolist() == [1, "a"]


def test_what_is_never_kept_leaves_the_law_and_says_so() -> None:
    law, density = Law(np.arange(2), np.array([0.25, 0.75])).reweighted(lambda x: 0.0 * x)
    assert (law.weights.tolist(), density) == ([0.25, 0.75], 0.0)
    law, density = Law(np.arange(2), np.array([0.25, 0.75])).reweighted(lambda x: 1 - x / 2)
    assert (law.weights.tolist(), density) == ([0.4, 0.6], 0.625)


# functions and objects of others


class Coins:
    """A source of somebody else's."""

    name = "coins"

    def __init__(self, law: Any = None) -> None:
        self.asked: list[Any] = []
        self._law = law

    def draw(self, rng: Any, size: int) -> Any:
        return np.ones(size)

    def expect(self, query: Any = None) -> int:
        return 3

    def law(self, size: int) -> Any:
        self.asked.append(size)
        return self._law


def test_the_law_of_an_object_is_asked_once_for_each_size() -> None:
    coins = Coins({0: 0.5, 1: 0.5})
    found = load_source(coins)
    assert isinstance(found, Sampler)
    assert (found.name, found.spec, found.expect()) == ("coins", None, 3.0)
    assert found.law(5) is found.law(5)
    assert found.law(6).weights.tolist() == [0.5, 0.5]
    assert coins.asked == [5, 6]
    assert load_source(Coins(found.law(5))).law(9) is found.law(5)


@pytest.mark.parametrize("law", [3, {0: 0.5}, {0: "x"}])
def test_a_law_that_is_none_is_refused_with_what_it_must_be(law: Any) -> None:
    with pytest.raises(SourceError, match=r"source coins: its law must be \{value: probability\}; "):
        load_source(Coins(law)).law(5)


def test_what_knows_no_mean_and_no_law_says_so() -> None:
    def fn(rng: Any, size: int) -> Any:
        return np.zeros(size)

    name = load_source(fn).name
    with pytest.raises(UnknownTruth) as refused:
        load_source(fn).expect()
    assert str(refused.value) == f"the exact mean over {name} is not known: it is a function, not a distribution"
    with pytest.raises(UnknownTruth) as refused:
        load_source(fn).law()
    assert str(refused.value) == f"the values of {name} cannot be listed: it is a function, not a distribution"


def test_an_interrupt_is_passed_on_and_all_else_is_the_sources() -> None:
    def stops(rng: Any, size: int) -> Any:
        raise KeyboardInterrupt

    def knows_nothing(rng: Any, size: int) -> Any:
        raise UnknownTruth("nobody knows")

    def leaves(rng: Any, size: int) -> Any:
        raise SystemExit(3)

    with pytest.raises(KeyboardInterrupt):
        load_source(stops).draw(rng(), 3)
    with pytest.raises(UnknownTruth, match="nobody knows"):
        load_source(knows_nothing).draw(rng(), 3)
    with pytest.raises(SourceError, match=r"raised SystemExit: 3 \(it is called fn\(rng, 7\)\)"):
        load_source(leaves).draw(rng(), 7)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.array(1.0), "returned ndarray: return an array of 3 rows or (X, y)"),
        (np.ones(2), "returned 2 rows where 3 were asked for"),
        ({"a": [1, 2], "b": [1]}, "returned columns of different lengths where 3 were asked for"),
        ({"a": [1, 2], "b": [1, 2]}, "returned 2 rows where 3 were asked for"),
        ((np.ones(3), np.array([0, np.nan, 1])), "returned NaN: drop or fill missing values in the sampler"),
        (np.array([1, complex(0, math.nan), 2]), "returned NaN"),
        ((np.ones(3), np.ones(3), np.ones(3), np.ones(3)), "returned 4 rows where 3"),
        (None, "returned NoneType: return an array of 3 rows or (X, y)"),
    ],
)
def test_what_is_no_sample_of_three_rows_is_refused(rows: Any, words: str) -> None:
    with pytest.raises(SourceError, match=re.escape(words)):
        load_source(lambda rng, size: rows).draw(rng(), 3)


def test_samples_of_all_kinds_are_taken() -> None:
    for rows in ([1, 2, 3], (1, 2, 3), "abc", {"a": 1, "b": 2, "c": 3}, {"a": [1, 2, 3]}, np.array(["a", "b", "c"])):
        assert len(load_source(lambda rng, size, rows=rows: rows).draw(rng(), 3)) == len(rows)
    assert load_source(lambda rng, size: np.zeros((0, 2))).draw(rng(), 0).shape == (0, 2)
    kept = np.asfortranarray(np.ones((3, 2)))
    drawn = load_source(lambda rng, size: kept[:]).draw(rng(), 3)
    assert drawn.flags.f_contiguous
    assert not np.shares_memory(drawn, kept)
    pair = load_source(lambda rng, size: (kept[:], [1, 2, 3])).draw(rng(), 3)
    assert isinstance(pair, tuple)
    assert not np.shares_memory(pair[0], kept)


@pytest.mark.parametrize(
    ("given_source", "words"),
    [
        (3, "source 3 must be a spec such as 'bernoulli(0.5)', or a function fn(rng, size)"),
        (polars.LazyFrame({"a": [1]}), "source LazyFrame has no rows yet: give what its collect() returns"),
        (f"{__name__}:TOP", f"source {__name__}:TOP is int, not a function fn(rng, size)"),
        (f"{__name__}:TOP(p=1)", "must be a function with keywords that are literals, e.g."),
        ("pmf([2.0])", "source 'pmf([2.0])': probabilities must be at least 0"),
        ("pmf(3)", "source 'pmf(3)': 'int' object is not iterable"),
        ("norm(1, 2, 3, 4)", "source 'norm(1, 2, 3, 4)': "),
        ("nrm", "scipy.stats has no distribution 'nrm' (did you mean norm?); write e.g. \"bernoulli(0.5)\""),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_no_source_is_refused_to_the_word(given_source: Any, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        load_source(given_source)


def declared(rng: Any, size: int) -> Any:
    return np.zeros(size)


declared.deterministic = True  # type: ignore[attr-defined]


def test_what_is_a_source_a_data_set_and_deterministic() -> None:
    assert is_source(Coins())
    assert not is_source(Coins)
    assert not is_source(3)
    assert is_deterministic(load_source(declared))
    assert is_deterministic(load_source(f"{__name__}:declared()"))
    assert not is_deterministic(load_source("norm"))
    still = Coins()
    still.deterministic = 1  # type: ignore[attr-defined]
    assert not is_deterministic(load_source(still)), "True, and not what is as good as true"
    still.deterministic = True  # type: ignore[attr-defined]
    assert is_deterministic(load_source(still))
    data = ("sklearn:load_iris", "a.csv", "a.npz#y", "a.parquet", np.ones(3), (1, 2), f"{__name__}:ROWS")
    assert [is_dataset(one) for one in data] == [True] * len(data)
    other = ("norm", "mixture(a.csv, b.csv, 0.1)", (1, 2, 3), {"a": 1}, f"{__name__}:TOP", f"{__name__}:declared()")
    assert [is_dataset(one) for one in other] == [False] * len(other)
    assert (is_shift("mixture(a, b, 1)"), is_shift("mixture"), is_shift(3)) == (True, False, False)
    assert (is_file_spec("a.csv#y.txt"), is_file_spec("a.txt#y.csv"), is_file_spec("duplicate(a.csv")) == (
        True,
        False,
        False,
    )
    assert [takes_kind(one) for one in ("a.csv", "a.parquet#y", "a.npz", 3, "duplicate(a.csv")] == [
        True,
        True,
        False,
        False,
        False,
    ]


ROWS = np.arange(6.0)


def test_rows_of_a_module_are_a_data_set() -> None:
    found = load_dataset(f" {__name__}:ROWS ", "split")
    assert (found.name, found.spec, found.count, found.resample) == (f"{__name__}:ROWS", f"{__name__}:ROWS", 6, "split")


def test_a_frozen_distribution_is_named_as_it_would_be_written() -> None:
    assert load_source(scipy.stats.norm(1, scale=2)).spec == "norm(1, scale=2)"
    assert load_source(scipy.stats.norm(loc=np.arange(3))).spec != "norm(loc=array([0, 1, 2]))"


def test_a_size_that_fits_exactly_is_taken_and_one_more_row_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "free_memory", lambda: 8_000_000_000)
    norm = load_source("norm")
    check_size(norm, 10**9, rng())
    with pytest.raises(BadValue) as refused:
        check_size(norm, 10**9 + 1, rng())
    words = "size=1000000001 needs about 8 GB a sample, and 8 GB are free: use a smaller size"
    assert str(refused.value) == words
    with pytest.raises(BadValue) as refused:
        check_size(norm, 3 * 10**9, rng(), can_count=True)
    words = "size=3000000000 needs about 24 GB a sample, and 8 GB are free: use a smaller size, or --sample counts"
    assert str(refused.value) == words
    check_size(load_source(lambda rng, size: np.ones(7)), 10**15, rng())  # refused by its full draw


def test_the_memory_of_a_table_is_that_of_one_more_row(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pandas.DataFrame({"a": np.arange(10.0), "b": np.arange(10.0)})
    assert source._bytes_a_row(from_arrays(frame), frame[:1], rng()) == 16
    assert source._bytes_a_row(from_arrays((frame, np.arange(10.0))), (frame[:1], np.ones(1)), rng()) == 24
    function = load_source(lambda rng, size: pandas.DataFrame({"a": np.ones(size), "b": np.ones(size)}))
    assert source._bytes_a_row(function, function.draw(rng(), 1), rng()) == 16
    empty = load_source(lambda rng, size: pandas.DataFrame(index=range(size)))
    assert source._bytes_a_row(empty, empty.draw(rng(), 1), rng()) == 8
    with pytest.raises(UsageError) as refused:
        check_size(from_arrays(frame), 5, rng(), can_count=True)
    words = "source 10 rows of data draws a pandas DataFrame, and an auditor.Sample holds arrays: leave the annotation "
    assert str(refused.value) == words + "out to get the table itself, or use --as numpy"
    with pytest.raises(UsageError, match=r"to get the table itself$"):
        check_size(function, 5, rng(), can_count=True)


# data sets


def test_how_rows_are_chosen() -> None:
    boot, half = load_dataset(ROWS, "bootstrap"), load_dataset(ROWS, "subsample")
    chooser = given([5, 0, 0])
    assert boot.draw(chooser, 3).tolist() == [5, 0, 0]
    assert chooser.range == (0, 6)
    assert half.draw(given(), 3).tolist() == [5, 4, 3]
    parts = load_dataset((ROWS, ROWS + 10), "split")
    assert [part.tolist() for part in parts.draw_part(given(), 2, 1)] == [[3, 2], [13, 12]]
    assert [part.tolist() for part in parts.draw_part(given(), 2, 2)] == [[1, 0], [11, 10]]
    with pytest.raises(SourceError, match="has 6 rows: no part 1 of 4 rows is left"):
        parts.draw_part(given(), 4, 1)
    assert [one.default_size for one in (boot, half, parts)] == [6, 3, 3]
    assert [one.drawn_together for one in (boot, half, parts)] == [False, False, True]
    boot.check_size(7)
    half.check_size(3)
    with pytest.raises(BadValue, match="size=4 is more than --resample subsample can take of 6 rows: 3"):
        half.check_size(4)


def test_what_each_resampling_says_of_one_file() -> None:
    boot, sub, split = (
        load_dataset(np.arange(2000.0), how).words(100, 0.95) for how in ("bootstrap", "subsample", "split")
    )
    file = "rho is that of samples drawn from these 2,000 rows. "
    assert boot.startswith(file)
    assert [boot.index(word) for word in ("more often", "less often")], "it may err in both directions"
    assert sub == file + (
        "The two samples of a pair share 0.05 of their rows on average, so two outputs tend to agree more often than "
        "those of two fresh samples would: rho tends to come out too low"
    )
    apart = "; pairs are not independent of each other, since at most {} have no row in common"
    fair = "over files of independent rows the rate is on average that of two fresh samples, neither too low nor too "
    fair += "high, "
    off = math.sqrt(math.log(2 / 0.05) / (2 * 10))
    assert off == pytest.approx(0.4295, abs=1e-4)
    share = "The two samples of a pair share no row: "
    assert split == file + share + fair + "within 0.43 of it in 95 % of them" + apart.format(10)
    # 1 / K = 2 / log(40) is where nothing is said: K = 1.84
    assert "but one may be far off" + apart.format(1) in load_dataset(np.arange(400.0), "split").words(200, 0.95)
    assert "within 0.97 of it" in load_dataset(np.arange(400.0), "split").words(100, 0.95)
    assert "but one may be far off" + apart.format(0) in load_dataset(np.arange(400.0), "split").words(0, 0.95)
    many = load_dataset(np.arange(20_000.0), "split").words(2, 0.95)
    assert "at most 5,000 have no row in common" in many


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (np.ones(1), "source 1 rows of data: a data set needs two rows or more and as many labels, and it has [1]"),
        (np.array(3.0), "and it has [0]"),
        ((np.ones(3), np.ones(2)), "source 3 rows of data: a data set needs two rows or more"),
        ({"a": [1, 2], "b": [1]}, "source of columns: its columns differ in length"),
        (np.array([1, math.nan]), "source 2 rows of data has missing values: drop or fill them first"),
        (np.array([1, complex(0, math.nan)]), "has missing values"),
        (np.array(["NaT", 1], dtype="M8[D]"), "has missing values"),
        (np.array(["NaT", 1], dtype="m8[D]"), "has missing values"),
        ((np.ones(2), np.array([1, math.nan])), "has missing values"),
    ],
)
def test_rows_that_are_no_data_set_are_refused(data: Any, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        from_arrays(data)


def test_two_rows_are_a_data_set() -> None:
    found = from_arrays(np.array(["a", "b"]))
    assert (found.name, found.count, found.columns) == ("2 rows of data", 2, ())
    assert from_arrays({"a": [1, 2]}).columns == ("a",)
    assert from_arrays(np.arange(1000)).name == "1,000 rows of data"
    assert found.law() is found.law()
    assert found.law().weights.tolist() == [0.5, 0.5]
    with pytest.raises(UnknownTruth, match="the values of 2 rows of data cannot be listed: its rows are a dict of col"):
        from_arrays({"a": [1, 2]}).law()
    assert from_arrays({"a": [1, 2]}).expect(lambda rows: rows["a"]) == 1.5
    with pytest.raises(UnknownTruth, match="cannot be listed"):
        from_arrays({"a": [1, 2]}).expect()


@pytest.mark.parametrize(
    ("arrays", "spec", "words"),
    [
        ({"a": np.ones(3), "b": np.ones(2)}, "", "its columns differ in length: 'a' 3, 'b' 2"),
        ({"a": np.ones(3), "b": np.array(1.0)}, "", "'a' 3, 'b' 0"),
        ({f"c{i}": np.ones(2 + i) for i in range(7)}, "", "'c0' 2, 'c1' 3, 'c2' 4, 'c3' 5, 'c4' 6"),
        ({"a": np.ones(3)}, "#a", "no column is left beside 'a'"),
        ({"a": np.ones(3)}, "#b", "no column 'b'; it has a"),
        ({}, "", "it is empty"),
        ({"a": np.ones(3), "b": np.ones((3, 2, 2))}, "", "its arrays are not columns of one table: "),
        ({"a": np.ones(3, dtype="V4"), "b": np.ones(3)}, "", "'a' holds |V4, and rows are numbers, words or dates"),
    ],
)
def test_a_file_of_arrays_that_are_no_columns_is_refused(
    tmp_path: Path, arrays: dict[str, Any], spec: str, words: str
) -> None:
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(UsageError, match=re.escape(words)):
        read_file(f"{tmp_path / 'x.npz'}{spec}", "bootstrap")


def test_which_arrays_of_a_file_are_labels(tmp_path: Path) -> None:
    x, y = np.arange(6.0).reshape(3, 2), np.arange(3)
    np.savez(tmp_path / "x.npz", X=x, y=y)
    place = str(tmp_path / "x.npz")
    assert [part.tolist() for part in read_file(place, "bootstrap").rows] == [x.tolist(), y.tolist()]
    assert [part.tolist() for part in read_file(f"{place}#y", "bootstrap").rows] == [x.tolist(), y.tolist()]
    np.savez(tmp_path / "x.npz", X=y, y=y, z=y + 1)
    assert read_file(place, "bootstrap").rows.tolist() == [[0, 0, 1], [1, 1, 2], [2, 2, 3]]
    np.savez(tmp_path / "x.npz", a=y)
    assert read_file(place, "bootstrap").rows.tolist() == [[0], [1], [2]]
    assert read_file(place, "bootstrap").columns == ("a",)
    assert isinstance(read_file(place, "bootstrap"), Dataset)


# files of rows


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["1", "2"], [1, 2]),
        (["1", "2.5"], [1.0, 2.5]),
        ([str(2**53 - 1), "0"], [2**53 - 1, 0]),
        ([str(2**53), "0"], [2.0**53, 0.0]),
        ([f"-{2**53}", "0"], [-(2.0**53), 0.0]),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_a_column_is_of_integers_of_numbers_or_of_words(cells: list[str], found: list[Any]) -> None:
    column = tables.read_csv("x.csv", "\n".join(["c", *cells]).encode())["c"]
    assert column.tolist() == found
    assert [type(one) for one in column.tolist()] == [type(one) for one in found]


@pytest.mark.parametrize("hole", ["", " ", "NaN", "na", "NULL"])
def test_a_hole_is_refused_with_its_line_and_its_column(hole: str) -> None:
    with pytest.raises(UsageError) as refused:
        tables.read_csv("x.csv", f"a,b\n1,2\n3,{hole}\n".encode())
    said = "source 'x.csv': line 3 has no value for 'b': drop or fill them first, or say --as pandas"
    assert str(refused.value) == said


def test_words_among_numbers_are_quoted_in_part() -> None:
    with pytest.raises(UsageError) as refused:
        tables.read_csv("x.csv", f"a\n1\n{'w' * 50}\n".encode())
    said = f"source 'x.csv': column 'a' mixes numbers and words such as {'w' * 40!r}: mend it, or say --as pandas"
    assert str(refused.value) == said
    assert str(tables._unreadable("x", "npz", ValueError("a\n " * 200))) == (
        "source 'x' cannot be read as npz: " + ("a " * 200)[:300]
    )
    assert str(tables._unreadable("x", "npz", ValueError())) == "source 'x' cannot be read as npz: ValueError"


def test_a_file_that_fits_exactly_is_unpacked_and_one_byte_more_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "free_memory", lambda: 2_000_000_000)
    tables._check_fits("x.npz", 2_000_000_000)
    with pytest.raises(UsageError) as refused:
        tables._check_fits("x.npz", 5_000_000_000)
    assert str(refused.value) == "source 'x.npz' unpacks into 5 GB, and 2 GB are free: draw from less"
    with pytest.raises(UsageError):
        tables._check_fits("x.npz", 2_000_000_001)


# shifts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a, b", ["a", "b"]),
        ("f(a, b), [c, d], {e: f, g: h}", ["f(a, b)", "[c, d]", "{e: f, g: h}"]),
        ("'a, b', c", ["'a, b'", "c"]),
        ("'a)', c", ["'a)'", "c"]),
        ("'(', c", ["'('", "c"]),
        ('"it\'s, so", c', ['"it\'s, so"', "c"]),
        ("f('(', a), c", ["f('(', a)", "c"]),
        ("a", ["a"]),
        ("", [""]),
    ],
)
def test_arguments_are_split_at_commas_of_their_own(text: str, words: list[str]) -> None:
    assert split_arguments(text) == words


@pytest.fixture
def data(tmp_path: Path) -> str:
    """Four rows x = 0, 2, 4, 8 with labels 0, 0, 1, 2."""
    np.savez(tmp_path / "d.npz", X=np.array([0.0, 2.0, 4.0, 8.0]), y=np.array([0, 0, 1, 2]))
    return str(tmp_path / "d.npz")


def shifted(spec: str, data: str, *numbers: Any, size: int = 4) -> Any:
    x, y = load_source(spec.replace("DATA", data)).draw(given(*numbers), size)
    return x.tolist(), y.tolist()


ALL = [0, 1, 2, 3]


def test_what_each_shift_draws_from_given_numbers(data: str) -> None:
    """A share is that of uniform numbers below it; an outlier is -8 + 24 u; a label steps on by one or two."""
    edge = [0.25, 0.2, 0.0, 0.9]
    assert shifted("contaminate(DATA, 0.25)", data, ALL, edge, [0, 0.5, 1, 0.25], [0, 1, 2, 2]) == (
        [0.0, 4.0, 16.0, 8.0],
        [0, 1, 2, 2],
    )
    assert shifted("flip_labels(DATA, 0.25)", data, ALL, edge, [1, 1, 2, 1]) == ([0, 2, 4, 8], [0, 1, 0, 2])
    assert shifted("flip_labels(DATA, 1)", data, ALL, 0.5, [1, 2, 1, 1]) == ([0, 2, 4, 8], [1, 2, 2, 0])
    assert shifted("duplicate(DATA, 0.25)", data, ALL, edge) == ([0, 0, 0, 8], [0, 0, 0, 2])
    assert shifted("duplicate(DATA, 1)", data, ALL, 0.5) == ([0, 0, 0, 0], [0, 0, 0, 0])
    assert shifted("drop_group(DATA, 0, 0.5)", data, [0.0, 0.16, 0.17, 0.99]) == ([0, 0, 2, 8], [0, 0, 0, 2])
    assert shifted("class_weights(DATA, {1: 1, 2: 3})", data, [0.0, 0.24, 0.25, 0.9]) == ([4, 4, 8, 8], [1, 1, 2, 2])


def test_two_labels_are_flipped_to_each_other_and_one_label_to_itself(tmp_path: Path) -> None:
    for labels, after in (([0, 1, 1], [1, 0, 0]), ([5, 5, 5], [5, 5, 5])):
        np.savez(tmp_path / "d.npz", X=np.arange(3.0), y=np.array(labels))
        source: Any = load_source(f"flip_labels({tmp_path / 'd.npz'}, 1)")
        chooser = given([0, 1, 2], 0.0, 1)
        assert source.draw(chooser, 3)[1].tolist() == after
        assert chooser.range == (1, 2)
        assert source.default_size == 3


def test_rows_without_labels_are_shifted_too(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", a=np.array([0, 2, 4]))
    place = tmp_path / "d.npz"
    assert load_source(f"duplicate({place}, 0.5)").draw(given([0, 1, 2], [0, 0.4, 0.6]), 3).tolist() == [[0], [0], [4]]
    wild = load_source(f"contaminate({place}, 0.5)").draw(given([0, 1, 2], [0, 0.5, 0.6], 0.75), 3)
    assert wild.tolist() == [[5.0], [2.0], [4.0]]
    for spec in ("flip_labels(DATA, 0.5)", "drop_group(DATA, 1, 0.5)", "class_weights(DATA, {1: 1})"):
        with pytest.raises(UsageError, match=r"has no labels: name the column, data\.csv#label"):
            load_source(spec.replace("DATA", str(place)))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("class_weights(DATA, {0: True})", "give {label: weight}, weights of at least 0"),
        ("class_weights(DATA, {0: 'x'})", "give {label: weight}, weights of at least 0"),
        ("class_weights(DATA, {0: 1e999})", "give {label: weight}, weights of at least 0"),
        ("class_weights(DATA, {3: 1})", "no row has the label 3"),
        ("drop_group(DATA, 0, 1.0000001)", "a share must be in [0, 1], and it is 1.0000001"),
        ("flip_labels(DATA, -0.1)", "a share must be in [0, 1], and it is -0.1"),
        ("flip_labels(DATA, 0.1, 0.2)", "must be flip_labels(DATA, share), e.g. flip_labels(data.csv#label, 0.1)"),
        ("drop_group(DATA, 0)", "must be drop_group(DATA, label, share), e.g. drop_group(data.csv#label, 1, 0.5)"),
        ("duplicate(DATA, 0.5", "must be duplicate(DATA, share), e.g. duplicate(data.csv#label, 0.1)"),
        ("mixture(norm, norm)", "must be mixture(A, B, share), e.g. mixture(norm(0, 1), norm(9, 1), 0.1)"),
        ("mixture(norm, norm, 2)", "a share must be in [0, 1], and it is 2"),
        ("duplicate(norm, 0.5)", "norm is no data set: give a file, e.g. data.csv#label, or sklearn:load_iris"),
    ],
)
def test_a_shift_that_is_none_is_refused_to_the_word(data: str, spec: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        load_source(spec.replace("DATA", data))


def test_words_are_no_outliers(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a,y\nu,1\nv,2\n")
    with pytest.raises(UsageError, match="has columns that are no numbers, and outliers are numbers"):
        load_source(f"contaminate({tmp_path / 'd.csv'}#y, 0.5)")
    x, y = load_source(f"duplicate({tmp_path / 'd.csv'}#y, 1)").draw(given([0, 1], 0.5), 2)
    assert (x.tolist(), y.tolist()) == ([["u"], ["u"]], [1, 1])
    for name in ("expect", "law"):
        with pytest.raises(UnknownTruth, match=f"{tmp_path / 'd.csv'}"):
            getattr(load_source(f"duplicate({tmp_path / 'd.csv'}#y, 1)"), name)()


def test_a_mixture_takes_the_second_below_its_share() -> None:
    source = load_source(f"mixture({__name__}:declared, {__name__}:ones, 0.25)")
    assert source.draw(given([0.25, 0.2, 0.0, 0.9]), 4).tolist() == [0, 1, 1, 0]


def ones(rng: Any, size: int) -> Any:
    return np.ones(size)


# samples


def test_what_is_taken_and_what_is_refused_of_a_sample() -> None:
    sample = Sample.of([1, 2, 3])
    assert sample.take(0).size == 0
    with pytest.raises(SampleError) as refused:
        sample.take(4)
    assert str(refused.value) == "4 examples were asked for, and 3 are left"
    with pytest.raises(SampleError, match="-1 examples were asked for, and 3 are left"):
        sample.take(-1)
    assert sample.take(3).rows().tolist() == [1, 2, 3]
    looked = Sample.of(list(range(1000)))
    looked.mean()
    with pytest.raises(SampleError) as refused:
        looked.take(1)
    assert str(refused.value) == "these 1,000 examples were looked at already: take fresh ones first, then look"
    with pytest.raises(UsageError, match="holds arrays, and these rows are a pandas DataFrame: take them as they are"):
        Sample.of(pandas.DataFrame({"a": [1]}))


@pytest.mark.parametrize("mean", [-1e-9, LARGEST, math.nan])
def test_a_poisson_mean_out_of_range_is_refused(mean: float) -> None:
    with pytest.raises(SampleError, match=r"a Poisson number of mean .* cannot be drawn: take a mean of 0 to 2\^62"):
        Sample.of([1], rng()).poisson(mean)


def test_poisson_means_at_the_ends() -> None:
    assert Sample.of([1], rng()).poisson(0).size == 0
    assert CountSample(pmf([1.0]), 10, rng()).poisson(LARGEST / 2).size == 10


def test_integers_are_added_exactly_where_int64_would_wrap() -> None:
    top = 2**62
    assert Sample.of(np.array([top, top, 1])).sum() == 2**63 + 1
    assert Sample.of(np.array([-top, -top, -1])).sum() == -(2**63) - 1
    assert Sample.of(np.array([2**63, 2**63], dtype=np.uint64)).sum() == 2**64
    assert type(Sample.of(np.array([True, True])).sum()) is int
    assert type(Sample.of(np.array([0.5, 0.5])).sum()) is float
    assert Sample.of(np.array([[1, 2], [3, 4]])).sum().tolist() == [4.0, 6.0]
    assert CountSample(pmf({top: 1.0}), 3, rng()).sum() == 3 * top
    assert CountSample(pmf({0.1: 1.0}), 10, rng()).sum() == 1.0
    assert CountSample(points([[1, 2]]), 3, rng()).sum().tolist() == [3.0, 6.0]
    with pytest.raises(ValueError, match="longer"):  # a query that has not a number for each value
        CountSample(pmf([0.5, 0.5]), 1000, rng()).sum(lambda values: values[:1])


@pytest.mark.parametrize("bits", [3, 31, 32, 33, 52, 53, 60])
def test_common_prefixes_of_rows_to_the_last_bit(bits: int) -> None:
    rows = [0, 0, 0, 1, 0, 2 ** (bits - 1), 2**bits - 1, 2**bits - 2, 2 ** (bits - 1), 2 ** (bits - 2), 0]
    assert Sample.of(np.array(rows)).common_prefixes(bits).rows().tolist() == [bits, bits - 1, 0, bits - 1, 0]
    assert Sample.of(np.array([2 ** (bits - 1) - 1, 2 ** (bits - 1)])).common_prefixes(bits).rows().tolist() == [0]


def test_medians_of_groups_and_what_fills_none() -> None:
    assert Sample.of(np.array([5, 1, 3, 9, 7, 8, 2])).medians(3).rows().tolist() == [3, 8]
    assert Sample.of(np.array([5, 1])).medians(1).rows().tolist() == [5, 1]
    assert CountSample(pmf({4: 1.0}), 11, rng()).medians(3).size == 3
    assert CountSample(pmf({4: 1.0}), 11, rng()).common_prefixes(3).size == 5
    for n in (0, -1, 2):
        with pytest.raises(SampleError) as refused:
            check_odd(n)
        said = f"medians of groups of {n} rows: the number must be odd, so that a median is one of the rows"
        assert str(refused.value) == said


def test_thinning_takes_the_first_that_are_below_their_chance() -> None:
    rows = np.array([10, 20, 30, 40])
    sample = RowSample(rows, given([0.5, 0.4, 0.0, 0.9]))
    kept = sample.thin(lambda x: np.full(len(x), 0.5), 2)
    assert kept is not None
    assert kept.rows().tolist() == [20, 30]
    assert RowSample(rows, given([0.5, 0.4, 0.0, 0.9])).thin(lambda x: np.full(len(x), 0.5), 3) is None
    pair = RowSample((rows, rows + 1), lambda: given(0.0)).thin(lambda x: np.ones(4), 1)
    assert pair is not None
    assert [part.tolist() for part in pair.rows()] == [[10], [11]]
    assert pair.size == 1
    with pytest.raises(UsageError, match="these rows have no randomness of their own to be accepted by: annotate"):
        Sample.of(rows).thin(lambda x: x, 1)


def test_the_chance_of_fewer_at_its_ends() -> None:
    assert chance_of_fewer(5, 0.5, 0) == 0.0
    assert chance_of_fewer(5, 0.5, 6) == 1.0
    assert chance_of_fewer(5, 0.5, 5) == pytest.approx(1 - 1 / 32)
    assert chance_of_fewer(5, 0.5, 1) == pytest.approx(1 / 32)
    assert chance_of_fewer(1, 1.0 + 1e-15, 1) == 0.0
    assert chance_of_fewer(2**60, 2.0**-60, 1) == pytest.approx(1 / math.e)
    # beyond 2^50 the normal law, half a step below k
    n = 4 * PIECE
    spread = math.sqrt(n) / 2
    assert chance_of_fewer(n, 0.5, n // 2 + int(spread)) == pytest.approx(0.8413447, abs=1e-6)
    assert chance_of_fewer(n, 0.5, n // 2) == pytest.approx(0.5 - 0.19947 / spread, abs=1e-12)


def test_counts_of_no_rows_and_of_too_many() -> None:
    empty = CountSample(pmf([0.5, 0.5]), 0, rng())
    assert [part.tolist() for part in empty.counts()] == [[], []]
    many = CountSample(pmf([0.5, 0.5]), 2**63, rng())
    with pytest.raises(SampleError) as refused:
        many.counts()
    said = "9,223,372,036,854,775,808 examples are more than one look can count: take at most 2^63 - 1 of them"
    assert str(refused.value) == said
    assert CountSample(pmf([0.0, 1.0]), 2**63 - 1, rng()).counts()[1].tolist() == [2**63 - 1]
    rows = CountSample(points([[1], [2]], labels=[5, 6]), 4, rng()).rows()
    assert isinstance(rows, tuple)
    assert (rows[1] == rows[0][:, 0] + 4).all()


def test_what_cannot_change_is_not_copied() -> None:
    fixed = (1, "a", b"a", None, 1.5, 2j, True, np.float64(1), (1, ("a",)), frozenset({1}), ...)
    for value in fixed:
        assert copied(value) is value
    held: list[Any] = [[1], {1}, {"a": 1}, np.ones(3), [[1]], ([1],), {"a": [1]}, np.array([[1], 2], dtype=object)]
    for value in held:
        twin = copied(value)
        assert twin is not value
        assert type(twin) is type(value)
        assert str(twin) == str(value)
    assert copier_of([1]) is list.copy
    assert copier_of({1}) is set.copy
    assert copier_of({"a": 1}) is dict.copy
    deep = {"a": [1]}
    copied(deep)["a"].append(2)
    assert deep == {"a": [1]}
    table = np.array([([1],)], dtype=[("f", object)])
    copied(table)["f"][0].append(2)
    assert table["f"][0] == [1]
    assert copied(np.ones((2, 3)).T).flags.f_contiguous


# tables, and what scikit-learn returns


def test_bytes_and_rows_of_each_kind_of_table() -> None:
    assert bytes_of(np.ones(3)) == 24
    assert bytes_of((np.ones(3), np.ones(1))) == 32
    assert bytes_of("text") == 8
    assert bytes_of({"a": np.ones(3), "b": [1, 2, 3]}) == 24 + 3 * sys.getsizeof(1)
    assert bytes_of(pandas.DataFrame({"a": np.ones(3), "b": np.ones(3)})) == 48
    assert bytes_of(pandas.Series(np.ones(3))) == 24
    matrix = scipy.sparse.csr_array(np.eye(3))
    assert bytes_of(matrix) == matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    assert rows_in({"a": [1, 2], "b": [1]}) == -1
    assert rows_in({"a": [1, 2], "b": [1, 2]}) == 2
    assert rows_in(matrix) == 3
    assert rows_in([1, 2, 3, 4]) == 4


def test_a_generator_makes_one_population_of_ten_thousand_rows() -> None:
    x, y = load_dataset("sklearn:make_blobs(n_features=1)", "bootstrap").rows
    theirs = sklearn.datasets.make_blobs(n_features=1, n_samples=10_000, random_state=0)
    assert (x.tolist(), y.tolist()) == (theirs[0].tolist(), theirs[1].tolist())


def test_columns_of_a_dict_are_copied_and_made_a_matrix() -> None:
    columns = {"a": [1, [2]], "b": np.array([1.0, 2.0]), "c": pandas.Series([1, 2]), "d": polars.Series([3, 4])}
    twin = own(columns)
    twin["a"][1].append(3)
    twin["b"][0] = 9.0
    twin["c"][0] = 9
    assert (columns["a"], columns["b"].tolist(), columns["c"].tolist()) == ([1, [2]], [1.0, 2.0], [1, 2])
    matrix = as_matrix({"b": columns["b"], "c": columns["c"], "d": columns["d"], "e": [5, 6]})
    assert matrix.to_dict("list") == {"b": [1.0, 2.0], "c": [1, 2], "d": [3, 4], "e": [5, 6]}
    assert as_matrix(np.ones(3)).shape == (3, 1)
    assert as_matrix(np.ones((3, 2))).shape == (3, 2)
    assert as_matrix(pandas.Series([1, 2])).shape == (2, 1)
    assert as_matrix("text") == "text"


def test_counts_of_rows_that_are_vectors() -> None:
    values, counts = Sample.of(np.array([[1, 2], [1, 2], [0, 5]])).counts()
    assert (values.tolist(), counts.tolist()) == ([[0, 5], [1, 2]], [1, 2])
    x, y = np.array([[1], [1], [2]]), np.array([0, 0, 1])
    (points_seen, labels), counts = Sample.of((x, y)).counts()
    assert (points_seen.tolist(), labels.tolist(), counts.tolist()) == ([[1], [2]], [0, 1], [2, 1])
    mixed, counts = Sample.of(["a", 1, "a"]).counts()
    assert (mixed.tolist(), counts.tolist()) == ([1, "a"], [1, 2])


def test_a_mixture_of_vectors_and_of_labelled_rows(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.zeros((2, 2)), y=np.zeros(2))
    np.savez(tmp_path / "b.npz", X=np.ones((2, 2)), y=np.ones(2))
    both = load_source(f"mixture({tmp_path / 'a.npz'}, {tmp_path / 'b.npz'}, 0.5)")
    x, y = both.draw(given([0.4, 0.6, 0.5], [0, 0, 1], [1, 1, 0]), 3)
    assert (x.tolist(), y.tolist()) == ([[1, 1], [0, 0], [0, 0]], [1, 0, 0])


def test_rows_of_whatever_scikit_learn_returns() -> None:
    assert _rows("s", {"data": [1, 2], "target": [3, 4]})[1].tolist() == [3, 4]
    assert _rows("s", {"data": [1, 2], "target": None}).tolist() == [1, 2]
    assert _rows("s", {"data": [1, 2]}).tolist() == [1, 2]
    assert len(_rows("s", ([1], [2], [3]))) == 2
    words = _rows("s", ["a", "bcd"])
    assert (words.dtype, words.tolist()) == (object, ["a", "bcd"])
    for made in ({"rows": 1}, "text"):
        with pytest.raises(UsageError, match="source 's': it has no rows by the name of data"):
            _rows("s", made)
