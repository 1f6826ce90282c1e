"""Bad files of every format that is read: data sets, records, ledgers, projects; and what is no file at all."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from bad import CHECK, Bad
from fault import FAILS, FAULT, PASSES, USAGE
from playground import GOOD, spoil_ledger, spoilt_names

from auditor.cli.commands.replay import replay
from auditor.flow.record import Record

_TRUST = ("--trust",) if any(option.name == "trust" for option in replay.params) else ()
_CSV: dict[str, bytes] = {
    "empty": b"",
    "line": b"\n",
    "header": b"a,b\n",
    "one": b"a,b\n1,2\n",
    "latin": "a,b\n1,é\n2,è\n".encode("latin-1"),
    "utf16": "a,b\n1,2\n3,4\n".encode("utf-16"),
    "nul": b"a,b\n1,\x00\n2,3\n",
    "long": b"a,b\n1," + b"9" * 200_000 + b"\n2,3\n",
    "duplicate": b"a,a\n1,2\n3,4\n",
    "unnamed": b",\n1,2\n3,4\n",
    "overflow": b"a,b\n1,1e400\n2,3\n",
    "infinite": b"a,b\n1,inf\n2,-inf\n",
    "digits": b"a,b\n1," + b"9" * 400 + b"\n2,3\n",
    "semicolon": b"a;b\n1;2\n3;4\n5;6\n",
    "tab": b"a\tb\n1\t2\n3\t4\n5\t6\n",
    "ragged": b"a,b\n1,2\n3\n",
    "hole": b"a,b\n1,\n3,4\n",
    "nan": b"a,b\n1,nan\n3,4\n",
    "mixed": b"a,b\n1,x\n3,4\n",
    "quote": b'a,b\n1,"2\n3,4\n',
    "binary": bytes(range(256)) * 40,
    "markup": b"[/b],\x1b[31m\n1,\n3,4\n",
}


def _npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _zip(member: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(member, data)
    return file.getvalue()


def _npy(shape: str) -> bytes:
    """An array whose header promises more than there is."""
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + b"\0" * 64


_NPZ = {
    "empty": b"",
    "junk": b"no zip at all" * 9,
    "pickled": _npz(x=np.array([[1], {}, None], dtype=object)),
    "none": _npz(),
    "scalar": _npz(x=np.array(1.0)),
    "rowless": _npz(x=np.empty((0, 3))),
    "single": _npz(x=np.ones((1, 3))),
    "uneven": _npz(X=np.ones((5, 2)), y=np.ones(4)),
    "columns": _npz(a=np.ones(5), b=np.ones(4)),
    "nan": _npz(x=np.full((5, 2), np.nan)),
    "promise": _zip("x.npy", _npy("(1000000000000,)")),
    "negative": _zip("x.npy", _npy("(-5,)")),
    "shape": _zip("x.npy", _npy("'x'")),
    "text": _zip("x.npy", b"hello"),
    "member": _zip("../x.txt", b"hello"),
    "array": _npy("(3,)"),
}


def _parquets() -> dict[str, bytes]:
    import pyarrow as pa
    import pyarrow.parquet

    def written(table: Any) -> bytes:
        sink = io.BytesIO()
        pyarrow.parquet.write_table(table, sink)
        return sink.getvalue()

    ones = pa.array([1.0, 2.0, 3.0])
    return {
        "empty": b"",
        "junk": b"PAR1" + b"junk" * 20 + b"PAR1",
        "magic": b"PAR1",
        "nulls": written(pa.table({"a": [1, None, 3]})),
        "rowless": written(pa.table({"a": pa.array([], pa.float64())})),
        "columnless": written(pa.table({})),
        "single": written(pa.table({"a": [1]})),
        "duplicate": written(pa.Table.from_arrays([ones, ones], names=["a", "a"])),
        "nan": written(pa.table({"a": [1.0, float("nan")]})),
    }


_TOML = {
    "empty": "",
    "junk": "][",
    "none": "[tool.other]\n",
    "bare": "[tool.auditor]\nconfidence = 0.9\n",
    "tool": "tool = 3\n",
    "list": "tool = [1]\n",
    "number": "[tool]\nauditor = 3\n",
    "array": "[tool]\nauditor = [1]\n",
    "word": '[tool.auditor]\nsubject = "x"\n',
    "numbers": "[tool.auditor]\nsubject = [1, 2]\n",
    "table": "[tool.auditor.subject]\ntarget = 'mine:fine'\n",
    "twice": "[tool.auditor]\n[tool.auditor]\n",
    "deep": "x = " + "[" * 5000 + "]" * 5000,
    "inline": "x = " + "{a=" * 5000,
    "keys": ".".join("a" * 3000) + " = 1\n",
}
_SUBJECT = "[[tool.auditor.subject]]\n"
_FINE = 'target = "mine:fine"\nsource = "mine:rows"\nsize = 5\n'
_LINES = (
    *(
        "target = 3",
        "target = ''",
        "target = 'x'",
        "target = 1979-05-27",
        "target = 'mine:nothing'",
        "target = '[/b]:x'",
    ),
    *("source = 3", "source = 'nosuch'", "source = ''", "source = 'missing.csv'", "source = 'fifo.csv'"),
    *("size = 'x'", "size = -1", "size = 1.5", "size = 9223372036854775808", "size = true", "size = []", "size = inf"),
    *(
        "rho = 'x'",
        "rho = nan",
        "rho = inf",
        "rho = 2",
        "rho = 0",
        "rho = -0.5",
        "pairs = 3",
        "pairs = 'x'",
        "fixed = 3",
    ),
    *("fixed = -1", "params = 3", "params = {nothing = 1}", "params = []", "randomness = 'x'", "sample = 'heap'"),
    *("view = 'x'", "view = 3", "probe = -1", "probe = 'missing.csv'", "probe = []", "resample = 'x'", "resample = 3"),
    *(
        "gate = 'x'",
        "gate = 3",
        "expect = 'x'",
        "expect = 'fail'",
        "expect = 3",
        "reason = 3",
        "nothing = 1",
        "seed = -1",
        "seed = 'x'",
    ),
    *(
        "eta = 0.1",
        "eta = 2\nnu = 0.1",
        "nu = 'x'\neta = 0.1",
        "jobs = 0",
        "jobs = 'x'",
        "timeout = 'x'",
        "timeout = -1",
    ),
    *("memory = 'lots'", "on_error = 'x'", "cluster = 'here'", "cluster = 3", "loss = 'mine:nothing'", "loss = 3"),
    *("inputs = []", "inputs = 3", "private = 'x'", "delta = 0.1", "resume = true", "confidence = 2", "family = 2"),
    *("sample = ''", "randomness = ''", "view = ''", "gate = ''", "expect = ''", "probe = ''", "source = ' '"),
    *(
        "source = 'good.csv'\nresample = ''",
        "pairs = 99\nfixed = 99",
        "'[/b]' = 1",
        "params = {sample = 1}",
        "sample = 'counts'",
        "gate = 'churn'",
    ),
)
_TOPS = (
    "confidence = 'x'",
    "confidence = 2",
    "confidence = nan",
    "confidence = 0",
    "seed = -1",
    "seed = 'x'",
    "no = 1",
)
_JSON = {
    "empty": b"",
    "null": b"null",
    "list": b"[]",
    "object": b"{}",
    "number": b"3",
    "deep": b"[" * 99_999,
    "nested": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "nan": b'{"pairs": NaN}',
    "latin": b'{"subject": "\xe9"}',
    "utf16": '{"subject": "x"}'.encode("utf-16"),
    "nul": b"\0" * 99,
    "huge": b'{"pairs": ' + b"9" * 9999 + b"}",
    "schema": b'{"schema": "auditor.record/99"}',
}
_JUNK = {"null": None, "list": [], "word": "[/b]", "negative": -1, "huge": 10**30}
_NAMED = ("subject", "source", "view", "randomness", "resample", "sample_kind")  # what a replay takes from an old one
_ASKED = ("source", "view", "randomness", "resample", "sample", "inputs", "private", "gate")  # and from one of ours
_FIRST = {"schema": "auditor.record/1", "measure": "rho", "arms": None}  # what makes a record an old one
_NAMES = {
    "nul": "mine:fi\x00ne",
    "module": "mi\x00ne:fine",
    "control": "mine:\x1b[31mfine",
    "line": "mine:fine\n",
    "bidi": "mine:\u202efine",
    "surrogate": "mine:\udc80",
    "long": "n" * 10**5,
    "longer": "n" * 10**5 + ":fine",
    "dots": "n." * 50_000 + "n:fine",
    "deep": "norm(" + "-" * 10**5 + "1)",
}
_STATEMENTS = {
    "version": "PRAGMA user_version = 99",
    "kind": "PRAGMA application_id = 1",
    "tableless": "DROP TABLE trials",
    "plan": "UPDATE audits SET plan = 'junk'",
    "list": "UPDATE audits SET plan = '[1]'",
    "record": "UPDATE audits SET record = 'junk'",
    "object": "UPDATE audits SET record = '{}'",
    "difference": "UPDATE trials SET difference = 'junk'",
    "pair": "UPDATE trials SET pair = -pair - 7",
    "churn": "UPDATE trials SET churn = 9e99",
    "bottoms": "UPDATE trials SET bottoms = '3'",
    "mismatch": 'UPDATE trials SET difference = \'["output", "1", "2"]\' WHERE pair = 3',
    "extra": "CREATE TABLE x (y)",
}
_PLACES = (
    "folder{0}",
    "fifo{0}",
    "zero{0}",
    "loop{0}",
    "missing{0}",
    "missing/x{0}",
    "mine.py/x{0}",
    "{1}{0}",
    "\x00{0}",
)
_DEVICES = ("", ".", "/", "/dev/zero", "/dev/null", "/dev/full", "/dev/stdin", "/proc/self/mem", "[/b]", "\udc80")
_HOW: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    ".csv": (("check", "mine:fine", "--size", "5", "--source"), ()),
    ".npz": (("check", "mine:fine", "--size", "5", "--source"), ()),
    ".parquet": (("check", "mine:fine", "--size", "5", "--source"), ()),
    ".toml": (("gate", "--config"), ()),
    ".json": (("replay",), ("--pair", "0", *_TRUST)),
    ".sqlite": (("history", "mine:fine", "--ledger"), ()),
}


def _read(kind: str, file: str, *codes: int, ci: bool = True) -> Bad:
    before, after = _HOW[kind]
    return Bad(f"files, {kind[1:]}", (*before, file, *after), codes or (USAGE,), ci=ci)


def _fields() -> Iterator[tuple[str, str]]:
    """Each field of a record, with something else in it."""
    for name in Record.__struct_fields__:
        for junk in _JUNK:
            yield name, junk


def write_bad_files(folder: Path) -> None:
    for suffix, files in ((".csv", _CSV), (".npz", _NPZ), (".parquet", _parquets()), (".json", _JSON)):
        for name, data in files.items():
            (folder / f"bad-{name}{suffix}").write_bytes(data)
    for name, text in _TOML.items():
        (folder / f"bad-{name}.toml").write_text(text)
    (folder / "bad-latin.toml").write_bytes("x = 'é'".encode("latin-1"))
    (folder / "bad-utf16.toml").write_bytes("x = 1".encode("utf-16"))
    (folder / "bad-nul.toml").write_bytes(b"\0")
    for i, line in enumerate(_LINES):
        kept = [own for own in _FINE.splitlines() if own.split()[0] != line.split()[0]]
        (folder / f"line{i}.toml").write_text("\n".join([_SUBJECT, *kept, line, ""]))
    for i, line in enumerate(_TOPS):
        (folder / f"top{i}.toml").write_text(f"[tool.auditor]\n{line}\n{_SUBJECT}{_FINE}")
    good = json.loads((folder / "good.json").read_bytes())
    for name, junk in _fields():
        (folder / f"field-{name}-{junk}.json").write_text(json.dumps({**good, name: _JUNK[junk]}))
    for name, junk in product(_NAMED, _NAMES):
        (folder / f"name-{name}-{junk}.json").write_text(json.dumps({**good, **_FIRST, name: _NAMES[junk]}))
    for name, junk in product(_ASKED, _NAMES):
        asked = {**good["asked"], name: [_NAMES[junk]] if name == "source" else _NAMES[junk]}
        (folder / f"asked-{name}-{junk}.json").write_text(json.dumps({**good, "asked": asked}))
        (folder / f"subject-{junk}.json").write_text(json.dumps({**good, "subject": _NAMES[junk]}))
    for name, statement in _STATEMENTS.items():
        spoil_ledger(folder, f"bad-{name}.sqlite", statement)
    (folder / "bad-text.sqlite").write_text("no database at all\n" * 99)
    for name, text in (("bad.json", "["), ("object.json", "{}"), ("empty.txt", ""), ("empty.json", "")):
        (folder / name).write_text(text)
    (folder / "deep.json").write_text("[" * 99_999)
    (folder / "latin.txt").write_bytes(b"\xe9\n")
    for name, data in (("binary", bytes(range(256))), ("latin", b"x = '\xe9'"), ("empty", b""), ("nul", b"\0")):
        (folder / f"{name}.py").write_bytes(data)
    (folder / "broken.py").write_text("def (:\n")


def _bad_files() -> Iterator[Bad]:
    for kind, names in ((".csv", _CSV), (".npz", _NPZ), (".toml", _TOML), (".json", _JSON)):
        for name in names:
            yield _read(kind, f"bad-{name}{kind}", *((PASSES, USAGE) if name == "infinite" else ()))
    for name in ("empty", "junk", "magic", "nulls", "rowless", "columnless", "single", "duplicate", "nan"):
        yield _read(".parquet", f"bad-{name}.parquet")
    named = set[str]()
    for i, line in enumerate(_LINES):  # the first of each key and a third of the others always
        key = line.split()[0]
        yield _read(".toml", f"line{i}.toml", ci=key not in named or i % 3 == 0)
        named.add(key)
    for i in range(len(_TOPS)):
        yield _read(".toml", f"top{i}.toml")
    for name in ("latin", "utf16", "nul"):
        yield _read(".toml", f"bad-{name}.toml")
    for kind in _HOW:
        for place in _PLACES:
            yield _read(kind, place.format(kind, "n" * 300))
    for kind in (".toml", ".json", ".sqlite"):
        for device in _DEVICES:
            yield _read(kind, device)
    for file in (
        "good.csv#nothing",
        "good.csv#",
        "good.npz#nothing",
        "good.csv#[/b]",
        "good.csv#a#b",
    ):
        yield _read(".csv", file, *((PASSES, USAGE) if file.endswith("#") else ()))
    yield _read(".parquet", "good.parquet#x")
    for name, junk in _fields():
        yield _read(".json", f"field-{name}-{junk}.json", PASSES, USAGE, ci=junk == "word")
    for how, names in (("name", _NAMED), ("asked", _ASKED)):  # each name somewhere, and several everywhere, always
        for (i, name), (j, junk) in product(enumerate(names), enumerate(_NAMES)):
            yield _read(".json", f"{how}-{name}-{junk}.json", ci=(i + j) % 4 == 0)
    for junk in _NAMES:
        yield _read(".json", f"subject-{junk}.json")
    for name in _STATEMENTS:
        yield _read(".sqlite", f"bad-{name}.sqlite", PASSES, USAGE)
        words = (*CHECK, "--rho", "0.5", "--ledger", f"bad-{name}.sqlite", "--resume")
        yield Bad("files, sqlite", words, (USAGE,) if name != "extra" else (PASSES, USAGE), ci=name != "extra")


def _spoilt() -> Iterator[Bad]:
    """What a damaged copy says is anybody's guess; that it is read in peace is not."""
    for good in GOOD:
        kind = "." + good.partition(".")[2]
        for i, name in enumerate(spoilt_names(good)):
            data = kind in (".csv", ".npz", ".parquet")
            codes = (PASSES, FAILS, USAGE, FAULT) if data else (PASSES, USAGE)
            yield _read(kind, name, *codes, ci=i % 6 == 0)


BAD_FILES = (*_bad_files(), *_spoilt())
