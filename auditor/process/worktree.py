"""What did a folder hold at an earlier revision? A git worktree in a temporary folder, removed however this ends.

The repository itself is left as it is: no branch, no hook, no change of its files or its index.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import msgspec

from auditor.errors import UsageError

_QUIET = ("-c", f"core.hooksPath={os.devnull}", "-c", "advice.detachedHead=false")
_SHOWN = 300  # characters of what git says


class Worktree(msgspec.Struct, frozen=True):
    """`top` is the folder of the repository, `folder` that of the checkout."""

    top: str
    folder: str
    commit: str
    changed: int  # files of the repository that are not as they were committed, those that git ignores left out
    is_head: bool  # whether the commit is the one that is checked out in the repository

    def here(self, place: str) -> str:
        """The same place in the checkout; itself where it is not in the repository."""
        path = Path(os.path.realpath(place))
        return str(Path(self.folder, path.relative_to(self.top))) if path.is_relative_to(self.top) else place

    def close(self) -> None:
        """Remove it; what cannot be removed is not worth a word."""
        _open.discard(self)
        _removed(self.top, self.folder)


_open: set[Worktree] = set()


@atexit.register
def close_worktrees() -> None:
    """Those that nobody closed."""
    for one in [*_open]:
        one.close()


def check_out(revision: str) -> Worktree:
    """A revision of the repository that this folder is in; UsageError where there is no such thing."""
    here = os.getcwd()
    if shutil.which("git") is None:
        raise UsageError(f"--against {revision} needs git, which is not installed: install it, or give --old TARGET")
    code, top = _said(here, "rev-parse", "--show-toplevel")
    if code:
        raise UsageError(
            f"--against {revision}: {here} is not in a git repository; change to one, or give --old TARGET"
        )
    code, commit = _said(here, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if code:
        raise UsageError(
            f"--against {revision} is no revision of {top}: name a commit, branch or tag, e.g. HEAD~1; of what only "
            "the server has, git fetch it first"
        )
    top = os.path.realpath(top)
    made = _made(top, commit, revision)
    _open.add(made)
    return made


def _made(top: str, commit: str, revision: str) -> Worktree:
    parent = os.path.realpath(tempfile.mkdtemp(prefix="auditor-"))
    folder = os.path.join(parent, os.path.basename(top) or "checkout")
    try:
        code, words = _said(top, "worktree", "add", "--detach", "--force", folder, commit)
        if code:
            raise UsageError(f"--against {revision}: git cannot check it out ({words[:_SHOWN]})")
        changed = len(_said(top, "status", "--porcelain")[1].splitlines())
        return Worktree(top, folder, commit, changed, _said(top, "rev-parse", "HEAD")[1] == commit)
    except BaseException:
        _removed(top, folder)
        raise


def _removed(top: str, folder: str) -> None:
    """That one alone: to prune would forget others that are not mounted now."""
    _said(top, "worktree", "remove", "--force", folder)
    shutil.rmtree(os.path.dirname(folder), ignore_errors=True)


def _said(folder: str, *words: str) -> tuple[int, str]:
    """How git ended, and what it said; in a session of its own, so that Ctrl-C does not end it halfway."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-C", folder, *_QUIET, *words],
        env={**kept, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        start_new_session=True,
        check=False,
    )
    said = done.stdout if done.returncode == 0 else done.stderr
    return done.returncode, os.fsdecode(said).strip()
