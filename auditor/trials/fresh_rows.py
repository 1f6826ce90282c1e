"""Does the source draw fresh rows? One that ignores its generator gives every run the same sample, and every learner
passes.

Before anything is counted the two samples of a pair are compared. Where they are the same rows, and not all rows are
equal, up to 22 samples with other keys are drawn: a source is refused if all 24 are the same. It is not refused by
chance: let P(s) be the probability of a sample s of n i.i.d. rows. All m samples are the same, with two different
rows in them, with probability

    sum_s P(s)^m  <=  (max_s P(s))^(m - 1),     over the s that have two different rows, a and b say.

For rows in their order max P(s) <= p_a p_b <= 1/4. Where the order of rows says nothing (rows that come sorted, or as
counts) max P(s) <= max_k C(n, k) p^k (1 - p)^(n - k), 0 < k < n, which is at most 1/2, at n = 2. So a false alarm has
probability 4^-23 or 2^-23 at most, and below 1e-6 in the three pairs of a preflight together. (For rows in their order
12 samples would do; the others cost nothing, since the first sample that differs ends the search.)

Rows that are all equal say nothing: a coin may fall alike. Then samples of 8 rows are compared, if those are more.

Data sets are not looked at, since we draw their rows ourselves, and neither are counts, which we draw from the source's
law. A source that is meant to have no randomness declares it by an attribute of its own or of its function:
`deterministic = True`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from auditor.errors import NotComparable, SourceError
from auditor.sources.datasets import Dataset
from auditor.sources.frames import library_of, rows_in, settled, take
from auditor.sources.shifts import Mixture
from auditor.sources.source import Source, is_deterministic
from auditor.trials.trial import NONE_FELL, Bench, Trial
from auditor.values import fingerprint, same

SAMPLES = 24  # that are compared before a source is refused
UNLIKELY = 1e-6  # what chance may do
_WIDER = 8  # rows, where a sample has fewer and all are equal
_LOOKED_AT = 200  # rows, to see how unlikely it is that two samples are the same
DECLARED, AT_TIMES = "declared", "at times"  # how samples are the same


class NoFreshRows(SourceError):
    """A source gives the same rows whatever generator it is given."""


def same_samples(bench: Bench, index: int, first: Any = None) -> str:
    """Compare the samples of a pair: "" if they differ, or may agree by chance; else DECLARED or AT_TIMES.

    `first` is the sample of the pair's first run, where that is drawn already. NoFreshRows if all samples are.
    """
    source = bench.source
    if bench.counted or not bench.size or isinstance(source, Dataset):
        return ""
    if isinstance(source, Mixture):
        parts = [same_samples(replace(bench, source=part), index) for part in (source.first, source.second)]
        return AT_TIMES if AT_TIMES in parts else ""
    first = bench.draw(index, 0) if first is None else first
    if not _are_same(first, bench.draw(index, 1)):
        return ""
    if is_deterministic(source):
        return DECLARED
    if _has_equal_rows(first):
        return _of_more_rows(bench, index) if bench.size < _WIDER else ""
    for number in range(2, SAMPLES):
        if not _are_same(first, bench.draw(index + number // 2, number % 2)):
            return AT_TIMES if _likelihood(first) <= UNLIKELY else ""
    raise NoFreshRows(
        f"source {source.name} ignores its generator: {SAMPLES} samples with different keys are the same "
        f"{bench.size:,} rows. Both runs of every pair would get the same sample, and any learner would pass. Draw "
        "from the rng that it is given, e.g. rng.normal(size=size), and from no generator of its own; if the source is "
        f"meant to be so, {_declaring(source)}"
    )


def _declaring(source: Source) -> str:
    """Return how a source is declared deterministic: below the function or the class that it is made of."""
    fn = getattr(source, "fn", None)
    made_of = getattr(source, "own", None) or getattr(source, "frozen", None) or getattr(fn, "func", None) or fn
    name = getattr(made_of, "__name__", None) or type(made_of).__name__
    if not name.isidentifier():
        return "give the function a name and declare it: name.deterministic = True"
    return f"declare it below: {name}.deterministic = True"


def _of_more_rows(bench: Bench, index: int) -> str:
    """Compare samples of more rows, of a source whose small samples have equal rows alone."""
    try:
        return same_samples(replace(bench, size=_WIDER), index)
    except NoFreshRows:
        raise
    except SourceError:
        return ""  # it has no sample of this size


def freshness(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """Return a trial that draws the samples of a pair and runs nothing; its payload is what `same_samples` returns."""
    return Trial(index, None, None, 0.0, payload=same_samples(replace(bench, copies=True), index))


def _are_same(left: Any, right: Any) -> bool:
    """True if two samples are shown to have the same rows."""
    try:
        return same(left, right)
    except NotComparable:
        return False  # rows of a type of the user's own: no way to tell


def _has_equal_rows(sample: Any) -> bool:
    """True if all rows of a sample are the same."""
    if isinstance(sample, tuple) and len(sample) == 2:
        return all(map(_has_equal_rows, sample))
    if library_of(sample):
        table, count = settled(sample), rows_in(sample)
        return _are_same(take(table, np.arange(count)), take(table, np.zeros(count, dtype=int)))
    rows = [*sample.items()] if isinstance(sample, dict) else [*sample]
    return all(_are_same(rows[0], row) for row in rows[1:])


def _likelihood(sample: Any) -> float:
    """Return the largest probability that any law of i.i.d. rows gives to a sample, or to its first rows.

    That of the rows' own frequencies: prod (c / n)^c over the values with counts c. Two samples are the same one, of
    all those for which this is at most x, with probability sum P(s)^2 <= x.
    """
    parts = sample if isinstance(sample, tuple) and len(sample) == 2 else (sample,)
    tables = [
        settled(part) if library_of(part) else [*part.items()] if isinstance(part, dict) else part for part in parts
    ]
    count = min(rows_in(tables[0]), _LOOKED_AT)
    rows = [tuple(fingerprint(take(one, [i]) if library_of(one) else one[i]) for one in tables) for i in range(count)]
    return math.exp(sum(times * math.log(times / count) for times in Counter(rows).values()))
