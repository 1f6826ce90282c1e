from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import auditor
from auditor.errors import BadValue, UnknownTruth, UsageError
from auditor.randomness import from_key, root_key
from auditor.sources import load_dataset, load_source


def rng() -> np.random.Generator:
    return from_key(root_key(3))


def majority(sample: Any, r: Any) -> int:
    return int(np.bincount(sample[1]).argmax())


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text("a,b,label\n" + "".join(f"{i},{i / 4},{int(i % 5 == 0)}\n" for i in range(40)))
    return path


def test_a_csv_with_a_label_column(csv: Path) -> None:
    source = load_dataset(f"{csv}#label", "bootstrap")
    x, y = source.rows
    assert (x.shape, y.shape, y.dtype.kind) == ((40, 2), (40,), "i")
    assert x[4].tolist() == [4.0, 1.0]
    assert load_dataset(str(csv), "bootstrap").rows.shape == (40, 3)
    assert source.expect(lambda rows: rows[1]) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n3\n", "line 3 has 1 cells, and the header has 2"),
        ("a,b\n1,\n3,4\n", "line 2 has no value for 'b'"),
        ("a,b\n1,NaN\n3,4\n", "line 2 has no value for 'b'"),
        ("a,b\n1,x\n3,4\n", "column 'b' mixes numbers and words such as 'x'"),
        ("a,b\n", "a header and two rows are the least"),
        ("a,b\n1,2\n", "needs two rows or more"),
    ],
)
def test_a_csv_with_holes_or_one_row_gets_a_clear_word(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(UsageError, match=words):
        load_source(str(tmp_path / "bad.csv"))


def test_npz_and_parquet(tmp_path: Path) -> None:
    x, y = np.arange(12.0).reshape(6, 2), np.arange(6)
    np.savez(tmp_path / "both.npz", X=x, y=y)
    np.savez(tmp_path / "one.npz", data=x)
    loaded: Any = load_dataset(str(tmp_path / "both.npz"), "bootstrap")
    assert (loaded.rows[0] == x).all()
    assert (loaded.rows[1] == y).all()
    assert load_dataset(str(tmp_path / "one.npz"), "bootstrap").rows.shape == (6, 2)
    np.savez(tmp_path / "objects.npz", X=np.array([{}, {}], dtype=object))
    with pytest.raises(UsageError, match="allow_pickle"):
        load_source(str(tmp_path / "objects.npz"))
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"a": [1.0, 2.0, 3.0], "y": [0, 1, 1]}), tmp_path / "t.parquet")
    assert load_dataset(f"{tmp_path / 't.parquet'}#y", "bootstrap").rows[1].tolist() == [0, 1, 1]
    pyarrow.parquet.write_table(pyarrow.table({"a": [1.0, None, 3.0]}), tmp_path / "holes.parquet")
    with pytest.raises(UsageError, match="column 'a' has missing values"):
        load_source(str(tmp_path / "holes.parquet"))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("nowhere.csv", "source 'nowhere.csv': No such file"),
        ("sklearn:load_irs", r"sklearn.datasets has no 'load_irs' \(did you mean load_iris\?\)"),
        ("sklearn:make_moons(noize=1)", "sklearn:make_moons"),
        ("sklearn:load_iris(__import__('os'))", "literal arguments"),
    ],
)
def test_unknown_data_gets_a_suggestion(spec: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_source(spec)


def test_an_unknown_label_column_gets_a_suggestion(csv: Path) -> None:
    with pytest.raises(UsageError, match=r"no column 'lable' \(did you mean label\?\); it has a, b, label"):
        load_source(f"{csv}#lable")


def test_a_generator_of_scikit_learns_is_one_population() -> None:
    first, second = (load_dataset("sklearn:make_classification(n_features=5)", "bootstrap") for _ in range(2))
    assert (first.rows[0] == second.rows[0]).all()
    assert first.rows[0].shape == (10_000, 5)
    assert load_dataset("sklearn:make_moons(n_samples=50, noise=0.1)", "bootstrap").count == 50


def test_bootstrap_draws_rows_with_their_labels(csv: Path) -> None:
    source = load_source(f"{csv}#label")
    x, y = source.draw(rng(), 500)
    assert ((x[:, 0] % 5 == 0) == y).all()
    assert len(np.unique(x[:, 0])) == 40


def test_split_gives_two_disjoint_halves_and_subsample_no_row_twice(csv: Path) -> None:
    seen: list[Any] = []

    def spy(sample: Any, r: Any) -> int:
        seen.append(sorted(sample[0][:, 0].tolist()))
        return 0

    record = auditor.audit(spy, f"{csv}#label", resample="split", fixed=40)
    assert (record.size, record.resample) == (20, "split")
    pairs = np.array(seen[-80:]).reshape(40, 2, 20)
    assert all(sorted([*first, *second]) == list(range(40)) for first, second in pairs.tolist())
    assert len({tuple(first) for first in pairs[:, 0].tolist()}) == 40
    seen.clear()
    record = auditor.audit(spy, f"{csv}#label", resample="subsample", size=20, fixed=40)
    assert all(len(set(sample)) == 20 for sample in seen)
    assert len({tuple(sample) for sample in seen[-80:]}) > 75


def test_sizes_default_to_the_rows_there_are_and_are_bounded(csv: Path) -> None:
    assert auditor.audit(majority, f"{csv}#label").size == 40
    assert auditor.audit(majority, f"{csv}#label", resample="subsample").size == 20
    with pytest.raises(BadValue, match="more than --resample split can take of 40 rows: 20"):
        auditor.audit(majority, f"{csv}#label", resample="split", size=21)
    with pytest.raises(BadValue, match=r"must be one of bootstrap, split, subsample \(did you mean split\?\)"):
        auditor.audit(majority, f"{csv}#label", resample="spilt")
    with pytest.raises(UsageError, match="--resample split is for data sets"):
        auditor.audit(majority, "norm", size=10, resample="split")


def test_arrays_are_data_sets_too() -> None:
    data = (np.arange(20.0).reshape(10, 2), np.array([0, 1] * 5))
    record = auditor.audit(majority, data, rho=0.9)
    assert (record.size, record.source, record.resample) == (10, "10 rows of data", "bootstrap")
    with pytest.raises(UsageError, match="missing values"):
        auditor.audit(majority, (np.array([1.0, np.nan]), np.array([0, 1])))
    with pytest.raises(UsageError, match="as many labels"):
        auditor.audit(majority, (np.ones(3), np.ones(2)))
    with pytest.raises(UnknownTruth, match=r"not i\.i\.d\. rows"):
        load_dataset(data, "split").law()


def test_a_data_set_can_be_counted() -> None:
    def label_mean(sample: auditor.Sample, r: Any) -> float:
        return round(sample.mean(lambda rows: rows[1]), 3)

    data = (np.arange(10.0).reshape(5, 2), np.array([0, 1, 1, 1, 1]))
    record = auditor.audit(label_mean, data, size=10**12, sample="counts")
    assert record.verdict == "pass"


def test_the_replay_command_of_a_data_set_leads_back(csv: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import shlex

    from auditor.command_line import run

    arguments = ["check", "sklearn.tree:DecisionTreeClassifier", "--source", f"{csv}#label", "--resample", "split"]
    assert run([*arguments, "--probe", "50", "--param", "max_depth=2"]) == 1
    out = capsys.readouterr().out
    command = next(line for line in out.splitlines() if line.startswith("python -m auditor check"))
    assert run(shlex.split(command)[3:]) == 0
    assert "DIFFERENT" in capsys.readouterr().out
