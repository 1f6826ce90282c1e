"""What to try next, after a fail: from what was seen to differ."""

from __future__ import annotations

import math
from collections.abc import Iterator

from auditor.flow.parts import Listing, Part
from auditor.flow.question import find_question, registered_questions
from auditor.flow.record import Record
from auditor.flow.wobbles import Wobbles
from auditor.report.facts import told
from auditor.request import listed

_NEVER = 0.9  # the share of the elements' pairs from which on raw numbers are said never to agree
_FEW = 0.2  # of the predictions change
_WIDEST = 1e300  # gaps from which on no float is safely above


def advice(record: Record) -> Iterator[Part]:
    """For fails of what pairs differ in; a subject that is inaccurate, or not as declared, has other troubles."""
    seen, is_other = record.wobbles, record.decided_by in ("accuracy", "formula")
    is_of_target = record.target is not None  # a comparison has none, and its new version may be good enough
    if record.verdict == "fail" and is_of_target and seen is not None and seen.mismatches and not is_other:
        yield Listing("What to try next:", [*_next(record, seen)])


def _next(record: Record, seen: Wobbles) -> Iterator[str]:
    if 2 * seen.renamed > seen.mismatches:
        renamed = f"in {seen.renamed:,} of {seen.mismatches:,} mismatches the labels are the same, or nearly"
        yield f"{renamed}, but for their names: --view partition compares what they part, whatever it is called"
    elif _are_raw_floats(seen):
        yield _rounded(record, seen)
    elif share := _churn(record):
        yield f"few predictions change, {share:.3g} of them on average: --measure churn holds that against the target"
    if record.size:
        yield "price in place of check finds the size, if there is one, from which on the claim holds"
    yield "explain in place of check finds what makes the runs differ"


def _are_raw_floats(seen: Wobbles) -> bool:
    return isinstance(seen.gap, float) and seen.distinct is not None and seen.distinct >= _NEVER * seen.runs


def _rounded(record: Record, seen: Wobbles) -> str:
    """With so few decimals that two values which are a gap apart mostly round to one."""
    wide, cures = 10 * (seen.gap or 0.0), []
    if 0 < wide < _WIDEST:
        digits = math.floor(-math.log10(wide))
        cures += [f'--view "round({digits})"'] if 0 <= digits <= 15 and record.view == "output" else []
        cures += [f"--atol {_upward(wide)}"] if _takes(record, "atol") else []
    how = f"try {' or '.join(cures)}" if cures else "compare a decision and not the numbers"
    return f"raw numbers hardly ever agree: {how}, or round in the learner to a grid that r places at random"


def _upward(gap: float) -> str:
    """One digit, not below."""
    place = 10.0 ** math.floor(math.log10(gap))
    return f"{float(f'{math.ceil(gap / place - 1e-9) * place:.1g}'):g}"


def _takes(record: Record, name: str) -> bool:
    """Whether the question has such an option, here."""
    return record.question in registered_questions() and name in listed(find_question(record.question).Options)


def _churn(record: Record) -> float | None:
    found = told(record).get("churn") if record.question == "rho" else None
    return found["mean"] if found and found["mean"] <= _FEW else None
