"""A checkout of an earlier revision runs no program that the repository's own configuration names."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from auditor.errors import UsageError
from auditor.questions.compare.worktree import check_out

# Keys, each with a program that leaves its mark; and the value of one that makes git need it.
NAMED = (
    "core.fsmonitor",
    "core.sshCommand",
    "core.pager",
    "core.editor",
    "diff.external",
    "diff.evil.textconv",
    "merge.evil.driver",
    "filter.evil.smudge",
    "filter.evil.clean",
    "filter.long.process",
    "filter.with=sign.smudge",
    "filter.with=sign.clean",
    "alias.status",
    "alias.worktree",
    "gpg.program",
    "credential.helper",
    "remote.origin.uploadpack",
    "hook.evil.command",
)


def git(folder: Path, *words: str, **environment: str) -> str:
    own = {"GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder.parent), **environment}
    return (
        subprocess.run(["git", "-C", str(folder), *words], env=os.environ | own, check=True, capture_output=True)
        .stdout.decode()
        .strip()
    )


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(folder)
    git(folder, "init", "-q")
    git(folder, "config", "user.email", "a@b.c")
    git(folder, "config", "user.name", "a")
    (folder / "learner.py").write_text("old")
    (folder / "data.evil").write_text("data")
    (folder / ".gitattributes").write_text(
        '*.evil filter=evil diff=evil merge=evil\n*.long filter=long\n*.sign filter="with=sign"\n'
    )
    (folder / "data.long").write_text("long")
    (folder / "data.sign").write_text("sign")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "old")
    (folder / "learner.py").write_text("new")
    git(folder, "commit", "-qam", "new")
    return folder


def spoil(folder: Path) -> Path:
    """Everything that a repository can name is a program that leaves a mark; returns where."""
    marks = folder.parent / "marks"
    marks.mkdir()
    for name in (*NAMED, "post-checkout", "post-index-change", "reference-transaction"):
        program = folder / ".git" / "hooks" / name if "." not in name else folder.parent / f"program-{name}"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\ntouch '{marks}/{name}'\ncat\n")
        program.chmod(0o755)
        if "." in name:
            git(folder, "config", name, str(program))
    for key in ("filter.evil.required", "filter.long.required", "filter.with=sign.required", "hook.evil.enabled"):
        git(folder, "config", key, "true")
    git(folder, "config", "protocol.ext.allow", "always")
    git(folder, "config", "hook.evil.event", "post-checkout")
    return marks


def test_a_hostile_repository_runs_nothing(repository: Path) -> None:
    marks = spoil(repository)
    (repository / "data.evil").write_text("changed")
    os.utime(repository / "data.sign")
    tree = check_out("HEAD~1")
    assert not [*marks.iterdir()]
    assert Path(tree.folder, "learner.py").read_text() == "old"
    assert [Path(tree.folder, f"data.{name}").read_text() for name in ("evil", "long", "sign")] == [
        "data",
        "long",
        "sign",
    ]
    assert (tree.changed, tree.is_head) == (1, False)
    tree.close()
    assert not [*marks.iterdir()]
    assert not os.path.exists(tree.folder)
    for words in (["status"], ["checkout", "-q", "--", "data.evil"]):  # the traps are some
        subprocess.run(["git", *words], capture_output=True)
    assert {mark.name for mark in marks.iterdir()} >= {"core.fsmonitor", "filter.evil.smudge"}


def test_what_a_repository_lacks_is_not_fetched(repository: Path) -> None:
    marks = spoil(repository)
    for key, value in {"extensions.partialClone": "origin", "core.repositoryFormatVersion": "1"}.items():
        git(repository, "config", key, value)
    git(repository, "config", "remote.origin.promisor", "true")
    git(repository, "config", "remote.origin.url", f"ext::sh -c touch% {marks}/fetched")
    lost = git(repository, "rev-parse", "HEAD~1:learner.py")
    os.unlink(repository / ".git" / "objects" / lost[:2] / lost[2:])
    with pytest.raises(UsageError, match="git cannot check it out"):
        check_out("HEAD~1")
    assert not [*marks.iterdir()]


def test_what_the_user_has_configured_is_run(repository: Path, tmp_path: Path) -> None:
    """git-lfs, say: a repository that has another program by the same name does not change that."""
    program = tmp_path / "smudge"
    program.write_text("#!/bin/sh\nsed s/data/smudged/\n")
    program.chmod(0o755)
    spoil(repository)
    (tmp_path / ".gitconfig").write_text(f'[filter "evil"]\n\tsmudge = {program}\n\tclean = cat\n')
    tree = check_out("HEAD~1")
    assert Path(tree.folder, "data.evil").read_text() == "smudged"
    tree.close()
