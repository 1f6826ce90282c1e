"""What a report says where one rho is not the question: the profile of strings, the arms of a worst case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from auditor.flow.record import Record
from auditor.report.escape import shortened, visible
from auditor.statistics.outward import at_least, at_most, percent

PROFILE_HEAD = ("eta", "seen beyond eta", "nu at least", "nu at most")
_NAME = 60  # characters of an arm's name in a table


@dataclass(frozen=True, slots=True)
class Gated:
    """What is held against the target: where it may be, and its estimate."""

    low: float
    high: float
    centre: float


def gated(record: Record) -> Gated:
    if record.gate == "churn" and record.churn:
        return Gated(record.churn.low, record.churn.high, record.churn.mean)
    if record.gate == "nu" and record.profile:
        seen = next(step.seen for step in record.profile.steps if step.eta == record.profile.eta)
        return Gated(record.profile.low, record.profile.high, seen)
    return Gated(record.rho.low, record.rho.high, record.rho.estimate or 0.0)


def rho_noun(record: Record) -> str:
    """What the mismatches were counted in."""
    if record.profile:
        return "pairs, the first two runs of each string;"
    if record.arms and _is_worst_case(record):
        return f"pairs over all {len(record.arms)} arms; the largest is"
    return f"pairs, with private randomness {record.private};" if record.private else "pairs;"


def _is_worst_case(record: Record) -> bool:
    """Whether the arms are sources or inputs, and not one question asked in two ways."""
    return len({arm.private for arm in record.arms or []}) == 1


def scope(record: Record) -> str:
    return f"these {len(record.arms)} arms" if record.arms and _is_worst_case(record) else "this source"


def accuracy_noun(record: Record) -> str:
    if record.loss:
        return f"runs break R(h) <= R^(h) + slack by {record.loss}; a share"
    if record.arms and _is_worst_case(record) and not record.profile:
        return f"runs over all {len(record.arms)} arms; the largest share is"
    return "strings' most frequent outputs; a share" if record.profile else "runs; a share"


def certified(record: Record) -> str:
    """Whether a share within what is allowed was shown, or only none above it."""
    found = record.accuracy
    if found is None or found.certified is None or record.verdict != "pass":
        return ""
    return ", which is certified" if found.certified else ", which was not refuted, and not certified"


def accuracy_label(record: Record) -> str:
    return "generalises" if record.loss else "inaccurate"


def profile_facts(record: Record) -> Iterator[tuple[str, str]]:
    """What follows by the paper's inequalities is told apart from what was measured."""
    if (profile := record.profile) is None:
        return
    sure = percent(profile.confidence)
    if profile.rho_at_most < 1:
        most = at_most(profile.rho_at_most)
        yield "follows", f"rho is at most {most}: not measured, but by rho <= 2 eta + nu from the table ({sure})"
    if profile.eta_at_most is not None:
        yield (
            "follows",
            f"({at_most(profile.eta_at_most)}, {record.target:g})-reproducible: not measured, but by (rho/nu, nu) "
            f"from the bound on rho ({sure})",
        )


def profile_rows(record: Record) -> list[Sequence[str]]:
    steps = record.profile.steps if record.profile else []
    return [(f"{step.eta:g}", f"{step.seen:.3g}", at_least(step.low), at_most(step.high)) for step in steps]


def arm_head(record: Record) -> Sequence[str]:
    counted = ("beyond eta", "strings") if record.profile else ("mismatches", "pairs")
    return ("", "verdict", *counted, "at least", "at most")


def arm_rows(record: Record) -> list[Sequence[str]]:
    return [
        (
            shortened(arm.name, _NAME),
            "undecided" if arm.verdict == "inconclusive" else arm.verdict,
            f"{arm.mismatches:,}" + (f", {arm.failures:,} inaccurate" if arm.failures else ""),
            f"{arm.pairs:,}",
            at_least(arm.low),
            at_most(arm.high),
        )
        for arm in record.arms or []
    ]


def profile_parts(record: Record) -> Iterator[RenderableType]:
    if (profile := record.profile) is None or not sum(profile.exactly):
        return
    yield Text(
        f"\nThe share nu of random strings without an output of probability 1 - eta; all rows hold together with "
        f"{percent(profile.confidence)} confidence:"
    )
    yield _table(PROFILE_HEAD, profile_rows(record))
    if (worst := profile.worst) is None or not worst.outside:
        return
    yield Text(f"\nThe worst string, {worst.string}, has {worst.distinct} outputs in {profile.runs} runs:")
    for found in worst.outputs:
        words = f"{len(found.runs)} x {visible(found.output)}"
        yield Padding(Text(words, overflow="fold"), (0, 0, 0, 2))
    if worst.distinct > len(worst.outputs):
        yield Padding(Text(f"and {worst.distinct - len(worst.outputs)} more", style="dim"), (0, 0, 0, 2))
    if worst.replay:
        yield Text("replay it with:")
        yield Text(visible(worst.replay), style="cyan", no_wrap=True)


def arm_parts(record: Record) -> Iterator[RenderableType]:
    if not record.arms:
        return
    sure = percent(record.arms[0].confidence)
    yield Text(f"\n{record.gate} of each arm; all intervals hold together with {sure} confidence:")
    yield _table(arm_head(record), arm_rows(record))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in head:
        table.add_column(name, justify="right" if name else "left", overflow="fold", no_wrap=bool(name))
    for row in rows:
        table.add_row(*(Text(visible(text)) for text in row))
    return table
