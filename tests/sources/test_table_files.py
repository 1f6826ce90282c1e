"""Files as tables: what --as says, what a pipeline that names columns gets, and what a file is told to add."""

from __future__ import annotations

import importlib.util
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from support.requests import audit, bench_of, case_of_first, cell_of, inquiry_of

from auditor.cli.command_line import run
from auditor.cli.config import read_config, settle
from auditor.cli.pytest_plugin import _check_accepted
from auditor.errors import BadValue, UsageError
from auditor.sources.datasets import read_file
from auditor.sources.frames import kind_of_table
from auditor.sources.source import load_source
from auditor.trials.identity import replay_command

CSV = "age,city,day,label\n" + "".join(
    f"{20 + i if i % 7 else ''},{'abc'[i % 3] if i % 5 else ''},2020-01-{1 + i % 28:02},{int(i > 20)}\n"
    for i in range(42)
)


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(CSV)
    pandas.read_csv(path, parse_dates=["day"]).astype({"city": "category"}).to_parquet(tmp_path / "people.parquet")
    return path


def kind(sample: Any, r: Any) -> str:
    return str([kind_of_table(part) for part in sample] if isinstance(sample, tuple) else kind_of_table(sample))


def tree(*columns: Any) -> Any:
    words = OneHotEncoder(handle_unknown="ignore")
    choose = ColumnTransformer([("words", words, columns[0]), ("numbers", SimpleImputer(), columns[1])])
    return make_pipeline(choose, DecisionTreeClassifier(max_depth=1))


by_name = tree(["city"], ["age"])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_is_read_as_what_is_asked_for_holes_and_all(csv: Path, suffix: str) -> None:
    place = csv.with_suffix(f".{suffix}")
    for name, library in (("pandas", pandas), ("polars", polars)):
        source = read_file(f"{place}#label", "bootstrap", name)
        x, y = source.rows
        assert type(x) is library.DataFrame
        assert type(y) is library.Series
        assert [*x.columns] == ["age", "city", "day"]
        assert source.columns == ("age", "city", "day", "label")
        assert [*y] == [int(i > 20) for i in range(42)]
        drawn, labels = source.draw(np.random.default_rng(1), 200)
        ages = np.array(drawn["age"].to_numpy(), dtype=float)
        assert 0 < np.isnan(ages).sum() < 200
        assert ((ages > 40) == (np.array(labels) == 1))[~np.isnan(ages)].all()
        assert kind_of_table(read_file(str(place), "bootstrap", name).rows) == f"{name} DataFrame"
    with pytest.raises(UsageError, match=r"no value for|has missing values"):
        read_file(str(place), "bootstrap", "numpy")
    with pytest.raises(UsageError, match=r"no column 'lable' \(did you mean label\?\); it has age, city, day, label"):
        read_file(f"{place}#lable", "bootstrap", "pandas")
    frame = read_file(str(csv.with_suffix(".parquet")), "bootstrap", "pandas").rows
    assert frame["day"].dtype.kind == "M"
    assert frame["city"].dtype == "category"


@pytest.mark.parametrize("name", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n3\n", "line 3 has 1 cells, and the header has 2"),
        ("a,b\n1,2,3\n4,5,6\n", "line 2 has 3 cells"),
        ("a,a\n1,2\n3,4\n", "two columns 'a'"),
        ("a;b\n1;2\n3;4\n", "separated by semicolons"),
        ("a,b\n1,2\n", "needs two rows or more"),
        ("a,b\n", "a header and two rows are the least"),
        ("\n", "a header and two rows are the least"),
        ('a,b\n"1,2\n3,4\n', "is no csv"),
    ],
)
def test_a_csv_that_is_none_gets_the_same_sentence_as_a_table(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(UsageError, match=words):
        read_file(str(tmp_path / "bad.csv"), "bootstrap", name)


def test_an_empty_line_is_no_row(tmp_path: Path) -> None:
    (tmp_path / "gap.csv").write_text("a,b\n1,2\n\n3,4\n")
    assert read_file(str(tmp_path / "gap.csv"), "bootstrap", "pandas").count == 2
    with pytest.raises(UsageError, match="where there are 2 rows of 2 columns: take empty lines out"):
        read_file(str(tmp_path / "gap.csv"), "bootstrap", "polars")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + bytes(200) + b"PAR1")
    with pytest.raises(UsageError, match="cannot be read as parquet"):
        read_file(str(tmp_path / "bad.parquet"), "bootstrap", "polars")


