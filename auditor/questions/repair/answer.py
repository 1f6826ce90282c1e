"""What a repair says: before and after, wrapper and price, the code to paste, the frontier; and how that is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from auditor.flow.parts import Chart, Command, Facts, Listing, Part, Series, Table, Words
from auditor.flow.record import Record
from auditor.statistics.outward import at_least, at_most, between, percent

_TITLES = {"pass": "REPAIRED", "fail": "NOT REPAIRED", "inconclusive": "UNDECIDED", "error": "ERROR"}

_CHURN = (
    "The target is for churn here, the share of predictions that change. check takes it for rho unless it is given "
    "--measure churn: there two runs differ if a single prediction does. Give --measure rho or --measure churn to both."
)
# What is compared of a selector and of a search, unless somebody says otherwise.
DECIDED = {"selector": "support", "search": "attr(best_params_)"}
_VIEW = (
    "What is compared here is {0}: what the learner decides. check compares what it predicts, or all that it has "
    'fitted, unless it is given --view "{0}".'
)
_HOW = {"formula": "the formula", "bound": "an upper bound", "finishes": "real finishes"}


class HeldMeasure(msgspec.Struct, frozen=True, kw_only=True):
    """What was held against the target: "rho", or "churn". The interval has `confidence` of its own."""

    measure: str
    estimate: float | None
    low: float
    high: float
    confidence: float
    pairs: int
    verdict: str


class RepairCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a repair costs. `change` is the most that its theorem lets it move an answer by; `rows` what one run of the
    learner sees of a sample, where it is not all; `changed` how often the answer is another than the learner's own on
    the same sample, where answers are no numbers; `loss` by how much the mean loss was larger on the frontier's pairs,
    and `loss_before` what it was, where a loss or an oracle is known."""

    words: str
    change: float | None = None
    rows: int | None = None
    changed: float | None = None
    loss: float | None = None
    loss_before: float | None = None


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One setting on the frontier: the mean over pairs of how likely their two cores finish differently, by the
    wrapper's own "formula", by an upper "bound" of it, or by real "finishes"; of churn the same over points. `nothing`
    is the share of runs that came to no output. All intervals of a frontier hold together with the confidence."""

    wrapper: str
    price: RepairCost
    estimate: float | None
    low: float
    high: float
    pairs: int
    by: str
    nothing: float = 0.0
    error: str | None = None


class RepairAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="question", tag="repair"):
    """`wrapper`, `price` and `code` are those that were confirmed, else those that were tried last."""

    before: HeldMeasure | None
    after: HeldMeasure | None
    wrapper: str | None
    price: RepairCost | None
    code: str | None
    check: str | None  # the command that audits the code
    frontier: list[Point]
    why_not: str | None  # where no wrapper fits
    hint: str | None  # what else is worth knowing of outputs like these
    more_rows: str | None  # the command that finds how many rows would do instead, where that may be


def answer_of(record: Record) -> RepairAnswer:
    """A record that was read from a file has its answer as JSON."""
    return msgspec.convert(msgspec.to_builtins(record.answer), RepairAnswer)


def title_of(record: Record) -> str:
    answer = answer_of(record)
    needless = record.verdict == "pass" and answer.wrapper is None
    return f"{'NOTHING TO REPAIR' if needless else _TITLES[record.verdict]}  {record.subject}"


def repair_parts(record: Record) -> Iterator[Part]:
    answer = answer_of(record)
    held = [(name, one) for name, one in (("before", answer.before), ("after", answer.after)) if one]
    if held:
        head = ("", held[0][1].measure, "at least", "at most", "pairs", "against the target")
        yield Table(head, [_line(name, one) for name, one in held])
        if held[0][1].measure == "churn":
            yield Words(_CHURN)
    if record.view in DECIDED.values():
        yield Words(_VIEW.format(record.view))
    yield from _price(answer)
    yield from _pasted(record, answer)
    if answer.frontier:
        yield _table(record, answer)
    if known := [point for point in answer.frontier if point.estimate is not None and _x(point)]:
        yield _chart(record, answer, known)
    if answer.hint:
        yield Words(answer.hint)
    if answer.more_rows:
        yield Command("More rows may do instead; how many is found by:", answer.more_rows)
    yield from _rho(record, answer)


def _rho(record: Record, answer: RepairAnswer) -> Iterator[Part]:
    """Whose mismatches they are: one of several cells has them."""
    if record.rho and record.pairs:
        what, rho = answer.wrapper or "it as it is", record.rho
        counts = f"{record.mismatches or 0:,} of {record.pairs:,} pairs of {what} differ"
        if rho.estimate is not None and (record.measures[0].name, record.measures[0].count) == ("rho", None):
            counts = f"about {rho.estimate:.3g} by the cores of {record.pairs:,} pairs of {what}"
        yield Facts([("rho", f"{counts}; {between(rho.low, rho.high)} ({percent(rho.confidence)} two-sided)")])


def _line(name: str, one: HeldMeasure) -> list[str]:
    rate = "" if one.estimate is None else f"{one.estimate:.3g}"
    verdict = "undecided" if one.verdict == "inconclusive" else one.verdict
    return [name, rate, at_least(one.low), at_most(one.high), f"{one.pairs:,}", verdict]


def _price(answer: RepairAnswer) -> Iterator[Part]:
    price = answer.price
    if price is None or not price.words:
        return
    lost = f"; {price.changed:.0%} of the answers are other than as it is" if price.changed is not None else ""
    if price.loss is not None and price.loss_before is not None:
        lost += f"; the mean loss is {price.loss_before + price.loss:.3g}, and was {price.loss_before:.3g}"
    yield Words(f"Price: {price.words}{lost}.")


def _pasted(record: Record, answer: RepairAnswer) -> Iterator[Part]:
    if answer.code is None or record.verdict != "pass":
        return
    yield Listing("Paste this into a file, say repaired.py:", [answer.code.rstrip("\n")])
    if answer.check:
        yield Command("and audit it:", answer.check)


def _table(record: Record, answer: RepairAnswer) -> Table:
    """Losses only where they are known."""
    loses = any(point.price.loss is not None for point in answer.frontier)
    what = answer.before.measure if answer.before else "rho"
    head = ["", what, "at least", "at most", "price", *(["loss"] if loses else [])]
    rows = [_point(point, answer, loses) for point in answer.frontier]
    how = _HOW[answer.frontier[-1].by]
    pairs = max(point.pairs for point in answer.frontier)
    sure = percent(record.confidence)
    words = f"{what} by {how} over {pairs:,} pairs; the intervals hold together with {sure} confidence:"
    return Table(head, rows, title=f"The frontier: {words}")


def _point(point: Point, answer: RepairAnswer, loses: bool) -> list[str]:
    name = f"{point.wrapper}{'  <- this' if point.wrapper == answer.wrapper else ''}"
    price = point.price
    cost = f"{price.change:.3g}" if price.change is not None else f"{price.rows:,} rows" if price.rows else ""
    cost = f"no output in {point.nothing:.0%}" if point.nothing > 0 else "does not run" if point.error else cost
    lost = [] if not loses else ["" if price.loss is None else f"{price.loss:+.3g}"]
    rate = "" if point.estimate is None else f"{point.estimate:.3g}"
    return [name, rate, at_least(point.low), at_most(point.high), cost, *lost]


def _chart(record: Record, answer: RepairAnswer, known: Sequence[Point]) -> Chart:
    """By what it changes at most, else by the rows that a fit sees."""
    places = sorted(((_x(point), point) for point in known), key=lambda one: one[0])
    seen = [(x, point.low, point.estimate, point.high) for x, point in places]
    what = answer.before.measure if answer.before else "rho"
    series = [Series(f"{what}, with its interval", "band", seen)]
    if record.target is not None:
        ends = [(places[end][0], None, record.target, None) for end in (0, -1)]
        series.append(Series(f"the target, {record.target:g}", "line", ends))
    by_change = known[0].price.change is not None
    return Chart(
        title=f"{record.subject}  {what} against the price of {known[0].wrapper.partition('(')[0]}",
        x_name="largest change of the answer" if by_change else "rows that a fit sees",
        y_name=what,
        series=series,
        labels=[f"{x:.2g}" if by_change else f"{x:g}" for x, _ in places],
        x_log=True,
        notes=[record.reason],
    )


def _x(point: Point) -> float:
    return float(point.price.change if point.price.change is not None else point.price.rows or 0)
