"""Old code where it really is: in a git repository, in another environment; and every way in which it is not there."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.processes import left_behind, on_linux, wait_until
from support.requests import ask, timeless

from auditor.errors import SubjectError, UsageError
from auditor.questions.compare.versions import _path
from auditor.questions.compare.worktree import check_out
from auditor.subjects.subject import load_subject
from auditor.trials.version_there import _check_place

Command = Callable[..., tuple[int, str, str]]
OLD = """
def fit(sample, r):
    return float(sample.mean() > 0.8)
"""
NEW = OLD.replace("0.8", "0.5")
ON = ("--source", "bernoulli(0.5)", "--size", "100")


def git(folder: Path, *words: str) -> str:
    named = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    done = subprocess.run(["git", *named, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def two_commits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of one learner."""
    folder = tmp_path_factory.mktemp("two_commits")
    git(folder, "init", "--quiet", "--template=")
    for text in (OLD, NEW):
        (folder / "learner.py").write_text(text)
        committed(folder)
    return folder


@pytest.fixture
def repository(two_commits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Those two commits, and a folder of temporary files of its own."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    return Path(shutil.copytree(two_commits, tmp_path / "repository"))


def committed(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "a step")


def nothing_is_left(folder: Path) -> bool:
    is_one = len(git(folder, "worktree", "list").splitlines()) == 1
    return is_one and not [*(folder.parent / "temporary").glob("auditor-*/*")]


def test_against_a_revision(command: Command, repository: Path) -> None:
    (repository / "notes.txt").write_text("not committed")
    words = ("compare", "learner.py:fit", *ON, "--against", "HEAD~1", "--json", "out.json")
    code, out, _ = command(*words, cwd=repository, columns=60)
    assert code == 1
    assert "WORSE  learner.py:fit" in out
    assert nothing_is_left(repository)
    assert max(map(len, out.splitlines()[:3])) <= 60
    record = json.loads((repository / "out.json").read_text())
    answer = record["answer"]
    assert (answer["old"]["mismatches"], answer["change"]) == (0, "worse")
    assert answer["old"]["what"] == f"HEAD~1 ({git(repository, 'rev-parse', 'HEAD~1')[:10]})"
    assert [row["variant"] for row in record["cells"]] == ["new", "old"]
    assert [one["kind"] for one in record["findings"]] == ["uncommitted"]
    assert "with a file that is not committed" in record["findings"][0]["message"]
    # The old version's pairs are those of a check of the old file: the same samples, the same r.
    (repository / "old.py").write_text(OLD)
    here = ask("compare", "learner.py:fit", ON[1], size=100, old="old.py:fit")
    for name in ("old", "new", "difference", "discordant", "changed"):
        told = answer[name] if isinstance(answer[name], dict) else {}
        found = {key: getattr(getattr(here.answer, name), key) for key in told}
        ignored = {"what", "replay_old", "replay_new"}
        assert {k: v for k, v in told.items() if k not in ignored} == {
            k: v for k, v in found.items() if k not in ignored
        }
    _, _, _, *again = shlex.split(answer["changed"]["replay_old"])
    code, out, _ = command(*again, cwd=repository)
    assert code == 0
    assert "SAME  pair" in out
    assert nothing_is_left(repository)


@pytest.mark.nightly
def test_the_record_is_the_same_with_workers_and_after_a_break(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    asked = {"size": 100, "against": "HEAD~1", "seed": 3}
    alone = ask("compare", "learner.py:fit", ON[1], **asked)
    kept = ask("compare", "learner.py:fit", ON[1], **asked, jobs=2, ledger="kept.sqlite")
    resumed = ask("compare", "learner.py:fit", ON[1], **asked, ledger="kept.sqlite", resume=True)
    first, *others = (timeless(one) for one in (alone, kept, resumed))
    for other in others:
        other["findings"] = first["findings"]  # the ledger is a file that is not committed
        assert other == first
    assert resumed.cost.seconds_in_subject == kept.cost.seconds_in_subject, "nothing was run again"
    assert nothing_is_left(repository)


def test_a_ledger_knows_the_parameters_of_old_code(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    (repository / "learner.py").write_text("def fit(sample, r, *, at=0.5):\n    return float(sample.mean() > at)\n")
    committed(repository)
    asked: dict[str, Any] = {"size": 100, "against": "HEAD", "ledger": "kept.sqlite"}
    ask("compare", "learner.py:fit", ON[1], **asked, old_param={"at": 0.8})
    with pytest.raises(UsageError, match="but the two differ in "):
        ask("compare", "learner.py:fit", ON[1], **asked, old_param={"at": 0.9}, resume=True)
    assert nothing_is_left(repository)


def test_a_layout_with_src_and_a_helper_from_a_folder_below(command: Command, repository: Path) -> None:
    package = repository / "project" / "src" / "learning"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "fitting.py").write_text("from learning.helper import LIMIT\n" + OLD.replace("0.8", "LIMIT"))
    (package / "helper.py").write_text("LIMIT = 0.8\n")
    committed(repository)
    (package / "helper.py").write_text("LIMIT = 0.5\n")
    sys.path.insert(0, str(package.parent))  # as an editable install does
    words = ("compare", "learning.fitting:fit", *ON, "--against", "HEAD")
    try:
        code, out, _ = command(*words, cwd=repository / "project")
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "learning"]:
            del sys.modules[name]
    assert code == 1, out
    assert nothing_is_left(repository)


FINDER = """
import importlib.util, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            return importlib.util.spec_from_file_location(name, {file!r})

sys.meta_path.insert(0, Finder())
"""


def test_an_editable_install_is_not_compared_with_itself(
    command: Command, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not what a learner imports, and not the learner itself, which is looked at first."""
    (repository / "helper.py").write_text("")
    (repository / "learner.py").write_text(f"import helper\n{OLD}")
    committed(repository)
    site = repository.parent / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(FINDER.format(name="helper", file=str(repository / "helper.py")))
    monkeypatch.setenv("PYTHONPATH", str(site))
    code, out, _ = command("compare", "learner.py:fit", *ON, "--against", "HEAD", cwd=repository, columns=500)
    assert code == 4
    assert "NOT COMPARABLE" in out
    assert f"{repository / 'helper.py'}, which is the new code" in out
    assert "would be compared with itself" in out
    assert nothing_is_left(repository)
    monkeypatch.syspath_prepend(repository)
    with pytest.raises(SubjectError, match=r"learner\.py, which is not in the checkout .* compared with itself"):
        _check_place(load_subject("learner:fit"), str(site), str(repository))
    sys.modules.pop("learner", None), sys.modules.pop("helper", None)


def test_what_was_not_there_yet(command: Command, repository: Path) -> None:
    (repository / "later.py").write_text(NEW)
    code, out, _ = command("compare", "later.py:fit", *ON, "--against", "HEAD", cwd=repository)
    assert code == 4
    assert "NOT COMPARABLE  later.py:fit" in out
    assert "no file 'later.py'" in out
    assert str(repository.parent / "temporary") not in out
    below = repository / "below"
    below.mkdir()
    code, _, error = command("compare", "../learner.py:fit", *ON, "--against", "HEAD", cwd=below)
    assert (code, "has no folder" in error) == (2, True)
    assert nothing_is_left(repository)


def test_what_is_no_revision(command: Command, repository: Path) -> None:
    for rev in ("nowhere", "--output=x", "HEAD:learner.py"):
        code, _, error = command("compare", "learner.py:fit", *ON, f"--against={rev}", cwd=repository)
        assert (code, "is no revision of" in error) == (2, True), rev
    code, _, error = command(
        "compare", str(repository / "learner.py:fit"), *ON, "--against", "x", cwd=repository.parent
    )
    assert (code, "is not in a git repository" in error) == (2, True)
    assert nothing_is_left(repository)


def test_old_code_that_raises_and_one_that_ends_its_process(command: Command, repository: Path) -> None:
    (repository / "learner.py").write_text("def fit(sample, r):\n    raise ValueError('an <old> one')\n")
    committed(repository)
    (repository / "learner.py").write_text(NEW)
    words = ("compare", "learner.py:fit", *ON, "--against")
    code, out, _ = command(*words, "HEAD", cwd=repository)
    assert code == 4
    assert "raised ValueError: an <old> one" in out
    (repository / "learner.py").write_text(
        "import os\n\n\ndef fit(sample, r):\n    os.kill(os.getpid(), 40)  # which has no name\n"
    )
    committed(repository)
    (repository / "learner.py").write_text(NEW)
    code, out, _ = command(*words, "HEAD", cwd=repository)
    assert code == 4
    assert "ended its process (killed by signal 40)" in out  # which has no name
    assert nothing_is_left(repository)


def test_the_path_of_the_same_python_is_that_of_the_checkout(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    installed = sysconfig.get_path("purelib")
    inner = repository / ".venv" / "lib" / "site-packages"
    monkeypatch.setattr(sys, "path", ["", str(repository / "lib"), installed, str(inner)])
    tree = check_out("HEAD")
    try:
        there = Path(tree.folder)
        expected = [there, there / "src", there, there / "lib", installed, inner]
        assert [*_path(tree, own=True)] == [str(one) for one in expected]
        assert [*_path(None, own=False)] == [str(repository)]
    finally:
        tree.close()


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """Another environment: what is installed here, and one package in another version."""
    venv.create(tmp_path / "other", symlinks=True, with_pip=False)
    site = next((tmp_path / "other").glob("lib/python*/site-packages"))
    (site / "limits.py").write_text("LIMIT = 0.8\n")
    (site / "limits-1.0.dist-info").mkdir()
    (site / "limits-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: limits\nVersion: 1.0\n")
    (site / "limits-1.0.dist-info" / "top_level.txt").write_text("limits\n")
    return tmp_path / "other"


def test_another_environment(
    command: Command, tmp_path: Path, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "learner.py").write_text("from limits import LIMIT\n" + OLD.replace("0.8", "LIMIT"))
    new = tmp_path / "new"
    new.mkdir()
    (new / "limits.py").write_text("LIMIT = 0.5\n")
    sys.path.insert(0, str(new))
    words = ("compare", "learner.py:fit", *ON, "--old-python", str(environment), "--json", "out.json")
    code, out, _ = command(*words, cwd=here, columns=500)
    assert code == 4
    assert "reproducibility-auditor and what it needs must be installed there" in out
    site = next(environment.glob("lib/python*/site-packages"))
    (site / "all.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path))
    code, out, _ = command(*words, cwd=here)
    sys.modules.pop("limits", None)
    assert code == 1, out
    assert "Packages of which the old environment has" in out
    answer = json.loads((here / "out.json").read_text())["answer"]
    assert answer["versions"] == {"limits": ["1.0", "not installed"]}
    assert answer["old"]["what"] == f"by {environment}"
    code, out, error = command("replay", "out.json", "--pair", "0", "--cell", "1", "--trust", cwd=here)
    assert (code, out, "a program and no learner: not run" in error) == (2, "", True)
    code, _, error = command("compare", "learner.py:fit", *ON, "--old-python", str(here), cwd=here)
    assert (code, "is no Python" in error) == (2, True)


@on_linux
def test_ctrl_c_leaves_nothing_behind(repository: Path, tmp_path: Path) -> None:
    slow = "import time\n\n\ndef fit(sample, r):\n    time.sleep(0.2)\n    return 1\n"
    (repository / "learner.py").write_text(slow)
    committed(repository)
    mark = f"COMPARED_IN={tmp_path}"
    words = [sys.executable, "-m", "auditor", "compare", "learner.py:fit", *ON, "--against", "HEAD", "--jobs", "1"]
    told = {**os.environ, "COMPARED_IN": str(tmp_path), "TMPDIR": str(tmp_path / "temporary")}
    process = subprocess.Popen(
        words, cwd=repository, env=told, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert wait_until(lambda: [*(tmp_path / "temporary").glob("auditor-*/*/learner.py")], of=process)
    assert wait_until(lambda: any("auditor/__init__.py" in command for command in left_behind(mark)), of=process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode == 130
    assert "INTERRUPTED  learner.py:fit" in out
    assert wait_until(lambda: not left_behind(mark), 20)
    assert nothing_is_left(repository)


def test_a_gate_holds_a_learner_to_its_old_code(repository: Path, command: Command) -> None:
    """Paired: with what it was a step ago it is worse, and with itself it is not."""
    config = (
        '[[tool.auditor.subject]]\ntarget = "learner.py:fit"\nsource = "bernoulli(0.5)"\nsize = 100\n'
        'question = "compare"\nagainst = "HEAD~1"\nexpect = "no worse"\nreason = "a threshold"\n'
    )
    (repository / "pyproject.toml").write_text(config)
    code, out, _ = command("gate", cwd=repository)
    assert (code, "fail, expected no worse" in out) == (1, True), out
    (repository / "pyproject.toml").write_text(config.replace("HEAD~1", "HEAD"))
    code, out, _ = command("gate", cwd=repository)
    assert (code, "1 of 1 as expected" in out) == (0, True), out
    assert nothing_is_left(repository)
