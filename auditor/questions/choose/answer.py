"""What does a choice say, and how does a report show it? The one to take, score against stability, then the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase

import msgspec

from auditor.flow.parts import Chart, Part, Series, Table, Words
from auditor.flow.record import Record
from auditor.statistics.digits import at_least, at_most, exact, sure

_OTHER_SIGN = "+"  # of candidates after the 26th


class Estimated(msgspec.Struct, frozen=True):
    """A mean: what was seen, limits that hold together with all others, and the standard error of what was seen."""

    estimate: float | None
    low: float
    high: float
    standard_error: float | None = None


class Rated(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate. It is "chosen"; "left", if it may yet be; "out", if another has a better score; or "error".

    `front` says whether it is listed: whether no candidate is shown to dominate it."""

    name: str
    pairs: int
    score: Estimated
    measure: Estimated
    state: str
    front: bool
    dominated_by: str | None = None


class ChooseAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="question", tag="choose"):
    """Candidates in the order of the record's cells, what they were weighed by, and which of them is to be taken."""

    candidates: list[Rated]
    chosen: str | None  # its name; null if it is undecided
    score: str
    measure: str
    score_within: float
    margin: float
    least: int  # pairs of each candidate, if they are alike


def answer_of(record: Record) -> ChooseAnswer:
    """Return the record's ChooseAnswer, decoding it if the record was read from JSON."""
    return msgspec.convert(msgspec.to_builtins(record.answer), ChooseAnswer)


def title_of(record: Record) -> str:
    """Return the first line of the report: which candidate to take, if one is chosen."""
    answer = answer_of(record)
    if record.verdict == "error":
        return f"ERROR  choose between settings of {record.subject}"
    of = "" if record.asked.get("targets") else f" of {record.subject}"
    return f"TAKE  {answer.chosen}{of}" if answer.chosen else f"UNDECIDED  which candidate to take{of}"


def verdict_words(answer: ChooseAnswer, confidence: float) -> str:
    """Say what is claimed of the one to take, or who it may yet be, and which candidates the list has."""
    listed = [one.name for one in answer.candidates if one.front]
    ran = sum(one.state != "error" for one in answer.candidates)
    front = f"{len(listed)} of {ran} candidates are not shown to be dominated: {'; '.join(listed)}" if listed else ""
    if answer.chosen is None:
        left = [one.name for one in answer.candidates if one.state == "left"]
        words = f"Which one to take is undecided between {len(left)}: {'; '.join(left)}"
        return f"{words}. {front} ({sure(confidence)})" if any(one.pairs for one in answer.candidates) else words
    within, half = exact(answer.score_within), exact(answer.score_within / 2)
    return (
        f"The score of {answer.chosen} is within {within} of the best, and no candidate whose score is within {half} "
        f"of the best has a {answer.measure} that is lower by more than {exact(answer.margin)} ({sure(confidence)} for "
        f"all that is said here). {front}"
    )


def choose_parts(record: Record) -> Iterator[Part]:
    """Yield the report: a chart of score against measure, and a line for each candidate."""
    answer = answer_of(record)
    rows = _in_order(answer)
    signs = [_sign(place, one) for place, one in enumerate(rows)]
    if any(one.pairs for one in rows):
        yield _chart(record, answer, rows, signs)
        yield Words(
            "A capital letter is on the list of candidates that no other is shown to dominate, which contains the "
            f"front: to dominate is to be better by more than the tolerance ({exact(answer.score_within)} of "
            f"{answer.score}, {exact(answer.margin)} of {answer.measure}) in one, and not worse by more than it in the "
            f"other. All limits hold together with {sure(record.confidence)}.",
            "dim",
        )
    head = ("", "candidate", answer.score, answer.measure, "pairs", "", f"{answer.score} limits")
    named = dict(zip((one.name for one in rows), signs, strict=True))
    table = [_line(named, one) for one in rows]
    yield Table((*head, f"{answer.measure} limits"), table, extra=6)


def _in_order(answer: ChooseAnswer) -> list[Rated]:
    """Return the one to take first, then what is listed, then the others; each by its score."""

    def place(one: Rated) -> tuple[bool, bool, float]:
        return one.state != "chosen", not one.front, -(one.score.estimate or 0.0)

    return sorted(answer.candidates, key=place)


def _sign(place: int, one: Rated) -> str:
    """Return the letter of a candidate in the chart: a capital if it is on the front."""
    letters = ascii_uppercase if one.front else ascii_lowercase
    return letters[place] if place < len(letters) else _OTHER_SIGN


def _line(signs: Mapping[str, str], one: Rated) -> list[str]:
    """Return the cells of a candidate's line in the table."""
    words = {"chosen": "take it", "left": "", "out": "less accurate", "error": "could not be run"}[one.state]
    if one.dominated_by:
        by = signs.get(one.dominated_by, _OTHER_SIGN)
        words = f"dominated by {one.dominated_by if by == _OTHER_SIGN else by}"
    means = [_seen(one.score), _seen(one.measure)]
    limits = [f"{at_least(each.low)} to {at_most(each.high)}" for each in (one.score, one.measure)]
    return [signs[one.name], one.name, *means, f"{one.pairs:,}", words, *limits]


def _seen(one: Estimated) -> str:
    """Return an estimate with its standard error, as text."""
    if one.estimate is None:
        return ""
    error = "" if one.standard_error is None else f" ± {one.standard_error:.1g}"
    return f"{one.estimate:.3g}{error}"


def _chart(record: Record, answer: ChooseAnswer, rows: Sequence[Rated], signs: Sequence[str]) -> Chart:
    """Draw the measure against the score, both with their limits; and the list as a line."""
    kinds: dict[str, list[tuple[Rated, str]]] = {}
    for one, sign in zip(rows, signs, strict=True):
        kind = "not shown to be dominated" if one.front else "shown to be dominated"
        if one.pairs:
            kinds.setdefault("the one to take" if one.state == "chosen" else kind, []).append((one, sign))
    series = []
    for name, members in kinds.items():
        points = [(one.score.estimate or 0.0, one.measure) for one, _ in members]
        across = [(one.score.low, one.score.high) for one, _ in members]
        up = [(x, y.low, y.estimate, y.high) for x, y in points]
        series.append(Series(name, "crosses", up, across, [sign for _, sign in members]))
    listed = sorted((one.score.estimate or 0.0, one.measure.estimate) for one in rows if one.front and one.pairs)
    if len(listed) > 1:
        line = [(x, None, y, None) for x, y in listed]
        series.append(Series("the list, which contains the front", "line", line))
    names = [f"{sign}  {one.name}" for one, sign in zip(rows, signs, strict=True) if one.pairs]
    return Chart(
        title=f"{record.subject}  {answer.measure} against {answer.score}",
        x_name=answer.score,
        y_name=answer.measure,
        series=series,
        notes=["; ".join(names), f"All limits hold together with {sure(record.confidence)}."],
    )
