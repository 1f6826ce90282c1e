"""Parts of a record beyond one rho: the profile of random strings, and the arms of a worst case."""

from __future__ import annotations

import msgspec


class Arm(msgspec.Struct, frozen=True, kw_only=True):
    """One of several sources or inputs. All intervals of a record hold together with the confidence given here."""

    name: str
    source: str
    input: str | None
    private: str | None  # "shared" or "unshared", where the subject has private randomness
    pairs: int
    mismatches: int
    low: float
    high: float
    confidence: float
    failures: int | None  # inaccurate runs, where somebody can say
    verdict: str
    replay: str | None  # of its first mismatch


class Step(msgspec.Struct, frozen=True):
    """nu(eta) at one eta: the share of strings seen with more runs than eta outside, and bounds on nu(eta)."""

    eta: float
    seen: float
    low: float
    high: float


class Frequency(msgspec.Struct, frozen=True):
    """An output of one string, and which of its runs gave it."""

    output: str
    runs: list[int]


class Worst(msgspec.Struct, frozen=True):
    """The string with the most runs outside its most frequent output."""

    string: int
    outside: int
    outputs: list[Frequency]  # the most frequent first
    distinct: int
    replay: str | None


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """How many random strings have a canonical output. The steps hold for every eta at once."""

    eta: float
    runs: int  # with each string
    exactly: list[int]  # exactly[t]: strings with t runs outside their most frequent output
    steps: list[Step]
    confidence: float  # of all steps together
    low: float  # nu at the asked eta, each side as sure as the gate
    high: float
    rho_at_most: float  # what follows: rho <= 2 eta + nu, at the best step
    eta_at_most: float | None  # what follows from rho: (rho / nu, nu), at the nu that was asked for
    worst: Worst | None
