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
from dataclasses import replace
from typing import Any

from auditor.lookup import importable_name
from auditor.outcome import fingerprint
from auditor.setup import Setup, make_bench, make_setup
from auditor.subjects import load_subject, param_text


class SecondProcess:
    """A running second opinion on pair 0; a context manager that leaves no process behind."""

    def __init__(self, setup: Setup) -> None:
        request = _request(setup)
        self._process = _start(request) if request else None

    def __enter__(self) -> SecondProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is None:
            return
        with self._process:  # closes its pipes and waits for it
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)  # and whatever it started

    def compare(self, output: Any) -> str:
        """ "same", "different", or "skipped: why"."""
        if self._process is None:
            return "skipped: the subject, the source or a parameter cannot be found by another process"
        answer, complaint = self._process.communicate()
        if self._process.returncode:
            last = complaint.strip().rpartition("\n")[2]
            return f"skipped: the second process ended with code {self._process.returncode} ({last[:200]})"
        return "same" if json.loads(answer)["fingerprint"] == fingerprint(output) else "different"


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


def _start(request: dict[str, Any]) -> subprocess.Popen[str]:
    hash_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    return subprocess.Popen(
        [sys.executable, "-m", "auditor.second_process", json.dumps(request)],
        text=True,
        start_new_session=True,  # Ctrl-C is the parent's business
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": paths},
    )


def main() -> None:
    request = json.loads(sys.argv[1])
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever the subject prints is not the answer
    randomness = None if request["randomness"] == "Generator" else request["randomness"]
    subject = load_subject(request["target"], texts=request["texts"], randomness=randomness)
    options = {name: request[name] for name in ("size", "seed", "sample", "view", "probe", "resample", "private")}
    bench = replace(make_bench(make_setup(subject, request["source"], **options)), copies=True)
    bench.run(0, 1)
    json.dump({"fingerprint": fingerprint(bench.see(bench.run(0, 0)))}, answer)
    answer.close()


if __name__ == "__main__":
    main()
