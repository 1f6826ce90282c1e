"""What the verdicts of a pytest session say together: K marked tests, one alpha. All audits here are deterministic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats  # noqa: F401 - what a run in this process is the first to import is gone when that run ends
from support.warm import Warm

import auditor.report.terminal  # noqa: F401 - as above
from auditor.cli.assertion import assert_reproducible
from auditor.escape import without_commands
from auditor.statistics.gate import Gate

pytest_plugins = ["pytester"]

LEARNERS = """
import threading

import pytest

here = threading.Lock()  # what holds it cannot be sent to another process, and none is started
draw = lambda rng, size: here and rng.random(size)
reproducible = pytest.mark.reproducible(source=draw, size=10)

@reproducible
def test_constant(sample, r):
    return 42

@reproducible
def test_value(sample, r):
    return float(sample[0])

@pytest.mark.reproducible(source=draw, size=10, confidence=0.9)
def test_other(sample, r):
    return 1

@pytest.mark.skip
@reproducible
def test_skipped(sample, r): ...

def test_ordinary(): ...
"""
RECORDS = """
from auditor.flow.record import to_json

def pytest_runtest_teardown(item):
    if getattr(item, "record", None):
        (item.path.parent / f"{item.name}.json").write_bytes(to_json(item.record))
"""


@pytest.fixture
def run(pytester: pytest.Pytester) -> Any:
    """Run pytest in this process on these learners: what it printed, and the record of each that ran."""
    pytester.makeconftest(RECORDS)

    def run(*arguments: str, text: str = LEARNERS) -> tuple[pytest.RunResult, dict[str, Any]]:
        (pytester.path / "test_learners.py").write_text(text)
        for file in pytester.path.glob("*.json"):
            file.unlink()
        result = pytester.runpytest_inprocess("-W", "error", "-p", "no:cacheprovider", *arguments)
        return result, {file.stem: json.loads(file.read_bytes()) for file in pytester.path.glob("*.json")}

    return run


def test_a_fail_has_its_share_of_the_error_and_a_pass_all_of_it(run: Any) -> None:
    result, records = run()
    result.assert_outcomes(passed=3, failed=1, skipped=1)
    assert {name: record["family"] for name, record in records.items()} == dict.fromkeys(records, 4)  # a skip counts
    assert records["test_value"]["bound"]["confidence"] == 1 - 0.05 / 4
    assert records["test_constant"]["bound"]["confidence"] == 0.95
    result.stdout.fnmatch_lines(
        [
            "*- auditor -*",
            "3 audited learners of 4 (K), 1 shard (S): each passes at alpha = 0.1 and fails at alpha/K = 0.025",
            "a green session with one of the 3 that have to pass above its target has probability at most alpha, and *",
            "a pass by itself is wrong with probability at most alpha; for any of them together: --auditor-each",
            "a green session says nothing of learners that need not pass: 1 not audited",
        ]
    )


EXPECTED = LEARNERS.replace("@reproducible\ndef test_value", "@pytest.mark.xfail({how})\n@reproducible\ndef test_value")
OF_REST = "a green session with one of the 2 that have to pass above its target has probability at most alpha, and *"


@pytest.mark.parametrize(
    ("how", "arguments", "lines"),
    [
        ("", [], ["3 audited learners of 4 (K), *", OF_REST, "*: 1 not audited and 1 expected to fail (xfail)"]),
        ("run=False", [], ["2 audited learners of 4 (K), *", OF_REST, "*: 2 not audited"]),
        ("", ["-k", "value"], ["1 audited learner (K), *", "any wrong fail at all has probability at most alpha"]),
        ("", ["--runxfail", "-k", "not skipped"], ["3 audited learners (K), *", "* with a learner above its target *"]),
        ("", ["--auditor-each"], ["3 audited learners of 4 (K), *", "*: 1 not audited and 1 expected to fail (xfail)"]),
    ],
)
def test_what_need_not_pass_is_not_part_of_what_a_green_session_says(
    run: Any, how: str, arguments: list[str], lines: list[str]
) -> None:
    """test_value is above its target, and a session that expects it to fail is green in spite of that."""
    result, _ = run(*arguments, text=EXPECTED.replace("{how}", how))
    assert (result.ret == 0) == ("--runxfail" not in arguments)
    result.stdout.fnmatch_lines(lines)


def test_a_strict_xpass_had_not_to_pass_either(run: Any) -> None:
    constant = "@reproducible\ndef test_constant"
    text = LEARNERS.replace(constant, f"@pytest.mark.xfail(strict=True)\n{constant}")
    result, _ = run("-k", "constant or other", text=text)
    assert result.ret == 1
    of_rest = "a green session with the one that has to pass above its target has *"
    result.stdout.fnmatch_lines(["2 audited learners (K), *", of_rest, "*: 1 expected to fail (xfail)"])


@pytest.mark.parametrize(
    ("arguments", "family", "line"),
    [
        (["--deselect", "test_learners.py::test_value"], 3, "2 audited learners of 3 (K), 1 shard (S): *"),
        (
            ["-k", "constant", "--auditor-shards", "5"],
            5,
            "1 audited learner (K), 5 shards (S): *fails at alpha/(K S) = 0.01",
        ),
        (["-k", "constant", "--auditor-shards", "5"], 5, "a pass by itself is wrong with probability at most alpha; *"),
    ],
)
def test_what_is_deselected_does_not_count_and_shards_do(
    run: Any, arguments: list[str], family: int, line: str
) -> None:
    result, records = run(*arguments)
    assert {record["family"] for record in records.values()} == {family}
    result.stdout.fnmatch_lines([line])


def test_with_each_a_pass_has_its_share_too(run: Any) -> None:
    result, records = run("--auditor-each", "--auditor-shards", "5")
    assert {name: (record["family"], record["confidence"]) for name, record in records.items()} == {
        "test_constant": (1, pytest.approx(1 - 0.05 / 20)),
        "test_value": (1, pytest.approx(1 - 0.05 / 20)),
        "test_other": (1, pytest.approx(1 - 0.1 / 20)),
    }
    result.stdout.fnmatch_lines(
        [
            "3 audited learners of 4 (K), 5 shards (S): each passes and fails at alpha/(K S) = 0.005, alpha = 0.1",
            "all verdicts hold together: the probability that any of them is wrong is at most alpha",
        ]
    )


def test_without_an_audit_nothing_is_said_and_a_bad_count_of_shards_is_refused(run: Any) -> None:
    result, _ = run("-k", "ordinary")
    result.stdout.no_fnmatch_line("*audited learner*")
    result, _ = run("--auditor-shards", "0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --auditor-shards 0 must be at least 1*"])
    result, _ = run(text="import pytest\n@pytest.mark.reproducible(family=3)\ndef test_it(sample, r): ...")
    result.stdout.fnmatch_lines(["reproducible(family=...) is no option of an audit*"])


def test_a_rerun_is_no_second_look(run: Any, pytester: Any) -> None:
    """What plugins that rerun failures do: the same item again, reported once."""
    again = (
        RECORDS
        + """
