"""What a run leaves on disk for a later one: hidden state where the output depends on it, else a name in a warning."""

from __future__ import annotations

import ctypes
import glob
import hashlib
import json
import os
import pickle
import shelve
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from support.requests import bench_of

import auditor
from auditor.files import return_files
from auditor.trials.causes import files, outside
from auditor.trials.causes.files import Files, files_between_runs
from auditor.trials.second_process import file_clock

Learner = Callable[[Any, Any], Any]
IN_MEMORY = f"/dev/shm/test_files_{os.getpid()}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working folder, with another for temporary files beside it."""
    (tmp_path / "here").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    yield tmp_path
    for path in glob.glob(f"{IN_MEMORY}*"):
        os.remove(path)


def key_of(r: Any) -> int:
    return int(r.integers(2**32))


def mean(sample: Any) -> float:
    return float(np.mean(sample))


# Hidden state.


def text_by_r(sample: Any, r: Any) -> float:
    path = Path(f"model_{key_of(r)}.txt")
    if not path.exists():
        path.write_text(repr(mean(sample)))
    return float(path.read_text())


def one_pickle(sample: Any, r: Any) -> Any:
    try:
        with open("model.pkl", "rb") as file:
            return pickle.load(file)
    except FileNotFoundError:
        with open("model.pkl", "wb") as file:
            pickle.dump(mean(sample), file)
        return mean(sample)


def array_elsewhere(sample: Any, r: Any) -> float:
    path = os.path.join(tempfile.gettempdir(), f"weights_{key_of(r)}.npy")
    if os.path.exists(path):
        return float(np.load(path))
    np.save(path, mean(sample))
    return mean(sample)


def database(sample: Any, r: Any) -> Any:
    with sqlite3.connect("answers.db") as db:
        db.execute("pragma journal_mode=wal")
        db.execute("create table if not exists answers (key, value)")
        key = str(key_of(r))
        found = db.execute("select value from answers where key = ?", (key,)).fetchone()
        if found is None:
            db.execute("insert into answers values (?, ?)", (key, mean(sample)))
    db.close()
    return found[0] if found else mean(sample)


def in_a_folder(sample: Any, r: Any) -> float:
    path = Path("runs", f"of_{key_of(r)}")
    if path.is_dir():
        return float(np.load(path / "weights.npy"))
    path.mkdir(parents=True)
    np.save(path / "weights.npy", mean(sample))
    return mean(sample)


def renamed_into_place(sample: Any, r: Any) -> float:
    path = f"model_{key_of(r)}.json"
    if os.path.exists(path):
        return float(json.loads(Path(path).read_text()))
    descriptor = os.open("half_written", os.O_WRONLY | os.O_CREAT)
    os.write(descriptor, json.dumps(mean(sample)).encode())
    os.close(descriptor)
    os.replace("half_written", path)
    return mean(sample)


def appended(sample: Any, r: Any) -> float:
    key = key_of(r)
    with open("answers.jsonl", "a+") as file:
        file.seek(0)
        known = dict(map(json.loads, file))
        if key not in known:
            file.write(json.dumps([key, mean(sample)]) + "\n")
    return float(known.get(key, mean(sample)))


def counted(sample: Any, r: Any) -> int:
    Path("count").touch()
    with open("count", "r+") as file:
        count = int(file.read() or 0)
        file.seek(0)
        file.write(str(count + 1))
    return count


def written_in_c(sample: Any, r: Any) -> float:
    """As torch saves: Python hears nothing of it."""
    path = f"model_{key_of(r)}.bin"
    if not os.path.exists(path):
        libc = ctypes.CDLL(None)
        libc.fopen.restype = ctypes.c_void_p
        file = ctypes.c_void_p(libc.fopen(path.encode(), b"w"))
        libc.fputs(repr(mean(sample)).encode(), file)
        libc.fclose(file)
    return float(Path(path).read_text())


def read_in_c(sample: Any, r: Any) -> float:
    """As pyarrow and xgboost load: Python only asks whether the file is there."""
    path = os.path.join("deep", f"model_{key_of(r)}.bin")
    os.makedirs("deep", exist_ok=True)
    if not os.path.exists(path):
        subprocess.run(["cp", "/dev/stdin", path], input=repr(mean(sample)).encode(), check=True)
    return float(subprocess.run(["cat", path], capture_output=True, check=True).stdout)


