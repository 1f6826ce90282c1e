"""Learners that are no function of (sample, r), each for a reason of its own, and some that look so and are one."""

from __future__ import annotations

import datetime
import functools
import itertools
import json
import os
import random
import tempfile
import time
from pathlib import Path
from time import perf_counter

import numpy as np

RNG = np.random.default_rng(7)
OLD = np.random.RandomState(3)
SEEN: list[float] = []
COUNT = 0
FILE = Path(tempfile.gettempdir()) / f"auditor-hidden-state-{os.getpid()}.json"
IDS = itertools.count()


def global_numpy(sample, r):
    return float(np.random.rand() < sample.mean())


def global_random(sample, r):
    rows = sample.tolist()
    random.shuffle(rows)
    return rows[0]


def generator_of_the_module(sample, r):
    order = RNG.permutation(len(sample))
    return float(sample[order][: len(sample) // 2].sum())


def old_generator_of_the_module(sample, r):
    return float(sample[OLD.randint(len(sample))])


def unseeded(sample, r):
    rng = np.random.default_rng()
    return float(sample[rng.integers(len(sample))])


def unseeded_random(sample, r):
    return sample[random.Random().randrange(len(sample))].item()


def system_random(sample, r):
    return os.urandom(4).hex()


def until_the_deadline(sample, r):
    end, steps = perf_counter() + 0.002, 0
    while perf_counter() < end:
        steps += 1
    return steps


def seeded_by_the_clock(sample, r):
    return float(np.random.default_rng(time.time_ns()).random())


def stamped(sample, r):
    return {"mean": float(sample.mean()), "at": datetime.datetime.now().isoformat()}


def counts(sample, r):
    global COUNT
    COUNT += 1
    return float(sample.mean()) + COUNT


def warm_start(sample, r, state={"weights": 0.0}):  # noqa: B006
    state["weights"] = 0.5 * state["weights"] + 0.5 * float(sample.mean())
    return round(state["weights"], 6)


def all_seen(sample, r):
    SEEN.extend(sample.tolist())
    return float(np.mean(SEEN))


def by_attribute(sample, r):
    by_attribute.calls = getattr(by_attribute, "calls", 0) + 1
    return by_attribute.calls


class Model:
    fitted = 0

    def fit_once(self, sample):
        Model.fitted += 1
        return Model.fitted


def by_class(sample, r):
    return Model().fit_once(sample)


class Drawer:
    RNG = np.random.default_rng(3)


def generator_of_a_class(sample, r):
    return int(Drawer.RNG.integers(1000))


def written(sample, r):
    known = json.loads(FILE.read_text()) if FILE.exists() else []
    FILE.write_text(json.dumps([*known, float(sample[0])]))
    return len(known)


def numbered(sample, r):
    return [next(IDS), float(sample.mean() > 2)]


def address(sample, r):
    objects = [object() for _ in range(5)]
    kept.append(objects)
    return id(objects[0])


kept: list[object] = []


@functools.cache
def _table(size):
    return np.linspace(0, 1, size)


def cached_table(sample, r):
    return float(_table(5)[2])


def remembers_what_it_does_not_use(sample, r):
    SEEN.append(float(sample[0]))
    started = time.time()
    assert time.time() >= started
    return round(float(sample.mean()), 9)


def seeds_itself(sample, r):
    rng = np.random.default_rng(12)
    return float(rng.random())


ANSWERS: dict[int, float] = {}


def by_r_alone(sample, r: int):
    if r not in ANSWERS:
        ANSWERS[r] = float(sample.mean())
    return ANSWERS[r]


class Sampler:
    def __init__(self):
        self.rng = np.random.default_rng(1)

    def pick(self, sample, r):
        return float(sample[self.rng.integers(len(sample))]) + float(self.rng.random())


SAMPLER = Sampler()


def seeds_anew(sample, r):
    np.random.seed()
    return float(np.random.rand())


def _numbers():
    number = 0
    while True:
        yield number
        number += 1


NUMBERS = _numbers()


def from_a_generator(sample, r):
    return next(NUMBERS)


def in_a_thread(sample, r):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(address, sample, r).result()
