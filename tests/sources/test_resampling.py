"""Does each way to resample have the law that it says? For tiny tables exactly, by all outcomes of the generator."""

from __future__ import annotations

import functools
import itertools
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy.special import ndtr
from support.random_series import ar1
from support.requests import audit, bench_of

from auditor.cli.command_line import run
from auditor.errors import BadValue, SourceError, UnknownTruth, UsageError
from auditor.randomness import from_key, root_key
from auditor.sources.datasets import Dataset
from auditor.sources.resampling import RESAMPLING, Blocks, parse
from auditor.sources.source import load_dataset
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper
from auditor.trials.trial import run_pair

pytestmark = pytest.mark.usefixtures("little_advice")


def rng(*names: Any) -> np.random.Generator:
    return from_key(root_key(5).child(*names))


class Told:
    """A generator that says what it is told, and shuffles nothing."""

    def __init__(self, integers: Iterator[int], reals: Any = ()) -> None:
        self.told, self.reals = integers, np.asarray(reals)

    def integers(self, low: int, high: int, size: int) -> Any:
        return low + np.array([next(self.told) % (high - low) for _ in range(size)], dtype=np.intp)

    def random(self, size: int) -> Any:
        return self.reals[:size]

    def permutation(self, rows: Any) -> Any:
        return rows


# Five visits of three patients, at two sites.
VISITS = np.array([[7, 0, 10], [7, 0, 11], [9, 1, 12], [4, 1, 13], [4, 1, 14]])


@functools.cache
def source_of(resample: str) -> Dataset:
    return load_dataset(VISITS, resample)


def drawn(resample: str, size: int, told: tuple[int, ...]) -> Any:
    return source_of(resample).draw(Told(iter(told)), size)  # type: ignore[arg-type]


def test_groups_are_drawn_whole_each_with_the_same_probability() -> None:
    """Three groups of 2, 1 and 2 rows: a sample of 3 or 4 rows has 2 groups, and each of 9 draws is as likely."""
    rows_of = {4: (13, 14), 7: (10, 11), 9: (12,)}
    expected = Counter(rows_of[a] + rows_of[b] for a, b in itertools.product(rows_of, repeat=2))
    for size, groups in ((3, 2), (4, 2)):
        assert load_dataset(VISITS, "groups(0)").way.drawn(size) == groups  # type: ignore[attr-defined]
        every = [drawn("groups(0)", size, told) for told in itertools.product(range(3), repeat=groups)]
        assert Counter(tuple(sample[:, 2].tolist()) for sample in every) == expected
    twice = drawn("groups(0)", 3, (1, 1))
    assert twice.tolist() == [[7, 0, 10], [7, 0, 11], [10, 0, 10], [10, 0, 11]], "a patient who comes again is another"
    assert load_dataset(VISITS, "groups(0)").rows is VISITS
    assert VISITS[:, 0].tolist() == [7, 7, 9, 4, 4]


def test_a_split_by_groups_deals_whole_groups_to_two_disjoint_samples() -> None:
    """Seven groups: three each, and one is left out. Groups of one row are dealt as rows are."""
    ids = np.array([5, 5, 1, 2, 2, 2, 8, 9, 9, 4, 3, 3])
    source = load_dataset(np.column_stack([ids, np.arange(12)]), "split(0)")
    assert (source.default_size, source.drawn_together, source.way.drawn(6)) == (6, True, 3)  # type: ignore[attr-defined]
    left_out = Counter()
    for seed in range(200):
        parts = [source.draw_part(rng(str(seed)), 6, which) for which in (0, 1)]
        first, second = ({*part[:, 0].tolist()} for part in parts)
        assert not first & second
        assert (len(first), len(second)) == (3, 3)
        for part, groups in zip(parts, (first, second), strict=True):
            assert sorted(part[:, 1].tolist()) == np.flatnonzero(np.isin(ids, [*groups])).tolist()
            assert (ids[part[:, 1]] == part[:, 0]).all()
        left_out[({*ids.tolist()} - first - second).pop()] += 1
    assert {*left_out} == {*ids.tolist()}
    one_by_one = load_dataset(np.column_stack([np.arange(9), np.arange(9)]), "split(0)")
    rows = load_dataset(np.arange(9), "split")
    for which in (0, 1):
        assert (one_by_one.draw_part(rng(), 4, which)[:, 1] == rows.draw_part(rng(), 4, which)).all()
    with pytest.raises(SourceError, match="has 7 groups: no part 2 of 3 groups is left"):
        source.draw_part(rng(), 6, 2)
    with pytest.raises(BadValue, match=r"size=7 is more than --resample split\(0\) can take of 12 rows: 6"):
        source.check_size(7)


