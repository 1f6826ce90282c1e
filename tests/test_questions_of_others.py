"""What somebody else adds from outside the package: a question through its entry point, a source by the protocol."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from support.requests import ask, audit, timeless

import auditor
from auditor.errors import UsageError
from auditor.flow.question import registered_questions

Command = Callable[..., tuple[int, str, str]]

# The whole of a question: two runs on one sample, each with an r of its own, a fixed number of times, judged once.
QUESTION = '''
from collections.abc import Mapping
from dataclasses import dataclass
from msgspec.structs import replace
from typing import Annotated

import msgspec

from auditor.errors import BadValue
from auditor.flow.parts import Facts, Words
from auditor.flow.verdict import Plan
from auditor.flow.question import Answer, Inquiry, Outlook, Question, Work
from auditor.flow.record import Measure
from auditor.flow.verdict import Verdict
from auditor.questions.pairs import cell_row
from auditor.request import SURE, Options, option
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper
from auditor.values import first_difference
from auditor.subjects.subject import load_subject
from auditor.trials.cell import make_cell
from auditor.trials.trial import Trial


class LuckOptions(Options, frozen=True, kw_only=True):
    limit: Annotated[float, option("The share of samples that may have two answers.", "L", SURE)] = 0.1
    trials: Annotated[int, option("Samples, judged once.", "N", SURE)] = 40


class LuckAnswer(msgspec.Struct, frozen=True, tag_field="question", tag="luck"):
    lucky: int  # samples with two answers


def one_sample_two_r(bench, index, fell):
    """A trial: what it shows is payload, made where it ran."""
    sample = bench.draw(index, 0)
    first, second = (bench.settled(bench.run_on(sample, one, 0)) for one in (2 * index, 2 * index + 1))
    return Trial(index, first_difference(first, second), None, 0.0, payload={"sum": int(sample.sum())})


@dataclass
class LuckInquiry(Inquiry):
    cell: object
    plan: Plan
    done: int = 0
    lucky: int = 0
    bench: object = None

    @property
    def cells(self):
        return [self.cell]

    def opened(self, cell, bench):
        self.bench = bench

    def steps(self):
        [trials] = yield [Work(0, range(self.plan.budget))]
        for trial in trials:
            assert set(trial.payload) == {"sum"}
            self.done += 1
            self.lucky += trial.difference is not None

    def bounds(self):
        share = self.plan.alpha / 2
        if not self.done:
            return 0.0, 1.0
        return clopper_pearson_lower(self.done, self.lucky, share), clopper_pearson_upper(self.done, self.lucky, share)

    def verdict(self):
        low, high = self.bounds()
        limit = self.plan.target
        outcome = "pass" if high <= limit else "fail" if low > limit else "inconclusive"
        return Verdict(outcome, f"{self.lucky} of {self.done} samples have two answers", "mismatches", self.plan.alpha)

    def answer(self):
        low, high = self.bounds()
        limits = {"low": low, "high": high, "confidence": self.plan.confidence}
        estimate = self.lucky / self.done if self.done else None
        seen = {"count": self.lucky, "of": self.done}
        measure = Measure(name="luck", estimate=estimate, method="Clopper-Pearson", **seen, **limits)
        counts = {"pairs": self.done, "mismatches": self.lucky, "verdict": self.verdict().outcome}
        row = cell_row(self.cell, self.bench, **counts, **limits)
        return Answer(LuckAnswer(self.lucky), measures=[measure], rows=[row])

    def outlook(self):
        return Outlook(self.done, self.plan.budget, f"{self.lucky} of {self.done} are lucky")


class Luck(Question):
    """How often do two r give two answers on one sample?

    Example: python -m auditor luck mine:coin --limit 0.2
    """

    name = "luck"
    Options = LuckOptions
    instead: Mapping[str, str] = {"rho": "limit", "fixed": "trials"}

    def begin(self, request):
        options = request.options
        if not 0 < options.limit < 1:
            raise BadValue("limit", options.limit, "must be in (0, 1): the share that you accept, e.g. 0.1")
        subject = load_subject(request.subject, options.params, texts=request.texts, randomness=options.randomness)
        cell = make_cell("luck", subject, request.source, options)
        plan = Plan(options.limit, options.confidence, "fixed", options.trials, unit="samples")
        return LuckInquiry(replace(cell, unit=one_sample_two_r, judged=False, command="luck"), plan)

    def parts(self, record):
        lucky = msgspec.to_builtins(record.answer)["lucky"]
        yield Facts([("luck", f"{lucky} samples of {record.cells[0].pairs} have two answers")])

    def again(self, bench, index):
        found = bench.trial(index).difference
        yield Words(f"{'LUCKY' if found else 'UNLUCKY'}  sample {index}", "title")
'''
# The question that CONTRIBUTING shows, and the entry points that it says a package needs.
CONTRIBUTING = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text()
(TO_COPY,) = re.findall(r"^```python\n(.*?)^```$", CONTRIBUTING, re.MULTILINE | re.DOTALL)
(DECLARED,) = re.findall(r"^```toml\n(.*?)^```$", CONTRIBUTING, re.MULTILINE | re.DOTALL)
SOURCE = '''
class Coins:
    """A source of a kind of its own: what it has besides `draw` it need not have."""

    def __init__(self, p, spec=None):
        self.p, self.spec, self.name = p, spec, f"coins that show heads with {p:g}"

    def draw(self, rng, size):
        return (rng.random(size) < self.p).astype(int)

    def law(self, size):
        return {0: 1 - self.p, 1: self.p}

    def expect(self, query=None):
        return self.p if query is None else (1 - self.p) * query(0) + self.p * query(1)


fair = Coins(0.5, "coins:fair")
'''
LEARNERS = """
import auditor

