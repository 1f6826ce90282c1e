"""`correlated` draws from the law that a learner states, and two runs part as often as the formula says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.exact import check_frequency
from support.requests import audit

from auditor import AuditorError
from auditor.repair import correlated, coupled_rho, private_rho

ALARM = 1e-8


def softly(sample: Any, r: Any) -> dict[str, float]:
    """Heads with a probability that rises with the mean of the sample."""
    heads = float(np.mean(sample))
    return {"heads": (1 + heads) / 3, "tails": (2 - heads) / 3}


def test_one_run_has_the_law_that_was_stated() -> None:
    """False alarm 1e-8 each."""
    law, n = {"a": 0.5, (1, 2): 0.3, None: 0.2, "never": 0.0}, 2000
    wrapped = correlated(lambda sample, r: law)
    drawn = [wrapped([1.0], seed) for seed in range(n)]
    for name, p in law.items():
        check_frequency(drawn.count(name), n, p, alarm=ALARM)


def test_two_samples_part_by_the_difference_of_their_laws() -> None:
    wrapped = correlated(softly)
    first, second = (wrapped.core_of(softly([mean], None)) for mean in (0.2, 0.5))
    assert wrapped.mismatch(first, second) == pytest.approx(0.1)  # of two outputs, TV
    assert wrapped.mismatch(first, first) == 0.0
    assert wrapped.mismatch({"a": 0.0}, {"b": 0.0}) == 1.0
    assert (wrapped.claimed(0.1), wrapped.claimed_private(0.01, 100)) == (coupled_rho(0.1), private_rho(100, 0.01))
    assert repr(wrapped) == "correlated(softly)"


def test_a_stated_law_passes_where_a_draw_fails() -> None:
    """At 100 flips the laws differ by 0.02 or so; drawn with noise of their own, two runs part half of the time."""
    assert audit(correlated(softly), "bernoulli(0.5)", size=100, rho=0.1).verdict == "pass"

    def drawn(sample: Any, r: Any, private: Any) -> bool:
        return bool(private.random() < softly(sample, r)["heads"])

    assert audit(drawn, "bernoulli(0.5)", size=100, rho=0.1, private="unshared").verdict == "fail"


@pytest.mark.parametrize(
    ("law", "words"),
    [
        ({"a": 0.5, "b": 0.4}, "the probabilities of 2 outputs add up to 0.9, and must to 1: divide them"),
        ({}, "the probabilities of 0 outputs add up to 0, and must to 1"),
        ({"a": 1.5, "b": -0.5}, "is no law: return a dict of probabilities by output"),
        ({"a": math.nan}, "is no law"),
        ({"a": "b"}, "is no law"),
        ([0.5, 0.5], "is no law"),
        ({"a": math.inf}, "add up to inf, and must to 1"),
    ],
)
def test_what_is_no_law_is_refused(law: Any, words: str) -> None:
    with pytest.raises(AuditorError, match=words):
        correlated(lambda sample, r: law)([1.0], 0)
