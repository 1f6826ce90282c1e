"""Commands that run nothing import nothing from the working folder, whatever stands there.

The folder of these tests has a file for every module of the standard library, of the libraries that auditor uses and of
some that they try to import; each of them leaves its name in a file, and the command must leave none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import auditor
from auditor import __main__ as main_module
from auditor.cli.command_line import cli, run
from auditor.errors import LIBRARIES
from auditor.host.server import Server, Surroundings, here, looking_in_folder
from auditor.lookup import find_file, loaded_object
from auditor.report.formats.ci import place_of_subject

ROOT = Path(__file__).parents[2]
OTHERS = ("algorithms", "attr", "dask", "IPython", "jinja2", "markupsafe", "pandas", "sklearn", "victim", "yaml")
PLANTED = """
import builtins
with builtins.open({ran!r}, "a") as file:
    file.write(__name__ + "\\n")
def fit(sample, r): return 1
"""
# What each command is asked here that takes nobody's code; None for one that is made as `check` is.
NOTHING: dict[str, list[list[str]] | None] = {
    "check": [["check", "victim:fit", "--json", "no/such/folder.json"]],
    "gate": [["gate", "--config", "wrong.toml"]],
    "compare": [["compare", "old.json", "new.json", "--code-quality", "cq.json"]],
    "page": [["page", "old.json", "new.json", "--html", "page.html"]],
    "history": [["history", "first_bit"]],
    "plan": [["plan"]],
    "replay": [["replay", "old.json", "--pair", "0"]],
    "theorems": [["theorems", "--confidence", "2"]],
    "list": [["list", "--help"]],
    **dict.fromkeys(["choose", "curve", "estimate", "explain", "hunt", "price", "repair", "reuse"]),
}
EXIT = {"check": "2", "gate": "2", "compare": "1", "page": "0", "history": "0", "plan": "0", "replay": "2"}
EXIT |= {"theorems": "2", "list": "0"}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, elsewhere = tmp_path_factory.mktemp("planted"), tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "names.py").write_text("import sys; print(*sys.modules)")
    loaded = subprocess.check_output([sys.executable, "-m", "names"], cwd=elsewhere, text=True).split()
    for name in {*sys.stdlib_module_names, *LIBRARIES, *OTHERS} - {*loaded}:  # by Python, before any line of ours
        (folder / f"{name}.py").write_text(PLANTED.format(ran=str(folder / "ran")))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(elsewhere)
        patch.setattr(sys, "path", [*sys.path])
        words = ["check", "first_bit", "--source", "bernoulli(0.5)", "--pairs", "40", "--json", "r.json"]
        run([*words, "--ledger", str(folder / "audits.sqlite")])
        document = json.loads(Path("r.json").read_bytes())
    for name, changes in {"old": {"pairs": 40, "mismatches": 1}, "new": {"pairs": 40, "mismatches": 39}}.items():
        cells = [{**document["cells"][0], **changes}]
        case = {**document["case"], "target": "victim:fit"}
        changed = {**document, "subject": "victim:fit", "case": case, "expect": "pass", "cells": cells, **changes}
        (folder / f"{name}.json").write_text(json.dumps(changed))
    (folder / "wrong.toml").write_text("[tool.auditor]\nnonsense = 1\n")
    return folder


def _ran(folder: Path) -> list[str]:
    """The planted modules that something imported since last time."""
    file = folder / "ran"
    found = file.read_text().split() if file.exists() else []
    file.unlink(missing_ok=True)
    return found


def test_every_command_is_asked() -> None:
    assert set(cli.list_commands(cli.make_context("auditor", [], resilient_parsing=True))) == set(NOTHING)


def test_nothing_of_the_working_folder_is_imported(planted: Path) -> None:
    """All commands in one process: the first that needs a module has to find the installed one."""
    asked = {" ".join(words): words for several in NOTHING.values() for words in several or ()}
    code = "import sys; sys.path.insert(0, ''); from auditor.__main__ import _hide_working_folder\n"
    code += "_hide_working_folder()\n"
    code += "import json; from auditor.cli.command_line import run\n"
    code += "for words in json.loads(sys.argv[1]): print(words[0], run(words), file=sys.stderr)"
    environment = os.environ | {"GITHUB_ACTIONS": "true", "PYTHONPATH": str(ROOT)}
    # -P: from Python 3.13 on, -c imports linecache before any code of ours
    argv = [sys.executable, "-P", "-c", code, json.dumps([*asked.values()])]
    done = subprocess.run(argv, cwd=planted, env=environment, capture_output=True, stdin=subprocess.DEVNULL, text=True)
    assert _ran(planted) == []
    codes = dict(line.split() for line in done.stderr.splitlines() if len(line.split()) == 2)
    assert {name: codes.get(name) for name in EXIT} == EXIT, done.stderr
    (issue,) = json.loads((planted / "cq.json").read_bytes())
    assert issue["location"] == {"path": "victim.py", "lines": {"begin": 5}}
    assert "file=victim.py,line=5" in done.stdout


def test_python_m_starts_without_the_working_folder(planted: Path) -> None:
    words = [sys.executable, "-m", "auditor", "page", "old.json", "--html", "page.html"]
    done = subprocess.run(words, cwd=planted, capture_output=True)
    assert _ran(planted) == []
    assert done.returncode == 0, done.stderr


def test_an_empty_entry_of_pythonpath_does_not_matter_either(planted: Path, tmp_path: Path) -> None:
    for name in (*LIBRARIES, "attr", "jinja2"):  # the standard library is imported before any line of ours
        (tmp_path / f"{name}.py").write_text(PLANTED.format(ran=str(tmp_path / "ran")))
    words = [sys.executable, "-m", "auditor", "page", str(planted / "old.json"), "--html", "page.html"]
    environment = os.environ | {"PYTHONPATH": f"{os.pathsep}{ROOT}"}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True)
    assert _ran(tmp_path) == []
    assert done.returncode == 0, done.stderr


def test_the_second_process_starts_without_the_working_folder(planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(planted)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    started = Server(Surroundings())
    entrusted = planted / "entrusted"
    entrusted.mkdir()
    started.entrust(str(entrusted))
    started.close()  # it removes the folder when all that it imports is there
    assert not entrusted.exists()
    assert _ran(planted) == []


def test_only_hosts_look_in_the_folder_and_installed_subjects_find_theirs_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = tuple(sys.path)
    assert here().path == before
    with looking_in_folder(installed_first=True):
        assert here().path == (*before, str(tmp_path))
        with looking_in_folder(installed_first=False):
            assert here().path == (str(tmp_path), *before)
    assert (here().path, tuple(sys.path)) == (before, before)


@pytest.mark.parametrize("entry", ["", ".", "{here}", "{link}"])
def test_the_working_folder_is_hidden_however_it_got_on_the_path(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, link = tmp_path / "here", tmp_path / "link"
    here.mkdir()
    link.symlink_to(here)
    monkeypatch.chdir(here)
    library, installed = os.path.dirname(os.__file__), [str(tmp_path / "site"), str(here)]
    shown = entry.format(here=here, link=link)
    monkeypatch.setattr(sys, "path", [shown, "/src", shown, library, *installed])
    main_module._hide_working_folder()
    assert sys.path == ["/src", library, *installed]  # what an installation has named stays, after the library


def test_the_folder_of_auditor_itself_stays_as_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    library = os.path.dirname(os.__file__)
    monkeypatch.setattr(sys, "path", [str(ROOT), library, "/site"])
    main_module._hide_working_folder()
    assert sys.path == [library, "/site", str(ROOT)]


def test_a_working_folder_that_was_removed_is_no_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = [*sys.path]
    main_module._hide_working_folder()
    assert sys.path == before
    monkeypatch.chdir(tmp_path)


def test_the_package_is_loaded_without_an_import() -> None:
    code = "import sys; before = {*sys.modules}; import auditor; print(*sorted({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-S", "-P", "-c", code], env={"PYTHONPATH": str(ROOT)}, capture_output=True)
    assert done.stdout.split() == [b"auditor"], done.stderr


def test_places_are_found_by_name_and_nothing_is_imported(planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(planted)
    (planted / "package").mkdir()
    (planted / "package" / "__init__.py").write_text("raise SystemExit(9)")
    (planted / "package" / "inner.py").write_text("x = 1\n\nclass A:\n    async def fit(self): ...\n")
    assert place_of_subject("package.inner:A.fit") == ("package/inner.py", 4)
    assert place_of_subject("package/inner.py:gone") == ("package/inner.py", 1)
    assert place_of_subject("auditor:subject") == place_of_subject("auditor.subjects.subject:subject")
    assert loaded_object("package.inner:A.fit") is None
    for name in (
        "",
        ":",
        "fit",
        "..:fit",
        "a.b.:fit",
        "/dev/zero.py:x",
        "\0.py:x",
        "\ud800:x",
        "\ud800.py:x",
        "x" * 9999,
    ):
        assert place_of_subject(name) is None
        find_file(name)
    assert "package" not in sys.modules
    assert _ran(planted) == []
    assert auditor.__file__
