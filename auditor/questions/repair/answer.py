"""What a repair answers: before and after, wrapper and price, the frontier, the code to paste; and how it is shown."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from auditor.flow.parts import Chart, Command, Details, Facts, Listing, Part, Series, Table, Words
from auditor.flow.record import Record
from auditor.statistics.digits import at_least, at_most, between, exact, percent

_TITLES = {"pass": "REPAIRED", "fail": "NOT REPAIRED", "inconclusive": "UNDECIDED", "error": "ERROR"}
_CHURN = (
    "The target is for churn here, the share of predictions that change. check takes it for rho, where two runs differ "
    "if a single prediction does, unless it is given --measure churn. Give --measure rho or --measure churn to both."
)
# What is compared of a selector and of a search, unless the user says otherwise.
DECIDED = {"selector": "support", "search": "attr(best_params_)"}
_VIEW = (
    "What is compared here is {0}: what the learner decides. check compares what it predicts, or everything that it "
    'has fitted, unless it is given --view "{0}".'
)
_METHODS = {"formula": "the wrapper's formula", "bound": "an upper bound", "finishes": "running the wrapper"}

# What else is worth knowing, by the kind of the outputs (`units.look`).
CHOOSE = (
    "If this is the best of several candidates, return the scores of all by name, such as {{'a': 0.31, 'b': 0.27}}, "
    "and run repair --with {}."
)
HINTS = {
    "decision": "If the yes or no comes from a number, let the learner return the number and use thresholded(score, "
    "low, high) of auditor.repair.",
    "name": CHOOSE.format("chosen"),
    "place": CHOOSE.format("chosen"),
    "model": "The output is a model, and all that it has fitted is compared: --view predict compares what it predicts, "
    "and --view predict --measure churn asks how many of its predictions change.",
    "scores": "If only the best of these is used, repair --with chosen costs less: it returns the name of the best.",
}
OUT_OF_STEP = (
    "Two runs draw from r a different number of times at {}, and what is drawn afterwards is out of step: r = sites(r) "
    "of auditor.repair at the top of the learner keeps it in step, and this repair may then cost less."
)


class HeldMeasure(msgspec.Struct, frozen=True, kw_only=True):
    """What one audit found of the measure ("rho" or "churn") that is held against the target."""

    measure: str
    estimate: float | None
    low: float
    high: float
    confidence: float  # of this interval alone
    pairs: int
    verdict: str


class RepairCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a repair costs."""

    words: str
    change: float | None = None  # the most that its theorem lets it move an answer by
    rows: int | None = None  # how many rows one run of the learner sees, where it is not the whole sample
    changed: float | None = None  # how often the answer is not the learner's own on the same sample (`agreed`)
    loss: float | None = None  # by how much the mean loss was larger on the frontier's pairs, where a loss is known
    loss_before: float | None = None


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One setting on the frontier. All intervals of a frontier hold together with the record's confidence."""

    wrapper: str
    price: RepairCost
    estimate: float | None  # the mean over pairs of the probability of a mismatch, or of the churn
    low: float
    high: float
    pairs: int
    by: str  # how that was known for each pair: the wrapper's "formula", an upper "bound" of it, or real "finishes"
    nothing: float = 0.0  # the share of runs that came to no output
    error: str | None = None


class RepairAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="question", tag="repair"):
    """The answer in the record. `wrapper`, `price` and `code` are those of the setting that was confirmed, or of the
    one that was tried last."""

    before: HeldMeasure | None
    after: HeldMeasure | None
    wrapper: str | None
    price: RepairCost | None
    code: str | None
    check: str | None  # the command that audits the code
    frontier: list[Point]
    why_not: str | None  # why no wrapper fits
    hint: str | None  # what else is worth knowing of outputs like these
    more_rows: str | None  # the command that finds how many rows would do instead, where that may be


def answer_of(record: Record) -> RepairAnswer:
    """Return the record's answer, decoding it if the record was read from JSON."""
    return msgspec.convert(msgspec.to_builtins(record.answer), RepairAnswer)


def title_of(record: Record) -> str:
    """Return the first line of the report: repaired, not repaired, or nothing to repair."""
    needs_none = record.verdict == "pass" and answer_of(record).wrapper is None
    return f"{'NOTHING TO REPAIR' if needs_none else _TITLES[record.verdict]}  {record.subject}"


