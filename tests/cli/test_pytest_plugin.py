"""The pytest plugin, in pytest runs of its own. Audits here are deterministic: the seed decides, and nothing is left to
chance between runs."""

from __future__ import annotations

import json
import re
import shlex
import signal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
import scipy.stats  # noqa: F401 - what a run in this process is the first to import is gone when that run ends
from support.processes import wait_until
from support.records import assert_harmless
from support.warm import Warm

import auditor.report.terminal  # noqa: F401 - as above
from auditor.flow.asking import audit

pytest_plugins = ["pytester"]

DOCUMENT = (Path(__file__).parents[2] / "docs" / "pytest.md").read_text()
# A source of one's own: scipy.stats takes its second to import, in every process.
HEADER = """
import pytest, auditor

def draw(rng, size):
    return rng.random(size)

reproducible = pytest.mark.reproducible
"""
# One that cannot be sent to another process, so that none is started: for what is not about that.
QUICK = "import threading\n" + HEADER.replace(
    "def draw(rng, size):\n    return rng.random(size)",
    "here = threading.Lock()\ndraw = lambda rng, size: here and rng.random(size)",
)
LEARNERS = """
@reproducible(source=draw, size=10)
def test_constant(sample, r):
    return 42

@reproducible(source=draw, size=10)
def first_value(sample, r):
    return float(sample[0])
"""

FOUND = HEADER + LEARNERS


@pytest.fixture
def run(pytester: pytest.Pytester) -> Any:
    """Run pytest on a file's text, in this process, under the strictest settings a project may have."""

    def run(text: str, *arguments: str, path: str = "test_learners.py") -> pytest.RunResult:
        file = pytester.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return pytester.runpytest_inprocess("-W", "error", "--strict-markers", "-p", "no:cacheprovider", *arguments)

    return run


