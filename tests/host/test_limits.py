"""One BLAS thread, also in libraries that are loaded later: who was found is kept, until there is another."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.processes import on_linux

from auditor.host import limits

CODE = """
from threadpoolctl import threadpool_info
from auditor.host.limits import one_thread

def threads():
    with one_thread():
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

import numpy
first = threads()
import scipy.linalg  # which brings a library of its own
print(first, threads())
"""


def test_a_library_that_is_loaded_between_two_looks_has_one_thread_too() -> None:
    said = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout
    assert said in ("[1] [1, 1]\n", "[1] [1]\n"), "the second where both have one library"


@on_linux
def test_who_was_found_is_found_anew_where_nobody_says_what_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    first = limits.known_libraries()
    assert limits._mapped()
    assert limits.known_libraries() is first
    monkeypatch.setattr(limits, "_mapped", lambda: b"")
    assert limits.known_libraries() is not first
    assert limits.known_libraries() is not limits.known_libraries()
