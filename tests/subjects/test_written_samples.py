"""Samples as files for other languages: a header, the labels last, every number with the digits that it needs."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from auditor.errors import UsageError
from auditor.sources.source import Names, load_source, names_in
from auditor.subjects.programs import write_sample

pandas = pytest.importorskip("pandas")
X = np.array([[1.0, 0.1], [2.0, -2.5e-300]])
AGES = Names(("age", "score"), "sex")
SAMPLES: dict[str, tuple[Any, Names | None, str]] = {
    "one column": (np.array([1, 2]), None, "x\n1\n2\n"),
    "whole numbers of a float column": (np.array([1.0, 0.5, -3.0]), None, "x\n1\n0.5\n-3\n"),
    "beyond 2^53": (np.array([2.0**60]), None, "x\n1.152921504606847e+18\n"),
    "several columns": (X, None, "x1,x2\n1,0.1\n2,-2.5e-300\n"),
    "with names": (X, Names(("a", "b")), "a,b\n1,0.1\n2,-2.5e-300\n"),
    "labels": ((X, np.array([0, 1])), None, "x1,x2,y\n1,0.1,0\n2,-2.5e-300,1\n"),
    "labels with names": ((X, np.array(["f", "m"])), AGES, "age,score,sex\n1,0.1,f\n2,-2.5e-300,m\n"),
    "names of another width": (X, Names(("a", "b", "c")), "x1,x2\n1,0.1\n2,-2.5e-300\n"),
    "words that need quotation marks": (np.array(['a,"b"', " c"]), None, 'x\n"a,""b"""\n c\n'),
    "days": (np.array(["2026-01-02"], dtype="datetime64[D]"), None, "x\n2026-01-02\n"),
    "no rows": (np.empty((0, 2)), None, "x1,x2\n"),
    "a list": ([1, 2], None, "x\n1\n2\n"),
    "bytes and truth values": (np.array([(b"a", True)], dtype="S1,?"), None, "f0,f1\na,TRUE\n"),
    "a dict of columns": ({"a": np.array([1, 2]), "b": ["u", "v"]}, None, "a,b\n1,u\n2,v\n"),
    "a data frame with holes": (
        pandas.DataFrame({"a": [1.5, None], "b": ["u", None], "c": [date(2026, 1, 2), None]}),
        None,
        "a,b,c\n1.5,u,2026-01-02\n,,\n",
    ),
    "a frame and a column": (
        (pandas.DataFrame({"y": [1, 2]}), pandas.Series([3, 4], name="label")),
        None,
        "y,label\n1,3\n2,4\n",
    ),
    "labels beside a column y": ((pandas.DataFrame({"y": [1]}), np.array([2])), None, "y,label\n1,2\n"),
    "a sparse matrix": (sparse.csr_array(np.array([[0, 2], [1, 0]])), None, "x1,x2\n0,2\n1,0\n"),
}


@pytest.mark.parametrize(("sample", "names", "text"), SAMPLES.values(), ids=SAMPLES)
def test_a_sample_as_csv(sample: Any, names: Names | None, text: str, tmp_path: Path) -> None:
    path = write_sample(sample, "csv", f"{tmp_path}/sample", names)
    assert (path, Path(path).read_text()) == (f"{tmp_path}/sample.csv", text)


def test_numbers_come_back_to_the_last_bit(tmp_path: Path) -> None:
    drawn = np.random.Generator(np.random.PCG64(1)).standard_normal(1000) * 10.0 ** np.linspace(-300, 300, 1000)
    with open(write_sample(drawn, "csv", f"{tmp_path}/sample"), newline="") as file:
        read = [float(row[0]) for row in list(csv.reader(file))[1:]]
    assert np.array_equal(read, drawn)


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_labels_are_the_last_column_of_every_format(kind: str, tmp_path: Path) -> None:
    path = write_sample((X, np.array([3, 4])), kind, f"{tmp_path}/sample", AGES)
    if kind == "npy":
        assert np.load(path).tolist() == [[1.0, 0.1, 3.0], [2.0, -2.5e-300, 4.0]]
    else:
        table = pandas.read_parquet(path)
        assert [*table.columns] == ["age", "score", "sex"]
        assert table["sex"].tolist() == [3, 4]


def test_a_cube_is_for_npy_alone(tmp_path: Path) -> None:
    cube = np.arange(8).reshape(2, 2, 2)
    assert np.array_equal(np.load(write_sample(cube, "npy", f"{tmp_path}/sample")), cube)
    with pytest.raises(UsageError, match=r"rows of shape \(2, 2\) are no row of a table: give .* \{sample.npy\}"):
        write_sample(cube, "csv", f"{tmp_path}/sample")


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ("people.csv#sex", AGES),
        ("people.csv#age", Names(("score", "sex"), "age")),
        ("people.csv", Names(("age", "score", "sex"))),
        ("flip_labels(people.csv#sex, 0.1)", AGES),
        ("mixture(people.csv#sex, people.csv#sex, 0.5)", AGES),
        ("norm", None),
    ],
)
def test_a_file_has_names_for_its_columns(
    spec: str, names: Names | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age,score,sex\n1,2,0\n3,4,1\n")
    assert names_in(load_source(spec)) == names
