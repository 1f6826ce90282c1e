"""Subjects and samplers that go wrong, each in one way; the tests of the command line audit them."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import auditor

if TYPE_CHECKING:
    from nowhere import Unresolvable

NOT_CALLABLE = 3

# Samplers, fn(rng, size).


def rows(rng, size):
    return rng.random(size)


def labelled(rng, size):
    return rng.random((size, 2)), rng.integers(0, 2, size)


def short(rng, size):
    return rng.random(size - 1)


def short_labels(rng, size):
    return rng.random((size, 2)), rng.integers(0, 2, size - 1)


def with_nan(rng, size):
    return np.where(np.arange(size) == 1, np.nan, rng.random(size))


def raising(rng, size):
    raise ValueError("no [red]data[/red] \x1b[31m")


def scalar(rng, size):
    return 1.0


def scalar_array(rng, size):
    return np.array(1.0)


def ragged(rng, size):
    return [(i, [0] * (i + 1)) for i in range(size)]


ragged.deterministic = True


def exiting(rng, size):
    sys.exit(0)


def unkeyed(rng, size):
    return np.random.default_rng().random(size)


_buffer = np.arange(20.0)


def shuffled_in_place(rng, size):
    rng.shuffle(_buffer)
    return _buffer


def whole_buffer(rng, size):
    return _buffer


def view(rng, size):
    return _buffer[:size]


whole_buffer.deterministic = view.deterministic = True


def interrupted_probe(rng, size):
    if size == 1:
        raise KeyboardInterrupt
    return rng.random(size)


# Subjects, A(sample, r).


def fine(sample, r):
    return 42


def first(sample, r):
    return float(sample[0])


def marks(sample, r, *, marker):
    Path(marker).touch()
    return 0


def one_argument(sample):
    return 0


def needs_k(sample, r, k):
    return k


def has_tau(sample, r, *, tau=0.1):
    return tau


def shapes(sample, r):
    x, y = sample
    return x.shape, y.shape


def gives_r(sample, r: int):
    return r


def raises_if(sample, r: int, *, bad=-1):
    if r == bad:
        raise ValueError("this [bold]r[/bold] is \x1b[31mbad")
    return 1


def interrupts_if(sample, r: int, *, bad=-1):
    if r == bad:
        raise KeyboardInterrupt
    return 1


def exits(sample, r):
    sys.exit(0)


def prints(sample, r):
    print("from the subject")
    return 0


def writes_descriptor(sample, r):
    os.write(1, b"from the subject\n")
    return 0


def sorts_in_place(sample, r):
    sample.sort()
    return 0


def adds_in_place(sample, r):
    sample += 1
    return float(sample.sum())


def uses_random(sample, r):
    return random.random()


def uses_numpy_random(sample, r):
    return float(np.random.random())


def seeds_numpy_random(sample, r):
    np.random.seed(0)
    return float(np.random.random())


def set_order(sample, r):
    return list({f"word {i}" for i in range(50)})


def raises_by_hash(sample, r):
    if hash("a word") == HERE:
        return 0
    raise RuntimeError("another hash seed")


HERE = hash("a word") if os.environ.get("PYTHONHASHSEED") not in ("1", "2") else None
_cache: dict[int, float] = {}


def cached_by_r(sample, r):
    return _cache.setdefault(int(r.integers(2**60)), float(sample[0]))


def sleeps(sample, r):
    time.sleep(0.02)
    return 0


def counts(sample, r, *, marker):
    """It never ends soon, and a file has a byte for every run."""
    with open(marker, "ab") as file:
        file.write(b".")
    time.sleep(0.02)
    return 0


def sleeps_long(sample, r):
    time.sleep(86400)
    return 0


def leaves_children(sample, r):
    subprocess.Popen(["sleep", "86400"])
    time.sleep(86400)


def as_int(sample, r: int):
    return type(r).__name__


def as_random(sample, r: random.Random):
    return type(r).__name__


def as_state(sample, r: np.random.RandomState):
    return type(r).__name__


def as_any(sample, r):
    return type(r).__name__


def half_hinted(sample: Unresolvable, r: int):
    return type(r).__name__


def callback(sample, r, *, f: Callable[..., float]):
    return f(sample)


def text(sample, r, *, s=""):
    return s, float(sample[0])


def number(sample, r, *, x=0.0):
    return x, float(sample[0])


def kind_of(sample, r, *, w=None):
    return type(w).__name__


def oracle_raises(output, *, source, r, params):
    raise RuntimeError("the oracle broke")


def oracle_exits(output, *, source, r, params):
    sys.exit(0)


@auditor.subject(source=rows, size=5, accuracy=oracle_raises, delta=0.1)
def bad_oracle(sample, r):
    return 0


@auditor.subject(source=rows, size=5, accuracy=oracle_exits, delta=0.1)
def exiting_oracle(sample, r):
    return 0


@auditor.subject(source=rows, size=lambda k: len(k))
def bad_size(sample, r, *, k=3):
    return 0


@auditor.subject(source=rows, size=lambda missing: missing)
def size_of_nothing(sample, r, *, k=3):
    return 0


# Outputs that would like to be more than data.

HOSTILE = "\x1b[31mred\x07 \u202eright-to-left \u2028 [red]markup[/red] [/nope] \x9b1m"


class Spelt:
    """Its repr is whatever it was made with."""

    def __init__(self, words):
        self.words = words

    def __repr__(self):
        return self.words


class Unspeakable:
    def __init__(self, error, x):
        self.error, self.x = error, x

    def __repr__(self):
        raise self.error("no repr")


def hostile_string(sample, r):
    return HOSTILE + str(sample[0])


def hostile_repr(sample, r):
    return {Spelt(HOSTILE + "\udc80"): float(sample[0])}


def hostile_class(sample, r):
    return type(HOSTILE, (), {})()


def hostile_error(sample, r):
    raise ValueError(HOSTILE)


def surrogate_error(sample, r):
    raise ValueError("lone \udc80")


def surrogate_string(sample, r):
    return "\udc80" + str(sample[0])


def long_string(sample, r):
    return "x" * 1_000_000 + str(sample[0])


def long_error(sample, r):
    raise ValueError("x" * 1_000_000)


def broken_repr(sample, r):
    return Unspeakable(ValueError, 0) if sample[0] < 0.5 else 0


def exiting_repr(sample, r):
    return {Unspeakable(SystemExit, 0): float(sample[0])}


def not_comparable(sample, r):
    return [0, lambda: 0]
