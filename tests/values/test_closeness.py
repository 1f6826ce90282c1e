"""Close: a relation on outputs, against its definition on every pair of numbers."""

from __future__ import annotations

import copy
import dataclasses
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import auditor
from auditor.cli.command_line import run
from auditor.errors import BadValue, UsageError
from auditor.values import Tolerance, compare, first_difference, make_tolerance, same, settle

pytestmark = pytest.mark.usefixtures("no_second_process")
NUMBERS = st.sampled_from(
    [
        *(0, 1, -1, 2, 0.0, 1.0, 1.05, 1.1, -1.1, 100.0, 101, 1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf),
        *(2**53 + 1, 2**60, 10**400, Fraction(1, 3), Decimal("0.3"), np.float32(0.1), 1j, 1 + 0.01j, np.int8(1), True),
        *(
            1.7e308,
            -1.7e308,
            complex(1.7e308, 1.7e308),
            complex(-1.7e308, 1.7e308),
            1 / 3 + 1e-9j,
            complex(0.3, math.nan),
        ),
    ]
)
WITHIN = st.builds(Tolerance, st.sampled_from([0.0, 0.05, 1.0, 1e9]), st.sampled_from([0.0, 0.01, 0.5]))


def by_definition(a: Any, b: Any, within: Tolerance) -> bool:
    if same(a, b):
        return True
    if isinstance(a, bool) or isinstance(b, bool):
        return False
    left, right = (tuple(map(exactly, (one.real, one.imag))) for one in (a, b))
    if not all(part.is_finite() for part in (*left, *right)):
        return False
    with localcontext(prec=900):
        gap = ((left[0] - right[0]) ** 2 + (left[1] - right[1]) ** 2).sqrt()
        most = max((one[0] ** 2 + one[1] ** 2).sqrt() for one in (left, right))
        room = Decimal(within.atol) + Decimal(within.rtol) * most
        assert abs(room - gap) > Decimal("1e-12") * max(1, most), "a case on the edge, which rounding decides"
        return gap <= room


def exactly(part: Any) -> Decimal:
    with localcontext(prec=900):
        if isinstance(part, Fraction):
            return Decimal(part.numerator) / part.denominator
        return Decimal(part.item()) if isinstance(part, np.generic) else Decimal(part)


@given(NUMBERS, NUMBERS, WITHIN)
def test_two_numbers_are_close_by_the_definition(a: Any, b: Any, within: Tolerance) -> None:
    try:
        expected = by_definition(a, b, within)
    except AssertionError:
        return
    assert same(a, b, within) == expected
    kinds = [
        np.array([one], dtype=object) if not isinstance(one, (int, float)) or abs(one) > 1e300 else np.array([one])
        for one in (a, b)
    ]
    assert same(kinds[0], kinds[1], within) == expected


VALUES = st.recursive(
    NUMBERS | st.sampled_from(["a", None, b"x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from(["a", "b", 1.0]), inner, max_size=2)
        | st.lists(st.floats(-2, 2), min_size=1, max_size=3).map(np.array)
        | st.frozensets(st.integers(0, 3), max_size=2)
    ),
    max_leaves=6,
)


@given(VALUES, VALUES, WITHIN)
def test_close_is_symmetric_reflexive_and_contains_the_same(left: Any, right: Any, within: Tolerance) -> None:
    assert same(left, right, within) == same(right, left, within)
    assert same(left, copy.deepcopy(left), within)
    if same(left, right):
        assert same(left, right, within)


@given(VALUES, VALUES)
def test_without_a_tolerance_close_is_the_same(left: Any, right: Any) -> None:
    assert same(left, right, Tolerance()) == same(left, right)


def test_close_is_no_equivalence() -> None:
    within = Tolerance(atol=0.1)
    assert same(0.0, 0.1, within)
    assert same(0.1, 0.2, within)
    assert not same(0.0, 0.2, within)


@dataclasses.dataclass
class Line:
    slope: float
    name: str = "x"


FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}, index=[0.5, 1.5])


