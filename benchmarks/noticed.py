"""How many pairs does it take to notice that a declared mismatch is wrong?

Every pair's two cores are finished with 64 fresh r, and its own two outputs are one more coin; the finding has a tenth
of alpha = 0.05. The truth has the mean at the top of a column, and what is declared is a share of it. The table has the
median number of pairs of PATHS simulated audits without another end, with the quartiles in brackets, by the law of the
truth: the same in every pair, or that of a Gaussian number on a grid, |N(0, s)|. `-` is more than MOST pairs.

    python benchmarks/noticed.py
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from auditor.flow.verdict import DOUBT
from auditor.statistics.contradiction import Contradiction
from auditor.trials.integrated import FINISHES

ALPHA, PATHS, MOST = 0.05, 200, 600
MEANS, SHARES = (0.1, 0.05, 0.02, 0.01, 0.002), (0.5, 0.8)
Draw = Callable[[np.random.Generator, float], np.ndarray]
LAWS: dict[str, Draw] = {
    "constant": lambda rng, mean: np.full(MOST, mean),
    "grid": lambda rng, mean: np.minimum(1.0, mean * math.sqrt(math.pi / 2) * np.abs(rng.standard_normal(MOST))),
}


def noticed(rng: np.random.Generator, truth: np.ndarray, share: float) -> float:
    """Return the pair at which the evidence is enough; infinity where it never is."""
    doubt = Contradiction(FINISHES + 1, both=True)
    differing = rng.binomial(FINISHES + 1, truth)
    for n, (m, k) in enumerate(zip((share * truth).tolist(), differing.tolist(), strict=True), start=1):
        doubt.add(m, k)
        if doubt.log_e >= -math.log(DOUBT * ALPHA):
            return n
    return math.inf


def main() -> None:
    print(f"{'law':10}{'m / truth':>10}" + "".join(f"{mean:>18g}" for mean in MEANS))
    for name, draw in LAWS.items():
        for share in SHARES:
            row = f"{name:10}{share:10g}"
            for mean in MEANS:
                rng = np.random.default_rng([round(1e6 * mean), round(100 * share)])
                taken = np.sort([noticed(rng, draw(rng, mean), share) for _ in range(PATHS)])
                low, half, high = (taken[PATHS * i // 4] for i in (1, 2, 3))
                words = "-" if math.isinf(half) else f"{half:.0f} ({low:.0f} to {high:.0f})"
                row += f"{words:>18}"
            print(row, flush=True)


if __name__ == "__main__":
    main()