def repair_parts(record: Record) -> Iterator[Part | Details]:
    """Yield what a report says: before and after, the price, the code to paste, the frontier, and hints."""
    answer = answer_of(record)
    held = [(name, one) for name, one in (("before", answer.before), ("after", answer.after)) if one]
    measure = next((one.measure for _, one in held), "rho")
    if held:
        rows = []
        for name, one in held:
            verdict = "undecided" if one.verdict == "inconclusive" else one.verdict
            rows.append([name, _rate(one.estimate), at_least(one.low), at_most(one.high), f"{one.pairs:,}", verdict])
        yield Details([Table(("", measure, "at least", "at most", "pairs", "against the target"), rows)])
        if measure == "churn":
            yield Words(_CHURN)
    if record.view in DECIDED.values():
        yield Words(_VIEW.format(record.view))
    if (price := answer.price) and price.words:
        lost = ""
        if price.changed is not None:
            lost = f"; {price.changed:.0%} of the answers differ from the learner's own"
        if price.loss is not None and price.loss_before is not None:
            lost += f"; the mean loss was {price.loss_before:.3g} and becomes {price.loss_before + price.loss:.3g}"
        yield Words(f"Price: {price.words}{lost}.")
    if answer.code is not None and record.verdict == "pass":
        yield Listing("Paste this into a file, say repaired.py:", [answer.code.rstrip("\n")])
        if answer.check:
            yield Command("and audit it:", answer.check)
    if answer.frontier:
        yield Details([*_frontier(record, answer, measure)])
    if answer.hint:
        yield Words(answer.hint)
    if answer.more_rows:
        yield Command("More rows may help instead. This finds how many:", answer.more_rows)
    if record.rho and record.pairs:
        what, rho = answer.wrapper or "the learner as it is", record.rho
        counts = f"{record.mismatches or 0:,} of {record.pairs:,} pairs of {what} differ"
        if rho.estimate is not None and (record.measures[0].name, record.measures[0].count) == ("rho", None):
            counts = f"about {rho.estimate:.3g}, over {record.pairs:,} pairs of {what}"
        limits = f"{between(rho.low, rho.high)} ({percent(rho.confidence)} confidence, apart from the verdict)"
        yield Facts([("rho", f"{counts}; {limits}")])


def _frontier(record: Record, answer: RepairAnswer, measure: str) -> Iterator[Part]:
    """Yield the frontier as a table, with losses where they are known, and as a chart of the settings that ran."""
    loses = any(point.price.loss is not None for point in answer.frontier)
    rows = []
    for point in answer.frontier:
        name = f"{point.wrapper}{'  <- this' if point.wrapper == answer.wrapper else ''}"
        price = point.price
        cost = f"{price.change:.3g}" if price.change is not None else f"{price.rows:,} rows" if price.rows else ""
        if point.nothing > 0 or point.error:
            cost = f"no output in {100 * point.nothing:.0f} %" if point.nothing > 0 else "does not run"
        lost = [] if not loses else ["" if price.loss is None else f"{price.loss:+.3g}"]
        rows.append([name, _rate(point.estimate), at_least(point.low), at_most(point.high), cost, *lost])
    pairs = max(point.pairs for point in answer.frontier)
    how = " or ".join(dict.fromkeys(_METHODS[point.by] for point in answer.frontier))
    sure = f"all intervals hold together with {percent(record.confidence)} confidence"
    head = ["", measure, "at least", "at most", "price", *(["loss"] if loses else [])]
    yield Table(head, rows, title=f"What each setting gives: {measure} by {how} over {pairs:,} pairs; {sure}:")

    known = [(_price(point), point) for point in answer.frontier if point.estimate is not None and _price(point)]
    if not known:
        return
    by_change = known[0][1].price.change is not None
    wrapper = known[0][1].wrapper.partition("(")[0]
    known.sort(key=lambda one: one[0])
    band = [(price, point.low, point.estimate, point.high) for price, point in known]
    series = [Series(f"{measure}, with its interval", "band", band)]
    if record.target is not None:
        ends = [(known[end][0], None, record.target, None) for end in (0, -1)]
        series.append(Series(f"the target, {exact(record.target)}", "line", ends))
    yield Chart(
        title=f"{record.subject}  {measure} against the price of {wrapper}",
        x_name="largest change of the answer" if by_change else "rows that a fit sees",
        y_name=measure,
        series=series,
        labels=[f"{price:.2g}" if by_change else f"{price:g}" for price, _ in known],
        x_log=True,
        notes=[record.reason],
    )


def _price(point: Point) -> float:
    """Return what a setting costs as one number, to sort by: how far answers move, or how many rows it takes."""
    return float(point.price.change if point.price.change is not None else point.price.rows or 0)


def _rate(estimate: float | None) -> str:
    """Return an estimate as text; "" where there is none."""
    return "" if estimate is None else f"{estimate:.3g}"
