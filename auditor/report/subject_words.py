"""What does a report say of a subject that has words of its own? The same as of any other, in these words.

Rows of a file are never called a fresh sample: two redraws of a file differ at another rate than two fresh samples do.
Only two disjoint parts of it stand for fresh samples, of their own size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from auditor.flow.parts import Command, Listing, Part
from auditor.flow.record import Drawn, Record, Remedy
from auditor.statistics.digits import at_most, percent
from auditor.subjects.subject import Wording
from auditor.values.elements import Element, SeenText

_SHARE = 0.02  # of the runs from which on an answer of the sister is worth a word
_LONG = 30  # characters of an answer of which one is enough
_FEW = 30  # pairs from which on a rate is said; after fewer the audit has stopped early, and the counts say more
_DENOMINATOR = 10  # the largest of a rate above a tenth: "2 of 5"


def headline(record: Record) -> str:
    """Return how often two samples differ, in the subject's words; "" where it has none, or nothing was counted."""
    words, drawn, rho = record.wording, record.drawn, record.rho
    if words is None or drawn is None or rho is None or rho.estimate is None or len(record.cells) > 1:
        return ""
    often = cases(rho.estimate, record.pairs or 0)
    return f"{samples(record.resample, drawn, words.rows)} {words.differ} {often}"


def samples(resample: str | None, drawn: Drawn, rows: str) -> str:
    """Return what was compared: two redraws of a file, or two fresh samples."""
    if drawn.of is None:
        return f"Two fresh samples of {drawn.units:,} {rows}"
    kind = (resample or "").partition("(")[0]
    if kind == "split":
        half = "half the" if 2 * drawn.units in (drawn.of, drawn.of - 1) else "as many"
        return f"Two fresh samples of {half} {rows}, {drawn.units:,} each out of these {drawn.of:,},"
    some = "" if drawn.units == drawn.of else f"{drawn.units:,} of "
    return f"Two {'draws' if kind == 'subsample' else 'redraws'} of {some}these {drawn.of:,} {rows}"


def cases(rate: float, pairs: int) -> str:
    """Return a rate as people say it: "in about 1 of 7 cases"."""
    if pairs < _FEW and abs(rate * pairs - round(rate * pairs)) < 1e-9:
        return f"in {round(rate * pairs)} of {pairs} cases, which were enough to tell"
    if rate in (0, 1):
        return f"in {'each' if rate else 'none'} of {pairs:,} cases"
    near = Fraction(rate).limit_denominator(_DENOMINATOR)
    if rate >= 1 / _DENOMINATOR and near < 1:
        return f"in about {near.numerator} of {near.denominator} cases"
    if rate < 0.5:
        return f"in about 1 of {round(1 / rate):,} cases"
    return f"in all but about 1 of {round(1 / (1 - rate)):,} cases"


def scope(record: Record) -> str:
    """Say what the rate of a file does not speak of; "" for other sources."""
    words = record.wording
    if words is None or not record.resample:
        return ""
    if record.resample.startswith("split"):
        return (
            f"The two samples of a pair have no {words.rows} in common. The rate stands for fresh samples of this size "
            "on average over files; that of one file may be higher or lower."
        )
    return (
        f"This is said of redraws of this file ({record.resample}), and not of fresh {words.rows}: for those the rate "
        "may be higher or lower."
    )


def shares(words: Wording, answers: Sequence[SeenText], runs: int) -> str:
    """Return the most frequent answers: "ash in 92 % of the runs, birch in 7 %"; of long ones the first alone."""
    answers = answers[:1] if answers and len(answers[0].text) > _LONG else answers
    said = [f"{_meant(words, one.text)} in {share(one.count, runs)}" for one in answers if one.text]
    return ", ".join([f"{said[0]} of the runs", *said[1:]]) if said else ""


def _meant(words: Wording, text: str) -> str:
    """Return what an answer means, in the subject's words, or the answer itself."""
    return words.values.get(text) or text.strip("'")


def choice(words: Wording, one: Element, runs: int) -> str:
    """Return how often a name is part of an answer."""
    return f"{one.name.strip(chr(39))} {words.chosen} in {share(one.runs or 0, runs)} of the runs"


def remedies(record: Record) -> Iterator[Part]:
    """Yield what would hold: the sister with its price, and more rows."""
    words = record.wording
    if words is None or not record.remedies:
        return
    lines = [line for one in record.remedies if (line := _remedy(record, words, one))]
    holds = any(one.verdict == "pass" for one in record.remedies)
    each = f"What would hold, each with {percent(record.confidence)} confidence by itself:"
    yield Listing(each if holds else "Nothing was found that would hold:", lines)
    for one in record.remedies:
        if one.kind == "sister" and one.verdict == "pass" and one.command:
            yield Command("To use it:", one.command)
        elif one.kind == "rows" and one.high is None and one.command:
            yield Command("To look for more:", one.command)


def _remedy(record: Record, words: Wording, one: Remedy) -> str:
    """Say what would hold in place of a decision that did not, and what it costs: more rows, or the sister."""
    if one.why is not None:
        what = f"More {words.rows}" if one.kind == "rows" else one.subject
        return f"{what} could not be tried: {one.why.rstrip('.')}."
    if one.kind == "rows":
        drawn = record.drawn
        a_unit = drawn.rows / drawn.of if drawn and drawn.of else 1.0  # rows of a group
        low, high = (None if size is None else round(size / a_unit) for size in (one.low, one.high))
        if high is None:
            above = "no number was found that would do" if low is None else f"it takes more than {low:,}"
            return f"More {words.rows}: {above}, if the gaps are as seen here (price looks further)."
        many = f"{high:,} or less" if low is None else f"between {low + 1:,} and {high:,}"
        return f"More {words.rows}: it takes {many}, if the gaps are as seen here (price)."
    called = f"{one.subject} with {one.setting}" if one.setting else one.subject
    if one.verdict != "pass" or one.bound is None:
        return f"{called} was not shown to hold: it may with other parameters, or a larger --rho."
    often = shares(words, [answer for answer in one.answers if answer.count >= _SHARE * one.runs], one.runs)
    verb = "are" if words.answer.endswith("s") else "is"
    says = f" Here its {words.answer} {verb} {often}." if often else ""
    bound = at_most(one.bound.value, beside=record.target)
    return f"{called} holds now: rho is at most {bound}. {one.price or words.price}{says}"


def share(count: int, of: int) -> str:
    """Return whole percents, and never all or none where it is not."""
    found = round(100 * count / of)
    if count and not found:
        return "less than 1 %"
    return "more than 99 %" if found == 100 and count < of else f"{found} %"
