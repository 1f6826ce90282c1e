"""A notebook shows one bar while an audit runs, which is gone when it is over; no widget is needed."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

import auditor
from auditor.report import notebook


def slow(sample: Any, r: Any) -> bool:
    time.sleep(0.01)
    return bool(sample.mean() > 0.05)


class Shown(list[Any]):
    """What the display of a notebook was given; an update replaces what it shows."""

    def display(self, what: str, *, display_id: bool) -> Shown:
        assert display_id
        assert not self, "one display for an audit"
        self.append([what])
        return self

    def update(self, what: str) -> None:
        self[-1].append(what)


def kernel(monkeypatch: pytest.MonkeyPatch, **shell: Any) -> Shown:
    """Stand in for the IPython of a process that has such a shell."""
    shown = Shown()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(**shell)))  # type: ignore[arg-type]
    fake: Any = SimpleNamespace(HTML=str, display=shown.display)
    monkeypatch.setitem(sys.modules, "IPython.display", fake)
    monkeypatch.setattr(notebook, "_NOTICED", 0.0)
    monkeypatch.setattr(notebook, "_REDRAW", 0.0)
    return shown


def audited() -> Any:
    return auditor.audit(slow, "norm", size=30, rho=0.4, pairs=40, second_process=False)


def test_a_notebook_has_one_bar_which_goes_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = kernel(monkeypatch, kernel=object())
    record = audited()
    ((first, *others, last),) = shown
    assert first.startswith("<progress value='1' max='40'")
    assert "slow" in first
    assert f"of {record.pairs} pairs" in others[-1] or "mismatches in" in others[-1]
    assert last == ""


def test_a_shell_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = kernel(monkeypatch)
    audited()
    assert shown == []
