"""What did a folder hold at an earlier revision? A git worktree in a temporary folder, removed however this ends.

The repository itself is left as it is: no branch, no change of its files or its index. A repository's own configuration
can name programs for git to run (hooks, a file system monitor, filters, transports): none of them is run. What the
user's or the system's configuration says counts as ever, so that git-lfs works where it is installed.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from auditor.errors import UsageError
from auditor.files import start_folder

_ALWAYS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "protocol.allow": "never",  # a partial clone would fetch what it lacks: an audit downloads nothing
    "advice.detachedHead": "false",
}
# The last parts of keys that name a program, or say that one has to be run; and what each is set to instead.
_PROGRAMS = dict.fromkeys(
    (
        *("alternaterefscommand", "askpass", "clean", "cmd", "command", "driver", "editor", "external", "gitproxy"),
        *("helper", "packobjectshook", "pager", "process", "program", "receivepack", "smudge", "sshcommand"),
        *("textconv", "uploadpack", "vcs"),
    ),
    "",
)
_PROGRAMS |= {"allow": "never", "enabled": "false", "fsmonitor": "false", "required": "false", "update": "none"}
_PROGRAMS |= {"hookspath": os.devnull}
_SHOWN = 300  # characters of what git says


class Worktree(msgspec.Struct, frozen=True):
    """`top` is the folder of the repository, `folder` that of the checkout."""

    top: str
    folder: str
    commit: str
    changed: int  # files of the repository that are not as they were committed, those that git ignores left out
    is_head: bool  # whether the commit is the one that is checked out in the repository

    def here(self, place: str) -> str:
        """Return the place in the checkout that is the same as this one here; itself where it is not in the
        repository."""
        path = Path(os.path.realpath(place))
        return str(Path(self.folder, path.relative_to(self.top))) if path.is_relative_to(self.top) else place

    def close(self) -> None:
        """Remove it; what cannot be removed is not worth a word."""
        _open.discard(self)
        _removed(self.top, self.folder)


_open: set[Worktree] = set()


@atexit.register
def close_worktrees() -> None:
    """Remove the checkouts that nobody has closed."""
    for one in [*_open]:
        one.close()


def check_out(revision: str) -> Worktree:
    """Return a checkout of a revision of the repository that this folder is in; UsageError where there is no such
    revision."""
    here = start_folder()
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
    """Check a revision out into a folder of its own; UsageError if git cannot."""
    parent = os.path.realpath(tempfile.mkdtemp(prefix="auditor-"))
    folder = os.path.join(parent, os.path.basename(top) or "checkout")
    try:
        code, words = _said(top, "worktree", "add", "--detach", "--force", folder, commit)
        if code:
            raise UsageError(f"--against {revision}: git cannot check it out ({words[:_SHOWN]})")
        # What is changed within a submodule would take a git of its own there, with a configuration of its own.
        # Bytecode is nobody's change: the audit itself may just have written it.
        status = _said(top, "status", "--porcelain", "--ignore-submodules=dirty")[1].splitlines()
        changed = sum("__pycache__/" not in line for line in status)
        return Worktree(top, folder, commit, changed, _said(top, "rev-parse", "HEAD")[1] == commit)
    except BaseException:
        _removed(top, folder)
        raise


def _removed(top: str, folder: str) -> None:
    """Remove one checkout, and no other: to prune would forget those that are not mounted now."""
    _said(top, "worktree", "remove", "--force", folder)
    shutil.rmtree(os.path.dirname(folder), ignore_errors=True)


def _said(folder: str, *words: str) -> tuple[int, str]:
    """Return how git ended and what it said, with nothing run that the repository's own configuration names."""
    done = _git(folder, *words, settings={**_harmless(folder), **_ALWAYS})
    said = done.stdout if done.returncode == 0 else done.stderr
    return done.returncode, os.fsdecode(said).strip()


def _harmless(folder: str) -> dict[str, str]:
    """Return settings that replace every key by which the repository at `folder` names a program: by what the user has
    there, or by none. They are read afresh each time: the repository may change in between."""
    listed = os.fsdecode(_git(folder, "config", "--list", "--null", "--show-scope", settings=_ALWAYS).stdout)
    scopes, entries = listed.split("\0")[:-1:2], listed.split("\0")[1::2]
    found: dict[str, str] = {}
    own: dict[str, str] = {}
    for scope, entry in zip(scopes, entries, strict=False):
        key, _, value = entry.partition("\n")
        if scope in ("system", "global"):
            own[key] = value
        elif scope != "command" and (last := key.rpartition(".")[2].lower()) in _PROGRAMS:
            found[key] = _PROGRAMS[last]
    return {key: own.get(key, value) for key, value in found.items()}


def _git(folder: str, *words: str, settings: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    """Run git in a session of its own, so that Ctrl-C does not end it halfway. Settings go by the environment, where a
    key may hold any character."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    environment["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (key, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return subprocess.run(
        ["git", "-C", folder, *words],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        start_new_session=True,
        check=False,
    )
