"""Samples of both kinds keep one contract, and what counts show has the law of what rows show.

Chance: a test that compares laws rejects a right implementation with probability about 1e-8 (chi-square), and there are
fewer than 100 of them: 1e-6 for the file. Row samples are enumerated, not drawn.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from support.requests import audit, bench_of

import auditor
from auditor.errors import SampleError, UnknownTruth, UsageError
from auditor.randomness import Randomness, from_key, root_key
from auditor.sources.law import LARGEST, Law
from auditor.sources.sample import CountSample, RowSample, Sample, chance_of_fewer
from auditor.sources.source import load_source
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper
from auditor.trials.trial import PairKeys, run_pair

ALPHA = 1e-8
LAW = Law(np.array([0, 1, 3]), np.array([0.5, 0.2, 0.3]))
POINTS = Law((np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([1, -1, 1])), np.array([0.25, 0.5, 0.25]))


def counted(size: int, law: Law = LAW, seed: int = 0) -> CountSample:
    return CountSample(law, size, from_key(root_key(seed)))


def rowed(size: int) -> RowSample:
    return RowSample(np.resize(np.array([0, 1, 3, 3, 0]), size), from_key(root_key(1)))


def plain(part: Any) -> Hashable:
    """Arrays as nested tuples."""
    if isinstance(part, tuple):
        return tuple(map(plain, part))
    items = part.tolist() if isinstance(part, np.ndarray) else part
    return tuple(map(plain, items)) if isinstance(items, list) else items


BOTH = pytest.mark.parametrize("make", [rowed, counted], ids=["rows", "counts"])


# The contract, on both kinds.


@BOTH
def test_taking_leaves_less(make: Callable[[int], Sample]) -> None:
    sample = make(10)
    first, second = sample.take(4), sample.take(6)
    assert (first.size, second.size, sample.size) == (4, 6, 0)
    assert type(first) is type(sample)
    assert sum(first.counts()[1].tolist()) == 4
    assert sample.take(0).size == 0


@BOTH
@pytest.mark.parametrize("asked", [8, -1, 10**21])
def test_asking_for_what_is_not_there(make: Callable[[int], Sample], asked: int) -> None:
    sample = make(10)
    sample.take(3)
    with pytest.raises(SampleError, match=f"^{asked:,} examples were asked for, and 7 are left$"):
        sample.take(asked)
    assert sample.take(7).size == 7


@BOTH
@pytest.mark.parametrize("look", ["counts", "mean", "sum", "rows"])
@pytest.mark.parametrize(
    "hand_on",
    [
        lambda s: s.take(1),
        lambda s: s.map(lambda x: x),
        lambda s: s.medians(1),
        lambda s: s.common_prefixes(2),
        lambda s: s.prefixes(2, 1),
        lambda s: s.thin(lambda x: x >= 0, 1),
    ],
)
def test_what_was_looked_at_is_not_fresh(make: Callable[[int], Sample], look: str, hand_on: Any) -> None:
    sample = make(10)
    getattr(sample, look)()
    with pytest.raises(SampleError, match="these 10 examples were looked at already: take fresh ones first"):
        hand_on(sample)
    before = sample.mean()
    assert sample.counts()[1].sum() == 10
    assert sample.mean() == before
    assert sample.size == 10


@BOTH
def test_handing_on_leaves_nothing_behind(make: Callable[[int], Sample]) -> None:
    for hand_on, left in (
        (lambda s: s.map(lambda x: x + 1), 11),
        (lambda s: s.prefixes(2, 1), 11),
        (lambda s: s.medians(3), 3),
        (lambda s: s.medians(13), 0),
        (lambda s: s.common_prefixes(2), 5),
        (lambda s: s.thin(lambda x: x >= 0, 7), 7),
        (lambda s: s.thin(lambda x: x >= 0, 0), 0),
    ):
        sample = make(11)
        handed = hand_on(sample)  # type: ignore[no-untyped-call]
        assert (handed.size, sample.size) == (left, 0)
        with pytest.raises(SampleError, match="1 examples were asked for, and 0 are left"):
            sample.take(1)
        assert handed.counts()[1].sum() == left
    thrown = make(11)
    assert thrown.thin(lambda x: x < 0, 1) is None
    assert thrown.size == 0


@BOTH
def test_an_empty_sample_has_counts_and_a_sum_but_no_mean(make: Callable[[int], Sample]) -> None:
    sample = make(5).take(0)
    with pytest.raises(SampleError, match="an empty sample has no mean: take at least one example"):
        sample.mean()
    assert sample.sum() == 0
    assert [len(part) for part in sample.counts()] == [0, 0]


@BOTH
@pytest.mark.parametrize("n", [0, 2, -1])
def test_a_group_must_be_odd(make: Callable[[int], Sample], n: int) -> None:
    with pytest.raises(SampleError, match=f"medians of groups of {n} rows: the number must be odd"):
        make(10).medians(n)


@BOTH
def test_bits_that_do_not_hold_the_examples(make: Callable[[int], Sample]) -> None:
    for operate in (lambda s: s.prefixes(1, 1), lambda s: s.common_prefixes(1)):
        with pytest.raises(ValueError, match=r"integers in 0 .. 2\^1 - 1, and they are 0 to 3"):
            operate(make(10))  # type: ignore[no-untyped-call]


def test_rows_come_in_order_and_once() -> None:
    sample = RowSample(np.array([5, 3, 9, 9, 1, 2, 7]))
    assert [plain(sample.take(n).map(lambda x: x)._rows) for n in (2, 3)] == [(5, 3), (9, 9, 1)]
    assert plain(sample.counts()) == ((2, 7), (1, 1))
    assert plain(sample.rows()) == (2, 7)


def test_rows_are_handed_on_as_they_are() -> None:
    assert plain(RowSample(np.array([3, 1, 2, 9, 9, 1, 8])).medians(3)._rows) == (2, 9)
    assert plain(RowSample(np.array([0b101, 0b100, 7, 7, 0, 4, 2])).common_prefixes(3)._rows) == (2, 3, 0)
    assert plain(RowSample(np.array([2**61, 2**61 + 1, 2**40, 2**41])).common_prefixes(62)._rows) == (61, 20)
    assert plain(RowSample(np.array([6, 1])).prefixes(3, 2)._rows) == (3, 0)


class Dice:
    """A sample's own randomness whose draws are given."""

    def __init__(self, *draws: float) -> None:
        self.draws = draws

    def random(self, size: int) -> npt.NDArray[np.float64]:
        assert size == len(self.draws)
        return np.array(self.draws)


