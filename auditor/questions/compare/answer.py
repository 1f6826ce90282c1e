"""What does a comparison say? Which way rho went, how far, how many answers changed; and how a report shows that."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from auditor.flow.parts import Chart, Command, Details, Facts, Part, Series, Table, Words
from auditor.flow.record import Measure, Record, RhoInterval
from auditor.questions.cell_inquiries import METHODS
from auditor.statistics.digits import at_least, at_most, between, exact, percent
from auditor.statistics.interval import two_sided
from auditor.statistics.paired import ShownChange, VersionCounts, difference_limits

BETTER, WORSE, NONE_SHOWN, NOT_COMPARABLE = "better", "worse", "no difference shown", "not comparable"


def change_of(shown: ShownChange) -> str:
    """Return what is shown of the new version: better, worse, or neither."""
    return BETTER if shown.better else WORSE if shown.worse else NONE_SHOWN


def outcome_of(shown: ShownChange) -> str:
    """Return the verdict: a fail if rho rose by more than the margin, a pass if it is shown that it did not."""
    return "fail" if shown.beyond else "pass" if shown.within else "inconclusive"


def change_in_words(shown: ShownChange, margin: float) -> str:
    """Say what is shown of rho_new - rho_old."""
    within = f"rose by no more than {exact(margin)}, the margin" if margin else "did not rise"
    new = "The new version is"
    if shown.beyond:
        by = f"rho rose by more than {exact(margin)}, the margin" if margin else "rho rose"
        return f"{new} less reproducible: {by}"
    if shown.better:
        return f"{new} more reproducible: rho fell"
    if shown.worse and shown.within:
        return f"{new} a little less reproducible: rho rose, and {within}"
    if shown.worse:
        return f"{new} less reproducible: rho rose; whether by more than {exact(margin)}, the margin, is not shown"
    if shown.within:
        return f"{new} no less reproducible than the margin allows: rho {within}"
    return f"Neither is shown: that rho rose by more than {exact(margin)}, the margin, nor that it did not"


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One version: what it is, and its rho with a two-sided interval of its own."""

    what: str
    pairs: int
    mismatches: int
    estimate: float | None
    low: float
    high: float
    confidence: float

    @classmethod
    def of(cls, what: str, pairs: int, mismatches: int, confidence: float) -> Side:
        """Return what a version's own pairs show of its rho."""
        low, high = two_sided("anytime", pairs, mismatches, confidence)
        rate, counts = mismatches / pairs if pairs else None, {"pairs": pairs, "mismatches": mismatches}
        return cls(what=what, **counts, estimate=rate, low=low, high=high, confidence=confidence)

    @property
    def rho(self) -> RhoInterval:
        """Return rho of this version with its interval, as a record has it."""
        return RhoInterval(self.estimate, self.low, self.high, self.confidence, METHODS["anytime"])


class RhoDifference(msgspec.Struct, frozen=True, kw_only=True):
    """rho_new - rho_old, with a two-sided interval of its own."""

    estimate: float | None
    low: float
    high: float
    confidence: float

    @classmethod
    def of_pairs(cls, counts: VersionCounts, confidence: float) -> RhoDifference:
        """Return by how much rho of the new version is above that of the old, by the pairs of both."""
        low, high = difference_limits(counts, confidence)
        estimate = (counts.new - counts.old) / counts.pairs if counts.pairs else None
        return cls(estimate=estimate, low=low, high=high, confidence=confidence)

    def measure(self, method: str) -> Measure:
        """Return the difference of rho between the versions as a measure of the record."""
        return Measure("rho_new - rho_old", self.estimate, self.low, self.high, self.confidence, method)


class ChangedOutputs(msgspec.Struct, frozen=True, kw_only=True):
    """Runs on the same sample and r in which the outputs of the two versions differ."""

    runs: int
    differ: int
    estimate: float | None
    low: float
    high: float
    confidence: float
    first: int | None = None  # the first pair with such a run
    replay_old: str | None = None  # that pair in each version
    replay_new: str | None = None


