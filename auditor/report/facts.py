"""What is known, a line each: what was measured, on what, against which claim, how surely and at what cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from auditor.flow.parts import Facts
from auditor.flow.record import IN_PROCESS, Accuracy, Record, RhoInterval
from auditor.statistics.outward import at_most, between, exact, percent

_CLOSER = "; the verdict's limit is one-sided, and so closer"
# What a sample was, what was claimed, and what it cost: not what came out.
_SAMPLED, _SPENT = ("sample", "resampled", "compared", "close", "parameters"), ("budget", "confidence", "cost")
HOW_IT_RAN = (*_SAMPLED, "claimed", "note", "overridden", *_SPENT)
Row = Sequence[str]  # a name, then our words and somebody else's in turn


def make_facts(record: Record, own: Sequence[Row], *, is_survey: bool, verbose: bool = False) -> Facts:
    """Those of any record; the question's own come after rho, or in place of those of the same name."""
    found = [*_measured(record, verbose), *_sampled(record), *_claimed(record), *_spent(record, is_survey=is_survey)]
    instead = {row[0]: row for row in own}
    named = {row[0] for row in found}
    first = int(bool(found) and found[0][0] == "rho")
    rows = [instead.get(row[0], row) for row in found]
    return Facts([*rows[:first], *(row for row in own if row[0] not in named), *rows[first:]])


def told(record: Record) -> dict[str, Any]:
    """The question's own part, as it stands in JSON."""
    answer = msgspec.to_builtins(record.answer)
    return answer if isinstance(answer, dict) else {}


def counted(record: Record) -> int:
    """Trials that the record rests on."""
    return record.pairs or sum(cell.pairs for cell in record.cells)


def is_comparison(record: Record) -> bool:
    """Whether the cells are one question asked in two ways, and not sources or inputs."""
    return len({cell.variant for cell in record.cells}) > 1


def is_worst_of_several(record: Record) -> bool:
    return len(record.cells) > 1 and not is_comparison(record)


def _is_about_strings(record: Record) -> bool:
    return record.unit == "strings"


def _measured(record: Record, verbose: bool) -> Iterator[Row]:
    if record.target is not None and not counted(record):
        yield "target", exact(record.target)
    if record.rho and record.pairs:
        yield "rho", _rho(record, record.rho, verbose)
        if found := told(record).get("integrated"):
            yield "integrated", _integrated(record, found)
    if churn := told(record).get("churn"):
        closer = _CLOSER if record.question == "churn" and record.bound else ""
        limits = between(churn["low"], churn["high"], beside=record.target)
        yield (
            "churn",
            f"{churn['mean']:.3g} of the probe points change on average, {limits} "
            f"({percent(churn['confidence'])} two-sided{closer}); "
            f"half of the pairs at most {at_most(churn['median'])}, "
            f"nine in ten at most {at_most(churn['ninth_decile'])}",
        )
    if record.accuracy:
        yield _accuracy(record, record.accuracy)


def _rho(record: Record, rho: RhoInterval, verbose: bool) -> str:
    if told(record).get("integrated") and rho.estimate is not None:
        mean = f"{rho.estimate:.3g} on average over {record.pairs:,} pairs of cores; "
        given = _given(rho)
        how = method(rho.method.removesuffix(given), verbose)
        limits = f"{between(rho.low, rho.high, beside=record.target)} ({percent(rho.confidence)} two-sided{how}{given})"
        return f"{mean}{limits}{beside(record)}"
    differ = "1 mismatch" if record.mismatches == 1 else f"{record.mismatches or 0:,} mismatches"
    return (
        f"{differ} in {record.pairs:,} {_rho_noun(record)} {between(rho.low, rho.high, beside=record.target)} "
        f"({percent(rho.confidence)} two-sided{method(rho.method, verbose)}){beside(record)}"
    )


def _given(rho: RhoInterval) -> str:
    """What rho takes on trust, as the end of its method has it: ", given core, finish and m"."""
    return "".join(rho.method.partition(", given ")[1:])


def _integrated(record: Record, found: dict[str, Any]) -> str:
    """What rho was measured with, and whether coins agree."""
    known = {"exact": "by the declared mismatch of two cores", "upper": "by real finishes, within a declared bound"}
    how = known.get(str(found["declared"]), "by real finishes, without a formula")
    words = f"integrates the randomness of the finish, {how}; {found['finishes']} fresh r finish each pair"
    total = found["finishes"] * (record.pairs or 0)
    expected = f", where it says {found['expected']:,.1f}" if found["declared"] == "exact" else ""
    return f"{words}, and {found['differing']:,} of {total:,} differ{expected}"


def method(name: str, verbose: bool) -> str:
    """By what an interval was made: for those who ask."""
    return f", {name}" if verbose else ""


def _rho_noun(record: Record) -> str:
    """What the mismatches were counted in."""
    if _is_about_strings(record):
        several = len(record.cells) > 1 and told(record).get("cell")
        largest = f" of {len(record.cells)} arms; the largest is" if several else ";"
        return f"pairs, the first two runs of each string{largest}"
    if is_worst_of_several(record):
        return f"pairs over all {len(record.cells)} arms; the largest is"
    private = record.cells[0].variant if record.cells else None
    return f"pairs, with private randomness {private};" if private in ("shared", "unshared") else "pairs;"


def beside(record: Record) -> str:
    """What to make of a two-sided interval beside a verdict's one-sided limit, and of one that contains the target
    beside a verdict that does not leave it open."""
    bound, rho, target = record.bound, record.rho, record.target
    if bound is None or rho is None or target is None or _is_about_strings(record) or record.question == "churn":
        return ""
    if bound.value == target and rho.low <= target < rho.high:
        return "; it holds at every number of pairs, which takes more than the verdict, and contains the target"
    is_its_limit = any(math.isclose(bound.value, limit) for limit in (rho.low, rho.high))
    return "" if bound.value == target or is_its_limit else _CLOSER