def test_thinning_rows_keeps_the_first_that_are_accepted() -> None:
    own: Any = Dice(0.4, 0.6, 0.4, 0.4)
    rows = np.array([5, 6, 7, 8])
    kept = RowSample(rows, own).thin(lambda x: np.full(4, 0.5), 2)
    assert kept is not None
    assert plain(kept._rows) == (5, 7)
    assert RowSample(rows, own).thin(lambda x: np.full(4, 0.5), 4) is None
    with pytest.raises(
        UsageError, match=r"no randomness of their own .* auditor\.Sample, or write Sample\.of\(rows, rng"
    ):
        RowSample(rows).thin(lambda x: np.full(4, 0.5), 2)


def test_what_was_handed_on_goes_on_with_the_same_randomness() -> None:
    """Every piece, whatever became of it, accepts by bits that no other piece had."""

    def keep(sample: Sample) -> Any:
        kept = sample.thin(lambda x: np.full(len(x), 0.5), 20)
        assert kept is not None
        return plain(kept.rows())

    rows = np.arange(700)
    sample = Sample.of(rows, from_key(root_key(0)))
    pieces = [sample.take(100), sample.take(100).map(lambda x: x - 100), sample.take(300).medians(3)]
    seen = [keep(piece) for piece in [*pieces, sample.take(100).prefixes(10, 10), sample.common_prefixes(10)]]
    own = from_key(root_key(0))
    assert seen[0] == tuple(np.flatnonzero(own.random(100) < 0.5)[:20].tolist())
    assert seen[1] == tuple(np.flatnonzero(own.random(100) < 0.5)[:20].tolist()) != seen[0]
    assert seen[2] == tuple((3 * np.flatnonzero(own.random(100) < 0.5)[:20] + 201).tolist())


