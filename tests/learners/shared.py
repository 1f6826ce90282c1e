"""Learners and samplers that return what they will write into again; the true rho of each is 1."""

from __future__ import annotations

from typing import Any

import numpy as np

BUFFER = np.zeros(1)
ANSWER = np.zeros(1)
RESULT: dict[str, Any] = {}
NESTED = [[0.0], {"weights": np.zeros(1)}]
MODELS: list[Any] = []
ROWS = np.zeros(20)


class Model:
    weight = 0.0


FITTED = Model()


def array(sample, r):
    BUFFER[0] = sample.mean()
    return BUFFER


def slice_of_array(sample, r):
    return array(sample, r)[:1]


def dictionary(sample, r):
    RESULT["mean"] = float(sample.mean())
    return RESULT


def nested(sample, r):
    NESTED[0][0] = float(sample.mean())
    NESTED[1]["weights"][0] = sample[0]
    return NESTED


def attributes(sample, r):
    FITTED.weight = float(sample.mean())
    return FITTED


def sklearn_model(sample, r):
    if not MODELS:
        from sklearn.linear_model import LinearRegression

        MODELS.append(LinearRegression())
    return MODELS[0].fit(sample.reshape(-1, 1), sample**2)


def its_sample(sample, r):
    return sample


def rows(rng, size):
    return rng.random(size)


def rows_in_one_array(rng, size):
    rng.random(out=ROWS)
    return ROWS


def mechanism(sample, r, *, query):
    ANSWER[0] = sample.mean() + query
    return ANSWER


def honest_mechanism(sample, r, *, query):
    return mechanism(sample, r, query=query).copy()


def own(sample, r, private):
    BUFFER[0] = private.random()
    return BUFFER


def raises(sample, r):
    raise ValueError("never an output")
