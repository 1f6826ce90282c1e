from __future__ import annotations

import copy
import pickle
import random
import sys
from collections import Counter
from hashlib import blake2b
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.requests import bench_of

from algorithms.data_reuse import QUERIES
from auditor.errors import BadValue, UsageError
from auditor.lookup import registered_subjects
from auditor.randomness import (
    COMMON_KINDS,
    KINDS,
    Key,
    Randomness,
    cell_seed,
    check_kind,
    from_key,
    key_of,
    kind_of,
    root_key,
)

names = st.lists(st.one_of(st.text(max_size=8), st.integers(-(2**70), 2**70)), min_size=1, max_size=4)


def fresh() -> Randomness:
    return from_key(root_key(0).child("r", 7))


@given(names)
def test_child_of_many_names_is_the_child_of_the_child(path: list[str | int]) -> None:
    step_by_step = fresh()
    for name in path:
        step_by_step = step_by_step.child(name)
    assert fresh().child(*path).random(4).tolist() == step_by_step.random(4).tolist()
    assert key_of(fresh()).digests(path) == [key_of(fresh().child(name)).digest for name in path]


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
    one_name: list[Any] = ["1", 1, "11", "", -1, "-1", 0, "int:1", "str:1"]
    paths = [*((name,) for name in one_name), ("1", ""), ("", "1"), ("1", "1")]
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

    n = 20_000
    root = root_key(0).child("r")
    first = np.array([from_key(root.child(i)).random() for i in range(n)])
    counts = np.bincount((first * 256).astype(int), minlength=256)
    statistic = float(((counts - n / 256) ** 2 / (n / 256)).sum())
    assert statistic < chi2.isf(1e-6, 255), statistic
    correlation = float(np.corrcoef(first[:-1], first[1:])[0, 1])
    assert abs(correlation) < 5.0 / n**0.5, correlation


def digest(*steps: bytes) -> bytes:
    """A key's digest, by hand: each step is hashed with what came before it."""
    found = b""
    for step in steps:
        found = blake2b(found + step, digest_size=32).digest()
    return found


def test_a_key_is_the_hash_of_its_path() -> None:
    """What was recorded with a seed can be replayed by any later version."""
    assert root_key(12).digest == digest(b"auditor:12")
    assert root_key(0).child("r", -7, "").digest == digest(b"auditor:0", b"str:r", b"int:-7", b"str:")
    key = root_key(3)
    children = [key.spawn(2), key.spawn(0), key.spawn(1)]
    assert [[child.digest for child in some] for some in children] == [
        [digest(b"auditor:3", b"spawn:0"), digest(b"auditor:3", b"spawn:1")],
        [],
        [digest(b"auditor:3", b"spawn:2")],
    ]
    assert cell_seed(4, 9) == int.from_bytes(digest(b"auditor:4", b"str:arm", b"int:9"), "big") >> (256 - 53)


def test_a_second_spawn_gives_other_children_and_leaves_named_ones_alone() -> None:
    r, named = fresh(), fresh().child("a").random()
    first = [one.random() for one in (*r.spawn(3), *r.spawn(2))]
    assert first == [one.random() for one in fresh().spawn(5)]
    assert len(set(first)) == 5
    assert r.child("a").random() == named
    grandchildren = [one.random() for child in fresh().spawn(2) for one in child.spawn(2)]
    assert len({*first, *grandchildren}) == 9


@pytest.mark.parametrize("words", [0, 1, 4, 8, 9, 15, 16, 17, 624])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_words_of_a_key_are_those_of_its_numbered_hashes(words: int, dtype: type[np.unsignedinteger[Any]]) -> None:
    key = root_key(1)
    stream = b"".join(blake2b(key.digest, salt=i.to_bytes(8, "little")).digest() for i in range(80))
    assert key.generate_state(words, dtype).tobytes() == stream[: np.dtype(dtype).itemsize * words]
    assert key.generate_state(words).dtype == np.uint32


def test_every_kind_of_r_has_its_type_and_is_pure_in_its_key() -> None:
    types = {"Generator": Randomness, "int": int, "RandomState": np.random.RandomState, "Random": random.Random}
    assert set(types) == set(COMMON_KINDS) == set(KINDS) - {"torch", "jax", "none"}
    assert KINDS["none"](root_key(0)) is None
    for kind, type_ in types.items():
        assert type(KINDS[kind](root_key(0).child("r", 1))) is type_
        assert state(kind, root_key(0).child("r", 1)) == state(kind, root_key(0).child("r", 1))


def state(kind: str, key: Key) -> Any:
    """All that a value of this kind was seeded with."""
    made = KINDS[kind](key)
    if kind == "Generator":
        return made.bit_generator.state["state"]["state"], made.bit_generator.state["state"]["inc"]
    return made if kind == "int" else made.getstate() if kind == "Random" else tuple(made.get_state()[1].tolist())


def test_generators_are_seeded_with_all_the_words_that_they_take() -> None:
    """RandomState with 624 words of the key, but for the first, where the method fixes one bit; an int is one word."""
    key = root_key(0).child("r", 1)
    assert state("RandomState", key)[1:] == tuple(key.generate_state(624)[1:].tolist())
    assert state("int", key) == key.generate_state(1)[0]
    assert state("Random", key) == random.Random(key.digest).getstate()
    assert state("Generator", key)[1] >> 64 != 0, "128 bits choose the stream"