# Exact sums.


def test_integers_are_added_as_integers() -> None:
    huge = 2**62 + 1
    rows = RowSample(np.array([huge, huge, huge, 1]))
    assert rows.sum() == 3 * huge + 1
    assert RowSample(np.array([-huge, -huge, -huge])).mean() == float(-huge)
    assert RowSample(np.array([2**64 - 1] * 3, dtype=np.uint64)).sum() == 3 * (2**64 - 1)
    assert RowSample(np.array([100] * 5, dtype=np.int8)).sum() == 500
    law = Law(np.array([huge]), np.array([1.0]))
    assert counted(10**18, law).sum() == 10**18 * huge
    assert counted(10**18, law).mean() == float(huge)
    signs = counted(10**18 + 1, Law(np.array([-1, 1]), np.array([0.5, 0.5])))
    _, counts = signs.counts()
    assert signs.sum() == counts.tolist()[1] - counts.tolist()[0]
    assert isinstance(signs.sum(), int)
    assert signs.sum() % 2 == 1


@pytest.mark.parametrize("kind", ["rows", "counts"])
def test_a_poisson_number_is_drawn_by_the_samples_own_randomness(kind: str) -> None:
    """A chi-square of 2000 numbers of mean 4 against their law; 1e-8."""
    own = from_key(root_key(5).child(kind))
    made = [RowSample(np.arange(50), own) if kind == "rows" else CountSample(LAW, 50, own) for _ in range(2000)]
    sizes = np.bincount([sample.poisson(4.0).size for sample in made], minlength=51)
    expected = 2000 * scipy.stats.poisson.pmf(np.arange(51), 4)
    seen, wanted = np.append(sizes[:11], sizes[11:].sum()), np.append(expected[:11], 2000 - expected[:11].sum())
    assert float(((seen - wanted) ** 2 / wanted).sum()) < chi2.isf(ALPHA, 11)
    assert sum(sample.size for sample in made) == 50 * 2000 - int(sizes @ np.arange(51))


def test_a_poisson_number_takes_what_is_left_at_most() -> None:
    own = np.random.default_rng(0)
    assert RowSample(np.arange(3), own).poisson(1e6).size == 3
    assert CountSample(LAW, 3, own).poisson(0.0).size == 0
    with pytest.raises(SampleError, match=r"a Poisson number of mean -1 cannot be drawn"):
        CountSample(LAW, 3, own).poisson(-1)
    with pytest.raises(UsageError, match="no randomness of their own"):
        RowSample(np.arange(3)).poisson(2.0)


def test_more_than_can_be_counted_is_refused_before_anything_is_drawn() -> None:
    rng = from_key(root_key(3))
    state = rng.bit_generator.state
    sample = CountSample(LAW, LARGEST + 1, rng)
    with pytest.raises(SampleError, match=r"9,223,372,036,854,775,808 examples are more than .* at most 2\^63 - 1"):
        sample.counts()
    assert rng.bit_generator.state == state
    assert sum(sample.take(LARGEST).counts()[1].tolist()) == LARGEST
    assert sample.size == 1
    beyond = CountSample(LAW, 10**22, from_key(root_key(0)))
    assert beyond.medians(11).size == 10**22 // 11


# The law of what counts show: rows enumerated, counts drawn.


def enumerated(law: Law, size: int, look: Callable[[Any], Any]) -> dict[Any, float]:
    """The exact law of look(rows) over all samples of `size` rows; `look` may give a law itself."""
    found: dict[Any, float] = defaultdict(float)
    for places in itertools.product(range(len(law)), repeat=size):
        chosen = list(places)
        values = law.values
        rows = tuple(part[chosen] for part in values) if isinstance(values, tuple) else values[chosen]
        chance = math.prod(float(law.weights[i]) for i in places)
        seen = look(rows)
        for outcome, share in seen.items() if isinstance(seen, dict) else [(seen, 1.0)]:
            found[outcome] += chance * share
    return found


