"""Whatever code a message tells people to write is written here as printed, and run: it must train a learner."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import auditor
from auditor.errors import UsageError
from auditor.randomness import root_key
from auditor.subjects.subject import load_subject

ROOT = Path(auditor.__file__).parent
LIB = '''
import copy
import functools

seen = []

class Trained:
    """What a learner returns: it has learnt from as many rows, with such a seed."""

    def __init__(self):
        self.rows, self.labels, self.seed = 0, [], None

    def add(self, X, y=None):
        self.rows += len(X)
        self.labels += [] if y is None else list(y)
        return self

class Stream(Trained):
    def __init__(self, optimizer=None, loss=None):
        super().__init__()

    def learn_one(self, x, y):
        assert isinstance(x, dict) and len(x) == 2
        self.add([x], [y])

class Clusters(Trained):
    def learn_one(self, x):
        assert isinstance(x, dict)
        self.add([x])

class Batches(Trained):
    def __init__(self, depth, random_state=None):
        super().__init__()
        self.depth, self.seed = depth, random_state

    def partial_fit(self, X, y, classes=None):
        assert list(classes) == [0, 1]
        self.add(X, y)

class Loose(Trained):
    def partial_fit(self, X, y=None):
        self.add(X, y)

class Rows(Trained):
    def partial_fit(self, X):
        self.add(X)

class Outer:
    class Inner(Loose):
        pass

class Ols(Trained):
    """As statsmodels has them."""

    def __init__(self, endog, exog=None):
        super().__init__()
        self.add(exog, endog)

    def fit(self, method="pinv"):
        self.params = self
        return self

    def round(self, digits):
        return self

class Frame(Ols):
    def __init__(self, data, labels):
        super().__init__(labels, data)

class Density(Ols):
    def __init__(self, endog, kernel="gau"):
        super().__init__([], endog)

class Caller:
    def __call__(self, sample, r):
        return Trained().add(*sample)

stream, loose = Stream(), Loose()

def trained(X, y=None, seed=None):
    model = Trained().add(X, y)
    model.seed = seed
    return model

def clean(df): return trained(*df)
def scaled(df, factor=2.0): return trained(*df)
def seeded(df, *, random_state=None): return trained(*df, random_state)
def fit(X, y): return trained(X, y)
def fit_seeded(X, y, rng): return trained(X, y, int(rng.integers(2**32)))
def fit_deep(X, y, depth): return trained(X, y)
def by_name(*, X, y, seed): return trained(X, y, seed)
def by_name_alone(*, data): return trained(*data)
def randomness_first(rng, X): return trained(*X, int(rng.integers(2**32)))
class Holder:
    @staticmethod
    def fit_inside(X, y): return trained(X, y)
    def learn(self, sample, r): return trained(*sample, int(r.integers(2**32)))
class Silent(Trained):
    def __init__(self, factor=1.0, random_state=None):
        super().__init__()
        self.seed = random_state
    def fit(self, X, y): self.add(X, y)
doubled = functools.partial(Silent, factor=2.0)
'''
TARGETS = ("Caller", "Holder.learn", "doubled")
AS_THEY_ARE = (
    *("clean", "scaled", "seeded", "fit", "fit_seeded", "fit_deep", "by_name", "by_name_alone", "randomness_first"),
    *("Holder.fit_inside", "Stream", "Clusters", "Batches", "Loose", "Rows", "Outer.Inner", "stream", "loose"),
    *("Ols", "Frame", "Density"),
)
WITHOUT_LABELS = ("Clusters", "Rows", "Density")
SEEDED = ("Batches", "Holder.learn", "seeded", "fit_seeded", "by_name", "randomness_first")


@pytest.fixture(params=["lib_to_mend.py", "lib_to_import"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file of one's own, below whose last line the cure goes; and a module of somebody else's."""
    (tmp_path / "lib_to_mend.py").write_text(LIB)
    (tmp_path / "lib_to_import.py").write_text(LIB)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lib_to_import", raising=False)
    return str(request.param)


def cure_of(target: str) -> tuple[str, str, list[str]]:
    """The code that a refusal prints, where it is to be written, and the words that are to be typed then."""
    with pytest.raises(UsageError) as refused:
        load_subject(target)
    words = str(refused.value)
    block = re.search(r"\n\n((?:    .*\n|\n)+)\nand audit (\S+)((?: --param \w+=VALUE)*)$", words)
    line = re.search(r"a line below it, (.+), and audit (\S+)((?: --param \w+=VALUE)*)$", words)
    code, audited, given = (block or line).groups()  # type: ignore[union-attr]
    return dedent(code), audited, given.split()[1::2]


