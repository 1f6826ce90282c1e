"""Records that pages are drawn from in tests."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Any

import numpy as np
from msgspec.structs import replace

import auditor
from auditor.flow.parts import Bar, Chart, Command, Facts, Listing, Series, Table, Words
from auditor.flow.record import Difference, Earlier, Finding, LedgerPlace, Record
from auditor.report.page.document import Bars, Points, Section, page

SCRIPT = "<script>window.pwned = 1; alert(1)</script>"
HOSTILE = (
    SCRIPT,
    "</script></style></textarea><img src=x onerror=alert(2)>",
    '" onmouseover="alert(3)" \'',
    "<svg onload=alert(4)>",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egnp.exe\x1b[31m",
    "<a href=javascript:alert(5)>x</a>",
    "]]><!-- -->&lt;b&gt;",
)


def assert_harmless(text: str, keep: str = "\n") -> None:
    """No character of a text moves the cursor, hides or turns what stands beside it."""
    hidden = {c for c in text if c not in keep and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert not hidden, f"came through: {[f'U+{ord(c):04X}' for c in hidden]}"


def labels(sample: Any, r: Any) -> Any:
    """Which of eight features are above their mean: some flip with the sample."""
    return [bool(x) for x in sample[:8] > np.median(sample)]


def constant(sample: Any, r: Any) -> int:
    return 1


@cache
def passed() -> Record:
    return auditor.audit(constant, "norm", size=5, rho=0.1)


@cache
def failed() -> Record:
    """With elements that wobble, examples, and commands that run them again."""
    return auditor.audit(labels, "norm", size=9, rho=0.1)


@cache
def hostile() -> Record:
    """What a subject may have any say in, all of it markup."""
    one, record = "".join(HOSTILE), failed()
    examples = [
        replace(example, replay=f"python {one}", first_difference=Difference(one, f"{one}1", f"{one}2"))
        for example in record.examples
    ]
    assert record.wobbles is not None
    elements = [replace(element, name=one) for element in record.wobbles.elements]
    return replace(
        record,
        subject=one,
        source=one,
        theorem=one,
        note=one,
        params={one: one},
        reason=one,
        view=one,
        overridden={one: (one, one)},
        findings=[Finding(one, severity, one, one) for severity in ("error", "warning", "info")],
        examples=examples,
        cells=[replace(cell, name=one) for cell in [*record.cells, *record.cells]],
        wobbles=replace(record.wobbles, elements=elements),
    )


def several() -> list[Record]:
    """Of which the second did not end as expected, and the last was audited before."""
    before = Earlier(started="2026-01-01", code_hash=None, verdict="pass", estimate=0.01, low=0.0, high=0.1)
    kept = LedgerPlace(ledger="audits.sqlite", audit=4, earlier=[before, replace(before, estimate=0.05), before])
    last = replace(passed(), cost=replace(passed().cost, kept=kept))
    return [passed(), failed(), last]


def every_part() -> str:
    """A page with each kind of part."""
    bands: list[tuple[float, float | None, float | None, float | None]]
    bands = [(1, 0.1, 0.2, 0.3), (2, 0.0, 0.0, 0.2), (3, None, None, None)]
    table = Table(("name", "pairs"), [("d", "10"), ("b", "9"), ("c", "1,000"), ("a", "0.5")], title="A table")
    wide = Table([f"column {i}" for i in range(9)], [[f"cell {i}" for i in range(9)]] * 3)
    series = [Series("rho, with its band", "band", bands), Series("limit", "line", [(1, None, 0.3, None)])]
    chart = Chart("A chart", "size", "rho", series, corner=(1.0, 0.1))
    bar = Bar(0.0, 0.3, 0.1, 0.2, "pass")
    words = [Words("Words", style) for style in ("plain", "dim", "error", "warning", "info")]
    listings = [Listing("Title:", ["a\nb", "long\n" * 99], at="here", style=s) for s in ("plain", "error", "warning")]
    facts = Facts([("rho", "1 of 2"), ("sample", "5 rows from ", "norm", ", seed 0")])
    parts = [*words, facts, table, wide, Bars("rho", [("a", bar), ("b", bar)]), chart, Command("Do:", "python -m x")]
    return page("Every part", Section("Parts", [*parts, *listings, Points(["a point"])]), word="PASS", tone="pass")
