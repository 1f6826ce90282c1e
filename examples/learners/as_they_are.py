"""Functions as people have them: of data alone, of features and labels, with a seed, with a generator of a library."""

import numpy as np


def middle(sample):
    return round(float(np.median(sample)), 1)


def important(X, y):
    """The feature that is correlated most with the labels."""
    return int(np.argmax([abs(np.corrcoef(column, y)[0, 1]) for column in X.T]))


def bootstrapped(data, seed=0):
    """The mean of bootstrap means, to one digit."""
    rng = np.random.default_rng(seed)
    return round(float(np.mean([rng.choice(data, len(data)).mean() for _ in range(20)])), 1)


def communities(edges, seed):
    import networkx

    graph = networkx.Graph([tuple(edge) for edge in edges.tolist()])
    return networkx.community.louvain_communities(graph, seed=seed)


def friendships(rng, size):
    """Edges between people of three villages of ten, one in ten of them across."""
    villages = np.where(rng.random(size) < 0.9, 0, rng.integers(1, 3, size))
    first = rng.integers(0, 30, size)
    second = (first // 10 + villages) % 3 * 10 + rng.integers(0, 10, size)
    return np.column_stack([first, second])


def tuned(data, seed):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    study.optimize(lambda trial: (trial.suggest_int("k", 0, 9) - 3 - data.mean()) ** 2, n_trials=20)
    return study


def perceptron(X, y, generator):
    """The signs of the weights of a linear model that torch trains."""
    import torch

    weights = torch.randn(X.shape[1], generator=generator, dtype=torch.float64) / 100
    rows, wanted = torch.tensor(X), torch.tensor(2.0 * y - 1)
    for _ in range(50):
        weights = weights - 1e-2 * rows.T @ (torch.tanh(rows @ weights) - wanted) / len(wanted)
    return torch.sign(weights)


def projected(sample, key):
    """The most spread direction of five that jax draws."""
    import jax

    directions = jax.random.normal(key, (5, sample.shape[1]))
    return int((sample @ directions.T).std(axis=0).argmax())


def survivors(rng, size):
    import pandas

    risk = rng.normal(size=size)
    return pandas.DataFrame({"T": rng.exponential(np.exp(-risk)), "E": rng.random(size) < 0.9, "risk": risk})
