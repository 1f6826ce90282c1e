"""What does a report say of a record? The same parts, whatever format draws them, made from the record alone.

The verdict comes first, with the bound that decided it, then what it rests on. Where a question answers with numbers
rather than with a verdict, its `title(record)` gives the first line, its own parts come before the facts, and its
tables take the place of the table of cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from auditor.errors import UsageError
from auditor.escape import shortened
from auditor.flow.parts import Bar, Chart, Command, Details, Facts, Listing, Part, Series, Table, Words
from auditor.flow.question import Inquiry, Question, find_question, registered_questions
from auditor.flow.record import IN_PROCESS, ProbeRows, Record, RowFlips
from auditor.report import subject_words
from auditor.report.advice import advice
from auditor.report.subject_words import share
from auditor.request import Options, Request
from auditor.statistics.digits import at_least, at_most, between, exact, percent
from auditor.values.elements import WATCHED, Element, Wobbles

_NAME = 60  # characters of a cell's name in a table
_ELEMENTS = 3  # differing elements that have a line of their own
_ONE_SCREEN = 2  # and on one screen
_VERBOSE = 10  # rows of a table of rows, on a terminal
_SHOWN = 60  # characters of an output in a line
# Facts about how an audit was run, which a page shows apart from what was measured.
HOW_IT_RAN = (
    *("sample", "resampled", "compared", "close", "parameters"),
    *("claimed", "note", "overridden", "budget", "interval", "confidence", "cost"),
)
Row = Sequence[str]  # a name, then our own words and somebody else's in turn


class Report(NamedTuple):
    """The parts of a report, sorted by what they speak of; a format may have an order of its own."""

    title: Words
    reason: Words
    bars: Sequence[Bar]
    facts: Facts
    found: Sequence[Part]  # what the question itself reports
    lead: Sequence[Part]  # of that, what one screen shows
    cells: Sequence[Part]
    wobbles: Sequence[Part]
    examples: Sequence[Part]
    findings: Sequence[Part]
    advice: Sequence[Part]
    scope: Sequence[Part]
    is_survey: bool  # True if it answers with numbers rather than with a verdict

    @property
    def charts(self) -> list[Chart]:
        """The charts among the parts of the report."""
        return [part for part in self.found if isinstance(part, Chart)]

    @property
    def evidence(self) -> list[Part]:
        """Return what differs, the first pair that does, what was noticed on the way, and what to try next."""
        return [*self.wobbles, *self.examples, *self.findings, *self.advice]


def make_report(record: Record, *, verbose: bool = False) -> Report:
    """Return all parts of a record's report; a `verbose` one names the method of each interval."""
    question = question_of(record)
    said = [*question.parts(record)]
    own = [part for one in said for part in (one.parts if isinstance(one, Details) else [one])]
    rows: list[Row] = [row for part in own if isinstance(part, Facts) for row in part.rows]
    is_survey = question.title(record) is not None
    return Report(
        title=Words(_title(record), "title"),
        reason=Words("\n".join(filter(None, [subject_words.headline(record), record.reason]))),
        bars=[part for part in own if isinstance(part, Bar)] or [*_bar(record)],
        facts=make_facts(record, rows if own else _other_measures(record, verbose), is_survey, verbose),
        found=[part for part in own if not isinstance(part, (Facts, Bar))],
        lead=[part for part in said if not isinstance(part, (Facts, Bar, Details))],
        cells=[] if is_survey else [*_cells(record)],
        wobbles=[*wobble_parts(record)],
        examples=[*_examples(record)],
        findings=[*_findings(record)],
        advice=[*advice(record)],
        scope=[] if is_survey else [*_scope(record)],
        is_survey=is_survey,
    )


def report_parts(record: Record, *, verbose: bool = False) -> Iterator[Part]:
    """Yield the parts of a report in the order in which a person reads them: all, or what fits on one screen."""
    report = make_report(record, verbose=verbose)
    yield from (report.title, report.reason)
    if not verbose:
        yield from _one_screen(record, report)
        return
    rows = [part for part in rows_parts(record) if not isinstance(part, Chart)]
    if report.is_survey:
        yield from (*(bar for bar in report.bars if bar.target is None), *report.found, report.facts)
    else:
        yield from (*report.bars, report.facts, *report.found, *report.cells)
    yield from (*(replace(part, rows=part.rows[:_VERBOSE]) if isinstance(part, Table) else part for part in rows),)
    yield from (*report.evidence, *report.scope)


