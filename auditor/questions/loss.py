"""loss: does what a learner's sample says of its output hold? R(h) <= R^(h) + sqrt(ln(1/delta) / (2n)), run by run.

R^ is the mean loss on the very sample that the output was learnt from, R the mean over the source. By Lemma A.6 a
learner with rho at most the target breaks the inequality in a share of at most target + delta of its runs, so a larger
share is one more way for an audit of rho to fail, and shares the error with the other. Where the source's law can be
listed R is exact. Elsewhere it is measured on fresh rows, and a break counts only if it is beyond what their number may
be off by, but for a share UNLUCKY of the runs, which is then allowed on top.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.errors import SubjectError, UnknownTruth, UsageError, is_interrupt, kind_of
from auditor.flow.question import Answer, Inquiry
from auditor.flow.verdict import check_share
from auditor.host.boundary import in_host
from auditor.lookup import call_user_code, find_object, importable_name
from auditor.questions.cell_inquiries import CellQuestion
from auditor.questions.judgement import Judged
from auditor.questions.pairs import PairsInquiry, PairsOptions, make_pairs_plan, rows_asked
from auditor.randomness import from_key
from auditor.request import OTHER, Request, option
from auditor.sources.source import Source, load_source
from auditor.statistics.digits import at_least, exact
from auditor.subjects.subject import code_hash
from auditor.trials.cell import Cell
from auditor.trials.trial import Bench
from auditor.values.elements import WATCHED

FRESH = 10_000  # fresh rows on which the risk is measured, if it is not known exactly
UNLUCKY = 0.001  # how often those rows may mislead by more than the measurement allows for


class Loss(msgspec.Struct, frozen=True):
    """A loss that judges runs: `fn(output, rows)` returns a number in [0, 1] for each row."""

    name: str
    fn: Callable[[Any, Any], Any]
    delta: float

    def slack(self, rows: int) -> float:
        """Return by how much the mean loss over a sample may be below the true one, by Hoeffding's inequality."""
        return math.sqrt(math.log(1 / self.delta) / (2 * rows))

    def allowed(self, rho: float, source: Source) -> float:
        """Return the share of runs that may break the inequality: rho + delta, and what measuring R may add."""
        return rho + self.delta + (0.0 if _law(source) else UNLUCKY)

    def __call__(self, bench: Bench, output: Any, index: int) -> bool:
        """True if the first run of a pair keeps the inequality; its sample is drawn again."""
        empirical = float(np.add.reduce(self.of(output, bench.draw(index, 0), bench.size))) / bench.size
        law = _law(bench.source)
        if law is not None:
            risk = law.expect(lambda rows: self.of(output, rows, len(law)))
            return bool(risk <= empirical + self.slack(bench.size) + 1e-12)
        fresh = bench.source.draw(from_key(bench.keys.probe.child("risk", index)), FRESH)
        off = math.sqrt(math.log(1 / UNLUCKY) / (2 * FRESH))
        return bool(np.mean(self.of(output, fresh, FRESH)) - off <= empirical + self.slack(bench.size))

    def of(self, output: Any, rows: Any, count: int) -> Any:
        """Return the losses of rows; SubjectError if they are not what the lemma asks for, a number in [0, 1] each."""
        try:
            losses = np.asarray(call_user_code(self.fn, output, rows), dtype=float)
        except BaseException as error:
            if is_interrupt(error):
                raise
            what = f"the loss {self.name} raised {kind_of(error)}: it is called fn(output, rows)"
            raise SubjectError(what).caused_by(error) from error
        if losses.shape != (count,):
            raise SubjectError(
                f"the loss {self.name} has shape {losses.shape}: return a number for each of {count} rows"
            )
        least, most = losses.item(losses.argmin()), losses.item(losses.argmax())  # NaN, where there is one
        if not (least >= 0 and most <= 1):
            if np.isnan(losses).any():
                raise SubjectError(f"the loss {self.name} is NaN for a row: return a number in [0, 1] for each")
            raise SubjectError(f"the loss {self.name} is not within [0, 1]: divide it by the most that it can be")
        return losses


def _law(source: Source) -> Any:
    """Return the law of one row, if it can be listed; else None."""
    try:
        return source.law(1)  # a tail that one row would not meet moves a mean in [0, 1] by as little
    except UnknownTruth:
        return None


