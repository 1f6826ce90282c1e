"""One browser for the tests of pages: Debian's chromium, driven by playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_QUIET = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
_QUIET += " --disable-component-update --disable-sync"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """As long as a module takes, and no longer: its event loop would be in the way of other tests."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if found is None:
        _lacks("chromium is not installed: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _lacks("playwright is not installed: it is in the extra `dev`")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=_QUIET.split())
        yield browser
        browser.close()


def _lacks(what: str) -> None:
    """Whoever checks all of it must not pass without; anybody else is told."""
    if os.environ.get("CI") or os.environ.get("AUDITOR_NEEDS_BROWSER"):
        pytest.fail(what)
    pytest.skip(what)
