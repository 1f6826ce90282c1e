"""The folder that bad inputs are tried in: good files of each kind, and the ways to spoil them."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from auditor.cli.command_line import run

MINE = """
import numpy as np
NOT = 3
def rows(rng, size): return rng.random(size)
def fine(sample, r): return 42
def needs_k(sample, r, k): return k
def has_k(sample, r, *, k=1): return 1
def has_x(sample, r, *, x=1): return x
def loss(output, rows): return np.zeros(len(rows))
def answer(sample, r, *, query=None): return 1
def analyst(ask, rng): ask(None)
def raises(rng): raise ValueError
def endless(rng):
    while True: yield 1
class Model:
    def predict(self, probe): return np.zeros(len(probe))
def model(sample, r): return Model()
"""
FLIPS = 24  # damaged copies of each kind
Spoil = Callable[[bytes, random.Random], bytes]


def flipped(data: bytes, rng: random.Random) -> bytes:
    """One bit is another."""
    where = rng.randrange(len(data) * 8)
    changed = bytearray(data)
    changed[where // 8] ^= 1 << where % 8
    return bytes(changed)


def truncated(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(1, len(data))]


def overwritten(data: bytes, rng: random.Random) -> bytes:
    """A block of a disk that came back as another."""
    start = rng.randrange(len(data))
    return data[:start] + rng.randbytes(min(512, len(data) - start)) + data[start + 512 :]


SPOILS: dict[str, Spoil] = {"flipped": flipped, "truncated": truncated, "overwritten": overwritten}
GOOD = ("good.csv", "good.npz", "good.parquet", "good.json", "good.sqlite", "good.toml")


def spoilt_names(good: str) -> list[str]:
    suffix = good.partition(".")[2]
    return [f"{how}{i}.{suffix}" for how in SPOILS for i in range(FLIPS if how == "flipped" else FLIPS // 3)]


def make_playground(folder: Path) -> None:
    """Everything that the tables of bad inputs name."""
    (folder / "mine.py").write_text(MINE)
    (folder / "folder").mkdir()
    _make_good(folder)
    for good in GOOD:
        data = (folder / good).read_bytes()
        for name in spoilt_names(good):
            how = next(how for how in SPOILS if name.startswith(how))
            (folder / name).write_bytes(SPOILS[how](data, random.Random(name)))
    for suffix in ("", ".py", ".csv", ".npz", ".parquet", ".json", ".toml", ".txt", ".sqlite"):
        os.mkfifo(folder / f"fifo{suffix}")
        if suffix:
            (folder / f"folder{suffix}").mkdir()
            (folder / f"zero{suffix}").symlink_to("/dev/zero")
            (folder / f"loop{suffix}").symlink_to(f"loop{suffix}")


def _make_good(folder: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    x, y = rng.random((40, 2)), rng.integers(0, 2, 40)
    lines = ["a,b,label", *(f"{a},{b},{c}" for (a, b), c in zip(x, y, strict=True))]
    (folder / "good.csv").write_text("\n".join(lines) + "\n")
    np.savez(folder / "good.npz", X=x, y=y)
    pyarrow.parquet.write_table(pyarrow.table({"a": x[:, 0], "b": x[:, 1], "label": y}), folder / "good.parquet")
    subject = '[[tool.auditor.subject]]\ntarget = "mine:fine"\nsource = "mine:rows"\nsize = 5\n'
    (folder / "good.toml").write_text(f"[tool.auditor]\nconfidence = 0.9\n{subject}")
    words = ("check", "mine:fine", "--source", "mine:rows", "--size", "5", "--rho", "0.5")
    with pytest.MonkeyPatch.context() as changed:
        changed.chdir(folder)
        changed.setattr(sys, "path", [*sys.path])
        assert run([*words, "--json", "good.json", "--ledger", "good.sqlite"]) == 0
    assert json.loads((folder / "good.json").read_bytes())["verdict"] == "pass"


def spoil_ledger(folder: Path, name: str, statement: str) -> None:
    """A ledger that SQLite finds whole, and that says something else."""
    (folder / name).write_bytes((folder / "good.sqlite").read_bytes())
    with sqlite3.connect(folder / name) as connection:
        connection.executescript(statement)
    connection.close()