def _one_screen(record: Record, report: Report) -> Iterator[Part]:
    """Yield the bar, the estimate of a mean, what differs, what was noticed, and what to try next."""
    if record.verdict != "error":
        yield from (bar for bar in report.bars if bar.target is None or not report.is_survey)
    rows: list[Row] = [("estimate", estimate)] if (estimate := _mean(record)) else []
    if rows and measure_name(record) == "churn":
        rows += _unshared(answer_of(record).get("churn") or {})
    if rows := [*rows, *_score(record)]:
        yield Facts(rows)
    if record.rows and record.rows.groups:
        yield _group_table(record, record.rows)
    yield from report.lead
    if not report.is_survey:
        yield from _cells(record, with_limits=False)
    yield from (*wobble_parts(record, most=_ONE_SCREEN, example=True), *_noticed(report), *report.advice)
    first = record.examples[0] if record.examples and record.unit == "pairs" else None
    if first and first.replay:
        yield Command(f"To see both outputs of pair {first.pair} in full:", first.replay)
    yield from report.scope


def _mean(record: Record) -> str:
    """Return the estimate of a mean that was asked for, with its standard error; "" where shares are counted."""
    first = record.measures[0] if record.measures else None
    if first is None or first.estimate is None or first.standard_error is None:
        return ""
    error = f"{first.standard_error:.2g}"
    return f"{first.name} {first.estimate:.3g}, with a standard error of {error}, over {record.pairs:,} pairs"


def _noticed(report: Report) -> Iterator[Part]:
    """Yield errors and warnings, with the command that follows each; what is merely worth knowing is left out, but for
    the way in which a learner is called."""
    is_shown = False
    for part in report.findings:
        is_shown = part.style != "info" or part.title == "info called:" if isinstance(part, Listing) else is_shown
        if is_shown:
            yield part


class _NotInstalled(Question):
    """Stands for a question that is not installed: its records are reported as any are, without parts of its own."""

    name, Options = "", Options

    def begin(self, request: Request) -> Inquiry:
        """Raise UsageError: a record of a question that is not installed can be shown, and not asked again."""
        raise UsageError(f"the question {request.question!r} is not installed")


def question_of(record: Record) -> Question:
    """Return the record's question, for the parts of a report that are its own."""
    try:
        return find_question(record.question)
    except UsageError:
        return _NotInstalled()


def charts_of(record: Record, report: Report) -> Sequence[Chart]:
    """Return the chart that the question draws of a record, else the charts of its report."""
    own = question_of(record).chart(record)
    return [own] if own else report.charts


def bars_of(record: Record, report: Report) -> Sequence[tuple[str, Bar]]:
    """Return the report's bars with their names; one for each cell where the record has several.

    A cell that ended as the verdict did has the verdict's range, so that the picture does not contradict it.
    """
    if record.target is None or (report.bars and len(record.cells) < 2):
        return [(record.question, bar) for bar in report.bars]
    bars = []
    for row in record.cells:
        is_decided = record.bound is not None and row.verdict == record.verdict and not _is_comparison(record)
        low, high = open_range(record) if is_decided else (row.low, row.high)
        bars.append((row.name, Bar(low, high, row.estimate or 0.0, record.target, row.verdict)))
    return bars


def answer_of(record: Record) -> dict[str, Any]:
    """Return the question's own part of a record, as it stands in JSON."""
    answer = msgspec.to_builtins(record.answer)
    return answer if isinstance(answer, dict) else {}


def count_trials(record: Record) -> int:
    """Return how many trials a record rests on."""
    return record.pairs or sum(cell.pairs for cell in record.cells)


def measure_name(record: Record) -> str:
    """Return the name of what is held against the target: rho, churn, nu, ..."""
    return record.measures[0].name if record.measures else record.question


def open_range(record: Record) -> tuple[float, float]:
    """Return what the bound that decided leaves open for the measure, else the two-sided interval."""
    if record.bound is None:
        first = record.measures[0] if record.measures else None
        return (first.low, first.high) if first else (0.0, 1.0)
    return (0.0, record.bound.value) if record.bound.side == "upper" else (record.bound.value, 1.0)


def _is_comparison(record: Record) -> bool:
    """True if the cells are one question asked in two ways, and not several sources or inputs."""
    return len({cell.variant for cell in record.cells}) > 1


def _is_worst_of_several(record: Record) -> bool:
    """True if a record is of the worst of several sources or inputs."""
    return len(record.cells) > 1 and not _is_comparison(record)


def _called(record: Record) -> str:
    """Return what the audit is called: the name of its entry, if it has one, and the subject."""
    return f"{record.name} ({record.subject})" if record.name else record.subject


def _title(record: Record) -> str:
    """Return the first line of a report: the verdict, two blanks, and of what."""
    title = question_of(record).title(record) or f"{record.verdict.upper()}  {_called(record)}"
    return title if record.decided_by != "interrupt" else f"INTERRUPTED  {title.partition('  ')[2]}"


def _bar(record: Record) -> Iterator[Bar]:
    """Yield the bar that shows the estimate and what is left open, where there is a target."""
    if record.target is None or not record.measures or not count_trials(record):
        return
    estimates = [record.measures[0].estimate, *(cell.estimate for cell in record.cells)]
    largest = max((one for one in estimates if one is not None), default=0.0)
    yield Bar(*open_range(record), largest, record.target, record.verdict)


