"""Rows and sources as people give them in Python: what is a data set, and what is refused with which sentence."""

from __future__ import annotations

import datetime
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.requests import audit

from auditor.errors import SourceError, UsageError
from auditor.sources.source import as_sources

TABLE = pd.DataFrame({"x": np.arange(60.0) % 7})


class Pairs:
    """A data set as those of torch: each item has the features and the label."""

    def __len__(self) -> int:
        return 20

    def __getitem__(self, place: int) -> tuple[Any, int]:
        return np.full(3, place), place % 2


def rows(sample: Any, r: Any) -> int:
    return len(sample)


def labels(X: Any, y: Any, seed: int) -> int:
    return len(y)


ONE_DATA_SET = {
    "decimals": [Decimal(one) for one in range(9)],
    "dates": [datetime.date(2020, 1, day) for day in range(1, 10)],
    "mixed": [1, "two words", None, 2.0],
    "missing": [None] * 5,
    "objects": [object() for _ in range(5)],
}


@pytest.mark.parametrize("name", ONE_DATA_SET)
def test_a_list_without_a_source_in_it_is_one_data_set(name: str) -> None:
    given = ONE_DATA_SET[name]
    assert as_sources(given) == [given]
    assert audit(rows, given, rho=0.5).cells[0].source == f"{len(given)} rows of data"


def locked(rng: Any, size: int) -> Any:
    return [threading.Lock() for _ in range(size)]


def test_rows_that_cannot_be_copied_are_refused_with_the_name_of_their_source() -> None:
    record = audit(rows, locked, size=5)
    assert record.verdict == "error"
    assert "locked: its rows cannot be copied" in record.reason
    with pytest.raises(SourceError, match=r"source 2 rows of data: its rows cannot be copied.*lock.*: draw numbers"):
        audit(rows, [{"a": threading.Lock()}, {"a": threading.Lock()}], size=5)


def test_a_list_of_sources_is_several_and_paths_are_files(tmp_path: Path) -> None:
    (file := tmp_path / "data.csv").write_text("x\n1\n2\n3\n")
    assert as_sources(file) == [str(file)]
    assert as_sources([file, "norm"]) == [str(file), "norm"]
    for several in (["norm", "expon"], [TABLE, TABLE], [np.arange(3), np.arange(4)], [rows, rows], [Pairs(), Pairs()]):
        assert as_sources(several) == several
    assert audit(rows, file, rho=0.5).verdict == "pass"


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "nothing": ([], {}, "the source is an empty list: give rows, or sources"),
    "one text": (["a"], {}, "has no distribution 'a'"),
    "a tuple": (("a", "b", "c"), {}, r"a tuple as a source is \(X, y\), and this one has 3 parts: give rows as a list"),
    "a number": (5, {}, r"source 5 must be a spec such as 'bernoulli\(0.5\)', or a function"),
    "columns of two lengths": ({"x": [1, 2, 3], "y": [1, 2]}, {}, "its columns differ in length: 'x' 3, 'y' 2"),
    "masked values": (np.ma.masked_less(np.arange(9.0), 3), {}, "has masked values: drop them, compressed"),
    "strata that are dicts": (
        TABLE.assign(s=[{"a": one % 2} for one in range(60)]),
        {"resample": "strata(s)"},
        r"--resample strata\(s\): 's' holds dict, and rows are sorted by it: make it numbers or words",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_source_says_so_before_it_asks_for_a_size(name: str) -> None:
    given, asked, words = REFUSED[name]
    with pytest.raises(UsageError, match=words):
        audit(rows, given, **asked)


def test_items_that_are_pairs_are_told_how_to_become_features_and_labels() -> None:
    with pytest.raises(UsageError, match=r"give a source of \(X, y\), such as X, y = zip\(\*items\) of items that are"):
        audit(labels, Pairs())
    features, found = zip(*(Pairs()[place] for place in range(20)), strict=True)
    assert audit(labels, ([*features], [*found]), rho=0.5).verdict == "pass"


def test_blocks_of_one_row_are_named_as_one_says_it() -> None:
    record = audit(rows, TABLE, resample="blocks(1)", rho=0.5)
    assert any("of 1 row on average" in one.message for one in record.findings if one.kind == "resampled")
