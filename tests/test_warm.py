"""Commands as forks: they end as processes do, whoever else does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.processes import is_alive, on_linux, wait_until
from support.warm import Command, Warm

pytestmark = on_linux
ROWS = ("--source", "faulty:rows", "--size", "5")


@pytest.fixture
def own() -> Iterator[Warm]:
    """One that no other test needs."""
    if sys.platform != "linux":
        pytest.skip("whoever is left behind is found in /proc")
    made = Warm(loaded=False)
    yield made
    made.close()


def test_whoever_has_ended_hears_no_signal(warm: Warm) -> None:
    process = warm.start("plan")
    assert wait_until(lambda: not is_alive(process.pid))
    process.send_signal(signal.SIGINT)
    process.kill()
    assert process.wait() == 0


def test_a_copy_of_this_process_does_not_keep_it(own: Warm) -> None:
    read, write = os.pipe()
    copy = os.fork()
    if copy == 0:
        signal.alarm(120)  # where it does keep it
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    own.close()
    assert os.waitpid(copy, os.WNOHANG) == (0, 0)
    os.close(write)
    os.close(read)
    os.waitpid(copy, 0)


def test_nobody_waits_for_one_whose_server_was_killed(own: Warm) -> None:
    process = own.start("check", "faulty:sleeps_long", *ROWS, second=False)
    own._process.kill()
    with pytest.raises(EOFError, match="has ended, and nobody knows"):
        process.wait()
    process.kill()
    assert wait_until(lambda: not is_alive(process.pid))


def test_an_interrupt_ends_what_is_waited_for(own: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Command] = []

    def wait(process: Command) -> int:
        started.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(Command, "wait", wait)
    with pytest.raises(KeyboardInterrupt):
        own.run("check", "faulty:sleeps_long", *ROWS, second=False)
    assert wait_until(lambda: not is_alive(started[0].pid), 60)


def test_streams_are_those_of_an_interpreter(warm: Warm, tmp_path: Path) -> None:
    """What they do with words that they cannot write: that ours show them is our doing."""
    said = "import sys\ndef main(): print(sys.stdout.errors, sys.stderr.errors)\n"
    (tmp_path / "said.py").write_text(said)
    forked = warm.run(cwd=tmp_path, entry="said:main").stdout
    code = [sys.executable, "-c", f"{said}main()"]
    assert forked == subprocess.run(code, capture_output=True, text=True, check=True).stdout