def in_a_name(sample: Any, r: Any) -> float:
    start = f"mean_of_{key_of(r)}_"
    for name in os.listdir():
        if name.startswith(start):
            return float(name.removeprefix(start))
    Path(start + repr(mean(sample))).touch()
    return mean(sample)


def in_the_name_of_a_folder(sample: Any, r: Any) -> float:
    start = f"mean_of_{key_of(r)}_"
    with os.scandir() as entries:
        for entry in entries:
            if entry.name.startswith(start):
                return float(entry.name.removeprefix(start))
    os.mkdir(start + repr(mean(sample)))
    return mean(sample)


def in_a_link(sample: Any, r: Any) -> float:
    path = f"link_{key_of(r)}"
    if not os.path.islink(path):
        os.symlink(repr(mean(sample)), path)
    return float(os.readlink(path))


def in_a_date(sample: Any, r: Any) -> float:
    path = f"dated_{key_of(r)}"
    if not os.path.exists(path):
        Path(path).touch()
        os.utime(path, (0.0, mean(sample)))
    return os.path.getmtime(path)


def in_shared_memory(sample: Any, r: Any) -> float:
    path = Path(f"{IN_MEMORY}_{key_of(r)}")
    if not path.exists():
        path.write_text(repr(mean(sample)))
    return float(path.read_text())


def shelved(sample: Any, r: Any) -> Any:
    with shelve.open("shelf") as known:
        return known.setdefault(str(key_of(r)), mean(sample))


def by_joblib(sample: Any, r: Any) -> Any:
    memory = joblib.Memory("remembered", verbose=0)
    return memory.cache(_train, ignore=["sample"])(key_of(r), sample)


def _train(key: int, sample: Any) -> float:
    return mean(sample)


HIDDEN: dict[Learner, str] = {
    text_by_r: "model_",
    one_pickle: "model.pkl",
    array_elsewhere: "weights_",
    database: "answers.db",
    in_a_folder: "runs/of_",
    renamed_into_place: "model_",
    appended: "answers.jsonl",
    counted: "count",
    written_in_c: "model_",
    read_in_c: "deep/model_",
    in_a_name: "mean_of_",
    in_the_name_of_a_folder: "mean_of_",
    in_a_link: "link_",
    in_a_date: "dated_",
    in_shared_memory: "/dev/shm/",
    shelved: "shelf",
    by_joblib: "remembered/",
}


# Names in a warning.


def logged(sample: Any, r: Any) -> int:
    with open("run.log", "a") as file:
        file.write("a run\n")
    return 1


def logged_and_read(sample: Any, r: Any) -> int:
    with open("run.log", "a+") as file:
        file.seek(0)
        return int(len(file.read() + "a run\n") >= 0)


def scratch(sample: Any, r: Any) -> float:
    """Written anew by each run before it is read."""
    np.save("scratch.npy", sample)
    return float(np.load("scratch.npy").mean())


def by_sample(sample: Any, r: Any) -> float:
    """A cache whose key holds all that the answer depends on."""
    path = Path(f"of_{hashlib.sha256(np.asarray(sample).tobytes()).hexdigest()[:8]}")
    if not path.exists():
        path.write_text(repr(mean(sample)))
    return float(path.read_text())


def with_a_header(sample: Any, r: Any) -> int:
    """A table that grows by a line in each run, and is looked for first."""
    is_new = not os.path.exists("table.csv")
    with open("table.csv", "a") as file:
        file.write("header\n" * is_new + "line\n")
    return 1


def left_behind(sample: Any, r: Any) -> int:
    descriptor, _ = tempfile.mkstemp()
    os.close(descriptor)
    return 1


WARNED: dict[Learner, tuple[list[str], list[str]]] = {  # written; read later
    logged: (["run.log"], []),
    logged_and_read: ([], ["run.log"]),
    scratch: (["scratch.npy"], []),
    with_a_header: (["table.csv"], []),
    by_sample: (["of_", "of_"], []),
    left_behind: (["tmp*"], []),
}