def _cells(record: Record, *, with_limits: bool = True) -> Iterator[Part]:
    """Yield a table of the cells, where there are several; their limits are a statement apart from the verdict."""
    if len(record.cells) < 2:
        return
    sure = percent(record.cells[0].confidence)
    counted = {"strings": ("beyond eta", "values of r"), "runs": ("outside", "runs")}
    what = {"strings": "nu", "runs": "the share of runs outside the list"}.get(record.unit, measure_name(record))
    rows = []
    for cell in record.cells:
        state = "undecided" if cell.verdict == "inconclusive" else cell.verdict
        counts = f"{cell.mismatches:,}" + (f", {cell.failures:,} inaccurate" if cell.failures else "")
        row = [shortened(cell.name, _NAME), state, counts, f"{cell.pairs:,}"]
        limits = (at_least(cell.low, beside=record.target), at_most(cell.high, beside=record.target))
        rows.append([*row, *(limits if with_limits else ())])
    head = ("", "verdict", *counted.get(record.unit, ("mismatches", record.unit)))
    together = f"; these limits hold together with {sure} confidence, apart from the verdict" if with_limits else ""
    title = f"{what[:1].upper() if what != 'rho' else 'r'}{what[1:]} for each {_cell_word(record)}{together}:"
    yield Table((*head, *(("at least", "at most") if with_limits else ())), rows, title=title)


def _cell_word(record: Record) -> str:
    """Return what the cells of a record are, in a user's words."""
    if _is_comparison(record):
        return "way to run it"
    if any(cell.input is not None for cell in record.cells):
        return "input" if len({cell.source for cell in record.cells}) == 1 else "source and input"
    return "source"


def _examples(record: Record) -> Iterator[Part]:
    """Yield the first pair that differs; of strings the question itself shows the worst one, which tells more."""
    for example in record.examples[:1] if record.unit == "pairs" else ():
        found = example.first_difference
        yield Listing(f"The outputs of pair {example.pair} differ at", (found.left, found.right), at=found.path)
        if example.replay:
            yield Command("replay it with:", example.replay)


def _findings(record: Record) -> Iterator[Part]:
    """Yield what was noticed besides the verdict, each with the command that shows it again."""
    for finding in record.findings:
        yield Listing(f"{finding.severity} {finding.kind}:", (finding.message,), style=finding.severity)
        if finding.replay:
            yield Command("replay it with:", finding.replay)


def _scope(record: Record) -> Iterator[Part]:
    """Yield what a verdict does not speak of."""
    if record.resample and record.verdict != "error":
        rows = f"Samples are drawn anew from one data set ({record.resample})"
        plain = f"{rows}: for samples of fresh rows rho may be higher or lower."
        yield Words(subject_words.scope(record) or plain, "dim")
    if record.verdict == "pass":
        scope = f"these {len(record.cells)} {_cell_word(record)}s" if _is_worst_of_several(record) else "this source"
        only = f"A pass speaks of {scope} and this size only: it proves nothing for other distributions or sizes"
        right = ", nor that answers are right: a constant agrees with itself, too" if record.accuracy is None else ""
        yield Words(f"{only}{right}.", "dim")


# --- Facts: what was measured, on what, against which claim, how surely and at what cost


def make_facts(record: Record, own: Sequence[Row], is_survey: bool, verbose: bool = False) -> Facts:
    """Return the facts of a record. Rows of the question's own come after rho, or replace those of the same name."""
    found = [*_measured(record, verbose), *_sampled(record), *_claimed(record), *_spent(record, is_survey, verbose)]
    instead = {row[0]: row for row in own}
    named = {row[0] for row in found}
    first = int(bool(found) and found[0][0] == "rho")
    rows = [instead.get(row[0], row) for row in found]
    return Facts([*rows[:first], *(row for row in own if row[0] not in named), *rows[first:]])


def _other_measures(record: Record, verbose: bool) -> list[Row]:
    """Return a row for each measure that no row of `_measured` speaks of."""
    known, rows = ("rho", "churn", "nu", "inaccurate"), []
    for one in record.measures:
        if one.name not in known:
            counts = "" if one.count is None or one.of is None else f"{one.count:,} of {one.of:,}; "
            method = f", {one.method}" if verbose else ""
            rows.append(
                (one.name, f"{counts}{between(one.low, one.high)} ({percent(one.confidence)} confidence{method})")
            )
    return [*rows]


