"""In pytest: a function marked `reproducible` is a learner A(sample, r), and its audit is the test.

pytest imports this module in every project that has auditor installed, marked tests or not: whatever costs time is
imported when the first marked test runs.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import os
import sys
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from _pytest._code.code import TerminalRepr

    from auditor.flow.record import Record

MARK = "reproducible"
_FAMILY = pytest.StashKey[int]()  # K: the audit items of the session, after deselection
_SPENT = pytest.StashKey[list[float]]()  # alpha of each audit that ran here
_MUST_PASS = pytest.StashKey[dict[str, bool]]()  # by the node id of each that ran here; False under xfail
_FROM_WORKER = "auditor_family"
_audited: set[str] = set()  # the names of the items that ran here
_at_start = frozenset(sys.path)  # what a fresh process has too; pytest adds the folders of tests and conftests later


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this plugin to the command line of pytest."""
    group = parser.getgroup("auditor", "reproducibility of learners")
    group.addoption(
        "--auditor-pairs",
        type=int,
        metavar="N",
        help="budget of every marked test, over what its mark says; a test with fixed=... keeps its own",
    )
    group.addoption("--auditor-seed", type=int, metavar="N", help="root of all randomness of every marked test")
    group.addoption(
        "--auditor-each",
        action="store_true",
        help="every verdict holds together with all others, a pass too: each of K marked tests spends alpha/K",
    )
    group.addoption(
        "--auditor-shards",
        type=int,
        default=1,
        metavar="S",
        help="sessions that the marked tests are divided over: each spends its share of alpha",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and begin to count what the verdicts of this session are worth."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(source, size, rho, ...): the function is a learner A(sample, r) and its audit is the test; "
        "keywords are those of auditor.audit, which are the options of `auditor check`",
    )
    config.stash[_FAMILY], config.stash[_SPENT], config.stash[_MUST_PASS] = 0, [], {}
    if (shards := config.getoption("auditor_shards")) < 1:
        raise pytest.UsageError(f"--auditor-shards {shards} must be at least 1: how many sessions share the tests")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Count the marked tests that share the error. This comes after deselection; every worker of xdist collects all
    items, and so counts the same."""
    session.config.stash[_FAMILY] = sum(isinstance(item, AuditItem) for item in session.items)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send what a worker of xdist has counted to the process that collects it."""
    if hasattr(session.config, "workeroutput"):
        stash = session.config.stash
        session.config.workeroutput[_FROM_WORKER] = (stash[_FAMILY], stash[_SPENT], stash[_MUST_PASS])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add what a worker of xdist counted; one that crashed sends nothing, and its replacement counts the same."""
    family, spent, must_pass = getattr(node, "workeroutput", {}).get(_FROM_WORKER, (0, [], {}))
    node.config.stash[_FAMILY] = max(family, node.config.stash[_FAMILY])
    node.config.stash[_SPENT].extend(spent)
    node.config.stash[_MUST_PASS].update(must_pass)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what the verdicts of this session are worth together."""
    if not (spent := config.stash[_SPENT]):
        return
    terminalreporter.section("auditor", sep="-")
    count, shards = config.stash[_FAMILY], config.getoption("auditor_shards")
    must_pass = [*config.stash[_MUST_PASS].values()]
    for line in _statement(count, shards, max(spent), must_pass, each=config.getoption("auditor_each")):
        terminalreporter.write_line(line)


