"""Repairs: the frontier against a closed form, what is printed pasted and audited, and every way that it can end."""

from __future__ import annotations

import copy
import functools
import math
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from support.requests import bench_of, cell_of, inquiry_of

import auditor
from auditor import repair
from auditor.cli.command_line import cli
from auditor.errors import UsageError
from auditor.flow.record import Record, read_record
from auditor.questions.repair.answer import answer_of
from auditor.questions.repair.frontier import MeasuredSetting, candidates
from auditor.questions.repair.inquiry import TRIES, RepairInquiry
from auditor.questions.repair.paste import code_of
from auditor.questions.repair.settings import Setting, read_setting, two_digits
from auditor.questions.repair.units import FrontierUnit, SettingTried, look
from auditor.report.pictures.svg import picture
from auditor.report.terminal import as_text
from auditor.subjects.subject import load_subject
from auditor.trials.second_process import _named

pytestmark = pytest.mark.usefixtures("no_second_process")
LEARNERS = """
import numpy as np
import auditor

def linear(rng, size):
    x = rng.normal(size=(size, 3))
    return x, x @ [3.0, 2.0, 0.1] + rng.normal(size=size)

def even(rng, size):
    x = rng.normal(size=(size, 3))
    return x, x.sum(axis=1)

def labels(rng, size):
    x = rng.normal(size=(size, 2))
    return x, (x[:, 0] + 0.5 * rng.normal(size=size) > 0).astype(int)

def mean(sample, r):
    return float(sample.mean())

def near(output, *, source, r, params):
    return abs(output) < 0.2

judged = auditor.subject(source="norm", size=200, accuracy=near, delta=0.1)(lambda sample, r: float(sample.mean()))

def squared(output, rows):
    return np.minimum(1.0, (rows - output) ** 2 / 20)

def two(sample, r, *, times=100.0):
    return {"mean": float(sample.mean()), "total": times * float(sample.mean()), "rows": len(sample)}

def is_above(sample, r):
    return bool(sample.mean() * len(sample) ** 0.5 > 2.0)

def anything(sample, r):
    return sample.tobytes()

def odd(sample, r):
    if sample[0] > 1.5:
        raise ValueError("no such sample")
    return float(sample[0])

def of_r(sample, r):
    return float(r.random())
"""
MODELS = """
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import Ridge

class Nearest(ClassifierMixin, BaseEstimator):
    def fit(self, x, y):
        self.x_, self.y_, self.classes_ = x, y, np.unique(y)
        return self

    def predict(self, x):
        return self.y_[((x[:, None] - self.x_) ** 2).sum(axis=2).argmin(axis=1)]

ridge, best, nearest = Ridge(), SelectKBest(f_regression, k=2), Nearest()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where somebody works: commands and pasted code name files from there."""
    (tmp_path / "learners.py").write_text(LEARNERS)
    (tmp_path / "models.py").write_text(MODELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # whose file is loaded puts its folder there
    return tmp_path


def repaired(name: str, source: str = "norm", **options: Any) -> Record:
    return auditor.ask("repair", f"learners.py:{name}", source, **options)


@functools.cache
def once_repaired() -> tuple[str, str, Record]:
    """Of a learner that any `folder` has, by the command: what it prints, the picture that it draws, its record."""
    typed = "repair learners.py:mean --source norm --size 50 --rho 0.5 --confidence 0.999999 --jobs 1"
    words, plainly = [*typed.split(), "--svg", "f.svg", "--json", "r.json"], {"COLUMNS": "80", "FORCE_COLOR": None}
    done = CliRunner().invoke(cli, words, standalone_mode=False, env=plainly)
    assert done.return_value == 0
    return done.output, Path("f.svg").read_text(), read_record(Path("r.json"))


def test_the_frontier_holds_the_closed_form_and_so_does_what_is_confirmed(folder: Path) -> None:
    """rho = E min(1, |N(0, 2/n)| / w). All intervals are false with probability 2e-6 at most."""
    *_, found = once_repaired()
    answer = answer_of(found)
    assert found.verdict == "pass"
    assert len(answer.frontier) == 9
    for point in answer.frontier:
        assert point.by == "formula"
        assert point.pairs == 128
        _holds(point.wrapper, point.low, point.high)
    assert answer.wrapper
    assert answer.after
    assert answer.before
    _holds(answer.wrapper, answer.after.low, answer.after.high)
    assert answer.before.low <= 1 <= answer.before.high
    assert answer.price is not None
    assert answer.price.change == _width(answer.wrapper) / 2


def _width(wrapper: str) -> float:
    return float(read_setting(wrapper).arguments["width"])


def _holds(wrapper: str, low: float, high: float) -> None:
    a = _width(wrapper) / math.sqrt(2 / 50)
    exact = math.sqrt(2 / math.pi) * -math.expm1(-a * a / 2) / a + math.erfc(a / math.sqrt(2))
    print(f"{wrapper}: {exact:.4f} in [{low:.4f}, {high:.4f}]")
    assert low <= exact <= high


@pytest.mark.parametrize(
    ("target", "source", "size", "rho", "verb"),
    [
        ("learners.py:two", "norm", 100, 0.5, "rounded"),
        pytest.param("learners.py:is_above", "norm(0.1)", 400, 0.3, "agreed", marks=pytest.mark.nightly),
        pytest.param("models.py:ridge", "learners.py:linear", 60, 0.3, "rounded", marks=pytest.mark.nightly),
        ("models.py:best", "learners.py:even", 12, 0.5, "chosen"),
        pytest.param("models.py:best", "learners.py:linear", 12, 0.3, "chosen", marks=pytest.mark.nightly),
        pytest.param("algorithms.controls:mean", "norm", 100, 0.3, "rounded", marks=pytest.mark.nightly),
    ],
)
def test_what_is_printed_can_be_pasted_and_passes(
    folder: Path, target: str, source: str, size: int, rho: float, verb: str
) -> None:
    """A pass of the paste is missed with probability 0.05 at most where rho is at 0.6 of the target."""
    found = auditor.ask("repair", target, source, size=size, rho=rho)
    answer = answer_of(found)
    assert found.verdict == "pass"
    assert answer.code
    assert answer.check
    assert f"from auditor.repair import {verb}" in answer.code
    shown = {line.strip() for line in as_text(found, 80).splitlines()}
    assert {line.strip() for line in answer.code.splitlines()} <= shown
    (folder / "repaired.py").write_text(answer.code)
    words = shlex.split(answer.check)
    assert words[:5] == ["python", "-m", "auditor", "check", "repaired.py:stable"]
    done = CliRunner().invoke(cli, [*words[3:], "--seed", "1", "--jobs", "1"], standalone_mode=False)
    assert done.return_value == 0, done.output


def test_a_parameter_comes_along(folder: Path) -> None:
    """In the code where the learner can be imported, else in the command."""
    given = repaired("two", size=100, rho=0.5, with_="rounded(width=1e6)", params={"times": 7.0})
    check = answer_of(given).check
    assert check
    assert "--param times=7.0" in check
    code = code_of(load_subject("algorithms.controls:mixed", {"q": 0.9}), Setting("rounded", {"width": 2.0}))
    assert code.splitlines()[0] == "from functools import partial"
    assert code.endswith("\nstable = rounded(partial(mixed, q=0.9), width=2.0)\n")
    code = code_of(
        load_subject("sklearn.linear_model:Ridge", {"alpha": 2.0}), Setting("rounded", {"width": {"coef_": 1.0}})
    )
    assert code.endswith("stable = rounded(Ridge(alpha=2.0), width={'coef_': 1.0})\n")


def test_a_classifier_is_held_by_its_churn(folder: Path) -> None:
    found = auditor.ask("repair", "models.py:nearest", "learners.py:labels", size=80, rho=0.2, probe=100)
    answer = answer_of(found)
    assert answer.before
    assert answer.before.measure == "churn"
    assert found.measures[0].name == "churn"
    assert all(point.wrapper.startswith("voted(chunks=") and point.by == "formula" for point in answer.frontier)
    assert all(point.price.loss is not None for point in answer.frontier)
    assert found.verdict == "pass"
    assert answer.wrapper
    assert answer.price
    assert answer.price.rows


def test_check_and_repair_say_what_the_target_is_for(folder: Path) -> None:
    """By default a check of predictions judges rho and a repair churn; --measure settles it for both."""
    asked: dict[str, Any] = {"source": "learners.py:labels", "size": 80, "rho": 0.5, "probe": 20}
    check = as_text(auditor.audit("models.py:nearest", **asked), 400)
    repair = as_text(auditor.ask("repair", "models.py:nearest", **asked), 400)
    assert "The target is for rho here: two runs differ if a single prediction does" in check
    assert "The target is for churn here, the share of predictions that change" in repair
    both = [auditor.audit("models.py:nearest", **asked, measure="churn")]
    both.append(auditor.ask("repair", "models.py:nearest", **asked, measure="churn"))
    assert [one.measures[0].name for one in both] == ["churn", "churn"]
    assert "The target is for rho" not in as_text(both[0], 400)
    best = as_text(auditor.ask("repair", "models.py:best", "learners.py:linear", size=400, rho=0.5), 400)
    assert "What is compared here is support: what the learner decides" in best


def test_nothing_needs_repair(folder: Path) -> None:
    found = repaired("of_r", size=10)
    answer = answer_of(found)
    assert (found.exit_code, answer.wrapper, answer.code, answer.frontier) == (0, None, None, [])
    assert answer.before
    assert answer.before.verdict == "pass"
    assert as_text(found).startswith("NOTHING TO REPAIR")
    assert "nothing needs repair" in found.reason


def test_nothing_fits(folder: Path) -> None:
    """Outputs that never agree come to nothing by a vote; and too few rows make no chunks."""
    for size, words in ((100, "agreed gives no output"), (12, "12 rows are too few")):
        found = repaired("anything", size=size)
        assert found.exit_code == 1
        assert words in found.reason
        assert as_text(found).startswith("NOT REPAIRED")


def test_too_few_pairs_leave_it_undecided(folder: Path) -> None:
    found = repaired("mean", size=50, pairs=14, rho=0.4)
    print(found.reason)
    assert found.exit_code == 3
    inquiry = inquiry_of("learners.py:mean", "norm", "repair", size=50)
    assert inquiry.verdict().outcome == "inconclusive"  # before anything was run


def test_a_run_that_fails_ends_it(folder: Path) -> None:
    found = repaired("odd", size=5)
    assert found.exit_code == 4
    assert any("no such sample" in one.message for one in found.findings)


def test_what_it_costs_in_accuracy(folder: Path) -> None:
    """By the subject's oracle, and by a loss: the widest grid loses the most."""
    by_oracle = answer_of(auditor.ask("repair", "learners.py:judged", rho=0.5))
    found = repaired("mean", size=200, rho=0.5, loss="learners.py:squared")
    for answer in (by_oracle, answer_of(found)):
        lost = [point.price.loss for point in answer.frontier if point.price.loss is not None]
        assert len(lost) == len(answer.frontier) > 0
        assert lost[-1] > lost[0] >= -1e-3
        assert answer.price
        assert answer.price.loss_before is not None
    assert "; the mean loss was" in as_text(found)


def test_a_record_that_was_read_is_shown_as_it_was(folder: Path) -> None:
    printed, drawn, found = once_repaired()
    assert found.exit_code == 0
    assert printed.endswith(as_text(found, 80) + "\n")
    assert picture(found).decode() == drawn


def test_a_pair_of_the_confirmation_is_run_again(folder: Path) -> None:
    *_, found = once_repaired()
    command = next(one.replay for one in found.examples)
    assert command
    assert "--with 'rounded(width=" in command
    words = shlex.split(command)
    assert words[3] == "repair"
    done = CliRunner().invoke(cli, words[3:], standalone_mode=False)
    shown = found.examples[0].first_difference
    assert done.return_value == 0
    assert shown.left in done.output
    assert shown.right in done.output


def test_one_wrapper_can_be_asked_about(folder: Path) -> None:
    good, bad = (repaired("mean", size=50, with_=f"rounded(width={width})") for width in (5.0, 0.05))
    assert (good.exit_code, bad.exit_code) == (0, 1)
    assert good.pairs
    assert answer_of(good).before is None
    assert answer_of(good).frontier == []
    for text in ("rounded(0.2)", "sum(width=1)", "rounded(width=", "os.system('x')"):
        with pytest.raises(UsageError, match="--with"):
            repaired("mean", size=50, with_=text)
    with pytest.raises(UsageError, match="--with rounded"):
        repaired("mean", size=50, with_="rounded(wide=1)")


def test_the_error_is_shared_between_all_that_may_be_said(folder: Path) -> None:
    """Nothing needs repair has a half, and tries an eighth of what is left, and so on: at most alpha together."""
    inquiry = inquiry_of("learners.py:mean", "norm", "repair", size=50, confidence=0.9)
    assert isinstance(inquiry, RepairInquiry)
    assert inquiry.before is not None
    shares = [inquiry.before.plan.alpha]
    for width in (1.0, 2.0, 3.0):
        next(inquiry.confirm(MeasuredSetting(Setting("rounded", {"width": width}))))
        shares.append(inquiry.tries[-1].audit.plan.alpha)
    assert shares == pytest.approx([0.05, 0.025, 0.0125, 0.00625])
    assert len(shares) == TRIES + 1
    seeds = [cell.seed for cell in inquiry.cells]
    assert len({*seeds}) == len(seeds)


def test_the_cheapest_that_should_pass_is_tried_first() -> None:
    def measured(estimate: float, loss: float | None = None, *, nothing: bool = False) -> MeasuredSetting:
        one = MeasuredSetting(Setting("rounded", {"width": estimate}))
        one.add(SettingTried(apart=estimate, loss=loss, nothing=nothing), 0.0)
        return one

    plain = [measured(0.2), measured(0.07), measured(0.05), measured(0.02)]
    assert candidates(plain, 0.1, 0.6) == plain[2:]
    assert candidates(plain, 0.1, 0.8) == plain[1:]
    assert candidates(plain[:2], 0.1, 0.6) == plain[1:2]  # it comes nearest
    assert candidates(plain[:1], 0.1, 0.6) == []
    losing = [measured(0.05, 0.3), measured(0.04, 0.1), measured(0.0, 0.0, nothing=True)]
    assert candidates(losing, 0.1, 0.6) == [losing[1], losing[0]]


def test_another_process_is_sent_the_repaired_learner_and_not_its_name(folder: Path) -> None:
    asked = {"subject": "learners.py:mean", "source": "norm", "question": "repair", "size": 50}
    as_it_is = _named(cell_of(**asked))
    assert as_it_is is not None
    assert as_it_is["target"] == "learners.py:mean"
    assert _named(cell_of(**asked, with_="rounded(width=5.0)")) is None


@pytest.mark.parametrize(
    ("value", "two"), [(0.1234, 0.13), (0.13, 0.13), (99.2, 100.0), (5e-7, 5e-7), (1.01, 1.1), (2345.0, 2400.0)]
)
def test_widths_have_two_digits_and_are_no_smaller(value: float, two: float) -> None:
    assert two_digits(value) == two


def test_the_picture_and_the_command(folder: Path) -> None:
    printed, drawn, _ = once_repaired()
    assert "REPAIRED" in printed
    assert "stable = rounded(" in printed
    assert "largest change of the answer" in drawn
    assert "the target, 0.5" in drawn


def test_options_that_make_no_sense_are_refused(folder: Path) -> None:
    for options, words in (
        ({"measure": "rhoo"}, "must be one of rho, churn"),
        ({"measure": "churn"}, "counts predictions"),
        ({"randomness": "int"}, "annotate r"),
        ({"rho": 1.5}, "must be in"),
        ({"pairs": 45}, "use --pairs 55 or more"),
        ({"loss": "learners.py:LEARN"}, "has no"),
    ):
        with pytest.raises(UsageError, match=words):
            repaired("mean", size=50, **options)


def test_a_learner_that_returns_its_buffer_is_measured_as_one_that_returns_copies() -> None:
    """What is looked at, and what a setting makes of two outputs: an output, and the ints beside its rounded number."""
    buffer, counts = np.zeros(1), np.zeros(1, dtype=int)

    def number(sample: Any, r: Any) -> Any:
        buffer[0], counts[0] = np.mean(sample), int(np.mean(sample) > 0)
        return {"x": buffer, "count": counts}

    def copies(sample: Any, r: Any) -> Any:
        return copy.deepcopy(number(sample, r))

    shown = []
    for learner in (number, copies):
        bench = bench_of(learner, "norm", size=20, rho=0.4)
        setting = Setting("rounded", {"width": {"x": 1.0}})
        unit = FrontierUnit(bench.subject, (setting,), (repair.rounded(learner, {"x": 1.0}),), "rho", None)
        trials = [one(bench, index) for one in (look, unit) for index in range(8)]
        shown.append([trial.payload for trial in trials])
    assert shown[0] == shown[1]
    parted = [payload["tried"][0]["apart"] for payload in shown[0][8:]]
    assert 1.0 in parted
    assert len({*parted}) > 2
