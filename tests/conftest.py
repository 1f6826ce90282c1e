"""Hypothesis profiles, and a guard: no test may draw from or move a global generator."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import rich.console  # noqa: F401 - its import draws from `random`, which is no test's doing
from hypothesis import settings

settings.register_profile("ci", max_examples=50, derandomize=True, deadline=None)
settings.register_profile("nightly", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def _states() -> tuple[Any, bytes, int]:
    numpy_state = np.random.get_state(legacy=False)["state"]
    return random.getstate(), numpy_state["key"].tobytes(), numpy_state["pos"]


@pytest.fixture(autouse=True)
def global_generators_stay(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hypothesis seeds the global generators and puts them back; anything else that moves is a test's own doing."""
    before = _states()
    yield
    assert before == _states(), f"{request.node.nodeid} moved a global generator"


@pytest.fixture(autouse=True)
def not_on_github(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that audits must not write into the summary of the job that runs it."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