class Discordant(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs whose outputs differ in one version alone, in both, in neither."""

    old: int
    new: int
    both: int
    neither: int


class ComparedElement(msgspec.Struct, frozen=True, kw_only=True):
    """An element of the output: the pairs in which it differs in each version."""

    name: str
    old: int
    new: int


class CompareAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="question", tag="compare"):
    """`change` is "better", "worse", "no difference shown" or "not comparable". `method` is "paired" (both on the same
    pairs) or "two samples" (each by an audit of its own). `error` is what anything that is shown may be wrong with."""

    change: str
    margin: float
    method: str
    old: Side
    new: Side
    difference: RhoDifference
    error: float
    discordant: Discordant | None = None
    changed: ChangedOutputs | None = None
    looked: int = 0  # pairs whose elements were looked at
    elements: list[ComparedElement] = []  # those whose counts changed most
    versions: dict[str, tuple[str, str]] = {}  # of packages that are others in the old environment: old, new


def answer_of(record: Record) -> CompareAnswer:
    """Return the record's CompareAnswer, decoding it if the record was read from JSON."""
    return msgspec.convert(msgspec.to_builtins(record.answer), CompareAnswer)


def title_of(record: Record) -> str:
    """Return the first line of a report: not comparable if one version could not be run, whatever was seen by then."""
    change = NOT_COMPARABLE if record.verdict == "error" else answer_of(record).change
    return f"{change.upper()}  {record.subject}"


def compare_parts(record: Record) -> Iterator[Part | Details]:
    """Yield the report: rho of both versions, their difference, and which elements differ in which."""
    answer = answer_of(record)
    if record.verdict == "error":
        yield Facts([("old version", "", answer.old.what)])
        return
    yield Facts([*_facts(answer)])
    yield Words(_sides(answer))
    if answer.elements:
        head = ("element", "old", "new")
        rows = [(one.name or "the output", f"{one.old:,}", f"{one.new:,}") for one in answer.elements]
        yield Table(
            head,
            rows,
            title=f"Elements that differ more or less often than before, in {answer.looked:,} pairs of each:",
        )
    if answer.versions:
        rows = [(name, *both) for name, both in answer.versions.items()]
        yield Table(
            ("installed", "old", "new"), rows, title="Packages of which the old environment has another version:"
        )
    if answer.changed and answer.changed.replay_old and answer.changed.replay_new:
        changed = f"The answer changed in pair {answer.changed.first}. To run it again in the old version:"
        new = Command("To run it again in the new version:", answer.changed.replay_new)
        yield Details([Command(changed, answer.changed.replay_old), new])


def _sides(answer: CompareAnswer) -> str:
    """Say how often two runs differed in each version, and how many answers changed from one to the other."""
    rates = " and ".join(
        f"{'' if one.estimate is None else f'about {one.estimate:.3g} '}with the {name} version"
        for name, one in (("old", answer.old), ("new", answer.new))
    )
    found = answer.changed
    if found is None or found.estimate is None:
        return f"rho is {rates}."
    return f"rho is {rates}. The new version gives another answer in {found.differ:,} of {found.runs:,} runs."


def _facts(answer: CompareAnswer) -> Iterator[tuple[str, ...]]:
    """Yield what is known of both versions and of their difference, by name."""
    old, new = (
        f"{one.mismatches:,} of {one.pairs:,} pairs, {between(one.low, one.high)}" for one in (answer.old, answer.new)
    )
    yield "rho", f"old: {old}; new: {new} ({percent(answer.new.confidence)} confidence, each)"
    apart = answer.difference
    limits = f"{between(apart.low, apart.high, beside=answer.margin)} ({percent(apart.confidence)} confidence)"
    about = "" if apart.estimate is None else f"about {apart.estimate:.3g}, "
    yield "rho_new - rho_old", f"{about}{limits}; the margin is {exact(answer.margin)}"
    if one := answer.discordant:
        words = f"{one.old:,} with the old version alone, {one.new:,} with the new alone, {one.both:,} with both"
        yield "pairs that differ", words
    if (found := answer.changed) and found.estimate is not None:
        share = f"{100 * found.estimate:.3g} % of answers: on the same sample and r the two versions differ"
        limits = f"{at_least(100 * found.low)} to {at_most(100 * found.high)} %"
        counts = f"{found.differ:,} of {found.runs:,} runs, {limits} ({percent(found.confidence)} confidence)"
        yield "answers", f"this changes {share} in {counts}"
    yield "old version", "", answer.old.what
    how = "both versions ran on the same pairs" if answer.method == "paired" else "each by an audit of its own"
    error = f"anything that is said of the change is wrong with probability at most {at_most(answer.error)}"
    yield "error", f"{error}; {how}"


def chart_of(record: Record) -> Chart:
    """Return the picture of both rho, and of the largest that the new one may have."""
    answer = answer_of(record)
    points = [(float(i), one.low, one.estimate, one.high) for i, one in enumerate((answer.old, answer.new))]
    series = [Series(f"rho, where it may be ({percent(answer.new.confidence)}, each)", "points", points)]
    if answer.old.estimate is not None:
        allowed = answer.old.estimate + answer.margin
        held = [(x, None, allowed, None) for x in (0.0, 1.0)]
        series.append(Series(f"the old rate and the margin, {allowed:.3g}", "line", held))
    return Chart(
        title=f"{record.subject}: {title_of(record).partition('  ')[0].lower()}",
        x_name="",
        y_name="rho",
        series=series,
        labels=("old", "new"),
        notes=[record.reason],
    )