def test_strata_keep_their_shares_and_draw_each_of_their_rows_with_the_same_probability() -> None:
    every = [drawn("strata(1)", 5, told)[:, 2] for told in itertools.product(range(6), repeat=5)]
    counts = Counter(tuple(sample.tolist()) for sample in every)
    inside = itertools.product((10, 11), (10, 11), (12, 13, 14), (12, 13, 14), (12, 13, 14))
    assert counts == Counter(dict.fromkeys(inside, 6**5 // (2**2 * 3**3)))


@pytest.mark.parametrize(
    ("size", "shares"), [(5, [2, 3]), (10, [4, 6]), (3, [1, 2]), (2, [1, 1]), (1, [0, 1]), (7, [3, 4])]
)
def test_the_shares_of_strata_are_rounded_so_that_they_add_up(size: int, shares: list[int]) -> None:
    assert load_dataset(VISITS, "strata(1)").way.shares(size).tolist() == shares  # type: ignore[attr-defined]


@pytest.mark.parametrize("length", [1, 2, 5])
def test_blocks_have_geometric_lengths_and_every_row_is_uniform(length: int) -> None:
    """The law of 4 rows out of 3, by all outcomes of the generator, is that of the Markov chain, and uniform."""
    size, count = 4, 3
    begin = Fraction(1, length)
    law: Counter[tuple[int, ...]] = Counter()
    for starts in itertools.product(range(count), repeat=size):
        for begins in itertools.product((False, True), repeat=size):
            weight = Fraction(1, count**size) * math.prod(begin if one else 1 - begin for one in begins)
            told = Told(iter(starts), [0.0 if one else 0.999999 for one in begins])
            if weight:
                way = Blocks(count, length=length, is_chosen=False)
                law[tuple(way.choose(told, size).tolist())] += weight  # type: ignore[arg-type, call-overload]
    for path in itertools.product(range(count), repeat=size):
        steps = [begin / count + (1 - begin) * ((a + 1) % count == b) for a, b in itertools.pairwise(path)]
        assert law[path] == Fraction(1, count) * math.prod(steps)
    for place, row in itertools.product(range(size), range(count)):
        assert sum(weight for path, weight in law.items() if path[place] == row) == Fraction(1, count)


def spread_of_mean(n: int, phi: float) -> float:
    """Return the standard deviation of the mean of such a series, exactly."""
    k = np.arange(1, n)
    return math.sqrt((1 + 2 * ((1 - k / n) * phi**k).sum()) / (n * (1 - phi**2)))


def is_positive(sample: Any, r: Any) -> bool:
    return bool(sample.mean() > 0)


def test_the_mean_over_blocks_has_the_variance_of_the_stationary_bootstrap() -> None:
    """By the formula of Politis and Romano (1994), whatever the series. False alarm below 1e-6."""
    n, length, draws = 60, 6.0, 20_000
    series = ar1(rng("series").normal(size=n), 0.8)
    source = load_dataset(series, f"blocks({length})")
    gen = rng("draws")
    means = np.array([series[source.way.choose(gen, n)].mean() for _ in range(draws)])
    centred, k, keep = series - series.mean(), np.arange(1, n), 1 - 1 / length
    circular = np.array([centred @ np.roll(centred, -j) for j in range(n)]) / n
    exact = (circular[0] + 2 * ((1 - k / n) * keep**k * circular[1:]).sum()) / n
    off = 6 * math.sqrt(2 / draws)
    print(f"variance {means.var():.5f}, exactly {exact:.5f}, within {off:.3f} of it")
    assert abs(means.var() / exact - 1) < off
    assert abs(means.mean() - series.mean()) < 6 * math.sqrt(exact / draws)


def test_a_decision_on_blocks_differs_as_often_as_on_fresh_series_and_on_rows_one_by_one_hardly_ever() -> None:
    """A series whose mean is one standard deviation of a mean above 0: rho is 0.267 for two fresh series, exactly.

    Of blocks a rate within 0.1 of it is asked for. False alarm 1e-6 each, over the 400 pairs.
    """
    n, phi, pairs = 2000, 0.8, 400
    spread = spread_of_mean(n, phi)
    yes = float(ndtr(1.0))
    rho = 2 * yes * (1 - yes)
    series = ar1(rng("fresh").normal(size=n), phi)
    series += spread - series.mean()
    found = {}
    for how in ("blocks", "bootstrap"):
        bench = bench_of(is_positive, series, resample=how)
        k = sum(run_pair(bench, i).difference is not None for i in range(pairs))
        found[how] = (clopper_pearson_lower(pairs, k, 5e-7), clopper_pearson_upper(pairs, k, 5e-7))
        print(f"{how}: {k} of {pairs}, in [{found[how][0]:.3f}, {found[how][1]:.3f}], fresh series {rho:.3f}")
    assert found["blocks"][0] <= rho + 0.1
    assert found["blocks"][1] >= rho - 0.1
    assert found["blocks"][0] > 0.1, "much more often than rows one by one"
    assert found["bootstrap"][1] < 0.1


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "dict", "categories", "polars categories"])
def test_a_group_that_is_drawn_again_gets_a_new_id_in_every_table(kind: str) -> None:
    columns = {"who": ["a", "a", "b"], "x": [1, 2, 3]}
    frame: Any = pandas.DataFrame(columns)
    tables = {
        "pandas": frame,
        "polars": polars.DataFrame(columns),
        "pyarrow": pyarrow.table(columns),
        "dict": columns,
        "categories": frame.astype({"who": "category"}),
        "polars categories": polars.DataFrame(columns).with_columns(polars.col("who").cast(polars.Categorical)),
    }
    source = load_dataset(tables[kind], "groups(who)")
    sample = source.draw(Told(iter([0, 1, 0])), 4)  # type: ignore[arg-type]
    assert type(sample) is type(tables[kind])
    who = sample["who"]
    assert [str(one) for one in (who.to_pylist() if kind == "pyarrow" else who)] == ["a", "a", "b", "a#2", "a#2"]
    assert np.asarray(sample["x"]).tolist() == [1, 2, 3, 1, 2]
    if "categories" in kind:
        assert str(who.dtype).lower().startswith("categor")


