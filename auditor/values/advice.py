"""What is to be done about an output that cannot be compared? Which view of it would do, by what it has."""

from __future__ import annotations

from typing import Any

import numpy as np

_RETURN = "return values that define it: numbers, strings, arrays, containers or dataclasses of them"
_LEARNT = ("coef_", "feature_importances_", "cluster_centers_", "support_", "params")
_PLAIN = (bool, int, float, complex, str, np.ndarray)
_NAMED = 3  # attributes that are named


def advice(output: object) -> str:
    """A cure in one clause; nothing of the output is run."""
    if _has(output, "savefig"):
        return f"it is an open figure: return the numbers that it draws, or try {_written(['attr(name)', 'module:fn'])}"
    views = [*_views(output)][:_NAMED]
    return f"{_RETURN}; or try {_written([*views, 'module:fn'])}" if views else _RETURN


def _views(output: object) -> list[str]:
    own = _attributes(output)
    found = ["predict"] if _has(output, "predict") else []
    found += [f"attr({name})" for name in _LEARNT if name in own]
    if found:
        return found
    return [f"attr({name})" for name, value in own.items() if not name.startswith("_") and isinstance(value, _PLAIN)]


def _attributes(output: object) -> dict[str, Any]:
    """Those that an instance has itself: to ask for others might run code."""
    try:
        own = object.__getattribute__(output, "__dict__")
    except Exception:  # it has none, or is no plain object
        return {}
    return own if isinstance(own, dict) else {}


def _has(output: object, name: str) -> bool:
    return not isinstance(output, type) and any(name in vars(base) for base in type(output).__mro__)


def _written(views: list[str]) -> str:
    return " or ".join(f'--view "{view}"' if "(" in view else f"--view {view}" for view in views)
