from __future__ import annotations

import importlib.util
import json
import re
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from support.requests import audit, bench_of

import auditor
from auditor.cli.command_line import run
from auditor.cli.config import read_config, settle
from auditor.errors import BadValue, SourceError, UnknownTruth, UsageError
from auditor.randomness import from_key, root_key
from auditor.report.terminal import as_text
from auditor.sources.source import load_dataset, load_source
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper
from auditor.trials.trial import run_pair

pytestmark = pytest.mark.usefixtures("little_advice")

IID = ("bootstrap", "split", "subsample")  # the ways for rows that are i.i.d.


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

    record = audit(spy, f"{csv}#label", resample="split", fixed=40)
    assert (record.size, record.resample) == (20, "split")
    # The first three pairs are run in the preflight, each with a run that repeats its first.
    first = [seen[3 * index : 3 * index + 2] for index in range(3)]
    pairs = np.array([*first, *np.array(seen[-74:]).reshape(37, 2, 20)])
    assert all(sorted([*first, *second]) == list(range(40)) for first, second in pairs.tolist())
    assert len({tuple(first) for first in pairs[:, 0].tolist()}) == 40
    seen.clear()
    record = audit(spy, f"{csv}#label", resample="subsample", size=20, fixed=40, accept_overlap=True)
    assert all(len(set(sample)) == 20 for sample in seen[-74:])
    assert len({tuple(sample) for sample in seen[-74:]}) > 69


def test_sizes_default_to_the_rows_there_are_and_are_bounded(csv: Path) -> None:
    assert audit(majority, f"{csv}#label").size == 40
    assert audit(majority, f"{csv}#label", resample="split").size == 20
    with pytest.raises(BadValue, match="more than --resample split can take of 40 rows: 20"):
        audit(majority, f"{csv}#label", resample="split", size=21)
    with pytest.raises(BadValue, match=r"must be one of bootstrap, split, .* \(did you mean split\?\)"):
        audit(majority, f"{csv}#label", resample="spilt")
    with pytest.raises(UsageError, match="--resample split is for data sets"):
        audit(majority, "norm", size=10, resample="split")


def test_there_is_no_third_half() -> None:
    """Nothing hands out a sample that is short, or empty."""
    source = load_dataset(np.arange(40.0), "split")
    assert [len(source.draw_part(rng(), 20, which)) for which in (0, 1)] == [20, 20]
    with pytest.raises(SourceError, match="has 40 rows: no part 2 of 20 rows is left"):
        source.draw_part(rng(), 20, 2)


@pytest.fixture(scope="module")
def exact() -> ModuleType:
    """benchmarks/resampling.py, which has the rates of a majority vote as sums."""
    place = Path(__file__).parents[2] / "benchmarks" / "resampling.py"
    spec = importlib.util.spec_from_file_location("resampling", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("rows", "size", "p"), [(40, 19, 0.5), (400, 39, 0.6), (400, 9, 0.6)])
