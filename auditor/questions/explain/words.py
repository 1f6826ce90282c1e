"""What is an explanation in words? All that a reader is told about causes: in the record, and in a report of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from auditor.flow.parts import Bar, Command, Details, Part, Table, Words
from auditor.flow.record import Record
from auditor.lookup import is_program
from auditor.questions.explain.answer import ExperimentRow, ExplainAnswer, answer_of
from auditor.questions.explain.evidence import ExperimentCounts
from auditor.questions.explain.units import quarter
from auditor.statistics.digits import at_least, at_most, exact, percent, sure

if TYPE_CHECKING:
    from auditor.questions.explain.inquiry import ExplainInquiry

_BAR = 18  # characters of a bar
_FAILED = "it could not be run: "  # so begins the note of an experiment that ended in an error
_AS_IT_IS, _QUARTER = "as it is", "with a quarter of the rows"


class CauseWords(NamedTuple):
    """How one kind of cause is spoken of."""

    because: str  # why runs disagree
    changes: str  # how its pairs are run or compared, after "N pairs differ"
    cure: str
    twice: str = ""  # what was done to one sample, before "gave another output"


WORDS = {
    "hidden-state": CauseWords(
        "the answer depends on more than the sample and r",
        "with the same state put back before each run",
        "draw every random bit from r, and keep nothing between runs",
        "the same sample and r, run again,",
    ),
    "hash-seed": CauseWords(
        "the answer depends on the hash seed of the process",
        "with one hash seed for all runs",
        "sort before you iterate: for x in sorted(the_set); and never use hash() of a text as a number",
        "the same sample and r in a process with another PYTHONHASHSEED",
    ),
    "threads": CauseWords(
        "the answer depends on the number of threads",
        "with one thread",
        "run it in one thread: with threadpoolctl.threadpool_limits(1), or n_jobs=1; or add up what threads return in "
        "a fixed order",
        "the same sample and r with all threads instead of one",
    ),
    "row-order": CauseWords(
        "the answer depends on the order of the rows",
        "with the rows sorted",
        "sort the rows first, or use a statistic that does not depend on their order: sample = np.sort(sample, axis=0)",
        "the same rows in another order",
    ),
    "rounding-noise": CauseWords(
        "the last digits of the data decide the answer",
        "not counting differences that last digits explain",
        "round far above the last digits, what is returned and what decides: np.round(result, 9), np.round(score, 9) "
        "> 0",
        "a change of one part in 2^50 in the data",
    ),
    "desync": CauseWords(
        "the two runs draw from r out of step",
        "with the draws from r kept in step",
        'give each step its own child of r before the sample is looked at: for_rows, for_offset = r.child("rows"), '
        'r.child("offset"); or key its draws by place: r = sites(r), from auditor.repair',
    ),
    "continuous": CauseWords(
        "the answer is a raw number with all its digits",
        "rounded to a shared random grid",
        "to reach rho = {target}, round to a grid {width}. In code: offset = r.uniform(0, width); "
        "return offset + width * np.round((x - offset) / width). The width is on the safe side: repair finds the "
        "narrowest that reaches the target",
    ),
    "labels": CauseWords(
        "the same groups get different labels",
        "compared up to the names of the labels",
        "name the groups by what they are, not by when they came up: sort the centres and renumber, or compare who is "
        "together",
    ),
    "output-order": CauseWords(
        "the same items come in a different order",
        "compared without regard to order",
        "return sorted(result), or a frozenset",
    ),
    "r-unused": CauseWords(
        "the shared r takes no part in the answer",
        "with an r of its own for each run",
        "let r decide what the sample leaves open: a threshold or the offset of a grid, drawn as r.uniform(...) before "
        "the sample is looked at",
    ),
    "too-little-data": CauseWords(
        "there are too few rows to settle the answer",
        "with four times the rows",
        "use more rows: price measures how many it takes to reach rho = {target}",
    ),
}


# In the record.


def headline(inquiry: ExplainInquiry, causes: Sequence[ExperimentCounts]) -> str:
    """Return the verdict in a few sentences: the main cause, with its short name for searching."""
    n, k = inquiry.pairs, inquiry.mismatches
    if not n:
        return "no pair was run"
    if causes:
        also = "; ".join(f"{_because(inquiry, one)} ({one.kind})" for one in causes[1:])
        return _main_cause(inquiry, causes[0]) + (f" Also shown: {also}." if also else "")
    if inquiry.is_passed():
        held = f"rho is at most {exact(inquiry.target)}, the target ({sure(inquiry.plan.confidence)})"
        if not k:
            return f"{_sentence(_agreeing(n, n))}: {held}."
        return f"{_disagreeing(k, n)}, which is little enough: {held}. To ask why they did, give a smaller --rho."
    if not k:
        return f"{_sentence(_agreeing(n, n))}."
    return f"{_disagreeing(k, n)}, and none of the causes that were tried is shown to be why."


def _main_cause(inquiry: ExplainInquiry, one: ExperimentCounts) -> str:
    """Return the sentence that a report begins with: how often runs disagree, why, and what they do without the
    cause."""
    because = f"because {_because(inquiry, one)} ({one.kind})"
    if one.experiment.must_not_matter:
        return f"{_sentence(next(_evidence(one)))}, {because}."
    if one.kind == "r-unused":
        fresh = "no bit of it was drawn" if one.is_without_r() else f"a fresh r changed {_share(one)} outputs"
        return f"{_disagreeing(inquiry.mismatches, inquiry.pairs)}, {because}: {fresh}."
    disagreeing, agreeing = _disagreeing(one.before, one.pairs), _agreeing(one.pairs - one.mismatches, one.pairs)
    if one.kind == "too-little-data":
        return f"{_disagreeing(inquiry.mismatches, inquiry.pairs)}, {because}. {_sentence(_by_size(inquiry, one))}."
    return f"{disagreeing}, {because}. {_sentence(WORDS[one.kind].changes)}, {agreeing}."


def message(inquiry: ExplainInquiry, one: ExperimentCounts) -> str:
    """Return a cause in sentences, with its figures."""
    return " ".join(f"{_sentence(part)}." for part in (_because(inquiry, one), *_findings(inquiry, one)))


def note(inquiry: ExplainInquiry, one: ExperimentCounts, state: str) -> str:
    """Return what is worth knowing of an experiment that shows no cause: why it was not run, or what it showed."""
    if one.why_not:
        return one.why_not
    if one.error:
        return f"{_FAILED}{one.error}"
    if state == "not run":
        if one.kind == "hash-seed" and inquiry.is_hidden():
            return "outputs differ from run to run, and so in any other process"
        if not inquiry.pairs:
            return "the audit ended before"
        return "there were no pairs left for it" if inquiry.mismatches else "there was no mismatch to explain"
    is_worth_it = state == "not shown" and one.kind != "r-unused" and bool(one.shown or one.drawn)
    if not is_worth_it or inquiry.is_hidden():
        return ""
    return ". ".join(map(_sentence, _findings(inquiry, one)))


def cure(inquiry: ExplainInquiry, one: ExperimentCounts) -> str:
    """Return what to do about a cause."""
    cure = WORDS[one.kind].cure
    if one.kind == "hidden-state":
        cure = inquiry.what_moved.get("cure") or cure
    elif one.kind == "continuous":
        largest = max((abs(value) for payload in inquiry.looked for value in payload["values"]), default=0.0)
        cure = cure.format(target=exact(inquiry.target), width=_width(inquiry))
        if max(inquiry.widths) > largest:
            wide, rho = _width(inquiry).partition(":")[0], exact(inquiry.target)
            cure = (
                f"a grid {wide} is wide enough for rho = {rho}, but larger than every number in the outputs: repair "
                "finds out whether a narrower one does. If not, use more rows, which allow a finer grid, or a coarser "
                "output, such as --view sign, which needs none"
            )
    elif one.kind == "too-little-data":
        cure = cure.format(target=exact(inquiry.target))
    return _sentence(cure)


def _because(inquiry: ExplainInquiry, one: ExperimentCounts) -> str:
    """Say in a user's words why runs differ if this is the cause."""
    if one.kind == "continuous" and any(payload["numbers"] > 1 for payload in inquiry.looked):
        return "the answer has raw numbers with all their digits"
    if one.kind == "r-unused" and not one.is_without_r():
        return "the shared r takes too little part in the answer"
    return WORDS[one.kind].because


