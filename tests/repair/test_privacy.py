"""`correlated` draws from the law that a learner states, and two runs part as often as the formula says. `private`
returns what most chunks have."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.exact import check_frequency
from support.requests import audit

from auditor import AuditorError
from auditor.questions.repair.settings import read_setting
from auditor.randomness import from_key, root_key
from auditor.repair import (
    correlated,
    coupled_rho,
    private,
    private_chunks,
    private_counts_rho,
    private_rho,
    rounded,
)
from auditor.subjects.subject import load_subject

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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("correlated", "correlated(softly)"),
        ("erm(alpha=0.1)", "erm(softly, alpha=0.1, rho=0.1)"),
        ("private(chunks=40, eps=2, delta=0.01)", "private(softly, chunks=40, eps=2, delta=0.01)"),
    ],
)
def test_repair_takes_them_by_name(text: str, shown: str) -> None:
    assert repr(read_setting(text).wrap(softly)) == shown


# Noisy counts over chunks.

ROUNDED = rounded(lambda sample, r: float(np.mean(sample)), 1.0)


def test_what_most_chunks_agree_on_is_returned_and_reproducible() -> None:
    """The means of 50 uniform rows are within 0.04: with cells of width 1 the learner has rho0 of about 0.05."""
    k = private_chunks(2.0, 1e-3, 0.01)
    wrapped = private(ROUNDED, k, eps=2.0, delta=1e-3)
    rows = np.linspace(0, 1, 50 * k).reshape(k, 50).T.ravel()
    plain = ROUNDED(rows, from_key(root_key(1)).child("core"))
    assert wrapped(rows, 1) == wrapped(rows, 1, private=5) == plain
    record = audit(wrapped, "uniform", size=50 * k, rho=0.2, private="unshared")
    print(record.reason)
    assert record.verdict == "pass"
    assert wrapped.claimed(0.01) == private_counts_rho(0.01, k, 2.0, 1e-3)
    assert repr(wrapped).endswith(f"chunks={k}, eps=2.0, delta=0.001)")


def test_noise_is_private_and_an_output_of_few_chunks_is_not_returned() -> None:
    """One of 40 outputs of one chunk each is returned with probability 4e-8 at most."""
    wrapped = private(lambda sample, r: int(sample[0]), 40, eps=4.0, delta=1e-9)
    assert load_subject(wrapped).private == "Generator"
    assert wrapped(np.arange(40), 0) is None, "each chunk has an output of its own"
    rows = np.repeat([0, 1], 20)
    drawn = {wrapped(rows, 0, private=seed) for seed in range(40)}
    assert drawn == {0, 1}, "the same r, and noise of its own"
    assert {wrapped(rows, seed, private=0) for seed in range(10)} == {wrapped(rows, 0, private=0)}


def test_a_learner_keeps_its_own_private_randomness_and_parameters() -> None:
    seen: list[float] = []

    def learner(sample: Any, r: Any, private: Any, *, plus: int = 0) -> int:
        seen.append(private.random())
        return plus

    wrapped = private(learner, 40, eps=2.0, delta=0.01)
    assert wrapped(np.zeros(80), 0, private=1, plus=7) == 7
    assert len({*seen}) == 40


@pytest.mark.parametrize(
    ("chunks", "eps", "delta", "words"),
    [
        (8, 1.0, 1e-6, "chunks=8 are too few for eps=1.0 and delta=1e-06: noise would hide what most of them agree on"),
        (0, 1.0, 1e-6, "chunks=0 must be an integer of at least 1"),
        (100, 0.0, 1e-6, "eps=0.0 must be above 0"),
        (100, 1.0, 0.0, r"delta=0.0 must be in \(0, 1/2\)"),
    ],
)
def test_settings_that_say_nothing_are_refused(chunks: int, eps: float, delta: float, words: str) -> None:
    with pytest.raises(AuditorError, match=words):
        private(softly, chunks, eps=eps, delta=delta)
