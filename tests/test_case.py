"""Does a case hold all that a trial depends on? Every test goes through the fields of the struct itself."""

from __future__ import annotations

import functools
import re
import shlex
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import fields, replace
from support.requests import case_of_first, cell_of, request_of

import auditor
from auditor.case import FIELDS, IN_PYTHON, Case, case_from
from auditor.cli.command_line import run
from auditor.errors import NotComparable, UsageError
from auditor.flow.question import find_question
from auditor.flow.run import run_options_of
from auditor.request import Request
from auditor.subjects.estimators import Fit
from auditor.trials.cell import Cell, source_of
from auditor.trials.identity import identity, replay_command

USERS = ("compare", "history", "baseline", "replay", "resume")
CASE = Case(target="m:f", source="norm", size=3)
LEARNER = """
import numpy as np
def learn(sample, r, width=1.0): return float(np.mean(sample)) // width
def own(sample, r, private): return 0
def draw(rng, size): return rng.normal(size=size)
"""


def other(field: msgspec.structs.FieldInfo) -> Any:
    """Return a value of the field's own type that it does not have in CASE."""
    was = getattr(CASE, field.name)
    if isinstance(was, dict):
        return {"x": "1"}
    if isinstance(was, tuple):
        return ("x",)
    if isinstance(was, (int, float)):
        return was + 1
    return 7 if field.name in ("memory", "scale") else f"{was or ''}x"


@pytest.mark.parametrize("field", fields(Case), ids=lambda field: field.name)
def test_every_field_changes_the_key_and_survives_json(field: msgspec.structs.FieldInfo) -> None:
    changed = replace(CASE, **{field.name: other(field)})
    assert changed.key() != CASE.key()
    assert case_from(msgspec.json.decode(msgspec.json.encode(changed.to_json()))) == changed


@pytest.mark.parametrize("field", fields(Case), ids=lambda field: field.name)
def test_a_difference_is_named_unless_the_table_allows_it(field: msgspec.structs.FieldInfo) -> None:
    changed = replace(CASE, **{field.name: other(field)})
    for user in USERS:
        said = CASE.differs(changed, user)
        assert bool(said) == (user not in FIELDS[field.name].may_differ_for), (field.name, user)
        assert not CASE.differs(CASE, user)


def test_the_table_has_every_field_and_knows_no_other_user() -> None:
    assert tuple(FIELDS) == Case.__struct_fields__
    assert {user for field in FIELDS.values() for user in field.may_differ_for} <= {*USERS}
    assert not any("resume" in field.may_differ_for for field in FIELDS.values()), "a resumed audit is the same audit"


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ({"atol": 1.0}, {}, "--atol: 1 and none"),
        ({"params": {"k": "2", "a": "'x'"}}, {}, "--param: a='x' k=2 and none"),
        ({"files": {"a.py": "1", "b.py": "1"}, "code": "1"}, {"files": {"a.py": "2", "c.py": "1"}, "code": "2"},
         "a.py (it has changed), b.py (imported only in the first), c.py (imported only in the second)"),
        ({"versions": {"numpy": "1.26"}}, {"versions": {"numpy": "2.0"}}, "numpy: 1.26 and 2.0"),
        ({"code": "1"}, {"code": "2"}, "the subject's own file (it has changed)"),
        ({"as_": "pandas"}, {"as_": "polars"}, "--as: pandas and polars"),
        ({"view": "v" * 200}, {"view": "v" * 201}, f"--view: {'v' * 200} and {'v' * 200}..."),
    ],
)  # fmt: skip
def test_what_is_said_of_a_difference(was: dict[str, Any], now: dict[str, Any], said: str) -> None:
    assert ", ".join(replace(CASE, **was).differs(replace(CASE, **now), "resume")) == said


