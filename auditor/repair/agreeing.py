"""`agreed`: a discrete output that enough disjoint chunks agree on; reproducible heavy hitters over outputs."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from numbers import Real
from typing import Any

from auditor.errors import BadValue, check_count
from auditor.randomness import Randomness
from auditor.repair.mechanisms.threshold import random_threshold
from auditor.repair.repaired import Repaired, pieces
from auditor.values import fingerprint

LOW, HIGH = 0.5, 0.75  # where thresholds are drawn from: above 1/2 only one output can be heavy


@dataclass(frozen=True, slots=True)
class Leader:
    """The most frequent output of the runs with one random string."""

    name: str  # the output's fingerprint
    share: float  # of the runs that gave it
    output: Any

    @property
    def stops(self) -> float:
        """The probability, over the threshold that r draws between LOW and HIGH, that this output's share reaches it,
        so that the search through strings stops here."""
        return min(1.0, max(0.0, (self.share - LOW) / (HIGH - LOW)))


class agreed(Repaired):
    """The output that at least a random share, uniform in [1/2, 3/4], of T runs on disjoint chunks have with one random
    string; with several strings, that of the first string which has such an output; None if none has.

    Guarantee, where all but a share nu of strings have an output of probability at least 1 - eta > 3/4:
    rho <= (2 e + nu B) / (1 - nu), e = exp(-2 T (1/4 - eta)^2), B = 12 / sqrt(pi T) + 8 (3/4)^(T/2), whatever the base.
    Proof: a good string's output reaches 3/4 in both runs but for 2 e (Hoeffding); only a bad one leads to the next.
    Any string parts two runs with probability E sum_x |f(S_x) - f(S'_x)| at most, f the threshold's law, S the shares:
    4 / sqrt(pi T) for each of at most three x of probability p > 1/4, and for the others 2 Pr[S_x > 1/2], at most
    2 (4 p (1 - p))^(T/2) <= 8 p (3/4)^(T/2).
    Price: a run sees 1 / (T * strings) of the rows, and the output is None with probability nu^strings or so.
    """

    is_of_outputs = False

    def __init__(self, learner: Any, chunks: int, *, strings: int = 1) -> None:
        check_count("chunks", chunks, least=3, example=32)
        check_count("strings", strings, least=1, example=4)
        self.chunks, self.strings = chunks, strings
        super().__init__(learner, f"chunks={chunks}" + (f", strings={strings}" if strings > 1 else ""))

    def core(self, sample: Any, r: Randomness, **params: Any) -> list[Leader]:
        """Run the learner on disjoint chunks of the sample, several for each string of randomness; return each string's
        most frequent output."""
        parts = iter(pieces(sample, self.chunks * self.strings, learner=self.learner))
        keys = [r.child("string", i) for i in range(self.strings)]
        return [leader([self.run_one(next(parts), key, **params) for _ in range(self.chunks)]) for key in keys]

    def finish(self, core: list[Leader], r: Randomness) -> Any:
        """Return the output of the first string whose chunks agree often enough, by a threshold that r draws; None if
        none do."""
        found = self.agreed_on(core, r)
        return None if found is None else found.output

    def agreed_on(self, core: list[Leader], r: Randomness) -> Leader | None:
        """Return the string, with its most frequent output, that is the first to agree often enough; None if none does.
        Its output may itself be None."""
        thresholds = (random_threshold(r.child("string", i), LOW, HIGH) for i in range(len(core)))
        return next((one for one, least in zip(core, thresholds, strict=True) if one.share >= least), None)

    def mismatch(self, first: list[Leader], second: list[Leader]) -> float:
        """Return the exact probability over r that two runs differ. At each string both runs stop, or neither, or one
        of them, in which case the other may still come to the same output later."""
        parted, undecided = 0.0, 1.0  # probabilities
        for i, (mine, theirs) in enumerate(zip(first, second, strict=True)):
            one, other = mine.stops, theirs.stops
            later = second[i + 1 :] if one > other else first[i + 1 :]
            missed = 1 - _reaches(later, mine.name if one > other else theirs.name)
            parted += undecided * ((mine.name != theirs.name) * min(one, other) + abs(one - other) * missed)
            undecided *= 1 - max(one, other)
        return min(1.0, parted)

    def claimed(self, eta: float, nu: float) -> float:
        """Return an upper bound on rho, if all but a share nu of strings have an output of probability 1 - eta."""
        if not isinstance(eta, Real) or not 0 <= eta < 1 - HIGH:
            raise BadValue("eta", eta, "must be in [0, 1/4): how often a good string's output may differ, e.g. 0.05")
        if not isinstance(nu, Real) or not 0 <= nu < 1:
            raise BadValue("nu", nu, "must be in [0, 1): the share of strings that may not be good, e.g. 0.3")
        slip = math.exp(-2 * self.chunks * (1 - HIGH - eta) ** 2)
        parts = 3 / ((HIGH - LOW) * math.sqrt(math.pi * self.chunks)) + 8 * 0.75 ** (self.chunks / 2)
        return float(min(1.0, (2 * slip + nu * min(1.0, parts)) / (1 - nu)))


def leader(outputs: list[Any]) -> Leader:
    """Return the most frequent output; the first by fingerprint among equally frequent ones, whatever their order."""
    names = [fingerprint(output) for output in outputs]
    name, times = min(Counter(names).items(), key=lambda item: (-item[1], item[0]))
    return Leader(name, times / len(outputs), outputs[names.index(name)])


def _reaches(strings: list[Leader], name: str) -> float:
    """Return the probability that these strings lead to the output of this name; None is the output if none stops."""
    chance = float(name == fingerprint(None))
    for found in reversed(strings):
        chance = found.stops * (found.name == name) + (1 - found.stops) * chance
    return chance
