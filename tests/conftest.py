"""Hypothesis profiles, and a guard: no test may draw from or move a global generator unless it says so."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("ci", max_examples=50, derandomize=True, deadline=None)
settings.register_profile("nightly", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True)
def global_generators_stay(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hypothesis seeds `random` itself and puts it back; anything else that moves is a test's own doing."""
    before = random.getstate(), np.random.get_state(legacy=False)["state"]["key"].tobytes()
    yield
    after = random.getstate(), np.random.get_state(legacy=False)["state"]["key"].tobytes()
    assert before == after, f"{request.node.nodeid} moved a global generator"