def _findings(inquiry: ExplainInquiry, one: ExperimentCounts) -> Iterator[str]:
    """Yield what an experiment has found: in samples that were run twice, then in pairs."""
    if one.kind == "r-unused":
        drew = f"a fresh r changed the output in {_share(one)} samples"
        yield f"no bit of r was drawn in {one.twice:,} runs" if one.is_without_r() else drew
        yield f"{_pairs(one)} with a shared r; {WORDS[one.kind].changes}, {_still(one.mismatches)}"
        return
    yield from _evidence(one)
    if one.kind == "hidden-state" and (found := inquiry.what_moved.get("message")):
        yield f"what moves: {found}"
    if not one.pairs or (one.experiment.must_not_matter and not one.before):
        return
    if one.kind == "too-little-data":
        yield _by_size(inquiry, one)
    else:
        yield f"{_pairs(one)}; {WORDS[one.kind].changes}, {_still(one.mismatches)}"


def _evidence(one: ExperimentCounts) -> Iterator[str]:
    """Yield what the two runs of a pair drew, and what one sample did when it was run twice."""
    if one.drawn:
        first, second, unit = one.drawn
        counts = f"{first:,} and {second:,}"
        drew = f"{counts} values" if unit == "values" else f"as many values in {counts} calls"
        yield f"the two runs of a pair drew {drew} at {one.where}"
    if one.shown and (done := WORDS[one.kind].twice):
        digits = "" if one.beyond else ", but only in last digits"
        turns = ""
        if one.turns:
            changed = one.twice_outcomes.before + one.twice_outcomes.both
            turns = f" (in {changed:,} of {one.turns:,} further runs; with nothing changed in {one.shams_shown:,})"
        yield f"{done} gave another output in {_share(one)} samples{digits}{turns}"


