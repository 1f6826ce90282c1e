"""Who leaves? A pipeline that names the columns of a table: numbers are scaled, words are encoded."""

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


def customers(rng, size):
    plan = rng.choice(["basic", "family", "pro"], size)
    table = pd.DataFrame({"age": rng.integers(18, 90, size), "spent": rng.exponential(50, size), "plan": plan})
    leaves = rng.random(size) < 0.2 + 0.4 * (plan == "basic")
    return table, leaves.astype(int)


model = make_pipeline(
    make_column_transformer((StandardScaler(), ["age", "spent"]), (OneHotEncoder(), ["plan"])),
    LogisticRegression(),
)