@pytest.mark.parametrize("kind", COMMON_KINDS)
def test_every_bit_of_a_key_matters(kind: str) -> None:
    """256 keys that differ from one in a bit each. Two of 257 ints are equal with probability 8e-6, were they drawn."""
    base = root_key(0).child("r", 1).digest
    flipped = [(int.from_bytes(base, "big") ^ (1 << bit)).to_bytes(32, "big") for bit in range(256)]
    states = [state(kind, Key(one)) for one in (base, *flipped)]
    assert len(set(states)) == 257
    if kind == "RandomState":  # and in nearly every word: each of 256 * 623 is equal with probability 2^-32
        same = sum(a == b for other in states[1:] for a, b in zip(states[0][1:], other[1:], strict=True))
        print(f"{same} of {256 * 623} words are the same; more than 3 have probability below 1e-16")
        assert same <= 3


class Spy:
    """Notes every named child of r that is taken while it is installed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = Randomness.child
        self.paths: dict[bytes, tuple[object, ...]] = {}
        self.taken: Counter[tuple[object, ...]] = Counter()

        def child(r: Randomness, *path: Any) -> Randomness:
            found = real(r, *path)
            before, after = (one.bit_generator.seed_seq.digest for one in (r, found))  # type: ignore[attr-defined]
            self.paths[after] = (*self.paths.get(before, ()), *path)
            self.taken[self.paths[after]] += 1
            return found

        monkeypatch.setattr(Randomness, "child", child)

    def twice(self) -> set[tuple[object, ...]]:
        return {path for path, times in self.taken.items() if times > 1}


# Lemma A.7's two interviews have the strings in common: that is its coupling.
SHARED = {("query", i) for i in range(QUERIES)}
STRINGS = {"reused_sample": SHARED, "reused_sample_plain": SHARED}


@pytest.mark.parametrize("name", registered_subjects())
def test_no_piece_of_r_is_handed_out_twice_in_a_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every proof that adds up what its subroutines may do wrong takes their randomness to be independent."""
    bench = bench_of(registered_subjects()[name])
    spy = Spy(monkeypatch)
    bench.run(0, 0)
    print(f"{name}: {len(spy.taken)} pieces, {sum(spy.taken.values())} times")
    assert spy.twice() == STRINGS.get(name, set())


def test_the_spy_sees_what_is_handed_out_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Spy(monkeypatch)
    r = fresh()
    for path in (("a", 1), ("a", 2), ("b",)):
        r.child(*path)
    assert spy.twice() == set()
    r.child("a").child(1)
    assert spy.twice() == {("a", 1)}


def test_annotations_choose_the_kind() -> None:
    kinds = [kind_of(a) for a in (int, np.random.RandomState, random.Random, np.random.Generator, None, str)]
    assert kinds == ["int", "RandomState", "Random", "Generator", "Generator", "Generator"]
    assert [kind_of(a) for a in (int | None, np.random.Generator | int)] == ["int", "Generator"]
    with pytest.raises(UsageError, match=r"did you mean RandomState\?"):
        check_kind("RandomStat")


def test_a_kind_of_a_library_that_is_missing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auditor.randomness.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="needs the library jax: install it"):
        check_kind("jax")


class Stub:
    """What stands for a library that need not be installed: it remembers the seed that it was given."""

    def manual_seed(self, seed: int) -> int:
        return seed

    def PRNGKey(self, seed: int) -> int:
        return seed


def test_generators_of_torch_and_keys_of_jax_are_seeded_from_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Generator=Stub))  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(random=Stub()))  # type: ignore[arg-type]
    for kind, most in (("torch", 2**63), ("jax", 2**32)):
        seeds = [KINDS[kind](root_key(i)) for i in range(40)]
        assert len(set(seeds)) == 40
        assert all(0 <= seed < most for seed in seeds)
        assert max(seeds) > most // 2, "all bits are used: false alarm 2^-40"
        assert KINDS[kind](root_key(0)) == seeds[0]


@pytest.mark.parametrize("seed", [-1, 1.5, True, "0"])
def test_a_bad_seed_is_refused(seed: int) -> None:
    with pytest.raises(BadValue, match="must be an integer of at least 0"):
        root_key(seed)


def test_no_two_arms_share_a_seed_nor_do_those_of_neighbouring_roots() -> None:
    """50 roots of 200 arms each: false alarm 6e-9, were the seeds drawn."""
    seeds = {cell_seed(root, arm) for root in range(50) for arm in range(200)}
    assert len(seeds) == 10_000
    assert max(seeds) < 2**53
    assert min(seeds) > 50, "nor with a root"
    assert cell_seed(0, 1) == cell_seed(0, 1) != cell_seed(1, 0)


def test_what_one_run_spawns_is_not_counted_in_the_next() -> None:
    def spawns(sample: Any, r: np.random.Generator) -> list[float]:
        return [child.random() for child in (*r.spawn(2), *r.spawn(1))]

    bench = bench_of(spawns, "bernoulli(0.5)", size=10)
    first = [[bench.run(index, which) for which in (0, 1, 2)] for index in (0, 1, 0)]
    assert first[0] == first[2]
    assert all(runs[0] == runs[1] == runs[2] for runs in first)
    assert first[0] != first[1]
    assert first[0][0] == spawns(None, from_key(bench.keys.r.child(0)))