from _pytest.runner import runtestprotocol
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    first = runtestprotocol(item, nextitem=item, log=False)
    second = runtestprotocol(item, nextitem=nextitem, log=True)
    assert [(r.outcome, str(r.longrepr).partition("cost")[0]) for r in first] == [
        (r.outcome, str(r.longrepr).partition("cost")[0]) for r in second]
    assert len(item.user_properties) in (0, 5)
    return True
"""
    )
    pytester.makeconftest(again)
    result, records = run("-k", "value or constant")
    result.assert_outcomes(passed=1, failed=1)
    assert {record["family"] for record in records.values()} == {2}


def chances(gate: Gate, rho: float, budget: int) -> tuple[float, float]:
    """The exact probabilities that a learner of this rho passes and fails within a budget, by recursion over pairs."""
    law, passed, failed = np.zeros(budget + 1), 0.0, 0.0
    law[0] = 1.0
    for n in range(1, budget + 1):
        law[1:] = law[1:] * (1 - rho) + law[:-1] * rho
        law[0] *= 1 - rho
        for k in range(n + 1):
            if gate.is_pass(n, k):
                passed, law[k] = passed + law[k], 0.0
            elif gate.is_fail(n, k):
                failed, law[k] = failed + law[k], 0.0
    return passed, failed


def test_twenty_learners_at_their_targets_keep_what_the_summary_says() -> None:
    """Exact: the limit of a learner at its target is the worst that each statement allows for."""
    alone = chances(Gate(0.1, 0.05), 0.1, 300)
    shared = chances(Gate(0.1, 0.05, family=20), 0.1, 300)
    each = chances(Gate(0.1, 0.05 / 20), 0.1, 300)
    print("pass and fail alone", alone, "in a family of 20", shared, "with --auditor-each", each)
    assert 1 - (1 - alone[1]) ** 20 > 0.05  # why a fail has a share only
    assert 1 - (1 - shared[1]) ** 20 <= 20 * shared[1] <= 0.05
    assert shared[0] <= 0.05  # one learner above its target has to pass for a green session
    assert 1 - (1 - shared[0]) ** 20 > 0.25  # which says nothing of single passes
    assert 20 * sum(each) <= 0.05


# What pytest prints.

COMMANDS = """
import threading

