"""Two stopped audits against their exact law: every way in which each of them may end, by dynamic programming."""

from __future__ import annotations

from functools import cache

import pytest

from auditor.statistics import two_samples
from auditor.statistics.gate import Gate
from auditor.statistics.interval import sequence_lower, sequence_upper
from auditor.statistics.paired import ShownChange
from auditor.statistics.two_samples import Counts, highest, lowest, shown_by_counts


@pytest.fixture(autouse=True)
def _limits_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of ends have few limits."""
    for limit in (sequence_lower, sequence_upper):
        monkeypatch.setattr(two_samples, limit.__name__, cached[limit.__name__])


cached = {limit.__name__: cache(limit) for limit in (sequence_lower, sequence_upper)}


@cache
def ends(rho: float, target: float, budget: int) -> dict[Counts, float]:
    """How an audit against a target ends, with the probability of each end."""
    gate, live, over = Gate(target, 0.05, budget=budget), {0: 1.0}, dict[Counts, float]()
    for n in range(1, budget + 1):
        then: dict[int, float] = {}
        for k, mass in live.items():
            then[k] = then.get(k, 0.0) + mass * (1 - rho)
            then[k + 1] = then.get(k + 1, 0.0) + mass * rho
        is_over = {k: n == budget or gate.is_pass(n, k) or gate.is_fail(n, k) for k in then}
        over |= {Counts(n, k): mass for k, mass in then.items() if is_over[k]}
        live = {k: mass for k, mass in then.items() if not is_over[k]}
    return over


def wrong(shown: ShownChange, apart: float, margin: float) -> bool:
    """Whether anything of it is untrue, where rho_new - rho_old is `apart`."""
    untrue = ShownChange(better=apart >= 0, worse=apart <= 0, beyond=apart <= margin, within=apart > margin)
    return any(said and no for said, no in zip(shown, untrue, strict=True))


@pytest.mark.parametrize(
    ("old", "new", "margin"),
    [(0.1, 0.1, 0.05), (0.5, 0.5, 0.0), (0.05, 0.1, 0.05), (0.3, 0.4, 0.1), (0.1, 0.2, 0.05), (0.0, 0.06, 0.05)],
)
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_whatever_is_shown_is_wrong_no_more_often_than_alpha(
    old: float, new: float, margin: float, alpha: float
) -> None:
    """Audits that stop by their own counts; ends that hardly happen count as wrong."""
    errors = sum(
        before * after
        for was, before in ends(old, 0.1, 60).items()
        for now, after in ends(new, 0.1, 60).items()
        if before * after < 1e-9 or wrong(shown_by_counts(was, now, alpha, margin), round(new - old, 12), margin)
    )
    print(f"{old:g} and {new:g}, margin {margin:g}: wrong with probability {errors:.6f}, at most {alpha:g}")
    assert errors <= alpha


@pytest.mark.parametrize("rho", [0.02, 0.1, 0.5])
def test_worse_alone_has_all_of_alpha(rho: float) -> None:
    """What a stored baseline is held against: "worse" beyond a margin, where there is no difference at all."""
    errors = sum(
        before * after
        for was, before in ends(rho, 0.1, 60).items()
        for now, after in ends(rho, 0.1, 60).items()
        if before * after < 1e-9 or lowest(was, now, 0.2) > 0
    )
    assert errors <= 0.2


def test_limits_are_those_of_each_audit_at_half_of_the_error() -> None:
    old, new = Counts(200, 4), Counts(100, 40)
    assert lowest(old, new, 0.05) == sequence_lower(100, 40, 0.025) - sequence_upper(200, 4, 0.025)
    assert highest(old, new, 0.05) == sequence_upper(100, 40, 0.025) - sequence_lower(200, 4, 0.025)
    assert (
        lowest(Counts(0, 0), new, 0.05)
        < 0
        < highest(Counts(0, 0), new, 0.05)
        == pytest.approx(sequence_upper(100, 40, 0.025))
    )


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (Counts(200, 4), Counts(100, 40), ShownChange(worse=True, beyond=True)),
        (Counts(100, 40), Counts(200, 4), ShownChange(better=True, within=True)),
        (Counts(400, 0), Counts(400, 0), ShownChange(within=True)),
        (Counts(20, 1), Counts(20, 2), ShownChange()),
        (Counts(2000, 40), Counts(2000, 110), ShownChange(worse=True)),
    ],
)
def test_what_is_shown(old: Counts, new: Counts, shown: ShownChange) -> None:
    assert shown_by_counts(old, new, 0.05, 0.05) == shown


def test_nothing_was_run() -> None:
    assert shown_by_counts(Counts(0, 0), Counts(0, 0), 0.05, 0.05) == ShownChange()
