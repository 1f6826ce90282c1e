"""What a repair may say with its alpha: its shares against exact laws, what a fail takes, fresh pairs, prices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy.stats import binom
from support.requests import request_of, served

from auditor.engine.engine import RunOptions
from auditor.errors import SubjectError
from auditor.flow.question import Work, drive, find_question
from auditor.flow.run import carry_out
from auditor.flow.verdict import Tally
from auditor.questions.pairs import PairsInquiry
from auditor.questions.repair.answer import RepairCost
from auditor.questions.repair.frontier import SAYS_NOTHING, MeasuredSetting
from auditor.questions.repair.inquiry import RULED_OUT, TRIES, RepairInquiry
from auditor.questions.repair.settings import (
    SITES,
    AgreeingFamily,
    AligningFamily,
    ChoosingFamily,
    RoundingFamily,
    Setting,
    VotingFamily,
)
from auditor.questions.repair.units import BOUND, FINISHED, FORMULA, Pair, SettingTried
from auditor.statistics.digits import at_most
from auditor.statistics.interval import log_e_fail, two_sided
from auditor.trials.cell import make_bench
from auditor.trials.trial import Trial

ALPHA, TARGET, PAIRS = 0.05, 0.2, 150
DIFFERS = Tally(20, 20)  # all of so many pairs
ROUNDED = Setting("rounded", {"width": 1.0})


def rows(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def first(sample: Any, r: Any) -> float:
    return float(sample[0])


def asked(**options: Any) -> RepairInquiry:
    """A repair of which nothing has been run."""
    given = {"size": 10, "rho": TARGET, "pairs": PAIRS, "confidence": 1 - ALPHA, **options}
    inquiry = find_question("repair").begin(request_of(first, rows, "repair", **given))
    assert isinstance(inquiry, RepairInquiry)
    return inquiry


def tried(inquiry: RepairInquiry, measured: MeasuredSetting) -> PairsInquiry:
    """The audit of a setting that is tried next."""
    next(inquiry.confirm(measured))
    return inquiry.tries[-1].audit


def decided(leaf: PairsInquiry, verdict: str) -> float:
    """The exact probability that a running audit ends with this verdict, where rho is the target."""
    alive, found = np.array([1.0]), 0.0
    for n in range(1, PAIRS + 1):
        alive = np.append(alive * (1 - TARGET), 0.0) + np.append(0.0, alive * TARGET)
        for k in np.flatnonzero(alive > 1e-12).tolist():
            leaf.tally = Tally(n, k)
            if (said := leaf.outcome()) != "inconclusive":
                found += alive[k] * (said == verdict)
                alive[k] = 0.0
    return found


def test_all_ways_to_pass_wrongly_have_alpha_together() -> None:
    """As it is, and each setting that may be tried, a hair above the target."""
    inquiry = asked()
    assert inquiry.before
    wrong = [decided(inquiry.before, "pass")]
    wrong += [decided(tried(inquiry, MeasuredSetting(SITES)), "pass") for _ in range(TRIES)]
    chance = 1 - math.prod(1 - one for one in wrong)
    print(f"{[f'{one:.5f}' for one in wrong]}: {chance:.5f} of {ALPHA}")
    assert ALPHA / 2 < chance <= ALPHA
    for one, share in zip(wrong, (1 / 2, 1 / 4, 1 / 8, 1 / 16), strict=True):
        assert share * ALPHA / 2 < one <= share * ALPHA


def test_a_setting_that_is_a_repair_is_ruled_out_with_alpha_at_most() -> None:
    """By the frontier where it was not tried, and else by its audit, of which the first has the largest share."""
    audit = decided(tried(asked(), MeasuredSetting(SITES)), "fail")
    print(f"{audit:.5f} by its audit, and {RULED_OUT * ALPHA:.5f} by the frontier")
    assert ALPHA / 8 < audit <= (1 - RULED_OUT) * ALPHA


# The frontier: on values that are 0 or 1 its evidence is that of counts.


def measured(verb: str, k: int, n: int, *, nothing: Sequence[float] = (), by: str = FINISHED) -> MeasuredSetting:
    """A setting of which k of n pairs differ, and some first runs came to no output."""
    one = MeasuredSetting({"sites": SITES, "agreed": Setting("agreed", {"chunks": 4})}.get(verb, ROUNDED))
    for i in range(n):
        one.add(SettingTried(apart=float(i < k), by=by, nothing=nothing[i] if nothing else 0.0), None)
    return one


LOOKS = (40, 64)  # numbers of pairs: at one of them the next share decides elsewhere


def shown(share: float, p: float) -> list[list[bool]]:
    """Which counts of ones are evidence against a mean of p or less, after each number of pairs."""
    return [[bool(log_e_fail(n, k, p) >= -math.log(share)) for k in range(n + 1)] for n in LOOKS]


@pytest.mark.parametrize(("verb", "ways"), [("rounded", 1), ("agreed", 2)])
def test_a_setting_misses_where_its_evidence_reaches_its_share(verb: str, ways: int) -> None:
    """A setting of `agreed` can be refused for two things, and has half for each."""
    found = [[measured(verb, k, n).misses(TARGET, ALPHA) for k in range(n + 1)] for n in LOOKS]
    assert found == shown(ALPHA / ways, TARGET)
    assert found not in (shown(ALPHA / ways / 2, TARGET), shown(2 * ALPHA / ways, TARGET))


def test_runs_without_an_output_have_the_other_half() -> None:
    silent = [[[1.0] * k + [0.0] * (n - k) for k in range(n + 1)] for n in LOOKS]
    found = [[measured("agreed", 0, len(one), nothing=one).misses(TARGET, ALPHA) for one in some] for some in silent]
    assert found == shown(ALPHA / 2, SAYS_NOTHING)
    assert found not in (shown(ALPHA / 4, SAYS_NOTHING), shown(ALPHA, SAYS_NOTHING))


def test_an_upper_bound_shows_nothing_from_below() -> None:
    assert not measured("rounded", 40, 40, by=BOUND).misses(TARGET, ALPHA)
    assert measured("rounded", 40, 40, by=FORMULA).misses(TARGET, ALPHA)


@pytest.mark.parametrize("count", [1, 3, 9])
def test_the_intervals_of_a_frontier_hold_together(count: int) -> None:
    """Each has its part of alpha, half of it on either side."""
    inquiry = asked()
    inquiry.measured = [measured("rounded", 7, 40) for _ in range(count)]
    for point in inquiry.answer().fields.frontier:
        low, high = two_sided("anytime", 40, 7, 1 - ALPHA / count)
        assert (point.low, point.high) == (pytest.approx(low), pytest.approx(high))


# What a fail takes.


def over(*settings: MeasuredSetting, before: Tally = DIFFERS) -> RepairInquiry:
    """A repair that has come to its end."""
    inquiry = asked()
    assert inquiry.before
    inquiry.before.tally, inquiry.measured, inquiry.finished = before, [*settings], True
    return inquiry


def hopeless() -> MeasuredSetting:
    return measured("rounded", 40, 40)


def test_a_wrong_fail_by_the_frontier_has_its_share() -> None:
    """One setting is just within the target, the others are hopeless: exactly, over all counts of its pairs; and what
    is said is that of its evidence at each of them."""
    found, inquiry, others = [], over(), [hopeless(), hopeless()]
    for n in LOOKS:
        said = []
        for k in range(n + 1):
            inquiry.measured = [*others, measured("rounded", k, n)]
            said.append(inquiry.verdict())
        found.append([one.outcome == "fail" for one in said])
        chance = float(binom.pmf(np.arange(n + 1), n, TARGET) @ found[-1])
        print(f"after {n} pairs a wrong fail has probability {chance:.5f}")
        assert 0 < chance <= RULED_OUT * ALPHA
        assert {one.outcome for one in said} == {"fail", "inconclusive"}
        assert all("No repair was confirmed" in one.reason for one in said if one.outcome == "inconclusive")
    assert found == shown(RULED_OUT * ALPHA, TARGET)
    assert found not in (shown(RULED_OUT * ALPHA / 2, TARGET), shown(RULED_OUT * ALPHA * 2, TARGET))


def failing(setting: MeasuredSetting) -> Callable[[], RepairInquiry]:
    """It was tried, and its audit failed."""

    def made() -> RepairInquiry:
        inquiry = over(hopeless())
        tried(inquiry, setting).tally = Tally(PAIRS, PAIRS)
        inquiry.measured.append(setting)
        return inquiry

    return made


def undecided() -> RepairInquiry:
    inquiry, setting = over(hopeless()), measured("sites", 4, 40)
    tried(inquiry, setting).tally = Tally(PAIRS, 30)
    inquiry.measured.append(setting)
    return inquiry


def broken(pairs: int) -> MeasuredSetting:
    """A setting that did not run in so many of 40 pairs."""
    one = MeasuredSetting(Setting("rounded", {"width": 2.0}))
    for i in range(40):
        one.add(SettingTried(apart=None, error="no such width") if i < pairs else SettingTried(apart=0.0), None)
    return one


def passing_at_last() -> RepairInquiry:
    """The first that was tried failed, and the second passes."""
    inquiry = failing(measured("sites", 4, 40))()
    audit: Any = tried(inquiry, measured("rounded", 0, 40))
    audit.tally = Tally(PAIRS, 0)
    for _ in range(PAIRS):
        audit.mean.add(0.0)
    return inquiry


def broken_audit() -> RepairInquiry:
    inquiry, setting = over(hopeless()), measured("rounded", 0, 40)
    tried(inquiry, setting)
    inquiry.measured.append(setting)
    inquiry.failed(len(inquiry.cells) - 1, SubjectError("no such width"))
    return inquiry


SILENT = [1.0] * 40
FEW = [1.0] * 5 + [0.0] * 35


@pytest.mark.parametrize(
    ("made", "outcome", "words"),
    [
        (lambda: over(hopeless(), hopeless()), "fail", "all 2 settings are shown to miss it (95 % confidence)"),
        (lambda: over(hopeless()), "fail", "the one setting is shown to miss it"),
        (lambda: over(hopeless(), measured("rounded", 9, 40)), "inconclusive", '--with "rounded(width=1.0)"'),
        (lambda: over(measured("rounded", 40, 40, by=BOUND)), "inconclusive", "is not ruled out"),
        (lambda: over(*[measured("rounded", 9, 40)] * 3), "inconclusive", "and 2 more are not ruled out"),
        (
            lambda: over(broken(1), measured("rounded", 9, 40)),
            "inconclusive",
            "1 more are not ruled out: rho is",
        ),
        (
            lambda: over(hopeless(), before=Tally(20, 5)),
            "inconclusive",
            "open whether one is needed: as it is, rho",
        ),
        (lambda: over(before=Tally(20, 5)), "inconclusive", "it is open whether one is needed"),
        (lambda: over(), "fail", "No wrapper fits"),
        (lambda: over(measured("agreed", 0, 40, nothing=SILENT)), "fail", "gives no output in more than 10 %"),
        (lambda: over(measured("agreed", 0, 40, nothing=FEW)), "inconclusive", "about 12% of the runs give no"),
        (lambda: over(broken(40)), "fail", "rounded(width=2.0) does not run: no such width"),
        (lambda: over(broken(1)), "inconclusive", "not ruled out: it does not run: no such width"),
        (failing(measured("sites", 4, 40)), "fail", "all 2 settings are shown to miss it"),
        (passing_at_last, "pass", "rounded(width=1.0) repairs it. "),
        (undecided, "inconclusive", "sites() may repair it, which is not confirmed: rho is"),
        (broken_audit, "inconclusive", "not ruled out: it does not run: no such width"),
    ],
)
def test_a_fail_takes_evidence_of_everything_that_was_offered_and_a_pass_one_audit(
    made: Callable[[], RepairInquiry], outcome: str, words: str
) -> None:
    said = made().verdict()
    assert said.outcome == outcome
    assert words in said.reason


@pytest.mark.parametrize(("given", "silent"), [("agreed(chunks=4)", True), ("rounded(width=2.0)", False)])
def test_a_setting_that_was_given_passes_by_rho_alone_and_says_so(given: str, silent: bool) -> None:
    """A repair that looks for settings offers none that often gives no output; nobody looked at one that was given."""
    inquiry = asked(with_=given)
    leaf: Any = inquiry.tries[0].audit
    leaf.tally = Tally(PAIRS, 0)
    for _ in range(PAIRS):
        leaf.mean.add(0.0)
    assert inquiry.verdict().outcome == "pass"
    assert ("agree on nothing" in inquiry.verdict().reason) is silent


def test_nothing_is_failed_before_the_end() -> None:
    inquiry = over(hopeless())
    inquiry.finished = False
    assert inquiry.verdict().outcome == "inconclusive"


@pytest.mark.parametrize(
    ("shares", "odd", "expected"),
    [
        ((0.9, 0.23, 0.21), SettingTried(apart=None, error="no such width"), [2, 1]),
        ((0.9, 0.24, 0.23, 0.22, 0.19), SettingTried(apart=0.0, nothing=1.0), [4, 3, 2]),
    ],
)
def test_what_is_not_ruled_out_is_tried_from_the_nearest_on(
    monkeypatch: pytest.MonkeyPatch, shares: Sequence[float], odd: SettingTried, expected: list[int]
) -> None:
    """What is below the target comes first, and once; the first is ruled out, the last does not run or is silent; and
    at most three are tried."""
    inquiry = asked()
    settings = [Setting("rounded", {"width": 1.0 + i}) for i in range(len(shares) + 1)]
    monkeypatch.setattr(RepairInquiry, "offered", lambda self: settings)
    assert inquiry.before
    inquiry.before.tally = DIFFERS

    def on_frontier(cell: int, i: int, pairs: int) -> Trial:
        tried = [SettingTried(apart=float(i < share * pairs), by=FORMULA) for share in shares]
        last = odd if i == 0 or odd.apart is not None else SettingTried(apart=0.0)  # which fails once
        return Trial(i, None, None, 0.0, payload=msgspec.to_builtins(Pair(tried=[*tried, last])))

    def serve(work: Sequence[Work]) -> list[Iterator[Trial]]:
        """Only the pairs of the frontier: no audit learns anything, and nothing is seen by looking."""
        [one] = work
        if inquiry.cells[one.cell].name != "frontier":
            return [iter(())]
        return [served(one, lambda cell, index: on_frontier(cell, index, len(one.wanted)))]

    drive(inquiry.steps(), serve)
    assert [settings.index(one.setting) for one in inquiry.tries] == expected


def test_a_run_that_fails_ends_it_unless_it_is_one_of_a_setting() -> None:
    inquiry, error = asked(), SubjectError("no such sample")
    next(inquiry.measure_settings([ROUNDED]))
    tried(inquiry, measured("rounded", 0, 40))
    for cell in (0, 1):
        with pytest.raises(SubjectError, match="no such sample"):
            inquiry.failed(cell, error)
    inquiry.failed(2, error)
    assert inquiry.errors == {2: error}


# Fresh pairs.


def test_no_two_steps_share_a_sample() -> None:
    """Of the audit as it is, the pairs that are looked at, the frontier, and the confirmation."""
    request = request_of(first, rows, "repair", size=10, rho=0.5, confidence=0.9)
    inquiry = find_question("repair").begin(request)
    assert isinstance(inquiry, RepairInquiry)
    record = carry_out(inquiry, request, RunOptions(second_process=False), None)
    names = [cell.name for cell in inquiry.cells]
    assert names[:3] == ["as it is", "looked at", "frontier"]
    assert names[3:] == [one.setting.spec for one in inquiry.tries]
    assert record.exit_code == 0
    seen = []
    for cell in inquiry.cells:
        bench = make_bench(cell)
        seen += [bench.draw(i, which).tobytes() for i in range(4) for which in (0, 1)]
        seen += [bench.keys.r.child(i).digest for i in range(4)]
    assert len({*seen}) == len(seen) == 12 * len(inquiry.cells) >= 48


# Prices.


def test_a_price_is_what_was_measured() -> None:
    """The mean loss with the setting less the mean loss as it is, and how often the answer is another."""
    setting = Setting("agreed", {"chunks": 4}, "each fit sees 10 of 40 rows", rows=10)
    one = MeasuredSetting(setting)
    for changed, before, after in ((True, 0.1, 0.3), (False, 0.2, 0.2), (False, 0.0, 0.4)):
        one.add(SettingTried(apart=0.0, changed=changed, loss=after), before)
    price = one.price()
    assert (price.words, price.rows, price.change) == (setting.words, 10, None)
    assert (price.loss, price.loss_before) == (pytest.approx(0.2), pytest.approx(0.1))
    assert price.changed == pytest.approx(1 / 3)
    assert one.point(ALPHA).price == price
    assert MeasuredSetting(Setting("rounded", {"width": 4.0}, "w", 2.0)).price() == RepairCost(words="w", change=2.0)
    assert broken(40).point(ALPHA).nothing == 0.0  # of no run is it known


def test_the_price_is_that_of_the_setting_that_was_tried_last() -> None:
    inquiry = asked()
    for width in (1.0, 3.0):
        tried(inquiry, MeasuredSetting(Setting("rounded", {"width": width}, f"by {width / 2}", width / 2)))
    answer = inquiry.answer().fields
    assert (answer.wrapper, answer.price.change) == ("rounded(width=3.0)", 1.5)


def test_what_a_theorem_costs_is_said_of_each_setting() -> None:
    """Half a width; ln(K) / strength; the rows of a chunk: by definition, for every setting that is offered."""
    numbers = {"gaps": {"output": 1.0}, "sizes": {"output": 1}, "alike": True, "named": False}
    far = {"gaps": {"output.a": 1.0, "output.b": 90.0}, "sizes": {"output.a": 1, "output.b": 1}, "alike": True}
    for seen in ([numbers], [{**far, "named": False}], [{"points": 0.3, "all": 2.0}]):
        for one in RoundingFamily().settings(seen, 0.1, 100, "churn"):
            width = one.arguments["width"]
            widths = [*width.values()] if isinstance(width, dict) else [width]
            assert one.change == max(widths) / 2
            assert all(at_most(half / 2) in one.words for half in widths)
    for one in AligningFamily().settings([{"gap": 2.0}], 0.1, 100, "rho"):
        assert one.change == one.arguments["width"] / 2
    chosen = ChoosingFamily().settings([{"spread": 0.5, "count": 7, "top": 2}], 0.1, 100, "rho")
    assert [one.change for one in chosen] == [math.log(7) / one.arguments["strength"] for one in chosen]
    for family in (VotingFamily(), AgreeingFamily()):
        made = family.settings([{}], 0.1, 330, "rho")
        assert [one.rows for one in made] == [330 // one.arguments["chunks"] for one in made]
        assert all(one.words == f"each fit sees {one.rows} of 330 rows" for one in made)
        assert made
