"""How many hash seeds a learner is compared under, by what its own code says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from auditor.subjects.estimators import Fit
from auditor.subjects.subject import load_subject
from auditor.trials.causes.elsewhere import FEW, MANY, read_code

PLAIN = "def fit(sample, r):\n    return float(sample.mean())\n"


def seeds(folder: Path, text: str, **others: str) -> int:
    for name, words in {"learner": text, **others}.items():
        (folder / f"{name}.py").write_text(words)
    return read_code(load_subject(f"{folder}/learner.py:fit").fn).seeds


@pytest.mark.parametrize(
    "line",
    ["list(set(sample))", "max({1, 2})", "hash('a') % 7", "[*{x for x in sample}]", "a.keys() & b", "a.union(b)"],
)
def test_whoever_makes_a_set_or_a_hash_is_asked_under_many(line: str, tmp_path: Path) -> None:
    assert seeds(tmp_path, PLAIN) == FEW
    other = f"def other(sample, a, b):\n    return {line}\n"
    assert seeds(tmp_path, f"{PLAIN}    other(sample)\n{other}") == MANY
    assert (
        seeds(
            tmp_path,
            f"{PLAIN}    return Model().fit(sample)\nclass Model:\n    fit = lambda self, x: other(x)\n{other}",
        )
        == MANY
    )
    assert seeds(tmp_path, f"{PLAIN}{other}") == FEW  # for somebody else


def test_so_is_whoever_imports_one_of_its_own_that_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    late = "def fit(sample, r):\n    import vocabulary_of_mine\n    return vocabulary_of_mine.words(sample)\n"
    assert seeds(tmp_path, late, vocabulary_of_mine="def words(x):\n    return [*set(x)]\n") == MANY
    assert seeds(tmp_path, late, vocabulary_of_mine="def words(x):\n    return [*x]\n") == FEW


def test_of_an_estimator_its_parts_count(tmp_path: Path) -> None:
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    def through(text: str) -> Any:
        (tmp_path / "learner.py").write_text(text)
        step = FunctionTransformer(load_subject(f"{tmp_path}/learner.py:fit").fn)
        return read_code(Fit(make_pipeline(step, LinearRegression()))).seeds

    assert read_code(Fit(LinearRegression())).seeds == FEW
    assert through(PLAIN) == FEW
    assert through(f"WORDS = [*set('ab')]\n{PLAIN}") == MANY


def test_what_cannot_be_read_is_asked_under_many_and_libraries_are_those_that_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_code(eval).seeds == MANY
    text = "def fit(sample, r):\n    import numpy, statsmodels.api\n    return 1\n"
    (tmp_path / "late.py").write_text(text)
    monkeypatch.delitem(sys.modules, "statsmodels.api", raising=False)  # as if no other test had loaded it
    assert read_code(load_subject(f"{tmp_path}/late.py:fit").fn).libraries == {"numpy"}
