"""Does the answer survive another process? Pair 0 again, with another hash seed and its two runs in the other order.

It differs where the subject depends on the order of a set, or on what an earlier run left behind. The process is
started before the source is loaded, so that its imports cost no waiting.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from typing import Any

from auditor.lookup import importable_name
from auditor.outcome import fingerprint
from auditor.setup import Setup, make_bench, make_setup
from auditor.steadiness import limit_memory, one_thread
from auditor.subjects import load_subject, param_text

_START = 60.0  # seconds that a second process may take to start and to load


class SecondProcess:
    """A running second opinion on pair 0; a context manager that leaves no process behind."""

    def __init__(self, setup: Setup, *, timeout: float | None = None, memory: int | None = None) -> None:
        request = _request(setup)
        self._timeout = None if timeout is None else 2 * timeout + _START
        self._process: subprocess.Popen[str] | None = None
        self._alive: int | None = None
        if request:
            self._process, self._alive = _start(request | {"memory": memory})

    def __enter__(self) -> SecondProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is None:
            return
        with self._process:  # closes its pipes and waits for it
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)  # and whatever it started
        if self._alive is not None:
            os.close(self._alive)

    def compare(self, expected: str | None) -> str:
        """ "same", "different", or "skipped: why", against the fingerprint of the output here."""
        if self._process is None:
            return "skipped: the subject, the source or a parameter cannot be found by another process"
        if expected is None:
            return "skipped: the first run gave no output"
        try:
            answer, complaint = self._process.communicate(timeout=self._timeout)
        except subprocess.TimeoutExpired:
            return "skipped: the second process ended with no answer in time"
        if self._process.returncode:
            last = complaint.strip().rpartition("\n")[2]
            return f"skipped: the second process ended with code {self._process.returncode} ({last[:200]})"
        return "same" if json.loads(answer)["fingerprint"] == expected else "different"


def _request(setup: Setup) -> dict[str, Any] | None:
    """What the other process needs to know; None if it could not find the subject or the source."""
    subject = setup.subject
    source = setup.source if isinstance(setup.source, str) else getattr(setup.source, "spec", None)
    source = source or importable_name(setup.source)
    if not subject.is_reachable or source is None or setup.view.spec is None:
        return None
    return {
        "target": subject.target,
        "source": source,
        "size": setup.plan.size,
        "seed": setup.plan.seed,
        "randomness": subject.randomness,
        "sample": setup.sample_kind,
        "view": setup.view.spec,
        "probe": setup.probe,
        "resample": setup.resample,
        "private": setup.private,
        "texts": {name: param_text(value) for name, value in subject.params.items()},
    }


def _start(request: dict[str, Any]) -> tuple[subprocess.Popen[str], int]:
    """The process, and the end of a pipe that closes when this one is no more."""
    read, write = os.pipe()
    hash_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    process = subprocess.Popen(
        [sys.executable, "-m", "auditor.second_process", json.dumps(request | {"alive": read})],
        text=True,
        start_new_session=True,  # Ctrl-C is the parent's business
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": paths},
        pass_fds=(read,),
    )
    os.close(read)
    return process, write


def _leave_with_parent(alive: int) -> None:
    """A parent that was killed can end nobody."""
    os.read(alive, 1)
    os.killpg(os.getpgid(0), signal.SIGKILL)


def main() -> None:
    request = json.loads(sys.argv[1])
    threading.Thread(target=_leave_with_parent, args=(request["alive"],), daemon=True).start()
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever the subject prints is not the answer
    randomness = None if request["randomness"] == "Generator" else request["randomness"]
    subject = load_subject(request["target"], texts=request["texts"], randomness=randomness)
    options = {name: request[name] for name in ("size", "seed", "sample", "view", "probe", "resample", "private")}
    bench = replace(make_bench(make_setup(subject, request["source"], accept_overlap=True, **options)), copies=True)
    if request["memory"]:
        limit_memory(request["memory"])
    try:
        with one_thread():
            bench.run(0, 1)
            json.dump({"fingerprint": fingerprint(bench.see(bench.run(0, 0)))}, answer)
        answer.close()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(os.getpgid(0), signal.SIGTERM)  # a child that lives on would hold our pipes open


if __name__ == "__main__":
    main()