def _measured(record: Record, verbose: bool) -> Iterator[Row]:
    """Yield rows for the target, rho, churn and accuracy."""
    answer = answer_of(record)
    if record.target is not None and not count_trials(record):
        yield "target", exact(record.target)
    if record.rho and record.pairs:
        yield "rho", _rho(record, answer, verbose)
        if found := answer.get("integrated"):
            yield from _integrated(record, found)
    if churn := answer.get("churn"):
        how = f"apart, where {churn['scale']:g} counts as 1," if churn.get("scale") else "of the probe points change"
        how = "apart in total variation" if record.view.endswith("predict_proba") else how
        limits = between(churn["low"], churn["high"], beside=record.target)
        is_judged = record.question == "churn" and record.bound is not None
        interval = "" if is_judged else f", {limits} ({percent(churn['confidence'])} confidence)"
        yield (
            "churn",
            f"{churn['mean']:.3g} {how} on average{interval}; "
            f"half of the pairs at most {at_most(churn['median'])}, "
            f"nine in ten at most {at_most(churn['ninth_decile'])}",
        )
        yield from _unshared(churn)
    if record.accuracy:
        yield _accuracy(record, answer.get("loss"))
    yield from _score(record)


def _unshared(churn: dict[str, Any]) -> Iterator[Row]:
    """Yield how much two fits differ that do not share r, so that a user sees what sharing it buys."""
    if churn.get("unshared") is None:
        return
    yield (
        "unshared",
        f"{churn['unshared']:.3g}, with a standard error of {churn['unshared_error']:.2g}, for two fits that do not "
        f"share r: an estimate from the fits of {churn['unshared_pairs']:,} pairs, without a guarantee",
    )


def _score(record: Record) -> Iterator[Row]:
    """Yield the row about how good the fits are."""
    found = record.score
    if found is None:
        return
    error = "" if found.standard_error is None else f", with a standard error of {found.standard_error:.2g}"
    least = f"; the least of {len(record.cells)} {_cell_word(record)}s" if _is_worst_of_several(record) else ""
    limits = ""
    if found.low is not None and found.high is not None:
        limits = f"; {between(found.low, found.high, beside=found.at_least)} ({percent(found.confidence)} confidence)"
    asked = "" if found.at_least is None else f"; at least {exact(found.at_least)} is asked for"
    own = found.name == "score"
    by = (f"{found.estimate:.3g}{error}, by {'its own score' if own else ''}", "" if own else found.name)
    yield "score", *by, f" on rows that the fit has not seen{least}{limits}{asked}"


def _rho(record: Record, answer: dict[str, Any], verbose: bool) -> str:
    """Say how many pairs differ; and the interval of rho, unless the verdict has a bound, which says it then."""
    rho = record.rho
    assert rho is not None  # or there is no row of it
    interval = "" if record.bound else _limits(record, verbose)
    if answer.get("integrated") and rho.estimate is not None:
        counts = f"{rho.estimate:.3g} on average over {record.pairs:,} pairs of samples"
        return f"{counts}; {interval}" if interval else counts
    differ = "1 mismatch" if record.mismatches == 1 else f"{record.mismatches or 0:,} mismatches"
    private = record.cells[0].variant if record.cells else None
    of, largest = "", ""
    if record.unit == "strings":
        of, largest = ", the first two runs of each value of r", "the largest is "
        of += f" for {len(record.cells)} {_cell_word(record)}s" if len(record.cells) > 1 else ""
    elif _is_worst_of_several(record):
        of, largest = f" over all {len(record.cells)} {_cell_word(record)}s", "the largest is "
    elif private in ("shared", "unshared"):
        of = f", with private randomness {private}"
    counts = f"{differ} in {record.pairs:,} pairs{of}"
    return f"{counts}; {largest if len(record.cells) > 1 else ''}{interval}" if interval else counts


def _limits(record: Record, verbose: bool) -> str:
    """Return the two-sided interval of rho with its confidence, what it takes on trust and its method."""
    rho = record.rho
    assert rho is not None
    given = _given(record)
    method = f", {rho.method.removesuffix(given)}" if verbose else ""
    limits = between(rho.low, rho.high, beside=record.target)
    return f"{limits} ({percent(rho.confidence)} confidence{method}{given})"


def _given(record: Record) -> str:
    """Return what the interval of rho takes on trust, as the end of its method has it: ", given core, finish and m"."""
    return "".join(record.rho.method.partition(", given ")[1:]) if record.rho else ""


def _apart_from_verdict(record: Record, verbose: bool) -> Iterator[Row]:
    """Yield the two-sided interval of rho where a bound decided: a statement of its own, which may seem to say less."""
    rho, bound = record.rho, record.bound
    if rho is None or bound is None or not record.pairs or record.question not in registered_questions():
        return
    largest = "the largest rho is " if _is_worst_of_several(record) else "rho is "
    words = f"{largest}{_limits(record, verbose)}, apart from the verdict"
    if record.target is not None and rho.low <= record.target < rho.high:
        words += (
            ". It is wider than the verdict needs, because it holds on both sides and at every number of pairs; it may "
            "contain the target"
        )
    yield "interval", words


