"""A record where people work: printed, as a dict, as a table of its trials, in a notebook."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import pandas as pd
import pytest
from support.records import constant, failed, labels
from support.requests import audit

from auditor.errors import UsageError
from auditor.flow.ledger_file import COLUMNS
from auditor.flow.record import Record, as_record, to_json
from auditor.report.terminal import as_text


def test_it_prints_as_the_terminal_shows_it() -> None:
    assert str(failed()) == as_text(failed())
    assert f"{failed()}".startswith("FAIL  ")
    assert repr(failed()).startswith("Record(")


def test_as_a_dict_it_is_what_json_has() -> None:
    assert failed().to_dict() == json.loads(to_json(failed()))
    assert as_record(failed().to_dict()) == as_record(json.loads(to_json(failed())))


def test_its_fragment_says_what_the_page_says_and_its_style_reaches_nothing_else() -> None:
    text = failed()._repr_html_()
    assert text.startswith('<div class="auditor">')
    assert "<script" not in text
    assert " id=" not in text
    style = text.partition("<style>")[2].partition("</style>")[0]
    bare = style.replace("\n", " ").split("}")
    selectors = [one.partition("{")[0].split("{")[-1].strip() for one in bare]
    ours = [name.strip() for one in selectors for name in one.split(",") if name.strip() and not one.startswith("@")]
    assert ours
    assert all(".auditor" in name for name in ours), [name for name in ours if ".auditor" not in name]


# Trials.


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Record:
    ledger = tmp_path_factory.mktemp("ledger") / "audits.sqlite"
    audit(constant, "norm", size=9, ledger=ledger, fixed=29)  # another, which is not to be taken for it
    audit(labels, "norm", size=9, ledger=ledger, fixed=30, seed=1)
    return audit(labels, "norm", size=9, ledger=ledger, fixed=40)


def test_all_trials_are_a_tidy_table_for_pandas_and_polars(kept: Record) -> None:
    columns = kept.trials()
    assert tuple(columns) == COLUMNS
    table = pd.DataFrame(columns)
    assert len(table) == kept.pairs == 40
    assert int(table["differs"].sum()) == kept.mismatches
    assert list(table["index"]) == list(range(40))
    first = table[table["differs"]].iloc[0]
    shown = kept.examples[0]
    assert (first["index"], first["left"]) == (shown.pair, shown.first_difference.left)
    assert set(table["seed"]) == {kept.cells[0].seed}
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(columns)["differs"].sum() == kept.mismatches


def test_a_record_from_its_file_knows_where_its_trials_are(kept: Record, tmp_path: Path) -> None:
    read = as_record(json.loads(to_json(kept)))
    assert read.trials() == kept.trials()
    assert kept.cost.kept is not None
    moved = tmp_path / "moved.sqlite"
    moved.write_bytes(Path(kept.cost.kept.ledger).read_bytes())
    assert read.trials(str(moved)) == kept.trials()


def test_what_came_out_before_is_told_of_the_same_question_alone(kept: Record) -> None:
    assert kept.cost.kept is not None
    assert len(kept.cost.kept.earlier) == 1
    (before,) = kept.cost.kept.earlier
    assert before.code_hash == kept.code_hash
    assert before.low <= (before.estimate or 0) <= before.high


def test_where_the_ledger_is_gone_there_is_a_sentence(kept: Record, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the ledger .*gone"):
        kept.trials(str(tmp_path / "gone.sqlite"))


# A notebook.

PAGE = Path(__file__).parents[2] / "docs" / "page.md"
CELLS = re.findall(r"```python\n(.*?)```", PAGE.read_text().partition("## In MLflow")[0], flags=re.DOTALL)


def test_a_notebook_shows_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the notebook's own parts
        nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
        where = {"metadata": {"path": str(tmp_path)}}
        nbclient.NotebookClient(book, timeout=60, kernel_name="python3", resources=where).execute()
    shown, table = (next(one for one in cell.outputs if one.output_type == "execute_result") for cell in book.cells)
    assert "<th>differs</th>" in table.data["text/html"]
    html = shown.data["text/html"]
    assert html.startswith('<div class="auditor">')
    assert "What was measured" in html
    assert "<mark>" in html