def assert_law(seen: list[Any], exact: dict[Any, float]) -> None:
    assert set(seen) <= set(exact), "something impossible was seen"
    assert sum(exact.values()) == pytest.approx(1)
    expected, counts = {outcome: mass * len(seen) for outcome, mass in exact.items()}, Counter(seen)
    rare = {outcome for outcome, e in expected.items() if e < 10}
    cells = [(counts[outcome], e) for outcome, e in expected.items() if outcome not in rare]
    if rare:
        cells.append((sum(counts[outcome] for outcome in rare), sum(expected[outcome] for outcome in rare)))
    statistic = sum((o - e) ** 2 / e for o, e in cells)
    p_value = float(chi2.sf(statistic, max(1, len(cells) - 1)))
    print(f"{len(seen)} draws, chi-square {statistic:.1f} over {len(cells)} cells, p = {p_value:.3g}, bound {ALPHA}")
    assert p_value > ALPHA


def both_pieces(sample: Sample) -> Any:
    first = sample.take(2)
    return plain(sample.take(2).counts()), plain(first.counts())


def medians_in_pieces(sample: Sample) -> Any:
    medians = sample.medians(3)
    return plain(medians.take(1).prefixes(2, 1).counts()), medians.mean(lambda x: x > 0)


LOOKS: dict[str, tuple[int, Callable[[Sample], Any]]] = {
    "counts": (4, lambda s: plain(s.counts())),
    "mean": (4, lambda s: s.mean()),
    "mean of a query": (5, lambda s: s.mean(lambda x: x >= 1)),
    "sum of a query": (4, lambda s: s.sum(lambda x: 2 * x + 1)),
    "map": (4, lambda s: plain(s.map(lambda x: x // 2).counts())),
    "prefixes": (4, lambda s: plain(s.prefixes(2, 1).counts())),
    "medians of one": (3, lambda s: plain(s.medians(1).counts())),
    "medians of three": (6, lambda s: plain(s.medians(3).counts())),
    "median of five": (5, lambda s: plain(s.medians(5).counts())),
    "common prefixes": (5, lambda s: plain(s.common_prefixes(2).counts())),
    "common prefixes of medians": (6, lambda s: plain(s.medians(3).common_prefixes(2).counts())),
    "two pieces": (4, both_pieces),
    "rows": (3, lambda s: plain(s.rows())),
    "medians in pieces": (6, medians_in_pieces),
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_look_at_counts_has_the_law_of_a_look_at_rows(name: str) -> None:
    size, look = LOOKS[name]
    exact = enumerated(LAW, size, lambda rows: look(RowSample(rows)))
    key = root_key(17)
    seen = [look(CountSample(LAW, size, from_key(key.child(i)))) for i in range(400)]
    assert_law(seen, exact)


@pytest.mark.parametrize(
    ("law", "keep"),
    [
        *[(LAW, 1), (LAW, 2), (LAW, 3), (POINTS, 2)],
        *(pytest.param(POINTS, keep, marks=pytest.mark.nightly) for keep in (1, 3)),
    ],
)
def test_thinning_counts_has_the_law_of_thinning_rows(law: Law, keep: int) -> None:
    """All rows and all acceptances: each example is thrown away, kept, or kept with probability a half."""

    def mu(rows: Any) -> npt.NDArray[np.float64]:
        key = rows[0].sum(axis=1) + rows[1] if isinstance(rows, tuple) else rows
        return np.select([key <= 0, key == 1], [0.5, 1.0], 0.25)

    def look(kept: Sample | None) -> Any:
        return None if kept is None else plain(kept.counts())

    def all_acceptances(rows: Any) -> dict[Any, float]:
        found: dict[Any, float] = defaultdict(float)
        for draws in itertools.product((0.125, 0.375, 0.75), (0.125, 0.375, 0.75), (0.125, 0.375, 0.75)):
            chance = math.prod({0.125: 0.25, 0.375: 0.25, 0.75: 0.5}[u] for u in draws)
            own: Any = Dice(*draws)
            found[look(RowSample(rows, own).thin(mu, keep))] += chance
        return found

    exact = enumerated(law, 3, all_acceptances)
    assert 0.005 < exact[None] < 0.99
    key = root_key(23)
    assert_law([look(CountSample(law, 3, from_key(key.child(i))).thin(mu, keep)) for i in range(400)], exact)


def thinned(sample: Sample, r: Randomness) -> Any:
    """What is kept of three rows, two of them at most; r has no part in it."""
    kept = sample.thin(lambda x: np.select([x == 0, x == 1], [0.5, 1.0], 0.25), 2)
    return None if kept is None else plain(kept.counts())


def exact_rho_of_thinned() -> float:
    """1 - sum p^2, since two runs accept independently; p by all rows and all acceptances."""
    mu = {0: Fraction(1, 2), 1: Fraction(1), 3: Fraction(1, 4)}
    chance = {0: Fraction(1, 2), 1: Fraction(1, 5), 3: Fraction(3, 10)}
    found: dict[Any, Fraction] = defaultdict(Fraction)
    for rows in itertools.product(mu, repeat=3):
        for accepts in itertools.product((True, False), repeat=3):
            p = math.prod(chance[x] * (mu[x] if yes else 1 - mu[x]) for x, yes in zip(rows, accepts, strict=True))
            kept = [x for x, yes in zip(rows, accepts, strict=True) if yes][:2]
            found[tuple(sorted(kept)) if len(kept) == 2 else None] += Fraction(p)
    return float(1 - sum(p * p for p in found.values()))


@pytest.mark.parametrize("kind", ["rows", "counts"])
def test_thinning_has_one_rho_on_both_kinds(kind: str) -> None:
    """Against the exact value; false alarm 1e-6 each."""
    bench = bench_of(thinned, "pmf({0: 0.5, 1: 0.2, 3: 0.3})", size=3, sample=kind)
    n = 400
    k = sum(run_pair(bench, i).difference is not None for i in range(n))
    low, high = (side(n, k, 5e-7) for side in (clopper_pearson_lower, clopper_pearson_upper))
    exact = exact_rho_of_thinned()
    print(f"{kind}: {k} of {n}, in [{low:.4f}, {high:.4f}], exact {exact:.4f}")
    assert low <= exact <= high


def test_a_samples_own_randomness_is_that_of_its_run_alone() -> None:
    """Neither r nor another run has a part in it, and whoever runs a pair again gets the same."""
    seen: list[Any] = []

    def spy(sample: Sample, r: Randomness) -> int:
        kept = sample.thin(lambda x: np.full(len(x), 0.5), 12)
        assert kept is not None
        seen.append(plain(kept.rows()))
        return 0

    spy.__annotations__["sample"] = Sample
    source = lambda rng, size: np.arange(size)  # noqa: E731 - the rows are no part of what differs
    for pair in (0, 1, 0):
        auditor.replay(spy, source, size=60, pair=pair)
    assert len(set(seen)) == 4
    assert seen[:2] == seen[4:]
    again = from_key(PairKeys(0).sample(1).child(1, "own"))
    assert seen[3] == tuple(np.flatnonzero(again.random(60) < 0.5)[:12].tolist())


def test_workers_and_a_second_process_accept_as_this_one_does(tmp_path: Path) -> None:
    (tmp_path / "thins.py").write_text(
        "import auditor\n"
        "def first(sample: auditor.Sample, r):\n"
        "    kept = sample.thin(lambda x: 0.2 + 0.8 * x, 1)\n"
        "    return None if kept is None else int(kept.sum())\n"
    )
    one, two = (
        auditor.audit(f"{tmp_path}/thins.py:first", "bernoulli(0.5)", size=60, fixed=60, rho=0.5, jobs=jobs)
        for jobs in (1, 2)
    )
    assert one.preflight is not None
    assert (one.preflight.second_process, one.mismatches) == ("same", two.mismatches)
    assert one.examples == two.examples
    assert 0 < one.mismatches < 60


@pytest.mark.parametrize(
    "look",
    [
        lambda s: plain(s.counts()),
        lambda s: s.mean(lambda rows: (rows[0][:, 0] > 0) == (rows[1] > 0)),
        lambda s: plain(s.mean(lambda rows: rows[0] * rows[1][:, None])),
        lambda s: plain(s.map(lambda rows: rows[1]).counts()),
        lambda s: plain(s.take(2).counts()),
    ],
)
def test_labelled_examples_are_samples_of_both_kinds(look: Callable[[Sample], Any]) -> None:
    exact = enumerated(POINTS, 4, lambda rows: look(RowSample(rows)))
    key = root_key(29)
    assert_law([look(CountSample(POINTS, 4, from_key(key.child(i)))) for i in range(400)], exact)


def test_a_law_that_lists_a_value_twice_has_one_count_for_it() -> None:
    values, counts = counted(600, Law(np.array([3, 1, 1, 2]), np.full(4, 0.25))).counts()
    assert values.tolist() == [1, 2, 3]
    assert sum(counts.tolist()) == 600
    (x, y), counts = counted(600, Law((np.array([[1.0], [0.0], [1.0]]), np.array([1, 1, 1])), np.ones(3) / 3)).counts()
    assert (x.tolist(), y.tolist(), counts.sum()) == ([[0.0], [1.0]], [1, 1], 600)


# The chance of too few.


@pytest.mark.parametrize("n", [1, 2, 10, 1000, 10**6])
@pytest.mark.parametrize("p", [0.0, 1e-9, 0.1, 0.5, 0.999, 1.0])
def test_the_chance_of_fewer_is_scipys(n: int, p: float) -> None:
    for k in {0, 1, n // 2, int(n * p), int(n * p) + 1, n, n + 1}:
        expected = float(scipy.stats.binom.cdf(k - 1, n, p))
        assert chance_of_fewer(n, p, k) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("p", [1e-15, 0.001, 0.3, 0.5, 0.9])
def test_the_chance_of_fewer_among_ten_to_the_21(p: float) -> None:
    n = 10**21
    mean, sd = int(Fraction(p) * n), math.sqrt(n * p * (1 - p))
    for z in (-8.0, -1.0, 0.0, 0.5, 2.0, 8.0):
        expected = scipy.stats.norm.cdf(z) - scipy.stats.norm.pdf(z) * (z * z - 1) * (1 - 2 * p) / (6 * sd)
        assert chance_of_fewer(n, p, mean + int(z * sd)) == pytest.approx(expected, abs=1 / sd + 2e-7)
    assert chance_of_fewer(n, p, mean // 2) == 0.0
    assert chance_of_fewer(n, p, 2 * mean + 1) == 1.0


def test_a_density_a_rounding_above_one_is_one() -> None:
    assert chance_of_fewer(10, 1.0000000000000002, 10) == 0.0
    assert chance_of_fewer(10, 1.0000000000000002, 11) == 1.0


# Properties of any rows.

anything = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30),
    st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=30),
    st.lists(st.sampled_from([None, "a", 2, (1, 2), 2.5]), min_size=1, max_size=30),
)


def as_rows(items: list[Any]) -> npt.NDArray[Any]:
    rows = np.empty(len(items), dtype=object)
    rows[:] = items
    return rows


@given(anything, st.data())
def test_row_order_does_not_show(items: list[Any], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(items))
    one, other = RowSample(as_rows(items)), RowSample(as_rows(shuffled))
    assert plain(one.counts()) == plain(other.counts())
    assert dict(zip(*map(plain, one.counts()), strict=True)) == {x: items.count(x) for x in items}  # type: ignore[arg-type]
    if all(isinstance(item, int) for item in items):
        sums = [RowSample(np.array(rows, dtype=np.int64)) for rows in (items, shuffled)]
        assert sums[0].sum() == sums[1].sum() == sum(items)
        assert sums[0].mean() == sums[1].mean() == sum(items) / len(items)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.data())
def test_the_order_of_floats_shows_in_the_last_bits_at_most(items: list[float], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(items))
    size = math.fsum(map(abs, items))
    assert RowSample(items).sum() == pytest.approx(RowSample(shuffled).sum(), rel=0, abs=1e-14 * size)
    assert RowSample(items).mean() == pytest.approx(math.fsum(items) / len(items), rel=0, abs=1e-14 * size)


@given(st.lists(st.integers(0, 9), max_size=30), st.lists(st.integers(0, 30), max_size=6))
def test_taking_cuts_the_rows_into_pieces(items: list[int], wanted: list[int]) -> None:
    sample, pieces, left = RowSample(np.array(items, dtype=int)), [], len(items)
    for n in wanted:
        if n > left:
            with pytest.raises(SampleError):
                sample.take(n)
        else:
            pieces.append(sample.take(n))
            left -= n
    assert sample.size == left
    cut = [row for piece in [*pieces, sample.take(left)] for row in piece._rows.tolist()]
    assert cut == items


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=8), st.lists(st.integers(0, 2**40), max_size=4))
def test_counts_of_pieces_are_counts_of_so_many(weights: list[float], wanted: list[int]) -> None:
    law = Law(np.arange(len(weights)), np.array(weights) / np.sum(weights))
    sample = CountSample(law, sum(wanted), from_key(root_key(1)))
    for n in wanted:
        values, counts = sample.take(n).counts()
        assert (counts > 0).all()
        assert sum(counts.tolist()) == n
        assert values.tolist() == sorted(set(values.tolist()))
    assert sample.size == 0


