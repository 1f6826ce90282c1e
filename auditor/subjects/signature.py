"""Does a function take (sample, r), and which parameters has it besides? If not, what to write around it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any

from auditor.errors import UsageError, suggestion

PRIVATE = "private"  # the parameter that has randomness of the run's own
_LABELS = ("y", "target", "targets", "label", "labels")  # no randomness has these names
_RANDOM = ("r", "rng", "seed", "random", "randomness", "generator", "gen", "state", "key")
_SEEDS = ("seed", "random_seed", "random_state")  # which are numbers
_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def check_signature(fn: Callable[..., Any], shown: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The parameters with their defaults, and what fn calls sample and r; UsageError if it does not take them."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # some builtins tell nobody
        return dict(given), ["", ""]
    everything = list(signature.parameters.values())
    positional = [p for p in everything if p.kind in _BY_POSITION]
    if not _takes_two(everything, positional):
        raise UsageError(f"{shown}{signature} takes no (sample, r): {_cure(shown, everything, positional)}")
    named = {
        p.name: p for p in everything if p not in positional[:2] and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }
    if not any(p.kind == p.VAR_KEYWORD for p in everything):
        for key in given:
            if key not in named:
                known = f"it has {', '.join(named)}" if named else "it has none"
                raise UsageError(f"{shown} has no parameter {key!r}{suggestion(key, named)}: {known}")
    missing = [key for key, p in named.items() if p.default is p.empty and key not in (*given, PRIVATE)]
    if missing:
        raise UsageError(f"{shown} needs a value for {', '.join(missing)}: --param {missing[0]}=VALUE")
    defaults = {key: p.default for key, p in named.items() if p.default is not p.empty}
    return defaults | dict(given), [*(p.name for p in positional[:2]), "", ""][:2]


def takes_sample_and_r(fn: Callable[..., Any]) -> bool:
    """Whether it looks like a learner; a source fn(rng, size) does not."""
    try:
        everything = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return False
    positional = [p for p in everything if p.kind in _BY_POSITION]
    return _takes_two(everything, positional) and [p.name for p in positional[1:2]] != ["size"]


def _takes_two(everything: Sequence[Parameter], positional: Sequence[Parameter]) -> bool:
    """Labels are no randomness, and neither is a parameter with a number for its default."""
    if len(positional) < 2:
        return any(p.kind == p.VAR_POSITIONAL for p in everything)
    second = positional[1]
    if second.annotation is second.empty and second.name.lower() in _LABELS:
        return False
    return second.default is second.empty or second.default is None or _is_random(second.name)


def _is_random(name: str) -> bool:
    return any(word in _RANDOM for word in name.lower().split("_"))


def _cure(shown: str, everything: Sequence[Parameter], positional: Sequence[Parameter]) -> str:
    """The line that makes a learner of a function of (X, y), of (df), or of anything with a seed."""
    place, _, path = shown.rpartition(":")
    name = last if (last := path.rpartition(".")[2]).isidentifier() else "learn"
    labelled = any(p.name.lower() in _LABELS for p in positional[1:2])
    words = ["*sample" if labelled else "sample"] if positional else []
    seeds = [p for p in everything if _is_random(p.name) and p not in positional[:1]]
    words += [f"{p.name}={'int(r.integers(2**32))' if p.name in _SEEDS else 'r'}" for p in seeds[:1]]
    line = f"def audited(sample, r): return {name}({', '.join(words)})"
    plain = f"write def {name}(sample, r), or " if not labelled else "write "
    return f"{plain}a line below it, {line}, and audit {place + ':' if place else ''}audited"
