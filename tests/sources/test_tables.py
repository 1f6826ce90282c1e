"""Files of rows that are not what they should be: a usage error with a sentence, whatever is wrong with them."""

from __future__ import annotations

import io
import random
import struct
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auditor.errors import UsageError
from auditor.sources.datasets import read_file
from auditor.sources.tables import read_csv, read_npz, read_parquet

GOOD = "a,b\n1,2\n3,4.5\n"


@pytest.mark.parametrize(
    "content",
    [GOOD.encode(), b"\xef\xbb\xbf" + GOOD.encode(), GOOD.replace("\n", "\r\n").encode(), b'a,b\n"1",2\n\n3,"4.5"\n'],
    ids=["plain", "byte order mark", "CRLF", "quotes and an empty line"],
)
def test_a_csv_as_spreadsheets_write_it_is_read(content: bytes) -> None:
    columns = read_csv("x.csv", content)
    assert {name: values.tolist() for name, values in columns.items()} == {"a": [1, 3], "b": [2.0, 4.5]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\né,2\nx,3\n".encode("latin-1"), r"is not UTF-8 \(byte 4\): save it as UTF-8"),
        (GOOD.encode("utf-16"), r"is not UTF-8 \(UTF-16\)"),
        (GOOD.encode("utf-16-le"), "has NUL characters"),
        (b"a,b\n1,\x002\n3,4\n", "has NUL characters"),
        (b"a\n" + b"x" * 200_000 + b"\nyy\n", "line 2 is no csv: field larger than field limit"),
        (b"a,b,a\n1,2,3\n4,5,6\n", "has two columns 'a': give each its own name"),
        (b"a\n1\n1e400\n", "line 3 has '1e400' for 'a', which is no finite number"),
        (b"a\n1\n-Infinity\n", "line 3 has '-Infinity' for 'a', which is no finite number"),
        (b"a\n1\n-nan\n", "line 3 has '-nan' for 'a', which is no finite number"),
        (b"a\n1\n" + 400 * b"9" + b"\n", "line 3 has '9{40}' for 'a', which is no finite number"),
        (b"a;b\n1,5;2\n3;4\n", "is separated by semicolons: write it with commas"),
        (b"a\tb\n1\t2\n3\t4\n", "is separated by tabs"),
        (b"", "there are 0 lines"),
        (b"\n\n", "there are 0 lines"),
        (b"a,b\n", "there are 1 lines"),
        (b'a,b\n"1,2\n3,4\n', "line 3 is no csv: unexpected end of data"),
        (b'a,b\n"1"x,2\n3,4\n', "line 2 is no csv: "),
        (b'a,b\n"1\n\n1",2\n3\n', "line 5 has 1 cells, and the header has 2"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_csv_that_is_none_gets_a_sentence(content: bytes, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_csv("x.csv", content)


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def archive(name: str, content: bytes, claimed: int | None = None) -> bytes:
    """A zip with one part, which says of itself that it is as large as claimed."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr(name, content)
    whole = bytearray(file.getvalue())
    if claimed is not None:
        struct.pack_into("<I", whole, whole.index(b"PK\x01\x02") + 24, claimed)
    return bytes(whole)


def header(shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return file.getvalue()


X = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "cannot be read as npz: File is not a zip file"),
        (bytes(range(256)), "cannot be read as npz: File is not a zip file"),
        (npz(X=X)[:-30], "cannot be read as npz: File is not a zip file"),
        (npz(X=np.array([{}, {}], dtype=object)), "cannot be read as npz: Object arrays cannot be loaded"),
        (archive("X.npy", header((10**15,)) + b"12345678"), "cannot be read as npz: "),
        (archive("readme.txt", b"hello"), "'readme.txt' in it is no array"),
        (npz(), "it is empty"),
        (npz(X=np.array(5.0)), "a data set needs two rows or more"),
        (npz(X=np.zeros((0, 3))), "a data set needs two rows or more"),
        (npz(a=np.arange(3), b=np.arange(4)), "its columns differ in length: 'a' 3, 'b' 4"),
        (npz(X=np.zeros(5, dtype=[("a", "i4")])), "'X' holds .*, and rows are numbers, words or dates"),
        (npz(a=np.zeros((5, 2, 2)), b=np.zeros(5)), "are not columns of one table: "),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "content",  # an archive has the time in it
)
def test_an_npz_that_is_none_gets_a_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(UsageError, match=words):
        read_file(str(tmp_path / "x.npz"), "bootstrap")


def test_a_part_that_would_not_fit_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auditor.sources.tables.free_memory", lambda: 10**9)
    with pytest.raises(UsageError, match=r"unpacks into 4 GB, and 1 GB are free: draw from less"):
        read_npz("x.npz", archive("X.npy", b"small", claimed=4 * 10**9))


def parquet(columns: Any) -> bytes:
    import pyarrow
    import pyarrow.parquet

    file = io.BytesIO()
    pyarrow.parquet.write_table(columns if isinstance(columns, pyarrow.Table) else pyarrow.table(columns), file)
    return file.getvalue()


def test_a_parquet_that_is_none_gets_a_sentence(tmp_path: Path) -> None:
    import pyarrow

    whole = parquet({"a": [1.0, 2.0, 3.0]})
    twice = pyarrow.Table.from_arrays([pyarrow.array([1, 2]), pyarrow.array([3, 4])], names=["a", "a"])
    for content, words in (
        (b"", "cannot be read as parquet: "),
        (b"PAR1" + bytes(200) + b"PAR1", "cannot be read as parquet: "),
        (whole[:-10], "cannot be read as parquet: "),
        (parquet(twice), "has two columns 'a'"),
        (parquet({}), "it is empty"),
        (parquet({"a": [[1], [2, 3]]}), "'a' holds object, and rows are numbers, words or dates"),
        (parquet({"a": [Decimal("1.5")] * 3}), "'a' holds object"),
        (parquet({"a": pyarrow.nulls(3)}), "'a' has missing values"),
    ):
        (tmp_path / "x.parquet").write_bytes(content)
        with pytest.raises(UsageError, match=words):
            read_file(str(tmp_path / "x.parquet"), "bootstrap")
    (tmp_path / "x.parquet").write_bytes(parquet({"a": ["x", "y", "z"]}))
    assert read_file(str(tmp_path / "x.parquet"), "bootstrap").count == 3


def test_a_flipped_bit_is_a_sentence_or_a_number_and_never_an_error_of_ours() -> None:
    """500 files with one bit turned; the places are drawn with a fixed seed."""
    choose = random.Random(3)
    kinds = ((read_csv, GOOD.encode()), (read_npz, npz(X=X)), (read_parquet, parquet({"a": [1.0, 2.0]})))
    refused = 0
    for _ in range(500):
        read, whole = choose.choice(kinds)
        flipped = bytearray(whole)
        flipped[choose.randrange(len(whole))] ^= 1 << choose.randrange(8)
        try:
            read("x", bytes(flipped))
        except UsageError:
            refused += 1
    assert refused > 100


def test_what_else_a_file_may_be(tmp_path: Path) -> None:
    wide = ",".join(f"c{i}" for i in range(20_000))
    assert len(read_csv("x.csv", f"{wide}\n{','.join('1' * 20_000)}\n".encode())) == 20_000  # and not in quadratic time
    np.savez(tmp_path / "nat.npz", X=np.array(["NaT", "2020-01-01"], dtype="M8[D]"))
    with pytest.raises(UsageError, match="missing values"):
        read_file(str(tmp_path / "nat.npz"), "bootstrap")
    with pytest.raises(UsageError, match="is no data file: its name must end in"):
        read_file(str(tmp_path / "x.txt"), "bootstrap")