def test_a_list_of_mixed_items_keeps_their_types() -> None:
    assert plain(RowSample(["a", 2, 2, "b"]).counts()) == ((2, "a", "b"), (2, 1, 1))
    assert Sample.of([1, 2]).size == 2
    sample = rowed(3)
    assert Sample.of(sample) is sample


# Which sources can be counted.


def most_frequent(sample: auditor.Sample, r: np.random.Generator) -> Any:
    """A third party's: exchangeable, written over a Sample."""
    values, counts = sample.counts()
    best = int(np.argmax(counts))
    return plain(tuple(part[best] for part in values) if isinstance(values, tuple) else values[best])


def mean_of_rows(sample: npt.NDArray[Any], r: Randomness) -> float:
    return float(sample.mean())


def a_function(rng: np.random.Generator, size: int) -> npt.NDArray[np.float64]:
    return rng.random(size)


COUNTABLE = [
    ("pmf({'b': 0.9, 'a': 0.1})", ["b", "a"], "b"),
    ("pmf([0.1, 0.9])", [0, 1], 1),
    ("pmf({1: 0.2, 'x': 0.8})", [1, "x"], "x"),
    ("binom(3, 0.1)", [0, 1, 2, 3], 0),
    ("randint(5, 6)", [5], 5),
    (np.array([2.5, 7.5, 7.5, 7.5]), [2.5, 7.5, 7.5, 7.5], 7.5),
]