class LossOptions(PairsOptions, frozen=True, kw_only=True):
    """The options of a question about generalisation."""

    loss: Annotated[
        Any,
        option(
            "Ask whether outputs generalise: count the runs whose expected loss on a fresh row exceeds the mean loss "
            "on their own sample by more than sqrt(ln(1 / delta) / (2 size)). FN is module:fn, called fn(output, "
            "rows), and returns a loss in [0, 1] for each row (default: not asked).",
            "FN",
            OTHER,
            basic=False,
        ),
    ] = None
    delta: Annotated[
        float,
        option(
            "With --loss: the share of runs that may exceed it by chance alone (default: 0.05). A subject's own "
            "delta, the share of runs that may be inaccurate, is another one.",
            "D",
            OTHER,
            basic=False,
        ),
    ] = 0.05


class LossAnswer(msgspec.Struct, frozen=True, tag_field="question", tag="loss"):
    """The loss by which runs were judged."""

    loss: str
    delta: float
    slack: float  # how far R(h) may be above R^(h)


@dataclass(slots=True)
class LossPairs(PairsInquiry):
    """Pairs of which the first run is judged by a loss."""

    @property
    def loss(self) -> Loss:
        """The loss whose mean over the rows is compared with its true mean."""
        assert isinstance(self.cell.oracle, Loss)
        return self.cell.oracle

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this inquiry from others with the same plan and cells, for the ledger."""
        return {"loss": self.loss.name, "delta": self.loss.delta, "code": code_hash(self.loss.fn)}

    def answer(self) -> Answer:
        """Return what the record says of pairs, with the loss and the slack that it is allowed."""
        fields = LossAnswer(self.loss.name, self.loss.delta, self.loss.slack(self.cell.size))
        return replace(PairsInquiry.answer(self), fields=fields)


class LossQuestion(CellQuestion):
    """Is rho at most the target, and does R(h) <= R^(h) + slack hold as often as Lemma A.6 says that it then does?"""

    name: ClassVar[str] = "loss"
    Options: ClassVar[type[LossOptions]] = LossOptions

    def begin(self, request: Request) -> Inquiry:
        """Begin the inquiry, after checking that rows are drawn independently."""
        _check_resample(request.options.resample)  # first, since other errors name cures that do not help here
        return CellQuestion.begin(self, request)

    def settle(self, cell: Cell, options: LossOptions) -> LossPairs:
        """Return the inquiry into one cell, whose outputs are judged by the loss."""
        if options.loss is None:
            raise UsageError("--delta goes with --loss: add e.g. --loss module:fn, called fn(output, rows)")
        check_share("delta", options.delta, "how often the inequality may fail by chance, e.g. 0.05")
        loss = load_loss(options.loss, options.delta)
        if cell.sample_kind != "rows" or cell.size == 0:
            raise UsageError(
                "--loss needs the rows that an output was learnt from: use --sample rows and a --size above 0"
            )
        _check_resample(getattr(cell.source, "resample", None))
        plan = make_pairs_plan(cell, options)
        allowed = loss.allowed(plan.target or 0.0, load_source(cell.source))
        if allowed >= 1:
            raise UsageError(
                f"rho + delta is {exact(allowed)}: every share is within it; use a smaller --rho or --delta"
            )
        judged = Judged(
            fault=f"break R(h) <= R^(h) + {at_least(loss.slack(cell.size))}",
            share="of the runs break Lemma A.6's inequality",
            allows="Lemma A.6 allows",
            open="Lemma A.6's inequality was not certified",
            follows=f": so rho is above {exact(plan.target or 0.0)}",
        )
        plan, cell = replace(plan, delta=allowed), replace(cell, oracle=loss, watched=WATCHED)
        return LossPairs(cell, plan, judged=judged, **rows_asked(cell, options))


def _check_resample(resample: str | None) -> None:
    """Raise UsageError unless rows are drawn independently of each other."""
    if resample not in (None, "bootstrap"):
        raise UsageError(
            f"--loss needs samples of independent rows, and --resample {resample} draws rows that are not: use "
            "--resample bootstrap"
        )


@in_host
def load_loss(loss: Any, delta: float) -> Loss:
    """Return a loss from its name module:fn, or from its function."""
    fn = find_object(loss) if isinstance(loss, str) else loss
    if not callable(fn):
        raise UsageError(f"--loss {loss} is {type(fn).__name__}, not a function fn(output, rows)")
    return Loss(loss if isinstance(loss, str) else importable_name(fn) or "loss", fn, delta)
