"""Which of several candidates is accurate and stable? Bets on their differences, on the same samples and r. Pure.

Candidate j has on each pair a score s_j and a measure x_j of how far two runs are apart, both in [0, 1]. Of every
ordered pair (j, k) there is one side of E[s_j - s_k] and one of E[x_j - x_k]; of every candidate both sides of its own
two means: 2 K (K - 1) + 4 K sides. Each is a bet that the mean of some h in [0, 1] is below p,

    prod_i (1 + h_i (theta - 1)) / (1 + p (theta - 1)),   theta < 1,   h = (1 + v_j - v_k) / 2, or v_j, or 1 - v_j,

averaged over the prior of `paired.py`. At E[h] >= p its mean is at most 1, so by Ville's inequality it ever reaches
1/share with probability at most `share`, for the largest such p and so for all of them. With share = alpha / (2 K (K +
1)) all limits hold together, at every number of pairs, with probability 1 - alpha. Who runs on a pair may depend on
all pairs before it: those that do not run stake nothing.

With tolerances w on the score and m on the measure:

- k is *out* once some j has E[s_j - s_k] > w/2 shown. The best is never out.
- j is *chosen*, if it is not out, once E[s_k - s_j] <= w and E[x_j - x_k] <= m are shown for all k that are not out. So
  its score is within w of the best, and no candidate whose score is within w/2 of the best is more stable by more than
  m: none of these is ever out. The most stable of those within w/2 of the best is shown to be so in the end.
- j *dominates* k if E[s_k - s_j] <= w and E[x_j - x_k] <= m, and one of E[s_j - s_k] > w and E[x_j - x_k] < -m. The
  front is what nobody dominates: what is shown to be dominated is left out, so that the list contains the front. What
  is out is not held against what is not, so that the chosen one is on the list. (No candidates dominate each other in a
  circle: of its steps those by the score would have to be more than those by the measure, and fewer.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from auditor.statistics.interval import Reals
from auditor.statistics.paired import LOG_DOWN, LOWERED, least_pairs_within

SCORE, MEASURE = 0, 1
_FIRST, _SHARE = 8, 8  # pairs before the first look; after it a block is 1/8 of the pairs so far
_NEVER = 1e9  # pairs, where nothing says that evidence grows


def sides(count: int) -> int:
    """Return how many limits hold together for so many candidates."""
    return 2 * count * (count - 1) + 4 * count


def least_pairs(count: int, alpha: float, within: float, margin: float) -> int:
    """Return after how many pairs one of several candidates is chosen, if they are alike on each of them."""
    return least_pairs_within(alpha / sides(count), min(within, margin))


def block_after(done: int) -> int:
    """Return how many pairs are run until the next look."""
    return max(_FIRST, done // _SHARE)


class Choice:
    """What is shown of several candidates. What was shown once stays so."""

    def __init__(self, count: int, alpha: float, within: float, margin: float) -> None:
        self.count, self.within, self.margin = count, within, margin
        # Of candidate j, by score and measure: [j, k] is about v_j - v_k, [j, j] about v_j, [j, -1] about 1 - v_j.
        self._wealth = np.zeros((2, count, count + 1, len(LOWERED)))
        self._together = np.zeros((count, count + 1))  # pairs that both have run
        self.share = alpha / sides(count)
        self.totals = np.zeros((2, count))
        self.squares = np.zeros((2, count))
        none = np.zeros((count, count), dtype=bool)
        self._no_worse, self._better, self._far_better = none, none.copy(), none.copy()  # [j, k]: j's score than k's
        self._no_shakier, self._steadier = none.copy(), none.copy()  # [j, k]: j's measure than k's
        self.out: set[int] = set()
        self.gone: set[int] = set()
        self.chosen: int | None = None

    @property
    def pairs(self) -> list[int]:
        """How many pairs each candidate has run."""
        return [int(n) for n in self._together[:, -1]]

    @property
    def left(self) -> list[int]:
        """The candidates that may still be chosen: those that are not out, and can be run."""
        return [j for j in range(self.count) if j not in self.out and j not in self.gone]

    @property
    def front(self) -> list[int]:
        """Those that are not shown to be dominated; the true front is among them."""
        return [k for k in range(self.count) if k not in self.gone and not self.dominating(k)]

    def dominating(self, k: int) -> list[int]:
        """Return who is shown to dominate a candidate."""
        shown = self._no_worse[:, k] & self._no_shakier[:, k] & (self._far_better[:, k] | self._steadier[:, k])
        ignored = self.gone if k in self.out else self.gone | self.out
        return [j for j in np.flatnonzero(shown).tolist() if j not in ignored]

    def add(self, who: Sequence[int], scores: Reals, measures: Reals) -> None:
        """Count some pairs that these candidates have run: a row for each pair, a column for each candidate."""
        own = np.arange(len(who))
        places = np.ix_([*who], [*who, self.count])
        for of, values in ((SCORE, scores), (MEASURE, measures)):
            h = np.empty((len(values), len(who), len(who) + 1))
            h[:, :, :-1] = (1 + values[:, :, None] - values[:, None, :]) / 2
            h[:, own, own], h[:, :, -1] = values, 1 - values
            with np.errstate(divide="ignore"):  # a bet of everything may be lost
                self._wealth[of][places] += np.log1p(h[..., None] * LOWERED).sum(axis=0)
            self.totals[of][[*who]] += values.sum(axis=0)
            self.squares[of][[*who]] += (values**2).sum(axis=0)
        self._together[places] += len(scores)

    def look(self) -> None:
        """Take note of what the pairs show by now: who is out, and who is chosen."""
        if self.chosen is not None:
            return
        within, margin = self.within, self.margin
        self._no_worse |= self._shows_below(SCORE, within).T
        self._better |= self._shows_below(SCORE, -within / 2).T
        self._far_better |= self._shows_below(SCORE, -within).T
        self._no_shakier |= self._shows_below(MEASURE, margin)
        self._steadier |= self._shows_below(MEASURE, -margin)
        for k in self.left:
            if self._better[self.left, k].any():
                self.out.add(k)
        left = self.left
        settled = [j for j in left if all(self._is_settled(j, k) for k in left)]
        self.chosen = min(settled, key=lambda j: self.mean(MEASURE, j), default=None)

    def drop(self, k: int) -> None:
        """Leave a candidate out of all that is said: it cannot be run."""
        self.gone.add(k)

    def mean(self, of: int, j: int) -> float:
        """Return what was seen of a candidate's score or measure."""
        return float(self.totals[of, j] / self._together[j, -1]) if self._together[j, -1] else math.nan

    def standard_error(self, of: int, j: int) -> float | None:
        """Return the standard error of that mean, which describes what was seen and bounds nothing."""
        n, total = self._together[j, -1], self.totals[of, j]
        return math.sqrt(max(0.0, self.squares[of, j] - total**2 / n) / (n - 1) / n) if n > 1 else None

    def limits(self, of: int) -> list[tuple[float, float]]:
        """Return limits of each candidate's mean; they hold together with all others at every number of pairs."""
        upper = self._upper(of)
        return [(1 - float(upper[j, -1]), float(upper[j, j])) for j in range(self.count)]

    def next_runs(self) -> dict[int, float]:
        """Return who is to run next, and for how many pairs, if evidence goes on growing as it did.

        Each k that is not out has to be settled against the one that is chosen in the end, or to be shown to be out by
        somebody. For each j that may be chosen this gives the pairs that it takes of whom; the j with the fewest in all
        is what the decision hangs on. Who may be shown to be dominated by one of those with at most as many pairs as
        it has had, before that one is done, runs with them.
        """
        left = self.left
        if self.chosen is not None or not left:
            return {}
        if not self._together[np.ix_(left, left)].all():
            return dict.fromkeys(left, 0.0)
        better = self._still(SCORE, -self.within / 2)[np.ix_(left, left)]  # k's score below i's
        np.fill_diagonal(better, np.inf)
        rivals = dict(zip(left, ((left[i], better[k, i]) for k, i in enumerate(better.argmin(axis=1))), strict=True))
        no_worse = np.where(self._no_worse, 0, self._still(SCORE, self.within).T)
        settled = np.maximum(no_worse, np.where(self._no_shakier, 0, self._still(MEASURE, self.margin)))
        plans = list[dict[int, float]]()
        for j in left:
            plan: dict[int, float] = {}
            for k in (k for k in left if not self._is_settled(j, k)):
                partner, pairs = min(rivals[k], (j, settled[j, k]), key=lambda one: one[1])
                for one in (k, partner):
                    plan[one] = max(plan.get(one, 0.0), float(pairs))
            plans.append(plan)
        plan = min(plans, key=lambda plan: sum(plan.values()))
        far = np.minimum(self._still(SCORE, -self.within).T, self._still(MEASURE, -self.margin))
        shown = self._far_better | self._steadier
        dominated = np.maximum(settled, np.where(shown, 0, far))
        for k in (k for k in self.front if k not in plan):
            soon = [float(dominated[i, k]) for i in plan if dominated[i, k] <= min(plan[i], self._together[k, -1])]
            if soon:
                plan[k] = min(soon)
        return plan

    def _is_settled(self, j: int, k: int) -> bool:
        """True if j is shown to be neither less accurate nor less stable than k, but for the tolerances."""
        return j == k or bool(self._no_worse[j, k] and self._no_shakier[j, k])

    def _log_evidence(self, of: int, p: Reals | float) -> Reals:
        """Return the log evidence of each bet that its mean is below p: bets are on each candidate and on each two of
        them."""
        p = np.asarray(p, dtype=float)[..., None]
        terms = LOG_DOWN + self._wealth[of] - self._together[..., None] * np.log1p(p * LOWERED)
        top = terms.max(axis=-1)
        return np.asarray(top + np.log(np.exp(terms - top[..., None]).sum(axis=-1)))

    def _shows_below(self, of: int, limit: float) -> np.ndarray:
        """Return for each (j, k) whether E[v_j - v_k] < limit is shown."""
        shown = self._log_evidence(of, (1 + limit) / 2)[:, :-1] >= -math.log(self.share)
        np.fill_diagonal(shown, False)
        return shown

    def _still(self, of: int, limit: float) -> Reals:
        """Return for each (j, k) how many more pairs may show E[v_j - v_k] < limit: each bet goes on as it did, and the
        first that would do it alone counts."""
        together = self._together[:, :-1]
        gains = self._wealth[of][:, :-1] - together[..., None] * np.log1p((1 + limit) / 2 * LOWERED)
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where(gains > 0, (-math.log(self.share) - LOG_DOWN) / gains, np.inf).min(axis=-1)
        more = np.maximum(np.minimum(times, _NEVER) - 1, 0) * together
        return np.where(together > 0, np.minimum(more, _NEVER), _NEVER)

    def _upper(self, of: int) -> Reals:
        """Return an upper limit of each bet's mean: the least p below which it is shown to be."""
        low, high = np.zeros_like(self._together), np.ones_like(self._together)
        for _ in range(50):
            middle = (low + high) / 2
            shown = self._log_evidence(of, middle) >= -math.log(self.share)
            low, high = np.where(shown, low, middle), np.where(shown, middle, high)
        return high
