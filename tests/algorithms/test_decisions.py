"""Decisions from a table: what is read, what wins, and what the tests of one column against another say.

Chance: the permutation test draws 9,999 swaps with a fixed seed; its p-value is compared with the exact one within six
standard errors, which a right one misses with probability below 1e-8.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from scipy import stats
from support.requests import audit

import auditor
from algorithms.decisions.beats import Compared, beats, p_value
from algorithms.decisions.clusters import cluster_members, clusters
from algorithms.decisions.cutoffs import cutoff
from algorithms.decisions.features import features, importance
from algorithms.decisions.groups import group_report
from algorithms.decisions.significance import adjusted, r_significant_columns, significant_columns
from algorithms.decisions.tables import read_scores
from algorithms.decisions.times import changepoint, p_of_rise, trend
from algorithms.decisions.winners import r_winner, ranking, standard_scores, top, winner
from auditor.randomness import from_key, root_key

Command = Callable[..., tuple[int, str, str]]
R = from_key(root_key(0))
TABLE = {
    "item": np.array(["q1", "q2", "q3", "q4"]),
    "gpt": np.array([1.0, 1.0, 1.0, 9.0]),
    "llama": np.array([2.0, 2.0, 2.0, 0.0]),
    "cost": np.array([5, 5, 5, 5]),
}


def test_columns_of_words_are_left_out_and_so_are_those_that_are_named() -> None:
    assert read_scores(TABLE).names == ("gpt", "llama", "cost")
    found = read_scores(TABLE, " cost ,")
    assert found.names == ("gpt", "llama")
    assert found.rows.tolist() == [[1, 2], [1, 2], [1, 2], [9, 0]]
    assert read_scores(found.rows).names == ("0", "1")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables_of_any_library_are_read_alike(library: str) -> None:
    made = pytest.importorskip(library)
    table = made.table(TABLE) if library == "pyarrow" else made.DataFrame(TABLE)
    assert winner(table, R, statistic="median") == "cost"
    assert read_scores(table).rows.tolist() == read_scores(TABLE).rows.tolist()


@pytest.mark.parametrize(
    ("params", "ranks"),
    [
        ({}, {"cost": 1, "gpt": 2, "llama": 3}),
        ({"without": "cost"}, {"gpt": 1, "llama": 2}),
        ({"without": "cost", "statistic": "median"}, {"llama": 1, "gpt": 2}),
        ({"without": "cost", "statistic": "wins"}, {"llama": 1, "gpt": 2}),
        ({"statistic": "wins"}, {"cost": 1, "gpt": 2, "llama": 3}),
        ({"better": "lower"}, {"llama": 1, "gpt": 2, "cost": 3}),
    ],
)
def test_the_order_of_columns(params: dict[str, Any], ranks: dict[str, int]) -> None:
    assert ranking(TABLE, R, **params) == ranks
    ordered = sorted(ranks, key=ranks.__getitem__)
    assert winner(TABLE, R, **params) == ordered[0]
    for k in range(1, len(ordered)):
        assert top(TABLE, R, k=k, **params) == tuple(sorted(ordered[:k]))


def test_a_shared_win_counts_for_each_and_of_equal_columns_the_first_wins() -> None:
    tied = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0]])
    assert ranking(tied, R, statistic="wins") == {"0": 1, "1": 2, "2": 3}  # 1/2 + 1, 1/2 + 1/2, 1/2
    assert winner(np.ones((3, 2)), R) == "0"


def test_scores_are_in_standard_errors_of_a_difference() -> None:
    rows = np.random.Generator(np.random.PCG64(7)).normal(size=(50, 2))
    scores = standard_scores(rows, strength=0.5, statistic="mean", better="higher")
    apart = rows[:, 0] - rows[:, 1]
    z = apart.mean() / (apart.std() / math.sqrt(50))
    assert scores["0"] - scores["1"] == pytest.approx(0.5 * z)
    moved = standard_scores(1000 * rows + 5, strength=0.5, statistic="mean", better="higher")
    assert [*moved.values()] == pytest.approx([*scores.values()])
    sure = standard_scores(np.array([[0.1, 0.3], [0.2, 0.4]]), strength=0.5, statistic="mean", better="higher")
    assert sure == {"0": -math.inf, "1": 0.0}


DIFFERENCES = np.array([0.3, -0.1, 0.8, 0.2, 0.5, -0.4, 0.9, 0.6])


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("sign", stats.binomtest(6, 8, alternative="greater").pvalue),
        ("t", stats.ttest_1samp(DIFFERENCES, 0, alternative="greater").pvalue),
        ("wilcoxon", stats.wilcoxon(DIFFERENCES, alternative="greater").pvalue),
    ],
)
def test_p_values_are_those_of_scipy(test: str, expected: float) -> None:
    assert p_value(Compared(DIFFERENCES, np.zeros(8)), test, R) == pytest.approx(expected)
    rows = np.column_stack([DIFFERENCES, np.zeros(8)])
    for level in (expected * 0.99, expected * 1.01):
        assert beats(rows, R, test=test, level=level) is (level > expected)
        assert beats(-rows, R, test=test, level=level, better="lower") is (level > expected)
        assert beats(rows[:, ::-1], R, a="1", b="0", test=test, level=level) is (level > expected)


def test_the_permutation_test_is_near_the_exact_one_and_is_decided_by_r() -> None:
    seen = DIFFERENCES.sum()
    signs = itertools.product((-1, 1), repeat=len(DIFFERENCES))
    exact = np.mean([np.dot(one, DIFFERENCES) >= seen - 1e-12 for one in signs])
    found = p_value(Compared(DIFFERENCES, np.zeros(8)), "permutation", R)
    spread = math.sqrt(exact * (1 - exact) / 9_999)
    print(f"permutation: {found:.5f}, exact {exact:.5f}, bound {6 * spread:.5f}")
    assert abs(found - exact) <= 6 * spread + 1e-4
    assert found == p_value(Compared(DIFFERENCES, np.zeros(8)), "permutation", R)
    assert found * 10_000 == pytest.approx(round(found * 10_000), abs=1e-6), "the table that was seen is one of 10,000"
    assert found != p_value(Compared(DIFFERENCES, np.zeros(8)), "permutation", from_key(root_key(1)))


@pytest.mark.parametrize("test", ["sign", "t", "wilcoxon", "permutation"])
def test_columns_that_are_alike_are_told_apart_by_no_test(test: str) -> None:
    assert beats(np.ones((5, 2)), R, test=test) is False
    assert beats(np.tile([2.0, 1.0], (9, 1)), R, test=test) is True


LONG = {
    "item": np.repeat(np.arange(4), 3),
    "model": np.tile(["b", "a", "c"], 4),
    "score": np.array([1.0, 2.0, 0.5, 1.0, 2.0, 0.5, 1.0, 2.0, 0.5, 9.0, 0.0, 0.5]),
}
WIDE = {name: LONG["score"][LONG["model"] == name] for name in "abc"}
NAMED = {"by": "model", "score": "score"}


@pytest.mark.parametrize("params", [{}, {"statistic": "median"}, {"statistic": "wins"}, {"without": "b"}])
def test_a_long_table_is_as_its_wide_one(params: dict[str, Any]) -> None:
    order = np.random.Generator(np.random.PCG64(5)).permutation(12)
    shuffled = {name: column[order] for name, column in LONG.items()}
    for long in (LONG, shuffled):
        assert ranking(long, R, unit="item", **NAMED, **params) == ranking(WIDE, R, **params)
        assert r_winner(long, R, unit="item", **NAMED, **params) == r_winner(WIDE, R, **params)
    if params.get("statistic") != "wins":
        assert ranking(shuffled, R, **NAMED, **params) == ranking(WIDE, R, **params)


def test_several_scores_of_one_name_for_one_item_count_as_their_mean() -> None:
    twice = {name: np.append(column, column[:1]) for name, column in LONG.items()}
    twice["score"][-1] = 5.0
    found = read_scores(twice, unit="item", **NAMED)
    assert found.rows[0].tolist() == [2.0, 3.0, 0.5]  # a, b, c


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"by": "model"}, "by='model' and score='' must name two columns of a long table"),
        ({"by": "judge", "score": "score"}, "by='judge' must be one of item, model, score: a column of the table"),
        ({**NAMED, "without": "d"}, "without='d' must name columns, and 'd' is none of a, b, c"),
        ({**NAMED, "without": "a,b"}, "two values of 'model' or more, and the table has c"),
        ({**NAMED, "statistic": "wins"}, "scores have to be side by side: name the column"),
        ({"by": "item", "score": "model"}, "the column 'model' has words, and must have numbers"),
    ],
)
def test_a_long_table_that_does_not_suit_gets_a_sentence(params: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        winner(LONG, R, **params)


def test_a_missing_score_of_a_long_table_gets_a_sentence() -> None:
    holes = {name: np.delete(column, 4) for name, column in LONG.items()}
    with pytest.raises(ValueError, match="item 1 has no score of 'a': add it, leave out the item or --param without=a"):
        winner(holes, R, unit="item", **NAMED)
    assert winner(holes, R, unit="item", **NAMED, without="a") == "b"


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("t", lambda a, b: stats.ttest_ind(a, b, equal_var=False, alternative="greater").pvalue),
        ("wilcoxon", lambda a, b: stats.mannwhitneyu(a, b, alternative="greater").pvalue),
    ],
)
def test_two_samples_are_compared_as_scipy_does(test: str, expected: Any) -> None:
    first, second = DIFFERENCES, DIFFERENCES[:5] - 0.3
    long = {"arm": np.repeat(["x", "y"], [8, 5]), "spent": np.concatenate([first, second])}
    p = expected(first, second)
    assert p_value(Compared(first, second, paired=False), test, R) == pytest.approx(p)
    for level in (p * 0.99, p * 1.01):
        assert beats(long, R, by="arm", score="spent", test=test, level=level) is (level > p)


def test_the_permutation_test_of_two_samples_is_near_the_exact_one() -> None:
    first, second = DIFFERENCES[:5], DIFFERENCES[5:] - 0.3
    together, seen = np.concatenate([first, second]), first.mean() - second.mean()
    chosen = [[*one] for one in itertools.combinations(range(8), 5)]
    means = [together[one].mean() - np.delete(together, one).mean() for one in chosen]
    exact = np.mean(np.array(means) >= seen - 1e-12)
    found = p_value(Compared(first, second, paired=False), "permutation", R)
    spread = math.sqrt(exact * (1 - exact) / 9_999)
    print(f"permutation: {found:.5f}, exact {exact:.5f}, bound {6 * spread:.5f}")
    assert abs(found - exact) <= 6 * spread + 1e-4
    with pytest.raises(ValueError, match="test='sign' compares the scores of one item, and no unit is named"):
        p_value(Compared(first, second, paired=False), "sign", R)


def test_whole_items_of_a_long_file_are_redrawn(tmp_path: Path) -> None:
    """The draws of items are those of rows of the wide file, so that both audits count the same mismatches."""
    rng = np.random.Generator(np.random.PCG64(6))
    wide = {name: rng.random(60) for name in "abc"}
    long = [(f"q{i:02}", name, column[i]) for name, column in wide.items() for i in range(60)]
    rows = [",".join(map(str, row)) for row in zip(*wide.values(), strict=True)]
    (tmp_path / "wide.csv").write_text("\n".join(["a,b,c", *rows, ""]))
    (tmp_path / "long.csv").write_text("\n".join(["item,model,score", *(f"{i},{m},{s}" for i, m, s in long), ""]))
    asked: Any = {"rho": 0.5, "fixed": 40}
    first = audit("winner", str(tmp_path / "wide.csv"), **asked)
    second = audit("winner", str(tmp_path / "long.csv"), params={"unit": "item", **NAMED}, **asked)
    assert (first.resample, second.resample) == ("bootstrap", "groups(item)")
    assert 0 < first.mismatches == second.mismatches < 40
    assert "--resample" not in str(second.examples[0].replay)


P = {"a": 0.001, "b": 0.04, "c": 0.012, "d": 0.5, "e": 0.013}


@pytest.mark.parametrize(
    ("correction", "expected"),
    [
        ("bonferroni", {"a": 0.005, "b": 0.2, "c": 0.06, "d": 1.0, "e": 0.065}),
        ("holm", {"a": 0.005, "c": 0.048, "e": 0.048, "b": 0.08, "d": 0.5}),
        ("bh", dict(zip(P, stats.false_discovery_control([*P.values()]), strict=True))),
    ],
)
def test_p_values_are_adjusted_as_their_definitions_say(correction: str, expected: dict[str, float]) -> None:
    assert adjusted(P, correction) == pytest.approx(expected)


def test_no_r_rejects_more_than_the_level_does() -> None:
    """So every promise of the corrected test at its level holds for every r."""
    rng = np.random.Generator(np.random.PCG64(8))
    rows = rng.normal(np.linspace(0, 0.8, 8), 1.0, size=(30, 8))
    for correction in ("bonferroni", "holm", "bh"):
        plain = {*significant_columns(rows, R, correction=correction, test="t")}
        found = [
            {*r_significant_columns(rows, from_key(root_key(seed)), correction=correction, test="t")}
            for seed in range(20)
        ]
        assert all(one <= plain for one in found)
        assert len({frozenset(one) for one in found}) > 1


def test_columns_are_held_against_a_control() -> None:
    rows = np.column_stack([DIFFERENCES, np.zeros(8), -DIFFERENCES])
    expected = 2 * stats.ttest_1samp(DIFFERENCES, 0, alternative="greater").pvalue
    for level in (expected * 0.99, expected * 1.01):
        found = significant_columns(rows, R, against="1", test="t", level=level)
        assert found == (("0",) if level > expected else ())
    assert significant_columns(rows, R, against="1", test="t", level=0.2, better="lower") == ("2",)


X = np.random.Generator(np.random.PCG64(9)).normal(size=(80, 4))
Y = X[:, 2] + 0.5 * X[:, 0] + 0.2 * X[:, 1]


@pytest.mark.parametrize("method", ["correlation", "lasso", "permutation"])
def test_features_are_those_that_say_most_of_the_labels(method: str) -> None:
    linear = pytest.importorskip("sklearn.linear_model").LinearRegression()
    asked: Any = {"method": method, "estimator": linear if method == "permutation" else None}
    assert features((X, Y), R, k=1, **asked) == ("2",)
    assert features((X, Y), R, k=2, **asked) == ("0", "2")
    words = np.where(Y > 0, "yes", "no")
    table = {"size": X[:, 2], "noise": X[:, 3], "bought": words}
    if method != "permutation":
        assert features(table, R, label="bought", method=method) == ("size",)
        assert features((X, words), R, method=method) == features((X, (Y > 0) * 1), R, method=method)


def test_the_score_of_labels_that_are_words_is_that_of_an_analysis_of_variance() -> None:
    words = np.array(["a", "b", "c", "d"])[np.digitize(Y, [-0.5, 0.0, 0.7])]
    found = importance((X, words), R, method="correlation", label="", estimator=None)
    for name, column in zip("0123", X.T, strict=True):
        f = stats.f_oneway(*(column[words == one] for one in "abcd")).statistic
        eta = math.sqrt(3 * f / (3 * f + 76))
        assert found[name] == pytest.approx(eta * math.sqrt(80))
    with pytest.raises(ValueError, match="method='lasso' takes numbers or two labels, and there are 4"):
        features((X, words), R, method="lasso")


def test_the_lasso_says_which_package_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(auditor.BadInput, match="method='lasso' needs scikit-learn: pip install scikit-learn, or take"):
        features((X, Y), R, method="lasso")


def test_clusters_do_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.Generator(np.random.PCG64(10))
    rows = np.concatenate([rng.normal(centre, 0.3, size=(15, 2)) for centre in ((0, 0), (5, 0), (0, 5), (5, 5))])
    assert clusters(rows, R) == clusters(rows[::-1], R) == 4
    found = cluster_members(rows, R, k=4)
    assert found.cluster_centers_ == pytest.approx(cluster_members(rows[::-1], R, k=4).cluster_centers_)
    labels = found.predict(rows).reshape(4, 15)
    assert (labels == labels[:, :1]).all()
    assert len({*labels[:, 0].tolist()}) == 4


def test_rows_are_parted_by_the_columns_that_count() -> None:
    """Columns of words, and those that are left out, are there for `predict`, too: as a dict, a frame or an array."""
    x = np.repeat([0.0, 9.0], 20)
    table = {"name": np.repeat(["a", "b"], 20), "cost": np.tile([0.0, 500.0], 20), "x": x}
    found = cluster_members(table, R, k=2, without="cost")
    for rows in (table, pandas.DataFrame(table)):
        assert found.predict(rows).tolist() == [0] * 20 + [1] * 20
    numbers = np.column_stack([table["cost"], x])
    assert cluster_members(numbers, R, k=2, without="0").predict(numbers).tolist() == [0] * 20 + [1] * 20


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"label": "ill", "positive": "yes"}, 3.0),
        ({"label": "ill", "positive": "no"}, 1.0),
        ({"label": "ill", "positive": "yes", "method": "cost", "cost": 9.0}, 2.0),
        ({"label": "ill", "positive": "yes", "method": "cost", "cost": 0.1}, 3.0),
        ({"label": "ill", "method": "quantile", "q": 0.5}, 2.0),
        ({"label": "ill", "method": "quantile", "q": 0.51}, 3.0),
    ],
)
def test_a_cut_off_is_the_best_of_the_scores(params: dict[str, Any], expected: float) -> None:
    table = {"marker": np.array([1.0, 1, 2, 2, 2, 3, 3, 3, 4, 4]), "ill": np.array([*"nnnny", *"yyyyy"])}
    table["ill"] = np.where(table["ill"] == "y", "yes", "no")
    assert cutoff(table, R, **params) == expected


def test_labels_that_are_words_need_the_one_that_is_positive() -> None:
    table = {"marker": np.array([1.0, 2.0]), "ill": np.array(["no", "yes"])}
    with pytest.raises(ValueError, match="labels that are words need the one that is positive: --param positive=no"):
        cutoff(table, R, label="ill")


def test_a_change_and_a_rise_are_found_whatever_the_order_of_rows() -> None:
    times, values = np.arange(20), np.repeat([1.0, 3.0], [12, 8])
    order = np.random.Generator(np.random.PCG64(11)).permutation(20)
    table = {"day": times[order], "sales": values[order], "id": np.arange(20)}
    assert changepoint(table, R) == 12.0
    assert changepoint(table, R, time="day", value="id") == changepoint(table, R, value="id")
    assert trend(table, R) is True
    assert trend({**table, "sales": -table["sales"]}, R) is False
    assert trend({"day": times, "sales": np.ones(20)}, R) is False
    assert changepoint({"day": np.ones(3), "sales": np.arange(3)}, R) == 1.0


@pytest.mark.parametrize(
    ("statistic", "expected"), [("sum", ("ann", "bob")), ("mean", ("bob", "eve")), ("count", ("ann", "joe"))]
)
def test_the_largest_groups(statistic: str, expected: tuple[str, ...]) -> None:
    names = np.array(["ann", "ann", "ann", "joe", "joe", "bob", "eve"])
    table = {"customer": names, "spent": np.array([5.0, 5, 5, 1, 1, 9, 8])}
    assert group_report(table, R, statistic=statistic) == expected
    assert group_report(table, R, n=9, statistic=statistic) == ("ann", "bob", "eve", "joe")


def test_two_names_of_one_column_are_refused() -> None:
    with pytest.raises(ValueError, match="a='gpt' and b='gpt' are one column: name two"):
        beats(TABLE, R, a="gpt", b="gpt")


def test_a_csv_keeps_its_names_on_the_command_line(tmp_path: Path, command: Command) -> None:
    lines = [f"q{i},{i % 2},{(i + 1) % 3 > 0:d}" for i in range(40)]
    (tmp_path / "scores.csv").write_text("\n".join(["item,gpt,llama", *lines, ""]))
    code, printed, _ = command("check", "winner", "--source", "scores.csv", "--rho", "0.4", cwd=tmp_path)
    assert code == 0
    assert "'llama'" in printed
    code, printed, complaint = command("check", "top", "--param", "k=2", "--source", "scores.csv", cwd=tmp_path)
    assert code == 4
    assert "k=2 must be an integer from 1 to 1" in printed + complaint


@pytest.mark.parametrize(
    ("values", "p"), [([1, 2, 3, 4], 0.0), ([4, 3, 2, 1], 1.0), ([2, 2, 2, 2], 1.0), ([1, 2], 1.0)], ids=str
)
def test_a_straight_line_rises_for_sure_or_not_at_all(values: list[int], p: float) -> None:
    table = {"day": np.arange(len(values)), "value": np.array(values)}
    assert p_of_rise(table, time="day", value="value", test="t") == p
