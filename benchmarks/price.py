"""Makes reports/price.md: what reproducibility costs, exactly where that is known and measured where it is not.

Run: python benchmarks/price.py (about five minutes; --quick spends a tenth of the pairs, for a look).
     python benchmarks/price.py cost (a table of what commands take with and without integrating the last step)
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import auditor
from algorithms.coin_frontier import frontier
from algorithms.coin_problem import exact_error, lemma_bound, rstat_mixture, uniform_mixture, worst_rho
from algorithms.heavy_hitters import r_heavy_hitters
from algorithms.point_mass import point_by_queries, queries_needed
from auditor.flow.parts import Chart, Series, Table, Words
from auditor.questions.curve import answer as curve_parts
from auditor.questions.price import answer as price_parts
from auditor.report.pictures.svg import draw_chart, picture

REPORTS = Path(__file__).parent.parent / "reports"
COIN = "algorithms.coin_problem"
DECIDERS = ("fixed_threshold", "uniform_threshold", "coin_from_rstat", "optimal_coin")
DELTA = 1 / 16


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    yield from ("| " + " | ".join(row) + " |" for row in rows)
    yield ""


def frontier_rows() -> list[list[str]]:
    """The exact limit, as rho tau sqrt(m), beside the lemma's."""
    rows = []
    for m, tau in ((100, 0.1), (400, 0.1), (1600, 0.1), (400, 0.2), (10_000, 0.1), (100_000, 0.1), (1_000_000, 0.1)):
        found, unit = frontier(m, tau, DELTA), tau * m**0.5
        lemma = lemma_bound(m, tau) * unit
        limits = (f"{found.lower * unit:.5f}", f"{found.upper * unit:.5f}", f"{found.gap:.1e}")
        rows.append([f"{m:,}", f"{tau:g}", f"{found.rho:.5f}", *limits, f"{lemma:.5f}", str(len(found.mixture[0]))])
    return rows


