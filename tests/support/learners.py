"""Learners of audits that workers run and ledgers keep: no worker has to import a module of tests for them."""

from __future__ import annotations

from typing import Any

import numpy as np

import auditor


def uniform(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def near(output: Any, *, source: Any, r: Any, params: Any) -> bool:
    return bool(abs(output - 0.5) < 0.06)


@auditor.subject(source=uniform, size=50, accuracy=near, delta=0.5)
def rounded(sample: Any, r: np.random.Generator, *, bad_luck: float = 0.0) -> float:
    if r.random() < bad_luck:
        raise ValueError("no luck")
    return round(float(sample.mean()), 1)


def votes(sample: np.ndarray, r: np.random.Generator) -> dict[str, Any]:
    return {"mean": round(float(sample.mean()), 1), "big": set(np.flatnonzero(sample[:4] > 1).tolist())}
