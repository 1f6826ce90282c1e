"""Audits by groups of runs: the gate end to end, the record, the replay, pseudo-global stability."""

from __future__ import annotations

import json
import shlex
import xml.etree.ElementTree
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from scipy.stats import binom
from support import requests
from support.requests import bench_of, inquiry_of

import auditor
from algorithms.known_answers import good_and_bad, nu_of, rho_of
from auditor.cli.command_line import run
from auditor.errors import UsageError
from auditor.questions.nu.gate import GroupGate, Inaccurate
from auditor.questions.nu.strings import Group, run_string
from auditor.report.terminal import as_text
from auditor.statistics.nu import RunGroups

SUBJECT = "algorithms.known_answers:good_and_bad"


def audit(**options: Any) -> auditor.Record:
    """Once for all tests that ask the same."""
    return _audit(msgspec.json.encode({"eta": 0.1, "nu": 0.05, **options}, order="deterministic"))


@cache
def _audit(options: bytes) -> auditor.Record:
    return requests.ask("nu", good_and_bad, lambda rng, size: rng.random(size), **msgspec.json.decode(options))


def test_a_run_of_a_string_is_a_function_of_seed_string_and_run() -> None:
    bench = bench_of(SUBJECT, seed=5)
    whole = [bench.run(3, which) for which in range(6)]
    again = [bench_of(SUBJECT, seed=5).run(3, which) for which in reversed(range(6))]
    assert whole == again[::-1]
    draws = [float(bench.draw(3, which)[0]) for which in range(6)]
    assert len(set(draws)) == 6
    assert draws[4] != float(bench.draw(4, 4)[0])
    assert draws[:2] == [float(bench.draw(3, which)[0]) for which in (0, 1)]


def test_a_group_counts_what_is_outside_its_most_frequent_output() -> None:
    bench = replace(bench_of(SUBJECT, params={"bad": 1.0}), judges=False)
    group = Group(run_string(bench, 7, 9).which, {})
    outputs = [bench.run(7, which) for which in range(9)]
    assert group.outside == min(outputs.count(0), outputs.count(1))
    runs = [len(group.runs_of(one)) for one in group.ranked]
    assert runs == sorted((outputs.count(0), outputs.count(1)), reverse=True)


@pytest.mark.parametrize(
    ("params", "verdict"),
    [
        ({"bad": 0.0}, "pass"),
        ({"bad": 0.01, "stray": 0.003}, "pass"),
        ({"bad": 0.2}, "fail"),
        ({"bad": 0.0, "stray": 0.35}, "fail"),
    ],
)
def test_the_gate_says_what_is_so(params: dict[str, float], verdict: str) -> None:
    """Seeds are fixed, so this is no matter of chance; each verdict is right with probability 0.95 at least."""
    record = audit(params=params)
    assert (record.verdict, record.question) == (verdict, "nu")
    profile, (measure, *_) = record.answer, record.measures
    truth = nu_of(0.1, params["bad"], params.get("stray", 0.0))
    assert profile.low <= truth <= profile.high
    assert measure.name == "nu"
    assert measure.low <= truth <= measure.high
    assert measure.of == record.pairs
    for step in profile.steps:
        if step.eta < 0.5:
            assert step.low <= nu_of(step.eta, params["bad"], params.get("stray", 0.0)) <= step.high
    assert sum(profile.exactly) == record.pairs
    assert record.cost.runs == 20 * record.pairs
    assert record.rho.low <= rho_of(params["bad"], params.get("stray", 0.0)) <= record.rho.high


def test_what_follows_is_no_more_than_the_paper_says() -> None:
    record = audit(params={"bad": 0.0})
    profile = record.answer
    assert profile.rho_at_most == min(2 * step.eta + step.high for step in profile.steps)
    assert profile.eta_at_most is None or profile.eta_at_most == pytest.approx(record.rho.high / 0.05)
    text = as_text(record, verbose=True)
    assert "not measured, but by rho <= 2 eta + nu" in text
    loose = audit(params={"bad": 0.0}, nu=0.3, eta=0.1)
    assert loose.answer.eta_at_most == pytest.approx(loose.rho.high / 0.3)
    assert "(rho/nu, nu)" in as_text(loose, verbose=True)


@pytest.mark.parametrize(("params", "side", "alpha"), [({}, "upper", 0.05), ({"bad": 0.6}, "lower", 0.05)])
def test_the_bound_that_decides_has_the_confidence_of_its_side(params: Any, side: str, alpha: float) -> None:
    found = requests.audit(good_and_bad, eta=0.1, nu=0.2, confidence=0.95, params=params)
    assert found.bound is not None
    assert (found.bound.side, found.bound.confidence) == (side, 1 - alpha)


def test_a_fixed_design_is_judged_once() -> None:
    passed, failed = audit(params={"bad": 0.0}, fixed=140), audit(params={"bad": 0.3}, fixed=140)
    assert (passed.verdict, passed.pairs, passed.design) == ("pass", 140, "fixed")
    assert (failed.verdict, failed.pairs) == ("fail", 140)
    assert audit(params={"bad": 0.05}, fixed=140).verdict == "inconclusive"