def test_as_is_one_option_wherever_it_is_written(csv: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = "['pandas DataFrame', 'pandas Series']"
    spec = f"{csv}#label"
    record = audit(f"{__name__}:kind", spec, as_="pandas", size=5, fixed=29)
    assert (record.verdict, record.asked["as"]) == ("pass", "pandas")
    assert audit(kind, spec, **{"as": "polars"}, size=5).verdict == "pass"
    assert bench_of(kind, spec, as_="pandas", size=5).run(0, 0) == said
    words = ["check", f"{__name__}:kind", "--source", spec, "--as", "pandas", "--size", "5"]
    assert run([*words, "--json", str(tmp_path / "r.json")]) == 0
    assert json.loads((tmp_path / "r.json").read_text())["asked"]["as"] == "pandas"
    capsys.readouterr()
    assert run([*words, "--replay", "1"]) == 0
    assert "pandas DataFrame" in capsys.readouterr().out
    assert run(["replay", str(tmp_path / "r.json"), "--pair", "1", "--trust"]) == 0
    assert "pandas DataFrame" in capsys.readouterr().out
    (tmp_path / "pyproject.toml").write_text(
        f"[[tool.auditor.subject]]\ntarget = '{__name__}:kind'\nsource = '{spec}'\nas = 'polars'\n"
    )
    config = read_config(tmp_path / "pyproject.toml")
    ((_, inquiry),) = settle(config, config.entries, {})
    assert inquiry.cells[0].as_ == "polars"


def test_as_belongs_to_the_case_and_to_the_replay_command(csv: Path) -> None:
    spec = f"{csv}#label"
    for how in ("pandas", "polars"):
        inquiry = inquiry_of(f"{__name__}:kind", spec, as_=how, size=5)
        source = load_source(inquiry.cells[0].source)
        command = replay_command(inquiry.cells[0], source, 3)
        assert command is not None
        assert shlex.split(command)[-4:] == ["--as", how, "--replay", "3"]
        assert case_of_first(inquiry).as_ == how


def test_as_is_refused_where_it_says_nothing(csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadValue, match=r"must be one of pandas, polars, columns, numpy \(did you mean pandas\?\)"):
        cell_of(kind, str(csv), as_="panda")
    with pytest.raises(UsageError, match="--as pandas is for csv and parquet files: norm is handed over as it is"):
        cell_of(kind, "norm", as_="pandas", size=5)
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in ("pandas", "polars") else find(name))
    with pytest.raises(UsageError, match="--as pandas needs pandas, which is not installed: pip install pandas"):
        cell_of(kind, str(csv), as_="pandas")
    with pytest.raises(
        UsageError, match="a pipeline that names columns takes data frames, and pandas is not installed"
    ):
        cell_of(by_name, f"{csv}#label")


def test_a_pipeline_that_names_columns_is_given_a_frame(csv: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = f"{csv}#label"
    search = GridSearchCV(by_name, {"decisiontreeclassifier__max_depth": [1]}, cv=2)
    selected = tree(make_column_selector(dtype_include=object), make_column_selector(dtype_include=np.number))
    boosted = HistGradientBoostingClassifier(categorical_features=["city"])
    for estimator in (by_name, search, selected, boosted, tree("city", ["age"]), tree(slice("city", "city"), ["age"])):
        assert cell_of(estimator, spec).as_ == "pandas", estimator
    for estimator in (tree([1], [0]), DecisionTreeClassifier(), HistGradientBoostingClassifier()):
        with pytest.raises(UsageError, match="no value for 'age': drop or fill them first, or say --as pandas"):
            cell_of(estimator, spec)
    assert cell_of(by_name, spec, as_="polars").as_ == "polars"
    bench = bench_of(by_name, spec, probe=20)
    assert {*bench.see(bench.run(0, 0)).tolist()} == {0, 1}
    assert run(["check", f"{__name__}:by_name", "--source", spec, "--replay", "0"]) == 0
    assert "pair 0" in capsys.readouterr().out.lower()


def test_labels_that_are_missing_are_asked_for_by_the_columns_there_are(csv: Path) -> None:
    words = r"learns from labels, and .*people\.csv has none: add the column that has them, .*people\.csv#label; the "
    words += "columns are age, city, day, label"
    with pytest.raises(UsageError, match=words):
        audit(by_name, str(csv))
    with pytest.raises(UsageError, match=words):
        audit(DecisionTreeClassifier, str(csv), as_="pandas")
    with pytest.raises(UsageError, match=r"and 42 rows of data has none: give \(X, y\)"):
        audit(DecisionTreeClassifier, pandas.read_csv(csv))


def test_an_index_with_a_name_is_a_column(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"a": [1, 2, 3]}, index=pandas.Index([7, 8, 9], name="id"))
    frame.to_parquet(tmp_path / "named.parquet")
    frame.rename_axis(None).to_parquet(tmp_path / "unnamed.parquet")
    assert read_file(str(tmp_path / "named.parquet"), "bootstrap", "pandas").columns == ("id", "a")
    assert read_file(str(tmp_path / "unnamed.parquet"), "bootstrap", "pandas").columns == ("a",)


def test_a_mark_takes_it_by_either_name() -> None:
    for name in ("as_", "as"):
        _check_accepted({name: "pandas"})
    with pytest.raises(UsageError, match=r"as_it=\.\.\.\) is no option"):
        _check_accepted({"as_it": "pandas"})
