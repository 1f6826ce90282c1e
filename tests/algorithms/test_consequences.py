"""Lemmas A.5, A.6 and A.7: what follows from reproducibility, exactly where it can be enumerated."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import auditor
from algorithms.data_reuse import COINS, Mechanism, coins, overfit
from algorithms.generalisation import Measured, errors, generalises, slack
from algorithms.halfspace import CUBE, Halfspace
from auditor.interval import clopper_pearson_lower, clopper_pearson_upper
from auditor.randomness import from_key, root_key
from auditor.sources import load_source

# A(sample, public, private) as a table: for each (public, private) the output of each of the samples.
tables = st.integers(1, 3).flatmap(
    lambda publics: st.integers(1, 4).flatmap(
        lambda privates: st.integers(1, 4).flatmap(
            lambda samples: st.lists(
                st.lists(
                    st.lists(st.integers(0, 3), min_size=samples, max_size=samples),
                    min_size=privates,
                    max_size=privates,
                ),
                min_size=publics,
                max_size=publics,
            )
        )
    )
)


def disagreement(table: list[list[list[int]]], *, shared: bool) -> Fraction:
    """Exactly how often two runs differ, with the private randomness shared between them or not."""
    total = differ = 0
    for public in table:
        for first, second in itertools.product(public, public):
            if shared and first is not second:
                continue
            for a, b in itertools.product(first, second):
                total, differ = total + 1, differ + (a != b)
    return Fraction(differ, total)


@given(tables)
def test_sharing_the_private_randomness_never_hurts(table: list[list[list[int]]]) -> None:
    """Lemma A.5, by enumeration of every algorithm, sample and random string."""
    assert disagreement(table, shared=True) <= disagreement(table, shared=False)


# A(sample, r) as a table over two r and four equally likely samples of two bits.
SAMPLES = list(itertools.product((0, 1), repeat=2))
QUERIES = ("first", "both", "any")


def answer(query: str, sample: tuple[int, int], r: int) -> int:
    """A mechanism's answers: coarse, and coarser for one of the two random strings."""
    truth = {"first": sample[0], "both": sample[0] & sample[1], "any": sample[0] | sample[1]}[query]
    return truth if r == 0 else 0


def transcripts(samples: tuple[tuple[int, int], ...], strings: tuple[int, ...]) -> tuple[Any, ...]:
    """An adaptive analyst: what it asks next depends on every answer before."""
    asked, seen = "first", []
    for sample, r in zip(samples, strings, strict=True):
        value = answer(asked, sample, r)
        seen += [asked, value]
        asked = QUERIES[(QUERIES.index(asked) + 1 + value) % 3]
    return tuple(seen)


@pytest.mark.parametrize("m", [2, 3])
def test_reusing_a_sample_moves_transcripts_by_at_most_the_lemmas_bound(m: int) -> None:
    """Lemma A.7 with everything enumerated: statistical distance against (m - 1) rho, both exact."""
    rho = max(
        Fraction(sum(answer(q, s, r) != answer(q, t, r) for s in SAMPLES for t in SAMPLES for r in (0, 1)), 32)
        for q in QUERIES
    )
    strings = list(itertools.product((0, 1), repeat=m))
    fresh = Counter(transcripts(s, r) for s in itertools.product(SAMPLES, repeat=m) for r in strings)
    reused = Counter(transcripts((s,) * m, r) for s in SAMPLES for r in strings)
    distance = (
        sum(abs(Fraction(fresh[t], fresh.total()) - Fraction(reused[t], reused.total())) for t in fresh | reused) / 2
    )
    print(f"m={m}: distance {float(distance):.4f}, bound {float((m - 1) * rho):.4f}")
    assert 0 < distance <= (m - 1) * rho


def test_the_analyst_fools_itself_with_a_plain_sample_and_not_with_rstat_or_fresh_rows() -> None:
    beliefs: dict[tuple[str, bool], list[float]] = {}
    for kind, reuse in (("plain", True), ("plain", False), ("rstat", True)):
        for i in range(12):
            sample = coins(from_key(root_key(i)), 4000 if reuse else 4000 * (COINS + 1) // 20)
            mechanism = Mechanism(
                sample,
                from_key(root_key(i).child("r")),
                kind=kind,
                reuse=reuse,
                queries=COINS + 1,
                tau=0.1,  # type: ignore[arg-type]
            )
            beliefs.setdefault((kind, reuse), []).append(overfit(mechanism)[-1])
    print({key: round(float(np.mean(values)), 3) for key, values in beliefs.items()})
    assert min(beliefs["plain", True]) > 0.6
    assert abs(np.mean(beliefs["plain", False]) - 0.5) < 0.05
    assert abs(np.mean(beliefs["rstat", True]) - 0.5) < 0.07


def test_an_unknown_mechanism_is_refused() -> None:
    with pytest.raises(ValueError, match="must be plain or rstat"):
        Mechanism(np.zeros(3), from_key(root_key(0)), kind="x", reuse=True, queries=1, tau=0.1)  # type: ignore[arg-type]


def test_what_a_reproducible_learner_says_of_itself_holds() -> None:
    """Lemma A.6 on few rows, where the inequality can break: its share against rho + delta; false alarm 1e-6."""
    record = auditor.audit(
        "algorithms.generalisation:measured_halfspace", params={"sample_scale": 1e-9, "delta": 0.2}, fixed=400, rho=0.9
    )
    assert record.accuracy is not None
    broken = clopper_pearson_lower(record.accuracy.runs, record.accuracy.failures, 5e-7)
    rho = clopper_pearson_upper(record.pairs, record.mismatches, 5e-7)
    print(f"{record.accuracy.failures} of {record.accuracy.runs} broken, at least {broken:.4f}; rho at most {rho:.4f}")
    assert broken <= min(1.0, rho + 0.2)
    assert record.size < 200


def test_the_oracle_of_generalisation_computes_the_inequality() -> None:
    source = load_source(CUBE)
    wrong = Halfspace((-2.0, -1.0, -1.0))
    assert source.expect(lambda rows: errors(wrong, rows)) == 1.0
    params = {"delta": 0.05}
    assert not generalises(Measured(wrong, 0.0, 10_000), source=source, r=None, params=params)  # type: ignore[arg-type]
    assert generalises(Measured(wrong, 1 - slack(100, 0.05), 100), source=source, r=None, params=params)  # type: ignore[arg-type]
    assert auditor.fingerprint(Measured(wrong, 0.1, 5)) == auditor.fingerprint(Measured(wrong, 0.9, 7))


def test_the_subjects_end_as_declared() -> None:
    assert auditor.audit("algorithms.data_reuse:reused_sample_plain").verdict == "fail"
    assert auditor.audit("algorithms.generalisation:measured_halfspace").verdict == "pass"
