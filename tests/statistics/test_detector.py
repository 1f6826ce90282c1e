"""An alarm over audits: its mean run length and its probability by enumeration, and when it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from auditor.statistics.detector import Alarm, alarms, first_alarm
from auditor.statistics.interval import log_e_fail

Counted = tuple[int, int]
RHO = 0.3


def stopped() -> list[tuple[Counted, float]]:
    """The law of an audit that stops at its first mismatch, or after 2 pairs."""
    return [((1, 1), RHO), ((2, 1), (1 - RHO) * RHO), ((2, 0), (1 - RHO) ** 2)]


def in_full() -> list[tuple[Counted, float]]:
    return [((3, k), float(binom.pmf(k, 3, RHO))) for k in range(4)]


def histories(law: list[tuple[Counted, float]], length: int) -> Iterator[tuple[list[Counted], float]]:
    for steps in product(law, repeat=length):
        yield [counts for counts, _ in steps], float(np.prod([weight for _, weight in steps]))


@pytest.mark.parametrize(("law", "length"), [(stopped, 5), (in_full, 4)])
def test_audits_to_a_false_alarm_are_as_many_as_stated_on_average(
    law: Callable[[], list[tuple[Counted, float]]], length: int
) -> None:
    """Exact, over every history: E[min(t, T)] is no less than E[R at min(t, T)], which is how the bound comes about,
    and with N small enough for it to be within T it is N or more."""
    for run_length in (2.0, 3.0):
        audits = risen = 0.0
        for history, weight in histories(law(), length):
            found = alarms(history, RHO, run_length)
            end = found[0].noticed + 1 if found else length
            audits += weight * end
            sums = np.array(history[:end])[::-1].cumsum(axis=0)
            risen += weight * float(np.exp(log_e_fail(sums[:, 0], sums[:, 1], RHO)).sum())
        print(run_length, audits, risen)
        assert risen <= audits + 1e-12
        assert audits >= min(run_length, length)
        assert risen > 0.9 * audits  # so the bound is nearly used up, and a larger statistic would break it


@pytest.mark.parametrize(("law", "length"), [(stopped, 5), (in_full, 4)])
def test_a_false_alarm_ever_is_as_rare_as_stated(law: Callable[[], list[tuple[Counted, float]]], length: int) -> None:
    chances = {}
    for alpha in (0.3, 0.1):
        chances[alpha] = sum(w for history, w in histories(law(), length) if first_alarm(history, RHO, alpha))
        assert 0 < chances[alpha] <= alpha
    print(chances)


def test_the_mixture_without_restarts_begins_at_one_and_is_never_more_on_average() -> None:
    """An alpha of 1 less a trifle is crossed before anything is known, if its weights add up to more than 1."""
    assert first_alarm([(0, 0)] * 5, RHO, 0.999) is None
    assert first_alarm([(50, 50)], RHO, 0.001) == Alarm(0, 0)


def test_an_alarm_says_when_it_began_and_how_soon_it_was_noticed() -> None:
    before, after = [(40, 2)] * 10, [(40, 12)] * 5
    (alarm,) = alarms(before + after[:3], 0.1, 100)
    assert alarm.since == 10
    assert 10 <= alarm.noticed <= 12
    assert first_alarm(before + after, 0.1, 0.01) == Alarm(11, 10)
    assert alarms(before * 3, 0.1, 100) == []
    assert first_alarm(before * 3, 0.1, 0.01) is None


def test_after_an_alarm_it_begins_anew() -> None:
    found = alarms([(40, 20)] * 4 + [(40, 0)] * 4 + [(40, 20)] * 2, 0.1, 100)
    assert [alarm.noticed for alarm in found] == [0, 1, 2, 3, 8, 9]
    assert [alarm.since for alarm in found] == [0, 1, 2, 3, 8, 9]


def test_a_larger_limit_and_a_longer_run_are_noticed_later() -> None:
    history = [(20, 4)] * 30
    first = [alarms(history, 0.1, run_length)[0].noticed for run_length in (10, 100, 1000)]
    assert first == sorted(first)
    assert alarms(history, 0.05, 100)[0].noticed <= first[1]
