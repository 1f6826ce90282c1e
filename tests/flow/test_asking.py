"""Who asks what: questions by name and by their options, in Python; and one that somebody else registered."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import auditor
from auditor.errors import RENAMED, UsageError
from auditor.flow.question import check_table, find_question, registered_questions
from auditor.request import GROUPS

Command = Callable[..., tuple[int, str, str]]
pytestmark = pytest.mark.usefixtures("no_second_process")


def draw(rng: Any, size: int) -> Any:
    return rng.random(size)


def constant(sample: Any, r: Any) -> int:
    return 1


def scaled(sample: Any, r: Any, *, x: float = 1.0) -> bool:
    return bool(sample[0] < 0.02 * x)


def no_loss(output: Any, rows: Any) -> Any:
    return 0 * rows


@pytest.mark.parametrize(
    ("keywords", "question"),
    [
        ({}, "rho"),
        ({"measure": "rho", "pairs": 99}, "rho"),
        ({"eta": 0.2, "nu": 0.2}, "nu"),
        ({"eta": 0.2, "nu": 0.2, "runs": 12, "strings": 300, "seed": 1}, "nu"),
        ({"loss": no_loss}, "loss"),
        ({"loss": no_loss, "delta": 0.1, "rho": 0.2, "pairs": 200}, "loss"),
    ],
)
def test_the_options_choose_the_question_and_asking_by_name_gives_the_same(
    keywords: dict[str, Any], question: str
) -> None:
    by_options = auditor.audit(constant, draw, size=5, **keywords)
    by_name = auditor.ask(question, constant, draw, size=5, **keywords)
    assert by_options.question == question
    assert _told(by_options) == _told(by_name)


def _told(record: auditor.Record) -> Any:
    """All that may not differ between two runs of one plan."""
    document = msgspec.to_builtins(record)
    del document["cost"], document["environment"]
    for cell in document["cells"]:
        del cell["seconds"]
    return document


@pytest.mark.parametrize(
    ("ask", "complaint"),
    [
        (lambda: auditor.audit(constant, draw, eta=0.1, loss=no_loss), r"--\w+ does not go with --\w+: leave one"),
        (lambda: auditor.audit(constant, draw, eta=0.1, nu=0.1, rho=0.1), "--rho 0.1 does not go with --eta: use --nu"),
        (
            lambda: auditor.audit(constant, draw, sise=5),
            r"no option 'sise' \(did you mean size\?\): it takes size, sample",
        ),
        (
            lambda: auditor.audit(constant, draw, measure="chrn"),
            r"measure='chrn' must be one of rho, churn \(did",
        ),
        (
            lambda: auditor.ask("roh", constant, draw),
            r"there is no question 'roh' \(did you mean rho\?\): there are churn",
        ),
        (lambda: auditor.ask("nu", constant, draw, size=5, pairs=9), "nu has no option 'pairs'"),
        (
            lambda: auditor.ask("rho", constant, draw, size=5, measure="churn"),
            "measure='churn' is another question than 'rho'",
        ),
        (lambda: auditor.ask("curve", constant, draw), "curve needs --vary NAME=VALUES"),
        (lambda: auditor.ask("curve", constant, [draw, "norm"], vary="size=3,5"), "curve takes one source, and 2 were"),
        (lambda: auditor.ask("nu", constant, draw, size=5), "nu is asked about with --eta and --nu: add e.g. --eta"),
        (
            lambda: auditor.ask("curve", constant, draw, vary={"size": 3}),
            "vary={'size': 3} must be a text, or one name",
        ),
        (lambda: auditor.ask("curve", constant, draw, vary="size=3,5", worst="no"), "worst='no' must be True or False"),
        (lambda: auditor.ask("rho", constant, draw, size=5, family=0), "family=0 must be an integer of at least 1"),
        (lambda: auditor.ask(3, constant, draw), "there is no question 3: there are churn"),
        (lambda: auditor.ask("rho", constant, draw, params=3), "params=3 must be names with their values"),
        (lambda: auditor.ask("rho", constant, draw, params=None), "params=None must be names with their values"),
        (lambda: auditor.ask("rho", constant, draw, params={3: 1}), "has no parameter 3"),
        (lambda: auditor.ask("rho", constant, draw, size=5, ledger=3), "ledger=3 must be the path of a file"),
        (lambda: auditor.ask("rho", constant, draw, size=5, baseline=3), "baseline=3 must be a BaselineCounts"),
        (lambda: auditor.ask("rho", constant, draw, size=5, cluster=3), "cluster=3 must be a text"),
        (lambda: auditor.ask("rho", constant, draw, size=5, timeout="x"), "timeout='x' must be"),
        (lambda: auditor.replay(constant, draw, size=5, pair="x"), "pair='x' must be the number of a pair"),
        (lambda: auditor.replay(constant, draw, size=5, pair=0, cell=1), "cell=1 must be from 0 to 0: which source"),
    ],
)
def test_what_does_not_go_together_gets_a_sentence(ask: Callable[[], Any], complaint: str) -> None:
    with pytest.raises(auditor.AuditorError, match=complaint):
        ask()


def test_several_sources_are_a_list_and_rows_are_one_source() -> None:
    import numpy as np

    assert [cell.name for cell in auditor.audit(constant, [draw, "uniform"], size=5).cells] == ["draw", "uniform"]
    x, y = np.arange(40.0).reshape(20, 2), np.arange(20)
    for rows in ((x, y), x):
        assert len(auditor.audit(constant, rows, size=5).cells) == 1
    assert len(auditor.audit(constant, [(x, y), x], size=5).cells) == 2


def test_curve_and_price_take_functions_and_objects() -> None:
    curve = auditor.ask("curve", scaled, draw, size=5, vary={"x": [1, 10, 20]}, pairs=300)
    assert (curve.question, curve.verdict, curve.target, curve.pairs) == ("curve", "pass", None, 300)
    assert [cell.name for cell in curve.cells] == ["x=1", "x=10", "x=20"]
    typed = auditor.ask("curve", scaled, draw, size=5, vary="x=1,10,20", pairs=300)
    assert [cell.mismatches for cell in typed.cells] == [cell.mismatches for cell in curve.cells]
    price = auditor.ask("price", constant, draw, rho=0.2)
    assert (price.question, price.verdict) == ("price", "pass")


def test_in_python_one_process_runs_it_unless_more_are_asked_for() -> None:
    assert auditor.audit(constant, draw, size=5).cost.limits == {"jobs": 1}
    assert auditor.audit(constant, draw, size=5, jobs=None).cost.limits == {}


def test_every_option_of_check_has_words_and_a_heading_or_is_for_python_alone() -> None:
    table = check_table()
    assert {name for name, one in table.items() if one.group is None} == {"family", "baseline"}
    assert all(one.words and one.group in GROUPS for one in table.values() if one.group)
    for name in ("curve", "price", "reuse"):
        assert {"jobs", "ledger", "resume", "cluster"} <= set(find_question(name).Options.__struct_fields__)


THEIRS = '''
from dataclasses import dataclass
from typing import Annotated

import msgspec

from auditor.flow.parts import Facts, Words
from auditor.flow.plan import Plan
from auditor.flow.question import Answer, InquiryBase, Outlook, QuestionBase, Work
from auditor.flow.record import CellRow, Measure
from auditor.flow.verdict import Verdict
from auditor.request import SURE, Options, option
from auditor.subjects.subject import load_subject
from auditor.trials.cell import make_cell


class LoudOptions(Options, frozen=True, kw_only=True):
    trials: Annotated[int, option("Pairs to look at.", "N", SURE)] = 20
    shout: Annotated[bool, option("Say it loud.")] = False


class LoudAnswer(msgspec.Struct, frozen=True, tag_field="question", tag="loud"):
    said: str


@dataclass
class Listening(InquiryBase):
    cell: object
    plan: Plan
    shout: bool
    done: int = 0
    differing: int = 0

    @property
    def cells(self):
        return (self.cell,)

    def opened(self, cell, bench):
        self.bench = bench

    def next(self):
        return [Work(0, range(self.done, self.plan.budget))] if self.done < self.plan.budget else []

    def add(self, cell, trial):
        self.done += 1
        self.differing += trial.difference is not None
        return False

    def verdict(self):
        outcome = "fail" if self.differing else "pass"
        return Verdict(outcome, f"{self.differing} of {self.done} pairs were loud", "mismatches", 0.05)

    def answer(self):
        cell, share = self.cell, self.differing / max(1, self.done)
        limits = {"estimate": share, "low": 0.0, "high": 1.0, "confidence": self.plan.confidence}
        row = CellRow(name="", question="loud", source=self.bench.source.name, size=cell.size, seed=cell.seed,
                      pairs=self.done, mismatches=self.differing, **limits)
        measure = Measure(name="loudness", method="by ear", **limits)
        return Answer(LoudAnswer("LOUD" if self.shout else "loud"), [measure], [row])

    def outlook(self):
        return Outlook(self.done, self.plan.budget, "listening")


class Loud(QuestionBase):
    """Is TARGET loud?

    Example: python -m auditor loud module:fn --shout
    """

    name = "loud"
    Options = LoudOptions

    def begin(self, request):
        options = request.options
        subject = load_subject(request.subject, options.params, texts=request.texts, randomness=options.randomness)
        cell = make_cell("loud", subject, request.source, options)
        return Listening(cell, Plan(None, options.confidence, "fixed", options.trials), options.shout)

    def parts(self, record):
        yield Facts([("it said", msgspec.to_builtins(record.answer)["said"])])

    def again(self, bench, index):
        yield Words(f"pair {index} gave {bench.run(index, 0)}")
'''


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that, on the path, is an installed package with a question."""
    (tmp_path / "their_question.py").write_text(THEIRS)
    learners = "def rows(rng, size): return rng.random(size)\ndef one(sample, r): return 1\n"
    (tmp_path / "their_learner.py").write_text(learners)
    about = tmp_path / "theirs-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[auditor.questions]\nloud = their_question:Loud\nlost = nowhere:Nobody\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registered_questions.cache_clear()
    yield tmp_path
    registered_questions.cache_clear()
    for name in ("their_question", "their_learner"):
        sys.modules.pop(name, None)