def _accuracy(record: Record, found: Accuracy) -> Row:
    loss = told(record).get("loss")
    share = f"{between(found.low, found.high, beside=found.allowed)} ({percent(found.confidence)} two-sided)"
    allowed = "" if found.allowed is None else f"; {exact(found.allowed)} is allowed"
    counts = f"{found.failures:,} of {found.runs:,}"
    if loss:
        rest = f"; a share {share}{allowed}, by Lemma A.6{_certified(record, found)}"
        return "generalises", f"{counts} runs break R(h) <= R^(h) + slack by ", str(loss), rest
    return "inaccurate", f"{counts} {_accuracy_noun(record)} {share}{allowed}{_certified(record, found)}"


def _accuracy_noun(record: Record) -> str:
    if _is_about_strings(record):
        return "strings' most frequent outputs; a share"
    several = f" over all {len(record.cells)} arms; the largest share is"
    return f"runs{several}" if is_worst_of_several(record) else "runs; a share"


def _certified(record: Record, found: Accuracy) -> str:
    """Whether a share within what is allowed was shown, or only none above it."""
    if found.certified is None or record.verdict != "pass":
        return ""
    return ", which is certified" if found.certified else ", which was not refuted, and not certified"


def _sampled(record: Record) -> Iterator[Row]:
    sizes = _sizes(record)
    size = f"{sizes[0]:,} to {sizes[-1]:,}" if len(sizes) > 1 else f"{record.size:,}"
    rows = "row" if size == "1" else "rows" if record.sample_kind == "rows" else "rows, as counts,"
    yield "sample", f"{size} {rows} from ", record.source, ", r as ", record.randomness, f", seed {record.seed}"
    if record.resample:
        yield "resampled", "by ", record.resample
    if record.view != "output":
        yield "compared", "", record.view
    if within := [f"{name} {record.asked[name]}" for name in ("atol", "rtol") if record.asked.get(name)]:
        yield "close", "numbers within ", ", ".join(within), "; rho is how often two runs are not close"
    if record.params:
        yield "parameters", "", ", ".join(f"{name}={value}" for name, value in record.params.items())


def _sizes(record: Record) -> list[int]:
    return sorted({cell.size for cell in record.cells}) or [record.size]


def _claimed(record: Record) -> Iterator[Row]:
    claimed = "" if record.claimed is None else f"rho {record.claimed:g}"
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


def _spent(record: Record, *, is_survey: bool) -> Iterator[Row]:
    if not counted(record):
        return
    how = {"fixed": ", all of them run", "anytime": ", fewer if decided earlier"}.get(record.design, "")
    runs = told(record).get("runs")
    unit = f"{record.unit} of {runs} runs" if runs and _is_about_strings(record) else record.unit
    since = f"; the gate was planned for {record.first_budget:,}" if record.first_budget else ""
    yield "budget", f"{record.budget:,} {unit}{'' if is_survey else how}{since}"
    if not is_survey and (stated := confidences(record)):
        yield "confidence", stated
    yield (
        "cost",
        f"{record.cost.runs:,} runs, {record.cost.preflight_runs} more to look for hidden state; {_seconds(record)} "
        "in the subject",
    )


def _seconds(record: Record) -> str:
    """In several processes at once a subject takes more seconds than pass."""
    total, inside = record.cost.seconds_total, record.cost.seconds_in_subject
    if record.cost.engine == IN_PROCESS:
        return f"{total:.3g} s in this process, of them {inside:.3g} s"
    return f"{total:.3g} s {record.cost.engine}, {inside:.3g} s"


def confidences(record: Record) -> str:
    """Which statement of a report has which confidence; empty where an audit ended without one.

    A verdict has its error probability for itself. Intervals are further statements: each has its own, or several of
    them hold together; that all of a report holds is less likely than that any one statement does.
    """
    if not record.error_spent or not counted(record):
        return ""
    given = _given(record.rho) if record.rho else ""
    verdict = f"the verdict is wrong with probability at most {at_most(record.error_spent)}{given}"
    together = percent(1 - record.error_spent)
    if record.rho is None:
        return verdict
    if _is_about_strings(record):
        of = " of all arms" if len(record.cells) > 1 else ""
        rows = f"the rows of the table{of} hold together with {together}"
        return f"{verdict}; {rows}, and the interval of rho has its own {percent(record.rho.confidence)}"
    if is_comparison(record):
        return f"both verdicts hold together with {together}; so do the two intervals of rho, apart from the verdicts"
    if len(record.cells) > 1:
        return f"{verdict}; the intervals of all arms hold together with {together}, apart from the verdict"
    return f"{verdict}; each interval has its own {percent(record.confidence)}, apart from the verdict"


def of_several(confidence: float) -> str:
    """For audits that share one error: verdicts, and what stands beside them."""
    return (
        f"All verdicts hold together with {percent(confidence)} confidence; so do the intervals of rho, "
        "apart from the verdicts."
    )


def offers(records: Sequence[Record]) -> Iterator[tuple[str, str]]:
    """What is better than the baseline has it, and could be held to from now on."""
    for record in records:
        held = told(record).get("baseline") if record.verdict != "fail" else None
        if held and held["is_better"] and record.pairs:
            was, now = held["mismatches"] / held["pairs"], (record.mismatches or 0) / record.pairs
            yield f"rho fell from about {was:.3g} to about {now:.3g}: gate --update-baseline writes it", record.subject
        if held and held["is_reached"]:
            yield f"rho is at most {held['wanted']:g} by now: expect = pass holds it to that", record.subject
