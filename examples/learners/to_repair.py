"""Nine learners that two samples part, and what `repair` makes of them: docs/repair.md has the table."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

SLOPES = np.array([1.0, 0.9, 0.8, 0.2, 0.1])


def lines(rng, size):
    x = rng.normal(size=(size, 5))
    return x, x @ SLOPES + rng.normal(size=size)


def moons(rng, size):
    y = rng.integers(2, size=size)
    angle = np.pi * rng.random(size)
    x = np.c_[np.where(y, 1 - np.cos(angle), np.cos(angle)), np.where(y, 0.5 - np.sin(angle), np.sin(angle))]
    return x + 0.35 * rng.normal(size=x.shape), y


def blobs(rng, size):
    return np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])[rng.integers(3, size=size)] + rng.normal(size=(size, 2))


def visits(rng, size):
    """What each visitor spent more on the new page: 0.1 on average, with a deviation of 1."""
    return rng.normal(0.1, 1.0, size=size)


def coefficients(sample, r):
    return Ridge().fit(*sample).coef_


def missed(coef, rows):
    """The squared error, in a twentieth of the largest that counts."""
    x, y = rows
    return np.minimum(1.0, (y - x @ coef) ** 2 / 20)


def predicted(sample, r):
    """What a tree predicts of numbers around 10."""
    x, y = sample
    tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(x, 10 + y)
    return float(tree.predict(np.full((1, 5), 0.5))[0])


best = SelectKBest(f_regression, k=2)
search = GridSearchCV(Ridge(), {"alpha": [1.0, 10.0, 100.0]}, cv=2, refit=False)
forest = RandomForestClassifier(n_estimators=5)
woods, tree = RandomForestClassifier(), DecisionTreeClassifier(min_samples_leaf=5)
means = KMeans(3, n_init=1)


def effect(sample, r):
    return float(sample.mean())


def ship(sample, r):
    return effect(sample, r) > 0.1


def significant(sample, r):
    """Of the regressors a to e those with a t-value above 3."""
    return frozenset(name for name, t in t_values(sample, r).items() if t > 3)


def t_values(sample, r):
    import statsmodels.api as sm

    x, y = sample
    return dict(zip("abcde", np.abs(sm.OLS(y, x).fit().tvalues).tolist(), strict=True))