def test_anybodys_question_is_a_command_with_its_options_and_its_record(theirs: Path, command: Command) -> None:
    _, listed, _ = command("--help", cwd=theirs, columns=100)
    assert "loud      Is TARGET loud?" in listed
    assert "lost" in listed  # nobody is asked before somebody needs it
    _, helped, _ = command("loud", "--help", cwd=theirs, columns=100)
    for words in ("Example: python -m auditor loud", "--shout", "Say it loud.", "--jobs", "--json", "How sure"):
        assert words in helped
    asked = ("loud", "their_learner:one", "--source", "their_learner:rows", "--size", "4", "--shout")
    how = ("--jobs", "1", "--ledger", "audits.sqlite")  # tests/test_questions_of_others.py has one with workers
    reports = ("--json", "record.json", "--junit", "out.xml", "--markdown", "out.md")
    code, said, complaint = command(*asked, *how, *reports, cwd=theirs)
    assert code == 0, complaint
    assert said.startswith("PASS  their_learner:one")
    assert "it said" in said
    record = json.loads((theirs / "record.json").read_bytes())
    assert (record["question"], record["schema"], record["verdict"]) == ("loud", "auditor.record/2", "pass")
    assert record["asked"] == {"source": ["their_learner:rows"], "size": 4, "shout": True}
    assert record["answer"] == {"question": "loud", "said": "LOUD"}
    assert all((theirs / name).read_bytes() for name in ("out.xml", "out.md"))
    assert "pair 3 gave 1" in command(*asked, "--replay", "3", cwd=theirs)[1]
    assert "pair 3 gave 1" in command("replay", "record.json", "--pair", "3", "--trust", cwd=theirs)[1]
    assert "pass" in command("history", "their_learner:one", cwd=theirs)[1]
    code, _, complaint = command("lost", "their_learner:one", cwd=theirs)
    assert code == 2
    assert "the question 'lost' cannot be loaded from nowhere:Nobody" in " ".join(complaint.split())


def test_anybodys_question_can_be_in_a_projects_file(theirs: Path, command: Command) -> None:
    entry = (
        '[[tool.auditor.subject]]\ntarget = "their_learner:one"\nsource = "their_learner:rows"\nsize = 4\n'
        'question = "loud"\n'
    )
    (theirs / "pyproject.toml").write_text(f"{entry}shout = true\n")
    assert command("gate", cwd=theirs)[0] == 0
    (theirs / "pyproject.toml").write_text(f"{entry}whisper = true\n")
    assert "unknown key 'whisper'" in command("gate", cwd=theirs)[2]


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_an_old_name_of_an_option_gets_the_new_one(
    old: str, new: str, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    code, _, err = command("check", "constant", f"--{old}", "1", cwd=tmp_path)
    assert (code, f"--{old} is called --{new.replace('_', '-')} now" in err) == (2, True)
    if new == "cell":
        return  # which goes with --replay, and only the command line has that
    with pytest.raises(UsageError, match=rf"has no option '{old}' \(it is called {new} now\)"):
        auditor.audit(constant, draw, **{old: 1})