def _integrated(record: Record, found: dict[str, Any]) -> Iterator[Row]:
    """Yield how rho was averaged over r, whether outputs agree with what was declared, and what is known of a body."""
    how = {"exact": "by the mismatch that is declared", "upper": "and held against the upper bound that is declared"}
    by = how.get(str(found["declared"]), "without a formula")
    total = found["finishes"] * (record.pairs or 0)
    expected = f", where the declared mismatch says {found['expected']:,.1f}" if found["declared"] == "exact" else ""
    yield (
        "averaged",
        f"over r, {by}: each pair of samples was also run to its end with {found['finishes']} fresh values of r, and "
        f"{found['differing']:,} of {total:,} outputs differ{expected}",
    )
    if body := found.get("body"):
        yield (
            "steps",
            f"rho is that of the two steps that are declared, core and finish. The function itself gave what they give "
            f"in each of {body['runs']:,} runs: it differs from them in at most {at_most(body['share'])} of runs "
            f"({percent(body['confidence'])} confidence, apart from the verdict), and its own rho is at most "
            f"{at_most(body['rho'])} ({percent(body['rho_confidence'])} confidence, verdict included)",
        )


def _accuracy(record: Record, loss: object) -> Row:
    """Return the row about runs that an oracle found inaccurate, or that a loss found not to generalise."""
    found = record.accuracy
    assert found is not None  # or there is no row of it
    share = f"{between(found.low, found.high, beside=found.allowed)} ({percent(found.confidence)} confidence)"
    share += "" if found.allowed is None else f"; {exact(found.allowed)} is allowed"
    certified = ""
    if found.certified is not None and record.verdict == "pass":
        certified = ", which is shown" if found.certified else ", which was neither shown nor refuted"
    counts = f"{found.failures:,} of {found.runs:,}"
    if loss:
        rest = f"; a share {share}, by Lemma A.6{certified}"
        return "generalises", f"{counts} runs break R(h) <= R^(h) + slack by ", str(loss), rest
    if record.unit == "strings":
        noun = "most frequent outputs, one for each value of r; a share"
    elif _is_worst_of_several(record):
        noun = f"runs over all {len(record.cells)} {_cell_word(record)}s; the largest share is"
    else:
        noun = "runs; a share"
    return "inaccurate", f"{counts} {noun} {share}{certified}"


def _sizes(record: Record) -> list[int]:
    """Return the sizes of samples in a record, in order."""
    return sorted({cell.size for cell in record.cells}) or [record.size]


def _sampled(record: Record) -> Iterator[Row]:
    """Yield rows about the samples and how outputs are compared."""
    sizes = _sizes(record)
    size = f"{sizes[0]:,} to {sizes[-1]:,}" if len(sizes) > 1 else f"{record.size:,}"
    rows = "row" if size == "1" else "rows" if record.sample_kind == "rows" else "rows, as counts,"
    r = (", r as ", record.randomness) if record.randomness != "none" else (", without r", "")
    yield "sample", f"{size} {rows} from ", record.source, *r, f", seed {record.seed}"
    if record.resample:
        yield "resampled", "by ", record.resample
    if record.view != "output":
        yield "compared", "", record.view
    if within := [f"{name} {record.asked[name]}" for name in ("atol", "rtol") if record.asked.get(name)]:
        yield "close", "numbers within ", ", ".join(within), "; rho is how often two runs are not close"
    if record.params:
        yield "parameters", "", ", ".join(f"{name}={value}" for name, value in record.params.items())


def _claimed(record: Record) -> Iterator[Row]:
    """Yield rows about what the author claims, and what was overridden."""
    claimed = "" if record.claimed is None else f"rho {exact(record.claimed)}"
    if record.theorem:
        scale = 1.0 if record.sample_scale is None or len(_sizes(record)) > 1 else record.sample_scale
        below = "" if scale >= 1 else f" (below theorem: {scale:.3g} of the size it asks for)"
        yield "claimed", f"{claimed} by ".lstrip(), record.theorem, below
    elif claimed:
        yield "claimed", claimed
    if record.note:
        yield "note", "", record.note
    for name, (declared, used) in record.overridden.items():
        yield "overridden", f"{name} ", str(used), ", declared ", str(declared)


def _spent(record: Record, is_survey: bool, verbose: bool) -> Iterator[Row]:
    """Yield rows about the budget, the confidence and the cost."""
    if not count_trials(record):
        return
    design = {"fixed": ", all of them run", "anytime": ", or fewer if they decide"}.get(record.design, "")
    runs = answer_of(record).get("runs")
    unit = f"values of r, with {runs} runs each" if runs and record.unit == "strings" else record.unit
    since = f"; the gate was planned for {record.first_budget:,}" if record.first_budget else ""
    yield "budget", f"{record.budget:,} {unit}{'' if is_survey else design}{since}"
    if not is_survey:
        yield from _apart_from_verdict(record, verbose)
        if stated := confidences(record):
            yield "confidence", stated
    cost = record.cost
    where = "in this process, of which" if cost.engine == IN_PROCESS else f"{cost.engine}, with"
    yield (
        "cost",
        f"{cost.runs:,} runs, and {cost.preflight_runs} more to look for hidden state; {cost.seconds_total:.3g} s "
        f"{where} {cost.seconds_in_subject:.3g} s in the subject",
    )


