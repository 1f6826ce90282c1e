"""Values of other libraries: by value, and not by dtype, chunks or storage.

Arrays of libraries that no rule is for are compared as the numpy array that they give, in every walk over outputs.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime
import enum
import subprocess
import sys
import threading
import types
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from auditor.errors import NotComparable
from auditor.repair.numbers_of import Widths, put_back, take_apart
from auditor.subjects.view_functions import rounded
from auditor.subjects.views import make_view
from auditor.trials.likeness import apart_by
from auditor.values import Tolerance, base_value, compare, fingerprint, first_difference, same, settle

try:  # here, as the import itself draws from numpy's global generator
    import jax
except ImportError:
    jax = None
needs_jax = pytest.mark.skipif(jax is None, reason="jax is not installed: it is in the extra more-learners")
pl = pytest.importorskip("polars")
NOTHING = pl.Struct({"a": pl.Null})
NS, LIST_NS = pl.Datetime("ns"), pl.List(pl.Datetime("ns"))
DAYS = pd.date_range("2020", periods=2)
PAIRS = pd.MultiIndex.from_tuples([(1, "a"), (2, "b")], names=["i", "j"])


def nanos(*counts: int) -> Any:
    return pl.Series("s", counts)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (pl.DataFrame({"a": [1, 2], "b": ["x", None]}), pl.DataFrame({"a": [1.0, 2.0], "b": ["x", None]})),
        (pl.concat([pl.Series("s", [1]), pl.Series("s", [2])], rechunk=False), pl.Series("s", [1, 2])),
        (pl.Series("s", [1.0, None]), pl.Series("s", [1, None])),
        (pl.Series("s", [[1, 2], None]), pl.Series("s", [[1.0, 2.0], None])),
        (pl.Series("s", [[1, 2]], dtype=pl.Array(pl.Int8, 2)), pl.Series("s", [[1, 2]])),
        (pl.Series("s", [{"a": 1}, None]), pl.Series("s", [{"a": 1.0}, None])),
        (pl.Series("s", ["a", "b"]).cast(pl.Categorical), pl.Series("s", ["a", "b"], dtype=pl.Enum(["b", "a"]))),
        (pl.Series("s", [Decimal("1.50")]), pl.Series("s", [1.5])),
        (nanos(1000).cast(pl.Datetime("ms")), nanos(1_000_000).cast(pl.Datetime("us"))),
        (pl.Series("s", [datetime.date(2020, 1, 1), None]), pl.Series("s", [datetime.datetime(2020, 1, 1), None])),
        (pa.table({"a": [1, 2], "b": ["x", None]}), pa.table({"a": [1.0, 2.0], "b": ["x", None]})),
        (pa.chunked_array([[1], [2, None]]), pa.array([1, 2, None])),
        (pa.chunked_array([], pa.int8()), pa.array([], pa.string())),
        (pa.array(["a", "b"]).dictionary_encode(), pa.array(["a", "b"])),
        (pa.array([1], pa.timestamp("s")), pa.array([1000], pa.timestamp("ms"))),
        (pa.scalar(3), pa.scalar(3.0)),
        (pa.RecordBatch.from_pydict({"a": [1]}), pa.table({"a": [1]})),
        (pa.array([{"a": [1]}]), pa.array([{"a": [1.0]}])),
        (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0], pa.int8())), pa.array([1, 0])),
        (pd.Series([1, 2], index=PAIRS), pd.Series([1.0, 2.0], index=PAIRS)),
        (pd.Series([1, 2], index=DAYS), pd.Series([1, 2], index=DAYS.as_unit("s"))),
        (pd.Series(["a", "b"], dtype="category"), pd.Series(["a", "b"])),
        (pd.Series([1, 2], index=pd.CategoricalIndex(["a", "b"])), pd.Series([1, 2], index=["a", "b"])),
        (pd.Series([1, 2], index=pd.interval_range(0, 2)), pd.Series([1, 2], index=pd.interval_range(0, 2))),
        (pd.Series([1, None], dtype="Int64"), pd.Series([1, None], dtype="Int8")),
        (pd.Series([1, 2], dtype="int64[pyarrow]"), pd.Series([1, 2])),
        (scipy.sparse.coo_array([0, 1.0, 0]), scipy.sparse.coo_array([0, 1, 0])),
        *(
            (getattr(scipy.sparse, f"{kind}_{form}")([[0, 1.5], [2, 0]]), scipy.sparse.csr_array([[0, 1.5], [2, 0]]))
            for kind in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
            for form in ("matrix", "array")
        ),
    ],
)
def test_the_same_values_are_the_same(left: Any, right: Any) -> None:
    assert same(left, right)
    assert same(settle(left), right)
    assert fingerprint(left) == fingerprint(right)
    assert same(left, copy.deepcopy(left))


@pytest.mark.parametrize(
    ("left", "right", "path"),
    [
        (pl.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [1, 3]}), "output['a'][1]"),
        (pl.DataFrame({"a": [1], "b": [1]}), pl.DataFrame({"b": [1], "a": [1]}), "output.columns[0]"),
        (pl.Series("s", [1.0, None]), pl.Series("s", [1.0, float("nan")]), "output.values[1]"),
        (pl.Series("s", [1]), pl.Series("t", [1]), "output.name"),
        (
            pl.Series("s", [{"a": None}]),
            pl.Series("s", [None], dtype=pl.Struct({"a": pl.Null})),
            "output.values['null'][0]",
        ),
        (nanos(1, 2).cast(NS), nanos(1, 3).cast(NS), "output.values[1]"),
        (pl.Series("s", [[1, 2]]).cast(LIST_NS), pl.Series("s", [[1, 3]]).cast(LIST_NS), "output.values[0].values[1]"),
        (nanos(1).cast(pl.Time), nanos(2).cast(pl.Time), "output.values[0]"),
        (pl.Series("s", [2**60, None]), pl.Series("s", [2**60 + 1, None]), "output.values[0]"),
        (pa.table({"a": [1, 2]}), pa.table({"a": [1, 3]}), "output['a'][1]"),
        (pa.table([[1], [2]], names=["a", "a"]), pa.table([[1], [3]], names=["a", "a"]), "output['a'] (column 1)[0]"),
        (pa.array([1], pa.timestamp("ns")), pa.array([2], pa.timestamp("ns")), "output[0]"),
        (pa.array([1], pa.time64("ns")), pa.array([2], pa.time64("ns")), "output[0]"),
        (pa.array([1]), pa.array([None], pa.int64()), "output[0]"),
        (pd.Series([1, 2], index=PAIRS), pd.Series([1, 2], index=PAIRS.rename(["i", "k"])), "output.index.names[1]"),
        (pd.Series([1, 2], index=DAYS), pd.Series([1, 2], index=DAYS + pd.Timedelta(1)), "output.index.values[0]"),
        (pd.Series([1, 2], index=["x", "x"]), pd.Series([1, 3], index=["x", "x"]), "output.values[1]"),
        (
            pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]),
            pd.DataFrame([[1, 2], [5, 4]], columns=["a", "a"]),
            "output['a'] (column 0)[1]",
        ),
        (
            pd.DataFrame({"n": [2**53], "x": [0.5]}),  # in one array of both columns they would be the same
            pd.DataFrame({"n": [2**53 + 1], "x": [0.5]}),
            "output['n'][0]",
        ),
        (pl.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), "output"),
        (scipy.sparse.coo_array([0, 1.0]), scipy.sparse.coo_array([1.0, 0]), "output[0]"),
    ],
)
def test_a_difference_is_found_where_it_is(left: Any, right: Any, path: str) -> None:
    assert not same(left, right)
    found = first_difference(left, right)
    assert found is not None
    assert found.path == path
    assert found.left != found.right


COLUMN = st.lists(st.sampled_from([0, 1, 2.5, None]), min_size=2, max_size=2)


@given(COLUMN, COLUMN)
def test_columns_are_the_same_in_every_library_iff_their_values_are(left: list[Any], right: list[Any]) -> None:
    for make in (
        lambda values: pl.DataFrame({"a": pl.Series(values, strict=False)}),
        lambda values: pa.table({"a": pa.array(values, pa.float64())}),
        lambda values: pd.DataFrame({"a": pd.array(values, dtype="Float64")}),
    ):
        assert same(make(left), make(right)) == (left == right)


@pytest.mark.parametrize(
    ("left", "near", "far"),
    [
        (
            pl.DataFrame({"a": [0.12, None], "n": [1, 2]}),
            pl.DataFrame({"a": [0.14, None], "n": [1, 2]}),
            pl.DataFrame({"a": [0.12, None], "n": [1, 3]}),
        ),
        (
            pl.DataFrame({"a": [[0.12]], "s": ["x"]}),
            pl.DataFrame({"a": [[0.14]], "s": ["x"]}),
            pl.DataFrame({"a": [[0.18]], "s": ["x"]}),
        ),
    ],
)
def test_numbers_of_polars_are_rounded_and_close_where_they_are(left: Any, near: Any, far: Any) -> None:
    assert not same(left, near)
    assert same(rounded(left, 1), rounded(near, 1))
    assert not same(rounded(left, 1), rounded(far, 1))
    assert same(left, near, Tolerance(0.03))
    assert not same(left, far, Tolerance(0.03))


def test_frames_of_numbers_stay_frames() -> None:
    assert isinstance(rounded(pd.Series([0.12]), 1), pd.Series)
    assert isinstance(rounded(pl.Series([0.12]), 1), pl.Series)
    assert rounded(pl.DataFrame({"a": [0.12]}), 1).equals(pl.DataFrame({"a": [0.1]}))


def test_xarray_counts_by_dimensions_coordinates_names_and_values() -> None:
    xr = pytest.importorskip("xarray")
    one = xr.DataArray([[1, 2], [3, 4]], dims=("a", "b"), coords={"a": [10, 20]}, name="n")
    many = xr.Dataset({"u": one, "v": ("a", [1, 2])})
    for left, right in ((one, one.astype(float)), (one, one.assign_attrs(unit="m")), (many, many[["v", "u"]])):
        assert same(left, right)
    for left, right, path in (
        (one, one.transpose(), "output.dims[0]"),
        (one, one + 1, "output.values[0, 0]"),
        (one, one.assign_coords(a=[10, 21]), "output.coords['a'].values[1]"),
        (one, one.rename("m"), "output.name"),
        (many, many.assign(v=("a", [1, 3])), "output['v'].values[1]"),
        (many, many.drop_vars("v"), "output['v']"),
    ):
        found = first_difference(left, right)
        assert found is not None
        assert found.path == path


class Tensor:
    """What an audit asks of a tensor, where torch is not installed."""

    layout = "torch.strided"

    def __init__(self, values: Any, dtype: str = "torch.float32", device: str = "cpu") -> None:
        self.values, self.dtype, self.device = np.asarray(values), dtype, device

    def detach(self) -> Tensor:
        return self

    def float(self) -> Tensor:
        return Tensor(np.asarray(self.values, dtype="f4"))

    def numpy(self, *, force: bool) -> Any:
        assert force
        assert self.dtype != "torch.bfloat16", "numpy has none"
        return self.values


def test_a_tensor_counts_by_shape_and_elements_whatever_its_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tensor, "__module__", "torch")
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=Tensor))  # type: ignore[arg-type]
    assert same(Tensor([1.0, 2.0]), Tensor([1, 2], "torch.int64", device="cuda:0"))
    assert same(Tensor([1.5], "torch.bfloat16"), Tensor([1.5]))
    assert not same(Tensor([1.0]), np.array([1.0]))
    found = first_difference({"w": Tensor([[1.0, 2.0]])}, {"w": Tensor([[1.0, 3.0]])})
    assert found is not None
    assert (found.path, found.left, found.right) == ("output['w'][0, 1]", "2.0", "3.0")


@pytest.mark.nightly
def test_real_tensors() -> None:
    torch = pytest.importorskip("torch")
    values = torch.tensor([[1.0, 2.0]])
    assert same(values, torch.nn.Parameter(values.to(torch.bfloat16)))
    assert same(values.t(), torch.tensor([[1], [2]]))
    assert same(values, values.to_sparse())
    assert same(torch.tensor([1 + 2j]).conj(), torch.tensor([1 - 2j]))
    assert not same(values, values + 1)
    model = torch.nn.Linear(2, 1)
    assert same(model, copy.deepcopy(model))
    assert not same(model.state_dict(), torch.nn.Linear(2, 1).state_dict())


class Model:
    def __init__(self) -> None:
        self.lock, self.coef_ = threading.Lock(), np.ones(2)

    def predict(self, x: Any) -> Any:
        return x


class Held:
    def __init__(self) -> None:
        self.lock, self._own, self.weights, self.name = threading.Lock(), 1, np.ones(2), "x"


class Figure(Held):
    def savefig(self) -> None: ...


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (Model(), 'or try --view predict or --view "attr(coef_)" or --view module:fn'),
        (Held(), 'or try --view "attr(weights)" or --view "attr(name)" or --view module:fn'),
        (
            Figure(),
            'it is an open figure: return the numbers that it draws, or try --view "attr(name)" or --view module:fn',
        ),
        (pl.LazyFrame({"a": [1]}), "it is a query that has not run: return its .collect()"),
        (threading.Lock(), "return values that define it: numbers, strings, arrays, containers or dataclasses of them"),
    ],
)
def test_what_cannot_be_compared_says_which_view_would_do(output: Any, words: str) -> None:
    with pytest.raises(NotComparable) as raised:
        settle(output)
    assert str(raised.value).endswith(words) or words in str(raised.value)


UNASKED = """
import sys
import numpy

