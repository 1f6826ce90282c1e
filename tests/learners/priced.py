"""A subject whose rho falls with its size, and that costs next to nothing."""

from typing import Any

import auditor


@auditor.subject(source="bernoulli(0.5)", size=64)
def is_above(sample: Any, r: Any) -> bool:
    return bool(sample.mean() > r.random())