def _by_size(inquiry: ExplainInquiry, one: ExperimentCounts) -> str:
    """Say how many pairs differ at the size that is asked about, then at the one that it is compared with: a quarter of
    a data set, which has no more rows, else four times as many."""
    size, here, there = inquiry.size, one.before, one.mismatches
    other = f"{4 * size:,}"
    if inquiry.is_dataset:
        here, there, other = there, here, f"{quarter(size):,} of them"
    return f"with {size:,} rows {here:,} of {one.pairs:,} pairs differ; with {other}, {_still(there)}"


def _width(inquiry: ExplainInquiry) -> str:
    """Return the width of the grid, and how far rounding moves a number. Widths have two digits."""
    narrow, wide = (float(f"{width:.2g}") for width in (min(inquiry.widths), max(inquiry.widths)))
    if narrow == wide:
        return f"of width {wide:g}: the answer then moves by at most {wide / 2:g}"
    return f"of width {narrow:g} to {wide:g}, by number: each then moves by at most half of its width"


def _share(one: ExperimentCounts) -> str:
    """Return in how many of the samples that were run twice the output changed."""
    return f"{one.shown:,} of {one.twice:,}"


def _pairs(one: ExperimentCounts) -> str:
    """Say how many pairs differ as the learner is."""
    return f"{one.before:,} of {one.pairs:,} pairs differ"


def _still(count: int) -> str:
    """Say how many pairs still differ in the experiment: "none do"."""
    return {0: "none do", 1: "1 does"}.get(count, f"{count:,} do")


def _disagreeing(count: int, of: int) -> str:
    """Say how many pairs of runs disagreed, at the beginning of a sentence."""
    return "No two runs agreed" if count == of else f"{count:,} of {of:,} pairs of runs disagreed"


def _agreeing(count: int, of: int) -> str:
    """Say how many pairs of runs agree, at the end of a sentence."""
    return f"all {of:,} pairs agree" if count == of else f"{count:,} of {of:,} pairs agree"


def _sentence(text: str) -> str:
    """Return a text with a capital letter."""
    return text[:1].upper() + text[1:]


# In a report.

_IN_A_PROGRAM = (
    "Code above is Python's. In a program, r is a generator that is seeded with {seed}; repair writes a wrapper in "
    "Python around the program as it is."
)


def explain_parts(record: Record) -> Iterator[Part | Details]:
    """Yield the causes with their cures, then a table of how often pairs differ with each cause taken away."""
    answer = answer_of(record)
    for place, cause in enumerate(answer.causes, 1):
        where = f"\n   where: {cause.where}" if cause.where and cause.where not in cause.message else ""
        cure = f"\n   what to do: {cause.cure}" if cause.cure else ""
        yield Words(f"{place}. {cause.kind}: {cause.message}{where}{cure}")
        if cause.measure:
            yield Command("   run:", cause.measure)
        if cause.replay:
            yield Details([Command("see it with:", cause.replay)])
    if answer.causes and is_program(record.subject):
        yield Words(_IN_A_PROGRAM, "dim")
    if record.pairs:
        yield from map(Words, _failures(answer))
        table = _table(record, answer)
        yield table if len(table.rows) > 1 else Details([table])
        if notes := [*_notes(answer)]:
            yield Details([Words("\n".join(notes), "dim")])
    not_run = [
        f"{one.kind} ({one.note})"
        for one in answer.experiments
        if one.state == "not run" and one.note and not one.note.startswith(_FAILED)
    ]
    if not_run and record.verdict == "pass":  # else it ended before most of them could be
        yield Details([Words(f"Not run: {', '.join(not_run)}.", "dim")])


