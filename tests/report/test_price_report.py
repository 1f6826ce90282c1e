"""reports/price.md says what the code says: what is exact in it is computed again, what is measured is looked at."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from algorithms.coin_frontier import frontier
from algorithms.coin_problem import lemma_bound
from algorithms.heavy_hitters import r_heavy_hitters
from algorithms.point_mass import point_by_queries, queries_needed
from auditor.subjects.subject import load_subject

ROOT = Path(__file__).parents[2]
REPORT = (ROOT / "reports" / "price.md").read_text()


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("price_report", ROOT / "benchmarks" / "price.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def numbers(line: str) -> list[float]:
    return [float(found.replace(",", "")) for found in re.findall(r"-?[\d,]+\.?\d*(?:e[-+]?\d+)?", line)]


def test_the_deciders_rows_are_those_of_the_code(maker: ModuleType) -> None:
    for name, *cells in maker.decider_rows(1600, 0.1):
        (line,) = [line for line in REPORT.splitlines() if line.startswith(f"| {name} |") and len(numbers(line)) >= 6]
        shown = line.strip("| ").split(" | ")[1:]
        for there, here in zip(shown, cells, strict=True):
            assert float(there) == pytest.approx(float(here), rel=2e-3, abs=1e-12), name


@pytest.mark.parametrize(("m", "tau"), [(400, 0.1), (1600, 0.1), (400, 0.2)])
def test_the_frontier_in_it_is_that_of_the_code(m: int, tau: float) -> None:
    (line,) = [line for line in REPORT.splitlines() if line.startswith(f"| {m:,} | {tau} |")]
    rho, lower, upper, gap, lemma, mixed = (float(cell) for cell in line.strip("| ").split(" | ")[2:])
    found, scale = frontier(m, tau), tau * m**0.5
    assert (lower, upper) == pytest.approx((scale * found.lower, scale * found.upper), abs=1e-5)
    assert (rho, gap) == pytest.approx((found.rho, found.gap), abs=1e-5)
    assert lemma == pytest.approx(scale * lemma_bound(m, tau), abs=1e-5)
    assert mixed == len(found.mixture[0])


def test_what_was_measured_agrees_with_what_is_known() -> None:
    """The report was made once, and is not made until it pleases: these are the claims that it is shown for."""
    rstat, fixed = re.findall(r"the exponent is between (-?[\d.]+) and (-?\d+\.\d+)", REPORT)
    assert float(rstat[0]) <= -0.5 <= float(rstat[1])
    assert float(fixed[0]) <= 0 <= float(fixed[1])
    (line,) = re.findall(r"\| fixed_threshold \| 0\.5 \| .*", REPORT)
    low, high = (float(found) for found in re.findall(r"([\d.]+) to ([\d.]+)", line)[0])
    assert low <= 0.5 <= high


def test_the_sizes_over_a_growing_domain_are_those_of_the_code() -> None:
    rows = [line.strip("| ").split(" | ") for line in REPORT.splitlines() if line.startswith("| 2^")]
    assert len(rows) == 7
    for domain, queries, by_queries, by_heavy_hitters, _ in rows:
        points = 2 ** int(domain.removeprefix("2^"))
        search = load_subject(point_by_queries, {"domain": points})
        assert int(queries) == queries_needed(points, search.settings["tau"])
        assert by_queries == f"{search.declares('size'):,}"
        assert by_heavy_hitters == f"{load_subject(r_heavy_hitters).declares('size'):,}"


@pytest.mark.parametrize("name", ["rstat", "fixed_threshold", "domain"])
def test_every_picture_is_there(name: str) -> None:
    assert f"price_{name}.svg" in REPORT
    ElementTree.parse(ROOT / "reports" / f"price_{name}.svg")