@pytest.mark.parametrize(("source", "values", "most"), COUNTABLE, ids=[str(case[0])[:30] for case in COUNTABLE])
def test_a_source_with_listed_values_can_be_counted(source: Any, values: list[Any], most: Any) -> None:
    law = load_source(source).law()
    assert law.values.tolist() == values
    assert law.weights.sum() == pytest.approx(1)
    subject = lambda sample, r: most_frequent(sample, r)  # noqa: E731 - no second process for a lambda
    subject.__annotations__["sample"] = Sample
    record = audit(subject, source, size=10**15, sample="counts", rho=0.1)
    assert (record.verdict, record.mismatches, record.sample_kind) == ("pass", 0, "counts")
    outputs = auditor.replay(subject, source, size=10**15, sample="counts", pair=0).outputs
    assert outputs == (most, most)


def test_labelled_points_and_data_can_be_counted() -> None:
    points = load_source("points([[1, 0], [0, 1]], labels=[1, -1], weights=[0.3, 0.7])")
    data = load_source((np.array([[1, 0], [0, 1], [0, 1]]), np.array([1, -1, -1])))
    for source in (points, data):
        replayed = auditor.replay(most_frequent, source, size=10**12, sample="counts", pair=0)
        assert replayed.outputs == (((0, 1), -1), ((0, 1), -1))
        assert source.expect(lambda rows: rows[1] < 0) > 0.6
    assert audit(most_frequent, points, size=10**12, sample="counts", fixed=40).verdict == "pass"