def confidences(record: Record) -> str:
    """Say which statement of a report has which confidence; "" where an audit ended without a verdict.

    A verdict has its error probability for itself. Intervals are further statements: each has its own, or several of
    them hold together; that all of a report holds is less likely than that any one statement does.
    """
    if not record.error_spent or not count_trials(record):
        return ""
    verdict = f"the verdict is wrong with probability at most {at_most(record.error_spent)}{_given(record)}"
    together = percent(1 - record.error_spent)
    if record.rho is None:
        return verdict
    if record.unit == "strings":
        of = f" of all {_cell_word(record)}s" if len(record.cells) > 1 else ""
        rows = f"the rows of the table{of} hold together with {together} confidence"
        return f"{verdict}; {rows}, the interval of rho by itself with {percent(record.rho.confidence)}"
    if _is_comparison(record):
        return f"both verdicts hold together with {together} confidence; so do both intervals of rho, apart from them"
    if len(record.cells) > 1:
        every = f"the limits for all {_cell_word(record)}s"
        return f"{verdict}; {every} hold together with {together} confidence, apart from it"
    return f"{verdict}; each interval holds by itself with {percent(record.confidence)} confidence"


def shared_confidence(confidence: float) -> str:
    """Say what the verdicts and intervals of several audits that share one error are worth together."""
    return (
        f"All verdicts are right together with {percent(confidence)} confidence. The intervals are another statement, "
        f"which holds for all of them together with {percent(confidence)} confidence, too."
    )


def baseline_offers(records: Sequence[Record]) -> Iterator[tuple[str, str]]:
    """Yield (sentence, subject) where a subject is better than its baseline and could be held to that from now on."""
    for record in records:
        held = answer_of(record).get("baseline") if record.verdict != "fail" else None
        if held and held["is_better"] and record.pairs:
            was, now = held["mismatches"] / held["pairs"], (record.mismatches or 0) / record.pairs
            yield f"rho fell from about {was:.3g} to about {now:.3g}: gate --update-baseline writes it", record.label
        if held and held["is_reached"]:
            yield f"rho is at most {exact(held['wanted'])} by now: expect = pass holds it to that", record.label


# --- Wobbles: which elements of the outputs differ. They count what was seen, and promise nothing of other pairs.

_CHOOSES = re.compile(r"support|nonzero|top\(|selected|get_feature_names")  # views whose members are features


def wobble_parts(record: Record, *, most: int = _ELEMENTS, example: bool = False) -> Iterator[Part]:
    """Yield which elements of the outputs differ, at most `most` of them by name; nothing where all pairs agree."""
    wobbles = record.wobbles
    if wobbles is None or not wobbles.mismatches:
        return
    where = f" with {record.cells[wobbles.cell].name}" if len(record.cells) > 1 else ""
    where = {" with new": " with the new version", " with old": " with the old version"}.get(where, where)
    counted = min(wobbles.of, WATCHED)
    left_out = f", {counted - wobbles.pairs:,} without two outputs left out" if counted > wobbles.pairs else ""
    scope = f"in {'the first ' if wobbles.of > WATCHED else ''}{counted:,} pairs{left_out}"
    lines = [*_wobble_lines(record, wobbles, most)]
    if example and record.examples and record.unit == "pairs":
        first = record.examples[0]
        left, right = (shortened(text, _SHOWN) for text in (first.first_difference.left, first.first_difference.right))
        at = "" if first.first_difference.path == "output" else f" at {first.first_difference.path}"
        lines.append(f"for example, pair {first.pair}{at}: {left} and {right}")
    yield Listing(f"What differs{where}, {scope}:", lines)


