"""Do we measure the instability that others do? `python benchmarks/instability.py`: beside stable-cart, on four data.

stable-cart (`pip install stable-cart`, which nothing here needs otherwise) refits a model to bootstrap samples, each
with randomness of its own, and compares every two of the refits. `auditor.audit` runs pairs of fits that share r, and
says besides what two fits do that share none, from the same fits. Both are estimates with a standard error; of shared r
there is an interval too, which holds with 95 % confidence. The last column is how far apart the two estimates without
a common r are, in standard errors of their difference.
"""

from __future__ import annotations

import importlib
import math
import sys
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import auditor
from auditor.questions.rows import mean_and_error

PAIRS, FITS, TREES, SCALE = 100, 200, 20, 100.0
DATA = ("load_iris", "load_wine", "load_breast_cancer", "load_diabetes")


def main() -> None:
    try:
        theirs: Any = importlib.import_module("stable_cart")
    except ImportError:
        sys.exit("stable-cart is not installed: pip install stable-cart")
    table = Table("data", "score", "shared r", "interval", "not shared", "stable-cart", "apart", "seconds", "theirs")
    for name in DATA:
        table.add_row(*row(name, theirs))
    console = Console(width=150)
    console.print(f"forests of {TREES} trees; {PAIRS} pairs of fits here, {FITS} refits and one fit by stable-cart")
    console.print(table)


def row(name: str, theirs: Any) -> list[str]:
    x, y = getattr(datasets, name)(return_X_y=True)
    is_class = name != "load_diabetes"
    kind: Any = RandomForestClassifier if is_class else RandomForestRegressor
    started = perf_counter()
    asked: dict[str, Any] = {"measure": "churn", "rho": 0.5, "fixed": PAIRS, "jobs": 2}
    record = auditor.audit(kind(n_estimators=TREES), (x, y), **asked, scale=None if is_class else SCALE)
    ours, churn, measure = perf_counter() - started, record.answer.churn, record.measures[0]
    started = perf_counter()
    found = theirs.bootstrap_predictions(
        lambda: kind(n_estimators=TREES),
        x,
        y,
        np.unique(x, axis=0),
        task="categorical" if is_class else "continuous",
        n_bootstrap=FITS,
        random_state=0,
    )
    mean, error = between(np.asarray(found["bootstrap"]), is_class)
    apart = abs(mean - churn.unshared) / math.hypot(error, churn.unshared_error)
    score = record.score
    return [
        name.removeprefix("load_"),
        "" if score is None else f"{score.estimate:.3f} +- {score.standard_error or 0:.3f}",
        f"{measure.estimate:.4f} +- {measure.standard_error or 0:.4f}",
        f"{measure.low:.4f} to {measure.high:.4f}",
        f"{churn.unshared:.4f} +- {churn.unshared_error:.4f}",
        f"{mean:.4f} +- {error:.4f}",
        f"{apart:.1f}",
        f"{ours:.1f}",
        f"{perf_counter() - started:.1f}",
    ]


def between(refits: Any, is_class: bool) -> tuple[float, float]:
    """Return the mean distance of every two refits, and its jackknife standard error."""
    far = np.zeros((len(refits), len(refits)))
    for i, one in enumerate(refits):
        gaps = refits != one if is_class else np.minimum(1.0, np.abs(refits - one) / SCALE)
        far[i] = gaps.mean(axis=1)
    found = mean_and_error(far)
    assert found is not None  # there are enough of them
    return found


if __name__ == "__main__":
    main()
