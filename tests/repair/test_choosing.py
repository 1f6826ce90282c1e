from __future__ import annotations

import math
from collections import Counter
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binom, multinomial
from support.exact import check_audited, last_apart

from auditor import AuditorError
from auditor.randomness import from_key, root_key
from auditor.repair import chosen
from auditor.repair.choosing import candidates_of
from auditor.repair.mechanisms.gumbel import law_mismatch

tables = st.dictionaries(st.sampled_from("abcdef"), st.floats(-2, 2), min_size=2)


def itself(sample, r):
    return sample


def shares(sample, r, *, values=2):
    return {f"value {x}": float(np.mean(sample == x)) for x in range(values)}


def mean_mismatch(learner: Any, samples: list[Any], mass: Any, **params: Any) -> float:
    """Over every pair of samples, weighed by their probabilities: no chance is left."""
    cores = [learner.core(sample, from_key(root_key(0)), **params) for sample in samples]
    m = np.array([[learner.mismatch(a, b) for b in cores] for a in cores])
    return float(mass @ m @ mass)


@pytest.mark.usefixtures("few_finishes")
def test_the_audited_rho_of_three_candidates_holds_the_exact_one() -> None:
    """Every pair of counts of three values among six rows, by the coupling as it is written, which the mean of m is
    exactly, and an audit of few pairs but for 1e-6."""
    n, p, strength = 6, [0.5, 0.3, 0.2], 3.0
    counts = [(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)]
    mass = multinomial.pmf(counts, n, p)
    x = np.exp(strength * np.array(counts) / n)
    ratios = x[:, None, :] / x[:, :, None]  # of candidate j over i, in each outcome
    agree = (1 / np.maximum(ratios[:, None], ratios[None]).sum(axis=-1)).sum(axis=-1)
    truth = float(mass @ (1 - agree) @ mass)
    learner, source = chosen(shares, strength), "pmf({0: 0.5, 1: 0.3, 2: 0.2})"
    samples = [np.repeat(range(3), each) for each in counts]
    assert mean_mismatch(learner, samples, mass, values=3) == pytest.approx(truth)
    check_audited(learner, source, n, truth, params={"values": 3})


def test_what_is_claimed_holds_at_the_size_that_is_asked_for() -> None:
    """Two shares of flips, deviation 1/2, exactly."""
    learner = chosen(shares, 4.0)
    n = learner.sample_size(0.2, 0.5, candidates=2)
    up = expit(4.0 * (2 * np.arange(n + 1) / n - 1))
    mass = binom.pmf(np.arange(n + 1), n, 0.5)
    near = mass > 1e-12
    assert float(mass[near] @ np.abs(up[near][:, None] - up[near]) @ mass[near]) <= 0.2
    assert n == 400
    assert chosen(shares, 4.0, top=2).sample_size(0.2, 0.5, candidates=3) == math.ceil(1600 * math.log(3))
    assert learner.claimed(0.1) == pytest.approx(0.1)
    assert chosen(shares, 4.0, top=2).claimed(0.1) == pytest.approx(0.4)
    assert chosen(shares, 4.0, top=3).claimed(1.0) == pytest.approx(1 - math.exp(-12))
    assert learner.claimed(1.0) == pytest.approx(1 - math.exp(-4))


@given(tables, tables, st.integers(1, 3))
def test_what_is_claimed_of_a_range_holds_for_every_pair_of_scores(left: Any, right: Any, top: int) -> None:
    names = sorted({*left} & {*right})
    if len(names) > top:
        first, second = ({name: side[name] for name in names} for side in (left, right))
        spread = float(np.ptp([first[name] - second[name] for name in names]))
        learner = chosen(itself, 2.0, top=top)
        cores = (learner.core(side, from_key(root_key(0))) for side in (first, second))
        if top in (1, len(names) - 1):  # whose laws are known
            x, y = (np.exp(2.0 * np.array([*side.values()])) for side in (first, second))
            exact = float(law_mismatch(np.log(x), np.log(y))) if top == 1 else last_apart(x, y)
            assert exact <= (learner.claimed(spread) if spread else 0.0) + 1e-9
            assert exact <= learner.mismatch(*cores) + 1e-9


