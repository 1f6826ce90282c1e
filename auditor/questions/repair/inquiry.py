"""The steps of a repair: as it is, which wrappers fit, the frontier, and the cheapest that should pass on fresh pairs.

No two steps share a pair, so nothing that is confirmed was chosen by the pairs that confirm it.

A pass is wrong with probability alpha at most: that nothing needs repair has half of it; the tries to confirm a setting
have a quarter, an eighth and so on.

A fail says that no setting that was offered is a repair, and neither is the learner as it is. It takes evidence of each
of them, and is wrong only if one of them is a repair and is shown to be none. So whichever that is, it may have all of
alpha, and no setting shares it with another: a setting that was tried is judged by its audit, which has a quarter of
alpha at most, and any other by the frontier, which has the other three quarters (`RULED_OUT`). Settings are fixed by
pairs of their own before the frontier is measured.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.errors import AuditorError, BadValue, UsageError
from auditor.flow.plan import Plan
from auditor.flow.question import Answer, InquiryBase, Outlook, Work
from auditor.flow.verdict import Verdict
from auditor.questions.counted import Counted, of_its_own
from auditor.questions.loss import Loss
from auditor.questions.pairs import ChurnQuestion, PairsInquiry, PairsOptions, Rho
from auditor.questions.repair.conclusion import answer_of_inquiry, verdict_of
from auditor.questions.repair.frontier import MeasuredSetting, candidates
from auditor.questions.repair.settings import AIM, COIN, FAMILIES, KEEP, MEAN, STEPPING, Setting
from auditor.questions.repair.units import FrontierUnit, OwnOracle, Pair, look
from auditor.request import Request
from auditor.subjects.subject import Subject, load_subject
from auditor.subjects.views import OUTPUT
from auditor.trials.cell import Cell
from auditor.trials.integrated import FINISHES as INTEGRATED
from auditor.trials.trial import Bench, Trial

LOOKED = 32  # pairs that fix the settings
TRIES = 3  # settings that may be confirmed, one after the other
RULED_OUT = 0.75  # of alpha: what the frontier has to show that a setting is no repair
_LEAF = {"rho": Rho, "churn": ChurnQuestion}
Try = tuple[MeasuredSetting | None, Setting, PairsInquiry]  # what was known of a setting, and its audit


class Asked(msgspec.Struct, frozen=True):
    """What was asked, settled."""

    request: Request
    cell: Cell  # as it is
    measure: str  # what is held against the target: "rho" or "churn"
    target: float
    pairs: int | None
    loss: Loss | None
    given: Setting | None = None  # the only one to try

    @property
    def learner(self) -> object:
        """What a wrapper is made around."""
        return self.cell.subject.target or self.request.subject

    def margin(self, verb: str) -> float:
        """The share of the target below which a setting should pass. Where whole outputs are compared the randomness of
        the wrapper is integrated, and a mean takes fewer pairs."""
        integrates = verb not in KEEP or (self.cell.view.spec == OUTPUT.spec and verb != STEPPING.verb)
        return MEAN if self.measure == "churn" or integrates else COIN

    def leaf(self, cell: Cell, alpha: float) -> PairsInquiry:
        """An audit of one cell, with its part of the error; whether it is accurate is seen, and decides nothing."""
        options = PairsOptions(rho=self.target, pairs=self.pairs, confidence=1 - alpha)
        settled = _LEAF[self.measure]().settle(cell, options)
        return settled.planned(delta=None)

    def wrapped(self, setting: Setting, number: int | None) -> Cell:
        """The cell of a wrapped learner, with randomness of its own where it is one of several."""
        plain = self.cell
        subject = wrap(plain.subject, self.learner, setting)
        seen: dict[str, Any] = {} if setting.keeps_view else {"view": OUTPUT, "probe": None}
        judge = OwnOracle(plain.subject) if plain.subject.declared.accuracy and setting.verb == "rounded" else None
        again = ("--with", shlex.quote(setting.spec))
        cell = replace(plain, subject=subject, name=setting.spec, oracle=judge, command="repair", again=again, **seen)
        return cell if number is None else of_its_own(cell, number, self.request.options.seed, setting.spec)


def wrap(subject: Subject, learner: object, setting: Setting) -> Subject:
    """The repaired subject; its target stays that of the learner, which is what a command line names."""
    try:
        repaired = setting.wrap(learner)
    except (TypeError, BadValue) as error:  # of an argument, and no option has its name
        raise UsageError(f"--with {setting.spec}: {error}") from error
    return replace(load_subject(repaired, subject.params), target=subject.target)


@dataclass(slots=True)
class Mending(InquiryBase):
    """One step after the other; a cell for each."""

    asked: Asked
    plan: Plan
    cells: list[Cell]
    leaves: dict[int, PairsInquiry]  # by cell
    before: PairsInquiry | None = None  # None where the repair itself was given
    looked: list[dict[str, Any]] = field(default_factory=list)
    measured: list[MeasuredSetting] = field(default_factory=list)
    tried: list[Try] = field(default_factory=list)
    counted: dict[int, Counted] = field(default_factory=dict)  # of the other cells
    errors: dict[int, AuditorError] = field(default_factory=dict)
    why_not: str | None = None
    over: bool = False
    _now: list[MeasuredSetting] = field(default_factory=list)  # those on the frontier that is measured
    _steps: Iterator[Work] | None = None

    @property
    def asks(self) -> str:
        what = f"{self.asked.measure} at most {self.plan.target:g}"
        return f"which repair makes {what}, and at what price? At most {self.plan.budget:,} pairs in all"

    @property
    def besides(self) -> str:
        return f", and what wrappers do: up to {2 * INTEGRATED:,} finishes a pair"

    def opened(self, cell: int, bench: Bench) -> None:
        if cell in self.leaves:
            self.leaves[cell].opened(0, bench)
        else:
            self.counted[cell].bench = bench

    def next(self) -> Sequence[Work]:
        self._steps = self._steps or self._worked()
        work = next(self._steps, None)
        return () if work is None else (work,)

    def _worked(self) -> Iterator[Work]:
        yield from self._audited(0)
        if self.before is not None and self.before.outcome() != "pass":
            yield from self._mended()
        self.over = True

    def _mended(self) -> Iterator[Work]:
        yield Work(self._open("looked at", look), range(LOOKED))
        if any("out of step" in one for one in self.looked) and self._runs(STEPPING):
            yield from self._measure([STEPPING])
        if not self._has_passed and (settings := self._fitting()):
            yield from self._measure(settings)
        yield from self._confirm_first([one for one in self.not_ruled_out() if not one.is_silent and not one.error])

    def _measure(self, settings: Sequence[Setting]) -> Iterator[Work]:
        """Measure their frontier, and confirm what should pass, cheapest first."""
        self._now = [MeasuredSetting(setting) for setting in settings]
        self.measured += self._now
        wrapped = tuple(one.wrap(self.asked.learner) for one in settings)
        plain, measure, loss = self.asked.cell, self.asked.measure, self.asked.loss
        unit = FrontierUnit(
            plain.subject, tuple(settings), wrapped, measure, loss, has_own_points=plain.probe is not None
        )
        pairs = next((one.pairs for one in FAMILIES if one.verb == settings[0].verb), LOOKED)
        yield Work(self._open("frontier", unit), range(pairs))
        yield from self._confirm_first(candidates(self._now, self.asked.target, self.asked.margin(settings[0].verb)))

    def _confirm_first(self, settings: Sequence[MeasuredSetting]) -> Iterator[Work]:
        """Confirm one after the other, until one passes, as long as there are tries."""
        for one in settings:
            if len(self.tried) < TRIES and not self._has_passed and all(one is not was for was, _, _ in self.tried):
                yield from self._confirm(one)

    @property
    def _has_passed(self) -> bool:
        return bool(self.tried) and self.tried[-1][2].outcome() == "pass"

    @property
    def frontier_alpha(self) -> float:
        """The error of each interval of the frontier, all of which hold together with the confidence."""
        return self.plan.alpha / max(1, len(self.measured))

    def not_ruled_out(self) -> list[MeasuredSetting]:
        """Return the settings that may still be a repair, as far as evidence goes, from the nearest on."""
        audits = {id(one): leaf for one, _, leaf in self.tried}
        alpha = RULED_OUT * self.plan.alpha

        def is_ruled_out(one: MeasuredSetting) -> bool:
            audit = audits.get(id(one))
            return one.misses(self.asked.target, alpha) if audit is None else audit.outcome() == "fail"

        return sorted((one for one in self.measured if not is_ruled_out(one)), key=lambda one: one.estimate)

    def _open(self, name: str, unit: Any) -> int:
        """A cell of the plain subject, whose pairs nobody else has."""
        number = len(self.cells)
        cell = of_its_own(self.asked.cell, number, self.asked.request.options.seed, name)
        self.cells.append(replace(cell, unit=unit, judged=self.asked.cell.judged))
        self.counted[number] = Counted(self.cells[-1], self.plan.confidence)
        return number

    def _fitting(self) -> list[Setting]:
        """The settings of the first family that fits every output that was looked at; else why there is none. Runs that
        gave no output say nothing of what fits the others."""
        shown = [one["fits"] for one in self.looked if "fits" in one]
        verbs = [one.verb for one in FAMILIES if shown and all(one.verb in fits for fits in shown)]
        for family in (one for one in FAMILIES if one.verb in verbs):
            seen = [fits[family.verb] for fits in shown]
            level = AIM * self.asked.margin(family.verb) * self.asked.target
            made = family.settings(seen, level, self.asked.cell.size, self.asked.measure)
            if found := [one for one in made if self._runs(one)]:
                return found
        self.why_not = self.why_not or _why_not(self.looked, verbs, self.asked.cell.size)
        return []

    def _runs(self, setting: Setting) -> bool:
        """Whether the wrapper takes this learner at all."""
        try:
            wrap(self.asked.cell.subject, self.asked.learner, setting)
        except AuditorError as error:
            self.why_not = f"{setting.verb} does not take it: {error}"
            return False
        if setting.verb == "agreed" and self.asked.cell.view.spec != OUTPUT.spec:
            self.why_not = f"agreed compares whole outputs, and the view here is {self.asked.cell.view.name}"
            return False
        return True

    def _confirm(self, measured: MeasuredSetting) -> Iterator[Work]:
        """An audit of the wrapped learner on pairs that nothing else has seen."""
        setting, number = measured.setting, len(self.cells)
        share = self.plan.alpha * 2.0 ** -(len(self.tried) + 2)
        leaf = self.asked.leaf(self.asked.wrapped(setting, number), share)
        self.cells.append(leaf.cell)
        self.leaves[number] = leaf
        self.tried.append((measured, setting, leaf))
        yield from self._audited(number)

    def _audited(self, number: int) -> Iterator[Work]:
        while number not in self.errors and (work := self.leaves[number].next()):
            yield replace(work[0], cell=number)

    def add(self, cell: int, trial: Trial) -> bool:
        if cell in self.leaves:
            return self.leaves[cell].add(0, trial)
        self.counted[cell].add(trial)
        if self.cells[cell].unit is look:
            self.looked.append(trial.payload)
        else:
            pair = msgspec.convert(trial.payload, Pair)
            for one, tried in zip(self._now, pair.tried, strict=True):
                one.add(tried, pair.loss)
        return False

    def failed(self, cell: int, error: AuditorError) -> None:
        """A wrapped learner that does not run is not confirmed; all else must run."""
        if cell == 0 or cell not in self.leaves:
            raise error
        self.errors[cell] = error
        for measured, _, leaf in self.tried:
            if measured and leaf is self.leaves[cell]:
                measured.error = str(error)

    def settings(self) -> dict[str, Any]:
        asked = self.asked
        return {
            "question": "repair",
            "measure": asked.measure,
            "pairs": asked.pairs,
            "loss": asked.loss and asked.loss.name,
            "with": asked.given and asked.given.spec,
        }

    def outlook(self) -> Outlook:
        done = sum(leaf.tally.pairs for leaf in self.leaves.values())
        done += sum(one.tally.pairs for one in self.counted.values())
        at = len(self.cells) - 1
        words = f"{self.cells[at].name or 'as it is'}: "
        words += self.leaves[at].outlook().words if at in self.leaves else f"{self.counted[at].tally.pairs:,} pairs"
        return Outlook(done, self.plan.budget, words)

    def verdict(self) -> Verdict:
        return verdict_of(self)

    def answer(self) -> Answer:
        return answer_of_inquiry(self)


def _why_not(looked: Sequence[dict[str, Any]], verbs: Sequence[str], size: int) -> str:
    """In a sentence, from what was looked at."""
    shown = next((one["shown"] for one in looked if "fits" in one), "nothing")
    if verbs:
        few = f"{size:,} rows are too few to be cut into chunks" if verbs[-1] in ("voted", "agreed") else ""
        return (
            f"{verbs[0]} fits outputs such as {shown}, and {few or 'what differs between two of them is not its kind'}"
        )
    if all("fits" not in one for one in looked):
        return "in no pair that was looked at did both runs give an output"
    return (
        f"outputs such as {shown} are neither numbers, nor scored candidates, nor centres, nor labels of points, nor "
        "alike in kind from run to run"
    )
