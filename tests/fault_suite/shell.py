"""An audit as a process of its own, and what it left: exit code, words, record, files, and whoever still lives."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.processes import children, descendants, is_alive, wait_until
from support.warm import MARK, Command, Warm

import auditor
from auditor.cli.command_line import run
from auditor.host.leftovers import _SET_SUBREAPER, _call_prctl, become_subreaper

LIMIT = 90.0  # seconds, far above what any audit here needs
_PATIENCE = 10.0  # seconds for those who are leaving
_OURS = str(Path(auditor.__file__).parent) + os.sep
_VERDICTS = {0: "pass", 1: "fail", 3: "inconclusive", 4: "error"}
_BAD_SIGNS = ("auditor itself failed", "leaked", "Fatal Python error", "Exception in thread")


@dataclass(slots=True)
class Ran:
    """One audit, over. `left` names the processes and files that it should have taken along."""

    code: int | None
    out: str
    err: str
    record: dict[str, Any] | None
    left: list[str] = field(default_factory=list)

    @property
    def said(self) -> str:
        return " ".join((self.err + "\n" + self.out).split())

    def complaints(self, codes: Sequence[int], words: str = "", *, needs_record: bool = True) -> list[str]:
        """All that is wrong with how it ended; nothing where it ended well."""
        found = []
        if self.code not in codes:
            found.append(f"exit code {'none: it hung' if self.code is None else self.code}, and not {codes}")
        if " ".join(words.split()) not in self.said:
            found.append(f"it did not say {words!r}")
        found += [f"it said {sign!r}" for sign in _BAD_SIGNS if sign in self.said]
        if is_our_traceback(self.err) or is_our_traceback(self.out):
            found.append("a traceback of our own")
        if self.code in (2, 4) and not re.search(r"error|usage", self.said, re.IGNORECASE):
            found.append("no sentence")
        return found + self._about_the_record(needs_record) + [f"left behind: {what}" for what in self.left]

    def _about_the_record(self, needed: bool) -> list[str]:
        if self.record is None:
            return ["no whole record"] if self.code in (0, 1, 3) or (self.code == 4 and needed) else []
        verdict = self.record.get("verdict", "no verdict")
        expected = _VERDICTS.get(self.code if self.code is not None else -1, verdict)
        return [] if verdict == expected else [f"the record says {verdict!r}, the exit code {self.code}"]


def is_our_traceback(text: str) -> bool:
    """Whether some traceback has frames of ours and none of anybody else's: nothing there that a user could mend."""
    for block in text.split("Traceback (most recent call last)")[1:]:
        files = re.findall(r'^\s*(?:\| *)?File "([^"]+)"', block, re.MULTILINE)
        if any(file.startswith(_OURS) for file in files) and not any(
            Path(file).name.startswith("mine") for file in files
        ):
            return True
    return False


class Shell:
    """A folder for one audit: `work` is where it runs, `tmp` what it may use, and a mark that its processes carry."""

    def __init__(self, folder: Path, warm: Warm | None) -> None:
        self.work, self._folder, self.mark, self._warm = folder / "work", folder, uuid.uuid4().hex, warm
        self.work.mkdir()
        self.tmp = Path(tempfile.mkdtemp(prefix="fault-"))
        self._logs = ""  # what earlier audits named, and the next ones need not

    def close(self) -> None:
        shutil.rmtree(self.tmp, ignore_errors=True)

    def start(self, *words: str, second: bool = True, **environment: str) -> subprocess.Popen[bytes] | Command:
        """Without `second` a fork asks nobody for a second opinion."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "PYTEST_"))}
        ours = {"TMPDIR": str(self.tmp), "COLUMNS": "200", "PYTHONHASHSEED": "0", MARK: self.mark}
        with (self._folder / "out").open("wb") as out, (self._folder / "err").open("wb") as err:
            if self._warm:
                how = {"cwd": self.work, "stdout": out, "stderr": err, "second": second}
                return self._warm.start(*words, **how, environment={**kept, **ours, **environment})
            return subprocess.Popen(
                [sys.executable, "-m", "auditor", *words],
                cwd=self.work,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**kept, **ours, **environment},
                start_new_session=True,
            )

    def run(self, *words: str, limit: float = LIMIT, **environment: str) -> Ran:
        """To its end, with a record asked for."""
        return self.end(self.start(*words, "--json", "record.json", **environment), limit)

    def end(self, process: subprocess.Popen[bytes] | Command, limit: float = LIMIT) -> Ran:
        """Wait for it, and for those who should leave with it; whoever does not is named and ended."""
        try:
            code: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
            process.kill()
            process.wait()
        wait_until(lambda: not [*self.living()], _PATIENCE if code is not None else 1.0)
        out, err = self._text("out"), self._text("err")
        return Ran(code, out, err, self.record(), [*_end_all(self.living), *self.files(out + err)])

    def living(self) -> Iterator[int]:
        """Every process that was started under this mark, whatever became of its parents and its session."""
        mark = f"{MARK}={self.mark}".encode()
        for environ in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if mark in environ.read_bytes() and is_alive(int(environ.parent.name)):
                    yield int(environ.parent.name)

    def files(self, said: str) -> Iterator[str]:
        """Nothing but the log of a subject that printed, which the report names, and what a learner calls its own."""
        self._logs += said
        for path in (*self.tmp.iterdir(), *self.work.iterdir()):
            named = path.name in self._logs
            if not (path.name.startswith(("mine", "record", "audits.sqlite", "__pycache__")) or named):
                yield f"file {path.name}"

    def _text(self, stream: str) -> str:
        return (self._folder / stream).read_text(errors="replace")

    def record(self) -> dict[str, Any] | None:
        try:
            found = json.loads((self.work / "record.json").read_bytes())
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None


def _end_all(living: Callable[[], Iterable[int]]) -> Iterator[str]:
    """What those who should be gone are called; they are then."""
    while found := [*living()]:
        for pid in found:
            with suppress(OSError):
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")[:60]
                if command:  # one that is ending has given up its memory, and this with it
                    yield f"process {command.decode(errors='replace').strip()!r}"
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda found=found: not any(map(is_alive, found)))


def run_here(shell: Shell, said: Callable[[], Any], *words: str) -> Ran:
    """An audit in this process, its folder being the shell's, with what it said and left: orphans come here too."""
    before = descendants(os.getpid())

    def living() -> set[int]:
        servers = {pid for pid in children(os.getpid()) if _is_server(pid)}
        return {pid for pid in descendants(os.getpid()) - before - servers if is_alive(pid)}

    said()
    become_subreaper()
    try:
        code = run([*words, "--json", "record.json"])
        now = said()
        wait_until(lambda: not living(), _PATIENCE)
        left = [*_end_all(living), *shell.files(now.out + now.err)]
    finally:
        _call_prctl(_SET_SUBREAPER, 0)
    for pid in {*children(os.getpid())} - before:
        if not is_alive(pid):
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
    return Ran(code, now.out, now.err, shell.record(), left)


def _is_server(pid: int) -> bool:
    with suppress(OSError):
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        return any(word in command for word in (b"resource_tracker", b"auditor.host.child"))
    return False
