"""Help where people go wrong with a target: every sentence was met once."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from auditor.errors import UsageError
from auditor.questions.several import declared_in
from auditor.subjects.subject import load_subject

Command = Callable[..., tuple[int, str, str]]

LIB = """
from sklearn.linear_model import LinearRegression, Ridge
from math import sqrt

def rows(rng, size): return rng.random(size)
def learn_mean(sample, r): return 1
def clean(df): return df
def fit(X, y): return 1
def shy(sample, r=None, alpha=0.1): return 1
search = Ridge()

class Mine(LinearRegression):
    pass
"""


@pytest.fixture
def lib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "lib_of_ours.py").write_text(LIB)
    (tmp_path / "empty_lib.py").write_text("import math\nfrom math import sqrt\n")
    (tmp_path / "others_lib.py").write_text("def clean(df): return df\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("lib_of_ours.py", "lib_of_ours.py has learn_mean, shy, search, Mine: write lib_of_ours.py:learn_mean"),
        ("empty_lib.py", "no function of (sample, r) and no estimator: write def learn(sample, r) in it, and audit"),
        ("others_lib.py", "and no estimator; it has clean: write def learn(sample, r) in it"),
        ("lib_of_our.py", "(did you mean lib_of_ours.py?)"),
        ("sklearn.linear_model.Ridge", "sklearn.linear_model.Ridge has no colon: write sklearn.linear_model:Ridge"),
        ("sklearn.linear_model.Rigde", "sklearn.linear_model has no 'Rigde' (did you mean Ridge?)"),
        ("lib_of_ours.learn_mean", "has no colon: write lib_of_ours:learn_mean"),
        ("lib_of_ours.py.learn_mean", "has no colon: write lib_of_ours.py:learn_mean"),
        ("lib_of_ours.Mine.fit", "has no colon: write lib_of_ours:Mine"),
        ("lib_of_ours.py::learn_mean", "has two colons: write lib_of_ours.py:learn_mean"),
        ("lib_of_ours.py::Mine::fit", "has two colons: write lib_of_ours.py:Mine"),
        ("nowhere.at.all", "'nowhere.at.all' is not a registered subject: write module:function"),
    ],
)
def test_a_target_that_names_nothing_is_told_what_to_write(target: str, words: str, lib: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        load_subject(target)


def test_randomness_by_another_name_or_with_a_default_is_taken() -> None:
    def seed(sample: Any, seed: int = 0) -> int:
        return seed

    assert load_subject(seed).randomness == "int"


def test_a_module_without_subjects_says_what_it_has(lib: Path, command: Command) -> None:
    with pytest.raises(UsageError, match="lib_of_ours has learn_mean, shy, search, Mine: write lib_of_ours:learn_mean"):
        declared_in("lib_of_ours")
    code, _, said = command("check", "lib_of_ours", cwd=lib)
    assert (code, "declares no subjects, to be audited together; lib_of_ours has" in said) == (2, True)
    code, _, said = command("check", "lib_of_ours.py", "--source", "norm", cwd=lib)
    assert (code, "write lib_of_ours.py:learn_mean" in said, "Traceback" in said) == (2, True, False)
