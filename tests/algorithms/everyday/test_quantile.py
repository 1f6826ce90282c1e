"""r_quantile against exact laws: sizes, claims at the hardest law of the class and beyond it, and lower bounds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.requests import audit

from algorithms.coin_frontier import frontier
from algorithms.coin_problem import acceptance
from algorithms.everyday.order_statistics import law_of_kth, rho_of_cdf, rho_of_law
from algorithms.everyday.quantile import (
    LOW_DENSITY,
    least_for_coin,
    least_rho,
    measured_size,
    plain_size,
    promise,
    quantile,
    r_quantile,
    sample_size,
    width,
)
from auditor.randomness import from_key, root_key
from auditor.repair import on_grid, quantile_rank
from auditor.sources.source import load_source

pytestmark = pytest.mark.usefixtures("few_finishes")
DEFAULT = {"p": 0.9, "eps": 50.0, "rho": 0.1, "delta": 0.05, "density": 0.0005, "step": 1.0}
HARDEST = "randint(0, 2000)"  # whose density is the default's and no more
Reals = npt.NDArray[np.float64]


@st.composite
def tasks(draw: st.DrawFn, coarsest: float = 0.5) -> dict[str, float]:
    """All that the theorem takes; the step up to a part of what rho and eps allow."""
    p, rho, delta = draw(st.floats(0.05, 0.95)), draw(st.floats(0.02, 0.8)), draw(st.floats(0.001, 0.4))
    eps = draw(st.floats(0.1, 50))
    allowed = 1.98 * rho * 2 / (1 + rho * math.sqrt(2 * math.pi * math.log(2 / delta)))
    step = draw(st.floats(0.01, coarsest)) * eps * allowed / (1 + allowed)
    density = draw(st.floats(0.05, 0.95)) * min(p, 1 - p) / (eps - step)
    return {"p": p, "eps": eps, "rho": rho, "delta": delta, "density": density, "step": step}


def hardest(p: float, eps: float, density: float, step: float) -> tuple[Reals, Reals]:
    """No more than the density within eps of x_p = 0, and all else far away."""
    reach = math.floor(eps / step)
    values = np.concatenate([[-1e9], step * np.arange(-reach, reach + 1), [1e9]])
    inside = np.full(2 * reach + 1, density * step)
    below = p - inside[: reach + 1].sum() + density * step * 0.5
    return values, np.array([below, *inside, 1 - below - inside.sum()])


@given(tasks())
def test_the_claims_hold_at_the_hardest_law_exactly(task: dict[str, float]) -> None:
    values, weights = hardest(task["p"], task["eps"], task["density"], task["step"])
    assume((weights >= 0).all())
    n = sample_size(**task)
    k, w = quantile_rank(n, task["p"]), width(task["eps"], task["rho"], task["delta"], task["step"])
    exact = rho_of_law(values, weights, n, k, w)
    t, chances = law_of_kth(values, weights, n, k)
    missed = chances[np.abs(t) > task["eps"] - w / 2 + 1e-9].sum()
    assert exact <= promise(n, **task) * (1 + 1e-9) <= task["rho"] * (1 + 1e-9)
    assert missed <= task["delta"]
    m = plain_size(*(task[name] for name in ("p", "eps", "delta", "density", "step")))
    t, chances = law_of_kth(values, weights, m, quantile_rank(m, task["p"]))
    assert chances[np.abs(t) > task["eps"] + 1e-9].sum() <= task["delta"]


@given(tasks())
def test_the_size_is_the_theorems(task: dict[str, float]) -> None:
    p, c, h, rho = task["p"], task["density"], task["step"], task["rho"]
    x = rho * math.sqrt(2 * math.pi * math.log(2 / task["delta"]))
    w = 2 * (task["eps"] - h) / (1 + x)
    assert width(task["eps"], rho, task["delta"], h) == pytest.approx(w)

    def tail_size(s: float, delta: float) -> float:
        divergence = min(p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q)) for q in (p - s, p + s))
        return (math.log(1 + (p + s) * (1 - p) / (p * (1 - p - s))) - math.log(delta)) / divergence

    room = c * (0.99 * rho * w - h / 2)
    a, b = 4 / math.pi * p * (1 - p) / room**2, 4 / math.pi * 11 / 8 / room**2
    big = (a + math.sqrt(a * a + 4 * b)) / 2 - 1
    wanted = max(big, tail_size(c * (task["eps"] - h), 0.005 * rho), tail_size(c * w / 2 * x, task["delta"]))
    assert sample_size(**task) == pytest.approx(wanted, rel=1e-6, abs=1)


def test_spot_values() -> None:
    n, w = sample_size(**DEFAULT), width(50.0, 0.1, 0.05, 1.0)
    assert (n, plain_size(0.9, 50.0, 0.05, 0.0005, 1.0)) == (12_541, 1318)
    for spec, exact in ((HARDEST, 0.0914), ("randint(0, 1000)", 0.0457), (LOW_DENSITY, 0.5727)):
        law = load_source(spec).law()
        assert rho_of_law(law.values, law.weights, n, quantile_rank(n, 0.9), w) == pytest.approx(exact, abs=5e-5)
    assert promise(n, **DEFAULT) == pytest.approx(0.0990, abs=5e-5)
    assert least_rho(n, 0.9, 50.0, 0.05, 0.0005, 1.0) == pytest.approx(0.0215, abs=5e-5)


def test_what_is_measured_is_the_least_that_the_exact_law_allows() -> None:
    """On the hardest law a sixth less than is proved, on the default source a fifth of it."""
    laws = [load_source(spec).law() for spec in (HARDEST, "randint(0, 1000)")]
    found = [measured_size(law, 0.9, 50.0, 0.1, 0.05, 1.0) for law in laws]
    assert found == [10_475, 2622]
    law, w = load_source(HARDEST).law(), width(50.0, 0.1, 0.05, 1.0)
    at, fewer = (rho_of_law(law.values, law.weights, n, quantile_rank(n, 0.9), w) for n in (found[0], found[0] - 1))
    assert at <= 0.1 < fewer


def test_where_delta_decides_what_is_measured_keeps_it() -> None:
    """The failure rate at 2,000 offsets, of every T."""
    law = load_source(HARDEST).law()
    n, w = measured_size(law, 0.9, 50.0, 0.99, 0.001, 1.0), width(50.0, 0.99, 0.001, 1.0)

    def failures(n: int) -> float:
        t, chances = law_of_kth(law.values, law.weights, n, quantile_rank(n, 0.9))
        answers = on_grid(np.repeat(t[:, None], 2000, axis=1), (np.arange(2000) + 0.5) / 2000, w)
        return float(chances @ (np.abs(answers - 1799) > 50).mean(axis=1))

    assert rho_of_law(law.values, law.weights, n - 1, quantile_rank(n - 1, 0.9), w) < 0.9
    assert failures(n) <= 0.001 * 1.01
    assert failures(n - 10) > 0.001


def test_without_a_step_the_claim_is_within_six_percent_of_the_truth() -> None:
    """Uniform rows at density 1: what is left is that delta asks for a few rows more than rho."""
    task = {"p": 0.9, "eps": 0.05, "rho": 0.1, "delta": 0.05, "density": 1.0, "step": 0.0}
    n, w = sample_size(**task), width(0.05, 0.1, 0.05, 0.0)
    exact = rho_of_cdf(lambda x: np.clip(x, 0, 1), (0.8, 1.0), n, quantile_rank(n, 0.9), w)
    assert n == 2828
    assert 0.094 < exact <= promise(n, **task) < 0.1


def test_a_source_of_less_density_than_was_said_is_caught() -> None:
    assert audit(r_quantile, LOW_DENSITY, confidence=1 - 1e-6).verdict == "fail"


# The answer


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=60), st.integers(0, 2**32))
def test_an_answer_is_within_half_a_cell_of_the_quantile_of_the_sample(rows: list[int], seed: int) -> None:
    exact = sorted(rows)[math.ceil(Fraction(9, 10) * len(rows)) - 1]
    assert quantile(np.array(rows), p=0.9) == exact
    assert abs(r_quantile(np.array(rows), from_key(root_key(seed))) - exact) <= width(50.0, 0.1, 0.05, 1.0) / 2 + 1e-9


def test_just_above_the_least_eps_there_is_a_size() -> None:
    assert sample_size(**DEFAULT | {"eps": 4.742}) > 10**9


# What no algorithm can beat


@pytest.mark.parametrize(
    ("m", "tau", "delta"), [(400, 0.1, 1 / 16), (1600, 0.1, 1 / 16), (400, 0.2, 0.05), (2000, 0.05, 0.01)]
)
def test_the_angle_bound_is_below_the_exact_frontier_of_the_coin(m: int, tau: float, delta: float) -> None:
    bound, exact = least_for_coin(m, 0.5 - tau, 0.5 + tau, delta), frontier(m, tau, delta)
    print(f"m={m}: {bound:.4f}, exact {exact.lower:.4f} .. {exact.upper:.4f}")
    assert exact.upper / 2.2 < bound <= exact.lower


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_no_rule_moves_faster_than_the_root_of_flips_with_the_angle(rule: list[float], p: float, q: float) -> None:
    moved = abs(acceptance(np.array(rule), p) - acceptance(np.array(rule), q))
    angle = abs(math.asin(math.sqrt(p)) - math.asin(math.sqrt(q)))
    assert moved <= math.sqrt(len(rule) - 1) * angle + 1e-9


def test_the_line_is_below_what_disagreement_adds_up_to() -> None:
    """V(x) = x^2 - 2/3 x^3 is at least 1/3 - 3/8 (1 - x) on [0, 1], and they meet at 1/4 and at 1."""
    x = np.linspace(0, 1, 10_001)
    above = x**2 - 2 / 3 * x**3 - (1 / 3 - 3 / 8 * (1 - x))
    assert above.min() > -1e-12
    assert above[[2500, -1]] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("p", [0.5, 0.9])
def test_on_the_family_of_the_lower_bound_the_algorithm_is_above_it(p: float) -> None:
    """Laws with F(0) = b, mass c for each unit around: the largest exact rho over b, at several sizes."""
    task = DEFAULT | {"p": p, "step": 1.0}
    s = task["density"] * 51
    for n in (2000, 12_541):
        k, w = quantile_rank(n, p), width(50.0, 0.1, 0.05, 1.0)
        worst = 0.0
        for b in np.linspace(p - s, p + s, 9):
            inside = np.full(204, task["density"])
            values = np.concatenate([[-1e9], np.arange(-101.0, 103.0), [1e9]])
            weights = np.array([b - 2 * s, *inside, 1 - b - 2 * s])
            worst = max(worst, rho_of_law(values, weights, n, k, w))
        least = least_rho(n, p, 50.0, 0.05, task["density"], 1.0)
        print(f"p={p} n={n}: {worst:.4f}, none below {least:.4f}")
        assert least is not None
        assert least <= worst <= 5 * least


def test_where_the_bound_says_nothing() -> None:
    assert least_rho(1000, 0.9, 50.0, 0.05, 0.001, 1.0) is None
    assert least_rho(1000, 0.9, 50.0, 0.45, 0.0005, 1.0) is None
