"""Which code is the user's, and what a fresh Python needs to be told to find it."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path

import pytest
from support.requests import cell_of

from auditor.sources.source import load_source
from auditor.subjects.own_code import _installed_in_place, code_of, path_words, user_code

SEARCH = """
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2)
"""


def test_the_file_that_makes_an_estimator_is_its_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "made.py").write_text(SEARCH)
    cell = cell_of(f"{tmp_path}/made.py:search", "sklearn:load_iris", size=60)
    assert list(code_of(user_code(cell, load_source(cell.source))).files) == ["made.py"]


def test_what_others_have_imported_of_a_package_is_not_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package holds its modules as soon as anybody imports them; what a run does depends on what it imports."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "one_package").mkdir()
    for name, text in (("__init__", ""), ("mine", "from one_package import used"), ("used", ""), ("other", "")):
        (tmp_path / "one_package" / f"{name}.py").write_text(text)
    mine = importlib.import_module("one_package.mine")
    before = code_of([mine])
    assert [*before.files] == ["one_package/__init__.py", "one_package/mine.py", "one_package/used.py"]
    importlib.import_module("one_package.other")
    assert code_of([mine]) == before


def test_a_name_that_a_module_has_is_not_a_file_of_the_same_name_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in (("asks", "from answers import another"), ("answers", "another = 1"), ("another", "")):
        (tmp_path / f"{name}.py").write_text(text)
    assert [*code_of([importlib.import_module("asks")]).files] == ["answers.py", "asks.py"]


def test_a_version_is_that_of_what_is_installed_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    place = tmp_path / "site-packages"
    place.mkdir()
    monkeypatch.syspath_prepend(place)
    (tmp_path / "who_asks.py").write_text("import of_two_versions")
    (place / "of_two_versions.py").write_text("")
    for number in ("1.0", "2.0"):
        for old in place.glob("*.dist-info"):
            shutil.rmtree(old)
        (place / f"of_two_versions-{number}.dist-info").mkdir()
        about = f"Metadata-Version: 2.1\nName: of_two_versions\nVersion: {number}\n"
        (place / f"of_two_versions-{number}.dist-info" / "METADATA").write_text(about)
        importlib.invalidate_caches()
        assert code_of([importlib.import_module("who_asks")]).versions == {"of_two_versions": number}


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module on the path, for a reason that no command line knows."""
    (tmp_path / "lib with a space").mkdir()
    (tmp_path / "lib with a space" / "mean_of_elsewhere.py").write_text("def mean(sample, r): return 1\n")
    monkeypatch.syspath_prepend(tmp_path / "lib with a space")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path / "lib with a space"


def words() -> str:
    cell = cell_of("mean_of_elsewhere:mean", "norm", size=10)
    return path_words(cell, load_source(cell.source))


def test_a_folder_on_the_path_is_named_as_it_is_seen_from_here(
    elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert words() == f"PYTHONPATH='{elsewhere}' "
    monkeypatch.chdir(tmp_path)
    assert words() == "PYTHONPATH='lib with a space' "
    monkeypatch.setenv("PYTHONPATH", f"{elsewhere}:/other")
    assert words() == "PYTHONPATH='lib with a space':$PYTHONPATH "
    monkeypatch.chdir(elsewhere)
    assert words() == ""


@pytest.mark.parametrize("line", ["{}", "lib with a space"])
def test_what_an_editable_install_has_named_is_found_anyway(
    line: str, elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its whole name, or as it is seen from the folder of the install; files that cannot be read name nothing."""
    (tmp_path / "gone.pth").symlink_to(tmp_path / "nowhere")
    (tmp_path / "mine.pth").write_text(f"import os\n\n{line.format(elsewhere)}\n")
    monkeypatch.setattr("site.getsitepackages", lambda: [str(tmp_path)])
    monkeypatch.setattr("auditor.subjects.own_code._installed_in_place", _installed_in_place.__wrapped__)
    assert words() == ""