@pytest.mark.parametrize(
    ("left", "right", "path"),
    [
        ([1.0, 2.0, 3.0], [1.01, 2.5, 9.0], "output[1]"),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.01, 2.0], [3.0, 5.0]]), "output[1, 1]"),
        (np.array([1, 2]), np.array([1.05, 2.05]), None),
        (np.array([2**60, 1]), np.array([2**60, 2]), "output[1]"),
        (np.array([math.inf, math.nan]), np.array([math.inf, math.nan]), None),
        (np.array([math.inf]), np.array([1e300]), "output[0]"),
        ({"a": Line(1.0)}, {"a": Line(1.05)}, None),
        ({"a": Line(1.0)}, {"a": Line(1.0, "y")}, "output['a'].name"),
        ({"a": 1.0}, {"b": 1.0}, "output['a']"),
        ({1.0: 2}, {1.01: 2}, "output[1.0]"),
        ({1.0}, {1.01}, "output{1.0}"),
        ([1.0], (1.0,), "output"),
        ([1.0], [1.0, 1.0], "output[1]"),
        (True, 1.0, "output"),
        (np.array([True]), np.array([1.0]), "output[0]"),
        (range(3), range(4), "output"),
        (np.array(["2020"], "M8[ns]"), np.array([1577836800000000001], "M8[ns]"), "output[0]"),
        (FRAME, FRAME.assign(a=[1.05, 2.0]), None),
        (FRAME, FRAME.assign(a=[1.05, 2.5]), "output['a'][1.5]"),
        (FRAME, FRAME.set_axis([0.5, 1.501]), "output.index.values[1]"),
        (scipy.sparse.csr_array([[0.0, 1.0]]), scipy.sparse.csr_array([[0.05, 1.0]]), None),
        (scipy.sparse.csr_array([[0.0, 1.0]]), scipy.sparse.csr_array([[0.5, 1.0]]), "output[0, 0]"),
        (scipy.sparse.csr_array([[0.0, 1.0]]), scipy.sparse.csr_array([[1.0, 0.0]]), "output[0, 0]"),
        (np.ma.array([1.0, 9.0], mask=[0, 1]), np.ma.array([1.05, 3.0], mask=[0, 1]), None),
        (np.array([(1.0, "a")], "f8,U1"), np.array([(1.05, "a")], "f8,U1"), None),
        (np.array([1.0, [2.0]], dtype=object), np.array([1.0, [2.5]], dtype=object), "output[1][0]"),
    ],
)
def test_the_first_place_that_is_not_close_is_told(left: Any, right: Any, path: str | None) -> None:
    found = first_difference(left, right, Tolerance(atol=0.1))
    assert (found.path if found else None) == path
    assert not found or found.left != found.right


@pytest.mark.parametrize(
    ("atol", "rtol", "words"),
    [
        (-1, None, "atol=-1"),
        (math.inf, None, "finite"),
        (None, 1.0, "below 1"),
        (math.nan, None, "atol"),
        ("x", 0, "atol"),
        (True, 0, "atol"),
    ],
)
def test_a_tolerance_that_means_nothing_is_refused(atol: Any, rtol: Any, words: str) -> None:
    with pytest.raises(BadValue, match=words):
        make_tolerance(atol, rtol)


def test_no_tolerance_is_none() -> None:
    assert make_tolerance(None, None) is make_tolerance(0, 0.0) is None
    assert make_tolerance(0, 0.5) == Tolerance(0.0, 0.5)