@pytest.mark.parametrize(
    "spec",
    [
        "nbinom(3, 0.2)",
        "skellam(3, 4)",
        "poisson(5)",
        "geom(0.01)",
        "poisson(1000, loc=-3)",
        "dlaplace(0.5)",
        "logser(0.5)",
    ],
)
@pytest.mark.parametrize("size", [1, 1000, LARGEST, 10**30])
def test_infinite_tails_are_cut_where_a_sample_would_not_meet_them(spec: str, size: int) -> None:
    """By sums of the masses themselves: some of scipy's tails are 1 - cdf, and 0 where 2^-53 is left."""
    source: Any = load_source(spec)
    law = source.law(size)
    low, high = int(law.values[0]), int(law.values[-1])
    far = np.arange(1, 4000)
    beyond = math.fsum(source.frozen.pmf(high + far)) + math.fsum(source.frozen.pmf(low - far))
    assert 0 < beyond * size <= 2.0**-60
    assert law.weights.sum() == pytest.approx(1, abs=1e-12)
    assert law.expect() == pytest.approx(float(source.frozen.mean()))
    assert np.log2(len(law)) < 15
    assert source.law(size) is law


def largest(sample: Sample, r: Randomness) -> int:
    return int(sample.counts()[0][-1])


@pytest.mark.parametrize("size", [2**40, LARGEST])
def test_the_largest_of_very_many_rows_has_its_exact_rho(size: int) -> None:
    """P(max <= x) = (1 - 2^-x)^size: rho is 0.83, and a law that ends too soon has one largest. False alarm 1e-4."""
    at_most = np.exp(size * np.log1p(-(2.0 ** -np.arange(1.0, 300.0))))
    exact = 1 - float((np.diff(at_most, prepend=0.0) ** 2).sum())
    bench = bench_of(largest, "geom(0.5)", size=size, sample="counts")
    n = 30
    k = sum(run_pair(bench, i).difference is not None for i in range(n))
    low, high = clopper_pearson_lower(n, k, 5e-5), clopper_pearson_upper(n, k, 5e-5)
    print(f"{k} of {n}, in [{low:.4f}, {high:.4f}], exact {exact:.4f}")
    assert low <= exact <= high