def test_argv_leaves_out_what_nobody_has_to_say() -> None:
    assert CASE.argv() == ["m:f", "--source", "norm", "--size", "3"]
    assert CASE.argv({"source": "norm", "size": 3, "view": "round(1)"}) == ["m:f", "--view", "output"]
    plain = {"private": "unshared", "resample": "bootstrap", "on_error": "bottom", "memory": 7, "question": "churn"}
    assert replace(CASE, **plain).argv() == CASE.argv()
    every = {"sample": "counts", "resample": "split", "as_": "pandas", "view": "predict", "probe": 5, "atol": 0.5}
    every |= {"rtol": 0.25, "private": "shared", "seed": 2, "params": {"k": "1"}, "randomness": "int"}
    words = "--sample counts --resample split --as pandas --view predict --probe 5 --atol 0.5 --rtol 0.25"
    words = f"m:f --source norm --size 3 {words} --private shared --seed 2 --param k=1 --randomness int"
    assert replace(CASE, **every).argv() == words.split()


@pytest.mark.parametrize("field", ["target", "source", "view", "params"])
@pytest.mark.parametrize("mark", [IN_PYTHON, "0" * 32])
def test_what_only_python_reaches_has_no_argv(field: str, mark: str) -> None:
    value: Any = f"f {mark}"
    case = replace(CASE, **{field: {"k": value} if field == "params" else value})
    assert case.argv() is None
    assert mark not in " ".join(CASE.differs(case, "resume"))


# How a user changes each field: the options that do it, over those that both audits have; or why no option does.
TABLE, TREE = "table.csv#y", "sklearn.tree:DecisionTreeClassifier"
CHANGED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "params": ({}, {"params": {"width": 2.0}}),
    "randomness": ({}, {"randomness": "int"}),
    "private": ({"subject": "learner.py:own"}, {"private": "shared"}),
    "source": ({}, {"source": "uniform"}),
    "size": ({}, {"size": 4}),
    "sample": ({"subject": "algorithms.statistical_query:rstat", "source": "bernoulli(0.5)"}, {"sample": "counts"}),
    "resample": ({"source": TABLE}, {"resample": "groups(a)"}),
    "as_": ({"source": TABLE}, {"as_": "pandas"}),
    "view": ({}, {"view": "round(1)"}),
    "probe": ({"subject": TREE, "source": TABLE}, {"probe": 5}),
    "atol": ({}, {"atol": 0.5}),
    "rtol": ({}, {"rtol": 0.5}),
    "scale": ({"subject": TREE, "source": TABLE}, {"scale": 2.0}),
    "score": ({"subject": TREE, "source": TABLE}, {"score": "accuracy"}),
    "seed": ({}, {"seed": 1}),
    "on_error": ({}, {"on_error": "bottom"}),
    "memory": ({}, {"memory": "1G"}),
}
BY_NO_OPTION = {
    "question": "it is the command",
    "target": "it is the command's argument",
    "code": "the file of the subject has it",
    "files": "the subject's imports have them",
    "settings": "the subject's closure, defaults and settings have them",
    "view_code": "the file of the view has it",
    "score_code": "the file of the score has it",
    "versions": "what is installed",
    "source_code": "the file of the source has it",
    "data": "the file of the source has it",
    "probe_data": "the file of the probe has it",
    "path": "the question has it",
}
NOT_REPLAYED = ("on_error", "memory")  # a replay shows what a run raises, and takes no limits