def _wobble_lines(record: Record, wobbles: Wobbles, most: int) -> Iterator[str]:
    """Yield a sentence about all outputs, and one about each element that differs."""
    if wobbles.distinct is not None and (wobbles.kind != "scalar" or wobbles.frequent):
        if not wobbles.frequent:
            yield f"all {wobbles.runs:,} outputs are distinct"
        else:
            text, count = wobbles.frequent[0].text, wobbles.frequent[0].count
            own = subject_words.shares(record.wording, wobbles.frequent, wobbles.runs) if record.wording else ""
            often = f"the most frequent in {share(count, wobbles.runs)} of the runs"
            plain = f"{wobbles.distinct:,} distinct outputs; {often}{f': {text}' if text else ''}"
            yield f"{record.wording.answer}: {own}" if record.wording and own else plain
    if wobbles.kind == "choice":
        for one in wobbles.elements[:most]:
            often = f"{one.name} is chosen in {share(one.runs or 0, wobbles.runs)} of the runs"
            plain = f"{_noun(record, wobbles)} {often}"
            own = subject_words.choice(record.wording, one, wobbles.runs) if record.wording else plain
            yield f"{own}; the two runs disagree on it in {_of(one, wobbles)}"
        if wobbles.unsteady > most:
            some = f"{wobbles.unsteady - most:,}{' more' if most else ''}"
            yield f"some pairs disagree on {some}"
    elif [one.name for one in wobbles.elements] == [""]:
        own = f"the {record.wording.answer}" if record.wording else "the output"
        yield f"{own} {_differs(wobbles.elements[0], wobbles)}"
    elif wobbles.unsteady > most:
        yield from _many_elements(record, wobbles, most)
    else:
        yield from (f"{_element_name(record, wobbles, one)} {_differs(one, wobbles)}" for one in wobbles.elements)


def _many_elements(record: Record, wobbles: Wobbles, most: int) -> Iterator[str]:
    """Yield a sentence for all elements, and a line for each of those that differ most often."""
    noun = _noun(record, wobbles)
    ranked = [*_row_lines(record, _row_noun(record), most)]
    every = wobbles.unsteady == wobbles.size
    of = "" if wobbles.size is None or every else f" of {wobbles.size:,}"
    which = f"{'all ' if every else '' if wobbles.whole else 'at least '}{wobbles.unsteady:,}{of} {noun}s"
    labels = any(one.values for one in wobbles.elements)
    verb, by = "flip" if labels and noun.endswith("row") else "differ", "" if labels else _by(wobbles)
    if wobbles.always == wobbles.unsteady and wobbles.whole:
        yield f"{which} {verb} in every pair{by}"
        return
    if ranked:
        yield f"{which} {verb} in some pair{by}; most often, counted in pairs that did not choose them:"
        yield from ranked
        return
    yield f"{which} {verb} in some pair{by}{'; most often:' if most else ''}"
    for each in wobbles.elements[:most]:
        yield f"{_element_name(record, wobbles, each)} in {_of(each, wobbles)}{_values(each)}"


def _row_lines(record: Record, noun: str, most: int) -> Iterator[str]:
    """Yield a line for each of the rows that change most often, by pairs that did not choose them."""
    changed = (one for one in record.rows.worst if one.distance) if record.rows else ()
    for one in islice(changed, most):
        often = f"in {one.pairs:,} of {one.of:,} pairs"
        if _is_of_distance(record):
            often = f"{one.distance:.3g} apart on average"
        yield f"{noun} {one.row} {often}{_predicted(one)}"


def _is_of_distance(record: Record) -> bool:
    """True if two predictions may be more or less apart, and not only the same or another."""
    return bool(record.asked.get("scale")) or record.view.endswith("predict_proba")


def _predicted(one: RowFlips) -> str:
    """Return what fits predict for a row: " (1 or 2)", or the range of most of the numbers."""
    if one.quantiles:
        return f" ({one.quantiles[0]:.4g} to {one.quantiles[-1]:.4g})"
    *others, last = [value.text for value in one.values] or [""]
    return f" ({', '.join(others)} or {last})" if others else f" ({last})" if last else ""


_OWN_COLUMNS = 8  # of a row that a table has room for


def rows_parts(record: Record) -> Iterator[Part]:
    """Yield which rows' predictions change: in which groups, the worst of them with their columns, and a plot."""
    found = record.rows
    if found is None or not found.unsteady:
        return
    if found.groups:
        yield _group_table(record, found)
    if found.worst:
        yield _worst_table(record, found)
    if found.plot:
        low, high = (end(point[0] for point in found.plot) for end in (min, max))
        same = Series("where they agree", "line", [(low, None, low, None), (high, None, high, None)])
        points, what = (
            Series("a row: other fits, from 5 to 95 %", "points", [_plotted(*one) for one in found.plot]),
            found.plotted,
        )
        yield Chart(f"{record.subject}  instability", f"{what} by one fit", f"{what} by others", [points, same])
    bins = len(found.histogram) - 1
    shares = ["none", *(f"up to {100 * (place + 1) // bins} %" for place in range(bins))]
    counts = [(name, f"{count:,}") for name, count in zip(shares, found.histogram, strict=False) if count]
    yield Table(("of the pairs", "rows"), counts, title=f"In how many of {found.pairs:,} pairs the prediction changes:")


