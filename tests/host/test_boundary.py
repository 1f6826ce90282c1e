"""What crosses between a command and its host: our own objects as they are, everything of somebody's code closed."""

from __future__ import annotations

import functools
import io
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auditor.errors import SubjectError, UsageError
from auditor.host.boundary import (
    Connection,
    HostAnswer,
    HostFailed,
    Opaque,
    answer_bytes,
    call_in,
    connected,
    connection,
    read_answer,
    run_in_host,
)
from auditor.host.server import Host, here, server
from auditor.subjects.subject import Subject, load_subject
from auditor.values import make_tolerance

THEIRS = """
import functools, os
runs = []
def fit(sample, r, *, k=3): return len(runs)
@functools.cache
def cached(x): return x
class Kind:
    def method(self): return 7
made = Kind()
def leave(): os._exit(3)
def odd(): raise ValueError("no")
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    (tmp_path / "theirs.py").write_text(THEIRS)
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as searched:
        searched.setattr(sys, "path", [str(tmp_path), *sys.path])
        with connected(lambda: Host(server(), here())) as found:
            yield found


# These run in the host, by their names.


def theirs(name: str) -> Any:
    import theirs

    found = getattr(theirs, name)
    return [found, functools.partial(found.method), {"method": found.method}] if name == "made" else found


def is_same(thing: Any, name: str) -> bool:
    return thing is getattr(sys.modules["theirs"], name)


@pytest.mark.parametrize("name", ["fit", "cached", "Kind"])
def test_what_is_somebodys_comes_closed_and_goes_back_as_the_same_object(host: Connection, name: str) -> None:
    found = run_in_host(theirs, name)
    assert isinstance(found, Opaque)
    assert repr(found).endswith(name)
    assert run_in_host(is_same, found, name)
    assert "theirs" not in sys.modules
    with pytest.raises(HostFailed, match="was called outside its host"):
        found()


def test_it_is_closed_inside_containers_partials_and_bound_methods_too(host: Connection) -> None:
    made, partial, methods = run_in_host(theirs, "made")
    assert isinstance(made, Opaque)
    assert isinstance(partial, functools.partial)
    assert isinstance(partial.func, Opaque)
    assert isinstance(methods["method"], Opaque)


def test_a_subject_is_ours_with_what_is_somebodys_inside(host: Connection) -> None:
    subject = load_subject("theirs:fit")
    assert isinstance(subject, Subject)
    assert isinstance(subject.fn, Opaque)
    assert (subject.name, subject.settings, subject.is_reachable) == ("theirs:fit", {"k": 3}, True)
    assert "theirs" not in sys.modules


def test_another_host_opens_it_by_its_name(host: Connection) -> None:
    found = run_in_host(theirs, "fit")
    other = Host(server(), here())
    assert call_in(other, is_same, found, "fit")
    other.close()


@pytest.mark.parametrize(("count", "kind"), [(10, np.ndarray), (10**5, Opaque)])
def test_large_arrays_stay_where_they_are(host: Connection, count: int, kind: type) -> None:
    assert isinstance(run_in_host(np.zeros, count), kind)


def test_errors_come_back_as_they_were_and_a_host_that_ends_is_one(host: Connection) -> None:
    with pytest.raises(UsageError, match="no module named 'nowhere'"):
        load_subject("nowhere:fit")
    with pytest.raises(UsageError, match="atol=-1"):
        run_in_host(make_tolerance, -1, None)
    with pytest.raises(SubjectError, match=r"ended its process before there was a verdict \(exit status 3\)"):
        run_in_host(call_theirs, "leave")
    assert load_subject("theirs:fit").name == "theirs:fit", "a new host answers"


def call_theirs(name: str) -> Any:
    return theirs(name)()


def test_a_function_of_ours_without_a_name_is_sent_as_it_is(host: Connection) -> None:
    more = 5
    assert run_in_host(functools.reduce, lambda total, one: total + one + more, [1, 2]) == 8


def test_a_slip_of_our_own_has_its_traceback(host: Connection) -> None:
    with pytest.raises(HostFailed, match="ZeroDivisionError"):
        run_in_host(divmod, 1, 0)


def test_no_answer_imports_what_it_names() -> None:
    file = io.BytesIO()
    pickle.Pickler(file).dump((Host, None, "", (), {}))
    assert read_answer(file.getvalue()) is Host
    foreign = pickle.dumps((pytest.raises, None, "", (), {}))
    with pytest.raises(HostFailed, match=r"a host answered with _pytest\.raises\.raises"):
        read_answer(foreign)
    assert read_answer(answer_bytes(HostAnswer((1, "a", None)))) == (1, "a", None)


def test_without_a_connection_functions_run_here() -> None:
    assert connection() is None
    assert run_in_host(len, "abc") == 3