def majority(sample, r):
    return bool(sample.mean() > 0.5)

def coin(sample, r):
    return bool(r.random() < 0.5)

@auditor.subject(source="coins:fair", size=400, accuracy=lambda found, source, **_: found == (source.expect() > 0.1))
def share(sample: auditor.Sample, r):
    return sample.mean() > 0.1
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as an installation leaves one behind: modules, and the entry points that they registered."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "luck.py").write_text(QUESTION)
    (folder / "streak.py").write_text(TO_COPY)
    (folder / "coins.py").write_text(SOURCE)
    (folder / "mine.py").write_text(LEARNERS)
    info = folder / "luck-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: luck\nVersion: 1.0\n")
    copied = tomllib.loads(DECLARED)["project"]["entry-points"]["auditor.questions"]
    declared = {"luck": "luck:Luck", "gone": "luck:Gone", **copied}
    lines = [f"{name} = {value}\n" for name, value in declared.items()]
    (info / "entry_points.txt").write_text("".join(["[auditor.questions]\n", *lines]))
    return folder


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """As in an environment that has it: on the path of this process, where what is registered is read again."""
    names = ("luck", "streak", "coins", "mine")  # other tests have a `mine` of their own, before and after
    held = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    monkeypatch.syspath_prepend(str(site))
    registered_questions.cache_clear()
    yield site
    registered_questions.cache_clear()
    for name in names:
        sys.modules.pop(name, None)
    sys.modules.update(held)


def python(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environment, cwd=site)


ASKED = ("mine:coin", "--source", "bernoulli(0.5)", "--size", "20")


def test_a_question_of_others_has_a_command_with_its_options_and_its_words(installed: Path, command: Command) -> None:
    _, text, _ = command("luck", "--help-all", cwd=installed)
    for words in ("How often do two r give two answers", "--limit", "--trials", "--jobs", "--ledger", "mine:coin"):
        assert words in text
    own = command("luck", "--help", cwd=installed)[1]
    assert ("--trials" in own, "--ledger" in own) == (True, False)
    listed = command("--help", cwd=installed)[1]
    assert "luck" in listed
    assert "gone" in listed, "nobody is loaded before somebody asks"
    code, _, complaint = command("luck", *ASKED, "--limit", "2", cwd=installed)
    assert code == 2
    assert "--limit 2.0 must be in (0, 1): the share that you accept" in complaint
    assert "cannot be loaded from luck:Gone" in command("gone", *ASKED, cwd=installed)[2]


def test_a_process_of_its_own_finds_it_and_its_record_is_like_any_other(site: Path) -> None:
    code = """
import sys, auditor, mine
record = auditor.ask("luck", mine.coin, "bernoulli(0.5)", size=20, seed=3)
assert record.answer.lucky == record.cells[0].mismatches == record.measures[0].count
from auditor.flow.record import to_json
sys.stdout.buffer.write(to_json(record))
sys.stdout.flush()
auditor.ask("luckk", len)
"""
    found = python(site, "-c", code)
    record = json.loads(found.stdout)
    assert (record["schema"], record["question"]) == ("auditor.record/2", "luck")
    assert (record["verdict"], record["unit"], record["target"]) == ("fail", "samples", 0.1)
    assert record["answer"] == {"question": "luck", "lucky": record["cells"][0]["mismatches"]}
    assert record["preflight"]["second_process"] == "same"
    assert "there is no question 'luckk' (did you mean luck?)" in found.stderr