def test_select_k_best_is_chosen_by_its_scores() -> None:
    import pandas as pd
    from sklearn.feature_selection import SelectKBest
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = from_key(root_key(1))
    x, y = rng.normal(size=(200, 5)), rng.integers(2, size=200)
    x[:, 3] += 2 * y
    x[:, 4] = 1.0  # constant: no score
    learner = chosen(SelectKBest(_f_classif, k=2), 0.5)
    assert learner.top == 2
    core = learner.core((x, y), from_key(root_key(0)))
    picked = Counter(name for i in range(40) for name in learner.finish(core, from_key(root_key(i))))
    assert picked[3] == 40
    assert picked[4] == 0
    piped = chosen(make_pipeline(StandardScaler(), SelectKBest(_f_classif, k=2)), 0.5)
    assert piped.top == 2
    assert piped.core((x, y), from_key(root_key(0))).scores == pytest.approx(core.scores)
    named = learner.core((pd.DataFrame(x, columns=[*"abcde"]), y), from_key(root_key(0)))
    assert [*named.scores] == [*"abcde"]


def _f_classif(x, y):
    """scikit-learn's, which warns of what is constant."""
    import warnings

    from sklearn.feature_selection import f_classif

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f_classif(x, y)


def test_select_from_model_is_chosen_by_importance() -> None:
    from sklearn.feature_selection import SelectFromModel
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    rng = from_key(root_key(1))
    x = rng.normal(size=(300, 4))
    y = (x[:, 2] > 0).astype(int) + (x[:, 2] > 1)
    for model in (LogisticRegression(), DecisionTreeClassifier()):
        learner = chosen(SelectFromModel(model, max_features=1), 50.0)
        assert Counter(learner((x, y), i) for i in range(3)) == {2: 3}
    assert chosen(SelectFromModel(LogisticRegression()), 1.0, top=3).top == 3


@pytest.mark.parametrize("search", ["GridSearchCV", "RandomizedSearchCV"])
def test_a_search_is_chosen_by_its_mean_test_score(search: str) -> None:
    import sklearn.model_selection
    from sklearn.linear_model import Ridge

    rng = from_key(root_key(2))
    x = rng.normal(size=(60, 3))
    y = x @ [1.0, 2.0, 3.0] + rng.normal(size=60)
    grid = {"alpha": [0.1, 1.0, 1e4], "fit_intercept": [True]}
    more = {"n_iter": 3} if search == "RandomizedSearchCV" else {}
    made = getattr(sklearn.model_selection, search)(Ridge(), grid, cv=3, **more)
    learner = chosen(made, 30.0)
    core = learner.core((x, y), from_key(root_key(0)))
    outputs = [learner.finish(core, from_key(root_key(i))) for i in range(30)]
    assert {output["alpha"] for output in outputs} == {0.1, 1.0}
    grid["alpha"].reverse()
    again = learner.core((x, y), from_key(root_key(0)))
    assert again.scores == core.scores
    assert [learner.finish(again, from_key(root_key(i))) for i in range(30)] == outputs


def test_a_search_of_several_metrics_says_which_decides() -> None:
    class Searched:
        refit: Any = "r2"
        cv_results_: ClassVar[Any] = {
            "params": [{"a": 1}, {"a": 2}],
            "mean_test_r2": [0.5, math.nan],
            "mean_test_mse": [1, 2],
        }

    assert sorted(candidates_of(Searched()).scores.values()) == [-math.inf, 0.5]
    Searched.refit = True
    with pytest.raises(AuditorError, match="has several metrics: say by refit='NAME' which of them decides"):
        candidates_of(Searched())
