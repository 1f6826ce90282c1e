"""Sources that ignore their generator are refused, by an error that chance makes with a probability below 1e-6."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace
from scipy import sparse
from support import requests
from support.requests import bench_of

import auditor
from auditor.errors import SourceError
from auditor.flow.record import Record
from auditor.trials.fresh_rows import SAMPLES, UNLIKELY, same_samples
from auditor.trials.preflight import PAIRS

Source = Callable[[np.random.Generator, int], Any]


def learner(sample: Any, r: Any) -> int:
    return 1


def asked(source: Any, size: int = 6, question: str = "rho", subject: Any = learner, **options: Any) -> Record:
    return requests.ask(question, subject, source, size=size, **options)


def how_same(source: Any, size: int = 6) -> str:
    return same_samples(replace(bench_of(learner, source, size=size), copies=True), 0)


def finding(record: Record, kind: str) -> list[str]:
    return [one.message for one in record.findings if one.kind == kind]


def rows_of(rng: np.random.Generator, size: int) -> Iterator[Any]:
    """One sample of every kind."""
    x, y = rng.normal(size=(size, 2)), rng.integers(0, 2, size)
    yield from (x, x[:, 0], x[:, 0].tolist(), (x, y), x.astype(str), [{"x": float(one)} for one in x[:, 0]])
    frame = pd.DataFrame({"a": x[:, 0], "b": [f"w{one}" for one in y]})
    yield from (frame, frame.a, (frame, y), {"a": x[:, 0].tolist(), "b": y}, sparse.csr_matrix(x))
    yield {float(one): 1 for one in x[:, 0]}


KINDS = range(12)


def kept_inside(rng: np.random.Generator, kind: int) -> np.random.Generator:
    return np.random.default_rng(0)


def seeded_globally(rng: np.random.Generator, kind: int) -> np.random.Generator:
    np.random.seed(3)
    return np.random.default_rng(np.random.randint(9))


def as_it_should(rng: np.random.Generator, kind: int) -> np.random.Generator:
    return rng


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_that_ignores_its_generator_is_refused_whatever_its_rows_are(kind: int) -> None:
    def drawing(generator: Callable[..., Any]) -> Source:
        return lambda rng, size: [*rows_of(generator(rng, kind), size)][kind]

    assert how_same(drawing(as_it_should)) == ""
    state = np.random.get_state()
    for generator in (kept_inside, seeded_globally):
        with pytest.raises(SourceError, match="ignores its generator: 24 samples with different keys are the same 6 r"):
            how_same(drawing(generator))
    np.random.set_state(state)


class Drawing:
    """A source as an object."""

    name = "drawing"

    def draw(self, rng: np.random.Generator, size: int) -> Any:
        return np.arange(size)


class Meant(Drawing):
    deterministic = True


class Rvs:
    """As a distribution of scipy.stats is, in the two things that are asked of it."""

    def rvs(self, size: int, random_state: Any) -> Any:
        return np.random.default_rng(1).normal(size=size)

    def mean(self) -> float:
        return 0.0


def fixed(rng: np.random.Generator, size: int, *, start: int = 0) -> Any:
    return np.arange(start, start + size)


def meant(rng: np.random.Generator, size: int, *, start: int = 0) -> Any:
    return np.arange(start, start + size)


meant.deterministic = True  # type: ignore[attr-defined]


class Called:
    """A source that is an object to be called."""

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        return np.arange(size)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (fixed, "declare it below: fixed"),
        (functools.partial(fixed, start=3), "declare it below: fixed"),
        (f"{__name__}:fixed(start=2)", "declare it below: fixed"),
        (Drawing(), "declare it below: Drawing"),
        (Drawing().draw, "declare it below: draw"),
        (Rvs(), "declare it below: Rvs"),
        (Called(), "declare it below: Called"),
        (lambda rng, size: np.arange(size), "give the function a name and declare it: name"),
    ],
)
def test_every_way_to_give_a_source_is_looked_at_and_the_cure_names_it(source: Any, words: str) -> None:
    with pytest.raises(SourceError, match=rf"ignores its generator.*{words}\.deterministic = True"):
        how_same(source)


@pytest.mark.parametrize("source", [Meant(), meant, functools.partial(meant, start=3), f"{__name__}:meant(start=2)"])
def test_a_source_can_be_declared_deterministic(source: Any) -> None:
    record = asked(source)
    assert record.verdict == "pass"
    (said,) = finding(record, "nothing-fresh")
    assert "get the same r and the same sample" in said


def test_a_part_of_a_mixture_is_looked_at() -> None:
    record = asked(f"mixture(norm, {__name__}:fixed, 0.1)")
    assert (record.verdict, f"source {__name__}:fixed ignores its generator" in record.reason) == ("error", True)


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("rho", {"source": None}),
        ("list_size", {"list_size": 2, "eta": 0.3}),
        ("explain", {}),
        ("reuse", {"analyst": lambda ask, rng: ask(0), "queries": 2}),
        ("rho", {"timeout": 60}),  # in a worker
    ],
)
def test_every_question_looks(question: str, options: dict[str, Any]) -> None:
    @auditor.subject(source=fixed, size=6)
    def declared(sample: Any, r: Any, *, query: int = 0) -> int:
        return int(r.integers(2))

    source = options.pop("source", fixed)
    record = asked(source, question=question, subject=declared, **options)
    assert (record.verdict, "fixed ignores its generator" in record.reason) == ("error", True)


def fixed_from_half(rng: np.random.Generator, size: int, *, s: float) -> Any:
    return rng.normal(size=size) if s < 0.5 else np.arange(size)


def test_every_candidate_of_a_hunt_is_looked_at() -> None:
    """Not only the first, whose preflight speaks for all of its family."""
    over = f"{__name__}:fixed_from_half(s={{s}})"
    record = asked(None, question="hunt", over=over, range={"s": (0, 1)}, pairs=200, rho=0.5)
    (said,) = finding(record, "faulted")
    assert "ignores its generator" in said
    assert int(said.split()[0]) > 1, said


def test_only_the_source_that_ignores_its_generator_is_named() -> None:
    record = asked(["norm", f"{__name__}:fixed"])
    assert (record.verdict, "fixed ignores its generator" in record.reason) == ("error", True)


@pytest.mark.parametrize("source", [fixed, Drawing(), Drawing().draw])
def test_a_record_of_a_source_that_is_refused_has_no_address_in_it(source: Any) -> None:
    """The same audit in another process would have another one."""
    record = asked(source)
    assert record.verdict == "error"
    assert "0x" not in record.source + record.reason


# What is no reason to refuse.


@pytest.mark.parametrize("size", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "source",
    [
        lambda rng, size: rng.integers(0, 2, size),
        lambda rng, size: np.sort(rng.integers(0, 2, size)),
        lambda rng, size: np.zeros(size),
        lambda rng, size: (np.zeros((size, 2)), np.ones(size)),
        lambda rng, size: pd.DataFrame({"a": np.zeros(size)}),
        lambda rng, size: rng.random(size) < 1e-9,
        "bernoulli(0.5)",
        "nothing",
    ],
)
def test_samples_that_agree_by_chance_or_by_their_law_are_taken(source: Any, size: int) -> None:
    assert how_same(source, size) == ""


@pytest.mark.parametrize("resample", ["bootstrap", "split", "subsample"])
def test_data_sets_are_drawn_by_us(resample: str) -> None:
    bench = bench_of(learner, np.array([0.0, 1.0]), size=1, resample=resample, accept_overlap=True)
    assert same_samples(bench, 0) == ""


def test_a_source_that_has_one_size_only_is_taken() -> None:
    def one_row(rng: np.random.Generator, size: int) -> Any:
        return np.zeros(1)

    assert how_same(one_row, 1) == ""


def test_equal_rows_of_a_source_that_ignores_its_generator_hide_nothing() -> None:
    with pytest.raises(SourceError, match="are the same 8 rows"):
        how_same(lambda rng, size: np.random.default_rng(0).integers(0, 2, size), 1)


def test_a_source_that_ignores_its_generator_at_times_is_a_warning() -> None:
    def at_times(rng: np.random.Generator, size: int) -> Any:
        return (rng if rng.random() < 0.3 else np.random.default_rng(0)).normal(size=size)

    (said,) = finding(asked(at_times, 20), "same-sample")
    assert "gave both runs of a pair the same rows, and other samples other rows" in said
    assert finding(asked(at_times, 3), "same-sample") == []  # coins would agree so too


# The false alarm, exactly.


def all_alike(weights: list[Fraction], size: int, samples: int, *, ordered: bool) -> Fraction:
    """The probability that so many samples are the same and have two different rows in them, by listing all of them."""
    found: dict[tuple[int, ...], Fraction] = {}
    for rows in itertools.product(range(len(weights)), repeat=size):
        if len(set(rows)) > 1:
            key = rows if ordered else tuple(sorted(rows))
            found[key] = found.get(key, Fraction(0)) + math.prod(weights[row] for row in rows)
    return sum((chance**samples for chance in found.values()), Fraction(0))


@pytest.mark.parametrize("ordered", [True, False])
def test_a_false_alarm_has_a_probability_below_one_in_a_million(ordered: bool) -> None:
    """All laws on a grid of twelfths over two to four values, at sizes 2 to 5, and the worst of them by name."""
    worst = Fraction(1, 4 if ordered else 2) ** (SAMPLES - 1)
    assert PAIRS * worst < UNLIKELY
    laws = {
        tuple(sorted(parts))
        for count in (2, 3, 4)
        for parts in itertools.product(range(1, 12), repeat=count)
        if sum(parts) == 12
    }
    for law in laws:
        for size in range(2, 6 if len(law) == 2 else 4):
            chance = all_alike([Fraction(part, 12) for part in law], size, SAMPLES, ordered=ordered)
            assert chance <= worst, (law, size)
    coins = [Fraction(1, 2)] * 2
    fair = all_alike(coins, 2, SAMPLES, ordered=ordered)
    assert fair == (2 * Fraction(1, 4) ** SAMPLES if ordered else Fraction(1, 2) ** SAMPLES)


def test_ten_more_rows_or_twenty_two_more_counts_would_do() -> None:
    """By the same bound: 12 samples of rows in their order, 24 where the order says nothing."""
    assert PAIRS * Fraction(1, 4) ** 11 < UNLIKELY < PAIRS * Fraction(1, 4) ** 9
    assert PAIRS * Fraction(1, 2) ** 23 < UNLIKELY < PAIRS * Fraction(1, 2) ** 20