@pytest.mark.parametrize(
    ("ids", "dtype", "new"),
    [
        ([1, 1, 2], np.int64, [1, 1, 3, 3]),
        ([1.0, 1.0, 2.5], float, [1.0, 1.0, 3.5, 3.5]),
        ([126, 126, 127], np.int8, [126, 126, 0, 0]),
        ([0, 0, 2**63 - 1], np.int64, [0, 0, 1, 1]),
        (["a", "a", "b"], None, ["a", "a", "a#2", "a#2"]),
        (["a", "a", "a#2"], None, ["a", "a", "a##2", "a##2"]),
    ],
)
def test_a_new_id_is_none_that_there_was(ids: Any, dtype: Any, new: Any) -> None:
    source = load_dataset(pandas.DataFrame({"who": np.array(ids, dtype=dtype), "x": [1, 2, 3]}), "groups(who)")
    assert source.draw(Told(iter([0, 0])), 3)["who"].tolist() == new  # type: ignore[arg-type]


def test_words_in_a_matrix_are_not_cut() -> None:
    matrix = np.array([["a", "x"], ["a", "y"], ["b", "z"]])
    sample = load_dataset(matrix, "groups(0)").draw(Told(iter([0, 0])), 3)  # type: ignore[arg-type]
    assert sample[:, 0].tolist() == ["a", "a", "a#2", "a#2"]