def _statement(family: int, shards: int, alpha: float, must_pass: Sequence[bool], *, each: bool) -> Iterator[str]:
    """Yield what the verdicts are worth; `must_pass` says for each audited learner whether it has to pass.

    With a shard's alpha/S divided among its own K, the sum over all shards is alpha however they are cut. A session is
    green only if every learner that has to pass does, so that one above its target has to pass wrongly for it: with
    probability at most alpha, whatever the others do. Of learners that are skipped, or that xfail lets fail, a green
    session says nothing. Any fail may be wrong: those share alpha.
    """
    from auditor.statistics.digits import at_most

    divided, parts = ("alpha/K", family) if shards == 1 else ("alpha/(K S)", family * shards)
    share, whole = f"{divided} = {at_most(alpha / parts)}", f"alpha = {at_most(alpha)}"
    count = f"{len(must_pass)} audited learner{'' if len(must_pass) == 1 else 's'}"
    of = " (K)" if len(must_pass) == family else f" of {family} (K)"
    audited = f"{count}{of}, {shards} shard{'' if shards == 1 else 's'} (S)"
    where = "a green session" if shards == 1 else f"{shards} green sessions"
    if each:
        yield f"{audited}: each passes and fails at {share}, {whole}"
        yield "all verdicts hold together: the probability that any of them is wrong is at most alpha"
    else:
        yield f"{audited}: each passes at {whole} and fails at {share}"
        one = "the one that has to pass" if sum(must_pass) == 1 else f"one of the {sum(must_pass)} that have to pass"
        which = "a learner" if sum(must_pass) == family else one
        wrong = "any wrong fail at all has probability at most alpha"
        if any(must_pass):
            wrong = f"{where} with {which} above its target has probability at most alpha, and so has any wrong fail"
            wrong += " at all"
        yield wrong
        if family * shards > 1:
            yield "a pass by itself is wrong with probability at most alpha; for any of them together: --auditor-each"
    left_out = {"not audited": family - len(must_pass), "expected to fail (xfail)": len(must_pass) - sum(must_pass)}
    if any(left_out.values()):
        words = " and ".join(f"{count} {what}" for what, count in left_out.items() if count)
        says = "says" if shards == 1 else "say"
        yield f"{where} {says} nothing of learners that need not pass: {words}"


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, name: str, obj: object) -> AuditItem | None:
    """Return an item for a marked function, else None."""
    # The type and not isinstance: a module may hold proxies that must not be touched outside a request.
    fn: Any = obj.__func__ if type(obj) in (staticmethod, classmethod) else obj  # type: ignore[attr-defined]
    if type(fn) is not FunctionType or not fn.__dict__.get("__test__", True):
        return None
    named_as_test = collector.istestfunction(obj, name)
    if any(mark.name == MARK for mark in fn.__dict__.get("pytestmark", ())):
        # By its own name a marked function counts where it is written, not in every module that imports it.
        written_here = fn.__module__ == _module(collector).__name__ and fn.__name__ == name
        marked = named_as_test or written_here
    else:
        marked = named_as_test and collector.get_closest_marker(MARK) is not None
    return AuditItem.from_parent(collector, name=name, obj=obj) if marked else None


def _module(node: pytest.Item | pytest.Collector) -> Any:
    """Return the test module that an item is in."""
    parent = node.getparent(pytest.Module)
    assert parent is not None
    return parent.obj


