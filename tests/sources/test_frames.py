"""Tables as sources, with the real libraries: what a learner receives is of their kind, and nobody else's."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse
from support.requests import audit, bench_of, looked, timeless

import auditor
from auditor.errors import BadValue, SourceError, UnknownTruth, UsageError
from auditor.randomness import from_key, root_key
from auditor.sources.frames import (
    as_matrix,
    bytes_of,
    columns_of,
    kind_of_table,
    library_of,
    own,
    rows_beside,
    rows_in,
    take,
    take_beside,
)
from auditor.sources.source import check_size, load_dataset, load_source
from auditor.trials.preflight import conclude, run_preflight

N = 12
PANDAS = pandas.DataFrame(
    {
        "number": [float(i) if i else None for i in range(N)],
        "word": [f"w{i}" if i % 5 else None for i in range(N)],
        "day": pandas.date_range("2020-01-01", periods=N),
        "kind": pandas.Categorical([f"k{i % 3}" for i in range(N)]),
        "whole": pandas.array([i if i != 2 else None for i in range(N)], dtype="Int64"),
    },
    index=range(100, 100 + N),
)
POLARS = polars.from_pandas(PANDAS)
ARROW = pyarrow.Table.from_pandas(PANDAS, preserve_index=False)
COLUMNS = {"number": np.arange(float(N)), "word": [f"w{i}" for i in range(N)], "day": PANDAS["day"]}
TABLES: dict[str, Any] = {"pandas": PANDAS, "polars": POLARS, "pyarrow": ARROW, "dict": COLUMNS}
Y = np.arange(N)


def rng(seed: int = 3) -> np.random.Generator:
    return from_key(root_key(seed))


def resampled(gen: np.random.Generator, size: int) -> Any:
    return PANDAS.iloc[gen.integers(0, N, size)]


def kept(gen: np.random.Generator, size: int) -> Any:
    return PANDAS[:size]


kept.deterministic = True  # type: ignore[attr-defined]


def in_polars(gen: np.random.Generator, size: int) -> Any:
    return POLARS[gen.integers(0, N, size)], gen.integers(0, 2, size)


def column(data: Any, name: str) -> list[Any]:
    found = data[name]
    return found.to_pylist() if hasattr(found, "to_pylist") else list(found)


def schema(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: np.asarray(values).dtype for name, values in data.items()}
    return data.dtypes.to_dict() if isinstance(data, pandas.DataFrame) else data.schema


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("how", ["bootstrap", "split", "subsample"])
def test_a_sample_is_a_table_of_its_kind_with_rows_that_belong_together(name: str, how: str) -> None:
    table = TABLES[name]
    source = load_dataset((table, Y), how)
    x, y = source.draw_part(rng(), 6, 1) if how == "split" else source.draw(rng(), 6)
    assert type(x) is type(table)
    assert columns_of(x) == columns_of(table)
    assert schema(x) == schema(table)
    assert rows_in(x) == len(y) == 6
    words, whole = column(x, "word"), column(table, "word")
    assert [str(word) for word in words] == [str(whole[i]) for i in y]
    if isinstance(x, pandas.DataFrame):
        assert x.index.tolist() == list(range(6))
    (alone,) = [load_dataset(table, how)]
    assert alone.count == N
    assert alone.columns == columns_of(table)


@pytest.mark.parametrize("part", [PANDAS["whole"], POLARS["whole"], ARROW["whole"], ARROW.to_batches()[0]])
def test_a_column_or_a_batch_is_a_source_too(part: Any) -> None:
    drawn = load_source(part).draw(rng(), 30)
    assert type(drawn) is type(part)
    assert rows_in(drawn) == 30
    record = audit(lambda sample, r: type(sample).__name__, part)
    assert (record.verdict, record.size, record.source) == ("pass", N, "12 rows of data")


def test_a_sparse_matrix_keeps_its_kind() -> None:
    matrix = scipy.sparse.coo_array(np.diag(np.arange(1.0, 6.0)))
    x, y = load_dataset((matrix, np.arange(5)), "bootstrap").draw(rng(), 40)
    assert scipy.sparse.issparse(x)
    assert (x.toarray()[np.arange(40), y] == y + 1).all()
    assert bytes_of(x) > 40 * 8


def test_an_audit_of_a_frame_agrees_with_that_of_its_array() -> None:
    """The same rows are drawn: only what they are handed over as differs."""

    def of_frame(sample: Any, r: Any) -> float:
        return float(sample["a"].mean())

    def of_array(sample: Any, r: Any) -> float:
        return float(sample[:, 0].mean())

    values = np.arange(8.0).reshape(4, 2)
    tables = (pandas.DataFrame(values, columns=["a", "b"]), polars.DataFrame(values, schema=["a", "b"]))
    truth = audit(of_array, values, fixed=60)
    assert 0 < truth.mismatches < 60
    for table in tables:
        assert audit(of_frame, table, fixed=60).mismatches == truth.mismatches


@pytest.mark.parametrize("name", ["resampled", "kept", "in_polars"])
def test_a_function_may_return_tables(name: str) -> None:
    source = load_source(f"{__name__}:{name}")
    drawn = source.draw(rng(), 8)
    x = drawn[0] if isinstance(drawn, tuple) else drawn
    assert rows_in(x) == 8
    assert columns_of(x) == columns_of(PANDAS)
    assert audit(lambda sample, r: 1, f"{__name__}:{name}", size=8).verdict == "pass"


def test_what_is_no_sample_of_a_table_is_named() -> None:
    for returned, words in (
        (PANDAS, "returned 12 rows where 3 were asked for"),
        ((POLARS[:3], [1]), "returned 1 rows where 3"),
        ({"a": [1, 2, 3], "b": [1]}, "returned columns of different lengths where 3"),
        (POLARS.lazy(), "returned LazyFrame: return an array of 3 rows or"),
    ):
        with pytest.raises(SourceError, match=words):
            load_source(lambda gen, size, returned=returned: returned).draw(rng(), 3)
    with pytest.raises(UsageError, match=r"LazyFrame has no rows yet: give what its collect\(\) returns"):
        load_source(POLARS.lazy())
    with pytest.raises(UsageError, match="its columns differ in length"):
        load_source({"a": [1, 2, 3], "b": [1]})
    with pytest.raises(UsageError, match=r"as many labels, and it has \[12, 3\]"):
        load_source((PANDAS, [1, 2, 3]))
    assert load_source(lambda gen, size: {i: i for i in range(size)}).draw(rng(), 3) == {0: 0, 1: 1, 2: 2}


def test_a_table_that_a_module_has_is_found_by_its_name() -> None:
    spec = f"{__name__}:PANDAS"
    source = load_source(spec, "split")
    assert (source.name, source.spec, rows_in(source.draw(rng(), 5))) == (spec, spec, 5)
    record = audit(f"{__name__}:count", spec, resample="split")
    assert (record.verdict, record.size, record.resample, record.importable) == ("pass", 6, "split", True)
    assert load_source(f"{__name__}:Y").draw(rng(), 4).shape == (4,)


def count(sample: Any, r: Any) -> int:
    return rows_in(sample)


def spoil(sample: Any, r: Any) -> int:
    """Writes into all that it can reach, cells and names included."""
    if isinstance(sample, pandas.DataFrame):
        sample.loc[:, "number"] = 7.0
        sample["new"] = 1
        sample.columns.name = "spoilt"
        for cell in sample.get("cells", ()):
            cell.append(1)
    elif isinstance(sample, dict):
        sample["number"][:] = 7.0
        sample["new"] = 1
    else:
        sample[0, "number"] = 7.0
        sample.insert_column(0, polars.Series("new", [1] * len(sample)))
    return 0


def test_what_a_run_does_to_its_sample_reaches_no_other_run() -> None:
    frame = PANDAS.assign(cells=[[i] for i in range(N)])
    tables: list[Any] = [frame, polars.from_pandas(PANDAS), dict(COLUMNS)]
    for table in tables:
        before = own(table)
        for source in (table, lambda gen, size, table=table: table if size == N else take(table, np.arange(size))):
            loaded = load_source(source)
            first = loaded.draw(rng(), N)
            spoil(first, None)
            if isinstance(table, pandas.DataFrame):
                assert loaded.draw(rng(), N).columns.name is None
            assert str(table) == str(before)
            assert columns_of(loaded.draw(rng(), N)) == columns_of(before)


def test_the_preflight_sees_that_a_frame_is_changed() -> None:
    bench = bench_of(spoil, PANDAS, size=6)
    checked = conclude(bench, looked(run_preflight(bench)), None)
    assert checked.changes_sample
    assert checked.copies
    assert [kind for kind, _ in checked.warnings] == ["changes-sample"]
    assert not looked(run_preflight(bench_of(count, PANDAS, size=6))).changes_sample
    frame = PANDAS.assign(cells=[[i] for i in range(N)])[["cells"]]

    def append(sample: Any, r: Any) -> int:
        sample["cells"][0].append(1)
        return 0

    assert looked(run_preflight(bench_of(append, frame, size=6))).changes_sample


def test_workers_are_given_the_same_frames(tmp_path: Path) -> None:
    """A record with 1 and with 2 jobs is the same; the learner is in a file of its own, which imports nothing."""
    (tmp_path / "means.py").write_text(
        "def numbers(sample, r):\n    return [float(part.mean() or 0.0) for part in (sample[0]['number'], sample[1])]\n"
    )
    source, options = (PANDAS, POLARS["number"]), {"size": 5, "fixed": 60, "view": "round(0)"}
    here, there = (audit(f"{tmp_path}/means.py:numbers", source, jobs=jobs, **options) for jobs in (1, 2))
    assert 0 < here.mismatches < 60
    assert timeless(here) == timeless(there)


def test_sizes_are_held_against_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auditor.sources.source.free_memory", lambda: 10**9)
    wide = pandas.DataFrame({"a": pandas.Categorical([f"{i:0100}" for i in range(1000)])})
    for source in (PANDAS, POLARS, ARROW, COLUMNS, resampled, in_polars):
        loaded = load_source(source)
        check_size(loaded, 10**5, rng())
        with pytest.raises(BadValue, match=r"needs about .* GB a sample, and 1 GB are free"):
            check_size(loaded, 10**9, rng())
    check_size(load_source(lambda gen, size: wide[:1].take([0] * size)), 10**6, rng())  # categories are there once


def test_a_frame_has_means_and_no_law() -> None:
    source = load_source(PANDAS)
    assert source.expect(lambda rows: rows["word"].isna()) == pytest.approx(3 / 12)
    for ask in (source.law, source.expect):
        with pytest.raises(UnknownTruth, match="cannot be listed: its rows are a pandas DataFrame, and not an array"):
            ask()
    with pytest.raises(UnknownTruth, match=r"not i\.i\.d\. rows"):
        load_dataset(PANDAS, "split").expect(lambda rows: rows["number"])


def test_a_sample_is_of_arrays_and_says_so() -> None:
    def mean(sample: auditor.Sample, r: Any) -> float:
        return round(sample.mean(), 1)

    with pytest.raises(UsageError, match=r"draws a pandas DataFrame, and an auditor\.Sample holds arrays: leave the"):
        bench_of(mean, PANDAS)
    with pytest.raises(UsageError, match=r"--sample counts: the values of .* cannot be listed"):
        bench_of(mean, PANDAS, sample="counts")
    with pytest.raises(UsageError, match="holds arrays, and these rows are a polars DataFrame"):
        auditor.Sample.of((POLARS, Y))


def test_estimators_are_given_two_dimensions() -> None:
    for part in (PANDAS["number"], POLARS["number"], ARROW["number"], np.arange(3.0)):
        assert len(as_matrix(part).shape) == 2
    assert as_matrix({"a": [1, 2], "b": POLARS["word"][:2]}).columns.tolist() == ["a", "b"]
    for table in (PANDAS, POLARS, ARROW):
        assert as_matrix(table) is table


def test_predictions_are_compared_on_rows_of_the_samples_kind(tmp_path: Path) -> None:
    class Spy:
        def fit(self, x: Any, y: Any) -> Spy:
            self.names_ = columns_of(x)
            return self

        def predict(self, x: Any) -> Any:
            assert columns_of(x) == self.names_, "the same kind, with the same columns"
            return [f"{kind_of_table(x)} {rows_in(x)}"]

    PANDAS[["number", "word"]].assign(label=Y).to_csv(tmp_path / "probe.csv", index=False)
    for table in (PANDAS[["number", "word"]], POLARS[["number", "word"]]):
        for probe, expected in ((7, 7), (f"{tmp_path / 'probe.csv'}#label", N)):
            bench = bench_of(Spy(), (table, Y), probe=probe)
            assert bench.see(bench.run(0, 0)) == [f"{kind_of_table(table)} {expected}"]


def test_what_is_of_no_library() -> None:
    assert library_of(np.arange(3)) is None
    assert library_of("text") is None
    assert library_of({}) is None
    assert library_of({"a": "text"}) is None


def test_the_examples_of_the_pages_run(tmp_path: Path) -> None:
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "data.md").read_text() + (docs / "resampling.md").read_text()
    codes = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "example.py").write_text("\n".join([*codes, "print(record.verdict)"]))
    ended = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.stdout == "pass\n", ended.stderr


def test_a_dict_of_numbers_without_a_dimension_has_no_columns() -> None:
    assert [library_of({"a": np.array(value)}) for value in (1.0, [1.0])] == [None, "dict"]


def test_wide_dicts_of_columns_are_taken_row_by_row_and_give_the_same() -> None:
    rng = np.random.Generator(np.random.PCG64(4))
    data = {
        **{f"f{i}": rng.normal(size=8000) for i in range(9)},
        "name": np.array([f"q{i}" for i in range(8000)]),
        **{f"i{i}": rng.integers(0, 9, size=8000) for i in range(8)},
        "few": rng.random(8000) < 0.5,
    }
    chosen = rng.integers(0, 8000, size=9001)
    beside = rows_beside(data)
    assert sorted(len(names) for names, _ in beside) == [9]  # of integers there are fewer than 2^16
    found = take_beside(data, beside, chosen)
    assert [*found] == [*data]
    for name, column in data.items():
        assert found[name].dtype == column.dtype
        np.testing.assert_array_equal(found[name], column[chosen])
    assert rows_beside({name: column[:100] for name, column in data.items()}) == []
    assert rows_beside(np.ones((8000, 20))) == []
    found["f0"][0] = 99.0
    assert found["f1"][0] == data["f1"][chosen[0]]