X = np.arange(40.0).reshape(20, 2) % 7
Y = np.array([0, 1] * 10)
WALK = rng("walk").normal(size=400).cumsum()
NOISE = rng("noise").normal(size=400)


@pytest.mark.parametrize(
    ("data", "resample", "words"),
    [
        (NOISE, "block(3)", r"'block\(3\)' must be one of bootstrap, split, .* \(did you mean blocks\?\)"),
        (NOISE, "bootstrap(3)", "takes no argument: write bootstrap"),
        (NOISE, "groups", r"needs the column that says which rows belong together: groups\(patient\)"),
        (NOISE, "split()", r"nothing between its brackets: write split or split\(patient\)"),
        (NOISE, "strata()", r"nothing between its brackets: write strata or strata\(site\)"),
        (NOISE, "blocks(x)", "a number of rows of at least 1"),
        (NOISE, "blocks(0.5)", "a number of rows of at least 1"),
        (NOISE, "blocks(nan)", "a number of rows of at least 1"),
        (NOISE, "blocks(400)", r"more than a third of the 400 rows.*use at most blocks\(133\)"),
        (NOISE[:19], "blocks(2)", "a series of at least 20 rows, and there are 19"),
        (np.array(["a", "b"] * 20), "blocks", r"no column has numbers .*: say blocks\(20\)"),
        (WALK, "blocks(5)", r"needs a series that is stationary, and this one is integrated.*np\.diff"),
        ((NOISE.reshape(-1, 1), WALK), "blocks", "that of the labels is integrated"),
        (np.column_stack([NOISE, WALK]), "blocks", "column '1' is integrated"),
        (np.arange(100.0), "blocks(3)", "has a trend"),
        ((X, Y), "groups(7)", r"no column '7'; it has 0, 1"),
        (pandas.DataFrame({"site": [1, 2], "x": [1, 2]}), "groups(sit)", r"\(did you mean site\?\); it has site, x"),
        (NOISE, "groups(0)", "no column '0'; its rows have no columns"),
        (pandas.DataFrame({"site": [1, 1], "x": [1, 2]}), "groups(site)", "all 2 rows have the same 'site'"),
        (pandas.DataFrame({"site": [1, None], "x": [1, 2]}), "groups(site)", "row 1 has no value for 'site'"),
        (pandas.DataFrame({"site": [True, False], "x": [1, 2]}), "groups(site)", "holds bool.*numbers or words"),
        ((X, pandas.Series(Y, name="ill")), "groups(ill)", "'ill' has the labels.*use strata"),
        (X, "strata", r"have no labels: name the column, strata or strata\(site\)"),
        ((X, np.array([0] * 19 + [1])), "strata", "only one row has the labels '1', and each sample would have"),
        ((X, np.arange(20)), "strata", "'0', '1', '2' and 17 more"),
        ((X, X), "strata", "several values for a row"),
    ],
)  # fmt: skip
def test_what_does_not_suit_a_way_to_resample_is_refused(data: Any, resample: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_dataset(data, resample)


def test_time_stamps_beside_a_stationary_series_are_no_trend() -> None:
    table = pandas.DataFrame({"t": np.arange(400), "x": NOISE})
    assert load_dataset(table, "blocks").way.length < 3  # type: ignore[attr-defined]


def test_sizes_that_have_no_sample_are_refused() -> None:
    visits = load_dataset(VISITS, "groups(0)")
    with pytest.raises(BadValue, match=r"size=0 is less than half a group, and --resample groups\(0\) .* at least 2"):
        visits.check_size(0)
    visits.check_size(1)
    strata = load_dataset(VISITS, "strata(1)")
    with pytest.raises(BadValue, match="size=1 leaves no row of the stratum '0' in a sample: use at least 3"):
        strata.check_size(1)
    strata.check_size(2)


def test_the_labels_are_strata_by_their_name_or_by_none() -> None:
    y = np.array([0, 1] * 5)
    named = load_dataset((X[:10], pandas.Series(y, name="ill")), "strata(ill)").way
    assert load_dataset((X[:10], y), "strata").way.members[1].tolist() == [1, 3, 5, 7, 9]  # type: ignore[attr-defined]
    assert named.ids.tolist() == [0, 1]  # type: ignore[attr-defined]


def test_parse_keeps_what_is_between_brackets() -> None:
    assert parse("groups(patient (id))") == ("groups", "patient (id)")
    assert parse(" groups( 'patient id' ) ") == ("groups", "patient id")
    assert {parse(f"{kind}(1)" if kind == "groups" else kind)[0] for kind in RESAMPLING} == {*RESAMPLING}


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    gen = rng("visits")
    patients = gen.normal(size=30).repeat(4)
    lines = [f"{i // 4},{i % 3},{x:.3f},{int(x > 0)}" for i, x in enumerate(patients + 0.1 * gen.normal(size=120))]
    (tmp_path / "visits.csv").write_text("patient,site,x,ill\n" + "\n".join(lines) + "\n")
    (tmp_path / "mean.py").write_text("def mean(sample, r):\n    return sample[0].mean(axis=0)\n")
    return tmp_path / "visits.csv"


@pytest.mark.parametrize("resample", ["groups(patient)", "strata", "blocks"])
def test_a_second_process_and_a_replay_draw_the_same_rows(
    visits: Path, resample: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["check", "mean.py:mean", "--source", "visits.csv#ill", "--resample", resample]
    assert run([*words, "--verbose"]) == 1
    out = capsys.readouterr().out
    assert re.search(rf"resampled +by {re.escape(resample)}", out)
    command = next(line for line in out.splitlines() if line.startswith("python -m auditor check"))
    assert run(shlex.split(command)[3:]) == 0
    assert "DIFFERENT" in capsys.readouterr().out


def test_the_report_says_what_each_way_estimates(visits: Path) -> None:
    said = {
        "groups(patient)": r"samples of 30 whole groups by 'patient', drawn from the 30 .* about 120 rows a sample",
        "split(patient)": r"of 15 whole groups by .patient., out of the 30 .* share no group: .* at most 1 have no",
        "strata(ill)": r"the file's share of each of 2 strata by 'ill'",
        "blocks(5)": r"stretches of these 120 rows, of 5 rows on average\. It stands for two fresh series if",
        "blocks": r"rows on average, a length chosen from the autocorrelation of the columns\.",
    }
    for resample, words in said.items():
        record = audit(lambda sample, r: 0, "visits.csv#ill", resample=resample)
        (finding,) = [finding for finding in record.findings if finding.kind == "resampled"]
        assert re.search(words, finding.message), finding.message
        assert (record.resample, record.verdict, finding.severity) == (resample, "pass", "info")
    with pytest.raises(UnknownTruth, match=r"samples by strata\(ill\) are not i\.i\.d\. rows of a law"):
        load_dataset("visits.csv#ill", "strata(ill)").law()
    with pytest.raises(UsageError, match=r"--loss needs samples of independent rows, and --resample blocks\(5\)"):
        audit(lambda sample, r: 0, "visits.csv#ill", resample="blocks(5)", loss=lambda output, rows: 0)
