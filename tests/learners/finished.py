"""Learners whose shared randomness acts last, and say so: truly, or not quite."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

import auditor


def mean(sample: Any) -> float:
    return float(np.mean(sample))


def on_grid(core: float, r: Any, *, width: float = 0.5) -> float:
    offset = r.random()
    return float((math.floor(core / width + offset) - offset) * width)


def parted(first: float, second: float, *, width: float = 0.5) -> float:
    return min(1.0, abs(first - second) / width)


@auditor.subject(source="norm", size=400, core=mean, finish=on_grid, mismatch=parted)
def rounded(sample: Any, r: Any, *, width: float = 0.5) -> float:
    """Whole r goes to the finish."""
    return on_grid(mean(sample), r, width=width)


def _half(first: float, second: float, *, width: float = 0.5) -> float:
    return parted(first, second, width=width) / 2


def _too_sure(first: float, second: float, *, width: float = 0.5) -> float:
    """Right but in rare pairs, where the cores are far apart."""
    m = parted(first, second, width=width)
    return m if m < 0.35 else 0.02


def _thrice(first: float, second: float, *, width: float = 0.5) -> float:
    return min(1.0, 3 * parted(first, second, width=width))


def _variant(mismatch: Any, **more: Any) -> Any:
    def learner(sample: Any, r: Any, *, width: float = 0.5) -> float:
        return on_grid(mean(sample), r, width=width)

    return auditor.subject(source="norm", size=400, core=mean, finish=on_grid, mismatch=mismatch, **more)(learner)


half = _variant(_half)
too_sure = _variant(_too_sure)
never = _variant(lambda first, second: 0.0)
always = _variant(lambda first, second: 1.0)
no_formula = _variant(None)
sometimes = _variant(lambda first, second, width: parted(first, second, width=width) if first > 0 else None)
bounded = _variant(_thrice, mismatch_is="upper")
no_bound = _variant(_half, mismatch_is="upper")
no_number = _variant(lambda first, second: 1.5)
raising = _variant(lambda first, second: 1 / 0)


@auditor.subject(source="norm", size=400, core=mean, finish=on_grid, mismatch=parted)
def another(sample: Any, r: Any) -> float:
    """Not what it declares."""
    return on_grid(mean(sample), r) + 1


class Noisy:
    """An object with the three, whose core is random too."""

    mismatch_is = "exact"

    def __call__(self, sample: Any, r: Any, *, noise: float = 0.01) -> float:
        return self.finish(self.core(sample, r.child("core"), noise=noise), r.child("finish"))

    def core(self, sample: Any, r: Any, **params: Any) -> float:
        return mean(sample) + params.get("noise", 0.01) * r.standard_normal()

    def finish(self, core: float, r: Any) -> float:
        return on_grid(core, r)

    def mismatch(self, first: float, second: float) -> float:
        return parted(first, second)


noisy = Noisy()


def _noised(sample: Any, private: Any) -> float:
    return mean(sample) + 0.05 * float(private.standard_normal())


@auditor.subject(source="norm", size=400, core=_noised, finish=on_grid, mismatch=parted)
def private_noise(sample: Any, r: Any, private: Any) -> float:
    """Noise of its own in the core."""
    return on_grid(_noised(sample, private), r)


def _sometimes(core: float, r: Any) -> float:
    """For a tenth of r there is no output, whatever the core."""
    output = on_grid(core, r)
    if r.random() < 0.1:
        raise ValueError("unlucky")
    return output


@auditor.subject(source="norm", size=400, core=mean, finish=_sometimes, mismatch=lambda a, b: 0.9 * parted(a, b))
def unlucky(sample: Any, r: Any) -> float:
    return _sometimes(mean(sample), r)


def _raises(sample: Any) -> float:
    if np.mean(sample) > 0.05:
        raise ValueError("too large")
    return mean(sample)


@auditor.subject(source="norm", size=400, core=_raises, finish=on_grid, mismatch=parted)
def falls(sample: Any, r: Any) -> float:
    """Gives no output for every sixth sample."""
    return on_grid(_raises(sample), r)


def _or_ends(core: float, r: Any) -> float:
    if r.random() < 0.008:
        os._exit(3)
    return core


ends_at_times = auditor.composed(core=mean, finish=_or_ends, source="norm", size=5)