@pytest.mark.parametrize("name", TARGETS)
def test_a_cure_followed_word_for_word_trains_the_learner(name: str, place: str) -> None:
    code, audited, given = cure_of(f"{place}:{name}")
    compile(code, name, "exec")
    assert not given
    file, _, _ = audited.partition(":")
    mended = Path(f"mended_{name.replace('.', '_')}.py")  # under a name that was not loaded before
    mended.write_text((Path(file).read_text() if Path(file).exists() else "") + f"\n{code}\n")
    learns_afresh(f"{mended}:{audited.rpartition(':')[2]}", name, given)


@pytest.mark.parametrize("name", AS_THEY_ARE)
def test_functions_of_data_and_objects_that_learn_are_learners_as_they_are(name: str, place: str) -> None:
    learns_afresh(f"{place}:{name}", name, ["depth=VALUE"] if name in ("fit_deep", "Batches") else [])


def learns_afresh(target: str, name: str, given: list[str]) -> None:
    """Each run of a target has learnt from all rows and labels, with a seed that r decides if it takes one."""
    subject = load_subject(target, texts={one.partition("=")[0]: "2" for one in given})
    x, y = np.arange(10.0).reshape(5, 2), np.array([0, 1, 1, 0, 1])
    runs: list[Any] = [subject.run(x if name == "Density" else (x, y), root_key(key)) for key in (0, 0, 1)]
    for model in runs:  # each starts afresh
        assert model.rows == 5
        assert model.labels == ([] if name in WITHOUT_LABELS else y.tolist())
    seeds = [model.seed for model in runs]
    assert seeds[0] == seeds[1]
    assert (seeds[1] != seeds[2]) == (name in SEEDED)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("class Made:\n  def __init__(self, sample, r): pass", "is a class without fit, partial_fit and learn_one"),
        ("class Made:\n  def __init__(self, optimizer=None, loss=None): pass", "is a class without fit"),
        ("Made = dict", "is a class without fit"),
        ("import functools\nMade = functools.partial(functools.partial(dict), a=1)", "is a partial of the class dict"),
        ("class Base:\n  def learn(self, r): return 1\nMade = Base.learn", "is a method, and its object is missing"),
        ("class Made:\n  @staticmethod\n  def fit(X, y=None): return 1", "has a fit that is no method of an object"),
        ("Made = object()", "is object, not a function A(sample, r)"),
        ("def Made(): return 3", "has no parameter for the data; write def Made(sample, r)"),
        ("def Made(seed): return 3", "has no parameter for the data; write def Made(sample, r)"),
        ("def Made(*, random_state=0): return 3", "has no parameter for the data"),
        ("def Made(rng, size): return rng.random(size)", "it is a source; give it as --source made_here.py:Made"),
    ],
)
def test_what_would_train_nothing_is_refused(
    code: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("made_here.py").write_text(code)
    with pytest.raises(UsageError, match=re.escape(words)):
        load_subject("made_here.py:Made")


def test_a_method_of_a_class_with_fit_leads_to_the_class(place: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"audit the class, {place}:Silent, or a function of (sample, r)")):
        load_subject(f"{place}:Silent.fit")


def test_an_object_that_is_called_with_a_sample_and_r_stays_a_learner(tmp_path: Path) -> None:
    class Learner:
        def __call__(self, sample: Any, r: Any) -> int:
            return 1

        def learn(self, sample: Any, r: Any) -> int:
            return 2

    assert load_subject(Learner()).run([1], root_key(0)) == 1
    assert load_subject(Learner().learn).run([1], root_key(0)) == 2


def test_all_code_that_messages_print_is_in_the_module_whose_cures_are_run_here() -> None:
    """A message that prints a function with its body, or a lambda, anywhere else would be run by no test."""
    printed = re.compile(r"\bdef \w+\(.*\):|\blambda [\w, ]+:|\bclass \w+(\(\w+\))?:")
    quoted = re.compile(r"[\"'].*\b(def|lambda|class) ")
    files = [(file, file.read_text()) for file in ROOT.rglob("*.py")]
    for file, tree in ((file, ast.parse(text)) for file, text in files if quoted.search(text)):
        parents = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        docstrings = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, parents)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            if text not in docstrings and printed.search(text):
                assert file.name == "signature.py", f"{file}:{node.lineno} prints {text!r}"
