"""Files are written whole or left as they were, whatever kind of path leads to them."""

from __future__ import annotations

import os
import resource
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from auditor.cli.baseline import Baseline
from auditor.cli.command_line import run
from auditor.cli.commands import check
from auditor.cli.output import deliver
from auditor.errors import UsageError
from auditor.files import start_folder, starting_here, write_bytes
from auditor.report.formats import FORMATS


@contextmanager
def full_disk(room: int) -> Iterator[None]:
    """No file may grow beyond `room` bytes, as on a disk that is full; the system reports it in the same place."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_costs_nothing_that_was_there(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    with full_disk(100), pytest.raises(OSError, match="File too large"):
        write_bytes(file, b"x" * 1000)
    assert [*tmp_path.iterdir()] == []
    file.write_bytes(b"before")
    with full_disk(100), pytest.raises(OSError, match="File too large"):
        write_bytes(file, b"x" * 1000)
    assert file.read_bytes() == b"before"
    assert [*tmp_path.iterdir()] == [file]


def test_no_report_is_left_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["check", "first_bit", "--source", "bernoulli(0.5)", "--rho", "0.2"]
    files = [word for name in FORMATS for word in (f"--{name}", f"report.{name}")]

    def deliver_to_full_disk(*given: Any, **named: Any) -> Any:
        with full_disk(1):
            return deliver(*given, **named)

    monkeypatch.setattr(check, "deliver", deliver_to_full_disk)
    assert run([*words, *files]) == 1  # the verdict stands
    monkeypatch.setattr(check, "deliver", deliver)
    assert [*tmp_path.iterdir()] == []
    warned = " ".join(capsys.readouterr().err.split())
    assert all(f"cannot write --{name} report.{name}: File too large" in warned for name in FORMATS)
    assert run([*words, *files]) == 1
    assert {file.name for file in tmp_path.iterdir() if file.stat().st_size} == {f"report.{name}" for name in FORMATS}
    with full_disk(1), pytest.raises(UsageError, match="cannot write the baseline"):
        Baseline("report.json", head="#" * 9).write()
    assert (tmp_path / "report.json").read_bytes().startswith(b"{")


def test_links_rights_and_names_stay(tmp_path: Path) -> None:
    file, link, far = tmp_path / "file", tmp_path / "link", tmp_path / "far"
    file.write_bytes(b"old")
    file.chmod(0o640)
    link.symlink_to("file")
    far.symlink_to(link)
    write_bytes(far, b"new")
    assert (far.is_symlink(), link.is_symlink(), file.is_symlink()) == (True, True, False)
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"new", 0o640)
    other = tmp_path / "other"
    other.hardlink_to(file)
    write_bytes(file, b"newer")
    assert other.read_bytes() == b"newer"
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "made")
    write_bytes(dangling, b"made")
    assert (tmp_path / "made").read_bytes() == b"made"
    mask = os.umask(0o027)
    try:
        write_bytes(tmp_path / "masked", b"")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "masked").stat().st_mode) == 0o640
    longest = tmp_path / ("n" * 255)
    write_bytes(longest, b"long")
    assert longest.read_bytes() == b"long"


def test_pipes_devices_and_descriptors_are_written_to(tmp_path: Path) -> None:
    write_bytes("/dev/null", b"gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_bytes(pipe, b"through")
    reader.join()
    assert read == [b"through"]
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)
    with (tmp_path / "open").open("w+b") as there:
        link = tmp_path / "to descriptor"
        link.symlink_to(f"/dev/fd/{there.fileno()}")
        for name in (f"/dev/fd/{there.fileno()}", link):
            write_bytes(name, b"by descriptor")
            assert os.pread(there.fileno(), 99, 0) == b"by descriptor"  # the file that is open, and no new one
    assert {one.name for one in tmp_path.iterdir()} == {"pipe", "open", "to descriptor"}


def test_a_folder_that_takes_no_new_file_is_no_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    real = os.open

    def refusing(path: str, flags: int, *rest: int) -> int:
        if flags & os.O_EXCL:
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *rest)

    monkeypatch.setattr("auditor.files.os.open", refusing)
    write_bytes(file, b"new")
    assert file.read_bytes() == b"new"


def test_audits_that_overlap_in_threads_leave_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has the folder that it began in, and nothing has one when both are over, whichever ends first."""
    begun, over = threading.Event(), threading.Event()
    seen = []

    def second() -> None:
        with starting_here():
            begun.set()
            over.wait()
            seen.append(start_folder())

    monkeypatch.chdir(tmp_path)
    with starting_here():
        thread = threading.Thread(target=second)
        thread.start()
        begun.wait()
    monkeypatch.chdir("/")
    over.set()
    thread.join()
    assert (seen, start_folder()) == ([str(tmp_path)], "/")
