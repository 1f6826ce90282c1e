"""What is a trial of a repair? Two outputs that are looked at, or two and what every setting makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.errors import UsageError, in_words, is_interrupt
from auditor.process.foreign import call
from auditor.questions.loss import Loss
from auditor.questions.repair.settings import FAMILIES, Setting
from auditor.randomness import Randomness, from_key
from auditor.repair.agreeing import agreed
from auditor.repair.aligning import aligned
from auditor.repair.rounding import Rounded, RoundedPredictions
from auditor.repair.seam import Repaired
from auditor.repair.voting import voted
from auditor.sources.frames import as_matrix
from auditor.sources.sample import copied
from auditor.subjects.churn import has_rows, points_of
from auditor.subjects.subject import Subject
from auditor.subjects.views import OUTPUT
from auditor.trials.causes.keyed_sites import first_draw_apart
from auditor.trials.cell import PROBE
from auditor.trials.trial import NONE_FELL, Bench, NoOutput, Trial, judge, share_apart, timed_run
from auditor.values import describe, same, settle

FORMULA, BOUND, FINISHED = "formula", "bound", "finishes"  # how it is known how likely two cores finish differently
FINISHES = 4  # real r, where there is no formula
TRACED = 8  # pairs whose draws are compared
JUDGED = 1000  # fresh rows that a loss is measured on


def look(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """Which wrappers fit the two outputs of a pair, and what each needs to know of them."""
    first, seconds = timed_run(bench, index, 0, fell)
    first = _as_it_is_now(first)
    second, more = timed_run(bench, index, 1, fell)
    payload: dict[str, Any] = {"shown": describe(first, 60)}
    if type(first) is not NoOutput and type(second) is not NoOutput:
        looked = {one.verb: one.look(first, second, bench.see) for one in FAMILIES}
        payload["fits"] = {verb: found for verb, found in looked.items() if found is not None}
        payload["is"] = _kind(first)
        if index < TRACED and (apart := first_draw_apart(bench, index)) and apart.shifts:
            payload["out of step"] = apart.where
    return Trial(index, None, None, seconds + more, payload=payload)


def _as_it_is_now(value: Any) -> Any:
    """Return a copy, which the next run cannot write into; a model, or what cannot be copied, as it is."""
    if isinstance(value, NoOutput) or hasattr(value, "predict"):
        return value
    try:
        return call(copied, value)
    except BaseException as error:  # whether a wrapper fits is for its own audit to say, which refuses it
        if is_interrupt(error):
            raise
        return value


def _kind(output: Any) -> str | None:
    """What a learner may have decided, or left to be decided, by numbers of its own."""
    if isinstance(output, (bool, np.bool_)):
        return "decision"
    if isinstance(output, str):
        return "name"
    is_scores = isinstance(output, Mapping) and len(output) > 1
    return "scores" if is_scores and all(isinstance(one, (float, np.floating)) for one in output.values()) else None


class SettingTried(msgspec.Struct, frozen=True, kw_only=True):
    """What a pair showed of one setting: `apart` is how likely its two cores finish differently, or the churn; None
    where a run failed that has to run."""

    apart: float | None
    by: str = FINISHED
    nothing: float = 0.0  # the share of the first run's finishes that came to no output, where the learner may have one
    changed: bool | None = None  # whether it is another answer than the learner's own, on the same sample
    loss: float | None = None
    error: str | None = None


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """The payload of a trial: each setting, and the loss as it is."""

    tried: list[SettingTried]
    loss: float | None = None


class SettingRun(msgspec.Struct, frozen=True):
    """One side of a pair under one setting; outputs are settled before the other side is run."""

    core: Any
    outputs: Sequence[Any] = ()
    points: Sequence[Any] = ()
    nothing: float = 0.0
    changed: bool | None = None
    loss: float | None = None


class FrontierUnit(msgspec.Struct, frozen=True):
    """One pair of runs for all settings that act on outputs, and as many more as the others take."""

    subject: Subject  # as it is
    settings: tuple[Setting, ...]
    wrapped: tuple[Repaired, ...]
    measure: str
    loss: Loss | None
    has_own_points: bool = False  # whether predictions are compared on points that were given

    @property
    def fn(self) -> Any:
        """The user's own code in it."""
        return self.loss.fn if self.loss else None

    def __call__(self, bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
        first, seconds, plain = self._side(bench, index, 0, fell)
        second, more, _ = self._side(bench, index, 1, fell)
        tried = [self._tried(bench, place, *sides) for place, sides in enumerate(zip(first, second, strict=True))]
        payload = msgspec.to_builtins(Pair(tried=tried, loss=plain))
        return Trial(index, None, None, seconds + more, payload=payload)

    def _side(
        self, bench: Bench, index: int, which: int, fell: Mapping[int, str]
    ) -> tuple[list[SettingRun | NoOutput | str], float, float | None]:
        """Each setting's half, or why there is none; the seconds, and the loss as it is."""
        output, seconds = timed_run(bench, index, which, fell)
        plain = self._lost(bench, output, index) if which == 0 and type(output) is not NoOutput else None
        seen = bench.see(output) if self._rounds_points(bench) else None
        halves = [self._half(bench, place, (output, seen), index, which) for place in range(len(self.settings))]
        return halves, seconds, plain

    def _half(
        self, bench: Bench, place: int, found: tuple[Any, Any], index: int, which: int
    ) -> SettingRun | NoOutput | str:
        """Of an output, with its predictions where these are all that is needed. Bottom where the learner has given no
        output; why, in words, where the wrapper has not."""
        output, seen = found
        if type(output) is NoOutput and self.wrapped[place].is_of_outputs:
            return output
        try:
            if seen is not None:
                seen = _as_it_is_now(seen)
                if which == 1 or self.loss is None:
                    return SettingRun(seen)
                return SettingRun(seen, loss=self._lost(bench, self._finish(bench, place, output, index), index))
            return call(self._finished, bench, place, output, index, which)
        except BaseException as error:  # a setting that does not run is no repair, and others may be
            if is_interrupt(error):
                raise
            return in_words(error)

    def _finished(self, bench: Bench, place: int, output: Any, index: int, which: int) -> SettingRun:
        wrapper, setting = self.wrapped[place], self.settings[place]
        if wrapper.is_of_outputs:
            core = wrapper.core_of(output)
        else:
            core = wrapper.core(bench.draw(index, which), self._r(bench, index, "core"), **self.subject.params)
        if self._votes_on_points(bench):
            return self._votes(bench, place, core, index)
        has_formula = self._has_formula(bench, place)
        if which == 0 and has_formula and not wrapper.is_estimator:
            core = _as_it_is_now(core)
        count = 1 - which if has_formula else FINISHES
        found = [self._finish(bench, place, core, index, i) for i in range(count)]
        viewed = bench if setting.keeps_view else replace(bench, view=OUTPUT)
        seen = [viewed.see(one) for one in found]
        settled = [settle(one) for one in seen]
        points = [points_of(*both) for both in zip(seen, settled, strict=True)] if self._is_churn else []
        if which == 1:
            return SettingRun(core, settled, points)
        if not isinstance(wrapper, agreed):
            loss = self._lost(bench, found[0], index) if setting.keeps_view else None
            return SettingRun(core, settled, points, loss=loss)
        silent = [wrapper.agreed_on(core, self._r(bench, index, "finish", i)) is None for i in range(count)]
        changed = None if type(output) is NoOutput else not same(found[0], output)
        loss = None if silent[0] else self._lost(bench, found[0], index)
        return SettingRun(core, settled, points, nothing=float(np.mean(silent)), changed=changed, loss=loss)

    def _votes_on_points(self, bench: Bench) -> bool:
        return self._has_points(bench, voted) and self.loss is None and not bench.within

    def _rounds_points(self, bench: Bench) -> bool:
        return self._has_points(bench, RoundedPredictions) and not bench.within

    def _has_points(self, bench: Bench, kind: type[Repaired]) -> bool:
        return self._is_churn and isinstance(self.wrapped[0], kind) and bench.view.spec == "predict"

    def _finish(self, bench: Bench, place: int, core: Any, index: int, number: int = 0) -> Any:
        return self.wrapped[place].finish(core, self._r(bench, index, "finish", number))

    def _votes(self, bench: Bench, place: int, models: Sequence[Any], index: int) -> SettingRun:
        """The models ask for most of the time: each labels the points once, and votes are counted from there. The loss
        is that of points with labels, which are others than those compared where the latter were given."""
        x, y = labelled_points(bench)
        votes = labelled = [np.array(model.predict(x)) for model in models]
        if self.has_own_points:
            votes = [np.array(bench.see(model)) for model in models]
        return SettingRun(votes, loss=float(np.mean(self._finish(bench, place, labelled, index) != y)))

    def _has_formula(self, bench: Bench, place: int) -> bool:
        """Whether something is known of what is compared, and is no loose bound: that of several choices is one."""
        setting, wrapper = self.settings[place], self.wrapped[place]
        if wrapper.mismatch is None:
            return False
        whole = not bench.within and (bench.view.spec == OUTPUT.spec or not setting.keeps_view)
        of_model = isinstance(wrapper, Rounded) and wrapper.is_estimator and bench.view.spec == "predict"
        is_near = wrapper.mismatch_is == "exact" or isinstance(wrapper, (Rounded, aligned))
        of_points = self._is_churn or isinstance(wrapper, (voted, RoundedPredictions))
        return (whole or of_model) and is_near and not of_points

    @property
    def _is_churn(self) -> bool:
        return self.measure == "churn"

    def _r(self, bench: Bench, index: int, *names: Any) -> Randomness:
        return from_key(bench.keys.r.child(index, *names))

    def _lost(self, bench: Bench, output: Any, index: int) -> float | None:
        """The mean loss on fresh rows; by the subject's own oracle 1 for an output that is not accurate."""
        if self._votes_on_points(bench):
            x, y = labelled_points(bench)
            return float(np.mean(np.asarray(output.predict(x)) != y))
        if self.loss is not None:
            fresh = bench.source.draw(from_key(bench.keys.probe.child("loss", index)), JUDGED)
            return float(np.mean(self.loss.of(output, fresh, JUDGED)))
        judged = judge(bench, output, index) if self.subject.declared.accuracy else None
        return None if judged is None else float(not judged)

    def _tried(
        self, bench: Bench, place: int, first: SettingRun | NoOutput | str, second: SettingRun | NoOutput | str
    ) -> SettingTried:
        """A run without an output is an output like any other where an audit takes it for one (`trial.apart`); else a
        setting that does not run is no repair."""
        wrapper = self.wrapped[place]
        is_known = self._has_formula(bench, place) or self._votes_on_points(bench) or self._rounds_points(bench)
        by = FINISHED if not is_known else FORMULA if wrapper.mismatch_is == "exact" else BOUND
        if not isinstance(first, SettingRun) or not isinstance(second, SettingRun):
            if bench.bottoms:
                differs = isinstance(first, SettingRun) or isinstance(second, SettingRun)
                return SettingTried(apart=float(differs), by=by, nothing=float(isinstance(first, str)))
            why = next(one for one in (first, second) if not isinstance(one, SettingRun))
            return SettingTried(apart=None, error=why.why if isinstance(why, NoOutput) else why)
        if is_known:
            apart = wrapper.mismatch(first.core, second.core)
            if isinstance(wrapper, (voted, RoundedPredictions)):
                apart = float(np.mean(wrapper.churn(first.core, second.core)))
            return SettingTried(apart=apart, by=by, nothing=first.nothing, changed=first.changed, loss=first.loss)
        alike = [bench.difference(*both) is None for both in zip(first.outputs, second.outputs, strict=True)]
        shares = [float(not one) for one in alike]
        if self._is_churn:
            points = zip(first.points, second.points, strict=True)
            shares = [0.0 if one else _churn(bench, *both) for one, both in zip(alike, points, strict=True)]
        return SettingTried(apart=float(np.mean(shares)), nothing=first.nothing, loss=first.loss)


def _churn(bench: Bench, first: Any, second: Any) -> float:
    if not has_rows(first, bench.view.rows):
        raise UsageError(f"--measure churn counts probe points, and the view {bench.view.name} has no row for each")
    return share_apart(bench, first, second)


class OwnOracle(msgspec.Struct, frozen=True):
    """Judges outputs of a wrapped subject by what the subject itself declares."""

    subject: Subject

    def __call__(self, bench: Bench, output: Any, index: int) -> bool:
        return bool(self.subject.is_accurate(output, bench.source, bench.keys.r.child(index)))


def labelled_points(bench: Bench) -> tuple[Any, Any]:
    """As many points as predictions are compared on, with their labels."""
    x, y = bench.source.draw(from_key(bench.keys.probe.child("points")), PROBE)
    return as_matrix(x), np.asarray(y)
