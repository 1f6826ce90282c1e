"""What `field.py` audits besides estimators: the usual tests of statsmodels, and rows for estimators that need others.

Each test is a function of a table that returns what people report: whether p is below 0.05, or which of many are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from auditor import subject

LEVEL = 0.05
_TABLE: Any = {"as_": "columns", "listed": False}


def _two(table: Any, by: str, score: str) -> list[Any]:
    """Return the scores of each value of a column."""
    return [table[score][table[by] == name] for name in np.unique(table[by])]


@subject(source="examples/data/visits.csv", **_TABLE)
def welch(sample: Any, r: Any) -> bool:
    """Return True if the two versions differ, by Welch's t-test."""
    from statsmodels.stats.weightstats import ttest_ind

    return bool(ttest_ind(*_two(sample, "version", "spent"), usevar="unequal")[1] < LEVEL)


@subject(source="examples/data/visits.csv", **_TABLE)
def z_test(sample: Any, r: Any) -> bool:
    """Return True if the two versions differ, by a z-test."""
    from statsmodels.stats.weightstats import ztest

    return bool(ztest(*_two(sample, "version", "spent"))[1] < LEVEL)


@subject(source="examples/data/scores.csv", **_TABLE)
def two_proportions(sample: Any, r: Any) -> bool:
    """Return True if ash and cedar have different shares of right answers, as if they had answered other questions."""
    from statsmodels.stats.proportion import proportions_ztest

    right = [int(sample[name].sum()) for name in ("ash", "cedar")]
    return bool(proportions_ztest(right, [len(sample["ash"])] * 2)[1] < LEVEL)


@subject(source="examples/data/scores.csv", **_TABLE)
def mcnemar(sample: Any, r: Any) -> bool:
    """Return True if ash and cedar differ, by McNemar's test of the questions on which they do."""
    from statsmodels.stats.contingency_tables import mcnemar as test

    ash, cedar = sample["ash"] == 1, sample["cedar"] == 1
    table = [[(ash & cedar).sum(), (ash & ~cedar).sum()], [(~ash & cedar).sum(), (~ash & ~cedar).sum()]]
    return bool(test(table).pvalue < LEVEL)


@subject(source="examples/data/judged.csv", **_TABLE)
def one_way_anova(sample: Any, r: Any) -> bool:
    """Return True if the models' scores differ, by Welch's analysis of variance."""
    from statsmodels.stats.oneway import anova_oneway

    return bool(anova_oneway(_two(sample, "model", "score")).pvalue < LEVEL)


@subject(source="examples/data/judged.csv", **_TABLE)
def tukey(sample: Any, r: Any) -> tuple[bool, ...]:
    """Return which pairs of models differ, by Tukey's range test."""
    from statsmodels.stats.multicomp import pairwise_tukeyhsd

    return tuple(pairwise_tukeyhsd(sample["score"], sample["model"], alpha=LEVEL).reject.tolist())


@subject(source="examples/data/customers.csv#left", **_TABLE)
def holm(sample: Any, r: Any) -> tuple[str, ...]:
    """Return the columns that differ between those who left and those who stayed: t-tests, corrected by Holm."""
    from statsmodels.stats.multitest import multipletests
    from statsmodels.stats.weightstats import ttest_ind

    table, left = sample
    p = [ttest_ind(column[left == 1], column[left == 0])[1] for column in table.values()]
    return tuple(name for name, rejected in zip(table, multipletests(p, LEVEL, "holm")[0], strict=True) if rejected)


@subject(source="examples/data/customers.csv#left", **_TABLE)
def logit(sample: Any, r: Any) -> tuple[str, ...]:
    """Return the columns whose coefficient in a logistic regression is significant."""
    from statsmodels.api import Logit, add_constant

    table, left = sample
    fit = Logit(left, add_constant(np.column_stack([*table.values()]))).fit(disp=False)
    return tuple(name for name, p in zip(table, fit.pvalues[1:], strict=True) if p < LEVEL)


@subject(source="sklearn:load_diabetes", listed=False)
def least_squares(sample: Any, r: Any) -> tuple[int, ...]:
    """Return the columns whose coefficient in a linear regression is significant."""
    from statsmodels.api import OLS, add_constant

    x, y = sample
    return tuple(np.flatnonzero(OLS(y, add_constant(x)).fit().pvalues[1:] < LEVEL).tolist())


@subject(source="sklearn:load_diabetes", listed=False)
def breusch_pagan(sample: Any, r: Any) -> bool:
    """Return True if the residuals of a linear regression spread unequally, by Breusch and Pagan's test."""
    from statsmodels.api import OLS, add_constant
    from statsmodels.stats.diagnostic import het_breuschpagan

    x, y = sample
    x = add_constant(x)
    return bool(het_breuschpagan(OLS(y, x).fit().resid, x)[1] < LEVEL)


@subject(source="examples/data/customers.csv", **_TABLE)
def lilliefors(sample: Any, r: Any) -> bool:
    """Return True if the ages are not normal, by Lilliefors' test."""
    from statsmodels.stats.diagnostic import lilliefors as test

    return bool(test(sample["age"])[1] < LEVEL)


TESTS = (
    *(welch, z_test, two_proportions, mcnemar, one_way_anova, tukey),
    *(holm, logit, least_squares, breusch_pagan, lilliefors),
)


def line(rng: np.random.Generator, size: int) -> Any:
    """Rows of one feature, whose label rises with it: for an isotonic regression."""
    x = rng.random((size, 1))
    return x, x[:, 0] + rng.normal(0.0, 0.2, size)


def two_labels(rng: np.random.Generator, size: int) -> Any:
    """Rows with two labels each: for estimators of several outputs."""
    x = rng.normal(size=(size, 4))
    return x, (x[:, :2] + rng.normal(size=(size, 2)) > 0).astype(int)