def test_stability_asks_for_accurate_canonical_outputs() -> None:
    assert audit(params={"bad": 0.0}, beta=0.05).verdict == "pass"
    wrong = audit(params={"bad": 0.0, "wrong": 0.3}, beta=0.05)
    assert (wrong.verdict, wrong.decided_by) == ("fail", "accuracy")
    assert "more than beta 0.05 and nu 0.05 allow for" in wrong.reason
    assert wrong.accuracy is not None
    assert wrong.accuracy.allowed == 0.05
    assert audit(params={"bad": 0.0, "wrong": 0.3}).verdict == "pass", "without beta accuracy is no question"
    # a bad string may have any canonical output, so that its runs are no evidence of inaccuracy
    assert audit(params={"bad": 0.3, "wrong": 0.0}, beta=0.05).decided_by == "strings"


def test_stability_is_wrong_as_seldom_as_it_says() -> None:
    """The accuracy side at its edge, exactly, for a fixed design: a share beta of good strings inaccurate."""
    plan = inquiry_of(SUBJECT, question="nu", eta=0.1, nu=0.05, beta=0.1, fixed=200).plan
    gate, n = GroupGate(plan), 200
    spotless = RunGroups(plan.runs, (n,) + (0,) * (plan.runs - 1))
    k = np.arange(n + 1)
    passes = np.array([gate.is_pass(spotless, Inaccurate(int(i), int(i))) for i in k])
    fails = np.array([gate.is_inaccurate(n, int(i)) for i in k])
    mass = binom.pmf(k, n, 0.1)
    print(f"wrong pass {mass[passes].sum():.4f} of 0.05, wrong fail {mass[fails].sum():.4f} of 0.025")
    assert mass[passes].sum() <= 0.05
    assert mass[fails].sum() <= 0.025
    assert passes[0]
    assert fails[-1]


def test_the_worst_string_is_shown_and_its_command_runs_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    record = requests.audit(SUBJECT, eta=0.1, nu=0.05, params={"bad": 0.3})
    worst = record.answer.worst
    assert worst is not None
    assert worst.replay is not None
    counts = {found.output: len(found.runs) for found in worst.outputs}
    assert sum(counts.values()) == 20
    assert worst.outside == 20 - max(counts.values()) == max(t for t, n in enumerate(record.answer.exactly) if n)
    assert run(shlex.split(worst.replay)[3:]) == 0
    out = capsys.readouterr().out
    assert f"string {worst.string}: {len(counts)} outputs in 20 runs" in out
    for found in worst.outputs:
        assert f"{len(found.runs)} times, in runs {', '.join(map(str, found.runs))}" in out
    assert run(["check", SUBJECT, "--param", "bad=0.3", "--replay", str(worst.string), "--runs", "7"]) == 0
    shown = [found for found in worst.outputs if min(found.runs) < 7]
    out = capsys.readouterr().out
    for found in shown:
        first = [which for which in found.runs if which < 7]
        assert f"{len(first)} times, in runs {', '.join(map(str, first))}" in out


def test_the_command_writes_a_picture_and_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture, document = tmp_path / "nu.svg", tmp_path / "record.json"
    words = ["check", "good_and_bad", "--eta", "0.1", "--nu", "0.1", "--param", "bad=0"]
    assert run([*words, "--svg", str(picture), "--json", str(document)]) == 0
    xml.etree.ElementTree.parse(picture)
    assert json.loads(document.read_text())["answer"]["eta"] == 0.1
    assert "and nu allows for 0.1" in " ".join(capsys.readouterr().out.split())


def test_a_picture_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "good_and_bad", "--param", "bad=0", "--eta", "0.1", "--nu", "0.1", "--svg", "-"]) == 0
    picture = capsys.readouterr().out
    xml.etree.ElementTree.fromstring(picture)
    assert "nu: share of r that give more" in picture


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--eta", "0.1", "--nu", "0.1", "--runs", "9999"], "--runs 9999 must be at most 2,000"),
        (["--eta", "0.1", "--nu", "0.1", "--pairs", "9"], "use --strings"),
        (["--eta", "0.1", "--nu", "0.1", "--rho", "0.2"], "use --nu"),
        (["--eta", "0.1", "--nu", "0.1", "--measure", "churn"], "--measure churn does not go with --eta"),
        (["--eta", "0.5", "--nu", "0.1", "--beta", "0.1"], "below 1/2"),
        (["--eta", "0.1", "--nu", "0.1", "--svg", "/nowhere/x.svg"], "cannot write --svg"),
    ],
)
def test_what_makes_no_question_is_refused(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", "good_and_bad", *words]) == 2
    assert complaint in " ".join(capsys.readouterr().err.split())


def test_halves_of_a_data_set_are_two_and_no_more() -> None:
    with pytest.raises(UsageError, match="makes two halves"):
        requests.audit(lambda sample, r: 0, np.arange(40.0), size=20, resample="split", eta=0.1, nu=0.1)
    with pytest.raises(UsageError, match=r"the truth over .* is not known"):
        requests.audit("rstat", lambda rng, n: rng.random(n), size=10, eta=0.1, nu=0.1, beta=0.1)


def test_a_subject_that_raises_in_a_late_run_leaves_the_command_that_shows_it() -> None:
    record = requests.audit(
        f"{Path(__file__).parents[1]}/learners/strings.py:stumbles", "uniform", size=1, eta=0.1, nu=0.1
    )
    assert (record.verdict, record.decided_by) == ("error", "error")
    (finding,) = [found for found in record.findings if found.kind == "raised"]
    assert finding.replay is not None
    assert "--runs" in finding.replay
    assert "of string" in record.reason
