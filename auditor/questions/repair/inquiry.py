"""The steps of a repair, and what may be said after them.

1. The learner is audited as it is. If it passes, nothing needs repair.
2. Some pairs of outputs are looked at: they say which wrapper fits, and fix the settings that are offered (`settings`).
3. All settings are measured on one set of pairs (`units`, `frontier`).
4. The cheapest setting that should pass is audited on fresh pairs; if it does not pass, the next one is; then those
   that the frontier does not rule out, beginning with the nearest. At most `TRIES` settings are audited.

No two steps share a pair, so nothing that is confirmed was chosen by the pairs that confirm it.

A pass is wrong with probability alpha at most: "nothing needs repair" has half of alpha, the audit of the first setting
a quarter, that of the second an eighth, and so on.

A fail says that neither the learner as it is nor any setting that was offered is a repair. It takes evidence against
each of them, and is wrong only if one of them is a repair and the evidence against that one misleads. So each may have
all of alpha, and they need not share it: a setting that was audited is judged by its audit, which has a quarter of
alpha at most, and any other by the frontier, which has the other three quarters (`RULED_OUT`).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.errors import AuditorError, BadValue, UsageError
from auditor.flow.question import Answer, Inquiry, Outlook, Steps, Work, registered_questions
from auditor.flow.record import Finding
from auditor.flow.verdict import Plan, Verdict
from auditor.questions.cell_inquiries import ONLY, Counted, with_own_seed
from auditor.questions.loss import Loss
from auditor.questions.pairs import ChurnQuestion, PairsInquiry, PairsOptions, Rho
from auditor.questions.repair.answer import HINTS, OUT_OF_STEP, HeldMeasure, RepairAnswer, RepairCost
from auditor.questions.repair.frontier import SAYS_NOTHING, MeasuredSetting, candidates
from auditor.questions.repair.paste import check_command, code_of, price_command
from auditor.questions.repair.settings import AIM, BY_COUNT, BY_MEAN, FAMILIES, KEEP_VIEW, SITES, Setting
from auditor.questions.repair.units import FrontierUnit, OwnOracle, Pair, look
from auditor.request import Request
from auditor.statistics.digits import between, exact, percent
from auditor.subjects.subject import Subject, load_subject
from auditor.subjects.views import OUTPUT
from auditor.trials.cell import Cell
from auditor.trials.integrated import FINISHES as INTEGRATED
from auditor.trials.trial import Bench

LOOKED = 32  # pairs that fix the settings
TRIES = 3  # settings that may be audited, one after the other
RULED_OUT = 0.75  # of alpha: what the frontier has to show that a setting is no repair


class Try(msgspec.Struct, frozen=True):
    """A setting that is audited on fresh pairs; `measured` is None if it was given by --with."""

    measured: MeasuredSetting | None
    setting: Setting
    audit: PairsInquiry


@dataclass(slots=True)
class RepairInquiry(Inquiry):
    """The steps of the module, one cell for each."""

    request: Request
    cell: Cell  # the learner as it is
    measure: str  # what is held against the target: "rho" or "churn"
    target: float
    pairs: int | None  # of each audit at most, where the user says so
    loss: Loss | None
    given: Setting | None = None  # the only setting to audit
    only: Setting | None = None  # a wrapper, with some of its arguments perhaps, whose settings alone are of interest
    plan: Plan = field(init=False)
    cells: list[Cell] = field(init=False)
    audits: dict[int, PairsInquiry] = field(init=False)  # by the number of the cell
    before: PairsInquiry | None = None  # the audit of the learner as it is; None where a setting was given
    tries: list[Try] = field(default_factory=list)
    counted: dict[int, Counted] = field(default_factory=dict)  # the cells that are not audits
    looks: list[dict[str, Any]] = field(default_factory=list)  # what the pairs showed that were looked at
    measured: list[MeasuredSetting] = field(default_factory=list)
    why_not: str | None = None  # why no wrapper fits
    useless: str | None = None  # why settings that fit are not offered
    errors: dict[int, AuditorError] = field(default_factory=dict)
    finished: bool = False

    def __post_init__(self) -> None:
        """Set up the first audit and the budget of the whole repair.

        It audits the setting that was given by --with, which is then the only step; or else the learner as it is, with
        half of the error. BadValue if so few pairs were allowed that the last try could not be decided.
        """
        options = self.request.options
        alpha = 1 - options.confidence
        if self.given is not None:  # from the seed itself: that is what a replay names
            audit = self._audit(self._wrapped(self.given, None), alpha)
            self.tries.append(Try(None, self.given, audit))
            budget = audit.plan.budget
        else:
            first = with_own_seed(self.cell, 0, options.seed, "as it is")
            self._audit(first, alpha * 2.0 ** -(TRIES + 1))  # refused if so few pairs could not decide the last try
            audit = self.before = self._audit(first, alpha / 2)
            budget = (1 + TRIES) * audit.plan.budget + 2 * LOOKED + max(family.pairs for family in FAMILIES)
        self.plan = Plan(self.target, float(options.confidence), "anytime", budget, gates=self.measure)
        self.cells, self.audits = [audit.cell], {0: audit}

    # The steps.

    def steps(self) -> Steps:
        """Audit the learner, look at pairs, measure settings and audit those that should pass, as the module says."""
        yield from self.audits[0].steps()
        if self.before is not None and self.before.outcome() != "pass":
            yield from self._look_at_pairs()
            if not self.only and any("out of step" in one for one in self.looks) and self._takes(SITES):
                yield from self.measure_settings([SITES])
            if not self._has_passed and (settings := self.offered()):
                yield from self.measure_settings(settings)
            yield from self._confirm_first([one for one in self.not_ruled_out() if not one.is_silent and not one.error])
        self.finished = True

    def _look_at_pairs(self) -> Steps:
        """Look at some pairs of outputs, which say what fits."""
        number = self._open("looked at", look)
        [trials] = yield [Work(number, range(LOOKED))]
        for trial in trials:
            self.counted[number].add(trial)
            self.looks.append(trial.payload)

    def offered(self) -> list[Setting]:
        """Return the settings of the first family that fits every output that was looked at. If there are none,
        `why_not` says why. Runs without an output say nothing about what fits the others."""
        fits = [one["fits"] for one in self.looks if "fits" in one]
        fitting = [family for family in FAMILIES if fits and all(self._fits(family.wrapper, one) for one in fits)]
        for family in fitting:
            level = AIM * self._margin(family.wrapper) * self.target
            fixed = self.only.arguments if self.only else {}
            seen = [{**one[family.wrapper], **fixed, "has loss": self.loss is not None} for one in fits]
            made = family.settings(seen, level, self.cell.size, self.measure)
            made = [replace(one, arguments={**one.arguments, **fixed}) for one in made]
            self.useless = self.useless or next((one.useless for one in made if one.useless), None)
            if found := [one for one in made if not one.useless and self._takes(one)]:
                return found
        shown = next((one["shown"] for one in self.looks if "fits" in one), "nothing")
        if fitting:
            why = "it does not change the parts in which two of them differ"
            if fitting[-1].wrapper in ("voted", "agreed"):
                why = f"{self.cell.size:,} rows are too few to be cut into chunks"
            why = f"{fitting[-1].wrapper} fits outputs such as {shown}, but {self.useless or why}"
        elif not fits:
            why = "in no pair that was looked at did both runs give an output"
        elif self.only:
            takes = ": it takes scores by name, such as {'a': 0.31, 'b': 0.27}" if self.only.wrapper == "chosen" else ""
            why = f"{self.only.wrapper} does not fit outputs such as {shown}{takes}"
        else:
            why = (
                f"outputs such as {shown} are neither numbers, nor scored candidates, nor centres, nor labels of "
                "points, nor alike in kind from run to run"
            )
        self.why_not = self.why_not or why
        return []

    def _fits(self, wrapper: str, fits: Mapping[str, Any]) -> bool:
        """True if a wrapper fits two outputs; if one is asked for no other does, and some fit only then."""
        if wrapper not in fits or self.only:
            return wrapper in fits and bool(self.only and self.only.wrapper == wrapper)
        return not fits[wrapper].get("only if asked")

    def _takes(self, setting: Setting) -> bool:
        """True if the wrapper accepts this learner; else `why_not` says why."""
        try:
            wrap(self.cell.subject, self._learner, setting)
        except AuditorError as error:
            self.why_not = f"{setting.wrapper} cannot wrap it: {error}"
            return False
        if setting.wrapper == "agreed" and self.cell.view.spec != OUTPUT.spec:
            self.why_not = f"agreed compares whole outputs, and the view here is {self.cell.view.name}"
            return False
        return True

    def measure_settings(self, settings: Sequence[Setting]) -> Steps:
        """Measure settings of one wrapper on the same pairs, and audit those that should pass, cheapest first."""
        wrapper = settings[0].wrapper
        on_frontier = [MeasuredSetting(setting) for setting in settings]
        self.measured += on_frontier
        wrapped = tuple(setting.wrap(self._learner) for setting in settings)
        has_own_points = self.cell.probe is not None
        unit = FrontierUnit(
            self.cell.subject, tuple(settings), wrapped, self.measure, self.loss, has_own_points=has_own_points
        )
        pairs = next((family.pairs for family in FAMILIES if family.wrapper == wrapper), LOOKED)
        number = self._open("frontier", unit)
        [trials] = yield [Work(number, range(pairs))]
        for trial in trials:
            self.counted[number].add(trial)
            pair = msgspec.convert(trial.payload, Pair)
            for measured, tried in zip(on_frontier, pair.tried, strict=True):
                measured.add(tried, pair.loss)
        yield from self._confirm_first(candidates(on_frontier, self.target, self._margin(wrapper)))

    def _confirm_first(self, settings: Sequence[MeasuredSetting]) -> Steps:
        """Audit one setting after the other on fresh pairs, until one passes or `TRIES` are spent."""
        for measured in settings:
            known = any(one.measured is measured for one in self.tries)
            if not known and not self._has_passed and len(self.tries) < TRIES:
                yield from self.confirm(measured)

    def confirm(self, measured: MeasuredSetting) -> Steps:
        """Audit one setting on fresh pairs, with its share of the error."""
        number, share = len(self.cells), self.plan.alpha * 2.0 ** -(len(self.tries) + 2)
        audit = self._audit(self._wrapped(measured.setting, number), share)
        self.cells.append(audit.cell)
        self.audits[number] = audit
        self.tries.append(Try(measured, measured.setting, audit))
        yield from audit.steps(number)

    def _audit(self, cell: Cell, alpha: float) -> PairsInquiry:
        """Return an audit of one cell with this error probability. Accuracy is recorded, and decides nothing."""
        question = Rho() if self.measure == "rho" else ChurnQuestion()
        options = PairsOptions(rho=self.target, pairs=self.pairs, confidence=1 - alpha)
        return question.settle(cell, options).planned(delta=None, stated=float(self.request.options.confidence))

    def _open(self, name: str, unit: Any) -> int:
        """Add a cell of the learner as it is, whose pairs no other step has; return its number."""
        number = len(self.cells)
        cell = with_own_seed(self.cell, number, self.request.options.seed, name)
        self.cells.append(replace(cell, unit=unit, judged=self.cell.judged))
        self.counted[number] = Counted(self.cells[-1], self.plan.confidence)
        return number

    def _wrapped(self, setting: Setting, number: int | None) -> Cell:
        """Return the cell of the wrapped learner, with randomness of its own where it is one of several."""
        plain = self.cell
        subject = wrap(plain.subject, self._learner, setting)
        view: dict[str, Any] = {} if setting.keeps_view else {"view": OUTPUT, "probe": None}
        oracle = OwnOracle(plain.subject) if plain.subject.declared.accuracy and setting.wrapper == "rounded" else None
        again = ("--with", shlex.quote(setting.spec))
        cell = replace(plain, subject=subject, name=setting.spec, oracle=oracle, command="repair", again=again, **view)
        return cell if number is None else with_own_seed(cell, number, self.request.options.seed, setting.spec)

    def _margin(self, wrapper: str) -> float:
        """Return how far below the target, as a share of it, the estimate of a setting has to be for its audit to pass
        most likely. A mean over the wrapper's randomness, which is integrated where whole outputs are compared, takes
        fewer pairs than a count."""
        integrates = wrapper not in KEEP_VIEW or (self.cell.view.spec == OUTPUT.spec and wrapper != SITES.wrapper)
        return BY_MEAN if self.measure == "churn" or integrates else BY_COUNT

    @property
    def _learner(self) -> object:
        """The learner that wrappers are put around: its name where it has one."""
        return self.cell.subject.target or self.request.subject

    @property
    def _has_passed(self) -> bool:
        """True if the last setting that was audited has passed."""
        return bool(self.tries) and self.tries[-1].audit.outcome() == "pass"

    # What the trials showed.

    def opened(self, cell: int, bench: Bench) -> None:
        """Take note of the bench of a cell, in its audit or its count."""
        if cell in self.audits:
            self.audits[cell].opened(ONLY, bench)
        else:
            self.counted[cell].bench = bench

    def failed(self, cell: int, error: AuditorError) -> None:
        """Take note that a wrapped learner does not run: it is not confirmed. In all other cells a failed run ends the
        audit."""
        if cell == 0 or cell not in self.audits:
            raise error
        self.errors[cell] = error
        for one in self.tries:
            if one.measured and one.audit is self.audits[cell]:
                one.measured.error = str(error)

    def not_ruled_out(self) -> list[MeasuredSetting]:
        """Return the settings that the evidence does not show to be no repair, the nearest to the target first."""
        audits = {id(one.measured): one.audit for one in self.tries}
        alpha = RULED_OUT * self.plan.alpha

        def is_ruled_out(one: MeasuredSetting) -> bool:
            audit = audits.get(id(one))
            return one.misses(self.target, alpha) if audit is None else audit.outcome() == "fail"

        return sorted((one for one in self.measured if not is_ruled_out(one)), key=lambda one: one.estimate)

    @property
    def frontier_alpha(self) -> float:
        """The error of each interval of the frontier, all of which hold together with the confidence."""
        return self.plan.alpha / max(1, len(self.measured))

    # The verdict.

    def verdict(self) -> Verdict:
        """Return a pass if a repair is confirmed, or none is needed; a fail if each setting that fits is shown to be no
        repair."""
        alpha, before = self.plan.alpha, self.before
        if before is not None and before.outcome() == "pass":
            found = before.verdict()
            return replace(found, reason=f"Nothing needs repair. {found.reason}", error_spent=alpha)
        if self.tries and (self._has_passed or before is None):
            return self._verdict_of(self.tries[-1])
        if not self.finished:
            return Verdict("inconclusive", "No repair has been confirmed yet", "budget", alpha)
        if reason := self._still_open():
            return Verdict("inconclusive", reason, "budget", alpha)
        return Verdict("fail", self._why_none(), "churn" if self.measure == "churn" else "mismatches", alpha)

    def _verdict_of(self, one: Try) -> Verdict:
        """Return the verdict on a setting that passed its audit, or was given."""
        found, spec = one.audit.verdict(), one.setting.spec
        if found.outcome == "inconclusive":
            return Verdict("inconclusive", self._not_confirmed(one), "budget", self.plan.alpha)
        reason = f"{spec} is no repair. {found.reason}"
        if found.outcome == "pass":
            reason = f"{spec} repairs it. {found.reason}"
            if self.before is not None and (estimate := self._held(self.before).estimate) is not None:
                reason += f"; without it, {self.measure} is about {estimate:.3g}"
            if self.before is None and one.setting.wrapper == "agreed":  # no frontier has counted these runs
                reason += "; this does not count how often its chunks agree on nothing, so that it returns None"
        return replace(found, reason=reason, error_spent=self.plan.alpha)

    def _still_open(self) -> str | None:
        """Return why a fail cannot be said although nothing was confirmed; None if each setting and the learner as it
        is are shown to miss the target."""
        for one in reversed(self.tries):
            if one.audit.outcome() == "inconclusive" and not (one.measured and one.measured.error):
                return self._not_confirmed(one)
        if left := self.not_ruled_out():
            nearest, spec = left[0], left[0].setting.spec
            point = nearest.point(self.frontier_alpha)
            if nearest.error:
                known = f"it does not run: {nearest.error}"
            elif nearest.is_silent:
                known = f"about {point.nothing:.0%} of the runs give no output"
            else:
                known = f'{self._known(point.low, point.high, point.pairs)}; audit it alone by --with "{spec}"'
            more = f" and {len(left) - 1} more are" if len(left) > 1 else " is"
            others = f". Others are not offered: {self.useless}" if self.useless else ""
            return f"No repair was confirmed, and {spec}{more} not ruled out: {known}{others}"
        if self.before is not None and self.before.outcome() != "fail":
            held = self._held(self.before)
            known = f"{self._known(held.low, held.high, held.pairs)}, which leaves {exact(self.target)} open"
            return f"No repair was confirmed, and it is open whether one is needed: as it is, {known}"
        return None

    def _not_confirmed(self, one: Try) -> str:
        """Say what is known of a setting whose audit did not decide."""
        held = self._held(one.audit)
        known = f"{self._known(held.low, held.high, held.pairs)}, which leaves {exact(self.target)} open"
        return f"{one.setting.spec} may repair it, which is not confirmed: {known}. Give more --pairs"

    def _known(self, low: float, high: float, pairs: int) -> str:
        """Say between which limits rho or churn is, and by how many pairs."""
        return f"{self.measure} is {between(low, high, beside=self.target)} by {pairs:,} pairs"

    def _why_none(self) -> str:
        """Return why no setting is a repair, where that is shown of each."""
        if self._fits_none:
            more = ". In place of repair, explain finds out what makes the runs differ"
            return f"No wrapper fits: {self.why_not}{more if 'explain' in registered_questions() else ''}"
        speaks = [one for one in self.measured if not one.is_silent]
        if not speaks:
            wrapper = self.measured[0].setting.wrapper
            return (
                f"No repair was found: {wrapper}, the one wrapper that fits, gives no output in more than "
                f"{100 * SAYS_NOTHING:.0f} % of the runs at every setting"
            )
        best = min(speaks, key=lambda one: one.estimate)
        if best.error:
            return f"{best.setting.spec} does not run: {best.error}"
        count = len(self.measured)
        shown = "the one setting is" if count == 1 else f"all {count} settings are"
        return (
            f"No repair that fits brings {self.measure} down to {exact(self.target)}: {shown} shown to miss it "
            f"({percent(self.plan.confidence)} confidence); the nearest, {best.setting.spec}, has about "
            f"{best.estimate:.3g}{f'. Others are not offered: {self.useless}' if self.useless else ''}"
        )

    @property
    def _fits_none(self) -> bool:
        """True if no wrapper fits the outputs, other than keyed draws, which fit any."""
        return all(one.setting == SITES for one in self.measured)

    def _held(self, audit: PairsInquiry) -> HeldMeasure:
        """Return what an audit showed of rho or churn, for the record."""
        row = audit.row()
        return HeldMeasure(
            measure=self.measure,
            estimate=row.estimate,
            low=row.low,
            high=row.high,
            confidence=audit.plan.confidence,
            pairs=row.pairs,
            verdict=row.verdict,
        )

    # For the record, and for who watches.

    def answer(self) -> Answer:
        """Return the answer of the audit that was run last, with what a repair says besides."""
        before, last = self.before, self.tries[-1] if self.tries else None
        setting, shown = last.setting if last else None, last.audit if last else before
        held = [self._held(one) if one and one.tally.pairs else None for one in (before, last.audit if last else None)]
        price = None
        if last:
            price = last.measured.price() if last.measured else RepairCost(words=last.setting.words)
        more_rows = None  # they may do where two runs agree at times: raw numbers never will
        if before and before.tally.mismatches < before.tally.pairs and before.outcome() != "pass" and self.cell.size:
            more_rows = price_command(self.cell, self.request, self.target)
        fields = RepairAnswer(
            before=held[0],
            after=held[1],
            wrapper=setting.spec if setting else None,
            price=price,
            code=code_of(self.cell.subject, setting) if setting else None,
            check=check_command(self.cell, setting, self.request, self.target, self.measure) if setting else None,
            frontier=[one.point(self.frontier_alpha) for one in self.measured],
            why_not=self.why_not if self.finished and self._fits_none else None,
            hint=self._hint(),
            more_rows=more_rows,
        )
        found = shown.answer() if shown else Answer(fields)
        measures, findings = [*found.measures], [*found.findings]
        if last and before and before.tally.pairs:
            was = before.answer().measures[0]
            measures.append(replace(was, name=f"{was.name} before"))
        for number, error in self.errors.items():
            findings.append(Finding("refused", "warning", f"{self.cells[number].name} does not run: {error}"))
        rows = []
        for number in range(len(self.cells)):
            audit = self.audits.get(number)
            rows.append(audit.row() if audit else self.counted[number].row((0.0, 1.0), self.plan.confidence))
        place = next((number for number, audit in self.audits.items() if audit is shown), 0)
        examples = [replace(one, cell=place) for one in found.examples]
        return replace(
            found, fields=fields, measures=measures, rows=rows, examples=examples, findings=findings, wobbles=None
        )

    def _hint(self) -> str | None:
        """Return what else could be changed in the learner itself; None where nothing is known."""
        places = [one["out of step"] for one in self.looks if "out of step" in one]
        if places and self.tries and self.tries[-1].setting != SITES:
            return OUT_OF_STEP.format(places[0])
        if self.only or (self.tries and self.tries[-1].setting.wrapper == "chosen"):
            return None
        return next((HINTS[kind] for one in self.looks if (kind := one.get("is"))), None)

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this repair from others with the same plan and cells, for the ledger."""
        return {
            "question": "repair",
            "measure": self.measure,
            "pairs": self.pairs,
            "loss": self.loss and self.loss.name,
            "with": (self.given and self.given.spec) or (self.only and self.only.spec),
        }

    @property
    def asks(self) -> str:
        """What is asked, in a sentence, and how many pairs it takes at most."""
        what = f"{self.measure} at most {exact(self.target)}"
        return f"which repair makes {what}, and at what price? At most {self.plan.budget:,} pairs in all"

    @property
    def besides(self) -> str:
        """What is run besides the pairs, for the line that says how long it may take."""
        return f", and up to {2 * INTEGRATED:,} uses of a wrapper for each pair"

    def outlook(self) -> Outlook:
        """Say how far the repair is: which step it is in, and how that is going."""
        done = sum(audit.tally.pairs for audit in self.audits.values())
        done += sum(one.tally.pairs for one in self.counted.values())
        at = len(self.cells) - 1
        words = self.audits[at].outlook().words if at in self.audits else f"{self.counted[at].tally.pairs:,} pairs"
        return Outlook(done, self.plan.budget, f"{self.cells[at].name or 'as it is'}: {words}")


def wrap(subject: Subject, learner: object, setting: Setting) -> Subject:
    """Return the repaired subject. Its target stays that of the learner, which is what a command line names."""
    try:
        repaired = setting.wrap(learner)
    except (TypeError, BadValue) as error:  # about an argument of the wrapper, which is no option
        raise UsageError(f"--with {setting.spec}: {error}") from error
    return replace(load_subject(repaired, subject.params), target=subject.target)