import pytest

here = threading.Lock()  # what holds it cannot be sent to another process, and none is started
draw = lambda rng, size: here and rng.random(size)

@pytest.mark.reproducible(source=draw, size=10)
def test_raises(sample, r):
    print("::error::printed")
    print("  ##[error]printed", "##vso[task.complete result=Failed]")
    lines = "none\\n::error file=x::raised\\n\\t ::set-env name=PATH::raised\\r::warning::raised"
    raise ValueError(lines + 200 * " " + "::add-mask::x")

@pytest.mark.reproducible(source=draw, size=10)
def test_returns(sample, r):
    return f"::error::{sample[0]}" + "\\n::error::second"

@pytest.mark.reproducible(source="\\n::error::spec", size=10)
def test_spec(sample, r): ...
"""


def assert_no_command(printed: str) -> None:
    assert "rror::" in printed  # it was shown
    for line in printed.replace("\r", "\n").splitlines():
        assert not line.strip().startswith("::"), line
        assert "##[" not in line, line
        assert "##vso[" not in line, line


def test_no_line_of_pytests_output_is_a_workflow_command(run: Any) -> None:
    result, _ = run("-rA", text=COMMANDS)
    result.assert_outcomes(failed=3)
    assert_no_command(result.stdout.str())
    result.stdout.fnmatch_lines(["*ValueError: none*", "*\\x3a:error file=x::raised*", "\\x3a:error::printed"])


def test_no_line_of_an_assertions_message_is_one() -> None:
    def raises(sample: Any, r: Any) -> None:
        raise ValueError("none\n::error::raised")

    with pytest.raises(AssertionError) as caught:
        assert_reproducible(raises, lambda rng, size: rng.random(size), size=3)
    assert_no_command(str(caught.value))


def test_with_prints_shown_at_once_a_github_job_holds_commands_back(
    tmp_path: Path, monkeypatch: Any, warm: Warm
) -> None:
    (tmp_path / "test_learners.py").write_text(COMMANDS)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    words = ("-s", "-q", "-k", "raises", "-p", "no:hypothesispytest", "-p", "no:cacheprovider")
    lines = warm.run(*words, cwd=tmp_path, entry="pytest:console_main").stdout.splitlines()
    held = next(i for i, line in enumerate(lines) if line.startswith("::stop-commands::"))
    token = lines[held].removeprefix("::stop-commands::")
    free = lines.index(f"::{token}::")
    assert "::error::printed" in lines[held:free]
    assert not any(line.strip().startswith("::") for line in lines[:held] + lines[free + 1 :])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a :: b", "a :: b"),
        ("::", "\\x3a:"),
        ("a\n \t::b", "a\n \t\\x3a:b"),
        ("\n\n::a\r::b\x0b::c\u2028::d", "\n\n\\x3a:a\r\\x3a:b\x0b\\x3a:c\u2028\\x3a:d"),
        ("x ##[error] #[ok] ## [", "x \\x23#[error] #[ok] ## ["),
        ("##VSO[x]", "\\x23#VSO[x]"),
    ],
)
def test_commands_are_shown_and_not_obeyed(text: str, shown: str) -> None:
    assert without_commands(text) == shown


def test_a_learner_whose_options_are_refused_was_not_audited(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        marked = pytest.mark.reproducible(source="bernoulli(0.5)", size=1, rho=0.3)

        @marked
        def test_constant(sample, r):
            return 0

        @marked
        @pytest.mark.parametrize("x", [1, 2])
        def test_refused(sample, r):
            return 0
    """)
    result = pytester.runpytest_inprocess("-W", "error", "-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["1 audited learner of 2 (K), *", "*: 1 not audited"])