def test_whoever_runs_it_its_record_is_one(installed: Path, tmp_path: Path, command: Command) -> None:
    """In this process; in two workers with a ledger; and again from the ledger alone."""
    records = []
    for how in (["--jobs", "1"], ["--jobs", "2", "--ledger", "l.sqlite"], ["--ledger", "l.sqlite", "--resume"]):
        words = ("luck", *ASKED, *how, "--json", "record.json", "--junit", "report.xml", "--verbose")
        code, said, complaint = command(*words, cwd=tmp_path)
        assert code == 1, complaint
        assert "samples of 40 have two answers" in said
        records.append(json.loads((tmp_path / "record.json").read_text()))
    first, *others = (timeless(record) for record in records)
    assert all(other == first for other in others)
    assert records[1]["cost"]["limits"]["jobs"] == 2
    assert first["asked"] == {"source": ["bernoulli(0.5)"], "size": 20}
    assert "luck" in (tmp_path / "report.xml").read_text()
    assert "fail" in command("history", "mine:coin", "--ledger", "l.sqlite", cwd=tmp_path)[1]
    _, again, _ = command("luck", *ASKED, "--replay", "0", cwd=installed)
    assert "LUCKY  sample 0" in again
    assert command("replay", "record.json", "--pair", "0", "--trust", cwd=tmp_path)[1] == again


def test_the_question_of_contributing_is_asked_in_python_and_on_the_command_line(
    installed: Path, tmp_path: Path, command: Command
) -> None:
    """It stops at the first pair that differs, which is the first that `check` counts; the record is one for all."""
    coin = importlib.import_module("mine").coin
    assert ask("streak", coin, "norm", size=3).reason == "50 pairs agreed in a row"
    asked: dict[str, Any] = {"source": "bernoulli(0.3)", "size": 1}
    differs = audit(majority, **asked).examples[0].pair
    found = ask("streak", majority, **asked, pairs=differs + 9)
    assert (found.verdict, found.cost.runs) == ("fail", 2 * (differs + 1))
    assert msgspec.to_builtins(found.answer) == {"question": "streak", "agreed": differs}
    assert ask("streak", majority, **asked, pairs=differs).verdict == "pass"
    assert "Number of pairs that have to agree" in command("streak", "--help", cwd=tmp_path)[1]
    records = []
    for how in (["--jobs", "1"], ["--jobs", "2", "--ledger", "l.sqlite"], ["--ledger", "l.sqlite", "--resume"]):
        words = ("streak", "mine:majority", "--source", "bernoulli(0.3)", "--size", "1", *how, "--json", "record.json")
        code, said, complaint = command(*words, cwd=tmp_path)
        assert (code, f"{differs} pairs agreed in a row" in said) == (1, True), complaint
        records.append(timeless(json.loads((tmp_path / "record.json").read_text())))
    assert records[0] == records[1] == records[2]
    assert "DIFFERENT" in command(*words[:6], "--replay", str(differs), cwd=tmp_path)[1]


def test_a_project_gates_on_it(installed: Path, tmp_path: Path, command: Command) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[[tool.auditor.subject]]\nquestion = 'luck'\ntarget = 'mine:majority'\nsource = 'bernoulli(0.1)'\n"
        "size = 9\nlimit = 0.2\n"
    )
    code, _, complaint = command("gate", "--json", "records.json", cwd=tmp_path)
    assert code == 0, complaint
    (record,) = json.loads((tmp_path / "records.json").read_text())
    assert (record["question"], record["verdict"]) == ("luck", "pass")
    with (tmp_path / "pyproject.toml").open("a") as file:
        file.write("whisper = true\n")
    assert "unknown key 'whisper'" in command("gate", cwd=tmp_path)[2]


# A source of another kind.


@pytest.fixture
def kind(site: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(site))
    return importlib.import_module("coins").Coins


def majority(sample: Any, r: Any) -> bool:
    return bool(sample.mean() > 0.5)


def is_near(found: float, *, source: Any, **_: Any) -> bool:
    return bool(abs(found - source.expect()) < 0.02)


def is_other(found: int, rows: Any) -> Any:
    return rows != found


