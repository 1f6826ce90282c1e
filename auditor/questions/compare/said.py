"""What a comparison says in numbers and words, from its counts. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import TYPE_CHECKING

from auditor.flow.record import Finding, Measure, RhoInterval
from auditor.flow.wobbles import pairs_by_element
from auditor.questions.cells import METHODS
from auditor.questions.compare.answer import (
    BETTER,
    NONE_SHOWN,
    WORSE,
    ChangedOutputs,
    CompareAnswer,
    ComparedElement,
    Discordant,
    RhoDifference,
    Side,
)
from auditor.questions.compare.versions import NEW, OLD
from auditor.statistics.interval import two_sided
from auditor.statistics.outward import exact, sure
from auditor.statistics.paired import ShownChange, VersionCounts, difference_limits, mean_lower, mean_upper

if TYPE_CHECKING:
    from auditor.questions.compare.inquiry import Comparing

_ELEMENTS = 5  # that are named
_BETTING = "betting confidence sequence on pairs of both"


def change_of(shown: ShownChange) -> str:
    return BETTER if shown.better else WORSE if shown.worse else NONE_SHOWN


def outcome_of(shown: ShownChange) -> str:
    return "fail" if shown.beyond else "pass" if shown.within else "inconclusive"


def side_of(what: str, pairs: int, mismatches: int, confidence: float) -> Side:
    low, high = two_sided("anytime", pairs, mismatches, confidence)
    rate = mismatches / pairs if pairs else None
    counts = {"pairs": pairs, "mismatches": mismatches}
    return Side(what=what, **counts, estimate=rate, low=low, high=high, confidence=confidence)


def rho_of(side: Side) -> RhoInterval:
    return RhoInterval(side.estimate, side.low, side.high, side.confidence, METHODS["anytime"])


def difference_of(seen: VersionCounts, confidence: float) -> RhoDifference:
    low, high = difference_limits(seen, confidence)
    estimate = (seen.new - seen.old) / seen.pairs if seen.pairs else None
    return RhoDifference(estimate=estimate, low=low, high=high, confidence=confidence)


def _changed(inquiry: Comparing) -> ChangedOutputs:
    seen, share = inquiry.changed, (1 - inquiry.plan.confidence) / 2
    return ChangedOutputs(
        runs=2 * seen.n,
        differ=seen.half + 2 * seen.one,
        estimate=seen.mean(),
        low=mean_lower(seen, share),
        high=mean_upper(seen, share),
        confidence=inquiry.plan.confidence,
        first=inquiry.first_changed,
        replay_old=inquiry.counted[OLD].replay(inquiry.first_changed),
        replay_new=inquiry.counted[NEW].replay(inquiry.first_changed),
    )


def fields_of(inquiry: Comparing) -> CompareAnswer:
    confidence, tallies = inquiry.plan.confidence, [one.tally for one in inquiry.counted]
    old, new = (
        side_of(inquiry.versions.words[cell], tallies[cell].pairs, tallies[cell].mismatches, confidence)
        for cell in (OLD, NEW)
    )
    return CompareAnswer(
        change=change_of(inquiry.shown),
        margin=inquiry.margin,
        method="paired",
        old=old,
        new=new,
        difference=difference_of(inquiry.seen, confidence),
        error=inquiry.plan.alpha,
        discordant=Discordant(**inquiry.seen._asdict()),
        changed=_changed(inquiry),
        looked=min(map(len, inquiry.elements)),
        elements=_elements(inquiry),
        versions=_versions(inquiry.old_versions),
    )


def _elements(inquiry: Comparing) -> list[ComparedElement]:
    """Those whose counts of pairs changed most."""
    old, new = (pairs_by_element(inquiry.elements[cell]) for cell in (OLD, NEW))
    rows = [ComparedElement(name=name, old=old.get(name, 0), new=new.get(name, 0)) for name in {**old, **new}]
    moved = [row for row in rows if row.old != row.new]
    return sorted(moved, key=lambda row: (-abs(row.new - row.old), row.name))[:_ELEMENTS]


def _versions(old: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """What is another version here: (there, here)."""
    here = {name: _installed(name) for name in old}
    return {name: (there, here[name]) for name, there in old.items() if here[name] != there}


def _installed(name: str) -> str:
    if name == "python":
        return python_version()
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def difference_measure(apart: RhoDifference, method: str) -> Measure:
    return Measure("rho_new - rho_old", apart.estimate, apart.low, apart.high, apart.confidence, method)


def measures_of(answer: CompareAnswer) -> Iterator[Measure]:
    yield difference_measure(answer.difference, _BETTING)
    for name, one in (("rho of the new", answer.new), ("rho of the old", answer.old)):
        limits = (one.low, one.high, one.confidence)
        yield Measure(name, one.estimate, *limits, METHODS["anytime"], one.mismatches, one.pairs)
    if found := answer.changed:
        limits = (found.low, found.high, found.confidence)
        yield Measure("answers that changed", found.estimate, *limits, _BETTING, found.differ, found.runs)


def reason_of(inquiry: Comparing) -> str:
    """Which way rho went, what that rests on, and what is not known."""
    seen, confidence = inquiry.seen, inquiry.plan.confidence
    counts = (
        f"of {seen.pairs:,} pairs {seen.old + seen.both:,} differ with the old version and "
        f"{seen.new + seen.both:,} with the new"
    )
    return f"{moved(inquiry.shown, inquiry.margin)} ({sure(confidence)}): {counts}{_left_open(inquiry)}"


def moved(shown: ShownChange, margin: float) -> str:
    """What is shown of rho_new - rho_old."""
    within = f"rose by no more than {exact(margin)}, the margin" if margin else "did not rise"
    if shown.beyond:
        return f"rho rose by more than {exact(margin)}, the margin" if margin else "rho rose"
    if shown.better:
        return "rho fell"
    if shown.worse:
        return (
            f"rho rose, and {within}"
            if shown.within
            else f"rho rose; whether by more than {exact(margin)} is not shown"
        )
    return f"rho {within}" if shown.within else f"no difference of rho is shown, nor that it is within {exact(margin)}"


def _left_open(inquiry: Comparing) -> str:
    if inquiry.shown.within or inquiry.shown.beyond or inquiry.seen.pairs < inquiry.plan.budget:
        return ""
    return f"; more --pairs, or a larger --margin than {exact(inquiry.margin)}, may decide it"


def findings_of(inquiry: Comparing) -> Iterator[Finding]:
    tree = inquiry.versions.worktree
    if tree and tree.changed:
        files = "a file that is" if tree.changed == 1 else f"{tree.changed:,} files that are"
        yield Finding("uncommitted", "info", f"the new version is the folder as it is, with {files} not committed")
    if tree and tree.is_head and not tree.changed:
        yield Finding("same-code", "warning", "the revision is the one that is checked out, and nothing was changed")
    if inquiry.cells[NEW].within is not None:
        words = "a tolerance is for the two runs of a pair: answers of old and new are compared exactly"
        yield Finding("tolerance-exact", "info", words)
