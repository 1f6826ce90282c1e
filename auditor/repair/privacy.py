"""`correlated`: a draw from a law that a learner states, by noise that belongs to the output. `private`: what most of
disjoint chunks agree on, by noisy counts."""

from __future__ import annotations

import inspect
import math
import secrets
from collections import Counter
from collections.abc import Mapping
from numbers import Real
from typing import Any

from auditor.errors import SubjectError, UsageError
from auditor.randomness import Randomness, as_randomness
from auditor.repair.mechanisms.gumbel import choice_mismatch, choose
from auditor.repair.mechanisms.private_laws import (
    coupled_rho,
    most_counted,
    private_counts_rho,
    private_failure,
    private_rho,
)
from auditor.repair.repaired import Repaired, pieces
from auditor.subjects.finishing import is_its_steps
from auditor.subjects.signature import PRIVATE
from auditor.values import base_value, describe, fingerprint

_ROUNDED = 1e-6  # how far a sum of probabilities may be from 1


class correlated(Repaired):
    """A draw from the law that a learner returns, a dict of probabilities by output: correlated sampling.

    Guarantee: two runs with the laws x and y differ with probability 1 - J <= 2 TV / (1 + TV), exactly J as in `chosen`
    with x and y for the weights; and at most (2 / sqrt(3)) arccos(sum sqrt(x y)). rho is the mean of that over two
    samples. So a learner whose law is eps-private has rho <= about eps sqrt(n / 3) (`claimed_private`).
    Proof: in `mechanisms.gumbel` and `mechanisms.private_laws`.
    Price: none; one run has the law that it had. That a law is eps-private says that two runs agree if r is shared, and
    whoever knows r learns more than eps of a row.

    Each output is named by its key, which has noise of its own, so that outputs that one run alone can have do not
    matter to the others. Write a learner's last random step as a dict of what it can return, instead of drawing it.
    """

    def __init__(self, law: Any) -> None:
        super().__init__(law, "")

    def core_of(self, output: Any) -> dict[Any, float]:
        """Return the logarithms of the probabilities above 0."""
        law = base_value(output)
        if not isinstance(law, Mapping) or not all(isinstance(p, Real) and float(p) >= 0 for p in law.values()):
            raise SubjectError(
                f"the output, {describe(output, 60)}, is no law: return a dict of probabilities by output"
            )
        total = math.fsum(map(float, law.values()))
        if not abs(total - 1) <= _ROUNDED:
            raise SubjectError(
                f"the probabilities of {len(law)} outputs add up to {total:g}, and must to 1: divide them"
            )
        return {name: math.log(p) for name, p in law.items() if p > 0}

    def finish(self, core: dict[Any, float], r: Randomness) -> Any:
        """Draw an output from the stated law, by noise that belongs to each output."""
        return choose(core, 1.0, r.child("gumbel"))[0]

    def mismatch(self, first: dict[Any, float], second: dict[Any, float]) -> float:
        """Return the exact probability that two laws lead to different draws."""
        return choice_mismatch(first, second, 1.0)

    def claimed(self, distance: float) -> float:
        """Return an upper bound on rho, if the laws on two samples have this total variation distance on average."""
        return coupled_rho(distance)

    def claimed_private(self, eps: float, size: int) -> float:
        """Return an upper bound on rho, if the law is eps-private for every one of so many rows."""
        return private_rho(size, eps)


class private(Repaired):
    """The output of a reproducible learner that most of k disjoint chunks have, by noisy counts; None if too few agree.

    Guarantee: for every r that does not depend on the sample, r being public, it is (eps, delta)-private for a row that
    is replaced by another, whatever the learner is. If the learner has rho0 on a chunk, rho <= 4 rho0 + 2 e
    (`claimed`), and the output is None, or not what 3/4 of chunks would give, with probability 4 rho0 + e at most.
    Proof: in `mechanisms.private_laws`. A row is in one chunk, so two counts move by one each; geometric noise with
    exp(-eps/2) hides that, and an output that one chunk alone has reaches the threshold with probability delta.
    Price: a run of the learner sees 1/k of the rows, and k is at least about 16 ln(k) / eps.

    The noise is private randomness, which two runs do not share, and outside of an audit it is drawn from the system's
    entropy unless you give `private`. It is made by numpy, for statistics and not against an adversary who breaks it.
    """

    is_of_outputs = False

    def __init__(self, learner: Any, chunks: int, *, eps: float, delta: float) -> None:
        if private_failure(chunks, eps, delta) >= 1:  # which checks all three
            raise UsageError(
                f"chunks={chunks} are too few for eps={eps!r} and delta={delta!r}: noise would hide what most of them "
                "agree on; auditor.repair.private_chunks(eps, delta, 0.01) says how many are enough"
            )
        self.chunks, self.eps, self.delta = chunks, eps, delta
        super().__init__(learner, f"chunks={chunks}, eps={eps!r}, delta={delta!r}")
        known = [one for one in self.__signature__.parameters.values() if one.name != PRIVATE]
        own = inspect.Parameter(PRIVATE, inspect.Parameter.KEYWORD_ONLY)
        at = next((i for i, one in enumerate(known) if one.kind == own.VAR_KEYWORD), len(known))
        self.__signature__ = inspect.Signature([*known[:at], own, *known[at:]])

    @is_its_steps
    def __call__(self, sample: Any, r: Any, **params: Any) -> Any:
        """Return A(sample, r); outside an audit r may be a seed, and so may private."""
        own = params.pop(PRIVATE, None)
        r, own = as_randomness(r), as_randomness(secrets.randbits(256) if own is None else own)
        return self.finish(self.core(sample, r.child("core"), private=own, **params), r.child("finish"))

    def core(self, sample: Any, r: Randomness, **params: Any) -> Any:
        """Run the learner on each disjoint chunk of the sample, and return the outputs that noisy counts are made
        of."""
        own = params.pop(PRIVATE)
        outputs = []
        for i, part in enumerate(pieces(sample, self.chunks, learner=self.learner)):
            mine = {PRIVATE: own.child("learner", i)} if self.learner.private else {}
            outputs.append(self.run_one(part, r, **params, **mine))
        names = [fingerprint(output) for output in outputs]
        found = most_counted(Counter(names), self.eps, self.delta, own.child("counts"))
        return None if found is None else outputs[names.index(found)]

    def claimed(self, rho: float) -> float:
        """Return an upper bound on rho, if the learner has this one on a chunk."""
        return private_counts_rho(rho, self.chunks, self.eps, self.delta)