def decider_rows(m: int, tau: float) -> list[list[str]]:
    """The exact worst rho of each bundled decider, held against the frontier at the decider's own error."""
    import numpy as np

    half = (np.array([(m + 1) // 2]), np.array([1.0]))
    mixtures = {
        "fixed_threshold": half,
        "uniform_threshold": uniform_mixture(m, tau),
        "coin_from_rstat": rstat_mixture(m, tau, 0.1, 0.025),
        "optimal_coin": frontier(m, tau, DELTA).mixture,
    }
    rows = []
    for name, mixture in mixtures.items():
        (rho, bias), error, unit = worst_rho(mixture, m, tau), exact_error(mixture, m, tau), tau * m**0.5
        limit = frontier(m, tau, min(max(error, 1e-12), 0.49)).lower
        numbers = (f"{rho:.5f}", f"{rho * unit:.4f}", f"{bias:.4f}", f"{error:.3g}", f"{limit * unit:.4f}")
        rows.append([name, *numbers, f"{rho / limit:.4f}"])
    return rows


def ask(question: str, target: str, source: str | None = None, **options: Any) -> auditor.Record:
    print(f"{question} of {target}", file=sys.stderr)
    return auditor.ask(question, target, source, **options)


def worst_rows(pairs: int) -> list[list[str]]:
    """Where each decider is least reproducible at 1,600 flips: found by search, confirmed on fresh pairs."""
    rows = []
    for name in DECIDERS:
        options = {"vary": "p=0.4:0.6:lin21", "worst": True, "pairs": pairs, "size": 1600, "sample": "counts"}
        found = curve_parts.answer_of(ask("curve", f"{COIN}:{name}", "bernoulli({p})", **options)).worst
        assert found is not None
        rows.append(
            [
                name,
                f"{found.value:g}",
                f"{found.mismatches:,} of {found.pairs:,}",
                f"{found.low:.3f} to {found.high:.3f}",
            ]
        )
    return rows


def price_lines(found: auditor.Record) -> Iterator[str]:
    yield f"### {found.subject.rpartition(':')[2]}, rho at most {found.target:g}"
    yield ""
    for part in price_parts.price_parts(found):
        if isinstance(part, Table):
            yield from table(part.head, part.rows)
        elif isinstance(part, Words):
            yield from part.text.splitlines()
    yield ""


def domain_rows() -> list[list[str]]:
    """Claim 3.5: what a growing domain costs a search by statistical queries, and what it costs heavy hitters."""
    rows = []
    for bits in (4, 8, 16, 24, 32, 48, 60):
        source = f"pmf({{{2**bits - 3}: 1.0}})"
        queries = auditor.audit(point_by_queries, source, params={"domain": 2**bits}, seed=bits)
        heavy = auditor.audit(r_heavy_hitters, source, seed=bits)
        assert queries.accuracy is not None
        assert heavy.accuracy is not None
        wrong = (
            f"{queries.accuracy.failures + heavy.accuracy.failures} of {queries.accuracy.runs + heavy.accuracy.runs}"
        )
        asked = queries_needed(2**bits, 0.1)
        rows.append([f"2^{bits}", str(asked), f"{queries.size:,}", f"{heavy.size:,}", wrong])
    return rows


def domain_figure(rows: Sequence[Sequence[str]]) -> bytes:
    """What is used, over that of the smallest domain: one line climbs with log |X|, the other does not move."""
    bits = [int(row[0].removeprefix("2^")) for row in rows]
    used = {"statistical queries asked": 1, "rows of rHeavyHitters": 3}
    sizes = {name: [int(row[column].replace(",", "")) for row in rows] for name, column in used.items()}
    series = [
        Series(name, "line", [(b, None, size / found[0], None) for b, size in zip(bits, found, strict=True)])
        for name, found in sizes.items()
    ]
    return draw_chart(Chart("What a growing domain costs", "log2 of the domain", "over that at 2^4", series))


COMMANDS = {
    "price rstat --rho 0.1": ("price", "rstat", "--rho", "0.1"),
    "curve rstat --vary size=100:1e6:log8": ("curve", "rstat", "--vary", "size=100:1e6:log8", "--sample", "counts"),
}


def cost_rows() -> Iterator[list[str]]:
    """Processor time of whole commands with all their child processes, and what they say, one after the other."""
    for name, words in COMMANDS.items():
        seconds, said = [], []
        for more in (["--no-integrate"], []):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-m", "auditor", *words, *more, "--json", "-"]
            done = subprocess.run(command, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            record = json.loads(done.stdout)
            ends = ", ".join(f"{one['low']:.4g} to {one['high']:.4g}" for one in record["measures"])
            said += [f"{record['pairs']:,}", ends]
        counted, integrated = seconds
        yield [name, f"{counted:.1f} s", *said[:2], f"{integrated:.1f} s", *said[2:], f"{counted / integrated:.1f}"]


def report(share: int) -> str:
    lines = ["# The price of reproducibility", "", "Made by `python benchmarks/price.py`.", ""]
    lines += ["## The exact frontier of the coin problem", ""]
    lines += [
        "The least worst-case rho of any algorithm that tells the biases 1/2 - tau and 1/2 + tau apart from m flips "
        "with error at most 1/16, from a linear program over mixtures of thresholds; lower and upper are "
        "rho tau sqrt(m), certified. Lemma 7.2 with its constants written out is 40 times below.",
        "",
    ]
    head = ("m", "tau", "rho", "lower", "upper", "gap", "Lemma 7.2", "thresholds mixed")
    lines += table(head, frontier_rows())
    lines += ["## Bundled deciders at 1,600 flips, tau = 0.1, exactly", ""]
    head = ("decider", "worst rho", "rho tau sqrt(m)", "at bias", "error", "frontier at that error", "ratio")
    lines += table(head, decider_rows(1600, 0.1))
    lines += ["## Where they are worst, measured", ""]
    head = ("decider", "worst bias found", "differ on fresh pairs", "rho there")
    lines += table(head, worst_rows(21_000 // share))
    lines += ["## rho against size", ""]
    for name, target, size in (
        ("rstat", "algorithms.statistical_query:rstat", "size=100:1e6:log12"),
        ("fixed_threshold", f"{COIN}:fixed_threshold", "size=100:1e6:log5"),
    ):
        found = ask("curve", target, vary=size, pairs=24_000 // share, sample="counts")
        answer = curve_parts.answer_of(found)
        (REPORTS / f"price_{name}.svg").write_bytes(picture(found))
        said = " ".join(curve_parts.summary(found, answer, found.cells[: len(answer.values)]))
        lines += [f"![rho of {name} against size](price_{name}.svg)", "", said, ""]
    lines += ["## What a claim costs", ""]
    lines += ["Measured on one source each; at bias 1/2 every decision about a coin is right.", ""]
    for target in (
        "algorithms.statistical_query:rstat",
        f"{COIN}:optimal_coin",
        "algorithms.heavy_hitters:r_heavy_hitters",
    ):
        pairs = 60_000 // share if share > 1 else None
        lines += price_lines(ask("price", target, pairs=pairs, rho=0.1, sample="counts"))
    lines += ["## Claim 3.5: a point mass in a growing domain", ""]
    rows = domain_rows()
    (REPORTS / "price_domain.svg").write_bytes(domain_figure(rows))
    lines += table(("domain", "queries", "rows for all queries", "rows of rHeavyHitters", "wrong outputs, both"), rows)
    lines += ["![rows against the domain](price_domain.svg)", ""]
    return "\n".join(lines)


if __name__ == "__main__" and "cost" in sys.argv[1:]:
    head = ("command", "counted", "pairs", "found", "integrated", "pairs", "found", "times")
    print("\n".join(table(head, [*cost_rows()])))
elif __name__ == "__main__":
    (REPORTS / "price.md").write_text(report(10 if "--quick" in sys.argv[1:] else 1))
    print(f"written: {REPORTS / 'price.md'}")