def two_means(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def mean(sample: Any, r: Any) -> float:
    return float(sample.mean())


def quarters(sample: Any, r: Any) -> int:
    return int(4 * sample[0])


def test_rho_is_the_probability_of_not_close_exactly() -> None:
    """Two of the four values are equally likely: |a - b| <= 1 in 10 of 16 pairs. 300 pairs, interval at 1 - 1e-6."""
    record = auditor.audit(quarters, two_means, size=1, atol=1, fixed=300, rho=0.5, confidence=1 - 1e-6)
    assert record.rho.low <= 6 / 16 <= record.rho.high
    again = [auditor.replay(quarters, two_means, size=1, atol=1, pair=i) for i in range(8)]
    apart = [abs(one.outputs[0] - one.outputs[1]) > 1 for one in again]
    assert {*apart} == {True, False}
    assert apart == [one.difference is not None for one in again]


def test_a_record_says_that_close_is_no_equivalence_and_what_rho_then_is() -> None:
    record = auditor.audit(mean, two_means, size=1000, atol=0.2)
    assert record.verdict == "pass"
    (told,) = [one for one in record.findings if one.kind == "tolerance"]
    assert "rho is then the probability that two runs are not close" in told.message
    assert "no equivalence" in told.message
    assert record.asked["atol"] == 0.2
    assert auditor.audit(mean, two_means, size=1000).verdict == "fail"


class Shift:
    def __init__(self, by: float) -> None:
        self.by = by

    def predict(self, x: Any) -> Any:
        return x[:, 0] * self.by


def shift(sample: Any, r: Any) -> Shift:
    return Shift(1.0 + float(sample[0] > 0.5))


def test_churn_under_a_tolerance_is_the_share_of_points_that_are_not_close() -> None:
    """Predictions x and 2x are within 1/4 for x <= 1/4: of uniform points three quarters are not."""
    record = auditor.audit(shift, two_means, size=1, view="predict", atol=0.25, measure="churn", probe=2000, rho=0.9)
    assert record.answer.churn.largest == pytest.approx(0.75, abs=0.06)  # 2000 points: six standard deviations


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"eta": 0.1, "nu": 0.1}, "takes an equivalence"),
        ({"view": "argmax"}, "sees places or names"),
        ({"view": "round(1)|sign"}, "sees places or names"),
    ],
)
def test_where_closeness_has_no_meaning_it_is_refused_with_the_reason(options: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        auditor.audit(mean, two_means, size=10, atol=0.1, **options)


def test_replay_commands_and_the_ledger_carry_the_tolerance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("close_learner.py").write_text("def mean(sample, r):\n    return float(sample.mean())\n")
    words = ["check", "close_learner.py:mean", "--source", "norm", "--size", "50", "--rho", "0.3"]
    assert run([*words, "--atol", "0.01", "--rtol", "0.125", "--ledger", "l.sqlite", "--json", "r.json"]) == 1
    out = capsys.readouterr().out
    assert "--atol 0.01 --rtol 0.125 --replay" in out
    assert "numbers within atol 0.01, rtol 0.125" in out
    assert run([*words, "--atol", "0.02", "--ledger", "l.sqlite", "--resume"]) == 2
    assert "differ in --atol: 0.01 and 0.02, --rtol: 0.125 and none" in capsys.readouterr().err
    assert run([*words, "--atol", "9", "--replay", "0"]) == 0
    assert "CLOSE  pair 0" in capsys.readouterr().out
    assert run(["replay", "r.json", "--pair", "0", "--trust"]) == 0
    assert "CLOSE  pair 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("left", "right", "within"),
    [
        (Fraction(1, 3), 1 / 3 + 1e-9j, Tolerance(atol=1e-3)),
        (np.clongdouble(1) / 3 + 1j, 1 / 3 + 1j, Tolerance(atol=1e-3)),
        (np.clongdouble(1) / 3 + 1j, np.clongdouble(1) / 3 + 1.00001j, Tolerance(rtol=1e-3)),
        (10**400, 10**400 + 1, Tolerance(rtol=1e-9)),
        (Fraction(10**400, 3), Fraction(10**400 + 1, 3), Tolerance(rtol=1e-9)),
        (np.array([1 + 1j]), np.array([1 + 1.00001j]), Tolerance(atol=1e-3)),
        (np.array([2**63 - 1]), np.array([2**63], dtype="u8"), Tolerance(atol=2.0)),
    ],
)
def test_what_is_close_is_no_difference_in_the_account_either(left: Any, right: Any, within: Tolerance) -> None:
    """The account of a pair names the 2.0 and the 30.0 alone, in whatever notation the others are."""
    assert same(left, right, within)
    assert same(right, left, within)
    both = settle([left, 2.0]), settle([right, 30.0])
    assert first_difference(*both, within) is not None
    assert [place.path for place in compare(*both, differs=True, within=within).places] == ["[1]"]


def test_sums_beyond_all_doubles_do_not_make_numbers_close() -> None:
    large = complex(1.7e308, 1.7e308)
    for a, b, within in ((large, -large, Tolerance(rtol=0.1)), (1.7e308, -1.7e308, Tolerance(1.7e308, 0.5))):
        assert not same(a, b, within)
        assert not same(np.array([a, 1]), np.array([b, 1]), within)
    for a, b, within in ((1.7e308, -1.7e308, Tolerance(1.79e308, 0.999)), (0.5e308, -1.7e308, Tolerance(1e308, 0.71))):
        assert same(a, b, within)
        assert same(b, a, within)
