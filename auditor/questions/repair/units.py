"""The trials of a repair: a pair whose two outputs are looked at, and a pair that measures every setting at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.errors import UsageError, in_words, is_interrupt
from auditor.lookup import call_user_code
from auditor.questions.loss import Loss
from auditor.questions.repair.settings import FAMILIES, NAMES, Setting, has_scores
from auditor.randomness import Randomness, from_key
from auditor.repair.agreeing import agreed
from auditor.repair.aligning import aligned
from auditor.repair.repaired import Repaired
from auditor.repair.rounding import Rounded, RoundedPredictions
from auditor.repair.voting import voted
from auditor.sources.frames import as_matrix
from auditor.sources.sample import copied
from auditor.subjects.churn import has_rows, points_of
from auditor.subjects.subject import Subject
from auditor.subjects.views import OUTPUT
from auditor.trials.causes.keyed_sites import first_draw_apart
from auditor.trials.cell import PROBE, source_points
from auditor.trials.trial import NONE_FELL, Bench, NoOutput, Trial, judge, share_apart, timed_run
from auditor.values import describe, same, settle

FORMULA, BOUND, FINISHED = "formula", "bound", "finishes"  # how the mismatch of two cores is known
FINISHES = 4  # times that a core is finished, where there is no formula
TRACED = 8  # pairs whose draws are compared
JUDGED = 1000  # fresh rows that a loss is measured on


def look(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """Run a pair, and record which wrappers fit its two outputs and what each needs to know of them."""
    first, seconds = timed_run(bench, index, 0, fell)
    first = _snapshot(first)
    second, more = timed_run(bench, index, 1, fell)
    payload: dict[str, Any] = {"shown": describe(first, 60)}
    if type(first) is not NoOutput and type(second) is not NoOutput:
        looked = {family.wrapper: family.look(first, second, bench.see) for family in FAMILIES}
        payload["fits"] = {wrapper: found for wrapper, found in looked.items() if found is not None}
        payload["is"] = kind_of(first)
        if index < TRACED and (apart := first_draw_apart(bench, index)) and apart.shifts:
            payload["out of step"] = apart.where
    return Trial(index, None, None, seconds + more, payload=payload)


def kind_of(output: Any) -> str | None:
    """Return "decision", "name", "place" or "scores" for outputs that a learner may make from numbers of its own, else
    None."""
    if isinstance(output, (bool, np.bool_)):
        return "decision"
    if isinstance(output, str):
        return "name"
    if isinstance(output, (int, np.integer)) and 0 <= output < NAMES:
        return "place"
    return "scores" if has_scores(output) else None


def _snapshot(value: Any) -> Any:
    """Return a copy that the next run cannot write into; a model, or what cannot be copied, as it is."""
    if isinstance(value, NoOutput) or hasattr(value, "predict"):
        return value
    try:
        return call_user_code(copied, value)
    except BaseException as error:  # the audit of a wrapper refuses such outputs
        if is_interrupt(error):
            raise
        return value


class SettingTried(msgspec.Struct, frozen=True, kw_only=True):
    """What a pair showed of one setting."""

    apart: float | None  # the probability of a mismatch given two cores, or the churn; None if a run failed
    by: str = FINISHED
    nothing: float = 0.0  # the share of the first run's finishes that came to no output
    changed: bool | None = None  # whether the answer is not the learner's own on the same sample
    loss: float | None = None
    error: str | None = None


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """The payload of a trial: what it showed of each setting, and the loss of the learner as it is."""

    tried: list[SettingTried]
    loss: float | None = None


class SettingRun(msgspec.Struct, frozen=True):
    """One run of a pair under one setting; outputs are settled before the other run begins."""

    core: Any
    outputs: Sequence[Any] = ()
    points: Sequence[Any] = ()
    nothing: float = 0.0
    changed: bool | None = None
    loss: float | None = None


Side = SettingRun | NoOutput | str  # a run; no output of the learner; or why the wrapper gave none


class FrontierUnit(msgspec.Struct, frozen=True):
    """One pair of runs that measures settings of one wrapper: those that act on outputs share the runs.

    Where predictions are compared point by point (`_compares_points`) each point has a formula. Where whole outputs are
    compared and the wrapper's formula is about them (`_has_formula`), that is used. Else the cores are finished several
    times, and the outputs compared.
    """

    subject: Subject  # as it is
    settings: tuple[Setting, ...]
    wrapped: tuple[Repaired, ...]
    measure: str
    loss: Loss | None
    has_own_points: bool = False  # whether predictions are compared on points that the user gave

    @property
    def fn(self) -> Any:
        """The user's own code in it."""
        return self.loss.fn if self.loss else None

    def __call__(self, bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
        seconds, plain, sides = 0.0, None, []
        for which in (0, 1):
            output, more = timed_run(bench, index, which, fell)
            seconds += more
            if which == 0 and type(output) is not NoOutput:
                plain = self._loss_of(bench, output, index)
            predictions = bench.see(output) if self._compares_points(bench, RoundedPredictions) else None
            sides.append([self._side(bench, i, output, predictions, index, which) for i in range(len(self.settings))])
        tried = [self._tried(bench, place, *both) for place, both in enumerate(zip(*sides, strict=True))]
        return Trial(index, None, None, seconds, payload=msgspec.to_builtins(Pair(tried=tried, loss=plain)))

    def _side(self, bench: Bench, place: int, output: Any, predictions: Any, index: int, which: int) -> Side:
        """Return run `which` under one setting. Of rounded predictions, the predictions are all that is needed."""
        if type(output) is NoOutput and self.wrapped[place].is_of_outputs:
            return output
        try:
            if predictions is None:
                return call_user_code(self._run, bench, place, output, index, which)
            core, loss = _snapshot(predictions), None
            if which == 0 and self.loss is not None:
                loss = self._loss_of(bench, self._finish(bench, place, output, index), index)
            return SettingRun(core, loss=loss)
        except BaseException as error:  # a setting that does not run is no repair, but another may be
            if is_interrupt(error):
                raise
            return in_words(error)

    def _run(self, bench: Bench, place: int, output: Any, index: int, which: int) -> SettingRun:
        """Run one setting of a wrapper on the output, or the sample, of one run; return what it gives."""
        wrapper, setting = self.wrapped[place], self.settings[place]
        if wrapper.is_of_outputs:
            core = wrapper.core_of(output)
        else:
            core = wrapper.core(bench.draw(index, which), self._r(bench, index, "core"), **self.subject.params)
        if self._votes_on_points(bench):
            # To predict takes most of the time: each model labels the points once, and votes are counted from there.
            # The loss is that of points with labels, which are others than those compared if the user gave points.
            x, y = labelled_points(bench)
            votes = labels = [np.array(model.predict(x)) for model in core]
            if self.has_own_points:
                votes = [np.array(bench.see(model)) for model in core]
            return SettingRun(votes, loss=float(np.mean(self._finish(bench, place, labels, index) != y)))
        has_formula = self._has_formula(bench, place)
        if which == 0 and has_formula and not wrapper.is_estimator:
            core = _snapshot(core)
        count = 1 - which if has_formula else FINISHES
        outputs = [self._finish(bench, place, core, index, number) for number in range(count)]
        view = bench if setting.keeps_view else replace(bench, view=OUTPUT)
        seen = [view.see(one) for one in outputs]
        settled = [settle(one) for one in seen]
        points = [points_of(*both) for both in zip(seen, settled, strict=True)] if self.measure == "churn" else []
        if which == 1:
            return SettingRun(core, settled, points)
        if not isinstance(wrapper, agreed):
            loss = self._loss_of(bench, outputs[0], index) if setting.keeps_view else None
            return SettingRun(core, settled, points, loss=loss)
        silent = [wrapper.agreed_on(core, self._r(bench, index, "finish", i)) is None for i in range(count)]
        changed = None if type(output) is NoOutput else not same(outputs[0], output)
        loss = None if silent[0] else self._loss_of(bench, outputs[0], index)
        return SettingRun(core, settled, points, nothing=float(np.mean(silent)), changed=changed, loss=loss)

    def _tried(self, bench: Bench, place: int, first: Side, second: Side) -> SettingTried:
        """Compare two runs. Where an audit takes a run without an output for an output like any other
        (`trial.with_bottom`), so does this; else a setting that does not run is no repair."""
        wrapper = self.wrapped[place]
        on_points = self._votes_on_points(bench) or self._compares_points(bench, RoundedPredictions)
        has_formula = on_points or self._has_formula(bench, place)
        by = FINISHED if not has_formula else FORMULA if wrapper.mismatch_is == "exact" else BOUND
        if not isinstance(first, SettingRun) or not isinstance(second, SettingRun):
            if bench.bottoms:
                differs = isinstance(first, SettingRun) or isinstance(second, SettingRun)
                return SettingTried(apart=float(differs), by=by, nothing=float(isinstance(first, str)))
            why = next(one for one in (first, second) if not isinstance(one, SettingRun))
            return SettingTried(apart=None, error=why.why if isinstance(why, NoOutput) else why)
        if on_points and isinstance(wrapper, (voted, RoundedPredictions)):
            churn = wrapper.churn(first.core, second.core)
            return SettingTried(apart=float(np.mean(churn)), by=by, loss=first.loss)
        if has_formula:
            apart = wrapper.mismatch(first.core, second.core)
            return SettingTried(apart=apart, by=by, nothing=first.nothing, changed=first.changed, loss=first.loss)
        alike = [bench.difference(*both) is None for both in zip(first.outputs, second.outputs, strict=True)]
        shares = [float(not one) for one in alike]
        if self.measure == "churn":
            points = zip(first.points, second.points, strict=True)
            shares = [0.0 if one else _churn(bench, *both) for one, both in zip(alike, points, strict=True)]
        return SettingTried(apart=float(np.mean(shares)), nothing=first.nothing, loss=first.loss)

    def _compares_points(self, bench: Bench, kind: type[Repaired]) -> bool:
        """True if churn is counted on exact predictions, and these settings are of this kind."""
        is_kind = self.measure == "churn" and isinstance(self.wrapped[0], kind)
        return is_kind and bench.view.spec == "predict" and not bench.within

    def _votes_on_points(self, bench: Bench) -> bool:
        """True if voters label the probe points once, and votes are counted from there."""
        return self._compares_points(bench, voted) and self.loss is None

    def _has_formula(self, bench: Bench, place: int) -> bool:
        """True if the wrapper's mismatch is about what is compared, and is no loose bound, as that of several choices
        is."""
        setting, wrapper = self.settings[place], self.wrapped[place]
        if wrapper.mismatch is None or self.measure == "churn" or isinstance(wrapper, (voted, RoundedPredictions)):
            return False
        of_outputs = not bench.within and (bench.view.spec == OUTPUT.spec or not setting.keeps_view)
        of_model = isinstance(wrapper, Rounded) and wrapper.is_estimator and bench.view.spec == "predict"
        is_near = wrapper.mismatch_is == "exact" or isinstance(wrapper, (Rounded, aligned))
        return (of_outputs or of_model) and is_near

    def _finish(self, bench: Bench, place: int, core: Any, index: int, number: int = 0) -> Any:
        """Return what a wrapper makes of a core with the r of this pair and number."""
        return self.wrapped[place].finish(core, self._r(bench, index, "finish", number))

    def _r(self, bench: Bench, index: int, *names: Any) -> Randomness:
        """Return the generator of a named part of the r of this pair."""
        return from_key(bench.keys.r.child(index, *names))

    def _loss_of(self, bench: Bench, output: Any, index: int) -> float | None:
        """Return the mean loss on fresh rows; for the subject's own oracle, 1 if the output is not accurate."""
        if self._votes_on_points(bench):
            x, y = labelled_points(bench)
            return float(np.mean(np.asarray(output.predict(x)) != y))
        if self.loss is not None:
            fresh = bench.source.draw(from_key(bench.keys.probe.child("loss", index)), JUDGED)
            return float(np.mean(self.loss.of(output, fresh, JUDGED)))
        judged = judge(bench, output, index) if self.subject.declared.accuracy else None
        return None if judged is None else float(not judged)


def _churn(bench: Bench, first: Any, second: Any) -> float:
    """Return the share of predictions in which two outputs differ; UsageError if they have no rows."""
    if not has_rows(first, bench.view.rows):
        raise UsageError(f"--measure churn counts probe points, and the view {bench.view.name} has no row for each")
    return share_apart(bench, first, second)


def labelled_points(bench: Bench) -> tuple[Any, Any]:
    """Return as many points as predictions are compared on, with their labels."""
    x, y = source_points(PROBE, bench.source, bench.keys)
    return as_matrix(x), np.asarray(y)


class OwnOracle(msgspec.Struct, frozen=True):
    """Judges outputs of a wrapped subject by what the subject itself declares."""

    subject: Subject

    def __call__(self, bench: Bench, output: Any, index: int) -> bool:
        return bool(self.subject.is_accurate(output, bench.source, bench.keys.r.child(index)))
