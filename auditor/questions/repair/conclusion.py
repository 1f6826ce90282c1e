"""What a repair comes to: its verdict and answer. From what was counted alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from auditor.flow.question import Answer, registered_questions
from auditor.flow.record import CellRow, Finding, Measure
from auditor.flow.verdict import Verdict
from auditor.questions.pairs import PairsInquiry
from auditor.questions.repair.answer import HeldMeasure, RepairAnswer, RepairCost
from auditor.questions.repair.frontier import SAYS_NOTHING, MeasuredSetting
from auditor.questions.repair.paste import check_command, code_of, price_command
from auditor.questions.repair.settings import STEPPING, Setting
from auditor.statistics.outward import between, exact, percent

if TYPE_CHECKING:
    from auditor.questions.repair.inquiry import Mending

_KINDS = {
    "decision": "Where the yes or no comes from a number, thresholded(score, low, high) of auditor.repair costs less: "
    "let the learner return the number, and say between which thresholds either answer will do.",
    "name": "Where the name is that of the best of scored candidates, chosen(scores, strength) of auditor.repair costs "
    "less: let the learner return a dict of the scores by name.",
    "scores": "Where only the best of these is used, chosen(learner, strength) of auditor.repair costs less: it gives "
    "the name of the best, or with top=k the names of the k best.",
}

_STEPS = (
    "Two runs draw from r a different number of times at {}, and what is drawn afterwards is out of step: r = sites(r) "
    "of auditor.repair at the top of the learner keeps it in step, and this repair may then be had for less."
)


def verdict_of(inquiry: Mending) -> Verdict:
    """Pass: a repair is confirmed, or none is needed. Fail: each setting that fits is shown to be no repair."""
    alpha, before = inquiry.plan.alpha, inquiry.before
    if before is not None and before.outcome() == "pass":
        found = before.verdict()
        return replace(found, reason=f"nothing needs repair: {found.reason}", error_spent=alpha)
    if inquiry.tried and (inquiry.tried[-1][2].outcome() == "pass" or before is None):
        return _of_last_try(inquiry)
    if not inquiry.over:
        return Verdict("inconclusive", "no repair was confirmed yet", "budget", alpha)
    if reason := _open(inquiry):
        return Verdict("inconclusive", reason, "budget", alpha)
    decider = "churn" if inquiry.asked.measure == "churn" else "mismatches"
    return Verdict("fail", _none(inquiry), decider, alpha)


def _of_last_try(inquiry: Mending) -> Verdict:
    """A setting that is confirmed; or the one that was given, whatever became of it."""
    _, setting, leaf = inquiry.tried[-1]
    found, alpha = leaf.verdict(), inquiry.plan.alpha
    if found.outcome == "pass":
        held = _held(inquiry, inquiry.before) if inquiry.before else None
        was = f"; as it is, {held.measure} is about {held.estimate:.3g}" if held and held.estimate is not None else ""
        if inquiry.before is None and setting.verb == "agreed":  # no frontier has counted these runs
            was = "; how often its chunks agree on nothing, and it gives None, is not part of this"
        return replace(found, reason=f"{setting.spec} repairs it: {found.reason}{was}", error_spent=alpha)
    if found.outcome == "inconclusive":
        return Verdict("inconclusive", _not_confirmed(inquiry, setting, leaf), "budget", alpha)
    return replace(found, reason=f"{setting.spec} is no repair: {found.reason}", error_spent=alpha)


def _not_confirmed(inquiry: Mending, setting: Setting, leaf: PairsInquiry) -> str:
    held = _held(inquiry, leaf)
    known = f"{held.measure} is {between(held.low, held.high, beside=inquiry.asked.target)} by {held.pairs:,} pairs"
    return (
        f"{setting.spec} is not confirmed: {known}, which leaves {exact(inquiry.asked.target)} open; give more --pairs"
    )


def _open(inquiry: Mending) -> str | None:
    """Return why a fail cannot be said, although nothing was confirmed; None where each setting is shown to be no
    repair, and so is the learner as it is."""
    for one, setting, leaf in reversed(inquiry.tried):
        if leaf.outcome() == "inconclusive" and not (one and one.error):
            return _not_confirmed(inquiry, setting, leaf)
    measure, target, before = inquiry.asked.measure, inquiry.asked.target, inquiry.before
    if left := inquiry.not_ruled_out():
        nearest, more = left[0], f" and {len(left) - 1} more are" if len(left) > 1 else " is"
        point = nearest.point(inquiry.frontier_alpha)
        known = f"{measure} is {between(point.low, point.high, beside=target)} by {point.pairs:,} pairs"
        known += f'; audit it alone by --with "{nearest.setting.spec}"'
        if nearest.is_silent:
            known = f"about {point.nothing:.0%} of the runs come to no output"
        if nearest.error:
            known = f"it does not run: {nearest.error}"
        return f"none was confirmed, and {nearest.setting.spec}{more} not ruled out: {known}"
    if before is not None and before.outcome() != "fail":
        held = _held(inquiry, before)
        known = f"{measure} is {between(held.low, held.high, beside=inquiry.asked.target)} by {held.pairs:,} pairs"
        is_open = f"which leaves {exact(target)} open"
        return f"none was confirmed, and whether any is needed is open: as it is, {known}, {is_open}"
    return None


def _none(inquiry: Mending) -> str:
    """Return why no setting is a repair, where that is shown of each."""
    if not _families(inquiry):
        more = "; explain in place of repair finds what makes the runs differ"
        return f"no wrapper fits: {inquiry.why_not}{more if 'explain' in registered_questions() else ''}"
    silent = [one for one in inquiry.measured if one.is_silent]
    best = min((one for one in inquiry.measured if one not in silent), key=lambda one: one.estimate, default=None)
    if best is None:
        verb = silent[0].setting.verb
        return f"{verb} comes to no output in more than {SAYS_NOTHING:.0%} of the runs, however it is set"
    if best.error:
        return f"{best.setting.spec} does not run: {best.error}"
    goal, count = f"{inquiry.asked.measure} {exact(inquiry.asked.target)}", len(inquiry.measured)
    shown = "the one setting is" if count == 1 else f"all {count} settings are"
    nearest = f"the nearest, {best.setting.spec}, has about {best.estimate:.3g}"
    sure = percent(inquiry.plan.confidence)
    return f"no repair that fits reaches {goal}: {shown} shown to miss it ({sure} confidence); {nearest}"


def _families(inquiry: Mending) -> list[MeasuredSetting]:
    """What was measured of wrappers that fit the outputs."""
    return [one for one in inquiry.measured if one.setting != STEPPING]


def _held(inquiry: Mending, leaf: PairsInquiry) -> HeldMeasure:
    row = leaf.row()
    return HeldMeasure(
        measure=inquiry.asked.measure,
        estimate=row.estimate,
        low=row.low,
        high=row.high,
        confidence=leaf.plan.confidence,
        pairs=row.pairs,
        verdict=row.verdict,
    )


def answer_of_inquiry(inquiry: Mending) -> Answer:
    asked, before = inquiry.asked, inquiry.before
    measured, setting, last = inquiry.tried[-1] if inquiry.tried else (None, None, None)
    shown = last or before
    held = [_held(inquiry, leaf) if leaf and leaf.tally.pairs else None for leaf in (before, last)]
    price = measured.price() if measured else RepairCost(words=setting.words) if setting else None
    fields = RepairAnswer(
        before=held[0],
        after=held[1],
        wrapper=setting.spec if setting else None,
        price=price,
        code=code_of(asked.cell.subject, setting) if setting else None,
        check=check_command(asked.cell, setting, asked.request, asked.target, asked.measure) if setting else None,
        frontier=[one.point(inquiry.frontier_alpha) for one in inquiry.measured],
        why_not=inquiry.why_not if inquiry.over and not _families(inquiry) else None,
        hint=_hint(inquiry),
        more_rows=_more_rows(inquiry),
    )
    said = shown.answer() if shown else Answer(fields)
    place = next((number for number, leaf in inquiry.leaves.items() if leaf is shown), 0)
    errors = [(inquiry.cells[number].name, error) for number, error in inquiry.errors.items()]
    refused = [Finding("refused", "warning", f"{name} does not run: {error}") for name, error in errors]
    return replace(
        said,
        fields=fields,
        measures=[*said.measures, *_measures_before(inquiry, last)],
        rows=[*_rows(inquiry)],
        examples=[replace(one, cell=place) for one in said.examples],
        findings=[*said.findings, *refused],
        wobbles=None,
    )


def _hint(inquiry: Mending) -> str | None:
    places = [one["out of step"] for one in inquiry.looked if "out of step" in one]
    if places and inquiry.tried and inquiry.tried[-1][1] != STEPPING:
        return _STEPS.format(places[0])
    return next((_KINDS[kind] for one in inquiry.looked if (kind := one.get("is"))), None)


def _measures_before(inquiry: Mending, last: PairsInquiry | None) -> Iterator[Measure]:
    """As it was, beside what became of it."""
    if last and inquiry.before and inquiry.before.tally.pairs:
        first = inquiry.before.answer().measures[0]
        yield replace(first, name=f"{first.name} before")


def _rows(inquiry: Mending) -> Iterator[CellRow]:
    for number in range(len(inquiry.cells)):
        leaf = inquiry.leaves.get(number)
        yield leaf.row() if leaf else inquiry.counted[number].row((0.0, 1.0), inquiry.plan.confidence)


def _more_rows(inquiry: Mending) -> str | None:
    """More rows may do where two runs agree at times: raw numbers never will."""
    before = inquiry.before
    if before is None or before.tally.mismatches == before.tally.pairs:
        return None
    if before.outcome() == "pass" or not inquiry.asked.cell.size:
        return None
    return price_command(inquiry.asked.cell, inquiry.asked.request, inquiry.asked.target)
