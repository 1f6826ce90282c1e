"""`sites`: draws of other places stay in step, the law of a single run is unchanged, and what cannot be is refused."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
import random
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import numpy as np
import pytest
from numpy.random import RandomState, default_rng
from support.requests import audit, bench_of

from auditor.errors import UsageError
from auditor.randomness import Randomness, from_key, root_key
from auditor.repair import rounded, sites
from auditor.repair.mechanisms import keyed_draws
from auditor.repair.mechanisms.keyed_draws import Sites
from auditor.subjects.own_code import _package_folder
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


@pytest.mark.parametrize("learner", [rejects, in_rounds, by_random_state, by_random, by_seed])
def test_inside_and_around_a_learner_draws_are_back_in_step(learner: Callable[..., Any]) -> None:
    def with_keys(sample: Any, r: Any) -> Any:
        return learner(sample, r, keyed=True)

    with_keys.__annotations__["r"] = learner.__annotations__["r"]
    assert mismatches(learner) > 3
    assert mismatches(with_keys) == 0
    if learner is not by_seed:
        assert mismatches(sites(learner)) == mismatches(rounded(sites(learner), 0.1)) == 0


def test_an_audit_passes() -> None:
    cured = audit(sites(rejects), "uniform", size=3, rho=0.1, seed=1)
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


def test_what_is_spawned_at_one_line_does_not_depend_on_another() -> None:
    def second(r: Any, *, first: bool) -> float:
        if first:
            r.spawn(1)
        return float(r.spawn(1)[0].random())

    assert len({second(sites(from_key(root_key(0))), first=first) for first in (True, False)}) == 1


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


def _drawn(r: Any) -> float:
    return float(r.random())


def _one_by_one(r: Any) -> Iterator[float]:
    while True:
        yield float(r.random())


async def _in_turns(r: Any, found: list[float], count: int) -> None:
    for _ in range(count):
        found.append(_drawn(r))
        await asyncio.sleep(0)


def from_a_generator(sample: Any, r: Any) -> list[float]:
    """The last two numbers, with draws of another function in between or not."""
    numbers = _one_by_one(r)
    found = [next(numbers)]
    for _ in range(int(sample[0])):
        _drawn(r)
    return [*found, next(numbers), next(numbers)]


def from_a_delegate(sample: Any, r: Any) -> list[float]:
    def delegate() -> Iterator[float]:
        yield from _one_by_one(r)

    found = []
    for number in delegate():
        found.append(number)
        for _ in range(int(sample[0])):
            _drawn(r)
        if len(found) == 3:
            return found
    raise AssertionError


def from_a_coroutine(sample: Any, r: Any) -> list[float]:
    found: list[float] = []

    async def both() -> None:
        await asyncio.gather(_in_turns(r, found, 3), _in_turns(r, [], int(sample[0])))

    asyncio.run(both())
    return found


@pytest.mark.parametrize("learner", [from_a_generator, from_a_delegate, from_a_coroutine])
def test_what_waits_stays_in_step_whatever_is_drawn_meanwhile(learner: Callable[..., Any]) -> None:
    """A generator is entered once, however often it is resumed."""
    never, often = (sites(learner)(np.array([times]), from_key(root_key(5))) for times in (0, 2))
    assert len({*never}) == 3
    assert never == often


def test_what_has_returned_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a generator that was dropped while it waited: a long run must not hold them all."""
    known: list[int] = []
    plain = Sites._enter

    def enter(self: Sites, *given: Any) -> Any:
        found = plain(self, *given)
        known.append(len(self._nodes))
        return found

    monkeypatch.setattr(Sites, "_enter", enter)

    def drops(sample: Any, r: Any) -> float:
        for _ in range(30):
            any(r.random() >= 0 for _ in range(3))
            next(_one_by_one(r))
        return _drawn(r)

    sites(drops)(np.zeros(1), 1)
    assert len(known) == 61
    assert max(known) <= 4


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


# What the interpreter rewrites as it goes: calls by operators, attributes and builtins, generators, copied blocks.
SPECIALISED = """
class Rows:
    def __init__(self, r):
        self.r = r

    def __getitem__(self, *_):
        return draw(self.r)

    __add__ = __call__ = __enter__ = __getitem__
    first = property(__getitem__)

    def __contains__(self, x):
        return draw(self.r) < 0.5

    def __iter__(self):
        yield from several(self.r)

    def __exit__(self, *how):
        draw(self.r)

def draw(r):
    return float(r.random())

def several(r):
    for _ in range(3):
        yield draw(r)

def item(sample, r):
    return Rows(r)[0]

def operator(sample, r):
    return Rows(r) + 1, 1 in Rows(r)

def attribute(sample, r):
    return Rows(r).first

def called(sample, r):
    return Rows(r)()

def unpacked(sample, r):
    a, b, c = Rows(r)
    return a, b, c

def entered(sample, r):
    with Rows(r) as found:
        return found, draw(r)

def listed(sample, r):
    return [draw(r) for _ in range(3)], {draw(r) for _ in range(2)}, {i: draw(r) for i in range(2)}

def looped(sample, r):
    found = []
    for x in several(r):
        found.append((x, draw(r)))
    return found

def delegated(sample, r):
    def again():
        yield from several(r)
    return [*again()]

def builtin(sample, r):
    return list(map(draw, [r, r])), sum(draw(r) for _ in range(3)), max([1, 2, 3], key=lambda _: draw(r))

def direct(sample, r):
    return r.random(), r.normal(), [r.integers(9) for _ in range(3)], r.child("a").random()
"""
BY_NAME = [
    "item",
    "operator",
    "attribute",
    "called",
    "unpacked",
    "entered",
    "listed",
    "looped",
    "delegated",
    "builtin",
    "direct",
]


