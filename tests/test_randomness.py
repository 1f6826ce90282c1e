from __future__ import annotations

import copy
import pickle
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.errors import BadValue, UsageError
from auditor.randomness import KINDS, Randomness, arm_seed, check_kind, from_key, kind_of, root_key

names = st.lists(st.one_of(st.text(max_size=8), st.integers(-(2**70), 2**70)), min_size=1, max_size=4)


def fresh() -> Randomness:
    return from_key(root_key(0).child("r", 7))


@given(names)
def test_child_of_many_names_is_the_child_of_the_child(path: list[str | int]) -> None:
    step_by_step = fresh()
    for name in path:
        step_by_step = step_by_step.child(name)
    assert fresh().child(*path).random(4).tolist() == step_by_step.random(4).tolist()


@given(names, names)
def test_children_collide_only_when_their_names_are_the_same(left: list[str | int], right: list[str | int]) -> None:
    same = fresh().child(*left).integers(2**63) == fresh().child(*right).integers(2**63)
    assert same == ([(type(n), n) for n in left] == [(type(n), n) for n in right])


@given(names, st.integers(0, 50))
def test_a_child_does_not_depend_on_what_was_drawn_before(path: list[str | int], draws: int) -> None:
    used = fresh()
    used.random(draws)
    used.child("another").random(3)
    used.spawn(2)
    assert used.child(*path).random() == fresh().child(*path).random()


def test_names_that_look_alike_are_apart() -> None:
    paths = [
        ("1",),
        (1,),
        ("1", ""),
        ("", "1"),
        ("11",),
        ("1", "1"),
        ("",),
        (-1,),
        ("-1",),
        (0,),
        ("int:1",),
        ("str:1",),
    ]
    values = {path: fresh().child(*path).integers(2**63) for path in paths}
    values["itself",] = fresh().integers(2**63)
    for i, spawned in enumerate(fresh().spawn(3)):
        values["spawned", i] = spawned.integers(2**63)
    assert len(set(values.values())) == len(values)


def test_numpy_integers_are_names_and_other_things_are_not() -> None:
    assert fresh().child(np.int64(3)).random() == fresh().child(3).random()
    for bad in (True, 1.0, None, b"x", (1,)):
        with pytest.raises(TypeError, match="a name must be a str or an int"):
            fresh().child(bad)  # type: ignore[arg-type]


def test_pickle_copy_and_spawn_keep_the_class_and_the_stream() -> None:
    r = fresh()
    r.random(5)
    for twin in (pickle.loads(pickle.dumps(r)), copy.deepcopy(r)):
        assert type(twin) is Randomness
        assert twin.bit_generator.state == r.bit_generator.state
        assert twin.child("a").random() == r.child("a").random()
    assert type(copy.copy(r)) is Randomness
    spawned = r.spawn(2)
    assert [type(s) for s in spawned] == [Randomness, Randomness]
    assert spawned[0].child("a").random() != spawned[1].child("a").random()
    assert pickle.loads(pickle.dumps(r)).spawn(1)[0].random() == r.spawn(1)[0].random()


def test_keys_are_values() -> None:
    key = root_key(5).child("r", 3)
    assert from_key(key).random(10).tolist() == from_key(key).random(10).tolist()
    assert key.digest == root_key(5).child("r").child(3).digest


def test_ten_thousand_keys_give_ten_thousand_streams() -> None:
    first_words = {
        from_key(root_key(seed).child(role, index)).integers(2**63)
        for seed in (0, 1)
        for role in ("sample", "r")
        for index in range(2500)
    }
    assert len(first_words) == 10_000


def test_streams_of_neighbouring_keys_are_uniform_and_uncorrelated() -> None:
    """Chi-squared over 256 cells and the lag-1 correlation of first draws; false alarm below 2e-6 in all."""
    from scipy.stats import chi2

    n = 50_000
    root = root_key(0).child("r")
    first = np.array([from_key(root.child(i)).random() for i in range(n)])
    counts = np.bincount((first * 256).astype(int), minlength=256)
    statistic = float(((counts - n / 256) ** 2 / (n / 256)).sum())
    assert statistic < chi2.isf(1e-6, 255), statistic
    correlation = float(np.corrcoef(first[:-1], first[1:])[0, 1])
    assert abs(correlation) < 5.0 / n**0.5, correlation


def test_every_kind_of_r_is_pure_in_its_key() -> None:
    key = root_key(0).child("r", 1)
    assert isinstance(KINDS["int"](key), int)
    assert 0 <= KINDS["int"](key) < 2**32
    assert isinstance(KINDS["RandomState"](key), np.random.RandomState)
    assert isinstance(KINDS["Random"](key), random.Random)
    assert KINDS["int"](key) == KINDS["int"](key)
    assert KINDS["RandomState"](key).rand() == KINDS["RandomState"](key).rand()
    assert KINDS["Random"](key).random() == KINDS["Random"](key).random()
    assert KINDS["Random"](key).random() != KINDS["Random"](root_key(0).child("r", 2)).random()


def test_annotations_choose_the_kind() -> None:
    kinds = [kind_of(a) for a in (int, np.random.RandomState, random.Random, np.random.Generator, None, str)]
    assert kinds == ["int", "RandomState", "Random", "Generator", "Generator", "Generator"]
    with pytest.raises(UsageError, match=r"did you mean RandomState\?"):
        check_kind("RandomStat")


@pytest.mark.parametrize("seed", [-1, 1.5, True, "0"])
def test_a_bad_seed_is_refused(seed: int) -> None:
    with pytest.raises(BadValue, match="must be an integer of at least 0"):
        root_key(seed)


def test_no_two_arms_share_a_seed_nor_do_those_of_neighbouring_roots() -> None:
    """50 roots of 200 arms each: false alarm 6e-9, were the seeds drawn."""
    seeds = {arm_seed(root, arm) for root in range(50) for arm in range(200)}
    assert len(seeds) == 10_000
    assert max(seeds) < 2**53
    assert min(seeds) > 50, "nor with a root"
    assert arm_seed(0, 1) == arm_seed(0, 1) != arm_seed(1, 0)