class AuditItem(pytest.Item):
    """A learner as a test; afterwards `record` is the record of its audit."""

    record: Record | None = None
    _summary: str | None = None

    def __init__(self, *, obj: Any, **node: Any) -> None:
        super().__init__(**node)
        self.obj = getattr(obj, "__func__", obj)
        self._bound = isinstance(self.parent, pytest.Class) and not isinstance(obj, staticmethod)
        self.own_markers.extend(getattr(self.obj, "pytestmark", ()))
        self.keywords.update((mark.name, mark) for mark in self.own_markers)

    def reportinfo(self) -> tuple[str, int, str]:
        """Return file, line and name of the audited function, for the report of pytest."""
        code = getattr(inspect.unwrap(self.obj), "__code__", self.obj.__code__)  # it may wrap what is not Python
        return code.co_filename, code.co_firstlineno - 1, self.nodeid.partition("::")[2].replace("::", ".")

    def runtest(self) -> None:
        """Audit the learner; fail with the report unless it passes."""
        _audited.add(self.nodeid)
        _import_quietly()
        from auditor.errors import AuditorError
        from auditor.escape import visible
        from auditor.report.terminal import as_text

        problem: AuditorError | None = None
        try:
            self.record = record = self._audit()
        except AuditorError as error:
            problem = error
        if problem is not None:  # raised here, so that pytest shows no chain
            self._fail(_sentence(problem, self._forced()), problem.details)
        if record.decided_by == "interrupt":
            raise KeyboardInterrupt
        self.user_properties[:] = _properties(record)  # in place of earlier ones: a plugin may run a test again
        if record.verdict != "pass":
            self._fail(record.reason, report=as_text(record, verbose=True))
        self.add_report_section("call", "auditor", visible(record.reason))

    def _audit(self) -> Record:
        """Audit the marked function, and return the record."""
        from auditor.flow.asking import audit

        options = self._options()
        _check_accepted(options)
        with _found_by_file(self), _commands_held(self.config), _logs_shown_harmless(self.config):
            return audit(self.obj, **self._with_share(options))

    def _with_share(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options with this item's share of the error that all have together."""
        from auditor.questions.several import share

        count = self.config.stash[_FAMILY] * self.config.getoption("auditor_shards")
        confidence = options.get("confidence", 0.95)
        if isinstance(confidence, float) and 0 < confidence < 1:  # whatever else it is, the audit refuses
            self.config.stash[_SPENT].append(round(1 - confidence, 15))
            if count > 1 and self.config.getoption("auditor_each"):
                return options | {"confidence": share(confidence, count)}
        return options | {"family": count} if count > 1 and not self.config.getoption("auditor_each") else options

    def _options(self) -> dict[str, Any]:
        """Return what the marks say, the nearest last, and the command line over them."""
        from auditor.errors import UsageError

        if self._bound:
            raise UsageError(f"{self.name} is a method: a learner is a function A(sample, r); make it a @staticmethod")
        if self.get_closest_marker("parametrize") is not None:
            raise UsageError(
                f"{self.name} is marked both {MARK} and parametrize: give its parameters as params={{...}}, or call "
                "auditor.assert_reproducible in a parametrized test"
            )
        marks = [mark for node in self.listchain() for mark in node.own_markers if mark.name == MARK]
        options: dict[str, Any] = {}
        for mark in marks:
            if mark.args:
                raise UsageError(f"{MARK} takes keywords only, e.g. {MARK}(source='bernoulli(0.5)', size=1000)")
            options |= mark.kwargs
        forced = self._forced()
        counted = "runs" if "list_size" in options else "strings" if "eta" in options else "pairs"
        if "pairs" in forced:
            forced[counted] = forced.pop("pairs")  # what is counted there
        if options.get("fixed") is not None:
            forced.pop(counted, None)
        return options | forced

    def _forced(self) -> dict[str, int]:
        """Return the options that the command line of pytest sets for every marked test."""
        given = {name: self.config.getoption(f"auditor_{name}") for name in ("pairs", "seed")}
        return {name: value for name, value in given.items() if value is not None}

    def _fail(self, summary: str, details: str = "", *, report: str = "") -> None:
        """Fail the test with this report, in which nothing can pass for a command of a build service."""
        from auditor.escape import visible, without_commands

        self._summary = visible(summary)
        words = report or without_commands(visible(f"{summary}\n{details}".rstrip(), keep="\n"))
        pytest.fail(words, pytrace=False)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> str | TerminalRepr:
        """Let the summary line and --tb=line say why, and where the learner is; not where this module raised."""
        shown = super().repr_failure(excinfo, *args)
        crash = getattr(shown, "reprcrash", None)
        if self._summary is not None and crash is not None:
            path, line, _ = self.reportinfo()
            crash.path, crash.lineno, crash.message = path, line + 1, self._summary
        return shown


def _properties(record: Record) -> list[tuple[str, object]]:
    """Return what pytest's own reports say of a record: plain numbers and strings, which a worker can send."""
    numbers = {"rho_high": record.rho and record.rho.high, "pairs": record.pairs, "mismatches": record.mismatches}
    known = [(name, number) for name, number in numbers.items() if number is not None]
    return [("verdict", record.verdict), ("reason", record.reason), *known]


def _is_expected_to_fail(report: pytest.TestReport) -> bool:
    """True if xfail is in force for a test, so that its fail leaves the session green."""
    return hasattr(report, "wasxfail") or str(report.longrepr).startswith("[XPASS(strict)]")


@pytest.hookimpl(wrapper=True, tryfirst=True)  # outermost: after xfail has had its say
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note whether an audited learner had to pass, and make what it printed or logged harmless.

    pytest shows these texts as they are: nothing in them may move the cursor or be a command.
    """
    report = yield
    if isinstance(item, AuditItem) and report.when == "call" and item.record is not None:
        item.config.stash[_MUST_PASS][item.nodeid] = not _is_expected_to_fail(report)
    if isinstance(item, AuditItem) and report.sections:
        report.sections = [(title, _harmless(text)) for title, text in report.sections]
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_warning_recorded(warning_message: Any, nodeid: str) -> None:
    """Make a learner's warnings harmless, before pytest keeps them for its summary."""
    if nodeid in _audited:
        warning_message.message = Warning(_harmless(str(warning_message.message)))
        warning_message.filename = _harmless(warning_message.filename)


class _HarmlessLogs(logging.Filter):
    """Makes log records harmless that pytest shows at once."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Make the message of a log record harmless, and let it through."""
        with contextlib.suppress(Exception):  # whoever shows it will say what is wrong with it
            record.msg, record.args = _harmless(record.getMessage()), None
        return True


@contextlib.contextmanager
def _logs_shown_harmless(config: pytest.Config) -> Iterator[None]:
    """Filter what pytest logs at once while a learner runs."""
    handler = getattr(config.pluginmanager.get_plugin("logging-plugin"), "log_cli_handler", None)
    own = _HarmlessLogs()
    if handler is not None:
        handler.addFilter(own)
    try:
        yield
    finally:
        if handler is not None:
            handler.removeFilter(own)


def _harmless(text: str) -> str:
    """Return a learner's text for pytest to print: nothing in it moves the cursor or is a command."""
    from auditor.escape import visible, without_commands

    return without_commands(visible(text, keep="\n\t"))


@contextlib.contextmanager
def _commands_held(config: pytest.Config) -> Iterator[None]:
    """With -s a learner prints past pytest; in a GitHub job, let no line of it be taken for a command."""
    from auditor.escape import HeldCommands

    shown = config.getoption("capture") == "no" and os.environ.get("GITHUB_ACTIONS") == "true"
    held = HeldCommands(sys.stdout if shown else None)
    try:
        yield
    finally:
        held.release(sys.stdout)


def _import_quietly() -> None:
    """Import what an audit needs. It may neither warn, which can fail a test, nor move the global generator."""
    import random
    import warnings

    state = random.getstate()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import auditor.flow.run
        import auditor.questions.several
        import auditor.report.terminal  # noqa: F401
    random.setstate(state)


def _check_accepted(options: dict[str, Any]) -> None:
    """Raise UsageError for a keyword of a mark that is no option of an audit."""
    from auditor.errors import UsageError, suggestion
    from auditor.flow.question import check_table
    from auditor.request import as_name

    accepted = ["source", *(name for name, one in check_table().items() if one.group)]
    for name in options:
        if as_name(name) not in accepted:
            close = suggestion(name, accepted)
            raise UsageError(f"{MARK}({name}=...) is no option of an audit{close}: it takes {', '.join(accepted)}")


def _sentence(error: Exception, forced: dict[str, int]) -> str:
    """Return an error's sentence; an option of the command line is named as it was typed."""
    from auditor.errors import BadValue

    if isinstance(error, BadValue) and error.name in forced:
        return error.as_option().replace(f"--{error.name}", f"--auditor-{error.name}")
    return str(error)


@contextlib.contextmanager
def _found_by_file(item: AuditItem) -> Iterator[None]:
    """While this holds, objects of a test module are known by its file: pytest's name for it may lead nowhere."""
    from auditor.lookup import loaded_from

    module, start = _module(item), item.config.invocation_params.dir
    if _importable_afresh(module.__name__, item):
        yield
        return
    file = Path(os.path.relpath(item.path, start) if Path.cwd() == start else item.path)
    with loaded_from(file, module.__name__):
        yield


def _importable_afresh(name: str, item: AuditItem) -> bool:
    """True if a module of a package, for which its file alone would not do, is found without pytest's help."""
    package = sys.modules.get(name.partition(".")[0])
    if not (item.path.parent / "__init__.py").exists() or getattr(package, "__spec__", None) is None:
        return False
    root = item.path.parents[name.count(".")]
    return root == Path.cwd() or str(root) in _at_start