def test_every_field_can_be_changed_or_says_why_not() -> None:
    assert {*CHANGED} | {*BY_NO_OPTION} == {*Case.__struct_fields__}
    assert not {*CHANGED} & {*BY_NO_OPTION}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "learner.py").write_text(LEARNER)
    rows = [f"{i % 7},{i % 5},{i % 2}" for i in range(40)]
    (tmp_path / "table.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def settled(request: Request) -> tuple[Cell, Case]:
    inquiry = find_question(request.question).begin(request)
    return inquiry.cells[0], case_of_first(inquiry, run_options_of(request))


def asked(**options: Any) -> Request:
    given = {"subject": "learner.py:learn", "source": "norm", "size": 3, **options}
    return request_of(given.pop("subject"), given.pop("source"), "rho", **given)


@pytest.mark.parametrize("field", CHANGED)
def test_an_option_changes_its_own_field_and_the_replay_command_carries_it(
    folder: Path, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that a report prints is parsed and settled again, and comes to the same case."""
    common, change = CHANGED[field]
    _, was = settled(asked(**common))
    cell, now = settled(asked(**common, **change))
    apart = {name for name in Case.__struct_fields__ if getattr(was, name) != getattr(now, name)}
    assert apart == ({"as_", "data"} if field == "as_" else {field})  # the rows of another library are other rows
    if field in NOT_REPLAYED:
        return
    command = replay_command(cell, source_of(cell), 0)
    assert command is not None
    heard: list[Request] = []
    monkeypatch.setattr("auditor.cli.commands.check._show_again", lambda request, *_: heard.append(request) or 0)
    assert run(shlex.split(command)[3:]) == 0
    assert settled(heard[0])[1] == now


def command_of(subject: Any, source: Any = None, **options: Any) -> str | None:
    cell = cell_of(subject, source, **options)
    return replay_command(cell, source_of(cell), 3)


def test_a_replay_command_leaves_out_what_the_subject_declares() -> None:
    rstat, check = "algorithms.statistical_query:rstat", "python -m auditor check"
    assert command_of(rstat) == f"{check} {rstat} --replay 3"
    changed = {"source": "bernoulli(0.2)", "size": 2000, "sample": "counts"}
    words = "--source 'bernoulli(0.2)' --size 2000 --sample counts"
    assert command_of(rstat, **changed) == f"{check} {rstat} {words} --replay 3"
    cell = cell_of(rstat)
    assert replay_command(replace(cell, command=None), source_of(cell), 3) is None, "no command line has its trials"


def test_what_only_this_process_can_reach_has_no_replay_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def typed(sample: Any, r: Any) -> int:
        return 1

    typed.__module__, typed.__qualname__ = "__main__", "typed"
    monkeypatch.setattr(sys.modules["__main__"], "typed", typed, raising=False)
    assert named(typed).target == f"typed {IN_PYTHON}", "its name leads back to it, here alone"
    assert command_of(typed, "norm", size=3) is None
    assert command_of(by_keyword, lambda rng, size: rng.normal(size=size), size=3) is None
    lock = threading.Lock()
    assert command_of(lambda sample, r: 0 if lock else 1, "norm", size=3) is None, "nor one without an identity"


@pytest.mark.parametrize(
    ("field", "file", "options"),
    [
        ("code", "learner.py", {}),
        ("data", "table.csv", {"source": TABLE}),
        ("probe_data", "table.csv", {"subject": TREE, "source": "sklearn:load_iris", "probe": TABLE}),
    ],
)  # fmt: skip
def test_a_file_changes_its_field(folder: Path, field: str, file: str, options: dict[str, Any]) -> None:
    was = settled(asked(**options))[1]
    with (folder / file).open("a") as end:
        end.write("# more\n" if file.endswith(".py") else "3,3,1\n")
    now = settled(asked(**options))[1]
    assert getattr(was, field) != getattr(now, field)
    assert was.differs(now, "resume")


def keyed_by(k: float) -> dict[str, Any]:
    """Return objects that no name leads to, each holding k."""

    class Holder:
        def __call__(self, sample: Any, r: Any) -> float:
            return self.k

    one = Holder()
    one.k = k  # type: ignore[attr-defined]
    return {
        "subject": lambda sample, r: k,
        "object": one,
        "partial": functools.partial(by_keyword, k=k),
        "source": lambda rng, size: k * rng.normal(size=size),
        "view": lambda output: k * output,
        "param": [lambda: k],
    }


def by_keyword(sample: Any, r: Any, *, k: Any = None) -> Any:
    return k


def named(fn: Any = by_keyword, source: Any = "norm", **options: Any) -> Case:
    return settled(request_of(fn, source, "rho", size=3, **options))[1]


@pytest.mark.parametrize("kind", keyed_by(1))
def test_objects_without_a_name_are_told_apart_by_what_they_hold(kind: str) -> None:
    def case(k: float) -> Case:
        one = keyed_by(k)[kind]
        if kind in ("source", "view"):
            return named(**{kind: one})
        return named(params={"k": one}) if kind == "param" else named(one)

    assert case(1) == case(1), "the same object, made twice"
    for user in ("resume", "history", *(["compare"] if kind in ("source", "view") else [])):
        (said, *_) = case(1).differs(case(2), user)
        assert "0x" not in said
        assert not re.search("[0-9a-f]{32}", said), said


def test_what_nothing_tells_from_another_has_no_case_and_no_ledger(tmp_path: Path) -> None:
    lock = threading.Lock()
    fn = lambda sample, r: 0 if lock else 1  # noqa: E731
    assert auditor.audit(fn, "norm", size=3).case is None
    with pytest.raises(UsageError, match=r"--ledger .*lock"):
        auditor.audit(fn, "norm", size=3, ledger=str(tmp_path / "x.sqlite"))


def test_what_a_named_object_holds_counts_too(folder: Path) -> None:
    (folder / "model.py").write_text(
        "from pathlib import Path\nfrom sklearn.tree import DecisionTreeClassifier\n"
        "held = int(Path('held.txt').read_text())\n"
        "tree = DecisionTreeClassifier(max_depth=held)\ndef fit(sample, r, *, k=held): return k\n"
    )
    cases: dict[str, list[Case]] = {"model.py:tree": [], "model.py:fit": []}
    for held in (1, 1, 2):
        (folder / "held.txt").write_text(str(held))
        for target, found in cases.items():
            found.append(settled(asked(subject=target, source=TABLE))[1])
        for name in [name for name in sys.modules if name.startswith("_model_")]:
            del sys.modules[name]
    for one, again, other in cases.values():
        assert one == again
        assert one.differs(other, "resume") == ["the values that the subject holds (they have changed)"]
        assert not one.differs(other, "history"), "a later version of it"


def test_a_comparison_refuses_another_source_or_view_but_not_another_subject(folder: Path) -> None:
    (folder / "measure.py").write_text("import helper\ndef draw(rng, size): return helper.draw(rng, size)\n")
    helper = "def draw(rng, size): return rng.normal(size=size)\ndef see(output): return round(output)\n"
    (folder / "helper.py").write_text(helper)

    def cases() -> list[Case]:
        for name in [name for name in sys.modules if name.startswith(("_learner_", "_measure_", "helper"))]:
            del sys.modules[name]
        pairs = (("measure.py:draw", "output"), ("learner.py:draw", "output"), ("norm", "helper.py:see"))
        return [settled(asked(source=source, view=view))[1] for source, view in pairs]

    before = cases()
    (folder / "learner.py").write_text(LEARNER.replace("// width", "// width + 1"))
    assert [was.differs(now, "compare") for was, now in zip(before, cases(), strict=True)] == [[], [], []]
    (folder / "helper.py").write_text(helper.replace("normal", "uniform"))
    said = [was.differs(now, "compare") for was, now in zip(before, cases(), strict=True)]
    assert said == [["the source's code (it has changed)"], [], ["the view's code (it has changed)"]]
    (folder / "learner.py").write_text(LEARNER.replace("normal", "uniform"))
    assert before[1].differs(cases()[1], "compare") == ["the source's code (it has changed)"]


def test_the_same_files_by_another_path_are_the_same(folder: Path) -> None:
    case = settled(asked(source=TABLE))[1]
    for place in ("./", f"{folder}/", f"../{folder.name}/"):
        again = settled(asked(subject=f"{place}learner.py:learn", source=f"{place}{TABLE}"))[1]
        assert all(not case.differs(again, user) for user in USERS)
    (folder / "other").mkdir()
    (folder / "other/table.csv").write_text("a,b,y\n1,2,3\n2,3,4\n3,4,5\n")
    assert any("--source" in said for said in case.differs(settled(asked(source="other/table.csv#y"))[1], "history"))


class Unruly:
    """An estimator whose settings nobody can look at."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def fit(self, x: Any, y: Any = None) -> Unruly:
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        raise self.error


@pytest.mark.parametrize("error", [SystemExit(3), ValueError("no"), RecursionError()])
def test_an_object_that_raises_when_it_is_looked_at_has_no_identity(error: BaseException) -> None:
    with pytest.raises(NotComparable, match=f"raised {type(error).__name__}"):
        identity(Fit(Unruly(error)))
