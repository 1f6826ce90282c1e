"""Are lists, JSON lines and anything with items data sets, read once, and handed out in memory of their own?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.requests import audit, bench_of

import auditor
from auditor.cli.command_line import run
from auditor.errors import SourceError, UnknownTruth, UsageError
from auditor.randomness import from_key, root_key
from auditor.sources.frames import bytes_of, columns_of
from auditor.sources.items import read_items, size_of
from auditor.sources.source import as_sources, load_dataset

TEXTS = ["a good film", "a bad film", "good", "bad: never again", "so-so (at best)"]
EDGES = [(0, 1), (1, 2), (2, 0), (2, 3)]
NESTED = [{"id": i, "tags": ["x"] * i, "y": i % 2} for i in range(6)]


def rng() -> np.random.Generator:
    return from_key(root_key(4))


class Items:
    """What a data set of torch is: a length and items. It counts how often an item is read."""

    def __init__(self, n: int = 6) -> None:
        self.n, self.read = n, 0

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, place: int) -> tuple[Any, int]:
        self.read += 1
        return np.full((2, 2), place), place % 2


@pytest.mark.parametrize(
    ("data", "first"),
    [
        (TEXTS, "a good film"),
        (EDGES, (0, 1)),
        (NESTED, {"id": 0, "tags": [], "y": 0}),
        ([1.5, 2.5], 1.5),
        ([[1, 2], [3, 4]], [1, 2]),
        ([[1, 2], [3]], [1, 2]),
        (range(5), 0),
        ((i * i for i in range(5)), 0),
        (iter(EDGES), (0, 1)),
        (dict.fromkeys("ab").keys(), None),
        (np.zeros((4, 3, 3)), [[0.0] * 3] * 3),
    ],
)  # fmt: skip
def test_what_has_items_is_a_data_set(data: Any, first: Any) -> None:
    if first is None:  # a view of keys has an order, but is a set to everybody
        with pytest.raises(UsageError, match="whose order changes"):
            load_dataset(data, "bootstrap")
        return
    source = load_dataset(data, "bootstrap")
    sample = source.draw(rng(), 7)
    assert len(sample) == 7
    assert type(sample) is type(source.rows)
    row = source.rows[0]
    assert (row.tolist() if isinstance(row, (np.ndarray, np.generic)) else row) == first


def test_items_are_read_once_and_a_row_that_is_drawn_twice_is_two() -> None:
    items = Items()
    seen: list[Any] = []

    def learner(sample: Any, r: Any) -> int:
        seen.append((type(sample), type(sample[0]), len({id(x) for x, _ in sample})))
        sample[0][0][:] = 9
        return 0

    record = audit(learner, items, size=20)
    assert (record.verdict, record.source) == ("pass", "6 rows of data")
    assert items.read == 6
    assert set(seen) == {(list, tuple, 20)}
    assert "changes-sample" in [one.kind for one in record.findings]


def test_a_row_is_copied_so_that_no_run_sees_another() -> None:
    source = load_dataset(NESTED, "bootstrap")
    for row in source.draw(rng(), 20):
        row["tags"].append("new")
    assert [len(row["tags"]) for row in NESTED] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("source", "count"),
    [
        (None, 0),
        (["norm", "uniform"], 2),
        (["bernoulli(0.4)", "bernoulli(0.5)"], 2),
        (["nrom", "unifrom"], 2),
        (["data.csv#y"], 1),
        (["mine:draw", "sklearn:load_iris"], 2),
        ([np.zeros(3), np.ones(3)], 2),
        ([(np.zeros((3, 1)), [0, 1, 0])], 1),
        ([rng], 1),
        (["a good film"], 1),
        (["norm", "a good film"], 2),
        (TEXTS, None),
        (["cat", "dog", "horse"], None),
        (EDGES, None),
        ([("a", "b"), ("b", "c")], None),
        (NESTED, None),
        ([1, 2, 3], None),
        ([(np.zeros(2), 1), (np.ones(2), 0)], None),
    ],
)
def test_a_list_is_rows_unless_a_source_is_in_it(source: Any, count: int | None) -> None:
    found = as_sources(source)
    assert len(found) == (1 if count is None else count)
    assert (count is None) == (source is not None and len(found) == 1 and found[0] is source)


def test_a_list_of_texts_in_python_and_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def longest(sample: list[str], r: Any) -> int:
        return max(map(len, sample)) // 100

    assert audit(longest, TEXTS).verdict == "pass"
    (tmp_path / "texts.py").write_text(f"TEXTS = {TEXTS!r}\ndef longest(s, r): return max(map(len, s)) // 100\n")
    monkeypatch.chdir(tmp_path)
    assert run(["check", "texts.py:longest", "--source", "texts.py:TEXTS"]) == 0


def test_json_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, NESTED)) + "\n\n")
    source = load_dataset("rows.jsonl", "bootstrap")
    assert source.rows == NESTED
    assert source.columns == ("id", "tags", "y")
    x, y = load_dataset("rows.jsonl#y", "strata").rows
    assert (x[5], y.tolist()) == ({"id": 5, "tags": ["x"] * 5}, [0, 1, 0, 1, 0, 1])
    assert load_dataset("rows.jsonl#id", "groups(y)").way.ids.tolist() == [0, 1]  # type: ignore[attr-defined]
    table = load_dataset("rows.jsonl", "bootstrap", "pandas").rows
    assert columns_of(table) == ("id", "tags", "y")
    assert load_dataset("rows.jsonl#y", "bootstrap", "polars").rows[1].to_list() == [0, 1, 0, 1, 0, 1]
    Path("plain.jsonl").write_text('"one"\n"two"\n[1, 2]\n')
    assert load_dataset("plain.jsonl", "bootstrap").rows == ["one", "two", [1, 2]]
    (tmp_path / "learner.py").write_text("def tags(s, r): return max(len(row['tags']) for row in s) > 9\n")
    assert run(["check", "learner.py:tags", "--source", "rows.jsonl", "--size", "30"]) == 0


@pytest.mark.parametrize(
    ("text", "spec", "words"),
    [
        ('{"a": 1}\n{"a": }\n', "bad.jsonl", "line 2 is no JSON"),
        ('{"a": 1}\n{"a": NaN}\n', "bad.jsonl", "line 2 is no JSON"),
        ('{"a": 1}\n' + "[" * 100_000, "bad.jsonl", "line 2 is no JSON"),
        ('{"a": 1}\n', "bad.jsonl", "two rows or more, and it has 1"),
        ("", "bad.jsonl", "two rows or more, and it has 0"),
        ('{"a": 1, "b": 2}\n{"a": 1}\n', "bad.jsonl#b", "row 2 has no 'b'"),
        ('{"a": 1, "b": 2}\n{"a": 1}\n', "bad.jsonl#c", "no column 'c'; it has a, b"),
        ("1\n2\n", "bad.jsonl#c", "only dicts have a 'c', and not all lines are: leave #c out"),
        ('{"a": 1}\n{"a": 2}\n', "bad.jsonl#a", "no column is left beside 'a'"),
    ],
    ids=range(9),
)
def test_bad_json_lines_get_a_sentence(tmp_path: Path, text: str, spec: str, words: str) -> None:
    (tmp_path / "bad.jsonl").write_text(text)
    with pytest.raises(UsageError, match=re.escape(words)):
        load_dataset(f"{tmp_path}/{spec}", "bootstrap")


def test_json_lines_are_no_arrays_and_a_table_takes_dicts(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('"a"\n"b"\n')
    with pytest.raises(UsageError, match=r"--as numpy: the rows of .* are no rows of numbers"):
        load_dataset(f"{tmp_path}/rows.jsonl", "bootstrap", "numpy")
    with pytest.raises(UsageError, match="--as pandas takes lines that are dicts, and not all of them are"):
        load_dataset(f"{tmp_path}/rows.jsonl", "bootstrap", "pandas")


def test_an_endless_source_ends_at_the_memory_that_it_may_take() -> None:
    def endless() -> Iterator[str]:
        while True:
            yield "x" * 100_000

    with pytest.raises(UsageError, match=r"its first 1,000 rows take 0\.1 GB, and 0\.05 GB are .*, or raise --memory"):
        read_items(endless(), "endless", 50_000_000)
    with pytest.raises(UsageError, match=r"rows take .* GB are allowed: draw from fewer rows, or raise --memory"):
        audit(lambda sample, r: 0, endless(), memory="300M")


class Broken(Items):
    def __getitem__(self, place: int) -> Any:
        raise KeyError("gone")


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (Broken(), SourceError, "source Broken raised KeyError: 'gone' when row 0 was read"),
        ({1, 2, 3}, UsageError, "source set is a set, whose order changes: give sorted(set)"),
        (iter(()), UsageError, "gave 0 rows: an iterator can be gone through once; give a list"),
        (range(1), UsageError, "a data set needs two rows or more"),
        (object(), UsageError, "must be a spec such as 'bernoulli(0.5)', or a function fn(rng, size)"),
        ((1, 2, 3), UsageError, "a tuple as a source is (X, y), and this one has 3 parts"),
    ],
)
def test_what_cannot_be_read_gets_a_sentence(data: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        audit(lambda sample, r: 0, data, size=3)


def test_the_law_of_a_list_is_not_known_and_its_size_is_about_right() -> None:
    with pytest.raises(UnknownTruth, match="its rows are a list, and not an array"):
        load_dataset(TEXTS, "bootstrap").expect(len)
    assert size_of({"a": [np.zeros(1000)]}) > 8000
    assert bytes_of(["x" * 1000] * 5000) > 5_000_000


def test_a_learner_that_wants_a_sample_and_an_estimator_of_texts() -> None:
    pipeline = pytest.importorskip("sklearn.pipeline")
    text = pytest.importorskip("sklearn.feature_extraction.text")
    bayes = pytest.importorskip("sklearn.naive_bayes")
    model = pipeline.make_pipeline(text.CountVectorizer(), bayes.MultinomialNB())
    films = [*TEXTS, "a good film"]
    record = auditor.audit(model, (films, [1, 0, 1, 0, 1, 1]), size=40, rho=0.6, second_process=False)
    assert record.verdict in ("pass", "fail")
    bench = bench_of(model, (films, [1, 0, 1, 0, 1, 1]), size=40)
    assert bench.view.numbers == (0, 1, 2, 3, 4), "a text that comes twice is one point"