def compiled(source: str, name: str, change: Callable[[CodeType], CodeType] = lambda code: code) -> Callable[..., Any]:
    """A function whose code has not run yet, so that nothing of it is specialised."""
    names: dict[str, Any] = {"__name__": "typed"}
    exec(change(compile(source, "<string>", "exec")), names)  # noqa: S102
    return names[name]


def without_columns(code: CodeType) -> CodeType:
    """The same code as `python -X no_debug_ranges` compiles it: each instruction has its line alone."""
    table, at = bytearray(), code.co_firstlineno
    for line, *_ in code.co_positions():
        step, at = (line or at) - at, line or at
        table += bytes([0x80 | 13 << 3, step << 1 if step >= 0 else -step << 1 | 1])  # one unit; a line, and no column
    consts = tuple(without_columns(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_linetable=bytes(table), co_consts=consts)


def without_lines(code: CodeType) -> CodeType:
    consts = tuple(without_lines(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_linetable=b"", co_consts=consts)


@pytest.mark.parametrize("change", [lambda code: code, without_columns, without_lines])
@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_drawn_is_a_function_of_sample_and_r(name: str, change: Callable[[CodeType], CodeType]) -> None:
    """However often the code has run: the interpreter specialises calls after some runs, and may copy their code."""
    learner = sites(compiled(SPECIALISED, name, change))
    found = [learner(None, from_key(root_key(3))) for _ in range(40)]
    assert found == found[:1] * 40


def test_code_without_columns_has_a_place_for_each_line() -> None:
    positions = {one[2:] for one in compiled(SPECIALISED, "item", without_columns).__code__.co_positions()}
    assert positions == {(None, None)}
    two_lines = "def fit(sample, r):\n    [r.random() for _ in range(sample)]\n    return r.random()"
    one_line = "def fit(sample, r):\n    return [r.random() for _ in range(sample)] and r.random()"
    for source, in_step in ((two_lines, True), (one_line, sys.version_info < (3, 12))):  # which inlines the list
        learner = sites(compiled(source, "fit", without_columns))
        first, second = (learner(count, from_key(root_key(3))) for count in (1, 5))
        assert (first == second) == in_step


ONE_PLACE = """
def short_return(sample, r):
    if sample:
        x = 1
    else:
        x = 2
    return r.random()

def at_last(sample, r):
    try:
        if sample:
            raise ValueError
    except ValueError:
        pass
    finally:
        found = r.random()
    return found

def on_the_way_out(sample, r):
    for _ in range(2):
        try:
            if sample:
                break
        finally:
            found = r.random()
        break
    return found

def in_one_line(sample, r):
    return [r.random() for _ in range(sample)] + [0], [r.random() for _ in range(2)], r.random()

def chained(sample, r):
    return (r.random(size=1 + sample), r).__getitem__(1).random(), r.random(size=2).tolist()
"""


@pytest.mark.parametrize("name", ["short_return", "at_last", "on_the_way_out", "in_one_line", "chained"])
def test_one_expression_is_one_place(name: str) -> None:
    """Also where the compiler has copied it; and no two of one line are the same place."""
    learner = sites(compiled(ONE_PLACE, name))
    first, second = (learner(sample, from_key(root_key(3))) for sample in (0, 1))
    assert (first[1:] if isinstance(first, tuple) else first) == (second[1:] if isinstance(second, tuple) else second)


def test_a_function_draws_the_same_wherever_it_stands_in_its_file() -> None:
    here, below = (sites(compiled(before + SPECIALISED, "listed")) for before in ("", "# a comment\n" * 7))
    assert here(None, from_key(root_key(3))) == below(None, from_key(root_key(3)))


@pytest.mark.parametrize(
    ("result", "given", "count"),
    [
        (None, [[1, 2, 3]], 3),  # a shuffle
        (None, [5], 1),
        (None, [], 1),
        (np.zeros((2, 3)), [], 6),
        (b"abcd", [4], 4),
        ([1, 2], [], 2),
        (0.5, [[1, 2, 3]], 1),
    ],
)
def test_draws_are_counted_by_the_values_that_they_give_or_move(result: Any, given: list[Any], count: int) -> None:
    assert keyed_draws._count(result, given) == count


def test_the_home_of_a_module_is_the_folder_of_its_package_or_its_file() -> None:
    folder = os.path.dirname(str(asyncio.__file__)) + os.sep
    assert (_package_folder("asyncio.events"), _package_folder("asyncio")) == (folder, folder)
    assert (_package_folder("weakref"), _package_folder("auditor.flow.run"), _package_folder("no.such.module")) == (
        weakref.__file__,
        "",
        "",
    )
