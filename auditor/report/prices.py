"""How does a price look in a terminal? Sizes side by side on one scale of ratios, smallest first."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from auditor.report.escape import shortened, visible
from auditor.report.price_record import Asked, PriceRecord
from auditor.statistics.outward import percent

_BAR = 30
_LONGEST = 4000  # characters of any one text from a subject


def show_price(price: PriceRecord, console: Console) -> None:
    for part in _parts(price, console.width, ascii_only=console.options.ascii_only):
        console.print(part)


def rows_of(price: PriceRecord) -> list[tuple[str, int | None, int | None]]:
    """(what, above, at most): a size that is known has both ends alike; in order of size."""
    known: list[tuple[str, int | None, int | None]] = [
        (f"{name}: on the worst source none can do with less", size, size) for name, size in price.bounds.items()
    ]
    if price.plain is not None:
        known.append(("plain: as accurate, not reproducible", price.plain, price.plain))
    known += [(_question(one), one.low, one.high) for one in price.asked]
    if price.promised is not None:
        known.append((f"{price.theorem} asks for", price.promised, price.promised))
    return sorted(known, key=lambda row: row[2] if row[2] is not None else math.inf)


def _question(one: Asked) -> str:
    what = "rho at most" if one.question == "reproducible" else "inaccurate at most"
    return f"measured: {what} {one.limit:g}"


def size_text(low: int | None, high: int | None) -> str:
    """One size, or the bracket that holds it."""
    if low is not None and low == high:
        return f"{high:,}"
    if high is None:
        return f"above {low:,}" if low is not None else "not found"
    return f"{(low or 0) + 1:,} to {high:,}"


def times_text(high: int | None, plain: int | None) -> str:
    return f"{high / plain:.3g}" if high and plain else ""


def sentences(price: PriceRecord) -> Iterator[str]:
    pairs = sum(probe.pairs for probe in price.probes)
    if not price.asked:
        yield f"{pairs:,} pairs were run, and nothing was found yet."
        return
    yield (
        f"{pairs:,} pairs at {len(price.probes)} sizes on {price.source} ({price.sample_kind}, seed {price.seed}); "
        f"both ends of every bracket hold together with {percent(price.confidence)} confidence, if more rows "
        "never hurt."
    )
    for one in price.asked:
        if one.high is None:
            most = max(probe.size for probe in price.probes)
            allowed = f"{price.budget:,} pairs were allowed"
            yield f"No size up to {most:,} was shown to be {one.question} at {one.limit:g}; {allowed}."


def _parts(price: PriceRecord, width: int, *, ascii_only: bool) -> Iterator[RenderableType]:
    title = "INTERRUPTED" if price.interrupted else "PRICE"
    yield Text.assemble((title, "bold"), "  ", (visible(price.subject), "bold"), f"  of rho at most {price.target:g}")
    rows = rows_of(price)
    wide = width >= 100
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name, justify in (("", "left"), ("rows", "right"), ("x plain", "right"), *((("", "left"),) if wide else ())):
        table.add_column(name, justify=justify)
    longest = max((high for _, _, high in rows if high), default=1)
    for what, low, high in rows:
        bar = [_bar(high, longest, "=" if ascii_only else "━")] if wide else []
        cells = (what, size_text(low, high), times_text(high, price.plain), *bar)
        table.add_row(*(Text(visible(shortened(cell, _LONGEST))) for cell in cells))
    yield table
    yield Text()
    yield Text("\n".join(visible(shortened(line, _LONGEST)) for line in sentences(price)), style="dim")
    for finding in price.findings:
        style = "bold red" if finding.severity == "error" else "dim"
        yield Text.assemble(
            (f"\n{finding.severity}: ", style), visible(shortened(finding.message, _LONGEST), keep="\n")
        )


def _bar(size: int | None, longest: int, block: str) -> str:
    """By the logarithm: sizes are a thousandfold apart."""
    return "" if not size else block * max(1, round(_BAR * math.log(size + 1) / math.log(longest + 1)))
