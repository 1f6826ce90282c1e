"""What is shown meanwhile: the time to a verdict at any width, and forecasts that are the question's own."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from support.requests import carried_out, inquiry_of

from auditor.engine.engine import make_run_options
from auditor.flow.question import Outlook
from auditor.flow.run import Silent
from auditor.report.progress import Pace, Watching, WatchingSeveral, fitting
from auditor.statistics.cost import soonest
from auditor.statistics.interval import MeanEvidence
from auditor.statistics.nu import RunGroups
from auditor.trials.trial import Trial

TREE, MOONS = "sklearn.tree:DecisionTreeClassifier", "sklearn:make_moons(noise=0.3)"
NU = {"eta": 0.3, "nu": 0.3}


def churned(values: list[float], **options: Any) -> Any:
    inquiry: Any = inquiry_of(TREE, MOONS, "churn", **{"size": 40, "probe": 20, "rho": 0.1, **options})
    for index, value in enumerate(values):
        inquiry.add(Trial(index, None, None, 0.0, value))
    return inquiry


def ends_after(value: float, **options: Any) -> int:
    """Pairs after which an audit ends whose churn is always the same, by running it."""
    inquiry = churned([], **options)
    return next(n for n in range(1, 10**5) if inquiry.add(Trial(n - 1, None, None, 0.0, value)))


@pytest.mark.parametrize("value", [0.0, 0.05, 0.15, 0.4, 1.0])
def test_the_forecast_of_churn_is_exact_where_it_is_always_the_same(value: float) -> None:
    needed = ends_after(value, pairs=5000)
    for done in (1, needed // 2, needed - 1):
        outlook = churned([value] * done, pairs=5000).outlook()
        assert outlook.forecast is not None
        assert done + outlook.forecast == needed


def test_churn_at_its_target_has_no_forecast() -> None:
    assert churned([0.1] * 20).outlook().forecast is None
    assert churned([]).outlook().forecast is None
    assert churned([0.0] * 5, fixed=50).outlook().forecast is None


def test_evidence_goes_on_as_it_did() -> None:
    """Four times the same values are what they would be."""
    values = np.random.default_rng(5).random(30) * 0.3
    once, four = MeanEvidence(), MeanEvidence()
    for x in values:
        once.add(x)
    for x in np.tile(values, 4):
        four.add(x)
    then = once.continued(120)
    assert then.log_e_pass(0.2) == pytest.approx(four.log_e_pass(0.2))
    assert then.log_e_fail(0.1) == pytest.approx(four.log_e_fail(0.1))


def strings(outside: list[int], **options: Any) -> Any:
    inquiry: Any = inquiry_of("algorithms.known_answers:good_and_bad", None, "nu", **{**NU, **options})
    for count in outside:
        inquiry.groups = inquiry.groups.add(count)
    return inquiry


def decided_after(outside: list[int], **options: Any) -> int:
    """Strings after which the gate decides, where these come again and again."""
    inquiry = strings([], **options)
    for n in range(1, 10**4):
        inquiry.groups = inquiry.groups.add(outside[(n - 1) % len(outside)])
        if inquiry.outcome() != "inconclusive":
            return n
    raise AssertionError


def test_the_forecast_of_nu_is_that_of_its_own_gate() -> None:
    """Spotless strings, and strings that are all bad: exact, whenever one asks. A mixture: to within one turn of it."""
    runs = strings([]).plan.runs
    for always in (0, runs - 1):
        needed = decided_after([always])
        for done in (1, needed // 2, needed - 1):
            assert done + strings([always] * done).outlook().forecast == needed
    assert decided_after([0]) == strings([]).plan.least_trials
    mixed = [0] * 19 + [runs - 1]
    forecast = strings(mixed, strings=2000).outlook().forecast
    assert len(mixed) + forecast == pytest.approx(decided_after(mixed, strings=2000), abs=len(mixed))


def test_strings_at_their_nu_have_no_forecast() -> None:
    runs = strings([]).plan.runs
    assert strings([0, 0, 0, runs - 1] * 5, nu=0.25).outlook().forecast is None
    assert strings([]).outlook().forecast is None


def test_groups_go_on_as_they_did() -> None:
    groups = RunGroups(5, (7, 2, 0, 1, 0))
    assert groups.continued(20) == RunGroups(5, (14, 4, 0, 2, 0))
    assert [groups.continued(n).strings for n in range(11, 40)] == list(range(11, 40))


@pytest.mark.parametrize("needed", [11, 12, 57, 100])
def test_soonest_is_the_first_that_decides(needed: int) -> None:
    assert soonest(lambda n: n >= needed, 10, 100) == needed
    assert soonest(lambda n: n >= needed, 10, needed - 1) is None or needed == 11


# What a person sees.


def outlook(done: int, forecast: float | None = 300.0) -> Outlook:
    words = f"{done // 10:,} mismatches in {done:,} pairs, rho in [0.0123, 0.0987]"
    return Outlook(done, 12_345, words, forecast)


def said(forecast: float | None = 300.0, ends: float | None = None) -> list[str]:
    pace = Pace(1.0, ends)

    class Fixed:
        def __init__(self, done: int) -> None:
            self.done = done

        def outlook(self) -> Outlook:
            return outlook(self.done)

    pace.look(Fixed(1), 30.0)  # type: ignore[arg-type]  # the imports and the first run are over
    pace.look(Fixed(1001), 40.0)  # type: ignore[arg-type]
    return pace.words(outlook(1001, forecast), 40.0, "pairs")


def test_imports_and_the_first_run_are_no_part_of_the_pace() -> None:
    assert "; 100 pairs a second, at most 113 s more, about 3.0 s to a verdict" in said()[0]


def test_what_a_ledger_had_is_no_part_of_the_pace(tmp_path: Path) -> None:
    heard: list[float] = []

    class Listener(Silent):
        def advanced(self, inquiry: Any, seconds: float) -> None:
            heard.append(seconds)

    for how in (make_run_options(ledger=tmp_path / "l", for_=16), make_run_options(ledger=tmp_path / "l", resume=True)):
        heard.clear()
        carried_out("algorithms.controls:constant", watch=Listener(), how=how, now=itertools.count().__next__)
    assert (len(heard), sum(seconds < 0 for seconds in heard)) == (33, 8)
    assert not any(Pace(1.0).is_due(seconds) for seconds in heard[:8])


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 100, 120, 200])
def test_the_time_to_a_verdict_is_kept_at_any_width(width: int) -> None:
    shown = fitting(said(), width)
    assert shown.endswith("3.0 s to a verdict")
    if width >= 30:
        assert len(shown) + len(" 0:00:00") <= width
    if width == 80:
        assert shown.startswith("1,001 of 12,345 pairs, about ")


def test_where_nobody_can_tell_the_end_is_said() -> None:
    assert fitting(said(None), 80) == "1,001 of 12,345 pairs; at most 113 s more"
    assert fitting(said(None, ends=60.0), 40) == "at most 20 s more (--for)"
    assert fitting(said(ends=60.0), 300).endswith(
        "100 pairs a second, at most 20 s more (--for), about 3.0 s to a verdict"
    )


@pytest.mark.parametrize("width", [40, 80])
def test_a_live_line_is_one_line(width: int) -> None:
    """As the terminal gets it, number and unit unbroken."""
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=True, color_system=None)
    inquiry: Any = inquiry_of("algorithms.controls:constant", rho=0.01, pairs=5000)
    with Watching(console) as watch:
        watch.planned(inquiry)
        watch.timed(0.1)
        for done in range(1, 200):
            inquiry.add(Trial(done - 1, None, None, 0.0))
            watch.advanced(inquiry, 30.0 + done / 10)
        watch._bar.refresh()
        lines = [line for line in file.getvalue().replace("\r", "\n").splitlines() if "to a verdict" in line]
    assert lines
    assert "…" not in lines[-1]
    assert "s to a verdict" in lines[-1]


def test_one_of_several_gives_up_its_name_before_its_time() -> None:
    file = io.StringIO()
    console = Console(file=file, width=60, force_terminal=True, color_system=None)
    with WatchingSeveral(console, 3) as several:
        one = several.audit(1, "a.long.package.name:learner")
        one._show(outlook(1001), said())
        several._bar.refresh()
    assert "learner: about 3.0 s to a verdict" in file.getvalue()
