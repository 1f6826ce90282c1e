"""What an audit of (eta, nu) says beyond its verdict: nu(eta) at many eta, what follows for rho, the worst string."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from auditor.flow.parts import Chart, Command, Facts, Listing, Part, Series, Table, Words
from auditor.flow.record import Record
from auditor.statistics.outward import at_least, at_most, percent

_HEAD = ("eta", "seen beyond eta", "nu at least", "nu at most")


class NuAtEta(msgspec.Struct, frozen=True):
    """nu(eta) at one eta: the share of strings seen with more runs than eta outside, and bounds on nu(eta)."""

    eta: float
    seen: float
    low: float
    high: float


class Frequency(msgspec.Struct, frozen=True):
    """An output of one string, and which of its runs gave it."""

    output: str
    runs: list[int]


class WorstString(msgspec.Struct, frozen=True):
    """The string with the most runs outside its most frequent output."""

    string: int
    outside: int
    outputs: list[Frequency]  # the most frequent first
    distinct: int
    replay: str | None


class NuAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="question", tag="nu"):
    """How many random strings have a canonical output. The steps hold for every eta at once."""

    eta: float
    runs: int  # with each string
    exactly: list[int]  # exactly[t]: strings with t runs outside their most frequent output
    steps: list[NuAtEta]
    confidence: float  # of all steps together
    low: float  # nu at the asked eta, each side as sure as the gate
    high: float
    rho_at_most: float  # what follows: rho <= 2 eta + nu, at the best step
    eta_at_most: float | None  # what follows from rho: (rho / nu, nu), at the nu that was asked for
    worst: WorstString | None
    cell: str = ""  # whose it is, where there are several: the one that looks worst


def profile_parts(record: Record) -> Iterator[Part]:
    found = msgspec.convert(msgspec.to_builtins(record.answer), NuAnswer)  # as it was, also where it is from a file
    if not sum(found.exactly):
        return
    yield Facts(list(_follows(record, found)))
    rows = [(f"{s.eta:g}", f"{s.seen:.3g}", at_least(s.low), at_most(s.high)) for s in found.steps]
    title = (
        f"The share nu of random strings without an output of probability 1 - eta{_of_cell(record, found)}; "
        f"all rows hold together with {percent(found.confidence)} confidence:"
    )
    yield Table(_HEAD, rows, title)
    yield _chart(record, found)
    if found.worst and found.worst.outside:
        yield from _worst_parts(found.worst, found.runs)


def _of_cell(record: Record, found: NuAnswer) -> str:
    return f" with {found.cell}" if found.cell and len(record.cells) > 1 else ""


def _follows(record: Record, found: NuAnswer) -> Iterator[tuple[str, str]]:
    """What follows by the paper's inequalities is told apart from what was measured."""
    sure, here = percent(found.confidence), _of_cell(record, found)
    if found.rho_at_most < 1:
        most = at_most(found.rho_at_most)
        yield "follows", f"rho is at most {most}{here}: not measured, but by rho <= 2 eta + nu from the table ({sure})"
    if found.eta_at_most is not None:
        yield (
            "follows",
            f"({at_most(found.eta_at_most)}, {record.target:g})-reproducible{here}: not measured, but by (rho/nu, nu) "
            f"from the bound on rho ({sure})",
        )


def _chart(record: Record, found: NuAnswer) -> Chart:
    """nu(eta): for each eta the range that the audit left open, and the corner that was asked about. Both limits are
    steps: nu(eta) never rises, so a row holds up to the next."""
    points = [(step.eta, step.low, step.seen, step.high) for step in found.steps]
    return Chart(
        f"{record.subject}: {record.verdict}",
        "eta: how often a string may give another output",
        "nu: share of strings that give more",
        [Series("nu: what was seen, and where it may be", "step", points)],
        corner=(found.eta, record.target or 0.0),
    )


def _worst_parts(worst: WorstString, runs: int) -> Iterator[Part]:
    texts = [f"{len(found.runs)} x {found.output}" for found in worst.outputs]
    yield Listing(f"The worst string, {worst.string}, has {worst.distinct} outputs in {runs} runs:", texts)
    if worst.distinct > len(worst.outputs):
        yield Words(f"  and {worst.distinct - len(worst.outputs)} more", "dim")
    if worst.replay:
        yield Command("replay it with:", worst.replay)
