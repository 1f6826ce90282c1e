"""Ten of each kind always, all of them by `pytest -m nightly`; what became of each is told to the table."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from fault import Tell
from shell import Ran, Shell, run_here
from support.processes import servers_started

_TOGETHER = 10  # cases that take less than a test does: of one kind, in one test


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The cases of a module: those that are tried always, or with `-m nightly` the whole catalogue, one a test."""
    whole = metafunc.config.getoption("markexpr") == "nightly"
    marks = [pytest.mark.nightly] if whole else []
    chosen = [case for case in getattr(metafunc.module, "CASES", ()) if whole or case.ci]
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", [pytest.param(case, id=case.id, marks=marks) for case in chosen])
    if "cases" in metafunc.fixturenames:
        by_kind = [
            [case for case in chosen if case.kind == kind] for kind in dict.fromkeys(case.kind for case in chosen)
        ]
        step = 1 if whole else _TOGETHER
        some = [cases[i : i + step] for cases in by_kind for i in range(0, len(cases), step)]
        metafunc.parametrize("cases", [pytest.param(cases, id=cases[0].id, marks=marks) for cases in some])


@pytest.fixture
def enter(request: pytest.FixtureRequest) -> Tell:
    """One case into the table."""

    def enter(kind: str, code: object, complaints: Sequence[str], left: Sequence[str] = ()) -> None:
        request.node.user_properties.append(("fault", json.dumps([kind, code, not complaints, bool(left)])))

    return enter


@pytest.fixture
def tell(enter: Tell) -> Tell:
    """Enter one case into the table, and fail where it has complaints."""

    def tell(kind: str, code: object, complaints: Sequence[str], left: Sequence[str] = (), more: str = "") -> None:
        enter(kind, code, complaints, left)
        assert not complaints, "; ".join(complaints) + ("\n" + more if more else "")

    return tell


@pytest.fixture
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shell]:
    """Each audit there is an interpreter's start by `-m nightly`, and otherwise forked off one that has started."""
    whole = request.config.getoption("markexpr") == "nightly"
    made = Shell(tmp_path, None if whole else request.getfixturevalue("warm"))
    yield made
    made.close()


@pytest.fixture
def audit(
    request: pytest.FixtureRequest, shell: Shell, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Ran]]:
    """Who audits: a process of its own by `-m nightly`, and this one otherwise, which has everything loaded."""
    if request.config.getoption("markexpr") == "nightly":
        yield shell.run
        return

    def audit(*words: str, **environment: str) -> Ran:
        for name, value in {"PYTHONHASHSEED": "0", "COLUMNS": "200", **environment}.items():
            monkeypatch.setenv(name, value)
        return run_here(shell, capfd.readouterr, *words)

    servers_started()
    monkeypatch.setattr(tempfile, "tempdir", str(shell.tmp))
    monkeypatch.chdir(shell.work)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield audit
    sys.modules.pop("mine", None)
