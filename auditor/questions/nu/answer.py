"""What does an audit of (eta, nu) know beyond its verdict? nu(eta) at many eta, what follows, the worst string."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from auditor.flow.parts import Chart, Command, Details, Facts, Listing, Part, Series, Table, Words
from auditor.flow.record import Record
from auditor.statistics.digits import at_least, at_most, exact, percent

_HEAD = ("eta", "seen beyond eta", "nu at least", "nu at most")


class NuAtEta(msgspec.Struct, frozen=True):
    """What is known of nu(eta) at one eta: limits, and what was seen."""

    eta: float
    seen: float  # the share of strings with a larger share of their runs than eta outside
    low: float
    high: float


class Frequency(msgspec.Struct, frozen=True):
    """An output of one string, and the numbers of the runs that gave it."""

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
    """How many random strings have a canonical output. All steps hold together."""

    eta: float
    runs: int  # with each string
    exactly: list[int]  # exactly[t]: strings with t runs outside their most frequent output
    steps: list[NuAtEta]
    confidence: float  # of all steps together
    low: float  # limits of nu at the asked eta, each at the level of its verdict
    high: float
    rho_at_most: float  # by rho <= 2 eta + nu, at the best step
    eta_at_most: float | None  # by (rho / nu, nu), from the limit of rho and the asked nu; None if it is 1 or more
    worst: WorstString | None
    cell: str = ""  # the name of the cell: of several, the one that looks worst


def profile_parts(record: Record) -> Iterator[Part | Details]:
    """Report nu(eta) as a table and a chart, what follows from it, and the worst string."""
    found = msgspec.convert(msgspec.to_builtins(record.answer), NuAnswer)  # of a record or of JSON
    if not sum(found.exactly):
        return
    sure = percent(found.confidence)
    here = f" with {found.cell}" if found.cell and len(record.cells) > 1 else ""
    follows = []  # by the paper's inequalities: said apart from what was measured
    if found.rho_at_most < 1:
        most = f"rho is at most {at_most(found.rho_at_most)}{here}"
        follows.append(("follows", f"{most}: not measured, but by rho <= 2 eta + nu from the table ({sure})"))
    if found.eta_at_most is not None:
        pair = f"({at_most(found.eta_at_most)}, {exact(record.target or 0.0)})-reproducible{here}"
        follows.append(("follows", f"{pair}: not measured, but by (rho/nu, nu) from the bound on rho ({sure})"))
    yield Facts(follows)
    rows = [(f"{s.eta:g}", f"{s.seen:.3g}", at_least(s.low), at_most(s.high)) for s in found.steps]
    title = f"nu, the share of values of r for which no output has probability 1 - eta or more{here}"
    together = f"all rows hold together with {sure} confidence, apart from the verdict"
    yield Details([Table(_HEAD, rows, f"{title}; {together}:")])
    points = [(s.eta, s.low, s.seen, s.high) for s in found.steps]  # limits are steps: nu(eta) never rises
    yield Chart(
        f"{record.subject}: {record.verdict}",
        "eta: how often runs with one r may give another output",
        "nu: share of r that give more",
        [Series("nu: what was seen, and where it may be", "step", points)],
        corner=(found.eta, record.target or 0.0),
    )
    worst = found.worst
    if worst and worst.outside:
        texts = [f"{len(one.runs)} x {one.output}" for one in worst.outputs]
        title = f"The worst value of r, number {worst.string}, has {worst.distinct} outputs in {found.runs} runs:"
        yield Listing(title, texts)
        if worst.distinct > len(worst.outputs):
            yield Words(f"  and {worst.distinct - len(worst.outputs)} more", "dim")
        if worst.replay:
            yield Command("replay it with:", worst.replay)
