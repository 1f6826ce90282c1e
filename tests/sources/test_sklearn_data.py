"""What scikit-learn has fetched is drawn from; what it has not is a sentence, and nothing is downloaded."""

from __future__ import annotations

import gzip
import hashlib
import json
import urllib.request
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from auditor.errors import UsageError
from auditor.sources.frames import kind_of_table
from auditor.sources.source import load_dataset


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    "call",
    [
        "fetch_california_housing",
        "fetch_covtype(download_if_missing=True)",
        "fetch_20newsgroups",
        "fetch_rcv1",
        "fetch_olivetti_faces()",
        "fetch_openml('adult', version=2)",
    ],
)
def test_what_is_not_there_says_so_and_how_to_get_it(home: Path, call: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_dataset(f"sklearn:{call}", "bootstrap")
    words, name = str(caught.value), call.partition("(")[0]
    assert "its data are not on this machine" in words
    assert "an audit downloads nothing: have scikit-learn fetch them once" in words
    assert words.endswith(f"from sklearn.datasets import {name}; {call if '(' in call else f'{call}()'}")
    assert getattr(urllib.request, "_opener", None) is None, "whoever opens addresses can again"


def test_what_was_fetched_is_drawn_from(home: Path) -> None:
    joblib.dump(np.arange(20.0 * 9).reshape(20, 9) + 1, home / "cal_housing_py3.pkz", compress=6)
    x, y = load_dataset("sklearn:fetch_california_housing", "bootstrap").rows
    assert (x.shape, y.shape) == ((20, 8), (20,))
    framed = load_dataset("sklearn:fetch_california_housing(as_frame=True)", "bootstrap")
    assert kind_of_table(framed.rows) == "pandas DataFrame"
    assert "MedInc" in framed.columns


def test_openml_is_read_from_its_cache(home: Path) -> None:
    """The files that scikit-learn leaves after a download of its own."""
    _cached(home, "api/v1/json/data/7", {"data_set_description": _DESCRIPTION})
    _cached(home, "api/v1/json/data/features/7", {"data_features": {"feature": _FEATURES}})
    _cached(home, "api/v1/json/data/qualities/7", {"data_qualities": {"quality": []}})
    _cached(home, "data/v1/download/7/tiny.arff", _ARFF)
    source = load_dataset("sklearn:fetch_openml(data_id=7, as_frame=True, parser='liac-arff')", "bootstrap")
    assert source.columns == ("a",)
    assert source.rows[1].tolist() == ["x", "y", "x"]


_DESCRIPTION = {
    "id": "7",
    "name": "tiny",
    "version": "1",
    "format": "ARFF",
    "status": "active",
    "file_id": "7",
    "url": "https://www.openml.org/data/v1/download/7/tiny.arff",
    "default_target_attribute": "c",
}
_FEATURES = [
    {"index": "0", "name": "a", "data_type": "numeric", "is_target": "false", "is_ignore": "false"},
    {"index": "1", "name": "c", "data_type": "nominal", "is_target": "true", "is_ignore": "false"},
]
for _one in _FEATURES:
    _one["is_row_identifier"], _one["number_of_missing_values"] = "false", "0"
_ARFF = "@relation tiny\n@attribute a numeric\n@attribute c {x,y}\n@data\n1,x\n2,y\n3,x\n"
_DESCRIPTION["md5_checksum"] = hashlib.md5(_ARFF.encode()).hexdigest()


def _cached(home: Path, address: str, content: Any) -> None:
    file = home / "openml" / "openml.org" / f"{address}.gz"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    file.write_bytes(gzip.compress(text.encode()))


def test_no_source_says_where_pickles_are() -> None:
    with pytest.raises(UsageError, match="data_home is not for a source to say: set SCIKIT_LEARN_DATA instead"):
        load_dataset("sklearn:fetch_california_housing(data_home='elsewhere')", "bootstrap")


def test_frames_are_kept_where_they_are_asked_for() -> None:
    assert kind_of_table(load_dataset("sklearn:load_iris(as_frame=True)", "bootstrap").rows) == "pandas DataFrame"
    assert kind_of_table(load_dataset("sklearn:load_iris", "bootstrap").rows) is None
    with pytest.raises(UsageError, match=r"no 'fetch_californa_housing' \(did you mean fetch_california_housing\?\)"):
        load_dataset("sklearn:fetch_californa_housing", "bootstrap")
