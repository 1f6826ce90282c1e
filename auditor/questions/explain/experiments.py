"""The experiments: what each takes away, when it fits, and what to do where it is the cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from auditor.questions.explain import interpreter, units
from auditor.sources.datasets import Dataset
from auditor.trials.causes.elsewhere import run_pair_elsewhere
from auditor.trials.causes.hidden import run_pair_put_back
from auditor.trials.causes.keyed_sites import why_unkeyed
from auditor.trials.trial import Bench, Unit

_ROWS = 16  # from here on one row of a sample is few
_DISTINCT = 0.5  # of the outputs that are looked at, where a number is one of a continuum


Looked = Sequence[dict[str, Any]]  # what the pairs showed that were looked at and are never counted


def _unless(quantifier: Callable[[Iterator[Any]], bool], trait: str, words: str) -> Callable[[Looked, Bench], str]:
    return lambda looked, bench: "" if quantifier(one.get(trait) for one in looked) else words


def _no_floats(looked: Looked, bench: Bench) -> str:
    if all(one.get("floats") for one in looked):
        return ""
    kind = next((one["table"] for one in looked if one.get("table")), "")
    cannot = kind.startswith(("polars", "pyarrow", "scipy"))
    return f"no noise can be put on a {kind}" if cannot else "the samples hold no floating-point numbers"


def _no_more_rows(looked: Looked, bench: Bench) -> str:
    if bench.size == 0:
        return "there is no sample"
    return "a quarter of so few rows is none" if isinstance(bench.source, Dataset) and bench.size < 8 else ""


def _no_continuum(looked: Looked, bench: Bench) -> str:
    if not any(one.get("numbers") for one in looked):
        return "the output has no floating-point numbers"
    if not any(one["gaps"] and max(one["gaps"]) > 0 for one in looked):
        return "the numbers of the output do not differ"
    if not is_continuum(looked):
        return "the numbers of the output take few values, so that no grid is fine enough"
    if do_jump(looked, bench.size):
        return "one fresh row moves the numbers of the output about as far as a fresh sample does"
    return "" if widths_of(looked, 0.5) else "more than the numbers of the output differs"


class Experiment(msgspec.Struct, frozen=True):
    """What takes one cause away.

    `after` is a trial but for the cause, with its sham; None where a pair as it is shows that too. `shows` runs one
    sample twice. A cause that is `certain` must never show: hidden state is proved by one sample, and the hash seed and
    threads must show more often than their sham. Among causes that explain as much as each other, those of lower `rank`
    are named first: what is more particular explains more.
    """

    kind: str
    changes: str
    cure: str
    rank: int
    after: Unit | None = None
    shows: Unit | None = None
    certain: bool = False
    twice: int = 8  # samples that are run twice, where that is all there is to see
    why_not: Callable[[Looked, Bench], str] = lambda looked, bench: ""  # it cannot be made; empty where it can


EXPERIMENTS = (
    Experiment(
        "hidden-state",
        "the same state put back before each run",
        "draw every random bit from r, and keep nothing between runs",
        0,
        run_pair_put_back,
        interpreter.again,
        certain=True,
    ),
    Experiment(
        "hash-seed",
        "one hash seed",
        "sort before you iterate: for x in sorted(the_set); and never take hash() of a text for a number",
        0,
        run_pair_elsewhere,
        interpreter.other_hash_seed,
        certain=True,
        twice=interpreter.ELSEWHERE,
    ),
    Experiment(
        "threads",
        "one thread",
        "run it in one thread: with threadpoolctl.threadpool_limits(1), or n_jobs=1; or add up what threads return in "
        "a fixed order",
        0,
        run_pair_elsewhere,
        interpreter.all_threads,
        certain=True,
        twice=interpreter.ELSEWHERE,
    ),
    Experiment(
        "row-order",
        "the rows sorted",
        "sort the rows first, or take what does not depend on their order: sample = np.sort(sample, axis=0)",
        4,
        units.sorted_rows,
        units.other_order,
        why_not=_unless(all, "rows", "the samples have no rows that could be in another order"),
    ),
    Experiment(
        "rounding-noise",
        "outputs taken for the same that last digits turn into each other",
        "round far above the last digits, what is returned and what decides: np.round(result, 9), np.round(score, 9) "
        "> 0",
        5,
        units.beyond_noise,
        why_not=_no_floats,
    ),
    Experiment(
        "desync",
        "draws of r kept in step",
        'give each step its own child of r before the sample is looked at: for_rows, for_offset = r.child("rows"), '
        'r.child("offset"); or key its draws by place: r = sites(r), from auditor.repair',
        1,
        interpreter.in_step,
        why_not=lambda looked, bench: why_unkeyed(bench) or "",
    ),
    Experiment(
        "continuous",
        "the numbers of the output rounded on a grid that r places",
        "round on a grid that r places: offset = r.uniform(0, width); return offset + width * np.round((x - offset) / "
        "width), with width = {width}",
        6,
        why_not=_no_continuum,
    ),
    Experiment(
        "labels",
        "labels taken up to renaming",
        "name the parts by what they are, not by when they came up: sort the centres and renumber, or compare who is "
        "together",
        2,
        why_not=_unless(any, "labels", "the output has no labels, of which some would come twice"),
    ),
    Experiment(
        "output-order",
        "lists taken without their order",
        "return sorted(result), or a frozenset",
        3,
        why_not=_unless(any, "order", "the output has no list of different things"),
    ),
    Experiment(
        "r-unused",
        "the second run has an r of its own",
        "let r decide what the sample leaves open: a threshold or the offset of a grid, drawn as r.uniform(...) before "
        "the sample is looked at",
        9,
        units.r_of_its_own,
        units.other_r,
    ),
    Experiment(
        "too-little-data",
        "four times the rows",
        "use more rows: --size {size}",
        7,
        units.other_size,
        why_not=_no_more_rows,
    ),
)


def is_continuum(looked: Looked) -> bool:
    """Whether some number of the output was a new one in most of the pairs."""
    rows = [payload["values"] for payload in looked]
    shortest = min(map(len, rows), default=0)
    distinct = [len({row[place] for row in rows}) for place in range(shortest)]
    return max(distinct, default=0) > _DISTINCT * len(rows)


def do_jump(looked: Looked, size: int) -> bool:
    """Whether one fresh row of many moves the numbers at least half as far as all of them. A number that depends on the
    rows continuously goes about 1 / sqrt(size) as far, so that rounding is no cure of what goes farther."""
    known = [(one["jump"], one["farthest"]) for one in looked if one["jump"] is not None]
    return size >= _ROWS and sum(jump for jump, _ in known) > 0.5 * sum(farthest for _, farthest in known)


def widths_of(looked: Looked, target: float) -> tuple[float, ...]:
    """Widths of a grid on which half of the target is left, as far as the pairs that were looked at can tell; none
    where more than numbers differs. A grid of width w with a uniform offset parts two numbers with probability
    min(1, |a - b| / w), several with an offset each with 1 - prod_i (1 - min(1, |a_i - b_i| / w_i))."""
    found = [payload["gaps"] for payload in looked if payload["gaps"]]
    lengths = {len(one) for one in found}
    if len(lengths) != 1 or len(found) * 2 < len(looked):
        return ()
    apart = np.asarray(found, dtype=float)
    scale = apart.mean(axis=0)
    if not scale.max() > 0:
        return ()
    scale = np.maximum(scale, 0.01 * scale.max())
    numbers = max(payload["numbers"] for payload in looked)
    spread = 1 if apart.shape[1] == numbers else numbers  # where one gap stands for many numbers
    low, high = 0.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        kept = np.prod(1 - np.minimum(1.0, apart / (scale * 2.0**middle)), axis=1) ** spread
        low, high = (low, middle) if 1 - kept.mean() <= target / 2 else (middle, high)
    return tuple(float(width) for width in _rounded_up(scale * 2.0**high))


def _rounded_up(widths: Any) -> Any:
    """To two digits, which is what a person would type."""
    place = 10.0 ** (np.floor(np.log10(widths)) - 1)
    return np.ceil(widths / place - 1e-6) * place