def _failures(answer: ExplainAnswer) -> Iterator[str]:
    """Yield which experiments could not be run, and why: whatever they are about may be a cause, and nobody has
    looked."""
    kinds_by_reason: dict[str, list[str]] = {}
    for one in answer.experiments:
        if one.note.startswith(_FAILED):
            kinds_by_reason.setdefault(one.note.removeprefix(_FAILED), []).append(one.kind)
    for reason, kinds in kinds_by_reason.items():
        yield f"Not tried: {', '.join(kinds)}, because {reason.rstrip('.')}."


def _table(record: Record, answer: ExplainAnswer) -> Table:
    """Return the table of experiments: how many pairs differ as it is, and with each possible cause taken away."""
    shown = causes_shown(answer)
    rows = []
    for what, mismatches, pairs, low, high in lines(record, answer):
        bar = "━" * max(round(mismatches / pairs * _BAR), 1 if mismatches else 0) or "0"
        counts = f"{mismatches:,} of {pairs:,}"
        rows.append((f"{what} (cause)" if what in shown else what, counts, at_least(low, 2), at_most(high, 2), bar))
    taken = ", and with each possible cause taken away" if len(rows) > 1 else ""
    title = (
        f"How many pairs differ as it is{taken}. All limits of rho hold together with {percent(record.confidence)} "
        "confidence:"
    )
    return Table(("", "differ", "at least", "at most", ""), rows, title=title, extra=4)


def causes_shown(answer: ExplainAnswer) -> set[str]:
    """Return the names of the lines with a cause taken away that is shown to be one."""
    kinds = {one.kind for one in answer.experiments if one.state == "cause"}
    return {f"without {kind}" for kind in kinds}


def lines(record: Record, answer: ExplainAnswer) -> list[tuple[str, int, int, float, float]]:
    """Return (what, mismatches, pairs, low, high) as it is, then without each cause that was tried: causes first, and
    those first that leave the fewest mismatches.

    A data set has no more rows to try: its line has a quarter of them, whose figures stand in the cell.
    """
    found = []
    if record.rho and record.pairs:
        found.append((_AS_IT_IS, record.mismatches or 0, record.pairs, record.rho.low, record.rho.high))

    def order(one: ExperimentRow) -> tuple[bool, float]:
        return one.state != "cause", one.estimate or 0.0

    for one in sorted((one for one in answer.experiments if one.pairs and one.kind != "r-unused"), key=order):
        name = f"without {one.kind}"
        cell = next((cell for cell in record.cells if cell.name == name), None)
        if one.kind == "too-little-data" and record.resample and cell:
            found.append((_QUARTER, cell.mismatches, cell.pairs, cell.low, cell.high))
        else:
            found.append((name, one.after, one.pairs, one.low, one.high))
    return found


def _notes(answer: ExplainAnswer) -> Iterator[str]:
    """Yield what else was noticed: why experiments said nothing, how many rows matter, which variable differs first."""
    for one in answer.experiments:
        if one.note and one.state == "not shown" and not one.note.startswith(_FAILED):
            yield f"{one.kind}: {one.note}."
    if found := answer.fresh_rows:
        changes = f"Replacing {found.median:,} of {found.of:,} rows by fresh ones changes the answer (median of pairs)"
        yield f"{changes}; in pair {found.pair} it turns at row {found.row:,}."
    if hint := answer.local_value:
        what = "The first local value that differs although what its line reads does not"
        yield f"{what} is {hint.name} at {hint.where}: {hint.first} and {hint.second}."


def bars_of(record: Record) -> Sequence[tuple[str, Bar]]:
    """Return the table as a picture: the interval of each rate, against the target."""
    answer, target = answer_of(record), record.target or 0.0
    shown = causes_shown(answer)

    def colour(what: str) -> str:
        return "fail" if what == _AS_IT_IS else "pass" if what in shown else "inconclusive"

    return [
        (what, Bar(low, high, mismatches / pairs, target, colour(what)))
        for what, mismatches, pairs, low, high in lines(record, answer)
    ]
