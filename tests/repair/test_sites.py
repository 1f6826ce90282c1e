"""`sites`: draws of other places stay in step, the law of a single run is unchanged, and what cannot be is refused."""

from __future__ import annotations

import copy
import pickle
import random
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from asking import bench_of
from numpy.random import RandomState, default_rng

import auditor
from auditor.errors import UsageError
from auditor.randomness import Randomness, from_key, root_key
from auditor.repair import rounded, sites
from auditor.repair.mechanisms.call_sites import Sites
from auditor.trials.trial import run_pair

PAIRS = range(12)


def mismatches(learner: Callable[..., Any]) -> int:
    bench = bench_of(learner, "uniform", size=3)
    return sum(run_pair(bench, index).difference is not None for index in PAIRS)


# Learners that draw as often as the sample makes them, before what their output is drawn from; `keyed` where r is.


def rejects(sample: Any, r: Randomness, keyed: bool = False) -> float:
    r = sites(r) if keyed else r
    while r.random() > 0.1 + 0.5 * sample[0]:
        pass
    return float(r.uniform())


def _noise(r: Any, count: int) -> float:
    return float(sum(r.standard_normal() for _ in range(count)))


def in_rounds(sample: Any, r: Randomness, keyed: bool = False) -> list[float]:
    r = sites(r) if keyed else r
    return [(_noise(r, 1 + int(9 * x)), float(r.random()))[1] for x in sample]


def by_random_state(sample: Any, r: RandomState, keyed: bool = False) -> float:
    r = sites(r) if keyed else r
    r.randn(int(20 * sample[0]))
    return float(r.standard_normal())


def by_random(sample: Any, r: random.Random, keyed: bool = False) -> float:
    r = sites(r) if keyed else r
    [r.gauss(0, 1) for _ in range(int(20 * sample[0]))]
    return r.gauss(0, 1)


def by_seed(sample: Any, r: int, keyed: bool = False) -> float:
    own = sites(r) if keyed else default_rng(r)
    own.random(int(20 * sample[0]))
    return float(own.random())


LEARNERS = [rejects, in_rounds, by_random_state, by_random]


@pytest.mark.parametrize("learner", [*LEARNERS, by_seed])
def test_inside_a_learner_draws_are_back_in_step(learner: Callable[..., Any]) -> None:
    hints = learner.__annotations__["r"]

    def with_keys(sample: Any, r: Any) -> Any:
        return learner(sample, r, keyed=True)

    with_keys.__annotations__["r"] = hints
    assert mismatches(learner) > 3
    assert mismatches(with_keys) == 0


@pytest.mark.parametrize("learner", LEARNERS)
def test_around_a_learner_draws_are_back_in_step(learner: Callable[..., Any]) -> None:
    assert mismatches(sites(learner)) == 0
    assert mismatches(rounded(sites(learner), 0.1)) == 0


def test_an_audit_passes(no_second_process: None) -> None:
    cured = auditor.audit(sites(rejects), "uniform", size=3, rho=0.1, seed=1)
    assert (cured.verdict, cured.mismatches) == ("pass", 0)
    assert cured.subject == "sites(rejects)"


def _bit(r: Any) -> int:
    return int(r.integers(2))


def _places(sample: Any, r: Any) -> tuple[int, ...]:
    """Four fair bits whose places depend on those before."""
    first = _bit(r)
    second = _bit(r) if first else int(r.random() < 0.5)
    third = [_bit(r) for _ in range(1 + first)][-1]
    return first, second, third, int(r.normal() < 0) if second else int(r.permutation(2)[0])


def _inside(sample: Any, r: Any) -> tuple[int, ...]:
    return _places(sample, sites(r))


def _asks_twice(sample: Any, r: Any) -> tuple[int, ...]:
    """The two halves each ask for keys of the same r: no bit may come twice."""
    return _bit(sites(r)), _bit(sites(r)), _bit(sites(r)), _bit(r)


@pytest.mark.parametrize("learner", [sites(_places), _inside, _asks_twice])
def test_a_single_run_has_the_law_that_it_had(learner: Callable[..., Any]) -> None:
    """All 16 outcomes alike; chi-squared with 15 degrees of freedom, false alarm 1e-6 each: below 56.5."""
    n = 800
    seen = Counter(learner(None, from_key(root_key(i))) for i in range(n))
    statistic = sum((seen[tuple(map(int, f"{i:04b}"))] - n / 16) ** 2 / (n / 16) for i in range(16))
    print(f"{[*seen.values()]}: {statistic:.1f} of at most 56.5")
    assert statistic < 56.5


def test_no_key_comes_twice_even_where_one_r_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    plain = Sites.next
    monkeypatch.setattr(Sites, "next", lambda self, frame: (seen.append(key := plain(self, frame)), key)[1])
    r = from_key(root_key(0))
    for _ in range(20):
        _places(None, sites(r))
        _noise(sites(r), 3)
        sites(r).spawn(2)
    assert len(seen) == len({*seen}) >= 160


def test_children_stay_as_they_are_and_keys_are_given_once() -> None:
    r, plain = from_key(root_key(5)), from_key(root_key(5))
    keyed = sites(r)
    assert keyed.child("a", 1).random() == plain.child("a", 1).random()
    assert sites(keyed) is keyed


@pytest.mark.parametrize("made", [7, default_rng(7), RandomState(7), random.Random(7), from_key(root_key(7))])
def test_any_generator_stays_of_its_kind(made: Any) -> None:
    kind = Randomness if isinstance(made, int) else type(made)
    found = sites(made)
    assert isinstance(found, kind)
    assert 0 <= found.random() < 1


@pytest.mark.parametrize("act", [copy.deepcopy, pickle.dumps, lambda r: r.bit_generator.state])
def test_a_run_that_would_see_bits_twice_is_refused(act: Callable[[Any], Any]) -> None:
    with pytest.raises(UsageError, match=r"sites\(r\): the run (copies|reads the state of) r.*use r\.child"):
        act(sites(from_key(root_key(1))))


def test_what_makes_generators_of_its_own_is_refused() -> None:
    from sklearn.linear_model import Ridge

    with pytest.raises(UsageError, match=r"sites\(.*Ridge\(\)\).*random_state.*nothing to key"):
        sites(Ridge())
    with pytest.raises(UsageError, match=r"r is an int.*r = sites\(r\)"):
        sites(by_seed)


def test_a_run_lets_its_sample_go() -> None:
    class Rows:
        pass

    kept: list[Any] = []

    def draws(sample: Any, r: Any) -> float:
        rows = Rows()
        kept.append(weakref.ref(rows))
        return float(r.random())

    sites(draws)(np.zeros(3), 1)
    assert kept[0]() is None
