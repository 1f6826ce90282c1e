"""A record in MLflow, against a store of files."""

from __future__ import annotations

import builtins
import json
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.records import failed, hostile

from auditor.errors import UsageError
from auditor.flow.record import as_record
from auditor.integrations.mlflow import log


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    state = random.getstate()  # it draws its runs' names from there
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, at import and about stores of files
        found = pytest.importorskip("mlflow")
        before = found.get_tracking_uri()
        found.set_tracking_uri((tmp_path / "store").as_uri())
        yield found
        found.set_tracking_uri(before)
    random.setstate(state)


def test_numbers_texts_and_files_of_a_record_are_in_the_active_run(mlflow: Any, tmp_path: Path) -> None:
    record = failed()
    with mlflow.start_run() as run:
        assert log(record) == run.info.run_id
    data = mlflow.get_run(run.info.run_id).data
    assert data.metrics["auditor.rho"] == record.measures[0].estimate
    assert data.metrics["auditor.rho.high"] == record.measures[0].high
    assert data.metrics["auditor.mismatches"] == record.mismatches
    assert data.params["auditor.subject"] == record.subject
    assert data.params["auditor.size"] == str(record.size)
    assert data.tags["auditor.verdict"] == "fail"
    folder = Path(mlflow.artifacts.download_artifacts(run_id=run.info.run_id, dst_path=str(tmp_path))) / "auditor"
    assert as_record(json.loads((folder / "record.json").read_bytes())) == as_record(record.to_dict())
    assert (folder / "page.html").read_text().startswith("<!doctype html>")


def test_without_an_active_run_it_is_one_of_its_own_and_the_prefix_is_the_callers(mlflow: Any) -> None:
    data = mlflow.get_run(log(failed(), prefix="nightly")).data
    assert mlflow.active_run() is None
    assert data.tags["nightly.verdict"] == "fail"


def test_whatever_a_subject_says_can_be_logged(mlflow: Any) -> None:
    data = mlflow.get_run(log(hostile())).data
    assert data.params["auditor.source"].startswith("<script>")


def test_without_mlflow_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def none(name: str, *rest: Any) -> Any:
        if name == "mlflow":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", none)
    with pytest.raises(UsageError, match="pip install mlflow-skinny"):
        log(failed())
