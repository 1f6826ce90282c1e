"""Which experiments are there? What each takes away, and when it fits; `words` says what each of them means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from auditor.questions.explain import units
from auditor.repair.mechanisms.grid import two_digits, width_at
from auditor.sources.datasets import Dataset
from auditor.subjects.programs import program_in
from auditor.trials.causes.elsewhere import run_pair_elsewhere
from auditor.trials.causes.hidden import run_pair_put_back
from auditor.trials.causes.keyed_sites import why_unkeyed
from auditor.trials.trial import Bench, Unit

_MANY_ROWS = 16  # from here on one row of a sample is few
_DISTINCT = 0.5  # share of outputs with a number of their own from which on the number counts as continuous
_ELSEWHERE = 24  # samples that are run in other processes: many have no tie that an order could break
Looked = Sequence[dict[str, Any]]  # the payloads of the pairs that were looked at and are never counted


class Experiment(msgspec.Struct, frozen=True):
    """What takes one cause away.

    `changed` is a trial with the cause taken away, with its sham; None where the pair as it is shows that too. `twice`
    runs one sample twice. A cause that `must_not_matter` is a fault wherever it has any effect: one sample proves
    hidden state, and the hash seed and threads must have an effect more often than their sham.
    """

    kind: str
    changed: Unit | None = None
    twice: Unit | None = None
    must_not_matter: bool = False
    samples: int = 8  # that are run twice, where that is all there is to see
    why_not: Callable[[Looked, Bench], str] = lambda looked, bench: ""  # why it does not fit; "" if it does


def _unless(quantifier: Callable[[Iterator[Any]], bool], trait: str, reason: str) -> Callable[[Looked, Bench], str]:
    """Return a condition of an experiment: the reason not to run it, unless any or all outputs have a trait."""
    return lambda looked, bench: "" if quantifier(one.get(trait) for one in looked) else reason


def _no_floats(looked: Looked, bench: Bench) -> str:
    """Say why no noise can be put on the samples; "" where it can."""
    if all(one.get("floats") for one in looked):
        return ""
    kind = next((one["table"] for one in looked if one.get("table")), "")
    cannot = kind.startswith(("polars", "pyarrow", "scipy"))
    return f"no noise can be put on a {kind}" if cannot else "the samples hold no floating-point numbers"


def _no_hash_seed(looked: Looked, bench: Bench) -> str:
    """Say why hash seeds have no say; "" where they may have."""
    program = program_in(bench.subject.fn)
    return "not applicable: hash seeds are Python's" if program and not program.is_python else ""


def _no_more_rows(looked: Looked, bench: Bench) -> str:
    """Say why the number of rows cannot be varied; "" where it can."""
    if bench.size == 0:
        return "there is no sample"
    return "a quarter of so few rows is none" if isinstance(bench.source, Dataset) and bench.size < 8 else ""


def _not_continuous(looked: Looked, bench: Bench) -> str:
    """Return why no grid would be a cure.

    A number that depends on the rows continuously moves about 1 / sqrt(size) as far for one fresh row as for a fresh
    sample. Rounding does not cure what moves at least half as far.
    """
    if not any(one.get("numbers") for one in looked):
        return "the output has no floating-point numbers"
    if not any(one["gaps"] and max(one["gaps"]) > 0 for one in looked):
        return "the numbers of the output do not differ"
    rows = [one["values"] for one in looked]
    distinct = [len({row[place] for row in rows}) for place in range(min(map(len, rows)))]
    if not max(distinct, default=0) > _DISTINCT * len(rows):
        return "the numbers of the output take few values, so that no grid is fine enough"
    known = [(one["jump"], one["farthest"]) for one in looked if one["jump"] is not None]
    if bench.size >= _MANY_ROWS and sum(jump for jump, _ in known) > 0.5 * sum(farthest for _, farthest in known):
        return "one fresh row moves the numbers of the output about as far as a fresh sample does"
    return "more than the numbers of the output differs" if _gaps(looked) is None else ""


EXPERIMENTS = (
    Experiment("hidden-state", run_pair_put_back, units.same_again, must_not_matter=True),
    Experiment(
        "hash-seed",
        run_pair_elsewhere,
        units.other_hash_seed,
        must_not_matter=True,
        samples=_ELSEWHERE,
        why_not=_no_hash_seed,
    ),
    Experiment("threads", run_pair_elsewhere, units.all_threads, must_not_matter=True),
    Experiment(
        "row-order",
        units.sorted_rows,
        units.other_order,
        why_not=_unless(all, "rows", "the samples have no rows that could be in another order"),
    ),
    Experiment("rounding-noise", units.beyond_noise, why_not=_no_floats),
    Experiment("desync", units.in_step, why_not=lambda looked, bench: why_unkeyed(bench) or ""),
    Experiment("continuous", why_not=_not_continuous),
    Experiment("labels", why_not=_unless(any, "labels", "the output has no labels that occur more than once")),
    Experiment("output-order", why_not=_unless(any, "order", "the output has no list of different things")),
    Experiment("r-unused", units.r_of_its_own, units.other_r),
    Experiment("too-little-data", units.other_size, why_not=_no_more_rows),
)


def _gaps(looked: Looked) -> Any:
    """Return how far apart the numbers are, a row for each pair in which nothing else differs; None where there are
    few such pairs, or the number of numbers is not always the same, or none of them ever differs."""
    found = [payload["gaps"] for payload in looked if payload["gaps"]]
    if len({len(one) for one in found}) != 1 or len(found) * 2 < len(looked):
        return None
    apart = np.asarray(found, dtype=float)
    return apart if apart.max() > 0 else None


def widths_of(looked: Looked, target: float) -> tuple[float, ...]:
    """Return widths of a grid on which half of the target is left, as far as the pairs that were looked at can tell.

    Numbers of different scales have widths in proportion to how far apart each is on average. Empty where more than
    numbers differs. Widths are rounded up to two digits.
    """
    apart = _gaps(looked)
    if apart is None:
        return ()
    scale = apart.mean(axis=0)
    scale = np.maximum(scale, 0.01 * scale.max())
    if any(payload["numbers"] != apart.shape[1] for payload in looked):  # where a gap is that of several numbers
        scale = np.full_like(scale, scale.max())
    return tuple(two_digits(float(width)) for width in scale * width_at(apart / scale, target / 2))