# Nothing to say.


def temporary(sample: Any, r: Any) -> float:
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.NamedTemporaryFile() as file,
        tempfile.TemporaryFile() as other,
    ):
        np.save(f"{folder}/a.npy", sample)
        file.write(b"x")
        other.write(b"x")
        return float(np.load(f"{folder}/a.npy").mean())


def in_memory(sample: Any, r: Any) -> float:
    for name in (":memory:", "file:x?mode=memory", ""):
        sqlite3.connect(name, uri=True).close()
    return mean(sample)


def nowhere(sample: Any, r: Any) -> int:
    with open(os.devnull, "w") as file, open("/proc/self/status") as status:
        return file.write(status.read()[:1])


def looked_around(sample: Any, r: Any) -> float:
    """Whose answer depends on what was there before, and on nothing that a run leaves."""
    return len(os.listdir()) + os.path.getsize("config.json") + os.path.exists("nowhere") + Path.cwd().stat().st_uid


def configured(sample: Any, r: Any) -> Any:
    return json.loads(Path("config.json").read_text())


def caches_of_libraries(sample: Any, r: Any) -> int:
    for path in (".cache/fontconfig/a", "__pycache__/learner.nbi", "config/matplotlib/fontlist.json", "kernels.nbc"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text("x")
        Path(path).read_text()
    return 1


def drawing(sample: Any, r: Any) -> float:
    return mean(sample)


SILENT = (temporary, in_memory, nowhere, looked_around, configured, caches_of_libraries, drawing)


def found(learner: Learner, *, since: float | None = None) -> Files:
    return files_between_runs(bench_of(learner, "uniform", size=8), file_clock() if since is None else since)


def there() -> dict[str, Any]:
    paths = (path for place in ("../here", "../temporary") for path in Path(place).rglob("*"))
    return {str(path): path.read_bytes() if path.is_file() else None for path in paths}


@pytest.mark.parametrize("learner", HIDDEN, ids=lambda one: one.__name__)
def test_what_a_later_run_answers_with_is_found(learner: Learner) -> None:
    for _ in range(2):  # nothing of the first look is there at the second
        files = found(learner)
        assert files.difference is not None
        assert any(HIDDEN[learner] in name for name in files.read_later), files
        assert there() == {}
        if learner not in (written_in_c, read_in_c, in_the_name_of_a_folder, shelved):  # 3.13: a shelf is a database
            assert Path(__file__).name in files.where


@pytest.mark.parametrize("learner", HIDDEN, ids=lambda one: one.__name__)
def test_it_is_found_after_runs_of_the_same_audit_too(learner: Learner) -> None:
    """With their files as they were: of pairs 0 and 1, since the audit began."""
    since, bench = (
        file_clock() - 1,
        bench_of(learner, "uniform", size=8),
    )  # a tick of that clock takes longer than these runs
    for index in (0, 1):
        bench.run(index, 0)
    before = there()
    assert found(learner, since=since).difference is not None
    assert there() == before


@pytest.mark.parametrize("learner", WARNED, ids=lambda one: one.__name__)
def test_what_changes_no_answer_is_named(learner: Learner) -> None:
    written, read_later = WARNED[learner]
    files = found(learner)
    assert files.difference is None
    assert [len(files.written), len(files.read_later)] == [len(written), len(read_later)]
    assert all(
        words in name for words, name in zip(written + read_later, files.written + files.read_later, strict=True)
    )
    assert "scratch.npy" not in there()


@pytest.mark.parametrize("learner", SILENT, ids=lambda one: one.__name__)
def test_nothing_is_said_of_files_that_are_nobodys_memory(learner: Learner) -> None:
    Path("config.json").write_text("[1]")
    assert found(learner) == Files()
    assert Path("config.json").read_text() == "[1]"


def test_a_file_of_before_the_audit_is_left_alone_and_named_if_a_run_would_make_it() -> None:
    one_pickle([2.0], None)
    before = os.stat("model.pkl")
    files = found(one_pickle, since=file_clock() + 10)
    assert (files.made_if_missing, files.difference, files.written) == (("model.pkl",), None, ())
    now = os.stat("model.pkl")
    assert (now.st_mtime_ns, now.st_ino) == (before.st_mtime_ns, before.st_ino)
    assert one_pickle([3.0], None) == 2.0


def test_a_file_that_was_there_stays_whatever_runs_do_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is too large to be kept in memory too, and one that was left by a process which was killed."""
    monkeypatch.setattr(outside, "_LARGEST", 10)
    Path("answers.jsonl").write_text("[1, 0.5]\n" * 2)
    assert found(appended).difference is not None
    assert Path("answers.jsonl").read_text().startswith("[1, 0.5]\n" * 2)
    Path("model.pkl.kept-by-auditor").write_text("precious")
    one_pickle([2.0], None)
    assert found(one_pickle, since=0.0).difference is None
    assert Path("model.pkl.kept-by-auditor").read_text() == "precious"
    assert one_pickle([3.0], None) == 2.0


def test_a_name_with_the_number_of_the_process_is_the_same_in_every_record() -> None:
    def of_process(sample: Any, r: Any) -> int:
        Path(f"log-{os.getpid()}").touch()
        return 1

    assert found(of_process).written == ("log-*",)


def test_a_name_that_is_no_text_is_shown() -> None:
    def oddly_named(sample: Any, r: Any) -> int:
        with open(b"run_\xff.log", "ab") as file:
            file.write(b"a run")
        return 1

    assert found(oddly_named).written == (r"run_\xff.log",)


def test_a_run_that_raises_leaves_what_it_wrote_to_be_named() -> None:
    def raising(sample: Any, r: Any) -> Any:
        logged(sample, r)
        raise ValueError

    assert found(raising) == Files()
    assert there() == {}


# In an audit.


def audited(learner: Learner) -> Any:
    return auditor.audit(learner, "uniform", size=8, pairs=40)


def test_an_audit_refuses_a_checkpoint_at_every_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a second process: a hook would stay in this one for good."""

    def install() -> None:
        raise AssertionError("an audit hook in the caller's process")

    monkeypatch.setattr(outside, "_install", install)
    first, again = audited(text_by_r), audited(text_by_r)
    assert first.verdict == again.verdict == "error"
    assert first.reason == again.reason
    assert "is not a function of (sample, r): the file model_" in first.reason
    assert f"{Path(__file__).name}:" in first.reason
    assert "remove what earlier runs left" in first.reason


def test_an_audit_names_a_log() -> None:
    record = audited(logged)
    assert record.verdict == "pass"
    (said,) = [one.message for one in record.findings if one.kind == "files"]
    assert said == "opened for writing by a run, and read by no later one: run.log"


@pytest.mark.usefixtures("folder")
def test_a_file_is_found_though_the_outputs_of_many_pairs_agree_by_chance() -> None:
    """A coin of the sample, kept by r: the two samples of a pair show the same side in half of the pairs."""

    def kept_coin(sample: Any, r: Any) -> str:
        place = Path(f"coin-{r.integers(10**9)}.txt")
        if not place.exists():
            place.write_text(str(bool(sample[0] < 0.5)))
        return place.read_text()

    for seed in range(30):  # each is missed with probability 2^-20
        bench = bench_of(kept_coin, "uniform", size=1, seed=seed)
        assert files_between_runs(bench, file_clock()).difference is not None, f"not found with seed {seed}"


def test_what_a_killed_process_had_taken_away_is_put_back_by_its_journal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A learner that reads its file and answers the same without: only then is a file of the user's taken away."""
    journal = str(folder / "journal.json")
    Path("run.log").write_text("precious\n")
    with monkeypatch.context() as killed:
        killed.setattr(files, "return_aside", lambda paths: None)
        files_between_runs(bench_of(logged_and_read, "uniform", size=8), file_clock(), journal=journal)
    aside = Path("run.log.kept-by-auditor")
    assert aside.read_text() == "precious\n"
    Path("run.log").unlink()
    for _ in range(2):  # the second time all is where it was
        return_files(journal)
        assert (Path("run.log").read_text(), aside.exists()) == ("precious\n", False)
    return_files(str(folder / "none.json"))