def replay(result: pytest.RunResult, folder: Path, warm: Warm) -> str:
    """What the first replay command in a report prints, in a process that has nothing of the folder loaded."""
    command = next(line for line in result.outlines if line.startswith("python -m auditor check"))
    done = warm.run(*shlex.split(command)[3:], cwd=folder, second=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_pass_passes_and_a_fail_shows_the_report_and_a_command_that_works(
    run: Any, pytester: Any, warm: Warm
) -> None:
    result = run(FOUND, "-rP", "tests", path="tests/test_learners.py")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "FAIL  tests/test_learners.py:first_value",
            "Two runs differed in each of * pairs: rho is above 0.1, the target (95 % confidence, all 2 audits)",
            "python -m auditor check tests/test_learners.py:first_value --source tests/test_learners.py:draw --size*",
            "*Captured auditor call*",
            "No two runs differed in 33 pairs: rho is at most 0.1, the target (95 % confidence)",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")
    result.stdout.no_fnmatch_line("*second-process*")
    shown = [line.strip() for line in result.outlines]
    at = next(i for i, line in enumerate(shown) if line.startswith("The outputs of pair 0 differ"))
    printed = replay(result, pytester.path, warm)
    assert all(value in printed for value in shown[at + 1 : at + 3])


def test_the_record_is_that_of_an_audit_from_python(run: Any, pytester: Any) -> None:
    pytester.makeconftest(
        """
        from auditor.flow.record import to_json

        def pytest_runtest_teardown(item):
            (item.path.parent / f"{item.name}.json").write_bytes(to_json(item.record))
        """
    )
    result = run(FOUND, "--auditor-seed", "3")
    result.assert_outcomes(passed=1, failed=1)
    for name in ("test_constant", "first_value"):
        made = json.loads((pytester.path / f"{name}.json").read_text())
        target = f"test_learners.py:{name}"
        python = msgspec.to_builtins(audit(target, "test_learners.py:draw", size=10, seed=3, family=2))
        python = json.loads(json.dumps(python))
        for record in (made, python):
            del record["cost"], record["cells"][0]["seconds"]
            assert record["preflight"]["second_process"] == "same"
        assert made == python
        assert made["subject"] == target


NOT_PASSED = f"""{QUICK}
@reproducible(source=draw, size=10, pairs=40)
def test_undecided(sample, r):
    return sample[0] < 0.055

@reproducible(source=draw, size=10)
def test_raises(sample, r):
    raise ValueError("none of \\x1b[31mours")

@reproducible(sorce=draw, size=10)
def test_misspelt(sample, r): ...

@reproducible(source=draw)
def test_no_size(sample, r): ...

@reproducible(draw, size=10)
def test_positional(sample, r): ...

@reproducible(source=draw, size=10, rho=1.5)
def test_bad_value(sample, r): ...

@reproducible(source=draw, size=10)
def test_no_learner(): ...

@reproducible(source=draw, size=10)
def test_generator(sample, r):
    yield 1

@pytest.mark.parametrize("tau", [0.1, 0.2])
@reproducible(source=draw, size=10)
def test_parametrized(sample, r, tau): ...

class TestClass:
    @reproducible(source=draw, size=10)
    def test_method(self, sample, r): ...
"""


def test_what_is_no_pass_fails_with_a_sentence(run: Any) -> None:
    result = run(NOT_PASSED)
    result.assert_outcomes(failed=10)
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE  test_learners.py:test_undecided",
            "ERROR  test_learners.py:test_raises",
            "*in test_raises*",
            "*ValueError: none of \\x1b[[]31mours*",
            "reproducible(sorce=...) is no option of an audit (did you mean source?): it takes source, size, *",
            "test_learners.py:test_no_size declares no size, and none was given: *",
            "reproducible takes keywords only, e.g. reproducible(source='bernoulli(0.5)', size=1000)",
            "rho=1.5 must be in (0, 1): *",
            "test_learners.py:test_no_learner() has no parameter for the data; *",
            "test_learners.py:test_generator is a coroutine or a generator: *",
            "test_parametrized is marked both reproducible and parametrize: give its parameters as params={...}*",
            "test_method is a method: *make it a @staticmethod",
            "FAILED test_learners.py::test_bad_value - rho=1.5 must be in (0, 1)*",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_a_failure_is_placed_at_the_learners_first_line(run: Any) -> None:
    line = QUICK.count("\n") + 1
    result = run(QUICK + "@reproducible(source=draw, size=10, rho=1.5)\ndef test_bad(sample, r): ...", "--tb=line")
    result.stdout.fnmatch_lines([f"*test_learners.py:{line}: rho=1.5 must be in (0, 1)*"])


COLLECTED = f"""{QUICK}
from elsewhere import imported, mine

test_mine = reproducible(source=draw, size=10)(mine)

@auditor.subject(source=draw, size=lambda tau: int(1 / tau), claimed=0.2)
def declared(sample, r, tau=0.1):
    return len(sample)

declared_here = reproducible(params={{"tau": 0.5}})(declared)

@pytest.mark.xfail(reason="known", strict=True)
@reproducible(source=draw, size=10)
def known_to_fail(sample, r):
    return float(sample[0])

@pytest.mark.skipif("2 > 1", reason="not today")
@reproducible(source=draw, size=10)
def skipped(sample, r): ...

@reproducible(source=draw, size=10)
def test_not_a_test(sample, r): ...
test_not_a_test.__test__ = False

@reproducible(source=draw, rho=0.3)
class TestClass:
    @staticmethod
    @reproducible(size=5, rho=0.2)
    def inside(sample, r):
        return len(sample)

    @staticmethod
    def test_inherits(sample, r): ...

    @staticmethod
    def not_a_test(sample, r): ...

def test_ordinary(tmp_path):
    assert tmp_path.exists()
"""
ELSEWHERE = f"""{QUICK}
def mine(sample, r):
    return 1

@reproducible(source=draw, size=10)
def imported(sample, r): ...
"""
NODES = ["test_mine", "declared", "known_to_fail", "skipped", "TestClass::inside", "TestClass::test_inherits"]


def test_what_is_collected_under_which_name_and_with_which_options(run: Any, pytester: Any) -> None:
    (pytester.path / "elsewhere.py").write_text(ELSEWHERE)
    listed = run(COLLECTED, "--collect-only", "-q")
    found = [line.partition("::")[2] for line in listed.outlines if "::" in line]
    assert found == [*NODES, "test_ordinary"]
    chosen = run(COLLECTED, "--collect-only", "-q", "-m", "reproducible", "-k", "test_mine or inside")
    assert [line.partition("::")[2] for line in chosen.outlines if "::" in line] == ["test_mine", "TestClass::inside"]
    result = run(COLLECTED, "--junit-xml", "report.xml")
    result.assert_outcomes(passed=4, failed=1, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(["test_learners.py:TestClass.test_inherits declares no size*"])
    assert properties(pytester.path / "report.xml")["declared"]["pairs"] == "16"  # what a target of 0.2 takes
    assert properties(pytester.path / "report.xml")["inside"]["verdict"] == "pass"


def test_a_learner_may_wrap_what_is_not_written_in_python(run: Any) -> None:
    text = f"import functools\n{QUICK}\n@reproducible(source=draw, size=3)\n@functools.wraps(max)\n"
    run(f"{text}def test_wraps(sample, r): return 1").assert_outcomes(passed=1)


def properties(report: Path) -> dict[str, dict[str, str]]:
    cases = ElementTree.parse(report).iter("testcase")
    return {c.get("name", ""): {p.get("name", ""): p.get("value", "") for p in c.iter("property")} for c in cases}


def test_options_override_the_marks_and_reports_have_the_numbers(run: Any, pytester: Any) -> None:
    text = (
        QUICK + LEARNERS + "\n@reproducible(source=draw, size=10, fixed=50, seed=1)\ndef fixed(sample, r): return 1\n"
    )
    run(text, "--auditor-pairs", "36", "--junit-xml", "report.xml").assert_outcomes(passed=2, failed=1)
    found = properties(pytester.path / "report.xml")
    assert found["test_constant"].keys() == {"verdict", "reason", "rho_high", "pairs", "mismatches"}
    assert found["fixed"]["pairs"] == "50"
    assert (found["first_value"]["verdict"], found["first_value"]["mismatches"]) == ("fail", "3")
    result = run(QUICK + LEARNERS, "--auditor-pairs", "3", "-x")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["--auditor-pairs 3 cannot decide*use --auditor-pairs 29 or more"])


EVERY = f"""{QUICK}
@reproducible(source=draw, size=10, eta=0.2, nu=0.2)
def test_strings(sample, r): return 1

@reproducible(source=draw, size=10, list_size=1, eta=0.2)
def test_list(sample, r): return 1

@reproducible(source=[draw, "uniform"], size=10)
def test_sources(sample, r): return 1

@reproducible(source=draw, size=10, inputs=[3, 5], fixed=60)
def test_inputs(sample, r, *, x): return x

@reproducible(source=draw, size=10, loss=lambda output, rows: 0 * rows)
def test_loss(sample, r): return 1

@reproducible(source=draw, size=10)
def test_private(sample, r, private): return 1

@reproducible(source=lambda rng, size: rng.random(size), size=10, jobs=2, timeout=60, on_error="bottom")
def test_workers(sample, r): return 1

@reproducible(source=draw, size=10, eta=0.2, nu=0.2, rho=0.1)
def test_two_questions(sample, r): return 1
"""


def test_a_mark_asks_every_question_that_check_does(run: Any, pytester: Any) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(autouse=True, scope="session")
        def unused(): raise RuntimeError("no fixture runs around a learner")

        def pytest_runtest_teardown(item):
            if item.record:
                found = item.record
                print("RECORD", item.name, found.question, found.verdict, len(found.cells), found.cost.limits)
        """
    )
    result = run(EVERY, "-s", "--auditor-pairs", "200")
    result.assert_outcomes(passed=7, failed=1)
    told = dict(found for line in result.outlines if (found := _told(line)))
    assert told == {
        "test_strings": ["nu", "pass", "1", "{'jobs': 1}"],
        "test_list": ["list_size", "pass", "1", "{'jobs': 1}"],
        "test_sources": ["rho", "pass", "2", "{'jobs': 1}"],
        "test_inputs": ["rho", "pass", "2", "{'jobs': 1}"],
        "test_loss": ["loss", "pass", "1", "{'jobs': 1}"],
        "test_private": ["rho", "pass", "2", "{'jobs': 1}"],
        "test_workers": ["rho", "pass", "1", "{'jobs': 2, 'timeout': 60}"],
    }
    result.stdout.fnmatch_lines(["*--rho 0.1 does not go with --eta: use --nu"])


def _told(line: str) -> tuple[str, list[str]] | None:
    name, *words = line.partition("RECORD ")[2].split(" ", 4) if "RECORD " in line else [""]
    return (name, words) if words else None


RELATIVE = "from .near import draw, pytest, reproducible\n" + LEARNERS


@pytest.mark.parametrize(
    ("mode", "text", "path", "packages", "start", "target"),
    [
        ("importlib", FOUND, "checks/test_learners.py", [], ".", "checks/test_learners.py"),
        ("prepend", FOUND, "checks/test_learners.py", [], "checks/unit", "../test_learners.py"),
        ("prepend", RELATIVE, "checks/test_learners.py", ["checks"], ".", "checks.test_learners"),
        ("prepend", FOUND, "checks/unit/test_learners.py", ["checks/unit"], ".", "checks/unit/test_learners.py"),
    ],
)
def test_the_command_leads_to_the_function_however_pytest_imports_it(
    run: Any,
    pytester: Any,
    monkeypatch: Any,
    warm: Warm,
    mode: str,
    text: str,
    path: str,
    packages: Any,
    start: str,
    target: str,
) -> None:
    """In a package, whose modules may import each other relatively, by the module's name, if that leads there.

    The package is not `tests`: that is what this file is in.
    """
    (pytester.path / "checks" / "unit").mkdir(parents=True)
    (pytester.path / "checks" / "near.py").write_text(HEADER)
    for package in packages:
        (pytester.path / package / "__init__.py").touch()
    monkeypatch.chdir(pytester.path / start)
    result = run(text, f"--import-mode={mode}", str(pytester.path / path), "-k", "first_value", path=path)
    result.stdout.fnmatch_lines([f"FAIL  {target}:first_value"])
    result.stdout.no_fnmatch_line("*second-process*")
    assert replay(result, pytester.path / start, warm).startswith("DIFFERENT  pair 0")


def test_workers_of_xdist_report_the_same(pytester: Any) -> None:
    (pytester.path / "tests" / "unit").mkdir(parents=True)
    (pytester.path / "tests" / "unit" / "__init__.py").touch()
    (pytester.path / "tests" / "conftest.py").touch()
    (pytester.path / "tests" / "unit" / "test_learners.py").write_text(QUICK + LEARNERS)
    (pytester.path / "tests" / "test_other.py").write_text(QUICK + LEARNERS)
    result = pytester.runpytest_subprocess(
        *("-n", "2", "-p", "no:hypothesispytest", "-W", "error", "--junit-xml", "report.xml", "-k", "not other")
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "FAIL  tests/unit/test_learners.py:first_value",
            "Two runs differed in each of * pairs: rho is above 0.1, the target (95 % confidence, all 2 audits)",
            "2 audited learners (K), 1 shard (S): each passes at alpha = 0.05 and fails at alpha/K = 0.025",
            "FAILED *first_value - Two runs differed in *",
        ]
    )
    assert properties(pytester.path / "report.xml")["test_constant"]["verdict"] == "pass"


def test_an_interrupt_inside_an_audit_stops_pytest(pytester: Any, warm: Warm) -> None:
    slow = """
        import pathlib, time

        @reproducible(source=draw, size=10)
        def test_slow(sample, r):
            pathlib.Path("started").touch()
            while True:  # an interrupt that comes just before a sleep is only heard when the sleep ends
                time.sleep(0.02)

        def test_after():
            pathlib.Path("went on").touch()
        """
    (pytester.path / "test_slow.py").write_text(QUICK + re.sub("^ {8}", "", slow, flags=re.MULTILINE))
    words, printed = ("-q", "-p", "no:hypothesispytest", "-p", "no:xdist"), pytester.path / "printed"
    with printed.open("wb") as out:
        process = warm.start(*words, cwd=pytester.path, stdout=out, entry="pytest:console_main")
    assert wait_until((pytester.path / "started").exists, of=process)
    process.send_signal(signal.SIGINT)
    code, printed = process.wait(), printed.read_text()
    assert code == 2, printed
    assert "KeyboardInterrupt" in printed
    assert not (pytester.path / "went on").exists()


def test_nothing_heavy_is_imported_until_a_marked_test_runs(pytester: Any) -> None:
    pytester.makeconftest(
        """
        import sys

        def pytest_sessionfinish():
            heavy = {"numpy", "scipy", "rich", "msgspec", "auditor.flow.run", "auditor.errors"}
            print("LOADED", "auditor.cli.pytest_plugin" in sys.modules, heavy & set(sys.modules))
        """
    )
    marked = "import pytest\n@pytest.mark.reproducible(source='norm', size=10)\ndef test_it(sample, r): ..."
    pytester.makepyfile(test_marked=marked, test_plain="def test_plain(): pass")
    # Both files are collected, and the other test is run.
    alone = ("-s", "-p", "no:hypothesispytest", "-p", "no:xdist", "-k", "test_plain")
    result = pytester.runpytest_subprocess(*alone)
    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines(["*LOADED True set()*"])


def test_it_can_be_switched_off(pytester: Any) -> None:
    pytester.makepyfile("def test_plain(): pass")
    result = pytester.runpytest_inprocess("-p", "no:auditor", "-W", "error")
    result.assert_outcomes(passed=1)
    result = pytester.runpytest_inprocess("-p", "no:auditor", "--markers")
    result.stdout.no_fnmatch_line("*reproducible*")
    pytester.runpytest_inprocess("--markers").stdout.fnmatch_lines(
        ["@pytest.mark.reproducible(source, size, rho, ...): *"]
    )


def test_the_document_is_true(pytester: Any) -> None:
    text, console = re.findall(r"```(?:python|console)\n(.*?)```", DOCUMENT, flags=re.DOTALL)
    (pytester.path / "test_learner.py").write_text(text)
    command, *shown = console.strip().splitlines()
    result = pytester.runpytest_inprocess(*shlex.split(command.removeprefix("$ python -m pytest ")))
    result.stdout.fnmatch_lines([line.replace("[", "[[]") for line in shown])


NASTY = """
import logging, sys, warnings
import pytest, auditor

NASTY = "nasty \\x1b]0;title\\x07\\x1b[31m\\u202e\\x9b"

def said(sample, r):
    print(NASTY)
    print(NASTY, file=sys.stderr)
    logging.getLogger("learner").warning(NASTY)
    warnings.warn(NASTY)
    return NASTY + str(sample[0])

fails = pytest.mark.reproducible(source="norm", size=1, pairs=40)(said)

@pytest.mark.reproducible(source="norm", size=1, pairs=40)
def raises(sample, r):
    said(sample, r)
    raise ValueError(NASTY)

def test_asserted():
    auditor.assert_reproducible(lambda sample, r: NASTY + str(sample[0]), "norm", size=1, pairs=40)

def test_refused():
    auditor.assert_reproducible(lambda sample, r: 1, NASTY, size=1)
"""


def test_a_learners_escape_sequences_reach_no_terminal(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(NASTY)
    pytester.makeini("[pytest]\npython_functions = test_* fails raises\nlog_cli = true\n")
    result = pytester.runpytest_inprocess("-rA", "-W", "always", "-p", "no:cacheprovider", "--color=no")
    text = result.stdout.str() + result.stderr.str()
    assert "\\x1b]0;title\\x07" in text
    for title in (
        "Captured stdout call",
        "Captured stderr call",
        "Captured log call",
        "live log call",
        "warnings summary",
    ):
        assert title in text
    assert result.ret == 1
    assert_harmless(text, keep="\n\t")
