"""Does what a learner's sample says of its output hold? R(h) <= R^(h) + sqrt(ln(1/delta) / (2n)), run by run.

R^ is the mean loss on the very sample that the output was learnt from, R the mean over the source. By Lemma A.6 a
rho-reproducible learner breaks the inequality in a share of at most rho + delta of its runs. Where the source's law can
be listed R is exact. Elsewhere it is measured on fresh rows, and a break counts only if it is beyond what their number
may be off by, but for a share UNLUCKY of the runs, which is then allowed on top.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from auditor.errors import SubjectError, UnknownTruth, is_interrupt
from auditor.process.foreign import call
from auditor.randomness import from_key
from auditor.sources.source import Source
from auditor.trials.trial import Bench

FRESH = 10_000  # rows on which a risk is measured that nobody knows
UNLUCKY = 0.001  # how often those rows may mislead by more than is allowed for


@dataclass(frozen=True, slots=True)
class Loss:
    """fn(output, rows): the loss of each row, in [0, 1]."""

    name: str
    fn: Callable[[Any, Any], Any]
    delta: float

    def slack(self, rows: int) -> float:
        return math.sqrt(math.log(1 / self.delta) / (2 * rows))

    def allowed(self, rho: float, source: Source) -> float:
        """rho + delta, and what measuring R may add."""
        return rho + self.delta + (0.0 if _law(source) else UNLUCKY)

    def holds(self, bench: Bench, output: Any, index: int) -> bool:
        """Whether the first run of a pair keeps the inequality; its sample is drawn again."""
        empirical = float(np.mean(self.of(output, bench.draw(index, 0), bench.size)))
        law = _law(bench.source)
        if law is not None:
            risk = law.expect(lambda rows: self.of(output, rows, len(law)))
            return bool(risk <= empirical + self.slack(bench.size) + 1e-12)
        fresh = bench.source.draw(from_key(bench.keys.probe.child("risk", index)), FRESH)
        off = math.sqrt(math.log(1 / UNLUCKY) / (2 * FRESH))
        return bool(np.mean(self.of(output, fresh, FRESH)) - off <= empirical + self.slack(bench.size))

    def of(self, output: Any, rows: Any, count: int) -> Any:
        """The losses of rows, checked: the lemma asks for numbers in [0, 1], one for each."""
        try:
            losses = np.asarray(call(self.fn, output, rows), dtype=float)
        except BaseException as error:
            if is_interrupt(error):
                raise
            what = f"the loss {self.name} raised {type(error).__name__}: it is called fn(output, rows)"
            raise SubjectError(what).caused_by(error) from error
        if losses.shape != (count,):
            raise SubjectError(
                f"the loss {self.name} has shape {losses.shape}: return a number for each of {count} rows"
            )
        if np.isnan(losses).any():
            raise SubjectError(f"the loss {self.name} is NaN for a row: return a number in [0, 1] for each")
        if not ((losses >= 0) & (losses <= 1)).all():
            raise SubjectError(f"the loss {self.name} is not within [0, 1]: divide it by the most that it can be")
        return losses


def _law(source: Source) -> Any:
    try:
        return source.law(1)  # a tail that one row would not meet moves a mean in [0, 1] by as little
    except UnknownTruth:
        return None