def test_what_is_said_of_each_resampling_is_so(exact: ModuleType, rows: int, size: int, p: float) -> None:
    """Exactly: over files split has the rate of fresh samples, and subsample less."""
    truth = exact.population(size, p)
    means = {how: exact.over_files(how, rows, size, p)[0] for how in IID}
    print(f"fresh {truth:.4f}, {means}")
    assert means["split"] == pytest.approx(truth, abs=1e-9)
    assert means["subsample"] < truth
    chance, rates = binom.pmf(np.arange(rows + 1), rows, p), exact.rates("split", rows, size)
    off = np.sqrt(np.log(2 / 0.05) / (2 * (rows // (2 * size))))
    assert off < 1 or rows == 40, "of one pair nothing is said"
    assert chance[np.abs(rates - truth) > off].sum() <= 0.05, "as far off as the report says, and no further"


@pytest.mark.parametrize("how", IID)
def test_an_audit_measures_the_rate_that_its_resampling_has(exact: ModuleType, how: str) -> None:
    """On a file of 400 rows, half of them ones: 0.5, 0.9602 and 0.5, exactly. False alarm 1e-6 each."""
    file, n = np.arange(400) % 2, 600
    options = {"size": 199, "resample": how, "accept_overlap": True}
    bench = bench_of(exact.majority, file, **options)
    k = sum(run_pair(bench, i).difference is not None for i in range(n))
    truth = float(exact.rates(how, 400, 199)[200])
    low, high = clopper_pearson_lower(n, k, 5e-7), clopper_pearson_upper(n, k, 5e-7)
    print(f"{how}: {k} of {n}, in [{low:.4f}, {high:.4f}], exact {truth:.4f}")
    assert low <= truth <= high


def test_the_report_says_what_a_resampling_estimates_and_which_way_it_errs() -> None:
    def constant(sample: Any, r: Any) -> int:
        return 0

    words = {
        "bootstrap": ("info", "may differ more often, since here both .* or less often, if it matters that"),
        "split": (
            "info",
            r"neither too low nor too high, within 0\.43 of it in 95 % .* at most 10 have no row in common",
        ),
        "subsample": ("warning", r"share 0\.05 of their rows on average.*: rho tends to come out too low"),
    }
    for how, (severity, said) in words.items():
        record = audit(constant, np.arange(400.0), size=20, resample=how, accept_overlap=True)
        (finding,) = [finding for finding in record.findings if finding.kind == "resampled"]
        assert finding.severity == severity
        assert re.search(said, finding.message), finding.message
        assert "these 400 rows" in finding.message
        assert finding.message in " ".join(as_text(record, verbose=True).split())
    halves = load_dataset(np.arange(400.0), "split").words(200, 0.95)
    assert "but one may be far off; pairs are not independent of each other, since at most 1 have" in halves


def test_a_verdict_on_samples_that_share_rows_is_asked_for_by_name(csv: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"source": f"{csv}#label", "resample": "subsample"}
    with pytest.raises(
        UsageError, match=r"rho tends to come out too low: use --resample split or bootstrap, .* --accept-overlap"
    ):
        audit(majority, **asked)
    with pytest.raises(UsageError, match="--accept-overlap"):
        audit(majority, **asked, eta=0.1, nu=0.1)
    with pytest.raises(UsageError, match="--accept-overlap"):
        audit(majority, [load_dataset(f"{csv}#label", "subsample")])
    with pytest.raises(UsageError, match="--accept-overlap"):
        audit(majority, [f"{csv}#label", load_dataset(f"{csv}#label", "subsample")])
    assert audit(majority, **asked, accept_overlap=True).verdict == "pass"
    assert auditor.replay(majority, **asked, pair=0).difference is None
    (tmp_path / "pyproject.toml").write_text(
        "[[tool.auditor.subject]]\ntarget = 'algorithms.controls:constant'\nresample = 'subsample'\n"
        f"source = '{csv}#label'\naccept_overlap = true\n"
    )
    config = read_config(tmp_path / "pyproject.toml")
    ((_, inquiry),) = settle(config, config.entries, {})
    assert inquiry.cells[0].resample == "subsample"


def test_the_command_line_wants_the_word_for_a_verdict_and_not_for_a_replay(
    csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["check", "algorithms.controls:constant", "--source", f"{csv}#label", "--resample", "subsample"]
    assert run(words) == 2
    assert "accept it with --accept-overlap" in " ".join(capsys.readouterr().err.split())
    assert run([*words, "--accept-overlap", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["resample"] == "subsample"
    assert run([*words, "--replay", "0"]) == 0


def test_arrays_are_data_sets_too() -> None:
    data = (np.arange(20.0).reshape(10, 2), np.array([0, 1] * 5))
    record = audit(majority, data, rho=0.9)
    assert (record.size, record.source, record.resample) == (10, "10 rows of data", "bootstrap")
    with pytest.raises(UsageError, match="missing values"):
        audit(majority, (np.array([1.0, np.nan]), np.array([0, 1])))
    with pytest.raises(UsageError, match="as many labels"):
        audit(majority, (np.ones(3), np.ones(2)))
    with pytest.raises(UnknownTruth, match=r"not i\.i\.d\. rows"):
        load_dataset(data, "split").law()


def test_a_data_set_can_be_counted() -> None:
    def label_mean(sample: auditor.Sample, r: Any) -> float:
        return round(sample.mean(lambda rows: rows[1]), 3)

    data = (np.arange(10.0).reshape(5, 2), np.array([0, 1, 1, 1, 1]))
    record = audit(label_mean, data, size=10**12, sample="counts")
    assert record.verdict == "pass"


CUT = """class Cut:
    def __init__(self, at=1.0):
        self.at = at

    def fit(self, X, y):
        self.cut_ = self.at * X[:, 0].mean()
        return self

    def predict(self, X):
        return X[:, 0] > self.cut_
"""


def test_the_replay_command_of_a_data_set_leads_back(csv: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (csv.parent / "cut.py").write_text(CUT)
    arguments = ["check", f"{csv.parent}/cut.py:Cut", "--source", f"{csv}#label", "--resample", "split"]
    assert run([*arguments, "--probe", "50", "--param", "at=0.9"]) == 1
    out = capsys.readouterr().out
    command = next(line for line in out.splitlines() if line.startswith("python -m auditor check"))
    assert run(shlex.split(command)[3:]) == 0
    assert "DIFFERENT" in capsys.readouterr().out
