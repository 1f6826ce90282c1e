"""Answers that depend on the order of a set, or on hash()."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

NAMES = ["ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "oak"]


def trees(rng, size):
    return rng.choice(NAMES, size)


def commonest(sample, r):
    """The mode, by an idiom that many know; with few rows there are ties."""
    words = sample.tolist()
    return max(set(words), key=words.count)


def hashed_buckets(sample, r):
    """A bag of words in many buckets: the fullest one."""
    counts = [0] * 1024
    for word in sample.tolist():
        counts[hash(word) % 1024] += 1
    return counts.index(max(counts))


def chain(sample, r):
    """Pairs that follow each other, walked from wherever the set begins."""
    after = defaultdict(set)
    words = sample.tolist()
    for left, right in pairwise(words):
        after[left].add(right)
    at, path = min(after), []
    while at in after and at not in path:
        path.append(at)
        at = next(iter(after[at]))
    return path[-1]


def answers(rng, size):
    return rng.choice(["yes", "no"], size)


def class_codes(sample, r):
    """A number for each of two classes: half of all hash seeds agree."""
    return {name: code for code, name in enumerate(set(sample.tolist()))}