def test_what_is_cut_off_is_said_and_what_cannot_be_is_refused() -> None:
    subject = lambda sample, r: 0  # noqa: E731 - it is given an annotation
    subject.__annotations__["sample"] = Sample
    record = audit(subject, "geom(0.5)", size=LARGEST, sample="counts")
    (finding,) = [finding for finding in record.findings if finding.kind == "tail-cut"]
    assert "from 1 to 125: fewer than 2^-60 rows of a sample of 9,223,372,036,854,775,807" in finding.message
    assert "so 2,000 runs would have one there with probability at most 1.8e-15" in finding.message
    assert load_source("yulesimon(5)").law(1000).values[-1] > 10_000
    with pytest.raises(UsageError, match=r"values that 1,000,000,000,000,000 rows may meet, .*; use --sample rows"):
        audit(subject, "yulesimon(5)", size=10**15, sample="counts")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("norm", "the values of norm cannot be listed: it is no discrete distribution"),
        (a_function, "cannot be listed: it is a function, not a distribution"),
        ("randint(0, 10000000)", "has more than 4,194,304 values, too many to count"),
    ],
)
def test_what_cannot_be_counted_is_refused_with_the_cure(source: Any, words: str) -> None:
    with pytest.raises(UnknownTruth, match=words):
        load_source(source).law()
    with pytest.raises(UsageError, match=f"--sample counts: .*{words}.*; use --sample rows"):
        auditor.audit(most_frequent, source, size=100, sample="counts")


def test_a_subject_of_rows_is_not_given_counts() -> None:
    with pytest.raises(UsageError, match=r"takes rows: annotate its first parameter as auditor\.Sample"):
        auditor.audit(mean_of_rows, "bernoulli(0.5)", size=100, sample="counts")


def test_a_third_partys_algorithm_runs_on_both_kinds() -> None:
    source = "pmf({1: 0.8, 2: 0.2})"
    for kind, size in (("rows", 1000), ("counts", 10**18)):
        record = audit(most_frequent, source, size=size, sample=kind, rho=0.1)
        assert (record.verdict, record.sample_kind) == ("pass", kind)
        assert auditor.replay(most_frequent, source, size=size, sample=kind, pair=0).outputs == (1, 1)
    with pytest.raises(UsageError, match=r"more than one look can count: take at most 2\^63 - 1"):
        audit(most_frequent, source, size=10**19, sample="counts", rho=0.1)
