"""Values of other libraries, by value: not by dtype, chunks or storage."""

from __future__ import annotations

import copy
import datetime
import subprocess
import sys
import threading
import types
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
from auditor.subjects.views.rounding import rounded
from auditor.values import Tolerance, fingerprint, first_difference, same, settle

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
import auditor.flow.run as run
class Agrees(run.SecondProcess):  # none is started: it would import what it needs by itself
    __init__, compare = lambda self, *_, **__: setattr(self, '_request', None), lambda self, *_: 'same'
run.SecondProcess = Agrees
auditor.audit(lambda s, r: 1, lambda rng, n: rng.random(n), size=1)
loaded('audited')

from algorithms.statistical_query import rstat
own = lambda sample, r, tau=0.1, rho=0.1, delta=0.025, query=None: rstat(sample, r, tau=tau, rho=rho, delta=delta)
own.__auditor__, own.__annotations__ = rstat.__auditor__, {'sample': auditor.Sample}
record = auditor.audit(own, rho=0.3)
assert (record.verdict, record.source, record.measures[0].count) == ('pass', 'bernoulli(0.5)', None), record.reason
loaded('with a common source')
"""


def test_no_library_is_imported_unless_it_is_asked_for() -> None:
    """To compare, to tell what a source is, and to audit, a last step integrated."""
    ended = subprocess.run([sys.executable, "-c", UNASKED], capture_output=True, text=True, check=False)
    assert ended.stdout.splitlines() == ["compared", "recognised", "audited", "with a common source"], ended.stderr
