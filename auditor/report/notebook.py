"""What somebody sees in a notebook while an audit runs: one bar below the cell, in plain HTML, gone when it is over."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any

from auditor.flow.question import Inquiry
from auditor.flow.run import Silent, Watcher
from auditor.report.progress import Pace

_REDRAW = 0.5  # seconds between two looks, each of which is a message to the browser
_NOTICED = 1.0  # seconds before which no bar is shown


@contextmanager
def watching() -> Iterator[Watcher]:
    """Yield a watcher that shows a bar, in a notebook; elsewhere one that shows nothing."""
    if not in_notebook():
        yield Silent()
        return
    watch = NotebookBar()
    try:
        yield watch
    finally:
        watch.close()


def in_notebook() -> bool:
    """True if this process is the kernel of a notebook, which loads IPython before anything else."""
    python = sys.modules.get("IPython")
    return hasattr(python and python.get_ipython(), "kernel")


class NotebookBar(Silent):
    """One bar, and how it is going beside it."""

    def __init__(self) -> None:
        self._pace = Pace(_REDRAW)
        self._shown: Any = None

    def advanced(self, inquiry: Inquiry, seconds: float) -> None:
        """Show how far the audit is, now and then."""
        if seconds < _NOTICED or not self._pace.is_due(seconds):
            return
        outlook = self._pace.look(inquiry, seconds)
        end_of = "an answer" if inquiry.plan.target is None else "a verdict"
        words = self._pace.words(outlook, seconds, inquiry.plan.unit, end_of)[0]
        bar = f"<progress value='{outlook.done}' max='{outlook.of}' style='vertical-align: middle'></progress>"
        self._show(f"{bar} {escape(inquiry.cells[0].subject.name)}: {escape(words)}")

    def close(self) -> None:
        """Remove the bar."""
        if self._shown is not None:
            self._show("")

    def _show(self, text: str) -> None:
        """Show this HTML in the notebook, in place of what was shown before."""
        notebook: Any = import_module("IPython.display")
        if self._shown is None:
            self._shown = notebook.display(notebook.HTML(text), display_id=True)
        else:
            self._shown.update(notebook.HTML(text))
