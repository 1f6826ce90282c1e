"""Arrays of libraries that no rule is for: compared as the numpy array that they give, in every walk over outputs."""

from __future__ import annotations

import dataclasses
import enum
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from auditor.errors import NotComparable
from auditor.repair.numbers_of import Widths, put_back, take_apart
from auditor.subjects.views import make_view
from auditor.subjects.views.rounding import rounded
from auditor.trials.causes.last_digits import apart_by
from auditor.values import Tolerance, base_value, compare, fingerprint, first_difference, same, settle

try:  # here, as the import itself draws from numpy's global generator
    import jax
except ImportError:
    jax = None
needs_jax = pytest.mark.skipif(jax is None, reason="jax is not installed: it is in the extra more-learners")


class Readable:
    """What numpy can read; its other attribute differs from one instance to the next, and must not count."""

    def __init__(self, values: Any, **labels: Any) -> None:
        self.values, self.buffer = values, [id(self)]
        vars(self).update(labels)


class ByArray(Readable):
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.values)


class ByDlpack(Readable):
    def __dlpack__(self, **how: Any) -> Any:
        return np.asarray(self.values, dtype=float).__dlpack__(**how)


class Warns(Readable):
    def __array__(self) -> Any:
        warnings.warn("this array is copied", stacklevel=2)
        return np.asarray(self.values)


class ByDlpackAlone(ByDlpack):
    def __array__(self) -> Any:
        raise TypeError("not without being asked")


@dataclasses.dataclass
class Box:
    inside: Any


@pytest.fixture(params=[ByArray, ByDlpack, Warns, ByDlpackAlone, pytest.param("jax", marks=needs_jax)])
def make(request: pytest.FixtureRequest) -> Any:
    """How to make an array of each kind out of numbers."""
    return request.param if request.param != "jax" else jax.numpy.asarray


def test_it_is_the_array_that_numpy_reads(make: Any) -> None:
    left, right = make([0.0, 1.5]), make([-0.0, 1.5])
    assert same(left, right)
    assert same(left, np.array([0, 1.5]))
    assert fingerprint(left) == fingerprint(settle(right))
    assert not same(left, [0.0, 1.5])
    assert same(make(1.5), 1.5)  # of no dimension
    settled = settle(left)
    assert type(settled) is np.ndarray
    assert settled.flags.owndata


def test_a_difference_is_found_inside(make: Any) -> None:
    def nested(last: float) -> Any:
        return {"w": (make([[1.0, last]]), Box(make(3.0)))}

    assert same(nested(2.0), nested(2.0))
    found = first_difference(nested(2.0), nested(2.5))
    assert found is not None
    assert (found.path, found.left, found.right) == ("output['w'][0][0, 1]", "2.0", "2.5")


def test_its_numbers_may_be_close_and_are_rounded(make: Any) -> None:
    left, right = [make([1.0, 2.0]), Box(make(0.25))], [make([1.25, 2.0]), Box(make(0.0))]
    assert not same(left, right)
    assert same(left, right, Tolerance(0.25))
    found = first_difference(left, right, Tolerance(0.2))
    assert found is not None
    assert found.path == "output[0][0]"
    assert same(rounded(left, 0), rounded(right, 0))
    assert not same(rounded(left, 1), rounded(right, 1))


def test_views_look_at_it(make: Any) -> None:
    values = [0.0, -2.4, 3.4, 3.3]
    for view in (
        "sign",
        "argmax",
        "top(2)",
        "ranking",
        "support",
        "nonzero",
        "partition",
        "distinct",
        "round(0)|argmax",
    ):
        see = make_view(view).see
        assert same(see(make(values)), see(np.array(values))), view


def test_what_wobbles_and_by_how_much(make: Any) -> None:
    left, right = make([1.0, 2.0]), make([1.0, 4.0])
    found = compare(settle(left), settle(right), differs=True)
    assert [(place.path, place.gap) for place in found.places] == [("[1]", 2.0)]
    assert (found.shape, found.bits) == ([2], "40")
    assert apart_by({"w": left}, {"w": right}) == 0.5  # of the largest
    assert apart_by({"w": left}, {"w": make([1.0, 2.0])}) == 0.0


def test_a_repair_rounds_its_numbers(make: Any) -> None:
    apart = take_apart({"w": make([1.25, 2.5]), "b": make(0.5)}, Widths(1.0))
    assert apart.numbers.tolist() == [0.5, 1.25, 2.5]  # in the order of paths
    assert same(put_back(apart, apart.numbers), {"w": np.array([1.25, 2.5]), "b": 0.5})