def _worst_table(record: Record, found: ProbeRows) -> Table:
    """Return the rows that change most, with as many of their own columns as there is room for, and the label."""
    names = found.columns
    places = [*range(len(names))]
    if len(names) > _OWN_COLUMNS:
        places = [*places[: _OWN_COLUMNS - 1], places[-1]]
    table = [
        (
            str(one.row),
            f"{one.pairs:,} of {one.of:,}",
            f"{one.distance:.3g}",
            _predicted(one).strip(" ()"),
            *(_own_value(one.columns[place]) if place < len(one.columns) else "" for place in places),
        )
        for one in found.worst
    ]
    title = f"The {len(table)} rows that change most in pairs of even numbers, as those of odd numbers show them:"
    head = (_row_noun(record), "pairs", "distance", "predicted", *(names[place] for place in places))
    return Table(head, table, title=title, extra=4)


def _plotted(x: float, low: float, middle: float, high: float) -> tuple[float, float, float, float]:
    """Return a point of a series: x, its lower limit, its estimate and its upper limit."""
    return x, low, middle, high


def _own_value(value: object) -> str:
    """Return a value of a probe row in a few characters."""
    return f"{value:.4g}" if isinstance(value, float) else shortened(str(value), _NAME)


def _group_table(record: Record, found: ProbeRows) -> Table:
    """Return the table of groups of probe rows: how often predictions change in each."""
    rows = [
        (
            shortened(one.name, _NAME),
            f"{one.rows:,}",
            f"{one.estimate:.3g}",
            "" if one.standard_error is None else f"{one.standard_error:.2g}",
            at_least(one.low),
            at_most(one.high),
        )
        for one in found.groups
    ]
    sure = percent(found.confidence or 0.0)
    title = f"Churn by {found.by}, over {found.pairs:,} pairs; these limits hold together with {sure} confidence:"
    return Table(("", "rows", "churn", "standard error", "at least", "at most"), rows, title=title)


def _row_noun(record: Record) -> str:
    """Return what a row of the probe set is called."""
    return "row" if record.resample and not isinstance(record.probe, str) else "probe row"


def wobble_table(record: Record) -> Table | None:
    """Return a table of every element that the record names, where the sentences would name the worst alone."""
    wobbles = record.wobbles
    if wobbles is None or len(wobbles.elements) <= _ELEMENTS or wobbles.always == wobbles.unsteady:
        return None
    chosen = wobbles.kind == "choice"
    rows = [
        (
            one.name if chosen else _element_name(record, wobbles, one),
            f"{one.pairs:,}",
            share(one.pairs, wobbles.pairs),
            share(one.runs or 0, wobbles.runs) if chosen else _values(one).strip(" ()") or _by(one).strip(", "),
        )
        for one in wobbles.elements
    ]
    more = f"; the {len(rows)} that differ most often" if wobbles.unsteady > len(rows) else ""
    head = (_noun(record, wobbles), "pairs", "share", "chosen in" if chosen else "it was")
    return Table(head, rows, title=f"In how many of {wobbles.pairs:,} pairs each differs{more}:")


def _differs(one: Element, wobbles: Wobbles) -> str:
    """Say in how many pairs an element differs, and what it was or how far apart."""
    words = "differs in every pair" if one.pairs == wobbles.pairs else f"differs in {_of(one, wobbles)}"
    return f"{words}{_values(one) or _by(one)}"


def _of(one: Element, wobbles: Wobbles) -> str:
    """Return in how many pairs an element differs: "3 of 7 pairs"."""
    return f"{one.pairs:,} of {wobbles.pairs:,} pairs"


def _by(seen: Element | Wobbles) -> str:
    """Say how far apart numbers were in the median, and at the most where that is another number."""
    if seen.gap is None:
        return ""
    furthest = "" if seen.largest in (None, seen.gap) else f" and up to {seen.largest:.3g}"
    return f", by {seen.gap:.3g} in the median{furthest}"


def _values(one: Element) -> str:
    """Return the values that an element had, " (1, 2 or 3)", where few came again and again; else ""."""
    if not one.values or one.runs is not None:
        return ""
    *others, last = (value.text for value in one.values)
    return f" ({', '.join(others)} or {last})" if others else f" ({last})"


def _noun(record: Record, wobbles: Wobbles) -> str:
    """Return what an element of the output is called: a feature, a row, or an element."""
    if wobbles.kind == "choice":
        return "feature" if _CHOOSES.search(record.view) else "element"
    if not record.view.startswith("predict") or record.view.endswith("predict_proba"):
        return "element"
    return _row_noun(record)


def _element_name(record: Record, wobbles: Wobbles, one: Element) -> str:
    """Return the name of an element as whoever wrote the output would call it: "key a", "element 3", "coef_"."""
    inner = re.fullmatch(r"\[(.*)\]", one.name)
    if record.wording and inner:
        return record.wording.element.format(inner[1].strip("'"))
    if inner and "][" not in one.name:
        return f"{'key' if wobbles.kind == 'dict' else _noun(record, wobbles)} {inner[1]}"
    return one.name.lstrip(".") if one.name.startswith(".") else f"output{one.name}"