def share(sample: auditor.Sample, r: Any) -> float:
    return round(sample.mean(), 2)


def test_an_object_that_draws_is_a_source(kind: Any) -> None:
    record = audit(majority, kind(0.1), size=30)
    assert (record.verdict, record.source, record.size) == ("pass", "coins that show heads with 0.1", 30)
    assert not record.importable
    by_function = audit(majority, kind(0.45).draw, size=30)
    assert audit(majority, kind(0.45), size=30).mismatches == by_function.mismatches > 0


def test_what_it_knows_of_its_law_is_used(kind: Any) -> None:
    """Counts, of a sample that no rows could make; the risk for a loss, exactly; and the truth for an oracle."""
    counted = audit(share, kind(0.25), size=10**15, sample="counts")
    assert (counted.verdict, counted.sample_kind) == ("pass", "counts")
    loss = ask("loss", lambda s, r: 0, kind(0.25), size=30, loss=is_other, rho=0.1, delta=0.2)
    assert loss.accuracy is not None
    assert loss.accuracy.allowed == pytest.approx(0.3), "no allowance for measuring what is known"

    @auditor.subject(accuracy=is_near, delta=0.1)
    def exact(sample: Any, r: Any) -> float:
        return 0.25

    judged = audit(exact, kind(0.25), size=30)
    assert judged.accuracy is not None
    assert (judged.verdict, judged.accuracy.failures) == ("pass", 0)
    assert audit(exact, kind(0.5), size=30).verdict == "fail"


def test_several_of_a_kind_are_told_apart(kind: Any) -> None:
    record = audit(majority, [kind(0.1), kind(0.5)], size=30, rho=0.2)
    assert [cell.name for cell in record.cells] == [f"coins that show heads with {p}" for p in (0.1, 0.5)]
    assert [cell.verdict for cell in record.cells][1] == "fail"
    assert record.reason.startswith("With coins that show heads with 0.5, ")


class Wrong:
    """A source with a law, or with rows, that are none."""

    def __init__(self, law: Any = None, rows: Any = None) -> None:
        self._law, self._rows = law, rows

    def draw(self, rng: Any, size: int) -> Any:
        return np.zeros(size) if self._rows is None else self._rows(size)

    def law(self, size: int) -> Any:
        return self._law


def test_a_source_that_breaks_the_contract_is_told_so() -> None:
    for law in ({0: 0.3}, 7, {0: -1.0, 1: 2.0}):
        none = audit(share, Wrong(law=law), size=10, sample="counts")
        assert (none.verdict, none.exit_code) == ("error", 4)
        assert "source Wrong: its law must be {value: probability}; " in none.reason
    short = audit(majority, Wrong(rows=lambda size: np.zeros(size - 1)), size=10)
    assert (short.verdict, short.exit_code) == ("error", 4)
    assert "source Wrong returned 9 rows where 10 were asked for" in short.reason
    raised = audit(majority, Wrong(rows=lambda size: 1 / 0), size=10)
    assert "source Wrong raised" in raised.reason
    with pytest.raises(UsageError, match="declares no size"):
        audit(majority, Wrong())
    with pytest.raises(UsageError, match="must be a spec"):
        audit(majority, object(), size=10)


def test_the_command_line_finds_one_by_its_name(installed: Path, tmp_path: Path, command: Command) -> None:
    words = ("check", "mine:majority", "--source", "coins:fair", "--size", "30", "--rho", "0.3")
    records = []
    for jobs in ("1", "2"):
        code, _, complaint = command(*words, "--jobs", jobs, "--json", "record.json", cwd=tmp_path)
        assert code == 1, complaint
        records.append(json.loads((tmp_path / "record.json").read_text()))
    assert timeless(records[0]) == timeless(records[1])
    record = records[0]
    assert (record["source"], record["size"]) == ("coins that show heads with 0.5", 30)
    assert record["preflight"]["second_process"] == "same"
    assert "--source coins:fair" in record["examples"][0]["replay"]
    pair = str(record["examples"][0]["pair"])
    assert "DIFFERENT" in command(*words, "--replay", pair, cwd=installed)[1]
    assert "DIFFERENT" in command("replay", "record.json", "--pair", pair, "--trust", cwd=tmp_path)[1]
    code, counted, complaint = command("check", "mine:share", "--sample", "counts", "--json", "-", cwd=installed)
    assert code == 0, complaint
    assert json.loads(counted)["accuracy"]["failures"] == 0
