"""The auditor against subjects whose rho is known: exact truths, one budget of false alarms for the whole file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.exact import KnownRandomness

import auditor
from algorithms import controls


def test_hidden_state_ends_as_it_declares() -> None:
    record = auditor.audit("algorithms.controls:hidden_state")
    assert record.verdict == record.expect == "error"
    assert "not a function of (sample, r)" in record.reason


def test_every_control_does_what_it_says() -> None:
    low: Any = KnownRandomness(math.nextafter(0.5, 0))
    half: Any = KnownRandomness(0.5)
    rows = np.array([3.0, 4.0])
    assert controls.constant(rows, half) == 42
    assert (controls.coin_from_r(rows, low), controls.coin_from_r(rows, half)) == (True, False)
    assert (controls.first_bit(rows, half), controls.mean(rows, half)) == (3, 3.5)
    assert (controls.mixed(rows, low, q=0.5), controls.mixed(rows, half, q=0.5)) == (3.0, 0.0)
    assert (controls.mixed(rows, half, q=0), controls.mixed(rows, half, q=1)) == (0.0, 3.0)
    at: Any = KnownRandomness(0.02)
    assert controls.mixed(rows, at) == 0.0
    assert controls.hidden_state(rows, half) + 1 == controls.hidden_state(rows, half)


def test_what_controls_cannot_use_is_refused() -> None:
    half: Any = KnownRandomness(0.5)
    for q in (-0.1, 1.1):
        with pytest.raises(ValueError, match=rf"q={q} must be in \[0, 1\]"):
            controls.mixed(np.ones(1), half, q=q)