@pytest.mark.parametrize(
    "values",
    [
        np.array([(1.5, "x")], dtype=[("a", float), ("b", "U1")]),
        np.array([1.5, "x", None, ByArray([2.0])], dtype=object),
        np.array(["x", "y"]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.ma.masked_array([1.0, 2.0], [True, False]),
        np.array([True, False]),
        np.array([1 + 2j]),
        np.empty((0, 3)),
    ],
    ids=lambda values: str(values.dtype),
)
def test_whatever_its_elements_are(values: Any) -> None:
    class Own(ByArray):
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return self.values

    assert same(Own(values), values)
    assert same(rounded(Own(values), 0), rounded(values, 0))
    assert same(settle([Own(values)]), [values])


def test_members_and_keys() -> None:
    assert same({ByArray([1.0]), ByArray(2.0)}, {ByArray([1]), ByArray(2)})
    assert same({ByArray(2.0): 0.125}, {2: 0.125})
    assert not same({ByArray([1.0])}, {ByArray([1.5])})
    assert not same({ByArray([1.0])}, {ByArray([1.5])}, Tolerance(1.0))  # members are not amounts
    assert same(rounded({ByArray(2.25): 0.125}, 1), {2.25: 0.1})


@pytest.mark.parametrize("name", ["mask", "unit", "units", "columns", "index", "names", "dims", "coords"])
def test_labels_and_units_count_and_are_no_amounts(name: str) -> None:
    def labelled(values: Any, label: Any) -> ByArray:
        return ByArray(values, **{name: label})

    one = labelled([1.0, 2.0], 3.0)
    assert same(one, labelled([1, 2], 3))
    for other in (labelled([1.0, 2.0], 4.0), ByArray([1.0, 2.0])):
        assert not same(one, other)
        assert not same(one, other, Tolerance(10.0))
        assert not same(rounded(one, 0), rounded(other, 0))
    assert same(one, labelled([1.25, 2.0], 3.0), Tolerance(0.25))
    assert same(rounded(one, 0), rounded(labelled([1.25, 2.0], 3.0), 0))
    assert same(labelled([1.0], None), labelled([1.0], len))  # nothing, and a method


class Quantity(np.ndarray):
    unit: str


def test_a_unit_of_a_subclass_of_numpys_array_counts_in_rounding_too() -> None:
    left, right = (np.array([1.25]).view(Quantity) for _ in range(2))
    left.unit, right.unit = "m", "km"
    assert not same(left, right)
    assert not same(rounded(left, 0), rounded(right, 0))
    assert not same(rounded([left], 0), rounded([right], 0))
    right.unit, right[0] = "m", 1.0
    assert same(rounded({"q": left}, 0), rounded({"q": right}, 0))


def test_a_quantity_of_pint_counts_its_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    class Quantity(ByArray):
        def __init__(self, magnitude: Any, units: str) -> None:
            super().__init__(magnitude)
            self.magnitude, self.units = magnitude, units

    Quantity.__module__ = "pint"
    monkeypatch.setitem(sys.modules, "pint", types.SimpleNamespace(Quantity=Quantity))  # type: ignore[arg-type]
    assert same(Quantity(np.array([1.0]), "m"), Quantity(np.array([1]), "m"))
    assert same(Quantity(1.0, "m"), Quantity(1.5, "m"), Tolerance(0.5))
    assert not same(Quantity(1.0, "m"), Quantity(1.0, "km"), Tolerance(0.5))
    assert not same(rounded(Quantity(1.0, "m"), 0), rounded(Quantity(1.0, "km"), 0))


class Raises(Readable):
    def __array__(self) -> Any:
        raise SystemExit(3)


class GivesAList(Readable):
    def __array__(self) -> Any:
        return [1.0]


class GivesItself(Readable):
    def __array__(self) -> Any:
        return np.array(self, dtype=object) if type(self.values) is float else np.array([self, None], dtype=object)

    def __len__(self) -> int:
        raise TypeError("it has none")


class Recurs(Readable):
    def __array__(self) -> Any:
        return self.__array__()


class Garbage(Readable):
    __array__ = property(lambda self: lambda: np.zeros(1))

    def __dlpack__(self, **how: Any) -> Any:
        return object()


class Forbidden(Readable):
    __array__ = None


@pytest.mark.parametrize("kind", [Raises, GivesAList, Recurs, Garbage, Forbidden])
def test_what_gives_no_array_is_an_object_as_before(kind: Callable[..., Any]) -> None:
    """By class and attributes, of which one differs here."""
    one, other = kind(1.5), kind(1.5)
    assert not same(one, other)
    one.buffer = other.buffer = None
    assert same(one, other)
    other.values = 1.25
    found = first_difference(one, other)
    assert found is not None
    assert found.path == "output.values"
    assert same(one, other, Tolerance(0.25))
    assert same(rounded(one, 0), rounded(one, 0))
    assert base_value(one) is one


@pytest.mark.parametrize("value", [1.5, [1.5]])
def test_an_array_that_holds_the_object_itself_is_none(value: Any) -> None:
    one, other = GivesItself(value), GivesItself(value)
    one.buffer = other.buffer = None
    assert same(one, other)
    assert same(rounded(one, 0), rounded(other, 0))


class Named(enum.Enum):
    A = 1

    def __array__(self) -> Any:
        return np.zeros(1)


class Listed(list[float]):
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.zeros(1)


class Kinds(type):
    def __array__(cls) -> Any:
        return np.zeros(1)


class Kind(metaclass=Kinds):
    pass


def test_what_is_something_else_stays_that() -> None:
    assert not same(Named.A, np.zeros(1))
    assert same(Listed([1.5]), [1.5])
    assert same(rounded(Listed([1.4]), 0), [1.0])
    assert same(ByArray, ByArray)
    assert not same(ByArray, ByDlpack)
    assert not same(Kind, np.zeros(1))
    with pytest.raises(NotComparable, match="iterator"):
        settle(np.zeros(2).flat)
    for frame in (pd.DataFrame({"a": [1.5]}), pd.Series([1.5]), pd.array([1, None], dtype="Int64"), pd.Index([1.5])):
        assert base_value(frame) is frame
        assert not same(frame, np.asarray(frame))


def test_number_types_of_others_are_numbers() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name, number in (("bfloat16", 1.5), ("float8_e5m2", 1.5), ("float8_e4m3fn", 1.5), ("int4", 3), ("uint4", 3)):
        kind = getattr(ml_dtypes, name)
        assert same(kind(number), number)
        array = np.array([number, 0], dtype=kind)
        assert same(array, np.array([number, 0]))
        assert same(settle({"w": array}), {"w": np.array([number, 0])})
        assert same(array, np.array([number + 1, 0]), Tolerance(1.0))
        assert same(kind(number), number + 1, Tolerance(1.0))
        assert same(rounded(array, 0), np.round([number, 0]))
        assert same(rounded(kind(number), 0), round(number))
        found = compare(settle(array), settle(np.zeros(2, dtype=kind)), differs=True)
        assert [(place.path, place.gap) for place in found.places] == [("[0]", number)]
    assert take_apart(np.array([1.5], dtype=ml_dtypes.bfloat16), Widths(1.0)).numbers.tolist() == [1.5]


@needs_jax
def test_arrays_and_keys_of_jax() -> None:
    made = {"w": jax.numpy.array([1.5, 0.0], "bfloat16"), "b": [jax.numpy.float32(0.25)]}
    assert same(made, jax.tree_util.tree_map(lambda part: part + 0, made))
    assert same(made, {"w": np.array([1.5, -0.0]), "b": [0.25]})
    assert same(made, jax.tree_util.tree_map(lambda part: part + 1, made), Tolerance(1.0))
    keys = [jax.random.key(0), jax.random.key(1), jax.random.key(0, impl="rbg"), jax.random.split(jax.random.key(0))]
    for i, key in enumerate(keys):
        assert [same(key, other) for other in keys] == [i == j for j in range(len(keys))]
        assert not any(same(key, other, Tolerance(10.0)) for other in keys[:i])
        assert same(rounded(key, 0), key)


def test_quantities_of_astropy() -> None:
    units = pytest.importorskip("astropy.units")
    speed = np.array([1.25, 2.0]) * units.m / units.s
    assert same(speed, speed.copy())
    assert not same(speed, np.array([1.25, 2.0]) * units.km / units.s)
    assert same(rounded(speed, 0), rounded(speed - 0.25 * units.m / units.s, 0))
    assert same(speed, speed + 0.25 * units.m / units.s, Tolerance(0.25))