def loaded(what):
    names = {'pandas', 'polars', 'pyarrow', 'xarray', 'torch', 'sklearn', 'scipy', 'scipy.stats', 'scipy.special'}
    print(what, *sorted(names & {*sys.modules}))

class A: pass

from auditor.values import fingerprint, same
from auditor.subjects.views import make_view
assert same(A(), A())
fingerprint([object(), {1: 2}]); make_view('round(1)').see(A()); make_view('partition').see([1, 2])
loaded('compared')

from auditor.sources.source import load_source
for source in ({'a': [1, 2]}, 'norm', numpy.arange(3)): load_source(source)
loaded('recognised')

import auditor
alone = {'second_process': False}  # to send something to another process imports what that takes
auditor.audit(lambda s, r: 1, lambda rng, n: rng.random(n), size=1, **alone)
loaded('audited')

from algorithms.statistical_query import rstat
own = lambda sample, r, tau=0.1, rho=0.1, delta=0.025, query=None: rstat(sample, r, tau=tau, rho=rho, delta=delta)
own.__auditor__, own.__annotations__ = rstat.__auditor__, {'sample': auditor.Sample}
record = auditor.audit(own, rho=0.3, **alone)
assert (record.verdict, record.source, record.measures[0].count) == ('pass', 'bernoulli(0.5)', None), record.reason
loaded('with a common source')
"""


def test_no_library_is_imported_unless_it_is_asked_for() -> None:
    """To compare, to tell what a source is, and to audit, a last step integrated."""
    ended = subprocess.run([sys.executable, "-c", UNASKED], capture_output=True, text=True, check=False)
    assert ended.stdout.splitlines() == ["compared", "recognised", "audited", "with a common source"], ended.stderr


# Arrays that no rule is for.


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
    views = ["sign", "argmax", "top(2)", "ranking", "support", "nonzero", "partition", "distinct", "round(0)|argmax"]
    for view in views:
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
    number = 2.25
    assert same(rounded(Box({number: number}), 1), Box({2.25: 2.2}))


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
